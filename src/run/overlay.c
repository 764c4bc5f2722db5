/* Own writes laid over what was told, so that no plan acts on its own echo. */
#include "run/loop_in.h"

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
	bool is_new = !overlay;

	if (is_new)
		overlay = fl_zalloc(sizeof *overlay + len);
	if (!overlay)
		return NULL;
	overlay->fresh = is_new;
	if (is_new) {
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

static void undo_later(struct fl_feed *feed)
{
	feed->undone = true;
	run_starve(feed->loop);
}

void overlay_unuse(struct fl_feed *feed, struct overlay *overlay)
{
	overlay->slot = NULL;
	if (overlay->fresh)
		overlay_drop(feed, overlay);
	else if (overlay->undone)
		undo_later(feed);
}

bool overlay_is_seen(const struct overlay *overlay)
{
	return !overlay || (!overlay->slot && !overlay->undone && (!overlay->laid || overlay->version));
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

	overlay->fresh = overlay->gone = overlay->seen = false;
	overlay->whole = laid;
	if (overlay->undone) {   /* what was shown was never told: what was, is kept since the write that failed */
		overlay->undone = false;
		fl_entry_drop(&feed->cache, change.before);
	} else {
		forget_told(feed, overlay);
		overlay->laid = laid;
		overlay->told = change.before;
	}
	fl_arena_reset(&feed->loop->feeding);
}

/* Keep what was told aside, and show what is laid over it. */
static int tell_below(struct fl_feed *feed, struct overlay *overlay, const void *object, const void *laid,
		      struct fl_err *err)
{
	struct fl_cache_change below, above = { 0 };
	int r = run_may_change(feed->loop) ? fl_cache_put(&feed->cache, object, &below, err) :
					     fl_fail(err, FL_E_NOMEM, "%s: no memory for a change",
						     feed->source.kind->kind);

	if (r < 0)
		return r;
	r = fl_cache_put(&feed->cache, laid, &above, err);
	forget_told(feed, overlay);
	overlay->told = above.before ? fl_entry_ref(above.before) : NULL;
	overlay->laid = overlay->whole = r == 0 && !above.same;
	overlay->undone = false;
	if (!below.same || above.before)   /* what was shown before both */
		run_tell(feed, below.same ? above.before : below.before, r == 0 ? above.after : below.after,
			 r == 0 ? laid : object);
	fl_entry_drop(&feed->cache, below.before);
	fl_entry_drop(&feed->cache, above.before);
	return r;
}

static void told_gone(struct fl_feed *feed, struct overlay *overlay)
{
	forget_told(feed, overlay);
	overlay->laid = overlay->undone = false;
	overlay->version = 0;
	overlay->gone = overlay->slot != NULL;
	run_remove(feed, space_of(overlay), name_of(overlay));
	if (!overlay->slot)
		overlay_drop(feed, overlay);
}

/* All of the write is in it already: mostly its echo, which has overtaken the answer. */
static int told_whole(struct fl_feed *feed, struct overlay *overlay, const void *object, struct fl_err *err)
{
	int r = run_put(feed, object, NULL, err);

	if (r < 0)
		return r;
	forget_told(feed, overlay);
	overlay->laid = overlay->undone = false;
	overlay->whole = true;
	return 0;
}

/* While another write is on its way: is the answer to the one before it newer than all that was told? Not what a full
 * state says that was asked for later: if that is older, the server has been set back. */
static bool answer_stands(const struct fl_feed *source, const struct overlay *overlay)
{
	return overlay->slot && overlay->version && overlay->asked[source->number] == source->asked;
}

/* A feeder has told of the object; NULL: it is gone. */
int overlay_told(struct fl_feed *source, struct overlay *overlay, const void *object, struct fl_err *err)
{
	struct fl_feed *feed = source->first;
	uint64_t version = object ? run_version(run_meta(feed, object)->resource_version) : 0;
	void *laid;
	int r;

	if (!object) {
		told_gone(feed, overlay);
		return 0;
	}
	if (!overlay->slot && (!overlay->version || !version || version >= overlay->version)) {
		r = run_put(feed, object, NULL, err);
		if (r == 0)
			overlay_drop(feed, overlay);
		return r;
	}
	if (answer_stands(source, overlay) && version && version < overlay->version)
		return 0;
	overlay->gone = false;
	/* Still on its way, or older than what we wrote: the plans go on seeing what we wrote. */
	laid = overlay->slot ? laid_over(feed, overlay, object) : shown(feed, overlay);
	if (!laid)
		return fl_fail(err, FL_E_NOMEM, "%s: no memory to lay a write over it", feed->source.kind->kind);
	if (overlay->slot && fl_equal(feed->source.kind->root(), laid, object))
		r = told_whole(feed, overlay, object, err);
	else
		r = tell_below(feed, overlay, object, laid, err);
	if (r == 0 && overlay->slot)
		overlay->version = 0;
	return r;
}

bool overlay_same(struct fl_feed *feed, struct overlay *overlay, struct fl_str version)
{
	/* Without its answer, what is laid over it bears the version of what is below. */
	if (overlay->slot || !overlay->version || overlay->version != run_version(version))
		return false;
	overlay_drop(feed, overlay);
	return true;
}

bool overlay_seen(struct fl_feed *feed, struct overlay *overlay, struct fl_str version)
{
	const struct fl_entry *entry = overlay->whole && !overlay->laid ? entry_of(feed, overlay) : NULL;

	overlay->seen = entry && fl_entry_is(&feed->cache, entry, RUN_AT(feed, resource_version), version);
	return overlay->seen;
}

/* Show again what was told last. */
static int restore(struct fl_feed *feed, const struct overlay *overlay)
{
	void *object;

	if (!overlay->laid)
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

	overlay_drop(feed, overlay);
	if (!other)
		run_remove(feed, ref->space, ref->name);
}

/* Without memory it shows what we wanted for a while longer. What the write before it made is shown again where nobody
 * has told of that yet, and stays laid over what is older; true: the overlay is gone. */
bool overlay_failed(struct fl_feed *feed, struct overlay *overlay)
{
	overlay->slot = NULL;
	overlay->undone = restore(feed, overlay) < 0;
	fl_arena_reset(&feed->loop->feeding);
	if (overlay->undone) {
		undo_later(feed);
		return false;
	}
	if (overlay->version) {
		overlay->laid = true;
		return false;
	}
	overlay_drop(feed, overlay);
	return true;
}

bool overlay_undo(struct fl_feed *feed)
{
	struct overlay *overlay;
	uint32_t at = 0;

	if (!feed->undone)
		return false;
	feed->undone = false;
	while ((overlay = fl_hmap_next(&feed->overlays, &at)))
		if (overlay->undone && !overlay->slot && overlay_failed(feed, overlay))
			at--;
	return feed->undone;
}

/* 0: not known, or not there. */
static int told_version(struct fl_feed *feed, const struct overlay *overlay, uint64_t *ret)
{
	/* Where nothing is laid over it, the cache shows what was told: the event came before the answer. */
	const struct fl_entry *told = overlay->told ? overlay->told : overlay->laid ? NULL :
				      fl_cache_get(&feed->cache, space_of(overlay), name_of(overlay));
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

/* The write has succeeded. What the sink was told of the object counts from now on, unless a feeder knows better
 * already.
 * -FL_E_NOMEM: it is done, and nobody can see it: do it again. */
int overlay_done(struct fl_feed *feed, struct overlay *overlay, const void *object, bool *ret_as_laid)
{
	const struct fl_feed *source = feed;
	struct fl_cache_change change = { 0 };
	uint64_t version = object ? run_version(run_meta(feed, object)->resource_version) : 0;
	void *have = object || overlay->laid || overlay->seen ? NULL : shown(feed, overlay);
	const void *show = object || overlay->laid || overlay->seen ? object : laid_over(feed, overlay, have);
	uint64_t told;

	if (overlay->seen) {
		*ret_as_laid = !overlay->laid;
		(void)overlay_failed(feed, overlay);   /* what was told is the truth, whatever came after it */
		return 0;
	}
	/* What it has of others must not be lost for want of memory to look at it. */
	if (!object && !overlay->laid && !have && entry_of(feed, overlay))
		return -FL_E_NOMEM;
	if (told_version(feed, overlay, &told) < 0)
		return -FL_E_NOMEM;
	/* Gone before the write or after it: nobody can tell. If it was before, the server is about to tell of the new
	 * one; to show what nobody will tell of any more would last. */
	if ((version && told >= version) || overlay->gone) {
		(void)overlay_failed(feed, overlay);   /* what was told is the truth */
	} else {
		if (show && run_put(feed, show, &change, NULL) == 0) {
			*ret_as_laid = object && overlay->whole &&
				       (change.same || fl_entry_same_but(&feed->cache, change.before, change.after,
									 RUN_AT(feed, resource_version)));
			overlay->laid = true;
			fl_entry_drop(&feed->cache, change.before);
		}
		if (!overlay->laid)
			return -FL_E_NOMEM;
		overlay->slot = NULL;
		do {
			overlay->asked[source->number] = source->asked;
			overlay->waits[source->number] = true;
			source = source->next;
		} while (source);
		overlay->version = version;
	}
	fl_arena_reset(&feed->loop->feeding);
	return 0;
}

/* Which source would show the write is not known: each that may must have had the time to. */
static bool has_waited(const struct fl_feed *source, struct overlay *overlay)
{
	bool waits = false;

	overlay->waits[source->number] &= overlay->asked[source->number] == source->asked;
	for (const struct fl_feed *each = source->first; each; each = each->next)
		waits |= overlay->waits[each->number] && each->told_state != FEED_ABSENT;
	return !waits;
}

/* A source's full state is complete: what it has not named, and no other has, is not below any overlay either. Full
 * states that were asked for after a write had been answered would show that write: where none does, the server has
 * been set back. */
void overlay_synced(struct fl_feed *source)
{
	struct fl_feed *feed = source->first;
	struct overlay *overlay;
	uint32_t at = 0;

	while ((overlay = fl_hmap_next(&feed->overlays, &at))) {
		const struct fl_entry *entry = overlay->laid ? entry_of(feed, overlay) : NULL;

		if (entry && !fl_cache_has_now(&feed->cache, entry, source->number) && !answer_stands(source, overlay))
			forget_told(feed, overlay);
		if (overlay->slot || !has_waited(source, overlay))
			continue;
		overlay->version = 0;
		if (overlay_failed(feed, overlay))
			at--;
	}
}
