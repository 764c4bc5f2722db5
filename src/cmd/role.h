/* role.h - what every process that runs the loop shares: one table in, a running program out.
 *
 *     static const struct fl_role controller = { .name = "controller", .kinds = kinds, .capabilities = capabilities };
 *     struct options { struct fl_role_flags role; };
 *     static const struct fl_option options[] = { FL_ROLE_OPTIONS(struct options, role, "[::]:8080"),
 *                                                 FL_ROLE_LEASE_OPTIONS(struct options, role, "fairlead-controller"),
 *                                                 FL_ROLE_WEBHOOK_OPTIONS(struct options, role) };
 *
 *     return fl_role_main(&controller, &config->role, err);
 *
 * A role with facts and sinks of its own does the steps itself:
 *
 *     fl_role_begin(&run, &role, &flags, io, err)     the client, the loop, the caches of .kinds
 *     fl_loop_source(run.loop, ...)                   its own
 *     fl_role_start(&run, err)                        capabilities, watches, lease, Events, probes, webhooks
 *     (start its own feeders)
 *     fl_role_run(&run, err)                          until it is told to stop
 *     (stop its own feeders)
 *     fl_role_end(&run)                               in any case, however far it came
 *
 * It waits for an API server that is not there yet: /readyz says for what. SIGTERM or SIGINT: it listens no more, plans
 * no more, lets the writes on their way end, gives its Lease back and ends with 0, all within --grace; a second one
 * ends it at once.
 */
#pragma once
#include "base/log.h"
#include "base/command.h"
#include "http/files.h"
#include "io/signals.h"
#include "kube/events.h"
#include "kube/lease.h"
#include "kube/watch.h"
#include "run/loop.h"
#include "serve/admission.h"
#include "serve/pages.h"

#define FL_ROLE_NAME 256                       /* of who holds a Lease: a Pod's name and what makes it unique */
/* An agent that takes over from another one waits for its port: it has ended, or does so in seconds. */
#define FL_ROLE_LISTEN_RETRY (250 * FL_NS_PER_MS)
#define FL_ROLE_ALONE_WAIT (50 * FL_NS_PER_MS) /* before it asks the API server: its own start takes 15 ms */

/* ---- what it is ---- */

/* A kind that the API server keeps: watched, cached, and written by server-side apply. A kind with several rows has one
 * cache and a watch for each row; the first row has its indexes. */
struct fl_role_kind {
	const struct fl_kind *kind;
	const struct fl_index *by;             /* ends with a row without a name; NULL: none */
	const char *labels, *fields;           /* selectors of its watch; NULL: all */
	const char *space;                     /* the one namespace that is watched; NULL: all */
	bool any_first;                        /* as in struct fl_watch_options */
	const struct fl_make *unpacked;        /* as in struct fl_source */
	/* Of this row, beside others of its kind: for /readyz, metrics and fl_view_lacks. NULL: it is the first. */
	const char *source;
	bool optional;                         /* as in fl_loop_feed_add; of a further row */
};

struct fl_running;

struct fl_role {
	const char *name;                      /* "controller": of the log, of User-Agent and metrics */
	const struct fl_program *program;      /* whose options the environment may name; NULL: not checked */
	const char *reports;                   /* reportingController of its Events: "gpu.deckhouse.io/fairlead" */
	const struct fl_role_kind *kinds;      /* the one without a kind ends them */
	const struct fl_capability *const *capabilities;   /* NULL ends them */
	const struct fl_page *pages;           /* further ones; the one without a path ends them; NULL: none */
	const struct fl_admission *webhooks;   /* the one without a path ends them; NULL: none */
	bool alone;                            /* goes on without an API server: asked after its own start, and its
						  kinds are absent until one tells */
	/* What becomes of a condition that has changed; NULL: an Event about the very object. */
	void (*event)(struct fl_running *run, const struct fl_told_event *told);
	/* What else it waits for, for /readyz: false, and one line. NULL: nothing. */
	bool (*ready)(const struct fl_running *run, struct fl_buf *words);
	/* It is told to end, writes nothing any more, and is asked after each turn: is what is the role's own over too?
	 * It sees to its own deadline, and to a turn then. NULL: there is nothing. */
	bool (*ended)(struct fl_running *run);
	void *self;                            /* the role's own, for these three */
};

/* ---- what a person may say of it ---- */

struct fl_role_flags {
	struct fl_str server, context, listen, webhook_listen, lease, lease_space, identity;
	const char *kubeconfig, *webhook_cert, *webhook_key;
	enum fl_level log_level;
	enum fl_log_format log_format;
	bool open_metrics;
	bool lead;                             /* hold a Lease; false: lead without asking */
	int64_t lease_duration, lease_give_up, lease_retry, grace;   /* ns */
};

/* For a verb that has nothing else to say. */
struct fl_role_flags_of {
	struct fl_role_flags flags;
};

#define FL_ROLE_OPTIONS(type_, flags_, listen_) \
	FL_OPT_PATH(type_, flags_.kubeconfig, "kubeconfig", \
		    "How to reach the API server; else $KUBECONFIG, ~/.kube/config, or the Pod's service account."), \
	FL_OPT_STR(type_, flags_.context, "context", "The kubeconfig's context to use.", .value = "NAME"), \
	FL_OPT_STR(type_, flags_.server, "server", "An API server without TLS and credentials, on this machine.", \
		   .value = "URL"), \
	FL_OPT_STR(type_, flags_.listen, "listen", "Listen address of probes, metrics and explain: plain HTTP.", \
		   .value = "ADDRESS", .fallback = listen_), \
	FL_OPT_BOOL(type_, flags_.open_metrics, "open-metrics", \
		    "Answer /metrics and /explain to everybody, not only to users that the API server allows.", \
		    .fallback = "false"), \
	FL_OPT_ENUM(type_, flags_.log_level, fl_level, "log-level", "Lowest level to log.", .fallback = "info"), \
	FL_OPT_ENUM(type_, flags_.log_format, fl_log_format, "log-format", "For programs, or for a person.", \
		    .fallback = "json"), \
	FL_OPT_DURATION(type_, flags_.grace, "grace", "Maximum time to stop.", .fallback = "10s", \
			.min = FL_NS_PER_MS, .max = 600 * FL_NS_PER_S)

#define FL_ROLE_LEASE_OPTIONS(type_, flags_, name_) \
	FL_OPT_BOOL(type_, flags_.lead, "lead", "Acquire the Lease before any write.", \
		    .fallback = "true"), \
	FL_OPT_STR(type_, flags_.lease, "lease", "The Lease of the one replica that leads.", .value = "NAME", \
		   .fallback = name_), \
	FL_OPT_STR(type_, flags_.lease_space, "lease-namespace", \
		   "Namespace of the Lease; default that of the Pod or context.", .value = "NAMESPACE"), \
	FL_OPT_STR(type_, flags_.identity, "identity", \
		   "Identity of this replica; default the Pod's name and a random part.", .value = "NAME"), \
	FL_OPT_DURATION(type_, flags_.lease_duration, "lease-duration", \
			"How long followers wait for a silent leader.", .fallback = "15s", \
			.min = FL_NS_PER_S, .max = 3600 * FL_NS_PER_S), \
	FL_OPT_DURATION(type_, flags_.lease_give_up, "lease-give-up", \
			"A leader that cannot renew stops after this; less than the duration.", .fallback = "10s", \
			.min = FL_NS_PER_MS, .max = 3600 * FL_NS_PER_S), \
	FL_OPT_DURATION(type_, flags_.lease_retry, "lease-retry", "Time between two reads of the Lease.", \
			.fallback = "2s", .min = 10 * FL_NS_PER_MS, .max = 600 * FL_NS_PER_S)

#define FL_ROLE_WEBHOOK_OPTIONS(type_, flags_) \
	FL_OPT_STR(type_, flags_.webhook_listen, "webhook-listen", "Listen address of admission webhooks: TLS.", \
		   .value = "ADDRESS", .fallback = "[::]:9443"), \
	FL_OPT_PATH(type_, flags_.webhook_cert, "webhook-cert", \
		    "Their certificate, read again when it changes; none: no webhooks."), \
	FL_OPT_PATH(type_, flags_.webhook_key, "webhook-key", "The key of the certificate.")

/* ---- one that runs ---- */

enum fl_role_stage {
	FL_ROLE_RUNS,
	FL_ROLE_WRITES,        /* told to stop: waits for the writes on their way */
	FL_ROLE_RELEASES,      /* ... for the Lease to be given back, and for what is open to be answered */
	FL_ROLE_TELLS,         /* ... for Events to go out */
	FL_ROLE_OVER,
};

/* Zeroed before the begin; does not move until the end. These may be used in between; without an API server config,
 * kube and events are NULL. */
struct fl_running {
	const struct fl_role *role;
	const struct fl_role_flags *flags;
	struct fl_io *io;
	struct fl_log log;
	struct fl_metrics *metrics;
	struct fl_kube_config *config;
	struct fl_kube *kube;
	struct fl_loop *loop;
	struct fl_events *events;              /* from the start on */

	/* Private. */
	struct fl_process process;
	struct fl_elector *elector;            /* NULL: leads without asking */
	struct fl_pages pages;
	struct fl_webhooks *webhooks;          /* NULL: none */
	struct fl_tls_files tls;
	bool tls_started, loaded;              /* loaded: the certificate is there, and they listen */
	int64_t expires;                       /* the certificate: seconds since 1970 */
	struct fl_addr webhook_addr;
	struct fl_err tls_why;                 /* why it is not loaded */
	FL_VEC(struct fl_watch *) watches;     /* in the order of role->kinds */
	struct fl_timer listen_later;          /* somebody else has the port still */
	struct fl_timer watch_later;           /* until then there are none, where it goes on alone */
	struct fl_feed **feeds;                /* in the order of role->kinds */
	char identity[FL_ROLE_NAME];
	struct fl_signals signals;
	enum fl_role_stage stage;
	uint64_t deadline;                     /* of the end */
	struct fl_timer late;
	struct fl_op release;
	unsigned draining;                     /* servers */
	struct fl_err why;                     /* why it had to end; FL_OK: it was told to */
};

/* Do the options make sense? For a command's check(), so that a wrong one leaves nothing behind. FL_E_INVALID. */
int fl_role_check(const struct fl_role_flags *flags, struct fl_err *err) FL_MUSTUSE;

/* FL_E_INVALID: what was said makes no sense; others: as their parts say. `env` as environ. */
int fl_role_begin(struct fl_running *run, const struct fl_role *role, const struct fl_role_flags *flags,
		  struct fl_io *io, const char *const *env, struct fl_err *err) FL_MUSTUSE;
int fl_role_start(struct fl_running *run, struct fl_err *err) FL_MUSTUSE;

/* Until it is over: told by a signal or by fl_role_stop. 0, or the failure that ended it. */
int fl_role_run(struct fl_running *run, struct fl_err *err) FL_MUSTUSE;

/* One turn, for those who drive several: false when it is over. */
bool fl_role_turn(struct fl_running *run, uint64_t until, struct fl_err *err);

void fl_role_stop(struct fl_running *run);     /* as SIGTERM; the second time: at once */
void fl_role_end(struct fl_running *run);
static inline void fl_running_auto_(struct fl_running *run)
{
	fl_role_end(run);
}

/* All of it, on the real io. 0 or -code. */
int fl_role_main(const struct fl_role *role, const struct fl_role_flags *flags, struct fl_err *err) FL_MUSTUSE;
