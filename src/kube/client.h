/* client.h - one API server: calls as operations.
 *
 *     call->op = (struct fl_op){ .done = applied, .deadline = fl_now(io) + 10 * FL_NS_PER_S, .err = &call_err };
 *     call->verb = FL_KUBE_APPLY; call->kind = &fl_gpu_pool_kind; call->name = name; call->manager =
 *     "fairlead-capacity"; call->body = json;
 *     fl_kube_start(kube, call);
 *
 * All calls of a client share its connections, its credentials and its patience:
 *   - 401 once makes the client read its credentials again (token file, certificate, exec plugin) and try again;
 *   - 429, and 503 with Retry-After, are obeyed by the whole client: calls wait behind a gate, which opens for them one
 *     after another with jitter, and the call itself is tried again until its deadline. What is `urgent` (a lease)
 *     waits only for what it was told itself;
 *   - connection lost: tried again by the transport where that is safe, else told with FL_E_RETRY.
 * A call without a deadline waits for ever; only watches have a reason to.
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
	FL_KUBE_APPLY,                  /* server-side apply; made when it is not there */
	FL_KUBE_MERGE, FL_KUBE_JSON_PATCH,
	FL_KUBE_DELETE,
	FL_KUBE_VERB_COUNT_
};
extern const struct fl_names fl_kube_verb_names;   /* as audit logs and RBAC spell them */

enum fl_item {
	FL_ITEM,                   /* the object that was asked for or written; each object of a list */
	FL_ADDED, FL_MODIFIED, FL_DELETED, FL_BOOKMARK,   /* of a watch */
	FL_ITEM_COUNT_
};
extern const struct fl_names fl_item_names;

struct fl_kube_call {
	struct fl_op op;           /* result: the HTTP status. Failures are those of status.h, or of the connection */

	/* What is asked; zeroed is absent. All texts are borrowed until done() or cancel. */
	enum fl_kube_verb verb;
	const struct fl_kind *kind;
	const char *path;          /* instead of a kind: "/version" */
	const char *accept;        /* NULL: application/json */
	struct fl_str space, name;
	const char *subresource;   /* "status" */
	struct fl_str body;        /* JSON */
	bool urgent;               /* not held back by what others were told */
	/* Not tried again after 429 or 401: told at once. The credentials are read again all the same. */
	bool once;
	/* Fairlead-Authorization, for whoever is behind the API server's proxy, which takes Authorization away. Never
	 * the client's own credentials: the connection behind the proxy is plain HTTP, to whatever Pod has the name. */
	struct fl_str forwarded;

	/* Writes. */
	const char *manager;       /* fieldManager; NULL: "fairlead" */
	bool force;                /* apply: take the fields from whoever has them */
	bool dry_run;
	bool strict;               /* fieldValidation=Strict: what the schema does not know is refused */
	/* Asked right before each attempt is handed to the connection: false ends the call with FL_E_DENIED and nothing
	 * is sent. A lease's fence. */
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
	/* Of a list: "" is the newest state, page by page; else one that is not older, "0" any, in one piece. Of a
	 * watch: after it. */
	struct fl_str version;
	bool bookmarks;                        /* watch: allowWatchBookmarks */
	bool initial_events;                   /* watch: sendInitialEvents, resourceVersionMatch=NotOlderThan */
	uint32_t timeout_s;                    /* watch: timeoutSeconds */

	/* The object, parsed; borrowed until this returns. Less than 0 ends the call with this failure. NULL: not
	 * wanted. The call may be cancelled from here. */
	int (*item)(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err);
	/* Asked before the answer to a write or a get is parsed: true when item() need not be told of it. May be NULL;
	 * not the place to cancel. */
	bool (*needless)(struct fl_kube_call *call, struct fl_str object);
	/* The answer is a good one, and its body follows: a watch is on. May be NULL; not the place to cancel. */
	void (*began)(struct fl_kube_call *call);
	/* A page of a list is complete, and this is the list's resourceVersion. May be NULL; not the place to
	 * cancel. */
	void (*page)(struct fl_kube_call *call, const struct fl_list *list);

	/* The answer, in done(). */
	int status;                /* HTTP; 0: none came */
	struct fl_answer answer;
	uint64_t items;            /* told so far */
	uint64_t heard;            /* watch: when bytes came last, monotonic ns */

	struct fl_kube_flight *flight;         /* the client's */
};

void fl_kube_start(struct fl_kube *kube, struct fl_kube_call *call);

/* Calls that wait behind the gate, and until when it is closed (monotonic ns; 0: open). */
uint32_t fl_kube_waiting(const struct fl_kube *kube);
uint64_t fl_kube_closed_until(const struct fl_kube *kube);
