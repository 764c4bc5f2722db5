/* A kind in the journal: what was written is there for the next process, also after a crash at any call (I4), and what
 * cannot be read hurts nobody else. */
#include "api/node.h"
#include "base/units.h"
#include "run/records.h"
#include "sim/sim.h"
#include "test.h"
#include <stdio.h>

enum { CARDS = 3, ROUNDS = 8 };

/* What the world outside knows, over all lives: of each card the moment (`since`) that is kept with it. */
struct model {
	int acked[CARDS];              /* what was acknowledged last; 0: that it is gone */
	int asked[CARDS];              /* what is on its way, or the same */
	int next, done, lives;
	uint32_t unread;
	bool finished;                 /* this life came to its end */
	bool anyway, behind;           /* must nothing wait for the disk? does the disk lack something? */
	char why[200], wrong[200];
};

struct life {
	struct fl_io *io;
	struct model *model;
	struct fl_journal_open open;
	struct fl_journal *journal;
	struct fl_loop *loop;
	struct fl_records *records;
	struct fl_journal_append spoil[4];
	struct fl_err err;
	struct fl_timer look;
	int rounds;
};

static void life_gone(void *life_)
{
	struct life *life = life_;

	fl_timer_stop(life->io, &life->look);
	fl_op_cancel(&life->open.op);
	for (size_t i = 0; i < FL_LEN(life->spoil); i++)
		fl_op_cancel(&life->spoil[i].op);
	fl_records_free(life->records);
	fl_loop_free(life->loop);
	fl_journal_close(life->journal);
	fl_free(life);
}

/* ---- what is wished for is wanted ---- */

static const struct fl_kind wish_kind = {
	.group = "run.fairlead.test", .version = "v1", .kind = "Wish", .plural = "wishes", .root = fl_health_bind,
	.cluster_scoped = true, .help = "A Health that a test asks for.",
};
static const struct fl_owner owner = {
	.manager = "test", .kind = &fl_health_kind,
	.paths = (const char *const[]){ "card", "state", "cause", "since", NULL },
};
static const struct fl_owner *const owners[] = { &owner, NULL };

struct facts {
	struct fl_ref ref;
	const struct fl_health *wish;
};

static void by_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	fl_dirty_key(dirty, FL_S(""), ((const struct fl_health *)(after ? after : before))->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct facts *facts = facts_;

	facts->ref = (struct fl_ref){ &fl_health_kind, FL_S(""), key.name, FL_S("") };
	facts->wish = fl_view_get(view, &wish_kind, FL_S(""), key.name);
	return true;
}

static void plan(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;

	if (facts->wish)
		fl_want(plan, &owner, facts->ref, facts->wish);
	else
		fl_want_gone(plan, facts->ref);
}

static const struct fl_watched watches[] = { { &wish_kind, by_name, false }, { &fl_health_kind, by_name, false },
					     { 0 } };
static const struct fl_capability keeps = {
	.name = "keeps", .watches = watches, .key = &fl_health_kind, .owners = owners,
	.facts_size = sizeof(struct facts), .gather = gather, .plan = plan,
};

/* ---- a life ---- */

static struct fl_str card(int i)
{
	return (struct fl_str){ &"abc"[i], 1 };
}

static int wish(struct life *life, int i, int since)
{
	struct fl_feed *feed = fl_loop_feed(life->loop, &wish_kind);
	struct fl_health health = { 0 };

	if (!since) {
		fl_feed_gone(feed, FL_S(""), card(i));
		return 0;
	}
	FL_SET(FL_IN(&health, meta), name, card(i));
	FL_SET(&health, card, FL_S("0000:01:00.0"));
	FL_SET(&health, state, FL_UNHEALTHY);
	FL_SET(&health, since, since);
	return fl_feed_put(feed, &health, NULL);
}

/* What the cache has of it; 0: nothing. */
static int kept(struct life *life, int i)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(life->loop, &arena);
	const struct fl_health *health = fl_view_get(&view, &fl_health_kind, FL_S(""), card(i));

	return view.failed ? -1 : health ? (int)health->since : 0;
}

/* Each card is asked for anew, and sometimes to be gone; one after the other is on its way. */
static void next_round(struct life *life)
{
	struct model *m = life->model;

	for (int i = 0; i < CARDS; i++) {
		m->next++;
		m->asked[i] = m->next % 5 == 0 ? 0 : m->next;
		if (wish(life, i, m->asked[i]) < 0)
			m->asked[i] = m->acked[i];
	}
	fl_timer_set(life->io, &life->look, fl_now(life->io) + FL_NS_PER_MS);
}

/* A failed write is tried again later: only what the cache shows, and is not on its way, is acknowledged. */
static bool all_kept(struct life *life)
{
	for (int i = 0; i < CARDS; i++)
		if (kept(life, i) != life->model->asked[i])
			return false;
	return fl_loop_idle(life->loop);
}

static void look(struct fl_timer *timer)
{
	struct life *life = fl_container(timer, struct life, look);
	struct model *m = life->model;
	struct fl_err why = { 0 };

	m->behind = fl_records_behind(life->records, &why);
	if (m->behind)
		(void)snprintf(m->why, sizeof m->why, "%.190s", why.text);
	if (m->finished || !all_kept(life)) {
		fl_timer_set(life->io, &life->look, fl_now(life->io) + FL_NS_PER_MS);
		return;
	}
	for (int i = 0; i < CARDS; i++) {
		m->acked[i] = m->asked[i];
		m->done++;
	}
	if (++life->rounds < ROUNDS) {
		next_round(life);
		return;
	}
	m->finished = true;
	if (m->anyway)
		fl_timer_set(life->io, &life->look, fl_now(life->io) + FL_NS_PER_MS);
}

static int make_loop(struct life *life)
{
	const struct fl_source wishes = { .kind = &wish_kind };
	const struct fl_source healths = { .kind = &fl_health_kind, .sink = &fl_records_sink,
					   .sink_arg = &life->records };
	const struct fl_records_options options = { .journal = life->journal, .kind = &fl_health_kind,
						    .anyway = life->model->anyway };

	life->loop = fl_loop_new(life->io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &life->err);
	if (!life->loop || fl_loop_source(life->loop, &wishes, &life->err) < 0 ||
	    fl_loop_source(life->loop, &healths, &life->err) < 0 ||
	    fl_loop_capability(life->loop, &keeps, &life->err) < 0)
		return -(int)life->err.code;
	life->records = fl_records_new(life->io, life->loop, &options, &life->err);
	return life->records ? 0 : -(int)life->err.code;
}

/* Each card is as it was acknowledged, or as it was asked to be after that. */
static void compare(struct life *life)
{
	struct model *m = life->model;

	for (int i = 0; i < CARDS; i++) {
		int got = kept(life, i);

		if (got >= 0 && got != m->acked[i] && got != m->asked[i])
			(void)snprintf(m->wrong, sizeof m->wrong, "%d: %d is there, %d acknowledged, %d asked", i,
				       got, m->acked[i], m->asked[i]);
		if (got >= 0)
			m->acked[i] = m->asked[i] = got;
	}
}

static void live(struct life *life)
{
	struct model *m = life->model;
	struct fl_err why = { .text = "" };

	if (make_loop(life) < 0) {
		m->finished = true;
		return;
	}
	m->lives++;
	m->unread = fl_records_unread(life->records, &why);
	(void)snprintf(m->why, sizeof m->why, "%.190s", why.text);
	compare(life);
	for (int i = 0; i < CARDS; i++)
		(void)!wish(life, i, m->acked[i]);
	fl_feed_synced(fl_loop_feed(life->loop, &wish_kind));
	next_round(life);
}

static void opened(struct fl_op *op)
{
	struct life *life = fl_container(op, struct life, open.op);

	life->journal = life->open.journal;
	if (op->result < 0)
		life->model->finished = true;
	else
		live(life);
}

static struct life *life_new(struct sim_process *process)
{
	struct life *life = fl_zalloc(sizeof *life);

	if (!life)
		return NULL;
	life->io = sim_io(process);
	life->model = sim_arg(process);
	life->model->finished = false;
	life->look.fire = look;
	sim_own(process, life, life_gone);
	life->open = (struct fl_journal_open){ .op = { .done = opened, .err = &life->err }, .dir = "/state",
					       .name = "node" };
	return life;
}

static int life_main(struct sim_process *process)
{
	struct life *life = life_new(process);

	if (!life)
		return -FL_E_NOMEM;
	fl_journal_open(life->io, &life->open);
	return 0;
}

static bool finished(void *model_)
{
	struct model *m = model_;

	return m->finished || m->wrong[0];
}

/* ---- crashes ---- */

/* Not tortured: hundreds of lives. The power goes at the first call of the disk, at the second, ... */
TEST_ONCE(after_a_crash_at_any_call_what_was_acknowledged_is_there)
{
	int crashes = 0, done = 0;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		FL_AUTO(sim_world) struct sim_world *world = sim_world_new(&(struct sim_config){ .seed = seed });
		struct model m = { 0 };
		struct sim_host *host = sim_host_new(world, "node", life_main, &m);

		for (int k = 1; k < 400 && !m.finished && !m.wrong[0]; k++, crashes++) {
			sim_faults(host)->cut_after = (uint64_t)k;
			sim_run_until(world, sim_now(world) + 5 * FL_NS_PER_S, finished, &m);
			if (m.finished)
				break;
			sim_crash(host);
			sim_start(host);
		}
		CHECK_STR(fl_str(m.wrong), "");
		CHECK(m.finished);
		done += m.done;
	}
	printf("# %d crashes, %d writes acknowledged\n", crashes, done);
	CHECK(crashes > 100 && done > 100);
}

TEST(any_call_may_fail)
{
	FL_AUTO(sim_world) struct sim_world *world =
		sim_world_new(&(struct sim_config){ .seed = 7, .refuse = test_refuse_io });
	struct model m = { 0 };
	struct sim_host *host = sim_host_new(world, "node", life_main, &m);

	sim_run_until(world, 10 * FL_NS_PER_S, finished, &m);
	sim_crash(host);
	sim_start(host);
	m.finished = false;
	sim_run_until(world, 20 * FL_NS_PER_S, finished, &m);
	CHECK_STR(fl_str(m.wrong), "");
	CHECK(test_tortured() || m.done == 2 * CARDS * ROUNDS);
}

/* ---- a disk that refuses ---- */

static bool is_behind(void *model_)
{
	struct model *m = model_;

	return (m->finished && m->behind) || m->wrong[0];
}

static bool has_caught_up(void *model_)
{
	struct model *m = model_;

	return (m->finished && !m->behind) || m->wrong[0];
}

/* A life that ends well, and the next one on a disk that has become read-only. */
static struct sim_host *refused(struct sim_world *world, struct model *m)
{
	struct sim_host *host = sim_host_new(world, "node", life_main, m);

	sim_run_until(world, sim_now(world) + 10 * FL_NS_PER_S, has_caught_up, m);
	sim_crash(host);
	sim_faults(host)->read_only = true;
	m->finished = m->behind = false;
	m->done = 0;
	sim_start(host);
	return host;
}

TEST(what_the_disk_refuses_counts_all_the_same_and_is_kept_when_it_can)
{
	FL_AUTO(sim_world) struct sim_world *world =
		sim_world_new(&(struct sim_config){ .seed = 11, .refuse = test_refuse_io });
	struct model m = { .anyway = true };
	struct sim_host *host = refused(world, &m);

	sim_run_until(world, sim_now(world) + 5 * FL_NS_PER_S, is_behind, &m);
	CHECK(test_tortured() || m.done == CARDS * ROUNDS);
	CHECK(test_tortured() || (m.behind && strstr(m.why, "Read-only")));
	sim_faults(host)->read_only = false;
	sim_run_until(world, sim_now(world) + 30 * FL_NS_PER_S, has_caught_up, &m);
	CHECK(!m.behind);
	sim_crash(host);
	sim_start(host);
	m.finished = false;
	sim_run_until(world, sim_now(world) + 20 * FL_NS_PER_S, finished, &m);
	CHECK_STR(fl_str(m.wrong), "");
	CHECK(test_tortured() || m.done == 2 * CARDS * ROUNDS);
}

/* ... where it must, and where it need not nothing is acknowledged. */
TEST_ONCE(what_must_be_kept_waits_for_a_disk_that_refuses)
{
	FL_AUTO(sim_world) struct sim_world *world = sim_world_new(&(struct sim_config){ .seed = 12 });
	struct model m = { 0 };
	struct sim_host *host = refused(world, &m);

	sim_run_until(world, sim_now(world) + 5 * FL_NS_PER_S, finished, &m);
	CHECK_INT(m.done, 0);
	sim_faults(host)->read_only = false;
	sim_run_until(world, sim_now(world) + 700 * FL_NS_PER_S, finished, &m);
	CHECK_INT(m.done, CARDS * ROUNDS);
}

/* ---- what cannot be read ---- */

static const struct spoilt {
	const char *says, *key, *value;
	uint8_t format;
	const char *why;           /* how it is told; NULL: it is none of ours, and not told */
} spoilt[] = {
	{ "of another version", "Health//x", "{}", 9, "Health//x: it is kept in format 9, this program knows 1" },
	{ "of a format that is one older", "Health//x", "{}", 0,
	  "Health//x: it is kept in format 0, this program knows 1" },
	{ "no JSON", "Health//x", "{\"card\":", 1, "Health//x: line 1" },
	{ "a value of another type", "Health//x", "{\"card\":5,\"state\":\"Healthy\"}", 1, "Health//x: card is 5" },
	{ "a state that this program does not know", "Health//x", "{\"card\":\"c\",\"state\":\"Dizzy\"}", 1,
	  "Health//x: state is " },
	{ "without what must be there", "Health//x", "{\"state\":\"Healthy\"}", 1, "Health//x: card" },
	{ "a key without a name is of nobody", "Health", "{}", 1, NULL },
	{ "a record of somebody else", "Healthier//x", "{}", 1, NULL },
};

static void spoiled(struct fl_op *op)
{
	struct life *life = fl_container(op, struct life, spoil[0].op);

	life->model->finished = true;
}

static void open_to_spoil(struct fl_op *op)
{
	struct life *life = fl_container(op, struct life, open.op);
	const struct spoilt *row = &spoilt[life->model->next];

	life->journal = life->open.journal;
	if (op->result < 0) {
		life->model->finished = true;
		return;
	}
	life->spoil[0].op = (struct fl_op){ .done = spoiled };
	fl_journal_put(life->journal, &life->spoil[0], row->format, fl_str(row->key), fl_str(row->value));
}

static int spoil_main(struct sim_process *process)
{
	struct life *life = life_new(process);

	if (!life)
		return -FL_E_NOMEM;
	life->open.op.done = open_to_spoil;
	fl_journal_open(life->io, &life->open);
	return 0;
}

/* What a process finds: how much of the journal lies under which key. */
struct found {
	struct model model;
	bool spoilt, aside;
};

static void open_to_look(struct fl_op *op)
{
	struct life *life = fl_container(op, struct life, open.op);
	struct found *found = fl_container(life->model, struct found, model);

	life->journal = life->open.journal;
	found->model.finished = true;
	if (op->result < 0)
		return;
	found->spoilt = fl_journal_get(life->journal, FL_S("Health//x")) != NULL;
	found->aside = fl_journal_get(life->journal, FL_S("aside/Health//x")) != NULL;
}

static int look_main(struct sim_process *process)
{
	struct life *life = life_new(process);

	if (!life)
		return -FL_E_NOMEM;
	life->open.op.done = open_to_look;
	fl_journal_open(life->io, &life->open);
	return 0;
}

static int first_main(struct sim_process *process)
{
	switch (((struct model *)sim_arg(process))->lives) {
	case 0:
		return spoil_main(process);
	case 1:
		return life_main(process);
	default:
		return look_main(process);
	}
}

/* One process spoils it, the next one lives with it, the third one looks what it has left. */
static void lives_with(int row)
{
	FL_AUTO(sim_world) struct sim_world *world = sim_world_new(&(struct sim_config){ .seed = 9 });
	struct found found = { .model.next = row };
	struct model *m = &found.model;
	struct sim_host *host = sim_host_new(world, "node", first_main, m);

	sim_run_until(world, 5 * FL_NS_PER_S, finished, m);
	sim_stop(host);
	m->lives = 1;
	sim_start(host);
	sim_run(world, sim_now(world) + 5 * FL_NS_PER_S);
	CHECK_STR(fl_str(m->wrong), "");
	CHECK_INT(m->done, CARDS * ROUNDS);
	CHECK_INT(m->unread, spoilt[row].why != NULL);
	if (spoilt[row].why)
		CHECK_STR(fl_str_sub(fl_str(m->why), 0, (uint32_t)strlen(spoilt[row].why)), spoilt[row].why);
	sim_stop(host);
	m->lives = 2;
	sim_start(host);
	sim_run(world, sim_now(world) + 5 * FL_NS_PER_S);
	CHECK(!found.spoilt);
	CHECK_INT(found.aside, spoilt[row].why != NULL);
}

TEST_ONCE(what_cannot_be_read_is_set_aside_and_told)   /* its memory: any_call_may_fail of this and of the journal */
{
	EACH_ROW (row, spoilt) {
		lives_with((int)(row - spoilt));
		if (test_failed())
			return;
	}
}
