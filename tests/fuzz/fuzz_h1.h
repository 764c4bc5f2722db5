/* fuzz_h1.h - HTTP/1.1 in one piece and byte by byte: both must tell the same, and what can be read can be written. */
#pragma once
#include "base/units.h"
#include "fuzz.h"
#include "http/h1.h"
#include <stdlib.h>

static inline void must(bool so)
{
	if (!so)
		abort();
}

static inline void tell_head(struct fl_buf *said, const struct fl_http_head *head)
{
	fl_buf_printf(said, "%d %.*s %.*s %.*s", head->status, FL_ARG(head->method), FL_ARG(head->authority),
		      FL_ARG(head->target));
	for (uint32_t i = 0; i < head->headers.len; i++) {
		must(fl_header_valid(&head->headers.at[i]));
		fl_buf_printf(said, " %.*s=%.*s", FL_ARG(head->headers.at[i].name), FL_ARG(head->headers.at[i].value));
	}
}

static inline void feed(enum fl_h1_kind kind, struct fl_str all, uint32_t step, struct fl_buf *said)
{
	FL_AUTO(fl_h1) struct fl_h1 h1;
	struct fl_err err = { 0 };
	int event = 0;

	fl_h1_init(&h1, kind);
	for (uint32_t at = 0; at < all.len && event >= 0; at += step) {
		struct fl_str in = fl_str_sub(all, at, step);

		while ((event = fl_h1_next(&h1, &in, &err)) > FL_H1_MORE) {
			if (event == FL_H1_DATA)
				fl_buf_str(said, h1.data);
			else
				tell_head(said, &h1.head);
			fl_buf_char(said, event == FL_H1_END ? '$' : '.');
			if (event == FL_H1_DATA)
				said->len--;
		}
	}
	if (event >= 0)
		event = fl_h1_eof(&h1, &err);
	fl_buf_printf(said, "!%d %s", event, event < 0 ? err.text : "");
	must(h1.text.cap <= 2 * FL_HTTP_HEAD_MAX);
}

static inline int both(enum fl_h1_kind kind, const uint8_t *data, size_t size)
{
	struct fl_str all = { (const char *)data, (uint32_t)size };
	FL_AUTO(fl_buf) struct fl_buf whole = FL_BUF(64 * FL_MIB);
	FL_AUTO(fl_buf) struct fl_buf bytes = FL_BUF(64 * FL_MIB);

	feed(kind, all, UINT32_MAX, &whole);
	feed(kind, all, 1, &bytes);
	must(fl_str_eq(fl_buf_view(&whole), fl_buf_view(&bytes)));
	return 0;
}
