#include "run/cache_in.h"
#include "run/loop_in.h"
#include <assert.h>

#define FL_ARENA_BLOCK_KEEP (64 * FL_KIB)   /* of its arena between two turns: a plan of a few hundred objects */
#define FL_RUN_STEPS 16              /* objects looked through between two looks at the clock: some 30 us */

FL_BIND(fl_meta_names, FL_META_NAMES)

/* ---- the whole ---- */

static struct fl_str overlay_key(const void *overlay_)
{
	const struct overlay *overlay = overlay_;

	return (struct fl_str){ overlay->text, overlay->len };
}

static struct fl_str key_key(const void *key_)
{
	const struct key *key = key_;

	return (struct fl_str){ key->text, key->len };
}

static struct fl_str contest_key(const void *contest_)
{
	const struct contest *contest = contest_;

	return (struct fl_str){ (const char *)&contest->id, sizeof contest->id };
}

static void work(struct fl_timer *timer);

struct fl_loop *fl_loop_new(struct fl_io *io, const struct fl_loop_options *options, struct fl_err *err)
{
	FL_AUTO(fl_loop) struct fl_loop *loop = fl_zalloc(sizeof *loop);

	if (!loop)
		return fl_null(err, FL_E_NOMEM, "no memory for the loop");
	loop->io = io;
	loop->options = *options;
	if (!loop->options.writes)
		loop->options.writes = FL_RUN_WRITES;
	loop->leading = !options->standby;
	loop->chance = options->seed[0] ^ options->seed[1];
	loop->work.fire = work;
	loop->packing = FL_BUF(FL_PACKED_MAX);
	loop->arena.keep = loop->feeding.keep = FL_ARENA_BLOCK_KEEP;
	fl_interns_init(&loop->interns, options->seed);
	fl_hmap_init(&loop->contests, contest_key, options->seed);
	if (run_metrics_add(loop, err) < 0)
		return NULL;
	return fl_steal(&loop);
}

static void feed_free(struct fl_feed *feed)
{
	struct overlay *overlay;
	struct fl_feed *added;
	uint32_t at = 0;

	while ((added = feed->next)) {
		feed->next = added->next;
		fl_free(added);
	}

	while ((overlay = fl_hmap_next(&feed->overlays, &at))) {
		overlay_drop(feed, overlay);
		at--;
	}
	fl_hmap_free(&feed->overlays);
	awaits_free(feed);
	fl_cache_free(&feed->cache);
	fl_free(feed);
}

static void cap_free(struct cap *cap)
{
	keys_free(cap);
	fl_hmap_free(&cap->keys);
	fl_free(cap);
}

struct fl_loop *fl_loop_free(struct fl_loop *loop)
{
	if (!loop)
		return NULL;
	fl_timer_stop(loop->io, &loop->work);
	slots_free(loop);
	fl_vec_each (cap, &loop->caps)
		cap_free(*cap);
	fl_vec_free(&loop->caps);
	while (loop->untold) {
		struct untold *untold = loop->untold;

		loop->untold = untold->next;
		fl_entry_drop(&untold->feed->cache, untold->before);
		fl_free(untold);
	}
	fl_free(loop->room);
	fl_vec_each (feed, &loop->feeds)
		feed_free(*feed);
	fl_vec_free(&loop->feeds);
	contests_free(loop);
	fl_hmap_free(&loop->contests);
	fl_interns_free(&loop->interns);
	fl_arena_free(&loop->arena);
	fl_arena_free(&loop->feeding);
	fl_buf_free(&loop->packing);
	fl_free(loop);
	return NULL;
}

struct fl_feed *run_feed(const struct fl_loop *loop, const struct fl_kind *kind)
{
	fl_vec_each (feed, &loop->feeds)
		if ((*feed)->source.kind == kind)
			return *feed;
	return NULL;
}

struct fl_feed *fl_loop_feed(struct fl_loop *loop, const struct fl_kind *kind)
{
	return run_feed(loop, kind);
}

/* Splitmix64: jitter that a seed repeats. */
uint64_t run_random(struct fl_loop *loop)
{
	uint64_t z = loop->chance += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* ---- what is registered ---- */

/* Every kind's metadata begins with the same rows, so one struct looks into all of them. */
static bool begins_with_names(const struct fl_field *meta)
{
	const struct fl_bind *names = fl_meta_names_bind(), *bind = meta && meta->type == FL_T_OBJ ? meta->of() : NULL;

	for (uint32_t i = 0; bind && i < names->len; i++)
		if (i >= bind->len || !fl_str_eq(bind->fields[i].json, names->fields[i].json) ||
		    bind->fields[i].offset != names->fields[i].offset)
			return false;
	return bind != NULL;
}

struct fl_meta_names *run_meta(const struct fl_feed *feed, const void *object)
{
	return (struct fl_meta_names *)(void *)((char *)(uintptr_t)object + feed->meta->offset);
}

void run_set_names(const struct fl_feed *feed, void *object, struct fl_str space, struct fl_str name)
{
	struct fl_meta_names *meta = run_meta(feed, object);
	uint64_t bits;

	memcpy(&bits, object, sizeof bits);   /* a root struct begins with what it has: one bit a row */
	bits |= (uint64_t)1 << (feed->meta - feed->source.kind->root()->fields);
	memcpy(object, &bits, sizeof bits);
	FL_SET(meta, name, name);
	if (space.len)
		FL_SET(meta, space, space);
}

int fl_loop_source(struct fl_loop *loop, const struct fl_source *source, struct fl_err *err)
{
	const struct fl_field *meta = fl_field_find(source->kind->root(), FL_S("metadata"));
	struct fl_feed *feed;

	if (run_feed(loop, source->kind))
		return fl_fail(err, FL_E_EXISTS, "%s has two sources", source->kind->kind);
	if (!begins_with_names(meta))
		return fl_fail(err, FL_E_INVALID, "%s: its metadata does not begin with FL_META_NAMES",
			       source->kind->kind);
	feed = fl_zalloc(sizeof *feed);
	if (!feed || fl_vec_push(&loop->feeds, feed) < 0) {
		fl_free(feed);
		return fl_fail(err, FL_E_NOMEM, "no memory for the cache of %s", source->kind->kind);
	}
	feed->loop = loop;
	feed->first = feed;
	feed->source = *source;
	feed->meta = meta;
	fl_hmap_init(&feed->overlays, overlay_key, loop->options.seed);
	awaits_init(feed);
	fl_cache_init(&feed->cache, source->kind, source->by, &loop->interns, loop->options.seed);
	if (source->unpacked)
		fl_cache_stay_unpacked(&feed->cache, source->unpacked);
	return 0;
}

struct fl_feed *fl_loop_feed_add(struct fl_loop *loop, const struct fl_kind *kind, const char *name, bool optional,
				 struct fl_err *err)
{
	struct fl_feed *last = run_feed(loop, kind), *added;

	while (last && last->next)
		last = last->next;
	if (!last || last->number + 1 == FL_SOURCES)
		return fl_null(err, FL_E_INVALID, last ? "%s has %d sources already" : "%s has no source yet",
			      kind->kind, FL_SOURCES);
	added = fl_zalloc(sizeof *added);
	if (!added)
		return fl_null(err, FL_E_NOMEM, "no memory for a source of %s", kind->kind);
	*added = (struct fl_feed){ .loop = loop, .first = last->first, .number = last->number + 1, .name = name,
				   .optional = optional };
	last->next = added;
	return added;
}

static int check_owner(const struct fl_loop *loop, const struct fl_capability *row, const struct fl_owner *owner,
		       struct fl_err *err)
{
	if (!run_feed(loop, owner->kind))
		return fl_fail(err, FL_E_INVALID, "capability %s writes %s, which has no source", row->name,
			       owner->kind->kind);
	if (fl_owner_check(owner, err) < 0)
		return fl_wrap(err, "capability %s", row->name);
	fl_vec_each (other, &loop->caps)
		for (const struct fl_owner *const *theirs = (*other)->row->owners; theirs && *theirs; theirs++)
			if (fl_owners_apart(*theirs, owner, err) < 0)
				return fl_wrap(err, "capabilities %s and %s", (*other)->row->name, row->name);
	for (const struct fl_owner *const *own = row->owners; *own != owner; own++)
		if (fl_owners_apart(*own, owner, err) < 0)
			return fl_wrap(err, "capability %s", row->name);
	return 0;
}

static bool watches(const struct fl_capability *row, const struct fl_kind *kind)
{
	for (const struct fl_watched *watched = row->watches; watched->kind; watched++)
		if (watched->kind == kind)
			return true;
	return false;
}

static bool is_owner_of(const struct fl_capability *row, const struct fl_owner *own)
{
	for (const struct fl_owner *const *owner = row->owners; owner && *owner; owner++)
		if (*owner == own)
			return true;
	return false;
}

/* The same children of two rows: each would take away what the other one makes. */
static bool same_children(const struct fl_children *a, const struct fl_children *b)
{
	return a->owner->kind == b->owner->kind && a->parent == b->parent &&
	       (a->label && b->label ? strcmp(a->label, b->label) == 0 : a->label == b->label);
}

static int check_children(const struct fl_loop *loop, const struct fl_capability *row,
			  const struct fl_children *const *at, struct fl_err *err)
{
	const struct fl_children *children = *at;
	const struct fl_kind *kind = children->owner->kind;

	if (fl_children_check(children, err) < 0)
		return fl_wrap(err, "capability %s", row->name);
	if (!is_owner_of(row, children->owner))
		return fl_fail(err, FL_E_INVALID, "capability %s does not list the owner %s of its children", row->name,
			       children->owner->manager);
	if (!watches(row, kind) || !watches(row, children->parent))
		return fl_fail(err, FL_E_INVALID, "capability %s makes %s for %s and does not watch both", row->name,
			       kind->kind, children->parent->kind);
	if (!run_children_index(run_feed(loop, kind), children))
		return fl_fail(err, FL_E_INVALID, "capability %s makes %s for %s, and no index finds them: %s",
			       row->name, kind->kind, children->parent->kind,
			       children->label ? children->label : "{ \"controller\", fl_by_controller }");
	for (const struct fl_children *const *before = row->children; before != at; before++)
		if (same_children(*before, children))
			return fl_fail(err, FL_E_INVALID, "capability %s has the %s of %s twice", row->name, kind->kind,
				       children->parent->kind);
	fl_vec_each (cap, &loop->caps)
		for (at = (*cap)->row->children; at && *at; at++)
			if (same_children(*at, children))
				return fl_fail(err, FL_E_CONFLICT, "capabilities %s and %s both have the %s of %s",
					       (*cap)->row->name, row->name, kind->kind, children->parent->kind);
	return 0;
}

static int check_capability(const struct fl_loop *loop, const struct fl_capability *row, uint32_t *ret_watches,
			    struct fl_err *err)
{
	*ret_watches = 0;
	for (const struct fl_watched *watched = row->watches; watched->kind; watched++) {
		if (!run_feed(loop, watched->kind))
			return fl_fail(err, FL_E_INVALID, "capability %s watches %s, which has no source", row->name,
				       watched->kind->kind);
		if (++*ret_watches > FL_RUN_WATCHES)
			return fl_fail(err, FL_E_TOOBIG, "capability %s watches more than %d kinds", row->name,
				       FL_RUN_WATCHES);
	}
	for (const struct fl_owner *const *owner = row->owners; owner && *owner; owner++)
		if (check_owner(loop, row, *owner, err) < 0)
			return -(int)(err ? err->code : FL_E_INVALID);
	for (const struct fl_children *const *children = row->children; children && *children; children++)
		if (check_children(loop, row, children, err) < 0)
			return -(int)(err ? err->code : FL_E_INVALID);
	return 0;
}

int fl_loop_capability(struct fl_loop *loop, const struct fl_capability *row, struct fl_err *err)
{
	uint32_t watches;
	int r = check_capability(loop, row, &watches, err);
	struct cap *cap;

	if (r < 0)
		return r;
	cap = fl_zalloc(sizeof *cap);
	if (!cap || fl_vec_push(&loop->caps, cap) < 0) {
		fl_free(cap);
		return fl_fail(err, FL_E_NOMEM, "no memory for capability %s", row->name);
	}
	cap->row = row;
	cap->loop = loop;
	cap->watch_count = watches;
	cap->queue.last = &cap->queue.first;
	fl_hmap_init(&cap->keys, key_key, loop->options.seed);
	run_metrics_cap(cap);
	run_check_active(loop);
	return 0;
}

void fl_loop_lead(struct fl_loop *loop, bool lead)
{
	loop->reign += lead && !loop->leading;
	loop->leading = lead;
	run_check_active(loop);
}

/* ---- turns ---- */

void run_wake(struct fl_loop *loop)
{
	if (!fl_timer_is_set(&loop->work))
		fl_timer_set(loop->io, &loop->work, fl_now(loop->io) + (loop->starved ? FL_RUN_RETRY_FIRST : 0));
}

/* A little of everything; false: there is nothing to do. */
static bool step(struct fl_loop *loop)
{
	bool more = run_tell_late(loop);

	fl_vec_each (feed, &loop->feeds) {
		more |= overlay_undo(*feed);
		more |= run_sweep(*feed, FL_RUN_STEPS);
	}
	for (uint32_t i = 0; i < loop->caps.len; i++) {
		struct cap *cap = loop->caps.at[(loop->next_cap + i) % loop->caps.len];

		more |= run_begin_keys(cap, FL_RUN_STEPS);
		if (loop->writing < loop->options.writes)
			more |= run_one_key(cap);
	}
	loop->next_cap++;
	return more;
}

static void work(struct fl_timer *timer)
{
	struct fl_loop *loop = fl_container(timer, struct fl_loop, work);
	uint64_t until = fl_clock(loop->io) + FL_RUN_SLICE;
	unsigned steps = 0;

	fl_io_name(loop->io, "plan");
	loop->starved = false;
	while (step(loop)) {
		if (++steps < FL_RUN_STEPS * FL_RUN_STEPS && fl_clock(loop->io) < until && !loop->starved)
			continue;
		run_wake(loop);
		return;
	}
}

/* ---- looking at it ---- */

bool fl_loop_idle(const struct fl_loop *loop)
{
	return !loop->writing && !fl_timer_is_set(&loop->work);
}

uint32_t fl_loop_writing(const struct fl_loop *loop)
{
	return loop->writing;
}

uint64_t fl_loop_bytes(const struct fl_loop *loop)
{
	uint64_t bytes = 0;

	fl_vec_each (feed, &loop->feeds)
		bytes += fl_cache_bytes(&(*feed)->cache);
	return bytes;
}

const struct fl_kind *fl_loop_kind(const struct fl_loop *loop, uint32_t n)
{
	return n < loop->feeds.len ? loop->feeds.at[n]->source.kind : NULL;
}

const struct fl_kind *fl_loop_missing(const struct fl_loop *loop)
{
	fl_vec_each (cap, &loop->caps)
		for (const struct fl_watched *watched = (*cap)->row->watches; watched->kind; watched++) {
			const struct fl_feed *feed = run_feed(loop, watched->kind);

			assert(feed);   /* a capability is taken only when its sources are there */
			if (feed->state == FEED_UNKNOWN || (feed->state != FEED_SYNCED && !watched->optional))
				return watched->kind;
		}
	return NULL;
}

/* ---- questions ---- */

int fl_loop_answer(struct fl_loop *loop, const struct fl_answering *row, const void *request, struct fl_arena *arena,
		   void *reply, struct fl_err *err)
{
	struct fl_view view = run_view(loop, arena);
	void *facts = fl_view_alloc(&view, 1, row->facts_size);
	int r;

	for (const struct fl_kind *const *kind = row->reads; kind && *kind; kind++) {
		const struct fl_feed *feed = run_feed(loop, *kind);

		if (!feed || feed->state == FEED_UNKNOWN)
			return fl_fail(err, FL_E_RETRY, "%s: nothing is known of %s yet; try again", row->name,
				       (*kind)->kind);
	}
	r = facts ? row->gather(&view, request, facts, err) : 0;
	if (view.failed)
		return fl_fail(err, FL_E_NOMEM, "%s: no memory for the facts", row->name);
	return r < 0 ? r : row->answer(facts, request, arena, reply, err);
}
