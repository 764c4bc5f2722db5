#include "base/option.h"
#include "base/units.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

FL_NAMES(fl_option_kind_names, FL_OPTION_KIND_COUNT_,
	 [FL_OPTION_BOOL] = "BOOL", [FL_OPTION_INT] = "NUMBER", [FL_OPTION_DURATION] = "DURATION",
	 [FL_OPTION_ENUM] = "NAME", [FL_OPTION_STR] = "TEXT", [FL_OPTION_PATH] = "PATH",
	 [FL_OPTION_STRS] = "LIST");

/* One table being read into one struct. */
struct parse {
	const struct fl_options *options;
	const struct fl_args *args;
	void *config;
	struct fl_err *err;
	uint32_t at;            /* in argv */
	uint32_t operands;      /* how many there were */
	bool given[FL_OPTIONS];   /* of each row: on the command line */
	bool known[FL_OPTIONS];   /* of each row: anywhere but by default */
};

/* ---- values ---- */

static void *member_of(const struct parse *parse, const struct fl_option *row)
{
	return (char *)parse->config + row->offset;
}

static size_t number_of(const struct parse *parse, const struct fl_option *row)
{
	return (size_t)(row - parse->options->rows);
}

static bool has_bounds(const struct fl_option *row)
{
	return row->min != 0 || row->max != 0;
}

/* "a duration from 1s to 1h0m0s (such as 10s, 1m30s or 500ms)": what would have been right. */
static int refuse(const struct parse *parse, const struct fl_option *row, const char *what, struct fl_str text)
{
	char words[FL_ERR_TEXT];
	struct fl_buf buf = FL_BUF_IN(words);

	words[0] = 0;
	if (has_bounds(row) && row->kind == FL_OPTION_INT) {
		fl_buf_printf(&buf, " from %" PRId64 " to %" PRId64, row->min, row->max);
	} else if (has_bounds(row)) {
		fl_buf_str(&buf, FL_S(" from "));
		fl_buf_duration(&buf, row->min);
		fl_buf_str(&buf, FL_S(" to "));
		fl_buf_duration(&buf, row->max);
	}
	if (row->kind == FL_OPTION_DURATION)
		fl_buf_str(&buf, FL_S(" (such as 10s, 1m30s or 500ms)"));
	for (uint32_t i = 0; row->kind == FL_OPTION_ENUM && i < row->names->len; i++)
		fl_buf_printf(&buf, "%s%s", i ? ", " : "", row->names->at[i]);
	return fl_fail(parse->err, FL_E_INVALID, "'%.*s' is %s%s", FL_ARG(fl_str_sub(text, 0, 80)), what, words);
}

static int set_number(const struct parse *parse, const struct fl_option *row, struct fl_str text, bool read,
		      int64_t value,
		      const char *what)
{
	int64_t min = has_bounds(row) ? row->min : row->kind == FL_OPTION_INT ? INT64_MIN : 0;
	int64_t max = has_bounds(row) ? row->max : INT64_MAX;

	if (!read || value < min || value > max)
		return refuse(parse, row, what, text);
	*(int64_t *)member_of(parse, row) = value;
	return 0;
}

static int set_bool(const struct parse *parse, const struct fl_option *row, struct fl_str text)
{
	bool yes = fl_str_eq(text, FL_S("true")) || fl_str_eq(text, FL_S("1"));

	if (!yes && !fl_str_eq(text, FL_S("false")) && !fl_str_eq(text, FL_S("0")))
		return refuse(parse, row, "neither true nor false", text);
	*(bool *)member_of(parse, row) = yes;
	return 0;
}

static int set_enum(const struct parse *parse, const struct fl_option *row, struct fl_str text)
{
	int value = fl_name_find(row->names, text);

	if (value < 0)
		return refuse(parse, row, "none of: ", text);
	memcpy(member_of(parse, row), &value, sizeof value);
	return 0;
}

static int add_str(const struct parse *parse, const struct fl_option *row, struct fl_str text)
{
	struct fl_strs *strs = member_of(parse, row);

	if (strs->len >= FL_OPTION_VALUES)
		return fl_fail(parse->err, FL_E_INVALID, "more than %d of them", FL_OPTION_VALUES);
	if (fl_vec_push(strs, text) < 0)
		return fl_fail(parse->err, FL_E_NOMEM, "arguments");
	return 0;
}

/* Terminated text, in the row's kind. */
static int set_value(const struct parse *parse, const struct fl_option *row, const char *terminated)
{
	struct fl_str text = fl_str(terminated);
	int64_t value = 0;
	bool read;

	switch (row->kind) {
	case FL_OPTION_BOOL:
		return set_bool(parse, row, text);
	case FL_OPTION_INT:
		read = fl_str_i64(text, &value);
		return set_number(parse, row, text, read, value, "no number");
	case FL_OPTION_DURATION:
		read = fl_duration(text, &value);
		return set_number(parse, row, text, read, value, "no duration");
	case FL_OPTION_ENUM:
		return set_enum(parse, row, text);
	case FL_OPTION_STR:
		*(struct fl_str *)member_of(parse, row) = text;
		return 0;
	case FL_OPTION_PATH:
		*(const char **)member_of(parse, row) = terminated;
		return 0;
	case FL_OPTION_STRS:
		return add_str(parse, row, text);
	case FL_OPTION_KIND_COUNT_:
		break;
	}
	return fl_fail(parse->err, FL_E_INVALID, "a row without a kind");
}

/* ---- defaults and environment ---- */

/* A list in one text, as in a default or the environment: parted by commas. */
static int set_list(const struct parse *parse, const struct fl_option *row, const char *terminated)
{
	struct fl_str rest = fl_str(terminated), part;
	int result = 0;

	while (result == 0 && rest.len && fl_str_split(&rest, ',', &part))
		result = part.len ? add_str(parse, row, part) : 0;
	return result;
}

static int set_text(const struct parse *parse, const struct fl_option *row, const char *terminated)
{
	return row->kind == FL_OPTION_STRS ? set_list(parse, row, terminated) : set_value(parse, row, terminated);
}

void fl_option_env(const struct fl_options *options, const struct fl_option *row, struct fl_buf *buf)
{
	if (row->operand)
		return;
	if (row->env) {
		fl_buf_str(buf, fl_str(row->env));
		return;
	}
	fl_buf_str(buf, fl_str(options->env_prefix));
	for (const char *p = row->name; *p; p++)
		fl_buf_char(buf, *p == '-' ? '_' : *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p);
}

static const char *env_of(const struct fl_args *args, struct fl_str name)
{
	for (const char *const *env = args->env; name.len && env && *env; env++)
		if (strncmp(*env, name.p, name.len) == 0 && (*env)[name.len] == '=')
			return *env + name.len + 1;
	return NULL;
}

/* Of its first name in the environment, else of its second, which then stands in the buffer. Set but empty is mostly
 * not set: that is how a manifest takes a value away. */
static const char *env_value(const struct parse *parse, const struct fl_option *row, struct fl_buf *name)
{
	const char *value = env_of(parse->args, fl_buf_view(name));

	if (value && (value[0] || row->empty))
		return value;
	if (!row->env_also)
		return NULL;
	value = env_of(parse->args, fl_str(row->env_also));
	if (!value || (!value[0] && !row->empty))
		return NULL;
	name->len = 0;
	fl_buf_str(name, fl_str(row->env_also));
	return value;
}

static int before_arguments(struct parse *parse)
{
	for (uint32_t i = 0; i < parse->options->count; i++) {
		const struct fl_option *row = &parse->options->rows[i];
		char name[FL_OPTION_NAME * 2];
		struct fl_buf buf = FL_BUF_IN(name);
		const char *value;

		name[0] = 0;
		fl_option_env(parse->options, row, &buf);
		value = env_value(parse, row, &buf);
		if (value) {
			if (set_text(parse, row, value) < 0)
				return fl_wrap(parse->err, "%s", name);
			parse->known[number_of(parse, row)] = true;
		} else if (row->fallback && set_text(parse, row, row->fallback) < 0) {
			return fl_wrap(parse->err, "default of %s", row->name);
		}
	}
	return 0;
}

/* ---- the command line ---- */

static const struct fl_option *row_of(const struct fl_options *options, struct fl_str name, char letter)
{
	for (uint32_t i = 0; i < options->count; i++) {
		const struct fl_option *row = &options->rows[i];

		if (row->operand)
			continue;
		if (letter ? row->letter == letter :
			     fl_str_eq(fl_str(row->name), name) || (row->also && fl_str_eq(fl_str(row->also), name)))
			return row;
	}
	return NULL;
}

static int unknown(const struct parse *parse, struct fl_str name)
{
	uint32_t nearest = name.len / 3 + 2;
	const char *meant = NULL;

	for (uint32_t i = 0; i < parse->options->count; i++) {
		const struct fl_option *row = &parse->options->rows[i];
		uint32_t far = row->operand || row->hidden ? UINT32_MAX : fl_str_distance(name, fl_str(row->name));

		if (far < nearest) {
			nearest = far;
			meant = row->name;
		}
	}
	if (fl_str_distance(name, FL_S("help")) < nearest)
		meant = "help";
	if (meant)
		return fl_fail(parse->err, FL_E_INVALID, "no option --%.*s; did you mean --%s?",
			       FL_ARG(fl_str_sub(name, 0, 80)), meant);
	return fl_fail(parse->err, FL_E_INVALID, "no option --%.*s; --help shows those there are",
		       FL_ARG(fl_str_sub(name, 0, 80)));
}

/* How the command line names the row, as last; nothing where it does not. */
static struct fl_str named_in(const struct fl_args *args, const struct fl_option *row)
{
	struct fl_str named = FL_S("");

	for (uint32_t i = 0; i < args->argc && strcmp(args->argv[i], "--") != 0; i++) {
		struct fl_str whole = fl_str(args->argv[i]), name;

		if (!fl_str_starts(whole, FL_S("--")) || !fl_str_split(&whole, '=', &name))
			continue;
		name = fl_str_sub(name, 2, name.len);
		if (fl_str_eq(name, fl_str(row->name)) || (row->also && fl_str_eq(name, fl_str(row->also))))
			named = (struct fl_str){ name.p - 2, name.len + 2 };
	}
	return named;
}

void fl_options_as_given(const struct fl_options *options, const struct fl_args *args, struct fl_err *err)
{
	struct fl_str rest, first, given;
	const struct parse parse = { .options = options, .args = args };
	char words[FL_ERR_TEXT], env[FL_OPTION_NAME * 2] = "";
	struct fl_buf name = FL_BUF_IN(env);
	const struct fl_option *row;

	if (!err)
		return;
	rest = fl_str(err->text);
	if (!fl_str_starts(rest, FL_S("--")) || !fl_str_split(&rest, ':', &first))
		return;
	row = row_of(options, fl_str_sub(first, 2, first.len), 0);
	if (!row)
		return;
	given = named_in(args, row);
	fl_option_env(options, row, &name);
	if (!given.len && env_value(&parse, row, &name))
		given = fl_buf_view(&name);
	if (!given.len)
		return;
	(void)snprintf(words, sizeof words, "%.*s:%.*s", FL_ARG(given), FL_ARG(rest));
	memcpy(err->text, words, strlen(words) + 1);
}

static int set_given(struct parse *parse, const struct fl_option *row, const char *value)
{
	size_t number = number_of(parse, row);

	/* What the environment or the default put into a list goes when the command line begins one. */
	if (row->kind == FL_OPTION_STRS && !parse->given[number])
		((struct fl_strs *)member_of(parse, row))->len = 0;
	parse->given[number] = parse->known[number] = true;
	if (set_value(parse, row, value) == 0)
		return 0;
	return row->operand ? fl_wrap(parse->err, "%s", row->name) : fl_wrap(parse->err, "--%s", row->name);
}

/* The argument after an option that wants one. */
static int set_next(struct parse *parse, const struct fl_option *row)
{
	const char *next = parse->at < parse->args->argc ? parse->args->argv[parse->at] : NULL;

	if (row->bare && (!next || next[0] == '-'))
		return set_given(parse, row, "true");
	if (!next || strncmp(next, "--", 2) == 0)
		return fl_fail(parse->err, FL_E_INVALID, "--%s wants a value: --%s=%s", row->name, row->name,
			       row->value ? row->value : fl_name(&fl_option_kind_names, (int)row->kind));
	parse->at++;
	return set_given(parse, row, next);
}

static int long_option(struct parse *parse, const char *argument, bool *ret_help)
{
	struct fl_str name = fl_str(argument);
	const char *value = strchr(argument, '=');
	const struct fl_option *row;

	if (value)
		name = fl_str_sub(name, 0, (uint32_t)(value++ - argument));
	row = row_of(parse->options, name, 0);
	if (row && value)
		return set_given(parse, row, value);
	if (row)
		return row->kind == FL_OPTION_BOOL ? set_given(parse, row, "true") : set_next(parse, row);
	if (fl_str_eq(name, FL_S("help")) && !value) {
		*ret_help = true;
		return 0;
	}
	if (fl_str_starts(name, FL_S("no-"))) {
		row = row_of(parse->options, fl_str_sub(name, 3, name.len), 0);
		if (row && (row->kind == FL_OPTION_BOOL || row->bare) && !value)
			return set_given(parse, row, "false");
	}
	return unknown(parse, name);
}

/* -w4, -w 4, -w=4; letters of bools may stand together: -ab. */
static int letters(struct parse *parse, const char *letter, bool *ret_help)
{
	for (; *letter; letter++) {
		const struct fl_option *row = row_of(parse->options, FL_S(""), *letter);

		if (row && row->kind == FL_OPTION_BOOL) {
			(void)set_given(parse, row, "true");   /* which a bool never refuses */
		} else if (row) {
			return letter[1] ? set_given(parse, row, letter + 1 + (letter[1] == '=')) : set_next(parse,
				row);
		} else if (*letter == 'h') {
			*ret_help = true;
		} else {
			return fl_fail(parse->err, FL_E_INVALID, "no option -%.*s; --help shows those there are",
				       FL_ARG(fl_str_sub(fl_str(letter), 0, 80)));
		}
	}
	return 0;
}

static int operand(struct parse *parse, const char *argument)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < parse->options->count; i++) {
		const struct fl_option *row = &parse->options->rows[i];

		if (!row->operand)
			continue;
		if (n++ == parse->operands || row->kind == FL_OPTION_STRS) {
			parse->operands++;
			return set_given(parse, row, argument);
		}
	}
	return fl_fail(parse->err, FL_E_INVALID,
		n ? "'%.*s' is one argument too many" : "takes no arguments, but got '%.*s'",
		       FL_ARG(fl_str_sub(fl_str(argument), 0, 80)));
}

static int arguments(struct parse *parse, bool *ret_help)
{
	bool all_operands = false;
	int result = 0;

	while (result == 0 && parse->at < parse->args->argc && !*ret_help) {
		const char *argument = parse->args->argv[parse->at++];

		if (all_operands || argument[0] != '-' || argument[1] == 0)
			result = operand(parse, argument);
		else if (argument[1] != '-')
			result = letters(parse, argument + 1, ret_help);
		else if (argument[2])
			result = long_option(parse, argument + 2, ret_help);
		else
			all_operands = true;
	}
	return result;
}

static int missing(const struct parse *parse)
{
	for (uint32_t i = 0; i < parse->options->count; i++) {
		const struct fl_option *row = &parse->options->rows[i];
		char name[FL_OPTION_NAME * 2];
		struct fl_buf buf = FL_BUF_IN(name);

		if (!row->required || parse->known[number_of(parse, row)])
			continue;
		name[0] = 0;
		fl_option_env(parse->options, row, &buf);
		if (row->operand)
			return fl_fail(parse->err, FL_E_INVALID, "%s is missing: %s", row->name, row->says);
		return fl_fail(parse->err, FL_E_INVALID, "--%s is needed%s%s: %s", row->name, name[0] ? ", or " : "",
			name,
			       row->says);
	}
	return 0;
}

int fl_options_parse(const struct fl_options *options, const struct fl_args *args, void *config, bool *ret_help,
		     struct fl_err *err)
{
	struct fl_err own;
	struct parse parse = { .options = options, .args = args, .config = config, .err = err ? err : &own };
	int result;

	assert(options->count <= FL_OPTIONS);
	*ret_help = false;
	result = before_arguments(&parse);
	/* Whoever asks for help gets it, whatever is wrong with the environment. */
	if (result == 0 || result == -FL_E_INVALID) {
		int then = arguments(&parse, ret_help);

		if (*ret_help)
			return 0;
		result = result ? result : then;
	}
	return result ? result : missing(&parse);
}

void fl_options_release(const struct fl_options *options, void *config)
{
	for (uint32_t i = 0; config && i < options->count; i++)
		if (options->rows[i].kind == FL_OPTION_STRS)
			fl_vec_free((struct fl_strs *)((char *)config + options->rows[i].offset));
}

/* ---- the table itself ---- */

static bool is_name(const struct fl_option *row)
{
	size_t len = row->name ? strlen(row->name) : 0;

	for (size_t i = 0; i < len; i++) {
		char c = row->name[i];
		bool letter = row->operand ? c >= 'A' && c <= 'Z' : c >= 'a' && c <= 'z';

		if (!letter && (i == 0 || (c != '-' && !(c >= '0' && c <= '9'))))
			return false;
	}
	return len > 1 && len < FL_OPTION_NAME;
}

/* In a Pod, a Service called fairlead sets FAIRLEAD_PORT, FAIRLEAD_PORT_... and FAIRLEAD_SERVICE_...: an option of such
 * a name would be given a value that nobody meant for it. */
static bool is_kubernetes_own(const struct fl_option *row)
{
	struct fl_str name = fl_str(row->name);

	if (row->operand || row->env)
		return false;
	return fl_str_eq(name, FL_S("port")) || fl_str_starts(name, FL_S("port-")) ||
	       fl_str_starts(name, FL_S("service-"));
}

static const char *wrong_with(const struct fl_option *row)
{
	struct fl_str says = fl_str(row->says);

	if (!is_name(row))
		return "no name for an option (or, in capitals, for an operand)";
	if (fl_str_eq(fl_str(row->name), FL_S("help")) || row->letter == 'h')
		return "help is there already";
	if (fl_str_starts(fl_str(row->name), FL_S("no-")))
		return "no- is how a bool is taken back";
	if (is_kubernetes_own(row))
		return "Kubernetes sets this in the environment of a Pod";
	if (!fl_str_ends(says, FL_S(".")))
		return "its help is no sentence";
	if ((row->kind == FL_OPTION_ENUM) != (row->names != NULL))
		return "an enum, and nothing else, has names";
	if (row->min > row->max)
		return "its bounds exclude each other";
	if (row->operand && (row->letter || row->kind == FL_OPTION_BOOL))
		return "an operand has no letter and is no bool";
	return row->required && row->fallback ? "what is required needs no default" : NULL;
}

static bool has_name(const struct fl_option *row, const char *name)
{
	return strcmp(row->name, name) == 0 || (row->also && strcmp(row->also, name) == 0);
}

/* Names and letters once; of the operands, those needed first and a list last. */
static const char *wrong_beside(const struct fl_option *row, const struct fl_option *other)
{
	if (has_name(row, other->name) || (other->also && has_name(row, other->also)))
		return "its name is taken";
	if (row->letter && row->letter == other->letter)
		return "its letter is taken";
	if (row->operand && other->operand && other->kind == FL_OPTION_STRS)
		return "an operand behind a list is never reached";
	return row->operand && other->operand && row->required && !other->required ?
		       "a needed operand behind one that is not" : NULL;
}

int fl_options_check(const struct fl_options *options, struct fl_err *err)
{
	union {
		uint64_t largest;
		char bytes[64];
	} room;
	struct parse parse = { .options = options, .err = err };

	if (options->count > FL_OPTIONS)
		return fl_fail(err, FL_E_INVALID, "%u options; a command has at most %d", options->count, FL_OPTIONS);
	for (uint32_t i = 0; i < options->count; i++) {
		struct fl_option row = options->rows[i];
		const char *wrong = wrong_with(&row);

		for (uint32_t k = 0; !wrong && k < i; k++)
			wrong = wrong_beside(&row, &options->rows[k]);
		if (wrong)
			return fl_fail(err, FL_E_INVALID, "option '%s': %s", row.name ? row.name : "", wrong);
		/* Its default, put into a struct of its own; a list takes any. */
		row.offset = 0;
		parse.config = memset(&room, 0, sizeof room);
		if (row.fallback && row.kind != FL_OPTION_STRS && set_text(&parse, &row, row.fallback) < 0)
			return fl_wrap(err, "option '%s': its default", row.name);
	}
	return 0;
}
