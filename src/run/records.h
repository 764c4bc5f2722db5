/* records.h - objects that outlive the process: a kind kept in the journal, as feeder and sink in one.
 *
 *     static struct fl_records *records;
 *     fl_loop_source(loop, &(struct fl_source){ &fl_health_kind, by, &fl_records_sink, &records }, err);
 *     records = fl_records_new(io, loop, &(struct fl_records_options){ .journal = journal,
 *                                                                      .kind = &fl_health_kind }, err);
 *
 * What the journal holds of the kind is fed at the start; each write is on the disk before it is done, unless what is
 * wanted counts in any case (`anyway`): then a disk that refuses holds nothing up, and gets what it lacks when it can.
 * An object is kept as JSON by its table, under "<kind>/<namespace>/<name>"; the record's number of its kind is that of
 * this format.
 *
 * One that cannot be read any more (damaged, of another version, over a bound of its table) is not fed: it is set aside
 * under "aside/<kind>/<namespace>/<name>", where it stays as it was until it is replaced by another of its name, and
 * told. Only the first FL_RECORDS_ASIDE_MAX of a kind are kept so; others are told and removed.
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
	bool anyway;                  /* what a disk refuses is so all the same: bad news must not wait for it */
};

/* Make it before the loop turns and free it before loop and journal. */
struct fl_records *fl_records_new(struct fl_io *io, struct fl_loop *loop, const struct fl_records_options *options,
				  struct fl_err *err) FL_MUSTUSE;
struct fl_records *fl_records_free(struct fl_records *records);    /* NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_records, struct fl_records *, fl_records_free);

extern const struct fl_sink fl_records_sink;       /* its self is a struct fl_records **, see above */

/* How many could not be read at the start; of the first one, which and why (*ret, untouched when there is none). For a
 * condition. */
uint32_t fl_records_unread(const struct fl_records *records, struct fl_err *ret);

/* Does the disk lack what counts? Why, then (*ret); what it was last known to refuse for. Only with `anyway`. */
bool fl_records_behind(const struct fl_records *records, struct fl_err *ret);
