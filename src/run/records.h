/* records.h - objects that outlive the process: feeder and sink of a kind that is stored in the journal.
 *
 *     static struct fl_records *records;
 *     fl_loop_source(loop, &(struct fl_source){ &fl_health_kind, by, &fl_records_sink, &records }, err);
 *     records = fl_records_new(io, loop, &(struct fl_records_options){ .journal = journal,
 *                                                                      .kind = &fl_health_kind }, err);
 *
 * At startup the stored objects of the kind are fed. A write completes when it is on the disk. With `anyway`, it
 * completes at once: a failing disk delays nothing, and the missing records are written when the disk works again. An
 * object is stored as JSON by its table, under "<kind>/<namespace>/<name>"; the record's kind number is the version of
 * this format.
 *
 * An unreadable record (damaged, of another version, over a bound of its table) is not fed. It is reported and set
 * aside under "aside/<kind>/<namespace>/<name>", unchanged until another one of its name replaces it. Only the first
 * FL_RECORDS_ASIDE_MAX of a kind are kept; others are reported and removed.
 */
#pragma once
#include "io/journal.h"
#include "run/loop.h"

#define FL_RECORDS_ASIDE_MAX 8                       /* unreadable records of a kind, kept for a person to see */

struct fl_records;
struct fl_log;

struct fl_records_options {
	struct fl_journal *journal;   /* borrowed; several kinds may share one */
	const struct fl_kind *kind;
	struct fl_log *log;           /* NULL: silent */
	bool anyway;                  /* writes complete even if the disk fails: a fault must not wait for the disk */

	/* For records of what is about to be done: called when the record of a write is on the disk. It starts an
	 * operation, which it returns, whose `done` ends the write, and which is cancelled with it; its memory is the
	 * write's arena. NULL: there is nothing to do; with `err`: it failed. NULL itself: records only. */
	struct fl_op *(*act)(void *arg, struct fl_write *write, struct fl_err *err);
	void *arg;
};

/* Make it before the loop's first iteration, and free it before loop and journal. */
struct fl_records *fl_records_new(struct fl_io *io, struct fl_loop *loop, const struct fl_records_options *options,
				  struct fl_err *err) FL_MUSTUSE;
struct fl_records *fl_records_free(struct fl_records *records);    /* NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_records, struct fl_records *, fl_records_free);

extern const struct fl_sink fl_records_sink;       /* its self is a struct fl_records **, see above */

/* The number of records that were unreadable at startup; *ret: name and cause of the first one, unchanged if there is
 * none. For a condition. */
uint32_t fl_records_unread(const struct fl_records *records, struct fl_err *ret);

/* Whether completed writes are missing on the disk; *ret: the last known cause. Only with `anyway`. */
bool fl_records_behind(const struct fl_records *records, struct fl_err *ret);
