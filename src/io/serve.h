/* serve.h - the child's half of a supervised program (io/supervisor.h).
 *
 *     static void asked(struct fl_serve *serve, uint32_t id, uint16_t kind, struct fl_str payload)
 *     {
 *             if (kind == COUNT)
 *                     fl_serve_reply(serve, id, answer);
 *             else
 *                     fl_serve_refuse(serve, id, FL_E_UNSUPPORTED, "no such request");
 *     }
 *     ...
 *     struct fl_serve serve = { .request = asked, .ended = end_program };
 *     if (fl_serve_start(io, &serve, FL_SERVE_FD, err) < 0) ...
 *     return fl_io_run(io, err);
 *
 * A request may block or hang: that is what the child program is for. It may also be answered later, from another
 * callback; the next request comes only then.
 */
#pragma once
#include "io/frame.h"
#include "io/io.h"

enum { FL_SERVE_FD = 3 };

struct fl_serve {
	void (*request)(struct fl_serve *serve, uint32_t id, uint16_t kind, struct fl_str payload);
	/* The parent is gone or the channel is broken: end the program. Called once; nothing is sent after it. The
	 * calls below may call it, so it must not free what holds this struct. */
	void (*ended)(struct fl_serve *serve);

	/* Its own. */
	struct fl_io *io;
	struct fl_poll poll;
	struct fl_buf in, out;
};

/* Sends the hello. Takes over the fd, also on failure. */
int fl_serve_start(struct fl_io *io, struct fl_serve *serve, int fd, struct fl_err *err) FL_MUSTUSE;
void fl_serve_stop(struct fl_serve *serve);   /* does nothing if it is not started */

/* Exactly one of these for each request. A reply that is too large becomes a refusal with that reason. */
void fl_serve_reply(struct fl_serve *serve, uint32_t id, struct fl_str payload);
void fl_serve_refuse(struct fl_serve *serve, uint32_t id, enum fl_code code, const char *text);

/* An event, at any time. FL_E_TOOBIG; FL_E_RETRY: the parent has not read the last ones yet. */
int fl_serve_event(struct fl_serve *serve, uint16_t kind, struct fl_str payload) FL_MUSTUSE;
