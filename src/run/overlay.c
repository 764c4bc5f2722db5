/* Own writes laid over what was told, so that no plan acts on its own echo. loop_in.h draws the states; overlay_next is
 * that drawing, and overlay_on alone goes from one to another. */
#include "run/loop_in.h"
#include <assert.h>

struct fl_str run_text(char *text, struct fl_str space, struct fl_str name)
{
	if (space.len)
		memcpy(text, space.p, space.len);
	text[space.len] = '\0';
	if (name.len)
		memcpy(text + space.len + 1, name.p, name.len);
	return (struct fl_str){ text, space.len + 1 + name.len };
}

struct overlay *overlay_find(const struct fl_feed *feed, struct fl_str space, struct fl_str name)
{
	char text[FL_RUN_NAME];

	if (!feed->overlays.len || (uint64_t)space.len + 1 + name.len > sizeof text)
		return NULL;
	return fl_hmap_get(&feed->overlays, run_text(text, space, name));
}

struct overlay *overlay_new(struct fl_feed *feed, struct slot *slot, struct fl_str space, struct fl_str name)
{
	uint32_t len = space.len + 1 + name.len;
	struct overlay *overlay = overlay_find(feed, space, name);

	if (!overlay) {
		overlay = fl_zalloc(sizeof *overlay + len);
		if (!overlay)
			return NULL;
		overlay->state = OVERLAY_NEW;
		overlay->space_len = space.len;
		overlay->len = len;
		(void)run_text(overlay->text, space, name);
		if (fl_hmap_put(&feed->overlays, overlay, NULL) < 0) {
			fl_free(overlay);
			return NULL;
		}
	}
	overlay->slot = slot;
	return overlay;
}

static struct fl_str space_of(const struct overlay *overlay)
{
	return (struct fl_str){ overlay->text, overlay->space_len };
}

static struct fl_str name_of(const struct overlay *overlay)
{
	return (struct fl_str){ overlay->text + overlay->space_len + 1, overlay->len - overlay->space_len - 1 };
}

static void forget_told(struct fl_feed *feed, struct overlay *overlay)
{
	fl_entry_drop(&feed->cache, overlay->told);
	overlay->told = NULL;
}

void overlay_drop(struct fl_feed *feed, struct overlay *overlay)
{
	forget_told(feed, overlay);
	(void)fl_hmap_del(&feed->overlays, (struct fl_str){ overlay->text, overlay->len });
	fl_free(overlay);
}

static const enum overlay_state overlay_next[OVERLAY_STATE_COUNT_][OVERLAY_EVENT_COUNT_] = {
	[OVERLAY_NEW] = { [ON_START] = OVERLAY_LAID, [ON_START_BARE] = OVERLAY_BARE, [ON_OVER] = OVERLAY_OUT },
	[OVERLAY_LAID] = { [ON_TOLD] = OVERLAY_LAID, [ON_TOLD_BARE] = OVERLAY_BARE, [ON_TOLD_ALL] = OVERLAY_ECHOED,
			   [ON_TOLD_GONE] = OVERLAY_GONE, [ON_DONE] = OVERLAY_ANSWERED, [ON_OVER] = OVERLAY_OUT,
			   [ON_BACK] = OVERLAY_ANSWERED, [ON_STUCK] = OVERLAY_FAILED },
	[OVERLAY_BARE] = { [ON_TOLD] = OVERLAY_LAID, [ON_TOLD_BARE] = OVERLAY_BARE, [ON_TOLD_ALL] = OVERLAY_ECHOED,
			   [ON_TOLD_GONE] = OVERLAY_GONE, [ON_DONE] = OVERLAY_ANSWERED, [ON_OVER] = OVERLAY_OUT,
			   [ON_BACK] = OVERLAY_ANSWERED },
	[OVERLAY_ECHOED] = { [ON_TOLD] = OVERLAY_LAID, [ON_TOLD_BARE] = OVERLAY_BARE, [ON_TOLD_ALL] = OVERLAY_ECHOED,
			     [ON_TOLD_GONE] = OVERLAY_GONE, [ON_CONFIRMED] = OVERLAY_CONFIRMED,
			     [ON_DONE] = OVERLAY_ANSWERED, [ON_OVER] = OVERLAY_OUT },
	[OVERLAY_CONFIRMED] = { [ON_TOLD_ALL] = OVERLAY_CONFIRMED, [ON_TOLD_GONE] = OVERLAY_CONFIRMED,
				[ON_OVER] = OVERLAY_OUT },
	[OVERLAY_GONE] = { [ON_TOLD] = OVERLAY_LAID, [ON_TOLD_BARE] = OVERLAY_BARE, [ON_TOLD_ALL] = OVERLAY_ECHOED,
			   [ON_TOLD_GONE] = OVERLAY_GONE, [ON_OVER] = OVERLAY_OUT },
	[OVERLAY_ANSWERED] = { [ON_START] = OVERLAY_LAID, [ON_START_BARE] = OVERLAY_BARE, [ON_TOLD_ALL] = OVERLAY_OUT,
			       [ON_TOLD_GONE] = OVERLAY_OUT, [ON_OVER] = OVERLAY_OUT },
	[OVERLAY_FAILED] = { [ON_TOLD_ALL] = OVERLAY_OUT, [ON_TOLD_GONE] = OVERLAY_OUT, [ON_OVER] = OVERLAY_OUT,
			     [ON_BACK] = OVERLAY_ANSWERED, [ON_STUCK] = OVERLAY_FAILED },
};

/* True: the overlay is gone. */
static bool overlay_on(struct fl_feed *feed, struct overlay *overlay, enum overlay_event event)
{
	enum overlay_state to = overlay_next[overlay->state][event];

	assert(to);   /* the drawing has no such event in this state */
	if (to == OVERLAY_OUT) {
		overlay_drop(feed, overlay);
		return true;
	}
	overlay->state = to;
	if (to == OVERLAY_ANSWERED || to == OVERLAY_FAILED)
		overlay->slot = NULL;
	if (to == OVERLAY_FAILED) {
		feed->undone = true;
		run_starve(feed->loop);
	}
	return false;
}

void overlay_unuse(struct fl_feed *feed, struct overlay *overlay)
{
	overlay->slot = NULL;
	if (overlay->state == OVERLAY_NEW)
		(void)overlay_on(feed, overlay, ON_OVER);
}

bool overlay_shows(const struct overlay *overlay)
{
	return overlay && (overlay->state == OVERLAY_LAID || overlay->state == OVERLAY_ANSWERED ||
			   overlay->state == OVERLAY_FAILED);
}

bool overlay_is_seen(const struct overlay *overlay)
{
	return !overlay || (overlay->state == OVERLAY_ANSWERED && overlay->version);
}

/* 0: not a number, or none. */
uint64_t run_version(struct fl_str text)
{
	uint64_t version;

	return fl_str_u64(text, &version) ? version : 0;
}

/* What the object becomes by the write; `have` NULL: it is not there. NULL: refused, or nothing to lay. */
static void *laid_over(struct fl_feed *feed, const struct overlay *overlay, const void *have)
{
	const struct fl_write *write = &overlay->slot->write;
	size_t size = feed->source.kind->root()->size;
	struct fl_arena *arena = &feed->loop->feeding;
	void *zero = have ? NULL : fl_arena_get(arena, size), *object = fl_arena_get(arena, size);

	if (!object || (!have && !zero))
		return NULL;
	switch (write->what) {
	case FL_WANT_OBJECT:
		if (fl_owned_lay(write->owner, write->object, have ? have : zero, arena, object, NULL) < 0)
			return NULL;
		run_set_names(feed, object, space_of(overlay), name_of(overlay));
		return object;
	case FL_WANT_GONE:
		if (!have)
			return NULL;
		memcpy(object, have, size);
		if (!write->ref.uid.len || fl_str_eq(run_meta(feed, object)->uid, write->ref.uid))
			FL_SET(run_meta(feed, object), deletion_timestamp, fl_wall(feed->loop->io) / 1000);
		return object;   /* another one of its name is none that goes */
	case FL_WANT_ITEM:
	case FL_WANT_NO_ITEM:
		if (!have)
			return NULL;
		memcpy(object, overlay->slot->laid, size);   /* good for this version only, and so is the patch */
		return object;
	case FL_WANT_COUNT_:
		break;
	}
	return NULL;
}

static struct fl_entry *entry_of(const struct fl_feed *feed, const struct overlay *overlay)
{
	return fl_cache_get(&feed->cache, space_of(overlay), name_of(overlay));
}

static struct seen look(struct fl_feed *feed, const struct overlay *overlay)
{
	const struct fl_entry *entry = entry_of(feed, overlay);
	void *object = entry ? fl_arena_get(&feed->loop->feeding, feed->source.kind->root()->size) : NULL;

	if (!object || fl_entry_unpack(&feed->cache, entry, &feed->loop->feeding, object, NULL) < 0)
		return (struct seen){ entry, NULL };
	return (struct seen){ entry, object };
}

static void *shown(struct fl_feed *feed, const struct overlay *overlay)
{
	return look(feed, overlay).object;
}

/* Memory that is refused here costs the overlay only: the object is busy until the write ends, so nobody writes
 * twice. */
void overlay_lay(struct fl_feed *feed, struct overlay *overlay, struct seen seen)
{
	struct seen have = seen.object ? seen : look(feed, overlay);
	void *object = have.entry && !have.object ? NULL : laid_over(feed, overlay, have.object);
	struct fl_cache_change change = { 0 };
	bool laid = object && run_put_over(feed, have.object, object, &change, NULL) == 0 && !change.same;

	overlay->told = change.before;
	(void)overlay_on(feed, overlay, laid ? ON_START : ON_START_BARE);
	fl_arena_reset(&feed->loop->feeding);
}

/* Keep what was told aside, and show what is laid over it. */
static int tell_below(struct fl_feed *feed, struct overlay *overlay, const void *object, const void *laid,
		      struct fl_err *err)
{
	struct fl_cache_change below, above = { 0 };
	bool shows;
	int r = run_may_change(feed->loop) ? fl_cache_put(&feed->cache, object, &below, err) :
					     fl_fail(err, FL_E_NOMEM, "%s: no memory for a change",
						     feed->source.kind->kind);

	if (r < 0)
		return r;
	r = fl_cache_put(&feed->cache, laid, &above, err);
	shows = r == 0 && !above.same;
	forget_told(feed, overlay);
	overlay->told = above.before ? fl_entry_ref(above.before) : NULL;
	overlay->version = 0;
	(void)overlay_on(feed, overlay, shows ? ON_TOLD : ON_TOLD_BARE);
	if (!below.same || above.before)   /* what was shown before both */
		run_tell(feed, below.same ? above.before : below.before, r == 0 ? above.after : below.after,
			 r == 0 ? laid : object);
	fl_entry_drop(&feed->cache, below.before);
	fl_entry_drop(&feed->cache, above.before);
	return r;
}

/* All that is laid is in it, or counts no more: mostly the echo of the write. */
static int tell_all(struct fl_feed *feed, struct overlay *overlay, const void *object, struct fl_err *err)
{
	int r = run_put(feed, object, NULL, err);

	if (r < 0)
		return r;
	forget_told(feed, overlay);
	overlay->version = 0;
	(void)overlay_on(feed, overlay, ON_TOLD_ALL);
	return 0;
}

static void tell_gone(struct fl_feed *feed, struct overlay *overlay)
{
	forget_told(feed, overlay);
	overlay->version = 0;
	run_remove(feed, space_of(overlay), name_of(overlay));
	(void)overlay_on(feed, overlay, ON_TOLD_GONE);
}

/* Is the last answer newer than what this source tells at this version (0: it has none)? Not if it tells a full state
 * that was asked for later: if that is older, the server has been set back. */
static bool answer_stands(const struct fl_feed *source, const struct overlay *overlay, uint64_t version)
{
	return overlay->version && overlay->asked[source->number] == source->asked && version &&
	       version < overlay->version;
}

/* A feeder has told of the object; NULL: it is gone. */
int overlay_told(struct fl_feed *source, struct overlay *overlay, const void *object, struct fl_err *err)
{
	struct fl_feed *feed = source->first;
	void *laid;

	if (!object) {
		tell_gone(feed, overlay);
		return 0;
	}
	if (answer_stands(source, overlay, run_version(run_meta(feed, object)->resource_version)))
		return 0;   /* the plans go on seeing what we wrote */
	if (!overlay->slot || overlay->state == OVERLAY_CONFIRMED)
		return tell_all(feed, overlay, object, err);
	laid = laid_over(feed, overlay, object);
	if (!laid)
		return fl_fail(err, FL_E_NOMEM, "%s: no memory to lay a write over it", feed->source.kind->kind);
	return fl_equal(feed->source.kind->root(), laid, object) ? tell_all(feed, overlay, object, err) :
								   tell_below(feed, overlay, object, laid, err);
}

bool overlay_same(struct fl_feed *feed, struct overlay *overlay, struct fl_str version)
{
	/* Without its answer, what is laid over it bears the version of what is below. */
	if (overlay->state != OVERLAY_ANSWERED || !overlay->version || overlay->version != run_version(version))
		return false;
	return overlay_on(feed, overlay, ON_TOLD_ALL);
}

bool overlay_seen(struct fl_feed *feed, struct overlay *overlay, struct fl_str version)
{
	const struct fl_entry *entry = overlay->state == OVERLAY_ECHOED ? entry_of(feed, overlay) : NULL;

	if (entry && fl_entry_is(&feed->cache, entry, RUN_AT(feed, resource_version), version))
		(void)overlay_on(feed, overlay, ON_CONFIRMED);
	return overlay->state == OVERLAY_CONFIRMED;
}

/* Show again what was told last. */
static int restore(struct fl_feed *feed, const struct overlay *overlay)
{
	void *object;

	if (!overlay_shows(overlay))
		return 0;
	if (!overlay->told) {
		run_remove(feed, space_of(overlay), name_of(overlay));
		return 0;
	}
	object = fl_arena_get(&feed->loop->feeding, feed->source.kind->root()->size);
	if (!object || fl_entry_unpack(&feed->cache, overlay->told, &feed->loop->feeding, object, NULL) < 0)
		return -FL_E_NOMEM;
	return run_put(feed, object, NULL, NULL);
}

/* The answer to a deletion: what bears the name may be another object by now, of which was told before the answer. */
void overlay_gone(struct fl_feed *feed, struct overlay *overlay, const struct fl_ref *ref)
{
	const struct fl_entry *entry = entry_of(feed, overlay);
	bool other = entry && ref->uid.len && !fl_entry_is(&feed->cache, entry, RUN_AT(feed, uid), ref->uid);

	(void)overlay_on(feed, overlay, ON_OVER);
	if (!other)
		run_remove(feed, ref->space, ref->name);
}

/* Without memory it shows what we wanted for a while longer. What the write before it made is shown again where no
 * feeder has told of that yet. True: the overlay is gone. */
bool overlay_failed(struct fl_feed *feed, struct overlay *overlay)
{
	enum overlay_event event = restore(feed, overlay) < 0 ? ON_STUCK : overlay->version ? ON_BACK : ON_OVER;

	fl_arena_reset(&feed->loop->feeding);
	if (event == ON_BACK)
		forget_told(feed, overlay);
	return overlay_on(feed, overlay, event);
}

bool overlay_undo(struct fl_feed *feed)
{
	struct overlay *overlay;
	uint32_t at = 0;

	if (!feed->undone)
		return false;
	feed->undone = false;
	while ((overlay = fl_hmap_next(&feed->overlays, &at)))
		if (overlay->state == OVERLAY_FAILED && overlay_failed(feed, overlay))
			at--;
	return feed->undone;
}

/* 0: not known, or not there. */
static int told_version(struct fl_feed *feed, const struct overlay *overlay, uint64_t *ret)
{
	/* Where nothing is laid over it, the cache shows what was told: the event came before the answer. */
	const struct fl_entry *told = overlay_shows(overlay) ? overlay->told : entry_of(feed, overlay);
	struct fl_str version;

	*ret = 0;
	if (!told)
		return 0;
	if (fl_peek(feed->source.kind->root(), fl_entry_packed(&feed->cache, told), RUN_AT(feed, resource_version),
		    &feed->loop->feeding, &version) < 0)
		return -FL_E_NOMEM;
	*ret = run_version(version);
	return 0;
}

/* Show what the write has made of the object: the answer, or without one what is laid, or what can be laid now.
 * -FL_E_NOMEM: it is not shown. */
static int show_done(struct fl_feed *feed, const struct overlay *overlay, const void *object, bool *ret_as_laid)
{
	bool whole = overlay->state != OVERLAY_BARE;
	struct fl_cache_change change = { 0 };

	if (!object && overlay->state == OVERLAY_LAID)
		return 0;
	if (!object) {
		void *have = shown(feed, overlay);

		/* What it has of others must not be lost for want of memory to look at it. */
		object = have || !entry_of(feed, overlay) ? laid_over(feed, overlay, have) : NULL;
		whole = false;
	}
	if (!object || run_put(feed, object, &change, NULL) < 0)
		return overlay->state == OVERLAY_LAID ? 0 : -FL_E_NOMEM;
	*ret_as_laid = whole && (change.same || fl_entry_same_but(&feed->cache, change.before, change.after,
								  RUN_AT(feed, resource_version)));
	fl_entry_drop(&feed->cache, change.before);
	return 0;
}

/* The write has succeeded. What the sink was told of the object counts from now on, unless a feeder knows better
 * already.
 * -FL_E_NOMEM: it is done, and nobody can see it: do it again. */
int overlay_done(struct fl_feed *feed, struct overlay *overlay, const void *object, bool *ret_as_laid)
{
	uint64_t version = object ? run_version(run_meta(feed, object)->resource_version) : 0, told = 0;
	const struct fl_feed *source = feed;
	bool told_newer = overlay->state == OVERLAY_GONE || overlay->state == OVERLAY_CONFIRMED;

	if (!told_newer && told_version(feed, overlay, &told) < 0)
		return -FL_E_NOMEM;
	/* Gone before the write or after it: nobody can tell. If it was before, the server is about to tell of the new
	 * one; to show what nobody will tell of any more would last. */
	if (told_newer || (version && told >= version)) {
		(void)overlay_failed(feed, overlay);   /* what was told is the truth */
		return 0;
	}
	if (show_done(feed, overlay, object, ret_as_laid) < 0)
		return -FL_E_NOMEM;
	forget_told(feed, overlay);
	overlay->version = version;
	do {
		overlay->asked[source->number] = source->asked;
		source = source->next;
	} while (source);
	fl_arena_reset(&feed->loop->feeding);
	(void)overlay_on(feed, overlay, ON_DONE);
	return 0;
}

/* Which source would show the write is not known: each that may must have had the time to. */
static bool has_waited(const struct fl_feed *source, struct overlay *overlay)
{
	bool waits = false;

	if (overlay->asked[source->number] != source->asked)
		overlay->asked[source->number] = OVERLAY_HEARD;
	for (const struct fl_feed *each = source->first; each; each = each->next)
		waits |= overlay->asked[each->number] != OVERLAY_HEARD && each->told_state != FEED_ABSENT;
	return !waits;
}

/* A source's full state is complete: what it has not named, and no other has, is not below any overlay either. Full
 * states that were asked for after a write had been answered would show that write: where none has named the object,
 * the server has been set back. */
void overlay_synced(struct fl_feed *source)
{
	struct fl_feed *feed = source->first;
	struct overlay *overlay;
	uint32_t at = 0;

	while ((overlay = fl_hmap_next(&feed->overlays, &at))) {
		const struct fl_entry *entry = entry_of(feed, overlay);

		if (overlay->state == OVERLAY_ANSWERED) {
			if (has_waited(source, overlay)) {
				run_remove(feed, space_of(overlay), name_of(overlay));
				(void)overlay_on(feed, overlay, ON_OVER);
				at--;
			}
		} else if (overlay_shows(overlay) && entry &&
			   !fl_cache_has_now(&feed->cache, entry, source->number) &&
			   (!overlay->version || overlay->asked[source->number] != source->asked)) {
			forget_told(feed, overlay);
			overlay->version = 0;
		}
	}
}
