/* read.h - a card as the driver tells of it: NVML's calls in, a Card out. For child processes only.
 *
 * Every call may block or crash. What the driver does not know or does not say is left out of the Card; what says that
 * the card cannot be used any more ends the reading, and the Card says so (`answer`, `message`). Only failures of the
 * driver as a whole are failures here, with the codes of fl_nv_fail.
 */
#pragma once
#include "io/fs.h"
#include "node/gpu/child.h"
#include "node/gpu/nv_load.h"
#include "node/gpu/nv_mig.h"

struct fl_gpu_reader {
	struct fl_nv *nv;                    /* borrowed, open */
	const struct fl_fs *fs;
	const char *proc;                    /* "/proc" */

	/* Its own: what does not change while the driver stays. */
	struct fl_mig_caps caps;
	bool has_caps;
	FL_VEC(struct fl_gpu_profiles) profiles;
};
void fl_gpu_reader_free(struct fl_gpu_reader *reader);

/* The driver's version, and CUDA's. */
int fl_gpu_read_driver(struct fl_gpu_reader *reader, struct fl_arena *arena, struct fl_driver *ret,
		       struct fl_err *err) FL_MUSTUSE;

/* Addresses of all cards that the driver lists, if there are more than `known`; else none. */
int fl_gpu_read_list(struct fl_gpu_reader *reader, uint32_t known, struct fl_arena *arena, struct fl_str_list *ret,
		     struct fl_err *err) FL_MUSTUSE;

int fl_gpu_read_card(struct fl_gpu_reader *reader, struct fl_str address, struct fl_arena *arena,
		     struct fl_card *ret, struct fl_err *err) FL_MUSTUSE;

/* How these cards are joined, each pair once. */
int fl_gpu_read_links(struct fl_gpu_reader *reader, const struct fl_str_list *addresses, struct fl_arena *arena,
		      struct fl_gpu_told *ret, struct fl_err *err) FL_MUSTUSE;

/* The driver's handle of a card; a code of NVML's. */
int fl_gpu_handle(const struct fl_nv *nv, struct fl_str address, struct fl_nv_device **ret);

/* What the driver says is to be done with the card; FL_RECOVERY_NONE where it does not know the question. */
enum fl_recovery fl_gpu_recovery(const struct fl_nv *nv, struct fl_nv_device *device);

/* A profile of GPU instances by its number, whatever version of the struct the driver knows; a code of NVML's. */
int fl_gpu_ask_profile(const struct fl_nv *nv, struct fl_nv_device *device, uint32_t number,
		       struct fl_nv_gi_profile_v3 *ret);
