#include "json/bind_pack.h"
#include "json/bind_in.h"
#include "json/time.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* The first byte of a text is its length, or one of these. */
enum { TEXT_SHORT_MAX = 240, TEXT_LONG, TEXT_INTERNED, TEXT_NUMBER, TEXT_UUID, TEXT_GPU_UUID, TEXT_MIG_UUID };
enum { UUID_TEXT = 36, UUID_PREFIX = 4, NUMBER_TEXT = 20 };

/* ---- writing ---- */

struct pack {
	struct fl_buf *out;
	struct fl_interns *interns;
};

static void put_varint(struct fl_buf *out, uint64_t value)
{
	char bytes[10];
	uint32_t len = 0;

	if (value < 0x80) {
		fl_buf_char(out, (char)value);
		return;
	}
	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (char)(value | 0x80);
	bytes[len++] = (char)value;
	fl_buf_put(out, bytes, len);
}

/* Small numbers of either sign are short. */
static void put_signed(struct fl_buf *out, int64_t value)
{
	put_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* Where each byte's two digits stand in the text of a UUID, and where its dashes do. */
static const uint8_t uuid_digits[16] = { 0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34 };
static const uint8_t uuid_dashes[4] = { 8, 13, 18, 23 };

/* The value of a digit plus one; 0: it is none. */
static const uint8_t hex_values[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10,
	['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* Only the form that printing gives back. */
static bool read_uuid(const char *text, uint8_t ret[16])
{
	for (uint32_t i = 0; i < sizeof uuid_dashes; i++)
		if (text[uuid_dashes[i]] != '-')
			return false;
	for (uint32_t i = 0; i < sizeof uuid_digits; i++) {
		unsigned high = hex_values[(uint8_t)text[uuid_digits[i]]];
		unsigned low = hex_values[(uint8_t)text[uuid_digits[i] + 1]];

		if (!high || !low)
			return false;
		ret[i] = (uint8_t)((high - 1) << 4 | (low - 1));
	}
	return true;
}

static bool put_uuid(struct fl_buf *out, struct fl_str s)
{
	uint8_t bytes[17];
	uint32_t prefix = s.len == UUID_TEXT ? 0 : UUID_PREFIX;

	if (s.len != UUID_TEXT + prefix || !read_uuid(s.p + prefix, bytes + 1))
		return false;
	bytes[0] = !prefix ? TEXT_UUID : fl_str_starts(s, FL_S("GPU-")) ? TEXT_GPU_UUID : TEXT_MIG_UUID;
	if (bytes[0] == TEXT_MIG_UUID && !fl_str_starts(s, FL_S("MIG-")))
		return false;
	fl_buf_put(out, bytes, sizeof bytes);
	return true;
}

static bool put_number(struct fl_buf *out, struct fl_str s)
{
	uint64_t number;

	if (s.len < 3 || s.p[0] < '1' || s.p[0] > '9' || !fl_str_u64(s, &number))
		return false;
	fl_buf_char(out, (char)TEXT_NUMBER);
	put_varint(out, number);
	return true;
}

static void put_text(struct fl_buf *out, struct fl_str s)
{
	if (put_number(out, s) || put_uuid(out, s))
		return;
	fl_buf_char(out, (char)(s.len <= TEXT_SHORT_MAX ? s.len : TEXT_LONG));
	if (s.len > TEXT_SHORT_MAX)
		put_varint(out, s.len);
	fl_buf_str(out, s);
}

/* A handle is an address; those of a process have 48 bits. */
enum { HANDLE = 6 };
_Static_assert(sizeof(void *) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "handles are cut and put together");

static void put_interned(struct pack *p, struct fl_str s)
{
	char bytes[1 + sizeof(void *)] = { (char)TEXT_INTERNED };
	const struct fl_istr *handle;

	if (p->out->failed)
		return;
	handle = fl_intern(p->interns, s);
	if (!handle) {
		p->out->failed = FL_E_NOMEM;
		return;
	}
	assert((uintptr_t)handle >> 8 * HANDLE == 0);
	memcpy(bytes + 1, &handle, sizeof handle);
	fl_buf_put(p->out, bytes, 1 + HANDLE);
	if (p->out->failed)
		fl_intern_drop(p->interns, handle);   /* fl_pack_drop would not find it */
}

static void put_str(struct pack *p, const struct fl_field *f, struct fl_str s)
{
	if (f->interned && p->interns)
		put_interned(p, s);
	else
		put_text(p->out, s);
}

/* A moment is mostly a whole second; the lowest bit says when it is not. */
static void put_time(struct fl_buf *out, int64_t us)
{
	if (us == FL_TIME_NONE)
		put_signed(out, 1);
	else if (us % 1000000 == 0)
		put_signed(out, us / 1000000 * 2);
	else
		put_signed(out, (int64_t)((uint64_t)us << 1) | 1);
}

static void put_quantity(struct fl_buf *out, const struct fl_quantity *q)
{
	char text[FL_QUANTITY_TEXT];
	struct fl_str s = { text, fl_quantity_print(*q, text) };

	fl_buf_char(out, (char)q->format);   /* 1000 prints alike in every format, and not so what is added to it */
	put_text(out, s);
}

static void put_object(struct pack *p, const struct fl_bind *bind, const void *object);

static void put_value(struct pack *p, const struct fl_field *f, const void *value)
{
	const struct fl_intstr *intstr = value;
	int32_t small;

	switch (f->type) {
	case FL_T_STR: put_str(p, f, *(const struct fl_str *)value); break;
	case FL_T_RAW: put_text(p->out, *(const struct fl_str *)value); break;
	case FL_T_BOOL: fl_buf_char(p->out, *(const bool *)value); break;
	case FL_T_I32:
	case FL_T_ENUM:
		memcpy(&small, value, sizeof small);
		put_signed(p->out, small);
		break;
	case FL_T_TIME:
	case FL_T_MICROTIME: put_time(p->out, *(const int64_t *)value); break;
	case FL_T_I64:
	case FL_T_DURATION: put_signed(p->out, *(const int64_t *)value); break;
	case FL_T_F64: fl_buf_put(p->out, value, sizeof(double)); break;
	case FL_T_QUANTITY: put_quantity(p->out, value); break;
	case FL_T_INTSTR:
		fl_buf_char(p->out, intstr->is_str);
		if (intstr->is_str)
			put_text(p->out, intstr->s);
		else
			put_signed(p->out, intstr->i);
		break;
	case FL_T_OBJ: put_object(p, f->of(), value); break;
	case FL_T_COUNT_: break;
	}
}

/* Keys that the row names itself are a number: 0 is any other. */
static void put_key(struct pack *p, const struct fl_field *f, struct fl_str key)
{
	if (f->keep) {
		int known = fl_name_find(f->keep, key);

		put_varint(p->out, (uint64_t)(known + 1));
		if (known >= 0)
			return;
	}
	put_str(p, f, key);
}

static void put_object(struct pack *p, const struct fl_bind *bind, const void *object)
{
	put_varint(p->out, fl_bits(object));
	for (uint64_t bits = fl_bits(object); bits; bits &= bits - 1) {
		const struct fl_field *f = fl_first_row(bind, bits);
		const void *member = fl_member(f, object);
		struct fl_seq seq;

		if (f->shape == FL_ONE) {
			put_value(p, f, member);
			continue;
		}
		seq = fl_seq_get(member);
		put_varint(p->out, seq.len);
		for (uint32_t i = 0; i < seq.len; i++) {
			if (f->shape == FL_MAP)
				put_key(p, f, fl_elem_key(f, seq, i));
			put_value(p, f, fl_elem(f, seq, i));
		}
	}
}

/* ---- reading ---- */

struct unpack {
	const char *p, *end;
	struct fl_interns *drop;       /* let go of what is held from here */
	struct fl_arena *arena;
	char *room;                    /* one short text goes here instead; UUID_TEXT + UUID_PREFIX + 1 bytes */
	bool bad, nomem;               /* stick */
	bool blank;                    /* what is filled has its defaults already */
	uint32_t depth;
};

static struct fl_str get_bytes(struct unpack *u, uint64_t len)
{
	struct fl_str s = { u->p, (uint32_t)len };

	if (u->bad || len > (uint64_t)(u->end - u->p)) {
		u->bad = true;
		return (struct fl_str){ NULL, 0 };
	}
	u->p += len;
	return s;
}

static uint8_t get_byte(struct unpack *u)
{
	if (u->bad || u->p == u->end) {
		u->bad = true;
		return 0;
	}
	return (uint8_t)*u->p++;
}

static uint64_t get_varint(struct unpack *u)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; shift < 64; shift += 7) {
		uint8_t byte = get_byte(u);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	u->bad = true;
	return 0;
}

static int64_t get_signed(struct unpack *u)
{
	uint64_t value = get_varint(u);

	return (int64_t)(value >> 1 ^ (~(value & 1) + 1));
}

static char *get_room(struct unpack *u, size_t size)
{
	char *room = u->room ? u->room : u->arena ? fl_arena_get(u->arena, size) : NULL;

	if (!room)
		u->nomem = true;
	return room;
}

static struct fl_str get_uuid(struct unpack *u, const char *prefix)
{
	static const char digits[] = "0123456789abcdef";
	struct fl_str bytes = get_bytes(u, 16), text = { NULL, 0 };
	char *at;

	if (u->bad || !(at = get_room(u, UUID_TEXT + UUID_PREFIX + 1)))
		return text;
	text = (struct fl_str){ at, (uint32_t)strlen(prefix) + UUID_TEXT };
	memcpy(at, prefix, strlen(prefix));
	at += strlen(prefix);
	for (uint32_t i = 0; i < sizeof uuid_dashes; i++)
		at[uuid_dashes[i]] = '-';
	for (uint32_t i = 0; i < sizeof uuid_digits; i++) {
		at[uuid_digits[i]] = digits[(uint8_t)bytes.p[i] >> 4];
		at[uuid_digits[i] + 1] = digits[bytes.p[i] & 15];
	}
	return text;
}

static struct fl_str get_number(struct unpack *u)
{
	uint64_t number = get_varint(u);
	struct fl_buf text = { .cap = NUMBER_TEXT + 1, .max = NUMBER_TEXT };

	if (u->bad || !(text.p = get_room(u, NUMBER_TEXT + 1)))
		return (struct fl_str){ NULL, 0 };
	fl_buf_uint(&text, number);
	return fl_buf_view(&text);
}

static struct fl_str get_interned(struct unpack *u)
{
	struct fl_str bytes = get_bytes(u, HANDLE);
	const struct fl_istr *handle = NULL;
	struct fl_str text;

	if (u->bad)
		return bytes;
	memcpy((void *)&handle, bytes.p, HANDLE);
	text = fl_istr(handle);
	if (u->drop)
		fl_intern_drop(u->drop, handle);
	return text;
}

static int64_t get_time(struct unpack *u)
{
	int64_t value = get_signed(u), us;

	if (value == 1)
		return FL_TIME_NONE;
	if (value & 1)
		return value >> 1;
	if (__builtin_mul_overflow(value / 2, (int64_t)1000000, &us))
		u->bad = true;
	return u->bad ? 0 : us;
}

static struct fl_str get_text(struct unpack *u)
{
	uint8_t first = get_byte(u);

	if (first <= TEXT_SHORT_MAX)
		return get_bytes(u, first);
	switch (first) {
	case TEXT_LONG: return get_bytes(u, get_varint(u));
	case TEXT_INTERNED: return get_interned(u);
	case TEXT_NUMBER: return get_number(u);
	case TEXT_UUID: return get_uuid(u, "");
	case TEXT_GPU_UUID: return get_uuid(u, "GPU-");
	case TEXT_MIG_UUID: return get_uuid(u, "MIG-");
	}
	u->bad = true;
	return (struct fl_str){ NULL, 0 };
}

static void get_quantity(struct unpack *u, struct fl_quantity *ret)
{
	uint8_t format = get_byte(u);
	char digits[NUMBER_TEXT + 1];
	struct fl_buf number = FL_BUF_IN(digits);
	struct fl_str text;

	if (u->p < u->end && (uint8_t)*u->p == TEXT_NUMBER) {
		get_byte(u);
		fl_buf_uint(&number, get_varint(u));
		text = fl_buf_view(&number);
	} else {
		text = get_text(u);
	}
	if (u->bad)
		return;
	if (format >= FL_QUANTITY_FORMAT_COUNT_ || fl_quantity_parse(text, ret, NULL) < 0)
		u->bad = true;
	ret->format = format;
}

static void get_intstr(struct unpack *u, struct fl_intstr *ret)
{
	*ret = (struct fl_intstr){ .is_str = get_byte(u) != 0 };
	if (ret->is_str)
		ret->s = get_text(u);
	else
		ret->i = (int32_t)get_signed(u);
}

static void get_object(struct unpack *u, const struct fl_bind *bind, void *ret);

static void get_value(struct unpack *u, const struct fl_field *f, void *ret)
{
	struct fl_str text;
	int64_t number;
	int32_t small;

	switch (f->type) {
	case FL_T_STR:
	case FL_T_RAW:
		text = get_text(u);
		memcpy(ret, &text, sizeof text);
		break;
	case FL_T_BOOL: *(bool *)ret = get_byte(u) != 0; break;
	case FL_T_I32:
	case FL_T_ENUM:
		small = (int32_t)get_signed(u);
		memcpy(ret, &small, sizeof small);
		break;
	case FL_T_I64:
	case FL_T_TIME:
	case FL_T_MICROTIME:
	case FL_T_DURATION:
		number = f->type == FL_T_TIME || f->type == FL_T_MICROTIME ? get_time(u) : get_signed(u);
		memcpy(ret, &number, sizeof number);
		break;
	case FL_T_F64:
		text = get_bytes(u, sizeof(double));
		if (!u->bad)
			memcpy(ret, text.p, sizeof(double));
		break;
	case FL_T_QUANTITY: get_quantity(u, ret); break;
	case FL_T_INTSTR: get_intstr(u, ret); break;
	case FL_T_OBJ: get_object(u, f->of(), ret); break;
	case FL_T_COUNT_: break;
	}
}

/* The number of a key that the row names itself; 0: any other, which follows. */
static uint64_t get_known(struct unpack *u, const struct fl_field *f)
{
	uint64_t known = f->keep ? get_varint(u) : 0;

	if (known > (f->keep ? f->keep->len : 0))
		u->bad = true;
	return u->bad ? 0 : known;
}

static void get_key(struct unpack *u, const struct fl_field *f, void *ret)
{
	uint64_t known = get_known(u, f);
	struct fl_str key = known ? fl_str(f->keep->at[known - 1]) : get_text(u);

	memcpy(ret, &key, sizeof key);
}

/* How many elements a list or map has. */
static uint64_t get_len(struct unpack *u)
{
	uint64_t len = get_varint(u);

	if (len > (uint64_t)(u->end - u->p))   /* an element takes a byte at least */
		u->bad = true;
	return u->bad ? 0 : len;
}

static void get_elements(struct unpack *u, const struct fl_field *f, void *ret)
{
	uint64_t len = get_len(u);
	struct fl_seq seq = { NULL, 0 };
	bool blank = u->blank;

	if (u->bad || !(seq.at = get_room(u, (size_t)len * fl_stride(f))))
		return;
	u->blank = false;
	for (; seq.len < len && !u->bad && !u->nomem; seq.len++) {
		if (f->shape == FL_MAP)
			get_key(u, f, seq.at + seq.len * (size_t)fl_stride(f));
		get_value(u, f, fl_elem(f, seq, seq.len));
	}
	u->blank = blank;
	fl_seq_set(ret, seq);
}

static void get_member(struct unpack *u, const struct fl_field *f, void *ret)
{
	if (f->shape == FL_ONE)
		get_value(u, f, ret);
	else
		get_elements(u, f, ret);
}

static uint64_t get_bits(struct unpack *u, const struct fl_bind *bind)
{
	uint64_t bits = get_varint(u);

	if (bind->len < 64 && bits >> bind->len)
		u->bad = true;
	return u->bad ? 0 : bits;
}

static void get_object(struct unpack *u, const struct fl_bind *bind, void *ret)
{
	uint64_t bits = get_bits(u, bind);

	if (u->depth == FL_BIND_DEPTH)
		u->bad = true;
	u->depth++;
	memcpy(ret, &bits, sizeof bits);
	for (; bits && !u->bad && !u->nomem; bits &= bits - 1) {
		const struct fl_field *f = fl_first_row(bind, bits);

		get_member(u, f, fl_member(f, ret));
	}
	u->depth--;
	if (!u->blank)
		fl_defaults(bind, ret);
}

/* ---- passing over ----
 *
 * Nothing is made of what is there; what is held is let go of, if that is wanted. */

static void skip_varint(struct unpack *u)
{
	while (get_byte(u) & 0x80)
		continue;
}

static void skip_text(struct unpack *u)
{
	uint8_t first = get_byte(u);

	if (first <= TEXT_SHORT_MAX)
		(void)get_bytes(u, first);
	else if (first == TEXT_LONG)
		(void)get_bytes(u, get_varint(u));
	else if (first == TEXT_INTERNED)
		(void)get_interned(u);
	else if (first == TEXT_NUMBER)
		skip_varint(u);
	else if (first <= TEXT_MIG_UUID)
		(void)get_bytes(u, 16);
	else
		u->bad = true;
}

static void skip_object(struct unpack *u, const struct fl_bind *bind);

static void skip_value(struct unpack *u, const struct fl_field *f)
{
	switch (f->type) {
	case FL_T_STR:
	case FL_T_RAW: skip_text(u); break;
	case FL_T_BOOL: (void)get_byte(u); break;
	case FL_T_I32:
	case FL_T_ENUM:
	case FL_T_I64:
	case FL_T_TIME:
	case FL_T_MICROTIME:
	case FL_T_DURATION: skip_varint(u); break;
	case FL_T_F64: (void)get_bytes(u, sizeof(double)); break;
	case FL_T_QUANTITY:
		(void)get_byte(u);
		skip_text(u);
		break;
	case FL_T_INTSTR:
		if (get_byte(u))
			skip_text(u);
		else
			skip_varint(u);
		break;
	case FL_T_OBJ: skip_object(u, f->of()); break;
	case FL_T_COUNT_: break;
	}
}

static void skip_member(struct unpack *u, const struct fl_field *f)
{
	if (f->shape == FL_ONE) {
		skip_value(u, f);
		return;
	}
	for (uint64_t len = get_len(u); len-- && !u->bad;) {
		if (f->shape == FL_MAP && !get_known(u, f))
			skip_text(u);
		skip_value(u, f);
	}
}

static void skip_object(struct unpack *u, const struct fl_bind *bind)
{
	uint64_t bits = get_bits(u, bind);

	if (u->depth == FL_BIND_DEPTH)
		u->bad = true;
	u->depth++;
	for (; bits && !u->bad; bits &= bits - 1)
		skip_member(u, fl_first_row(bind, bits));
	u->depth--;
}

/* ---- whole ---- */

int fl_pack(const struct fl_bind *bind, const void *object, struct fl_interns *interns, struct fl_buf *out,
	    struct fl_err *err)
{
	struct pack p = { out, interns };
	size_t before = out->len;

	put_object(&p, bind, object);
	if (!out->failed)
		return 0;
	if (out->p)
		fl_pack_drop(bind, (struct fl_str){ out->p + before, (uint32_t)(out->len - before) }, interns);
	fl_buf_cut(out, before);
	return fl_buf_check(out, bind->name, err);
}

/* Of bytes that end too soon, what they hold is given back: fl_pack counts on it. */
void fl_pack_drop(const struct fl_bind *bind, struct fl_str packed, struct fl_interns *interns)
{
	struct unpack u = { .p = packed.p, .end = packed.p + packed.len, .drop = interns };

	if (packed.len)
		skip_object(&u, bind);
}

static int result(const struct unpack *u, const struct fl_bind *bind, struct fl_err *err)
{
	if (u->nomem)
		return fl_fail(err, FL_E_NOMEM, "no memory for a packed %s", bind->name);
	return u->bad ? fl_fail(err, FL_E_CORRUPT, "a packed %s is broken", bind->name) : 0;
}

static int unpack_whole(struct unpack *u, const struct fl_bind *bind, void *ret, struct fl_err *err)
{
	get_object(u, bind, ret);
	if (u->p != u->end)
		u->bad = true;
	return result(u, bind, err);
}

int fl_unpack(const struct fl_bind *bind, struct fl_str packed, struct fl_arena *arena, void *ret, struct fl_err *err)
{
	struct unpack u = { .p = packed.p, .end = packed.p + packed.len, .arena = arena };

	memset(ret, 0, bind->size);
	return unpack_whole(&u, bind, ret, err);
}

int fl_unpack_on(const struct fl_bind *bind, const void *blank, struct fl_str packed, struct fl_arena *arena, void *ret,
		 struct fl_err *err)
{
	struct unpack u = { .p = packed.p, .end = packed.p + packed.len, .arena = arena, .blank = true };

	memcpy(ret, blank, bind->size);
	return unpack_whole(&u, bind, ret, err);
}

/* Go to the member at that offset: its row, with *u before its value; NULL and *ret_row: it is absent. */
static const struct fl_field *seek(struct unpack *u, const struct fl_bind *bind, size_t offset,
				   const struct fl_field **ret_row)
{
	uint64_t bits = get_bits(u, bind);

	fl_each_field (f, bind) {
		bool there = bits >> (f - bind->fields) & 1;
		bool inside = f->shape == FL_ONE && f->type == FL_T_OBJ && offset > f->offset &&
			      offset < f->offset + fl_member_size(f);

		if (offset == f->offset || inside)
			*ret_row = f;
		if (offset == f->offset)
			return there ? f : NULL;
		if (inside) {
			static const char nothing[1];
			struct unpack none = { .p = nothing, .end = nothing + 1 };   /* an object without members */

			return seek(there ? u : &none, f->of(), offset - f->offset, ret_row);
		}
		if (there)
			skip_member(u, f);
	}
	return NULL;
}

int fl_peek(const struct fl_bind *bind, struct fl_str packed, size_t offset,
	    struct fl_arena *arena, void *ret)
{
	struct unpack u = { .p = packed.p, .end = packed.p + packed.len, .arena = arena };
	const struct fl_field *row = NULL, *f = seek(&u, bind, offset, &row);
	int r;

	assert(row && "the offset of a member");
	memset(ret, 0, fl_member_size(row));
	if (f)
		get_member(&u, f, ret);
	else
		fl_default(row, ret);
	r = result(&u, bind, NULL);
	return r < 0 ? r : f != NULL;
}

struct fl_str fl_peek_raw(const struct fl_bind *bind, struct fl_str packed, size_t offset)
{
	struct unpack u = { .p = packed.p, .end = packed.p + packed.len };
	const struct fl_field *row = NULL, *f = seek(&u, bind, offset, &row);
	const char *from = u.p;

	if (!f)
		return (struct fl_str){ NULL, 0 };
	skip_member(&u, f);
	return u.bad ? (struct fl_str){ NULL, 0 } : (struct fl_str){ from, (uint32_t)(u.p - from) };
}

bool fl_peek_is(const struct fl_bind *bind, struct fl_str packed, size_t offset, struct fl_str text)
{
	struct unpack u = { .p = packed.p, .end = packed.p + packed.len };
	const struct fl_field *row = NULL, *f = seek(&u, bind, offset, &row);
	char room[UUID_TEXT + UUID_PREFIX + 1];
	struct fl_str found = { NULL, 0 };

	u.room = room;
	if (f)
		found = get_text(&u);
	return !u.bad && fl_str_eq(found, text);
}

bool fl_peek_begins(const struct fl_bind *bind, struct fl_str packed, size_t offset, const struct fl_str *texts,
		    uint32_t len)
{
	struct unpack u = { .p = packed.p, .end = packed.p + packed.len };
	const struct fl_field *row = NULL, *f = seek(&u, bind, offset, &row);
	uint64_t bits = f ? get_bits(&u, f->of()) : 0;
	char room[UUID_TEXT + UUID_PREFIX + 1];
	bool same = true;

	u.room = room;
	for (uint32_t i = 0; i < len && same; i++)
		same = fl_str_eq(bits >> i & 1 ? get_text(&u) : (struct fl_str){ NULL, 0 }, texts[i]);
	return same && !u.bad;
}
