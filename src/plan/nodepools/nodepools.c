/* What is watched, and the list of pools. */
#include "plan/gpu/lists.h"
#include "plan/nodepools/in.h"
#include <stdlib.h>

const struct fl_owner fl_nodepools_watch_owner = { "fairlead-pools", &fl_api_watch_kind,
						   (const char *const[]){ "what", "poolNamespace", "pool", NULL } };
const struct fl_owner fl_nodepools_memo_owner = { "fairlead-pools", &fl_memo_kind,
						  (const char *const[]){ "pools", "read", NULL } };
const struct fl_owner fl_nodepools_change_owner = { "fairlead-pools", &fl_pool_change_kind,
						    (const char *const[]){ "pools", "first", "since", NULL } };

static const struct fl_ref memo_ref = { &fl_memo_kind, FL_S_INIT(""), FL_S_INIT(FL_POOLS_NAME), FL_S_INIT("") };
static const struct fl_ref change_ref = { &fl_pool_change_kind, FL_S_INIT(""), FL_S_INIT(FL_POOLS_NAME),
					  FL_S_INIT("") };

/* ---- what is watched ---- */

static struct fl_str watch_name(struct fl_plan *plan, const struct fl_pool_ref *ref)
{
	return ref->space.len ? fl_plan_printf(plan, "GPUPool/%.*s/%.*s", FL_ARG(ref->space), FL_ARG(ref->name)) :
				fl_plan_printf(plan, "ClusterGPUPool/%.*s", FL_ARG(ref->name));
}

static void want_watch(struct fl_plan *plan, struct fl_str name, enum fl_api_watched what,
		       const struct fl_pool_ref *ref)
{
	struct fl_api_watch watch = { 0 };

	FL_SET(&watch, what, what);
	if (ref) {
		FL_SET_TEXT(&watch, pool_space, ref->space);
		FL_SET_TEXT(&watch, pool, ref->name);
	}
	fl_want(plan, &fl_nodepools_watch_owner, (struct fl_ref){ &fl_api_watch_kind, FL_S(""), name, FL_S("") },
		&watch);
}

static bool is_asked_for(const struct nodepools *n, const struct fl_api_watch *watch)
{
	if (watch->what == FL_API_DEVICES)
		return true;
	for (uint32_t i = 0; i < n->len; i++)
		if (n->at[i].resource.len && fl_str_eq(watch->pool, n->at[i].device->status.pool.name) &&
		    fl_str_eq(watch->pool_space, n->at[i].device->status.pool.space))
			return true;
	return false;
}

/* Pools that no GPU here belongs to cost nothing. While GPUDevices are not known, watches stay as they are. */
static void want_watches(struct nodepools *n)
{
	want_watch(n->plan, FL_S(FL_DEVICES_WATCH), FL_API_DEVICES, NULL);
	if (!n->facts->devices_known)
		return;
	for (uint32_t i = 0; i < n->len; i++) {
		const struct fl_pool_ref *ref = &n->at[i].device->status.pool;

		if (ref->name.len)
			want_watch(n->plan, watch_name(n->plan, ref),
				   ref->space.len ? FL_API_POOL : FL_API_CLUSTER_POOL, ref);
	}
	for (uint32_t i = 0; i < n->facts->watch_len; i++)
		if (!is_asked_for(n, &n->facts->watches[i]))
			fl_want_gone(n->plan, FL_REF(&fl_api_watch_kind, &n->facts->watches[i]));
}

/* ---- what the pools are to be ---- */

static int by_resource(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_node_pool *)a)->resource, ((const struct fl_node_pool *)b)->resource);
}

static int by_text(const void *a, const void *b)
{
	return fl_str_cmp(*(const struct fl_str *)a, *(const struct fl_str *)b);
}

static void sort(struct fl_str_list *list)
{
	if (list->len > 1)
		qsort(list->at, list->len, sizeof *list->at, by_text);
}

static struct fl_str in_lower_case(struct nodepools *n, struct fl_str text)
{
	char *copy = fl_plan_get(n->plan, 1, (size_t)text.len + 1);

	for (uint32_t i = 0; copy && i < text.len; i++)
		copy[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] + 32) : text.p[i];
	return (struct fl_str){ copy, copy ? text.len : 0 };
}

/* What a unit is: as its pool says, else as it was. */
static void set_unit(struct nodepools *n, const struct belonging *b, struct fl_node_pool *pool)
{
	const struct fl_nodepools_facts *f = n->facts;
	const struct fl_pool_resource *resource = b->pool ? &b->pool->spec.resource : NULL;
	const struct fl_node_pool *was = f->memo ? nodepools_find(&f->memo->pools, b->resource) : NULL;

	if (pool->has.unit)
		return;
	if (resource) {
		FL_SET(pool, unit, resource->unit);
		if (resource->unit == FL_POOL_MIG)
			FL_SET_TEXT(pool, profile, in_lower_case(n, resource->mig_profile));
		FL_SET(pool, slices, resource->has.slices_per_unit ? resource->slices_per_unit : 1);
	} else if (was && was->has.unit) {
		FL_SET(pool, unit, was->unit);
		FL_SET_TEXT(pool, profile, was->profile);
		FL_SET(pool, slices, was->slices);
	}
}

/* `room`: so many GPUs it has at most. */
static bool begin_pool(struct fl_plan *plan, struct fl_node_pool *pool, struct fl_str resource, uint32_t room)
{
	FL_SET(pool, resource, resource);
	FL_SET(pool, cluster, true);
	if (!FL_ELEMENTS(pool, plan->arena, cards, room) || !FL_ELEMENTS(pool, plan->arena, kept_back, room) ||
	    !FL_ELEMENTS(pool, plan->arena, leaving, room)) {
		plan->failed = true;
		return false;
	}
	pool->cards.len = pool->kept_back.len = pool->leaving.len = 0;
	return true;
}

static void end_pool(struct fl_node_pool *pool)
{
	sort(&pool->cards);
	sort(&pool->kept_back);
	sort(&pool->leaving);
	pool->has.cards = pool->cards.len > 0;
	pool->has.kept_back = pool->kept_back.len > 0;
	pool->has.leaving = pool->leaving.len > 0;
}

static void put(struct nodepools *n, struct fl_node_pool *pool, const struct belonging *b)
{
	const struct fl_memo *memo = n->facts->memo;
	enum belongs is = b->is;

	if (is == BELONGS_UNKNOWN) {
		is = nodepools_entry_has(memo ? nodepools_find(&memo->pools, b->resource) : NULL, b->address);
		is = is == BELONGS_NOWHERE ? BELONGS_KEPT_BACK : is;   /* it is of a pool, and nobody else's */
	}
	set_unit(n, b, pool);
	if (is == BELONGS_SERVED)
		pool->cards.at[pool->cards.len++] = b->address;
	else if (is == BELONGS_LEAVING)
		pool->leaving.at[pool->leaving.len++] = b->address;
	else
		pool->kept_back.at[pool->kept_back.len++] = b->address;
}

static struct fl_node_pool_list make(struct nodepools *n)
{
	struct fl_node_pool_list list = { .at = fl_plan_get(n->plan, n->len, sizeof *list.at) };

	for (uint32_t i = 0; list.at && i < n->len; i++) {
		const struct belonging *b = &n->at[i];
		struct fl_node_pool *pool = fl_find(list.at, list.len, resource, b->resource);

		if (b->is == BELONGS_NOWHERE || !b->address.len)
			continue;
		if (!pool) {
			pool = &list.at[list.len];
			if (!begin_pool(n->plan, pool, b->resource, n->len))
				return list;
			list.len++;
		}
		put(n, pool, b);
	}
	for (uint32_t i = 0; i < list.len; i++)
		end_pool(&list.at[i]);
	if (list.len > 1)
		qsort(list.at, list.len, sizeof *list.at, by_resource);
	return list;
}

/* ---- at once, or in a moment ---- */

static bool same(const struct fl_node_pool_list *a, const struct fl_node_pool_list *b)
{
	if (a->len != b->len)
		return false;
	for (uint32_t i = 0; i < a->len; i++)
		if (!fl_equal(fl_node_pool_bind(), &a->at[i], &b->at[i]))
			return false;
	return true;
}

static void move(struct fl_node_pool *pool, const struct fl_node_pool *to, struct fl_str card, bool served)
{
	enum belongs is = nodepools_entry_has(to, card);

	if (is == BELONGS_SERVED && served)
		pool->cards.at[pool->cards.len++] = card;
	else if (is == BELONGS_LEAVING)
		pool->leaving.at[pool->leaving.len++] = card;
	else if (is != BELONGS_NOWHERE)
		pool->kept_back.at[pool->kept_back.len++] = card;
}

/* What is in force without the GPUs that are withdrawn: that is done at once. */
static struct fl_node_pool_list withdraw(struct nodepools *n, const struct fl_node_pool_list *is,
					 const struct fl_node_pool_list *to)
{
	struct fl_node_pool_list list = { .at = fl_plan_get(n->plan, is->len, sizeof *list.at) };

	for (uint32_t i = 0; list.at && i < is->len; i++) {
		const struct fl_node_pool *was = &is->at[i], *now = nodepools_find(to, was->resource);
		const struct fl_str_list *lists[] = { &was->cards, &was->kept_back, &was->leaving };
		struct fl_node_pool *pool = &list.at[list.len];

		*pool = *was;
		if (!begin_pool(n->plan, pool, was->resource,
				was->cards.len + was->kept_back.len + was->leaving.len))
			return list;
		for (uint32_t k = 0; k < FL_LEN(lists); k++)
			for (uint32_t c = 0; c < lists[k]->len; c++)
				move(pool, now, lists[k]->at[c], lists[k] == &was->cards);
		end_pool(pool);
		list.len += pool->cards.len + pool->kept_back.len + pool->leaving.len > 0;
	}
	return list;
}

static void want_pools(struct nodepools *n, const struct fl_node_pool_list *pools)
{
	struct fl_memo memo = { 0 };

	memo.pools.at = pools->at;
	memo.pools.len = pools->len;
	memo.has.pools = pools->len > 0;
	FL_SET(&memo, read, true);
	fl_want(n->plan, &fl_nodepools_memo_owner, memo_ref, &memo);
}

static void end_change(struct nodepools *n)
{
	if (n->facts->change)
		fl_want_gone(n->plan, change_ref);
}

static void change(struct nodepools *n, const struct fl_node_pool_list *to)
{
	const struct fl_nodepools_facts *f = n->facts;
	const struct fl_pool_change *was = f->change;
	struct fl_pool_change change = { 0 };
	struct fl_node_pool_list now;
	uint64_t quiet, latest, due;

	now = f->memo && f->memo->read ? withdraw(n, &f->memo->pools, to) : *to;
	if (same(&now, to)) {
		want_pools(n, to);
		end_change(n);
		return;
	}
	FL_SET(&change, first, was ? was->first : (int64_t)f->now);
	FL_SET(&change, since, was && same(&was->pools, to) ? was->since : (int64_t)f->now);
	quiet = (uint64_t)change.since + FL_POOLS_QUIET;
	latest = (uint64_t)change.first + FL_POOLS_LATEST;
	due = quiet < latest ? quiet : latest;
	if (f->now >= due) {
		want_pools(n, to);
		end_change(n);
		return;
	}
	change.pools.at = to->at;
	change.pools.len = to->len;
	change.has.pools = to->len > 0;
	want_pools(n, &now);
	fl_want(n->plan, &fl_nodepools_change_owner, change_ref, &change);
	fl_want_at(n->plan, due);
}

/* ---- all of it ---- */

static void switch_off(struct nodepools *n)
{
	const struct fl_nodepools_facts *f = n->facts;

	for (uint32_t i = 0; i < f->watch_len; i++)
		fl_want_gone(n->plan, FL_REF(&fl_api_watch_kind, &f->watches[i]));
	if (f->memo)
		fl_want_gone(n->plan, memo_ref);
	end_change(n);
}

/* At the very first start nothing is served before it is known what is whose. */
static bool waits_for_pools(const struct nodepools *n)
{
	bool waits = false;

	if (n->facts->memo && n->facts->memo->read)
		return false;
	for (uint32_t i = 0; i < n->len; i++)
		waits |= n->at[i].is == BELONGS_UNKNOWN && n->at[i].answer == FL_API_UNKNOWN;
	return waits;
}

void fl_nodepools_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_nodepools_facts *facts = facts_;
	struct nodepools n = { .facts = facts, .plan = plan };
	struct fl_node_pool_list to;

	if (!facts->settings->gpu_pools) {
		switch_off(&n);
		return;
	}
	if (!nodepools_belong(&n))
		return;
	want_watches(&n);
	if (!facts->devices_known || !facts->memo_known || waits_for_pools(&n))
		return;
	to = make(&n);
	if (plan->failed)
		return;
	change(&n, &to);
	for (uint32_t i = 0; i < n.len; i++)
		nodepools_tell(&n, &n.at[i]);
}
