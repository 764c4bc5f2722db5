/* What the host has of the driver: trees of our own, those of the fake driver, and looks that fail. */
#include "base/units.h"
#include "fake/nvml/control.h"
#include "host_tree.h"
#include "keys_check.h"
#include "node/decide.h"
#include "node/hook/hook.h"
#include "node/host/hook_install.h"
#include "node/host/host.h"
#include "node/host/scan.h"
#include "node_world.h"
#include "run/memory.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static const struct {
	const char *says, *tree, *want;
} trees[] = {
	{ "an empty root has nothing", "/dev /\n", "" },
	{ "a library of the version is one, with the names by which programs ask for it",
	  "/dev /\n" LIB "/libnvidia-ml.so." V "\n" LIB "/libnvidia-ml.so.1 > libnvidia-ml.so." V "\n" LIB
	  "/libnvidia-ml.so > libnvidia-ml.so.1\n",
	  "Library " LIB "/libnvidia-ml.so." V " libnvidia-ml.so>libnvidia-ml.so.1 libnvidia-ml.so.1>libnvidia-ml.so." V
	  "\n" },
	{ "a name that the host lacks is not made, but for libcuda's",
	  "/dev /\n" LIB "/libnvidia-ml.so." V "\n/usr/lib64/libcuda.so." V "\n",
	  "Library " LIB "/libnvidia-ml.so." V "\n" CUDA("/usr/lib64") },
	{ "one of another version, one of others and what only looks like one are none",
	  "/dev /\n" LIB "/libcuda.so.535.1\n" LIB "/libc.so.6\n" LIB "/libx." V "\n" LIB "/libcuda.so.1" V "\n",
	  "" },
	{ "a text of that name is none", "/dev /\n" LIB "/libcuda.so." V " ! INPUT(libcuda.so.1)\n", "" },
	{ "the one with another version in its name is the driver's too",
	  "/dev /\n/usr/lib64/libnvidia-nvvm70.so.4\n/usr/lib64/libcuda.so." V "\n",
	  CUDA("/usr/lib64") "Library /usr/lib64/libnvidia-nvvm70.so.4\n" },
	{ "but not where none of the driver's lies beside it", "/dev /\n/usr/lib64/libnvidia-nvvm70.so.4\n", "" },
	{ "a directory of two names is looked through once",
	  "/dev /\n/usr/lib64/libcuda.so." V "\n/lib64 > usr/lib64\n", CUDA("/usr/lib64") },
	{ "64-bit libraries may be in /usr/lib", "/dev /\n/usr/lib/libcuda.so." V "\n", CUDA("/usr/lib") },
	{ "libraries of VDPAU are beside the others",
	  "/dev /\n" LIB "/libcuda.so." V "\n" LIB "/vdpau/libvdpau_nvidia.so." V "\n" LIB
	  "/vdpau/libvdpau_nvidia.so.1 > libvdpau_nvidia.so." V "\n",
	  CUDA(LIB) "Module " LIB "/vdpau/libvdpau_nvidia.so." V " libvdpau_nvidia.so.1>libvdpau_nvidia.so." V "\n" },
	{ "a link that leads nowhere, or round and round, is no library",
	  "/dev /\n" LIB "/libnvidia-ml.so." V "\n" LIB "/liba.so." V " > nowhere\n", "Library " LIB
	  "/libnvidia-ml.so." V
	  "\n" },
	{ "programs by name, and nothing else that lies beside",
	  "/dev /\n/usr/bin/nvidia-smi *\n/usr/bin/nvidia-persistenced *\n/usr/bin/nvidia-xyz *\n/usr/bin/nvidia-imex "
	  "/\n",
	  "Binary /usr/bin/nvidia-persistenced\nBinary /usr/bin/nvidia-smi\n" },
	{ "firmware of this version",
	  "/dev /\n/lib/firmware/nvidia/" V "/gsp_ga10x.bin\n/lib/firmware/nvidia/" V
	  "/readme\n/lib/firmware/nvidia/1.2/gsp_tu10x.bin\n",
	  "Firmware /lib/firmware/nvidia/" V "/gsp_ga10x.bin\n" },
	{ "sockets, and no file in their place",
	  "/dev /\n/run/nvidia-persistenced/socket @\n/run/nvidia-fabricmanager/socket\n",
	  "Socket /run/nvidia-persistenced/socket\n" },
	{ "plain files are no device nodes", "/dev/nvidia0\n", "" },
	{ "a file where a folder should be is nothing", "/dev /\n/usr\n", "" },
};

static const struct {
	const char *says, *tree, *want;
} devices[] = {
	{ "device nodes with their numbers, sorted, of these names only",
	  "/dev/nvidiactl = 195:255\n/dev/nvidia10 = 195:10\n/dev/nvidia2 = 195:2\n/dev/null = 1:3\n"
	  "/dev/card0 = 120:9\n/dev/dri/renderD128 = 120:8\n/dev/dri/card1 = 120:7\n"
	  "/dev/nvidia-caps/nvidia-cap3 = 121:3\n",
	  "/dev/dri/card1 120:7 666\n/dev/dri/renderD128 120:8 666\n/dev/nvidia-caps/nvidia-cap3 121:3 666\n"
	  "/dev/nvidia10 195:10 666\n/dev/nvidia2 195:2 666\n/dev/nvidiactl 195:255 666\n" },
	{ "what comes beside cards: storage, network, copies, the one channel that may be asked for",
	  "/dev/nvidia-fs0 = 239:0\n/dev/gdrdrv = 240:0\n/dev/infiniband/uverbs3 = 231:195\n"
	  "/dev/infiniband/rdma_cm = 10:58\n/dev/infiniband/issm0 = 231:64\n"
	  "/dev/nvidia-caps-imex-channels/channel0 = 238:0\n/dev/nvidia-caps-imex-channels/channel1 = 238:1\n"
	  "/etc/cufile.json\n/run/udev /\n",
	  "Config /etc/cufile.json\nConfig /run/udev\n"
	  "/dev/gdrdrv 240:0 666\n/dev/infiniband/rdma_cm 10:58 666\n/dev/infiniband/uverbs3 231:195 666\n"
	  "/dev/nvidia-caps-imex-channels/channel0 238:0 666\n/dev/nvidia-fs0 239:0 666\n" },
	{ "unified memory's nodes are told when the kernel can do it and nobody has made them",
	  "/dev /\n/proc/devices ! 511 nvidia-uvm\n", "/dev/nvidia-uvm 511:0 666\n/dev/nvidia-uvm-tools 511:1 666\n" },
	{ "those that are there are told as they are",
	  "/dev/nvidia-uvm = 120:5\n/proc/devices !   1 nvidia-uvm\n",
	  "/dev/nvidia-uvm 120:5 666\n/dev/nvidia-uvm-tools 1:1 666\n" },
	{ "what the kernel calls otherwise is not it", "/dev /\n/proc/devices ! 511 nvidia-uvm2\n", "" },
	{ "nor is a line without a number", "/dev /\n/proc/devices ! nvidia-uvm\n", "" },
	{ "nor is a block device", "/dev /\n/proc/devices ! Block devices: 511 nvidia-uvm\n", "" },
};

/* The tree of a row, made once however often the row is tortured; NULL: it cannot be made. */
static const char *tree_of(const char *lines, const char **made)
{
	if (!*made) {
		*made = test_dir();
		if (!host_tree_make(*made, lines))
			*made = "";
	}
	return (*made)[0] ? *made : NULL;
}

#define SCAN_ROWS(rows) \
	static const char *made[FL_LEN(rows)]; \
\
	EACH_ROW_ALONE (row, rows) { \
		FL_AUTO(fl_io) struct fl_io *io = test_io(); \
		FL_AUTO(fl_mem) struct fl_host_scan *scan = fl_zalloc(sizeof *scan); \
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB); \
		const char *dir = tree_of(row->tree, &made[row - (rows)]); \
\
		GOT(io); \
		GOT(scan); \
		if (!dir) \
			SKIP("device nodes cannot be made here"); \
		host_scan_set_up(scan, dir); \
		fl_host_scan(fl_io_fs(io), scan); \
		if (test_tortured() && (scan->error || scan->message[0])) \
			return;   /* said, not swallowed */ \
		CHECK_INT(scan->error != 0, row->want == NULL); \
		host_scan_print(scan, &text); \
		OK(fl_buf_check(&text, "scan", NULL)); \
		CHECK_STR(fl_buf_view(&text), row->want ? row->want : ""); \
	}

TEST(files_are_found_where_drivers_put_them){
	SCAN_ROWS(trees)
}

TEST(device_nodes_are_told_with_their_numbers){
	SCAN_ROWS(devices)
}

struct link_count {
	struct fl_fs fs;                       /* whose readlink counts */
	const struct fl_fs *real;
	int links;
};

static int64_t count_readlink(const struct fl_fs *fs, int dir, const char *path, char *buf, size_t len)
{
	struct link_count *counting = (struct link_count *)(uintptr_t)fl_container(fs, const struct link_count, fs);

	counting->links++;
	return counting->real->readlink(counting->real, dir, path, buf, len);
}

/* What is learnt of one directory, and of one that is not there, holds for the paths below it; a link is followed each
 * time, and the last name of a path is looked at each time. */
TEST_ONCE(paths_of_one_look_share_what_is_known_of_their_directories)
{
	static const struct {
		const char *says, *path, *ends;
		int links, r;
	} paths[] = {
		{ "each name is asked for", "/usr/lib/a", "/usr/lib/a", 3, 0 },
		{ "but those of a directory that is known", "/usr/lib/b", "/usr/lib/b", 1, 0 },
		{ "the last name is none of them", "/usr/lib", "/usr/lib", 1, 0 },
		{ "a link is followed", "/lib/b", "/usr/lib/b", 2, 0 },
		{ "and so it is again", "/lib/a", "/usr/lib/a", 2, 0 },
		{ "a directory that is not there", "/usr/X11R6/lib/x", "", 1, -ENOENT },
		{ "is not asked for again", "/usr/X11R6/lib64/x", "", 0, -ENOENT },
		{ "a file that is not there may come", "/usr/lib/c", "", 1, -ENOENT },
	};
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(NULL);
	const char *dir = test_dir();
	struct fl_root_known known = { 0 };
	struct link_count counting;

	GOT(io);
	CHECK(host_tree_make(dir, "/usr/lib/a\n/usr/lib/b\n/lib > usr/lib\n"));
	counting = (struct link_count){ .fs = *fl_io_fs(io), .real = fl_io_fs(io) };
	counting.fs.readlink = count_readlink;
	EACH_ROW (row, paths) {
		char ends[FL_HOST_PATH_MAX] = "";
		struct fl_stat stat;
		int r;

		counting.links = 0;
		r = fl_root_resolve_known(&counting.fs, dir, row->path, &known, ends, &stat);
		CHECK_INT(r, row->r);
		CHECK_STR(fl_str(ends), row->ends);
		CHECK_INT(counting.links, row->links);
	}
}

/* More than there is room for is said, and what fits is sorted all the same. */
TEST_ONCE(too_much_is_said)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_mem) struct fl_host_scan *scan = fl_zalloc(sizeof *scan);
	const char *dir = test_dir();
	char line[200];

	GOT(io);
	GOT(scan);
	CHECK(host_tree_make(dir, "/dev /\n"));
	for (int i = 0; i < FL_HOST_FILES_MAX + 5; i++) {
		(void)snprintf(line, sizeof line, LIB "/libfoo%d.so." V, i);
		CHECK(host_tree_make(dir, line));
	}
	host_scan_set_up(scan, dir);
	fl_host_scan(fl_io_fs(io), scan);
	CHECK_INT(scan->error, 0);
	CHECK_INT(scan->file_count, FL_HOST_FILES_MAX);
	CHECK(strstr(scan->message, "is left out: no more than 256 files are looked at") != NULL);
	for (uint32_t i = 1; i < scan->file_count; i++)
		CHECK(strcmp(scan->files[i - 1].path, scan->files[i].path) < 0);
}

/* Each topology of the fake driver: one node for each card, and what all have. */
TEST_ONCE(the_fake_driver_is_found_whole)
{
	static const struct {
		const char *says;
		int cards;
		bool fabric;
	} rows[] = {
		{ "dgx-a100.yaml", 8, true }, { "dgx-h100.yaml", 8, true },      { "dgx-h200.yaml", 8, true },
		{ "mixed.yaml", 7, false },   { "gb200-nvl72.yaml", 4, true }, { "two-t4.yaml", 2, false },
	};

	EACH_ROW (row, rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_mem) struct fl_host_scan *scan = fl_zalloc(sizeof *scan);
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);
		const char *folder = test_path(test_dir(), "n");
		struct fake_state *state;
		struct fl_err err = { 0 };
		char topology[400], root[200];
		int cards = 0;

		GOT(io);
		GOT(scan);
		(void)snprintf(topology, sizeof topology, "%s/%s", FAKE_TOPOLOGY, row->says);
		(void)snprintf(root, sizeof root, "%s/root", folder);
		state = fake_up(topology, folder, 1, 0, &err);
		CHECK(state);
		OK_ERR(fake_tree(state, folder, FAKE_LIBRARY, &err), &err);
		host_scan_set_up(scan, root);
		(void)snprintf(scan->version, sizeof scan->version, "%s", state->driver_version);
		fl_host_scan(fl_io_fs(io), scan);
		CHECK_INT(scan->error, 0);
		CHECK_STR(fl_str(scan->message), "");
		host_scan_print(scan, &text);
		for (uint32_t i = 0; i < scan->node_count; i++)
			cards += scan->nodes[i].path[11] >= '0' && scan->nodes[i].path[11] <= '9';
		if (!scan->node_count)
			SKIP("device nodes cannot be made here");
		CHECK_INT(cards, row->cards);
		OK(fl_buf_check(&text, "scan", NULL));
		CHECK(strstr(text.p, "/libnvidia-ml.so.") && strstr(text.p, " libnvidia-ml.so.1>libnvidia-ml.so."));
		CHECK(strstr(text.p, "/libcuda.so.") && strstr(text.p,
							       " libcuda.so>libcuda.so.1 libcuda.so.1>libcuda.so."));
		CHECK(strstr(text.p, "/dev/nvidiactl 195:255") && strstr(text.p, "/dev/nvidia-uvm 120:0"));
		CHECK(strstr(text.p, "Binary /usr/bin/nvidia-smi") && strstr(text.p, "gsp_ga10x.bin"));
		CHECK(strstr(text.p, "Socket /run/nvidia-persistenced/socket"));
		CHECK_INT(strstr(text.p, "Socket /run/nvidia-fabricmanager/socket") != NULL, row->fabric);
	}
}

/* ---- in the loop ---- */

/* The sink itself, and how often it looked. */
struct counting {
	struct fl_host_sink sink;
	int looks;
};

static void count_start(void *self, struct fl_write *write)
{
	struct counting *counting = self;

	counting->looks++;
	fl_host_sink.start(&counting->sink, write);
}

static void count_cancel(void *self, struct fl_write *write)
{
	fl_host_sink.cancel(&((struct counting *)self)->sink, write);
}

struct world {
	struct node_world node;
	struct fl_loop *loop;
	struct fl_sink counted;
	struct counting sink;
	struct fl_arena arena;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	fl_host_stop(&w->sink.sink);
	fl_arena_free(&w->arena);
	w->loop = fl_loop_free(w->loop);
	node_world_end(&w->node);
}

static int put_driver_as(struct world *w, const char *version, enum fl_driver_state state)
{
	struct fl_driver driver = { 0 };

	FL_SET(FL_IN(&driver, meta), name, FL_S("driver"));
	FL_SET(&driver, state, state);
	FL_SET(&driver, root, FL_S("/drv"));
	if (version)
		FL_SET(&driver, version, fl_str(version));
	return fl_feed_put(fl_loop_feed(w->loop, &fl_driver_kind), &driver, &w->err);
}

static int put_driver(struct world *w, const char *version)
{
	return put_driver_as(w, version, FL_DRIVER_READY);
}

static int put_card_at(struct world *w, const char *address, int minor)
{
	struct fl_card card = { 0 };

	FL_SET(FL_IN(&card, meta), name, fl_str(address));
	FL_SET(&card, answer, FL_CARD_ANSWERS);
	FL_SET(&card, uuid, FL_S("GPU-1"));
	FL_SET(&card, minor, minor);
	return fl_feed_put(fl_loop_feed(w->loop, &fl_card_kind), &card, &w->err);
}

static int put_card(struct world *w, int minor)
{
	return put_card_at(w, "0000:01:00.0", minor);
}

static int put_file(struct world *w, const char *path)
{
	uint8_t bytes[FAKE_ELF_MAX] = "x";
	size_t size = strstr(path, ".so.") ? fake_elf(bytes, "", 64) : 1;

	return sim_file_put(w->node.host, path, bytes, size);
}

static int put_waiting(struct world *w, const char *waits)
{
	struct fl_settings settings = { 0 };

	FL_SET(FL_IN(&settings, meta), name, FL_S("settings"));
	if (waits)
		FL_SET(&settings, waits, fl_str(waits));
	return fl_feed_put(fl_loop_feed(w->loop, &fl_settings_kind), &settings, &w->err);
}

static int world_start(struct world *w)
{
	static const struct fl_kind *const fed[] = { &fl_driver_kind, &fl_settings_kind, &fl_card_kind,
						    &fl_health_kind };

	if (node_world_start(&w->node, 3, test_refuse_io) < 0)
		return -FL_E_IO;
	w->sink.sink.io = w->node.io;
	w->counted = (struct fl_sink){ count_start, count_cancel, fl_host_sink.room };
	w->loop = fl_loop_new(w->node.io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	if (!w->loop)
		return -FL_E_NOMEM;
	for (size_t i = 0; i < FL_LEN(fed); i++)
		if (fl_loop_source(w->loop, &(struct fl_source){ .kind = fed[i] }, &w->err) < 0)
			return -FL_E_NOMEM;
	if (fl_loop_source(w->loop, &(struct fl_source){ &fl_host_kind, NULL, &w->counted, &w->sink }, &w->err) < 0 ||
	    fl_loop_capability(w->loop, &fl_node_host, &w->err) < 0)
		return -FL_E_NOMEM;
	for (size_t i = 0; i < FL_LEN(fed); i++)
		fl_memory_begin(w->loop, fed[i]);
	fl_memory_begin(w->loop, &fl_host_kind);
	return put_waiting(w, NULL);
}

#define WORLD(w) \
	FL_AUTO(world) struct world w = { 0 }; \
	OK_ERR(world_start(&w), &w.err)

static const struct fl_host *see(struct world *w)
{
	struct fl_view view = fl_loop_view(w->loop, &w->arena);

	return fl_view_get(&view, &fl_host_kind, FL_S(""), FL_S("host"));
}

struct awaited {
	struct world *w;
	const char *version;
	uint32_t files;
};

static bool has_come(void *awaited_)
{
	struct awaited *awaited = awaited_;
	const struct fl_host *host = see(awaited->w);

	return host && host->has.seen && fl_str_starts(host->seen, fl_str(awaited->version)) &&
	       host->paths.len == awaited->files;
}

static bool comes(struct world *w, const char *version, uint32_t files)
{
	struct awaited awaited = { w, version, files };

	/* After a failure that was ordered, enough for everything to be tried again. */
	return node_until(&w->node, 30 * FL_NS_PER_S, has_come, &awaited) ||
	       (test_tortured() && node_until(&w->node, 400 * FL_NS_PER_S, has_come, &awaited));
}

static bool is_unseen(struct world *w)
{
	const struct fl_host *host = see(w);

	return !host || !host->has.seen;
}

/* Its first file, and the roots; or there was no memory to look. */
static bool shows(struct world *w, const char *path)
{
	const struct fl_host *host = see(w);

	return test_tortured() || (fl_str_eq(host->paths.at[0].path, fl_str(path)) &&
				   fl_str_eq(host->root, FL_S("/drv")) && fl_str_eq(host->nodes_root, FL_S("/drv")));
}

TEST(what_the_host_has_follows_the_driver_and_the_cards)
{
	WORLD(w);

	OK(put_file(&w, "/drv/dev/x"));
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.1.0"));
	OK_ERR(put_driver(&w, NULL), &w.err);
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(!see(&w));   /* a driver of which nobody knows the version has no files yet */
	OK_ERR(put_driver(&w, "1.0"), &w.err);
	CHECK(comes(&w, "1.0/", 1));
	CHECK(shows(&w, "/usr/lib64/libcuda.so.1.0"));

	OK(put_file(&w, "/drv/usr/lib64/libnvidia-ml.so.1.0"));
	OK_ERR(put_card(&w, 3), &w.err);   /* another layout: it is looked at again */
	CHECK(comes(&w, "1.0/", 2));

	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.2.0"));
	OK_ERR(put_driver(&w, "2.0"), &w.err);
	CHECK(comes(&w, "2.0/", 1));
	CHECK(shows(&w, "/usr/lib64/libcuda.so.2.0"));
	OK_ERR(put_driver(&w, NULL), &w.err);
	node_pass(&w.node, FL_NS_PER_S);
	GOT(see(&w));   /* a driver that goes takes nothing from the containers that have it */
}

/* While the driver is asked for its cards. */
TEST(files_that_were_looked_for_ahead_are_taken_for_a_moment)
{
	WORLD(w);

	OK(put_file(&w, "/drv/dev/x"));
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.1.0"));
	fl_host_files_early(&w.sink.sink, FL_S("/drv"), FL_S("1.0"));
	node_pass(&w.node, FL_NS_PER_MS);
	OK(put_file(&w, "/drv/usr/lib64/libnvidia-ml.so.1.0"));
	OK_ERR(put_driver(&w, "1.0"), &w.err);
	CHECK(comes(&w, "1.0/", 1) || test_tortured());   /* as they were */
	OK_ERR(put_card(&w, 3), &w.err);
	CHECK(comes(&w, "1.0/", 2));                      /* once */

	/* Another version's are of no use, and neither are old ones. */
	fl_host_files_early(&w.sink.sink, FL_S("/drv"), FL_S("3.0"));
	node_pass(&w.node, FL_NS_PER_MS);
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.2.0"));
	OK_ERR(put_driver(&w, "2.0"), &w.err);
	CHECK(comes(&w, "2.0/", 1));
	fl_host_files_early(&w.sink.sink, FL_S("/drv"), FL_S("4.0"));
	node_pass(&w.node, 2 * FL_HOST_EARLY);
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.4.0"));
	OK_ERR(put_driver(&w, "4.0"), &w.err);
	CHECK(comes(&w, "4.0/", 1));
}

/* As at the start of a node of eight cards, of which the driver tells one after the other. */
TEST(the_host_is_looked_at_once_for_all_cards)
{
	WORLD(w);

	OK(put_file(&w, "/drv/dev/x"));
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.1.0"));
	OK_ERR(put_driver_as(&w, "1.0", FL_DRIVER_STARTING), &w.err);
	for (int i = 0; i < 8; i++) {
		char address[] = "0000:00:00.0";

		address[6] = (char)('0' + i);
		OK_ERR(put_card_at(&w, address, i), &w.err);
		node_pass(&w.node, FL_NS_PER_S / 1000);
	}
	CHECK_INT(w.sink.looks, 0);
	OK_ERR(put_driver(&w, "1.0"), &w.err);
	CHECK(comes(&w, "1.0/", 1));
	CHECK(test_tortured() || w.sink.looks == 1);
}

TEST(the_host_is_looked_at_when_it_is_known_which_configuration_counts)
{
	WORLD(w);

	OK(put_file(&w, "/drv/dev/x"));
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.1.0"));
	OK_ERR(put_waiting(&w, "waits for the API server"), &w.err);
	OK_ERR(put_driver(&w, "1.0"), &w.err);
	node_pass(&w.node, FL_NS_PER_S);
	CHECK_INT(w.sink.looks, 0);
	OK_ERR(put_waiting(&w, NULL), &w.err);
	CHECK(comes(&w, "1.0/", 1));
}

/* Whoever reads what the host has, and how often it was told of a change. */
static int told;

static void count_told(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	(void)dirty;
	told++;
}

static bool nobody(struct fl_view *view, struct fl_ref key, void *facts)
{
	(void)view;
	(void)key;
	(void)facts;
	return false;
}

static void nothing(const void *facts, struct fl_plan *plan)
{
	(void)facts;
	(void)plan;
}

static const struct fl_watched reader_watches[] = { { &fl_host_kind, count_told, false }, { 0 } };
static const struct fl_owner *const no_owners[] = { NULL };
static const struct fl_capability reader = {
	.name = "reader", .watches = reader_watches, .owners = no_owners, .once = true, .facts_size = 1,
	.gather = nobody, .plan = nothing,
};

static bool has_files(struct world *w, uint32_t count)
{
	const struct fl_host *host = see(w);

	return test_tortured() || (host && host->paths.len == count);
}

TEST(what_comes_and_goes_later_is_found_without_a_restart)
{
	WORLD(w);
	int before;

	OK_ERR(fl_loop_capability(w.loop, &reader, &w.err), &w.err);
	OK(put_file(&w, "/drv/dev/x"));
	OK(put_file(&w, "/drv/run/x"));
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.1.0"));
	OK_ERR(put_driver(&w, "1.0"), &w.err);
	CHECK(comes(&w, "1.0/", 1));
	node_pass(&w.node, FL_NS_PER_S);

	/* A simulated disk has neither sockets nor device nodes; a library stands for what is new. */
	OK(put_file(&w, "/drv/usr/lib64/libnvidia-ml.so.1.0"));
	node_pass(&w.node, 5 * FL_NS_PER_S);
	CHECK(has_files(&w, 1));   /* nobody watches libraries */
	OK(put_file(&w, "/drv/dev/nvidia-uvm"));
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(has_files(&w, 2));
	OK(put_file(&w, "/drv/usr/lib64/libnvcuvid.so.1.0"));
	OK(put_file(&w, "/drv/run/nvidia-persistenced/socket"));
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(has_files(&w, 3));

	/* The folder that came is watched too, and nothing is told where nothing differs. */
	before = told;
	OK(put_file(&w, "/drv/run/nvidia-persistenced/socket2"));
	OK(put_file(&w, "/drv/dev/nvidia9"));
	node_pass(&w.node, 3 * FL_HOST_POLL);
	CHECK(test_tortured() || told == before);
	OK(put_file(&w, "/drv/usr/lib64/libnvoptix.so.1.0"));
	OK(put_file(&w, "/drv/run/nvidia-persistenced/socket3"));
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(has_files(&w, 4));

	/* What nobody hints at is found by the clock. */
	OK(put_file(&w, "/drv/usr/lib64/libnvidia-ptx.so.1.0"));
	node_pass(&w.node, FL_HOST_POLL + FL_NS_PER_S);
	CHECK(has_files(&w, 5));
	CHECK(test_tortured() || w.sink.looks == 1);
}

/* ---- the hook's program ---- */

#define PROGRAM "/state/bin/hook"

static int put_elf(struct world *w, const char *path, const char *section, const char *text)
{
	uint8_t bytes[FAKE_ELF_MAX];
	size_t size = fake_section_elf(bytes, section, text);

	return sim_file_put(w->node.host, path, bytes, size);
}

static int put_settings(struct world *w)
{
	struct fl_settings settings = { 0 };

	FL_SET(FL_IN(&settings, meta), name, FL_S("settings"));
	FL_SET(&settings, hook, FL_S(PROGRAM));
	return fl_feed_put(fl_loop_feed(w->loop, &fl_settings_kind), &settings, &w->err);
}

static int take_away(struct world *w)
{
	const struct fl_fs *fs = fl_io_fs(w->node.io);

	return fs->unlink(fs, AT_FDCWD, PROGRAM, 0);
}

/* What lies at its place, and what is told of it: is the program there, or part of the message. */
static bool has_program(struct world *w, const char *text, const char *message)
{
	FL_AUTO(fl_buf) struct fl_buf now = FL_BUF(FL_KIB);
	const struct fl_host *host = see(w);
	int r = sim_file_get(w->node.host, PROGRAM, &now);

	if (test_tortured())
		return true;
	if (r < 0 || !host || !fl_str_eq(fl_buf_view(&now), fl_str(text)))
		return false;
	return message ? host->hook_message.len &&
				 memmem(host->hook_message.p, host->hook_message.len, message, strlen(message))
		       : fl_str_eq(host->hook_at, FL_S(PROGRAM));
}

TEST(row_36_a_program_of_the_hook_that_goes_or_is_replaced_is_put_back_at_once_or_told)
{
	WORLD(w);

	w.sink.sink.source = "/exe";
	OK(put_elf(&w, "/exe", FL_HOOK_PROGRAM_SECTION, "program"));
	OK(put_file(&w, "/drv/dev/x"));
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.1.0"));
	OK_ERR(put_settings(&w), &w.err);
	OK_ERR(put_driver(&w, "1.0"), &w.err);
	CHECK(comes(&w, "1.0/", 1));
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(has_program(&w, "program", NULL));
	OK(take_away(&w));
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(has_program(&w, "program", NULL));
	OK(put_elf(&w, PROGRAM, FL_HOOK_SECTION, "of another version"));
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(has_program(&w, "program", NULL));

	/* Somebody else's is left, which is told; so is that it has gone. */
	OK(sim_file_put(w.node.host, PROGRAM, "x", 1));
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(has_program(&w, "x", "is not Fairlead's hook"));
	OK(take_away(&w));
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(has_program(&w, "program", NULL));
}

/* Why a look came to nothing; or there was no memory for it. */
static bool says(struct world *w, const char *words)
{
	const struct fl_host *host = see(w);

	return test_tortured() || (host && memmem(host->message.p, host->message.len, words, strlen(words)));
}

static bool says_nothing(struct world *w)
{
	const struct fl_host *host = see(w);

	return test_tortured() || (host && !host->message.len);
}

TEST(a_look_that_fails_comes_again)
{
	WORLD(w);

	OK_ERR(put_driver(&w, "1.0"), &w.err);
	node_pass(&w.node, 5 * FL_NS_PER_S);
	CHECK(is_unseen(&w));   /* there is no root yet */
	CHECK(says(&w, "cannot read '/drv/'"));
	CHECK(says(&w, "the driver's files should be: No such file or directory: name their root by --driver-root"));
	node_pass(&w.node, 3600 * FL_NS_PER_S);
	OK(put_file(&w, "/drv/dev/x"));
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.1.0"));
	node_pass(&w.node, 2 * FL_LOCAL_RETRY_LAST);   /* with jitter */
	CHECK(test_tortured() || has_files(&w, 1));
	CHECK(comes(&w, "1.0/", 1));
	CHECK(says_nothing(&w));
}

/* A disk that hangs holds up nothing: the look is given up and tried anew. */
TEST(a_disk_that_hangs_is_waited_for)
{
	WORLD(w);

	OK(put_file(&w, "/drv/dev/x"));
	OK(put_file(&w, "/drv/usr/lib64/libcuda.so.1.0"));
	sim_faults(w.node.host)->stuck = true;
	OK_ERR(put_driver(&w, "1.0"), &w.err);
	node_pass(&w.node, 2 * FL_HOST_DEADLINE);
	CHECK(is_unseen(&w));
	CHECK(says(&w, "nodes: '/drv' does not answer"));
	sim_faults(w.node.host)->stuck = false;
	sim_unstick(w.node.host);
	CHECK(comes(&w, "1.0/", 1));
}

TEST(no_change_is_missed)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(64 * FL_KIB);
	WORLD(w);

	fl_loop_lead(w.loop, false);
	OK_ERR(put_driver(&w, "1.0"), &w.err);
	OK_ERR(put_card(&w, 3), &w.err);
	OK(keys_check(w.loop, &fl_node_host, FL_S(""), FL_S(""), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}
