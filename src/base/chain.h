/* chain.h - intrusive lists: an element has `next`, and `from`, the place that points to it.
 *
 *     struct call { struct call *next, **from; ... };      from NULL: in no list
 *     struct peer { struct call *calls; };                 NULL: empty
 *
 *     fl_chain_add(&peer->calls, call);                     at the front
 *     fl_chain_take(call);                                  out of whatever list it is in
 *
 * One that is filled at its end also keeps where that is: `last` is the place of the next one, and &first at the start.
 *
 *     struct line { struct call *first, **last; };
 *
 *     fl_chain_append(&line->last, call);
 *     fl_chain_take_of(&line->last, call);                  out of that list
 *
 * Macros, so that every element has a type. Nothing is allocated, and an element lives in one list at a time. A loop
 * that takes elements out reads `next` before.
 */
#pragma once
#include <assert.h>

#define fl_chain_add(first_, item_) \
	do { \
		__typeof__(item_) add_ = (item_), *to_ = (first_); \
		add_->next = *to_; \
		add_->from = to_; \
		if (add_->next) \
			add_->next->from = &add_->next; \
		*to_ = add_; \
	} while (0)

#define fl_chain_append(last_, item_) \
	do { \
		__typeof__(item_) append_ = (item_), *end_ = *(last_); \
		assert(end_); \
		append_->next = NULL; \
		append_->from = end_; \
		*end_ = append_; \
		*(last_) = &append_->next; \
	} while (0)

#define fl_chain_take(item_) \
	do { \
		__typeof__(item_) take_ = (item_); \
		assert(take_->from); \
		*take_->from = take_->next; \
		if (take_->next) \
			take_->next->from = take_->from; \
		take_->next = NULL; \
		take_->from = NULL; \
	} while (0)

#define fl_chain_take_of(last_, item_) \
	do { \
		__typeof__(item_) of_ = (item_); \
		if (!of_->next) \
			*(last_) = of_->from; \
		fl_chain_take(of_); \
	} while (0)
