/* in.h - between the parts of the hook. */
#pragma once
#include "base/units.h"
#include "node/hook/hook.h"

#define FL_HOOK_LIST_MAX (64 * FL_KIB)       /* of an image's list of the folders that musl looks into */

/* A path of a container, as a runtime mounts it: absolute, and shorter than this. */
enum { FL_HOOK_PATH = 512 };

struct fl_hooking {
	const struct fl_fs *fs;
	const struct fl_hook *hook;
	int root;                      /* of the container */
	struct fl_str config;          /* the text of config.json */
};

/* An absolute path inside of the root, for looking (O_PATH) or listing; a directory on the root's own mount. An fd, or
 * a negated errno. */
int fl_hook_open(const struct fl_hooking *h, const char *path, int flags);
int fl_hook_open_dir(const struct fl_hooking *h, const char *path);
/* A regular file for reading, and nothing else is opened: -ENXIO. Own: on the root's own mount, else -EXDEV, so that
 * content may be copied. Library: on any mount of which programs may be run, which excludes /proc and /sys. */
int fl_hook_open_own(const struct fl_hooking *h, const char *path, uint64_t *ret_size);
int fl_hook_open_library(const struct fl_hooking *h, const char *path, int flags);
/* The same, with the directories made that are missing. */
int fl_hook_make_dir(const struct fl_hooking *h, const char *path);
/* One name, and none that leads anywhere else; an absolute path of such. */
bool fl_hook_is_name(struct fl_str text);
bool fl_hook_is_path(struct fl_str text);
bool fl_hook_copy(char ret[FL_HOOK_PATH], struct fl_str text);
/* The text in a few bytes of the file, in whole; -EFBIG: it has more than `max`. */
int fl_hook_read(const struct fl_fs *fs, int fd, size_t max, struct fl_buf *into);
/* A failure (a negated errno) to do WHAT at a path of the container: a warning, and 0, when
 * the container's own files or file systems are the cause. */
int fl_hook_failed(const struct fl_hooking *h, int r, const char *what, const char *path, struct fl_err *err);

/* A file of the root's own mount, whole, in the place of what has the name; a failure is as above. */
int fl_hook_put(const struct fl_hooking *h, const char *folder, const char *name, const struct fl_buf *content,
		struct fl_err *err) FL_MUSTUSE;

int fl_hook_links(const struct fl_hooking *h, struct fl_err *err) FL_MUSTUSE;
/* Is the image's cuda-compat to be used? */
bool fl_hook_compat(const struct fl_hooking *h);
#define FL_HOOK_COMPAT "/usr/local/cuda/compat"
int fl_hook_cache(const struct fl_hooking *h, bool compat, struct fl_err *err) FL_MUSTUSE;
int fl_hook_params(const struct fl_hooking *h, struct fl_err *err) FL_MUSTUSE;
int fl_hook_profile(const struct fl_hooking *h, struct fl_err *err) FL_MUSTUSE;
