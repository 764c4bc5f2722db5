/* Records, writes, and what is fed. */
#include "node/mps/in.h"
#include "base/chain.h"
#include "plan/gpu/mps.h"
#include "run/doing.h"
#include <stdio.h>
#include <string.h>

static const struct fl_str record_prefix = FL_S_INIT("mps/");
/* "<root>\n<program>\n<libraries>\n<address> <address> ": counts up when that changes; 1 has no program and none. */
enum { MPS_RECORD_BARE = 1, MPS_RECORD };

/* ---- daemons ---- */

static struct fl_mps_daemon *find_daemon(struct fl_mps_daemons *all, struct fl_str name)
{
	for (struct fl_mps_daemon *daemon = all->first; daemon; daemon = daemon->next)
		if (fl_str_eq(fl_str(daemon->name), name))
			return daemon;
	return NULL;
}

static struct fl_mps_daemon *add_daemon(struct fl_mps_daemons *all, struct fl_str name)
{
	struct fl_mps_daemon *daemon = find_daemon(all, name);

	if (daemon || name.len >= sizeof daemon->name)
		return daemon;
	daemon = fl_zalloc(sizeof *daemon);
	if (!daemon)
		return NULL;
	daemon->all = all;
	daemon->fd = -1;
	(void)snprintf(daemon->name, sizeof daemon->name, "%.*s", FL_ARG(name));
	fl_chain_add(&all->first, daemon);
	return daemon;
}

static void drop(struct fl_mps_daemon *daemon)
{
	fl_chain_take(daemon);
	mps_let_go(daemon);
	fl_free(daemon);
}

/* ---- what is fed ---- */

/* The addresses, in the arena. */
static int list_marked(const struct fl_mps_daemon *daemon, struct fl_arena *arena, struct fl_str_list *ret)
{
	struct fl_str rest = fl_arena_str(arena, fl_str(daemon->marked)), word;

	*ret = (struct fl_str_list){ .at = fl_arena_get_n(arena, FL_GPU_CARDS_MAX, sizeof *ret->at) };
	if (!ret->at || !rest.p)
		return -FL_E_NOMEM;
	while (fl_str_split(&rest, ' ', &word))
		if (word.len && ret->len < FL_GPU_CARDS_MAX)
			ret->at[ret->len++] = word;
	return 0;
}

/* A daemon with other limits than those of the object is not Ready: else nothing differs from what is wanted, and it
 * keeps them. So it is when a GPU joins, and when the limits changed while no agent ran. */
static int observed_phase(const struct fl_mps_daemon *daemon, struct fl_arena *arena, struct fl_mps *mps)
{
	enum fl_mps_phase phase = daemon->known ? daemon->is : FL_MPS_DEAF;
	struct fl_str limits = fl_gpu_mps_limits(mps, arena);

	if (!limits.p)
		return -FL_E_NOMEM;
	if (phase == FL_MPS_READY && !fl_str_eq(limits, fl_str(daemon->set)))
		phase = FL_MPS_RUNNING;
	FL_SET(mps, phase, phase);
	/* A fault is reported before the write has ended: that may fail, or take as long as a start. */
	if (phase != FL_MPS_READY || daemon->fault)
		FL_SET(mps, healthy, false);
	return 0;
}

static int observed(const struct fl_mps_daemon *daemon, struct fl_arena *arena, struct fl_mps *mps)
{
	if (list_marked(daemon, arena, &mps->marked) < 0 || observed_phase(daemon, arena, mps) < 0)
		return -FL_E_NOMEM;
	FL_SET(FL_IN(mps, meta), name, fl_str(daemon->name));
	mps->has.marked = 1;
	mps->cards = mps->marked;
	mps->has.cards = 1;
	FL_UNSET(mps, is);
	mps->is = FL_MPS_OFF;
	if (daemon->known)
		FL_SET(mps, is, daemon->is);
	FL_UNSET(mps, pid);
	FL_SET(mps, ends, daemon->ends);
	FL_SET_TEXT(mps, set, fl_str(daemon->set));
	FL_SET_TEXT(mps, message, fl_str(daemon->message));
	if (daemon->pid)
		FL_SET(mps, pid, daemon->pid);
	FL_SET(mps, fault, daemon->fault);
	FL_SET(mps, clean, daemon->clean);
	FL_SET(mps, fails, daemon->fails);
	if (!mps->root.len)
		FL_SET(mps, root, fl_str(daemon->config.root));
	if (!mps->program.len && daemon->config.program[0])
		FL_SET(mps, program, fl_str(daemon->config.program));
	if (!mps->libraries.len && daemon->config.libraries[0])
		FL_SET(mps, libraries, fl_str(daemon->config.libraries));
	return 0;
}

static int feed_daemon(struct fl_mps_daemon *daemon, const struct fl_mps *base, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_mps mps = base ? *base : (struct fl_mps){ 0 };

	if (observed(daemon, &arena, &mps) < 0)
		return fl_fail(err, FL_E_NOMEM, "no memory for an MPS daemon");
	return fl_feed_put(fl_loop_feed(daemon->all->loop, &fl_mps_kind), &mps, err);
}

static void feed_again(struct fl_timer *timer);

/* The plan's part stays as it was. */
void mps_feed(struct fl_mps_daemon *daemon)
{
	FL_VIEW(view, daemon->all->loop);
	const struct fl_mps *now = fl_view_get(&view, &fl_mps_kind, FL_S(""), fl_str(daemon->name));
	struct fl_err err = { 0 };

	if (!view.failed && feed_daemon(daemon, now, &err) >= 0)
		return;
	if (!daemon->write) {   /* no memory: soon again */
		daemon->turn.fire = feed_again;
		fl_timer_set(daemon->all->io, &daemon->turn, fl_now(daemon->all->io) + FL_RUN_RETRY_FIRST);
	}
}

static void feed_again(struct fl_timer *timer)
{
	mps_feed(fl_container(timer, struct fl_mps_daemon, turn));
}

/* ---- how a step ends ---- */

/* What is so is fed after the write has ended: until then, what was wanted is laid over it, and would stay. A step does
 * one thing of what is wanted, not all of it. */
void mps_end(struct fl_mps_daemon *daemon)
{
	struct fl_write *write = daemon->write;

	daemon->write = NULL;
	fl_write_done(write, NULL);
	mps_feed(daemon);
}

void mps_fail(struct fl_mps_daemon *daemon, const struct fl_err *why)
{
	struct fl_write *write = daemon->write;

	daemon->write = NULL;
	fl_write_failed(write, why);
	if (why->code == FL_E_NOMEM || why->code == FL_E_RETRY)
		return;   /* over in a moment */
	(void)snprintf(daemon->message, sizeof daemon->message, "%s", why->text);
	mps_feed(daemon);
}

/* A write does not end before its start has returned. */
static void in_next_turn(struct fl_mps_daemon *daemon, void (*fire)(struct fl_timer *timer))
{
	daemon->turn.fire = fire;
	fl_timer_set(daemon->all->io, &daemon->turn, 0);
}

static void nothing_to_do(struct fl_timer *timer)
{
	mps_end(fl_container(timer, struct fl_mps_daemon, turn));
}

static void refused(struct fl_timer *timer)
{
	struct fl_mps_daemon *daemon = fl_container(timer, struct fl_mps_daemon, turn);

	mps_fail(daemon, &daemon->err);
}

static void refuse(struct fl_mps_daemon *daemon, enum fl_code code, const char *why)
{
	(void)fl_fail(&daemon->err, code, "%s", why);
	in_next_turn(daemon, refused);
}

/* ---- records ---- */

static struct fl_str record_key(struct fl_mps_daemon *daemon, struct fl_arena *arena)
{
	return fl_arena_printf(arena, "%.*s%s", FL_ARG(record_prefix), daemon->name);
}

static void recorded(struct fl_op *op)
{
	struct fl_mps_daemon *daemon = fl_container(op, struct fl_mps_daemon, append.op);
	const struct fl_mps *want = daemon->write->object;
	struct fl_buf marked = FL_BUF_IN(daemon->marked);

	if (op->result < 0) {
		mps_fail(daemon, &daemon->err);
		return;
	}
	for (uint32_t i = 0; i < want->cards.len; i++)
		fl_buf_printf(&marked, "%.*s ", FL_ARG(want->cards.at[i]));
	daemon->marked[fl_buf_view(&marked).len] = '\0';
	daemon->recorded = daemon->config;
	mps_end(daemon);
}

static bool is_one_line(const char *path)
{
	return !strchr(path, '\n');
}

static void step_record(struct fl_mps_daemon *daemon, const struct fl_mps *want)
{
	struct fl_arena *arena = &daemon->write->arena;
	const struct mps_config *config = &daemon->config;
	struct fl_str key = record_key(daemon, arena);
	struct fl_str text = fl_arena_printf(arena, "%s\n%s\n%s\n", config->root, config->program, config->libraries);

	if (!is_one_line(config->root) || !is_one_line(config->program) || !is_one_line(config->libraries)) {
		refuse(daemon, FL_E_INVALID, "the path of the MPS directory or of the driver has a line break, which "
					     "no record can hold: use another path");
		return;
	}
	for (uint32_t i = 0; text.p && i < want->cards.len; i++)
		text = fl_arena_printf(arena, "%.*s%.*s ", FL_ARG(text), FL_ARG(want->cards.at[i]));
	if (!key.p || !text.p) {
		refuse(daemon, FL_E_NOMEM, "no memory to record an MPS daemon");
		return;
	}
	fl_journal_put(daemon->all->journal, &daemon->append, MPS_RECORD, key, text);
}

static void forgotten(struct fl_op *op)
{
	struct fl_mps_daemon *daemon = fl_container(op, struct fl_mps_daemon, append.op);
	struct fl_write *write = daemon->write;

	if (op->result < 0) {
		/* A disk that fails may have dropped it all the same. The GPUs are restored by now; whoever wants them
		 * again records them anew. */
		daemon->marked[0] = '\0';
		mps_fail(daemon, &daemon->err);
		mps_feed(daemon);
		return;
	}
	daemon->write = NULL;
	fl_feed_gone(fl_loop_feed(daemon->all->loop, &fl_mps_kind), FL_S(""), write->ref.name);
	fl_write_gone(write);
	drop(daemon);
}

static void copied(struct fl_op *op)
{
	const struct fl_mps_daemons *all = fl_container(op, struct fl_mps_daemons, aside.op);

	if (op->result < 0)   /* the next agent finds it where it is */
		fl_log(all->options.log, FL_WARN, "record of an mps daemon not set aside",
		       FL_KV_INT("result", op->result));
}

/* What this program would write under its key must not be the end of it. The first one is told and copied; there is one
 * for each resource, and a second one goes the same way as the first. */
static void set_aside(struct fl_mps_daemons *all, const struct fl_journal_item *item)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str key = fl_arena_printf(&arena, "aside/%.*s", FL_ARG(item->key));

	fl_log(all->options.log, FL_ERROR, "record of an mps daemon unreadable", FL_KV_STR("key", item->key),
	       FL_KV_INT("format", item->kind));
	if (all->unread.code || !key.p)
		return;
	if (item->kind != MPS_RECORD && item->kind != MPS_RECORD_BARE)
		(void)fl_fail(&all->unread, FL_E_UNSUPPORTED, "%.*s: it is kept in format %d, this program knows %d",
			      FL_ARG(item->key), item->kind, MPS_RECORD);
	else
		(void)fl_fail(&all->unread, FL_E_CORRUPT, "%.*s: it is damaged", FL_ARG(item->key));
	all->aside.op = (struct fl_op){ .done = copied };
	fl_journal_put(all->journal, &all->aside, item->kind, key, item->value);
}

bool fl_mps_unread(const struct fl_mps_daemons *all, struct fl_err *ret)
{
	if (all->unread.code)
		*ret = all->unread;
	return all->unread.code != FL_OK;
}

/* A record of a former format has no program: MPS_PROGRAM_USUAL. False: it is damaged. */
static bool parse(const struct fl_journal_item *item, struct mps_config *ret, struct fl_str *ret_marked)
{
	struct fl_str rest = item->value, root = { 0 }, program = FL_S(MPS_PROGRAM_USUAL), libraries = FL_S("");

	if (!fl_str_split(&rest, '\n', &root) ||
	    (item->kind == MPS_RECORD &&
	     (!fl_str_split(&rest, '\n', &program) || !fl_str_split(&rest, '\n', &libraries))) ||
	    root.len >= sizeof ret->root || program.len >= sizeof ret->program ||
	    libraries.len >= sizeof ret->libraries || rest.len >= FL_MPS_MARKED_MAX || fl_str_find(rest, '\n') >= 0)
		return false;
	(void)snprintf(ret->root, sizeof ret->root, "%.*s", FL_ARG(root));
	(void)snprintf(ret->program, sizeof ret->program, "%.*s", FL_ARG(program));
	(void)snprintf(ret->libraries, sizeof ret->libraries, "%.*s", FL_ARG(libraries));
	*ret_marked = rest;
	return true;
}

static int load(struct fl_mps_daemons *all, const struct fl_journal_item *item, struct fl_err *err)
{
	struct fl_str name = fl_str_sub(item->key, record_prefix.len, item->key.len), marked;
	struct fl_mps_daemon *daemon;
	struct mps_config config = { 0 };

	if ((item->kind != MPS_RECORD && item->kind != MPS_RECORD_BARE) || !name.len ||
	    name.len >= sizeof daemon->name || !parse(item, &config, &marked)) {
		set_aside(all, item);
		return 0;
	}
	daemon = add_daemon(all, name);
	if (!daemon)
		return fl_fail(err, FL_E_NOMEM, "no memory for an MPS daemon");
	daemon->config = daemon->recorded = config;
	(void)snprintf(daemon->marked, sizeof daemon->marked, "%.*s", FL_ARG(marked));
	return feed_daemon(daemon, NULL, err);
}

/* ---- the sink ---- */

static bool is_marked(const struct fl_mps_daemon *daemon, const struct fl_str_list *cards)
{
	struct fl_str rest = fl_str(daemon->marked), word;

	for (uint32_t i = 0; i < cards->len; i++)
		if (!fl_str_split(&rest, ' ', &word) || !fl_str_eq(word, cards->at[i]))
			return false;
	return !fl_str_trim(rest).len;
}

/* The record names the program and libraries of the daemon that runs, or is about to. */
static bool is_recorded(const struct fl_mps_daemon *daemon, const struct fl_mps *want)
{
	const struct mps_config *has = &daemon->recorded, *config = &daemon->config;

	return is_marked(daemon, &want->cards) &&
	       (want->phase == FL_MPS_OFF || (strcmp(has->root, config->root) == 0 &&
					      strcmp(has->program, config->program) == 0 &&
					      strcmp(has->libraries, config->libraries) == 0));
}

static void take_config(struct fl_mps_daemon *daemon, const struct fl_mps *want)
{
	struct mps_config *config = &daemon->config;

	if (want->root.len)
		(void)snprintf(config->root, sizeof config->root, "%.*s", FL_ARG(want->root));
	if (want->program.len)
		(void)snprintf(config->program, sizeof config->program, "%.*s", FL_ARG(want->program));
	(void)snprintf(config->libraries, sizeof config->libraries, "%.*s", FL_ARG(want->libraries));
}

/* The first step that leads from what is to what is wanted. */
static void step(struct fl_mps_daemon *daemon, const struct fl_mps *want)
{
	struct fl_str limits = fl_gpu_mps_limits(want, &daemon->write->arena);
	bool there = daemon->is == FL_MPS_RUNNING || daemon->is == FL_MPS_READY;

	if (limits.len >= sizeof daemon->wanted) {
		refuse(daemon, FL_E_TOOBIG, "the limits of so many GPUs are too long");
		return;
	}
	(void)snprintf(daemon->wanted, sizeof daemon->wanted, "%.*s", FL_ARG(limits));
	if (!is_recorded(daemon, want))
		step_record(daemon, want);
	else if (want->phase == FL_MPS_OFF && (!daemon->known || daemon->is != FL_MPS_OFF))
		mps_step_stop(daemon);
	else if (want->phase == FL_MPS_RUNNING && daemon->is == FL_MPS_OFF)
		mps_step_start(daemon);
	else if (want->phase == FL_MPS_READY && there && strcmp(daemon->set, daemon->wanted) != 0)
		mps_step_limit(daemon, want);
	else if (want->phase == FL_MPS_READY && !there)
		refuse(daemon, FL_E_RETRY, "the daemon is not there any more");
	else
		in_next_turn(daemon, nothing_to_do);
}

static void start(void *self, struct fl_write *write)
{
	static const struct fl_err no_memory = { .code = FL_E_NOMEM, .text = "no memory for an MPS daemon" };
	struct fl_mps_daemons *all = self;
	struct fl_mps_daemon *daemon = all->loop ? add_daemon(all, write->ref.name) : NULL;

	if (!daemon) {
		fl_doing_begin(write->held, write);
		fl_doing_over(write->held, all->io, &no_memory);
		return;
	}
	daemon->write = write;
	daemon->err = (struct fl_err){ 0 };
	daemon->append.op = (struct fl_op){ .done = write->what == FL_WANT_GONE ? forgotten : recorded,
					    .err = &daemon->err };
	if (write->what == FL_WANT_GONE) {
		struct fl_str key = record_key(daemon, &write->arena);

		if (key.p)
			fl_journal_delete(all->journal, &daemon->append, key);
		else
			refuse(daemon, FL_E_NOMEM, "no memory to forget an MPS daemon");
		return;
	}
	take_config(daemon, write->object);
	step(daemon, write->object);
}

static void cancel(void *self, struct fl_write *write)
{
	struct fl_mps_daemons *all = self;

	fl_doing_cancel(self, write);
	for (struct fl_mps_daemon *daemon = all->first; daemon; daemon = daemon->next)
		if (daemon->write == write) {
			mps_let_go(daemon);
			daemon->write = NULL;
		}
}

const struct fl_sink fl_mps_sink = { .start = start, .cancel = cancel, .room = sizeof(struct fl_doing),
				     .retry_last = FL_LOCAL_RETRY_LAST };

/* ---- beginning and end ---- */

void fl_mps_init(struct fl_mps_daemons *all, struct fl_io *io, const struct fl_mps_options *options)
{
	*all = (struct fl_mps_daemons){ .io = io, .options = *options };
}

int fl_mps_begin(struct fl_mps_daemons *all, struct fl_loop *loop, struct fl_journal *journal, struct fl_err *err)
{
	struct fl_feed *feed = fl_loop_feed(loop, &fl_mps_kind);

	all->loop = loop;
	all->journal = journal;
	fl_feed_begin(feed);
	for (const struct fl_journal_item *item = NULL; (item = fl_journal_next(journal, item));)
		if (fl_str_starts(item->key, record_prefix) && load(all, item, err) < 0) {
			fl_mps_stop(all);
			return -FL_E_NOMEM;
		}
	fl_feed_synced(feed);
	return 0;
}

void fl_mps_stop(struct fl_mps_daemons *all)
{
	fl_op_cancel(&all->aside.op);
	while (all->first)
		drop(all->first);
	all->loop = NULL;
}
