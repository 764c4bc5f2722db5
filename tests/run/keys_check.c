#include "keys_check.h"
#include "base/units.h"
#include "json/bind_in.h"

FL_STRUCT(keys_names, FL_META_NAMES);
FL_BIND(keys_names, FL_META_NAMES)

struct check {
	struct fl_loop *loop;
	const struct fl_capability *capability;
	struct fl_str space, name;
	struct fl_buf *missed;
	struct fl_arena arena;
	struct fl_dirty dirty;
	struct fl_view view;
	bool marked, failed;
	const struct fl_kind *each[FL_RUN_WATCHES];    /* asked for by fl_dirty_each */
	uint32_t each_len;
	FL_VEC(struct fl_read) reads;
	int tried;
};

/* ---- what is read ---- */

static void note(void *check_, const struct fl_read *read)
{
	struct check *check = check_;
	struct fl_read own = *read;

	own.space = fl_arena_str(&check->arena, read->space);
	own.name = fl_arena_str(&check->arena, read->name);
	own.value = fl_arena_str(&check->arena, read->value);
	check->failed |= !own.space.p || !own.name.p || !own.value.p || fl_vec_push(&check->reads, own) < 0;
}

static void mark_key(struct fl_dirty *dirty, struct fl_str space, struct fl_str name)
{
	struct check *check = fl_container(dirty, struct check, dirty);

	check->marked |= fl_str_eq(space, check->space) && fl_str_eq(name, check->name);
}

static void mark_each(struct fl_dirty *dirty, const struct fl_kind *kind)
{
	struct check *check = fl_container(dirty, struct check, dirty);

	if (check->each_len < FL_LEN(check->each))
		check->each[check->each_len++] = kind;
	else
		check->failed = true;
}

static void ask(struct check *check, const struct fl_kind *kind, const void *before, const void *after)
{
	for (const struct fl_watched *watched = check->capability->watches; watched->kind; watched++)
		if (watched->kind == kind)
			watched->keys(before, after, &check->dirty);
}

/* Would this change make the key dirty? */
static bool noticed(struct check *check, const struct fl_kind *kind, const void *before, const void *after)
{
	const void *object;
	uint32_t kinds;

	check->marked = false;
	check->each_len = 0;
	check->view = fl_loop_view(check->loop, &check->arena);
	check->dirty.view = &check->view;
	check->tried++;
	ask(check, kind, before, after);
	kinds = check->each_len;
	for (uint32_t i = 0; i < kinds && !check->marked; i++) {
		struct fl_each all = fl_view_all(&check->view, check->each[i]);

		while ((object = fl_each_next(&all)))
			ask(check, check->each[i], object, object);
	}
	check->failed |= check->view.failed;
	return check->marked;
}

static struct keys_names *names_of(const struct fl_kind *kind, const void *object)
{
	return (struct keys_names *)(void *)((char *)(uintptr_t)object +
					     fl_field_find(kind->root(), FL_S("metadata"))->offset);
}

static void complain(struct check *check, const char *what, const struct fl_kind *kind, struct fl_str name)
{
	fl_buf_printf(check->missed, "%s: %s %s %.*s does not make the key '%.*s' dirty\n", check->capability->name,
		      what,
		      kind->kind, FL_ARG(name), FL_ARG(check->name));
}

/* ---- changing one field after another ---- */

static bool change_value(const struct fl_field *f, void *value)
{
	struct fl_str text;
	int64_t number;

	switch (f->type) {
	case FL_T_STR:
	case FL_T_RAW:
		memcpy(&text, value, sizeof text);
		text = fl_str_eq(text, FL_S("changed")) ? FL_S("changed again") : FL_S("changed");
		if (f->type == FL_T_RAW)
			text = FL_S("{\"changed\":1}");
		memcpy(value, &text, sizeof text);
		return true;
	case FL_T_BOOL:
		*(bool *)value = !*(bool *)value;
		return true;
	case FL_T_I32:
		++*(int32_t *)value;
		return true;
	case FL_T_ENUM:
		*(int32_t *)value = (*(int32_t *)value + 1) % (int32_t)f->names->len;
		return true;
	case FL_T_I64:
	case FL_T_TIME:
	case FL_T_MICROTIME:
	case FL_T_DURATION:
		memcpy(&number, value, sizeof number);
		number += 1000000;
		memcpy(value, &number, sizeof number);
		return true;
	case FL_T_F64:
		*(double *)value += 1;
		return true;
	case FL_T_QUANTITY:
	case FL_T_INTSTR:
	case FL_T_OBJ:
	case FL_T_COUNT_:
		break;
	}
	return false;
}

/* Change the *n-th thing that can be changed: of a value it is the value and its absence, of a list its absence. *n
 * counts down to zero, which stands for "done". */
static void change_nth(const struct fl_bind *bind, void *object, bool names, int *n)
{
	fl_each_field (f, bind) {
		if (f->local || (names && f - bind->fields < 4))
			continue;   /* who it is, and its version, are not changed */
		if (f->type == FL_T_OBJ && f->shape == FL_ONE && fl_has(bind, object, f))
			change_nth(f->of(), fl_member(f, object), fl_str_eq(f->json, FL_S("metadata")), n);
		if (*n == 0)
			return;
		if (fl_has(bind, object, f) && --*n == 0) {
			memset(fl_member(f, object), 0, fl_member_size(f));
			fl_default(f, fl_member(f, object));
			fl_has_set(bind, object, f, false);
			return;
		}
		if (f->shape == FL_ONE && f->type != FL_T_OBJ && --*n == 0) {
			if (change_value(f, fl_member(f, object)))
				fl_has_set(bind, object, f, true);
			return;
		}
	}
}

static int plan_text(struct check *check, struct fl_buf *out)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_plan plan;

	fl_plan_init(&plan, &arena);
	if (fl_loop_try(check->loop, check->capability, check->space, check->name, &plan, NULL, NULL))
		fl_plan_print(&plan, out);
	return plan.failed || out->failed ? -FL_E_NOMEM : 0;
}

/* Does the plan differ with `changed` in place of `object`? The cache is as it was afterwards. */
static bool matters(struct check *check, const struct fl_kind *kind, const void *object, const void *changed)
{
	FL_AUTO(fl_buf) struct fl_buf before = FL_BUF(FL_MIB), after = FL_BUF(FL_MIB);
	struct fl_feed *feed = fl_loop_feed(check->loop, kind);
	bool failed = plan_text(check, &before) < 0 || fl_feed_put(feed, changed, NULL) < 0;

	failed = failed || plan_text(check, &after) < 0;
	failed |= fl_feed_put(feed, object, NULL) < 0;
	check->failed |= failed;
	return !failed && !fl_str_eq(fl_buf_view(&before), fl_buf_view(&after));
}

static void check_changes(struct check *check, const struct fl_kind *kind, const void *object)
{
	const struct fl_bind *root = kind->root();

	for (int i = 1; !check->failed; i++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		void *changed = fl_arena_get(&arena, root->size);
		struct fl_str_list paths;
		int n = i;

		if (!changed || fl_copy(root, object, &arena, changed, NULL) < 0) {
			check->failed = true;
			return;
		}
		change_nth(root, changed, false, &n);
		if (n > 0)
			return;
		if (!matters(check, kind, object, changed) ||
		    (noticed(check, kind, object, changed) && noticed(check, kind, changed, object)))
			continue;
		complain(check, "a change of", kind, names_of(kind, object)->name);
		check->failed |= fl_diff(root, object, changed, &arena, &paths, NULL) < 0;
		if (!check->failed && paths.len)
			fl_buf_printf(check->missed, "\t(of %.*s)\n", FL_ARG(paths.at[0]));
	}
}

/* ---- each object that was read ---- */

static void check_object(struct check *check, const struct fl_kind *kind, const void *cached)
{
	void *object = fl_arena_get(&check->arena, kind->root()->size);

	if (!object || fl_copy(kind->root(), cached, &check->arena, object, NULL) < 0) {
		check->failed = true;
		return;
	}
	if (!noticed(check, kind, object, NULL))
		complain(check, "the end of", kind, names_of(kind, object)->name);
	if (!noticed(check, kind, NULL, object))
		complain(check, "the coming of", kind, names_of(kind, object)->name);
	check_changes(check, kind, object);
}

static void check_missing(struct check *check, const struct fl_read *read)
{
	const struct fl_bind *root = read->kind->root();
	void *object = fl_arena_get(&check->arena, root->size);
	struct keys_names *names;

	if (!object) {
		check->failed = true;
		return;
	}
	names = names_of(read->kind, object);
	fl_has_set(root, object, fl_field_find(root, FL_S("metadata")), true);
	FL_SET(names, name, read->name);
	if (read->space.len)
		FL_SET(names, space, read->space);
	if (!noticed(check, read->kind, NULL, object))
		complain(check, "the coming of", read->kind, read->name);
}

static void check_read(struct check *check, const struct fl_read *read)
{
	struct fl_view view = fl_loop_view(check->loop, &check->arena);
	struct fl_each each;
	const void *object;
	FL_AUTO(fl_vec) FL_VEC(const void *) found = { 0 };

	if (read->how == FL_READ_GET) {
		object = fl_view_get(&view, read->kind, read->space, read->name);
		check->failed |= view.failed;
		if (object)
			check_object(check, read->kind, object);
		else
			check_missing(check, read);
		return;
	}
	/* Whoever counts or sums up depends on each of them. */
	each = read->how == FL_READ_ALL ? fl_view_all(&view, read->kind) :
					  fl_view_by(&view, read->kind, read->index, read->value);
	while ((object =
			fl_each_next(&each))) /* copied before anything is changed: the iteration must not see that */
		check->failed |= fl_vec_push(&found, object) < 0;
	check->failed |= view.failed;
	for (uint32_t i = 0; i < found.len && !check->failed; i++) {
		void *own = fl_arena_get(&check->arena, read->kind->root()->size);

		check->failed |= !own || fl_copy(read->kind->root(), found.at[i], &check->arena, own, NULL) < 0;
		found.at[i] = own;
	}
	for (uint32_t i = 0; i < found.len && !check->failed; i++)
		check_object(check, read->kind, found.at[i]);
}

int keys_check(struct fl_loop *loop, const struct fl_capability *capability, struct fl_str space, struct fl_str name,
	       struct fl_buf *missed)
{
	struct check check = { .loop = loop, .capability = capability, .space = space, .name = name, .missed = missed,
			       .dirty = { .key = mark_key, .each = mark_each } };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_plan plan;

	fl_plan_init(&plan, &arena);
	(void)fl_loop_try(loop, capability, space, name, &plan, note, &check);
	check.failed |= plan.failed;
	for (uint32_t i = 0; i < check.reads.len && !check.failed; i++)
		check_read(&check, &check.reads.at[i]);
	fl_vec_free(&check.reads);
	fl_arena_free(&check.arena);
	return check.failed || missed->failed ? -FL_E_NOMEM : check.tried;
}
