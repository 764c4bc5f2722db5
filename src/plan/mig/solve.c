#include "plan/mig/solve.h"
#include <stdlib.h>

/* One GPU instance that is wanted. */
struct item {
	const struct fl_mig_offer *offer;
	int32_t computes[FL_MIG_COMPUTES_MAX];   /* the largest first */
	uint32_t compute_len;
	int32_t used;                            /* slices of these */
};

struct search {
	const struct fl_mig_task *task;
	struct fl_arena *arena;
	struct fl_err *err;
	struct item items[FL_MIG_INSTANCES_MAX];
	uint32_t len;
	uint32_t has_len;
	uint64_t has_mask[FL_MIG_INSTANCES_MAX];   /* memory slices of each; all of them where the place is unknown */
	uint32_t cost[FL_MIG_INSTANCES_MAX];

	int32_t start[FL_MIG_INSTANCES_MAX];     /* of each item, while searching ... */
	int32_t best_start[FL_MIG_INSTANCES_MAX];/* ... and of the best so far */
	uint64_t best;                           /* what its kept instances cost, plus 1; 0: none found yet */
};

/* ---- profiles ---- */

struct fl_str fl_mig_split(struct fl_str profile, int32_t *ret_slices)
{
	uint32_t n = 0;

	*ret_slices = 0;
	while (n < profile.len && n < 2 && profile.p[n] >= '0' && profile.p[n] <= '9')
		n++;
	if (!n || !fl_str_eq(fl_str_sub(profile, n, 2), FL_S("c.")))
		return profile;
	for (uint32_t i = 0; i < n; i++)
		*ret_slices = *ret_slices * 10 + (profile.p[i] - '0');
	return fl_str_sub(profile, n + 2, profile.len);
}

const struct fl_mig_offer *fl_mig_offered(const struct fl_mig_offer *offers, uint32_t len, struct fl_str profile)
{
	return fl_find(offers, len, name, profile);
}

static int no_profile(struct search *s, struct fl_str name)
{
	const struct fl_mig_task *task = s->task;
	char text[FL_ERR_TEXT / 2] = "";
	struct fl_buf list = FL_BUF_IN(text);

	for (uint32_t i = 0; i < task->offer_len; i++)
		fl_buf_printf(&list, "%s%.*s", i ? ", " : "", FL_ARG(task->offers[i].name));
	return fl_fail(s->err, FL_E_INVALID, "the GPU has no profile %.*s: it has %.*s",
		       FL_ARG(fl_str_sub(name, 0, 40)),
		       FL_ARG(list.failed ? FL_S("others") : fl_buf_view(&list)));
}

/* More than half of a GPU instance but not all of it is no compute instance. */
static bool is_part(int32_t slices, int32_t whole)
{
	static const int32_t sizes[] = { 1, 2, 3, 4, 6, 7, 8 };

	for (size_t i = 0; i < FL_LEN(sizes); i++)
		if (sizes[i] == slices)
			return slices < whole && 2 * slices <= whole + 1;
	return false;
}

/* ---- what is wanted, as GPU instances ---- */

static int add_item(struct search *s, const struct fl_mig_offer *offer, int32_t slices)
{
	struct item *item;

	if (s->len == FL_MIG_INSTANCES_MAX)
		return fl_fail(s->err, FL_E_INVALID, "a GPU has at most %d GPU instances, and more are wanted",
			       FL_MIG_INSTANCES_MAX);
	item = &s->items[s->len++];
	*item = (struct item){ .offer = offer, .computes = { slices }, .compute_len = 1, .used = slices };
	return 0;
}

/* A part goes to the first instance with room for it that is in parts already. */
static int add_part(struct search *s, const struct fl_mig_offer *offer, int32_t slices)
{
	for (uint32_t i = 0; i < s->len; i++) {
		struct item *item = &s->items[i];

		if (item->offer != offer || item->used + slices > offer->slices ||
		    item->compute_len == FL_MIG_COMPUTES_MAX)
			continue;
		item->computes[item->compute_len++] = slices;
		item->used += slices;
		return 0;
	}
	return add_item(s, offer, slices);
}

/* Those of this many slices; 0: whole ones. */
static int add_wants(struct search *s, int32_t slices)
{
	for (uint32_t i = 0; i < s->task->want_len; i++) {
		const struct fl_mig_count *want = &s->task->wants[i];
		const struct fl_mig_offer *offer;
		int32_t part;
		struct fl_str name = fl_mig_split(want->profile, &part);
		int r = 0;

		if (part != slices)
			continue;
		offer = fl_mig_offered(s->task->offers, s->task->offer_len, name);
		if (!offer)
			return no_profile(s, name);
		if (part && !is_part(part, offer->slices))
			return fl_fail(s->err, FL_E_INVALID, "%.*s: a GPU instance %.*s has no compute instances of %d "
							     "of its %d slices",
				       FL_ARG(want->profile), FL_ARG(name), (int)part, (int)offer->slices);
		for (int32_t k = 0; k < want->count && r == 0; k++)
			r = part ? add_part(s, offer, part) : add_item(s, offer, offer->slices);
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_size(const void *a_, const void *b_)
{
	const struct item *a = a_, *b = b_;
	int32_t x = a->offer->places.len ? a->offer->places.at[0].size : 0;
	int32_t y = b->offer->places.len ? b->offer->places.at[0].size : 0;

	if (x != y)
		return x > y ? -1 : 1;
	if (a->offer != b->offer)
		return a->offer < b->offer ? -1 : 1;
	return memcmp(a->computes, b->computes, sizeof a->computes);
}

/* ---- does the sum fit? ---- */

static int check_counts(struct search *s)
{
	for (uint32_t i = 0; i < s->len; i++) {
		const struct fl_mig_offer *offer = s->items[i].offer;
		int32_t same = 0;

		for (uint32_t k = 0; k < s->len; k++)
			same += s->items[k].offer == offer;
		if (same > offer->count)
			return fl_fail(s->err, FL_E_INVALID, "%d GPU instances %.*s are wanted: a GPU has at most %d",
				       (int)same, FL_ARG(offer->name), (int)offer->count);
		if (!offer->places.len)
			return fl_fail(s->err, FL_E_INVALID, "the driver names no place for %.*s", FL_ARG(offer->name));
	}
	return 0;
}

static int check_sums(struct search *s)
{
	static const struct {
		const char *name;
		size_t at;
	} rows[] = {
		{ "compute slices", offsetof(struct fl_mig_offer, slices) },
		{ "video decoders", offsetof(struct fl_mig_offer, decoders) },
		{ "video encoders", offsetof(struct fl_mig_offer, encoders) },
		{ "JPEG engines", offsetof(struct fl_mig_offer, jpegs) },
		{ "optical flow engines", offsetof(struct fl_mig_offer, ofas) },
	};

	for (size_t row = 0; row < FL_LEN(rows); row++) {
		int32_t sum = 0, most = 0;

		for (uint32_t i = 0; i < s->len; i++)
			sum += *(const int32_t *)((const char *)s->items[i].offer + rows[row].at);
		for (uint32_t i = 0; i < s->task->offer_len; i++) {
			int32_t all = *(const int32_t *)((const char *)&s->task->offers[i] + rows[row].at);

			most = all > most ? all : most;
		}
		if (sum > most)
			return fl_fail(s->err, FL_E_INVALID, "the layout needs %d %s: the GPU has %d", (int)sum,
				       rows[row].name, (int)most);
	}
	return 0;
}

/* ---- where ---- */

static uint64_t mask_of(int32_t start, int32_t size)
{
	if (start < 0 || size < 1 || start > 63 || size > 63)
		return UINT64_MAX;
	return ((1ull << size) - 1) << start;
}

static void take_existing(struct search *s)
{
	const struct fl_mig_task *task = s->task;

	s->has_len = task->has_len < FL_MIG_INSTANCES_MAX ? task->has_len : FL_MIG_INSTANCES_MAX;
	for (uint32_t i = 0; i < s->has_len; i++) {
		const struct fl_mig_offer *offer =
			fl_mig_offered(task->offers, task->offer_len, task->has[i].profile);

		s->cost[i] = task->costs ? task->costs[i] : 1;
		s->has_mask[i] = UINT64_MAX;
		for (uint32_t k = 0; offer && k < offer->places.len; k++)
			if (offer->places.at[k].start == task->has[i].start)
				s->has_mask[i] = mask_of(task->has[i].start, offer->places.at[k].size);
	}
}

static bool is_item(const struct item *item, int32_t start, const struct fl_mig_instance *has)
{
	if (has->start != start || has->computes.len != item->compute_len ||
	    !fl_str_eq(has->profile, item->offer->name))
		return false;
	for (uint32_t i = 0; i < item->compute_len; i++)
		if (item->computes[i] != has->computes.at[i])
			return false;
	return true;
}

/* The one of the existing that an item at this place is, or -1. */
static int existing(const struct search *s, uint32_t item, int32_t start)
{
	for (uint32_t i = 0; i < s->has_len; i++)
		if (is_item(&s->items[item], start, &s->task->has[i]))
			return (int)i;
	return -1;
}

/* What may still be kept: whatever lies where nothing has been put yet. */
static uint64_t still(const struct search *s, uint64_t taken)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->has_len; i++)
		sum += s->has_mask[i] & taken ? 0 : s->cost[i];
	return sum;
}

/* Of items that are the same, each lies above the one before. Branches that cannot keep more than the best are cut. */
static void place(struct search *s, uint32_t n, uint64_t taken, uint64_t kept)
{
	const struct item *item = &s->items[n];
	bool same;

	if (s->best && kept + (n < s->len ? still(s, taken) : 0) + 1 <= s->best)
		return;
	if (n == s->len) {
		s->best = kept + 1;
		memcpy(s->best_start, s->start, sizeof s->start);
		return;
	}
	same = n && by_size(item, item - 1) == 0;
	for (uint32_t i = 0; i < item->offer->places.len; i++) {
		const struct fl_mig_place *at = &item->offer->places.at[i];
		uint64_t mask = mask_of(at->start, at->size);
		int old;

		if ((taken & mask) || (same && at->start <= s->start[n - 1]))
			continue;
		old = existing(s, n, at->start);
		s->start[n] = at->start;
		place(s, n + 1, taken | mask, kept + (old >= 0 ? s->cost[old] : 0));
	}
}

static int no_place(struct search *s)
{
	char text[FL_ERR_TEXT / 2] = "";
	struct fl_buf list = FL_BUF_IN(text);

	for (uint32_t i = 0; i < s->len; i++) {
		const struct fl_mig_offer *offer = s->items[i].offer;

		if (i && offer == s->items[i - 1].offer)
			continue;
		fl_buf_printf(&list, "%s%.*s at", i ? "; " : "", FL_ARG(offer->name));
		for (uint32_t k = 0; k < offer->places.len; k++)
			fl_buf_printf(&list, " %d", (int)offer->places.at[k].start);
	}
	return fl_fail(s->err, FL_E_INVALID, "no places of the memory slices hold all of it at once: %.*s",
		       FL_ARG(list.failed ? FL_S("the driver offers too few") : fl_buf_view(&list)));
}

static int by_place(const void *a, const void *b)
{
	const struct fl_mig_instance *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int give(struct search *s, struct fl_mig_layout *ret)
{
	*ret = (struct fl_mig_layout){ .len = s->len };
	for (uint32_t i = 0; i < s->has_len; i++) {
		ret->goes[i] = true;
		ret->cost += s->cost[i];
	}
	for (uint32_t i = 0; i < s->len; i++) {
		struct fl_mig_instance *to = &ret->at[i];
		int old = existing(s, i, s->best_start[i]);

		if (old >= 0) {
			ret->goes[old] = false;
			ret->cost -= s->cost[old];
		}
		FL_SET(to, profile, s->items[i].offer->name);
		FL_SET(to, start, s->best_start[i]);
		if (!FL_ELEMENTS(to, s->arena, computes, s->items[i].compute_len))
			return fl_fail(s->err, FL_E_NOMEM, "no memory for a layout");
		memcpy(to->computes.at, s->items[i].computes, s->items[i].compute_len * sizeof *to->computes.at);
	}
	qsort(ret->at, ret->len, sizeof *ret->at, by_place);
	return 0;
}

int fl_mig_solve(const struct fl_mig_task *task, struct fl_arena *arena, struct fl_mig_layout *ret,
		 struct fl_err *err)
{
	struct search s = { .task = task, .arena = arena, .err = err };
	int r = 0;

	for (int32_t slices = FL_MIG_COMPUTES_MAX; slices > 0 && r == 0; slices--)
		r = add_wants(&s, slices);
	if (r == 0)
		r = add_wants(&s, 0);
	if (r == 0)
		r = check_counts(&s);
	if (r == 0)
		r = check_sums(&s);
	if (r < 0)
		return r;
	qsort(s.items, s.len, sizeof *s.items, by_size);
	take_existing(&s);
	place(&s, 0, 0, 0);
	return s.best ? give(&s, ret) : no_place(&s);
}
