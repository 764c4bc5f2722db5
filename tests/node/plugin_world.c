#include "plugin_world.h"
#include "test_io.h"

void world_auto_(struct world *w)
{
	fake_kubelet_stop(&w->kubelet);
	w->plugins = fl_plugins_free(w->plugins);
	w->loop = fl_loop_free(w->loop);
	node_world_end(&w->node);
}

static void was_allocated(void *world)
{
	((struct world *)world)->allocated++;
}

static int was_withdrawn(void *world, uint64_t given, struct fl_err *err)
{
	struct world *w = world;

	(void)err;
	w->withdrawn++;
	w->given = given;
	return 0;
}

int agent_start(struct world *w)
{
	const struct fl_plugins_options options = { .dir = dir, .allocated = was_allocated, .withdrawn = was_withdrawn,
						    .arg = w, .pods_dir = pods_dir, .kubelet = w->kubelet_socket };

	w->loop = fl_loop_new(w->io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	if (!w->loop || wishes_sources(w->loop, &w->plugins, &w->err) < 0)
		return -FL_E_NOMEM;
	w->plugins = fl_plugins_new(w->io, w->loop, &options, &w->err);
	return w->plugins ? 0 : -(int)w->err.code;
}

int world_start(struct world *w)
{
	if (node_world_start(&w->node, 3, test_refuse_io) < 0)
		return -FL_E_IO;
	w->io = w->node.io;
	if (sim_file_put(w->node.host, "/plugins/DEPRECATION", "", 0) < 0 ||
	    sim_file_put(w->node.host, "/pods/other", "", 0) < 0)
		return -FL_E_IO;
	return agent_start(w);
}

void pass(struct world *w, uint64_t ns)
{
	node_pass(&w->node, ns);
}

struct awaited {
	struct world *w;
	const char *resource, *devices;
};

static bool has_come(void *awaited_)
{
	struct awaited *awaited = awaited_;

	return strcmp(fake_kubelet_devices(&awaited->w->kubelet, awaited->resource), awaited->devices) == 0;
}

bool comes(struct world *w, const char *resource, const char *devices, uint64_t within)
{
	struct awaited awaited = { w, resource, devices };

	return node_until(&w->node, within, has_come, &awaited);
}
