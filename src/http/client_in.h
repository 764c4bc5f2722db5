/* client_in.h - the inside of the HTTP client. client.c: calls and the pool; client_conn.c: from a name to an open
 * connection; client_h1.c and client_h2.c: a call on it. */
#pragma once
#include "base/limits.h"
#include "http/client.h"
#include "http/conn.h"
#include "http/h2_conn.h"

struct fl_http_client {
	struct fl_io *io;
	struct fl_http_client_options options;   /* its texts point into `texts` */
	char *texts;
	char *bearer;                  /* "Bearer ...", or NULL */
	struct fl_str authority, base; /* of the url; base without a slash at its end */
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
	struct fl_http_call *calls;    /* those that it carries; HTTP/1.1: at most one */
	struct fl_err err;             /* what the steps below failed of */
	struct fl_lookup lookup;
	struct fl_connect connect;
	uint32_t tried;
	struct fl_conn conn;
	struct fl_h2 *h2;
	struct fl_timer idle;
	bool open;                     /* calls can be put on it */
	bool retired;                  /* no new ones */
	/* HTTP/1.1 */
	struct fl_h1 h1;
	struct fl_buf out;
	size_t out_at;
	bool broken;                   /* the call has gone, its answer has not */
};

/* client.c */
void fl_client_pump(struct fl_http_client *client);        /* waiting calls onto connections; dial where too few */
void fl_client_fail_waiting(struct fl_http_client *client, const struct fl_err *err);
void fl_call_off(struct fl_http_call *call);               /* take it off its connection's list */
void fl_call_head(struct fl_http_call *call, const struct fl_http_head *head);
void fl_call_trailers(struct fl_http_call *call, const struct fl_http_head *head);
void fl_call_data(struct fl_http_call *call, struct fl_str bytes);
void fl_call_end(struct fl_http_call *call);               /* off its connection, told */
/* Off its connection, and sent again or told: `untouched`: surely; `lost`: with the connection, without a word. */
void fl_call_lost(struct fl_http_call *call, bool untouched, bool lost, const struct fl_err *err);
void fl_call_fail(struct fl_http_call *call, enum fl_code code, const char *fmt, ...) FL_PRINTF(3, 4) FL_COLD;
/* The fields to send: the call's, and ours. `room` for FL_HTTP_FIELDS_MAX, `number` for the length's digits. */
int fl_call_fields(struct fl_http_call *call, bool length, struct fl_header *room, char number[static 24],
		   struct fl_headers *ret, struct fl_err *err) FL_MUSTUSE;
bool fl_call_sends_body(const struct fl_http_call *call);   /* it has one, or its method says a length of 0, too */
int64_t fl_call_length(const struct fl_http_call *call);   /* of its body; -1: not known */
int64_t fl_call_pull(struct fl_http_call *call, void *room, size_t len, bool *ret_end);

/* client_conn.c */
void fl_cconn_dial(struct fl_http_client *client);
void fl_cconn_drop(struct fl_cconn *conn);
void fl_cconn_quiet(struct fl_cconn *conn);                /* a call has left: is it of use still? */

/* client_h1.c, client_h2.c: < 0: the call is not on it; -FL_E_AGAIN, -FL_E_CLOSED: try another one */
extern const struct fl_conn_user fl_cconn_h1;
void fl_cconn_h1_start(struct fl_cconn *conn);
int fl_cconn_h1_call(struct fl_cconn *conn, struct fl_http_call *call, struct fl_str target,
		     struct fl_err *err) FL_MUSTUSE;
void fl_cconn_h1_consumed(struct fl_cconn *conn);
int fl_cconn_h2_start(struct fl_cconn *conn, struct fl_err *err) FL_MUSTUSE;
int fl_cconn_h2_call(struct fl_cconn *conn, struct fl_http_call *call, struct fl_str target,
		     struct fl_err *err) FL_MUSTUSE;
