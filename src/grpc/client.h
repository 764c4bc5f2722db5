/* client.h - make gRPC calls on a unix socket.
 *
 * A client has one connection: the first call opens it, and a later call reopens it when it is lost. It is never
 * pinged, because the kubelet answers pings with a GOAWAY. A call is an operation: its deadline is sent as
 * grpc-timeout, its result is 0 or a negated enum fl_code with the server's text, and `status` is the server's gRPC
 * status.
 */
#pragma once
#include "base/arena.h"
#include "grpc/method.h"
#include "grpc/wire.h"
#include "io/io.h"

#define FL_GRPC_REPLY_MAX (16 * FL_MIB)    /* a reply: PodResources of a node with thousands of containers */

struct fl_grpc_client;

struct fl_grpc_client *fl_grpc_client_new(struct fl_io *io, const struct fl_addr *addr, struct fl_err *err) FL_MUSTUSE;
struct fl_grpc_client *fl_grpc_client_free(struct fl_grpc_client *client);   /* end its calls first; NULL-safe */
FL_DEFINE_AUTO(fl_grpc_client, struct fl_grpc_client *, fl_grpc_client_free);

struct fl_grpc_stream;   /* the client's state of a call */

/* op.result at the end: 0 for status OK. A unary call then has its reply; a streamed one has passed every message to
 * got() before. Cancelling the op resets the stream at once. */
struct fl_grpc_request {
	struct fl_op op;
	const struct fl_grpc_method *method;
	const ProtobufCMessage *message;         /* borrowed until the start returns */
	size_t max_reply;                        /* 0: FL_GRPC_REPLY_MAX */

	/* A streaming method's next message, valid until this returns. May cancel the op. */
	void (*got)(struct fl_grpc_request *request, const ProtobufCMessage *message);

	/* In done(). */
	enum fl_grpc_status status;
	const ProtobufCMessage *reply;           /* unary, when OK; lives in `arena` */
	struct fl_arena arena;                   /* the caller's to free, after done() or a cancel */

	struct fl_grpc_stream *stream;           /* the client's */
};
void fl_grpc_start(struct fl_grpc_client *client, struct fl_grpc_request *request);
