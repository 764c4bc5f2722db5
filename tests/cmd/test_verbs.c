#include "cmd/program.h"
#include "test.h"

TEST(every_verb_of_the_program_is_sound)
{
	struct fl_err err = { .text = "" };

	OK_ERR(fl_program_check(&fl_program, &err), &err);
	CHECK(fl_program.count > 0);
}

TEST(every_verb_can_be_explained_within_a_terminal)
{
	for (uint32_t i = 0; i < fl_program.count; i++) {
		FL_AUTO(fl_buf) struct fl_buf help = FL_BUF(FL_HELP_MAX), manual = FL_BUF(FL_HELP_MAX);
		struct fl_str rest, line;

		test_row(fl_program.commands[i]->name);
		fl_help(&fl_program, fl_program.commands[i], &help);
		OK(fl_buf_check(&help, "help", NULL));
		fl_help_markdown(&fl_program, fl_program.commands[i], &manual);
		OK(fl_buf_check(&manual, "manual", NULL));
		for (rest = fl_buf_view(&help); fl_str_split(&rest, '\n', &line);)
			CHECK(line.len <= FL_HELP_COLUMNS);
	}
}

static const struct {
	const char *says, *row;
} defaults[] = {
	{ "a default that the settings apply", "single or mixed. | default `none`, `MIG_STRATEGY` |" },
	{ "one of a list", "default `cdi-cri`, may be given many times, `DEVICE_LIST_STRATEGY` |" },
	{ "a yes-or-no without one is false", "default `false`, `FAIRLEAD_STARTUP_TAINT` |" },
	{ "one that is on", "default `true`, `FAIRLEAD_MAKE_DEVICE_NODES` |" },
	{ "one of the command's own", "default `/var/lib/fairlead`, `FAIRLEAD_STATE_DIR` |" },
	{ "none", "one. | `FAIRLEAD_CONFIG_DIR` |" },
};

TEST(help_of_the_agent_has_every_default)
{
	FL_AUTO(fl_buf) struct fl_buf manual = FL_BUF(FL_HELP_MAX);

	fl_help_markdown(&fl_program, &fl_cmd_node, &manual);
	OK(fl_buf_check(&manual, "manual", NULL));
	EACH_ROW (row, defaults)
		CHECK(memmem(manual.p, manual.len, row->row, strlen(row->row)));
}

static const struct {
	const char *says;
	const char *argv[4];
	const struct fl_command *command;
} rows[] = {
	{ "version", { "version" }, &fl_cmd_version },
	{ "version for programs", { "version", "-o", "json" }, &fl_cmd_version },
	{ "the same, shorter", { "version", "--json" }, &fl_cmd_version },
	{ "version as everybody writes it", { "--version" }, &fl_cmd_version },
	{ "help of a verb", { "help", "version" }, &fl_cmd_help },
	{ "the manual", { "help", "--markdown" }, &fl_cmd_help },
};

TEST(what_a_person_types)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_call) struct fl_call call = { .help = false };
		struct fl_args args = { .argv = row->argv };
		struct fl_err err = { .text = "" };

		while (row->argv[args.argc])
			args.argc++;
		OK_ERR(fl_call_parse(&call, &fl_program, &args, &err), &err);
		CHECK(call.command == row->command);
		CHECK(!call.help);
	}
}
