#include "plan/gpu/extras.h"

#define S(text) FL_S_INIT(text)

const struct fl_gpu_extra fl_gpu_extras[FL_EXTRA_COUNT_] = {
	[FL_EXTRA_GDS] = { S("gds"), S("all"), S("NVIDIA_GDS"), S("enabled"), { S("/dev/nvidia-fs") },
			   "GPUDirect Storage", "GDSMissing",
			   "there is no /dev/nvidia-fs0: load the module nvidia_fs, or switch gds-enabled off" },
	[FL_EXTRA_MOFED] = { S("mofed"), S("all"), S("NVIDIA_MOFED"), S("enabled"),
			     { S("/dev/infiniband/uverbs"), S("/dev/infiniband/rdma_cm") }, "MOFED", "MOFEDMissing",
			     "there is no /dev/infiniband/uverbs0: load the network driver and ib_uverbs, or switch "
			     "mofed-enabled off" },
	[FL_EXTRA_GDRCOPY] = { S("gdrcopy"), S("all"), S("NVIDIA_GDRCOPY"), S("enabled"), { S("/dev/gdrdrv") },
			       "GDRCopy", "GDRCopyMissing",
			       "there is no /dev/gdrdrv: load the module gdrdrv, or switch gdrcopy-enabled off" },
	[FL_EXTRA_IMEX] = { S("imex-channel"), S("0"), S("NVIDIA_IMEX_CHANNELS"), S("0"),
			    { S("/dev/nvidia-caps-imex-channels/channel0") }, "IMEX channel 0", "IMEXChannelMissing",
			    "there is no /dev/nvidia-caps-imex-channels/channel0: load nvidia with "
			    "NVreg_CreateImexChannel0=1, or leave imex-channel-ids out" },
};

bool fl_gpu_extra_has(const struct fl_gpu_extra *extra, struct fl_str node)
{
	for (uint32_t i = 0; i < FL_LEN(extra->nodes); i++)
		if (extra->nodes[i].len && fl_str_starts(node, extra->nodes[i]))
			return true;
	return false;
}

bool fl_gpu_extra_there(const struct fl_gpu_extra *extra, const struct fl_host *host)
{
	for (uint32_t i = 0; host && i < host->nodes.len; i++)
		if (fl_gpu_extra_has(extra, host->nodes.at[i].path))
			return true;
	return false;
}

struct fl_str fl_gpu_extra_vendor(struct fl_str cdi_kind)
{
	int64_t slash = fl_str_find(cdi_kind, '/');

	return slash < 0 ? cdi_kind : fl_str_sub(cdi_kind, 0, (uint32_t)slash);
}

struct fl_str fl_gpu_extra_kind(const struct fl_gpu_extra *extra, struct fl_str cdi_kind, struct fl_arena *arena)
{
	return fl_arena_printf(arena, "%.*s/%.*s", FL_ARG(fl_gpu_extra_vendor(cdi_kind)), FL_ARG(extra->class));
}
