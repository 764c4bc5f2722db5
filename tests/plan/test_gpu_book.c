/* The book of allocations under chance: I1, whatever the kubelet lists. */
#include "plan/gpu_pods.h"
#include "test.h"
#include <stdio.h>

enum { PODS = 4, CONTAINERS = 2, DEVICES = 6 };
#define ALL (PODS * CONTAINERS)

struct world {
	struct fl_arena arena;
	struct fl_active active;
	struct fl_holder holders[ALL];
	struct fl_booking bookings[ALL];
	struct fl_own_pod pods[PODS];
	struct fl_gpu_pods_facts facts;
};

static void world_auto_(struct world *w)
{
	fl_arena_free(&w->arena);
}

static const char *const resources[] = { "nvidia.com/gpu", "nvidia.com/mig-1g.5gb" };

/* One to three devices, sorted. */
static int some_devices(struct fl_arena *arena, struct fl_str_list *ret)
{
	uint64_t set = (UINT64_C(1) << test_random() % DEVICES) | (test_random() % 3 ? 0 : test_random());

	ret->len = 0;
	ret->at = fl_arena_get_n(arena, DEVICES, sizeof *ret->at);
	for (uint32_t i = 0; ret->at && i < DEVICES; i++)
		if (set >> i & 1) {
			ret->at[ret->len] = fl_arena_printf(arena, "GPU-%u", i);
			if (!ret->at[ret->len++].p)
				return -FL_E_NOMEM;
		}
	return ret->at ? 0 : -FL_E_NOMEM;
}

static int some_container(struct world *w, uint32_t i)
{
	struct fl_str pod = fl_arena_printf(&w->arena, "p%u", i / CONTAINERS),
		      container = fl_arena_printf(&w->arena, "c%u", i % CONTAINERS),
		      resource = fl_str(resources[test_random() % 4 == 0]),
		      name = fl_arena_printf(&w->arena, "t/p%u/c%u/%.*s", i / CONTAINERS, i % CONTAINERS,
					     FL_ARG(resource));
	struct fl_holder *holder = &w->holders[w->facts.holder_len];
	struct fl_booking *booking = &w->bookings[w->facts.booking_len];
	struct fl_str_list listed, booked;

	if (!pod.p || !container.p || !name.p || some_devices(&w->arena, &listed) < 0 ||
	    some_devices(&w->arena, &booked) < 0)
		return -FL_E_NOMEM;
	*holder = (struct fl_holder){ .resource = resource, .pod_space = FL_S("t"), .pod = pod,
				      .container = container, .devices = listed };
	FL_SET(FL_IN(holder, meta), name, name);
	*booking = (struct fl_booking){ .resource = resource, .pod_space = FL_S("t"), .pod = pod,
					.container = container, .since = 20,
					.devices = test_random() % 4 ? listed : booked };
	FL_SET(FL_IN(booking, meta), name, name);
	w->facts.holder_len += test_random() % 4 != 0;
	w->facts.booking_len += test_random() % 4 != 0;
	return 0;
}

static int some_world(struct world *w)
{
	fl_arena_reset(&w->arena);
	w->facts = (struct fl_gpu_pods_facts){ .active = &w->active, .holders = w->holders, .bookings = w->bookings,
					       .pods = w->pods, .pod_len = PODS, .watched = test_random() % 4 != 0,
					       .wall = 1000 };
	w->active = (struct fl_active){ .settled = true };
	if (!FL_ELEMENTS(&w->active, &w->arena, containers, ALL))
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < ALL; i++) {
		w->active.containers.at[i] = fl_arena_printf(&w->arena, "t/p%u/c%u", i / CONTAINERS, i % CONTAINERS);
		if (!w->active.containers.at[i].p || some_container(w, i) < 0)
			return -FL_E_NOMEM;
	}
	for (uint32_t i = 0; i < PODS; i++) {
		w->pods[i] = (struct fl_own_pod){ 0 };
		FL_SET(FL_IN(&w->pods[i], meta), space, FL_S("t"));
		FL_SET(FL_IN(&w->pods[i], meta), name, fl_arena_printf(&w->arena, "p%u", i));
		FL_SET(FL_IN(&w->pods[i], status), start, (int64_t)(test_random() % 4 ? 10 : 30));
		w->pods[i].has.status = 1;
		if (!w->pods[i].meta.name.p)
			return -FL_E_NOMEM;
	}
	return 0;
}

/* ---- what must come out, each with each ---- */

static const struct fl_condition *told(const struct fl_want *want, const char *type)
{
	return fl_condition_find(&((const struct fl_booking *)want->object)->status.conditions, fl_str(type));
}

static bool has_id(const struct fl_str_list *list, struct fl_str id)
{
	for (uint32_t i = 0; i < list->len; i++)
		if (fl_str_eq(list->at[i], id))
			return true;
	return false;
}

static bool has(const struct world *w, const struct fl_want *want, struct fl_str id)
{
	const struct fl_condition *known = told(want, "KnownToKubelet");

	if (has_id(&((const struct fl_booking *)want->object)->devices, id))
		return true;
	for (uint32_t i = 0; known && i < w->facts.holder_len; i++)
		if (fl_str_eq(w->holders[i].meta.name, want->ref.name) &&
		    fl_str_eq(known->reason, FL_S("DeviceDiffers")))
			return has_id(&w->holders[i].devices, id);
	return false;
}

static bool shares(const struct world *w, const struct fl_want *a, const struct fl_want *b)
{
	const struct fl_booking *x = a->object, *y = b->object;

	if (!fl_str_eq(x->resource, y->resource) || fl_str_eq(x->pod, y->pod))
		return false;
	for (uint32_t i = 0; i < DEVICES; i++) {
		char id[] = "GPU-0";

		id[4] = (char)('0' + i);
		if (has(w, a, fl_str(id)) && has(w, b, fl_str(id)))
			return true;
	}
	return false;
}

static bool is_booking(const struct fl_want *want)
{
	return want->what == FL_WANT_OBJECT && want->ref.kind == &fl_booking_kind;
}

/* The last one that has a device of it, too. */
static const struct fl_booking *rival(const struct world *w, const struct fl_plan *plan, const struct fl_want *want)
{
	const struct fl_booking *found = NULL;

	for (const struct fl_want *other = plan->first; other; other = other->next)
		if (other != want && is_booking(other) && told(other, "HeldAlone") && shares(w, want, other))
			found = other->object;
	return found;
}

static int64_t contended;

static void check_alone(const struct world *w, const struct fl_plan *plan, const struct fl_want *want)
{
	const struct fl_condition *alone = told(want, "HeldAlone");
	const struct fl_booking *booking = want->object, *other = alone ? rival(w, plan, want) : NULL;
	char words[80];

	CHECK_INT(alone != NULL, told(want, "KnownToKubelet") != NULL);
	if (!alone)
		return;
	CHECK_INT(alone->status == FL_CONDITION_TRUE, other == NULL);
	if (!other)
		return;
	contended++;
	(void)snprintf(words, sizeof words, "is held by Pod t/%.*s and by Pod t/%.*s: ", FL_ARG(booking->pod),
		       FL_ARG(other->pod));
	CHECK(memmem(alone->message.p, alone->message.len, words, strlen(words)) != NULL);
}

TEST_ONCE(a_device_of_two_pods_is_told_on_both_and_on_no_other)   /* test_gpu_pods tortures what it runs through */
{
	FL_AUTO(world) struct world w = { 0 };

	contended = 0;
	for (int i = 0; i < 3000; i++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_plan plan;

		OK(some_world(&w));
		fl_plan_init(&plan, &arena);
		fl_gpu_pods_plan(&w.facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		for (const struct fl_want *want = plan.first; want; want = want->next)
			if (is_booking(want))
				check_alone(&w, &plan, want);
	}
	CHECK(contended > 1000);
}
