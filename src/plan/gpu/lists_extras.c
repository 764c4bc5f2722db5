/* What containers get beside their cards. */
#include "plan/gpu/extras.h"
#include "plan/gpu/lists_in.h"

/* A name that leads to nothing keeps a container from starting. */
static bool extra_written(const struct lists *l, const struct fl_gpu_extra *extra)
{
	struct fl_str kind = fl_gpu_extra_kind(extra, l->facts->settings->cdi_kind, l->plan->arena);

	if (!kind.p) {
		l->plan->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < l->facts->spec_len; i++)
		if (fl_str_eq(l->facts->specs[i].kind, kind) && l->facts->specs[i].has.on_disk)
			return true;
	return false;
}

bool lists_choose_extras(struct lists *l)
{
	const struct fl_settings *s = l->facts->settings;
	bool all = true;

	l->extras = fl_plan_get(l->plan, s->extras.len, sizeof *l->extras);
	for (uint32_t i = 0; l->extras && i < s->extras.len; i++) {
		const struct fl_gpu_extra *extra = &fl_gpu_extras[s->extras.at[i]];
		bool seen = l->facts->host && l->facts->host->has.seen;

		if (!seen || (fl_gpu_extra_there(extra, l->facts->host) && l->by_cdi && !extra_written(l, extra))) {
			all = false;
		} else if (fl_gpu_extra_there(extra, l->facts->host)) {
			l->extras[l->extra_len++] = s->extras.at[i];
		} else if (l->facts->driver->state == FL_DRIVER_READY) {
			lists_problem(l, extra->reason, "%s is switched on, and %s", extra->words, extra->remedy);
			if (s->extras.at[i] == FL_EXTRA_IMEX && s->imex_required)
				l->refused = l->required = fl_plan_printf(l->plan, "%s is required, and %s",
									  extra->words, extra->remedy);
		}
	}
	return all;
}
