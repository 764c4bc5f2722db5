/* node_world.h - one process in a simulated world, whose loop a test drives from outside: time passes only when the
 * test says so.
 *
 *     struct node_world world = { 0 };
 *     OK(node_world_start(&world, test_refuse_io));
 *     ... set things up on world.io ...
 *     node_pass(&world, FL_NS_PER_S);
 */
#pragma once
#include "sim/sim.h"

struct node_world {
	struct sim_world *sim;
	struct sim_host *host;
	struct fl_io *io;
	struct fl_poll poll;
	int ends[2];               /* what is written here wakes the process: else it sleeps until its next timer */
};

/* `seed` of the world; `refuse` as in struct sim_config. */
int node_world_start(struct node_world *world, uint64_t seed, bool (*refuse)(void));
void node_world_end(struct node_world *world);   /* what uses its io has been freed */

void node_pass(struct node_world *world, uint64_t ns);
/* Until done() says so: true; or false after this time. */
bool node_until(struct node_world *world, uint64_t ns, bool (*done)(void *arg), void *arg);
