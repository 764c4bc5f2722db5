/* journal_format.h - the bytes of a journal file: records in, bytes out, and back. No I/O.
 *
 * A file is one generation: a header, a snapshot (the live records, closed by a mark) and the log that followed it.
 * Numbers are little-endian; every record begins at a multiple of 8.
 *
 *     header   "fljourn\n"  u32 version  u32 crc  u64 generation  u64 sequence number of the mark
 *     record   u32 crc  u32 body  u64 sequence number  u32 batch  u8 what  u8 kind  u16 key  | key | value | padding
 *
 * The checksum (CRC-32C, seeded with the generation, so that a block of an older file never passes) covers all that
 * follows it. `batch` is the number of records before this one that had not been synced when it was written. It
 * distinguishes a torn tail, which was never acknowledged, from damage to acknowledged records: behind damage stands a
 * record that was written only after the damaged one had been synced.
 */
#pragma once
#include "base/buf.h"

/* Key and value of one record: a claim with 64 devices takes 4 KiB. */
#define FL_JOURNAL_RECORD_MAX (16 * FL_KIB)
/* The largest file that we write: the largest snapshot, and a log that could not be rotated. */
#define FL_JOURNAL_FILE_MAX (4 * FL_MIB)

enum { FL_JOURNAL_VERSION = 1, FL_JOURNAL_HEADER = 32, FL_JOURNAL_RECORD_HEADER = 24 };

enum fl_journal_what { FL_JOURNAL_PUT = 1, FL_JOURNAL_DELETE, FL_JOURNAL_MARK };

struct fl_journal_record {
	enum fl_journal_what what;
	uint8_t kind;              /* the caller's */
	uint32_t batch;            /* records before this one that had not been synced when it was written */
	uint64_t seq;
	struct fl_str key, value;  /* into the scanned bytes; valid as long as they are */
};

enum fl_journal_state {
	FL_JOURNAL_WHOLE,
	FL_JOURNAL_TORN,           /* the last batch is not whole: a crash; no acknowledged record is lost */
	FL_JOURNAL_DAMAGED,        /* an acknowledged record cannot be read */
	FL_JOURNAL_EMPTY,
	FL_JOURNAL_FOREIGN,        /* not a journal, or one of another version */
	FL_JOURNAL_UNREADABLE,     /* reading fails, or it is longer than FL_JOURNAL_FILE_MAX */
	FL_JOURNAL_STATE_COUNT_
};
extern const struct fl_names fl_journal_state_names;

/* Bytes of one record in a file. */
static inline size_t fl_journal_size(size_t key, size_t value)
{
	return (FL_JOURNAL_RECORD_HEADER + key + value + 7) & ~(size_t)7;
}

/* Failures stick to the buffer. The key and value are within FL_JOURNAL_RECORD_MAX. */
void fl_journal_write_header(struct fl_buf *buf, uint64_t generation, uint64_t mark);
void fl_journal_write_record(struct fl_buf *buf, uint64_t generation, const struct fl_journal_record *record);

/* What a file holds, found by reading all of it once. */
struct fl_journal_verdict {
	enum fl_journal_state state;
	bool usable;               /* its snapshot is whole: replay it up to `good` */
	uint32_t version;          /* FOREIGN: its version; 0: not a journal at all */
	uint64_t generation;
	uint64_t seq;              /* of the last good record */
	size_t good;               /* bytes before the first bad record */
	uint32_t records;          /* good ones, without the mark */
};
struct fl_journal_verdict fl_journal_judge(const void *bytes, size_t len);

/* The good records of a usable file in order, the mark left out. Start with *at = 0; false at the end. */
bool fl_journal_replay(const struct fl_journal_verdict *verdict, const void *bytes, size_t *at,
		       struct fl_journal_record *ret);
