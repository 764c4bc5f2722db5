/* client_in.h - the inside of the client. client.c: calls, the gate, credentials; client_send.c: what goes out;
 * client_got.c: what comes in. */
#pragma once
#include "base/log.h"
#include "base/units.h"
#include "kube/auth.h"
#include "kube/client.h"

#define FL_KUBE_MANY 16                  /* writes on their way: their answers and echoes are read together, ... */
/* ... so often while one write takes its time: half of them come together, while the server has the other half. To wake
 * up on a machine that works for others costs 0.3 ms of processor, most of it cold caches, and a write 0.05. */
#define FL_KUBE_BATCH_SHARE 2
#define FL_KUBE_BATCH_MIN (4 * FL_NS_PER_MS)  /* a server that is quicker has nothing to wait for */
#define FL_KUBE_BATCH_MAX (64 * FL_NS_PER_MS) /* what else comes on the connection waits, too */
#define FL_KUBE_LONG_LIST (256 * FL_KIB) /* a list beyond this: less is there in a moment */
#define FL_KUBE_LIST_PIECE (32 * FL_KIB) /* ... is read in pieces of this, where so much takes a while to come, ... */
#define FL_KUBE_LIST_REST_MAX (8 * FL_NS_PER_MS)   /* ... which is not waited for longer than this */

#define FL_FLIGHT_HEADERS 16   /* of one request: ours, and those of the caller */

struct fl_kube_flight {
	struct fl_kube *kube;
	struct fl_kube_call *call;
	struct fl_kube_flight *next, **from;   /* in a queue, or NULL */
	struct fl_timer again;             /* told to come back then */
	struct fl_http_call http;
	struct fl_err err;                 /* what the transport failed of */
	uint64_t began, sent;              /* sent: this attempt, and its head has not come */
	uint32_t generation;               /* of the credentials that it was sent with */
	uint32_t tries;
	bool refreshed;                    /* read the credentials again once for it */
	bool refused;                      /* may_send said no */
	bool unsure;                       /* the queue it is in */
	bool split_on;                     /* the answer is a list or a stream */
	bool full_state;                   /* it is a list, or begins with one that is not over */
	uint64_t listed;                   /* bytes, of all pages so far */
	bool *gone;                        /* set when it is freed from within a callback */
	size_t body_at;
	struct fl_header headers[FL_FLIGHT_HEADERS];
	uint32_t header_count;
	struct fl_buf target, body, reply, resume;
	struct fl_split split;
};

struct fl_flight_queue {
	struct fl_kube_flight *first, **last;
	uint32_t len;
};

struct fl_kube {
	struct fl_io *io;
	const struct fl_kube_config *config;
	struct fl_log *log;
	struct fl_auth auth;
	char user_agent[128];
	struct fl_buf basic;               /* authorization, where it is no token */
	struct fl_json_space space;        /* one answer after another is parsed here */
	struct fl_flight_queue unsure;     /* wait for credentials */
	struct fl_flight_queue held;       /* wait behind the gate */
	struct fl_timer gate;              /* opens it */
	uint64_t closed_until;             /* 0: open */
	uint32_t opening;                  /* how many go through next */
	uint32_t writes;                   /* on their way, or waiting for it */
	uint32_t lists;                    /* that come in */
	uint64_t list_rest;                /* ns, as the one of which something came last has it; 0: not yet */
	struct fl_kube_flight *spare;      /* of calls that have ended, for those to come */
	uint32_t spares;
	uint64_t write_takes;              /* ns, lately */
	char host[FL_HOST_MAX + 8];        /* label of the metrics */
	struct fl_family *requests, *durations, *retries;   /* NULL: nobody counts */
};

/* client_send.c: put together what is sent. */
int fl_flight_prepare(struct fl_kube_flight *flight, struct fl_err *err) FL_MUSTUSE;
struct fl_str fl_flight_method(const struct fl_kube_call *call);

/* client_got.c */
void fl_flight_begin_answer(struct fl_kube_flight *flight);
void fl_flight_head(struct fl_http_call *http);
void fl_flight_got(struct fl_http_call *http, struct fl_str bytes);
void fl_flight_done(struct fl_op *op);

/* client.c */
/* How long to rest after each read, with so many writes on their way that take so long (ns). 0: not at all. */
uint64_t fl_kube_rest(uint32_t writes, uint64_t takes);
uint64_t fl_kube_list_rest(uint64_t bytes, uint64_t took);       /* with a list that has come so far, in this time */
void fl_flight_listed(struct fl_kube_flight *flight, uint32_t bytes);   /* so much more of a list */
void fl_flight_lists(struct fl_kube_flight *flight, bool full_state);   /* it begins, it is over or has another page */
void fl_flight_go(struct fl_kube_flight *flight);                /* as soon as it may */
void fl_flight_end(struct fl_kube_flight *flight);               /* over: result is the status */
void fl_flight_fail(struct fl_kube_flight *flight, const struct fl_err *err);
void fl_flight_later(struct fl_kube_flight *flight, uint64_t after, bool gate);   /* told so by the server */
/* What it was sent with is refused, which this failure says: once more with other credentials, where that may be. */
void fl_flight_refused(struct fl_kube_flight *flight, const struct fl_err *err);
