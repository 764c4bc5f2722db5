/* Locks, name lookup, watched directories; and the disk from outside. */
#include "sim/sim_in.h"
#include <errno.h>

#define PROCESS(fs_) fl_container(fs_, struct sim_process, fs)

/* ---- flock ---- */

void sim_unlock(struct sim_file *file)
{
	if (file->lock == LOCK_EX)
		file->inode->exclusive = NULL;
	else if (file->lock == LOCK_SH)
		file->inode->shared--;
	file->lock = 0;
}

int sim_fs_lock(const struct fl_fs *fs, int number, int how)
{
	struct sim_file *file = sim_fd_get(PROCESS(fs), number);
	int r = sim_fs_begin(fs);
	unsigned others;

	if (r < 0)
		return r;
	if (!file || file->kind != SIM_INODE)
		return -EBADF;
	how &= ~LOCK_NB;
	others = file->inode->shared - (file->lock == LOCK_SH);
	if (how != LOCK_UN && ((file->inode->exclusive && file->inode->exclusive != file) ||
			       (how == LOCK_EX && others)))
		return -EWOULDBLOCK;
	sim_unlock(file);
	if (how == LOCK_EX)
		file->inode->exclusive = file;
	else if (how == LOCK_SH)
		file->inode->shared++;
	file->lock = how == LOCK_UN ? 0 : (unsigned)how;
	return 0;
}

/* ---- names of hosts ---- */

int sim_fs_lookup(const struct fl_fs *fs, const char *host, struct fl_addr *ret, unsigned max)
{
	struct sim_process *p = PROCESS(fs);
	struct sim_host *found;

	if (sim_refuses(p) || p->host->faults.no_names)
		return -EAGAIN;
	if (fl_addr_parse_ip(ret, fl_str(host), 0, NULL) == 0)
		return max > 0;
	if (strcmp(host, "localhost") == 0) {
		*ret = (struct fl_addr){ .kind = FL_ADDR_IP4, .ip = { 127, 0, 0, 1 } };
		return 1;
	}
	found = sim_host_named(p->host->world, host);
	if (!found)
		return -ENOENT;
	*ret = sim_addr(found, 0);
	return max > 0;
}

/* ---- watched directories ---- */

int sim_fs_notify_add(const struct fl_fs *fs, int notify_fd, const char *path)
{
	struct sim_process *p = PROCESS(fs);
	struct sim_file *file = sim_fd_get(p, notify_fd);
	struct sim_inode *dir, *inode;
	char last[FL_NAME_MAX + 1];
	struct sim_notify *n;
	int r = sim_fs_begin(fs);

	if (r < 0)
		return r;
	if (!file || file->kind != SIM_NOTIFY)
		return -EBADF;
	r = sim_path(p, path, &dir, last, &inode);
	if (r < 0 || !inode)
		return r < 0 ? r : -ENOENT;
	if (!S_ISDIR(inode->mode))
		return -ENOTDIR;
	n = file->notify;
	for (uint32_t i = 0; i < inode->watches.len; i++)
		if (inode->watches.at[i].notify == n)
			return inode->watches.at[i].number;
	sim_push(&n->dirs, inode);
	sim_push(&inode->watches, ((struct sim_watch){ n, (int)n->dirs.len }));
	return (int)n->dirs.len;
}

void sim_notify_drop_watch(struct sim_notify *n, int watch)
{
	struct sim_inode *dir = watch > 0 && (uint32_t)watch <= n->dirs.len ? n->dirs.at[watch - 1] : NULL;

	for (uint32_t i = 0; dir && i < dir->watches.len; i++) {
		if (dir->watches.at[i].notify != n)
			continue;
		dir->watches.at[i] = dir->watches.at[--dir->watches.len];
		n->dirs.at[watch - 1] = NULL;
	}
}

void sim_notify_close(struct sim_notify *n)
{
	for (uint32_t i = 0; i < n->dirs.len; i++)
		sim_notify_drop_watch(n, (int)i + 1);
	sim_put(n->dirs.at);
	sim_put(n->queue.at);
	sim_put(n);
}

int sim_notify_next(struct sim_notify *n, struct fl_change *ret)
{
	if (n->taken < n->queue.len) {
		*ret = n->queue.at[n->taken++];
		return 1;
	}
	n->queue.len = n->taken = 0;
	if (!n->lost)
		return -EAGAIN;
	n->lost = false;
	*ret = (struct fl_change){ .watch = -1 };
	return 1;
}

/* ---- the disk from outside ---- */

int sim_file_get(struct sim_host *host, const char *path, struct fl_buf *into)
{
	struct sim_process outside = { .host = host };
	struct sim_inode *dir, *inode;
	char last[FL_NAME_MAX + 1];
	int r = sim_path(&outside, path, &dir, last, &inode);

	if (r < 0)
		return r;
	if (!inode)
		return -ENOENT;
	if (!S_ISREG(inode->mode))
		return -EISDIR;
	fl_buf_put(into, inode->data, inode->size);
	return into->failed ? -ENOMEM : 0;
}

static struct sim_inode *add(struct sim_host *host, struct sim_inode *dir, const char *name, uint32_t mode)
{
	struct sim_inode *inode = sim_inode_new(host, mode), *old = sim_dir_get(dir, name, strlen(name));
	struct sim_change change = { .count = 1 };
	char copy[FL_NAME_MAX + 1] = { 0 };

	memcpy(copy, name, strlen(name));
	change.part[0] = (struct sim_part){ dir, old, inode, copy };
	sim_dir_change(host, &change);
	sim_inode_drop(inode);
	return inode;
}

int sim_file_put(struct sim_host *host, const char *path, const void *bytes, size_t len)
{
	struct sim_inode *dir = host->disk.root;
	char name[FL_NAME_MAX + 1];
	size_t size;

	path += strspn(path, "/");
	for (; path[size = strcspn(path, "/")] == '/'; path += size + strspn(path + size, "/")) {
		struct sim_inode *next = sim_dir_get(dir, path, size);

		if (size > FL_NAME_MAX || (next && !S_ISDIR(next->mode)))
			return -ENOTDIR;
		memcpy(name, path, size);
		name[size] = 0;
		dir = next ? next : add(host, dir, name, S_IFDIR | 0755);
	}
	if (*path) {
		struct sim_inode *file = add(host, dir, path, S_IFREG | 0600);

		if (len && sim_inode_write(file, bytes, len, 0) < 0)
			return -ENOSPC;
		sim_inode_sync(file, false);
	}
	sim_disk_sync_all(host);
	return 0;
}
