#include "base/units.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A server's and a client's end, connected through `at` (port 0: any). */
struct link {
	struct fl_err err;
	struct fl_addr addr, peer;
	struct fl_connect connect;
	int listener, client, server;
};

static void ready(struct fl_poll *poll, unsigned what)
{
	(void)poll;
	(void)what;
}

static int accept_soon(struct fl_io *io, struct link *link)
{
	struct fl_poll poll = { .ready = ready, .fd = link->listener };
	int r = fl_poll_set(io, &poll, FL_READABLE, &link->err), fd = -FL_E_AGAIN;

	for (int i = 0; r == 0 && fd == -FL_E_AGAIN && i < 100; i++) {
		r = fl_io_turn(io, fl_clock(io) + FL_NS_PER_S, &link->err);
		fd = r < 0 ? r : fl_accept(io, link->listener, &link->peer, &link->err);
	}
	fl_poll_stop(io, &poll);
	return r < 0 ? r : fd;
}

static int link_up(struct fl_io *io, struct link *link, const char *at)
{
	int r = fl_addr_parse(&link->addr, fl_str(at), &link->err);

	link->listener = r < 0 ? r : fl_listen(io, &link->addr, 0600, &link->err);
	if (link->listener < 0)
		return link->listener;
	r = link->addr.kind == FL_ADDR_UNIX ? 0 : fl_local_addr(io, link->listener, &link->addr, &link->err);
	if (r < 0)
		return r;
	link->connect = (struct fl_connect){ .op.err = &link->err, .addr = link->addr };
	fl_connect(io, &link->connect);
	link->client = (int)test_op(io, &link->connect.op);
	if (link->client < 0)
		return link->client;
	link->server = accept_soon(io, link);
	return link->server;
}

static const char *own_at(const char *kind, const char *name)
{
	static char text[160];

	(void)snprintf(text, sizeof text, "%s%s", kind, test_path(test_dir(), name));
	return text;
}

static const char *unix_at(const char *name)
{
	return own_at("unix:", name);
}

/* Until something is there to read; more than once where torture says "not now". */
static int64_t read_soon(struct fl_io *io, int fd, char *bytes, size_t len)
{
	int64_t n = -FL_E_AGAIN;

	for (int i = 0; i < 50 && n == -FL_E_AGAIN; i++) {
		n = fl_read(io, fd, bytes, len);
		if (n == -FL_E_AGAIN)
			(void)test_pause(io, FL_NS_PER_MS);
	}
	return n;
}

static const struct {
	const char *says, *at;
	bool own; /* with a name of this test's folder after it: abstract names are the whole machine's */
} kinds[] = {
	{ "IPv4", "127.0.0.1:0", false },
	{ "IPv6", "[::1]:0", false },
	{ "unix", "unix:", true },
	{ "abstract", "unix:@", true },
};

TEST(bytes_go_both_ways_and_each_way_ends_by_itself)
{
	EACH_ROW (row, kinds) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		struct link l = { 0 };
		char bytes[8];

		GOT(io);
		OK_ERR(link_up(io, &l, row->own ? own_at(row->at, "s") : row->at), &l.err);
		OK(fl_write(io, l.client, "ping", 4));
		fl_shutdown_write(io, l.client);
		OK(read_soon(io, l.server, bytes, sizeof bytes));
		if (!test_tortured()) {
			CHECK(memcmp(bytes, "ping", 4) == 0);
			for (int i = 0; i < 2; i++) {   /* the end, again and again */
				int64_t n = read_soon(io, l.server, bytes, sizeof bytes);

				OK(n);
				CHECK_INT(n, 0);
			}
		}
		OK(fl_write(io, l.server, "pong", 4));   /* the other way is still open */
		OK(read_soon(io, l.client, bytes, sizeof bytes));
		fl_close(io, l.server);
		fl_close(io, l.client);
		fl_close(io, l.listener);
		CHECK_INT(test_io_open_fds(io), 0);
	}
}

TEST(nothing_to_read_and_no_room_to_write_mean_wait)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	static char bytes[65536];
	int64_t n = 1;
	int fds[2];

	GOT(io);
	OK(fl_pair(io, FL_SOCKETPAIR, fds, NULL));
	REFUSED(fl_read(io, fds[0], bytes, 1), FL_E_AGAIN);
	for (int i = 0; i < 1000 && n > 0; i++)
		n = fl_write(io, fds[0], bytes, sizeof bytes);
	REFUSED(n, FL_E_AGAIN);
}

TEST(a_gone_peer_is_no_signal)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	int socket[2], pipe[2];

	GOT(io);
	OK(fl_pair(io, FL_SOCKETPAIR, socket, NULL));
	OK(fl_pair(io, FL_PIPE, pipe, NULL));
	fl_close(io, socket[1]);
	fl_close(io, pipe[0]);
	REFUSED(fl_write(io, socket[0], "x", 1), FL_E_CLOSED);
	REFUSED(fl_write(io, pipe[1], "x", 1), FL_E_CLOSED);
}

static const struct {
	const char *says, *at;
	enum fl_code code;
	const char *words;
} refused_rows[] = {
	{ "a port where nobody listens", "127.0.0.1:1", FL_E_RETRY, "connect to 127.0.0.1:1: Connection refused" },
	{ "a path that is not there", "unix:/nonexistent/s", FL_E_NOTFOUND,
	  "connect to unix:/nonexistent/s: No such file or directory" },
	{ "an abstract name that nobody has", "unix:@fl-test-nobody", FL_E_RETRY,
	  "connect to unix:@fl-test-nobody: Connection refused" },
};

TEST(connecting_to_nobody_is_told_with_the_address)
{
	EACH_ROW (row, refused_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		struct fl_err err = { 0 };
		struct fl_connect connect = { .op.err = &err };

		GOT(io);
		OK(fl_addr_parse(&connect.addr, fl_str(row->at), NULL));
		fl_connect(io, &connect);
		REFUSED(test_op(io, &connect.op), row->code);
		CHECK_INT(test_io_open_fds(io), 0);
		if (!test_tortured())
			CHECK_STR(fl_str(err.text), row->words);
	}
}

TEST(an_address_of_no_kind_is_refused)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_connect connect = { 0 };

	GOT(io);
	fl_connect(io, &connect);
	REFUSED(test_op(io, &connect.op), FL_E_INVALID);
	REFUSED(fl_listen(io, &connect.addr, 0, NULL), FL_E_INVALID);
}

/* Between the end of an operation and its done(), which come in the same turn, there are only timers. */
struct canceller {
	struct fl_timer timer;
	struct fl_op *op;
	int cancelled;
};

static void cancel_ended(struct fl_timer *timer)
{
	struct canceller *canceller = fl_container(timer, struct canceller, timer);

	if (canceller->op->state == FL_OP_ENDED) {
		fl_op_cancel(canceller->op);
		canceller->cancelled++;
	} else {
		fl_timer_set(canceller->op->io, timer, 0);
	}
}

TEST(a_connect_may_be_cancelled_before_and_after_it_is_decided)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct link l = { 0 };
	struct fl_connect again;
	struct canceller canceller = { .timer.fire = cancel_ended, .op = &again.op };

	GOT(io);
	OK_ERR(link_up(io, &l, "127.0.0.1:0"), &l.err);
	again = (struct fl_connect){ .op.done = test_op_done, .addr = l.addr };
	fl_connect(io, &again);
	fl_op_cancel(&again.op);
	CHECK_INT(test_io_open_fds(io), 3);
	fl_connect(io, &again);
	fl_timer_set(io, &canceller.timer, 0);
	OK(test_turns(io, &canceller.cancelled, 1));
	CHECK(!fl_op_busy(&again.op));
	CHECK_INT(test_io_open_fds(io), 3);
}

TEST(a_deadline_ends_a_connect)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_addr addr;
	struct fl_connect connect[8] = { 0 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd;

	/* A backlog of none that nobody empties: past the first, connections must wait. */
	GOT(io);
	OK(fl_addr_parse(&addr, fl_str(unix_at("full")), NULL));
	(void)snprintf(un.sun_path, sizeof un.sun_path, "%s", addr.path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(fd, (struct sockaddr *)&un, sizeof un) == 0 && listen(fd, 0) == 0);
	for (int i = 0; i < 2; i++) {
		int64_t r;

		connect[i].addr = addr;
		connect[i].op.deadline = fl_clock(io) + 20 * FL_NS_PER_MS;
		fl_connect(io, &connect[i]);
		r = test_op(io, &connect[i].op);
		if (!test_tortured())
			CHECK_INT(r < 0 ? r : 0, i == 0 ? 0 : -FL_E_TIMEOUT);
	}
	(void)close(fd);
}

TEST(a_full_backlog_is_waited_for)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_addr addr;
	struct fl_connect a = { 0 }, b = { .op.done = test_op_done };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd, got;

	GOT(io);
	OK(fl_addr_parse(&addr, fl_str(unix_at("full")), NULL));
	(void)snprintf(un.sun_path, sizeof un.sun_path, "%s", addr.path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(fd, (struct sockaddr *)&un, sizeof un) == 0 && listen(fd, 0) == 0);
	a.addr = b.addr = addr;
	fl_connect(io, &a);
	fl_connect(io, &b);
	OK(test_op(io, &a.op) < 0 ? (close(fd), -FL_E_IO) : 0);
	got = accept(fd, NULL, NULL);
	OK(test_op(io, &b.op) < 0 ? (close(fd), close(got), -FL_E_IO) : 0);
	(void)close(got);
	(void)close(fd);
}

/* ---- paths of unix sockets ---- */

TEST(a_path_has_its_mode_and_is_replaced_only_when_nobody_listens)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_addr addr;
	struct fl_err err = { 0 };
	struct stat stat;
	int fd, again;

	GOT(io);
	OK(fl_addr_parse(&addr, fl_str(unix_at("s")), NULL));
	fd = fl_listen(io, &addr, 0660, &err);
	OK_ERR(fd, &err);
	CHECK(lstat(addr.path, &stat) == 0);
	CHECK_INT(stat.st_mode & 0777, 0660);
	REFUSED(fl_listen(io, &addr, 0660, &err), FL_E_EXISTS);
	if (!test_tortured())
		CHECK(strstr(err.text, "another process listens there"));
	fl_close(io, fd);
	CHECK(lstat(addr.path, &stat) == 0);   /* stale now */
	again = fl_listen(io, &addr, 0600, &err);
	OK_ERR(again, &err);
	CHECK(lstat(addr.path, &stat) == 0);
	CHECK_INT(stat.st_mode & 0777, 0600);
}

TEST(what_is_no_socket_is_never_removed)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_addr addr;
	struct fl_err err = { 0 };

	GOT(io);
	OK(fl_addr_parse(&addr, fl_str(unix_at("file")), NULL));
	CHECK(test_write_file(addr.path, "precious"));
	REFUSED(fl_listen(io, &addr, 0600, &err), FL_E_EXISTS);
	CHECK_STR(test_read_file(addr.path), "precious");
	if (!test_tortured())
		CHECK(strstr(err.text, "the path is not a socket: remove it first"));
}

TEST(a_path_in_no_directory_is_told)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_addr addr;

	GOT(io);
	OK(fl_addr_parse(&addr, FL_S("unix:/nonexistent/s"), NULL));
	REFUSED(fl_listen(io, &addr, 0600, NULL), FL_E_NOTFOUND);
}

TEST(a_port_taken_is_told)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct link l = { 0 };

	GOT(io);
	OK_ERR(link_up(io, &l, "127.0.0.1:0"), &l.err);
	REFUSED(fl_listen(io, &l.addr, 0, NULL), FL_E_EXISTS);
}

/* ---- who is there ---- */

TEST(the_other_side_is_known)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct link unix_link = { 0 }, tcp = { 0 };
	struct fl_addr local;
	struct fl_cred cred;
	char one[FL_ADDR_TEXT], other[FL_ADDR_TEXT];

	GOT(io);
	OK(link_up(io, &unix_link, unix_at("s")));
	OK(fl_peer_cred(io, unix_link.server, &cred, NULL));
	CHECK_INT(cred.pid, getpid());
	CHECK_INT(cred.uid, getuid());
	CHECK_INT(cred.gid, getgid());
	OK(link_up(io, &tcp, "127.0.0.1:0"));
	OK(fl_local_addr(io, tcp.client, &local, NULL));
	CHECK_STR(fl_addr_print(&local, one), fl_addr_print(&tcp.peer, other).p);
	REFUSED(fl_peer_cred(io, tcp.server, &cred, NULL), FL_E_UNSUPPORTED);
	CHECK_INT(unix_link.peer.kind, FL_ADDR_NONE);
}

/* Changes what the whole process may open: not under torture, where the sum of the rounds would be slow. */
TEST_ONCE(without_fds_a_connection_is_turned_away_and_the_rest_goes_on)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct link l = { 0 };
	struct fl_connect more = { 0 };
	struct rlimit old, few;
	int client, r, all[256], count = 0;
	char byte;

	GOT(io);
	OK_ERR(link_up(io, &l, "127.0.0.1:0"), &l.err);
	more.addr = l.addr;
	fl_connect(io, &more);
	client = (int)test_op(io, &more.op);
	OK(client);
	CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
	few = old;
	few.rlim_cur = 64;
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	while (count < 256 && (all[count] = dup(0)) >= 0)
		count++;
	r = accept_soon(io, &l);
	while (count > 0)
		(void)close(all[--count]);
	CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
	CHECK_INT(r, -FL_E_RETRY);
	CHECK(strstr(l.err.text, "turned away"));
	CHECK(read_soon(io, client, &byte, 1) <= 0);   /* the client knows */
	REFUSED(fl_accept(io, l.listener, NULL, NULL), FL_E_AGAIN);
	fl_connect(io, &more);
	OK(test_op(io, &more.op));
	OK(accept_soon(io, &l));   /* and there is a spare one for the next time */
}

/* ---- names ---- */

static const struct {
	const char *says, *host;
	int64_t result;
	const char *first;
} lookup_rows[] = {
	{ "an address needs no lookup", "10.1.2.3", 1, "10.1.2.3:99" },
	{ "nor does one of IPv6", "::1", 1, "[::1]:99" },
	{ "no name", "", -FL_E_INVALID, NULL },
	{ "a name that is too long", "0123456789.0123456789.0123456789.0123456789.0123456789.0123456789.0123456789."
	  "0123456789.0123456789.0123456789.0123456789.0123456789.0123456789.0123456789.0123456789.0123456789."
	  "0123456789.0123456789.0123456789.0123456789.0123456789.0123456789.0123456789.0123456789",
	  -FL_E_INVALID, NULL },
};

TEST(lookups_without_a_name_server)
{
	EACH_ROW (row, lookup_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		struct fl_err err = { 0 };
		struct fl_lookup lookup = { .op.err = &err, .host = row->host, .port = 99 };
		char buf[FL_ADDR_TEXT];

		GOT(io);
		fl_lookup(io, &lookup);
		CHECK_INT(test_op(io, &lookup.op), row->result);
		if (row->first)
			CHECK_STR(fl_addr_print(&lookup.found[0], buf), row->first);
		else
			CHECK_INT(err.code, FL_E_INVALID);
	}
}

TEST(localhost_is_found)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_lookup lookup = { .host = "localhost", .port = 99 };
	int64_t found;

	GOT(io);
	fl_lookup(io, &lookup);
	found = test_op(io, &lookup.op);
	OK(found);
	CHECK(found >= 1 && found <= FL_LOOKUP_MAX);
	CHECK(fl_addr_local(&lookup.found[0]));
	CHECK_INT(lookup.found[0].port, 99);
}
