#include "node/report.h"
#include "api/cdi.h"

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
