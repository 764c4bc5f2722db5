/* Who has a place, and who makes room. At the limit the connection that has been idle for longest goes, of the peer
 * addresses that have the most; then, of all that have waited for their peer for too long, the one whose peer has
 * given no sign for longest; then one that has waited for less, of the peer address that has the most, if that is more
 * than the newcomer's. A connection waits for its peer when all that is open on it does: a handshake, a head or a body
 * that has not come whole, an answer that has not been taken. What a handler works at stays. Beyond the limit a few
 * connections are accepted for probes alone. One peer address has a share of both, and makes room for itself. Of
 * addresses that have as many places of a kind, the one gives up a place that has more of all.
 *
 * Handshakes have a limit of their own, which only paces them: one that takes too long stops counting against it and
 * keeps its place, so a slow one on a busy machine is not cut off. Of that limit too one address has a share. What
 * comes beyond either is accepted and parked. Each turn goes to the address that has the fewest handshakes that are
 * not over, slow ones included: so silent peers hold up each other. */
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

/* Some newcomer could have its place. One whose address is not known is never the greediest. */
static bool may_go(const struct fl_sconn *conn)
{
	if (waits_since(conn) == FL_NEVER)
		return false;
	return conn->extra || conn->origin || idle(conn) || fl_now(conn->server->io) >= slow_from(conn);
}

static uint64_t last_sign(const struct fl_sconn *conn)
{
	return conn->conn.last_read > conn->conn.last_sent ? conn->conn.last_read : conn->conn.last_sent;
}

/* Of all peers, or of one. */
static struct fl_sconn *first(const struct fl_http_server *server, const struct fl_http_origin *origin)
{
	return origin ? origin->conns : server->conns;
}

static struct fl_sconn *after(const struct fl_sconn *conn, const struct fl_http_origin *origin)
{
	return origin ? conn->next_same : conn->next;
}

static uint32_t count(const struct fl_http_origin *origin, bool extra)
{
	if (!origin)
		return 0;
	return extra ? origin->extra_count : origin->conn_count - origin->extra_count;
}

static void earlier(struct fl_sconn **best, struct fl_sconn *conn)
{
	if (!*best || conn->since < (*best)->since)
		*best = conn;
}

/* More: it has more of these places, or as many and more of all. */
static uint64_t greed(const struct fl_http_origin *origin, bool extra)
{
	return (uint64_t)count(origin, extra) << 32 | origin->conn_count;
}

static struct fl_sconn *longest_waiting(const struct fl_http_origin *origin, bool extra)
{
	struct fl_sconn *best = NULL;

	for (struct fl_sconn *conn = origin->conns; conn; conn = conn->next_same)
		if (conn->extra == extra && waits_since(conn) < (best ? waits_since(best) : FL_NEVER))
			best = conn;
	return best;
}

/* Of those that wait for their peer, the one that has waited longest of the greediest peer address. NULL: none has more
 * than `own`, what the newcomer's has. Whoever replaces what it holds in time is never slow. The connections of an
 * address are looked at only where it may be the one, so the work is at worst one look at each. */
static struct fl_sconn *of_the_greediest(const struct fl_http_server *server, uint32_t own, bool extra)
{
	const struct fl_http_origin *origin;
	struct fl_sconn *best = NULL;
	uint64_t most = 0;
	uint32_t at = 0;

	while ((origin = fl_hmap_next(&server->origins, &at))) {
		struct fl_sconn *conn;

		if (count(origin, extra) <= own || greed(origin, extra) < most)
			continue;
		conn = longest_waiting(origin, extra);
		if (!conn || (best && greed(origin, extra) == most && waits_since(conn) >= waits_since(best)))
			continue;
		best = conn;
		most = greed(origin, extra);
	}
	return best;
}

/* Can it give up an ordinary place? */
static bool has_one_that_waits(const struct fl_http_origin *origin)
{
	for (const struct fl_sconn *conn = origin->conns; conn; conn = conn->next_same)
		if (!conn->extra && waits_since(conn) != FL_NEVER)
			return true;
	return false;
}

/* The ordinary places of an address that has the most, of those that can give one up. */
static uint32_t most_places(const struct fl_http_server *server)
{
	const struct fl_http_origin *origin;
	uint32_t most = 0, at = 0;

	while ((origin = fl_hmap_next(&server->origins, &at)))
		if (count(origin, false) > most && has_one_that_waits(origin))
			most = count(origin, false);
	return most;
}

/* Which ordinary place is to be given up, of all or of one address; NULL: none. */
static struct fl_sconn *victim(const struct fl_http_server *server, const struct fl_http_origin *origin)
{
	uint32_t most = origin ? 0 : most_places(server);
	struct fl_sconn *longest_idle = NULL, *slow = NULL;
	uint64_t now = fl_now(server->io);

	for (struct fl_sconn *conn = first(server, origin); conn; conn = after(conn, origin)) {
		if (conn->extra)
			continue;
		if (idle(conn) && count(conn->origin, false) >= most)
			earlier(&longest_idle, conn);
		else if (!idle(conn) && now >= slow_from(conn) && (!slow || last_sign(conn) < last_sign(slow)))
			slow = conn;
	}
	return longest_idle ? longest_idle : slow;
}

/* The same of those for probes, where none is given time to be slow: a probe and its answer take no time. */
static struct fl_sconn *extra_victim(const struct fl_http_origin *origin)
{
	struct fl_sconn *oldest = NULL;

	for (struct fl_sconn *conn = origin->conns; conn; conn = conn->next_same)
		if (conn->extra && waits_since(conn) != FL_NEVER)
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
	    count(conn->origin, false) >= share(server))
		return conn->extra;
	conn->extra = false;
	server->extra_count--;
	if (conn->origin)
		conn->origin->extra_count--;
	return false;
}

static bool extra_room(struct fl_http_server *server, const struct fl_http_origin *origin)
{
	uint32_t own = count(origin, true);
	bool own_full = own >= FL_HTTP_PROBE_SHARE;
	struct fl_sconn *gone;

	if (!own_full && server->extra_count < max_extra(server))
		return true;
	gone = own_full ? extra_victim(origin) : of_the_greediest(server, own, true);
	if (gone)
		evict(gone);
	return gone != NULL;
}

enum fl_room fl_http_room(struct fl_http_server *server, const struct fl_origin *peer)
{
	const struct fl_http_origin *origin = fl_http_origin_find(server, peer);
	uint32_t own = count(origin, false);
	bool own_full = own >= share(server);
	struct fl_sconn *gone;

	if (!own_full && ordinary(server) < max_conns(server))
		return FL_ROOM;
	gone = victim(server, own_full ? origin : NULL);
	if (!gone && !own_full)
		gone = of_the_greediest(server, own, false);
	if (!gone)
		return extra_room(server, origin) ? FL_ROOM_PROBE : FL_ROOM_NONE;
	evict(gone);
	return FL_ROOM;
}

/* ---- when none is to be taken ---- */

static uint32_t max_handshakes(const struct fl_http_server *server)
{
	return (uint32_t)fl_http_or(server->options.max_handshakes, FL_HTTP_HANDSHAKES_MAX);
}

static bool may_shake(const struct fl_http_server *server, const struct fl_http_origin *origin)
{
	uint32_t share = max_handshakes(server) / 4;

	return server->shaking < max_handshakes(server) && origin->shaking < (share ? share : 1);
}

bool fl_sconn_park(struct fl_sconn *conn, int fd)
{
	if (!conn->origin || may_shake(conn->server, conn->origin))
		return false;
	conn->parked = fd;
	conn->server->parked++;
	conn->origin->parked++;
	fl_timer_set(conn->server->io, &conn->timer, fl_now(conn->server->io) + FL_HTTP_HANDSHAKE_PATIENCE);
	return true;
}

void fl_sconn_unpark(struct fl_sconn *conn)
{
	if (conn->parked < 0)
		return;
	conn->server->parked--;
	conn->origin->parked--;
	conn->parked = -1;
}

static struct fl_sconn *oldest_parked(const struct fl_http_origin *origin)
{
	struct fl_sconn *oldest = NULL;

	for (struct fl_sconn *conn = origin->conns; conn; conn = conn->next_same)
		if (conn->parked >= 0)
			earlier(&oldest, conn);
	return oldest;
}

/* Whose turn it is; NULL: nobody's. */
static struct fl_sconn *next_parked(const struct fl_http_server *server)
{
	const struct fl_http_origin *origin;
	struct fl_sconn *best = NULL;
	uint32_t at = 0;

	while (server->parked && (origin = fl_hmap_next(&server->origins, &at))) {
		struct fl_sconn *oldest;

		if (!origin->parked || !may_shake(server, origin) || (best && origin->begun > best->origin->begun))
			continue;
		oldest = oldest_parked(origin);
		if (!best || origin->begun < best->origin->begun || (oldest && oldest->since < best->since))
			best = oldest;
	}
	return best;
}

void fl_sconn_pace(struct fl_sconn *conn)
{
	conn->begun = conn->paced = true;
	conn->server->shaking++;
	if (conn->origin) {
		conn->origin->shaking++;
		conn->origin->begun++;
	}
	fl_timer_set(conn->server->io, &conn->timer, fl_now(conn->server->io) + FL_HTTP_ROOM_AFTER);
}

void fl_sconn_paced(struct fl_sconn *conn)
{
	struct fl_http_server *server = conn->server;
	struct fl_sconn *next;

	if (!conn->paced)
		return;
	conn->paced = false;
	server->shaking--;
	if (conn->origin)
		conn->origin->shaking--;
	while (!server->draining && (next = next_parked(server))) {
		int fd = next->parked;

		fl_sconn_unpark(next);
		fl_sconn_shake(next, fd);
	}
}

void fl_sconn_shaken(struct fl_sconn *conn)
{
	if (conn->begun && conn->origin)
		conn->origin->begun--;
	conn->begun = false;
	fl_sconn_paced(conn);
}

/* Who comes may have nothing yet, and then takes the place of whoever waits for its peer. */
static bool place_room(const struct fl_http_server *server)
{
	if (ordinary(server) < max_conns(server) || server->extra_count < max_extra(server))
		return true;
	for (struct fl_sconn *conn = server->conns; conn; conn = conn->next)
		if (may_go(conn))
			return true;
	return false;
}

/* A connection has become idle, or busy, or waits for its peer: that counts only at the limit. */
void fl_http_room_changed(struct fl_http_server *server)
{
	if (server->held || ordinary(server) >= max_conns(server))
		fl_http_hold_or_go_on(server);
}

void fl_http_hold_or_go_on(struct fl_http_server *server)
{
	bool hold;

	if (server->draining)
		return;
	hold = !place_room(server);
	if (hold == server->held)
		return;
	server->held = hold;
	for (uint32_t i = 0; i < server->place_count; i++)
		fl_listener_hold(&server->places[i].listener, hold);
}
