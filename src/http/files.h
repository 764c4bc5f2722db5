/* files.h - watch files that are renewed: tokens, certificates, keys, CAs.
 *
 * The files are read at the start, again when their directories change (a Secret's ..data is swapped, a file is
 * replaced), and every FL_FILES_POLL, because a change may go unnoticed. changed() gets all texts together, only when
 * one has changed, and only after a burst of changes is over.
 */
#pragma once
#include "http/tls.h"
#include "io/file.h"
#include "io/notify.h"

#define FL_FILES_SETTLE (50 * FL_NS_PER_MS)         /* after a change: a second file may still follow */
#define FL_FILES_POLL (60 * FL_NS_PER_S)            /* changes may go unnoticed; tokens are renewed an hour ahead */
#define FL_FILES_DEADLINE (10 * FL_NS_PER_S)        /* then a hung disk is reported */

#define FL_FILES_MOST 3   /* files of one watcher: a certificate, its key, the CAs */

struct fl_files {
	/* The caller's. Texts live until it returns. May stop the watcher. */
	void (*changed)(struct fl_files *files, const struct fl_str *texts);
	/* A file cannot be read; the watcher keeps trying. Called once for each reason. May be NULL. */
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
	uint64_t seen;                      /* digest of the texts last reported; 0: none */
	struct fl_file_read read;
	struct fl_timer timer;
	uint32_t at;                        /* the file being read */
	bool changing;                      /* a directory changed since the read began */
	bool started;
	enum fl_code reported;              /* the failure reported last */
};

int fl_files_start(struct fl_io *io, struct fl_files *files, struct fl_err *err) FL_MUSTUSE;   /* -FL_E_NOMEM */
void fl_files_stop(struct fl_files *files);   /* from anywhere, also when not started */

/* The same for TLS: changed() gets a new context each time the files make a usable one. A certificate and key that do
 * not match (one is not written yet) go to failed(), and the former context stays in use. */
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
