#include "cmd/program.h"

struct help {
	struct fl_strs verb;
	bool markdown, bash;
};

static const struct fl_option options[] = {
	FL_OPT_STRS(struct help, verb, "VERB", "The verb to explain; all of them in short when there is none.",
		.operand = true),
	FL_OPT_BOOL(struct help, markdown, "markdown", "Print the manual as Markdown.", .env = ""),
	FL_OPT_BOOL(struct help, bash, "bash", "Print what makes bash complete verbs and options.", .env = ""),
};

static const struct fl_command *command_of(const struct fl_call *call, struct fl_err *err)
{
	const struct help *config = call->config;
	const struct fl_command *command = NULL;
	const char *words[2];
	uint32_t count = 0, used = 0;

	/* Operands come from argv, so they are terminated. */
	for (; count < config->verb.len && count < FL_LEN(words); count++)
		words[count] = config->verb.at[count].p;
	command = fl_command_find(call->program, words, count, &used);
	if (!command || used != config->verb.len) {
		(void)fl_fail(err, FL_E_NOTFOUND, "there is no help for '%s%s%s'; `%s help` lists the verbs", words[0],
			      count > 1 ? " " : "", count > 1 ? words[1] : "", call->program->name);
		return NULL;
	}
	return command;
}

static int help(const struct fl_call *call, struct fl_err *err)
{
	const struct help *config = call->config;
	const struct fl_command *command = NULL;
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_HELP_MAX);

	if (config->verb.len) {
		command = command_of(call, err);
		if (!command)
			return -FL_E_NOTFOUND;
	}
	if (config->bash)
		fl_help_bash(call->program, &buf);
	else if (!config->markdown)
		fl_help(call->program, command, &buf);
	else if (command)
		fl_help_markdown(call->program, command, &buf);
	else
		for (uint32_t i = 0; i < call->program->count; i++) {
			if (call->program->commands[i]->hidden)
				continue;
			fl_buf_str(&buf, buf.len ? FL_S("\n") : FL_S(""));
			fl_help_markdown(call->program, call->program->commands[i], &buf);
		}
	return fl_print(&buf, err);
}

const struct fl_command fl_cmd_help = {
	"help", "Explain a verb, or list all.", NULL, FL_COMMAND_OPTIONS(options, struct help), .run = help,
};
