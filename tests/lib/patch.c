#include "patch.h"

static int out_of_space(const struct fl_json_space *space, struct fl_err *err)
{
	if (space->full)
		return fl_fail(err, FL_E_TOOBIG, "the patched document would take more than %llu bytes of memory",
			       FL_PATCH_MEMORY);
	return fl_fail(err, FL_E_NOMEM, "patch: out of memory");
}

/* A new document in the space, which from now on takes only so much more. */
static yyjson_mut_doc *start(struct fl_json_space *space)
{
	yyjson_alc alc = fl_json_alc(space);

	space->full = false;
	space->max = space->used + space->spilled + FL_PATCH_MEMORY;
	return yyjson_mut_doc_new(&alc);
}

int fl_patch_merge(struct fl_json_space *space, yyjson_val *doc, yyjson_val *patch, yyjson_mut_doc **ret_doc,
		   struct fl_err *err)
{
	FL_AUTO(fl_json_mut) yyjson_mut_doc *out = start(space);
	yyjson_mut_val *root = out ? yyjson_merge_patch(out, doc, patch) : NULL;

	space->max = 0;
	if (!root)
		return out_of_space(space, err);
	yyjson_mut_doc_set_root(out, root);
	*ret_doc = fl_steal(&out);
	return 0;
}

/* ---- JSON patch ---- */

/* One operation on the document. yyjson's own yyjson_patch is not used: up to 0.10 its "add" of a member that exists
 * leaves the member there twice. */
struct op {
	yyjson_mut_doc *doc;
	yyjson_val *op;
	size_t number;
	struct fl_str name, path, from;
	const struct fl_json_space *space;
	struct fl_err *err;
};

static int refuse(const struct op *op, enum fl_code code, const char *what)
{
	return fl_fail(op->err, code, "patch operation %zu (%.*s %.*s): %s", op->number, FL_ARG(op->name),
		       FL_ARG(op->path), what);
}

static int refuse_ptr(const struct op *op, const yyjson_ptr_err *why)
{
	if (why->code == YYJSON_PTR_ERR_MEMORY_ALLOCATION)
		return out_of_space(op->space, op->err);
	return refuse(op, FL_E_INVALID, "there is no such place in the document");
}

static yyjson_mut_val *find(const struct op *op, struct fl_str path)
{
	return yyjson_mut_ptr_getn(op->doc->root, path.len ? path.p : "", path.len);
}

/* A copy of the operation's value, for the document. */
static int value_of(const struct op *op, yyjson_mut_val **ret)
{
	yyjson_val *value = fl_json_get(op->op, FL_S("value"));

	if (!value)
		return refuse(op, FL_E_INVALID, "a value is missing");
	*ret = yyjson_val_mut_copy(op->doc, value);
	return *ret ? 0 : out_of_space(op->space, op->err);
}

/* Set a member, new or not; insert into a list. */
static int put(const struct op *op, yyjson_mut_val *value)
{
	struct fl_str parent = op->path;
	yyjson_ptr_err why = { 0 };
	bool ok;

	if (op->path.len == 0) {
		op->doc->root = value;
		return 0;
	}
	while (parent.len && parent.p[parent.len - 1] != '/')
		parent.len--;
	parent.len -= parent.len > 0;
	if (yyjson_mut_is_arr(find(op, parent)))
		ok = yyjson_mut_doc_ptr_addx(op->doc, op->path.p, op->path.len, value, false, NULL, &why);
	else
		ok = yyjson_mut_doc_ptr_setx(op->doc, op->path.p, op->path.len, value, false, NULL, &why);
	return ok ? 0 : refuse_ptr(op, &why);
}

static int do_add(const struct op *op)
{
	yyjson_mut_val *value;
	int r = value_of(op, &value);

	return r < 0 ? r : put(op, value);
}

static int do_remove(const struct op *op)
{
	yyjson_ptr_err why = { 0 };

	if (op->path.len == 0)
		return refuse(op, FL_E_INVALID, "the whole document cannot be removed");
	return yyjson_mut_doc_ptr_removex(op->doc, op->path.p, op->path.len, NULL, &why) ? 0 : refuse_ptr(op, &why);
}

static int do_replace(const struct op *op)
{
	yyjson_ptr_err why = { 0 };
	yyjson_mut_val *value;
	int r = value_of(op, &value);

	if (r < 0)
		return r;
	if (op->path.len == 0)
		return put(op, value);
	value = yyjson_mut_doc_ptr_replacex(op->doc, op->path.p, op->path.len, value, NULL, &why);
	return value ? 0 : refuse_ptr(op, &why);
}

static int do_move(const struct op *op)
{
	yyjson_ptr_err why = { 0 };
	yyjson_mut_val *value;

	if (op->from.len < op->path.len && fl_str_starts(op->path, op->from) && op->path.p[op->from.len] == '/')
		return refuse(op, FL_E_INVALID, "a value cannot move into itself");
	if (op->from.len == 0)
		return op->path.len ? refuse(op, FL_E_INVALID, "the whole document cannot move") : 0;
	value = yyjson_mut_doc_ptr_removex(op->doc, op->from.p, op->from.len, NULL, &why);
	return value ? put(op, value) : refuse_ptr(op, &why);
}

static int do_copy(const struct op *op)
{
	yyjson_mut_val *value = find(op, op->from);

	if (!value)
		return refuse(op, FL_E_INVALID, "there is nothing to copy");
	value = yyjson_mut_val_mut_copy(op->doc, value);
	return value ? put(op, value) : out_of_space(op->space, op->err);
}

static int do_test(const struct op *op)
{
	yyjson_mut_val *value;
	int r = value_of(op, &value);

	if (r < 0)
		return r;
	if (!yyjson_mut_equals(find(op, op->path), value))
		return refuse(op, FL_E_CONFLICT, "the value there is another one");
	return 0;
}

static int apply(struct op *op)
{
	static const struct {
		struct fl_str name;
		int (*apply)(const struct op *op);
		bool from;
	} ops[] = {
		{ FL_S_INIT("test"), do_test },       { FL_S_INIT("add"), do_add },
		{ FL_S_INIT("remove"), do_remove },   { FL_S_INIT("replace"), do_replace },
		{ FL_S_INIT("move"), do_move, true }, { FL_S_INIT("copy"), do_copy, true },
	};

	if (!fl_json_str(fl_json_get(op->op, FL_S("op")), &op->name))
		return refuse(op, FL_E_INVALID, "\"op\" is missing");
	if (!fl_json_str(fl_json_get(op->op, FL_S("path")), &op->path))
		return refuse(op, FL_E_INVALID, "\"path\" is missing");
	for (size_t i = 0; i < FL_LEN(ops); i++) {
		if (!fl_str_eq(op->name, ops[i].name))
			continue;
		if (ops[i].from && !fl_json_str(fl_json_get(op->op, FL_S("from")), &op->from))
			return refuse(op, FL_E_INVALID, "\"from\" is missing");
		return ops[i].apply(op);
	}
	return refuse(op, FL_E_INVALID, "no such operation; there are add, remove, replace, move, copy and test");
}

static int apply_all(struct fl_json_space *space, yyjson_mut_doc *out, yyjson_val *doc, yyjson_val *patch,
		     struct fl_err *err)
{
	yyjson_mut_val *root = yyjson_val_mut_copy(out, doc);
	yyjson_arr_iter iter = yyjson_arr_iter_with(patch);
	struct op op = { .doc = out, .space = space, .err = err };
	int r = root ? 0 : out_of_space(space, err);

	out->root = root;
	for (; r == 0 && (op.op = yyjson_arr_iter_next(&iter)) != NULL; op.number++) {
		op.name = op.path = op.from = FL_S("?");
		r = apply(&op);
	}
	return r;
}

int fl_patch_json(struct fl_json_space *space, yyjson_val *doc, yyjson_val *patch, yyjson_mut_doc **ret_doc,
		  struct fl_err *err)
{
	FL_AUTO(fl_json_mut) yyjson_mut_doc *out = NULL;
	int r;

	if (!yyjson_is_arr(patch))
		return fl_fail(err, FL_E_INVALID, "a JSON patch is a list of operations, this is %s",
			       fl_json_kind(patch));
	if (yyjson_arr_size(patch) > FL_PATCH_OPS)
		return fl_fail(err, FL_E_TOOBIG, "a JSON patch of %zu operations is over the limit of %d",
			       yyjson_arr_size(patch), FL_PATCH_OPS);
	out = start(space);
	r = out ? apply_all(space, out, doc, patch, err) : out_of_space(space, err);
	space->max = 0;
	if (r < 0)
		return r;
	*ret_doc = fl_steal(&out);
	return 0;
}

/* ---- the difference ---- */

static bool is_absent(yyjson_val *val)
{
	return !val || yyjson_is_null(val);
}

static struct fl_str name_of(yyjson_val *key)
{
	return (struct fl_str){ unsafe_yyjson_get_str(key), (uint32_t)unsafe_yyjson_get_len(key) };
}

/* One member of `after`; false when it is as before, and then nothing has been written. */
static bool diff_member(struct fl_jw *w, yyjson_val *key, yyjson_val *before, yyjson_val *after)
{
	size_t len = w->buf->len;
	bool comma = w->comma;

	if (is_absent(after) ? is_absent(before) : before && !yyjson_is_obj(after) && yyjson_equals(before, after))
		return false;
	fl_jw_key(w, name_of(key));
	if (is_absent(after)) {
		fl_jw_null(w);
	} else if (!yyjson_is_obj(before) || !yyjson_is_obj(after)) {
		fl_jw_val(w, after);   /* its nulls delete what is not there */
	} else if (!fl_patch_diff(w, before, after)) {
		if (w->buf->p)
			w->buf->p[w->buf->len = len] = 0;
		w->comma = comma;
		return false;
	}
	return true;
}

bool fl_patch_diff(struct fl_jw *w, yyjson_val *before, yyjson_val *after)
{
	yyjson_obj_iter old = yyjson_obj_iter_with(before), new = yyjson_obj_iter_with(after), all;
	bool differs = false;
	yyjson_val *key, *was;

	fl_jw_obj(w);
	all = yyjson_obj_iter_with(after);
	while ((key = yyjson_obj_iter_next(&all)) != NULL) {
		was = yyjson_obj_iter_getn(&old, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
		differs |= diff_member(w, key, was, yyjson_obj_iter_get_val(key));
	}
	all = yyjson_obj_iter_with(before);
	while ((key = yyjson_obj_iter_next(&all)) != NULL) {
		if (yyjson_obj_iter_getn(&new, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)))
			continue;
		differs |= diff_member(w, key, yyjson_obj_iter_get_val(key), NULL);
	}
	fl_jw_end_obj(w);
	return differs;
}
