#include "base/chain.h"
#include "http/server_in.h"

uint64_t fl_http_or(uint64_t given, uint64_t otherwise)
{
	return given ? given : otherwise;
}

uint32_t fl_http_server_conns(const struct fl_http_server *server)
{
	return server->conn_count;
}

uint64_t fl_http_server_evicted(const struct fl_http_server *server)
{
	return server->evicted;
}

/* ---- one connection ---- */

void fl_sconn_wait(struct fl_sconn *conn)
{
	const struct fl_http_server_options *options = &conn->server->options;
	enum fl_sconn_wait waits = conn->reqs			      ? FL_WAIT_NOTHING :
				   conn->h2 || fl_h1_idle(&conn->h1) ? FL_WAIT_REQUEST :
									FL_WAIT_HEAD;
	uint64_t head = fl_http_or(options->head_timeout, FL_HTTP_HEAD_TIMEOUT);
	uint64_t idle = conn->served ? fl_http_or(options->idle_timeout, FL_HTTP_IDLE_TIMEOUT) : head;

	/* A head's deadline runs from its first byte, however many pieces follow. */
	if (waits == FL_WAIT_NOTHING)
		fl_timer_stop(conn->conn.io, &conn->timer);
	else if (waits != conn->waits || !fl_timer_is_set(&conn->timer))
		fl_timer_set(conn->conn.io, &conn->timer,
			     fl_now(conn->conn.io) + (waits == FL_WAIT_HEAD ? head : idle));
	if (waits == conn->waits)
		return;
	conn->since = fl_now(conn->conn.io);
	conn->waits = waits;
	fl_http_room_changed(conn->server);
}

static void on_timer(struct fl_timer *timer)
{
	struct fl_sconn *conn = fl_container(timer, struct fl_sconn, timer);

	if (conn->parked >= 0) {
		fl_sconn_drop(conn);
	} else if (conn->shaking) {
		fl_sconn_paced(conn);
		fl_http_hold_or_go_on(conn->server);
	} else if (conn->h2) {
		fl_h2_drain(conn->h2, fl_now(conn->conn.io) + 2 * FL_HTTP_GOAWAY_WAIT);
	} else if (conn->waits == FL_WAIT_HEAD) {
		fl_sconn_h1_late(conn);
	} else {
		fl_conn_finish(&conn->conn);
	}
}

void fl_sconn_drop(struct fl_sconn *conn)
{
	struct fl_http_server *server = conn->server;

	while (conn->reqs)
		fl_http_req_gone(conn->reqs);
	conn->h2 = fl_h2_free(conn->h2);
	fl_timer_stop(server->io, &conn->timer);
	fl_conn_close(&conn->conn);
	if (conn->parked >= 0)
		fl_close(server->io, conn->parked);
	fl_sconn_unpark(conn);
	fl_h1_free(&conn->h1);
	fl_buf_free(&conn->out);
	fl_sconn_shaken(conn);
	fl_chain_take(conn);
	fl_http_origin_leave(conn);
	server->conn_count--;
	server->extra_count -= conn->extra;
	fl_free(conn);
	fl_http_hold_or_go_on(server);
	if (server->draining && !server->conn_count)
		fl_timer_set(server->io, &server->drain, fl_now(server->io));
}

static void on_open(struct fl_conn *conn)
{
	struct fl_sconn *sconn = fl_container(conn, struct fl_sconn, conn);
	struct fl_err err = { 0 };

	sconn->shaking = false;
	fl_sconn_shaken(sconn);
	fl_http_hold_or_go_on(sconn->server);
	if (!fl_conn_h2(conn))
		fl_sconn_h1_start(sconn);
	else if (fl_sconn_h2_start(sconn, &err) < 0)
		fl_conn_fail(conn, &err);
	else if (sconn->server->draining)
		fl_h2_drain(sconn->h2, sconn->server->deadline);
	if (sconn->server->draining && !sconn->h2)
		fl_conn_finish(conn);
	fl_sconn_wait(sconn);
}

static size_t no_bytes(struct fl_conn *conn, void *room, size_t len)
{
	(void)conn;
	(void)room;
	(void)len;
	return 0;
}

static void on_closed(struct fl_conn *conn, const struct fl_err *err)
{
	(void)err;
	fl_sconn_drop(fl_container(conn, struct fl_sconn, conn));
}

/* Until the handshake has chosen the protocol. */
static const struct fl_conn_user undecided = { .open = on_open, .fill = no_bytes, .closed = on_closed };

/* Counted only once it has begun: one that cannot begin frees no place. */
void fl_sconn_shake(struct fl_sconn *conn, int fd)
{
	struct fl_http_server *server = conn->server;
	struct fl_err err = { 0 };

	conn->since = fl_now(server->io);
	if (fl_conn_start_tls(server->io, &conn->conn, fd, server->tls, NULL, &err) < 0)
		fl_sconn_drop(conn);
	else
		fl_sconn_pace(conn);
}

static void begin_conn(struct fl_http_place *place, struct fl_sconn *conn, int fd)
{
	struct fl_http_server *server = place->server;

	conn->conn.user = &undecided;
	if (!place->tls) {
		fl_conn_start(server->io, &conn->conn, fd);
		fl_sconn_h1_start(conn);
		fl_sconn_wait(conn);
		return;
	}
	conn->shaking = true;
	if (!fl_sconn_park(conn, fd))
		fl_sconn_shake(conn, fd);
}

/* NULL: no memory. */
static struct fl_sconn *new_conn(struct fl_http_server *server, const struct fl_origin *origin, bool extra)
{
	struct fl_sconn *conn = fl_zalloc(sizeof *conn);

	if (!conn)
		return NULL;
	conn->server = server;
	conn->parked = -1;
	conn->extra = extra;
	if (fl_http_origin_join(conn, origin) == 0)
		return conn;
	fl_free(conn);
	return NULL;
}

static void accepted(struct fl_listener *listener, int fd, const struct fl_addr *peer)
{
	struct fl_http_place *place = fl_container(listener, struct fl_http_place, listener);
	struct fl_http_server *server = place->server;
	struct fl_origin origin = fl_addr_origin(peer);
	enum fl_room room = fl_http_room(server, &origin);
	struct fl_sconn *conn = room == FL_ROOM_NONE ? NULL : new_conn(server, &origin, room == FL_ROOM_PROBE);

	if (!conn) {
		fl_close(server->io, fd);
		return;
	}
	conn->kind = place->kind == FL_ADDR_UNIX ? FL_ADDR_UNIX : peer->kind;
	conn->port = peer->port;
	conn->scope = peer->scope;
	memcpy(conn->ip, peer->ip, sizeof conn->ip);
	conn->conn.fd = -1;
	conn->since = fl_now(server->io);
	server->extra_count += conn->extra;
	conn->timer = (struct fl_timer){ .fire = on_timer };
	fl_chain_add(&server->conns, conn);
	server->conn_count++;
	begin_conn(place, conn, fd);
	fl_http_hold_or_go_on(server);
}

/* ---- the server ---- */

static void end_drain(struct fl_http_server *server)
{
	void (*drained)(void *arg) = server->drained;

	while (server->conns)
		fl_sconn_drop(server->conns);
	fl_timer_stop(server->io, &server->drain);
	server->drained = NULL;
	if (drained)
		drained(server->drained_arg);
}

static void on_drain(struct fl_timer *timer)
{
	end_drain(fl_container(timer, struct fl_http_server, drain));
}

void fl_http_server_drain(struct fl_http_server *server, uint64_t deadline, void (*done)(void *arg), void *arg)
{
	server->draining = true;
	server->deadline = deadline;
	server->drained = done;
	server->drained_arg = arg;
	for (uint32_t i = 0; i < server->place_count; i++)
		fl_listener_stop(&server->places[i].listener);
	for (struct fl_sconn *conn = server->conns, *next; conn; conn = next) {
		next = conn->next;
		conn->last = true;
		if (conn->parked >= 0)
			fl_sconn_drop(conn);
		else if (conn->h2)
			fl_h2_drain(conn->h2, deadline);
		else if (!conn->reqs)
			fl_conn_finish(&conn->conn);
	}
	fl_timer_set(server->io, &server->drain, server->conns ? deadline : fl_now(server->io));
}

struct fl_http_server *fl_http_server_new(struct fl_io *io, const struct fl_http_server_options *options,
					  struct fl_err *err)
{
	struct fl_http_server *server = fl_zalloc(sizeof *server);

	if (!server) {
		fl_fail(err, FL_E_NOMEM, "no memory for an HTTP server");
		return NULL;
	}
	server->io = io;
	if (fl_http_origins_init(server, err) < 0)
		return fl_http_server_free(server);
	server->options = *options;
	server->drain = (struct fl_timer){ .fire = on_drain };
	return server;
}

struct fl_http_server *fl_http_server_free(struct fl_http_server *server)
{
	if (!server)
		return NULL;
	server->draining = true;   /* a connection that closes makes no room */
	for (uint32_t i = 0; i < server->place_count; i++)
		fl_listener_stop(&server->places[i].listener);
	while (server->conns)
		fl_sconn_drop(server->conns);
	fl_timer_stop(server->io, &server->drain);
	fl_tls_context_free(server->tls);
	fl_hmap_free(&server->origins);
	fl_free(server);
	return NULL;
}

int fl_http_server_listen(struct fl_http_server *server, const struct fl_addr *addr, unsigned mode,
			  struct fl_tls_context *tls, struct fl_addr *ret_addr, struct fl_err *err)
{
	struct fl_http_place *place = &server->places[server->place_count];
	int result;

	if (server->place_count == FL_LEN(server->places))
		return fl_fail(err, FL_E_TOOBIG, "more than %d addresses to listen on", FL_HTTP_LISTENERS_MAX);
	*place = (struct fl_http_place){ .listener.accepted = accepted, .server = server, .kind = addr->kind,
					 .tls = tls != NULL };
	result = fl_listener_start(server->io, &place->listener, addr, mode, err);
	if (result == 0 && ret_addr) {
		result = fl_local_addr(server->io, place->listener.fd, ret_addr, err);
		if (result < 0)
			fl_listener_stop(&place->listener);
	}
	if (result < 0)
		return result;
	server->place_count++;
	if (tls)
		fl_http_server_use(server, tls);
	if (server->held)
		fl_listener_hold(&place->listener, true);
	return 0;
}

void fl_http_server_use(struct fl_http_server *server, struct fl_tls_context *tls)
{
	struct fl_tls_context *former = server->tls;

	server->tls = fl_tls_context_ref(tls);
	fl_tls_context_free(former);
}
