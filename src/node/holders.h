/* holders.h - who has which device: the kubelet's PodResources as a feeder of Holder.
 *
 * Lists when asked to (fl_holders_look: something was allocated, a Pod may have ended), and every FL_HOLDERS_EVERY
 * without being asked; what comes while a look is under way makes one more. The kubelet throttles List: who is refused
 * waits, ever longer. A kubelet that has just started may know of nobody yet: what it does not tell is kept for
 * FL_HOLDERS_GRACE after its socket was made. The same resource in several entries (one a NUMA node) is one Holder, no
 * device twice.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

struct fl_holders;
struct fl_log;

struct fl_holders_options {
	const char *dir;              /* the folder of the kubelet's socket; NULL: /var/lib/kubelet/pod-resources */
	struct fl_log *log;
	struct fl_metrics *metrics;
};

struct fl_holders *fl_holders_new(struct fl_io *io, struct fl_loop *loop, const struct fl_holders_options *options,
				  struct fl_err *err) FL_MUSTUSE;
struct fl_holders *fl_holders_free(struct fl_holders *holders);    /* NULL-safe, returns NULL */
void fl_holders_look(struct fl_holders *holders);
