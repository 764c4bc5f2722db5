/* Pods that the kubelet refused for want of a device: after a boot it admits all its Pods at once and waits for no
 * plugin. They stay there, Failed, until somebody deletes them. One condition on the Node names them all, so there is
 * one Event: it waits until the kubelet has settled. */
#include "base/units.h"
#include "plan/gpu/pods_in.h"

/* Pods that a boot has refused are looked for this long after the kubelet's start: it admits all within seconds. */
#define FL_REFUSED_WATCH (600 * FL_NS_PER_S)

static const char *const paths[] = { "status.conditions[type=GPUPodsRefused]", NULL };
const struct fl_owner fl_gpu_refused_owner = { "fairlead-refused", &fl_own_node_kind, paths };

/* An Event has room for 1024 bytes. */
enum { WORDS = 760 };

/* GPUs go by these names, also before a resource is served; others count when they are served. */
static bool is_ours(const struct fl_gpu_pods_facts *facts, struct fl_str resource)
{
	static const struct fl_str domains[] = { FL_S_INIT("nvidia.com/"), FL_S_INIT("gpu.deckhouse.io/"),
						 FL_S_INIT("cluster.gpu.deckhouse.io/") };

	for (uint32_t i = 0; i < FL_LEN(domains); i++)
		if (fl_str_starts(resource, domains[i]))
			return true;
	return fl_find(facts->resources, facts->resource_len, meta.name, resource) != NULL;
}

static bool asks_for_gpu(const struct fl_gpu_pods_facts *facts, const struct fl_own_pod_container *list, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		for (uint32_t k = 0; k < list[i].resources.limits.len; k++)
			if (is_ours(facts, list[i].resources.limits.at[k].key))
				return true;
	return false;
}

/* "OutOfnvidia.com/gpu", and not "OutOfcpu". */
static bool is_for_a_gpu(const struct fl_gpu_pods_facts *facts, struct fl_str reason)
{
	const struct fl_str out_of = FL_S("OutOf");

	return fl_str_eq(reason, FL_S("UnexpectedAdmissionError")) ||
	       (fl_str_starts(reason, out_of) && is_ours(facts, fl_str_sub(reason, out_of.len, reason.len)));
}

static bool is_refused(const struct fl_gpu_pods_facts *facts, const struct fl_own_pod *pod)
{
	return pod->status.has.phase && pod->status.phase == FL_POD_FAILED && !pod->meta.has.deletion_timestamp &&
	       is_for_a_gpu(facts, pod->status.reason) &&
	       (asks_for_gpu(facts, pod->spec.containers.at, pod->spec.containers.len) ||
		asks_for_gpu(facts, pod->spec.init_containers.at, pod->spec.init_containers.len));
}

static bool has_controller(const struct fl_own_pod *pod)
{
	for (uint32_t i = 0; i < pod->meta.owner_references.len; i++)
		if (pod->meta.owner_references.at[i].controller)
			return true;
	return false;
}

struct refused {
	struct fl_str commands, space;         /* kubectl delete pod -n a b c && kubectl delete pod -n d e */
	uint32_t count, unnamed;
};

static void name(struct refused *all, struct fl_plan *plan, const struct fl_own_pod *pod)
{
	struct fl_str now;

	all->count++;
	if (!all->unnamed && all->count > 1 && fl_str_eq(all->space, pod->meta.space))
		now = fl_plan_printf(plan, "%.*s %.*s", FL_ARG(all->commands), FL_ARG(pod->meta.name));
	else
		now = fl_plan_printf(plan, "%.*s%skubectl delete pod -n %.*s %.*s", FL_ARG(all->commands),
				     all->commands.len ? " && " : "", FL_ARG(pod->meta.space), FL_ARG(pod->meta.name));
	if (all->unnamed || now.len > WORDS) {
		all->unnamed++;
		return;
	}
	all->commands = now;
	all->space = pod->meta.space;
}

static void say(const struct fl_gpu_pods_facts *facts, struct fl_plan *plan, const struct refused *all)
{
	struct fl_ref ref = FL_REF(&fl_own_node_kind, facts->node);
	struct fl_str rest = FL_S("");

	if (all->unnamed)
		rest = fl_plan_printf(plan, "; %u more: kubectl get pods -A --field-selector "
					    "spec.nodeName=%.*s,status.phase=Failed",
				      all->unnamed, FL_ARG(ref.name));
	fl_want_condition(plan, &fl_gpu_refused_owner, ref, FL_EMIT_WARNING, "GPUPodsRefused", FL_CONDITION_TRUE,
			  "AdmissionFailed", "the kubelet refused %u Pods that ask for GPUs, and will not try again: "
			  "%.*s%.*s%s", all->count, FL_ARG(all->commands), FL_ARG(rest),
			  facts->settings->remove_refused ?
				  " (those of a controller are deleted by --remove-refused-pods)" : "");
}

/* As long as a kubelet is young its Pods may be refused; a condition that holds must end some time. */
bool pods_refused(const struct fl_gpu_pods_facts *f, struct fl_plan *plan)
{
	const struct fl_condition *before =
		f->node ? fl_condition_find(&f->node->status.conditions, FL_S("GPUPodsRefused")) : NULL;
	bool holds = before && before->status == FL_CONDITION_TRUE, young = false;
	struct refused all = { 0 };

	if (!f->node || !f->settings)
		return false;
	if (f->active) {
		uint64_t until = (uint64_t)f->active->since + FL_REFUSED_WATCH;

		young = f->now < until;
		if (young)
			fl_want_at(plan, until);
	}
	if (before)   /* as it was, unless more is known below */
		fl_want_condition(plan, &fl_gpu_refused_owner, FL_REF(&fl_own_node_kind, f->node), FL_EMIT_NOBODY,
				  "GPUPodsRefused", before->status, holds ? "AdmissionFailed" : "None", "%.*s",
				  FL_ARG(before->message));
	if (!f->failed_known || !f->active || !f->active->settled)
		return young || holds;
	for (uint32_t i = 0; i < f->pod_len; i++) {
		if (!is_refused(f, &f->pods[i]))
			continue;
		name(&all, plan, &f->pods[i]);
		if (f->settings->remove_refused && holds && has_controller(&f->pods[i]))   /* told first */
			fl_want_gone(plan, FL_REF(&fl_own_pod_kind, &f->pods[i]));
	}
	if (all.count)
		say(f, plan, &all);
	else if (before)
		fl_want_condition(plan, &fl_gpu_refused_owner, FL_REF(&fl_own_node_kind, f->node), FL_EMIT_NORMAL,
				  "GPUPodsRefused", FL_CONDITION_FALSE, "None", "no refused Pod is left");
	return young || holds || all.count;
}
