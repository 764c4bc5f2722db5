/* call.h - inside the fake driver: how a call begins and ends, and what a handle is.
 *
 * Every exported function is declared by FAKE_CALL, which takes its type from nv_abi.h, and begins with one of the
 * begin_*: counts the call, lets an ordered fault happen, finds what the handle means, and holds the lock until the
 * variable goes out of scope.
 *
 *     FAKE_CALL(minor, nvmlDeviceGetMinorNumber);
 *     int nvmlDeviceGetMinorNumber(struct fl_nv_device *d, uint32_t *minor)
 *     {
 *             FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(minor), d);
 *             if (c.code == 0)
 *                     *minor = c.gpu->minor;
 *             return c.code;
 *     }
 *
 * A handle is an address in an area that is never touched: which GPU, instance and generation of it is the offset. So a
 * handle of an instance that is gone is known as such, and one of nobody's is INVALID_ARGUMENT, where the real library
 * would fall.
 */
#pragma once
#include "fake/nvml/state.h"

#define FAKE_NO_(result, member, arguments, ...) FAKE_NO_##member,
enum { FL_NV_CALLS(FAKE_NO_) FAKE_NO_COUNT_ };
#define FAKE_NO(member) FAKE_NO_##member

/* Declares the function as the member is declared: one that is written otherwise does not compile. */
#define FAKE_CALL(member, symbol) \
	__attribute__((visibility("default"))) __typeof__(*((struct fl_nv_calls *)0)->member) symbol

/* An older name for the same. */
#define FAKE_ALSO(symbol, newer) \
	__attribute__((visibility("default"), alias(#newer))) __typeof__(newer) symbol

struct call {
	struct fake_state *state;       /* locked; NULL: nothing is held */
	int code;                       /* not 0: answer this and do nothing */
	uint32_t index;                 /* of gpu in the state */
	struct fake_gpu *gpu;
	struct fake_gi *gi;             /* of the instance, or of the MIG device; else NULL */
	struct fake_ci *ci;
};
void fake_leave(struct call *call);
#define FAKE_SCOPE __attribute__((cleanup(fake_leave)))

struct call begin(int no);                                       /* no device; wants init */
struct call begin_gpu(int no, struct fl_nv_device *d);           /* a whole GPU; NOT_SUPPORTED on a MIG device */
struct call begin_any(int no, struct fl_nv_device *d);           /* either; gi and ci tell which */
struct call begin_mig(int no, struct fl_nv_device *d);           /* a MIG device; INVALID_ARGUMENT on a whole GPU */
struct call begin_gi(int no, struct fl_nv_gi *gi);
struct call begin_ci(int no, struct fl_nv_ci *ci);

/* A second handle of the same call; its code. */
int also_gpu(const struct call *call, struct fl_nv_device *d, uint32_t *ret_index);

/* May this process change the card? NO_PERMISSION or 0. */
int may_change(const struct call *call);

struct fl_nv_device *gpu_handle(uint32_t index);
struct fl_nv_device *mig_handle(uint32_t index, const struct fake_gpu *gpu, const struct fake_gi *gi,
				const struct fake_ci *ci);
struct fl_nv_gi *gi_handle(uint32_t index, const struct fake_gpu *gpu, const struct fake_gi *gi);
struct fl_nv_ci *ci_handle(uint32_t index, const struct fake_gpu *gpu, const struct fake_gi *gi,
			   const struct fake_ci *ci);

/* Text as the driver hands it out: INSUFFICIENT_SIZE when it does not fit with its end. */
int put_text(char *to, uint32_t size, const char *text);

/* The `index`th that is there; NULL. And back. */
struct fake_gpu *gpu_at(struct fake_state *state, uint32_t index, uint32_t *ret_number);
uint32_t index_of(const struct fake_state *state, uint32_t number);
