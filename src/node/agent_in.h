/* agent_in.h - the inside of the agent: what starts and stops it (agent.c), and what it waits for (ready.c). */
#pragma once
#include "node/agent.h"

/* "open state directory '/x': cause: remedy" */
struct fl_err fl_agent_open_words(const struct fl_agent *agent);
