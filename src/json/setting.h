/* setting.h - settings of a program: a row gives an option, a place in a file, and the member that both write.
 *
 * The option, its names in the environment and the value's place in a file lead to the same reader, so they have the
 * same bounds and the same errors. The member belongs to a struct with a binding table (json/bind.h), which gives the
 * names of an enum and the member's presence.
 *
 *     static const struct fl_setting rows[] = {
 *             { .kind = FL_SETTING_ENUM, .member = offsetof(struct fl_place, mode), .option = "mode",
 *               .given = offsetof(struct given, mode), .file = "place.mode", .fallback = "Manual" },
 *     };
 *     struct fl_setting_in in = { rows, FL_LEN(rows), fl_place_bind(), &place, arena, .err = err };
 *
 *     fl_setting_fallbacks(&in); fl_setting_file(&in, doc); fl_setting_options(&in, &given);
 *
 * A later call replaces what an earlier one wrote: that is the precedence. Texts of a file are copied into the arena,
 * texts of options are borrowed. All functions return -FL_E_INVALID, with where the value stands and what to write
 * instead, or -FL_E_NOMEM. Names in a file count in any case, as sigs.k8s.io/yaml takes them; two that differ in
 * nothing else are refused. Pure.
 */
#pragma once
#include "base/option.h"
#include "json/bind.h"
#include "json/json.h"

enum fl_setting_kind {
	FL_SETTING_BOOL,         /* as Go's strconv.ParseBool reads it; in a file, a JSON bool */
	FL_SETTING_ENUM,
	FL_SETTING_TEXT,
	FL_SETTING_PATH,         /* absolute. In a file, an empty one is none. A member that is a list gets the one */
	FL_SETTING_QUALIFIED,    /* vendor.example/class */
	FL_SETTING_DURATION,     /* within .min and .max; .max 0: no ceiling */
	FL_SETTING_NUMBER,
	FL_SETTING_LIST,         /* names of an enum, each once, as they were given */
	FL_SETTING_SET,          /* of an option: the same in the order of the enum; "all" is all of them */
	FL_SETTING_ELEMENT,      /* a bool: does the set have .element? */
	FL_SETTING_ANY,          /* any text; in a file, anything but an object. Nothing is made of it */
	FL_SETTING_UNREAD,       /* in a file: not even looked at */
	FL_SETTING_OBJECTS,      /* in a file: a list of objects; rows of theirs begin with "place[]." */
	FL_SETTING_OWN,          /* .own reads it */
	FL_SETTING_LATER,        /* an option that the caller reads itself */
};

struct fl_setting;
struct fl_setting_in;

/* One value, and where it stands: in a file, or as the text of an option. */
struct fl_setting_value {
	const struct fl_setting *row;    /* which it is read by; NULL: none, and it has a place only */
	const char *before, *place;      /* "--" and an option; or "" and a name */
	struct fl_str text;
	yyjson_val *json;                /* in a file, which then is the place; NULL: it is a text */
};

struct fl_setting {
	const char *option;              /* NULL: has none */
	const char *file, *file_also;    /* "flags.migStrategy"; NULL: it has no place there */
	enum fl_setting_kind kind;
	bool given_list;                 /* is .given a struct fl_strs, or a struct fl_str? */
	bool required;                   /* in the object of the file that it is a member of */
	bool none_at_zero;               /* DURATION: 0 leaves the member as it is */
	uint32_t given;                  /* offset of the option's text */
	uint32_t member;                 /* offset; 0: the value is checked, and nothing is made of it */
	const struct fl_names *names;    /* of an ENUM without a member */
	const char *fallback;            /* the default, as an option would write it */
	int element;                     /* ELEMENT; SET: 1 + the one that is not supported, and why */
	const char *unsupported;
	int64_t min, max;
	const char *wanted;              /* "no time from 0s to 1h": of a refused text; ENUM, NUMBER: may be NULL */
	const char *blank;               /* LIST: what to write in place of an empty list of a file */
	const char *untaken;             /* a warning about each value in a file that was read without fault */
	int (*own)(struct fl_setting_in *in, const struct fl_setting_value *value);
};

struct fl_setting_in {
	const struct fl_setting *rows;
	uint32_t count;
	const struct fl_bind *bind;      /* NULL: a struct without presence bits */
	void *object;
	struct fl_arena *arena;
	struct fl_str *untaken;          /* what is understood and not taken: "place: why; place: why" */
	const char *unknown;             /* the warning about a name that no row has */
	struct fl_err *err;
	const yyjson_doc *doc;
	void *arg;                       /* of the rows' own readers */
};

int fl_setting_fallbacks(struct fl_setting_in *in) FL_MUSTUSE;
int fl_setting_options(struct fl_setting_in *in, const void *given) FL_MUSTUSE;
/* A name that no row has is a warning, as it may be of a later version. null is absence. */
int fl_setting_file(struct fl_setting_in *in, yyjson_doc *doc) FL_MUSTUSE;
/* An object inside the file, into an object of its own, by rows of its own: the rest is as of `in`. */
int fl_setting_object(const struct fl_setting_in *in, const struct fl_setting *rows, uint32_t count,
		      const struct fl_bind *bind, void *object, yyjson_val *json) FL_MUSTUSE;

/* For readers of a row's own. The text of a value, wherever it stands; FL_E_INVALID where the file has no text. */
int fl_setting_text(struct fl_setting_in *in, const struct fl_setting_value *value, struct fl_str *ret) FL_MUSTUSE;
int fl_setting_bool(const struct fl_setting_in *in, const struct fl_setting_value *value, bool *ret) FL_MUSTUSE;
int fl_setting_refuse(const struct fl_setting_in *in, const struct fl_setting_value *value, const char *fmt, ...)
	FL_PRINTF(3, 4);
/* "'text' is no name": the text is cut where it is long. And "a number is wanted, found a list". */
int fl_setting_refuse_text(const struct fl_setting_in *in, const struct fl_setting_value *value, struct fl_str text,
			   const char *what);
int fl_setting_refuse_kind(const struct fl_setting_in *in, const struct fl_setting_value *value, const char *wanted);
int fl_setting_no_memory(const struct fl_setting_in *in);
int fl_setting_warn(struct fl_setting_in *in, const struct fl_setting_value *value, const char *what) FL_MUSTUSE;
int fl_setting_path(struct fl_setting_in *in, const struct fl_setting_value *value, struct fl_str text) FL_MUSTUSE;
/* Puts the row's element into its set, or takes it out. */
int fl_setting_element(struct fl_setting_in *in, const struct fl_setting *row, bool on) FL_MUSTUSE;
