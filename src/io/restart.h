/* restart.h - may a child be started now? Pure: facts in, one decision out. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct fl_restart_facts {
	uint64_t now;
	bool wanted;           /* not paused, not being freed */
	bool running;          /* one is there, or on its way */
	bool dying;            /* one was killed and may still go in time */
	unsigned stuck;        /* were killed and did not go */
	unsigned stuck_max;
	unsigned failures;     /* in a row */
	uint64_t failed_at;    /* when the last one was */
};

enum fl_restart_what {
	FL_RESTART_NOTHING,    /* all is as it should be, or something else must happen first */
	FL_RESTART_START,
	FL_RESTART_LATER,      /* at `at` */
	FL_RESTART_CEILING,    /* too many do not die: none until one of them does */
};

struct fl_restart {
	enum fl_restart_what what;
	uint64_t at;
};
struct fl_restart fl_restart_plan(const struct fl_restart_facts *facts);

/* How many failures in a row there are after another one: a child that lived long was no failure. */
unsigned fl_restart_failures(unsigned before, uint64_t lived);
