/* MIG as a whole: the agent, real children on a fake driver, and a kubelet. */
#include "agent_world.h"
#include "base/units.h"
#include <stdio.h>

enum { BALANCED = 4 /* GPU instances of a GPU */ };

static void partitions(struct world *w, const char *layout)
{
	w->given.mig_manager = FL_S("true");
	w->given.mig_strategy = FL_S("mixed");
	w->given.mig_config = fl_str(layout);
}

static uint32_t instances(const struct world *w, uint32_t gpu)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FAKE_GIS; i++)
		n += w->rig.state->gpus[gpu].gis[i].used != 0;
	return n;
}

/* All GPUs have so many, and no plan is under way. */
static bool laid_out(struct world *w, int each)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_layout *layout;
	uint32_t done = 0;

	fl_view_each (layout, &view, &fl_layout_kind)
		done += !layout->changes && !layout->failed.len;
	for (uint32_t i = 0; i < w->rig.state->gpus_n; i++)
		if (instances(w, i) != (uint32_t)each)
			return false;
	return done == w->rig.state->gpus_n && fl_loop_idle(w->loop);
}

static uint64_t calls(const struct world *w, const char *name)
{
	return w->rig.state->calls[fake_call_no(name)];
}

static const struct fl_layout *layout_of(struct world *w, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(w->loop, arena);

	return fl_view_first(&view, &fl_layout_kind);
}

static bool has_failed(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_layout *layout = layout_of(w, &arena);

	(void)arg;
	return layout && layout->failed.len && !layout->changes;
}

static bool is_busy(struct world *w, int busy)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_layout *layout = layout_of(w, &arena);

	return layout && layout->busy == busy;
}

/* The first GPU alone: one whose others do not answer would wait for them. */
static int one_card(struct world *w)
{
	w->rig.state->gpus_n = 1;
	return 0;
}

/* It starts processes, as all tests here. */
TEST_ONCE(eight_gpus_are_laid_out)
{
	WORLD(w, "dgx-h100", 0);

	partitions(&w, "all-balanced");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, laid_out, BALANCED));
	CHECK_INT(calls(&w, "gi_create_at"), 8 * BALANCED);
	agent_down(&w);

	/* Nothing is done again, and what matches stays. */
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, laid_out, BALANCED));
	CHECK_INT(calls(&w, "gi_create_at"), 8 * BALANCED);
	CHECK_INT(calls(&w, "gi_destroy"), 0);
	agent_down(&w);

	partitions(&w, "all-3g.40gb");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, laid_out, 2));
	CHECK_INT(calls(&w, "gi_create_at"), 8 * BALANCED + 8);
	CHECK_INT(calls(&w, "gi_destroy"), 8 * (BALANCED - 1));
	agent_down(&w);

	partitions(&w, "all-disabled");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, laid_out, 0));
	for (uint32_t i = 0; i < 8; i++)
		CHECK_INT(w.rig.state->gpus[i].mig, 0);
}

/* Killed after any number of turns, again and again: no instance is made twice, and all are there in the end. */
TEST_ONCE(an_agent_that_dies_at_any_point_goes_on)
{
	WORLD(w, "dgx-h100", 0);
	int lives = 0;

	partitions(&w, "all-balanced");
	for (bool done = false; !done && lives < 400; lives++) {
		uint64_t end;

		OK_ERR(agent_up(&w), &w.err);
		end = fl_clock(w.rig.io) + (lives < 4 ? 2500 : 40 + test_random() % 200) * FL_NS_PER_MS;
		while (!(done = laid_out(&w, BALANCED)) && fl_clock(w.rig.io) < end)
			OK(fl_io_turn(w.rig.io, fl_clock(w.rig.io) + FL_NS_PER_MS, NULL));
		agent_down(&w);
	}
	CHECK(lives < 400);
	CHECK_INT(calls(&w, "gi_create_at"), 8 * BALANCED);
	CHECK_INT(calls(&w, "gi_destroy"), 0);
}

TEST_ONCE(a_refused_step_is_undone)
{
	WORLD(w, "dgx-h100", 0);

	OK(one_card(&w));
	partitions(&w, "all-3g.40gb");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, laid_out, 2));
	agent_down(&w);
	OK_ERR(rig_say(&w.rig, "fail ci_create INSUFFICIENT_RESOURCES 0 1", &w.err), &w.err);
	partitions(&w, "all-1g.10gb");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_failed, 0));
	CHECK_INT(instances(&w, 0), 2);
	CHECK_INT(w.rig.state->gpus[0].gis[0].profile, FL_NV_GI_3);
}

TEST_ONCE(a_process_is_waited_for)
{
	WORLD(w, "dgx-h100", 0);

	OK(one_card(&w));
	partitions(&w, "all-7g.80gb");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, laid_out, 1));
	agent_down(&w);
	OK_ERR(rig_say(&w.rig, "process 0 1 100 0 0", &w.err), &w.err);
	partitions(&w, "all-3g.40gb");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, is_busy, true));
	CHECK_INT(instances(&w, 0), 1);
	CHECK_INT(calls(&w, "gi_destroy"), 0);
	CHECK_INT(calls(&w, "ci_destroy"), 0);
	OK_ERR(rig_say(&w.rig, "process 0 1 0 0 0", &w.err), &w.err);
	CHECK(until(&w, laid_out, 2));
}

static bool failed_says(struct world *w, const char *words)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_layout *layout = layout_of(w, &arena);

	return layout && memmem(layout->failed.p ? layout->failed.p : "", layout->failed.len, words, strlen(words));
}

TEST_ONCE(success_without_an_instance_is_a_failure)
{
	WORLD(w, "dgx-h100", 0);

	OK(one_card(&w));
	OK_ERR(rig_say(&w.rig, "fail ci_create SUCCESS 0 1", &w.err), &w.err);
	partitions(&w, "all-7g.80gb");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_failed, 0));
	CHECK(failed_says(&w, "the driver reports success, and 7g.80gb at 0 is not there"));
	CHECK_INT(instances(&w, 0), 0);
	CHECK_INT(w.rig.state->gpus[0].mig, 0);   /* as it was */
}

/* Instances are gone with it, and Hopper's mode too. */
TEST_ONCE(a_reload_of_the_driver_is_laid_out_again)
{
	WORLD(w, "dgx-h100", 0);

	OK(one_card(&w));
	partitions(&w, "all-3g.40gb");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, laid_out, 2));
	OK_ERR(rig_say(&w.rig, "driver absent", &w.err), &w.err);
	OK_ERR(rig_say(&w.rig, "driver loaded", &w.err), &w.err);
	CHECK_INT(instances(&w, 0), 0);
	CHECK_INT(w.rig.state->gpus[0].mig, 0);
	CHECK(until(&w, laid_out, 2));
	CHECK_INT(calls(&w, "gi_create_at"), 4);
}

static bool is_pending(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_layout *layout = layout_of(w, &arena);

	(void)arg;
	return layout && layout->changes && w->rig.state->gpus[0].mig_pending && fl_loop_idle(w->loop);
}

/* Refused until the last child of the agent before has gone. */
static bool is_reset(struct world *w, int gpu)
{
	char words[16];

	(void)snprintf(words, sizeof words, "reset %d", gpu);
	return rig_say(&w->rig, words, &w->err) == 0;
}

/* An A100 changes its mode at the next reset, which is a person's. */
TEST_ONCE(a_reset_is_waited_for)
{
	WORLD(w, "dgx-a100", 0);

	OK(one_card(&w));
	partitions(&w, "all-3g.40gb");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, is_pending, 0));
	CHECK_INT(instances(&w, 0), 0);
	agent_down(&w);
	CHECK(until(&w, is_reset, 0));
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, laid_out, 2));
}

static bool file_is_wrong(struct world *w, int wrong)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_mig_file *file = fl_view_first(&view, &fl_mig_file_kind);

	return file && (file->why.len > 0) == wrong;
}

static int write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	bool ok = file && fputs(text, file) >= 0;

	if (file)
		ok &= fclose(file) == 0;
	return ok ? 0 : -FL_E_IO;
}

/* A wrong one changes nothing; the next right one is followed. */
TEST_ONCE(a_file_of_layouts_is_followed)
{
	WORLD(w, "dgx-h100", 0);
	char path[160];

	OK(one_card(&w));
	(void)snprintf(path, sizeof path, "%s/mig.yaml", w.rig.folder);
	OK(write_text(path, "version: v1\nmig-configs:\n  ours:\n  - devices: [0]\n    mig-enabled: true\n"
			    "    mig-devices: {3g.40gb: 1, 1c.3g.40gb: 3}\n"));
	partitions(&w, "ours");
	w.given.mig_file = fl_str(path);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, laid_out, 2));
	OK(write_text(path, "version: v1\nmig-configs:\n  ours:\n  - devices: [0]\n    mig-enabled: maybe\n"));
	CHECK(until(&w, file_is_wrong, true));
	CHECK_INT(calls(&w, "gi_destroy"), 0);
	OK(write_text(path, "version: v1\nmig-configs:\n  ours:\n  - devices: [0]\n    mig-enabled: true\n"
			    "    mig-devices: {1g.10gb: 3}\n"));
	CHECK(until(&w, laid_out, 3));
}
