/* extras.h - extra devices that containers get with their GPUs, where the settings enable them: GPUDirect Storage,
 * MOFED, GDRCopy, an IMEX channel. As with NVIDIA's plugin, each is a CDI kind of its own, of the same vendor as the
 * GPUs' kind.
 *
 * They are served where the host has their device nodes. A condition of the Node reports a missing one, with cause and
 * remedy. It does not hold back GPUs, unless it is a required IMEX channel.
 */
#pragma once
#include "api/cdi.h"
#include "plan/plan.h"

struct fl_gpu_extra {
	struct fl_str class, device;           /* "gds", "all": as in k8s.device-plugin.nvidia.com/gds=all */
	struct fl_str env;                     /* NVIDIA_GDS=enabled, for NVIDIA's runtime in legacy mode */
	struct fl_str env_value;
	struct fl_str nodes[2];                /* prefixes of its nodes' paths; the second one may be empty */
	const char *words, *reason, *remedy;   /* when it is missing */
};
extern const struct fl_gpu_extra fl_gpu_extras[FL_EXTRA_COUNT_];

bool fl_gpu_extra_has(const struct fl_gpu_extra *extra, struct fl_str node);

/* Whether the last scan of the host found its nodes; of GDS and MOFED, any node. */
bool fl_gpu_extra_there(const struct fl_gpu_extra *extra, const struct fl_host *host);

/* The vendor: the part of a CDI kind before the slash. The extra device's kind of that vendor; .p NULL: no memory. */
struct fl_str fl_gpu_extra_vendor(struct fl_str cdi_kind);
struct fl_str fl_gpu_extra_kind(const struct fl_gpu_extra *extra, struct fl_str cdi_kind, struct fl_arena *arena);
