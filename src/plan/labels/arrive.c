/* Labels on their way to the Node: NFD puts them there, or something keeps it from that. */
#include "plan/labels/output_in.h"
#include "base/chars.h"
#include "base/units.h"

/* NFD merges within a second of a change, its worker reads files once a minute, and a master that restarts has to read
 * all objects first. All of it counts from when the Node is known as it is now: after an outage of the API server NFD
 * begins as late as the agent. */
#define FL_LABELS_ARRIVE (120 * FL_NS_PER_S)

static const char *const paths[] = { "since", NULL };
const struct fl_owner fl_labels_lag_owner = { "fairlead-labels", &fl_label_lag_kind, paths };

static struct fl_str nfd_list(const struct fl_own_node *node)
{
	return labels_value(&node->meta.annotations, fl_str(fl_name(&fl_own_node_annotations, FL_NODE_NFD_LABELS)));
}

bool labels_nfd_has(const struct fl_own_node *node, struct fl_str key)
{
	struct fl_str rest = nfd_list(node), name;

	while (fl_str_split(&rest, ',', &name))
		if (fl_str_eq(fl_str_trim(name), key))
			return true;
	return false;
}

/* What the API server takes as the value of a label. */
static bool is_value(struct fl_str text)
{
	if (!text.len)
		return true;
	if (text.len > 63 || !fl_is_alnum(text.p[0]) || !fl_is_alnum(text.p[text.len - 1]))
		return false;
	for (uint32_t i = 0; i < text.len; i++)
		if (!fl_is_alnum(text.p[i]) && text.p[i] != '-' && text.p[i] != '_' && text.p[i] != '.')
			return false;
	return true;
}

struct found {
	const struct fl_pair *lacks;   /* the first label that the Node lacks, or has with another value */
	struct fl_str surplus;         /* the first that NFD has put there besides ours */
	uint32_t lack_len, value_len;  /* labels that it lacks; labels with a value that a Node can have */
};

/* One whose value is none never gets to the Node, and that is no fault of NFD's. */
static struct found compare(const struct fl_own_node *node, const struct fl_map *labels)
{
	struct found found = { 0 };

	for (uint32_t i = 0; i < labels->len; i++) {
		struct fl_str is = labels_value(&node->meta.labels, labels->at[i].key);

		if (!is_value(labels->at[i].value))
			continue;
		found.value_len++;
		if (is.p && fl_str_eq(is, labels->at[i].value))
			continue;
		if (!found.lacks)
			found.lacks = &labels->at[i];
		found.lack_len++;
	}
	for (uint32_t i = 0; i < node->meta.labels.len && !found.surplus.p; i++) {
		struct fl_str key = node->meta.labels.at[i].key;

		if (fl_labels_is_ours(key) && !labels_value(labels, key).p && labels_nfd_has(node, key))
			found.surplus = key;
	}
	return found;
}

bool labels_waited(const struct labels_out *out, const char *name, const struct fl_label_lag *lag, bool waits)
{
	const struct fl_labels_facts *f = out->f;
	struct fl_ref ref = { .kind = &fl_label_lag_kind, .name = fl_str(name) };
	uint64_t since = lag ? (uint64_t)lag->since : f->now;
	struct fl_label_lag now = { 0 };

	if (!waits) {
		if (lag)
			fl_want_gone(out->plan, ref);
		return false;
	}
	FL_SET(&now, since, (int64_t)since);
	if (!lag)
		fl_want(out->plan, &fl_labels_lag_owner, ref, &now);
	if (!f->node_current)
		return false;
	if (since < f->node_current)
		since = f->node_current;
	if (f->now >= since + FL_LABELS_ARRIVE)
		return true;
	fl_want_at(out->plan, since + FL_LABELS_ARRIVE);
	return false;
}

/* By whom, is for the API server to say: the agent reads NodeFeatures of its own namespace only. */
static struct fl_str overridden(const struct labels_out *out, struct fl_str key, const char *how)
{
	struct fl_str node = out->f->node->meta.name;

	return fl_plan_printf(out->plan, "another NodeFeature %s %.*s: delete the one that no program keeps up to "
					 "date: kubectl get nodefeatures -A -l " FL_NFD_NODE_NAME "=%.*s",
			      how, FL_ARG(key), FL_ARG(node));
}

const char *labels_lacking(const struct labels_out *out, const struct fl_map *labels, struct fl_str *ret_message)
{
	const struct fl_own_node *node = out->f->node;
	struct found found = node ? compare(node, labels) : (struct found){ 0 };
	bool file = out->f->settings->labels == FL_LABELS_FILE;
	struct fl_str key;

	if (!labels_waited(out, FL_LABELS_LAG, out->f->lag, found.lacks || found.surplus.p))
		return NULL;
	if (!found.lacks) {
		*ret_message = overridden(out, found.surplus, "adds");
		return "Overridden";
	}
	key = found.lacks->key;
	if (!nfd_list(node).p) {
		*ret_message = fl_plan_printf(out->plan, "the Node lacks %.*s, and NFD has written no label to it: "
							 "install node feature discovery (NFD), or check that its "
							 "master runs",
					      FL_ARG(key));
		return "NoNFD";
	}
	if (labels_nfd_has(node, key)) {
		*ret_message = overridden(out, key, "overrides");
		return "Overridden";
	}
	*ret_message = fl_plan_printf(
		out->plan, "the Node lacks %.*s and %u other labels, which NFD drops: check %s of nfd-master's "
			   "configuration%s",
		FL_ARG(key), found.lack_len - 1,
		found.lack_len < found.value_len ?
			"labelWhiteList" :
			"restrictions.nodeFeatureNamespaceSelector, restrictions.denyNodeFeatureLabels, "
			"restrictions.disableLabels, labelWhiteList and denyLabelNs",
		file ? ", and that core.labelSources of nfd-worker's has local" : "");
	return "DroppedByNFD";
}
