/* restart.h - may a child be started now? Pure: facts in, one decision out. */
#pragma once
#include "base/units.h"
#include <stdbool.h>
#include <stdint.h>

/* The first replacement starts at once, later ones with backoff, until a child has lived for FL_SUPERVISOR_GOOD. */
#define FL_SUPERVISOR_RETRY_FIRST (250 * FL_NS_PER_MS)
#define FL_SUPERVISOR_RETRY_LAST (30 * FL_NS_PER_S)
#define FL_SUPERVISOR_GOOD (60 * FL_NS_PER_S)

struct fl_restart_facts {
	uint64_t now;
	bool wanted;           /* not paused, not being freed */
	bool running;          /* a child runs or is being started */
	bool dying;            /* a killed child may still end in time */
	unsigned stuck;        /* killed children that did not end */
	unsigned stuck_max;
	unsigned failures;     /* in a row */
	uint64_t failed_at;    /* the last failure */
};

enum fl_restart_what {
	FL_RESTART_NOTHING,    /* nothing to do, or an event must come first */
	FL_RESTART_START,
	FL_RESTART_LATER,      /* at `at` */
	FL_RESTART_CEILING,    /* too many stuck children: start none until one ends */
};

struct fl_restart {
	enum fl_restart_what what;
	uint64_t at;
};
struct fl_restart fl_restart_plan(const struct fl_restart_facts *facts);

/* The count of failures in a row after one more: a child that lived long resets it. */
unsigned fl_restart_failures(unsigned before, uint64_t lived);
