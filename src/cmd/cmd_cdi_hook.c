/* What a container runtime starts in a container that is about to begin; nobody types it. The agent installs a static
 * program of the same parts (src/cmd/hook_main.c). */
#include "cmd/program.h"
#include "io/posix.h"
#include "node/hook/hook.h"
#include <stdio.h>
#include <stdlib.h>

static const struct fl_option options[] = { FL_HOOK_OPTIONS };

static void warn(const char *text)
{
	fprintf(stderr, "fairlead: %s\n", text);
}

/* Whoever looks at the environment further down finds none: it may be the image's. */
static int cdi_hook(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_io) struct fl_io *io = clearenv() == 0 ? fl_posix_new(err) : NULL;
	struct fl_hook *hook = call->config;

	if (!io)
		return -(int)err->code;
	hook->warn = warn;
	return fl_hook_run(fl_io_fs(io), 0, hook, err);
}

const struct fl_command fl_cmd_cdi_hook = {
	"cdi-hook", "Prepare a container that begins for the driver's libraries.", NULL,
	FL_COMMAND_OPTIONS(options, struct fl_hook),
	.hidden = true,
	.run = cdi_hook,
};
