#include "base/units.h"
#include "io/notify.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

struct watcher {
	struct fl_notify notify;
	char names[400];
	int all, changes;          /* "" and others */
	struct fl_notify *stops;
};

static void changed(struct fl_notify *notify, const char *name)
{
	struct watcher *watcher = fl_container(notify, struct watcher, notify);
	size_t len = strlen(watcher->names);

	if (name[0]) {
		watcher->changes++;
		(void)snprintf(watcher->names + len, sizeof watcher->names - len, "%s%s", len ? " " : "", name);
	} else {
		watcher->all++;
	}
	if (watcher->stops)
		fl_notify_stop(fl_steal(&watcher->stops));
}

static void stop_auto_(struct watcher *watcher)
{
	fl_notify_stop(&watcher->notify);
}
#define WATCHER __attribute__((cleanup(stop_auto_))) struct watcher

static int watch(struct fl_io *io, struct watcher *watcher, const char *dir)
{
	watcher->notify = (struct fl_notify){ .changed = changed, .dir = dir };
	fl_notify_start(io, &watcher->notify);
	if (watcher->all)
		return -FL_E_INVALID;   /* called from inside */
	return test_turns(io, &watcher->all, 1);
}

static bool seen(const struct watcher *watcher, const char *name)
{
	return strstr(watcher->names, name) != NULL;
}

/* Under torture a watch may be refused, and the directory is then looked at by the clock, which knows no names. */
static int something(struct fl_io *io, struct watcher *watcher)
{
	int both = watcher->all + watcher->changes, want = both + 1;
	uint64_t until = fl_clock(io) + 30 * FL_NS_PER_S;

	while (both < want && fl_clock(io) < until) {
		int r = fl_io_turn(io, until, NULL);

		if (r < 0)
			return r;
		both = watcher->all + watcher->changes;
	}
	return both >= want ? 0 : -FL_E_TIMEOUT;
}

static const struct {
	const char *says;
	int what;   /* see act() */
	const char *name;
} rows[] = {
	{ "a file is written", 'w', "file" },
	{ "a file is made anew", 'n', "new" },
	{ "a file is removed", 'u', "file" },
	{ "a file is renamed", 'r', "renamed" },
	{ "a directory is made", 'd', "sub" },
	{ "a symlink is swapped, as projected volumes do it", 's', "..data" },
};

static bool act(const char *dir, int what)
{
	switch (what) {
	case 'w': return test_write_file(test_path(dir, "file"), "x");
	case 'n': return test_write_file(test_path(dir, "new"), "x");
	case 'u': return unlink(test_path(dir, "file")) == 0;
	case 'r': return rename(test_path(dir, "file"), test_path(dir, "renamed")) == 0;
	case 'd': return mkdir(test_path(dir, "sub"), 0700) == 0;
	default:
		return symlink("..2", test_path(dir, "..data_tmp")) == 0 &&
		       rename(test_path(dir, "..data_tmp"), test_path(dir, "..data")) == 0;
	}
}

TEST(changes_are_told_by_name)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		WATCHER w = { 0 };

		GOT(io);
		CHECK(test_write_file(test_path(dir, "file"), "old"));
		CHECK(symlink("..1", test_path(dir, "..data")) == 0);
		OK(watch(io, &w, dir));
		CHECK_INT(w.changes, 0);
		CHECK(act(dir, row->what));
		CHECK(something(io, &w) == 0);   /* in every case, also by the clock */
		if (!test_tortured()) {
			CHECK(seen(&w, row->name));
			CHECK_INT(w.notify.hint.code, FL_OK);
		}
	}
}

TEST(a_stopped_watch_is_told_nothing)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	WATCHER a = { 0 };
	WATCHER b = { 0 };

	GOT(io);
	OK(watch(io, &a, dir));
	OK(watch(io, &b, dir));   /* the same directory: one watch of the kernel for two of ours */
	CHECK(test_write_file(test_path(dir, "x"), ""));
	OK(something(io, &a));
	fl_notify_stop(&a.notify);
	fl_notify_stop(&a.notify);
	a.all = a.changes = b.all = b.changes = 0;
	CHECK(test_write_file(test_path(dir, "y"), ""));
	OK(something(io, &b));
	CHECK_INT(a.all + a.changes, 0);
	fl_notify_stop(&b.notify);
	CHECK_INT(test_io_open_fds(io), 0);   /* the last one closes the door */
}

TEST(inside_changed_any_watch_may_be_stopped)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	WATCHER a = { 0 };
	WATCHER b = { 0 };
	WATCHER c = { 0 };

	GOT(io);
	OK(watch(io, &a, dir));
	OK(watch(io, &b, dir));
	OK(watch(io, &c, dir));
	a.stops = &b.notify;
	c.stops = &c.notify;
	CHECK(test_write_file(test_path(dir, "x"), ""));
	OK(something(io, &c));
	if (test_tortured())
		return;   /* by the clock, in any order */
	CHECK(a.changes > 0);
	CHECK_INT(b.changes, 0);
	CHECK_INT(c.changes, 1);
}

TEST(a_watch_stopped_before_it_stands)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct watcher a = { .notify = { .changed = changed, .dir = "/tmp" } };

	GOT(io);
	fl_notify_start(io, &a.notify);
	fl_notify_stop(&a.notify);
	OK(fl_io_turn(io, 0, NULL));
	CHECK_INT(a.all, 0);
	CHECK_INT(test_io_open_fds(io), 0);
}

TEST(a_directory_may_come_and_go)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_path(test_dir(), "sub"), *other = test_path(test_dir(), "other");
	WATCHER w = { 0 };

	GOT(io);
	OK(watch(io, &w, dir));
	if (!test_tortured()) {
		CHECK_INT(w.notify.hint.code, FL_E_NOTFOUND);
		CHECK(strstr(w.notify.hint.text, "/sub'"));
	}
	CHECK(mkdir(dir, 0700) == 0);
	CHECK(something(io, &w) == 0);
	CHECK(test_write_file(test_path(dir, "x"), ""));
	CHECK(something(io, &w) == 0);
	CHECK(unlink(test_path(dir, "x")) == 0 && rmdir(dir) == 0);
	OK(test_turns(io, &w.all, 3));
	w.all = 0;
	CHECK(mkdir(dir, 0700) == 0);
	OK(test_turns(io, &w.all, 1));
	w.all = 0;
	CHECK(rename(dir, other) == 0);
	OK(test_turns(io, &w.all, 1));
}

/* Fills the kernel's queue of 16,384: once is enough. */
TEST_ONCE(lost_changes_mean_look_everywhere)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir(), *a = test_path(dir, "a"), *b = test_path(dir, "b");
	WATCHER w = { 0 };

	GOT(io);
	OK(watch(io, &w, dir));
	CHECK(test_write_file(a, ""));
	for (int i = 0; i < 8300; i++)
		CHECK(rename(i % 2 ? b : a, i % 2 ? a : b) == 0);
	OK(test_turns(io, &w.all, 2));
	CHECK(w.changes > 16000);
}

static bool heals(struct fl_io *io, const struct watcher *watcher)
{
	uint64_t until = fl_clock(io) + 30 * FL_NS_PER_S;

	while (watcher->notify.hint.code != FL_OK && fl_clock(io) < until)
		if (fl_io_turn(io, until, NULL) < 0)
			break;
	return watcher->notify.hint.code == FL_OK;
}

/* Takes all instances that a user has: not at the same time as others. */
TEST_ONCE(without_watches_the_directory_is_looked_at)
{
	enum { MANY = 20000 };
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	static int fds[MANY];
	WATCHER w = { 0 };
	int count = 0, r, code;

	GOT(io);
	while (count < 900 && (fds[count] = inotify_init1(IN_CLOEXEC)) >= 0)
		count++;
	r = watch(io, &w, dir);
	code = (int)w.notify.hint.code;
	if (r == 0 && count < 900 && test_write_file(test_path(dir, "x"), ""))
		r = something(io, &w);
	while (count > 0)
		(void)close(fds[--count]);
	OK(r);
	if (code == FL_OK)
		SKIP("this machine does not run out of inotify instances");
	CHECK_INT(code, FL_E_RETRY);
	CHECK(heals(io, &w));   /* there are watches again, and there may have been before: others end */
}
