/* A driver that comes late, refuses, goes and becomes another one: as test_gpu, through real children. */
#include "base/units.h"
#include "gpu_rig.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_clean(struct gpu_rig *rig, int gpu)
{
	const struct fl_card *card = rig_see_card(rig, gpu);

	return card && card->clean >= FL_CARD_CLEAN_MAX;
}

static bool has_no_child(struct gpu_rig *rig, int arg)
{
	siginfo_t info;

	(void)rig;
	(void)arg;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0;
}

TEST_ONCE(a_driver_that_comes_late_is_found_and_cards_are_known_before)
{
	RIG(rig, "two-t4", RIG_NO_LIBRARY);
	CHECK(rig_driver(&rig, FL_DRIVER_ABSENT));
	CHECK(rig_see_driver(&rig)->message.len > 0);
	CHECK_INT(rig_see_card(&rig, 1)->answer, FL_CARD_UNASKED);
	CHECK_STR(rig_see_card(&rig, 1)->vendor, "10de");
	CHECK(rig_until(&rig, has_no_child, 0));
	OK_ERR(rig_tree(&rig, true, &err), &err);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	CHECK_INT(rig_see_card(&rig, 1)->answer, FL_CARD_ANSWERS);
}

TEST_ONCE(its_child_begins_before_the_driver_is_looked_for)
{
	RIG(rig, "two-t4", RIG_NO_LIBRARY | RIG_LATER);
	while (waitpid(-1, NULL, 0) > 0)
		;   /* those of tests before this one */
	OK_ERR(rig_start(&rig, 0, &err), &err);
	while (has_no_child(&rig, 0))
		rig_turn(&rig, 0);
	CHECK(!rig_see_driver(&rig));
	CHECK(rig_driver(&rig, FL_DRIVER_ABSENT));
	CHECK(rig_until(&rig, has_no_child, 0));   /* nor is it kept for nothing */
}

TEST_ONCE(another_root_in_the_configuration_is_searched_at_once)
{
	const struct fl_str elsewhere[] = { FL_S("/nowhere") };
	struct fl_str root;

	RIG(rig, "two-t4", 0);
	root = fl_str(rig.root);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	OK(fl_gpu_search(rig.gpu, elsewhere, 1, (struct fl_str){ 0 }));
	CHECK(rig_driver(&rig, FL_DRIVER_ABSENT));
	CHECK(strstr(rig_see_driver(&rig)->message.p, "under /nowhere"));
	OK(fl_gpu_search(rig.gpu, &root, 1, FL_S("/nowhere")));
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
}

/* Somebody may want it let go of, which is not known yet. */
TEST_ONCE(it_is_left_alone_until_it_may_be_used)
{
	RIG(rig, "two-t4", RIG_WAIT);
	CHECK(rig_driver(&rig, FL_DRIVER_STARTING));
	rig_turn(&rig, 100 * FL_NS_PER_MS);
	fl_io_turns_reset(rig.io);
	rig_turn(&rig, 100 * FL_NS_PER_MS);
	CHECK(fl_io_turns(rig.io)->count < 50);   /* it sleeps */
	CHECK_INT(rig_see_driver(&rig)->state, FL_DRIVER_STARTING);
	CHECK_INT(rig_see_card(&rig, 1)->answer, FL_CARD_UNASKED);
	CHECK(fl_gpu_state(rig.gpu).calls > 0);   /* it waits as we do */
	CHECK_INT(fl_gpu_state(rig.gpu).asked, 0);
	CHECK(!fake_in_use(rig.state->path));
	fl_gpu_begin(rig.gpu);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	fl_gpu_begin(rig.gpu);
	CHECK_INT(rig_see_card(&rig, 1)->answer, FL_CARD_ANSWERS);
}

/* A plan that is told of no cards takes what is remembered of them for past. */
TEST_ONCE(before_a_look_has_succeeded_nothing_is_known)
{
	struct rlimit before, none;
	int started;

	RIG(rig, "two-t4", RIG_LATER);
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = (struct rlimit){ 0, before.rlim_max };
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	started = rig_start(&rig, 0, &err);
	rig_turn(&rig, 100 * FL_NS_PER_MS);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	OK_ERR(started, &err);
	CHECK(!rig_see_driver(&rig));
	CHECK(!rig_see_card(&rig, 0));
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	CHECK_INT(rig_see_card(&rig, 1)->answer, FL_CARD_ANSWERS);
}

static const struct {
	const char *says, *words;
	enum fl_driver_state state;
	const char *remedy;
} refusals[] = {
	{ "the kernel's part says that it is not there", "driver absent", FL_DRIVER_ABSENT, "modprobe nvidia" },
	{ "library and kernel are of two versions", "driver mismatch", FL_DRIVER_MISMATCH, "or reboot" },
	{ "we have no right to it", "fail init 4", FL_DRIVER_SICK, "dmesg" },
	{ "it fails for no reason", "fail init 999", FL_DRIVER_SICK, "dmesg" },
};

static bool is_unused(struct gpu_rig *rig, int arg)
{
	(void)arg;
	return !fake_in_use(rig->state->path);
}

TEST_ONCE(a_driver_that_refuses_is_told_and_tried_again)
{
	EACH_ROW (row, refusals) {
		RIG(rig, "two-t4", RIG_LATER);
		SAY(row->words);
		OK_ERR(rig_start(&rig, 0, &err), &err);
		CHECK(rig_driver(&rig, row->state));
		CHECK(fl_str_starts(rig_see_driver(&rig)->message, FL_S("nvmlInit: ")));   /* no child's name */
		CHECK(strstr(rig_see_driver(&rig)->message.p, row->remedy));
		CHECK(rig_until(&rig, is_unused, 0));
		SAY("heal any");
		SAY("driver loaded");
		CHECK(rig_driver(&rig, FL_DRIVER_READY));
		CHECK_INT(rig_see_card(&rig, 0)->answer, FL_CARD_ANSWERS);
	}
}

TEST_ONCE(a_driver_that_goes_while_it_is_used_is_let_go_of)
{
	RIG(rig, "two-t4", 0);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	SAY("driver absent");
	CHECK(rig_driver(&rig, FL_DRIVER_ABSENT));
	CHECK_INT(rig_see_card(&rig, 0)->answer, FL_CARD_UNASKED);
	CHECK_STR(rig_see_card(&rig, 0)->uuid, rig.state->gpus[0].uuid);
	SAY("driver loaded");
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	CHECK(rig_until(&rig, rig_all_clean, 2));
}

static const char *library_file(struct gpu_rig *rig, const char *version)
{
	static char paths[2][200], *path;

	path = path == paths[0] ? paths[1] : paths[0];
	(void)snprintf(path, sizeof paths[0], "%s/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.%s", rig->root, version);
	return path;
}

static bool has_version(struct gpu_rig *rig, int last)
{
	struct fl_str version = rig_see_driver(rig)->version;

	return version.len == 5 && version.p[4] == '0' + last;
}

TEST_ONCE(an_upgrade_is_followed_without_a_restart)
{
	char path[200];
	int held;

	RIG(rig, "two-t4", RIG_SELDOM);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	held = open(library_file(&rig, rig.state->driver_version), O_RDONLY | O_CLOEXEC);   /* as a container has it */
	/* The files first, as a package does it: what is loaded is older than they. */
	(void)snprintf(path, sizeof path, "%s/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", rig.root);
	CHECK(unlink(path) == 0 && symlink("libnvidia-ml.so.999.1", path) == 0);
	CHECK(rename(library_file(&rig, rig.state->driver_version), library_file(&rig, "999.1")) == 0);
	CHECK(rig_driver(&rig, FL_DRIVER_MISMATCH));
	CHECK(rig_until(&rig, is_unused, 0));
	SAY("driver unload");
	SAY("driver loaded 999.1");
	OK_ERR(rig_tree(&rig, true, &err), &err);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	CHECK(has_version(&rig, 1));
	SAY("driver loaded 999.2");   /* the folder that took the place of the one that is held */
	OK_ERR(rig_tree(&rig, true, &err), &err);
	CHECK(rig_until(&rig, has_version, 2));
	CHECK(held >= 0 && close(held) == 0);
}

/* The first look has ended in its worker, and not yet in the loop. */
TEST_ONCE(a_look_that_is_asked_for_during_another_is_made)
{
	const struct fl_str elsewhere[] = { FL_S("/nowhere") };

	RIG(rig, "two-t4", RIG_SELDOM);
	CHECK(rig_until(&rig, rig_all_clean, 2));
	fl_gpu_look(rig.gpu);
	OK_ERR(fl_io_turn(rig.io, fl_clock(rig.io), &err), &err);
	(void)usleep(100000);   /* only the loop would tell of its end, and may not turn */
	OK(fl_gpu_search(rig.gpu, elsewhere, 1, (struct fl_str){ 0 }));
	CHECK(rig_driver(&rig, FL_DRIVER_ABSENT));
}

static const struct {
	const char *says, *wrong, *right;
} troubles[] = {
	{ "its fabric cannot be reached", "fabric 1 completed 1 16", "fabric 1 completed 1 0" },
	{ "a row of memory could not be remapped", "remap 1 0 0 0 1", "remap 1 0 0 0 0" },
};

static bool is_unclean(struct gpu_rig *rig, int gpu)
{
	return rig_see_card(rig, gpu)->clean == 0;
}

/* Else the first good look would be the last of many. */
TEST_ONCE(looks_at_a_card_in_trouble_do_not_count)
{
	RIG(rig, "dgx-h100", 0);
	CHECK(rig_until(&rig, rig_all_clean, 8));
	EACH_ROW (row, troubles) {
		SAY(row->wrong);
		CHECK(rig_until(&rig, is_unclean, 1));
		rig_turn(&rig, 100 * FL_NS_PER_MS);   /* looks, each twentieth of a second */
		CHECK(is_unclean(&rig, 1));
		CHECK_INT(rig_see_card(&rig, 0)->clean, FL_CARD_CLEAN_MAX);
		SAY(row->right);
		CHECK(rig_until(&rig, is_clean, 1));
	}
}

TEST_ONCE(a_driver_without_events_is_asked_all_the_same)
{
	const struct fl_card *card;

	RIG(rig, "two-t4", RIG_LATER);
	SAY("fail event_register NOT_SUPPORTED");
	OK_ERR(rig_start(&rig, 0, &err), &err);
	CHECK(rig_driver(&rig, FL_DRIVER_READY));
	CHECK(rig_until(&rig, is_clean, 1));
	card = rig_see_card(&rig, 1);
	CHECK_INT(card->answer, FL_CARD_ANSWERS);
	CHECK(!card->events);
	CHECK_INT(rig_see_driver(&rig)->message.len, 0);
}

/* ---- events that cannot be had at first ---- */

static const struct {
	const char *says, *words, *why;
	uint32_t heard;                /* cards that are listened to meanwhile */
} hindrances[] = {
	{ "one GPU cannot be registered", "fail event_register 999 1 1", "nvmlDeviceRegisterEvents", 7 },
	{ "one does not say what it reports", "fail event_types 999 1 1", "nvmlDeviceGetSupportedEventTypes", 7 },
	{ "there is no set for them", "fail event_set_create 999 any 1", "nvmlEventSetCreate", 0 },
};

struct reasons {
	const char *why;
	uint32_t said;
};

static bool reason_line(void *self, const char *line, size_t len)
{
	struct reasons *reasons = self;

	reasons->said += memmem(line, len, reasons->why, strlen(reasons->why)) != NULL;
	return true;
}

static uint64_t no_now(void *self)
{
	(void)self;
	return 0;
}

static int64_t no_wall(void *self)
{
	(void)self;
	return 0;
}

/* As the metric has it. */
static bool are_heard(struct gpu_rig *rig, int cards)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	char line[64];

	(void)snprintf(line, sizeof line, "\nfairlead_gpu_cards_reporting %d\n", cards);
	return fl_metrics_write(rig->metrics, &text, NULL) == 0 && memmem(text.p, text.len, line, strlen(line)) != NULL;
}

static bool xid_79_is_told(struct gpu_rig *rig, int gpu)
{
	return rig_see_fault(rig, gpu, "xid79") != NULL;
}

static bool is_listened_to(struct gpu_rig *rig, int gpu)
{
	const struct fl_card *card = rig_see_card(rig, gpu);

	return card && card->events;
}

/* It is tried again by the child that listens to the others, which hears them all the while. */
TEST_ONCE(events_that_cannot_be_had_are_tried_again_and_what_was_missed_shows_in_a_look)
{
	EACH_ROW (row, hindrances) {
		struct reasons reasons = { .why = row->why };
		int listens;

		RIG(rig, "dgx-h100", RIG_LATER);
		SAY(row->words);
		OK_ERR(rig_start(&rig, RIG_SELDOM, &err), &err);
		fl_log_init(&rig.log, &(struct fl_log_to){ reason_line, no_now, no_wall, &reasons }, "test");
		CHECK(rig_driver(&rig, FL_DRIVER_READY));
		rig_turn(&rig, 300 * FL_NS_PER_MS);
		listens = fl_gpu_state(rig.gpu).events;
		CHECK(listens);
		CHECK(!is_listened_to(&rig, 1));
		CHECK(are_heard(&rig, (int)row->heard));
		CHECK_INT(reasons.said, 1);
		SAY("recovery 1 reset");
		if (row->heard) {
			SAY("xid 0 79");
			CHECK(rig_until(&rig, xid_79_is_told, 0));
		}
		CHECK_INT(rig_see_card(&rig, 1)->recovery, FL_RECOVERY_NONE);
		CHECK(rig_until(&rig, is_listened_to, 1));
		CHECK(are_heard(&rig, 8));
		CHECK_INT(fl_gpu_state(rig.gpu).events, listens);
		rig_turn(&rig, 100 * FL_NS_PER_MS);
		CHECK_INT(rig_see_card(&rig, 1)->recovery, FL_RECOVERY_RESET);
		SAY("xid 1 48");
		rig_turn(&rig, 100 * FL_NS_PER_MS);
		CHECK(rig_see_fault(&rig, 1, "xid48"));
		CHECK_INT(reasons.said, 1);
	}
}

static bool has_another_that_listens(struct gpu_rig *rig, int pid)
{
	int now = fl_gpu_state(rig->gpu).events;

	return now && now != pid && is_listened_to(rig, 0);
}

/* To try it again would hang who listens to the others. */
TEST_ONCE(a_card_that_cannot_be_registered_and_hangs_takes_nobodys_events_along)
{
	int listens;

	RIG(rig, "two-t4", RIG_LATER);
	SAY("fail event_register 999 1");
	OK_ERR(rig_start(&rig, 0, &err), &err);
	CHECK(rig_until(&rig, is_listened_to, 0));
	listens = fl_gpu_state(rig.gpu).events;
	SAY("hang event_register 1");
	SAY("hang uuid 1");
	CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
	CHECK(rig_until(&rig, has_another_that_listens, listens));
	rig_turn(&rig, 1200 * FL_NS_PER_MS);   /* beyond the next try of the first one */
	SAY("xid 0 79");
	CHECK(rig_until(&rig, xid_79_is_told, 0));
}
