#include "plan/gpu/taint.h"
#include "plan/gpu/lists.h"

static const char *const paths[] = { "status.conditions[type=GPUsStarted]", NULL };
const struct fl_owner fl_gpu_taint_owner = { "fairlead-taint", &fl_own_node_kind, paths };
const struct fl_shared fl_gpu_taints = { "fairlead-taint", &fl_own_node_kind, "spec.taints", "key,effect" };

static bool has_healthy(const struct fl_resource *resource)
{
	for (uint32_t i = 0; i < resource->units.len; i++)
		if (resource->units.at[i].healthy)
			return true;
	return false;
}

static bool is_allocatable(const struct fl_own_node *node, struct fl_str resource)
{
	for (uint32_t i = 0; i < node->status.allocatable.len; i++)
		if (fl_str_eq(node->status.allocatable.at[i].key, resource))
			return fl_quantity_value(node->status.allocatable.at[i].value) > 0;
	return false;
}

static bool is_ready(const struct fl_gpu_taint_facts *f)
{
	const struct fl_condition *ready = fl_condition_find(&f->node->status.conditions, FL_S(FL_GPUS_READY));
	bool any = false;

	/* A GPU that is broken for good must not keep Pods from the others. */
	if (!f->driver || f->driver->state != FL_DRIVER_READY || !ready ||
	    (ready->status != FL_CONDITION_TRUE && !fl_str_eq(ready->reason, FL_S(FL_GPUS_UNHEALTHY))))
		return false;
	for (uint32_t i = 0; i < f->resource_len; i++) {
		bool healthy = has_healthy(&f->resources[i]);

		if (healthy && !is_allocatable(f->node, f->resources[i].meta.name))
			return false;
		any |= healthy;
	}
	return any;
}

/* Were they ready once in this boot? The condition says in which. */
static bool has_started(const struct fl_gpu_taint_facts *f)
{
	const struct fl_condition *started = fl_condition_find(&f->node->status.conditions, FL_S("GPUsStarted"));

	return started && started->status == FL_CONDITION_TRUE && f->settings->boot.len &&
	       fl_str_ends(started->message, f->settings->boot);
}

/* The taint and the condition are two writes, and the process may end between them: the taint itself says whose it
 * is. */
static bool is_ours(const struct fl_own_node *node, const struct fl_taint *ours)
{
	for (uint32_t i = 0; i < node->spec.taints.len; i++) {
		const struct fl_taint *taint = &node->spec.taints.at[i];

		if (fl_str_eq(taint->key, ours->key) && fl_str_eq(taint->effect, ours->effect))
			return fl_str_eq(taint->value, ours->value);
	}
	return false;
}

/* The option is off: what it has put there goes. A taint of anybody else's doing is not touched. */
static void take_back(const struct fl_gpu_taint_facts *f, struct fl_plan *plan, struct fl_ref ref,
		      const struct fl_taint *taint)
{
	const struct fl_condition *started = fl_condition_find(&f->node->status.conditions, FL_S("GPUsStarted"));

	if (is_ours(f->node, taint))
		fl_want_no_item(plan, &fl_gpu_taints, ref, taint);
	if (started && started->status != FL_CONDITION_TRUE)
		fl_want_condition(plan, &fl_gpu_taint_owner, ref, FL_EMIT_NOBODY, "GPUsStarted", FL_CONDITION_TRUE,
				  "Off", "--startup-taint is off");
}

void fl_gpu_taint_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_taint_facts *f = facts_;
	struct fl_ref ref;
	struct fl_taint taint = { 0 };

	if (!f->settings || !f->node)
		return;
	ref = FL_REF(&fl_own_node_kind, f->node);
	FL_SET(&taint, key, FL_S(FL_STARTUP_TAINT));
	FL_SET(&taint, value, FL_S("fairlead"));
	FL_SET(&taint, effect, FL_S("NoSchedule"));
	if (!f->settings->startup_taint) {
		take_back(f, plan, ref, &taint);
		return;
	}
	if (has_started(f) || is_ready(f)) {
		fl_want_no_item(plan, &fl_gpu_taints, ref, &taint);
		fl_want_condition(plan, &fl_gpu_taint_owner, ref, FL_EMIT_NORMAL, "GPUsStarted", FL_CONDITION_TRUE,
				  "Started", "the GPUs were ready after boot %.*s", FL_ARG(f->settings->boot));
		return;
	}
	fl_want_item(plan, &fl_gpu_taints, ref, &taint);
	fl_want_condition(plan, &fl_gpu_taint_owner, ref, FL_EMIT_NOBODY, "GPUsStarted", FL_CONDITION_FALSE, "Starting",
			  "the taint " FL_STARTUP_TAINT " keeps Pods away until the GPUs are ready");
}
