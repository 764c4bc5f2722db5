/* An agent that starts while the kubelet does not say who holds what: what it has kept of that counts. */
#include "agent_world.h"
#include "base/units.h"
#include "test_io.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* The book has the one Pod, with the device that it holds. */
static bool is_booked(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_booking *booking =
		fl_view_get(&view, &fl_booking_kind, FL_S(""), FL_S("team/job/job/" GPU));

	(void)arg;
	return booking && booking->devices.len == 1 && fl_str_eq(booking->devices.at[0], fl_str(w->held)) &&
	       fl_loop_idle(w->loop);
}

static const struct fl_condition *condition(struct world *w, struct fl_arena *arena, const char *type)
{
	struct fl_view view = fl_loop_view(w->loop, arena);
	const struct fl_own_node *node = fl_view_get(&view, &fl_own_node_kind, FL_S(""), FL_S("n1"));

	return node ? fl_condition_find(&node->status.conditions, fl_str(type)) : NULL;
}

/* ---- a card that a Pod holds whole is not shared ---- */

static bool other_is_shared(struct world *w, int arg)
{
	char id[80];
	const char *at;

	(void)arg;
	(void)snprintf(id, sizeof id, "%s::3", uuid(w, 1));
	at = strstr(fake_kubelet_devices(&w->kubelet, GPU), id);
	return at && at[strlen(id)] != '!';
}

/* A kubelet has answered, and what follows from it has been done. */
static bool has_told(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);

	(void)arg;
	return fl_view_get(&view, &fl_active_kind, FL_S(""), FL_S("active")) && fl_loop_idle(w->loop);
}

static bool share_of_first(struct world *w)
{
	char id[80];

	(void)snprintf(id, sizeof id, "%s::", uuid(w, 0));
	return strstr(fake_kubelet_devices(&w->kubelet, GPU), id) != NULL;
}

static bool first_is_shared(struct world *w, int arg)
{
	(void)arg;
	return share_of_first(w);
}

TEST_ONCE(a_card_that_a_pod_holds_whole_is_not_shared_while_the_kubelet_does_not_tell)
{
	char file[120];
	WORLD(w, "two-t4", 0);

	(void)snprintf(file, sizeof file, "%s/c.yaml", w.rig.folder);
	CHECK(test_write_file(file, "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n"));
	w.held = w.rig.state->gpus[0].uuid;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H') && until(&w, is_booked, 0));
	agent_down(&w);
	tells_down(&w);
	w.config = file;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, other_is_shared, 0));
	CHECK(!share_of_first(&w));
	CHECK_INT(listed(&w, 0), 'U');
	CHECK(until(&w, is_ready, 0));
	w.held = NULL;
	kubelet_is_young(&w, true);
	OK_ERR(tells_up(&w), &w.err);
	CHECK(until(&w, has_told, 0));
	CHECK(!share_of_first(&w));
	CHECK_INT(listed(&w, 0), 'U');
	kubelet_is_young(&w, false);
	CHECK(until(&w, first_is_shared, 0));
}

/* ---- nor by the first agent, which has no book of what another plugin has allocated ---- */

static bool shared_once;

static bool other_is_shared_and_the_first_never_was(struct world *w, int arg)
{
	shared_once |= share_of_first(w);
	return other_is_shared(w, arg);
}

static uint32_t cards(struct world *w)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_card_kind);
	void *all;

	return fl_each_array(&each, &all);
}

static bool knows_its_disk(struct world *w, int arg)
{
	shared_once |= share_of_first(w);
	return has_told(w, arg) && fl_feed_known(fl_loop_feed(w->loop, &fl_health_kind)) && cards(w) == 2;
}

TEST_ONCE(a_first_agent_shares_no_card_that_a_pod_of_another_plugin_holds_whole)
{
	char config[120], checkpoint[120];
	WORLD(w, "two-t4", 0);

	shared_once = false;
	(void)snprintf(config, sizeof config, "%s/c.yaml", w.rig.folder);
	(void)snprintf(checkpoint, sizeof checkpoint, "%s/kubelet_internal_checkpoint", w.plugins);
	CHECK(test_write_file(config,
			      "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n"));
	CHECK(test_write_file(checkpoint, "{}\n"));
	w.config = config;
	kubelet_is_young(&w, true);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, knows_its_disk, 0));
	w.held = w.rig.state->gpus[0].uuid;
	kubelet_is_young(&w, false);
	fl_holders_look(w.agent.holders);
	CHECK(until(&w, other_is_shared_and_the_first_never_was, 0));
	CHECK(!shared_once);
	CHECK_INT(listed(&w, 0), 'U');
}

/* ---- the CDI file that a Pod needs to start anew stays ---- */

static bool misses_the_hook(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_condition *ready = condition(w, &arena, "GPUsReady");

	(void)arg;
	return ready && fl_str_eq(ready->reason, FL_S("HookMissing")) && fl_loop_idle(w->loop);
}

static bool file_is_gone(struct world *w, int arg)
{
	(void)arg;
	return access(w->file, F_OK) < 0;
}

TEST_ONCE(a_cdi_file_stays_while_the_kubelet_does_not_tell_who_needs_it)
{
	char hook[120];
	WORLD(w, "two-t4", 0);

	(void)snprintf(hook, sizeof hook, "%s/hook", w.rig.folder);
	w.given.hook = fl_str(hook);
	w.node = true;
	w.held = w.rig.state->gpus[0].uuid;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H') && until(&w, is_booked, 0));
	agent_down(&w);
	tells_down(&w);
	CHECK(access(w.file, F_OK) == 0 && unlink(hook) == 0 && test_write_file(hook, "somebody else's\n"));
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, misses_the_hook, 0));
	CHECK(access(w.file, F_OK) == 0);
	w.held = NULL;
	OK_ERR(tells_up(&w), &w.err);
	CHECK(until(&w, has_told, 0));
	kubelet_is_young(&w, false);
	CHECK(until(&w, file_is_gone, 0));
}

/* ---- the daemon of a share stays ---- */

struct mps {
	struct world *w;
	char root[100], config[120];
	int pid;
};

static void mps_auto_(struct mps *mps)
{
	char path[200];

	agent_down(mps->w);
	if (mps->pid > 1)
		(void)kill((pid_t)mps->pid, SIGKILL);
	(void)snprintf(path, sizeof path, "%s/shm", mps->root);
	(void)umount2(path, MNT_DETACH);
}

static int mps_config(struct mps *mps, const struct world *w)
{
	char text[300];

	(void)snprintf(mps->root, sizeof mps->root, "%s/mps", w->rig.folder);
	(void)snprintf(mps->config, sizeof mps->config, "%s/c.yaml", w->rig.folder);
	(void)snprintf(text, sizeof text,
		       "version: v1\nflags: {mpsRoot: %s}\nsharing: {mps: {resources: [{name: gpu, replicas: 4}]}}\n",
		       mps->root);
	return test_write_file(mps->config, text) ? 0 : -FL_E_IO;
}

static bool serves_shares(struct world *w, int arg)
{
	const char *devices = fake_kubelet_devices(&w->kubelet, GPU);

	(void)arg;
	return strstr(devices, "::3") && !strchr(devices, '!');
}

#define STOPS "the MPS daemon of " GPU " stops when no Pod holds a share: "

static bool daemon_stays(struct world *w, int pid, const char *why)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_condition *ready = condition(w, &arena, "MPSReady");

	return ready && !is_dead(pid) && fl_loop_idle(w->loop) && fl_str_eq(ready->message, fl_str(why));
}

static bool daemon_stays_for_the_pod(struct world *w, int pid)
{
	return daemon_stays(w, pid, STOPS "team/job does");
}

static bool daemon_stays_for_anybody(struct world *w, int pid)
{
	return daemon_stays(w, pid, STOPS "the kubelet has not listed yet who does");
}

static bool daemon_has_ended(struct world *w, int pid)
{
	(void)w;
	return is_dead(pid);
}

static int daemon_pid(struct world *w)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_mps *mps = fl_view_get(&view, &fl_mps_kind, FL_S(""), FL_S(GPU));

	return mps ? mps->pid : 0;
}

TEST_ONCE(an_mps_daemon_stays_while_the_kubelet_does_not_tell_who_has_a_share)
{
	static const struct {
		const char *says;
		bool there, booked;
		bool (*stays)(struct world *w, int pid);
	} rows[] = {
		{ "the kubelet is away", false, true, daemon_stays_for_the_pod },
		{ "the kubelet is young, and tells of nobody yet", true, true, daemon_stays_for_the_pod },
		{ "the book has nobody: somebody may hold one all the same", false, false, daemon_stays_for_anybody },
	};

	if (geteuid() != 0)
		SKIP("a tmpfs is mounted, which takes root");
	EACH_ROW_ALONE (row, rows) {
		WORLD(w, "two-t4", 0);
		FL_AUTO(mps) struct mps mps = { .w = &w };

		OK(mps_config(&mps, &w));
		(void)snprintf(w.share, sizeof w.share, "%s::1", uuid(&w, 0));
		w.config = mps.config;
		w.node = true;
		OK_ERR(agent_up(&w), &w.err);
		CHECK(until(&w, serves_shares, 0));
		w.held = row->booked ? w.share : NULL;
		fl_holders_look(w.agent.holders);
		CHECK(!row->booked || until(&w, is_booked, 0));
		mps.pid = daemon_pid(&w);
		CHECK(mps.pid > 1);
		agent_down(&w);
		tells_down(&w);
		w.held = NULL;
		w.config = NULL;
		kubelet_is_young(&w, true);
		if (row->there)
			OK_ERR(tells_up(&w), &w.err);
		OK_ERR(agent_up(&w), &w.err);
		CHECK(until(&w, row->stays, mps.pid));
		CHECK(!row->there || until(&w, has_told, 0));
		CHECK(row->stays(&w, mps.pid));
		if (!row->there)
			OK_ERR(tells_up(&w), &w.err);
		CHECK(until(&w, has_told, 0));
		kubelet_is_young(&w, false);
		CHECK(until(&w, daemon_has_ended, mps.pid));
	}
}
