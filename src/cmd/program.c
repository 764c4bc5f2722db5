#include "cmd/program.h"
#include <errno.h>
#include <stdio.h>

FL_NAMES(fl_output_names, FL_OUTPUT_COUNT_, [FL_OUTPUT_TEXT] = "text", [FL_OUTPUT_JSON] = "json");

#define ADDRESS(name) &fl_cmd_##name,
static const struct fl_command *const verbs[] = { FL_VERBS(ADDRESS) };

const struct fl_program fl_program = {
	.name = "fairlead",
	.says = "A GPU control plane for Kubernetes: finds the GPUs of a cluster, proves that each is ready and hands "
		"them out.",
	.env_prefix = "FAIRLEAD_",
	.commands = verbs,
	.count = FL_LEN(verbs),
};

int fl_print(const struct fl_buf *buf, struct fl_err *err)
{
	if (fl_buf_check(buf, "output", err) < 0)
		return -(int)buf->failed;
	if (printf("%.*s", (int)buf->len, buf->len ? buf->p : "") < 0 || fflush(stdout) != 0)
		return fl_fail_sys(err, errno, "stdout");
	return 0;
}
