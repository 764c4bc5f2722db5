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
 * A request may take its time, or hang: that is what this program is for. It may also be answered later, from another
 * callback; the next one comes only then.
 */
#pragma once
#include "io/frame.h"
#include "io/io.h"

enum { FL_SERVE_FD = 3 };

struct fl_serve {
	void (*request)(struct fl_serve *serve, uint32_t id, uint16_t kind, struct fl_str payload);
	/* The parent is gone, or cannot be talked to: end the program. Called once; after it nothing is sent. May be
	 * called from within the calls below, so it must not free what holds this. */
	void (*ended)(struct fl_serve *serve);

	/* Its own. */
	struct fl_io *io;
	struct fl_poll poll;
	struct fl_buf in, out;
};

/* Says hello. The fd is taken over, also on failure. */
int fl_serve_start(struct fl_io *io, struct fl_serve *serve, int fd, struct fl_err *err) FL_MUSTUSE;
void fl_serve_stop(struct fl_serve *serve);   /* one that is not started is left alone */

/* Exactly one of these for each request. What is too large becomes a refusal that says so. */
void fl_serve_reply(struct fl_serve *serve, uint32_t id, struct fl_str payload);
void fl_serve_refuse(struct fl_serve *serve, uint32_t id, enum fl_code code, const char *text);

/* Unasked, at any time. FL_E_TOOBIG; FL_E_RETRY: the parent has not read the last ones yet. */
int fl_serve_event(struct fl_serve *serve, uint16_t kind, struct fl_str payload) FL_MUSTUSE;
