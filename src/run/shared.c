#include "run/shared.h"
#include <assert.h>

struct list {
	const struct fl_shared *shared;
	const struct fl_field *field;
	char *at;                      /* elements, field->size each */
	uint32_t len;
	bool there;
};

struct seq {
	char *at;
	uint32_t len;
};

static bool has(const struct fl_bind *bind, const void *object, const struct fl_field *field)
{
	uint64_t bits;

	memcpy(&bits, object, sizeof bits);
	return bits >> (field - bind->fields) & 1;
}

static void *member(const struct fl_field *field, const void *object)
{
	return (char *)(uintptr_t)object + field->offset;
}

/* Of a struct, compare only these fields; those that `like` lacks match anything. */
static bool same_fields(const struct fl_bind *bind, struct fl_str names, const void *element, const void *like)
{
	struct fl_str name, a, b;

	while (fl_str_split(&names, ',', &name)) {
		const struct fl_field *field = fl_field_find(bind, name);

		if (!field || !has(bind, like, field))
			continue;
		memcpy(&a, member(field, element), sizeof a);
		memcpy(&b, member(field, like), sizeof b);
		if (!has(bind, element, field) || !fl_str_eq(a, b))
			return false;
	}
	return true;
}

static bool same(const struct list *list, const void *element, const void *like)
{
	struct fl_str a, b;

	if (list->field->type == FL_T_OBJ)
		return same_fields(list->field->of(), fl_str(list->shared->by), element, like);
	memcpy(&a, element, sizeof a);
	memcpy(&b, like, sizeof b);
	return fl_str_eq(a, b);
}

/* Is all that is wanted of the item there? What the item does not say is somebody else's: when a taint was added. */
static bool as_wanted(const struct list *list, const void *element, const void *want)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_bind *bind = list->field->of();
	char *part = fl_arena_get(&arena, list->field->size);
	uint64_t there, wanted;

	if (!part)
		return false;   /* one patch too many does no harm */
	memcpy(part, element, list->field->size);
	memcpy(&there, element, sizeof there);
	memcpy(&wanted, want, sizeof wanted);
	there &= wanted;
	memcpy(part, &there, sizeof there);
	return fl_equal(bind, part, want);
}

void fl_shared_name(const struct fl_shared *shared, const void *item, struct fl_buf *out)
{
	const struct fl_field *list = fl_shared_field(shared, NULL);
	struct fl_str names = fl_str(shared->by ? shared->by : ""), name, value;
	const char *between = "";

	if (list->type != FL_T_OBJ) {
		memcpy(&value, item, sizeof value);
		fl_buf_str(out, value);
	}
	while (list->type == FL_T_OBJ && fl_str_split(&names, ',', &name)) {
		const struct fl_field *field = fl_field_find(list->of(), name);

		if (!field || !has(list->of(), item, field))
			continue;
		memcpy(&value, member(field, item), sizeof value);
		fl_buf_printf(out, "%s%.*s=%.*s", between, FL_ARG(name), FL_ARG(value));
		between = ",";
	}
}

static int64_t find_item(const struct list *list, const void *like)
{
	for (uint32_t i = 0; i < list->len; i++)
		if (same(list, list->at + (size_t)i * list->field->size, like))
			return i;
	return -1;
}

/* "/spec/taints" */
static void put_pointer(struct fl_buf *buf, const char *path)
{
	fl_buf_char(buf, '/');
	for (; *path; path++)
		fl_buf_char(buf, *path == '.' ? '/' : *path);
}

static void put_value(const struct list *list, const void *element, struct fl_jw *w)
{
	struct fl_str text;

	if (list->field->type == FL_T_OBJ) {
		fl_encode(list->field->of(), element, w);
		return;
	}
	memcpy(&text, element, sizeof text);
	fl_jw_str(w, text);
}

/* {"op":..,"path":..,"value":..}; index -1: the list itself, a value that becomes it. */
static void put_op(const struct list *list, const char *op, int64_t index, bool last, const void *value,
		   struct fl_buf *buf)
{
	struct fl_jw w = FL_JW(buf);

	fl_buf_printf(buf, ",{\"op\":\"%s\",\"path\":\"", op);
	put_pointer(buf, list->shared->path);
	if (last)
		fl_buf_str(buf, FL_S("/-"));
	else if (index >= 0)
		fl_buf_printf(buf, "/%lld", (long long)index);
	fl_buf_char(buf, '"');
	if (value) {
		fl_buf_str(buf, index < 0 && !last ? FL_S(",\"value\":[") : FL_S(",\"value\":"));
		put_value(list, value, &w);
		fl_buf_str(buf, index < 0 && !last ? FL_S("]") : FL_S(""));
	}
	fl_buf_char(buf, '}');
}

/* Values that could not be read stand in the root's row of faults, which no JSON name leads to. */
static bool readable(const struct list *list, const void *have)
{
	const struct fl_bind *root = list->shared->kind->root();
	struct fl_fault_list faults = { NULL, 0 };

	for (uint32_t i = 0; i < root->len; i++)
		if (root->fields[i].local && root->fields[i].of == fl_fault_bind)
			memcpy(&faults, member(&root->fields[i], have), sizeof faults);
	for (uint32_t i = 0; i < faults.len; i++)
		if (fl_str_starts(faults.at[i].path, fl_str(list->shared->path)))
			return false;
	return true;
}

/* Copy the list with room for one more and change it as wanted, writing down the operations. */
static void change(struct list *list, enum fl_want_what what, const void *item, struct fl_buf *buf)
{
	size_t size = list->field->size;
	int64_t i = find_item(list, item);

	if (what == FL_WANT_ITEM) {
		put_op(list, i >= 0 ? "replace" : "add", list->there ? i : -1, list->there && i < 0, item, buf);
		memcpy(list->at + (size_t)(i >= 0 ? i : list->len) * size, item, size);
		list->len += i < 0;
		return;
	}
	for (; i >= 0; i = find_item(list, item)) {
		put_op(list, "remove", i, false, NULL, buf);
		memmove(list->at + (size_t)i * size, list->at + (size_t)(i + 1) * size,
			(list->len - (size_t)i - 1) * size);
		list->len--;
	}
}

/* Say on the way down that the objects around the list, and the list, are there. */
static bool mark_there(const struct fl_shared *shared, void *object, bool set)
{
	const struct fl_bind *bind = shared->kind->root();
	struct fl_str rest = fl_str(shared->path), name;
	bool all = true;
	uint64_t bits;

	while (fl_str_split(&rest, '.', &name)) {
		const struct fl_field *field = bind ? fl_field_find(bind, name) : NULL;

		assert(field);   /* the path was checked when it was wanted */
		all &= has(bind, object, field);
		if (set) {
			memcpy(&bits, object, sizeof bits);
			bits |= (uint64_t)1 << (field - bind->fields);
			memcpy(object, &bits, sizeof bits);
		}
		object = member(field, object);
		bind = field->type == FL_T_OBJ ? field->of() : NULL;
	}
	return all;
}

int fl_shared_change(const struct fl_shared *shared, enum fl_want_what what, const void *item, const void *have,
		     struct fl_str version, struct fl_arena *arena, void **ret, struct fl_str *ret_patch,
		     struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_JSON_ITEM_MAX);
	size_t offset = 0, size = shared->kind->root()->size;
	struct list list = { .shared = shared, .field = fl_shared_field(shared, &offset) };
	struct seq seq;
	int64_t i;
	char *copy;

	memcpy(&seq.at, (const char *)have + offset, sizeof seq.at);
	memcpy(&seq.len, (const char *)have + offset + sizeof seq.at, sizeof seq.len);
	list.at = seq.at;
	list.len = seq.len;
	list.there = mark_there(shared, (void *)(uintptr_t)have, false);
	i = find_item(&list, item);
	if (what == FL_WANT_ITEM ? i >= 0 && (list.field->type != FL_T_OBJ ||
					      as_wanted(&list, list.at + (size_t)i * list.field->size, item)) : i < 0)
		return 0;
	if (!readable(&list, have))
		return fl_fail(err, FL_E_INVALID, "%s of %s holds what cannot be read: its items are not touched",
			       shared->path,
			       shared->kind->kind);
	copy = fl_arena_get_n(arena, (size_t)seq.len + 1, list.field->size);
	*ret = fl_arena_get(arena, size);
	if (!copy || !*ret)
		return fl_fail(err, FL_E_NOMEM, "no memory to change %s", shared->path);
	if (seq.len)
		memcpy(copy, seq.at, seq.len * (size_t)list.field->size);
	list.at = copy;
	fl_buf_str(&buf, FL_S("[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":"));
	fl_buf_json(&buf, version);
	fl_buf_char(&buf, '}');
	change(&list, what, item, &buf);
	fl_buf_char(&buf, ']');
	if (fl_buf_check(&buf, "a JSON patch", err) < 0)
		return -(int)(err ? err->code : FL_E_NOMEM);
	memcpy(*ret, have, size);
	memcpy((char *)*ret + offset, &list.at, sizeof list.at);
	memcpy((char *)*ret + offset + sizeof list.at, &list.len, sizeof list.len);
	(void)mark_there(shared, *ret, true);
	*ret_patch = fl_arena_str(arena, fl_buf_view(&buf));
	return ret_patch->p ? 1 : fl_fail(err, FL_E_NOMEM, "no memory to change %s", shared->path);
}
