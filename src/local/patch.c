#include "local/patch.h"

/* Operations in one patch, as the API server takes them. */
#define OPERATIONS_MAX 10000

static struct fl_str name_of(yyjson_val *key)
{
	return (struct fl_str){ unsafe_yyjson_get_str(key), (uint32_t)unsafe_yyjson_get_len(key) };
}

static int no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "patch: out of memory");
}

/* ---- merge patch ---- */

/* Members that are null go, also those of objects in lists. */
static void drop_nulls(yyjson_mut_val *val)
{
	yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(val);
	yyjson_mut_val *key, *item;
	size_t i, max;

	yyjson_mut_arr_foreach(val, i, max, item)
		drop_nulls(item);
	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL)
		if (yyjson_mut_is_null(key->next))
			(void)yyjson_mut_obj_iter_remove(&iter);
		else
			drop_nulls(key->next);
}

static yyjson_mut_val *merge(yyjson_mut_doc *doc, yyjson_mut_val *old, yyjson_val *patch)
{
	yyjson_mut_val *object = old, *val;
	yyjson_val *key, *change;
	size_t i, max;

	if (!yyjson_is_obj(patch)) {
		val = fl_tree_of(doc, patch, NULL);
		if (val)
			drop_nulls(val);
		return val;
	}
	if (!yyjson_mut_is_obj(old))
		object = yyjson_mut_obj(doc);
	yyjson_obj_foreach (patch, i, max, key, change) {
		if (!object)
			return NULL;
		if (yyjson_is_null(change)) {
			fl_tree_remove(object, name_of(key));
			continue;
		}
		old = fl_tree_get(object, name_of(key));
		val = merge(doc, old, change);
		if (!val || (val != old && !fl_tree_put(doc, object, name_of(key), val)))
			return NULL;
	}
	return object;
}

int fl_tree_merge(yyjson_mut_doc *doc, yyjson_mut_val **object, yyjson_val *patch, struct fl_err *err)
{
	yyjson_mut_val *made = merge(doc, *object, patch);

	if (!made)
		return no_memory(err);
	*object = made;
	return 0;
}

/* ---- JSON patch ---- */

/* A place: a member or an item of a map or list that is there. */
struct spot {
	yyjson_mut_val *in;
	struct fl_str name;       /* of a member, "~0" and "~1" resolved */
	size_t index;             /* of an item; the length: behind the last one */
	yyjson_mut_val *val;      /* NULL: there is none yet */
};

struct patch {
	yyjson_mut_doc *doc;
	yyjson_mut_val *root;
	yyjson_val *op;
	size_t number, copied;
	struct fl_str name, path;
	struct fl_err *err;
};

static int refuse(const struct patch *p, enum fl_code code, const char *what)
{
	return fl_fail(p->err, code, "patch operation %zu (%.*s %.*s): %s", p->number, FL_ARG(p->name), FL_ARG(p->path),
		       what);
}

static int refuse_place(const struct patch *p)
{
	return refuse(p, FL_E_INVALID, "there is no such place in the object");
}

/* A part of a path as a name; .p NULL: allocation failed. */
static struct fl_str unescaped(const struct patch *p, struct fl_str part)
{
	yyjson_mut_val *text;
	char *to;

	if (!part.len)
		return FL_S("");
	if (!memchr(part.p, '~', part.len))
		return part;
	text = yyjson_mut_strncpy(p->doc, part.p, part.len);
	if (!text)
		return (struct fl_str){ 0 };
	to = (char *)(uintptr_t)text->uni.str;
	for (uint32_t i = 0; i < part.len; i++) {
		bool escape = part.p[i] == '~' && i + 1 < part.len && (part.p[i + 1] == '0' || part.p[i + 1] == '1');

		*to++ = !escape ? part.p[i] : part.p[++i] == '0' ? '~' : '/';
	}
	return (struct fl_str){ text->uni.str, (uint32_t)(to - text->uni.str) };
}

/* An index of a list with `len` items; "-" is behind the last one. */
static bool index_of(struct fl_str part, size_t len, bool new, size_t *ret)
{
	int64_t index;
	struct fl_str digits = part;

	if (fl_str_eq(part, FL_S("-"))) {
		*ret = len;
		return true;
	}
	while (digits.len > 1 && digits.p[0] == '0')
		digits = fl_str_sub(digits, 1, digits.len);
	if (!fl_str_i64(digits, &index))
		return false;
	if (index < 0)
		index += (int64_t)len + (new ? 1 : 0);
	*ret = (size_t)index;
	return index >= 0 && (size_t)index <= len;
}

/* Find the place of a path; `new`: where something is to be added. */
static int find(const struct patch *p, struct fl_str path, bool new, struct spot *ret)
{
	yyjson_mut_val *at = p->root;
	struct fl_str part;

	*ret = (struct spot){ 0 };
	if (fl_str_find(path, '/') < 0)
		return refuse_place(p);
	(void)fl_str_split(&path, '/', &part);
	while (fl_str_split(&path, '/', &part)) {
		*ret = (struct spot){ .in = at };
		if (yyjson_mut_is_obj(at)) {
			ret->name = unescaped(p, part);
			if (!ret->name.p)
				return no_memory(p->err);
			ret->val = fl_tree_get(at, ret->name);
		} else if (yyjson_mut_is_arr(at)) {
			if (!index_of(part, yyjson_mut_arr_size(at), new && !path.p, &ret->index))
				return refuse_place(p);
			ret->val = yyjson_mut_arr_get(at, ret->index);
		} else {
			return refuse_place(p);
		}
		at = ret->val;
	}
	return 0;
}

static int value_of(const struct patch *p, yyjson_mut_val **ret)
{
	yyjson_val *value = fl_json_get(p->op, FL_S("value"));

	*ret = value ? fl_tree_of(p->doc, value, NULL) : yyjson_mut_null(p->doc);
	return *ret ? 0 : no_memory(p->err);
}

static int put(struct patch *p, const struct spot *spot, yyjson_mut_val *val)
{
	bool ok = yyjson_mut_is_arr(spot->in) ? yyjson_mut_arr_insert(spot->in, val, spot->index) :
						fl_tree_put(p->doc, spot->in, spot->name, val);

	return ok ? 0 : no_memory(p->err);
}

static int do_add(struct patch *p)
{
	struct spot spot;
	yyjson_mut_val *val;
	int r = find(p, p->path, true, &spot);

	if (r < 0)
		return r;
	r = value_of(p, &val);
	return r < 0 ? r : put(p, &spot, val);
}

static void take(const struct spot *spot)
{
	if (yyjson_mut_is_arr(spot->in))
		(void)yyjson_mut_arr_remove(spot->in, spot->index);
	else
		fl_tree_remove(spot->in, spot->name);
}

static int do_remove(struct patch *p)
{
	struct spot spot;
	int r = find(p, p->path, false, &spot);

	if (r < 0)
		return r;
	if (!spot.val)
		return refuse_place(p);
	take(&spot);
	return 0;
}

static int do_replace(struct patch *p)
{
	yyjson_mut_val *val;
	struct spot spot;
	int r = find(p, p->path, false, &spot);

	if (r < 0)
		return r;
	r = value_of(p, &val);
	if (r < 0)
		return r;
	if (!yyjson_mut_is_arr(spot.in))
		return put(p, &spot, val);
	if (!spot.val)
		return refuse_place(p);
	(void)yyjson_mut_arr_replace(spot.in, spot.index, val);
	return 0;
}

static int find_from(struct patch *p, struct spot *ret)
{
	struct fl_str from;

	if (!fl_json_str(fl_json_get(p->op, FL_S("from")), &from))
		return refuse(p, FL_E_INVALID, "\"from\" is missing");
	return find(p, from, false, ret);
}

static int do_move(struct patch *p)
{
	struct spot spot;
	yyjson_mut_val *val;
	int r = find_from(p, &spot);

	if (r < 0)
		return r;
	if (!spot.val)
		return refuse_place(p);
	/* A value of its own: what is removed keeps its links. */
	val = yyjson_mut_null(p->doc);
	if (!val)
		return no_memory(p->err);
	val->tag = spot.val->tag;
	val->uni = spot.val->uni;
	take(&spot);
	r = find(p, p->path, true, &spot);
	return r < 0 ? r : put(p, &spot, val);
}

static size_t count(yyjson_mut_val *val)
{
	yyjson_mut_val *key, *item;
	size_t i, max, all = 1;

	yyjson_mut_arr_foreach(val, i, max, item)
		all += count(item);
	yyjson_mut_obj_foreach(val, i, max, key, item)
		all += 1 + count(item);
	return all;
}

static int do_copy(struct patch *p)
{
	struct spot spot;
	yyjson_mut_val *val;
	int r = find_from(p, &spot);

	if (r < 0)
		return r;
	if (!spot.val && yyjson_mut_is_arr(spot.in))
		return refuse_place(p);
	p->copied += count(spot.val);
	if (p->copied > FL_PATCH_VALUES)
		return refuse(p, FL_E_TOOBIG, "the copies are too large");
	val = spot.val ? fl_tree_copy(p->doc, spot.val) : yyjson_mut_null(p->doc);
	if (!val)
		return no_memory(p->err);
	r = find(p, p->path, true, &spot);
	return r < 0 ? r : put(p, &spot, val);
}

static int do_test(struct patch *p)
{
	yyjson_mut_val *val;
	struct spot spot;
	int r = find(p, p->path, false, &spot);

	if (r < 0)
		return r;
	r = value_of(p, &val);
	if (r < 0)
		return r;
	if (spot.val ? !fl_tree_equal(spot.val, val) : !yyjson_mut_is_null(val))
		return refuse(p, FL_E_CONFLICT, "the value there is another one");
	return 0;
}

static int apply(struct patch *p)
{
	static const struct {
		struct fl_str name;
		int (*apply)(struct patch *p);
	} ops[] = {
		{ FL_S_INIT("test"), do_test }, { FL_S_INIT("add"), do_add }, { FL_S_INIT("remove"), do_remove },
		{ FL_S_INIT("replace"), do_replace }, { FL_S_INIT("move"), do_move }, { FL_S_INIT("copy"), do_copy },
	};

	p->name = p->path = FL_S("?");
	if (!fl_json_str(fl_json_get(p->op, FL_S("op")), &p->name))
		return refuse(p, FL_E_INVALID, "\"op\" is missing");
	if (!fl_json_str(fl_json_get(p->op, FL_S("path")), &p->path))
		return refuse(p, FL_E_INVALID, "\"path\" is missing");
	for (size_t i = 0; i < FL_LEN(ops); i++)
		if (fl_str_eq(p->name, ops[i].name))
			return ops[i].apply(p);
	return refuse(p, FL_E_INVALID, "no such operation; there are add, remove, replace, move, copy and test");
}

int fl_tree_patch(yyjson_mut_doc *doc, yyjson_mut_val **object, yyjson_val *patch, struct fl_err *err)
{
	struct patch p = { .doc = doc, .root = *object, .err = err };
	size_t max;
	int r = 0;

	if (!yyjson_is_arr(patch))
		return fl_fail(err, FL_E_INVALID, "a JSON patch is a list of operations, this is %s",
			       fl_json_kind(patch));
	if (yyjson_arr_size(patch) > OPERATIONS_MAX)
		return fl_fail(err, FL_E_TOOBIG, "a JSON patch of %zu operations is over the limit of %d",
			       yyjson_arr_size(patch), OPERATIONS_MAX);
	yyjson_arr_foreach (patch, p.number, max, p.op) {
		r = apply(&p);
		if (r < 0)
			break;
	}
	return r;
}
