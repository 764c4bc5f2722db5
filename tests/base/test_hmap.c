#include "base/hmap.h"
#include "test.h"
#include <stdio.h>

struct thing {
	char name[12];
	int value;
};

static struct fl_str key_of(const void *object)
{
	return fl_str(((const struct thing *)object)->name);
}

/* The textbook's form, byte by byte: an implementation of its own to compare with. */
static uint64_t naive_siphash13(const uint64_t seed[2], const unsigned char *p, size_t len)
{
	uint64_t v0 = 0x736f6d6570736575u ^ seed[0], v1 = 0x646f72616e646f6du ^ seed[1];
	uint64_t v2 = 0x6c7967656e657261u ^ seed[0], v3 = 0x7465646279746573u ^ seed[1];

#define TURN(x, b) (x << b | x >> (64 - b))
#define ROUND() \
	(v0 += v1, v1 = TURN(v1, 13), v1 ^= v0, v0 = TURN(v0, 32), v2 += v3, v3 = TURN(v3, 16), v3 ^= v2, v0 += v3, \
	 v3 = TURN(v3, 21), v3 ^= v0, v2 += v1, v1 = TURN(v1, 17), v1 ^= v2, v2 = TURN(v2, 32))
	for (size_t word = 0; word <= len / 8; word++) {
		uint64_t m = word == len / 8 ? (uint64_t)(len & 0xff) << 56 : 0;

		for (size_t i = word * 8; i < len && i < word * 8 + 8; i++)
			m |= (uint64_t)p[i] << (i % 8 * 8);
		v3 ^= m;
		ROUND();
		v0 ^= m;
	}
	v2 ^= 0xff;
	ROUND();
	ROUND();
	ROUND();
	return v0 ^ v1 ^ v2 ^ v3;
}

TEST(the_hash_is_siphash_1_3)
{
	unsigned char bytes[300];
	const uint64_t seed[2] = { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u };

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)i;
	for (size_t len = 0; len <= sizeof bytes; len++)
		CHECK(fl_siphash13(seed, bytes, len) == naive_siphash13(seed, bytes, len));
	CHECK(fl_siphash13(seed, NULL, 0) == naive_siphash13(seed, bytes, 0));
	/* The first vectors that the Rust and Linux test-suites have for this key and these bytes. */
	CHECK(fl_siphash13(seed, bytes, 0) == 0xabac0158050fc4dcu);
	CHECK(fl_siphash13(seed, bytes, 1) == 0xc9f49bf37d57ca93u);
}

TEST(what_is_put_in_is_found_until_it_is_taken_out)
{
	FL_AUTO(fl_hmap) struct fl_hmap map;
	struct thing a = { "a", 1 }, b = { "b", 2 }, other_a = { "a", 3 };
	void *old = &b;

	fl_hmap_init(&map, key_of, (const uint64_t[2]){ 1, 2 });
	CHECK(fl_hmap_get(&map, FL_S("a")) == NULL);
	CHECK(fl_hmap_del(&map, FL_S("a")) == NULL);
	OK(fl_hmap_put(&map, &a, &old));
	CHECK(old == NULL);
	OK(fl_hmap_put(&map, &b, NULL));
	CHECK_INT(map.len, 2);
	CHECK(fl_hmap_get(&map, FL_S("a")) == &a && fl_hmap_get(&map, FL_S("b")) == &b);
	CHECK(fl_hmap_get(&map, FL_S("")) == NULL);
	CHECK_INT(fl_hmap_put(&map, &other_a, &old), 0);
	CHECK(old == &a && map.len == 2);
	CHECK(fl_hmap_del(&map, FL_S("a")) == &other_a);
	CHECK(fl_hmap_del(&map, FL_S("a")) == NULL);
	CHECK_INT(map.len, 1);
	fl_hmap_free(&map);
	CHECK(fl_hmap_get(&map, FL_S("b")) == NULL);
	OK(fl_hmap_put(&map, &b, NULL));
}

TEST(an_empty_key_is_a_key)
{
	FL_AUTO(fl_hmap) struct fl_hmap map;
	struct thing empty = { "", 1 };

	fl_hmap_init(&map, key_of, (const uint64_t[2]){ 1, 2 });
	OK(fl_hmap_put(&map, &empty, NULL));
	CHECK(fl_hmap_get(&map, (struct fl_str){ NULL, 0 }) == &empty);
}

TEST(replacing_needs_no_memory_however_full_the_map_is)
{
	FL_AUTO(fl_hmap) struct fl_hmap map;
	struct thing things[64], again = { "0", 7 };
	uint32_t n = 0, cap;
	void *old;

	fl_hmap_init(&map, key_of, (const uint64_t[2]){ 1, 2 });
	do {
		(void)snprintf(things[n].name, sizeof things[n].name, "%u", n);
		OK(fl_hmap_put(&map, &things[n], NULL));
		n++;
	} while (map.len < map.cap - map.cap / 4);
	cap = map.cap;
	CHECK_INT(fl_hmap_put(&map, &again, &old), 0);
	CHECK(old == &things[0]);
	CHECK_INT(map.cap, cap);
}

TEST(room_asked_for_at_once_is_there)
{
	FL_AUTO(fl_hmap) struct fl_hmap map;
	struct thing things[100];
	uint32_t cap;

	fl_hmap_init(&map, key_of, (const uint64_t[2]){ 1, 2 });
	CHECK_INT(fl_hmap_reserve(&map, UINT32_MAX), -FL_E_NOMEM);
	OK(fl_hmap_reserve(&map, 100));
	cap = map.cap;
	for (int i = 0; i < 100; i++) {
		(void)snprintf(things[i].name, sizeof things[i].name, "%d", i);
		CHECK_INT(fl_hmap_put(&map, &things[i], NULL), 0);
	}
	CHECK_INT(map.cap, cap);
	CHECK_INT(fl_hmap_reserve(&map, UINT32_MAX), -FL_E_NOMEM);
	for (int i = 0; i < 100; i++)
		CHECK(fl_hmap_get(&map, key_of(&things[i])) == &things[i]);
}

#define MODEL 96

/* Every thing in the map exactly once, and nothing else. */
static bool same(const struct fl_hmap *map, struct thing *const model[MODEL])
{
	uint32_t at = 0, seen = 0, want = 0;
	struct thing *thing;

	while ((thing = fl_hmap_next(map, &at)) != NULL) {
		seen++;
		if (model[thing->value % MODEL] != thing)
			return false;
	}
	for (int i = 0; i < MODEL; i++)
		want += model[i] != NULL;
	return seen == want && map->len == want;
}

/* Seeded random operations against an array. The map stays small and nearly full, so runs wrap around its end. */
static void against_model(uint64_t seed)
{
	FL_AUTO(fl_hmap) struct fl_hmap map;
	static struct thing things[2][MODEL];
	struct thing *model[MODEL] = { NULL };

	fl_hmap_init(&map, key_of, (const uint64_t[2]){ seed, ~seed });
	for (int i = 0; i < 2 * MODEL; i++) {
		struct thing *thing = &things[i % 2][i / 2];

		(void)snprintf(thing->name, sizeof thing->name, "gpu-%d", i / 2);
		thing->value = i / 2;
	}
	for (int step = 0; step < 600; step++) {
		uint64_t r = test_random();
		uint32_t k = (uint32_t)(r % MODEL);
		struct thing *thing = &things[r >> 40 & 1][k];
		void *old = NULL;

		if ((r >> 20) % 5 < 2) {
			CHECK(fl_hmap_del(&map, key_of(thing)) == model[k]);
			model[k] = NULL;
		} else {
			OK(fl_hmap_put(&map, thing, &old));
			CHECK(old == model[k]);
			model[k] = thing;
		}
		k = (uint32_t)(r >> 44) % MODEL;
		CHECK(fl_hmap_get(&map, key_of(&things[0][k])) == model[k]);
		if (step % 16 == 0)
			CHECK(same(&map, model));
	}
	CHECK(same(&map, model));
}

TEST(random_operations_do_what_a_plain_array_does)
{
	for (uint64_t seed = 1; seed <= 20 && !test_failed() && !test_tortured(); seed++)
		against_model(seed);
}

/* Fill a map of 16 slots by hand with keys whose home is at its end, so that each deletion closes a gap across it. */
TEST(deletion_across_the_wrap_around)
{
	FL_AUTO(fl_hmap) struct fl_hmap map;
	const uint64_t seed[2] = { 5, 6 };
	struct thing things[10];
	int n = 0;

	fl_hmap_init(&map, key_of, seed);
	for (int i = 0; n < 10; i++) {
		struct thing thing = { .value = n };
		uint64_t home;

		(void)snprintf(thing.name, sizeof thing.name, "k%d", i);
		home = fl_siphash13(seed, thing.name, strlen(thing.name)) & 15;
		if (home < 13 && home > 1)
			continue;
		things[n++] = thing;
	}
	for (int first = 0; first < 10; first++) {
		for (int i = 0; i < 10; i++)
			OK(fl_hmap_put(&map, &things[i], NULL));
		CHECK_INT(map.cap, 16);
		for (int gone = 0; gone < 10; gone++) {
			CHECK(fl_hmap_del(&map, key_of(&things[(first + gone * 3) % 10])) != NULL);
			for (int i = 0; i < 10; i++) {
				bool is_gone = false;

				for (int k = 0; k <= gone; k++)
					is_gone |= (first + k * 3) % 10 == i;
				CHECK(fl_hmap_get(&map, key_of(&things[i])) == (is_gone ? NULL : &things[i]));
			}
		}
		CHECK_INT(map.len, 0);
	}
}

static int order_of(uint64_t seed, struct fl_buf *buf)
{
	static struct thing things[40];
	FL_AUTO(fl_hmap) struct fl_hmap map;
	uint32_t at = 0;

	fl_hmap_init(&map, key_of, (const uint64_t[2]){ seed, seed });
	for (int i = 0; i < 40; i++) {
		(void)snprintf(things[i].name, sizeof things[i].name, "%d", i);
		if (fl_hmap_put(&map, &things[i], NULL) < 0)
			return -FL_E_NOMEM;
	}
	for (struct thing *thing; (thing = fl_hmap_next(&map, &at)) != NULL;)
		fl_buf_printf(buf, "%s ", thing->name);
	return 0;
}

TEST(the_seed_decides_the_order_and_nothing_else_does)
{
	char one[200], again[200], other[200];
	struct fl_buf a = FL_BUF_IN(one), b = FL_BUF_IN(again), c = FL_BUF_IN(other);

	OK(order_of(1, &a));
	OK(order_of(1, &b));
	OK(order_of(2, &c));
	CHECK_INT(a.len, c.len);
	CHECK(fl_str_eq(fl_buf_view(&a), fl_buf_view(&b)));
	CHECK(!fl_str_eq(fl_buf_view(&a), fl_buf_view(&c)));
}
