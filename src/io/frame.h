/* frame.h - messages between a program and its child: bytes in, frames out. No I/O.
 *
 *     frame    u32 payload length  u32 id  u16 kind  u8 type  u8 zero | payload        (little-endian)
 *
 * The child speaks first: HELLO, whose payload is the version of this protocol. Then the parent sends REQUESTs, each
 * answered by one REPLY of the same id, and the child may send an EVENT at any time. The program defines the kinds of
 * requests and events. The kind of a reply is an enum fl_code: FL_OK, or why the request failed; then its payload is
 * the error's text.
 */
#pragma once
#include "base/buf.h"

/* One message between a program and its child: the reply about 16 GPUs with all their processes takes 64 KiB. */
#define FL_FRAME_MAX (256 * FL_KIB)

enum { FL_FRAME_VERSION = 1, FL_FRAME_HEADER = 12 };

enum fl_frame_type { FL_FRAME_HELLO = 1, FL_FRAME_REQUEST, FL_FRAME_REPLY, FL_FRAME_EVENT };

struct fl_frame {
	enum fl_frame_type type;
	uint16_t kind;
	uint32_t id;               /* of the request; 0 in HELLO and EVENT */
	struct fl_str payload;     /* points into the bytes that were read */
};

/* At most FL_FRAME_MAX bytes of payload: more sticks to the buffer as FL_E_TOOBIG. */
void fl_frame_write(struct fl_buf *buf, const struct fl_frame *frame);
void fl_frame_write_hello(struct fl_buf *buf);

/* How many bytes the first frame takes; 0: it is not complete yet; negative: the bytes are not this protocol. */
int64_t fl_frame_read(struct fl_str bytes, struct fl_frame *ret, struct fl_err *err) FL_MUSTUSE;

/* 0, or FL_E_INVALID: no hello, or one of another version. */
int fl_frame_check_hello(const struct fl_frame *frame, struct fl_err *err) FL_MUSTUSE;
