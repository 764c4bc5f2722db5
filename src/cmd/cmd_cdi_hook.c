/* What a container runtime starts in a container that is about to begin; nobody types it. */
#include "cmd/program.h"
#include "io/posix.h"
#include "node/hook.h"
#include <stdlib.h>

static const struct fl_option options[] = {
	FL_OPT_STRS(struct fl_hook, links, "link", "A link to a library that lies beside it: NAME::/FOLDER/LINK.",
		    .env = "", .value = "LINK"),
	FL_OPT_STRS(struct fl_hook, folders, "folder", "A folder of the driver's libraries.", .env = "",
		    .value = "FOLDER"),
};

/* Whoever looks at the environment further down finds none: it may be the image's. */
static int cdi_hook(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_io) struct fl_io *io = clearenv() == 0 ? fl_posix_new(err) : NULL;

	if (!io)
		return -(int)err->code;
	return fl_hook_run(fl_io_fs(io), 0, call->config, err);
}

const struct fl_command fl_cmd_cdi_hook = {
	"cdi-hook", "Make links to the driver's libraries in a container that begins.", NULL,
	FL_COMMAND_OPTIONS(options, struct fl_hook),
	.hidden = true,
	.run = cdi_hook,
};
