/* program.h - the program `fairlead`: its table of verbs.
 *
 * A verb is one file, cmd_NAME.c, that defines `const struct fl_command fl_cmd_NAME`, and one line in the list below.
 */
#pragma once
#include "base/command.h"

#define FL_VERBS(X) \
	X(cdi_hook) \
	X(controller) \
	X(crd) \
	X(docs_api) \
	X(explain) \
	X(gpu) \
	X(mps) \
	X(node) \
	X(pause) \
	X(resume) \
	X(sim) \
	X(version) \
	X(help)

#define FL_VERB_(name) extern const struct fl_command fl_cmd_##name;
FL_VERBS(FL_VERB_)
#undef FL_VERB_

extern const struct fl_program fl_program;

/* What the controller does (run/loop.h), NULL at the end; the agent's is fl_agent_capabilities (node/agent.h). */
struct fl_capability;
extern const struct fl_capability *const fl_controller_capabilities[];

/* How a verb answers: for a person or for a program. */
enum fl_output { FL_OUTPUT_TEXT, FL_OUTPUT_JSON, FL_OUTPUT_COUNT_ };
extern const struct fl_names fl_output_names;

/* To stdout, all of it. What the buffer could not hold is a failure; 0 is the status to exit with. */
int fl_print(const struct fl_buf *buf, struct fl_err *err) FL_MUSTUSE;
