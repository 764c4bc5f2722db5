/* The Pods of this node at the API server: which are asked for, and how one is evicted that may not go yet. In
 * simulated time, against an API server that says what is written down here. */
#include "api/core.h"
#include "api/node.h"
#include "base/units.h"
#include "node/decide_pods.h"
#include "node/kubelet/pods.h"
#include "plan/gpu_facts.h"
#include "run/kube.h"
#include "run/memory.h"
#include "script.h"
#include "sim/sim.h"
#include <stdio.h>

#define WATCH(fields) { "/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn1" fields \
			"&resourceVersion=0&allowWatchBookmarks=true&sendInitialEvents=true*", 200, PODS, .stay = true }
#define PODS \
	"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"t\",\"name\":\"p\",\"uid\":\"u1\"," \
	"\"resourceVersion\":\"3\"},\"status\":{\"phase\":\"Running\"}}}\n" \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\",\"annotations\":" \
	"{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define NO_STREAM { "/api/v1/pods?watch=true*", 422, "{\"reason\":\"Invalid\"}" }
#define PODS_FROM(fields, version) \
	"/api/v1/pods?fieldSelector=spec.nodeName%3Dn1" fields "&resourceVersion=" version "&*"
#define POD_LIST(version, items) \
	"{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define POD_OBJECT \
	"{\"metadata\":{\"namespace\":\"t\",\"name\":\"p\",\"uid\":\"u1\",\"resourceVersion\":\"3\"}," \
	"\"status\":{\"phase\":\"Running\"}}"
#define PODS_GO_ON { "/api/v1/pods?watch=true*", 200, "", .stay = true }
#define DELETED \
	"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"namespace\":\"t\",\"name\":\"p\",\"uid\":\"u1\"," \
	"\"resourceVersion\":\"6\"}}}\n"
#define EVICTION "/api/v1/namespaces/t/pods/p/eviction*"
#define BUDGET \
	{ EVICTION, 429, "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"TooManyRequests\",\"code\":429," \
	  "\"message\":\"Cannot evict pod as it would violate the pod's disruption budget.\",\"details\":{\"causes\":" \
	  "[{\"reason\":\"DisruptionBudget\",\"message\":\"The disruption budget web needs 2 healthy pods and has 2 " \
	  "currently\"}]}}" }
#define CONFLICT \
	{ EVICTION, 409, "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Conflict\",\"code\":409," \
	  "\"message\":\"the object has been modified\"}" }
#define GRANTED { EVICTION, 201, "{\"kind\":\"Status\",\"status\":\"Success\"}" }
#define DEAD "metadata: {name: c}\ncard: c\nstate: Unhealthy\ncause: Xid79\nsince: 1\nboot: b1\nidentity: {uuid: G1}\n"

static const struct row {
	const char *says;
	bool dead, young;          /* a GPU is; the kubelet is */
	struct exchange script[8];
	unsigned soon;             /* asked within a second, whatever changes meanwhile */
	const char *more;          /* what the watch tells then; NULL: nothing */
	unsigned later;            /* asked within a minute */
	const char *told;          /* about the Pod */
	bool dies_later;           /* instead of `more` */
} rows[] = {
	{ "only those that Failed are asked for where some may have been refused", false, true,
	  { WATCH("%2Cstatus.phase%3DFailed") }, 1, NULL, 1, "" },
	{ "all are asked for, once, where one must leave", true, true,
	  { WATCH(""), GRANTED }, 2, NULL, 2, "GPUDead\n" },
	{ "a disruption budget is obeyed, named, and asked again", true, false,
	  { WATCH(""), BUDGET, BUDGET, GRANTED }, 2, NULL, 4,
	  "EvictionRefused web\nEvictionRefused web\nGPUDead\n" },
	{ "a conflict is asked again at once", true, false, { WATCH(""), CONFLICT, GRANTED }, 3, NULL, 3, "GPUDead\n" },
	{ "a Pod that changes on and on is asked for again later", true, false,
	  { WATCH(""), CONFLICT, CONFLICT, GRANTED }, 3, NULL, 4, "GPUDead\n" },
	{ "a list for a second watch is not older than what the first one told", false, true,
	  { NO_STREAM, { PODS_FROM("%2Cstatus.phase%3DFailed", "0"), 200, POD_LIST("7", "") }, PODS_GO_ON, NO_STREAM,
	    { PODS_FROM("", "7"), 200, POD_LIST("8", POD_OBJECT) }, GRANTED, PODS_GO_ON }, 3, NULL, 7, "GPUDead\n",
	  .dies_later = true },
	{ "one that is another by now is forgotten when the watch tells", true, false,
	  { WATCH(""), CONFLICT, CONFLICT }, 3, DELETED, 3, "" },
};

/* ---- a process with the plan and its sinks ---- */

struct house {
	const struct row *row;
	struct script script;
	struct fl_loop *loop;
	struct fl_pods pods;
	struct fl_timer churn, more;
	uint32_t churned;
	char told[200];
};

static void heard(void *self, const struct fl_told_event *event)
{
	struct house *house = self;
	size_t len = strlen(house->told);
	bool web = memmem(event->message.p, event->message.len, "disruption budget web needs 2", 29) != NULL;

	(void)snprintf(house->told + len, sizeof house->told - len, "%.*s%s\n", FL_ARG(event->reason),
		       web ? " web" : "");
}

static void house_gone(void *self)
{
	struct house *house = self;

	fl_timer_stop(house->script.io, &house->churn);
	fl_timer_stop(house->script.io, &house->more);
	fl_pods_stop(&house->pods);
	house->loop = fl_loop_free(house->loop);
	script_close(&house->script);
}

static int put(struct fl_loop *loop, const struct fl_kind *kind, struct fl_str text)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const void *object = facts_object(&arena, kind->root(), text);

	return object ? fl_feed_put(fl_loop_feed(loop, kind), object, NULL) : -FL_E_NOMEM;
}

/* Something else of the node changes: the plan is made anew. */
static void churn(struct fl_timer *timer)
{
	struct house *house = fl_container(timer, struct house, churn);
	char text[100];

	(void)snprintf(text, sizeof text, "metadata: {name: driver}\nstate: Ready\nversion: '%u'\n", house->churned++);
	(void)put(house->loop, &fl_driver_kind, fl_str(text));
	if (house->churned < 30)
		fl_timer_set(house->script.io, timer, fl_now(house->script.io) + 100 * FL_NS_PER_MS);
}

static void send_more(struct fl_timer *timer)
{
	struct house *house = fl_container(timer, struct house, more);

	if (house->row->dies_later)
		(void)put(house->loop, &fl_health_kind, FL_S(DEAD));
	else
		script_more(&house->script, house->row->more);
}

static int add_sources(struct house *house)
{
	struct fl_io *io = house->script.io;
	const struct fl_source sources[] = {
		{ &fl_settings_kind, NULL, NULL, NULL },
		{ &fl_driver_kind, NULL, NULL, NULL },
		{ &fl_active_kind, NULL, NULL, NULL },
		{ &fl_holder_kind, NULL, NULL, NULL },
		{ &fl_health_kind, NULL, NULL, NULL },
		{ &fl_card_kind, NULL, NULL, NULL },
		{ &fl_resource_kind, NULL, NULL, NULL },
		{ &fl_booking_kind, NULL, &fl_memory_sink, io },
		{ &fl_memo_kind, NULL, &fl_memory_sink, io },
		{ &fl_own_node_kind, NULL, &fl_memory_sink, io },
		{ &fl_own_pod_kind, NULL, &fl_kube_sink, house->script.kube },
		{ &fl_pod_watch_kind, NULL, &fl_pod_watch_sink, &house->pods },
		{ &fl_eviction_kind, NULL, &fl_eviction_sink, &house->pods },
	};

	for (uint32_t i = 0; i < FL_LEN(sources); i++) {
		if (fl_loop_source(house->loop, &sources[i], NULL) < 0)
			return -FL_E_NOMEM;
		if (sources[i].kind != &fl_own_pod_kind)
			fl_feed_begin(fl_loop_feed(house->loop, sources[i].kind));
	}
	if (fl_loop_capability(house->loop, &fl_node_pods, NULL) < 0)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(sources); i++)
		if (sources[i].kind != &fl_own_pod_kind)
			fl_feed_synced(fl_loop_feed(house->loop, sources[i].kind));
	return 0;
}

static int add_facts(struct house *house)
{
	struct fl_loop *loop = house->loop;
	int r = put(loop, &fl_settings_kind,
		    FL_S("metadata: {name: settings}\nnode: n1\nboot: b1\nevictAfter: 1000\n"));

	if (r == 0)
		r = put(loop, &fl_active_kind,
			house->row->young ?
				FL_S("metadata: {name: active}\ncontainers: []\nsince: 1\nsettled: true\n") :
				FL_S("metadata: {name: active}\ncontainers: []\nsince: -600000000000\n"
				     "settled: true\n"));
	if (r == 0)
		r = put(loop, &fl_own_node_kind, FL_S("metadata: {name: n1}\n"));
	if (r == 0)
		r = put(loop, &fl_holder_kind, FL_S("metadata: {name: t/p/c/g}\nresource: g\ndevices: [G1]\n"
						    "podNamespace: t\npod: p\ncontainer: c\n"));
	if (r == 0 && house->row->dead)
		r = put(loop, &fl_health_kind, FL_S(DEAD));
	churn(&house->churn);
	return r;
}

static int boot(struct sim_process *process)
{
	struct house *house = sim_arg(process);
	struct fl_loop_options options = { .seed = { 1, 2 }, .event = heard, .arg = house };

	sim_own(process, house, house_gone);
	house->script.io = sim_io(process);
	house->churn.fire = churn;
	house->more.fire = send_more;
	if (script_open(&house->script, house->row->script) < 0)
		return -FL_E_NOMEM;
	house->loop = fl_loop_new(house->script.io, &options, NULL);
	if (!house->loop || add_sources(house) < 0)
		return -FL_E_NOMEM;
	house->pods.event = heard;
	house->pods.event_arg = house;
	fl_pods_begin(&house->pods, house->script.io, house->loop, house->script.kube, FL_S("n1"), NULL);
	if (house->row->more || house->row->dies_later)
		fl_timer_set(house->script.io, &house->more, fl_now(house->script.io) + 4 * FL_NS_PER_S);
	return add_facts(house);
}

struct town {
	struct sim_world *world;
	struct house house;
};

static void town_auto_(struct town *town)
{
	sim_world_free(town->world);
}

/* Under torture each round would wait for its retries; clients and watches are tortured in tests/kube. */
TEST_ONCE(pods_are_watched_and_evicted)
{
	EACH_ROW (row, rows) {
		FL_AUTO(town) struct town town = { .house = { .row = row } };
		struct house *house = &town.house;

		town.world = sim_world_new(&(struct sim_config){ .seed = test_random() });
		GOT(town.world);
		(void)sim_host_new(town.world, "here", boot, house);
		sim_run(town.world, 3500 * FL_NS_PER_MS);
		CHECK_STR(fl_str(house->script.wrong), "");
		CHECK_INT(house->script.asked, row->soon);
		sim_run(town.world, 60 * FL_NS_PER_S);
		CHECK_STR(fl_str(house->script.wrong), "");
		CHECK_INT(house->script.asked, row->later);
		CHECK_STR(fl_str(house->told), row->told);
	}
}
