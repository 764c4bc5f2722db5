#include "node/api/watches.h"
#include "api/pools.h"
#include "base/units.h"
#include "run/doing.h"
#include "run/kube.h"
#include "run/memory.h"

#define FL_API_TELL_AGAIN (100 * FL_NS_PER_MS)   /* memory was refused: it is mostly there in a moment */

struct fl_api_watched_one {
	struct fl_api_watches *all;
	struct fl_api_watched_one *next;
	struct fl_watching watching;
	struct fl_arena texts;
	struct fl_api_watch told;      /* as the cache has it */
	const struct fl_kind *kind;
	struct fl_str fields;
	bool found;                    /* the snapshot that is being read has the pool */
};

static bool is_devices(const struct fl_api_watched_one *one)
{
	return one->told.what == FL_API_DEVICES;
}

/* ---- what is told ---- */

static bool put_answer(struct fl_api_watched_one *one)
{
	return fl_feed_put(fl_loop_feed(one->all->loop, &fl_api_watch_kind), &one->told, NULL) == 0;
}

static void tell_all(struct fl_timer *timer)
{
	struct fl_api_watches *all = fl_container(timer, struct fl_api_watches, tell);

	for (struct fl_api_watched_one *one = all->first; one; one = one->next)
		if (!put_answer(one))
			fl_timer_set(all->io, &all->tell, fl_now(all->io) + FL_API_TELL_AGAIN);
}

static void answer(struct fl_api_watched_one *one, enum fl_api_answer answer)
{
	struct fl_api_watches *all = one->all;

	if (one->told.answer == answer)
		return;
	FL_SET(&one->told, answer, answer);
	if (!put_answer(one))
		fl_timer_set(all->io, &all->tell, fl_now(all->io) + FL_API_TELL_AGAIN);
}

/* Of pools the cache always has a full state: those that are known to be there. */
static void lose_pool(struct fl_api_watched_one *one)
{
	fl_feed_gone(one->watching.feed, one->told.pool_space, one->told.pool);
}

/* ---- the consumer ---- */

static void on_begin(void *self)
{
	struct fl_api_watched_one *one = self;

	one->found = false;
	if (is_devices(one))
		fl_feed_begin(one->watching.feed);
}

static int on_put(void *self, const void *object, struct fl_err *err)
{
	struct fl_api_watched_one *one = self;

	one->found = true;
	return fl_feed_put(one->watching.feed, object, err);
}

static void on_gone(void *self, struct fl_str space, struct fl_str name)
{
	fl_feed_gone(((struct fl_api_watched_one *)self)->watching.feed, space, name);
}

static void on_synced(void *self)
{
	struct fl_api_watched_one *one = self;

	if (is_devices(one))
		fl_feed_synced(one->watching.feed);
	else if (!one->found)
		lose_pool(one);
	answer(one, FL_API_TOLD);
}

static void on_absent(void *self)
{
	struct fl_api_watched_one *one = self;

	if (is_devices(one))
		fl_feed_absent(one->watching.feed);
	answer(one, FL_API_ABSENT);
}

static void on_asked(void *self)
{
	struct fl_api_watched_one *one = self;

	if (is_devices(one))
		fl_feed_asked(one->watching.feed);
}

static bool on_same(void *self, struct fl_str space, struct fl_str name, struct fl_str uid, struct fl_str version)
{
	struct fl_api_watched_one *one = self;
	bool same = fl_feed_same(one->watching.feed, space, name, uid, version);

	one->found |= same;
	return same;
}

static bool on_ahead(void *self)
{
	const struct fl_api_watched_one *one = self;

	return is_devices(one) && fl_feed_ahead(one->watching.feed);
}

static void on_current(void *self, bool current)
{
	struct fl_api_watched_one *one = self;

	if (is_devices(one))
		fl_feed_current(one->watching.feed, current);
}

/* What was told before stays known. */
static void on_denied(void *self)
{
	struct fl_api_watched_one *one = self;

	if (one->told.answer != FL_API_TOLD)
		answer(one, FL_API_DENIED);
}

static const struct fl_watch_to consumer = { on_begin, on_put, on_gone, on_synced, on_absent, on_asked, on_same,
					     on_ahead, on_current, on_denied };

/* ---- the sink ---- */

static struct fl_api_watched_one **place_of(struct fl_api_watches *all, struct fl_str name)
{
	struct fl_api_watched_one **at = &all->first;

	while (*at && !fl_str_eq((*at)->told.meta.name, name))
		at = &(*at)->next;
	return at;
}

static void free_one(struct fl_api_watched_one *one)
{
	fl_watch_free(one->watching.watch);
	fl_arena_free(&one->texts);
	fl_free(one);
}

static bool describe(struct fl_api_watched_one *one, struct fl_str called, const struct fl_api_watch *wanted)
{
	static const struct fl_kind *const kinds[] = { [FL_API_DEVICES] = &fl_gpu_device_kind,
						       [FL_API_POOL] = &fl_gpu_pool_kind,
						       [FL_API_CLUSTER_POOL] = &fl_cluster_gpu_pool_kind };
	struct fl_str name = fl_arena_str(&one->texts, called);
	struct fl_str space = fl_arena_str(&one->texts, wanted->pool_space);
	struct fl_str pool = fl_arena_str(&one->texts, wanted->pool);

	one->kind = kinds[wanted->what];
	one->fields = wanted->what == FL_API_DEVICES ?
			      fl_arena_printf(&one->texts, "status.nodeName=%.*s", FL_ARG(one->all->node)) :
			      fl_arena_printf(&one->texts, "metadata.name=%.*s", FL_ARG(pool));
	FL_SET(FL_IN(&one->told, meta), name, name);
	FL_SET(&one->told, what, wanted->what);
	FL_SET_TEXT(&one->told, pool_space, space);
	FL_SET_TEXT(&one->told, pool, pool);
	return name.p && space.p && pool.p && one->fields.p;
}

static int open_one(struct fl_api_watches *all, struct fl_str name, const struct fl_api_watch *wanted,
		    struct fl_err *err)
{
	struct fl_api_watched_one **place = place_of(all, name), *one = *place;
	struct fl_watch_options options = { .to = &consumer, .log = all->log };

	if (one)
		return 0;
	one = fl_zalloc(sizeof *one);
	if (!one)
		return fl_fail(err, FL_E_NOMEM, "no memory for a watch");
	one->all = all;
	if (!describe(one, name, wanted)) {
		free_one(one);
		return fl_fail(err, FL_E_NOMEM, "no memory for a watch");
	}
	one->watching = (struct fl_watching){ .kube = all->kube, .feed = fl_loop_feed(all->loop, one->kind) };
	options.kind = one->kind;
	options.space = one->told.pool_space.len ? one->told.pool_space.p : NULL;
	options.fields = one->fields.p;
	options.arg = one;
	if (fl_watching_open(&one->watching, &options, err) < 0) {
		free_one(one);
		return -(int)err->code;
	}
	*place = one;
	if (!all->kube) {   /* not before the write is over */
		FL_SET(&one->told, answer, FL_API_ABSENT);
		fl_timer_set(all->io, &all->tell, fl_now(all->io));
	}
	return 0;
}

static void close_one(struct fl_api_watches *all, struct fl_str name)
{
	struct fl_api_watched_one **place = place_of(all, name), *one = *place;

	if (!one)
		return;
	*place = one->next;
	if (is_devices(one))
		fl_feed_absent(one->watching.feed);
	else
		lose_pool(one);
	free_one(one);
}

static void start(void *self, struct fl_write *write)
{
	struct fl_api_watches *all = self;
	struct fl_err err = { 0 };

	if (write->what == FL_WANT_OBJECT)
		(void)open_one(all, write->ref.name, write->object, &err);
	else
		close_one(all, write->ref.name);
	fl_doing_begin(write->held, write);
	fl_doing_over(write->held, all->io, &err);
}

const struct fl_sink fl_api_watch_sink = { start, fl_doing_cancel, sizeof(struct fl_doing), FL_LOCAL_RETRY_LAST };

/* ---- the whole ---- */

void fl_api_watches_begin(struct fl_api_watches *all, struct fl_io *io, struct fl_loop *loop, struct fl_kube *kube,
			  struct fl_str node, struct fl_log *log)
{
	*all = (struct fl_api_watches){ .io = io, .loop = loop, .kube = kube, .log = log, .node = node };
	all->tell.fire = tell_all;
	fl_feed_absent(fl_loop_feed(loop, &fl_gpu_device_kind));
	fl_memory_begin(loop, &fl_gpu_pool_kind);
	fl_memory_begin(loop, &fl_cluster_gpu_pool_kind);
	fl_memory_begin(loop, &fl_api_watch_kind);
}

void fl_api_watches_stop(struct fl_api_watches *all)
{
	struct fl_api_watched_one *one;

	if (!all->io)
		return;
	fl_timer_stop(all->io, &all->tell);
	while ((one = all->first)) {
		all->first = one->next;
		free_one(one);
	}
}
