/* A machine whose wall clock steps, for the tests in tests/cluster/kube. A file of its own, because the seam from below
 * (io/sys.h) and the API's kinds have names in common. */
#include "io/sys.h"
#include "driver_clock.h"
#include <stdlib.h>

static int64_t (*true_wall)(struct fl_sys *sys);
static int64_t stepped_by;

static int64_t stepped_wall(struct fl_sys *sys)
{
	return true_wall(sys) + stepped_by;
}

int64_t driver_clock_step(struct fl_io *io, const char *seconds)
{
	struct fl_sys *sys = fl_io_sys(io);
	int64_t by = strtoll(seconds, NULL, 10);

	if (!true_wall)
		true_wall = sys->wall;
	sys->wall = stepped_wall;
	stepped_by += by * 1000000000;
	return by;
}
