/* The checks of a node: what each looks at, what it says, and what becomes of it. */
#include "plan/checks/checks.h"
#include "gpu_facts.h"

#define READY "state: Ready\nversion: '5'\n"
#define CARD(at, minor, more) "metadata: {name: '0000:0" at ":00.0'}\nanswer: Answers\nboundTo: nvidia\nproduct: " \
	"X\n" \
	"uuid: GPU-" at "\nminor: " minor "\n" more
#define AND "---\n"
#define NODE(minor) "{path: /dev/nvidia" minor ", major: 195, minor: " minor "}"
#define HOST(nodes) "version: '5'\nlayout: a\nseen: 5/a\nhook: /h\nhookAt: /h\nnodes: [" nodes "]\n"
#define BOTH HOST(NODE("0") ", " NODE("1"))
#define WIDTH(is, most) "pcieWidth: " is "\npcieWidthMax: " most "\n"
#define FABRIC(state, status, health) "fabric: {state: " state ", status: " status ", health: " health "}\n"
#define LINK(to, count) "links: [{peer: '0000:0" to ":00.0', nvlinks: " count "}]\n"
#define LINK_AND_NONE(to, count, none) \
	"links: [{peer: '0000:0" to ":00.0', nvlinks: " count "}, {peer: '0000:0" none ":00.0', level: 50}]\n"
#define WAS(name, result) "metadata: {name: " name "}\nresult: " result "\nreason: x\n"

/* `want`: of each check "name Result:Reason", and the Node's condition. */
static const struct {
	const char *says, *driver, *cards, *host, *runtime, *checks, *want;
} rows[] = {
	{ "all is well", READY, CARD("1", "0", WIDTH("16", "16") LINK("2", "12")) AND CARD("2", "1", WIDTH("16",
	  "16")),
	  BOTH, NULL, "", "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie "
	  "Passed:Passed "
	  "nvlink Passed:Passed fabric Skipped:NoFabric Passed" },

	/* driver */
	{ "no GPU, no driver", "state: Absent\nmessage: none\n", "", NULL, NULL, "",
	  "driver Skipped:NoGPU nodes Skipped:NoGPU toolkit Skipped:NoGPU cuda Skipped:NotRun pcie Skipped:NotTold "
	  "Passed" },
	{ "a GPU without a driver", "state: Absent\nmessage: install it\n",
	  "metadata: {name: '0000:01:00.0'}\nanswer: Unasked\n", NULL, NULL, "",
	  "driver Failed:Absent cuda Skipped:NotRun pcie Skipped:NotTold Absent" },
	{ "two versions", "state: Mismatch\nmessage: reboot\n", "", NULL, NULL, "",
	  "driver Failed:Mismatch cuda Skipped:NotRun pcie Skipped:NotTold Mismatch" },
	{ "a sick driver", "state: Sick\nmessage: reboot\n", "", NULL, NULL, "",
	  "driver Failed:Sick cuda Skipped:NotRun pcie Skipped:NotTold Sick" },
	{ "a driver that starts is not known", "state: Starting\n", CARD("1", "0", ""), NULL, NULL, "",
	  "cuda Skipped:NotRun pcie Skipped:NotTold Passed" },
	{ "and makes earlier results stale", "state: Paused\nmessage: an upgrade\n", CARD("1", "0", WIDTH("8",
	  "8")), NULL, NULL,
	  WAS("driver", "Passed") AND WAS("fabric", "Failed") AND WAS("nodes", "Passed"),
	  "driver Stale:NotKnown nodes Stale:NotKnown cuda Skipped:NotRun pcie Passed:Passed fabric Stale:NotKnown "
	  "Passed" },
	{ "a GPU that nothing is bound to", READY, CARD("1", "0", WIDTH("8", "8")) AND
	  "metadata: {name: '0000:02:00.0'}\nanswer: Unasked\n", HOST(NODE("0")), NULL, "",
	  "driver Failed:NotBound nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Passed:Passed "
	  "nvlink Skipped:NoNVLink "
	  "fabric Skipped:NoFabric NotBound" },
	{ "a GPU that a virtual machine has is none of ours", READY, CARD("1", "0", WIDTH("8", "8")) AND
	  "metadata: {name: '0000:02:00.0'}\nanswer: Unasked\nboundTo: vfio-pci\npcieWidth: 1\npcieWidthMax: 16\n",
	  HOST(NODE("0")), NULL, "", "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda "
	  "Skipped:NotRun pcie Passed:Passed "
	  "nvlink Skipped:NoNVLink fabric Skipped:NoFabric Passed" },
	{ "a GPU that was lost", READY, CARD("1", "0", "") AND
	  "metadata: {name: '0000:02:00.0'}\nanswer: Lost\nboundTo: nvidia\nmessage: reset it\n", HOST(NODE("0")),
	  NULL, "",
	  "driver Failed:NotAnswering nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie "
	  "Skipped:NotTold nvlink Skipped:NoNVLink "
	  "fabric Skipped:NoFabric NotAnswering" },
	{ "one that was not asked yet is waited for", READY, CARD("1", "0", "") AND
	  "metadata: {name: '0000:02:00.0'}\nanswer: Unasked\nboundTo: nvidia\n", HOST(NODE("0")), NULL, "",
	  "nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold nvlink "
	  "Skipped:NoNVLink fabric Skipped:NoFabric "
	  "Passed" },

	/* nodes, toolkit */
	{ "a scan in progress", READY, CARD("1", "0", ""), "version: '5'\nlayout: b\nseen: 5/a\n", NULL,
	  WAS("nodes", "Passed"),
	  "driver Passed:Passed nodes Stale:NotKnown cuda Skipped:NotRun pcie Skipped:NotTold nvlink "
	  "Skipped:NoNVLink fabric Skipped:NoFabric "
	  "Passed" },
	{ "a node is missing", READY, CARD("1", "3", ""), HOST(NODE("0")), NULL, "",
	  "driver Passed:Passed nodes Failed:Missing toolkit Passed:Passed cuda Skipped:NotRun pcie "
	  "Skipped:NotTold nvlink Skipped:NoNVLink "
	  "fabric Skipped:NoFabric Missing" },
	{ "a node with other numbers", READY, CARD("1", "0", ""), HOST("{path: /dev/nvidia0, major: 195, minor: "
	  "1}"), NULL, "",
	  "driver Passed:Passed nodes Failed:WrongNumbers toolkit Passed:Passed cuda Skipped:NotRun pcie "
	  "Skipped:NotTold nvlink Skipped:NoNVLink "
	  "fabric Skipped:NoFabric WrongNumbers" },
	{ "a MIG device without the node of its instance", READY,
	  CARD("1", "0", "mig: true\npartitions: [{uuid: MIG-1, gi: 1, ci: 0, profile: 1g.5gb, giCap: 3, ciCap: "
	  "4}]\n"),
	  HOST(NODE("0")), NULL, "", "driver Passed:Passed nodes Failed:Missing toolkit Passed:Passed cuda "
	  "Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Skipped:NoNVLink fabric Skipped:NoFabric Missing" },
	{ "no libcuda", READY, CARD("1", "0", ""), "version: '5'\nlayout: a\nseen: 5/a\nlooked: /usr/lib\n"
	  "nodes: [" NODE("0") "]\n", NULL, "", "driver Passed:Passed nodes Passed:Passed toolkit Failed:Missing "
	  "cuda Skipped:NotRun pcie Skipped:NotTold nvlink Skipped:NoNVLink fabric Skipped:NoFabric Missing" },
	{ "a runtime with CDI off", READY, CARD("1", "0", ""), HOST(NODE("0")), "runtime: containerd\ncdiKnown: "
	  "true\n", "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Failed:CDIOff cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Skipped:NoNVLink "
	  "fabric Skipped:NoFabric CDIOff" },

	/* CUDA */
	{ "a GPU that computed right", READY, CARD("1", "0", "cuda: true\n"), HOST(NODE("0")), NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Passed:Passed pcie Skipped:NotTold "
	  "nvlink Skipped:NoNVLink fabric Skipped:NoFabric Passed" },
	{ "one that did not", READY, CARD("1", "0", "") AND "metadata: {name: '0000:02:00.0'}\nanswer: Hung\n"
	  "boundTo: nvidia\ncuda: false\nmessage: wrong sums\n", HOST(NODE("0")), NULL, "",
	  "driver Failed:NotAnswering nodes Passed:Passed toolkit Passed:Passed cuda Failed:Failed pcie "
	  "Skipped:NotTold "
	  "nvlink Skipped:NoNVLink fabric Skipped:NoFabric NotAnswering" },

	/* links */
	{ "a narrow PCIe link", READY, CARD("1", "0", WIDTH("8", "16")) AND CARD("2", "1", WIDTH("16", "16")),
	  BOTH, NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Failed:Narrow "
	  "nvlink Skipped:NoNVLink "
	  "fabric Skipped:NoFabric Narrow" },
	{ "fewer NVLinks than others of the model", READY, CARD("1", "0", LINK_AND_NONE("2", "12", "3")) AND
	  CARD("2", "1", LINK("3", "4"))
	  AND CARD("3", "2", ""), HOST(NODE("0") ", " NODE("1") ", " NODE("2")), NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Failed:LinksDown "
	  "fabric Skipped:NoFabric LinksDown" },
	{ "a lost GPU takes no NVLink from the others", READY,
	  CARD("1", "0", "links: [{peer: '0000:02:00.0', nvlinks: 12}, {peer: '0000:03:00.0', nvlinks: 12}]\n") AND
	  CARD("2", "1", "") AND "metadata: {name: '0000:03:00.0'}\nanswer: Lost\nboundTo: nvidia\nmessage: reset "
	  "it\n", BOTH, NULL, "",
	  "driver Failed:NotAnswering nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie "
	  "Skipped:NotTold nvlink Passed:Passed fabric Skipped:NoFabric NotAnswering" },
	{ "links that were read before a GPU answered", READY, CARD("1", "0", LINK("2", "12")) AND
	  CARD("2", "1", "") AND CARD("3", "2", ""), HOST(NODE("0") ", " NODE("1") ", " NODE("2")), NULL,
	  WAS("nvlink", "Passed"),
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Stale:NotKnown fabric Skipped:NoFabric Passed" },
	{ "in MIG mode there are none", READY, CARD("1", "0", LINK("2", "12")) AND CARD("2", "1", "") AND
	  CARD("3", "2", "mig: true\n"), HOST(NODE("0") ", " NODE("1") ", " NODE("2")), NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Passed:Passed "
	  "fabric Skipped:NoFabric Passed" },
	{ "a fabric that is well", READY, CARD("1", "0", FABRIC("3", "0", "0x1aa")), HOST(NODE("0")), NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Skipped:NoNVLink "
	  "fabric Passed:Passed Passed" },
	{ "not joined", READY, CARD("1", "0", FABRIC("1", "0", "0")), HOST(NODE("0")), NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Skipped:NoNVLink "
	  "fabric Failed:FabricManager FabricManager" },
	{ "joining is waited for", READY, CARD("1", "0", FABRIC("2", "0", "0")), HOST(NODE("0")), NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Skipped:NoNVLink Passed" },
	{ "less bandwidth", READY, CARD("1", "0", FABRIC("3", "0", "0x1a9")), HOST(NODE("0")), NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Skipped:NoNVLink "
	  "fabric Failed:Degraded Degraded" },
	{ "routes that cannot be reached", READY, CARD("1", "0", FABRIC("3", "0", "0x19a")), HOST(NODE("0")),
	  NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Skipped:NoNVLink "
	  "fabric Failed:Unhealthy Unhealthy" },
	{ "registration failed", READY, CARD("1", "0", FABRIC("3", "999", "0x1aa")), HOST(NODE("0")), NULL, "",
	  "driver Passed:Passed nodes Passed:Passed toolkit Passed:Passed cuda Skipped:NotRun pcie Skipped:NotTold "
	  "nvlink Skipped:NoNVLink "
	  "fabric Failed:FabricManager FabricManager" },
};

static void *object(struct fl_arena *arena, const struct fl_bind *bind, const char *name, const char *text)
{
	struct fl_str all = fl_arena_printf(arena, "metadata: {name: %s}\n%s", name, text);

	return all.p ? facts_object(arena, bind, all) : NULL;
}

static int facts_init(struct fl_checks_facts *f, struct fl_arena *arena, const char *driver, const char *cards,
		      const char *host, const char *runtime, const char *checks)
{
	struct fl_cdi_spec *spec;

	f->settings = object(arena, fl_settings_bind(), "settings", "deviceListStrategy: [cdi-cri]\ncdiKind: a.b/c\n"
								    "hook: /h\n");
	spec = object(arena, fl_cdi_spec_bind(), "a.b-c", "kind: a.b/c\ndevices: [{name: '0'}]\n");
	if (spec)
		FL_SET(spec, on_disk, 1);
	f->specs = spec;
	f->spec_len = spec != NULL;
	f->driver = object(arena, fl_driver_bind(), "driver", driver);
	f->host = host ? object(arena, fl_host_bind(), "host", host) : NULL;
	f->runtime = runtime ? object(arena, fl_runtime_bind(), "runtime", runtime) : NULL;
	f->node = object(arena, fl_own_node_bind(), "n1", "");
	f->cards = facts_list(arena, fl_card_bind(), cards, &f->card_len);
	f->checks = facts_list(arena, fl_check_bind(), checks, &f->check_len);
	if (!f->settings || !spec || !f->driver || (host && !f->host) || (runtime && !f->runtime) || !f->node)
		return -FL_E_NOMEM;
	return f->cards && f->checks ? 0 : -FL_E_NOMEM;
}

static void print_results(const struct fl_plan *plan, struct fl_buf *buf)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		const struct fl_own_node *node = want->object;
		const struct fl_check *check = want->object;

		if (want->ref.kind == &fl_own_node_kind)
			fl_buf_str(buf, node->status.conditions.at[0].reason);
		else
			fl_buf_printf(buf, "%.*s %s:%.*s ", FL_ARG(want->ref.name),
				      fl_name(&fl_check_result_names, (int)check->result), FL_ARG(check->reason));
	}
}

TEST(each_check_says_what_is_so)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_checks_facts f = { 0 };
		char got[600] = "";
		struct fl_buf results = FL_BUF_IN(got);
		struct fl_plan plan;

		fl_plan_init(&plan, &arena);
		OK(facts_init(&f, &arena, row->driver, row->cards, row->host, row->runtime, row->checks));
		fl_checks_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print_results(&plan, &results);
		CHECK_STR(fl_str(got), row->want);
	}
}

/* A failure is an Event, and so is its end; that all is well at a start is none. */
TEST(a_failure_and_its_end_are_told)
{
	static const struct {
		const char *says, *was, *width;
		enum fl_emit want;
	} told[] = {
		{ "well from the start", "", WIDTH("16", "16"), FL_EMIT_NOBODY },
		{ "well as before", WAS("pcie", "Passed"), WIDTH("16", "16"), FL_EMIT_NOBODY },
		{ "a failure", WAS("pcie", "Passed"), WIDTH("8", "16"), FL_EMIT_WARNING },
		{ "the end of it", WAS("pcie", "Failed"), WIDTH("16", "16"), FL_EMIT_NORMAL },
	};
	EACH_ROW (row, told) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf card = FL_BUF(FL_KIB);
		struct fl_checks_facts f = { 0 };
		const struct fl_want *want;
		struct fl_plan plan;

		fl_buf_printf(&card, "%s%s", CARD("1", "0", ""), row->width);
		OK(fl_buf_check(&card, "card", NULL));
		fl_plan_init(&plan, &arena);
		OK(facts_init(&f, &arena, READY, card.p, BOTH, NULL, row->was));
		fl_checks_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		want = fl_plan_find(&plan, &fl_checks_owner,
				    (struct fl_ref){ .kind = &fl_check_kind, .name = FL_S("pcie") });
		GOT(want);
		CHECK_INT(want->told ? want->told->tell : FL_EMIT_NOBODY, row->want);
	}
}

TEST(the_end_of_a_failure_is_told_in_words)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_checks_facts f = { 0 };
	const struct fl_want *want;
	struct fl_plan plan;

	fl_plan_init(&plan, &arena);
	OK(facts_init(&f, &arena, READY, CARD("1", "0", WIDTH("16", "16")), HOST(NODE("0")), NULL,
		      WAS("pcie", "Failed")));
	fl_checks_plan(&f, &plan);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	want = fl_plan_find(&plan, &fl_checks_owner, (struct fl_ref){ .kind = &fl_check_kind, .name = FL_S("pcie") });
	GOT(want);
	CHECK_STR(((const struct fl_check *)want->object)->status.conditions.at[0].message, "check pcie: passed");
}

TEST(a_message_names_the_gpu_and_the_remedy)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_checks_facts f = { 0 };
	const struct fl_own_node *node;
	struct fl_plan plan;

	fl_plan_init(&plan, &arena);
	OK(facts_init(&f, &arena, READY, CARD("1", "0", WIDTH("8", "16")) AND CARD("2", "1", WIDTH("4", "16")),
		      BOTH, NULL,
		      ""));
	fl_checks_plan(&f, &plan);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	node = fl_plan_find(&plan, &fl_checks_node_owner, FL_REF(&fl_own_node_kind, f.node))->object;
	CHECK_STR(node->status.conditions.at[0].message,
		  "pcie: the link of GPU 0000:01:00.0 has 8 lanes of 16: reseat the GPU, and check its slot and "
		  "riser; the "
		  "link of GPU 0000:02:00.0 has 4 lanes of 16: reseat the GPU, and check its slot and riser");
}
