/* demo_lamp.h - a capability of the tests with one wish of each kind, for the real API server.
 *
 * A Lamp is people's: what it should say, and which Node it shines on. For each
 *   - its status says which generation was seen: one write, and the only one of a Lamp that wants nothing else;
 *   - with spec.text there is a ConfigMap "lamp-NAME" that says it, and a condition Mirrored; an Event tells when it
 *     has become true;
 *   - with spec.node that Node bears a taint whose value is NAMESPACE.NAME.
 * What is not wanted any more goes. Its webhooks refuse two Lamps on one Node, and a text that begins with "bad"; they
 * warn of a Lamp without a text, and put a label on each that is made.
 */
#pragma once
#include "api/core.h"
#include "cmd/role.h"

#define LAMP_SPEC(X) \
	X(STR, text, "text", LENGTH(0, 256), .help = "What its ConfigMap should say; absent: there is none.") \
	X(STR, node, "node", LENGTH(0, 253), .help = "The Node that should bear its taint.")
FL_STRUCT(lamp_spec, LAMP_SPEC);

#define LAMP_STATUS(X) \
	X(I64, seen, "observedGeneration", BETWEEN(0, INT64_MAX), .help = "The spec that this answers.") \
	FL_CONDITIONS(X)
FL_STRUCT(lamp_status, LAMP_STATUS);

#define LAMP(X) \
	FL_OBJECT(X) \
	X(OBJ(lamp_spec), spec, "spec", .help = "What is wanted.") \
	X(OBJ(lamp_status), status, "status", .help = "What is so.")
FL_STRUCT(lamp, LAMP);
extern const struct fl_kind lamp_kind;

extern const struct fl_capability lamp_capability;
extern const struct fl_admission lamp_webhooks[];
extern const struct fl_role lamp_role;
extern const struct fl_index lamps_by[], lamp_nodes_by[];   /* for tests of the plan */
