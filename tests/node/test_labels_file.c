/* The file with labels: from settings and a driver to what lies on the disk, and what is never touched there. */
#include "api/nfd.h"
#include "io/fs.h"
#include "node/decide_labels.h"
#include "node/labels/file.h"
#include "node_world.h"
#include "plan/gpu_facts.h"
#include "run/memory.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>

#define DIR "/etc/features.d"
#define PATH DIR "/gpus"
#define FIRST "# Written by fairlead: GPU labels for node feature discovery.\n"
#define SETTINGS(output) "metadata: {name: settings}\nlabels: " output "\nnoTimestamp: true\n"
#define DRIVER "metadata: {name: driver}\nstate: Ready\nversion: '550.54'\n"
#define ALL FIRST "nvidia.com/vgpu.present=false\n"

struct world {
	struct node_world node;
	struct fl_labels_file file;
	struct fl_loop *loop;
	struct fl_arena arena;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	fl_labels_file_stop(&w->file);
	w->loop = fl_loop_free(w->loop);
	fl_arena_free(&w->arena);
	node_world_end(&w->node);
}

static int sources(struct world *w)
{
	static const struct fl_kind *const told[] = { &fl_settings_kind, &fl_given_kind, &fl_driver_kind,
						      &fl_health_kind, &fl_card_kind };
	static const struct fl_kind *const theirs[] = { &fl_own_node_kind, &fl_node_feature_kind };

	for (uint32_t i = 0; i < FL_LEN(told); i++)
		if (fl_loop_source(w->loop, &(struct fl_source){ .kind = told[i] }, &w->err) < 0)
			return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(theirs); i++)
		if (fl_loop_source(w->loop, &(struct fl_source){ theirs[i], NULL, &fl_memory_sink, w->node.io, NULL },
				   &w->err) < 0)
			return -FL_E_NOMEM;
	if (fl_loop_source(w->loop, &(struct fl_source){ &fl_label_file_kind, NULL, &fl_files_sink, &w->file.sink,
							 NULL }, &w->err) < 0 ||
	    fl_loop_source(w->loop, &(struct fl_source){ &fl_check_kind, NULL, &fl_memory_sink, w->node.io, NULL },
			   &w->err) < 0 ||
	    fl_loop_source(w->loop, &(struct fl_source){ &fl_label_lag_kind, NULL, &fl_memory_sink, w->node.io,
							 NULL }, &w->err) < 0)
		return -FL_E_NOMEM;
	return fl_loop_capability(w->loop, &fl_node_labels, &w->err);
}

static int feed(struct world *w, const struct fl_kind *kind, const char *text)
{
	const void *object = facts_object(&w->arena, kind->root(), fl_str(text));
	int r = object ? fl_feed_put(fl_loop_feed(w->loop, kind), object, &w->err) : -FL_E_NOMEM;

	fl_feed_synced(fl_loop_feed(w->loop, kind));
	return r;
}

/* Without an API server, and with what lies there before. */
static int world_start(struct world *w, const char *before)
{
	if (node_world_start(&w->node, 3, test_refuse_io) < 0 ||
	    (before && sim_file_put(w->node.host, PATH, before, strlen(before)) < 0))
		return -FL_E_IO;
	fl_labels_file_init(&w->file, w->node.io, PATH);
	w->loop = fl_loop_new(w->node.io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	if (!w->loop || sources(w) < 0)
		return -FL_E_NOMEM;
	fl_memory_begin(w->loop, &fl_label_lag_kind);
	fl_memory_begin(w->loop, &fl_card_kind);
	fl_memory_begin(w->loop, &fl_check_kind);
	fl_memory_begin(w->loop, &fl_health_kind);
	fl_feed_absent(fl_loop_feed(w->loop, &fl_own_node_kind));
	fl_feed_absent(fl_loop_feed(w->loop, &fl_node_feature_kind));
	fl_labels_file_start(&w->file, w->loop);
	if (feed(w, &fl_given_kind, "metadata: {name: given}\nlabelFile: " PATH "\n") < 0)
		return -FL_E_NOMEM;
	return feed(w, &fl_driver_kind, DRIVER);
}

struct awaited {
	struct world *w;
	const char *text;              /* NULL: it is not there */
};

static bool is_so(void *awaited_)
{
	const struct awaited *a = awaited_;
	const struct fl_fs *fs = fl_io_fs(a->w->node.io);
	int fd = fs->open(fs, AT_FDCWD, PATH, O_RDONLY | O_CLOEXEC, 0);
	char now[512];
	int64_t len = fd < 0 ? -1 : fl_fs_read_all(fs, fd, now, sizeof now);

	if (fd >= 0)
		fs->close(fs, fd);
	return a->text ? len == (int64_t)strlen(a->text) && memcmp(now, a->text, (size_t)len) == 0 : fd == -ENOENT;
}

static bool comes(struct world *w, const char *text)
{
	struct awaited awaited = { w, text };

	return node_until(&w->node, 120 * FL_NS_PER_S, is_so, &awaited);
}

TEST(labels_are_written_to_the_file_and_removed_from_it)
{
	FL_AUTO(world) struct world w = { 0 };

	OK_ERR(world_start(&w, "of another program=1\n"), &w.err);
	OK_ERR(feed(&w, &fl_settings_kind, SETTINGS("file")), &w.err);
	CHECK(comes(&w, ALL));
	OK_ERR(feed(&w, &fl_driver_kind, "metadata: {name: driver}\nstate: Absent\n"), &w.err);
	node_pass(&w.node, 2 * FL_NS_PER_S);
	CHECK(comes(&w, ALL));
	OK_ERR(feed(&w, &fl_settings_kind, SETTINGS("none")), &w.err);
	CHECK(comes(&w, NULL));
}

/* After a change, as somebody's editor makes it, it is as it should be again. */
TEST_ONCE(a_file_that_somebody_changes_is_written_again)
{
	FL_AUTO(world) struct world w = { 0 };

	OK_ERR(world_start(&w, NULL), &w.err);
	OK_ERR(feed(&w, &fl_settings_kind, SETTINGS("file")), &w.err);
	CHECK(!comes(&w, ALL));   /* the directory is not made */
	OK(sim_file_put(w.node.host, DIR "/others", "", 0));
	CHECK(comes(&w, ALL));
	OK(sim_file_put(w.node.host, PATH, FIRST "a=b\n", sizeof FIRST "a=b\n" - 1));
	CHECK(comes(&w, ALL));
}

TEST_ONCE(a_file_of_another_program_is_never_removed)
{
	FL_AUTO(world) struct world w = { 0 };

	OK_ERR(world_start(&w, "a=b\n"), &w.err);
	OK_ERR(feed(&w, &fl_settings_kind, SETTINGS("none")), &w.err);
	node_pass(&w.node, 5 * FL_NS_PER_S);
	CHECK(comes(&w, "a=b\n"));
}

TEST(a_path_that_nfd_would_not_read_is_refused)
{
	static const struct {
		const char *says, *path;
		bool ok;
	} rows[] = {
		{ "a file", "/etc/kubernetes/node-feature-discovery/features.d/x", true },
		{ "a file of the root", "/x", true },
		{ "a relative path", "features.d/x", false },
		{ "a directory", "/etc/features.d/", false },
		{ "nothing: GFD writes to its output then", "", false },
		{ "a hidden file", "/etc/features.d/.x", false },
	};
	EACH_ROW (row, rows) {
		struct fl_err err = { 0 };

		if (row->ok)
			OK_ERR(fl_labels_file_check(row->path, &err), &err);
		else
			REFUSED(fl_labels_file_check(row->path, &err), FL_E_INVALID);
	}
}
