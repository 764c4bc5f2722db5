/* gpu_child.h - what the agent and its GPU children say to each other (io/supervisor.h, io/serve.h), and the child.
 *
 * Payloads are JSON by the tables of api/node.h: a child answers with objects that the agent puts into its cache as
 * they are. The child is the same program, so neither side ever meets another version.
 */
#pragma once
#include "base/command.h"

/* Requests. A child loads the library with the first of them and keeps it. */
enum fl_gpu_ask {
	FL_GPU_ASK_DRIVER = 1,   /* -> Driver, without state; and the addresses of its cards: {"driver":{},"cards":[]} */
	FL_GPU_ASK_CARD,         /* an address -> Card, as far as the driver knows it */
	FL_GPU_ASK_CHECK,        /* an address -> Card, after making a CUDA context where libcuda is there */
	FL_GPU_ASK_EVENTS,       /* addresses -> which of them report; from then on the child only waits and tells */
};

/* What it tells unasked. */
enum fl_gpu_tell {
	FL_GPU_TELL_FAULT = 1,   /* Fault */
	FL_GPU_TELL_CHANGED,     /* an address: MIG layout or state of this card may be another one */
};

/* Refusals: FL_E_NOTFOUND no library or no driver, FL_E_UNSUPPORTED it is of another version than the kernel's part,
 * FL_E_CLOSED the card is lost, others as the words say. */

/* `fairlead gpu`: its fd 3 is the agent. --library: path of libnvidia-ml.so.1. */
extern const struct fl_command fl_cmd_gpu;
