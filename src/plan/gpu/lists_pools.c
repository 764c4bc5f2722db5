/* The cards of pools, and what is wrong with how pools name them. */
#include "plan/gpu/lists_in.h"
#include <stdarg.h>
#include <stdio.h>

/* Of a word of a pool that names no GPU, in a condition: a MIG device's UUID has 40 characters, and several words share
 * FL_PLAN_TEXT. */
#define FL_POOL_WORD_SHOWN 80

static bool is_all(struct fl_str word)
{
	return fl_str_eq(word, FL_S("all"));
}

/* By its UUID, its address or its index. */
static bool is_named(const struct fl_card *card, struct fl_str word)
{
	int64_t index;

	return fl_str_eq(word, card->uuid) || fl_str_eq(word, card->meta.name) ||
	       (card->has.index && fl_str_i64(word, &index) && index == card->index);
}

static bool named(const struct fl_card *card, const struct fl_str_list *words)
{
	for (uint32_t i = 0; i < words->len; i++)
		if (is_all(words->at[i]) || is_named(card, words->at[i]))
			return true;
	return false;
}

/* Those that it does not serve now are in it too. */
static bool has(const struct fl_node_pool *pool, const struct fl_card *card)
{
	return named(card, &pool->cards) || named(card, &pool->kept_back) || named(card, &pool->leaving);
}

const struct fl_node_pool *fl_gpu_pool_of(const struct fl_settings *settings, const struct fl_card *card)
{
	for (uint32_t i = 0; i < settings->pools.len; i++)
		if (has(&settings->pools.at[i], card))
			return &settings->pools.at[i];
	return NULL;
}

/* ---- what is wrong ---- */

/* The cards that say what they are, or did so before, as they are before a pool takes any. */
struct known {
	struct lists *l;
	const struct fl_card *const *cards;
	uint32_t len, nameless;                /* nameless: cards that are there and have told neither index nor UUID */
	uint32_t told;                         /* how many words are told of; the first ones by name */
	bool absent;                           /* one of them names no card */
};

static bool among(const struct known *k, const struct fl_card *card)
{
	for (uint32_t i = 0; i < k->len; i++)
		if (fl_str_eq(k->cards[i]->meta.name, card->meta.name))
			return true;
	return false;
}

/* False: the driver has yet to tell of a card, and nothing is known to be absent. */
static bool count_nameless(struct known *k)
{
	const struct fl_gpu_lists_facts *f = k->l->facts;

	if (f->driver->state != FL_DRIVER_READY)
		return false;
	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *card = &f->cards[i];

		if (fl_card_elsewhere(card) || among(k, card))
			continue;
		if (card->answer == FL_CARD_UNASKED && (card->bound.len || !card->vendor.len))
			return false;   /* not so one that no driver of the kernel has: it is never asked */
		k->nameless++;
	}
	return true;
}

static void FL_PRINTF(2, 3) report_mistake(struct known *k, const char *fmt, ...)
{
	va_list args;

	if (k->told++ >= FL_LISTS_NAMED)
		return;
	va_start(args, fmt);
	fl_plan_append(k->l->plan, &k->l->pools, fmt, args);
	va_end(args);
}

/* A card that does not say what it is now may be the one: it is sick, not absent. */
static bool may_be_nameless(const struct known *k, struct fl_str word)
{
	int64_t index;

	if (!k->nameless)
		return false;
	return fl_str_starts(word, FL_S("GPU-")) ||
	       (fl_str_i64(word, &index) && index >= 0 && index < k->l->facts->card_len);
}

static void check_word(struct known *k, const struct fl_node_pool *pool, struct fl_str word)
{
	const struct fl_gpu_lists_facts *f = k->l->facts;
	struct fl_str shown = fl_str_sub(word, 0, FL_POOL_WORD_SHOWN);

	for (uint32_t i = 0; i < k->len; i++) {
		const struct fl_node_pool *has = fl_gpu_pool_of(f->settings, k->cards[i]);

		if (!is_named(k->cards[i], word))
			continue;
		if (has != pool)
			report_mistake(k, "pools %.*s and %.*s: both have GPU %.*s: the first one serves it",
				       FL_ARG(has->resource), FL_ARG(pool->resource), FL_ARG(shown));
		return;
	}
	for (uint32_t i = 0; i < f->card_len; i++) {
		if (!is_named(&f->cards[i], word))
			continue;
		if (fl_card_elsewhere(&f->cards[i]))
			report_mistake(k, "pool %.*s: GPU %.*s is bound to %.*s", FL_ARG(pool->resource), FL_ARG(shown),
				       FL_ARG(f->cards[i].bound));
		return;
	}
	if (may_be_nameless(k, word))
		return;
	report_mistake(k, "pool %.*s: no GPU %.*s", FL_ARG(pool->resource), FL_ARG(shown));
	k->absent = true;
}

static void tell_range(struct known *k)
{
	int32_t first = INT32_MAX, last = -1;

	for (uint32_t i = 0; i < k->len; i++) {
		if (!k->cards[i]->has.index)
			continue;
		first = k->cards[i]->index < first ? k->cards[i]->index : first;
		last = k->cards[i]->index > last ? k->cards[i]->index : last;
	}
	if (last < 0)
		k->l->pools = fl_plan_printf(k->l->plan, "%.*s; this node has none", FL_ARG(k->l->pools));
	else if (first == last)
		k->l->pools = fl_plan_printf(k->l->plan, "%.*s; this node has %d", FL_ARG(k->l->pools), (int)first);
	else
		k->l->pools = fl_plan_printf(k->l->plan, "%.*s; this node has %d to %d", FL_ARG(k->l->pools),
					     (int)first, (int)last);
}

static void check(struct lists *l, const struct fl_card *const *cards, uint32_t len)
{
	const struct fl_settings *s = l->facts->settings;
	struct known k = { .l = l, .cards = cards, .len = len };

	if (!s->pools.len || s->pools.at[0].cluster)   /* those of the command line come first */
		return;
	l->pools_unknown = !count_nameless(&k);
	for (uint32_t i = 0; !l->pools_unknown && i < s->pools.len && !s->pools.at[i].cluster; i++)
		for (uint32_t w = 0; w < s->pools.at[i].cards.len; w++)
			if (!is_all(s->pools.at[i].cards.at[w]))
				check_word(&k, &s->pools.at[i], s->pools.at[i].cards.at[w]);
	if (k.told > FL_LISTS_NAMED)
		l->pools = fl_plan_printf(l->plan, "%.*s; %u more", FL_ARG(l->pools), k.told - FL_LISTS_NAMED);
	if (k.absent)
		tell_range(&k);
	if (l->pools.len)
		fl_say(l->plan, FL_REF(&fl_settings_kind, s), "Pools", "%.*s", FL_ARG(l->pools));
}

/* ---- who has which ---- */

static void add_to_pool(struct lists *l, const struct fl_node_pool *pool, struct list *list, const struct fl_card *card)
{
	uint32_t found = 0;

	if (pool->unit == FL_POOL_CARD && !card->mig) {
		list_add(l, list, card, NULL);
		return;
	}
	if (pool->unit == FL_POOL_CARD) {
		if (pool->cluster)
			return;   /* the agent changes it, and its GPUDevice tells how far that is */
		lists_problem(l, LISTS_POOLS,
			      "GPU %.*s of %.*s is in MIG mode: disable MIG, or serve MIG devices",
			      FL_ARG(card->meta.name), FL_ARG(pool->resource));
		return;
	}
	for (uint32_t i = 0; i < card->partitions.len; i++) {
		if (pool->profile.len && !fl_str_eq(pool->profile, card->partitions.at[i].profile))
			continue;
		list_add(l, list, card, &card->partitions.at[i]);
		found++;
	}
	if (!found && !pool->cluster)
		lists_problem(l, LISTS_POOLS, "GPU %.*s of %.*s has no MIG device %.*s: create some",
			      FL_ARG(card->meta.name), FL_ARG(pool->resource), FL_ARG(pool->profile));
}

/* The first pool that names a card has it. */
void lists_serve_pools(struct lists *l, const struct fl_card **free, uint32_t *free_len)
{
	const struct fl_settings *s = l->facts->settings;

	check(l, free, *free_len);
	for (uint32_t i = 0; i < s->pools.len; i++) {
		const struct fl_node_pool *pool = &s->pools.at[i];
		struct list *list = NULL;
		uint32_t left = 0;

		for (uint32_t k = 0; k < *free_len; k++) {
			if (!has(pool, free[k])) {
				free[left++] = free[k];
				continue;
			}
			list = list ? list : lists_get(l, pool->resource);
			if (!list)
				return;
			list->replicas = pool->slices;
			if (named(free[k], &pool->cards))
				add_to_pool(l, pool, list, free[k]);
		}
		*free_len = left;
	}
}

bool lists_withdrawn(const struct lists *l, struct fl_str resource, struct fl_str card)
{
	const struct fl_settings *s = l->facts->settings;
	const struct fl_node_pool *pool = fl_find(s->pools.at, s->pools.len, resource, resource);

	return pool && (fl_str_in(pool->kept_back.at, pool->kept_back.len, card) ||
			fl_str_in(pool->leaving.at, pool->leaving.len, card));
}
