/* hook_bundle.h - a container's bundle in a directory of a test.
 *
 * DIR/bundle/config.json, DIR/bundle/rootfs, DIR/state, and DIR/outside, which is the host. */
#pragma once
#include "io/io.h"
#include "node/hook/hook.h"

/* DIR/PATH in one of a few static buffers; the directories above it are made. */
char *hook_at(const char *dir, const char *path);
void make_bundle(const char *dir, const char *root);
/* "PATH" a file, "PATH > TARGET" a link, "PATH /" a directory, a line each; @ in a target is the test's directory. */
void make_files(const char *dir, const char *lines);
extern char hook_warned[FL_ERR_TEXT];      /* the last warning of a run */
int run_hook_over(const struct fl_fs *fs, const char *dir, struct fl_hook hook, struct fl_err *err);
int run_hook(struct fl_io *io, const char *dir, struct fl_hook hook, struct fl_err *err);
int hook(struct fl_io *io, const char *dir, const char *link, const char *folder, struct fl_err *err);
/* What a path is: "> target", "file", "folder", "nothing". In a static buffer. */
const char *what_is(const char *dir, const char *path);
bool is_empty(const char *dir, const char *path);
