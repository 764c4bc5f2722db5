/* server.h - answer gRPC calls on a unix socket.
 *
 * A service is a table of handlers. A handler gets a request that lives until its call has ended. It answers at once,
 * later, or with many messages, and ends each call exactly once. If the caller disconnects first or the deadline
 * passes, gone() is called, if set, and the call is freed. The server itself answers unknown methods, compression, bad
 * frames, messages over the limit and missed deadlines.
 */
#pragma once
#include "base/arena.h"
#include "grpc/method.h"
#include "grpc/wire.h"
#include "io/io.h"

#define FL_GRPC_MESSAGE_MAX (4 * FL_MIB)   /* a request: what grpc-go takes by default */

struct fl_grpc_call;   /* one call, the server's side of it */

struct fl_grpc_handler {
	const struct fl_grpc_method *method;
	void (*call)(struct fl_grpc_call *call, const ProtobufCMessage *request);
};

struct fl_grpc_server_options {
	struct fl_addr addr;                     /* FL_ADDR_UNIX */
	unsigned mode;                           /* of the socket's path; 0: 0600 */
	/* Make the socket under this path, in the same directory, and rename it to addr's when it listens, replacing
	 * any file there: a client that sees the name can connect. NULL: make it in place. Borrowed until it
	 * listens. */
	const char *made_as;
	const struct fl_grpc_handler *handlers;
	size_t handler_count;
	void *service;                           /* for handlers: fl_grpc_call_service */
	/* A client's connection, accepted at that time, has ended, and so have its calls. The free does not call it. */
	void (*left)(void *service, uint64_t since);
	size_t max_message;                      /* 0: FL_GRPC_MESSAGE_MAX */
	uint32_t max_streams;                    /* calls at once on a connection; 0: FL_H2_STREAMS */
};

struct fl_grpc_server;

/* Listens when it returns; the options' handlers and service must outlive it. */
struct fl_grpc_server *fl_grpc_server_new(struct fl_io *io, const struct fl_grpc_server_options *options,
					  struct fl_err *err) FL_MUSTUSE;

/* Before the free, once all calls are ended: accept no more connections, and remove the socket's path. True when all
 * answers have been sent; call it after each turn until then, or until time is up. */
bool fl_grpc_server_drain(struct fl_grpc_server *server);

/* Ends open calls at once and removes the socket's path. NULL-safe. */
struct fl_grpc_server *fl_grpc_server_free(struct fl_grpc_server *server);
FL_DEFINE_AUTO(fl_grpc_server, struct fl_grpc_server *, fl_grpc_server_free);

/* ---- for handlers ---- */
void *fl_grpc_call_service(const struct fl_grpc_call *call);
struct fl_arena *fl_grpc_call_arena(struct fl_grpc_call *call);     /* freed when the call has ended */

/* Call gone() when the caller disconnects or the deadline passes before the end. Do not touch the call after it. */
void fl_grpc_call_on_gone(struct fl_grpc_call *call, void (*gone)(void *arg), void *arg);

/* One message of a stream. Bytes that the caller has not taken are queued. A call with more than FL_GRPC_QUEUE_MAX
 * queued, or with a message that cannot be written, is cut off with gone(). */
void fl_grpc_call_send(struct fl_grpc_call *call, const ProtobufCMessage *message);

/* The same for a stream of states, of which only the newest counts: it replaces the one before if no byte of that has
 * been sent. So at most two messages wait for a caller that does not read. */
void fl_grpc_call_send_newest(struct fl_grpc_call *call, const ProtobufCMessage *message);

/* The only message, and status OK. */
void fl_grpc_call_reply(struct fl_grpc_call *call, const ProtobufCMessage *message);

/* The end, with a status. The text is for people; NULL with FL_GRPC_OK. */
void fl_grpc_call_end(struct fl_grpc_call *call, enum fl_grpc_status status, const char *fmt, ...) FL_PRINTF(3, 4);
void fl_grpc_call_fail(struct fl_grpc_call *call, const struct fl_err *err);
