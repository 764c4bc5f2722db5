/* pages.h - what a running role answers to those who look: probes, metrics, explain, and a list of these at "/".
 *
 *     pages = (struct fl_pages){ .io = io, .title = "fairlead controller", .loop = loop, .metrics = metrics,
 *                                .process = &process, .ready = ready, .arg = role };
 *     fl_pages_start(&pages, err);
 *     fl_http_server_listen(pages.server, &addr, 0600, NULL, NULL, err);
 *
 *     /healthz        200 as long as the loop turns; /livez is the same
 *     /readyz         200, or 503 with what is missing first
 *     /metrics        text format 0.0.4; a long one goes out in pieces, none of which takes a turn
 *     /explain        ?kind=KIND&name=NAME[&namespace=NS][&output=json]: what the plans said of an object
 *
 * Pages that are no probes are behind a guard: see guard.h.
 *
 * A role has further pages of its own (.more): their handlers find it with fl_pages_of. All are GET.
 */
#pragma once
#include "http/server.h"
#include "run/loop.h"
#include "serve/guard.h"
#include "serve/process.h"

#define FL_PAGES_MAX 24                        /* of one role: a person reads the list of them */
#define FL_PAGES_CONNS 64                      /* kubelet, two scrapers, people; more is somebody's loop */
#define FL_PAGES_STREAMS 16                    /* on each: 64 KiB for a head and what it is answered is 64 MiB in all */
#define FL_READY_MAX (60 * FL_KIB)             /* what /readyz says: below FL_HTTP_SAY_MAX, to arrive whole */
#define FL_EXPLAIN_MAX (256 * FL_KIB)          /* of one object: ten plans, thousands of words each */

/* Where a text that is written in pieces has come to; zeroed for its beginning. */
struct fl_pages_at {
	uint32_t at[4];
};

struct fl_page {
	const char *path;
	void (*handle)(struct fl_http_req *req);
	const char *says;                      /* for the list, one line */
	bool probe;                            /* has places of its own, and is open */
	bool open;                             /* to everybody; others are behind the guard */
};

struct fl_pages {
	/* The caller's, set before the start, borrowed until the stop. */
	struct fl_io *io;
	const char *title;                     /* "fairlead controller" */
	struct fl_loop *loop;
	struct fl_metrics *metrics;
	struct fl_process *process;            /* looked at before each scrape; NULL: not */
	/* False: what is missing first, one line. True: further lines, if there is something to tell. */
	bool (*ready)(void *arg, struct fl_buf *words);
	void *arg;
	const struct fl_page *common;          /* NULL: fl_pages_common. The one without a path ends them */
	const struct fl_page *more;            /* likewise; NULL: none */
	/* Appends the next piece of /metrics until about `until` on fl_clock(), for self; false: it was the last. NULL:
	 * the text of `metrics` */
	bool (*text)(void *self, struct fl_pages_at *at, uint64_t until, struct fl_buf *buf);
	void *self;
	struct fl_kube *kube;                  /* who knows tokens; NULL: nobody, so pages are for this machine alone */
	bool open_metrics;                     /* all pages are open to everybody */

	struct fl_guard guard;
	const struct fl_page *pages[FL_PAGES_MAX];   /* of .routes */
	struct fl_http_server *server;         /* made by the start: where to listen, and to drain */
	struct fl_http_route routes[FL_PAGES_MAX];
};

/* FL_E_TOOBIG: more than FL_PAGES_MAX pages; FL_E_NOMEM. To be stopped in any case. */
int fl_pages_start(struct fl_pages *pages, struct fl_err *err) FL_MUSTUSE;
void fl_pages_stop(struct fl_pages *pages);    /* open requests are gone; one that is not started is left alone */

struct fl_pages *fl_pages_of(const struct fl_http_req *req);

/* A handler: the list of the pages. */
void fl_pages_list(struct fl_http_req *req);

/* For docs: the pages that every role has; the one without a path ends them. */
extern const struct fl_page fl_pages_common[];

/* Is JSON asked for: "output=json" in the query, or else by the Accept header? FL_E_INVALID: neither json nor text. */
int fl_pages_json(const struct fl_http_req *req, bool *ret_json, struct fl_err *err) FL_MUSTUSE;

/* A metav1.Status with this message, and a line end. */
void fl_pages_put_status(struct fl_buf *body, struct fl_str message, const char *reason, int code);
