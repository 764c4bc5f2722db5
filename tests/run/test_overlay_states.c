/* The table of an overlay's states, walked: each state by each event (run/loop_in.h draws it). */
#include "rig.h"
#include "run/loop_in.h"
#include <stdio.h>

/* Two writes of one object, one after the other: the number of replicas into its status, and a name. */
static const struct fl_owner counter = {
	.manager = "total", .kind = &fl_demo_kind, .paths = (const char *const[]){ "status.capacity", NULL },
};
static const struct fl_owner namer = {
	.manager = "namer", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.displayName", NULL },
};
static const struct fl_owner *const owners[] = { &counter, &namer, NULL };

struct facts {
	const struct fl_demo *rocket;
};

static void by_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	fl_dirty_key(dirty, FL_S(""), ((const struct fl_demo *)(after ? after : before))->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct facts *facts = facts_;

	facts->rocket = fl_view_get(view, &fl_demo_kind, key.space, key.name);
	return facts->rocket;
}

static void plan_both(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *rocket = ((const struct facts *)facts)->rocket;
	struct fl_demo want = { 0 };

	FL_SET(FL_IN(FL_IN(&want, status), capacity), total, rocket->spec.replicas);
	FL_SET(FL_IN(&want, spec), name, FL_S("rocket"));
	fl_want(plan, &counter, FL_REF(&fl_demo_kind, rocket), &want);
	fl_want(plan, &namer, FL_REF(&fl_demo_kind, rocket), &want);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };
static const struct fl_capability two_parts = { .name = "parts", .watches = watches, .key = &fl_demo_kind,
						.owners = owners, .facts_size = sizeof(struct facts),
						.gather = gather, .plan = plan_both };

/* What the server answers, and what a feeder tells of before and after it. */
static void make_rocket(const char *version, const char *host, int total, struct fl_demo *ret)
{
	*ret = (struct fl_demo){ 0 };
	FL_SET(FL_IN(ret, meta), name, FL_S("a"));
	FL_SET(&ret->meta, uid, FL_S("uid-1"));
	FL_SET(&ret->meta, resource_version, fl_str(version));
	FL_SET(FL_IN(ret, spec), replicas, 3);
	FL_SET(&ret->spec, host, fl_str(host));
	if (total)
		FL_SET(FL_IN(FL_IN(ret, status), capacity), total, total);
}

static void tell_rocket(struct rig *rig, const char *version, const char *host, int total)
{
	struct fl_demo rocket;

	make_rocket(version, host, total, &rocket);
	(void)!fl_feed_put(rig->rockets, &rocket, NULL);
}

static struct fl_write *first_write(struct rig *rig)
{
	rig->held = 0;
	return rig->writes[0];
}

static void answer_it(struct rig *rig)
{
	struct fl_demo rocket;

	make_rocket("30", "blue", 3, &rocket);
	fl_write_done(first_write(rig), &rocket);
}

static void prepare_only(struct rig *rig)
{
	struct slot slot = { 0 };
	struct overlay *overlay = overlay_new(rig->rockets, &slot, FL_S(""), FL_S("a"));

	if (overlay)
		overlay_unuse(rig->rockets, overlay);
}

/* It ends without an answer that counts. */
static void end_it(struct rig *rig, enum overlay_state from)
{
	switch (from) {
	case OVERLAY_NEW:
		prepare_only(rig);
		break;
	case OVERLAY_CONFIRMED:
		fl_write_done(first_write(rig), NULL);
		break;
	case OVERLAY_ANSWERED:
		fl_feed_begin(rig->rockets);
		fl_feed_synced(rig->rockets);
		break;
	case OVERLAY_FAILED:
		(void)overlay_undo(rig->rockets);
		break;
	case OVERLAY_NEVER:
	case OVERLAY_LAID:
	case OVERLAY_BARE:
	case OVERLAY_ECHOED:
	case OVERLAY_GONE:
	case OVERLAY_OUT:
	case OVERLAY_STATE_COUNT_:
		fl_write_failed(first_write(rig), &(struct fl_err){ .code = FL_E_RETRY, .text = "refused" });
		break;
	}
}

static void act(struct rig *rig, enum overlay_state from, enum overlay_event event, const char *version)
{
	switch (event) {
	case ON_START:
	case ON_START_BARE:
		rig_run(rig);
		break;
	case ON_TOLD:
	case ON_TOLD_BARE:
		tell_rocket(rig, version, "green", 0);
		break;
	case ON_TOLD_ALL:
		tell_rocket(rig, version, "green", 3);
		break;
	case ON_TOLD_GONE:
		fl_feed_gone(rig->rockets, FL_S(""), FL_S("a"));
		break;
	case ON_CONFIRMED:
		(void)fl_write_seen(rig->writes[0], FL_S("20"));
		break;
	case ON_DONE:
		answer_it(rig);
		break;
	case ON_OVER:
	case ON_BACK:
	case ON_STUCK:
		end_it(rig, from);
		break;
	case OVERLAY_EVENT_COUNT_:
		break;
	}
}

struct step {
	enum overlay_event event;
	enum overlay_state to;
};

/* How a state is reached from the first one. */
static const struct step ways[OVERLAY_STATE_COUNT_][3] = {
	[OVERLAY_LAID] = { { ON_START, OVERLAY_LAID } },
	[OVERLAY_BARE] = { { ON_START_BARE, OVERLAY_BARE } },
	[OVERLAY_ECHOED] = { { ON_START, OVERLAY_LAID }, { ON_TOLD_ALL, OVERLAY_ECHOED } },
	[OVERLAY_CONFIRMED] = { { ON_START, OVERLAY_LAID }, { ON_TOLD_ALL, OVERLAY_ECHOED },
				{ ON_CONFIRMED, OVERLAY_CONFIRMED } },
	[OVERLAY_GONE] = { { ON_START, OVERLAY_LAID }, { ON_TOLD_GONE, OVERLAY_GONE } },
	[OVERLAY_ANSWERED] = { { ON_START, OVERLAY_LAID }, { ON_DONE, OVERLAY_ANSWERED } },
	[OVERLAY_FAILED] = { { ON_START, OVERLAY_LAID }, { ON_STUCK, OVERLAY_FAILED } },
};

enum { FIRST, SECOND };   /* SECOND: the write before it has been answered, and no feeder has told of that */

static const struct row {
	const char *says;
	int write;
	enum overlay_state from;
	enum overlay_event event;
	enum overlay_state to;
	const char *shows;             /* host, total, and what the second write adds */
	const char *version;           /* that is told; NULL: newer than all */
} walk[] = {
	{ "new, starts", FIRST, OVERLAY_NEW, ON_START, OVERLAY_LAID, "old 3" },
	{ "new, starts without memory", FIRST, OVERLAY_NEW, ON_START_BARE, OVERLAY_BARE, "old 0" },
	{ "new, is not started", FIRST, OVERLAY_NEW, ON_OVER, OVERLAY_OUT, "old 0" },

	{ "laid, a feeder tells", FIRST, OVERLAY_LAID, ON_TOLD, OVERLAY_LAID, "green 3" },
	{ "laid, a feeder tells without memory", FIRST, OVERLAY_LAID, ON_TOLD_BARE, OVERLAY_BARE, "green 0" },
	{ "laid, the echo comes", FIRST, OVERLAY_LAID, ON_TOLD_ALL, OVERLAY_ECHOED, "green 3" },
	{ "laid, the object goes", FIRST, OVERLAY_LAID, ON_TOLD_GONE, OVERLAY_GONE, "gone" },
	{ "laid, is answered", FIRST, OVERLAY_LAID, ON_DONE, OVERLAY_ANSWERED, "blue 3" },
	{ "laid, fails", FIRST, OVERLAY_LAID, ON_OVER, OVERLAY_OUT, "old 0" },
	{ "laid over an answer, fails", SECOND, OVERLAY_LAID, ON_BACK, OVERLAY_ANSWERED, "blue 3" },
	{ "laid, fails without memory", FIRST, OVERLAY_LAID, ON_STUCK, OVERLAY_FAILED, "old 3" },
	{ "laid over an answer, an older one is told", SECOND, OVERLAY_LAID, ON_TOLD, OVERLAY_LAID, "blue 3 rocket",
	  "25" },

	{ "bare, a feeder tells", FIRST, OVERLAY_BARE, ON_TOLD, OVERLAY_LAID, "green 3" },
	{ "bare, a feeder tells without memory", FIRST, OVERLAY_BARE, ON_TOLD_BARE, OVERLAY_BARE, "green 0" },
	{ "bare, the echo comes", FIRST, OVERLAY_BARE, ON_TOLD_ALL, OVERLAY_ECHOED, "green 3" },
	{ "bare, the object goes", FIRST, OVERLAY_BARE, ON_TOLD_GONE, OVERLAY_GONE, "gone" },
	{ "bare, is answered", FIRST, OVERLAY_BARE, ON_DONE, OVERLAY_ANSWERED, "blue 3" },
	{ "bare, fails", FIRST, OVERLAY_BARE, ON_OVER, OVERLAY_OUT, "old 0" },
	{ "bare over an answer, fails", SECOND, OVERLAY_BARE, ON_BACK, OVERLAY_ANSWERED, "blue 3" },

	{ "echoed, a feeder tells", FIRST, OVERLAY_ECHOED, ON_TOLD, OVERLAY_LAID, "green 3" },
	{ "echoed, a feeder tells without memory", FIRST, OVERLAY_ECHOED, ON_TOLD_BARE, OVERLAY_BARE, "green 0" },
	{ "echoed, all of it is told again", FIRST, OVERLAY_ECHOED, ON_TOLD_ALL, OVERLAY_ECHOED, "green 3" },
	{ "echoed, the object goes", FIRST, OVERLAY_ECHOED, ON_TOLD_GONE, OVERLAY_GONE, "gone" },
	{ "echoed, the answer is that echo", FIRST, OVERLAY_ECHOED, ON_CONFIRMED, OVERLAY_CONFIRMED, "green 3" },
	{ "echoed, is answered", FIRST, OVERLAY_ECHOED, ON_DONE, OVERLAY_ANSWERED, "blue 3" },
	{ "echoed, fails", FIRST, OVERLAY_ECHOED, ON_OVER, OVERLAY_OUT, "green 3" },

	{ "confirmed, a feeder tells", FIRST, OVERLAY_CONFIRMED, ON_TOLD, OVERLAY_CONFIRMED, "green 0" },
	{ "confirmed, all of it is told again", FIRST, OVERLAY_CONFIRMED, ON_TOLD_ALL, OVERLAY_CONFIRMED, "green 3" },
	{ "confirmed, the object goes", FIRST, OVERLAY_CONFIRMED, ON_TOLD_GONE, OVERLAY_CONFIRMED, "gone" },
	{ "confirmed, is answered", FIRST, OVERLAY_CONFIRMED, ON_OVER, OVERLAY_OUT, "green 3" },

	{ "gone, a feeder tells", FIRST, OVERLAY_GONE, ON_TOLD, OVERLAY_LAID, "green 3" },
	{ "gone, a feeder tells without memory", FIRST, OVERLAY_GONE, ON_TOLD_BARE, OVERLAY_BARE, "green 0" },
	{ "gone, all of it is told", FIRST, OVERLAY_GONE, ON_TOLD_ALL, OVERLAY_ECHOED, "green 3" },
	{ "gone, and told so again", FIRST, OVERLAY_GONE, ON_TOLD_GONE, OVERLAY_GONE, "gone" },
	{ "gone, is answered", FIRST, OVERLAY_GONE, ON_DONE, OVERLAY_OUT, "gone" },
	{ "gone, fails", FIRST, OVERLAY_GONE, ON_OVER, OVERLAY_OUT, "gone" },

	{ "answered, the next write starts", FIRST, OVERLAY_ANSWERED, ON_START, OVERLAY_LAID, "blue 3 rocket" },
	{ "answered, it starts without memory", FIRST, OVERLAY_ANSWERED, ON_START_BARE, OVERLAY_BARE, "blue 3" },
	{ "answered, a newer one is told", FIRST, OVERLAY_ANSWERED, ON_TOLD, OVERLAY_OUT, "green 0" },
	{ "answered, an older one is told", FIRST, OVERLAY_ANSWERED, ON_TOLD, OVERLAY_ANSWERED, "blue 3", "25" },
	{ "answered, all of it is told", FIRST, OVERLAY_ANSWERED, ON_TOLD_ALL, OVERLAY_OUT, "green 3", "30" },
	{ "answered, the object goes", FIRST, OVERLAY_ANSWERED, ON_TOLD_GONE, OVERLAY_OUT, "gone" },
	{ "answered, no later full state names it", FIRST, OVERLAY_ANSWERED, ON_OVER, OVERLAY_OUT, "gone" },

	{ "failed, a feeder tells", FIRST, OVERLAY_FAILED, ON_TOLD, OVERLAY_OUT, "green 0" },
	{ "failed, all of it is told", FIRST, OVERLAY_FAILED, ON_TOLD_ALL, OVERLAY_OUT, "green 3" },
	{ "failed, the object goes", FIRST, OVERLAY_FAILED, ON_TOLD_GONE, OVERLAY_OUT, "gone" },
	{ "failed, there is memory", FIRST, OVERLAY_FAILED, ON_OVER, OVERLAY_OUT, "old 0" },
	{ "failed over an answer, there is memory", SECOND, OVERLAY_FAILED, ON_BACK, OVERLAY_ANSWERED, "blue 3" },
	{ "failed, there is no memory again", FIRST, OVERLAY_FAILED, ON_STUCK, OVERLAY_FAILED, "old 3" },
	{ "failed over an answer, an older one is told", SECOND, OVERLAY_FAILED, ON_TOLD, OVERLAY_FAILED,
	  "blue 3 rocket", "25" },
};

static long refused_from;
static bool (*not_refused)(size_t size);

static bool refuse_the_rest(size_t size)
{
	return refused_from-- <= 0 || not_refused(size);
}

static bool is_starved(enum overlay_event event)
{
	return event == ON_START_BARE || event == ON_TOLD_BARE || event == ON_STUCK;
}

static enum overlay_state state_of(const struct rig *rig)
{
	const struct overlay *overlay = overlay_find(rig->rockets, FL_S(""), FL_S("a"));

	return overlay ? overlay->state : OVERLAY_OUT;
}

/* One step; of one that is starved, all allocations but the first `n` are refused. */
static enum overlay_state take_step(struct rig *rig, enum overlay_state from, enum overlay_event event, long n,
				    const char *version)
{
	not_refused = fl_mem_refuse;
	refused_from = n;
	if (is_starved(event))
		fl_mem_refuse = refuse_the_rest;
	act(rig, from, event, version);
	fl_mem_refuse = not_refused;
	return state_of(rig);
}

/* False: with this n a starved step does not lead where it should. */
static bool go(struct rig *rig, enum overlay_state to, long n)
{
	enum overlay_state at = OVERLAY_NEW;

	for (const struct step *step = ways[to]; at != to; step++) {
		if (take_step(rig, at, step->event, n, "20") != step->to)
			return false;
		at = step->to;
	}
	return true;
}

static void show(struct rig *rig, char text[static 64])
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket = rig_see(rig, "a", &arena);

	(void)snprintf(text, 64, "gone");
	if (rocket)
		(void)snprintf(text, 64, "%.*s %d%s%.*s", FL_ARG(rocket->spec.host), rocket->status.capacity.total,
			       rocket->spec.name.len ? " " : "", FL_ARG(rocket->spec.name));
}

/* Where the event of a row leads; OVERLAY_NEVER: with these n the state before it is not reached. */
static enum overlay_state walk_row(const struct row *row, long way, long n, char text[static 64])
{
	FL_AUTO(rig) struct rig rig = { 0 };
	enum overlay_state to;

	if (rig_init(&rig, (const struct fl_capability *const[]){ &two_parts, NULL }, false) < 0 ||
	    rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3,\"host\":\"old\"}}") < 0 ||
	    rig_tell_all(&rig) < 0)
		return OVERLAY_NEVER;
	if (row->write == SECOND && !go(&rig, OVERLAY_ANSWERED, way))
		return OVERLAY_NEVER;
	if (!go(&rig, row->from, way))
		return OVERLAY_NEVER;
	to = take_step(&rig, row->from, row->event, n, row->version ? row->version : "40");
	show(&rig, text);
	return to;
}

/* It refuses memory itself; the same code is tortured by test_overlay. */
TEST_ONCE(each_event_leads_from_each_state_where_the_table_says)
{
	EACH_ROW (row, walk) {
		enum overlay_state to = OVERLAY_NEVER;
		char text[64] = "";
		bool found = false;

		for (long way = 0; way < 100 && !found; way++)
			for (long n = 0; n < 100 && !found; n++) {
				to = walk_row(row, way, n, text);
				found = to == row->to && strcmp(text, row->shows) == 0;
				if (to == OVERLAY_NEVER || !is_starved(row->event))
					break;
			}
		CHECK_STR(fl_str(text), row->shows);
		CHECK_INT(to, row->to);
	}
}
