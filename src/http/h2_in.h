/* h2_in.h - the inside of an HTTP/2 session, for h2.c, h2_events.c and h2_conn.c. */
#pragma once
#include "http/h2.h"
#include "base/vec.h"
#include "io/io.h"
#include <nghttp2/nghttp2.h>

struct hoarded;

struct fl_h2_block_field {
	nghttp2_rcbuf *name, *value;
};

struct fl_h2 {
	nghttp2_session *ng;
	struct hoarded *hoard;             /* all memory of `ng` */
	const struct fl_h2_user *user;
	void *arg;
	struct fl_h2_stream *streams;      /* open ones, newest first */
	uint32_t open_count;
	uint32_t max_head;
	bool server, lenient;
	bool going;                        /* a GOAWAY was sent or has come */
	bool noticed;                      /* the first GOAWAY was sent */
	bool aborted;                      /* we sent a GOAWAY with an error: the end is a failure */
	bool fatal;                        /* an allocation failed inside a callback: the next call fails */
	bool doomed;                       /* freed from within a callback */
	unsigned inside;                   /* calls of nghttp2 that are running */

	/* The incoming header block: views into nghttp2's shared buffers, held until the callback. */
	FL_VEC(struct fl_header) fields;
	FL_VEC(struct fl_h2_block_field) held;
	size_t block_size;
	bool block_too_big;
	int32_t block_stream;              /* within request(): the stream that can be taken; else 0 */
	bool block_end;

	/* How far the received bytes are in their frames, to count those that bring nothing. */
	uint8_t frame[9];                  /* a frame's head, as much of it as has come */
	uint32_t frame_len;
	size_t rest;                       /* of the preface or of a frame's payload */
	int64_t patience;                  /* so many more may come; < 0: it is a flood */
	uint64_t patient_at;               /* when it last grew with time, monotonic ns */

	const uint8_t *unsent;             /* of a frame that did not fit into the room */
	size_t unsent_len;
	char why[160];                     /* nghttp2's last error text */

	/* h2_conn.c */
	struct fl_conn *conn;
	struct fl_timer ask, cut;          /* keep-alive; the second GOAWAY, then the deadline */
	uint64_t ask_every, ask_within, asked, deadline;
	bool final_goaway;
};

/* h2_conn.c */
void fl_h2_ponged(struct fl_h2 *h2);

/* h2_events.c */
nghttp2_session_callbacks *fl_h2_callbacks(void);   /* NULL: no memory */
ssize_t fl_h2_read_body(nghttp2_session *ng, int32_t id, uint8_t *room, size_t len, uint32_t *flags,
			nghttp2_data_source *source, void *arg);
void fl_h2_drop_block(struct fl_h2 *h2);

/* h2.c */
void fl_h2_bind(struct fl_h2 *h2, struct fl_h2_stream *stream, int32_t id);
void fl_h2_unbind(struct fl_h2_stream *stream);
void fl_h2_touch(struct fl_h2 *h2);                 /* there are bytes to send */
void fl_h2_check(struct fl_h2 *h2, int result);     /* of a call that fails only without memory */
void fl_h2_lose(struct fl_h2 *h2, const struct fl_err *err);   /* close every stream; only free it afterwards */
