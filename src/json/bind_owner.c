#include "json/bind_owner.h"
#include "json/bind_in.h"
#include <assert.h>

/* The first step of a path: a field, perhaps an element of it, and what comes after. */
struct part {
	const struct fl_field *field;
	struct fl_str inside;          /* between the brackets; NULL: none */
	struct fl_str rest;
};

static bool ends_name(char c)
{
	return c == '.' || c == '[';
}

/* One bound value, whatever its type: room for a key that a path names. */
union scalar {
	struct fl_str str;
	struct fl_intstr intstr;
	struct fl_quantity quantity;
	int64_t number;
	double real;
};

/* The key fields that the text names, one after another: "name=x,port=1". */
static bool key_is(const struct fl_field *key, struct fl_str *rest, union scalar *ret)
{
	struct fl_str item;
	int64_t equals;

	if (!fl_str_split(rest, ',', &item) || (equals = fl_str_find(item, '=')) < 0 ||
	    !fl_str_eq(fl_str_sub(item, 0, (uint32_t)equals), key->json))
		return false;
	return fl_value_read(key, fl_str_sub(item, (uint32_t)equals + 1, UINT32_MAX), ret);
}

static bool keys_well_formed(const struct fl_field *f, struct fl_str inside)
{
	const struct fl_field *key;
	union scalar value;
	uint32_t at = 0;

	while ((key = fl_key_next(f, &at)))
		if (!key_is(key, &inside, &value))
			return false;
	return inside.p == NULL;
}

static bool first_part(const struct fl_bind *bind, struct fl_str path, struct part *ret)
{
	uint32_t n = 0;
	int64_t end;

	while (n < path.len && !ends_name(path.p[n]))
		n++;
	*ret = (struct part){ .field = fl_field_find(bind, (struct fl_str){ path.p, n }) };
	ret->rest = fl_str_sub(path, n, UINT32_MAX);
	if (!ret->field || bind->atomic)
		return false;
	if (!ret->rest.len)
		return true;
	if (ret->rest.p[0] == '[') {
		end = fl_str_find(ret->rest, ']');
		if (end < 0 || (ret->field->shape != FL_MAP && !ret->field->list_key))
			return false;
		ret->inside = fl_str_sub(ret->rest, 1, (uint32_t)end - 1);
		ret->rest = fl_str_sub(ret->rest, (uint32_t)end + 1, UINT32_MAX);
		if (ret->field->list_key && !keys_well_formed(ret->field, ret->inside))
			return false;
	}
	if (!ret->rest.len)
		return true;
	if (ret->rest.p[0] != '.' || ret->field->type != FL_T_OBJ ||
	    (ret->field->shape != FL_ONE && !ret->inside.p))
		return false;
	ret->rest = fl_str_sub(ret->rest, 1, UINT32_MAX);
	return ret->rest.len > 0;
}

static bool path_leads(const struct fl_bind *bind, struct fl_str path)
{
	struct part part;

	if (!first_part(bind, path, &part))
		return false;
	return !part.rest.len || path_leads(part.field->of(), part.rest);
}

static bool under_status(const struct fl_owner *owner, const char *path)
{
	return owner->kind->status && strncmp(path, "status", 6) == 0 && (path[6] == '\0' || path[6] == '.');
}

bool fl_owner_is_status(const struct fl_owner *owner)
{
	return owner->paths[0] && under_status(owner, owner->paths[0]);
}

int fl_owner_check(const struct fl_owner *owner, struct fl_err *err)
{
	for (const char *const *path = owner->paths; *path; path++)
		if (!path_leads(owner->kind->root(), fl_str(*path)))
			return fl_fail(err, FL_E_INVALID, "owner %s: %s has no field '%s'", owner->manager,
				       owner->kind->kind, *path);
	for (const char *const *path = owner->paths; *path; path++)
		if (under_status(owner, *path) != fl_owner_is_status(owner))
			return fl_fail(err, FL_E_INVALID, "owner %s: '%s' and '%s' of %s are written by two requests: "
							  "make two owners",
				       owner->manager, owner->paths[0], *path, owner->kind->kind);
	return 0;
}

/* Is `outer` the same field as `inner`, one above it, or several of which that is one? */
static bool covers(const char *outer, const char *inner)
{
	const char *star = strstr(outer, "*]");
	size_t len = strlen(outer);

	if (star && strncmp(outer, inner, (size_t)(star - outer)) == 0)
		return true;
	return strncmp(outer, inner, len) == 0 && (inner[len] == '\0' || ends_name(inner[len]));
}

/* Two tables may bind different parts of one resource. */
static bool one_resource(const struct fl_kind *a, const struct fl_kind *b)
{
	return a == b || (strcmp(a->group, b->group) == 0 && strcmp(a->plural, b->plural) == 0);
}

int fl_owners_apart(const struct fl_owner *a, const struct fl_owner *b, struct fl_err *err)
{
	if (!one_resource(a->kind, b->kind))
		return 0;
	if (strcmp(a->manager, b->manager) == 0 && fl_owner_is_status(a) == fl_owner_is_status(b))
		return fl_fail(err, FL_E_CONFLICT, "two owners of %s are both manager %s: each apply removes what the "
						   "other one applied; rename one",
			       a->kind->kind, a->manager);
	for (const char *const *x = a->paths; *x; x++)
		for (const char *const *y = b->paths; *y; y++)
			if (covers(*x, *y) || covers(*y, *x))
				return fl_fail(err, FL_E_CONFLICT, "%s of %s is written by %s and by %s",
					       covers(*x, *y) ? *y : *x, a->kind->kind, a->manager, b->manager);
	return 0;
}

/* ---- the part that is owned ---- */

struct take {
	struct fl_arena *arena;
	bool frame;    /* the objects and lists around what is owned are there even when it is not: for a difference */
	bool nomem;
};

static bool is_element(const struct fl_field *f, struct fl_seq in, uint32_t i, struct fl_str inside)
{
	const struct fl_field *key;
	union scalar value;
	uint32_t at = 0;

	if (f->shape == FL_MAP)
		return fl_str_eq(fl_elem_key(f, in, i), inside);
	while ((key = fl_key_next(f, &at)))
		if (!key_is(key, &inside, &value) ||
		    fl_value_cmp(key, fl_member(key, fl_elem(f, in, i)), &value) != 0)
			return false;
	return true;
}

static int64_t find_element(const struct fl_field *f, struct fl_seq in, struct fl_str inside)
{
	for (uint32_t i = 0; i < in.len; i++)
		if (is_element(f, in, i, inside))
			return i;
	return -1;
}

/* Room for one more element; a map stays sorted. */
static uint32_t insert(const struct fl_field *f, struct fl_seq *seq, struct fl_str key)
{
	size_t stride = fl_stride(f);
	uint32_t at = seq->len;

	while (f->shape == FL_MAP && at > 0 && fl_str_cmp(fl_elem_key(f, *seq, at - 1), key) > 0)
		at--;
	memmove(seq->at + (at + 1) * stride, seq->at + at * stride, (seq->len - at) * stride);
	memset(seq->at + at * stride, 0, stride);
	seq->len++;
	return at;
}

static void copy_keys(const struct fl_field *f, const void *from, void *to)
{
	const struct fl_bind *bind = f->of();
	const struct fl_field *key;
	uint32_t at = 0;

	while ((key = fl_key_next(f, &at))) {
		memcpy(fl_member(key, to), fl_member(key, from), fl_member_size(key));
		fl_has_set(bind, to, key, fl_has(bind, from, key));
	}
}

static void take_fields(struct take *t, const struct fl_bind *bind, struct fl_str path, const void *from, void *to);

static bool is_key(const struct fl_field *list, const struct fl_field *field)
{
	const struct fl_field *key;
	uint32_t at = 0;

	while (list->list_key && (key = fl_key_next(list, &at)))
		if (key == field)
			return true;
	return false;
}

/* An object with nothing in it but keys and empty objects: whoever else made it, nothing of it is ours. */
static bool holds_nothing(const struct fl_field *list, const struct fl_bind *bind, const void *object)
{
	fl_each_field (f, bind) {
		if (!fl_has(bind, object, f) || is_key(list, f))
			continue;
		if (f->type != FL_T_OBJ || f->shape != FL_ONE || !holds_nothing(list, f->of(), fl_member(f, object)))
			return false;
	}
	return true;
}

static void remove_element(const struct fl_field *f, struct fl_seq *seq, uint32_t at)
{
	size_t stride = fl_stride(f);

	memmove(seq->at + at * stride, seq->at + (at + 1) * stride, (--seq->len - at) * stride);
}

static void take_element(struct take *t, const struct part *part, const void *from, void *to)
{
	const struct fl_field *f = part->field;
	struct fl_seq src = fl_seq_get(from), dst = fl_seq_get(to);
	int64_t i = find_element(f, src, part->inside), j;

	if (i < 0)
		return;
	if (!dst.at && !(dst.at = fl_arena_get_n(t->arena, src.len, fl_stride(f)))) {
		t->nomem = true;
		return;
	}
	j = find_element(f, dst, part->inside);
	if (j < 0)
		j = insert(f, &dst, part->inside);
	if (f->shape == FL_MAP)
		memcpy(dst.at + (size_t)j * fl_stride(f), src.at + (size_t)i * fl_stride(f), sizeof(struct fl_str));
	else
		copy_keys(f, fl_elem(f, src, (uint32_t)i), fl_elem(f, dst, (uint32_t)j));
	if (part->rest.len) {
		take_fields(t, f->of(), part->rest, fl_elem(f, src, (uint32_t)i), fl_elem(f, dst, (uint32_t)j));
		if (holds_nothing(f, f->of(), fl_elem(f, dst, (uint32_t)j)))
			remove_element(f, &dst, (uint32_t)j);
	} else {
		memcpy(fl_elem(f, dst, (uint32_t)j), fl_elem(f, src, (uint32_t)i), f->size);
	}
	fl_seq_set(to, dst);
}

/* Several keys of a map, by how they begin. */
static bool is_pattern(const struct part *part)
{
	return part->field->shape == FL_MAP && fl_str_ends(part->inside, FL_S("*"));
}

/* The path of the next key from *at on that the pattern names; false: there is none. */
static bool next_match(const struct part *pattern, struct fl_seq in, uint32_t *at, struct part *ret)
{
	struct fl_str begins = fl_str_sub(pattern->inside, 0, pattern->inside.len - 1);

	*ret = *pattern;
	while (*at < in.len) {
		ret->inside = fl_elem_key(pattern->field, in, (*at)++);
		if (fl_str_starts(ret->inside, begins))
			return true;
	}
	return false;
}

static void take_matching(struct take *t, const struct part *pattern, const void *from, void *to)
{
	struct fl_seq in = fl_seq_get(from);
	struct part one;
	uint32_t at = 0;

	while (!t->nomem && next_match(pattern, in, &at, &one))
		take_element(t, &one, from, to);
}

static bool is_empty(const struct fl_field *f, const void *member)
{
	return f->shape == FL_ONE ? fl_bits(member) == 0 : fl_seq_get(member).len == 0;
}

static void take_fields(struct take *t, const struct fl_bind *bind, struct fl_str path, const void *from, void *to)
{
	const struct fl_field *f;
	struct part part;

	if (!first_part(bind, path, &part))
		return;   /* fl_owner_check tells */
	f = part.field;
	if (!part.inside.p && !part.rest.len) {
		memcpy(fl_member(f, to), fl_member(f, from), fl_member_size(f));
		fl_has_set(bind, to, f, fl_has(bind, from, f));
		return;
	}
	if (fl_has(bind, from, f)) {
		if (is_pattern(&part))
			take_matching(t, &part, fl_member(f, from), fl_member(f, to));
		else if (part.inside.p)
			take_element(t, &part, fl_member(f, from), fl_member(f, to));
		else
			take_fields(t, f->of(), part.rest, fl_member(f, from), fl_member(f, to));
	} else if (t->frame && !part.inside.p) {
		take_fields(t, f->of(), part.rest, fl_member(f, from), fl_member(f, to));   /* all absent there */
	}
	if (t->frame || !is_empty(f, fl_member(f, to)))
		fl_has_set(bind, to, f, true);
}

/* *ret is zeroed. */
static int owned(const struct fl_owner *owner, const void *object, bool frame, struct fl_arena *arena, void *ret,
		 struct fl_err *err)
{
	struct take t = { .arena = arena, .frame = frame };
	const struct fl_bind *bind = owner->kind->root();

	for (const char *const *path = owner->paths; *path; path++)
		take_fields(&t, bind, fl_str(*path), object, ret);
	return t.nomem ? fl_fail(err, FL_E_NOMEM, "no memory for the fields of %s", owner->manager) : 0;
}

int fl_owned_part(const struct fl_owner *owner, const void *object, struct fl_arena *arena, void *ret,
		  struct fl_err *err)
{
	memset(ret, 0, owner->kind->root()->size);
	return owned(owner, object, false, arena, ret, err);
}

int fl_owned_diff(const struct fl_owner *owner, const void *want, const void *have, struct fl_arena *arena,
		  struct fl_str_list *ret_paths, struct fl_err *err)
{
	const struct fl_bind *bind = owner->kind->root();
	void *mine = fl_arena_get(arena, bind->size), *theirs = fl_arena_get(arena, bind->size);
	int r;

	*ret_paths = (struct fl_str_list){ NULL, 0 };
	if (!mine || !theirs)
		return fl_fail(err, FL_E_NOMEM, "no memory to compare what %s owns", owner->manager);
	r = owned(owner, want, true, arena, mine, err);
	if (r < 0)
		return r;
	r = owned(owner, have, true, arena, theirs, err);
	return r < 0 ? r : fl_diff_ours(bind, mine, theirs, arena, ret_paths, err);
}

/* ---- what apply makes of an object ---- */

static void lay(struct take *t, const struct fl_bind *bind, struct fl_str path, const void *from, void *to);

/* The list is shared with what it came from: change a copy with room for one more. */
static bool own_list(struct take *t, const struct fl_field *f, struct fl_seq *seq)
{
	char *copy = fl_arena_get_n(t->arena, (size_t)seq->len + 1, fl_stride(f));

	if (!copy) {
		t->nomem = true;
		return false;
	}
	if (seq->len)
		memcpy(copy, seq->at, (size_t)seq->len * fl_stride(f));
	seq->at = copy;
	return true;
}

/* `from` is the wanted list, NULL when none is wanted. */
static void lay_element(struct take *t, const struct part *part, const void *from, void *to)
{
	const struct fl_field *f = part->field;
	struct fl_seq src = from ? fl_seq_get(from) : (struct fl_seq){ NULL, 0 }, dst = fl_seq_get(to);
	int64_t i = find_element(f, src, part->inside), j = find_element(f, dst, part->inside);
	const void *wanted = i < 0 ? NULL : fl_elem(f, src, (uint32_t)i);

	if ((i < 0 && j < 0) || !own_list(t, f, &dst))
		return;
	if (!wanted && !part->rest.len) {
		remove_element(f, &dst, (uint32_t)j);
		fl_seq_set(to, dst);
		return;
	}
	if (j < 0) {
		assert(i >= 0 && src.at);
		j = insert(f, &dst, part->inside);
		if (f->shape == FL_MAP)
			memcpy(dst.at + (size_t)j * fl_stride(f), src.at + (size_t)i * fl_stride(f),
			       sizeof(struct fl_str));
		else
			copy_keys(f, wanted, fl_elem(f, dst, (uint32_t)j));
	}
	if (part->rest.len)
		lay(t, f->of(), part->rest, wanted, fl_elem(f, dst, (uint32_t)j));
	else
		memcpy(fl_elem(f, dst, (uint32_t)j), wanted, f->size);
	fl_seq_set(to, dst);
}

/* Those that are there, and then those that are wanted. */
static void lay_matching(struct take *t, const struct part *pattern, const void *from, void *to)
{
	struct part one;
	uint32_t at = 0;

	for (struct fl_seq in = fl_seq_get(to); next_match(pattern, in, &at, &one);)
		lay_element(t, &one, from, to);
	at = 0;
	while (from && next_match(pattern, fl_seq_get(from), &at, &one))
		lay_element(t, &one, from, to);
}

static void lay(struct take *t, const struct fl_bind *bind, struct fl_str path, const void *from, void *to)
{
	const struct fl_field *f;
	const void *wanted;
	struct part part;

	if (!first_part(bind, path, &part))
		return;   /* fl_owner_check tells */
	f = part.field;
	wanted = from && fl_has(bind, from, f) ? fl_member(f, from) : NULL;
	if (!part.inside.p && !part.rest.len) {
		memset(fl_member(f, to), 0, fl_member_size(f));
		if (wanted)
			memcpy(fl_member(f, to), wanted, fl_member_size(f));
		else
			fl_default(f, fl_member(f, to));
		fl_has_set(bind, to, f, wanted != NULL);
		return;
	}
	if (is_pattern(&part))
		lay_matching(t, &part, wanted, fl_member(f, to));
	else if (part.inside.p)
		lay_element(t, &part, wanted, fl_member(f, to));
	else
		lay(t, f->of(), part.rest, wanted, fl_member(f, to));
	if (f->shape != FL_ONE || !is_empty(f, fl_member(f, to)))
		fl_has_set(bind, to, f, !is_empty(f, fl_member(f, to)));
}

int fl_owned_lay(const struct fl_owner *owner, const void *want, const void *have, struct fl_arena *arena, void *ret,
		 struct fl_err *err)
{
	struct take t = { .arena = arena };
	const struct fl_bind *bind = owner->kind->root();

	memcpy(ret, have, bind->size);
	for (const char *const *path = owner->paths; *path; path++)
		lay(&t, bind, fl_str(*path), want, ret);
	return t.nomem ? fl_fail(err, FL_E_NOMEM, "no memory to lay over what %s owns", owner->manager) : 0;
}

static void set_text(const struct fl_bind *bind, void *object, struct fl_str json, struct fl_str text)
{
	const struct fl_field *f = fl_field_find(bind, json);

	if (!f || !text.len)
		return;
	memcpy(fl_member(f, object), &text, sizeof text);
	fl_has_set(bind, object, f, true);
}

int fl_owned_apply(const struct fl_owner *owner, struct fl_str space, struct fl_str name, struct fl_str uid,
		   struct fl_str version, const void *want, struct fl_arena *arena, struct fl_jw *w, struct fl_err *err)
{
	const struct fl_bind *bind = owner->kind->root();
	const struct fl_field *meta = fl_field_find(bind, FL_S("metadata"));
	void *part = fl_arena_get(arena, bind->size), *in;
	int r;

	if (!meta || meta->type != FL_T_OBJ)
		return fl_fail(err, FL_E_UNSUPPORTED, "%s has no metadata: nothing to apply to", owner->kind->kind);
	if (!part)
		return fl_fail(err, FL_E_NOMEM, "no memory to write what %s owns", owner->manager);
	r = owned(owner, want, false, arena, part, err);
	if (r < 0)
		return r;
	in = fl_member(meta, part);
	set_text(meta->of(), in, FL_S("name"), name);
	set_text(meta->of(), in, FL_S("namespace"), space);
	set_text(meta->of(), in, FL_S("uid"), uid);
	set_text(meta->of(), in, FL_S("resourceVersion"), version);
	fl_has_set(bind, part, meta, true);
	fl_kind_encode(owner->kind, part, w);
	return fl_buf_check(w->buf, "an apply patch", err);
}
