/* What comes in: into the caches, and out as keys. */
#include "run/loop_in.h"

/* ---- what a change makes dirty ---- */

struct marking {
	struct fl_dirty dirty;
	struct fl_view view;
	struct cap *cap;
};

static void mark_key(struct fl_dirty *dirty, struct fl_str space, struct fl_str name)
{
	key_dirty(fl_container(dirty, struct marking, dirty)->cap, space, name);
}

static void begin_sweep(struct cap *cap, const struct fl_kind *kind)
{
	for (uint32_t i = 0; i < cap->watch_count; i++) {
		if (kind && cap->row->watches[i].kind != kind)
			continue;
		cap->sweeps[i].sweeping = true;
		cap->sweeps[i].at = UINT32_MAX;
	}
	run_wake(cap->loop);
}

static void mark_each(struct fl_dirty *dirty, const struct fl_kind *kind)
{
	begin_sweep(fl_container(dirty, struct marking, dirty)->cap, kind);
}

static void ask_keys(struct cap *cap, const struct fl_watched *watched, const void *before, const void *after)
{
	struct marking marking = { .dirty = { .key = mark_key, .each = mark_each }, .cap = cap };

	marking.view = run_view(cap->loop, &cap->loop->feeding);
	marking.dirty.view = &marking.view;
	watched->keys(before, after, &marking.dirty);
	if (marking.view.failed)
		begin_sweep(cap, NULL);   /* which keys it was is not known: begin from the beginning */
}

static void tell(const struct fl_feed *feed, const void *before, const void *after)
{
	fl_vec_each (cap, &feed->loop->caps)
		for (uint32_t i = 0; (*cap)->active && i < (*cap)->watch_count; i++)
			if ((*cap)->row->watches[i].kind == feed->source.kind)
				ask_keys(*cap, &(*cap)->row->watches[i], before, after);
}

static bool is_watched(const struct fl_feed *feed)
{
	fl_vec_each (cap, &feed->loop->caps)
		for (uint32_t i = 0; (*cap)->active && i < (*cap)->watch_count; i++)
			if ((*cap)->row->watches[i].kind == feed->source.kind)
				return true;
	return false;
}

/* Has nothing changed but the version? Then something changed that no table names. `before` is ours to change. */
static bool only_version(const struct fl_feed *feed, void *before, const void *after)
{
	struct fl_meta_names *mine = run_meta(feed, before), *theirs = run_meta(feed, after);

	mine->resource_version = theirs->resource_version;
	mine->has.resource_version = theirs->has.resource_version;
	return fl_equal(feed->source.kind->root(), before, after);
}

void run_tell(struct fl_feed *feed, void *before, const void *after)
{
	if (!is_watched(feed))
		return;
	if (before && after && only_version(feed, before, after))
		return;
	tell(feed, before, after);
}

/* The object that an entry holds, in the arena of this change. NULL: refused. */
static void *open_entry(struct fl_feed *feed, const struct fl_entry *entry)
{
	void *object = fl_arena_get(&feed->loop->feeding, feed->source.kind->root()->size);

	if (!object || fl_entry_unpack(&feed->cache, entry, &feed->loop->feeding, object, NULL) < 0)
		return NULL;
	return object;
}

int run_put(struct fl_feed *feed, const void *object, struct fl_entry **ret_before, struct fl_err *err)
{
	const struct fl_meta_names *meta = run_meta(feed, object);
	struct fl_entry *known = is_watched(feed) ? fl_cache_get(&feed->cache, meta->space, meta->name) : NULL;
	void *before = known ? open_entry(feed, known) : NULL;
	struct fl_cache_change change = { 0 };
	int r = known && !before ? fl_fail(err, FL_E_NOMEM, "%s: no memory to compare an object",
					   feed->source.kind->kind) :
				   fl_cache_put(&feed->cache, object, &change, err);

	if (r == 0 && !change.same)
		run_tell(feed, before, object);
	if (ret_before)
		*ret_before = change.before;
	else
		fl_entry_drop(&feed->cache, change.before);
	return r;
}

void run_remove(struct fl_feed *feed, struct fl_str space, struct fl_str name, struct fl_entry **ret_before)
{
	struct fl_cache_change change = fl_cache_remove(&feed->cache, space, name);
	const void *before;

	if (change.before && is_watched(feed)) {
		before = open_entry(feed, change.before);
		if (before)
			tell(feed, before, NULL);
		else
			fl_vec_each (cap, &feed->loop->caps)
				begin_sweep(*cap, NULL);
	}
	if (ret_before)
		*ret_before = change.before;
	else
		fl_entry_drop(&feed->cache, change.before);
}

/* ---- the beginning ---- */

bool run_begin_keys(struct cap *cap, uint32_t steps)
{
	for (uint32_t i = 0; cap->active && i < cap->watch_count; i++) {
		struct fl_feed *feed = run_feed(cap->loop, cap->row->watches[i].kind);
		const struct fl_entry *entry = NULL;

		while (cap->sweeps[i].sweeping && steps-- > 0) {
			const void *object;

			fl_arena_reset(&cap->loop->feeding);
			entry = fl_cache_back(&feed->cache, &cap->sweeps[i].at);
			object = entry ? open_entry(feed, entry) : NULL;
			cap->sweeps[i].sweeping = entry != NULL;
			if (object)
				ask_keys(cap, &cap->row->watches[i], object, object);
			else if (entry)
				begin_sweep(cap, cap->row->watches[i].kind);
		}
		fl_arena_reset(&cap->loop->feeding);
		if (cap->sweeps[i].sweeping)
			return true;
	}
	return false;
}

static bool may_work(const struct cap *cap)
{
	for (uint32_t i = 0; i < cap->watch_count; i++) {
		const struct fl_watched *watched = &cap->row->watches[i];
		const struct fl_feed *feed = run_feed(cap->loop, watched->kind);

		if (feed->state == FEED_UNKNOWN || (feed->state == FEED_ABSENT && !watched->optional))
			return false;
	}
	return cap->loop->leading;
}

void run_check_active(struct fl_loop *loop)
{
	fl_vec_each (at, &loop->caps) {
		struct cap *cap = *at;
		bool active = may_work(cap);

		if (active == cap->active)
			continue;
		cap->active = active;
		if (!active) {
			keys_drop(cap);
			continue;
		}
		begin_sweep(cap, NULL);
		if (cap->row->once)
			key_dirty(cap, FL_S(""), FL_S(""));
	}
}

/* ---- feeders ---- */

int fl_feed_put(struct fl_feed *feed, const void *object, struct fl_err *err)
{
	const struct fl_meta_names *meta = run_meta(feed, object);
	struct overlay *overlay = overlay_find(feed, meta->space, meta->name);
	int r = overlay ? overlay_told(feed, overlay, object, err) : run_put(feed, object, NULL, err);

	fl_arena_reset(&feed->loop->feeding);
	return r;
}

void fl_feed_gone(struct fl_feed *feed, struct fl_str space, struct fl_str name)
{
	struct overlay *overlay = overlay_find(feed, space, name);

	if (overlay)
		(void)overlay_told(feed, overlay, NULL, NULL);
	else
		run_remove(feed, space, name, NULL);
	fl_arena_reset(&feed->loop->feeding);
}

void fl_feed_begin(struct fl_feed *feed)
{
	feed->sweeping = false;
	fl_cache_mark(&feed->cache);
}

static void sweep_from_here(struct fl_feed *feed)
{
	feed->sweeping = true;
	feed->sweep_at = UINT32_MAX;
	run_wake(feed->loop);
}

void fl_feed_synced(struct fl_feed *feed)
{
	feed->state = FEED_SYNCED;
	overlay_synced(feed);
	sweep_from_here(feed);
	run_check_active(feed->loop);
}

void fl_feed_absent(struct fl_feed *feed)
{
	feed->state = FEED_ABSENT;
	fl_cache_mark(&feed->cache);
	sweep_from_here(feed);
	run_check_active(feed->loop);
}

/* One that was not told. It stays when it is our own and younger than the telling. */
static void sweep_out(struct fl_feed *feed, struct fl_entry *entry)
{
	void *object = open_entry(feed, entry);
	const struct fl_meta_names *meta = object ? run_meta(feed, object) : NULL;
	struct fl_cache_change change;

	if (!object) {
		fl_vec_each (cap, &feed->loop->caps)
			begin_sweep(*cap, NULL);
		return;
	}
	if (feed->state != FEED_ABSENT && overlay_find(feed, meta->space, meta->name) &&
	    fl_cache_put(&feed->cache, object, &change, NULL) == 0)
		return;
	if (is_watched(feed))
		tell(feed, object, NULL);
}

bool run_sweep(struct fl_feed *feed, uint32_t steps)
{
	while (feed->sweeping && steps-- > 0) {
		struct fl_entry *entry = fl_cache_sweep(&feed->cache, &feed->sweep_at);

		feed->sweeping = entry != NULL;
		if (!entry)
			break;
		sweep_out(feed, entry);
		fl_entry_drop(&feed->cache, entry);
		fl_arena_reset(&feed->loop->feeding);
	}
	return feed->sweeping;
}
