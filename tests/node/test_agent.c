/* The agent as a whole: real children on a fake driver, a kubelet and a disk, and what a restart leaves of it. */
#include "agent_world.h"
#include "base/units.h"
#include "io/child.h"
#include "test_io.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Records of formats that this program does not know: one older, as far as there is one. */
static const struct {
	const char *says, *key, *told;
} olds[] = {
	{ "a GPU's health", "Health//0000:99:00.0", "the stored health of a GPU cannot be read, counts as absent "
	  "and is set aside: Health//0000:99:00.0: it is kept in format 0, this program knows 1" },
	{ "the book of allocations", "Booking//t/p/c/" GPU, "the stored allocation of a container cannot be read, "
	  "counts as absent and is set aside: Booking//t/p/c/" GPU ": it is kept in format 0, this program knows 1" },
	{ "an answer of the API server", "Memo//config", "the stored answer of the API server cannot be read, "
	  "counts as absent and is set aside: Memo//config: it is kept in format 0, this program knows 1" },
	{ "an MPS daemon", "mps/" GPU, "the record of an MPS daemon cannot be read, counts as absent and is set aside: "
	  "mps/" GPU ": it is kept in format 0, this program knows 2" },
};

#define TOLD_UNWRITABLE (1u << FL_LEN(olds))

static void hear(void *w_, const struct fl_told_event *event)
{
	struct world *w = w_;

	for (uint32_t i = 0; i < FL_LEN(olds); i++)
		if (fl_str_eq(event->reason, FL_S("JournalNotAsLeft")) &&
		    fl_str_ends(event->message, fl_str(olds[i].told)))
			w->told |= 1u << i;
	if (fl_str_eq(event->reason, FL_S("JournalNotAsLeft")) &&
	    fl_str_ends(event->message, FL_S(": nothing is stored until this succeeds: free disk space or make the "
					     "directory writable")))
		w->told |= TOLD_UNWRITABLE;
}

static bool first_is(struct world *w, int what)
{
	return listed(w, 0) == what;
}

static bool says(struct world *w, int which)
{
	const char *const words[][3] = {
		{ "cannot write a CDI file", w->file, ": remove what is there" },
		{ "cannot list the CDI directory", w->cdi, "Not a directory" },
		{ "serves nothing", "there is no file at '", "at-all.yaml'" },
		{ "waits for the end of the agent that holds the state directory", w->state, "" },
		{ "open state directory '/proc/x': No such file or directory: mount a writable", "", "" },
		{ "waits for the kubelet to watch nvidia.com/gpu: ", "/late/plugins", "No such file or directory" },
		{ "cannot store the observed state in /proc/self/fdinfo: journal agent: ", "", "" },
	};
	FL_AUTO(fl_buf) struct fl_buf said = FL_BUF(FL_KIB);

	return !fl_agent_ready(&w->agent, &said) && said.p && strstr(said.p, words[which][0]) &&
	       strstr(said.p, words[which][1]) && strstr(said.p, words[which][2]);
}

static bool node_says_so_too(struct world *w, int arg)
{
	FL_AUTO(fl_buf) struct fl_buf said = FL_BUF(FL_KIB);

	(void)arg;
	return !fl_agent_ready(&w->agent, &said) && said.p && strstr(said.p, "(--kubelet-dir)") &&
	       node_says(w, "False", said.p);
}

static bool node_says_ready(struct world *w, int arg)
{
	(void)arg;
	return node_says(w, "True", "2 GPUs");
}

TEST_ONCE(a_kubelets_directory_that_is_not_there_is_named)
{
	char late[100];
	WORLD(w, "two-t4", 0);

	(void)snprintf(late, sizeof late, "%s/late", w.rig.folder);
	(void)snprintf(w.plugins, sizeof w.plugins, "%s/late/plugins", w.rig.folder);
	w.node = true;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, says, 5));
	CHECK(until(&w, node_says_so_too, 0));
	CHECK(mkdir(late, 0755) == 0 && symlink("../plugins", w.plugins) == 0);
	CHECK(until(&w, both_are, 'H') && until(&w, is_ready, 0) && until(&w, node_says_ready, 0));
}

/* /readyz: 503 ("503 ..."), or 200 with these words. */
static bool readyz_has(struct world *w, int which)
{
	static const char *const words[] = {
		"503 DriverNotReady: the driver is Absent: there is no libnvidia-ml.so.1 under ",
		"200 no GPU is served: no pool has one", "503 MigStrategySingle: device 0 ",
	};
	FL_AUTO(fl_buf) struct fl_buf said = FL_BUF(FL_KIB);
	bool ready = fl_agent_ready(&w->agent, &said);

	return said.p && strncmp(words[which], ready ? "200" : "503", 3) == 0 &&
	       strncmp(said.p, words[which] + 4, strlen(words[which] + 4)) == 0;
}

TEST_ONCE(gpus_that_the_node_s_set_up_keeps_back_are_told_without_an_api_server)
{
	static const struct {
		const char *says, *topology, *unpooled, *strategy, *order;
		unsigned flags;
		int words;
	} rows[] = {
		{ "a root without the driver", "two-t4", "true", NULL, NULL, RIG_NO_LIBRARY, 0 },
		{ "GPUs without a pool are off", "two-t4", "false", NULL, NULL, 0, 1 },
		{ "MIG on one of them", "dgx-a100", "true", "single", "mig 1 on", 0, 2 },
	};

	EACH_ROW_ALONE (row, rows) {
		WORLD(w, row->topology, row->flags);

		if (row->order)
			OK_ERR(rig_say(&w.rig, row->order, &w.err), &w.err);
		w.given.unpooled = fl_str(row->unpooled);
		if (row->strategy)
			w.given.mig_strategy = fl_str(row->strategy);
		OK_ERR(agent_up(&w), &w.err);
		CHECK(until(&w, readyz_has, row->words));
	}
}

static bool says_no_node(struct world *w, int arg)
{
	FL_AUTO(fl_buf) struct fl_buf said = FL_BUF(FL_KIB);

	(void)arg;
	return fl_agent_ready(&w->agent, &said) && said.p && strstr(said.p, "the API server has no Node 'n1'") &&
	       strstr(said.p, "set NODE_NAME by the downward API (spec.nodeName), or --node-name");
}

static bool says_nothing(struct world *w, int arg)
{
	FL_AUTO(fl_buf) struct fl_buf said = FL_BUF(FL_KIB);

	(void)arg;
	return fl_agent_ready(&w->agent, &said) && !said.len;
}

/* Until the list has been read nobody knows; then devices are served all the same. A Node may go, and come back. */
TEST_ONCE(a_node_that_the_api_server_does_not_have_is_named_and_its_devices_are_served)
{
	struct fl_own_node node = { 0 };
	struct fl_feed *feed;
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	feed = fl_loop_feed(w.loop, &fl_own_node_kind);
	CHECK(until(&w, both_are, 'H') && until(&w, says_nothing, 0));
	CHECK_INT(w.missed, 0);
	FL_SET(FL_IN(&node, meta), name, FL_S("n1"));
	for (int i = 1; i <= 2; i++) {
		fl_feed_begin(feed);
		fl_feed_synced(feed);
		CHECK(until(&w, says_no_node, 0) && both_are(&w, 'H'));
		CHECK_INT(w.missed, i);
		OK_ERR(fl_feed_put(feed, &node, &w.err), &w.err);
		CHECK(until(&w, says_nothing, 0));
		fl_feed_gone(feed, FL_S(""), FL_S("n1"));
	}
}

static bool is_absent(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	(void)arg;
	return driver && driver->state == FL_DRIVER_ABSENT && fl_loop_idle(w->loop);
}

static bool is_driver_ready(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	(void)arg;
	return driver && driver->state == FL_DRIVER_READY && fl_loop_idle(w->loop);
}

static bool reports(struct world *w, int gpu)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_card *card;
	char address[16];

	rig_address(&w->rig, gpu, address);
	card = fl_view_get(&view, &fl_card_kind, FL_S(""), fl_str(address));
	return card && card->events;
}

/* Was it Unhealthy, and has come back? */
static bool first_returned(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_health *health;
	char address[16];

	(void)arg;
	rig_address(&w->rig, 0, address);
	health = fl_view_get(&view, &fl_health_kind, FL_S(""), fl_str(address));
	return health && health->has.returned && fl_loop_idle(w->loop);
}

static bool is_let_go(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	(void)arg;
	w->opened |= fake_in_use(w->rig.state->path);
	return driver && driver->state == FL_DRIVER_PAUSED && fl_loop_idle(w->loop);
}

static bool is_without_children(struct world *w, int arg)
{
	(void)arg;
	w->opened |= fake_in_use(w->rig.state->path);
	return fl_gpu_state(w->agent.gpu).calls == 0;
}

static int say(struct world *w, bool pause)
{
	struct fl_pause_request word = { 0 };

	FL_SET(FL_IN(&word, meta), name, FL_S("operator"));
	FL_SET(&word, pause, pause);
	FL_SET(&word, why, FL_S("an upgrade"));
	return fl_feed_put(fl_loop_feed(w->loop, &fl_pause_request_kind), &word, &w->err);
}

static bool has_ended(struct world *w, int arg)
{
	(void)arg;
	return fl_agent_end(&w->agent);
}

/* ---- the tests ---- */

TEST_ONCE(without_a_driver_it_waits_and_then_lists_what_comes)
{
	WORLD(w, "two-t4", RIG_NO_LIBRARY);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, is_absent, 0));
	CHECK_INT(w.kubelet.registered, 0);
	CHECK(access(w.file, F_OK) < 0);
	OK_ERR(rig_tree(&w.rig, true, &w.err), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK(access(w.file, F_OK) == 0);
	CHECK_INT(w.kubelet.registered, 1);
	CHECK(until(&w, is_ready, 0) && until(&w, reports, 0));
	CHECK_INT(w.registered, 1);
	OK_ERR(rig_say(&w.rig, "xid 0 79", &w.err), &w.err);
	CHECK(until(&w, first_is, 'U'));
	CHECK_INT(listed(&w, 1), 'H');
}

static bool is_explained(struct world *w, const struct fl_kind *kind, const char *name, struct fl_buf *out)
{
	fl_buf_clear(out);
	return fl_loop_explain(w->loop, kind, FL_S(""), fl_str(name), out, &w->err) == 0;
}

TEST_ONCE(a_gpu_is_explained_by_its_address_and_by_its_uuid)
{
	FL_AUTO(fl_buf) struct fl_buf by_address = FL_BUF(4 * FL_KIB), by_uuid = FL_BUF(4 * FL_KIB);
	char address[16];
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H') && until(&w, is_ready, 0));
	rig_address(&w.rig, 1, address);
	CHECK(is_explained(&w, &fl_health_kind, address, &by_address) && by_address.len);
	CHECK(is_explained(&w, &fl_health_kind, uuid(&w, 1), &by_uuid));
	CHECK(fl_str_eq(fl_buf_view(&by_address), fl_buf_view(&by_uuid)));
	CHECK(is_explained(&w, &fl_card_kind, uuid(&w, 1), &by_uuid));
	CHECK(!is_explained(&w, &fl_card_kind, "GPU-none", &by_uuid));
	CHECK(strstr(w.err.text, "there is no Card GPU-none, and no plan mentions it; there are "));
	CHECK(strstr(w.err.text, address) != NULL);
}

enum { NODE_GPU_0, NODE_GPU_1, POD_GPU_0, NODE_READY, HEARD_COUNT };

#define POD_UID "5d0e7f4b-0f0e-4b43-8a1a-6a1c3c6f0a11"

/* Of each GPU in an Event of its own, that says which one it is and refers to the Node and to the Pod as `kubectl
 * describe` looks for. */
static void hear_of_gpus(void *w_, const struct fl_told_event *event)
{
	struct world *w = w_;
	bool node = event->ref.kind == &fl_own_node_kind && fl_str_eq(event->ref.name, FL_S("n1")) &&
		    fl_str_eq(event->ref.uid, FL_S("n1"));

	if (node && fl_str_eq(event->reason, FL_S("Ready")))
		w->told |= 1u << NODE_READY;
	for (int i = 0; i < 2 && fl_str_eq(event->reason, FL_S("Xid79")); i++) {
		char address[16], want[200];

		rig_address(&w->rig, i, address);
		if (!fl_str_eq(event->subject, fl_str(address)))
			continue;
		(void)snprintf(want, sizeof want, "GPU %s (%s, index %d): XID 79: ", address, uuid(w, i), i);
		if (!fl_str_starts(event->message, fl_str(want)))
			continue;
		if (node)
			w->told |= 1u << (i ? NODE_GPU_1 : NODE_GPU_0);
		else if (event->ref.kind == &fl_pod_kind && !i && fl_str_eq(event->ref.space, FL_S("team")) &&
			 fl_str_eq(event->ref.name, FL_S("job")) && fl_str_eq(event->ref.uid, FL_S(POD_UID)))
			w->told |= 1u << POD_GPU_0;
	}
}

static bool all_are_heard(struct world *w, int arg)
{
	(void)arg;
	return w->told == (1u << HEARD_COUNT) - 1;
}

TEST_ONCE(an_event_about_a_gpu_names_it_and_is_shown_by_a_description_of_the_node_and_of_the_pod)
{
	FL_AUTO(world) struct world w = { 0 };
	char path[160];

	w.hear = hear_of_gpus;
	OK_ERR(world_up(&w, "two-t4", 0), &w.err);
	(void)snprintf(path, sizeof path, "%s/team_job_" POD_UID, w.logs);
	CHECK_INT(mkdir(path, 0755), 0);
	w.held = w.rig.state->gpus[0].uuid;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, reports, 0) && until(&w, reports, 1));
	OK_ERR(rig_say(&w.rig, "xid 0 79", &w.err), &w.err);
	OK_ERR(rig_say(&w.rig, "xid 1 79", &w.err), &w.err);
	fl_agent_tell(&w.agent, &(struct fl_told_event){
		.ref = { &fl_own_node_kind, FL_S(""), FL_S("n1"), FL_S("8c5f") }, .reason = FL_S("Ready") });
	CHECK(until(&w, all_are_heard, 0));
	CHECK_INT(w.told, (1 << HEARD_COUNT) - 1);
}

static struct {
	int gpu_on_node, gpu_on_pod, back_on_node, back_on_pod, driver, gpus;
} heard;

static void hear_of_the_driver(void *w, const struct fl_told_event *event)
{
	bool node = event->ref.kind == &fl_own_node_kind;

	(void)w;
	heard.gpu_on_node += node && fl_str_eq(event->reason, FL_S("Paused"));
	heard.gpu_on_pod += !node && fl_str_eq(event->reason, FL_S("Paused"));
	heard.back_on_node += node && fl_str_eq(event->reason, FL_S("Healthy"));
	heard.back_on_pod += !node && fl_str_eq(event->reason, FL_S("Healthy"));
	heard.gpus += node && fl_str_eq(event->reason, FL_S("GPUsUnhealthy"));
	heard.driver += node && fl_str_eq(event->reason, FL_S("DriverNotReady"));
}

static bool pod_is_told(struct world *w, int back)
{
	(void)w;
	return (back ? heard.back_on_pod : heard.gpu_on_pod) && heard.driver;
}

TEST_ONCE(a_driver_that_is_away_has_one_event_on_the_node_and_one_on_each_pod)
{
	FL_AUTO(world) struct world w = { 0 };

	w.hear = hear_of_the_driver;
	OK_ERR(world_up(&w, "two-t4", 0), &w.err);
	w.held = w.rig.state->gpus[0].uuid;
	w.node = true;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H') && until(&w, is_ready, 0));
	memset(&heard, 0, sizeof heard);
	OK_ERR(say(&w, true), &w.err);
	CHECK(until(&w, both_are, 'U') && until(&w, pod_is_told, false));
	OK_ERR(say(&w, false), &w.err);
	CHECK(until(&w, both_are, 'H') && until(&w, pod_is_told, true) && until(&w, is_ready, 0));
	CHECK_INT(heard.driver, 1);
	CHECK_INT(heard.gpu_on_pod, 1);
	CHECK_INT(heard.gpu_on_node, 0);
	CHECK_INT(heard.back_on_node, 0);
	CHECK_INT(heard.gpus, 0);
}

/* The one that was here before is told of nothing by the card; after a boot the CDI folder is empty as well. */
TEST_ONCE(a_restart_remembers_what_a_lost_card_was_while_a_pod_holds_it)
{
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, is_ready, 0));
	agent_down(&w);
	CHECK(unlink(w.file) == 0);
	OK_ERR(rig_say(&w.rig, "lose 0", &w.err), &w.err);
	w.held = w.rig.state->gpus[0].uuid;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, first_is, 'U'));
	CHECK_INT(listed(&w, 1), 'H');   /* in the very first list: a Pod that comes back with it is not refused */
	CHECK(access(w.file, F_OK) == 0);
	CHECK(until(&w, is_ready, 0));
	CHECK_INT(listed(&w, 0), 'U');
	OK_ERR(rig_say(&w.rig, "heal 0", &w.err), &w.err);
}

/* A second agent of the node, as in a rolling update: it reads the node, and writes nothing. */
TEST_ONCE(an_agent_that_waits_for_the_state_directory_changes_nothing)
{
	char hook[120];
	int lock;
	WORLD(w, "two-t4", 0);

	(void)snprintf(hook, sizeof hook, "%s/hook", w.rig.folder);
	w.given.hook = fl_str(hook);
	lock = open(w.state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(lock >= 0 && flock(lock, LOCK_EX) == 0);
	w.node = true;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, is_driver_ready, 0));
	for (int i = 0; i < 25; i++)
		OK_ERR(fl_io_turn(w.rig.io, fl_clock(w.rig.io) + 20 * FL_NS_PER_MS, &w.err), &w.err);
	CHECK(says(&w, 3));
	CHECK(access(w.file, F_OK) < 0);
	CHECK(access(hook, F_OK) < 0);
	CHECK_INT(w.kubelet.registered, 0);
	CHECK(node_says(&w, "True", "as it was"));
	CHECK(close(lock) == 0);
	CHECK(until(&w, both_are, 'H'));
	CHECK(access(w.file, F_OK) == 0);
	CHECK(access(hook, X_OK) == 0);
	CHECK(until(&w, is_ready, 0));
	CHECK(node_says(&w, "True", "2 GPUs"));
}

static const char *const says_of_state[] = {
	"open state directory '/proc/x': No such file or directory: mount a writable directory at --state-dir",
	"2 GPUs",
};

static bool node_says_of_state(struct world *w, int good)
{
	return node_says(w, good ? "True" : "False", says_of_state[good]);
}

/* It may be mounted late, and what is known by then is served then. */
TEST_ONCE(a_state_directory_that_cannot_be_used_is_no_readiness)
{
	char good[sizeof(((struct world *)0)->state)];
	WORLD(w, "two-t4", 0);

	memcpy(good, w.state, sizeof good);
	(void)snprintf(w.state, sizeof w.state, "/proc/x");
	w.node = true;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, node_says_of_state, 0));
	CHECK(until(&w, says, 4));
	CHECK_INT(w.kubelet.registered, 0);
	memcpy(w.state, good, sizeof good);   /* the agent has its path by reference: as if it were mounted now */
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, is_ready, 0));
	CHECK(until(&w, node_says_of_state, 1));
}

/* Nobody is told of it any more, but the card has counted it. */
TEST_ONCE(an_error_of_memory_while_nobody_is_there_is_found_at_the_next_start)
{
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, first_is, 'H'));
	CHECK(until(&w, is_ready, 0));
	agent_down(&w);
	OK_ERR(rig_say(&w.rig, "ecc 0 uncorrected", &w.err), &w.err);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, first_returned, 0));   /* by itself; on a slow machine before the kubelet has the first list */
	CHECK(until(&w, first_is, 'H'));
}

/* Somebody changes the driver, and we are killed or replaced meanwhile: whoever comes leaves it alone, from the first
 * moment on. */
/* ---- state of a format that is one older ---- */

struct old {
	struct fl_journal_open open;
	struct fl_journal_append append[FL_LEN(olds)];
};

static void ignore(struct fl_op *op)
{
	(void)op;
}

static bool is_open(struct world *w, int arg)
{
	(void)arg;
	return w->old && !fl_op_busy(&w->old->open.op);
}

static bool is_written(struct world *w, int arg)
{
	(void)arg;
	for (uint32_t i = 0; i < FL_LEN(olds); i++)
		if (fl_op_busy(&w->old->append[i].op))
			return false;
	return true;
}

static struct fl_journal *journal_of(struct world *w)
{
	w->old->open = (struct fl_journal_open){ .op = { .done = ignore, .err = &w->err }, .dir = w->state,
						 .name = "agent" };
	fl_journal_open(w->rig.io, &w->old->open);
	return until(w, is_open, 0) && w->old->open.op.result >= 0 ? w->old->open.journal : NULL;
}

static bool is_told_unwritable(struct world *w, int arg)
{
	(void)arg;
	return w->told & TOLD_UNWRITABLE;
}

TEST_ONCE(a_journal_that_cannot_be_written_is_told_and_holds_no_device_back)
{
	WORLD(w, "two-t4", 0);

	w.hear = hear;
	(void)snprintf(w.state, sizeof w.state, "/proc/self/fdinfo");   /* root, too, makes no file there */
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, is_told_unwritable, 0));
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, says, 6));
}

static bool all_are_told(struct world *w, int arg)
{
	(void)arg;
	return w->told == (1u << FL_LEN(olds)) - 1;
}

TEST_ONCE(state_of_a_format_that_is_one_older_is_refused_by_name_and_kept)
{
	FL_AUTO(world) struct world w = { 0 };
	struct old old = { 0 };
	struct fl_journal *journal;

	w.old = &old;
	w.hear = hear;
	OK_ERR(world_up(&w, "two-t4", 0), &w.err);
	journal = journal_of(&w);
	CHECK(journal != NULL);
	for (uint32_t i = 0; journal && i < FL_LEN(olds); i++) {
		old.append[i].op = (struct fl_op){ .done = ignore };
		fl_journal_put(journal, &old.append[i], 0, fl_str(olds[i].key), FL_S("of old"));
	}
	CHECK(until(&w, is_written, 0));
	fl_journal_close(journal);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, all_are_told, 0));
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, is_ready, 0));
	agent_down(&w);
	journal = journal_of(&w);
	CHECK(journal != NULL);
	for (uint32_t i = 0; journal && i < FL_LEN(olds); i++) {
		char key[120];
		const struct fl_journal_item *item;

		(void)snprintf(key, sizeof key, "aside/%s", olds[i].key);
		item = fl_journal_get(journal, fl_str(key));
		CHECK(item && item->kind == 0 && fl_str_eq(item->value, FL_S("of old")));
	}
	fl_journal_close(journal);
}

TEST_ONCE(a_pause_holds_until_it_is_taken_back_whoever_is_there)
{
	char path[140];
	WORLD(w, "two-t4", 0);
	(void)snprintf(w.control, sizeof w.control, "%s/run/node.sock", w.rig.folder);
	(void)snprintf(path, sizeof path, "%s/run/paused/operator", w.rig.folder);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	w.held = w.rig.state->gpus[0].uuid;
	OK_ERR(say(&w, true), &w.err);
	CHECK(until(&w, is_let_go, 0));
	CHECK(access(path, F_OK) == 0);
	for (int i = 0; i < 2; i++) {
		agent_down(&w);
		w.opened = false;
		OK_ERR(agent_up(&w), &w.err);
		CHECK(until(&w, is_let_go, 0) && until(&w, first_is, 'U') && until(&w, is_ready, 0));
		CHECK(until(&w, is_without_children, 0) && !w.opened);
	}
	OK_ERR(say(&w, false), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK(access(path, F_OK) < 0);
	agent_down(&w);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
}

/* Somebody takes over at once: nothing of the one before may be left, however early it is told to end. */
TEST_ONCE(it_ends_in_order)
{
	struct fake_stream *stream;
	WORLD(w, "two-t4", 0);

	w.end_wait = 60 * FL_NS_PER_S;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	stream = fake_kubelet_find(&w.kubelet, GPU);
	fl_loop_lead(w.loop, false);
	CHECK(until(&w, has_ended, 0));
	CHECK_INT(fl_child_undead(w.rig.io), 0);
	CHECK_INT(fl_gpu_state(w.agent.gpu).calls, 0);
	CHECK(until(&w, first_is, '-'));
	CHECK(strstr(stream->err.text, "the agent ends"));
	agent_down(&w);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
}

TEST_ONCE(it_ends_before_it_has_begun)
{
	WORLD(w, "two-t4", 0);

	w.end_wait = 60 * FL_NS_PER_S;
	OK_ERR(agent_up(&w), &w.err);
	OK_ERR(fl_io_turn(w.rig.io, fl_clock(w.rig.io), &w.err), &w.err);
	fl_loop_lead(w.loop, false);
	CHECK(until(&w, has_ended, 0));
	CHECK_INT(fl_child_undead(w.rig.io), 0);
}

static bool journal_has_answered(struct world *w, int arg)
{
	(void)arg;
	return w->agent.begin.op.state == FL_OP_ENDED;
}

/* That nothing can be written, which the next turn would tell. */
TEST_ONCE(an_agent_that_has_stopped_tells_nothing_any_more)
{
	WORLD(w, "two-t4", 0);

	w.hear = hear;
	(void)snprintf(w.state, sizeof w.state, "/proc/self/fdinfo");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, journal_has_answered, 0));
	agent_down(&w);
	OK_ERR(fl_io_turn(w.rig.io, fl_clock(w.rig.io), &w.err), &w.err);
	CHECK_INT(w.told, 0);
}

/* Something else lies where the file should be, or the folder. It is not ready, and says why and what to do; then it
 * heals. */
TEST_ONCE(a_cdi_file_that_cannot_be_written_is_no_readiness)
{
	WORLD(w, "two-t4", 0);

	CHECK(mkdir(w.file, 0755) == 0);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, says, 0));
	CHECK_INT(w.kubelet.registered, 0);
	CHECK(rmdir(w.file) == 0);
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, is_ready, 0));
}

static bool both_come(struct world *w, int what)
{
	w->astray |= is_absent(w, 0) || listed(w, 0) == 'U';
	return both_are(w, what);
}

TEST_ONCE(no_root_is_searched_before_the_configuration_is_known_and_none_is_no_readiness)
{
	char text[120], file[120];
	WORLD(w, "two-t4", 0);

	(void)snprintf(file, sizeof file, "%s/default", w.pod_dir);
	(void)snprintf(text, sizeof text, "version: v1\nflags: {nvidiaDriverRoot: %s}\n", w.rig.root);
	CHECK(test_write_file(file, text));
	w.rig.roots[0] = "/nowhere";
	w.configs = w.pod_dir;
	OK_ERR(agent_up(&w), &w.err);
	rig_turn(&w.rig, 400 * FL_NS_PER_MS);
	CHECK(!both_come(&w, 'H') && !w.astray);
	fl_feed_absent(fl_loop_feed(w.loop, &fl_own_node_kind));
	w.configs = NULL;
	w.config = file;
	for (int i = 0; i < 5; i++, agent_down(&w)) {   /* unhealthy for a moment: still so after a restart */
		OK_ERR(i ? agent_up(&w) : 0, &w.err);
		CHECK(until(&w, both_come, 'H') && !w.astray);
	}
	w.given.unpooled = (struct fl_str){ 0 };
	w.config = "/nowhere/at-all.yaml";
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, says, 2) && w.warned == 1);
}

static bool has_warned(struct world *w, int times)
{
	return w->warned == times;
}

TEST_ONCE(each_mistake_is_logged_once_and_what_is_left_out_is_not_logged_with_it)
{
	char file[120];
	WORLD(w, "two-t4", 0);

	(void)snprintf(file, sizeof file, "%s/c.yaml", w.pod_dir);
	CHECK(test_write_file(file, "version: v1\nsharng: {}\n"));
	w.config = file;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK_INT(w.untaken, 1);
	CHECK(test_write_file(file, "version: v2\n"));
	CHECK(until(&w, has_warned, 1));
	CHECK(test_write_file(file, "version: v3\n"));
	CHECK(until(&w, has_warned, 2));
	CHECK_INT(w.untaken, 1);
}

static bool has_changed(struct world *w, int arg)
{
	static const char *const settings[] = { "\"settings\":\"migStrategy, passDeviceSpecs\"",
						"\"settings\":\"passDeviceSpecs, sharing, "
						"failRequestsGreaterThanOne\"" };

	return strstr(w->changed, settings[arg]);
}

TEST_ONCE(settings_that_a_file_changes_are_logged_by_name)
{
	char file[120];
	WORLD(w, "two-t4", 0);

	(void)snprintf(file, sizeof file, "%s/c.yaml", w.pod_dir);
	CHECK(test_write_file(file, "version: v1\n"));
	w.config = file;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK_STR(fl_str(w.changed), "");
	CHECK(test_write_file(file, "version: v1\nflags: {migStrategy: mixed, plugin: {passDeviceSpecs: true}}\n"));
	CHECK(until(&w, has_changed, 0));
	CHECK(test_write_file(file, "version: v1\nflags: {migStrategy: mixed}\n"
				    "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}\n"));
	CHECK(until(&w, has_changed, 1));
}

static bool node_says_of_cdi(struct world *w, int arg)
{
	(void)arg;
	return node_says(w, "False", "': Not a directory: mount a directory that the agent can write, or name another");
}

TEST_ONCE(a_cdi_directory_that_is_none_is_no_readiness)
{
	WORLD(w, "two-t4", 0);
	FILE *file;

	CHECK(rmdir(w.cdi) == 0);
	file = fopen(w.cdi, "we");
	CHECK(file && fclose(file) == 0);
	w.node = true;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, says, 1));
	CHECK(until(&w, node_says_of_cdi, 0));
	CHECK(unlink(w.cdi) == 0);
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, is_ready, 0));
}
