/* What is in the kubelet's folder: its own socket, ours, and those of others, who are asked whether anybody answers. */
#include "io/file.h"
#include "io/job.h"
#include "node/kubelet/plugin_in.h"
#include <errno.h>
#include <stdio.h>

#define FL_PLUGIN_PROBE_TIMEOUT (200 * FL_NS_PER_MS) /* of a socket that may be nobody's: the kernel answers at once */
#define FL_PLUGIN_HURRY_FIRST (10 * FL_NS_PER_MS)    /* a socket at which nobody listens is looked at again, */
#define FL_PLUGIN_HURRY_LAST (640 * FL_NS_PER_MS)    /* each time after twice as long */
#define FL_PLUGIN_OTHERS_EVERY (2 * FL_NS_PER_S)  /* into the folder while another plugin is there: it may die */
#define FL_PLUGIN_SOCKETS_MAX 1024                   /* in the kubelet's folder: a leak is told, and not followed */

static const char kubelet_sock[] = "kubelet.sock";

/* ---- the sockets in a folder, as a job ---- */

enum { SOCKETS_AT_ONCE = 32 };

/* Run again with more room when there are more sockets, as a worker does not allocate. */
struct look_job {
	struct fl_job job;
	uint32_t len, cap;
	struct folder_socket *at;
	char dir[];
};

static int64_t look_in(struct look_job *look, const struct fl_fs *fs, int dir)
{
	char buf[2048];
	int64_t bytes;

	look->len = 0;
	while ((bytes = fs->list(fs, dir, buf, sizeof buf)) > 0) {
		struct fl_stat stat;
		const char *name;
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)bytes, &at, NULL))) {
			struct folder_socket *sock = &look->at[look->len];

			if (fs->stat(fs, dir, name, AT_SYMLINK_NOFOLLOW, &stat) < 0 || !S_ISSOCK(stat.mode))
				continue;
			if (look->len == look->cap)
				return -ENOBUFS;
			*sock = (struct folder_socket){ .ino = stat.ino, .made = stat.ctime };
			(void)snprintf(sock->name, sizeof sock->name, "%s", name);
			look->len++;
		}
	}
	return bytes;
}

static void look_run(struct fl_job *job, const struct fl_fs *fs)
{
	struct look_job *look = fl_container(job, struct look_job, job);
	int dir = fs->open(fs, AT_FDCWD, look->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	look->len = 0;
	job->result = dir == -ENOENT ? 0 : dir;
	if (dir < 0)
		return;
	job->result = look_in(look, fs, dir);
	fs->close(fs, dir);
}

static void look_finish(struct fl_job *job, struct fl_op *op)
{
	struct look_job *look = fl_container(job, struct look_job, job);
	struct fl_plugins *all = fl_container(op, struct fl_plugins, look);
	struct folder_socket *more;

	if (job->result == -ENOBUFS && look->cap < FL_PLUGIN_SOCKETS_MAX) {
		more = fl_realloc(look->at, (size_t)look->cap * 2 * sizeof *more);
		if (!more) {
			fl_op_fail(op, FL_E_NOMEM, "list '%s'", look->dir);
			return;
		}
		look->at = more;
		look->cap *= 2;
		fl_job_again(job);
	} else if (job->result == -ENOBUFS) {
		fl_op_fail(op, FL_E_TOOBIG, "list '%s': more than %d sockets; remove those that no plugin serves",
			   look->dir, FL_PLUGIN_SOCKETS_MAX);
	} else if (job->result < 0) {
		fl_op_fail_sys(op, (int)-job->result, "list '%s'", look->dir);
	} else {
		fl_vec_free(&all->seen);
		all->seen.at = fl_steal(&look->at);
		all->seen.len = look->len;
		all->seen.cap = look->cap;
		fl_op_end(op, 0);
	}
}

static void look_release(struct fl_job *job)
{
	struct look_job *look = fl_container(job, struct look_job, job);

	fl_free(look->at);
	fl_free(look);
}

/* ---- one look after the other ---- */

static void looked(struct fl_op *op);
static void rest(struct fl_plugins *all, uint64_t delay);

static void look_now(struct fl_plugins *all)
{
	size_t dir = strlen(all->options.dir) + 1;
	struct look_job *look;

	if (fl_op_busy(&all->look) || fl_op_busy(&all->probe.op)) {
		all->look_again = true;
		return;
	}
	fl_timer_stop(all->io, &all->look_timer);
	all->look_again = false;
	all->looks++;
	look = fl_zalloc(sizeof *look + dir);
	if (look)
		look->at = fl_zalloc_n(SOCKETS_AT_ONCE, sizeof *look->at);
	if (!look || !look->at) {
		fl_free(look);
		rest(all, FL_PLUGIN_RETRY_LAST);
		return;
	}
	look->job = (struct fl_job){ .run = look_run, .finish = look_finish, .release = look_release };
	look->cap = SOCKETS_AT_ONCE;
	memcpy(look->dir, all->options.dir, dir);
	all->look = (struct fl_op){ .done = looked, .deadline = fl_now(all->io) + FL_FILE_TIMEOUT,
				    .err = &all->look_err };
	fl_job_start(all->io, &all->look, &look->job, FL_LANE_FILES);
}

static void rest(struct fl_plugins *all, uint64_t delay)
{
	fl_vec_free(&all->seen);
	if (all->look_again)
		look_now(all);
	else
		fl_timer_set(all->io, &all->look_timer, fl_now(all->io) + delay);
}

static void look_due(struct fl_timer *timer)
{
	look_now(fl_container(timer, struct fl_plugins, look_timer));
}

/* The kubelet writes its checkpoint with each list and each Allocate: no news of sockets. */
static void changed(struct fl_notify *notify, const char *name)
{
	struct fl_plugins *all = fl_container(notify, struct fl_plugins, notify);
	struct fl_str text = fl_str(name);

	if (fl_str_starts(text, FL_S(".")) || fl_str_starts(text, FL_S("kubelet_internal_checkpoint")))
		return;
	all->hurry = FL_PLUGIN_HURRY_FIRST;
	look_now(all);
}

/* ---- what was seen ---- */

static bool is_kubelet(const struct folder_socket *sock)
{
	return strcmp(sock->name, kubelet_sock) == 0;
}

/* Of any process of this program: "fairlead-...", or with a dot in front while it is being made. */
static bool is_of_this_program(const struct folder_socket *sock)
{
	return fl_str_starts(fl_str(sock->name + (sock->name[0] == '.')), FL_S("fairlead-"));
}

static struct plugin *owner_of(const struct fl_plugins *all, const struct folder_socket *sock)
{
	for (struct plugin *plugin = all->first; plugin; plugin = plugin->next)
		if (plugin->server && strcmp(plugin->file, sock->name) == 0)
			return plugin;
	return NULL;
}

static void see_kubelet(struct fl_plugins *all)
{
	uint64_t ino = 0, before = all->kubelet_ino;
	int64_t made = 0, made_before = all->kubelet_made;

	fl_vec_each (sock, &all->seen)
		if (is_kubelet(sock)) {
			ino = sock->ino;
			made = sock->made;
		}
	all->kubelet_ino = ino;
	all->kubelet_made = made;
	if (ino && (ino != before || made != made_before))
		plugins_kubelet_is_new(all, made);
}

/* Those of ours that listened before this look began and were not seen by it. */
static void see_ours(struct fl_plugins *all)
{
	for (struct plugin *plugin = all->first; plugin; plugin = plugin->next) {
		bool seen = !plugin->server || plugin->listening_since >= all->looks;

		fl_vec_each (sock, &all->seen)
			seen |= plugin->ino == sock->ino && strcmp(plugin->file, sock->name) == 0;
		if (!seen)
			plugin_socket_is_gone(plugin);
	}
}

static int tell_one(struct fl_plugins *all, const struct folder_socket *sock)
{
	struct fl_plugin_socket object = { 0 };

	FL_SET(FL_IN(&object, meta), name, fl_str(sock->name));
	FL_SET(&object, ours, owner_of(all, sock) != NULL);
	FL_SET(&object, live, sock->live);
	FL_SET(&object, made, sock->made);
	return fl_feed_put(all->sockets, &object, NULL);
}

/* Bound and not yet listened at, it is news that nobody tells; and so is that somebody has died. */
static uint64_t next_look(struct fl_plugins *all, bool dead)
{
	uint64_t hurry = all->hurry;

	if (!dead || !hurry || hurry > FL_PLUGIN_HURRY_LAST)
		return all->other_plugins.len ? FL_PLUGIN_OTHERS_EVERY
					      : fl_round_in(fl_now(all->io), FL_PLUGIN_LOOK_EVERY);
	all->hurry *= 2;
	return hurry;
}

static void tell(struct fl_plugins *all)
{
	bool dead = false;
	int r = 0;

	plugins_see_other_plugins(all);
	fl_feed_begin(all->sockets);
	fl_vec_each (sock, &all->seen) {
		if (r < 0 || sock->name[0] == '.' || is_kubelet(sock))
			continue;
		r = tell_one(all, sock);
		dead |= !sock->live;
	}
	if (r == 0)
		fl_feed_synced(all->sockets);
	rest(all, r < 0 ? FL_PLUGIN_RETRY_LAST : next_look(all, dead));
}

/* ---- does anybody answer there? ---- */

static void probe_next(struct fl_plugins *all);

static void probed(struct fl_op *op)
{
	struct fl_plugins *all = fl_container(op, struct fl_plugins, probe.op);
	struct folder_socket *sock = &all->seen.at[all->probing];
	const struct fl_fs *fs = fl_io_fs(all->io);

	if (op->result >= 0)
		fl_close(all->io, (int)op->result);
	/* A listener that is too busy to answer in time is one. */
	sock->live = op->result >= 0 || op->result == -FL_E_TIMEOUT;
	if (!sock->live && all->look_err.sys == ECONNREFUSED && is_of_this_program(sock) &&
	    fs->unlink(fs, AT_FDCWD, all->probe.addr.path, 0) == 0) {
		fl_log(all->options.log, FL_INFO, "socket of an earlier process removed",
		       FL_KV_TEXT("socket", sock->name));
		fl_vec_remove(&all->seen, all->probing);
	} else {
		all->probing++;
	}
	probe_next(all);
}

static bool start_probe(struct fl_plugins *all, struct folder_socket *sock)
{
	sock->live = owner_of(all, sock) != NULL;
	if (sock->live || is_kubelet(sock) || (sock->name[0] == '.' && !is_of_this_program(sock)))
		return false;
	all->probe = (struct fl_connect){ .addr.kind = FL_ADDR_UNIX };
	if (snprintf(all->probe.addr.path, sizeof all->probe.addr.path, "%s/%s", all->options.dir, sock->name) >=
	    (int)sizeof all->probe.addr.path)
		return false;   /* nobody can connect to it */
	all->look_err = (struct fl_err){ .code = FL_OK };
	all->probe.op = (struct fl_op){ .done = probed, .deadline = fl_now(all->io) + FL_PLUGIN_PROBE_TIMEOUT,
					.err = &all->look_err };
	fl_connect(all->io, &all->probe);
	return true;
}

static void probe_next(struct fl_plugins *all)
{
	while (all->probing < all->seen.len) {
		if (start_probe(all, &all->seen.at[all->probing]))
			return;
		all->probing++;
	}
	tell(all);
}

static void looked(struct fl_op *op)
{
	struct fl_plugins *all = fl_container(op, struct fl_plugins, look);

	fl_io_name(all->io, "kubelet's folder");
	if (op->result < 0) {
		fl_log(all->options.log, FL_WARN, "kubelet directory unreadable, will retry",
		       FL_KV_ERR(&all->look_err));
		rest(all, FL_PLUGIN_RETRY_LAST);
		return;
	}
	see_kubelet(all);
	see_ours(all);
	all->probing = 0;
	probe_next(all);
}

/* ---- start and stop ---- */

void plugins_folder_start(struct fl_plugins *all)
{
	all->look_timer.fire = look_due;
	all->notify = (struct fl_notify){ .changed = changed, .dir = all->options.dir };
	fl_notify_start(all->io, &all->notify);
	look_now(all);
}

void plugins_folder_stop(struct fl_plugins *all)
{
	fl_notify_stop(&all->notify);
	fl_timer_stop(all->io, &all->look_timer);
	fl_op_cancel(&all->look);
	fl_op_cancel(&all->probe.op);
}
