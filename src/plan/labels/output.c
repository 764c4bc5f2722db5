/* Where the labels are and where they should be, and the Node's condition that tells of it. */
#include "plan/labels/output_in.h"

static const char *const feature_paths[] = { "metadata.labels[" FL_NFD_NODE_NAME "]", "metadata.ownerReferences",
					     "spec", NULL };
const struct fl_owner fl_labels_owner = { "fairlead-labels", &fl_node_feature_kind, feature_paths };
static const char *const file_paths[] = { "labels", NULL };
const struct fl_owner fl_labels_file_owner = { "fairlead-labels", &fl_label_file_kind, file_paths };
static const char *const node_paths[] = { "status.conditions[type=" FL_LABELS_CONDITION "]", NULL };
const struct fl_owner fl_labels_node_owner = { "fairlead-labels", &fl_own_node_kind, node_paths };

/* ---- what is there ---- */

static const struct fl_node_feature *find_feature(const struct fl_labels_facts *f, struct fl_ref ref)
{
	for (uint32_t i = 0; i < f->feature_len; i++)
		if (fl_str_eq(f->features[i].meta.name, ref.name) && fl_str_eq(f->features[i].meta.space, ref.space))
			return &f->features[i];
	return NULL;
}

static const struct fl_label_file *find_file(const struct fl_labels_facts *f, struct fl_str name)
{
	for (uint32_t i = 0; i < f->file_len; i++)
		if (fl_str_eq(f->files[i].meta.name, name))
			return &f->files[i];
	return NULL;
}

struct fl_str labels_value(const struct fl_map *map, struct fl_str key)
{
	for (uint32_t i = 0; i < map->len; i++)
		if (fl_str_eq(map->at[i].key, key))
			return map->at[i].value;
	return (struct fl_str){ 0 };
}

/* What follows the last slash. */
static struct fl_str name_of(struct fl_str path)
{
	uint32_t at = path.len;

	while (at && path.p[at - 1] != '/')
		at--;
	return fl_str_sub(path, at, UINT32_MAX);
}

static struct labels_out look(const struct fl_labels_facts *f, struct fl_plan *plan)
{
	struct labels_out out = { .f = f, .plan = plan };
	const struct fl_node_feature *feature;
	const struct fl_label_file *file;
	struct fl_str name = f->node ? f->node->meta.name : FL_S("");

	out.feature = (struct fl_ref){ &fl_node_feature_kind, f->given->space,
				       fl_plan_printf(plan, FL_LABELS_OBJECT, FL_ARG(name)), FL_S(""), 0 };
	out.file = (struct fl_ref){ .kind = &fl_label_file_kind, .name = name_of(f->given->label_file) };
	feature = find_feature(f, out.feature);
	if (feature)
		out.at[FL_LABELS_NODE_FEATURE] = (struct labels_place){ true, feature->spec.labels };
	file = find_file(f, out.file.name);
	if (file)
		out.at[FL_LABELS_FILE] = (struct labels_place){ file->ours, file->labels };
	if (f->node)
		out.at[FL_LABELS_NODE] = labels_direct(f->node, plan);
	return out;
}

/* ---- what is known ---- */

/* Has the driver told of all GPUs? One that it has never described is not waited for on a new Node, and changes no
 * label that is there. */
static bool is_known(const struct labels_out *out)
{
	const struct fl_labels_facts *f = out->f;
	bool is = false;

	if (f->driver->state != FL_DRIVER_READY || f->settings->waits.len)
		return false;
	for (int i = 0; i < FL_LABELS_OUTPUT_COUNT_; i++)
		is |= out->at[i].exists;
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
	uint32_t len = is->len - (labels_value(is, FL_S(LABELS_TIMESTAMP)).p != NULL);

	if (want->len != len)
		return false;
	for (uint32_t i = 0; i < want->len; i++) {
		struct fl_str value = labels_value(is, want->at[i].key);

		if (!value.p || !fl_str_eq(value, want->at[i].value))
			return false;
	}
	return true;
}

/* When a label last changed: the time that is there, as long as all others are as they should be. */
static void put_timestamp(const struct labels_out *out, const struct fl_map *is, struct fl_map *labels)
{
	struct fl_str was = labels_value(is, FL_S(LABELS_TIMESTAMP));
	struct fl_pair *at = fl_plan_get(out->plan, labels->len + 1, sizeof *at);
	bool put = out->f->settings->no_timestamp;
	uint32_t len = 0;

	if (!at)
		return;
	if (!was.p || !same_labels(labels, is))
		was = fl_plan_printf(out->plan, "%lld", (long long)(out->f->wall / 1000000));
	for (uint32_t i = 0; i <= labels->len; i++) {
		bool here = i == labels->len || fl_str_cmp(labels->at[i].key, FL_S(LABELS_TIMESTAMP)) > 0;

		if (!put && here) {
			at[len++] = (struct fl_pair){ FL_S(LABELS_TIMESTAMP), was };
			put = true;
		}
		if (i < labels->len)
			at[len++] = labels->at[i];
	}
	*labels = (struct fl_map){ at, len };
}

static void want_feature(const struct labels_out *out, const struct fl_map *labels)
{
	const struct fl_own_node *node = out->f->node;
	struct fl_plan *plan = out->plan;
	struct fl_node_feature feature = { 0 };
	struct fl_node_feature_meta *meta = FL_IN(&feature, meta);
	struct fl_pair *name = fl_plan_get(plan, 1, sizeof *name);
	struct fl_owner_ref *owner = FL_ELEMENTS(meta, plan->arena, owner_references, 1);

	if (!name || !owner) {
		plan->failed = true;
		return;
	}
	*name = (struct fl_pair){ FL_S(FL_NFD_NODE_NAME), node->meta.name };
	FL_SET(meta, labels, ((struct fl_map){ name, 1 }));
	FL_SET(owner, api_version, FL_S("v1"));
	FL_SET(owner, kind, FL_S("Node"));
	FL_SET(owner, name, node->meta.name);
	FL_SET(owner, uid, node->meta.uid);
	labels_features(out->f, plan, FL_IN(FL_IN(&feature, spec), features));
	FL_SET(&feature.spec, labels, *labels);
	fl_want(plan, &fl_labels_owner, out->feature, &feature);
}

static void want_file(const struct labels_out *out, const struct fl_map *labels)
{
	struct fl_label_file file = { 0 };

	FL_SET(&file, labels, *labels);
	fl_want(out->plan, &fl_labels_file_owner, out->file, &file);
}

static void tell(const struct labels_out *out, bool published, const char *reason, struct fl_str message)
{
	if (out->f->node)
		fl_want_condition(out->plan, &fl_labels_node_owner, FL_REF(&fl_own_node_kind, out->f->node),
				  published ? FL_EMIT_NOBODY : FL_EMIT_WARNING, FL_LABELS_CONDITION,
				  published ? FL_CONDITION_TRUE : FL_CONDITION_FALSE, reason, "%.*s", FL_ARG(message));
}

/* ---- the outputs ---- */

/* Can labels be written there? If not, why: empty while that is not known either. */
static bool is_open(const struct labels_out *out, const char **ret_reason, struct fl_str *ret_why)
{
	const struct fl_labels_facts *f = out->f;
	const struct fl_label_file *missing = find_file(f, FL_S("."));
	bool api = f->given->space.len && f->node && f->node->meta.uid.len;

	*ret_why = FL_S("");
	switch (f->settings->labels) {
	case FL_LABELS_NODE_FEATURE:
		if (!api || !f->features_told)
			return false;
		*ret_reason = "NoNodeFeature";
		if (!f->features_known)
			*ret_why = FL_S("the API server has no kind NodeFeature: install node feature discovery "
					"(NFD), or write labels elsewhere or none (--labels=node, --labels=none)");
		return f->features_known;
	case FL_LABELS_FILE:
		*ret_reason = "NoDirectory";
		if (missing)
			*ret_why = fl_plan_printf(out->plan, "cannot write %.*s: %.*s: mount that directory of the "
							     "host, or name another file (--labels-file)",
						  FL_ARG(f->given->label_file), FL_ARG(missing->why));
		return !missing && out->file.name.len;
	case FL_LABELS_NODE: return api;
	case FL_LABELS_NONE:
	case FL_LABELS_OUTPUT_COUNT_: break;
	}
	return false;
}

/* What is in one place of ours goes. */
static void leave(const struct labels_out *out, enum fl_labels_output from)
{
	if (!out->at[from].exists)
		return;
	switch (from) {
	case FL_LABELS_NODE_FEATURE:
		fl_want_gone(out->plan, out->feature);
		(void)labels_waited(out, FL_LABELS_MOVE, out->f->move, false);
		break;
	case FL_LABELS_FILE: fl_want_gone(out->plan, out->file); break;
	case FL_LABELS_NODE: labels_want_direct(out, NULL); break;
	case FL_LABELS_NONE:
	case FL_LABELS_OUTPUT_COUNT_: break;
	}
}

static void leave_others(const struct labels_out *out, enum fl_labels_output stays)
{
	for (enum fl_labels_output i = 0; i < FL_LABELS_OUTPUT_COUNT_; i++)
		if (i != stays)
			leave(out, i);
}

/* An object of GFD's that no program keeps up to date has nobody who would remove it: its DaemonSet and Pod would be
 * among its owners. NFD prefers ours by name, but takes what ours has not. */
static void take_over(const struct labels_out *out, const struct fl_map *labels)
{
	const struct fl_labels_facts *f = out->f;
	struct fl_str name = fl_plan_printf(out->plan, FL_LABELS_GFD_OBJECT, FL_ARG(f->node->meta.name));
	struct fl_ref ref = { &fl_node_feature_kind, f->given->space, name, FL_S(""), 0 };
	const struct fl_node_feature *gfd = find_feature(f, ref);
	static const struct fl_deletion as_seen = { .as_seen = true };

	for (uint32_t i = 0; gfd && !gfd->meta.owner_references.len && i < gfd->spec.labels.len; i++) {
		struct fl_str key = gfd->spec.labels.at[i].key;

		if (fl_str_eq(key, FL_S(LABELS_TIMESTAMP)) || labels_value(labels, key).p)
			continue;
		ref.uid = gfd->meta.uid;
		fl_want_deleted(out->plan, ref, &as_seen);
		fl_say(out->plan, ref, "TakenOver", "adds %.*s, which this Node does not have any more", FL_ARG(key));
		return;
	}
}

/* To a file: NFD's worker reads it once a minute, and until then the Node has its labels by the NodeFeature, which is
 * kept up to date. */
static bool is_moved(const struct labels_out *out, const struct fl_map *labels)
{
	bool waits = out->f->settings->labels == FL_LABELS_FILE && out->at[FL_LABELS_NODE_FEATURE].exists;

	if (labels_waited(out, FL_LABELS_MOVE, out->f->move, waits) || !waits)
		return true;
	want_feature(out, labels);
	return false;
}

/* By way of NFD: first there, then away from elsewhere. NFD does not own labels that it finds, and would leave the Node
 * without them when they go: they go first. */
static void publish_by_nfd(const struct labels_out *out, struct fl_map *labels)
{
	enum fl_labels_output to = out->f->settings->labels;
	bool is_file = to == FL_LABELS_FILE;
	struct fl_str message;
	const char *reason;

	if (out->at[FL_LABELS_NODE].exists) {
		leave(out, FL_LABELS_NODE);
		return;
	}
	put_timestamp(out, &out->at[to].is, labels);
	if (is_file)
		want_file(out, labels);
	else
		want_feature(out, labels);
	if (!out->at[to].exists)
		return;
	if (is_moved(out, labels))
		leave_others(out, to);
	if (!is_file)
		take_over(out, labels);
	reason = labels_lacking(out, labels, &message);
	if (reason) {
		tell(out, false, reason, message);
		return;
	}
	message = is_file ? fl_plan_printf(out->plan, "file %.*s has the labels", FL_ARG(out->f->given->label_file)) :
			    fl_plan_printf(out->plan, "NodeFeature %.*s/%.*s has the labels",
					   FL_ARG(out->feature.space), FL_ARG(out->feature.name));
	tell(out, true, is_file ? "File" : "NodeFeature", message);
}

/* On the Node itself: where NFD has a label, it would put it back or take it away. */
static void publish_direct(const struct labels_out *out, struct fl_map *labels)
{
	if (out->at[FL_LABELS_NODE_FEATURE].exists || out->at[FL_LABELS_FILE].exists) {
		leave_others(out, FL_LABELS_NODE);
		return;
	}
	for (uint32_t i = 0; i < labels->len; i++)
		if (labels_nfd_has(out->f->node, labels->at[i].key)) {
			tell(out, false, "ManagedByNFD",
			     fl_plan_printf(out->plan, "NFD manages %.*s on this Node: remove what gives it to NFD, as "
						       "GPU feature discovery, or use --labels=node-feature",
					    FL_ARG(labels->at[i].key)));
			return;
		}
	put_timestamp(out, &out->at[FL_LABELS_NODE].is, labels);
	labels_want_direct(out, labels);
	tell(out, true, "Node", FL_S("the agent writes the labels to the Node itself"));
}

static void publish(const struct labels_out *out)
{
	struct fl_map labels;
	const char *reason = "";
	struct fl_str why;

	if (!is_open(out, &reason, &why)) {
		if (why.len)
			tell(out, false, reason, why);
		return;
	}
	if (!is_known(out)) {
		fl_say(out->plan, out->feature, "Waits",
		       "the labels stay as they are until the driver has reported all GPUs");
		return;
	}
	why = fl_labels_make(out->f, out->plan, &labels);
	if (why.len) {
		why = fl_plan_printf(out->plan, "the labels stay as they are: %.*s", FL_ARG(why));
		tell(out, false, "NotLabelled", why);
		return;
	}
	if (out->f->settings->labels == FL_LABELS_NODE)
		publish_direct(out, &labels);
	else
		publish_by_nfd(out, &labels);
}

static void withdraw(const struct labels_out *out)
{
	const struct fl_own_node *node = out->f->node;

	leave_others(out, FL_LABELS_NONE);
	if (node && fl_condition_find(&node->status.conditions, FL_S(FL_LABELS_CONDITION)))
		fl_want(out->plan, &fl_labels_node_owner, FL_REF(&fl_own_node_kind, node), &(struct fl_own_node){ 0 });
}

void fl_labels_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_labels_facts *f = facts_;
	struct labels_out out = look(f, plan);

	if (f->settings->labels == FL_LABELS_NONE)
		withdraw(&out);
	else
		publish(&out);
}
