/* Contests: another writer reverts each of our writes, so the write is reported as contested and pauses.
 *
 * Each thing that is wanted has a contest from its first write on: an owner's part of an object, an item of a shared
 * list, the absence of an object. A hash of that finds it. The contest is active (struct contested) once the write has
 * been reverted FL_CONTEST_TRIES times, or at once when its own answer shows it reverted. A timer ends it, when a write
 * has held for a while or no plan wants it any more.
 */
#include "run/loop_in.h"
#include "run/shared.h"

#define FL_CONTEST_MAX 4096          /* writes that are remembered for this, 64 bytes each; the oldest goes */

/* ---- which contest, and the desired state in it ---- */

static void put_part(struct fl_buf *buf, struct fl_str text)
{
	fl_buf_str(buf, text);
	fl_buf_char(buf, '\0');
}

/* To want an item and to want it gone are one contest with two desired states. */
static uint64_t contest_id(struct fl_loop *loop, const struct fl_want *want)
{
	struct fl_buf *buf = &loop->packing;

	fl_buf_clear(buf);
	fl_buf_put(buf, &want->ref.kind, sizeof want->ref.kind);
	put_part(buf, want->ref.space);
	put_part(buf, want->ref.name);
	switch (want->what) {
	case FL_WANT_OBJECT:
		put_part(buf, fl_str(want->owner->manager));
		break;
	case FL_WANT_ITEM:
	case FL_WANT_NO_ITEM:
		put_part(buf, fl_str(want->shared->manager));
		put_part(buf, fl_str(want->shared->path));
		fl_shared_name(want->shared, want->object, buf);
		break;
	case FL_WANT_GONE:
	case FL_WANT_COUNT_:
		break;
	}
	return buf->failed ? 0 : fl_siphash13(loop->options.seed, buf->p, buf->len);
}

static int pack_desired(struct fl_loop *loop, const struct fl_want *want, struct fl_err *err)
{
	const struct fl_field *list = want->shared ? fl_shared_field(want->shared, NULL) : NULL;
	struct fl_buf *buf = &loop->packing;
	struct fl_str text;

	fl_buf_clear(buf);
	if (want->what == FL_WANT_OBJECT)
		return fl_pack(want->ref.kind->root(), want->object, NULL, buf, err);
	fl_buf_char(buf, (char)('0' + want->what));
	if (want->what != FL_WANT_ITEM)
		return fl_buf_check(buf, "a desired state", err);
	if (list->type == FL_T_OBJ)
		return fl_pack(list->of(), want->object, NULL, buf, err);
	memcpy(&text, want->object, sizeof text);
	fl_buf_str(buf, text);
	return fl_buf_check(buf, "a desired state", err);
}

int contest_ref(struct fl_loop *loop, const struct fl_want *want, struct contest_ref *ret, struct fl_err *err)
{
	*ret = (struct contest_ref){ 0 };
	if (want->what == FL_WANT_GONE && !want->ref.uid.len)
		return 0;   /* of no server: an own feeder puts it again because it is there again */
	ret->id = contest_id(loop, want);
	if (!ret->id)
		return fl_fail(err, FL_E_NOMEM, "no memory to look up its contest");
	if (pack_desired(loop, want, err) < 0)
		return -(int)(err ? err->code : FL_E_NOMEM);
	ret->desired = fl_siphash13(loop->options.seed, loop->packing.p, loop->packing.len);
	return 0;
}

static struct contest *contest_find(const struct fl_loop *loop, uint64_t id)
{
	return loop->contests.len ? fl_hmap_get(&loop->contests, (struct fl_str){ (const char *)&id, sizeof id }) :
				    NULL;
}

struct fl_str contest_words(struct fl_loop *loop, const struct fl_want *want)
{
	const struct contest *contest = loop->contests.len ? contest_find(loop, contest_id(loop, want)) : NULL;

	return contest && contest_active(contest) ? fl_str(contest->contested->words) : (struct fl_str){ NULL, 0 };
}

/* ---- all of them ---- */

static void contest_unlist(struct fl_loop *loop, struct contest *contest)
{
	*(contest->before ? &contest->before->next : &loop->oldest) = contest->next;
	*(contest->next ? &contest->next->before : &loop->newest) = contest->before;
}

static void contest_list_newest(struct fl_loop *loop, struct contest *contest)
{
	contest->next = NULL;
	contest->before = loop->newest;
	*(loop->newest ? &loop->newest->next : &loop->oldest) = contest;
	loop->newest = contest;
}

static void contested_free(struct fl_loop *loop, struct contested *contested)
{
	if (!contested)
		return;
	fl_timer_stop(loop->io, &contested->timer);
	fl_free(contested->words);
	fl_free(contested->key);
	fl_free(contested);
}

static void contest_free(struct fl_loop *loop, struct contest *contest)
{
	(void)fl_hmap_del(&loop->contests, (struct fl_str){ (const char *)&contest->id, sizeof contest->id });
	contested_free(loop, contest->contested);
	contest_unlist(loop, contest);
	fl_free(contest);
}

void contests_free(struct fl_loop *loop)
{
	while (loop->oldest)
		contest_free(loop, loop->oldest);
}

/* An active contest stays, and one whose end has not been reported: their timers end them. */
static void contests_forget_old(struct fl_loop *loop, uint64_t now)
{
	for (uint32_t left = loop->contests.len; left > 0; left--) {
		struct contest *contest = loop->oldest;

		if (now - contest->at <= FL_CONTEST_WINDOW && loop->contests.len < FL_CONTEST_MAX)
			return;
		if (contest->contested && (contest->contested->active || contest->contested->reported)) {
			contest_unlist(loop, contest);
			contest_list_newest(loop, contest);
		} else {
			contest_free(loop, contest);
		}
	}
}

/* ---- active or not: reported to every capability whose plans may have read it ---- */

static int contested_tell(const struct contested *contested)
{
	struct cap *cap = contested->cap;
	struct fl_str space = { contested->text, contested->space_len };
	struct fl_str name = { contested->text + contested->space_len, contested->len - contested->space_len };
	int r = run_tell_again(run_feed(cap->loop, contested->kind), space, name);
	int own = 0;

	if (cap->active)   /* else all of its keys are planned when it is */
		own = key_dirty(cap, (struct fl_str){ contested->key, contested->key_space },
				(struct fl_str){ contested->key + contested->key_space + 1,
						 contested->key_len - contested->key_space - 1 });
	return r < 0 ? r : own;
}

static void contested_due(struct fl_timer *timer)
{
	struct contested *contested = fl_container(timer, struct contested, timer);
	struct fl_loop *loop = contested->cap->loop;
	uint64_t now = fl_now(loop->io);

	if (now >= contested->ends)
		contested->active = false;
	if (contested->active != contested->reported && contested_tell(contested) < 0) {
		fl_timer_set(loop->io, timer, now + FL_RUN_RETRY_FIRST);
		return;
	}
	contested->reported = contested->active;
	if (contested->active)
		fl_timer_set(loop->io, timer, contested->ends);
	else
		contest_free(loop, contested->contest);
}

static void contested_set(struct contested *contested, bool active, uint64_t ends)
{
	struct fl_loop *loop = contested->cap->loop;

	contested->active = active;
	contested->ends = ends;
	if (active != contested->reported)
		fl_timer_set(loop->io, &contested->timer, fl_now(loop->io));
	else if (active)
		fl_timer_set(loop->io, &contested->timer, ends);
	else
		fl_timer_stop(loop->io, &contested->timer);
}

static void contest_reset(struct contest *contest)
{
	contest->tries = 0;
	if (contest->contested)
		contested_set(contest->contested, false, 0);
}

bool contest_may(struct fl_loop *loop, const struct contest_ref *ref, uint64_t *ret_at)
{
	struct contest *contest = contest_find(loop, ref->id);

	if (!contest)
		return true;
	if (contest->desired != ref->desired) {
		contest_reset(contest);   /* the desired state has changed */
		contest->desired = ref->desired;
	}
	if (!contest_active(contest))
		return true;
	*ret_at = contest->at + FL_CONTEST_REST;
	/* The last write was reverted. Without a plan that writes it again, the contest ends. */
	contested_set(contest->contested, true, *ret_at + FL_CONTEST_REST);
	return fl_now(loop->io) >= *ret_at;
}

/* ---- after a write ---- */

static struct contest *contest_new(struct fl_loop *loop, const struct slot *slot)
{
	struct contest *contest = loop->contests.len < FL_CONTEST_MAX ? fl_zalloc(sizeof *contest) : NULL;

	if (!contest)
		return NULL;   /* it is noticed some writes later */
	contest->id = slot->contest.id;
	if (fl_hmap_put(&loop->contests, contest, NULL) < 0) {
		fl_free(contest);
		return NULL;
	}
	contest_list_newest(loop, contest);
	return contest;
}

static void put_paths(struct fl_buf *buf, const struct fl_str_list *paths)
{
	for (uint32_t i = 0; i < paths->len && i < 3; i++)
		fl_buf_printf(buf, "%s%.*s", i ? ", " : "", FL_ARG(paths->at[i]));
	if (paths->len > 3)
		fl_buf_printf(buf, " and %u more", paths->len - 3);
}

static void put_item(struct fl_buf *buf, const struct slot *slot)
{
	fl_buf_printf(buf, "%s[", slot->write.shared->path);
	fl_shared_name(slot->write.shared, slot->item, buf);
	fl_buf_char(buf, ']');
}

/* "status.capacity and 2 more: reverted by another writer each time fairlead-capacity writes it; ..." */
static void put_words(struct fl_buf *buf, const struct slot *slot, const struct fl_str_list *paths)
{
	const struct fl_write *write = &slot->write;

	switch (write->what) {
	case FL_WANT_OBJECT:
		put_paths(buf, paths);
		fl_buf_printf(buf, ": reverted by another writer each time %s writes it", write->owner->manager);
		break;
	case FL_WANT_ITEM:
		put_item(buf, slot);
		fl_buf_printf(buf, ": removed by another writer each time %s adds it", write->shared->manager);
		break;
	case FL_WANT_NO_ITEM:
		put_item(buf, slot);
		fl_buf_printf(buf, ": added again by another writer each time %s removes it", write->shared->manager);
		break;
	case FL_WANT_GONE:
		fl_buf_printf(buf, "created again by another writer each time %s deletes it", slot->cap->row->name);
		break;
	case FL_WANT_COUNT_:
		break;
	}
	fl_buf_str(buf, FL_S("; look for the writer in metadata.managedFields, or for a webhook that changes it"));
}

static struct contested *contested_new(struct contest *contest, const struct slot *slot)
{
	struct fl_str space = slot->write.ref.space, name = slot->write.ref.name;
	struct contested *contested = fl_zalloc(sizeof *contested + space.len + name.len);

	if (!contested)
		return NULL;
	contested->contest = contest;
	contested->kind = slot->write.ref.kind;
	contested->timer.fire = contested_due;
	contested->space_len = space.len;
	contested->len = space.len + name.len;
	if (space.len)
		memcpy(contested->text, space.p, space.len);
	if (name.len)
		memcpy(contested->text + space.len, name.p, name.len);
	return contested;
}

/* The description, and the key to plan when the contest begins and ends. False: allocation failed. */
static bool contested_describe(struct contest *contest, const struct slot *slot, const struct fl_str_list *paths)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_PLAN_TEXT);
	struct contested *contested;
	char *words, *key;

	put_words(&buf, slot, paths);
	words = buf.failed ? NULL : fl_strdup(fl_buf_view(&buf));
	key = words ? fl_alloc(slot->key->len) : NULL;
	contested = !key ? NULL : contest->contested ? contest->contested : contested_new(contest, slot);
	if (!contested) {
		fl_free(words);
		fl_free(key);
		return false;
	}
	memcpy(key, slot->key->text, slot->key->len);
	fl_free(contested->words);
	fl_free(contested->key);
	contested->cap = slot->cap;
	contested->words = words;
	contested->key = key;
	contested->key_len = slot->key->len;
	contested->key_space = slot->key->space_len;
	contest->contested = contested;
	return true;
}

static void contest_reset_want(struct fl_loop *loop, const struct fl_want *want)
{
	struct contest *contest = contest_find(loop, contest_id(loop, want));

	if (contest)
		contest_reset(contest);
}

/* To create what we deleted, or delete what we created, is our own doing and reverts nothing. */
static void contest_reset_opposite(struct fl_loop *loop, const struct slot *slot)
{
	struct fl_want want = { .what = FL_WANT_GONE, .ref = slot->write.ref };

	if (slot->write.what == FL_WANT_OBJECT && !slot->write.exists)
		contest_reset_want(loop, &want);
	if (slot->write.what != FL_WANT_GONE)
		return;
	want.what = FL_WANT_OBJECT;
	for (const struct fl_owner *const *owner = slot->cap->row->owners; owner && *owner; owner++) {
		want.owner = *owner;
		if (want.owner->kind == want.ref.kind)
			contest_reset_want(loop, &want);
	}
}

void contest_written(struct fl_loop *loop, const struct slot *slot, bool survives, const struct fl_str_list *paths)
{
	struct contest *contest = slot->contest.id ? contest_find(loop, slot->contest.id) : NULL;
	uint64_t now = fl_now(loop->io);
	bool active;

	contest_reset_opposite(loop, slot);
	if (!slot->contest.id)
		return;
	if (!contest) {
		contests_forget_old(loop, now);
		contest = contest_new(loop, slot);
	}
	if (!contest)
		return;
	active = contest_active(contest) != NULL;
	if (contest->desired != slot->contest.desired || (!active && now - contest->at > FL_CONTEST_WINDOW))
		contest->tries = 0;
	contest->desired = slot->contest.desired;
	contest->at = now;
	contest->tries++;
	contest_unlist(loop, contest);
	contest_list_newest(loop, contest);
	if ((active || survives || contest->tries >= FL_CONTEST_TRIES) && contested_describe(contest, slot, paths))
		contested_set(contest->contested, true, now + (survives ? 2 * FL_CONTEST_REST : FL_CONTEST_HELD));
	else if (!active && contest->contested)
		contested_set(contest->contested, false, 0);
}
