/* report.h - metrics of a node's GPUs for dashboards. */
#pragma once
#include "base/metrics.h"
#include "run/loop.h"

/* Adds the metrics of the table in report.c. Each scrape reads the caches, so the loop must outlive the last scrape. */
int fl_report_metrics(struct fl_metrics *metrics, struct fl_loop *loop, struct fl_err *err) FL_MUSTUSE;
