/* Cards that pools name: which are served, and what is told of those that are not. */
#include "plan/gpu/lists.h"
#include "gpu_facts.h"

#define UP "metadata: {name: driver}\nstate: Ready\n"
#define STARTS "metadata: {name: driver}\nstate: Starting\nmessage: wait\n"
#define CARD(n) \
	"---\nmetadata: {name: '0000:0" n ":00.0'}\nanswer: Answers\nuuid: GPU-" n "\nindex: " n "\nminor: " n "\n"
#define OTHER(more) "---\nmetadata: {name: '0000:02:00.0'}\n" more "\n"
#define LOST1 "---\nmetadata: {name: '0000:01:00.0'}\nanswer: Lost\nmessage: gone\n"
#define TWO CARD("1") CARD("2")
#define SICK1 "metadata: {name: '0000:01:00.0'}\ncard: '0000:01:00.0'\nstate: Unhealthy\ncause: Lost\n"
#define WAS "identity: {uuid: GPU-1, index: 1, minor: 1}\n"
#define A(cards) "{resource: p.io/a, cards: [" cards "]}"
#define B(cards) ", {resource: p.io/b, cards: [" cards "]}"
#define WRONG \
	"{type: GPUConfigApplied, status: 'False', reason: PoolMisconfigured, message: x, " \
	"lastTransitionTime: '2026-01-01T00:00:00Z'}"
#define TAKEN "True Applied: the settings are applied"
#define MIS "False PoolMisconfigured: "

static const struct {
	const char *says, *pools, *cards, *sick, *driver, *before, *lists, *taken, *ready, *more;
} rows[] = {
	{ "a GPU that there is not is told, and the others are served", A("'1', '9', x"), TWO, "", UP, "",
	  "p.io/a: GPU-1\n", MIS "pool p.io/a: no GPU 9; pool p.io/a: no GPU x; this node has 1 to 2",
	  "True Ready: 1 of 2 *", "" },
	{ "a pool that has no GPU at all makes the node unready", A("x"), TWO, "", UP, "", "",
	  MIS "pool p.io/a: no GPU x; this node has 1 to 2",
	  MIS "pool p.io/a: no GPU x; this node has 1 to 2", "" },
	{ "a GPU that two pools name is told with both", A("'1'") B("GPU-1, '2'"), TWO, "", UP, "",
	  "p.io/a: GPU-1\np.io/b: GPU-2\n",
	  MIS "pools p.io/a and p.io/b: both have GPU GPU-1: the first one serves it", "True Ready: 2 *", "" },
	{ "so is one that the first pool has by taking all", A("all") B("'2'"), TWO, "", UP, "",
	  "p.io/a: GPU-1 GPU-2\n", MIS "pools p.io/a and p.io/b: both have GPU 2: *", "True Ready: 2 *", "" },
	{ "all that are left is no mistake", A("'1'") B("all"), TWO, "", UP, "", "p.io/a: GPU-1\np.io/b: GPU-2\n",
	  TAKEN, "True Ready: 2 *", "" },
	{ "nor is one GPU by two names in one pool", A("'1', GPU-1, '0000:01:00.0'"), TWO, "", UP, "",
	  "p.io/a: GPU-1\n", TAKEN, "True Ready: 1 of 2 *", "" },
	{ "nor all on a node without GPUs", A("all"), "", "", UP, "", "", TAKEN, "True *", "" },
	{ "a number on a node without GPUs is", A("'0'"), "", "", UP, "", "",
	  MIS "pool p.io/a: no GPU 0; this node has none", MIS "*", "" },
	{ "of one GPU there is one number", A("'0'"), CARD("1"), "", UP, "", "",
	  MIS "pool p.io/a: no GPU 0; this node has 1", MIS "*", "" },
	{ "a GPU of a virtual machine is told as that", A("'1', '0000:02:00.0'"),
	  CARD("1") OTHER("answer: Unasked\nboundTo: vfio-pci"), "", UP, "", "p.io/a: GPU-1\n",
	  MIS "pool p.io/a: GPU 0000:02:00.0 is bound to vfio-pci", "True Ready: 1 of 2 *", "" },
	{ "what is not known yet is not absent: the driver starts", A("'9'"), "", "", STARTS, "", "", TAKEN,
	  "False DriverNotReady: *", "" },
	{ "nor is what the driver has still to tell of", A("'1', '9'"),
	  CARD("1") OTHER("answer: Unasked\nboundTo: nvidia"), "", UP, "", "p.io/a: GPU-1\n", TAKEN, "True *", "" },
	{ "what was wrong stays so until the driver has told of all GPUs", A("'9'"), "", "", STARTS, WRONG, "",
	  MIS "x", "False DriverNotReady: *", "" },
	{ "and is over then, where it is", A("'1'"), TWO, "", UP, WRONG, "p.io/a: GPU-1\n", TAKEN, "True *", "" },
	{ "a GPU that no driver of the kernel has is not waited for", A("'1', '9'"),
	  CARD("1") OTHER("vendor: 10de\nanswer: Unasked"), "", UP, "", "p.io/a: GPU-1\n",
	  MIS "pool p.io/a: no GPU 9; this node has 1", "True *", "" },
	{ "a sick GPU that is silent may be the one that is named", A("'1', GPU-7, GPU-2"), LOST1 CARD("2"), SICK1, UP,
	  "", "p.io/a: GPU-2\n", TAKEN, "False GPUsUnhealthy: *", "" },
	{ "but not one with a number that no GPU has", A("'2', '9'"), LOST1 CARD("2"), SICK1, UP, "",
	  "p.io/a: GPU-2\n", MIS "pool p.io/a: no GPU 9; this node has 2", "False GPUsUnhealthy: *", "" },
	{ "one that Health remembers is the one", A("GPU-1, '1', '2'"), LOST1 CARD("2"), SICK1 WAS, UP, "",
	  "p.io/a: GPU-1 GPU-2\n", TAKEN, "False GPUsUnhealthy: *", "" },
	{ "of many mistakes four are named", A("'1', a, b, c, d, e, f"), TWO, "", UP, "", "p.io/a: GPU-1\n",
	  MIS "pool p.io/a: no GPU a; *no GPU d; 2 more; this node has 1 to 2", "True *", "" },
	{ "what a file has that is not taken stands before it", A("'1', '9'"), TWO, "", UP, "", "p.io/a: GPU-1\n",
	  "False PartlyIgnored: x is not taken; pool p.io/a: no GPU 9; *", "True *", "untaken: x is not taken\n" },
};

static void print(const struct fl_plan *plan, struct fl_buf *lists, struct fl_buf *taken, struct fl_buf *ready)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		const struct fl_resource *r = want->object;
		const struct fl_own_node *node = want->object;

		if (want->ref.kind == &fl_resource_kind) {
			fl_buf_printf(lists, "%.*s:", FL_ARG(want->ref.name));
			for (uint32_t i = 0; i < r->units.len; i++)
				fl_buf_printf(lists, " %.*s", FL_ARG(r->units.at[i].id));
			fl_buf_char(lists, '\n');
		}
		for (uint32_t i = 0; want->ref.kind == &fl_own_node_kind && i < node->status.conditions.len; i++) {
			const struct fl_condition *c = &node->status.conditions.at[i];

			fl_buf_printf(fl_str_eq(c->type, FL_S("GPUsReady")) ? ready : taken, "%s %.*s: %.*s",
				      fl_name(&fl_condition_status_names, (int)c->status), FL_ARG(c->reason),
				      FL_ARG(c->message));
		}
	}
}

static void expect(struct fl_buf *got, const char *wanted)
{
	if (!facts_like(fl_buf_view(got), fl_str(wanted)))
		CHECK_STR(fl_buf_view(got), wanted);
}

#define HOST \
	"metadata: {name: host}\nnodesRoot: /drv\nversion: '1'\nlayout: a\nseen: 1/a\n" \
	"nodes: [{path: /dev/nvidiactl, major: 195, minor: 255}]\n"
#define WELL(n) "---\nmetadata: {name: '0000:0" n ":00.0'}\ncard: '0000:0" n ":00.0'\nstate: Healthy\n"

/* With four replicas on two GPUs of which one is held whole, four are allocatable and not eight. */
TEST(why_a_device_is_not_allocatable_is_explained)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_gpu_lists_facts f = { .state_known = true, .specs_known = true,
					       .sockets_known = true, .holders_known = true };
	uint32_t said = 0;
	struct fl_plan plan;

	GOT(f.settings = facts_object(&arena, fl_settings_bind(),
				      FL_S("metadata: {name: settings}\ndeviceListStrategy: [envvar]\nunpooled: true\n"
					   "sharing: [{resource: nvidia.com/gpu, replicas: 4}]\n")));
	GOT(f.driver = facts_object(&arena, fl_driver_bind(), FL_S(UP)));
	GOT(f.host = facts_object(&arena, fl_host_bind(), FL_S(HOST)));
	GOT(f.cards = facts_list(&arena, fl_card_bind(), TWO, &f.card_len));
	GOT(f.health = facts_list(&arena, fl_health_bind(), WELL("1") WELL("2"), &f.health_len));
	GOT(f.holders = facts_list(&arena, fl_holder_bind(),
				   "metadata: {name: t/j/c/nvidia.com/gpu}\nresource: nvidia.com/gpu\n"
				   "devices: [GPU-1]\npodNamespace: t\npod: j\ncontainer: c\n",
				   &f.holder_len));
	fl_plan_init(&plan, &arena);
	fl_gpu_lists_plan(&f, &plan);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	for (const struct fl_said *one = plan.said; one; one = one->next) {
		if (one->ref.kind != &fl_resource_kind)
			continue;
		said++;
		CHECK_STR(one->reason, "Leaving");
		CHECK_STR(one->message,
			  "GPU-1: a Pod holds it as it was allocated before; it is over when t/j has ended");
	}
	CHECK_INT(said, 1);
}

TEST(what_pools_name)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf lists = FL_BUF(FL_KIB), taken = FL_BUF(FL_KIB), ready = FL_BUF(FL_KIB);
		struct fl_str settings =
			fl_arena_printf(&arena, "metadata: {name: settings}\ndeviceListStrategy: [envvar]\n"
						"pools: [%s]\n%s",
					row->pools, row->more);
		struct fl_str node = fl_arena_printf(&arena, "metadata: {name: n1}\nstatus: {conditions: [%s]}\n",
						     row->before);
		struct fl_str health = fl_arena_printf(&arena, "%s%s", row->sick[0] ? row->sick : WELL("1"), WELL("2"));
		struct fl_gpu_lists_facts f = { .state_known = true, .specs_known = true,
						       .sockets_known = true, .holders_known = true };
		bool said = false;
		struct fl_plan plan;

		OK(settings.p && node.p && health.p ? 0 : -FL_E_NOMEM);
		GOT(f.settings = facts_object(&arena, fl_settings_bind(), settings));
		GOT(f.node = facts_object(&arena, fl_own_node_bind(), node));
		GOT(f.driver = facts_object(&arena, fl_driver_bind(), fl_str(row->driver)));
		GOT(f.host = facts_object(&arena, fl_host_bind(), FL_S(HOST)));
		GOT(f.cards = facts_list(&arena, fl_card_bind(), row->cards, &f.card_len));
		GOT(f.health = facts_list(&arena, fl_health_bind(), health.p, &f.health_len));
		fl_plan_init(&plan, &arena);
		fl_gpu_lists_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print(&plan, &lists, &taken, &ready);
		OK(fl_buf_check(&lists, "the lists", NULL));
		OK(fl_buf_check(&taken, "the condition", NULL));
		OK(fl_buf_check(&ready, "the condition", NULL));
		expect(&lists, row->lists);
		expect(&taken, row->taken);
		expect(&ready, row->ready);
		for (const struct fl_said *one = plan.said; one; one = one->next)
			said |= one->ref.kind == &fl_settings_kind && fl_str_eq(one->reason, FL_S("Pools"));
		CHECK_INT(said, fl_str_starts(fl_buf_view(&taken), FL_S("False")) && strcmp(row->taken, MIS "x") != 0);
	}
}
