/* What is said of each device of a list: health, nodes, how near it is to others, and who has it. */
#include "plan/gpu/cdi.h"
#include "plan/gpu/health.h"
#include "plan/gpu/ids.h"
#include "plan/gpu/lists_in.h"
#include "plan/gpu/mps.h"
#include <stdlib.h>

static bool is_partition(struct fl_str id)
{
	return fl_str_starts(id, FL_S("MIG-"));
}

/* ---- health ---- */

const struct fl_health *lists_health(const struct lists *l, struct fl_str name)
{
	return fl_find(l->facts->health, l->facts->health_len, meta.name, name);
}

static void set_why(struct lists *l, struct fl_unit *unit, const struct fl_health *health)
{
	const struct fl_condition *flaps = fl_condition_find(&health->status.conditions, FL_S("Flapping"));
	const struct fl_condition *said = fl_condition_find(&health->status.conditions, FL_S("Healthy"));
	struct fl_str words = said ? said->message : FL_S("see the node's conditions");

	if (flaps)
		words = fl_plan_printf(l->plan, "Flapping: %.*s", FL_ARG(flaps->message));
	else
		words = fl_plan_printf(l->plan, "%.*s: %.*s", FL_ARG(health->cause), FL_ARG(words));
	FL_SET(unit, why, words);
}

static void set_health(struct lists *l, struct list *list, struct fl_unit *unit)
{
	const struct fl_health *card = lists_health(l, unit->card);
	const struct fl_health *own = is_partition(unit->id) ? lists_health(l, unit->id) : card;
	const struct fl_health *sick;

	FL_SET(unit, healthy, card && own && card->state == FL_HEALTHY && own->state == FL_HEALTHY);
	FL_UNSET(unit, why);
	unit->why = FL_S("");
	if (unit->healthy)
		return;
	l->sick++;
	if (!card || !own) {
		list->waits = list->soon = true;
		FL_SET(unit, why, FL_S("it has not been checked yet: wait a moment"));
		return;
	}
	sick = own->state != FL_HEALTHY ? own : card;
	set_why(l, unit, sick);
	/* Of a driver that is back, its GPUs' health is still to follow. */
	lists_device(l, sick->state == FL_UNHEALTHY && fl_gpu_cause_is_of_all(sick->cause), FL_GPUS_UNHEALTHY,
		     "%.*s (GPU %.*s): %.*s", FL_ARG(unit->id), FL_ARG(unit->card), FL_ARG(unit->why));
}

void lists_tell_nameless(struct lists *l, const struct fl_card *card)
{
	const struct fl_health *health = lists_health(l, card->meta.name);
	struct fl_unit unit = { 0 };

	if (card->uuid.len || !health || health->state == FL_HEALTHY)
		return;
	set_why(l, &unit, health);
	lists_device(l, false, FL_GPUS_UNHEALTHY, "GPU at %.*s reports no UUID: %.*s",
		     FL_ARG(card->meta.name), FL_ARG(unit.why));
}

/* ---- what containers are told ---- */

static const struct fl_cdi_device *cdi_device(const struct fl_cdi_spec *spec, struct fl_str name)
{
	return fl_find(spec->devices.at, spec->devices.len, name, name);
}

bool lists_look_at_files(struct lists *l)
{
	const struct fl_gpu_lists_facts *f = l->facts;
	bool seen = f->host && fl_gpu_host_seen(f->host);

	l->on_disk = fl_plan_get(l->plan, f->spec_len, sizeof *l->on_disk);
	for (uint32_t i = 0; l->on_disk && i < f->spec_len; i++) {
		int64_t digest = fl_str_eq(f->specs[i].kind, f->settings->cdi_kind) ? fl_cdi_digest(&f->specs[i]) : 1;

		l->plan->failed |= !digest;
		/* One of another driver is not the one that is wanted. */
		l->on_disk[i] = seen && f->specs[i].has.on_disk && f->specs[i].on_disk == digest;
	}
	return l->on_disk != NULL;
}

enum in_cdi {
	CDI_LACKS,
	CDI_COMES,                             /* in a file that is being written */
	CDI_HAS,
};

/* Does the name that containers are told lead to this very device? An index may still be that of another one, which
 * somebody holds. */
static enum in_cdi in_cdi(const struct lists *l, const struct fl_unit *unit)
{
	for (uint32_t i = 0; i < l->facts->spec_len; i++) {
		const struct fl_cdi_spec *spec = &l->facts->specs[i];
		const struct fl_cdi_device *own, *told;

		if (!fl_str_eq(spec->kind, l->facts->settings->cdi_kind))
			continue;
		own = cdi_device(spec, unit->id);
		told = unit->shown.len ? cdi_device(spec, unit->shown) : own;
		if (own && told && (own == told || fl_equal(fl_cdi_edits_bind(), &own->edits, &told->edits)))
			return l->on_disk[i] ? CDI_HAS : CDI_COMES;
	}
	return CDI_LACKS;
}

/* The runtime knows no name that two files of a directory have. False: one has it, or none. */
static bool in_two_files(const struct lists *l, struct fl_str name, const struct fl_cdi_spec *ret[2])
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < l->facts->spec_len && len < 2; i++)
		if (fl_str_eq(l->facts->specs[i].kind, l->facts->settings->cdi_kind) &&
		    cdi_device(&l->facts->specs[i], name))
			ret[len++] = &l->facts->specs[i];
	return len == 2;
}

static struct fl_str file_of(struct lists *l, const struct fl_cdi_spec *spec)
{
	return fl_plan_printf(l->plan, "%.*s%s", FL_ARG(spec->meta.name),
			      fl_str_ends(spec->meta.name, FL_S(FL_CDI_YAML)) ? "" : ".json");
}

static void check_cdi_names(struct lists *l, struct list *list, struct fl_unit *unit)
{
	struct fl_str name = unit->shown.len ? unit->shown : unit->id;
	const struct fl_cdi_spec *two[2];

	if (!unit->healthy || !l->by_cdi || !in_two_files(l, name, two))
		return;
	list->waits = l->set_up = true;
	FL_SET(unit, healthy, false);
	FL_SET(unit, why, FL_S("two CDI files have its name; see the node's condition GPUsReady"));
	lists_device(l, false, "CDIConflict",
		     "%.*s=%.*s is in two CDI files, %.*s and %.*s, so the container runtime takes it from neither: "
		     "remove the one that is not Fairlead's, or name another kind (--cdi-kind)",
		     FL_ARG(l->facts->settings->cdi_kind), FL_ARG(name), FL_ARG(file_of(l, two[0])),
		     FL_ARG(file_of(l, two[1])));
}

/* Is it handed out already? Then the file that is being replaced has it too: names stay as long as their cards do. */
static bool handed_out(const struct lists *l, const struct list *list, const struct fl_unit *unit)
{
	const struct fl_resource *served = lists_served(l, list->name);
	const struct fl_unit *was = served ? fl_gpu_unit_find(served, unit->id) : NULL;

	return was && was->healthy;
}

/* What keeps it out of the file; empty: nothing does, and it is named in a moment. */
static struct fl_str kept_out(const struct lists *l, const struct fl_card *card, const struct fl_partition *part)
{
	const struct fl_gpu_lists_facts *f = l->facts;
	struct fl_gpu_nodes nodes;
	struct fl_str missing;

	if (f->host && fl_gpu_host_failed(f->host))
		return f->host->message;
	if (!f->host || !fl_gpu_host_seen(f->host))
		return FL_S("");
	if (f->trouble_len)
		return f->troubles[0].why;
	nodes = fl_gpu_nodes(l->plan, f->host, card, part);
	missing = fl_gpu_node_missing(&nodes);
	return missing.len ? fl_plan_printf(l->plan, "%.*s is not there", FL_ARG(missing)) : missing;
}

/* A container that gets a GPU without these fails. */
static void check_needs(const struct lists *l, struct list *list, struct fl_unit *unit)
{
	if (!unit->healthy || (!l->lacks.len && !l->required.len))
		return;
	list->waits = true;
	FL_SET(unit, healthy, false);
	FL_SET(unit, why,
	       l->lacks.len ? FL_S("the driver's libcuda is not on the host; see the node's condition GPUsReady") :
			      l->required);
}

/* The list that says that a card may be had goes out when the file that names it is there, and not before. */
static void check_cdi(struct lists *l, struct list *list, struct fl_unit *unit, const struct fl_card *card,
		      const struct fl_partition *part)
{
	enum in_cdi in = l->by_cdi ? in_cdi(l, unit) : CDI_HAS;
	struct fl_str why;
	bool soon;

	if (!unit->healthy || in == CDI_HAS || (in == CDI_COMES && handed_out(l, list, unit)))
		return;
	why = kept_out(l, card, part);
	list->waits = true;
	/* After a look that came to nothing no file is on its way, whatever lies there. */
	soon = !why.len || (in == CDI_COMES && !fl_gpu_host_failed(l->facts->host));
	list->soon |= soon;
	FL_SET(unit, healthy, false);
	FL_SET(unit, why, FL_S("its CDI file is not written yet; if this persists, see the node's conditions"));
	lists_device(l, soon, "CDINotWritten", "%.*s is not in the CDI file yet: %.*s", FL_ARG(unit->id),
		     FL_ARG(why.len ? why : FL_S("the agent writes it in a moment")));
}

/* Shares wait for their daemon. What is not shared by MPS waits until the GPU is out of exclusive mode. */
static void check_mps(struct lists *l, struct list *list, struct fl_unit *unit, const struct fl_card *card)
{
	const struct fl_gpu_lists_facts *f = l->facts;
	const struct fl_mps *has = fl_gpu_mps_has(f->mps, f->mps_len, card);
	const struct fl_mps *mps = list->mps ? fl_find(f->mps, f->mps_len, meta.name, list->name) : NULL;
	struct fl_str why = FL_S("");
	bool soon = false;

	if (list->mps)
		why = fl_gpu_mps_unready(mps, card, &soon);
	else if (has && card->compute_mode == FL_COMPUTE_EXCLUSIVE_PROCESS)
		why = fl_plan_printf(l->plan, "it is in exclusive mode for the MPS daemon of %.*s, which is being "
					      "stopped; see the node's condition MPSReady",
				     FL_ARG(has->meta.name));
	if (!unit->healthy || !why.len)
		return;
	list->waits |= !list->mps || !mps || !mps->healthy;
	list->soon |= soon;
	FL_SET(unit, healthy, false);
	FL_SET(unit, why, why);
	lists_device(l, soon, "MPSNotReady", "%.*s: %.*s", FL_ARG(unit->id), FL_ARG(why));
}

static const struct fl_layout *layout_of(const struct lists *l, const struct fl_card *card)
{
	return fl_find(l->facts->layouts, l->facts->layout_len, meta.name, card->meta.name);
}

bool lists_changing(const struct lists *l, const struct fl_card *card)
{
	const struct fl_layout *layout = layout_of(l, card);

	return layout && (layout->changes || layout->mode != card->mig);
}

/* What goes is withdrawn first, and a GPU that is to be partitioned is not advertised as a whole meanwhile. */
static void check_mig(struct lists *l, struct list *list, struct fl_unit *unit, const struct fl_card *card,
		      const struct fl_partition *part)
{
	const struct fl_layout *layout = layout_of(l, card);

	if (!layout || !unit->healthy)
		return;
	if (!fl_str_in(layout->leaving.at, layout->leaving.len, unit->id) && (part || !layout->mode || card->mig))
		return;
	list->waits = true;
	FL_SET(unit, healthy, false);
	FL_SET(unit, why,
	       FL_S("the MIG layout of its GPU is being changed; see the node's condition MIGConfigured"));
	lists_device(l, true, "MIGChanges", "%.*s (GPU %.*s): its MIG layout is being changed", FL_ARG(unit->id),
		     FL_ARG(card->meta.name));
}

static void set_shown(struct lists *l, struct fl_unit *unit, const struct fl_card *card,
		      const struct fl_partition *part)
{
	if (l->facts->settings->id_by == FL_ID_INDEX && card->has.index)
		FL_SET(unit, shown, part ? fl_plan_printf(l->plan, "%d:%d", (int)card->index, (int)part->index) :
					   fl_plan_printf(l->plan, "%d", (int)card->index));
	else
		FL_SET(unit, shown, unit->id);
}

static void set_nodes(struct lists *l, struct fl_unit *unit, const struct fl_card *card,
		      const struct fl_partition *part)
{
	struct fl_gpu_nodes needed;

	if (!l->by_nodes || !card->has.minor)
		return;
	needed = fl_gpu_nodes(l->plan, l->facts->host, card, part);
	if (!FL_ELEMENTS(unit, l->plan->arena, nodes, needed.len)) {
		l->plan->failed = true;
		return;
	}
	unit->nodes.len = 0;
	for (uint32_t i = 0; i < needed.len; i++)
		if (needed.path[i].len)
			unit->nodes.at[unit->nodes.len++] = needed.path[i];
}

struct fl_str lists_mig_name(struct lists *l, struct fl_str profile)
{
	struct fl_str name = fl_plan_printf(l->plan, "nvidia.com/mig-%.*s", FL_ARG(profile));
	char *at;

	for (uint32_t i = 0; i + 1 < profile.len && profile.p[i] != '.'; i++)
		if (profile.p[i] == 'c' && profile.p[i + 1] == '.')
			return (struct fl_str){ 0 };
	at = fl_plan_get(l->plan, 1, (size_t)name.len + 1);
	for (uint32_t i = 0; at && i < name.len; i++)
		at[i] = name.p[i] == '+' ? '.' : name.p[i];
	return (struct fl_str){ at, at ? name.len : 0 };
}

/* ---- into the list ---- */

static struct fl_unit *add(struct lists *l, struct list *list)
{
	struct fl_unit *unit = list->len < l->unit_max ? &list->units[list->len++] : NULL;

	l->plan->failed |= !unit;   /* the room was counted: a list that is too long is none */
	return unit;
}

void list_add(struct lists *l, struct list *list, const struct fl_card *card, const struct fl_partition *part)
{
	struct fl_unit *unit = list ? add(l, list) : NULL;

	if (!unit)
		return;
	FL_SET(unit, id, part ? part->uuid : card->uuid);
	FL_SET(unit, card, card->meta.name);
	if (list->replicas > 1)
		FL_SET(unit, replicas, list->replicas);
	if (card->has.numa)
		FL_SET(unit, numa, card->numa);
	set_shown(l, unit, card, part);
	set_nodes(l, unit, card, part);
	set_health(l, list, unit);
	check_needs(l, list, unit);
	check_cdi_names(l, list, unit);
	check_cdi(l, list, unit, card, part);
	check_mps(l, list, unit, card);
	check_mig(l, list, unit, card, part);
}

void list_keep(struct lists *l, struct list *list, const struct fl_unit *unit)
{
	struct fl_unit *kept = list ? add(l, list) : NULL;

	if (!kept)
		return;
	*kept = *unit;
	FL_UNSET(kept, leaving);
	kept->leaving = false;
	set_health(l, list, kept);
}

/* ---- who has it ---- */

static void leave(struct lists *l, struct fl_unit *unit, const struct held *held, const char *why)
{
	struct fl_str words = fl_plan_printf(l->plan, "%s; it is over when %.*s/%.*s has ended", why,
					     FL_ARG(held->holder->pod_space), FL_ARG(held->holder->pod));

	FL_SET(unit, leaving, true);
	FL_SET(unit, healthy, false);
	FL_SET(unit, why, words);
}

/* What is gone is in no list of its own: who looks at the Node is told of it all the same. */
static void tell_gone(struct lists *l, const struct fl_unit *unit)
{
	const struct fl_health *health = lists_health(l, is_partition(unit->id) ? unit->id : unit->card);
	struct fl_unit gone = { 0 };

	if (!health || health->state == FL_HEALTHY)
		return;
	set_why(l, &gone, health);
	lists_device(l, false, FL_GPUS_UNHEALTHY, "%.*s (GPU %.*s): %.*s", FL_ARG(unit->id), FL_ARG(unit->card),
		     FL_ARG(gone.why));
}

/* A device that somebody has is never missing from its list: what is missing counts as healthy with the kubelet. Nor
 * does it change its shape. */
static void hold(struct lists *l, struct list *list, const struct held *held)
{
	const struct fl_resource *served = lists_served(l, list->name);
	const struct fl_unit *was = served ? fl_gpu_unit_find(served, held->id) : NULL;
	struct fl_unit *unit = list_find(list, held->id);
	int32_t most = was && was->replicas > held->replica ? was->replicas : (int32_t)held->replica + 1;

	if (!unit) {
		unit = add(l, list);
		if (!unit)
			return;
		if (was)
			*unit = *was;
		FL_SET(unit, id, held->id);
		if (!unit->card.len)
			FL_SET(unit, card, held->card);
		leave(l, unit, held, "it is listed only because a Pod holds it");
		tell_gone(l, unit);
	} else if (held->replica < 0 ? unit->replicas > 0 : held->replica >= unit->replicas) {
		leave(l, unit, held, "a Pod holds it as it was allocated before");
	} else {
		return;
	}
	if (held->replica < 0) {
		FL_UNSET(unit, replicas);
		unit->replicas = 0;
	} else if (unit->replicas < most) {
		FL_SET(unit, replicas, most);
	}
}

/* I1: would handing the unit out give something to two owners? A card and its parts, or the same under two names. */
static bool collides(const struct list *list, const struct fl_unit *unit, const struct held *held)
{
	if (fl_str_eq(held->id, unit->id))
		return !fl_str_eq(held->resource, list->name);
	return is_partition(held->id) != is_partition(unit->id) && held->card.len && fl_str_eq(held->card, unit->card);
}

static void check_owner(struct lists *l, const struct list *list, struct fl_unit *unit)
{
	for (uint32_t i = 0; i < l->held_len && unit->healthy; i++) {
		const struct held *held = &l->held[i];
		struct fl_str words;

		if (!collides(list, unit, held))
			continue;
		words = fl_plan_printf(l->plan, "%.*s/%.*s holds it as %.*s of %.*s until it ends",
				       FL_ARG(held->holder->pod_space), FL_ARG(held->holder->pod), FL_ARG(held->id),
				       FL_ARG(held->resource));
		FL_SET(unit, healthy, false);
		FL_SET(unit, why, words);
	}
}

/* ---- how near two are ---- */

static const struct fl_card *card_at(const struct lists *l, struct fl_str address)
{
	return fl_find(l->facts->cards, l->facts->card_len, meta.name, address);
}

/* NVML's levels, from one board to different processors. */
enum { ONE_BOARD, ONE_SWITCH, SWITCHES, HOST_BRIDGE, ONE_NODE, SYSTEM };

/* In tens; each NVLink is worth more than all of them. */
static int32_t level_score(int32_t level)
{
	static const int32_t scores[] = { 60, 50, 40, 30, 20, 10 };

	return level < ONE_BOARD || level > SYSTEM ? 10 : scores[level];
}

static uint32_t steps(struct fl_str path)
{
	struct fl_str step;
	uint32_t count = 0;

	while (fl_str_split(&path, '/', &step))
		count++;
	return count;
}

/* What the bus tells where the driver tells nothing. Of two paths from the root of the bus, the last bridge that they
 * share: a switch has a bridge above and one for each of its ports. */
static int32_t bus_level(const struct fl_card *a, const struct fl_card *b)
{
	struct fl_str left = a->bus, right = b->bus, x, y;
	uint32_t shared = 0, below;

	while (fl_str_split(&left, '/', &x) && fl_str_split(&right, '/', &y) && fl_str_eq(x, y))
		shared++;
	if (!shared)
		return a->has.numa && b->has.numa && a->numa == b->numa ? ONE_NODE : SYSTEM;
	if (shared == 1)
		return HOST_BRIDGE;
	below = steps(a->bus) > steps(b->bus) ? steps(a->bus) - shared : steps(b->bus) - shared;
	return below <= 2 ? ONE_SWITCH : SWITCHES;
}

static int32_t nearness(const struct lists *l, const struct fl_unit *a, const struct fl_unit *b)
{
	const struct fl_card *low = card_at(l, fl_str_cmp(a->card, b->card) < 0 ? a->card : b->card);
	const struct fl_card *high = card_at(l, fl_str_cmp(a->card, b->card) < 0 ? b->card : a->card);
	const struct fl_card_link *link =
		low && high ? fl_find(low->links.at, low->links.len, peer, high->meta.name) : NULL;

	if (link)
		return level_score(link->level / 10) + 100 * link->nvlinks;
	if (low && high)
		return level_score(bus_level(low, high));
	return a->has.numa && b->has.numa && a->numa == b->numa ? 20 : 10;
}

/* What is not known of a card that does not answer now is as it was. */
static bool same_units(const struct list *list, const struct fl_resource *served)
{
	if (!served || served->units.len != list->len)
		return false;
	for (uint32_t i = 0; i < list->len; i++)
		if (!fl_str_eq(served->units.at[i].id, list->units[i].id))
			return false;
	return true;
}

static void set_nearness(struct lists *l, struct list *list)
{
	const struct fl_resource *served = lists_served(l, list->name);
	bool same = same_units(list, served);

	for (uint32_t i = 0; i < list->len; i++) {
		struct fl_unit *unit = &list->units[i];
		const struct fl_card *card = card_at(l, unit->card);

		FL_UNSET(unit, nearness);
		unit->nearness.len = 0;
		if (is_partition(unit->id) || list->replicas > 1)
			continue;
		if (same && !(card && card->answer == FL_CARD_ANSWERS)) {
			unit->nearness.at = served->units.at[i].nearness.at;
			unit->nearness.len = served->units.at[i].nearness.len;
			unit->has.nearness = 1;
			continue;
		}
		if (!FL_ELEMENTS(unit, l->plan->arena, nearness, list->len))
			l->plan->failed = true;
		for (uint32_t k = 0; k < unit->nearness.len; k++)
			unit->nearness.at[k] = i == k ? 0 : nearness(l, unit, &list->units[k]);
	}
}

static int by_id(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_unit *)a)->id, ((const struct fl_unit *)b)->id);
}

void list_finish(struct lists *l, struct list *list)
{
	for (uint32_t i = 0; i < l->held_len; i++)
		if (fl_str_eq(l->held[i].resource, list->name))
			hold(l, list, &l->held[i]);
	for (uint32_t i = 0; i < list->len; i++)
		check_owner(l, list, &list->units[i]);
	if (list->len)
		qsort(list->units, list->len, sizeof *list->units, by_id);
	set_nearness(l, list);
}
