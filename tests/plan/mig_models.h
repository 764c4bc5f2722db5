/* mig_models.h - what the driver of a model of the fake offers, and layouts written as texts. */
#pragma once
#include "fake/nvml/models.h"
#include "plan/mig/solve.h"
#include <string.h>

/* NULL: the fake does not know it. */
static inline const struct fake_model *mig_model(const char *key)
{
	for (size_t i = 0; i < fake_models_n; i++)
		if (strcmp(fake_models[i].key, key) == 0)
			return &fake_models[i];
	return NULL;
}

/* In the arena; *ret_len 0: no memory, or no MIG. */
static inline struct fl_mig_offer *mig_offers(const struct fake_model *model, struct fl_arena *arena, uint32_t *ret_len)
{
	struct fl_mig_offer *offers = fl_arena_get_n(arena, FAKE_PROFILES, sizeof *offers);
	uint32_t len = 0;

	*ret_len = 0;
	for (uint32_t i = 0; offers && model && i < FAKE_PROFILES; i++) {
		const struct fake_profile *p = &model->profiles[i];
		struct fl_mig_offer *offer = &offers[len];

		if (!p->instances)
			continue;
		FL_SET(offer, name, fl_str(p->name));
		FL_SET(offer, count, (int32_t)p->instances);
		FL_SET(offer, slices, (int32_t)p->slices);
		FL_SET(offer, decoders, (int32_t)p->decoders);
		FL_SET(offer, encoders, (int32_t)p->encoders);
		FL_SET(offer, jpegs, (int32_t)p->jpegs);
		FL_SET(offer, ofas, (int32_t)p->ofas);
		if (!FL_ELEMENTS(offer, arena, places, p->places_n))
			return NULL;
		for (uint32_t k = 0; k < p->places_n; k++) {
			FL_SET(&offer->places.at[k], start, p->places[k]);
			FL_SET(&offer->places.at[k], size, (int32_t)p->size);
		}
		len++;
	}
	*ret_len = len;
	return offers;
}

/* "1g.10gb:7 3g.40gb:1"; *ret_len UINT32_MAX: no memory. */
static inline struct fl_mig_count *mig_counts(const char *text, struct fl_arena *arena, uint32_t *ret_len)
{
	struct fl_mig_count *counts = fl_arena_get_n(arena, 16, sizeof *counts);
	struct fl_str rest = fl_str(text), word;

	*ret_len = counts ? 0 : UINT32_MAX;
	while (counts && fl_str_split(&rest, ' ', &word)) {
		struct fl_str name, count = word;
		int64_t number = 0;

		if (!word.len)
			continue;
		(void)fl_str_split(&count, ':', &name);
		(void)fl_str_i64(count, &number);
		FL_SET(&counts[*ret_len], profile, name);
		FL_SET(&counts[*ret_len], count, (int32_t)number);
		(*ret_len)++;
	}
	return counts;
}

/* "3g.40gb@4 1g.10gb@0 3g.40gb@0=2,1"; the slices of whole ones are those of the name. */
static inline struct fl_mig_instance *mig_instances(const char *text, struct fl_arena *arena, uint32_t *ret_len)
{
	struct fl_mig_instance *list = fl_arena_get_n(arena, 16, sizeof *list);
	struct fl_str rest = fl_str(text), word;

	*ret_len = 0;
	while (list && fl_str_split(&rest, ' ', &word)) {
		struct fl_mig_instance *to = &list[*ret_len];
		struct fl_str name, start, computes = word, one;
		int64_t number = 0;

		if (!word.len)
			continue;
		(void)fl_str_split(&computes, '@', &name);
		(void)fl_str_split(&computes, '=', &start);
		(void)fl_str_i64(start, &number);
		FL_SET(to, profile, name);
		FL_SET(to, start, (int32_t)number);
		if (!FL_ELEMENTS(to, arena, computes, 8))
			return NULL;
		to->computes.len = 0;
		if (!computes.len)
			to->computes.at[to->computes.len++] = name.p[0] - '0';
		while (computes.len && fl_str_split(&computes, ',', &one))
			to->computes.at[to->computes.len++] = one.p[0] - '0';
		(*ret_len)++;
	}
	return list;
}

/* As mig_instances reads it. */
static inline void mig_print(const struct fl_mig_instance *list, uint32_t len, struct fl_buf *buf)
{
	for (uint32_t i = 0; i < len; i++) {
		bool whole = list[i].computes.len == 1 && list[i].computes.at[0] == list[i].profile.p[0] - '0';

		fl_buf_printf(buf, "%s%.*s@%d", i ? " " : "", FL_ARG(list[i].profile), (int)list[i].start);
		for (uint32_t k = 0; !whole && k < list[i].computes.len; k++)
			fl_buf_printf(buf, "%c%d", k ? ',' : '=', (int)list[i].computes.at[k]);
	}
}
