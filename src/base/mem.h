/* mem.h - allocation that may fail.
 *
 * Every allocation of the program goes through here, also those of yyjson, nghttp2 and protobuf-c, so that tests can
 * make the n-th one fail and count leaks. Only the loop's thread allocates; a worker gets its memory from the loop.
 */
#pragma once
#include "base/err.h"
#include "base/units.h"

/* One block of memory. Nothing planned comes near (a map of 10 million objects has 256 MiB), so a larger size is an
 * attacker's or a bug. */
#define FL_ALLOC_MAX (1024 * FL_MIB)

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

/* NULL: allocation failed. Sizes that overflow or exceed FL_ALLOC_MAX fail; zero gives a valid pointer. */
void *fl_alloc(size_t size) FL_MUSTUSE;
void *fl_zalloc(size_t size) FL_MUSTUSE;
void *fl_zalloc_n(size_t count, size_t size) FL_MUSTUSE;
void *fl_realloc(void *p, size_t size) FL_MUSTUSE;   /* after a failure the old block is unchanged */
void fl_free(void *p);                               /* NULL-safe */

/* A terminated copy; NULL: allocation failed. */
char *fl_strdup(struct fl_str s) FL_MUSTUSE;

/* Blocks allocated and not freed. */
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
