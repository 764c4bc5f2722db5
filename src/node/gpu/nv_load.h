/* nv_load.h - the driver's library in this process: opened, released, and what its answers mean.
 *
 *     struct fl_nv nv = { 0 };
 *     r = fl_nv_open(&nv, "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", err);
 *     r = FL_NV(&nv, name, device, text, sizeof text);
 *     if (fl_nv_means(r) == FL_NV_IS_FINE) ...
 *     fl_nv_close(&nv);
 *
 * For child processes only: any call may block for ever, or crash. A symbol that the library does not have answers
 * FL_NV_FUNCTION_NOT_FOUND, so callers need not look.
 */
#pragma once
#include "base/err.h"
#include "node/gpu/nv_abi.h"

struct fl_nv {
	void *library;          /* NULL: it is not open */
	struct fl_nv_calls call;
};

#define FL_NV(nv, member, ...) \
	((nv)->call.member ? (nv)->call.member(__VA_ARGS__) : (int)FL_NV_FUNCTION_NOT_FOUND)

/* What a caller does with an answer. */
enum fl_nv_meaning {
	FL_NV_IS_FINE,
	FL_NV_IS_ABSENT,        /* this card, driver or right has no such value: leave it out */
	FL_NV_IS_OLDER,         /* the driver does not know this version of the struct: try an older one */
	FL_NV_IS_NO_DRIVER,     /* nothing to talk to: let go, try again later */
	FL_NV_IS_REPLACED,      /* library and kernel module are of two versions: a new process is needed */
	FL_NV_IS_DENIED,
	FL_NV_IS_NO_SUCH,       /* no card, instance or slot of that name; or a list that has grown */
	FL_NV_IS_LOST,          /* the card cannot be used any more */
	FL_NV_IS_BUSY,
	FL_NV_IS_QUIET,         /* nothing came in time */
	FL_NV_IS_FAILED,        /* anything else: try again, then take it for broken */
};
enum fl_nv_meaning fl_nv_means(int code);

/* "nvmlInit_v2: GPU_IS_LOST (15): ..." in `err`; the code follows from the meaning: FL_E_NOTFOUND no driver,
 * FL_E_UNSUPPORTED replaced, FL_E_DENIED, FL_E_CLOSED lost, else FL_E_IO. */
int fl_nv_fail(const struct fl_nv *nv, int code, const char *what, struct fl_err *err);

/* Load the library of that path and initialise it. On failure nothing is held. FL_E_NOTFOUND: there is no such file, or
 * no driver behind it. One that is open already is left as it is. */
int fl_nv_open(struct fl_nv *nv, const char *path, struct fl_err *err) FL_MUSTUSE;
void fl_nv_close(struct fl_nv *nv);     /* one that is not open is left alone */

static inline void fl_nv_auto_(struct fl_nv *nv)
{
	fl_nv_close(nv);
}
