#include "cmd/program.h"
#include <stdio.h>
#include <unistd.h>

/* What a shell gets: 2 says that the command line was wrong, 1 that what it asked for failed. */
static int fail(int code, const struct fl_err *err)
{
	fprintf(stderr, "fairlead: %s\n", err->text);
	return code == -FL_E_INVALID ? 2 : 1;
}

static int print_help(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_HELP_MAX);

	fl_help(call->program, call->command, &buf);
	return fl_print(&buf, err);
}

int main(int argc, char **argv)
{
	const struct fl_args args = {
		.argv = (const char *const *)argv + 1,
		.argc = argc > 0 ? (uint32_t)argc - 1 : 0,
		.env = (const char *const *)environ,
	};
	FL_AUTO(fl_call) struct fl_call call = { .help = false };
	struct fl_err err = { .text = "" };
	int result = fl_call_parse(&call, &fl_program, &args, &err);

	if (result < 0)
		return fail(result, &err);
	result = call.help ? print_help(&call, &err) : call.command->run(&call, &err);
	if (result < 0)
		(void)fail(result, &err);
	return result < 0 ? 1 : result;
}
