/* agent.h - the agent of a GPU node: connects the feeders and sinks of this folder to one loop.
 *
 *     fl_agent_sources(agent, io, loop, &options, err)    after the loop has been made, before its capabilities
 *     fl_agent_capabilities                               which those are
 *     fl_agent_start(agent, err)                          after them: the agent now manages the node
 *     fl_agent_end(agent)                                 orderly end: after each iteration until it returns true
 *     fl_agent_stop(agent)                                always, however far it came; free the loop after it
 *
 * Order at startup, also after a boot: stored state, scan of the host, CDI files, then the kubelet. A second agent
 * waits for the lock on the journal, and so takes over when the first one ends.
 */
#pragma once
#include "io/journal.h"
#include "node/api/watches.h"
#include "node/host/cdi.h"
#include "node/exporter/exporter.h"
#include "node/settings/config.h"
#include "node/gpu/gpu.h"
#include "node/settings/mig_file.h"
#include "node/pausing.h"
#include "node/mps/mps.h"
#include "node/kubelet/holders.h"
#include "node/host/host.h"
#include "node/kubelet/inside.h"
#include "node/labels/file.h"
#include "node/host/links.h"
#include "node/host/ready_files.h"
#include "node/kubelet/plugin.h"
#include "node/kubelet/pods.h"
#include "node/host/runtime.h"
#include "node/pod_events.h"
#include "run/records.h"

/* At its end, to close the kubelet's streams and end the children. The next agent waits for it, and a hand-over should
 * take 200 ms. */
#define FL_AGENT_END_WAIT (100 * FL_NS_PER_MS)

struct fl_agent_options {
	struct fl_config_options config;
	struct fl_gpu_options gpu;             /* log and metrics are taken from below */
	const char *state_dir;                 /* of the journal */
	const char *plugins_dir, *pods_dir;    /* the kubelet's */
	const char *kubelet;                   /* its socket; NULL: kubelet.sock in plugins_dir; "": do not register */
	const char *cdi_dir;
	const char *runtime_socket;            /* NULL: the usual places */
	/* Sends an Event: to a Pod about the health of a GPU that it holds, to the Node about a damaged journal. NULL:
	 * no Event is sent. */
	void (*event)(void *arg, const struct fl_told_event *event);
	void *event_arg;
	struct fl_kube *kube;                  /* borrowed; NULL: there is no API server */
	enum fl_holders_api (*api)(void *arg); /* is it there now? NULL with `kube` */
	void *api_arg;
	struct fl_inside_options inside;       /* the log is taken from below */
	bool metrics_off;                      /* the exporter is not wanted: the driver is not read for it */
	struct fl_exporter_options exporter;   /* its functions and the log are the agent's */
	const char *control;                   /* the operator's control socket (node/pausing.h); "": none */
	uint64_t end_wait;                     /* of fl_agent_end; 0: FL_AGENT_END_WAIT */
	struct fl_log *log;
	struct fl_metrics *metrics;
};

/* Zeroed before the sources; does not move until the stop. All that the options borrow must outlive it. */
struct fl_agent {
	struct fl_io *io;                      /* NULL: not begun */
	struct fl_loop *loop;
	struct fl_agent_options options;
	struct fl_config config;
	struct fl_mig_files mig_file;
	struct fl_sink settings;
	struct fl_host_sink host;
	struct fl_cdi_dir cdi;
	struct fl_ready_files ready_files;
	struct fl_runtime_feed *runtime;
	struct fl_gpu *gpu;
	struct fl_pausing pausing;
	struct fl_mps_daemons mps;
	struct fl_plugins *plugins;
	struct fl_holders *holders;
	struct fl_pod_events *pod_events;
	struct fl_exporter exporter;
	struct fl_pods pods;
	struct fl_api_watches watches;
	struct fl_links links;
	struct fl_labels_file label_file;
	struct fl_inside_feeder inside;
	struct fl_records *records, *bookings, *memos, *layouts;
	struct fl_journal *journal;

	/* Private. */
	struct fl_journal_open open;
	struct fl_err open_why;                /* why the journal is not open; FL_OK: it is, or the open is in flight */
	struct fl_timer open_again;
	uint64_t open_delay;
	struct fl_journal_append begin;        /* its first generation of ours */
	struct fl_err begin_why;
	uint64_t wrong_said, untaken_said;     /* digests of what was logged about Settings; 0: nothing */
	bool node_missed;                      /* a missing Node was logged */
	bool ends;
	struct fl_gpu_pause let_go;            /* of the children, at the end */
	struct fl_timer end_by;
};

extern const struct fl_capability *const fl_agent_capabilities[];   /* NULL ends them */

int fl_agent_sources(struct fl_agent *agent, struct fl_io *io, struct fl_loop *loop,
		     const struct fl_agent_options *options, struct fl_err *err) FL_MUSTUSE;
int fl_agent_start(struct fl_agent *agent, struct fl_err *err) FL_MUSTUSE;

/* The orderly end, after the loop's last write and before the stop: the kubelet's streams end with a status, and no
 * child process remains that may hold a port of ours. Call it after each iteration until it returns true, which it does
 * within options.end_wait. */
bool fl_agent_end(struct fl_agent *agent);
void fl_agent_stop(struct fl_agent *agent);

/* Turns a change that the loop reports into Events about the Node and Pods, for options.event. A GPU's health concerns
 * the Node and the Pods that hold it now (node/pod_events.h), and names the GPU; a booking or an eviction concerns its
 * Pod. */
void fl_agent_tell(struct fl_agent *agent, const struct fl_told_event *told);

/* For /readyz. False: `words` is what the agent waits for. True: it waits for nothing, and `words`, unless empty, is
 * what else needs repair. */
bool fl_agent_ready(const struct fl_agent *agent, struct fl_buf *words);
