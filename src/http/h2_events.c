/* What nghttp2 calls. Failures that nghttp2 has no code for stay in the session until the call returns. */
#include "base/units.h"
#include "http/chars.h"
#include "http/h2_in.h"
#include <stdio.h>

static struct fl_h2_stream *find_stream(struct fl_h2 *h2, int32_t id)
{
	return h2->doomed ? NULL : nghttp2_session_get_stream_user_data(h2->ng, id);
}

static void reset_unknown(struct fl_h2 *h2, int32_t id, enum fl_h2_code code)
{
	fl_h2_check(h2, nghttp2_submit_rst_stream(h2->ng, NGHTTP2_FLAG_NONE, id, (uint32_t)code));
}

/* ---- header blocks ---- */

void fl_h2_drop_block(struct fl_h2 *h2)
{
	fl_vec_each (field, &h2->held) {
		nghttp2_rcbuf_decref(field->name);
		nghttp2_rcbuf_decref(field->value);
	}
	h2->held.len = h2->fields.len = 0;
	h2->block_size = 0;
	h2->block_too_big = false;
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
	(void)ng;
	(void)frame;
	fl_h2_drop_block(arg);
	return 0;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, nghttp2_rcbuf *name, nghttp2_rcbuf *value,
		     uint8_t flags, void *arg)
{
	nghttp2_vec n = nghttp2_rcbuf_get_buf(name), v = nghttp2_rcbuf_get_buf(value);
	struct fl_h2 *h2 = arg;

	(void)ng;
	(void)frame;
	(void)flags;
	h2->block_size += n.len + v.len + 32;
	if (h2->block_size > h2->max_head || h2->fields.len == FL_HTTP_FIELDS_MAX)
		h2->block_too_big = true;
	if (h2->block_too_big || h2->doomed)
		return 0;
	if (fl_vec_reserve(&h2->fields, 1) < 0 || fl_vec_reserve(&h2->held, 1) < 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	nghttp2_rcbuf_incref(name);
	nghttp2_rcbuf_incref(value);
	h2->held.at[h2->held.len++] = (struct fl_h2_block_field){ name, value };
	h2->fields.at[h2->fields.len++] = (struct fl_header){ { (const char *)n.base, (uint32_t)n.len },
							      { (const char *)v.base, (uint32_t)v.len } };
	return 0;
}

static int on_invalid_header(nghttp2_session *ng, const nghttp2_frame *frame, nghttp2_rcbuf *name, nghttp2_rcbuf *value,
			     uint8_t flags, void *arg)
{
	(void)ng;
	(void)name;
	(void)value;
	(void)flags;
	reset_unknown(arg, frame->hd.stream_id, FL_H2_PROTOCOL_ERROR);
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static bool set_once(struct fl_str *into, struct fl_str value)
{
	if (into->p)
		return false;
	*into = (struct fl_str){ value.p ? value.p : "", value.len };
	return true;
}

static bool take_pseudo(const struct fl_header *field, struct fl_http_head *head)
{
	int64_t status;

	if (fl_str_eq(field->name, FL_S(":method")))
		return set_once(&head->method, field->value);
	if (fl_str_eq(field->name, FL_S(":scheme")))
		return set_once(&head->scheme, field->value);
	if (fl_str_eq(field->name, FL_S(":authority")))
		return set_once(&head->authority, field->value);
	if (fl_str_eq(field->name, FL_S(":path")))
		return set_once(&head->target, field->value);
	if (!fl_str_eq(field->name, FL_S(":status")) || head->status || field->value.len != 3 ||
	    !fl_str_i64(field->value, &status) || status < 100 || status > 599)
		return false;
	head->status = (int)status;
	return true;
}

static const struct fl_str of_a_connection[] = {
	FL_S_INIT("connection"), FL_S_INIT("keep-alive"), FL_S_INIT("proxy-connection"), FL_S_INIT("transfer-encoding"),
	FL_S_INIT("upgrade"),
};

static bool field_allowed(const struct fl_header *field)
{
	for (size_t i = 0; i < FL_LEN(of_a_connection); i++)
		if (fl_str_eq(field->name, of_a_connection[i]))
			return false;
	if (fl_str_eq(field->name, FL_S("te")) && !fl_str_eq(field->value, FL_S("trailers")))
		return false;
	return fl_header_valid(field);
}

/* Make a head of the header block; false: malformed. It repeats nghttp2's checks, because no_http_messaging turns those
 * off, and because checking a list of pseudo-fields costs nothing. */
static bool make_head(struct fl_h2 *h2, struct fl_http_head *head)
{
	uint32_t pseudo = 0;

	*head = (struct fl_http_head){ 0 };
	while (pseudo < h2->fields.len && h2->fields.at[pseudo].name.len && h2->fields.at[pseudo].name.p[0] == ':')
		if (!take_pseudo(&h2->fields.at[pseudo++], head))
			return false;
	if (pseudo < h2->fields.len)
		head->headers = (struct fl_headers){ h2->fields.at + pseudo, h2->fields.len - pseudo };
	for (uint32_t i = 0; i < head->headers.len; i++)
		if (!field_allowed(&head->headers.at[i]))
			return false;
	return true;
}

static bool request_head(struct fl_h2 *h2, struct fl_http_head *head)
{
	if (!make_head(h2, head) || head->status || !fl_http_all(head->method, FL_CH_TOKEN) ||
	    !fl_http_all(head->target, FL_CH_TARGET))
		return false;
	if (!fl_str_starts(head->target, FL_S("/")) && !fl_str_eq(head->target, FL_S("*")))
		return false;
	if (!head->authority.p)
		head->authority = fl_headers_get(head->headers, FL_S("host"));
	return head->scheme.p != NULL;
}

/* The head of a request was too long: answer with that only. */
static void answer_too_big(struct fl_h2 *h2, int32_t id)
{
	nghttp2_nv nv = { (uint8_t *)(uintptr_t)":status", (uint8_t *)(uintptr_t)"431", 7, 3, NGHTTP2_NV_FLAG_NONE };

	fl_h2_check(h2, nghttp2_submit_response(h2->ng, id, &nv, 1, NULL));
}

static void told_request(struct fl_h2 *h2, int32_t id, bool end)
{
	struct fl_http_head head;

	if (h2->block_too_big) {
		answer_too_big(h2, id);
		return;
	}
	if (!request_head(h2, &head)) {
		reset_unknown(h2, id, FL_H2_PROTOCOL_ERROR);
		return;
	}
	h2->block_stream = id;
	h2->block_end = end;
	h2->user->request(h2, &head, end);
	if (h2->block_stream)
		reset_unknown(h2, id, FL_H2_REFUSED_STREAM);
	h2->block_stream = 0;
}

static void lose_stream(struct fl_h2_stream *stream, enum fl_h2_code code, const char *why)
{
	const struct fl_h2_user *user = stream->h2->user;

	fl_h2_reset(stream, code);
	user->closed(stream, code, why);
}

static void told_head(struct fl_h2 *h2, struct fl_h2_stream *stream, bool end)
{
	enum fl_h2_block block = FL_H2_TRAILERS;
	struct fl_http_head head;
	bool good = !h2->block_too_big && make_head(h2, &head) && !head.method.p && !head.scheme.p &&
		    !head.authority.p &&
		    !head.target.p;

	stream->reached = true;
	if (h2->block_too_big) {
		lose_stream(stream, FL_H2_INTERNAL_ERROR, "a head over the size limit");
		return;
	}
	if (good && !stream->got_head)
		block = head.status >= 200 ? FL_H2_RESPONSE : FL_H2_INFORMATIONAL;
	/* An informational head never ends a stream, trailers always do. */
	if (good && block == FL_H2_INFORMATIONAL)
		good = head.status >= 100 && head.status != 101 && !end;
	if (good && block == FL_H2_TRAILERS)
		good = head.status == 0 && end;
	if (!good) {
		lose_stream(stream, FL_H2_PROTOCOL_ERROR, "a malformed head");
		return;
	}
	stream->got_head = block != FL_H2_INFORMATIONAL;
	h2->user->head(stream, block, &head);
}

static void told_end(struct fl_h2 *h2, int32_t id)
{
	struct fl_h2_stream *stream = find_stream(h2, id);

	if (!stream || stream->got_end)
		return;
	stream->got_end = true;
	h2->user->end(stream);
}

static void on_headers(struct fl_h2 *h2, const nghttp2_frame *frame)
{
	bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	int32_t id = frame->hd.stream_id;
	struct fl_h2_stream *stream = find_stream(h2, id);

	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		told_request(h2, id, end);
	else if (stream)
		told_head(h2, stream, end);
	if (end && frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		told_end(h2, id);
	if (!h2->doomed)
		fl_h2_drop_block(h2);
}

/* ---- frames ---- */

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
	struct fl_h2 *h2 = arg;

	(void)ng;
	if (h2->doomed)
		return 0;
	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		on_headers(h2, frame);
		break;
	case NGHTTP2_DATA:
		if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
			told_end(h2, frame->hd.stream_id);
		break;
	case NGHTTP2_SETTINGS:
		if (!(frame->hd.flags & NGHTTP2_FLAG_ACK) && h2->user->settings)
			h2->user->settings(h2);
		break;
	case NGHTTP2_PING:
		if (frame->hd.flags & NGHTTP2_FLAG_ACK)
			fl_h2_ponged(h2);
		break;
	case NGHTTP2_GOAWAY:
		h2->going = true;
		if (frame->goaway.error_code)
			(void)snprintf(h2->why, sizeof h2->why, "the peer sent GOAWAY, %s: '%.*s'",
				       fl_name(&fl_h2_code_names, (int)frame->goaway.error_code),
				       (int)(frame->goaway.opaque_data_len < 80 ? frame->goaway.opaque_data_len : 80),
				       frame->goaway.opaque_data_len ? (const char *)frame->goaway.opaque_data : "");
		if (h2->user->goaway)
			h2->user->goaway(h2, frame->goaway.last_stream_id, (enum fl_h2_code)frame->goaway.error_code);
		break;
	}
	return 0;
}

static int on_data_chunk(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *bytes, size_t len, void *arg)
{
	struct fl_h2 *h2 = arg;
	struct fl_h2_stream *stream = find_stream(h2, id);

	(void)flags;
	fl_h2_check(h2, nghttp2_session_consume_connection(ng, len));
	if (!stream)
		return 0;
	stream->reached = true;
	stream->unconsumed += (uint32_t)len;
	h2->user->data(stream, (struct fl_str){ (const char *)bytes, (uint32_t)len });
	return 0;
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t error, void *arg)
{
	struct fl_h2 *h2 = arg;
	struct fl_h2_stream *stream = find_stream(h2, id);
	enum fl_h2_code code = error < FL_H2_CODE_COUNT_ ? (enum fl_h2_code)error : FL_H2_INTERNAL_ERROR;

	if (!stream)
		return 0;
	(void)nghttp2_session_set_stream_user_data(ng, id, NULL);
	fl_h2_unbind(stream);
	h2->user->closed(stream, code, "");
	return 0;
}

static int on_frame_send(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
	bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
	struct fl_h2 *h2 = arg;
	struct fl_h2_stream *stream = carries ? find_stream(h2, frame->hd.stream_id) : NULL;

	(void)ng;
	if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
		h2->aborted = true;
	if (carries && h2->server && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
	    !nghttp2_session_get_stream_remote_close(h2->ng, frame->hd.stream_id))
		reset_unknown(h2, frame->hd.stream_id, FL_H2_NO_ERROR);
	if (carries)   /* the peer may open its windows again, in small steps */
		h2->patience += 2 + (int64_t)(frame->hd.length / FL_KIB);
	if (stream) {
		stream->sent_head = true;
		stream->sent_end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	}
	return 0;
}

static int on_error(nghttp2_session *ng, int code, const char *text, size_t len, void *arg)
{
	struct fl_h2 *h2 = arg;

	(void)ng;
	(void)code;
	(void)snprintf(h2->why, sizeof h2->why, "%.*s", (int)(len < sizeof h2->why ? len : sizeof h2->why), text);
	return 0;
}

ssize_t fl_h2_read_body(nghttp2_session *ng, int32_t id, uint8_t *room, size_t len, uint32_t *flags,
			nghttp2_data_source *source, void *arg)
{
	struct fl_h2 *h2 = arg;
	struct fl_h2_stream *stream = find_stream(h2, id);
	enum fl_h2_end end = FL_H2_MORE;
	int64_t got;

	(void)ng;
	(void)source;
	if (!stream)
		return NGHTTP2_ERR_DEFERRED; /* it was reset, and the RST_STREAM is in flight */
	got = h2->user->pull(stream, room, len, &end);
	if (find_stream(h2, id) != stream)
		return NGHTTP2_ERR_DEFERRED;
	if (got < 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (got == 0 && end == FL_H2_MORE)
		return NGHTTP2_ERR_DEFERRED;
	if (end != FL_H2_MORE)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (end == FL_H2_END_TRAILERS)
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	return (ssize_t)got;
}

nghttp2_session_callbacks *fl_h2_callbacks(void)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		return NULL;
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback2(callbacks, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback2(callbacks, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	nghttp2_session_callbacks_set_error_callback2(callbacks, on_error);
	return callbacks;
}
