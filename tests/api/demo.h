/* demo.h - a kind for tests only: every type and every option once, and the template of docs/ADDING-A-CAPABILITY.md.
 *
 * Rockets stand for nothing. A row that you need is best copied from here.
 */
#pragma once
#include "api/meta.h"

/* ---- enums: their names are what stands in JSON ---- */
enum fl_demo_fuel { FL_DEMO_SOLID, FL_DEMO_LIQUID, FL_DEMO_HYBRID, FL_DEMO_FUEL_COUNT_ };
extern const struct fl_names fl_demo_fuel_names;
enum fl_demo_phase { FL_DEMO_PENDING, FL_DEMO_FLYING, FL_DEMO_LANDED, FL_DEMO_PHASE_COUNT_ };
extern const struct fl_names fl_demo_phase_names;

/* ---- small objects first: an object is used as a type by those that follow ---- */

/* A list-map by two keys, of which one has a default. */
#define FL_DEMO_PORT(X) \
	X(STR, name, "name", .required = true, LENGTH(1, 15), .help = "Name of the port.") \
	X(I32, number, "number", BETWEEN(1, 65535), DEFAULT(80), .help = "Number of the port.") \
	X(INTSTR, target, "target", .help = "Where it leads: a number, or the name of another port.")
FL_STRUCT(fl_demo_port, FL_DEMO_PORT);

/* The values of a map of objects. */
#define FL_DEMO_GAUGE(X) \
	X(STR, description, "description", .required = true, .help = "What is measured.") \
	X(F64, value, "value", .required = true, .help = "The last reading.") \
	X(STR, unit, "unit", .help = "What it is measured in.")
FL_STRUCT(fl_demo_gauge, FL_DEMO_GAUGE);

/* Elements of an atomic list, with rules about the element as a whole. */
#define FL_DEMO_STAGE(X) \
	X(STR, domain, "domain", LENGTH(1, 63), .pattern = "^[a-z][a-z0-9-]*$", .example = "upper-stage", \
	  .help = "Name of the stage.") \
	X(I32, burn, "burnSeconds", BETWEEN(0, 3600), .help = "How long it burns.") \
	X(I32, coast, "coastSeconds", BETWEEN(0, 3600), .help = "How long it does not.")
FL_STRUCT(fl_demo_stage, FL_DEMO_STAGE);

/* An object with defaults inside a default. */
#define FL_DEMO_SERVICE(X) \
	X(BOOL, publish, "publishNotReadyAddresses", DEFAULT(true), .help = "Name it before it is ready?") \
	X(STR, zone, "zone", DEFAULT_TEXT("north"), .help = "Where it is named.")
FL_STRUCT(fl_demo_service, FL_DEMO_SERVICE);

/* ---- spec ---- */
#define FL_DEMO_SPEC(X) \
	X(STR, name, "displayName", .required = true, LENGTH(1, 10), .selectable = true, .column = "Name", \
	  .help = "What people call it; characters are counted, not bytes.") \
	X(STR, profile, "migProfile", .pattern = "^[0-9]+g\\.[0-9]+gb$", .example = "1g.10gb", \
	  .help = "A text of a certain form.") \
	X(STR, topology_key, "topologyKey", DEFAULT_TEXT("topology.kubernetes.io/zone"), \
	  .help = "A text with a default.") \
	X(STR, host, "host", .format = "ipv4", .example = "10.0.0.1", .help = "A text with a format.") \
	X(STR, provider, "provider", .immutable = true, \
	  .help = "May be neither changed nor added nor taken away later.") \
	X(STR, namespace, "namespace", .immutable = true, .help = "The same, with a name that CEL reserves.") \
	X(ENUM(fl_demo_fuel), fuel, "fuel", DEFAULT(FL_DEMO_LIQUID), .immutable = true, .column = "Fuel", \
	  .help = "One of a few, with a default; and it stays.") \
	X(LIST_OF(ENUM(fl_demo_fuel)), fuels, "otherFuels", .help = "Several of a few.") \
	X(BOOL, armed, "armed", .selectable = true, .column = "Armed", .help = "Yes, no, or not said.") \
	X(BOOL, taints, "taintsEnabled", DEFAULT(true), .help = "Yes unless said otherwise.") \
	X(I32, replicas, "replicas", BETWEEN(0, 64), DEFAULT(1), .column = "Replicas", \
	  .help = "An integer with bounds and a default.") \
	X(I32, at_least, "minAvailable", BETWEEN(1, INT32_MAX), .help = "An integer with a floor.") \
	X(I64, serial, "serial", .selectable = true, .help = "An integer of 64 bits.") \
	X(F64, weight, "weight", BETWEEN(0, 1000), .help = "A number that need not be whole.") \
	X(TIME, launch, "launchTime", .column = "Launch", .help = "A time.") \
	X(MICROTIME, tick, "lastTick", .help = "A finer time.") \
	X(DURATION, delay, "terminationDelay", DEFAULT_TEXT("4h"), .help = "How long to wait.") \
	X(QUANTITY, memory, "memory", DEFAULT_TEXT("64Mi"), .help = "An amount.") \
	X(INTSTR, max_unavailable, "maxUnavailable", DEFAULT_TEXT("25%"), .help = "A number or a share.") \
	X(INTSTR, surge, "maxSurge", DEFAULT(1), .help = "A number or a share, a number unless said otherwise.") \
	X(RAW, template, "template", .help = "Somebody else's object, passed through as it is.") \
	X(MAP, labels, "matchLabels", LENGTH(0, 4), .help = "Texts by name.") \
	X(MAP_OF(QUANTITY), limits, "limits", .help = "Amounts by name.") \
	X(MAP_OF(OBJ(fl_demo_gauge)), gauges, "gauges", .help = "Objects by name.") \
	X(STRS, vendors, "pciVendors", LENGTH(0, 3), .pattern = "^[0-9a-f]{4}$", .example = "10de", \
	  .help = "A list, order included; each element has the form.") \
	X(STRS, crew, "crew", LENGTH(1, 4), .list_set = true, .help = "A set.") \
	X(LIST_OF(I32), lanes, "lanes", BETWEEN(0, 15), .help = "Integers, each with bounds.") \
	X(LIST_OF(RAW), volumes, "volumes", .help = "Several objects of somebody else.") \
	X(LIST(fl_demo_port), ports, "ports", .list_key = "name,number", LENGTH(0, 8), .help = "A map by two keys.") \
	X(LIST(fl_demo_stage), stages, "stages", LENGTH(0, 4), \
	  .example = "{\"domain\":\"a\",\"burnSeconds\":3600,\"coastSeconds\":0}", \
	  .help = "An atomic list of objects.") \
	X(OBJ(fl_demo_service), service, "service", DEFAULT_EMPTY, \
	  .help = "An object that is there even when it is not.") \
	X(OBJ(fl_demo_service), backup, "backup", .immutable = true, \
	  .help = "An object that may be absent, and stays.") \
	X(OBJ(fl_label_selector), selector, "nodeSelector", .help = "A selector.") \
	X(STR, legacy, "packDomain", .nullable = true, .deprecated = "use stages.", .help = "Once more important.") \
	X(STR, color, "color", CEL("self != 'invisible'", "color must be seen"), .example = "red", \
	  .help = "A text with a rule.")
FL_STRUCT(fl_demo_spec, FL_DEMO_SPEC);

/* ---- status ---- */
#define FL_DEMO_CAPACITY(X) \
	X(I32, total, "total", BETWEEN(0, INT32_MAX), .column = "Total", .help = "All of it.") \
	X(I32, used, "used", BETWEEN(0, INT32_MAX), .help = "Of that, taken.")
FL_STRUCT(fl_demo_capacity, FL_DEMO_CAPACITY);

#define FL_DEMO_STATUS(X) \
	X(ENUM(fl_demo_phase), phase, "phase", .required = true, DEFAULT(FL_DEMO_PENDING), .column = "Phase", \
	  .help = "Where in its life it is.") \
	X(I32, replicas, "replicas", .help = "How many there are.") \
	X(STR, selector, "selector", .help = "What finds them.") \
	X(STR, node_name, "nodeName", .interned = true, .help = "Where it stands.") \
	X(STR, uuid, "uuid", .help = "Which one it is.") \
	X(OBJ(fl_demo_capacity), capacity, "capacity", .help = "How much there is of it.") \
	X(I64, seen, "observedGeneration", .help = "The spec that this answers.") \
	FL_CONDITIONS(X)
FL_STRUCT(fl_demo_status, FL_DEMO_STATUS);

/* ---- the kind ---- */
#define FL_DEMO(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_demo_spec), spec, "spec", .required = true, .help = "What a person wants.") \
	X(OBJ(fl_demo_status), status, "status", .help = "What is so.")
FL_STRUCT(fl_demo, FL_DEMO);
extern const struct fl_kind fl_demo_kind;
