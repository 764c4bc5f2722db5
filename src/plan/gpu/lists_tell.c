/* What is said of the lists on the Node. */
#include "plan/gpu/lists_in.h"

/* ---- where the runtime reads CDI files ---- */

/* "/var/run/cdi/" and "/run/cdi" are the same. */
static struct fl_str plain(struct fl_str dir)
{
	while (dir.len > 1 && dir.p[dir.len - 1] == '/')
		dir.len--;
	return fl_str_starts(dir, FL_S("/var/run/")) ? fl_str_sub(dir, 4, dir.len) : dir;
}

static void check_directory(struct lists *l)
{
	const struct fl_runtime *runtime = l->facts->runtime;
	struct fl_str names = FL_S(""), file;
	bool crio;

	if (!l->by_cdi || !runtime || !runtime->cdi_dirs.len || !runtime->our_dir.len)
		return;
	crio = fl_str_eq(runtime->runtime, FL_S("cri-o"));
	for (uint32_t i = 0; i < runtime->cdi_dirs.len; i++) {
		if (fl_str_eq(plain(runtime->cdi_dirs.at[i]), plain(runtime->our_dir)))
			return;
		names = fl_plan_printf(l->plan, "%.*s%s%.*s", FL_ARG(names), i ? ", " : "",
				       FL_ARG(runtime->cdi_dirs.at[i]));
	}
	if (runtime->dirs_from.len)
		file = runtime->dirs_from;
	else if (crio)
		file = FL_S("a file in /etc/crio/crio.conf.d");
	else
		file = FL_S("its configuration");
	lists_problem(l, "CDIDirectory",
		      "the container runtime reads CDI files in %.*s, and the agent writes them to %.*s: name one of "
		      "those by --cdi-dir, or add this one to cdi_spec_dirs%s in %.*s",
		      FL_ARG(names), FL_ARG(runtime->our_dir),
		      crio ? " of [crio.runtime]" : "", FL_ARG(file));
}

/* The agent that serves reports. It has another state directory: one that holds this one's lock causes no trouble. */
static bool another_serves(const struct fl_gpu_lists_facts *facts)
{
	for (uint32_t i = 0; i < facts->socket_len; i++)
		if (facts->sockets[i].live && !facts->sockets[i].ours &&
		    fl_str_starts(facts->sockets[i].meta.name, FL_S("fairlead-")))
			return true;
	return false;
}

static bool has_trouble(const struct fl_gpu_lists_facts *facts, const char *dir)
{
	return fl_find(facts->dirs, facts->dir_len, meta.name, fl_str(dir)) != NULL;
}

/* While the state directory is neither ours nor in trouble, another agent has it: nothing is said. */
bool lists_blocked(const struct fl_gpu_lists_facts *facts)
{
	return (has_trouble(facts, FL_DIR_STATE) || (facts->state_known && has_trouble(facts, FL_DIR_CDI))) &&
	       !another_serves(facts);
}

void lists_look_at_dirs(struct lists *l)
{
	const struct fl_gpu_lists_facts *f = l->facts;

	for (uint32_t i = 0; i < f->dir_len; i++) {
		const struct fl_dir_trouble *dir = &f->dirs[i];

		if (fl_str_eq(dir->meta.name, FL_S(FL_DIR_STATE)))
			lists_problem(l, "StateDirectory", "%.*s", FL_ARG(dir->why));
		else if (fl_str_eq(dir->meta.name, FL_S(FL_DIR_CDI)) && (l->by_cdi || !f->specs_known))
			lists_problem(l, "CDINotWritten", "%.*s", FL_ARG(dir->why));
		else if (fl_str_eq(dir->meta.name, FL_S(FL_DIR_KUBELET)))
			lists_problem(l, "NotRegistered", "%.*s", FL_ARG(dir->why));
	}
}

/* ---- conditions ---- */

/* After all that is known to be wrong, as this may be: cards are handed out meanwhile. A runtime that has told nothing
 * for a moment has no message. */
static void tell_runtime(struct lists *l, uint32_t served)
{
	const struct fl_runtime *runtime = l->facts->runtime;

	if (!served || !l->by_cdi || !runtime || runtime->cdi_known || !runtime->message.len)
		return;
	lists_problem(l, "RuntimeUnknown",
		      "it is unknown whether the container runtime has CDI enabled; where it is not, Pods start "
		      "without their GPUs: mount its socket and name it by --runtime-socket, update one that is older "
		      "than CDI, or choose another --device-list-strategy: %.*s",
		      FL_ARG(runtime->message));
}

/* What is not taken of the settings makes no card unready. */
static void tell_settings(struct lists *l, struct fl_ref node)
{
	const struct fl_settings *s = l->facts->settings;

	if (s->message.len)
		fl_want_condition(l->plan, &fl_gpu_lists_node_owner, node, FL_EMIT_WARNING, "GPUConfigApplied",
				  FL_CONDITION_FALSE, "Invalid", "%.*s", FL_ARG(s->message));
	else if (s->untaken.len || l->pools.len)
		fl_want_condition(l->plan, &fl_gpu_lists_node_owner, node, FL_EMIT_WARNING, "GPUConfigApplied",
				  FL_CONDITION_FALSE, s->untaken.len ? "PartlyIgnored" : LISTS_POOLS, "%.*s%s%.*s",
				  FL_ARG(s->untaken), s->untaken.len && l->pools.len ? "; " : "", FL_ARG(l->pools));
	else
		fl_want_condition(l->plan, &fl_gpu_lists_node_owner, node, FL_EMIT_NOBODY, "GPUConfigApplied",
				  FL_CONDITION_TRUE, "Applied", "the settings are applied");
}

/* A restart of the agent is no news of the GPUs: the condition stays as it is, or is not there yet, while all that is
 * missing comes by itself in a moment. */
static bool settles(struct lists *l)
{
	const struct fl_gpu_lists_facts *f = l->facts;
	uint64_t until = (uint64_t)f->settings->started + FL_LISTS_SETTLE;

	if (!f->settings->has.started || f->now >= until)
		return false;
	if (f->driver->state != FL_DRIVER_STARTING &&
	    (f->driver->state != FL_DRIVER_READY || !l->reason || l->lasting || f->settings->message.len))
		return false;
	fl_want_at(l->plan, until);
	return true;
}

static void tell_as_before(struct lists *l, struct fl_ref node, const char *type)
{
	const struct fl_condition *before = fl_condition_find(&l->facts->node->status.conditions, fl_str(type));
	struct fl_str reason = before ? fl_plan_printf(l->plan, "%.*s", FL_ARG(before->reason)) : FL_S("");

	if (before && reason.p)
		fl_want_condition(l->plan, &fl_gpu_lists_node_owner, node, FL_EMIT_NOBODY, type, before->status,
				  reason.p, "%.*s", FL_ARG(before->message));
}

/* Not known yet is never absent: what was wrong with the pools stays so until the driver has told of all cards. */
static bool pools_as_before(const struct lists *l)
{
	const struct fl_condition *before =
		fl_condition_find(&l->facts->node->status.conditions, FL_S("GPUConfigApplied"));

	return l->pools_unknown && before && fl_str_eq(before->reason, FL_S(LISTS_POOLS)) &&
	       !l->facts->settings->message.len && !l->facts->settings->untaken.len;
}

/* Of the node's cards, those that are in a list. */
static uint32_t count_listed(const struct lists *l)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < l->facts->card_len; c++) {
		bool is = false;

		for (uint32_t i = 0; i < l->len && !is; i++)
			is = fl_find(l->at[i].units, l->at[i].len, card, l->facts->cards[c].meta.name) != NULL;
		n += is;
	}
	return n;
}

/* GPUs that this node's driver may have. */
static uint32_t count_cards(const struct lists *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->facts->card_len; i++)
		n += !fl_card_elsewhere(&l->facts->cards[i]);
	return n;
}

/* The condition GPUsReady, for the Node and for Readiness. */
struct ready {
	enum fl_emit tell;
	enum fl_condition_status is;
	const char *reason;
	struct fl_str message;
};

static struct ready bad(const char *reason, struct fl_str message)
{
	return (struct ready){ FL_EMIT_WARNING, FL_CONDITION_FALSE, reason, message };
}

static struct fl_str served_words(struct lists *l, uint32_t served)
{
	uint32_t cards = l->facts->card_len, listed = count_listed(l);
	struct fl_str of = listed < cards ? fl_plan_printf(l->plan, "%u of ", listed) : FL_S("");

	return fl_plan_printf(l->plan, "%.*s%u GPU%s, %u resource%s", FL_ARG(of), cards, cards == 1 ? "" : "s",
			      served, served == 1 ? "" : "s");
}

static const struct fl_str none_asked = FL_S_INIT(
	"no GPU is served: no pool has one, and GPUs without a pool are off: set --unpooled=true, or name GPUs with "
	"--pool");

static struct ready judge(struct lists *l, uint32_t served)
{
	const struct fl_gpu_lists_facts *f = l->facts;
	struct fl_str wrong = f->settings->message;

	if (f->driver->state != FL_DRIVER_READY)
		return bad("DriverNotReady",
			   fl_plan_printf(l->plan, "the driver is %s: %.*s",
					  fl_name(&fl_driver_state_names, (int)f->driver->state),
					  FL_ARG(f->driver->message)));
	if (wrong.len && !l->reason)
		return bad("Configuration", wrong);
	if (l->reason)
		return bad(l->reason,
			   fl_plan_printf(l->plan, "%.*s%s%.*s", FL_ARG(l->problems), wrong.len ? "; " : "",
					  FL_ARG(wrong)));
	if (!served && l->pools.len)
		return bad(LISTS_POOLS, l->pools);
	if (!served)
		return (struct ready){ f->card_len ? FL_EMIT_WARNING : FL_EMIT_NORMAL, FL_CONDITION_TRUE, "NoResources",
				       f->card_len ? none_asked : FL_S("there is no GPU") };
	return (struct ready){ FL_EMIT_NORMAL, FL_CONDITION_TRUE, "Ready", served_words(l, served) };
}

/* Does this node's set-up keep all its GPUs back, whatever comes by itself? A driver that is absent with its kernel
 * module loaded is installed elsewhere; one that is served keeps its resources while it is replaced. */
static bool set_up_wrong(const struct lists *l, uint32_t served)
{
	const struct fl_driver *driver = l->facts->driver;

	if (!count_cards(l))
		return false;
	switch (driver->state) {
	case FL_DRIVER_READY: return l->required.len || (!served && !l->others && (l->set_up || l->pools.len));
	case FL_DRIVER_ABSENT:
	case FL_DRIVER_MISMATCH: return !served && driver->kernel.len;
	case FL_DRIVER_STARTING:
	case FL_DRIVER_SICK:
	case FL_DRIVER_PAUSED:
	case FL_DRIVER_STATE_COUNT_: return false;
	}
	return false;
}

static void want_ready(struct lists *l, const struct ready *ready, bool blocked)
{
	struct fl_ref ref = { &fl_readiness_kind, FL_S(""), FL_S("gpus"), FL_S("") };
	struct fl_readiness is = { 0 };

	FL_SET(&is, blocked, blocked);
	if (blocked)
		FL_SET(&is, why, fl_plan_printf(l->plan, "%s: %.*s", ready->reason, FL_ARG(ready->message)));
	else if (ready->message.p == none_asked.p)
		FL_SET(&is, why, ready->message);
	fl_want(l->plan, &fl_gpu_lists_ready_owner, ref, &is);
	fl_want_condition(l->plan, &fl_gpu_lists_ready_owner, ref, ready->tell, FL_GPUS_READY, ready->is, ready->reason,
			  "%.*s", FL_ARG(ready->message));
}

/* What ends by itself in a moment is no other cause of what is told already. */
static enum fl_emit tell_of(const struct lists *l, const struct ready *ready)
{
	const struct fl_readiness *was = l->facts->readiness;
	const struct fl_condition *before =
		was ? fl_condition_find(&was->status.conditions, FL_S(FL_GPUS_READY)) : NULL;
	bool moment = l->facts->driver->state == FL_DRIVER_READY && l->reason && !l->lasting;

	return moment && before && before->status == FL_CONDITION_FALSE ? FL_EMIT_NOBODY : ready->tell;
}

void lists_tell(struct lists *l, uint32_t served)
{
	struct ready ready;
	struct fl_ref ref;
	bool moment;

	check_directory(l);
	tell_runtime(l, served);
	if (l->devices > FL_LISTS_NAMED)
		l->problems = fl_plan_printf(l->plan, "%.*s; %u more devices", FL_ARG(l->problems),
					     l->devices - FL_LISTS_NAMED);
	moment = settles(l);
	ready = judge(l, served);
	ready.tell = tell_of(l, &ready);
	if (!moment)
		want_ready(l, &ready, set_up_wrong(l, served));
	if (!l->facts->node)
		return;
	ref = FL_REF(&fl_own_node_kind, l->facts->node);
	if (moment)
		tell_as_before(l, ref, FL_GPUS_READY);
	else
		fl_want_condition(l->plan, &fl_gpu_lists_node_owner, ref, ready.tell, FL_GPUS_READY, ready.is,
				  ready.reason, "%.*s", FL_ARG(ready.message));
	if ((moment && l->facts->settings->waits.len) || pools_as_before(l))
		tell_as_before(l, ref, "GPUConfigApplied");
	else
		tell_settings(l, ref);
}
