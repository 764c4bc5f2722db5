/* pausing.h - releasing the driver, so that it can be changed, and reopening it.
 *
 * Asked for by a label of our Node, nvidia.com/gpu.deploy.* = paused-for-..., as the GPU Operator and its MIG manager
 * set it, or by the operator's word: POST /pause (the body says what for) and POST /resume on a unix socket, which
 * `fairlead pause` and `fairlead resume` send. Both are facts (Node, PauseRequest); the plan wants DriverPause; its
 * sink lets go. Pods keep what they have, and cards stay listed as they were.
 *
 * A pause outlives the process: the plan wants Pause too, of each who asks, which is a file in `paused` beside the
 * socket and says why. An agent that comes anew leaves the driver alone until it has read them, and holds to that of
 * the Node until the API server tells of the Node. The socket's folder is the machine's for one boot (/run), and so are
 * they: a boot ends every pause.
 *
 *     fl_pausing_init(&pausing, io, "/run/fairlead/node.sock", log);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_pause_request_kind }, err);
 *     pauses = fl_pausing_pauses(&pausing), fl_loop_source(loop, &pauses, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_driver_pause_kind, NULL, &fl_pausing_sink, &pausing }, err);
 *     fl_pausing_start(&pausing, loop, &gpu);
 *     fl_pausing_listen(&pausing, err);
 *
 * A request is answered when it is carried out: 200 when all processes are gone from the driver, or it is reopened
 * again; 504 when one of them hangs there; 409 when it is the other way round by then, and who wants it so.
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
	char dir[FL_GPU_PATH_MAX];             /* of what is remembered; "": nowhere */
	struct fl_files_sink files;
	struct fl_folder folder;
	struct fl_loop *loop;
	struct fl_gpu **gpu;
	struct fl_log *log;
	bool paused;                             /* the driver is released, or about to be */
	struct fl_http_server *server;         /* NULL: nobody can ask */
	const char *path;                      /* of its socket */
	struct fl_pausing_ask *asks;           /* requests that wait */
	int64_t asked;                         /* how many have said something new */
};

extern const struct fl_capability fl_node_pausing;
extern const struct fl_sink fl_pausing_sink;   /* its self is a struct fl_pausing */

/* `path` of the socket is borrowed; "": nobody can ask, and nothing is remembered. */
void fl_pausing_init(struct fl_pausing *pausing, struct fl_io *io, const char *path, struct fl_log *log);
struct fl_source fl_pausing_pauses(struct fl_pausing *pausing);

/* `gpu` is looked at when something is to be done. */
void fl_pausing_start(struct fl_pausing *pausing, struct fl_loop *loop, struct fl_gpu **gpu);

/* The folder of the socket is made where it is missing; only root may ask. */
int fl_pausing_listen(struct fl_pausing *pausing, struct fl_err *err) FL_MUSTUSE;

void fl_pausing_stop(struct fl_pausing *pausing);   /* open requests are gone; one not started is left alone */
