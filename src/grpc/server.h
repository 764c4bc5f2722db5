/* server.h - answer gRPC calls on a unix socket.
 *
 * A service is a table of handlers. A handler is called with a request that lives until its call has ended, and answers
 * when it can: at once, later, or with many messages. It ends each call exactly once, unless the caller goes first;
 * then gone() is told, where the handler asked for it, and the call is no more. Compression, unknown methods, bad
 * frames, messages over the limit and deadlines are dealt with below.
 */
#pragma once
#include "base/arena.h"
#include "grpc/method.h"
#include "grpc/wire.h"
#include "io/io.h"

struct fl_grpc_call;   /* one call, the server's side of it */

struct fl_grpc_handler {
	const struct fl_grpc_method *method;
	void (*call)(struct fl_grpc_call *call, const ProtobufCMessage *request);
};

struct fl_grpc_server_options {
	struct fl_addr addr;                     /* FL_ADDR_UNIX */
	unsigned mode;                           /* of the socket's path; 0: 0600 */
	/* Make the socket under this path, in the same folder, and rename it to addr's when it listens, over whatever
	 * is there: who sees its name can connect. NULL: make it in place. Borrowed until it listens. */
	const char *made_as;
	const struct fl_grpc_handler *handlers;
	size_t handler_count;
	void *service;                           /* the handlers find it with fl_grpc_call_service */
	/* A client's connection, accepted at that time, has ended; its calls are gone by now. Not told by the free. */
	void (*left)(void *service, uint64_t since);
	size_t max_message;                      /* 0: FL_GRPC_MESSAGE_MAX */
	uint32_t max_streams;                    /* calls at once on a connection; 0: FL_H2_STREAMS */
};

struct fl_grpc_server;

/* Listens when it returns; the options' handlers and service must outlive it. */
struct fl_grpc_server *fl_grpc_server_new(struct fl_io *io, const struct fl_grpc_server_options *options,
					  struct fl_err *err) FL_MUSTUSE;

/* Before the free, by who has ended its calls: nobody new is let in, and the socket's path is removed. True when what
 * was ended has been sent; call it after each turn until then, or for as long as there is time. */
bool fl_grpc_server_drain(struct fl_grpc_server *server);

/* At once: open calls are gone, the socket's path is removed. NULL-safe. */
struct fl_grpc_server *fl_grpc_server_free(struct fl_grpc_server *server);
FL_DEFINE_AUTO(fl_grpc_server, struct fl_grpc_server *, fl_grpc_server_free);

/* ---- for handlers ---- */
void *fl_grpc_call_service(const struct fl_grpc_call *call);
struct fl_arena *fl_grpc_call_arena(struct fl_grpc_call *call);     /* freed when the call has ended */
struct fl_cred fl_grpc_call_peer(const struct fl_grpc_call *call);  /* who is at the other end of the socket */
uint64_t fl_grpc_call_deadline(const struct fl_grpc_call *call);    /* monotonic ns; FL_NEVER: none */

/* Be told when the caller has gone or the deadline has passed before the end; the call must not be touched after. */
void fl_grpc_call_on_gone(struct fl_grpc_call *call, void (*gone)(void *arg), void *arg);

/* One message of a stream. What the caller has not taken yet is queued; a caller who lets more than FL_GRPC_QUEUE_MAX
 * pile up is cut off, and so is a call whose message cannot be written (gone() is told). */
void fl_grpc_call_send(struct fl_grpc_call *call, const ProtobufCMessage *message);

/* The same for a stream of states, of which only the newest counts: it takes the place of the one before if nothing of
 * that one has gone out yet. So at most two messages wait for a caller who reads nothing. */
void fl_grpc_call_send_newest(struct fl_grpc_call *call, const ProtobufCMessage *message);

/* The only message, and status OK. */
void fl_grpc_call_reply(struct fl_grpc_call *call, const ProtobufCMessage *message);

/* The end, with a status; the words are for people and NULL with FL_GRPC_OK. */
void fl_grpc_call_end(struct fl_grpc_call *call, enum fl_grpc_status status, const char *fmt, ...) FL_PRINTF(3, 4);
void fl_grpc_call_fail(struct fl_grpc_call *call, const struct fl_err *err);
