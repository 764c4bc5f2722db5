/* A kind that the server does not have: how often it is asked for. Minutes of simulated time. */
#include "api/node.h"
#include "base/units.h"
#include "kube/watch.h"
#include "script.h"
#include "sim/sim.h"
#include "test.h"

#define STREAM "/apis/resource.k8s.io/v1/deviceclasses?watch=true*"
#define ABSENT { "/apis/resource.k8s.io/v1", 404, "{}" }

/* The stream, six questions in the first minute or two, another call on a connection of its own, and the question that
 * follows it. */
static const struct exchange exchanges[] = {
	{ STREAM, 404, "{}" }, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, { "/version", 200, "{}" }, ABSENT, { 0 },
};

enum { OTHER_AFTER_S = 400 };

struct house {
	struct script script;
	struct fl_watch *watch;
	struct fl_timer other;     /* a process hears only what is begun in it */
	struct fl_kube_call call;
	unsigned absent;
};

static void on_begin(void *to)
{
	(void)to;
}

static int on_put(void *to, const void *object, struct fl_err *err)
{
	(void)to;
	(void)object;
	(void)err;
	return 0;
}

static void on_gone(void *to, struct fl_str space, struct fl_str name)
{
	(void)to;
	(void)space;
	(void)name;
}

static void on_absent(void *to)
{
	((struct house *)to)->absent++;
}

static const struct fl_watch_to consumer = { on_begin, on_put, on_gone, on_begin, on_absent };

static void house_gone(void *self)
{
	struct house *house = self;

	fl_timer_stop(house->script.io, &house->other);
	fl_op_cancel(&house->call.op);
	house->watch = fl_watch_free(house->watch);
	script_close(&house->script);
}

static void called(struct fl_op *op)
{
	(void)op;
}

/* The connection of the questions has been idle, and is closed: this one is another. */
static void call_other(struct fl_timer *timer)
{
	struct house *house = fl_container(timer, struct house, other);

	house->call = (struct fl_kube_call){ .op = { .done = called }, .verb = FL_KUBE_GET, .path = "/version" };
	fl_kube_start(house->script.kube, &house->call);
}

static int boot(struct sim_process *process)
{
	struct house *house = sim_arg(process);
	struct fl_watch_options options = { .kind = &fl_device_class_kind, .to = &consumer, .arg = house };

	sim_own(process, house, house_gone);
	house->script.io = sim_io(process);
	if (script_open(&house->script, exchanges) < 0)
		return -FL_E_NOMEM;
	house->other.fire = call_other;
	fl_timer_set(house->script.io, &house->other, fl_now(house->script.io) + OTHER_AFTER_S * FL_NS_PER_S);
	house->watch = fl_watch_new(house->script.kube, &options, &house->script.err);
	return house->watch ? 0 : -FL_E_NOMEM;
}

struct town {
	struct sim_world *world;
	struct house house;
};

static void town_auto_(struct town *town)
{
	sim_world_free(town->world);
}

TEST_ONCE(a_built_in_kind_that_is_absent_is_asked_for_every_ten_minutes_and_on_a_new_connection)
{
	FL_AUTO(town) struct town town = { 0 };
	struct sim_config config = { .seed = test_random() };

	town.world = sim_world_new(&config);
	(void)sim_host_new(town.world, "node", boot, &town.house);
	sim_run(town.world, 150 * FL_NS_PER_S);
	CHECK_INT(town.house.script.asked, 7);
	sim_run(town.world, (OTHER_AFTER_S - 1) * FL_NS_PER_S);
	CHECK_INT(town.house.script.asked, 7);
	sim_run(town.world, (OTHER_AFTER_S + 40) * FL_NS_PER_S);
	CHECK_INT(town.house.script.asked, 9);
	sim_run(town.world, 900 * FL_NS_PER_S);
	CHECK_INT(town.house.script.asked, 9);
	CHECK_INT(town.house.absent, 1);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}
