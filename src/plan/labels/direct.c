/* Labels on the Node itself, without NFD. An annotation, written with them, says that they are there. */
#include "plan/labels/output_in.h"

#define LABEL(key) "metadata.labels[nvidia.com/" key "]"
static const char *const paths[] = {
	"metadata.annotations[gpu.deckhouse.io/fairlead-labels]", LABEL("gfd.timestamp"), LABEL("cuda.driver.*"),
	LABEL("cuda.driver-version.*"), LABEL("cuda.runtime.*"), LABEL("cuda.runtime-version.*"), LABEL("gpu.clique"),
	LABEL("gpu.compute.*"), LABEL("gpu.count"), LABEL("gpu.engines.*"), LABEL("gpu.family"), LABEL("gpu.machine"),
	LABEL("gpu.memory"), LABEL("gpu.mode"), LABEL("gpu.multiprocessors"), LABEL("gpu.product"),
	LABEL("gpu.replicas"), LABEL("gpu.sharing-strategy"), LABEL("gpu.slices.*"), LABEL("mig.capable"),
	LABEL("mig.strategy"), LABEL("mig-*"), LABEL("mps.capable"), LABEL("vgpu.*"), NULL
};
const struct fl_owner fl_labels_direct_owner = { "fairlead-labels", &fl_own_node_kind, paths };
static const char *const present_paths[] = { "metadata.annotations[gpu.deckhouse.io/fairlead-gpu-present]",
					     LABEL("gpu.present"), NULL };
const struct fl_owner fl_labels_present_owner = { "fairlead-gpu-present", &fl_own_node_kind, present_paths };

static const struct fl_str present = FL_S_INIT("nvidia.com/gpu.present");

bool fl_labels_is_ours(struct fl_str key)
{
	for (const char *const *path = paths + 1; *path; path++) {
		struct fl_str own = fl_str_sub(fl_str(*path), sizeof "metadata.labels[" - 1, UINT32_MAX);

		own.len--;   /* the bracket */
		if (fl_str_ends(own, FL_S("*")) ? fl_str_starts(key, fl_str_sub(own, 0, own.len - 1)) :
						  fl_str_eq(key, own))
			return true;
	}
	return false;
}

static struct fl_str mark(int which)
{
	return fl_str(fl_name(&fl_own_node_annotations, which));
}

static bool is_marked(const struct fl_own_node *node, int which)
{
	return labels_value(&node->meta.annotations, mark(which)).p != NULL;
}

struct labels_place labels_direct(const struct fl_own_node *node, struct fl_plan *plan)
{
	struct fl_pair *at = fl_plan_get(plan, (size_t)node->meta.labels.len + 1, sizeof *at);
	bool with_present = is_marked(node, FL_NODE_OUR_PRESENT);
	uint32_t len = 0;

	for (uint32_t i = 0; at && i < node->meta.labels.len; i++) {
		struct fl_str key = node->meta.labels.at[i].key;

		if (fl_labels_is_ours(key) || (with_present && fl_str_eq(key, present)))
			at[len++] = node->meta.labels.at[i];
	}
	return (struct labels_place){ is_marked(node, FL_NODE_OUR_LABELS) || with_present, { at, len } };
}

/* Those of the owner, with its mark; NULL: none. */
static void want(const struct labels_out *out, const struct fl_owner *owner, int which, const struct fl_map *labels)
{
	struct fl_own_node node = { 0 };
	struct fl_pair *pair = fl_plan_get(out->plan, 1, sizeof *pair);

	if (labels && pair) {
		*pair = (struct fl_pair){ mark(which), FL_S("written-by-the-agent") };
		FL_SET(FL_IN(&node, meta), annotations, ((struct fl_map){ pair, 1 }));
		FL_SET(&node.meta, labels, *labels);
	}
	fl_want(out->plan, owner, FL_REF(&fl_own_node_kind, out->f->node), &node);
}

void labels_want_direct(const struct labels_out *out, const struct fl_map *labels)
{
	const struct fl_own_node *node = out->f->node;
	bool with_present = labels && labels_value(labels, present).p;

	if (labels || is_marked(node, FL_NODE_OUR_LABELS))
		want(out, &fl_labels_direct_owner, FL_NODE_OUR_LABELS, labels);
	if (with_present || is_marked(node, FL_NODE_OUR_PRESENT))
		want(out, &fl_labels_present_owner, FL_NODE_OUR_PRESENT, with_present ? labels : NULL);
}
