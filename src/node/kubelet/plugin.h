/* plugin.h - the sink of Resource: each wanted resource is a socket that the kubelet knows.
 *
 *     static struct fl_plugins *plugins;
 *     fl_loop_source(loop, &(struct fl_source){ &fl_resource_kind, NULL, &fl_plugin_sink, &plugins }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_plugin_socket_kind }, err);
 *     plugins = fl_plugins_new(io, loop, &options, err);
 *
 * A wanted Resource is served (v1beta1.DevicePlugin) and registered. Its units give the device list, which is sent to
 * open ListAndWatch streams when it differs from the last one sent. A Resource that is no longer wanted is closed. A
 * write is done when the open streams have the list; registration continues on its own.
 *
 * Each resource has its own socket, "fairlead-<end of its name>-<hash>-<process>.sock": no two processes use the same
 * path, so in a rolling update neither removes the other's socket. It is made under a name with a leading dot and
 * renamed when it listens.
 *
 * For each resource: listen, then register (the kubelet calls back during Register). Register again, with backoff, when
 * the newest ListAndWatch has ended and not by us, when the kubelet's socket was made again, when the options have
 * changed, or when our socket is gone from the directory. Older streams are closed on our side first: the kubelet
 * treats the end of any stream as the end of all. The agent does not alternate with another process that serves one of
 * its resources: see fl_plugin_socket_kind, a fact for the plan. A plugin dropped this way gets no notice, so the agent
 * checks the kubelet's allocatable devices: 0.1 s and 1 s after a plugin comes or goes, every 30 s while another plugin
 * is there or was within five minutes, else every five minutes. It re-registers what the kubelet dropped: its own
 * resource, or (at most three times a socket) that of NVIDIA's plugin, which registers only once.
 *
 * Allocate, GetPreferredAllocation and PreStartContainer are answered from the Resource whose list was sent last
 * (plan/gpu/allocate.h), kept unpacked; they write nothing.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

struct fl_plugins;
struct fl_log;

struct fl_plugins_options {
	const char *dir;              /* the kubelet's directory, borrowed; NULL: /var/lib/kubelet/device-plugins */
	struct fl_log *log;
	struct fl_metrics *metrics;   /* NULL: none are kept; one struct fl_plugins a registry */
	void (*allocated)(void *arg); /* after each Allocate: PodResources will list the holder. NULL: no call */
	/* Before a device that could be allocated no longer can: PodResources must list once more. `given`: when one of
	 * its resource was allocated last; 0: never. On failure the device stays. NULL: no call. */
	int (*withdrawn)(void *arg, uint64_t given, struct fl_err *err);
	void *arg;
	const char *pods_dir;         /* of PodResources, borrowed; NULL: allocatable devices are not checked */
	const char *kubelet;          /* its socket for Register, borrowed; NULL: kubelet.sock in `dir`; "": nothing
					 is registered, but the sockets of the resources are served */
};

/* The loop must have a source for fl_resource_kind with fl_plugin_sink, and one for fl_plugin_socket_kind. Feeds both:
 * the first with nothing at startup, the second with the sockets in the directory. Removes sockets of an earlier
 * process of ours once nothing answers there. FL_E_TOOBIG: the directory's path leaves no room for a socket's name. */
struct fl_plugins *fl_plugins_new(struct fl_io *io, struct fl_loop *loop, const struct fl_plugins_options *options,
				  struct fl_err *err) FL_MUSTUSE;

/* The orderly end, before the free: stops registering and listing, removes the sockets, and ends each stream with a
 * status. True when the kubelet has received these; call it after each iteration until then, or as long as there is
 * time. The loop must not write any more. */
bool fl_plugins_drain(struct fl_plugins *plugins);
struct fl_plugins *fl_plugins_free(struct fl_plugins *plugins);    /* closes all. NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_plugins, struct fl_plugins *, fl_plugins_free);

/* Its self is a struct fl_plugins **, as a source is named before the plugins exist; they must exist before the loop's
 * first iteration. */
extern const struct fl_sink fl_plugin_sink;

/* For /readyz: the first wanted resource that the kubelet does not watch; NULL: it watches all. *ret_why (may be NULL):
 * the last error, or FL_OK. */
const char *fl_plugins_unwatched(const struct fl_plugins *plugins, struct fl_err *ret_why);
