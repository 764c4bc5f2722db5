/* Pods whose GPU is dead leave, if settings say so, after a grace period. Dead is what the driver, which works, says of
 * one GPU; a driver that is paused, replaced or sick itself evicts nobody. */
#include "base/units.h"
#include "plan/gpu/health.h"
#include "plan/gpu/pods_in.h"
#include "plan/gpu/tell.h"

static const char *const paths[] = { "podNamespace", "pod", "uid", "card", "status.conditions[type=Evicted]", NULL };
const struct fl_owner fl_gpu_evict_owner = { "fairlead-evict", &fl_eviction_kind, paths };

static const struct fl_card *card_of(const struct fl_gpu_pods_facts *facts, const struct fl_health *health)
{
	return fl_find(facts->cards, facts->card_len, meta.name, health->meta.name);
}

static bool is_dead(const struct fl_gpu_pods_facts *f, const struct fl_health *health)
{
	return health->state == FL_UNHEALTHY && fl_str_eq(health->boot, f->settings->boot) &&
	       !fl_gpu_cause_is_driver(health->cause);
}

static void evict(const struct fl_gpu_pods_facts *facts, struct fl_plan *plan, const struct fl_health *health,
		  const struct fl_own_pod *pod)
{
	struct fl_str name = fl_plan_printf(plan, "%.*s/%.*s", FL_ARG(pod->meta.space), FL_ARG(pod->meta.name));
	struct fl_ref ref = { &fl_eviction_kind, FL_S(""), name, FL_S("") };
	struct fl_eviction eviction = { 0 };

	FL_SET(&eviction, pod_space, pod->meta.space);
	FL_SET(&eviction, pod, pod->meta.name);
	FL_SET(&eviction, uid, pod->meta.uid);
	FL_SET(&eviction, card, health->meta.name);
	fl_want(plan, &fl_gpu_evict_owner, ref, &eviction);
	fl_want_condition(plan, &fl_gpu_evict_owner, ref, FL_EMIT_WARNING, "Evicted", FL_CONDITION_TRUE, "GPUDead",
			  "evicted: its GPU %.*s has been Unhealthy (%.*s) for more than %lld s (--evict-after)",
			  FL_ARG(health->meta.name), FL_ARG(health->cause),
			  (long long)(facts->settings->evict_after / (int64_t)FL_NS_PER_S));
}

/* Those of one GPU. False: it is not time yet. */
static bool evict_all(const struct fl_gpu_pods_facts *f, struct fl_plan *plan, const struct fl_health *health)
{
	struct fl_gpu_tell_facts concerned = { .health = health->meta.name, .card = card_of(f, health),
					       .healths = f->healths, .health_len = f->health_len,
					       .holders = f->holders, .holder_len = f->holder_len };
	uint64_t at = (uint64_t)(health->since + f->settings->evict_after);
	struct fl_gpu_pod *held;
	uint32_t len;

	if (f->now < at) {
		fl_want_at(plan, at);
		return false;
	}
	held = fl_plan_get(plan, (size_t)f->holder_len + 1, sizeof *held);
	len = held ? fl_gpu_affected_pods(&concerned, held) : 0;
	for (uint32_t i = 0; i < len; i++) {
		const struct fl_own_pod *pod = pods_find(f, held[i].space, held[i].name);

		if (pod && !pods_ends(pod))
			evict(f, plan, health, pod);
	}
	return len > 0;
}

/* One that was carried out is remembered until its Pod is gone, so that it is not asked for again. */
static bool keep(const struct fl_gpu_pods_facts *f, struct fl_plan *plan)
{
	for (uint32_t i = 0; i < f->eviction_len; i++) {
		const struct fl_eviction *made = &f->evictions[i];
		const struct fl_own_pod *pod = pods_find(f, made->pod_space, made->pod);

		if (!f->all_known || (pod && fl_str_eq(pod->meta.uid, made->uid)))
			fl_want(plan, &fl_gpu_evict_owner, FL_REF(&fl_eviction_kind, made), made);
		else
			fl_want_gone(plan, FL_REF(&fl_eviction_kind, made));
	}
	return f->eviction_len > 0;
}

bool pods_evict(const struct fl_gpu_pods_facts *f, struct fl_plan *plan)
{
	bool needed = keep(f, plan);

	if (!f->settings || f->settings->evict_after <= 0 || !f->driver || f->driver->state != FL_DRIVER_READY ||
	    !f->active || !f->active->settled)   /* another Pod of the name may be there by now */
		return needed;
	for (uint32_t i = 0; i < f->health_len; i++)
		if (is_dead(f, &f->healths[i]))
			needed |= evict_all(f, plan, &f->healths[i]);
	return needed;
}

bool fl_gpu_evict_refused(const struct fl_eviction *eviction, bool throttled, const char *why, struct fl_buf *ret)
{
	if (!throttled)
		return false;
	fl_buf_printf(ret, "its GPU %.*s is dead; the API server refuses the eviction: %s: the agent retries",
		      FL_ARG(eviction->card), why);
	return true;
}
