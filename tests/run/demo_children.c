#include "demo_children.h"
#include "run/facts.h"

FL_BIND(fl_market_spec, FL_MARKET_SPEC)
FL_BIND(fl_market_status, FL_MARKET_STATUS)
FL_BIND(fl_market, FL_MARKET)
FL_BIND(fl_stall_spec, FL_STALL_SPEC)
FL_BIND(fl_stall, FL_STALL)
FL_BIND(fl_square_spec, FL_SQUARE_SPEC)
FL_BIND(fl_square, FL_SQUARE)

#define KIND(kind_, plural_) .group = "demo.fairlead.test", .version = "v1", .kind = kind_, .plural = plural_
const struct fl_kind fl_market_kind = {
	KIND("Market", "markets"), .root = fl_market_bind, .status = true, .help = "A stall for each of its goods.",
};
const struct fl_kind fl_stall_kind = {
	KIND("Stall", "stalls"), .root = fl_stall_bind, .help = "A place where one thing is sold.",
};
const struct fl_kind fl_square_kind = {
	KIND("Square", "squares"), .root = fl_square_bind, .cluster_scoped = true, .help = "Room for one market.",
};

/* ---- what is written, and who it belongs to ---- */

static const struct fl_owner stall_owner = {
	.manager = "demo-stalls", .kind = &fl_stall_kind, .paths = (const char *const[]){ "spec.sells", NULL },
};
static const struct fl_owner square_owner = {
	.manager = "demo-square", .kind = &fl_square_kind, .paths = (const char *const[]){ "spec.market", NULL },
};
static const struct fl_owner market_owner = {
	.manager = "demo-market", .kind = &fl_market_kind,
	.paths = (const char *const[]){ "status.conditions[type=Ready]", NULL },
};
static const struct fl_owner *const owners[] = { &stall_owner, &square_owner, &market_owner, NULL };
static const struct fl_children stalls = { .owner = &stall_owner, .parent = &fl_market_kind };
static const struct fl_children *const children[] = { &stalls, NULL };
static const struct fl_finalizer finalizer = FL_FINALIZER(&fl_market_kind, "demo-market", "demo.fairlead.test/stalls");

/* ---- the decision ---- */

/* *failed: there was no memory for its name. */
static struct fl_ref stall_ref(const struct fl_market *market, struct fl_str good, struct fl_arena *arena, bool *failed)
{
	struct fl_str name = fl_arena_printf(arena, "%.*s-%.*s", FL_ARG(market->meta.name), FL_ARG(good));

	*failed |= !name.p;
	return (struct fl_ref){ &fl_stall_kind, market->meta.space, name };
}

static void want_square(const struct market_facts *facts, bool is, struct fl_plan *plan)
{
	struct fl_square square = { 0 };
	bool ours = facts->square && fl_str_eq(facts->square->spec.market, facts->market->meta.name);

	if (!facts->square || (facts->square->spec.market.len && !ours) || (!is && !ours))
		return;   /* somebody else has it, or nobody and we do not want it */
	/* Empty, not absent: the API server removes no last member of a map that another writer made empty. */
	FL_SET(FL_IN(&square, spec), market, is ? facts->market->meta.name : FL_S(""));
	fl_want_claim(plan, &square_owner, FL_REF(&fl_square_kind, facts->square), &square);
}

void market_plan(const void *facts_, struct fl_plan *plan)
{
	const struct market_facts *facts = facts_;
	const struct fl_market *market = facts->market;
	struct fl_ref self = FL_REF(&fl_market_kind, market);
	bool going = market->meta.has.deletion_timestamp, ready = facts->stall_len >= market->spec.goods.len;

	fl_want_no_others(plan, &stalls, self);   /* than those that follow */
	if (going) {
		want_square(facts, false, plan);
		fl_want_no_finalizer(plan, &finalizer, self);
		return;
	}
	fl_want_finalizer(plan, &finalizer, self);
	want_square(facts, true, plan);
	for (uint32_t i = 0; i < market->spec.goods.len; i++) {
		struct fl_stall stall = { 0 };

		FL_SET(FL_IN(&stall, spec), sells, market->spec.goods.at[i]);
		fl_want_child(plan, &stalls, self,
			      stall_ref(market, market->spec.goods.at[i], plan->arena, &plan->failed), &stall);
	}
	if (facts->taken.p)
		fl_want_condition(plan, &market_owner, self, FL_EMIT_WARNING, "Ready", FL_CONDITION_FALSE, "StallTaken",
				  "%.*s: delete it, or sell something else", FL_ARG(facts->taken));
	else
		fl_want_condition(plan, &market_owner, self, FL_EMIT_NORMAL, "Ready",
				  ready ? FL_CONDITION_TRUE : FL_CONDITION_FALSE, ready ? "AllStalls" : "Building",
				  "%u of %u stalls", facts->stall_len, market->spec.goods.len);
}

/* ---- the facts that no row can say ---- */

FL_FACTS_KEYED(market, market_facts, MARKET_FACTS)

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct market_facts *facts = facts_;

	if (!market_gather(view, key, facts))
		return false;
	for (uint32_t i = 0; i < facts->market->spec.goods.len && !facts->taken.p; i++) {
		struct fl_ref stall = stall_ref(facts->market, facts->market->spec.goods.at[i], view->arena,
						&view->failed);
		struct fl_str by = fl_view_taken(view, &stalls, facts->market->meta.uid, stall.space, stall.name);

		if (by.p)
			facts->taken = fl_arena_printf(view->arena, "%.*s is that of %.*s", FL_ARG(stall.name),
						       FL_ARG(by));
	}
	return true;
}

const struct fl_capability markets = {
	.name = "market", .watches = market_watches, .key = &fl_market_kind, .owners = owners, .children = children,
	.facts_size = sizeof(struct market_facts), .gather = gather, .plan = market_plan,
};

static const struct fl_index stalls_by[] = { { "controller", fl_by_controller }, { 0 } };
const struct fl_source market_sources[] = {
	{ .kind = &fl_market_kind }, { .kind = &fl_stall_kind, .by = stalls_by }, { .kind = &fl_square_kind }, { 0 },
};
