/* What dashboards are told of cards. */
#include "node/report.h"
#include "api/cdi.h"
#include "api/node_report.h"
#include "node/decide.h"
#include "plan/gpu_facts.h"
#include "rig.h"

static const struct {
	const struct fl_kind *kind;
	const char *text;
} facts[] = {
	{ &fl_driver_kind, "metadata: {name: driver}\nstate: Ready\nversion: 570.133.20\n" },
	{ &fl_card_kind, "metadata: {name: '0000:01:00.0'}\nanswer: Answers\nuuid: GPU-1\n" },
	{ &fl_card_kind,
	  "metadata: {name: '0000:02:00.0'}\nanswer: Answers\nuuid: GPU-2\npartitions: [{uuid: MIG-a, gi: 1, ci: 0, "
	  "profile: 1g.10gb}, {uuid: MIG-b, gi: 2, ci: 0, profile: 1g.10gb}]\n" },
	{ &fl_card_kind, "metadata: {name: '0000:03:00.0'}\nanswer: Unasked\n" },
	{ &fl_health_kind, "metadata: {name: '0000:01:00.0'}\ncard: '0000:01:00.0'\nstate: Healthy\n" },
	{ &fl_health_kind, "metadata: {name: MIG-a}\ncard: '0000:02:00.0'\nstate: Unhealthy\ncause: Xid63\n" },
	{ &fl_card_kind, "metadata: {name: '0000:04:00.0'}\nanswer: Lost\n" },
	{ &fl_health_kind, "metadata: {name: '0000:04:00.0'}\ncard: '0000:04:00.0'\nstate: Unhealthy\ncause: Lost\n"
			   "identity: {uuid: GPU-4}\n" },
	{ &fl_cdi_trouble_kind, "metadata: {name: k.io-gpu}\nwhy: 'full: make room'\n" },
	{ &fl_check_kind, "metadata: {name: pcie}\nresult: Failed\nreason: Narrow\n" },
	{ &fl_mps_kind, "metadata: {name: nvidia.com/gpu}\nphase: Ready\nis: Ready\nfails: 2\n" },
	{ &fl_pod_finding_kind, "metadata: {name: t/p}\npodNamespace: t\npod: p\nstatus: {conditions: [{type: "
				"DriverCurrent, status: 'False', reason: DriverChanged, message: m, "
				"lastTransitionTime: '1970-01-01T00:00:10Z'}]}\n" },
	{ &fl_resource_kind, "metadata: {name: nvidia.com/gpu}\nunits: [{id: GPU-1, healthy: true, replicas: 10}, "
			     "{id: GPU-2, healthy: false}, {id: GPU-3, healthy: true, leaving: true}]\n" },
};

struct world {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_metrics *metrics;
};

static void world_auto_(struct world *w)
{
	w->metrics = fl_metrics_free(w->metrics);
	w->loop = fl_loop_free(w->loop);
	w->io = fl_io_free(w->io);
}

static int world_init(struct world *w)
{
	static const struct fl_kind *const kinds[] = { &fl_driver_kind, &fl_card_kind, &fl_health_kind, &fl_holder_kind,
						       &fl_resource_kind, &fl_cdi_trouble_kind, &fl_booking_kind,
						       &fl_mps_kind, &fl_pod_finding_kind, &fl_check_kind };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_loop_options options = { .seed = { 1, 2 } };

	w->io = rig_clock();
	w->loop = w->io ? fl_loop_new(w->io, &options, NULL) : NULL;
	w->metrics = fl_metrics_new(options.seed, NULL);
	if (!w->loop || !w->metrics)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(kinds); i++)
		if (fl_loop_source(w->loop, &(struct fl_source){ kinds[i], NULL, NULL, NULL }, NULL) < 0)
			return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(facts); i++) {
		const void *object = facts_object(&arena, facts[i].kind->root(), fl_str(facts[i].text));

		if (!object || fl_feed_put(fl_loop_feed(w->loop, facts[i].kind), object, NULL) < 0)
			return -FL_E_NOMEM;
	}
	return fl_report_metrics(w->metrics, w->loop, NULL);
}

static const struct {
	const char *says, *line;
} numbers[] = {
	{ "the driver's state", "fairlead_driver_state{state=\"Ready\"} 1\n" },
	{ "and what it is not", "fairlead_driver_state{state=\"Absent\"} 0\n" },
	{ "and its version", "fairlead_driver_info{version=\"570.133.20\"} 1\n" },
	{ "a GPU goes by its UUID too",
	  "fairlead_card_health{card=\"0000:01:00.0\",device=\"GPU-1\",state=\"Healthy\",cause=\"\"} 1\n" },
	{ "also one that is lost since before the agent came",
	  "fairlead_card_health{card=\"0000:04:00.0\",device=\"GPU-4\",state=\"Unhealthy\",cause=\"Lost\"} 1\n" },
	{ "a part by its own",
	  "fairlead_card_health{card=\"0000:02:00.0\",device=\"MIG-a\",state=\"Unhealthy\",cause=\"Xid63\"} 1\n" },
	{ "I6: a Pod that runs with another driver's libraries",
	  "fairlead_pod_finding{namespace=\"t\",pod=\"p\",reason=\"DriverChanged\"} 1\n" },
	{ "I6: a check that fails", "fairlead_check{check=\"pcie\",result=\"Failed\",reason=\"Narrow\"} 1\n" },
	{ "I6: an MPS daemon whose shares are not handed out",
	  "fairlead_mps_daemon{resource=\"nvidia.com/gpu\",state=\"Ready\",healthy=\"false\"} 1\n" },
	{ "and how often it failed", "fairlead_mps_failures{resource=\"nvidia.com/gpu\"} 2\n" },
	{ "a file that cannot be written", "fairlead_cdi_file_unwritable{file=\"k.io-gpu\"} 1\n" },
	{ "shares are counted one by one",
	  "fairlead_resource_devices{resource=\"nvidia.com/gpu\",health=\"Healthy\"} 10\n" },
	{ "what leaves is not healthy",
	  "fairlead_resource_devices{resource=\"nvidia.com/gpu\",health=\"Unhealthy\"} 2\n" },
};

TEST(what_is_counted)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);
	FL_AUTO(world) struct world w = { 0 };

	OK(world_init(&w));
	OK(fl_metrics_write(w.metrics, &text, NULL));
	if (test_tortured())
		return;   /* a view that was refused memory leaves values out */
	EACH_ROW (row, numbers)
		CHECK(strstr(text.p, row->line));
}
