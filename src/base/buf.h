/* buf.h - bytes that grow up to a ceiling.
 *
 * A failure sticks: writers append without looking and ask once at the end. What was there before the failure stays
 * readable; p is NULL only while nothing was ever put in. Always followed by a NUL that is not counted, unless p is
 * NULL. What is put in must not lie in the buffer itself.
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

/* Over a char array of the caller's: never allocates, never to be freed, refuses what does not fit. */
#define FL_BUF_IN(array) ((struct fl_buf){ .p = (array), .cap = sizeof(array), .max = sizeof(array) - 1 })

void fl_buf_put(struct fl_buf *buf, const void *bytes, size_t len);
void fl_buf_str(struct fl_buf *buf, struct fl_str s);
void fl_buf_int(struct fl_buf *buf, int64_t n);      /* in decimal; a fifth of the time of printf */
void fl_buf_uint(struct fl_buf *buf, uint64_t n);
void fl_buf_printf(struct fl_buf *buf, const char *fmt, ...) FL_PRINTF(2, 3);
void fl_buf_vprintf(struct fl_buf *buf, const char *fmt, va_list args) FL_PRINTF(2, 0);

/* Written down here for those who put texts together byte by byte. */
static inline void fl_buf_char(struct fl_buf *buf, char c)
{
	if (buf->failed || buf->len >= buf->max || buf->cap - buf->len < 2) {
		fl_buf_put(buf, &c, 1);
		return;
	}
	buf->p[buf->len++] = c;
	buf->p[buf->len] = '\0';
}

/* As a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD. Every control character is escaped, those
 * above ASCII too, so that no text can steer the terminal on which somebody reads it. */
void fl_buf_json(struct fl_buf *buf, struct fl_str s);

/* Room for `len` more bytes at the end, to be filled and then counted by fl_buf_added; NULL when refused. */
void *fl_buf_room(struct fl_buf *buf, size_t len) FL_MUSTUSE;
void fl_buf_added(struct fl_buf *buf, size_t len);

/* Drop bytes from the front (they have been sent or parsed), or all of them; memory and failure stay. */
void fl_buf_drop(struct fl_buf *buf, size_t len);
void fl_buf_clear(struct fl_buf *buf);            /* forgets the failure too */
void fl_buf_free(struct fl_buf *buf);             /* empty again, same ceiling */

/* Copy what stands behind *at, at most `len` bytes, and count it there; how many. When all is taken the memory goes. */
size_t fl_buf_take(struct fl_buf *buf, size_t *at, void *room, size_t len);

/* 0, or -code with words that name what was being written. */
int fl_buf_check(const struct fl_buf *buf, const char *what, struct fl_err *err) FL_MUSTUSE;

struct fl_str fl_buf_view(const struct fl_buf *buf);

static inline void fl_buf_auto_(struct fl_buf *buf)
{
	fl_buf_free(buf);
}
