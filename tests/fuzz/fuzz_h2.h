/* fuzz_h2.h - an HTTP/2 session that is fed frames: it may end, and it must not fall. */
#pragma once
#include "fuzz.h"
#include "http/h2.h"
#include <stdlib.h>

#define STREAMS 16

struct party {
	struct fl_h2 *h2;
	struct fl_h2_stream streams[STREAMS];
	uint32_t used, closed, acts;
	uint8_t mood;              /* what the owner does, bit by bit */
};

static inline void must(bool so)
{
	if (!so)
		abort();
}

static inline void on_request(struct fl_h2 *h2, const struct fl_http_head *head, bool end)
{
	struct party *party = fl_h2_arg(h2);
	struct fl_http_head answer = { .status = 200, .headers = FL_HEADERS({ FL_S("a"), FL_S("b") }) };
	struct fl_h2_stream *stream;

	must(head->method.len && head->target.len && head->scheme.p);
	for (uint32_t i = 0; i < head->headers.len; i++)
		must(fl_header_valid(&head->headers.at[i]));
	(void)end;
	if (party->used == STREAMS)
		return;
	stream = &party->streams[party->used++];
	fl_h2_accept(h2, stream);
	if (party->mood & 1)
		(void)(fl_h2_respond(stream, &answer, party->mood & 2, NULL) < 0);
}

static inline void on_head(struct fl_h2_stream *stream, enum fl_h2_block block, const struct fl_http_head *head)
{
	struct party *party = fl_h2_arg(stream->h2);

	must(block == FL_H2_TRAILERS || head->status >= 100);
	if ((party->mood & 4) && block == FL_H2_RESPONSE)
		fl_h2_reset(stream, FL_H2_CANCEL);
}

static inline void on_data(struct fl_h2_stream *stream, struct fl_str bytes)
{
	struct party *party = fl_h2_arg(stream->h2);

	must(stream->unconsumed <= 2 * FL_H2_STREAM_WINDOW);
	if (party->mood & 8)
		fl_h2_consume(stream, bytes.len);
	else if (party->acts++ == 3)
		fl_h2_reset(stream, FL_H2_REFUSED_STREAM);
}

static inline void on_end(struct fl_h2_stream *stream)
{
	must(stream->got_end);
	fl_h2_wake(stream);
}

static inline int64_t on_pull(struct fl_h2_stream *stream, void *room, size_t len, enum fl_h2_end *ret_end)
{
	size_t piece = len < 3 ? len : 3;

	memset(room, 'x', piece);
	*ret_end = FL_H2_END_TRAILERS;
	return fl_h2_trailers(stream, FL_HEADERS({ FL_S("t"), FL_S("u") }), NULL) < 0 ? -1 : (int64_t)piece;
}

static inline void on_closed(struct fl_h2_stream *stream, enum fl_h2_code code, const char *why)
{
	must(!stream->h2 && code < FL_H2_CODE_COUNT_ && why);
	memset(stream, 0xee, sizeof *stream); /* as if it were freed */
}

static const struct fl_h2_user user = { .request = on_request, .head = on_head, .data = on_data, .end = on_end,
					.pull = on_pull, .closed = on_closed };

/* Give it all and take what it says, a piece at a time. */
static inline void give(struct party *party, const uint8_t *data, size_t size, size_t step)
{
	char said[4096];
	int64_t got = 1;

	for (size_t at = 0; at < size && got >= 0; at += step) {
		got = fl_h2_recv(party->h2, data + at, size - at < step ? size - at : step, NULL);
		while (got >= 0 && (got = fl_h2_send(party->h2, said, sizeof said, NULL)) > 0)
			;
	}
	(void)fl_h2_over(party->h2);
}
