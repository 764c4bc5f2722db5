#include "plan/gpu/health.h"
#include "base/units.h"
#include "plan/gpu/flaps.h"
#include "plan/gpu/ids.h"

/* A driver that has failed for so long has failed its cards, which are handed out no more. Not for a child that is
 * replaced: at once and then after a quarter of a second, a half, one and two, and each is given its second or two to
 * load the library. */
#define FL_GPU_SICK_GRACE (10 * FL_NS_PER_S)

static const char *const paths[] = { "card", "state", "cause", "since", "returned", "breaks", "relapses", "broke",
				     "well", "boot", "identity", "status.conditions[type=Healthy]",
				     "status.conditions[type=Flapping]", NULL };
const struct fl_owner fl_gpu_health_owner = { "fairlead-health", &fl_health_kind, paths };

#define NO_PART (-1)

/* How sure we are that something is wrong; the greater the worse. */
enum grade {
	FINE,
	UNSURE,                                /* not handed out, until more is known */
	SURE,
};

/* The worst that is known of a card or partition. */
struct verdict {
	enum grade grade;
	bool sick;                             /* it must prove itself before it comes back */
	bool keep;                             /* nobody can say anything just now: it stays as it was */
	bool failing;                          /* for the driver fails as a whole, which it may not for ever */
	struct fl_str cause;                   /* one word */
	struct fl_str says;
	const char *remedy;
	struct fl_str note;                    /* of one that is fine all the same */
};

struct subject {
	const struct fl_gpu_health_facts *facts;
	struct fl_plan *plan;
	struct fl_str name;                    /* the card's address, or a partition's UUID */
	const struct fl_partition *part;       /* NULL: the card */
};

static void worse(struct verdict *v, enum grade grade, bool sick, struct fl_str cause, struct fl_str says,
		  const char *remedy)
{
	if (grade < v->grade || (grade == v->grade && v->sick >= sick))
		return;
	*v = (struct verdict){ .grade = grade, .sick = sick, .cause = cause, .says = says, .remedy = remedy,
			       .note = v->note };
}

/* ---- what the driver and the card say by themselves ---- */

/* The driver's message has the cause and the remedy; the other words are for one that has none. */
static void away(const struct fl_driver *driver, const char *cause, const char *says, const char *remedy,
		 struct verdict *v)
{
	bool told = driver->message.len > 0;

	worse(v, SURE, false, fl_str(cause), told ? driver->message : fl_str(says), told ? "" : remedy);
}

static void look_at_driver(const struct fl_driver *driver, struct verdict *v)
{
	switch (driver->state) {
	case FL_DRIVER_ABSENT:
		away(driver, "DriverAbsent", "its driver is not there",
		     "install or load the driver; it is reopened without a restart", v);
		return;
	case FL_DRIVER_PAUSED:
		worse(v, SURE, false, FL_S("Paused"),
		      FL_S("the GPU driver is paused, as fairlead pause or a label of the Node asks"),
		      "run fairlead resume on the node, or remove the label nvidia.com/gpu.deploy.* whose value "
		      "begins with paused-for-");
		return;
	case FL_DRIVER_MISMATCH:
		away(driver, "DriverMismatch", "the driver's library and its kernel module differ",
		     "let the upgrade end, or reload the kernel module", v);
		return;
	case FL_DRIVER_SICK:
		v->failing = v->keep = true;   /* it may be a child that is replaced */
		return;
	case FL_DRIVER_STARTING:
		v->keep = true;   /* cards that are sick say so themselves */
		return;
	case FL_DRIVER_READY:
	case FL_DRIVER_STATE_COUNT_:
		return;
	}
}

static void look_at_answer(const struct fl_card *card, struct verdict *v)
{
	struct fl_str why = card->message.len ? card->message : FL_S("it does not answer the driver");

	switch (card->answer) {
	case FL_CARD_LOST:
		worse(v, SURE, true, FL_S("Lost"), why, "drain the node and reset the GPU, or reboot the node");
		return;
	case FL_CARD_HUNG:
		worse(v, SURE, true, FL_S("Hung"), why,
		      "the agent checks it again; if it still hangs, drain the node and reboot it");
		return;
	case FL_CARD_FAILS:
		worse(v, UNSURE, true, FL_S("Fails"), why, "if it persists, check nvidia-smi and the kernel log");
		return;
	case FL_CARD_UNASKED:
		v->keep = true;
		return;
	case FL_CARD_ANSWERS:
	case FL_CARD_ANSWER_COUNT_:
		return;
	}
}

static void look_at_recovery(const struct fl_card *card, struct verdict *v)
{
	if (!card->has.recovery)
		return;
	switch (card->recovery) {
	case FL_RECOVERY_RESET:
		worse(v, SURE, true, FL_S("NeedsReset"), FL_S("the driver requests a reset"),
		      "drain the Pods that hold it, then " FL_GPU_RESET);
		return;
	case FL_RECOVERY_REBOOT:
		worse(v, SURE, true, FL_S("NeedsReboot"), FL_S("the driver requests a reboot of the node"),
		      "drain the node and reboot it");
		return;
	case FL_RECOVERY_DRAIN_P2P:
		worse(v, SURE, true, FL_S("NeedsDrain"), FL_S("the driver requests that traffic between GPUs end"),
		      "end the Pods that use several GPUs of this node");
		return;
	case FL_RECOVERY_DRAIN_RESET:
		worse(v, SURE, true, FL_S("NeedsDrainAndReset"), FL_S("the driver requests a drain and a reset"),
		      "drain the node, then " FL_GPU_RESET);
		return;
	case FL_RECOVERY_IMEX:
		v->note = FL_S("its IMEX domain needs recovery; work within this node is not affected");
		return;
	case FL_RECOVERY_NONE:
	case FL_RECOVERY_COUNT_:
		return;
	}
}

/* Also after this agent has been started anew, when nobody has the report any more. */
static bool memory_went_bad(const struct fl_health *before)
{
	struct fl_str xid = FL_S("Xid");
	int64_t number;

	if (before->state == FL_HEALTHY)
		return false;
	if (fl_str_eq(before->cause, FL_S("Ecc")))
		return true;
	return fl_str_starts(before->cause, xid) &&
	       fl_str_i64(fl_str_sub(before->cause, xid.len, before->cause.len), &number) &&
	       fl_xid_find(number)->bad_memory;
}

static void look_at_memory(const struct fl_card *card, const struct fl_health *before, struct verdict *v)
{
	if (card->remap_failed)
		worse(v, SURE, true, FL_S("RowRemapFailed"), FL_S("a row of its memory could not be remapped"),
		      "drain the node and have the GPU replaced");
	else if (card->remap_pending && before && memory_went_bad(before))
		worse(v, SURE, true, before->cause,
		      FL_S("its memory had an uncorrectable error: a reset remaps the row"),
		      "drain the Pods that hold it, then " FL_GPU_RESET);
	else if (card->remap_pending)
		v->note = FL_S("a row of its memory is remapped at the next reset: reset it when no process uses it");
}

/* The mask has two bits for each question: 1 is yes, 2 is no. */
static bool told(int64_t mask, int at)
{
	return (mask >> at & 3) == 1;
}

static void look_at_fabric(const struct fl_card *card, struct verdict *v)
{
	const struct fl_fabric *fabric = &card->fabric;
	int64_t setup = fabric->health >> 8 & 15;

	if (!card->has.fabric || !fabric->state)
		return;
	if (fabric->state != 3) {
		worse(v, UNSURE, false, FL_S("FabricNotReady"), FL_S("it has not joined its NVLink fabric yet"),
		      "start nvidia-fabricmanager, or wait for it");
		return;
	}
	if (fabric->status)
		worse(v, SURE, true, FL_S("FabricFailed"), FL_S("it could not join its NVLink fabric"),
		      "check the log of nvidia-fabricmanager, then restart it");
	if (!fabric->has.health)
		return;
	if (told(fabric->health, 4) || told(fabric->health, 6))
		worse(v, SURE, true, FL_S("FabricUnhealthy"), FL_S("its NVLink fabric cannot be reached"),
		      "check the switches and the log of nvidia-fabricmanager");
	if (setup > 1)
		worse(v, SURE, true, FL_S("FabricMisconfigured"), FL_S("its NVLink fabric is set up wrongly"),
		      "check the fabric's partitions and the log of nvidia-fabricmanager");
	if (told(fabric->health, 2))
		worse(v, UNSURE, true, FL_S("FabricRecovers"), FL_S("routes of its NVLink fabric are being repaired"),
		      "wait; then check the switches");
	if (told(fabric->health, 0))
		v->note = FL_S("its NVLink fabric has less bandwidth than it should");
}

/* Of `before` it may be that nothing is known: NULL. */
static void look_at_card(const struct fl_card *card, const struct fl_health *before, struct verdict *v)
{
	look_at_answer(card, v);
	look_at_recovery(card, v);
	look_at_memory(card, before, v);
	look_at_fabric(card, v);
}

bool fl_gpu_look_is_clean(const struct fl_card *card)
{
	struct verdict v = { .remedy = "" };

	look_at_card(card, NULL, &v);
	return !v.sick && !v.keep;
}

/* ---- what was reported ---- */

static bool has_number(const int64_t *list, uint32_t len, int64_t number)
{
	for (uint32_t i = 0; i < len; i++)
		if (list[i] == number)
			return true;
	return false;
}

bool fl_gpu_fault_counts(const struct fl_settings *s, const struct fl_card_fault *fault)
{
	if (fault->what != FL_FAULT_XID)
		return s->health;
	if (!s->health)
		return has_number(s->heeded.at, s->heeded.len, fault->xid);
	return !has_number(s->ignored.at, s->ignored.len, fault->xid);
}

bool fl_gpu_fault_concerns(const struct fl_card_fault *fault, const struct fl_partition *part)
{
	if (!fault->has.gi)
		return true;
	return part && part->gi == fault->gi && (!fault->has.ci || part->ci == fault->ci);
}

int32_t fl_gpu_clean_looks(const struct fl_gpu_health_facts *facts, const struct fl_partition *part)
{
	int32_t least = facts->card ? facts->card->clean : 0;

	for (uint32_t i = 0; i < facts->fault_len; i++) {
		const struct fl_card_fault *fault = &facts->faults[i];

		if (fault->clean < least && fl_gpu_fault_counts(facts->settings, fault) &&
		    fl_gpu_fault_concerns(fault, part))
			least = fault->clean;
	}
	return least;
}

/* Is the card well by what it answers now, and has it been for long enough, also since this fault? */
static bool proven(const struct fl_gpu_health_facts *facts, const struct fl_card_fault *fault)
{
	const struct fl_card *card = facts->card;

	return facts->driver->state == FL_DRIVER_READY && card && fl_gpu_look_is_clean(card) &&
	       card->clean >= facts->settings->recovery_checks && fault->clean >= facts->settings->recovery_checks;
}

/* Over: nobody needs to know of it any more. One that has only just come is not: the first look after it may have begun
 * before it. */
static bool over(const struct fl_gpu_health_facts *facts, const struct fl_card_fault *fault)
{
	if (!fl_gpu_fault_counts(facts->settings, fault))
		return true;
	return proven(facts, fault) && facts->now >= (uint64_t)fault->last + FL_GPU_LOOK_SOON;
}

static void look_at_xid(struct fl_plan *plan, const struct fl_card_fault *fault, struct verdict *v)
{
	const struct fl_xid *xid = fl_xid_find(fault->xid);
	bool sure = fault->count > 1;

	switch (xid->class) {
	case FL_XID_APPLICATION:   /* somebody wants it heeded */
	case FL_XID_LOOK:
		break;
	case FL_XID_RESET:
	case FL_XID_REBOOT:
	case FL_XID_HARDWARE:
	case FL_XID_CLASS_COUNT_:
		sure = true;
		break;
	}
	worse(v, sure ? SURE : UNSURE, true, fl_plan_printf(plan, "Xid%lld", (long long)fault->xid),
	      fl_plan_printf(plan, "XID %lld: %s", (long long)fault->xid, xid->says), xid->remedy);
}

static void look_at_fault(struct fl_plan *plan, const struct fl_card_fault *fault, struct verdict *v)
{
	switch (fault->what) {
	case FL_FAULT_XID:
		look_at_xid(plan, fault, v);
		return;
	case FL_FAULT_ECC:
		worse(v, SURE, true, FL_S("Ecc"), FL_S("its memory had an uncorrectable error"),
		      "drain the Pods that hold it, then " FL_GPU_RESET);
		return;
	case FL_FAULT_RECOVERY:
		worse(v, UNSURE, true, FL_S("Recovery"), FL_S("the driver requests a recovery action"),
		      "see its recovery action: nvidia-smi -q");
		return;
	case FL_FAULT_UNAVAILABLE:
		worse(v, SURE, true, FL_S("Unavailable"), FL_S("the driver reports it as unavailable"),
		      "drain the node and reset the GPU, or reboot the node");
		return;
	case FL_FAULT_WHAT_COUNT_:
		return;
	}
}

/* Errors that were counted while nobody was there to hear of them. Those that a report goes with are that report's: an
 * error that one application has paid for is no reason to keep the card away. */
static void look_at_errors(const struct subject *s, const struct fl_health *before, struct verdict *v)
{
	static const struct fl_card_fault unheard = { .what = FL_FAULT_ECC };
	const struct fl_card *card = s->facts->card;

	if (before && before->identity.has.ecc && card->ecc > before->identity.ecc &&
	    fl_str_eq(card->uuid, before->identity.uuid) && fl_gpu_fault_counts(s->facts->settings, &unheard))
		look_at_fault(s->plan, &unheard, v);
}

static struct verdict judge(const struct subject *s, const struct fl_health *before)
{
	const struct fl_gpu_health_facts *facts = s->facts;
	struct verdict v = { .remedy = "" };
	bool reported = false;

	look_at_driver(facts->driver, &v);
	look_at_card(facts->card, before, &v);
	for (uint32_t i = 0; i < facts->fault_len; i++) {
		if (!fl_gpu_fault_concerns(&facts->faults[i], s->part) || over(facts, &facts->faults[i]))
			continue;
		look_at_fault(s->plan, &facts->faults[i], &v);
		reported = true;
	}
	if (!reported)
		look_at_errors(s, before, &v);
	return v;
}

/* ---- from state to state ---- */

static const struct fl_health *find_before(const struct fl_gpu_health_facts *facts, struct fl_str name)
{
	return fl_find(facts->before, facts->before_len, meta.name, name);
}

/* What stood on another boot's clock is longer ago than anything counts. */
static bool same_boot(const struct fl_gpu_health_facts *facts, const struct fl_health *before)
{
	return before && fl_str_eq(before->boot, facts->boot) && (uint64_t)before->since <= facts->now;
}

/* "; held by team/job, team/other": whom it concerns. */
static struct fl_str held_by(const struct subject *s)
{
	const struct fl_gpu_health_facts *facts = s->facts;
	struct fl_str text = FL_S("");

	for (uint32_t i = 0; i < facts->holder_len; i++) {
		const struct fl_holder *holder = &facts->holders[i];
		bool holds = false;

		for (uint32_t k = 0; k < holder->devices.len; k++) {
			int64_t replica;
			struct fl_str id = fl_gpu_id_base(holder->devices.at[k], &replica);

			holds |= s->part ? fl_str_eq(id, s->name) : true;
		}
		if (holds)
			text = fl_plan_printf(s->plan, "%.*s%s%.*s/%.*s", FL_ARG(text), text.len ? ", " : "; held by ",
					      FL_ARG(holder->pod_space), FL_ARG(holder->pod));
	}
	return text;
}

/* Has it been so for that long? If not, it is looked at again when it has. `before`: as it was left if it was so then,
 * or it begins now. */
static bool has_lasted(const struct subject *s, const struct fl_health *before, uint64_t wait)
{
	uint64_t since = before && same_boot(s->facts, before) ? (uint64_t)before->since : s->facts->now;
	uint64_t until = since + wait;

	if (s->facts->now >= until)
		return true;
	fl_want_at(s->plan, until);
	return false;
}

/* A Suspect that stays one is no suspect any more. */
static enum fl_health_state bad_state(const struct subject *s, const struct verdict *v, const struct fl_health *before)
{
	bool suspect = before && before->state == FL_SUSPECT;

	if (v->grade == SURE || (before && before->state == FL_UNHEALTHY && v->sick))
		return FL_UNHEALTHY;
	if (v->sick && has_lasted(s, suspect ? before : NULL, (uint64_t)s->facts->settings->recovery_wait))
		return FL_UNHEALTHY;
	return FL_SUSPECT;
}

bool fl_gpu_cause_is_of_all(struct fl_str cause)
{
	static const struct fl_str causes[] = { FL_S_INIT("DriverAbsent"), FL_S_INIT("Paused"),
						FL_S_INIT("DriverMismatch"), FL_S_INIT("DriverSick") };

	return fl_str_in(causes, FL_LEN(causes), cause);
}

bool fl_gpu_cause_is_driver(struct fl_str cause)
{
	return fl_gpu_cause_is_of_all(cause) || fl_str_eq(cause, FL_S("FabricNotReady"));
}

/* Was it away for a reason that is no sickness? The cause says it, since that is all that is kept. */
static bool was_away(const struct fl_health *before)
{
	return fl_gpu_cause_is_driver(before->cause) || fl_str_eq(before->cause, FL_S("Gone"));
}

static enum fl_health_state good_state(const struct subject *s, const struct fl_health *before)
{
	const struct fl_gpu_health_facts *facts = s->facts;
	uint64_t until, flap_wait;

	if (!before || before->state == FL_HEALTHY)
		return FL_HEALTHY;
	flap_wait = same_boot(facts, before) ? fl_gpu_flap_wait(facts->settings, before, facts->now) : 0;
	if (flap_wait && !fl_gpu_cause_is_driver(before->cause) &&
	    !has_lasted(s, before->state == FL_RECOVERING ? before : NULL, flap_wait))
		return FL_RECOVERING;
	if (!was_away(before) && facts->card->clean < facts->settings->recovery_checks)
		return FL_RECOVERING;
	if (!before->has.returned || !same_boot(facts, before) || (uint64_t)before->returned > facts->now)
		return FL_HEALTHY;
	until = (uint64_t)before->returned + (uint64_t)facts->settings->recovery_wait;
	if (facts->now >= until)
		return FL_HEALTHY;
	fl_want_at(s->plan, until);
	return FL_RECOVERING;
}

/* Kept for an agent that comes after this one and is told nothing by the card. */
static void set_identity(const struct subject *s, const struct fl_health *before, struct fl_health *health)
{
	const struct fl_card *card = s->facts->card;
	struct fl_identity *identity;

	if (!card || !card->uuid.len || (s->part && s->part->gi == NO_PART)) {
		if (before && before->has.identity)
			FL_SET(health, identity, before->identity);
		return;
	}
	identity = FL_IN(health, identity);
	FL_SET(identity, uuid, card->uuid);
	if (card->has.index)
		FL_SET(identity, index, card->index);
	if (card->has.minor)
		FL_SET(identity, minor, card->minor);
	if (card->mig)
		FL_SET(identity, mig, true);
	if (card->has.ecc)
		FL_SET(identity, ecc, card->ecc);
	if (s->part)
		FL_SET(identity, part, *s->part);
}

/* After `recoveryWait` a lasting fault is shown with its own remedy instead of Flapping. */
static bool tells_flapping(const struct subject *s, const struct verdict *v, const struct fl_health *health)
{
	uint64_t until = (uint64_t)health->broke + (uint64_t)s->facts->settings->recovery_wait;

	if (!fl_gpu_flap_wait(s->facts->settings, health, s->facts->now) || health->state == FL_HEALTHY)
		return false;
	if (health->state == FL_RECOVERING)
		return true;
	if (!v->sick || s->facts->now >= until)
		return false;
	fl_want_at(s->plan, until);
	return true;
}

/* Beside what it breaks with: these words stay. */
static void tell_flapping(const struct subject *s, struct fl_ref ref, const struct fl_health *health,
			  struct fl_str holders)
{
	struct fl_str words = fl_gpu_flap_words(s->plan, s->facts->settings, health, s->facts->now);

	fl_want_condition(s->plan, &fl_gpu_health_owner, ref, FL_EMIT_WARNING, "Flapping", FL_CONDITION_TRUE,
			  "Flapping", "%.*s: fairlead_gpu_faults_total counts its faults; if it continues, drain the "
				      "node, reset the GPU or have it replaced%.*s",
			  FL_ARG(words), FL_ARG(holders));
}

static struct fl_str remedy_for(const struct subject *s, const char *remedy)
{
	const char *which = strstr(remedy, FL_GPU_WHICH);

	if (!which)
		return fl_str(remedy);
	return fl_plan_printf(s->plan, "%.*s%.*s%s", (int)(which - remedy), remedy, FL_ARG(s->facts->address),
			      which + strlen(FL_GPU_WHICH));
}

static void want(const struct subject *s, enum fl_health_state state, const struct verdict *v,
		 const struct fl_health *before)
{
	const struct fl_gpu_health_facts *facts = s->facts;
	struct fl_ref ref = { &fl_health_kind, FL_S(""), s->name, FL_S("") };
	struct fl_health health = { 0 };
	bool same = same_boot(facts, before) && before->state == state && fl_str_eq(before->cause, v->cause);
	struct fl_str holders, remedy;
	bool flaps;

	FL_SET(&health, card, facts->address);
	FL_SET(&health, state, state);
	FL_SET_TEXT(&health, cause, v->cause);
	FL_SET(&health, since, same ? before->since : (int64_t)facts->now);
	if (state == FL_HEALTHY && before && before->state != FL_HEALTHY)
		FL_SET(&health, returned, (int64_t)facts->now);
	else if (same_boot(facts, before) && before->has.returned)
		FL_SET(&health, returned, before->returned);
	FL_SET_TEXT(&health, boot, facts->boot);
	set_identity(s, before, &health);
	fl_gpu_flaps_count(&(struct fl_gpu_flap_facts){ facts, s->part, same_boot(facts, before) ? before : NULL,
							v->sick && v->grade != FINE }, &health);
	fl_want(s->plan, &fl_gpu_health_owner, ref, &health);
	if (state == FL_HEALTHY) {
		fl_want_condition(s->plan, &fl_gpu_health_owner, ref, before ? FL_EMIT_NORMAL : FL_EMIT_NOBODY,
				  "Healthy", FL_CONDITION_TRUE, "Healthy", "%.*s",
				  FL_ARG(v->note.len ? v->note : FL_S("answers, no fault left")));
		return;
	}
	holders = held_by(s);
	remedy = remedy_for(s, v->remedy);
	flaps = tells_flapping(s, v, &health);
	/* Its causes may alternate each second; Flapping is told. */
	fl_want_condition(s->plan, &fl_gpu_health_owner, ref,
			  flaps && before && before->state != FL_HEALTHY ? FL_EMIT_NOBODY : FL_EMIT_WARNING, "Healthy",
			  FL_CONDITION_FALSE, fl_plan_printf(s->plan, "%.*s", FL_ARG(v->cause)).p, "%s%.*s%s%.*s%.*s",
			  state == FL_RECOVERING ? "recovering after " : "", FL_ARG(v->says), remedy.len ? ": " : "",
			  FL_ARG(remedy), FL_ARG(holders));
	if (flaps)
		tell_flapping(s, ref, &health, holders);
}

/* Nobody can say anything new of it just now. What has never been looked at has no health yet, and is in no list. */
static void keep(const struct subject *s, const struct fl_health *before)
{
	struct fl_ref ref = { &fl_health_kind, FL_S(""), s->name, FL_S("") };

	if (before)
		fl_say(s->plan, ref, "Kept", "no new information: it stays %s",
		       fl_name(&fl_health_state_names, (int)before->state));
	else
		fl_say(s->plan, ref, "NotLookedAt", "it has not been checked yet");
}

/* A card that was well notes that its driver fails, so that it is known since when, and is handed out no more when that
 * has lasted. One that is not handed out as it is stays so, for what it has itself. true: it is planned. */
static bool plan_failing(const struct subject *s, const struct verdict *v, const struct fl_health *before)
{
	const struct fl_driver *driver = s->facts->driver;
	struct verdict sick = { .grade = SURE, .cause = FL_S("DriverSick"), .note = v->note,
				.remedy = "the agent retries; if it persists, check nvidia-smi and the "
					  "kernel log, then reboot the node" };
	bool noted = before && fl_str_eq(before->cause, sick.cause), unhealthy;

	if (!v->failing || !before || (before->state != FL_HEALTHY && !(before->state == FL_UNHEALTHY && noted)))
		return false;
	unhealthy = before->state == FL_UNHEALTHY || has_lasted(s, noted ? before : NULL, FL_GPU_SICK_GRACE);
	sick.says = fl_plan_printf(s->plan, "its driver fails as a whole%s%.*s", driver->message.len ? ": " : "",
				   FL_ARG(driver->message));
	want(s, unhealthy ? FL_UNHEALTHY : FL_HEALTHY, &sick, before);
	return true;
}

static void plan_subject(const struct subject *s)
{
	const struct fl_health *before = find_before(s->facts, s->name);
	struct verdict v = judge(s, before);
	enum fl_health_state state;

	if (v.grade != FINE) {
		want(s, bad_state(s, &v, before), &v, before);
		return;
	}
	if (v.keep) {
		if (!plan_failing(s, &v, before))
			keep(s, before);
		return;
	}
	state = good_state(s, before);
	if (state == FL_RECOVERING) {
		v.cause = before->cause;
		v.says = before->cause;
		v.remedy = "it recovers when it has been healthy for long enough";
	}
	want(s, state, &v, before);
}

/* ---- what is gone ---- */

static bool is_there(const struct fl_gpu_health_facts *facts, struct fl_str name)
{
	if (facts->card && fl_str_eq(name, facts->address))
		return true;
	return facts->card && fl_find(facts->card->partitions.at, facts->card->partitions.len, uuid, name);
}

/* A partition that is not told of while nobody can ask is not gone: it goes the way of its card. Nor is a card gone
 * before it is known which there are: what it had would be forgotten, and it would come as one that is well. */
static void plan_missing(const struct fl_gpu_health_facts *facts, struct fl_plan *plan, bool known)
{
	bool asked = facts->driver->state == FL_DRIVER_READY && facts->card &&
		     facts->card->answer == FL_CARD_ANSWERS;
	const struct verdict gone = { .grade = SURE, .cause = FL_S("Gone"), .says = FL_S("it is not there any more"),
				      .remedy = "delete the Pods that hold it; if it should be there, "
						"reboot the node" };

	for (uint32_t i = 0; i < facts->before_len; i++) {
		const struct fl_health *before = &facts->before[i];
		struct subject s = { facts, plan, before->meta.name, NULL };
		struct fl_partition part = { .uuid = before->meta.name, .gi = NO_PART, .ci = NO_PART };

		if (is_there(facts, before->meta.name))
			continue;
		if (facts->card && !asked) {
			s.part = &part;
			plan_subject(&s);
		} else if (!facts->card && !known) {
			keep(&s, before);
		} else if (facts->card ? fl_gpu_held(facts->holders, facts->holder_len, before->meta.name) :
					 facts->holder_len > 0) {
			s.part = fl_str_eq(before->meta.name, facts->address) ? NULL : &part;
			want(&s, FL_UNHEALTHY, &gone, before);
		} else {
			fl_want_gone(plan, FL_REF(&fl_health_kind, before));
		}
	}
}

/* ---- who holds it ---- */

/* Is it the card's, or that of a part of it? Also of one that is gone: then its health or its list still knows it. */
static bool is_of_card(const struct fl_gpu_health_facts *facts, const struct fl_resource *resources,
		       uint32_t len,
		       struct fl_str id)
{
	if (facts->card && fl_gpu_card_has(facts->card, id))
		return true;
	for (uint32_t i = 0; i < facts->before_len; i++)
		if (fl_str_eq(facts->before[i].meta.name, id) || fl_str_eq(facts->before[i].identity.uuid, id))
			return true;
	for (uint32_t i = 0; i < len; i++) {
		const struct fl_unit *unit = fl_gpu_unit_find(&resources[i], id);

		if (unit && fl_str_eq(unit->card, facts->address))
			return true;
	}
	return false;
}

void fl_gpu_health_holders(struct fl_gpu_health_facts *facts, struct fl_holder *all, uint32_t len,
			   const struct fl_resource *resources, uint32_t resource_len)
{
	facts->holders = all;
	for (uint32_t i = 0; i < len; i++) {
		bool holds = false;

		for (uint32_t k = 0; k < all[i].devices.len; k++) {
			int64_t replica;

			holds |= is_of_card(facts, resources, resource_len,
					    fl_gpu_id_base(all[i].devices.at[k], &replica));
		}
		if (holds)
			all[facts->holder_len++] = all[i];
	}
}

/* ---- all of it ---- */

void fl_gpu_health_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_health_facts *facts = facts_;
	struct fl_gpu_health_facts without = *facts;
	bool elsewhere = facts->card && fl_card_elsewhere(facts->card), known;

	if (!facts->settings || !facts->driver)
		return;   /* nobody has looked yet: everything stays as it is */
	/* Where the bus cannot be seen, the driver alone knows cards. */
	known = facts->driver->state == FL_DRIVER_READY || elsewhere;
	if (elsewhere) {
		without.card = NULL;
		facts = &without;
	}
	for (uint32_t i = 0; i < facts->fault_len; i++)
		if (over(facts, &facts->faults[i]))
			fl_want_gone(plan, FL_REF(&fl_card_fault_kind, &facts->faults[i]));
		else if (proven(facts, &facts->faults[i]))
			fl_want_at(plan, (uint64_t)facts->faults[i].last + FL_GPU_LOOK_SOON);
	plan_missing(facts, plan, known);
	if (!facts->card)
		return;
	plan_subject(&(struct subject){ facts, plan, facts->address, NULL });
	for (uint32_t i = 0; i < facts->card->partitions.len; i++) {
		const struct fl_partition *part = &facts->card->partitions.at[i];

		plan_subject(&(struct subject){ facts, plan, part->uuid, part });
	}
}
