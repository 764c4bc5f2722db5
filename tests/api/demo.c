#include "demo.h"

FL_NAMES(fl_demo_fuel_names, FL_DEMO_FUEL_COUNT_, [FL_DEMO_SOLID] = "Solid", [FL_DEMO_LIQUID] = "Liquid",
	 [FL_DEMO_HYBRID] = "Hybrid");
FL_NAMES(fl_demo_phase_names, FL_DEMO_PHASE_COUNT_, [FL_DEMO_PENDING] = "Pending", [FL_DEMO_FLYING] = "Flying",
	 [FL_DEMO_LANDED] = "Landed");

FL_BIND(fl_demo_port, FL_DEMO_PORT)
FL_BIND(fl_demo_gauge, FL_DEMO_GAUGE)
FL_BIND(fl_demo_stage, FL_DEMO_STAGE, .rules = {
	{ "has(self.burnSeconds) || has(self.coastSeconds)", "a stage burns or coasts" },
	{ "!has(self.burnSeconds) || !has(self.coastSeconds) || self.burnSeconds >= self.coastSeconds",
	  "a stage coasts no longer than it burns" },
})
FL_BIND(fl_demo_service, FL_DEMO_SERVICE)
FL_BIND(fl_demo_spec, FL_DEMO_SPEC, .rules = {
	{ "!has(self.packDomain) || (oldSelf.hasValue() && has(oldSelf.value().packDomain))",
	  "packDomain is deprecated and cannot be used on new objects", .on_create = true },
	{ "self.replicas >= oldSelf.replicas", "replicas only grow" },
})
FL_BIND(fl_demo_capacity, FL_DEMO_CAPACITY)
FL_BIND(fl_demo_status, FL_DEMO_STATUS)
FL_BIND(fl_demo, FL_DEMO, .rules = {
	{ "self.spec.displayName != 'forbidden'", "nothing may be called forbidden" },
})

const struct fl_kind fl_demo_kind = {
	.group = "demo.fairlead.test", .version = "v1alpha1", .kind = "Rocket", .plural = "rockets",
	.short_names = "rk,rkt", .categories = "demo,toys", .root = fl_demo_bind, .status = true,
	.scale = { "spec.replicas", "status.replicas", "status.selector" },
	.labels = "module=fairlead-tests,tier=demo",
	.columns = { { "Name" }, { "Phase" }, { "Fuel" }, { "Armed" }, { "Replicas" }, { "Total" },
		     { "Ready", .condition = "Ready" }, { "Launch", .priority = 1 }, { "Age" } },
	.help = "A rocket: a kind for tests only.",
};
