/* report.h - what dashboards are told of a node's cards: health in numbers. */
#pragma once
#include "base/metrics.h"
#include "run/loop.h"

/* Each row of the table in report.c: read from the caches when somebody asks. The loop outlives the metrics' last
 * scrape. */
int fl_report_metrics(struct fl_metrics *metrics, struct fl_loop *loop, struct fl_err *err) FL_MUSTUSE;
