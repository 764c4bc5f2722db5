#include "plan/gpu/flaps.h"
#include "base/units.h"

#define FL_FLAP_TOLD 10                       /* break counts are exact up to this; above it: "more than" */
#define FL_FLAP_RELAPSES_MAX 32               /* doublings: they exceed FL_SETTINGS_WAIT_MAX from 1 us on */

static bool is_counted(const struct fl_settings *settings)
{
	return settings->recovery_wait > 0 && settings->recovery_wait_max > settings->recovery_wait;
}

static bool is_newer(const struct fl_gpu_flap_facts *facts, const struct fl_card_fault *fault)
{
	return fault->last > facts->before->broke && fl_gpu_fault_counts(facts->health->settings, fault) &&
	       fl_gpu_fault_concerns(fault, facts->part);
}

/* One that is not back yet has broken again when it was well by a look in between. */
static bool broke_again(const struct fl_gpu_flap_facts *facts)
{
	const struct fl_gpu_health_facts *health = facts->health;

	if (!facts->before->well || fl_gpu_clean_looks(health, facts->part) ||
	    health->now < (uint64_t)facts->before->broke + FL_GPU_LOOK_SOON)
		return false;
	if (!fl_gpu_look_is_clean(health->card))
		return true;
	for (uint32_t i = 0; i < health->fault_len; i++)
		if (is_newer(facts, &health->faults[i]))
			return true;
	return false;
}

static int32_t less(int32_t count, uint64_t windows)
{
	return (uint64_t)count > windows ? count - (int32_t)windows : 0;
}

static void set(struct fl_health *health, int32_t breaks, int32_t relapses, int64_t broke, bool well)
{
	FL_SET(health, breaks, breaks);
	if (relapses)
		FL_SET(health, relapses, relapses);
	FL_SET(health, broke, broke);
	if (well)
		FL_SET(health, well, true);
}

/* Windows without a break until now. */
static uint64_t windows_since(const struct fl_health *health, uint64_t now)
{
	uint64_t last = (uint64_t)(health->returned > health->broke ? health->returned : health->broke);

	return now > last ? (now - last) / FL_FLAP_WINDOW : 0;
}

static void count_break(const struct fl_gpu_flap_facts *facts, struct fl_health *health)
{
	const struct fl_health *before = facts->before;
	uint64_t now = facts->health->now, windows = windows_since(before, now);
	int32_t breaks = less(before->breaks, windows), relapses = less(before->relapses, windows);

	if (before->state == FL_HEALTHY && breaks && relapses < FL_FLAP_RELAPSES_MAX)
		relapses++;
	set(health, breaks > FL_FLAP_TOLD ? breaks : breaks + 1, relapses, (int64_t)now, false);
}

void fl_gpu_flaps_count(const struct fl_gpu_flap_facts *facts, struct fl_health *health)
{
	const struct fl_health *before = facts->before;
	const struct fl_card *card = facts->health->card;

	if (!before || !card || !is_counted(facts->health->settings))
		return;
	if (facts->sick && (before->state == FL_HEALTHY || broke_again(facts)))
		count_break(facts, health);
	else if (before->breaks)
		set(health, before->breaks, before->relapses, before->broke,
		    health->state != FL_HEALTHY && (before->well || fl_gpu_clean_looks(facts->health, facts->part)));
}

uint64_t fl_gpu_flap_wait(const struct fl_settings *settings, const struct fl_health *health, uint64_t now)
{
	uint64_t wait = 2 * (uint64_t)settings->recovery_wait, most = (uint64_t)settings->recovery_wait_max;
	uint64_t windows = windows_since(health, now);
	int32_t relapses = less(health->relapses, windows);

	if (!is_counted(settings) || less(health->breaks, windows) < FL_FLAP_BREAKS)
		return 0;
	for (int32_t i = FL_FLAP_BREAKS - 1; i < relapses && wait < most; i++)
		wait *= 2;
	return wait < most ? wait : most;
}

static struct fl_str duration(struct fl_plan *plan, uint64_t ns)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64);

	fl_buf_duration(&text, (int64_t)ns);
	plan->failed |= text.failed;
	return fl_plan_printf(plan, "%.*s", FL_ARG(fl_buf_view(&text)));
}

struct fl_str fl_gpu_flap_words(struct fl_plan *plan, const struct fl_settings *settings,
				const struct fl_health *health, uint64_t now)
{
	int32_t breaks = less(health->breaks, windows_since(health, now));
	bool more = breaks > FL_FLAP_TOLD;

	return fl_plan_printf(plan, "break count %s%d, one less after each %.*s without a break: it is handed out "
				    "again after %.*s without a fault",
			      more ? "more than " : "", more ? FL_FLAP_TOLD : (int)breaks,
			      FL_ARG(duration(plan, FL_FLAP_WINDOW)),
			      FL_ARG(duration(plan, fl_gpu_flap_wait(settings, health, now))));
}
