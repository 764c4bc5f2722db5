/* The linker's cache and the libraries it names: what glibc takes is taken, what is damaged is left out. */
#include "base/bytes.h"
#include "node/host/elf.h"
#include "node/host/ld_cache.h"
#include "test.h"
#include "test_io.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

/* ---- caches ---- */

static void put(struct fl_buf *to, uint64_t n, unsigned bytes)
{
	uint8_t piece[8];

	fl_bytes_put(piece, n, bytes);
	fl_buf_put(to, piece, bytes);
}

/* "KEY VALUE" a line, as a cache of today. */
static void put_new(struct fl_buf *to, const char *lines)
{
	struct fl_str rest = fl_str(lines), line;
	uint32_t count = 0, at;

	while (fl_str_split(&rest, '\n', &line))
		count += line.len > 0;
	at = 48 + 24 * count;
	fl_buf_str(to, FL_S("glibc-ld.so.cache1.1"));
	put(to, count, 4);
	put(to, strlen(lines), 4);
	put(to, 2, 8);
	put(to, 0, 8);
	put(to, 0, 4);
	rest = fl_str(lines);
	while (fl_str_split(&rest, '\n', &line)) {
		int64_t blank = fl_str_find(line, ' ');

		if (!line.len)
			continue;
		put(to, FL_LD_FLAGS, 4);
		put(to, at, 4);
		put(to, at + (uint32_t)blank + 1, 4);
		put(to, 0, 4);
		put(to, (uint64_t)count << 32, 8);
		at += line.len + 1;
	}
	for (const char *p = lines; *p; p++)
		fl_buf_char(to, *p == ' ' || *p == '\n' ? '\0' : *p);
}

static void put_old(struct fl_buf *to, bool with_new)
{
	fl_buf_put(to, "ld.so-1.7.0", 12);
	put(to, 1, 4);
	put(to, 3, 4);
	put(to, 0, 4);
	put(to, 4, 4);
	if (!with_new) {
		fl_buf_put(to, "old\0/lib/old", 13);
		return;
	}
	fl_buf_put(to, "\0\0\0", 4);   /* to the next multiple of 8 */
	put_new(to, "new /lib/new\n");
}

/* What is in it, as "KEY=VALUE " each; "no cache". */
static struct fl_str content(const void *bytes, size_t len)
{
	static char text[400];
	struct fl_buf buf = FL_BUF_IN(text);
	struct fl_ld_cache cache;
	struct fl_ld_entry entry;

	if (!fl_ld_cache_open(&cache, bytes, len))
		return FL_S("no cache");
	while (fl_ld_cache_next(&cache, &entry))
		fl_buf_printf(&buf, "%.*s=%.*s ", FL_ARG(entry.key), FL_ARG(entry.value));
	return buf.len ? fl_buf_view(&buf) : FL_S("");
}

TEST(caches_of_each_format_are_read)
{
	FL_AUTO(fl_buf) struct fl_buf now = FL_BUF(4096), old = FL_BUF(4096), both = FL_BUF(4096);

	put_new(&now, "libb.so.2 /lib/libb.so.2\nliba.so.1 /lib/liba.so.1\n");
	OK(fl_buf_check(&now, "a cache", NULL));
	CHECK_STR(content(now.p, now.len), "libb.so.2=/lib/libb.so.2 liba.so.1=/lib/liba.so.1 ");
	put_old(&old, false);
	OK(fl_buf_check(&old, "a cache", NULL));
	CHECK_STR(content(old.p, old.len), "old=/lib/old ");
	put_old(&both, true);
	OK(fl_buf_check(&both, "a cache", NULL));
	CHECK_STR(content(both.p, both.len), "new=/lib/new ");
}

TEST(a_damaged_cache_is_none_or_lacks_what_is_damaged)
{
	static const struct {
		const char *says;
		uint32_t at, value;
		const char *want;
	} rows[] = {
		{ "another magic", 0, 0, "no cache" },
		{ "more entries than fit", 20, 9999, "no cache" },
		{ "the other order of bytes", 28, 3, "no cache" },
		{ "an order that is not told", 28, 0, "b=/lib/b a=/lib/a " },
		{ "a name outside", 48 + 4, 0x7fffffff, "a=/lib/a " },
		{ "a path outside", 48 + 24 + 8, 0xffffffff, "b=/lib/b " },
	};

	EACH_ROW (row, rows) {
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4096);

		put_new(&buf, "b /lib/b\na /lib/a\n");
		OK(fl_buf_check(&buf, "a cache", NULL));
		fl_bytes_put((uint8_t *)buf.p + row->at, row->value, 4);
		CHECK_STR(content(buf.p, buf.len), row->want);
	}
}

TEST(a_cache_that_ends_early_is_read_as_far_as_it_goes)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4096);

	put_new(&buf, "b /lib/b\na /lib/a\n");
	OK(fl_buf_check(&buf, "a cache", NULL));
	for (size_t len = 0; len < buf.len; len++) {
		FL_AUTO(fl_buf) struct fl_buf cut = FL_BUF(4096);   /* of just this size, for a sanitizer to watch */

		fl_buf_put(&cut, buf.p, len);
		OK(fl_buf_check(&cut, "a cache", NULL));
		CHECK(!fl_str_eq(content(cut.p ? cut.p : "", cut.len), FL_S("b=/lib/b a=/lib/a ")));
	}
}

TEST(names_are_ordered_as_the_loader_does)
{
	static const struct {
		const char *says, *a, *b;
		int want;
	} rows[] = {
		{ "equal ones", "libc.so.6", "libc.so.6", 0 },
		{ "digits are numbers", "liba.so.10", "liba.so.9", 1 },
		{ "with zeros in front too", "liba.so.010", "liba.so.10", 0 },
		{ "a digit is more than any other byte", "lib1", "liba", 1 },
		{ "and more than the end", "lib1", "lib", 1 },
		{ "the end is less than anything", "lib", "liba", -1 },
		{ "bytes by their value", "libb", "liba", 1 },
		{ "a number's end", "lib1.so", "lib1a.so", -1 },
	};

	EACH_ROW (row, rows) {
		CHECK_INT(fl_ld_name_cmp(fl_str(row->a), fl_str(row->b)), row->want);
		CHECK_INT(fl_ld_name_cmp(fl_str(row->b), fl_str(row->a)), -row->want);
	}
}

/* The machine's own, made by its ldconfig: glibc's order is ours. */
TEST_ONCE(the_cache_of_this_machine_is_in_our_order)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_buf) struct fl_buf bytes = FL_BUF(8 << 20);
	const struct fl_fs *fs = fl_io_fs(io);
	struct fl_ld_entry entry, before = { 0 };
	struct fl_ld_cache cache;
	char piece[4096];
	bool has_libc = false;
	int64_t n;
	int fd = fs->open(fs, AT_FDCWD, "/etc/ld.so.cache", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		SKIP("this machine has no /etc/ld.so.cache");
	while ((n = fs->read(fs, fd, piece, sizeof piece)) > 0)
		fl_buf_put(&bytes, piece, (size_t)n);
	fs->close(fs, fd);
	CHECK(fl_ld_cache_open(&cache, bytes.p, bytes.len));
	for (uint32_t i = 0; fl_ld_cache_next(&cache, &entry); before = entry, i++) {
		CHECK(!i || fl_ld_name_cmp(before.key, entry.key) >= 0);
		has_libc |= fl_str_eq(entry.key, FL_S("libc.so.6")) && entry.flags == FL_LD_FLAGS;
	}
	CHECK(has_libc);
}

/* ---- adding ---- */

struct section {
	uint32_t tag, begin, size;     /* begin: from the texts on, which are 16 bytes */
};

/* One entry, 16 bytes of texts, then extensions of `count` sections, and a list of one name. */
static void put_extended(struct fl_buf *to, const struct section *sections, uint32_t count)
{
	fl_buf_str(to, FL_S("glibc-ld.so.cache1.1"));
	put(to, 1, 4);
	put(to, 16, 4);
	put(to, 2, 4);
	put(to, 72 + 16, 8);
	put(to, 0, 8);
	put(to, FL_LD_FLAGS, 4);
	put(to, 72, 4);
	put(to, 72 + 5, 4);
	put(to, 0, 4);
	put(to, (uint64_t)1 << 62, 8);
	fl_buf_put(to, "liba\0/a\0v3\0\0\0\0\0", 16);
	put(to, 0xeaa42174u, 4);
	put(to, count, 4);
	for (uint32_t i = 0; i < count; i++) {
		put(to, sections[i].tag, 4);
		put(to, 0, 4);
		put(to, 72 + sections[i].begin, 4);
		put(to, sections[i].size, 4);
	}
	put(to, 72 + 8, 4);   /* the name: "v3" */
}

/* An image whose cache has a section for each byte, each of all bytes, would be worked on for minutes. */
TEST(sections_that_no_ldconfig_writes_are_not_kept)
{
	static const struct {
		const char *says;
		struct section sections[2];
		uint32_t count;
		bool kept;
	} rows[] = {
		{ "one list of names is kept, and its names are moved", { { 1, 16 + 8 + 16, 4 } }, 1, true },
		{ "and what else there is", { { 1, 16 + 8 + 32, 4 }, { 0, 0, 4 } }, 2, true },
		{ "two lists", { { 1, 16 + 8 + 32, 4 }, { 1, 16 + 8 + 32, 4 } }, 2, false },
		{ "a list over the sections themselves", { { 1, 16 + 8, 16 } }, 1, false },
		{ "one that ends in them", { { 1, 0, 16 + 4 } }, 1, false },
		{ "one that is longer than the cache", { { 1, 16 + 8 + 16, 8 } }, 1, false },
		{ "one that begins before the texts", { { 1, (uint32_t)-4, 4 } }, 1, false },
	};
	struct fl_ld_entry add = { .flags = FL_LD_FLAGS, .key = FL_S("libb"), .value = FL_S("/b") };

	EACH_ROW (row, rows) {
		FL_AUTO(fl_buf) struct fl_buf old = FL_BUF(4096), new = FL_BUF(4096);
		struct fl_err err = { 0 };
		struct fl_ld_cache cache;
		uint64_t at;

		put_extended(&old, row->sections, row->count);
		OK(fl_buf_check(&old, "a cache", NULL));
		CHECK(fl_ld_cache_open(&cache, old.p, old.len));
		OK_ERR(fl_ld_cache_merge(&cache, &add, 1, &new, &err), &err);
		CHECK_STR(content(new.p, new.len), "libb=/b liba=/a ");
		at = fl_bytes_get((const uint8_t *)new.p + 32, 4);
		CHECK_INT(at, row->kept ? 72 + 24 + 16 : 0);
		if (row->kept)
			CHECK_INT(fl_bytes_get((const uint8_t *)new.p + at + 8 + (size_t)row->count * 16, 4),
				  72 + 24 + 8);
	}
}

TEST(entries_longer_than_a_name_or_a_path_are_left_out)
{
	static const struct {
		const char *says;
		int key, value;
		bool kept;
	} rows[] = {
		{ "the longest name", 255, 10, true },
		{ "a longer one", 256, 10, false },
		{ "the longest path", 10, 4095, true },
		{ "a longer one", 10, 4096, false },
	};

	EACH_ROW (row, rows) {
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(16384);
		static char lines[8192];
		struct fl_ld_cache cache;
		struct fl_ld_entry entry;

		(void)snprintf(lines, sizeof lines, "%0*d %0*d\nliba /a\n", row->key, 0, row->value, 0);
		put_new(&buf, lines);
		OK(fl_buf_check(&buf, "a cache", NULL));
		CHECK(fl_ld_cache_open(&cache, buf.p, buf.len));
		CHECK(fl_ld_cache_next(&cache, &entry));
		CHECK_INT(entry.key.len, row->kept ? row->key : 4);
	}
}

/* ---- libraries ---- */

static int soname(struct fl_io *io, const char *path, char *ret, int *ret_note)
{
	const struct fl_fs *fs = fl_io_fs(io);
	int fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), r;
	char note[FL_ELF_NOTE_MAX];
	struct fl_elf elf;

	if (fd < 0)
		return fd;
	r = fl_elf_open(&elf, fs, fd);
	if (r == 0)
		r = fl_elf_soname(&elf, ret);
	if (r >= 0)
		*ret_note = fl_elf_note(&elf, ".note.gnu.build-id", "GNU", note);
	fs->close(fs, fd);
	return r;
}

static const char *libc_path(void)
{
	Dl_info info = { 0 };

	/* A call that no sanitizer has one of its own for. */
	return dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info) ? info.dli_fname : "";
}

TEST(a_library_says_its_soname_and_its_notes)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	char name[FL_ELF_SONAME_MAX] = "";
	int note = 0;

	GOT(io);
	OK(soname(io, libc_path(), name, &note));
	CHECK_STR(fl_str(name), "libc.so.6");
	OK(note);
	CHECK_INT(note, 20);
}

TEST(what_is_no_library_of_this_machine_is_refused)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	char name[FL_ELF_SONAME_MAX], text[100] = "";
	int note, r;

	GOT(io);
	(void)test_write_file(test_path(dir, "text"), "no library");
	r = soname(io, test_path(dir, "text"), name, &note);
	if (!test_tortured())
		CHECK_INT(r, -ENOEXEC);
	memset(text, 'x', sizeof text - 1);
	memcpy(text, "\177ELF\1\1", 6);   /* a library for 32 bits */
	(void)test_write_file(test_path(dir, "small"), text);
	r = soname(io, test_path(dir, "small"), name, &note);
	if (!test_tortured())
		CHECK_INT(r, -ENOEXEC);
	r = soname(io, "/dev/zero", name, &note);
	if (!test_tortured())
		CHECK_INT(r, -ENOEXEC);
}

/* Every library that ends early, and every one of whose first bytes one is another: nothing but "no library", "no
 * soname" or a name may come of it. Hundreds of files: no torture. */
TEST_ONCE(a_damaged_library_is_safe_to_read)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const struct fl_fs *fs = fl_io_fs(io);
	const char *path = test_path(test_dir(), "lib");
	static uint8_t bytes[1 << 22];
	int from = fs->open(fs, AT_FDCWD, libc_path(), O_RDONLY | O_CLOEXEC, 0);
	int fd = fs->open(fs, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int64_t len = fl_fs_read_all(fs, from, bytes, sizeof bytes);

	fs->close(fs, from);
	CHECK(len > 4096 && fl_fs_write_all(fs, fd, bytes, (size_t)len) == 0);
	for (int i = 0; i < 2000; i++) {
		uint8_t was = bytes[i % 1024], other = (uint8_t)test_random();
		char name[FL_ELF_SONAME_MAX];
		int note;

		CHECK(fs->pwrite(fs, fd, &other, 1, (uint64_t)i % 1024) == 1);
		if (i % 3 == 0)
			CHECK(fs->truncate(fs, fd, (uint64_t)(test_random() % (uint64_t)len)) == 0);
		(void)soname(io, path, name, &note);
		CHECK(fs->pwrite(fs, fd, &was, 1, (uint64_t)i % 1024) == 1);
		if (i % 3 == 0)
			CHECK(fs->pwrite(fs, fd, bytes, (size_t)len, 0) == len);
	}
	fs->close(fs, fd);
}
