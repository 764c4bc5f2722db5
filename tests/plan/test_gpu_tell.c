/* Whom the health of a card concerns. */
#include "plan/gpu/tell.h"
#include "gpu_facts.h"

#define CARDS \
	"metadata: {name: '0000:01:00.0'}\nanswer: Answers\nuuid: GPU-1\n---\n" \
	"metadata: {name: '0000:02:00.0'}\nanswer: Answers\nuuid: GPU-2\npartitions: [{uuid: MIG-a, gi: 1, ci: 0, " \
	"profile: 1g.10gb}, {uuid: MIG-b, gi: 2, ci: 0, profile: 1g.10gb}]\n---\n" \
	"metadata: {name: '0000:03:00.0'}\nanswer: Unasked\n---\n" \
	"metadata: {name: '0000:04:00.0'}\nanswer: Lost\n"
#define HEALTHS \
	"metadata: {name: '0000:04:00.0'}\ncard: '0000:04:00.0'\nstate: Unhealthy\nidentity: {uuid: GPU-4}\n---\n" \
	"metadata: {name: MIG-d}\ncard: '0000:04:00.0'\nstate: Unhealthy\nidentity: {uuid: GPU-4, " \
	"partition: {uuid: MIG-d, gi: 1, ci: 0, profile: 1g.10gb}}\n---\n" \
	"metadata: {name: '0000:08:00.0'}\ncard: '0000:08:00.0'\nstate: Unhealthy\nidentity: {uuid: GPU-8}\n---\n" \
	"metadata: {name: '0000:01:00.0'}\ncard: '0000:01:00.0'\nstate: Healthy\nidentity: {uuid: GPU-7}\n"
#define HOLDER(space, pod, container, id) \
	"metadata: {name: " space "/" pod "/" container "/r}\nresource: r\ndevices: [" id "]\npodNamespace: " space \
	"\npod: " pod "\ncontainer: " container "\n"
#define HOLDERS \
	HOLDER("a", "p", "c1", "GPU-1") "---\n" HOLDER("a", "p", "c2", "'GPU-1::3'") "---\n" \
	HOLDER("a", "q", "c", "GPU-10") "---\n" HOLDER("b", "m", "c", "MIG-a") "---\n" \
	HOLDER("b", "o", "c", "GPU-9, 'MIG-b::0'") "---\n" HOLDER("c", "p", "c", "GPU-4") "---\n" \
	HOLDER("d", "p", "c", "MIG-d") "---\n" HOLDER("e", "old", "c", "GPU-7") "---\n" HOLDER("f", "x", "c", "GPU-8")

static const struct {
	const char *says, *health, *pods;
} rows[] = {
	{ "a Pod with two containers is told once, and one with a like name is not", "0000:01:00.0", "a/p " },
	{ "a GPU that is cut concerns all who have a part of it", "0000:02:00.0", "b/m b/o " },
	{ "a part concerns who has it", "MIG-a", "b/m " },
	{ "also a share of it", "MIG-b", "b/o " },
	{ "a GPU that the driver has not told of concerns nobody", "0000:03:00.0", "" },
	{ "one that is lost since before the agent came concerns who has it, or a part", "0000:04:00.0", "c/p d/p " },
	{ "a GPU that is gone concerns who has it still", "0000:08:00.0", "f/x " },
	{ "a GPU that was never there concerns nobody", "0000:09:00.0", "" },
};

static const struct fl_card *card_at(const struct fl_card *cards, uint32_t len, const char *name)
{
	for (uint32_t i = 0; i < len; i++)
		if (fl_str_eq(cards[i].meta.name, fl_str(name)))
			return &cards[i];
	return NULL;
}

TEST(who_is_told)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(1024);
		struct fl_gpu_tell_facts f = { .health = fl_str(row->health) };
		const struct fl_card *cards;
		struct fl_gpu_pod pods[9];
		uint32_t card_len, len;

		GOT(cards = facts_list(&arena, fl_card_bind(), CARDS, &card_len));
		GOT(f.healths = facts_list(&arena, fl_health_bind(), HEALTHS, &f.health_len));
		GOT(f.holders = facts_list(&arena, fl_holder_bind(), HOLDERS, &f.holder_len));
		CHECK_INT(f.holder_len, FL_LEN(pods));
		f.card = card_at(cards, card_len, row->health);
		len = fl_gpu_affected_pods(&f, pods);
		for (uint32_t i = 0; i < len; i++)
			fl_buf_printf(&text, "%.*s/%.*s ", FL_ARG(pods[i].space), FL_ARG(pods[i].name));
		OK(fl_buf_check(&text, "Pods", NULL));
		CHECK_STR(fl_buf_view(&text), row->pods);
	}
}

static const struct {
	const char *says, *health, *name;
} names[] = {
	{ "a GPU is named by all that a person may look for", "metadata: {name: '0000:03:00.0'}\ncard: '0000:03:00.0'\n"
	  "state: Healthy\nidentity: {uuid: GPU-2, index: 2}\n", "GPU 0000:03:00.0 (GPU-2, index 2)" },
	{ "a MIG device is named with its GPU", "metadata: {name: MIG-d}\ncard: '0000:04:00.0'\nstate: Healthy\n"
	  "identity: {uuid: GPU-4, index: 0}\n", "MIG device MIG-d on GPU 0000:04:00.0 (GPU-4, index 0)" },
	{ "a GPU that never answered has its address", "metadata: {name: '0000:03:00.0'}\ncard: '0000:03:00.0'\n"
	  "state: Unhealthy\n", "GPU 0000:03:00.0" },
};

TEST(how_a_gpu_is_named)
{
	EACH_ROW (row, names) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		const struct fl_health *health;
		struct fl_str name;
		uint32_t len;

		GOT(health = facts_list(&arena, fl_health_bind(), row->health, &len));
		name = fl_gpu_tell_name(&arena, health);
		GOT(name.p);
		if (!test_tortured())
			CHECK_STR(name, row->name);
	}
}

static const struct {
	const char *says;
	bool healthy;
	const char *reason, *was;
	bool is;
} drivers[] = {
	{ "a driver that is absent is none of a GPU's own", false, "DriverAbsent", "Healthy", true },
	{ "nor one that is paused", false, "Paused", "Healthy", true },
	{ "also after a fault of the GPU", false, "DriverMismatch", "Xid79", true },
	{ "a GPU that is back with its driver is no news of its own", true, "Healthy", "DriverSick", true },
	{ "what a GPU has beside its driver is", false, "Lost", "DriverAbsent", false },
	{ "a fabric that is not ready is one GPU's", false, "FabricNotReady", "", false },
	{ "so is its end", true, "Healthy", "FabricNotReady", false },
	{ "a GPU that recovers by itself is news", true, "Healthy", "Xid79", false },
};

TEST(what_is_the_drivers)
{
	EACH_ROW (row, drivers)
		CHECK_INT(fl_gpu_tell_is_of_driver(row->healthy, fl_str(row->reason), fl_str(row->was)), row->is);
}
