/* client.h - make gRPC calls on a unix socket.
 *
 * A client is one connection, made with the first call and made again when it is lost; it is never pinged, for the
 * kubelet answers pings with a GOAWAY. A call is an operation: its deadline travels as grpc-timeout, its result is a
 * negated enum fl_code with the server's words, and `status` has the server's own verdict.
 */
#pragma once
#include "base/arena.h"
#include "grpc/method.h"
#include "grpc/wire.h"
#include "io/io.h"

struct fl_grpc_client;

struct fl_grpc_client *fl_grpc_client_new(struct fl_io *io, const struct fl_addr *addr, struct fl_err *err) FL_MUSTUSE;
struct fl_grpc_client *fl_grpc_client_free(struct fl_grpc_client *client);   /* its calls have ended; NULL-safe */
FL_DEFINE_AUTO(fl_grpc_client, struct fl_grpc_client *, fl_grpc_client_free);

struct fl_grpc_stream;   /* what the client keeps of a call */

/* op.result at the end: 0 for status OK. A unary call has its reply then; a streamed one has been given every message
 * through message() before. Cancelling the op resets the stream at once. */
struct fl_grpc_request {
	struct fl_op op;
	const struct fl_grpc_method *method;
	const ProtobufCMessage *message;         /* borrowed until the start returns */
	size_t max_reply;                        /* 0: FL_GRPC_REPLY_MAX */

	/* Of a streaming method: a message, which lives until this returns. May cancel the op. */
	void (*got)(struct fl_grpc_request *request, const ProtobufCMessage *message);

	/* In done(). */
	enum fl_grpc_status status;
	const ProtobufCMessage *reply;           /* unary, when OK; lives in `arena` */
	struct fl_arena arena;                   /* the caller's to free, after done() or a cancel */

	struct fl_grpc_stream *stream;           /* the client's */
};
void fl_grpc_start(struct fl_grpc_client *client, struct fl_grpc_request *request);
