/* What somebody else takes away from us: written again and again it would be a fight, so it is told and rests. */
#include "run/loop_in.h"

static struct fl_str contest_text(const struct fl_owner *owner, struct fl_str space, struct fl_str name,
				  struct fl_buf *buf)
{
	fl_buf_str(buf, fl_str(owner->manager));
	fl_buf_char(buf, '\0');
	fl_buf_str(buf, fl_str(owner->kind->plural));
	fl_buf_char(buf, '\0');
	fl_buf_str(buf, space);
	fl_buf_char(buf, '\0');
	fl_buf_str(buf, name);
	return fl_buf_view(buf);
}

struct contest *contest_find(const struct fl_loop *loop, const struct fl_owner *owner, struct fl_str space,
			     struct fl_str name)
{
	char text[FL_RUN_NAME];
	struct fl_buf buf = FL_BUF_IN(text);

	return loop->contests.len ? fl_hmap_get(&loop->contests, contest_text(owner, space, name, &buf)) : NULL;
}

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

static void contest_free(struct fl_loop *loop, struct contest *contest)
{
	(void)fl_hmap_del(&loop->contests, (struct fl_str){ contest->text, contest->len });
	unlist(loop, contest);
	fl_free((char *)(uintptr_t)contest->words.p);
	fl_free(contest);
}

static uint64_t lasts(const struct contest *contest)
{
	return contest->is ? 2 * FL_CONTEST_REST : FL_CONTEST_WINDOW;
}

static void forget_old(struct fl_loop *loop, uint64_t now)
{
	while (loop->oldest && (now - loop->oldest->at > lasts(loop->oldest) || loop->contests.len >= FL_CONTEST_MAX))
		contest_free(loop, loop->oldest);
}

bool contest_may(struct fl_loop *loop, struct contest *contest, uint64_t hash, uint64_t *ret_at)
{
	uint64_t now = fl_now(loop->io);

	if (contest->hash != hash) {
		contest->is = false;   /* something else is wanted by now */
		contest->tries = 0;
		return true;
	}
	*ret_at = contest->at + FL_CONTEST_REST;
	return !contest->is || now >= *ret_at;
}

static struct contest *contest_new(struct fl_loop *loop, const struct fl_write *write)
{
	char text[FL_RUN_NAME];
	struct fl_buf buf = FL_BUF_IN(text);
	struct fl_str key = contest_text(write->owner, write->ref.space, write->ref.name, &buf);
	struct contest *contest = buf.failed ? NULL : fl_zalloc(sizeof *contest + key.len);

	if (!contest)
		return NULL;   /* a fight is seen later than it might have been */
	contest->len = key.len;
	memcpy(contest->text, key.p, key.len);
	if (fl_hmap_put(&loop->contests, contest, NULL) < 0) {
		fl_free(contest);
		return NULL;
	}
	list_newest(loop, contest);
	return contest;
}

/* "status.capacity and 2 more are taken away by somebody each time 'fairlead-capacity' writes them" */
static void describe(struct contest *contest, const struct fl_write *write, const struct fl_str_list *paths)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_PLAN_TEXT);

	for (uint32_t i = 0; i < paths->len && i < 3; i++)
		fl_buf_printf(&buf, "%s%.*s", i ? ", " : "", FL_ARG(paths->at[i]));
	if (paths->len > 3)
		fl_buf_printf(&buf, " and %u more", paths->len - 3);
	fl_buf_printf(&buf,
		      ": taken away by somebody each time %s writes it; find out who in metadata.managedFields, or "
		      "which "
		      "webhook changes it",
		      write->owner->manager);
	fl_free((char *)(uintptr_t)contest->words.p);
	contest->words = fl_str(buf.failed ? NULL : fl_strdup(fl_buf_view(&buf)));
	if (!contest->words.p)
		contest->words = (struct fl_str){ NULL, 0 };
}

bool contest_written(struct fl_loop *loop, const struct slot *slot, const struct fl_str_list *survives)
{
	const struct fl_write *write = &slot->write;
	struct contest *contest = contest_find(loop, write->owner, write->ref.space, write->ref.name);
	uint64_t now = fl_now(loop->io);
	bool was;

	if (!contest) {
		forget_old(loop, now);
		contest = contest_new(loop, write);
	}
	if (!contest)
		return false;
	was = contest->is;
	if (contest->hash != slot->hash || (!was && now - contest->at > FL_CONTEST_WINDOW))
		contest->tries = 0;
	contest->hash = slot->hash;
	contest->at = now;
	contest->tries++;
	unlist(loop, contest);
	list_newest(loop, contest);
	contest->is = survives->len || contest->tries >= FL_CONTEST_TRIES;
	if (contest->is)
		describe(contest, write, survives->len ? survives : &write->paths);
	return contest->is && !was;
}

void contests_free(struct fl_loop *loop)
{
	while (loop->oldest)
		contest_free(loop, loop->oldest);
}
