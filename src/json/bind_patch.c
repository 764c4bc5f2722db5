#include "json/bind_in.h"

struct patch {
	struct fl_buf *out;
	struct fl_buf path;            /* where it is: a JSON pointer */
	const struct fl_field *lost;   /* a list whose elements could not all be bound */
};

/* ---- operations ---- */

static size_t enter(struct patch *p, struct fl_str name)
{
	size_t before = p->path.len;

	fl_buf_char(&p->path, '/');
	for (uint32_t i = 0; i < name.len; i++)
		if (name.p[i] == '~' || name.p[i] == '/')
			fl_buf_str(&p->path, name.p[i] == '~' ? FL_S("~0") : FL_S("~1"));
		else
			fl_buf_char(&p->path, name.p[i]);
	return before;
}

static size_t enter_at(struct patch *p, size_t index)
{
	size_t before = p->path.len;

	fl_buf_printf(&p->path, "/%zu", index);
	return before;
}

/* `f` NULL: no value. `whole`: the member; else one element of it. */
static void operation(struct patch *p, const char *op, const struct fl_field *f, const void *value, bool whole)
{
	struct fl_jw w = FL_JW(p->out);

	if (p->path.failed)
		p->out->failed = p->path.failed;
	if (p->out->len)
		fl_buf_char(p->out, ',');
	fl_jw_obj(&w);
	fl_jw_put(&w, "op", str, fl_str(op));
	fl_jw_put(&w, "path", str, fl_buf_view(&p->path));
	if (f) {
		fl_jw_key(&w, FL_S("value"));
		if (whole)
			fl_field_encode(f, value, &w);
		else
			fl_value_encode(f, value, &w);
	}
	fl_jw_end_obj(&w);
}

/* ---- what differs ---- */

static void patch_object(struct patch *p, const struct fl_bind *bind, const void *before, const void *after,
			 yyjson_val *json);

static struct fl_seq seq_of(const void *member)
{
	return member ? fl_seq_get(member) : (struct fl_seq){ NULL, 0 };
}

/* Is it looked into, so that what no table names in there stays? */
static bool has_parts(const struct fl_field *f, yyjson_val *json)
{
	if (f->shape == FL_LIST)
		return f->type == FL_T_OBJ && yyjson_is_arr(json);
	return (f->shape == FL_MAP || f->type == FL_T_OBJ) && yyjson_is_obj(json);
}

static bool all_bound(const struct fl_field *f, yyjson_val *json, int depth);

static bool members_bound(const struct fl_bind *bind, yyjson_val *json, int depth)
{
	yyjson_obj_iter members = yyjson_obj_iter_with(json);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&members))) {
		struct fl_str name = { yyjson_get_str(key), (uint32_t)yyjson_get_len(key) };
		const struct fl_field *f = fl_field_find(bind, name);

		if (!f || f->local || !all_bound(f, yyjson_obj_iter_get_val(key), depth))
			return false;
	}
	return true;
}

/* Is all that stands there named by the table? */
static bool all_bound(const struct fl_field *f, yyjson_val *json, int depth)
{
	yyjson_arr_iter items = yyjson_arr_iter_with(json);
	yyjson_obj_iter values = yyjson_obj_iter_with(f->shape == FL_MAP ? json : NULL);
	yyjson_val *item;

	if (f->keep || depth == FL_BIND_DEPTH)
		return false;
	if (f->type != FL_T_OBJ)
		return true;
	if (f->shape == FL_ONE)
		return members_bound(f->of(), json, depth + 1);
	while ((item = yyjson_arr_iter_next(&items)))
		if (!members_bound(f->of(), item, depth + 1))
			return false;
	while ((item = yyjson_obj_iter_next(&values)))
		if (!members_bound(f->of(), yyjson_obj_iter_get_val(item), depth + 1))
			return false;
	return true;
}

static int64_t key_find(const struct fl_field *f, struct fl_seq in, struct fl_str key)
{
	for (uint32_t i = 0; i < in.len; i++)
		if (fl_str_eq(fl_elem_key(f, in, i), key))
			return i;
	return -1;
}

static bool same(const struct fl_field *f, const void *a, const void *b)
{
	return f->type == FL_T_OBJ ? fl_equal(f->of(), a, b) : fl_value_cmp(f, a, b) == 0;
}

static void patch_map(struct patch *p, const struct fl_field *f, struct fl_seq before, struct fl_seq after,
		      yyjson_val *json)
{
	for (uint32_t i = 0; i < before.len; i++)
		if (key_find(f, after, fl_elem_key(f, before, i)) < 0) {
			size_t back = enter(p, fl_elem_key(f, before, i));

			operation(p, "remove", NULL, NULL, false);
			fl_buf_cut(&p->path, back);
		}
	for (uint32_t i = 0; i < after.len; i++) {
		struct fl_str key = fl_elem_key(f, after, i);
		int64_t at = key_find(f, before, key);
		const void *now = fl_elem(f, after, i), *was = at < 0 ? NULL : fl_elem(f, before, (uint32_t)at);
		yyjson_val *in = fl_json_get(json, key);
		size_t back;

		if (was && same(f, was, now))
			continue;
		back = enter(p, key);
		if (f->type == FL_T_OBJ && yyjson_is_obj(in))
			patch_object(p, f->of(), was, now, in);
		else
			operation(p, in ? "replace" : "add", f, now, false);
		fl_buf_cut(&p->path, back);
	}
}

/* Is this element of a list-map in the document the one that was bound so? */
static bool is_bound_as(const struct fl_field *list, yyjson_val *json, const void *element)
{
	const struct fl_bind *bind = list->of();
	const struct fl_field *key;
	uint32_t at = 0;

	while ((key = fl_key_next(list, &at))) {
		char bound[FL_BIND_PATH], found[FL_BIND_PATH];
		struct fl_buf bound_text = FL_BUF_IN(bound), found_text = FL_BUF_IN(found);
		struct fl_jw w = FL_JW(&found_text);
		yyjson_val *in = fl_json_get(json, key->json);
		struct fl_str text;

		if (!in || yyjson_is_null(in) || !fl_has(bind, element, key)) {
			if ((in && !yyjson_is_null(in)) || fl_has(bind, element, key))
				return false;
			continue;
		}
		fl_value_print(key, fl_member(key, element), &bound_text);
		if (fl_json_str(in, &text))
			fl_buf_str(&found_text, text);
		else
			fl_jw_val(&w, in);
		if (bound_text.failed || found_text.failed ||
		    !fl_str_eq(fl_buf_view(&bound_text), fl_buf_view(&found_text)))
			return false;
	}
	return true;
}

/* The elements that are wanted no more go from the last to the first, so that none moves before its turn. */
static void remove_keyed(struct patch *p, const struct fl_field *f, struct fl_seq before, struct fl_seq after,
			 yyjson_val *json)
{
	for (size_t at = yyjson_arr_size(json); at-- > 0;)
		for (uint32_t i = 0; i < before.len; i++) {
			const void *was = fl_elem(f, before, i);
			size_t back;

			if (fl_elem_find(f, after, was) >= 0 || !is_bound_as(f, yyjson_arr_get(json, at), was))
				continue;
			back = enter_at(p, at);
			operation(p, "remove", NULL, NULL, false);
			fl_buf_cut(&p->path, back);
			break;
		}
}

static void patch_keyed(struct patch *p, const struct fl_field *f, struct fl_seq before, struct fl_seq after,
			yyjson_val *json)
{
	for (uint32_t i = 0; i < after.len; i++) {
		const void *now = fl_elem(f, after, i);
		int64_t found = fl_elem_find(f, before, now);
		const void *was = found < 0 ? NULL : fl_elem(f, before, (uint32_t)found);
		size_t at = 0, back;

		if (!was || same(f, was, now))
			continue;
		while (at < yyjson_arr_size(json) && !is_bound_as(f, yyjson_arr_get(json, at), was))
			at++;
		if (at == yyjson_arr_size(json)) {
			p->lost = f;
			return;
		}
		back = enter_at(p, at);
		patch_object(p, f->of(), was, now, yyjson_arr_get(json, at));
		fl_buf_cut(&p->path, back);
	}
	remove_keyed(p, f, before, after, json);
	for (uint32_t i = 0; i < after.len; i++)
		if (fl_elem_find(f, before, fl_elem(f, after, i)) < 0) {
			size_t back = enter(p, FL_S("-"));

			operation(p, "add", f, fl_elem(f, after, i), false);
			fl_buf_cut(&p->path, back);
		}
}

/* Without keys: what is the same at both ends stays, and what is between is changed in its place; the rest of it is
 * taken out or put in behind. */
static void patch_list(struct patch *p, const struct fl_field *f, struct fl_seq before, struct fl_seq after,
		       yyjson_val *json)
{
	uint32_t from = 0, tail = 0, least = before.len < after.len ? before.len : after.len;
	size_t back;

	if (yyjson_arr_size(json) != before.len) {
		p->lost = f;
		return;
	}
	while (from < least && same(f, fl_elem(f, before, from), fl_elem(f, after, from)))
		from++;
	while (tail < least - from &&
	       same(f, fl_elem(f, before, before.len - 1 - tail), fl_elem(f, after, after.len - 1 - tail)))
		tail++;
	for (; from < least - tail; from++) {
		back = enter_at(p, from);
		patch_object(p, f->of(), fl_elem(f, before, from), fl_elem(f, after, from), yyjson_arr_get(json, from));
		fl_buf_cut(&p->path, back);
	}
	for (uint32_t at = before.len - tail; at-- > from;) {
		back = enter_at(p, at);
		operation(p, "remove", NULL, NULL, false);
		fl_buf_cut(&p->path, back);
	}
	for (uint32_t at = from; at < after.len - tail; at++) {
		back = enter_at(p, at);
		operation(p, "add", f, fl_elem(f, after, at), false);
		fl_buf_cut(&p->path, back);
	}
}

static void patch_parts(struct patch *p, const struct fl_field *f, const void *was, const void *now, yyjson_val *in)
{
	if (f->shape == FL_ONE)
		patch_object(p, f->of(), was, now, in);
	else if (f->shape == FL_MAP)
		patch_map(p, f, seq_of(was), seq_of(now), in);
	else if (f->list_key)
		patch_keyed(p, f, seq_of(was), seq_of(now), in);
	else
		patch_list(p, f, seq_of(was), seq_of(now), in);
}

static void patch_field(struct patch *p, const struct fl_field *f, const void *was, const void *now, yyjson_val *in)
{
	size_t back;

	if ((!now && (!was || !in)) || (was && now && fl_field_equal(f, was, now)))
		return;
	back = enter(p, f->json);
	if (!now && all_bound(f, in, 0))
		operation(p, "remove", NULL, NULL, false);
	else if (in && has_parts(f, in))
		patch_parts(p, f, was, now, in);
	else if (now)
		operation(p, in ? "replace" : "add", f, now, true);
	else
		operation(p, "remove", NULL, NULL, false);
	fl_buf_cut(&p->path, back);
}

/* `before`, `after` NULL: nothing of it is there. */
static void patch_object(struct patch *p, const struct fl_bind *bind, const void *before, const void *after,
			 yyjson_val *json)
{
	fl_each_field (f, bind) {
		bool was = before && fl_has(bind, before, f), is = after && fl_has(bind, after, f);

		if (!f->local)
			patch_field(p, f, was ? fl_member(f, before) : NULL, is ? fl_member(f, after) : NULL,
				    fl_json_get(json, f->json));
	}
}

int fl_bind_patch(const struct fl_bind *bind, const void *before, const void *after, yyjson_val *json,
		  struct fl_buf *out, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(FL_JSON_ITEM_MAX);
	struct patch p = { .out = out, .path = path };

	patch_object(&p, bind, before, after, json);
	path = p.path;   /* what it has grown to is freed with it */
	if (p.lost)
		return fl_fail(err, FL_E_INVALID,
			       "%.*s: not all elements of this list can be read, so it cannot be changed",
			       FL_ARG(p.lost->json));
	return fl_buf_check(out, "the patch", err);
}
