/* Unified memory's device nodes, made where they are missing: on a simulated disk, and what the Node says of them. */
#include "base/units.h"
#include "node/decide.h"
#include "node/host/host.h"
#include "node_world.h"
#include "run/memory.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define UVM "/drv/dev/nvidia-uvm"
#define TOOLS "/drv/dev/nvidia-uvm-tools"
#define DEVICES "Character devices:\n  1 mem\n511 nvidia-uvm\n\nBlock devices:\n"

struct world {
	struct node_world node;
	struct fl_loop *loop;
	struct fl_host_sink sink;
	struct fl_arena arena;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	fl_host_stop(&w->sink);
	fl_arena_free(&w->arena);
	w->loop = fl_loop_free(w->loop);
	node_world_end(&w->node);
}

static int world_start(struct world *w)
{
	static const struct fl_kind *const fed[] = { &fl_driver_kind, &fl_settings_kind, &fl_card_kind,
						    &fl_health_kind };

	if (node_world_start(&w->node, 3, test_refuse_io) < 0 ||
	    sim_file_put(w->node.host, "/drv/dev/x", "x", 1) < 0 ||
	    sim_file_put(w->node.host, "/drv/usr/x", "x", 1) < 0)
		return -FL_E_IO;
	w->sink.io = w->node.io;
	w->loop = fl_loop_new(w->node.io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	if (!w->loop)
		return -FL_E_NOMEM;
	for (size_t i = 0; i < FL_LEN(fed); i++)
		if (fl_loop_source(w->loop, &(struct fl_source){ .kind = fed[i] }, &w->err) < 0)
			return -FL_E_NOMEM;
	if (fl_loop_source(w->loop, &(struct fl_source){ &fl_host_kind, NULL, &fl_host_sink, &w->sink }, &w->err) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_host, &w->err) < 0)
		return -FL_E_NOMEM;
	for (size_t i = 0; i < FL_LEN(fed); i++)
		fl_memory_begin(w->loop, fed[i]);
	fl_memory_begin(w->loop, &fl_host_kind);
	return 0;
}

#define WORLD(w) \
	FL_AUTO(world) struct world w = { 0 }; \
	OK_ERR(world_start(&w), &w.err)

static const struct fl_host *see(struct world *w)
{
	struct fl_view view = fl_loop_view(w->loop, &w->arena);

	return fl_view_get(&view, &fl_host_kind, FL_S(""), FL_S("host"));
}

static bool has_come(void *w)
{
	const struct fl_host *host = see(w);

	return host && host->has.seen;
}

static bool comes(struct world *w)
{
	/* After a failure that was ordered, enough for everything to be tried again. */
	return node_until(&w->node, (test_tortured() ? 400 : 30) * FL_NS_PER_S, has_come, w);
}

static int begin(struct world *w, bool make, const char *devices)
{
	struct fl_settings settings = { 0 };
	struct fl_driver driver = { 0 };

	FL_SET(FL_IN(&settings, meta), name, FL_S("settings"));
	FL_SET(&settings, make_nodes, make);
	if (sim_file_put(w->node.host, "/proc/devices", devices, strlen(devices)) < 0 ||
	    fl_feed_put(fl_loop_feed(w->loop, &fl_settings_kind), &settings, &w->err) < 0)
		return -FL_E_NOMEM;
	FL_SET(FL_IN(&driver, meta), name, FL_S("driver"));
	FL_SET(&driver, state, FL_DRIVER_READY);
	FL_SET(&driver, root, FL_S("/drv"));
	FL_SET(&driver, version, FL_S("1.0"));
	return fl_feed_put(fl_loop_feed(w->loop, &fl_driver_kind), &driver, &w->err);
}

/* "c 666 511:0", "- 600", or "" where nothing is. */
static bool node_is(struct world *w, const char *path, const char *want)
{
	const struct fl_fs *fs = fl_io_fs(w->node.io);
	struct fl_stat stat = { 0 };
	char now[64] = "";

	if (fs->stat(fs, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &stat) == 0)
		(void)snprintf(now, sizeof now, S_ISCHR(stat.mode) ? "c %o %u:%u" : "- %o", stat.mode & 07777,
			       major(stat.rdev), minor(stat.rdev));
	return test_tortured() || strcmp(now, want) == 0;
}

static bool nodes_say(struct world *w, const char *words)
{
	const struct fl_host *host = see(w);

	if (!host || test_tortured())
		return test_tortured();
	return words ? host->nodes_message.len && memmem(host->nodes_message.p, host->nodes_message.len, words,
							  strlen(words))
		     : !host->nodes_message.len;
}

TEST(missing_nodes_of_unified_memory_are_made_and_made_again)
{
	WORLD(w);
	const struct fl_fs *fs;

	OK_ERR(begin(&w, true, DEVICES), &w.err);
	fs = fl_io_fs(w.node.io);
	CHECK(comes(&w));
	CHECK(node_is(&w, UVM, "c 666 511:0"));
	CHECK(node_is(&w, TOOLS, "c 666 511:1"));
	CHECK(nodes_say(&w, NULL));
	CHECK(fs->unlink(fs, AT_FDCWD, TOOLS, 0) == 0 || test_tortured());
	node_pass(&w.node, FL_NS_PER_S);   /* the directory is watched */
	CHECK(node_is(&w, TOOLS, "c 666 511:1"));
}

TEST_ONCE(nodes_that_fit_are_left_as_they_are)
{
	WORLD(w);
	const struct fl_fs *fs = fl_io_fs(w.node.io);
	struct fl_stat before = { 0 }, after = { 0 };

	CHECK_INT(fs->mknod(fs, AT_FDCWD, UVM, 0600, makedev(511, 0)), 0);   /* somebody's choice of a mode */
	CHECK_INT(fs->stat(fs, AT_FDCWD, UVM, 0, &before), 0);
	OK_ERR(begin(&w, true, DEVICES), &w.err);
	CHECK(comes(&w));
	CHECK(node_is(&w, UVM, "c 600 511:0"));
	CHECK_INT(fs->stat(fs, AT_FDCWD, UVM, 0, &after), 0);
	CHECK(before.ino == after.ino && before.ctime == after.ctime);
	CHECK(node_is(&w, TOOLS, "c 666 511:1"));
	CHECK(nodes_say(&w, NULL));
}

TEST_ONCE(what_is_in_the_place_of_a_node_is_told_and_not_touched)
{
	static const struct {
		const char *says;
		bool node, link;
		const char *left;
	} rows[] = {
		{ "a device of other numbers, as of a kernel module that was loaded before", true, false,
		  "c 666 510:0" },
		{ "a file", false, false, "- 600" },
		{ "a link to nothing", false, true, "- 777" },
	};

	EACH_ROW (row, rows) {
		WORLD(w);
		const struct fl_fs *fs = fl_io_fs(w.node.io);

		if (row->node)
			CHECK_INT(fs->mknod(fs, AT_FDCWD, UVM, 0666, makedev(510, 0)), 0);
		else if (row->link)
			CHECK_INT(fs->symlink(fs, "nowhere", AT_FDCWD, UVM), 0);
		else
			OK(sim_file_put(w.node.host, UVM, "x", 1));
		OK_ERR(begin(&w, true, DEVICES), &w.err);
		CHECK(comes(&w));
		CHECK(node_is(&w, UVM, row->left));
		CHECK(nodes_say(&w, "'" UVM "' is not the character device 511:0: remove it, and the agent makes it"));
		CHECK_INT(fs->unlink(fs, AT_FDCWD, UVM, 0), 0);
		node_pass(&w.node, FL_NS_PER_S);
		CHECK(node_is(&w, UVM, "c 666 511:0"));
		CHECK(nodes_say(&w, NULL));
	}
}

TEST_ONCE(a_dev_that_cannot_be_written_is_told_and_the_rest_goes_on)
{
	WORLD(w);

	OK_ERR(begin(&w, true, DEVICES), &w.err);
	sim_faults(w.node.host)->read_only = true;
	CHECK(comes(&w));
	CHECK(node_is(&w, UVM, ""));
	CHECK(nodes_say(&w, "make the device node '" UVM "' (needs a writable /dev and CAP_MKNOD;"));
	sim_faults(w.node.host)->read_only = false;
	node_pass(&w.node, FL_HOST_POLL + FL_NS_PER_S);
	CHECK(node_is(&w, UVM, "c 666 511:0"));
	CHECK(nodes_say(&w, NULL));
}

TEST_ONCE(no_node_is_made_that_nobody_asked_for)
{
	static const struct {
		const char *says, *devices;
		bool make;
	} rows[] = {
		{ "switched off", "511 nvidia-uvm\n", false },
		{ "the kernel module is not loaded", "195 nvidia\n", true },
	};

	EACH_ROW (row, rows) {
		WORLD(w);

		OK_ERR(begin(&w, row->make, row->devices), &w.err);
		CHECK(comes(&w));
		node_pass(&w.node, FL_NS_PER_S);
		CHECK(node_is(&w, UVM, "") && node_is(&w, TOOLS, ""));
		CHECK(nodes_say(&w, NULL));
	}
}

/* The real disk: as a service with UMask=0077 has it. */
TEST(a_node_has_its_mode_whatever_the_umask)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const struct fl_fs *fs;
	struct fl_stat stat = { 0 };
	const char *path = test_path(test_dir(), "node");
	mode_t before;
	int r;

	GOT(io);
	fs = fl_io_fs(io);
	(void)unlink(path);
	before = umask(0077);
	r = fs->mknod(fs, AT_FDCWD, path, 0666, makedev(511, 1));
	(void)umask(before);
	if (r == -EPERM && !test_tortured())
		SKIP("device nodes cannot be made here");
	OK(r);
	OK(fs->stat(fs, AT_FDCWD, path, 0, &stat));
	CHECK(S_ISCHR(stat.mode) && (stat.mode & 07777) == 0666 && stat.rdev == makedev(511, 1));
}
