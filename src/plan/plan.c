#include "plan/plan.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

FL_NAMES(fl_emit_names, FL_EMIT_COUNT_, [FL_EMIT_NOBODY] = "nobody", [FL_EMIT_NORMAL] = "Normal",
	 [FL_EMIT_WARNING] = "Warning");
FL_NAMES(fl_want_names, FL_WANT_COUNT_, [FL_WANT_OBJECT] = "want", [FL_WANT_GONE] = "gone", [FL_WANT_ITEM] = "item",
	 [FL_WANT_NO_ITEM] = "no item");

void fl_plan_init(struct fl_plan *plan, struct fl_arena *arena)
{
	memset(plan, 0, sizeof *plan);
	plan->arena = arena;
	plan->last = &plan->first;
	plan->no_others_last = &plan->no_others;
	plan->said_last = &plan->said;
}

void *fl_plan_get(struct fl_plan *plan, size_t count, size_t size)
{
	void *p = fl_arena_get_n(plan->arena, count, size);

	plan->failed |= !p;
	return p;
}

/* Without the piece of a character at its end. */
static uint32_t whole_characters(const char *text, uint32_t len)
{
	uint32_t last = len;

	while (last && ((unsigned char)text[last - 1] & 0xc0) == 0x80)
		last--;
	last -= last != 0;
	return fl_str_utf8_len((struct fl_str){ text + last, len - last }) == len - last ? len : last;
}

/* A text over its ceiling is cut. */
static FL_PRINTF(2, 0) struct fl_str print(struct fl_plan *plan, const char *fmt, va_list args)
{
	char text[FL_PLAN_TEXT + 1];
	int printed = vsnprintf(text, sizeof text, fmt, args);
	uint32_t len = printed < 0 ? 0 : (uint32_t)printed;
	struct fl_str copy;

	if (len > FL_PLAN_TEXT)
		len = whole_characters(text, FL_PLAN_TEXT);
	copy = fl_arena_str(plan->arena, (struct fl_str){ text, len });
	plan->failed |= !copy.p;
	return copy;
}

struct fl_str fl_plan_printf(struct fl_plan *plan, const char *fmt, ...)
{
	struct fl_str text;
	va_list args;

	va_start(args, fmt);
	text = print(plan, fmt, args);
	va_end(args);
	return text;
}

void fl_plan_append(struct fl_plan *plan, struct fl_str *text, const char *fmt, va_list args)
{
	struct fl_str more = print(plan, fmt, args);

	*text = fl_plan_printf(plan, "%.*s%s%.*s", FL_ARG(*text), text->len ? "; " : "", FL_ARG(more));
}

/* ---- wants ---- */

/* Chains are short, and which one an object is in shows nowhere. */
static struct fl_want **bucket_of(struct fl_plan *plan, struct fl_ref ref)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < ref.name.len; i++)
		hash = (hash ^ (unsigned char)ref.name.p[i]) * 16777619u;
	return &plan->bucket[(hash ^ hash >> 16) % FL_PLAN_BUCKETS];
}

static struct fl_want *find_want(struct fl_want *in, const struct fl_owner *owner, struct fl_ref ref)
{
	while (in && (in->what != FL_WANT_OBJECT || in->owner != owner || !fl_ref_same(in->ref, ref)))
		in = in->same_hash;
	return in;
}

const struct fl_want *fl_plan_find(const struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref)
{
	return find_want(*bucket_of((struct fl_plan *)(uintptr_t)plan, ref), owner, ref);
}

static struct fl_want *add_want(struct fl_plan *plan, enum fl_want_what what, struct fl_ref ref)
{
	struct fl_want **bucket = bucket_of(plan, ref), *want = fl_plan_get(plan, 1, sizeof *want);

	if (!want)
		return NULL;
	*want = (struct fl_want){ .what = what, .ref = ref, .same_hash = *bucket };
	*bucket = want;
	*plan->last = want;
	plan->last = &want->next;
	return want;
}

static struct fl_want *find_or_add(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref)
{
	struct fl_want *want = find_want(*bucket_of(plan, ref), owner, ref);

	assert(owner->kind == ref.kind);
	if (!want) {
		want = add_want(plan, FL_WANT_OBJECT, ref);
		if (!want)
			return NULL;
		want->owner = owner;
		want->object = fl_plan_get(plan, 1, ref.kind->root()->size);
	}
	return want->object ? want : NULL;   /* refused now, or before */
}

/* ---- conditions ---- */

/* Where an object of the kind has its conditions, or NULL. */
static const struct fl_field *conditions_of(const struct fl_kind *kind, const struct fl_field **ret_status)
{
	const struct fl_field *status = fl_field_find(kind->root(), FL_S("status")), *conditions;

	if (!status || status->type != FL_T_OBJ)
		return NULL;
	conditions = fl_field_find(status->of(), FL_S("conditions"));
	*ret_status = status;
	return conditions && conditions->of == fl_condition_bind ? conditions : NULL;
}

static void set_bit(void *object, const struct fl_bind *bind, const struct fl_field *field)
{
	uint64_t bits;

	memcpy(&bits, object, sizeof bits);
	bits |= (uint64_t)1 << (field - bind->fields);
	memcpy(object, &bits, sizeof bits);
}

/* Put a condition into an object that is the plan's own, in place of the one of its type. */
static void set_condition(struct fl_plan *plan, const struct fl_kind *kind, void *object,
			  const struct fl_condition *condition)
{
	const struct fl_field *status = NULL, *field = conditions_of(kind, &status);
	struct fl_condition_list list;
	struct fl_condition *grown;
	char *at;
	uint32_t i = 0;

	assert(field);
	at = (char *)object + status->offset + field->offset;
	memcpy(&list, at, sizeof list);
	while (i < list.len && !fl_str_eq(list.at[i].type, condition->type))
		i++;
	grown = fl_plan_get(plan, list.len + 1, sizeof *grown);
	if (!grown)
		return;
	if (list.len)
		memcpy(grown, list.at, list.len * sizeof *grown);
	grown[i] = *condition;
	list = (struct fl_condition_list){ grown, i == list.len ? list.len + 1 : list.len };
	memcpy(at, &list, sizeof list);
	set_bit((char *)object + status->offset, status->of(), field);
	set_bit(object, kind->root(), status);
}

static void keep_conditions(struct fl_plan *plan, const struct fl_kind *kind, const void *from, void *to)
{
	const struct fl_field *status = NULL, *field = conditions_of(kind, &status);
	struct fl_condition_list list;

	if (!field)
		return;
	memcpy(&list, (const char *)from + status->offset + field->offset, sizeof list);
	for (uint32_t i = 0; i < list.len; i++)
		set_condition(plan, kind, to, &list.at[i]);
}

/* ---- what may be said ---- */

void fl_want(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, const void *object)
{
	struct fl_want *want = find_or_add(plan, owner, ref);
	void *part = fl_plan_get(plan, 1, ref.kind->root()->size);

	if (!want || !part)
		return;
	if (fl_owned_part(owner, object, plan->arena, part, NULL) < 0) {
		plan->failed = true;
		return;
	}
	keep_conditions(plan, ref.kind, want->object, part);
	want->object = part;
}

void fl_want_claim(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, const void *object)
{
	struct fl_want *want = find_or_add(plan, owner, ref);

	fl_want(plan, owner, ref, object);
	if (want)
		want->as_seen = true;
}

static void tell_condition(struct fl_plan *plan, struct fl_want *want, enum fl_emit tell, struct fl_str type)
{
	struct fl_told *told = tell == FL_EMIT_NOBODY ? NULL : fl_plan_get(plan, 1, sizeof *told);

	if (!told)
		return;
	*told = (struct fl_told){ type, tell, want->told };
	want->told = told;
}

void fl_want_condition(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, enum fl_emit how,
		       const char *type, enum fl_condition_status is, const char *reason, const char *message, ...)
{
	struct fl_want *want = find_or_add(plan, owner, ref);
	struct fl_condition condition = { 0 };
	va_list args;

	if (!want)
		return;
	FL_SET(&condition, type, fl_str(type));
	FL_SET(&condition, status, is);
	FL_SET(&condition, reason, fl_str(reason));
	if (ref.generation)
		FL_SET(&condition, observed_generation, ref.generation);
	va_start(args, message);
	FL_SET(&condition, message, print(plan, message, args));
	va_end(args);
	set_condition(plan, ref.kind, want->object, &condition);
	tell_condition(plan, want, how, condition.type);
}

void fl_want_gone(struct fl_plan *plan, struct fl_ref ref)
{
	fl_want_deleted(plan, ref, &(struct fl_deletion){ 0 });
}

void fl_want_deleted(struct fl_plan *plan, struct fl_ref ref, const struct fl_deletion *how)
{
	struct fl_want *want = add_want(plan, FL_WANT_GONE, ref);

	assert(how->grace_s >= 0);
	if (!want)
		return;
	want->how = *how;
	want->as_seen = how->as_seen;
}

static struct fl_want *find_gone(struct fl_want *in, struct fl_ref ref)
{
	while (in && (in->what != FL_WANT_GONE || !fl_ref_same(in->ref, ref)))
		in = in->same_hash;
	return in;
}

void fl_want_event(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, struct fl_ref about,
		   enum fl_emit tell, const char *reason, const char *message, ...)
{
	struct fl_want *first = *bucket_of(plan, ref), *want = owner ? find_want(first, owner, ref) : find_gone(first,
			ref);
	struct fl_news *news = fl_plan_get(plan, 1, sizeof *news);
	va_list args;

	assert(want || plan->failed);
	if (!want || !news)
		return;
	va_start(args, message);
	*news = (struct fl_news){ about, tell, fl_str(reason), print(plan, message, args), want->news };
	va_end(args);
	want->news = news;
}

static struct fl_want *find_child(const struct fl_plan *plan, const struct fl_children *children, struct fl_ref child)
{
	struct fl_want *want = *bucket_of((struct fl_plan *)(uintptr_t)plan, child);

	while (want && (want->children != children || !fl_ref_same(want->ref, child)))
		want = want->same_hash;
	return want;
}

bool fl_plan_has_child(const struct fl_plan *plan, const struct fl_children *children, struct fl_ref parent,
		       struct fl_ref child)
{
	const struct fl_want *want = find_child(plan, children, child);

	return want && fl_str_eq(want->parent.uid, parent.uid);
}

void fl_want_child(struct fl_plan *plan, const struct fl_children *children, struct fl_ref parent, struct fl_ref child,
		   const void *object)
{
	struct fl_want *want = find_child(plan, children, child);
	size_t size = child.kind->root()->size;
	struct fl_owner *owner = fl_plan_get(plan, 1, sizeof *owner);
	void *named = fl_plan_get(plan, 1, size), *part = fl_plan_get(plan, 1, size);

	assert(children->parent == parent.kind && children->owner->kind == child.kind && parent.uid.len);
	if (!want)
		want = add_want(plan, FL_WANT_OBJECT, child);
	if (!want || !owner || !named || !part)
		return;
	memcpy(named, object, size);
	if (fl_child_name(children, parent.name, parent.uid, named, plan->arena, owner) < 0 ||
	    fl_owned_part(owner, named, plan->arena, part, NULL) < 0) {
		plan->failed = true;
		return;
	}
	want->owner = owner;
	want->object = part;
	want->children = children;
	want->parent = parent;
}

void fl_want_no_others(struct fl_plan *plan, const struct fl_children *children, struct fl_ref parent)
{
	struct fl_no_others *none = fl_plan_get(plan, 1, sizeof *none);

	assert(children->parent == parent.kind && parent.uid.len);
	if (!none)
		return;
	*none = (struct fl_no_others){ children, parent, NULL };
	*plan->no_others_last = none;
	plan->no_others_last = &none->next;
}

static struct fl_want *want_item(struct fl_plan *plan, enum fl_want_what what, const struct fl_shared *shared,
				 struct fl_ref ref, const void *item)
{
	struct fl_want *want = add_want(plan, what, ref);
	const struct fl_field *list = fl_shared_field(shared, NULL);

	assert(list && shared->kind == ref.kind);
	if (!want)
		return NULL;
	want->shared = shared;
	want->object = fl_plan_get(plan, 1, list->size);
	if (want->object)
		memcpy(want->object, item, list->size);
	return want;
}

void fl_want_item(struct fl_plan *plan, const struct fl_shared *shared, struct fl_ref ref, const void *item)
{
	(void)want_item(plan, FL_WANT_ITEM, shared, ref, item);
}

void fl_want_no_item(struct fl_plan *plan, const struct fl_shared *shared, struct fl_ref ref, const void *item)
{
	(void)want_item(plan, FL_WANT_NO_ITEM, shared, ref, item);
}

void fl_want_finalizer(struct fl_plan *plan, const struct fl_finalizer *finalizer, struct fl_ref ref)
{
	struct fl_want *want = want_item(plan, FL_WANT_ITEM, &finalizer->list, ref, &finalizer->name);

	if (want)
		want->first = true;
}

void fl_want_no_finalizer(struct fl_plan *plan, const struct fl_finalizer *finalizer, struct fl_ref ref)
{
	struct fl_want *want = want_item(plan, FL_WANT_NO_ITEM, &finalizer->list, ref, &finalizer->name);

	if (want)
		want->last = true;
}

void fl_want_at(struct fl_plan *plan, uint64_t at)
{
	if (at && (!plan->at || at < plan->at))
		plan->at = at;
}

void fl_say(struct fl_plan *plan, struct fl_ref ref, const char *reason, const char *message, ...)
{
	struct fl_said *said = fl_plan_get(plan, 1, sizeof *said);
	va_list args;

	if (!said)
		return;
	va_start(args, message);
	*said = (struct fl_said){ ref, fl_str(reason), print(plan, message, args), NULL };
	va_end(args);
	*plan->said_last = said;
	plan->said_last = &said->next;
}

/* ---- shared lists ---- */

const struct fl_field *fl_shared_field(const struct fl_shared *shared, size_t *ret_offset)
{
	const struct fl_bind *bind = shared->kind->root();
	struct fl_str rest = fl_str(shared->path), name;
	const struct fl_field *field = NULL;
	size_t offset = 0;

	while (fl_str_split(&rest, '.', &name)) {
		if (field && (field->type != FL_T_OBJ || field->shape != FL_ONE))
			return NULL;
		field = fl_field_find(field ? field->of() : bind, name);
		if (!field)
			return NULL;
		offset += field->offset;
	}
	if (!field || field->shape != FL_LIST || field->list_key)
		return NULL;
	if (field->type != FL_T_OBJ && field->type != FL_T_STR)
		return NULL;
	if (ret_offset)
		*ret_offset = offset;
	return field;
}

/* ---- as text ---- */

static void print_ref(const char *what, struct fl_ref ref, struct fl_buf *buf)
{
	fl_buf_printf(buf, "%s %s %.*s%s%.*s", what, ref.kind->kind, FL_ARG(ref.space), ref.space.len ? "/" : "",
		      FL_ARG(ref.name));
}

static void print_item(const struct fl_want *want, struct fl_buf *buf)
{
	const struct fl_field *list = fl_shared_field(want->shared, NULL);
	struct fl_jw w = FL_JW(buf);
	struct fl_str text;

	assert(list);   /* fl_want_item has looked */
	fl_buf_printf(buf, "%s %s ", want->first ? " first" : want->last ? " last" : "", want->shared->path);
	if (list->type == FL_T_OBJ) {
		fl_encode(list->of(), want->object, &w);
		return;
	}
	memcpy(&text, want->object, sizeof text);
	fl_jw_str(&w, text);
}

static void print_deletion(const struct fl_deletion *how, struct fl_buf *buf)
{
	if (how->propagation != FL_PROPAGATION_DEFAULT)
		fl_buf_printf(buf, " %s", fl_name(&fl_propagation_names, how->propagation));
	if (how->as_seen)
		fl_buf_str(buf, FL_S(" as seen"));
	if (how->now || how->grace_s)
		fl_buf_printf(buf, " within %d s", how->now ? 0 : how->grace_s);
}

static void print_want(const struct fl_want *want, struct fl_buf *buf)
{
	struct fl_jw w = FL_JW(buf);

	print_ref(fl_name(&fl_want_names, want->what), want->ref, buf);
	switch (want->what) {
	case FL_WANT_OBJECT:
		if (want->children)
			print_ref(" of", want->parent, buf);
		fl_buf_printf(buf, " by %s %s", want->owner->manager, want->as_seen ? "as seen " : "");
		fl_encode(want->ref.kind->root(), want->object, &w);
		break;
	case FL_WANT_ITEM:
	case FL_WANT_NO_ITEM:
		print_item(want, buf);
		break;
	case FL_WANT_GONE:
		print_deletion(&want->how, buf);
		break;
	case FL_WANT_COUNT_:
		break;
	}
	for (const struct fl_news *news = want->news; news; news = news->next) {
		fl_buf_printf(buf, " event %s", fl_name(&fl_emit_names, (int)news->tell));
		print_ref("", news->about, buf);
		fl_buf_printf(buf, " %.*s: %.*s", FL_ARG(news->reason), FL_ARG(news->message));
	}
	fl_buf_char(buf, '\n');
}

void fl_plan_print(const struct fl_plan *plan, struct fl_buf *buf)
{
	if (plan->failed) {
		fl_buf_str(buf, FL_S("failed\n"));   /* nothing of it counts */
		return;
	}
	for (const struct fl_want *want = plan->first; want; want = want->next)
		print_want(want, buf);
	for (const struct fl_no_others *none = plan->no_others; none; none = none->next) {
		fl_buf_printf(buf, "no other %s", none->children->owner->kind->kind);
		print_ref(" of", none->parent, buf);
		fl_buf_char(buf, '\n');
	}
	for (const struct fl_said *said = plan->said; said; said = said->next) {
		print_ref("say", said->ref, buf);
		fl_buf_printf(buf, ": %.*s: %.*s\n", FL_ARG(said->reason), FL_ARG(said->message));
	}
	if (plan->at)
		fl_buf_printf(buf, "again at %llu\n", (unsigned long long)plan->at);
}
