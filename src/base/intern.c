#include "base/intern.h"
#include <assert.h>

static struct fl_str key_of(const void *object)
{
	return fl_istr(object);
}

void fl_interns_init(struct fl_interns *pool, const uint64_t seed[2])
{
	fl_hmap_init(&pool->map, key_of, seed);
}

void fl_interns_free(struct fl_interns *pool)
{
	assert(pool->map.len == 0);
	fl_hmap_free(&pool->map);
}

const struct fl_istr *fl_intern_find(const struct fl_interns *pool, struct fl_str text)
{
	return fl_hmap_get(&pool->map, text);
}

const struct fl_istr *fl_intern_hold(const struct fl_istr *istr)
{
	struct fl_istr *held = (struct fl_istr *)(uintptr_t)istr;   /* the count is ours, whoever holds the handle */

	assert(held->holders < UINT32_MAX);
	held->holders++;
	return istr;
}

const struct fl_istr *fl_intern(struct fl_interns *pool, struct fl_str text)
{
	const struct fl_istr *there = fl_intern_find(pool, text);
	struct fl_istr *istr;

	if (there)
		return fl_intern_hold(there);
	istr = fl_alloc(sizeof *istr + text.len + 1);
	if (!istr)
		return NULL;
	istr->holders = 1;
	istr->len = text.len;
	if (text.len)
		memcpy(istr->text, text.p, text.len);
	istr->text[text.len] = 0;
	if (fl_hmap_put(&pool->map, istr, NULL) < 0) {
		fl_free(istr);
		return NULL;
	}
	return istr;
}

const struct fl_istr *fl_intern_drop(struct fl_interns *pool, const struct fl_istr *istr)
{
	struct fl_istr *held = (struct fl_istr *)(uintptr_t)istr;

	if (!held)
		return NULL;
	assert(held->holders > 0);
	if (--held->holders == 0) {
		void *out = fl_hmap_del(&pool->map, fl_istr(held));

		assert(out == held);   /* it came from another pool */
		fl_free(out);
	}
	return NULL;
}
