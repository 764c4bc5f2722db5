/* fake_kubelet.h - what the kubelet does with device plugins, as far as a plugin can see it: it serves Register, dials
 * back and asks for the options from within, and then watches the list.
 *
 * As the real one it knows one client a resource. When a stream ends, whoever is the resource's client by then is let
 * go. It never dials again by itself, and counts a resource's devices for as long as it has a client.
 */
#pragma once
#include "base/buf.h"
#include "grpc/client.h"
#include "grpc/server.h"

enum { FAKE_STREAMS = 24 };

/* One registration and the stream that came of it. */
struct fake_stream {
	struct fake_kubelet *kubelet;
	char resource[64], endpoint[108];
	struct fl_grpc_client *client;     /* NULL: the place is free */
	struct fl_grpc_call *registering;  /* NULL: answered, or given up */
	struct fl_grpc_request options, list;
	struct fl_err err;
	bool pre_start, current;
	bool said_pre_start;               /* in Register */
	bool dead;                         /* let go of in the next turn: it may be at work below */
	char devices[900];                 /* the last list: "GPU-0 GPU-1! GPU-2@1", ! unhealthy, @ its NUMA node */
	int lists;                         /* on this stream */
	struct fl_timer timer;
};

struct fake_kubelet {
	struct fl_io *io;
	char dir[80];
	struct fl_grpc_server *server, *pods;
	uint64_t slow;                     /* ns from Register until the plugin is asked for its options */
	uint64_t late;                     /* ns from its answer until it watches */
	bool refuses;                      /* each Register */
	struct fake_stream streams[FAKE_STREAMS];
	int registered, refused, lists, repeated, ended, counted, asked;
};

/* Listens at DIR/kubelet.sock when it returns 0. Zero-initialise before, set what it is like after. */
int fake_kubelet_start(struct fake_kubelet *kubelet, struct fl_io *io, const char *dir, struct fl_err *err);
/* It says at DIR/kubelet.sock what it counts of each resource (GetAllocatableResources). */
int fake_kubelet_counts(struct fake_kubelet *kubelet, const char *dir, struct fl_err *err);
void fake_kubelet_stop(struct fake_kubelet *kubelet);   /* dies: all connections are gone */
static inline void fake_kubelet_auto_(struct fake_kubelet *kubelet)
{
	fake_kubelet_stop(kubelet);
}

/* The resource's current client; NULL: it has none. */
struct fake_stream *fake_kubelet_find(struct fake_kubelet *kubelet, const char *resource);
/* The devices of its last list; "(none)" without a client or before the first list. */
const char *fake_kubelet_devices(struct fake_kubelet *kubelet, const char *resource);
/* End this stream from the kubelet's side, and with it the resource's current client. */
void fake_kubelet_end(struct fake_stream *stream);
