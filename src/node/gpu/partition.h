/* partition.h - changes of a GPU's MIG layout, one at a time. For child processes only: every call may block or crash.
 *
 * An order is one of
 *     "mode 1", "mode 0"                      MIG mode on, off
 *     "create 3g.40gb@4=2,1"                  a GPU instance at this place, with compute instances of these slices
 *     "destroy 3g.40gb@4 1g.10gb@0 ..."       the first of these, if no process uses any of them
 * A profile is found by its name among those of the GPU.
 */
#pragma once
#include "node/gpu/read.h"

/* FL_E_AGAIN: something uses it, and the text says what; nothing is changed. FL_E_INVALID: it is no order. FL_E_IO: the
 * driver refuses it; a part of an instance may have been made. What is to be destroyed and is not there is no failure.
 */
int fl_gpu_partition(const struct fl_gpu_reader *reader, struct fl_str address, struct fl_str order,
		     struct fl_err *err) FL_MUSTUSE;
