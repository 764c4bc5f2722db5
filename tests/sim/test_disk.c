/* The simulated disk: it answers as a real one does, and loses what a real one loses. */
#include "base/units.h"
#include "io/child.h"
#include "io/file.h"
#include "io/notify.h"
#include "sim/sim.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>

/* ---- the same calls, here and on the machine's own disk ---- */

struct side {
	const struct fl_fs *fs;
	int dir;
};

static int keep_fs(struct sim_process *p)
{
	const struct fl_fs **fs = sim_arg(p);

	*fs = fl_io_fs(sim_io(p));
	return 0;
}

static const char *const paths[] = {
	"a", "b", "c", "d", "d/x", "d/y", "d/e", "d/e/z", "a/x", "d/../a", "./b", "d/", "a/", "l", "l/x", "m", "d/m",
	"nothing/x", "d/./y", "d/e/../y", ".", "d/..", "l/../a", "",
};

static const int flag_sets[] = {
	O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_EXCL, O_RDWR | O_CREAT | O_TRUNC,
	O_WRONLY | O_NOFOLLOW,
	O_RDONLY | O_DIRECTORY, O_WRONLY | O_CREAT | O_NOFOLLOW, O_RDONLY | O_NOFOLLOW, O_WRONLY | O_APPEND,
};

static const uint64_t resolves[] = { 0, 0, RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_IN_ROOT,
				     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

struct call {
	unsigned what;
	const char *a, *b;
	int flags;
	uint64_t resolve, at;
};

/* The names in a directory, whatever their order, as one number. */
static uint64_t list_sum(const struct fl_fs *fs, int fd)
{
	char buf[2000];
	uint64_t sum = 0;
	const char *name;
	int64_t n;

	while ((n = fs->list(fs, fd, buf, sizeof buf)) > 0) {
		for (size_t at = 0; (name = fl_list_next(buf, (size_t)n, &at, NULL));) {
			uint64_t one = 7;

			for (const char *c = name; *c; c++)
				one = one * 131 + (uint8_t)*c;
			sum += one;
		}
	}
	return n < 0 ? (uint64_t)n : sum;
}

static uint64_t use_file(const struct side *s, const struct call *c, int fd, bool writes)
{
	char bytes[64] = { 0 };
	uint64_t sum;
	int64_t n;

	sum = (uint64_t)s->fs->pread(s->fs, fd, bytes, 20, c->at % 30);
	for (int i = 0; i < 20; i++)
		sum = sum * 31 + (uint8_t)bytes[i];
	if (c->flags & O_DIRECTORY)
		sum += list_sum(s->fs, fd);
	if (!writes)
		return sum;
	(void)snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)c->at);
	n = c->at & 1 ? s->fs->write(s->fs, fd, bytes, 15) : s->fs->pwrite(s->fs, fd, bytes, 15, c->at % 50);
	sum = sum * 31 + (uint64_t)n;
	if (c->at % 5 == 0)
		sum = sum * 31 + (uint64_t)(int64_t)s->fs->truncate(s->fs, fd, c->at % 40);
	return sum;
}

static uint64_t open_and_use(const struct side *s, const struct call *c)
{
	int fd = s->fs->open_in(s->fs, s->dir, c->a, c->flags, 0644, c->resolve);
	uint64_t sum;

	if (fd < 0)
		return (uint64_t)(int64_t)fd;
	sum = use_file(s, c, fd, (c->flags & O_ACCMODE) != O_RDONLY);
	s->fs->close(s->fs, fd);
	return sum;
}

static uint64_t stat_sum(const struct side *s, const struct call *c)
{
	struct fl_stat stat;
	int r = s->fs->stat(s->fs, s->dir, c->a, c->at & 1 ? AT_SYMLINK_NOFOLLOW : 0, &stat);

	if (r < 0)
		return (uint64_t)(int64_t)r;
	return (stat.mode & S_IFMT) * 1000 + (S_ISDIR(stat.mode) ? 0 : stat.size + 1000000 * stat.links);
}

static uint64_t make_call(const struct side *s, const struct call *c)
{
	const struct fl_fs *fs = s->fs;
	char target[64];
	int64_t n;

	switch (c->what) {
	case 0:
		return (uint64_t)(int64_t)fs->mkdir(fs, s->dir, c->a, 0755);
	case 1:
		return (uint64_t)(int64_t)fs->unlink(fs, s->dir, c->a, c->at & 1 ? AT_REMOVEDIR : 0);
	case 2:
		return (uint64_t)(int64_t)fs->rename(fs, s->dir, c->a, s->dir, c->b,
						     c->at % 4 == 0 ? RENAME_NOREPLACE :
						     c->at % 4 == 1 ? RENAME_EXCHANGE : 0);
	case 3:
		return (uint64_t)(int64_t)fs->link(fs, s->dir, c->a, s->dir, c->b);
	case 4:
		return (uint64_t)(int64_t)fs->symlink(fs, c->b, s->dir, c->a);
	case 5:
		n = fs->readlink(fs, s->dir, c->a, target, sizeof target);
		return n > 0 ? (uint64_t)n * 1000 + (uint8_t)target[0] : (uint64_t)n;
	case 6:
		return stat_sum(s, c);
	default:
		return open_and_use(s, c);
	}
}

/* Not tortured: thousands of calls of a real disk. */
TEST_ONCE(it_answers_as_the_real_one_does)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const struct fl_fs *fs = NULL;
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&(struct sim_config){ .seed = 1 });
	struct sim_host *host = sim_host_new(w, "host", keep_fs, &fs);

	GOT(io);
	sim_run(w, FL_NS_PER_MS);
	for (int round = 0; round < 6; round++) {
		struct side real = { .fs = fl_io_fs(io) }, sim = { .fs = fs };
		char dir[60];

		/* Deep inside: a symlink to "." makes "l/.." climb. */
		real.dir = real.fs->open(real.fs, AT_FDCWD, test_dir(), O_RDONLY | O_DIRECTORY, 0);
		for (int deep = 0; deep < 4; deep++) {
			int up = real.dir;

			CHECK_INT(real.fs->mkdir(real.fs, up, "deep", 0755), 0);
			real.dir = real.fs->open(real.fs, up, "deep", O_RDONLY | O_DIRECTORY, 0);
			real.fs->close(real.fs, up);
		}
		(void)snprintf(dir, sizeof dir, "/%d/deep/deep/deep/deep", round);
		CHECK_INT(sim_file_put(host, test_path(dir, ""), "", 0), 0);
		sim.dir = fs->open(fs, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
		CHECK(real.dir >= 0 && sim.dir >= 0);
		for (int i = 0; i < 800; i++) {
			struct call c = { .what = (unsigned)(test_random() % 12),
					  .a = paths[test_random() % FL_LEN(paths)],
					  .b = paths[test_random() % FL_LEN(paths)],
					  .flags = flag_sets[test_random() % FL_LEN(flag_sets)],
					  .resolve = resolves[test_random() % FL_LEN(resolves)], .at = test_random() };
			int64_t here, there;
			char what[160];

			if (c.what > 6 && c.at % 16 == 0 && (c.resolve & RESOLVE_BENEATH))
				c.a = "d/../../outside";
			here = (int64_t)make_call(&sim, &c);
			there = (int64_t)make_call(&real, &c);

			(void)snprintf(what, sizeof what,
				       "round %d call %d: %u '%s' '%s' flags %o resolve %llx at %llu", round,
				       i, c.what, c.a, c.b, (unsigned)c.flags, (unsigned long long)c.resolve,
				       (unsigned long long)c.at % 4);
			test_row(what);
			/* A file is to be made behind a loop of symlinks with a slash: which of the two is wrong
			 * first? */
			if (here == -ELOOP && there == -EISDIR)
				continue;
			CHECK_INT(here, there);
		}
		real.fs->close(real.fs, real.dir);
		fs->close(fs, sim.dir);
	}
}

/* ---- what a crash leaves of a state file ---- */

struct keeper {
	struct fl_io *io;
	struct fl_file_read read;
	struct fl_file_replace replace;
	struct fl_buf buf;
	struct fl_err err;
	char text[640];
	struct known *known;
};

struct known {
	int acked, asked, lives, last;
	bool over;
	char wrong[100];
};

static void keeper_gone(void *self)
{
	struct keeper *k = self;

	fl_op_cancel(&k->read.op);
	fl_op_cancel(&k->replace.op);
	fl_buf_free(&k->buf);
	fl_free(k);
}

static void replace_next(struct keeper *k)
{
	int n = k->known->asked + 1;

	if (n > k->known->last) {
		k->known->over = true;
		return;
	}
	k->known->asked = n;
	/* Longer and shorter than a sector, so that a torn one would show. */
	(void)snprintf(k->text, sizeof k->text, "%d %0*d", n, n % 3 ? 10 : 590, n);
	k->replace.content = fl_str(k->text);
	fl_file_replace(k->io, &k->replace);
}

static void replaced(struct fl_op *op)
{
	struct keeper *k = fl_container(op, struct keeper, replace.op);

	if (op->result == 0)
		k->known->acked = k->known->asked;
	replace_next(k);
}

static void was_read(struct fl_op *op)
{
	struct keeper *k = fl_container(op, struct keeper, read.op);
	struct fl_str rest = fl_buf_view(&k->buf), first = { 0 };
	int64_t n = 0, again = -1;

	if (op->result == -FL_E_NOTFOUND)
		again = 0;
	else if (!fl_str_split(&rest, ' ', &first) || !fl_str_i64(first, &n) || !fl_str_i64(rest, &again))
		again = -1;
	if (n != again || (n != k->known->acked && n != k->known->asked))
		(void)snprintf(k->known->wrong, sizeof k->known->wrong, "acknowledged %d, asked for %d, found '%.30s'",
			       k->known->acked, k->known->asked, k->buf.len ? k->buf.p : "nothing");
	k->known->acked = k->known->asked = (int)n;
	k->known->last = (int)n + 6;
	k->known->lives++;
	replace_next(k);
}

static int keeper_main(struct sim_process *p)
{
	struct keeper *k = fl_zalloc(sizeof *k);

	if (!k)
		return -FL_E_NOMEM;
	k->io = sim_io(p);
	k->known = sim_arg(p);
	k->buf = FL_BUF(4096);
	k->read = (struct fl_file_read){ .op = { .done = was_read, .err = &k->err }, .path = "/f", .into = &k->buf };
	k->replace = (struct fl_file_replace){ .op = { .done = replaced, .err = &k->err }, .path = "/f" };
	sim_own(p, k, keeper_gone);
	fl_file_read(k->io, &k->read);
	return 0;
}

static bool over(void *arg)
{
	return ((struct known *)arg)->over || ((struct known *)arg)->wrong[0];
}

/* Not tortured: thousands of lives. */
TEST_ONCE(a_replaced_file_is_whole_and_new_or_old_after_a_crash_at_any_call)
{
	int lives = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&(struct sim_config){
			.seed = seed, .short_io = seed % 2 ? 0 : 300000 });
		struct known known = { 0 };
		struct sim_host *host = sim_host_new(w, "host", keeper_main, &known);

		for (uint64_t k = 1; k < 200 && !known.over; k++) {
			sim_faults(host)->cut_after = k;
			sim_run_until(w, sim_now(w) + FL_NS_PER_S, over, &known);
			CHECK_STR(fl_str(known.wrong), "");
			sim_crash(host);
			sim_start(host);
		}
		CHECK(known.over);
		lives += known.lives;
	}
	CHECK(lives > 3000);
}

/* ---- what else a host has ---- */

struct house {
	struct fl_notify notify;
	struct fl_io *io;
	int fd;
	bool locked;
	char told[200];
};

static void told(struct fl_notify *notify, const char *name)
{
	struct house *house = fl_container(notify, struct house, notify);
	size_t n = strlen(house->told);

	(void)snprintf(house->told + n, sizeof house->told - n, "[%s]", name);
}

static void house_gone(void *self)
{
	struct house *house = self;

	fl_notify_stop(&house->notify);
	fl_close(house->io, house->fd);
}

static int house_main(struct sim_process *p)
{
	struct house *house = sim_arg(p);
	const struct fl_fs *fs = fl_io_fs(sim_io(p));

	*house = (struct house){ .notify = { .changed = told, .dir = "/run" }, .io = sim_io(p), .fd = -1 };
	sim_own(p, house, house_gone);
	fl_notify_start(house->io, &house->notify);
	house->fd = fs->open(fs, AT_FDCWD, "/lock", O_RDWR | O_CREAT, 0600);
	house->locked = house->fd >= 0 && fs->lock(fs, house->fd, LOCK_EX) == 0;
	return 0;
}

TEST(a_directory_is_watched_and_a_lock_is_held_to_the_end_of_its_process)
{
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&(struct sim_config){ .seed = 2 });
	struct house house = { 0 };
	struct sim_host *host = sim_host_new(w, "host", house_main, &house);
	const char *all = "[][kubelet.sock][kubelet.sock]";

	CHECK_INT(sim_file_put(host, "/run/x", "", 0), 0);
	sim_run(w, 100 * FL_NS_PER_MS);
	CHECK_INT(sim_file_put(host, "/run/kubelet.sock", "1", 1), 0);
	CHECK_INT(sim_file_put(host, "/run/kubelet.sock", "2", 1), 0);
	sim_run(w, 200 * FL_NS_PER_MS);
	CHECK(test_tortured() || strcmp(house.told, all) == 0);
	CHECK(test_tortured() || house.locked);
	/* The same as a second process would see it, after the end of the first, and after a boot. */
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			sim_stop(host);
		else
			sim_crash(host);
		CHECK_INT((int)sim_process_count(host), 0);
		sim_start(host);
		sim_run(w, sim_now(w) + 200 * FL_NS_PER_MS);
		CHECK(test_tortured() || house.locked);
	}
	sim_faults(host)->no_notify = true;
	sim_stop(host);
	sim_start(host);
	sim_run(w, sim_now(w) + FL_NS_PER_S);
	house.told[0] = 0;
	CHECK_INT(sim_file_put(host, "/run/late", "", 0), 0);
	sim_run(w, sim_now(w) + 2 * FL_NS_PER_S);
	CHECK(test_tortured() || strcmp(house.told, "[]") == 0);   /* looked at by the clock */
}

/* Straight-line code, as a command has it. */
TEST(a_full_a_failing_and_a_read_only_disk_say_so)
{
	const struct fl_fs *fs = NULL;
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&(struct sim_config){ .seed = 3 });
	struct sim_host *host = sim_host_new(w, "host", keep_fs, &fs);
	static const char bytes[1000];
	int fd;

	sim_run(w, FL_NS_PER_MS);
	if (!fs)
		return;
	sim_faults(host)->disk_bytes = 1500;
	fd = fs->open(fs, AT_FDCWD, "/f", O_RDWR | O_CREAT, 0600);
	CHECK_INT(fs->write(fs, fd, bytes, 1000), 1000);
	CHECK_INT(fs->write(fs, fd, bytes, 1000), 500);
	CHECK_INT(fs->write(fs, fd, bytes, 1000), -ENOSPC);
	CHECK_INT(fs->open(fs, AT_FDCWD, "/g", O_RDWR | O_CREAT, 0600), -ENOSPC);
	CHECK_INT(fs->truncate(fs, fd, 100), 0);
	CHECK_INT(fs->write(fs, fd, bytes, 10), -ENOSPC);   /* behind a hole of 1400 */
	CHECK_INT(fs->pwrite(fs, fd, bytes, 10, 100), 10);
	sim_faults(host)->eio_sync = 1000000;
	CHECK_INT(fs->fsync(fs, fd), -EIO);
	sim_faults(host)->eio_sync = 0;
	CHECK_INT(fs->fsync(fs, fd), 0);
	sim_faults(host)->eio_read = 1000000;
	CHECK_INT(fs->pread(fs, fd, &(char){ 0 }, 1, 0), -EIO);
	sim_faults(host)->read_only = true;
	CHECK_INT(fs->pwrite(fs, fd, bytes, 10, 0), -EROFS);
	CHECK_INT(fs->unlink(fs, AT_FDCWD, "/f", 0), -EROFS);
	fs->close(fs, fd);
}
