/* The inventory of a Node: sources, identity, retention, policy, approval, conditions. */
#include "plan/pool/inventory.h"
#include "api/walk.h"
#include "test.h"

enum { FEATURES = 3, DEVICES = 4, WORDS = 5 };

struct row {
	const char *says;
	const char *node;                      /* members of metadata, after name and uid */
	const char *features[FEATURES];
	const char *devices[DEVICES];
	const char *state, *settings;          /* settings: spec of ModuleConfig; NULL: there is none */
	const char *want[WORDS], *not[WORDS];  /* parts of the plan */
};

#define SLOT(n, id) \
	"\"gpu.deckhouse.io/device." n ".vendor\":\"10DE\",\"gpu.deckhouse.io/device." n ".device\":\"" id "\"," \
	"\"gpu.deckhouse.io/device." n ".class\":\"0302\""
#define LABELS(...) "\"labels\":{" __VA_ARGS__ "}"
#define FEATURE(name, spec) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"nfd\"},\"spec\":{" spec "}}"
#define GPU(index, id, address, uuid, more) \
	"{\"attributes\":{\"index\":\"" index "\",\"vendor\":\"10de\",\"device\":\"" id "\",\"class\":\"0302\"," \
	"\"pci.address\":\"" address "\",\"uuid\":\"" uuid "\"" more "}}"
#define GPU_1 GPU("0", "20b0", "0000:3b:00.0", "GPU-1", "")
#define GPU_2 GPU("0", "20b0", "0000:86:00.0", "GPU-2", "")
#define AGENT(...) \
	FEATURE("nvidia-features-for-n-fairlead", "\"features\":{\"flags\":{},\"attributes\":{},\"instances\":{" \
						   "\"nvidia.com/gpu\":{\"elements\":[" __VA_ARGS__ "]}}}")
#define DEVICE_OF(name, node_uid, index, status) \
	"{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"labels\":{" \
	"\"gpu.deckhouse.io/device-index\":\"" index "\",\"gpu.deckhouse.io/node\":\"n\"},\"ownerReferences\":[{" \
	"\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n\",\"uid\":\"" node_uid "\"}]},\"status\":{" status "}}"
#define DEVICE(index, id, status) DEVICE_OF("n-" index "-10de-" id, "1", index, "\"nodeName\":\"n\"" status)
#define ID(address) ",\"inventoryID\":\"n/" address "\""
#define HARD(id, more) ",\"hardware\":{\"pci\":{\"vendor\":\"10de\",\"device\":\"" id "\"}" more "}"

static const struct row rows[] = {
	{ "R41: a Node without GPUs has nothing", "\"labels\":{\"a\":\"b\"}", { NULL }, { NULL }, NULL, NULL, { "" },
	  { "want", "say" } },
	{ "R37: a GPU has a device, labels and owner", "", { AGENT(GPU("0", "20b0", "00000000:3B:00.0", "GPU-1", "")) },
	  { NULL }, NULL, NULL,
	  { "want GPUDevice n-0-10de-20b0 by fairlead-inventory {\"metadata\":{\"labels\":{"
	    "\"gpu.deckhouse.io/device-index\":\"0\",\"gpu.deckhouse.io/node\":\"n\"},\"ownerReferences\":[{"
	    "\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n\",\"uid\":\"1\"}]}}",
	    "want GPUDevice n-0-10de-20b0 by fairlead-inventory-status {\"status\":{\"nodeName\":\"n\","
	    "\"inventoryID\":\"n/0000:3b:00.0\",\"managed\":true,\"autoAttach\":false,\"hardware\":{\"uuid\":\"GPU-1\"",
	    "event Normal GPUDevice n-0-10de-20b0 GPUDeviceDetected: Discovered GPU device index=0 vendor=10de "
	  "device=20b0 "
	    "on node n",
	    "want GPUNodeState n by fairlead-inventory {\"metadata\":{\"ownerReferences\":[{",
	    "\"type\":\"InventoryComplete\",\"status\":\"True\",\"reason\":\"InventorySynced\"" },
	  { "\"controller\"" } },
	{ "R41: labels alone make a device, which is incomplete", LABELS(SLOT("00", "20B0")), { NULL }, { NULL },
	  NULL, NULL,
	  { "want GPUDevice n-0-10de-20b0", "\"pci\":{\"vendor\":\"10de\",\"device\":\"20b0\",\"class\":\"0302\"}",
	    "\"reason\":\"NodeFeatureMissing\"" }, { "inventoryID" } },
	{ "labels of a NodeFeature count", "", { FEATURE("n", LABELS(SLOT("00", "20b0"))) }, { NULL }, NULL, NULL,
	  { "want GPUDevice n-0-10de-20b0", "\"reason\":\"DeviceDataIncomplete\"", "1 of 1 GPUs lack a UUID" } },
	{ "of a label, the Node's value wins", LABELS(SLOT("00", "20b0")), { FEATURE("n", LABELS(SLOT("00", "2330"))) },
	  { NULL }, NULL, NULL, { "want GPUDevice n-0-10de-20b0" }, { "2330" } },
	{ "then the NodeFeature of the Node's name", "",
	  { FEATURE("nvidia-features-for-n", LABELS(SLOT("00", "2330"))), FEATURE("n", LABELS(SLOT("00", "20b0"))) },
	  { NULL }, NULL, NULL, { "want GPUDevice n-0-10de-20b0" }, { "2330" } },
	{ "a NodeFeature fills gaps", LABELS(SLOT("00", "20b0")),
	  { FEATURE("n", LABELS("\"gpu.deckhouse.io/device.00.product\":\"A100\"")) }, { NULL }, NULL, NULL,
	  { "\"product\":\"A100\"" } },
	{ "a slot without its class is none, and told", LABELS("\"gpu.deckhouse.io/device.00.vendor\":\"10de\","
							       "\"gpu.deckhouse.io/device.00.device\":\"20b0\""),
	  { NULL }, { NULL }, NULL, NULL,
	  { "NotUsed: labels gpu.deckhouse.io/device.0.* lack vendor, device or class" },
	  { "want" } },
	{ "a slot of another vendor is none", LABELS("\"gpu.deckhouse.io/device.00.vendor\":\"8086\","
						     "\"gpu.deckhouse.io/device.00.device\":\"20b0\","
						     "\"gpu.deckhouse.io/device.00.class\":\"0300\""),
	  { NULL }, { NULL }, NULL, NULL, { "" }, { "want", "NotUsed" } },
	{ "ten comes after two", LABELS(SLOT("10", "20b0") "," SLOT("02", "20b0")), { NULL }, { NULL }, NULL, NULL,
	  { "want GPUDevice n-2-10de-20b0 by fairlead-inventory {" }, { NULL } },
	{ "facts of the agent are filled from the slot of that index", LABELS(SLOT("00", "20b0") ","
	  "\"gpu.deckhouse.io/device.00.product\":\"A100\""), { AGENT(GPU_1) },
	  { NULL }, NULL, NULL, { "\"product\":\"A100\"", "\"inventoryID\":\"n/0000:3b:00.0\"" }, { "n-1-" } },
	{ "a slot more than the agent's GPUs is a GPU without the driver", LABELS(SLOT("00", "20b0") "," SLOT("01",
	  "20b0")),
	  { AGENT(GPU_1) }, { NULL }, NULL, NULL,
	  { "want GPUDevice n-0-10de-20b0", "want GPUDevice n-1-10de-20b0", "1 of 2 GPUs lack" }, { "n-2-" } },
	{ "numbers that disagree are of the same GPUs", LABELS(SLOT("00", "20b0") "," SLOT("01", "2330")),
	  { AGENT(GPU("0", "2330", "0000:3b:00.0", "GPU-1", "") "," GPU("1", "20b0", "0000:86:00.0", "GPU-2", "")) },
	  { NULL }, NULL, NULL, { "n-0-10de-2330", "n-1-10de-20b0", "InventorySynced" }, { "n-0-10de-20b0",
	  "n-1-10de-2330" } },
	{ "R43: a GPU keeps its object when its index changes", "",
	  { AGENT(GPU_2) },
	  { DEVICE("0", "20b0", ID("0000:3b:00.0") HARD("20b0", ",\"uuid\":\"GPU-1\"")),
	    DEVICE("1", "20b0", ID("0000:86:00.0") HARD("20b0", ",\"uuid\":\"GPU-2\"")) }, NULL, NULL,
	  { "by fairlead-inventory-status {\"status\":{\"nodeName\":\"n\",\"inventoryID\":\"n/0000:86:00.0\"", "GPU-1",
	    "1 GPUs are told of, 2 GPUDevices" }, { "n-2-", "event",
	  "by fairlead-inventory {\"metadata\":{\"labels" } },
	{ "and when the numbers of buses change", "", { AGENT(GPU("0", "20b0", "0000:3c:00.0", "GPU-1", "")) },
	  { DEVICE("0", "20b0", ID("0000:3b:00.0") HARD("20b0", ",\"uuid\":\"GPU-1\"")) }, NULL, NULL,
	  { "\"inventoryID\":\"n/0000:3b:00.0\"", "\"address\":\"0000:3c:00.0\"" }, { "n-1-" } },
	{ "a GPU that was replaced has the object of its place", "", { AGENT(GPU("0", "20b0", "0000:3b:00.0", "GPU-9",
	  "")) },
	  { DEVICE("0", "20b0", ID("0000:3b:00.0") HARD("20b0", ",\"uuid\":\"GPU-1\"")) }, NULL, NULL,
	  { "\"uuid\":\"GPU-9\"" }, { "n-1-", "GPU-1" } },
	{ "a further GPU of a taken index has the next one", "",
	  { AGENT(GPU_2) },
	  { DEVICE("0", "20b0", ID("0000:3b:00.0") HARD("20b0", ",\"uuid\":\"GPU-1\"")) }, NULL, NULL,
	  { "want GPUDevice n-1-10de-20b0 by fairlead-inventory {", "device-index\":\"1\"" } },
	{ "an object without a place is the first GPU's that has one", "",
	  { AGENT(GPU_2) }, { DEVICE("7", "20b0", HARD("20b0", "")) }, NULL, NULL,
	  { "want GPUDevice n-7-10de-20b0 by fairlead-inventory-status {\"status\":{\"nodeName\":\"n\",\"inventoryID\":"
	    "\"n/0000:86:00.0\"" }, { "n-0-" } },
	{ "R39: GPUs vanish: objects stay as they are, and it is told", "", { FEATURE("n", LABELS("\"a\":\"b\"")) },
	  { DEVICE("0", "20b0", ID("0000:3b:00.0") HARD("20b0", ",\"uuid\":\"GPU-1\",\"product\":\"A100\"")) }, NULL,
	  NULL,
	  { "\"uuid\":\"GPU-1\",\"product\":\"A100\"", "\"reason\":\"NoDevicesDiscovered\"" }, { "gone" } },
	{ "what is not known any more stays", LABELS(SLOT("00", "20b0")), { NULL },
	  { DEVICE("0", "20b0", ID("0000:3b:00.0") HARD("20b0", ",\"uuid\":\"GPU-1\",\"product\":\"A100\"")) }, NULL,
	  NULL,
	  { "\"uuid\":\"GPU-1\",\"product\":\"A100\"" }, { "n-1-" } },
	{ "R40: devices go with a Node that is going", "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"",
	  { AGENT(GPU_1) }, { DEVICE("0", "20b0", ID("0000:3b:00.0")) }, NULL, NULL,
	  { "gone GPUDevice n-0-10de-20b0 event Normal Node n GPUDeviceRemoved: GPU device n-0-10de-20b0 removed from "
	    "inventory" }, { "want" } },
	{ "a device of a former Node of the name is left to go", "", { AGENT(GPU_1) },
	  { DEVICE_OF("n-0-10de-20b0", "0", "0", "\"nodeName\":\"n\"" ID("0000:3b:00.0")) }, NULL, NULL,
	  { "Waits: n-0-10de-20b0 is of a former Node of this name" }, { "want GPUDevice" } },
	{ "R10: a Node is not managed when its label says false", LABELS("\"gpu.deckhouse.io/enabled\":\"False\""),
	  { AGENT(GPU_1) }, { NULL }, NULL,
	  "{\"enabled\":true,\"settings\":{\"deviceApproval\":{\"mode\":\"Automatic\"}}}",
	  { "\"managed\":false,\"autoAttach\":false", "\"type\":\"ManagedDisabled\",\"status\":\"True\",\"reason\":"
							  "\"NodeMarkedDisabled\"" } },
	{ "R10: any other value manages it", LABELS("\"gpu.deckhouse.io/enabled\":\"\""),
	  { AGENT(GPU_1) }, { NULL }, NULL, NULL, { "\"managed\":true" } },
	{ "R11: another label, and not by default", "", { AGENT(GPU_1) }, { NULL }, NULL,
	  "{\"enabled\":true,\"settings\":{\"managedNodes\":{\"labelKey\":\"a/b\",\"enabledByDefault\":false}}}",
	  { "\"managed\":false", "the Node is not managed: label a/b" } },
	{ "R11: the label manages it then", LABELS("\"a/b\":\"yes\""), { AGENT(GPU_1) },
	  { NULL }, NULL,
	  "{\"enabled\":true,\"settings\":{\"managedNodes\":{\"labelKey\":\"a/b\",\"enabledByDefault\":false}}}",
	  { "\"managed\":true" } },
	{ "R16: all are approved", "", { AGENT(GPU_1) }, { NULL }, NULL,
	  "{\"enabled\":true,\"settings\":{\"deviceApproval\":{\"mode\":\"Automatic\"}}}", { "\"autoAttach\":true" } },
	{ "R16: those of a selector", "", { AGENT(GPU_1 ","
						  GPU("1", "2330", "0000:86:00.0", "GPU-2", "")) }, { NULL }, NULL,
	  "{\"enabled\":true,\"settings\":{\"deviceApproval\":{\"mode\":\"Selector\",\"selector\":{\"matchLabels\":{"
	  "\"gpu.deckhouse.io/device.device\":\"2330\"}}}}}",
	  { "n/0000:3b:00.0\",\"managed\":true,\"autoAttach\":false",
	  "n/0000:86:00.0\",\"managed\":true,\"autoAttach\":true" } },
	{ "R16: by the label of a slot, however its number is written", "",
	  { AGENT(GPU_1) }, { NULL }, NULL,
	  "{\"enabled\":true,\"settings\":{\"deviceApproval\":{\"mode\":\"Selector\",\"selector\":{\"matchLabels\":{"
	  "\"gpu.deckhouse.io/device.00.device\":\"20b0\",\"gpu.deckhouse.io/device.0.vendor\":\"10de\"}}}}}",
	  { "\"autoAttach\":true" } },
	{ "R15: settings that are invalid change nothing", LABELS("\"gpu.deckhouse.io/enabled\":\"false\""),
	  { AGENT(GPU_1) }, { NULL }, NULL,
	  "{\"enabled\":true,\"settings\":{\"managedNodes\":{\"labelKey\":\"a b\"}}}",
	  { "SettingsInvalid: spec.settings.managedNodes.labelKey" }, { "want" } },
	{ "R17: nothing is done while the module is off", "", { AGENT(GPU_1) }, { NULL },
	  NULL, "{}", { "ModuleOff" }, { "want" } },
	{ "R19: looked at again after the period", "", { AGENT(GPU_1) }, { NULL }, NULL,
	  "{\"enabled\":true,\"settings\":{\"inventory\":{\"resyncPeriod\":\"1m\"}}}", { "again at 60000000007\n" } },
	{ "without one it is not", "", { AGENT(GPU_1) }, { NULL }, NULL, NULL, { "" },
	  { "again at" } },
	{ "R47: the label takes a device out", "", { AGENT(GPU_1) },
	  { "{\"metadata\":{\"name\":\"n-0-10de-20b0\",\"labels\":{\"gpu.deckhouse.io/ignore\":\"True\"}},"
	    "\"status\":{\"nodeName\":\"n\"}}" }, NULL, NULL,
	  { "\"type\":\"Ignored\",\"status\":\"True\"", "want GPUDevice n-0-10de-20b0 by fairlead-inventory {" } },
	{ "R36: MIG devices are a GPU's own",
	  LABELS("\"nvidia.com/mig.strategy\":\"mixed\",\"nvidia.com/mig-1g.10gb.count\":"
						     "\"9\""),
	  { AGENT(GPU("0", "20b0", "0000:3b:00.0", "GPU-1",
	  ",\"mig.capable\":\"true\",\"mig.devices.1g.10gb\":\"7\"") ","
		  GPU("1", "20b0", "0000:86:00.0", "GPU-2", ",\"mig.capable\":\"true\"")) }, { NULL }, NULL, NULL,
	  { "\"mig\":{\"capable\":true,\"strategy\":\"Mixed\",\"profilesSupported\":[\"1g.10gb\"],\"types\":[{\"name\":"
	    "\"1g.10gb\",\"count\":7}]}", "\"mig\":{\"capable\":true,\"strategy\":\"Mixed\",\"profilesSupported\":["
	    "\"1g.10gb\"]}" }, { "\"count\":9" } },
	{ "R36: counts of labels are those of the only GPU, the best metric first",
	  LABELS(SLOT("00", "20b0") ",\"nvidia.com/mig.capable\":\"true\",\"nvidia.com/mig-2G.20gb.available\":\"1\","
		 "\"nvidia.com/mig-2g.20gb.count\":\"3\",\"nvidia.com/mig-1g.10gb.engines.copy\":\"1\""), { NULL },
	  { NULL },
	  NULL, NULL,
	  { "\"profilesSupported\":[\"1g.10gb\",\"2g.20gb\"],\"types\":[{\"name\":\"2g.20gb\",\"count\":3}]" } },
	{ "R36: of two GPUs they are nobody's", LABELS(SLOT("00", "20b0") "," SLOT("01",
	  "20b0") ",\"nvidia.com/mig.capable\":"
						       "\"true\",\"nvidia.com/mig-1g.10gb.count\":\"7\""), { NULL },
	  { NULL },
	  NULL, NULL, { "\"capable\":true" }, { "\"types\"" } },
	{ "the product of a label without its profile", LABELS(SLOT("00", "20b0") ",\"nvidia.com/gpu.product\":"
							       "\"NVIDIA-A100-SXM4-80GB-MIG-1g.10gb\""), { NULL },
	  { NULL }, NULL,
	  NULL, { "\"product\":\"NVIDIA-A100-SXM4-80GB\"" } },
	{ "GPUs of two models have no product by a label", LABELS(SLOT("00", "20b0") "," SLOT("01", "2330") ","
								  "\"nvidia.com/gpu.product\":\"A100\""), { NULL },
	  { NULL },
	  NULL, NULL, { "n-1-10de-2330" }, { "\"product\"" } },
	{ "R38: a state that is there is not made again", "", { AGENT(GPU_1) },
	  { NULL },
	  "{\"metadata\":{\"name\":\"n\",\"uid\":\"s\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\","
		    "\"name\":\"n\",\"uid\":\"1\"},{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":"
	  "\"2\"}]},"
		    "\"spec\":{\"nodeName\":\"n\"}}", NULL,
	  { "want GPUNodeState n by fairlead-inventory-status" }, { "want GPUNodeState n by fairlead-inventory {" } },
	{ "the same GPU told of twice is one", "",
	  { AGENT(GPU_1),
	    "{\"metadata\":{\"name\":\"z\",\"labels\":{\"nfd.node.kubernetes.io/node-name\":\"n\"}},\"spec\":"
	  "{\"features\":{\"flags\":{},\"attributes\":{},\"instances\":{\"nvidia.com/gpu\":{\"elements\":["
			 GPU("0", "20b0", "0000:3B:00.0", "GPU-0", "") "]}}}}}" }, { NULL }, NULL, NULL,
	  { "\"uuid\":\"GPU-1\"", "all of 1 GPUs are known" }, { "GPU-0" } },
};

struct facts {
	struct fl_inventory_facts all;
	struct fl_node node;
	struct fl_gpu_feature features[FEATURES];
	struct fl_gpu_device devices[DEVICES];
	struct fl_gpu_node_state state;
	struct fl_module_config config;
	struct fl_module module;
};

static int read_some(const struct fl_bind *bind, const char *const *json, int max, void *to, uint32_t *ret_len,
		     struct fl_arena *arena, struct fl_err *err)
{
	int r = 0;

	for (*ret_len = 0; r == 0 && *ret_len < (uint32_t)max && json[*ret_len]; ++*ret_len)
		r = test_read(bind, json[*ret_len], 0, arena, (char *)to + (size_t)*ret_len * bind->size, err);
	return r;
}

static int read_facts(const struct row *row, struct fl_arena *arena, struct facts *f, struct fl_err *err)
{
	char text[4 * FL_KIB];
	struct fl_buf json = FL_BUF_IN(text);
	int r;

	fl_buf_printf(&json, "{\"metadata\":{\"name\":\"n\",\"uid\":\"1\"%s%s}}", row->node[0] ? "," : "", row->node);
	f->all = (struct fl_inventory_facts){ .node = &f->node, .features = f->features, .devices = f->devices,
					      .module = &f->module, .now = 7 };
	r = json.failed ? -FL_E_TOOBIG : test_read(fl_node_bind(), text, 0, arena, &f->node, err);
	r = r < 0 ? r : read_some(fl_gpu_feature_bind(), row->features, FEATURES, f->features, &f->all.feature_len,
	  arena, err);
	r = r < 0 ? r : read_some(fl_gpu_device_bind(), row->devices, DEVICES, f->devices, &f->all.device_len, arena,
	  err);
	if (r == 0 && row->state) {
		r = test_read(fl_gpu_node_state_bind(), row->state, 0, arena, &f->state, err);
		f->all.state = &f->state;
	}
	if (r < 0 || !row->settings)
		return r < 0 ? r : fl_module_read(NULL, arena, &f->module, err);
	json = FL_BUF_IN(text);
	fl_buf_printf(&json, "{\"spec\":%s}", row->settings);
	r = test_read(fl_module_config_bind(), text, 0, arena, &f->config, err);
	return r < 0 ? r : fl_module_read(&f->config, arena, &f->module, err);
}

TEST(inventory_plans)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
		struct facts *facts = fl_arena_get(&arena, sizeof *facts);
		struct fl_err err = { 0 };
		struct fl_plan plan;

		GOT(facts);
		OK_ERR(read_facts(row, &arena, facts, &err), &err);
		fl_plan_init(&plan, &arena);
		fl_inventory_plan(&facts->all, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		fl_plan_print(&plan, &text);
		fl_buf_char(&text, '\0');
		OK(fl_buf_check(&text, "the plan", NULL));
		for (int i = 0; i < WORDS && row->want[i]; i++)
			if (!strstr(text.p, row->want[i]))
				CHECK_STR(fl_str(text.p), row->want[i]);
		for (int i = 0; i < WORDS && row->not [i]; i++)
			if (strstr(text.p, row->not [i]))
				CHECK_STR(fl_str(text.p), row->not [i]);
	}
}
