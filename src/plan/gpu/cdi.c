#include "plan/gpu/cdi_in.h"
#include <stdlib.h>

static const char *const paths[] = { "cdiVersion", "kind", "devices", "containerEdits", NULL };
const struct fl_owner fl_gpu_cdi_owner = { "fairlead-cdi", &fl_cdi_spec_kind, paths };

/* ---- devices ---- */

/* "card1" or "renderD128": what programs draw by. */
static bool is_dri(struct fl_str name)
{
	return fl_str_starts(name, FL_S("card")) || fl_str_starts(name, FL_S("renderD"));
}

/* Programs that draw find a card's nodes by its address: /dev/dri/by-path/pci-0000:01:00.0-card -> ../card1. */
static void put_by_path(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_card *card)
{
	struct fl_cdi_hook *hook = NULL;

	for (uint32_t i = 0; i < card->dri.len; i++) {
		struct fl_str name = card->dri.at[i];

		if (!is_dri(name) || !fl_gpu_hook_does(c->facts->settings, FL_HOOK_SYMLINKS) ||
		    !fl_gpu_node_at(c->facts->host, fl_plan_printf(c->plan, "/dev/dri/%.*s", FL_ARG(name))))
			continue;
		if (!hook)
			hook = cdi_hook_begin(c, edits, 2 * card->dri.len);
		if (!hook)
			return;
		hook->args.at[hook->args.len++] = FL_S("--link");
		hook->args.at[hook->args.len++] = fl_plan_printf(
			c->plan, "../%.*s::/dev/dri/by-path/pci-%.*s-%s", FL_ARG(name), FL_ARG(card->meta.name),
			fl_str_starts(name, FL_S("card")) ? "card" : "render");
	}
}

/* A whole card draws; of partitions only those that were made for it. */
static bool draws(const struct fl_partition *part)
{
	return !part || memmem(part->profile.p, part->profile.len, "+gfx", 4);
}

static const struct fl_cdi_device *find_device(const struct fl_cdi_spec *spec, struct fl_str name)
{
	return spec ? fl_find(spec->devices.at, spec->devices.len, name, name) : NULL;
}

void cdi_put_device(struct cdi *c, struct fl_str name, const struct fl_cdi_edits *edits)
{
	struct fl_cdi_device *device;

	if (!name.len || find_device(&c->spec, name))
		return;
	if (c->spec.devices.len == c->room) {
		c->plan->failed = true;   /* the room was counted */
		return;
	}
	device = &c->spec.devices.at[c->spec.devices.len++];
	FL_SET(device, name, name);
	FL_SET(device, edits, *edits);
}

/* A card or a part of it: what it cannot do without, and nodes for graphics. */
static bool device_edits(struct cdi *c, const struct fl_card *card, const struct fl_partition *part,
			 struct fl_cdi_edits *ret)
{
	struct fl_gpu_nodes nodes = fl_gpu_nodes(c->plan, c->facts->host, card, part);
	struct fl_str missing = fl_gpu_node_missing(&nodes);

	*ret = (struct fl_cdi_edits){ 0 };
	if (missing.len) {
		fl_say(c->plan, FL_REF(&fl_card_kind, card), "NoCDI",
		       "%.*s is missing: %.*s is left out of the CDI file",
		       FL_ARG(missing), FL_ARG(part ? part->uuid : card->uuid));
		return false;
	}
	if (!cdi_nodes_begin(c, ret, nodes.len + card->dri.len))
		return false;
	for (uint32_t i = 0; i < nodes.len; i++)
		cdi_put_node(c, ret, nodes.node[i]);
	for (uint32_t i = 0; draws(part) && i < card->dri.len; i++) {
		struct fl_str path = fl_plan_printf(c->plan, "/dev/dri/%.*s", FL_ARG(card->dri.at[i]));
		const struct fl_host_node *node = fl_gpu_node_at(c->facts->host, path);

		if (node && is_dri(card->dri.at[i]))
			cdi_put_node(c, ret, node);
	}
	if (draws(part))
		put_by_path(c, ret, card);
	return true;
}

static void put_card(struct cdi *c, const struct fl_card *card)
{
	struct fl_cdi_edits edits;

	/* A card that is cut is handed out by its parts, unless somebody said that nobody is to look at parts. */
	if ((!card->mig || c->facts->settings->mig == FL_MIG_NONE) && device_edits(c, card, NULL, &edits)) {
		cdi_put_device(c, card->uuid, &edits);
		if (card->has.index)
			cdi_put_device(c, fl_plan_printf(c->plan, "%d", (int)card->index), &edits);
	}
	for (uint32_t i = 0; card->mig && i < card->partitions.len; i++) {
		const struct fl_partition *part = &card->partitions.at[i];

		if (!device_edits(c, card, part, &edits))
			continue;
		cdi_put_device(c, part->uuid, &edits);
		if (card->has.index && part->has.index)
			cdi_put_device(c, fl_plan_printf(c->plan, "%d:%d", (int)card->index, (int)part->index), &edits);
	}
}

/* ---- all of them ---- */

static bool has_node(const struct fl_cdi_edits *edits, struct fl_str path)
{
	return fl_find(edits->nodes.at, edits->nodes.len, path, path) != NULL;
}

/* Each once, although a device has two names. */
static void add_hook(struct fl_cdi_edits *all, const struct fl_cdi_hook *hook)
{
	for (uint32_t i = 0; i < all->hooks.len; i++)
		if (fl_equal(fl_cdi_hook_bind(), &all->hooks.at[i], hook))
			return;
	all->hooks.at[all->hooks.len++] = *hook;
}

/* The union of all devices. */
static void put_all(struct cdi *c)
{
	struct fl_cdi_edits all = { 0 };
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->spec.devices.len; i++)
		count += c->spec.devices.at[i].edits.nodes.len;
	all.hooks.at = count ? fl_plan_get(c->plan, c->spec.devices.len, sizeof *all.hooks.at) : NULL;
	if (!all.hooks.at || !cdi_nodes_begin(c, &all, count))
		return;
	for (uint32_t i = 0; i < c->spec.devices.len; i++) {
		const struct fl_cdi_edits *edits = &c->spec.devices.at[i].edits;

		for (uint32_t k = 0; k < edits->nodes.len; k++)
			if (!has_node(&all, edits->nodes.at[k].path))
				all.nodes.at[all.nodes.len++] = edits->nodes.at[k];
		for (uint32_t k = 0; k < edits->hooks.len; k++)
			add_hook(&all, &edits->hooks.at[k]);
		for (uint32_t k = 0; k < edits->gids.len; k++) {
			uint32_t at = 0;

			while (at < all.gids.len && all.gids.at[at] != edits->gids.at[k])
				at++;
			if (at < all.gids.len || at == count)
				continue;
			all.has.gids = 1;
			all.gids.at[all.gids.len++] = edits->gids.at[k];
		}
	}
	all.has.hooks = all.hooks.len > 0;
	cdi_put_device(c, FL_S("all"), &all);
}

static int by_name(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_cdi_device *)a)->name, ((const struct fl_cdi_device *)b)->name);
}

static void fill(struct cdi *c)
{
	uint32_t room = 1;

	for (uint32_t i = 0; i < c->facts->card_len; i++)
		room += 2 + 2 * c->facts->cards[i].partitions.len;
	room += c->old ? c->old->devices.len : 0;
	c->spec.devices.at = fl_plan_get(c->plan, room, sizeof *c->spec.devices.at);
	if (!c->spec.devices.at)
		return;
	c->room = room;
	c->spec.has.devices = 1;
	cdi_keep_indexes(c);
	for (uint32_t i = 0; i < c->facts->card_len; i++) {
		const struct fl_card *card = &c->facts->cards[i];

		if (card->uuid.len && card->answer == FL_CARD_ANSWERS && !fl_card_elsewhere(card))
			put_card(c, card);
	}
	cdi_keep_names(c);
	put_all(c);
	if (c->spec.devices.len)
		qsort(c->spec.devices.at, c->spec.devices.len, sizeof *c->spec.devices.at, by_name);
}

void fl_gpu_cdi_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_cdi_facts *facts = facts_;
	struct cdi c = { .facts = facts, .plan = plan };
	struct fl_ref ref = { &fl_cdi_spec_kind, FL_S(""), FL_S(""), FL_S("") };
	struct fl_str missing;

	if (!facts->settings || !facts->driver || !facts->host || !fl_gpu_host_seen(facts->host))
		return;
	ref.name = cdi_file_name(plan, facts->settings->cdi_kind);
	c.old = fl_find(facts->specs, facts->spec_len, meta.name, ref.name);
	/* Nobody can say now what there is, or what is asked for: what was written stays. */
	if (facts->driver->state != FL_DRIVER_READY || facts->settings->waits.len)
		return;
	c.gids = cdi_gids_allowed(&c);
	missing = fl_gpu_libraries_missing(plan, facts->host);
	if (!missing.len)
		missing = fl_gpu_hook_missing(facts->settings, facts->host);
	if (missing.len) {
		/* A container that has a card may start anew: its names resolve as they did. */
		if (c.old && !cdi_any_held(&c))
			fl_want_gone(plan, ref);
		return;
	}
	FL_SET(&c.spec, kind, facts->settings->cdi_kind);
	fill(&c);
	cdi_sweep(&c, ref.name);
	cdi_put_extras(&c);
	if (!c.spec.devices.len) {
		if (c.old && !plan->failed)
			fl_want_gone(plan, ref);
		return;
	}
	cdi_put_common(&c);
	FL_SET(&c.spec, version, cdi_version(&c.spec));
	fl_want(plan, &fl_gpu_cdi_owner, ref, &c.spec);
}
