/* test_io.h - a real fl_io whose n-th call fails.
 *
 *     FL_AUTO(fl_io) struct fl_io *io = test_io();
 *     GOT(io);
 *     OK_ERR(test_op(io, &connect.op), &err);
 *
 * Under --torture each call of the seam, blocking ones included, fails once with an error that it can really give, or
 * reads or writes less than asked for. Jobs run on the test's own thread, so that the n-th call is the same one in
 * every round: what must see a worker that is stuck takes fl_posix_new. Fds that a test leaves open are closed with the
 * io.
 */
#pragma once
#include "io/io.h"

struct fl_io *test_io(void);                /* NULL when refused */
int test_io_open_fds(struct fl_io *io);     /* how many fds were given out and not closed */

/* Turns until the operation is over; its result. One that does not end in time has failed the test, torture or not: a
 * failure must be told. `done` is set by this. */
int64_t test_op(struct fl_io *io, struct fl_op *op);
void test_op_done(struct fl_op *op);        /* a done() that does nothing */

/* Turns until *count is at least `want`; 0, or a failed test as above. */
int test_turns(struct fl_io *io, const int *count, int want);

/* Turns for so long. */
int test_pause(struct fl_io *io, uint64_t ns);

/* A new directory, its path ending without a slash; removed with all that is in it when the program ends. */
const char *test_dir(void);
/* DIR/NAME, in one of a few static buffers. */
const char *test_path(const char *dir, const char *name);
/* Straight to the disk, past the seam: false when it cannot. */
bool test_write_file(const char *path, const char *text);
/* What the file holds, in a static buffer; "(none)" without a file. */
struct fl_str test_read_file(const char *path);
