#include "node_world.h"
#include "base/units.h"

static int boot(struct sim_process *process)
{
	((struct node_world *)sim_arg(process))->io = sim_io(process);
	return 0;
}

static void woken(struct fl_poll *poll, unsigned what)
{
	struct node_world *world = fl_container(poll, struct node_world, poll);
	char byte;

	(void)what;
	(void)!fl_read(world->io, poll->fd, &byte, 1);
}

int node_world_start(struct node_world *world, uint64_t seed, bool (*refuse)(void))
{
	world->sim = sim_world_new(&(struct sim_config){ .seed = seed, .refuse = refuse });
	world->host = sim_host_new(world->sim, "node", boot, world);
	sim_run(world->sim, FL_NS_PER_MS);
	if (!world->io || fl_pair(world->io, FL_PIPE, world->ends, NULL) < 0)
		return -FL_E_IO;
	world->poll = (struct fl_poll){ .ready = woken, .fd = world->ends[0] };
	return fl_poll_set(world->io, &world->poll, FL_READABLE, NULL);
}

void node_world_end(struct node_world *world)
{
	if (world->io && world->poll.want)
		fl_poll_stop(world->io, &world->poll);
	world->sim = sim_world_free(world->sim);
}

/* A write that is refused is tried again: a failure that was ordered is over then. */
static void wake(struct node_world *world)
{
	for (int i = 0; i < 3 && fl_write(world->io, world->ends[1], "", 1) < 0; i++)
		;
}

void node_pass(struct node_world *world, uint64_t ns)
{
	wake(world);
	sim_run(world->sim, sim_now(world->sim) + ns);
}

bool node_until(struct node_world *world, uint64_t ns, bool (*done)(void *arg), void *arg)
{
	wake(world);
	return sim_run_until(world->sim, sim_now(world->sim) + ns, done, arg);
}
