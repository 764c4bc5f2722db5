/* extras.h - what containers get beside their cards, where somebody has asked for it: GPUDirect Storage, MOFED,
 * GDRCopy, an IMEX channel. As NVIDIA's plugin has them: each is a CDI kind of its own, of the same vendor as the
 * cards'.
 *
 * They are served where the host has their device nodes. One that is missing is said on the Node (why and what to do),
 * and does not hold up cards, unless it is an IMEX channel that is required.
 */
#pragma once
#include "api/cdi.h"
#include "plan/plan.h"

struct fl_gpu_extra {
	struct fl_str class, device;           /* "gds", "all": as in k8s.device-plugin.nvidia.com/gds=all */
	struct fl_str env;                     /* NVIDIA_GDS=enabled, for the runtime of the old kind */
	struct fl_str env_value;
	struct fl_str nodes[2];                /* with what the paths of its nodes begin; the second one may be empty */
	const char *words, *reason, *remedy;   /* of one that is missing */
};
extern const struct fl_gpu_extra fl_gpu_extras[FL_EXTRA_COUNT_];

bool fl_gpu_extra_has(const struct fl_gpu_extra *extra, struct fl_str node);

/* Are its nodes there, as the host was last looked at? Of GDS and MOFED, any. */
bool fl_gpu_extra_there(const struct fl_gpu_extra *extra, const struct fl_host *host);

/* The part of a CDI kind before the slash, and the extra's kind with it; .p NULL: no memory. */
struct fl_str fl_gpu_extra_vendor(struct fl_str cdi_kind);
struct fl_str fl_gpu_extra_kind(const struct fl_gpu_extra *extra, struct fl_str cdi_kind, struct fl_arena *arena);
