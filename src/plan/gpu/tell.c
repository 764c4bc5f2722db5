#include "plan/gpu/tell.h"
#include "plan/gpu/health.h"
#include "plan/gpu/ids.h"

/* A card that has never told this agent what it is, or is gone: then it, and its parts, are what they were. */
static bool holds_what_it_was(const struct fl_gpu_tell_facts *facts, const struct fl_holder *holder)
{
	for (uint32_t i = 0; i < facts->health_len; i++) {
		const struct fl_health *health = &facts->healths[i];

		if (fl_str_eq(health->card, facts->health) &&
		    (fl_gpu_holds(holder, health->identity.uuid) || fl_gpu_holds(holder, health->meta.name)))
			return true;
	}
	return false;
}

static bool is_concerned(const struct fl_gpu_tell_facts *facts, const struct fl_holder *holder)
{
	if (fl_gpu_holds(holder, facts->health))      /* the Health of a partition bears its UUID */
		return true;
	if (facts->card && facts->card->uuid.len)
		return fl_gpu_holds_card(holder, facts->card);
	return holds_what_it_was(facts, holder);
}

uint32_t fl_gpu_affected_pods(const struct fl_gpu_tell_facts *facts, struct fl_gpu_pod *ret)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < facts->holder_len; i++) {
		const struct fl_holder *holder = &facts->holders[i];

		if (len && fl_str_eq(ret[len - 1].space, holder->pod_space) &&
		    fl_str_eq(ret[len - 1].name, holder->pod))
			continue;
		if (is_concerned(facts, holder))
			ret[len++] = (struct fl_gpu_pod){ holder->pod_space, holder->pod };
	}
	return len;
}

struct fl_str fl_gpu_tell_name(struct fl_arena *arena, const struct fl_health *health)
{
	const struct fl_identity *was = &health->identity;
	bool mig = !fl_str_eq(health->meta.name, health->card);
	struct fl_str part = mig ? fl_arena_printf(arena, "MIG device %.*s on ", FL_ARG(health->meta.name)) : FL_S("");
	struct fl_str index = was->has.index ? fl_arena_printf(arena, "index %lld", (long long)was->index) : FL_S("");
	bool known = was->uuid.len || index.len;

	return fl_arena_printf(arena, "%.*sGPU %.*s%s%.*s%s%.*s%s", FL_ARG(part), FL_ARG(health->card),
			       known ? " (" : "", FL_ARG(was->uuid), was->uuid.len && index.len ? ", " : "",
			       FL_ARG(index), known ? ")" : "");
}

bool fl_gpu_tell_is_of_driver(bool healthy, struct fl_str reason, struct fl_str was)
{
	return fl_gpu_cause_is_of_all(healthy ? was : reason);
}

bool fl_gpu_tell_is_application(const struct fl_settings *settings, const struct fl_card_fault *fault)
{
	return fault->what == FL_FAULT_XID && fl_xid_find(fault->xid)->class == FL_XID_APPLICATION &&
	       settings->health && !fl_gpu_fault_counts(settings, fault);
}
