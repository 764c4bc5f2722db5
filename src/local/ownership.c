#include "local/ownership.h"
#include "local/schema_in.h"
#include "json/write.h"
#include <stdlib.h>

static struct fl_owned *new_field(struct fl_ownership *fields, char kind, struct fl_str text)
{
	struct fl_owned *field = fl_arena_get(fields->arena, sizeof *field + fields->words * sizeof *field->own);

	if (!field) {
		fields->failed = true;
		return NULL;
	}
	field->kind = kind;
	field->text = text;
	fields->seed = fields->seed * 1664525 + 1013904223;   /* an even spread is all that is wanted */
	field->turn = fields->seed >> 8;
	return field;
}

void fl_ownership_init(struct fl_ownership *fields, struct fl_arena *arena, uint32_t owners)
{
	*fields = (struct fl_ownership){ .arena = arena, .words = owners / 64 + 1, .seed = 1 };
	fields->root = new_field(fields, 0, FL_S(""));
}

/* ---- the fields below one, as a treap ---- */

static int compare(char kind, struct fl_str text, const struct fl_owned *field)
{
	return kind != field->kind ? kind - field->kind : fl_str_cmp(text, field->text);
}

struct fl_owned *fl_owned_find(const struct fl_owned *up, char kind, struct fl_str text)
{
	struct fl_owned *at = up->below;
	int order;

	while (at && (order = compare(kind, text, at)) != 0)
		at = order < 0 ? at->less : at->more;
	return at;
}

/* Those of `at` that come before the new one, and those that come after it. */
static void split(struct fl_owned *at, const struct fl_owned *new, struct fl_owned **less, struct fl_owned **more)
{
	while (at) {
		if (compare(new->kind, new->text, at) < 0) {
			*more = at;
			more = &at->less;
			at = at->less;
		} else {
			*less = at;
			less = &at->more;
			at = at->more;
		}
	}
	*less = *more = NULL;
}

static struct fl_owned *insert(struct fl_ownership *fields, struct fl_owned *up, char kind, struct fl_str text)
{
	struct fl_owned *new = new_field(fields, kind, text), **at = &up->below;

	if (!new)
		return NULL;
	while (*at && (*at)->turn >= new->turn)
		at = compare(kind, text, *at) < 0 ? &(*at)->less : &(*at)->more;
	split(*at, new, &new->less, &new->more);
	*at = new;
	return new;
}

struct fl_owned *fl_owned_make(struct fl_ownership *fields, struct fl_owned *up, char kind, struct fl_str text)
{
	struct fl_owned *found = fl_owned_find(up, kind, text);

	if (found)
		return found;
	text = fl_arena_str(fields->arena, text);
	if (text.p)
		return insert(fields, up, kind, text);
	fields->failed = true;
	return NULL;
}

static bool any_among(const struct fl_owned *at, uint32_t owner)
{
	for (; at; at = at->more)
		if (fl_owned_any(at, owner) || any_among(at->less, owner))
			return true;
	return false;
}

bool fl_owned_any(const struct fl_owned *field, uint32_t owner)
{
	return fl_owned_has(field, owner) || any_among(field->below, owner);
}

/* ---- fieldsV1 ---- */

static struct fl_str name_of(const yyjson_mut_val *key)
{
	return (struct fl_str){ key->uni.str, (uint32_t)unsafe_yyjson_get_len((void *)(uintptr_t)key) };
}

static int by_name(const void *a, const void *b)
{
	return fl_str_cmp(*(const struct fl_str *)a, *(const struct fl_str *)b);
}

/* A text as Go prints it in JSON for web pages. */
static void put_text(struct fl_buf *buf, struct fl_str text)
{
	FL_AUTO(fl_buf) struct fl_buf plain = FL_BUF(buf->max);
	struct fl_jw w = FL_JW(&plain);

	fl_jw_str(&w, text);
	for (size_t i = 0; i < plain.len; i++) {
		char c = plain.p[i];

		if (c == '<' || c == '>' || c == '&')
			fl_buf_printf(buf, "\\u00%02x", (unsigned)c);
		else
			fl_buf_char(buf, c);
	}
	if (plain.failed)
		buf->failed = plain.failed;
}

static bool needs_no_escape(struct fl_str text)
{
	for (uint32_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
			return false;
	}
	return true;
}

static void put_value(struct fl_buf *buf, yyjson_mut_val *val)
{
	struct fl_jw w = FL_JW(buf);

	if (!yyjson_mut_is_str(val)) {
		fl_jw_mut(&w, val);
	} else if (needs_no_escape(fl_tree_str(val))) {
		fl_buf_char(buf, '"');
		fl_buf_str(buf, fl_tree_str(val));
		fl_buf_char(buf, '"');
	} else {
		put_text(buf, fl_tree_str(val));
	}
}

/* Somebody may have written k: and v: with blanks, or with keys in another order. */
static struct fl_str canonical(struct fl_ownership *fields, char kind, struct fl_str text, struct fl_buf *buf)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	FL_AUTO(fl_json_mut) yyjson_mut_doc *tree = NULL;
	yyjson_alc alc = fl_json_alc(NULL);
	FL_VEC(struct fl_str) names = { 0 };
	yyjson_mut_val *root, *key, *val;
	struct fl_err err = { 0 };
	size_t i, max;

	if (fl_json_read(NULL, text, 0, &doc, &err) < 0) {
		fields->failed |= err.code == FL_E_NOMEM;
		return text;
	}
	tree = yyjson_mut_doc_new(&alc);
	root = tree ? fl_tree_of(tree, doc->root, NULL) : NULL;
	if (!root) {
		fields->failed = true;
		return text;
	}
	fl_buf_clear(buf);
	if (kind == 'v' || !yyjson_mut_is_obj(root)) {
		put_value(buf, root);
		return fl_buf_view(buf);
	}
	yyjson_mut_obj_foreach(root, i, max, key, val)
		fields->failed |= fl_vec_push(&names, name_of(key)) < 0;
	if (names.len)
		qsort(names.at, names.len, sizeof *names.at, by_name);
	fl_buf_char(buf, '{');
	for (i = 0; i < names.len; i++) {
		fl_buf_str(buf, i ? FL_S(",") : FL_S(""));
		put_text(buf, names.at[i]);
		fl_buf_char(buf, ':');
		put_value(buf, fl_tree_get(root, names.at[i]));
	}
	fl_buf_char(buf, '}');
	fl_vec_free(&names);
	return fl_buf_view(buf);
}

/* As this code prints them? */
static bool is_canonical(char kind, struct fl_str text)
{
	uint32_t keys = 0;

	if (kind == 'f' || kind == 'i')
		return true;
	for (uint32_t i = 0; i < text.len; i++) {
		if (text.p[i] == ' ' || text.p[i] == '\\' || text.p[i] == '\t' || text.p[i] == '\n')
			return false;
		keys += text.p[i] == ':';
	}
	return kind == 'v' || keys <= 1;
}

static void read_below(struct fl_ownership *fields, struct fl_owned *field, uint32_t owner, yyjson_mut_val *v1,
		       struct fl_buf *buf)
{
	yyjson_mut_val *key, *val;
	size_t i, max;

	yyjson_mut_obj_foreach(v1, i, max, key, val)
	{
		struct fl_str name = name_of(key), text = fl_str_sub(name, 2, name.len);
		struct fl_owned *below;

		if (fl_str_eq(name, FL_S("."))) {
			fl_owned_set(field, owner);
			continue;
		}
		if (name.len < 2 || name.p[1] != ':' || !memchr("fkvi", name.p[0], 4) || !yyjson_mut_is_obj(val))
			continue;
		if (!is_canonical(name.p[0], text))
			text = canonical(fields, name.p[0], text, buf);
		if (fields->failed || buf->failed) {
			fields->failed = true;
			return;
		}
		below = fl_owned_find(field, name.p[0], text);
		if (!below) {
			bool moved = text.p == buf->p;

			below = moved ? fl_owned_make(fields, field, name.p[0], text) :
					insert(fields, field, name.p[0], text);
		}
		if (!below)
			return;
		if (yyjson_mut_obj_size(val) == 0)
			fl_owned_set(below, owner);
		else
			read_below(fields, below, owner, val, buf);
	}
}

void fl_ownership_read(struct fl_ownership *fields, uint32_t owner, yyjson_mut_val *v1)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_JSON_ITEM_MAX);

	if (fields->root)
		read_below(fields, fields->root, owner, v1, &buf);
	fields->failed |= buf.failed != FL_OK;
}

/* ---- printing ---- */

struct printer {
	yyjson_mut_doc *doc;
	uint32_t owner;
	bool failed;
};

static void print_among(struct printer *p, const struct fl_owned *at, yyjson_mut_val *into);

static yyjson_mut_val *add(struct printer *p, yyjson_mut_val *into, const char *text, size_t len)
{
	yyjson_mut_val *key = yyjson_mut_strn(p->doc, text, len), *val = yyjson_mut_obj(p->doc);

	if (key && val && yyjson_mut_obj_add(into, key, val))
		return val;
	p->failed = true;
	return NULL;
}

static void print_field(struct printer *p, const struct fl_owned *field, yyjson_mut_val *into)
{
	bool self = fl_owned_has(field, p->owner), more = any_among(field->below, p->owner);
	yyjson_mut_val *val;
	char *text;

	if (!self && !more)
		return;
	text = unsafe_yyjson_mut_str_alc(p->doc, field->text.len + 2);
	if (!text) {
		p->failed = true;
		return;
	}
	text[0] = field->kind;
	text[1] = ':';
	if (field->text.len)
		memcpy(text + 2, field->text.p, field->text.len);
	text[field->text.len + 2] = '\0';
	val = add(p, into, text, field->text.len + 2);
	if (val && self && more)
		(void)add(p, val, ".", 1);
	if (val && more)
		print_among(p, field->below, val);
}

static void print_among(struct printer *p, const struct fl_owned *at, yyjson_mut_val *into)
{
	for (; at; at = at->more) {
		print_among(p, at->less, into);
		print_field(p, at, into);
	}
}

yyjson_mut_val *fl_ownership_print(const struct fl_ownership *fields, uint32_t owner, yyjson_mut_doc *doc)
{
	struct printer p = { doc, owner, false };
	yyjson_mut_val *into = yyjson_mut_obj(doc);

	if (!into)
		return NULL;
	print_among(&p, fields->root->below, into);
	return p.failed ? NULL : into;
}

/* ---- elements ---- */

static bool is_plain(yyjson_mut_val *val)
{
	return val && !yyjson_mut_is_ctn(val) && !yyjson_mut_is_null(val);
}

int fl_element_of(const struct fl_node *list, yyjson_mut_val *item, struct fl_buf *buf, char *ret_kind)
{
	bool any = false;

	fl_buf_clear(buf);
	*ret_kind = list->list == FL_LIST_MAP ? 'k' : 'v';
	if (list->list != FL_LIST_MAP) {
		if (!is_plain(item))
			return 1;
		put_value(buf, item);
		return 0;
	}
	if (!yyjson_mut_is_obj(item))
		return 1;
	fl_buf_char(buf, '{');
	for (uint32_t i = 0; i < list->key_len; i++) {
		yyjson_mut_val *val = fl_tree_get(item, list->keys[i]);
		const struct fl_node *key = val ? NULL : fl_node_prop(list->items, list->keys[i]);
		struct fl_jw w = FL_JW(buf);

		if (!val && (!key || !key->def))
			continue;
		fl_buf_str(buf, any ? FL_S(",") : FL_S(""));
		fl_jw_str(&w, list->keys[i]);
		fl_buf_char(buf, ':');
		if (val)
			put_value(buf, val);
		else
			fl_jw_val(&(struct fl_jw){ .buf = buf }, key->def);
		any = true;
	}
	fl_buf_char(buf, '}');
	return any ? 0 : 1;
}

void fl_element_put(struct fl_buf *buf, char kind, struct fl_str text)
{
	bool quoted = false, name = true;

	if (kind == 'f') {
		fl_buf_char(buf, '.');
		fl_buf_str(buf, text);
		return;
	}
	if (kind != 'k' || text.len < 2) {
		fl_buf_printf(buf, "[%s%.*s]", kind == 'v' ? "=" : "", FL_ARG(text));
		return;
	}
	/* {"k":"x","p":80} as [k="x",p=80] */
	fl_buf_char(buf, '[');
	for (uint32_t i = 1; i + 1 < text.len; i++) {
		char c = text.p[i];

		if (quoted && c == '\\') {
			fl_buf_put(buf, &text.p[i++], 2);
			continue;
		}
		quoted ^= c == '"';
		if (c == '"' && name)
			continue;
		if (!quoted && (c == ':' || c == ',')) {
			name = c == ',';
			c = name ? ',' : '=';
		}
		fl_buf_char(buf, c);
	}
	fl_buf_char(buf, ']');
}

bool fl_owned_is_servers(struct fl_str name, bool in_metadata)
{
	static const struct fl_str root[] = { FL_S_INIT("apiVersion"), FL_S_INIT("kind") };
	static const struct fl_str metadata[] = {
		FL_S_INIT("name"), FL_S_INIT("namespace"), FL_S_INIT("creationTimestamp"), FL_S_INIT("selfLink"),
		FL_S_INIT("uid"), FL_S_INIT("clusterName"), FL_S_INIT("generation"), FL_S_INIT("managedFields"),
		FL_S_INIT("resourceVersion"),
	};

	return in_metadata ? fl_str_in(metadata, FL_LEN(metadata), name) : fl_str_in(root, FL_LEN(root), name);
}
