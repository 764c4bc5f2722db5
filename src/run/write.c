/* From what is wanted to what is done: the difference, one write an object at a time, and what comes of it. */
#include "run/loop_in.h"
#include "base/backoff.h"
#include "base/chain.h"
#include "run/shared.h"
#include <assert.h>

/* What became of one want. */
enum verdict {
	SO_ALREADY,    /* nothing differs */
	PREPARED,      /* a write that waits to be started */
	BUSY,          /* another write to the object is on its way */
	FULL,          /* too many writes are */
	RESTING,       /* somebody takes it away: later */
	REFUSED,       /* *err says why */
};

/* One key being planned. */
struct turn {
	struct cap *cap;
	struct key *key;
	struct fl_plan *plan;
	struct fl_view *view;
	struct slot *prepared, **last;
	bool unsettled;                /* not all that is wanted is so */
	bool remains;                  /* what should not be is still there */
	bool full;                     /* there is no room for further writes */
};

/* ---- slots ---- */

static struct slot *slot_new(struct turn *t, struct fl_feed *feed)
{
	struct fl_loop *loop = t->cap->loop;
	struct slot *slot = loop->spare;
	struct fl_arena arena = { 0 };

	if (slot) {
		loop->spare = slot->next;
		arena = slot->write.arena;
	} else {
		slot = fl_alloc(sizeof *slot);
		if (!slot)
			return NULL;
	}
	*slot = (struct slot){ .cap = t->cap, .key = t->key, .feed = feed, .reign = loop->reign,
			       .write = { .arena = arena, .loop = loop } };
	slot->waiters.last = &slot->waiters.first;
	return slot;
}

static void slot_spare(struct slot *slot)
{
	struct fl_loop *loop = slot->cap->loop;

	fl_arena_reset(&slot->write.arena);
	slot->next = loop->spare;
	loop->spare = slot;
}

void slots_free(struct fl_loop *loop)
{
	while (loop->slots) {
		struct slot *slot = loop->slots;

		slot->feed->source.sink->cancel(slot->feed->source.sink_arg, &slot->write);
		loop->slots = slot->next;
		slot->next = loop->spare;
		loop->spare = slot;
	}
	while (loop->spare) {
		struct slot *slot = loop->spare;

		loop->spare = slot->next;
		fl_arena_free(&slot->write.arena);
		fl_free(slot);
	}
}

static int no_memory(struct fl_err *err, const struct fl_want *want)
{
	return fl_fail(err, FL_E_NOMEM, "no memory to write %s %.*s", want->ref.kind->kind, FL_ARG(want->ref.name));
}

static enum verdict refused(struct fl_err *err, const struct fl_want *want)
{
	(void)no_memory(err, want);
	return REFUSED;
}

/* Copy what the write says into its own arena; `have` is what is there, or NULL. */
static int fill(struct slot *slot, const struct fl_want *want, const void *have, struct fl_err *err)
{
	struct fl_write *write = &slot->write;
	const struct fl_meta_names *meta = have ? run_meta(slot->feed, have) : NULL;

	write->what = want->what;
	write->owner = want->children ? fl_owner_copy(want->owner, &write->arena) :
				       want->owner   /* of a child, it goes with the plan */;
	write->shared = want->shared;
	write->how = want->how;
	write->as_seen = want->as_seen;
	write->exists = have != NULL;
	write->ref.kind = want->ref.kind;
	write->ref.space = fl_arena_str(&write->arena, want->ref.space);
	write->ref.name = fl_arena_str(&write->arena, want->ref.name);
	write->ref.uid = fl_arena_str(&write->arena, meta ? meta->uid : FL_S(""));
	write->version = fl_arena_str(&write->arena, meta ? meta->resource_version : FL_S(""));
	write->held = fl_arena_get(&write->arena, slot->feed->source.sink->room);
	if ((want->owner && !write->owner) || !write->held || !write->ref.space.p || !write->ref.name.p ||
	    !write->ref.uid.p || !write->version.p)
		return no_memory(err, want);
	return 0;
}

/* ---- conditions: stamped when their status changes, and told ---- */

static struct fl_condition_list conditions_of(const struct fl_kind *kind, const void *object)
{
	const struct fl_field *status = fl_field_find(kind->root(), FL_S("status")), *field = NULL;
	struct fl_condition_list list = { NULL, 0 };

	if (status && status->type == FL_T_OBJ)
		field = fl_field_find(status->of(), FL_S("conditions"));
	if (object && field && field->of == fl_condition_bind)
		memcpy(&list, (const char *)object + status->offset + field->offset, sizeof list);
	return list;
}

static enum fl_emit tell_of(const struct fl_want *want, struct fl_str type)
{
	for (const struct fl_told *told = want->told; told; told = told->next)
		if (fl_str_eq(told->type, type))
			return told->tell;
	return FL_EMIT_NOBODY;
}

/* Good news about what was never bad is no news. Another reason is another cause with another remedy; another message
 * is a count or a name. */
static bool is_news(const struct fl_condition *before, const struct fl_condition *now, enum fl_emit tell)
{
	if (tell == FL_EMIT_NOBODY)
		return false;
	if (!before)
		return tell == FL_EMIT_WARNING || now->status != FL_CONDITION_FALSE;
	return before->status != now->status || !fl_str_eq(before->reason, now->reason);
}

static struct fl_ref copy_ref(struct fl_arena *arena, struct fl_ref ref)
{
	return (struct fl_ref){ ref.kind, fl_arena_str(arena, ref.space), fl_arena_str(arena, ref.name),
				fl_arena_str(arena, ref.uid), ref.generation };
}

/* Of fl_want_event; behind those of conditions, for which there is room. */
static int add_news(struct slot *slot, const struct fl_want *want, uint32_t conditions, struct fl_err *err)
{
	struct fl_arena *arena = &slot->write.arena;
	uint32_t count = 0;

	for (const struct fl_news *news = want->news; news; news = news->next)
		count++;
	slot->events = conditions + count ? fl_arena_get_n(arena, conditions + count, sizeof *slot->events) : NULL;
	if (conditions + count && !slot->events)
		return no_memory(err, want);
	for (const struct fl_news *news = want->news; news; news = news->next) {
		struct fl_told_event *event = &slot->events[slot->event_count++];

		*event = (struct fl_told_event){
			.ref = fl_ref_same(news->about, slot->write.ref) ? slot->write.ref : copy_ref(arena,
					news->about),
			.warning = news->tell == FL_EMIT_WARNING, .is = FL_CONDITION_TRUE,
			.type = fl_arena_str(arena, news->reason), .reason = fl_arena_str(arena, news->reason),
			.message = fl_arena_str(arena, news->message), .was = FL_S(""),
			.capability = slot->cap->row->name,
		};
		if (!event->ref.space.p || !event->ref.name.p || !event->ref.uid.p || !event->reason.p ||
		    !event->type.p || !event->message.p)
			return no_memory(err, want);
	}
	return 0;
}

/* The object's conditions are the write's own copies. */
static int stamp(struct slot *slot, const struct fl_want *want, void *object, const void *have, struct fl_err *err)
{
	struct fl_condition_list now = conditions_of(want->ref.kind, object);
	struct fl_condition_list before;
	int64_t wall = fl_wall(slot->cap->loop->io) / 1000000000 * 1000000;   /* seconds, as they are printed */

	if (add_news(slot, want, now.len, err) < 0)
		return -FL_E_NOMEM;
	before = conditions_of(want->ref.kind, have);
	for (uint32_t i = 0; i < now.len; i++) {
		struct fl_condition *condition = &now.at[i];
		const struct fl_condition *was = fl_condition_find(&before, condition->type);
		bool same = was && was->status == condition->status && was->has.last_transition_time;
		enum fl_emit tell = tell_of(want, condition->type);

		FL_SET(condition, last_transition_time, same ? was->last_transition_time : wall);
		if (is_news(was, condition, tell))
			slot->events[slot->event_count++] = (struct fl_told_event){
				.ref = slot->write.ref, .warning = tell == FL_EMIT_WARNING, .is = condition->status,
				.type = condition->type,
				.reason = condition->reason, .message = condition->message,
				.was = fl_arena_str(&slot->write.arena, was ? was->reason : FL_S("")),
				.capability = slot->cap->row->name,
			};
	}
	for (uint32_t i = 0; slot->events && i < slot->event_count; i++)
		if (!slot->events[i].was.p)
			return no_memory(err, want);
	return 0;
}

/* ---- the difference ---- */

/* What a want changes. */
struct change {
	struct fl_str_list differs;    /* OBJECT: paths */
	struct contest_ref contest;
	uint64_t digest;               /* of struct slot */
	struct fl_str patch;           /* ITEM, NO_ITEM */
	void *laid;
};

static int fill_object(struct slot *slot, const struct fl_want *want, const void *have, const struct change *change,
		       struct fl_err *err)
{
	const struct fl_bind *root = want->ref.kind->root();
	struct fl_arena *arena = &slot->write.arena;
	struct fl_str *paths = fl_arena_get_n(arena, change->differs.len, sizeof *paths);
	void *object = fl_arena_get(arena, root->size);
	int r;

	if (!object || !paths)
		return no_memory(err, want);
	for (uint32_t i = 0; i < change->differs.len; i++) {
		paths[i] = fl_arena_str(arena, change->differs.at[i]);
		if (!paths[i].p)
			return no_memory(err, want);
	}
	slot->write.object = object;
	slot->write.paths = (struct fl_str_list){ paths, change->differs.len };
	r = fl_copy(root, want->object, arena, object, err);
	return r < 0 ? r : stamp(slot, want, object, have, err);
}

static int fill_item(struct slot *slot, const struct fl_want *want, const struct change *change, struct fl_err *err)
{
	const struct fl_bind *root = want->ref.kind->root();
	const struct fl_field *list = fl_shared_field(want->shared, NULL);
	struct fl_arena *arena = &slot->write.arena;
	void *laid = fl_arena_get(arena, root->size), *item = fl_arena_get(arena, list->size);
	struct fl_str text;
	int r;

	slot->write.patch = fl_arena_str(arena, change->patch);
	slot->laid = laid;
	slot->item = item;
	if (!laid || !item || !slot->write.patch.p)
		return no_memory(err, want);
	r = fl_copy(root, change->laid, arena, laid, err);
	if (r < 0 || list->type == FL_T_OBJ)
		return r < 0 ? r : fl_copy(list->of(), want->object, arena, item, err);
	memcpy(&text, want->object, sizeof text);
	text = fl_arena_str(arena, text);
	memcpy(item, &text, sizeof text);
	return text.p ? 0 : no_memory(err, want);
}

/* Does anything of it differ? A missing object differs in all that is wanted; a status has no object to be written
 * to. */
static enum verdict object_differs(struct turn *t, const struct fl_want *want, const void *have, struct change *ret,
				   struct fl_err *err)
{
	const void *there = have ? have : fl_view_alloc(t->view, 1, want->ref.kind->root()->size);

	if (!there)
		return refused(err, want);
	if (!have && (want->as_seen || fl_owner_is_status(want->owner)))
		return SO_ALREADY;
	if (fl_owned_diff(want->owner, want->object, there, t->plan->arena, &ret->differs, err) < 0)
		return REFUSED;
	return ret->differs.len ? PREPARED : SO_ALREADY;
}

static enum verdict differs(struct turn *t, const struct fl_feed *feed, const struct fl_want *want, const void *have,
			    struct change *ret, struct fl_err *err)
{
	const struct fl_meta_names *meta = have ? run_meta(feed, have) : NULL;
	int r;

	if (meta && want->ref.uid.len && !fl_str_eq(meta->uid, want->ref.uid))
		return SO_ALREADY;   /* another object bears the name by now */
	if (want->what == FL_WANT_OBJECT)
		return object_differs(t, want, have, ret, err);
	if (!meta)
		return SO_ALREADY;   /* it is not there */
	if (want->what == FL_WANT_GONE) {
		t->remains = true;
		return meta->has.deletion_timestamp ? SO_ALREADY : PREPARED;
	}
	if (want->first && meta->has.deletion_timestamp)
		return SO_ALREADY;   /* no finalizer is added to what is going */
	r = fl_shared_change(want->shared, want->what, want->object, have, meta->resource_version, t->plan->arena,
			     &ret->laid, &ret->patch, err);
	return r < 0 ? REFUSED : r ? PREPARED : SO_ALREADY;
}

/* Is the version that the plan has seen one that a write may be held to? If not, the key waits for news of it. */
static enum verdict seen(struct turn *t, struct fl_feed *feed, const struct fl_want *want, const void *have,
			 const struct overlay *overlay, struct fl_err *err)
{
	struct fl_str version = want->as_seen ? run_meta(feed, have)->resource_version : FL_S("");
	uint64_t until;

	if (!want->as_seen)
		return PREPARED;
	if (!version.len) {
		(void)fl_fail(err, FL_E_UNSUPPORTED,
			      "%s of %s has no resourceVersion: nothing can be wanted as it was seen",
			      t->cap->row->name, want->ref.kind->kind);
		return REFUSED;
	}
	until = await_until(feed, want->ref.space, want->ref.name, version);
	if (!until && overlay_is_seen(overlay))
		return PREPARED;
	fl_want_at(t->plan, until);
	return await_news(feed, want->ref.space, want->ref.name, t->key) < 0 ? refused(err, want) : BUSY;
}

/* The same write to another object of that name is another one. 0: the sink is no server, so its failures cost nobody
 * else. */
static uint64_t write_digest(const struct fl_feed *feed, const void *have, const struct contest_ref *contest)
{
	struct fl_str uid = have ? run_meta(feed, have)->uid : FL_S("");
	uint64_t key[2] = { contest->id, contest->desired };

	return feed->source.sink->retry_last || !contest->id ? 0 : fl_siphash13(key, uid.p, uid.len) | 1;
}

/* May a write to it begin now? */
static enum verdict room_for(struct turn *t, struct fl_feed *feed, const struct fl_want *want, const void *have,
			     struct change *change, struct fl_err *err)
{
	const struct overlay *overlay = overlay_find(feed, want->ref.space, want->ref.name);
	struct fl_loop *loop = t->cap->loop;
	enum verdict verdict;
	uint64_t at = 0;

	if ((uint64_t)want->ref.space.len + 1 + want->ref.name.len > FL_RUN_NAME) {
		(void)fl_fail(err, FL_E_TOOBIG, "plan of %s: the name of a %s has %u bytes: at most %d are possible",
			      t->cap->row->name, want->ref.kind->kind, want->ref.space.len + want->ref.name.len,
			      FL_RUN_NAME - 1);
		return REFUSED;
	}
	if (overlay && overlay->slot) {
		key_wait(t->key, overlay->slot);
		return BUSY;
	}
	if (overlay && overlay->state == OVERLAY_FAILED)
		return refused(err, want);   /* what the plan has seen of it is not so */
	verdict = seen(t, feed, want, have, overlay, err);
	if (verdict != PREPARED)
		return verdict;
	if (contest_ref(loop, want, &change->contest, err) < 0)
		return REFUSED;
	change->digest = write_digest(feed, have, &change->contest);
	if (!contest_may(loop, &change->contest, &at) || (change->digest && key_rests(t->key, change->digest, &at))) {
		fl_want_at(t->plan, at);
		return RESTING;
	}
	return loop->writing >= loop->options.writes ? FULL : PREPARED;
}

static struct slot *prepare_slot(struct turn *t, struct fl_feed *feed, const struct fl_want *want, const void *have,
				 const struct change *change, struct fl_err *err)
{
	struct slot *slot = slot_new(t, feed);
	int r;

	if (!slot) {
		(void)no_memory(err, want);
		return NULL;
	}
	slot->contest = change->contest;
	slot->digest = change->digest;
	r = fill(slot, want, have, err);
	if (r == 0 && want->what == FL_WANT_OBJECT)
		r = fill_object(slot, want, have, change, err);
	else if (r == 0)
		r = want->what == FL_WANT_GONE ? add_news(slot, want, 0, err) : fill_item(slot, want, change, err);
	if (r == 0)
		slot->overlay = overlay_new(feed, slot, slot->write.ref.space, slot->write.ref.name);
	if (r == 0 && !slot->overlay)
		r = no_memory(err, want);
	if (r == 0)
		return slot;
	slot_spare(slot);
	return NULL;
}

/* Is an item that must be there first shown and not answered yet? */
static bool is_adding(struct turn *t, const struct fl_feed *feed, const struct fl_want *want)
{
	const struct overlay *overlay = overlay_find(feed, want->ref.space, want->ref.name);

	if (!overlay || !overlay->slot || overlay->slot->write.what != FL_WANT_ITEM)
		return false;
	key_wait(t->key, overlay->slot);
	return true;
}

/* A write for the want, ready to be started, if anything is to be done. */
static enum verdict prepare_want(struct turn *t, const struct fl_want *want, struct fl_err *err)
{
	struct fl_feed *feed = run_feed(t->cap->loop, want->ref.kind);
	const void *have = fl_view_get(t->view, want->ref.kind, want->ref.space, want->ref.name);
	struct change change = { 0 };
	enum verdict verdict;
	struct slot *slot;

	assert(feed->source.sink);   /* wanted of a kind that nobody writes */
	if (t->view->failed)
		return refused(err, want);
	if (want->taken)
		return BUSY;
	verdict = differs(t, feed, want, have, &change, err);
	if (verdict == SO_ALREADY && want->first && is_adding(t, feed, want))
		return BUSY;
	if (verdict == PREPARED)
		verdict = room_for(t, feed, want, have, &change, err);
	if (verdict != PREPARED)
		return verdict;
	slot = prepare_slot(t, feed, want, have, &change, err);
	if (!slot)
		return REFUSED;
	*t->last = slot;
	t->last = &slot->next;
	t->cap->loop->writing++;
	return PREPARED;
}

/* ---- one key ---- */

/* Take back what was prepared and not started. */
static void unprepare(struct turn *t)
{
	while (t->prepared) {
		struct slot *slot = t->prepared;

		t->prepared = slot->next;
		t->cap->loop->writing--;
		overlay_unuse(slot->feed, slot->overlay);
		keys_release(&slot->waiters);
		slot_spare(slot);
	}
	t->last = &t->prepared;
}

static void start_prepared(struct turn *t)
{
	struct fl_loop *loop = t->cap->loop;

	while (t->prepared) {
		struct slot *slot = t->prepared;

		t->prepared = slot->next;
		fl_chain_add(&loop->slots, slot);
		slot->key->writing++;
		slot->began = fl_now(loop->io);
		overlay_lay(slot->feed, slot->overlay,
			    run_view_take(t->view, slot->feed, slot->write.ref.space, slot->write.ref.name));
		slot->feed->source.sink->start(slot->feed->source.sink_arg, &slot->write);
		slot->started = true;
	}
}

/* 1: it is so already. */
static int carry_out_one(struct turn *t, const struct fl_want *want, struct fl_err *err)
{
	switch (prepare_want(t, want, err)) {
	case SO_ALREADY:
		return 1;
	case FULL:
		t->full = true;   /* and those after it: in order, as they were wanted */
		break;
	case PREPARED:
	case BUSY:
	case RESTING:
		break;
	case REFUSED:
		return -(int)err->code;
	}
	t->unsettled = true;
	return 0;
}

/* One that names the parent and is not wanted goes, with the uid that was seen. */
static int take_away(struct turn *t, const struct fl_no_others *none, const void *object, struct fl_err *err)
{
	struct fl_feed *feed = run_feed(t->cap->loop, none->children->owner->kind);
	const struct fl_meta_names *meta = run_meta(feed, object);
	struct fl_want gone = { .what = FL_WANT_GONE, .ref = { none->children->owner->kind, meta->space, meta->name,
							       meta->uid } };

	if (fl_plan_has_child(t->plan, none->children, none->parent, gone.ref))
		return 0;
	t->remains = true;
	if (meta->uid.len)
		return carry_out_one(t, &gone, err);
	/* Made by us, and nobody has told us yet which one it is. */
	return await_news(feed, meta->space, meta->name, t->key) < 0 ? no_memory(err, &gone) : 0;
}

static int take_others_away(struct turn *t, const struct fl_no_others *none, struct fl_err *err)
{
	const struct fl_kind *kind = none->children->owner->kind;
	const char *index = run_children_index(run_feed(t->cap->loop, kind), none->children);
	struct fl_each each = fl_view_by(t->view, kind, index, none->parent.uid);
	const void *object;
	int r = 0;

	while (r >= 0 && !t->full && (object = fl_each_next(&each)))
		r = take_away(t, none, object, err);
	return r;
}

/* What is on its way may change nothing that the plan reads, so the end of it is waited for. */
static void wait_for_writes(struct turn *t)
{
	struct slot *slot = t->prepared;

	for (struct slot *other = t->cap->loop->slots; !slot && other; other = other->next)
		slot = other->key == t->key ? other : NULL;
	if (slot)
		key_wait(t->key, slot);
}

static int carry_out_last(struct turn *t, struct fl_err *err)
{
	int r = 0;

	if (t->full || t->unsettled || t->remains || t->key->writing) {
		wait_for_writes(t);
		return 0;
	}
	for (const struct fl_want *want = t->plan->first; r >= 0 && want; want = want->next)
		if (want->last)
			r = carry_out_one(t, want, err);
	return r;
}

static int carry_out(struct turn *t, struct fl_err *err)
{
	bool held = false, last = false;
	int r = 0;

	for (const struct fl_want *want = t->plan->first; r >= 0 && want && !t->full && !held; want = want->next) {
		last |= want->last;
		if (want->last)
			continue;
		r = carry_out_one(t, want, err);
		held = want->first && r == 0;
	}
	for (const struct fl_no_others *none = t->plan->no_others; r >= 0 && none && !t->full && !held;
	     none = none->next)
		r = take_others_away(t, none, err);
	if (r >= 0 && last && !held)
		r = carry_out_last(t, err);
	if (r < 0)
		return r;
	if (held)
		wait_for_writes(t);
	if (t->full)
		key_enqueue(t->key);
	return t->view->failed || t->plan->failed ? fl_fail(err, FL_E_NOMEM, "no memory to carry out the plan") : 0;
}

static int plan_key(struct turn *t, struct fl_err *err)
{
	const struct fl_capability *row = t->cap->row;
	struct fl_ref ref = { row->key, key_space(t->key), key_name(t->key), { "", 0 } };
	void *facts = fl_view_alloc(t->view, 1, row->facts_size);

	if (facts && row->gather(t->view, ref, facts) && !t->view->failed)
		row->plan(facts, t->plan);
	if (!t->plan->failed && children_taken(t->key, t->plan, t->view, err) < 0)
		return -(int)err->code;
	if (t->view->failed || t->plan->failed)
		return fl_fail(err, FL_E_NOMEM, "no memory for the facts or for the plan");
	if (said_keep(t->key, t->plan) < 0)
		return fl_fail(err, FL_E_NOMEM, "no memory for what the plan said");
	t->key->at = t->plan->at;
	return carry_out(t, err);
}

bool run_one_key(struct cap *cap)
{
	struct fl_loop *loop = cap->loop;
	struct key *key = cap->active ? key_take(cap) : NULL;
	struct fl_err err = { 0 };
	struct fl_plan plan;
	struct fl_view view = run_view(loop, &loop->arena);
	struct turn t = { .cap = cap, .key = key, .plan = &plan, .view = &view };
	uint64_t began;

	if (!key)
		return false;
	t.last = &t.prepared;
	view.steady = true;
	began = fl_clock(loop->io);
	if (cap->queued)
		fl_observe(cap->queued, (double)(view.now - key->queued_at) / 1e9);
	fl_plan_init(&plan, &loop->arena);
	if (plan_key(&t, &err) < 0) {
		unprepare(&t);
		key_fail(key, &err);
	} else {
		key->at = plan.at;
		if (!t.unsettled && !key->writing)
			key_forgive(key);
		start_prepared(&t);
	}
	if (cap->plans) {
		fl_count(cap->plans, 1);
		fl_observe(cap->worked, (double)(fl_clock(loop->io) - began) / 1e9);
	}
	fl_arena_reset(&loop->arena);
	key_settle(key);
	return true;
}

bool fl_loop_try(struct fl_loop *loop, const struct fl_capability *capability, struct fl_str space, struct fl_str name,
		 struct fl_plan *plan, void (*read)(void *arg, const struct fl_read *read), void *read_arg)
{
	struct fl_view view = run_view(loop, plan->arena);
	void *facts = fl_view_alloc(&view, 1, capability->facts_size);
	bool any;

	view.read = read;
	view.read_arg = read_arg;
	any = facts && capability->gather(&view, (struct fl_ref){ capability->key, space, name, { "", 0 } }, facts);
	if (any && !view.failed)
		capability->plan(facts, plan);
	if (any && read && !view.failed)
		children_note(&view, plan);
	plan->failed |= view.failed;
	return any;
}

/* ---- the end of a write ---- */

bool fl_write_may(void *write_)
{
	const struct slot *slot = fl_container(write_, struct slot, write);
	const struct fl_loop *loop = slot->cap->loop;
	const struct fl_loop_options *options = &loop->options;

	/* What was wanted when we led before may be what nobody wants any more. */
	return loop->leading && slot->reign == loop->reign && (!options->may_write || options->may_write(options->arg));
}

static void end_slot(struct slot *slot)
{
	struct fl_loop *loop = slot->cap->loop;
	struct key *key = slot->key;

	fl_chain_take(slot);
	loop->writing--;
	keys_release(&slot->waiters);   /* the key may be among them: it goes below, and not there */
	key->writing--;
	slot_spare(slot);
	key_settle(key);
	run_wake(loop);   /* there is room for others */
}

static struct slot *slot_of(struct fl_write *write)
{
	struct slot *slot = fl_container(write, struct slot, write);

	assert(slot->started);   /* a sink ended it from inside start */
	return slot;
}

static void tell_people(const struct slot *slot)
{
	const struct fl_loop_options *options = &slot->cap->loop->options;

	for (uint32_t i = 0; options->event && i < slot->event_count; i++)
		options->event(options->arg, &slot->events[i]);
}

/* What of it is not so although it was written? As laid, all of it is; of what has gone since, nobody takes a part.
 * Without memory to see it, it is so. */
static void look_at(struct slot *slot, const void *object, bool as_laid)
{
	struct fl_write *write = &slot->write;
	struct fl_str_list paths = { NULL, 0 };
	bool survives = false, look = object && !as_laid &&
				      fl_cache_get(&slot->feed->cache, write->ref.space, write->ref.name);
	struct fl_str patch;
	void *laid;

	if (look && write->what == FL_WANT_OBJECT)
		survives = fl_owned_diff(write->owner, write->object, object, &write->arena, &paths, NULL) == 0 &&
			   paths.len;
	else if (look && write->shared)
		survives = fl_shared_change(write->shared, write->what, slot->item, object, FL_S(""), &write->arena,
					    &laid, &patch, NULL) > 0;
	contest_written(slot->cap->loop, slot, survives, survives ? &paths : &write->paths);
}

bool fl_write_seen(struct fl_write *write, struct fl_str version)
{
	struct slot *slot = slot_of(write);

	return write->what == FL_WANT_OBJECT && overlay_seen(slot->feed, slot->overlay, version);
}

bool fl_write_is(const struct fl_write *write, const void *object)
{
	const struct fl_meta_names *meta = run_meta(run_feed(write->loop, write->ref.kind), object);

	return fl_str_eq(meta->name, write->ref.name) && fl_str_eq(meta->space, write->ref.space);
}

void fl_write_done(struct fl_write *write, const void *object)
{
	struct slot *slot = slot_of(write);
	bool as_laid = false;

	assert(!object || fl_write_is(write, object));
	if (overlay_done(slot->feed, slot->overlay, object, &as_laid) < 0) {
		fl_write_failed(write, &(struct fl_err){ .code = FL_E_NOMEM, .text =
							 "no memory to see that it is done" });
		return;
	}
	run_count_write(slot->cap->loop, slot, "done");
	for (uint32_t i = 0; object && i < slot->event_count; i++)
		if (fl_ref_same(slot->events[i].ref, write->ref))
			slot->events[i].ref.uid = run_meta(slot->feed, object)->uid;
	tell_people(slot);
	look_at(slot, object, as_laid);
	if (slot->key->writing == 1 && !slot->key->in && !slot->waiters.len &&
	    !(slot->key->rest && slot->key->rest->holds))
		key_forgive(slot->key);
	end_slot(slot);
}

void fl_write_gone(struct fl_write *write)
{
	struct slot *slot = slot_of(write);

	run_count_write(slot->cap->loop, slot, "gone");
	if (write->what == FL_WANT_GONE) {
		tell_people(slot);
		look_at(slot, NULL, true);
	}
	overlay_gone(slot->feed, slot->overlay, &write->ref);
	fl_arena_reset(&slot->cap->loop->feeding);
	end_slot(slot);
}

/* It gave no answer, or none about the write. */
static bool is_away(enum fl_code code)
{
	return code == FL_E_RETRY || code == FL_E_TIMEOUT || code == FL_E_CLOSED;
}

void fl_write_failed(struct fl_write *write, const struct fl_err *why)
{
	struct slot *slot = slot_of(write);
	struct fl_err err = *why;
	bool old = why->code == FL_E_CONFLICT && write->as_seen && await_refused(slot->feed, write) == 0;

	run_count_write(slot->cap->loop, slot, old ? "conflict" : "failed");
	(void)overlay_failed(slot->feed, slot->overlay);
	if (old) {
		key_again(slot->key);   /* its plan waits for news, unless they have come already */
		end_slot(slot);
		return;
	}
	(void)fl_wrap(&err, "%s %.*s%s%.*s", write->ref.kind->kind, FL_ARG(write->ref.space), write->ref.space.len ?
		      "/" : "",
		      FL_ARG(write->ref.name));
	key_fail(slot->key, &err);
	if (is_away(why->code))
		key_hurry(slot->key, fl_spread(FL_RUN_AWAY_LAST, run_random(slot->cap->loop)));
	if (slot->digest && why->code != FL_E_NOMEM) {
		key_rest(slot->key, slot->digest);
		failing_tell(slot->key, write->ref.kind, &err);
	}
	if (slot->feed->source.sink->retry_last)
		key_hurry(slot->key, slot->feed->source.sink->retry_last);
	end_slot(slot);
}
