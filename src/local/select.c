#include "local/select.h"
#include "json/write.h"
#include <stdlib.h>

/* ---- looking into a state ---- */

void fl_peek_reset(struct fl_peek *peek)
{
	peek->state = NULL;
	peek->root = NULL;
	fl_json_space_reset(&peek->space);
	fl_arena_reset(&peek->arena);
}

void fl_peek_free(struct fl_peek *peek)
{
	fl_json_space_free(&peek->space);
	fl_arena_free(&peek->arena);
	*peek = (struct fl_peek){ 0 };
}

static int by_key(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_pair *)a)->key, ((const struct fl_pair *)b)->key);
}

static int read_labels(struct fl_peek *peek)
{
	yyjson_val *labels = fl_json_get(fl_json_get(peek->root, FL_S("metadata")), FL_S("labels")), *key, *val;
	size_t i, n, count = yyjson_obj_size(labels);
	struct fl_pair *at;

	peek->labels = (struct fl_map){ 0 };
	if (!count)
		return 0;
	at = fl_arena_get_n(&peek->arena, count, sizeof *at);
	if (!at)
		return -FL_E_NOMEM;
	yyjson_obj_foreach (labels, i, n, key, val) {
		(void)fl_json_str(key, &at[i].key);
		(void)fl_json_str(val, &at[i].value);
	}
	qsort(at, count, sizeof *at, by_key);
	peek->labels = (struct fl_map){ at, (uint32_t)count };
	return 0;
}

static int look(struct fl_peek *peek, const struct fl_state *state)
{
	yyjson_doc *doc;

	if (peek->state == state)
		return 0;
	fl_peek_reset(peek);
	if (fl_json_read(&peek->space, fl_state_json(state), 0, &doc, NULL) < 0)
		return -FL_E_NOMEM;
	peek->root = yyjson_doc_get_root(doc);
	if (read_labels(peek) < 0)
		return -FL_E_NOMEM;
	peek->state = state;
	return 0;
}

/* ---- fields ---- */

yyjson_val *fl_json_at(yyjson_val *object, struct fl_str path)
{
	struct fl_str name;

	while (object && path.p && fl_str_split(&path, '.', &name))
		object = fl_json_get(object, name);
	return object;
}

/* A value as a selector compares it: absent is "". */
static struct fl_str field_text(yyjson_val *val, char room[32])
{
	struct fl_buf buf = { .p = room, .cap = 32, .max = 31 };
	struct fl_str text = { 0 };
	int64_t number;

	if (fl_json_str(val, &text))
		return text;
	if (yyjson_is_bool(val))
		return yyjson_get_bool(val) ? FL_S("true") : FL_S("false");
	if (!fl_json_i64(val, &number))
		return FL_S("");
	fl_buf_int(&buf, number);
	return fl_buf_view(&buf);
}

/* A backslash takes the next of , = \ as it is. */
static struct fl_str unescape(struct fl_arena *arena, struct fl_str text)
{
	struct fl_str copy = fl_arena_str(arena, text);
	char *at = (char *)(uintptr_t)copy.p;
	uint32_t len = 0;

	for (uint32_t i = 0; at && i < text.len; i++) {
		if (text.p[i] == '\\' && i + 1 < text.len)
			i++;
		at[len++] = text.p[i];
	}
	copy.len = len;
	return copy;
}

/* Where the first of these bytes stands that no backslash precedes; the length when there is none. */
static uint32_t find_plain(struct fl_str text, char byte)
{
	for (uint32_t i = 0; i < text.len; i++) {
		if (text.p[i] == '\\')
			i++;
		else if (text.p[i] == byte)
			return i;
	}
	return text.len;
}

static int parse_term(struct fl_arena *arena, struct fl_str text, struct fl_filter *filter, struct fl_err *err)
{
	uint32_t at = find_plain(text, '='), skip = 1;
	struct fl_field_term *term = &filter->fields[filter->field_count];

	if (at == text.len)
		return fl_fail(err, FL_E_INVALID, "invalid selector: '%.*s'; can't understand '%.*s'", FL_ARG(text),
			       FL_ARG(text));
	if (filter->field_count == FL_FIELD_TERMS)
		return fl_fail(err, FL_E_TOOBIG, "a field selector of more than %d terms", FL_FIELD_TERMS);
	*term = (struct fl_field_term){ .differs = at && text.p[at - 1] == '!' };
	if (at + 1 < text.len && text.p[at + 1] == '=')
		skip = 2;
	term->path = fl_arena_str(arena, fl_str_sub(text, 0, at - (term->differs ? 1 : 0)));
	term->value = unescape(arena, fl_str_sub(text, at + skip, text.len));
	if (!term->path.p || !term->value.p)
		return fl_fail(err, FL_E_NOMEM, "no memory for a field selector");
	filter->field_count++;
	return 0;
}

int fl_fields_parse(struct fl_arena *arena, struct fl_str text, struct fl_filter *filter, struct fl_err *err)
{
	while (text.len) {
		uint32_t len = find_plain(text, ',');
		struct fl_str term = fl_str_sub(text, 0, len);
		int r = term.len ? parse_term(arena, term, filter, err) : 0;

		if (r < 0)
			return r;
		text = fl_str_sub(text, len + 1, text.len);
	}
	return 0;
}

/* ---- the filter ---- */

static bool by_name(struct fl_str path)
{
	return fl_str_eq(path, FL_S("metadata.name")) || fl_str_eq(path, FL_S("metadata.namespace"));
}

void fl_filter_ready(struct fl_filter *filter)
{
	filter->reads = filter->labels.len > 0;
	for (uint32_t i = 0; i < filter->field_count; i++)
		filter->reads |= !by_name(filter->fields[i].path);
}

static bool term_holds(const struct fl_field_term *term, const struct fl_state *state, yyjson_val *root)
{
	char room[32];
	struct fl_str text;

	if (fl_str_eq(term->path, FL_S("metadata.name")))
		text = fl_state_name(state);
	else if (fl_str_eq(term->path, FL_S("metadata.namespace")))
		text = fl_state_space(state);
	else
		text = field_text(fl_json_at(root, term->path), room);
	return fl_str_eq(text, term->value) != term->differs;
}

int fl_filter_match(const struct fl_filter *filter, const struct fl_state *state, struct fl_peek *peek)
{
	if (filter->space.len && !fl_str_eq(filter->space, fl_state_space(state)))
		return 0;
	if (filter->reads && look(peek, state) < 0)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < filter->field_count; i++) {
		if (!term_holds(&filter->fields[i], state, peek->root))
			return 0;
	}
	return !filter->labels.len || fl_selector_match(&filter->labels, peek->labels);
}
