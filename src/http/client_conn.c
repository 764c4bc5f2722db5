/* Opening a connection: look up the name, try its addresses one after the other, do the handshake, see which protocol
 * was negotiated. */
#include "http/client_in.h"
#include "base/chain.h"
#include <stdio.h>

/* For an idle connection: shorter than the server's own limit. */
#define FL_HTTP_CLIENT_IDLE (90 * FL_NS_PER_S)

static void try_next(struct fl_cconn *conn);

void fl_cconn_drop(struct fl_cconn *conn)
{
	struct fl_http_client *client = conn->client;

	fl_op_cancel(&conn->lookup.op);
	fl_op_cancel(&conn->connect.op);
	fl_timer_stop(client->io, &conn->idle);
	conn->h2 = fl_h2_free(conn->h2);
	fl_conn_close(&conn->conn);
	fl_h1_free(&conn->h1);
	fl_buf_free(&conn->out);
	fl_chain_take(conn);
	client->conn_count--;
	client->dialing -= !conn->open;
	fl_free(conn);
}

/* The attempt failed. If calls have no other connection to wait for, they fail with the same error. */
static void dial_failed(struct fl_cconn *conn, const struct fl_err *why)
{
	struct fl_http_client *client = conn->client;
	struct fl_err err = *why;
	bool hope = false;

	fl_wrap(&err, "%.*s", FL_ARG(client->options.url));
	/* Refused, unreachable or unknown: it may work later. */
	if (err.code == FL_E_CLOSED || err.code == FL_E_IO || err.code == FL_E_NOTFOUND || err.code == FL_E_AGAIN)
		err.code = FL_E_RETRY;
	fl_cconn_drop(conn);
	for (conn = client->conns; conn; conn = conn->next)
		hope = hope || (!conn->retired && !conn->broken && (!conn->h2 || !fl_h2_going(conn->h2)));
	if (!hope)
		fl_client_fail_waiting(client, &err);
}

/* ---- open ---- */

static void set_open(struct fl_cconn *conn)
{
	struct fl_http_client *client = conn->client;

	conn->open = true;
	client->dialing--;
	client->opened++;
	client->knows_h1 = !conn->h2;
	fl_conn_batch(&conn->conn, client->batch);
	fl_client_pump(client);
	fl_cconn_quiet(conn);
}

static int start_h2(struct fl_cconn *conn)
{
	struct fl_err err = { 0 };

	if (fl_cconn_h2_start(conn, &err) == 0)
		return 0;
	fl_conn_fail(&conn->conn, &err);
	return -FL_E_NOMEM;
}

static void on_open(struct fl_conn *c)
{
	struct fl_cconn *conn = fl_container(c, struct fl_cconn, conn);

	if (fl_conn_h2(c) && start_h2(conn) < 0)
		return;
	if (!fl_conn_h2(c))
		fl_cconn_h1_start(conn);
	set_open(conn);
}

static size_t no_bytes(struct fl_conn *conn, void *room, size_t len)
{
	(void)conn;
	(void)room;
	(void)len;
	return 0;
}

static void on_closed(struct fl_conn *c, const struct fl_err *err)
{
	dial_failed(fl_container(c, struct fl_cconn, conn), err);
}

static const struct fl_conn_user undecided = { .open = on_open, .fill = no_bytes, .closed = on_closed };

static void connected(struct fl_op *op)
{
	struct fl_cconn *conn = fl_container(op, struct fl_cconn, connect.op);
	struct fl_http_client *client = conn->client;
	const char *name = client->options.server_name.len ? client->options.server_name.p : client->host;

	if (op->result < 0) {
		try_next(conn);
		return;
	}
	conn->conn.user = &undecided;
	if (client->secure) {
		if (fl_conn_start_tls(client->io, &conn->conn, (int)op->result, client->tls, name, &conn->err) < 0)
			dial_failed(conn, &conn->err);
		return;
	}
	fl_conn_start(client->io, &conn->conn, (int)op->result);
	if (client->options.plain_h2 && start_h2(conn) < 0)
		return;
	if (!client->options.plain_h2)
		fl_cconn_h1_start(conn);
	set_open(conn);
}

/* ---- addresses ---- */

static void try_next(struct fl_cconn *conn)
{
	struct fl_http_client *client = conn->client;
	uint64_t within = client->options.connect_timeout ? client->options.connect_timeout : FL_HTTP_CONNECT_TIMEOUT;

	if (conn->tried == (uint32_t)conn->lookup.op.result) {
		dial_failed(conn, &conn->err);
		return;
	}
	conn->connect = (struct fl_connect){ .op = { .done = connected, .err = &conn->err,
		.deadline = fl_now(client->io) + within },
					     .addr = conn->lookup.found[conn->tried++] };
	fl_connect(client->io, &conn->connect);
}

static void found(struct fl_op *op)
{
	struct fl_cconn *conn = fl_container(op, struct fl_cconn, lookup.op);

	if (op->result < 0)
		dial_failed(conn, &conn->err);
	else
		try_next(conn);
}

static void on_idle(struct fl_timer *timer)
{
	struct fl_cconn *conn = fl_container(timer, struct fl_cconn, idle);

	conn->retired = true;
	fl_conn_finish(&conn->conn);
}

void fl_cconn_dial(struct fl_http_client *client)
{
	struct fl_cconn *conn = fl_zalloc(sizeof *conn);
	struct fl_err err = { 0 };

	if (!conn) {
		fl_fail(&err, FL_E_NOMEM, "no memory for a connection");
		fl_client_fail_waiting(client, &err);
		return;
	}
	conn->client = client;
	conn->conn.fd = -1;
	conn->idle = (struct fl_timer){ .fire = on_idle };
	fl_chain_add(&client->conns, conn);
	client->conn_count++;
	client->dialing++;
	if (client->addr.kind == FL_ADDR_UNIX) {
		conn->lookup.found[0] = client->addr;
		conn->lookup.op.result = 1;
		try_next(conn);
		return;
	}
	conn->lookup = (struct fl_lookup){ .op = { .done = found, .err = &conn->err,
						   .deadline = fl_now(client->io) + FL_HTTP_CONNECT_TIMEOUT },
					   .host = client->host, .port = client->port };
	fl_lookup(client->io, &conn->lookup);
}

void fl_cconn_quiet(struct fl_cconn *conn)
{
	if (conn->calls || !conn->open || conn->broken)
		return;
	if (conn->retired)
		fl_conn_finish(&conn->conn);
	else if (!fl_timer_is_set(&conn->idle))
		fl_timer_set(conn->client->io, &conn->idle, fl_now(conn->client->io) + FL_HTTP_CLIENT_IDLE);
}
