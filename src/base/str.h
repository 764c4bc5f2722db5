/* str.h - borrowed text: a pointer and a length, no terminator promised.
 *
 * Each function documents how long its fl_str lives. An empty text may have any pointer, NULL included.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A misspelt name longer than this gets no "did you mean". */
#define FL_NAME_NEAR 40

struct fl_str {
	const char *p;
	uint32_t len;
};

/* A literal; and an initializer for tables. */
#define FL_S(literal) ((struct fl_str)FL_S_INIT(literal))
#define FL_S_INIT(literal) { "" literal, sizeof(literal) - 1 }

/* For "%.*s". */
#define FL_ARG(s) (int)(s).len, (s).len ? (s).p : ""

/* Of a terminated string; NULL is empty. Longer than UINT32_MAX is cut: nothing of ours comes near. */
struct fl_str fl_str(const char *terminated);

static inline bool fl_str_eq(struct fl_str a, struct fl_str b)
{
	return a.len == b.len && (a.len == 0 || (a.p[0] == b.p[0] && memcmp(a.p, b.p, a.len) == 0));
}

/* Order by bytes, as Go and the API server do. */
int fl_str_cmp(struct fl_str a, struct fl_str b);
bool fl_str_starts(struct fl_str s, struct fl_str prefix);
bool fl_str_ends(struct fl_str s, struct fl_str suffix);

/* Where the byte stands, or -1. */
int64_t fl_str_find(struct fl_str s, char byte);

/* Is it one of these? */
static inline bool fl_str_in(const struct fl_str *at, uint32_t len, struct fl_str s)
{
	while (len && !fl_str_eq(*at, s)) {
		at++;
		len--;
	}
	return len > 0;
}

/* The first of `len` elements with this text in that member: fl_find(cards, len, meta.name, address). NULL: none. */
#define fl_find(at_, len_, member_, text_) \
	({ \
		__typeof__(&*(at_)) one_ = (at_); \
		struct fl_str sought_ = (text_); \
		uint32_t left_ = (uint32_t)(len_); \
		while (left_ && !fl_str_eq(one_->member_, sought_)) { \
			one_++; \
			left_--; \
		} \
		left_ ? one_ : NULL; \
	})

/* From `from`, at most `len` bytes; out of range is cut. */
static inline struct fl_str fl_str_sub(struct fl_str s, uint32_t from, uint32_t len)
{
	if (s.len == 0)
		return s;
	if (from > s.len)
		from = s.len;
	if (len > s.len - from)
		len = s.len - from;
	return (struct fl_str){ s.p + from, len };
}

/* Without ASCII blanks, tabs and line ends at both ends. */
struct fl_str fl_str_trim(struct fl_str s);

/* Take what stands before the next `separator` off *rest; false when *rest is used up, which shows as a NULL pointer.
 * "a,,b" gives a, "", b; "" gives one empty part; NULL none. Start with a copy of the whole text. */
bool fl_str_split(struct fl_str *rest, char separator, struct fl_str *ret_part);

/* Whole text, decimal, no blanks, no plus sign; false when it is anything else or does not fit. */
bool fl_str_i64(struct fl_str s, int64_t *ret);
bool fl_str_u64(struct fl_str s, uint64_t *ret);

/* Is it UTF-8, without surrogates and overlong forms? */
bool fl_str_utf8(struct fl_str s);

/* Bytes of its first character, or 0 when it starts with none. */
uint32_t fl_str_utf8_len(struct fl_str s);

/* How many insertions, deletions, replacements and swaps of neighbours make one the other, for "did you mean"; case
 * does not count. UINT32_MAX when one is longer than FL_NAME_NEAR. */
uint32_t fl_str_distance(struct fl_str a, struct fl_str b);
