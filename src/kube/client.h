/* client.h - one API server: calls as operations.
 *
 *     call->op = (struct fl_op){ .done = applied, .deadline = fl_now(io) + 10 * FL_NS_PER_S, .err = &call_err };
 *     call->verb = FL_KUBE_APPLY; call->kind = &fl_gpu_pool_kind; call->name = name; call->manager =
 *     "fairlead-capacity"; call->body = json;
 *     fl_kube_start(kube, call);
 *
 * All calls of a client share its connections, its credentials and its throttling:
 *   - after a first 401 the client reads its credentials again (token file, certificate, exec plugin) and retries;
 *   - 429, and 503 with Retry-After, throttle the whole client: calls wait behind a gate, which lets them pass one by
 *     one with jitter. The call itself is retried until its deadline. An `urgent` call (a lease) waits only for its own
 *     Retry-After;
 *   - connection lost: the transport retries where that is safe, else the call fails with FL_E_RETRY.
 * A call without a deadline waits for ever; only watches need that.
 */
#pragma once
#include "base/metrics.h"
#include "io/io.h"
#include "kube/config.h"
#include "json/split.h"
#include "kube/status.h"

#define FL_KUBE_PAGE 500                 /* objects in one page of a list, as client-go has it: 2 MB of Pods */
#define FL_KUBE_TARGET_MAX (16 * FL_KIB) /* path and query: servers take this much, selectors included */

struct fl_log;
struct fl_kube;

struct fl_kube_options {
	const struct fl_kube_config *config;   /* borrowed as long as the client lives */
	const char *role;                      /* of User-Agent: "fairlead/0.1.0 (controller)"; NULL: "fairlead" */
	struct fl_metrics *metrics;            /* NULL: none are kept */
	struct fl_log *log;                    /* NULL: silent */
};

/* Connects to nothing yet. Owned by the caller; its calls must be over before it is freed. */
struct fl_kube *fl_kube_new(struct fl_io *io, const struct fl_kube_options *options, struct fl_err *err) FL_MUSTUSE;
struct fl_kube *fl_kube_free(struct fl_kube *kube);
FL_DEFINE_AUTO(fl_kube, struct fl_kube *, fl_kube_free);

struct fl_io *fl_kube_io(struct fl_kube *kube);
/* Connections since the start: a new one may lead to another server. */
uint32_t fl_kube_opened(const struct fl_kube *kube);

enum fl_kube_verb {
	FL_KUBE_GET, FL_KUBE_LIST, FL_KUBE_WATCH,
	FL_KUBE_CREATE,
	FL_KUBE_UPDATE,                 /* PUT of a whole object: only kinds that are bound whole (Lease) */
	FL_KUBE_APPLY,                  /* server-side apply; creates a missing object */
	FL_KUBE_MERGE, FL_KUBE_JSON_PATCH,
	FL_KUBE_DELETE,
	FL_KUBE_VERB_COUNT_
};
extern const struct fl_names fl_kube_verb_names;   /* as audit logs and RBAC spell them */

enum fl_item {
	FL_ITEM,                   /* the object that was read or written; each object of a list */
	FL_ADDED, FL_MODIFIED, FL_DELETED, FL_BOOKMARK,   /* of a watch */
	FL_ITEM_COUNT_
};
extern const struct fl_names fl_item_names;

struct fl_kube_call {
	struct fl_op op;           /* result: the HTTP status. Failures are those of status.h, or of the connection */

	/* The request; zeroed is absent. All texts are borrowed until done() or cancel. */
	enum fl_kube_verb verb;
	const struct fl_kind *kind;
	const char *path;          /* instead of a kind: "/version" */
	const char *accept;        /* NULL: application/json */
	struct fl_str space, name;
	const char *subresource;   /* "status" */
	struct fl_str body;        /* JSON */
	bool urgent;               /* not throttled by answers to other calls */
	/* No retry after 429 or 401: the call fails at once. The credentials are still read again. */
	bool once;
	/* Fairlead-Authorization, for a server behind the API server's proxy, which removes Authorization. Never the
	 * client's own credentials: the connection behind the proxy is plain HTTP, to whatever Pod has the name. */
	struct fl_str forwarded;

	/* Writes. */
	const char *manager;       /* fieldManager; NULL: "fairlead" */
	bool force;                /* apply: take over fields that other managers own */
	bool dry_run;
	bool strict;               /* fieldValidation=Strict: fields unknown to the schema are rejected */
	/* Called right before each attempt is handed to the connection: false ends the call with FL_E_DENIED and sends
	 * nothing. A lease's fence. */
	bool (*may_send)(void *arg);
	void *may_arg;

	/* Delete. */
	struct fl_str if_uid, if_version;      /* preconditions: FL_E_CONFLICT when it is another */
	enum fl_propagation propagation;
	bool now;                              /* gracePeriodSeconds=0 */
	int32_t grace_s;                       /* gracePeriodSeconds; 0: the kind's own */

	/* List and watch. */
	struct fl_str labels, fields;          /* selectors */
	uint32_t limit;                        /* of one page; 0: FL_KUBE_PAGE. Pages follow by themselves */
	/* Of a list: "" is the newest state, page by page; else a state not older than this, "0" any state, in one
	 * piece. Of a watch: changes after it. */
	struct fl_str version;
	bool bookmarks;                        /* watch: allowWatchBookmarks */
	bool initial_events;                   /* watch: sendInitialEvents, resourceVersionMatch=NotOlderThan */
	uint32_t timeout_s;                    /* watch: timeoutSeconds */

	/* The object, parsed; borrowed until this returns. Less than 0 ends the call with this failure. NULL: not
	 * wanted. The call may be cancelled from here. */
	int (*item)(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err);
	/* Called before the answer to a write or a get is parsed: true skips item(). May be NULL; must not cancel. */
	bool (*needless)(struct fl_kube_call *call, struct fl_str object);
	/* The status is a success, and the body follows: a watch is running. May be NULL; must not cancel. */
	void (*began)(struct fl_kube_call *call);
	/* A page is complete; `list` has the list's resourceVersion. May be NULL; must not cancel. */
	void (*page)(struct fl_kube_call *call, const struct fl_list *list);

	/* The answer, in done(). */
	int status;                /* HTTP; 0: none came */
	struct fl_answer answer;
	uint64_t items;            /* calls of item() so far */
	uint64_t heard;            /* watch: when the last bytes came, monotonic ns */

	struct fl_kube_flight *flight;         /* the client's */
};

void fl_kube_start(struct fl_kube *kube, struct fl_kube_call *call);

/* The number of calls that wait behind the gate, and until when it is closed (monotonic ns; 0: open). */
uint32_t fl_kube_waiting(const struct fl_kube *kube);
uint64_t fl_kube_closed_until(const struct fl_kube *kube);
