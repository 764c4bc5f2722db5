#include "api/coordination.h"

FL_BIND(fl_lease_spec, FL_LEASE_SPEC)
FL_BIND(fl_lease, FL_LEASE)

const struct fl_kind fl_lease_kind = {
	.built_in = true, .group = "coordination.k8s.io", .version = "v1", .kind = "Lease", .plural = "leases",
	.root = fl_lease_bind, .help = "Held by one, wanted by several.",
};
