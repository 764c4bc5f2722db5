/* The steps. */
#include "plan/gpu/holders.h"
#include "plan/gpu/ids.h"
#include "plan/gpu/mps.h"
#include "plan/mig/in.h"
#include <stdlib.h>

static const char *const paths[] = { "config", "mode", "counts", "changes", "undo", "leaving", "modeBefore",
				     "before", "ours", "failed", "fails", "again", "boot", "step", "at", "unused",
				     "started", "turn", "pooled", "modeHome", "home", NULL };
const struct fl_owner fl_mig_owner = { "fairlead-mig", &fl_layout_kind, paths };

/* One GPU. */
struct change {
	struct mig *m;
	const struct fl_card *card;
	const struct fl_layout *was;           /* NULL: there is none */
	struct fl_layout want;
	struct mig_wish wish;

	bool mode;                             /* what it should be: the wish, or what it was before */
	struct fl_mig_instance goal[FL_MIG_INSTANCES_MAX];
	uint32_t goal_len;
	struct fl_mig_instance goes[FL_MIG_INSTANCES_MAX], lacks[FL_MIG_INSTANCES_MAX];
	uint32_t goes_len, lacks_len;
	bool grows;                            /* a device is withdrawn that was not before */
};

/* ---- small things ---- */

static bool lies_at(const struct fl_mig_instance *a, const struct fl_mig_instance *b)
{
	return a->start == b->start && fl_str_eq(a->profile, b->profile);
}

static bool has_at(const struct fl_mig_instance *list, uint32_t len, const struct fl_mig_instance *one)
{
	for (uint32_t i = 0; i < len; i++)
		if (lies_at(&list[i], one))
			return true;
	return false;
}

static bool has_same(const struct fl_mig_instance *list, uint32_t len, const struct fl_mig_instance *one)
{
	for (uint32_t i = 0; i < len; i++)
		if (fl_mig_same(&list[i], one))
			return true;
	return false;
}

static uint64_t time_of(const struct change *c, bool has, int64_t time)
{
	return has && fl_str_eq(c->was->boot, c->m->facts->settings->boot) ? (uint64_t)time : 0;
}

static struct fl_str say_instance(const struct change *c, const struct fl_mig_instance *instance)
{
	return fl_plan_printf(c->m->plan, "%.*s at %d", FL_ARG(instance->profile), (int)instance->start);
}

static void want(struct change *c)
{
	FL_SET(&c->want, boot, c->m->facts->settings->boot);
	fl_want(c->m->plan, &fl_mig_owner, (struct fl_ref){ &fl_layout_kind, FL_S(""), c->card->meta.name, FL_S("") },
		&c->want);
}

static void at_rest(struct change *c)
{
	FL_UNSET(&c->want, step);
	c->want.step = FL_MIG_REST;
	FL_UNSET(&c->want, at);
	FL_UNSET(&c->want, unused);
	FL_UNSET(&c->want, started);
}

/* ---- what came of the last step ---- */

/* Everything is changed back; a change back that fails ends where it is. */
static void fail(struct change *c, struct fl_str why)
{
	at_rest(c);
	if (c->want.undo) {
		why = fl_plan_printf(c->m->plan, "%.*s; and then: %.*s", FL_ARG(c->want.failed), FL_ARG(why));
		FL_SET(&c->want, failed, why);
		FL_SET(&c->want, undo, false);
		FL_SET(&c->want, changes, false);
	} else {
		FL_SET(&c->want, failed, why);
		FL_SET(&c->want, undo, true);
	}
}

static bool has_effect(const struct change *c)
{
	const struct fl_card *card = c->card;

	switch (c->was->step) {
	case FL_MIG_MODE_ON: return card->mig && card->mig_pending;
	case FL_MIG_MODE_OFF: return !card->mig && !card->mig_pending;
	case FL_MIG_CREATE: return has_same(card->instances.at, card->instances.len, &c->was->at);
	case FL_MIG_DESTROY: return !has_at(card->instances.at, card->instances.len, &c->was->at);
	case FL_MIG_REST:
	case FL_MIG_STEP_COUNT_: break;
	}
	return true;
}

static bool waits_for_reset(const struct change *c)
{
	return c->card->mig != c->card->mig_pending;
}

/* A step that this process wants, or wanted last. */
static bool is_mine(const struct change *c)
{
	return c->was && c->was->step != FL_MIG_REST && c->was->started == c->m->facts->settings->started;
}

/* The driver's answer counts for the process that asked, until its effect is seen. */
static void take_outcome(struct change *c)
{
	const struct fl_layout *was = c->was;

	if (!was || !is_mine(c) || was->turn != was->answered || was->busy)
		return;
	if (was->refused.len)
		fail(c, was->refused);
	else if (has_effect(c))
		at_rest(c);
	else if (!waits_for_reset(c))
		fail(c, was->step == FL_MIG_CREATE ?
				fl_plan_printf(c->m->plan, "the driver reports success, and %.*s is not there",
					       FL_ARG(say_instance(c, &was->at))) :
				FL_S("the driver reports success, and nothing has changed: see the kernel's log"));
}

/* ---- what should be ---- */

static void set_goal(struct change *c, const struct fl_mig_instance *list, uint32_t len, bool mode)
{
	c->mode = mode;
	for (uint32_t i = 0; i < len && i < FL_MIG_INSTANCES_MAX; i++)
		c->goal[c->goal_len++] = list[i];
}

static bool is_ours(const struct change *c, const struct fl_mig_instance *instance)
{
	return has_at(c->want.ours.at, c->want.ours.len, instance);
}

static const struct fl_holder *holder_of(const struct change *c, const struct fl_mig_instance *instance)
{
	const struct fl_mig_facts *f = c->m->facts;

	for (uint32_t i = 0; i < c->card->partitions.len; i++) {
		const struct fl_partition *part = &c->card->partitions.at[i];

		for (uint32_t k = 0; part->gi == instance->gi && k < f->holder_len; k++)
			if (fl_gpu_holds(&f->holders[k], part->uuid))
				return &f->holders[k];
	}
	return NULL;
}

/* Another's costs most, as it never goes; then one that is held, as its Pod must end first. */
static bool solve(struct change *c)
{
	enum { COST_FREE = 1, COST_HELD = 100, COST_FOREIGN = 10000 };
	uint32_t costs[FL_MIG_INSTANCES_MAX] = { 0 };
	const struct fl_card *card = c->card;
	struct fl_mig_task task = { .offers = card->offers.at, .offer_len = card->offers.len,
				    .wants = c->wish.counts, .want_len = c->wish.len, .has = card->instances.at,
				    .has_len = card->instances.len, .costs = costs };
	struct fl_mig_layout layout;
	struct fl_err err = { 0 };
	int r;

	for (uint32_t i = 0; i < card->instances.len && i < FL_MIG_INSTANCES_MAX; i++)
		costs[i] = !is_ours(c, &card->instances.at[i])	       ? COST_FOREIGN :
			   holder_of(c, &card->instances.at[i]) ? COST_HELD :
								  COST_FREE;
	r = fl_mig_solve(&task, c->m->plan->arena, &layout, &err);
	if (r == -FL_E_NOMEM)
		c->m->plan->failed = true;
	else if (r < 0)
		c->wish.wrong = fl_plan_printf(c->m->plan, "%s", err.text);
	else
		set_goal(c, layout.at, layout.len, true);
	return r == 0;
}

/* What differs. */
static void compare(struct change *c)
{
	const struct fl_card *card = c->card;

	for (uint32_t i = 0; i < card->instances.len && i < FL_MIG_INSTANCES_MAX; i++)
		if (!has_same(c->goal, c->goal_len, &card->instances.at[i]))
			c->goes[c->goes_len++] = card->instances.at[i];
	for (uint32_t i = 0; i < c->goal_len; i++)
		if (!has_same(card->instances.at, card->instances.len, &c->goal[i]))
			c->lacks[c->lacks_len++] = c->goal[i];
}

static bool is_so(const struct change *c)
{
	return c->card->mig == c->mode && c->card->mig_pending == c->mode && !c->goes_len && !c->lacks_len;
}

/* ---- lists of the Layout ---- */

static struct fl_mig_instance *room(struct change *c, uint32_t len)
{
	return fl_plan_get(c->m->plan, len, sizeof(struct fl_mig_instance));
}

/* Those that are there, and `more`. */
static void set_ours(struct change *c, const struct fl_mig_instance *more, uint32_t more_len)
{
	const struct fl_card *card = c->card;
	struct fl_mig_instance *list = room(c, c->want.ours.len + more_len);
	uint32_t len = 0;

	if (!list)
		return;
	for (uint32_t i = 0; i < c->want.ours.len; i++)
		if (has_at(card->instances.at, card->instances.len, &c->want.ours.at[i]) &&
		    !has_at(more, more_len, &c->want.ours.at[i]))
			list[len++] = c->want.ours.at[i];
	for (uint32_t i = 0; i < more_len; i++) {
		list[len] = more[i];
		FL_UNSET(&list[len], gi);
		list[len++].gi = 0;
	}
	c->want.ours.at = list;
	c->want.ours.len = len;
	c->want.has.ours = len > 0;
}

static void set_before(struct change *c)
{
	const struct fl_card *card = c->card;
	struct fl_mig_instance *list = room(c, card->instances.len);

	if (!list)
		return;
	for (uint32_t i = 0; i < card->instances.len; i++) {
		list[i] = card->instances.at[i];
		FL_UNSET(&list[i], gi);
		list[i].gi = 0;
	}
	c->want.before.at = list;
	c->want.before.len = card->instances.len;
	c->want.has.before = card->instances.len > 0;
	FL_SET(&c->want, mode_before, card->mig);
}

static int by_text(const void *a, const void *b)
{
	return fl_str_cmp(*(const struct fl_str *)a, *(const struct fl_str *)b);
}

/* UUIDs of what goes. The whole GPU's is among them: a container that has it, has its parts. */
static void set_leaving(struct change *c)
{
	const struct fl_card *card = c->card;
	struct fl_str *list = fl_plan_get(c->m->plan, card->partitions.len + 1, sizeof *list);
	uint32_t len = 0;

	if (!list)
		return;
	if (c->goes_len || card->mig != c->mode)
		list[len++] = card->uuid;
	for (uint32_t i = 0; i < card->partitions.len; i++)
		for (uint32_t k = 0; k < c->goes_len; k++)
			if (card->partitions.at[i].gi == c->goes[k].gi)
				list[len++] = card->partitions.at[i].uuid;
	qsort(list, len, sizeof *list, by_text);
	for (uint32_t i = 0; i < len; i++)
		c->grows |= !c->was || !fl_str_in(c->was->leaving.at, c->was->leaving.len, list[i]);
	c->want.leaving.at = list;
	c->want.leaving.len = len;
	c->want.has.leaving = len > 0;
}

/* ---- may the step be taken? ---- */

static void waits(struct change *c, const char *reason, const struct fl_str *text)
{
	mig_say(c->m, MIG_WAITS, reason, c->card, "%.*s", FL_ARG(*text));
}

/* A list that still offers one of them. */
static bool is_offered(const struct change *c)
{
	const struct fl_mig_facts *f = c->m->facts;

	for (uint32_t i = 0; i < f->resource_len; i++)
		for (uint32_t k = 0; k < f->resources[i].units.len; k++) {
			const struct fl_unit *unit = &f->resources[i].units.at[k];

			if (unit->healthy && fl_str_in(c->want.leaving.at, c->want.leaving.len, unit->id))
				return true;
		}
	return false;
}

static const struct fl_holder *first_holder(const struct change *c)
{
	const struct fl_mig_facts *f = c->m->facts;

	for (uint32_t i = 0; i < f->holder_len; i++)
		for (uint32_t k = 0; k < c->want.leaving.len; k++)
			if (fl_gpu_holds(&f->holders[i], c->want.leaving.at[k]))
				return &f->holders[i];
	return NULL;
}

static bool is_free(struct change *c)
{
	const struct fl_mig_facts *f = c->m->facts;
	const struct fl_holder *holder = first_holder(c);
	const struct fl_mps *mps = fl_gpu_mps_has(f->mps, f->mps_len, c->card);
	struct fl_str why = FL_S("");

	if (!c->want.leaving.len)
		return true;
	if (holder)
		why = fl_plan_printf(c->m->plan, "waits until Pod %.*s/%.*s, which holds a device of it, has ended",
				     FL_ARG(holder->pod_space), FL_ARG(holder->pod));
	else if (mps)
		why = fl_plan_printf(c->m->plan, "waits for the end of the MPS daemon of %.*s: share it no longer",
				     FL_ARG(mps->meta.name));
	if (why.len) {
		waits(c, "CardInUse", &why);
		return false;
	}
	if (!fl_gpu_holders_known(f->active, f->settings, f->now, c->m->plan)) {
		why = FL_S("waits for the kubelet, which has not listed yet who holds its devices");
		waits(c, "HoldersUnknown", &why);
		return false;
	}
	return true;
}

/* Allocate refuses them, and who was given one just before is known. */
static bool is_withdrawn(struct change *c)
{
	const struct fl_active *active = c->m->facts->active;

	if (!c->want.leaving.len || (!c->grows && !is_offered(c) && !(active && active->due)))
		return true;
	mig_say(c->m, MIG_WORKS, "Withdrawing", c->card, "its devices are withdrawn");
	return false;
}

static bool is_in_the_way(struct change *c)
{
	uint64_t again = time_of(c, c->was && c->was->has.tried, c->was ? c->was->tried : 0) + FL_MIG_BUSY_EVERY;

	if (!is_mine(c) || !c->was->busy)
		return false;
	waits(c, "CardInUse", &c->was->refused);
	if (c->m->facts->now >= again)
		return false;
	fl_want_at(c->m->plan, again);
	return true;
}

static bool needs_reset(struct change *c)
{
	if (!waits_for_reset(c) || c->card->mig_pending != c->mode)
		return false;
	mig_say(c->m, MIG_WAITS, "ResetRequired", c->card,
		"MIG mode changes at its next reset: stop what uses it, run fairlead pause, "
		"nvidia-smi --gpu-reset -i %.*s (on an NVSwitch board, all its GPUs together) "
		"and fairlead resume, or reboot the node",
		FL_ARG(c->card->meta.name));
	return true;
}

/* ---- the step ---- */

static void set_step(struct change *c, enum fl_mig_step step, const struct fl_mig_instance *at)
{
	at_rest(c);
	FL_SET(&c->want, step, step);
	FL_SET(&c->want, started, c->m->facts->settings->started);
	FL_SET(&c->want, turn, c->want.turn + 1);
	if (at) {
		c->want.at = *at;
		c->want.has.at = 1;
		FL_UNSET(&c->want.at, gi);
		c->want.at.gi = 0;
	}
	mig_say(c->m, MIG_WORKS, "Applying", c->card, "%s%s%.*s", fl_name(&fl_mig_step_names, (int)step), at ? " " : "",
		FL_ARG(at ? say_instance(c, at) : FL_S("")));
}

static void next_step(struct change *c)
{
	const struct fl_card *card = c->card;

	set_ours(c, NULL, 0);
	if (c->mode && !(card->mig && card->mig_pending)) {
		set_step(c, FL_MIG_MODE_ON, NULL);
	} else if (c->goes_len) {
		set_step(c, FL_MIG_DESTROY, &c->goes[0]);
		c->want.unused.at = room(c, c->goes_len);
		for (uint32_t i = 0; c->want.unused.at && i < c->goes_len; i++)
			c->want.unused.at[i] = c->goes[i];
		c->want.unused.len = c->want.unused.at ? c->goes_len : 0;
		c->want.has.unused = 1;
	} else if (!c->mode) {
		set_step(c, FL_MIG_MODE_OFF, NULL);
	} else {
		set_step(c, FL_MIG_CREATE, &c->lacks[0]);
		set_ours(c, &c->lacks[0], 1);
	}
}

/* ---- one change, from beginning to end ---- */

static bool is_foreign(struct change *c)
{
	for (uint32_t i = 0; i < c->goes_len; i++) {
		if (is_ours(c, &c->goes[i]))
			continue;
		mig_say(c->m, MIG_FAILED, "ForeignInstances", c->card,
			"%.*s was made by another program and does not match: destroy it "
			"(nvidia-smi mig -dci and -dgi), or choose a layout that has it",
			FL_ARG(say_instance(c, &c->goes[i])));
		return true;
	}
	return false;
}

static bool same_counts(const struct change *c)
{
	if (!c->was || c->was->mode != c->wish.mode || c->was->counts.len != c->wish.len)
		return false;
	for (uint32_t i = 0; i < c->wish.len; i++)
		if (c->was->counts.at[i].count != c->wish.counts[i].count ||
		    !fl_str_eq(c->was->counts.at[i].profile, c->wish.counts[i].profile))
			return false;
	return true;
}

/* A wish that failed is tried again: later each time. */
static bool waits_after_failure(struct change *c)
{
	uint64_t again = time_of(c, c->want.has.again, c->want.again);

	if (!c->want.failed.len || c->want.changes)
		return false;
	if (!same_counts(c)) {
		FL_UNSET(&c->want, fails);
		c->want.fails = 0;
		return false;
	}
	mig_say(c->m, MIG_FAILED, "ApplyFailed", c->card, "%.*s", FL_ARG(c->want.failed));
	if (c->m->facts->now >= again)
		return false;
	fl_want_at(c->m->plan, again);
	return true;
}

/* It is as it was before it joined a pool. */
static void forget_home(struct change *c)
{
	FL_UNSET(&c->want, pooled);
	FL_UNSET(&c->want, mode_home);
	FL_UNSET(&c->want, home);
	c->want.pooled = c->want.mode_home = false;
	c->want.home.len = 0;
}

static void finish(struct change *c)
{
	bool undone = c->want.undo;
	uint64_t wait = FL_MIG_AGAIN_FIRST;

	at_rest(c);
	set_ours(c, undone ? NULL : c->goal, undone ? 0 : c->goal_len);
	FL_UNSET(&c->want, leaving);
	c->want.leaving.len = 0;
	FL_UNSET(&c->want, before);
	c->want.before.len = 0;
	FL_UNSET(&c->want, mode_before);
	c->want.mode_before = false;
	FL_SET(&c->want, changes, false);
	FL_SET(&c->want, undo, false);
	if (!undone && c->wish.home)
		forget_home(c);
	if (!undone) {
		FL_UNSET(&c->want, failed);
		c->want.failed = FL_S("");
		FL_UNSET(&c->want, fails);
		c->want.fails = 0;
		FL_UNSET(&c->want, again);
		mig_say(c->m, MIG_DONE, "Applied", c->card, "as wanted");
		return;
	}
	for (int32_t i = 0; i < c->want.fails && wait < FL_MIG_AGAIN_LAST; i++)
		wait *= 2;
	FL_SET(&c->want, fails, c->want.fails + 1);
	FL_SET(&c->want, again, (int64_t)(c->m->facts->now + (wait < FL_MIG_AGAIN_LAST ? wait : FL_MIG_AGAIN_LAST)));
	mig_say(c->m, MIG_FAILED, "ApplyFailed", c->card, "%.*s", FL_ARG(c->want.failed));
	fl_want_at(c->m->plan, (uint64_t)c->want.again);
}

static void begin(struct change *c)
{
	if (c->want.changes)
		return;
	FL_SET(&c->want, changes, true);
	FL_SET(&c->want, undo, false);
	FL_UNSET(&c->want, failed);
	c->want.failed = FL_S("");
	set_before(c);
}

/* What it is before it becomes a pool's, to be that again when it leaves. */
static void remember_home(struct change *c)
{
	const struct fl_card *card = c->card;
	struct fl_mig_count *counts = fl_plan_get(c->m->plan, card->partitions.len, sizeof *counts);
	uint32_t len = 0;

	if (!counts)
		return;
	for (uint32_t i = 0; i < card->partitions.len; i++) {
		struct fl_mig_count *count = fl_find(counts, len, profile, card->partitions.at[i].profile);

		if (!count) {
			count = &counts[len++];
			FL_SET(count, profile, card->partitions.at[i].profile);
		}
		FL_SET(count, count, count->count + 1);
	}
	c->want.home.at = counts;
	c->want.home.len = len;
	c->want.has.home = len > 0;
	FL_SET(&c->want, mode_home, card->mig);
	FL_SET(&c->want, pooled, true);
}

static void set_wish(struct change *c)
{
	bool by_config = !c->wish.pooled && !c->wish.home;

	if (c->wish.pooled && !c->want.pooled)
		remember_home(c);
	FL_SET_TEXT(&c->want, config, by_config ? c->m->config : FL_S(""));
	FL_SET(&c->want, mode, c->wish.mode);
	c->want.counts.at = c->wish.counts;
	c->want.counts.len = c->wish.len;
	c->want.has.counts = c->wish.len > 0;
}

static void go_on(struct change *c)
{
	compare(c);
	if (is_so(c)) {
		if (!c->want.undo)
			set_wish(c);
		finish(c);
		return;
	}
	if (is_foreign(c) || (!c->want.undo && waits_after_failure(c)))
		return;
	begin(c);
	if (!c->want.undo)
		set_wish(c);
	set_leaving(c);
	if (is_free(c) && is_withdrawn(c) && !needs_reset(c) && !is_in_the_way(c))
		next_step(c);
}

/* What is being done to the GPU ends where it is, and it is served as it is. */
static void leave(struct change *c)
{
	at_rest(c);
	FL_SET(&c->want, mode, c->card->mig);
	FL_UNSET(&c->want, leaving);
	c->want.leaving.len = 0;
	FL_SET(&c->want, changes, false);
	FL_SET(&c->want, undo, false);
	want(c);
}

static bool in_flight(const struct change *c)
{
	return is_mine(c) && c->was->turn != c->was->answered;
}

static bool begin_card(struct change *c, struct mig *m, uint32_t index)
{
	*c = (struct change){ .m = m, .card = &m->facts->cards[index] };
	c->was = fl_find(m->facts->layouts, m->facts->layout_len, meta.name, c->card->meta.name);
	if (c->was)
		c->want = *c->was;
	if (!is_mine(c))
		at_rest(c);   /* what an agent before was about to do shows in what the GPU is */
	c->wish = mig_wish(m, index);
	return c->wish.any || c->was;
}

void mig_card(struct mig *m, uint32_t index)
{
	struct change c;

	m->pooled = false;
	if (!begin_card(&c, m, index))
		return;
	m->pooled = c.wish.pooled || c.wish.home;
	if (in_flight(&c) || m->facts->driver->state != FL_DRIVER_READY || c.card->answer != FL_CARD_ANSWERS) {
		mig_say(m, MIG_WORKS, "Applying", c.card, "%s",
			in_flight(&c) ? "a step is under way" : "waits for the driver's answer");
		want(&c);
		return;
	}
	if (!c.wish.any) {
		leave(&c);
		return;
	}
	take_outcome(&c);
	if (c.want.undo)
		set_goal(&c, c.want.before.at, c.want.before.len, c.want.mode_before);
	else if (c.wish.wrong.len || (c.wish.mode && !solve(&c))) {
		mig_say(m, MIG_FAILED, "ProfileNotSupported", c.card, "%.*s", FL_ARG(c.wish.wrong));
		if (c.was)
			leave(&c);
		return;
	}
	go_on(&c);
	want(&c);
}

static bool has_pools(const struct fl_settings *s)
{
	return s->pools.len && s->pools.at[s->pools.len - 1].cluster;   /* they come last */
}

/* Another program partitions: nothing is wanted of any GPU. */
static bool hands_off(struct mig *m)
{
	const struct fl_own_node *node = m->facts->node;
	const struct fl_str manager = FL_S(FL_MIG_MANAGER_LABEL);
	const struct fl_pair *managed =
		node ? fl_find(node->meta.labels.at, node->meta.labels.len, key, manager) : NULL;

	if (!m->facts->settings->mig_manager && !has_pools(m->facts->settings))
		return true;
	if (!managed || !fl_str_eq(managed->value, FL_S("true")))
		return !m->facts->settings->mig_manager;
	fl_want_condition(m->plan, &fl_mig_node_owner, FL_REF(&fl_own_node_kind, node), FL_EMIT_WARNING,
			  FL_MIG_CONDITION, FL_CONDITION_FALSE, "MIGManagerActive",
			  "NVIDIA's mig-manager partitions the GPUs of this node: label it " FL_MIG_MANAGER_LABEL
			  "=false to let Fairlead do that");
	m->other = true;
	return true;
}

void fl_mig_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_mig_facts *facts = facts_;
	struct mig m = { .facts = facts, .plan = plan };

	if (!hands_off(&m))
		mig_choose(&m);
	for (uint32_t i = 0; i < facts->card_len; i++)
		mig_card(&m, i);
	mig_end_states(&m);
	if (m.wrong.len) {
		m.state = MIG_FAILED;
		m.reason = "UnknownLayout";
		m.said = m.wrong;
	}
	mig_tell(&m);
}
