/* Each check's result as an object, and all of them as the Node's condition. */
#include "plan/checks/checks_in.h"
#include <stdarg.h>

static const char *const paths[] = { "result", "reason", "message", "status.conditions[type=Passed]", NULL };
const struct fl_owner fl_checks_owner = { "fairlead-checks", &fl_check_kind, paths };
static const char *const node_paths[] = { "status.conditions[type=" FL_CHECKS_CONDITION "]", NULL };
const struct fl_owner fl_checks_node_owner = { "fairlead-checks", &fl_own_node_kind, node_paths };

static const struct {
	const char *name;
	checks_judge *judge;
} checks[] = {
	{ "driver", checks_driver }, { "nodes", checks_nodes },   { "toolkit", checks_toolkit },
	{ "cuda", checks_cuda },     { "pcie", checks_pcie },   { "nvlink", checks_nvlink },
	{ "fabric", checks_fabric },
};

void checks_fail(struct fl_plan *plan, struct checks_verdict *v, const char *reason, const char *fmt, ...)
{
	va_list args;

	if (v->result != FL_CHECK_FAILED)
		*v = (struct checks_verdict){ FL_CHECK_FAILED, reason, FL_S("") };
	va_start(args, fmt);
	fl_plan_append(plan, &v->message, fmt, args);
	va_end(args);
}

static const struct fl_check *find(const struct fl_checks_facts *f, struct fl_str name)
{
	for (uint32_t i = 0; i < f->check_len; i++)
		if (fl_str_eq(f->checks[i].meta.name, name))
			return &f->checks[i];
	return NULL;
}

static enum fl_condition_status status_of(enum fl_check_result result)
{
	switch (result) {
	case FL_CHECK_PASSED: return FL_CONDITION_TRUE;
	case FL_CHECK_FAILED: return FL_CONDITION_FALSE;
	case FL_CHECK_SKIPPED:
	case FL_CHECK_STALE:
	case FL_CHECK_RESULT_COUNT_: break;
	}
	return FL_CONDITION_UNKNOWN;
}

/* A failure is told, and its end; a start at which all is well is not. */
static enum fl_emit emit_of(const struct fl_check *before, enum fl_check_result result)
{
	if (result == FL_CHECK_FAILED)
		return FL_EMIT_WARNING;
	return result == FL_CHECK_PASSED && before && before->result == FL_CHECK_FAILED ? FL_EMIT_NORMAL :
											     FL_EMIT_NOBODY;
}

static void want(struct fl_plan *plan, const struct fl_check *before, struct fl_str name,
		 const struct checks_verdict *v)
{
	struct fl_ref ref = { .kind = &fl_check_kind, .name = name };
	struct fl_check check = { 0 };

	FL_SET(&check, result, v->result);
	FL_SET(&check, reason, fl_str(v->reason));
	FL_SET_TEXT(&check, message, v->message);
	fl_want(plan, &fl_checks_owner, ref, &check);
	fl_want_condition(plan, &fl_checks_owner, ref, emit_of(before, v->result), "Passed", status_of(v->result),
			  v->reason, "check %.*s: %.*s", FL_ARG(name),
			  FL_ARG(v->message.len ? v->message : FL_S("passed")));
}

/* What has failed, in the order of the checks. */
static void tell(const struct fl_checks_facts *f, struct fl_plan *plan, const struct checks_verdict *failed,
		 uint32_t known)
{
	struct fl_ref ref;

	if (!f->node || !known)
		return;
	ref = FL_REF(&fl_own_node_kind, f->node);
	if (failed->message.len)
		fl_want_condition(plan, &fl_checks_node_owner, ref, FL_EMIT_NOBODY, FL_CHECKS_CONDITION,
				  FL_CONDITION_FALSE, failed->reason, "%.*s", FL_ARG(failed->message));
	else
		fl_want_condition(plan, &fl_checks_node_owner, ref, FL_EMIT_NOBODY, FL_CHECKS_CONDITION,
				  FL_CONDITION_TRUE, "Passed", "no check of the GPUs fails");
}

void fl_checks_plan(const void *facts, struct fl_plan *plan)
{
	const struct fl_checks_facts *f = facts;
	struct checks_verdict failed = { .reason = "" };
	uint32_t known = 0;

	for (size_t i = 0; i < FL_LEN(checks); i++) {
		struct checks_verdict v = { FL_CHECK_PASSED, "Passed", FL_S("") };
		struct fl_str name = fl_str(checks[i].name);
		const struct fl_check *before = find(f, name);

		if (!checks[i].judge(f, plan, &v)) {
			if (!before)
				continue;
			v.result = FL_CHECK_STALE;
			v.reason = "NotKnown";
		}
		known++;
		want(plan, before, name, &v);
		if (v.result == FL_CHECK_FAILED)
			checks_fail(plan, &failed, v.reason, "%s: %.*s", checks[i].name, FL_ARG(v.message));
	}
	tell(f, plan, &failed, known);
}
