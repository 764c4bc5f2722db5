/* host_tree.h - trees of driver files, and what a look at them finds, as text. */
#pragma once
#include "base/buf.h"
#include "fake/elf_file.h"
#include "node/host/scan.h"

#if defined(__aarch64__)
#define ARCH "aarch64-linux-gnu"
#else
#define ARCH "x86_64-linux-gnu"
#endif
#define V "550.54.15"
#define LIB "/usr/lib/" ARCH
#define CUDA(dir) "Library " dir "/libcuda.so." V " libcuda.so>libcuda.so.1 libcuda.so.1>libcuda.so." V "\n"

/* A line each: "PATH" a file (of a name with ".so." a 64-bit library), "PATH 32" a library for 32 bits, "PATH *" a file
 * that may be run, "PATH > TARGET" a link, "PATH = MAJOR:MINOR" a device node, "PATH @" a socket, "PATH /" a directory,
 * "PATH ! WORDS" a file with words, "PATH # KEY VALUE" a linker's cache of one entry, "PATH $ KEY VALUE" one for 32
 * bits. False: it cannot be made here. */
bool host_tree_make(const char *dir, const char *lines);

/* Sorted lines: "Library PATH LINK>TARGET ...", "Data PATH at PLACE", "PATH MAJOR:MINOR MODE", "! MESSAGE". */
void host_scan_print(const struct fl_host_scan *scan, struct fl_buf *out);
/* Of driver V below the root; what the kernel says lies in the root, too. */
void host_scan_set_up(struct fl_host_scan *scan, const char *root);
