/* rig.h - the loop under a clock of its own, with a server in front of it that does what a test says.
 *
 *     RIG(rig, &capacity);
 *     rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3}}");
 *     rig_run(&rig);                        everything that can happen now
 *     CHECK_INT(rig.held, 1);               a write waits for its answer
 *     rig_serve(&rig);
 *     rig_sleep(&rig, FL_NS_PER_S);         everything until then
 *
 * The server keeps Rockets (tests/api/demo.h), counts their versions up, and tells of each change at once unless it is
 * mute. Time passes only in rig_sleep.
 *
 * For tests of the loop itself. A capability has kinds of its own and takes no more of this than rig_clock.
 */
#pragma once
#include "api/demo.h"
#include "base/log.h"
#include "run/loop.h"
#include "test.h"

enum { RIG_HELD = 64 };

struct rig {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_feed *rockets;
	struct fl_metrics *metrics;
	struct fl_interns interns;
	struct fl_cache truth;                     /* what the server has */
	uint64_t version;
	bool mute;                                 /* changes are made, and nobody is told */
	bool nomem;                                /* the rig itself was refused memory: the test ends quietly */
	bool early;                                /* a write's event comes before its answer */
	bool no_answer;                            /* the sink is not told what the object became */
	struct fl_write *writes[RIG_HELD];         /* those that wait, oldest first */
	uint32_t held, started, most;
	uint32_t unread;                           /* answers that nobody had to look at */
	/* Called on what the server makes of a write, before it keeps it: a webhook. */
	void (*webhook)(struct fl_demo *rocket);
	bool may_write;
	struct fl_buf events;                      /* a line each */
	struct fl_log log;
	struct fl_buf lines;                       /* that were logged */
	uint64_t plans;                            /* count them in your plan, if you like */
};

struct fl_io *rig_clock(void);                     /* nothing but a clock, which stands still; the caller frees it */
int rig_init(struct rig *rig, const struct fl_capability *const *capabilities, bool standby);
void rig_free(struct rig *rig);
static inline void rig_auto_(struct rig *rig)
{
	rig_free(rig);
}
#define RIG(rig, ...) RIG_(rig, false, __VA_ARGS__)
#define RIG_(rig, standby, ...) \
	FL_AUTO(rig) struct rig rig = { 0 }; \
	OK(rig_init(&rig, (const struct fl_capability *const[]){ __VA_ARGS__, NULL }, standby))

/* Somebody writes an object, all but its status unless that is in it; or takes it away. 0 or -FL_E_NOMEM. */
int rig_put(struct rig *rig, const char *json);
int rig_gone(struct rig *rig, const char *name);

/* The oldest write that waits: done, refused, or found to be of something that is gone. */
int rig_serve(struct rig *rig);
void rig_refuse(struct rig *rig, enum fl_code code);

/* Serve whatever comes until nothing comes. */
int rig_settle(struct rig *rig);

/* Tell of an object as the server has it now; of all of them, as a full state. */
int rig_tell(struct rig *rig, const char *name);
int rig_tell_all(struct rig *rig);

/* The server's object, decoded into the arena; NULL: there is none. */
const struct fl_demo *rig_get(struct rig *rig, const char *name, struct fl_arena *arena);
/* What the loop's caches show. */
const struct fl_demo *rig_see(struct rig *rig, const char *name, struct fl_arena *arena);

void rig_run(struct rig *rig);
void rig_sleep(struct rig *rig, uint64_t ns);
bool rig_at_rest(const struct rig *rig);           /* no timer is set, nothing is on its way */
bool rig_waits(const struct rig *rig);             /* no timer is set: only what comes from outside goes on */

/* The value behind `line`, which is a sample up to its value, the blank included; -1: there is none. */
double rig_metric(struct rig *rig, const char *line);

/* What holds when nothing was refused: a refusal costs time, and tests of single steps give none. */
#define SURE(cond) CHECK((cond) || test_tortured())
#define SURE_INT(got, want) CHECK_INT(test_tortured() ? (int64_t)(want) : (int64_t)(got), want)
#define SURE_STR(got, want) \
	do { \
		if (!test_tortured()) \
			CHECK_STR(got, want); \
	} while (0)
#define ROCKET(name, replicas) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"replicas\":" #replicas "}}"
#define SEES(rig, arena, var, name) \
	const struct fl_demo *var = rig_see(&(rig), name, &(arena)); \
	OK(var ? 0 : -FL_E_NOMEM)
