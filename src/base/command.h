/* command.h - the verbs of a program in one table: what is called, its help, its manual, its completion.
 *
 *     const struct fl_command fl_cmd_check = {
 *             "check", "Look whether the cards of this node are ready.", .options = options, FL_COMMAND_OPTIONS(...),
 *             .run = check,
 *     };
 *
 * A name may have two words ("sim xid"). `PROGRAM help VERB`, `PROGRAM VERB --help` and `PROGRAM --help` follow from
 * the table.
 */
#pragma once
#include "base/option.h"
#include "base/units.h"

#define FL_HELP_COLUMNS 80          /* of a terminal of default width */
#define FL_HELP_MAX (256 * FL_KIB)  /* the manual of all commands */

struct fl_program;
struct fl_command;

/* A parsed command line. */
struct fl_call {
	const struct fl_program *program;
	const struct fl_command *command;   /* NULL: help of the whole program was asked for */
	bool help;
	void *config;                       /* the command's struct, filled in; the call's */
};

struct fl_command {
	const char *name;
	const char *says;                   /* one sentence */
	const char *about;                  /* paragraphs parted by empty lines, or NULL */
	const struct fl_option *options;
	uint32_t option_count;
	uint32_t config_size;               /* of the struct that the options fill in */
	bool hidden;
	const char *(*usual)(const struct fl_option *row);   /* as in struct fl_options; may be NULL */
	/* Further rules for the options, of several together for example; part of parsing, so it does no I/O.
	 * -FL_E_INVALID with words for a person. NULL: there are none. */
	int (*check)(const struct fl_call *call, struct fl_err *err);
	/* The status to exit with, or -code with words for a person. */
	int (*run)(const struct fl_call *call, struct fl_err *err);
};
#define FL_COMMAND_OPTIONS(rows_, type_) \
	.options = (rows_), .option_count = FL_LEN(rows_), .config_size = sizeof(type_)

struct fl_program {
	const char *name;                   /* "fairlead" */
	const char *says;                   /* one sentence */
	const char *env_prefix;             /* "FAIRLEAD_" */
	const struct fl_command *const *commands;
	uint32_t count;
};

/* -FL_E_INVALID with a text that names what is valid (exit with 2), or -FL_E_NOMEM. Release it in any case. It runs
 * nothing: call call->command->run(call, err), unless call->help. */
int fl_call_parse(struct fl_call *ret, const struct fl_program *program, const struct fl_args *args,
		  struct fl_err *err) FL_MUSTUSE;
void fl_call_release(struct fl_call *call);

/* Is this "NAME=value" of the environment meant for the program, and no option of any of its commands, letter for
 * letter? What Kubernetes sets for a Service is not meant for it: ..._SERVICE_HOST, and a ..._PORT whose
 * ..._SERVICE_HOST is there too or whose value is a URL. *ret_name: its name; *ret_nearest: the most similar one that
 * there is, in the buffer, which is emptied; nothing: none is similar. */
bool fl_program_unknown_env(const struct fl_program *program, const char *const *env, const char *entry,
			    struct fl_str *ret_name, struct fl_buf *ret_nearest);

/* The command that these words begin with, and how many of them are its name; NULL: none. */
const struct fl_command *fl_command_find(const struct fl_program *program, const char *const *words, uint32_t count,
					 uint32_t *ret_used);

/* For a terminal: of one command, or of the program (NULL). */
void fl_help(const struct fl_program *program, const struct fl_command *command, struct fl_buf *buf);

/* The manual, for docs/cli: one page of Markdown a command. */
void fl_help_markdown(const struct fl_program *program, const struct fl_command *command, struct fl_buf *buf);

/* A script for bash that completes verbs, options and names of enums. */
void fl_help_bash(const struct fl_program *program, struct fl_buf *buf);

/* For a test: the whole table is sound. -FL_E_INVALID with what is wrong. */
int fl_program_check(const struct fl_program *program, struct fl_err *err) FL_MUSTUSE;

static inline void fl_call_auto_(struct fl_call *call)
{
	fl_call_release(call);
}
