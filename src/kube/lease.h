/* lease.h - one of several replicas leads: an election by a Lease of coordination.k8s.io/v1, as client-go's.
 *
 * The leader renews the Lease every `retry`. A follower reads it and takes it when it has not changed for its duration
 * on the follower's own clock: wall clocks of different machines are never compared. A clean end releases the Lease,
 * and the next replica leads at its next read (each `retry`).
 *
 * The fence: a leader counts as such only until `duration` after its last successful renewal was *sent*, less a margin
 * (followers count from when they saw the renewal, which is later). Writers call fl_lease_held() right before each
 * attempt: the loop by its may_write, others by fl_kube_call.may_send. A process that was stopped for a minute finds
 * that it does not lead before it writes anything.
 *
 * fl_lease_next() gives the next step: pure, and a table in the tests.
 */
#pragma once
#include "api/coordination.h"
#include "kube/client.h"

#define FL_LEASE_DURATION (15 * FL_NS_PER_S)        /* as client-go has it, like the next two */
#define FL_LEASE_GIVE_UP (10 * FL_NS_PER_S)         /* without a renewal: before others may take the Lease */
#define FL_LEASE_RETRY (2 * FL_NS_PER_S)            /* between two requests */

/* ---- the decision ---- */

struct fl_lease_times {
	uint64_t duration;             /* ns; others wait this long. client-go: 15 s */
	uint64_t give_up;              /* without a renewal for so long the leader stops; less than duration. 10 s */
	uint64_t retry;                /* between tries. 2 s */
};

enum fl_lease_do {
	FL_LEASE_WAIT,                 /* another replica holds it, or no renewal is due: decide again at `at` */
	FL_LEASE_READ,                 /* nothing is known: get it */
	FL_LEASE_CREATE,               /* there is none */
	FL_LEASE_TAKE,                 /* it is free, ran out, or was ours already: update it */
	FL_LEASE_RENEW,
	FL_LEASE_RELEASE,              /* stopping: release it */
	FL_LEASE_OVER,                 /* stopped, nothing is ours */
	FL_LEASE_DO_COUNT_
};
extern const struct fl_names fl_lease_do_names;

struct fl_lease_facts {
	uint64_t now;
	struct fl_lease_times times;
	bool known, exists;            /* it was read; there is one */
	bool mine, free;               /* we hold it; it has no holder */
	uint64_t changed;              /* when we saw its last change */
	uint64_t holder_duration;      /* ns, as the holder wrote it */
	uint64_t renewed;              /* when our last successful write was sent; 0: none, we do not lead */
	uint64_t tried;                /* when the last try ended; 0: none */
	bool claimed;                  /* we wrote our name, and no later read had another one */
	bool stopping;
	bool looked;                   /* stopping, and read once more before the release */
};
struct fl_lease_step {
	enum fl_lease_do what;
	uint64_t at;                   /* WAIT: when to decide again, at the latest */
	bool lost;                     /* we led, and no longer do */
};
struct fl_lease_step fl_lease_next(const struct fl_lease_facts *facts);

/* Until when a leader may write: `renewed` + duration less a fifth of it, at most `give_up`. 0 when renewed is 0. */
uint64_t fl_lease_until(const struct fl_lease_times *times, uint64_t renewed);

/* ---- the doer ---- */

struct fl_lease_options {
	const char *space, *name;
	const char *identity;          /* unique among the replicas: Pod name and UID */
	struct fl_lease_times times;   /* zeroed: 15 s, 10 s, 2 s */
	/* Called from the loop, once for each change. A loss is reported when the loop notices it; fl_lease_held() has
	 * it earlier. */
	void (*leads)(void *arg, bool leads);
	/* The present leader; "": none. May be NULL. */
	void (*leader)(void *arg, struct fl_str identity);
	void *arg;
	struct fl_log *log;
};

struct fl_elector;
struct fl_elector *fl_elector_new(struct fl_kube *kube, const struct fl_lease_options *options,
				  struct fl_err *err) FL_MUSTUSE;   /* copies the options; begins at once */
/* At once, without a release: the Lease expires. NULL-safe. */
struct fl_elector *fl_elector_free(struct fl_elector *elector);
FL_DEFINE_AUTO(fl_elector, struct fl_elector *, fl_elector_free);

/* A clean end: from now on no write of ours passes the fence; the Lease is released if it is ours; then done, with 0
 * whether the release succeeded or not: otherwise the Lease expires. A write of the Lease in flight is awaited, `retry`
 * at most. If the Lease's state is unknown then, or the release has an old version, it is read once and released once
 * more. Each of these requests has FL_LEASE_RETRY, and all end by the op's deadline. */
void fl_elector_stop(struct fl_elector *elector, struct fl_op *op);

/* Whether we lead right now. Reads the clock, so that a stop of the process in the middle of a callback counts. */
bool fl_lease_held(const struct fl_elector *elector);

/* The number of changes of the Lease's holder: for logs, metrics and fencing by others. */
int32_t fl_lease_term(const struct fl_elector *elector);
