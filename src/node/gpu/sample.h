/* sample.h - telemetry of a card: NVML's calls in, a Sample out. For child processes only.
 *
 * What the driver does not know or refuses is left out of the Sample, never guessed. A card that cannot be used any
 * more has none (`lost`). Only failures of the driver as a whole are failures here, with the codes of fl_nv_fail.
 */
#pragma once
#include "node/gpu/child.h"
#include "node/gpu/nv_load.h"
#include "node/gpu/pci.h"

/* What the profiling metrics are counted from: the sample before. */
struct fl_gpu_gpm {
	char address[FL_PCI_ADDRESS];
	int32_t gi;                    /* -1: the whole GPU */
	struct fl_nv_gpm_sample *last, *next;
	bool has_last;
	uint64_t at;                   /* when `last` was taken */
};

struct fl_gpu_sampler {
	struct fl_io *io;
	struct fl_nv *nv;              /* borrowed, open */

	/* Its own, while the driver stays. */
	FL_VEC(struct fl_gpu_gpm) gpm;
	struct fl_nv_gpm_metrics *metrics;     /* 20 KiB: NULL until the first are wanted */
	struct { char address[FL_PCI_ADDRESS]; bool is; } gpm_known[FL_GPU_CARDS_MAX];
	uint32_t gpm_known_len;
};
void fl_gpu_sampler_free(struct fl_gpu_sampler *sampler);      /* before the library is closed */

int fl_gpu_sample_card(struct fl_gpu_sampler *sampler, struct fl_str address, const struct fl_dcgm_set *wanted,
		       struct fl_arena *arena, struct fl_gpu_sample *ret, struct fl_err *err) FL_MUSTUSE;

/* ---- for sample.c and sample_gpm.c ---- */
struct fl_gpu_sampling {
	struct fl_gpu_sampler *sampler;
	const struct fl_nv *nv;
	struct fl_nv_device *device;
	const char *address;
	const struct fl_dcgm_set *wanted;
	struct fl_arena *arena;
	struct fl_gpu_sample *ret;
	struct fl_nv_memory_v2 memory;
	int over;                      /* a code that ends it; 0: go on */
	bool nomem, mig;
};

/* Has the call given a value? Codes that end the sample are kept. */
bool fl_gpu_sample_gave(struct fl_gpu_sampling *s, int code);
/* The next reading, with room for all fields; NULL: no memory. */
struct fl_gpu_reading *fl_gpu_sample_reading(struct fl_gpu_sampling *s);
void fl_gpu_sample_put(struct fl_gpu_reading *reading, uint32_t id, double value);   /* scaled by the field's row */
/* Profiling metrics of the GPU, or of a GPU instance, since the sample before. */
void fl_gpu_sample_gpm(struct fl_gpu_sampling *s, struct fl_gpu_reading *reading, int32_t gi);
