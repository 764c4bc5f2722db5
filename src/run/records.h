/* records.h - objects that outlive the process: a kind kept in the journal, as feeder and sink in one.
 *
 *     fl_records_new(io, loop, &(struct fl_records_options){ .journal = journal, .kind = &fl_health_kind }, err);
 *     source: { &fl_health_kind, by, &fl_records_sink, records }
 *
 * What the journal holds of the kind is fed at the start; each write is on the disk before it is done. An object is
 * kept as JSON by its table, under "<kind>/<namespace>/<name>". One that cannot be read any more (another version wrote
 * it) is left out, told by the kind's name and a reason, and removed; others stay.
 */
#pragma once
#include "io/journal.h"
#include "run/loop.h"

struct fl_records;
struct fl_log;

struct fl_records_options {
	struct fl_journal *journal;   /* borrowed; several kinds may share one */
	const struct fl_kind *kind;
	struct fl_log *log;           /* NULL: silent */
};

/* Its source may name it before it is there: give the sink's argument as the address of the pointer that gets it. */
struct fl_records *fl_records_new(struct fl_io *io, struct fl_loop *loop, const struct fl_records_options *options,
				  struct fl_err *err) FL_MUSTUSE;
struct fl_records *fl_records_free(struct fl_records *records);    /* NULL-safe, returns NULL */

extern const struct fl_sink fl_records_sink;       /* its self is a struct fl_records ** */
