/* The node's capabilities look again at whatever they have read, and go round in the loop. */
#include "api/cdi.h"
#include "api/nfd.h"
#include "api/node_pools.h"
#include "api/node_report.h"
#include "keys_check.h"
#include "node/agent.h"
#include "node/decide.h"
#include "node/decide_checks.h"
#include "node/decide_labels.h"
#include "node/decide_pods.h"
#include "node/decide_pools.h"
#include "rig.h"
#include "plan/gpu_facts.h"

#define A "'0000:01:00.0'"

static const struct {
	const struct fl_kind *kind;
	const struct fl_index *by;
	bool written;
	const char *text;
} facts[] = {
	{ &fl_settings_kind, NULL, false,
	  "metadata: {name: settings}\nnode: n1\nboot: b1\nunpooled: true\nhealthChecks: true\nrecoveryChecks: 3\n"
	  "recoveryWait: 30000000000\ncdiKind: k.io/gpu\ndeviceListStrategy: [cdi-cri]\n"
	  "migManager: true\nmigConfig: all-disabled\ngpuPools: true\n" },
	{ &fl_driver_kind, NULL, false, "metadata: {name: driver}\nstate: Ready\nversion: '5'\n" },
	{ &fl_runtime_kind, NULL, false, "metadata: {name: runtime}\ncdiKnown: true\ncdi: true\n" },
	{ &fl_host_kind, NULL, false,
	  "metadata: {name: host}\nversion: '5'\nlayout: a\nseen: 5/a\nnodes: [{path: /dev/nvidia1, major: "
	  "195, minor: 1}, {path: /dev/nvidiactl, major: 195, minor: 255}]\n"
	  "paths: [{what: Library, path: /usr/lib/libcuda.so.5,\n"
	  "         links: [{name: libcuda.so.1, target: libcuda.so.550}]}]\n" },
	{ &fl_card_kind, fl_node_card_by, true,
	  "metadata: {name: " A "}\nanswer: Answers\nuuid: GPU-1\nindex: 0\nminor: 1\nclean: 2\nboundTo: nvidia\n"
	  "product: X\n" },
	{ &fl_card_fault_kind, fl_node_fault_by, true,
	  "metadata: {name: f}\ncard: " A "\nwhat: Xid\nxid: 79\ncount: 1\nlast: 1\n" },
	{ &fl_health_kind, fl_node_health_by, true,
	  "metadata: {name: " A "}\ncard: " A "\nstate: Healthy\nboot: b1\nsince: 1\n" },
	{ &fl_holder_kind, NULL, false,
	  "metadata: {name: h}\nresource: nvidia.com/gpu\ndevices: [GPU-1]\npodNamespace: t\npod: p\ncontainer: c\n" },
	{ &fl_resource_kind, NULL, true,
	  "metadata: {name: nvidia.com/gpu}\nunits: [{id: GPU-1, card: " A ", healthy: true}]\n" },
	{ &fl_plugin_socket_kind, NULL, false, "metadata: {name: nvidia-gpu.sock}\nlive: false\n" },
	{ &fl_cdi_spec_kind, NULL, true,
	  "metadata: {name: k.io-gpu}\ncdiVersion: 0.5.0\nkind: k.io/gpu\ndevices: [{name: GPU-1, containerEdits: "
	    "{env: "
	  "[A=b]}}]\n" },
	{ &fl_cdi_trouble_kind, NULL, false, "metadata: {name: k.io-gpu}\nwhy: the disk is full\n" },
	{ &fl_dir_trouble_kind, NULL, false, "metadata: {name: cdi-dir}\nwhy: it is no directory\n" },
	{ &fl_readiness_kind, NULL, true, "metadata: {name: gpus}\nblocked: false\n" },
	{ &fl_mps_kind, NULL, true, "metadata: {name: nvidia.com/gpu}\nphase: Stopped\nmarked: [" A "]\n" },
	{ &fl_layout_kind, NULL, true, "metadata: {name: " A "}\nmode: true\nconfig: all-balanced\n" },
	{ &fl_mig_file_kind, NULL, false, "metadata: {name: mig.yaml}\nwhy: it is no YAML\n" },
	{ &fl_device_class_kind, NULL, false, "metadata: {name: c}\nspec: {extendedResourceName: other.io/gpu}\n" },
	{ &fl_own_node_kind, NULL, true, "metadata: {name: n1, uid: u1}\n" },
	{ &fl_active_kind, NULL, false, "metadata: {name: active}\ncontainers: [t/p/c]\nsince: 1\nsettled: true\n" },
	{ &fl_booking_kind, NULL, true,
	  "metadata: {name: h}\nresource: nvidia.com/gpu\ndevices: [GPU-1]\npodNamespace: t\npod: p\ncontainer: c\n"
	  "since: 1\n" },
	{ &fl_dev_link_kind, NULL, true, "metadata: {name: '195:9'}\ntarget: ../nvidia9\n" },
	{ &fl_pod_watch_kind, NULL, true, "metadata: {name: pods}\nwanted: true\nfailedOnly: true\n" },
	{ &fl_eviction_kind, NULL, true, "metadata: {name: t/p}\npodNamespace: t\npod: p\nuid: u\ncard: " A "\n" },
	{ &fl_own_pod_kind, NULL, true, "metadata: {namespace: t, name: p, uid: u}\nstatus: {phase: Running}\n" },
	{ &fl_inspection_kind, NULL, true, "metadata: {name: pods}\nversion: '5'\n" },
	{ &fl_inside_kind, NULL, false,
	  "metadata: {name: t/p}\npodNamespace: t\npod: p\nlibrary: libcuda.so.4\ndenied: /dev/nvidia0\n" },
	{ &fl_pod_finding_kind, NULL, true, "metadata: {name: t/q}\npodNamespace: t\npod: q\n" },
	{ &fl_given_kind, NULL, false, "metadata: {name: given}\nnamespace: fairlead\nmachine: x\n" },
	{ &fl_node_feature_kind, NULL, true,
	  "metadata: {name: nvidia-features-for-n1-fairlead, namespace: fairlead}\nspec: {labels: {a: b}}\n" },
	{ &fl_check_kind, NULL, true, "metadata: {name: pcie}\nresult: Failed\nreason: Narrow\n" },
	{ &fl_exporter_status_kind, NULL, false, "metadata: {name: exporter}\nlisten: ':9400'\naccess: Open\n" },
	{ &fl_label_file_kind, NULL, false, "metadata: {name: x}\nlabels: {a: b}\n" },
	{ &fl_label_lag_kind, NULL, true, "metadata: {name: labels}\nsince: 1\n" },
	{ &fl_memo_kind, NULL, true, "metadata: {name: claims}\nclaimed: [other.io/gpu]\n" },
	{ &fl_mig_state_kind, NULL, true, "metadata: {name: " A "}\ndone: false\nreason: Applying\n" },
	{ &fl_gpu_device_kind, NULL, true,
	  "metadata: {name: n1-0, uid: d1, annotations: {gpu.deckhouse.io/assignment: a}}\n"
	  "status: {nodeName: n1, state: Assigned, poolRef: {name: a, namespace: t},\n"
	  "         hardware: {uuid: GPU-1, pci: {address: " A "}}}\n" },
	{ &fl_gpu_pool_kind, NULL, false, "metadata: {name: a, namespace: t}\nspec: {resource: {unit: Card}}\n" },
	{ &fl_cluster_gpu_pool_kind, NULL, false, "metadata: {name: b}\nspec: {resource: {unit: Card}}\n" },
	{ &fl_api_watch_kind, NULL, true, "metadata: {name: devices}\nwhat: Devices\nanswer: Told\n" },
	{ &fl_pool_change_kind, NULL, true, "metadata: {name: pools}\nfirst: 1\nsince: 1\n" },
};

static void leave_it(void *self, struct fl_write *write)
{
	(void)self;
	(void)write;
}
static const struct fl_sink nobody = { .start = leave_it, .cancel = leave_it };

struct world {
	struct fl_io *io;
	struct fl_loop *loop;
};

static void world_auto_(struct world *w)
{
	w->loop = fl_loop_free(w->loop);
	w->io = fl_io_free(w->io);
}

/* What there is when the agent has just begun on a node on which nothing runs. */
static bool is_there_at_once(const struct fl_kind *kind)
{
	return kind == &fl_card_kind || kind == &fl_driver_kind || kind == &fl_settings_kind || kind == &fl_host_kind;
}

static int world_init(struct world *w, bool begun)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_loop_options options = { .seed = { 1, 2 }, .standby = true };

	w->io = rig_clock();
	w->loop = w->io ? fl_loop_new(w->io, &options, NULL) : NULL;
	if (!w->loop)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(facts); i++) {
		struct fl_source source = { facts[i].kind, facts[i].by, facts[i].written ? &nobody : NULL, NULL };

		if (fl_loop_source(w->loop, &source, NULL) < 0)
			return -FL_E_NOMEM;
	}
	if (fl_loop_capability(w->loop, &fl_node_health, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_lists, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_cdi, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_pods, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_mig, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_taint, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_links, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_inside, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_labels, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_checks, NULL) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_pools, NULL) < 0)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(facts); i++) {
		const void *object = facts_object(&arena, facts[i].kind->root(), fl_str(facts[i].text));

		if (begun && !is_there_at_once(facts[i].kind))
			continue;
		if (!object || fl_feed_put(fl_loop_feed(w->loop, facts[i].kind), object, NULL) < 0)
			return -FL_E_NOMEM;
	}
	return 0;
}

TEST(no_change_is_missed)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(64 * FL_KIB);
	FL_AUTO(world) struct world w = { 0 };

	OK(world_init(&w, false));
	OK(keys_check(w.loop, &fl_node_health, FL_S(""), FL_S("0000:01:00.0"), &missed));
	OK(keys_check(w.loop, &fl_node_health, FL_S(""), FL_S("0000:09:00.0"), &missed));
	OK(keys_check(w.loop, &fl_node_lists, FL_S(""), FL_S(""), &missed));
	OK(keys_check(w.loop, &fl_node_cdi, FL_S(""), FL_S(""), &missed));
	OK(keys_check(w.loop, &fl_node_pods, FL_S(""), FL_S(""), &missed));
	OK(keys_check(w.loop, &fl_node_mig, FL_S(""), FL_S(""), &missed));
	OK(keys_check(w.loop, &fl_node_taint, FL_S(""), FL_S(""), &missed));
	OK(keys_check(w.loop, &fl_node_links, FL_S(""), FL_S(""), &missed));
	OK(keys_check(w.loop, &fl_node_inside, FL_S(""), FL_S(""), &missed));
	OK(keys_check(w.loop, &fl_node_labels, FL_S(""), FL_S(""), &missed));
	OK(keys_check(w.loop, &fl_node_checks, FL_S(""), FL_S(""), &missed));
	OK(keys_check(w.loop, &fl_node_pools, FL_S(""), FL_S(""), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}

/* Settings and the pause of the driver are this process's own; all else is the node's, or the cluster's. The lists look
 * on without it, for one thing: see the_lists_wait... below. */
static bool acts_outside(const struct fl_capability *capability)
{
	return capability != &fl_node_config && capability != &fl_node_pausing && capability != &fl_node_lists;
}

TEST(whatever_acts_outside_waits_until_the_state_directory_is_its_own)
{
	for (const struct fl_capability *const *at = fl_agent_capabilities; *at; at++) {
		bool waits = false;

		test_row((*at)->name);
		for (const struct fl_watched *watched = (*at)->watches; watched->kind; watched++)
			waits |= watched->kind == &fl_health_kind && !watched->optional;
		CHECK(waits == acts_outside(*at));
	}
}

/* Words of a socket that another agent serves, or of a directory in trouble; NULL: nothing is put. */
static int put_name(struct world *w, const struct fl_kind *kind, const char *name, const char *more)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str text = fl_arena_printf(&arena, "metadata: {name: %s}\n%s\n", name ? name : "", more);
	const void *object = name && text.p ? facts_object(&arena, kind->root(), text) : NULL;

	return !name ? 0 : object ? fl_feed_put(fl_loop_feed(w->loop, kind), object, NULL) : -FL_E_NOMEM;
}

TEST(the_lists_wait_for_the_state_directory_and_say_only_that_one_cannot_be_used)
{
	static const struct {
		const char *says, *trouble, *socket;
		bool state, cdi, sockets;              /* awaited */
		const char *part, *not;                /* NULL: nothing is planned */
	} waits[] = {
		{ "another agent has it, and says what is so", NULL, NULL, true, false, false, NULL, NULL },
		{ "a CDI directory in trouble is the other agent's to say", FL_DIR_CDI, NULL, true, true, false, NULL,
		  NULL },
		{ "one that cannot be used is said, and no list is made", FL_DIR_STATE, NULL, true, false, false,
		  "StateDirectory", "units" },
		{ "not while another agent serves", FL_DIR_STATE, "fairlead-gpu-1-2.sock", true, false, false, NULL,
		  NULL },
		{ "CDI files that are being looked at are waited for", NULL, NULL, false, true, false, NULL, NULL },
		{ "a CDI directory that cannot be used is said, and no list is made", FL_DIR_CDI, NULL, false, true,
		  false, "CDINotWritten", "units" },
		{ "of the kubelet's directory nothing is said before all else is known", FL_DIR_KUBELET, NULL, false,
		  true, false, NULL, NULL },
		{ "and then lists are made", FL_DIR_KUBELET, NULL, false, false, false, "NotRegistered",
		  "StateDirectory" },
		{ "other plugins are looked for before a list is made", NULL, NULL, false, false, true, NULL, NULL },
		{ "all is known", NULL, NULL, false, false, false, "units", "StateDirectory" },
	};

	EACH_ROW_ALONE (row, waits) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);
		FL_AUTO(world) struct world w = { 0 };
		struct fl_plan plan;
		bool planned;

		OK(world_init(&w, false));
		fl_feed_gone(fl_loop_feed(w.loop, &fl_dir_trouble_kind), FL_S(""), FL_S(FL_DIR_CDI));
		OK(put_name(&w, &fl_dir_trouble_kind, row->trouble, "why: because"));
		OK(put_name(&w, &fl_plugin_socket_kind, row->socket, "live: true"));
		if (row->state)
			fl_feed_awaited(fl_loop_feed(w.loop, &fl_health_kind));
		if (row->cdi)
			fl_feed_awaited(fl_loop_feed(w.loop, &fl_cdi_spec_kind));
		if (row->sockets)
			fl_feed_awaited(fl_loop_feed(w.loop, &fl_plugin_socket_kind));
		fl_plan_init(&plan, &arena);
		planned = fl_loop_try(w.loop, &fl_node_lists, FL_S(""), FL_S(""), &plan, NULL, NULL);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		fl_plan_print(&plan, &text);
		OK(fl_buf_check(&text, "plan", NULL));
		CHECK(planned);
		CHECK_INT(text.len > 0, row->part != NULL);
		CHECK(!row->part || (text.p && strstr(text.p, row->part) && !strstr(text.p, row->not )));
	}
}

/* Each plan is called with what is there: the fault is bad news, the list says so, the file names the card. */
TEST(facts_become_plans)
{
	static const struct {
		const char *says;
		const struct fl_capability *capability;
		const char *key, *part;
		bool begun;
	} rows[] = {
		{ "the fault is the GPU's health", &fl_node_health, "0000:01:00.0", "Xid79", false },
		{ "the list is the GPU's, and the Node says what is so", &fl_node_lists, "", "GPUsReady", false },
		{ "who holds it is booked", &fl_node_pods, "", "KnownToKubelet", false },
		{ "a Pod with another driver's library is told", &fl_node_inside, "", "DriverChanged", false },
		{ "the file has the GPU", &fl_node_cdi, "", "libcuda.so.1", false },
		{ "a GPU that nobody holds has its health too", &fl_node_health, "0000:01:00.0", "\"state\":", true },
		{ "a driver of an odd version is told", &fl_node_labels, "", "NotLabelled", false },
		{ "a MIG layout that is not known is told", &fl_node_mig, "", "it is no YAML", false },
		{ "the checks are the Node's condition", &fl_node_checks, "", "GPUChecksPassed", false },
		{ "how metrics are served is, too", &fl_node_exporter, "", "GPUMetricsServed", false },
		{ "a list waits for its parts", &fl_node_lists, "", "Waits", true },
		{ "the file comes first", &fl_node_cdi, "", "libcuda.so.1", true },
	};

	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);
		FL_AUTO(world) struct world w = { 0 };
		struct fl_plan plan;
		bool planned;

		OK(world_init(&w, row->begun));
		fl_plan_init(&plan, &arena);
		planned = fl_loop_try(w.loop, row->capability, FL_S(""), fl_str(row->key), &plan, NULL, NULL);
		OK(planned && !plan.failed ? 0 : test_tortured() ? -FL_E_NOMEM : -FL_E_INVALID);
		fl_plan_print(&plan, &text);
		OK(fl_buf_check(&text, "plan", NULL));
		CHECK(text.p && strstr(text.p, row->part));
	}
}
