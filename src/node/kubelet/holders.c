/* Who has which device. One look at a time: when the kubelet's socket was made, then what it tells. */
#include "node/kubelet/holders.h"
#include "api/node.h"
#include "base/backoff.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/units.h"
#include "grpc/client.h"
#include "grpc/kubelet.h"
#include "grpc/podresources.pb-c.h"
#include "io/file.h"
#include "io/job.h"
#include "io/notify.h"
#include "plan/gpu/holders.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FL_HOLDERS_PATH 256                          /* of the kubelet's checkpoint */
#define FL_HOLDERS_RETRY_FIRST (200 * FL_NS_PER_MS)  /* its throttle lets 100 a second through */

static const char kubelet_dir[] = "/var/lib/kubelet/pod-resources";

static const struct fl_metric metrics[] = {
	{ "fairlead_holders_looks_total", "PodResources List calls, by outcome.", FL_COUNTER,
	  .labels = { "outcome" } },
};

struct fl_holders {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_holders_options options;
	struct fl_feed *feed, *active;    /* Holder; Active */
	struct fl_addr addr;
	struct fl_grpc_client *client;
	struct fl_notify notify;
	struct fl_timer timer;            /* the next look */
	struct fl_op stat;                /* of the socket: the first half of a look */
	struct fl_grpc_request list;      /* the second */
	struct fl_err err, why;
	char checkpoint[FL_HOLDERS_PATH]; /* of the kubelet's devices; empty: not looked for */
	uint64_t made;                    /* when the socket was made, by the wall's clock; 0: it is not there */
	uint64_t came;                    /* ... by the loop's, where we were there; 0: it was there before us */
	uint64_t known_made;              /* the same of the kubelet that answered last ... */
	uint64_t since;                   /* ... and when it answered first */
	uint64_t believed_made;           /* ... of the last one that knew all of its Pods */
	uint64_t api_away_at;             /* when the API server was seen to be away last; 0: never */
	uint64_t asked_at, as_of;         /* the look that is under way; the one that is known */
	uint64_t settles_at;              /* a look that begins from then on shows who has what was withdrawn */
	uint64_t delay;                   /* after the last failure; 0: none since it went well */
	uint64_t seed[2], chances;
	uint64_t started;
	bool asked, synced;
	bool looked;                      /* the first look is over */
	bool booked, fresh;               /* a book was kept; the kubelet had no checkpoint at a look */
	bool told_all;                    /* a kubelet that knows all of its Pods has answered */
	struct fl_family *families[1];
};

/* ---- when to look ---- */

static void look(struct fl_holders *holders);

static bool looking(const struct fl_holders *holders)
{
	return fl_op_busy(&holders->stat) || fl_op_busy(&holders->list.op);
}

static void look_within(struct fl_holders *holders, uint64_t delay)
{
	uint64_t at = fl_now(holders->io) + delay;

	if (!fl_timer_is_set(&holders->timer) || at < holders->timer.at)
		fl_timer_set(holders->io, &holders->timer, at);
}

static uint64_t jitter(struct fl_holders *holders, uint64_t delay)
{
	uint64_t chance = ++holders->chances;

	return fl_spread(delay, fl_siphash13(holders->seed, &chance, sizeof chance));
}

/* Until a kubelet of this age knows its Pods; 0: it does. */
static uint64_t young_for(const struct fl_holders *holders)
{
	uint64_t now = fl_now(holders->io);
	int64_t age = holders->came ? (int64_t)(now - holders->came) : fl_wall(holders->io) - (int64_t)holders->made;

	if (age < 0)
		age = (int64_t)(now - holders->since);   /* the wall's clock was set back */
	return (uint64_t)age < FL_HOLDERS_GRACE ? FL_HOLDERS_GRACE - (uint64_t)age : 0;
}

/* Until the API server has told a kubelet that asks it; 0: it has. */
static uint64_t untold_for(struct fl_holders *holders)
{
	uint64_t now = fl_now(holders->io), until;

	switch (holders->options.api ? holders->options.api(holders->options.api_arg) : FL_HOLDERS_API_THERE) {
	case FL_HOLDERS_API_STARTING:
		return FL_HOLDERS_API_SOON;
	case FL_HOLDERS_API_AWAY:
		holders->api_away_at = now;
		return FL_HOLDERS_API_GRACE;
	case FL_HOLDERS_API_THERE:
		break;
	}
	until = holders->api_away_at ? holders->api_away_at + FL_HOLDERS_API_GRACE : 0;
	return now < until ? until - now : 0;
}

/* Until the kubelet may be believed when it does not tell of somebody; 0: it may. */
static uint64_t grace_left(struct fl_holders *holders)
{
	uint64_t young = young_for(holders), untold = untold_for(holders);

	if (holders->told_all && holders->believed_made == holders->made)
		return 0;
	return young > untold ? young : untold;
}

static void count(const struct fl_holders *holders, const char *outcome)
{
	if (holders->options.metrics)
		fl_count(fl_series(holders->families[0], (struct fl_str[]){ fl_str(outcome) }), 1);
}

/* What is known is all there is to know for now: from the book, or because the kubelet has given no device to anybody.
 * Who can have neither waits for a kubelet that knows all of its Pods, which syncs by itself. */
static void sync_if_counted(struct fl_holders *holders)
{
	if (holders->synced || !holders->looked ||
	    (!holders->booked && !holders->fresh &&
	     fl_now(holders->io) < holders->started + FL_GPU_HOLDERS_PATIENCE))
		return;
	fl_feed_synced(holders->feed);
	holders->synced = true;
}

static void over(struct fl_holders *holders, uint64_t next)
{
	holders->looked = true;
	sync_if_counted(holders);
	look_within(holders, holders->asked ? FL_HOLDERS_SOON : next);
	holders->asked = false;
}

static void failed(struct fl_holders *holders, const struct fl_err *why)
{
	count(holders, "failed");
	if (strcmp(holders->why.text, why->text) != 0)
		fl_log(holders->options.log, FL_WARN, "kubelet lists no holders, will retry",
		       FL_KV_ERR(why));
	holders->why = *why;
	holders->asked = false;   /* it is asked as soon as may be anyway */
	over(holders, jitter(holders, fl_backoff(&holders->delay, FL_HOLDERS_RETRY_FIRST, FL_HOLDERS_EVERY)));
}

/* ---- what it tells ---- */

static int by_bytes(const void *a, const void *b)
{
	return fl_str_cmp(*(const struct fl_str *)a, *(const struct fl_str *)b);
}

/* All devices of one resource of a container, each once, sorted. */
static int gather_ids(const V1__ContainerResources *container, const char *resource, struct fl_arena *arena,
		      struct fl_str_list *ret)
{
	uint32_t len = 0, kept = 0;

	for (size_t i = 0; i < container->n_devices; i++)
		if (strcmp(container->devices[i]->resource_name, resource) == 0)
			len += (uint32_t)container->devices[i]->n_device_ids;
	ret->at = fl_arena_get_n(arena, len, sizeof *ret->at);
	if (!ret->at)
		return -FL_E_NOMEM;
	len = 0;
	for (size_t i = 0; i < container->n_devices; i++) {
		const V1__ContainerDevices *devices = container->devices[i];

		for (size_t k = 0; strcmp(devices->resource_name, resource) == 0 && k < devices->n_device_ids; k++)
			ret->at[len++] = fl_str(devices->device_ids[k]);
	}
	qsort(ret->at, len, sizeof *ret->at, by_bytes);
	for (uint32_t i = 0; i < len; i++)
		if (kept == 0 || !fl_str_eq(ret->at[kept - 1], ret->at[i]))
			ret->at[kept++] = ret->at[i];
	ret->len = kept;
	return 0;
}

static bool is_first(const V1__ContainerResources *container, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(container->devices[k]->resource_name, container->devices[i]->resource_name) == 0)
			return false;
	return true;
}

/* Its name goes into `names`, which has room. */
static int put_holder(struct fl_holders *holders, const V1__PodResources *pod, const V1__ContainerResources *container,
		      const char *resource, struct fl_arena *arena, struct fl_str_list *names)
{
	struct fl_holder holder = { 0 };
	struct fl_str name =
		fl_arena_printf(arena, "%s/%s/%s/%s", pod->namespace_, pod->name, container->name, resource);

	if (!name.p || gather_ids(container, resource, arena, &holder.devices) < 0)
		return -FL_E_NOMEM;
	if (!holder.devices.len)
		return 0;
	holder.has.devices = 1;
	FL_SET(FL_IN(&holder, meta), name, name);
	FL_SET(&holder, resource, fl_str(resource));
	FL_SET(&holder, pod_space, fl_str(pod->namespace_));
	FL_SET(&holder, pod, fl_str(pod->name));
	FL_SET(&holder, container, fl_str(container->name));
	names->at[names->len++] = name;
	return fl_feed_put(holders->feed, &holder, NULL);
}

static int make_room(const V1__ListPodResourcesResponse *list, struct fl_arena *arena, struct fl_str_list *names)
{
	size_t count = 0;

	for (size_t i = 0; i < list->n_pod_resources; i++)
		for (size_t k = 0; k < list->pod_resources[i]->n_containers; k++)
			count += list->pod_resources[i]->containers[k]->n_devices;
	names->len = 0;
	names->at = fl_arena_get_n(arena, count, sizeof *names->at);
	return names->at ? 0 : -FL_E_NOMEM;
}

static int put_all(struct fl_holders *holders, const V1__ListPodResourcesResponse *list, struct fl_arena *arena,
		   struct fl_str_list *names)
{
	int r = make_room(list, arena, names);

	for (size_t i = 0; i < list->n_pod_resources; i++) {
		const V1__PodResources *pod = list->pod_resources[i];

		for (size_t k = 0; k < pod->n_containers; k++) {
			const V1__ContainerResources *container = pod->containers[k];

			for (size_t n = 0; r == 0 && n < container->n_devices; n++)
				if (is_first(container, n))
					r = put_holder(holders, pod, container, container->devices[n]->resource_name,
						       arena, names);
		}
	}
	return r;
}

/* Who has ended is known in the same moment as who has come: the sweep of a full state takes its time. */
static int drop_ended(struct fl_holders *holders, struct fl_arena *arena, const struct fl_str_list *names)
{
	struct fl_view view = fl_loop_view(holders->loop, arena);
	uint32_t len;
	const struct fl_holder *known = fl_view_array(&view, &fl_holder_kind, &len);

	if (view.failed)
		return -FL_E_NOMEM;
	if (names->len)
		qsort(names->at, names->len, sizeof *names->at, by_bytes);
	for (uint32_t i = 0; i < len; i++)
		if (!names->len || !bsearch(&known[i].meta.name, names->at, names->len, sizeof *names->at, by_bytes))
			fl_feed_gone(holders->feed, FL_S(""), known[i].meta.name);
	return 0;
}

/* Which containers there are, with devices or without. */
static int put_active(struct fl_holders *holders, const V1__ListPodResourcesResponse *list, struct fl_arena *arena,
		      bool settled)
{
	struct fl_active active = { 0 };
	uint32_t count = 0;

	for (size_t i = 0; i < list->n_pod_resources; i++)
		count += (uint32_t)list->pod_resources[i]->n_containers;
	if (!FL_ELEMENTS(&active, arena, containers, count))
		return -FL_E_NOMEM;
	count = 0;
	for (size_t i = 0; i < list->n_pod_resources; i++) {
		const V1__PodResources *pod = list->pod_resources[i];

		for (size_t k = 0; k < pod->n_containers; k++) {
			struct fl_str *at = &active.containers.at[count++];

			*at = fl_arena_printf(arena, "%s/%s/%s", pod->namespace_, pod->name, pod->containers[k]->name);
			if (!at->p)
				return -FL_E_NOMEM;
		}
	}
	if (count)
		qsort(active.containers.at, count, sizeof *active.containers.at, by_bytes);
	FL_SET(FL_IN(&active, meta), name, FL_S("active"));
	FL_SET(&active, settled, settled);
	FL_SET(&active, due, holders->asked_at < holders->settles_at);
	FL_SET(&active, since, (int64_t)holders->since);
	return fl_feed_put(holders->active, &active, NULL);
}

static uint64_t next_look(const struct fl_holders *holders, uint64_t grace)
{
	uint64_t now = fl_now(holders->io);
	uint64_t next = !grace ? fl_round_in(now, FL_HOLDERS_EVERY) :
			grace < FL_HOLDERS_YOUNG_EVERY ? grace : FL_HOLDERS_YOUNG_EVERY;
	uint64_t settles = now < holders->settles_at ? holders->settles_at - now : 0;

	return holders->asked_at < holders->settles_at && settles < next ? settles : next;
}

static void told(struct fl_holders *holders)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str_list names;
	struct fl_err err;
	uint64_t grace;

	if (holders->known_made != holders->made)
		holders->since = holders->asked_at;
	holders->known_made = holders->made;
	grace = grace_left(holders);
	if (!grace)
		fl_feed_begin(holders->feed);
	if (put_all(holders, (const void *)holders->list.reply, &arena, &names) < 0 ||
	    (!grace && drop_ended(holders, &arena, &names) < 0) ||
	    put_active(holders, (const void *)holders->list.reply, &arena, !grace) < 0) {
		(void)fl_fail(&err, FL_E_NOMEM, "no memory for the kubelet's answer");
		failed(holders, &err);
		return;
	}
	if (!grace)
		fl_feed_synced(holders->feed);
	holders->synced |= !grace;
	holders->told_all |= !grace;
	if (!grace)
		holders->believed_made = holders->made;
	count(holders, "told");
	holders->why = (struct fl_err){ .code = FL_OK };
	holders->delay = 0;
	holders->as_of = holders->asked_at;
	over(holders, next_look(holders, grace));
	if (holders->options.looked)
		holders->options.looked(holders->options.arg);
}

static void listed(struct fl_op *op)
{
	struct fl_holders *holders = fl_container(op, struct fl_holders, list.op);

	fl_io_name(holders->io, "holders");
	if (op->result < 0)
		failed(holders, &holders->err);
	else
		told(holders);
	fl_arena_free(&holders->list.arena);
	holders->client = fl_grpc_client_free(holders->client);   /* half a minute's rest is worth no connection */
}

static void ask(struct fl_holders *holders)
{
	V1__ListPodResourcesRequest message = V1__LIST_POD_RESOURCES_REQUEST__INIT;

	holders->asked_at = fl_now(holders->io);
	holders->client = fl_grpc_client_new(holders->io, &holders->addr, &holders->err);
	if (!holders->client) {
		failed(holders, &holders->err);
		return;
	}
	holders->list = (struct fl_grpc_request){ .method = &fl_pods_list, .message = &message.base };
	holders->list.op = (struct fl_op){ .done = listed, .err = &holders->err,
					   .deadline = fl_now(holders->io) + FL_HOLDERS_TIMEOUT };
	fl_grpc_start(holders->client, &holders->list);
}

/* ---- when the socket was made, and whether there is a checkpoint, as a job ---- */

struct stat_job {
	struct fl_job job;
	struct fl_stat stat;
	bool fresh;
	char checkpoint[FL_HOLDERS_PATH];   /* empty: not looked for */
	char path[];
};

static void stat_run(struct fl_job *job, const struct fl_fs *fs)
{
	struct stat_job *stat = fl_container(job, struct stat_job, job);

	job->what = "look at it";
	stat->fresh = !stat->checkpoint[0] ||
		      fs->stat(fs, AT_FDCWD, stat->checkpoint, AT_SYMLINK_NOFOLLOW, &stat->stat) == -ENOENT;
	job->result = fs->stat(fs, AT_FDCWD, stat->path, AT_SYMLINK_NOFOLLOW, &stat->stat);
}

static void stat_finish(struct fl_job *job, struct fl_op *op)
{
	struct fl_holders *holders = fl_container(op, struct fl_holders, stat);
	struct stat_job *stat = fl_container(job, struct stat_job, job);

	holders->fresh |= stat->fresh;
	if (job->result < 0) {
		fl_op_fail_sys(op, (int)-job->result, "the kubelet's '%s'", stat->path);
		return;
	}
	/* At boot the wall's clock is set while a kubelet is young. */
	if (holders->looked && holders->made != (uint64_t)stat->stat.ctime)
		holders->came = fl_now(holders->io);
	holders->made = (uint64_t)stat->stat.ctime;
	fl_op_end(op, 0);
}

static void found(struct fl_op *op)
{
	struct fl_holders *holders = fl_container(op, struct fl_holders, stat);

	if (op->result < 0)
		failed(holders, &holders->err);
	else
		ask(holders);
}

static void look(struct fl_holders *holders)
{
	size_t path = strlen(holders->addr.path) + 1;
	struct stat_job *stat;

	if (looking(holders)) {
		holders->asked = true;
		return;
	}
	stat = fl_zalloc(sizeof *stat + path);
	fl_timer_stop(holders->io, &holders->timer);
	if (!stat) {
		(void)fl_fail(&holders->err, FL_E_NOMEM, "no memory to list holders");
		failed(holders, &holders->err);
		return;
	}
	stat->job = (struct fl_job){ .run = stat_run, .finish = stat_finish };
	memcpy(stat->path, holders->addr.path, path);
	memcpy(stat->checkpoint, holders->checkpoint, sizeof stat->checkpoint);
	holders->stat = (struct fl_op){ .done = found, .deadline = fl_now(holders->io) + FL_FILE_TIMEOUT,
					.err = &holders->err };
	fl_job_start(holders->io, &holders->stat, &stat->job, FL_LANE_FILES);
}

static void due(struct fl_timer *timer)
{
	look(fl_container(timer, struct fl_holders, timer));
}

static void changed(struct fl_notify *notify, const char *name)
{
	struct fl_holders *holders = fl_container(notify, struct fl_holders, notify);

	if (name[0] && strcmp(name, "kubelet.sock") != 0)
		return;
	holders->delay = 0;
	fl_holders_look(holders);
}

/* ---- what the agent before knew ---- */

static int put_booked(struct fl_holders *holders, const struct fl_booking *booking, struct fl_err *err)
{
	struct fl_holder holder = { .devices = booking->devices };

	holder.has.devices = 1;
	FL_SET(FL_IN(&holder, meta), name, booking->meta.name);
	FL_SET(&holder, resource, booking->resource);
	FL_SET(&holder, pod_space, booking->pod_space);
	FL_SET(&holder, pod, booking->pod);
	FL_SET(&holder, container, booking->container);
	return fl_feed_put(holders->feed, &holder, err);
}

int fl_holders_remember(struct fl_holders *holders, struct fl_err *err)
{
	FL_VIEW(view, holders->loop);
	uint32_t len;
	const struct fl_booking *bookings = fl_view_array(&view, &fl_booking_kind, &len);
	int r = 0;

	for (uint32_t i = 0; r == 0 && !view.failed && !holders->told_all && i < len; i++)
		if (!fl_view_get(&view, &fl_holder_kind, FL_S(""), bookings[i].meta.name) && !view.failed)
			r = put_booked(holders, &bookings[i], err);
	if (r == 0 && !view.failed) {
		holders->booked = fl_view_get(&view, &fl_memo_kind, FL_S(""), FL_S(FL_BOOK_MEMO)) != NULL;
		sync_if_counted(holders);
	}
	return view.failed ? fl_fail(err, FL_E_NOMEM, "no memory for the holders") : r;
}

/* ---- the whole ---- */

void fl_holders_look(struct fl_holders *holders)
{
	if (looking(holders))
		holders->asked = true;
	else if (!holders->why.code || !holders->delay)
		look_within(holders, FL_HOLDERS_SOON);
}

int fl_holders_withdrawn(struct fl_holders *holders, uint64_t given, struct fl_err *err)
{
	FL_VIEW(view, holders->loop);
	const struct fl_active *known = fl_view_get(&view, &fl_active_kind, FL_S(""), FL_S("active"));
	uint64_t now = fl_now(holders->io), settles = given ? given + FL_HOLDERS_SETTLE : 0;
	struct fl_active active;

	if (view.failed)
		return fl_fail(err, FL_E_NOMEM, "no memory to ask who holds a device");
	if (known && !known->due) {
		active = *known;
		FL_SET(&active, due, true);
		if (fl_feed_put(holders->active, &active, err) < 0)
			return -FL_E_NOMEM;
	}
	settles = settles < now ? now : settles;
	if (settles > holders->settles_at)
		holders->settles_at = settles;
	if (looking(holders))
		holders->asked = true;
	else if (!holders->why.code || !holders->delay)
		look_within(holders, holders->settles_at - now);
	return 0;
}

uint64_t fl_holders_as_of(const struct fl_holders *holders)
{
	return holders->as_of;
}

const struct fl_err *fl_holders_why(const struct fl_holders *holders)
{
	return &holders->why;
}

static int set_up(struct fl_holders *holders, struct fl_err *err)
{
	const char *dir = holders->options.dir ? holders->options.dir : kubelet_dir;

	holders->addr.kind = FL_ADDR_UNIX;
	if (snprintf(holders->addr.path, sizeof holders->addr.path, "%s/kubelet.sock", dir) >=
	    (int)sizeof holders->addr.path)
		return fl_fail(err, FL_E_TOOBIG, "the path '%s' leaves no room for a socket", dir);
	if (holders->options.plugins_dir &&
	    snprintf(holders->checkpoint, sizeof holders->checkpoint, "%s/kubelet_internal_checkpoint",
		     holders->options.plugins_dir) >= (int)sizeof holders->checkpoint)
		return fl_fail(err, FL_E_TOOBIG, "the path '%s' leaves no room for a file",
			       holders->options.plugins_dir);
	if (fl_random(holders->io, holders->seed, sizeof holders->seed, err) < 0)
		return -(int)(err ? err->code : FL_E_IO);
	holders->notify = (struct fl_notify){ .changed = changed, .dir = dir };
	if (holders->options.metrics)
		return fl_metrics_add(holders->options.metrics, metrics, FL_LEN(metrics), NULL, holders->families, err);
	return 0;
}

struct fl_holders *fl_holders_new(struct fl_io *io, struct fl_loop *loop, const struct fl_holders_options *options,
				  struct fl_err *err)
{
	FL_AUTO(fl_mem) struct fl_holders *holders = fl_zalloc(sizeof *holders);

	if (!holders)
		return fl_null(err, FL_E_NOMEM, "no memory to list holders");
	holders->io = io;
	holders->loop = loop;
	holders->started = fl_now(io);
	holders->settles_at = holders->started + FL_HOLDERS_SETTLE;
	holders->options = *options;
	holders->feed = fl_loop_feed(loop, &fl_holder_kind);
	holders->active = fl_loop_feed(loop, &fl_active_kind);
	holders->delay = 0;
	holders->timer.fire = due;
	if (set_up(holders, err) < 0)
		return NULL;
	fl_feed_begin(holders->feed);
	fl_feed_begin(holders->active);
	fl_feed_synced(holders->active);
	fl_notify_start(io, &holders->notify);
	look_within(holders, 0);
	return fl_steal(&holders);
}

struct fl_holders *fl_holders_free(struct fl_holders *holders)
{
	if (!holders)
		return NULL;
	fl_notify_stop(&holders->notify);
	fl_timer_stop(holders->io, &holders->timer);
	fl_op_cancel(&holders->stat);
	fl_op_cancel(&holders->list.op);
	fl_arena_free(&holders->list.arena);
	fl_grpc_client_free(holders->client);
	fl_free(holders);
	return NULL;
}
