/* The operator's word over its socket, on a feeder with real children: when it is answered, and what with. */
#include "base/units.h"
#include "gpu_rig.h"
#include "http/client.h"
#include "io/job.h"
#include "node/pausing.h"
#include "plan/gpu/health.h"
#include "test_io.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct node {
	struct gpu_rig rig;
	struct fl_pausing pausing;
	struct fl_http_client *client;
	char path[120], url[130];
	struct fl_err err;
};

static void node_auto_(struct node *n)
{
	n->client = fl_http_client_free(n->client);
	fl_pausing_stop(&n->pausing);
	rig_down(&n->rig);
}

static int know(struct fl_loop *loop, const struct fl_kind *kind, const void *object)
{
	fl_feed_begin(fl_loop_feed(loop, kind));
	if (object && fl_feed_put(fl_loop_feed(loop, kind), object, NULL) < 0)
		return -FL_E_NOMEM;
	fl_feed_synced(fl_loop_feed(loop, kind));
	return 0;
}

static int up(struct node *n)
{
	const struct fl_source sources[] = {
		{ &fl_settings_kind, NULL, NULL, NULL }, { &fl_own_node_kind, NULL, NULL, NULL },
		{ &fl_pause_request_kind, NULL, NULL, NULL },
		{ &fl_driver_pause_kind, NULL, &fl_pausing_sink, &n->pausing },
	};
	struct fl_source pauses;
	struct fl_settings settings = { 0 };
	int r = rig_up(&n->rig, "two-t4", RIG_WAIT, &n->err);

	FL_SET(FL_IN(&settings, meta), name, FL_S("settings"));
	FL_SET(&settings, node, FL_S("n1"));
	(void)snprintf(n->path, sizeof n->path, "%s/run/node.sock", n->rig.folder);
	(void)snprintf(n->url, sizeof n->url, "unix:%s", n->path);
	fl_pausing_init(&n->pausing, n->rig.io, n->path, NULL);
	pauses = fl_pausing_pauses(&n->pausing);
	if (r == 0)
		r = fl_loop_source(n->rig.loop, &pauses, &n->err);
	for (uint32_t i = 0; r == 0 && i < FL_LEN(sources); i++)
		r = fl_loop_source(n->rig.loop, &sources[i], &n->err);
	if (r == 0)
		r = fl_loop_capability(n->rig.loop, &fl_node_pausing, &n->err);
	if (r == 0)
		r = know(n->rig.loop, &fl_settings_kind, &settings);
	if (r < 0)
		return r;
	fl_feed_absent(fl_loop_feed(n->rig.loop, &fl_own_node_kind));
	fl_pausing_start(&n->pausing, n->rig.loop, &n->rig.gpu);
	r = fl_pausing_listen(&n->pausing, &n->err);
	if (r < 0)
		return r;
	n->client = fl_http_client_new(n->rig.io, &(struct fl_http_client_options){ .url = fl_str(n->url) }, &n->err);
	return n->client ? 0 : -(int)n->err.code;
}

static void begin(struct node *n, struct fl_http_call *call, const char *target, const char *body)
{
	*call = (struct fl_http_call){ .op = { .done = test_op_done, .err = &n->err },
				       .method = FL_S("POST"), .target = fl_str(target), .body = fl_str(body) };
	fl_http_start(n->client, call);
}

static int64_t finish(struct node *n, struct fl_http_call *call)
{
	for (int i = 0; i < 10000 && fl_op_busy(&call->op); i++)
		rig_turn(&n->rig, FL_NS_PER_MS);
	return fl_op_busy(&call->op) ? -FL_E_TIMEOUT : call->op.result;
}

#define NODE(n) \
	FL_AUTO(node) struct node n = { 0 }; \
	OK_ERR(up(&n), &n.err); \
	CHECK(rig_driver(&n.rig, FL_DRIVER_READY))

/* The answer to one request, status and words. */
#define ASKED(n, target_, body_, status_, words_) \
	do { \
		FL_AUTO(fl_http_call) struct fl_http_call call_ = { 0 }; \
		begin(&(n), &call_, (target_), (body_)); \
		CHECK_INT(finish(&(n), &call_), (status_)); \
		CHECK(fl_str_starts(fl_buf_view(&call_.reply), FL_S(words_))); \
	} while (0)

TEST_ONCE(a_request_is_answered_when_the_driver_is_free_and_when_it_is_taken_up)
{
	NODE(n);
	ASKED(n, "/resume", "", 200, "there is no pause");
	CHECK(fake_in_use(n.rig.state->path));
	ASKED(n, "/pause", " an upgrade \n", 200, "the driver is released\n");
	CHECK(!fake_in_use(n.rig.state->path));
	CHECK(rig_driver(&n.rig, FL_DRIVER_PAUSED));
	CHECK_STR(rig_see_driver(&n.rig)->message, "released: an upgrade");
	ASKED(n, "/pause", "", 200, "the driver is already released\n");
	ASKED(n, "/pause", "an upgrade", 200, "the driver is already released\n");
	ASKED(n, "/pause", "a reset", 200,
	      "the driver is already released; the reason stays as first given: an upgrade\n");
	CHECK_STR(rig_see_driver(&n.rig)->message, "released: an upgrade");
	ASKED(n, "/resume", "", 200, "the driver is reopened");
	CHECK(rig_driver(&n.rig, FL_DRIVER_READY));
	ASKED(n, "/resume", "", 200, "there is no pause");
}

#define OF_THE_LABEL \
	"the pause is not of fairlead pause: the Node's label nvidia.com/gpu.deploy.dcgm is paused-for-mig-change: " \
	"remove that label"

TEST_ONCE(what_a_label_asks_for_is_not_taken_back_by_the_operator)
{
	struct fl_own_node node = { 0 };
	struct fl_pair label = { FL_S("nvidia.com/gpu.deploy.dcgm"), FL_S("paused-for-mig-change") };

	NODE(n);
	FL_SET(FL_IN(&node, meta), name, FL_S("n1"));
	node.meta.labels.at = &label;
	node.meta.labels.len = 1;
	node.meta.has.labels = 1;
	OK(know(n.rig.loop, &fl_own_node_kind, &node));
	CHECK(rig_driver(&n.rig, FL_DRIVER_PAUSED));
	ASKED(n, "/resume", "", 409, OF_THE_LABEL);
	ASKED(n, "/pause", "", 200, "the driver is already released");
	ASKED(n, "/resume", "", 409, OF_THE_LABEL);
	CHECK(rig_driver(&n.rig, FL_DRIVER_PAUSED));
}

static const char *remembered(const struct gpu_rig *rig)
{
	return test_path(rig->folder, "run/paused/operator");
}

static bool is_remembered(struct gpu_rig *rig, int is)
{
	return (access(remembered(rig), F_OK) == 0) == is;
}

/* Two agents for a moment, or a person with a shell: who reads the file knows of the pause. */
TEST_ONCE(what_is_remembered_is_a_file_that_says_why)
{
	NODE(n);
	ASKED(n, "/pause", "an upgrade", 200, "the driver is released\n");
	CHECK(rig_until(&n.rig, is_remembered, true));
	CHECK_STR(test_read_file(remembered(&n.rig)), "an upgrade\n");
	ASKED(n, "/resume", "", 200, "the driver is reopened");
	CHECK(rig_until(&n.rig, is_remembered, false));
}

static bool is_known(struct gpu_rig *rig, int arg)
{
	struct fl_str message = rig_see_driver(rig)->message;

	(void)arg;
	return !memmem(message.p, message.len, "not known yet", 13);
}

TEST_ONCE(whoever_writes_the_file_asks_for_a_pause)
{
	NODE(n);
	CHECK(test_write_file(remembered(&n.rig), "\n"));
	CHECK(rig_driver(&n.rig, FL_DRIVER_PAUSED));
	CHECK(rig_until(&n.rig, is_known, 0));
	CHECK_STR(rig_see_driver(&n.rig)->message, "released: no reason was given");
	ASKED(n, "/resume", "", 200, "the driver is reopened");
	CHECK(rig_until(&n.rig, is_remembered, false));
}

/* What for is not known, which is no reason to take the driver from whoever has written it. */
TEST_ONCE(a_file_that_cannot_be_read_is_a_pause)
{
	const char *fresh;

	NODE(n);
	fresh = test_path(n.rig.folder, "run/paused/.new");
	CHECK(test_write_file(fresh, "") && truncate(fresh, 2 * FL_FOLDER_FILE_MAX) == 0);
	CHECK(rename(fresh, remembered(&n.rig)) == 0);
	CHECK(rig_driver(&n.rig, FL_DRIVER_PAUSED));
	CHECK(fl_str_starts(rig_see_driver(&n.rig)->message, FL_S("released: the reason cannot be read: ")));
	ASKED(n, "/resume", "", 200, "");
	CHECK(rig_driver(&n.rig, FL_DRIVER_READY));
	CHECK(rig_until(&n.rig, is_remembered, false));
}

TEST_ONCE(what_is_no_such_request_is_refused)
{
	char long_words[200];

	NODE(n);
	memset(long_words, 'a', sizeof long_words - 1);
	long_words[sizeof long_words - 1] = '\0';
	ASKED(n, "/pause", long_words, 413, "");
	ASKED(n, "/stop", "", 404, "");
	CHECK_INT(rig_see_driver(&n.rig)->state, FL_DRIVER_READY);
	CHECK(!n.pausing.paused);
}

static bool all_clean(struct gpu_rig *rig, int gpus)
{
	return rig_all_clean(rig, gpus);
}

static bool names_nobody(struct gpu_rig *rig, int arg)
{
	struct fl_str message = rig_see_driver(rig)->message;

	(void)arg;
	return !message.len || !memmem(message.p, message.len, "(pid 812)", 9);
}

static bool is_stuck(struct gpu_rig *rig, int some)
{
	return (fl_gpu_state(rig->gpu).stuck > 0) == some;
}

/* A process that hangs in the kernel has the driver still: that is said, also to who asks again, until it has ended. */
TEST_ONCE(a_driver_that_is_not_free_in_time_is_told_and_not_taken_for_free)
{
	NODE(n);
	OK_ERR(rig_say(&n.rig, "hang uuid 1 frozen", &n.err), &n.err);
	CHECK(rig_until(&n.rig, is_stuck, true));
	ASKED(n, "/pause", "an upgrade", 504, "");
	CHECK(fake_in_use(n.rig.state->path));
	ASKED(n, "/pause", "", 504, "");
	OK_ERR(rig_say(&n.rig, "heal any", &n.err), &n.err);
	CHECK(rig_until(&n.rig, is_stuck, false));
	ASKED(n, "/pause", "", 200, "the driver is already released");
	CHECK(!fake_in_use(n.rig.state->path));
	ASKED(n, "/resume", "", 200, "the driver is reopened");
	CHECK(rig_driver(&n.rig, FL_DRIVER_READY));
}

/* Someone else's process, as /proc shows it, with a device of the driver open: its number tells whose it is. */
static int other_process(const struct node *n)
{
	char path[200], device[200];

	(void)snprintf(device, sizeof device, "%s/a-name-of-its-own", n->rig.folder);
	if (mknod(device, S_IFCHR | 0600, makedev(195, 0)) < 0)
		return -errno;

	(void)snprintf(path, sizeof path, "%s/812", n->rig.proc);
	if (mkdir(path, 0755) < 0)
		return -errno;
	(void)snprintf(path, sizeof path, "%s/812/fd", n->rig.proc);
	if (mkdir(path, 0755) < 0)
		return -errno;
	(void)snprintf(path, sizeof path, "%s/812/fd/5", n->rig.proc);
	return symlink(device, path) < 0 ? -errno : 0;
}

#define STILL "the driver is released; 1 process still has it open:  (pid 812): end them before the driver is unloaded"

/* Issue 6: who else has the driver open is named where a pause waits for it. */
TEST_ONCE(who_else_has_the_driver_open_is_named_by_the_answer_and_the_driver_until_the_process_ends)
{
	char path[200];

	NODE(n);
	CHECK_INT(other_process(&n), 0);
	ASKED(n, "/pause", "an upgrade", 200, STILL);
	CHECK(!names_nobody(&n.rig, 0));
	(void)snprintf(path, sizeof path, "%s/812/fd/5", n.rig.proc);
	CHECK_INT(unlink(path), 0);
	ASKED(n, "/pause", "", 200, "the driver is already released\n");
	CHECK(rig_until(&n.rig, names_nobody, 0));
	ASKED(n, "/resume", "", 200, "the driver is reopened\n");
}

/* A job that keeps its lane busy until it is closed. */
struct gate {
	struct fl_job job;
	int fds[2];
	_Atomic bool begun;
};

struct shut {
	struct fl_io *io;
	struct gate *gate;
	struct fl_op op;
};

static void wait_at_gate(struct fl_job *job, const struct fl_fs *fs)
{
	struct gate *gate = fl_container(job, struct gate, job);
	char byte;

	gate->begun = true;
	job->result = fs->read(fs, gate->fds[0], &byte, 1);
}

static void gate_release(struct fl_job *job)
{
	struct gate *gate = fl_container(job, struct gate, job);

	fl_close(job->io, gate->fds[0]);
	fl_free(gate);
}

static int shut(struct shut *shut, struct fl_io *io, enum fl_lane lane)
{
	struct gate *gate = fl_zalloc(sizeof *gate);

	if (!gate || fl_pair(io, FL_PIPE, gate->fds, NULL) < 0 || fcntl(gate->fds[0], F_SETFL, 0) < 0)
		return -FL_E_NOMEM;
	*shut = (struct shut){ .io = io, .gate = gate, .op = { .done = test_op_done } };
	gate->job = (struct fl_job){ .run = wait_at_gate, .release = gate_release };
	fl_job_start(io, &shut->op, &gate->job, lane);
	for (int i = 0; i < 10000 && !gate->begun; i++)
		if (test_pause(io, FL_NS_PER_MS) < 0)
			return -FL_E_IO;
	return gate->begun ? 0 : -FL_E_TIMEOUT;
}

static void shut_auto_(struct shut *shut)
{
	int fd = shut->gate ? shut->gate->fds[1] : -1;

	fl_op_cancel(&shut->op);
	if (fd >= 0)
		fl_close(shut->io, fd);
	shut->gate = NULL;
}

TEST_ONCE(files_that_are_slow_do_not_delay_who_else_has_the_driver_open)   /* threads */
{
	NODE(n);
	CHECK_INT(other_process(&n), 0);
	{
		FL_AUTO(shut) struct shut files = { 0 };

		OK(shut(&files, n.rig.io, FL_LANE_FILES));
		ASKED(n, "/pause", "an upgrade", 200, STILL);
	}
	ASKED(n, "/resume", "", 200, "the driver is reopened\n");
}

static bool names_812(struct gpu_rig *rig, int arg)
{
	return !names_nobody(rig, arg);
}

#define NOT_YET "; whether other processes have it open is not known yet"

TEST_ONCE(a_look_for_who_else_has_the_driver_that_is_late_is_told_as_not_known_until_it_ends)   /* threads */
{
	NODE(n);
	CHECK_INT(other_process(&n), 0);
	{
		FL_AUTO(shut) struct shut looks = { 0 };

		OK(shut(&looks, n.rig.io, FL_LANE_OPEN_FILES));
		ASKED(n, "/pause", "an upgrade", 200, "the driver is released" NOT_YET "\n");
		CHECK_STR(rig_see_driver(&n.rig)->message, "released: an upgrade" NOT_YET);
		ASKED(n, "/pause", "", 200, "the driver is already released" NOT_YET "\n");
	}
	CHECK(rig_until(&n.rig, names_812, 0));
	ASKED(n, "/pause", "", 200, "the driver is already released; 1 process still has it open:  (pid 812)");
	ASKED(n, "/resume", "", 200, "the driver is reopened\n");
}

TEST_ONCE(a_proc_that_cannot_be_read_shows_nobody_free)
{
	char away[200], words[400];

	NODE(n);
	(void)snprintf(away, sizeof away, "%s.away", n.rig.proc);
	(void)snprintf(words, sizeof words,
		       "the driver is released; whether other processes have it open is not known: read '%s': No such "
		       "file or directory\n",
		       n.rig.proc);
	CHECK_INT(rename(n.rig.proc, away), 0);
	{
		FL_AUTO(fl_http_call) struct fl_http_call call = { 0 };

		begin(&n, &call, "/pause", "an upgrade");
		CHECK_INT(finish(&n, &call), 200);
		CHECK_STR(fl_buf_view(&call.reply), words);
	}
	CHECK_INT(rename(away, n.rig.proc), 0);
	ASKED(n, "/pause", "", 200, "the driver is already released\n");
}

/* Issue 6: `nvidia-smi -r` is refused while the agent has the driver, so the remedy that is printed pauses it first. */
TEST_ONCE(a_reset_is_refused_while_the_agent_has_the_driver_and_the_remedy_can_be_followed)
{
	NODE(n);
	CHECK(rig_until(&n.rig, all_clean, 2));
	CHECK(rig_say(&n.rig, "reset 0", &n.err) < 0);
	CHECK(strstr(FL_GPU_RESET, "fairlead pause reset && nvidia-smi -r -i ADDRESS; fairlead resume") != NULL);
	ASKED(n, "/pause", "reset", 200, "the driver is released\n");
	OK_ERR(rig_say(&n.rig, "reset 0", &n.err), &n.err);
	ASKED(n, "/resume", "", 200, "the driver is reopened\n");
	CHECK(rig_driver(&n.rig, FL_DRIVER_READY));
	CHECK(rig_answers(&n.rig, 0, FL_CARD_ANSWERS));
}

/* Two who ask at once are both answered when it is so, and not before. */
TEST_ONCE(who_asks_while_it_is_on_its_way_waits_for_it_too)
{
	NODE(n);
	{
		FL_AUTO(fl_http_call) struct fl_http_call first = { 0 }, second = { 0 };

		begin(&n, &first, "/pause", "");
		for (int i = 0; i < 5000 && !n.pausing.paused; i++)
			rig_turn(&n.rig, FL_NS_PER_MS / 10);
		begin(&n, &second, "/pause", "");
		CHECK_INT(finish(&n, &second), 200);
		CHECK(!fake_in_use(n.rig.state->path));
		CHECK_INT(finish(&n, &first), 200);
	}
	ASKED(n, "/resume", "", 200, "the driver is reopened");
	CHECK(rig_driver(&n.rig, FL_DRIVER_READY));
}

/* What was said last is carried out, also where that changes nothing; who said the opposite is told so. */
TEST_ONCE(who_asks_for_opposites_at_once_are_both_answered)
{
	NODE(n);
	fl_http_client_free(n.client);   /* both by one connection: they are read in one turn */
	n.client = fl_http_client_new(
		n.rig.io, &(struct fl_http_client_options){ .url = fl_str(n.url), .plain_h2 = true }, &n.err);
	OK_ERR(n.client ? 0 : -1, &n.err);
	ASKED(n, "/resume", "", 200, "there is no pause");
	{
		FL_AUTO(fl_http_call) struct fl_http_call pause = { 0 }, resume = { 0 };

		begin(&n, &pause, "/pause", "");
		begin(&n, &resume, "/resume", "");
		CHECK_INT(finish(&n, &resume), 200);
		CHECK_INT(finish(&n, &pause), 409);
		CHECK(fl_str_starts(fl_buf_view(&pause.reply), FL_S("the opposite was requested")));
	}
	CHECK(!n.pausing.paused && !n.pausing.asks);
	CHECK(rig_driver(&n.rig, FL_DRIVER_READY));
	ASKED(n, "/pause", "", 200, "the driver is released\n");
	{
		FL_AUTO(fl_http_call) struct fl_http_call pause = { 0 }, resume = { 0 };

		begin(&n, &resume, "/resume", "");
		begin(&n, &pause, "/pause", "");
		CHECK_INT(finish(&n, &pause), 200);
		CHECK_INT(finish(&n, &resume), 409);
		CHECK(fl_str_starts(fl_buf_view(&resume.reply), FL_S("the opposite was requested")));
	}
	CHECK(n.pausing.paused && !n.pausing.asks);
}

/* Who asked has gone away, or we end: nothing is left of the request. */
TEST_ONCE(who_does_not_wait_for_the_answer_is_forgotten)
{
	NODE(n);
	{
		FL_AUTO(fl_http_call) struct fl_http_call call = { 0 };

		begin(&n, &call, "/pause", "");
		for (int i = 0; i < 5000 && !n.pausing.asks && fl_op_busy(&call.op); i++)
			rig_turn(&n.rig, FL_NS_PER_MS / 10);
		CHECK(n.pausing.asks);
		fl_op_cancel(&call.op);
	}
	CHECK(rig_driver(&n.rig, FL_DRIVER_PAUSED));
	for (int i = 0; i < 5000 && n.pausing.asks; i++)
		rig_turn(&n.rig, FL_NS_PER_MS);
	CHECK(!n.pausing.asks);
	fl_pausing_stop(&n.pausing);
	CHECK(access(n.path, F_OK) < 0);
}

/* ---- the child of a deep check ---- */

static bool checks(struct gpu_rig *rig, int but)
{
	int pid = fl_gpu_state(rig->gpu).check;

	return pid && pid != but;
}

/* One that is killed at its work proves nothing: its card stays out, and another one looks. */
TEST_ONCE(a_deep_check_that_is_killed_is_made_again)
{
	FL_AUTO(gpu_rig) struct gpu_rig rig = { 0 };
	struct fl_err err = { .text = "" };

	OK_ERR(rig_up(&rig, "two-t4", RIG_CUDA, &err), &err);
	CHECK(rig_answers(&rig, 1, FL_CARD_ANSWERS));
	OK_ERR(rig_say(&rig, "delay cuda 200000 1", &err), &err);
	OK_ERR(rig_say(&rig, "hang uuid 1 plain 1", &err), &err);
	CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
	for (int i = 0, pid = 0; i < 2; i++) {
		CHECK(rig_until(&rig, checks, pid));
		pid = fl_gpu_state(rig.gpu).check;
		CHECK(kill(pid, SIGKILL) == 0);
		CHECK(rig_answers(&rig, 1, FL_CARD_HUNG));
		CHECK(rig_answers(&rig, 0, FL_CARD_ANSWERS));
	}
	CHECK(rig_answers(&rig, 1, FL_CARD_ANSWERS));
	CHECK_INT(fl_gpu_state(rig.gpu).stuck, 0);
}
