/* h2_bytes.h - HTTP/2 frames by hand, for tests that send what no good client would. */
#pragma once
#include "base/buf.h"

#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
/* :method GET, :scheme http, :path /, :authority a */
#define H2_GET "\x82\x86\x84\x41\x01" "a"

enum { H2_DATA, H2_HEADERS, H2_PRIORITY, H2_RST, H2_SETTINGS, H2_PUSH, H2_PING, H2_GOAWAY, H2_WINDOW, H2_CONTINUATION };
enum { H2_END_STREAM = 1, H2_ACK = 1, H2_END_HEADERS = 4 };

static inline void h2_frame(struct fl_buf *out, int type, int flags, uint32_t id, struct fl_str payload)
{
	const uint8_t head[9] = { (uint8_t)(payload.len >> 16), (uint8_t)(payload.len >> 8), (uint8_t)payload.len,
		(uint8_t)type,
				  (uint8_t)flags, (uint8_t)(id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8),
					(uint8_t)id };

	fl_buf_put(out, head, sizeof head);
	fl_buf_str(out, payload);
}

/* The preface and empty SETTINGS. */
static inline void h2_hello(struct fl_buf *out)
{
	fl_buf_str(out, FL_S(H2_PREFACE));
	h2_frame(out, H2_SETTINGS, 0, 0, FL_S(""));
}
