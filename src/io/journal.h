/* journal.h - a small set of records that outlives the process: acknowledged records survive any crash.
 *
 * A record is a key, a value and a kind of the caller's. Putting a key again replaces its record. The live set (all
 * keys with their last values) is in memory too; files are read only at the open. On the disk it is an append log
 * (io/journal_format.h) in files NAME.<generation> of one directory. When the log has grown, and at the first append
 * after an open, the live set is written as a new generation; the previous one is kept.
 *
 * A write torn by a crash was not acknowledged and is cut. A file that is damaged, empty or of another version is
 * renamed aside (the newest FL_JOURNAL_ASIDE_MAX of them are kept). The generation before it is used where it holds
 * more. The journal reports this as a fact: opening never fails because of the files' content.
 *
 * Appends that come while the disk is busy share its next sync. A failed append has changed nothing in the live set,
 * and nothing after a restart unless its error says so. The next append tries again, on a new file if need be: the
 * journal recovers from a full or read-only disk by itself.
 */
#pragma once
#include "io/io.h"
#include "io/journal_format.h"

/* Live records: a node holds some hundreds, each of some hundred bytes. Ten times that is a bug, and is refused. */
#define FL_JOURNAL_LIVE_MAX (1 * FL_MIB)
/* The log is rewritten as a snapshot when it is this long and twice as long as the live set. Read in 1 ms. */
#define FL_JOURNAL_LOG_MAX (256 * FL_KIB)
/* Bytes of a file replayed in one turn of the loop: a third of a millisecond. The longest file takes 32 turns. */
#define FL_JOURNAL_SLICE (128 * FL_KIB)
/* Bytes that wait for the disk: a hung disk must not fill the memory. */
#define FL_JOURNAL_QUEUE_MAX (256 * FL_KIB)
/* Bytes of a journal's name: file names must fit into small buffers. */
#define FL_JOURNAL_NAME_MAX 64

struct fl_journal;

/* A fault found at the open. */
struct fl_journal_fact {
	enum fl_journal_state state;
	char text[FL_ERR_TEXT];      /* which file, why, what was done, what to do */
};

/* result: how many records live. Waits (until the deadline) for another process that has the journal open, and for no
 * sync: what is found may be in the kernel's cache only, until the first append or fl_journal_snapshot() is done. */
struct fl_journal_open {
	struct fl_op op;
	const char *dir;             /* borrowed until the start returns; made, mode 0700, in a parent that exists */
	const char *name;            /* borrowed too: "state"; no '/', at most FL_JOURNAL_NAME_MAX bytes */
	struct fl_journal *journal;  /* in done() after success: the caller's, to be closed */
};
void fl_journal_open(struct fl_io *io, struct fl_journal_open *open);

/* Cancels pending appends; what is being written may still reach the disk. NULL-safe, returns NULL. */
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

/* In the order of their last put: start with NULL; NULL at the end. */
const struct fl_journal_item *fl_journal_next(const struct fl_journal *journal, const struct fl_journal_item *after);

uint32_t fl_journal_count(const struct fl_journal *journal);

/* ---- changing it ---- */

/* result: the record's number, > 0; the record is on the disk and in the live set. The start copies key and value.
 * FL_E_TOOBIG: over a limit of the journal. FL_E_RETRY: too much waits for the disk. After a time-out or a cancel the
 * record may still take effect: look it up in the live set later. */
struct fl_journal_append {
	struct fl_op op;
	struct fl_journal_record_ *record;   /* the journal's */
};
void fl_journal_put(struct fl_journal *journal, struct fl_journal_append *append, uint8_t kind, struct fl_str key,
		    struct fl_str value);
void fl_journal_delete(struct fl_journal *journal, struct fl_journal_append *append, struct fl_str key);

/* result: the number of a new generation, which holds only the live set. The journal also does this by itself when the
 * log has grown. */
void fl_journal_snapshot(struct fl_journal *journal, struct fl_journal_append *append);
