#include "io/serve.h"
#include "base/units.h"

/* A reply of full size, and events that wait for the parent. */
#define OUT_MAX (2 * (FL_FRAME_MAX + FL_FRAME_HEADER))

static void over(struct fl_serve *serve)
{
	if (serve->poll.fd < 0)
		return;
	fl_serve_stop(serve);
	serve->ended(serve);
}

/* false: the channel is closed. */
static bool flush(struct fl_serve *serve)
{
	while (serve->out.len) {
		int64_t n = fl_write(serve->io, serve->poll.fd, serve->out.p, serve->out.len);

		if (n == -FL_E_AGAIN)
			break;
		if (n < 0) {
			over(serve);
			return false;
		}
		fl_buf_drop(&serve->out, (size_t)n);
	}
	if (fl_poll_set(serve->io, &serve->poll, FL_READABLE | (serve->out.len ? FL_WRITABLE : 0), NULL) == 0)
		return true;
	over(serve);
	return false;
}

/* The parent sends one request at a time, but one that it has cancelled and the next may both be here. */
static void take_frames(struct fl_serve *serve)
{
	struct fl_frame frame;
	int64_t n;

	while (serve->poll.fd >= 0 && (n = fl_frame_read(fl_buf_view(&serve->in), &frame, NULL)) != 0) {
		if (n < 0 || frame.type != FL_FRAME_REQUEST) {
			over(serve);
			return;
		}
		serve->request(serve, frame.id, frame.kind, frame.payload);
		if (serve->poll.fd >= 0)
			fl_buf_drop(&serve->in, (size_t)n);
	}
}

static void ready(struct fl_poll *poll, unsigned what)
{
	struct fl_serve *serve = fl_container(poll, struct fl_serve, poll);
	int64_t n;
	void *room;

	if ((what & FL_WRITABLE) && !flush(serve))
		return;
	if (!(what & FL_READABLE))
		return;
	room = fl_buf_room(&serve->in, 4 * FL_KIB);
	n = room ? fl_read(serve->io, poll->fd, room, 4 * FL_KIB) : -FL_E_NOMEM;
	if (n == -FL_E_AGAIN)
		return;
	if (n <= 0) {
		over(serve);
		return;
	}
	fl_buf_added(&serve->in, (size_t)n);
	take_frames(serve);
}

int fl_serve_start(struct fl_io *io, struct fl_serve *serve, int fd, struct fl_err *err)
{
	int r;

	serve->io = io;
	serve->poll = (struct fl_poll){ .ready = ready, .fd = fd };
	serve->in = FL_BUF(FL_FRAME_MAX + FL_FRAME_HEADER + 4 * FL_KIB);
	serve->out = FL_BUF(OUT_MAX);
	fl_frame_write_hello(&serve->out);
	r = fl_buf_check(&serve->out, "hello", err);
	if (r == 0)
		r = fl_poll_set(io, &serve->poll, FL_READABLE | FL_WRITABLE, err);
	if (r < 0)
		fl_serve_stop(serve);
	return r;
}

void fl_serve_stop(struct fl_serve *serve)
{
	if (!serve->io || serve->poll.fd < 0)
		return;
	fl_poll_stop(serve->io, &serve->poll);
	fl_close(serve->io, serve->poll.fd);
	serve->poll.fd = -1;
	fl_buf_free(&serve->in);
	fl_buf_free(&serve->out);
}

/* 0, or why the frame does not fit; the buffer keeps what it held before. */
static enum fl_code send(struct fl_serve *serve, const struct fl_frame *frame)
{
	size_t before = serve->out.len;
	enum fl_code failed;

	if (serve->poll.fd < 0)
		return FL_E_CLOSED;
	fl_frame_write(&serve->out, frame);
	failed = serve->out.failed;
	if (failed) {
		serve->out.failed = FL_OK;
		serve->out.len = before;
		return failed;
	}
	(void)flush(serve);
	return FL_OK;
}

void fl_serve_refuse(struct fl_serve *serve, uint32_t id, enum fl_code code, const char *text)
{
	const struct fl_frame frame = { .type = FL_FRAME_REPLY, .id = id,
					.kind = (uint16_t)(code ? code : FL_E_INVALID),
					.payload = fl_str(text) };

	/* No reply fits: close the channel, so that the parent does not wait in vain. */
	if (send(serve, &frame) != FL_OK)
		over(serve);
}

void fl_serve_reply(struct fl_serve *serve, uint32_t id, struct fl_str payload)
{
	const struct fl_frame frame = { .type = FL_FRAME_REPLY, .kind = FL_OK, .id = id, .payload = payload };
	enum fl_code failed = send(serve, &frame);

	if (failed != FL_OK)
		fl_serve_refuse(serve, id, failed, "the answer is too large");
}

int fl_serve_event(struct fl_serve *serve, uint16_t kind, struct fl_str payload)
{
	const struct fl_frame frame = { .type = FL_FRAME_EVENT, .kind = kind, .payload = payload };

	if (payload.len > FL_FRAME_MAX)
		return -FL_E_TOOBIG;
	/* Keep room for one reply. */
	if (serve->out.len + payload.len > FL_FRAME_MAX)
		return -FL_E_RETRY;
	return -(int)send(serve, &frame);
}
