#include "base/units.h"
#include "json/bind_in.h"
#include "json/time.h"

struct decode {
	struct fl_arena *arena;
	unsigned flags;
	uint32_t depth;
	bool nomem;                     /* sticks; everything after it is skipped */
	struct fl_fault_list faults;
};

static bool decode_object(struct decode *d, const struct fl_step *up, const struct fl_bind *bind, yyjson_val *val,
			  void *object);

/* ---- what did not fit ---- */

/* A container by its name, a text cut: what a person needs to find it, not a copy of it. */
static void print_found(yyjson_val *val, struct fl_buf *buf)
{
	struct fl_jw w = FL_JW(buf);
	struct fl_str text;

	if (fl_json_str(val, &text))
		fl_jw_str(&w, fl_text_cut(text, FL_FAULT_FOUND));
	else if (yyjson_is_ctn(val))
		fl_buf_str(buf, fl_str(fl_json_kind(val)));
	else
		fl_jw_val(&w, val);
}

static void fault(struct decode *d, const struct fl_step *step, yyjson_val *found, struct fl_str want)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);

	print_found(found, &text);
	if (text.failed == FL_E_NOMEM ||
	    fl_fault_add(d->arena, &d->faults, step, fl_buf_view(&text), want) < 0)
		d->nomem = true;
}

static void wrong_type(struct decode *d, const struct fl_step *step, const struct fl_field *f, yyjson_val *found)
{
	FL_AUTO(fl_buf) struct fl_buf want = FL_BUF(FL_BIND_PATH);

	if (step->kind == FL_STEP_FIELD)
		fl_field_want(f, &want);
	else
		fl_value_want(f, &want);
	if (want.failed == FL_E_NOMEM)
		d->nomem = true;
	else
		fault(d, step, found, fl_buf_view(&want));
}

/* ---- maps in order ---- */

static void swap(char *a, char *b, size_t len)
{
	char held[64];

	for (size_t n; len; len -= n, a += n, b += n) {
		n = len < sizeof held ? len : sizeof held;
		memcpy(held, a, n);
		memcpy(a, b, n);
		memcpy(b, held, n);
	}
}

/* By key; of equal keys the later one in the document is the greater, for keys still point into it. */
static bool before(const char *a, const char *b)
{
	struct fl_str x, y;
	int order;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	order = fl_str_cmp(x, y);
	return order ? order < 0 : x.p < y.p;
}

static void sift(char *at, uint32_t from, uint32_t len, size_t stride)
{
	for (uint32_t child; (child = 2 * from + 1) < len; from = child) {
		if (child + 1 < len && before(at + child * stride, at + (child + 1) * stride))
			child++;
		if (!before(at + from * stride, at + child * stride))
			return;
		swap(at + from * stride, at + child * stride, stride);
	}
}

/* A heap sort: in place, and nobody outside can make it slow. What comes sorted, as from Go, is only looked at. */
static void sort_by_key(char *at, uint32_t len, size_t stride)
{
	uint32_t i = 1;

	while (i < len && before(at + (i - 1) * stride, at + i * stride))
		i++;
	if (i >= len)
		return;
	for (i = len / 2; i-- > 0;)
		sift(at, i, len, stride);
	for (i = len; i-- > 1;) {
		swap(at, at + i * stride, stride);
		sift(at, 0, i, stride);
	}
}

/* Sorted; of a repeated key the last, as Go does. The number that is left. */
static uint32_t settle_keys(char *at, uint32_t len, size_t stride)
{
	uint32_t kept = 0;
	struct fl_str key, next;

	sort_by_key(at, len, stride);
	for (uint32_t i = 0; i < len; i++) {
		memcpy(&key, at + i * stride, sizeof key);
		if (i + 1 < len) {
			memcpy(&next, at + (i + 1) * stride, sizeof next);
			if (fl_str_eq(key, next))
				continue;
		}
		if (kept != i)
			memcpy(at + kept * stride, at + i * stride, stride);
		kept++;
	}
	return kept;
}

/* ---- RAW: compact, keys sorted, so that two that mean the same are the same text ---- */

struct raw_member {
	struct fl_str key;
	yyjson_val *val;
};

static void write_sorted(struct decode *d, yyjson_val *val, struct fl_jw *w)
{
	struct raw_member *members;
	yyjson_val *key, *item;
	uint32_t len = 0;
	size_t i, n;

	if (yyjson_is_arr(val)) {
		fl_jw_arr(w);
		yyjson_arr_foreach (val, i, n, item)
			write_sorted(d, item, w);
		fl_jw_end_arr(w);
	} else if (yyjson_is_obj(val)) {
		members = fl_arena_get_n(d->arena, yyjson_obj_size(val), sizeof *members);
		if (!members) {
			d->nomem = true;
			return;
		}
		yyjson_obj_foreach (val, i, n, key, item) {
			(void)fl_json_str(key, &members[len].key);
			members[len++].val = item;
		}
		len = settle_keys((char *)members, len, sizeof *members);
		fl_jw_obj(w);
		for (uint32_t m = 0; m < len; m++) {
			fl_jw_key(w, members[m].key);
			write_sorted(d, members[m].val, w);
		}
		fl_jw_end_obj(w);
	} else {
		fl_jw_val(w, val);
	}
}

static bool decode_raw(struct decode *d, yyjson_val *val, struct fl_raw *ret)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_JSON_ITEM_MAX);
	struct fl_jw w = FL_JW(&text);

	if (!yyjson_is_obj(val))
		return false;
	write_sorted(d, val, &w);
	if (text.failed == FL_E_TOOBIG)
		return false;
	if (!text.failed)
		ret->json = fl_arena_str(d->arena, fl_buf_view(&text));
	if (!ret->json.p)
		d->nomem = true;
	return true;
}

/* ---- values ---- */

static struct fl_str keep_text(struct decode *d, struct fl_str text)
{
	if (d->flags & FL_DECODE_BORROW)
		return text;
	text = fl_arena_str(d->arena, text);
	if (!text.p)
		d->nomem = true;
	return text;
}

static bool decode_i32(yyjson_val *val, int32_t *ret)
{
	int64_t number;

	if (!fl_json_i64(val, &number) || number < INT32_MIN || number > INT32_MAX)
		return false;
	*ret = (int32_t)number;
	return true;
}

static bool decode_intstr(struct decode *d, yyjson_val *val, struct fl_intstr *ret)
{
	ret->is_str = fl_json_str(val, &ret->s);
	if (!ret->is_str)
		return decode_i32(val, &ret->i);
	ret->s = keep_text(d, ret->s);
	return true;
}

static bool decode_value(struct decode *d, const struct fl_step *step, const struct fl_field *f, yyjson_val *val,
			 void *ret)
{
	struct fl_str text = { NULL, 0 };
	bool is_text = fl_json_str(val, &text);

	switch (f->type) {
	case FL_T_STR:
		*(struct fl_str *)ret = is_text ? keep_text(d, text) : text;
		return is_text;
	case FL_T_BOOL:
		*(bool *)ret = yyjson_get_bool(val);
		return yyjson_is_bool(val);
	case FL_T_I32: return decode_i32(val, ret);
	case FL_T_I64: return fl_json_i64(val, ret);
	case FL_T_F64:
		*(double *)ret = yyjson_get_num(val);
		return yyjson_is_num(val);
	case FL_T_TIME:
	case FL_T_MICROTIME:
	case FL_T_DURATION:
	case FL_T_ENUM: return is_text && fl_value_read(f, text, ret);
	case FL_T_QUANTITY: return fl_quantity_of_json(val, ret, NULL) >= 0;
	case FL_T_INTSTR: return decode_intstr(d, val, ret);
	case FL_T_RAW: return decode_raw(d, val, ret);
	case FL_T_OBJ: return decode_object(d, step, f->of(), val, ret);
	case FL_T_COUNT_: break;
	}
	return false;
}

/* An element that cannot be bound is left out, and its value's memory left as if it had never been tried. */
static bool decode_element(struct decode *d, const struct fl_step *step, const struct fl_field *f, yyjson_val *val,
			   void *ret)
{
	if (!d->nomem && decode_value(d, step, f, val, ret))
		return true;
	memset(ret, 0, f->size);
	if (!d->nomem)
		wrong_type(d, step, f, val);
	return false;
}

static bool wanted_key(const struct fl_field *f, struct fl_str key)
{
	if (!f->keep)
		return true;
	for (uint32_t i = 0; i < f->keep->len; i++) {
		struct fl_str keep = fl_str(f->keep->at[i]);

		if (fl_str_ends(keep, FL_S("/")) ? fl_str_starts(key, keep) : fl_str_eq(key, keep))
			return true;
	}
	return false;
}

/* Of a list-map the row may name the keys to keep; further keys of an element do not count. */
static bool wanted_element(const struct fl_field *f, yyjson_val *item)
{
	uint32_t at = 0;
	struct fl_str key;

	if (!f->keep || !f->list_key)
		return true;
	return fl_json_str(fl_json_get(item, fl_key_next(f, &at)->json), &key) && wanted_key(f, key);
}

static bool decode_list(struct decode *d, const struct fl_step *up, const struct fl_field *f, yyjson_val *val,
			struct fl_seq *ret)
{
	struct fl_step step = { .up = up, .kind = FL_STEP_INDEX };
	yyjson_val *item;
	size_t i, n;

	if (!yyjson_is_arr(val))
		return false;
	ret->at = fl_arena_get_n(d->arena, yyjson_arr_size(val), fl_stride(f));
	if (!ret->at) {
		d->nomem = true;
		return false;
	}
	yyjson_arr_foreach (val, i, n, item) {
		if (!wanted_element(f, item))
			continue;
		step.index = (uint32_t)i;
		ret->len += decode_element(d, &step, f, item, fl_elem(f, *ret, ret->len));
	}
	return true;
}

static bool decode_map(struct decode *d, const struct fl_step *up, const struct fl_field *f, yyjson_val *val,
		       struct fl_seq *ret)
{
	struct fl_step step = { .up = up, .kind = FL_STEP_KEY };
	size_t i, n, room = 0;
	yyjson_val *key, *item;

	if (!yyjson_is_obj(val))
		return false;
	yyjson_obj_foreach (val, i, n, key, item)
		if (fl_json_str(key, &step.name))
			room += wanted_key(f, step.name);
	ret->at = fl_arena_get_n(d->arena, room, fl_stride(f));
	if (!ret->at) {
		d->nomem = true;
		return false;
	}
	yyjson_obj_foreach (val, i, n, key, item) {
		if (!fl_json_str(key, &step.name) || !wanted_key(f, step.name) || yyjson_is_null(item))
			continue;
		memcpy(ret->at + ret->len * (size_t)fl_stride(f), &step.name, sizeof step.name);
		ret->len += decode_element(d, &step, f, item, fl_elem(f, *ret, ret->len));
	}
	ret->len = settle_keys(ret->at, ret->len, fl_stride(f));
	for (uint32_t e = 0; e < ret->len && !d->nomem; e++) {
		struct fl_str kept = keep_text(d, fl_elem_key(f, *ret, e));

		memcpy(ret->at + e * (size_t)fl_stride(f), &kept, sizeof kept);
	}
	return true;
}

/* Go's zero time, which some clients write for "never". */
static bool is_no_time(const struct fl_field *f, const void *member)
{
	return f->shape == FL_ONE && (f->type == FL_T_TIME || f->type == FL_T_MICROTIME) &&
	       *(const int64_t *)member == FL_TIME_NONE;
}

static void decode_field(struct decode *d, const struct fl_step *step, const struct fl_bind *bind,
			 const struct fl_field *f, yyjson_val *val, void *object)
{
	void *member = fl_member(f, object);
	struct fl_seq seq = { NULL, 0 };
	bool bound;

	if (fl_has(bind, object, f))
		memset(member, 0, fl_member_size(f));   /* named twice: the last one counts, whole */
	fl_has_set(bind, object, f, false);
	if (yyjson_is_null(val))
		return;
	if (f->shape == FL_ONE) {
		bound = decode_value(d, step, f, val, member);
	} else {
		bound = f->shape == FL_LIST ? decode_list(d, step, f, val, &seq) : decode_map(d, step, f, val, &seq);
		if (bound)
			fl_seq_set(member, seq);
	}
	if (d->nomem)
		return;
	fl_has_set(bind, object, f, bound && !is_no_time(f, member) && !(f->keep && !seq.len));
	if (fl_has(bind, object, f))
		return;
	memset(member, 0, fl_member_size(f));
	if (!bound)
		wrong_type(d, step, f, val);
}

/* ---- objects ---- */

/* Fewest insertions, deletions and replacements from one to the other; only for short names. */
static uint32_t distance(struct fl_str a, struct fl_str b)
{
	uint32_t row[FL_NAME_NEAR + 1], diagonal, above;

	if (a.len > FL_NAME_NEAR || b.len > FL_NAME_NEAR)
		return UINT32_MAX;
	for (uint32_t j = 0; j <= b.len; j++)
		row[j] = j;
	for (uint32_t i = 1; i <= a.len; i++) {
		diagonal = row[0];
		row[0] = i;
		for (uint32_t j = 1; j <= b.len; j++) {
			above = row[j];
			if ((a.p[i - 1] | 0x20) != (b.p[j - 1] | 0x20))   /* case is the most common slip */
				diagonal = (diagonal < above ? diagonal : above) < row[j - 1] ?
					(diagonal < above ? diagonal : above) + 1 : row[j - 1] + 1;
			row[j] = diagonal;
			diagonal = above;
		}
	}
	return row[b.len];
}

static void unknown(struct decode *d, const struct fl_step *step, const struct fl_bind *bind, yyjson_val *val)
{
	FL_AUTO(fl_buf) struct fl_buf want = FL_BUF(FL_BIND_PATH);
	const struct fl_field *nearest = NULL;
	uint32_t best = step->name.len / 3 + 1, far;

	fl_each_field (f, bind) {
		far = f->local ? UINT32_MAX : distance(step->name, f->json);
		if (far <= best) {
			best = far;
			nearest = f;
		}
	}
	fl_buf_str(&want, FL_S("no such field"));
	if (nearest)
		fl_buf_printf(&want, "; did you mean '%s'?", nearest->json.p);
	if (want.failed)
		d->nomem = true;
	else
		fault(d, step, val, fl_buf_view(&want));
}

/* The row of that name. Those of an object mostly come in the order of the table. */
static const struct fl_field *row_of(const struct fl_bind *bind, struct fl_str name, uint32_t *next)
{
	const struct fl_field *f = &bind->fields[*next];

	if (*next == bind->len || !fl_str_eq(f->json, name) || f->local)
		f = fl_field_find(bind, name);
	if (f)
		*next = (uint32_t)(f - bind->fields) + 1;
	return f;
}

static bool decode_object(struct decode *d, const struct fl_step *up, const struct fl_bind *bind, yyjson_val *val,
			  void *object)
{
	struct fl_step step = { .up = up, .kind = FL_STEP_FIELD };
	const struct fl_field *f;
	yyjson_val *key, *item;
	uint32_t next = 0;
	size_t i, n;

	if (!yyjson_is_obj(val) || d->depth == FL_BIND_DEPTH)
		return false;
	d->depth++;
	yyjson_obj_foreach (val, i, n, key, item) {
		if (!fl_json_str(key, &step.name))
			continue;
		f = row_of(bind, step.name, &next);
		if (f)
			decode_field(d, &step, bind, f, item, object);
		else if (d->flags & FL_DECODE_STRICT &&
			 (up || (!fl_str_eq(step.name, FL_S("apiVersion")) && !fl_str_eq(step.name, FL_S("kind")))))
			unknown(d, &step, bind, item);
		if (d->nomem)
			break;
	}
	d->depth--;
	fl_defaults(bind, object);
	return true;
}

/* The faults of the root go into its own row for them, if it has one. */
static void keep_faults(const struct decode *d, const struct fl_bind *bind, void *object)
{
	struct fl_seq seq = { (char *)d->faults.at, d->faults.len };

	fl_each_field (f, bind) {
		if (d->faults.len && f->local && f->type == FL_T_OBJ && f->of == fl_fault_bind) {
			fl_seq_set(fl_member(f, object), seq);
			fl_has_set(bind, object, f, true);
		}
	}
}

int fl_decode(const struct fl_bind *bind, yyjson_val *json, struct fl_arena *arena, unsigned flags, void *ret_object,
	      struct fl_err *err)
{
	struct decode d = { .arena = arena, .flags = flags };
	const struct fl_fault *first;

	memset(ret_object, 0, bind->size);
	if (!decode_object(&d, NULL, bind, json, ret_object))
		return fl_fail(err, FL_E_INVALID, "%s where an object belongs", fl_json_kind(json));
	if (d.nomem)
		return fl_fail(err, FL_E_NOMEM, "no memory to read an object of %s", bind->name);
	keep_faults(&d, bind, ret_object);
	if (!(flags & FL_DECODE_STRICT) || !d.faults.len)
		return 0;
	first = d.faults.at;
	if (fl_str_starts(first->want, FL_S("no such field")))
		return fl_fail(err, FL_E_INVALID, "%.*s: %.*s", FL_ARG(first->path), FL_ARG(first->want));
	return fl_fail(err, FL_E_INVALID, "%.*s is %.*s where %.*s belongs", FL_ARG(first->path), FL_ARG(first->found),
		       FL_ARG(first->want));
}
