/* plugin.h - the sink of Resource: each wanted resource is a socket that the kubelet knows.
 *
 * A Resource that is wanted is served (v1beta1.DevicePlugin) and registered; its device list is what its units say,
 * sent to whoever watches when it is another one than was sent last; a Resource that is wanted no more is closed. A
 * write is done when the list has been handed to the streams that are open: registration goes on by itself.
 *
 * For each resource: listen, register (answering the kubelet, which calls back from within), and register again, ever
 * later, whenever ListAndWatch has ended and it was not us who ended it, the kubelet's socket has been made anew, or
 * ours is gone from the folder. Where another process serves a resource of ours it takes turns with nobody: see
 * fl_plugin_socket_kind, a fact for the plan.
 *
 * Allocate and GetPreferredAllocation are answered from the Resource alone (plan/gpu_hand_out.h) and write nothing.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

struct fl_plugins;
struct fl_log;

struct fl_plugins_options {
	const char *dir;              /* the kubelet's folder; NULL: /var/lib/kubelet/device-plugins */
	struct fl_log *log;
	struct fl_metrics *metrics;
	void (*allocated)(void *arg); /* after each Allocate: PodResources will say who holds what. NULL: nobody is told */
	void *arg;
};

/* The loop must have a source for fl_resource_kind with fl_plugin_sink, and one for fl_plugin_socket_kind. Feeds both:
 * the first with nothing at the start, the second with what is in the folder. Sockets of ours that a former process
 * left are removed once nobody answers there. */
struct fl_plugins *fl_plugins_new(struct fl_io *io, struct fl_loop *loop, const struct fl_plugins_options *options,
				  struct fl_err *err) FL_MUSTUSE;
struct fl_plugins *fl_plugins_free(struct fl_plugins *plugins);    /* closes all. NULL-safe, returns NULL */

extern const struct fl_sink fl_plugin_sink;        /* its self is a struct fl_plugins */

/* How registration goes, for /readyz: the first wanted resource that the kubelet does not watch; NULL: it watches
 * all. */
const char *fl_plugins_unwatched(const struct fl_plugins *plugins);
