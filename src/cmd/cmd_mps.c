/* The program that the agent runs to start, find or tidy up after an MPS control daemon; nobody types it. */
#include "cmd/program.h"
#include "io/posix.h"
#include "node/mps/launch.h"

static const struct fl_option options[] = {
	FL_OPT_STR(struct fl_mps_launch, what, "what", "start, find or clean.", .required = true, .env = ""),
	FL_OPT_PATH(struct fl_mps_launch, root, "root", "Directory of MPS.", .required = true, .env = ""),
	FL_OPT_PATH(struct fl_mps_launch, resource, "resource", "The resource's name.", .required = true, .env = ""),
	FL_OPT_PATH(struct fl_mps_launch, program, "program", "The driver's control daemon.", .required = true,
		    .env = ""),
	FL_OPT_PATH(struct fl_mps_launch, libraries, "libraries", "Directory of the driver's libraries.", .env = ""),
	FL_OPT_PATH(struct fl_mps_launch, proc, "proc", "Where the kernel tells of processes.", .fallback = "/proc",
		    .env = ""),
};

static int mps(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(8 * FL_KIB);
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(err);
	int r;

	if (!io)
		return -(int)err->code;
	r = fl_mps_launch(fl_io_fs(io), call->config, &out, err);
	return r < 0 ? r : fl_print(&out, err);
}

const struct fl_command fl_cmd_mps = {
	"mps", "Start an MPS control daemon, for the agent that started this.", NULL,
	FL_COMMAND_OPTIONS(options, struct fl_mps_launch),
	.hidden = true,
	.run = mps,
};
