/* hook.h - what a container's root gets before it starts: links, the linker's cache, a copy of the driver's parameters,
 * and the driver's application profile for the container's GPUs.
 *
 * Straight-line code. The container runtime runs it as a createContainer hook: as root, in the container's mounts,
 * before the change of root. The container's files are untrusted:
 *   - the kernel resolves every path below the container's root (openat2: RESOLVE_IN_ROOT, no magic links), and all
 *     work is on fds. A link that leads outside, or is swapped meanwhile, leads nowhere;
 *   - the hook writes on the root's own mount only: a volume may belong to another Pod or to the host;
 *   - it copies only from a regular file on the root's own mount, and only content in that file's format. It opens no
 *     other files: that may have side effects;
 *   - it runs and loads nothing of the container. Each read has a limit, and no path of the host is followed;
 *   - it ignores the environment. The installed program is static, so no loader reads an image's LD_PRELOAD.
 *
 * The order: links, cuda-compat, the linker's cache, the parameters, the profile. If the container's files do not allow
 * one of them, the hook warns and the container starts without it. Examples: a read-only or full root, a volume over
 * /etc or one of its files, a dangling link, a sandbox without these system calls.
 */
#pragma once
#include "base/option.h"
#include "io/fs.h"

#define FL_HOOK_STATE_MAX (8 * FL_MIB)       /* of a container: CRI-O puts the Pod's 256 KiB of annotations in twice */

struct fl_hook {
	struct fl_strs links;          /* "libcuda.so.550.54.15::/usr/lib64/libcuda.so.1": the link's text, the link */
	struct fl_strs folders;        /* "/usr/lib64": directories of libraries, for the container's loader */
	struct fl_str version;         /* of the host's driver: a newer cuda-compat is used; absent: none is */
	bool params_fixed;             /* the driver's libraries must not make or change device nodes */
	bool profile;                  /* EGL and Vulkan see only the GPUs whose device nodes the container has */
	void (*warn)(const char *text);   /* NULL: no warnings */
};
#define FL_HOOK_OPTIONS \
	FL_OPT_STRS(struct fl_hook, links, "link", "A link to make: TEXT::/PATH.", .env = "", .value = "LINK"), \
	FL_OPT_STRS(struct fl_hook, folders, "folder", "A directory of the driver's libraries.", .env = "", \
		    .value = "DIR"), \
	FL_OPT_STR(struct fl_hook, version, "driver-version", "Use the image's cuda-compat if it is newer.", \
		   .env = "", .value = "VERSION"), \
	FL_OPT_BOOL(struct fl_hook, params_fixed, "device-nodes-fixed", "Set ModifyDeviceFiles to 0 inside.", \
		    .env = ""), \
	FL_OPT_BOOL(struct fl_hook, profile, "application-profile", "Let EGL and Vulkan list only the GPUs of /dev.", \
		    .env = "")

/* `state`: an fd with the container's state. FL_E_INVALID: invalid state or options. FL_E_DENIED: they name the host's
 * own root. Changes before a failure stay: the container does not start. */
int fl_hook_run(const struct fl_fs *fs, int state, const struct fl_hook *hook, struct fl_err *err) FL_MUSTUSE;
