/* One peer address's share of the server's places: a record shared by its connections, kept while there are any. A peer
 * without a known address has no record and no share. */
#include "http/server_in.h"

static struct fl_str key(const struct fl_origin *origin)
{
	_Static_assert(sizeof *origin == sizeof origin->kind + sizeof origin->scope + sizeof origin->net,
		       "all bytes of it are compared");
	return (struct fl_str){ (const char *)origin, sizeof *origin };
}

static struct fl_str key_of(const void *object)
{
	const struct fl_http_origin *origin = object;

	return key(&origin->origin);
}

int fl_http_origins_init(struct fl_http_server *server, struct fl_err *err)
{
	uint64_t seed[2];

	if (fl_random(server->io, seed, sizeof seed, err) < 0)
		return err ? -(int)err->code : -FL_E_IO;
	fl_hmap_init(&server->origins, key_of, seed);
	return 0;
}

struct fl_http_origin *fl_http_origin_find(const struct fl_http_server *server, const struct fl_origin *origin)
{
	return fl_hmap_get(&server->origins, key(origin));
}

int fl_http_origin_join(struct fl_sconn *conn, const struct fl_origin *peer)
{
	struct fl_http_server *server = conn->server;
	struct fl_http_origin *origin = fl_http_origin_find(server, peer);

	if (!fl_origin_eq(peer, peer))
		return 0;
	if (!origin) {
		origin = fl_zalloc(sizeof *origin);
		if (!origin)
			return -FL_E_NOMEM;
		origin->origin = *peer;
		if (fl_hmap_put(&server->origins, origin, NULL) < 0) {
			fl_free(origin);
			return -FL_E_NOMEM;
		}
	}
	conn->origin = origin;
	conn->next_same = origin->conns;
	conn->from_same = &origin->conns;
	if (conn->next_same)
		conn->next_same->from_same = &conn->next_same;
	origin->conns = conn;
	origin->conn_count++;
	origin->extra_count += conn->extra;
	return 0;
}

void fl_http_origin_leave(struct fl_sconn *conn)
{
	struct fl_http_origin *origin = conn->origin;

	if (!origin)
		return;
	*conn->from_same = conn->next_same;
	if (conn->next_same)
		conn->next_same->from_same = conn->from_same;
	origin->conn_count--;
	origin->extra_count -= conn->extra;
	conn->origin = NULL;
	if (origin->conn_count)
		return;
	(void)fl_hmap_del(&conn->server->origins, key(&origin->origin));
	fl_free(origin);
}
