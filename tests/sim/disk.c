/* Inodes, and what a crash leaves of them.
 *
 * What a process sees is in the inodes. What has not been synced is kept beside it: changed data by file, changed names
 * in one list a host. A crash takes all of that back, then lets the seed choose which of it had reached the disk: each
 * write may have, or not, or in part; names as a journalling file system does it (those before some moment) or as the
 * standard allows (any of them).
 */
#include "sim/sim_in.h"
#include "base/units.h"
#include <errno.h>

static const uint64_t sector = 512;   /* a write is torn between two of these, and now and then within one */

static void *copy(const void *bytes, size_t len)
{
	return len ? memcpy(sim_get(len), bytes, len) : NULL;
}

/* ---- inodes ---- */

struct sim_inode *sim_inode_new(struct sim_host *host, uint32_t mode)
{
	struct sim_inode *inode = sim_get(sizeof *inode);

	inode->host = host;
	inode->refs = 1;
	inode->mode = mode;
	inode->ino = ++host->disk.last_ino;
	inode->mtime = inode->ctime = sim_wall(host);
	return inode;
}

void sim_inode_ref(struct sim_inode *inode)
{
	inode->refs++;
}

static void forget_writes(struct sim_inode *inode)
{
	for (uint32_t i = 0; i < inode->writes.len; i++) {
		sim_put(inode->writes.at[i].bytes);
		sim_put(inode->writes.at[i].old);
	}
	inode->writes.len = 0;
}

void sim_inode_drop(struct sim_inode *inode)
{
	struct sim_disk *disk;

	if (!inode || --inode->refs)
		return;
	disk = &inode->host->disk;
	for (uint32_t i = 0; i < inode->entries.len; i++) {
		sim_put(inode->entries.at[i].name);
		sim_inode_drop(inode->entries.at[i].inode);
	}
	for (uint32_t i = 0; inode->dirty && i < disk->dirty.len; i++) {
		if (disk->dirty.at[i] == inode) {
			disk->dirty.at[i] = disk->dirty.at[--disk->dirty.len];
			break;
		}
	}
	for (uint32_t i = 0; i < inode->watches.len; i++)
		inode->watches.at[i].notify->dirs.at[inode->watches.at[i].number - 1] = NULL;
	disk->used -= inode->size;
	forget_writes(inode);
	sim_put(inode->writes.at);
	sim_put(inode->watches.at);
	sim_put(inode->entries.at);
	sim_put(inode->data);
	sim_put(inode);
}

/* ---- names ---- */

uint32_t sim_dir_place(const struct sim_inode *dir, const char *name, size_t len, bool *ret_found)
{
	uint32_t from = 0, to = dir->entries.len;

	while (from < to) {
		uint32_t middle = (from + to) / 2;
		const char *other = dir->entries.at[middle].name;
		int order = strncmp(other, name, len);

		if (order == 0 && other[len])
			order = 1;
		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	*ret_found = false;
	return from;
}

struct sim_inode *sim_dir_get(const struct sim_inode *dir, const char *name, size_t len)
{
	bool found;
	uint32_t i = sim_dir_place(dir, name, len, &found);

	return found ? dir->entries.at[i].inode : NULL;
}

static void dir_set(struct sim_inode *dir, const char *name, struct sim_inode *inode)
{
	bool found;
	uint32_t i = sim_dir_place(dir, name, strlen(name), &found);
	struct sim_inode *old = found ? dir->entries.at[i].inode : NULL;

	if (inode) {
		sim_inode_ref(inode);
		inode->names++;
		if (S_ISDIR(inode->mode))
			inode->parent = dir;
	}
	if (found && inode) {
		dir->entries.at[i].inode = inode;
	} else if (found) {
		sim_put(dir->entries.at[i].name);
		dir->entries.len--;
		memmove(dir->entries.at + i, dir->entries.at + i + 1, (dir->entries.len - i) * sizeof *dir->entries.at);
	} else if (inode) {
		struct sim_entry entry = { copy(name, strlen(name) + 1), inode };

		sim_push(&dir->entries, entry);
		memmove(dir->entries.at + i + 1, dir->entries.at + i,
			(dir->entries.len - 1 - i) * sizeof *dir->entries.at);
		dir->entries.at[i] = entry;
	}
	if (old && --old->names == 0)
		old->parent = old;
	sim_inode_drop(old);
}

void sim_dir_told(struct sim_inode *dir, const char *name)
{
	struct fl_change change;

	for (uint32_t i = 0; i < dir->watches.len; i++) {
		struct sim_notify *n = dir->watches.at[i].notify;

		if (n->queue.len - n->taken >= 1024)
			n->lost = true;
		if (!n->lost) {
			change = (struct fl_change){ .watch = dir->watches.at[i].number };
			memcpy(change.name, name, strlen(name) + 1);
			sim_push(&n->queue, change);
		}
		sim_file_changed(n->file);
	}
}

/* The directory itself is gone. */
static void dir_gone(struct sim_inode *dir)
{
	while (dir->watches.len) {
		struct sim_watch watch = dir->watches.at[--dir->watches.len];
		struct fl_change change = { .watch = watch.number, .gone = true };

		watch.notify->dirs.at[watch.number - 1] = NULL;
		sim_push(&watch.notify->queue, change);
		sim_file_changed(watch.notify->file);
	}
}

static void change_free(struct sim_change *change)
{
	for (unsigned i = 0; i < change->count; i++) {
		sim_inode_drop(change->part[i].old);
		sim_inode_drop(change->part[i].new);
		sim_inode_drop(change->part[i].dir);
		sim_put(change->part[i].name);
	}
}

void sim_dir_change(struct sim_host *host, const struct sim_change *change)
{
	struct sim_change kept = *change;

	for (unsigned i = 0; i < kept.count; i++) {
		struct sim_part *part = &kept.part[i];

		part->name = copy(part->name, strlen(part->name) + 1);
		sim_inode_ref(part->dir);
		if (part->old)
			sim_inode_ref(part->old);
		if (part->new)
			sim_inode_ref(part->new);
		dir_set(part->dir, part->name, part->new);
		part->dir->mtime = part->dir->ctime = sim_wall(host);
		if (part->old && S_ISDIR(part->old->mode) && part->old->names == 0)
			dir_gone(part->old);
		sim_dir_told(part->dir, part->name);
	}
	sim_push(&host->disk.changes, kept);
}

static bool touches(const struct sim_change *change, const struct sim_inode *dir)
{
	return change->part[0].dir == dir || (change->count == 2 && change->part[1].dir == dir);
}

/* Some file systems sync names as a journal does: all that came before, too. Others only those of this directory, and
 * of those that had a name moved to or from it. */
static void sync_names(struct sim_host *host, const struct sim_inode *dir)
{
	struct sim_disk *disk = &host->disk;
	uint32_t last = 0, kept = 0;

	for (uint32_t i = 0; i < disk->changes.len; i++)
		if (touches(&disk->changes.at[i], dir))
			last = i + 1;
	for (uint32_t i = 0; i < disk->changes.len; i++) {
		struct sim_change change = disk->changes.at[i];
		bool safe = i < last && (disk->ordered || touches(&change, dir));

		for (uint32_t j = i + 1; !safe && j < last; j++)
			safe = disk->changes.at[j].count == 2 && touches(&disk->changes.at[j], dir) &&
			       (touches(&change, disk->changes.at[j].part[0].dir) ||
				touches(&change, disk->changes.at[j].part[1].dir));
		if (safe)
			change_free(&change);
		else
			disk->changes.at[kept++] = change;
	}
	disk->changes.len = kept;
}

/* ---- data ---- */

static void set_size(struct sim_inode *inode, uint64_t size)
{
	if (size > inode->cap) {
		inode->cap = size * 3 / 2 + 64;
		inode->data = sim_more(inode->data, inode->cap);
	}
	if (size > inode->size)
		memset(inode->data + inode->size, 0, size - inode->size);
	inode->host->disk.used += size - inode->size;
	inode->size = size;
}

static void remember(struct sim_inode *inode, struct sim_write write)
{
	if (!inode->dirty) {
		inode->dirty = true;
		sim_push(&inode->host->disk.dirty, inode);
	}
	sim_push(&inode->writes, write);
	inode->mtime = inode->ctime = sim_wall(inode->host);
}

static uint64_t disk_room(const struct sim_host *host)
{
	uint64_t size = host->faults.disk_bytes ? host->faults.disk_bytes : 64 * FL_MIB;

	return host->disk.used < size ? size - host->disk.used : 0;
}

int64_t sim_inode_write(struct sim_inode *inode, const void *bytes, size_t len, uint64_t at)
{
	struct sim_write write = { .at = at, .old_size = inode->size };
	uint64_t end;

	if (at + len > inode->size) {
		uint64_t last = inode->size + disk_room(inode->host);

		if (last <= at)
			return -ENOSPC;
		if (at + len > last)
			len = (size_t)(last - at);
	}
	end = at + len;
	write.new_size = end > inode->size ? end : inode->size;
	write.len = (uint32_t)len;
	write.bytes = copy(bytes, len);
	if (at < inode->size) {
		write.old_len = (uint32_t)((end < inode->size ? end : inode->size) - at);
		write.old = copy(inode->data + at, write.old_len);
	}
	set_size(inode, write.new_size);
	memcpy(inode->data + at, bytes, len);
	remember(inode, write);
	return (int64_t)len;
}

int sim_inode_resize(struct sim_inode *inode, uint64_t size)
{
	struct sim_write write = { .at = size, .old_size = inode->size, .new_size = size };

	if (size > inode->size && size - inode->size > disk_room(inode->host))
		return -ENOSPC;
	if (size < inode->size) {
		write.old_len = (uint32_t)(inode->size - size);
		write.old = copy(inode->data + size, write.old_len);
	}
	set_size(inode, size);
	remember(inode, write);
	return 0;
}

/* After a failed sync the kernel believes the pages to be clean: a later success does not save them. */
void sim_inode_sync(struct sim_inode *inode, bool fails)
{
	bool held = false;

	if (S_ISDIR(inode->mode)) {
		if (!fails)
			sync_names(inode->host, inode);
		return;
	}
	for (uint32_t i = 0; i < inode->writes.len; i++) {
		struct sim_write *write = &inode->writes.at[i];

		if (fails)
			write->doomed |= !write->synced;
		else
			write->synced |= !write->doomed;
		held |= write->doomed;
	}
	if (!fails && !held)
		forget_writes(inode);
}

static void take_back(struct sim_inode *inode, const struct sim_write *write)
{
	set_size(inode, write->old_size);
	if (write->old_len)
		memcpy(inode->data + write->at, write->old, write->old_len);
}

static void do_again(struct sim_inode *inode, const struct sim_write *write, uint64_t len)
{
	if (write->at + len > inode->size || !write->len)
		set_size(inode, write->len ? write->at + len : write->new_size);
	if (len)
		memcpy(inode->data + write->at, write->bytes, len);
}

static void crash_data(struct sim_inode *inode, bool in_order)
{
	struct sim_world *w = inode->host->world;
	bool over = false;

	for (uint32_t i = inode->writes.len; i-- > 0;)
		take_back(inode, &inode->writes.at[i]);
	for (uint32_t i = 0; i < inode->writes.len; i++) {
		const struct sim_write *write = &inode->writes.at[i];
		uint64_t luck = sim_below(w, 4), len = write->len;

		if (write->synced) {
			do_again(inode, write, len);
			continue;
		}
		if (over || luck == 0) {
			over |= in_order;
			continue;
		}
		if (luck == 1 && len) {   /* torn */
			len = sim_below(w, len);
			if (len > sector && sim_below(w, 4))
				len -= len % sector;
			over |= in_order;
		}
		do_again(inode, write, len);
	}
	forget_writes(inode);
}

void sim_disk_crash(struct sim_host *host)
{
	struct sim_disk *disk = &host->disk;
	struct sim_world *w = host->world;
	uint64_t mode = sim_below(w, 4), kept = sim_below(w, disk->changes.len + 1);

	for (uint32_t i = disk->changes.len; i-- > 0;)
		for (unsigned j = disk->changes.at[i].count; j-- > 0;)
			dir_set(disk->changes.at[i].part[j].dir, disk->changes.at[i].part[j].name,
				disk->changes.at[i].part[j].old);
	for (uint32_t i = 0; i < disk->changes.len; i++) {
		/* all, none, those before some moment, or any */
		bool survives = mode == 0 || (mode == 2 && i < kept) || (mode == 3 && sim_below(w, 2));

		for (unsigned j = 0; survives && j < disk->changes.at[i].count; j++)
			dir_set(disk->changes.at[i].part[j].dir, disk->changes.at[i].part[j].name,
				disk->changes.at[i].part[j].new);
	}
	for (uint32_t i = 0; i < disk->dirty.len; i++) {
		crash_data(disk->dirty.at[i], sim_below(w, 2));
		disk->dirty.at[i]->dirty = false;
	}
	disk->dirty.len = 0;
	for (uint32_t i = 0; i < disk->changes.len; i++)
		change_free(&disk->changes.at[i]);
	disk->changes.len = 0;
}

void sim_disk_sync_all(struct sim_host *host)
{
	struct sim_disk *disk = &host->disk;

	for (uint32_t i = 0; i < disk->changes.len; i++)
		change_free(&disk->changes.at[i]);
	disk->changes.len = 0;
	for (uint32_t i = 0; i < disk->dirty.len; i++) {
		forget_writes(disk->dirty.at[i]);
		disk->dirty.at[i]->dirty = false;
	}
	disk->dirty.len = 0;
}

void sim_disk_init(struct sim_host *host)
{
	host->disk.root = sim_inode_new(host, S_IFDIR | 0755);
	host->disk.root->parent = host->disk.root;
	host->disk.ordered = sim_below(host->world, 2);
}

void sim_disk_free(struct sim_host *host)
{
	sim_disk_sync_all(host);
	sim_inode_drop(host->disk.root);
	sim_put(host->disk.changes.at);
	sim_put(host->disk.dirty.at);
}
