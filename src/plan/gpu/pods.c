#include "plan/gpu/pods.h"
#include "plan/gpu/pods_in.h"

static const char *const watch_paths[] = { "wanted", "failedOnly", NULL };
const struct fl_owner fl_gpu_pod_watch_owner = { "fairlead-pods", &fl_pod_watch_kind, watch_paths };

const struct fl_own_pod *pods_find(const struct fl_gpu_pods_facts *facts, struct fl_str space, struct fl_str name)
{
	uint32_t from = 0, to = facts->all_known ? facts->pod_len : 0;

	while (from < to) {
		uint32_t at = from + (to - from) / 2;
		const struct fl_own_pod *pod = &facts->pods[at];
		int order = fl_str_cmp(pod->meta.space, space);

		if (!order)
			order = fl_str_cmp(pod->meta.name, name);
		if (!order)
			return pod;
		if (order < 0)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

bool pods_ends(const struct fl_own_pod *pod)
{
	return pod->meta.has.deletion_timestamp ||
	       (pod->status.has.phase &&
		(pod->status.phase == FL_POD_SUCCEEDED || pod->status.phase == FL_POD_FAILED));
}

/* One watch for all parts: each says for itself whether it needs it. */
void fl_gpu_pods_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_pods_facts *facts = facts_;
	struct fl_ref ref = { &fl_pod_watch_kind, FL_S(""), FL_S("pods"), FL_S("") };
	struct fl_pod_watch watch = { 0 };
	bool all = pods_book(facts, plan), failed = pods_refused(facts, plan);

	all |= pods_evict(facts, plan);
	FL_SET(&watch, wanted, all || failed);
	if (failed && !all)
		FL_SET(&watch, failed_only, true);
	fl_want(plan, &fl_gpu_pod_watch_owner, ref, &watch);
}
