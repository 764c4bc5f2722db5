/* journal_disk.h - a journal's files: the blocking half, which runs in a job. For io/journal.c only.
 *
 * Each step is one job. The struct holds its input before and its result afterwards. The steps decide nothing about
 * records: they move whole buffers.
 */
#pragma once
#include "io/job.h"
#include "io/journal_format.h"

/* Damaged files kept for people to look at. Beyond that the oldest is removed. */
#define FL_JOURNAL_ASIDE_MAX 8

enum fl_journal_step {
	FL_JOURNAL_LOOK,             /* open and lock the directory, list its files */
	FL_JOURNAL_READ,             /* read files[at] into `in`, and judge it */
	FL_JOURNAL_ROTATE,           /* write `out` as a new generation; then tidy up */
	FL_JOURNAL_APPEND,           /* append `out` to the current generation */
};

enum { FL_JOURNAL_FILES = 8, FL_JOURNAL_ASIDE = FL_JOURNAL_ASIDE_MAX + FL_JOURNAL_FILES, FL_JOURNAL_PATH = 160 };

struct fl_journal_file {
	uint64_t generation;
	uint64_t size;
	enum fl_journal_state bad;   /* not WHOLE: to be renamed aside at the next chance */
};

struct fl_journal_aside {
	uint64_t generation;
	char name[FL_JOURNAL_PATH];
};

struct fl_journal_disk {
	struct fl_job job;
	enum fl_journal_step step;
	bool in_flight, orphan;      /* orphan: the journal is closed, the job's end frees this */
	struct fl_io *io;
	char *dir_path, *name;

	int dir, fd;                 /* -1: not open */
	bool named;                  /* the directory's own name is safe */
	uint64_t size;               /* of the whole part of the current file */
	uint64_t highest;            /* generation ever seen */
	bool sealed;                 /* append nothing more to the current file: rotate */

	struct fl_journal_file files[FL_JOURNAL_FILES];   /* newest first; the current one too */
	unsigned file_count, at;
	struct fl_journal_aside aside[FL_JOURNAL_ASIDE];
	unsigned aside_count;

	char *in;                    /* READ: files[at].size bytes */
	struct fl_journal_verdict verdict;
	int read_errno;
	struct fl_buf out;
};

/* run() of the job. */
void fl_journal_disk_run(struct fl_job *job, const struct fl_fs *fs);

/* "NAME.12", or "NAME.12.damaged". */
void fl_journal_file_name(const struct fl_journal_disk *disk, uint64_t generation, const char *suffix,
			  char ret[FL_JOURNAL_PATH]);
