#include "api/walk.h"
#include "json/bind_in.h"
#include "test.h"
#include <stdio.h>

int test_read(const struct fl_bind *bind, const char *json, unsigned flags, struct fl_arena *arena, void *ret,
	      struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	int r = fl_json_read(NULL, fl_str(json), 0, &doc, err);

	return r < 0 ? r : fl_decode(bind, yyjson_doc_get_root(doc), arena, flags & ~FL_DECODE_BORROW, ret, err);
}

int test_write(const struct fl_bind *bind, const void *object, struct fl_buf *buf, struct fl_err *err)
{
	struct fl_jw w = FL_JW(buf);

	fl_encode(bind, object, &w);
	return fl_buf_check(buf, "an object", err);
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(test_random() % n);
}

/* Texts that the packed form treats in different ways. */
static struct fl_str make_text(void)
{
	static const struct fl_str texts[] = {
		FL_S_INIT(""), FL_S_INIT("a"), FL_S_INIT("7"), FL_S_INIT("123"), FL_S_INIT("0123"),
		FL_S_INIT("18446744073709551615"), FL_S_INIT("18446744073709551616"), FL_S_INIT("gpu-node-17"),
		FL_S_INIT("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), FL_S_INIT("6BA7B810-9dad-11d1-80b4-00c04fd430c8"),
		FL_S_INIT("GPU-6ba7b810-9dad-11d1-80b4-00c04fd430c8"), FL_S_INIT("caf\xc3\xa9 \"quoted\" \\ \n"),
		FL_S_INIT("MIG-6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
			FL_S_INIT("XYZ-6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
		FL_S_INIT("a text that is longer than one byte can say, which takes two hundred and forty characters "
			  "and "
			  "some more, so here are some more: 0123456789 0123456789 0123456789 0123456789 0123456789 "
			  "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 and done"),
	};

	return texts[below(FL_LEN(texts))];
}

static struct fl_quantity make_quantity(void)
{
	static const struct fl_str texts[] = {
		FL_S_INIT("0"), FL_S_INIT("1"), FL_S_INIT("500m"), FL_S_INIT("128Mi"), FL_S_INIT("12e6"),
		FL_S_INIT("1000Ki"), FL_S_INIT("123456789"), FL_S_INIT("-3"), FL_S_INIT("1n"),
	};
	struct fl_quantity q = { 0 };
	int r = fl_quantity_parse(texts[below(FL_LEN(texts))], &q, NULL);

	(void)r;
	return q;
}

static int64_t make_number(const struct fl_field *f, int64_t least, int64_t most)
{
	static const int64_t ends[] = { 0, 1, -1, 63, 64, -65, 8191, 8192 };
	int64_t number = below(2) ? ends[below(FL_LEN(ends))] : (int64_t)test_random();

	least = f->between.set ? f->between.min : least;
	most = f->between.set ? f->between.max : most;
	if (number < least || number > most)
		number = least + (int64_t)(test_random() % ((uint64_t)most - (uint64_t)least + 1 ? (uint64_t)most -
					   (uint64_t)least + 1 : UINT64_MAX));
	return number;
}

static int make_value(const struct fl_field *f, struct fl_arena *arena, void *ret)
{
	struct fl_intstr *intstr = ret;
	int32_t small;

	switch (f->type) {
	case FL_T_STR: *(struct fl_str *)ret = make_text(); break;
	case FL_T_BOOL: *(bool *)ret = below(2); break;
	case FL_T_I32:
		small = (int32_t)make_number(f, INT32_MIN, INT32_MAX);
		memcpy(ret, &small, sizeof small);
		break;
	case FL_T_ENUM:
		small = (int32_t)below(f->names->len);
		memcpy(ret, &small, sizeof small);
		break;
	case FL_T_I64:
	case FL_T_DURATION: *(int64_t *)ret = make_number(f, INT64_MIN, INT64_MAX); break;
	case FL_T_F64: *(double *)ret = (double)below(8000) / 8; break;
	case FL_T_TIME: *(int64_t *)ret = ((int64_t)below(4000000) * 1000 - 1000000000) * 1000000; break;
	case FL_T_MICROTIME: *(int64_t *)ret = (int64_t)(test_random() % 4000000000000000) - 1000000000000000; break;
	case FL_T_QUANTITY:
		*(struct fl_quantity *)ret = make_quantity();
		break;
	case FL_T_INTSTR:
		*intstr = below(2) ? (struct fl_intstr){ .i = (int32_t)test_random() } :
				     (struct fl_intstr){ .is_str = true, .s = make_text() };
		break;
	case FL_T_RAW: *(struct fl_str *)ret = below(2) ? FL_S("{}") : FL_S("{\"a\":[1,null],\"b\":{\"c\":\"d\"}}"
									    ""); break;
	case FL_T_OBJ: return test_make(f->of(), arena, ret);
	case FL_T_COUNT_: break;
	}
	return 0;
}

/* Keys that come sorted by themselves. */
static struct fl_str make_key(const struct fl_field *f, struct fl_arena *arena, uint32_t i)
{
	if (f->keep && !fl_str_ends(fl_str(f->keep->at[0]), FL_S("/")))
		return fl_str(f->keep->at[0]);
	return fl_arena_printf(arena, "%skey-%u", f->keep ? f->keep->at[0] : "", i);
}

static void make_element_key(const struct fl_field *f, struct fl_str text, void *element)
{
	uint32_t at = 0;
	const struct fl_field *key = fl_key_next(f, &at);

	memcpy(fl_member(key, element), &text, sizeof text);
	fl_has_set(f->of(), element, key, true);
}

static int make_seq(const struct fl_field *f, struct fl_arena *arena, void *member)
{
	struct fl_seq seq = { NULL, f->keep ? 1 : below(4) };

	seq.at = fl_arena_get_n(arena, seq.len, fl_stride(f));
	if (!seq.at)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < seq.len; i++) {
		struct fl_str key = make_key(f, arena, i);
		int r = make_value(f, arena, fl_elem(f, seq, i));

		if (r < 0 || !key.p)
			return -FL_E_NOMEM;
		if (f->shape == FL_MAP)
			memcpy(seq.at + i * (size_t)fl_stride(f), &key, sizeof key);
		else if (f->list_key)
			make_element_key(f, key, fl_elem(f, seq, i));
	}
	fl_seq_set(member, seq);
	return 0;
}

int test_make(const struct fl_bind *bind, struct fl_arena *arena, void *ret)
{
	int r = 0;

	memset(ret, 0, bind->size);
	fl_each_field (f, bind) {
		if (f->local || below(2))
			continue;
		fl_has_set(bind, ret, f, true);
		r = f->shape == FL_ONE ? make_value(f, arena, fl_member(f, ret)) :
					 make_seq(f, arena, fl_member(f, ret));
		if (r < 0)
			return r;
	}
	fl_defaults(bind, ret);
	return 0;
}
