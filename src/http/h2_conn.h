/* h2_conn.h - runs an HTTP/2 session on a connection.
 *
 *     static void accepted(struct fl_listener *listener, int fd, const struct fl_addr *peer)
 *     {
 *             ... my->h2 = fl_h2_new(&config, &err);
 *             fl_conn_start(io, &my->conn, fd);          plain: no TLS
 *             fl_h2_on_conn(my->h2, &my->conn);          SETTINGS are in flight, nothing was read yet
 *     }
 *
 * When the peer, an error or a deadline ends the connection, every open stream gets closed(): REFUSED_STREAM where the
 * peer certainly has not processed it, else INTERNAL_ERROR, with the reason. Then lost() is called, once, last: free
 * both there. To end it without callbacks, call fl_h2_free and fl_conn_close, in this order, from anywhere.
 */
#pragma once
#include "http/conn.h"
#include "http/h2.h"

#define FL_HTTP_GOAWAY_WAIT (1 * FL_NS_PER_S)       /* between the first and the final GOAWAY */

/* The connection is open or opening; this sets its user. The owner frees both. */
void fl_h2_on_conn(struct fl_h2 *h2, struct fl_conn *conn);
struct fl_conn *fl_h2_conn(const struct fl_h2 *h2);

/* Send a PING after `every` ns without a byte from the peer. Without an answer within `within` ns the connection is
 * lost with FL_E_TIMEOUT. For API servers; never for the kubelet, which answers pings with a GOAWAY. */
void fl_h2_keep_alive(struct fl_h2 *h2, uint64_t every, uint64_t within);

/* Graceful end: GOAWAY, open streams finish, then lost() with FL_E_CLOSED. Streams still open at `deadline` are cut. */
void fl_h2_drain(struct fl_h2 *h2, uint64_t deadline);
