/* fairlead-cdi-hook: the verb cdi-hook as a program of its own, static and small, so that any host can run it: one
 * whose C library is another among them. The agent carries it inside and installs it (node/host/hook_install.h). */
#include "io/posix.h"
#include "node/hook/hook.h"
#include "node/host/hook_install.h"
#include <stdio.h>

static const struct fl_option rows[] = { FL_HOOK_OPTIONS };
static const struct fl_options options = { rows, FL_LEN(rows), "" };

__attribute__((section(FL_HOOK_SECTION))) static const char version[] = FL_VERSION;

/* A container's hook looks nobody's name up. */
int fl_posix_lookup(const struct fl_fs *fs, const char *host, struct fl_addr *ret, unsigned max)
{
	(void)fs;
	(void)host;
	(void)ret;
	(void)max;
	return -ENOSYS;
}

static void warn(const char *text)
{
	fprintf(stderr, "fairlead-cdi-hook: %s\n", text);
}

static int fail(const struct fl_err *err, int status)
{
	warn(err->text);
	return status;
}

/* The words of a hook are "fairlead cdi-hook --link ...", for `fairlead` itself could stand in the program's place. */
int main(int argc, char **argv)
{
	int skip = argc > 1 && strcmp(argv[1], "cdi-hook") == 0 ? 2 : 1;
	const struct fl_args args = { .argv = (const char *const *)argv + (argc < skip ? argc : skip),
				      .argc = argc > skip ? (uint32_t)(argc - skip) : 0 };
	struct fl_hook hook = { 0 };
	struct fl_err err = { 0 };
	bool help = false;

	if (fl_options_parse(&options, &args, &hook, &help, &err) < 0)
		return fail(&err, 2);
	if (help) {
		printf("fairlead-cdi-hook %s: prepares a container that begins for the driver's libraries; the "
		       "container runtime starts it.\n",
		       version);
		return 0;
	}
	hook.warn = warn;
	return fl_hook_run(&fl_posix_fs, 0, &hook, &err) < 0 ? fail(&err, 1) : 0;
}
