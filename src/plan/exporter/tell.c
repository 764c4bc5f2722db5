#include "plan/exporter/tell.h"

static const char *const paths[] = { "status.conditions[type=" FL_EXPORTER_CONDITION "]", NULL };
const struct fl_owner fl_exporter_owner = { "fairlead-metrics", &fl_own_node_kind, paths };

/* Lines name Pods, so who may read them is told. */
static const char *const to_whom[] = {
	[FL_EXPORTER_OPEN] = "to everybody",
	[FL_EXPORTER_TOKENS] = "to who shows a token that may get /metrics",
	[FL_EXPORTER_CERTIFICATES] = "to who shows a certificate of the web config's CA, or a token for /metrics",
	[FL_EXPORTER_MACHINE] = "to this machine only, as there is no API server that knows tokens",
};
_Static_assert(FL_LEN(to_whom) == FL_EXPORTER_ACCESS_COUNT_, "each is told");

static void tell_bad(struct fl_plan *plan, struct fl_ref node, const char *reason, struct fl_str why, const char *rest)
{
	fl_want_condition(plan, &fl_exporter_owner, node, FL_EMIT_WARNING, FL_EXPORTER_CONDITION, FL_CONDITION_FALSE,
			  reason, "%.*s%s", FL_ARG(why), rest);
}

void fl_exporter_plan(const void *facts, struct fl_plan *plan)
{
	const struct fl_exporter_facts *f = facts;
	const struct fl_exporter_status *s = f->status;
	struct fl_ref node;

	if (!f->node)
		return;
	node = FL_REF(&fl_own_node_kind, f->node);
	if (s->off) {
		if (fl_condition_find(&f->node->status.conditions, FL_S(FL_EXPORTER_CONDITION)))
			fl_want(plan, &fl_exporter_owner, node, &(struct fl_own_node){ 0 });
	} else if (s->closed.len)
		tell_bad(plan, node, "NotServed", s->closed, "");
	else if (s->web.len)
		tell_bad(plan, node, "WebConfigRefused", s->web, "; what was in force before stays");
	else if (s->list.len)
		tell_bad(plan, node, "ListRefused", s->list, "; the former list stays");
	else
		fl_want_condition(plan, &fl_exporter_owner, node, FL_EMIT_NOBODY, FL_EXPORTER_CONDITION,
				  FL_CONDITION_TRUE, fl_name(&fl_exporter_access_names, (int)s->access),
				  "GPU metrics are served at %.*s over %s %s", FL_ARG(s->listen),
				  s->tls ? "TLS" : "plain HTTP", to_whom[s->access]);
}
