/* folder.h - a directory as a feeder: each file is an object of one kind, named as the file is.
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
 * The kernel's hints make it quick and nothing rests on them: all is read at the start, when hints were lost, when the
 * directory comes or goes, and once every FL_FOLDER_POLL; a hint with a name reads that one file. What has not changed
 * is told to nobody. A directory that is not there is an empty one, unless
 * that is to be told. Names that begin with a dot are left out: files
 * that are being written (fl_file_replace) have such. A projected volume (a ConfigMap's) is followed as it changes.
 *
 * A file that cannot be read (no right, too long, no file at all) or understood does not vanish: parse is asked for the
 * object that says so. What fails for now (memory, a disk that hangs, no fds) changes nothing of what is known; it is
 * said in `why` and in the loop's log, and tried again, ever later. A full state is told only when every file was read.
 */
#pragma once
#include "io/file.h"
#include "io/notify.h"
#include "run/loop.h"

/* A directory whose files are objects: hints may be lost without a word, so it is read once a minute. */
#define FL_FOLDER_POLL (60 * FL_NS_PER_S)
#define FL_FOLDER_FILE_MAX (1 * FL_MIB)       /* the kubelet's checkpoint of 110 Pods, CDI specs of 16 GPUs: a tenth */

struct fl_folder_file {
	struct fl_str name;            /* of the file, suffix included */
	struct fl_str content;
	const struct fl_err *why;      /* not NULL: it cannot be read, or was not understood; there is no content */
};

struct fl_folder {
	/* The caller's, set before the start and borrowed until the stop. */
	const char *dir;
	const char *suffix;            /* only such files; the object is named without it. NULL: all */
	const char *only;              /* only this file; NULL: all */
	uint64_t settle;               /* ns; what changes within this time is looked at once, at its end. 0: at once */
	/* Make the object of a file: 1; its name is set already, `object` a zeroed root struct. Its texts may stay in
	 * `file`, or lie in the arena: it is copied.
	 * 0: the file is none of ours. -FL_E_NOMEM: for now. Any other failure: it is called again with `why`, and then
	 * must not fail but for memory. */
	int (*parse)(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object,
		     struct fl_err *err);
	void *arg;
	void (*looked)(void *arg, const struct fl_err *why);   /* after each look, with `why`; NULL: nobody asks */
	const char *remedy;            /* for a directory that cannot be read: what to do; NULL: nothing is known */
	size_t max;                    /* bytes of one file; 0: FL_FOLDER_FILE_MAX */
	bool tell_missing;             /* parse is asked for an object "." while the directory is not there, with why */

	/* The folder's; `why` may be read. */
	struct fl_err why;             /* FL_OK: the last look saw all. Else what failed, to be tried again */
	struct fl_io *io;              /* NULL: not started */
	struct fl_feed *feed;
	struct fl_notify notify;
	struct fl_timer timer;         /* the next look */
	uint64_t delay;
	struct fl_op list;
	struct fl_file_read read;
	struct fl_err failed;          /* of the operation that is on its way */
	struct fl_buf names;           /* of the look, as fl_list_next reads them */
	size_t at;
	struct fl_buf hints;           /* names, each with its NUL */
	struct fl_buf content;
	char path[4096], *name;        /* what is read; where its name begins */
	bool began;                    /* the first look, which waits for nothing to settle */
	bool look, looking;            /* one is due; one is under way: the names are told from `at` on */
	bool missed;                   /* it will not be a full one */
	bool missing;                  /* the directory is not there, as last looked at */
};

/* Starting cannot fail. The feed is borrowed: stop before the loop is freed. */
void fl_folder_start(struct fl_io *io, struct fl_folder *folder, struct fl_feed *feed);
void fl_folder_stop(struct fl_folder *folder);   /* one that is not started is left alone */
