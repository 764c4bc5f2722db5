/* mig.h - Layouts: what is about to be done to a GPU's MIG layout is on the disk first (run/records.h), then it is done
 * by a child (partition.h), and what came of it is the rest of the Layout. plan/mig/layout.h decides.
 *
 *     layouts = fl_records_new(io, loop, &(struct fl_records_options){ .kind = &fl_layout_kind, ...,
 *                                                                      .act = fl_gpu_mig_act, .arg = &gpu }, err);
 *
 * A refusal of the driver ends a write all the same: the plan sees it and decides. Only what says nothing of the step
 * (the driver is away, a child died) fails it, so that it is done again.
 */
#pragma once
#include "run/records.h"

struct fl_op *fl_gpu_mig_act(void *gpu, struct fl_write *write, struct fl_err *err);   /* a struct fl_gpu ** */
