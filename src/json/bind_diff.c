#include "json/bind_in.h"

struct diff {
	struct fl_arena *arena;
	struct fl_str_list *paths;
	uint32_t cap;
	bool ours;      /* for writing: order in list-maps and sets, and what apply stamps, are no differences */
	bool nomem;
};

static bool grow(struct diff *d)
{
	uint32_t cap = d->cap ? 2 * d->cap : 8;
	struct fl_str *grown = fl_arena_get_n(d->arena, cap, sizeof *grown);

	if (!grown)
		return false;
	if (d->paths->len)
		memcpy(grown, d->paths->at, d->paths->len * sizeof *grown);
	d->paths->at = grown;
	d->cap = cap;
	return true;
}

static void differs(struct diff *d, const struct fl_step *step)
{
	struct fl_str path;

	if (d->nomem)
		return;
	path = fl_step_path(step, d->arena);
	if (!path.p || (d->paths->len == d->cap && !grow(d)))
		d->nomem = true;
	else
		d->paths->at[d->paths->len++] = path;
}

static void diff_object(struct diff *d, const struct fl_step *up, const struct fl_bind *bind, const void *a,
			const void *b);

static void diff_value(struct diff *d, const struct fl_step *step, const struct fl_field *f, const void *a,
		       const void *b)
{
	if (d->nomem)
		return;
	if (f->type == FL_T_OBJ && !f->of()->atomic)
		diff_object(d, step, f->of(), a, b);
	else if (fl_value_cmp(f, a, b) != 0)
		differs(d, step);
}

/* Both are sorted. */
static void diff_map(struct diff *d, const struct fl_step *up, const struct fl_field *f, struct fl_seq a,
		     struct fl_seq b)
{
	struct fl_step step = { .up = up, .kind = FL_STEP_KEY };

	for (uint32_t i = 0, j = 0; (i < a.len || j < b.len) && !d->nomem;) {
		int order = i == a.len ? 1 : j == b.len ? -1 : fl_str_cmp(fl_elem_key(f, a, i), fl_elem_key(f, b, j));

		step.name = order <= 0 ? fl_elem_key(f, a, i) : fl_elem_key(f, b, j);
		if (order)
			differs(d, &step);
		else
			diff_value(d, &step, f, fl_elem(f, a, i), fl_elem(f, b, j));
		i += order <= 0;
		j += order >= 0;
	}
}

/* Elements mostly stand where they stood, so look there first. */
static int64_t match(const struct fl_field *f, struct fl_seq in, uint32_t hint, const void *like)
{
	if (hint < in.len && fl_keys_equal(f, fl_elem(f, in, hint), like))
		return hint;
	return fl_elem_find(f, in, like);
}

static void diff_list_map(struct diff *d, const struct fl_step *up, const struct fl_field *f, struct fl_seq a,
			  struct fl_seq b)
{
	struct fl_step step = { .up = up, .kind = FL_STEP_ELEMENT, .list = f };

	for (uint32_t i = 0; i < a.len && !d->nomem; i++) {
		int64_t j = match(f, b, i, fl_elem(f, a, i));

		step.element = fl_elem(f, a, i);
		if (j < 0)
			differs(d, &step);
		else
			diff_value(d, &step, f, fl_elem(f, a, i), fl_elem(f, b, (uint32_t)j));
	}
	for (uint32_t j = 0; j < b.len && !d->nomem; j++) {
		step.element = fl_elem(f, b, j);
		if (match(f, a, j, step.element) < 0)
			differs(d, &step);
	}
}

static bool same_set(const struct fl_field *f, struct fl_seq a, struct fl_seq b)
{
	for (uint32_t i = 0; i < a.len; i++)
		if (fl_elem_find(f, b, fl_elem(f, a, i)) < 0)
			return false;
	return a.len == b.len;
}

static void diff_field(struct diff *d, const struct fl_step *step, const struct fl_field *f, const void *a,
		       const void *b)
{
	uint32_t before = d->paths->len;
	struct fl_seq x, y;

	if (f->shape == FL_ONE) {
		diff_value(d, step, f, a, b);
		return;
	}
	x = fl_seq_get(a);
	y = fl_seq_get(b);
	if (f->shape == FL_MAP)
		diff_map(d, step, f, x, y);
	else if (f->list_key)
		diff_list_map(d, step, f, x, y);
	else if (d->ours && f->list_set && same_set(f, x, y))
		return;
	if (d->paths->len == before && !(d->ours && f->list_key) && !fl_field_equal(f, a, b))
		differs(d, step);   /* an atomic list; or the same elements in another order */
}

static void diff_object(struct diff *d, const struct fl_step *up, const struct fl_bind *bind, const void *a,
			const void *b)
{
	struct fl_step step = { .up = up, .kind = FL_STEP_FIELD };

	for (uint64_t bits = fl_bits(a) | fl_bits(b); bits; bits &= bits - 1) {
		const struct fl_field *f = fl_first_row(bind, bits);
		bool in_a = fl_has(bind, a, f), in_b = fl_has(bind, b, f);

		if (d->nomem || (d->ours && (f->stamped || f->local)))
			continue;
		step.name = f->json;
		if (in_a != in_b)
			differs(d, &step);
		else if (in_a)
			diff_field(d, &step, f, fl_member(f, a), fl_member(f, b));
	}
}

static int diff(const struct fl_bind *bind, const void *a, const void *b, bool ours, struct fl_arena *arena,
		struct fl_str_list *ret_paths, struct fl_err *err)
{
	struct diff d = { .arena = arena, .paths = ret_paths, .ours = ours };

	*ret_paths = (struct fl_str_list){ NULL, 0 };
	diff_object(&d, NULL, bind, a, b);
	return d.nomem ? fl_fail(err, FL_E_NOMEM, "no memory to compare two objects of %s", bind->name) : 0;
}

int fl_diff(const struct fl_bind *bind, const void *a, const void *b, struct fl_arena *arena,
	    struct fl_str_list *ret_paths, struct fl_err *err)
{
	return diff(bind, a, b, false, arena, ret_paths, err);
}

int fl_diff_ours(const struct fl_bind *bind, const void *want, const void *have, struct fl_arena *arena,
		 struct fl_str_list *ret_paths, struct fl_err *err)
{
	return diff(bind, want, have, true, arena, ret_paths, err);
}
