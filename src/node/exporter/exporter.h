/* exporter.h - telemetry of this node's GPUs, kept for whoever scrapes.
 *
 *     exporter = (struct fl_exporter){ 0 };
 *     fl_exporter_start(&exporter, io, loop, &options, err)
 *     fl_exporter_sampled, fl_exporter_fault              the driver's feeder tells (node/gpu/gpu.h)
 *     fl_exporter_text(&exporter, &at, until, buf)        a scrape, in pieces
 *     fl_exporter_looked(&exporter)                       the kubelet has said who holds what
 *     fl_exporter_listens(&exporter, &listener)           whoever serves the text says to whom
 *     fl_exporter_stop(&exporter)
 *
 * The driver is read once a period, whoever scrapes; once in FL_EXPORTER_REST when nobody does, so that the stamp of
 * the last complete collection stays fresh. Telemetry is no fact: nothing is planned because of it. Which Pods have a
 * device is read from the caches for each text. While somebody scrapes, the kubelet is asked for them every
 * FL_EXPORTER_PODS, and then the container runtime for their UIDs and labels where those are wanted.
 *
 * The list of fields is the default, or a file that is followed: one that cannot be served keeps the list in force. How
 * all is served is a fact, Exporter (api/node_report.h), for the Node's condition.
 */
#pragma once
#include "api/node_report.h"
#include "http/files.h"
#include "node/exporter/sandboxes.h"
#include "plan/exporter/lines.h"
#include "run/loop.h"

#define FL_EXPORTER_PERIOD (15 * FL_NS_PER_S)        /* as Prometheus scrapes DCGM's exporter by default */
#define FL_EXPORTER_REST (60 * FL_NS_PER_S)          /* half of the two minutes that the stamp may be old */
#define FL_EXPORTER_SCRAPED (120 * FL_NS_PER_S)      /* somebody scrapes: the slowest scrapers come each minute */
#define FL_EXPORTER_SOON (1 * FL_NS_PER_S)           /* the driver is not ready: asked again */
#define FL_EXPORTER_PODS (5 * FL_NS_PER_S)           /* a List of 80 Pods costs 2 ms: 0.04 % of a core */
#define FL_EXPORTER_STALE (120 * FL_NS_PER_S)        /* a stamp that is older is a missing heartbeat */
#define FL_EXPORTER_PODS_STALE (60 * FL_NS_PER_S)    /* the kubelet's last answer counts so long while it is away */
#define FL_EXPORTER_FRESH (100 * FL_NS_PER_MS)       /* labels once made serve so long: a text of 80 Pods takes 5 ms */
#define FL_EXPORTER_PIECE (32 * FL_KIB)              /* of a text: as FL_SCRAPE_PIECE */

struct fl_card_fault;
struct fl_gpu_sample;
struct fl_log;

struct fl_exporter_options {
	uint64_t period;                       /* 0: FL_EXPORTER_PERIOD */
	uint64_t pods_stale;                   /* 0: FL_EXPORTER_PODS_STALE */
	const char *file;                      /* of the list; NULL: the default list. Borrowed, like all here */
	struct fl_dcgm_style style;            /* without the driver's version */
	bool pod_labels;                       /* lines have the labels of Pods ... */
	struct fl_str pod_allow;               /* ... whose names match one of these; empty: all */
	bool (*ask)(void *arg, const struct fl_dcgm_set *wanted);   /* as fl_gpu_sample */
	void (*look)(void *arg);               /* who holds what: ask the kubelet */
	bool (*pods_known)(void *arg);         /* may the holders in the cache be told? */
	const char *(*runtime)(void *arg);     /* the socket of the container runtime */
	void *arg;
	struct fl_log *log;
};

/* How the text is served; `listen` is borrowed. Of an error FL_OK: nothing is wrong. */
struct fl_exporter_listener {
	struct fl_str listen;                  /* empty: not known yet */
	bool tls;
	enum fl_exporter_access access;
	struct fl_err closed, web;             /* why it is not, and why the web config is not in force */
};

/* Where a text has come to; zeroed for its beginning. */
struct fl_exporter_at {
	uint32_t metric, list, lines, left_out;
};

/* Zeroed before the start; does not move. */
struct fl_exporter {
	struct fl_io *io;                      /* NULL: not started */
	struct fl_loop *loop;
	struct fl_exporter_options options;
	struct fl_sandboxes sandboxes;         /* not started where neither UIDs nor labels are wanted */
	struct fl_files files;
	struct fl_arena lists[2];              /* of the list in force, and of the next one */
	struct fl_dcgm_list list;
	uint32_t list_no;                      /* a number that changes with the list, from 1 on */
	struct fl_exporter_listener listener;
	struct fl_feed *feed;                  /* of Exporter */
	struct fl_err why;                     /* why the file is not in force; FL_OK: it is, or there is none */
	struct fl_dcgm_set wanted;
	FL_VEC(struct fl_dcgm_gpu *) gpus;     /* by address */
	struct fl_dcgm_late_xid late[FL_DCGM_XIDS_LATE];   /* a ring */
	uint32_t late_len, late_at;
	struct fl_timer timer, pods;
	uint64_t round_at, scraped_at;         /* 0: never */
	uint64_t complete_at;                  /* on the loop's clock */
	int64_t updated;                       /* ... and ns since 1970; 0: never */
	struct fl_dcgm_facts facts;            /* of `lines`, without cards, holders and Pods */
	struct fl_dcgm_lines lines;            /* made for a text; its further pieces and other texts use it */
	struct fl_arena arena;                 /* of both */
	uint64_t made_at;                      /* 0: not made */
};

int fl_exporter_start(struct fl_exporter *exporter, struct fl_io *io, struct fl_loop *loop,
		      const struct fl_exporter_options *options, struct fl_err *err) FL_MUSTUSE;
int fl_exporter_off(struct fl_loop *loop, struct fl_err *err) FL_MUSTUSE;   /* instead: none is wanted */
void fl_exporter_stop(struct fl_exporter *exporter);   /* one that is not started is left alone */

/* Telemetry of one GPU; NULL: the round is over. */
void fl_exporter_sampled(struct fl_exporter *exporter, const struct fl_gpu_sample *sample, bool complete);
void fl_exporter_fault(struct fl_exporter *exporter, const struct fl_card_fault *fault);
void fl_exporter_looked(struct fl_exporter *exporter);
void fl_exporter_listens(struct fl_exporter *exporter, const struct fl_exporter_listener *now);

/* Appends the next piece of the text, until about `until` on fl_clock(). False: it was the last. The buffer fails with
 * FL_E_RETRY when the list has changed since the text began. */
bool fl_exporter_text(struct fl_exporter *exporter, struct fl_exporter_at *at, uint64_t until, struct fl_buf *buf);

/* For /readyz: is the last complete collection FL_EXPORTER_STALE old? One that never was counts from the start on. */
bool fl_exporter_stale(const struct fl_exporter *exporter);
