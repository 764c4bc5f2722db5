#include "rig.h"
#include "api/walk.h"
#include "io/sys.h"
#include "patch.h"
#include <stdio.h>
#include <stdlib.h>

static const uint64_t seed[2] = { 7, 8 };

/* ---- a clock ---- */

struct clock {
	struct fl_sys sys;
	uint64_t now;
};

static uint64_t clock_now(struct fl_sys *sys)
{
	return fl_container(sys, struct clock, sys)->now;
}

static int64_t clock_wall(struct fl_sys *sys)
{
	return 1700000000000000000 + (int64_t)clock_now(sys);
}

static int clock_wait(struct fl_sys *sys, uint64_t until, struct fl_io_event *events, unsigned max)
{
	struct clock *clock = fl_container(sys, struct clock, sys);

	(void)events;
	(void)max;
	if (until != FL_NEVER && until > clock->now)
		clock->now = until;
	return 0;
}

static void clock_settle(struct fl_sys *sys)
{
	(void)sys;
}

static void clock_free(struct fl_sys *sys)
{
	fl_free(fl_container(sys, struct clock, sys));
}

struct fl_io *rig_clock(void)
{
	struct clock *clock = fl_zalloc(sizeof *clock);

	if (!clock)
		return NULL;
	clock->now = FL_NS_PER_S;
	clock->sys = (struct fl_sys){ .now = clock_now, .wall = clock_wall, .wait = clock_wait, .settle = clock_settle,
				      .free = clock_free };
	return fl_io_new(&clock->sys, NULL);
}

/* ---- the sink ---- */

static void start(void *self, struct fl_write *write)
{
	struct rig *rig = self;

	rig->started++;
	if (rig->held < RIG_HELD)
		rig->writes[rig->held++] = write;
	if (rig->held > rig->most)
		rig->most = rig->held;
}

static void cancel(void *self, struct fl_write *write)
{
	struct rig *rig = self;

	for (uint32_t i = 0; i < rig->held; i++)
		if (rig->writes[i] == write)
			rig->writes[i] = rig->writes[--rig->held];
}

static const struct fl_sink sink = { start, cancel };

static struct fl_write *take(struct rig *rig)
{
	struct fl_write *write = rig->held ? rig->writes[0] : NULL;

	if (write)
		memmove(rig->writes, rig->writes + 1, --rig->held * sizeof rig->writes[0]);
	return write;
}

static void event(void *self, const struct fl_told_event *event)
{
	struct rig *rig = self;

	fl_buf_printf(&rig->events, "%s %.*s %.*s %.*s\n", event->warning ? "Warning" : "Normal",
		      FL_ARG(event->ref.name),
		      FL_ARG(event->type), FL_ARG(event->reason));
}

static bool may_write(void *self)
{
	return ((struct rig *)self)->may_write;
}

static bool log_line(void *self, const char *line, size_t len)
{
	fl_buf_str(&((struct rig *)self)->lines, (struct fl_str){ line, (uint32_t)len });
	return true;
}

static uint64_t log_now(void *self)
{
	return fl_clock(((struct rig *)self)->io);
}

static int64_t log_wall(void *self)
{
	(void)self;
	return 0;
}

/* ---- the rig ---- */

int rig_init(struct rig *rig, const struct fl_capability *const *capabilities, bool standby)
{
	struct fl_loop_options options = { .seed = { 7, 8 }, .standby = standby, .may_write = may_write, .event = event,
					   .arg = rig };
	struct fl_source source = { &fl_demo_kind, NULL, &sink, rig };
	struct fl_err err = { 0 };

	rig->may_write = true;
	rig->events = FL_BUF(64 * FL_KIB);
	fl_interns_init(&rig->interns, seed);
	fl_cache_init(&rig->truth, &fl_demo_kind, NULL, &rig->interns, seed);
	rig->io = rig_clock();
	rig->metrics = fl_metrics_new(seed, &err);
	if (!rig->io || !rig->metrics)
		return -FL_E_NOMEM;
	options.metrics = rig->metrics;
	fl_log_init(&rig->log, &(struct fl_log_to){ log_line, log_now, log_wall, rig }, NULL);
	rig->lines = FL_BUF(64 * FL_KIB);
	options.log = &rig->log;
	rig->loop = fl_loop_new(rig->io, &options, &err);
	if (!rig->loop || fl_loop_source(rig->loop, &source, &err) < 0)
		return -(int)err.code;
	for (; *capabilities; capabilities++)
		if (fl_loop_capability(rig->loop, *capabilities, &err) < 0)
			return -(int)err.code;
	rig->rockets = fl_loop_feed(rig->loop, &fl_demo_kind);
	return 0;
}

void rig_free(struct rig *rig)
{
	rig->loop = fl_loop_free(rig->loop);
	rig->metrics = fl_metrics_free(rig->metrics);
	rig->io = fl_io_free(rig->io);
	if (rig->truth.kind)
		fl_cache_free(&rig->truth);
	fl_interns_free(&rig->interns);
	fl_buf_free(&rig->events);
	fl_buf_free(&rig->lines);
}

static int keep(struct rig *rig, struct fl_demo *rocket, struct fl_arena *arena)
{
	struct fl_cache_change change;
	struct fl_demo own;
	int r;

	FL_SET(FL_IN(rocket, meta), resource_version,
	       fl_arena_printf(arena, "%llu", (unsigned long long)++rig->version));
	if (!rocket->meta.has.uid)
		FL_SET(&rocket->meta, uid, fl_arena_printf(arena, "uid-%llu", (unsigned long long)rig->version));
	if (!rocket->meta.uid.p || !rocket->meta.resource_version.p)
		return -FL_E_NOMEM;
	r = fl_copy(fl_demo_bind(), rocket, arena, &own, NULL);   /* what it was made of may go */
	if (r < 0)
		return r;
	*rocket = own;
	r = fl_cache_put(&rig->truth, rocket, &change, NULL);
	if (r == 0)
		fl_entry_drop(&rig->truth, change.before);
	return r;
}

static const struct fl_demo *unpack(struct rig *rig, const struct fl_entry *entry, struct fl_arena *arena)
{
	struct fl_demo *rocket = entry ? fl_arena_get(arena, sizeof *rocket) : NULL;

	if (entry && (!rocket || fl_entry_unpack(&rig->truth, entry, arena, rocket, NULL) < 0)) {
		rig->nomem = true;
		return NULL;
	}
	return rocket;
}

const struct fl_demo *rig_get(struct rig *rig, const char *name, struct fl_arena *arena)
{
	return unpack(rig, fl_cache_get(&rig->truth, FL_S(""), fl_str(name)), arena);
}

int rig_tell(struct rig *rig, const char *name)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket = rig_get(rig, name, &arena);

	if (rig->nomem)
		return -FL_E_NOMEM;
	if (rocket)
		return fl_feed_put(rig->rockets, rocket, NULL);
	fl_feed_gone(rig->rockets, FL_S(""), fl_str(name));
	return 0;
}

int rig_tell_all(struct rig *rig)
{
	uint32_t at = 0;
	struct fl_entry *entry;

	fl_feed_begin(rig->rockets);
	while ((entry = fl_cache_each(&rig->truth, &at))) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_demo rocket;
		int r = fl_entry_unpack(&rig->truth, entry, &arena, &rocket, NULL);

		r = r < 0 ? r : fl_feed_put(rig->rockets, &rocket, NULL);
		if (r < 0)
			return r;
	}
	fl_feed_synced(rig->rockets);
	return 0;
}

int rig_put(struct rig *rig, const char *json)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *before;
	struct fl_demo rocket;
	char name[64];
	int r = test_read(fl_demo_bind(), json, 0, &arena, &rocket, NULL);

	if (r < 0)
		return r;
	(void)snprintf(name, sizeof name, "%.*s", FL_ARG(rocket.meta.name));
	before = rig_get(rig, name, &arena);
	if (before && before->has.status && !rocket.has.status)
		FL_SET(&rocket, status, before->status);
	if (before)
		FL_SET(&rocket.meta, uid, before->meta.uid);
	r = rig->nomem ? -FL_E_NOMEM : keep(rig, &rocket, &arena);
	return r < 0 || rig->mute ? r : rig_tell(rig, name);
}

int rig_gone(struct rig *rig, const char *name)
{
	struct fl_cache_change change = fl_cache_remove(&rig->truth, FL_S(""), fl_str(name));

	rig->version++;
	fl_entry_drop(&rig->truth, change.before);
	return rig->mute ? 0 : rig_tell(rig, name);
}

const struct fl_demo *rig_see(struct rig *rig, const char *name, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(rig->loop, arena);
	const struct fl_demo *rocket = fl_view_get(&view, &fl_demo_kind, FL_S(""), fl_str(name));

	rig->nomem |= view.failed;
	return rocket;
}

static int patched(const struct fl_write *write, const struct fl_demo *have, struct fl_arena *arena,
		   struct fl_demo *ret)
{
	FL_AUTO(fl_buf) struct fl_buf before = FL_BUF(64 * FL_KIB), after = FL_BUF(64 * FL_KIB);
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	yyjson_doc *doc, *patch;
	yyjson_mut_doc *changed;
	struct fl_jw w = FL_JW(&after);
	int r = test_write(fl_demo_bind(), have, &before, NULL);

	r = r < 0 ? r : fl_json_read(&space, fl_buf_view(&before), 0, &doc, NULL);
	r = r < 0 ? r : fl_json_read(&space, write->patch, FL_JSON_STRICT, &patch, NULL);
	r = r < 0 ? r : fl_patch_json(&space, yyjson_doc_get_root(doc), yyjson_doc_get_root(patch), &changed, NULL);
	if (r < 0)
		return r;
	fl_jw_mut(&w, yyjson_mut_doc_get_root(changed));
	return after.failed ? -FL_E_NOMEM : test_read(fl_demo_bind(), after.p, 0, arena, ret, NULL);
}

/* What the server makes of it; NULL: it is gone. */
static int carry_out(struct rig *rig, const struct fl_write *write, struct fl_arena *arena, struct fl_demo *ret,
		     bool *ret_gone)
{
	const struct fl_entry *entry = fl_cache_get(&rig->truth, write->ref.space, write->ref.name);
	struct fl_demo have = { 0 };
	int r = entry ? fl_entry_unpack(&rig->truth, entry, arena, &have, NULL) : 0;

	if (r < 0)
		return r;
	*ret_gone = write->what == FL_WANT_GONE;
	if (*ret_gone) {
		struct fl_cache_change change = fl_cache_remove(&rig->truth, write->ref.space, write->ref.name);

		fl_entry_drop(&rig->truth, change.before);
		return 0;
	}
	r = write->shared ? patched(write, &have, arena, ret) :
			    fl_owned_lay(write->owner, write->object, &have, arena, ret, NULL);
	if (r < 0)
		return r;
	FL_SET(FL_IN(ret, meta), name, write->ref.name);
	if (rig->webhook)
		rig->webhook(ret);
	return keep(rig, ret, arena);
}

int rig_serve(struct rig *rig)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_write *write = take(rig);
	struct fl_demo rocket;
	char name[64];
	bool gone, seen;
	int r;

	if (!write)
		return 0;
	(void)snprintf(name, sizeof name, "%.*s", FL_ARG(write->ref.name));
	r = carry_out(rig, write, &arena, &rocket, &gone);
	if (r < 0) {
		fl_write_failed(write, &(struct fl_err){ .code = FL_E_RETRY, .text = "the server had no memory" });
		return r;
	}
	if (rig->early && rig_tell(rig, name) < 0)
		rig->nomem = true;
	seen = !gone && fl_write_seen(write, rocket.meta.resource_version);
	rig->unread += seen;
	if (gone)
		fl_write_gone(write);
	else
		fl_write_done(write, seen || rig->no_answer ? NULL : &rocket);
	return rig->mute ? 0 : rig_tell(rig, name);
}

void rig_refuse(struct rig *rig, enum fl_code code)
{
	struct fl_write *write = take(rig);
	struct fl_err err = { .code = code, .text = "refused" };

	if (write)
		fl_write_failed(write, &err);
}

/* ---- time ---- */

void rig_run(struct rig *rig)
{
	for (int turns = 0; turns < 10000 && fl_io_next(rig->io) <= fl_clock(rig->io); turns++)
		rig->nomem |= fl_io_turn(rig->io, 0, NULL) < 0;
}

void rig_sleep(struct rig *rig, uint64_t ns)
{
	uint64_t until = fl_clock(rig->io) + ns;

	rig_run(rig);
	while (fl_clock(rig->io) < until) {
		rig->nomem |= fl_io_turn(rig->io, until, NULL) < 0;
		rig_run(rig);
	}
}

bool rig_waits(const struct rig *rig)
{
	return fl_io_next(rig->io) == FL_NEVER;
}

bool rig_at_rest(const struct rig *rig)
{
	return rig_waits(rig) && fl_loop_idle(rig->loop);
}

int rig_settle(struct rig *rig)
{
	for (int i = 0; i < 200; i++) {
		rig_run(rig);
		if (!rig->held)
			return rig->nomem ? -FL_E_NOMEM : 0;
		if (rig_serve(rig) < 0)
			return -FL_E_NOMEM;
	}
	return 0;
}

double rig_metric(struct rig *rig, const char *line)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	const char *at;

	if (fl_metrics_write(rig->metrics, &text, NULL) < 0) {
		rig->nomem = true;
		return -1;
	}
	at = strstr(text.p, line);
	return at ? strtod(at + strlen(line), NULL) : -1;
}
