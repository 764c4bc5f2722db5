/* lease.h - one of several replicas leads: an election by a Lease of coordination.k8s.io/v1, as client-go's.
 *
 * Who holds it renews it every `retry`; who does not watches it and takes it when nothing about it has changed for its
 * duration, by the own clock: nobody's wall clock is compared with anybody else's. A clean end releases it, and the
 * next one leads as soon as it looks (each `retry`).
 *
 * The fence. Leadership is believed only until `duration` after the last successful renewal was *sent* (the others
 * count from when they saw it, which is later), less a margin. Whoever writes asks fl_lease_held() right before each
 * attempt: the loop by its may_write, others by fl_kube_call.may_send. A process that was stopped for a minute finds
 * that it does not lead, before it has told anybody anything.
 *
 * What to do next is fl_lease_next: pure, and a table in the tests.
 */
#pragma once
#include "api/coordination.h"
#include "kube/client.h"

#define FL_LEASE_DURATION (15 * FL_NS_PER_S)        /* as client-go has it, like the next two */
#define FL_LEASE_GIVE_UP (10 * FL_NS_PER_S)         /* without a renewal: in time before others may take it */
#define FL_LEASE_RETRY (2 * FL_NS_PER_S)            /* between two requests */

/* ---- the decision ---- */

struct fl_lease_times {
	uint64_t duration;             /* ns; others wait this long. client-go: 15 s */
	uint64_t give_up;              /* without a renewal for so long the leader stops; less than duration. 10 s */
	uint64_t retry;                /* between tries. 2 s */
};

enum fl_lease_do {
	FL_LEASE_WAIT,                 /* somebody else holds it, or the next renewal is not due: look again at `at` */
	FL_LEASE_READ,                 /* nothing is known: get it */
	FL_LEASE_CREATE,               /* there is none */
	FL_LEASE_TAKE,                 /* it is free, ran out, or was ours already: update it */
	FL_LEASE_RENEW,
	FL_LEASE_RELEASE,              /* stopping: give it back */
	FL_LEASE_OVER,                 /* stopped, nothing is ours */
	FL_LEASE_DO_COUNT_
};
extern const struct fl_names fl_lease_do_names;

struct fl_lease_facts {
	uint64_t now;
	struct fl_lease_times times;
	bool known, exists;            /* has it been read; is there one */
	bool mine, free;               /* its holder is us; is nobody */
	uint64_t changed;              /* when we saw its last change */
	uint64_t holder_duration;      /* ns, as the holder wrote it */
	uint64_t renewed;              /* when our last successful write was sent; 0: none, we do not lead */
	uint64_t tried;                /* when the last try ended; 0: none */
	bool claimed;                  /* we wrote our name, and nothing that was read since says another */
	bool stopping;
	bool looked;                   /* stopping, and read once more for it */
};
struct fl_lease_step {
	enum fl_lease_do what;
	uint64_t at;                   /* WAIT: when to decide again, at the latest */
	bool lost;                     /* we led, and do not any more */
};
struct fl_lease_step fl_lease_next(const struct fl_lease_facts *facts);

/* Until when a leader may write: `renewed` + duration less a fifth of it, at most `give_up`. 0 when renewed is 0. */
uint64_t fl_lease_until(const struct fl_lease_times *times, uint64_t renewed);

/* ---- the doer ---- */

struct fl_lease_options {
	const char *space, *name;
	const char *identity;          /* unique among the replicas: Pod name and UID */
	struct fl_lease_times times;   /* zeroed: 15 s, 10 s, 2 s */
	/* Told from the loop, once for each change. A loss is told when it is noticed; fl_lease_held knows before. */
	void (*leads)(void *arg, bool leads);
	/* Somebody leads, "": nobody. May be NULL. */
	void (*leader)(void *arg, struct fl_str identity);
	void *arg;
	struct fl_log *log;
};

struct fl_elector;
struct fl_elector *fl_elector_new(struct fl_kube *kube, const struct fl_lease_options *options,
				  struct fl_err *err) FL_MUSTUSE;   /* copies the options; begins at once */
/* At once, without a word: the Lease runs out by itself. NULL-safe. */
struct fl_elector *fl_elector_free(struct fl_elector *elector);
FL_DEFINE_AUTO(fl_elector, struct fl_elector *, fl_elector_free);

/* A clean end: no new write of ours passes the fence from now on; the Lease is released if it is ours; then done, with
 * 0 whether that went well or not: else it runs out by itself. A write of the Lease that is under way is waited for,
 * `retry` at most. Where that leaves it unknown what is there, or a release comes too late for its version, it is read
 * once and released once more; each of these has FL_LEASE_RETRY, and all of them have until the op's own deadline. */
void fl_elector_stop(struct fl_elector *elector, struct fl_op *op);

/* Do we lead, by the clock of this very moment? Reads the clock, so that a stop in the middle of a callback counts. */
bool fl_lease_held(const struct fl_elector *elector);

/* How often the Lease changed hands until now: a number for logs, metrics and fencing by others. */
int32_t fl_lease_term(const struct fl_elector *elector);
