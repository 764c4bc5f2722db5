/* Who has a place, and who makes room. At the limit the connection that has been idle for longest goes; then, of those
 * that have waited for their peer for too long, the one whose peer has given no sign for longest; then one that has
 * waited for less, of the peer address that has the most, if that is more than the newcomer's. A connection waits for
 * its peer when all that is open on it does: a handshake, a head or a body that has not come whole, an answer that has
 * not been taken. What a handler works at stays. Beyond the limit a few connections are accepted for probes alone.
 * One peer address has a share of both, and makes room for itself.
 *
 * Handshakes have a limit of their own, which only paces them: one that takes too long stops counting against it and
 * keeps its place. So silent peers do not hold up the others, and a slow one on a busy machine is not cut off. */
#include "base/limits.h"
#include "http/server_in.h"

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

/* Since when it waits for its peer, with the oldest of what is open. FL_NEVER: it does not, a handler works. */
static uint64_t waits_since(const struct fl_sconn *conn)
{
	uint64_t since = conn->reqs ? FL_NEVER : conn->since;

	for (const struct fl_http_req *req = conn->reqs; req; req = req->next) {
		uint64_t at = req->collecting ? req->began : req->owed;

		if (at == FL_NEVER)
			return FL_NEVER;
		since = at < since ? at : since;
	}
	return since;
}

/* When it has waited for too long. */
static uint64_t slow_from(const struct fl_sconn *conn)
{
	uint64_t since = waits_since(conn);

	return since == FL_NEVER ? FL_NEVER : since + FL_HTTP_ROOM_AFTER;
}

static uint64_t last_sign(const struct fl_sconn *conn)
{
	return conn->conn.last_read > conn->conn.last_sent ? conn->conn.last_read : conn->conn.last_sent;
}

/* `origin` NULL: all peers. */
static bool among(const struct fl_sconn *conn, const struct fl_origin *origin, bool extra)
{
	return conn->extra == extra && (!origin || fl_origin_eq(&conn->origin, origin));
}

static uint32_t count(const struct fl_http_server *server, const struct fl_origin *origin, bool extra)
{
	uint32_t count = 0;

	for (const struct fl_sconn *conn = server->conns; conn; conn = conn->next)
		count += among(conn, origin, extra);
	return count;
}

static void earlier(struct fl_sconn **best, struct fl_sconn *conn)
{
	if (!*best || conn->since < (*best)->since)
		*best = conn;
}

/* Of those that wait for their peer, the one that has waited longest of the peer address that has most of these places.
 * NULL: none has more than `own`, what the newcomer's has. Whoever replaces what it holds in time is never slow. */
static struct fl_sconn *of_the_greediest(const struct fl_http_server *server, uint32_t own, bool extra)
{
	struct fl_sconn *best = NULL;
	uint32_t most = own;

	for (struct fl_sconn *conn = server->conns; conn; conn = conn->next) {
		uint32_t has;

		if (!among(conn, NULL, extra) || waits_since(conn) == FL_NEVER)
			continue;
		has = best && fl_origin_eq(&best->origin, &conn->origin) ? most : count(server, &conn->origin, extra);
		if (has > most || (best && has == most && waits_since(conn) < waits_since(best)))
			best = conn;
		most = has > most ? has : most;
	}
	return best;
}

/* Which ordinary place is to be given up; NULL: none. */
static struct fl_sconn *victim(const struct fl_http_server *server, const struct fl_origin *origin)
{
	struct fl_sconn *longest_idle = NULL, *slow = NULL;
	uint64_t now = fl_now(server->io);

	for (struct fl_sconn *conn = server->conns; conn; conn = conn->next) {
		if (!among(conn, origin, false))
			continue;
		if (idle(conn))
			earlier(&longest_idle, conn);
		else if (now >= slow_from(conn) && (!slow || last_sign(conn) < last_sign(slow)))
			slow = conn;
	}
	return longest_idle ? longest_idle : slow;
}

/* The same of those for probes, where none is given time to be slow: a probe and its answer take no time. */
static struct fl_sconn *extra_victim(const struct fl_http_server *server, const struct fl_origin *origin)
{
	struct fl_sconn *oldest = NULL;

	for (struct fl_sconn *conn = server->conns; conn; conn = conn->next)
		if (among(conn, origin, true) && (idle(conn) || waits_since(conn) != FL_NEVER))
			earlier(&oldest, conn);
	return oldest;
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

	if (!conn->extra || ordinary(server) >= max_conns(server) ||
	    count(server, &conn->origin, false) >= share(server))
		return conn->extra;
	conn->extra = false;
	server->extra_count--;
	return false;
}

static bool extra_room(struct fl_http_server *server, const struct fl_origin *origin)
{
	uint32_t own = count(server, origin, true);
	bool own_full = own >= FL_HTTP_PROBE_SHARE;
	struct fl_sconn *gone;

	if (!own_full && server->extra_count < max_extra(server))
		return true;
	gone = own_full ? extra_victim(server, origin) : of_the_greediest(server, own, true);
	if (gone)
		evict(gone);
	return gone != NULL;
}

enum fl_room fl_http_room(struct fl_http_server *server, const struct fl_addr *addr)
{
	uint32_t taken = ordinary(server), most = max_conns(server);
	struct fl_origin origin = fl_addr_origin(addr);
	struct fl_sconn *gone;
	bool own_full;
	uint32_t own;

	if (taken < share(server))
		return FL_ROOM;
	own = count(server, &origin, false);
	own_full = own >= share(server);
	if (!own_full && taken < most)
		return FL_ROOM;
	gone = victim(server, own_full ? &origin : NULL);
	if (!gone && !own_full)
		gone = of_the_greediest(server, own, false);
	if (!gone)
		return extra_room(server, &origin) ? FL_ROOM_PROBE : FL_ROOM_NONE;
	evict(gone);
	return FL_ROOM;
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
	if (fl_now(server->io) < slow_from(oldest))
		return slow_from(oldest);
	fl_sconn_paced(oldest);
	return 0;
}

/* As above. Who comes may have nothing yet, and then takes the place of whoever waits for its peer. */
static uint64_t place_room(struct fl_http_server *server)
{
	if (ordinary(server) < max_conns(server) || server->extra_count < max_extra(server) || victim(server, NULL) ||
	    of_the_greediest(server, 0, false) || extra_victim(server, NULL))
		return 0;
	return FL_NEVER;
}

/* A connection has become idle, or busy, or waits for its peer: that counts only at the limit. */
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
