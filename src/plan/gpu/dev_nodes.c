#include "plan/gpu/dev_nodes.h"

static const char *const paths[] = { "status.conditions[type=GPUDeviceNodesMissing]", NULL };
const struct fl_owner fl_gpu_dev_nodes_owner = { "fairlead-dev-nodes", &fl_own_node_kind, paths };

void fl_gpu_dev_nodes_plan(const void *facts, struct fl_plan *plan)
{
	const struct fl_gpu_dev_nodes_facts *f = facts;
	const char *type = "GPUDeviceNodesMissing";

	if (!f->host->has.seen)
		return;
	if (f->host->nodes_message.len)
		fl_want_condition(plan, &fl_gpu_dev_nodes_owner, FL_REF(&fl_own_node_kind, f->node), FL_EMIT_WARNING,
				  type, FL_CONDITION_TRUE, "NotMade",
				  "%.*s. Without it, Pods in user namespaces (hostUsers: false) do not start with a "
				  "GPU. If there are none, set --make-device-nodes=false",
				  FL_ARG(f->host->nodes_message));
	else if (fl_condition_find(&f->node->status.conditions, fl_str(type)))
		fl_want_condition(plan, &fl_gpu_dev_nodes_owner, FL_REF(&fl_own_node_kind, f->node), FL_EMIT_NOBODY,
				  type, FL_CONDITION_FALSE, "None",
				  "no device node is missing that the agent is to make");
}
