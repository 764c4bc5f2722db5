/* hook.h - what a container's root gets before it starts: links, the linker's cache, a copy of the driver's parameters,
 * and the driver's application profile for the container's GPUs.
 *
 * Straight-line code, run by the container runtime as a createContainer hook: as root, in the container's mounts,
 * before its root is the root. The container's files are not ours to trust. So:
 *   - every path in there is opened by the kernel with the container's root as its end (openat2: RESOLVE_IN_ROOT, no
 *     magic links), and worked on by fds; a link that leads out, or is swapped meanwhile, leads nowhere;
 *   - nothing is written on another mount than the root's: a volume is somebody else's, and so may be the host;
 *   - content is copied only from a regular file on the root's own mount, and only what is of the file's format; other
 *     files are not opened: opening and reading them may have effects;
 *   - nothing of the container is run or loaded; what is read has a ceiling, and nothing of the host is named in it;
 *   - the environment is not looked at. The program that the agent installs is static, so that an image's LD_PRELOAD
 *     has no loader to speak to.
 *
 * In this order: links, cuda-compat, the linker's cache, the parameters, the profile. What the container's files do not
 * let be made (a read-only or full root, a volume over /etc or one of its files, a link that leads nowhere, a sandbox
 * without these system calls) is a warning: the container starts without it.
 */
#pragma once
#include "base/option.h"
#include "io/fs.h"

#define FL_HOOK_STATE_MAX (8 * FL_MIB)       /* of a container: CRI-O puts the Pod's 256 KiB of annotations in twice */

struct fl_hook {
	struct fl_strs links;          /* "libcuda.so.550.54.15::/usr/lib64/libcuda.so.1": the link's text, the link */
	struct fl_strs folders;        /* "/usr/lib64": directories of libraries, for the container's loader */
	struct fl_str version;         /* of the host's driver: a newer cuda-compat is used; absent: none is */
	bool params_fixed;             /* the driver's libraries are not to make or change device nodes */
	bool profile;                  /* EGL and Vulkan see only the GPUs whose device nodes the container has */
	void (*warn)(const char *text);   /* NULL: nobody is told */
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

/* The container's state is read from this fd. FL_E_INVALID: the words of the runtime or of the caller cannot be right;
 * FL_E_DENIED: they name the host's own root. What was made before a failure stays: the container does not start. */
int fl_hook_run(const struct fl_fs *fs, int state, const struct fl_hook *hook, struct fl_err *err) FL_MUSTUSE;
