/* config.h - where Settings come from: a capability like any other, from what was given and from files.
 *
 * Given (once) and ConfigFiles (a folder) are facts, and so is the label nvidia.com/device-plugin.config of our Node;
 * the plan reads them with node/settings/settings.h and wants Settings. A file that is wrong changes nothing but the
 * message. A folder that is not there is a ConfigFile "." that says so.
 *
 * Which of several files counts is not known before the Node was read at the API server. Until then the choice that is
 * kept on the disk (Memo "config") is in force; without one Settings wait, and nothing is served. So they do where the
 * label names no file and none was in force.
 */
#pragma once
#include "node/settings/settings.h"
#include "run/folder.h"

struct fl_config_options {
	const struct fl_settings_given *given;
	const char *file;             /* NVIDIA's configuration; NULL: none. All borrowed */
	const char *dir;              /* or a folder of several, one a name; NULL: none */
	struct fl_str fallback;       /* the one for a Node without the label */
	struct fl_str node;           /* our Node's name */
	struct fl_str space;          /* namespace of our own objects; empty: there is no API server */
	const char *machine;          /* file with the machine's type; NULL: not read */
	const char *label_file;       /* what --labels=file writes; NULL: there is no such output */
	const char *ready_dir;        /* where checks that pass leave files; NULL: nowhere */
};

/* Zeroed before the start; does not move. */
struct fl_config {
	struct fl_folder folder;
	char dir[4096];
};

/* The loop has sources for fl_given_kind, fl_config_file_kind, fl_settings_kind, fl_memo_kind and fl_own_node_kind.
 * Of a file and a folder at most one is given. FL_E_INVALID: what is given makes no sense even without them. */
int fl_config_start(struct fl_config *config, struct fl_io *io, struct fl_loop *loop,
		    const struct fl_config_options *options, struct fl_err *err) FL_MUSTUSE;
void fl_config_stop(struct fl_config *config);     /* one that is not started is left alone */

extern const struct fl_capability fl_node_config;
