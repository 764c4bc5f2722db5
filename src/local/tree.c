#include "local/tree.h"
#include <stdlib.h>

/* Up to here comparing each with each is quicker than sorting. */
#define FEW 24

static struct fl_str text_of(const yyjson_mut_val *val)
{
	return (struct fl_str){ val->uni.str, (uint32_t)unsafe_yyjson_get_len((void *)(uintptr_t)val) };
}

struct fl_str fl_tree_str(const yyjson_mut_val *val)
{
	return yyjson_mut_is_str((yyjson_mut_val *)(uintptr_t)val) ? text_of(val) : (struct fl_str){ 0 };
}

/* ---- members by name ---- */

static bool is_named(const yyjson_mut_val *key, struct fl_str name)
{
	return fl_str_eq(text_of(key), name);
}

yyjson_mut_val *fl_tree_get(yyjson_mut_val *object, struct fl_str name)
{
	yyjson_mut_val *key;

	if (!yyjson_mut_is_obj(object))
		return NULL;
	key = object->uni.ptr;          /* the last; its value is followed by the first */
	for (size_t left = unsafe_yyjson_get_len(object); left; left--) {
		key = key->next->next;
		if (is_named(key, name))
			return key->next;
	}
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	struct fl_str x = text_of(*(yyjson_mut_val *const *)a), y = text_of(*(yyjson_mut_val *const *)b);

	return x.len != y.len ? (x.len < y.len ? -1 : 1) : x.len ? memcmp(x.p, y.p, x.len) : 0;
}

/* Without memory for the sorted keys the search is slower, not wrong. */
void fl_tree_names_init(struct fl_tree_names *names, yyjson_mut_val *object)
{
	size_t len = yyjson_mut_obj_size(object), i, max;
	yyjson_mut_val *key, *val;

	*names = (struct fl_tree_names){ .object = object };
	if (len <= FEW || !(names->keys = fl_alloc(len * sizeof *names->keys)))
		return;
	yyjson_mut_obj_foreach(object, i, max, key, val)
		names->keys[i] = key;
	names->len = len;
	qsort(names->keys, len, sizeof *names->keys, by_name);
}

yyjson_mut_val *fl_tree_names_get(const struct fl_tree_names *names, struct fl_str name)
{
	yyjson_mut_val key = { 0 }, *sought = &key, **found;

	if (!names->keys)
		return fl_tree_get(names->object, name);
	key.uni.str = name.p;
	key.tag = (uint64_t)name.len << YYJSON_TAG_BIT;
	found = bsearch(&sought, names->keys, names->len, sizeof *names->keys, by_name);
	return found ? (*found)->next : NULL;
}

/* ---- from what was read ---- */

struct from {
	yyjson_mut_doc *doc;
	struct fl_causes *repeats;
};

void fl_at_put(struct fl_buf *buf, const struct fl_at *at)
{
	if (!at)
		return;
	fl_at_put(buf, at->up);
	if (!at->name.p)
		fl_buf_printf(buf, "[%zu]", at->index);
	else
		fl_buf_printf(buf, "%s%.*s", buf->len ? "." : "", FL_ARG(at->name));
}

static void report(const struct from *from, const struct fl_at *up, struct fl_str name)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(64 * FL_KIB);

	if (!from->repeats)
		return;
	fl_at_put(&path, &(struct fl_at){ up, name.p ? name : FL_S(""), 0 });
	fl_cause_add(from->repeats, NULL, fl_buf_view(&path), "duplicate field \"%.*s\"", FL_ARG(fl_buf_view(&path)));
	if (path.failed)
		from->repeats->failed = true;
}

static yyjson_mut_val *build(const struct from *from, yyjson_val *val, const struct fl_at *at);

struct member {
	yyjson_mut_val *key;
	size_t at;
};

static int by_name_and_place(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = by_name(&x->key, &y->key);

	return order ? order : x->at < y->at ? -1 : 1;
}

/* Take out the keys that are marked by having no text. */
static void drop_marked(yyjson_mut_val *object)
{
	yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);
	yyjson_mut_val *key;

	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL)
		if (!key->uni.str)
			(void)yyjson_mut_obj_iter_remove(&iter);
}

/* Give the first of its name the last one's value, and mark the others. */
static bool join_repeats(const struct from *from, yyjson_mut_val *object, const struct fl_at *at)
{
	size_t len = yyjson_mut_obj_size(object), i, max;
	FL_AUTO(fl_mem) struct member *members = fl_alloc(len * sizeof *members);
	yyjson_mut_val *key, *val, *first = NULL, *next;
	bool any = false;

	if (!members)
		return false;
	yyjson_mut_obj_foreach(object, i, max, key, val)
		members[i] = (struct member){ key, i };
	qsort(members, len, sizeof *members, by_name_and_place);
	for (i = 0; i < len; i++) {
		key = members[i].key;
		if (!first || by_name(&first, &key) != 0) {
			first = key;
			continue;
		}
		report(from, at, text_of(key));
		next = first->next->next;
		*first->next = *key->next;
		first->next->next = next;
		any = true;
	}
	first = NULL;
	for (i = 0; any && i < len; i++) {
		key = members[i].key;
		if (first && by_name(&first, &key) == 0)
			key->uni.str = NULL;
		else
			first = key;
	}
	if (any)
		drop_marked(object);
	return true;
}

static yyjson_mut_val *build_object(const struct from *from, yyjson_val *val, const struct fl_at *at)
{
	yyjson_mut_val *object = yyjson_mut_obj(from->doc), *key, *value;
	yyjson_obj_iter iter = yyjson_obj_iter_with(val);
	bool few = yyjson_obj_size(val) <= FEW, repeated = !few;
	yyjson_val *name;

	if (!object)
		return NULL;
	while ((name = yyjson_obj_iter_next(&iter)) != NULL) {
		struct fl_at place = { at, { unsafe_yyjson_get_str(name), (uint32_t)unsafe_yyjson_get_len(name) }, 0 };

		value = build(from, yyjson_obj_iter_get_val(name), &place);
		key = yyjson_mut_strn(from->doc, place.name.p, place.name.len);
		if (!key || !value)
			return NULL;
		repeated = repeated || fl_tree_get(object, place.name);
		(void)yyjson_mut_obj_add(object, key, value);
	}
	return !repeated || join_repeats(from, object, at) ? object : NULL;
}

static yyjson_mut_val *build_list(const struct from *from, yyjson_val *val, const struct fl_at *at)
{
	yyjson_mut_val *list = yyjson_mut_arr(from->doc), *item;
	yyjson_arr_iter iter = yyjson_arr_iter_with(val);
	struct fl_at place = { at, { 0 }, 0 };
	yyjson_val *one;

	for (; list && (one = yyjson_arr_iter_next(&iter)) != NULL; place.index++) {
		item = build(from, one, &place);
		if (!item)
			return NULL;
		(void)yyjson_mut_arr_append(list, item);
	}
	return list;
}

static yyjson_mut_val *build(const struct from *from, yyjson_val *val, const struct fl_at *at)
{
	yyjson_mut_val *made;

	if (yyjson_is_obj(val))
		return build_object(from, val, at);
	if (yyjson_is_arr(val))
		return build_list(from, val, at);
	made = yyjson_mut_null(from->doc);
	if (made) {
		made->tag = val->tag;
		made->uni = (yyjson_val_uni){ .u64 = val->uni.u64 };
	}
	return made;
}

yyjson_mut_val *fl_tree_of(yyjson_mut_doc *doc, yyjson_val *val, struct fl_causes *repeats)
{
	return build(&(struct from){ doc, repeats }, val, NULL);
}

yyjson_mut_val *fl_tree_copy(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
	yyjson_mut_val *made = yyjson_mut_null(doc), *one, *key, *item;
	size_t i, max;

	if (!made)
		return NULL;
	made->tag = val->tag;
	made->uni = val->uni;
	if (!yyjson_mut_is_ctn(val))
		return made;
	unsafe_yyjson_set_len(made, 0);
	if (yyjson_mut_is_arr(val)) {
		yyjson_mut_arr_foreach(val, i, max, one)
		{
			item = fl_tree_copy(doc, one);
			if (!item)
				return NULL;
			(void)yyjson_mut_arr_append(made, item);
		}
		return made;
	}
	yyjson_mut_obj_foreach(val, i, max, key, one)
	{
		yyjson_mut_val *name = yyjson_mut_strn(doc, key->uni.str, unsafe_yyjson_get_len(key));

		item = fl_tree_copy(doc, one);
		if (!item || !name)
			return NULL;
		(void)yyjson_mut_obj_add(made, name, item);
	}
	return made;
}

/* ---- members ---- */

bool fl_tree_put(yyjson_mut_doc *doc, yyjson_mut_val *object, struct fl_str name, yyjson_mut_val *val)
{
	yyjson_mut_val *old = fl_tree_get(object, name), *key, *next;

	if (!val)
		return false;
	if (old) {
		next = old->next;
		*old = *val;
		old->next = next;
		return true;
	}
	key = yyjson_mut_strn(doc, name.len ? name.p : "", name.len);
	return key && yyjson_mut_obj_add(object, key, val);
}

void fl_tree_remove(yyjson_mut_val *object, struct fl_str name)
{
	(void)yyjson_mut_obj_remove_keyn(object, name.len ? name.p : "", name.len);
}

/* ---- comparison ---- */

static bool equal_objects(yyjson_mut_val *a, yyjson_mut_val *b)
{
	FL_AUTO(fl_tree_names) struct fl_tree_names names = { 0 };
	yyjson_mut_obj_iter same_place = yyjson_mut_obj_iter_with(b);
	yyjson_mut_val *key, *val, *other;
	size_t i, max;

	if (yyjson_mut_obj_size(a) != yyjson_mut_obj_size(b))
		return false;
	yyjson_mut_obj_foreach(a, i, max, key, val)
	{
		other = yyjson_mut_obj_iter_next(&same_place);
		if (is_named(other, text_of(key))) {
			other = other->next;
		} else {
			if (!names.object)
				fl_tree_names_init(&names, b);
			other = fl_tree_names_get(&names, text_of(key));
		}
		if (!other || !fl_tree_equal(val, other))
			return false;
	}
	return true;
}

static bool equal_lists(yyjson_mut_val *a, yyjson_mut_val *b)
{
	yyjson_mut_arr_iter other = yyjson_mut_arr_iter_with(b);
	yyjson_mut_val *val;
	size_t i, max;

	if (yyjson_mut_arr_size(a) != yyjson_mut_arr_size(b))
		return false;
	yyjson_mut_arr_foreach(a, i, max, val) if (!fl_tree_equal(val, yyjson_mut_arr_iter_next(&other))) return false;
	return true;
}

/* yyjson says of a positive integer that was made in code that it has a sign. */
static bool equal_numbers(yyjson_mut_val *a, yyjson_mut_val *b)
{
	if (yyjson_mut_is_real(a) || yyjson_mut_is_real(b))
		return yyjson_mut_is_real(a) && yyjson_mut_is_real(b) && a->uni.f64 == b->uni.f64;
	if (a->uni.u64 != b->uni.u64)
		return false;
	return (yyjson_mut_is_sint(a) && a->uni.i64 < 0) == (yyjson_mut_is_sint(b) && b->uni.i64 < 0);
}

bool fl_tree_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
	if (!a || !b)
		return a == b;
	if (unsafe_yyjson_get_type(a) != unsafe_yyjson_get_type(b))
		return false;
	if (yyjson_mut_is_obj(a))
		return equal_objects(a, b);
	if (yyjson_mut_is_arr(a))
		return equal_lists(a, b);
	if (yyjson_mut_is_str(a))
		return fl_str_eq(text_of(a), text_of(b));
	return yyjson_mut_is_num(a) ? equal_numbers(a, b) : a->tag == b->tag;
}
