#include "json/setting.h"
#include "base/units.h"
#include "json/bind_in.h"
#include "json/name.h"
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define PLACE 160       /* of a path in a file, as messages call it */
#define QUOTED 40       /* of a refused text */

int fl_setting_no_memory(const struct fl_setting_in *in)
{
	return fl_fail(in->err, FL_E_NOMEM, "no memory for settings");
}

/* ---- what people are told ---- */

static struct fl_str place_of(const struct fl_setting_in *in, const struct fl_setting_value *value, char *room)
{
	if (value->json)
		fl_json_path(in->doc, value->json, room, PLACE);
	else
		(void)snprintf(room, PLACE, "%s%s", value->before, value->place);
	return fl_str(room);
}

int fl_setting_refuse(const struct fl_setting_in *in, const struct fl_setting_value *value, const char *fmt, ...)
{
	char room[PLACE], text[FL_ERR_TEXT];
	struct fl_str place = place_of(in, value, room);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return fl_fail(in->err, FL_E_INVALID, "%.*s%s%s", FL_ARG(place), place.len ? ": " : "", text);
}

/* Each warning copies those before it, and a condition of the Node has no room for a whole file of them. */
#define UNTAKEN_ENOUGH 2000
static const struct fl_str and_more = FL_S_INIT("; and more");

int fl_setting_warn(struct fl_setting_in *in, const struct fl_setting_value *value, const char *what)
{
	struct fl_str before = *in->untaken, place, text;
	char room[PLACE];

	if (fl_str_ends(before, and_more))
		return 0;
	place = place_of(in, value, room);
	if (before.len > UNTAKEN_ENOUGH)
		text = fl_arena_printf(in->arena, "%.*s%.*s", FL_ARG(before), FL_ARG(and_more));
	else
		text = fl_arena_printf(in->arena, "%.*s%s%.*s: %s", FL_ARG(before), before.len ? "; " : "",
				       FL_ARG(place), what);
	if (!text.p)
		return fl_setting_no_memory(in);
	*in->untaken = text;
	return 0;
}

int fl_setting_refuse_text(const struct fl_setting_in *in, const struct fl_setting_value *value, struct fl_str text,
			   const char *what)
{
	text = fl_str_sub(text, 0, QUOTED);
	return fl_setting_refuse(in, value, "'%.*s' is %s", FL_ARG(text), what);
}

int fl_setting_refuse_kind(const struct fl_setting_in *in, const struct fl_setting_value *value, const char *wanted)
{
	return fl_setting_refuse(in, value, "%s is wanted, found %s", wanted, fl_json_kind(value->json));
}

/* ---- members ---- */

static const struct fl_field *field_of(const struct fl_setting_in *in, const struct fl_setting *row)
{
	for (uint32_t i = 0; in->bind && row->member && i < in->bind->len; i++)
		if (in->bind->fields[i].offset == row->member)
			return &in->bind->fields[i];
	return NULL;
}

/* The row's member, which is there now, or is not; NULL: the row has none. */
static void *member_of(const struct fl_setting_in *in, const struct fl_setting *row, bool is)
{
	const struct fl_field *f = field_of(in, row);

	if (f)
		fl_has_set(in->bind, in->object, f, is);
	return row->member ? (char *)in->object + row->member : NULL;
}

static int put_member(const struct fl_setting_in *in, const struct fl_setting *row, const void *value, size_t size)
{
	void *member = member_of(in, row, true);

	if (member)
		memcpy(member, value, size);
	return 0;
}

/* Elements of an enum in its order, so that equal settings are equal bytes. */
static int set_bits(struct fl_setting_in *in, const struct fl_setting *row, uint32_t bits)
{
	uint32_t len = (uint32_t)__builtin_popcount(bits);
	int *at = len ? fl_arena_get_n(in->arena, len, sizeof *at) : NULL;
	struct fl_seq *list;

	if (len && !at)
		return fl_setting_no_memory(in);
	list = member_of(in, row, len > 0);
	list->at = (char *)at;
	list->len = 0;
	for (int i = 0; i < 32; i++)
		if (bits >> i & 1)
			at[list->len++] = i;
	return 0;
}

int fl_setting_element(struct fl_setting_in *in, const struct fl_setting *row, bool on)
{
	const struct fl_seq *list = (const void *)((const char *)in->object + row->member);
	uint32_t bits = 0, bit = 1u << row->element;

	for (uint32_t i = 0; i < list->len; i++)
		bits |= 1u << ((const int *)(const void *)list->at)[i];
	return (bits & bit) == (on ? bit : 0) ? 0 : set_bits(in, row, bits ^ bit);
}

/* ---- texts ---- */

static const struct fl_names *names_of(const struct fl_setting_in *in, const struct fl_setting *row)
{
	const struct fl_field *f = row->names ? NULL : field_of(in, row);

	assert(row->names || f);   /* else the row is wrong */
	return f ? f->names : row->names;
}

static int read_name(const struct fl_setting_in *in, const struct fl_setting *row,
		     const struct fl_setting_value *value, struct fl_str text, int *ret)
{
	const struct fl_names *names = names_of(in, row);
	char room[FL_ERR_TEXT] = "";
	struct fl_buf known = FL_BUF_IN(room);
	bool set = row->kind == FL_SETTING_SET;

	*ret = fl_name_find(names, text);
	if (*ret >= 0)
		return 0;
	for (uint32_t i = 0; i < names->len; i++)
		fl_buf_printf(&known, "%s%s", i == 0 ? "none of " : i + 1 == names->len && !set ? " or " : ", ",
			      names->at[i]);
	if (set)
		fl_buf_printf(&known, " or all");
	return fl_setting_refuse_text(in, value, text, row->wanted ? row->wanted : known.failed ? "unknown" : room);
}

static int read_bool(const struct fl_setting_in *in, const struct fl_setting_value *value, struct fl_str text,
		     bool *ret)
{
	/* Those of Go's strconv.ParseBool, by which programs written in Go read them. */
	static const char *const words[] = { "true", "false", "1", "0", "t", "f", "T", "F", "True", "False", "TRUE",
					     "FALSE" };

	if (value->json) {
		if (!yyjson_is_bool(value->json))
			return fl_setting_refuse_kind(in, value, "true or false");
		*ret = yyjson_get_bool(value->json);
		return 0;
	}
	for (uint32_t i = 0; i < FL_LEN(words); i++) {
		if (fl_str_eq(text, fl_str(words[i]))) {
			*ret = i % 2 == 0;
			return 0;
		}
	}
	return fl_setting_refuse_text(in, value, text, "neither true nor false");
}

int fl_setting_text(struct fl_setting_in *in, const struct fl_setting_value *value, struct fl_str *ret)
{
	*ret = value->text;
	if (!value->json)
		return 0;
	if (!fl_json_str(value->json, ret))
		return fl_setting_refuse_kind(in, value, "a text");
	*ret = fl_arena_str(in->arena, *ret);
	return ret->p ? 0 : fl_setting_no_memory(in);
}

int fl_setting_path(struct fl_setting_in *in, const struct fl_setting_value *value, struct fl_str text)
{
	if (fl_str_starts(text, FL_S("/")))
		return 0;
	text = fl_str_sub(text, 0, QUOTED);
	return fl_setting_refuse(in, value, "'%.*s' does not begin with /: write an absolute path", FL_ARG(text));
}

static int set_path(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value,
		    struct fl_str text)
{
	const struct fl_field *f = field_of(in, row);
	struct fl_seq *list;
	int r = text.len || !value->json ? fl_setting_path(in, value, text) : 0;

	if (r < 0 || !f)
		return r;
	if (f->shape == FL_ONE) {
		*(struct fl_str *)member_of(in, row, text.len > 0) = text;
		return 0;
	}
	if (!text.len)
		return 0;
	list = member_of(in, row, true);
	list->at = fl_arena_get(in->arena, sizeof text);
	list->len = list->at != NULL;
	if (!list->at)
		return fl_setting_no_memory(in);
	memcpy(list->at, &text, sizeof text);
	return 0;
}

static int set_number(const struct fl_setting_in *in, const struct fl_setting *row,
		      const struct fl_setting_value *value, struct fl_str text)
{
	const struct fl_field *f = field_of(in, row);
	char range[80];
	int64_t number;
	bool is = row->kind == FL_SETTING_NUMBER ? fl_str_i64(text, &number) : fl_duration(text, &number);

	(void)snprintf(range, sizeof range, "no number from %" PRId64 " to %" PRId64, row->min, row->max);
	if (!is || number < row->min || (row->max && number > row->max))
		return fl_setting_refuse_text(in, value, text, row->wanted ? row->wanted : range);
	if (row->none_at_zero && !number)
		return 0;
	if (f->type == FL_T_I32)
		return put_member(in, row, &(int32_t){ (int32_t)number }, sizeof(int32_t));
	return put_member(in, row, &number, sizeof number);
}

/* ---- names, several ---- */

static int begin_list(struct fl_setting_in *in, const struct fl_setting *row)
{
	struct fl_seq *list = member_of(in, row, true);

	list->at = fl_arena_get_n(in->arena, names_of(in, row)->len, sizeof(int));   /* each at most once */
	list->len = 0;
	return list->at ? 0 : fl_setting_no_memory(in);
}

static int add_names(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value,
		     struct fl_str text)
{
	struct fl_seq *list = (void *)((char *)in->object + row->member);
	int *at = (void *)list->at;
	struct fl_str word;

	while (fl_str_split(&text, ',', &word)) {
		uint32_t i = 0;
		int which, r = read_name(in, row, value, fl_str_trim(word), &which);

		if (r < 0)
			return r;
		while (i < list->len && at[i] != which)
			i++;
		if (i == list->len)
			at[list->len++] = which;
	}
	return 0;
}

static int read_list(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	struct fl_setting_value item = *value;
	yyjson_arr_iter iter = yyjson_arr_iter_with(value->json);
	struct fl_str text;
	int r = begin_list(in, row);

	if (r == 0 && !yyjson_is_arr(value->json)) {
		r = fl_setting_text(in, value, &text);
		return r < 0 ? r : add_names(in, row, value, text);
	}
	if (r == 0 && !yyjson_arr_size(value->json))
		return fl_setting_refuse(in, value, "%s", row->blank);
	while (r == 0 && (item.json = yyjson_arr_iter_next(&iter)))
		if ((r = fl_setting_text(in, &item, &text)) == 0)
			r = add_names(in, row, &item, text);
	return r;
}

/* Of all texts of an option at once, for "all" may stand in any of them. */
static int read_set(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value,
		    const struct fl_str *texts, uint32_t count)
{
	const struct fl_names *names = names_of(in, row);
	uint32_t bits = 0, never = row->element ? 1u << (row->element - 1) : 0;
	bool all = false;
	int r = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct fl_str rest = texts[i], word;
		int which;

		while (r == 0 && fl_str_split(&rest, ',', &word)) {
			word = fl_str_trim(word);
			if (fl_str_eq(word, FL_S("all")))
				all = true;
			else if (word.len && (r = read_name(in, row, value, word, &which)) == 0)
				bits |= 1u << which;
		}
	}
	if (r == 0 && bits & never && !all)
		return fl_setting_refuse(in, value, "%s is not supported: %s", names->at[row->element - 1],
					 row->unsupported);
	if (r == 0 && all && never) {
		struct fl_str text = fl_arena_printf(in->arena, "all is taken but for %s, which is unsupported",
						     names->at[row->element - 1]);

		r = text.p ? fl_setting_warn(in, value, text.p) : fl_setting_no_memory(in);
	}
	return r < 0 ? r : set_bits(in, row, (all ? (1u << names->len) - 1 : bits) & ~never);
}

/* ---- one value ---- */

int fl_setting_bool(const struct fl_setting_in *in, const struct fl_setting_value *value, bool *ret)
{
	return read_bool(in, value, value->text, ret);
}

static int read_bool_into(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	bool is = false;
	int r = fl_setting_bool(in, value, &is);

	if (r < 0)
		return r;
	return row->kind == FL_SETTING_ELEMENT ? fl_setting_element(in, row, is) : put_member(in, row, &is, sizeof is);
}

static int read_text_into(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	struct fl_str text;
	int which, r = fl_setting_text(in, value, &text);

	if (r < 0)
		return r;
	if (row->kind == FL_SETTING_PATH)
		return set_path(in, row, value, text);
	if (row->kind == FL_SETTING_DURATION || row->kind == FL_SETTING_NUMBER)
		return set_number(in, row, value, text);
	if (row->kind == FL_SETTING_ENUM && !row->member && !text.len)
		return 0;
	if (row->kind == FL_SETTING_ENUM)
		return read_name(in, row, value, text, &which) < 0 ? -FL_E_INVALID :
								     put_member(in, row, &which, sizeof which);
	if (row->kind == FL_SETTING_QUALIFIED && (!fl_name_ok(FL_NAME_QUALIFIED, text) || fl_str_find(text, '/') < 0))
		return fl_setting_refuse_text(in, value, text, row->wanted);
	return put_member(in, row, &text, sizeof text);
}

static int read_objects(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value);

static int read_value(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	switch (row->kind) {
	case FL_SETTING_BOOL:
	case FL_SETTING_ELEMENT:
		return read_bool_into(in, row, value);
	case FL_SETTING_ENUM:
	case FL_SETTING_TEXT:
	case FL_SETTING_PATH:
	case FL_SETTING_QUALIFIED:
	case FL_SETTING_DURATION:
	case FL_SETTING_NUMBER:
		return read_text_into(in, row, value);
	case FL_SETTING_LIST:
		return value->json ? read_list(in, row, value) : add_names(in, row, value, value->text);
	case FL_SETTING_ANY:
		return yyjson_is_obj(value->json) ? fl_setting_refuse(in, value, "found an object") : 0;
	case FL_SETTING_OBJECTS:
		return read_objects(in, row, value);
	case FL_SETTING_OWN:
		return row->own(in, value);
	case FL_SETTING_SET:
		return read_set(in, row, value, &value->text, 1);
	case FL_SETTING_UNREAD:
	case FL_SETTING_LATER:
		break;
	}
	return 0;
}

/* ---- options ---- */

static int read_option(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_str *texts,
		       uint32_t count)
{
	struct fl_setting_value value = { .row = row, .before = "--", .place = row->option };
	int r = 0;

	if (count && row->kind == FL_SETTING_SET)
		return read_set(in, row, &value, texts, count);
	if (count && row->kind == FL_SETTING_LIST)
		r = begin_list(in, row);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		value.text = texts[i];
		r = read_value(in, row, &value);
	}
	return r;
}

int fl_setting_options(struct fl_setting_in *in, const void *given)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < in->count; i++) {
		const struct fl_setting *row = &in->rows[i];
		const void *at = (const char *)given + row->given;
		const struct fl_strs *several = at;
		const struct fl_str *one = at;

		if (row->option)
			r = row->given_list ? read_option(in, row, several->at, several->len) :
					      read_option(in, row, one, one->p != NULL);
	}
	return r;
}

int fl_setting_fallbacks(struct fl_setting_in *in)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < in->count; i++) {
		struct fl_str text = fl_str(in->rows[i].fallback ? in->rows[i].fallback : "");

		r = in->rows[i].fallback ? read_option(in, &in->rows[i], &text, 1) : 0;
	}
	return r;
}

/* ---- a file ---- */

static bool is_same(struct fl_str a, struct fl_str b)
{
	return a.len == b.len && strncasecmp(a.p, b.p, a.len) == 0;
}

/* The row of a place, or NULL; *ret_object: are there rows of members of its own? In any case, as sigs.k8s.io/yaml
 * takes names. */
static const struct fl_setting *row_of(const struct fl_setting_in *in, struct fl_str place, bool *ret_object)
{
	*ret_object = false;
	for (uint32_t i = 0; i < 2 * in->count; i++) {
		const struct fl_setting *row = &in->rows[i / 2];
		const char *file = i % 2 ? row->file_also : row->file;

		if (!file || strlen(file) < place.len || strncasecmp(file, place.p, place.len) != 0)
			continue;
		if (!file[place.len])
			return row;
		*ret_object |= file[place.len] == '.';
	}
	return NULL;
}

/* The key beside `key` that has this name in any case; NULL: there is none. */
static yyjson_val *find_key(yyjson_val *object, const yyjson_val *key, struct fl_str name)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(object);
	yyjson_val *found;
	struct fl_str other;

	while ((found = yyjson_obj_iter_next(&iter)))
		if (found != key && fl_json_str(found, &other) && is_same(other, name))
			break;
	return found;
}

static int read_object(struct fl_setting_in *in, yyjson_val *json, struct fl_str object);

/* `object`: where it stands, with the dot after it. */
static int read_member(struct fl_setting_in *in, yyjson_val *json, yyjson_val *key, struct fl_str object)
{
	struct fl_setting_value at = { .json = key }, value = { .json = yyjson_obj_iter_get_val(key) };
	char room[PLACE];
	struct fl_buf place = FL_BUF_IN(room);
	struct fl_str name;
	yyjson_val *twin;
	bool is_object;
	int r;

	(void)fl_json_str(key, &name);
	fl_buf_str(&place, object);
	fl_buf_str(&place, name);
	value.row = row_of(in, fl_buf_view(&place), &is_object);
	if (place.failed || !name.len || fl_str_find(name, '.') >= 0 || (!value.row && !is_object))
		return fl_setting_warn(in, &at, in->unknown);
	twin = find_key(json, key, name);
	if (twin && fl_json_str(twin, &name))   /* which of two would count depends on the alphabet */
		return fl_setting_refuse(in, &at, "'%.*s' differs from it in case only: write one of them",
					 FL_ARG(name));
	if (yyjson_is_null(value.json))
		return 0;
	if (!value.row) {
		fl_buf_char(&place, '.');
		return read_object(in, value.json, fl_buf_view(&place));
	}
	r = read_value(in, value.row, &value);
	return r == 0 && value.row->untaken ? fl_setting_warn(in, &value, value.row->untaken) : r;
}

static int read_object(struct fl_setting_in *in, yyjson_val *json, struct fl_str object)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(json);
	const struct fl_setting_value value = { .json = json };
	yyjson_val *key;
	int r = 0;

	if (yyjson_is_null(json))
		return 0;
	if (!yyjson_is_obj(json))
		return fl_setting_refuse_kind(in, &value, "an object");
	while (r == 0 && (key = yyjson_obj_iter_next(&iter)))
		r = read_member(in, json, key, object);
	for (uint32_t i = 0; r == 0 && i < in->count; i++) {
		const char *name = in->rows[i].required ? in->rows[i].file : "";

		if (*name && strncasecmp(name, object.p, object.len) == 0 && !strchr(name += object.len, '.') &&
		    !find_key(json, NULL, fl_str(name)))
			r = fl_setting_refuse(in, &value, "%s is missing", name);
	}
	return r;
}

static int read_objects(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(value->json);
	char room[PLACE];
	struct fl_buf inner = FL_BUF_IN(room);
	yyjson_val *item;
	int r = 0;

	if (!yyjson_is_arr(value->json))
		return fl_setting_refuse_kind(in, value, "a list");
	fl_buf_printf(&inner, "%s[].", row->file);
	while (r == 0 && (item = yyjson_arr_iter_next(&iter)))
		r = read_object(in, item, fl_buf_view(&inner));
	return r;
}

int fl_setting_object(const struct fl_setting_in *in, const struct fl_setting *rows, uint32_t count,
		      const struct fl_bind *bind, void *object, yyjson_val *json)
{
	struct fl_setting_in inner = *in;

	inner.rows = rows;
	inner.count = count;
	inner.bind = bind;
	inner.object = object;
	return read_object(&inner, json, FL_S(""));
}

int fl_setting_file(struct fl_setting_in *in, yyjson_doc *doc)
{
	in->doc = doc;
	return read_object(in, yyjson_doc_get_root(doc), FL_S(""));
}
