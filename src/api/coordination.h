/* coordination.h - coordination.k8s.io/v1: the Lease for leader election. */
#pragma once
#include "api/meta.h"

#define FL_LEASE_SPEC(X) \
	X(STR, holder_identity, "holderIdentity", .help = "Identity of the holder; empty: none.") \
	X(I32, lease_duration_seconds, "leaseDurationSeconds", BETWEEN(1, INT32_MAX), \
	  .help = "Others wait this long after the last renewal.") \
	X(MICROTIME, acquire_time, "acquireTime", .help = "When the holder acquired it.") \
	X(MICROTIME, renew_time, "renewTime", .help = "When the holder last renewed it.") \
	X(I32, lease_transitions, "leaseTransitions", .help = "How often the holder changed.")
FL_STRUCT(fl_lease_spec, FL_LEASE_SPEC);

#define FL_LEASE(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_lease_spec), spec, "spec", .help = "The holder, and until when.")
FL_STRUCT(fl_lease, FL_LEASE);
extern const struct fl_kind fl_lease_kind;
