/* scan_in.h - the scan of the driver's files: what its parts share. */
#pragma once
#include "node/host/scan.h"

/* A directory that was read: the same one often has two names. */
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

/* A problem for people. Only the first one is kept: the next one shows when it is repaired. */
void scan_say(struct looking *l, const char *fmt, ...) FL_PRINTF(2, 3);
/* A call failed at a path. A missing file is no failure. */
void scan_failed(struct looking *l, int sys, const char *path);
void scan_too_many(struct looking *l, const char *what, const char *name, int max);

/* Resolves a path inside the root; false: nothing is there. */
bool scan_look(struct looking *l, const char *path, char ret[FL_HOST_PATH_MAX], struct fl_stat *ret_stat);
/* An fd of a directory of the root, or -1. The path has no links. */
int scan_open(struct looking *l, const char *dir);
/* Reads the next names of a directory; false at its end. */
bool scan_list(struct looking *l, int fd, const char *dir, char *buf, size_t size, size_t *ret_len);
/* Adds a file, each once. `at`: its path in a container; NULL: the same. NULL: it was there, or there is no room. */
struct fl_host_file_found *scan_add(struct looking *l, enum fl_host_file what, const char *path, const char *at);

void scan_libraries(struct looking *l);   /* libs.c: and VDPAU's and X.Org's modules */
void scan_files(struct looking *l);       /* files.c: programs, configuration, firmware, sockets */
