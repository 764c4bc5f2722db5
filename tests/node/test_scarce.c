/* What the kernel refuses for a while: the agent goes on with what it has, says what is refused, and heals. */
#include "agent_world.h"
#include "scarce_io.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>

/* ---- the agent ---- */

static bool first_is(struct world *w, int what)
{
	return listed(w, 0) == what;
}

static bool first_reports(struct world *w, int arg)
{
	const struct fl_card *card;
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	char address[16];

	(void)arg;
	rig_address(&w->rig, 0, address);
	card = fl_view_get(&view, &fl_card_kind, FL_S(""), fl_str(address));
	return card && card->events;
}

static bool has_another_child(struct world *w, int pid)
{
	return fl_gpu_state(w->agent.gpu).calls && fl_gpu_state(w->agent.gpu).calls != pid;
}

static bool says_refused(struct world *w, int error)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));
	char said[FL_PLAN_TEXT];

	if (!driver || driver->state != FL_DRIVER_SICK)
		return false;
	(void)snprintf(said, sizeof said, "%.*s", FL_ARG(driver->message));
	return strstr(said, "its process cannot be started") && strstr(said, strerror(error)) &&
	       strstr(said, "fs.file-max");
}

static const struct {
	const char *says;
	int fd, process;
} rows[] = {
	{ "the system's table of files is full", ENFILE, 0 },
	{ "the process may open no more files", EMFILE, 0 },
	{ "no process more may be made", 0, EAGAIN },
	{ "there is no memory for a process", 0, ENOMEM },
};

TEST_ONCE(what_the_kernel_refuses_for_a_while_is_told_and_costs_no_gpu)
{
	EACH_ROW_ALONE (row, rows) {
		int pid;

		WORLD(w, "two-t4", 0);
		scarce_io(w.rig.io);
		OK_ERR(agent_up(&w), &w.err);
		CHECK(until(&w, both_are, 'H') && until(&w, is_ready, 0) && until(&w, first_reports, 0));
		scarce_from_now(row->fd, row->process);
		OK_ERR(rig_say(&w.rig, "xid 0 79", &w.err), &w.err);
		CHECK(until(&w, first_is, 'U'));       /* by the children that are there */
		pid = fl_gpu_state(w.agent.gpu).calls;
		CHECK(pid > 0 && kill(pid, SIGKILL) == 0);
		CHECK(until(&w, says_refused, row->fd ? row->fd : row->process));
		CHECK_INT(listed(&w, 1), 'H');         /* nothing is known against it, for as long as that may be */
		scarce_from_now(0, 0);
		CHECK(until(&w, has_another_child, pid));
		CHECK(until(&w, both_are, 'H') && until(&w, is_ready, 0));
	}
}

static bool says_no_room(struct world *w, int arg)
{
	FL_AUTO(fl_buf) struct fl_buf said = FL_BUF(FL_KIB);

	(void)arg;
	return !fl_agent_ready(&w->agent, &said) && said.p && strstr(said.p, "No space left on device") &&
	       node_says(w, "False", "No space left on device: make room there");
}

/* On the disk that is full are the CDI directory and the state. */
TEST_ONCE(a_gpu_that_joins_while_the_disk_is_full_is_not_advertised_before_there_is_room)
{
	WORLD(w, "two-t4", 0);

	scarce_io(w.rig.io);
	w.node = true;
	OK_ERR(rig_say(&w.rig, "pull 1", &w.err), &w.err);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, first_is, 'H') && until(&w, is_ready, 0));
	CHECK_INT(listed(&w, 1), '-');
	scarce_disk_from_now(ENOSPC);
	OK_ERR(rig_say(&w.rig, "heal 1", &w.err), &w.err);
	CHECK(until(&w, says_no_room, 0));
	CHECK(listed(&w, 0) == 'H' && listed(&w, 1) != 'H');
	scarce_disk_from_now(0);
	CHECK(until(&w, both_are, 'H') && until(&w, is_ready, 0));
}
