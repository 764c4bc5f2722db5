#include "plan/gpu/cdi_in.h"
#include "plan/gpu/extras.h"

/* ---- what the runtime can read ---- */

/* Is its version older than that? Numbers after each other: "v1.7.16-rc1" is 1, 7, 16. */
static bool is_older(struct fl_str version, const int64_t than[3])
{
	uint32_t at = fl_str_starts(version, FL_S("v"));

	for (int i = 0; i < 3; i++) {
		int64_t number = 0;
		uint32_t from = at;

		for (; at < version.len && version.p[at] >= '0' && version.p[at] <= '9' && number < 100000; at++)
			number = number * 10 + (version.p[at] - '0');
		if (at == from)
			return false;
		if (number != than[i])
			return number < than[i];
		at += at < version.len && version.p[at] == '.';
	}
	return false;
}

/* A file of a version that a runtime does not know is lost as a whole: one known to be older than CDI 0.7.0 gets none
 * of what that brought. */
static bool knows_gids(const struct fl_runtime *runtime)
{
	static const int64_t containerd[] = { 1, 7, 16 }, crio[] = { 1, 30, 0 };

	if (!runtime)
		return true;
	if (fl_str_eq(runtime->runtime, FL_S("containerd")))
		return !is_older(runtime->version, containerd);
	return !fl_str_eq(runtime->runtime, FL_S("cri-o")) || !is_older(runtime->version, crio);
}

bool cdi_gids_allowed(const struct cdi *c)
{
	return knows_gids(c->facts->runtime) && !cdi_has_flag(c, FL_CDI_NO_ADDITIONAL_GIDS);
}

/* ---- the lowest version that has all of it: a runtime refuses what it does not know ---- */

static bool edits_have_gids(const struct fl_cdi_spec *spec)
{
	bool some = spec->edits.gids.len > 0;

	for (uint32_t i = 0; i < spec->devices.len; i++)
		some |= spec->devices.at[i].edits.gids.len > 0;
	return some;
}

static bool needs_0_5(const struct fl_cdi_spec *spec)
{
	for (uint32_t i = 0; i < spec->edits.nodes.len; i++)
		if (spec->edits.nodes.at[i].has.host_path)
			return true;
	for (uint32_t i = 0; i < spec->devices.len; i++) {
		const struct fl_cdi_device *device = &spec->devices.at[i];

		if (device->name.p[0] >= '0' && device->name.p[0] <= '9')
			return true;
		for (uint32_t k = 0; k < device->edits.nodes.len; k++)
			if (device->edits.nodes.at[k].has.host_path)
				return true;
	}
	return false;
}

struct fl_str cdi_version(const struct fl_cdi_spec *spec)
{
	int64_t slash = fl_str_find(spec->kind, '/');

	if (edits_have_gids(spec))
		return FL_S("0.7.0");
	if (fl_str_find(fl_str_sub(spec->kind, (uint32_t)slash + 1, spec->kind.len), '.') >= 0)
		return FL_S("0.6.0");
	return needs_0_5(spec) ? FL_S("0.5.0") : FL_S("0.3.0");
}

/* ---- the file ---- */

/* "vendor-class", as the specification wants it for a file that stays. */
struct fl_str cdi_file_name(struct fl_plan *plan, struct fl_str kind)
{
	int64_t slash = fl_str_find(kind, '/');

	if (slash < 0)
		return kind;
	return fl_plan_printf(plan, "%.*s-%.*s", FL_ARG(fl_str_sub(kind, 0, (uint32_t)slash)),
			      FL_ARG(fl_str_sub(kind, (uint32_t)slash + 1, kind.len)));
}

/* Everybody's files are told. Ours are those of a kind that we have written or NVIDIA's plugin before us: of the same
 * class, as a hook of ours shows or the variable with which each of ours begins, and named after their kind. */
static bool is_ours(struct cdi *c, const struct fl_cdi_spec *spec)
{
	if (!fl_str_eq(spec->meta.name, cdi_file_name(c->plan, spec->kind)))
		return false;
	if (fl_str_eq(spec->kind, c->facts->settings->cdi_kind))
		return true;
	for (uint32_t i = 0; i < spec->edits.hooks.len; i++)
		if (spec->edits.hooks.at[i].args.len > 1 &&
		    fl_str_eq(spec->edits.hooks.at[i].args.at[0], FL_S("fairlead")) &&
		    fl_str_eq(spec->edits.hooks.at[i].args.at[1], FL_S("cdi-hook")))
			return true;
	return false;
}

/* ---- what containers get beside their cards: a file each ---- */

/* One whose nodes are gone stays as it was written, for they may come back. */
static void put_extra(struct cdi *c, enum fl_extra which)
{
	const struct fl_gpu_extra *extra = &fl_gpu_extras[which];
	const struct fl_host *host = c->facts->host;
	struct fl_str kind = fl_gpu_extra_kind(extra, c->facts->settings->cdi_kind, c->plan->arena);
	struct fl_ref ref = { &fl_cdi_spec_kind, FL_S(""), cdi_file_name(c->plan, kind), FL_S("") };
	struct cdi own = { .facts = c->facts, .plan = c->plan, .gids = c->gids };
	struct fl_cdi_edits edits = { 0 };

	c->plan->failed |= !kind.p;
	if (!kind.p || !fl_gpu_extra_there(extra, host))
		return;
	own.room = 1;
	edits.mounts.at = fl_plan_get(c->plan, host->paths.len, sizeof *edits.mounts.at);
	own.spec.devices.at = fl_plan_get(c->plan, 1, sizeof *own.spec.devices.at);
	if (!edits.mounts.at || !own.spec.devices.at || !cdi_nodes_begin(&own, &edits, host->nodes.len))
		return;
	for (uint32_t i = 0; i < host->nodes.len; i++)
		if (fl_gpu_extra_has(extra, host->nodes.at[i].path))
			cdi_put_node(&own, &edits, &host->nodes.at[i]);
	for (uint32_t i = 0; which == FL_EXTRA_GDS && i < host->paths.len; i++)
		if (host->paths.at[i].what == FL_HOST_CONFIG)
			cdi_put_path(&own, &edits, &host->paths.at[i]);
	edits.has.mounts = edits.mounts.len > 0;
	FL_SET(&own.spec, kind, kind);
	own.spec.has.devices = 1;
	cdi_put_device(&own, extra->device, &edits);
	FL_SET(&own.spec, version, cdi_version(&own.spec));
	fl_want(c->plan, &fl_gpu_cdi_owner, ref, &own.spec);
}

static bool is_handed_out(const struct cdi *c, enum fl_extra which)
{
	for (uint32_t i = 0; i < c->facts->resource_len; i++)
		for (uint32_t k = 0; k < c->facts->resources[i].extras.len; k++)
			if (c->facts->resources[i].extras.at[k] == which)
				return true;
	return false;
}

/* One that is switched off. The kubelet gives its name again to each container of a Pod that starts anew, and tells
 * nobody which Pods have it, for what it counts are cards: so it goes when no list hands it out any more and no Pod has
 * a card. */
static void drop_extra(struct cdi *c, enum fl_extra which)
{
	struct fl_str kind = fl_gpu_extra_kind(&fl_gpu_extras[which], c->facts->settings->cdi_kind, c->plan->arena);
	struct fl_str name = cdi_file_name(c->plan, kind);

	c->plan->failed |= !kind.p;
	for (uint32_t i = 0; kind.p && i < c->facts->spec_len; i++) {
		const struct fl_cdi_spec *spec = &c->facts->specs[i];

		if (!fl_str_eq(spec->meta.name, name) || !fl_str_eq(spec->kind, kind))
			continue;
		if (!is_handed_out(c, which) && !cdi_any_held(c))
			fl_want_gone(c->plan, FL_REF(&fl_cdi_spec_kind, spec));
		else
			fl_say(c->plan, FL_REF(&fl_cdi_spec_kind, spec), "Kept",
			       "it is disabled; the agent removes it when no Pod has a GPU, as one of them may use it");
	}
}

static bool is_wanted(const struct cdi *c, enum fl_extra which)
{
	for (uint32_t i = 0; i < c->facts->settings->extras.len; i++)
		if (c->facts->settings->extras.at[i] == which)
			return true;
	return false;
}

void cdi_put_extras(struct cdi *c)
{
	for (uint32_t i = 0; i < c->facts->settings->extras.len; i++)
		put_extra(c, c->facts->settings->extras.at[i]);
	for (int which = 0; which < FL_EXTRA_COUNT_; which++)
		if (!is_wanted(c, (enum fl_extra)which))
			drop_extra(c, (enum fl_extra)which);
}

/* Files of another kind that we wrote go when nobody holds a name of them. */
void cdi_sweep(struct cdi *c, struct fl_str name)
{
	for (uint32_t i = 0; i < c->facts->spec_len; i++) {
		const struct fl_cdi_spec *spec = &c->facts->specs[i];
		bool used = false;

		if (fl_str_eq(spec->meta.name, name) || !is_ours(c, spec))
			continue;
		for (uint32_t k = 0; k < spec->devices.len; k++)
			used |= cdi_held(c, spec->devices.at[k].name);
		if (!used)
			fl_want_gone(c->plan, FL_REF(&fl_cdi_spec_kind, spec));
	}
}
