/* server.h - the API server on a port: HTTP in front of api.h, on any io.
 *
 * Requests are answered in the turn in which they come. Lists and watches go out in pieces, as the client takes them.
 */
#pragma once
#include "http/server.h"
#include "local/api.h"

/* Bytes that wait for a client that reads slowly: a watch that has more gets the rest from the window of changes. */
#define FL_API_QUEUE_MAX (1 * FL_MIB)
/* What a connection may hold beyond that: the one event that is being added. */
#define FL_API_QUEUE_ROOM (16 * FL_MIB)
/* A bookmark to each watch that takes them, as often as the API server sends one. */
#define FL_API_BOOKMARK (60 * FL_NS_PER_S)

struct fl_api_server;

/* The api is borrowed. `at` may have port 0; *ret_addr (may be NULL) is where it listens. `tls` NULL: plain. */
struct fl_api_server *fl_api_serve(struct fl_io *io, struct fl_api *api, const struct fl_addr *at,
				   struct fl_tls_context *tls, struct fl_addr *ret_addr, struct fl_err *err) FL_MUSTUSE;

/* Ends all requests. NULL-safe, returns NULL. */
struct fl_api_server *fl_api_server_free(struct fl_api_server *server);
FL_DEFINE_AUTO(fl_api_server, struct fl_api_server *, fl_api_server_free);
