/* in.h - what the command line and the file of settings have in common. */
#pragma once
#include "node/settings/settings.h"
#include <stdarg.h>
#include <stdio.h>

/* Where a value stands: "--" and an option, or "" and a path. */
struct fl_settings_at {
	const char *before, *name;
};

/* FL_E_INVALID: "<where>: <what is wrong with it>". */
int fl_settings_refuse(const struct fl_settings_at *at, struct fl_err *err, const char *fmt, ...) FL_PRINTF(3, 4);

int fl_settings_enum(const struct fl_settings_at *at, const struct fl_names *names, struct fl_str text, int *ret,
		     struct fl_err *err) FL_MUSTUSE;
int fl_settings_bool(const struct fl_settings_at *at, struct fl_str text, bool *ret, struct fl_err *err) FL_MUSTUSE;
int fl_settings_discovery(const struct fl_settings_at *at, struct fl_str text, struct fl_err *err) FL_MUSTUSE;

/* An absolute path; and the hook by NVIDIA's names: ours, or one of NVIDIA's, which is warned of. */
int fl_settings_root(const struct fl_settings_at *at, struct fl_str text, struct fl_err *err) FL_MUSTUSE;
int fl_settings_hook(const struct fl_settings_at *at, struct fl_settings *settings, struct fl_arena *arena,
		     struct fl_str path, struct fl_err *err) FL_MUSTUSE;

/* The list of strategies: begin anew, then one after the other. */
int fl_settings_ways_begin(struct fl_settings *settings, struct fl_arena *arena, struct fl_err *err) FL_MUSTUSE;
int fl_settings_way(const struct fl_settings_at *at, struct fl_settings *settings, struct fl_str text,
		    struct fl_err *err) FL_MUSTUSE;

/* What containers get beside their cards: one of it, on or off. */
int fl_settings_extra(struct fl_settings *settings, struct fl_arena *arena, enum fl_extra which, bool on,
		      struct fl_err *err) FL_MUSTUSE;
/* "[]" or "", "[0]" or "0". */
int fl_settings_channel(const struct fl_settings_at *at, struct fl_settings *settings, struct fl_arena *arena,
			struct fl_str text, struct fl_err *err) FL_MUSTUSE;

/* Directory of MPS; an empty text is none. */
int fl_settings_mps_root(const struct fl_settings_at *at, struct fl_settings *settings, struct fl_str text,
			 struct fl_err *err) FL_MUSTUSE;

/* What is understood and not taken, appended to the message. */
int fl_settings_warn(struct fl_settings *settings, struct fl_arena *arena, const struct fl_settings_at *at,
		     const char *what, struct fl_err *err) FL_MUSTUSE;
