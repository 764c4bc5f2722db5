#include "fake/nvml/call.h"

#include <string.h>

/* Sets of events are this process's own; what was told is in the state, and each set has read it up to
 * somewhere. The state's lock guards them too. */

enum { SETS = 16 };

struct fl_nv_event_set {
	uint32_t used, epoch;
	uint64_t read;                  /* of the state's events */
	uint64_t mask[FAKE_GPUS];
};
static struct fl_nv_event_set sets[SETS];

#define BASE (FL_NV_EVENT_SBE | FL_NV_EVENT_DBE | FL_NV_EVENT_PSTATE | FL_NV_EVENT_XID | FL_NV_EVENT_CLOCK)
#define LATER (FL_NV_EVENT_MIG_CONFIG | FL_NV_EVENT_RETIREMENT | FL_NV_EVENT_RETIREMENT_FAILURE)
#define LATEST (FL_NV_EVENT_POISON | FL_NV_EVENT_FATAL_POISON | FL_NV_EVENT_UNAVAILABLE | FL_NV_EVENT_RECOVERY_ACTION)

static uint64_t supported(const struct fake_gpu *gpu)
{
	uint64_t types = BASE;

	if (gpu->model.slices)
		types |= LATER;
	if (gpu->model.arch >= FL_NV_ARCH_HOPPER)
		types |= LATEST;
	return types;
}

FAKE_CALL(event_types, nvmlDeviceGetSupportedEventTypes);
int nvmlDeviceGetSupportedEventTypes(struct fl_nv_device *d, unsigned long long *types)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(event_types), d);
	if (c.code == 0)
		*types = supported(c.gpu);
	return c.code;
}

FAKE_CALL(event_set_create, nvmlEventSetCreate);
int nvmlEventSetCreate(struct fl_nv_event_set **set)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(event_set_create));
	if (c.code)
		return c.code;
	for (uint32_t i = 0; i < SETS; i++) {
		if (sets[i].used)
			continue;
		memset(&sets[i], 0, sizeof(sets[i]));
		sets[i].used = 1;
		sets[i].epoch = c.state->driver_epoch;
		sets[i].read = c.state->events_n;
		*set = &sets[i];
		return 0;
	}
	return FL_NV_MEMORY;
}

static bool is_set(const struct call *c, const struct fl_nv_event_set *set)
{
	return set >= sets && set < sets + SETS && set->used && set->epoch == c->state->driver_epoch;
}

FAKE_CALL(event_register, nvmlDeviceRegisterEvents);
int nvmlDeviceRegisterEvents(struct fl_nv_device *d, unsigned long long types, struct fl_nv_event_set *set)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(event_register), d);
	if (c.code)
		return c.code;
	if (!is_set(&c, set) || types == 0)
		return FL_NV_INVALID_ARGUMENT;
	if (types & ~supported(c.gpu))
		return FL_NV_NOT_SUPPORTED;
	set->mask[c.index] |= types;
	return 0;
}

/* The next told event that the set asked for. */
static bool next_event(const struct call *c, struct fl_nv_event_set *set, struct fl_nv_event *event)
{
	const struct fake_state *state = c->state;

	if (state->events_n - set->read > FAKE_EVENTS)
		set->read = state->events_n - FAKE_EVENTS;
	while (set->read < state->events_n) {
		const struct fake_event *e = &state->events[set->read++ % FAKE_EVENTS];
		if (e->gpu >= FAKE_GPUS || !(set->mask[e->gpu] & e->type))
			continue;
		*event = (struct fl_nv_event){ .device = gpu_handle(e->gpu), .type = e->type, .data = e->data,
					       .gi = e->gi, .ci = e->ci };
		return true;
	}
	return false;
}

/* As with the real one, waiting for a card that fell off the bus comes back at once, every time. */
static bool lost_one(const struct call *c, const struct fl_nv_event_set *set)
{
	for (uint32_t i = 0; i < c->state->gpus_n; i++)
		if (set->mask[i] && c->state->gpus[i].lost == FL_NV_GPU_IS_LOST)
			return true;
	return false;
}

FAKE_CALL(event_wait, nvmlEventSetWait_v2);
int nvmlEventSetWait_v2(struct fl_nv_event_set *set, struct fl_nv_event *event, uint32_t timeout_ms)
{
	uint64_t end = fake_now_ns() + timeout_ms * 1000000ull;

	for (;;) {
		struct fake_state *state;
		uint32_t bell;
		{
			FAKE_SCOPE struct call c = begin(FAKE_NO(event_wait));
			if (c.code)
				return c.code;
			if (!is_set(&c, set) || !event)
				return FL_NV_INVALID_ARGUMENT;
			if (next_event(&c, set, event))
				return 0;
			if (lost_one(&c, set))
				return FL_NV_GPU_IS_LOST;
			state = c.state;
			bell = state->bell;
		}
		uint64_t now = fake_now_ns();
		if (now >= end)
			return FL_NV_TIMEOUT;
		fake_wait(state, bell, (uint32_t)((end - now + 999999) / 1000000));
	}
}
FAKE_ALSO(nvmlEventSetWait, nvmlEventSetWait_v2);

FAKE_CALL(event_set_free, nvmlEventSetFree);
int nvmlEventSetFree(struct fl_nv_event_set *set)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(event_set_free));
	if (c.code == 0 && !is_set(&c, set))
		return FL_NV_INVALID_ARGUMENT;
	if (c.code == 0)
		set->used = 0;
	return c.code;
}
