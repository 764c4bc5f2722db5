/* frame.h - messages between a program and its child: bytes in, frames out. No I/O.
 *
 *     frame    u32 payload length  u32 id  u16 kind  u8 type  u8 zero | payload        (little-endian)
 *
 * The child speaks first: HELLO, whose payload is the version of this protocol. Then the parent sends REQUESTs, each
 * answered by one REPLY of the same id, and the child may send an EVENT at any time. Kinds of requests and events are
 * the program's own; the kind of a reply is an enum fl_code: FL_OK, or why the request failed, in words in its payload.
 */
#pragma once
#include "base/buf.h"

enum { FL_FRAME_VERSION = 1, FL_FRAME_HEADER = 12 };

enum fl_frame_type { FL_FRAME_HELLO = 1, FL_FRAME_REQUEST, FL_FRAME_REPLY, FL_FRAME_EVENT };

struct fl_frame {
	enum fl_frame_type type;
	uint16_t kind;
	uint32_t id;               /* of the request; 0 in HELLO and EVENT */
	struct fl_str payload;     /* into the bytes that were read */
};

/* At most FL_FRAME_MAX bytes of payload: more sticks to the buffer as FL_E_TOOBIG. */
void fl_frame_write(struct fl_buf *buf, const struct fl_frame *frame);
void fl_frame_write_hello(struct fl_buf *buf);

/* How many bytes the first frame takes; 0: it is not all there yet; negative: the other side does not speak this. */
int64_t fl_frame_read(struct fl_str bytes, struct fl_frame *ret, struct fl_err *err) FL_MUSTUSE;

/* 0, or why this hello is not ours. */
int fl_frame_check_hello(const struct fl_frame *frame, struct fl_err *err) FL_MUSTUSE;
