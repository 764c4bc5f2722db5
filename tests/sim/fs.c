/* Paths, and the table of blocking calls: each is one primitive, before which the power may go. */
#include "sim/sim_in.h"
#include "base/units.h"
#include <errno.h>
#include <linux/fs.h>

#define PROCESS(fs_) fl_container(fs_, struct sim_process, fs)
enum { LINKS_MAX = 40, TARGET_MAX = 4096 };

/* Asked first by every primitive: 0, or why it fails. */
int sim_fs_begin(const struct fl_fs *fs)
{
	struct sim_process *p = PROCESS(fs);
	struct sim_host *host = p->host;

	host->disk.calls++;
	if (host->faults.cut_after && --host->faults.cut_after == 0) {
		sim_tell(host, "power goes before call %llu of the disk", (unsigned long long)host->disk.calls);
		host->cut_now = true;
		sim_set(host->world, &host->power_off, host->world->now);
	}
	return sim_refuses(p) ? -EIO : 0;
}

static int64_t told(const struct fl_fs *fs, const char *what, const char *path, int64_t r)
{
	struct sim_process *p = PROCESS(fs);

	sim_tell(p->host, "process %d %s %s: %lld", p->pid, what, path, (long long)r);
	return r;
}

/* ---- paths ---- */

struct walk {
	struct sim_host *host;
	struct sim_inode *root, *dir, *found;   /* found NULL: there is no such name in dir */
	char last[FL_NAME_MAX + 1];
	uint64_t resolve;
	unsigned links;
	bool follow;                            /* a symlink at the end of the path */
	bool slash;                             /* the path ends with one: must be a directory */
};

static int walk(struct walk *w, const char *path);

static int follow(struct walk *w, struct sim_inode *link)
{
	char target[TARGET_MAX];

	if (w->resolve & RESOLVE_NO_SYMLINKS)
		return -ELOOP;
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (link->size >= sizeof target)
		return -ENAMETOOLONG;
	memcpy(target, link->data, link->size);
	target[link->size] = 0;
	return walk(w, target);
}

static int up(struct walk *w)
{
	if (w->dir == w->root) {
		if (w->resolve & RESOLVE_BENEATH)
			return -EXDEV;
	} else {
		w->dir = w->dir->parent;
	}
	w->found = w->dir;
	w->last[0] = 0;
	return 0;
}

/* One name; `more`: others follow it. */
static int step(struct walk *w, const char *name, size_t len, bool more)
{
	if (!S_ISDIR(w->dir->mode))
		return -ENOTDIR;
	if (len > FL_NAME_MAX)
		return -ENAMETOOLONG;
	if (len == 2 && name[0] == '.' && name[1] == '.')
		return up(w);
	if (len == 1 && name[0] == '.') {
		w->found = w->dir;
		w->last[0] = 0;
		return 0;
	}
	memcpy(w->last, name, len);
	w->last[len] = 0;
	w->found = sim_dir_get(w->dir, name, len);
	if (w->found && S_ISLNK(w->found->mode) && (more || w->follow || w->slash)) {
		const struct sim_inode *link = w->found;
		bool last = w->follow;
		int r;

		w->slash |= !more && link->size > 1 && link->data[link->size - 1] == '/';
		w->follow |= more;
		r = follow(w, w->found);
		w->follow = last;
		if (r < 0)
			return r;
	}
	if (more && !w->found)
		return -ENOENT;
	if (more && !S_ISDIR(w->found->mode))
		return -ENOTDIR;
	if (more)
		w->dir = w->found;
	return 0;
}

static int walk(struct walk *w, const char *path)
{
	int r = 0;

	if (!*path)
		return -ENOENT;
	if (*path == '/') {
		if (w->resolve & RESOLVE_BENEATH)
			return -EXDEV;
		w->dir = w->found = w->root;
		w->last[0] = 0;
	}
	while (r == 0) {
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (!len)
			return 0;
		r = step(w, path, len, path[len + strspn(path + len, "/")] != 0);
		path += len;
	}
	return r;
}

static int look(struct sim_process *p, int dir, const char *path, uint64_t resolve, bool follow_last, struct walk *ret)
{
	struct sim_file *file = dir == AT_FDCWD ? NULL : sim_fd_get(p, dir);
	size_t len = strlen(path);
	int r;

	if (dir != AT_FDCWD && (!file || file->kind != SIM_INODE))
		return *path == '/' ? look(p, AT_FDCWD, path, resolve, follow_last, ret) : -EBADF;
	*ret = (struct walk){ .host = p->host, .root = p->host->disk.root, .resolve = resolve, .follow = follow_last,
			      .slash = len > 1 && path[len - 1] == '/' };
	ret->dir = file ? file->inode : ret->root;
	if (resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT))
		ret->root = ret->dir;
	if (!S_ISDIR(ret->dir->mode))
		return -ENOTDIR;
	r = walk(ret, path);
	if (r == 0 && ret->slash && ret->found && !S_ISDIR(ret->found->mode))
		return -ENOTDIR;
	return r;
}

int sim_path(struct sim_process *p, const char *path, struct sim_inode **ret_dir, char last[FL_NAME_MAX + 1],
	     struct sim_inode **ret)
{
	struct walk w;
	int r = look(p, AT_FDCWD, path, 0, true, &w);

	if (r < 0)
		return r;
	*ret_dir = w.dir;
	*ret = w.found;
	memcpy(last, w.last, sizeof w.last);
	return 0;
}

/* ---- opening ---- */

static void change_name(struct sim_host *host, struct sim_inode *dir, const char *name, struct sim_inode *old,
			struct sim_inode *new)
{
	char copy[FL_NAME_MAX + 1];

	memcpy(copy, name, strlen(name) + 1);
	sim_dir_change(host, &(struct sim_change){ .count = 1, .part = { { dir, old, new, copy } } });
}

static int writable(const struct sim_host *host)
{
	return host->faults.read_only ? -EROFS : 0;
}

static int make(struct sim_host *host, struct walk *w, uint32_t mode, struct sim_inode **ret)
{
	uint64_t size = host->faults.disk_bytes ? host->faults.disk_bytes : 64 * FL_MIB;
	int r = writable(host);

	if (r < 0)
		return r;
	if (w->slash && !S_ISDIR(mode))
		return -EISDIR;
	if (host->disk.used >= size)
		return -ENOSPC;
	*ret = sim_inode_new(host, mode);
	change_name(host, w->dir, w->last, NULL, *ret);
	sim_inode_drop(*ret);   /* its name holds it */
	return 0;
}

static int open_found(struct sim_process *p, struct walk *w, int flags, unsigned mode)
{
	struct sim_inode *inode = w->found;
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	struct sim_file *file;
	int r = 0;

	if (!inode) {
		r = flags & O_CREAT ? make(p->host, w, S_IFREG | (mode & 07777), &inode) : -ENOENT;
	} else if ((flags & O_CREAT) && (flags & O_EXCL)) {
		r = -EEXIST;
	} else if (S_ISLNK(inode->mode)) {
		r = flags & O_PATH ? 0 : -ELOOP;
	} else if ((flags & O_DIRECTORY) && !S_ISDIR(inode->mode)) {
		r = -ENOTDIR;
	} else if (S_ISDIR(inode->mode) && (writes || (flags & O_CREAT))) {
		r = -EISDIR;
	} else if (S_ISSOCK(inode->mode)) {
		r = flags & O_PATH ? 0 : -ENXIO;
	} else if (writes) {
		r = writable(p->host);
	}
	if (r == 0 && (flags & O_TRUNC) && writes && inode->size)
		r = sim_inode_resize(inode, 0);
	if (r < 0)
		return r;
	file = sim_file_new(p->host, SIM_INODE);
	file->inode = inode;
	file->flags = flags;
	sim_inode_ref(inode);
	if (writes && w->last[0]) {   /* whoever watches the directory hears of the close */
		file->dir = w->dir;
		sim_inode_ref(w->dir);
		file->name = memcpy(sim_get(strlen(w->last) + 1), w->last, strlen(w->last) + 1);
	}
	return sim_fd_add(p, file, 3);
}

static int fs_open_in(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode, uint64_t resolve)
{
	struct sim_process *p = PROCESS(fs);
	bool last = !(flags & O_NOFOLLOW) && !((flags & O_CREAT) && (flags & O_EXCL));
	size_t len = strlen(path);
	char parent[TARGET_MAX];
	struct walk w = { 0 };
	int r = sim_fs_begin(fs);

	/* What is to be made and ends with a slash is refused before anybody looks whether it is there. */
	if (r == 0 && (flags & O_CREAT) && len > 1 && path[len - 1] == '/' && len < sizeof parent) {
		memcpy(parent, path, len);
		parent[len - 1] = 0;
		r = look(p, dir, parent, resolve, false, &w);
		r = r < 0 ? r : -EISDIR;
	}
	r = r < 0 ? r : look(p, dir, path, resolve, last, &w);
	if (r == -ENOTDIR && (flags & O_CREAT) && w.slash)   /* the slash is a symlink's */
		r = -EISDIR;
	if (r == 0)
		r = open_found(p, &w, flags, mode);
	return (int)told(fs, flags & O_CREAT ? "open/create" : "open", path, r);
}

static int fs_open(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode)
{
	return fs_open_in(fs, dir, path, flags, mode, 0);
}

static void fs_close(const struct fl_fs *fs, int number)
{
	struct sim_process *p = PROCESS(fs);
	struct sim_file *file = sim_fd_get(p, number);

	/* Not a primitive: it changes nothing on the disk, and the end of a process does the same. */
	if (p->dead || !file)
		return;
	if (file->wrote && file->dir)
		sim_dir_told(file->dir, file->name);
	sim_fd_close(p, number);
}

/* ---- content ---- */

static int content_of(const struct fl_fs *fs, int number, struct sim_file **ret)
{
	struct sim_file *file;
	int r = sim_fs_begin(fs);

	if (r < 0)
		return r;
	file = sim_fd_get(PROCESS(fs), number);
	if (!file || file->kind != SIM_INODE)
		return -EBADF;
	*ret = file;
	return 0;
}

static int64_t fs_pread(const struct fl_fs *fs, int number, void *bytes, size_t len, uint64_t at)
{
	struct sim_file *file;
	struct sim_inode *inode;
	int r = content_of(fs, number, &file);

	if (r < 0)
		return told(fs, "read", "", r);
	inode = file->inode;
	if ((file->flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	if (S_ISDIR(inode->mode))
		return -EISDIR;
	if (sim_happens(file->host->world, file->host->faults.eio_read))
		return told(fs, "read", "", -EIO);
	if (at >= inode->size)
		return 0;
	if (len > inode->size - at)
		len = (size_t)(inode->size - at);
	if (len > 1 && sim_happens(file->host->world, file->host->world->config.short_io))
		len = 1 + (size_t)sim_below(file->host->world, len - 1);
	if (len)
		memcpy(bytes, inode->data + at, len);
	return told(fs, "read", "", (int64_t)len);
}

static int64_t fs_read(const struct fl_fs *fs, int number, void *bytes, size_t len)
{
	struct sim_file *file = sim_fd_get(PROCESS(fs), number);
	int64_t n = fs_pread(fs, number, bytes, len, file ? file->at : 0);

	if (file && n > 0)
		file->at += (uint64_t)n;
	return n;
}

static int64_t fs_pwrite(const struct fl_fs *fs, int number, const void *bytes, size_t len, uint64_t at)
{
	struct sim_file *file;
	struct sim_world *w;
	int64_t r = content_of(fs, number, &file);

	if (r < 0)
		return told(fs, "write", "", r);
	w = file->host->world;
	if ((file->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (sim_happens(w, file->host->faults.eio_write))
		return told(fs, "write", "", -EIO);
	if (len > 1 && sim_happens(w, w->config.short_io))
		len = 1 + (size_t)sim_below(w, len - 1);
	r = writable(file->host);
	if (r == 0 && len)
		r = sim_inode_write(file->inode, bytes, len, file->flags & O_APPEND ? file->inode->size : at);
	file->wrote |= r > 0;
	return told(fs, "write", "", r);
}

static int64_t fs_write(const struct fl_fs *fs, int number, const void *bytes, size_t len)
{
	struct sim_file *file = sim_fd_get(PROCESS(fs), number);
	int64_t n = fs_pwrite(fs, number, bytes, len, file ? file->at : 0);

	if (file && n > 0)
		file->at = file->flags & O_APPEND ? file->inode->size : file->at + (uint64_t)n;
	return n;
}

static int fs_fsync(const struct fl_fs *fs, int number)
{
	struct sim_file *file;
	int r = content_of(fs, number, &file);

	if (r < 0)
		return (int)told(fs, "sync", "", r);
	if (sim_happens(file->host->world, file->host->faults.eio_sync))
		r = -EIO;
	sim_inode_sync(file->inode, r < 0);
	return (int)told(fs, S_ISDIR(file->inode->mode) ? "sync of names" : "sync", "", r);
}

static int fs_truncate(const struct fl_fs *fs, int number, uint64_t size)
{
	struct sim_file *file;
	int r = content_of(fs, number, &file);

	r = r < 0 ? r : writable(file->host);
	if (r == 0)
		r = sim_inode_resize(file->inode, size);
	return (int)told(fs, "truncate", "", r);
}

static int fs_chmod(const struct fl_fs *fs, int number, unsigned mode)
{
	struct sim_file *file;
	int r = content_of(fs, number, &file);

	r = r < 0 ? r : writable(file->host);
	if (r == 0)
		file->inode->mode = (file->inode->mode & S_IFMT) | (mode & 07777);
	return r;
}

static int64_t fs_mount_flags(const struct fl_fs *fs, int number)
{
	struct sim_file *file;
	int r = content_of(fs, number, &file);

	return r;
}

/* A simulated host has no mounts. */
static int fs_cover(const struct fl_fs *fs, int dir, const char *name, const void *bytes, size_t len)
{
	(void)fs;
	(void)dir;
	(void)name;
	(void)bytes;
	(void)len;
	return -EPERM;
}

static int fs_stat(const struct fl_fs *fs, int dir, const char *path, int flags, struct fl_stat *ret)
{
	struct sim_process *p = PROCESS(fs);
	const struct sim_inode *inode;
	struct sim_file *file;
	struct walk w = { 0 };
	int r = sim_fs_begin(fs);

	if (r == 0 && (flags & AT_EMPTY_PATH) && !*path) {
		file = sim_fd_get(p, dir);
		w.found = file && file->kind == SIM_INODE ? file->inode : NULL;
	} else if (r == 0) {
		r = look(p, dir, path, 0, !(flags & AT_SYMLINK_NOFOLLOW), &w);
	}
	if (r == 0 && !w.found)
		r = -ENOENT;
	if (r < 0)
		return r;
	inode = w.found;
	*ret = (struct fl_stat){ .mode = inode->mode, .uid = inode->uid, .gid = inode->gid, .links = inode->names,
				 .size = inode->size, .ino = inode->ino, .dev = 1, .rdev = inode->rdev,
				 .mtime = inode->mtime, .ctime = inode->ctime };
	return 0;
}

/* ---- names ---- */

static bool is_within(const struct sim_inode *dir, const struct sim_inode *of)
{
	for (; dir != dir->parent; dir = dir->parent)
		if (dir == of)
			return true;
	return false;
}

/* The name itself, whatever it is, and whether a slash follows it: what comes of that is the caller's. */
static int look_name(struct sim_process *p, int dir, const char *path, struct walk *w)
{
	size_t len = strlen(path);
	bool slash = len > 1 && path[len - 1] == '/';
	char without[TARGET_MAX];
	int r;

	if (slash && len < sizeof without) {
		memcpy(without, path, len);
		without[len - 1] = 0;
		path = without;
	}
	r = look(p, dir, path, 0, false, w);
	w->slash = slash;
	return r;
}

/* In the order in which Linux looks. */
static int may_rename(const struct walk *from, const struct walk *to, unsigned flags)
{
	bool exchange = flags & RENAME_EXCHANGE, from_dir, to_dir;

	if (!from->last[0])
		return -EBUSY;
	if (!to->last[0])
		return flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY;
	if (!from->found)
		return -ENOENT;
	if (to->found && (flags & RENAME_NOREPLACE))
		return -EEXIST;
	if (exchange && !to->found)
		return -ENOENT;
	from_dir = S_ISDIR(from->found->mode);
	to_dir = to->found && S_ISDIR(to->found->mode);
	if ((exchange && to->slash && !to_dir) || (!from_dir && (from->slash || (!exchange && to->slash))))
		return -ENOTDIR;
	if (from_dir && (to->dir == from->found || is_within(to->dir, from->found)))
		return -EINVAL;
	if (to_dir && (from->dir == to->found || is_within(from->dir, to->found)))
		return exchange ? -EINVAL : -ENOTEMPTY;
	if (!to->found || exchange || to->found == from->found)
		return 0;
	if (to_dir != from_dir)
		return to_dir ? -EISDIR : -ENOTDIR;
	return to->found->entries.len ? -ENOTEMPTY : 0;
}

static int fs_rename(const struct fl_fs *fs, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	struct sim_process *p = PROCESS(fs);
	struct sim_change change = { .count = 2 };
	struct walk a, b;
	int r = sim_fs_begin(fs);

	r = r < 0 ? r : look_name(p, from_dir, from, &a);
	r = r < 0 ? r : look_name(p, to_dir, to, &b);
	r = r < 0 ? r : may_rename(&a, &b, flags);
	r = r < 0 ? r : writable(p->host);
	if (r == 0 && a.found != b.found) {
		change.part[0] = (struct sim_part){ a.dir, a.found, flags & RENAME_EXCHANGE ? b.found : NULL, a.last };
		change.part[1] = (struct sim_part){ b.dir, b.found, a.found, b.last };
		sim_dir_change(p->host, &change);
	}
	return (int)told(fs, "rename to", to, r);
}

/* Where something new is to be: a slash at the end is for directories. */
static int look_new(struct sim_process *p, int dir, const char *path, bool is_dir, struct walk *w)
{
	int r = look_name(p, dir, path, w);

	if (r == 0 && w->found)
		r = -EEXIST;
	return r == 0 && w->slash && !is_dir ? -ENOENT : r;
}

static int fs_link(const struct fl_fs *fs, int from_dir, const char *from, int to_dir, const char *to)
{
	struct sim_process *p = PROCESS(fs);
	struct walk a, b;
	int r = sim_fs_begin(fs);

	r = r < 0 ? r : look(p, from_dir, from, 0, false, &a);
	if (r == 0 && !a.found)
		r = -ENOENT;
	r = r < 0 ? r : look_new(p, to_dir, to, false, &b);
	r = r < 0 ? r : writable(p->host);
	if (r == 0 && S_ISDIR(a.found->mode))
		r = -EPERM;
	if (r == 0)
		change_name(p->host, b.dir, b.last, NULL, a.found);
	return (int)told(fs, "link to", to, r);
}

static int may_unlink(const struct walk *w, const char *path, bool is_rmdir)
{
	size_t len = strlen(path);

	if (!w->last[0])
		return !is_rmdir ? -EISDIR :
		       len > 1 && path[len - 2] == '.' && path[len - 1] == '.' ? -ENOTEMPTY : -EINVAL;
	if (!w->found)
		return -ENOENT;
	if (!S_ISDIR(w->found->mode))
		return is_rmdir || w->slash ? -ENOTDIR : 0;
	return !is_rmdir ? -EISDIR : w->found->entries.len ? -ENOTEMPTY : 0;
}

static int fs_unlink(const struct fl_fs *fs, int dir, const char *path, int flags)
{
	struct sim_process *p = PROCESS(fs);
	struct walk w;
	int r = sim_fs_begin(fs);

	r = r < 0 ? r : look_name(p, dir, path, &w);
	r = r < 0 ? r : may_unlink(&w, path, flags & AT_REMOVEDIR);
	r = r < 0 ? r : writable(p->host);
	if (r == 0)
		change_name(p->host, w.dir, w.last, w.found, NULL);
	return (int)told(fs, "unlink", path, r);
}

static int make_new(const struct fl_fs *fs, int dir, const char *path, uint32_t mode, struct walk *w,
		    struct sim_inode **ret)
{
	struct sim_process *p = PROCESS(fs);
	int r = sim_fs_begin(fs);

	r = r < 0 ? r : look_new(p, dir, path, S_ISDIR(mode), w);
	return r < 0 ? r : make(p->host, w, mode, ret);
}

static int fs_mkdir(const struct fl_fs *fs, int dir, const char *path, unsigned mode)
{
	struct sim_inode *inode;
	struct walk w;
	int r = make_new(fs, dir, path, S_IFDIR | (mode & 07777), &w, &inode);

	if (r == 0)
		inode->parent = w.dir;
	return (int)told(fs, "mkdir", path, r);
}

static int fs_symlink(const struct fl_fs *fs, const char *target, int dir, const char *path)
{
	struct sim_inode *inode;
	struct walk w;
	int r = *target ? make_new(fs, dir, path, S_IFLNK | 0777, &w, &inode) : -ENOENT;

	if (r == 0) {
		/* The target comes and goes with the name. */
		inode->size = inode->cap = strlen(target);
		inode->data = memcpy(sim_get(inode->size), target, inode->size);
		inode->host->disk.used += inode->size;
	}
	return (int)told(fs, "symlink", path, r);
}

static int fs_mknod(const struct fl_fs *fs, int dir, const char *path, unsigned mode, uint64_t rdev)
{
	struct sim_inode *inode;
	struct walk w;
	int r = make_new(fs, dir, path, S_IFCHR | (mode & 07777), &w, &inode);

	if (r == 0)
		inode->rdev = rdev;
	return (int)told(fs, "mknod", path, r);
}

static int64_t fs_readlink(const struct fl_fs *fs, int dir, const char *path, char *buf, size_t len)
{
	struct walk w;
	int r = sim_fs_begin(fs);

	r = r < 0 ? r : look(PROCESS(fs), dir, path, 0, false, &w);
	if (r == 0)
		r = !w.found ? -ENOENT : !S_ISLNK(w.found->mode) ? -EINVAL : 0;
	if (r < 0)
		return r;
	len = len < w.found->size ? len : (size_t)w.found->size;
	if (len)
		memcpy(buf, w.found->data, len);
	return (int64_t)len;
}

static int64_t fs_list(const struct fl_fs *fs, int number, char *buf, size_t len)
{
	struct sim_file *file;
	const struct sim_inode *dir;
	int r = content_of(fs, number, &file);
	bool found = false;
	size_t used = 0;
	uint32_t i;

	if (r < 0)
		return r;
	dir = file->inode;
	if (!S_ISDIR(dir->mode))
		return -ENOTDIR;
	i = file->list_after ? sim_dir_place(dir, file->list_after, strlen(file->list_after), &found) : 0;
	for (i += found; i < dir->entries.len; i++) {
		const char *name = dir->entries.at[i].name;
		size_t size = strlen(name) + 1;

		if (len - used < 1 + size)
			break;
		buf[used] = (char)(dir->entries.at[i].inode->mode >> 12);   /* a DT_* is that */
		memcpy(buf + used + 1, name, size);
		used += 1 + size;
	}
	if (used) {
		const char *last = dir->entries.at[i - 1].name;

		sim_put(file->list_after);
		file->list_after = memcpy(sim_get(strlen(last) + 1), last, strlen(last) + 1);
	}
	return (int64_t)used;
}

void sim_fs_init(struct sim_process *p)
{
	p->fs = (struct fl_fs){
		.open = fs_open, .open_in = fs_open_in, .close = fs_close, .read = fs_read, .write = fs_write,
		.pread = fs_pread, .pwrite = fs_pwrite, .fsync = fs_fsync, .fdatasync = fs_fsync,
		.truncate = fs_truncate, .chmod = fs_chmod, .mount_flags = fs_mount_flags, .cover = fs_cover,
		.stat = fs_stat, .rename = fs_rename, .link = fs_link,
		.unlink = fs_unlink, .mkdir = fs_mkdir, .symlink = fs_symlink, .mknod = fs_mknod,
		.readlink = fs_readlink,
		.list = fs_list, .lock = sim_fs_lock, .lookup = sim_fs_lookup, .notify_add = sim_fs_notify_add,
	};
}
