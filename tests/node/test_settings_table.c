/* The table of settings: what it says fits together, and docs/NODE.md lists the same. */
#include "base/units.h"
#include "node/settings/in.h"
#include "node/settings/settings.h"
#include "test.h"
#include <stdio.h>

static const struct fl_option rows[] = { FL_SETTINGS_OPTIONS };
static const struct fl_options table = { rows, FL_LEN(rows), "FAIRLEAD_" };

/* ---- docs/NODE.md ---- */

static void put_names(struct fl_buf *buf, const char *before, const char *name, const char *also)
{
	if (name)
		fl_buf_printf(buf, "`%s%s`", before, name);
	if (also)
		fl_buf_printf(buf, ", `%s%s`", before, also);
	fl_buf_str(buf, FL_S(" | "));
}

/* A setting as the page has it; nothing where it is for us alone. */
static void put_line(struct fl_buf *buf, const struct fl_setting *setting, const struct fl_option *option)
{
	char env[FL_OPTION_NAME * 2] = "";
	struct fl_buf name = FL_BUF_IN(env);

	if (option->hidden && !option->env)
		return;
	fl_option_env(&table, option, &name);
	fl_buf_str(buf, FL_S("| "));
	put_names(buf, "--", option->name, option->also);
	put_names(buf, "", env, option->env_also);
	put_names(buf, "", setting->file, setting->file_also);
	put_names(buf, "", fl_settings_usual(option), NULL);
	fl_buf_printf(buf, "%s |", option->says);
}

/* The page's line after the one at `at`; a NULL pointer after the last. */
static struct fl_str next_row(struct fl_str *page)
{
	struct fl_str line = { 0 };

	return fl_str_split(page, '\n', &line) ? line : (struct fl_str){ 0 };
}

TEST(the_page_lists_every_setting)
{
	static const char head[] = "\n| Option | Environment | Configuration file | Default | Effect |\n"
				   "|---|---|---|---|---|\n";
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_settings settings = { 0 };
	const struct fl_setting_in in = fl_settings_in(&settings, &arena, NULL);
	FILE *file = fopen(NODE_PAGE, "r");
	char *text = fl_arena_get(&arena, FL_MIB);
	size_t len = file && text ? fread(text, 1, FL_MIB - 1, file) : 0;
	const char *at = len ? strstr(text, head) : NULL;
	struct fl_str page = at ? fl_str(at + sizeof head - 1) : FL_S("");

	if (file)
		(void)fclose(file);
	GOT(text);
	CHECK(at);
	for (uint32_t i = 0; i < FL_LEN(rows); i++) {
		FL_AUTO(fl_buf) struct fl_buf line = FL_BUF(4 * FL_KIB);

		put_line(&line, &in.rows[i], &rows[i]);
		OK(fl_buf_check(&line, "line", NULL));
		if (line.len)
			CHECK_STR(next_row(&page), line.p);
	}
	CHECK_STR(next_row(&page), "");
}

/* A reader of one kind writes a member of one type. */
static bool fits(const struct fl_setting *row, const struct fl_field *f)
{
	switch (row->kind) {
	case FL_SETTING_BOOL:
		return f->type == FL_T_BOOL && f->shape == FL_ONE;
	case FL_SETTING_ENUM:
		return f->type == FL_T_ENUM && f->shape == FL_ONE;
	case FL_SETTING_TEXT:
	case FL_SETTING_QUALIFIED:
		return f->type == FL_T_STR && f->shape == FL_ONE;
	case FL_SETTING_PATH:
		return f->type == FL_T_STR && f->shape != FL_MAP;
	case FL_SETTING_DURATION:
		return f->type == FL_T_I64 && f->shape == FL_ONE && row->wanted;
	case FL_SETTING_NUMBER:
		return (f->type == FL_T_I32 || f->type == FL_T_I64) && f->shape == FL_ONE;
	case FL_SETTING_LIST:
		return f->type == FL_T_ENUM && f->shape == FL_LIST && row->blank;
	case FL_SETTING_SET:
	case FL_SETTING_ELEMENT:
		return f->type == FL_T_ENUM && f->shape == FL_LIST;
	case FL_SETTING_OWN:
		return row->own != NULL;
	case FL_SETTING_LATER:
		return true;
	case FL_SETTING_ANY:
	case FL_SETTING_UNREAD:
	case FL_SETTING_OBJECTS:
		break;
	}
	return false;
}

static const struct fl_names *names_of(const struct fl_setting_in *in, const struct fl_setting *row)
{
	for (uint32_t k = 0; row->member && k < in->bind->len; k++)
		if (in->bind->fields[k].offset == row->member)
			return in->bind->fields[k].names;
	return row->names;
}

TEST(an_option_of_a_few_words_shows_them_all_in_its_help)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_settings settings = { 0 };
	const struct fl_setting_in in = fl_settings_in(&settings, &arena, NULL);
	uint32_t found = 0;

	for (uint32_t i = 0; i < FL_LEN(rows); i++) {
		const struct fl_names *names = in.rows[i].kind == FL_SETTING_ENUM ? names_of(&in, &in.rows[i]) : NULL;
		char text[200] = "";
		struct fl_buf words = FL_BUF_IN(text);

		for (uint32_t k = 0; names && k < names->len; k++)
			fl_buf_printf(&words, "%s%s", k ? "|" : "", names->at[k]);
		test_row(rows[i].name);
		if (names)
			CHECK(rows[i].value && strcmp(rows[i].value, text) == 0);
		found += names != NULL;
	}
	CHECK_INT(found, 6);
}

TEST(each_row_has_a_member_that_its_reader_can_write_and_a_place_of_its_own)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_settings settings = { 0 };
	const struct fl_setting_in in = fl_settings_in(&settings, &arena, NULL);

	CHECK(in.count > FL_LEN(rows));
	for (uint32_t i = 0; i < in.count; i++) {
		const struct fl_setting *row = &in.rows[i];
		uint32_t fields = 0;

		test_row(row->option ? row->option : row->file);
		if (row->option)
			CHECK_STR(fl_str(row->option), rows[i].name);
		for (uint32_t k = 0; row->member && k < in.bind->len; k++)
			if (in.bind->fields[k].offset == row->member && ++fields)
				CHECK(fits(row, &in.bind->fields[k]));
		CHECK_INT(fields, row->member != 0);
		CHECK(fields || row->kind < FL_SETTING_DURATION || row->kind > FL_SETTING_ELEMENT);
		for (uint32_t k = 0; k < i && row->file; k++)
			CHECK(!in.rows[k].file || strcmp(in.rows[k].file, row->file) != 0);
	}
}
