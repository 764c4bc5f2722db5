/* report.h - what people and dashboards are told of a node's cards: whom an Event concerns, and health in numbers. */
#pragma once
#include "base/metrics.h"
#include "run/loop.h"

/* The Pods that hold the card or partition of this Health (its name), or a part of the card: each once, as space and
 * name, sorted. How many; *ret lies in the view's arena. */
struct fl_report_pod {
	struct fl_str space, name;
};
uint32_t fl_report_pods(struct fl_view *view, struct fl_str health, const struct fl_report_pod **ret);

/* fairlead_driver_state, fairlead_driver_info, fairlead_card_health, fairlead_resource_devices and
 * fairlead_cdi_file_unwritable: read from the caches
 * when somebody asks. The loop outlives the metrics' last scrape. */
int fl_report_metrics(struct fl_metrics *metrics, struct fl_loop *loop, struct fl_err *err) FL_MUSTUSE;
