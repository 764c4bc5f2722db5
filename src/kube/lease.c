#include "kube/lease.h"
#include "base/log.h"
#include "base/units.h"
#include "json/time.h"
#include "json/write.h"

struct fl_elector {
	struct fl_kube *kube;
	struct fl_io *io;
	struct fl_lease_options options;
	struct fl_lease_facts facts;       /* but for now */
	bool leads;                        /* as it was told */
	bool told_leader;
	enum fl_lease_do doing;
	uint64_t sent;
	struct fl_timer timer;
	struct fl_kube_call call;
	struct fl_err err;
	struct fl_op *stop;                /* who waits for the end; NULL: nobody */
	uint64_t stop_waits;               /* until then for what was under way */
	struct fl_buf holder, version, body;
	int32_t transitions;
};

static void act(struct fl_elector *elector);

/* ---- the fence ---- */

bool fl_lease_held(const struct fl_elector *elector)
{
	return elector->leads && !elector->facts.stopping &&
	       fl_clock(elector->io) < fl_lease_until(&elector->facts.times, elector->facts.renewed);
}

int32_t fl_lease_term(const struct fl_elector *elector)
{
	return elector->transitions;
}

/* ---- telling ---- */

static void report_lead(struct fl_elector *elector, bool leads)
{
	if (leads == elector->leads)
		return;
	elector->leads = leads;
	if (!leads)
		elector->facts.renewed = 0;
	fl_log(elector->options.log, FL_INFO, "leadership changed", FL_KV_BOOL("leads", leads),
	       FL_KV_TEXT("lease", elector->options.name), FL_KV_INT("term", elector->transitions));
	elector->options.leads(elector->options.arg, leads);
}

/* ---- what is there ---- */

static int learn(struct fl_elector *elector, yyjson_val *object, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_lease lease;
	bool other;
	int r = fl_decode(fl_lease_bind(), object, &arena, FL_DECODE_BORROW, &lease, err);

	if (r < 0)
		return r;
	/* A change is one of the version, whatever clocks say. */
	if (!elector->facts.known || !fl_str_eq(fl_buf_view(&elector->version), lease.meta.resource_version))
		elector->facts.changed = fl_now(elector->io);
	other = !elector->told_leader || !fl_str_eq(fl_buf_view(&elector->holder), lease.spec.holder_identity);
	fl_buf_clear(&elector->version);
	fl_buf_str(&elector->version, lease.meta.resource_version);
	fl_buf_clear(&elector->holder);
	fl_buf_str(&elector->holder, lease.spec.holder_identity);
	if (fl_buf_check(&elector->version, "a resourceVersion", err) < 0 ||
	    fl_buf_check(&elector->holder, "a holder", err) < 0)
		return -(int)err->code;
	elector->facts.known = elector->facts.exists = true;
	elector->facts.free = lease.spec.holder_identity.len == 0;
	elector->facts.mine = fl_str_eq(lease.spec.holder_identity, fl_str(elector->options.identity));
	elector->facts.claimed &= elector->facts.mine;
	elector->facts.holder_duration = lease.spec.lease_duration_seconds > 0 ?
						 (uint64_t)(uint32_t)lease.spec.lease_duration_seconds * FL_NS_PER_S :
						 0;
	elector->transitions = lease.spec.lease_transitions;
	if (other && elector->options.leader)
		elector->options.leader(elector->options.arg, fl_buf_view(&elector->holder));
	elector->told_leader = true;
	return 0;
}

static int item(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err)
{
	(void)what;
	return learn(fl_container(call, struct fl_elector, call), object, err);
}

static void stopped(struct fl_elector *elector)
{
	struct fl_op *op = elector->stop;

	elector->stop = NULL;
	fl_timer_stop(elector->io, &elector->timer);
	if (op)
		fl_op_end(op, 0);
}

/* It failed: is there reason to look at once? */
static bool was_overtaken(enum fl_lease_do did, int64_t result)
{
	/* Somebody was faster, or it was removed. */
	return result == -FL_E_CONFLICT || result == -FL_E_EXISTS ||
	       (result == -FL_E_NOTFOUND && did != FL_LEASE_CREATE);
}

static void give_up(struct fl_elector *elector)
{
	if (elector->facts.claimed)
		fl_log(elector->options.log, FL_WARN, "lease not released, it expires by itself",
		       FL_KV_TEXT("lease", elector->options.name), FL_KV_ERR(&elector->err));
	stopped(elector);
}

static void done(struct fl_op *op)
{
	struct fl_elector *elector = fl_container(op, struct fl_elector, call.op);
	struct fl_lease_facts *facts = &elector->facts;
	enum fl_lease_do did = elector->doing;

	facts->tried = fl_now(elector->io);
	elector->doing = FL_LEASE_WAIT;
	if (facts->stopping)
		fl_timer_stop(elector->io, &elector->timer);
	if (op->result >= 0 && did != FL_LEASE_READ) {
		facts->renewed = elector->sent;
		if (facts->mine && !facts->stopping)
			report_lead(elector, true);
	} else if (op->result == -FL_E_NOTFOUND && (did == FL_LEASE_READ || did == FL_LEASE_RELEASE)) {
		facts->known = true;
		facts->exists = facts->mine = facts->free = facts->claimed = false;
		facts->tried = 0;
	} else if (op->result < 0) {
		/* Otherwise later. */
		facts->known = false;
		if (was_overtaken(did, op->result))
			facts->tried = 0;
		else if (!facts->stopping)
			fl_log(elector->options.log, FL_WARN, "lease unreachable, will retry",
			       FL_KV_TEXT("lease", elector->options.name), FL_KV_ERR(&elector->err));
	} else if (!facts->mine && (facts->free || fl_now(elector->io) >= facts->changed + facts->holder_duration)) {
		facts->tried = 0;   /* it is to be had: now */
	} else if (facts->mine && !facts->renewed) {
		facts->tried = 0;
	}
	if (did == FL_LEASE_RELEASE && op->result >= 0)
		stopped(elector);
	else
		act(elector);
}

/* ---- doing ---- */

static void put_time(struct fl_jw *w, const char *key, int64_t us)
{
	char text[FL_TIME_TEXT];

	fl_jw_key(w, fl_str(key));
	fl_jw_str(w, (struct fl_str){ text, fl_time_print_micro(us, text) });
}

static void put_spec(struct fl_elector *elector, struct fl_jw *w)
{
	int64_t now = fl_wall(elector->io) / 1000;
	bool release = elector->doing == FL_LEASE_RELEASE;
	bool taken = elector->doing == FL_LEASE_CREATE || (elector->doing == FL_LEASE_TAKE && !elector->facts.mine);
	uint64_t seconds = (elector->facts.times.duration + FL_NS_PER_S - 1) / FL_NS_PER_S;

	fl_jw_put(w, "spec", obj);
	fl_jw_put(w, "holderIdentity", str, release ? FL_S("") : fl_str(elector->options.identity));
	fl_jw_put(w, "leaseDurationSeconds", i64, release ? 1 : (int64_t)seconds);
	put_time(w, "renewTime", now);
	if (taken || release)
		put_time(w, "acquireTime", now);
	if (taken)
		fl_jw_put(w, "leaseTransitions", i64, elector->doing == FL_LEASE_CREATE ? 0 : elector->transitions + 1);
	fl_jw_end_obj(w);
}

/* A patch that carries the version changes nothing but the spec, and nothing at all when somebody else was faster. */
static void put_body(struct fl_elector *elector)
{
	struct fl_jw w = FL_JW(&elector->body);

	fl_buf_clear(&elector->body);
	fl_jw_obj(&w);
	if (elector->doing == FL_LEASE_CREATE) {
		fl_jw_put(&w, "apiVersion", str, FL_S("coordination.k8s.io/v1"));
		fl_jw_put(&w, "kind", str, FL_S("Lease"));
	}
	fl_jw_put(&w, "metadata", obj);
	fl_jw_put(&w, "name", str, fl_str(elector->options.name));
	if (elector->doing != FL_LEASE_CREATE)
		fl_jw_put(&w, "resourceVersion", str, fl_buf_view(&elector->version));
	fl_jw_end_obj(&w);
	put_spec(elector, &w);
	fl_jw_end_obj(&w);
}

static void start(struct fl_elector *elector, enum fl_lease_do what)
{
	bool reads = what == FL_LEASE_READ;
	uint64_t within = elector->facts.times.give_up / 2;

	elector->doing = what;
	elector->sent = fl_clock(elector->io);
	if (!reads)
		put_body(elector);
	elector->facts.claimed |= !reads;
	elector->facts.looked |= reads && elector->facts.stopping;
	elector->call = (struct fl_kube_call){
		.op = { .done = done, .err = &elector->err, .deadline = elector->sent + within },
		.verb = reads ? FL_KUBE_GET : what == FL_LEASE_CREATE ? FL_KUBE_CREATE : FL_KUBE_MERGE,
		.kind = &fl_lease_kind, .space = fl_str(elector->options.space), .name = fl_str(elector->options.name),
		.body = reads ? FL_S("") : fl_buf_view(&elector->body), .urgent = true, .item = item,
	};
	if (elector->facts.stopping)
		elector->call.op.deadline = elector->sent + FL_LEASE_RETRY;
	fl_kube_start(elector->kube, &elector->call);
}

static uint64_t jittered(struct fl_elector *elector, uint64_t at)
{
	uint64_t chance = 0, now = fl_now(elector->io);

	/* A leader is punctual; those who wait do not all come at once. */
	if (elector->leads || at <= now || fl_random(elector->io, &chance, sizeof chance, NULL) < 0)
		return at;
	return at + chance % ((at - now) / 4 + 1);
}

static void act(struct fl_elector *elector)
{
	struct fl_lease_facts facts = elector->facts;
	struct fl_lease_step step;

	facts.now = fl_clock(elector->io);
	step = fl_lease_next(&facts);
	if (step.lost)
		report_lead(elector, false);
	if (fl_op_busy(&elector->call.op)) {
		/* A renewal is under way; only the end of our time is of interest. */
		if (facts.stopping)
			fl_timer_set(elector->io, &elector->timer, elector->stop_waits);
		else if (elector->leads)
			fl_timer_set(elector->io, &elector->timer, fl_lease_until(&facts.times, facts.renewed));
		return;
	}
	if (step.what == FL_LEASE_OVER)
		give_up(elector);
	else if (step.what == FL_LEASE_WAIT)
		fl_timer_set(elector->io, &elector->timer, jittered(elector, step.at));
	else
		start(elector, step.what);
	if (elector->leads && !facts.stopping && step.what != FL_LEASE_WAIT)
		fl_timer_set(elector->io, &elector->timer, fl_lease_until(&facts.times, facts.renewed));
}

static void woken(struct fl_timer *timer)
{
	struct fl_elector *elector = fl_container(timer, struct fl_elector, timer);

	/* What was under way at the stop has had its time: has it arrived? */
	if (elector->facts.stopping && fl_op_busy(&elector->call.op)) {
		fl_op_cancel(&elector->call.op);
		elector->facts.known = false;
	}
	act(elector);
}

/* ---- the elector ---- */

struct fl_elector *fl_elector_new(struct fl_kube *kube, const struct fl_lease_options *options, struct fl_err *err)
{
	struct fl_elector *elector = fl_zalloc(sizeof *elector);

	if (!elector)
		return fl_null(err, FL_E_NOMEM, "no memory for an election");
	elector->kube = kube;
	elector->io = fl_kube_io(kube);
	elector->options = *options;
	elector->facts.times = options->times.duration ?
				       options->times :
				       (struct fl_lease_times){ FL_LEASE_DURATION, FL_LEASE_GIVE_UP, FL_LEASE_RETRY };
	elector->timer = (struct fl_timer){ .fire = woken };
	elector->holder = elector->version = FL_BUF(1 * FL_KIB);
	elector->body = FL_BUF(4 * FL_KIB);
	fl_timer_set(elector->io, &elector->timer, fl_now(elector->io));
	return elector;
}

struct fl_elector *fl_elector_free(struct fl_elector *elector)
{
	if (!elector)
		return NULL;
	fl_timer_stop(elector->io, &elector->timer);
	fl_op_cancel(&elector->call.op);
	if (elector->stop)
		fl_op_cancel(elector->stop);
	fl_buf_free(&elector->holder);
	fl_buf_free(&elector->version);
	fl_buf_free(&elector->body);
	fl_free(elector);
	return NULL;
}

static void stop_dropped(struct fl_op *op)
{
	struct fl_elector *elector = op->held;

	elector->stop = NULL;
}

void fl_elector_stop(struct fl_elector *elector, struct fl_op *op)
{
	fl_op_begin(op, elector->io, stop_dropped);
	op->held = elector;
	elector->stop = op;
	elector->facts.stopping = true;
	elector->stop_waits = fl_now(elector->io) + elector->facts.times.retry;
	fl_timer_stop(elector->io, &elector->timer);
	/* A write of ours may have landed: only its answer says which version is to be released. */
	if (!elector->facts.claimed)
		fl_op_cancel(&elector->call.op);
	act(elector);
}
