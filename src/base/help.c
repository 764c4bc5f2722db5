#include "base/command.h"
#include "base/units.h"
#include <inttypes.h>

/* Where sentences begin, beside what they are about; longer names take a line of their own. */
static const uint32_t column = 30;

/* ---- text in columns ---- */

/* Where a line with this first word begins: at `indent`, or further left if a long path would not fit there. */
static uint32_t line_start(struct fl_str word, uint32_t indent)
{
	if (indent + word.len <= FL_HELP_COLUMNS)
		return indent;
	return word.len < FL_HELP_COLUMNS ? FL_HELP_COLUMNS - word.len : 0;
}

/* Words from `at` on, broken before FL_HELP_COLUMNS, further lines begun at `indent`. The cursor stands at `at`. */
static void put_wrapped(struct fl_buf *buf, struct fl_str text, uint32_t at, uint32_t indent)
{
	struct fl_str word;
	bool first = true;

	while (fl_str_split(&text, ' ', &word)) {
		if (!first && at + 1 + word.len > FL_HELP_COLUMNS) {
			at = line_start(word, indent);
			fl_buf_printf(buf, "\n%*s", (int)at, "");
			first = true;
		}
		fl_buf_printf(buf, "%s%.*s", first ? "" : " ", FL_ARG(word));
		at += word.len + !first;
		first = false;
	}
	fl_buf_char(buf, '\n');
}

/* Paragraphs, each line of the source text taken as it runs. */
static void put_about(struct fl_buf *buf, const char *about)
{
	struct fl_str rest = fl_str(about), line;

	while (fl_str_split(&rest, '\n', &line))
		put_wrapped(buf, line, 0, 0);
}

static void put_row(struct fl_buf *buf, struct fl_str left, struct fl_str right)
{
	fl_buf_str(buf, left);
	if (left.len + 2 > column)
		fl_buf_printf(buf, "\n%*s", (int)column, "");
	else
		fl_buf_printf(buf, "%*s", (int)(column - left.len), "");
	put_wrapped(buf, right, column, column);
}

/* ---- what there is to say of an option ---- */

/* "json|text", "1-64": what may stand for the value. */
static void put_value(struct fl_buf *buf, const struct fl_option *row)
{
	if (row->value)
		fl_buf_str(buf, fl_str(row->value));
	else if (row->kind != FL_OPTION_ENUM)
		fl_buf_str(buf, fl_str(fl_name(&fl_option_kind_names, (int)row->kind)));
	else
		for (uint32_t i = 0; i < row->names->len; i++)
			fl_buf_printf(buf, "%s%s", i ? "|" : "", row->names->at[i]);
}

static void put_left(struct fl_buf *buf, const struct fl_option *row)
{
	if (row->operand) {
		fl_buf_str(buf, fl_str(row->name));
		return;
	}
	if (row->letter)
		fl_buf_printf(buf, "-%c, ", row->letter);
	fl_buf_str(buf, row->kind == FL_OPTION_BOOL ? FL_S("--[no-]") : FL_S("--"));
	fl_buf_str(buf, fl_str(row->name));
	if (row->kind == FL_OPTION_BOOL)
		return;
	fl_buf_char(buf, ' ');
	put_value(buf, row);
}

static void put_number(struct fl_buf *buf, const struct fl_option *row, int64_t value)
{
	if (row->kind == FL_OPTION_DURATION)
		fl_buf_duration(buf, value);
	else
		fl_buf_printf(buf, "%" PRId64, value);
}

/* "default 4, 1 to 64, FAIRLEAD_WORKERS"; each name and value in `quote`. */
static void put_facts(struct fl_buf *buf, const struct fl_options *options, const struct fl_option *row,
		      const char *quote)
{
	const char *usual = row->fallback || !options->usual ? row->fallback : options->usual(row);
	size_t start = buf->len;
	char name[FL_OPTION_NAME * 2];
	struct fl_buf env = FL_BUF_IN(name);

	name[0] = 0;
	if (row->required)
		fl_buf_str(buf, FL_S("needed"));
	if (usual)
		fl_buf_printf(buf, "default %s%s%s", quote, usual, quote);
	if (row->kind == FL_OPTION_STRS)
		fl_buf_printf(buf, "%smay be given many times", buf->len > start ? ", " : "");
	if (row->min != 0 || row->max != 0) {
		fl_buf_str(buf, buf->len > start ? FL_S(", ") : FL_S(""));
		put_number(buf, row, row->min);
		fl_buf_str(buf, FL_S(" to "));
		put_number(buf, row, row->max);
	}
	fl_option_env(options, row, &env);
	if (env.len)
		fl_buf_printf(buf, "%s%s%s%s", buf->len > start ? ", " : "", quote, name, quote);
}

static struct fl_options options_of(const struct fl_program *program, const struct fl_command *command)
{
	return (struct fl_options){ command->options, command->option_count, program->env_prefix, command->usual };
}

/* ---- for a terminal ---- */

static void put_usage(struct fl_buf *buf, const struct fl_program *program, const struct fl_command *command)
{
	bool any = false;

	fl_buf_printf(buf, "%s %s", program->name, command->name);
	for (uint32_t i = 0; i < command->option_count; i++)
		any |= !command->options[i].operand && !command->options[i].hidden;
	fl_buf_str(buf, any ? FL_S(" [options]") : FL_S(""));
	for (uint32_t i = 0; i < command->option_count; i++) {
		const struct fl_option *row = &command->options[i];

		if (row->operand && !row->hidden)
			fl_buf_printf(buf, " %s%s%s%s", row->required ? "" : "[", row->name,
				      row->kind == FL_OPTION_STRS ? "..." : "", row->required ? "" : "]");
	}
	fl_buf_char(buf, '\n');
}

static void put_option(struct fl_buf *buf, const struct fl_options *options, const struct fl_option *row)
{
	char left_text[200], right_text[1000];
	struct fl_buf left = FL_BUF_IN(left_text), right = FL_BUF_IN(right_text);
	size_t said;

	fl_buf_str(&left, row->operand ? FL_S("  ") : row->letter ? FL_S("  ") : FL_S("      "));
	put_left(&left, row);
	fl_buf_str(&right, fl_str(row->says));
	said = right.len;
	fl_buf_str(&right, FL_S(" ("));
	put_facts(&right, options, row, "");
	if (right.len == said + 2)
		right.len = said;
	else
		fl_buf_char(&right, ')');
	put_row(buf, fl_buf_view(&left), fl_buf_view(&right));
}

static void put_options(struct fl_buf *buf, const struct fl_options *options, bool operands)
{
	bool any = false;

	for (uint32_t i = 0; i < options->count; i++) {
		const struct fl_option *row = &options->rows[i];

		if (row->hidden || row->operand != operands)
			continue;
		if (!any)
			fl_buf_str(buf, operands ? FL_S("\nArguments:\n") : FL_S("\nOptions:\n"));
		any = true;
		put_option(buf, options, row);
	}
	if (operands)
		return;
	if (!any)
		fl_buf_str(buf, FL_S("\nOptions:\n"));
	put_row(buf, FL_S("  -h, --help"), FL_S("This."));
}

static void put_program(struct fl_buf *buf, const struct fl_program *program)
{
	fl_buf_printf(buf, "%s VERB [options]\n\n", program->name);
	put_wrapped(buf, fl_str(program->says), 0, 0);
	fl_buf_str(buf, FL_S("\nVerbs:\n"));
	for (uint32_t i = 0; i < program->count; i++) {
		char text[100];
		struct fl_buf left = FL_BUF_IN(text);

		if (program->commands[i]->hidden)
			continue;
		fl_buf_printf(&left, "  %s", program->commands[i]->name);
		put_row(buf, fl_buf_view(&left), fl_str(program->commands[i]->says));
	}
	fl_buf_printf(buf, "\n`%s help VERB` says more. Most options can be set in the environment too, by the\n"
			   "name in their help; the command line wins.\n",
		      program->name);
}

void fl_help(const struct fl_program *program, const struct fl_command *command, struct fl_buf *buf)
{
	struct fl_options options;

	if (!command) {
		put_program(buf, program);
		return;
	}
	options = options_of(program, command);
	put_usage(buf, program, command);
	fl_buf_char(buf, '\n');
	put_wrapped(buf, fl_str(command->says), 0, 0);
	if (command->about) {
		fl_buf_char(buf, '\n');
		put_about(buf, command->about);
	}
	put_options(buf, &options, true);
	put_options(buf, &options, false);
}

/* ---- Markdown ---- */

/* In a cell a bar would end it. */
static void put_cell(struct fl_buf *buf, struct fl_str text)
{
	for (uint32_t i = 0; i < text.len; i++) {
		if (text.p[i] == '|')
			fl_buf_char(buf, '\\');
		fl_buf_char(buf, text.p[i]);
	}
}

static void put_markdown_rows(struct fl_buf *buf, const struct fl_options *options, bool operands)
{
	bool any = false;

	for (uint32_t i = 0; i < options->count; i++) {
		const struct fl_option *row = &options->rows[i];
		char text[200];
		struct fl_buf left = FL_BUF_IN(text);

		if (row->hidden || row->operand != operands)
			continue;
		if (!any)
			fl_buf_printf(buf, "\n| %s | | |\n|---|---|---|\n", operands ? "Argument" : "Option");
		any = true;
		put_left(&left, row);
		fl_buf_str(buf, FL_S("| `"));
		put_cell(buf, fl_buf_view(&left));
		fl_buf_str(buf, FL_S("` | "));
		put_cell(buf, fl_str(row->says));
		fl_buf_str(buf, FL_S(" | "));
		put_facts(buf, options, row, "`");
		fl_buf_str(buf, FL_S(" |\n"));
	}
}

void fl_help_markdown(const struct fl_program *program, const struct fl_command *command, struct fl_buf *buf)
{
	struct fl_options options = options_of(program, command);

	fl_buf_printf(buf, "# %s %s\n\n%s\n\n```\n", program->name, command->name, command->says);
	put_usage(buf, program, command);
	fl_buf_str(buf, FL_S("```\n"));
	if (command->about)
		fl_buf_printf(buf, "\n%s\n", command->about);
	put_markdown_rows(buf, &options, true);
	put_markdown_rows(buf, &options, false);
}

/* ---- completion ---- */

static void put_bash_command(struct fl_buf *buf, const struct fl_command *command)
{
	fl_buf_printf(buf, strchr(command->name, ' ') ? "\t\"%s\")\n" : "\t\"%s \"*)\n", command->name);
	fl_buf_str(buf, FL_S("\t\tcase $before in\n"));
	for (uint32_t i = 0; i < command->option_count; i++) {
		const struct fl_option *row = &command->options[i];

		if (row->operand || row->hidden || row->kind == FL_OPTION_BOOL)
			continue;
		fl_buf_printf(buf, "\t\t--%s) words=\"", row->name);
		for (uint32_t k = 0; row->kind == FL_OPTION_ENUM && k < row->names->len; k++)
			fl_buf_printf(buf, "%s%s", k ? " " : "", row->names->at[k]);
		fl_buf_str(buf, row->kind == FL_OPTION_PATH ? FL_S("\" files=-f ;;\n") : FL_S("\" ;;\n"));
	}
	fl_buf_str(buf, FL_S("\t\t*) words=\"--help"));
	for (uint32_t i = 0; i < command->option_count; i++) {
		const struct fl_option *row = &command->options[i];

		if (row->operand || row->hidden)
			continue;
		fl_buf_printf(buf, " --%s", row->name);
		if (row->kind == FL_OPTION_BOOL)
			fl_buf_printf(buf, " --no-%s", row->name);
	}
	fl_buf_str(buf, FL_S("\" ;;\n\t\tesac\n\t\t;;\n"));
}

void fl_help_bash(const struct fl_program *program, struct fl_buf *buf)
{
	fl_buf_printf(buf, "# Completion for %s; put it where bash looks, or: . <(%s help --bash)\n_%s() {\n",
		      program->name,
		      program->name, program->name);
	fl_buf_str(buf, FL_S("\tlocal now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= files=\n"
			     "\tcase \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n"));
	for (int two = 1; two >= 0; two--)
		for (uint32_t i = 0; i < program->count; i++) {
			const struct fl_command *command = program->commands[i];

			if (!command->hidden && (strchr(command->name, ' ') != NULL) == two)
				put_bash_command(buf, command);
		}
	fl_buf_str(buf, FL_S("\tesac\n\t[ \"$COMP_CWORD\" -gt 1 ] || words=\""));
	for (uint32_t i = 0; i < program->count; i++)
		if (!program->commands[i]->hidden)
			fl_buf_printf(buf, "%s ", program->commands[i]->name);
	fl_buf_printf(buf, "--help\"\n\tmapfile -t COMPREPLY < <(compgen $files -W \"$words\" -- \"$now\")\n}\n"
			   "complete -F _%s %s\n",
		      program->name, program->name);
}
