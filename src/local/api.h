/* api.h - an API server as a function: a request in, an answer out, and what watches are told. Pure.
 *
 *     struct fl_api_call *call = fl_api_call(api, &ask);
 *     switch (call->outcome) ...
 *
 * The caller gives the time with each request. What the server does by itself (the garbage collector, namespaces and
 * CRDs that end, conditions of a new CRD) waits in a queue: call fl_api_work until it is done.
 *
 * What a client would notice and the API server in a cluster does otherwise stands in docs/API-SERVER.md.
 */
#pragma once
#include "base/log.h"
#include "http/chunk.h"
#include "http/head.h"
#include "io/addr.h"
#include "local/select.h"
#include "local/resource.h"

/* Body of a request, as the API server takes it. */
#define FL_API_BODY_MAX (3 * FL_MIB)
/* An object, as etcd takes it: its limit of a request. */
#define FL_API_OBJECT_MAX (1536 * FL_KIB)
/* An answer: a list of 50,000 objects goes out in pieces of this size, and needs no more memory. */
#define FL_API_PIECE (256 * FL_KIB)
/* A whole answer: one object, discovery, an error with all its causes. */
#define FL_API_ANSWER_MAX (16 * FL_MIB)

struct fl_api;

struct fl_api_options {
	uint64_t seed[2];            /* of uids, names and maps */
	uint32_t window;             /* changes that are kept for watches; 0: FL_STORE_WINDOW */
	struct fl_log *log;          /* NULL: silent */
	/* Where a Service of a webhook's configuration is; false: there is none. NULL: there are none. */
	bool (*service)(void *arg, struct fl_str space, struct fl_str name, uint16_t port, struct fl_addr *ret);
	void *arg;
};

struct fl_api *fl_api_new(const struct fl_api_options *options, int64_t now, struct fl_err *err) FL_MUSTUSE;
void fl_api_free(struct fl_api *api);   /* after all its calls; NULL-safe */
FL_DEFINE_AUTO(fl_api, struct fl_api *, fl_api_free);

/* A request; borrowed until the call is freed. */
struct fl_ask {
	struct fl_str method, path, query;
	struct fl_str type, accept, agent;   /* content-type, accept, user-agent */
	struct fl_str body;
	int64_t now;                         /* microseconds since 1970 */
};

enum fl_outcome {
	FL_OUTCOME_ANSWER,   /* status, headers and body are there */
	FL_OUTCOME_LIST,     /* the same, and fl_api_call_more gives the rest of the body */
	FL_OUTCOME_WATCH,    /* start it: fl_api_watch_start */
	FL_OUTCOME_HOOKS,    /* webhooks are to be asked first: fl_api_call_hooks */
	FL_OUTCOME_COUNT_
};

struct fl_api_call;

/* NULL: no memory even for an error; answer with 500. */
struct fl_api_call *fl_api_call(struct fl_api *api, const struct fl_ask *ask) FL_MUSTUSE;
void fl_api_call_free(struct fl_api_call *call);   /* NULL-safe; ends its watch */
FL_DEFINE_AUTO(fl_api_call, struct fl_api_call *, fl_api_call_free);

enum fl_outcome fl_api_call_outcome(const struct fl_api_call *call);
int fl_api_call_status(const struct fl_api_call *call);
struct fl_str fl_api_call_body(const struct fl_api_call *call);
/* content-type, warnings, retry-after; they live as long as the call. */
struct fl_headers fl_api_call_headers(const struct fl_api_call *call);

/* The next piece of a list's body, in place of the one before; false: there is none. After a failed allocation the
 * answer must be cut. */
bool fl_api_call_more(struct fl_api_call *call, struct fl_err *err);

/* ---- webhooks ---- */

/* One that is to be asked: a POST of the body, as application/json. Texts live until the call is freed. */
struct fl_api_hook {
	struct fl_str url;           /* whole, for messages */
	struct fl_str origin, target;   /* "https://10.0.0.1:443"; "/path?timeout=10s" */
	struct fl_str server;        /* the name of its certificate; empty: the origin's host */
	struct fl_str ca;            /* who signs it: PEM */
	struct fl_str body;
	uint32_t timeout;            /* seconds */
};

/* Those that are asked at once. Give the answer to each, in any order, then resume. */
uint32_t fl_api_call_hooks(const struct fl_api_call *call);
/* NULL: its answer is known already. */
const struct fl_api_hook *fl_api_call_hook(const struct fl_api_call *call, uint32_t index);
/* Its HTTP status and body; status 0: there is none, and the text says why. The text is copied. */
void fl_api_call_hooked(struct fl_api_call *call, uint32_t index, int status, struct fl_str text);
/* With all answers: see the outcome again; there may be more to ask. false: no memory; answer with 500. */
bool fl_api_call_resume(struct fl_api_call *call, int64_t now) FL_MUSTUSE;

/* ---- watches ---- */

struct fl_api_watch {
	/* The caller's. give: queue it (a reference of its own); false: no room now, call fl_api_watch_pump when there
	 * is. */
	bool (*give)(struct fl_api_watch *watch, struct fl_chunk *chunk);
	void (*ended)(struct fl_api_watch *watch);   /* nothing more comes: end the answer. Not from inside a start */

	int64_t timeout;             /* microseconds after which the caller ends it; 0: none was asked for */

	/* The server's. */
	struct fl_api_call *call;
	struct fl_api_watch *next, **from;
	uint64_t cursor;             /* all changes up to this version were sent */
	bool live;                   /* and that is all there are: each change is sent as it happens */
	bool over;
	struct fl_state **initial;   /* those still to be sent as ADDED, from `at` */
	uint32_t at, len;
	bool marks;                  /* the end of the initial ones is told by a bookmark */
};

/* Take over a call whose outcome is FL_OUTCOME_WATCH: it lives until fl_api_call_free. Sends nothing yet: pump. */
void fl_api_watch_start(struct fl_api_call *call, struct fl_api_watch *watch);
void fl_api_watch_pump(struct fl_api_watch *watch);
void fl_api_watch_bookmark(struct fl_api_watch *watch);   /* if the client takes them and all was sent */

/* ---- the server's own work ---- */

/* Do a piece of it; false: there is none left. */
bool fl_api_work(struct fl_api *api, int64_t now);

/* For tests and simulations: forget changes, so that watches from before begin anew. */
void fl_api_compact(struct fl_api *api);
/* Answer the next `count` requests with 429, "retry after so many seconds". */
void fl_api_throttle(struct fl_api *api, uint32_t count, uint32_t seconds);
