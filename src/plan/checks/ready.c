/* Files for programs that wait for NVIDIA's validator: each is there while its checks pass. */
#include "plan/checks/ready.h"
#include "plan/gpu/lists.h"
#include "plan/gpu/needs.h"

static const char *const paths[] = { "content", NULL };
const struct fl_owner fl_ready_owner = { "fairlead-ready-files", &fl_ready_file_kind, paths };

/* The validator's containers have the host's root at /host, and that of a driver container at /driver-root. */
#define HOST_ROOT "/"
#define HOST_ROOT_INSIDE "/host"
#define DRIVER_ROOT_INSIDE "/driver-root"

static const char *inside(struct fl_str root)
{
	return fl_str_eq(root, FL_S(HOST_ROOT)) ? HOST_ROOT_INSIDE : DRIVER_ROOT_INSIDE;
}

/* Of a host that was scanned. */
static struct fl_str roots(const struct fl_ready_facts *f, struct fl_plan *plan)
{
	struct fl_str driver = fl_gpu_written_root(f->settings, f->host);
	struct fl_str nodes = fl_gpu_written_dev(f->settings, f->host);

	return fl_plan_printf(plan,
			      "IS_HOST_DRIVER=%s\nNVIDIA_DRIVER_ROOT=%.*s\nDRIVER_ROOT_CTR_PATH=%s\n"
			      "NVIDIA_DEV_ROOT=%.*s\nDEV_ROOT_CTR_PATH=%s\n",
			      fl_str_eq(driver, FL_S(HOST_ROOT)) ? "true" : "false", FL_ARG(driver), inside(driver),
			      FL_ARG(nodes), inside(nodes));
}

/* FL_CHECK_STALE: there is none yet, or it is not known now. */
static enum fl_check_result result_of(const struct fl_ready_facts *f, struct fl_str name)
{
	for (uint32_t i = 0; i < f->check_len; i++)
		if (fl_str_eq(f->checks[i].meta.name, name))
			return f->checks[i].result;
	return FL_CHECK_STALE;
}

/* Of two results: a failure of one decides, whatever the other is. FL_CHECK_STALE: it is not known. */
static enum fl_check_result both(enum fl_check_result one, enum fl_check_result other)
{
	if (one == FL_CHECK_FAILED || other == FL_CHECK_FAILED)
		return FL_CHECK_FAILED;
	return one == FL_CHECK_PASSED ? other : one;
}

/* While it is not known, the file stays as it is. */
static void want(struct fl_plan *plan, struct fl_str name, enum fl_check_result result, struct fl_str content)
{
	struct fl_ref ref = { .kind = &fl_ready_file_kind, .name = name };
	struct fl_ready_file file = { 0 };

	if (result == FL_CHECK_STALE)
		return;
	if (result != FL_CHECK_PASSED) {
		fl_want_gone(plan, ref);
		return;
	}
	FL_SET(&file, content, content);
	fl_want(plan, &fl_ready_owner, ref, &file);
}

static enum fl_check_result served(const struct fl_ready_facts *f)
{
	const struct fl_condition *ready =
		f->readiness ? fl_condition_find(&f->readiness->status.conditions, FL_S(FL_GPUS_READY)) : NULL;

	if (!ready || ready->status == FL_CONDITION_UNKNOWN)
		return FL_CHECK_STALE;
	return ready->status == FL_CONDITION_TRUE ? FL_CHECK_PASSED : FL_CHECK_FAILED;
}

void fl_ready_plan(const void *facts, struct fl_plan *plan)
{
	const struct fl_ready_facts *f = facts;
	enum fl_check_result driver = both(result_of(f, FL_S("driver")), result_of(f, FL_S("nodes")));

	if (!f->given->ready_dir.len)
		return;
	if (f->host)
		want(plan, FL_S("driver"), driver, roots(f, plan));
	want(plan, FL_S("toolkit"), both(driver, result_of(f, FL_S("toolkit"))), FL_S(""));
	want(plan, FL_S("cuda"), both(driver, result_of(f, FL_S("cuda"))), FL_S(""));
	want(plan, FL_S("plugin"), served(f), FL_S(""));
}
