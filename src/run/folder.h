/* folder.h - a directory as a feeder: each file is an object of one kind, with the file's name.
 *
 *     static int parse(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object,
 *                      struct fl_err *err)
 *     {
 *             struct fl_bell *bell = object;
 *             if (file->why)
 *                     return FL_SET(FL_IN(bell, spec), problem, fl_str(file->why->text)), 1;
 *             ...
 *     }
 *     folder = (struct fl_folder){ .dir = dir, .suffix = ".bell", .parse = parse };
 *     fl_folder_start(io, &folder, fl_loop_feed(loop, &fl_bell_kind));
 *
 * The kernel's notifications only make it faster: all files are read at startup, when notifications were lost, when the
 * directory appears or disappears, and every FL_FOLDER_POLL. A notification with a name reads that one file. Unchanged
 * files are not fed again. A missing directory counts as empty, unless `tell_missing` is set. Names with a leading dot
 * are skipped: files that are being written (fl_file_replace) have them. Changes of a projected volume (a ConfigMap's)
 * are followed.
 *
 * A file that cannot be read (no permission, too long, not a regular file) or parsed does not vanish: parse is called
 * with `why` to make an object that reports it. A temporary failure (memory, a disk that hangs, no fds) changes no
 * object. It is in `why` and in the loop's log, and the read is retried with backoff. A snapshot is complete only when
 * every file was read.
 */
#pragma once
#include "io/file.h"
#include "io/notify.h"
#include "run/loop.h"

/* A directory whose files are objects is read once a minute, as notifications may be lost silently. */
#define FL_FOLDER_POLL (60 * FL_NS_PER_S)
#define FL_FOLDER_FILE_MAX (1 * FL_MIB)       /* the kubelet's checkpoint of 110 Pods, CDI specs of 16 GPUs: a tenth */

struct fl_folder_file {
	struct fl_str name;            /* of the file, suffix included */
	struct fl_str content;
	const struct fl_err *why;      /* not NULL: it cannot be read or parsed; there is no content */
};

struct fl_folder {
	/* The caller's, set before the start and borrowed until the stop. */
	const char *dir;
	const char *suffix;            /* only such files; the object is named without it. NULL: all */
	const char *also;              /* such files too; the object's name keeps it. NULL: none */
	const char *only;              /* only this file; NULL: all */
	uint64_t settle;               /* ns; changes within this time are read once, at its end. 0: at once */
	/* Makes the object of a file and returns 1; `object` is a zeroed root struct with its name set. Its texts may
	 * stay in `file` or in the arena: the feeder copies them.
	 * 0: the file is not ours. -FL_E_NOMEM: retried later. After any other failure it is called again with `why`,
	 * and must then not fail except for memory. */
	int (*parse)(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object,
		     struct fl_err *err);
	void *arg;
	void (*looked)(void *arg, const struct fl_err *why);   /* after each scan, with `why`; may be NULL */
	const char *remedy;            /* for a directory that cannot be read; NULL: none is known */
	size_t max;                    /* bytes of one file; 0: FL_FOLDER_FILE_MAX */
	bool optional;                 /* the directory may never come: it is looked for once a minute */
	bool tell_missing;             /* while the directory is missing, parse gets `why` for an object "." */

	/* The folder's; `why` may be read. */
	struct fl_err why;             /* FL_OK: the last scan read all. Else its failure, to be retried */
	struct fl_io *io;              /* NULL: not started */
	struct fl_feed *feed;
	struct fl_notify notify;
	struct fl_timer timer;         /* the next scan */
	uint64_t delay;
	struct fl_op list;
	struct fl_file_read read;
	struct fl_err failed;          /* of the operation in flight */
	struct fl_buf names;           /* of the scan, as fl_list_next reads them */
	size_t at;
	struct fl_buf hints;           /* names, each with its NUL */
	struct fl_buf content;
	char path[4096], *name;        /* what is read; where its name begins */
	bool began;                    /* the first scan, which does not wait for `settle` */
	bool look, looking;            /* a scan is due; one is running: names from `at` on are still to be read */
	bool missed;                   /* this scan will not be complete */
	bool missing;                  /* the last scan found no directory */
};

/* Starting cannot fail. The feed is borrowed: stop before the loop is freed. */
void fl_folder_start(struct fl_io *io, struct fl_folder *folder, struct fl_feed *feed);
void fl_folder_stop(struct fl_folder *folder);   /* safe if not started */
