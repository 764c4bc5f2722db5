/* processes.h - what /proc tells of a process, and which Pod it belongs to.
 *
 * Straight-line code over struct fl_fs, for a job. A process may end at any time: what cannot be read is empty.
 */
#pragma once
#include "base/str.h"
#include "io/fs.h"

#define FL_POD_UID 40                                /* room for the uid of a Pod: 36 characters */

#define FL_POD_NAME (FL_NAME_MAX + 8)   /* NAMESPACE/NAME, cut out of the name of a directory */
#define FL_PROCESS_NAME 64   /* 15 bytes, and up to 63 of the kernel's own threads */

/* The text of a small file below /proc, without blanks at its ends; in `buf`. */
struct fl_str fl_process_text(const struct fl_fs *fs, int proc, const char *path, char *buf, size_t size);

/* What it calls itself, as one word of letters, digits and ._-+:/@ ('?' for others); `pid` is its directory's name. */
void fl_process_name(const struct fl_fs *fs, int proc, const char *pid, char ret[static FL_PROCESS_NAME]);

/* The UID of the Pod that a process belongs to, by its /proc/PID/cgroup, written with '-'; false: no Pod's. */
bool fl_cgroup_pod(struct fl_str cgroup, char ret[static FL_POD_UID]);

/* NAMESPACE/NAME of the Pod with this UID, by the kubelet's directory of Pod logs, whose names are NAMESPACE_NAME_UID:
 * 1; 0: there is none; < 0: the directory cannot be read. */
int fl_pod_of_uid(const struct fl_fs *fs, const char *logs, const char *uid, char ret[static FL_POD_NAME]);

/* The other way round: the UID of the Pod NAMESPACE/NAME: 1; 0: there is none, or several (one has ended, and another
 * one of its name has come); < 0: the directory cannot be read. */
int fl_uid_of_pod(const struct fl_fs *fs, const char *logs, const char *pod, char ret[static FL_POD_UID]);
