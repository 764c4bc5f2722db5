/* A file of its own: what io/loop.h includes calls other things by names of the API. */
#include "ahead.h"
#include "base/units.h"
#include "io/loop.h"

#define MINUTE (60 * FL_NS_PER_S)

static struct fl_sys plain;
static uint64_t skipped;

static int64_t minute_ahead(struct fl_sys *sys)
{
	return plain.wall(sys) + (int64_t)MINUTE;
}

static uint64_t later(struct fl_sys *sys)
{
	return plain.now(sys) + skipped;
}

static int wait_later(struct fl_sys *sys, uint64_t until, struct fl_io_event *events, unsigned max)
{
	if (until && until != FL_NEVER)
		until = until > skipped ? until - skipped : 0;
	return plain.wait(sys, until, events, max);
}

void ahead(struct fl_io *io, bool is)
{
	struct fl_sys *sys = io->sys;

	if (sys->now != later) {
		plain = *sys;
		sys->now = later;
		sys->wait = wait_later;
	}
	if (is)
		skipped += MINUTE;
	sys->wall = is ? minute_ahead : plain.wall;
}
