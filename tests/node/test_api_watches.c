/* The GPUDevices of this node and their pools at the API server: what is asked for, and what an answer, or none, makes
 * of the pools that this node serves. In simulated time, against an API server that says what is written down here. */
#include "api/node_pools.h"
#include "base/units.h"
#include "node/api/watches.h"
#include "node/decide_pools.h"
#include "plan/gpu_facts.h"
#include "run/kube.h"
#include "run/memory.h"
#include "script.h"
#include "sim/sim.h"

#define GROUP "/apis/gpu.deckhouse.io/v1alpha1"
#define DEVICES GROUP "/gpudevices?watch=true&fieldSelector=status.nodeName%3Dn1&*"
#define POOL GROUP "/clustergpupools?watch=true&fieldSelector=metadata.name%3Dq&*"
#define LOCAL_POOL GROUP "/namespaces/t/gpupools?watch=true&fieldSelector=metadata.name%3Dp&*"
#define DEFINITION "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?watch=true*"
#define END "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":" \
	    "{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define DEVICE(type, ref) \
	"{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"d\",\"uid\":\"u\",\"resourceVersion\":\"7\"," \
	"\"annotations\":{\"cluster.gpu.deckhouse.io/assignment\":\"q\",\"gpu.deckhouse.io/assignment\":\"p\"}}," \
	"\"status\":{\"nodeName\":\"n1\",\"state\":\"Assigned\",\"poolRef\":{" ref "},\"hardware\":{\"pci\":" \
	"{\"address\":\"0000:01:00.0\"}}}}}\n"
#define OF_Q "\"name\":\"q\""
#define OF_P "\"name\":\"p\",\"namespace\":\"t\""
#define POOL_IS(meta) \
	"{\"type\":\"ADDED\",\"object\":{\"metadata\":{" meta ",\"uid\":\"v\",\"resourceVersion\":\"8\"},\"spec\":{" \
	"\"backend\":\"DevicePlugin\",\"resource\":{\"unit\":\"Card\",\"slicesPerUnit\":2}}}}\n"
#define Q "cluster.gpu.deckhouse.io/q"

static const struct row {
	const char *says;
	struct exchange script[6];
	const char *memo;          /* of a start before: its pools; NULL: there is none */
	const char *more;          /* what the last watch tells after 4 s; NULL: nothing */
	unsigned asked;            /* within 20 s */
	const char *got;           /* the pools then; NULL: none are known */
	const char *watches;
} rows[] = {
	{ "the pool of an own GPU is watched by its name",
	  { { DEVICES, 200, DEVICE("ADDED", OF_Q) END, .stay = true },
	    { POOL, 200, POOL_IS("\"name\":\"q\"") END, .stay = true } }, NULL, NULL, 2, Q " x2 1 0 0\n",
	  "ClusterGPUPool/q Told\ndevices Told\n" },
	{ "one of a namespace in that alone",
	  { { DEVICES, 200, DEVICE("ADDED", OF_P) END, .stay = true },
	    { LOCAL_POOL, 200, POOL_IS("\"name\":\"p\",\"namespace\":\"t\"") END, .stay = true } }, NULL, NULL, 2,
	  "gpu.deckhouse.io/p x2 1 0 0\n", "GPUPool/t/p Told\ndevices Told\n" },
	{ "a node without GPUs in pools watches no pool", { { DEVICES, 200, END, .stay = true } }, NULL, NULL, 1,
	  "", "devices Told\n" },
	{ "a pool that the server does not have is gone",
	  { { DEVICES, 200, DEVICE("ADDED", OF_Q) END, .stay = true }, { POOL, 200, END, .stay = true } },
	  "[{resource: " Q ", cluster: true, unit: Card, slicesPerUnit: 2, cards: ['0000:01:00.0']}]", NULL, 2, Q
	  " x2 0 0 1\n", "ClusterGPUPool/q Told\ndevices Told\n" },
	{ "one that is deleted while it is watched too",
	  { { DEVICES, 200, DEVICE("ADDED", OF_Q) END, .stay = true },
	    { POOL, 200, POOL_IS("\"name\":\"q\"") END, .stay = true } }, NULL,
	  "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"q\",\"uid\":\"v\","
	  "\"resourceVersion\":\"10\"}}}\n", 2,
	  Q " x2 0 0 1\n", "ClusterGPUPool/q Told\ndevices Told\n" },
	{ "a pool that may not be read changes nothing",
	  { { DEVICES, 200, DEVICE("ADDED", OF_Q) END, .stay = true }, { POOL, 403, "{}", .always = true } },
	  "[{resource: " Q ", cluster: true, unit: Card, slicesPerUnit: 2, cards: ['0000:01:00.0']}]", NULL, 0, Q
	  " x2 1 0 0\n", "ClusterGPUPool/q Denied\ndevices Told\n" },
	{ "where GPUDevices may not be read, nothing is known", { { DEVICES, 403, "{}", .always = true } }, NULL,
	  NULL, 0,
	  NULL, "devices Denied\n" },
	{ "and what was known counts", { { DEVICES, 403, "{}", .always = true } },
	  "[{resource: " Q ", cluster: true, unit: Card, slicesPerUnit: 2, cards: ['0000:01:00.0']}]", NULL, 0, Q
	  " x2 1 0 0\n", "devices Denied\n" },
	{ "an API server without the kind tells so", { { DEVICES, 404, "{}" }, { DEFINITION, 200, "", .stay = true },
	    { GROUP, 404, "{}", .always = true } }, NULL, NULL, 0, NULL, "devices Absent\n" },
};

struct house {
	const struct row *row;
	struct script script;
	struct fl_loop *loop;
	struct fl_api_watches watches;
	struct fl_timer more;
};

static void house_gone(void *self)
{
	struct house *house = self;

	fl_timer_stop(house->script.io, &house->more);
	fl_api_watches_stop(&house->watches);
	house->loop = fl_loop_free(house->loop);
	script_close(&house->script);
}

static int put(struct fl_loop *loop, const struct fl_kind *kind, struct fl_str text)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const void *object = facts_object(&arena, kind->root(), text);

	return object ? fl_feed_put(fl_loop_feed(loop, kind), object, NULL) : -FL_E_NOMEM;
}

static void send_more(struct fl_timer *timer)
{
	struct house *house = fl_container(timer, struct house, more);

	script_more(&house->script, house->row->more);
}

/* Conditions stay in memory: how they are written is the loop's. */
static int add_sources(struct house *house)
{
	struct fl_io *io = house->script.io;
	const struct fl_source sources[] = {
		{ &fl_gpu_device_kind, NULL, &fl_memory_sink, io },
		{ &fl_gpu_pool_kind, NULL, NULL, NULL },
		{ &fl_cluster_gpu_pool_kind, NULL, NULL, NULL },
		{ &fl_api_watch_kind, NULL, &fl_api_watch_sink, &house->watches },
		{ &fl_settings_kind, NULL, NULL, NULL },
		{ &fl_card_kind, NULL, NULL, NULL },
		{ &fl_health_kind, NULL, NULL, NULL },
		{ &fl_resource_kind, NULL, NULL, NULL },
		{ &fl_holder_kind, NULL, NULL, NULL },
		{ &fl_active_kind, NULL, NULL, NULL },
		{ &fl_layout_kind, NULL, NULL, NULL },
		{ &fl_mig_state_kind, NULL, NULL, NULL },
		{ &fl_own_node_kind, NULL, NULL, NULL },
		{ &fl_memo_kind, NULL, &fl_memory_sink, io },
		{ &fl_pool_change_kind, NULL, &fl_memory_sink, io },
	};

	for (uint32_t i = 0; i < FL_LEN(sources); i++)
		if (fl_loop_source(house->loop, &sources[i], NULL) < 0)
			return -FL_E_NOMEM;
	if (fl_loop_capability(house->loop, &fl_node_pools, NULL) < 0)
		return -FL_E_NOMEM;
	fl_api_watches_begin(&house->watches, io, house->loop, house->script.kube, FL_S("n1"), NULL);
	for (uint32_t i = 4; i < FL_LEN(sources); i++)
		fl_memory_begin(house->loop, sources[i].kind);
	return 0;
}

static int add_facts(struct house *house)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_loop *loop = house->loop;
	int r = put(loop, &fl_card_kind, FL_S("metadata: {name: '0000:01:00.0'}\nanswer: Answers\n"));
	struct fl_str memo = fl_arena_printf(&arena, "metadata: {name: pools}\nread: true\npools: %s\n",
					     house->row->memo ? house->row->memo : "");

	if (r == 0 && house->row->memo)
		r = memo.p ? put(loop, &fl_memo_kind, memo) : -FL_E_NOMEM;
	return r == 0 ? put(loop, &fl_settings_kind, FL_S("metadata: {name: settings}\nnode: n1\ngpuPools: "
	  "true\n")) : r;
}

static int boot(struct sim_process *process)
{
	struct house *house = sim_arg(process);
	struct fl_loop_options options = { .seed = { 1, 2 } };

	sim_own(process, house, house_gone);
	house->script.io = sim_io(process);
	house->more.fire = send_more;
	if (script_open(&house->script, house->row->script) < 0)
		return -FL_E_NOMEM;
	house->loop = fl_loop_new(house->script.io, &options, NULL);
	if (!house->loop || add_sources(house) < 0)
		return -FL_E_NOMEM;
	if (house->row->more)
		fl_timer_set(house->script.io, &house->more, fl_now(house->script.io) + 4 * FL_NS_PER_S);
	return add_facts(house);
}

static void print(struct house *house, struct fl_buf *pools, struct fl_buf *watches, bool *ret_known)
{
	FL_VIEW(view, house->loop);
	const struct fl_memo *memo = fl_view_get(&view, &fl_memo_kind, FL_S(""), FL_S(FL_POOLS_NAME));
	const struct fl_api_watch *watch;
	uint32_t len;

	*ret_known = memo && memo->read;
	for (uint32_t i = 0; memo && i < memo->pools.len; i++)
		fl_buf_printf(pools, "%.*s x%d %u %u %u\n", FL_ARG(memo->pools.at[i].resource),
			      (int)memo->pools.at[i].slices, memo->pools.at[i].cards.len,
			      memo->pools.at[i].kept_back.len, memo->pools.at[i].leaving.len);
	watch = fl_view_array(&view, &fl_api_watch_kind, &len);
	for (uint32_t i = 0; i < len; i++)
		fl_buf_printf(watches, "%.*s %s\n", FL_ARG(watch[i].meta.name),
			      fl_name(&fl_api_answer_names, (int)watch[i].answer));
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
TEST_ONCE(own_gpus_and_their_pools_are_watched)
{
	EACH_ROW (row, rows) {
		FL_AUTO(town) struct town town = { .house = { .row = row } };
		FL_AUTO(fl_buf) struct fl_buf pools = FL_BUF(FL_KIB), watches = FL_BUF(FL_KIB);
		struct house *house = &town.house;
		bool known;

		town.world = sim_world_new(&(struct sim_config){ .seed = test_random() });
		GOT(town.world);
		(void)sim_host_new(town.world, "here", boot, house);
		sim_run(town.world, 20 * FL_NS_PER_S);
		CHECK_STR(fl_str(house->script.wrong), "");
		if (row->asked)
			CHECK_INT(house->script.asked, row->asked);
		print(house, &pools, &watches, &known);
		CHECK(known == (row->got != NULL));
		CHECK_STR(fl_buf_view(&pools), row->got ? row->got : "");
		CHECK_STR(fl_buf_view(&watches), row->watches);
	}
}
