/* holding.h - letting go of the driver, so that somebody else can change it, and taking it up again.
 *
 * Asked for by a label of our Node, nvidia.com/gpu.deploy.* = paused-for-..., as the GPU Operator and its MIG manager
 * set it, or by the operator's word: POST /pause (the body says what for) and POST /resume on a unix socket, which
 * `fairlead pause` and `fairlead resume` send. Both are facts (Node, Pause); the plan wants Hold; its sink lets go.
 * Pods keep what they have, and cards stay listed as they were.
 *
 *     fl_loop_source(loop, &(struct fl_source){ &fl_pause_kind }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_hold_kind, NULL, &fl_holding_sink, &holding }, err);
 *     fl_holding_start(&holding, io, loop, &gpu, log);
 *     fl_holding_listen(&holding, "/run/fairlead/node.sock", err);
 *
 * A request is answered when it is carried out: 200 when all processes are gone from the driver, or it is taken up
 * again; 504 when one of them hangs there.
 */
#pragma once
#include "http/server.h"
#include "node/gpu.h"

struct fl_log;
struct fl_holding_ask;

/* Zeroed before the start, does not move until the stop. */
struct fl_holding {
	struct fl_io *io;                      /* NULL: not started */
	struct fl_loop *loop;
	struct fl_gpu **gpu;
	struct fl_log *log;
	bool held;                             /* the driver is let go of, or about to be */
	struct fl_http_server *server;         /* NULL: nobody can ask */
	const char *path;
	struct fl_holding_ask *asks;           /* requests that wait */
};

extern const struct fl_capability fl_node_hold;
extern const struct fl_sink fl_holding_sink;   /* its self is a struct fl_holding */

/* `gpu` is looked at when something is to be done. */
void fl_holding_start(struct fl_holding *holding, struct fl_io *io, struct fl_loop *loop, struct fl_gpu **gpu,
		      struct fl_log *log);

/* The folder of the socket is made where it is missing; only root may ask. `path` is borrowed. */
int fl_holding_listen(struct fl_holding *holding, const char *path, struct fl_err *err) FL_MUSTUSE;

void fl_holding_stop(struct fl_holding *holding);   /* open requests are gone; one not started is left alone */
