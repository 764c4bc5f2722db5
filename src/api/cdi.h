/* cdi.h - a file of the Container Device Interface, as the specification 1.1.0 has it.
 *
 * Its name in the cache is the file's; metadata is ours and is not written. The writer chooses the lowest version that
 * has all that the file uses: runtimes refuse versions that they do not know.
 *
 * What is wanted is shown as if it were so while it is being written. That a file is on the disk is said by `onDisk`
 * alone, which nobody wants and only who has read or written the file tells: then it is fl_cdi_digest of the rest.
 */
#pragma once
#include "api/node.h"

#define FL_CDI_NODE(X) \
	X(STR, path, "path", .required = true, .help = "In the container.") \
	X(STR, host_path, "hostPath", .help = "On the host, where that is another one.") \
	X(STR, type, "type", .help = "c, b, u, p.") \
	X(I64, major, "major", .help = "Its numbers.") \
	X(I64, minor, "minor", .help = "Its numbers.") \
	X(I32, mode, "fileMode", .help = "Permission bits.") \
	X(STR, permissions, "permissions", .help = "Of r, w, m.") \
	X(I64, uid, "uid", .help = "Its user in the container.") \
	X(I64, gid, "gid", .help = "Its group in the container.")
FL_STRUCT(fl_cdi_node, FL_CDI_NODE);

#define FL_CDI_MOUNT(X) \
	X(STR, host_path, "hostPath", .required = true, .help = "On the host.") \
	X(STR, path, "containerPath", .required = true, .help = "In the container.") \
	X(STRS, options, "options", .help = "As for mount(8).") \
	X(STR, type, "type", .help = "Of the file system.")
FL_STRUCT(fl_cdi_mount, FL_CDI_MOUNT);

#define FL_CDI_HOOK(X) \
	X(STR, name, "hookName", .required = true, .help = "createContainer, ...") \
	X(STR, path, "path", .required = true, .help = "Of the program, on the host.") \
	X(STRS, args, "args", .help = "With its own name in front.") \
	X(STRS, env, "env", .help = "NAME=value.") \
	X(I32, timeout, "timeout", .help = "Seconds.")
FL_STRUCT(fl_cdi_hook, FL_CDI_HOOK);

#define FL_CDI_EDITS(X) \
	X(STRS, env, "env", .help = "NAME=value.") \
	X(LIST(fl_cdi_node), nodes, "deviceNodes", .help = "Device nodes.") \
	X(LIST(fl_cdi_mount), mounts, "mounts", .help = "Mounts.") \
	X(LIST(fl_cdi_hook), hooks, "hooks", .help = "Programs of the host that change the container.") \
	X(LIST_OF(I64), gids, "additionalGids", .help = "Groups that the process gets.")
FL_STRUCT(fl_cdi_edits, FL_CDI_EDITS);

#define FL_CDI_DEVICE(X) \
	X(STR, name, "name", .required = true, .help = "The part behind the = of a qualified name.") \
	X(OBJ(fl_cdi_edits), edits, "containerEdits", .required = true, .help = "What the device brings.")
FL_STRUCT(fl_cdi_device, FL_CDI_DEVICE);

#define FL_CDI_SPEC(X) \
	FL_LOCAL(X) \
	X(STR, version, "cdiVersion", .required = true, .help = "0.5.0") \
	X(STR, kind, "kind", .required = true, .help = "vendor/class") \
	X(LIST(fl_cdi_device), devices, "devices", .required = true, .help = "Sorted by name.") \
	X(OBJ(fl_cdi_edits), edits, "containerEdits", .help = "What each of them brings.") \
	X(I64, on_disk, "onDisk", .local = true, .help = "Digest of what lies in the directory.")
FL_STRUCT(fl_cdi_spec, FL_CDI_SPEC);
extern const struct fl_kind fl_cdi_spec_kind;

/* ---- CdiTrouble: by the file's name ---- */
#define FL_CDI_TROUBLE(X) \
	FL_LOCAL(X) \
	X(STR, why, "why", .required = true, .help = "Why the file cannot be written, and what to do.")
FL_STRUCT(fl_cdi_trouble, FL_CDI_TROUBLE);
extern const struct fl_kind fl_cdi_trouble_kind;

/* Of all that stands in the file; never 0. 0: no memory. */
int64_t fl_cdi_digest(const struct fl_cdi_spec *spec);
