/* Where the GPU instances of a layout lie. */
#include "mig_models.h"
#include "test.h"

static const struct {
	const char *says, *model, *wants, *has;
	uint32_t costs[8];             /* 0: 1 */
	const char *layout, *goes;
	const char *why;               /* nothing fits; NULL: it does */
} rows[] = {
	{ "seven of one slice fill a GPU", "a100-sxm4-80gb", "1g.10gb:7", "", { 0 },
	  "1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6", "", NULL },
	{ "small ones go where large ones leave room, which the driver left to itself refuses", "a100-sxm4-80gb",
	  "1g.10gb:2 2g.20gb:1 3g.40gb:1", "", { 0 }, "2g.20gb@0 1g.10gb@2 1g.10gb@3 3g.40gb@4", "", NULL },
	{ "what matches stays", "h100-80gb-hbm3", "1g.10gb:2 3g.40gb:1", "1g.10gb@6 1g.10gb@2", { 0 },
	  "3g.40gb@0 1g.10gb@4 1g.10gb@6", "1g.10gb@2", NULL },
	{ "what is too many goes", "h100-80gb-hbm3", "3g.40gb:1", "3g.40gb@0 3g.40gb@4", { 0 },
	  "3g.40gb@0", "3g.40gb@4", NULL },
	{ "the cheaper one goes", "h100-80gb-hbm3", "3g.40gb:1", "3g.40gb@0 3g.40gb@4", { 100, 1 }, "3g.40gb@0",
	  "3g.40gb@4", NULL },
	{ "a held one stays where it is, and others go around it", "h100-80gb-hbm3", "1g.10gb:1 3g.40gb:1",
	  "3g.40gb@4 1g.10gb@0", { 100, 1 }, "1g.10gb@0 3g.40gb@4", "", NULL },
	{ "nothing is wanted: all goes", "a30", "", "2g.12gb@0 1g.6gb@2", { 0 }, "", "2g.12gb@0 1g.6gb@2", NULL },
	{ "compute instances of one profile share a GPU instance", "a100-sxm4-80gb", "1c.3g.40gb:3", "", { 0 },
	  "3g.40gb@0=1,1,1", "", NULL },
	{ "small parts fill up what large ones leave", "a100-sxm4-80gb", "1c.3g.40gb:2 2c.3g.40gb:1", "", { 0 },
	  "3g.40gb@0=1 3g.40gb@4=2,1", "", NULL },
	{ "other compute instances make another GPU instance", "a100-sxm4-80gb", "1c.3g.40gb:3",
	  "3g.40gb@0 3g.40gb@4=1,1,1",
	  { 0 }, "3g.40gb@4=1,1,1", "3g.40gb@0", NULL },
	{ "one with the media engine", "a30", "1g.6gb:3 1g.6gb+me:1", "", { 0 },
	  "1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb+me@3", "", NULL },
	{ "graphics, and without media engines", "rtx-pro-6000", "1g.24gb+gfx:2 1g.24gb-me:1 1g.24gb+me.all:1", "",
	  { 0 }, "", "",
	  "the layout needs 6 video decoders: the GPU has 4" },
	{ "all media engines beside none", "rtx-pro-6000", "1g.24gb-me:3 1g.24gb+me.all:1", "", { 0 },
	  "1g.24gb-me@0 1g.24gb-me@1 1g.24gb-me@2 1g.24gb+me.all@3", "", NULL },
	{ "more than a GPU has of a profile", "h100-80gb-hbm3", "3g.40gb:3", "", { 0 }, "", "",
	  "3 GPU instances 3g.40gb are wanted: a GPU has at most 2" },
	{ "more than there can be of all", "h100-80gb-hbm3", "1g.10gb:7 1g.20gb:4", "", { 0 }, "", "",
	  "a GPU has at most 8 GPU instances, and more are wanted" },
	{ "too many slices", "h100-80gb-hbm3", "4g.40gb:1 3g.40gb:1 1g.10gb:1", "", { 0 }, "", "",
	  "the layout needs 8 compute slices: the GPU has 7" },
	{ "the media engine twice", "a30", "1g.6gb+me:1 2g.12gb+me:1", "", { 0 }, "", "",
	  "the layout needs 2 JPEG engines: the GPU has 1" },
	{ "slices enough, and no place", "h100-80gb-hbm3", "3g.40gb:2 1g.10gb:1", "", { 0 }, "", "",
	  "no places of the memory slices hold all of it at once: 3g.40gb at 0 4; 1g.10gb at 0 1 2 3 4 5 6" },
	{ "a profile of another GPU", "a30", "1g.10gb:1", "", { 0 }, "", "",
	  "the GPU has no profile 1g.10gb: it has 1g.6gb, 2g.12gb, 4g.24gb, 1g.6gb+me, 2g.12gb+me" },
	{ "more than half is no part", "h100-80gb-hbm3", "3c.4g.40gb:1", "", { 0 }, "", "",
	  "3c.4g.40gb: a GPU instance 4g.40gb has no compute instances of 3 of its 4 slices" },
};

static void print_goes(const struct fl_mig_task *task, const struct fl_mig_layout *layout, struct fl_buf *buf)
{
	for (uint32_t i = 0; i < task->has_len; i++) {
		if (!layout->goes[i])
			continue;
		if (buf->len)
			fl_buf_char(buf, ' ');
		mig_print(&task->has[i], 1, buf);
	}
}

TEST(mig_solves)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_KIB), goes = FL_BUF(FL_KIB);
		uint32_t costs[8];
		struct fl_mig_task task = { .costs = costs };
		struct fl_mig_layout layout;
		struct fl_err err = { 0 };

		task.offers = mig_offers(mig_model(row->model), &arena, &task.offer_len);
		task.wants = mig_counts(row->wants, &arena, &task.want_len);
		task.has = mig_instances(row->has, &arena, &task.has_len);
		OK(task.offer_len && task.has && task.wants ? 0 : -FL_E_NOMEM);
		for (uint32_t i = 0; i < 8; i++)
			costs[i] = row->costs[i] ? row->costs[i] : 1;
		if (row->why) {
			REFUSED(fl_mig_solve(&task, &arena, &layout, &err), FL_E_INVALID);
			CHECK(err.code == FL_E_NOMEM || strcmp(err.text, row->why) == 0);
			continue;
		}
		OK_ERR(fl_mig_solve(&task, &arena, &layout, &err), &err);
		mig_print(layout.at, layout.len, &text);
		print_goes(&task, &layout, &goes);
		OK(fl_buf_check(&text, "layout", NULL));
		OK(fl_buf_check(&goes, "goes", NULL));
		CHECK_STR(fl_buf_view(&text), row->layout);
		CHECK_STR(fl_buf_view(&goes), row->goes);
	}
}

/* ---- against all that there is ---- */

struct all {
	const struct fl_mig_task *task;
	const struct fl_mig_offer *items[8];
	uint32_t len;
	int32_t start[8];
	int64_t best;                  /* the least cost; -1: nothing fits */
};

static void judge(struct all *all)
{
	int64_t cost = 0;

	for (uint32_t i = 0; i < all->task->has_len; i++) {
		bool kept = false;

		for (uint32_t k = 0; k < all->len; k++)
			kept |= all->start[k] == all->task->has[i].start &&
				fl_str_eq(all->items[k]->name, all->task->has[i].profile);
		cost += kept ? 0 : all->task->costs[i];
	}
	if (all->best < 0 || cost < all->best)
		all->best = cost;
}

static void try_all(struct all *all, uint32_t n)
{
	if (n == all->len) {
		judge(all);
		return;
	}
	for (uint32_t i = 0; i < all->items[n]->places.len; i++) {
		const struct fl_mig_place *at = &all->items[n]->places.at[i];
		bool free_ = true;

		for (uint32_t k = 0; k < n; k++)
			free_ &= at->start >= all->start[k] + all->items[k]->places.at[0].size ||
				 all->start[k] >= at->start + at->size;
		all->start[n] = at->start;
		if (free_)
			try_all(all, n + 1);
	}
}

static bool sums_fit(const struct all *all)
{
	int32_t sum[5] = { 0 }, most[5] = { 0 };

	for (uint32_t i = 0; i < all->task->offer_len; i++) {
		const struct fl_mig_offer *o = &all->task->offers[i];
		const int32_t of[5] = { o->slices, o->decoders, o->encoders, o->jpegs, o->ofas };
		int32_t same = 0;

		for (uint32_t k = 0; k < all->len; k++)
			same += all->items[k] == o;
		if (same > o->count)
			return false;
		for (int k = 0; k < 5; k++) {
			most[k] = of[k] > most[k] ? of[k] : most[k];
			sum[k] += same * of[k];
		}
	}
	for (int k = 0; k < 5; k++)
		if (sum[k] > most[k])
			return false;
	return true;
}

/* Instances that lie somewhere, beside each other. */
static uint32_t scatter(const struct fl_mig_offer *offers, uint32_t len, struct fl_mig_instance *has,
			int32_t slices[8])
{
	uint64_t taken = 0;
	uint32_t n = 0;

	for (int tries = 0; tries < 6 && len; tries++) {
		const struct fl_mig_offer *o = &offers[test_random() % len];
		const struct fl_mig_place *at = &o->places.at[test_random() % o->places.len];
		uint64_t mask = ((1ull << at->size) - 1) << at->start;

		if (taken & mask)
			continue;
		taken |= mask;
		slices[n] = o->slices;
		has[n] = (struct fl_mig_instance){ .computes = { &slices[n], 1 } };
		FL_SET(&has[n], profile, o->name);
		FL_SET(&has[n], start, at->start);
		n++;
	}
	return n;
}

static bool lies_well(const struct fl_mig_task *task, const struct fl_mig_layout *layout)
{
	uint64_t taken = 0;

	for (uint32_t i = 0; i < layout->len; i++) {
		const struct fl_mig_offer *o = fl_mig_offered(task->offers, task->offer_len, layout->at[i].profile);
		bool is_place = false;

		for (uint32_t k = 0; k < o->places.len; k++)
			is_place |= o->places.at[k].start == layout->at[i].start;
		if (!is_place || taken & ((1ull << o->places.at[0].size) - 1) << layout->at[i].start)
			return false;
		taken |= ((1ull << o->places.at[0].size) - 1) << layout->at[i].start;
	}
	return true;
}

/* A failed allocation is no news here: all of it is tortured above. */
TEST_ONCE(mig_solves_as_well_as_an_exhaustive_search)
{
	static const char *const models[] = { "a100-sxm4-80gb", "a30", "h100-80gb-hbm3", "h200-141gb", "b200",
					      "rtx-pro-6000" };
	uint32_t fitted = 0;

	for (int round = 0; round < 6000; round++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_mig_instance has[8];
		struct fl_mig_count wants[8];
		int32_t slices[8];
		uint32_t costs[8];
		struct fl_mig_task task = { .has = has, .costs = costs, .wants = wants };
		struct all all = { .task = &task, .best = -1 };
		struct fl_mig_layout layout;
		struct fl_err err = { 0 };
		uint32_t n = (uint32_t)(test_random() % 6);

		task.offers = mig_offers(mig_model(models[test_random() % FL_LEN(models)]), &arena, &task.offer_len);
		task.has_len = scatter(task.offers, task.offer_len, has, slices);
		for (uint32_t i = 0; i < 8; i++)
			costs[i] = (uint32_t)(1 + test_random() % 3 * 99);
		for (uint32_t i = 0; i < n; i++) {
			const struct fl_mig_offer *o = &task.offers[test_random() % task.offer_len];

			wants[i] = (struct fl_mig_count){ 0 };
			FL_SET(&wants[i], profile, o->name);
			FL_SET(&wants[i], count, 1);
			all.items[all.len++] = o;
		}
		task.want_len = n;
		if (sums_fit(&all))
			try_all(&all, 0);
		if (all.best < 0) {
			CHECK_INT(fl_mig_solve(&task, &arena, &layout, &err), -FL_E_INVALID);
			continue;
		}
		OK_ERR(fl_mig_solve(&task, &arena, &layout, &err), &err);
		CHECK_INT(layout.len, n);
		CHECK(lies_well(&task, &layout));
		CHECK_INT(layout.cost, all.best);
		fitted++;
	}
	CHECK(fitted > 1000);
}
