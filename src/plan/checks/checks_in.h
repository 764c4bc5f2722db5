/* checks_in.h - for the files of this folder alone: one check while it is judged. */
#pragma once
#include "plan/checks/checks.h"

struct checks_verdict {
	enum fl_check_result result;
	const char *reason;
	struct fl_str message;         /* what is wrong, and what to do */
};

/* False: not known yet; the message says what is waited for. The verdict comes as passed. */
typedef bool checks_judge(const struct fl_checks_facts *f, struct fl_plan *plan, struct checks_verdict *v);
checks_judge checks_driver, checks_nodes, checks_toolkit, checks_cuda, checks_pcie, checks_nvlink, checks_fabric;

/* Fails; where it has failed already, the message gets longer. */
void checks_fail(struct fl_plan *plan, struct checks_verdict *v, const char *reason, const char *fmt, ...)
	FL_PRINTF(4, 5);

/* A GPU that the driver answers for, and that is this driver's. */
bool checks_answers(const struct fl_card *card);
