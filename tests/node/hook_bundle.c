#include "hook_bundle.h"
#include "test_io.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a bundle: DIR/bundle/config.json, DIR/bundle/rootfs, and DIR/outside beside it ---- */

char *hook_at(const char *dir, const char *path)
{
	static char paths[8][600];
	static unsigned next;
	char *ret = paths[next++ % FL_LEN(paths)];

	(void)snprintf(ret, sizeof paths[0], "%s/%s", dir, path);
	for (char *p = ret + strlen(dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdir(ret, 0755);
	}
	return ret;
}

void make_bundle(const char *dir, const char *root)
{
	char text[800];

	(void)snprintf(text, sizeof text, "{\"ociVersion\":\"1.2.0\",\"root\":{\"path\":\"%s\"}}", root);
	(void)test_write_file(hook_at(dir, "bundle/config.json"), text);
	(void)mkdir(hook_at(dir, "bundle/rootfs"), 0755);
	(void)mkdir(hook_at(dir, "outside"), 0755);
	(void)snprintf(text, sizeof text, "{\"ociVersion\":\"1.2.0\",\"id\":\"x\",\"bundle\":\"%s/bundle\"}", dir);
	(void)test_write_file(hook_at(dir, "state"), text);
}

/* "PATH" a file, "PATH > TARGET" a link, "PATH /" a folder, a line each; @ in a target is the folder of the test. */
void make_files(const char *dir, const char *lines)
{
	struct fl_str rest = fl_str(lines), line;

	while (fl_str_split(&rest, '\n', &line)) {
		char path[300], target[400], *how;

		if (!line.len)
			continue;
		(void)snprintf(path, sizeof path, "bundle/rootfs/%.*s", FL_ARG(line));
		how = strchr(path, ' ');
		if (how)
			*how++ = '\0';
		if (!how)
			(void)test_write_file(hook_at(dir, path), "image");
		else if (how[0] == '/')
			(void)mkdir(hook_at(dir, path), 0755);
		else if (how[2] == '@' && snprintf(target, sizeof target, "%s%s", dir, how + 3) > 0)
			(void)!symlink(target, hook_at(dir, path));
		else
			(void)!symlink(how + 2, hook_at(dir, path));
	}
}

char hook_warned[FL_ERR_TEXT];

static void warn(const char *text)
{
	(void)snprintf(hook_warned, sizeof hook_warned, "%s", text);
}

int run_hook_over(const struct fl_fs *fs, const char *dir, struct fl_hook hook, struct fl_err *err)
{
	int fd = fs->open(fs, AT_FDCWD, hook_at(dir, "state"), O_RDONLY | O_CLOEXEC, 0), r;

	hook_warned[0] = '\0';
	hook.warn = warn;
	if (fd < 0)
		return fl_fail_sys(err, -fd, "open the state");
	r = fl_hook_run(fs, fd, &hook, err);
	fs->close(fs, fd);
	return r;
}

int run_hook(struct fl_io *io, const char *dir, struct fl_hook hook, struct fl_err *err)
{
	return run_hook_over(fl_io_fs(io), dir, hook, err);
}

int hook(struct fl_io *io, const char *dir, const char *link, const char *folder, struct fl_err *err)
{
	struct fl_str links[] = { fl_str(link) }, folders[] = { fl_str(folder) };

	return run_hook(io, dir, (struct fl_hook){ { links, link[0] != '\0', 1 }, { folders, folder[0] != '\0', 1 } },
			err);
}

/* What a path of the container's is: "> target", "file", "folder", "nothing". */
const char *what_is(const char *dir, const char *path)
{
	static char text[400];
	const char *full = hook_at(dir, path);
	struct stat stat;
	ssize_t n = readlink(full, text + 2, sizeof text - 3);

	if (n >= 0) {
		memcpy(text, "> ", 2);
		text[n + 2] = '\0';
		return text;
	}
	return lstat(full, &stat) < 0 ? "nothing" : S_ISDIR(stat.st_mode) ? "folder" : "file";
}

bool is_empty(const char *dir, const char *path)
{
	return rmdir(hook_at(dir, path)) == 0 && mkdir(hook_at(dir, path), 0755) == 0;
}
