/* Links in /dev/char: from settings and nodes to what lies on the disk. */
#include "api/node.h"
#include "io/fs.h"
#include "node/decide_pods.h"
#include "node/host/links.h"
#include "node_world.h"
#include "plan/gpu_facts.h"
#include "run/memory.h"
#include "test.h"
#include "test_io.h"

#define ON "metadata: {name: settings}\ndevCharLinks: true\n"
#define OFF "metadata: {name: settings}\n"
#define HOST(more) "metadata: {name: host}\nversion: '5'\nlayout: a\nseen: 5/a\nnodes: [{path: /dev/dri/card1, " \
		   "major: 226, minor: 1}, {path: /dev/nvidia-caps/nvidia-cap1, major: 240, minor: 1}" more "]\n"
#define CARD ", {path: /dev/nvidia0, major: 195, minor: 0}"

struct world {
	struct node_world node;
	struct fl_links links;
	struct fl_loop *loop;
	struct fl_arena arena;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	w->loop = fl_loop_free(w->loop);
	fl_arena_free(&w->arena);
	node_world_end(&w->node);
}

static int world_start(struct world *w)
{
	if (node_world_start(&w->node, 3, test_refuse_io) < 0 ||
	    sim_file_put(w->node.host, "/dev/char/1:3", "", 0) < 0)
		return -FL_E_IO;
	w->links.io = w->node.io;
	w->loop = fl_loop_new(w->node.io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	if (!w->loop || fl_loop_source(w->loop, &(struct fl_source){ .kind = &fl_settings_kind }, &w->err) < 0 ||
	    fl_loop_source(w->loop, &(struct fl_source){ .kind = &fl_host_kind }, &w->err) < 0 ||
	    fl_loop_source(w->loop, &(struct fl_source){ .kind = &fl_health_kind }, &w->err) < 0 ||
	    fl_loop_source(w->loop, &(struct fl_source){ &fl_dev_link_kind, NULL, &fl_links_sink, &w->links },
			   &w->err) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_links, &w->err) < 0)
		return -FL_E_NOMEM;
	fl_memory_begin(w->loop, &fl_dev_link_kind);
	fl_memory_begin(w->loop, &fl_health_kind);
	return 0;
}

static int feed(struct world *w, const struct fl_kind *kind, const char *text)
{
	const void *object = facts_object(&w->arena, kind->root(), fl_str(text));
	int r = object ? fl_feed_put(fl_loop_feed(w->loop, kind), object, &w->err) : -FL_E_NOMEM;

	fl_feed_synced(fl_loop_feed(w->loop, kind));
	return r;
}

struct awaited {
	struct world *w;
	const char *path, *target;     /* NULL: it is not there */
};

static bool is_so(void *awaited_)
{
	const struct awaited *a = awaited_;
	const struct fl_fs *fs = fl_io_fs(a->w->node.io);
	char now[128];
	int64_t len = fs->readlink(fs, AT_FDCWD, a->path, now, sizeof now);

	return a->target ? len == (int64_t)strlen(a->target) && memcmp(now, a->target, (size_t)len) == 0 : len < 0;
}

static bool comes(struct world *w, const char *path, const char *target)
{
	struct awaited awaited = { w, path, target };

	return node_until(&w->node, 30 * FL_NS_PER_S, is_so, &awaited);
}

TEST(links_follow_the_device_nodes)
{
	FL_AUTO(world) struct world w = { 0 };

	OK_ERR(world_start(&w), &w.err);
	OK_ERR(feed(&w, &fl_settings_kind, ON), &w.err);
	OK_ERR(feed(&w, &fl_host_kind, HOST(CARD)), &w.err);
	CHECK(comes(&w, "/dev/char/195:0", "../nvidia0"));
	CHECK(comes(&w, "/dev/char/240:1", "../nvidia-caps/nvidia-cap1"));
	CHECK(comes(&w, "/dev/char/226:1", NULL));   /* udev's */
	OK_ERR(feed(&w, &fl_host_kind, HOST("")), &w.err);
	CHECK(comes(&w, "/dev/char/195:0", NULL));
	CHECK(comes(&w, "/dev/char/240:1", "../nvidia-caps/nvidia-cap1"));
}

TEST_ONCE(a_link_of_somebody_else_to_these_numbers_is_replaced_and_one_that_fits_stays)
{
	FL_AUTO(world) struct world w = { 0 };
	const struct fl_fs *fs;

	OK_ERR(world_start(&w), &w.err);
	fs = fl_io_fs(w.node.io);
	CHECK_INT(fs->symlink(fs, "../old", AT_FDCWD, "/dev/char/195:0"), 0);
	CHECK_INT(fs->symlink(fs, "../nvidia-caps/nvidia-cap1", AT_FDCWD, "/dev/char/240:1"), 0);
	OK_ERR(feed(&w, &fl_settings_kind, ON), &w.err);
	OK_ERR(feed(&w, &fl_host_kind, HOST(CARD)), &w.err);
	CHECK(comes(&w, "/dev/char/195:0", "../nvidia0"));
	CHECK(comes(&w, "/dev/char/240:1", "../nvidia-caps/nvidia-cap1"));
}

TEST_ONCE(nodes_of_a_driver_container_are_named_in_full)
{
	FL_AUTO(world) struct world w = { 0 };

	OK_ERR(world_start(&w), &w.err);
	OK_ERR(feed(&w, &fl_settings_kind, ON), &w.err);
	OK_ERR(feed(&w, &fl_host_kind, HOST(CARD) "root: /run/nvidia/driver\nnodesRoot: /run/nvidia/driver\n"), &w.err);
	CHECK(comes(&w, "/dev/char/195:0", "/run/nvidia/driver/dev/nvidia0"));
}

TEST_ONCE(off_by_default)
{
	FL_AUTO(world) struct world w = { 0 };

	OK_ERR(world_start(&w), &w.err);
	OK_ERR(feed(&w, &fl_settings_kind, OFF), &w.err);
	OK_ERR(feed(&w, &fl_host_kind, HOST(CARD)), &w.err);
	node_pass(&w.node, 5 * FL_NS_PER_S);
	CHECK(comes(&w, "/dev/char/195:0", NULL));
}
