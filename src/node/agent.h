/* agent.h - all that a GPU node does, on one loop: the feeders and sinks of this folder put together.
 *
 *     fl_agent_sources(agent, io, loop, &options, err)    after the loop has been made, before its capabilities
 *     fl_agent_capabilities                               which those are
 *     fl_agent_start(agent, err)                          after them: from here on the node is looked after
 *     fl_agent_end(agent)                                 told to end: until it says true, turn by turn
 *     fl_agent_stop(agent)                                in any case, however far it came; the loop comes after
 *
 * The order at a start, after a boot too: what is remembered, what the host has, the CDI files, and then the kubelet.
 * An agent that comes while another one is still there waits for its journal, and so takes over when that one ends.
 */
#pragma once
#include "io/journal.h"
#include "node/host/cdi.h"
#include "node/settings/config.h"
#include "node/gpu/gpu.h"
#include "node/pausing.h"
#include "node/mps/mps.h"
#include "node/kubelet/holders.h"
#include "node/host/host.h"
#include "node/kubelet/inside.h"
#include "node/host/links.h"
#include "node/kubelet/plugin.h"
#include "node/kubelet/pods.h"
#include "node/host/runtime.h"
#include "node/pod_events.h"
#include "run/records.h"

/* At its end: for the kubelet to be told and the children to be gone. Whoever takes over waits for it, and hand-overs
 * are to take 200 ms. */
#define FL_AGENT_END_WAIT (100 * FL_NS_PER_MS)

struct fl_agent_options {
	struct fl_config_options config;
	struct fl_gpu_options gpu;             /* log and metrics are taken from below */
	const char *state_dir;                 /* of the journal */
	const char *plugins_dir, *pods_dir;    /* the kubelet's */
	const char *kubelet;                   /* its socket; NULL: kubelet.sock in plugins_dir; "": do not register */
	const char *cdi_dir;
	const char *runtime_socket;            /* NULL: the usual places */
	/* A Pod that holds a card is to be told of its health, the Node of a journal that was spoiled: an Event. NULL:
	 * there is nobody to send it. */
	void (*event)(void *arg, const struct fl_told_event *event);
	void *event_arg;
	struct fl_kube *kube;                  /* borrowed; NULL: there is no API server */
	struct fl_inside_options inside;       /* the log is taken from below */
	const char *control;                   /* the socket for the operator's word (node/pausing.h); "": none */
	struct fl_log *log;
	struct fl_metrics *metrics;
};

/* Zeroed before the sources; does not move until the stop. All borrowed in the options outlives it. */
struct fl_agent {
	struct fl_io *io;                      /* NULL: not begun */
	struct fl_loop *loop;
	struct fl_agent_options options;
	struct fl_config config;
	struct fl_sink settings;
	struct fl_host_sink host;
	struct fl_cdi_dir cdi;
	struct fl_runtime_feed *runtime;
	struct fl_gpu *gpu;
	struct fl_pausing pausing;
	struct fl_mps_daemons mps;
	struct fl_plugins *plugins;
	struct fl_holders *holders;
	struct fl_pod_events *pod_events;
	struct fl_pods pods;
	struct fl_links links;
	struct fl_inside_feeder inside;
	struct fl_records *records, *bookings, *memos;
	struct fl_journal *journal;

	/* Private. */
	struct fl_journal_open open;
	struct fl_err open_why;                /* why the journal is not open: FL_OK when it is, or is on its way */
	struct fl_timer open_again;
	uint64_t open_delay;
	uint64_t wrong_said, untaken_said;     /* digests of what was logged of Settings; 0: nothing was */
	bool node_missed;                      /* ... and whether the Node was said to be missing */
	bool ends;
	struct fl_gpu_pause let_go;            /* of the children, at the end */
	struct fl_timer end_by;
};

extern const struct fl_capability *const fl_agent_capabilities[];   /* NULL ends them */

int fl_agent_sources(struct fl_agent *agent, struct fl_io *io, struct fl_loop *loop,
		     const struct fl_agent_options *options, struct fl_err *err) FL_MUSTUSE;
int fl_agent_start(struct fl_agent *agent, struct fl_err *err) FL_MUSTUSE;

/* The orderly end, when the loop writes no more and before the stop: streams of the kubelet end with a status, and no
 * process that may still have a port of ours is left. True when it is over; to be called after each turn until then,
 * which is FL_AGENT_END_WAIT at the latest. */
bool fl_agent_end(struct fl_agent *agent);
void fl_agent_stop(struct fl_agent *agent);

/* The loop has told of a change: options.event gets it as Events about the Node and Pods. A GPU's health is the Node's
 * and the Pods' that hold it now (node/pod_events.h), and names the GPU; a booking or an eviction is its Pod's. */
void fl_agent_tell(struct fl_agent *agent, const struct fl_told_event *told);

/* What it waits for, for /readyz: true when it waits for nothing; then the words are what else should be mended. */
bool fl_agent_ready(const struct fl_agent *agent, struct fl_buf *words);
