/* The process that the agent starts for the vendor's library to live in; nobody types it. */
#include "cmd/program.h"
#include "node/gpu/child.h"

struct gpu {
	const char *proc;
	bool cuda;
};

static const struct fl_option options[] = {
	FL_OPT_PATH(struct gpu, proc, "proc", "Where the kernel tells of its drivers.", .fallback = "/proc", .env = ""),
	FL_OPT_BOOL(struct gpu, cuda, "cuda", "A check makes a CUDA context.", .env = ""),
};

static int gpu(const struct fl_call *call, struct fl_err *err)
{
	const struct gpu *config = call->config;
	const struct fl_gpu_child_options child = { config->proc, config->cuda };
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(err);

	if (!io)
		return -(int)err->code;
	return fl_gpu_child_run(io, &child, err);
}

const struct fl_command fl_cmd_gpu = {
	"gpu", "Ask the GPU driver, for the agent that started this.", NULL, FL_COMMAND_OPTIONS(options, struct gpu),
	.hidden = true,
	.run = gpu,
};
