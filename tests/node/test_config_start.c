/* The command line and files on a disk, until Settings are there. */
#include "api/node_pools.h"
#include "base/units.h"
#include "node/settings/config.h"
#include "run/memory.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <sys/stat.h>

struct world {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_config config;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	if (w->config.folder.io)
		fl_config_stop(&w->config);
	w->loop = fl_loop_free(w->loop);
	w->io = fl_io_free(w->io);
}

static int start(struct world *w, const struct fl_config_options *options)
{
	const struct fl_source sources[] = {
		{ .kind = &fl_given_kind },
		{ .kind = &fl_config_file_kind },
		{ .kind = &fl_own_node_kind },
		{ .kind = &fl_memo_kind, .sink = &fl_memory_sink },
		{ .kind = &fl_api_watch_kind, .sink = &fl_memory_sink },
		{ .kind = &fl_settings_kind, .sink = &fl_memory_sink },
	};

	w->io = test_io();
	w->loop = w->io ? fl_loop_new(w->io, &(struct fl_loop_options){ .seed = { 1, 2 } }, NULL) : NULL;
	for (uint32_t i = 0; w->loop && i < FL_LEN(sources); i++) {
		struct fl_source source = sources[i];

		source.sink_arg = source.sink ? w->io : NULL;
		if (fl_loop_source(w->loop, &source, NULL) < 0)
			return -FL_E_NOMEM;
	}
	if (!w->loop || fl_loop_capability(w->loop, &fl_node_config, NULL) < 0)
		return -FL_E_NOMEM;
	fl_feed_absent(fl_loop_feed(w->loop, &fl_own_node_kind));
	fl_feed_awaited(fl_loop_feed(w->loop, &fl_memo_kind));
	fl_memory_begin(w->loop, &fl_api_watch_kind);
	return fl_config_start(&w->config, w->io, w->loop, options, &w->err);
}

static const struct fl_settings *see(struct world *w, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(w->loop, arena);

	return fl_view_get(&view, &fl_settings_kind, FL_S(""), FL_S("settings"));
}

/* Settings that say of unpooled cards what is wanted, and a message or none. */
static bool comes(struct world *w, bool unpooled, bool message)
{
	uint64_t until = fl_clock(w->io) + 30 * FL_NS_PER_S;

	while (fl_clock(w->io) < until) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		const struct fl_settings *now = see(w, &arena);

		if (now && now->unpooled == unpooled && (now->message.len > 0) == message)
			return true;
		if (fl_io_turn(w->io, fl_clock(w->io) + 20 * FL_NS_PER_MS, NULL) < 0)
			return false;
	}
	return false;
}

TEST(what_is_given_makes_no_sense)
{
	struct fl_settings_given wrong = { .mig_strategy = FL_S("double") }, none = { 0 };
	const struct {
		const char *says, *why;
		struct fl_config_options options;
	} rows[] = {
		{ "a folder for a file", "not the path of a configuration file", { .given = &none, .file = "/a/" } },
		{ "an option that is wrong", "mig-strategy", { .given = &wrong } },
	};

	EACH_ROW (row, rows) {
		FL_AUTO(world) struct world w = { 0 };

		REFUSED(start(&w, &row->options), FL_E_INVALID);
		CHECK(test_tortured() || strstr(w.err.text, row->why));
	}
}

/* Files are looked at by the kernel's hints: real time passes. */
TEST_ONCE(options_before_a_file_before_defaults_and_a_file_that_comes_late)
{
	static const char good[] = "version: v1\nflags: {migStrategy: single}\n";
	struct fl_settings_given given = { .unpooled = FL_S("true") };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(world) struct world w = { 0 };
	struct fl_config_options options = { .given = &given, .node = FL_S("n1") };
	char file[300];

	(void)snprintf(file, sizeof file, "%s", test_path(test_dir(), "config.yaml"));
	options.file = file;
	CHECK(test_write_file(file, good));
	OK_ERR(start(&w, &options), &w.err);
	CHECK(comes(&w, true, false));
	CHECK_INT(see(&w, &arena)->mig, FL_MIG_SINGLE);
	CHECK_STR(see(&w, &arena)->node, "n1");
	CHECK(see(&w, &arena)->boot.len > 30);
	CHECK(test_write_file(file, "version: v1\nflags: {migStrategy: double}\n"));
	CHECK(comes(&w, true, true));
	CHECK_INT(see(&w, &arena)->mig, FL_MIG_SINGLE);
	CHECK(test_write_file(file, good));
	CHECK(comes(&w, true, false));
}

/* A volume that is mounted elsewhere must not give whole GPUs in place of shares. */
TEST_ONCE(a_config_dir_that_does_not_exist_serves_nothing_and_is_told)
{
	struct fl_settings_given given = { .unpooled = FL_S("true") };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(world) struct world w = { 0 };
	struct fl_config_options options = { .given = &given, .node = FL_S("n1") };
	char dir[300], file[320];

	(void)snprintf(dir, sizeof dir, "%s", test_path(test_dir(), "configs"));
	(void)snprintf(file, sizeof file, "%s/default", dir);
	options.dir = dir;
	OK_ERR(start(&w, &options), &w.err);
	fl_memory_begin(w.loop, &fl_memo_kind);   /* nothing is kept */
	CHECK(comes(&w, false, true));
	CHECK(see(&w, &arena)->waits.len);
	CHECK(strstr(see(&w, &arena)->message.p, "--config-dir: there is no directory"));
	CHECK(strstr(see(&w, &arena)->message.p, dir));
	CHECK(mkdir(dir, 0755) == 0 && test_write_file(file, "version: v1\nflags: {migStrategy: single}\n"));
	CHECK(comes(&w, true, false));
	CHECK_INT(see(&w, &arena)->mig, FL_MIG_SINGLE);
}

TEST_ONCE(lists_are_given_as_they_stand_on_the_command_line)
{
	struct fl_str ways[] = { FL_S("envvar"), FL_S("device-specs") };
	struct fl_settings_given given = { .list_strategy = { ways, 2, 2 }, .unpooled = FL_S("true") };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(world) struct world w = { 0 };

	OK_ERR(start(&w, &(struct fl_config_options){ .given = &given }), &w.err);
	CHECK(comes(&w, true, false));
	CHECK_INT(see(&w, &arena)->device_lists.len, 2);
	CHECK_INT(see(&w, &arena)->device_lists.at[0], FL_BY_ENV);
	CHECK_INT(see(&w, &arena)->device_lists.at[1], FL_BY_NODES);
}
