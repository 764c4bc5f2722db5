/* CDI files as a runtime finds them, and a directory to which everything happens, in a world with a clock of its
 * own. */
#include "base/log.h"
#include "base/units.h"
#include "node/host/cdi.h"
#include "node_world.h"
#include "plan/gpu/cdi.h"
#include "run/memory.h"
#include "test.h"

#define DIR "/var/run/cdi"
#define OURS DIR "/test.dev-gpu.json"

#define HUNDRED "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
#define TOO_LONG HUNDRED HUNDRED "0123456789012345678901234567890123456789"   /* for what is written beside it */

/* ---- what is wanted: a file that says which driver there is, and none without one; or one that cannot be ---- */

static void the_key(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	fl_dirty_key(dirty, FL_S(""), FL_S(""));
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	const struct fl_driver *driver = fl_view_get(view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	(void)key;
	if (driver)
		*(struct fl_str *)facts = driver->version;
	return driver != NULL;
}

/* What the lists of a file lie in: a plan copies no lists. */
struct parts {
	struct fl_str env[2], options[1], args[2];
	struct fl_cdi_node nodes[2];
	struct fl_cdi_mount mount;
	struct fl_cdi_hook hook;
	struct fl_cdi_device device;
	int64_t gid;
};

static void fill_edits(struct parts *at, struct fl_cdi_edits *edits)
{
	at->options[0] = FL_S("ro");
	at->args[0] = FL_S("fairlead");
	at->args[1] = FL_S("cdi-hook");
	at->gid = 44;
	FL_SET(&at->mount, host_path, FL_S("/a"));
	FL_SET(&at->mount, path, FL_S("/b"));
	FL_SET(&at->mount, options, ((struct fl_str_list){ at->options, 1 }));
	FL_SET(&at->hook, name, FL_S("createContainer"));
	FL_SET(&at->hook, path, FL_S("/usr/bin/fairlead"));
	FL_SET(&at->hook, args, ((struct fl_str_list){ at->args, 2 }));
	FL_SET(edits, env, ((struct fl_str_list){ at->env, 2 }));
	FL_SET(edits, mounts, ((struct fl_cdi_mount_list){ &at->mount, 1 }));
	FL_SET(edits, hooks, ((struct fl_cdi_hook_list){ &at->hook, 1 }));
	edits->gids.at = &at->gid;
	edits->gids.len = 1;
	edits->has.gids = 1;
}

static void plan(const void *facts, struct fl_plan *plan)
{
	struct fl_str version = *(const struct fl_str *)facts;
	struct fl_ref ref = { &fl_cdi_spec_kind, FL_S(""),
			      fl_str_eq(version, fl_str(TOO_LONG)) ? version : FL_S("test.dev-gpu"), FL_S("") };
	struct parts *at = fl_plan_get(plan, 1, sizeof *at);
	struct fl_cdi_spec spec = { 0 };

	if (!version.len) {
		fl_want_gone(plan, ref);
		return;
	}
	if (!at)
		return;
	at->env[0] = fl_plan_printf(plan, "V=%.*s", FL_ARG(version));
	at->env[1] = FL_S("B=\"2\"");
	FL_SET(&at->nodes[0], path, FL_S("/dev/nvidia0"));
	FL_SET(&at->nodes[0], host_path, FL_S("/drv/dev/nvidia0"));
	FL_SET(&at->nodes[0], type, FL_S("c"));
	FL_SET(&at->nodes[0], major, 195);
	FL_SET(&at->nodes[0], minor, 0);
	FL_SET(&at->nodes[0], mode, 0666);
	FL_SET(&at->nodes[1], path, FL_S("/dev/nvidiactl"));
	FL_SET(&at->device, name, FL_S("0"));
	FL_SET(FL_IN(&at->device, edits), nodes, ((struct fl_cdi_node_list){ at->nodes, 2 }));
	FL_SET(FL_IN(&spec, meta), name, ref.name);
	FL_SET(&spec, version, FL_S("0.7.0"));
	FL_SET(&spec, kind, FL_S("test.dev/gpu"));
	FL_SET(&spec, devices, ((struct fl_cdi_device_list){ &at->device, 1 }));
	fill_edits(at, FL_IN(&spec, edits));
	fl_want(plan, &fl_gpu_cdi_owner, ref, &spec);
}

#define CONTENT(version) \
	"{\"cdiVersion\":\"0.7.0\",\"kind\":\"test.dev/gpu\",\"devices\":[{\"name\":\"0\",\"containerEdits\":{" \
	"\"deviceNodes\":[{\"path\":\"/dev/nvidia0\",\"hostPath\":\"/drv/dev/nvidia0\",\"type\":\"c\",\"major\":195," \
	"\"minor\":0,\"fileMode\":438},{\"path\":\"/dev/nvidiactl\"}]}}],\"containerEdits\":{\"env\":[\"V=" version \
	"\",\"B=\\\"2\\\"\"],\"mounts\":[{\"hostPath\":\"/a\",\"containerPath\":\"/b\",\"options\":[\"ro\"]}]," \
	"\"hooks\":[{\"hookName\":\"createContainer\",\"path\":\"/usr/bin/fairlead\",\"args\":[\"fairlead\"," \
	"\"cdi-hook\"]}],\"additionalGids\":[44]}}\n"

static const struct fl_watched watches[] = {
	{ &fl_driver_kind, the_key, false }, { &fl_cdi_spec_kind, the_key, false }, { 0 }
};
static const struct fl_owner *const owners[] = { &fl_gpu_cdi_owner, NULL };
static const struct fl_capability write_it = {
	.name = "write", .watches = watches, .owners = owners, .once = true, .facts_size = sizeof(struct fl_str),
	.gather = gather, .plan = plan,
};

/* ---- the world ---- */

struct world {
	struct node_world node;
	struct fl_loop *loop;
	struct fl_cdi_dir cdi;
	struct fl_arena arena;
	struct fl_buf text;
	struct fl_log log;
	uint32_t said, healed;                 /* lines of the log */
	struct fl_err err;
};

static bool count_line(void *w_, const char *line, size_t len)
{
	struct world *w = w_;

	(void)len;
	w->said += strstr(line, "CDI file not written") != NULL;
	w->healed += strstr(line, "CDI file written again") != NULL;
	return true;
}

static uint64_t no_time(void *w)
{
	(void)w;
	return 0;
}

static int64_t no_date(void *w)
{
	(void)w;
	return 0;
}

static void world_auto_(struct world *w)
{
	fl_cdi_stop(&w->cdi);
	w->loop = fl_loop_free(w->loop);
	fl_arena_free(&w->arena);
	fl_buf_free(&w->text);
	node_world_end(&w->node);
}

static int put(struct world *w, const char *path, const char *text)
{
	return sim_file_put(w->node.host, path, text, strlen(text));
}

static int world_start(struct world *w)
{
	w->text = FL_BUF(64 * FL_KIB);
	if (node_world_start(&w->node, 3, test_refuse_io) < 0 || put(w, "/var/run/x", "") < 0)
		return -FL_E_IO;
	fl_log_init(&w->log, &(struct fl_log_to){ count_line, no_time, no_date, w }, NULL);
	fl_cdi_init(&w->cdi, w->node.io, DIR, &w->log);
	w->loop = fl_loop_new(w->node.io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	if (!w->loop || fl_loop_source(w->loop, &(struct fl_source){ .kind = &fl_driver_kind }, &w->err) < 0 ||
	    fl_loop_source(w->loop, &(struct fl_source){ &fl_cdi_spec_kind, NULL, &fl_files_sink, &w->cdi.files },
			   &w->err) < 0 ||
	    fl_loop_source(w->loop, &(struct fl_source){ .kind = &fl_cdi_trouble_kind }, &w->err) < 0 ||
	    fl_loop_capability(w->loop, &write_it, &w->err) < 0)
		return -FL_E_NOMEM;
	fl_memory_begin(w->loop, &fl_driver_kind);
	return 0;
}

#define WORLD(w) \
	FL_AUTO(world) struct world w = { 0 }; \
	OK_ERR(world_start(&w), &w.err)

static int driver(struct world *w, const char *version)
{
	struct fl_driver driver = { 0 };

	FL_SET(FL_IN(&driver, meta), name, FL_S("driver"));
	FL_SET(&driver, state, FL_DRIVER_READY);
	FL_SET(&driver, version, fl_str(version));
	return fl_feed_put(fl_loop_feed(w->loop, &fl_driver_kind), &driver, &w->err);
}

static struct fl_str on_disk(struct world *w, const char *path)
{
	fl_buf_clear(&w->text);
	return sim_file_get(w->node.host, path, &w->text) == 0 ? fl_buf_view(&w->text) : FL_S("(none)");
}

struct awaited {
	struct world *w;
	const char *path, *text;
};

static bool has_come(void *awaited_)
{
	struct awaited *awaited = awaited_;

	return fl_str_eq(on_disk(awaited->w, awaited->path), fl_str(awaited->text));
}

static bool comes(struct world *w, const char *path, const char *text)
{
	struct awaited awaited = { w, path, text };

	return node_until(&w->node, 5 * FL_NS_PER_S, has_come, &awaited) ||
	       (test_tortured() && node_until(&w->node, 400 * FL_NS_PER_S, has_come, &awaited));
}

/* Until the next look. */
static const struct fl_cdi_spec *see(struct world *w, const char *name)
{
	struct fl_view view = fl_loop_view(w->loop, &w->arena);

	fl_arena_reset(&w->arena);
	return fl_view_get(&view, &fl_cdi_spec_kind, FL_S(""), fl_str(name));
}

/* ---- the tests ---- */

TEST(a_file_is_written_changed_and_removed)
{
	const struct fl_fs *fs;
	struct fl_stat stat = { 0 };
	WORLD(w);

	fl_cdi_start(&w.cdi, w.loop);
	OK_ERR(driver(&w, "1.0"), &w.err);
	CHECK(comes(&w, OURS, CONTENT("1.0")));   /* the directory was not there */
	fs = fl_io_fs(w.node.io);
	OK(fs->stat(fs, AT_FDCWD, OURS, 0, &stat) < 0 ? -FL_E_IO : 0);
	CHECK_INT(stat.mode & 07777, 0644);
	OK(fs->stat(fs, AT_FDCWD, DIR, 0, &stat) < 0 ? -FL_E_IO : 0);
	CHECK_INT(stat.mode & 07777, 0755);
	OK_ERR(driver(&w, "2.0"), &w.err);
	CHECK(comes(&w, OURS, CONTENT("2.0")));
	OK_ERR(driver(&w, ""), &w.err);
	CHECK(comes(&w, OURS, "(none)"));
}

static bool is_shown(void *w_)
{
	struct world *w = w_;
	const struct fl_cdi_spec *spec = see(w, "test.dev-gpu");

	return spec && spec->edits.env.len && fl_str_eq(spec->edits.env.at[0], FL_S("V=1.0"));
}

static bool is_there(void *w_)
{
	struct world *w = w_;
	const struct fl_cdi_spec *spec = see(w, "test.dev-gpu");

	return spec && spec->has.on_disk && spec->on_disk == fl_cdi_digest(spec);
}

static bool is_settled(void *w)
{
	return is_shown(w) && is_there(w);
}

/* What is wanted is shown at once; that it is on the disk is said when it is, whatever a sick disk takes for it. */
TEST(what_is_being_written_is_not_taken_for_written)
{
	static const struct {
		const char *says;
		const char *before;            /* what lay in the directory */
		bool full;
	} rows[] = {
		{ "there was nothing: /run after a boot", NULL, false },
		{ "there was what another agent left", CONTENT("0.9"), false },
		{ "the disk takes nothing", NULL, true },
		{ "the disk takes nothing, and has another file", CONTENT("0.9"), true },
	};

	EACH_ROW_ALONE (row, rows) {
		uint64_t step = FL_NS_PER_MS / 20, till;
		bool settled = false;
		WORLD(w);
		struct awaited file = { &w, OURS, CONTENT("1.0") };

		if (row->before)
			OK(put(&w, OURS, row->before));
		sim_faults(w.node.host)->disk_bytes = row->full;
		fl_cdi_start(&w.cdi, w.loop);
		node_pass(&w.node, 2 * FL_NS_PER_S);
		OK_ERR(driver(&w, "1.0"), &w.err);
		till = sim_now(w.node.sim) + (test_tortured() ? 400 : 5) * FL_NS_PER_S;
		while (!settled && sim_now(w.node.sim) < till) {
			node_pass(&w.node, step);
			step += step / 8;   /* close looks at the write itself, and then the clock's pace */
			settled = is_settled(&w);
			CHECK(!settled || has_come(&file) || (test_tortured() && has_come(&file)));
		}
		CHECK_INT(settled, !row->full);
		if (!row->full)
			continue;
		sim_faults(w.node.host)->disk_bytes = 0;
		CHECK(node_until(&w.node, 400 * FL_NS_PER_S, is_settled, &w));
		CHECK(comes(&w, OURS, CONTENT("1.0")));
	}
}

/* The agent that comes after writes nothing: it finds what it would write. */
TEST(what_is_there_and_right_stays_as_it_is)
{
	const struct fl_fs *fs;
	struct fl_stat before = { 0 }, after = { 0 };
	WORLD(w);

	fs = fl_io_fs(w.node.io);
	OK(put(&w, OURS, CONTENT("1.0")));
	OK(fs->stat(fs, AT_FDCWD, OURS, 0, &before) < 0 ? -FL_E_IO : 0);
	OK_ERR(driver(&w, "1.0"), &w.err);
	fl_cdi_start(&w.cdi, w.loop);
	node_pass(&w.node, 5 * FL_NS_PER_S);
	OK(fs->stat(fs, AT_FDCWD, OURS, 0, &after) < 0 ? -FL_E_IO : 0);
	CHECK(after.ino == before.ino || test_tortured());   /* one that could not be read is not known to be right */
	CHECK(fl_loop_idle(w.loop) || test_tortured());
}

TEST(files_of_others_are_told_and_left_alone)
{
	static const char theirs[] = "{\"cdiVersion\":\"1.0.0\",\"kind\":\"x.y/z\",\"new\":1,\"devices\":[{\"name\":"
				     "\"a\","
				     "\"containerEdits\":{\"env\":[\"A=1\"]}}]}";
	static const char yaml[] = "cdiVersion: 0.5.0\nkind: v.w/x\ndevices:\n- name: b\n  containerEdits: {}\n";
	const struct fl_cdi_spec *spec;
	WORLD(w);

	OK(put(&w, DIR "/other.json", theirs));
	OK(put(&w, DIR "/broken.json", "{\"cdiVersion\":"));
	OK(put(&w, DIR "/list.json", "[]"));
	OK(put(&w, DIR "/other.yaml", yaml));
	OK(put(&w, DIR "/broken.yaml", "{"));
	OK(put(&w, DIR "/.hidden.yaml", yaml));
	OK_ERR(driver(&w, ""), &w.err);
	fl_cdi_start(&w.cdi, w.loop);
	node_pass(&w.node, 5 * FL_NS_PER_S);
	if (test_tortured())
		node_pass(&w.node, 400 * FL_NS_PER_S);
	spec = see(&w, "other");
	GOT(spec);
	CHECK_STR(spec->kind, "x.y/z");
	CHECK_INT(spec->devices.len, 1);
	CHECK_STR(spec->devices.at[0].name, "a");
	spec = see(&w, "broken");
	GOT(spec);
	CHECK_INT(spec->devices.len, 0);
	spec = see(&w, "list");
	GOT(spec);
	CHECK_INT(spec->devices.len, 0);
	CHECK(comes(&w, DIR "/other.json", theirs));
	CHECK(comes(&w, DIR "/broken.json", "{\"cdiVersion\":"));
	spec = see(&w, "other.yaml");
	GOT(spec);
	CHECK_STR(spec->kind, "v.w/x");
	CHECK_STR(spec->devices.at[0].name, "b");
	spec = see(&w, "broken.yaml");
	GOT(spec);
	CHECK_INT(spec->devices.len, 0);
	CHECK(!see(&w, ".hidden.yaml"));
	CHECK(comes(&w, DIR "/other.yaml", yaml));
}

TEST(what_somebody_removes_or_spoils_comes_back)
{
	static const struct {
		const char *says;
		bool remove, folder;
		const char *text;
	} rows[] = {
		{ "the file was removed", true, false, NULL },
		{ "the folder was removed with it", true, true, NULL },
		{ "the file was cut", false, false, "{" },
		{ "the file was changed", false, false, CONTENT("9.9") },
	};

	EACH_ROW (row, rows) {
		const struct fl_fs *fs;
		WORLD(w);

		fl_cdi_start(&w.cdi, w.loop);
		OK_ERR(driver(&w, "1.0"), &w.err);
		CHECK(comes(&w, OURS, CONTENT("1.0")));
		fs = fl_io_fs(w.node.io);
		if (row->remove)
			OK(fs->unlink(fs, AT_FDCWD, OURS, 0) < 0 ? -FL_E_IO : 0);
		if (row->folder)
			OK(fs->unlink(fs, AT_FDCWD, DIR, AT_REMOVEDIR) < 0 ? -FL_E_IO : 0);
		if (row->text)
			OK(put(&w, OURS, row->text));
		node_pass(&w.node, FL_FOLDER_POLL + FL_NS_PER_S);   /* told by the clock at the latest */
		CHECK(comes(&w, OURS, CONTENT("1.0")));
		CHECK(w.said == 0 || test_tortured());   /* a folder that has to be made is no trouble */
	}
}

/* A full or read-only disk: said with the path, the old file stays whole, and it heals by itself. */
TEST(a_disk_that_cannot_be_written_is_said_and_heals)
{
	static const struct {
		const char *says;
		bool read_only;
		const char *word;
	} rows[] = { { "full", false, "No space left on device" }, { "read-only", true, "Read-only file system" } };

	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_buf) struct fl_buf words = FL_BUF(64 * FL_KIB);
		WORLD(w);

		fl_cdi_start(&w.cdi, w.loop);
		OK_ERR(driver(&w, "1.0"), &w.err);
		CHECK(comes(&w, OURS, CONTENT("1.0")));
		sim_faults(w.node.host)->read_only = row->read_only;
		sim_faults(w.node.host)->disk_bytes = row->read_only ? 0 : 1;
		OK_ERR(driver(&w, "2.0"), &w.err);
		node_pass(&w.node, 5 * FL_NS_PER_S);
		CHECK(comes(&w, OURS, CONTENT("1.0")));
		OK_ERR(fl_loop_explain(w.loop, &fl_cdi_spec_kind, FL_S(""), FL_S("test.dev-gpu"), &words, &w.err),
		       &w.err);
		OK(fl_buf_check(&words, "words", NULL));
		CHECK(test_tortured() || (words.p && strstr(words.p, row->word) && strstr(words.p, OURS)));
		sim_faults(w.node.host)->read_only = false;
		sim_faults(w.node.host)->disk_bytes = 0;
		node_pass(&w.node, 30 * FL_NS_PER_S);
		CHECK(comes(&w, OURS, CONTENT("2.0")));
	}
}

static struct fl_str trouble(struct world *w)
{
	struct fl_view view = fl_loop_view(w->loop, &w->arena);
	struct fl_each each = fl_view_all(&view, &fl_cdi_trouble_kind);
	const struct fl_cdi_trouble *told = fl_each_next(&each);

	return told ? told->why : FL_S("");
}

static void make_sick(struct world *w, bool read_only, bool full)
{
	sim_faults(w->node.host)->read_only = read_only;
	sim_faults(w->node.host)->disk_bytes = full;
}

/* For /readyz, the Node's condition and the metric: once for each change, however often it is tried; and over when it
 * is over, or when nobody wants the file any more. */
TEST(what_cannot_be_written_is_a_fact_with_a_remedy)
{
	static const struct {
		const char *says;
		bool read_only, begun, leave;  /* it was written before; it is not wanted any more */
		const char *why;
	} rows[] = {
		{ "the disk is full", false, true, false, "No space left on device: make room there" },
		{ "the disk is read-only", true, true, false,
		  "Read-only file system: mount it so that it can be written" },
		{ "from the start on, and there is no directory either", true, false, false,
		  "No such file or directory: make the directory, or name another one (--cdi-dir)" },
		{ "and then nobody wants it", true, true, true,
		  "Read-only file system: mount it so that it can be written" },
	};

	EACH_ROW_ALONE (row, rows) {
		WORLD(w);

		fl_cdi_start(&w.cdi, w.loop);
		OK_ERR(driver(&w, row->begun ? "1.0" : ""), &w.err);
		if (row->begun)
			CHECK(comes(&w, OURS, CONTENT("1.0")));
		node_pass(&w.node, FL_NS_PER_S);
		CHECK(!trouble(&w).len || test_tortured());
		make_sick(&w, row->read_only, !row->read_only);
		OK_ERR(driver(&w, "2.0"), &w.err);
		node_pass(&w.node, FL_RUN_RETRY_FIRST / 2);   /* the first try says it */
		CHECK(fl_str_ends(trouble(&w), fl_str(row->why)) || test_tortured());
		node_pass(&w.node, 4 * FL_LOCAL_RETRY_LAST);
		CHECK(test_tortured() || w.said == 1);
		if (row->leave) {
			OK_ERR(driver(&w, ""), &w.err);
			node_pass(&w.node, 2 * FL_CDI_TROUBLE_STALE);
			CHECK(!trouble(&w).len || test_tortured());
			continue;
		}
		make_sick(&w, false, false);
		node_pass(&w.node, 30 * FL_NS_PER_S);
		if (test_tortured())   /* memory that is refused after many failures is asked for again as late */
			node_pass(&w.node, 2 * FL_RUN_RETRY_LAST);
		CHECK(comes(&w, OURS, CONTENT("2.0")));
		CHECK(!trouble(&w).len || test_tortured());
		CHECK(test_tortured() || (w.said == 1 && w.healed == 1));
	}
}

TEST(a_name_that_no_file_can_have_is_said)
{
	WORLD(w);

	fl_cdi_start(&w.cdi, w.loop);
	OK_ERR(driver(&w, TOO_LONG), &w.err);
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(fl_str_ends(trouble(&w), FL_S(": name another kind (--cdi-kind)")) || test_tortured());
	OK_ERR(driver(&w, "1.0"), &w.err);
	node_pass(&w.node, 2 * FL_CDI_TROUBLE_STALE);
	CHECK(comes(&w, OURS, CONTENT("1.0")));
	CHECK(!trouble(&w).len || test_tortured());
}
