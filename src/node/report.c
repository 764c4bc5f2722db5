#include "node/report.h"
#include "api/cdi.h"

/* "GPU-...::3" is a share of "GPU-...". */
static bool is_of(struct fl_str device, struct fl_str uuid)
{
	return uuid.len && fl_str_starts(device, uuid) &&
	       (device.len == uuid.len || (device.len > uuid.len + 2 && device.p[uuid.len] == ':'));
}

static bool holds(const struct fl_holder *holder, const struct fl_card *card, struct fl_str health)
{
	for (uint32_t i = 0; i < holder->devices.len; i++) {
		struct fl_str device = holder->devices.at[i];

		if (is_of(device, health))   /* the Health of a partition bears its UUID */
			return true;
		if (!card)
			continue;
		if (is_of(device, card->uuid))
			return true;
		for (uint32_t j = 0; j < card->partitions.len; j++)
			if (is_of(device, card->partitions.at[j].uuid))
				return true;
	}
	return false;
}

/* A card that has never told this agent what it is: then it, and its parts, are what they were. */
static bool held_what_it_was(struct fl_view *view, const struct fl_holder *holder, struct fl_str address)
{
	struct fl_each each = fl_view_all(view, &fl_health_kind);
	const struct fl_health *health;

	while ((health = fl_each_next(&each)))
		for (uint32_t i = 0; fl_str_eq(health->card, address) && i < holder->devices.len; i++)
			if (is_of(holder->devices.at[i], health->identity.uuid) ||
			    (health->identity.has.part && is_of(holder->devices.at[i], health->meta.name)))
				return true;
	return false;
}

uint32_t fl_report_pods(struct fl_view *view, struct fl_str health, const struct fl_report_pod **ret)
{
	const struct fl_card *card = fl_view_get(view, &fl_card_kind, FL_S(""), health);
	bool known = card && card->uuid.len;
	struct fl_each each = fl_view_all(view, &fl_holder_kind);
	struct fl_report_pod *pods;
	const struct fl_holder *holders;
	uint32_t len = 0, count;
	void *all;

	*ret = NULL;
	count = fl_each_array(&each, &all);
	holders = all;
	pods = count ? fl_view_alloc(view, count, sizeof *pods) : NULL;
	if (!pods)
		return 0;
	/* Sorted by "<namespace>/<pod>/...": those of one Pod stand together. */
	for (uint32_t i = 0; i < count; i++) {
		const struct fl_holder *holder = &holders[i];

		if (len && fl_str_eq(pods[len - 1].space, holder->pod_space) &&
		    fl_str_eq(pods[len - 1].name, holder->pod))
			continue;
		if (holds(holder, card, health) || (!known && held_what_it_was(view, holder, health)))
			pods[len++] = (struct fl_report_pod){ holder->pod_space, holder->pod };
	}
	*ret = pods;
	return len;
}

/* ---- numbers ---- */

static void driver_state(struct fl_scrape *scrape, void *loop)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(loop, &arena);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	for (int state = 0; driver && state < FL_DRIVER_STATE_COUNT_; state++) {
		struct fl_str label = fl_str(fl_name(&fl_driver_state_names, state));

		fl_scrape_value(scrape, &label, (int)driver->state == state);
	}
}

static void driver_info(struct fl_scrape *scrape, void *loop)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(loop, &arena);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	if (driver && driver->version.len)
		fl_scrape_value(scrape, &driver->version, 1);
}

static void card_health(struct fl_scrape *scrape, void *loop)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_health_kind);
	const struct fl_health *health;

	while ((health = fl_each_next(&each))) {
		const struct fl_card *card = fl_view_get(&view, &fl_card_kind, FL_S(""), health->card);
		bool whole = fl_str_eq(health->meta.name, health->card);
		struct fl_str labels[] = { health->card, !whole ? health->meta.name :
					   card && card->uuid.len ? card->uuid : health->identity.uuid,
					   fl_str(fl_name(&fl_health_state_names, (int)health->state)),
					   health->cause };

		fl_scrape_value(scrape, labels, 1);
	}
}

static void resource_devices(struct fl_scrape *scrape, void *loop)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_resource_kind);
	const struct fl_resource *resource;

	while ((resource = fl_each_next(&each))) {
		int64_t counts[2] = { 0, 0 };

		for (uint32_t i = 0; i < resource->units.len; i++) {
			const struct fl_unit *unit = &resource->units.at[i];

			counts[unit->healthy && !unit->leaving] += unit->has.replicas ? unit->replicas : 1;
		}
		fl_scrape_value(scrape, (struct fl_str[]){ resource->meta.name, FL_S("Healthy") }, (double)counts[1]);
		fl_scrape_value(scrape, (struct fl_str[]){ resource->meta.name, FL_S("Unhealthy") }, (double)counts[0]);
	}
}

static void cdi_troubles(struct fl_scrape *scrape, void *loop)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_cdi_trouble_kind);
	const struct fl_cdi_trouble *trouble;

	while ((trouble = fl_each_next(&each)))
		fl_scrape_value(scrape, &trouble->meta.name, 1);
}

static const struct fl_metric rows[] = {
	{ "fairlead_driver_state", "How we get on with the driver: 1 for the state that it is in.", FL_GAUGE,
	  { "state" }, .collect = driver_state },
	{ "fairlead_driver_info", "The driver: its version as it says itself, or before it does, its files.", FL_GAUGE,
	  { "version" }, .collect = driver_info },
	{ "fairlead_card_health", "1 for the state that a card, or a partition of one, is in, and why.", FL_GAUGE,
	  { "card", "device", "state", "cause" }, .collect = card_health },
	{ "fairlead_resource_devices", "Devices that the kubelet is told of.", FL_GAUGE, { "resource", "health" },
	  .collect = resource_devices },
	{ "fairlead_cdi_file_unwritable", "1 for each CDI file that is wanted and cannot be written.", FL_GAUGE,
	  { "file" }, .collect = cdi_troubles },
};

int fl_report_metrics(struct fl_metrics *metrics, struct fl_loop *loop, struct fl_err *err)
{
	struct fl_family *families[FL_LEN(rows)];

	return fl_metrics_add(metrics, rows, FL_LEN(rows), loop, families, err);
}
