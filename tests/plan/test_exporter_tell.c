/* How GPU metrics are served, as the Node's condition. */
#include "plan/exporter/tell.h"
#include "test.h"

#define AT .listen = FL_S_INIT(":9400")

static const struct {
	const char *says;
	struct fl_exporter_status status;
	const char *want;   /* status, reason, message */
	enum fl_emit emit;
} rows[] = {
	{ "open to everybody is told", { AT, .access = FL_EXPORTER_OPEN },
	  "True Open GPU metrics are served at :9400 over plain HTTP to everybody", FL_EMIT_NOBODY },
	{ "tokens", { AT, .access = FL_EXPORTER_TOKENS },
	  "True TokenReview GPU metrics are served at :9400 over plain HTTP to who shows a token that may get /metrics",
	  FL_EMIT_NOBODY },
	{ "client certificates", { AT, .tls = true, .access = FL_EXPORTER_CERTIFICATES },
	  "True ClientCertificate GPU metrics are served at :9400 over TLS to who shows a certificate of the web "
	  "config's CA, or a token for /metrics", FL_EMIT_NOBODY },
	{ "no API server", { AT, .access = FL_EXPORTER_MACHINE },
	  "True ThisMachine GPU metrics are served at :9400 over plain HTTP to this machine only, as there is no API "
	  "server that knows tokens", FL_EMIT_NOBODY },
	{ "a port that another has", { AT, .closed = FL_S_INIT("in use") }, "False NotServed in use", FL_EMIT_WARNING },
	{ "a web config that is not in force", { AT, .web = FL_S_INIT("'w': basic_auth_users") },
	  "False WebConfigRefused 'w': basic_auth_users; what was in force before stays", FL_EMIT_WARNING },
	{ "a list that is not", { AT, .list = FL_S_INIT("'l': line 2: what") },
	  "False ListRefused 'l': line 2: what; the former list stays", FL_EMIT_WARNING },
	{ "not serving at all comes first",
	  { AT, .closed = FL_S_INIT("a"), .web = FL_S_INIT("b"), .list = FL_S_INIT("c") },
	  "False NotServed a", FL_EMIT_WARNING },
};

TEST(conditions)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(FL_KIB);
		struct fl_own_node node = { .meta = { .name = FL_S("n1") } };
		struct fl_exporter_facts facts = { .status = &row->status, .node = &node };
		const struct fl_condition *told;
		const struct fl_want *want;
		struct fl_plan plan;

		fl_plan_init(&plan, &arena);
		fl_exporter_plan(&facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		want = fl_plan_find(&plan, &fl_exporter_owner, FL_REF(&fl_own_node_kind, &node));
		GOT(want);
		told = &((const struct fl_own_node *)want->object)->status.conditions.at[0];
		fl_buf_printf(&got, "%s %.*s %.*s", fl_name(&fl_condition_status_names, (int)told->status),
			      FL_ARG(told->reason), FL_ARG(told->message));
		OK(fl_buf_check(&got, "condition", NULL));
		CHECK_STR(fl_buf_view(&got), row->want);
		CHECK_INT(want->told ? want->told->tell : FL_EMIT_NOBODY, row->emit);
	}
}

/* Who turns it off leaves no condition behind, and writes nothing where there is none. */
TEST(without_an_exporter_the_condition_goes)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_exporter_status off = { .off = true };
	struct fl_condition before = { .type = FL_S(FL_EXPORTER_CONDITION) };
	struct fl_own_node node = { .meta = { .name = FL_S("n1") } };
	struct fl_exporter_facts facts = { .status = &off, .node = &node };
	const struct fl_want *want;
	struct fl_plan plan;

	fl_plan_init(&plan, &arena);
	fl_exporter_plan(&facts, &plan);
	CHECK(!fl_plan_find(&plan, &fl_exporter_owner, FL_REF(&fl_own_node_kind, &node)));
	node.status.conditions.at = &before;
	node.status.conditions.len = 1;
	fl_exporter_plan(&facts, &plan);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	want = fl_plan_find(&plan, &fl_exporter_owner, FL_REF(&fl_own_node_kind, &node));
	GOT(want);
	CHECK_INT(((const struct fl_own_node *)want->object)->status.conditions.len, 0);
}
