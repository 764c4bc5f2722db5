/* Which devices are best together. */
#include "gpu_facts.h"
#include "plan/gpu/allocate.h"

/* ---- whole devices: boards as matrices ---- */

/* NVSwitch: everything is as near as everything, two sockets apart. */
static const char dgx[] = "1220 1220 1220 1210 1210 1210 1210 | 1220 1220 1210 1210 1210 1210 | 1220 1210 1210 1210 "
			  "1210 | 1210 1210 1210 1210 | 1220 1220 1220 | 1220 1220 | 1220";
/* Two cards and no link. */
static const char t4[] = "10";
/* Two sockets, on each two switches with two cards. */
static const char pcie[] = "50 30 30 10 10 10 10 | 30 30 10 10 10 10 | 50 10 10 10 10 | 10 10 10 10 | 50 30 30 | 30 30 "
			   "| 50";
/* The hybrid cube mesh of eight V100 with six links each. */
static const char cube[] = "120 120 220 210 10 10 10 | 220 120 10 210 10 10 | 220 10 10 110 10 | 10 10 10 110 | "
			   "120 120 220 | 220 120 | 220";
/* Four cards, two bridges of two links. */
static const char bridges[] = "20 220 20 | 20 220 | 20";
/* Five, of which the last is near to none. */
static const char five[] = "50 50 50 10 | 50 50 10 | 50 10 | 10";

static const struct {
	const char *says, *board;
	uint32_t n;
	const char *available, *must;      /* "": all of it, nothing */
	uint32_t size;
	const char *got;
} whole[] = {
	{ "DGX: two of one socket", dgx, 8, "", "", 2, "0 1" },
	{ "DGX: four are one socket", dgx, 8, "", "", 4, "0 1 2 3" },
	{ "DGX: four of those that are left", dgx, 8, "1 4 5 6 7", "", 4, "4 5 6 7" },
	{ "DGX: two, so that three of one socket stay together", dgx, 8, "0 1 2 4 5", "", 2, "4 5" },
	{ "DGX: the one that is alone leaves pairs alone", dgx, 8, "1 2 3 4 5", "", 1, "1" },
	{ "DGX: eight are all", dgx, 8, "", "", 8, "0 1 2 3 4 5 6 7" },
	{ "2 x T4: one", t4, 2, "", "", 1, "0" },
	{ "2 x T4: both", t4, 2, "", "", 2, "0 1" },
	{ "PCIe: two under one switch", pcie, 8, "", "", 2, "0 1" },
	{ "PCIe: a switch that is whole, not two halves", pcie, 8, "0 2 3 5 7", "", 2, "2 3" },
	{ "PCIe: one GPU where its neighbour is gone", pcie, 8, "0 1 2 4 5", "", 1, "2" },
	{ "PCIe: four are a socket", pcie, 8, "0 1 3 4 5 6 7", "", 4, "4 5 6 7" },
	{ "PCIe: three, and the fourth is not torn from a pair", pcie, 8, "", "", 3, "0 1 2" },
	{ "PCIe: must on the worse side", pcie, 8, "0 1 2 3 7", "7", 2, "0 7" },
	{ "PCIe: must and its neighbour", pcie, 8, "", "6", 2, "6 7" },
	{ "PCIe: two musts that are far from each other", pcie, 8, "", "0 7", 3, "0 1 7" },
	{ "PCIe: must that nobody said to be available", pcie, 8, "0 1", "5", 2, "0 5" },
	{ "cube: two links of one socket, and the others stay pairs", cube, 8, "", "", 2, "0 3" },
	{ "cube: four fully meshed", cube, 8, "", "", 4, "0 1 2 3" },
	{ "cube: across the sockets where two links lead there", cube, 8, "0 4 6", "", 2, "0 4" },
	{ "cube: three of which all are linked", cube, 8, "", "", 3, "0 2 3" },
	{ "bridges: two that are bridged", bridges, 4, "", "", 2, "0 2" },
	{ "bridges: the bridge that is whole", bridges, 4, "0 1 3", "", 2, "1 3" },
	{ "bridges: one, from the bridge that is broken", bridges, 4, "0 1 3", "", 1, "0" },
	{ "five: two, and not the one alone", five, 5, "", "", 2, "0 1" },
	{ "five: one is the one alone", five, 5, "", "", 1, "4" },
	{ "five: three of four", five, 5, "", "", 3, "0 1 2" },
	{ "none at all", dgx, 8, "", "", 0, "" },
	{ "the same device twice counts once", t4, 2, "1 1 0", "1 1", 1, "1" },
};

/* A resource of n units, "0" and so on, near to each other as the upper half of the matrix says. */
static const struct fl_resource *board(struct fl_arena *arena, const char *matrix, uint32_t n)
{
	struct fl_resource *r = fl_arena_get(arena, sizeof *r);
	struct fl_str rest = fl_str(matrix), word;
	uint32_t row = 0, column = 1;

	if (!r || !FL_ELEMENTS(r, arena, units, n))
		return NULL;
	FL_SET(FL_IN(r, meta), name, FL_S("nvidia.com/gpu"));
	for (uint32_t i = 0; i < n; i++) {
		FL_SET(&r->units.at[i], id, fl_arena_printf(arena, "%c", 'A' + (char)i));
		FL_SET(&r->units.at[i], healthy, true);
		if (!r->units.at[i].id.p || !FL_ELEMENTS(&r->units.at[i], arena, nearness, n))
			return NULL;
	}
	while (fl_str_split(&rest, ' ', &word)) {
		int64_t score = 0;

		if (!word.len)
			continue;
		if (fl_str_eq(word, FL_S("|"))) {
			column = ++row + 1;
			continue;
		}
		if (!fl_str_i64(word, &score) || column >= n)
			return NULL;
		r->units.at[row].nearness.at[column] = r->units.at[column].nearness.at[row] = (int32_t)score;
		column++;
	}
	return r;
}

/* "0 3" as the ids A and D. */
static struct fl_str_list devices(struct fl_arena *arena, const struct fl_resource *r, const char *numbers)
{
	struct fl_str_list list = facts_words(arena, numbers);

	for (uint32_t i = 0; i < list.len; i++) {
		int64_t n = 0;

		if (fl_str_i64(list.at[i], &n) && n < r->units.len)
			list.at[i] = r->units.at[n].id;
	}
	return list;
}

TEST(whole_devices_by_how_near_they_are)
{
	EACH_ROW (row, whole) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_KIB);
		struct fl_str_list available, must;
		const struct fl_resource *r;
		struct fl_str got[16];

		GOT(r = board(&arena, row->board, row->n));
		available = devices(&arena, r, *row->available ? row->available : "0 1 2 3 4 5 6 7");
		must = devices(&arena, r, row->must);
		GOT(available.at && must.at ? r : NULL);
		if (!*row->available)
			available.len = row->n;
		OK(fl_prefer(r, &(struct fl_device_ids){ available.at, available.len },
			     &(struct fl_device_ids){ must.at, must.len }, row->size, &arena, got, NULL));
		for (uint32_t i = 0; i < row->size; i++)
			fl_buf_printf(&text, "%s%d", i ? " " : "", got[i].p[0] - 'A');
		OK(fl_buf_check(&text, "the answer", NULL));
		CHECK_STR(fl_buf_view(&text), row->got);
	}
}

/* ---- beyond what is looked at exactly ---- */

TEST(many_devices_are_grouped_as_they_are_linked)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str ids[24], got[24];
	const struct fl_resource *r;

	GOT(r = board(&arena, "", 24));
	for (uint32_t a = 0; a < 24; a++) {
		ids[a] = r->units.at[a].id;
		for (uint32_t b = 0; b < 24; b++)   /* six boards of four, dealt out */
			r->units.at[a].nearness.at[b] = a % 6 == b % 6 ? 60 : 10;
	}
	OK(fl_prefer(r, &(struct fl_device_ids){ ids + 1, 23 }, &(struct fl_device_ids){ ids, 0 }, 4, &arena, got,
		     NULL));
	for (uint32_t i = 0; i < 4; i++)
		CHECK_INT(got[i].p[0] - 'A', 1 + 6 * i);
	OK(fl_prefer(r, &(struct fl_device_ids){ ids, 24 }, &(struct fl_device_ids){ ids + 9, 1 }, 4, &arena, got,
		     NULL));
	for (uint32_t i = 0; i < 4; i++)
		CHECK_INT(got[i].p[0] - 'A', 3 + 6 * i);
}

/* ---- shares and partitions ---- */

#define THREE "units: [{id: A, card: '1', replicas: 4}, {id: B, card: '2', replicas: 4}, {id: C, card: '3', " \
	      "replicas: 4}]\n"
#define MIG "units: [{id: A, card: '1'}, {id: B, card: '1'}, {id: C, card: '2'}, {id: D, card: '2'}, {id: E, card: " \
	    "'2'}]\n"
#define PACKED "sharePolicy: packed\n"
#define HEAD "metadata: {name: nvidia.com/gpu}\n"
#define ALL "A::0 A::1 A::2 A::3 B::0 B::1 B::2 B::3 C::0 C::1 C::2 C::3"

static const struct {
	const char *says, *resource, *available, *must;
	uint32_t size;
	const char *got;                   /* what is wrong, when it is refused */
	enum fl_code code;
} shares[] = {
	{ "spread: one GPU after the other", HEAD THREE, ALL, "", 2, "A::0 B::0", FL_OK },
	{ "spread: more than GPUs", HEAD THREE, ALL, "", 4, "A::0 A::1 B::0 C::0", FL_OK },
	{ "spread: the one that is used least", HEAD THREE, "A::3 B::0 B::3 C::1", "", 1, "B::0", FL_OK },
	{ "spread: another GPU before another share, however much it is used", HEAD THREE, "A::0 A::1 A::2 C::3",
	  "", 2,
	  "A::0 C::3", FL_OK },
	{ "spread: what must be there counts", HEAD THREE, ALL, "B::2", 2, "A::0 B::2", FL_OK },
	{ "packed: all on one", HEAD PACKED THREE, ALL, "", 3, "A::0 A::1 A::2", FL_OK },
	{ "packed: the fullest that has room", HEAD PACKED THREE, "A::0 A::1 A::2 A::3 B::0 C::0 C::3", "", 2,
	  "C::0 C::3", FL_OK },
	{ "packed: few GPUs, where none has room for all", HEAD PACKED THREE, "A::0 B::1 B::2 B::3 C::0 C::3", "", 5,
	  "B::1 B::2 B::3 C::0 C::3", FL_OK },
	{ "packed: beside what must be there", HEAD PACKED THREE, "A::0 B::0 B::1 B::2", "B::2", 2, "B::0 B::2",
	  FL_OK },
	{ "partitions: spread over GPUs", HEAD MIG, "A B C D E", "", 2, "A C", FL_OK },
	{ "partitions: the GPU that is used least", HEAD MIG, "B C D E", "", 1, "C", FL_OK },
	{ "partitions: packed on a GPU", HEAD PACKED MIG, "A B C D E", "", 2, "A B", FL_OK },
	{ "partitions: packed on the one where they fit", HEAD PACKED MIG, "A B C D E", "", 3, "C D E", FL_OK },
	{ "everything is everything", HEAD THREE, "B::3 A::0", "", 2, "A::0 B::3", FL_OK },

	{ "a device that there is not", HEAD THREE, "A::0 X", "", 1,
	  "invalid preference request for \"nvidia.com/gpu\": invalid request: unknown device: X", FL_E_INVALID },
	{ "a must that there is not", HEAD THREE, "A::0", "A::9", 1,
	  "invalid preference request for \"nvidia.com/gpu\": invalid request: unknown device: A::9", FL_E_INVALID },
	{ "more than there is", HEAD THREE, "A::0 B::0", "", 3,
	  "invalid preference request for \"nvidia.com/gpu\": 3 devices of 2 available", FL_E_INVALID },
	{ "less than must be", HEAD THREE, "A::0 B::0", "A::0 B::0", 1,
	  "invalid preference request for \"nvidia.com/gpu\": 1 devices, 2 of which must be among them", FL_E_INVALID },
};

TEST(shares_as_the_policy_says)
{
	EACH_ROW (row, shares) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_KIB);
		struct fl_str_list available, must;
		const struct fl_resource *r;
		struct fl_err err = { 0 };
		struct fl_str got[16];
		int result;

		GOT(r = facts_object(&arena, fl_resource_bind(), fl_str(row->resource)));
		available = facts_words(&arena, row->available);
		must = facts_words(&arena, row->must);
		GOT(available.at && must.at ? r : NULL);
		result = fl_prefer(r, &(struct fl_device_ids){ available.at, available.len },
				   &(struct fl_device_ids){ must.at, must.len }, row->size, &arena, got, &err);
		OK(result == -FL_E_NOMEM ? result : 0);
		CHECK_INT(-result, row->code);
		for (uint32_t i = 0; result == 0 && i < row->size; i++)
			fl_buf_printf(&text, "%s%.*s", i ? " " : "", FL_ARG(got[i]));
		if (result < 0)
			fl_buf_str(&text, fl_str(err.text));
		OK(fl_buf_check(&text, "the answer", NULL));
		CHECK_STR(fl_buf_view(&text), row->got);
	}
}
