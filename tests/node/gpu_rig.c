#include "gpu_rig.h"
#include "base/units.h"
#include "node/gpu/child.h"
#include "node/mps/launch.h"
#include "run/loop.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* ---- the child: this very program ---- */

__attribute__((constructor)) static void maybe_be_the_child(int argc, char **argv)
{
	struct fl_gpu_child_options options = { 0 };
	struct fl_io *io;
	int status;

	if (argc < 4 || strcmp(argv[1], "gpu") != 0)
		return;
	(void)prctl(PR_SET_DUMPABLE, 0);   /* an ordered crash leaves no core */
	options.proc = argv[3];
	options.cuda = argc > 4;
	io = fl_posix_new(NULL);
	status = io && fl_gpu_child_run(io, &options, NULL) >= 0 ? 0 : 1;
	io = fl_io_free(io);
	exit(status);
}

__attribute__((constructor)) static void maybe_launch_mps(int argc, char **argv)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(8 * FL_KIB);
	struct fl_mps_launch launch = { 0 };
	struct fl_err err = { 0 };
	struct fl_io *io;
	int r;

	if (argc < 12 || strcmp(argv[1], "mps") != 0)
		return;
	launch = (struct fl_mps_launch){ fl_str(argv[3]), argv[5], argv[7], argv[9], argc > 13 ? argv[13] : NULL,
					 argv[11] };
	io = fl_posix_new(NULL);
	r = io ? fl_mps_launch(fl_io_fs(io), &launch, &out, &err) : -FL_E_IO;
	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.text);
	else if (out.p)
		(void)!write(1, out.p, out.len);
	io = fl_io_free(io);
	fl_buf_free(&out);
	exit(r < 0);
}

/* ---- a plan that has nothing against XID 31 ---- */

static void fault_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_card_fault *fault = after ? after : before;

	fl_dirty_key(dirty, FL_S(""), fault->meta.name);
}

static bool forgive_gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	const struct fl_card_fault *fault = fl_view_get(view, &fl_card_fault_kind, FL_S(""), key.name);

	*(struct fl_ref *)facts = (struct fl_ref){ &fl_card_fault_kind, FL_S(""), key.name, FL_S("") };
	return fault && fault->xid == 31;
}

static void forgive_plan(const void *facts, struct fl_plan *plan)
{
	fl_want_gone(plan, *(const struct fl_ref *)facts);
}

static const struct fl_watched watches[] = { { &fl_card_fault_kind, fault_keys, false }, { 0 } };
static const struct fl_owner *const no_owners[] = { NULL };
static const struct fl_capability forgive = {
	.name = "forgive", .watches = watches, .key = &fl_card_fault_kind, .owners = no_owners,
	.facts_size = sizeof(struct fl_ref), .gather = forgive_gather, .plan = forgive_plan,
};

/* ---- up and down ---- */

int rig_say(struct gpu_rig *rig, const char *words, struct fl_err *err)
{
	return fake_say(rig->state, words, stderr, err);
}

int rig_tree(struct gpu_rig *rig, bool library, struct fl_err *err)
{
	return fake_tree(rig->state, rig->folder, library ? FAKE_LIBRARY : NULL, err);
}

/* What a child writes to its stderr comes here, too. A crash that was ordered is none of the sanitizers' affair. */
static bool log_line(void *self, const char *line, size_t len)
{
	struct gpu_rig *rig = self;
	char text[FL_LOG_LINE + 1];

	(void)snprintf(text, sizeof text, "%.*s", (int)len, line);
	if (strstr(text, "SEGV"))
		return true;
	if (strstr(text, "ERROR: ") || strstr(text, "runtime error")) {
		rig->complained = true;
		(void)fprintf(stderr, "# %s", text);
	}
	if (getenv("TEST_LOG"))
		(void)fprintf(stderr, "# %s", text);
	return true;
}

static uint64_t log_now(void *self)
{
	return fl_now(((struct gpu_rig *)self)->io);
}

static int64_t log_wall(void *self)
{
	(void)self;
	return 0;
}

int rig_start(struct gpu_rig *rig, unsigned flags, struct fl_err *err)
{
	static const struct fl_gpu_pace quick = {
		.look_every = 400 * FL_NS_PER_MS, .look_soon = 20 * FL_NS_PER_MS, .find_every = 20 * FL_NS_PER_MS,
		.start = 1500 * FL_NS_PER_MS, .card = 400 * FL_NS_PER_MS, .links = FL_NS_PER_S,
		.check = 600 * FL_NS_PER_MS,
		.links_every = 2 * FL_NS_PER_S, .hung_first = 20 * FL_NS_PER_MS, .hung_last = 200 * FL_NS_PER_MS,
		.grace = FL_NS_PER_S,
	};
	struct fl_gpu_options options = {
		.program = "/proc/self/exe", .roots = rig->roots, .sysfs = rig->sysfs, .proc = rig->proc,
		.env = rig->envs, .metrics = rig->metrics, .log = &rig->log,
	};

	fl_log_init(&rig->log, &(struct fl_log_to){ log_line, log_now, log_wall, rig }, "test");

	options.pace = quick;
	options.cuda = flags & RIG_CUDA;
	options.wait = flags & RIG_WAIT;
	if (flags & RIG_SELDOM)
		options.pace.look_every = FL_GPU_LOOK_EVERY;
	if (flags & RIG_CALM)
		options.pace.look_soon = RIG_CALM_LOOK;
	rig->gpu = fl_gpu_new(rig->io, rig->loop, &options, err);
	return rig->gpu ? 0 : -FL_E_NOMEM;
}

/* What lies on an io that is there. */
static int rig_loop(struct gpu_rig *rig, struct fl_err *err)
{
	static const uint64_t seed[2] = { 1, 2 };
	struct fl_loop_options options = { .seed = { 1, 2 } };
	int r;

	rig->roots[0] = rig->root;
	rig->envs[0] = rig->env;
	rig->metrics = fl_metrics_new(seed, err);
	rig->loop = rig->io ? fl_loop_new(rig->io, &options, err) : NULL;
	if (!rig->loop || !rig->metrics)
		return -FL_E_NOMEM;
	r = fl_loop_source(rig->loop, &(struct fl_source){ .kind = &fl_driver_kind }, err);
	if (r >= 0)
		r = fl_loop_source(rig->loop, &(struct fl_source){ .kind = &fl_card_kind }, err);
	if (r >= 0)
		r = fl_loop_source(rig->loop,
				   &(struct fl_source){ .kind = &fl_card_fault_kind, .sink = &fl_gpu_fault_sink,
							.sink_arg = &rig->gpu },
				   err);
	return r < 0 ? r : fl_loop_capability(rig->loop, &forgive, err);
}

int rig_again(struct gpu_rig *rig, const struct gpu_rig *tree, struct fl_io *io, struct fl_err *err)
{
	int r;

	*rig = *tree;
	rig->folder[0] = '\0';   /* it stays */
	rig->io = io;
	r = rig_loop(rig, err);
	return r < 0 ? r : rig_start(rig, 0, err);
}

int rig_up(struct gpu_rig *rig, const char *topology, unsigned flags, struct fl_err *err)
{
	char path[300];
	int r;

	(void)snprintf(rig->folder, sizeof rig->folder, "/tmp/fake-gpu-XXXXXX");
	if (!mkdtemp(rig->folder))
		return fl_fail_sys(err, errno, "a folder");
	(void)snprintf(rig->root, sizeof rig->root, "%s/root", rig->folder);
	(void)snprintf(rig->sysfs, sizeof rig->sysfs, "%s/sys", rig->root);
	(void)snprintf(rig->proc, sizeof rig->proc, "%s/proc", rig->root);
	(void)snprintf(rig->env, sizeof rig->env, "%s=%s", FAKE_ENV, rig->folder);
	(void)snprintf(path, sizeof path, "%s/%s.yaml", FAKE_TOPOLOGY, topology);
	rig->state = fake_up(path, rig->folder, 7, 0, err);
	if (!rig->state)
		return -FL_E_IO;
	r = rig_tree(rig, !(flags & RIG_NO_LIBRARY), err);
	if (r < 0)
		return r;
	rig->io = fl_posix_new(err);
	r = rig_loop(rig, err);
	return r < 0 || (flags & RIG_LATER) ? r : rig_start(rig, flags, err);
}

void rig_down(struct gpu_rig *rig)
{
	char command[128];

	rig->gpu = fl_gpu_free(rig->gpu);
	(void)test_check(!rig->complained, "no child broke a rule of memory", __FILE__, __LINE__);
	rig->loop = fl_loop_free(rig->loop);
	fl_metrics_free(rig->metrics);
	fl_arena_free(&rig->arena);
	fl_io_free(rig->io);
	if (!rig->folder[0])
		return;
	(void)snprintf(command, sizeof command, "rm -rf '%s'", rig->folder);
	if (system(command) != 0)
		perror(command);
}

/* ---- looking ---- */

void rig_address(const struct gpu_rig *rig, int gpu, char ret[16])
{
	const struct fake_gpu *g = &rig->state->gpus[gpu];

	(void)snprintf(ret, 16, "%04x:%02x:%02x.0", g->domain & 0xffff, g->bus & 0xff, g->slot & 0xff);
}

static const void *see(struct gpu_rig *rig, const struct fl_kind *kind, const char *name)
{
	struct fl_view view;

	fl_arena_reset(&rig->arena);
	view = fl_loop_view(rig->loop, &rig->arena);
	return fl_view_get(&view, kind, FL_S(""), fl_str(name));
}

const struct fl_driver *rig_see_driver(struct gpu_rig *rig)
{
	return see(rig, &fl_driver_kind, "driver");
}

const struct fl_card *rig_see_card(struct gpu_rig *rig, int gpu)
{
	char address[16];

	rig_address(rig, gpu, address);
	return see(rig, &fl_card_kind, address);
}

const struct fl_card_fault *rig_see_fault(struct gpu_rig *rig, int gpu, const char *what)
{
	char name[80], address[16];

	rig_address(rig, gpu, address);
	(void)snprintf(name, sizeof name, "%s/%s", address, what);
	return see(rig, &fl_card_fault_kind, name);
}

void rig_turn(struct gpu_rig *rig, uint64_t ns)
{
	uint64_t end = fl_now(rig->io) + ns;

	do {
		if (fl_io_turn(rig->io, end, NULL) < 0)
			return;
	} while (fl_clock(rig->io) < end);
}

bool rig_until(struct gpu_rig *rig, bool (*so)(struct gpu_rig *rig, int arg), int arg)
{
	uint64_t end = fl_clock(rig->io) + 20 * FL_NS_PER_S;

	while (!so(rig, arg)) {
		if (fl_clock(rig->io) > end || fl_io_turn(rig->io, end, NULL) < 0) {
			const struct fl_driver *driver = rig_see_driver(rig);

			(void)fprintf(stderr, "# the driver is %s: %.*s\n",
				      driver ? fl_name(&fl_driver_state_names, (int)driver->state) : "unknown",
				      driver ? (int)driver->message.len : 0, driver ? driver->message.p : "");
			return false;
		}
	}
	return true;
}

static bool driver_is(struct gpu_rig *rig, int state)
{
	const struct fl_driver *driver = rig_see_driver(rig);

	return driver && (int)driver->state == state;
}

bool rig_driver(struct gpu_rig *rig, enum fl_driver_state state)
{
	return rig_until(rig, driver_is, (int)state);
}

static bool card_is(struct gpu_rig *rig, int arg)
{
	const struct fl_card *card = rig_see_card(rig, arg % 100);

	return card && (int)card->answer == arg / 100;
}

bool rig_answers(struct gpu_rig *rig, int gpu, enum fl_card_answer answer)
{
	return rig_until(rig, card_is, gpu + 100 * (int)answer);
}

bool rig_all_clean(struct gpu_rig *rig, int cards)
{
	for (int i = 0; i < cards; i++) {
		const struct fl_card *card = rig_see_card(rig, i);

		if (!card || card->clean < FL_CARD_CLEAN_MAX || !card->events)
			return false;
	}
	return true;
}

bool rig_fault_is_told(struct gpu_rig *rig, int xid)
{
	char name[20];

	(void)snprintf(name, sizeof name, "xid%d", xid);
	return rig_see_fault(rig, 0, name) != NULL;
}
