/* A controller for tests and figures: the role of `fairlead controller` with the capability of demo_lamp.h.
 *
 *     demo_controller controller FLAGS     as `fairlead controller`
 *     demo_controller crd                  the CustomResourceDefinition of its kind, as JSON
 */
#include "demo_lamp.h"
#include "cmd/program.h"
#include <stdio.h>
#include <unistd.h>

static const struct fl_option options[] = {
	FL_ROLE_OPTIONS(struct fl_role_flags_of, flags, "[::]:8080"),
	FL_ROLE_LEASE_OPTIONS(struct fl_role_flags_of, flags, "demo-controller"),
	FL_ROLE_WEBHOOK_OPTIONS(struct fl_role_flags_of, flags),
};

static int controller(const struct fl_call *call, struct fl_err *err)
{
	return fl_role_main(&lamp_role, &((const struct fl_role_flags_of *)call->config)->flags, err);
}

static int crd(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_CRD_MAX);
	const struct fl_kind *kind = &lamp_kind;
	struct fl_jw w = FL_JW(&text);

	(void)call;
	fl_kind_crd(&kind, 1, &w);
	fl_buf_char(&text, '\n');
	return fl_print(&text, err);
}

static const struct fl_command controller_verb = {
	"controller", "Plan for Lamps.", NULL, FL_COMMAND_OPTIONS(options, struct fl_role_flags_of), .run = controller,
};
static const struct fl_command crd_verb = { "crd", "Print the CustomResourceDefinition of a Lamp.", .run = crd };
static const struct fl_command *const verbs[] = { &controller_verb, &crd_verb };
static const struct fl_program program = {
	.name = "demo_controller", .says = "A controller for tests.", .env_prefix = "FAIRLEAD_", .commands = verbs,
	.count = FL_LEN(verbs),
};

int main(int argc, char **argv)
{
	const struct fl_args args = { (const char *const *)argv + 1, argc > 0 ? (uint32_t)argc - 1 : 0,
				      (const char *const *)environ };
	FL_AUTO(fl_call) struct fl_call call = { .help = false };
	struct fl_err err = { .text = "" };
	int r = fl_call_parse(&call, &program, &args, &err);

	if (r >= 0 && call.help) {
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_HELP_MAX);

		fl_help(&program, call.command, &text);
		r = fl_print(&text, &err);
	} else if (r >= 0) {
		r = call.command->run(&call, &err);
	}
	if (r < 0)
		(void)fprintf(stderr, "demo_controller: %s\n", err.text);
	return r < 0 ? 1 : 0;
}
