#include "plan/gpu/needs.h"

/* ---- the look at the host ---- */

bool fl_gpu_host_seen(const struct fl_host *host)
{
	struct fl_str seen = host->seen;

	return seen.len == host->version.len + 1 + host->layout.len && fl_str_starts(seen, host->version) &&
	       seen.p[host->version.len] == '/' && fl_str_ends(seen, host->layout);
}

bool fl_gpu_host_failed(const struct fl_host *host)
{
	return host->message.len && !host->seen.len;
}

/* In place of the words, when there is no memory for them: nothing is advertised all the same. */
static const struct fl_str no_words = FL_S_INIT("the driver's libcuda is missing");

static struct fl_str libraries_missing(const struct fl_host *host, struct fl_arena *arena)
{
	struct fl_str words;

	if (!host || !fl_gpu_host_seen(host) || !host->looked.len)
		return FL_S("");
	words = fl_arena_printf(arena,
				"libcuda.so.%.*s, which every GPU program needs, is in none of %.*s: install "
				"the driver's libraries of this version, or name their root by --driver-root",
				FL_ARG(host->version), FL_ARG(host->looked));
	return words.p ? words : no_words;
}

struct fl_str fl_gpu_libraries_missing(struct fl_plan *plan, const struct fl_host *host)
{
	struct fl_str words = libraries_missing(host, plan->arena);

	plan->failed |= words.p == no_words.p;
	return words;
}

bool fl_gpu_hook_does(const struct fl_settings *settings, enum fl_hook_part part)
{
	for (uint32_t i = 0; i < settings->disabled_hooks.len; i++)
		if (settings->disabled_hooks.at[i] == part)
			return false;
	return settings->hook.len > 0;
}

bool fl_gpu_hook_runs(const struct fl_settings *settings)
{
	for (int part = 0; part < FL_HOOK_COUNT_; part++)
		if (part != FL_HOOK_CHMOD && fl_gpu_hook_does(settings, (enum fl_hook_part)part))
			return true;
	return false;
}

struct fl_str fl_gpu_hook_missing(const struct fl_settings *settings, const struct fl_host *host)
{
	if (!fl_gpu_hook_runs(settings) || !host || !fl_gpu_host_seen(host) ||
	    fl_str_eq(host->hook_at, settings->hook))
		return FL_S("");
	return host->hook_message.len ? host->hook_message : FL_S("the program of the CDI hook is not installed yet");
}

struct fl_str fl_gpu_lacks(struct fl_plan *plan, const struct fl_settings *settings, const struct fl_host *host,
			   const char **ret_reason)
{
	struct fl_str missing = fl_gpu_libraries_missing(plan, host);

	*ret_reason = "LibrariesMissing";
	if (missing.len || !fl_gpu_by_cdi(settings))
		return missing;
	*ret_reason = "HookMissing";
	return fl_gpu_hook_missing(settings, host);
}

/* ---- device nodes ---- */

const struct fl_host_node *fl_gpu_node_at(const struct fl_host *host, struct fl_str path)
{
	return host ? fl_find(host->nodes.at, host->nodes.len, path, path) : NULL;
}

struct fl_gpu_nodes fl_gpu_nodes(struct fl_plan *plan, const struct fl_host *host, const struct fl_card *card,
				 const struct fl_partition *part)
{
	struct fl_gpu_nodes nodes = { .len = part ? 3 : 1 };

	if (card->has.minor)
		nodes.path[0] = fl_plan_printf(plan, "/dev/nvidia%d", (int)card->minor);
	if (part && part->has.gi_cap)
		nodes.path[1] = fl_plan_printf(plan, "/dev/nvidia-caps/nvidia-cap%d", (int)part->gi_cap);
	if (part && part->has.ci_cap)
		nodes.path[2] = fl_plan_printf(plan, "/dev/nvidia-caps/nvidia-cap%d", (int)part->ci_cap);
	for (uint32_t i = 0; i < nodes.len; i++)
		nodes.node[i] = nodes.path[i].len ? fl_gpu_node_at(host, nodes.path[i]) : NULL;
	return nodes;
}

struct fl_str fl_gpu_node_missing(const struct fl_gpu_nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->len; i++)
		if (!nodes->node[i])
			return nodes->path[i].len ? nodes->path[i] :
						    FL_S("a device node whose number is not known");
	return FL_S("");
}

/* ---- what is written ---- */

struct fl_str fl_gpu_written_root(const struct fl_settings *settings, const struct fl_host *host)
{
	return settings->driver_root.len ? settings->driver_root : host->root;
}

struct fl_str fl_gpu_written_dev(const struct fl_settings *settings, const struct fl_host *host)
{
	if (settings->dev_root.len)
		return settings->dev_root;
	return fl_str_eq(host->nodes_root, host->root) ? fl_gpu_written_root(settings, host) : host->nodes_root;
}

/* ---- all of it ---- */

bool fl_gpu_by_cdi(const struct fl_settings *settings)
{
	for (uint32_t i = 0; i < settings->device_lists.len; i++)
		if (settings->device_lists.at[i] == FL_BY_CDI || settings->device_lists.at[i] == FL_BY_CDI_ANNOTATIONS)
			return true;
	return false;
}

/* Whole, or with partitions: what a CDI file names. */
static bool has_devices(const struct fl_settings *settings, const struct fl_card *card)
{
	return card->answer == FL_CARD_ANSWERS && !fl_card_elsewhere(card) &&
	       (!card->mig || card->partitions.len || settings->mig == FL_MIG_NONE);
}

struct fl_str fl_gpu_needs(const struct fl_gpu_needs_facts *f, struct fl_arena *arena)
{
	struct fl_str missing = libraries_missing(f->host, arena);
	bool some = false;

	for (uint32_t i = 0; i < f->card_len; i++)
		some |= has_devices(f->settings, &f->cards[i]);
	if (!some)
		return FL_S("");
	if (f->host && fl_gpu_host_failed(f->host))
		return f->host->message;
	if (!f->host || !fl_gpu_host_seen(f->host))
		return FL_S("waits for the scan of the driver's files and device nodes");
	if (missing.len || !fl_gpu_by_cdi(f->settings))
		return missing;
	missing = fl_gpu_hook_missing(f->settings, f->host);
	if (missing.len)
		return missing;
	for (uint32_t i = 0; i < f->spec_len; i++)
		if (fl_str_eq(f->specs[i].kind, f->settings->cdi_kind) && f->specs[i].devices.len &&
		    f->specs[i].has.on_disk)
			return FL_S("");
	return FL_S("waits for the CDI file");
}
