/* The kinds that the project reads and writes, bound as the contracts say. */
#include "api/coordination.h"
#include "api/core.h"
#include "api/cdi.h"
#include "api/pools.h"
#include "api/kinds.h"
#include "api/nfd.h"
#include "api/node_report.h"
#include "api/walk.h"
#include "base/units.h"
#include "kind_lint.h"
#include "test.h"

TEST(the_tables_hold_together)
{
	struct fl_err err;

	for (const struct fl_kind *const *kind = fl_kinds; *kind; kind++)
		OK_ERR(kind_lint(*kind, &err), &err);
}

TEST(kinds_are_found_by_name)
{
	CHECK(fl_kind_find(FL_S("po")) == &fl_pod_kind);
	CHECK(fl_kind_find(FL_S("Leases")) == &fl_lease_kind);
	CHECK(fl_kind_find(FL_S("events.events.k8s.io")) == &fl_event_kind);
	CHECK(!fl_kind_find(FL_S("rockets")));
}

static const struct {
	const char *says;
	const struct fl_bind *(*bind)(void);
	const char *in, *out;   /* out NULL: the same */
} rows[] = {
	{ "a Lease goes round", fl_lease_bind,
	  "{\"metadata\":{\"name\":\"l\",\"namespace\":\"ns\"},\"spec\":{\"holderIdentity\":\"a\","
	  "\"leaseDurationSeconds\":15,"
	  "\"acquireTime\":\"2026-01-31T12:00:00.000000Z\",\"renewTime\":\"2026-01-31T12:00:00.123456Z\","
	  "\"leaseTransitions\":3}}", NULL },
	{ "an Event too", fl_event_bind,
	  "{\"metadata\":{\"name\":\"e\",\"namespace\":\"ns\"},\"eventTime\":\"2026-01-31T12:00:00.000000Z\","
	  "\"series\":{\"count\":2,\"lastObservedTime\":\"2026-01-31T12:00:01.000000Z\"},"
	  "\"reportingController\":\"c\",\"reportingInstance\":\"i\",\"action\":\"A\",\"reason\":\"R\","
	  "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n\"},\"note\":\"n\",\"type\":\"Normal\"}",
	  NULL },
	{ "of a Node only what plans read", fl_node_bind,
	  "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"},\"annotations\":{\"c\":\"d\"}},"
	  "\"spec\":{\"podCIDR\":\"10.0.0.0/24\",\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]},"
	  "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"nvidia.com/gpu\":\"8\",\"cluster.gpu.deckhouse.io/a\":\"2\"},"
	  "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\"},"
	  "{\"type\":\"NetworkUnavailable\",\"status\":\"False\"}],\"images\":[{}]}}",
	  "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"}},"
	  "\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]},"
	  "\"status\":{\"allocatable\":{\"cluster.gpu.deckhouse.io/a\":\"2\",\"nvidia.com/gpu\":\"8\"},"
	  "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}" },
	{ "a map of which nothing is kept is not there", fl_node_bind, "{\"status\":{\"allocatable\":{\"cpu\":\"8\"}}}",
	  "{\"status\":{}}" },
	{ "a Status", fl_status_bind,
	  "{\"status\":\"Failure\",\"message\":\"m\",\"reason\":\"Conflict\",\"details\":{\"name\":\"n\",\"kind\":"
	  "\"pods\","
	  "\"causes\":[{\"reason\":\"FieldManagerConflict\",\"message\":\"c\",\"field\":\".spec\"}],"
	  "\"retryAfterSeconds\":1},\"code\":409}", NULL },
	{ "R24: a GPUDevice's spec is empty, and no telemetry is kept", fl_gpu_device_bind,
	  "{\"spec\":{\"x\":1},\"status\":{\"state\":\"Ready\",\"hardware\":{\"memoryMiB\":81920,\"product\":\"A100\"}"
	  "}}",
	  "{\"spec\":{},\"status\":{\"state\":\"Ready\",\"hardware\":{\"product\":\"A100\"}}}" },
	{ "R25: a GPUNodeState has a node name and conditions", fl_gpu_node_state_bind,
	  "{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"hw\":{\"present\":true},\"conditions\":[]}}",
	  "{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"conditions\":[]}}" },
};

TEST(objects_go_round)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);
		void *object;

		GOT(object = fl_arena_get(&arena, row->bind()->size));
		OK(test_read(row->bind(), row->in, 0, &arena, object, NULL));
		OK(test_write(row->bind(), object, &text, NULL));
		CHECK_STR(fl_buf_view(&text), row->out ? row->out : row->in);
	}
}

TEST(a_pool_has_its_defaults)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_fault_list faults;
	struct fl_gpu_pool pool;

	OK(test_read(fl_gpu_pool_bind(), "{\"spec\":{\"resource\":{\"unit\":\"Card\"}}}", FL_DECODE_STRICT, &arena,
		     &pool, NULL));
	CHECK(pool.spec.backend == FL_BACKEND_DEVICE_PLUGIN && pool.spec.provider == FL_PROVIDER_NVIDIA);
	CHECK_INT(pool.spec.resource.slices_per_unit, 1);
	CHECK(pool.spec.assignment.require_annotation && pool.spec.scheduling.taints_enabled);
	CHECK(pool.spec.scheduling.strategy == FL_STRATEGY_SPREAD);
	CHECK_STR(pool.spec.scheduling.topology_key, "topology.kubernetes.io/zone");
	OK(fl_check(fl_gpu_pool_bind(), NULL, &pool, &arena, &faults, NULL));
	CHECK_INT(faults.len, 0);
}

static const struct {
	const char *says, *old, *now, *fault;
} pool_rows[] = {
	{ "R26: a resource is required", NULL, "{\"spec\":{}}", "spec.resource" },
	{ "R27: a profile may be in upper case", NULL,
	  "{\"spec\":{\"resource\":{\"unit\":\"MIG\",\"migProfile\":\"1G.10GB\"}}}", NULL },
	{ "at least one GPU of a node", NULL,
	  "{\"spec\":{\"resource\":{\"unit\":\"Card\",\"maxDevicesPerNode\":0}}}",
	  "spec.resource.maxDevicesPerNode" },
	{ "a taint's key is a label's", NULL,
	  "{\"spec\":{\"resource\":{\"unit\":\"Card\"},\"scheduling\":{\"taints\":[{\"key\":\" a\"}]}}}",
	  "spec.scheduling.taints[0].key" },
	{ "R27: a profile has its form", NULL,
	  "{\"spec\":{\"resource\":{\"unit\":\"MIG\",\"migProfile\":\"1c.3g.20gb\"}}}",
	  "spec.resource.migProfile" },
	{ "R28: at least one slice", NULL, "{\"spec\":{\"resource\":{\"unit\":\"Card\",\"slicesPerUnit\":0}}}",
	  "spec.resource.slicesPerUnit" },
	{ "R66: ids have four digits", NULL,
	  "{\"spec\":{\"resource\":{\"unit\":\"Card\"},\"deviceSelector\":{\"include\":{\"pciVendors\":[\"0x10de\"]}}}"
	  "}",
	  "spec.deviceSelector.include.pciVendors[0]" },
	{ "R89: the resource stays", "{\"spec\":{\"resource\":{\"unit\":\"Card\"}}}",
	  "{\"spec\":{\"resource\":{\"unit\":\"Card\",\"slicesPerUnit\":2}}}", "spec.resource" },
	{ "R89: a selector may not be added", "{\"spec\":{\"resource\":{\"unit\":\"Card\"}}}",
	  "{\"spec\":{\"resource\":{\"unit\":\"Card\"},\"nodeSelector\":{}}}", "spec.nodeSelector" },
	{ "how cards come may change", "{\"spec\":{\"resource\":{\"unit\":\"Card\"}}}",
	  "{\"spec\":{\"resource\":{\"unit\":\"Card\"},\"deviceAssignment\":{\"requireAnnotation\":false}}}", NULL },
};

TEST(a_pool_has_its_bounds)
{
	EACH_ROW (row, pool_rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_pool old, now;
		struct fl_fault_list faults;

		OK(test_read(fl_gpu_pool_bind(), row->now, 0, &arena, &now, NULL));
		if (row->old)
			OK(test_read(fl_gpu_pool_bind(), row->old, 0, &arena, &old, NULL));
		OK(fl_check(fl_gpu_pool_bind(), row->old ? &old : NULL, &now, &arena, &faults, NULL));
		CHECK_INT(faults.len, row->fault != NULL);
		if (row->fault)
			CHECK_STR(faults.at[0].path, row->fault);
	}
}

TEST(a_condition_is_found_by_its_type)
{
	struct fl_condition at[2] = { 0 };
	struct fl_condition_list list = { at, 2 };

	FL_SET(&at[0], type, FL_S("Ready"));
	FL_SET(&at[0], status, FL_CONDITION_TRUE);
	FL_SET(&at[1], type, FL_S("Faulted"));
	CHECK(fl_condition_find(&list, FL_S("Faulted")) == &at[1]);
	CHECK(!fl_condition_find(&list, FL_S("Other")));
}
