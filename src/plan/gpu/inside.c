#include "plan/gpu/inside.h"

static const char *const inspection_paths[] = { "version", "again", NULL };
const struct fl_owner fl_gpu_inspection_owner = { "fairlead-inspection", &fl_inspection_kind, inspection_paths };

static const char *const finding_paths[] = { "podNamespace", "pod", "status.conditions[type=DriverCurrent]",
					     "status.conditions[type=DevicesAllowed]", NULL };
const struct fl_owner fl_gpu_finding_owner = { "fairlead-finding", &fl_pod_finding_kind, finding_paths };

static const char *const access_paths[] = { "status.conditions[type=GPUAccessAtRisk]", NULL };
const struct fl_owner fl_gpu_access_owner = { "fairlead-access", &fl_own_node_kind, access_paths };

/* An Event has room for 1024 bytes. */
enum { WORDS = 700 };

/* Inspected for this driver, or for the one before: then nothing is known of it yet. */
static bool is_stale(const struct fl_gpu_inside_facts *facts, const struct fl_inside *inside)
{
	return inside->library.len && !fl_str_ends(inside->library, facts->driver->version);
}

static bool holds(const struct fl_gpu_inside_facts *facts, const struct fl_inside *inside)
{
	for (uint32_t i = 0; i < facts->holder_len; i++)
		if (fl_str_eq(facts->holders[i].pod, inside->pod) &&
		    fl_str_eq(facts->holders[i].pod_space, inside->pod_space))
			return true;
	return false;
}

static struct fl_str deletion(struct fl_plan *plan, const struct fl_inside *inside)
{
	if (!inside->pod.len)
		return fl_plan_printf(plan, "delete the Pod with this UID");
	return fl_plan_printf(plan, "kubectl delete pod -n %.*s %.*s", FL_ARG(inside->pod_space), FL_ARG(inside->pod));
}

static void say_stale(const struct fl_gpu_inside_facts *facts, struct fl_plan *plan, struct fl_ref ref,
		      const struct fl_inside *inside)
{
	struct fl_str who = FL_S("a container of it has");

	if (inside->process.len)
		who = fl_plan_printf(plan, "its process %.*s uses", FL_ARG(inside->process));
	fl_want_condition(plan, &fl_gpu_finding_owner, ref, FL_EMIT_WARNING, "DriverCurrent", FL_CONDITION_FALSE,
			  "DriverChanged", "%.*s %.*s, and the loaded driver is %.*s: the driver was changed under the "
					   "running Pod, and CUDA fails in it: %.*s",
			  FL_ARG(who), FL_ARG(inside->library),
			  FL_ARG(facts->driver->version), FL_ARG(deletion(plan, inside)));
}

static void say_denied(const struct fl_gpu_inside_facts *facts, struct fl_plan *plan, struct fl_ref ref,
		       const struct fl_inside *inside)
{
	fl_want_condition(plan, &fl_gpu_finding_owner, ref, FL_EMIT_WARNING, "DevicesAllowed", FL_CONDITION_FALSE,
			  "DeviceAccessLost", "a container of it may not open its %.*s any more: with the systemd "
			  "cgroup driver, systemctl daemon-reload takes devices away: %.*s%s", FL_ARG(inside->denied),
			  FL_ARG(deletion(plan, inside)),
			  facts->settings->dev_links ? "" : "; --dev-char-links=true of the agent keeps it from "
							    "happening again");
}

static void judge(const struct fl_gpu_inside_facts *facts, struct fl_plan *plan, const struct fl_inside *inside)
{
	struct fl_ref ref = { &fl_pod_finding_kind, FL_S(""), inside->meta.name, FL_S("") };
	bool stale = is_stale(facts, inside), denied = inside->denied.len && holds(facts, inside);
	struct fl_pod_finding finding = { 0 };

	if (!stale && !denied)
		return;
	FL_SET(&finding, pod_space, inside->pod_space);
	FL_SET(&finding, pod, inside->pod.len ? inside->pod : inside->meta.name);
	fl_want(plan, &fl_gpu_finding_owner, ref, &finding);
	if (stale)
		say_stale(facts, plan, ref, inside);
	if (denied)
		say_denied(facts, plan, ref, inside);
}

/* ---- the Node ---- */

struct at_risk {
	struct fl_str pods, node;              /* the last device node without a link */
	uint32_t count, unnamed;
};

static void add(struct at_risk *all, struct fl_plan *plan, const struct fl_inside *inside)
{
	struct fl_str now = fl_plan_printf(plan, "%.*s%s%.*s", FL_ARG(all->pods), all->count ? ", " : "",
					   FL_ARG(inside->meta.name));

	all->count++;
	if (all->unnamed || now.len > WORDS)
		all->unnamed++;
	else
		all->pods = now;
	all->node = inside->unlinked;
}

static void say_risk(const struct fl_gpu_inside_facts *f, struct fl_plan *plan)
{
	const struct fl_condition *before =
		f->node ? fl_condition_find(&f->node->status.conditions, FL_S("GPUAccessAtRisk")) : NULL;
	struct at_risk all = { 0 };

	if (!f->node)
		return;
	for (uint32_t i = 0; i < f->inside_len; i++)
		if (f->insides[i].unlinked.len && holds(f, &f->insides[i]))
			add(&all, plan, &f->insides[i]);
	if (all.count)
		fl_want_condition(plan, &fl_gpu_access_owner, FL_REF(&fl_own_node_kind, f->node), FL_EMIT_NOBODY,
				  "GPUAccessAtRisk", FL_CONDITION_TRUE, "NoCharLinks",
				  "with runc 1.1.3 to 1.1.6, or a systemd before 240, systemctl daemon-reload takes "
				  "their GPUs away from %u Pods, because /dev/char has no link to %.*s: start the "
				  "agent with --dev-char-links=true, then restart them: %.*s%s",
				  all.count, FL_ARG(all.node), FL_ARG(all.pods), all.unnamed ? ", ..." : "");
	else if (before)
		fl_want_condition(plan, &fl_gpu_access_owner, FL_REF(&fl_own_node_kind, f->node), FL_EMIT_NOBODY,
				  "GPUAccessAtRisk", FL_CONDITION_FALSE, "None",
				  "no running Pod is known to lose its GPUs by systemctl daemon-reload");
}

void fl_gpu_inside_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_inside_facts *f = facts_;
	struct fl_ref ref = { &fl_inspection_kind, FL_S(""), FL_S("pods"), FL_S("") };
	struct fl_inspection inspection = { 0 };

	FL_SET(&inspection, version, f->driver->version);
	if (f->holder_len || f->inside_len)
		FL_SET(&inspection, again, true);
	fl_want(plan, &fl_gpu_inspection_owner, ref, &inspection);
	for (uint32_t i = 0; i < f->inside_len; i++)
		judge(f, plan, &f->insides[i]);
	for (uint32_t i = 0; i < f->finding_len; i++) {
		struct fl_ref made = FL_REF(&fl_pod_finding_kind, &f->findings[i]);

		if (!fl_plan_find(plan, &fl_gpu_finding_owner, made))
			fl_want_gone(plan, made);
	}
	say_risk(f, plan);
}
