/* hook.h - what a container's root gets before it starts: links to the driver's libraries, and nothing else.
 *
 * Straight-line code, run by the container runtime as a createContainer hook: as root, in the container's mounts,
 * before its root is the root. The container's files are not ours to trust. So:
 *   - every path in there is opened by the kernel with the container's root as its end (openat2: RESOLVE_IN_ROOT, no
 *     magic links), and worked on by fds; a link that leads out, or is swapped meanwhile, leads nowhere;
 *   - nothing is done on another mount than the root's: a volume is somebody else's, and so may be the host;
 *   - nothing of the container is run, loaded or read, and nothing of the host is named in it;
 *   - the environment is not looked at. Who starts the hook gives it one of its own (see plan/gpu_cdi.c): else the
 *     image's LD_PRELOAD would be the loader's.
 *
 * No linker cache is written: that takes the container's ldconfig, run by root over files that the image brings. Links
 * stand in the loader's own directories instead, where there are such beside the one with the libraries (an image of
 * another distribution than the host's). An image whose cache names an older libcuda keeps that one.
 */
#pragma once
#include "base/option.h"
#include "io/fs.h"

struct fl_hook {
	struct fl_strs links;          /* "libcuda.so.550.54.15::/usr/lib64/libcuda.so.1": target, beside the link */
	struct fl_strs folders;        /* "/usr/lib64": where there are libraries */
};

/* The container's state is read from this fd. FL_E_INVALID: the words of the runtime or of the caller cannot be right;
 * FL_E_DENIED: the container's files lead where nothing may be written. What was made before a failure stays: the
 * container does not start. */
int fl_hook_run(const struct fl_fs *fs, int state, const struct fl_hook *hook, struct fl_err *err) FL_MUSTUSE;
