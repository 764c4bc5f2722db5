#include "http/h2_conn.h"
#include "base/units.h"
#include "http/h2_in.h"
#include <stdio.h>

/* As time goes on, more frames that bring nothing may come. */
static void grow_patient(struct fl_h2 *h2, uint64_t now)
{
	int64_t room = FL_H2_IDLE_BURST - h2->patience;
	uint64_t more = (now - h2->patient_at) * FL_H2_IDLE_RATE / FL_NS_PER_S;

	if (!more)
		return;
	h2->patient_at = now;
	if (room > 0)
		h2->patience += more < (uint64_t)room ? (int64_t)more : room;
}

static size_t take(struct fl_conn *conn, const char *bytes, size_t len)
{
	struct fl_err err = { 0 };

	grow_patient(conn->arg, fl_now(conn->io));
	if (fl_h2_recv(conn->arg, bytes, len, &err) < 0)
		fl_conn_fail(conn, &err);
	return len;
}

static size_t fill(struct fl_conn *conn, void *room, size_t len)
{
	struct fl_h2 *h2 = conn->arg;
	struct fl_err err = { 0 };
	int64_t got = fl_h2_send(h2, room, len, &err);

	if (got == -FL_E_CLOSED)
		return 0; /* a callback freed both */
	if (got < 0)
		fl_conn_fail(conn, &err);
	else if (got == 0 && fl_h2_over(h2))
		fl_conn_finish(conn);
	return got < 0 ? 0 : (size_t)got;
}

static void eof(struct fl_conn *conn)
{
	struct fl_h2 *h2 = conn->arg;
	struct fl_err err = { 0 };

	if (h2->open_count == 0) {
		fl_conn_finish(conn);
		return;
	}
	fl_fail(&err, FL_E_CLOSED, "%s", h2->why[0] ? h2->why : "the peer closed the connection");
	fl_conn_fail(conn, &err);
}

static void closed(struct fl_conn *conn, const struct fl_err *err)
{
	struct fl_h2 *h2 = conn->arg;
	struct fl_err why = *err;

	fl_timer_stop(conn->io, &h2->ask);
	fl_timer_stop(conn->io, &h2->cut);
	h2->conn = NULL;
	if (why.code == FL_E_CLOSED && h2->aborted)
		fl_fail(&why, FL_E_INVALID, "HTTP/2: %s", h2->why[0] ? h2->why : "the peer breaks the protocol");
	h2->inside++; /* closed() may free the session; call lost() only if it did not */
	fl_h2_lose(h2, &why);
	if (!h2->doomed)
		h2->user->lost(h2, &why);
	h2->inside--;
	if (h2->doomed)
		fl_h2_free(h2);
}

static const struct fl_conn_user table = { .take = take, .eof = eof, .fill = fill, .closed = closed };

/* ---- asking after a silent peer ---- */

static void on_ask(struct fl_timer *timer)
{
	struct fl_h2 *h2 = fl_container(timer, struct fl_h2, ask);
	struct fl_conn *conn = h2->conn;
	uint64_t now = fl_now(conn->io);
	struct fl_err err = { 0 };

	if (h2->asked && conn->last_read < h2->asked) {
		fl_fail(&err, FL_E_TIMEOUT, "the peer has been silent for %llu s and does not answer a PING",
			(unsigned long long)((now - conn->last_read) / FL_NS_PER_S));
		fl_conn_fail(conn, &err);
		return;
	}
	h2->asked = 0;
	if (now - conn->last_read < h2->ask_every) {
		fl_timer_set(conn->io, timer, conn->last_read + h2->ask_every);
		return;
	}
	h2->asked = now;
	if (fl_h2_ping(h2) < 0) {
		fl_fail(&err, FL_E_NOMEM, "no memory for a PING");
		fl_conn_fail(conn, &err);
		return;
	}
	fl_timer_set(conn->io, timer, now + h2->ask_within);
}

void fl_h2_keep_alive(struct fl_h2 *h2, uint64_t every, uint64_t within)
{
	h2->ask_every = every;
	h2->ask_within = within;
	fl_timer_set(h2->conn->io, &h2->ask, fl_now(h2->conn->io) + every);
}

/* ---- the graceful end ---- */

static void on_cut(struct fl_timer *timer)
{
	struct fl_h2 *h2 = fl_container(timer, struct fl_h2, cut);
	struct fl_err err = { 0 };

	if (!h2->final_goaway) {
		fl_h2_shutdown(h2);
		fl_timer_set(h2->conn->io, timer, h2->deadline);
		return;
	}
	fl_fail(&err, FL_E_TIMEOUT, "%u streams had not ended when the time for it was over", h2->open_count);
	fl_conn_fail(h2->conn, &err);
}

void fl_h2_drain(struct fl_h2 *h2, uint64_t deadline)
{
	uint64_t wait = fl_now(h2->conn->io) + FL_HTTP_GOAWAY_WAIT;

	h2->deadline = deadline;
	if (!h2->noticed)
		fl_h2_shutdown(h2);
	fl_timer_set(h2->conn->io, &h2->cut, h2->final_goaway ? deadline : wait < deadline ? wait : deadline);
}

void fl_h2_ponged(struct fl_h2 *h2)
{
	/* At once, not when the answer would have been due: that would be a wake-up more for each PING. */
	if (h2->conn && h2->asked) {
		h2->asked = 0;
		fl_timer_set(h2->conn->io, &h2->ask, fl_now(h2->conn->io) + h2->ask_every);
	}
	if (h2->conn && h2->noticed && !h2->final_goaway) {
		fl_h2_shutdown(h2);
		fl_timer_set(h2->conn->io, &h2->cut, h2->deadline);
	}
	if (h2->user->pong)
		h2->user->pong(h2);
}

void fl_h2_on_conn(struct fl_h2 *h2, struct fl_conn *conn)
{
	conn->user = &table;
	conn->arg = h2;
	h2->conn = conn;
	h2->patient_at = fl_now(conn->io);
	h2->ask = (struct fl_timer){ .fire = on_ask };
	h2->cut = (struct fl_timer){ .fire = on_cut };
	fl_conn_wake(conn);
}

struct fl_conn *fl_h2_conn(const struct fl_h2 *h2)
{
	return h2->conn;
}
