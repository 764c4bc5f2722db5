/* What the Node says of device nodes that the agent could not make. */
#include "plan/gpu/dev_nodes.h"
#include "gpu_facts.h"

#define NODE "metadata: {name: n1}\nstatus: {}\n"
#define BEFORE "metadata: {name: n1}\nstatus: {conditions: [{type: GPUDeviceNodesMissing, reason: NotMade, " \
	       "message: m, lastTransitionTime: '1970-01-01T00:00:10Z', status: 'True'}]}\n"
#define SEEN "seen: 5/a\n"
#define FAILED "nodesMessage: 'make the device node /dev/nvidia-uvm: read-only'\n"

static const struct {
	const char *says, *host, *node, *got;
} rows[] = {
	{ "all are there: nothing is said", SEEN, NODE, "" },
	{ "one could not be made: what that means, and what to do", SEEN FAILED, NODE,
	  "True NotMade! make the device node /dev/nvidia-uvm: read-only. Without it, Pods in user namespaces "
	  "(hostUsers: false) do not start with a GPU. If there are none, set --make-device-nodes=false" },
	{ "and still not", SEEN FAILED, BEFORE, "True NotMade! make *" },
	{ "it is there again", SEEN, BEFORE, "False None no device node is missing that the agent is to make" },
	{ "nobody has looked yet: what was said stays", FAILED, BEFORE, "" },
};

static void print(const struct fl_plan *plan, struct fl_buf *out)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		const struct fl_own_node *node = want->object;
		const struct fl_condition *c = &node->status.conditions.at[0];

		fl_buf_printf(out, "%s %.*s%s %.*s", fl_name(&fl_condition_status_names, (int)c->status),
			      FL_ARG(c->reason), want->told ? "!" : "", FL_ARG(c->message));
	}
}

TEST(device_nodes_that_could_not_be_made)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_str host = fl_arena_printf(&arena, "metadata: {name: host}\nversion: '5'\n%s", row->host);
		struct fl_gpu_dev_nodes_facts f = { 0 };
		struct fl_plan plan;

		GOT(host.p);
		GOT(f.host = facts_object(&arena, fl_host_bind(), host));
		GOT(f.node = facts_object(&arena, fl_own_node_bind(), fl_str(row->node)));
		fl_plan_init(&plan, &arena);
		fl_gpu_dev_nodes_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
	}
}
