/* metrics.h - the listener of the GPU metrics: /metrics and /health, apart from the pages of the role. */
#pragma once
#include "node/exporter/exporter.h"
#include "serve/pages.h"

#define METRICS_RETRY (1 * FL_NS_PER_S)   /* another exporter may have the port still */

struct metrics {
	struct fl_pages pages;
	struct fl_exporter *exporter;      /* borrowed; may be stopped */
	struct fl_log *log;
	struct fl_addr addr;
	struct fl_timer again;
	bool started, waits;               /* waits: for the port, which was logged */
};

/* ":9400" is the port on all addresses. FL_E_INVALID names the option. */
int metrics_address(struct fl_str text, struct fl_addr *ret, struct fl_err *err) FL_MUSTUSE;

/* Zeroed before; does not move. `open`: whoever asks is answered; else by token, as for the pages of the role. */
struct metrics_options {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_kube *kube;
	struct fl_exporter *exporter;
	struct fl_log *log;
	struct fl_str listen;
	bool open;
};
int metrics_start(struct metrics *metrics, const struct metrics_options *options, struct fl_err *err) FL_MUSTUSE;
void metrics_stop(struct metrics *metrics);    /* one that is not started is left alone */
