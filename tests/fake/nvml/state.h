/* state.h - a GPU node that is not there: what the fake driver knows, shared by all who have it open.
 *
 * One file, mapped by every process that loads the fake libnvidia-ml.so.1 and by whoever controls it; so a MIG instance
 * made by one process is seen by all, and an XID told once reaches each of them. All of it is read and written with
 * `lock` held (fake_lock); the lock is robust: who dies holding it, in a crash that was asked for or not, leaves it to
 * the next. Every store leaves a state that makes sense: what comes into being is filled in before its `used` is set.
 *
 * The library finds the file by FAIRLEAD_FAKE_NODE (the node's folder), else as "fake-node" beside itself, following
 * the links by which it was found.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/gpu/nv_abi.h"

#define FAKE_MAGIC 0x46414b45u
#define FAKE_VERSION 1u
#define FAKE_FILE "fake-node"           /* the state's name, in the node's folder and beside the library */
#define FAKE_ENV "FAIRLEAD_FAKE_NODE"

enum {
	FAKE_GPUS = 16,
	FAKE_PROFILES = 20,             /* at least FL_NV_GI_COUNT */
	FAKE_PLACES = 8,
	FAKE_GIS = 8,
	FAKE_CIS = 8,
	FAKE_PROCESSES = 64,
	FAKE_EVENTS = 256,              /* a reader further behind than this has lost some, as with the real one */
	FAKE_FAULTS = 32,
	FAKE_CALLS = 128,               /* more than the members of struct fl_nv_calls */
	FAKE_CUDA = FAKE_CALLS - 1,     /* making a CUDA context, as a call: "cuda" */
};

/* One MIG profile of a model; id and count decide whether there is one: instances == 0 is none. */
struct fake_profile {
	uint32_t id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
	uint32_t media;                 /* takes one of the model's only media engine */
	uint32_t places_n, size;
	uint32_t memory_mib;
	uint8_t places[FAKE_PLACES];    /* where it may start, in memory slices */
	char name[32];
};

struct fake_model {
	char key[32];                   /* as topology files say it: "a100-sxm4-80gb" */
	char name[64];                  /* as the driver says it */
	uint32_t pci_id, subsystem, pci_class;
	uint32_t arch, brand, major, minor;
	uint32_t memory_mib, reserved_mib, bar1_mib;
	uint32_t links, link_mbps;
	uint32_t power_idle_mw, power_limit_mw, sm_mhz, mem_mhz, pcie_generation;
	uint32_t multiprocessors;
	uint32_t slices;                /* of compute, under MIG; 0: it has no MIG */
	bool reset_for_mig;             /* a change of the mode waits for a reset */
	bool has_fabric, has_rows, has_ecc, has_gsp;
	char vbios[32];
	struct fake_profile profiles[FAKE_PROFILES];    /* by enum fl_nv_gi_profile_no */
};

struct fake_ci {
	uint32_t used, id, profile, start, size, generation;
	uint32_t index;                 /* of its MIG device on the card */
};

struct fake_gi {
	uint32_t used, id, profile, start, size, generation;
	struct fake_ci cis[FAKE_CIS];
};

struct fake_process {
	uint32_t used, pid, gi, ci;
	uint64_t memory;                /* bytes */
};

struct fake_link {
	uint32_t on, built, peer_type;  /* built: it is there, up or not */
	int32_t peer;                   /* a GPU of this node, or -1: a switch */
	uint64_t errors[5];
};

struct fake_gpu {
	struct fake_model model;
	char uuid[48], serial[16];
	uint32_t domain, bus, slot;
	uint32_t minor;
	int32_t numa;
	uint32_t pcie_switch, host_bridge;      /* GPUs with the same number share one */
	uint32_t lost;                  /* the code that every call on it answers, or 0 */
	uint32_t gone;                  /* pulled out: not even counted */
	uint32_t mig, mig_pending;
	uint32_t compute_mode, recovery;
	uint32_t load;                  /* per cent, what telemetry swings around */
	int32_t temperature;            /* fixed, or INT32_MIN: follows the load */
	uint32_t miscomputes;           /* how many results of a CUDA launch are wrong */
	uint64_t energy_mj, energy_at_ns;
	uint32_t pcie_replays;
	uint64_t ecc[2][2][8];          /* enum fl_nv_memory_error, fl_nv_counter, fl_nv_location */
	uint32_t retired[2], retired_pending;
	uint32_t remapped[4];           /* correctable, uncorrectable, pending, failed */
	struct fl_nv_fabric_v3 fabric;
	uint32_t instances_made;        /* gives each instance a generation of its own */
	struct fake_gi gis[FAKE_GIS];
	struct fake_process processes[FAKE_PROCESSES];
	struct fake_link links[FL_NV_LINKS];
};

enum fake_fault_kind {
	FAKE_FAIL,                      /* answer `value`, a code */
	FAKE_HANG,                      /* never come back; a signal that ends the process does end it */
	FAKE_DEAF,                      /* never come back, every signal but SIGKILL blocked */
	FAKE_FROZEN,                    /* never come back, not even for SIGKILL, until healed: see fault.c */
	FAKE_CRASH,                     /* SIGSEGV inside the call */
	FAKE_DELAY,                     /* come back `value` microseconds later */
};

struct fake_fault {
	uint32_t used, kind;
	int32_t call, gpu;              /* -1: any */
	uint32_t value;
	int32_t times;                  /* how often yet; -1: always */
};

struct fake_event {
	uint32_t gpu, gi, ci;
	uint64_t type, data;
};

struct fake_state {
	uint32_t magic, version, size, calls_n;
	char path[256];                 /* of this file, as its maker called it */
	pthread_mutex_t lock;
	uint32_t frozen;                /* how many have come to stand frozen */
	uint32_t heals;                 /* goes up with each `heal`: lets go of what stands frozen */
	uint32_t bell;                  /* a futex: goes up with every event and with every change of the driver */
	uint64_t made_ns;               /* CLOCK_REALTIME: where moving telemetry begins */
	uint32_t driver;                /* what init and every call answer: 0, or a code (not loaded 9, mismatch 18) */
	uint32_t driver_epoch;          /* goes up with each load: who called init before that is UNINITIALIZED */
	char driver_version[32], name[64];
	uint32_t cuda_version;
	uint32_t no_privilege;          /* what changes the card answers NO_PERMISSION */
	uint32_t newest;                /* the newest version of any struct that this driver knows */
	uint32_t gpus_n;
	struct fake_gpu gpus[FAKE_GPUS];
	struct fake_fault faults[FAKE_FAULTS];
	uint64_t events_n;              /* ever told; the last FAKE_EVENTS are at events[i % FAKE_EVENTS] */
	struct fake_event events[FAKE_EVENTS];
	uint64_t missing[FAKE_CALLS / 64];      /* calls that this driver does not have, as bits */
	uint64_t calls[FAKE_CALLS];     /* how often each was called, by all */
};

_Static_assert((int)FAKE_PROFILES >= (int)FL_NV_GI_COUNT, "room for every profile");
_Static_assert(sizeof(struct fl_nv_calls) / sizeof(void *) <= FAKE_CUDA, "room for every call");

/* Map the state of the node's folder, or of the file itself; NULL with errno set. Never moved or unmapped. */
struct fake_state *fake_map(const char *path);

/* Make that file anew, zeroed but for what every state has. NULL with errno set. */
struct fake_state *fake_make(const char *path);

void fake_lock(struct fake_state *state);
void fake_unlock(struct fake_state *state);

/* Ring the bell for those who wait for events; with the lock held. */
void fake_ring(struct fake_state *state);

/* Wait until the bell is no longer `bell`, at most that long. Without the lock. */
void fake_wait(struct fake_state *state, uint32_t bell, uint32_t timeout_ms);

/* Tell an event; with the lock held. */
void fake_tell(struct fake_state *state, uint32_t gpu, uint64_t type, uint64_t data, uint32_t gi, uint32_t ci);

/* A share in the use of the driver, as an fd that is closed to let go; -1 with errno. While anybody holds one,
 * fake_in_use() says true: a module in use cannot be unloaded. Whoever dies lets go. */
int fake_use(const char *path);
bool fake_in_use(const char *path);

/* The number of a call by its member of struct fl_nv_calls or one of its symbols, or "cuda"; or -1. */
int fake_call_no(const char *name);

/* "MIG-..." of a compute instance: the same for the same place on the same card. */
void fake_mig_uuid(const struct fake_gpu *gpu, const struct fake_gi *gi, const struct fake_ci *ci, char uuid[48]);

uint64_t fake_now_ns(void);
