/* What the driver's feeder tells of faults, and which looks count as clean ones since then. None of it is tortured: the
 * children are processes of their own. */
#include "base/units.h"
#include "fake/nvml/call.h"
#include "gpu_rig.h"
#include "test_io.h"
#include <stdio.h>
#include <unistd.h>

static bool fault_came_again(struct gpu_rig *rig, int count)
{
	return rig_see_fault(rig, 0, "xid79")->count == count;
}

static bool fault_has_clean_looks(struct gpu_rig *rig, int looks)
{
	const struct fl_card_fault *fault = rig_see_fault(rig, 0, "xid79");

	return fault && fault->clean >= looks;
}

TEST_ONCE(an_xid_is_told_at_once_and_clean_looks_are_counted_from_it_on)
{
	uint64_t begin, took;
	const struct fl_card_fault *fault;

	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	begin = fl_clock(rig.io);
	SAY("xid 0 79");
	CHECK(rig_until(&rig, rig_fault_is_told, 79));
	took = fl_clock(rig.io) - begin;
	(void)printf("# from the XID to its fault in the cache: %llu us\n", (unsigned long long)took / 1000);
	fault = rig_see_fault(&rig, 0, "xid79");
	CHECK_INT(fault->count, 1);
	CHECK(fault->last > 0);
	CHECK(fault->clean < FL_CARD_CLEAN_MAX);
	CHECK(rig_until(&rig, fault_has_clean_looks, FL_CARD_CLEAN_MAX));   /* enough? That is a plan's to say */
	SAY("xid 0 79");
	CHECK(rig_until(&rig, fault_came_again, 2));
	CHECK(rig_see_fault(&rig, 0, "xid79")->clean < FL_CARD_CLEAN_MAX);
}

static bool count_is(struct gpu_rig *rig, int count)
{
	const struct fl_card_fault *fault = rig_see_fault(rig, 0, "xid13");

	return fault && fault->count == count;
}

TEST_ONCE(a_storm_of_events_is_told_as_a_few_and_none_is_lost)
{
	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	for (int i = 0; i < 200; i++)
		SAY("xid 0 13");
	CHECK(rig_until(&rig, count_is, 200));
}

static bool fault_is_gone(struct gpu_rig *rig, int xid)
{
	return !rig_fault_is_told(rig, xid);
}

TEST_ONCE(a_fault_that_a_plan_wants_gone_goes)
{
	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	SAY("xid 0 31");
	SAY("xid 0 48");
	CHECK(rig_until(&rig, rig_fault_is_told, 48));
	CHECK(rig_until(&rig, fault_is_gone, 31));
	CHECK(rig_fault_is_told(&rig, 48));
	CHECK(rig_until(&rig, rig_all_clean, 2));
}

static bool recovers(struct gpu_rig *rig, int action)
{
	const struct fl_card *card = rig_see_card(rig, 0);

	return card && (int)card->recovery == action && (action ? card->clean == 0 : card->clean > 0);
}

static bool wants_imex_and_is_clean(struct gpu_rig *rig, int gpu)
{
	const struct fl_card *card = rig_see_card(rig, gpu);

	return card && card->recovery == FL_RECOVERY_IMEX && card->clean > 0;
}

static bool recovery_is_told(struct gpu_rig *rig, int gpu)
{
	return rig_see_fault(rig, gpu, "recovery") != NULL;
}

TEST_ONCE(what_the_driver_wants_done_is_told_and_over_when_it_is_done)
{
	RIG(rig, "dgx-h100", 0);
	CHECK(rig_until(&rig, rig_all_clean, 8));
	SAY("recovery 0 reset");
	CHECK(rig_until(&rig, recovers, FL_RECOVERY_RESET));
	CHECK(rig_until(&rig, recovery_is_told, 0));
	SAY("recovery 0 none");
	CHECK(rig_until(&rig, recovers, FL_RECOVERY_NONE));
	SAY("recovery 0 imex-domain");   /* which is not the card's, and keeps it from nothing */
	CHECK(rig_until(&rig, wants_imex_and_is_clean, 0));
}

/* Applications that fail all the time must not hold a GPU away, nor bring it back sooner. */
TEST_ONCE(an_xid_changes_no_count_of_clean_looks_but_its_own)
{
	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	SAY("xid 0 31");
	CHECK(rig_until(&rig, rig_fault_is_told, 31));
	CHECK(rig_until(&rig, fault_is_gone, 31));
	CHECK_INT(rig_see_card(&rig, 0)->clean, FL_CARD_CLEAN_MAX);
}

static bool is_heard(struct gpu_rig *rig, int gpu)
{
	const struct fl_card *card = rig_see_card(rig, gpu);

	return card && card->events;
}

/* Each report leads to a look. A second apart, so that also a slow machine has few that are due by themselves. */
TEST_ONCE(looks_that_reports_lead_to_do_not_bring_a_gpu_back_sooner)
{
	int64_t clean;
	uint64_t begin;

	RIG(rig, "two-t4", RIG_CALM);
	CHECK(rig_until(&rig, is_heard, 0));
	SAY("recovery 0 reset");
	CHECK(rig_until(&rig, recovers, FL_RECOVERY_RESET));
	begin = fl_clock(rig.io);
	SAY("recovery 0 none");
	for (int xid = 201; xid < 221; xid++) {   /* one number that comes again is told ten times a second at most */
		char words[32];

		(void)snprintf(words, sizeof words, "xid 0 %d", xid);
		SAY(words);
		CHECK(rig_until(&rig, rig_fault_is_told, xid));
	}
	clean = rig_see_card(&rig, 0)->clean;
	CHECK(clean < FL_CARD_CLEAN_MAX && (uint64_t)clean <= 1 + (fl_clock(rig.io) - begin) / RIG_CALM_LOOK);
}

static uint64_t looks_begun(struct gpu_rig *rig)
{
	return __atomic_load_n(&rig->state->calls[FAKE_NO(uuid)], __ATOMIC_ACQUIRE);
}

/* The child is in the middle of it: a quarter of a second is left. Only it knows, and the loop may not turn. */
static bool begin_a_look(struct gpu_rig *rig, struct fl_err *err)
{
	uint64_t before = looks_begun(rig), end = fl_clock(rig->io) + 10 * FL_NS_PER_S;

	if (rig_say(rig, "delay uuid 250000 0", err) < 0)
		return false;
	fl_gpu_look(rig->gpu);
	if (fl_io_turn(rig->io, fl_clock(rig->io), err) < 0)
		return false;
	while (looks_begun(rig) == before && fl_clock(rig->io) < end)
		(void)usleep(100);
	return looks_begun(rig) > before;
}

static bool has_been_answered(struct gpu_rig *rig, int count)
{
	return (int)fl_gpu_state(rig->gpu).asked >= count;
}

TEST_ONCE(a_look_that_began_before_an_xid_is_no_clean_look_since)
{
	int asked;

	RIG(rig, "two-t4", RIG_SELDOM);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	asked = (int)fl_gpu_state(rig.gpu).asked;
	CHECK(begin_a_look(&rig, &err));
	SAY("xid 0 79");
	CHECK(rig_until(&rig, rig_fault_is_told, 79));
	CHECK_INT(fl_gpu_state(rig.gpu).asked, asked);
	CHECK(rig_until(&rig, has_been_answered, asked + 1));
	CHECK_INT(rig_see_fault(&rig, 0, "xid79")->clean, 0);
	CHECK(rig_until(&rig, fault_has_clean_looks, 1));
}

TEST_ONCE(a_look_that_is_wanted_while_another_is_under_way_comes_too)
{
	uint64_t begun;
	int asked;

	RIG(rig, "two-t4", RIG_SELDOM);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	asked = (int)fl_gpu_state(rig.gpu).asked;
	CHECK(begin_a_look(&rig, &err));
	begun = looks_begun(&rig);
	fl_gpu_look(rig.gpu);
	CHECK(rig_until(&rig, has_been_answered, asked + 3));
	CHECK_INT(looks_begun(&rig), begun + 2);   /* the other card, and this one again, before anything else */
}

static bool is_clean_no_more(struct gpu_rig *rig, int gpu)
{
	return rig_see_card(rig, gpu)->clean < FL_CARD_CLEAN_MAX;
}

TEST_ONCE(what_is_one_fault_too_many_counts_against_the_card_itself)
{
	char words[32];

	RIG(rig, "two-t4", RIG_SELDOM);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	for (int xid = 201; xid < 201 + FL_GPU_FAULTS_MAX; xid++) {
		(void)snprintf(words, sizeof words, "xid 0 %d", xid);
		SAY(words);
		CHECK(rig_until(&rig, rig_fault_is_told, xid));
	}
	CHECK_INT(rig_see_card(&rig, 0)->clean, FL_CARD_CLEAN_MAX);
	SAY("xid 0 79");
	CHECK(rig_until(&rig, is_clean_no_more, 0));
	CHECK(!rig_fault_is_told(&rig, 79));
}
