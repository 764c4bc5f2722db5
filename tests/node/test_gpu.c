/* The driver's feeder on the fake driver, through real children that hang, crash and are killed. None of it is
 * tortured: the children are processes of their own. */
#include "base/units.h"
#include "fake/nvml/call.h"
#include "gpu_rig.h"
#include "io/supervisor.h"
#include "test_io.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_events_child(struct gpu_rig *rig, int other_than)
{
	int pid = fl_gpu_state(rig->gpu).events;
	const struct fl_card *card = rig_see_card(rig, 0);

	return pid && pid != other_than && card && card->events;
}

/* How often a child has registered for the events of a GPU: what happens to it from then on is told. */
static uint64_t registrations(struct gpu_rig *rig)
{
	return rig->state->calls[fake_call_no("event_register")];
}

static bool has_registered(struct gpu_rig *rig, int times)
{
	return registrations(rig) >= (uint64_t)times;
}

static bool xid_48_is_told(struct gpu_rig *rig, int gpu)
{
	return rig_see_fault(rig, gpu, "xid48") != NULL;
}

static bool has_calls_child(struct gpu_rig *rig, int other_than)
{
	int pid = fl_gpu_state(rig->gpu).calls;

	return pid && pid != other_than;
}

/* ---- what is told ---- */

/* What a process holds of its own, in KiB: private pages that are not a file's. */
static long own_kib(int pid)
{
	char path[64], line[128];
	long kib = 0;
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "Anonymous:", 10) == 0)
			kib = strtol(line + 10, NULL, 10);
	if (f)
		(void)fclose(f);
	return kib;
}

TEST_ONCE(from_nothing_to_eight_cards)
{
	struct fl_gpu_state state;
	uint64_t begin;

	RIG(rig, "dgx-a100", RIG_LATER);
	begin = fl_clock(rig.io);
	OK_ERR(rig_start(&rig, 0, &err), &err);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	(void)printf("# from the start to eight GPUs: %llu us\n",
		     (unsigned long long)((fl_clock(rig.io) - begin) / 1000));
	CHECK_INT(fl_gpu_state(rig.gpu).events, 0);   /* the kubelet is told before another process begins */
	CHECK(rig_until(&rig, rig_all_clean, 8));
	state = fl_gpu_state(rig.gpu);
	(void)printf("# anonymous memory of the children: %ld and %ld KiB\n", own_kib(state.calls),
		     own_kib(state.events));
}

TEST_ONCE(eight_cards_are_told_whole)
{
	const struct fl_driver *driver;
	const struct fl_card *card;

	RIG(rig, "dgx-a100", 0);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	driver = rig_see_driver(&rig);
	CHECK_STR(driver->version, rig.state->driver_version);
	CHECK_STR(driver->root, rig.root);
	CHECK_INT(driver->message.len, 0);
	for (int i = 0; i < 8; i++) {
		const struct fake_gpu *gpu = &rig.state->gpus[i];

		card = rig_see_card(&rig, i);
		CHECK(card);
		CHECK_INT(card->answer, FL_CARD_ANSWERS);
		CHECK_STR(card->uuid, gpu->uuid);
		CHECK_STR(card->product, gpu->model.name);
		CHECK_INT(card->minor, gpu->minor);
		CHECK_INT(card->memory, gpu->model.memory_mib);
		CHECK_INT(card->compute, 800);
		CHECK_INT(card->numa, gpu->numa);
		CHECK_STR(card->bound, "nvidia");
		CHECK(card->mig_capable && !card->mig);
	}
	card = rig_see_card(&rig, 0);
	CHECK_INT(card->links.len, 7);
	CHECK_INT(card->links.at[0].nvlinks, 12);
	CHECK(card->links.at[0].has.level);
	CHECK(rig_until(&rig, rig_all_clean, 8));
}

/* What NVML may have at most; no model has so many yet. */
TEST_ONCE(thirty_six_nvlinks_of_one_gpu_are_all_counted)
{
	enum { LINKS = 36 };
	const struct fl_card *card;

	RIG(rig, "gb200-nvl72", RIG_LATER);
	for (uint32_t i = 0; i < rig.state->gpus_n; i++) {
		struct fake_gpu *gpu = &rig.state->gpus[i];

		CHECK(LINKS <= FL_LEN(gpu->links));
		for (uint32_t k = gpu->model.links; k < LINKS; k++)
			gpu->links[k] = gpu->links[0];
		gpu->model.links = LINKS;
	}
	OK_ERR(rig_start(&rig, 0, &err), &err);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	card = rig_see_card(&rig, 0);
	CHECK(card && card->links.len > 0);
	CHECK_INT(card->links.at[0].nvlinks, LINKS);
}

TEST_ONCE(a_rack_tells_its_fabric)
{
	const struct fl_card *card;

	RIG(rig, "gb200-nvl72", 0);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	card = rig_see_card(&rig, 0);
	CHECK(card && card->has.fabric);
	CHECK_INT(card->fabric.state, 3);
	CHECK_INT(card->fabric.cluster.len, 36);
	CHECK(card->fabric.has.health);
}

static const struct {
	const char *says;
	const char *words[12];
} drivers[] = {
	{ "one that knows structs of version 2", { "versions 2" } },
	{ "one that knows the oldest structs only", { "versions 1" } },
	{ "one without the newer calls",
	  { "missing fabric_any", "missing memory_v2", "missing gi_profile_any", "missing remapped_rows",
	    "missing field_values", "missing mig_mode", "missing event_types", "missing common_ancestor",
	    "missing link_state", "missing cuda_version", "missing compute_capability" } },
	{ "one that has little more than GPUs",
	  { "missing ecc_total", "missing fabric", "missing set_compute_mode" } },
};

TEST_ONCE(older_drivers_say_less_and_that_is_no_failure)
{
	EACH_ROW (row, drivers) {
		const struct fl_card *card;

		RIG(rig, "gb200-nvl72", RIG_LATER);
		for (int i = 0; row->words[i]; i++)
			SAY(row->words[i]);
		OK_ERR(rig_start(&rig, 0, &err), &err);
		CHECK(rig_driver(&rig, FL_DRIVER_READY));
		card = rig_see_card(&rig, 3);
		CHECK(card);
		CHECK_INT(card->answer, FL_CARD_ANSWERS);
		CHECK_STR(card->uuid, rig.state->gpus[3].uuid);
		CHECK(card->memory > 0);
	}
}

/* ---- MIG ---- */

struct library {
	void *handle;
	struct fl_nv_calls nv;
};

static void library_close(struct library *l)
{
	if (l->nv.shutdown)
		(void)l->nv.shutdown();
	if (l->handle)
		(void)dlclose(l->handle);
}

/* As an administrator would: instances of these profiles on the first card. */
static int cut(struct library *l, const char *folder, const uint32_t *numbers, uint32_t count)
{
	struct fl_nv_device *device = NULL;

	(void)setenv(FAKE_ENV, folder, 1);
	l->handle = dlopen(FAKE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!l->handle || !fl_nv_resolve(&l->nv, dlsym, l->handle) || l->nv.init() ||
	    l->nv.by_index(0, &device))
		return -FL_E_IO;
	for (uint32_t i = 0; i < count; i++) {
		struct fl_nv_gi_profile profile = { 0 };
		struct fl_nv_ci_profile part = { 0 };
		struct fl_nv_gi *gi = NULL;
		struct fl_nv_ci *ci = NULL;

		if (l->nv.gi_profile(device, numbers[i], &profile) || l->nv.gi_create(device, profile.id, &gi) ||
		    l->nv.ci_profile(gi, FL_NV_CI_1, 0, &part) || l->nv.ci_create(gi, part.id, &ci))
			return -FL_E_IO;
	}
	return 0;
}

static bool has_parts(struct gpu_rig *rig, int count)
{
	const struct fl_card *card = rig_see_card(rig, 0);

	return card && (int)card->partitions.len == count;
}

static bool part_fault_is_told(struct gpu_rig *rig, int gi)
{
	char name[40];

	(void)snprintf(name, sizeof name, "xid94.gi%d.ci0", gi);
	return rig_see_fault(rig, 0, name) != NULL;
}

TEST_ONCE(partitions_are_told_with_profiles_and_capabilities)
{
	__attribute__((cleanup(library_close))) struct library l = { 0 };
	static const uint32_t wanted[] = { FL_NV_GI_3, FL_NV_GI_1, FL_NV_GI_1_REV1 };
	const struct fl_card *card;
	char words[40];
	int32_t gi;

	RIG(rig, "dgx-a100", 0);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	CHECK(rig_until(&rig, rig_all_clean, 8));
	SAY("mig 0 on");
	CHECK_INT(cut(&l, rig.folder, wanted, FL_LEN(wanted)), 0);
	OK_ERR(fake_tree_caps(rig.state, rig.folder, &err), &err);
	SAY("event 0 256");   /* MIG configuration has changed */
	CHECK(rig_until(&rig, has_parts, 3));
	card = rig_see_card(&rig, 0);
	CHECK(card->mig);
	for (uint32_t i = 0; i < 3; i++) {
		const struct fl_partition *part = &card->partitions.at[i];

		CHECK(fl_str_starts(part->uuid, FL_S("MIG-")));
		CHECK(part->has.gi_cap && part->has.ci_cap);
		CHECK(part->gi_cap != part->ci_cap);
		CHECK(part->has.attributes && part->attributes.copy_engines > 0);
		CHECK(part->attributes.multiprocessors > 0);
		CHECK_INT(part->attributes.gi_slices, fl_str_eq(part->profile, FL_S("1c.3g.40gb")) ? 3 : 1);
		CHECK_INT(part->attributes.ci_slices, 1);
		CHECK(fl_str_eq(part->profile, FL_S("1c.3g.40gb")) || fl_str_eq(part->profile, FL_S("1g.10gb")) ||
		      fl_str_eq(part->profile, FL_S("1g.10gb+me")));
	}
	CHECK(!fl_str_eq(card->partitions.at[0].profile, card->partitions.at[1].profile));
	CHECK(!fl_str_eq(card->partitions.at[1].profile, card->partitions.at[2].profile));
	gi = card->partitions.at[1].gi;
	(void)snprintf(words, sizeof words, "xid 0 94 %d 0", gi);
	SAY(words);
	CHECK(rig_until(&rig, part_fault_is_told, gi));
	CHECK(!rig_fault_is_told(&rig, 94));
}

/* ---- faults ---- */

TEST_ONCE(a_lost_card_is_told_keeps_its_name_and_comes_back)
{
	int registered;

	RIG(rig, "dgx-a100", 0);
	CHECK(rig_until(&rig, rig_all_clean, 8));
	SAY("lose 2");
	CHECK(rig_answers(&rig, 2, FL_CARD_LOST));
	CHECK_STR(rig_see_card(&rig, 2)->uuid, rig.state->gpus[2].uuid);
	CHECK(rig_see_card(&rig, 2)->message.len > 0);
	CHECK_INT(rig_see_card(&rig, 3)->answer, FL_CARD_ANSWERS);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	registered = (int)registrations(&rig);
	SAY("heal 2");
	CHECK(rig_answers(&rig, 2, FL_CARD_ANSWERS));
	CHECK(rig_until(&rig, rig_all_clean, 8) && rig_until(&rig, has_registered, registered + 8));
	SAY("xid 2 48");   /* and it is heard again */
	CHECK(rig_until(&rig, xid_48_is_told, 2));
}

/* With a look every half minute, only reports can be as quick: also of one that is lost when another one just was. */
TEST_ONCE(cards_that_are_lost_one_after_the_other_are_each_told_at_once)
{
	RIG(rig, "dgx-a100", RIG_SELDOM);
	CHECK(rig_until(&rig, rig_all_clean, 8));
	for (int gpu = 1; gpu < 8; gpu++) {
		char words[16];

		(void)snprintf(words, sizeof words, "lose %d", gpu);
		SAY(words);
		CHECK(rig_answers(&rig, gpu, FL_CARD_LOST));
		rig_turn(&rig, 50 * FL_NS_PER_MS);   /* all looks that this one led to are over */
	}
	CHECK_INT(rig_see_card(&rig, 0)->answer, FL_CARD_ANSWERS);
}

/* ---- hangs and crashes ---- */

/* Turns in so long: what waits for nothing makes a handful. */
static uint32_t turns_in(struct gpu_rig *rig, uint64_t ns)
{
	uint64_t end = fl_clock(rig->io) + ns;
	uint32_t turns = 0;

	for (; fl_clock(rig->io) < end && fl_io_turn(rig->io, end, NULL) >= 0; turns++)
		continue;
	return turns;
}

static bool has_no_check(struct gpu_rig *rig, int arg)
{
	return fl_gpu_state(rig->gpu).check == arg;
}

static void let_go(struct fl_op *op)
{
	(void)op;
}

static const struct {
	const char *says, *words;
} hangs[] = {
	{ "the UUID", "hang uuid 1" },
	{ "the name", "hang name 1" },
	{ "memory", "hang memory 1" },
	{ "MIG", "hang mig_mode 1" },
	{ "errors of memory", "hang ecc_total 1" },
	{ "one that no signal but SIGKILL ends", "hang uuid 1 deaf" },
};

TEST_ONCE(a_call_that_hangs_costs_its_child_and_leaves_the_card_out)
{
	EACH_ROW (row, hangs) {
		RIG(rig, "two-t4", 0);
		CHECK(rig_until(&rig, rig_all_clean, 2));
		SAY(row->words);
		CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
		CHECK(rig_see_card(&rig, 1)->message.len > 0);
		CHECK_STR(rig_see_card(&rig, 1)->uuid, rig.state->gpus[1].uuid);
		CHECK_INT(rig_see_card(&rig, 0)->answer, FL_CARD_ANSWERS);
		CHECK(rig_until(&rig, has_calls_child, 0));
		CHECK(rig_driver(&rig, FL_DRIVER_READY));
		SAY("heal any");
		CHECK(rig_answers(&rig, 1, FL_CARD_ANSWERS));
	}
}

static bool is_stuck(struct gpu_rig *rig, int count)
{
	return (int)fl_gpu_state(rig->gpu).stuck == count;
}

TEST_ONCE(processes_that_do_not_even_die_have_a_ceiling_and_neighbours_go_on)
{
	struct fl_gpu_pause pause = { .op = { .done = let_go } };

	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	SAY("hang uuid 1 frozen");
	CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
	CHECK(rig_until(&rig, is_stuck, 1));
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	CHECK(rig_until(&rig, is_stuck, FL_SUPERVISOR_STUCK_MAX));
	CHECK(turns_in(&rig, 300 * FL_NS_PER_MS) < 200);   /* nothing is to be done until one of them ends */
	CHECK_INT(fl_gpu_state(rig.gpu).stuck, FL_SUPERVISOR_STUCK_MAX);
	CHECK_INT(fl_gpu_state(rig.gpu).check, 0);
	CHECK(rig_see_driver(&rig)->message.len > 0);
	CHECK_INT(rig_see_card(&rig, 0)->answer, FL_CARD_ANSWERS);
	CHECK(has_calls_child(&rig, 0));
	/* Whoever wants to unload the driver is told that it cannot be. */
	fl_gpu_pause(rig.gpu, &pause, "an upgrade");
	for (int i = 0; i < 3000 && fl_op_busy(&pause.op); i++)
		rig_turn(&rig, FL_NS_PER_MS);
	CHECK_INT(pause.op.result, -FL_E_TIMEOUT);
	fl_gpu_resume(rig.gpu);
	SAY("heal any");
	CHECK(rig_until(&rig, is_stuck, 0));
	CHECK(rig_answers(&rig, 1, FL_CARD_ANSWERS));
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	CHECK_INT(rig_see_driver(&rig)->message.len, 0);
}

static bool names(struct gpu_rig *rig, int gpu, const char *words)
{
	const struct fl_card *card = rig_see_card(rig, gpu);

	return card && card->message.len && memmem(card->message.p, card->message.len, words, strlen(words));
}

static bool names_cuda(struct gpu_rig *rig, int gpu)
{
	return names(rig, gpu, "error 999");
}

static bool names_sums(struct gpu_rig *rig, int gpu)
{
	return names(rig, gpu, "wrong results on it: 3 of 262144 sums, the first is ");
}

TEST_ONCE(a_card_that_hung_must_make_a_cuda_context_before_it_is_back)
{
	RIG(rig, "two-t4", RIG_CUDA);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	SAY("fail cuda 999 1");
	SAY("hang uuid 1 plain 1");
	CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
	CHECK(rig_until(&rig, names_cuda, 1));
	rig_turn(&rig, 500 * FL_NS_PER_MS);
	CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
	SAY("heal any");
	CHECK(rig_answers(&rig, 1, FL_CARD_ANSWERS));
}

TEST_ONCE(a_card_that_hung_must_compute_right_before_it_is_back)
{
	RIG(rig, "two-t4", RIG_CUDA);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	SAY("miscompute 1 3");
	SAY("hang uuid 1 plain 1");
	CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
	CHECK(rig_until(&rig, names_sums, 1));
	CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
	CHECK(rig_see_card(&rig, 1)->has.cuda && !rig_see_card(&rig, 1)->cuda);
	CHECK(!rig_see_card(&rig, 0)->has.cuda);
	SAY("miscompute 1 0");
	CHECK(rig_answers(&rig, 1, FL_CARD_ANSWERS));
	CHECK(rig_see_card(&rig, 1)->has.cuda && rig_see_card(&rig, 1)->cuda);
}

TEST_ONCE(a_library_that_hangs_from_the_start_makes_the_driver_sick)
{
	RIG(rig, "two-t4", RIG_LATER);
	SAY("hang init");
	OK_ERR(rig_start(&rig, 0, &err), &err);
	CHECK(rig_driver(&rig, FL_DRIVER_STARTING));
	CHECK(rig_driver(&rig, FL_DRIVER_SICK));
	CHECK_INT(rig_see_card(&rig, 0)->answer, FL_CARD_UNASKED);
	SAY("heal any");
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
}

TEST_ONCE(a_crash_is_no_outage_and_a_card_that_always_crashes_it_is_left_out)
{
	int pid;

	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	pid = fl_gpu_state(rig.gpu).calls;
	SAY("crash uuid 1");
	fl_gpu_look(rig.gpu);
	CHECK(rig_until(&rig, has_calls_child, pid));
	CHECK_INT(rig_see_driver(&rig)->state, FL_DRIVER_READY);
	CHECK_INT(rig_see_card(&rig, 1)->answer, FL_CARD_ANSWERS);
	SAY("crash uuid 1 1000");
	fl_gpu_look(rig.gpu);
	CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
	CHECK_INT(rig_see_card(&rig, 0)->answer, FL_CARD_ANSWERS);
	SAY("heal any");
	CHECK(rig_answers(&rig, 1, FL_CARD_ANSWERS));
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
}

TEST_ONCE(children_that_are_killed_are_replaced_and_nothing_is_told)
{
	struct fl_gpu_state before;
	int registered;

	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	before = fl_gpu_state(rig.gpu);
	CHECK(before.calls && before.events && !before.check);
	CHECK(kill(before.calls, SIGKILL) == 0);
	CHECK(rig_until(&rig, has_calls_child, before.calls));
	CHECK_INT(rig_see_driver(&rig)->state, FL_DRIVER_READY);
	registered = (int)registrations(&rig);
	CHECK(kill(before.events, SIGKILL) == 0);
	CHECK(rig_until(&rig, has_events_child, before.events) && rig_until(&rig, has_registered, registered + 2));
	SAY("xid 0 48");
	CHECK(rig_until(&rig, rig_fault_is_told, 48));
	CHECK_INT(rig_see_card(&rig, 0)->answer, FL_CARD_ANSWERS);
}

TEST_ONCE(a_child_that_is_stopped_is_taken_for_one_that_hangs)
{
	int pid;

	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	pid = fl_gpu_state(rig.gpu).calls;
	CHECK(kill(pid, SIGSTOP) == 0);
	CHECK(rig_until(&rig, has_calls_child, pid));
	CHECK(rig_until(&rig, rig_all_clean, 2));
	CHECK(kill(pid, 0) < 0);
}

/* ---- pauses ---- */

TEST_ONCE(a_pause_lets_go_of_the_driver_also_under_load)
{
	for (uint64_t i = 0; i < 5; i++) {
		struct fl_gpu_pause pause = { .op = { .done = let_go } };
		uint64_t begin;

		RIG(rig, "two-t4", 0);
		CHECK(rig_driver(&rig, FL_DRIVER_READY));
		fl_gpu_look(rig.gpu);
		rig_turn(&rig, i * FL_NS_PER_MS / 4);
		begin = fl_clock(rig.io);
		fl_gpu_pause(rig.gpu, &pause, "the operator wants to unload it");
		while (fl_op_busy(&pause.op) && fl_clock(rig.io) < begin + 5 * FL_NS_PER_S)
			rig_turn(&rig, FL_NS_PER_MS);
		CHECK_INT(pause.op.result, 0);
		CHECK(fl_clock(rig.io) - begin < 2 * FL_NS_PER_S);
		CHECK(!fake_in_use(rig.state->path));
		CHECK(rig_driver(&rig, FL_DRIVER_PAUSED));
		SAY("driver unload");
		SAY("driver loaded");
		rig_turn(&rig, 50 * FL_NS_PER_MS);
		CHECK_INT(fl_gpu_state(rig.gpu).calls, 0);
		fl_gpu_resume(rig.gpu);
		CHECK(rig_driver(&rig, FL_DRIVER_READY));
	}
}

/* ---- the bus ---- */

static bool is_gone(struct gpu_rig *rig, int gpu)
{
	return rig_see_card(rig, gpu) == NULL;
}

TEST_ONCE(a_card_that_is_pulled_out_is_gone_with_its_faults)
{
	char address[16], command[300];

	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	SAY("xid 0 79");
	CHECK(rig_until(&rig, rig_fault_is_told, 79));
	rig_address(&rig, 0, address);
	(void)snprintf(command, sizeof command, "rm -rf '%s/bus/pci/devices/%s'", rig.sysfs, address);
	SAY("pull 0");
	CHECK(system(command) == 0);
	CHECK(rig_until(&rig, is_gone, 0));
	CHECK(!rig_fault_is_told(&rig, 79));
	CHECK_INT(rig_see_card(&rig, 1)->answer, FL_CARD_ANSWERS);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
}

static bool write_at(const char *path, const void *bytes, size_t len)
{
	FILE *f = fopen(path, "w");
	bool whole = f && fwrite(bytes, 1, len, f) == len;

	return f && fclose(f) == 0 && whole;
}

/* A vGPU's configuration space: its one capability names the hypervisor's driver. */
static void make_vgpu(const struct gpu_rig *rig, int gpu)
{
	static const uint8_t capability[] = { 9, 0, 27, 'V', 'F', 0, 22, '5', '5', '0', '.', '9', '0', 0, 0, 0, 0,
					      'r', '5', '5', '0', '_', '9', '0' };
	uint8_t config[256] = { [0x06] = 0x10, [0x34] = 0x40 };
	char address[16], path[300];

	memcpy(config + 0x40, capability, sizeof capability);
	rig_address(rig, gpu, address);
	(void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/config", rig->sysfs, address);
	CHECK(write_at(path, config, sizeof config));
}

static bool has_width(struct gpu_rig *rig, int width)
{
	const struct fl_card *card = rig_see_card(rig, 0);

	return card && card->pcie_width == width;
}

TEST_ONCE(what_a_card_is_on_the_bus_outlasts_each_look)
{
	char address[16], path[300], place[200];

	RIG(rig, "two-t4", RIG_LATER);
	make_vgpu(&rig, 0);
	OK_ERR(rig_start(&rig, 0, &err), &err);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	(void)snprintf(place, sizeof place, "%.*s", FL_ARG(rig_see_card(&rig, 0)->bus));
	CHECK(place[0]);
	rig_address(&rig, 0, address);
	(void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/current_link_width", rig.sysfs, address);
	for (int width = 1; width <= 4; width *= 2) {
		char text[12];

		(void)snprintf(text, sizeof text, "%d", width);
		CHECK(write_at(path, text, strlen(text)));
		CHECK(rig_until(&rig, has_width, width));
		CHECK_STR(rig_see_card(&rig, 0)->bus, place);
		CHECK(rig_see_card(&rig, 0)->vgpu);
		CHECK_STR(rig_see_card(&rig, 0)->vgpu_version, "550.90");
		CHECK_STR(rig_see_card(&rig, 0)->vgpu_branch, "r550_90");
		CHECK(!rig_see_card(&rig, 1)->vgpu);
	}
}

/* ---- without fds ---- */

TEST_ONCE(without_fds_no_child_is_made_until_there_are_some)
{
	struct rlimit before, none;

	RIG(rig, "two-t4", RIG_LATER);
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = before;
	none.rlim_cur = 8;
	OK_ERR(rig_start(&rig, 0, &err), &err);
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	rig_turn(&rig, 300 * FL_NS_PER_MS);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
}

TEST_ONCE(a_card_that_hung_waits_quietly_while_no_process_can_be_made)
{
	struct rlimit before, none;
	uint32_t turns;

	RIG(rig, "two-t4", RIG_SELDOM);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	SAY("hang uuid 1");
	fl_gpu_look(rig.gpu);
	CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
	CHECK(rig_until(&rig, has_calls_child, 0));
	CHECK(rig_until(&rig, has_no_check, 0));
	SAY("heal any");
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = before;
	none.rlim_cur = 8;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	turns = turns_in(&rig, FL_NS_PER_S);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	(void)printf("# turns in a second without a process: %u\n", turns);
	CHECK(turns < 500);
	CHECK_INT(rig_see_card(&rig, 1)->answer, FL_CARD_HUNG);
	CHECK(rig_answers(&rig, 1, FL_CARD_ANSWERS));   /* and soon when one can */
}

/* ---- cost ---- */

static uint64_t cpu_of(int pid)
{
	char path[64], line[128];
	uint64_t ns = 0;
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fgets(line, sizeof line, f))
		ns = strtoul(line, NULL, 10);
	(void)fclose(f);
	return ns;
}

TEST_ONCE(a_look_at_eight_cards_is_cheap)
{
	struct fl_gpu_state state;
	uint64_t calls, own, asked, took;

	RIG(rig, "dgx-h100", 0);
	CHECK(rig_until(&rig, rig_all_clean, 8));
	state = fl_gpu_state(rig.gpu);
	calls = cpu_of(state.calls);
	own = cpu_of(getpid());
	asked = state.asked;
	rig_turn(&rig, 2 * FL_NS_PER_S);
	CHECK_INT(fl_gpu_state(rig.gpu).calls, state.calls);
	asked = fl_gpu_state(rig.gpu).asked - asked;
	took = cpu_of(state.calls) + cpu_of(getpid()) - calls - own;
	CHECK(asked >= 24);
	(void)printf("# eight GPUs looked at: %llu us of CPU, parent and child together\n",
		     (unsigned long long)(took / 1000 * 8 / asked));
}

/* ---- any call may fail: the agent's own side, without children ---- */

static void turn_until_told(struct fl_io *io, struct fl_loop *loop, uint64_t ns)
{
	uint64_t end = fl_clock(io) + ns;

	while (fl_clock(io) < end) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_view view = fl_loop_view(loop, &arena);

		if (fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver")) ||
		    fl_io_turn(io, fl_clock(io) + FL_NS_PER_MS, NULL) < 0)
			return;
	}
}

TEST(whatever_fails_the_driver_is_told_in_the_end)
{
	static const char *const roots[] = { "/nowhere", NULL };
	static const struct fl_gpu_options options = {
		.program = "/nowhere/fairlead", .roots = roots, .sysfs = "/nowhere", .proc = "/nowhere",
		.pace = { .look_soon = FL_NS_PER_MS, .find_every = FL_NS_PER_MS, .look_every = FL_NS_PER_MS },
	};
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_loop) struct fl_loop *loop = NULL;
	FL_AUTO(fl_gpu) struct fl_gpu *gpu = NULL;
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_driver *driver;
	struct fl_view view;
	struct fl_err err = { 0 };

	GOT(io);
	loop = fl_loop_new(io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &err);
	GOT(loop);
	OK_ERR(fl_loop_source(loop, &(struct fl_source){ .kind = &fl_driver_kind }, &err), &err);
	OK_ERR(fl_loop_source(loop, &(struct fl_source){ .kind = &fl_card_kind }, &err), &err);
	OK_ERR(fl_loop_source(loop,
			      &(struct fl_source){ .kind = &fl_card_fault_kind, .sink = &fl_gpu_fault_sink,
						   .sink_arg = &gpu },
			      &err),
	       &err);
	gpu = fl_gpu_new(io, loop, &options, &err);
	GOT(gpu);
	turn_until_told(io, loop, FL_NS_PER_S);
	view = fl_loop_view(loop, &arena);
	driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));
	if (!view.failed) {
		CHECK(driver);
		CHECK_INT(driver->state, FL_DRIVER_ABSENT);
	}
}
