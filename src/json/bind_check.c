#include "base/units.h"
#include "json/bind_in.h"
#include <regex.h>

struct check {
	struct fl_arena *arena;
	struct fl_fault_list *faults;
	bool nomem;
};

static void check_object(struct check *c, const struct fl_step *up, const struct fl_bind *bind, const void *old,
			 const void *object);

static void add(struct check *c, const struct fl_step *step, struct fl_str found, struct fl_str want)
{
	if (fl_fault_add(c->arena, c->faults, step, found, want) < 0)
		c->nomem = true;
}

/* What is there, cut; and all that the row says of its bounds. */
static void out_of_bounds(struct check *c, const struct fl_step *step, const struct fl_field *f, const void *value)
{
	FL_AUTO(fl_buf) struct fl_buf found = FL_BUF(FL_JSON_ITEM_MAX), want = FL_BUF(4 * FL_KIB);

	fl_value_print(f, value, &found);
	fl_field_bounds(f, &want);
	if (found.failed == FL_E_NOMEM || want.failed)
		c->nomem = true;
	else
		add(c, step, fl_text_cut(fl_buf_view(&found), FL_FAULT_FOUND), fl_buf_view(&want));
}

static void wrong_count(struct check *c, const struct fl_step *step, const struct fl_field *f, uint32_t count)
{
	FL_AUTO(fl_buf) struct fl_buf found = FL_BUF(FL_BIND_PATH), want = FL_BUF(4 * FL_KIB);

	fl_buf_printf(&found, "%u", count);
	fl_field_bounds(f, &want);
	if (found.failed || want.failed)
		c->nomem = true;
	else
		add(c, step, fl_buf_view(&found), fl_buf_view(&want));
}

/* ---- values ---- */

static bool in_length(const struct fl_field *f, uint32_t n)
{
	return n >= f->length.min && (!f->length.max || n <= f->length.max);
}

static uint32_t characters(struct fl_str s)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s.len; i++)
		count += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return count;
}

/* Patterns are ours, so they compile: kind_lint of the tests has seen to it. What is refused here is memory. */
static bool matches(struct check *c, const char *pattern, struct fl_str text)
{
	regmatch_t whole = { 0, (regoff_t)text.len };
	regex_t compiled;
	bool ok;

	if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
		c->nomem = true;
		return true;
	}
	ok = regexec(&compiled, text.len ? text.p : "", 1, &whole, REG_STARTEND) == 0;
	regfree(&compiled);
	return ok;
}

static bool between(const struct fl_field *f, const void *value)
{
	double least = (double)f->between.min, most = (double)f->between.max;
	int32_t small;

	if (!f->between.set)
		return true;
	if (f->type == FL_T_F64)
		return *(const double *)value >= least && *(const double *)value <= most;
	if (f->type == FL_T_I64)
		return *(const int64_t *)value >= f->between.min && *(const int64_t *)value <= f->between.max;
	memcpy(&small, value, sizeof small);
	return small >= f->between.min && small <= f->between.max;
}

static bool named(const struct fl_field *f, const void *value)
{
	uint32_t number;

	memcpy(&number, value, sizeof number);
	return number < f->names->len;
}

static void check_value(struct check *c, const struct fl_step *step, const struct fl_field *f, const void *old,
			const void *value)
{
	bool ok = true;

	if (f->type == FL_T_OBJ) {
		check_object(c, step, f->of(), old, value);
		return;
	}
	if (f->type == FL_T_I32 || f->type == FL_T_I64 || f->type == FL_T_F64)
		ok = between(f, value);
	if (f->type == FL_T_ENUM)
		ok = named(f, value);
	if (f->type == FL_T_STR && f->pattern)
		ok = matches(c, f->pattern, *(const struct fl_str *)value);
	if (f->type == FL_T_STR && f->shape == FL_ONE)
		ok = ok && in_length(f, characters(*(const struct fl_str *)value));
	if (!ok)
		out_of_bounds(c, step, f, value);
}

/* ---- lists ---- */

/* The same key, or of a set the same value, as one before it. Sorted pointers, so that a long list stays cheap. */
struct sorted {
	const struct fl_field *f;
	const void **at;
};

static int order_of(const struct fl_field *f, const void *a, const void *b)
{
	const struct fl_field *key;
	uint32_t at = 0;
	int order = 0;

	if (!f->list_key)
		return fl_value_cmp(f, a, b);
	while (!order && (key = fl_key_next(f, &at)))
		order = fl_value_cmp(key, fl_member(key, a), fl_member(key, b));
	return order;
}

static void sift(struct sorted *s, uint32_t from, uint32_t len)
{
	for (uint32_t child; (child = 2 * from + 1) < len; from = child) {
		const void *held = s->at[from];

		if (child + 1 < len && order_of(s->f, s->at[child], s->at[child + 1]) < 0)
			child++;
		if (order_of(s->f, held, s->at[child]) >= 0)
			return;
		s->at[from] = s->at[child];
		s->at[child] = held;
	}
}

static void check_repeats(struct check *c, const struct fl_step *up, const struct fl_field *f, struct fl_seq seq)
{
	struct sorted s = { f, fl_arena_get_n(c->arena, seq.len, sizeof *s.at) };
	struct fl_step step = { .up = up, .kind = FL_STEP_INDEX };

	if (!s.at) {
		c->nomem = true;
		return;
	}
	for (uint32_t i = 0; i < seq.len; i++)
		s.at[i] = fl_elem(f, seq, i);
	for (uint32_t i = seq.len / 2; i-- > 0;)
		sift(&s, i, seq.len);
	for (uint32_t i = seq.len; i-- > 1;) {
		const void *last = s.at[0];

		s.at[0] = s.at[i];
		s.at[i] = last;
		sift(&s, 0, i);
		if (order_of(f, s.at[0], last) != 0)
			continue;
		step.index = (uint32_t)(((const char *)last - seq.at) / (ptrdiff_t)fl_stride(f));
		add(c, &step, FL_S("the same again"), f->list_key ? FL_S("each key once") : FL_S("each value once"));
	}
}

static const void *old_element(const struct fl_field *f, const void *old, struct fl_seq now, uint32_t i)
{
	struct fl_seq was;
	int64_t at;

	if (!old || (f->shape == FL_LIST && !f->list_key))
		return NULL;
	was = fl_seq_get(old);
	if (f->shape == FL_LIST) {
		at = fl_elem_find(f, was, fl_elem(f, now, i));
		return at < 0 ? NULL : fl_elem(f, was, (uint32_t)at);
	}
	for (uint32_t j = 0; j < was.len; j++)
		if (fl_str_eq(fl_elem_key(f, was, j), fl_elem_key(f, now, i)))
			return fl_elem(f, was, j);
	return NULL;
}

static void check_elements(struct check *c, const struct fl_step *up, const struct fl_field *f, const void *old,
			   struct fl_seq seq)
{
	struct fl_step step = { .up = up, .kind = f->shape == FL_MAP ? FL_STEP_KEY : FL_STEP_INDEX };

	if (!in_length(f, seq.len))
		wrong_count(c, up, f, seq.len);
	for (uint32_t i = 0; i < seq.len && !c->nomem && c->faults->len < FL_FAULTS_MAX; i++) {
		step.index = i;
		if (f->shape == FL_MAP)
			step.name = fl_elem_key(f, seq, i);
		check_value(c, &step, f, old_element(f, old, seq, i), fl_elem(f, seq, i));
	}
	if (f->list_key || f->list_set)
		check_repeats(c, up, f, seq);
}

/* ---- objects ---- */

/* Where there is a default, its absence and its presence are the same. */
static bool changed(const struct fl_bind *bind, const struct fl_field *f, const void *old, const void *object)
{
	bool was = fl_has(bind, old, f), is = fl_has(bind, object, f);

	if (f->def.set && f->type != FL_T_OBJ)
		was = is = true;
	return was != is || (was && !fl_field_equal(f, fl_member(f, old), fl_member(f, object)));
}

static void check_object(struct check *c, const struct fl_step *up, const struct fl_bind *bind, const void *old,
			 const void *object)
{
	struct fl_step step = { .up = up, .kind = FL_STEP_FIELD };

	fl_each_field (f, bind) {
		bool is = fl_has(bind, object, f);
		const void *member = fl_member(f, object), *was = NULL;

		if (f->local || c->nomem)
			continue;
		step.name = f->json;
		if (f->required && !f->def.set && !is)
			add(c, &step, FL_S("nothing"), FL_S("a value: it is required"));
		if (old && f->immutable && changed(bind, f, old, object))
			add(c, &step, FL_S("a change"), FL_S("what was there: it is immutable"));
		if (old && fl_has(bind, old, f))
			was = fl_member(f, old);
		if (is && f->shape == FL_ONE)
			check_value(c, &step, f, was, member);
		else if (is)
			check_elements(c, &step, f, was, fl_seq_get(member));
	}
}

int fl_check(const struct fl_bind *bind, const void *old, const void *object, struct fl_arena *arena,
	     struct fl_fault_list *ret_faults, struct fl_err *err)
{
	struct check c = { .arena = arena, .faults = ret_faults };

	*ret_faults = (struct fl_fault_list){ NULL, 0 };
	check_object(&c, NULL, bind, old, object);
	if (c.nomem)
		return fl_fail(err, FL_E_NOMEM, "no memory to check an object of %s", bind->name);
	return (int)ret_faults->len;
}
