#include "plan/gpu/mps.h"
#include "plan/gpu/holders.h"
#include "plan/gpu/ids.h"
#include "plan/gpu/lists.h"
#include <stdarg.h>
#include <stdio.h>

static const char *const paths[] = { "phase",	"root",	   "program",  "libraries", "cards", "limits",
				     "threadPercentage", "healthy", "returned", "why", NULL };
const struct fl_owner fl_gpu_mps_owner = { "fairlead-mps", &fl_mps_kind, paths };
static const char *const card_paths[] = { "computeMode", NULL };
const struct fl_owner fl_gpu_mps_card_owner = { "fairlead-mps-mode", &fl_card_kind, card_paths };
static const char *const node_paths[] = { "status.conditions[type=MPSReady]", NULL };
const struct fl_owner fl_gpu_mps_node_owner = { "fairlead-mps-node", &fl_own_node_kind, node_paths };

static const struct fl_str whole = FL_S_INIT("nvidia.com/gpu");

struct mps {
	const struct fl_gpu_mps_facts *facts;
	struct fl_plan *plan;
	bool asked;                            /* the settings ask for MPS */
	int32_t replicas;
	uint32_t shared;                       /* GPUs */
	bool none;                             /* no GPU may be shared */
	bool up;                               /* the daemon runs with its limits, and its shares may be had */
	const char *reason;                    /* of the first problem; NULL: there is none */
	bool quiet;                            /* no problem but a step that takes a moment */
	struct fl_str problems;
	struct fl_str daemon;                  /* the resource of the first one that has trouble; empty: none has */
};

static void FL_PRINTF(4, 5) problem(struct mps *m, bool quiet, const char *reason, const char *fmt, ...)
{
	va_list args;

	if (!m->reason || (m->quiet && !quiet))
		m->reason = reason;
	m->quiet = (m->quiet || !m->problems.len) && quiet;
	va_start(args, fmt);
	fl_plan_append(m->plan, &m->problems, fmt, args);
	va_end(args);
}

/* ---- small things ---- */

static bool has(const struct fl_str_list *list, struct fl_str text)
{
	return fl_str_in(list->at, list->len, text);
}

static const struct fl_mps *find_mps(const struct fl_gpu_mps_facts *f, struct fl_str name)
{
	return fl_find(f->daemons, f->daemon_len, meta.name, name);
}

const struct fl_mps *fl_gpu_mps_has(const struct fl_mps *daemons, uint32_t len, const struct fl_card *card)
{
	for (uint32_t i = 0; i < len; i++)
		if (has(&daemons[i].marked, card->meta.name))
			return &daemons[i];
	return NULL;
}

bool fl_gpu_mps_shares(const struct fl_settings *s, struct fl_str name)
{
	for (uint32_t i = 0; s->mps && i < s->sharing.len; i++)
		if (fl_str_eq(s->sharing.at[i].renamed.len ? s->sharing.at[i].renamed : s->sharing.at[i].resource,
			      name))
			return true;
	return false;
}

static const struct fl_card *card_at(const struct fl_gpu_mps_facts *f, struct fl_str address)
{
	return fl_find(f->cards, f->card_len, meta.name, address);
}

static const struct fl_holder *holder_of(const struct fl_gpu_mps_facts *f, struct fl_str resource)
{
	return fl_find(f->holders, f->holder_len, resource, resource);
}

/* May a Pod hold a share of it? *ret_holder: one that does; NULL: none is known. */
static bool may_be_held(const struct mps *m, struct fl_str resource, const struct fl_holder **ret_holder)
{
	*ret_holder = holder_of(m->facts, resource);
	return *ret_holder || !fl_gpu_holders_known(m->facts->active, m->facts->settings, m->facts->now, m->plan);
}

/* Who has the GPU, or a part of it, under any name. */
static const struct fl_holder *holder_of_card(const struct fl_gpu_mps_facts *f, const struct fl_card *card)
{
	for (uint32_t i = 0; i < f->holder_len; i++)
		if (fl_gpu_holds_card(&f->holders[i], card))
			return &f->holders[i];
	return NULL;
}

struct fl_str fl_gpu_mps_limits(const struct fl_mps *mps, struct fl_arena *arena)
{
	struct fl_str text = FL_S("");

	for (uint32_t i = 0; text.p && i < mps->limits.len; i++)
		text = fl_arena_printf(arena, "%.*s%d=%lldM ", FL_ARG(text), (int)mps->limits.at[i].index,
				       (long long)mps->limits.at[i].memory);
	return text.p ? fl_arena_printf(arena, "%.*s%d%%", FL_ARG(text), (int)mps->threads) : text;
}

struct fl_str fl_gpu_mps_unready(const struct fl_mps *mps, const struct fl_card *card, bool *ret_soon)
{
	*ret_soon = false;
	if (!mps)
		return FL_S("MPS is not started; see the node's condition MPSReady");
	*ret_soon = !mps->healthy && !mps->message.len && !mps->fails;   /* one that joins later holds up nobody */
	if (!mps->healthy)
		return mps->why.len     ? mps->why :
		       mps->message.len ? mps->message :
					  FL_S("the MPS control daemon is being started");
	if (!has(&mps->marked, card->meta.name) || card->mode_read != FL_COMPUTE_EXCLUSIVE_PROCESS)
		return FL_S("its compute mode is not EXCLUSIVE_PROCESS yet; see the node's condition MPSReady");
	return FL_S("");
}

/* ---- one daemon ---- */

struct daemon {
	struct mps *m;
	struct fl_str name;
	const struct fl_mps *was;              /* NULL: it is not known yet */
	struct fl_mps want;
	const struct fl_card **cards;          /* GPUs that it serves, or may serve */
	uint32_t card_len;
};

static struct fl_ref ref_of(struct fl_str name)
{
	return (struct fl_ref){ &fl_mps_kind, FL_S(""), name, FL_S("") };
}

/* Everything as it is: a step that is wanted changes one thing of it. */
static void begin(struct daemon *d, struct mps *m, struct fl_str name)
{
	*d = (struct daemon){ .m = m, .name = name, .was = find_mps(m->facts, name) };
	if (d->was)
		d->want = *d->was;
	/* Of one that another agent left it is not known what it is: it is wanted as it is. */
	FL_SET(&d->want, phase, !d->was ? FL_MPS_OFF : d->was->has.is ? d->was->is : d->was->phase);
	d->want.cards = d->want.marked;
	d->want.has.cards = d->want.has.marked;
	FL_SET(&d->want, healthy, false);
	FL_UNSET(&d->want, why);
	d->cards = fl_plan_get(m->plan, m->facts->card_len, sizeof *d->cards);
}

static void want(struct daemon *d)
{
	fl_want(d->m->plan, &fl_gpu_mps_owner, ref_of(d->name), &d->want);
}

static void unhealthy(struct daemon *d, struct fl_str why)
{
	FL_SET(&d->want, healthy, false);
	if (why.len)
		FL_SET(&d->want, why, why);
}

/* ---- away with it ---- */

/* True: no GPU is in exclusive mode any more for our sake. What the driver told counts, not a write in flight: if that
 * fails and the record is gone, nobody restores the mode. */
static bool modes_restored(struct daemon *d)
{
	const struct fl_gpu_mps_facts *f = d->m->facts;
	bool all = f->driver->state == FL_DRIVER_READY;   /* not told yet is not restored */

	for (uint32_t i = 0; i < d->was->marked.len; i++) {
		const struct fl_card *card = card_at(f, d->was->marked.at[i]);

		if (!card || (card->mode_read != FL_COMPUTE_EXCLUSIVE_PROCESS && card->answer != FL_CARD_UNASKED))
			continue;
		all = false;
		if (f->driver->state == FL_DRIVER_READY && card->answer == FL_CARD_ANSWERS)
			fl_want(d->m->plan, &fl_gpu_mps_card_owner, FL_REF(&fl_card_kind, card),
				&(struct fl_card){ 0 });
	}
	return all;
}

/* `forget`: compute modes and record too. */
static void stop(struct mps *m, struct fl_str name, bool forget)
{
	const struct fl_holder *holder;
	struct daemon d;

	begin(&d, m, name);
	if (!d.was || !d.cards)
		return;
	if (!(d.was->has.is && d.was->is == FL_MPS_OFF) && may_be_held(m, name, &holder)) {
		if (holder)
			problem(m, false, "MPSStops",
				"the MPS daemon of %.*s stops when no Pod holds a share: %.*s/%.*s does", FL_ARG(name),
				FL_ARG(holder->pod_space), FL_ARG(holder->pod));
		else
			problem(m, false, "MPSStops",
				"the MPS daemon of %.*s stops when no Pod holds a share: the kubelet has not listed "
				"yet who does",
				FL_ARG(name));
		unhealthy(&d, FL_S("its MPS daemon stops when no Pod holds a share any more"));
	} else {
		unhealthy(&d, FL_S("its MPS daemon is stopped"));
		FL_SET(&d.want, phase, FL_MPS_OFF);
		if (d.was->has.is && d.was->is == FL_MPS_OFF && forget && modes_restored(&d)) {
			fl_want_gone(m->plan, ref_of(name));
			return;
		}
		if (d.was->message.len)
			problem(m, false, "MPSStops", "the MPS daemon of %.*s is not stopped: %.*s", FL_ARG(name),
				FL_ARG(d.was->message));
	}
	want(&d);
}

/* ---- here with it ---- */

static struct fl_str find_program(const struct mps *m)
{
	static const struct fl_str name = FL_S_INIT("/nvidia-cuda-mps-control");
	const struct fl_host *host = m->facts->host;

	for (uint32_t i = 0; host && i < host->paths.len; i++) {
		struct fl_str root = host->root, path = host->paths.at[i].path;

		while (root.len && root.p[root.len - 1] == '/')
			root.len--;
		if (host->paths.at[i].what == FL_HOST_BINARY && fl_str_ends(path, name))
			return fl_plan_printf(m->plan, "%.*s%.*s", FL_ARG(root), FL_ARG(path));
	}
	return FL_S("");
}

/* The folder of the driver's libraries, where the system's loader does not know it. */
static struct fl_str find_libraries(const struct mps *m)
{
	struct fl_str path = m->facts->driver->library;

	if (!m->facts->host || fl_str_eq(m->facts->host->root, FL_S("/")))
		return FL_S("");
	while (path.len && path.p[path.len - 1] != '/')
		path.len--;
	return fl_str_sub(path, 0, path.len ? path.len - 1 : 0);
}

/* May the card be shared by MPS at all? */
static bool fits(struct mps *m, const struct fl_card *card)
{
	if (card->mig) {
		problem(m, false, "MPSRefused", "GPU %.*s: sharing using MPS is not supported for MIG devices: switch "
						"MIG off, or use timeSlicing",
			FL_ARG(card->meta.name));
		return false;
	}
	if (card->has.compute && card->compute < 750 && m->replicas > FL_MPS_SHARES_OLD) {
		problem(m, false, "MPSRefused",
			"GPU %.*s serves at most %d clients of MPS (compute capability below 7.5), and not %d: set "
			"replicas to %d",
			FL_ARG(card->meta.name), FL_MPS_SHARES_OLD, (int)m->replicas,
			FL_MPS_SHARES_OLD);
		return false;
	}
	return card->uuid.len && card->has.index && card->memory > 0 && !fl_card_elsewhere(card);
}

/* GPUs of no pool; those that a Pod holds as a whole join later. */
static void collect(struct daemon *d)
{
	const struct fl_gpu_mps_facts *f = d->m->facts;

	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *card = &f->cards[i];
		bool marked = d->was && has(&d->was->marked, card->meta.name);
		const struct fl_holder *holder = marked ? NULL : holder_of_card(f, card);

		if (fl_gpu_pool_of(f->settings, card) || !fits(d->m, card))
			continue;
		if (holder)
			problem(d->m, false, "MPSWaits",
				"GPU %.*s is shared by MPS when %.*s/%.*s, which holds it, has ended",
				FL_ARG(card->meta.name), FL_ARG(holder->pod_space), FL_ARG(holder->pod));
		else
			d->cards[d->card_len++] = card;
	}
	d->m->shared = d->card_len;
}

static int by_index(const void *a, const void *b)
{
	const struct fl_mps_limit *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static bool set_limits(struct daemon *d)
{
	struct fl_plan *plan = d->m->plan;

	if (!FL_ELEMENTS(&d->want, plan->arena, limits, d->card_len)) {
		plan->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < d->card_len; i++) {
		FL_SET(&d->want.limits.at[i], index, d->cards[i]->index);
		FL_SET(&d->want.limits.at[i], memory, d->cards[i]->memory / d->m->replicas);
	}
	qsort(d->want.limits.at, d->card_len, sizeof *d->want.limits.at, by_index);
	FL_SET(&d->want, threads, 100 / d->m->replicas);
	return true;
}

/* True: the journal has them all. */
static bool recorded(struct daemon *d)
{
	const struct fl_str_list *marked = &d->want.marked;
	struct fl_str *all = fl_plan_get(d->m->plan, marked->len + d->card_len, sizeof *all);
	uint32_t len = marked->len;

	if (!all)
		return false;
	for (uint32_t i = 0; i < len; i++)
		all[i] = marked->at[i];
	for (uint32_t i = 0; i < d->card_len; i++)
		if (!has(marked, d->cards[i]->meta.name))
			all[len++] = d->cards[i]->meta.name;
	d->want.cards.at = all;
	d->want.cards.len = len;
	d->want.has.cards = 1;
	return len == marked->len;
}

/* True: one of them at least is in exclusive mode; the others follow. */
static bool modes_set(struct daemon *d)
{
	bool any = false;

	for (uint32_t i = 0; i < d->card_len; i++) {
		const struct fl_card *card = d->cards[i];
		struct fl_card mode = { 0 };

		FL_SET(&mode, compute_mode, FL_COMPUTE_EXCLUSIVE_PROCESS);
		if (card->answer == FL_CARD_ANSWERS)
			fl_want(d->m->plan, &fl_gpu_mps_card_owner, FL_REF(&fl_card_kind, card), &mode);
		any |= card->mode_read == FL_COMPUTE_EXCLUSIVE_PROCESS;
	}
	return any;
}

static void next_phase(struct daemon *d)
{
	enum fl_mps_phase is = d->was ? d->was->is : FL_MPS_OFF;
	const struct fl_holder *holder;

	switch (is) {
	case FL_MPS_OFF: FL_SET(&d->want, phase, FL_MPS_RUNNING); return;
	case FL_MPS_RUNNING:
	case FL_MPS_READY: FL_SET(&d->want, phase, FL_MPS_READY); return;
	case FL_MPS_DEAF:
		FL_SET(&d->want, phase, may_be_held(d->m, d->name, &holder) ? FL_MPS_DEAF : FL_MPS_OFF);
		return;
	case FL_MPS_PHASE_COUNT_: return;
	}
}

/* What is wrong with the daemon now; empty: nothing is. */
static struct fl_str trouble(const struct daemon *d)
{
	const struct fl_mps *was = d->was;
	struct fl_str limits = fl_gpu_mps_limits(&d->want, d->m->plan->arena);

	d->m->plan->failed |= !limits.p;
	if (was && was->message.len)
		return was->message;
	if (was && was->fault)
		return FL_S("a server reports a fault of a client: it ends all clients of that GPU");
	if (!was || was->is != FL_MPS_READY ||
	    !fl_str_eq(was->set, limits))
		return FL_S("the MPS control daemon is being started");
	return FL_S("");
}

/* Bad news at once, good news later. */
static void judge(struct daemon *d)
{
	const struct fl_settings *s = d->m->facts->settings;
	const struct fl_mps *was = d->was;
	uint64_t now = d->m->facts->now;
	struct fl_str why = trouble(d);
	const char *reason = !was || (!was->fails && !was->message.len) ? "MPSStarts" :
			     was->fault						? "MPSFault" :
										  "MPSDaemon";
	uint64_t again = was && was->has.returned ? (uint64_t)(was->returned + s->recovery_wait) : 0;

	if (why.len) {
		unhealthy(d, why);
		if (!d->m->daemon.len)
			d->m->daemon = d->name;
		problem(d->m, strcmp(reason, "MPSStarts") == 0, reason, "%.*s: %.*s", FL_ARG(d->name), FL_ARG(why));
		return;
	}
	if (!was->healthy && was->fails && (was->clean < s->recovery_checks || now < again)) {
		unhealthy(d, FL_S("the MPS control daemon is back; the agent checks it for a moment"));
		problem(d->m, true, "MPSRecovers", "%.*s: the daemon is back; the agent checks it for a moment",
			FL_ARG(d->name));
		if (now < again)
			fl_want_at(d->m->plan, again);
		return;
	}
	FL_SET(&d->want, healthy, true);
	d->m->up = true;
	if (!was->healthy && was->fails)
		FL_SET(&d->want, returned, (int64_t)now);
}

static void serve(struct mps *m, struct fl_str name)
{
	const struct fl_gpu_mps_facts *f = m->facts;
	const struct fl_mps *was = find_mps(f, name);
	struct fl_str program, libraries;
	struct daemon d;

	if (f->driver->state == FL_DRIVER_PAUSED ||
	    (was && was->marked.len && !fl_str_eq(was->root, f->settings->mps_root))) {
		/* Whoever pauses the driver wants it free of all processes; another directory is another daemon's. */
		stop(m, name, f->driver->state != FL_DRIVER_PAUSED);
		return;
	}
	if (f->driver->state != FL_DRIVER_READY)
		return;
	begin(&d, m, name);
	if (!d.cards)
		return;
	collect(&d);
	program = find_program(m);
	if (!program.len && f->host && f->host->has.seen)
		problem(m, false, "MPSNotInstalled",
			"the driver in %.*s has no nvidia-cuda-mps-control: install its compute utilities",
			FL_ARG(f->host->root));
	m->none = !d.card_len && (!was || !was->marked.len);
	if (m->none)
		return;
	if (!program.len && (!was || was->is == FL_MPS_OFF))
		return;
	FL_SET(&d.want, root, f->settings->mps_root);
	if (program.len)
		FL_SET(&d.want, program, program);
	libraries = find_libraries(m);
	FL_SET_TEXT(&d.want, libraries, libraries);
	if (!set_limits(&d))
		return;
	if (recorded(&d) && (modes_set(&d) || (was && was->is != FL_MPS_OFF)))
		next_phase(&d);
	judge(&d);
	want(&d);
}

/* ---- what is said on the Node ---- */

/* Of the daemon that has trouble; a GPU that is refused has none. */
static struct fl_str logs(const struct mps *m)
{
	return m->daemon.len ? fl_plan_printf(m->plan, ". Log: %.*s/%.*s/log/control.log",
					      FL_ARG(m->facts->settings->mps_root), FL_ARG(m->daemon)) : FL_S("");
}

/* Its clients fail when it ends, so an update of the agent ends them all. */
static bool ends_with_agent(const struct mps *m)
{
	bool ends = false;

	for (uint32_t i = 0; i < m->facts->daemon_len; i++)
		ends |= m->facts->daemons[i].ends;
	return ends;
}

static void want_ready(struct mps *m)
{
	bool ends = ends_with_agent(m);
	const struct fl_own_node *node = m->facts->node;
	struct fl_ref ref;

	if (!node)
		return;
	ref = FL_REF(&fl_own_node_kind, node);
	if (m->asked && m->facts->driver->state == FL_DRIVER_READY && !m->up && !m->reason)
		problem(m, true, "MPSStarts", "%s", m->none ? "no GPU is shared: those of pools never are"
							      : "the MPS control daemon is being started");
	if (m->reason)
		fl_want_condition(m->plan, &fl_gpu_mps_node_owner, ref, m->quiet ? FL_EMIT_NOBODY : FL_EMIT_WARNING,
				  "MPSReady", FL_CONDITION_FALSE, m->reason, "%.*s%.*s", FL_ARG(m->problems),
				  FL_ARG(m->quiet ? FL_S("") : logs(m)));
	else if (m->up)
		fl_want_condition(m->plan, &fl_gpu_mps_node_owner, ref, ends ? FL_EMIT_WARNING : FL_EMIT_NORMAL,
				  "MPSReady", FL_CONDITION_TRUE, "Ready", "%u GPUs are shared, %d clients each%s",
				  m->shared, (int)m->replicas,
				  ends ? "; the daemon is in the agent's cgroup: when the agent's container ends, the "
					 "daemon and its clients fail: let the agent change the host's cgroups "
					 "(privileged), or run it as a service of the host" : "");
	else if (!m->asked && fl_condition_find(&node->status.conditions, FL_S("MPSReady")))
		fl_want(m->plan, &fl_gpu_mps_node_owner, ref, &(struct fl_own_node){ 0 });
}

/* It is not known which configuration counts: daemons stay as they are, and the Node's condition does. Whoever pauses
 * the driver wants it free in any case. */
static void keep_all(struct mps *m)
{
	const struct fl_gpu_mps_facts *f = m->facts;

	for (uint32_t i = 0; f->driver->state == FL_DRIVER_PAUSED && i < f->daemon_len; i++)
		stop(m, f->daemons[i].meta.name, false);
}

void fl_gpu_mps_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_mps_facts *facts = facts_;
	const struct fl_settings *s = facts->settings;
	const struct fl_sharing *shared;
	struct mps m = { .facts = facts, .plan = plan };
	struct fl_str served = FL_S("");

	if (!s || !facts->driver)
		return;
	if (s->waits.len) {
		keep_all(&m);
		return;
	}
	shared = s->mps && s->unpooled ? fl_find(s->sharing.at, s->sharing.len, resource, whole) : NULL;
	if (shared) {
		served = shared->renamed.len ? shared->renamed : whole;
		m.replicas = shared->replicas;
		m.asked = true;
	}
	for (uint32_t i = 0; i < facts->daemon_len; i++)
		if (!m.asked || !fl_str_eq(facts->daemons[i].meta.name, served))
			stop(&m, facts->daemons[i].meta.name, true);
	if (m.asked)
		serve(&m, served);
	want_ready(&m);
}
