#include "json/bind_in.h"
#include <assert.h>
#include <inttypes.h>

FL_BIND(fl_fault, FL_FAULT)

const struct fl_field *fl_field_find(const struct fl_bind *bind, struct fl_str json)
{
	const uint8_t *at = bind->tags, *end = at + bind->len;
	int tag = FL_TAG(json.len, json.len ? (unsigned char)json.p[0] : 0);

	while ((at = memchr(at, tag, (size_t)(end - at)))) {
		const struct fl_field *f = &bind->fields[at++ - bind->tags];

		if (fl_str_eq(f->json, json) && !f->local)
			return f;
	}
	return NULL;
}

/* ---- one value ---- */

static int cmp_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int cmp_f64(double a, double b)
{
	return (a > b) - (a < b);
}

static int cmp_i32(const void *a, const void *b)
{
	int32_t x, y;

	memcpy(&x, a, sizeof x);   /* an enum too, whatever the compiler made of it */
	memcpy(&y, b, sizeof y);
	return cmp_i64(x, y);
}

static int cmp_str(const void *a, const void *b)
{
	return fl_str_cmp(*(const struct fl_str *)a, *(const struct fl_str *)b);
}

static int cmp_quantity(const struct fl_quantity *a, const struct fl_quantity *b)
{
	return fl_quantity_cmp(*a, *b);
}

static int cmp_intstr(const struct fl_intstr *a, const struct fl_intstr *b)
{
	if (a->is_str != b->is_str)
		return a->is_str ? 1 : -1;
	return a->is_str ? fl_str_cmp(a->s, b->s) : cmp_i64(a->i, b->i);
}

static int cmp_object(const struct fl_bind *bind, const void *a, const void *b);

static int cmp_member(const struct fl_field *f, const void *a, const void *b)
{
	struct fl_seq x, y;
	int order = 0;

	if (f->shape == FL_ONE)
		return fl_value_cmp(f, a, b);
	x = fl_seq_get(a);
	y = fl_seq_get(b);
	for (uint32_t i = 0; i < x.len && i < y.len && !order; i++) {
		if (f->shape == FL_MAP)
			order = fl_str_cmp(fl_elem_key(f, x, i), fl_elem_key(f, y, i));
		if (!order)
			order = fl_value_cmp(f, fl_elem(f, x, i), fl_elem(f, y, i));
	}
	return order ? order : cmp_i64(x.len, y.len);
}

static int cmp_object(const struct fl_bind *bind, const void *a, const void *b)
{
	int order = 0;

	if (fl_bits(a) != fl_bits(b))
		return fl_bits(a) < fl_bits(b) ? -1 : 1;
	for (uint64_t bits = fl_bits(a); bits && !order; bits &= bits - 1) {
		const struct fl_field *f = fl_first_row(bind, bits);

		order = cmp_member(f, fl_member(f, a), fl_member(f, b));
	}
	return order;
}

int fl_value_cmp(const struct fl_field *f, const void *a, const void *b)
{
	switch (f->type) {
	case FL_T_STR:
	case FL_T_RAW: return cmp_str(a, b);
	case FL_T_BOOL: return cmp_i64(*(const bool *)a, *(const bool *)b);
	case FL_T_I32:
	case FL_T_ENUM: return cmp_i32(a, b);
	case FL_T_I64:
	case FL_T_TIME:
	case FL_T_MICROTIME:
	case FL_T_DURATION: return cmp_i64(*(const int64_t *)a, *(const int64_t *)b);
	case FL_T_F64: return cmp_f64(*(const double *)a, *(const double *)b);
	case FL_T_QUANTITY: return cmp_quantity(a, b);
	case FL_T_INTSTR: return cmp_intstr(a, b);
	case FL_T_OBJ: return cmp_object(f->of(), a, b);
	case FL_T_COUNT_: break;
	}
	return 0;
}

bool fl_field_equal(const struct fl_field *f, const void *a, const void *b)
{
	return cmp_member(f, a, b) == 0;
}

bool fl_equal(const struct fl_bind *bind, const void *a, const void *b)
{
	return cmp_object(bind, a, b) == 0;
}

/* ---- defaults ---- */

static void set_default(const struct fl_field *f, void *value)
{
	int32_t small = (int32_t)f->def.number;

	if (f->def.text) {
		bool ok = fl_value_read(f, fl_str(f->def.text), value);

		assert(ok && "a default is a value of its type");
		(void)ok;
		return;
	}
	switch (f->type) {
	case FL_T_BOOL: *(bool *)value = f->def.number != 0; break;
	case FL_T_I32:
	case FL_T_ENUM: memcpy(value, &small, sizeof small); break;
	case FL_T_I64:
	case FL_T_DURATION: *(int64_t *)value = f->def.number; break;
	case FL_T_F64: *(double *)value = (double)f->def.number; break;
	case FL_T_INTSTR: ((struct fl_intstr *)value)->i = small; break;
	case FL_T_OBJ:
	case FL_T_STR:
	case FL_T_TIME:
	case FL_T_MICROTIME:
	case FL_T_QUANTITY:
	case FL_T_RAW:
	case FL_T_COUNT_: break;
	}
}

void fl_defaults(const struct fl_bind *bind, void *object)
{
	uint64_t absent = ~fl_bits(object);

	for (uint32_t i = 0; i < bind->len; i++) {
		const struct fl_field *f = &bind->fields[i];

		if (absent >> i & 1 && (f->type == FL_T_OBJ || f->def.set))
			fl_default(f, fl_member(f, object));
	}
}

void fl_default(const struct fl_field *f, void *member)
{
	if (f->shape == FL_ONE && f->type == FL_T_OBJ)
		fl_defaults(f->of(), member);
	else if (f->shape == FL_ONE && f->def.set)
		set_default(f, member);
}

/* ---- copies ---- */

static bool copy_text(struct fl_arena *arena, void *text)
{
	struct fl_str s;

	memcpy(&s, text, sizeof s);
	s = fl_arena_str(arena, s);
	memcpy(text, &s, sizeof s);
	return s.p != NULL;
}

static bool copy_object(struct fl_arena *arena, const struct fl_bind *bind, void *object);

/* `value` is a shallow copy; let it own what it points to. */
static bool copy_value(struct fl_arena *arena, const struct fl_field *f, void *value)
{
	struct fl_intstr *intstr = value;

	if (f->type == FL_T_STR || f->type == FL_T_RAW)
		return copy_text(arena, value);
	if (f->type == FL_T_INTSTR)
		return !intstr->is_str || copy_text(arena, &intstr->s);
	return f->type != FL_T_OBJ || copy_object(arena, f->of(), value);
}

static bool copy_seq(struct fl_arena *arena, const struct fl_field *f, void *member)
{
	struct fl_seq from = fl_seq_get(member), to = { fl_arena_get_n(arena, from.len, fl_stride(f)), from.len };
	bool ok = to.at != NULL;

	if (ok && from.len)
		memcpy(to.at, from.at, (size_t)from.len * fl_stride(f));
	for (uint32_t i = 0; ok && i < to.len; i++) {
		if (f->shape == FL_MAP)
			ok = copy_text(arena, to.at + (size_t)i * fl_stride(f));
		ok = ok && copy_value(arena, f, fl_elem(f, to, i));
	}
	if (ok)
		fl_seq_set(member, to);
	return ok;
}

static bool copy_object(struct fl_arena *arena, const struct fl_bind *bind, void *object)
{
	/* What is not there has a default: a literal, if it is a text. */
	for (uint64_t bits = fl_bits(object); bits; bits &= bits - 1) {
		const struct fl_field *f = fl_first_row(bind, bits);
		void *member = fl_member(f, object);

		if (!(f->shape == FL_ONE ? copy_value(arena, f, member) : copy_seq(arena, f, member)))
			return false;
	}
	return true;
}

int fl_copy(const struct fl_bind *bind, const void *object, struct fl_arena *arena, void *ret, struct fl_err *err)
{
	memcpy(ret, object, bind->size);
	if (!copy_object(arena, bind, ret))
		return fl_fail(err, FL_E_NOMEM, "no memory to copy an object of %s", bind->name);
	return 0;
}

/* ---- list-maps and sets ---- */

const struct fl_field *fl_key_next(const struct fl_field *list, uint32_t *at)
{
	struct fl_str rest = fl_str(list->list_key), key = { NULL, 0 };

	for (uint32_t i = 0; i <= *at; i++)
		if (!fl_str_split(&rest, ',', &key))
			return NULL;
	++*at;
	return fl_field_find(list->of(), key);
}

bool fl_keys_equal(const struct fl_field *list, const void *a, const void *b)
{
	const struct fl_field *key;
	uint32_t at = 0;

	while ((key = fl_key_next(list, &at)))
		if (fl_value_cmp(key, fl_member(key, a), fl_member(key, b)) != 0)
			return false;
	return true;
}

void fl_keys_print(const struct fl_field *list, const void *element, struct fl_buf *buf)
{
	const struct fl_field *key;
	uint32_t at = 0;

	while ((key = fl_key_next(list, &at))) {
		fl_buf_printf(buf, "%c%s=", at == 1 ? '[' : ',', key->json.p);
		fl_value_print(key, fl_member(key, element), buf);
	}
	fl_buf_char(buf, ']');
}

int64_t fl_elem_find(const struct fl_field *f, struct fl_seq in, const void *like)
{
	for (uint32_t i = 0; i < in.len; i++) {
		void *element = fl_elem(f, in, i);

		if (f->list_key ? fl_keys_equal(f, element, like) : fl_value_cmp(f, element, like) == 0)
			return i;
	}
	return -1;
}

/* ---- where a walker is ---- */

void fl_step_print(const struct fl_step *step, struct fl_buf *buf)
{
	if (!step)
		return;
	fl_step_print(step->up, buf);
	switch (step->kind) {
	case FL_STEP_FIELD:
		if (buf->len)
			fl_buf_char(buf, '.');
		fl_buf_str(buf, step->name);
		break;
	case FL_STEP_KEY: fl_buf_printf(buf, "[%.*s]", FL_ARG(step->name)); break;
	case FL_STEP_INDEX: fl_buf_printf(buf, "[%" PRIu32 "]", step->index); break;
	case FL_STEP_ELEMENT: fl_keys_print(step->list, step->element, buf); break;
	}
}

struct fl_str fl_step_path(const struct fl_step *step, struct fl_arena *arena)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_BIND_PATH);

	fl_step_print(step, &buf);
	if (buf.failed == FL_E_NOMEM)
		return (struct fl_str){ NULL, 0 };
	return fl_arena_str(arena, fl_buf_view(&buf));   /* one that is too long is cut: still a place to look at */
}

struct fl_str fl_text_cut(struct fl_str text, uint32_t max)
{
	if (text.len <= max)
		return text;
	while (max > 0 && ((unsigned char)text.p[max] & 0xc0) == 0x80)
		max--;
	return fl_str_sub(text, 0, max);
}

int fl_fault_add(struct fl_arena *arena, struct fl_fault_list *faults, const struct fl_step *step, struct fl_str found,
		 struct fl_str want)
{
	struct fl_fault *fault;

	if (faults->len == FL_FAULTS_MAX)
		return 0;
	if (!faults->at && !(faults->at = fl_arena_get_n(arena, FL_FAULTS_MAX, sizeof *faults->at)))
		return -FL_E_NOMEM;
	fault = &faults->at[faults->len];
	FL_SET(fault, path, fl_step_path(step, arena));
	FL_SET(fault, found, fl_arena_str(arena, found));
	FL_SET(fault, want, fl_arena_str(arena, want));
	if (!fault->path.p || !fault->found.p || !fault->want.p)
		return -FL_E_NOMEM;
	faults->len++;
	return 0;
}
