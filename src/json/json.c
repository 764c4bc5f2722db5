#include "json/json.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- reading ---- */

void fl_json_where(struct fl_str text, size_t pos, uint32_t *ret_line, uint32_t *ret_column)
{
	uint32_t line = 1, column = 1;

	for (size_t i = 0; i < pos && i < text.len; i++) {
		if (text.p[i] == '\n') {
			line++;
			column = 1;
		} else {
			column += ((unsigned char)text.p[i] & 0xc0) != 0x80;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

/* The next step for the mistakes that people make. */
static const char *hint(struct fl_str text, const yyjson_read_err *why)
{
	char at = why->pos < text.len ? text.p[why->pos] : 0;

	if (why->code == YYJSON_READ_ERROR_EMPTY_CONTENT)
		return "there is nothing to read";
	if (why->code == YYJSON_READ_ERROR_UNEXPECTED_END || why->pos >= text.len)
		return "the text ends too early; is it cut off?";
	if (why->code == YYJSON_READ_ERROR_UNEXPECTED_CONTENT)
		return "the document has ended before this; one text holds one document";
	if (why->code == YYJSON_READ_ERROR_INVALID_NUMBER)
		return "write it as JSON does (no leading zero, no plus sign), or put it in double quotes";
	if (why->code == YYJSON_READ_ERROR_INVALID_STRING)
		return "is the text UTF-8, each backslash doubled and each line end written \\n?";
	if (at == '\'')
		return "texts stand in double quotes";
	if (at == '#' || at == '/')
		return "JSON has no comments; write YAML where you need them";
	if (at == ',')
		return "remove this comma";
	if (at == '}' || at == ']')
		return "is there a comma too many before it?";
	if (at == '"' || at == '{' || at == '[')
		return "is a comma or colon missing before it?";
	if ((at >= 'a' && at <= 'z') || (at >= 'A' && at <= 'Z') || at == '_')
		return "names and texts stand in double quotes; the bare words are true, false and null";
	return "is a quote, comma or colon missing before it?";
}

static int refuse_text(struct fl_str text, const yyjson_read_err *why, struct fl_err *err)
{
	uint32_t line, column;

	if (why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return fl_fail(err, FL_E_NOMEM, "JSON of %u bytes: out of memory", text.len);
	fl_json_where(text, why->pos, &line, &column);
	return fl_fail(err, FL_E_INVALID, "line %u, column %u: %s; %s", line, column, why->msg, hint(text, why));
}

/* The values of a document stand in one array, depth first. */
static int check_depth(const yyjson_doc *doc, struct fl_err *err)
{
	const yyjson_val *val = doc->root, *end = val + doc->val_read;
	const yyjson_val *ends[FL_JSON_DEPTH];
	uint32_t depth = 0;

	for (; val < end; val++) {
		while (depth && val >= ends[depth - 1])
			depth--;
		if (!yyjson_is_ctn((yyjson_val *)(uintptr_t)val))
			continue;
		if (depth == FL_JSON_DEPTH)
			return fl_fail(err, FL_E_TOOBIG, "JSON is nested deeper than %d levels", FL_JSON_DEPTH);
		ends[depth++] = unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)val);
	}
	return 0;
}

int fl_json_read(struct fl_json_space *space, struct fl_str text, unsigned flags, yyjson_doc **ret_doc,
		 struct fl_err *err)
{
	yyjson_alc alc = fl_json_alc(space);
	yyjson_read_err why = { 0 };
	int r = 0;

	if (text.len > FL_JSON_MAX)
		return fl_fail(err, FL_E_TOOBIG, "JSON of %u bytes is over the limit of %llu", text.len, FL_JSON_MAX);
	if (text.len == 0)
		return fl_fail(err, FL_E_INVALID, "line 1, column 1: empty text where JSON should be");

	/* Without YYJSON_READ_INSITU the text is only read; the cast is for yyjson's prototype. */
	FL_AUTO(fl_json_doc) yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text.p, text.len, 0, &alc, &why);

	if (!doc)
		return refuse_text(text, &why, err);
	/* A depth needs that many values, so most documents are cleared by their size alone. */
	if (doc->val_read > FL_JSON_DEPTH)
		r = check_depth(doc, err);
	if (r >= 0 && flags & FL_JSON_STRICT)
		r = fl_json_no_repeats(doc, err);
	if (r < 0)
		return r;
	*ret_doc = fl_steal(&doc);
	return 0;
}

/* ---- repeated keys ---- */

/* Up to here comparing each with each is quicker than sorting. */
#define FEW_KEYS 24

static bool same_key(yyjson_val *a, yyjson_val *b)
{
	size_t len = unsafe_yyjson_get_len(a);

	return len == unsafe_yyjson_get_len(b) &&
	       memcmp(unsafe_yyjson_get_str(a), unsafe_yyjson_get_str(b), len) == 0;
}

static int by_key(const void *pa, const void *pb)
{
	yyjson_val *a = *(yyjson_val *const *)pa, *b = *(yyjson_val *const *)pb;
	size_t la = unsafe_yyjson_get_len(a), lb = unsafe_yyjson_get_len(b);
	int order = la == lb ? memcmp(unsafe_yyjson_get_str(a), unsafe_yyjson_get_str(b), la) : 0;

	return order ? order : (la > lb) - (la < lb);
}

/* A key that stands twice in the object, or NULL. */
static yyjson_val *repeat_among(yyjson_val **keys, size_t len)
{
	if (len > FEW_KEYS) {
		qsort(keys, len, sizeof *keys, by_key);
		for (size_t i = 1; i < len; i++)
			if (same_key(keys[i - 1], keys[i]))
				return keys[i];
		return NULL;
	}
	for (size_t i = 1; i < len; i++)
		for (size_t k = 0; k < i; k++)
			if (same_key(keys[i], keys[k]))
				return keys[i];
	return NULL;
}

static int repeat_in(yyjson_val *object, yyjson_val **ret_key)
{
	yyjson_val *few[FEW_KEYS], **keys = few, *key;
	size_t len = unsafe_yyjson_get_len(object), i = 0;
	FL_AUTO(fl_mem) yyjson_val **many = NULL;
	yyjson_obj_iter iter = yyjson_obj_iter_with(object);

	*ret_key = NULL;
	if (len > FEW_KEYS) {
		many = fl_alloc(len * sizeof *many);
		if (!many)
			return -FL_E_NOMEM;
		keys = many;
	}
	while ((key = yyjson_obj_iter_next(&iter)) != NULL)
		keys[i++] = key;
	*ret_key = repeat_among(keys, i);
	return 0;
}

int fl_json_no_repeats(const yyjson_doc *doc, struct fl_err *err)
{
	yyjson_val *key, *end = doc->root + doc->val_read;
	char path[FL_ERR_TEXT / 2];

	for (yyjson_val *val = doc->root; val < end; val++) {
		if (!yyjson_is_obj(val) || unsafe_yyjson_get_len(val) < 2)
			continue;
		if (repeat_in(val, &key) < 0)
			return fl_fail(err, FL_E_NOMEM, "JSON: out of memory");
		if (!key)
			continue;
		fl_json_path(doc, key + 1, path, sizeof path);
		return fl_fail(err, FL_E_INVALID, "%s: this name stands here twice; remove one", path);
	}
	return 0;
}

/* ---- looking in ---- */

yyjson_val *fl_json_get(yyjson_val *object, struct fl_str key)
{
	yyjson_obj_iter iter;
	yyjson_val *at, *found = NULL;

	if (!yyjson_is_obj(object))
		return NULL;
	iter = yyjson_obj_iter_with(object);
	while ((at = yyjson_obj_iter_next(&iter)) != NULL)
		if (unsafe_yyjson_equals_strn(at, key.p, key.len))
			found = yyjson_obj_iter_get_val(at);
	return found;
}

bool fl_json_str(const yyjson_val *val, struct fl_str *ret)
{
	yyjson_val *v = (yyjson_val *)(uintptr_t)val;

	if (!yyjson_is_str(v) || unsafe_yyjson_get_len(v) > UINT32_MAX)
		return false;
	*ret = (struct fl_str){ unsafe_yyjson_get_str(v), (uint32_t)unsafe_yyjson_get_len(v) };
	return true;
}

bool fl_json_i64(const yyjson_val *val, int64_t *ret)
{
	yyjson_val *v = (yyjson_val *)(uintptr_t)val;

	if (!yyjson_is_int(v) || (yyjson_is_uint(v) && unsafe_yyjson_get_uint(v) > INT64_MAX))
		return false;
	*ret = unsafe_yyjson_get_sint(v);
	return true;
}

const char *fl_json_kind(const yyjson_val *val)
{
	yyjson_val *v = (yyjson_val *)(uintptr_t)val;

	switch (yyjson_get_type(v)) {
	case YYJSON_TYPE_NULL:
		return "null";
	case YYJSON_TYPE_BOOL:
		return unsafe_yyjson_get_bool(v) ? "true" : "false";
	case YYJSON_TYPE_NUM:
		return yyjson_is_int(v) ? "an integer" : "a number with a fraction or exponent";
	case YYJSON_TYPE_STR:
		return "a text";
	case YYJSON_TYPE_ARR:
		return "a list";
	case YYJSON_TYPE_OBJ:
		return "an object";
	}
	return "nothing";
}

void fl_json_path(const yyjson_doc *doc, const yyjson_val *val, char *path, size_t size)
{
	yyjson_val *at = doc->root, *end, *child, *key;
	size_t len = 0, index;
	int n;

	path[0] = 0;
	/* Values stand depth first: the child that contains it is the last one that does not begin behind it. */
	while (at < val && yyjson_is_ctn(at) && len < size) {
		end = unsafe_yyjson_get_next(at);
		child = unsafe_yyjson_get_first(at);
		for (index = 0, key = NULL;; index++) {
			if (yyjson_is_obj(at))
				key = child++;
			if (unsafe_yyjson_get_next(child) > val || unsafe_yyjson_get_next(child) >= end)
				break;
			child = unsafe_yyjson_get_next(child);
		}
		if (key)
			n = snprintf(path + len, size - len, "%s%s", len ? "." : "", unsafe_yyjson_get_str(key));
		else
			n = snprintf(path + len, size - len, "[%zu]", index);
		len += n < 0 ? size : (size_t)n;
		at = child;
	}
}
