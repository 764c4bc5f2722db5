/* agent_world.h - the agent as a whole for tests: on real children, a fake driver, a kubelet and a disk. */
#pragma once
#include "fake_kubelet.h"
#include "gpu_rig.h"
#include "node/agent.h"
#include "test.h"

#define GPU "nvidia.com/gpu"

struct old;

struct world {
	struct gpu_rig rig;            /* the fake driver, and the io of all */
	struct fl_loop *loop;
	struct fl_agent agent;
	struct fake_kubelet kubelet;
	struct fl_grpc_server *pods;
	char *held;                    /* the device that the one Pod has; NULL: there is none */
	const char *held_as;           /* its resource; NULL: GPU */
	uint32_t crowd;                /* Pods beside it, without containers */
	size_t reply_len;              /* bytes of the last such answer */
	struct fl_settings_given given;
	struct fl_str root;            /* of the driver */
	char plugins[80], pod_dir[80], cdi[80], state[80], logs[80], file[160], control[120];
	const char *config, *configs;  /* a configuration file, or a directory of them; NULL: none */
	bool node;                     /* there is an API server, and the Node: GPUsReady is True, "as it was" */
	bool astray; int warned;       /* a driver was looked for elsewhere; log lines of a wrong configuration */
	int untaken, missed;           /* ... of one that is not taken as a whole; of a Node that is not there */
	char changed[400];             /* the log's last line of settings that have changed */
	int registered;                /* ... of a resource, registered; its devices may become healthy later */
	int killed;                    /* ... of an MPS daemon that was killed */
	struct old *old;               /* a journal that the test has open */
	void (*hear)(void *w, const struct fl_told_event *event);   /* NULL: nobody does */
	uint32_t told;                 /* a bit for each that hear() has waited for */
	char share[80];                /* a device that the one Pod may have */
	bool opened;                   /* the driver, while nobody should have */
	const char *ready_dir;         /* of files that say which checks have passed; NULL: none */
	const char *metrics_file;      /* the list of metrics; NULL: the default */
	uint64_t metrics_period;       /* 0: 50 ms */
	uint64_t pods_stale;           /* the kubelet's last answer counts so long; 0: as without a test */
	bool no_pods, pod_uid;         /* metrics name no Pods; they have their UIDs */
	const char *runtime;           /* socket of the container runtime; NULL: there is none */
	uint64_t end_wait;             /* 0: as long as an agent takes at most; a busy machine may take longer */
	struct fl_err err;
};

int world_up(struct world *w, const char *topology, unsigned flags) FL_MUSTUSE;
void world_auto_(struct world *w);

/* May be started and stopped again and again: what it left is there. */
int agent_up(struct world *w) FL_MUSTUSE;
void agent_down(struct world *w);

/* The kubelet's PodResources, up at first: it goes, and a new one comes. */
int tells_up(struct world *w) FL_MUSTUSE;
void tells_down(struct world *w);
/* Does it know all of its Pods? From the start on it does. */
void kubelet_is_young(struct world *w, bool young);

/* Turns until it is so; false when it is not within 20 s. */
bool until(struct world *w, bool (*so)(struct world *w, int arg), int arg);
const char *uuid(const struct world *w, int gpu);
/* In the kubelet's list: 'H', 'U', or '-' where it is not there. */
char listed(struct world *w, int gpu);
bool both_are(struct world *w, int both);
bool is_ready(struct world *w, int arg);
/* A process: gone, or waiting for somebody to take note of its end. */
bool is_dead(int pid);
bool node_says(struct world *w, const char *status, const char *part);   /* the condition GPUsReady */

#define WORLD(w, topology, flags) \
	FL_AUTO(world) struct world w = { 0 }; \
	OK_ERR(world_up(&w, topology, flags), &w.err)
