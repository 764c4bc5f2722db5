/* guard_house.h - a process whose /metrics a guard protects, and an API server that says what is written down.
 *
 * `says` outlives the world. With `alone` there is no API server. */
#pragma once
#include "http/server.h"
#include "script.h"
#include "serve/guard.h"
#include "sim/sim.h"

struct guard_house {
	const struct exchange *says;
	bool alone;
	struct script script;
	struct fl_guard guard;
	struct fl_http_server *server;
	struct fl_err err;
	uint64_t turn;                 /* of the last page that was served */
	unsigned in_turn, most_in_turn;
};

/* For sim_host_new, with a struct guard_house: serves on port 80. */
int guard_house_boot(struct sim_process *process);
