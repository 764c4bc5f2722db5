/* What is told of writes that a server refuses, or that fail: each reason once, and the end. */
#include "rig.h"

static const struct fl_owner owner = {
	.manager = "fairlead-color", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.color", NULL },
};
static const struct fl_owner *const owners[] = { &owner, NULL };

static void by_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_demo *rocket = after ? after : before;

	fl_dirty_key(dirty, rocket->meta.space, rocket->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	const struct fl_demo **rocket = facts;

	*rocket = fl_view_get(view, &fl_demo_kind, key.space, key.name);
	return *rocket;
}

/* Red, while there is one. */
static void plan(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *const *rocket = facts;
	struct fl_demo want = { 0 };

	FL_SET(FL_IN(&want, spec), color, FL_S("red"));
	if ((*rocket)->spec.replicas)
		fl_want(plan, &owner, FL_REF(&fl_demo_kind, *rocket), &want);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };
static const struct fl_capability color = {
	.name = "color", .watches = watches, .key = &fl_demo_kind, .owners = owners, .facts_size = sizeof(void *),
	.gather = gather, .plan = plan,
};

static unsigned lines_with(struct rig *rig, const char *words)
{
	unsigned count = 0;

	fl_buf_char(&rig->lines, '\0');
	rig->lines.len -= !rig->lines.failed;
	for (const char *at = rig->lines.p; at && (at = strstr(at, words)); at++)
		count++;
	return count;
}

/* The next try, which waits ever longer. */
static int refuse_next(struct rig *rig, enum fl_code code)
{
	for (int i = 0; i < 4000 && !rig->held; i++)
		rig_sleep(rig, 100 * FL_NS_PER_MS);
	if (!rig->held)
		return -FL_E_NOMEM;
	rig_refuse(rig, code);
	return 0;
}

static const struct {
	const char *says;
	enum fl_code code;
	unsigned lines;                /* until then */
	uint32_t refused;
} tries[] = {
	{ "the first failure", FL_E_DENIED, 1, 1 },
	{ "the same again", FL_E_DENIED, 1, 1 },
	{ "another reason", FL_E_INVALID, 2, 1 },
	{ "one that was told", FL_E_DENIED, 2, 1 },
	{ "a server that is away refuses nothing", FL_E_RETRY, 3, 0 },
	{ "and is back", FL_E_DENIED, 3, 1 },
};

TEST(a_refused_write_is_logged_once_for_each_reason_and_so_is_its_end)
{
	RIG(rig, &color);

	OK(rig_put(&rig, ROCKET("a", 1)));
	OK(rig_tell_all(&rig));
	EACH_ROW (row, tries) {
		struct fl_refused refused;

		OK(refuse_next(&rig, row->code));
		refused = fl_loop_refused(rig.loop);
		SURE_INT(lines_with(&rig, "write failed, will retry"), row->lines);
		SURE_INT(refused.keys, row->refused);
		if (refused.keys) {
			CHECK(refused.kind == &fl_demo_kind && refused.code == row->code);
			CHECK_STR(fl_str(refused.capability), "color");
		}
		CHECK_INT(lines_with(&rig, "no write fails any more"), 0);
	}
	SURE_INT(lines_with(&rig, "\"capability\":\"color\",\"space\":\"\",\"name\":\"a\""), 3);
	rig_sleep(&rig, 60 * FL_NS_PER_S);
	OK(rig_settle(&rig));
	SURE_INT(fl_loop_refused(rig.loop).keys, 0);
	SURE_INT(lines_with(&rig, "no write fails any more"), 1);
	SURE(rig_at_rest(&rig));
}

TEST(what_is_not_wanted_any_more_is_refused_no_more)
{
	RIG(rig, &color);

	OK(rig_put(&rig, ROCKET("a", 1)));
	OK(rig_put(&rig, ROCKET("b", 1)));
	OK(rig_tell_all(&rig));
	OK(refuse_next(&rig, FL_E_DENIED));
	OK(refuse_next(&rig, FL_E_DENIED));
	SURE_INT(fl_loop_refused(rig.loop).keys, 2);
	OK(rig_put(&rig, ROCKET("a", 0)));
	rig_run(&rig);
	SURE_INT(fl_loop_refused(rig.loop).keys, 1);
	OK(rig_gone(&rig, "b"));
	rig_run(&rig);
	SURE_INT(fl_loop_refused(rig.loop).keys, 0);
}

static const struct {
	const char *says;
	enum fl_code code;
	uint64_t least, most;
} lasts[] = {
	{ "one that was away for minutes has missed it", FL_E_RETRY, 0, 45 * FL_NS_PER_S },
	{ "one that did not answer", FL_E_TIMEOUT, 0, 45 * FL_NS_PER_S },
	{ "one that refuses it need not be asked so often", FL_E_DENIED, 300 * FL_NS_PER_S, 450 * FL_NS_PER_S },
};

TEST(i9_what_a_server_that_was_away_has_missed_is_written_soon_after_its_return)
{
	EACH_ROW_ALONE (row, lasts) {
		uint64_t began;
		RIG(rig, &color);

		OK(rig_put(&rig, ROCKET("a", 1)));
		OK(rig_tell_all(&rig));
		for (int i = 0; i < 13; i++)
			OK(refuse_next(&rig, row->code));
		began = fl_clock(rig.io);
		while (!rig.held && fl_clock(rig.io) - began < 500 * FL_NS_PER_S)
			rig_sleep(&rig, 100 * FL_NS_PER_MS);
		SURE(fl_clock(rig.io) - began >= row->least && fl_clock(rig.io) - began <= row->most + FL_NS_PER_S);
		OK(rig_settle(&rig));
		SURE(rig_at_rest(&rig));
	}
}
