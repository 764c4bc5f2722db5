/* What another writer reverts each time: it is reported, writes pause, and it ends by itself, whatever is wanted. */
#include "keys_check.h"
#include "rig.h"
#include <stdio.h>

/* ---- a capability that wants a little of everything ---- */

static const struct fl_owner total_owner = {
	.manager = "fairlead-total", .kind = &fl_demo_kind, .paths = (const char *const[]){ "status.capacity", NULL },
};
static const struct fl_owner *const owners[] = { &total_owner, NULL };
static const struct fl_shared finalizers = { "fairlead-hold", &fl_demo_kind, "metadata.finalizers", NULL };

struct facts {
	struct fl_ref ref;
	const struct fl_demo *rocket;
	struct fl_str contested, item, gone;
};

static void by_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	fl_dirty_key(dirty, FL_S(""), ((const struct fl_demo *)(after ? after : before))->meta.name);
}

static struct fl_str hold = { "fairlead/hold", 13 }, second = { "fairlead/second", 15 };

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct facts *f = facts_;

	f->rocket = fl_view_get(view, &fl_demo_kind, FL_S(""), key.name);
	f->ref = f->rocket ? FL_REF(&fl_demo_kind, f->rocket) : key;
	f->contested = fl_view_contested(view, &total_owner, FL_S(""), key.name);
	f->item = fl_view_contested_want(view, &(struct fl_want){ .what = FL_WANT_ITEM, .shared = &finalizers,
								  .ref = f->ref, .object = &hold });
	f->gone = fl_view_contested_want(view, &(struct fl_want){ .what = FL_WANT_GONE, .ref = f->ref });
	return f->rocket || f->gone.p;
}

/* spec.replicas is what should be in status.capacity. A rocket that is armed should not be; one with a serial is
 * deleted by its name alone, as what our own feeders tell. spec.host says what of its
 * finalizers: hold, free, both. */
static void plan_it(const void *facts_, struct fl_plan *plan)
{
	const struct facts *f = facts_;
	struct fl_ref without_uid = { &fl_demo_kind, FL_S(""), f->ref.name, FL_S("") };
	struct fl_demo want = { 0 };

	if (f->contested.p)
		fl_say(plan, f->ref, "Contest", "total %.*s", FL_ARG(f->contested));
	if (f->item.p)
		fl_say(plan, f->ref, "Contest", "hold %.*s", FL_ARG(f->item));
	if (f->gone.p)
		fl_say(plan, f->ref, "Contest", "gone %.*s", FL_ARG(f->gone));
	if (!f->rocket)
		return;
	if (f->rocket->spec.armed)
		fl_want_gone(plan, f->rocket->spec.serial ? without_uid : f->ref);
	if (fl_str_eq(f->rocket->spec.host, FL_S("hold")) || fl_str_eq(f->rocket->spec.host, FL_S("both")))
		fl_want_item(plan, &finalizers, f->ref, &hold);
	if (fl_str_eq(f->rocket->spec.host, FL_S("both")))
		fl_want_item(plan, &finalizers, f->ref, &second);
	if (fl_str_eq(f->rocket->spec.host, FL_S("free")))
		fl_want_no_item(plan, &finalizers, f->ref, &hold);
	if (!f->rocket->spec.has.replicas)
		return;
	FL_SET(FL_IN(FL_IN(&want, status), capacity), total, f->rocket->spec.replicas);
	fl_want(plan, &total_owner, f->ref, &want);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };
static const struct fl_capability all = { .name = "all", .watches = watches, .key = &fl_demo_kind, .owners = owners,
					  .facts_size = sizeof(struct facts), .gather = gather, .plan = plan_it };

/* ---- one that asks about what is the other's ---- */

static uint32_t asked;
static bool saw;

static bool ask(struct fl_view *view, struct fl_ref key, void *facts)
{
	(void)facts;
	asked++;
	saw = fl_view_contested(view, &total_owner, FL_S(""), key.name).p != NULL;
	return false;
}

static void plan_nothing(const void *facts, struct fl_plan *plan)
{
	(void)facts;
	(void)plan;
}

static void by_nothing(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	(void)dirty;
}

static const struct fl_watched deaf_watches[] = { { &fl_demo_kind, by_nothing, false }, { 0 } };
static const struct fl_capability curious = { .name = "curious", .watches = watches, .key = &fl_demo_kind,
					      .facts_size = 1, .gather = ask, .plan = plan_nothing };
static const struct fl_capability deaf = { .name = "deaf", .watches = deaf_watches, .key = &fl_demo_kind,
					   .facts_size = 1, .gather = ask, .plan = plan_nothing };

/* ---- contests ---- */

#define FINALIZED(host, list) \
	"{\"metadata\":{\"name\":\"a\",\"finalizers\":[" list "]},\"spec\":{\"host\":\"" host "\"}}"
#define TAKEN "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3},\"status\":{\"capacity\":{\"total\":9}}}"
#define ARMED(name) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"armed\":true}}"

static void strips_total(struct fl_demo *rocket)
{
	FL_UNSET(&rocket->status, capacity);
}

static void strips_hold(struct fl_demo *rocket)
{
	FL_UNSET(&rocket->meta, finalizers);
	rocket->meta.finalizers.len = 0;
}

static const struct {
	const char *says;
	const char *begins, *rival;    /* the rival puts this after each of our writes */
	void (*webhook)(struct fl_demo *rocket);
	uint32_t writes;
	const char *words;
} contests[] = {
	{ "a field that another writer takes", ROCKET("a", 3), TAKEN, NULL, FL_CONTEST_TRIES,
	  "all: contested: status.capacity.total: reverted by another writer each time fairlead-total writes it" },
	{ "a field that a webhook takes", ROCKET("a", 3), NULL, strips_total, 1,
	  "all: contested: status.capacity: reverted by another writer each time fairlead-total writes it" },
	{ "an item that another writer takes out", FINALIZED("hold", ""), FINALIZED("hold", ""), NULL,
	  FL_CONTEST_TRIES,
	  "all: contested: metadata.finalizers[fairlead/hold]: removed by another writer each time "
	  "fairlead-hold adds it" },
	{ "an item that a webhook takes out", FINALIZED("hold", ""), NULL, strips_hold, 1,
	  "all: contested: metadata.finalizers[fairlead/hold]: removed by another writer each time "
	  "fairlead-hold adds it" },
	{ "an item that another writer puts back", FINALIZED("free", "\"fairlead/hold\""),
	  FINALIZED("free", "\"fairlead/hold\""), NULL, FL_CONTEST_TRIES,
	  "all: contested: metadata.finalizers[fairlead/hold]: added again by another writer each time "
	  "fairlead-hold removes it" },
	{ "an object that another writer makes again", ARMED("a"), ARMED("a"), NULL, FL_CONTEST_TRIES,
	  "all: contested: created again by another writer each time all deletes it" },
};

static int contest(struct rig *rig, const char *rival, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		int r = rig_settle(rig);

		r = r < 0 || !rival ? r : rig_put(rig, rival);
		if (r < 0)
			return r;
		rig_sleep(rig, 100 * FL_NS_PER_MS);
	}
	return 0;
}

static bool explains(struct rig *rig, const char *words)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);

	if (fl_loop_explain(rig->loop, &fl_demo_kind, FL_S(""), FL_S("a"), &text, NULL) == -FL_E_NOMEM)
		rig->nomem = true;
	return text.p && strstr(text.p, words);
}

TEST(a_contest_is_reported_pauses_and_ends_when_a_write_has_held)
{
	EACH_ROW (row, contests) {
		uint32_t writes;
		RIG(rig, &all);

		rig.webhook = row->webhook;
		OK(rig_put(&rig, row->begins));
		OK(rig_tell_all(&rig));
		OK(contest(&rig, row->rival, 12));
		SURE_INT(rig.started, row->writes);
		SURE(explains(&rig, row->words));
		SURE(explains(&rig, "all: Contest: "));
		SURE(rig_metric(&rig, "fairlead_contested{name=\"all\"} ") == 1);
		/* It rests as long as it is taken away, and is tried again now and then. */
		rig_sleep(&rig, FL_CONTEST_REST);
		OK(contest(&rig, row->rival, 2));
		SURE_INT(rig.started, row->writes + 1);
		rig_sleep(&rig, FL_CONTEST_REST - FL_NS_PER_S);
		SURE_INT(rig.started, row->writes + 1);
		SURE(explains(&rig, row->words));
		/* Nobody takes it away any more. */
		rig.webhook = NULL;
		rig_sleep(&rig, FL_NS_PER_S);
		OK(rig_settle(&rig));
		SURE_INT(rig.started, row->writes + 2);
		SURE(explains(&rig, row->words) || !row->rival || strstr(row->rival, "armed"));
		rig_sleep(&rig, FL_CONTEST_HELD);
		SURE(!explains(&rig, "contested"));
		SURE(!explains(&rig, "Contest"));
		SURE(rig_metric(&rig, "fairlead_contested{name=\"all\"} ") == 0);
		SURE(rig_at_rest(&rig));
		/* The next one is no contest yet: it is written again at once. */
		writes = rig.started;
		OK(rig_put(&rig, row->rival ? row->rival : row->begins));
		rig_run(&rig);
		SURE(!row->rival || rig.started == writes + 1);
	}
}

TEST(what_no_plan_wants_any_more_is_not_contested)
{
	RIG(rig, &all);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	OK(contest(&rig, TAKEN, 12));
	SURE(explains(&rig, "contested"));
	OK(rig_gone(&rig, "a"));
	rig_sleep(&rig, 2 * FL_CONTEST_REST);
	SURE(rig_metric(&rig, "fairlead_contested{name=\"all\"} ") == 0);
	SURE(rig_at_rest(&rig));
}

TEST(another_desired_state_ends_the_contest)
{
	RIG(rig, &all);

	OK(rig_put(&rig, FINALIZED("hold", "")));
	OK(rig_tell_all(&rig));
	OK(contest(&rig, FINALIZED("hold", ""), 12));
	SURE(explains(&rig, "Contest"));
	OK(rig_put(&rig, FINALIZED("free", "\"fairlead/hold\"")));
	OK(rig_settle(&rig));
	SURE_INT(rig.started, FL_CONTEST_TRIES + 1);
	SURE(!explains(&rig, "contested"));
	SURE(!explains(&rig, "Contest"));
}

TEST(another_item_and_the_object_are_other_contests)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket;
	RIG(rig, &all);

	OK(rig_put(&rig, FINALIZED("hold", "")));
	OK(rig_tell_all(&rig));
	OK(contest(&rig, FINALIZED("hold", ""), 12));
	SURE_INT(rig.started, FL_CONTEST_TRIES);
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"host\":\"both\",\"replicas\":2}}"));
	OK(rig_settle(&rig));
	rocket = rig_get(&rig, "a", &arena);
	OK(rocket ? 0 : -FL_E_NOMEM);
	SURE_INT(rig.started, FL_CONTEST_TRIES + 2);
	SURE_INT(rocket->meta.finalizers.len, 1);
	SURE_INT(rocket->status.capacity.total, 2);
}

TEST(to_delete_many_names_once_each_is_not_contested)
{
	char json[128];
	RIG(rig, &all);

	for (int i = 0; i < 20; i++) {
		(void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"r%d\"},\"spec\":{\"armed\":true}}", i);
		OK(rig_put(&rig, json));
	}
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	SURE_INT(rig.started, 20);
	SURE_INT(rig.truth.len, 0);
	SURE(rig_metric(&rig, "fairlead_contested{name=\"all\"} ") == 0);
	SURE(rig_at_rest(&rig));
}

/* ---- who asks about it ---- */

TEST(who_asks_about_anothers_owner_is_told_of_both_changes)
{
	uint32_t before;
	RIG(rig, &all, &curious);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	OK(contest(&rig, TAKEN, 12));
	SURE(saw);
	before = asked;
	rig_sleep(&rig, FL_CONTEST_REST);
	OK(rig_settle(&rig));
	rig_sleep(&rig, FL_CONTEST_HELD);
	SURE(asked > before && !saw);
}

TEST(who_asks_and_would_not_be_told_is_found)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(4 * FL_KIB);
	RIG(rig, &curious, &deaf);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	OK(keys_check(rig.loop, &curious, FL_S(""), FL_S("a"), &missed));
	CHECK_INT(missed.len, 0);
	OK(keys_check(rig.loop, &deaf, FL_S(""), FL_S("a"), &missed));
	CHECK(missed.p && strstr(missed.p, "the coming of Rocket a does not make the key 'a' dirty"));
}

/* ---- our own two desired states ---- */

static const struct fl_owner name_owner = {
	.manager = "fairlead-name", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.displayName", NULL },
};
static const struct fl_owner *const name_owners[] = { &name_owner, NULL };

static void to_switch(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	fl_dirty_key(dirty, FL_S(""), FL_S("switch"));
}

static bool gather_switch(struct fl_view *view, struct fl_ref key, void *facts)
{
	const struct fl_demo *rocket = fl_view_get(view, &fl_demo_kind, FL_S(""), key.name);

	*(bool *)facts = rocket && rocket->spec.replicas > 0;
	return rocket != NULL;
}

/* A rocket called cycle is there while the switch is on. */
static void plan_cycle(const void *on, struct fl_plan *plan)
{
	struct fl_ref ref = { &fl_demo_kind, FL_S(""), FL_S("cycle"), FL_S("") };
	struct fl_demo want = { 0 };

	if (!*(const bool *)on) {
		fl_want_gone(plan, ref);
		return;
	}
	FL_SET(FL_IN(&want, spec), name, FL_S("x"));
	fl_want(plan, &name_owner, ref, &want);
}

static const struct fl_watched cycle_watches[] = { { &fl_demo_kind, to_switch, false }, { 0 } };
static const struct fl_capability cycle = { .name = "cycle", .watches = cycle_watches, .key = &fl_demo_kind,
					    .owners = name_owners, .facts_size = sizeof(bool), .gather = gather_switch,
					    .plan = plan_cycle };

TEST(what_we_make_and_delete_ourselves_is_not_contested)
{
	RIG(rig, &cycle);

	OK(rig_tell_all(&rig));
	for (int i = 0; i < 4 * FL_CONTEST_TRIES; i++) {
		OK(rig_put(&rig, i % 2 ? ROCKET("switch", 0) : ROCKET("switch", 1)));
		OK(rig_settle(&rig));
		SURE_INT(rig.started, i + 1);
	}
	SURE(rig_metric(&rig, "fairlead_contested{name=\"cycle\"} ") == 0);
}

TEST(what_an_own_feeder_puts_again_is_not_contested)
{
	RIG(rig, &all);

	OK(rig_tell_all(&rig));
	for (int i = 0; i < 3 * FL_CONTEST_TRIES; i++) {
		OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"armed\":true,\"serial\":1}}"));
		OK(rig_settle(&rig));
		SURE_INT(rig.truth.len, 0);
		SURE_INT(rig.started, i + 1);
	}
	SURE(rig_at_rest(&rig));
}
