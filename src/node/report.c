#include "node/report.h"
#include "api/cdi.h"
#include "api/node_report.h"

static void driver_state(struct fl_scrape *scrape, void *loop)
{
	FL_VIEW(view, loop);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	for (int state = 0; driver && state < FL_DRIVER_STATE_COUNT_; state++) {
		struct fl_str label = fl_str(fl_name(&fl_driver_state_names, state));

		fl_scrape_value(scrape, &label, (int)driver->state == state);
	}
}

static void driver_info(struct fl_scrape *scrape, void *loop)
{
	FL_VIEW(view, loop);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	if (driver && driver->version.len)
		fl_scrape_value(scrape, &driver->version, 1);
}

static void card_health(struct fl_scrape *scrape, void *loop)
{
	FL_VIEW(view, loop);
	const struct fl_health *health;

	fl_view_each (health, &view, &fl_health_kind) {
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
	FL_VIEW(view, loop);
	const struct fl_resource *resource;

	fl_view_each (resource, &view, &fl_resource_kind) {
		int64_t healthy, all;

		fl_resource_count(resource, &healthy, &all);
		fl_scrape_value(scrape, (struct fl_str[]){ resource->meta.name, FL_S("Healthy") }, (double)healthy);
		fl_scrape_value(scrape, (struct fl_str[]){ resource->meta.name, FL_S("Unhealthy") },
				(double)(all - healthy));
	}
}

static void cdi_troubles(struct fl_scrape *scrape, void *loop)
{
	FL_VIEW(view, loop);
	const struct fl_cdi_trouble *trouble;

	fl_view_each (trouble, &view, &fl_cdi_trouble_kind)
		fl_scrape_value(scrape, &trouble->meta.name, 1);
}

static void booking_conflicts(struct fl_scrape *scrape, void *loop)
{
	FL_VIEW(view, loop);
	const struct fl_booking *booking;

	fl_view_each (booking, &view, &fl_booking_kind)
		for (uint32_t i = 0; i < booking->status.conditions.len; i++) {
			const struct fl_condition *condition = &booking->status.conditions.at[i];
			struct fl_str labels[] = { booking->pod_space, booking->pod, booking->resource,
						   condition->reason };

			if (condition->status == FL_CONDITION_FALSE)
				fl_scrape_value(scrape, labels, 1);
		}
}

static void pod_findings(struct fl_scrape *scrape, void *loop)
{
	FL_VIEW(view, loop);
	const struct fl_pod_finding *finding;

	fl_view_each (finding, &view, &fl_pod_finding_kind)
		for (uint32_t i = 0; i < finding->status.conditions.len; i++)
			fl_scrape_value(scrape,
					(struct fl_str[]){ finding->pod_space, finding->pod,
							   finding->status.conditions.at[i].reason }, 1);
}

static void mps_daemons(struct fl_scrape *scrape, void *loop)
{
	FL_VIEW(view, loop);
	const struct fl_mps *mps;

	fl_view_each (mps, &view, &fl_mps_kind)
		fl_scrape_value(scrape,
				(struct fl_str[]){ mps->meta.name, fl_str(fl_name(&fl_mps_phase_names, (int)mps->is)),
						   mps->healthy ? FL_S("true") : FL_S("false") }, 1);
}

static void mps_failures(struct fl_scrape *scrape, void *loop)
{
	FL_VIEW(view, loop);
	const struct fl_mps *mps;

	fl_view_each (mps, &view, &fl_mps_kind)
		fl_scrape_value(scrape, &mps->meta.name, mps->fails);
}

static void checks(struct fl_scrape *scrape, void *loop)
{
	FL_VIEW(view, loop);
	const struct fl_check *check;

	fl_view_each (check, &view, &fl_check_kind)
		fl_scrape_value(scrape,
				(struct fl_str[]){ check->meta.name,
						   fl_str(fl_name(&fl_check_result_names, (int)check->result)),
						   check->reason }, 1);
}

static const struct fl_metric rows[] = {
	{ "fairlead_check", "Result of a check of what GPU programs need: 1 for the present one.", FL_GAUGE,
	  { "check", "result", "reason" }, .collect = checks },
	{ "fairlead_driver_state", "State of the driver: 1 for the present one.", FL_GAUGE,
	  { "state" }, .collect = driver_state },
	{ "fairlead_driver_info", "Version that the driver reports; until then, that of its files.", FL_GAUGE,
	  { "version" }, .collect = driver_info },
	{ "fairlead_card_health", "Health of a GPU or MIG device: 1 for the present state and cause.", FL_GAUGE,
	  { "card", "device", "state", "cause" }, .collect = card_health },
	{ "fairlead_resource_devices", "Devices advertised to the kubelet.", FL_GAUGE, { "resource", "health" },
	  .collect = resource_devices },
	{ "fairlead_device_conflict",
	  "Pods whose devices the kubelet counts otherwise than allocated: 1 each, by cause.", FL_GAUGE,
	  { "namespace", "pod", "resource", "reason" }, .collect = booking_conflicts },
	{ "fairlead_pod_finding",
	  "Pods with libraries of another driver or without access to their GPU: 1 each, by cause.",
	  FL_GAUGE, { "namespace", "pod", "reason" }, .collect = pod_findings },
	{ "fairlead_mps_daemon", "State of the MPS control daemon of a resource: 1 for the present one.", FL_GAUGE,
	  { "resource", "state", "healthy" }, .collect = mps_daemons },
	{ "fairlead_mps_failures", "Ends, silences and client faults of the MPS daemon since the agent started.",
	  FL_GAUGE, { "resource" }, .collect = mps_failures },
	{ "fairlead_cdi_file_unwritable", "CDI files that cannot be written: 1 each.", FL_GAUGE,
	  { "file" }, .collect = cdi_troubles },
};

int fl_report_metrics(struct fl_metrics *metrics, struct fl_loop *loop, struct fl_err *err)
{
	struct fl_family *families[FL_LEN(rows)];

	return fl_metrics_add(metrics, rows, FL_LEN(rows), loop, families, err);
}
