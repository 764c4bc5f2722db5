/* h2_conn.h - an HTTP/2 session on a connection: what comes is fed in, what is to be sent goes out.
 *
 *     static void accepted(struct fl_listener *listener, int fd, const struct fl_addr *peer)
 *     {
 *             ... my->h2 = fl_h2_new(&config, &err);
 *             fl_conn_start(io, &my->conn, fd);          plain: no TLS
 *             fl_h2_on_conn(my->h2, &my->conn);          SETTINGS are on their way, nothing was read yet
 *     }
 *
 * When the connection is over, by the peer, an error or a deadline, first every open stream is told closed()
 * (REFUSED_STREAM where the peer surely has not acted on it, else INTERNAL_ERROR, with words), then lost() once, last:
 * there free both. The owner may also end it without being told: fl_h2_free and fl_conn_close, in this order, from
 * anywhere.
 */
#pragma once
#include "http/conn.h"
#include "http/h2.h"

/* The connection is open already, or about to be; its user is set here. Both belong to the owner. */
void fl_h2_on_conn(struct fl_h2 *h2, struct fl_conn *conn);
struct fl_conn *fl_h2_conn(const struct fl_h2 *h2);

/* Ask after a silent peer: after `every` ns without a byte from it a PING; without an answer within `within` ns the
 * connection is lost with FL_E_TIMEOUT. For API servers; never for the kubelet, which answers pings with a GOAWAY. */
void fl_h2_keep_alive(struct fl_h2 *h2, uint64_t every, uint64_t within);

/* Graceful end: GOAWAY, open streams finish, then lost() with FL_E_CLOSED; all that is left is cut at `deadline`. */
void fl_h2_drain(struct fl_h2 *h2, uint64_t deadline);
