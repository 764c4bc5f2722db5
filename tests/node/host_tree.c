#include "host_tree.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static void make_folders(char *path, size_t from)
{
	for (char *p = path + from; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdir(path, 0755);
	}
}

static bool make_socket(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool ok = fd >= 0 && (size_t)snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path) < sizeof addr.sun_path &&
		  bind(fd, (struct sockaddr *)&addr, sizeof addr) == 0;

	if (fd >= 0)
		(void)close(fd);
	return ok;
}

static bool make_node(const char *path, const char *numbers)
{
	char *end;
	unsigned first = (unsigned)strtoul(numbers, &end, 10), second = (unsigned)strtoul(end + 1, NULL, 10);

	return mknod(path, S_IFCHR, makedev(first, second)) == 0 && chmod(path, 0666) == 0;
}

static bool make_bytes(const char *path, const uint8_t *bytes, size_t size)
{
	FILE *file = fopen(path, "we");
	bool ok = file && fwrite(bytes, 1, size, file) == size;

	return file && fclose(file) == 0 && ok;
}

static bool make_library(const char *path, int bits)
{
	uint8_t bytes[FAKE_ELF_MAX];
	char soname[64];

	fake_soname(strrchr(path, '/') + 1, soname);
	return make_bytes(path, bytes, fake_elf(bytes, soname, bits));
}

static bool make_cache(const char *path, char *words, uint32_t flags)
{
	uint8_t bytes[FAKE_ELF_MAX];
	char *value = strchr(words, ' ');

	if (!value)
		return false;
	*value++ = '\0';
	return make_bytes(path, bytes, fake_ld_cache(bytes, words, value, flags));
}

static bool make_one(const char *path, char *how)
{
	if (!how && (strstr(path, ".so.") || strstr(path, "_drv.so")))
		return make_library(path, 64);
	switch (how ? how[0] : 0) {
	case 0:
		return test_write_file(path, "x");
	case '3':
		return make_library(path, 32);
	case '*':
		return test_write_file(path, "x") && chmod(path, 0755) == 0;
	case '>':
		return symlink(how + 2, path) == 0;
	case '@':
		return make_socket(path);
	case '/':
		return mkdir(path, 0755) == 0;
	case '!':
		return test_write_file(path, how + 2);
	case '#':
		return make_cache(path, how + 2, FAKE_LD_FLAGS);
	case '$':
		return make_cache(path, how + 2, 0x3);
	default:
		return make_node(path, how + 2);
	}
}

bool host_tree_make(const char *dir, const char *lines)
{
	struct fl_str rest = fl_str(lines), line;
	bool ok = true;

	while (fl_str_split(&rest, '\n', &line)) {
		char text[400], path[700], *how;

		if (!line.len)
			continue;
		(void)snprintf(text, sizeof text, "%.*s", FL_ARG(line));
		how = strchr(text, ' ');
		if (how)
			*how++ = '\0';
		(void)snprintf(path, sizeof path, "%s%s", dir, text);
		make_folders(path, strlen(dir) + 1);
		ok &= make_one(path, how);
	}
	return ok;
}

void host_scan_print(const struct fl_host_scan *scan, struct fl_buf *out)
{
	fl_buf_clear(out);
	for (uint32_t i = 0; i < scan->file_count; i++) {
		const struct fl_host_file_found *file = &scan->files[i];

		fl_buf_printf(out, "%s %s", fl_name(&fl_host_file_names, file->what), file->path);
		if (file->at[0])
			fl_buf_printf(out, " at %s", file->at);
		for (uint32_t k = 0; k < file->link_count; k++)
			fl_buf_printf(out, " %s>%s", file->links[k].name, file->links[k].target);
		fl_buf_char(out, '\n');
	}
	for (uint32_t i = 0; i < scan->node_count; i++)
		fl_buf_printf(out, "%s %u:%u %o\n", scan->nodes[i].path, scan->nodes[i].major, scan->nodes[i].minor,
			      scan->nodes[i].mode);
	if (scan->message[0])
		fl_buf_printf(out, "! %s\n", scan->message);
}

void host_scan_set_up(struct fl_host_scan *scan, const char *root)
{
	(void)snprintf(scan->root, sizeof scan->root, "%s", root);
	(void)snprintf(scan->proc, sizeof scan->proc, "%s", test_path(root, "proc"));
	(void)snprintf(scan->sysfs, sizeof scan->sysfs, "%s", test_path(root, "sys"));
	(void)snprintf(scan->version, sizeof scan->version, "%s", V);
}
