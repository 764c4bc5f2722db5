/* The journal on a real disk: what callers see. That it survives crashes is shown in tests/sim/test_journal_crash.c. */
#include "base/units.h"
#include "io/journal.h"
#include "io/journal_disk.h"
#include "test.h"
#include "test_io.h"
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static int open_at(struct fl_io *io, const char *dir, struct fl_journal **ret, struct fl_err *err)
{
	struct fl_journal_open open = { .op.err = err, .dir = dir, .name = "state" };

	*ret = NULL;
	fl_journal_open(io, &open);
	if (open.journal && open.op.state == FL_OP_IDLE)
		return -FL_E_INVALID;   /* not before done() */
	if (test_op(io, &open.op) < 0)
		return (int)open.op.result;
	*ret = open.journal;
	return 0;
}

static int put(struct fl_io *io, struct fl_journal *j, const char *key, const char *value, struct fl_err *err)
{
	struct fl_journal_append append = { .op.err = err };

	fl_journal_put(j, &append, 3, fl_str(key), fl_str(value));
	return (int)test_op(io, &append.op);
}

static int del(struct fl_io *io, struct fl_journal *j, const char *key)
{
	struct fl_journal_append append = { 0 };

	fl_journal_delete(j, &append, fl_str(key));
	return (int)test_op(io, &append.op);
}

static int snapshot(struct fl_io *io, struct fl_journal *j)
{
	struct fl_journal_append append = { 0 };

	fl_journal_snapshot(j, &append);
	return (int)test_op(io, &append.op);
}

/* "a=1 b=2", in the order of the journal. */
static const char *all(const struct fl_journal *j)
{
	static char text[400];
	size_t n = 0;

	text[0] = 0;
	for (const struct fl_journal_item *item = NULL; (item = fl_journal_next(j, item));)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s=%.*s", n ? " " : "", FL_ARG(item->key),
				      FL_ARG(item->value));
	return text;
}

TEST(what_is_put_is_there_after_the_next_open)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_journal) struct fl_journal *j = NULL;
	const char *dir = test_dir();
	struct fl_err err = { 0 };
	unsigned facts;

	GOT(io);
	OK_ERR(open_at(io, dir, &j, &err), &err);
	CHECK_INT(fl_journal_count(j), 0);
	OK_ERR(put(io, j, "a", "1", &err), &err);
	OK_ERR(put(io, j, "b", "2", &err), &err);
	OK_ERR(put(io, j, "c", "3", &err), &err);
	OK_ERR(put(io, j, "a", "4", &err), &err);
	OK(del(io, j, "b"));
	OK(del(io, j, "never there"));
	CHECK_STR(fl_str(all(j)), "c=3 a=4");
	for (int i = 0; i < 2; i++) {
		j = fl_journal_close(j);
		OK_ERR(open_at(io, dir, &j, &err), &err);
		CHECK_STR(fl_str(all(j)), "c=3 a=4");
		(void)fl_journal_facts(j, &facts);
		CHECK(facts == 0 || test_tortured());
		CHECK_INT(fl_journal_get(j, FL_S("a"))->kind, 3);
		CHECK(!fl_journal_get(j, FL_S("b")));
		if (i == 0)
			OK(snapshot(io, j));
	}
	OK_ERR(put(io, j, "d", "", &err), &err);
	CHECK_STR(fl_str(all(j)), "c=3 a=4 d=");
}

/* Appends that are made together are written together, and end in their order. */
static struct {
	int order[8], count;
} ended;

static void one_ended(struct fl_op *op)
{
	ended.order[ended.count++] = (int)(op->result < 0 ? 0 : op->result);
}

TEST(appends_made_together_end_in_order)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_journal) struct fl_journal *j = NULL;
	struct fl_journal_append appends[6] = { 0 };
	struct fl_err err = { 0 };

	GOT(io);
	OK_ERR(open_at(io, test_dir(), &j, &err), &err);
	memset(&ended, 0, sizeof ended);
	for (int i = 0; i < 6; i++) {
		appends[i].op.done = one_ended;
		fl_journal_put(j, &appends[i], 0, (struct fl_str){ &"abcabc"[i], 1 },
			       (struct fl_str){ &"123456"[i], 1 });
	}
	fl_op_cancel(&appends[3].op);   /* not told; that it may take effect all the same is said in the header */
	OK(test_turns(io, &ended.count, 5));
	if (test_tortured())
		return;
	for (int i = 1; i < 5; i++)
		CHECK(ended.order[i] > ended.order[i - 1]);
	CHECK_STR(fl_str(all(j)), "a=4 b=5 c=6");
}

/* A long file is taken over in slices: others have their turn in between, and whoever loses patience may go. */
static int fill_slices(struct fl_io *io, const char *dir, int count, struct fl_err *err)
{
	FL_AUTO(fl_journal) struct fl_journal *j = NULL;
	FL_AUTO(fl_buf) struct fl_buf value = FL_BUF(FL_JOURNAL_RECORD_MAX);
	char key[8];
	int r = open_at(io, dir, &j, err);

	while (value.len < FL_JOURNAL_RECORD_MAX - 8 && !value.failed)
		fl_buf_char(&value, 'x');
	fl_buf_char(&value, '\0');
	if (value.failed)
		return -FL_E_NOMEM;
	for (int i = 0; i < count && r >= 0; i++) {
		(void)snprintf(key, sizeof key, "%d", i);
		r = put(io, j, key, value.p, err);
	}
	return r;
}

/* Not tortured: replaying is the same code as in the first test, and so many bytes take their time. */
TEST_ONCE(a_long_file_is_replayed_in_slices)
{
	enum { RECORDS = 3 * FL_JOURNAL_SLICE / FL_JOURNAL_RECORD_MAX };
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_journal) struct fl_journal *j = NULL;
	struct fl_journal_open open = { .name = "state" };
	const char *dir = test_dir();
	struct fl_err err = { 0 };
	uint32_t most = 0, grown = 0;

	GOT(io);
	OK_ERR(fill_slices(io, dir, RECORDS, &err), &err);
	open.dir = dir;
	open.op = (struct fl_op){ .done = test_op_done, .err = &err };
	fl_journal_open(io, &open);
	for (uint32_t before = 0, now; fl_op_busy(&open.op); before = now) {
		OK_ERR(fl_io_turn(io, FL_NEVER, &err), &err);
		now = fl_journal_count(open.journal);
		grown += now > before;
		most = now - before > most ? now - before : most;
	}
	j = open.journal;
	GOT(j);
	CHECK_INT(fl_journal_count(j), RECORDS);
	CHECK(most <= FL_JOURNAL_SLICE / (FL_JOURNAL_RECORD_MAX - 64) + 1);
	CHECK(grown >= 3);
	j = fl_journal_close(j);
	/* Cancelled in the midst of it: nothing of it stays behind, and the next one finds all. */
	open = (struct fl_journal_open){ .op.done = test_op_done, .name = "state", .dir = dir };
	fl_journal_open(io, &open);
	while (fl_op_busy(&open.op) && fl_journal_count(open.journal) == 0)
		OK_ERR(fl_io_turn(io, FL_NEVER, &err), &err);
	CHECK(fl_op_busy(&open.op));
	fl_op_cancel(&open.op);
	CHECK(!open.journal);
	OK_ERR(open_at(io, dir, &j, &err), &err);
	CHECK_INT(fl_journal_count(j), RECORDS);
}

static const struct {
	const char *says;
	uint32_t key, value;
	enum fl_code code;
} limit_rows[] = {
	{ "a record needs a key", 0, 10, FL_E_INVALID },
	{ "the largest record", 100, FL_JOURNAL_RECORD_MAX - 100, FL_OK },
	{ "one byte more", 100, FL_JOURNAL_RECORD_MAX - 99, FL_E_TOOBIG },
	{ "a key as large as a record", FL_JOURNAL_RECORD_MAX, 0, FL_OK },
	{ "a key that does not fit", FL_JOURNAL_RECORD_MAX + 1, 0, FL_E_TOOBIG },
};

/* Not tortured: five disks; nothing here that the others do not call. */
TEST_ONCE(a_record_has_a_ceiling)
{
	static char big[FL_JOURNAL_RECORD_MAX + 1];

	EACH_ROW (row, limit_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_journal) struct fl_journal *j = NULL;
		const char *dir = test_dir();
		struct fl_err err = { 0 };
		struct fl_journal_append append = { .op.err = &err };

		GOT(io);
		OK_ERR(open_at(io, dir, &j, &err), &err);
		fl_journal_put(j, &append, 0, (struct fl_str){ big, row->key }, (struct fl_str){ big, row->value });
		if (row->code) {
			REFUSED(test_op(io, &append.op), row->code);
			continue;
		}
		OK_ERR(test_op(io, &append.op), &err);
		j = fl_journal_close(j);
		OK_ERR(open_at(io, dir, &j, &err), &err);
		CHECK_INT(fl_journal_count(j), 1);
	}
}

/* Not tortured: a mebibyte, record by record, takes its time. */
TEST_ONCE(the_live_set_has_a_ceiling_and_so_has_what_waits)
{
	static char big[FL_JOURNAL_RECORD_MAX];
	static struct fl_journal_append appends[100];
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_journal) struct fl_journal *j = NULL;
	struct fl_err err = { 0 };
	const char *dir = test_dir();
	int waiting = 0, fits = 0;
	char key[16];

	GOT(io);
	OK_ERR(open_at(io, dir, &j, &err), &err);
	for (int i = 0; i < 100; i++) {
		appends[i].op = (struct fl_op){ .done = test_op_done };
		(void)snprintf(key, sizeof key, "q%d", i);
		fl_journal_put(j, &appends[i], 0, fl_str(key), (struct fl_str){ big, 8000 });
		waiting += appends[i].op.result == 0;
	}
	CHECK(waiting > 20 && waiting < 40);
	for (int i = 0; i < 100; i++)
		while (fl_op_busy(&appends[i].op))
			OK(fl_io_turn(io, FL_NEVER, NULL));
	for (int i = 0; i < 100; i++) {
		struct fl_journal_append append = { .op.err = &err };

		(void)snprintf(key, sizeof key, "l%d", i);
		fl_journal_put(j, &append, 0, fl_str(key), (struct fl_str){ big, sizeof big - 8 });
		if (test_op(io, &append.op) < 0) {
			CHECK_INT(append.op.result, -FL_E_TOOBIG);
			break;
		}
		fits++;
	}
	CHECK(fits > 40 && fits < 64);
	j = fl_journal_close(j);
	OK_ERR(open_at(io, dir, &j, &err), &err);
	CHECK_INT(fl_journal_count(j), waiting + fits);
}

/* ---- what is found at the start ---- */

/* A file with the records k=SEQ for the numbers given, the first `live` of them in its snapshot. */
static bool make_file(const char *path, uint64_t generation, int live, int records, long flip, long cut)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(64 * FL_KIB);
	char key[16], value[16];
	FILE *file;
	bool ok;

	fl_journal_write_header(&buf, generation, (uint64_t)live + 1);
	for (int i = 1; i <= records; i++) {
		uint64_t seq = (uint64_t)(i > live ? i + 1 : i);

		if (i == live + 1 || (i == 1 && live == 0))
			fl_journal_write_record(&buf, generation, &(struct fl_journal_record){
				.what = FL_JOURNAL_MARK, .seq = (uint64_t)live + 1 });
		(void)snprintf(key, sizeof key, "k%d", i);
		(void)snprintf(value, sizeof value, "%d", (int)generation);
		fl_journal_write_record(&buf, generation, &(struct fl_journal_record){
			.what = FL_JOURNAL_PUT, .seq = seq, .key = fl_str(key), .value = fl_str(value) });
	}
	if (fl_buf_check(&buf, "file", NULL) < 0)
		return false;
	if (flip)
		buf.p[flip] ^= 2;
	file = fopen(path, "wb");
	ok = file && fwrite(buf.p, 1, cut ? (size_t)cut : buf.len, file) == (cut ? (size_t)cut : buf.len);
	return (!file || fclose(file) == 0) && ok;
}

/* Offsets: the header takes 32 bytes, each record 32, the mark 24: k1 at 32, k2 at 64, k3 at 120, k4 at 152. */
static const struct {
	const char *says;
	long flip, cut;
	const char *instead;        /* the newest file holds this text */
	bool older;                 /* generation 4 is there, too: k1 and k2, whole */
	const char *live;
	enum fl_journal_state state;
	const char *fact;
	const char *aside;          /* the newest file's later name */
} found_rows[] = {
	{ "a whole file", .older = true, .live = "k1=5 k2=5 k3=5 k4=5" },
	{ "a torn tail is cut, and told", .cut = 178, .live = "k1=5 k2=5 k3=5", .state = FL_JOURNAL_TORN,
	  .fact = "state.5 ends with a torn write at byte 152 of 178, as after a crash: cut it; no "
		  "acknowledged record is lost" },
	{ "what stands before damage in the log is used", .flip = 120 + 25, .older = true, .live = "k1=5 k2=5",
	  .state = FL_JOURNAL_DAMAGED,
	  .fact = "state.5 is damaged at byte 120: used the records before that byte, lost those after it, kept the "
		  "file as state.5.damaged: check the disk", .aside = "state.5.damaged" },
	{ "damage in the snapshot: the generation before is used", .flip = 32 + 25, .older = true, .live = "k1=4 k2=4",
	  .state = FL_JOURNAL_DAMAGED,
	  .fact = "state.5 is damaged at byte 32: read the one before it, kept the file as state.5.damaged: check the "
		  "disk",
	  .aside = "state.5.damaged" },
	{ "damage in the only file", .flip = 32 + 25, .live = "", .state = FL_JOURNAL_DAMAGED,
	  .fact = "state.5 is damaged at byte 32: could use nothing of it, kept the file as state.5.damaged: check "
		  "the disk",
	  .aside = "state.5.damaged" },
	{ "an empty file", .instead = "", .older = true, .live = "k1=4 k2=4", .state = FL_JOURNAL_EMPTY,
	  .fact = "state.5 is empty: read the one before it, kept the file as state.5.empty: check the disk",
	  .aside = "state.5.empty" },
	{ "another version", .flip = 8, .older = true, .live = "k1=4 k2=4", .state = FL_JOURNAL_FOREIGN,
	  .fact = "state.5 is of version 3 (this program reads 1): read the one before it, kept the file as "
		  "state.5.foreign: check the disk", .aside = "state.5.foreign" },
	{ "something else", .instead = "hello, world\n", .live = "", .state = FL_JOURNAL_FOREIGN,
	  .fact = "state.5 is not a journal: could use nothing of it, kept the file as state.5.foreign: check the disk",
	  .aside = "state.5.foreign" },
};

/* Not tortured: eight disks, synced many times; one damaged file is, below. */
TEST_ONCE(what_is_found_at_the_start_is_used_as_far_as_it_goes)
{
	EACH_ROW (row, found_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_journal) struct fl_journal *j = NULL;
		const struct fl_journal_fact *facts;
		const char *dir = test_dir();
		struct fl_err err = { 0 };
		unsigned count;

		GOT(io);
		if (row->instead)
			CHECK(test_write_file(test_path(dir, "state.5"), row->instead));
		else if (!make_file(test_path(dir, "state.5"), 5, 2, 4, row->flip, row->cut))
			OK(-FL_E_NOMEM);
		if (row->older && !make_file(test_path(dir, "state.4"), 4, 0, 2, 0, 0))
			OK(-FL_E_NOMEM);
		CHECK(test_write_file(test_path(dir, "state.6.new"), "left by a crash"));
		CHECK(test_write_file(test_path(dir, "other.7"), "somebody else's"));
		OK_ERR(open_at(io, dir, &j, &err), &err);
		facts = fl_journal_facts(j, &count);
		CHECK_STR(fl_str(all(j)), row->live);
		CHECK_INT(count, row->fact ? 1 : 0);
		if (row->fact)
			CHECK_INT(facts[0].state, row->state);
		CHECK_STR(fl_str(count ? facts[0].text : NULL), row->fact ? row->fact : "");
		OK(snapshot(io, j));
		CHECK(!row->aside || access(test_path(dir, row->aside), F_OK) == 0);
		CHECK(access(test_path(dir, "state.6.new"), F_OK) < 0);
		CHECK(access(test_path(dir, "other.7"), F_OK) == 0);
		/* Told once: the next start finds all well, and what is new is there. */
		OK_ERR(put(io, j, "new", "!", &err), &err);
		j = fl_journal_close(j);
		OK_ERR(open_at(io, dir, &j, &err), &err);
		(void)fl_journal_facts(j, &count);
		CHECK_INT(count, 0);
		CHECK(fl_journal_get(j, FL_S("new")));
	}
}

TEST(a_damaged_file_is_survived)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_journal) struct fl_journal *j = NULL;
	const char *dir = test_dir();
	struct fl_err err = { 0 };

	GOT(io);
	if (!make_file(test_path(dir, "state.5"), 5, 2, 4, 32 + 25, 0) ||
	    !make_file(test_path(dir, "state.4"), 4, 0, 2, 0, 0))
		OK(-FL_E_NOMEM);
	OK_ERR(open_at(io, dir, &j, &err), &err);
	CHECK_STR(fl_str(all(j)), "k1=4 k2=4");
	(void)put(io, j, "k1", "6", &err);
	j = fl_journal_close(j);
	OK_ERR(open_at(io, dir, &j, &err), &err);
	CHECK(fl_journal_get(j, FL_S("k2")));
}

static int count_files(const char *dir)
{
	struct dirent *entry;
	DIR *list = opendir(dir);
	int n = 0;

	while (list && (entry = readdir(list)))
		n += entry->d_name[0] != '.';
	if (list)
		(void)closedir(list);
	return n;
}

TEST(an_open_waits_for_no_sync_and_writes_no_file)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_journal) struct fl_journal *j = NULL;
	const char *dir = test_dir();
	struct fl_err err = { 0 };

	GOT(io);
	OK_ERR(open_at(io, dir, &j, &err), &err);
	CHECK_INT(count_files(dir), 0);
	OK(snapshot(io, j));
	CHECK_INT(count_files(dir), 1);
	OK_ERR(put(io, j, "a", "1", &err), &err);
	j = fl_journal_close(j);
	OK_ERR(open_at(io, dir, &j, &err), &err);
	CHECK_STR(fl_str(all(j)), "a=1");
	CHECK_INT(count_files(dir), 1);
	OK_ERR(put(io, j, "b", "2", &err), &err);
	CHECK_INT(count_files(dir), 2);   /* a generation of its own, and the one before */
}

/* Not tortured: 16 starts, each synced several times. */
TEST_ONCE(only_so_many_damaged_files_are_kept)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };

	GOT(io);
	for (int i = 0; i < 2 * FL_JOURNAL_ASIDE_MAX; i++) {
		FL_AUTO(fl_journal) struct fl_journal *j = NULL;
		char name[40];

		(void)snprintf(name, sizeof name, "state.%d", 10 * (i + 1));
		CHECK(test_write_file(test_path(dir, name), "garbage"));
		OK_ERR(open_at(io, dir, &j, &err), &err);
		OK(snapshot(io, j));
	}
	/* those, the newest generation and the one before */
	CHECK_INT(count_files(dir), FL_JOURNAL_ASIDE_MAX + 2);
	CHECK(access(test_path(dir, "state.160.foreign"), F_OK) == 0);
	CHECK(access(test_path(dir, "state.10.foreign"), F_OK) < 0);
}

TEST(two_never_have_it_open)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_journal) struct fl_journal *first = NULL;
	FL_AUTO(fl_journal) struct fl_journal *second = NULL;
	const char *dir = test_dir();
	struct fl_err err = { 0 };
	struct fl_journal_open open = { .op.err = &err, .dir = dir, .name = "state" };

	GOT(io);
	OK_ERR(open_at(io, dir, &first, &err), &err);
	open.op.deadline = fl_now(io) + 20 * FL_NS_PER_MS;
	fl_journal_open(io, &open);
	REFUSED(test_op(io, &open.op), FL_E_TIMEOUT);
	open.op = (struct fl_op){ .err = &err, .done = test_op_done };
	fl_journal_open(io, &open);
	OK(test_pause(io, 2 * FL_NS_PER_MS));
	first = fl_journal_close(first);
	OK_ERR(test_op(io, &open.op), &err);
	second = open.journal;
}

static const struct {
	const char *says, *dir, *name;
	enum fl_code code;
} refused_rows[] = {
	{ "a name must not leave the directory", "", "../x", FL_E_INVALID },
	{ "a name is not empty", "", "", FL_E_INVALID },
	{ "a name is short", "", "0123456789012345678901234567890123456789012345678901234567890123456789",
	  FL_E_INVALID },
	{ "the directory's parent exists", "/no/such", "state", FL_E_NOTFOUND },
	{ "the directory is one", "/file", "state", FL_E_NOTFOUND },
};

TEST(what_cannot_be_opened_is_refused)
{
	EACH_ROW (row, refused_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		struct fl_err err = { 0 };
		struct fl_journal_open open = { .op.err = &err, .name = row->name };
		char path[300];

		GOT(io);
		CHECK(test_write_file(test_path(dir, "file"), ""));
		(void)snprintf(path, sizeof path, "%s%s", dir, row->dir);
		open.dir = path;
		fl_journal_open(io, &open);
		REFUSED(test_op(io, &open.op), row->code);
		CHECK(!open.journal);
		CHECK(err.text[0] != 0);
	}
}
