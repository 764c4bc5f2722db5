/* Everything happens in one of three places: the socket is ready, the wake timer fires, the write timer fires. Each
 * enters, works, and settles: it asks the loop for the next events, or reports the end. Callbacks may close the
 * connection, which sets `gone`: check it after each of them, and touch nothing more. */
#include "http/conn.h"

/* One read or sealed record lies on the stack: idle connections hold no buffers, and all share these pages. */
#define READ_BYTES (64 * 1024)
#define RECORD_BYTES (16 * 1024)
#define TURN_RECORDS 64        /* then other connections get a turn */

#if __has_attribute(uninitialized)
#define FL_SCRATCH __attribute__((uninitialized))
#else
#define FL_SCRATCH
#endif

static struct fl_buf *queue(struct fl_conn *conn)
{
	return conn->tls ? fl_tls_out(conn->tls) : &conn->out;
}

size_t fl_conn_unsent(const struct fl_conn *conn)
{
	return conn->tls ? fl_tls_out(conn->tls)->len : conn->out.len;
}

bool fl_conn_h2(const struct fl_conn *conn)
{
	return conn->tls && fl_tls_h2(conn->tls);
}

/* ---- the end ---- */

static void release(struct fl_conn *conn)
{
	if (conn->gone)
		*conn->gone = true;
	conn->gone = NULL;
	fl_poll_stop(conn->io, &conn->poll);
	fl_timer_stop(conn->io, &conn->wake);
	fl_timer_stop(conn->io, &conn->slow);
	fl_timer_stop(conn->io, &conn->rest);
	fl_close(conn->io, conn->fd);
	conn->fd = -1;
	conn->tls = fl_tls_free(conn->tls);
	fl_buf_free(&conn->in);
	fl_buf_free(&conn->out);
}

void fl_conn_close(struct fl_conn *conn)
{
	if (!conn->io || conn->fd < 0)
		return;
	release(conn);
	fl_free(conn->err);
	conn->err = NULL;
}

static void later(struct fl_conn *conn)
{
	if (!conn->in_dispatch && conn->fd >= 0)
		fl_timer_set(conn->io, &conn->wake, fl_now(conn->io));
}

void fl_conn_fail(struct fl_conn *conn, const struct fl_err *err)
{
	if (conn->failed || conn->fd < 0)
		return;
	conn->failed = true;
	conn->err = fl_alloc(sizeof *err);
	if (conn->err)
		*conn->err = *err;
	later(conn);
}

static void fail(struct fl_conn *conn, enum fl_code code, const char *words)
{
	struct fl_err err = { 0 };

	fl_fail(&err, code, "%s", words);
	fl_conn_fail(conn, &err);
}

static void tell_closed(struct fl_conn *conn)
{
	struct fl_err err = { .code = FL_E_NOMEM, .text = "no memory" };

	if (conn->err)
		err = *conn->err;
	fl_free(conn->err);
	conn->err = NULL;
	release(conn);
	conn->user->closed(conn, &err);
}

/* ---- what comes ---- */

/* Pass bytes to the owner; `in` keeps what it does not take. */
static void deliver(struct fl_conn *conn, const char *bytes, size_t len, const bool *gone)
{
	while (len && !conn->paused && !conn->finishing && !conn->in.len) {
		size_t taken;

		conn->resumed = false;
		taken = conn->user->take(conn, bytes, len);
		if (*gone || conn->failed)
			return;
		bytes += taken;
		len -= taken;
		conn->paused = len && !conn->resumed;
	}
	if (len && !conn->finishing)
		fl_buf_put(&conn->in, bytes, len);
	if (conn->in.failed)
		fail(conn, FL_E_NOMEM, "no memory for received bytes");
}

static void deliver_kept(struct fl_conn *conn, const bool *gone)
{
	while (conn->in.len && !conn->paused && !conn->failed && !conn->finishing) {
		struct fl_buf kept = conn->in;

		/* The owner must see bytes that do not move, whatever it does meanwhile. */
		conn->in = FL_BUF(kept.max);
		deliver(conn, kept.p, kept.len, gone);
		fl_buf_free(&kept);
		if (*gone)
			return;
	}
}

static void tell_eof(struct fl_conn *conn)
{
	if (!conn->got_eof || conn->told_eof || conn->in.len || conn->failed)
		return;
	conn->told_eof = true;
	if (!conn->ready)
		fail(conn, FL_E_CLOSED, "the peer closed the connection during the TLS handshake");
	else if (!conn->finishing)
		conn->user->eof(conn);
}

static void shake_hands(struct fl_conn *conn)
{
	struct fl_err err = { 0 };
	int result = fl_tls_handshake(conn->tls, &err);

	if (result < 0)
		fl_conn_fail(conn, &err);
	if (result <= 0)
		return;
	conn->ready = true;
	fl_timer_stop(conn->io, &conn->slow);
	conn->user->open(conn);
}

static void read_plain(struct fl_conn *conn, const bool *gone)
{
	char plain[RECORD_BYTES] FL_SCRATCH;
	struct fl_err err = { 0 };
	int64_t got = 1;

	while (got > 0 && !conn->failed) {
		got = fl_tls_read(conn->tls, plain, sizeof plain, &err);
		if (got > 0)
			deliver(conn, plain, (size_t)got, gone);
		if (*gone)
			return;
	}
	if (got == 0)
		conn->got_eof = true;
	else if (got < 0 && got != -FL_E_AGAIN)
		fl_conn_fail(conn, &err);
}

static void came(struct fl_conn *conn, const char *bytes, size_t len, const bool *gone)
{
	conn->last_read = fl_now(conn->io);
	if (!conn->tls) {
		deliver(conn, bytes, len, gone);
		return;
	}
	fl_tls_feed(conn->tls, bytes, len);
	if (!conn->ready)
		shake_hands(conn);
	if (!*gone && conn->ready && !conn->failed)
		read_plain(conn, gone);
}

/* A handshake is read a record at a time: verifying, deriving and signing are a millisecond each with RSA keys, and
 * come in one flight. Each gets a turn of its own. */
static size_t shaking_room(const struct fl_conn *conn, size_t most)
{
	size_t room = conn->record_rest ? conn->record_rest : sizeof conn->record - conn->record_len;

	return room < most ? room : most;
}

static void shaking_read(struct fl_conn *conn, const char *bytes, size_t len)
{
	if (conn->record_rest) {
		conn->record_rest -= (uint32_t)len;
		return;
	}
	memcpy(conn->record + conn->record_len, bytes, len);
	conn->record_len += (uint32_t)len;
	if (conn->record_len < sizeof conn->record)
		return;
	conn->record_rest = (uint32_t)conn->record[3] << 8 | conn->record[4];
	conn->record_len = 0;
}

/* Once a turn: then replies are sent, and other connections get their turn. */
static void read_socket(struct fl_conn *conn, const bool *gone)
{
	bool shaking = conn->tls && !conn->ready;
	char bytes[READ_BYTES] FL_SCRATCH;
	int64_t got;

	if ((conn->paused && !conn->finishing) || conn->got_eof || conn->failed)
		return;
	got = fl_read(conn->io, conn->fd, bytes, shaking ? shaking_room(conn, sizeof bytes) : sizeof bytes);
	if (got > 0 && shaking)
		shaking_read(conn, bytes, (size_t)got);
	else if (got > 0 && conn->batch && (size_t)got < sizeof bytes) {
		conn->resting = true;
		fl_timer_set(conn->io, &conn->rest, fl_now(conn->io) + conn->batch);
	}
	if (got > 0) {
		came(conn, bytes, (size_t)got, gone);
	} else if (got == 0) {
		conn->got_eof = true;
		conn->truncated = conn->tls != NULL;
	} else if (got != -FL_E_AGAIN) {
		fail(conn, got == -FL_E_CLOSED ? FL_E_CLOSED : FL_E_IO, "the connection broke while reading");
	}
}

/* ---- what goes ---- */

/* Does the peer take what we send? */
static void watch_progress(struct fl_conn *conn, bool moved)
{
	bool unsent = fl_conn_unsent(conn) > 0;

	if (!conn->ready || conn->shut)
		return;
	if (unsent && (moved || !conn->watched))
		fl_timer_set(conn->io, &conn->slow, fl_now(conn->io) + FL_HTTP_WRITE_TIMEOUT);
	else if (!unsent && conn->watched)
		fl_timer_stop(conn->io, &conn->slow);
	conn->watched = unsent;
}

/* Returns how many bytes the socket took; the rest waits. */
static size_t write_some(struct fl_conn *conn, const char *bytes, size_t len)
{
	size_t done = 0;

	while (done < len && !conn->failed) {
		int64_t put = fl_write(conn->io, conn->fd, bytes + done, len - done);

		if (put == -FL_E_AGAIN)
			break;
		if (put < 0)
			fail(conn, put == -FL_E_CLOSED ? FL_E_CLOSED : FL_E_IO, "the peer closed the connection");
		else
			done += (size_t)put;
	}
	if (done)
		conn->last_sent = fl_now(conn->io);
	return done;
}

/* true: all is sent. */
static bool send_queue(struct fl_conn *conn)
{
	struct fl_buf *out = queue(conn);
	size_t sent;

	if (out->failed)
		fail(conn, FL_E_NOMEM, "no memory for bytes to send");
	if (conn->failed)
		return false;
	if (!out->len)
		return true;
	sent = write_some(conn, out->p, out->len);
	fl_buf_drop(out, sent);
	if (!out->len)
		fl_buf_free(out);
	watch_progress(conn, sent > 0);
	return !conn->failed && !out->len;
}

static void send_plain(struct fl_conn *conn, const char *bytes, size_t len)
{
	struct fl_err err = { 0 };
	size_t sent;

	if (conn->tls) {
		if (fl_tls_write(conn->tls, bytes, len, &err) < 0)
			fl_conn_fail(conn, &err);
		return;
	}
	sent = write_some(conn, bytes, len);
	if (sent < len)
		fl_buf_put(&conn->out, bytes + sent, len - sent);
	watch_progress(conn, sent > 0);
}

/* The socket has all our bytes: end our side, and give the peer time to end its own. */
static void shut(struct fl_conn *conn)
{
	if (conn->tls && !conn->shut) {
		fl_tls_end(conn->tls);
		if (!send_queue(conn))
			return;
	}
	conn->shut = true;
	fl_shutdown_write(conn->io, conn->fd);
	fl_timer_set(conn->io, &conn->slow, fl_now(conn->io) + FL_HTTP_LINGER);
}

static void flush(struct fl_conn *conn, const bool *gone)
{
	char room[RECORD_BYTES] FL_SCRATCH;

	for (int i = 0; i < TURN_RECORDS && !conn->shut; i++) {
		size_t len;

		if (!send_queue(conn) || !conn->ready)
			return;
		len = conn->user->fill(conn, room, sizeof room);
		if (*gone || conn->failed)
			return;
		if (len == 0) {
			if (conn->finishing)
				shut(conn);
			return;
		}
		send_plain(conn, room, len);
	}
	if (!conn->shut)
		fl_timer_set(conn->io, &conn->wake, fl_now(conn->io)); /* other connections first */
}

/* ---- where it happens ---- */

static void settle(struct fl_conn *conn)
{
	bool reads = !conn->got_eof && !conn->resting && (!conn->paused || conn->finishing);
	unsigned want = (reads ? FL_READABLE : 0) | (fl_conn_unsent(conn) ? FL_WRITABLE : 0);
	struct fl_err err = { 0 };

	if (conn->shut && conn->got_eof)
		fail(conn, FL_E_CLOSED, "the connection was closed");
	if (!conn->failed && fl_poll_set(conn->io, &conn->poll, want, &err) < 0)
		fl_conn_fail(conn, &err);
	conn->in_dispatch = false;
	conn->gone = NULL;
	if (conn->failed)
		tell_closed(conn);
	else if (conn->in.len && !conn->paused)
		later(conn);
}

/* Send a TLS alert with the reason, without waiting for it to arrive. */
static void last_words(struct fl_conn *conn)
{
	struct fl_buf *out = queue(conn);

	if (conn->tls && out->len && fl_write(conn->io, conn->fd, out->p, out->len) > 0)
		fl_buf_clear(out);
}

static void work(struct fl_conn *conn, bool readable)
{
	bool gone = false;

	conn->gone = &gone;
	conn->in_dispatch = true;
	if (!conn->failed)
		deliver_kept(conn, &gone);
	if (!gone && readable)
		read_socket(conn, &gone);
	if (!gone)
		tell_eof(conn);
	if (!gone && !conn->failed)
		flush(conn, &gone);
	if (!gone && conn->failed)
		last_words(conn);
	if (!gone)
		settle(conn);
}

static void on_ready(struct fl_poll *poll, unsigned what)
{
	work(fl_container(poll, struct fl_conn, poll), what & (FL_READABLE | FL_HUNGUP));
}

static void on_wake(struct fl_timer *timer)
{
	work(fl_container(timer, struct fl_conn, wake), false);
}

/* Read without a readiness event: bytes may have come meanwhile. */
static void on_rest(struct fl_timer *timer)
{
	struct fl_conn *conn = fl_container(timer, struct fl_conn, rest);

	conn->resting = false;
	work(conn, true);
}

static void on_slow(struct fl_timer *timer)
{
	struct fl_conn *conn = fl_container(timer, struct fl_conn, slow);

	conn->in_dispatch = true;
	if (conn->shut)
		fail(conn, FL_E_CLOSED, "the connection was closed");
	else
		fail(conn, FL_E_TIMEOUT, conn->ready ? "the peer takes no bytes" : "the TLS handshake takes too long");
	settle(conn);
}

void fl_conn_last_words(struct fl_conn *conn)
{
	bool gone = false;

	if (conn->failed || conn->fd < 0 || conn->in_dispatch)
		return;
	conn->gone = &gone;
	conn->in_dispatch = true;
	conn->finishing = true;
	flush(conn, &gone);
	if (gone)
		return;
	conn->gone = NULL;
	conn->in_dispatch = false;
}

/* ---- the beginning ---- */

static void start_conn(struct fl_io *io, struct fl_conn *conn, int fd, struct fl_tls *tls)
{
	const struct fl_conn_user *user = conn->user;
	void *arg = conn->arg;

	*conn = (struct fl_conn){ .user = user, .arg = arg, .io = io, .fd = fd, .tls = tls, .ready = !tls,
				  .last_read = fl_now(io), .poll = { .ready = on_ready, .fd = fd },
				  .wake = { .fire = on_wake }, .slow = { .fire = on_slow }, .rest = { .fire = on_rest },
				  .in = FL_BUF(2 * READ_BYTES), .out = FL_BUF(SIZE_MAX / 2) };
	if (tls)
		fl_timer_set(io, &conn->slow, fl_now(io) + FL_HTTP_HANDSHAKE_TIMEOUT);
	fl_timer_set(io, &conn->wake, fl_now(io));
}

void fl_conn_start(struct fl_io *io, struct fl_conn *conn, int fd)
{
	start_conn(io, conn, fd, NULL);
}

int fl_conn_start_tls(struct fl_io *io, struct fl_conn *conn, int fd, struct fl_tls_context *context,
		      const char *server_name, struct fl_err *err)
{
	struct fl_tls *tls = fl_tls_new(context, server_name, err);

	if (!tls) {
		fl_close(io, fd);
		return -FL_E_NOMEM;
	}
	start_conn(io, conn, fd, tls);
	if (!server_name)
		fl_timer_set(io, &conn->slow, fl_now(io) + FL_HTTP_HANDSHAKE_PATIENCE);
	/* A client sends first: its hello goes out with the first flush. */
	if (server_name && fl_tls_handshake(tls, err) < 0) {
		fl_conn_close(conn);
		return -FL_E_NOMEM;
	}
	return 0;
}

void fl_conn_finish(struct fl_conn *conn)
{
	if (conn->finishing || conn->fd < 0)
		return;
	conn->finishing = true;
	fl_buf_free(&conn->in);
	later(conn);
}

void fl_conn_batch(struct fl_conn *conn, uint64_t every)
{
	conn->batch = every;
	if (!every && conn->resting)
		fl_timer_set(conn->io, &conn->rest, fl_now(conn->io));
}

void fl_conn_wake(struct fl_conn *conn)
{
	later(conn);
}

void fl_conn_resume(struct fl_conn *conn)
{
	conn->paused = false;
	conn->resumed = true;
	later(conn);
}
