/* plugin_world.h - a node whose device plugin serves what a test wishes for (wishes.h), and its kubelet.
 *
 *     WORLD(w);                    the agent; without a kubelet
 *     KUBELET(w);                  it starts
 *     WISH(w, ONE_SICK);           nothing but these Resources is wanted from now on
 *     CHECK(comes(&w, GPU, "GPU-0 GPU-1!", SOON));
 */
#pragma once
#include "base/units.h"
#include "fake_kubelet.h"
#include "node_world.h"
#include "test.h"
#include "wishes.h"

static const char dir[] = "/plugins", pods_dir[] = "/pods";

struct world {
	struct node_world node;
	struct fl_io *io;          /* the node's */
	struct fl_loop *loop;
	struct fl_plugins *plugins;
	struct fake_kubelet kubelet;
	int allocated, withdrawn;
	uint64_t given;            /* before the last withdrawal */
	const char *kubelet_socket;        /* --kubelet-socket */
	struct fl_err err;
};

void world_auto_(struct world *w);
int world_start(struct world *w);

/* The agent; without a kubelet. */
int agent_start(struct world *w);

/* Everything that comes within this time. */
void pass(struct world *w, uint64_t ns);

/* Does the kubelet come to have this list within the time? */
bool comes(struct world *w, const char *resource, const char *devices, uint64_t within);

#define WORLD(w) \
	FL_AUTO(world) struct world w = { 0 }; \
	OK_ERR(world_start(&w), &w.err)
#define KUBELET(w) OK_ERR(fake_kubelet_start(&(w).kubelet, (w).io, dir, &(w).err), &(w).err)
#define WISH(w, json) OK_ERR(wishes_put((w).loop, FL_S(json), &(w).err), &(w).err)

#define TWO \
	"[{\"metadata\":{\"name\":\"nvidia.com/gpu\"},\"ways\":[\"cdi-cri\"],\"cdiKind\":\"test.dev/gpu\"," \
	"\"units\":[{\"id\":\"GPU-0\",\"healthy\":true,\"shown\":\"GPU-0\"},{\"id\":\"GPU-1\",\"healthy\":true," \
	"\"shown\":\"GPU-1\"}]}]"
#define ONE_SICK \
	"[{\"metadata\":{\"name\":\"nvidia.com/gpu\"},\"ways\":[\"cdi-cri\"],\"cdiKind\":\"test.dev/gpu\"," \
	"\"units\":[{\"id\":\"GPU-0\",\"healthy\":true,\"shown\":\"GPU-0\"},{\"id\":\"GPU-1\",\"healthy\":false," \
	"\"why\":\"XID 79; drain the node\",\"shown\":\"GPU-1\"}]}]"
#define GPU "nvidia.com/gpu"

/* What a failed call costs is a retry, and those are within this. */
#define SOON (4 * FL_NS_PER_S)
