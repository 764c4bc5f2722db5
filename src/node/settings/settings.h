/* settings.h - how this node hands out its GPUs: the command line, the environment, and NVIDIA's configuration file.
 *
 * The command line and the environment come before the file, and the file before the defaults, as NVIDIA's plugin has
 * it. Its flags, environment names and file (version v1) are understood; what we do not do is
 * refused or reported by its name, so that nobody believes to have it. Options of ours that NVIDIA does not have are
 * FAIRLEAD_* in the environment.
 *
 *     struct options { struct fl_settings_given given; ... };       given comes first
 *     static const struct fl_option options[] = { FL_SETTINGS_OPTIONS ... };
 *
 *     fl_settings_make(&(struct fl_settings_from){ .given = &config->given, .name = name, .text = text }, &arena,
 *                      &settings, err);
 *     fl_feed_put(fl_loop_feed(loop, &fl_settings_kind), &settings, err);
 *
 * Pure: files are read, and labels watched, by whoever calls.
 */
#pragma once
#include "node/settings/table.h"

struct fl_settings_from {
	const struct fl_settings_given *given; /* NULL: nothing */
	struct fl_str name, text;              /* of NVIDIA's configuration file; text .p NULL: there is none */
	struct fl_str path;                    /* as messages call it; empty: by its name */
	const char *why;                       /* why there is none although one is asked for; NULL: none is */
	const struct fl_settings *last;        /* the last good ones; NULL: there were none */
	struct fl_str good_name, good_text;    /* the file that was in force last; .p NULL: none was, or it is gone */
	struct fl_str node, boot;              /* the Node's name, the kernel's boot_id */
};

/* What follows from them, or FL_E_INVALID with the path of what is wrong and what to write instead. Texts lie in the
 * arena or where they came from. After a failure *ret is of no use. */
int fl_settings_read(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err) FL_MUSTUSE;

/* The same, and a mistake is no end: then the last good ones stay in force, or those of the file that was in force
 * last, or what was given without a file; and their message says what is wrong, and which of them it is. FL_E_NOMEM
 * only. */
int fl_settings_make(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err) FL_MUSTUSE;

/* Without anything given: cards by UUID over CDI, damped by 30 s and three looks; nothing is served that nobody asked
 * for. */
int fl_settings_defaults(struct fl_arena *arena, struct fl_settings *ret, struct fl_err *err) FL_MUSTUSE;

/* Which of several named configurations a node has: the one that its label nvidia.com/device-plugin.config names, else
 * `fallback`, else the one that is called default, else the only one. FL_E_NOTFOUND names those that there are; *ret is
 * UINT32_MAX where nothing names one and there are none, which is no mistake. */
#define FL_SETTINGS_LABEL "nvidia.com/device-plugin.config"
int fl_settings_choose(const struct fl_str *names, uint32_t count, struct fl_str label, struct fl_str fallback,
		       uint32_t *ret, struct fl_err *err) FL_MUSTUSE;

/* NVIDIA's file alone, laid over what is there; for fl_settings_read, and for fuzzing. */
int fl_settings_file(struct fl_str text, struct fl_arena *arena, struct fl_settings *settings,
		     struct fl_err *err) FL_MUSTUSE;
