/* sandboxes.h - UIDs and labels of this node's Pods, as the container runtime has them.
 *
 * By CRI's ListPodSandbox, when it is asked for: the kubelet's PodResources names Pods only, and a watch of Pods would
 * load the API server. What was known stays while the runtime does not answer: without it no other Pod starts.
 *
 * Labels are made fit for a line: characters that Prometheus does not take are '_', and a label that the line has
 * anyway, or that would be there twice, is left out.
 */
#pragma once
#include "grpc/client.h"
#include "plan/exporter/lines.h"
#include <regex.h>

#define FL_SANDBOXES_TIMEOUT (5 * FL_NS_PER_S)   /* of one call, of some hundred Pods */
#define FL_SANDBOXES_LABELS (2 * FL_KIB)         /* of one Pod's labels on a line: others are left out */
#define FL_SANDBOXES_PATTERNS 16                 /* of labels that are told: people write them by hand */

struct fl_log;

struct fl_sandboxes_options {
	const char *(*socket)(void *arg);        /* of the runtime */
	void *arg;
	bool labels;                             /* are they wanted? */
	struct fl_str allow;                     /* patterns, between commas; empty: all labels */
	struct fl_log *log;
};

/* Zeroed before the start; does not move. */
struct fl_sandboxes {
	struct fl_io *io;                        /* NULL: not started */
	struct fl_sandboxes_options options;
	regex_t patterns[FL_SANDBOXES_PATTERNS];
	uint32_t pattern_len;
	struct fl_grpc_client *client;
	struct fl_grpc_request list;
	struct fl_err err, why;
	struct fl_arena arena;                   /* of what is known */
	struct fl_dcgm_pod *pods;
	uint32_t len;
	void (*changed)(struct fl_sandboxes *sandboxes);   /* after each answer; may be NULL */
};

/* FL_E_INVALID: a pattern is none. For settings, before anything is started. */
int fl_sandboxes_check(struct fl_str allow, struct fl_err *err) FL_MUSTUSE;

int fl_sandboxes_start(struct fl_sandboxes *sandboxes, struct fl_io *io, const struct fl_sandboxes_options *options,
		       struct fl_err *err) FL_MUSTUSE;
void fl_sandboxes_ask(struct fl_sandboxes *sandboxes);   /* while it is asked already: nothing */
void fl_sandboxes_stop(struct fl_sandboxes *sandboxes);  /* one that is not started is left alone */
