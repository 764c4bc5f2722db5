/* settings.h - the settings of this node: from the command line, the environment and NVIDIA's configuration file.
 *
 * Precedence as in NVIDIA's plugin: command line, environment, file, defaults. Its flags, environment variables and
 * file (version v1) are accepted. An unsupported setting is rejected or reported by its name, so that no user relies on
 * it. Options that NVIDIA's plugin does not have are FAIRLEAD_* in the environment.
 *
 *     struct options { struct fl_settings_given given; ... };       given comes first
 *     static const struct fl_option options[] = { FL_SETTINGS_OPTIONS ... };
 *
 *     fl_settings_make(&(struct fl_settings_from){ .given = &config->given, .name = name, .text = text }, &arena,
 *                      &settings, err);
 *     fl_feed_put(fl_loop_feed(loop, &fl_settings_kind), &settings, err);
 *
 * Pure: the caller reads files and watches labels.
 */
#pragma once
#include "node/settings/table.h"

struct fl_settings_from {
	const struct fl_settings_given *given; /* NULL: nothing */
	struct fl_str name, text;              /* of NVIDIA's configuration file; text .p NULL: there is none */
	struct fl_str path;                    /* its name in messages; empty: `name` */
	const char *why;                       /* why a requested file is missing; NULL: none is requested */
	const struct fl_settings *last;        /* the last valid ones; NULL: there were none */
	struct fl_str good_name, good_text;    /* the file that was applied last; .p NULL: none was, or it is gone */
	struct fl_str node, boot;              /* the Node's name, the kernel's boot_id */
};

/* The resulting settings, or FL_E_INVALID with the path of the invalid field and its remedy. Texts are in the arena or
 * borrowed from `from`. After a failure *ret is undefined. */
int fl_settings_read(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err) FL_MUSTUSE;

/* The same, but invalid settings do not fail. Instead the last valid ones apply, or those of the file that was applied
 * last, or those given without a file; their message has the error and which of these apply. Fails with FL_E_NOMEM
 * only. */
int fl_settings_make(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err) FL_MUSTUSE;

/* The defaults: GPUs by UUID over CDI, recovery after 30 s and three health checks; no resource is served. */
int fl_settings_defaults(struct fl_arena *arena, struct fl_settings *ret, struct fl_err *err) FL_MUSTUSE;

/* The default of one of FL_SETTINGS_OPTIONS, as the option would give it; NULL: it has none, or is another option. */
const char *fl_settings_usual(const struct fl_option *option);

/* Chooses the configuration of a node: the one that its label nvidia.com/device-plugin.config names, else `fallback`,
 * else the one named default, else the only one. FL_E_NOTFOUND lists the existing ones. *ret is UINT32_MAX, without an
 * error, if none is named and none exists. */
#define FL_SETTINGS_LABEL "nvidia.com/device-plugin.config"
int fl_settings_choose(const struct fl_str *names, uint32_t count, struct fl_str label, struct fl_str fallback,
		       uint32_t *ret, struct fl_err *err) FL_MUSTUSE;

/* Applies NVIDIA's file alone to *settings; for fl_settings_read, and for fuzzing. */
int fl_settings_file(struct fl_str text, struct fl_arena *arena, struct fl_settings *settings,
		     struct fl_err *err) FL_MUSTUSE;
