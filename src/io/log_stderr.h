/* log_stderr.h - log lines go to stderr, one write a line.
 *
 *     struct fl_log_to to = fl_log_to_stderr(io);
 *     fl_log_init(&log, &to, "node");
 *
 * Never blocks: while stderr has no room, lines are lost, and counted (struct fl_log).
 */
#pragma once
#include "base/log.h"
#include "io/io.h"

struct fl_log_to fl_log_to_stderr(struct fl_io *io);   /* borrows io */
