/* find.h - where the vendor's driver is: its library under one of several roots, and the kernel's part.
 *
 * Straight-line code over struct fl_fs, for a job: a root may lie on a disk that hangs. Nothing is loaded. The library
 * is looked for where the driver's other libraries are (driver_root.h); of several versions, that of the kernel's part.
 */
#pragma once
#include "base/str.h"
#include "node/host/driver_root.h"

#define FL_GPU_VERSION_MAX 32                /* of a driver: "550.54.15" */

/* Machines whose GPUs are not driven by the vendor's driver for Linux hosts. */
enum fl_gpu_platform { FL_GPU_PLAIN, FL_GPU_WSL, FL_GPU_TEGRA, FL_GPU_PLATFORM_COUNT_ };

struct fl_gpu_found {
	char library[FL_GPU_PATH_MAX];           /* path of libnvidia-ml.so.1; "": there is none */
	char root[FL_GPU_PATH_MAX];              /* under which it was found */
	char version[FL_GPU_VERSION_MAX];        /* of the library, by the name behind its link; "": not said */
	char kernel[FL_GPU_VERSION_MAX];         /* of the kernel's part; "": it is not loaded */
	bool node;                               /* /dev/nvidiactl is there */
	/* Not PLAIN: nothing else is found, as it could not be used. A Tegra on which the whole driver is there, with
	 * its kernel's part, is PLAIN: it has cards. */
	enum fl_gpu_platform platform;
	uint64_t print;                          /* changes when the library is another file */
	int error;                               /* errno: we could open nothing, and so nobody knows */
};

/* `roots` holds texts, each with its NUL, an empty one at the end; they are tried in order. */
/* Without a dev_root the node is looked for as driver_root.h says. `dirs` is scratch. */
void fl_gpu_find(const struct fl_fs *fs, const char *roots, const char *dev_root, const char *proc,
		 struct fl_lib_dirs *dirs, struct fl_gpu_found *ret);

/* The first word of the text that is a version: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  ..." ->
 * "550.54.15". "" when there is none. */
void fl_gpu_version_in(struct fl_str text, char ret[FL_GPU_VERSION_MAX]);
