/* The NodeFeature that has the labels, and the Node's condition that tells of it. */
#include "plan/labels/labels.h"

#define FL_LABELS_TIMESTAMP "nvidia.com/gfd.timestamp"

static const char *const paths[] = { "metadata.labels[" FL_NFD_NODE_NAME "]", "metadata.ownerReferences", "spec",
				     NULL };
const struct fl_owner fl_labels_owner = { "fairlead-labels", &fl_node_feature_kind, paths };
static const char *const node_paths[] = { "status.conditions[type=" FL_LABELS_CONDITION "]", NULL };
const struct fl_owner fl_labels_node_owner = { "fairlead-labels", &fl_own_node_kind, node_paths };

/* ---- what is there ---- */

static struct fl_ref ref_of(const struct fl_labels_facts *f, struct fl_plan *plan)
{
	struct fl_str name = fl_plan_printf(plan, FL_LABELS_OBJECT, FL_ARG(f->node->meta.name));

	return (struct fl_ref){ &fl_node_feature_kind, f->given->space, name, FL_S("") };
}

static const struct fl_node_feature *find(const struct fl_labels_facts *f, struct fl_ref ref)
{
	for (uint32_t i = 0; i < f->feature_len; i++)
		if (fl_str_eq(f->features[i].meta.name, ref.name) && fl_str_eq(f->features[i].meta.space, ref.space))
			return &f->features[i];
	return NULL;
}

static struct fl_str value_of(const struct fl_map *map, struct fl_str key)
{
	for (uint32_t i = 0; i < map->len; i++)
		if (fl_str_eq(map->at[i].key, key))
			return map->at[i].value;
	return (struct fl_str){ 0 };
}

/* ---- what is known ---- */

/* Has the driver told of all GPUs? One that it has never described is not waited for on a new Node, and changes no
 * label that is there. */
static bool is_known(const struct fl_labels_facts *f, const struct fl_node_feature *is)
{
	if (f->driver->state != FL_DRIVER_READY || f->settings->waits.len)
		return false;
	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *card = &f->cards[i];

		if (fl_card_elsewhere(card) || fl_labels_counts(card))
			continue;
		if (is || card->answer == FL_CARD_UNASKED)
			return false;
	}
	return true;
}

/* ---- what should be there ---- */

static bool same_labels(const struct fl_map *want, const struct fl_map *is)
{
	uint32_t len = is->len - (value_of(is, FL_S(FL_LABELS_TIMESTAMP)).p != NULL);

	if (want->len != len)
		return false;
	for (uint32_t i = 0; i < want->len; i++) {
		struct fl_str value = value_of(is, want->at[i].key);

		if (!value.p || !fl_str_eq(value, want->at[i].value))
			return false;
	}
	return true;
}

/* When a label last changed: the time that is there, as long as all others are as they should be. */
static void put_timestamp(const struct fl_labels_facts *f, struct fl_plan *plan, const struct fl_node_feature *is,
			  struct fl_map *labels)
{
	struct fl_str was = is ? value_of(&is->spec.labels, FL_S(FL_LABELS_TIMESTAMP)) : (struct fl_str){ 0 };
	struct fl_pair *at = fl_plan_get(plan, labels->len + 1, sizeof *at);
	uint32_t len = 0;
	bool put = f->settings->no_timestamp;

	if (!at)
		return;
	if (!was.p || !same_labels(labels, &is->spec.labels))
		was = fl_plan_printf(plan, "%lld", (long long)(f->wall / 1000000));
	for (uint32_t i = 0; i <= labels->len; i++) {
		bool here = i == labels->len || fl_str_cmp(labels->at[i].key, FL_S(FL_LABELS_TIMESTAMP)) > 0;

		if (!put && here) {
			at[len++] = (struct fl_pair){ FL_S(FL_LABELS_TIMESTAMP), was };
			put = true;
		}
		if (i < labels->len)
			at[len++] = labels->at[i];
	}
	*labels = (struct fl_map){ at, len };
}

static void want_feature(const struct fl_labels_facts *f, struct fl_plan *plan, struct fl_ref ref,
			 const struct fl_map *labels)
{
	struct fl_node_feature feature = { 0 };
	struct fl_node_feature_meta *meta = FL_IN(&feature, meta);
	struct fl_nfd_features *features = FL_IN(FL_IN(&feature, spec), features);
	struct fl_pair *name = fl_plan_get(plan, 1, sizeof *name);
	struct fl_owner_ref *owner = FL_ELEMENTS(meta, plan->arena, owner_references, 1);

	if (!name || !owner) {
		plan->failed = true;
		return;
	}
	*name = (struct fl_pair){ FL_S(FL_NFD_NODE_NAME), f->node->meta.name };
	FL_SET(meta, labels, ((struct fl_map){ name, 1 }));
	FL_SET(owner, api_version, FL_S("v1"));
	FL_SET(owner, kind, FL_S("Node"));
	FL_SET(owner, name, f->node->meta.name);
	FL_SET(owner, uid, f->node->meta.uid);
	features->has.flags = features->has.attributes = features->has.instances = 1;
	FL_SET(&feature.spec, labels, *labels);
	fl_want(plan, &fl_labels_owner, ref, &feature);
}

static void tell(const struct fl_labels_facts *f, struct fl_plan *plan, bool published, const char *reason,
		 struct fl_str message)
{
	fl_want_condition(plan, &fl_labels_node_owner, FL_REF(&fl_own_node_kind, f->node),
			  published ? FL_EMIT_NOBODY : FL_EMIT_WARNING, FL_LABELS_CONDITION,
			  published ? FL_CONDITION_TRUE : FL_CONDITION_FALSE, reason, "%.*s", FL_ARG(message));
}

/* ---- the outputs ---- */

static void publish(const struct fl_labels_facts *f, struct fl_plan *plan)
{
	struct fl_ref ref = ref_of(f, plan);
	const struct fl_node_feature *is = find(f, ref);
	struct fl_map labels;
	struct fl_str why;

	if (!f->features_told)
		return;
	if (!f->features_known) {
		tell(f, plan, false, "NoNodeFeature",
		     FL_S("the API server has no kind NodeFeature: install node feature discovery (NFD), or "
			  "write no labels (--labels=none)"));
		return;
	}
	if (!is_known(f, is)) {
		fl_say(plan, ref, "Waits", "the labels stay as they are until the driver has reported all GPUs");
		return;
	}
	why = fl_labels_make(f, plan, &labels);
	if (why.len) {
		why = fl_plan_printf(plan, "the labels stay as they are: %.*s", FL_ARG(why));
		tell(f, plan, false, "NotLabelled", why);
		return;
	}
	put_timestamp(f, plan, is, &labels);
	want_feature(f, plan, ref, &labels);
	why = fl_plan_printf(plan, "NodeFeature %.*s/%.*s has the labels", FL_ARG(ref.space), FL_ARG(ref.name));
	tell(f, plan, true, "NodeFeature", why);
}

static void withdraw(const struct fl_labels_facts *f, struct fl_plan *plan)
{
	struct fl_ref ref = ref_of(f, plan);

	if (find(f, ref))
		fl_want_gone(plan, ref);
	if (fl_condition_find(&f->node->status.conditions, FL_S(FL_LABELS_CONDITION)))
		fl_want(plan, &fl_labels_node_owner, FL_REF(&fl_own_node_kind, f->node),
			&(struct fl_own_node){ 0 });
}

void fl_labels_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_labels_facts *f = facts_;

	if (!f->given->space.len || !f->node->meta.uid.len)
		return;
	switch (f->settings->labels) {
	case FL_LABELS_NODE_FEATURE: publish(f, plan); break;
	case FL_LABELS_NONE: withdraw(f, plan); break;
	case FL_LABELS_OUTPUT_COUNT_: break;
	}
}
