/* journal.h - a small set of records that outlives the process: what was acknowledged is there after any crash.
 *
 * A record is a key, a value and a kind of the caller's. Putting a key again replaces its record; the live set (all
 * keys with their last values) is in memory too, so that nothing is ever read back but at the start. On the disk it is
 * an append log (io/journal_format.h) in files NAME.<generation> of one directory; when the log has grown, and at every
 * open, the live set is written as a new generation, and the one before is kept.
 *
 * What a crash tears off was not acknowledged and is cut. A file that is damaged, empty or of another version is
 * renamed aside (the newest FL_JOURNAL_ASIDE_MAX of such are kept), the generation before it is used where that is
 * better, and the journal says so in a fact: opening never fails for what is in the files.
 *
 * Appends that come while the disk is busy share its next sync. One that fails has changed nothing, in the live set nor
 * (the failure's words say if the disk refused even that) after a restart. The next one tries again, on a new file if
 * need be, so a full or read-only disk heals by itself.
 */
#pragma once
#include "io/io.h"
#include "io/journal_format.h"

struct fl_journal;

/* What was found at the start that should not be so. */
struct fl_journal_fact {
	enum fl_journal_state state;
	char text[FL_ERR_TEXT];      /* which file, why, what was done, and what a person should do */
};

/* result: how many records live. Waits (until the deadline) for another process that has the journal open. */
struct fl_journal_open {
	struct fl_op op;
	const char *dir;             /* borrowed until the start returns; made, mode 0700, in a parent that exists */
	const char *name;            /* borrowed too: "state"; no '/', at most FL_JOURNAL_NAME_MAX bytes */
	struct fl_journal *journal;  /* in done() after success: the caller's, to be closed */
};
void fl_journal_open(struct fl_io *io, struct fl_journal_open *open);

/* Cancels the appends that are pending; what is being written still may reach the disk. NULL-safe, returns NULL. */
struct fl_journal *fl_journal_close(struct fl_journal *journal);
static inline void fl_journal_auto_(struct fl_journal **journal)
{
	fl_journal_close(*journal);
}

const struct fl_journal_fact *fl_journal_facts(const struct fl_journal *journal, unsigned *ret_count);

/* ---- the live set ---- */

struct fl_journal_item {
	uint64_t seq;                /* number of the append that put it; rises for ever */
	uint8_t kind;
	struct fl_str key, value;
};

/* NULL: no such key. Valid until a later append of the same key is done, or the close. */
const struct fl_journal_item *fl_journal_get(const struct fl_journal *journal, struct fl_str key);

/* In the order in which they were put last: start with NULL, NULL at the end. */
const struct fl_journal_item *fl_journal_next(const struct fl_journal *journal, const struct fl_journal_item *after);

uint32_t fl_journal_count(const struct fl_journal *journal);

/* ---- changing it ---- */

/* result: the record's number, > 0; it is on the disk, and in the live set. Key and value are copied by the start.
 * FL_E_TOOBIG: over a limit of the journal. FL_E_RETRY: too much waits for the disk. After a time-out or a cancel it
 * may or may not take effect: what the live set says later is what is so. */
struct fl_journal_append {
	struct fl_op op;
	struct fl_journal_record_ *record;   /* the journal's */
};
void fl_journal_put(struct fl_journal *journal, struct fl_journal_append *append, uint8_t kind, struct fl_str key,
		    struct fl_str value);
void fl_journal_delete(struct fl_journal *journal, struct fl_journal_append *append, struct fl_str key);

/* result: the number of a new generation, which holds the live set and nothing else. Comes by itself when it is
 * time. */
void fl_journal_snapshot(struct fl_journal *journal, struct fl_journal_append *append);
