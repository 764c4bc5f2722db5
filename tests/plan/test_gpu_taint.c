/* A taint until the GPUs are ready for the first time. */
#include "plan/gpu/taint.h"
#include "gpu_facts.h"

#define ON "startupTaint: true\n"
#define READY "state: Ready\n"
#define SERVED "metadata: {name: nvidia.com/gpu}\nunits: [{id: G1, healthy: true}]\n"
#define CONDITION(type, is, reason, message) "{type: " type ", status: '" is "', reason: " reason ", message: '" \
	message "', lastTransitionTime: '1970-01-01T00:00:10Z'}"
#define GPUS_READY CONDITION("GPUsReady", "True", "Ready", "")
#define NODE(conditions, gpus) "status: {allocatable: {cpu: 2, nvidia.com/gpu: " gpus "}, conditions: [" conditions \
			       "]}\n"
#define TAINT(value) "spec: {taints: [{key: other, effect: NoSchedule}, {key: " FL_STARTUP_TAINT \
		     ", effect: NoSchedule, value: " value "}]}\n"
#define OURS TAINT("fairlead")
#define THEIRS TAINT("''")
#define TAINTED "taint NoSchedule\nStarting\n"
#define STARTED "no taint\nStarted!\n"

static const struct {
	const char *says, *settings, *driver, *node, *resources, *got;
} rows[] = {
	{ "off: nothing is touched", "", READY, NODE(GPUS_READY, "1"), SERVED, "" },
	{ "no driver has told anything yet", ON, "", NODE("", "0"), "", TAINTED },
	{ "the driver answers, and the kubelet counts nothing yet", ON, READY, NODE(GPUS_READY, "0"), SERVED, TAINTED },
	{ "all there: the taint goes, and people are told", ON, READY, NODE(GPUS_READY, "1"), SERVED, STARTED },
	{ "a condition that a boot left says nothing of this one", ON, "state: Starting\n", NODE(GPUS_READY, "1"), "",
	  TAINTED },
	{ "nothing is served yet", ON, READY, NODE(GPUS_READY, "1"), "", TAINTED },
	{ "not ready, as the condition says", ON, READY,
	  NODE(CONDITION("GPUsReady", "False", "CDINotWritten", ""), "1"), SERVED, TAINTED },
	{ "one GPU that is broken does not keep Pods from the others", ON, READY,
	  NODE(CONDITION("GPUsReady", "False", "GPUsUnhealthy", ""), "1"), SERVED, STARTED },
	{ "all of them do", ON, READY, NODE(CONDITION("GPUsReady", "False", "GPUsUnhealthy", ""), "1"),
	  "metadata: {name: nvidia.com/gpu}\nunits: [{id: G1, healthy: false}]\n", TAINTED },
	{ "a resource without a healthy device is not waited for", ON, READY, NODE(GPUS_READY, "1"),
	  SERVED "---\nmetadata: {name: nvidia.com/mig-1g.10gb}\nunits: [{id: M1, healthy: false}]\n", STARTED },
	{ "each resource with one is", ON, READY, NODE(GPUS_READY, "1"),
	  SERVED "---\nmetadata: {name: nvidia.com/mig-1g.10gb}\nunits: [{id: M1, healthy: true}]\n", TAINTED },
	{ "started in this boot: it does not come back", ON, "state: Paused\n",
	  NODE(CONDITION("GPUsStarted", "True", "Started", "the GPUs were ready after boot b1"), "0"), SERVED,
	  STARTED },
	{ "started in the boot before: it does", ON, "state: Starting\n",
	  NODE(CONDITION("GPUsStarted", "True", "Started", "the GPUs were ready after boot b0"), "0"), "", TAINTED },
	{ "switched off while it is there: it goes", "", "state: Starting\n",
	  OURS NODE(CONDITION("GPUsStarted", "False", "Starting", "x"), "0"), "", "no taint\nOff\n" },
	{ "ended between its two writes, the condition is missing: it goes", "", READY,
	  OURS NODE(CONDITION("GPUsStarted", "True", "Started", "x b0"), "1"), SERVED, "no taint\n" },
	{ "ended between the two that take it back: the condition follows", "", READY,
	  NODE(CONDITION("GPUsStarted", "False", "Starting", "x"), "1"), SERVED, "Off\n" },
	{ "a taint that somebody else has put there stays", "", READY, THEIRS NODE(GPUS_READY, "1"), SERVED, "" },
	{ "switched off after it went: nothing is touched", "", READY,
	  NODE(CONDITION("GPUsStarted", "True", "Started", "x b1"), "1"), SERVED, "" },
	{ "a Node that nobody has told of is left alone", ON, READY, NULL, SERVED, "" },
};

static void print_plan(const struct fl_plan *plan, struct fl_buf *out)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		const struct fl_own_node *node = want->object;
		const struct fl_taint *taint = want->object;

		if (want->what == FL_WANT_OBJECT)
			fl_buf_printf(out, "%.*s%s\n", FL_ARG(node->status.conditions.at[0].reason),
				      want->told ? "!" : "");
		else if (fl_str_eq(taint->key, FL_S(FL_STARTUP_TAINT)))
			fl_buf_printf(out, "%s%s%.*s\n", want->what == FL_WANT_ITEM ? "taint" : "no taint",
				      want->what == FL_WANT_ITEM ? " " : "",
				      FL_ARG(want->what == FL_WANT_ITEM ? taint->effect : FL_S("")));
	}
}

TEST(a_node_is_tainted_until_its_gpus_are_ready)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_gpu_taint_facts f = { 0 };
		struct fl_str settings = fl_arena_printf(&arena, "metadata: {name: settings}\nboot: b1\n%s",
							 row->settings);
		struct fl_str driver = fl_arena_printf(&arena, "metadata: {name: driver}\n%s", row->driver);
		struct fl_str node = fl_arena_printf(&arena, "metadata: {name: n1}\n%s", row->node ? row->node : "");
		struct fl_plan plan;

		GOT(settings.p && driver.p && node.p);
		GOT(f.settings = facts_object(&arena, fl_settings_bind(), settings));
		if (*row->driver)
			GOT(f.driver = facts_object(&arena, fl_driver_bind(), driver));
		if (row->node)
			GOT(f.node = facts_object(&arena, fl_own_node_bind(), node));
		GOT(f.resources = facts_list(&arena, fl_resource_bind(), row->resources, &f.resource_len));
		fl_plan_init(&plan, &arena);
		fl_gpu_taint_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print_plan(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		CHECK_STR(fl_buf_view(&text), row->got);
	}
}
