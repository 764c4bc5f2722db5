/* metrics.h - the listener of the GPU metrics: /metrics and /health, apart from the pages of the role.
 *
 * With a web config file (serve/web.h) it listens once that can be used, so never in plain HTTP where TLS was asked
 * for. The file, the certificate, its key and the CA of clients are followed; what cannot be used leaves what is in
 * force.
 */
#pragma once
#include "http/files.h"
#include "node/exporter/exporter.h"
#include "serve/pages.h"
#include "serve/web.h"

/* A port that is taken: by an exporter that is about to end, as at a take-over ... */
#define METRICS_RETRY_FIRST (1 * FL_NS_PER_S)
#define METRICS_RETRY_LAST (10 * FL_NS_PER_S)   /* ... or one that stays: together with the other checks of a node */

/* Zeroed before; does not move. `open`: whoever asks is answered; else by token or client certificate. */
struct metrics_options {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_kube *kube;
	struct fl_exporter *exporter;      /* borrowed; may be stopped */
	struct fl_log *log;
	struct fl_str listen;              /* empty: not at all */
	const char *web;                   /* the web config file; NULL: plain HTTP */
	bool open;
};

struct metrics {
	struct metrics_options options;
	struct fl_pages pages;
	struct fl_addr addr;
	struct fl_timer again;
	uint64_t delay;                    /* of the last retry */
	struct fl_exporter_listener state;
	struct fl_files file;
	struct fl_tls_files tls;
	struct fl_arena arena;             /* of the paths in `tls` */
	enum fl_web_clients next, clients; /* of the file, and of what is in force */
	struct fl_tls_context *context;    /* NULL: plain HTTP */
	bool started, listens;
};

/* ":9400" is the port on all addresses. FL_E_INVALID names the option. */
int metrics_address(struct fl_str text, struct fl_addr *ret, struct fl_err *err) FL_MUSTUSE;

int metrics_start(struct metrics *metrics, const struct metrics_options *options, struct fl_err *err) FL_MUSTUSE;
void metrics_stop(struct metrics *metrics);    /* one that is not started is left alone */
