/* What somebody else takes away from us: written again and again it would be a fight, so it is told and rests.
 *
 * A contest is remembered for each thing that is wanted: an owner's part of an object, an item of a shared list, the
 * absence of an object. It is found by a hash of that, which is all that has to be the same. What is contested has a
 * timer: it ends by itself when a write has held for a while, or when nobody wants it any more.
 */
#include "run/loop_in.h"
#include "run/shared.h"

/* ---- which contest, and what is wanted there ---- */

static void put_part(struct fl_buf *buf, struct fl_str text)
{
	fl_buf_str(buf, text);
	fl_buf_char(buf, '\0');
}

/* An item that should be there and one that should not are one contest: to want the other is another wish. */
static uint64_t id_of(struct fl_loop *loop, const struct fl_want *want)
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

static int pack_wish(struct fl_loop *loop, const struct fl_want *want, struct fl_err *err)
{
	const struct fl_field *list = want->shared ? fl_shared_field(want->shared, NULL) : NULL;
	struct fl_buf *buf = &loop->packing;
	struct fl_str text;

	fl_buf_clear(buf);
	if (want->what == FL_WANT_OBJECT)
		return fl_pack(want->ref.kind->root(), want->object, NULL, buf, err);
	fl_buf_char(buf, (char)('0' + want->what));
	if (want->what != FL_WANT_ITEM)
		return fl_buf_check(buf, "a wish", err);
	if (list->type == FL_T_OBJ)
		return fl_pack(list->of(), want->object, NULL, buf, err);
	memcpy(&text, want->object, sizeof text);
	fl_buf_str(buf, text);
	return fl_buf_check(buf, "a wish", err);
}

int contest_stake(struct fl_loop *loop, const struct fl_want *want, struct stake *ret, struct fl_err *err)
{
	*ret = (struct stake){ 0 };
	if (want->what == FL_WANT_GONE && !want->ref.uid.len)
		return 0;   /* no server's: what a feeder of ours tells again is news, and no fight */
	ret->id = id_of(loop, want);
	if (!ret->id)
		return fl_fail(err, FL_E_NOMEM, "no memory to see whether anybody takes it away");
	if (pack_wish(loop, want, err) < 0)
		return -(int)(err ? err->code : FL_E_NOMEM);
	ret->wish = fl_siphash13(loop->options.seed, loop->packing.p, loop->packing.len);
	return 0;
}

static struct contest *find(const struct fl_loop *loop, uint64_t id)
{
	return loop->contests.len ? fl_hmap_get(&loop->contests, (struct fl_str){ (const char *)&id, sizeof id }) :
				    NULL;
}

struct fl_str contest_words(struct fl_loop *loop, const struct fl_want *want)
{
	const struct contest *contest = loop->contests.len ? find(loop, id_of(loop, want)) : NULL;

	return contest && contest_fight(contest) ? fl_str(contest->fight->words) : (struct fl_str){ NULL, 0 };
}

/* ---- all of them ---- */

static void unlist(struct fl_loop *loop, struct contest *contest)
{
	*(contest->before ? &contest->before->next : &loop->oldest) = contest->next;
	*(contest->next ? &contest->next->before : &loop->newest) = contest->before;
}

static void list_newest(struct fl_loop *loop, struct contest *contest)
{
	contest->next = NULL;
	contest->before = loop->newest;
	*(loop->newest ? &loop->newest->next : &loop->oldest) = contest;
	loop->newest = contest;
}

static void fight_free(struct fl_loop *loop, struct fight *fight)
{
	if (!fight)
		return;
	fl_timer_stop(loop->io, &fight->timer);
	fl_free(fight->words);
	fl_free(fight->key);
	fl_free(fight);
}

static void contest_free(struct fl_loop *loop, struct contest *contest)
{
	(void)fl_hmap_del(&loop->contests, (struct fl_str){ (const char *)&contest->id, sizeof contest->id });
	fight_free(loop, contest->fight);
	unlist(loop, contest);
	fl_free(contest);
}

void contests_free(struct fl_loop *loop)
{
	while (loop->oldest)
		contest_free(loop, loop->oldest);
}

/* What is contested, or was until now and nobody knows, stays: its timer ends it. */
static void forget_old(struct fl_loop *loop, uint64_t now)
{
	for (uint32_t left = loop->contests.len; left > 0; left--) {
		struct contest *contest = loop->oldest;

		if (now - contest->at <= FL_CONTEST_WINDOW && loop->contests.len < FL_CONTEST_MAX)
			return;
		if (contest->fight && (contest->fight->is || contest->fight->told)) {
			unlist(loop, contest);
			list_newest(loop, contest);
		} else {
			contest_free(loop, contest);
		}
	}
}

/* ---- the verdict: told to all whose plans may have read it, whenever it changes ---- */

static int tell(const struct fight *fight)
{
	struct cap *cap = fight->cap;
	struct fl_str space = { fight->text, fight->space_len };
	struct fl_str name = { fight->text + fight->space_len, fight->len - fight->space_len };
	int r = run_tell_again(run_feed(cap->loop, fight->kind), space, name);
	int own = 0;

	if (cap->active)   /* else all of its keys are planned when it is */
		own = key_dirty(cap, (struct fl_str){ fight->key, fight->key_space },
				(struct fl_str){ fight->key + fight->key_space + 1,
						 fight->key_len - fight->key_space - 1 });
	return r < 0 ? r : own;
}

static void due(struct fl_timer *timer)
{
	struct fight *fight = fl_container(timer, struct fight, timer);
	struct fl_loop *loop = fight->cap->loop;
	uint64_t now = fl_now(loop->io);

	if (now >= fight->over)
		fight->is = false;
	if (fight->is != fight->told && tell(fight) < 0) {
		fl_timer_set(loop->io, timer, now + FL_RUN_RETRY_FIRST);
		return;
	}
	fight->told = fight->is;
	if (fight->is)
		fl_timer_set(loop->io, timer, fight->over);
	else
		contest_free(loop, fight->contest);
}

static void judge(struct fight *fight, bool is, uint64_t over)
{
	struct fl_loop *loop = fight->cap->loop;

	fight->is = is;
	fight->over = over;
	if (is != fight->told)
		fl_timer_set(loop->io, &fight->timer, fl_now(loop->io));
	else if (is)
		fl_timer_set(loop->io, &fight->timer, over);
	else
		fl_timer_stop(loop->io, &fight->timer);
}

static void forgive(struct contest *contest)
{
	contest->tries = 0;
	if (contest->fight)
		judge(contest->fight, false, 0);
}

bool contest_may(struct fl_loop *loop, const struct stake *stake, uint64_t *ret_at)
{
	struct contest *contest = find(loop, stake->id);

	if (!contest)
		return true;
	if (contest->wish != stake->wish) {
		forgive(contest);   /* something else is wanted by now */
		contest->wish = stake->wish;
	}
	if (!contest_fight(contest))
		return true;
	*ret_at = contest->at + FL_CONTEST_REST;
	/* It has not held; without a plan that writes it, it ends. */
	judge(contest->fight, true, *ret_at + FL_CONTEST_REST);
	return fl_now(loop->io) >= *ret_at;
}

/* ---- after a write ---- */

static struct contest *contest_new(struct fl_loop *loop, const struct slot *slot)
{
	struct contest *contest = loop->contests.len < FL_CONTEST_MAX ? fl_zalloc(sizeof *contest) : NULL;

	if (!contest)
		return NULL;   /* a fight is seen later than it might have been */
	contest->id = slot->stake.id;
	if (fl_hmap_put(&loop->contests, contest, NULL) < 0) {
		fl_free(contest);
		return NULL;
	}
	list_newest(loop, contest);
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

/* "status.capacity and 2 more: taken away by somebody each time fairlead-capacity writes it; ..." */
static void put_words(struct fl_buf *buf, const struct slot *slot, const struct fl_str_list *paths)
{
	const struct fl_write *write = &slot->write;

	switch (write->what) {
	case FL_WANT_OBJECT:
		put_paths(buf, paths);
		fl_buf_printf(buf, ": taken away by somebody each time %s writes it", write->owner->manager);
		break;
	case FL_WANT_ITEM:
		put_item(buf, slot);
		fl_buf_printf(buf, ": taken away by somebody each time %s adds it", write->shared->manager);
		break;
	case FL_WANT_NO_ITEM:
		put_item(buf, slot);
		fl_buf_printf(buf, ": put back by somebody each time %s takes it out", write->shared->manager);
		break;
	case FL_WANT_GONE:
		fl_buf_printf(buf, "made again by somebody each time %s deletes it", slot->cap->row->name);
		break;
	case FL_WANT_COUNT_:
		break;
	}
	fl_buf_str(buf, FL_S("; find out who in metadata.managedFields, or which webhook changes it"));
}

static struct fight *fight_new(struct contest *contest, const struct slot *slot)
{
	struct fl_str space = slot->write.ref.space, name = slot->write.ref.name;
	struct fight *fight = fl_zalloc(sizeof *fight + space.len + name.len);

	if (!fight)
		return NULL;
	fight->contest = contest;
	fight->kind = slot->write.ref.kind;
	fight->timer.fire = due;
	fight->space_len = space.len;
	fight->len = space.len + name.len;
	if (space.len)
		memcpy(fight->text, space.p, space.len);
	if (name.len)
		memcpy(fight->text + space.len, name.p, name.len);
	return fight;
}

/* The words, and the key that is to be planned when the verdict changes. False: refused. */
static bool describe(struct contest *contest, const struct slot *slot, const struct fl_str_list *paths)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_PLAN_TEXT);
	struct fight *fight;
	char *words, *key;

	put_words(&buf, slot, paths);
	words = buf.failed ? NULL : fl_strdup(fl_buf_view(&buf));
	key = words ? fl_alloc(slot->key->len) : NULL;
	fight = !key ? NULL : contest->fight ? contest->fight : fight_new(contest, slot);
	if (!fight) {
		fl_free(words);
		fl_free(key);
		return false;
	}
	memcpy(key, slot->key->text, slot->key->len);
	fl_free(fight->words);
	fl_free(fight->key);
	fight->cap = slot->cap;
	fight->words = words;
	fight->key = key;
	fight->key_len = slot->key->len;
	fight->key_space = slot->key->space_len;
	contest->fight = fight;
	return true;
}

static void forgive_want(struct fl_loop *loop, const struct fl_want *want)
{
	struct contest *contest = find(loop, id_of(loop, want));

	if (contest)
		forgive(contest);
}

/* What we make ourselves is gone no more by our own wish, and the other way round: nobody took it away. */
static void forgive_opposite(struct fl_loop *loop, const struct slot *slot)
{
	struct fl_want want = { .what = FL_WANT_GONE, .ref = slot->write.ref };

	if (slot->write.what == FL_WANT_OBJECT && !slot->write.exists)
		forgive_want(loop, &want);
	if (slot->write.what != FL_WANT_GONE)
		return;
	want.what = FL_WANT_OBJECT;
	for (const struct fl_owner *const *owner = slot->cap->row->owners; owner && *owner; owner++) {
		want.owner = *owner;
		if (want.owner->kind == want.ref.kind)
			forgive_want(loop, &want);
	}
}

void contest_written(struct fl_loop *loop, const struct slot *slot, bool survives, const struct fl_str_list *paths)
{
	struct contest *contest = slot->stake.id ? find(loop, slot->stake.id) : NULL;
	uint64_t now = fl_now(loop->io);
	bool is;

	forgive_opposite(loop, slot);
	if (!slot->stake.id)
		return;
	if (!contest) {
		forget_old(loop, now);
		contest = contest_new(loop, slot);
	}
	if (!contest)
		return;
	is = contest_fight(contest) != NULL;
	if (contest->wish != slot->stake.wish || (!is && now - contest->at > FL_CONTEST_WINDOW))
		contest->tries = 0;
	contest->wish = slot->stake.wish;
	contest->at = now;
	contest->tries++;
	unlist(loop, contest);
	list_newest(loop, contest);
	if ((is || survives || contest->tries >= FL_CONTEST_TRIES) && describe(contest, slot, paths))
		judge(contest->fight, true, now + (survives ? 2 * FL_CONTEST_REST : FL_CONTEST_HELD));
	else if (!is && contest->fight)
		judge(contest->fight, false, 0);
}
