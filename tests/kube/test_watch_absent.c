/* A kind that the server does not have: how often it is asked for. Minutes of simulated time. */
#include "api/nfd.h"
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

#define NFD "/apis/nfd.k8s-sigs.io/v1alpha1"
#define DEFINITION "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?watch=true&fieldSelector=metadata.name%3D" \
		   "nodefeatures.nfd.k8s-sigs.io&*"
#define NO_NFD { NFD, 404, "{}" }
#define END_OF_STATE \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":" \
	"{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

/* The stream, the watch of the definition, questions of an hour; the definition comes, and is in
 * force a few seconds later. */
static const struct exchange defined[] = {
	{ NFD "/nodefeatures?watch=true*", 404, "{}" }, { DEFINITION, 200, "", .stay = true },
	NO_NFD, NO_NFD, NO_NFD, NO_NFD, NO_NFD, NO_NFD, NO_NFD, NO_NFD, NO_NFD,
	NO_NFD, { NFD, 200, "{\"resources\":[{\"name\":\"nodefeatures\"}]}" },
	{ NFD "/nodefeatures?watch=true*", 200, END_OF_STATE, .stay = true }, { 0 },
};

/* The same where nobody may watch definitions. */
static const struct exchange denied[] = {
	{ NFD "/nodefeatures?watch=true*", 404, "{}" }, { DEFINITION, 403, "{}" }, NO_NFD, { DEFINITION, 403, "{}" },
	NO_NFD, { DEFINITION, 403, "{}" }, NO_NFD, { DEFINITION, 403, "{}" }, NO_NFD, { DEFINITION, 403, "{}" },
	NO_NFD, { DEFINITION, 403, "{}" }, NO_NFD, { DEFINITION, 403, "{}" }, NO_NFD, { DEFINITION, 403, "{}" }, NO_NFD,
	{ 0 },
};

enum { OTHER_AFTER_S = 400, DEFINED_AFTER_S = 2500 };

struct house {
	const struct fl_kind *kind;
	const struct exchange *exchanges;
	uint64_t after_s;          /* `other` fires */
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

static void define(struct fl_timer *timer)
{
	struct house *house = fl_container(timer, struct house, other);

	script_more(&house->script, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n\"}}}\n");
}

static int boot(struct sim_process *process)
{
	struct house *house = sim_arg(process);
	struct fl_watch_options options = { .kind = house->kind, .to = &consumer, .arg = house };

	sim_own(process, house, house_gone);
	house->script.io = sim_io(process);
	if (script_open(&house->script, house->exchanges) < 0)
		return -FL_E_NOMEM;
	fl_timer_set(house->script.io, &house->other, fl_now(house->script.io) + house->after_s * FL_NS_PER_S);
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

static void town_up(struct town *town)
{
	struct sim_config config = { .seed = test_random() };

	town->world = sim_world_new(&config);
	(void)sim_host_new(town->world, "node", boot, &town->house);
}

TEST_ONCE(a_built_in_kind_that_is_absent_is_asked_for_every_ten_minutes_and_on_a_new_connection)
{
	FL_AUTO(town) struct town town = { .house = { .kind = &fl_device_class_kind, .exchanges = exchanges,
						      .after_s = OTHER_AFTER_S, .other.fire = call_other } };

	town_up(&town);
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

/* 5,000 agents on a cluster without NFD would send 444 requests a second for ever. */
TEST_ONCE(i8_a_kind_that_a_definition_brings_is_asked_for_as_seldom_and_comes_with_its_definition)
{
	FL_AUTO(town) struct town town = { .house = { .kind = &fl_node_feature_kind, .exchanges = defined,
						      .after_s = DEFINED_AFTER_S, .other.fire = define } };
	unsigned before;

	town_up(&town);
	sim_run(town.world, 150 * FL_NS_PER_S);
	CHECK_INT(town.house.script.asked, 8);
	sim_run(town.world, (DEFINED_AFTER_S - 1) * FL_NS_PER_S);
	before = town.house.script.asked;
	CHECK(before >= 9 && before <= 12);
	sim_run(town.world, (DEFINED_AFTER_S + 3) * FL_NS_PER_S);
	CHECK(town.house.script.asked > before);
	sim_run(town.world, (DEFINED_AFTER_S + 60) * FL_NS_PER_S);
	CHECK_INT(fl_watch_info(town.house.watch).state, FL_WATCH_LIVE);
	CHECK_INT(town.house.absent, 1);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

TEST_ONCE(i8_and_whoever_may_not_watch_definitions_asks_no_more_often)
{
	FL_AUTO(town) struct town town = { .house = { .kind = &fl_node_feature_kind, .exchanges = denied,
						      .after_s = DEFINED_AFTER_S, .other.fire = define } };

	town_up(&town);
	sim_run(town.world, 150 * FL_NS_PER_S);
	CHECK_INT(town.house.script.asked, 13);
	sim_run(town.world, 600 * FL_NS_PER_S);
	CHECK_INT(town.house.script.asked, 13);
	sim_run(town.world, 1400 * FL_NS_PER_S);
	CHECK(town.house.script.asked >= 15);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}
