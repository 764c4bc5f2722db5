#include "run/cache_in.h"
#include "api/children.h"
#include "run/loop_in.h"
#include <assert.h>

struct fl_view run_view(struct fl_loop *loop, struct fl_arena *arena)
{
	return (struct fl_view){ .loop = loop, .arena = arena, .now = fl_now(loop->io), .wall =
				 fl_wall(loop->io) / 1000 };
}

struct fl_view fl_loop_view(struct fl_loop *loop, struct fl_arena *arena)
{
	return run_view(loop, arena);
}

static struct fl_feed *feed_of(const struct fl_view *view, const struct fl_kind *kind)
{
	struct fl_feed *feed = run_feed(view->loop, kind);

	assert(feed);   /* a capability that reads a kind without a source */
	return feed;
}

static void *unpack(struct fl_view *view, struct fl_cache *cache, const struct fl_entry *entry)
{
	void *object = fl_view_alloc(view, 1, cache->kind->root()->size);

	if (!object)
		return NULL;
	if (fl_entry_unpack(cache, entry, view->arena, object, NULL) == 0)
		return object;
	view->failed = true;
	return NULL;
}

static void note_read(const struct fl_view *view, const struct fl_read *read)
{
	if (view->read)
		view->read(view->read_arg, read);
}

/* Is it what was got last? Saves the way through the cache, which is most of a second get. */
static bool is_seen(const struct fl_view *view, const struct fl_feed *feed, struct fl_str space, struct fl_str name)
{
	const struct fl_meta_names *meta;

	if (!view->seen || view->seen_in != feed)
		return false;
	meta = run_meta(feed, view->seen_object);
	return fl_str_eq(meta->name, name) && fl_str_eq(meta->space, space);
}

const void *fl_view_get(struct fl_view *view, const struct fl_kind *kind, struct fl_str space, struct fl_str name)
{
	struct fl_feed *feed = feed_of(view, kind);
	const struct fl_entry *entry;

	if (feed->source.unpacked)
		return fl_view_unpacked(view, kind, space, name).object;
	entry = is_seen(view, feed, space, name) ? view->seen :
				       fl_cache_get(&feed->cache, space, name);

	note_read(view, &(struct fl_read){ FL_READ_GET, kind, .space = space, .name = name, .found = entry != NULL });
	if (!entry || entry != view->seen) {
		view->seen_object = entry ? unpack(view, &feed->cache, entry) : NULL;
		view->seen = view->steady && view->seen_object ? entry : NULL;
		view->seen_in = feed;
	}
	return view->seen_object;
}

struct fl_unpacked fl_view_unpacked(struct fl_view *view, const struct fl_kind *kind, struct fl_str space,
				    struct fl_str name)
{
	struct fl_unpacked is;
	int r = fl_cache_unpacked_get(&feed_of(view, kind)->cache, space, name, &is);

	view->failed |= r < 0;
	note_read(view,
		  &(struct fl_read){ FL_READ_GET, kind, .space = space, .name = name, .found = is.object != NULL });
	return is;
}

uint32_t fl_view_all_unpacked(struct fl_view *view, const struct fl_kind *kind, const struct fl_unpacked **ret)
{
	uint32_t len = 0;

	*ret = NULL;
	if (fl_cache_unpacked(&feed_of(view, kind)->cache, ret, &len) < 0)
		view->failed = true;
	note_read(view, &(struct fl_read){ FL_READ_ALL, kind, .found = len > 0 });
	return len;
}

struct seen run_view_take(struct fl_view *view, const struct fl_feed *feed, struct fl_str space, struct fl_str name)
{
	struct seen seen = { view->seen, view->seen_object };

	if (!is_seen(view, feed, space, name))
		return (struct seen){ NULL, NULL };
	view->seen = NULL;
	return seen;
}

bool fl_view_absent(struct fl_view *view, const struct fl_kind *kind)
{
	return feed_of(view, kind)->state == FEED_ABSENT;
}

bool fl_view_lacks(struct fl_view *view, const struct fl_kind *kind, const char *name)
{
	const struct fl_feed *source = feed_of(view, kind)->next;

	while (source && strcmp(source->name, name) != 0)
		source = source->next;
	return source && source->told_state == FEED_ABSENT;
}

bool fl_view_awaited(struct fl_view *view, const struct fl_kind *kind)
{
	return feed_of(view, kind)->state == FEED_AWAITED;
}

uint64_t fl_view_current(struct fl_view *view, const struct fl_kind *kind)
{
	const struct fl_feed *feed = feed_of(view, kind);
	uint64_t since = 0;

	if (feed->state != FEED_SYNCED)
		return 0;
	for (const struct fl_feed *source = feed; source; source = source->next) {
		if (source->told_state != FEED_SYNCED)
			continue;   /* an optional one, which is absent */
		if (!source->current_at)
			return 0;
		if (since < source->current_at)
			since = source->current_at;
	}
	return since;
}

struct fl_each fl_view_all(struct fl_view *view, const struct fl_kind *kind)
{
	struct fl_each each = { .view = view, .cache = &feed_of(view, kind)->cache };

	note_read(view, &(struct fl_read){ FL_READ_ALL, kind, .found = each.cache->len > 0 });
	each.len = each.cache->len;
	return each;
}

static const struct fl_group *group_of(struct fl_view *view, struct fl_read read)
{
	const struct fl_cache *cache = &feed_of(view, read.kind)->cache;
	const struct fl_group *group;
	uint32_t index = 0;

	while (index < cache->index_count && strcmp(cache->indexes[index].name, read.index) != 0)
		index++;
	assert(index < cache->index_count);   /* no such index in the source */
	group = fl_cache_group(cache, index, read.value);
	read.found = group != NULL;
	note_read(view, &read);
	return group;
}

struct fl_each fl_view_by(struct fl_view *view, const struct fl_kind *kind, const char *index, struct fl_str value)
{
	struct fl_read read = { FL_READ_BY, kind, .index = index, .value = value };
	struct fl_each each = { .view = view, .cache = &feed_of(view, kind)->cache, .group = group_of(view, read) };

	each.len = fl_group_len(each.group);
	return each;
}

struct fl_each fl_view_children(struct fl_view *view, const struct fl_kind *kind, struct fl_str parent_uid)
{
	const struct fl_cache *cache = &feed_of(view, kind)->cache;
	uint32_t index = 0;

	while (index < cache->index_count && cache->indexes[index].of != fl_by_controller)
		index++;
	assert(index < cache->index_count);   /* the loop has refused a capability without it */
	return fl_view_by(view, kind, cache->indexes[index].name, parent_uid);
}

uint32_t fl_view_count(struct fl_view *view, const struct fl_kind *kind, const char *index, struct fl_str value)
{
	struct fl_read read = { FL_READ_COUNT, kind, .index = index, .value = value };

	return fl_group_len(group_of(view, read));
}

int64_t fl_view_sum(struct fl_view *view, const struct fl_kind *kind, const char *index, struct fl_str value)
{
	struct fl_read read = { FL_READ_SUM, kind, .index = index, .value = value };

	return fl_group_sum(group_of(view, read));
}

struct fl_str fl_view_value(struct fl_view *view, const struct fl_str *parts, uint32_t len)
{
	FL_AUTO(fl_buf) struct fl_buf joined = FL_BUF(FL_PACKED_MAX);
	struct fl_str value;

	fl_cache_value(&joined, parts, len);
	value = fl_arena_str(view->arena, fl_buf_view(&joined));
	view->failed |= joined.failed || !value.p;
	return value;
}

static const struct fl_entry *next_entry(struct fl_each *each)
{
	if (each->at == each->len)
		return NULL;
	if (each->group)
		return fl_group_at(each->cache, each->group, each->at++);
	return fl_cache_each(each->cache, &each->at);
}

const void *fl_each_next(struct fl_each *each)
{
	const struct fl_entry *entry = next_entry(each);

	return entry ? unpack(each->view, each->cache, entry) : NULL;
}

/* ---- many at once ---- */

static int by_name(const void *a, const void *b, void *cache_)
{
	return cache_by_name(cache_, a, b);
}

uint32_t fl_each_array(struct fl_each *each, void **ret)
{
	size_t size = each->cache->kind->root()->size;
	const struct fl_entry *entry;
	uint32_t len = each->len - each->at, at = 0;
	char *array;

	*ret = NULL;
	array = len ? fl_view_alloc(each->view, len, size) : NULL;
	if (!array)
		return 0;
	for (; (entry = next_entry(each)); at++)
		if (fl_entry_unpack(each->cache, entry, each->view->arena, array + at * size, NULL) < 0) {
			each->view->failed = true;
			return 0;
		}
	qsort_r(array, len, size, by_name, each->cache);
	*ret = array;
	return len;
}

void *fl_view_array(struct fl_view *view, const struct fl_kind *kind, uint32_t *ret_len)
{
	struct fl_each each = fl_view_all(view, kind);
	void *array;

	*ret_len = fl_each_array(&each, &array);
	return array;
}

const void *fl_view_first(struct fl_view *view, const struct fl_kind *kind)
{
	struct fl_each each = fl_view_all(view, kind);

	return fl_each_next(&each);
}

/* Read as a part of the object: who is told of its changes is told of a change of this. */
struct fl_str fl_view_contested_want(struct fl_view *view, const struct fl_want *want)
{
	struct fl_feed *feed = feed_of(view, want->ref.kind);
	struct fl_str space = want->ref.space, name = want->ref.name;

	note_read(view, &(struct fl_read){ FL_READ_GET, want->ref.kind, .space = space, .name = name,
				      .found = fl_cache_get(&feed->cache, space, name) != NULL });
	return contest_words(view->loop, want);
}

struct fl_str fl_view_contested(struct fl_view *view, const struct fl_owner *owner, struct fl_str space,
				struct fl_str name)
{
	return fl_view_contested_want(view, &(struct fl_want){ .what = FL_WANT_OBJECT, .owner = owner,
							       .ref = { owner->kind, space, name, { "", 0 } } });
}

/* Not noted as read: await.c plans the key again, whoever's it is. */
struct fl_str fl_view_taken(struct fl_view *view, const struct fl_children *children, struct fl_str parent_uid,
			    struct fl_str space, struct fl_str name)
{
	struct fl_feed *feed = feed_of(view, children->owner->kind);
	const struct fl_entry *entry = fl_cache_get(&feed->cache, space, name);
	const void *object = entry ? unpack(view, &feed->cache, entry) : NULL;
	struct fl_owner_ref_list refs;
	const struct fl_owner_ref *controller;
	struct fl_str words;

	if (!object || fl_str_eq(fl_parent_of(children, object), parent_uid))
		return (struct fl_str){ NULL, 0 };
	refs = fl_owner_refs_of(children->owner->kind, object);
	controller = fl_controller(&refs);
	if (!controller)
		return FL_S("somebody who has set no controller");
	words = fl_arena_printf(view->arena, "%.*s %.*s%s", FL_ARG(controller->kind), FL_ARG(controller->name),
				fl_owner_ref_is(controller, children->parent) ? " of another uid" : "");
	view->failed |= !words.p;
	return words;
}

void fl_dirty_controller(struct fl_dirty *dirty, const struct fl_kind *parent, struct fl_str space,
			 const struct fl_owner_ref_list *refs)
{
	const struct fl_owner_ref *controller = fl_controller(refs);

	if (controller && fl_owner_ref_is(controller, parent))
		fl_dirty_key(dirty, parent->cluster_scoped ? FL_S("") : space, controller->name);
}

void *fl_view_alloc(struct fl_view *view, size_t count, size_t size)
{
	void *p = fl_arena_get_n(view->arena, count, size);

	view->failed |= !p;
	return p;
}
