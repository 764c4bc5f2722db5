/* Real processes: this program starts itself as the child. What needs a child that cannot be killed, and long waits, is
 * in tests/sim/test_supervisor_sim.c. */
#include "base/units.h"
#include "io/serve.h"
#include "io/supervisor.h"
#include "test.h"
#include "test_io.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { ECHO, REFUSE, EVENT, SPEAK, LARGE, LARGER, HANG, CRASH, LEAVE, CLOSE, NONSENSE, UNASKED, TWICE };

/* ---- the child ---- */

static struct fl_io *child_io;

static void child_ends(struct fl_serve *serve)
{
	(void)serve;
	exit(0);
}

static void child_asked(struct fl_serve *serve, uint32_t id, uint16_t kind, struct fl_str payload)
{
	static char large[FL_FRAME_MAX + 1];

	if (kind == ECHO || kind == TWICE)
		fl_serve_reply(serve, id, payload);
	if (kind == TWICE)
		fl_serve_reply(serve, id, payload);
	if (kind == REFUSE)
		fl_serve_refuse(serve, id, FL_E_NOTFOUND, "no such GPU");
	if (kind == LARGE || kind == LARGER)
		fl_serve_reply(serve, id, (struct fl_str){ large, FL_FRAME_MAX + (kind == LARGER) });
	if (kind == EVENT) {
		if (fl_serve_event(serve, 7, FL_S("xid 79")) == 0)
			fl_serve_reply(serve, id, payload);
	}
	if (kind == SPEAK) {
		(void)fprintf(stderr, "NVRM: loaded\nand no line end");
		exit(4);
	}
	if (kind == HANG)
		for (;;)
			(void)pause();
	if (kind == CRASH)
		(void)raise(SIGABRT);
	if (kind == LEAVE)
		exit(3);
	if (kind == CLOSE) {
		(void)close(FL_SERVE_FD);
		for (;;)
			(void)pause();
	}
	if (kind == NONSENSE && write(FL_SERVE_FD, "Segmentation fault, or so\n", 26) == 26)
		fl_serve_reply(serve, id, payload);
	if (kind == UNASKED)
		fl_serve_reply(serve, id + 1, payload);
}

static int child_main(const char *mode)
{
	struct fl_serve serve = { .request = child_asked, .ended = child_ends };

	(void)prctl(PR_SET_DUMPABLE, 0);   /* an ordered crash leaves no core */
	if (strcmp(mode, "mute") == 0)
		for (;;)
			(void)pause();
	if (strcmp(mode, "leaves") == 0)
		return 9;
	if (strcmp(mode, "old") == 0) {
		(void)!write(FL_SERVE_FD, "\x13\0\0\0\0\0\0\0\0\0\1\0fairlead child \0\0\0\0", 31);
		for (;;)
			(void)pause();
	}
	child_io = fl_posix_new(NULL);
	if (!child_io || fl_serve_start(child_io, &serve, FL_SERVE_FD, NULL) < 0)
		return 1;
	return fl_io_run(child_io, NULL) < 0;
}

__attribute__((constructor)) static void maybe_be_the_child(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		exit(child_main(argv[2]));
}

/* ---- the parent ---- */

static struct {
	char news[200], last[FL_ERR_TEXT], log[2000];
	int count, events;
} heard;

static void news(void *self, enum fl_supervisor_news what, const char *text)
{
	size_t n = strlen(heard.news);

	(void)self;
	(void)snprintf(heard.news + n, sizeof heard.news - n, "%s%s", n ? " " : "",
		       fl_name(&fl_supervisor_news_names, (int)what));
	if (what != FL_CHILD_READY)
		(void)snprintf(heard.last, sizeof heard.last, "%s", text);
	heard.count++;
}

static void event(void *self, uint16_t kind, struct fl_str payload)
{
	(void)self;
	heard.events += kind == 7 && fl_str_eq(payload, FL_S("xid 79"));
}

static bool line(void *self, const char *text, size_t len)
{
	size_t n = strlen(heard.log);

	(void)self;
	(void)snprintf(heard.log + n, sizeof heard.log - n, "%.*s", (int)len, text);
	return true;
}

static uint64_t zero(void *self)
{
	(void)self;
	return 0;
}

static int64_t epoch(void *self)
{
	(void)self;
	return 0;
}

static struct fl_log log_;

static struct fl_supervisor *supervise(struct fl_io *io, const char *mode, struct fl_err *err)
{
	static const char *argv[4] = { "test", "--child" };
	static const char *const env[] = { "ASAN_OPTIONS=detect_leaks=0", NULL };
	const struct fl_supervisor_config config = {
		.name = "gpu", .path = "/proc/self/exe", .argv = argv, .env = env, .log = &log_, .news = news,
		.event = event,
	};

	argv[2] = mode;
	memset(&heard, 0, sizeof heard);
	fl_log_init(&log_, &(struct fl_log_to){ line, zero, epoch, NULL }, NULL);
	return fl_supervisor_new(io, &config, err);
}

static int ask(struct fl_io *io, struct fl_supervisor *s, uint16_t kind, uint64_t within, struct fl_buf *reply,
	       struct fl_err *err)
{
	struct fl_request request = { .op = { .err = err, .deadline = fl_now(io) + within }, .reply = reply };

	fl_supervisor_request(s, &request, kind, FL_S("payload"));
	return (int)test_op(io, &request.op);
}

/* A busy machine may take its time, but what was made to fail need not be waited for so long. */
static uint64_t patience(void)
{
	return test_tortured() ? 300 * FL_NS_PER_MS : 10 * FL_NS_PER_S;
}

static const struct {
	const char *says;
	uint16_t kind;
	enum fl_code code;
	const char *text, *news, *last;
} rows[] = {
	{ "an answer", ECHO, FL_OK, "", "ready", "" },
	{ "a refusal, in the child's words", REFUSE, FL_E_NOTFOUND, "gpu: no such GPU", "ready", "" },
	{ "an event before the answer", EVENT, FL_OK, "", "ready", "" },
	{ "the largest answer", LARGE, FL_OK, "", "ready", "" },
	{ "too large an answer is a refusal", LARGER, FL_E_TOOBIG, "gpu: the answer is too large", "ready", "" },
	{ "no answer: the child is abandoned and replaced", HANG, FL_E_TIMEOUT, "deadline passed",
	  "ready abandoned ready", "gpu: process * is abandoned: no answer by the deadline" },
	{ "a crash has the signal's name", CRASH, FL_E_CLOSED, "gpu: killed by SIGABRT", "ready ended ready",
	  "gpu: process * killed by SIGABRT" },
	{ "an exit has its code", LEAVE, FL_E_CLOSED, "gpu: ended with code 3", "ready ended ready",
	  "gpu: process * ended with code 3" },
	{ "a socket that is closed without an exit", CLOSE, FL_E_CLOSED, "gpu: its channel is broken",
	  "ready abandoned ready", "gpu: process * is abandoned: its channel is broken" },
	{ "nonsense instead of an answer", NONSENSE, FL_E_TIMEOUT, "gpu: not a frame: type *",
	  "ready abandoned ready", "gpu: process * is abandoned: not a frame: type *" },
	{ "an answer to nothing", UNASKED, FL_E_TIMEOUT, "gpu: it sent an unexpected answer", "ready abandoned ready",
	  "gpu: process * is abandoned: it sent an unexpected answer" },
	{ "an answer, and again", TWICE, FL_OK, "", "ready abandoned ready",
	  "gpu: process * is abandoned: it sent an unexpected answer" },
	{ "last words", SPEAK, FL_E_CLOSED, "gpu: ended with code 4", "ready ended ready",
	  "gpu: process * ended with code 4" },
};

/* '*' stands for a word or number, and at the end for anything. */
static bool looks_like(const char *text, const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern == '*' && !pattern[1])
			return true;
		if (*pattern == '*')
			text += strcspn(text, " ");
		else if (*text++ != *pattern)
			return false;
	}
	return *text == 0;
}

static int words(const char *text)
{
	int n = 1;

	for (; *text; text++)
		n += *text == ' ';
	return n;
}

/* Not tortured: thirteen children each round; the next one is. */
TEST_ONCE(whatever_a_child_does_is_told_and_survived)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_supervisor) struct fl_supervisor *s = NULL;
		FL_AUTO(fl_buf) struct fl_buf reply = FL_BUF(FL_FRAME_MAX);
		struct fl_err err = { 0 };

		GOT(io);
		s = supervise(io, "serve", &err);
		GOT(s);
		/* The hang is not waited for longer than it takes to start one. */
		CHECK_INT(ask(io, s, ECHO, 5 * FL_NS_PER_S, &reply, &err), 0);
		CHECK_STR(fl_buf_view(&reply), "payload");
		CHECK_INT(-ask(io, s, row->kind, (row->kind == HANG ? 20 : 5000) * FL_NS_PER_MS, &reply, &err),
			  row->code);
		OK(test_turns(io, &heard.count, words(row->news)));
		CHECK_STR(fl_str(heard.news), row->news);
		CHECK(looks_like(err.text, row->text));
		CHECK(looks_like(heard.last, row->last));
		CHECK_INT(heard.events, row->kind == EVENT);
		if (row->kind == LARGE)
			CHECK_INT((int64_t)reply.len, (int64_t)FL_FRAME_MAX);
		/* And the next one is answered. */
		CHECK_INT(ask(io, s, ECHO, 5 * FL_NS_PER_S, &reply, &err), 0);
		CHECK(row->kind != SPEAK || strstr(heard.log, "NVRM: loaded"));
		CHECK(row->kind != SPEAK || strstr(heard.log, "and no line end"));
	}
}

TEST(a_child_is_asked_and_crashes_and_is_asked_again)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_supervisor) struct fl_supervisor *s = NULL;
	FL_AUTO(fl_buf) struct fl_buf reply = FL_BUF(100);
	struct fl_err err = { 0 };

	GOT(io);
	s = supervise(io, "serve", &err);
	GOT(s);
	OK_ERR(ask(io, s, ECHO, patience(), &reply, &err), &err);
	CHECK_STR(fl_buf_view(&reply), "payload");
	/* Ctrl-C and timeout send to the whole group: that is for us. */
	CHECK(test_tortured() || getpgid(fl_supervisor_state(s).pid) == fl_supervisor_state(s).pid);
	CHECK(ask(io, s, CRASH, patience(), NULL, &err) < 0);
	OK_ERR(ask(io, s, ECHO, patience(), &reply, &err), &err);
	CHECK(test_tortured() || fl_supervisor_state(s).answered == 2);
	CHECK(test_tortured() || fl_supervisor_state(s).crashes == 1);
}

/* Those that wait have their answers in order, one that is cancelled while it is worked on costs nobody anything, and
 * one that hangs costs only itself. */
TEST_ONCE(one_at_a_time_and_the_next_waits)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_supervisor) struct fl_supervisor *s = NULL;
	struct fl_err err = { 0 };
	struct fl_request requests[5] = { 0 };

	GOT(io);
	s = supervise(io, "serve", &err);
	GOT(s);
	for (int i = 0; i < 5; i++) {
		requests[i].op = (struct fl_op){ .done = test_op_done,
						 .deadline = fl_now(io) + (i == 2 ? 300 : 5000) * FL_NS_PER_MS };
		fl_supervisor_request(s, &requests[i], i == 2 ? HANG : ECHO, FL_S(""));
	}
	CHECK_INT(fl_supervisor_state(s).waiting, 5);
	OK(test_turns(io, &heard.count, 1));
	fl_op_cancel(&requests[0].op);
	while (fl_op_busy(&requests[4].op))
		OK(fl_io_turn(io, FL_NEVER, NULL));
	CHECK_INT(requests[1].op.result, 0);
	CHECK_INT(requests[2].op.result, -FL_E_TIMEOUT);
	CHECK_INT(requests[3].op.result, 0);
	CHECK_INT(requests[4].op.result, 0);
	CHECK_STR(fl_str(heard.news), "ready abandoned ready");
}

static const struct {
	const char *says, *mode, *path, *last;
} start_rows[] = {
	{ "it ends at once", "leaves", NULL, "gpu: process * ended with code 9" },
	{ "it is of another version", "old", NULL,
	  "gpu: could not be started: speaks version 0, this program speaks 1: the program was replaced; restart it" },
};

/* Not tortured: it is about time that passes. */
TEST_ONCE(a_child_that_does_not_start_is_tried_ever_more_slowly)
{
	EACH_ROW (row, start_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_supervisor) struct fl_supervisor *s = NULL;
		struct fl_err err = { 0 };
		uint64_t begun;

		GOT(io);
		begun = fl_now(io);
		s = supervise(io, row->mode, &err);
		GOT(s);
		OK(test_turns(io, &heard.count, 2));
		CHECK(fl_now(io) - begun < 2000 * FL_NS_PER_MS);
		CHECK_INT(ask(io, s, ECHO, 50 * FL_NS_PER_MS, NULL, &err), -FL_E_TIMEOUT);
		CHECK_INT(heard.count, 2);
		CHECK(looks_like(heard.last, row->last));
	}
}

TEST(what_cannot_be_asked_is_refused)
{
	static char large[FL_FRAME_MAX + 1];
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_supervisor) struct fl_supervisor *s = NULL;
	struct fl_err err = { 0 };
	struct fl_request request = { .op.err = &err };
	struct fl_request many[FL_SUPERVISOR_QUEUE_MAX];
	bool full;

	GOT(io);
	s = supervise(io, "mute", &err);
	GOT(s);
	fl_supervisor_request(s, &request, ECHO, FL_S(""));
	REFUSED(test_op(io, &request.op), FL_E_INVALID);
	request.op.deadline = fl_now(io) + FL_NS_PER_S;
	fl_supervisor_request(s, &request, ECHO, (struct fl_str){ large, sizeof large });
	REFUSED(test_op(io, &request.op), FL_E_TOOBIG);
	memset(many, 0, sizeof many);
	for (size_t i = 0; i < FL_LEN(many); i++) {
		many[i].op = (struct fl_op){ .done = test_op_done, .deadline = fl_now(io) + FL_NS_PER_S };
		fl_supervisor_request(s, &many[i], ECHO, FL_S(""));
	}
	full = fl_supervisor_state(s).waiting == FL_SUPERVISOR_QUEUE_MAX;
	CHECK(full || test_tortured());
	request.op.deadline = fl_now(io) + FL_NS_PER_S;
	fl_supervisor_request(s, &request, ECHO, FL_S(""));
	if (full)
		REFUSED(test_op(io, &request.op), FL_E_RETRY);
	else
		fl_op_cancel(&request.op);
	fl_supervisor_pause(s);
	CHECK_INT(fl_supervisor_state(s).waiting, 0);
	request.op.deadline = fl_now(io) + FL_NS_PER_S;
	fl_supervisor_request(s, &request, ECHO, FL_S(""));
	REFUSED(test_op(io, &request.op), FL_E_RETRY);
	s = fl_supervisor_free(s);
	for (size_t i = 0; i < FL_LEN(many); i++)
		fl_op_cancel(&many[i].op);
}

TEST(a_pause_takes_the_child_away_and_brings_no_other)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_supervisor) struct fl_supervisor *s = NULL;
	struct fl_err err = { 0 };
	int pid;

	GOT(io);
	s = supervise(io, "serve", &err);
	GOT(s);
	OK_ERR(ask(io, s, ECHO, patience(), NULL, &err), &err);
	pid = fl_supervisor_state(s).pid;
	GOT(pid > 0);   /* tortured: one that cannot be waited for has gone with its answer */
	fl_supervisor_pause(s);
	CHECK_INT(fl_supervisor_state(s).pid, 0);
	CHECK_INT(fl_supervisor_state(s).dying, 1);
	OK(test_pause(io, 20 * FL_NS_PER_MS));
	if (!test_tortured()) {
		CHECK(kill(pid, 0) < 0);
		CHECK_INT(fl_supervisor_state(s).dying, 0);
		CHECK_STR(fl_str(heard.news), "ready let-go");
	}
	REFUSED(ask(io, s, ECHO, patience(), NULL, &err), FL_E_RETRY);
	CHECK_INT(fl_supervisor_state(s).pid, 0);
}
