/* role_in.h - the inside of a running role: for role*.c only.
 *
 * role.c has its life: begin, start, turns, end. role_ready.c what /readyz says; role_numbers.c its metrics.
 */
#pragma once
#include "cmd/role.h"

bool role_ready(void *run, struct fl_buf *words);
int role_numbers_add(struct fl_running *run, struct fl_err *err);
