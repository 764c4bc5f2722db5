/* in_force.h - the sink of Settings: they are kept in memory, and tell at once where the driver is searched for and
 * which hook is installed. What has changed is logged.
 *
 * It is fl_memory_sink with these two in place of its own; its self is the struct fl_agent.
 */
#pragma once
#include "node/agent.h"

void fl_in_force_start(void *agent, struct fl_write *write);
void fl_in_force_cancel(void *agent, struct fl_write *write);

/* Ahead of the look at the host that needs it: also called when the state directory becomes this agent's. */
void fl_in_force_hook(struct fl_agent *agent, const struct fl_settings *settings);
