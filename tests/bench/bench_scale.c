/* The loop at the size of 5,000 nodes x 8 GPUs, 1,000 pools and 50,000 Pods, with plans such as pools need: `assign`
 * gives each card to the first pool whose selector matches its node, `capacity` counts a pool's cards and Pods. The
 * cards are spread over all pools, or one pool owns them all. */
#include "api/core.h"
#include "base/units.h"
#include "json/selector.h"
#include "run/loop.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NODES = 5000, CARDS = 40000, POOLS = 1000, PODS = 50000, CHANGES = 1000, CALM = 10 };
#define POD_POOL "gpu-control-plane.deckhouse.io/pool"

/* ---- two kinds, as large as a GPUDevice and a pool ---- */
#define CARD_STATUS(X) \
	X(STR, node, "nodeName", .interned = true, .help = "Its node.") \
	X(STR, product, "product", .interned = true, .help = "What it is.") \
	X(STR, uuid, "uuid", .help = "Its UUID.") \
	X(STR, address, "address", .help = "Its PCI address.") \
	X(I32, units, "units", .help = "What it counts for.") \
	X(STR, pool, "pool", .interned = true, .help = "Its pool.")
FL_STRUCT(card_status, CARD_STATUS);
#define CARD(X) \
	FL_OBJECT(X) \
	X(OBJ(card_status), status, "status", .help = "What is so.")
FL_STRUCT(card, CARD);
FL_BIND(card_status, CARD_STATUS)
FL_BIND(card, CARD)
static const struct fl_kind card_kind = { .group = "bench.fairlead.test", .version = "v1", .kind = "Card",
					  .plural = "cards", .root = card_bind, .cluster_scoped = true,
					  .status = true };

#define POOL_SPEC(X) \
	X(STR, selector, "selector", .help = "Whose nodes' cards it has.")
FL_STRUCT(pool_spec, POOL_SPEC);
#define POOL_STATUS(X) \
	X(I32, cards, "cards", .help = "How many it has.") \
	X(I64, total, "total", .help = "What they count for.") \
	X(I32, pods, "pods", .help = "How many Pods use it.")
FL_STRUCT(pool_status, POOL_STATUS);
#define POOL(X) \
	FL_OBJECT(X) \
	X(OBJ(pool_spec), spec, "spec", .help = "What is wanted.") \
	X(OBJ(pool_status), status, "status", .help = "What is so.")
FL_STRUCT(pool, POOL);
FL_BIND(pool_spec, POOL_SPEC)
FL_BIND(pool_status, POOL_STATUS)
FL_BIND(pool, POOL)
static const struct fl_kind pool_kind = { .group = "bench.fairlead.test", .version = "v1", .kind = "Pool",
					  .plural = "pools", .root = pool_bind, .cluster_scoped = true,
					  .status = true };

static void by_pool(const void *object, struct fl_under *under)
{
	const struct card *card = object;

	FL_UNDER_FOR(under, card->status.units, card->status.pool);
}

static void by_node(const void *object, struct fl_under *under)
{
	FL_UNDER(under, ((const struct card *)object)->status.node);
}

static void by_both(const void *object, struct fl_under *under)
{
	const struct card *card = object;

	if (card->status.has.pool)
		FL_UNDER(under, card->status.pool, card->status.node);
}
static const struct fl_index cards_by[] = { { "pool", by_pool }, { "node", by_node }, { "both", by_both }, { 0 } };

static struct fl_str pool_of(const struct fl_pod *pod)
{
	for (uint32_t i = 0; i < pod->meta.labels.len; i++)
		if (fl_str_eq(pod->meta.labels.at[i].key, FL_S(POD_POOL)))
			return pod->meta.labels.at[i].value;
	return (struct fl_str){ NULL, 0 };
}

static void pods_by_pool(const void *object, struct fl_under *under)
{
	FL_UNDER(under, pool_of(object));
}
static const struct fl_index pods_by[] = { { "pool", pods_by_pool }, { 0 } };

/* Pools are few, and every card asks for all of them. */
static int compile(const void *object, struct fl_arena *arena, void *selector, struct fl_err *err)
{
	return fl_selector_parse(arena, ((const struct pool *)object)->spec.selector, selector, err);
}
static const struct fl_make selectors = { sizeof(struct fl_selector), compile };

/* ---- whose a card is ---- */
static const struct fl_owner assign_owner = { .manager = "assign", .kind = &card_kind,
					      .paths = (const char *const[]){ "status.pool", NULL } };
static const struct fl_owner *const assign_owners[] = { &assign_owner, NULL };

struct assign_facts {
	const struct card *card;
	const struct fl_node *node;
	const struct fl_unpacked *pools;
	uint32_t pool_len;
};

static void own_key(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct card *card = after ? after : before;

	fl_dirty_key(dirty, FL_S(""), card->meta.name);
}

static void node_cards(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_node *node = after ? after : before;
	struct fl_each each = fl_view_by(dirty->view, &card_kind, "node", node->meta.name);
	const struct card *card;

	while ((card = fl_each_next(&each)))
		fl_dirty_key(dirty, FL_S(""), card->meta.name);
}

static void selector_changed(const void *before_, const void *after_, struct fl_dirty *dirty)
{
	const struct pool *before = before_, *after = after_;

	if (!before || !after || before == after || !fl_str_eq(before->spec.selector, after->spec.selector))
		fl_dirty_each(dirty, &card_kind);
}

static bool assign_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct assign_facts *facts = facts_;

	facts->card = fl_view_get(view, &card_kind, key.space, key.name);
	facts->node = facts->card ? fl_view_get(view, &fl_node_kind, FL_S(""), facts->card->status.node) : NULL;
	facts->pool_len = fl_view_all_unpacked(view, &pool_kind, &facts->pools);
	return facts->node;
}

static void assign_plan(const void *facts_, struct fl_plan *plan)
{
	const struct assign_facts *facts = facts_;
	struct card want = { 0 };

	for (uint32_t i = 0; i < facts->pool_len && !want.has.status; i++)
		if (fl_selector_match(facts->pools[i].made, facts->node->meta.labels))
			FL_SET(FL_IN(&want, status), pool,
			       ((const struct pool *)facts->pools[i].object)->meta.name);
	fl_want(plan, &assign_owner, FL_REF(&card_kind, facts->card), &want);
}

static const struct fl_watched assign_watches[] = {
	{ &card_kind, own_key, false }, { &fl_node_kind, node_cards, false }, { &pool_kind, selector_changed, false },
	{ 0 },
};
static const struct fl_capability assign = { .name = "assign", .watches = assign_watches, .key = &card_kind,
					     .owners = assign_owners, .facts_size = sizeof(struct assign_facts),
					     .gather = assign_gather, .plan = assign_plan };

/* ---- what a pool has ---- */
static const struct fl_owner owner = { .manager = "capacity", .kind = &pool_kind,
				       .paths = (const char *const[]){ "status", NULL } };
static const struct fl_owner *const owners[] = { &owner, NULL };

struct facts {
	struct fl_ref pool;
	uint32_t cards, pods;
	int64_t total;
};

static void card_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct card *cards[] = { before, after };

	for (unsigned i = 0; i < FL_LEN(cards); i++)
		if (cards[i] && cards[i]->status.has.pool)
			fl_dirty_key(dirty, FL_S(""), cards[i]->status.pool);
}

static void pod_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	if (before && pool_of(before).p)
		fl_dirty_key(dirty, FL_S(""), pool_of(before));
	if (after && pool_of(after).p)
		fl_dirty_key(dirty, FL_S(""), pool_of(after));
}

static void pool_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct pool *pool = after ? after : before;

	fl_dirty_key(dirty, FL_S(""), pool->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	const struct pool *pool = fl_view_get(view, &pool_kind, key.space, key.name);
	struct facts *facts = facts_;

	if (!pool)
		return false;
	facts->pool = FL_REF(&pool_kind, pool);
	facts->cards = fl_view_count(view, &card_kind, "pool", key.name);
	facts->total = fl_view_sum(view, &card_kind, "pool", key.name);
	facts->pods = fl_view_count(view, &fl_pod_kind, "pool", key.name);
	return true;
}

static void plan_it(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	struct pool want = { 0 };

	FL_SET(FL_IN(&want, status), cards, (int32_t)facts->cards);
	FL_SET(&want.status, total, facts->total);
	FL_SET(&want.status, pods, (int32_t)facts->pods);
	fl_want(plan, &owner, facts->pool, &want);
}

static const struct fl_watched watches[] = { { &pool_kind, pool_keys, false }, { &card_kind, card_keys, false },
					     { &fl_pod_kind, pod_keys, false }, { 0 } };
static const struct fl_capability capacity = { .name = "capacity", .watches = watches, .key = &pool_kind,
					       .owners = owners, .facts_size = sizeof(struct facts),
					       .gather = gather, .plan = plan_it };

/* ---- a server that answers in the next turn, and tells of it ---- */
static struct {
	struct fl_io *io;
	struct fl_metrics *metrics;
	struct fl_loop *loop;
	struct fl_feed *cards, *pools, *nodes, *pods;
	struct fl_timer answer;
	struct fl_write *held[FL_RUN_WRITES];
	uint32_t count;
	uint64_t version, writes;
	struct card_at {
		uint32_t pool, units;          /* NOBODY: it has none */
	} card[CARDS];
	struct {
		bool all;                      /* its selector matches every node */
		struct pool_status status;
	} pool[POOLS];
} server;   /* one process, one bench */
#define NOBODY UINT32_MAX

static void must(int r, const struct fl_err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_scale: %s\n", err->text);
	exit(1);
}

static struct fl_str next_version(char text[static 24])
{
	(void)snprintf(text, 24, "%llu", (unsigned long long)++server.version);
	return fl_str(text);
}

static void put_pool(uint32_t i, struct fl_write *write)
{
	char name[24], version[24], selector[40];
	struct fl_err err = { 0 };
	struct pool pool = { 0 };

	(void)snprintf(name, sizeof name, "pool-%u", i);
	(void)snprintf(selector, sizeof selector, server.pool[i].all ? "gpu" : "group=g-%u", i);
	FL_SET(FL_IN(&pool, meta), name, fl_str(name));
	FL_SET(&pool.meta, resource_version, next_version(version));
	FL_SET(FL_IN(&pool, spec), selector, fl_str(selector));
	pool.has.status = 1;
	pool.status = server.pool[i].status;
	if (write)
		fl_write_done(write, &pool);
	must(fl_feed_put(server.pools, &pool, &err), &err);
}

static void put_card(uint32_t i, struct fl_write *write)
{
	char name[40], node[24], uuid[48], address[24], pool[24], version[24];
	const struct card_at *is = &server.card[i];
	struct fl_err err = { 0 };
	struct card card = { 0 };

	(void)snprintf(name, sizeof name, "node-%u-%u-10de-2330", i / 8, i % 8);
	(void)snprintf(node, sizeof node, "node-%u", i / 8);
	(void)snprintf(uuid, sizeof uuid, "GPU-%08x-1111-2222-3333-444455556666", i);
	(void)snprintf(address, sizeof address, "0000:%02x:00.0", i % 8 + 16);
	(void)snprintf(pool, sizeof pool, "pool-%u", is->pool);
	FL_SET(FL_IN(&card, meta), name, fl_str(name));
	FL_SET(&card.meta, resource_version, next_version(version));
	FL_SET(FL_IN(&card, status), node, fl_str(node));
	FL_SET(&card.status, product, FL_S("NVIDIA H100 80GB HBM3"));
	FL_SET(&card.status, uuid, fl_str(uuid));
	FL_SET(&card.status, address, fl_str(address));
	FL_SET(&card.status, units, (int32_t)is->units);
	if (is->pool != NOBODY)
		FL_SET(&card.status, pool, fl_str(pool));
	if (write)
		fl_write_done(write, &card);
	must(fl_feed_put(server.cards, &card, &err), &err);
}

static void put_node(uint32_t i, uint32_t group, const char *other)
{
	char name[24], in[24];
	struct fl_pair labels[] = { { FL_S("gpu"), FL_S("true") }, { FL_S("group"), { in, 0 } },
				    { FL_S("other"), fl_str(other) } };
	struct fl_err err = { 0 };
	struct fl_node node = { 0 };

	(void)snprintf(name, sizeof name, "node-%u", i);
	labels[1].value.len = (uint32_t)snprintf(in, sizeof in, "g-%u", group);
	FL_SET(FL_IN(&node, meta), name, fl_str(name));
	FL_SET(&node.meta, labels, ((struct fl_map){ labels, FL_LEN(labels) }));
	must(fl_feed_put(server.nodes, &node, &err), &err);
}

static void put_pod(uint32_t i, bool one_pool)
{
	char name[32], pool[24], node[24];
	struct fl_pair label = { FL_S(POD_POOL), { pool, 0 } };
	struct fl_err err = { 0 };
	struct fl_pod pod = { 0 };

	label.value.len = (uint32_t)snprintf(pool, sizeof pool, "pool-%u", one_pool ? 0 : i % POOLS);
	(void)snprintf(name, sizeof name, "worker-%u-7b9f4", i);
	(void)snprintf(node, sizeof node, "node-%u", i % NODES);
	FL_SET(FL_IN(&pod, meta), name, fl_str(name));
	FL_SET(&pod.meta, space, FL_S("team-a"));
	FL_SET(&pod.meta, labels, ((struct fl_map){ &label, 1 }));
	FL_SET(FL_IN(&pod, spec), node_name, fl_str(node));
	FL_SET(FL_IN(&pod, status), phase, FL_POD_RUNNING);
	must(fl_feed_put(server.pods, &pod, &err), &err);
}

/* "pool-7" -> 7, "node-5-1-..." -> 41. */
static uint32_t number_of(struct fl_str name)
{
	unsigned first = 0, second = 0;
	char text[48];

	(void)snprintf(text, sizeof text, "%.*s", FL_ARG(name));
	if (sscanf(text, "node-%u-%u", &first, &second) == 2)   /* NOLINT(cert-err34-c): our own names */
		return first * 8 + second;
	return (uint32_t)strtoul(text + 5, NULL, 10);
}

static void take(struct fl_write *write)
{
	uint32_t i = number_of(write->ref.name);

	server.writes++;
	if (write->ref.kind == &card_kind) {
		const struct card *card = write->object;

		server.card[i].pool = card->status.has.pool ? number_of(card->status.pool) : NOBODY;
		put_card(i, write);
	} else {
		server.pool[i].status = ((const struct pool *)write->object)->status;
		put_pool(i, write);
	}
}

static void answer(struct fl_timer *timer)
{
	struct fl_write *held[FL_RUN_WRITES];
	uint32_t count = server.count;

	memcpy(held, server.held, count * sizeof *held);
	if (count > CALM)   /* a turn is the loop's: the server's part of it is small */
		count = CALM;
	server.count -= count;
	memmove(server.held, server.held + count, server.count * sizeof *held);
	if (server.count)
		fl_timer_set(server.io, timer, fl_now(server.io));
	for (uint32_t i = 0; i < count; i++)
		take(held[i]);
}

static void start(void *self, struct fl_write *write)
{
	(void)self;
	server.held[server.count++] = write;
	fl_timer_set(server.io, &server.answer, fl_now(server.io));
}

static void cancel(void *self, struct fl_write *write)
{
	(void)self;
	(void)write;
}
static const struct fl_sink sink = { .start = start, .cancel = cancel };

/* ---- measuring ---- */
static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * FL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void row(const char *name, const char *who, double value, const char *unit, double most)
{
	printf("{\"name\":\"%s%s\",\"value\":%.4g,\"unit\":\"%s\",\"bar\":\"<= %g\",\"ok\":%s}\n", name, who, value,
	       unit, most, value <= most ? "true" : "false");
}

static size_t heap(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* How many objects the loop has unpacked so far, of all kinds, as its metrics have it. */
static uint64_t unpacked(void)
{
	static const char name[] = "\nfairlead_cache_unpacked_total{";
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	struct fl_err err = { 0 };
	const char *at;
	uint64_t sum = 0;

	must(fl_metrics_write(server.metrics, &text, &err), &err);
	at = text.p;
	while ((at = strstr(at, name))) {
		at = strchr(at, '}') + 1;
		sum += strtoull(at, NULL, 10);
	}
	return sum;
}

/* Returns the longest turn, in processor time: by the wall it would be that of whoever else is on the machine. */
static uint64_t settle(void)
{
	struct fl_err err = { 0 };
	uint64_t longest = 0;

	while (!fl_loop_idle(server.loop)) {
		uint64_t began = now(), took;

		must(fl_io_turn(server.io, 0, &err), &err);
		took = now() - began;
		longest = took > longest ? took : longest;
	}
	return longest;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void open_all(void)
{
	struct fl_loop_options options = { .seed = { 1, 2 } };
	const struct fl_source sources[] = {
		{ .kind = &card_kind, .by = cards_by, .sink = &sink },
		{ .kind = &pool_kind, .sink = &sink, .unpacked = &selectors },
		{ .kind = &fl_node_kind },
		{ .kind = &fl_pod_kind, .by = pods_by },
	};
	struct fl_err err = { 0 };

	memset(&server, 0, sizeof server);
	server.io = fl_posix_new(&err);
	options.metrics = server.metrics = fl_metrics_new(options.seed, &err);
	server.loop = server.io && server.metrics ? fl_loop_new(server.io, &options, &err) : NULL;
	server.answer.fire = answer;
	must(server.loop ? 0 : -1, &err);
	for (unsigned i = 0; i < FL_LEN(sources); i++)
		must(fl_loop_source(server.loop, &sources[i], &err), &err);
	must(fl_loop_capability(server.loop, &assign, &err), &err);
	must(fl_loop_capability(server.loop, &capacity, &err), &err);
	server.cards = fl_loop_feed(server.loop, &card_kind);
	server.pools = fl_loop_feed(server.loop, &pool_kind);
	server.nodes = fl_loop_feed(server.loop, &fl_node_kind);
	server.pods = fl_loop_feed(server.loop, &fl_pod_kind);
}

/* What is told of a kind, and the bytes of each. */
static double fill(uint32_t count, void (*put)(uint32_t i, bool one_pool), bool one_pool)
{
	size_t before = heap();

	for (uint32_t i = 0; i < count; i++)
		put(i, one_pool);
	return (double)(heap() - before) / count;
}

static void first_pool(uint32_t i, bool one_pool)
{
	server.pool[i].all = one_pool && i == 0;
	put_pool(i, NULL);
}

/* Packed and unpacked, with the selector. */
static double pool_bytes(bool one_pool)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(server.loop, &arena);
	const struct fl_unpacked *all;
	size_t before = heap();

	(void)fill(POOLS, first_pool, one_pool);
	if (fl_view_all_unpacked(&view, &pool_kind, &all) != POOLS)
		must(-1, &(struct fl_err){ .text = "no memory for the pools" });
	return (double)(heap() - before) / POOLS;
}

static void first_card(uint32_t i, bool one_pool)
{
	(void)one_pool;
	server.card[i] = (struct card_at){ NOBODY, 4 };
	put_card(i, NULL);
}

static void first_node(uint32_t i, bool one_pool)
{
	(void)one_pool;
	put_node(i, i % POOLS, "a");
}

/* From nothing to settled, the loop is left to go on with. Returns the longest turn. */
static uint64_t first_sync(bool one_pool, const char *who, bool tell)
{
	double pool, card, pod;
	uint64_t began, longest;

	open_all();
	began = now();
	pool = pool_bytes(one_pool);
	card = fill(CARDS, first_card, one_pool);
	(void)fill(NODES, first_node, one_pool);
	pod = fill(PODS, put_pod, one_pool);
	fl_feed_synced(server.cards);
	fl_feed_synced(server.pools);
	fl_feed_synced(server.nodes);
	fl_feed_synced(server.pods);
	longest = settle();
	if (tell) {
		row("a cached pool, unpacked, its selector compiled, ", who, pool, "B", 2048);
		row("a cached card with 3 indexes, ", who, card, "B", 614);
		row("a cached Pod with its index, ", who, pod, "B", 250);
		row("first sync of 40,000 cards, 1,000 pools, 50,000 Pods to settled, ", who,
		    (double)(now() - began) / 1e9, "s", 10);
		fprintf(stderr, "bench_scale: %s: %llu writes\n", who, (unsigned long long)server.writes);
	}
	return longest;
}

static void end(void)
{
	server.loop = fl_loop_free(server.loop);
	server.metrics = fl_metrics_free(server.metrics);
	fl_io_free(server.io);
}

static void relabel(bool one_pool)
{
	(void)one_pool;
	for (uint32_t i = 0; i < NODES; i++)
		put_node(i, (i + 1) % POOLS, "b");
}

static void change_selector(bool one_pool)
{
	server.pool[0].all = !one_pool;
	put_pool(0, NULL);
}

static void change_what_no_pool_asks_for(bool one_pool)
{
	(void)one_pool;
	for (uint32_t i = 0; i < NODES; i++)
		put_node(i, (i + 1) % POOLS, "c");
}

static const struct {
	const char *name;
	void (*make)(bool one_pool);
} storms[] = {
	{ "all nodes relabelled, to settled, ", relabel },
	{ "all nodes relabelled with what no pool asks for, to settled, ", change_what_no_pool_asks_for },
	{ "one pool's selector changed, to settled, ", change_selector },
};

/* All of them once, after a first sync. Of the longest turns the least counts: an interrupt is in the other. */
static void round_of(bool one_pool, const char *who, bool tell, uint64_t longest[static 1 + FL_LEN(storms)])
{
	uint64_t seen = first_sync(one_pool, who, tell);

	longest[0] = tell || seen < longest[0] ? seen : longest[0];
	for (unsigned i = 0; i < FL_LEN(storms); i++) {
		uint64_t began = now(), writes = server.writes;

		storms[i].make(one_pool);
		seen = settle();
		longest[1 + i] = tell || seen < longest[1 + i] ? seen : longest[1 + i];
		if (tell) {
			row(storms[i].name, who, (double)(now() - began) / 1e9, "s", 10);
			fprintf(stderr, "bench_scale: %s%s: %llu writes\n", storms[i].name, who,
				(unsigned long long)(server.writes - writes));
		}
	}
}

static void one_by_one(bool one_pool, const char *who)
{
	static uint64_t took[CHANGES];
	uint64_t p99, most = 0;

	(void)first_sync(one_pool, who, false);
	for (uint32_t i = 0; i < CHANGES; i++) {
		uint32_t card = i * 37 % CARDS;
		uint64_t before = unpacked(), began = now(), count;

		server.card[card].units = 1 + i % 7;
		put_card(card, NULL);
		(void)settle();
		took[i] = now() - began;
		count = unpacked() - before;
		most = count > most ? count : most;
	}
	qsort(took, CHANGES, sizeof *took, by_value);
	p99 = took[CHANGES * 99 / 100];
	row("one card changed, to its pool's status, p99, ", who, (double)p99 / 1e6, "ms", 5);
	row("one card changed, objects unpacked at most, ", who, (double)most, "objects", 12);
	end();
}

static void bench(bool one_pool, const char *who)
{
	uint64_t longest[1 + FL_LEN(storms)], most = 0;

	for (int i = 0; i < 4; i++) {
		round_of(one_pool, who, i == 0, longest);
		end();
	}
	for (unsigned i = 0; i < FL_LEN(longest); i++)
		most = longest[i] > most ? longest[i] : most;
	row("longest turn in all of that, ", who, (double)most / 1e6, "ms", 2);
	for (unsigned i = 0; i < FL_LEN(longest); i++)
		fprintf(stderr, "bench_scale: %s%s: longest turn %.3f ms\n",
			i ? storms[i - 1].name : "first sync, ", who,
			(double)longest[i] / 1e6);
	one_by_one(one_pool, who);
}

int main(void)
{
	bench(false, "40 a pool");
	bench(true, "all in one pool");
	return 0;
}
