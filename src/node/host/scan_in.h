/* scan_in.h - a look at the driver's files: what its parts share. */
#pragma once
#include "node/host/scan.h"

/* A directory that has been looked through: the same one often has two names. */
struct scan_seen {
	uint64_t dev, ino;
};

struct looking {
	const struct fl_fs *fs;
	struct fl_host_scan *scan;
	struct scan_seen seen[64];
	uint32_t seen_count;
	struct fl_root_known known;
};

/* The first thing of which people should know; when it is mended, the next one shows. */
void scan_say(struct looking *l, const char *fmt, ...) FL_PRINTF(2, 3);
/* A call failed at a path: what is not there is no failure. */
void scan_failed(struct looking *l, int sys, const char *path);
void scan_too_many(struct looking *l, const char *what, const char *name, int max);

/* What a path of the root leads to; false: nothing. */
bool scan_look(struct looking *l, const char *path, char ret[FL_HOST_PATH_MAX], struct fl_stat *ret_stat);
/* An fd of a directory of the root, or -1. The path has no links. */
int scan_open(struct looking *l, const char *dir);
/* The next names of a directory: false at its end. */
bool scan_list(struct looking *l, int fd, const char *dir, char *buf, size_t size, size_t *ret_len);
/* A file, each once; `at`: its place in a container, NULL: the same. NULL: it is there, or there is no more room. */
struct fl_host_file_found *scan_add(struct looking *l, enum fl_host_file what, const char *path, const char *at);

void scan_libraries(struct looking *l);   /* libs.c: and VDPAU's and X.Org's modules */
void scan_files(struct looking *l);       /* files.c: programs, configuration, firmware, sockets */
