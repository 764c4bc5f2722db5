/* MPS as a whole: the agent, real children on a fake driver, and the daemons that it starts. */
#include "agent_world.h"
#include "test_io.h"
#include "base/units.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PIPE "nvidia.com/gpu/pipe"
#define PIDFILE PIPE "/nvidia-cuda-mps-control.pid"
#define REMEMBERED "nvidia.com/gpu/.daemon"

/* The directory of MPS; what lies there is unmounted at the end, and daemons end with the rig. */
struct mps {
	char root[100], config[120];
	struct world *w;
};

static const char *below(const struct mps *mps, const char *name)
{
	static char path[200];

	(void)snprintf(path, sizeof path, "%s/%s", mps->root, name);
	return path;
}

/* 0: none. */
static pid_t pid_in(const struct mps *mps, const char *name)
{
	FILE *file = fopen(below(mps, name), "r");
	char text[64] = "";
	long pid = file && fgets(text, sizeof text, file) ? strtol(text, NULL, 10) : 0;

	if (file)
		(void)fclose(file);
	return pid > 1 ? (pid_t)pid : 0;
}

static void kill_named(const struct mps *mps, const char *name)
{
	pid_t pid = pid_in(mps, name);

	if (pid)
		(void)kill(pid, SIGKILL);
}

static void mps_auto_(struct mps *mps)
{
	agent_down(mps->w);
	kill_named(mps, PIDFILE);
	kill_named(mps, REMEMBERED);
	(void)umount2(below(mps, "shm"), MNT_DETACH);
	(void)umount2(below(mps, PIPE), MNT_DETACH);
}

static int mps_up(struct mps *mps, struct world *w)
{
	FILE *file;

	mps->w = w;
	(void)snprintf(mps->root, sizeof mps->root, "%s/mps", w->rig.folder);
	(void)snprintf(mps->config, sizeof mps->config, "%s/config.yaml", w->rig.folder);
	file = fopen(mps->config, "w");
	if (!file)
		return -FL_E_IO;
	(void)fprintf(file,
		      "version: v1\nflags: {mpsRoot: %s}\nsharing: {mps: {resources: [{name: gpu, replicas: 4}]}}\n",
		      mps->root);
	w->config = mps->config;
	w->given.recovery_wait = FL_S("0s");
	return fclose(file) == 0 ? 0 : -FL_E_IO;
}

static int mps_order(const struct mps *mps, const char *fault)
{
	char path[200];
	FILE *file;
	bool written;

	(void)snprintf(path, sizeof path, "%s/nvidia.com/gpu/fault", mps->root);
	file = fopen(path, "w");
	if (!file)
		return -FL_E_IO;
	written = fputs(fault, file) >= 0;
	return fclose(file) == 0 && written ? 0 : -FL_E_IO;
}

static const struct fl_mps *mps_see(struct world *w, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(w->loop, arena);

	return fl_view_get(&view, &fl_mps_kind, FL_S(""), FL_S(GPU));
}

static int mps_pid(struct world *w)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_mps *mps = mps_see(w, &arena);

	return mps ? mps->pid : 0;
}

static int mode(const struct world *w, int gpu)
{
	return (int)w->rig.state->gpus[gpu].compute_mode;
}

/* Of all shares of both: 'H' or 'U'; '-' where one is missing or they differ. */
static char shares(struct world *w)
{
	char first = '-';

	for (int gpu = 0; gpu < 2; gpu++)
		for (int share = 0; share < 4; share++) {
			char id[80];
			const char *at;
			char is;

			(void)snprintf(id, sizeof id, "%s::%d", uuid(w, gpu), share);
			at = strstr(fake_kubelet_devices(&w->kubelet, GPU), id);
			is = !at ? '-' : at[strlen(id)] == '!' ? 'U' : 'H';
			if (gpu + share > 0 && is != first)
				return '-';
			first = is;
		}
	return first;
}

static bool shares_are(struct world *w, int what)
{
	return shares(w) == what;
}

static bool another_daemon(struct world *w, int than)
{
	return mps_pid(w) && mps_pid(w) != than;
}

static bool daemon_is(struct world *w, int pid)
{
	return mps_pid(w) == pid;
}

static bool modes_are(struct world *w, int which)
{
	return mode(w, 0) == which && mode(w, 1) == which;
}

static bool forgets_mps(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };

	(void)arg;
	return !mps_see(w, &arena) && fl_loop_idle(w->loop);
}

static bool mps_complains(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_mps *mps = mps_see(w, &arena);

	(void)arg;
	return mps && fl_str_starts(mps->message, FL_S("the MPS control daemon does not take its limits: 25%"));
}

static bool mps_does_not_start(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_mps *mps = mps_see(w, &arena);

	(void)arg;
	return mps && mps->message.len;
}

static bool held_is(struct world *w, int held)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_holder_kind);

	return (fl_each_next(&each) != NULL) == held;
}

static bool file_says(const struct mps *mps, const char *name, const char *what)
{
	char path[200], text[4096] = "";
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", mps->root, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	(void)fclose(file);
	return strstr(text, what) != NULL;
}

#define MPS(mps, w) \
	FL_AUTO(mps) struct mps mps = { .w = &w }; \
	if (geteuid() != 0) \
		SKIP("a tmpfs is mounted, which takes root"); \
	OK(mps_up(&mps, &w))

/* Limits before Healthy; killed: Unhealthy, another one, Healthy; the next agent adopts it. */
TEST_ONCE(row_39_mps_daemon_limits_kill_and_restart)
{
	int pid;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, shares_are, 'H'));
	CHECK(modes_are(&w, 3));
	pid = mps_pid(&w);
	CHECK(pid > 1);
	CHECK(file_says(&mps, "nvidia.com/gpu/log/control.log", "set_default_device_pinned_mem_limit 0 "));
	CHECK(file_says(&mps, "nvidia.com/gpu/log/control.log", "set_default_device_pinned_mem_limit 1 "));
	CHECK(file_says(&mps, "nvidia.com/gpu/log/control.log", "set_default_active_thread_percentage 25\n"));
	CHECK(file_says(&mps, "nvidia.com/gpu/.started", "25%") && file_says(&mps, ".ready", ""));
	CHECK_INT(w.kubelet.registered, 1);

	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(until(&w, shares_are, 'U'));
	CHECK(until(&w, another_daemon, pid));
	CHECK(until(&w, shares_are, 'H'));

	pid = mps_pid(&w);
	agent_down(&w);
	CHECK(!is_dead(pid));
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, daemon_is, pid) && until(&w, shares_are, 'H'));
	CHECK_INT(mps_pid(&w), pid);
}

/* Refused limits: never Healthy, and said why. */
TEST_ONCE(row_39_mps_no_share_is_healthy_without_limits)
{
	char path[200];
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	(void)snprintf(path, sizeof path, "mkdir -p %s/nvidia.com/gpu/pipe", mps.root);
	CHECK(system(path) == 0);
	OK(mps_order(&mps, "refuse"));
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, mps_complains, 0));
	CHECK_INT(w.kubelet.registered, 0);
	OK(mps_order(&mps, ""));
	CHECK(until(&w, shares_are, 'H'));
}

/* A client's fault, and a daemon that does not answer. */
TEST_ONCE(mps_a_fault_and_silence_are_bad_news_and_heal)
{
	int pid;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, shares_are, 'H'));
	pid = mps_pid(&w);
	OK(mps_order(&mps, "fault"));
	CHECK(until(&w, shares_are, 'U'));
	OK(mps_order(&mps, ""));
	CHECK(until(&w, shares_are, 'H'));
	CHECK_INT(mps_pid(&w), pid);
	w.held = w.share;
	(void)snprintf(w.share, sizeof w.share, "%s::1", uuid(&w, 0));
	fl_holders_look(w.agent.holders);
	CHECK(until(&w, held_is, true));
	OK(mps_order(&mps, "deaf"));
	CHECK(until(&w, shares_are, 'U'));
	CHECK_INT(mps_pid(&w), pid);       /* its clients may work still */
	OK(mps_order(&mps, ""));
	CHECK(until(&w, shares_are, 'H'));
	CHECK_INT(mps_pid(&w), pid);
}

TEST_ONCE(mps_a_silent_daemon_that_nobody_needs_is_replaced)
{
	int pid;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, shares_are, 'H'));
	pid = mps_pid(&w);
	OK(mps_order(&mps, "deaf"));
	CHECK(until(&w, shares_are, 'U'));
	CHECK(until(&w, another_daemon, pid));
	CHECK(is_dead(pid));
	OK(mps_order(&mps, ""));
	CHECK(until(&w, shares_are, 'H'));
}

static bool is_marked(struct world *w, int arg)
{
	char path[200];

	(void)arg;
	(void)snprintf(path, sizeof path, "%s/mps/nvidia.com/gpu/.started", w->rig.folder);
	return access(path, F_OK) == 0;
}

static bool folders(const char *in, int depth)
{
	char command[1000];
	int n = snprintf(command, sizeof command, "mkdir -p %s", in);

	while (depth--)
		n += snprintf(command + n, sizeof command - (size_t)n, "/d");
	return system(command) == 0;
}

TEST_ONCE(mps_a_daemon_is_replaced_whatever_it_was_at_and_whatever_pods_leave_there)
{
	int pid;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, is_marked, 0));
	pid = mps_pid(&w);
	CHECK(pid > 1 && kill(pid, SIGKILL) == 0);
	CHECK(until(&w, another_daemon, pid));
	CHECK(until(&w, shares_are, 'H'));

	pid = mps_pid(&w);   /* Pods may write to the daemon's directory */
	CHECK(unlink(below(&mps, PIDFILE)) == 0 && mkdir(below(&mps, PIDFILE), 0700) == 0);
	CHECK(mkdir(below(&mps, PIDFILE "/in"), 0700) == 0);
	CHECK(folders(below(&mps, PIPE), 40));
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(until(&w, another_daemon, pid));
	CHECK(until(&w, shares_are, 'H'));
}

/* Pods take its pid file away: the daemon is known all the same, by this agent and by the next. */
TEST_ONCE(mps_a_daemon_is_found_again_without_its_pid_file)
{
	int pid;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, shares_are, 'H'));
	pid = mps_pid(&w);
	agent_down(&w);
	CHECK(unlink(below(&mps, PIDFILE)) == 0);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, daemon_is, pid) && until(&w, shares_are, 'H'));
	agent_down(&w);
	CHECK(unlink(below(&mps, REMEMBERED)) == 0);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, daemon_is, pid) && until(&w, shares_are, 'H'));
	agent_down(&w);
	w.config = NULL;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, modes_are, 0) && until(&w, forgets_mps, 0));
	CHECK(is_dead(pid));
}

/* A link in the place of its pid file, put there after the directory was emptied. */
TEST_ONCE(mps_no_link_of_a_pod_leads_the_daemon_out_of_its_directory)
{
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	CHECK(folders(below(&mps, PIPE), 0));
	CHECK(test_write_file(below(&mps, "nvidia.com/gpu/outside"), "precious"));
	OK(mps_order(&mps, "link"));
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, mps_does_not_start, 0));
	CHECK(file_says(&mps, "nvidia.com/gpu/outside", "precious"));
	OK(mps_order(&mps, ""));
	CHECK(until(&w, shares_are, 'H'));
	CHECK(file_says(&mps, "nvidia.com/gpu/outside", "precious"));
}

/* What Pods write there fills neither the host's /run nor anything else, and runs nowhere. */
TEST_ONCE(mps_the_directory_of_pods_is_a_small_file_system_until_mps_is_off)
{
	struct statvfs of;
	struct stat here, above;
	int pid;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, shares_are, 'H'));
	CHECK(statvfs(below(&mps, PIPE), &of) == 0);
	CHECK_INT(of.f_blocks * of.f_frsize, FL_MIB);
	CHECK_INT(of.f_files, 4096);
	CHECK_INT(of.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC), ST_NOSUID | ST_NODEV | ST_NOEXEC);
	CHECK(stat(below(&mps, PIPE), &here) == 0);
	pid = mps_pid(&w);
	agent_down(&w);
	CHECK(kill(pid, SIGKILL) == 0);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, another_daemon, pid) && until(&w, shares_are, 'H'));
	CHECK(stat(below(&mps, PIPE), &above) == 0);
	CHECK_INT(above.st_dev, here.st_dev);   /* Pods have it open: they must see the next daemon there */
	agent_down(&w);
	w.config = NULL;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, modes_are, 0) && until(&w, forgets_mps, 0));
	CHECK(stat(below(&mps, PIPE), &here) == 0 && stat(below(&mps, ""), &above) == 0);
	CHECK_INT(here.st_dev, above.st_dev);
}

/* One beside the first, which commands still reach. */
static int start_second(struct world *w, const struct mps *mps)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_mps *is = mps_see(w, &arena);
	char command[900];

	(void)snprintf(command, sizeof command,
		       "cd %s/" PIPE " && mv control first && rm *.pid && CUDA_MPS_PIPE_DIRECTORY=%s/" PIPE
		       " CUDA_MPS_LOG_DIRECTORY=%s/nvidia.com/gpu/log %.*s -d && mv first control",
		       mps->root, mps->root, mps->root, FL_ARG(is ? is->program : FL_S("false")));
	return system(command) == 0 ? pid_in(mps, PIDFILE) : 0;
}

/* As a former agent left them. */
TEST_ONCE(mps_off_ends_every_daemon_of_the_resource)
{
	int first, second;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, shares_are, 'H'));
	first = mps_pid(&w);
	second = start_second(&w, &mps);
	CHECK(second > 1 && second != first);
	agent_down(&w);
	w.config = NULL;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, modes_are, 0) && until(&w, forgets_mps, 0));
	CHECK(is_dead(first) && is_dead(second));
	CHECK_INT(w.killed, 1);   /* the second is asked in vain */
}

/* Switched off: the daemon is asked to end, by the program of its driver, the compute mode is what it was, and nothing
 * is remembered; by whichever agent. */
TEST_ONCE(mps_off_leaves_nothing_behind)
{
	int pid;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	for (int i = 0; i < 2; i++) {
		w.config = mps.config;
		OK_ERR(agent_up(&w), &w.err);
		CHECK(until(&w, shares_are, 'H'));
		pid = mps_pid(&w);
		agent_down(&w);
		w.config = NULL;
		OK_ERR(agent_up(&w), &w.err);
		CHECK(until(&w, modes_are, 0));
		CHECK(until(&w, forgets_mps, 0));
		CHECK(until(&w, both_are, 'H'));
		CHECK(is_dead(pid));
		CHECK_INT(w.killed, 0);
		CHECK(!file_says(&mps, "nvidia.com/gpu/.started", "") &&
		      !file_says(&mps, "nvidia.com/gpu/log/control.log", ""));
		agent_down(&w);
	}
}

/* ---- records that this agent would not write ---- */

struct old {
	struct fl_journal_open open;
	struct fl_journal_append append;
};

static void ignore(struct fl_op *op)
{
	(void)op;
}

static bool is_done(struct world *w, int arg)
{
	(void)arg;
	return !fl_op_busy(&w->old->open.op) && !fl_op_busy(&w->old->append.op);
}

/* In the place of the one that is there: these lines before its last one. */
static int keep_record(struct world *w, uint8_t format, const char *lines)
{
	struct old old = { .open = { .op = { .done = ignore, .err = &w->err }, .dir = w->state, .name = "agent" },
			   .append.op = { .done = ignore } };
	const struct fl_journal_item *item;
	struct fl_str rest, line = { 0 };
	char text[2048];
	bool kept;

	w->old = &old;
	fl_journal_open(w->rig.io, &old.open);
	if (!until(w, is_done, 0) || old.open.op.result < 0)
		return -FL_E_IO;
	item = fl_journal_get(old.open.journal, FL_S("mps/" GPU));
	for (rest = item ? item->value : FL_S(""); fl_str_split(&rest, '\n', &line);)
		;
	(void)snprintf(text, sizeof text, "%s\n%.*s", lines, FL_ARG(line));
	fl_journal_put(old.open.journal, &old.append, format, FL_S("mps/" GPU), fl_str(text));
	kept = until(w, is_done, 0) && old.append.op.result >= 0 && line.len;
	fl_journal_close(old.open.journal);
	return kept ? 0 : -FL_E_IO;
}

TEST_ONCE(mps_a_record_without_the_program_is_read_and_completed)
{
	int pid;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, shares_are, 'H'));
	pid = mps_pid(&w);
	agent_down(&w);
	OK(keep_record(&w, 1, mps.root));
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, daemon_is, pid) && until(&w, shares_are, 'H'));
	agent_down(&w);
	w.config = NULL;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, modes_are, 0) && until(&w, forgets_mps, 0));
	CHECK(is_dead(pid));
	CHECK_INT(w.killed, 0);
}

/* As an agent wrote it that took a directory with a line break: nothing is done in the wrong directory. */
TEST_ONCE(mps_a_record_with_a_line_too_many_is_set_aside)
{
	struct fl_err why = { 0 };
	int pid;
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, shares_are, 'H'));
	pid = mps_pid(&w);
	agent_down(&w);
	OK(keep_record(&w, 2, "/run/a\nb/nvidia/mps\n/usr/bin/nvidia-cuda-mps-control\n"));
	w.config = NULL;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK(fl_mps_unread(&w.agent.mps, &why));
	CHECK_STR(fl_str(why.text), "mps/nvidia.com/gpu: it is damaged");
	CHECK(!is_dead(pid));
}

static bool sets_a_mode(struct world *w, int arg)
{
	(void)arg;
	return w->rig.state->calls[fake_call_no("set_compute_mode")] > 0;
}

/* The loop cancels its writes when the driver's part is gone already. */
TEST_ONCE(mps_an_agent_stops_while_the_driver_sets_a_compute_mode)
{
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	OK_ERR(rig_say(&w.rig, "hang set_compute_mode", &w.err), &w.err);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, sets_a_mode, 0));
	agent_down(&w);
	OK_ERR(rig_say(&w.rig, "heal any", &w.err), &w.err);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, modes_are, 3) && until(&w, shares_are, 'H'));
}

/* Whatever step it was at when it was killed, the next agent goes on from there. */
TEST_ONCE(mps_an_agent_that_is_killed_at_any_step_is_followed_by_one_that_goes_on)
{
	WORLD(w, "two-t4", 0);
	MPS(mps, w);

	for (int turns = 1; turns < 120; turns += 1 + turns / 8) {
		bool on = turns % 2;

		w.config = on ? mps.config : NULL;
		OK_ERR(agent_up(&w), &w.err);
		for (int i = 0; i < turns; i++)
			OK_ERR(fl_io_turn(w.rig.io, fl_clock(w.rig.io) + 2 * FL_NS_PER_MS, &w.err), &w.err);
		agent_down(&w);
	}
	w.config = mps.config;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, modes_are, 3) && until(&w, shares_are, 'H'));
	agent_down(&w);
	w.config = NULL;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, modes_are, 0) && until(&w, forgets_mps, 0));
}
