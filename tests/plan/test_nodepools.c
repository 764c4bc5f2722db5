/* Which GPUs belong to the pools of the cluster, and what is said of each. */
#include "plan/nodepools/nodepools.h"
#include "gpu_facts.h"

#define A "0000:01:00.0"
#define B "0000:02:00.0"
#define CARDS \
	"metadata: {name: '" A "'}\nanswer: Answers\nuuid: GPU-a\nboundTo: nvidia\n---\n" \
	"metadata: {name: '" B "'}\nanswer: Answers\nuuid: GPU-b\nboundTo: nvidia\n"
#define HEALTHY \
	"metadata: {name: '" A "'}\ncard: '" A "'\nstate: Healthy\n---\n" \
	"metadata: {name: '" B "'}\ncard: '" B "'\nstate: Healthy\n"
#define SICK \
	"metadata: {name: '" A "'}\ncard: '" A \
	  "'\nstate: Unhealthy\ncause: Xid79\nstatus: {conditions: [{type: Healthy, " \
	"status: 'False', reason: Xid79, message: it fell off the bus, lastTransitionTime: " \
	  "'1970-01-01T00:00:10Z'}]}\n" \
	"---\nmetadata: {name: '" B "'}\ncard: '" B "'\nstate: Healthy\n"
/* A GPUDevice: its letter, its address, further metadata, further status. */
#define DEVICE_(letter, address, meta, status) \
	"metadata: {name: d-" letter ", uid: u" letter ", " meta "}\n" \
	"status: {nodeName: n1, hardware: {uuid: GPU-" letter ", pci: {address: '" address "'}}, " status "}\n"
#define LOCAL "annotations: {gpu.deckhouse.io/assignment: p}"
#define SHARED "annotations: {cluster.gpu.deckhouse.io/assignment: q}"
#define IN_P "poolRef: {name: p, namespace: t}, state: Assigned"
#define IN_Q "poolRef: {name: q}, state: Assigned"
#define FREE_ "state: Ready"
#define IS(status, reason) \
	", conditions: [{type: Configured, status: '" status "', reason: " reason ", message: x, " \
	"lastTransitionTime: '1970-01-01T00:00:10Z'}]"
#define DA(meta, status) DEVICE_("a", A, meta, status)
#define DB(meta, status) DEVICE_("b", B, meta, status)
#define POOL(more) "metadata: {name: p, namespace: t, creationTimestamp: '2026-01-01T00:00:00Z'}\n" \
		   "spec: {provider: Nvidia, backend: DevicePlugin, resource: {unit: Card" more "}}\n"
#define CLUSTER(backend, resource) "metadata: {name: q, creationTimestamp: '2026-02-01T00:00:00Z'}\n" \
		   "spec: {provider: Nvidia, backend: " backend ", resource: {" resource "}}\n"
#define P "gpu.deckhouse.io/p"
#define Q "cluster.gpu.deckhouse.io/q"
#define WATCHES "metadata: {name: devices}\nwhat: Devices\nanswer: Told\n"
#define TOLD_P "---\nmetadata: {name: GPUPool/t/p}\nwhat: GPUPool\npoolNamespace: t\npool: p\nanswer: Told\n"
#define ASKED_P "---\nmetadata: {name: GPUPool/t/p}\nwhat: GPUPool\npoolNamespace: t\npool: p\nanswer: Unknown\n"
#define TOLD_Q "---\nmetadata: {name: ClusterGPUPool/q}\nwhat: ClusterGPUPool\npool: q\nanswer: Told\n"
#define ENTRY(resource, more) "{resource: " resource ", cluster: true, unit: Card, slicesPerUnit: 1, " more "}"
#define P_HAS_A ENTRY(P, "cards: ['" A "']")
#define P_HAS_BOTH ENTRY(P, "cards: ['" A "', '" B "']")
#define UNIT_A "{id: GPU-a, card: '" A "', healthy: true}"
#define UNIT_B "{id: GPU-b, card: '" B "', healthy: true}"
#define SERVES(units) "metadata: {name: " P "}\nunits: [" units "]\n"
#define HELD(resource, id) \
	"metadata: {name: t/job/c/x}\nresource: " resource "\ndevices: [" id \
	  "]\npodNamespace: t\npod: job\ncontainer: c\n"
#define WATCH_P "watch devices\nwatch GPUPool/t/p\n"
#define WATCH_Q "watch devices\nwatch ClusterGPUPool/q\n"
#define MEMO_A P " Cardx1 [" A "]\n"

static const struct row {
	const char *says, *devices, *pools, *clusters, *watches;
	const char *memo;              /* its pools; NULL: there is none */
	const char *change;            /* its members; NULL: there is none */
	const char *resources, *holders, *health;
	const char *allocatable;       /* of P; NULL: not counted */
	unsigned now;                  /* seconds since the agent's start */
	const char *got;
} rows[] = {
	{ "no device is assigned: the agent is idle", DA("", FREE_), "", "", WATCHES, "", NULL, "", "", HEALTHY, NULL,
	  60,
	  "watch devices\nread\n" },
	{ "at the first start a pool that is not told of yet is waited for", DA(LOCAL, IN_P), "", "", WATCHES ASKED_P,
	  NULL,
	  NULL, "", "", HEALTHY, NULL, 1, WATCH_P },
	{ "later its GPU is kept back, and is nobody else's", DA(LOCAL, IN_P), "", "", WATCHES ASKED_P, "", NULL, "",
	  "",
	  HEALTHY, NULL, 60, WATCH_P "read\nlater at 62\n" },
	{ "a pool is served as it was while the API server does not tell of it", DA(LOCAL, IN_P), "", "",
	  WATCHES ASKED_P,
	  P_HAS_A, NULL, SERVES(UNIT_A), "", HEALTHY, "1", 60, WATCH_P "read " MEMO_A },
	{ "at the first start what is told counts at once", DA(LOCAL, IN_P), POOL(""), "", WATCHES TOLD_P, NULL, NULL,
	  "",
	  "", HEALTHY, NULL, 1,
	  WATCH_P "read " MEMO_A "d-a False Waiting " P ": it joins the pool in a moment\n" },
	{ "what joins later waits for two seconds", DA(LOCAL, IN_P), POOL(""), "", WATCHES TOLD_P, "", NULL, "", "",
	  HEALTHY,
	  NULL, 60, WATCH_P "read\nlater at 62\nd-a False Waiting " P ": it joins the pool in a moment\n" },
	{ "and no longer", DA(LOCAL, IN_P), POOL(""), "", WATCHES TOLD_P, "",
	  "pools: [" P_HAS_A "]\nfirst: 60000000000\nsince: 60000000000\n", "", "", HEALTHY, NULL, 62,
	  WATCH_P "read " MEMO_A "no change\nd-a False Waiting " P ": it joins the pool in a moment\n" },
	{ "a further change begins the wait anew", DA(LOCAL, IN_P) "---\n" DB(LOCAL, IN_P), POOL(""), "",
	  WATCHES TOLD_P, "",
	  "pools: [" P_HAS_A "]\nfirst: 60000000000\nsince: 60000000000\n", "", "", HEALTHY, NULL, 61,
	  WATCH_P "read\nlater at 63\nd-a False Waiting *\nd-b False Waiting *\n" },
	{ "but after ten seconds it is over", DA(LOCAL, IN_P) "---\n" DB(LOCAL, IN_P), POOL(""), "", WATCHES TOLD_P, "",
	  "pools: [" P_HAS_A "]\nfirst: 60000000000\nsince: 69000000000\n", "", "", HEALTHY, NULL, 70,
	  WATCH_P "read " P " Cardx1 [" A " " B "]\nno change\nd-a False Waiting *\nd-b False Waiting *\n" },
	{ "slices are replicas", DA(LOCAL, IN_P), POOL(", slicesPerUnit: 4"), "", WATCHES TOLD_P, NULL, NULL, "", "",
	  HEALTHY,
	  NULL, 1, WATCH_P "read " P " Cardx4 [" A "]\nd-a False Waiting *\n" },
	{ "one node has GPUs of two pools", DA(LOCAL, IN_P) "---\n" DB(SHARED, IN_Q), POOL(""),
	  CLUSTER("DevicePlugin", "unit: MIG, migProfile: 1G.10GB"), WATCHES TOLD_P TOLD_Q, NULL, NULL, "", "",
	  HEALTHY, NULL,
	  1, WATCH_P "watch ClusterGPUPool/q\nread " Q " MIG 1g.10gbx1 [" B "] " MEMO_A
	  "d-a False Waiting *\nd-b False Waiting *\n" },
	{ "served, allocatable: applied", DA(LOCAL, IN_P), POOL(""), "", WATCHES TOLD_P, P_HAS_A, NULL,
	  SERVES(UNIT_A), "",
	  HEALTHY, "1", 60, WATCH_P "read " MEMO_A "d-a True Applied " P ": 1 unit of this GPU can be allocated\n" },
	{ "one that the kubelet does not count yet waits", DA(LOCAL, IN_P), POOL(""), "", WATCHES TOLD_P, P_HAS_A, NULL,
	  SERVES(UNIT_A), "", HEALTHY, "0", 60,
	  WATCH_P "read " MEMO_A "d-a False Waiting " P ": the kubelet does not count *\n" },
	{ "one that was counted stays applied while another joins", DA(LOCAL, IN_P IS("True", "Applied")) "---\n"
	  DB(LOCAL, IN_P), POOL(""), "", WATCHES TOLD_P, P_HAS_BOTH, NULL, SERVES(UNIT_A ", " UNIT_B), "", HEALTHY,
	  "1", 60,
	  WATCH_P "read " P " Cardx1 [" A " " B "]\nd-a True Applied *\nd-b False Waiting *\n" },
	{ "an agent that has just started takes nothing back", DA(LOCAL, IN_P IS("True", "Applied")), POOL(""), "",
	  WATCHES TOLD_P, P_HAS_A, NULL, "", "", HEALTHY, "1", 10, WATCH_P "read " MEMO_A "at 30\n" },
	{ "half a minute later it does", DA(LOCAL, IN_P IS("True", "Applied")), POOL(""), "", WATCHES TOLD_P, P_HAS_A,
	  NULL,
	  "", "", HEALTHY, "1", 30, WATCH_P "read " MEMO_A "d-a False Waiting " P
	  ": the agent does not advertise it yet*\n" },
	{ "a faulty GPU is told at once, the other serves on", DA(LOCAL, IN_P IS("True", "Applied")) "---\n"
	  DB(LOCAL, IN_P IS("True", "Applied")), POOL(""), "", WATCHES TOLD_P, P_HAS_BOTH, NULL,
	  SERVES("{id: GPU-a, card: '" A "', why: x}, " UNIT_B), "", SICK, "1", 10,
	  WATCH_P "read " P " Cardx1 [" A " " B "]\nd-a False Faulty " P ": Xid79: it fell off the bus\n"
	  "d-b True Applied *\n" },
	{ "a GPU that a Pod holds under another name waits for it", DA(LOCAL, IN_P), POOL(""), "", WATCHES TOLD_P,
	  P_HAS_A,
	  NULL, SERVES("{id: GPU-a, card: '" A "', why: x}"), HELD("nvidia.com/gpu", "GPU-a"), HEALTHY, "0", 60,
	  WATCH_P "read " MEMO_A "d-a False CardInUse " P ": Pod t/job holds it as nvidia.com/gpu until it ends\n" },
	{ "an ignored GPU is withdrawn at once", DA(LOCAL ", labels: {gpu.deckhouse.io/ignore: 'True'}", IN_P),
	  POOL(""), "",
	  WATCHES TOLD_P, P_HAS_A, NULL, SERVES(UNIT_A), HELD(P, "GPU-a"), HEALTHY, "1", 60,
	  WATCH_P "read " P " Cardx1 back [" A "]\nd-a False Ignored " P
	  ": its label * keeps it out of the pool; Pod t/job "
	  "keeps it until it ends\n" },
	{ "one whose state is Faulted too", DA(LOCAL, "poolRef: {name: p, namespace: t}, state: Faulted"), POOL(""), "",
	  WATCHES TOLD_P, P_HAS_A, NULL, SERVES(UNIT_A), "", HEALTHY, "1", 60,
	  WATCH_P "read " P " Cardx1 back [" A "]\nd-a False Faulty " P ": its state is Faulted\n" },
	{ "one that is not ready yet is not served", DA(LOCAL, "poolRef: {name: p, namespace: t}, state: Validating"),
	  POOL(""),
	  "", WATCHES TOLD_P, NULL, NULL, "", "", HEALTHY, NULL, 1,
	  WATCH_P "read " P " Cardx1 back [" A "]\nd-a False Waiting " P ": its state is Validating\n" },
	{ "a GPU whose annotation goes leaves, and its Pod goes on", DA("", IN_P IS("True", "Applied")), POOL(""), "",
	  WATCHES TOLD_P, P_HAS_A, NULL, SERVES(UNIT_A), HELD(P, "GPU-a"), HEALTHY, "1", 60,
	  WATCH_P "read " P " Cardx1 leaving [" A "]\nd-a False CardInUse " P
	  ": its annotation * does not name the pool; Pod "
	  "t/job keeps it until it ends\n" },
	{ "what nobody holds is withdrawn first", DA("", IN_P), POOL(""), "", WATCHES TOLD_P, P_HAS_A, NULL,
	  SERVES(UNIT_A), "",
	  HEALTHY, "1", 60, WATCH_P "read " P " Cardx1 leaving [" A "]\nd-a False Waiting *; it is being withdrawn\n" },
	{ "and drained then", DA("", IN_P), POOL(""), "", WATCHES TOLD_P, ENTRY(P, "leaving: ['" A "']"), NULL, "", "",
	  HEALTHY, NULL, 60, WATCH_P "read " P " Cardx1 leaving [" A "]\nd-a False Drained *; nobody holds it\n" },
	{ "a node that is not managed drains", DA(LOCAL, IN_P ", managed: false"), POOL(""), "", WATCHES TOLD_P,
	  ENTRY(P, "leaving: ['" A "']"), NULL, "", "", HEALTHY, NULL, 60,
	  WATCH_P "read " P " Cardx1 leaving [" A "]\nd-a False Drained " P
	  ": its node is not managed; nobody holds it\n" },
	{ "so do the GPUs of a pool that is gone", DA(LOCAL, IN_P), "", "", WATCHES TOLD_P, P_HAS_A, NULL,
	  SERVES(UNIT_A), "",
	  HEALTHY, "1", 60,
	  WATCH_P "read " P " Cardx1 leaving [" A "]\nd-a False Waiting " P ": the pool does not exist any more; *\n" },
	{ "a GPU that has left is free at once, and nothing is said of it", DA("", FREE_ IS("False", "Drained")), "",
	  "",
	  WATCHES TOLD_P, ENTRY(P, "leaving: ['" A "']"), NULL, "", "", HEALTHY, NULL, 60,
	  "watch devices\nno watch GPUPool/t/p\nread\nd-a -\n" },
	{ "a pool for DRA is refused by name", DA(SHARED, IN_Q), "", CLUSTER("DRA", "unit: Card"), WATCHES TOLD_Q,
	  NULL, NULL,
	  "", "", HEALTHY, NULL, 1, WATCH_Q "read " Q " Cardx1 back [" A "]\nd-a False UnsupportedBackend *\n" },
	{ "beside an older one of another backend too", DA(SHARED, IN_Q) "---\n" DB(LOCAL, IN_P), POOL(""),
	  CLUSTER("DRA", "unit: Card"), WATCHES TOLD_P TOLD_Q, NULL, NULL, "", "", HEALTHY, NULL, 1,
	  WATCH_Q "watch GPUPool/t/p\nread " Q " Cardx1 back [" A "] " P " Cardx1 [" B "]\nd-a False MixedBackends *\n"
	  "d-b False Waiting *\n" },
	{ "another GPU in that place is not the pool's",
	  "metadata: {name: d-a, " LOCAL "}\nstatus: {nodeName: n1, hardware: {uuid: GPU-z, pci: {address: '" A
	  "'}}, " IN_P
	  "}\n", POOL(""), "", WATCHES TOLD_P, NULL, NULL, "", "", HEALTHY, NULL, 1,
	  WATCH_P "read " P " Cardx1 back [" A "]\nd-a False Faulty " P ": this node has no GPU GPU-z at " A "\n" },
	{ "one whose place is not known yet waits, and is no GPU's",
	  "metadata: {name: d-a, " LOCAL "}\nstatus: {nodeName: n1, hardware: {uuid: GPU-a}, " IN_P "}\n", POOL(""), "",
	  WATCHES TOLD_P, NULL, NULL, "", "", HEALTHY, NULL, 1,
	  WATCH_P "read\nd-a False Waiting " P ": its PCI address is not known yet\n" },
	{ "a device of another node is none of ours",
	  "metadata: {name: d-a, " LOCAL "}\nstatus: {nodeName: n2, hardware: {pci: {address: '" A "'}}, " IN_P "}\n",
	  POOL(""), "", WATCHES, NULL, NULL, "", "", HEALTHY, NULL, 1, "watch devices\nread\n" },
	{ "where GPUDevices are not known nothing changes", NULL, "", "",
	  "metadata: {name: devices}\nwhat: Devices\n", P_HAS_A,
	  NULL, SERVES(UNIT_A), "", HEALTHY, "1", 60, "watch devices\n" },
};

static void print_list(const char *what, const struct fl_str_list *cards, struct fl_buf *out)
{
	if (!cards->len)
		return;
	fl_buf_printf(out, " %s[", what);
	for (uint32_t i = 0; i < cards->len; i++)
		fl_buf_printf(out, "%s%.*s", i ? " " : "", FL_ARG(cards->at[i]));
	fl_buf_printf(out, "]");
}

static void print_memo(const struct fl_memo *memo, struct fl_buf *out)
{
	fl_buf_printf(out, "read");
	for (uint32_t i = 0; i < memo->pools.len; i++) {
		const struct fl_node_pool *pool = &memo->pools.at[i];

		fl_buf_printf(out, " %.*s %s%s%.*sx%d", FL_ARG(pool->resource),
			      fl_name(&fl_pool_unit_names, (int)pool->unit), pool->profile.len ? " " : "",
			      FL_ARG(pool->profile), (int)pool->slices);
		print_list("", &pool->cards, out);
		print_list("back ", &pool->kept_back, out);
		print_list("leaving ", &pool->leaving, out);
	}
	fl_buf_printf(out, "\n");
}

static void print_device(const struct fl_want *want, struct fl_buf *out)
{
	const struct fl_gpu_device *device = want->object;
	const struct fl_condition *is = device->status.conditions.len ? &device->status.conditions.at[0] : NULL;

	if (!is)
		fl_buf_printf(out, "%.*s -\n", FL_ARG(want->ref.name));
	else
		fl_buf_printf(out, "%.*s %s %.*s %.*s\n", FL_ARG(want->ref.name),
			      fl_name(&fl_condition_status_names, (int)is->status), FL_ARG(is->reason),
			      FL_ARG(is->message));
}

static void print_plan(const struct fl_plan *plan, struct fl_buf *out)
{
	bool later = false;

	for (const struct fl_want *want = plan->first; want; want = want->next) {
		bool gone = want->what == FL_WANT_GONE;

		if (want->ref.kind == &fl_api_watch_kind)
			fl_buf_printf(out, "%swatch %.*s\n", gone ? "no " : "", FL_ARG(want->ref.name));
		else if (want->ref.kind == &fl_memo_kind && !gone)
			print_memo(want->object, out);
		else if (want->ref.kind == &fl_pool_change_kind && gone)
			fl_buf_printf(out, "no change\n");
		else if (want->ref.kind == &fl_pool_change_kind)
			fl_buf_printf(out, "later at %u\n", (unsigned)(plan->at / FL_NS_PER_S));
		else if (want->ref.kind == &fl_gpu_device_kind)
			print_device(want, out);
		later |= want->ref.kind == &fl_pool_change_kind;
	}
	if (plan->at && !later)
		fl_buf_printf(out, "at %u\n", (unsigned)(plan->at / FL_NS_PER_S));
}

static bool gather(const struct row *row, struct fl_arena *arena, struct fl_nodepools_facts *f)
{
	struct fl_str settings = fl_arena_printf(arena, "metadata: {name: settings}\nnode: n1\nstarted: 0\n"
							"gpuPools: true\npools: [%s]\n",
						 row->memo ? row->memo : "");
	struct fl_str memo = fl_arena_printf(arena, "metadata: {name: pools}\nread: true\npools: [%s]\n",
					     row->memo ? row->memo : "");
	struct fl_str change = fl_arena_printf(arena, "metadata: {name: pools}\n%s", row->change ? row->change : "");
	struct fl_str node = fl_arena_printf(arena, "metadata: {name: n1}\nstatus: {allocatable: {%s%s}}\n",
					     row->allocatable ? P ": " : "", row->allocatable ? row->allocatable : "");

	f->now = (uint64_t)row->now * FL_NS_PER_S;
	f->memo_known = f->holders_told = true;
	f->devices_known = row->devices != NULL;
	return settings.p && memo.p && change.p && node.p &&
	       (f->settings = facts_object(arena, fl_settings_bind(), settings)) &&
	       (!row->memo || (f->memo = facts_object(arena, fl_memo_bind(), memo))) &&
	       (!row->change || (f->change = facts_object(arena, fl_pool_change_bind(), change))) &&
	       (f->node = facts_object(arena, fl_own_node_bind(), node)) &&
	       (f->active = facts_object(arena, fl_active_bind(), FL_S("metadata: {name: active}\nsettled: true\n"))) &&
	       (f->cards = facts_list(arena, fl_card_bind(), CARDS, &f->card_len)) &&
	       (f->health = facts_list(arena, fl_health_bind(), row->health, &f->health_len)) &&
	       (f->devices = facts_list(arena, fl_gpu_device_bind(), row->devices ? row->devices : "",
					&f->device_len)) &&
	       (f->pools = facts_list(arena, fl_gpu_pool_bind(), row->pools, &f->pool_len)) &&
	       (f->cluster_pools = facts_list(arena, fl_gpu_pool_bind(), row->clusters, &f->cluster_pool_len)) &&
	       (f->watches = facts_list(arena, fl_api_watch_bind(), row->watches, &f->watch_len)) &&
	       (f->resources = facts_list(arena, fl_resource_bind(), row->resources, &f->resource_len)) &&
	       (f->holders = facts_list(arena, fl_holder_bind(), row->holders, &f->holder_len));
}

TEST(gpus_belong_to_pools)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_nodepools_facts f = { 0 };
		struct fl_plan plan;

		GOT(gather(row, &arena, &f));
		fl_plan_init(&plan, &arena);
		fl_nodepools_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print_plan(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
	}
}

TEST(switched_off_nothing_is_watched_or_kept)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
	struct fl_nodepools_facts f = { .memo_known = true };
	struct fl_plan plan;

	GOT(f.settings = facts_object(&arena, fl_settings_bind(), FL_S("metadata: {name: settings}\nnode: n1\n")));
	GOT(f.memo = facts_object(&arena, fl_memo_bind(), FL_S("metadata: {name: pools}\nread: true\n")));
	GOT(f.watches = facts_list(&arena, fl_api_watch_bind(), WATCHES, &f.watch_len));
	fl_plan_init(&plan, &arena);
	fl_nodepools_plan(&f, &plan);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	fl_plan_print(&plan, &text);
	OK(fl_buf_check(&text, "the plan", NULL));
	CHECK_STR(fl_buf_view(&text), "gone ApiWatch devices\ngone Memo pools\n");
}
