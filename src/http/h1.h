/* h1.h - HTTP/1.1 on the wire: a strict parser and a writer. Bytes in, bytes out; no I/O.
 *
 * fl_h1_next returns the next event in the given bytes and takes only the bytes that belong to it. To pause (a slow
 * consumer, a pipelined request), just do not call it:
 *
 *     while ((event = fl_h1_next(&h1, &in, &err)) > FL_H1_MORE) ...      in.p and in.len move on
 *
 * One message after the other: HEAD (for a response perhaps several with 1xx before), DATA any number of times, END,
 * and the next HEAD. Refused, because two parsers could disagree about them: folded lines, a bare LF, Content-Length
 * beside Transfer-Encoding, either of them twice, Host missing or twice, codings other than chunked, odd chunk sizes,
 * blanks before a colon, control bytes. After a failure, close the connection.
 */
#pragma once
#include "http/head.h"

#define FL_HTTP_UNCONSUMED (64 * FL_KIB)    /* HTTP/1.1: bytes of a streamed body that its handler has not taken */

enum fl_h1_event {
	FL_H1_MORE,   /* all bytes were taken; more are needed */
	FL_H1_HEAD,   /* h1->head */
	FL_H1_DATA,   /* h1->data: some of the body, a piece of the input */
	FL_H1_END,    /* of the message; h1->head.headers are its trailers */
};

enum fl_h1_kind { FL_H1_REQUEST, FL_H1_RESPONSE };

struct fl_h1 {
	/* The last event; valid until the next call. */
	struct fl_http_head head;
	struct fl_str data;
	bool keep_alive;           /* the connection can be used for another message after this one */
	bool expect_continue;      /* the peer waits for "100 Continue" before it sends the body */
	bool has_body;             /* a body follows the head (it may be empty) */
	int64_t content_length;    /* -1: not announced */
	int refusal;               /* after a failure: the status to answer with; 0: none */

	/* The parser's. */
	enum fl_h1_kind kind;
	bool no_body;              /* response: the request was HEAD */
	bool viewed;                /* the last event was a view into `text` */
	uint8_t version;           /* minor: 0 or 1 */
	uint8_t state;
	uint64_t left;             /* bytes left of the body or chunk */
	uint32_t scanned;          /* bytes of `text` already searched for the end */
	struct fl_buf text;        /* head, chunk-size line or trailers */
	struct fl_header *fields;
	uint32_t field_cap;
};

void fl_h1_init(struct fl_h1 *h1, enum fl_h1_kind kind);
void fl_h1_free(struct fl_h1 *h1);
static inline void fl_h1_auto_(struct fl_h1 *h1)
{
	fl_h1_free(h1);
}

/* Before the head of a response: was the request a HEAD? Then the response has no body, whatever its head announces. */
void fl_h1_expect(struct fl_h1 *h1, bool head_request);

/* An event, or -FL_E_INVALID, -FL_E_TOOBIG, -FL_E_UNSUPPORTED, -FL_E_NOMEM with h1->refusal set. */
int fl_h1_next(struct fl_h1 *h1, struct fl_str *in, struct fl_err *err) FL_MUSTUSE;

/* The peer has closed: FL_H1_END where that ends the body, FL_H1_MORE between messages, else -FL_E_CLOSED. */
int fl_h1_eof(struct fl_h1 *h1, struct fl_err *err) FL_MUSTUSE;

/* Is it between two messages, with no byte of the next one? The END of the former may still have to be returned. */
bool fl_h1_idle(const struct fl_h1 *h1);

/* ---- writing; failures stick to the buffer ---- */

#define FL_H1_CHUNKED (-1)
#define FL_H1_NO_LENGTH (-2)   /* no body, or one that the end of the connection ends */

/* Head with framing: content_length >= 0, FL_H1_CHUNKED or FL_H1_NO_LENGTH. These functions write the framing fields,
 * Host and Connection: leave them out of the list. -FL_E_INVALID: a field that cannot be sent. */
int fl_h1_put_request(struct fl_buf *out, const struct fl_http_head *head, int64_t content_length,
		      struct fl_err *err) FL_MUSTUSE;
int fl_h1_put_response(struct fl_buf *out, const struct fl_http_head *head, int64_t content_length, bool close,
		       struct fl_err *err) FL_MUSTUSE;

/* One chunk's frame around `len` bytes: the part before them, then "\r\n" after them; and the last chunk with
 * trailers. */
#define FL_H1_CHUNK_ROOM 20    /* the longest frame of both */
size_t fl_h1_chunk_before(char *into, size_t len);
int fl_h1_put_last_chunk(struct fl_buf *out, struct fl_headers trailers, struct fl_err *err) FL_MUSTUSE;
