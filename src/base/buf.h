/* buf.h - bytes that grow up to a ceiling.
 *
 * A failure sticks: writers append without checks and call fl_buf_check once at the end. Bytes from before the failure
 * stay readable. The bytes are followed by a NUL that is not counted; p is NULL until the first append. Never append
 * bytes that lie in the buffer itself.
 */
#pragma once
#include "base/mem.h"
#include <stdarg.h>

struct fl_buf {
	char *p;
	size_t len, cap;
	size_t max;         /* the ceiling; set it with fl_buf_init or FL_BUF */
	enum fl_code failed; /* FL_OK, FL_E_TOOBIG or FL_E_NOMEM; sticks */
};

#define FL_BUF(ceiling) ((struct fl_buf){ .max = (ceiling) })

/* Over a char array of the caller's: never allocates, needs no free; bytes that do not fit are a failure. */
#define FL_BUF_IN(array) ((struct fl_buf){ .p = (array), .cap = sizeof(array), .max = sizeof(array) - 1 })

void fl_buf_put(struct fl_buf *buf, const void *bytes, size_t len);
void fl_buf_str(struct fl_buf *buf, struct fl_str s);
void fl_buf_int(struct fl_buf *buf, int64_t n);      /* in decimal; a fifth of the time of printf */
void fl_buf_uint(struct fl_buf *buf, uint64_t n);
void fl_buf_printf(struct fl_buf *buf, const char *fmt, ...) FL_PRINTF(2, 3);
void fl_buf_vprintf(struct fl_buf *buf, const char *fmt, va_list args) FL_PRINTF(2, 0);

/* Inline, for callers that append byte by byte. */
static inline void fl_buf_char(struct fl_buf *buf, char c)
{
	if (buf->failed || buf->len >= buf->max || buf->cap - buf->len < 2) {
		fl_buf_put(buf, &c, 1);
		return;
	}
	buf->p[buf->len++] = c;
	buf->p[buf->len] = '\0';
}

/* As a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD. Every control character is escaped, also
 * those above ASCII, so that no text can control a reader's terminal. */
void fl_buf_json(struct fl_buf *buf, struct fl_str s);

/* As a part of a path, or a value of a query: percent-encoded where it must be. */
void fl_buf_url(struct fl_buf *buf, struct fl_str s);

/* Room for `len` more bytes at the end: fill it, then call fl_buf_added. NULL: a failure, which sticks. */
void *fl_buf_room(struct fl_buf *buf, size_t len) FL_MUSTUSE;
void fl_buf_added(struct fl_buf *buf, size_t len);

/* Drop bytes from the front (they have been sent or parsed), or all of them; memory and failure stay. */
void fl_buf_drop(struct fl_buf *buf, size_t len);
void fl_buf_clear(struct fl_buf *buf);            /* forgets the failure too */
void fl_buf_free(struct fl_buf *buf);             /* empty again, same ceiling */

/* Copy what stands behind *at, at most `len` bytes, and count it there; how many. When all is taken the memory goes. */
size_t fl_buf_take(struct fl_buf *buf, size_t *at, void *room, size_t len);

/* 0, or -code with an error that names `what`. */
int fl_buf_check(const struct fl_buf *buf, const char *what, struct fl_err *err) FL_MUSTUSE;

struct fl_str fl_buf_view(const struct fl_buf *buf);

static inline void fl_buf_auto_(struct fl_buf *buf)
{
	fl_buf_free(buf);
}
