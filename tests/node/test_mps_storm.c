/* MPS in the simulated world: the plan, the loop, the sink and the journal are the agent's own, and a seed decides
 * which of daemon, agent, clients, disk and operator fails next. After each step what must always be so is looked at,
 * and from time to time all faults end and the node has to come to rest. */
#include "base/units.h"
#include "node/decide.h"
#include "node/mps/mps.h"
#include "plan/gpu_facts.h"
#include "plan/gpu/mps.h"
#include "sim/sim.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>

enum { CARDS = 2, STEPS = 3000, REST_EVERY = 100, DAEMON_START = 1000 };
#define RESOURCE "nvidia.com/gpu"
#define ROOT "/mps"
#define CONTROL "/usr/bin/nvidia-cuda-mps-control"
#define STARTED ROOT "/" RESOURCE "/.started"
/* A probe, its answer, the probe of the servers, and a step that goes first. */
#define NOTICED (FL_MPS_PROBE_UNUSED + 2 * FL_MPS_ANSWER_DEADLINE + FL_MPS_START_DEADLINE)
#define AT_ONCE (200 * FL_NS_PER_MS)
#define REST (180 * FL_NS_PER_S)

/* ---- what is so on the node, whatever the agent takes for so ---- */

struct agent;
struct node {
	struct sim_world *world;
	struct sim_host *host;
	struct sim_process *daemon, *agent_process;
	struct agent *agent;               /* NULL: none runs */
	unsigned limited;                  /* cards whose memory limit the daemon has been given, a bit each */
	int threads;
	bool deaf, fault, slow, refuses_modes, stuck;      /* stuck: nobody can tidy up */
	bool two_daemons;                  /* has there been a second one beside the first? */
	bool reused;                       /* the pid of a daemon that has ended is the first process's by the time that
					      the agent opens it */
	int init;
	const char *control;               /* the path of the driver's program, in YAML */
	/* Since when this is so; FL_NEVER: it is not. */
	uint64_t dead, silent, unlimited[CARDS];
	int mode[CARDS];
	bool agent_wanted, asked, held;    /* MPS by the settings; a Pod holds a share */
	bool hung;                         /* the agent gets no turn: memory.high, a machine that is overloaded */
	uint64_t awake;                    /* since when it gets turns again */
	unsigned told;                     /* counts the changes of the two */
	unsigned daemons, agents, healthy; /* how often: a storm in which nothing happens shows nothing */
	unsigned probes;
};

static void since(const struct node *n, uint64_t *at, bool is)
{
	if (!is)
		*at = FL_NEVER;
	else if (*at == FL_NEVER)
		*at = sim_now(n->world);
}

static void judge(struct node *n)
{
	since(n, &n->dead, !n->daemon);
	for (int card = 0; card < CARDS; card++)
		since(n, &n->unlimited[card], n->daemon && (!(n->limited & 1U << card) || n->threads != 25));
	since(n, &n->silent, n->daemon && (n->deaf || n->fault));
}

/* ---- the daemon ---- */

static void daemon_gone(void *self)
{
	struct node *n = self;

	n->daemon = NULL;
	judge(n);
}

/* What the kernel tells of a process. */
static void show(struct sim_process *p, unsigned start)
{
	char path[40], text[120];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", sim_pid(p));
	(void)snprintf(text, sizeof text, "%d (a ) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0\n", sim_pid(p),
		       start);
	(void)sim_file_put(((struct node *)sim_arg(p))->host, path, text, strlen(text));
}

static int daemon_main(struct sim_process *p)
{
	struct node *n = sim_arg(p);

	n->two_daemons |= n->daemon != NULL;
	n->daemon = p;
	show(p, DAEMON_START + ++n->daemons);
	n->limited = 0;
	n->threads = 100;
	n->deaf = n->fault = false;
	sim_own(p, n, daemon_gone);
	judge(n);
	return 0;
}

/* ---- programs that the agent runs ---- */

struct program {
	struct sim_process *process;
	struct node *node;
	struct fl_child_start spawn;
	struct fl_child *child;            /* lives on: whoever has ended kills nobody */
	struct fl_timer timer;
};

static void program_gone(void *self)
{
	struct program *program = self;

	fl_child_free(program->child);
	fl_timer_stop(sim_io(program->process), &program->timer);
	fl_op_cancel(&program->spawn.op);
	fl_free(program);
}

static struct program *begin(struct sim_process *p)
{
	struct program *program = fl_zalloc(sizeof *program);

	if (!program)
		return NULL;
	program->process = p;
	program->node = sim_arg(p);
	sim_own(p, program, program_gone);
	return program;
}

/* Whoever asked may have ended. */
static void print(struct sim_process *p, const char *text)
{
	if (fl_write(sim_io(p), 1, text, strlen(text)) < 0)
		sim_note(p, "nobody reads '%s'", text);
}

/* As `fairlead mps` prints it: the process, and the limits that it was given by whichever agent. */
static void print_daemon(struct sim_process *p, int pid)
{
	struct node *n = sim_arg(p);
	FL_AUTO(fl_buf) struct fl_buf started = FL_BUF(4 * FL_KIB);
	char text[300];

	(void)sim_file_get(n->host, STARTED, &started);
	(void)snprintf(text, sizeof text, "%d %u\n%.*s\n", pid, DAEMON_START + n->daemons, (int)started.len,
		       started.len ? started.p : "");
	print(p, text);
}

static void spawned(struct fl_op *op)
{
	struct program *program = fl_container(fl_container(op, struct fl_child_start, op), struct program, spawn);

	if (op->result > 0) {
		program->child = program->spawn.child;
		print_daemon(program->process, (int)op->result);
	}
	sim_exit(program->process, op->result > 0 ? 0 : 1);
}

static void spawn_daemon(struct fl_timer *timer)
{
	static const char *const argv[] = { "daemon", NULL };
	struct program *program = fl_container(timer, struct program, timer);

	if (program->node->daemon) {   /* it has come late: the pipe is taken */
		print_daemon(program->process, sim_pid(program->node->daemon));
		sim_exit(program->process, 0);
		return;
	}
	(void)sim_file_put(program->node->host, STARTED, "", 0);
	program->spawn = (struct fl_child_start){ .op = { .done = spawned } };
	fl_child_start(sim_io(program->process), &program->spawn,
		       &(struct fl_spawn){ .path = "/daemon", .argv = argv, .session = true });
}

static const char *what_of(struct sim_process *p)
{
	const char *const *argv = sim_argv(p);

	while (*argv && strcmp(*argv, "--what") != 0)
		argv++;
	return *argv ? argv[1] : "";
}

static int launch_main(struct sim_process *p)
{
	struct program *program = begin(p);
	struct node *n = sim_arg(p);
	const char *what = what_of(p);

	if (!program)
		return -FL_E_NOMEM;
	if (n->reused && n->daemons && !n->daemon && strcmp(what, "clean") != 0) {
		print_daemon(p, n->init);
		sim_exit(p, 0);
		return 0;
	}
	if (strcmp(what, "start") == 0 && !n->daemon) {
		program->timer = (struct fl_timer){ .fire = spawn_daemon };
		fl_timer_set(sim_io(p), &program->timer,
			     fl_now(sim_io(p)) + (n->slow ? sim_random(n->world) % (2 * FL_MPS_START_DEADLINE) : 0));
		return 0;
	}
	if (strcmp(what, "clean") == 0 && n->stuck) {
		sim_exit(p, 1);
		return 0;
	}
	if (strcmp(what, "clean") == 0)
		(void)sim_file_put(n->host, STARTED, "", 0);
	else if (n->daemon)
		print_daemon(p, sim_pid(n->daemon));
	sim_exit(p, 0);
	return 0;
}

static void obey(struct sim_process *p, struct fl_str line)
{
	static const struct fl_str memory = FL_S_INIT("set_default_device_pinned_mem_limit "),
				   threads = FL_S_INIT("set_default_active_thread_percentage ");
	struct node *n = sim_arg(p);
	char text[40];
	int64_t number;

	if (fl_str_starts(line, memory)) {
		CHECK(line.len > memory.len && line.p[memory.len] < '0' + CARDS);
		n->limited |= 1U << (line.p[memory.len] - '0');
	} else if (fl_str_starts(line, threads)) {
		CHECK(fl_str_i64(fl_str_sub(line, threads.len, line.len), &number));
		n->threads = (int)number;
	} else if (fl_str_eq(line, FL_S("get_default_active_thread_percentage"))) {
		n->probes++;
		(void)snprintf(text, sizeof text, "%d.0\n", n->threads);
		print(p, text);
	} else if (fl_str_eq(line, FL_S("get_server_list")) && (n->held || n->fault)) {
		print(p, "4711\n");
	} else if (fl_str_eq(line, FL_S("get_server_status 4711"))) {
		print(p, n->fault ? "FAULT\n" : "ACTIVE\n");
	} else if (fl_str_eq(line, FL_S("quit"))) {
		sim_signal(n->daemon, SIGKILL);
	}
}

/* nvidia-cuda-mps-control with commands on stdin: all of them are there when it starts. */
static int control_main(struct sim_process *p)
{
	struct node *n = sim_arg(p);
	char text[4096];
	int64_t len = fl_read(sim_io(p), 0, text, sizeof text);
	struct fl_str rest = { text, len > 0 ? (uint32_t)len : 0 }, line;

	if (!n->daemon) {
		sim_exit(p, 1);
		return 0;
	}
	if (n->deaf)
		return 0;   /* until it is killed */
	while (n->daemon && fl_str_split(&rest, '\n', &line))
		obey(p, line);
	judge(n);
	sim_exit(p, 0);
	return 0;
}

/* ---- the agent ---- */

struct agent {
	struct node *node;
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_mps_daemons mps;
	struct fl_journal_open open;
	struct fl_journal *journal;
	struct fl_timer look, open_again;
	unsigned told;
	struct fl_err err;
};

static bool feed(struct agent *a, const struct fl_kind *kind, const char *text)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const void *object = facts_object(&arena, kind->root(), fl_str(text));

	return object && fl_feed_put(fl_loop_feed(a->loop, kind), object, NULL) >= 0;
}

static bool feed_card(struct agent *a, int card)
{
	char text[200];

	(void)snprintf(text, sizeof text,
		       "metadata: {name: '0000:0%d:00.0'}\nanswer: Answers\nuuid: GPU-%d\nindex: %d\nminor: %d\n"
		       "memoryMiB: 16384\ncompute: 800\nboundTo: nvidia\ncomputeMode: %d\n"
		       "computeModeRead: %d\n",
		       card + 1, card, card, card, a->node->mode[card], a->node->mode[card]);
	return feed(a, &fl_card_kind, text);
}

static bool feed_told(struct agent *a)
{
	static const char settings[] =
		"metadata: {name: settings}\nunpooled: true\nmps: %s\nmpsRoot: " ROOT "\nrecoveryChecks: 2\n"
		"recoveryWait: 2000000000\nsharing: [{resource: " RESOURCE ", replicas: 4}]\n";
	char text[300];

	a->told = a->node->told;
	(void)snprintf(text, sizeof text, settings, a->node->asked ? "true" : "false");
	if (!a->node->held)
		fl_feed_gone(fl_loop_feed(a->loop, &fl_holder_kind), FL_S(""), FL_S("h"));
	else if (!feed(a, &fl_holder_kind,
		       "metadata: {name: h}\nresource: " RESOURCE "\ndevices: [GPU-0::1]\npodNamespace: t\npod: p\n"
		       "container: c\n"))
		return false;
	return feed(a, &fl_settings_kind, text);
}

/* What others tell the agent; a process hears only what happens in it. */
static void look(struct fl_timer *timer)
{
	struct agent *a = fl_container(timer, struct agent, look);

	if (a->told != a->node->told)
		CHECK(feed_told(a));
	fl_timer_set(a->io, timer, fl_now(a->io) + 20 * FL_NS_PER_MS);
}

struct mode_write {
	struct fl_timer timer;
	struct agent *agent;
	struct fl_write *write;
};

static void set_mode(struct fl_timer *timer)
{
	struct mode_write *held = fl_container(timer, struct mode_write, timer);
	struct fl_write *write = held->write;
	const struct fl_card *want = write->object;
	int card = write->ref.name.p[6] - '1';

	if (held->agent->node->refuses_modes) {
		fl_write_failed(write, &(struct fl_err){ .code = FL_E_RETRY, .text = "the driver is not ready" });
		return;
	}
	held->agent->node->mode[card] =
		write->what == FL_WANT_OBJECT && want->has.compute_mode ? want->compute_mode : 0;
	CHECK(feed_card(held->agent, card));
	fl_write_done(write, NULL);
}

static void mode_start(void *self, struct fl_write *write)
{
	struct mode_write *held = write->held;

	*held = (struct mode_write){ .timer = { .fire = set_mode }, .agent = self, .write = write };
	fl_timer_set(((struct agent *)self)->io, &held->timer, fl_now(((struct agent *)self)->io) + FL_NS_PER_MS);
}

static void mode_cancel(void *self, struct fl_write *write)
{
	fl_timer_stop(((struct agent *)self)->io, &((struct mode_write *)write->held)->timer);
}

static const struct fl_sink mode_sink = { .start = mode_start, .cancel = mode_cancel,
					  .room = sizeof(struct mode_write), .retry_last = FL_NS_PER_S };

/* A disk that fails is asked again, as the agent does. */
static void journal_open(struct fl_op *op)
{
	struct agent *a = fl_container(fl_container(op, struct fl_journal_open, op), struct agent, open);

	if (op->result < 0) {
		fl_timer_set(a->io, &a->open_again, fl_now(a->io) + FL_NS_PER_S);
		return;
	}
	a->journal = a->open.journal;
	CHECK(fl_mps_begin(&a->mps, a->loop, a->journal, &a->err) >= 0);
}

static void open_journal(struct fl_timer *timer)
{
	struct agent *a = fl_container(timer, struct agent, open_again);

	a->open = (struct fl_journal_open){ .op = { .done = journal_open, .err = &a->err,
						    .deadline = fl_now(a->io) + 60 * FL_NS_PER_S },
					    .dir = "/state", .name = "state" };
	fl_journal_open(a->io, &a->open);
}

static void agent_gone(void *self)
{
	struct agent *a = self;

	a->node->agent = NULL;
	a->node->agent_process = NULL;
	a->node->hung = false;
	fl_timer_stop(a->io, &a->look);
	fl_timer_stop(a->io, &a->open_again);
	fl_op_cancel(&a->open.op);
	fl_mps_stop(&a->mps);
	fl_loop_free(a->loop);
	fl_journal_close(a->journal);
	fl_free(a);
}

static bool furnish(struct agent *a)
{
	const struct fl_source sources[] = {
		{ &fl_settings_kind }, { &fl_driver_kind }, { &fl_host_kind }, { &fl_holder_kind },
		{ &fl_own_node_kind }, { &fl_health_kind }, { &fl_active_kind },
		{ &fl_card_kind, NULL, &mode_sink, a }, { &fl_mps_kind, NULL, &fl_mps_sink, &a->mps },
	};

	char host[200];

	(void)snprintf(host, sizeof host,
		       "metadata: {name: host}\nroot: /\nversion: '5'\nlayout: a\nseen: 5/a\n"
		       "paths: [{what: Binary, path: %s}]\n",
		       a->node->control);
	for (size_t i = 0; i < FL_LEN(sources); i++)
		if (fl_loop_source(a->loop, &sources[i], &a->err) < 0)
			return false;
	if (fl_loop_capability(a->loop, &fl_node_mps, &a->err) < 0)
		return false;
	for (size_t i = 0; i + 1 < FL_LEN(sources); i++)
		fl_feed_begin(fl_loop_feed(a->loop, sources[i].kind));
	if (!feed_told(a) || !feed_card(a, 0) || !feed_card(a, 1) ||
	    !feed(a, &fl_driver_kind,
		  "metadata: {name: driver}\nstate: Ready\nlibrary: /usr/lib/libnvidia-ml.so.1\n") ||
	    !feed(a, &fl_host_kind, host) ||
	    !feed(a, &fl_active_kind, "metadata: {name: active}\nsince: 1\nsettled: true\n"))
		return false;
	for (size_t i = 0; i + 1 < FL_LEN(sources); i++)
		fl_feed_synced(fl_loop_feed(a->loop, sources[i].kind));
	return true;
}

static int agent_main(struct sim_process *p)
{
	struct agent *a = fl_zalloc(sizeof *a);

	if (!a)
		return -FL_E_NOMEM;
	a->node = sim_arg(p);
	a->io = sim_io(p);
	a->node->agent = a;
	a->node->agent_process = p;
	a->node->agents++;
	sim_own(p, a, agent_gone);
	fl_mps_init(&a->mps, a->io, &(struct fl_mps_options){ .program = "/fairlead" });
	a->loop = fl_loop_new(a->io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &a->err);
	if (!a->loop || !furnish(a))
		return -FL_E_NOMEM;
	a->look = (struct fl_timer){ .fire = look };
	fl_timer_set(a->io, &a->look, fl_now(a->io));
	a->open_again = (struct fl_timer){ .fire = open_journal };
	fl_timer_set(a->io, &a->open_again, fl_now(a->io));
	return 0;
}

/* ---- the first process of the node starts agents ---- */

struct init {
	struct node *node;
	struct fl_io *io;
	struct fl_child_start spawn;
	struct fl_child *child;
	struct fl_timer timer;
};

static void init_gone(void *self)
{
	struct init *init = self;

	fl_child_free(init->child);
	fl_timer_stop(init->io, &init->timer);
	fl_op_cancel(&init->spawn.op);
	fl_free(init);
}

static void begun(struct fl_op *op)
{
	struct init *init = fl_container(fl_container(op, struct fl_child_start, op), struct init, spawn);

	init->child = op->result > 0 ? init->spawn.child : NULL;
}

static void supervise(struct fl_timer *timer)
{
	static const char *const argv[] = { "agent", NULL };
	struct init *init = fl_container(timer, struct init, timer);

	if (init->node->agent_wanted && !init->node->agent_process && !fl_op_busy(&init->spawn.op)) {
		init->child = fl_child_free(init->child);
		init->spawn = (struct fl_child_start){ .op = { .done = begun } };
		fl_child_start(init->io, &init->spawn, &(struct fl_spawn){ .path = "/agent", .argv = argv });
	}
	fl_timer_set(init->io, timer, fl_now(init->io) + 50 * FL_NS_PER_MS);
}

static int init_main(struct sim_process *p)
{
	struct init *init = fl_zalloc(sizeof *init);

	if (!init)
		return -FL_E_NOMEM;
	init->node = sim_arg(p);
	init->io = sim_io(p);
	init->node->init = sim_pid(p);
	show(p, 1);
	init->timer = (struct fl_timer){ .fire = supervise };
	sim_own(p, init, init_gone);
	fl_timer_set(init->io, &init->timer, fl_now(init->io));
	return 0;
}

/* ---- what must always be so ---- */

/* True: the share of this card may be handed out by what the agent shows now. */
static bool offered(struct agent *a, int card, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(a->loop, arena);
	struct fl_str address = fl_arena_printf(arena, "0000:0%d:00.0", card + 1);
	const struct fl_mps *mps = fl_view_get(&view, &fl_mps_kind, FL_S(""), FL_S(RESOURCE));
	const struct fl_card *is = fl_view_get(&view, &fl_card_kind, FL_S(""), address);
	bool soon;

	return mps && is && !fl_gpu_mps_unready(mps, is, &soon).len;
}

static bool late(const struct node *n, uint64_t at, uint64_t within)
{
	return at != FL_NEVER && sim_now(n->world) - (at < n->awake ? n->awake : at) > within;
}

static bool recorded(const struct agent *a)
{
	return fl_journal_get(a->journal, FL_S("mps/" RESOURCE)) != NULL;
}

static bool forgets(struct agent *a, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(a->loop, arena);

	return !recorded(a) && !fl_view_get(&view, &fl_mps_kind, FL_S(""), FL_S(RESOURCE));
}

static bool is_up(const struct node *n)
{
	return n->agent && !n->hung && n->agent->journal && n->agent->mps.loop;
}

/* NULL: nothing. */
static const char *wrong(struct node *n)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };

	if (n->two_daemons)
		return "two daemons at once";
	if (!is_up(n))
		return NULL;
	if (n->daemon && !recorded(n->agent))
		return "a daemon that the journal does not know";
	for (int card = 0; card < CARDS; card++) {
		if (n->mode[card] != FL_COMPUTE_DEFAULT && !recorded(n->agent))
			return "a compute mode that the journal does not know";
		if (!offered(n->agent, card, &arena))
			continue;
		n->healthy++;
		if (n->mode[card] != FL_COMPUTE_EXCLUSIVE_PROCESS)
			return "a Healthy share of a GPU that is not in exclusive mode";
		if (late(n, n->dead, AT_ONCE))
			return "a Healthy share without a daemon";
		if (late(n, n->unlimited[card], 0))
			return "a Healthy share without limits";
		if (late(n, n->silent, NOTICED))
			return "a Healthy share of a daemon that is deaf, or whose client has had a fault";
	}
	return NULL;
}

/* The same when all faults are over: the node has come to rest. */
static const char *restless(struct node *n)
{
	FL_AUTO(fl_buf) struct fl_buf started = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };

	if (!is_up(n))
		return "no agent";
	if (!n->asked && (n->daemon || !forgets(n->agent, &arena)))
		return "MPS is off, and its daemon or its record is there";
	if (!n->asked && sim_file_get(n->host, STARTED, &started) == 0 && started.len)
		return "MPS is off, and its files are there";
	for (int card = 0; card < CARDS; card++) {
		if (!n->asked && n->mode[card] != FL_COMPUTE_DEFAULT)
			return "MPS is off, and a GPU is in exclusive mode";
		if (n->asked && !offered(n->agent, card, &arena))
			return "MPS is on and nothing is broken, and a share is Unhealthy";
	}
	return NULL;
}

/* ---- what happens ---- */

static void hang(struct node *n, bool hung)
{
	if (!n->agent_process || hung == n->hung)
		return;
	n->hung = hung;
	n->awake = sim_now(n->world);
	if (hung)
		sim_hang(n->agent_process, false);
	else
		sim_unhang(n->agent_process);
}

static void calm(struct node *n)
{
	hang(n, false);
	n->deaf = n->fault = n->slow = n->refuses_modes = n->reused = n->stuck = false;
	n->agent_wanted = true;
	n->held = false;           /* a GPU that it held otherwise joins now */
	n->told++;
	sim_faults(n->host)->eio_sync = 0;
	judge(n);
}

/* The power goes: GPUs forget their mode, processes are gone, and so are the Pod and what was not synced. */
static void power_cut(struct node *n)
{
	sim_crash(n->host);
	n->mode[0] = n->mode[1] = FL_COMPUTE_DEFAULT;
	n->held = false;
	n->told++;
	sim_start(n->host);
}

static void happen(struct node *n)
{
	switch (sim_random(n->world) % 27) {
	case 0:
	case 1:
		if (n->daemon)
			sim_signal(n->daemon, SIGKILL);
		break;
	case 2: n->deaf = n->daemon != NULL; break;
	case 3:
	case 4: n->deaf = false; break;
	case 5: n->fault = n->daemon && n->held; break;   /* a client has died in the middle of a kernel */
	case 6:
	case 7: n->fault = false; break;
	case 8:
	case 9:
	case 10:
		if (n->agent_process)
			sim_signal(n->agent_process, SIGKILL);
		break;
	case 11: n->agent_wanted = !n->agent_wanted; break;
	case 12:
	case 13:
		n->asked = !n->asked;
		n->told++;
		break;
	case 14:
	case 15:
	case 16:
		n->held = !n->held;
		n->told++;
		break;
	case 17: n->slow = !n->slow; break;
	case 18: n->refuses_modes = !n->refuses_modes; break;
	case 19: sim_faults(n->host)->eio_sync = sim_faults(n->host)->eio_sync ? 0 : 300000; break;
	case 20:
		if (sim_random(n->world) % 8 == 0)
			power_cut(n);
		break;
	case 21: hang(n, true); break;
	case 22: hang(n, false); break;
	case 23: n->reused = !n->reused; break;
	case 24: n->stuck = !n->stuck; break;
	default: break;   /* time passes */
	}
	judge(n);
}

static void node_auto_(struct node *n)
{
	sim_world_free(n->world);
}

static int node_up(struct node *n)
{
	struct sim_config config = { .seed = test_random() };

	n->world = sim_world_new(&config);
	sim_program(n->world, "/agent", agent_main);
	sim_program(n->world, "/fairlead", launch_main);
	sim_program(n->world, "/daemon", daemon_main);
	sim_program(n->world, CONTROL, control_main);
	n->host = sim_host_new(n->world, "node", init_main, n);
	return sim_file_put(n->host, STARTED, "", 0);
}

static const struct {
	const char *says;
	uint64_t longest;          /* between two events */
} storms[] = {
	{ "events in the middle of each other's steps", 20 * FL_NS_PER_MS },
	{ "events a second or two apart", 2 * FL_NS_PER_S },
	{ "events with time to recover in between", 15 * FL_NS_PER_S },
};

/* Thousands of children: a torture of each call would not end. */
TEST_ONCE(mps_holds_its_promises_through_3000_random_faults)
{
	EACH_ROW (row, storms) {
		FL_AUTO(node) struct node n = { .silent = FL_NEVER, .unlimited = { FL_NEVER, FL_NEVER },
						.agent_wanted = true, .asked = true, .control = CONTROL };
		const char *what = NULL;

		OK(node_up(&n));
		for (int step = 0; step < STEPS && !what && !test_failed(); step++) {
			happen(&n);
			sim_run(n.world, sim_now(n.world) + sim_random(n.world) % row->longest);
			what = wrong(&n);
			if (what || step % REST_EVERY != REST_EVERY - 1)
				continue;
			calm(&n);
			for (int i = 0; i < 18 && !what; i++) {
				sim_run(n.world, sim_now(n.world) + REST / 18);
				what = wrong(&n);
			}
			what = what ? what : restless(&n);
		}
		CHECK_STR(fl_str(what ? what : ""), "");
		(void)printf("# %s: %u daemons, %u agents, %u looks at a Healthy share\n", row->says, n.daemons,
			     n.agents, n.healthy);
		CHECK(n.daemons > 20 && n.agents > 100 && n.healthy > 100);
	}
}

/* The next agent could not read it, and would restore no compute mode. */
TEST_ONCE(mps_nothing_begins_that_cannot_be_recorded)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(node) struct node n = { .silent = FL_NEVER, .unlimited = { FL_NEVER, FL_NEVER },
					.agent_wanted = true, .asked = true,
					.control = "\"/opt/a\\nb/nvidia-cuda-mps-control\"" };
	const struct fl_mps *mps;
	struct fl_view view;

	OK(node_up(&n));
	sim_run(n.world, REST);
	CHECK(is_up(&n) && !recorded(n.agent) && !n.daemons);
	CHECK(n.mode[0] == FL_COMPUTE_DEFAULT && n.mode[1] == FL_COMPUTE_DEFAULT);
	view = fl_loop_view(n.agent->loop, &arena);
	mps = fl_view_get(&view, &fl_mps_kind, FL_S(""), FL_S(RESOURCE));
	CHECK(mps != NULL);
	CHECK_STR(mps->message, "the path of the MPS directory or of the driver has a line break, which no record can "
				"hold: use another path");
}

static unsigned probes_in_a_minute(struct node *n)
{
	unsigned before = n->probes;

	sim_run(n->world, sim_now(n->world) + 60 * FL_NS_PER_S);
	return n->probes - before;
}

TEST_ONCE(mps_a_daemon_without_clients_is_asked_less_often)
{
	FL_AUTO(node) struct node n = { .silent = FL_NEVER, .unlimited = { FL_NEVER, FL_NEVER },
					.agent_wanted = true, .asked = true, .control = CONTROL };
	unsigned unused, used;

	OK(node_up(&n));
	sim_run(n.world, REST);
	unused = probes_in_a_minute(&n);
	CHECK(unused >= 5 && unused <= 6);
	n.held = true;
	n.told++;
	sim_run(n.world, sim_now(n.world) + FL_MPS_PROBE_UNUSED);
	used = probes_in_a_minute(&n);
	CHECK(used >= 16 && used <= 18);
}
