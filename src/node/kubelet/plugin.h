/* plugin.h - the sink of Resource: each wanted resource is a socket that the kubelet knows.
 *
 *     static struct fl_plugins *plugins;
 *     fl_loop_source(loop, &(struct fl_source){ &fl_resource_kind, NULL, &fl_plugin_sink, &plugins }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_plugin_socket_kind }, err);
 *     plugins = fl_plugins_new(io, loop, &options, err);
 *
 * A Resource that is wanted is served (v1beta1.DevicePlugin) and registered; its device list is what its units say,
 * sent to whoever watches when it is another one than was sent last; a Resource that is wanted no more is closed. A
 * write is done when the list has been handed to the streams that are open: registration goes on by itself.
 *
 * Each resource has a socket of its own, "fairlead-<end of its name>-<hash>-<process>.sock": no two processes ever want
 * the same path, so that in a rolling update neither takes the other's away. It is made under a name with a dot in
 * front and renamed when it listens.
 *
 * For each resource: listen, register (answering the kubelet, which calls back from within), and register again, ever
 * later, whenever the newest ListAndWatch has ended and it was not us who ended it, the kubelet's socket has been made
 * anew, the options have changed, or ours is gone from the folder. Before that our side of older streams is ended: the
 * kubelet takes the end of any for the end of all. Where another process serves a resource of ours it takes turns with
 * nobody: see fl_plugin_socket_kind, a fact for the plan. A plugin that is dropped this way gets no notice, so the
 * kubelet is asked what it counts: 0.1 s and 1 s after a plugin comes or goes, every 30 s while another plugin is there
 * or was within five minutes, else every five minutes. What it has dropped is registered again, be it ours or (at most
 * three times a socket) NVIDIA's plugin's, which registers but once.
 *
 * Allocate, GetPreferredAllocation and PreStartContainer are answered from the very Resource whose list was sent last
 * (plan/gpu/allocate.h), kept unpacked; they write nothing.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

struct fl_plugins;
struct fl_log;

struct fl_plugins_options {
	const char *dir;              /* the kubelet's folder, borrowed; NULL: /var/lib/kubelet/device-plugins */
	struct fl_log *log;
	struct fl_metrics *metrics;   /* NULL: none are kept; one struct fl_plugins a registry */
	void (*allocated)(void *arg); /* after each Allocate: PodResources will say who has what. NULL: nobody */
	void *arg;
	const char *pods_dir;         /* of PodResources, borrowed; NULL: the kubelet is not asked what it counts */
	const char *kubelet;          /* its socket for Register, borrowed; NULL: kubelet.sock in `dir`; "": nothing
					 is registered, and the sockets of the resources are served all the same */
};

/* The loop must have a source for fl_resource_kind with fl_plugin_sink, and one for fl_plugin_socket_kind. Feeds both:
 * the first with nothing at the start, the second with what is in the folder. Sockets of ours that a former process
 * left are removed once nobody answers there. FL_E_TOOBIG: the folder's path leaves no room for a socket's name. */
struct fl_plugins *fl_plugins_new(struct fl_io *io, struct fl_loop *loop, const struct fl_plugins_options *options,
				  struct fl_err *err) FL_MUSTUSE;

/* The orderly end, before the free: nothing more is registered or listed, the sockets are gone, and each stream ends
 * with a status. True when the kubelet has been told; call it after each turn until then, or for as long as there is
 * time. The loop must not write any more. */
bool fl_plugins_drain(struct fl_plugins *plugins);
struct fl_plugins *fl_plugins_free(struct fl_plugins *plugins);    /* closes all. NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_plugins, struct fl_plugins *, fl_plugins_free);

/* Its self is a struct fl_plugins **, for a source is named before there is one; it must be there before the loop
 * turns. */
extern const struct fl_sink fl_plugin_sink;

/* How registration goes, for /readyz: the first wanted resource that the kubelet does not watch; NULL: it watches
 * all. *ret_why (may be NULL) says what went wrong last, FL_OK when nothing did. */
const char *fl_plugins_unwatched(const struct fl_plugins *plugins, struct fl_err *ret_why);
