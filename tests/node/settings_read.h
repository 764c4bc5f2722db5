/* settings_read.h - settings as they are read, for tests: what they change, or what is wrong with them. */
#pragma once
#include "base/units.h"
#include "json/write.h"
#include "node/settings/settings.h"
#include "test.h"

struct options {
	struct fl_settings_given given;
};
static const struct fl_option rows[] = { FL_SETTINGS_OPTIONS };
static const struct fl_options table = { rows, FL_LEN(rows), "FAIRLEAD_" };

/* What stands in the settings besides what is there without anything; or what is wrong. */
static int read_settings(const char *args, const char *env, const char *file, struct fl_buf *out)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const char *argv[8], *envs[8];
	struct fl_args given = { .argv = argv, .env = envs };
	struct fl_settings settings, defaults;
	struct options options = { 0 };
	struct fl_str_list paths;
	struct fl_err err = { 0 };
	struct fl_str rest = fl_str(args), word;
	uint32_t n = 0;
	bool help;
	int r;

	while (fl_str_split(&rest, ' ', &word) && given.argc < 8)
		if (word.len && !(argv[given.argc++] = fl_arena_str(&arena, word).p))
			return -FL_E_NOMEM;
	rest = fl_str(env);
	while (fl_str_split(&rest, ' ', &word) && n < 7)
		if (word.len && !(envs[n++] = fl_arena_str(&arena, word).p))
			return -FL_E_NOMEM;
	envs[n] = NULL;
	r = fl_options_parse(&table, &given, &options, &help, &err);
	if (r == 0)
		r = fl_settings_read(&(struct fl_settings_from){ .given = &options.given, .name = FL_S("config.yaml"),
								 .text = file ? fl_str(file) : (struct fl_str){ 0 } },
				     &arena, &settings, &err);
	if (r == 0)
		r = fl_settings_defaults(&arena, &defaults, &err);
	if (r == 0)
		r = fl_diff(fl_settings_bind(), &defaults, &settings, &arena, &paths, &err);
	if (r == 0 && paths.len) {
		struct fl_settings only = settings;
		struct fl_jw w = FL_JW(out);

		only.has.bits = 0;
		for (uint32_t i = 0; i < paths.len; i++)
			for (uint32_t k = 0; k < fl_settings_bind()->len; k++)
				if (fl_str_starts(paths.at[i], fl_settings_bind()->fields[k].json))
					only.has.bits |= (uint64_t)1 << k & settings.has.bits;
		fl_encode(fl_settings_bind(), &only, &w);
	}
	fl_options_as_given(&table, &given, &err);
	fl_options_release(&table, &options);
	if (r < 0 && r != -FL_E_NOMEM)
		fl_buf_str(out, fl_str(err.text));
	return r == -FL_E_NOMEM ? r : 0;
}

/* Once on the command line, once in the environment, once in the file: each is taken, and the members of Settings that
 * change are these; or refused (!), in words that name it. "-": there is no such name in that place. The plugin's own
 * sockets and its health checks have no field in the file. */
struct documented {
	const char *says, *flag, *env, *field, *got;
};

/* The members that differ from the defaults, but for `unpooled` which a file sets; and with their values. */
static int changed_members(const char *args, const char *env, const char *file, struct fl_buf *out,
			   struct fl_buf *values)
{
	static const struct fl_str before[] = { FL_S_INIT("{"), FL_S_INIT("\"unpooled\":true"), FL_S_INIT(",") };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	yyjson_obj_iter iter;
	yyjson_val *key;
	int r = read_settings(args, env, file, &text);
	struct fl_str name, rest;

	if (r < 0 || (r = fl_buf_check(&text, "settings", NULL)) < 0)
		return r;
	rest = fl_buf_view(&text);
	for (uint32_t i = 0; i < FL_LEN(before); i++)
		if (fl_str_starts(rest, before[i]))
			rest = fl_str_sub(rest, before[i].len, rest.len);
	fl_buf_str(values, rest);
	if (!text.len || text.p[0] != '{') {
		fl_buf_printf(out, "!%.*s", FL_ARG(fl_buf_view(&text)));
		return 0;
	}
	r = fl_json_read(NULL, fl_buf_view(&text), 0, &doc, NULL);
	iter = yyjson_obj_iter_with(r == 0 ? yyjson_doc_get_root(doc) : NULL);
	while ((key = yyjson_obj_iter_next(&iter)))
		if (fl_json_str(key, &name) && !fl_str_eq(name, FL_S("unpooled")))
			fl_buf_printf(out, "%s%.*s", out->len ? " " : "", FL_ARG(name));
	return r;
}

/* A refusal begins with the option, the variable or the field as it was given, and then says what is wrong. */
static bool is_as(struct fl_str got, struct fl_str name, const char *want)
{
	if (want[0] != '!')
		return fl_str_eq(got, fl_str(want)) || (!want[0] && fl_str_eq(got, FL_S("!")));
	return fl_str_starts(got, FL_S("!")) && fl_str_starts(fl_str_sub(got, 1, got.len), name) &&
	       memmem(got.p, got.len, want + 1, strlen(want + 1));
}

static void check_documented(const struct documented *row)
{
	const char *places[] = { row->flag, row->env, row->field };
	FL_AUTO(fl_buf) struct fl_buf first = FL_BUF(4 * FL_KIB);
	struct fl_str given = FL_S("");

	for (int i = 0; i < 3; i++) {
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(4 * FL_KIB), file = FL_BUF(4 * FL_KIB),
					      values = FL_BUF(4 * FL_KIB);
		struct fl_str rest = fl_str(places[i]), name;

		if (strcmp(places[i], "-") == 0 || !fl_str_split(&rest, '=', &name))
			continue;
		if (i == 2)
			name = FL_S("config.yaml: flags.");
		fl_buf_printf(&file, "version: v1\n%s", places[i]);
		OK(fl_buf_check(&file, "file", NULL));
		OK(changed_members(i == 0 ? places[0] : "", i == 1 ? places[1] : "", i == 2 ? file.p : NULL,
				   &got, &values));
		OK(fl_buf_check(&got, "members", NULL));
		OK(fl_buf_check(&values, "values", NULL));
		/* The same thing given in another place is the same thing taken; a report names the place. */
		if (row->got[0] != '!' && !strstr(row->got, "untaken") && first.len &&
		    (i == 2 || fl_str_eq(rest, given)))
			CHECK_STR(fl_buf_view(&values), first.p);
		if (!first.len)
			fl_buf_str(&first, fl_buf_view(&values));
		given = i == 0 ? rest : given;
		if (!is_as(fl_buf_view(&got), name, row->got))
			CHECK_STR(fl_buf_view(&got), row->got);
	}
}
