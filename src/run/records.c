/* A kind in the journal. Reading is done once, at the start; a write is one append. */
#include "run/records.h"
#include "base/backoff.h"
#include "base/chain.h"
#include "base/log.h"
#include "json/bind_walk.h"
#include "run/loop_in.h"

/* Of the format in which objects are kept: counts up when it changes. */
enum { RECORD_FORMAT = 1 };

static const struct fl_str aside = FL_S_INIT("aside/");

/* A record that could not be read: put aside first, and only then taken away. */
struct unread {
	struct fl_records *records;
	struct fl_journal_append append;
	struct fl_err err;
	bool kept;                     /* the copy is on the disk, or there shall be none */
	struct unread *next, **from;
	struct fl_str key, copy;       /* copy: the key under which it is kept */
	char bytes[];
};

struct fl_records {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_records_options options;
	struct fl_feed *feed;
	struct unread *unread;         /* on their way */
	uint32_t unread_count;
	struct fl_err why;             /* of the first of them */

	bool behind;                   /* the disk lacks what is in the cache, or has what is not */
	struct fl_err late_why, late_err;
	struct fl_journal_append late; /* the next of it, on its way */
	struct fl_timer late_timer;    /* or waiting for the disk to come to its senses */
	uint64_t late_delay;
};

/* ---- keys ---- */

static struct fl_str key_of(const struct fl_kind *kind, const struct fl_ref *ref, struct fl_arena *arena)
{
	return fl_arena_printf(arena, "%s/%.*s/%.*s", kind->kind, FL_ARG(ref->space), FL_ARG(ref->name));
}

/* "<kind>/<namespace>/<name>"; a name may hold any byte, a namespace no '/'. */
static bool is_of_kind(const struct fl_kind *kind, struct fl_str key, struct fl_str *ret_space, struct fl_str *ret_name)
{
	struct fl_str prefix = fl_str(kind->kind), rest;
	int64_t slash;

	if (!fl_str_starts(key, prefix) || key.len <= prefix.len || key.p[prefix.len] != '/')
		return false;
	rest = fl_str_sub(key, prefix.len + 1, key.len);
	slash = fl_str_find(rest, '/');
	if (slash < 0)
		return false;
	*ret_space = fl_str_sub(rest, 0, (uint32_t)slash);
	*ret_name = fl_str_sub(rest, (uint32_t)slash + 1, rest.len);
	return true;
}

/* ---- the start ---- */

static void unread_free(struct unread *unread)
{
	fl_op_cancel(&unread->append.op);
	fl_chain_take(unread);
	fl_free(unread);
}

/* What stays where it is, as the disk refuses, is found again by the next process. */
static void moved(struct fl_op *op)
{
	struct unread *unread = fl_container(op, struct unread, append.op);
	struct fl_records *records = unread->records;

	if (op->result >= 0 && !unread->kept) {
		unread->kept = true;
		fl_journal_delete(records->options.journal, &unread->append, unread->key);
		return;
	}
	if (op->result < 0)
		fl_log(records->options.log, FL_WARN, "unreadable record left in place",
		       FL_KV_STR("key", unread->key), FL_KV_ERR(&unread->err));
	unread_free(unread);
}

static int set_aside(struct fl_records *records, const struct fl_journal_item *item, const struct fl_err *why,
		     struct fl_err *err)
{
	bool keep = records->unread_count < FL_RECORDS_ASIDE_MAX;
	struct unread *unread = fl_zalloc(sizeof *unread + aside.len + item->key.len);

	if (!unread)
		return fl_fail(err, FL_E_NOMEM, "no memory to set a record aside");
	memcpy(unread->bytes, aside.p, aside.len);
	memcpy(unread->bytes + aside.len, item->key.p, item->key.len);
	unread->copy = (struct fl_str){ unread->bytes, aside.len + item->key.len };
	unread->key = fl_str_sub(unread->copy, aside.len, item->key.len);
	unread->records = records;
	unread->append.op = (struct fl_op){ .done = moved, .err = &unread->err };
	fl_chain_add(&records->unread, unread);
	if (records->unread_count++ == 0)
		(void)fl_fail(&records->why, why->code, "%.*s: %s", FL_ARG(unread->key), why->text);
	fl_log(records->options.log, FL_ERROR, "unreadable record ignored",
	       FL_KV_STR("key", unread->key), FL_KV_BOOL("set_aside", keep), FL_KV_ERR(why));
	unread->kept = !keep;
	if (keep)
		fl_journal_put(records->options.journal, &unread->append, item->kind, unread->copy, item->value);
	else
		fl_journal_delete(records->options.journal, &unread->append, unread->key);
	return 0;
}

static struct fl_fault_list faults_of(const struct fl_bind *root, const void *object)
{
	struct fl_fault_list list = { NULL, 0 };

	for (uint32_t i = 0; i < root->len; i++)
		if (root->fields[i].of == fl_fault_bind && root->fields[i].local)
			memcpy(&list, (const char *)object + root->fields[i].offset, sizeof list);
	return list;
}

static int told_fault(const struct fl_fault_list *faults, struct fl_err *err)
{
	const struct fl_fault *fault = &faults->at[0];

	return fl_fail(err, FL_E_CORRUPT, "%.*s is %.*s and not %.*s", FL_ARG(fault->path), FL_ARG(fault->found),
		       FL_ARG(fault->want));
}

/* The object of a record. -FL_E_NOMEM says nothing of the record, all else does. */
static int read_record(const struct fl_kind *kind, const struct fl_journal_item *item, struct fl_arena *arena,
		       void *object, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	const struct fl_bind *root = kind->root();
	struct fl_fault_list faults;
	int r;

	if (item->kind != RECORD_FORMAT)
		return fl_fail(err, FL_E_UNSUPPORTED, "it is kept in format %d, this program knows %d", item->kind,
			       RECORD_FORMAT);
	r = fl_json_read(NULL, item->value, FL_JSON_STRICT, &doc, err);
	if (r == 0)
		r = fl_decode(root, yyjson_doc_get_root(doc), arena, 0, object, err);
	if (r < 0)
		return r;
	faults = faults_of(root, object);
	if (faults.len)
		return told_fault(&faults, err);
	r = fl_check(root, NULL, object, arena, &faults, err);
	return r > 0 ? told_fault(&faults, err) : r;
}

static int feed_one(struct fl_records *records, const struct fl_journal_item *item, struct fl_str space,
		    struct fl_str name, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_kind *kind = records->options.kind;
	void *object = fl_arena_get(&arena, kind->root()->size);
	struct fl_err why = { 0 };
	int r;

	if (!object)
		return fl_fail(err, FL_E_NOMEM, "no memory to read a record");
	r = read_record(kind, item, &arena, object, &why);
	if (r < 0 && r != -FL_E_NOMEM)
		return set_aside(records, item, &why, err);
	if (r < 0)
		return fl_fail_as(err, &why);
	run_set_names(records->feed, object, space, name);
	return fl_feed_put(records->feed, object, err);
}

static int feed_all(struct fl_records *records, struct fl_err *err)
{
	const struct fl_journal *journal = records->options.journal;
	struct fl_str space, name;

	fl_feed_begin(records->feed);
	for (const struct fl_journal_item *item = NULL; (item = fl_journal_next(journal, item));) {
		int r = is_of_kind(records->options.kind, item->key, &space, &name) ?
				feed_one(records, item, space, name, err) : 0;

		if (r < 0)
			return r;
	}
	fl_feed_synced(records->feed);
	return 0;
}

struct fl_records *fl_records_new(struct fl_io *io, struct fl_loop *loop, const struct fl_records_options *options,
				  struct fl_err *err)
{
	FL_AUTO(fl_records) struct fl_records *records = fl_zalloc(sizeof *records);

	if (!records)
		return fl_null(err, FL_E_NOMEM, "no memory for the records of %s", options->kind->kind);
	records->io = io;
	records->loop = loop;
	records->options = *options;
	records->feed = fl_loop_feed(loop, options->kind);
	if (feed_all(records, err) < 0)
		return NULL;
	return fl_steal(&records);
}

struct fl_records *fl_records_free(struct fl_records *records)
{
	if (!records)
		return NULL;
	while (records->unread)
		unread_free(records->unread);
	fl_timer_stop(records->io, &records->late_timer);
	fl_op_cancel(&records->late.op);
	fl_free(records);
	return NULL;
}

uint32_t fl_records_unread(const struct fl_records *records, struct fl_err *ret)
{
	if (records->unread_count)
		*ret = records->why;
	return records->unread_count;
}

/* ---- what the disk would not take: cache and journal are compared, and made alike, one record after the other ---- */

static void catch_up(struct fl_records *records);

static void late_again(struct fl_timer *timer)
{
	catch_up(fl_container(timer, struct fl_records, late_timer));
}

static void fall_behind(struct fl_records *records, const struct fl_err *why)
{
	if (!records->behind)
		fl_log(records->options.log, FL_ERROR, "records not written, will retry",
		       FL_KV_TEXT("kind", records->options.kind->kind), FL_KV_ERR(why));
	records->behind = true;
	records->late_why = *why;
	if (fl_timer_is_set(&records->late_timer) || fl_op_busy(&records->late.op))
		return;
	records->late_timer.fire = late_again;
	fl_timer_set(records->io, &records->late_timer,
		     fl_now(records->io) + fl_backoff(&records->late_delay, FL_RUN_RETRY_FIRST, FL_LOCAL_RETRY_LAST));
}

static void late_written(struct fl_op *op)
{
	struct fl_records *records = fl_container(op, struct fl_records, late.op);

	if (op->result < 0)
		fall_behind(records, &records->late_err);
	else
		catch_up(records);
}

/* An object that is not kept as it is now. 1: it is on its way; 0: there is none. */
static int put_late(struct fl_records *records, struct fl_view *view, struct fl_err *err)
{
	const struct fl_bind *root = records->options.kind->root();
	const void *object;

	fl_view_each (object, view, records->options.kind) {
		FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_JOURNAL_RECORD_MAX);
		const struct fl_meta_names *meta = run_meta(records->feed, object);
		struct fl_ref ref = { records->options.kind, meta->space, meta->name, FL_S("") };
		struct fl_str key = key_of(records->options.kind, &ref, view->arena);
		const struct fl_journal_item *item = key.p ? fl_journal_get(records->options.journal, key) : NULL;
		struct fl_jw w = FL_JW(&out);

		fl_encode(root, object, &w);
		if (!key.p || fl_buf_check(&out, "the record", err) < 0)
			return fl_fail(err, FL_E_NOMEM, "no memory to keep a record");
		if (item && fl_str_eq(item->value, fl_buf_view(&out)))
			continue;
		fl_journal_put(records->options.journal, &records->late, RECORD_FORMAT, key, fl_buf_view(&out));
		return 1;
	}
	return 0;
}

static int delete_late(struct fl_records *records, struct fl_view *view)
{
	const struct fl_kind *kind = records->options.kind;
	struct fl_str space, name;

	for (const struct fl_journal_item *item = NULL; (item = fl_journal_next(records->options.journal, item));) {
		if (!is_of_kind(kind, item->key, &space, &name) || fl_view_get(view, kind, space, name))
			continue;
		if (view->failed)
			break;
		fl_journal_delete(records->options.journal, &records->late, item->key);
		return 1;
	}
	return 0;
}

static void catch_up(struct fl_records *records)
{
	FL_VIEW(view, records->loop);
	struct fl_err err = { 0 };
	int r;

	records->late.op = (struct fl_op){ .done = late_written, .err = &records->late_err,
					   .deadline = fl_now(records->io) + FL_RUN_WRITE_TIMEOUT };
	r = put_late(records, &view, &err);
	if (r == 0)
		r = delete_late(records, &view);
	if (r == 0 && view.failed)
		r = fl_fail(&err, FL_E_NOMEM, "no memory to compare what is kept");
	if (r < 0) {
		fall_behind(records, &err);
	} else if (r == 0) {
		records->behind = false;
		records->late_delay = 0;
		fl_log(records->options.log, FL_INFO, "all records written again",
		       FL_KV_TEXT("kind", records->options.kind->kind));
	}
}

bool fl_records_behind(const struct fl_records *records, struct fl_err *ret)
{
	if (records->behind)
		*ret = records->late_why;
	return records->behind;
}

/* ---- the sink ---- */

struct writing {
	struct fl_records *records;
	struct fl_write *write;
	struct fl_journal_append append;
	struct fl_err err;
	struct fl_op *acts;            /* what the record announces is being done */
	bool asked;                    /* it is the disk that fails, if anything does */
};

/* True: the write goes on. */
static bool act(struct writing *writing)
{
	const struct fl_records *records = writing->records;

	if (!records || !records->options.act || writing->write->what != FL_WANT_OBJECT)
		return false;
	writing->err = (struct fl_err){ 0 };
	writing->acts = records->options.act(records->options.arg, writing->write, &writing->err);
	return writing->acts != NULL;
}

static void written(struct fl_op *op)
{
	struct writing *writing = fl_container(op, struct writing, append.op);
	bool late = op->result < 0 && writing->records && writing->asked && writing->records->options.anyway;

	if (late)
		fall_behind(writing->records, &writing->err);
	if (op->result >= 0 && act(writing))
		return;
	if ((op->result < 0 && !late) || (op->result >= 0 && writing->err.code))
		fl_write_failed(writing->write, &writing->err);
	else if (writing->write->what == FL_WANT_GONE)
		fl_write_gone(writing->write);
	else
		fl_write_done(writing->write, NULL);
}

/* The object as it becomes: the owner's part laid over what is there of others'. */
static int print(struct fl_records *records, struct fl_write *write, struct fl_buf *out, struct fl_err *err)
{
	const struct fl_bind *root = records->options.kind->root();
	struct fl_view view = fl_loop_view(records->loop, &write->arena);
	const void *have = fl_view_get(&view, write->ref.kind, write->ref.space, write->ref.name);
	void *nothing = fl_view_alloc(&view, 1, root->size), *object = fl_view_alloc(&view, 1, root->size);
	struct fl_jw w = FL_JW(out);
	int r;

	if (view.failed)
		return fl_fail(err, FL_E_NOMEM, "no memory to keep a record");
	r = fl_owned_lay(write->owner, write->object, have ? have : nothing, &write->arena, object, err);
	if (r < 0)
		return r;
	fl_encode(root, object, &w);
	return fl_buf_check(out, "the record", err);
}

static int begin_writing(struct fl_records *records, struct writing *writing, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_JOURNAL_RECORD_MAX);
	struct fl_write *write = writing->write;
	struct fl_str key = key_of(records->options.kind, &write->ref, &write->arena);
	int r;

	if (!key.p)
		return fl_fail(err, FL_E_NOMEM, "no memory to keep a record");
	if (!fl_write_may(write))
		return fl_fail(err, FL_E_DENIED, "another replica leads");
	if (write->what == FL_WANT_GONE) {
		writing->asked = true;
		fl_journal_delete(records->options.journal, &writing->append, key);
		return 0;
	}
	if (write->what != FL_WANT_OBJECT)
		return fl_fail(err, FL_E_UNSUPPORTED, "a record has no items that are shared with others");
	r = print(records, write, &out, err);
	writing->asked = r == 0;
	if (r == 0)
		fl_journal_put(records->options.journal, &writing->append, RECORD_FORMAT, key, fl_buf_view(&out));
	return r;
}

static void start_record(void *self, struct fl_write *write)
{
	struct fl_records *records = *(struct fl_records **)self;
	struct writing *writing = write->held;
	struct fl_io *io = write->loop->io;
	struct fl_err err = { 0 };

	writing->records = records;
	writing->write = write;
	writing->asked = false;
	writing->acts = NULL;
	writing->err = (struct fl_err){ 0 };
	writing->append.op = (struct fl_op){ .done = written, .err = &writing->err,
					     .deadline = fl_now(io) + FL_RUN_WRITE_TIMEOUT };
	if (!records)
		(void)fl_fail(&err, FL_E_RETRY, "the journal is not open");
	else if (begin_writing(records, writing, &err) == 0)
		return;
	fl_op_refuse(&writing->append.op, io, err.code, "%s", err.text);
}

static void cancel_record(void *self, struct fl_write *write)
{
	struct writing *writing = write->held;

	(void)self;
	fl_op_cancel(&writing->append.op);
	if (writing->acts)
		fl_op_cancel(writing->acts);
}

const struct fl_sink fl_records_sink = { .start = start_record, .cancel = cancel_record, .room = sizeof(struct writing),
				       .retry_last = FL_LOCAL_RETRY_LAST };
