/* Floor 6 on a node: what the kubelet waits for when a Pod with GPUs starts. */
#include "base/units.h"
#include "plan/gpu/allocate.h"
#include "plan/gpu/pods.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CARDS = 8, SHARES = 10, ROUNDS = 20000 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);   /* one core's time, whoever else is on it */
	return (uint64_t)t.tv_sec * FL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void row(const char *name, double value, const char *unit, double bar)
{
	printf("{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"bar\":\"<= %g\",\"ok\":%s}\n", name, value, unit, bar,
	       value <= bar ? "true" : "false");
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_node: %s\n", what);
	exit(1);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double at(uint64_t *took, uint32_t count, double part)
{
	qsort(took, count, sizeof *took, by_size);
	return (double)took[(uint32_t)((count - 1) * part)];
}

/* Eight cards on two sockets under one NVSwitch. */
static struct fl_resource *board(struct fl_arena *arena, int32_t replicas)
{
	static const enum fl_device_list ways[] = { FL_BY_CDI };
	struct fl_resource *r = fl_arena_get(arena, sizeof *r);

	must(r && FL_ELEMENTS(r, arena, units, CARDS) && FL_ELEMENTS(r, arena, device_lists, 1), "no memory");
	r->device_lists.at[0] = ways[0];
	FL_SET(FL_IN(r, meta), name, FL_S("nvidia.com/gpu"));
	FL_SET(r, cdi_kind, FL_S("k8s.device-plugin.nvidia.com/gpu"));
	for (uint32_t i = 0; i < CARDS; i++) {
		struct fl_unit *unit = &r->units.at[i];

		FL_SET(unit, id, fl_arena_printf(arena, "GPU-%08x-1111-2222-3333-444444444444", i));
		FL_SET(unit, shown, unit->id);
		FL_SET(unit, healthy, true);
		if (replicas > 1) {
			FL_SET(unit, replicas, replicas);
			continue;
		}
		must(FL_ELEMENTS(unit, arena, nearness, CARDS), "no memory");
		for (uint32_t k = 0; k < CARDS; k++)
			unit->nearness.at[k] = i / 4 == k / 4 ? 1220 : 1210;
	}
	return r;
}

static void bench_allocate(const char *name, bool mps)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 }, answer = { 0 };
	struct fl_resource *r = board(&arena, mps ? SHARES : 1);
	struct fl_str ids[CARDS];
	struct fl_allocation got;
	uint64_t began;

	if (mps)
		FL_SET(r, mps_root, FL_S("/run/nvidia/mps"));
	for (uint32_t i = 0; i < CARDS; i++)
		ids[i] = mps ? fl_arena_printf(&arena, "%.*s::%u", FL_ARG(r->units.at[i].id), i) : r->units.at[i].id;
	began = now();
	for (uint32_t i = 0; i < ROUNDS; i++) {
		fl_arena_reset(&answer);
		must(fl_gpu_allocate(r, &(struct fl_device_ids){ &ids[i % CARDS], 1 }, &answer, &got, NULL) == 0 &&
			     got.cdi_len == 1,
		     "not handed out");
	}
	row(name, (double)(now() - began) / ROUNDS / 1000, "us", 5);
}

static void bench_prefer(const char *name, int32_t replicas, uint32_t size, double part, double bar)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 }, answer = { 0 };
	const struct fl_resource *r = board(&arena, replicas);
	uint32_t count = CARDS * (uint32_t)replicas, rounds = ROUNDS / 10;
	struct fl_str *ids = fl_arena_get_n(&arena, count, sizeof *ids), *got = fl_arena_get_n(&arena, size,
											       sizeof *got);
	uint64_t *took = fl_arena_get_n(&arena, rounds, sizeof *took);

	must(ids && got && took, "no memory");
	for (uint32_t i = 0; i < count; i++)
		ids[i] = replicas == 1 ? r->units.at[i].id :
					 fl_arena_printf(&arena, "%.*s::%u", FL_ARG(r->units.at[i % CARDS].id),
					   i / CARDS);
	for (uint32_t i = 0; i < rounds; i++) {
		uint64_t began = now();

		fl_arena_reset(&answer);
		must(fl_prefer(r, &(struct fl_device_ids){ ids, count }, &(struct fl_device_ids){ ids, 0 }, size,
			       &answer, got, NULL) == 0,
		     "not preferred");
		took[i] = now() - began;
	}
	row(name, at(took, rounds, part) / 1000, "us", bar);
}

/* Every replica of a board that is shared a lot is held by a Pod of its own; all of them are booked. */
static void bench_book(const char *name, uint32_t containers, bool booked, double bar)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 }, made = { 0 };
	struct fl_holder *holders = fl_arena_get_n(&arena, containers, sizeof *holders);
	struct fl_booking *bookings = fl_arena_get_n(&arena, containers, sizeof *bookings);
	struct fl_active active = { .settled = true };
	struct fl_gpu_pods_facts facts = { .active = &active, .holders = holders, .bookings = bookings,
					   .holder_len = containers, .booking_len = booked ? containers : 0 };
	uint64_t took[101];
	struct fl_plan plan;

	must(holders && bookings, "no memory");
	for (uint32_t i = 0; i < containers; i++) {
		struct fl_holder holder = { 0 };
		struct fl_booking booking = { 0 };

		FL_SET(FL_IN(&holder, meta), name,
		       fl_arena_printf(&arena, "team/worker-%04u/main/nvidia.com/gpu", i));
		FL_SET(&holder, resource, FL_S("nvidia.com/gpu"));
		FL_SET(&holder, pod_space, FL_S("team"));
		FL_SET(&holder, pod, fl_arena_printf(&arena, "worker-%04u", i));
		FL_SET(&holder, container, FL_S("main"));
		must(FL_ELEMENTS(&holder, &arena, devices, 1), "no memory");
		holder.devices.at[0] = fl_arena_printf(&arena, "GPU-%08x-1111-2222-3333-444444444444::%u", i % CARDS,
						       i / CARDS);
		FL_SET(FL_IN(&booking, meta), name, holder.meta.name);
		FL_SET(&booking, resource, holder.resource);
		FL_SET(&booking, pod_space, holder.pod_space);
		FL_SET(&booking, pod, holder.pod);
		FL_SET(&booking, container, holder.container);
		booking.devices = holder.devices;
		holders[i] = holder;
		bookings[i] = booking;
	}
	for (uint32_t i = 0; i < FL_LEN(took); i++) {
		uint64_t began = now();

		fl_arena_reset(&made);
		fl_plan_init(&plan, &made);
		fl_gpu_pods_plan(&facts, &plan);
		must(!plan.failed && plan.first, "no plan");
		took[i] = now() - began;
	}
	row(name, at(took, FL_LEN(took), 0.5) / 1000, "us", bar);
}

int main(void)
{
	bench_allocate("Allocate, the answer to one device of 8", false);
	bench_allocate("Allocate, the answer to one share of 8 GPUs x 10 shares of MPS", true);
	bench_prefer("GetPreferredAllocation, 2 of 8 devices, p50", 1, 2, 0.5, 100);
	bench_prefer("GetPreferredAllocation, 4 of 8 devices, p50", 1, 4, 0.5, 100);
	bench_prefer("GetPreferredAllocation, 8 of 8 GPUs x 10 shares, p99", SHARES, 8, 0.99, 2000);
	bench_prefer("GetPreferredAllocation, 40 of 8 GPUs x 10 shares, p99", SHARES, 40, 0.99, 2000);
	bench_book("the book of allocations, 96 containers with a share each, p50", 96, true, 500);
	bench_book("the book of allocations, 768 containers with a share each, p50", 768, true, 2000);
	bench_book("the same before they are booked, p50", 768, false, 2000);
	return 0;
}
