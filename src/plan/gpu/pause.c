#include "plan/gpu/pause.h"

#define LABELS "nvidia.com/gpu.deploy."
#define PAUSED "paused-for-"

const struct fl_owner fl_gpu_driver_pause_owner = {
	.manager = "fairlead-driver-pause", .kind = &fl_driver_pause_kind,
	.paths = (const char *const[]){ "paused", "why", "asked", NULL },
};
const struct fl_owner fl_gpu_pause_owner = {
	.manager = "fairlead-driver-pause", .kind = &fl_pause_kind, .paths = (const char *const[]){ "why", NULL },
};

struct fl_str fl_gpu_pause_by_operator(const struct fl_pause_request *word, const struct fl_pause *remembered)
{
	if (word)
		return word->pause ? word->why : FL_S("");
	return remembered ? remembered->why : FL_S("");
}

/* Why the Node wants it; empty: it does not. */
static struct fl_str nodes(const struct fl_gpu_pause_facts *facts, struct fl_plan *plan)
{
	const struct fl_map *labels = facts->node ? &facts->node->meta.labels : NULL;

	for (uint32_t i = labels ? labels->len : 0; i-- > 0;)
		if (fl_str_starts(labels->at[i].key, FL_S(LABELS)) && fl_str_starts(labels->at[i].value, FL_S(PAUSED)))
			return fl_plan_printf(plan, "the Node's label %.*s is %.*s", FL_ARG(labels->at[i].key),
					      FL_ARG(labels->at[i].value));
	return !facts->node_known && facts->by_node ? facts->by_node->why : FL_S("");
}

static void remember(struct fl_plan *plan, struct fl_str whose, struct fl_str why)
{
	struct fl_ref ref = { &fl_pause_kind, FL_S(""), whose, FL_S("") };
	struct fl_pause pause = { 0 };

	if (!why.len) {
		fl_want_gone(plan, ref);
		return;
	}
	FL_SET(FL_IN(&pause, meta), name, whose);
	FL_SET(&pause, why, why);
	fl_want(plan, &fl_gpu_pause_owner, ref, &pause);
}

void fl_gpu_pause_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_pause_facts *facts = facts_;
	struct fl_ref ref = { &fl_driver_pause_kind, FL_S(""), FL_S("driver"), FL_S("") };
	struct fl_str by_operator = fl_gpu_pause_by_operator(facts->word, facts->by_operator),
		      by_node = nodes(facts, plan);
	struct fl_driver_pause pause = { 0 };

	remember(plan, FL_S(FL_PAUSE_OPERATOR), by_operator);
	remember(plan, FL_S(FL_PAUSE_NODE), by_node);
	FL_SET(FL_IN(&pause, meta), name, ref.name);
	FL_SET(&pause, paused, by_operator.len || by_node.len);
	if (facts->word)
		FL_SET(&pause, asked, facts->word->asked);
	if (pause.paused) {
		FL_SET(&pause, why, by_operator.len ? by_operator : by_node);
		fl_say(plan, ref, "Paused", "%.*s", FL_ARG(pause.why));
	}
	fl_want(plan, &fl_gpu_driver_pause_owner, ref, &pause);
}
