/* scarce_io.h - a real fl_io, workers and all, whose kernel refuses what a test names, from one moment to another. One
 * io of a program at a time. */
#pragma once
#include "io/io.h"

/* Puts itself between this io, which fl_posix_new() has made, and the kernel. */
void scarce_io(struct fl_io *io);

/* The error of each write to a file by a worker, such as ENOSPC; 0: it is written. */
void scarce_disk_from_now(int error);

/* Errors for each call that would make an fd, a child's start among them, and for the start of a child alone; 0: they
 * are made. */
void scarce_from_now(int fd, int process);
