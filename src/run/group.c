/* The indexes of a cache: groups of objects under one value, with their number and their sum. */
#include "api/children.h"
#include "run/cache_in.h"
#include <assert.h>

enum { FEW = 2 };

/* Places of entries; a group of few needs no second block. */
struct fl_group {
	union {
		uint32_t few[FEW];
		uint32_t *many;
	};
	int64_t sum;
	uint32_t len, cap;
	uint32_t under_at;              /* where it is in cache->under, plus one; 0: not there */
	uint32_t text_len : 28, index : 4;
	char text[];
};
_Static_assert(FL_INDEXES <= 16 && FL_PACKED_MAX < 1 << 28, "both fit into a group");

struct fl_under {
	struct fl_cache *cache;
	uint32_t index;
	bool failed;
};

static struct fl_str group_key(const void *group_)
{
	const struct fl_group *group = group_;

	return (struct fl_str){ group->text, group->text_len };
}

void groups_init(struct fl_cache *cache, const struct fl_index *by)
{
	for (; by && by->name; by++) {
		assert(cache->index_count < FL_INDEXES);
		fl_hmap_init(&cache->groups[cache->index_count], group_key, cache->seed);
		cache->indexes[cache->index_count++] = *by;
	}
	cache->joining = FL_BUF(FL_PACKED_MAX);
}

static size_t group_size(const struct fl_group *group)
{
	return sizeof *group + group->text_len + (group->cap > FEW ? group->cap * sizeof *group->many : 0);
}

static void group_free(struct fl_group *group)
{
	if (group->cap > FEW)
		fl_free(group->many);
	fl_free(group);
}

static void drop_if_empty(struct fl_cache *cache, struct fl_group *group)
{
	if (group->len)
		return;
	(void)fl_hmap_del(&cache->groups[group->index], group_key(group));
	cache->bytes -= group_size(group);
	group_free(group);
}

void groups_free(struct fl_cache *cache)
{
	for (uint32_t i = 0; i < cache->index_count; i++) {
		struct fl_group *group;
		uint32_t at = 0;

		while ((group = fl_hmap_next(&cache->groups[i], &at)))
			group_free(group);
		fl_hmap_free(&cache->groups[i]);
	}
	fl_vec_free(&cache->under);
	fl_buf_free(&cache->joining);
}

uint64_t groups_bytes(const struct fl_cache *cache)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < cache->index_count; i++)
		bytes += cache->groups[i].cap * sizeof(void *) * 2;
	return bytes;
}

static struct fl_group *group_find_or_new(struct fl_cache *cache, uint32_t index, struct fl_str value)
{
	struct fl_group *group = fl_hmap_get(&cache->groups[index], value);

	if (!group) {
		group = fl_zalloc(sizeof *group + value.len);
		if (!group)
			return NULL;
		group->cap = FEW;
		group->index = index & 15;
		group->text_len = value.len & ((1u << 28) - 1);
		if (value.len)
			memcpy(group->text, value.p, value.len);
		if (fl_hmap_put(&cache->groups[index], group, NULL) < 0) {
			fl_free(group);
			return NULL;
		}
		cache->bytes += group_size(group);
	}
	return group;
}

/* Room for one more. Large ones grow by a quarter: doubled, half of their memory would be idle. */
static int group_reserve(struct fl_cache *cache, struct fl_group *group)
{
	uint32_t cap = group->cap < 64 ? group->cap * 2 : group->cap + group->cap / 4, *many;

	if (group->len < group->cap)
		return 0;
	many = fl_realloc(group->cap > FEW ? group->many : NULL, cap * sizeof *many);
	if (!many)
		return -FL_E_NOMEM;
	if (group->cap == FEW)
		memcpy(many, group->few, sizeof group->few);
	cache->bytes -= group_size(group);
	group->many = many;
	group->cap = cap;
	cache->bytes += group_size(group);
	return 0;
}

static uint32_t *places_of(struct fl_group *group)
{
	return group->cap > FEW ? group->many : group->few;
}

/* ---- values ---- */

/* Each part but the last one has its length before it. */
void fl_cache_value(struct fl_buf *out, const struct fl_str *parts, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (i + 1 < len)
			fl_buf_put(out, &parts[i].len, sizeof parts[i].len);
		fl_buf_str(out, parts[i]);
	}
}

static struct fl_str value_of(struct fl_cache *cache, const struct fl_str *parts, uint32_t len)
{
	if (len == 1)
		return parts[0];
	fl_buf_clear(&cache->joining);
	fl_cache_value(&cache->joining, parts, len);
	return cache->joining.failed ? (struct fl_str){ NULL, 0 } : fl_buf_view(&cache->joining);
}

static bool is_absent(const struct fl_str *parts, uint32_t len)
{
	while (len && !parts[len - 1].p)
		len--;
	return len == 0;
}

static int32_t clamp32(int64_t amount)
{
	return amount > INT32_MAX ? INT32_MAX : amount < INT32_MIN ? INT32_MIN : (int32_t)amount;
}

void fl_under_parts(struct fl_under *under, int64_t amount, const struct fl_str *parts, uint32_t len)
{
	struct fl_cache *cache = under->cache;
	struct fl_group *group;
	struct fl_str value;

	if (under->failed || is_absent(parts, len))
		return;
	value = value_of(cache, parts, len);
	group = value.p && fl_vec_reserve(&cache->under, 1) == 0 ? group_find_or_new(cache, under->index, value) : NULL;
	if (!group) {
		under->failed = true;
		return;
	}
	if (group->under_at) {
		struct fl_link *link = &cache->under.at[group->under_at - 1];

		link->amount = clamp32(clamp32(amount) + (int64_t)link->amount);
		return;
	}
	cache->under.at[cache->under.len++] = (struct fl_link){ group, NOWHERE, clamp32(amount) };
	group->under_at = cache->under.len;
}

void fl_by_controller(const void *object, struct fl_under *under)
{
	struct fl_owner_ref_list refs = fl_owner_refs_of(under->cache->kind, object);
	const struct fl_owner_ref *controller = fl_controller(&refs);

	if (controller)
		FL_UNDER(under, controller->uid);
}

/* ---- from one object to the next ---- */

void groups_undo(struct fl_cache *cache)
{
	fl_vec_each (link, &cache->under) {
		link->group->under_at = 0;
		drop_if_empty(cache, link->group);
	}
	cache->under.len = 0;
}

/* What stays in a group stays where it is. */
static int reserve_all(struct fl_cache *cache, const struct fl_entry *before)
{
	for (uint32_t i = 0; before && i < before->link_count; i++)
		if (before->links[i].group->under_at)
			cache->under.at[before->links[i].group->under_at - 1].at = before->links[i].at;
	fl_vec_each (link, &cache->under)
		if (link->at == NOWHERE && group_reserve(cache, link->group) < 0)
			return -FL_E_NOMEM;
	return 0;
}

int groups_prepare(struct fl_cache *cache, const void *object, struct fl_entry *before)
{
	struct fl_under under = { .cache = cache };

	for (; under.index < cache->index_count; under.index++) {
		const struct fl_index *index = &cache->indexes[under.index];

		if (index->label)
			FL_UNDER(&under, fl_label_of(cache->kind, object, fl_str(index->label)));
		else
			index->of(object, &under);
	}
	if (!under.failed && reserve_all(cache, before) == 0)
		return 0;
	groups_undo(cache);
	return -FL_E_NOMEM;
}

/* The last of the group comes into the gap. */
static void leave(struct fl_cache *cache, struct fl_link *link)
{
	struct fl_group *group = link->group;
	uint32_t *places = places_of(group), last = places[--group->len];

	group->sum -= link->amount;
	if (link->at != group->len) {
		struct fl_link *moved = cache->entries.at[last]->links;

		while (moved->group != group)
			moved++;
		moved->at = link->at;
		places[link->at] = last;
	}
	link->group = NULL;
	drop_if_empty(cache, group);
}

void groups_leave(struct fl_cache *cache, struct fl_entry *entry)
{
	for (uint32_t i = 0; i < entry->link_count; i++)
		if (entry->links[i].group)
			leave(cache, &entry->links[i]);
}

void groups_commit(struct fl_cache *cache, struct fl_entry *entry, struct fl_entry *before, uint32_t place)
{
	for (uint32_t i = 0; before && i < before->link_count; i++) {
		struct fl_link *was = &before->links[i];

		if (was->group->under_at) {   /* the new one takes its place there */
			was->group->sum -= was->amount;
			was->group = NULL;
		}
	}
	fl_vec_each (link, &cache->under) {
		struct fl_group *group = link->group;

		group->under_at = 0;
		group->sum += link->amount;
		if (link->at != NOWHERE)
			continue;
		link->at = group->len++;
		places_of(group)[link->at] = place;
	}
	if (cache->under.len)
		memcpy(entry->links, cache->under.at, cache->under.len * sizeof *entry->links);
	cache->under.len = 0;
	if (before)
		groups_leave(cache, before);
}

void groups_moved(struct fl_entry *entry, uint32_t place)
{
	for (uint32_t i = 0; i < entry->link_count; i++)
		places_of(entry->links[i].group)[entry->links[i].at] = place;
}

/* ---- reading ---- */

const struct fl_group *fl_cache_group(const struct fl_cache *cache, uint32_t index, struct fl_str value)
{
	return fl_hmap_get(&cache->groups[index], value);
}

uint32_t fl_group_len(const struct fl_group *group)
{
	return group ? group->len : 0;
}

int64_t fl_group_sum(const struct fl_group *group)
{
	return group ? group->sum : 0;
}

struct fl_entry *fl_group_at(const struct fl_cache *cache, const struct fl_group *group, uint32_t i)
{
	return cache->entries.at[places_of((struct fl_group *)(uintptr_t)group)[i]];
}
