/* What needs no process: names of partitions, capabilities, what children say, storms, what an answer means. */
#include "base/units.h"
#include "fake/elf_file.h"
#include "node/gpu/child.h"
#include "node/gpu/events.h"
#include "node/gpu/find.h"
#include "node/gpu/nv_load.h"
#include "node/gpu/nv_mig.h"
#include "sim/sim.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <sys/stat.h>

/* ---- names of profiles ---- */

#define MIB(n) ((uint64_t)(n) << 20)

static const struct {
	const char *says;
	struct fl_mig_profile profile;
	const char *want;
} names[] = {
	{ "A100-40", { FL_NV_GI_1, 1, 1, 4864, MIB(40536) }, "1g.5gb" },
	{ "A100-40, with the media engine", { FL_NV_GI_1_REV1, 1, 1, 4864, MIB(40536) }, "1g.5gb+me" },
	{ "A100-40, twice the memory", { FL_NV_GI_1_REV2, 1, 1, 9856, MIB(40536) }, "1g.10gb" },
	{ "A100-40, three slices", { FL_NV_GI_3, 3, 3, 19968, MIB(40536) }, "3g.20gb" },
	{ "A100-40, all of it", { FL_NV_GI_7, 7, 7, 40192, MIB(40536) }, "7g.40gb" },
	{ "A100-80", { FL_NV_GI_2, 2, 2, 19968, MIB(81920) }, "2g.20gb" },
	{ "one compute slice of three", { FL_NV_GI_3, 3, 1, 40192, MIB(81920) }, "1c.3g.40gb" },
	{ "two compute slices of seven", { FL_NV_GI_7, 7, 2, 81152, MIB(81920) }, "2c.7g.80gb" },
	{ "H200", { FL_NV_GI_1, 1, 1, 16384, MIB(143771) }, "1g.18gb" },
	{ "H200, twice the memory", { FL_NV_GI_1_REV2, 1, 1, 33280, MIB(143771) }, "1g.35gb" },
	{ "H200, three slices", { FL_NV_GI_3, 3, 3, 68608, MIB(143771) }, "3g.71gb" },
	{ "A30 of 24 GB", { FL_NV_GI_2_REV1, 2, 2, 11968, MIB(24576) }, "2g.12gb+me" },
	{ "an RTX that draws", { FL_NV_GI_1_GFX, 1, 1, 24192, MIB(97887) }, "1g.24gb+gfx" },
	{ "an RTX with all media engines", { FL_NV_GI_2_ALL_ME, 2, 2, 48512, MIB(97887) }, "2g.48gb+me.all" },
	{ "an RTX without media engines", { FL_NV_GI_1_NO_ME, 1, 1, 24192, MIB(97887) }, "1g.24gb-me" },
	{ "the number is not known: no attribute", { FL_NV_GI_COUNT, 1, 1, 9728, MIB(81920) }, "1g.10gb" },
	{ "compute slices are not known", { FL_NV_GI_1, 1, 0, 9728, MIB(81920) }, "1g.10gb" },
	{ "no slices, no name", { FL_NV_GI_1, 0, 0, 9728, MIB(81920) }, NULL },
	{ "no memory, no name", { FL_NV_GI_1, 1, 1, 9728, 0 }, NULL },
	{ "memory that overflows, no name", { FL_NV_GI_1, 1, 1, UINT64_MAX / 2, MIB(81920) }, NULL },
};

TEST(profiles_are_called_as_the_vendors_tools_call_them)
{
	EACH_ROW (row, names) {
		FL_AUTO(fl_buf) struct fl_buf name = FL_BUF(64);
		bool named = fl_mig_name(&row->profile, &name);

		CHECK(named == (row->want != NULL));
		if (!row->want)
			continue;
		OK(fl_buf_check(&name, "name", NULL));
		CHECK_STR(fl_buf_view(&name), row->want);
		CHECK(fl_mig_is_name(fl_buf_view(&name)));
	}
}

static const struct {
	const char *says, *device, *want;
} in_device[] = {
	{ "a MIG device's name ends with its profile", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "1g.5gb" },
	{ "with an attribute", "NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "1g.10gb+me" },
	{ "a whole GPU's has none", "NVIDIA A100-SXM4-40GB", "" },
	{ "something else after MIG is no profile", "NVIDIA MIG 1g", "" },
	{ "nor is a path", "NVIDIA MIG 1g.5gb/../x", "" },
	{ "numbers without end are none", "X MIG 1234567g.5gb", "" },
};

TEST(a_profile_is_found_in_a_devices_name)
{
	EACH_ROW (row, in_device)
		CHECK_STR(fl_mig_name_in(fl_str(row->device)), row->want);
}

/* ---- mig-minors ---- */

TEST(capabilities_are_found_by_card_and_instance)
{
	FL_AUTO(fl_mig_caps) struct fl_mig_caps caps = { 0 };

	OK(fl_mig_caps_parse(&caps, FL_S("config 1\nmonitor 2\ngpu1/gi0/access 30\ngpu0/gi1/ci0/access 13\n"
					 "gpu0/gi1/access 12\nnonsense\ngpu0/gi1/ci0/other 9\ngpu0/gi300/access 5\n"
					 "gpu0/gi2/access 99999999999\ngpu0/gi2/access\n")));
	CHECK_INT(fl_mig_cap_find(&caps, 0, 1, FL_MIG_NO_CI), 12);
	CHECK_INT(fl_mig_cap_find(&caps, 0, 1, 0), 13);
	CHECK_INT(fl_mig_cap_find(&caps, 1, 0, FL_MIG_NO_CI), 30);
	CHECK_INT(fl_mig_cap_find(&caps, 1, 0, 0), -1);
	CHECK_INT(fl_mig_cap_find(&caps, 0, 2, FL_MIG_NO_CI), -1);
	CHECK_INT(fl_mig_cap_find(&caps, 70000, 1, 0), -1);
	CHECK_INT(caps.list.len, 3);
	OK(fl_mig_caps_parse(&caps, FL_S("")));
	CHECK_INT(fl_mig_cap_find(&caps, 0, 1, 0), -1);
}

/* ---- versions ---- */

static const struct {
	const char *says, *text, *want;
} versions[] = {
	{ "the closed module",
	  "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC 12.2.0",
	  "550.54.15" },
	{ "the open module",
	  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs)", "570.86.15" },
	{ "two numbers will do", "NVRM version: X 535.43 Y", "535.43" },
	{ "none in the first line", "NVRM\n550.54.15", "" },
	{ "no numbers", "NVRM version: a.b.c 1..2 1.2.3.4", "" },
	{ "nothing", "", "" },
};

TEST(the_kernels_part_says_its_version)
{
	char version[FL_GPU_VERSION_MAX];

	EACH_ROW (row, versions) {
		fl_gpu_version_in(fl_str(row->text), version);
		CHECK_STR(fl_str(version), row->want);
	}
}

/* ---- what children say ---- */

enum said { DRIVER, CARD, FAULT };

static const struct {
	const char *says;
	enum said what;
	const char *json;
	bool fine;
} said[] = {
	{ "a driver", DRIVER, "{\"driver\":{\"version\":\"550.54.15\",\"cuda\":12040}}", true },
	{ "cards", DRIVER, "{\"cards\":[\"0000:07:00.0\"]}", true },
	{ "no JSON", DRIVER, "Segmentation fault", false },
	{ "a version that is a path", DRIVER, "{\"driver\":{\"version\":\"../../etc\"}}", false },
	{ "an address that is none", DRIVER, "{\"cards\":[\"07:00.0\"]}", false },
	{ "an address in capitals is not the same text", DRIVER, "{\"cards\":[\"0000:0A:00.0\"]}", false },
	{ "links", DRIVER,
	  "{\"links\":[{\"card\":\"0000:07:00.0\",\"links\":[{\"peer\":\"0000:0a:00.0\",\"level\":10}]}]}", true },
	{ "a link to nothing", DRIVER, "{\"links\":[{\"card\":\"0000:07:00.0\",\"links\":[{\"peer\":\"x\"}]}]}",
	  false },
	{ "a GPU", CARD, "{\"metadata\":{\"name\":\"0000:07:00.0\"},\"answer\":\"Answers\",\"uuid\":\"GPU-1\"}",
	  true },
	{ "a GPU that is lost needs no UUID", CARD, "{\"metadata\":{\"name\":\"0000:07:00.0\"},\"answer\":\"Lost\"}",
	  true },
	{ "a GPU that answers has a UUID", CARD, "{\"metadata\":{\"name\":\"0000:07:00.0\"},\"answer\":\"Answers\"}",
	  false },
	{ "a GPU without an answer", CARD, "{\"metadata\":{\"name\":\"0000:07:00.0\"},\"uuid\":\"GPU-1\"}", false },
	{ "a GPU without an address", CARD, "{\"answer\":\"Answers\",\"uuid\":\"GPU-1\"}", false },
	{ "a UUID that leads elsewhere", CARD,
	  "{\"metadata\":{\"name\":\"0000:07:00.0\"},\"answer\":\"Answers\",\"uuid\":\"GPU-/../1\"}", false },
	{ "a partition", CARD,
	  "{\"metadata\":{\"name\":\"0000:07:00.0\"},\"answer\":\"Answers\",\"uuid\":\"GPU-1\",\"partitions\":"
	  "[{\"uuid\":\"MIG-1\",\"gi\":1,\"ci\":0,\"profile\":\"1g.10gb\",\"giCap\":12}]}",
	  true },
	{ "a partition whose profile is a sentence", CARD,
	  "{\"metadata\":{\"name\":\"0000:07:00.0\"},\"answer\":\"Answers\",\"uuid\":\"GPU-1\",\"partitions\":"
	  "[{\"uuid\":\"MIG-1\",\"gi\":1,\"ci\":0,\"profile\":\"one tenth\"}]}",
	  false },
	{ "a minor that no device has", CARD,
	  "{\"metadata\":{\"name\":\"0000:07:00.0\"},\"answer\":\"Answers\",\"uuid\":\"GPU-1\",\"minor\":-3}", false },
	{ "an XID", FAULT, "{\"card\":\"0000:07:00.0\",\"what\":\"Xid\",\"xid\":79,\"count\":1}", true },
	{ "an XID without a number", FAULT, "{\"card\":\"0000:07:00.0\",\"what\":\"Xid\"}", false },
	{ "memory errors", FAULT, "{\"card\":\"0000:07:00.0\",\"what\":\"Ecc\"}", true },
	{ "a fault of nothing", FAULT, "{\"what\":\"Ecc\"}", false },
	{ "a list", FAULT, "[]", false },
};

TEST(what_a_child_says_is_checked)
{
	EACH_ROW (row, said) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_card_fault fault;
		struct fl_gpu_told told;
		struct fl_card card;
		struct fl_err err = { 0 };
		int r = 0;

		switch (row->what) {
		case DRIVER: r = fl_gpu_take_told(fl_str(row->json), &arena, &told, &err); break;
		case CARD: r = fl_gpu_take_card(fl_str(row->json), &arena, &card, &err); break;
		case FAULT: r = fl_gpu_take_fault(fl_str(row->json), &arena, &fault, &err); break;
		}
		if (row->fine)
			OK_ERR(r, &err);
		else
			REFUSED(r, FL_E_INVALID);
	}
}

TEST(faults_are_named_by_card_kind_and_instance)
{
	FL_AUTO(fl_buf) struct fl_buf name = FL_BUF(256);
	struct fl_card_fault fault = { .card = FL_S("0000:07:00.0"), .what = FL_FAULT_XID, .xid = 79 };

	fl_gpu_fault_name(&fault, &name);
	fl_buf_char(&name, ' ');
	FL_SET(&fault, gi, 1);
	FL_SET(&fault, ci, 0);
	fl_gpu_fault_name(&fault, &name);
	fl_buf_char(&name, ' ');
	fault = (struct fl_card_fault){ .card = FL_S("0000:07:00.0"), .what = FL_FAULT_RECOVERY };
	fl_gpu_fault_name(&fault, &name);
	OK(fl_buf_check(&name, "name", NULL));
	CHECK_STR(fl_buf_view(&name), "0000:07:00.0/xid79 0000:07:00.0/xid79.gi1.ci0 0000:07:00.0/recovery");
}

/* ---- storms ---- */

static struct fl_gpu_event xid(int64_t number)
{
	return (struct fl_gpu_event){ .card = "0000:07:00.0", .what = FL_FAULT_XID, .xid = number, .gi = -1, .ci = -1 };
}

TEST(equal_events_in_quick_succession_are_told_together)
{
	struct fl_gpu_storm storm = { 0 };
	struct fl_gpu_event first = xid(31), other = xid(79), got;
	uint64_t now = 5 * FL_NS_PER_S;

	CHECK(fl_gpu_storm_add(&storm, &first, 1, now));
	CHECK(fl_gpu_storm_next(&storm) == FL_NEVER);
	for (int i = 0; i < 1000; i++)
		CHECK(!fl_gpu_storm_add(&storm, &first, 1, now + 1));
	CHECK(fl_gpu_storm_add(&storm, &other, 1, now + 2));
	CHECK(fl_gpu_storm_next(&storm) == now + FL_GPU_STORM_EVERY);
	CHECK_INT(fl_gpu_storm_take(&storm, now + 3, &got), 0);
	CHECK_INT(fl_gpu_storm_take(&storm, now + FL_GPU_STORM_EVERY, &got), 1000);
	CHECK_INT(got.xid, 31);
	CHECK_INT(fl_gpu_storm_take(&storm, now + FL_GPU_STORM_EVERY, &got), 0);
	CHECK(!fl_gpu_storm_add(&storm, &first, 1, now + FL_GPU_STORM_EVERY + 1));
	CHECK(fl_gpu_storm_add(&storm, &other, 1, now + 2 * FL_GPU_STORM_EVERY));
}

TEST(more_kinds_than_are_remembered_are_told_one_by_one)
{
	struct fl_gpu_storm storm = { 0 };
	struct fl_gpu_event event;

	for (int64_t i = 0; i < FL_GPU_STORM; i++) {
		event = xid(i);
		CHECK(fl_gpu_storm_add(&storm, &event, 1, FL_NS_PER_S));
		CHECK(!fl_gpu_storm_add(&storm, &event, 1, FL_NS_PER_S));
	}
	event = xid(1000);
	CHECK(fl_gpu_storm_add(&storm, &event, 1, FL_NS_PER_S));
	CHECK(fl_gpu_storm_add(&storm, &event, 1, FL_NS_PER_S));
}

/* ---- registering, in a world whose minutes take no time ---- */

/* A driver of one card that refuses one of three calls. */
static struct {
	int set, types, card;
	uint32_t tried;                /* how often it was asked for what it refuses */
} driver;

static int by_pci(const char *bus_id, struct fl_nv_device **device)
{
	(void)bus_id;
	*device = (struct fl_nv_device *)(void *)&driver;
	return FL_NV_SUCCESS;
}

static int event_types(struct fl_nv_device *device, unsigned long long *types)
{
	(void)device;
	*types = FL_NV_EVENT_XID;
	driver.tried += driver.types != FL_NV_SUCCESS;
	return driver.types;
}

static int event_set_create(struct fl_nv_event_set **set)
{
	*set = (struct fl_nv_event_set *)(void *)&driver;
	driver.tried += driver.set != FL_NV_SUCCESS;
	return driver.set;
}

static int event_register(struct fl_nv_device *device, unsigned long long types, struct fl_nv_event_set *set)
{
	(void)device;
	driver.tried += driver.card != FL_NV_SUCCESS;
	return set && types == FL_NV_EVENT_XID ? driver.card : FL_NV_INVALID_ARGUMENT;
}

/* Who waits is told that the driver is gone, and ends: in this world nobody can block. */
static int event_wait(struct fl_nv_event_set *set, struct fl_nv_event *event, uint32_t timeout_ms)
{
	(void)set;
	(void)event;
	(void)timeout_ms;
	return FL_NV_UNINITIALIZED;
}

static int event_set_free(struct fl_nv_event_set *set)
{
	(void)set;
	return FL_NV_SUCCESS;
}

static const struct fl_nv refusing = {
	.call = { .by_pci = by_pci, .event_types = event_types, .event_set_create = event_set_create,
		  .event_register = event_register, .event_wait = event_wait, .event_set_free = event_set_free },
};

struct listener {
	struct sim_process *process;
	struct fl_serve serve;
	struct fl_gpu_events events;
	int agent;                     /* the other end */
	int r;                         /* of the beginning */
	bool reports, gave_why;        /* as it was answered */
	bool ended;
	struct fl_err err;
};

static void listener_gone(void *self)
{
	struct listener *l = self;

	fl_gpu_events_stop(&l->events);
	fl_serve_stop(&l->serve);
	fl_close(l->serve.io, l->agent);
}

static void agent_gone(struct fl_serve *serve)
{
	(void)serve;
}

static void driver_gone(struct fl_gpu_events *events)
{
	fl_container(events, struct listener, events)->ended = true;
}

static int listener_main(struct sim_process *process)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct listener *l = sim_arg(process);
	struct fl_io *io = sim_io(process);
	struct fl_gpu_told told = { 0 };
	int fds[2];

	l->process = process;
	l->r = fl_pair(io, FL_SOCKETPAIR, fds, &l->err);
	if (l->r < 0)
		return l->r;
	l->agent = fds[1];
	l->serve.ended = agent_gone;
	l->serve.io = io;
	sim_own(process, l, listener_gone);
	l->r = fl_serve_start(io, &l->serve, fds[0], &l->err);
	l->events = (struct fl_gpu_events){ .io = io, .serve = &l->serve, .nv = &refusing, .ended = driver_gone };
	if (l->r >= 0)
		l->r = fl_gpu_events_start(&l->events, FL_S("0000:07:00.0"), &arena, &told, &l->err);
	l->reports = told.cards.len == 1;
	l->gave_why = told.why.len != 0;
	return 0;
}

/* Was the agent told these words so often since the last look? Under torture the line may have broken. */
static bool was_told(struct listener *l, const char *words, uint32_t want)
{
	static char bytes[16 * FL_KIB];
	struct fl_io *io = sim_io(l->process);
	int64_t n = fl_read(io, l->agent, bytes, sizeof bytes);
	uint32_t count = 0;

	for (const char *p = bytes; n > 0 && (p = memmem(p, (size_t)(bytes + n - p), words, strlen(words))); p++)
		count++;
	return test_tortured() || count == want;
}

static const struct {
	const char *says;
	int set, types, card;
	int refused;                   /* fl_code of the request */
	uint32_t tried;                /* in the first 100 s: at 0, 1, 3, 7, 15, 31, 61 and 91 */
} registrations[] = {
	{ "all is well", 0, 0, 0, 0, 0 },
	{ "a GPU that cannot report is left alone", 0, 0, FL_NV_NOT_SUPPORTED, 0, 1 },
	{ "so is one of a driver that has no such call", 0, FL_NV_FUNCTION_NOT_FOUND, 0, 0, 1 },
	{ "a failure without a reason is tried again", 0, 0, FL_NV_UNKNOWN, 0, 8 },
	{ "so is an argument that was fine before", 0, 0, FL_NV_INVALID_ARGUMENT, 0, 8 },
	{ "so is a GPU that is lost: it may be back before anybody looks", 0, 0, FL_NV_GPU_IS_LOST, 0, 8 },
	{ "so is what it can report", 0, FL_NV_UNKNOWN, 0, 0, 8 },
	{ "so is a set", FL_NV_MEMORY, 0, 0, 0, 8 },
	{ "a driver that is gone is let go of", 0, 0, FL_NV_UNINITIALIZED, FL_E_NOTFOUND, 1 },
	{ "so is one of another version", FL_NV_LIB_RM_VERSION_MISMATCH, 0, 0, FL_E_UNSUPPORTED, 1 },
};

TEST(a_card_that_should_report_is_registered_again_ever_later_and_nobody_is_told_twice)
{
	EACH_ROW (row, registrations) {
		FL_AUTO(sim_world) struct sim_world *world =
			sim_world_new(&(struct sim_config){ .seed = 1, .refuse = test_refuse_io });
		struct listener l = { .serve.poll.fd = -1, .agent = -1, .r = -FL_E_NOMEM };
		bool again = row->tried > 1;

		GOT(world);
		memset(&driver, 0, sizeof driver);
		driver.set = row->set;
		driver.types = row->types;
		driver.card = row->card;
		GOT(sim_host_new(world, "node", listener_main, &l));
		sim_run(world, 100 * FL_NS_PER_S);
		if (row->refused)
			REFUSED(l.r, (enum fl_code)row->refused);
		else
			OK_ERR(l.r, &l.err);
		CHECK_INT(driver.tried, row->tried);
		CHECK_INT(l.reports, !row->tried);
		CHECK_INT(l.gave_why, again);
		CHECK_INT(l.ended, !row->tried);   /* it waited, which ends this driver */
		if (!again)
			continue;
		CHECK(was_told(&l, "why", 0));   /* its answer has said it */
		driver.types = driver.set = FL_NV_SUCCESS;
		driver.card = FL_NV_NO_PERMISSION;   /* another reason */
		sim_run(world, 200 * FL_NS_PER_S);
		CHECK(was_told(&l, "why", 1));
		driver.card = FL_NV_SUCCESS;
		sim_run(world, 300 * FL_NS_PER_S);
		CHECK(l.ended);
		CHECK(was_told(&l, "\"cards\":[\"0000:07:00.0\"]", 1));
	}
}

/* ---- answers ---- */

static const struct {
	const char *says;
	int code;
	enum fl_nv_meaning want;
} meanings[] = {
	{ "success", FL_NV_SUCCESS, FL_NV_IS_FINE },
	{ "not supported is an absence", FL_NV_NOT_SUPPORTED, FL_NV_IS_ABSENT },
	{ "an argument that it does not know is an absence", FL_NV_INVALID_ARGUMENT, FL_NV_IS_ABSENT },
	{ "a symbol that is not there is an absence", FL_NV_FUNCTION_NOT_FOUND, FL_NV_IS_ABSENT },
	{ "a struct that is too new", FL_NV_ARGUMENT_VERSION_MISMATCH, FL_NV_IS_OLDER },
	{ "no driver", FL_NV_DRIVER_NOT_LOADED, FL_NV_IS_NO_DRIVER },
	{ "shut down behind our back", FL_NV_UNINITIALIZED, FL_NV_IS_NO_DRIVER },
	{ "another version", FL_NV_LIB_RM_VERSION_MISMATCH, FL_NV_IS_REPLACED },
	{ "lost", FL_NV_GPU_IS_LOST, FL_NV_IS_LOST },
	{ "to be reset", FL_NV_RESET_REQUIRED, FL_NV_IS_LOST },
	{ "an empty slot", FL_NV_NOT_FOUND, FL_NV_IS_NO_SUCH },
	{ "nothing came", FL_NV_TIMEOUT, FL_NV_IS_QUIET },
	{ "no right", FL_NV_NO_PERMISSION, FL_NV_IS_DENIED },
	{ "anything else", FL_NV_UNKNOWN, FL_NV_IS_FAILED },
	{ "a number from the future", 12345, FL_NV_IS_FAILED },
};

TEST(each_answer_means_something_to_do)
{
	EACH_ROW (row, meanings)
		CHECK_INT(fl_nv_means(row->code), row->want);
}

TEST(a_library_that_is_none_is_not_taken_up)
{
	FL_AUTO(fl_nv) struct fl_nv nv = { 0 };
	struct fl_err err = { 0 };

	REFUSED(fl_nv_open(&nv, "libnvidia-ml.so.1", &err), FL_E_INVALID);
	REFUSED(fl_nv_open(&nv, "/nowhere/libnvidia-ml.so.1", &err), FL_E_NOTFOUND);
	REFUSED(fl_nv_open(&nv, "/proc/self/exe", &err), FL_E_NOTFOUND);
	CHECK(!nv.library);
}

/* NVIDIA's mock driver is such a library. */
TEST_ONCE(a_library_with_a_symbol_that_nothing_defines_loads)
{
	struct fl_nv nv = { 0 };
	struct fl_err err = { 0 };

	OK_ERR(fl_nv_open(&nv, LAZY_LIBRARY, &err), &err);
	fl_nv_close(&nv);
}

/* ---- which machines are not for us ---- */

static const struct {
	const char *says, *files[3];   /* below the root; what begins with proc/ is the kernel's */
	enum fl_gpu_platform platform;
	bool library;
} platforms[] = {
	{ "a host with the driver is plain", { "usr/lib64/libnvidia-ml.so.1", "proc/driver/nvidia/version" },
	  FL_GPU_PLAIN, true },
	{ "a host without anything is plain", { "etc/hostname" }, FL_GPU_PLAIN, false },
	{ "a library alone is a driver whose kernel's part is not loaded", { "usr/lib64/libnvidia-ml.so.1" },
	  FL_GPU_PLAIN, true },
	{ "Windows' GPU", { "dev/dxg" }, FL_GPU_WSL, false },
	{ "its library is not loaded",
	  { "dev/dxg", "usr/lib/wsl/lib/libnvidia-ml.so.1", "usr/lib64/libnvidia-ml.so.1" },
	  FL_GPU_WSL, false },
	{ "Windows' libraries, seen from a container without /dev", { "usr/lib/wsl/lib/libdxcore.so" }, FL_GPU_WSL,
	  false },
	{ "a Tegra by its release", { "etc/nv_tegra_release" }, FL_GPU_TEGRA, false },
	{ "a Tegra by its device tree", { "proc/device-tree/compatible" }, FL_GPU_TEGRA, false },
	{ "a Tegra's library without the kernel's part is not loaded",
	  { "etc/nv_tegra_release", "usr/lib64/libnvidia-ml.so.1" }, FL_GPU_TEGRA, false },
	{ "a Tegra with the whole driver has GPUs",
	  { "etc/nv_tegra_release", "usr/lib64/libnvidia-ml.so.1", "proc/driver/nvidia/version" }, FL_GPU_PLAIN, true },
};

static bool put_platform_file(const char *dir, const char *name)
{
	const char *text = strstr(name, "compatible") ? "vendor,board" : "NVRM version: NVIDIA 550.54.15 x";
	char path[400];
	size_t from = strlen(dir) + 1;
	FILE *file;
	bool ok;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	for (char *p = path + from; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdir(path, 0755);
	}
	file = fopen(path, "we");
	if (!file)
		return false;
	if (strstr(name, ".so.")) {
		uint8_t bytes[FAKE_ELF_MAX];
		size_t size = fake_elf(bytes, "libnvidia-ml.so.1", 64);

		ok = fwrite(bytes, size, 1, file) == 1;
		return fclose(file) == 0 && ok;
	}
	/* Each text of a device tree ends with a NUL. */
	ok = fwrite(text, strlen(text) + (text[0] == 'v'), 1, file) == 1 &&
	     (text[0] != 'v' || fwrite("nvidia,tegra234", 16, 1, file) == 1);
	return fclose(file) == 0 && ok;
}

TEST_ONCE(machines_that_are_not_for_us_are_known_by_name)
{
	EACH_ROW (row, platforms) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		FL_AUTO(fl_mem) struct fl_lib_dirs *dirs = fl_zalloc(sizeof *dirs);
		struct fl_gpu_found found;
		char roots[400] = { 0 };

		GOT(io);
		GOT(dirs);
		(void)snprintf(roots, sizeof roots - 2, "%s", dir);
		for (uint32_t i = 0; i < FL_LEN(row->files) && row->files[i]; i++)
			CHECK(put_platform_file(dir, row->files[i]));
		fl_gpu_find(fl_io_fs(io), roots, "", test_path(dir, "proc"), dirs, &found);
		CHECK_INT(found.platform, row->platform);
		CHECK_INT(found.library[0] != 0, row->library);
	}
}
