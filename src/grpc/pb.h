/* pb.h - protobuf-c messages with our memory and our errors. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include <protobuf-c/protobuf-c.h>

/* Read a message into an arena: it lives as long as the arena and is not freed separately. Unknown fields are skipped.
 * -FL_E_INVALID when the bytes are not such a message, or a text in them is not UTF-8; -FL_E_NOMEM. */
int fl_pb_read(struct fl_arena *arena, const ProtobufCMessageDescriptor *type, struct fl_str bytes,
	       const ProtobufCMessage **ret, struct fl_err *err) FL_MUSTUSE;

/* Append a message as gRPC sends it, prefix first. -FL_E_INVALID, with nothing appended, when a text in it is not
 * UTF-8: grpc-go would refuse the whole message. Other failures stick to the buffer. */
int fl_pb_write(struct fl_buf *out, const ProtobufCMessage *message, struct fl_err *err) FL_MUSTUSE;

/* Fields that many messages of one type have in common: packed once, and sent after a message's own. */
struct fl_pb_fields {
	ProtobufCMessageUnknownField all;
};

/* Those of `message`; they live as long as the arena. -FL_E_INVALID when a text is not UTF-8; -FL_E_NOMEM. */
int fl_pb_pack(struct fl_arena *arena, const ProtobufCMessage *message, struct fl_pb_fields *ret,
	       struct fl_err *err) FL_MUSTUSE;
void fl_pb_add(ProtobufCMessage *message, const struct fl_pb_fields *fields);   /* borrowed until it is written */
