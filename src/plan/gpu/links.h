/* links.h - links from /dev/char/MAJOR:MINOR to the driver's device nodes.
 *
 * Pure. Only with --dev-char-links. systemd looks up there which device a cgroup's rule means. udev does not make the
 * driver's nodes, so nothing else makes their links. Without them, containers of the systemd cgroup driver lose access
 * to their GPUs after `systemctl daemon-reload`. A link whose node is gone is removed. When disabled, links stay as
 * they are.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_GPU_LINKS_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_host, host, "host") \
	X(ALL, fl_dev_link, links, link_len) /* the existing ones */
FL_FACTS(fl_gpu_links_facts, FL_GPU_LINKS_FACTS);

extern const struct fl_owner fl_gpu_links_owner;
void fl_gpu_links_plan(const void *facts, struct fl_plan *plan);
