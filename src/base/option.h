/* option.h - a command's options in one table, which gives parsing, --help, environment and manual.
 *
 *     struct check { int64_t workers; const char *kubeconfig; struct fl_strs nodes; };
 *
 *     static const struct fl_option options[] = {
 *             FL_OPT_INT(struct check, workers, "workers", "Checks at once.", .letter = 'w', .min = 1, .max = 64,
 *                        .fallback = "4"),
 *             FL_OPT_PATH(struct check, kubeconfig, "kubeconfig", "Whom to ask."),
 *             FL_OPT_STRS(struct check, nodes, "NODE", "Nodes to look at; all when none is named.", .operand = true),
 *     };
 *
 * The kind decides the type of the member, and a row whose member is of another type does not compile. The command line
 * wins over the environment (FAIRLEAD_WORKERS), which wins over the default; all three go through the same parser and
 * the same bounds. On the command line: --workers 4, --workers=4, -w 4, -w4; for a bool --name and --no-name; operands
 * anywhere, all of them after "--".
 *
 * Texts are borrowed from the arguments, the environment or the table, which last as long as the process.
 */
#pragma once
#include "base/buf.h"
#include "base/vec.h"

#define FL_OPTIONS 128              /* of one command: two flags each, and the agent has some 70 */
#define FL_OPTION_NAME 40           /* bytes of its name: the longest of ours have 32 */
#define FL_OPTION_VALUES 10000      /* of a list on the command line: its shell has a limit of its own, near 2 MiB */

enum fl_option_kind {
	FL_OPTION_BOOL, FL_OPTION_INT, FL_OPTION_DURATION, FL_OPTION_ENUM, FL_OPTION_STR,
		FL_OPTION_PATH,
	FL_OPTION_STRS, FL_OPTION_KIND_COUNT_
};
extern const struct fl_names fl_option_kind_names;

struct fl_strs {
	struct fl_str *at;
	uint32_t len, cap;
};

struct fl_option {
	const char *name;               /* "kubeconfig"; of an operand in capitals: "NODE" */
	const char *says;               /* one sentence or two */
	enum fl_option_kind kind;
	uint32_t offset;                /* of the member in the command's struct */
	char letter;                    /* -w; 0: none */
	bool operand;                   /* stands by itself; in the table's order, a list at the end */
	bool required;
	bool hidden;                    /* parsed, but not in help */
	bool bare;                      /* of a yes-or-no text: --name alone is "true", --no-name "false" */
	const char *fallback;           /* the default, as one would write it; NULL: zero, false, no text */
	const char *env;                /* NULL: the prefix and the name; "": none */
	const char *also, *env_also;    /* second names on the command line and in the environment, not in help */
	bool empty;                     /* an empty value in the environment counts; else it is none */
	const char *value;              /* what help calls the value; NULL: as its kind is called */
	const struct fl_names *names;   /* of an enum */
	int64_t min, max;               /* of a number or ns; both 0: any number, any duration from 0 */
};

/* Rows. After the sentence come the other members, as .letter = 'w'. A duration is in ns. A text that was not given has
 * a NULL pointer. A list may be given many times; in the environment, commas part it. */
#define FL_OPT_BOOL(type_, member, ...) FL_OPTION_(BOOL, type_, member, bool, __VA_ARGS__)
#define FL_OPT_INT(type_, member, ...) FL_OPTION_(INT, type_, member, int64_t, __VA_ARGS__)
#define FL_OPT_DURATION(type_, member, ...) FL_OPTION_(DURATION, type_, member, int64_t, __VA_ARGS__)
#define FL_OPT_STR(type_, member, ...) FL_OPTION_(STR, type_, member, struct fl_str, __VA_ARGS__)
#define FL_OPT_PATH(type_, member, ...) FL_OPTION_(PATH, type_, member, const char *, __VA_ARGS__)
#define FL_OPT_STRS(type_, member, ...) FL_OPTION_(STRS, type_, member, struct fl_strs, __VA_ARGS__)
#define FL_OPT_ENUM(type_, member, enum_, ...) \
	FL_OPTION_(ENUM, type_, member, enum enum_, __VA_ARGS__, .names = &enum_##_names)

#define FL_OPTION_(kind_, type_, member, c_type, name_, says_, ...) \
	{ .name = name_, .says = says_, .kind = FL_OPTION_##kind_, \
	  .offset = offsetof(type_, member) + FL_OPTION_SAME_TYPE_(type_, member, c_type), __VA_ARGS__ }
#define FL_OPTION_SAME_TYPE_(type_, member, c_type) \
	0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((type_ *)0)->member), c_type) ? 1 : -1])

/* What a program was started with. */
struct fl_args {
	const char *const *argv;        /* without the program's name */
	uint32_t argc;
	const char *const *env;         /* "NAME=value", NULL at the end; NULL: no environment */
};

struct fl_options {
	const struct fl_option *rows;
	uint32_t count;
	const char *env_prefix;         /* "FAIRLEAD_" */
	/* For help: the default of a row without one, which whoever takes its value applies. NULL: it has none. */
	const char *(*usual)(const struct fl_option *row);
};

/* Fill in the struct, which is zeroed. -FL_E_INVALID with words for a person, -FL_E_NOMEM. To be released with
 * fl_options_release in both cases. *ret_help: --help or -h was met; then nothing else counts and 0 is returned. */
int fl_options_parse(const struct fl_options *options, const struct fl_args *args, void *config, bool *ret_help,
		     struct fl_err *err) FL_MUSTUSE;
void fl_options_release(const struct fl_options *options, void *config);

/* Words that begin with "--name: " begin with the name that was given instead: a second one, or the environment's. */
void fl_options_as_given(const struct fl_options *options, const struct fl_args *args, struct fl_err *err);

/* Is the table sound? For a test of every table: names, letters and order are right, defaults are within bounds.
 * -FL_E_INVALID with what is wrong. */
int fl_options_check(const struct fl_options *options, struct fl_err *err) FL_MUSTUSE;

/* The name in the environment, or nothing when it has none. */
void fl_option_env(const struct fl_options *options, const struct fl_option *row, struct fl_buf *buf);
