#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake/nvml/control.h"
#include "test.h"

/* The fake driver by its real door: each test makes a node, loads the library and calls it by nv_abi.h alone. */

struct node {
	char folder[64];
	struct fake_state *state;
	void *library;
	struct fl_nv_calls nv;
};

static void node_down(struct node *n)
{
	char command[128];

	if (n->library && n->nv.shutdown)
		(void)n->nv.shutdown();
	if (n->library)
		dlclose(n->library);
	if (n->folder[0]) {
		snprintf(command, sizeof(command), "rm -rf '%s'", n->folder);
		if (system(command) != 0)
			perror(command);
	}
}
#define NODE __attribute__((cleanup(node_down))) struct node

static int node_up(struct node *n, const char *topology, struct fl_err *err)
{
	char path[PATH_MAX];

	snprintf(n->folder, sizeof(n->folder), "/tmp/fake-XXXXXX");
	if (!mkdtemp(n->folder))
		return fl_fail_sys(err, errno, "a folder");
	snprintf(path, sizeof(path), FAKE_TOPOLOGY "/%s.yaml", topology);
	n->state = fake_up(path, n->folder, 7, 0, err);
	if (!n->state)
		return -(int)err->code;
	setenv(FAKE_ENV, n->folder, 1);
	n->library = dlopen(FAKE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		return fl_fail(err, FL_E_NOTFOUND, "%s", dlerror());
	if (fl_nv_resolve(&n->nv, dlsym, n->library) != fl_nv_symbols_n)
		return fl_fail(err, FL_E_UNSUPPORTED, "the fake lacks a call of nv_abi.h");
	int code = n->nv.init();
	return code == 0 ? 0 : fl_fail(err, FL_E_IO, "init: %s", n->nv.error_string(code));
}

#define SAY(n, words) OK_ERR(fake_say((n).state, (words), stderr, &err), &err)

/* ---- what each kind of node is ---- */

TEST_ONCE(nodes)      /* the library is loaded anew for each row, and knows nothing of refused allocations */
{
	static const struct {
		const char *says, *topology, *name;
		uint32_t gpus, links, arch, mig_max;
		int fabric;
	} rows[] = {
		{ "eight A100", "dgx-a100", "NVIDIA A100-SXM4-80GB", 8, 12, FL_NV_ARCH_AMPERE, 7,
			FL_NV_NOT_SUPPORTED },
		{ "eight H100", "dgx-h100", "NVIDIA H100 80GB HBM3", 8, 18, FL_NV_ARCH_HOPPER, 7, 0 },
		{ "eight H200", "dgx-h200", "NVIDIA H200", 8, 18, FL_NV_ARCH_HOPPER, 7, 0 },
		{ "a tray of an NVL72", "gb200-nvl72", "NVIDIA GB200", 4, 18, FL_NV_ARCH_BLACKWELL, 7, 0 },
		{ "two T4", "two-t4", "Tesla T4", 2, 0, FL_NV_ARCH_TURING, 0, FL_NV_NOT_SUPPORTED },
		{ "one of several kinds", "mixed", "NVIDIA A100-SXM4-80GB", 7, 12, FL_NV_ARCH_AMPERE, 7,
			FL_NV_NOT_SUPPORTED },
	};

	EACH_ROW (row, rows) {
		struct fl_err err = { 0 };
		NODE n = { 0 };
		struct fl_nv_device *d = NULL, *last = NULL;
		struct fl_nv_fabric_v2 fabric = { .version = FL_NV_VERSION(struct fl_nv_fabric_v2, 2) };
		uint32_t got = 0;
		char name[FL_NV_TEXT];

		OK_ERR(node_up(&n, row->topology, &err), &err);
		CHECK_INT(n.nv.count(&got), 0);
		CHECK_INT(got, row->gpus);
		CHECK_INT(n.nv.by_index(0, &d), 0);
		CHECK_INT(n.nv.by_index(row->gpus, &last), FL_NV_INVALID_ARGUMENT);
		CHECK_INT(n.nv.by_index(row->gpus - 1, &last), 0);
		CHECK_INT(n.nv.name(d, name, sizeof(name)), 0);
		CHECK_STR(fl_str(name), row->name);
		CHECK_INT(n.nv.name(d, name, 3), FL_NV_INSUFFICIENT_SIZE);
		CHECK_INT(n.nv.architecture(d, &got), 0);
		CHECK_INT(got, row->arch);
		CHECK_INT(n.nv.mig_max(d, &got), 0);
		CHECK_INT(got, row->mig_max);
		CHECK_INT(n.nv.link_state(d, 0, &got), row->links ? 0 : FL_NV_NOT_SUPPORTED);
		if (row->links) {
			CHECK_INT(n.nv.link_state(d, row->links - 1, &got), 0);
			CHECK_INT(n.nv.link_state(d, row->links, &got), FL_NV_INVALID_ARGUMENT);
		}
		CHECK_INT(n.nv.fabric_any(d, &fabric), row->fabric);
		if (row->fabric == 0)
			CHECK_INT(fabric.state, FL_NV_FABRIC_COMPLETED);
	}
}

TEST_ONCE(a_rack_is_one_cluster_of_many_cards)
{
	struct fake_state *trays[2];
	struct fl_err err = { 0 };
	char folder[] = "/tmp/fake-XXXXXX", path[80], command[96];

	CHECK(mkdtemp(folder) != NULL);
	for (uint32_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%u", folder, i);
		trays[i] = fake_up(FAKE_TOPOLOGY "/gb200-nvl72.yaml", path, 7, 17 * i, &err);
		CHECK(trays[i] != NULL);
	}
	CHECK(memcmp(trays[0]->gpus[0].fabric.cluster, trays[1]->gpus[3].fabric.cluster, 16) == 0);
	CHECK_INT(trays[0]->gpus[0].fabric.clique, trays[1]->gpus[3].fabric.clique);
	CHECK(strcmp(trays[0]->gpus[0].uuid, trays[1]->gpus[0].uuid) != 0);
	CHECK(fake_up(FAKE_TOPOLOGY "/gb200-nvl72.yaml", path, 7, 18, &err) == NULL);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK_INT(system(command), 0);
}

/* ---- MIG ---- */

/* Make instances as a line says: "3g@4 1g" by slices, a place if any; the code of the first that fails. */
static int make(struct node *n, struct fl_nv_device *d, const char *layout)
{
	static const struct {
		const char *word;
		uint32_t number;
	} kinds[] = { { "1g", FL_NV_GI_1 }, { "1g+me", FL_NV_GI_1_REV1 }, { "1gx2", FL_NV_GI_1_REV2 },
		{ "2g", FL_NV_GI_2 },
		      { "3g", FL_NV_GI_3 }, { "4g", FL_NV_GI_4 }, { "7g", FL_NV_GI_7 }, { "2g+me", FL_NV_GI_2_REV1 } };
	struct fl_str rest = fl_str(layout), word;
	int code = 0;

	while (code == 0 && fl_str_split(&rest, ' ', &word)) {
		struct fl_str kind, place = { 0 }, all = word;
		struct fl_nv_gi_profile info;
		struct fl_nv_gi *gi;
		(void)fl_str_split(&all, '@', &kind);
		bool placed = fl_str_split(&all, '@', &place);
		uint32_t number = FL_NV_GI_COUNT;
		for (size_t i = 0; i < FL_LEN(kinds); i++)
			if (fl_str_eq(kind, fl_str(kinds[i].word)))
				number = kinds[i].number;
		code = n->nv.gi_profile(d, number, &info);
		if (code)
			break;
		struct fl_nv_placement at = { .start = placed ? (uint32_t)(place.p[0] - '0') : 0 }, list[8];
		uint32_t count = 8;
		code = n->nv.gi_placements(d, info.id, list, &count);
		at.size = list[0].size;
		if (code == 0)
			code = placed ? n->nv.gi_create_at(d, info.id, &at, &gi) : n->nv.gi_create(d, info.id, &gi);
	}
	return code;
}

TEST_ONCE(what_fits)
{
	static const struct {
		const char *says;
		const char *topology;
		uint32_t gpu;
		const char *layout;
		int code;
	} rows[] = {
		{ "seven of one slice", "dgx-a100", 0, "1g 1g 1g 1g 1g 1g 1g", 0 },
		{ "not eight", "dgx-a100", 0, "1g 1g 1g 1g 1g 1g 1g 1g", FL_NV_INSUFFICIENT_RESOURCES },
		{ "two halves of three", "dgx-a100", 0, "3g 3g", 0 },
		{ "two halves leave no memory", "dgx-a100", 0, "3g 3g 1g", FL_NV_INSUFFICIENT_RESOURCES },
		{ "four and three", "dgx-a100", 0, "4g 3g@4", 0 },
		{ "four is in the lower half only", "dgx-a100", 0, "4g@4", FL_NV_INVALID_ARGUMENT },
		{ "twos start at even places below six", "dgx-a100", 0, "2g@1", FL_NV_INVALID_ARGUMENT },
		{ "a place that is taken", "dgx-a100", 0, "1g@0 2g@0", FL_NV_INSUFFICIENT_RESOURCES },
		{ "a GPU that is whole is all of it", "dgx-a100", 0, "7g 1g", FL_NV_INSUFFICIENT_RESOURCES },
		{ "one has the media engine", "dgx-a100", 0, "1g+me 1g+me", FL_NV_INSUFFICIENT_RESOURCES },
		{ "the others have not", "dgx-a100", 0, "1g+me 1g 1g 1g 1g 1g 1g", 0 },
		{ "four of one slice and a quarter of the memory", "dgx-a100", 0, "1gx2 1gx2 1gx2 1gx2", 0 },
		{ "an A30 has four slices", "mixed", 2, "1g 1g 2g", 0 },
		{ "and no more", "mixed", 2, "1g 1g 2g 1g", FL_NV_INSUFFICIENT_RESOURCES },
		{ "no three on an A30", "mixed", 2, "3g", FL_NV_NOT_SUPPORTED },
		{ "its media engine is in a pair too", "mixed", 2, "2g+me 1g+me", FL_NV_INSUFFICIENT_RESOURCES },
		{ "GB200 is cut like the others", "gb200-nvl72", 3, "3g@0 2g@4 1g@6", 0 },
		{ "a T4 has none", "two-t4", 0, "1g", FL_NV_NOT_SUPPORTED },
	};

	EACH_ROW (row, rows) {
		struct fl_err err = { 0 };
		NODE n = { 0 };
		struct fl_nv_device *d;
		char words[32];

		OK_ERR(node_up(&n, row->topology, &err), &err);
		snprintf(words, sizeof(words), "mig %u on", row->gpu);
		if (strcmp(row->topology, "two-t4") != 0)
			SAY(n, words);
		CHECK_INT(n.nv.by_index(row->gpu, &d), 0);
		CHECK_INT(make(&n, d, row->layout), row->code);
	}
}

TEST_ONCE(mode)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	struct fl_nv_device *a100, *h100, *t4;
	struct fl_nv_gi *gi;
	uint32_t now, pending;
	int activation = -1;

	OK_ERR(node_up(&n, "mixed", &err), &err);
	CHECK_INT(n.nv.by_index(0, &a100), 0);
	CHECK_INT(n.nv.by_index(4, &h100), 0);
	CHECK_INT(n.nv.by_index(5, &t4), 0);
	CHECK_INT(n.nv.set_mig_mode(t4, 1, &activation), FL_NV_NOT_SUPPORTED);
	CHECK_INT(n.nv.gi_create(a100, 19, &gi), FL_NV_NOT_SUPPORTED);

	/* Ampere waits for a reset, and a reset for those who use it. */
	CHECK_INT(n.nv.set_mig_mode(a100, 1, &activation), 0);
	CHECK_INT(activation, FL_NV_RESET_REQUIRED);
	CHECK_INT(n.nv.mig_mode(a100, &now, &pending), 0);
	CHECK(now == 0 && pending == 1);
	SAY(n, "process 0 99 100");
	REFUSED(fake_say(n.state, "reset 0", stderr, &err), FL_E_RETRY);
	SAY(n, "process 0 99 0");
	REFUSED(fake_say(n.state, "reset 0", stderr, &err), FL_E_RETRY);   /* this process has the driver open */
	CHECK_INT(n.nv.shutdown(), 0);
	SAY(n, "reset 0");
	CHECK_INT(n.nv.init(), 0);
	CHECK_INT(n.nv.by_index(0, &a100), 0);
	CHECK_INT(n.nv.by_index(4, &h100), 0);
	CHECK_INT(n.nv.mig_mode(a100, &now, &pending), 0);
	CHECK(now == 1 && pending == 1);

	/* Hopper does not, unless it is in use. */
	SAY(n, "process 4 99 100");
	CHECK_INT(n.nv.set_mig_mode(h100, 1, &activation), 0);
	CHECK_INT(activation, FL_NV_IN_USE);
	SAY(n, "process 4 99 0");
	CHECK_INT(n.nv.set_mig_mode(h100, 1, &activation), 0);
	CHECK_INT(activation, 0);
	CHECK_INT(make(&n, h100, "1g"), 0);
	CHECK_INT(n.nv.set_mig_mode(h100, 0, &activation), FL_NV_IN_USE);
	SAY(n, "privilege off");
	CHECK_INT(n.nv.set_mig_mode(a100, 0, &activation), FL_NV_NO_PERMISSION);
	CHECK_INT(n.nv.gi_create(h100, 19, &gi), FL_NV_NO_PERMISSION);
}

TEST_ONCE(compute_instances)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	struct fl_nv_device *d, *mig, *again;
	struct fl_nv_gi *gi;
	struct fl_nv_ci *ci[4];
	struct fl_nv_ci_profile info;
	struct fl_nv_ci_profile_v2 v2 = { .version = FL_NV_VERSION(struct fl_nv_ci_profile_v2, 2) };
	struct fl_nv_attributes attributes;
	char uuid[FL_NV_TEXT];
	uint32_t got = 0;

	OK_ERR(node_up(&n, "dgx-h100", &err), &err);
	CHECK_INT(n.nv.by_index(0, &d), 0);
	CHECK_INT(n.nv.mig_by_index(d, 0, &mig), FL_NV_NOT_FOUND);   /* it could have some */
	SAY(n, "mig 0 on");
	CHECK_INT(n.nv.gi_create(d, 5, &gi), 0);
	CHECK_INT(n.nv.ci_profile(gi, FL_NV_CI_3, 0, &info), FL_NV_NOT_SUPPORTED);
	CHECK_INT(n.nv.ci_profile(gi, FL_NV_CI_7, 0, &info), FL_NV_NOT_SUPPORTED);
	CHECK_INT(n.nv.ci_profile(gi, FL_NV_CI_COUNT, 0, &info), FL_NV_INVALID_ARGUMENT);
	CHECK_INT(n.nv.ci_profile(gi, FL_NV_CI_1, 0, &info), 0);
	CHECK(info.instances == 4 && info.multiprocessors == 16);
	CHECK_INT(n.nv.ci_profile_any(gi, FL_NV_CI_1, 0, &v2), 0);
	CHECK_STR(fl_str(v2.name), "MIG 1c.4g.40gb");
	for (uint32_t i = 0; i < 4; i++)
		CHECK_INT(n.nv.ci_create(gi, info.id, &ci[i]), 0);
	CHECK_INT(n.nv.ci_create(gi, info.id, &ci[0]), FL_NV_INSUFFICIENT_RESOURCES);

	/* Indices have holes, and the newest takes the lowest. */
	CHECK_INT(n.nv.mig_by_index(d, 1, &mig), 0);
	CHECK_INT(n.nv.uuid(mig, uuid, sizeof(uuid)), 0);
	SAY(n, "process 0 55 10 1 1");
	uint32_t gi_id = 99;
	CHECK_INT(n.nv.gi_id(mig, &gi_id), 0);
	CHECK_INT(gi_id, 2);
	SAY(n, "process 0 55 10 2 1");
	CHECK_INT(n.nv.ci_destroy(ci[1]), FL_NV_IN_USE);
	SAY(n, "process 0 55 0");
	CHECK_INT(n.nv.ci_destroy(ci[1]), 0);
	CHECK_INT(n.nv.mig_by_index(d, 1, &again), FL_NV_NOT_FOUND);
	CHECK_INT(n.nv.mig_by_index(d, 7, &again), FL_NV_INVALID_ARGUMENT);
	CHECK_INT(n.nv.attributes(mig, &attributes), FL_NV_INVALID_ARGUMENT);
	CHECK_INT(n.nv.by_uuid(uuid, &again), FL_NV_NOT_FOUND);
	CHECK_INT(n.nv.ci_create(gi, info.id, &ci[1]), 0);
	CHECK_INT(n.nv.mig_by_index(d, 1, &again), 0);
	CHECK(again != mig);
	CHECK_INT(n.nv.attributes(again, &attributes), 0);
	CHECK(attributes.gi_slices == 4 && attributes.ci_slices == 1 && attributes.memory_mib == 40448);
	CHECK_INT(n.nv.is_mig(again, &got), 0);
	CHECK_INT(got, 1);
	CHECK_INT(n.nv.power(again, &got), FL_NV_NOT_SUPPORTED);
	CHECK_INT(n.nv.gi_destroy(gi), FL_NV_IN_USE);
}

/* ---- what goes wrong ---- */

TEST_ONCE(errors_that_were_ordered)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	struct fl_nv_device *d[2];
	uint32_t got;
	struct fl_nv_fabric_v3 v3 = { .version = FL_NV_VERSION(struct fl_nv_fabric_v3, 3) };
	struct fl_nv_fabric old;

	OK_ERR(node_up(&n, "dgx-h100", &err), &err);
	CHECK_INT(n.nv.by_index(0, &d[0]), 0);
	CHECK_INT(n.nv.by_index(1, &d[1]), 0);
	SAY(n, "fail power NO_PERMISSION 1 2");
	CHECK_INT(n.nv.power(d[0], &got), 0);
	CHECK_INT(n.nv.power(d[1], &got), FL_NV_NO_PERMISSION);
	CHECK_INT(n.nv.power(d[1], &got), FL_NV_NO_PERMISSION);
	CHECK_INT(n.nv.power(d[1], &got), 0);
	SAY(n, "lose 1");
	CHECK_INT(n.nv.power(d[1], &got), FL_NV_GPU_IS_LOST);
	CHECK_INT(n.nv.power(d[0], &got), 0);
	SAY(n, "pull 0");
	CHECK_INT(n.nv.count(&got), 0);
	CHECK_INT(got, 7);
	SAY(n, "heal");
	CHECK_INT(n.nv.power(d[1], &got), 0);
	SAY(n, "missing nvmlDeviceGetPowerUsage");
	CHECK_INT(n.nv.power(d[0], &got), FL_NV_FUNCTION_NOT_FOUND);
	CHECK_INT(n.nv.fabric_any(d[0], &v3), 0);
	SAY(n, "versions 1");
	v3.version = FL_NV_VERSION(struct fl_nv_fabric_v3, 3);
	CHECK_INT(n.nv.fabric_any(d[0], &v3), FL_NV_ARGUMENT_VERSION_MISMATCH);
	CHECK_INT(n.nv.fabric(d[0], &old), 0);
	CHECK_INT(n.nv.compute_mode((struct fl_nv_device *)&err, &got), FL_NV_INVALID_ARGUMENT);
	REFUSED(fake_say(n.state, "xid 3", stderr, &err), FL_E_INVALID);
	REFUSED(fake_say(n.state, "xid 8 79", stderr, &err), FL_E_NOTFOUND);
	REFUSED(fake_say(n.state, "heal any more", stderr, &err), FL_E_INVALID);
	REFUSED(fake_say(n.state, "dance", stderr, &err), FL_E_INVALID);
}

static bool shows(struct node *n, const char *words)
{
	struct fl_err err = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool has = out && fake_say(n->state, "show", out, &err) == 0 && fflush(out) == 0 && strstr(text, words);

	if (out)
		(void)fclose(out);
	free(text);
	return has;
}

TEST_ONCE(a_driver_that_comes_and_goes)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	uint32_t got;

	OK_ERR(node_up(&n, "two-t4", &err), &err);
	REFUSED(fake_say(n.state, "driver unload", stderr, &err), FL_E_RETRY);
	CHECK(shows(&n, " driver 535.247.01 loaded\n") && shows(&n, " mig off\n"));
	SAY(n, "driver absent");
	SAY(n, "lose 0");
	CHECK(shows(&n, " driver 535.247.01 absent\n") && shows(&n, " mig off lost\n"));
	SAY(n, "heal 0");
	CHECK(shows(&n, " absent\n"));                    /* a GPU is healed: the driver is none */
	SAY(n, "heal");
	CHECK(shows(&n, " loaded\n") && !shows(&n, " lost"));
	CHECK_INT(n.nv.shutdown(), 0);
	CHECK_INT(n.nv.init(), 0);
	SAY(n, "driver mismatch");
	CHECK_INT(n.nv.count(&got), 0);                   /* who has it open keeps it */
	CHECK_INT(n.nv.shutdown(), 0);
	CHECK_INT(n.nv.count(&got), FL_NV_UNINITIALIZED);
	CHECK_INT(n.nv.init(), FL_NV_LIB_RM_VERSION_MISMATCH);
	SAY(n, "driver unload");
	CHECK_INT(n.nv.init(), FL_NV_DRIVER_NOT_LOADED);
	SAY(n, "driver loaded 575.51.03");
	CHECK_INT(n.nv.init(), 0);
	char version[FL_NV_TEXT];
	CHECK_INT(n.nv.driver_version(version, sizeof(version)), 0);
	CHECK_STR(fl_str(version), "575.51.03");
	SAY(n, "driver absent");                          /* by force: no real one can, but hardware may */
	CHECK_INT(n.nv.count(&got), FL_NV_DRIVER_NOT_LOADED);
	SAY(n, "driver loaded");
	CHECK_INT(n.nv.count(&got), FL_NV_UNINITIALIZED);
	CHECK_INT(n.nv.init(), 0);
	CHECK_INT(n.nv.count(&got), 0);
}

/* A tracer is a process more, which has its turn when it has it. */
static bool stands_frozen(const struct node *n)
{
	for (int i = 0; i < 10000 && !__atomic_load_n(&n->state->frozen, __ATOMIC_ACQUIRE); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return __atomic_load_n(&n->state->frozen, __ATOMIC_ACQUIRE);
}

/* A child that makes one call about GPU 1; what wait() says of it. It is killed if it is still there after that
 * long, and not before it stands frozen where ms is 0. */
static int child(struct node *n, int sig, int ms, bool *ret_stuck)
{
	struct fl_nv_device *d;
	uint32_t got;
	int status = 0;

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGSEGV, SIG_DFL);
		if (n->nv.by_index(1, &d) != 0 || n->nv.power(d, &got) != 0)
			_exit(1);
		_exit(0);
	}
	sigset_t set;
	siginfo_t info;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	struct timespec t = { .tv_nsec = ms * 1000000L };
	*ret_stuck = (ms || stands_frozen(n)) && waitpid(pid, &status, WNOHANG) == 0 &&
		     sigtimedwait(&set, &info, &t) < 0;
	if (*ret_stuck)
		kill(pid, sig);
	t.tv_nsec = 50000000;
	if (*ret_stuck && waitpid(pid, &status, WNOHANG) == 0 && sigtimedwait(&set, &info, &t) < 0)
		status = -1;
	if (waitpid(pid, &status, status == -1 ? WNOHANG : 0) == 0)
		status = -(int)pid;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return status;
}

TEST_ONCE(calls_that_end_their_process)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	bool stuck;
	uint32_t got;

	OK_ERR(node_up(&n, "two-t4", &err), &err);
	CHECK_INT(child(&n, SIGKILL, 900, &stuck), 0);
	SAY(n, "crash power 1");
	int status = child(&n, SIGKILL, 900, &stuck);
	CHECK(!stuck && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK_INT(n.nv.count(&got), 0);                   /* it died with the lock: the next one has it */
	CHECK_INT(child(&n, SIGKILL, 900, &stuck), 0);    /* once */

	SAY(n, "hang power 1");
	status = child(&n, SIGTERM, 30, &stuck);
	CHECK(stuck && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	SAY(n, "heal 1");
	SAY(n, "hang any 1 deaf");
	status = child(&n, SIGTERM, 30, &stuck);
	CHECK(stuck && status < 0);
	kill((pid_t)-status, SIGKILL);
	CHECK(waitpid((pid_t)-status, &status, 0) > 0);
	CHECK(WTERMSIG(status) == SIGKILL);
	CHECK_INT(n.nv.count(&got), 0);                   /* the neighbour is well */
	SAY(n, "heal");
	CHECK_INT(child(&n, SIGKILL, 900, &stuck), 0);
}

TEST_ONCE(a_call_that_not_even_SIGKILL_ends)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	bool stuck;

	OK_ERR(node_up(&n, "two-t4", &err), &err);
	SAY(n, "hang power 1 frozen");
	int status = child(&n, SIGKILL, 0, &stuck);
	CHECK(stuck && status < 0);
	SAY(n, "heal");
	CHECK(waitpid((pid_t)-status, &status, 0) > 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* ---- events ---- */

TEST_ONCE(events)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	struct fl_nv_device *d[2], *lost;
	struct fl_nv_event_set *set;
	struct fl_nv_event event;
	unsigned long long types;

	OK_ERR(node_up(&n, "dgx-a100", &err), &err);
	CHECK_INT(n.nv.by_index(0, &d[0]), 0);
	CHECK_INT(n.nv.by_index(1, &d[1]), 0);
	CHECK_INT(n.nv.by_index(2, &lost), 0);
	SAY(n, "xid 0 13");                               /* told before anybody asked: gone */
	CHECK_INT(n.nv.event_set_create(&set), 0);
	CHECK_INT(n.nv.event_types(d[0], &types), 0);
	CHECK_INT(n.nv.event_register(d[0], FL_NV_EVENT_RECOVERY_ACTION, set), FL_NV_NOT_SUPPORTED);
	CHECK_INT(n.nv.event_register(d[0], types, set), 0);
	CHECK_INT(n.nv.event_register(d[1], FL_NV_EVENT_XID, set), 0);
	CHECK_INT(n.nv.event_wait(set, &event, 0), FL_NV_TIMEOUT);
	SAY(n, "ecc 1 uncorrected");                      /* not asked for of that one */
	SAY(n, "ecc 0 uncorrected");
	SAY(n, "xid 1 94 3 0");
	CHECK_INT(n.nv.event_wait(set, &event, 1000), 0);
	CHECK(event.device == d[0] && event.type == FL_NV_EVENT_DBE && event.gi == FL_NV_NO_INSTANCE);
	CHECK_INT(n.nv.event_wait(set, &event, 1000), 0);
	CHECK(event.device == d[1] && event.type == FL_NV_EVENT_XID && event.data == 94 && event.gi == 3 &&
	      event.ci == 0);
	CHECK_INT(n.nv.event_register(lost, FL_NV_EVENT_XID, set), 0);
	SAY(n, "lose 2");
	CHECK_INT(n.nv.event_wait(set, &event, 1000), 0);
	CHECK_INT(event.data, 79);
	CHECK_INT(n.nv.event_wait(set, &event, 1000), FL_NV_GPU_IS_LOST);
	CHECK_INT(n.nv.event_set_free(set), 0);
	CHECK_INT(n.nv.event_wait(set, &event, 0), FL_NV_INVALID_ARGUMENT);
}

TEST_ONCE(an_event_wakes_another_process)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	struct fl_nv_device *d;
	struct fl_nv_event_set *set;
	struct fl_nv_event event;
	int status, ready[2];
	char byte;

	OK_ERR(node_up(&n, "two-t4", &err), &err);
	CHECK_INT(pipe(ready), 0);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		if (n.nv.by_index(1, &d) || n.nv.event_set_create(&set) ||
		    n.nv.event_register(d, FL_NV_EVENT_XID, set) ||
		    write(ready[1], "r", 1) != 1)
			_exit(2);
		_exit(n.nv.event_wait(set, &event, 10000) == 0 && event.data == 48 ? 0 : 1);
	}
	bool told = read(ready[0], &byte, 1) == 1 && fake_say(n.state, "xid 1 48", stderr, &err) == 0;
	close(ready[0]);
	close(ready[1]);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(told);
	CHECK_INT(status, 0);
}

/* ---- CUDA ---- */

TEST_ONCE(a_context_can_be_made_on_a_card_that_is_well)
{
	static const struct {
		const char *says, *words;
		int init, retain;
	} rows[] = {
		{ "it is", "load 1 10", 0, 0 },
		{ "its memory has an error that stays", "ecc 1 uncorrected", 0, 214 },
		{ "it is lost", "lose 1", 100, 0 },
		{ "CUDA itself says no", "fail cuda 719 1", 0, 719 },
		{ "that was another GPU", "fail cuda 719 0", 0, 0 },
		{ "there is no driver", "driver absent", 100, 0 },
	};

	EACH_ROW (row, rows) {
		struct fl_err err = { 0 };
		NODE n = { 0 };
		void *context;
		int device = -1;

		OK_ERR(node_up(&n, "dgx-h100", &err), &err);
		CHECK(n.state != NULL);
		setenv("CUDA_VISIBLE_DEVICES", n.state->gpus[1].uuid, 1);
		OK_ERR(fake_say(n.state, row->words, stderr, &err), &err);
		void *cuda = dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
		CHECK(cuda != NULL);
		int (*init)(unsigned) = (int (*)(unsigned))dlsym(cuda, "cuInit");
		int (*get)(int *, int) = (int (*)(int *, int))dlsym(cuda, "cuDeviceGet");
		int (*retain)(void **, int) = (int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain");
		int code = init(0), made = code == 0 && get(&device, 0) == 0 ? retain(&context, device) : 0;
		dlclose(cuda);
		CHECK_INT(code, row->init);
		CHECK_INT(made, row->retain);
	}
}

/* ---- the tree ---- */

static bool has(const struct node *n, const char *path, const char *text)
{
	char whole[PATH_MAX], got[1 << 16];

	snprintf(whole, sizeof(whole), "%s/root/%s", n->folder, path);
	FILE *f = fopen(whole, "re");
	size_t len = f ? fread(got, 1, sizeof(got) - 1, f) : 0;
	if (f)
		fclose(f);
	got[len] = 0;
	return f && strstr(got, text);
}

/* What opening it answers: an errno, 0, or -1 for no device node. */
static int opening(const struct node *n, const char *path, unsigned major_no, unsigned minor_no)
{
	char whole[PATH_MAX];
	struct stat st;

	snprintf(whole, sizeof(whole), "%s/root/%s", n->folder, path);
	if (stat(whole, &st) < 0)
		return errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(major_no, minor_no))
		return -1;
	FILE *f = fopen(whole, "re");
	if (f)
		fclose(f);
	return f ? 0 : errno;
}

TEST_ONCE(tree)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };

	OK_ERR(node_up(&n, "dgx-a100", &err), &err);
	OK_ERR(fake_tree(n.state, n.folder, FAKE_LIBRARY, &err), &err);
	CHECK(has(&n, "proc/devices", "195 nvidia"));
	CHECK(has(&n, "proc/driver/nvidia/version", "570.133.20"));
	CHECK(has(&n, "proc/driver/nvidia/gpus/0000:07:00.0/information", "Device Minor: \t 2"));
	CHECK(has(&n, "proc/driver/nvidia/gpus/0000:07:00.0/information", n.state->gpus[0].uuid));
	CHECK(has(&n, "sys/bus/pci/devices/0000:bd:00.0/device", "0x20b2"));
	CHECK(has(&n, "sys/bus/pci/devices/0000:bd:00.0/numa_node", "1"));
	CHECK(has(&n, "sys/bus/pci/devices/0000:bd:00.0/class", "0x030200"));
	CHECK(has(&n, "proc/driver/nvidia-caps/mig-minors", "gpu1/gi0/access 138\n"));
	CHECK(has(&n, "usr/lib/x86_64-linux-gnu/libcuda.so.1", ""));
	if (geteuid() == 0) {
		CHECK_INT(opening(&n, "dev/nvidiactl", 195, 255), ENXIO);
		CHECK_INT(opening(&n, "dev/nvidia2", 195, 2), ENXIO);
		CHECK_INT(opening(&n, "dev/nvidia-caps/nvidia-cap1", 121, 1), ENXIO);
	}

	/* No driver: cards are on the bus, and that is all. */
	SAY(n, "driver absent");
	OK_ERR(fake_tree(n.state, n.folder, FAKE_LIBRARY, &err), &err);
	CHECK_INT(opening(&n, "dev/nvidia2", 195, 2), ENOENT);
	CHECK(!has(&n, "proc/driver/nvidia/version", ""));
	CHECK(!has(&n, "proc/devices", "nvidia"));
	CHECK(has(&n, "sys/bus/pci/devices/0000:07:00.0/vendor", "0x10de"));
}

TEST_ONCE(the_library_in_the_tree_finds_its_node)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	struct fl_nv_calls nv;
	char library[PATH_MAX];
	uint32_t count = 0;

	OK_ERR(node_up(&n, "dgx-a100", &err), &err);
	OK_ERR(fake_tree(n.state, n.folder, FAKE_LIBRARY, &err), &err);
	snprintf(library, sizeof(library), "%s/root/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", n.folder);
	unsetenv(FAKE_ENV);
	void *own = dlmopen(LM_ID_NEWLM, library, RTLD_NOW);
	CHECK(own != NULL);
	(void)fl_nv_resolve(&nv, dlsym, own);
	int code = nv.init();
	(void)nv.count(&count);
	(void)nv.shutdown();
	dlclose(own);
	CHECK_INT(code, 0);
	CHECK_INT(count, 8);
}

TEST_ONCE(capabilities_follow_the_instances)
{
	struct fl_err err = { 0 };
	NODE n = { 0 };
	struct fl_nv_device *d;
	struct fl_nv_ci *ci;
	struct fl_nv_gi *gi;

	OK_ERR(node_up(&n, "dgx-a100", &err), &err);
	OK_ERR(fake_tree(n.state, n.folder, NULL, &err), &err);
	SAY(n, "mig 0 on");
	CHECK_INT(n.nv.by_index(0, &d), 0);
	CHECK_INT(n.nv.gi_create(d, 9, &gi), 0);
	CHECK_INT(n.nv.ci_create(gi, FL_NV_CI_3, &ci), 0);
	OK_ERR(fake_tree_caps(n.state, n.folder, &err), &err);
	CHECK(has(&n, "proc/driver/nvidia/capabilities/gpu2/mig/gi2/access", "DeviceFileMinor: 291\n"));
	CHECK(has(&n, "proc/driver/nvidia/capabilities/gpu2/mig/gi2/ci0/access", "DeviceFileMinor: 292\n"));
	if (geteuid() == 0)
		CHECK_INT(opening(&n, "dev/nvidia-caps/nvidia-cap292", 121, 292), ENXIO);
	CHECK_INT(n.nv.ci_destroy(ci), 0);
	OK_ERR(fake_tree_caps(n.state, n.folder, &err), &err);
	CHECK(!has(&n, "proc/driver/nvidia/capabilities/gpu2/mig/gi2/ci0/access", ""));
	CHECK(has(&n, "proc/driver/nvidia/capabilities/gpu2/mig/gi2/access", ""));
	CHECK_INT(opening(&n, "dev/nvidia-caps/nvidia-cap292", 121, 292), ENOENT);
}

/* ---- refusals of files ---- */

TEST(topologies)
{
	static const struct {
		const char *says, *text, *words;
	} rows[] = {
		{ "a word that is none", "gpus:\n- {model: t4, buses: [1], minor: 3}\n", "there is no 'minor'" },
		{ "a model that is none", "gpus:\n- {model: t5, buses: [1]}\n", "no model 't5'" },
		{ "a GPU needs an address", "gpus:\n- {model: t4}\n", "buses: one to" },
		{ "links of no kind", "nvlink: rope\ngpus:\n- {model: t4, buses: [1]}\n", "'rope' is none of" },
		{ "no GPUs", "name: empty\n", "no gpus" },
		{ "no YAML", "gpus: [\n", "line " },
	};

	EACH_ROW (row, rows) {
		struct fl_err err = { 0 };
		char path[] = "/tmp/fake-XXXXXX";
		int fd = mkstemp(path);
		CHECK(fd >= 0);
		bool written = write(fd, row->text, strlen(row->text)) == (ssize_t)strlen(row->text);
		close(fd);
		struct fake_state *state = fake_up(path, "/tmp/fake-never", 1, 0, &err);
		unlink(path);
		CHECK(written);
		CHECK(state == NULL);
		if (!test_tortured())
			CHECK(strstr(err.text, row->words) != NULL);
	}
}

TEST_ONCE(every_word_is_explained)
{
	char *help = NULL, readme[1 << 16], row[64];
	size_t size = 0;
	FILE *out = open_memstream(&help, &size), *file = fopen(FAKE_README, "re");
	bool missing = !out || !file;

	if (out) {
		fake_help(out);
		fclose(out);
	}
	size_t len = file ? fread(readme, 1, sizeof(readme) - 1, file) : 0;
	if (file)
		fclose(file);
	readme[len] = 0;
	struct fl_str rest = fl_str(help), line;
	while (fl_str_split(&rest, '\n', &line)) {
		struct fl_str words = fl_str_trim(line), word;
		if (words.len && fl_str_split(&words, ' ', &word)) {
			snprintf(row, sizeof(row), "| `%.*s", FL_ARG(word));
			missing |= !strstr(readme, row);
		}
	}
	free(help);
	CHECK(!missing);
}
