#include "json/bind_in.h"

static void encode_text(const struct fl_field *f, const void *value, struct fl_jw *w)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_BIND_PATH);

	fl_value_print(f, value, &text);
	if (text.failed)
		w->buf->failed = text.failed;
	else
		fl_jw_str(w, fl_buf_view(&text));
}

static void encode_intstr(const struct fl_intstr *value, struct fl_jw *w)
{
	if (value->is_str)
		fl_jw_str(w, value->s);
	else
		fl_jw_i64(w, value->i);
}

void fl_value_encode(const struct fl_field *f, const void *value, struct fl_jw *w)
{
	switch (f->type) {
	case FL_T_STR: fl_jw_str(w, *(const struct fl_str *)value); break;
	case FL_T_BOOL: fl_jw_bool(w, *(const bool *)value); break;
	case FL_T_I32: fl_jw_i64(w, *(const int32_t *)value); break;
	case FL_T_I64: fl_jw_i64(w, *(const int64_t *)value); break;
	case FL_T_F64: fl_jw_double(w, *(const double *)value); break;
	case FL_T_TIME:
	case FL_T_MICROTIME:
	case FL_T_DURATION:
	case FL_T_QUANTITY:
	case FL_T_ENUM: encode_text(f, value, w); break;
	case FL_T_INTSTR: encode_intstr(value, w); break;
	case FL_T_RAW: fl_jw_raw(w, *(const struct fl_str *)value); break;
	case FL_T_OBJ: fl_encode(f->of(), value, w); break;
	case FL_T_COUNT_: break;
	}
}

void fl_field_encode(const struct fl_field *f, const void *member, struct fl_jw *w)
{
	struct fl_seq seq;

	if (f->shape == FL_ONE) {
		fl_value_encode(f, member, w);
		return;
	}
	seq = fl_seq_get(member);
	if (f->shape == FL_LIST)
		fl_jw_arr(w);
	else
		fl_jw_obj(w);
	for (uint32_t i = 0; i < seq.len; i++) {
		if (f->shape == FL_MAP)
			fl_jw_key(w, fl_elem_key(f, seq, i));
		fl_value_encode(f, fl_elem(f, seq, i), w);
	}
	if (f->shape == FL_LIST)
		fl_jw_end_arr(w);
	else
		fl_jw_end_obj(w);
}

void fl_members_encode(const struct fl_bind *bind, const void *object, struct fl_jw *w)
{
	for (uint64_t bits = fl_bits(object); bits; bits &= bits - 1) {
		const struct fl_field *f = fl_first_row(bind, bits);

		if (f->local)
			continue;
		fl_jw_key(w, f->json);
		fl_field_encode(f, fl_member(f, object), w);
	}
}

void fl_encode(const struct fl_bind *bind, const void *object, struct fl_jw *w)
{
	fl_jw_obj(w);
	fl_members_encode(bind, object, w);
	fl_jw_end_obj(w);
}
