/* ld_cache.h - the linker's cache (/etc/ld.so.cache) of glibc: reading one, and adding to one.
 *
 * Bytes in, entries out: no I/O, reading allocates nothing, any bytes are safe. What the C library's loader
 * takes is taken, and nothing else: the format of today ("glibc-ld.so.cache1.1"), the same behind the format before it,
 * and that one alone ("ld.so-1.7.0"). Both byte orders exist; only the little one is read, on machines of that order.
 *
 *     struct fl_ld_cache cache;
 *     struct fl_ld_entry entry;
 *
 *     if (fl_ld_cache_open(&cache, bytes, len))
 *             while (fl_ld_cache_next(&cache, &entry))
 *                     ...
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* The flags of a 64-bit library of glibc's on this machine. */
#if defined(__aarch64__)
#define FL_LD_FLAGS 0xa03u
#else
#define FL_LD_FLAGS 0x303u
#endif

struct fl_ld_entry {
	uint32_t flags, os;            /* os: the least kernel, 0: any */
	uint64_t hwcap;                /* bit 62 set: the low half is an index of the cache's own list of such names */
	struct fl_str key, value;      /* "libcuda.so.1", "/usr/lib64/libcuda.so.1"; inside the bytes, terminated */
};

struct fl_ld_cache {
	const uint8_t *bytes;          /* where offsets begin: the header, but for the oldest format */
	size_t len;
	uint32_t count, next;
	bool old;                      /* the oldest format: entries without hwcap */
	const uint8_t *entries;
};

/* False: no loader would take it, as if there were none. The bytes are borrowed for as long as anything read from them
 * is used. */
bool fl_ld_cache_open(struct fl_ld_cache *ret, const void *bytes, size_t len);
/* The next entry; false at the end. Entries whose texts lie outside the bytes, or are longer than a name
 * (255 bytes) and a path (4,095 bytes), are left out. */
bool fl_ld_cache_next(struct fl_ld_cache *cache, struct fl_ld_entry *ret);

/* The order of names that the loader's search relies on: digits count as numbers. A cache has them from high to low. */
int fl_ld_name_cmp(struct fl_str a, struct fl_str b);

/* A cache of today's format with what is added and what was there (NULL: nothing), each name's additions first, in
 * their order; what was there stays in the order it had, but for what is added. -FL_E_TOOBIG, -FL_E_NOMEM. */
int fl_ld_cache_merge(const struct fl_ld_cache *old, const struct fl_ld_entry *add, uint32_t count, struct fl_buf *ret,
		      struct fl_err *err) FL_MUSTUSE;
