/* The inventory at work: an API server in memory, Nodes and NodeFeatures as they come, two replicas. */
#include "cmd/controller/inventory.h"
#include "api/core.h"
#include "api/nfd.h"
#include "api/pools.h"
#include "api/walk.h"
#include "fake_api.h"
#include "keys_check.h"
#include "plan/pool/device_state.h"
#include "rig.h"

static const struct fl_source sources[] = {
	{ .kind = &fl_gpu_device_kind, .by = fl_inventory_devices_by }, { .kind = &fl_gpu_node_state_kind },
	{ .kind = &fl_module_config_kind, .unpacked = &fl_module_made },
	{ .kind = &fl_node_kind, .by = fl_inventory_nodes_by },
	{ .kind = &fl_gpu_feature_kind, .by = fl_inventory_features_by }, { 0 },
};

#define WORLD(api, one) \
	struct fake_client one = { 0 }; \
	FL_AUTO(fake_api) struct fake_api api = { 0 }; \
	OK(fake_api_init(&api, sources)); \
	OK(fake_client_init(&one, &api, &fl_inventory))

static int tell(struct fake_client *to, const struct fl_kind *kind, const char *json)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	void *object = fl_arena_get(&arena, kind->root()->size);
	int r = object ? test_read(kind->root(), json, 0, &arena, object, NULL) : -FL_E_NOMEM;

	return r < 0 ? r : fl_feed_put(fl_loop_feed(to->loop, kind), object, NULL);
}

#define NODE(name, uid, labels) \
	"{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" uid "\",\"resourceVersion\":\"7\",\"labels\":{" labels "}}}"
#define GPU(index, id, address) \
	"{\"attributes\":{\"index\":\"" index "\",\"vendor\":\"10de\",\"device\":\"" id "\",\"class\":\"0302\"," \
	"\"pci.address\":\"" address "\",\"uuid\":\"GPU-" address "\",\"product\":\"A100\"}}"
#define AGENT(node, gpus) \
	"{\"metadata\":{\"name\":\"nvidia-features-for-" node "-fairlead\",\"namespace\":\"nfd\",\"labels\":{" \
	"\"nfd.node.kubernetes.io/node-name\":\"" node "\"}},\"spec\":{\"features\":{\"instances\":{" \
	"\"nvidia.com/gpu\":{\"elements\":[" gpus "]}}}}}"
#define TWO GPU("0", "20b0", "0000:3b:00.0") "," GPU("1", "20b0", "0000:86:00.0")
#define OFF "\"gpu.deckhouse.io/enabled\":\"false\""

#define CHECK_LOG(api, text) \
	do { \
		SURE_STR(fl_buf_view(&(api).log), text); \
		fl_buf_clear(&(api).log); \
	} while (0)

static bool shows(struct fake_api *api, const struct fl_kind *kind, const char *name, const char *part)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);

	fake_api_show(api, kind, name, &text);
	fl_buf_char(&text, '\0');
	return test_tortured() || text.failed || (text.p && strstr(text.p, part));
}

TEST(a_node_with_two_gpus_is_six_writes_and_then_none)
{
	WORLD(api, one);

	OK(tell(&one, &fl_node_kind, NODE("n", "1", "")));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("n", TWO)));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "want GPUDevice n-0-10de-20b0\nwant GPUDevice n-1-10de-20b0\nwant GPUNodeState n\n"
		       "want GPUDevice n-0-10de-20b0\nwant GPUDevice n-1-10de-20b0\nwant GPUNodeState n\n");
	CHECK(shows(&api, &fl_gpu_device_kind, "n-1-10de-20b0", "\"inventoryID\":\"n/0000:86:00.0\",\"managed\":true"));
	CHECK(shows(&api, &fl_gpu_node_state_kind, "n", "InventorySynced"));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("n", TWO)));
	OK(tell(&one, &fl_node_kind, NODE("n", "1", "")));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "");
}

TEST(another_replica_that_takes_over_writes_nothing)
{
	struct fake_client two = { 0 };
	WORLD(api, one);

	OK(tell(&one, &fl_node_kind, NODE("n", "1", "")));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("n", TWO)));
	OK(fake_api_settle(&api));
	fl_buf_clear(&api.log);
	OK(fake_client_init(&two, &api, &fl_inventory));
	OK(tell(&two, &fl_node_kind, NODE("n", "1", "")));
	OK(tell(&two, &fl_gpu_feature_kind, AGENT("n", TWO)));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "");
}

TEST(R42_a_node_is_disabled_and_comes_back)
{
	WORLD(api, one);

	OK(tell(&one, &fl_node_kind, NODE("n", "1", "")));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("n", TWO)));
	OK(fake_api_settle(&api));
	fl_buf_clear(&api.log);
	OK(tell(&one, &fl_node_kind, NODE("n", "1", OFF)));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "want GPUDevice n-0-10de-20b0\nwant GPUDevice n-1-10de-20b0\nwant GPUNodeState n\n");
	CHECK(shows(&api, &fl_gpu_device_kind, "n-0-10de-20b0", "\"managed\":false"));
	CHECK(shows(&api, &fl_gpu_node_state_kind, "n", "NodeMarkedDisabled"));
	OK(tell(&one, &fl_node_kind, NODE("n", "1", "")));
	OK(fake_api_settle(&api));
	CHECK(shows(&api, &fl_gpu_device_kind, "n-0-10de-20b0", "\"managed\":true"));
	CHECK(shows(&api, &fl_gpu_node_state_kind, "n", "NodeManaged"));
}

TEST(nodes_that_are_called_alike_have_devices_of_their_own)
{
	WORLD(api, one);

	OK(tell(&one, &fl_node_kind, NODE("a.b", "1", "")));
	OK(tell(&one, &fl_node_kind, NODE("a-b", "2", "")));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("a.b", GPU("0", "20b0", "0000:3b:00.0"))));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("a-b", GPU("0", "20b0", "0000:3b:00.0"))));
	OK(fake_api_settle(&api));
	SURE_INT(api.truth[0].len, 2);
	CHECK(shows(&api, &fl_gpu_device_kind, "a-b-0-10de-20b0", "\"nodeName\":\"a"));
	CHECK(shows(&api, &fl_gpu_device_kind, "a-b-d44362d6-0-10de-20b0", "\"nodeName\":\"a-b\"") ||
	      shows(&api, &fl_gpu_device_kind, "a-b-2e7336dc-0-10de-20b0", "\"nodeName\":\"a.b\""));
}

TEST(R40_a_node_that_comes_again_has_its_own_devices)
{
	WORLD(api, one);

	OK(tell(&one, &fl_node_kind, NODE("n", "1", "")));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("n", TWO)));
	OK(fake_api_settle(&api));
	fl_feed_gone(fl_loop_feed(one.loop, &fl_node_kind), FL_S(""), FL_S("n"));
	OK(tell(&one, &fl_node_kind, NODE("n", "2", "")));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("n", GPU("0", "20b0", "0000:af:00.0"))));
	OK(fake_api_settle(&api));
	CHECK(shows(&api, &fl_gpu_device_kind, "n-0-10de-20b0",
		    "\"uid\":\"1\"")); /* the collector has not been here */
	OK(fake_api_delete(&api, &fl_gpu_device_kind, "n-0-10de-20b0"));
	OK(fake_api_delete(&api, &fl_gpu_device_kind, "n-1-10de-20b0"));
	OK(fake_api_delete(&api, &fl_gpu_node_state_kind, "n"));
	OK(fake_api_settle(&api));
	SURE_INT(api.truth[0].len, 1);
	CHECK(shows(&api, &fl_gpu_device_kind, "n-0-10de-20b0", "n/0000:af:00.0"));
	CHECK(shows(&api, &fl_gpu_node_state_kind, "n", "\"uid\":\"2\""));
}

#define CONFIG(settings) \
	"{\"metadata\":{\"name\":\"gpu-control-plane\"},\"spec\":{\"enabled\":true,\"settings\":{" settings "}}}"

TEST(R15_settings_are_followed_and_bad_ones_change_nothing)
{
	WORLD(api, one);

	OK(tell(&one, &fl_node_kind, NODE("n", "1", "")));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("n", TWO)));
	OK(fake_api_settle(&api));
	fl_buf_clear(&api.log);
	OK(fake_api_put(&api, &fl_module_config_kind, CONFIG("\"deviceApproval\":{\"mode\":\"Automatic\"}")));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "want GPUDevice n-0-10de-20b0\nwant GPUDevice n-1-10de-20b0\n");
	CHECK(shows(&api, &fl_gpu_device_kind, "n-0-10de-20b0", "\"autoAttach\":true"));
	OK(fake_api_put(&api, &fl_module_config_kind, CONFIG("\"deviceApproval\":{\"mode\":\"Nobody\"}")));
	OK(tell(&one, &fl_node_kind, NODE("n", "1", OFF)));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "");
	OK(fake_api_put(&api, &fl_module_config_kind, CONFIG("")));
	OK(fake_api_settle(&api));
	CHECK(shows(&api, &fl_gpu_device_kind, "n-0-10de-20b0", "\"managed\":false,\"autoAttach\":false"));
}

TEST(R21_what_people_set_stays)
{
	WORLD(api, one);

	OK(tell(&one, &fl_node_kind, NODE("n", "1", "")));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("n", TWO)));
	OK(fake_api_put(&api, &fl_gpu_device_kind,
			"{\"metadata\":{\"name\":\"n-0-10de-20b0\",\"labels\":{\"gpu.deckhouse.io/ignore\":\"true\"},"
			"\"annotations\":{\"gpu.deckhouse.io/assignment\":\"a\"},\"ownerReferences\":"
			"[{\"apiVersion\":\"v1\","
			"\"kind\":\"Node\",\"name\":\"n\",\"uid\":\"1\"},{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
			"\"name\":\"p\","
			"\"uid\":\"p\"}]},\"status\":{\"nodeName\":\"n\",\"state\":\"Ready\",\"poolRef\":{\"name\":"
			"\"a\"},"
			"\"conditions\":[{\"type\":\"Configured\",\"status\":\"True\",\"reason\":\"A\",\"message\":"
			"\"b\","
			"\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}"));
	OK(fake_api_settle(&api));
	{
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		const struct fl_gpu_device *is = fake_api_get(&api, &fl_gpu_device_kind, "n-0-10de-20b0", &arena);

		GOT(is);
		SURE_STR(fl_map_value(is->meta.labels, FL_S("gpu.deckhouse.io/ignore")), "true");
		SURE_STR(fl_map_value(is->meta.labels, FL_S("gpu.deckhouse.io/device-index")), "0");
		SURE_STR(fl_map_value(is->meta.annotations, FL_S("gpu.deckhouse.io/assignment")), "a");
		SURE_INT(is->status.state, FL_DEVICE_READY);
		SURE_STR(is->status.pool.name, "a");
		SURE(fl_condition_find(&is->status.conditions, FL_S("Configured")));
		SURE(fl_condition_find(&is->status.conditions, FL_S("Ignored")));
	}
}

/* ---- device-state ---- */

static const struct {
	const char *says, *status, *want;
} states[] = {
	{ "a device without a status is the inventory's to begin", "", "" },
	{ "a new one is discovered", "\"nodeName\":\"n\"", "Discovered" },
	{ "any state stays", "\"nodeName\":\"n\",\"managed\":true,\"state\":\"Ready\"", "Ready" },
	{ "of a Node that is not managed, one without a pool begins anew", "\"nodeName\":\"n\",\"managed\":false,"
	  "\"state\":\"Ready\"", "Discovered" },
	{ "one with a pool is drained first",
	  "\"nodeName\":\"n\",\"managed\":false,\"state\":\"Assigned\",\"poolRef\":{"
					      "\"name\":\"a\"}", "Assigned" },
	{ "a fault stays", "\"nodeName\":\"n\",\"managed\":false,\"state\":\"Faulted\"", "Faulted" },
};

TEST(R63_device_states)
{
	EACH_ROW_ALONE (row, states) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		char json[FL_KIB];
		struct fl_buf in = FL_BUF_IN(json);
		struct fl_gpu_device device = { 0 };
		struct fl_device_state_facts facts = { &device };
		struct fl_plan plan;

		fl_buf_printf(&in, "{\"metadata\":{\"name\":\"d\"},\"status\":{%s}}", row->status);
		OK(test_read(fl_gpu_device_bind(), json, 0, &arena, &device, NULL));
		fl_plan_init(&plan, &arena);
		fl_device_state_plan(&facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		fl_plan_print(&plan, &text);
		fl_buf_char(&text, '\0');
		OK(fl_buf_check(&text, "the plan", NULL));
		in = FL_BUF_IN(json);
		fl_buf_printf(&in, "want GPUDevice d by fairlead-device-state {\"status\":{\"state\":\"%s\"}}\n",
			      row->want);
		CHECK(row->want[0] ? strstr(text.p, json) != NULL : text.p[0] == '\0');
	}
}

/* ---- keys ---- */

/* Each change of each field is a plan: tortured, that would be some hundred thousand rounds. */
TEST_ONCE(keys_miss_nothing)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(FL_MIB);
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_module_config_kind, CONFIG("\"managedNodes\":{\"labelKey\":\"a/b\"}")));
	OK(tell(&one, &fl_node_kind, NODE("a.b", "1", "\"a/b\":\"x\",\"gpu.deckhouse.io/device.00.vendor\":\"10de\","
						      "\"gpu.deckhouse.io/device.00.device\":\"20b0\","
						      "\"gpu.deckhouse.io/device.00.class\":\"0302\"")));
	OK(tell(&one, &fl_node_kind, NODE("a-b", "2", "")));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("a.b", TWO)));
	OK(tell(&one, &fl_gpu_feature_kind, AGENT("a-b", TWO)));
	OK(fake_api_settle(&api));
	OK(keys_check(one.loop, &fl_inventory, FL_S(""), FL_S("a.b"), &missed));
	OK(keys_check(one.loop, &fl_inventory, FL_S(""), FL_S("a-b"), &missed));
	OK(keys_check(one.loop, &fl_inventory, FL_S(""), FL_S("nobody"), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}

TEST_ONCE(keys_of_the_others_miss_nothing)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(FL_MIB);
	struct fake_client one = { 0 }, two = { 0 };
	FL_AUTO(fake_api) struct fake_api api = { 0 };

	OK(fake_api_init(&api, sources));
	OK(fake_client_init(&one, &api, &fl_device_states));
	OK(fake_client_init(&two, &api, &fl_module_settings_check));
	OK(fake_api_put(&api, &fl_module_config_kind, CONFIG("\"https\":{}")));
	OK(fake_api_put(&api, &fl_gpu_device_kind, "{\"metadata\":{\"name\":\"d\"},\"status\":{\"nodeName\":\"n\"}}"));
	OK(fake_api_settle(&api));
	OK(keys_check(one.loop, &fl_device_states, FL_S(""), FL_S("d"), &missed));
	OK(keys_check(two.loop, &fl_module_settings_check, FL_S(""), FL_S(FL_MODULE_NAME), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}
