/* mem.h - memory that may be refused.
 *
 * Every allocation of the program goes through here, those of yyjson, nghttp2 and protobuf-c included, so that tests
 * can refuse the n-th one and count what was not given back. Only the loop's thread allocates; a worker is handed what
 * it needs.
 */
#pragma once
#include "base/err.h"

/* Under AddressSanitizer, what has an end of its own is a block of its own, and no block is used again by us: so that
 * an overrun and a use after the end are seen. */
#if defined(__SANITIZE_ADDRESS__)
#define FL_BLOCK_A_PIECE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FL_BLOCK_A_PIECE 1
#endif
#endif
#ifndef FL_BLOCK_A_PIECE
#define FL_BLOCK_A_PIECE 0
#endif

/* NULL when refused. Sizes that overflow or pass FL_ALLOC_MAX are refused, zero gives a valid pointer. */
void *fl_alloc(size_t size) FL_MUSTUSE;
void *fl_zalloc(size_t size) FL_MUSTUSE;
void *fl_zalloc_n(size_t count, size_t size) FL_MUSTUSE;
void *fl_realloc(void *p, size_t size) FL_MUSTUSE;   /* the old block stays whole when refused */
void fl_free(void *p);                               /* NULL-safe */

/* A terminated copy; NULL when refused. */
char *fl_strdup(struct fl_str s) FL_MUSTUSE;

/* Blocks handed out and not given back. */
long fl_mem_live(void);

/* For tests: refuse an allocation when this says so. NULL (the rule): never. */
extern bool (*fl_mem_refuse)(size_t size);

/* Let a variable release what it holds when it goes out of scope; hand it over with fl_steal.
 *
 *     FL_AUTO(fl_mem) char *text = fl_strdup(s);
 *     ...
 *     *ret = fl_steal(&text);
 */
#define FL_AUTO(name) __attribute__((cleanup(name##_auto_)))
#define FL_DEFINE_AUTO(name, type, release) \
	static inline void name##_auto_(type *p) \
	{ \
		if (*p) \
			release(*p); \
	} \
	_Static_assert(1, "")
#define fl_steal(pp) ({ \
	__typeof__(*(pp)) stolen_ = *(pp); \
	*(pp) = NULL; \
	stolen_; \
})

static inline void fl_mem_auto_(void *pp)
{
	fl_free(*(void **)pp);
}

/* From a member to what contains it. */
#define fl_container(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define FL_LEN(array) (sizeof(array) / sizeof *(array))
