/* pausing.h - releasing the driver, so that it can be changed, and reopening it.
 *
 * A release is requested by a label of our Node, nvidia.com/gpu.deploy.* = paused-for-..., as the GPU Operator and its
 * MIG manager set it, or by the operator: POST /pause (the body is the reason) and POST /resume on a unix socket, which
 * `fairlead pause` and `fairlead resume` send. Both are facts (Node, PauseRequest). The plan wants DriverPause; its
 * sink releases the driver. Pods keep their devices, and GPUs stay listed as they were.
 *
 * A pause outlives the process: the plan also wants a Pause for each requester, a file in `paused` beside the socket
 * with the reason. A new agent leaves the driver alone until it has read these files, and applies that of the Node
 * until the API server has reported the Node. The socket's directory lasts for one boot (/run), so a boot ends every
 * pause.
 *
 *     fl_pausing_init(&pausing, io, "/run/fairlead/node.sock", log);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_pause_request_kind }, err);
 *     pauses = fl_pausing_pauses(&pausing), fl_loop_source(loop, &pauses, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_driver_pause_kind, NULL, &fl_pausing_sink, &pausing }, err);
 *     fl_pausing_start(&pausing, loop, &gpu);
 *     fl_pausing_listen(&pausing, err);
 *
 * A request is answered when it is applied: 200 when no process of ours uses the driver, or when it is reopened; 504
 * when a process hangs in it; 409 when the opposite holds by then, with the requester.
 */
#pragma once
#include "http/server.h"
#include "node/gpu/gpu.h"
#include "node/gpu/find.h"
#include "run/files_sink.h"
#include "run/folder.h"

struct fl_log;
struct fl_pausing_ask;

/* Zeroed before the init, does not move until the stop. */
struct fl_pausing {
	struct fl_io *io;                      /* NULL: not started */
	char dir[FL_GPU_PATH_MAX];             /* of the stored pauses; "": none is stored */
	struct fl_files_sink files;
	struct fl_folder folder;
	struct fl_loop *loop;
	struct fl_gpu **gpu;
	struct fl_log *log;
	bool paused;                             /* the driver is released, or about to be */
	struct fl_http_server *server;         /* NULL: no control socket */
	const char *path;                      /* of its socket */
	struct fl_pausing_ask *asks;           /* open requests */
	int64_t asked;                         /* number of requests that changed something */
};

extern const struct fl_capability fl_node_pausing;
extern const struct fl_sink fl_pausing_sink;   /* its self is a struct fl_pausing */

/* `path` of the socket is borrowed; "": no socket, and no pause is stored. */
void fl_pausing_init(struct fl_pausing *pausing, struct fl_io *io, const char *path, struct fl_log *log);
struct fl_source fl_pausing_pauses(struct fl_pausing *pausing);

/* `gpu` is read each time it is needed, so it may be set later. */
void fl_pausing_start(struct fl_pausing *pausing, struct fl_loop *loop, struct fl_gpu **gpu);

/* Makes the socket's directory if it is missing; only root may connect. */
int fl_pausing_listen(struct fl_pausing *pausing, struct fl_err *err) FL_MUSTUSE;

void fl_pausing_stop(struct fl_pausing *pausing);   /* drops open requests; safe if not started */
