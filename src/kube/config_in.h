/* config_in.h - the inside of config.c and config_choose.c: kubeconfig files that were read, and what is chosen of
 * them. */
#pragma once
#include "base/units.h"
#include "kube/config.h"
#include "kube/kubeconfig.h"

#define FL_KUBECONFIG_MAX (4 * FL_MIB)   /* one file: a thousand clusters with their certificates */

struct fl_kc_file {
	struct fl_str name;            /* its path: what relative paths in it are relative to, and for messages */
	struct fl_kubeconfig config;
};

struct fl_kc_files {
	struct fl_kc_file *at;
	uint32_t len, max;
	struct fl_arena *arena;        /* the configuration's: all texts end up there */
};

/* Read one text behind the others. */
int fl_kc_add(struct fl_kc_files *files, struct fl_str name, struct fl_str text, struct fl_err *err) FL_MUSTUSE;

/* Fill in the configuration from the context that is meant. `fs`: to find exec plugins; NULL: take them as they are. */
int fl_kc_choose(const struct fl_kc_files *files, const struct fl_kube_where *where, const struct fl_fs *fs,
		 struct fl_kube_config *config, struct fl_err *err) FL_MUSTUSE;

/* config_exec.c: the plugin of a user; paths are relative to `folder`. */
int fl_kc_exec(const struct fl_kc_exec *exec, struct fl_str folder, const struct fl_kube_where *where,
	       const struct fl_fs *fs, struct fl_kube_config *config, struct fl_err *err) FL_MUSTUSE;

struct fl_str fl_kc_folder(struct fl_str file);          /* without the slash; "." when it has none */
const char *fl_kc_path(struct fl_arena *arena, struct fl_str folder, struct fl_str path);
const char *fl_kc_text(struct fl_arena *arena, struct fl_str s);   /* terminated; NULL when refused */
struct fl_str fl_kc_env(const struct fl_kube_where *where, const char *name);   /* .p NULL: not set or empty */

/* Would a url of this host leave the machine? */
bool fl_kc_url_local(struct fl_str url);
