/* report.h - who is to be told when the health of a card changes: the Node, and the Pods that have it. */
#pragma once
#include "run/loop.h"

/* The Pods that hold the card or partition of this Health (its name), or a part of the card: each once, as space and
 * name, sorted. How many; *ret lies in the view's arena. */
struct fl_report_pod {
	struct fl_str space, name;
};
uint32_t fl_report_pods(struct fl_view *view, struct fl_str health, const struct fl_report_pod **ret);
