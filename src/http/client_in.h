/* client_in.h - the inside of the HTTP client. client.c: calls and the connection pool; client_conn.c: opening a
 * connection; client_h1.c and client_h2.c: a call on it. */
#pragma once
#include "http/client.h"
#include "http/conn.h"
#include "http/h2_conn.h"

struct fl_http_client {
	struct fl_io *io;
	struct fl_http_client_options options;   /* its texts point into `texts` */
	char *texts;
	char *bearer;                  /* "Bearer ...", or NULL */
	struct fl_str authority, base; /* of the url; base without a trailing slash */
	char host[FL_HOST_MAX + 1];
	uint16_t port;
	bool secure;
	struct fl_addr addr;           /* of a unix socket */
	struct fl_tls_context *tls;
	struct fl_http_call *waiting, **waiting_end;
	struct fl_cconn *conns;
	uint32_t conn_count, dialing, opened;
	uint64_t batch;                /* see fl_conn_batch */
	bool knows_h1;                 /* the last connection spoke HTTP/1.1: each call needs one of its own */
};

struct fl_cconn {
	struct fl_http_client *client;
	struct fl_cconn *next, **from;
	struct fl_http_call *calls;    /* its calls; HTTP/1.1: at most one */
	struct fl_err err;             /* why one of the steps below failed */
	struct fl_lookup lookup;
	struct fl_connect connect;
	uint32_t tried;
	struct fl_conn conn;
	struct fl_h2 *h2;
	struct fl_timer idle;
	bool open;                     /* it can carry calls */
	bool retired;                  /* it gets no new calls */
	/* HTTP/1.1 */
	struct fl_h1 h1;
	struct fl_buf out;
	size_t out_at;
	bool broken;                   /* the call was cancelled, its answer still comes */
};

/* client.c */
void fl_client_pump(struct fl_http_client *client);        /* assign waiting calls; dial if needed */
void fl_client_fail_waiting(struct fl_http_client *client, const struct fl_err *err);
void fl_call_off(struct fl_http_call *call);               /* take it off its connection's list */
void fl_call_head(struct fl_http_call *call, const struct fl_http_head *head);
void fl_call_trailers(struct fl_http_call *call, const struct fl_http_head *head);
void fl_call_data(struct fl_http_call *call, struct fl_str bytes);
void fl_call_end(struct fl_http_call *call);               /* take it off its connection and end it */
/* Take it off its connection, then repeat or fail it. `untouched`: the server certainly has not processed it; `lost`:
 * the connection was lost without an answer. */
void fl_call_lost(struct fl_http_call *call, bool untouched, bool lost, const struct fl_err *err);
void fl_call_fail(struct fl_http_call *call, enum fl_code code, const char *fmt, ...) FL_PRINTF(3, 4) FL_COLD;
/* The fields to send: the call's and the client's. `room` holds FL_HTTP_FIELDS_MAX, `number` the length's digits. */
int fl_call_fields(struct fl_http_call *call, bool length, struct fl_header *room, char number[static 24],
		   struct fl_headers *ret, struct fl_err *err) FL_MUSTUSE;
bool fl_call_sends_body(const struct fl_http_call *call);   /* it has one, or its method needs a length of 0 */
int64_t fl_call_length(const struct fl_http_call *call);   /* of its body; -1: unknown */
int64_t fl_call_pull(struct fl_http_call *call, void *room, size_t len, bool *ret_end);

/* client_conn.c */
void fl_cconn_dial(struct fl_http_client *client);
void fl_cconn_drop(struct fl_cconn *conn);
void fl_cconn_quiet(struct fl_cconn *conn);                /* a call has ended: keep it or close it */

/* client_h1.c, client_h2.c. < 0: the call is not on the connection; -FL_E_AGAIN, -FL_E_CLOSED: try another one */
extern const struct fl_conn_user fl_cconn_h1;
void fl_cconn_h1_start(struct fl_cconn *conn);
int fl_cconn_h1_call(struct fl_cconn *conn, struct fl_http_call *call, struct fl_str target,
		     struct fl_err *err) FL_MUSTUSE;
void fl_cconn_h1_consumed(struct fl_cconn *conn);
int fl_cconn_h2_start(struct fl_cconn *conn, struct fl_err *err) FL_MUSTUSE;
int fl_cconn_h2_call(struct fl_cconn *conn, struct fl_http_call *call, struct fl_str target,
		     struct fl_err *err) FL_MUSTUSE;
