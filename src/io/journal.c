#include "io/journal.h"
#include "base/backoff.h"
#include "base/hmap.h"
#include "io/journal_disk.h"
#include "io/loop.h"
#include <errno.h>
#include <stdio.h>

/* Retries of the lock: soon at first, so that a hand-over takes a few ms; then rarely, so that a standby costs
 * nothing. */
#define FL_LOCK_RETRY_FIRST (5 * FL_NS_PER_MS)
#define FL_LOCK_RETRY_LAST (100 * FL_NS_PER_MS)

/* One append: waiting, being written, and then a member of the live set. */
struct fl_journal_record_ {
	struct fl_journal_item item;
	enum fl_journal_what what;               /* MARK: a snapshot */
	struct fl_journal_append *append;        /* NULL: cancelled or late */
	struct fl_journal_record_ *queued;       /* next in the queue or the batch */
	struct fl_journal_record_ *next, *prev;  /* in the live set */
	char bytes[];
};

struct fl_journal {
	struct fl_io *io;
	struct fl_journal_disk *disk;
	struct fl_op op;                         /* the job in flight */
	struct fl_err err;                       /* its words */
	struct fl_journal_open *opening;         /* NULL: open */
	struct fl_timer retry;                   /* of the lock; then the next slice of what is replayed */
	uint64_t delay;
	size_t replayed;                         /* bytes of the file */

	struct fl_hmap live;
	struct fl_journal_record_ *first, *last; /* the live set in the order of numbers */
	size_t live_bytes;
	uint64_t seq;                            /* the last acknowledged one */

	struct fl_journal_record_ *queue, **queue_last;
	size_t queue_bytes;
	uint32_t queue_count;
	struct fl_journal_record_ *batch;        /* being written, or failed and not yet reported */
	bool batch_failed;
	struct fl_err batch_err;
	uint64_t rotate_at;                      /* size of the file at which the next try is due */

	struct fl_journal_fact facts[FL_JOURNAL_FILES];   /* found at the open */
	unsigned fact_count;
};

static void step_done(struct fl_op *op);
static void go_on(struct fl_journal *j);

/* ---- the live set ---- */

static struct fl_str key_of(const void *record)
{
	return ((const struct fl_journal_record_ *)record)->item.key;
}

static size_t size_of(const struct fl_journal_record_ *record)
{
	return fl_journal_size(record->item.key.len, record->item.value.len);
}

static void live_unlink(struct fl_journal *j, struct fl_journal_record_ *record)
{
	*(record->prev ? &record->prev->next : &j->first) = record->next;
	*(record->next ? &record->next->prev : &j->last) = record->prev;
	j->live_bytes -= size_of(record);
	fl_free(record);
}

/* Cannot fail: room in the map was reserved when the append began. */
static void live_put(struct fl_journal *j, struct fl_journal_record_ *record)
{
	void *old = NULL;

	if (fl_hmap_put(&j->live, record, &old) < 0)
		__builtin_trap();
	if (old)
		live_unlink(j, old);
	record->next = NULL;
	record->prev = j->last;
	*(j->last ? &j->last->next : &j->first) = record;
	j->last = record;
	j->live_bytes += size_of(record);
}

static void live_delete(struct fl_journal *j, struct fl_str key)
{
	struct fl_journal_record_ *old = fl_hmap_del(&j->live, key);

	if (old)
		live_unlink(j, old);
}

static void live_clear(struct fl_journal *j)
{
	for (struct fl_journal_record_ *next; j->first; j->first = next) {
		next = j->first->next;
		fl_free(j->first);
	}
	j->last = NULL;
	j->live_bytes = 0;
	fl_hmap_free(&j->live);
}

static struct fl_journal_record_ *record_new(enum fl_journal_what what, uint8_t kind, struct fl_str key,
					     struct fl_str value)
{
	struct fl_journal_record_ *record = fl_alloc(sizeof *record + key.len + value.len);

	if (!record)
		return NULL;
	*record = (struct fl_journal_record_){ .what = what };
	record->item = (struct fl_journal_item){ .kind = kind, .key = { record->bytes, key.len },
						 .value = { record->bytes + key.len, value.len } };
	if (key.len)
		memcpy(record->bytes, key.p, key.len);
	if (value.len)
		memcpy(record->bytes + key.len, value.p, value.len);
	return record;
}

const struct fl_journal_item *fl_journal_get(const struct fl_journal *j, struct fl_str key)
{
	const struct fl_journal_record_ *record = fl_hmap_get(&j->live, key);

	return record ? &record->item : NULL;
}

const struct fl_journal_item *fl_journal_next(const struct fl_journal *j, const struct fl_journal_item *after)
{
	const struct fl_journal_record_ *record = j->first;

	if (after)
		record = fl_container(after, const struct fl_journal_record_, item)->next;
	return record ? &record->item : NULL;
}

uint32_t fl_journal_count(const struct fl_journal *j)
{
	return j->live.len;
}

const struct fl_journal_fact *fl_journal_facts(const struct fl_journal *j, unsigned *ret_count)
{
	*ret_count = j->fact_count;
	return j->facts;
}

/* ---- the worker's half ---- */

static void disk_free(struct fl_journal_disk *disk)
{
	fl_close(disk->io, disk->fd);
	fl_close(disk->io, disk->dir);
	fl_buf_free(&disk->out);
	fl_free(disk->in);
	fl_free(disk->dir_path);
	fl_free(disk->name);
	fl_free(disk);
}

static void job_over(struct fl_job *job)
{
	struct fl_journal_disk *disk = fl_container(job, struct fl_journal_disk, job);

	disk->in_flight = false;
	if (disk->orphan)
		disk_free(disk);
}

static void start_step(struct fl_journal *j, enum fl_journal_step step)
{
	struct fl_journal_disk *disk = j->disk;

	disk->step = step;
	disk->in_flight = true;
	disk->job = (struct fl_job){ .run = fl_journal_disk_run, .release = job_over };
	j->op = (struct fl_op){ .done = step_done, .err = &j->err };
	fl_job_start(j->io, &j->op, &disk->job, FL_LANE_JOURNAL);
}

static struct fl_journal_disk *disk_new(const struct fl_journal_open *open, struct fl_io *io)
{
	struct fl_journal_disk *disk = fl_zalloc(sizeof *disk);

	if (!disk)
		return NULL;
	disk->io = io;
	disk->dir = disk->fd = -1;
	disk->out = FL_BUF(FL_JOURNAL_FILE_MAX);
	disk->dir_path = fl_strdup(fl_str(open->dir));
	disk->name = fl_strdup(fl_str(open->name));
	if (!disk->dir_path || !disk->name) {
		disk_free(disk);
		return NULL;
	}
	return disk;
}

static void free_records(struct fl_journal_record_ *record)
{
	for (struct fl_journal_record_ *next; record; record = next) {
		next = record->queued;
		if (record->append)
			fl_op_cancel(&record->append->op);
		fl_free(record);
	}
}

struct fl_journal *fl_journal_close(struct fl_journal *j)
{
	struct fl_journal_disk *disk;

	if (!j)
		return NULL;
	disk = j->disk;
	disk->orphan = true;
	if (disk->in_flight)
		fl_op_cancel(&j->op);   /* may end the job at once, and with it the disk */
	else
		disk_free(disk);
	fl_op_cancel(&j->op);
	fl_timer_stop(j->io, &j->retry);
	free_records(j->batch);
	free_records(j->queue);
	live_clear(j);
	fl_free(j);
	return NULL;
}

/* ---- rotation ---- */

static int rotate(struct fl_journal *j)
{
	struct fl_buf *out = &j->disk->out;
	uint64_t generation = j->disk->highest + 1;

	fl_buf_clear(out);
	fl_journal_write_header(out, generation, j->seq + 1);
	for (const struct fl_journal_record_ *record = j->first; record; record = record->next)
		fl_journal_write_record(out, generation,
					&(struct fl_journal_record){ .what = FL_JOURNAL_PUT, .kind = record->item.kind,
								     .seq = record->item.seq, .key = record->item.key,
								     .value = record->item.value });
	fl_journal_write_record(out, generation,
				&(struct fl_journal_record){ .what = FL_JOURNAL_MARK, .seq = j->seq + 1 });
	if (fl_buf_check(out, "new generation", &j->err) < 0)
		return -(int)j->err.code;
	start_step(j, FL_JOURNAL_ROTATE);
	return 0;
}

/* The mark has a number of its own; what follows counts on from it. */
static void rotated(struct fl_journal *j)
{
	j->seq++;
	j->rotate_at = j->disk->size + FL_JOURNAL_LOG_MAX;
	if (j->rotate_at < 2 * j->live_bytes)
		j->rotate_at = 2 * j->live_bytes;
}

/* ---- opening ---- */

static void opened(struct fl_journal *j, int64_t result)
{
	struct fl_journal_open *open = j->opening;

	j->opening = NULL;
	if (result < 0) {
		if (open->op.err)
			*open->op.err = j->err;
		(void)fl_wrap(open->op.err, "journal %s/%s", j->disk->dir_path, j->disk->name);
		fl_journal_close(j);
		open->journal = NULL;
	}
	fl_op_end(&open->op, result);
}

static void open_dropped(struct fl_op *op)
{
	struct fl_journal_open *open = fl_container(op, struct fl_journal_open, op);

	fl_journal_close(open->journal);
	open->journal = NULL;
}

static void add_fact(struct fl_journal *j, enum fl_journal_state state, const struct fl_err *text)
{
	struct fl_journal_fact *fact = &j->facts[j->fact_count];

	fact->state = state;
	memcpy(fact->text, text->text, sizeof fact->text);
	j->fact_count++;
}

static void say_why(const struct fl_journal_disk *disk, char why[static 80])
{
	const struct fl_journal_verdict *v = &disk->verdict;

	if (v->state == FL_JOURNAL_DAMAGED)
		(void)snprintf(why, 80, "damaged at byte %zu", v->good);
	else if (v->state == FL_JOURNAL_FOREIGN && v->version)
		(void)snprintf(why, 80, "of version %u (this program reads %d)", v->version, FL_JOURNAL_VERSION);
	else if (v->state == FL_JOURNAL_FOREIGN)
		(void)snprintf(why, 80, "not a journal");
	else if (disk->read_errno)
		(void)snprintf(why, 80, "not readable (%.50s)", strerrordesc_np(disk->read_errno));
	else
		(void)snprintf(why, 80, "%s", v->state == FL_JOURNAL_EMPTY ? "empty" : "too large for a journal");
}

/* Judge the file that was read, and add a fact unless it is whole. */
static void note(struct fl_journal *j, const char *used)
{
	struct fl_journal_disk *disk = j->disk;
	const struct fl_journal_verdict *v = &disk->verdict;
	struct fl_journal_file *file = &disk->files[disk->at];
	char name[FL_JOURNAL_PATH], why[80];
	struct fl_err text = { 0 };

	file->bad = v->state == FL_JOURNAL_TORN ? FL_JOURNAL_WHOLE : v->state;
	if (v->state == FL_JOURNAL_WHOLE)
		return;
	fl_journal_file_name(disk, file->generation, "", name);
	say_why(disk, why);
	if (v->state == FL_JOURNAL_TORN)
		(void)fl_fail(&text, FL_E_CORRUPT,
			      "%s ends with a torn write at byte %zu of %llu, as after a crash: cut it; no "
			      "acknowledged record is lost",
			      name, v->good, (unsigned long long)file->size);
	else
		(void)fl_fail(&text, FL_E_CORRUPT, "%s is %s: %s, kept the file as %s.%s: check the disk", name, why,
			      used, name, fl_name(&fl_journal_state_names, (int)v->state));
	add_fact(j, v->state, &text);
}

/* Replay one slice of the file; 1: there is more. */
static int replay(struct fl_journal *j)
{
	size_t until = j->replayed + FL_JOURNAL_SLICE;
	struct fl_journal_disk *disk = j->disk;
	struct fl_journal_record got;

	while (fl_journal_replay(&disk->verdict, disk->in, &j->replayed, &got)) {
		struct fl_journal_record_ *record;

		if (got.what == FL_JOURNAL_DELETE) {
			live_delete(j, got.key);
		} else {
			record = fl_hmap_reserve(&j->live, 1) < 0 ?
					 NULL :
					 record_new(got.what, got.kind, got.key, got.value);
			if (!record)
				return fl_fail(&j->err, FL_E_NOMEM, "no memory for the records");
			record->item.seq = got.seq;
			live_put(j, record);
		}
		if (j->replayed >= until)
			return 1;
	}
	j->seq = disk->verdict.seq;
	return 0;
}

/* The records read so far are the live set. The first append writes it as a new generation: what was read may be in the
 * kernel's cache only, and a cut tail must not be found again. */
static void all_read(struct fl_journal *j)
{
	j->disk->sealed = true;
	opened(j, fl_journal_count(j));
}

/* Read the next candidate, if there is one left. */
static int read_next(struct fl_journal *j)
{
	struct fl_journal_disk *disk = j->disk;

	for (; disk->at < disk->file_count; disk->at++) {
		const struct fl_journal_file *file = &disk->files[disk->at];

		fl_free(fl_steal(&disk->in));
		if (file->size <= FL_JOURNAL_FILE_MAX) {
			disk->in = fl_alloc((size_t)file->size);
			if (!disk->in)
				return fl_fail(&j->err, FL_E_NOMEM, "no memory for a file");
			start_step(j, FL_JOURNAL_READ);
			return 0;
		}
		disk->verdict = (struct fl_journal_verdict){ .state = FL_JOURNAL_UNREADABLE };
		disk->read_errno = 0;
		note(j, "did not read it");
	}
	all_read(j);
	return 0;
}

static void replay_on(struct fl_timer *timer);

static int replay_all(struct fl_journal *j)
{
	int r = replay(j);

	if (r > 0) {
		j->retry.fire = replay_on;
		fl_timer_set(j->io, &j->retry, fl_now(j->io));
		return 0;
	}
	if (r < 0)
		return r;
	fl_free(fl_steal(&j->disk->in));
	all_read(j);
	return 0;
}

static void replay_on(struct fl_timer *timer)
{
	struct fl_journal *j = fl_container(timer, struct fl_journal, retry);
	int r;

	fl_io_name(j->io, "journal");
	r = replay_all(j);
	if (r < 0)
		opened(j, r);
}

static int file_read(struct fl_journal *j)
{
	struct fl_journal_disk *disk = j->disk;

	if (!disk->verdict.usable) {
		bool another = disk->at + 1 < disk->file_count;

		note(j, another ? "read the one before it" : "could use nothing of it");
		disk->at++;
		return read_next(j);
	}
	note(j, "used the records before that byte, lost those after it");
	return replay_all(j);
}

static void look_again(struct fl_timer *timer)
{
	start_step(fl_container(timer, struct fl_journal, retry), FL_JOURNAL_LOOK);
}

static void open_step_done(struct fl_journal *j)
{
	struct fl_journal_disk *disk = j->disk;
	int64_t r = j->op.result;

	switch (disk->step) {
	case FL_JOURNAL_LOOK:
		if (r < 0 && disk->dir >= 0 && disk->job.result == -EWOULDBLOCK) {
			fl_timer_set(j->io, &j->retry,
				     fl_now(j->io) + fl_backoff(&j->delay, FL_LOCK_RETRY_FIRST, FL_LOCK_RETRY_LAST));
			return;
		}
		r = r < 0 ? r : read_next(j);
		break;
	case FL_JOURNAL_READ:
		r = r < 0 ? r : file_read(j);
		break;
	case FL_JOURNAL_ROTATE:
	case FL_JOURNAL_APPEND:
		return;
	}
	if (r < 0)
		opened(j, r);
}

static bool good_name(const char *name)
{
	return *name && strlen(name) <= FL_JOURNAL_NAME_MAX && !strchr(name, '/');
}

void fl_journal_open(struct fl_io *io, struct fl_journal_open *open)
{
	struct fl_journal *j;
	uint64_t seed[2] = { 0 };

	open->journal = NULL;
	fl_op_begin(&open->op, io, open_dropped);
	if (!good_name(open->name)) {
		fl_op_fail(&open->op, FL_E_INVALID, "journal '%s': a name has 1 to %d bytes and no '/'", open->name,
			   FL_JOURNAL_NAME_MAX);
		return;
	}
	j = fl_random(io, seed, sizeof seed, NULL) < 0 ? NULL : fl_zalloc(sizeof *j);
	if (j)
		j->disk = disk_new(open, io);
	if (!j || !j->disk) {
		fl_free(j);
		fl_op_fail(&open->op, FL_E_NOMEM, "journal %s", open->name);
		return;
	}
	j->io = io;
	j->opening = open;
	j->queue_last = &j->queue;
	j->retry.fire = look_again;
	fl_hmap_init(&j->live, key_of, seed);
	open->journal = j;
	start_step(j, FL_JOURNAL_LOOK);
}

/* ---- appending ---- */

static void end_record(struct fl_journal_record_ *record, int64_t result, const struct fl_err *err)
{
	struct fl_journal_append *append = record->append;

	record->append = NULL;
	if (!append)
		return;
	append->record = NULL;
	if (result < 0 && append->op.err)
		*append->op.err = *err;
	fl_op_end(&append->op, result);
}

static void fail_all(struct fl_journal_record_ *record, const struct fl_err *err)
{
	for (struct fl_journal_record_ *next; record; record = next) {
		next = record->queued;
		end_record(record, -(int64_t)err->code, err);
		fl_free(record);
	}
}

static struct fl_journal_record_ *take_queue(struct fl_journal *j)
{
	struct fl_journal_record_ *all = j->queue;

	j->queue = NULL;
	j->queue_last = &j->queue;
	j->queue_bytes = j->queue_count = 0;
	return all;
}

/* Move what can go in one write from the queue to the batch: up to a requested snapshot. */
static void take_batch(struct fl_journal *j)
{
	struct fl_journal_record_ **last = &j->batch;

	while (j->queue && (j->queue->what != FL_JOURNAL_MARK || !j->batch)) {
		struct fl_journal_record_ *record = j->queue;

		j->queue = record->queued;
		if (!j->queue)
			j->queue_last = &j->queue;
		j->queue_bytes -= size_of(record);
		j->queue_count--;
		record->queued = NULL;
		*last = record;
		last = &record->queued;
		if (record->what == FL_JOURNAL_MARK)
			return;
	}
}

static int write_batch(struct fl_journal *j)
{
	struct fl_buf *out = &j->disk->out;
	uint32_t count = 0;

	fl_buf_clear(out);
	for (struct fl_journal_record_ *record = j->batch; record; record = record->queued, count++) {
		record->item.seq = j->seq + 1 + count;
		fl_journal_write_record(out, j->disk->files[0].generation,
					&(struct fl_journal_record){ .what = record->what, .kind = record->item.kind,
								     .seq = record->item.seq, .batch = count,
								     .key = record->item.key,
								     .value = record->item.value });
	}
	if (fl_buf_check(out, "append", &j->err) < 0)
		return -(int)j->err.code;
	start_step(j, FL_JOURNAL_APPEND);
	return 0;
}

static void commit_batch(struct fl_journal *j)
{
	struct fl_journal_record_ *record = j->batch;

	j->batch = NULL;
	for (struct fl_journal_record_ *next; record; record = next) {
		next = record->queued;
		j->seq = record->item.seq;
		end_record(record, (int64_t)record->item.seq, NULL);
		if (record->what == FL_JOURNAL_PUT) {
			live_put(j, record);
		} else {
			live_delete(j, record->item.key);
			fl_free(record);
		}
	}
}

static void tell_batch(struct fl_journal *j)
{
	struct fl_journal_record_ *all = j->batch;

	j->batch = NULL;
	j->batch_failed = false;
	fail_all(all, &j->batch_err);
}

static void batch_fails(struct fl_journal *j)
{
	(void)fl_wrap(&j->err, "journal %s", j->disk->name);
	j->batch_err = j->err;
	j->batch_failed = true;
}

static bool is_full(const struct fl_journal *j)
{
	return j->disk->size + j->queue_bytes > FL_JOURNAL_FILE_MAX;
}

static void rotate_failed(struct fl_journal *j)
{
	struct fl_journal_record_ *batch = j->batch;
	bool was_append = j->batch_failed;

	(void)fl_wrap(&j->err, "journal %s: new file", j->disk->name);
	if (was_append)
		(void)fl_wrap(&j->batch_err, "may or may not be there after a restart");
	else
		j->batch_err = j->err;
	j->rotate_at = j->disk->size + FL_JOURNAL_LOG_MAX;
	if (batch)
		tell_batch(j);
	/* Nothing can be appended: all that wait fail, and the next append tries again. */
	if (j->disk->sealed || is_full(j))
		fail_all(take_queue(j), &j->err);
}

/* The file is in doubt: only a new generation makes certain that the failed records are not in it. */
static void append_failed(struct fl_journal *j)
{
	batch_fails(j);
	if (!j->disk->sealed)
		tell_batch(j);
	else if (rotate(j) < 0)
		rotate_failed(j);
}

static void step_done(struct fl_op *op)
{
	struct fl_journal *j = fl_container(op, struct fl_journal, op);

	fl_io_name(j->io, "journal");
	if (j->opening) {
		open_step_done(j);
		return;
	}
	if (j->disk->step == FL_JOURNAL_APPEND) {
		if (op->result < 0)
			append_failed(j);
		else
			commit_batch(j);
	} else if (op->result < 0) {
		rotate_failed(j);
	} else {
		rotated(j);
		if (j->batch_failed) {
			tell_batch(j);
		} else if (j->batch) {
			end_record(j->batch, (int64_t)j->disk->files[0].generation, NULL);
			fl_free(fl_steal(&j->batch));
		}
	}
	go_on(j);
}

/* Nothing is being written: what is next? */
static void go_on(struct fl_journal *j)
{
	struct fl_journal_disk *disk = j->disk;

	while (!fl_op_busy(&j->op)) {
		bool due = disk->sealed || disk->size >= j->rotate_at;
		bool snapshot = j->queue && j->queue->what == FL_JOURNAL_MARK;   /* is a new generation itself */

		if (j->queue ? !snapshot && (due || is_full(j)) : due && !disk->sealed) {
			if (rotate(j) < 0)
				rotate_failed(j);
			continue;
		}
		take_batch(j);
		if (!j->batch)
			return;
		if (j->batch->what == FL_JOURNAL_MARK ? rotate(j) == 0 : write_batch(j) == 0)
			return;
		batch_fails(j);
		tell_batch(j);
	}
}

static void append_dropped(struct fl_op *op)
{
	struct fl_journal_append *append = fl_container(op, struct fl_journal_append, op);

	if (append->record)
		append->record->append = NULL;
	append->record = NULL;
}

static int check(const struct fl_journal *j, enum fl_journal_what what, struct fl_str key, struct fl_str value,
		 struct fl_err *err)
{
	size_t size = fl_journal_size(key.len, value.len);

	if (key.len == 0 && what != FL_JOURNAL_MARK)
		return fl_fail(err, FL_E_INVALID, "journal %s: a record needs a key", j->disk->name);
	if (key.len > UINT16_MAX || (size_t)key.len + value.len > FL_JOURNAL_RECORD_MAX)
		return fl_fail(err, FL_E_TOOBIG, "journal %s: a record of %zu bytes; at most %u", j->disk->name,
			       (size_t)key.len + value.len, (unsigned)FL_JOURNAL_RECORD_MAX);
	if (what == FL_JOURNAL_PUT && j->live_bytes + j->queue_bytes + size > FL_JOURNAL_LIVE_MAX)
		return fl_fail(err, FL_E_TOOBIG,
			       "journal %s holds %u records in %zu bytes; at most %u bytes: delete some",
			       j->disk->name, j->live.len, j->live_bytes, (unsigned)FL_JOURNAL_LIVE_MAX);
	if (j->queue_bytes + size > FL_JOURNAL_QUEUE_MAX)
		return fl_fail(err, FL_E_RETRY, "journal %s: %u records wait for the disk; try again later",
			       j->disk->name,
			       j->queue_count);
	return 0;
}

static void begin_append(struct fl_journal *j, struct fl_journal_append *append, enum fl_journal_what what,
			 uint8_t kind,
			 struct fl_str key, struct fl_str value)
{
	struct fl_journal_record_ *record;
	struct fl_err err = { 0 };
	uint32_t batch = 0;

	append->record = NULL;
	fl_op_begin(&append->op, j->io, append_dropped);
	if (check(j, what, key, value, &err) < 0) {
		fl_op_fail(&append->op, err.code, "%s", err.text);
		return;
	}
	for (const struct fl_journal_record_ *r = j->batch; r; r = r->queued)
		batch++;
	record = fl_hmap_reserve(&j->live, batch + j->queue_count + 1) < 0 ? NULL : record_new(what, kind, key, value);
	if (!record) {
		fl_op_fail(&append->op, FL_E_NOMEM, "journal %s", j->disk->name);
		return;
	}
	record->append = append;
	append->record = record;
	*j->queue_last = record;
	j->queue_last = &record->queued;
	j->queue_bytes += size_of(record);
	j->queue_count++;
	go_on(j);
}

void fl_journal_put(struct fl_journal *j, struct fl_journal_append *append, uint8_t kind, struct fl_str key,
		    struct fl_str value)
{
	begin_append(j, append, FL_JOURNAL_PUT, kind, key, value);
}

void fl_journal_delete(struct fl_journal *j, struct fl_journal_append *append, struct fl_str key)
{
	begin_append(j, append, FL_JOURNAL_DELETE, 0, key, FL_S(""));
}

void fl_journal_snapshot(struct fl_journal *j, struct fl_journal_append *append)
{
	begin_append(j, append, FL_JOURNAL_MARK, 0, FL_S(""), FL_S(""));
}
