/* Who has a place, and who makes room. At the limit the connection that has been idle for longest goes; then, of those
 * whose handshake, head or body takes too long, the one whose peer has been silent for longest; what is being answered
 * stays. Beyond the limit a few connections are accepted for probes alone. One peer address has a share, and makes room
 * for itself.
 *
 * Handshakes have a limit of their own, which only paces them: one that takes too long stops counting against it and
 * keeps its place. So silent peers do not hold up the others, and a slow one on a busy machine is not cut off. */
#include "base/limits.h"
#include "http/server_in.h"

/* A place that is not shared by all: what is found when all connections are looked at once. */
struct seen {
	struct fl_sconn *idle, *own_idle, *extra;   /* the longest of each; NULL: none */
	struct fl_sconn *slow;                      /* takes too long, its peer silent for longest; NULL: none */
	uint64_t slow_at;                           /* when the first beginning is too slow; FL_NEVER: there is none */
	uint32_t own;                               /* connections of the same peer */
};

static uint32_t max_conns(const struct fl_http_server *server)
{
	return (uint32_t)fl_http_or(server->options.max_conns, FL_HTTP_CONNS_MAX);
}

static uint32_t max_extra(const struct fl_http_server *server)
{
	for (size_t i = 0; i < server->options.route_count; i++)
		if (server->options.routes[i].probe)
			return FL_HTTP_PROBE_CONNS;
	return 0;
}

static uint32_t share(const struct fl_http_server *server)
{
	return (max_conns(server) + 1) / 2;
}

/* Nothing is owed to the peer: it has asked for nothing, or its last answer is with the socket. */
static bool idle(const struct fl_sconn *conn)
{
	if (conn->shaking || conn->reqs || fl_conn_unsent(&conn->conn))
		return false;
	return conn->conn.shut || (!conn->conn.finishing && conn->waits == FL_WAIT_REQUEST);
}

/* A handshake, or requests of which none has come whole. */
static bool begins(const struct fl_sconn *conn)
{
	for (const struct fl_http_req *req = conn->reqs; req; req = req->next)
		if (!req->collecting)
			return false;
	return !idle(conn);
}

static bool same_peer(const struct fl_sconn *conn, const struct fl_addr *peer)
{
	return peer && (peer->kind == FL_ADDR_IP4 || peer->kind == FL_ADDR_IP6) && conn->kind == peer->kind &&
	       conn->scope == peer->scope &&
	       memcmp(conn->ip, peer->ip, sizeof conn->ip) == 0;
}

static void earlier(struct fl_sconn **best, struct fl_sconn *conn)
{
	if (!*best || conn->since < (*best)->since)
		*best = conn;
}

/* When a connection that begins becomes too slow: for its oldest request, or its handshake or head. */
static uint64_t patience(const struct fl_sconn *conn)
{
	uint64_t since = conn->since;

	for (const struct fl_http_req *req = conn->reqs; req; req = req->next)
		since = req == conn->reqs || req->began < since ? req->began : since;
	return since + FL_HTTP_ROOM_AFTER;
}

/* A beginning: of those that are too slow, the one whose peer has been silent for longest is remembered. */
static void see_beginning(struct seen *seen, struct fl_sconn *conn, uint64_t now)
{
	uint64_t at = patience(conn);

	if (at < seen->slow_at)
		seen->slow_at = at;
	if (now >= at && (!seen->slow || conn->conn.last_read < seen->slow->conn.last_read))
		seen->slow = conn;
}

static struct seen see(struct fl_http_server *server, const struct fl_addr *peer)
{
	struct seen seen = { .slow_at = FL_NEVER };
	uint64_t now = fl_now(server->io);

	for (struct fl_sconn *conn = server->conns; conn; conn = conn->next) {
		bool is_idle = idle(conn), own = same_peer(conn, peer);

		seen.own += own && !conn->extra;
		if (conn->extra && (is_idle || begins(conn)))
			earlier(&seen.extra, conn);
		else if (is_idle)
			earlier(&seen.idle, conn);
		else if (begins(conn))
			see_beginning(&seen, conn, now);
		if (own && is_idle && !conn->extra)
			earlier(&seen.own_idle, conn);
	}
	return seen;
}

/* HTTP/1.1 is closed, HTTP/2 says GOAWAY before, if the socket takes it at once. */
static void evict(struct fl_sconn *conn)
{
	if (conn->h2) {
		fl_h2_leave(conn->h2);
		fl_conn_last_words(&conn->conn);
	}
	conn->server->evicted++;
	fl_sconn_drop(conn);
}

static uint32_t ordinary(const struct fl_http_server *server)
{
	return server->conn_count - server->extra_count;
}

bool fl_sconn_extra(struct fl_sconn *conn)
{
	struct fl_http_server *server = conn->server;
	struct fl_addr peer = { .kind = conn->kind, .scope = conn->scope };

	if (!conn->extra || ordinary(server) >= max_conns(server))
		return conn->extra;
	memcpy(peer.ip, conn->ip, sizeof peer.ip);
	if (see(server, &peer).own >= share(server))
		return true;
	conn->extra = false;
	server->extra_count--;
	return false;
}

/* Only probes: the oldest of those that have asked for nothing yet gives way. */
static bool extra_room(struct fl_http_server *server, struct fl_sconn *oldest)
{
	uint32_t most = max_extra(server);

	if (server->extra_count >= most && most && oldest)
		evict(oldest);
	return server->extra_count < most;
}

/* `peer`: FL_ADDR_NONE, FL_ADDR_UNIX: nobody shares. */
enum fl_room fl_http_room(struct fl_http_server *server, const struct fl_addr *peer)
{
	uint32_t count = ordinary(server), most = max_conns(server);
	struct seen seen;

	if (count < most && count < share(server))
		return FL_ROOM;
	seen = see(server, peer);
	if (seen.own >= share(server)) {
		if (!seen.own_idle)
			return extra_room(server, seen.extra) ? FL_ROOM_PROBE : FL_ROOM_NONE;
		evict(seen.own_idle);
		return FL_ROOM;
	}
	if (count < most)
		return FL_ROOM;
	if (seen.idle || seen.slow) {
		evict(seen.idle ? seen.idle : seen.slow);
		return FL_ROOM;
	}
	return extra_room(server, seen.extra) ? FL_ROOM_PROBE : FL_ROOM_NONE;
}

/* ---- when none is to be taken ---- */

void fl_sconn_paced(struct fl_sconn *conn)
{
	conn->server->shaking -= conn->paced;
	conn->paced = false;
}

static struct fl_sconn *oldest_paced(struct fl_http_server *server)
{
	struct fl_sconn *oldest = NULL;

	for (struct fl_sconn *conn = server->conns; conn; conn = conn->next)
		if (conn->paced)
			earlier(&oldest, conn);
	return oldest;
}

/* When another handshake may begin without that anything happens. 0: now; FL_NEVER: not by time. */
static uint64_t handshake_room(struct fl_http_server *server)
{
	struct fl_sconn *oldest;

	if (server->shaking < fl_http_or(server->options.max_handshakes, FL_HTTP_HANDSHAKES_MAX))
		return 0;
	oldest = oldest_paced(server);
	if (!oldest)
		return FL_NEVER;
	if (fl_now(server->io) < patience(oldest))
		return patience(oldest);
	fl_sconn_paced(oldest);
	return 0;
}

static uint64_t place_room(struct fl_http_server *server)
{
	struct seen seen;

	if (ordinary(server) < max_conns(server) || server->extra_count < max_extra(server))
		return 0;
	seen = see(server, NULL);
	return seen.idle || seen.extra || seen.slow ? 0 : seen.slow_at;
}

/* A connection has become idle, or busy: that counts only at the limit. */
void fl_http_room_changed(struct fl_http_server *server)
{
	if (server->held || ordinary(server) >= max_conns(server))
		fl_http_hold_or_go_on(server);
}

void fl_http_hold_or_go_on(struct fl_http_server *server)
{
	uint64_t shake, place;
	bool hold;

	if (server->draining || server->looking)
		return;
	server->looking = true;   /* who is evicted asks again */
	shake = handshake_room(server);
	place = place_room(server);
	server->looking = false;
	hold = shake || place;
	if (hold)
		fl_timer_set(server->io, &server->room, shake > place ? shake : place);
	else
		fl_timer_stop(server->io, &server->room);
	if (hold == server->held)
		return;
	server->held = hold;
	for (uint32_t i = 0; i < server->place_count; i++)
		fl_listener_hold(&server->places[i].listener, hold);
}
