/* The session's calls; h2_events.c has what nghttp2 calls. Only these two files use nghttp2's calls with ssize_t, which
 * newer versions rename. */
#include "base/chain.h"
#include "http/chars.h"
#include "http/conn.h"
#include "http/h2_in.h"
#include <stdio.h>

FL_NAMES(fl_h2_code_names, FL_H2_CODE_COUNT_, [FL_H2_NO_ERROR] = "NO_ERROR", [FL_H2_PROTOCOL_ERROR] = "PROTOCOL_ERROR",
	 [FL_H2_INTERNAL_ERROR] = "INTERNAL_ERROR", [FL_H2_FLOW_CONTROL_ERROR] = "FLOW_CONTROL_ERROR",
	 [FL_H2_SETTINGS_TIMEOUT] = "SETTINGS_TIMEOUT", [FL_H2_STREAM_CLOSED] = "STREAM_CLOSED",
	 [FL_H2_FRAME_SIZE_ERROR] = "FRAME_SIZE_ERROR", [FL_H2_REFUSED_STREAM] = "REFUSED_STREAM",
	 [FL_H2_CANCEL] = "CANCEL", [FL_H2_COMPRESSION_ERROR] = "COMPRESSION_ERROR",
	 [FL_H2_CONNECT_ERROR] = "CONNECT_ERROR",
	 [FL_H2_ENHANCE_YOUR_CALM] = "ENHANCE_YOUR_CALM", [FL_H2_INADEQUATE_SECURITY] = "INADEQUATE_SECURITY",
	 [FL_H2_HTTP_1_1_REQUIRED] = "HTTP_1_1_REQUIRED");

/* ---- memory ---- */

/* All blocks of a session are freed together, without nghttp2: version 1.52 frees some items twice or never after a
 * failed allocation (for one, when its priority queue grows under a stream's item). */
struct hoarded {
	struct hoarded *next, **from;
	_Alignas(max_align_t) char bytes[];
};

static void *hoard(struct fl_h2 *h2, struct hoarded *block)
{
	if (!block)
		return NULL;
	fl_chain_add(&h2->hoard, block);
	return block->bytes;
}

static struct hoarded *unhoard(void *p)
{
	struct hoarded *block = fl_container(p, struct hoarded, bytes);

	fl_chain_take(block);
	return block;
}

static void *ng_malloc(size_t size, void *h2)
{
	return hoard(h2, fl_alloc(size + sizeof(struct hoarded)));
}

static void ng_free(void *p, void *h2)
{
	(void)h2;
	if (p)
		fl_free(unhoard(p));
}

static void *ng_calloc(size_t count, size_t size, void *h2)
{
	size_t total;

	return __builtin_mul_overflow(count, size, &total) ? NULL :
		hoard(h2, fl_zalloc(total + sizeof(struct hoarded)));
}

static void *ng_realloc(void *p, size_t size, void *h2)
{
	struct hoarded *block = p ? unhoard(p) : NULL;
	struct hoarded *moved = fl_realloc(block, size + sizeof(struct hoarded));

	if (!moved && block)
		(void)hoard(h2, block);
	return hoard(h2, moved);
}

/* ---- streams ---- */

void fl_h2_bind(struct fl_h2 *h2, struct fl_h2_stream *stream, int32_t id)
{
	*stream = (struct fl_h2_stream){ .h2 = h2, .id = id };
	fl_chain_add(&h2->streams, stream);
	h2->open_count++;
}

void fl_h2_unbind(struct fl_h2_stream *stream)
{
	if (!stream->from)
		return;
	fl_chain_take(stream);
	stream->h2->open_count--;
	stream->h2 = NULL;
}

void fl_h2_touch(struct fl_h2 *h2)
{
	if (h2->conn)
		fl_conn_wake(h2->conn);
	else if (!h2->inside && h2->user->wake)
		h2->user->wake(h2);
}

void fl_h2_check(struct fl_h2 *h2, int result)
{
	if (result != 0 && nghttp2_is_fatal(result))
		h2->fatal = true;
}

/* ---- the session ---- */

static int open_session(struct fl_h2 *h2, const struct fl_h2_config *config, nghttp2_session_callbacks *callbacks,
			nghttp2_option *option)
{
	nghttp2_mem mem = { h2, ng_malloc, ng_free, ng_calloc, ng_realloc };

	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_no_http_messaging(option, config->no_http_messaging);
	nghttp2_option_set_no_closed_streams(option, 1);
	nghttp2_option_set_max_outbound_ack(option, FL_H2_QUEUE_MAX);
	nghttp2_option_set_stream_reset_rate_limit(option, FL_H2_RESETS_BURST, FL_H2_RESETS_RATE);
	nghttp2_option_set_max_continuations(option, FL_H2_CONTINUATIONS);
	return config->server ? nghttp2_session_server_new3(&h2->ng, callbacks, h2, option, &mem) :
				nghttp2_session_client_new3(&h2->ng, callbacks, h2, option, &mem);
}

static int say_settings(struct fl_h2 *h2, const struct fl_h2_config *config)
{
	nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, config->stream_window ? config->stream_window :
			FL_H2_STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, h2->max_head },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
		{ config->server ? NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS : NGHTTP2_SETTINGS_ENABLE_PUSH,
		  !config->server ? 0 : config->max_streams ? config->max_streams : FL_H2_STREAMS },
	};
	int32_t window = (int32_t)(config->conn_window ? config->conn_window : FL_H2_CONN_WINDOW);
	int result = nghttp2_submit_settings(h2->ng, NGHTTP2_FLAG_NONE, settings, FL_LEN(settings));

	return result ? result : nghttp2_session_set_local_window_size(h2->ng, NGHTTP2_FLAG_NONE, 0, window);
}

struct fl_h2 *fl_h2_new(const struct fl_h2_config *config, struct fl_err *err)
{
	FL_AUTO(fl_h2) struct fl_h2 *h2 = fl_zalloc(sizeof *h2);
	nghttp2_session_callbacks *callbacks = fl_h2_callbacks();
	nghttp2_option *option = NULL;
	int result = NGHTTP2_ERR_NOMEM;

	if (h2 && callbacks && nghttp2_option_new(&option) == 0) {
		h2->user = config->user;
		h2->arg = config->arg;
		h2->server = config->server;
		h2->lenient = config->no_http_messaging;
		h2->max_head = config->max_head ? config->max_head : (uint32_t)FL_HTTP_HEAD_MAX;
		h2->rest = config->server ? NGHTTP2_CLIENT_MAGIC_LEN : 0;
		h2->patience = FL_H2_IDLE_BURST;
		result = open_session(h2, config, callbacks, option);
		if (result == 0)
			result = say_settings(h2, config);
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	if (result == 0)
		return fl_steal(&h2);
	fl_fail(err, FL_E_NOMEM, "no memory for an HTTP/2 connection");
	return NULL;
}

static void release(struct fl_h2 *h2)
{
	fl_h2_drop_block(h2);
	fl_vec_free(&h2->fields);
	fl_vec_free(&h2->held);
	while (h2->hoard)
		fl_free(unhoard(h2->hoard->bytes));
	fl_free(h2);
}

struct fl_h2 *fl_h2_free(struct fl_h2 *h2)
{
	if (!h2)
		return NULL;
	while (h2->streams) {
		if (h2->ng)
			(void)nghttp2_session_set_stream_user_data(h2->ng, h2->streams->id, NULL);
		fl_h2_unbind(h2->streams);
	}
	if (h2->conn) {
		fl_timer_stop(h2->conn->io, &h2->ask);
		fl_timer_stop(h2->conn->io, &h2->cut);
		h2->conn = NULL;
	}
	h2->doomed = true;
	if (!h2->inside)
		release(h2);
	return NULL;
}

void *fl_h2_arg(const struct fl_h2 *h2)
{
	return h2->arg;
}

void fl_h2_lose(struct fl_h2 *h2, const struct fl_err *err)
{
	h2->inside++;
	h2->going = true;
	while (h2->streams) {
		struct fl_h2_stream *stream = h2->streams;
		enum fl_h2_code code = stream->sent_head || h2->server ? FL_H2_INTERNAL_ERROR : FL_H2_REFUSED_STREAM;

		(void)nghttp2_session_set_stream_user_data(h2->ng, stream->id, NULL);
		fl_h2_unbind(stream);
		h2->user->closed(stream, code, err->text);
	}
	h2->inside--;
	if (h2->doomed && !h2->inside)
		release(h2);
}

/* ---- bytes ---- */

static int leave(struct fl_h2 *h2, struct fl_err *err)
{
	h2->inside--;
	if (!h2->doomed)
		return 0;
	if (!h2->inside)
		release(h2);
	return fl_fail(err, FL_E_CLOSED, "the connection was ended");
}

static int failed(struct fl_h2 *h2, int result, struct fl_err *err)
{
	if (result == NGHTTP2_ERR_NOMEM || h2->fatal)
		return fl_fail(err, FL_E_NOMEM, "no memory for an HTTP/2 connection");
	if (result == NGHTTP2_ERR_BAD_CLIENT_MAGIC)
		return fl_fail(err, FL_E_INVALID, "this is not HTTP/2");
	if (result == NGHTTP2_ERR_FLOODED)
		return fl_fail(err, FL_E_INVALID, "the peer sends a flood of frames");
	return fl_fail(err, FL_E_INVALID, "HTTP/2: %s", h2->why[0] ? h2->why : nghttp2_strerror(result));
}

/* Frames cost a peer nothing and us a moment each: so many of them go to nghttp2 at once, and then a flood is cut. */
enum { FRAMES_AT_ONCE = 50 };

/* The bytes that go to nghttp2 together. All frames but DATA with a payload count; a request earns its own again. */
static size_t next_frames(struct fl_h2 *h2, const uint8_t *bytes, size_t len)
{
	size_t at = 0;

	for (int frames = 0; at < len && frames < FRAMES_AT_ONCE;) {
		size_t piece = h2->rest < len - at ? h2->rest : len - at;

		at += piece;
		h2->rest -= piece;
		if (h2->rest || at == len)
			continue;
		h2->frame[h2->frame_len++] = bytes[at++];
		if (h2->frame_len < sizeof h2->frame)
			continue;
		h2->frame_len = 0;
		h2->rest = (size_t)h2->frame[0] << 16 | (size_t)h2->frame[1] << 8 | h2->frame[2];
		if (h2->frame[3] == NGHTTP2_DATA && h2->rest)
			continue;
		h2->patience--;
		frames++;
	}
	return at;
}

static bool is_flood(const struct fl_h2 *h2)
{
	return (h2->server && h2->patience < 0) ||
	       nghttp2_session_get_outbound_queue_size(h2->ng) > FL_H2_QUEUE_MAX + 4 * (size_t)h2->open_count;
}

int fl_h2_recv(struct fl_h2 *h2, const void *bytes, size_t len, struct fl_err *err)
{
	const uint8_t *next = bytes;
	bool flood = false;
	ssize_t taken = 0;
	int result;

	if (h2->fatal)
		return failed(h2, NGHTTP2_ERR_NOMEM, err);
	h2->inside++;
	while (len && taken >= 0 && !flood && !h2->fatal && !h2->doomed) {
		size_t piece = next_frames(h2, next, len);

		taken = nghttp2_session_mem_recv(h2->ng, next, piece);
		next += piece;
		len -= piece;
		flood = is_flood(h2);
	}
	result = leave(h2, err);
	if (result < 0)
		return result;
	if (taken < 0 || h2->fatal)
		return failed(h2, (int)taken, err);
	return flood ? failed(h2, NGHTTP2_ERR_FLOODED, err) : 0;
}

int64_t fl_h2_send(struct fl_h2 *h2, void *room, size_t len, struct fl_err *err)
{
	size_t done = 0;
	ssize_t got = 1;
	int result;

	if (h2->fatal)
		return failed(h2, NGHTTP2_ERR_NOMEM, err);
	h2->inside++;
	while (done < len && !h2->doomed) {
		size_t piece = h2->unsent_len < len - done ? h2->unsent_len : len - done;

		if (piece) {
			memcpy((char *)room + done, h2->unsent, piece);
			h2->unsent += piece;
			h2->unsent_len -= piece;
			done += piece;
			continue;
		}
		got = nghttp2_session_mem_send(h2->ng, &h2->unsent);
		if (got <= 0)
			break;
		h2->unsent_len = (size_t)got;
	}
	result = leave(h2, err);
	if (result < 0)
		return result;
	if (got < 0 || h2->fatal)
		return failed(h2, (int)got, err);
	return (int64_t)done;
}

bool fl_h2_over(const struct fl_h2 *h2)
{
	return !h2->unsent_len && !nghttp2_session_want_read(h2->ng) && !nghttp2_session_want_write(h2->ng);
}

/* ---- streams ---- */

void fl_h2_accept(struct fl_h2 *h2, struct fl_h2_stream *stream)
{
	h2->patience += 4;   /* its own head, and windows */
	fl_h2_bind(h2, stream, h2->block_stream);
	stream->got_head = true;
	stream->got_end = h2->block_end;
	stream->reached = true;
	(void)nghttp2_session_set_stream_user_data(h2->ng, h2->block_stream, stream);
	h2->block_stream = 0;
}

#define NV_MAX (FL_HTTP_FIELDS_MAX + 4)

struct nv_list {
	nghttp2_nv at[NV_MAX];
	size_t len;
};

static void add_nv(struct nv_list *list, struct fl_str name, struct fl_str value)
{
	list->at[list->len++] = (nghttp2_nv){ (uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p, name.len,
		value.len,
					      NGHTTP2_NV_FLAG_NONE };
}

static int add_fields(struct nv_list *list, struct fl_headers headers, struct fl_err *err)
{
	if (headers.len > NV_MAX - list->len)
		return fl_fail(err, FL_E_TOOBIG, "over %d header fields", FL_HTTP_FIELDS_MAX);
	for (uint32_t i = 0; i < headers.len; i++) {
		if (!fl_header_valid(&headers.at[i]))
			return fl_fail(err, FL_E_INVALID,
				       "header '%.*s' cannot be sent: bytes that may not stand there",
				       FL_ARG(headers.at[i].name));
		add_nv(list, headers.at[i].name, headers.at[i].value);
	}
	return 0;
}

static int refused(int result, struct fl_err *err)
{
	if (result == NGHTTP2_ERR_NOMEM)
		return fl_fail(err, FL_E_NOMEM, "no memory for an HTTP/2 stream");
	if (result == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE)
		return fl_fail(err, FL_E_CLOSED, "the connection has used up its streams");
	return fl_fail(err, FL_E_INVALID, "HTTP/2: %s", nghttp2_strerror(result));
}

int fl_h2_request(struct fl_h2 *h2, struct fl_h2_stream *stream, const struct fl_http_head *head, bool body,
		  struct fl_err *err)
{
	nghttp2_data_provider provider = { .source.ptr = NULL, .read_callback = fl_h2_read_body };
	struct nv_list list;
	int32_t id;
	int result;

	list.len = 0;
	if (h2->going)
		return fl_fail(err, FL_E_CLOSED, "the connection takes no more streams");
	if (fl_h2_room(h2) == 0)
		return fl_fail(err, FL_E_AGAIN, "the connection has no room for another stream");
	if (!fl_http_all(head->method, FL_CH_TOKEN) || !fl_http_all(head->target, FL_CH_TARGET))
		return fl_fail(err, FL_E_INVALID, "a request with bytes that may not stand in its first line");
	add_nv(&list, FL_S(":method"), head->method);
	add_nv(&list, FL_S(":scheme"), head->scheme);
	add_nv(&list, FL_S(":authority"), head->authority);
	add_nv(&list, FL_S(":path"), head->target);
	result = add_fields(&list, head->headers, err);
	if (result < 0)
		return result;
	id = nghttp2_submit_request(h2->ng, NULL, list.at, list.len, body ? &provider : NULL, stream);
	if (id < 0)
		return refused(id, err);
	fl_h2_bind(h2, stream, id);
	stream->pulls = body;
	fl_h2_touch(h2);
	return 0;
}

int fl_h2_respond(struct fl_h2_stream *stream, const struct fl_http_head *head, bool body, struct fl_err *err)
{
	nghttp2_data_provider provider = { .source.ptr = NULL, .read_callback = fl_h2_read_body };
	char status[3] = { (char)('0' + head->status / 100 % 10), (char)('0' + head->status / 10 % 10),
			   (char)('0' + head->status % 10) };
	struct fl_h2 *h2 = stream->h2;
	struct nv_list list;
	int result;

	list.len = 0;
	add_nv(&list, FL_S(":status"), (struct fl_str){ status, 3 });
	result = add_fields(&list, head->headers, err);
	if (result < 0)
		return result;
	result = nghttp2_submit_response(h2->ng, stream->id, list.at, list.len, body ? &provider : NULL);
	if (result < 0)
		return refused(result, err);
	stream->pulls = body;
	fl_h2_touch(h2);
	return 0;
}

int fl_h2_trailers(struct fl_h2_stream *stream, struct fl_headers trailers, struct fl_err *err)
{
	struct nv_list list;
	int result;

	list.len = 0;
	result = add_fields(&list, trailers, err);
	if (result < 0)
		return result;
	result = nghttp2_submit_trailer(stream->h2->ng, stream->id, list.at, list.len);
	return result < 0 ? refused(result, err) : 0;
}

void fl_h2_wake(struct fl_h2_stream *stream)
{
	if (!stream->h2 || !stream->pulls)
		return;
	fl_h2_check(stream->h2, nghttp2_session_resume_data(stream->h2->ng, stream->id));
	fl_h2_touch(stream->h2);
}

void fl_h2_consume(struct fl_h2_stream *stream, size_t len)
{
	if (!stream->h2 || !len)
		return;
	stream->unconsumed -= (uint32_t)len;
	fl_h2_check(stream->h2, nghttp2_session_consume_stream(stream->h2->ng, stream->id, len));
	fl_h2_touch(stream->h2);
}

void fl_h2_reset(struct fl_h2_stream *stream, enum fl_h2_code code)
{
	struct fl_h2 *h2 = stream->h2;

	if (!h2)
		return;
	(void)nghttp2_session_set_stream_user_data(h2->ng, stream->id, NULL);
	fl_h2_check(h2, nghttp2_submit_rst_stream(h2->ng, NGHTTP2_FLAG_NONE, stream->id, (uint32_t)code));
	fl_h2_unbind(stream);
	fl_h2_touch(h2);
}

/* ---- the connection ---- */

uint32_t fl_h2_open_streams(const struct fl_h2 *h2)
{
	return h2->open_count;
}

uint32_t fl_h2_room(const struct fl_h2 *h2)
{
	uint32_t most = nghttp2_session_get_remote_settings(h2->ng, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

	if (h2->going)
		return 0;
	if (most == UINT32_MAX) /* no SETTINGS yet: nghttp2's own assumption */
		most = 100;
	return most > h2->open_count ? most - h2->open_count : 0;
}

bool fl_h2_going(const struct fl_h2 *h2)
{
	return h2->going;
}

int fl_h2_ping(struct fl_h2 *h2)
{
	if (nghttp2_submit_ping(h2->ng, NGHTTP2_FLAG_NONE, (const uint8_t *)"fairlead") != 0)
		return -FL_E_NOMEM;
	fl_h2_touch(h2);
	return 0;
}

void fl_h2_shutdown(struct fl_h2 *h2)
{
	if (!h2->noticed && h2->server) {
		fl_h2_check(h2, nghttp2_submit_shutdown_notice(h2->ng));
		if (fl_h2_ping(h2) < 0)
			h2->fatal = true;
	} else if (!h2->final_goaway) {
		fl_h2_check(h2, nghttp2_submit_goaway(h2->ng, NGHTTP2_FLAG_NONE,
						      nghttp2_session_get_last_proc_stream_id(h2->ng),
						      NGHTTP2_NO_ERROR, NULL, 0));
		h2->final_goaway = true;
	}
	h2->noticed = true;
	h2->going = true;
	fl_h2_touch(h2);
}

void fl_h2_leave(struct fl_h2 *h2)
{
	h2->noticed = true;
	fl_h2_shutdown(h2);
}
