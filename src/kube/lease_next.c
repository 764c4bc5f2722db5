/* What an elector does next. Pure. */
#include "kube/lease.h"

FL_NAMES(fl_lease_do_names, FL_LEASE_DO_COUNT_, [FL_LEASE_WAIT] = "wait", [FL_LEASE_READ] = "read",
	 [FL_LEASE_CREATE] = "create", [FL_LEASE_TAKE] = "take", [FL_LEASE_RENEW] = "renew",
	 [FL_LEASE_RELEASE] = "release", [FL_LEASE_OVER] = "over");

uint64_t fl_lease_until(const struct fl_lease_times *times, uint64_t renewed)
{
	uint64_t within = times->duration - times->duration / 5;

	if (!renewed)
		return 0;
	return renewed + (within < times->give_up ? within : times->give_up);
}

static enum fl_lease_do due(const struct fl_lease_facts *facts, bool leads)
{
	if (!facts->known)
		return FL_LEASE_READ;
	if (!facts->exists)
		return FL_LEASE_CREATE;
	if (facts->mine)
		return leads ? FL_LEASE_RENEW : FL_LEASE_TAKE;
	if (facts->free || facts->now >= facts->changed + facts->holder_duration)
		return FL_LEASE_TAKE;
	return FL_LEASE_READ;
}

/* Others wait for as long as the Lease lasts if it stays in our name: worth one look where it may be. */
static enum fl_lease_do last_due(const struct fl_lease_facts *facts)
{
	if (!facts->known)
		return facts->claimed && !facts->looked ? FL_LEASE_READ : FL_LEASE_OVER;
	return facts->exists && facts->mine ? FL_LEASE_RELEASE : FL_LEASE_OVER;
}

struct fl_lease_step fl_lease_next(const struct fl_lease_facts *facts)
{
	uint64_t until = fl_lease_until(&facts->times, facts->renewed);
	bool led = facts->renewed != 0;
	bool leads = led && facts->now < until && (!facts->known || facts->mine);
	uint64_t next = facts->tried ? facts->tried + facts->times.retry : facts->now;
	struct fl_lease_step step = { .lost = led && !leads };

	if (facts->stopping) {
		step.what = last_due(facts);
		step.lost = led;
		return step;
	}
	if (facts->now >= next) {
		step.what = due(facts, leads);
		return step;
	}
	/* A leader wakes up for the end of its leadership, too. */
	step.what = FL_LEASE_WAIT;
	step.at = leads && until < next ? until : next;
	return step;
}
