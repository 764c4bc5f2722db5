/* I4: the power goes at every call that the journal makes of the disk, and what was acknowledged is there
 * afterwards. */
#include "base/units.h"
#include "io/journal.h"
#include "sim/sim.h"
#include "test.h"
#include <stdio.h>

enum { KEYS = 6, AT_ONCE = 3, OPS = 64, ROUNDS = 14 };

/* What the world outside knows: what was asked for, in order, and what came of it. */
struct op {
	int key, value;                 /* value 0: deleted */
	enum { ASKED, ACKED, REFUSED, DOUBTFUL } state;   /* DOUBTFUL: refused, with words that say so */
};

struct model {
	int base[KEYS];                 /* what the last recovery gave */
	struct op ops[OPS];
	int count, next_value;
	int recoveries, acked, refused;
	bool strict;                    /* nothing but crashes: a prefix of what was asked for, no more and no less */
	bool finished;                  /* this life of the writer got to its end */
	char wrong[200];
};

struct slot {
	struct fl_journal_append append;
	struct writer *writer;
	struct fl_err err;
	int op;                         /* -1: a snapshot */
};

struct writer {
	struct fl_io *io;
	struct sim_process *process;
	struct model *model;
	struct fl_journal_open open;
	struct fl_journal *journal;
	struct slot slots[AT_ONCE];
	struct fl_err err;
	int rounds, busy;
};

static void writer_gone(void *self)
{
	struct writer *w = self;

	fl_op_cancel(&w->open.op);
	for (int i = 0; i < AT_ONCE; i++)
		fl_op_cancel(&w->slots[i].append.op);
	fl_journal_close(w->journal);
	fl_free(w);
}

/* Is `got` what there would be after the first n of the operations (strict), or with any of the undecided ones? */
static bool after(const struct model *m, const int got[KEYS], int n)
{
	int want[KEYS];

	memcpy(want, m->base, sizeof want);
	for (int i = 0; i < n; i++)
		if (m->ops[i].state == ACKED || m->ops[i].state == ASKED)
			want[m->ops[i].key] = m->ops[i].value;
	return memcmp(want, got, sizeof want) == 0;
}

static bool explained(const struct model *m, const int got[KEYS])
{
	int last = 0, want[KEYS];

	for (int i = 0; i < m->count; i++)
		if (m->ops[i].state == ACKED)
			last = i + 1;
	if (m->strict) {
		for (int n = last; n <= m->count; n++)
			if (after(m, got, n))
				return true;
		return false;
	}
	memcpy(want, m->base, sizeof want);
	for (int i = 0; i < last; i++)
		if (m->ops[i].state == ACKED)
			want[m->ops[i].key] = m->ops[i].value;
	for (int key = 0; key < KEYS; key++) {
		bool found = got[key] == want[key];

		for (int i = last; !found && i < m->count; i++)
			found = m->ops[i].key == key && got[key] == m->ops[i].value && m->ops[i].state != REFUSED;
		if (!found)
			return false;
	}
	return true;
}

static void live_set(const struct fl_journal *journal, int got[KEYS])
{
	memset(got, 0, KEYS * sizeof *got);
	for (const struct fl_journal_item *item = NULL; (item = fl_journal_next(journal, item));)
		got[item->key.p[0] - 'a'] = *(const int *)(const void *)memcpy(&(int){ 0 }, item->value.p, sizeof(int));
}

static void complain(struct model *m, const int got[KEYS], const char *what)
{
	int n;

	if (m->wrong[0])
		return;
	n = snprintf(m->wrong, sizeof m->wrong, "%s:", what);
	for (int i = 0; i < KEYS; i++)
		n += snprintf(m->wrong + n, sizeof m->wrong - (size_t)n, " %d", got[i]);
	for (int i = 0; i < m->count && (size_t)n < sizeof m->wrong - 20; i++)
		n += snprintf(m->wrong + n, sizeof m->wrong - (size_t)n, " %c=%d%s", 'a' + m->ops[i].key,
			      m->ops[i].value, (const char *const[]){ "?", "", "!", "!?" }[m->ops[i].state]);
}

static void next_round(struct writer *w);

static void appended(struct fl_op *op)
{
	struct slot *slot = fl_container(op, struct slot, append.op);
	struct writer *w = slot->writer;

	if (slot->op >= 0) {
		w->model->ops[slot->op].state = op->result > 0 ? ACKED :
						strstr(slot->err.text, "may or may not") ? DOUBTFUL : REFUSED;
		w->model->acked += op->result > 0;
		w->model->refused += op->result < 0;
	}
	if (--w->busy == 0)
		next_round(w);
}

static void begin(struct writer *w, struct slot *slot)
{
	struct model *m = w->model;
	uint64_t chance = sim_random(sim_world_of(w->process));
	struct op *op = &m->ops[m->count];
	char key[2] = { 0 };

	slot->writer = w;
	slot->append.op = (struct fl_op){ .done = appended, .err = &slot->err };
	w->busy++;
	slot->op = -1;
	if (chance % 8 == 0) {
		fl_journal_snapshot(w->journal, &slot->append);
		return;
	}
	slot->op = m->count++;
	*op = (struct op){ .key = (int)(chance >> 8) & 3, .value = ++m->next_value };
	key[0] = (char)('a' + op->key);
	if (chance % 8 == 1) {
		op->value = 0;
		fl_journal_delete(w->journal, &slot->append, fl_str(key));
	} else {
		char value[700] = { 0 };

		memcpy(value, &op->value, sizeof op->value);
		fl_journal_put(w->journal, &slot->append, 1, fl_str(key),
			       (struct fl_str){ value, 4 + (uint32_t)(chance >> 16) % 600 });
	}
}

static void next_round(struct writer *w)
{
	int now[KEYS];

	live_set(w->journal, now);
	if (!after(w->model, now, w->model->count))
		complain(w->model, now, "the live set is not what was acknowledged");
	if (++w->rounds > ROUNDS) {
		w->model->finished = true;
		return;
	}
	for (uint64_t n = 1 + sim_random(sim_world_of(w->process)) % AT_ONCE; n-- > 0;)
		begin(w, &w->slots[n]);
}

static void opened(struct fl_op *op)
{
	struct writer *w = fl_container(op, struct writer, open.op);
	struct model *m = w->model;
	const struct fl_journal_fact *facts;
	unsigned fact_count;
	int got[KEYS];

	if (op->result < 0) {
		if (m->strict && !test_tortured())
			(void)snprintf(m->wrong, sizeof m->wrong, "%.150s", w->err.text);
		m->finished = true;
		return;
	}
	w->journal = w->open.journal;
	live_set(w->journal, got);
	facts = fl_journal_facts(w->journal, &fact_count);
	for (unsigned i = 0; i < fact_count; i++)
		if (m->strict && facts[i].state != FL_JOURNAL_TORN && !test_tortured())
			(void)snprintf(m->wrong, sizeof m->wrong, "a crash is no damage: %.150s", facts[i].text);
	if (!explained(m, got))
		complain(m, got, "recovered");
	memcpy(m->base, got, sizeof got);
	m->count = 0;
	m->recoveries++;
	next_round(w);
}

static int writer_main(struct sim_process *p)
{
	struct writer *w = fl_zalloc(sizeof *w);

	if (!w)
		return -FL_E_NOMEM;
	w->io = sim_io(p);
	w->process = p;
	w->model = sim_arg(p);
	w->model->finished = false;
	sim_own(p, w, writer_gone);
	w->open = (struct fl_journal_open){ .op = { .done = opened, .err = &w->err }, .dir = "/state", .name = "test" };
	fl_journal_open(w->io, &w->open);
	return 0;
}

static bool finished(void *arg)
{
	struct model *m = arg;

	return m->finished || m->wrong[0];
}

/* Not tortured: thousands of lives, each with all its allocations; any_call_may_fail below is for that.
 *
 * The same disk through one crash after another: at the first call, the second, ... until a life comes to its end. */
static int crash_everywhere(uint64_t seed, struct model *m, unsigned short_io)
{
	struct sim_config config = { .seed = seed, .short_io = short_io };
	FL_AUTO(sim_world) struct sim_world *world = sim_world_new(&config);
	struct sim_host *host;
	int k = 0;

	*m = (struct model){ .strict = true };
	host = sim_host_new(world, "host", writer_main, m);
	do {
		m->finished = false;
		sim_faults(host)->cut_after = (uint64_t)++k;
		sim_run_until(world, sim_now(world) + 5 * FL_NS_PER_S, finished, m);
		sim_crash(host);
		sim_start(host);
	} while (k < 400 && !m->wrong[0] && !m->finished);
	return k;
}

TEST_ONCE(after_a_crash_at_any_call_what_was_acknowledged_is_there)
{
	int crashes = 0, acked = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct model m;

		crashes += crash_everywhere(seed, &m, seed % 2 ? 0 : 200000);
		CHECK_STR(fl_str(m.wrong), "");
		CHECK_INT(m.refused, 0);
		acked += m.acked;
	}
	printf("# %d crashes, %d acknowledged\n", crashes, acked);
	CHECK(crashes > 2000);
}

/* On a disk that never saw a journal: its directory, too, must be there for what is acknowledged in it. */
TEST_ONCE(the_first_records_survive_the_first_crash)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct model m = { 0 };

		for (int k = 1; k < 400 && !m.finished; k += 3) {
			struct sim_config config = { .seed = seed * 1000 + (uint64_t)k };
			FL_AUTO(sim_world) struct sim_world *world = sim_world_new(&config);
			struct sim_host *host;

			m = (struct model){ .strict = true };
			host = sim_host_new(world, "host", writer_main, &m);
			sim_faults(host)->cut_after = (uint64_t)k;
			sim_run_until(world, 5 * FL_NS_PER_S, finished, &m);
			sim_crash(host);
			sim_start(host);
			sim_run_until(world, 10 * FL_NS_PER_S, m.finished ? NULL : finished, &m);
			CHECK_STR(fl_str(m.wrong), "");
			m.finished = sim_faults(host)->cut_after > 0;
		}
	}
}

/* A disk that fails now and then, fills up, turns read-only, and has crashes as well: the journal says what it did not
 * take, takes again what it can, and loses nothing that it acknowledged. */
TEST_ONCE(a_failing_disk_loses_nothing_that_was_acknowledged)
{
	int acked = 0, refused = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct sim_config config = { .seed = seed, .short_io = 100000 };
		FL_AUTO(sim_world) struct sim_world *world = sim_world_new(&config);
		struct model m = { 0 };
		struct sim_host *host = sim_host_new(world, "host", writer_main, &m);
		struct sim_faults *faults = sim_faults(host);

		for (int life = 0; life < 12; life++) {
			uint64_t chance = sim_random(world);

			m.finished = false;
			faults->eio_write = chance & 1 ? 60000 : 0;
			faults->eio_sync = chance & 2 ? 60000 : 0;
			faults->disk_bytes = chance & 4 ? 6000 + chance % 4000 : 0;
			faults->read_only = (chance & 0x38) == 0;
			faults->cut_after = chance & 0x40 ? 1 + chance / 128 % 100 : 0;
			sim_run_until(world, sim_now(world) + 5 * FL_NS_PER_S, finished, &m);
			sim_crash(host);
			sim_start(host);
		}
		*faults = (struct sim_faults){ 0 };
		m.finished = false;
		sim_run_until(world, sim_now(world) + 5 * FL_NS_PER_S, finished, &m);
		CHECK_STR(fl_str(m.wrong), "");
		acked += m.acked;
		refused += m.refused;
	}
	printf("# %d acknowledged, %d refused\n", acked, refused);
	CHECK(acked > 1000 && refused > 100);
}

/* One life in which a call or an allocation fails, a crash, and one in which none does. */
TEST(any_call_may_fail)
{
	struct sim_config config = { .seed = 11, .refuse = test_refuse_io };
	FL_AUTO(sim_world) struct sim_world *world = sim_world_new(&config);
	struct model m = { 0 };
	struct sim_host *host = sim_host_new(world, "host", writer_main, &m);

	sim_run_until(world, 5 * FL_NS_PER_S, finished, &m);
	sim_crash(host);
	sim_start(host);
	m.finished = false;
	sim_run_until(world, 10 * FL_NS_PER_S, finished, &m);
	CHECK_STR(fl_str(m.wrong), "");
	CHECK(test_tortured() || m.acked > 20);
}
