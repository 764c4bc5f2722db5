#include "grpc/pb.h"
#include "grpc/wire.h"

/* protobuf-c says NULL both for bad bytes and for want of memory; `refused` tells them apart. */
struct reading {
	struct fl_arena *arena;
	bool refused;
};

static void *arena_alloc(void *reading_, size_t size)
{
	struct reading *reading = reading_;
	void *piece = fl_arena_get(reading->arena, size);

	reading->refused |= piece == NULL;
	return piece;
}

static void arena_keeps(void *reading, void *p)
{
	(void)reading;
	(void)p;
}

static int check_text(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, const char *text,
		      struct fl_err *err)
{
	if (fl_str_utf8(fl_str(text)))
		return 0;
	return fl_fail(err, FL_E_INVALID, "%s.%s: text is not UTF-8", message->descriptor->short_name, field->name);
}

static int check_texts(const ProtobufCMessage *message, struct fl_err *err);

static int check_one(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, const void *value,
		     struct fl_err *err)
{
	if (!value)
		return 0;
	return field->type == PROTOBUF_C_TYPE_STRING ? check_text(message, field, value, err) :
						       check_texts(value, err);
}

static int check_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, struct fl_err *err)
{
	const char *at = (const char *)message + field->offset;
	const char *count = (const char *)message + field->quantifier_offset;
	bool in_oneof = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;

	if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
		return 0;
	if (field->label != PROTOBUF_C_LABEL_REPEATED) {
		if (in_oneof && *(const uint32_t *)(const void *)count != field->id)
			return 0;
		return check_one(message, field, *(void *const *)(const void *)at, err);
	}
	for (size_t i = 0; i < *(const size_t *)(const void *)count; i++) {
		int result = check_one(message, field, (*(void **const *)(const void *)at)[i], err);

		if (result < 0)
			return result;
	}
	return 0;
}

/* No message of ours contains itself, so the depth is that of the types. */
static int check_texts(const ProtobufCMessage *message, struct fl_err *err)
{
	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		int result = check_field(message, &message->descriptor->fields[i], err);

		if (result < 0)
			return result;
	}
	return 0;
}

/* protobuf-c keeps fields that it does not know, and would send them on. */
static void forget_unknown(ProtobufCMessage *message)
{
	message->n_unknown_fields = 0;
	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		char *at = (char *)message + field->offset;
		size_t count = 1;

		if (field->type != PROTOBUF_C_TYPE_MESSAGE)
			continue;
		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			count = *(size_t *)(void *)((char *)message + field->quantifier_offset);
			at = *(char **)(void *)at;
		}
		for (size_t k = 0; k < count; k++)
			if (((ProtobufCMessage **)(void *)at)[k])
				forget_unknown(((ProtobufCMessage **)(void *)at)[k]);
	}
}

int fl_pb_read(struct fl_arena *arena, const ProtobufCMessageDescriptor *type, struct fl_str bytes,
	       const ProtobufCMessage **ret, struct fl_err *err)
{
	struct reading reading = { .arena = arena };
	ProtobufCAllocator allocator = { arena_alloc, arena_keeps, &reading };
	ProtobufCMessage *message =
		protobuf_c_message_unpack(type, &allocator, bytes.len, (const uint8_t *)(bytes.len ? bytes.p : ""));
	int result;

	if (!message && reading.refused)
		return fl_fail(err, FL_E_NOMEM, "%s: out of memory", type->short_name);
	if (!message)
		return fl_fail(err, FL_E_INVALID, "the %u bytes are no %s", bytes.len, type->name);
	result = check_texts(message, err);
	if (result < 0)
		return result;
	forget_unknown(message);
	*ret = message;
	return 0;
}

int fl_pb_write(struct fl_buf *out, const ProtobufCMessage *message, struct fl_err *err)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	int result = check_texts(message, err);
	uint8_t *room;

	if (result < 0)
		return result;
	room = size > UINT32_MAX ? NULL : fl_buf_room(out, FL_GRPC_PREFIX + size);
	if (!room) {
		result = fl_buf_check(out, message->descriptor->short_name, err);
		if (result == 0)
			result = fl_fail(err, FL_E_TOOBIG, "%s: over 4 GiB", message->descriptor->short_name);
		return result;
	}
	fl_grpc_prefix((uint32_t)size, room);
	(void)protobuf_c_message_pack(message, room + FL_GRPC_PREFIX);
	fl_buf_added(out, FL_GRPC_PREFIX + size);
	return 0;
}

/* protobuf-c sends what it did not know as a tag and the bytes behind it: a tag, and all the fields from there on. */
int fl_pb_pack(struct fl_arena *arena, const ProtobufCMessage *message, struct fl_pb_fields *ret, struct fl_err *err)
{
	size_t size = protobuf_c_message_get_packed_size(message), at = 0;
	uint8_t *bytes = fl_arena_get(arena, size);
	uint32_t tag = 0;
	int result = check_texts(message, err);

	if (result < 0)
		return result;
	if (!bytes)
		return fl_fail(err, FL_E_NOMEM, "%s: out of memory", message->descriptor->short_name);
	*ret = (struct fl_pb_fields){ 0 };
	if (!size)
		return 0;
	(void)protobuf_c_message_pack(message, bytes);
	do
		tag |= (uint32_t)(bytes[at] & 0x7f) << 7 * at;
	while (bytes[at++] & 0x80);
	ret->all = (ProtobufCMessageUnknownField){ .tag = tag >> 3, .wire_type = tag & 7, .len = size - at,
						   .data = bytes + at };
	return 0;
}

void fl_pb_add(ProtobufCMessage *message, const struct fl_pb_fields *fields)
{
	message->n_unknown_fields = fields->all.tag != 0;   /* no field has the number 0 */
	/* protobuf-c only reads what it sends, and does not say so. */
	message->unknown_fields = (ProtobufCMessageUnknownField *)(uintptr_t)&fields->all;
}
