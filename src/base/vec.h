/* vec.h - a growing array of any type.
 *
 *     FL_AUTO(fl_vec) FL_VEC(struct card) cards = { 0 };       frees the array, not what its items hold
 *     if (fl_vec_push(&cards, card) < 0) ...
 *     fl_vec_each (c, &cards) use(c->uuid);
 *     fl_vec_free(&cards);                                     empty again, and usable
 */
#pragma once
#include "base/mem.h"

#define FL_VEC(type) \
	struct { \
		type *at; \
		uint32_t len, cap; \
	}

/* 0 or -FL_E_NOMEM; the vector is unchanged when refused. */
#define fl_vec_push(vec, item) \
	(fl_vec_reserve(vec, 1) < 0 ? -FL_E_NOMEM : ((vec)->at[(vec)->len++] = (item), 0))
#define fl_vec_reserve(vec, more) \
	((vec)->cap - (vec)->len >= (more) ? \
		 0 : \
		 fl_vec_grow_((void **)&(vec)->at, &(vec)->cap, (vec)->len, (more), sizeof *(vec)->at))
#define fl_vec_remove(vec, index) \
	fl_vec_remove_((vec)->at, &(vec)->len, (index), sizeof *(vec)->at)   /* keeps the order */
#define fl_vec_free(vec) (fl_free((vec)->at), (vec)->at = NULL, (vec)->len = (vec)->cap = 0, (void)0)
#define fl_vec_each(item, vec) \
	for (__typeof__(*(vec)->at) *item = (vec)->at, *item##_end_ = (vec)->len ? item + (vec)->len : item; \
	     item != item##_end_; item++)

int fl_vec_grow_(void **at, uint32_t *cap, uint32_t len, uint32_t more, size_t size) FL_MUSTUSE;
void fl_vec_remove_(void *at, uint32_t *len, uint32_t index, size_t size);

/* `at` is the first member of every vector. */
static inline void fl_vec_auto_(void *vec)
{
	fl_free(*(void **)vec);
}
