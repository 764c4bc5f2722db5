/* files.h - texts that live in files and are renewed there: tokens, certificates, keys, CAs.
 *
 * Read once at the start, again when their directories change (a Secret's ..data is swapped, a file is replaced), and
 * every FL_FILES_POLL, because a change is only hinted at. Told only when what they hold has changed, all of them
 * together, and not before a burst of changes is over.
 */
#pragma once
#include "http/tls.h"
#include "io/file.h"
#include "io/notify.h"

#define FL_FILES_MOST 3

struct fl_files {
	/* The caller's. Texts live until the return. May stop it. */
	void (*changed)(struct fl_files *files, const struct fl_str *texts);
	/* One cannot be read; it goes on trying. Told once for each reason. NULL: nobody cares. */
	void (*failed)(struct fl_files *files, const struct fl_err *err);
	const char *paths[FL_FILES_MOST];   /* borrowed until the stop; NULL: none, its text is empty */

	/* Its own. */
	struct fl_io *io;
	struct fl_err err;
	struct fl_files_dir {
		struct fl_notify notify;
		struct fl_files *files;
		char *path;
	} dirs[FL_FILES_MOST];
	struct fl_buf texts[FL_FILES_MOST];
	uint64_t seen;                      /* what the texts were when they were told; 0: never */
	struct fl_file_read read;
	struct fl_timer timer;
	uint32_t at;                        /* the file that is being read */
	bool changing;                      /* something has changed since the reading began */
	bool started;
	enum fl_code told;                  /* the failure that was told last */
};

int fl_files_start(struct fl_io *io, struct fl_files *files, struct fl_err *err) FL_MUSTUSE;   /* -FL_E_NOMEM */
void fl_files_stop(struct fl_files *files);   /* from anywhere; one that is not started is left alone */

/* The same for TLS: a new context each time the files make a usable one. A pair that does not fit together (half of it
 * is written) is told by failed(), and the former context stays in use. */
struct fl_tls_files {
	/* The caller's. The context is borrowed: take a reference (fl_http_server_use, fl_http_client_use do). */
	void (*changed)(struct fl_tls_files *files, struct fl_tls_context *context);
	void (*failed)(struct fl_tls_files *files, const struct fl_err *err);
	const char *cert, *key, *ca;        /* paths, borrowed; NULL: none */
	struct fl_tls_config config;        /* all but the texts */

	struct fl_files files;
	struct fl_op prepare;
};
int fl_tls_files_start(struct fl_io *io, struct fl_tls_files *files, struct fl_err *err) FL_MUSTUSE;
void fl_tls_files_stop(struct fl_tls_files *files);
