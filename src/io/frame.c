#include "io/frame.h"
#include "base/bytes.h"

static const char greeting[] = "fairlead child ";

void fl_frame_write(struct fl_buf *buf, const struct fl_frame *frame)
{
	uint8_t *p;

	if (frame->payload.len > FL_FRAME_MAX) {
		buf->failed = buf->failed ? buf->failed : FL_E_TOOBIG;
		return;
	}
	p = fl_buf_room(buf, FL_FRAME_HEADER + (size_t)frame->payload.len);
	if (!p)
		return;
	fl_bytes_put(p, frame->payload.len, 4);
	fl_bytes_put(p + 4, frame->id, 4);
	fl_bytes_put(p + 8, frame->kind, 2);
	fl_bytes_put(p + 10, frame->type, 1);
	fl_bytes_put(p + 11, 0, 1);
	if (frame->payload.len)
		memcpy(p + FL_FRAME_HEADER, frame->payload.p, frame->payload.len);
	fl_buf_added(buf, FL_FRAME_HEADER + (size_t)frame->payload.len);
}

void fl_frame_write_hello(struct fl_buf *buf)
{
	uint8_t payload[sizeof greeting + 3];

	memcpy(payload, greeting, sizeof greeting - 1);
	fl_bytes_put(payload + sizeof greeting - 1, FL_FRAME_VERSION, 4);
	fl_frame_write(buf, &(struct fl_frame){ .type = FL_FRAME_HELLO,
						.payload = { (const char *)payload, sizeof payload } });
}

int64_t fl_frame_read(struct fl_str bytes, struct fl_frame *ret, struct fl_err *err)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	uint32_t len;

	if (bytes.len < FL_FRAME_HEADER)
		return 0;
	len = (uint32_t)fl_bytes_get(p, 4);
	if (p[10] < FL_FRAME_HELLO || p[10] > FL_FRAME_EVENT || p[11] != 0)
		return fl_fail(err, FL_E_INVALID, "not a frame: type %u; something else writes to this socket", p[10]);
	if (len > FL_FRAME_MAX)
		return fl_fail(err, FL_E_TOOBIG, "a frame of %u bytes; at most %u", len, (unsigned)FL_FRAME_MAX);
	if (bytes.len - FL_FRAME_HEADER < len)
		return 0;
	*ret = (struct fl_frame){ .type = (enum fl_frame_type)p[10], .kind = (uint16_t)(uint32_t)fl_bytes_get(p + 8, 2),
				  .id = (uint32_t)fl_bytes_get(p + 4, 4),
				  .payload = { bytes.p + FL_FRAME_HEADER, len } };
	return FL_FRAME_HEADER + (int64_t)len;
}

int fl_frame_check_hello(const struct fl_frame *frame, struct fl_err *err)
{
	const uint8_t *version = (const uint8_t *)frame->payload.p + sizeof greeting - 1;

	if (frame->type != FL_FRAME_HELLO || frame->payload.len != sizeof greeting + 3 ||
	    memcmp(frame->payload.p, greeting, sizeof greeting - 1) != 0)
		return fl_fail(err, FL_E_INVALID, "sent no hello");
	if ((uint32_t)fl_bytes_get(version, 4) != FL_FRAME_VERSION)
		return fl_fail(err, FL_E_UNSUPPORTED,
			       "speaks version %u, this program speaks %d: the program was replaced; restart it",
			       (uint32_t)fl_bytes_get(version, 4), FL_FRAME_VERSION);
	return 0;
}
