/* Which devices are best together: fl_prefer of allocate.h. */
#include "plan/gpu/allocate.h"
#include "plan/gpu/ids.h"
#include <assert.h>
#include <stdlib.h>

_Static_assert(FL_PREFER_EXACT <= 20, "a table has an entry for each set of so many");

struct item {
	struct fl_str id;
	uint32_t unit, replica;                /* where in the list */
	bool must, chosen;
};

struct choice {
	const struct fl_resource *resource;
	struct item *items;                    /* in the order of the list, each once */
	uint32_t len, size;
	struct fl_arena *arena;
};

static int no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "no memory to prefer devices");
}

/* ---- what there is to choose from ---- */

static int by_place(const void *a_, const void *b_)
{
	const struct item *a = a_, *b = b_;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return (a->replica > b->replica) - (a->replica < b->replica);
}

static int add_all(struct choice *c, const struct fl_device_ids *wish, bool must, struct fl_err *err)
{
	for (uint32_t i = 0; i < wish->len; i++) {
		struct item *item = &c->items[c->len++];
		const struct fl_unit *unit = fl_gpu_id_unit(c->resource, wish->ids[i], &item->replica);

		if (!unit)
			return fl_fail(err, FL_E_INVALID,
				       "invalid preference request for \"%.*s\": invalid request: unknown device: %.*s",
				       FL_ARG(c->resource->meta.name), FL_ARG(wish->ids[i]));
		item->id = wish->ids[i];
		item->unit = (uint32_t)(unit - c->resource->units.at);
		item->must = must;
	}
	return 0;
}

/* What must be among them is available, whether it was said or not. */
static int begin(struct choice *c, const struct fl_device_ids *available, const struct fl_device_ids *must,
		 struct fl_err *err)
{
	uint32_t len = 0, musts = 0;
	int r;

	c->items = fl_arena_get_n(c->arena, (size_t)available->len + must->len, sizeof *c->items);
	if (!c->items)
		return no_memory(err);
	r = add_all(c, available, false, err);
	if (r < 0 || (r = add_all(c, must, true, err)) < 0)
		return r;
	qsort(c->items, c->len, sizeof *c->items, by_place);
	for (uint32_t i = 0; i < c->len; i++) {
		if (len && by_place(&c->items[len - 1], &c->items[i]) == 0)
			c->items[len - 1].must |= c->items[i].must;
		else
			c->items[len++] = c->items[i];
	}
	c->len = len;
	for (uint32_t i = 0; i < len; i++)
		musts += c->items[i].must;
	if (c->size > len)
		return fl_fail(err, FL_E_INVALID, "invalid preference request for \"%.*s\": %u devices of %u available",
			       FL_ARG(c->resource->meta.name), c->size, len);
	if (c->size < musts)
		return fl_fail(err, FL_E_INVALID,
			       "invalid preference request for \"%.*s\": %u devices, %u of which must be among them",
			       FL_ARG(c->resource->meta.name), c->size, musts);
	return 0;
}

static int32_t near(const struct choice *c, uint32_t a, uint32_t b)
{
	const struct fl_unit *unit = &c->resource->units.at[c->items[a].unit];
	uint32_t other = c->items[b].unit;

	return other < unit->nearness.len ? unit->nearness.at[other] : 0;
}

/* ---- whole devices, exactly: every set is a number whose bits are items ---- */

struct exact {
	uint32_t size;                         /* of the groups that others will ask for: like this one, or pairs */
	int32_t *within;                       /* of a set: the sum over its pairs */
	int32_t *apart;                        /* of a set: the best that such groups can make of it; -1: not yet */
};

static int32_t best_apart(struct exact *e, uint32_t set);

/* Sets of one size in growing order, as Gosper found; 0 after the last one of n bits. */
static uint32_t next_set(uint32_t set, uint32_t n)
{
	uint32_t low = set & -set, up = set + low;

	set = up | ((set ^ up) >> (2 + __builtin_ctz(low)));
	return set >> n ? 0 : set;
}

/* The best of all groups of `size` items of the set that have its first one, and what is left of it after that. */
static int32_t best_with_first(struct exact *e, uint32_t set, uint32_t size)
{
	uint32_t first = set & -set, others[FL_PREFER_EXACT], n = 0;
	int32_t best = -1;

	for (uint32_t left = set ^ first; left; left &= left - 1)
		others[n++] = left & -left;
	for (uint32_t some = (1u << (size - 1)) - 1;; some = next_set(some, n)) {
		uint32_t group = first;
		int32_t sum;

		for (uint32_t left = some; left; left &= left - 1)
			group |= others[__builtin_ctz(left)];
		sum = e->within[group] + best_apart(e, set ^ group);
		best = sum > best ? sum : best;
		if (!some || !next_set(some, n))
			return best;
	}
}

/* One group may be smaller, where it does not come out even. Depth is that of groups: at most FL_PREFER_EXACT. */
static int32_t best_apart(struct exact *e, uint32_t set)
{
	uint32_t count = (uint32_t)__builtin_popcount(set), rest = count % e->size;
	int32_t best = -1, other;

	if (count < e->size)
		return e->within[set];
	if (e->apart[set] >= 0)
		return e->apart[set];
	best = best_with_first(e, set, e->size);
	other = rest ? best_with_first(e, set, rest) : -1;
	return e->apart[set] = other > best ? other : best;
}

static bool exact_init(const struct choice *c, struct exact *e)
{
	uint32_t sets = 1u << c->len;

	*e = (struct exact){ .size = c->size > 1 ? c->size : 2 };
	e->within = fl_arena_get_n(c->arena, sets, sizeof *e->within);
	e->apart = fl_arena_get_n(c->arena, sets, sizeof *e->apart);
	if (!e->within || !e->apart)
		return false;
	memset(e->apart, 0xff, sets * sizeof *e->apart);
	for (uint32_t set = 1; set < sets; set++) {
		uint32_t first = (uint32_t)__builtin_ctz(set), others = set & (set - 1);
		int32_t sum = e->within[others];

		for (; others; others &= others - 1)
			sum += near(c, first, (uint32_t)__builtin_ctz(others));
		e->within[set] = sum;
	}
	return true;
}

/* The set that is nearest in itself; of those the one that leaves the best groups to others; of those the one whose
 * others are nearest altogether; of those the first in the order of the list. */
static bool exact_better(struct exact *e, uint32_t all, uint32_t set, uint32_t best)
{
	uint32_t differs = set ^ best;
	int32_t a, b;

	if (!best || e->within[set] != e->within[best])
		return !best || e->within[set] > e->within[best];
	a = best_apart(e, all ^ set);
	b = best_apart(e, all ^ best);
	if (a != b)
		return a > b;
	a = e->within[all ^ set];
	b = e->within[all ^ best];
	return a > b || (a == b && (set & differs & -differs));
}

static int choose_exactly(struct choice *c)
{
	uint32_t all = (1u << c->len) - 1, must = 0, best = 0;
	struct exact e;

	assert(c->len <= FL_PREFER_EXACT);
	if (!exact_init(c, &e))
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < c->len; i++)
		must |= (uint32_t)c->items[i].must << i;
	for (uint32_t set = (1u << c->size) - 1; set; set = next_set(set, c->len))
		if ((set & must) == must && exact_better(&e, all, set, best))
			best = set;
	for (uint32_t i = 0; i < c->len; i++)
		c->items[i].chosen = best >> i & 1;
	return 0;
}

/* ---- more of them: from each beginning, always the one that is nearest to those that are in ---- */

struct group {
	int64_t *gain;                         /* of each item: how near it is to those that are in, together */
	bool *in;
	int64_t sum;
	uint32_t left;
};

static void take_device(const struct choice *c, struct group *g, uint32_t i)
{
	g->sum += g->gain[i];
	g->in[i] = true;
	g->left--;
	for (uint32_t k = 0; k < c->len; k++)
		g->gain[k] += near(c, i, k);
}

static void grow(const struct choice *c, uint32_t from, struct group *g)
{
	memset(g->gain, 0, c->len * sizeof *g->gain);
	memset(g->in, 0, c->len * sizeof *g->in);
	g->sum = 0;
	g->left = c->size;
	for (uint32_t i = 0; i < c->len; i++)
		if (c->items[i].must)
			take_device(c, g, i);
	if (g->left && !g->in[from])
		take_device(c, g, from);
	while (g->left) {
		uint32_t best = c->len;

		for (uint32_t i = 0; i < c->len; i++)
			if (!g->in[i] && (best == c->len || g->gain[i] > g->gain[best]))
				best = i;
		take_device(c, g, best);
	}
}

static int choose_nearly(struct choice *c)
{
	uint32_t beginnings = c->len < FL_PREFER_BEGINNINGS ? c->len : FL_PREFER_BEGINNINGS, best = 0;
	struct group g = { .gain = fl_arena_get_n(c->arena, c->len, sizeof *g.gain),
			   .in = fl_arena_get_n(c->arena, c->len, sizeof *g.in) };
	int64_t best_sum = -1;

	if (!g.gain || !g.in)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < beginnings; i++) {
		uint32_t from = (uint32_t)((uint64_t)i * c->len / beginnings);

		grow(c, from, &g);
		if (g.sum > best_sum) {
			best_sum = g.sum;
			best = from;
		}
	}
	grow(c, best, &g);
	for (uint32_t i = 0; i < c->len; i++)
		c->items[i].chosen = g.in[i];
	return 0;
}

/* ---- shares and partitions: by what is in use ---- */

/* A unit, or the card that it is of. */
struct load {
	int64_t total;                         /* devices in the list */
	int64_t left;                          /* of those available, not chosen yet */
	int64_t chosen;
};

struct loads {
	struct load *units, *cards;            /* cards by the first unit of each */
	uint32_t *card_of;                     /* of a unit: its card's first unit */
};

static int load_init(const struct choice *c, struct loads *l)
{
	const struct fl_resource *r = c->resource;

	l->units = fl_arena_get_n(c->arena, r->units.len, sizeof *l->units);
	l->cards = fl_arena_get_n(c->arena, r->units.len, sizeof *l->cards);
	l->card_of = fl_arena_get_n(c->arena, r->units.len, sizeof *l->card_of);
	if (!l->units || !l->cards || !l->card_of)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < r->units.len; i++) {
		uint32_t first = 0;
		struct fl_str card = r->units.at[i].card;

		/* A unit that does not say its card is one of its own. */
		while (first < i && (!card.len || !fl_str_eq(r->units.at[first].card, card)))
			first++;
		l->card_of[i] = first;
		l->units[i].total = r->units.at[i].replicas > 0 ? r->units.at[i].replicas : 1;
		l->cards[first].total += l->units[i].total;
	}
	for (uint32_t i = 0; i < c->len; i++) {
		l->units[c->items[i].unit].left++;
		l->cards[l->card_of[c->items[i].unit]].left++;
	}
	return 0;
}

static void choose(struct choice *c, struct loads *l, struct item *item)
{
	struct load *of[] = { &l->units[item->unit], &l->cards[l->card_of[item->unit]] };

	item->chosen = true;
	for (uint32_t i = 0; i < FL_LEN(of); i++) {
		of[i]->left--;
		of[i]->chosen++;
	}
	c->size--;
}

/* In use, what has been chosen included. */
static int64_t used(const struct load *load)
{
	return load->total - load->left;
}

/* Is a better than b, where shares are spread? What this request has there already counts first: two shares of one card
 * are of no use to one container. */
static bool spread_better(const struct loads *l, uint32_t a, uint32_t b)
{
	const struct load *unit_a = &l->units[a], *unit_b = &l->units[b];
	const struct load *card_a = &l->cards[l->card_of[a]], *card_b = &l->cards[l->card_of[b]];

	if (card_a->chosen != card_b->chosen)
		return card_a->chosen < card_b->chosen;
	if (unit_a->chosen != unit_b->chosen)
		return unit_a->chosen < unit_b->chosen;
	if (used(card_a) != used(card_b))
		return used(card_a) < used(card_b);
	return used(unit_a) < used(unit_b);
}

/* Is card a better than b for `size` more devices, where they are packed? One that they all fit on, and of such the
 * fullest; else the one that takes most of them; one that the request has already before all others. */
static bool pack_better(const struct load *a, const struct load *b, int64_t size)
{
	bool fits_a = a->left >= size, fits_b = b->left >= size;

	if ((a->chosen > 0) != (b->chosen > 0))
		return a->chosen > 0;
	if (fits_a != fits_b)
		return fits_a;
	if (a->left != b->left)
		return fits_a ? a->left < b->left : a->left > b->left;
	return used(a) > used(b);
}

/* A unit with something left; there is one, as long as something is to be chosen. */
static uint32_t best_unit(const struct choice *c, const struct loads *l)
{
	bool packed = c->resource->share_policy == FL_SHARE_PACKED;
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < c->resource->units.len; i++) {
		const struct load *card = &l->cards[l->card_of[i]];

		if (!l->units[i].left)
			continue;
		if (best == UINT32_MAX)
			best = i;
		else if (!packed)
			best = spread_better(l, i, best) ? i : best;
		else if (l->card_of[i] != l->card_of[best])
			best = pack_better(card, &l->cards[l->card_of[best]], c->size) ? i : best;
		else
			best = used(&l->units[i]) > used(&l->units[best]) ? i : best;
	}
	assert(best != UINT32_MAX);
	return best;
}

static int choose_by_use(struct choice *c)
{
	struct loads l;
	int r = load_init(c, &l);
	uint32_t *next;

	if (r < 0)
		return r;
	next = fl_arena_get_n(c->arena, c->resource->units.len, sizeof *next);
	if (!next)
		return -FL_E_NOMEM;
	for (uint32_t i = c->len; i-- > 0;) {
		next[c->items[i].unit] = i;
		if (c->items[i].must)
			choose(c, &l, &c->items[i]);
	}
	while (c->size) {
		uint32_t unit = best_unit(c, &l);

		while (c->items[next[unit]].chosen)
			next[unit]++;
		choose(c, &l, &c->items[next[unit]]);
	}
	return 0;
}

/* Whole devices, each handed out once, of which it is known how near they are? */
static bool whole(const struct choice *c)
{
	for (uint32_t i = 0; i < c->len; i++) {
		const struct fl_unit *unit = &c->resource->units.at[c->items[i].unit];

		if (unit->replicas > 0 || !unit->nearness.len)
			return false;
	}
	return true;
}

int fl_prefer(const struct fl_resource *resource, const struct fl_device_ids *available,
	      const struct fl_device_ids *must, uint32_t size, struct fl_arena *arena, struct fl_str *ret_ids,
	      struct fl_err *err)
{
	struct choice c = { .resource = resource, .size = size, .arena = arena };
	int r = begin(&c, available, must, err);

	if (r < 0 || size == 0)
		return r;
	if (size == c.len)
		for (uint32_t i = 0; i < c.len; i++)
			c.items[i].chosen = true;
	else if (!whole(&c))
		r = choose_by_use(&c);
	else if (c.len <= FL_PREFER_EXACT)
		r = choose_exactly(&c);
	else
		r = choose_nearly(&c);
	if (r < 0)
		return no_memory(err);
	for (uint32_t i = 0, n = 0; i < c.len; i++)
		if (c.items[i].chosen)
			ret_ids[n++] = c.items[i].id;
	return 0;
}
