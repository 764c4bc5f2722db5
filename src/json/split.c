#include "json/split.h"
#include "base/chars.h"
#include <assert.h>
#if defined(__SSE2__) && !defined(FL_NO_SIMD)
#include <emmintrin.h>
#endif

/* ---- 64 bytes at a time ---- */

#define BLOCK 64

/* One bit for each byte of a block. */
struct masks {
	uint64_t quote, backslash, open, close;
};

#if defined(__SSE2__) && !defined(FL_NO_SIMD)
static uint64_t equal(const __m128i v[4], char c)
{
	__m128i want = _mm_set1_epi8(c);
	uint64_t a = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[0], want));
	uint64_t b = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[1], want));
	uint64_t c2 = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[2], want));
	uint64_t d = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[3], want));

	return a | b << 16 | c2 << 32 | d << 48;
}

static struct masks masks_of(const char *p)
{
	const __m128i bit = _mm_set1_epi8(0x20);
	struct masks m;
	__m128i v[4];

	for (int i = 0; i < 4; i++)
		v[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
	m.quote = equal(v, '"');
	m.backslash = equal(v, '\\');
	/* '[' and '{' differ in one bit only, and so do ']' and '}'. */
	for (int i = 0; i < 4; i++)
		v[i] = _mm_or_si128(v[i], bit);
	m.open = equal(v, '{');
	m.close = equal(v, '}');
	return m;
}
#else
/* Eight bytes in a word: which of them are `c`, as eight bits. */
static uint64_t equal8(uint64_t w, unsigned char c)
{
	const uint64_t ones = 0x0101010101010101u, low = 0x7f7f7f7f7f7f7f7fu;
	uint64_t x = w ^ ones * c;
	uint64_t zero = ~(((x & low) + low) | x | low) >> 7;   /* 1 in each byte that is c */

	return zero * 0x0102040810204080u >> 56;
}

static struct masks masks_of(const char *p)
{
	struct masks m = { 0 };

	for (int i = 0; i < 8; i++) {
		uint64_t w;

		memcpy(&w, p + 8 * i, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		w = __builtin_bswap64(w);
#endif
		m.quote |= equal8(w, '"') << 8 * i;
		m.backslash |= equal8(w, '\\') << 8 * i;
		w |= 0x2020202020202020u;
		m.open |= equal8(w, '{') << 8 * i;
		m.close |= equal8(w, '}') << 8 * i;
	}
	return m;
}
#endif

/* Which bytes stand behind a backslash that is not itself behind one. */
static uint64_t escaped_bytes(uint64_t backslash, bool *escaped)
{
	uint64_t behind = *escaped;

	backslash &= ~behind;
	*escaped = false;
	while (backslash) {
		uint64_t one = backslash & -backslash;

		*escaped = one >> (BLOCK - 1);
		behind |= one << 1;
		backslash &= ~(one | one << 1);
	}
	return behind;
}

/* Bit i is the parity of bits 0 to i: between an opening and a closing quote it is 1. */
static uint64_t parity_up_to(uint64_t bits)
{
	for (int shift = 1; shift < BLOCK; shift *= 2)
		bits ^= bits << shift;
	return bits;
}

/* The compiler's own is a call where the processor has no instruction for it for sure. */
static uint32_t count(uint64_t bits)
{
	bits -= bits >> 1 & 0x5555555555555555u;
	bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (uint32_t)(bits * 0x0101010101010101u >> 56);
}

/* Go through one block, of which `len` bytes count and the others are zero. Returns how many of them belong to the
 * object; depth is 0 when it ends with the last of these. */
static uint32_t scan_block(struct fl_split *s, const char *p, uint32_t len)
{
	struct masks m = masks_of(p);
	uint64_t text, both, behind;
	uint32_t closed;

	if (m.backslash || s->escaped) {
		behind = escaped_bytes(m.backslash, &s->escaped);
		m.quote &= ~behind;
		if (len < BLOCK)
			s->escaped = behind >> len & 1;
	}
	text = parity_up_to(m.quote) ^ s->in_text;
	m.open &= ~text;
	m.close &= ~text;
	s->in_text = (uint64_t)((int64_t)text >> (BLOCK - 1));
	closed = count(m.close);
	if (s->depth > closed) {
		s->depth += count(m.open) - closed;
		return len;
	}
	for (both = m.open | m.close; both; both &= both - 1) {
		if (m.open & both & -both) {
			s->depth++;
		} else if (--s->depth == 0) {
			s->in_text = 0;
			s->escaped = false;
			return (uint32_t)__builtin_ctzll(both) + 1;
		}
	}
	return len;
}

/* The bytes at the front that belong to the object; depth is 0 when its end is among them. */
static uint32_t scan(struct fl_split *s, struct fl_str in)
{
	char tail[BLOCK] = { 0 };
	uint32_t at = 0;

	while (in.len - at >= BLOCK) {
		at += scan_block(s, in.p + at, BLOCK);
		if (s->depth == 0)
			return at;
	}
	if (in.len == at)
		return at;
	memcpy(tail, in.p + at, in.len - at);
	return at + scan_block(s, tail, in.len - at);
}

/* ---- what stands around the objects ---- */

/* What comes next. */
enum {
	AT_START,       /* a list: its opening brace */
	AT_AROUND,      /* a list: within it, outside its items */
	AT_FIRST,       /* the first item, or the end of them */
	AT_NEXT,        /* another item */
	AT_COMMA,       /* a comma, or the end of the items */
	AT_ITEM,        /* within an object */
	AT_BETWEEN,     /* a stream: the next object */
	AT_END,         /* a list: blanks */
};

void fl_split_init(struct fl_split *split, enum fl_split_kind kind, size_t item_max)
{
	*split = (struct fl_split){ .kind = kind, .at = kind == FL_SPLIT_LIST ? AT_START : AT_BETWEEN };
	split->item_max = item_max ? item_max : FL_JSON_ITEM_MAX;
	split->held = FL_BUF(split->item_max);
	split->around = FL_BUF(FL_SPLIT_AROUND_MAX);
}

void fl_split_free(struct fl_split *split)
{
	fl_buf_free(&split->held);
	fl_buf_free(&split->around);
}

void fl_split_push(struct fl_split *split, struct fl_str chunk)
{
	assert(split->rest.len == 0 || split->failed);
	split->rest = chunk;
}

static int refuse(struct fl_split *s, struct fl_err *err, const char *what)
{
	s->failed = -FL_E_INVALID;
	return fl_fail(err, FL_E_INVALID, "byte %llu, after %llu objects: %s", (unsigned long long)s->seen,
		       (unsigned long long)s->items, what);
}

static void skip(struct fl_split *s, uint32_t len)
{
	s->rest = fl_str_sub(s->rest, len, s->rest.len);
	s->seen += len;
}

/* Does the text end with a name, a colon and blanks, and is the name "items"? A quote within a text has a backslash
 * before it, so looking back from the bracket is enough. */
static bool is_items(struct fl_str text)
{
	struct fl_str name = FL_S("\"items\"");

	text = fl_str_trim(text);
	if (!fl_str_ends(text, FL_S(":")))
		return false;
	text.len--;
	text = fl_str_trim(text);
	if (!fl_str_ends(text, name) || text.len == name.len)
		return false;
	return text.p[text.len - name.len - 1] != '\\';
}

/* Go on outside the items; at most to the bracket where they begin, or to the end of the list. */
static int go_around(struct fl_split *s, struct fl_err *err)
{
	while (s->rest.len && s->at == AT_AROUND) {
		char c = s->rest.p[0];

		if (!s->in_text && s->depth == 1 && c == '[' && is_items(fl_buf_view(&s->around))) {
			if (s->had_items)
				return refuse(s, err, "\"items\" stands here twice");
			s->had_items = true;
			s->at = AT_FIRST;
		}
		fl_buf_char(&s->around, c);
		skip(s, 1);
		if (s->escaped)
			s->escaped = false;
		else if (s->in_text && c == '\\')
			s->escaped = true;
		else if (c == '"')
			s->in_text = ~s->in_text;
		else if (!s->in_text && (c == '{' || c == '['))
			s->depth += s->at == AT_AROUND;
		else if (!s->in_text && (c == '}' || c == ']') && --s->depth == 0)
			s->at = AT_END;
	}
	s->failed = fl_buf_check(&s->around, "what stands around a list's items", err);
	return s->failed;
}

/* Within an object: take what belongs to it. 1: it is whole. */
static int go_through(struct fl_split *s, struct fl_str *ret_item, struct fl_err *err)
{
	struct fl_str part = fl_str_sub(s->rest, 0, scan(s, s->rest));

	skip(s, part.len);
	if (s->held.len + part.len > s->item_max) {
		s->failed = -FL_E_TOOBIG;
		return fl_fail(err, FL_E_TOOBIG, "object %llu is over the limit of %zu bytes",
			       (unsigned long long)s->items + 1, s->item_max);
	}
	if (s->held.len || s->depth) {
		fl_buf_str(&s->held, part);
		s->failed = fl_buf_check(&s->held, "an object of a list", err);
		if (s->failed)
			return s->failed;
		part = fl_buf_view(&s->held);
	}
	if (s->depth)
		return 0;
	s->done_with_held = true;
	s->items++;
	s->at = s->kind == FL_SPLIT_LIST ? AT_COMMA : AT_BETWEEN;
	*ret_item = part;
	return 1;
}

static void forget_held(struct fl_split *s)
{
	/* A watch waits for hours: it must not sit on the memory of the largest object that it ever saw. */
	if (s->held.cap > FL_SPLIT_KEEP)
		fl_buf_free(&s->held);
	else
		fl_buf_clear(&s->held);
	s->done_with_held = false;
}

/* One byte that decides what comes next. */
static int step(struct fl_split *s, struct fl_err *err)
{
	char c = s->rest.p[0];
	bool open = c == '{' && (s->at == AT_FIRST || s->at == AT_NEXT || s->at == AT_BETWEEN);

	if (fl_is_blank(c)) {
		skip(s, 1);
		return 0;
	}
	if (open) {
		s->at = AT_ITEM;
		s->depth = 0;
		s->in_text = 0;
		s->escaped = false;
		return 0;
	}
	if (s->at == AT_START && c == '{') {
		s->at = AT_AROUND;
		s->depth = 0;
		return 0;
	}
	if (c == ']' && (s->at == AT_FIRST || s->at == AT_COMMA)) {
		s->at = AT_AROUND;
		s->depth = 2;
		return 0;
	}
	if (c == ',' && s->at == AT_COMMA) {
		s->at = AT_NEXT;
		skip(s, 1);
		return 0;
	}
	if (s->at == AT_END)
		return refuse(s, err, "the list has ended before this");
	return refuse(s, err, s->at == AT_COMMA ? "a comma or the end of the items should stand here" :
						  "an object should begin here");
}

int fl_split_next(struct fl_split *split, struct fl_str *ret_item, struct fl_err *err)
{
	int r = 0;

	if (split->failed)
		return fl_fail(err, (enum fl_code)-split->failed, "the list or stream was refused before");
	if (split->done_with_held)
		forget_held(split);
	while (split->rest.len && r == 0) {
		if (split->at == AT_AROUND) {
			r = go_around(split, err);
		} else if (split->at == AT_ITEM) {
			r = go_through(split, ret_item, err);
		} else {
			r = step(split, err);
		}
	}
	return r;
}

int fl_split_end(const struct fl_split *split, struct fl_err *err)
{
	if (split->failed)
		return fl_fail(err, (enum fl_code)-split->failed, "the list or stream was refused before");
	if (split->rest.len == 0 && split->at == (split->kind == FL_SPLIT_LIST ? AT_END : AT_BETWEEN))
		return 0;
	return fl_fail(err, FL_E_CLOSED, "the %s ends in the middle, after %llu bytes and %llu objects",
		       split->kind == FL_SPLIT_LIST ? "list" : "stream", (unsigned long long)split->seen,
		       (unsigned long long)split->items);
}

static struct fl_str text_at(yyjson_val *object, struct fl_str key)
{
	struct fl_str text = { NULL, 0 };

	(void)fl_json_str(fl_json_get(object, key), &text);
	return text;
}

int fl_split_list(const struct fl_split *split, struct fl_json_space *space, struct fl_list *ret_list,
		  yyjson_doc **ret_doc, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	yyjson_val *meta;
	int r = fl_split_end(split, err);

	if (r < 0)
		return r;
	if (fl_json_read(space, fl_buf_view(&split->around), 0, &doc, err) < 0)
		return fl_wrap(err, "the list around its items");
	meta = fl_json_get(doc->root, FL_S("metadata"));
	*ret_list = (struct fl_list){
		.api_version = text_at(doc->root, FL_S("apiVersion")),
		.kind = text_at(doc->root, FL_S("kind")),
		.resource_version = text_at(meta, FL_S("resourceVersion")),
		.resume = text_at(meta, FL_S("continue")),
		.remaining = -1,
	};
	(void)fl_json_i64(fl_json_get(meta, FL_S("remainingItemCount")), &ret_list->remaining);
	if (ret_doc)
		*ret_doc = fl_steal(&doc);
	else
		(void)fl_steal(&doc);   /* its texts are handed out; the space's reset ends it */
	return 0;
}
