/* ready.h - the files that NVIDIA's validator leaves in /run/nvidia/validations, from our checks, for programs that
 * wait for them.
 *
 * Pure. Each ReadyFile is wanted while it is true, and goes when it is not:
 *
 *     driver      driver and nodes have passed; its text says where the driver's files and device nodes are
 *     toolkit     toolkit has passed too
 *     cuda        so has cuda; not while it was not tried
 *     plugin      the node serves its GPUs (condition GPUsReady)
 *
 * While a result is not known, as at a restart, its file stays as it is. Without a directory (Given) nothing is wanted,
 * and files of other names are nobody's here.
 */
#pragma once
#include "api/node_report.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_READY_FACTS(X) \
	X(NEED, fl_given, given, "given") \
	X(NEED, fl_settings, settings, "settings") \
	X(ONE, fl_host, host, "host") \
	X(ONE, fl_readiness, readiness, "gpus") \
	X(ALL, fl_check, checks, check_len)
FL_FACTS(fl_ready_facts, FL_READY_FACTS);

extern const struct fl_owner fl_ready_owner;
void fl_ready_plan(const void *facts, struct fl_plan *plan);
