/* One kind, told by several sources: who has what, what goes, and what those who watch are told. */
#include "api/core.h"
#include "rig.h"
#include <stdio.h>

/* ---- a capability that only notes what it is told: +new ~changed -gone ---- */

static char notes[512];

static void note(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_demo *rocket = after ? after : before;
	size_t len = strlen(notes);

	(void)snprintf(notes + len, sizeof notes - len, "%c%.*s ", !before ? '+' : !after ? '-' : '~',
		       FL_ARG(rocket->meta.name));
	fl_dirty_key(dirty, rocket->meta.space, rocket->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	const struct fl_demo *rocket = fl_view_get(view, &fl_demo_kind, key.space, key.name);

	if (rocket)
		*(const struct fl_demo **)facts = rocket;
	return rocket != NULL;
}

static const struct fl_owner color_owner = {
	.manager = "color", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.color", NULL },
};

static void plan_color(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *rocket = *(const struct fl_demo *const *)facts;
	struct fl_demo want = { 0 };

	FL_SET(FL_IN(&want, spec), color, FL_S("red"));
	if (fl_str_starts(rocket->meta.name, FL_S("paint")))
		fl_want(plan, &color_owner, FL_REF(&fl_demo_kind, rocket), &want);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, note, false }, { 0 } };
static const struct fl_capability color = {
	.name = "color", .watches = watches, .key = &fl_demo_kind,
	.owners = (const struct fl_owner *const[]){ &color_owner, NULL },
	.facts_size = sizeof(const struct fl_demo *), .gather = gather, .plan = plan_color,
};

/* ---- steps: a source A, B (optional) or C, and what it tells ---- */

struct house {
	struct rig *rig;
	struct fl_feed *sources[3];
};

static int add_sources(struct house *house, struct rig *rig)
{
	house->rig = rig;
	house->sources[0] = rig->rockets;
	house->sources[1] = fl_loop_feed_add(rig->loop, &fl_demo_kind, "B", true, NULL);
	house->sources[2] = fl_loop_feed_add(rig->loop, &fl_demo_kind, "C", false, NULL);
	return house->sources[1] && house->sources[2] ? 0 : -FL_E_NOMEM;
}

/* "x5": the object x, at version 5, which is red from 2 on. */
static void make(struct fl_demo *rocket, struct fl_str text)
{
	int64_t version = 0;
	uint32_t len = 0;

	while (len < text.len && (text.p[len] < '0' || text.p[len] > '9'))
		len++;
	*rocket = (struct fl_demo){ 0 };
	FL_SET(FL_IN(rocket, meta), name, fl_str_sub(text, 0, len));
	FL_SET(&rocket->meta, uid, fl_str_sub(text, 0, len));
	if (len < text.len)
		FL_SET(&rocket->meta, resource_version, fl_str_sub(text, len, text.len));
	(void)fl_str_i64(rocket->meta.resource_version, &version);
	FL_SET(FL_IN(rocket, spec), replicas, (int32_t)version);
	if (version > 1)
		FL_SET(&rocket->spec, color, FL_S("red"));
}

static int step(struct house *house, struct fl_str word)
{
	struct fl_feed *feed = house->sources[word.p[0] - 'A'];
	struct fl_str rest = fl_str_sub(word, 2, word.len);
	struct fl_demo rocket;

	make(&rocket, rest);
	switch (word.p[1]) {
	case '(':
		fl_feed_begin(feed);
		break;
	case ')':
		fl_feed_synced(feed);
		break;
	case '!':
		fl_feed_absent(feed);
		break;
	case '?':
		fl_feed_awaited(feed);
		break;
	case '~':
		fl_feed_current(feed, false);
		break;
	case '^':
		fl_feed_current(feed, true);
		break;
	case '-':
		fl_feed_gone(feed, FL_S(""), rest);
		break;
	case '=':
		if (fl_feed_same(feed, FL_S(""), rocket.meta.name, rocket.meta.uid, rocket.meta.resource_version))
			break;
		return -FL_E_NOTFOUND;
	default:
		return fl_feed_put(feed, &rocket, NULL);
	}
	return 0;
}

static int steps(struct house *house, const char *text)
{
	struct fl_str rest = fl_str(text), word;
	int r = 0;

	while (r == 0 && fl_str_split(&rest, ' ', &word)) {
		r = step(house, word);
		rig_run(house->rig);
	}
	rig_sleep(house->rig, FL_NS_PER_S);   /* what was refused memory is done by now */
	return r;
}

/* What is there, as "x5 y7", by name; and whether the kind is. */
static void look(struct house *house, struct fl_buf *out)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(house->rig->loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_demo_kind);
	void *list = NULL;
	uint32_t len = fl_each_array(&each, &list);
	const struct fl_demo *rockets = list;

	for (uint32_t i = 0; i < len; i++)
		fl_buf_printf(out, "%.*s%.*s ", FL_ARG(rockets[i].meta.name), FL_ARG(rockets[i].meta.resource_version));
	fl_buf_str(out, fl_str(!fl_feed_known(house->sources[1])                ? "unknown" :
			       fl_loop_missing(house->rig->loop)                 ? "missing" :
										   "there"));
	if (fl_view_lacks(&view, &fl_demo_kind, "B"))
		fl_buf_str(out, FL_S(", lacks B"));
	if (fl_feed_known(house->sources[0]) && !fl_loop_missing(house->rig->loop) &&
	    !fl_view_current(&view, &fl_demo_kind))
		fl_buf_str(out, FL_S(", stale"));
	house->rig->nomem |= view.failed;
}

static const struct {
	const char *says, *steps, *there, *notes;
} rows[] = {
	{ "nothing is known before each source is", "A( A+x1 A) B( B+y1 B)", "x1 y1 unknown", "" },
	{ "all are synced: it is there, and each object is told once",
	  "A( A+x1 A) B( B+y1 B+x1 B) C( C)", "x1 y1 there", "~y ~x " },
	{ "an optional source that the server lacks is told, and nothing waits for it", "A( A+x1 A) C( C) B!",
	  "x1 there, lacks B", "~x " },
	{ "one that is needed and absent is missing", "A( A+x1 A) B( B+y1 B) C!", "x1 y1 missing", "" },
	{ "one that is awaited keeps the kind from being there", "A( A) B( B) C?", "missing", "" },
	{ "an absent one comes", "A( A) C( C) B! B( B+y1 B)", "y1 there", "+y " },
	{ "an absent one takes only its own with it",
	  "A( A+x1 A+y1 A) C( C) B( B+y1 B+z1 B) B!", "x1 y1 there, lacks B", "~z ~y ~x -z " },
	{ "a relist removes what its source alone told", "A( A+x1 A+y1 A) B( B+y1 B+z1 B) C( C) A( A)", "y1 z1 there",
	  "~z ~y ~x -x " },
	{ "... and all of it, when the other drops it too",
	  "A( A+y1 A) B( B+y1 B) C( C) A( A) B-y", "there", "~y -y " },
	{ "an object moves from one selector to the other: it never goes",
	  "A( A+x1 A) B( B) C( C) B+x2 A-x", "x2 there", "~x ~x " },
	{ "... or for a moment, if the new one is late", "A( A+x1 A) B( B) C( C) A-x B+x2", "x2 there", "~x -x +x " },
	{ "a relist that breaks off and begins anew",
	  "A( A+x1 A+y1 A) B( B+y1 B) C( C) A( A+x1 A( A+z1 A)", "y1 z1 there", "~y ~x +z -x " },
	{ "two relists at once", "A( A+x1 A+y1 A) B( B+y1 B+z1 B) C( C) A( B( A+y1 B+z1 A) B)", "y1 z1 there",
	  "~z ~y ~x -x " },
	{ "a source that lags behind does not turn back what another has told", "A( A+x1 A) B( B+x1 B) C( C) B+x5 A+x3",
	  "x5 there", "~x ~x " },
	{ "... nor does it lose it: what it has told late, it has",
	  "A( A) B( B+x5 B) C( C) A+x3 B-x", "x5 there", "~x " },
	{ "a server that was set back is believed when it tells all",
	  "A( A+x5 A) B( B+x5 B) C( C) A( A+x2 A) B( B+x2 B)", "x2 there", "~x ~x " },
	{ "one broken source makes all of it stale", "A( A+x1 A) B( B) C( C) B~", "x1 there, stale", "~x " },
	{ "... until it is back", "A( A+x1 A) B( B) C( C) B~ B^", "x1 there", "~x " },
	{ "... but no absent one", "A( A+x1 A) B( B~ B! C( C)", "x1 there, lacks B", "~x " },
	{ "known without being read", "A( A+x5 A) B( B=x5 B) C( C) A( A)", "x5 there", "~x " },
	{ "gone by one that never had it", "A( A+x5 A) B( B) C( C) B-x", "x5 there", "~x " },
};

TEST(several_sources_fill_one_cache)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_buf) struct fl_buf there = FL_BUF(FL_KIB);
		struct house house;
		RIG(rig, &color);

		OK(add_sources(&house, &rig));
		notes[0] = '\0';
		OK(steps(&house, row->steps));
		look(&house, &there);
		OK(rig.nomem || fl_buf_check(&there, "test", NULL) < 0 ? -FL_E_NOMEM : 0);
		CHECK_STR(fl_buf_view(&there), row->there);
		SURE_STR(fl_str(notes), row->notes);   /* what is refused memory is told of as a whole */
		CHECK(rig_at_rest(&rig));
	}
}

/* ---- own writes ---- */

TEST(a_write_stands_until_each_source_had_the_time_to_show_it)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *seen;
	struct fl_demo answer;
	struct house house;
	RIG(rig, &color);

	OK(add_sources(&house, &rig));
	OK(steps(&house, "A( A) B( B+paint1 B) C( C)"));
	OK(rig.held == 1 ? 0 : -FL_E_NOMEM);
	make(&answer, FL_S("paint2"));
	rig.held = 0;
	fl_write_done(rig.writes[0], &answer);
	rig_run(&rig);
	SURE_INT(rig.started, 1);

	OK(steps(&house, "A( A)"));   /* it is not A's, and B may be about to tell of it */
	seen = rig_see(&rig, "paint", &arena);
	SURE(seen && fl_str_eq(seen->spec.color, FL_S("red")));
	SURE_INT(rig.started, 1);

	OK(steps(&house, "C( C) B( B+paint1 B)"));   /* all asked later, and none has it: the server was set back */
	SURE_INT(rig.started, 2);
}

/* An absent source tells of nothing, and nobody waits for it. */
TEST(a_write_does_not_wait_for_a_source_that_is_absent)
{
	struct fl_demo answer;
	struct house house;
	RIG(rig, &color);

	OK(add_sources(&house, &rig));
	OK(steps(&house, "A( A+paint1 A) B! C( C)"));
	OK(rig.held == 1 ? 0 : -FL_E_NOMEM);
	make(&answer, FL_S("paint2"));
	rig.held = 0;
	fl_write_done(rig.writes[0], &answer);
	OK(steps(&house, "C( C) A( A+paint1 A)"));
	SURE_INT(rig.started, 2);
}

TEST(what_is_made_stays_while_no_source_could_tell_of_it)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_demo answer;
	struct house house;
	RIG(rig, &color);

	OK(add_sources(&house, &rig));
	OK(steps(&house, "A( A+paint1 A) B( B) C( C)"));
	OK(rig.held == 1 ? 0 : -FL_E_NOMEM);
	make(&answer, FL_S("paint2"));
	rig.held = 0;
	fl_write_done(rig.writes[0], &answer);
	OK(steps(&house, "A-paint B+paint2"));   /* the write moved it to B's selector */
	SURE(rig_see(&rig, "paint", &arena) != NULL);
	OK(steps(&house, "A( A) C( C)"));
	SURE(rig_see(&rig, "paint", &arena) != NULL);
	OK(steps(&house, "B( B)"));
	SURE(rig_see(&rig, "paint", &arena) == NULL);
	CHECK(rig_at_rest(&rig));
}

/* ---- how many, and who may be one ---- */

TEST(a_kind_has_so_many_sources)
{
	struct fl_err err = { 0 };
	struct house house;
	RIG(rig, &color);

	CHECK(!fl_loop_feed_add(rig.loop, &fl_pod_kind, "x", false, &err));
	REFUSED(-(int)err.code, FL_E_INVALID);
	OK(add_sources(&house, &rig));
	GOT(fl_loop_feed_add(rig.loop, &fl_demo_kind, "D", false, NULL));
	CHECK(!fl_loop_feed_add(rig.loop, &fl_demo_kind, "E", false, &err));
	REFUSED(-(int)err.code, FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "Rocket has 4 sources already");
}

/* ---- against a model ---- */

enum { NAMES = 6, STEPS = 200 };

/* Each source tells of its own set, as it changes and as a whole; the cache has the union. */
TEST(a_long_random_life_agrees_with_sets)
{
	bool has[3][NAMES] = { 0 }, telling[3] = { 0 }, fresh[3][NAMES] = { 0 };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct house house;
	RIG(rig, &color);

	OK(add_sources(&house, &rig));
	OK(steps(&house, "A( A) B( B) C( C)"));
	for (int i = 0; i < STEPS && !test_tortured(); i++) {
		int s = (int)(test_random() % 3), n = (int)(test_random() % NAMES), what = (int)(test_random() % 8);
		char text[16];

		(void)snprintf(text, sizeof text, "%c%c%c%d", 'A' + s, what < 4 ? '+' : '-', 'a' + n, i + 1);
		if (what < 4) {
			has[s][n] = fresh[s][n] = true;
		} else if (what < 6) {
			text[3] = '\0';
			has[s][n] = false;
		} else if (what == 6) {
			(void)snprintf(text, sizeof text, "%c(", 'A' + s);
			telling[s] = true;
			memset(fresh[s], 0, sizeof fresh[s]);
		} else if (telling[s]) {
			(void)snprintf(text, sizeof text, "%c)", 'A' + s);
			telling[s] = false;
			for (int k = 0; k < NAMES; k++)
				has[s][k] &= fresh[s][k];
		} else {
			continue;
		}
		OK(step(&house, fl_str(text)));
		rig_run(&rig);
		fl_arena_reset(&arena);
		for (int k = 0; k < NAMES; k++) {
			char name[2] = { (char)('a' + k), '\0' };

			SURE((rig_see(&rig, name, &arena) != NULL) == (has[0][k] || has[1][k] || has[2][k]));
		}
	}
}
