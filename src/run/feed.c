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
	struct marking *marking = fl_container(dirty, struct marking, dirty);

	if (key_dirty(marking->cap, space, name) < 0)
		marking->view.failed = true;
}

static void begin_sweep(struct cap *cap, const struct fl_kind *kind, bool late)
{
	for (uint32_t i = 0; i < cap->watch_count; i++) {
		struct sweep *sweep = &cap->sweeps[i];

		if (kind && cap->row->watches[i].kind != kind)
			continue;
		if (sweep->sweeping)
			sweep->again |= sweep->at != UINT32_MAX;
		else
			*sweep = (struct sweep){ .sweeping = true, .late = late, .at = UINT32_MAX };
	}
	run_wake(cap->loop);
}

static void mark_each(struct fl_dirty *dirty, const struct fl_kind *kind)
{
	begin_sweep(fl_container(dirty, struct marking, dirty)->cap, kind, true);
}

static int ask_keys(struct cap *cap, const struct fl_watched *watched, const void *before, const void *after)
{
	struct marking marking = { .dirty = { .key = mark_key, .each = mark_each }, .cap = cap };

	marking.view = run_view(cap->loop, &cap->loop->feeding);
	marking.dirty.view = &marking.view;
	watched->keys(before, after, &marking.dirty);
	if (!marking.view.failed)
		return 0;
	begin_sweep(cap, NULL, false);   /* which keys it was is not known: begin from the beginning */
	run_starve(cap->loop);
	return -FL_E_NOMEM;
}

/* -FL_E_NOMEM: all keys of what is there will be made dirty, but those of `before` may be lost. */
static int tell_watchers(const struct fl_feed *feed, const void *before, const void *after)
{
	int r = 0;

	fl_vec_each (cap, &feed->loop->caps)
		for (uint32_t i = 0; (*cap)->active && i < (*cap)->watch_count; i++)
			if ((*cap)->row->watches[i].kind == feed->source.kind &&
			    ask_keys(*cap, &(*cap)->row->watches[i], before, after) < 0)
				r = -FL_E_NOMEM;
	return r;
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

/* The object that an entry holds, in the arena of this change. NULL: refused. */
static void *open_entry(struct fl_feed *feed, const struct fl_entry *entry)
{
	void *object = fl_arena_get(&feed->loop->feeding, feed->source.kind->root()->size);

	if (!object || fl_entry_unpack(&feed->cache, entry, &feed->loop->feeding, object, NULL) < 0)
		return NULL;
	return object;
}

/* ---- changes ---- */

void run_starve(struct fl_loop *loop)
{
	loop->starved = true;
	run_wake(loop);
}

bool run_may_change(struct fl_loop *loop)
{
	if (!loop->room)
		loop->room = fl_alloc(sizeof *loop->room);
	return loop->room != NULL;
}

static void tell_later(struct fl_feed *feed, struct fl_entry *before)
{
	struct untold *untold = fl_steal(&feed->loop->room);

	*untold = (struct untold){ feed->loop->untold, feed, fl_entry_ref(before) };
	feed->loop->untold = untold;
	run_starve(feed->loop);
}

/* `object` is what `before` holds, if somebody has it unpacked. Mostly the bytes tell already that only the version has
 * changed; but some that are equal can be written in two ways. */
static void tell_change(struct fl_feed *feed, struct fl_entry *before, void *object, const struct fl_entry *now,
			const void *after)
{
	if (!is_watched(feed) ||
	    (before && now && fl_entry_same_but(&feed->cache, before, now, RUN_AT(feed, resource_version))))
		return;
	if (before && !object)
		object = open_entry(feed, before);
	if (object && after && only_version(feed, object, after))
		return;
	if ((before && !object) || (tell_watchers(feed, object, after) < 0 && before))
		tell_later(feed, before);
}

void run_tell(struct fl_feed *feed, struct fl_entry *before, const struct fl_entry *now, const void *after)
{
	tell_change(feed, before, NULL, now, after);
}

int run_tell_again(struct fl_feed *feed, struct fl_str space, struct fl_str name)
{
	const struct fl_entry *entry = fl_cache_get(&feed->cache, space, name);
	void *object = entry ? open_entry(feed, entry) :
			       fl_arena_get(&feed->loop->feeding, feed->source.kind->root()->size);
	int r = -FL_E_NOMEM;

	if (object && !entry)
		run_set_names(feed, object, space, name);
	if (object)
		r = tell_watchers(feed, entry ? object : NULL, object);
	fl_arena_reset(&feed->loop->feeding);
	return r;
}

bool run_tell_late(struct fl_loop *loop)
{
	struct untold *untold = loop->untold;
	const struct fl_meta_names *meta;
	const void *before, *after = NULL;
	const struct fl_entry *now;

	if (!untold)
		return false;
	before = open_entry(untold->feed, untold->before);
	meta = before ? run_meta(untold->feed, before) : NULL;
	now = meta ? fl_cache_get(&untold->feed->cache, meta->space, meta->name) : NULL;
	after = now ? open_entry(untold->feed, now) : NULL;
	if (!before || (now && !after) || tell_watchers(untold->feed, before, after) < 0) {
		run_starve(loop);
	} else {
		loop->untold = untold->next;
		fl_entry_drop(&untold->feed->cache, untold->before);
		fl_free(untold);
	}
	fl_arena_reset(&loop->feeding);
	return loop->untold != NULL;
}

int run_put(struct fl_feed *feed, const void *object, struct fl_cache_change *ret, struct fl_err *err)
{
	return run_put_over(feed, NULL, object, ret, err);
}

int run_put_over(struct fl_feed *feed, void *shown, const void *object, struct fl_cache_change *ret,
		 struct fl_err *err)
{
	struct fl_cache_change change = { 0 };
	int r = run_may_change(feed->loop) ? fl_cache_put(&feed->cache, object, &change, err) :
					     fl_fail(err, FL_E_NOMEM, "%s: no memory for a change",
						     feed->source.kind->kind);

	if (r == 0 && !change.same)
		tell_change(feed, change.before, shown, change.after, object);
	feed->unchanged += change.same;
	if (ret)
		*ret = change;
	else
		fl_entry_drop(&feed->cache, change.before);
	return r;
}

static void sweep_from_here(struct fl_feed *source)
{
	source->sweeping = true;
	source->sweep_at = UINT32_MAX;
	run_wake(source->loop);
}

static void remove_later(struct fl_feed *feed, struct fl_str space, struct fl_str name)
{
	struct fl_entry *entry = fl_cache_get(&feed->cache, space, name);

	if (!entry)
		return;
	fl_cache_doom(entry);
	run_starve(feed->loop);
	if (!feed->telling)   /* else the end of the full state sweeps it out */
		sweep_from_here(feed);
}

void run_remove(struct fl_feed *feed, struct fl_str space, struct fl_str name)
{
	struct fl_cache_change change;

	if (!run_may_change(feed->loop)) {
		remove_later(feed, space, name);
		return;
	}
	await_told(feed, space, name);
	change = fl_cache_remove(&feed->cache, space, name);
	if (change.before)
		run_tell(feed, change.before, NULL, NULL);
	fl_entry_drop(&feed->cache, change.before);
}

/* ---- the beginning ---- */

/* The sweep that goes on next; NULL: none does. */
static struct sweep *next_sweep(struct cap *cap)
{
	struct sweep *late = NULL;

	for (uint32_t i = 0; i < cap->watch_count; i++) {
		struct sweep *sweep = &cap->sweeps[i];

		if (sweep->sweeping && !sweep->late)
			return sweep;
		if (sweep->sweeping && !late)
			late = sweep;
	}
	return late;
}

static void sweep_one(struct cap *cap, struct sweep *sweep)
{
	const struct fl_watched *watched = &cap->row->watches[sweep - cap->sweeps];
	struct fl_feed *feed = run_feed(cap->loop, watched->kind);
	const struct fl_entry *entry = fl_cache_back(&feed->cache, &sweep->at);
	const void *object = entry ? open_entry(feed, entry) : NULL;

	if (object) {
		(void)ask_keys(cap, watched, object, object);
	} else if (entry) {
		begin_sweep(cap, watched->kind, false);
		run_starve(cap->loop);
	} else {
		sweep->sweeping = sweep->again;
		sweep->again = false;
		sweep->late = true;
		sweep->at = UINT32_MAX;
	}
	fl_arena_reset(&cap->loop->feeding);
}

bool run_begin_keys(struct cap *cap, uint32_t steps)
{
	struct sweep *sweep = NULL;

	if (cap->begins && key_dirty(cap, FL_S(""), FL_S("")) == 0)
		cap->begins = false;
	while (cap->active && cap->queue.len < FL_RUN_QUEUE && (sweep = next_sweep(cap)) && steps-- > 0)
		sweep_one(cap, sweep);
	return cap->begins || (sweep && cap->queue.len < FL_RUN_QUEUE);
}

static bool may_work(const struct cap *cap)
{
	for (uint32_t i = 0; i < cap->watch_count; i++) {
		const struct fl_watched *watched = &cap->row->watches[i];
		const struct fl_feed *feed = run_feed(cap->loop, watched->kind);

		if (feed->state == FEED_UNKNOWN || (feed->state != FEED_SYNCED && !watched->optional))
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
		begin_sweep(cap, NULL, false);
		cap->begins = cap->row->once;
	}
}

/* ---- feeders ---- */

static void note_told(struct fl_feed *source)
{
	source->first->told++;
	source->first->told_at = fl_now(source->loop->io);
}

/* Sources are not equally quick: what another one has shown may be newer than what this one tells only now. Not in a
 * full state, so that a server which was set back is believed. *ret_entry: what is shown, NULL: nothing. */
static int is_old(struct fl_feed *source, const struct fl_meta_names *meta, struct fl_entry **ret_entry, bool *ret)
{
	struct fl_feed *feed = source->first;
	struct fl_entry *entry = fl_cache_get(&feed->cache, meta->space, meta->name);
	uint64_t told = run_version(meta->resource_version);
	struct fl_str shown;

	*ret_entry = entry;
	*ret = false;
	if (!feed->next || source->telling || !entry || !told || !fl_cache_has(entry))
		return 0;
	if (fl_peek(feed->source.kind->root(), fl_entry_packed(&feed->cache, entry), RUN_AT(feed, resource_version),
		    &feed->loop->feeding, &shown) < 0)
		return -FL_E_NOMEM;
	*ret = told < run_version(shown);
	return 0;
}

static int put_told(struct fl_feed *source, const void *object, struct fl_err *err)
{
	struct fl_feed *feed = source->first;
	const struct fl_meta_names *meta = run_meta(feed, object);
	/* The object's own texts may be those of the entry that it replaces. */
	struct fl_str space = fl_arena_str(&feed->loop->feeding, meta->space);
	struct fl_str name = fl_arena_str(&feed->loop->feeding, meta->name);
	struct overlay *overlay = overlay_find(feed, meta->space, meta->name);
	struct fl_entry *entry;
	bool old;
	int r = is_old(source, meta, &entry, &old);

	if (r < 0 || !space.p || !name.p)
		return fl_fail(err, FL_E_NOMEM, "%s: no memory for a change", feed->source.kind->kind);
	if (!old) {
		r = overlay ? overlay_told(source, overlay, object, err) : run_put(feed, object, NULL, err);
		entry = fl_cache_get(&feed->cache, space, name);
	}
	if (r == 0 && entry)
		fl_cache_told(&feed->cache, entry, source->number);
	await_told(feed, space, name);
	return r;
}

int fl_feed_put(struct fl_feed *source, const void *object, struct fl_err *err)
{
	int r = put_told(source, object, err);

	fl_arena_reset(&source->loop->feeding);
	note_told(source);
	return r;
}

void fl_feed_gone(struct fl_feed *source, struct fl_str space, struct fl_str name)
{
	struct fl_feed *feed = source->first;
	struct fl_entry *entry = fl_cache_get(&feed->cache, space, name);
	struct overlay *overlay = overlay_find(feed, space, name);

	if (entry)
		fl_cache_untold(entry, source->number);
	if (!entry || !fl_cache_has(entry)) {
		if (overlay)
			(void)overlay_told(source, overlay, NULL, NULL);
		else
			run_remove(feed, space, name);
	}
	fl_arena_reset(&feed->loop->feeding);
	note_told(source);
}

bool fl_feed_same(struct fl_feed *source, struct fl_str space, struct fl_str name, struct fl_str uid,
		  struct fl_str version)
{
	struct fl_feed *feed = source->first;
	struct fl_entry *entry = fl_cache_get(&feed->cache, space, name);
	struct overlay *overlay;

	if (!entry || !fl_entry_is(&feed->cache, entry, RUN_AT(feed, resource_version), version) ||
	    !fl_entry_is(&feed->cache, entry, RUN_AT(feed, uid), uid))
		return false;
	overlay = overlay_find(feed, space, name);
	if (overlay && !overlay_same(feed, overlay, version))
		return false;
	fl_cache_told(&feed->cache, entry, source->number);
	feed->unchanged++;
	note_told(source);
	return true;
}

void fl_feed_asked(struct fl_feed *source)
{
	source->asked++;
	source->asking = true;
}

bool fl_feed_ahead(const struct fl_feed *source)
{
	return source->first->overlays.len > 0;
}

void fl_feed_begin(struct fl_feed *source)
{
	if (!source->asking)
		fl_feed_asked(source);
	source->asking = false;
	source->telling = true;
	source->sweeping = false;
	fl_cache_mark(&source->first->cache, source->number);
}

/* Whether the server has the kind is a fact too (fl_view_absent), and what came while it was not known yet was planned
 * without it; so is whether what is known is current. So all that depends on it is planned again. */
static void tell_of_state(const struct fl_feed *feed, bool known)
{
	fl_vec_each (at, &feed->loop->caps) {
		struct cap *cap = *at;

		for (uint32_t i = 0; cap->active && i < cap->watch_count; i++) {
			const struct fl_watched *watched = &cap->row->watches[i];

			if (watched->kind != feed->source.kind || !(known ? watched->optional : watched->current))
				continue;
			begin_sweep(cap, known ? feed->source.kind : NULL, false);
			cap->begins |= cap->row->once;
		}
	}
}

/* After a change of what it hangs on. */
static void set_current(struct fl_feed *source)
{
	bool is = source->told_state == FEED_SYNCED && !source->broken;

	if (is == (source->current_at > 0))
		return;
	source->current_at = is ? fl_now(source->loop->io) : 0;
	tell_of_state(source->first, false);
}

/* Known when each source is; there, unless one is absent that is needed, or all are. */
static enum feed_state state_of_all(const struct fl_feed *feed)
{
	bool unknown = false, awaited = false, lacks = false, has = false;

	for (; feed; feed = feed->next) {
		unknown |= feed->told_state == FEED_UNKNOWN;
		awaited |= feed->told_state == FEED_AWAITED;
		lacks |= feed->told_state == FEED_ABSENT && !feed->optional;
		has |= feed->told_state == FEED_SYNCED;
	}
	if (unknown)
		return FEED_UNKNOWN;
	if (awaited)
		return FEED_AWAITED;
	return has && !lacks ? FEED_SYNCED : FEED_ABSENT;
}

static void become(struct fl_feed *source, enum feed_state state)
{
	if (state != source->told_state && source->told_state != FEED_UNKNOWN && state != FEED_AWAITED)
		tell_of_state(source->first, true);
	source->told_state = state;
	source->first->state = state_of_all(source->first);
	set_current(source);
	run_check_active(source->loop);
}

void fl_feed_synced(struct fl_feed *source)
{
	source->telling = false;
	source->first->full_states++;
	source->first->told_at = fl_now(source->loop->io);
	overlay_synced(source);
	sweep_from_here(source);
	become(source, FEED_SYNCED);
}

void fl_feed_absent(struct fl_feed *source)
{
	source->telling = false;
	fl_cache_mark(&source->first->cache, source->number);
	sweep_from_here(source);
	become(source, FEED_ABSENT);
}

void fl_feed_awaited(struct fl_feed *source)
{
	become(source, FEED_AWAITED);
}

void fl_feed_current(struct fl_feed *source, bool current)
{
	source->broken = !current;
	set_current(source);
}

/* One that no source has. It stays when it is our own and younger than the telling. */
static int sweep_out(struct fl_feed *feed, struct fl_entry *entry)
{
	void *object = run_may_change(feed->loop) ? open_entry(feed, entry) : NULL;
	const struct fl_meta_names *meta;
	const struct overlay *overlay;

	if (!object)
		return -FL_E_NOMEM;
	meta = run_meta(feed, object);
	overlay = overlay_find(feed, meta->space, meta->name);
	if (feed->state == FEED_ABSENT || !overlay_shows(overlay))
		run_remove(feed, meta->space, meta->name);
	return 0;
}

static bool sweep_source(struct fl_feed *source, uint32_t steps)
{
	struct fl_feed *feed = source->first;

	while (source->sweeping && steps-- > 0) {
		struct fl_entry *entry = fl_cache_stale(&feed->cache, source->number, &source->sweep_at);
		int r = entry ? sweep_out(feed, entry) : 0;

		fl_arena_reset(&feed->loop->feeding);
		source->sweeping = entry != NULL;
		if (r < 0) {
			source->sweep_at++;   /* the same one again */
			run_starve(feed->loop);
			break;
		}
	}
	return source->sweeping;
}

bool run_sweep(struct fl_feed *feed, uint32_t steps)
{
	bool more = false;

	for (struct fl_feed *source = feed; source; source = source->next)
		more |= sweep_source(source, steps);
	return more;
}
