/* cdi.h - a file of the Container Device Interface (CDI), specification 1.1.0.
 *
 * An object's name is the file's; metadata is not written to the file. The writer chooses the lowest version that has
 * all features used: runtimes refuse unknown versions.
 *
 * While a file is being written, the cache shows the desired content. Only `onDisk` shows what is on the disk: after a
 * read or a write of the file it is fl_cdi_digest of the other members. It is never part of the desired state.
 */
#pragma once
#include "api/node.h"

#define FL_CDI_YAML ".yaml"   /* names of CdiSpecs end in it where they stand for such a file */

#define FL_CDI_NODE(X) \
	X(STR, path, "path", .required = true, .help = "Path in the container.") \
	X(STR, host_path, "hostPath", .help = "Path on the host; absent: the same.") \
	X(STR, type, "type", .help = "Type of the node: c, b, u or p.") \
	X(I64, major, "major", .help = "Major number.") \
	X(I64, minor, "minor", .help = "Minor number.") \
	X(I32, mode, "fileMode", .help = "Permission bits.") \
	X(STR, permissions, "permissions", .help = "Any of r, w, m.") \
	X(I64, uid, "uid", .help = "Its owner in the container.") \
	X(I64, gid, "gid", .help = "Its group in the container.")
FL_STRUCT(fl_cdi_node, FL_CDI_NODE);

#define FL_CDI_MOUNT(X) \
	X(STR, host_path, "hostPath", .required = true, .help = "Path on the host.") \
	X(STR, path, "containerPath", .required = true, .help = "Path in the container.") \
	X(STRS, options, "options", .help = "Options of mount(8).") \
	X(STR, type, "type", .help = "Type of the file system.")
FL_STRUCT(fl_cdi_mount, FL_CDI_MOUNT);

#define FL_CDI_HOOK(X) \
	X(STR, name, "hookName", .required = true, .help = "createContainer, ...") \
	X(STR, path, "path", .required = true, .help = "Path of the program, on the host.") \
	X(STRS, args, "args", .help = "Arguments, its own name first.") \
	X(STRS, env, "env", .help = "NAME=value.") \
	X(I32, timeout, "timeout", .help = "Time limit in seconds.")
FL_STRUCT(fl_cdi_hook, FL_CDI_HOOK);

#define FL_CDI_EDITS(X) \
	X(STRS, env, "env", .help = "NAME=value.") \
	X(LIST(fl_cdi_node), nodes, "deviceNodes", .help = "Device nodes.") \
	X(LIST(fl_cdi_mount), mounts, "mounts", .help = "Mounts.") \
	X(LIST(fl_cdi_hook), hooks, "hooks", .help = "Programs of the host that change the container.") \
	X(LIST_OF(I64), gids, "additionalGids", .help = "Additional groups of the container's process.")
FL_STRUCT(fl_cdi_edits, FL_CDI_EDITS);

#define FL_CDI_DEVICE(X) \
	X(STR, name, "name", .required = true, .help = "The part behind the = of a qualified name.") \
	X(OBJ(fl_cdi_edits), edits, "containerEdits", .required = true, .help = "Changes to its container.")
FL_STRUCT(fl_cdi_device, FL_CDI_DEVICE);

#define FL_CDI_SPEC(X) \
	FL_LOCAL(X) \
	X(STR, version, "cdiVersion", .required = true, .help = "0.5.0") \
	X(STR, kind, "kind", .required = true, .help = "vendor/class") \
	X(LIST(fl_cdi_device), devices, "devices", .required = true, .help = "Sorted by name.") \
	X(OBJ(fl_cdi_edits), edits, "containerEdits", .help = "Changes to a container with any of the devices.") \
	X(I64, on_disk, "onDisk", .local = true, .help = "Digest of the file on the disk; absent: none.")
FL_STRUCT(fl_cdi_spec, FL_CDI_SPEC);
extern const struct fl_kind fl_cdi_spec_kind;

/* ---- CdiTrouble: by the file's name ---- */
#define FL_CDI_TROUBLE(X) \
	FL_LOCAL(X) \
	X(STR, why, "why", .required = true, .help = "Why the file cannot be written, and what to do.")
FL_STRUCT(fl_cdi_trouble, FL_CDI_TROUBLE);
extern const struct fl_kind fl_cdi_trouble_kind;

/* A digest of the file's content; 0: no memory. */
int64_t fl_cdi_digest(const struct fl_cdi_spec *spec);
