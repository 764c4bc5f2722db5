/* intern.h - shared texts, each stored once.
 *
 * 50,000 cached Pods share a few hundred namespaces, node names and label keys. A pool hands out one block for each
 * text, so within a pool the same text is the same pointer: equality is a comparison of pointers, a handle is eight
 * bytes, and the block (count, length, bytes, terminator) is freed when its last handle is dropped. A pool belongs to
 * one thread; drop every handle before you free it.
 */
#pragma once
#include "base/hmap.h"

struct fl_istr {
	uint32_t holders;
	uint32_t len;
	char text[];          /* terminated; the terminator is not counted */
};

struct fl_interns {
	struct fl_hmap map;
};

/* The seed as for any map: random in a process, fixed in a test. Allocates nothing. */
void fl_interns_init(struct fl_interns *pool, const uint64_t seed[2]);
void fl_interns_free(struct fl_interns *pool);

/* A new handle of this text; NULL: allocation failed. */
const struct fl_istr *fl_intern(struct fl_interns *pool, struct fl_str text) FL_MUSTUSE;

/* An existing handle, borrowed; NULL: the pool does not hold this text. */
const struct fl_istr *fl_intern_find(const struct fl_interns *pool, struct fl_str text);

/* One more reference to a handle; never fails. */
const struct fl_istr *fl_intern_hold(const struct fl_istr *istr);

/* Drop a handle. NULL-safe; returns NULL: p = fl_intern_drop(pool, p). */
const struct fl_istr *fl_intern_drop(struct fl_interns *pool, const struct fl_istr *istr);

/* Its text, as long as it is held; of NULL the empty one. */
static inline struct fl_str fl_istr(const struct fl_istr *istr)
{
	return istr ? (struct fl_str){ istr->text, istr->len } : (struct fl_str){ "", 0 };
}

static inline void fl_interns_auto_(struct fl_interns *pool)
{
	fl_interns_free(pool);
}
