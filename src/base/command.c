#include "base/command.h"

static struct fl_options options_of(const struct fl_program *program, const struct fl_command *command)
{
	return (struct fl_options){ command->options, command->option_count, program->env_prefix };
}

/* How many of the words are the name, all of it; 0: they are not. */
static uint32_t words_of(const char *name, const char *const *words, uint32_t count)
{
	struct fl_str rest = fl_str(name), part;
	uint32_t used = 0;

	while (fl_str_split(&rest, ' ', &part)) {
		if (used == count || !fl_str_eq(part, fl_str(words[used])))
			return 0;
		used++;
	}
	return used;
}

const struct fl_command *fl_command_find(const struct fl_program *program, const char *const *words, uint32_t count,
					 uint32_t *ret_used)
{
	const struct fl_command *best = NULL;

	*ret_used = 0;
	for (uint32_t i = 0; i < program->count; i++) {
		uint32_t used = words_of(program->commands[i]->name, words, count);

		if (used > *ret_used) {
			*ret_used = used;
			best = program->commands[i];
		}
	}
	return best;
}

/* "no verb 'verison'; did you mean 'version'?", or all that there are. */
static int no_such_verb(const struct fl_program *program, const char *word, struct fl_err *err)
{
	struct fl_str said = fl_str_sub(fl_str(word), 0, 60);
	uint32_t nearest = said.len / 3 + 2;
	const char *meant = NULL;
	char names[FL_ERR_TEXT];
	struct fl_buf buf = FL_BUF_IN(names);

	names[0] = 0;
	for (uint32_t i = 0; i < program->count; i++) {
		const struct fl_command *command = program->commands[i];
		struct fl_str first = fl_str(command->name);
		uint32_t far;

		if (command->hidden)
			continue;
		(void)fl_str_split(&(struct fl_str){ first.p, first.len }, ' ', &first);
		far = fl_str_distance(said, first);
		if (far < nearest) {
			nearest = far;
			meant = command->name;
		}
		fl_buf_printf(&buf, "%s%s", buf.len ? ", " : "", command->name);
	}
	if (meant)
		return fl_fail(err, FL_E_INVALID, "no verb '%.*s'; did you mean '%s'? `%s help` lists all: %s",
			       FL_ARG(said), meant, program->name, names);
	return fl_fail(err, FL_E_INVALID, "no verb '%.*s'; there are: %s", FL_ARG(said), names);
}

static bool asks_for_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int fl_call_parse(struct fl_call *ret, const struct fl_program *program, const struct fl_args *args, struct fl_err *err)
{
	struct fl_args rest = *args;
	struct fl_options options;
	const char *word = args->argc ? args->argv[0] : NULL;
	const char *const version[] = { "version" };
	uint32_t used;
	int result;

	*ret = (struct fl_call){ .program = program };
	if (!word)
		return fl_fail(err, FL_E_INVALID, "which verb? `%s help` lists them", program->name);
	if (asks_for_help(word)) {
		ret->help = true;
		return 0;
	}
	if (strcmp(word, "--version") == 0)
		ret->command = fl_command_find(program, version, 1, &used);
	else
		ret->command = fl_command_find(program, args->argv, args->argc, &used);
	if (!ret->command)
		return no_such_verb(program, word, err);
	rest.argv += used;
	rest.argc -= used;
	options = options_of(program, ret->command);
	ret->config = fl_zalloc(ret->command->config_size);
	if (!ret->config)
		return fl_fail(err, FL_E_NOMEM, "%s", ret->command->name);
	result = fl_options_parse(&options, &rest, ret->config, &ret->help, err);
	if (result == 0 && !ret->help && ret->command->check)
		result = ret->command->check(ret, err);
	if (result < 0) {
		fl_options_as_given(&options, &rest, err);
		(void)fl_wrap(err, "%s", ret->command->name);
	}
	return result;
}

void fl_call_release(struct fl_call *call)
{
	if (!call->config)
		return;
	fl_options_release(&(const struct fl_options){ call->command->options, call->command->option_count, "" },
			   call->config);
	fl_free(call->config);
	call->config = NULL;
}

static bool has_part(struct fl_str text, struct fl_str part)
{
	for (uint32_t i = 0; i + part.len <= text.len; i++)
		if (fl_str_eq(fl_str_sub(text, i, part.len), part))
			return true;
	return false;
}

/* Nothing else begins with the name of a Service and goes on so. */
static bool is_said_of_a_service(struct fl_str name, struct fl_str service)
{
	static const struct fl_str ends[] = { FL_S_INIT("_SERVICE_HOST"), FL_S_INIT("_SERVICE_PORT"),
					      FL_S_INIT("_PORT") };
	struct fl_str rest;

	if (!fl_str_starts(name, service))
		return false;
	name = fl_str_sub(name, service.len, name.len);
	for (uint32_t i = 0; i < FL_LEN(ends); i++) {
		rest = fl_str_sub(name, ends[i].len, name.len);
		if (fl_str_starts(name, ends[i]) && (!rest.len || rest.p[0] == '_'))
			return true;
	}
	return false;
}

/* Kubernetes tells the host of each Service, and writes its ports as URLs too: any other PORT is a mistake. */
static bool is_of_a_service(const char *const *env, struct fl_str name, struct fl_str value)
{
	static const struct fl_str host = FL_S_INIT("_SERVICE_HOST");

	if (has_part(name, FL_S("_PORT")) && has_part(value, FL_S("://")))
		return true;
	for (; *env; env++) {
		struct fl_str rest = fl_str(*env), other;

		if (fl_str_split(&rest, '=', &other) && fl_str_ends(other, host) &&
		    is_said_of_a_service(name, fl_str_sub(other, 0, other.len - host.len)))
			return true;
	}
	return false;
}

bool fl_program_unknown_env(const struct fl_program *program, const char *const *env, const char *entry,
			    struct fl_str *ret_name, struct fl_buf *ret_nearest)
{
	struct fl_str rest = fl_str(entry), name;
	uint32_t nearest;

	ret_nearest->len = 0;
	if (!fl_str_starts(rest, fl_str(program->env_prefix)) || !fl_str_split(&rest, '=', &name) ||
	    is_of_a_service(env, name, rest))
		return false;
	nearest = (name.len - (uint32_t)strlen(program->env_prefix)) / 3 + 2;
	for (uint32_t i = 0; i < program->count; i++) {
		struct fl_options options = options_of(program, program->commands[i]);

		for (uint32_t k = 0; k < options.count; k++) {
			char text[FL_OPTION_NAME * 2] = "";
			struct fl_buf known = FL_BUF_IN(text);
			uint32_t far;

			fl_option_env(&options, &options.rows[k], &known);
			if (!known.len)
				continue;
			if (fl_str_eq(name, fl_buf_view(&known)))
				return false;
			far = fl_str_distance(name, fl_buf_view(&known));
			if (far >= nearest || options.rows[k].hidden || program->commands[i]->hidden)
				continue;
			nearest = far;
			ret_nearest->len = 0;
			fl_buf_str(ret_nearest, fl_buf_view(&known));
		}
	}
	*ret_name = name;
	return true;
}

int fl_program_check(const struct fl_program *program, struct fl_err *err)
{
	for (uint32_t i = 0; i < program->count; i++) {
		const struct fl_command *command = program->commands[i];
		struct fl_options options = options_of(program, command);

		if (!command->run || !fl_str_ends(fl_str(command->says), FL_S(".")))
			return fl_fail(err, FL_E_INVALID,
				       "%s: a command has a run() and says what it does in a sentence", command->name);
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(command->name, program->commands[k]->name) == 0)
				return fl_fail(err, FL_E_INVALID, "%s: there are two", command->name);
		if (fl_options_check(&options, err) < 0)
			return fl_wrap(err, "%s", command->name);
		for (uint32_t k = 0; k < options.count; k++)
			if (options.rows[k].offset >= command->config_size)
				return fl_fail(err, FL_E_INVALID, "%s: option '%s' lies outside the struct",
					       command->name, options.rows[k].name);
	}
	return 0;
}
