/* links.h - links from /dev/char/MAJOR:MINOR to the driver's device nodes.
 *
 * Pure. With --dev-char-links only. systemd looks up there which device a cgroup's rule means; the driver's nodes are
 * not udev's, so nothing else makes the links, and after `systemctl daemon-reload` containers of the systemd cgroup
 * driver lose access to their GPUs. A link whose node is gone goes too; switched off, nothing is touched.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_GPU_LINKS_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_host, host, "host") \
	X(ALL, fl_dev_link, links, link_len) /* that were made */
FL_FACTS(fl_gpu_links_facts, FL_GPU_LINKS_FACTS);

extern const struct fl_owner fl_gpu_links_owner;
void fl_gpu_links_plan(const void *facts, struct fl_plan *plan);
