/* A supervised child in the simulated world: what takes minutes, and what no signal ends. */
#include "base/units.h"
#include "io/serve.h"
#include "io/supervisor.h"
#include "sim/sim.h"
#include "test.h"
#include <signal.h>
#include <stdio.h>

enum { ANSWER, HANG, HANG_FOR_GOOD, CRASH };

/* ---- the child ---- */

struct child {
	struct fl_serve serve;
	struct sim_process *process;
};

static void child_gone(void *self)
{
	struct child *child = self;

	fl_serve_stop(&child->serve);
	fl_free(child);
}

static void child_ends(struct fl_serve *serve)
{
	sim_exit(fl_container(serve, struct child, serve)->process, 0);
}

static void child_asked(struct fl_serve *serve, uint32_t id, uint16_t kind, struct fl_str payload)
{
	struct child *child = fl_container(serve, struct child, serve);

	if (kind == HANG || kind == HANG_FOR_GOOD)
		sim_hang(child->process, kind == HANG_FOR_GOOD);
	else if (kind == CRASH)
		sim_die(child->process, SIGSEGV);
	else
		fl_serve_reply(serve, id, payload);
}

static int child_main(struct sim_process *p)
{
	struct child *child = fl_zalloc(sizeof *child);

	if (!child)
		return -FL_E_NOMEM;
	child->process = p;
	child->serve = (struct fl_serve){ .request = child_asked, .ended = child_ends };
	sim_own(p, child, child_gone);
	return fl_serve_start(sim_io(p), &child->serve, FL_SERVE_FD, NULL);
}

/* ---- the parent ---- */

struct parent {
	struct fl_io *io;
	struct sim_process *process;
	struct fl_supervisor *s;
	struct fl_request request;
	struct fl_err err;
};

struct script {
	struct parent *parent;
	char news[400], last[FL_ERR_TEXT];
};

static void news(void *self, enum fl_supervisor_news what, const char *text)
{
	struct script *script = sim_arg(((struct parent *)self)->process);
	size_t n = strlen(script->news);

	sim_note(((struct parent *)self)->process, "%s", text);
	(void)snprintf(script->news + n, sizeof script->news - n, "%s%s", n ? " " : "",
		       fl_name(&fl_supervisor_news_names, (int)what));
	(void)snprintf(script->last, sizeof script->last, "%s", text);
}

static void parent_gone(void *self)
{
	struct parent *parent = self;
	struct script *script = sim_arg(parent->process);

	script->parent = NULL;
	fl_supervisor_free(parent->s);
	fl_op_cancel(&parent->request.op);
	fl_free(parent);
}

static int parent_main(struct sim_process *p)
{
	static const char *const argv[] = { "gpu", NULL };
	struct script *script = sim_arg(p);
	struct parent *parent = fl_zalloc(sizeof *parent);
	struct fl_supervisor_config config = { .name = "gpu", .path = "/bin/gpu", .argv = argv, .self = parent,
					       .news = news };

	if (!parent)
		return -FL_E_NOMEM;
	parent->io = sim_io(p);
	parent->process = p;
	script->parent = parent;
	sim_own(p, parent, parent_gone);
	parent->s = fl_supervisor_new(parent->io, &config, NULL);
	return parent->s ? 0 : -FL_E_NOMEM;
}

static bool idle(void *arg)
{
	struct script *script = arg;

	return !script->parent || !fl_op_busy(&script->parent->request.op);
}

static void nothing(struct fl_op *op)
{
	(void)op;
}

struct stage {
	struct sim_world *world;
	struct sim_host *host;
	struct script *script;
};

/* Ask, and let the world go on until there is an answer. */
static int64_t ask(const struct stage *on, uint16_t kind, uint64_t within)
{
	struct parent *parent = on->script->parent;

	if (!parent)
		return -FL_E_NOMEM;
	parent->request.op = (struct fl_op){ .done = nothing, .err = &parent->err,
					     .deadline = fl_clock(parent->io) + within };
	fl_supervisor_request(parent->s, &parent->request, kind, FL_S("x"));
	/* The start was from outside of the loop: it must look. */
	sim_signal(parent->process, SIGCONT);
	(void)sim_run_until(on->world, FL_NEVER, idle, on->script);
	return on->script->parent ? parent->request.op.result : -FL_E_NOMEM;
}

static void set_up(struct stage *on, struct script *script, bool (*refuse)(void))
{
	struct sim_config config = { .seed = 5, .refuse = refuse };

	*script = (struct script){ 0 };
	on->script = script;
	on->world = sim_world_new(&config);
	sim_program(on->world, "/bin/gpu", child_main);
	on->host = sim_host_new(on->world, "node", parent_main, script);
	sim_run(on->world, 10 * FL_NS_PER_MS);
}

static void stage_auto_(struct stage *on)
{
	sim_world_free(on->world);
}

static struct fl_supervisor_state state(const struct stage *on)
{
	return fl_supervisor_state(on->script->parent->s);
}

TEST_ONCE(a_hung_child_is_replaced_within_a_second_of_its_deadline)
{
	struct script script;
	FL_AUTO(stage) struct stage on = { 0 };
	uint64_t late;

	set_up(&on, &script, NULL);
	CHECK_INT(ask(&on, ANSWER, FL_NS_PER_S), 0);
	CHECK_INT(ask(&on, HANG, FL_NS_PER_S), -FL_E_TIMEOUT);
	late = sim_now(on.world);
	CHECK_INT(ask(&on, ANSWER, FL_NS_PER_S), 0);
	CHECK(sim_now(on.world) - late < 10 * FL_NS_PER_MS);
	/* The same with one that cannot be killed: it is given half a second to go. */
	CHECK_INT(ask(&on, HANG_FOR_GOOD, FL_NS_PER_S), -FL_E_TIMEOUT);
	late = sim_now(on.world);
	CHECK_INT(ask(&on, ANSWER, 2 * FL_NS_PER_S), 0);
	CHECK(sim_now(on.world) - late < 1000 * FL_NS_PER_MS);
	CHECK_INT(state(&on).stuck, 1);
	CHECK_STR(fl_str(script.news), "ready abandoned ready abandoned stuck ready");
}

TEST_ONCE(children_that_do_not_die_have_a_ceiling)
{
	struct script script;
	FL_AUTO(stage) struct stage on = { 0 };
	int pids[FL_SUPERVISOR_STUCK_MAX];

	set_up(&on, &script, NULL);
	for (int i = 0; i < FL_SUPERVISOR_STUCK_MAX; i++) {
		CHECK_INT(ask(&on, ANSWER, 60 * FL_NS_PER_S), 0);
		pids[i] = state(&on).pid;
		CHECK_INT(ask(&on, HANG_FOR_GOOD, FL_NS_PER_S), -FL_E_TIMEOUT);
	}
	CHECK_INT(ask(&on, ANSWER, 60 * FL_NS_PER_S), -FL_E_RETRY);
	CHECK_STR(fl_str(script.last), "gpu: 4 killed processes hang in the kernel, so no other is started: if the "
				       "driver does not recover, reboot the node");
	sim_run(on.world, sim_now(on.world) + 600 * FL_NS_PER_S);
	CHECK_INT((int)sim_process_count(on.host), 1 + FL_SUPERVISOR_STUCK_MAX);
	CHECK_INT(ask(&on, ANSWER, 60 * FL_NS_PER_S), -FL_E_RETRY);
	/* The driver comes back: the signal that waited takes effect, the dead is reaped, another is started. */
	sim_unhang(sim_process_find(on.host, pids[2]));
	sim_run(on.world, sim_now(on.world) + 60 * FL_NS_PER_S);
	CHECK_INT(state(&on).stuck, FL_SUPERVISOR_STUCK_MAX - 1);
	CHECK_INT(ask(&on, ANSWER, FL_NS_PER_S), 0);
	CHECK(strstr(script.news, "ceiling reaped ready"));
}

TEST_ONCE(crashes_in_a_row_are_answered_ever_more_slowly_and_forgotten_after_a_minute)
{
	struct script script;
	FL_AUTO(stage) struct stage on = { 0 };
	static const uint64_t least[] = { 0, 250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000 };   /* ms */

	set_up(&on, &script, NULL);
	CHECK_INT(ask(&on, ANSWER, FL_NS_PER_S), 0);
	for (size_t i = 0; i < FL_LEN(least); i++) {
		uint64_t begun;

		CHECK_INT(ask(&on, CRASH, FL_NS_PER_S), -FL_E_CLOSED);
		begun = sim_now(on.world);
		CHECK_INT(ask(&on, ANSWER, 100 * FL_NS_PER_S), 0);
		CHECK((sim_now(on.world) - begun) / FL_NS_PER_MS >= least[i]);
		CHECK((sim_now(on.world) - begun) / FL_NS_PER_MS <= least[i] + 5);
	}
	sim_run(on.world, sim_now(on.world) + 61 * FL_NS_PER_S);
	CHECK_INT(ask(&on, CRASH, FL_NS_PER_S), -FL_E_CLOSED);
	CHECK_STR(fl_str(script.parent->err.text), "gpu: killed by SIGSEGV");
	CHECK_INT(ask(&on, ANSWER, 10 * FL_NS_PER_MS), 0);
}

TEST_ONCE(a_child_never_outlives_its_parent)
{
	struct script script;
	FL_AUTO(stage) struct stage on = { 0 };

	set_up(&on, &script, NULL);
	CHECK_INT(ask(&on, ANSWER, FL_NS_PER_S), 0);
	CHECK_INT((int)sim_process_count(on.host), 2);
	sim_signal(sim_process_find(on.host, 1), SIGKILL);
	sim_run(on.world, sim_now(on.world) + FL_NS_PER_S);
	CHECK_INT((int)sim_process_count(on.host), 0);
}

TEST(any_call_may_fail)
{
	struct script script;
	FL_AUTO(stage) struct stage on = { 0 };

	set_up(&on, &script, test_refuse_io);
	(void)ask(&on, ANSWER, 30 * FL_NS_PER_S);
	(void)ask(&on, CRASH, FL_NS_PER_S);
	(void)ask(&on, HANG_FOR_GOOD, FL_NS_PER_S);
	/* Only one call fails, so after it there is a child that answers. */
	if (ask(&on, ANSWER, 60 * FL_NS_PER_S) < 0 && test_tortured() && script.parent)
		CHECK_INT(ask(&on, ANSWER, 60 * FL_NS_PER_S), 0);
	CHECK(script.parent || test_tortured());
}
