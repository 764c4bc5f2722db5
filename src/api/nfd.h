/* nfd.h - node feature discovery's NodeFeature: labels and facts that it merges and puts on a Node. */
#pragma once
#include "api/meta.h"

/* On each NodeFeature: the Node that it is about. NFD ignores objects without it. */
#define FL_NFD_NODE_NAME "nfd.node.kubernetes.io/node-name"

#define FL_NODE_FEATURE_META(X) \
	FL_META_NAMES(X) \
	X(MAP, labels, "labels", .help = "Names the Node.") \
	X(LIST(fl_owner_ref), owner_references, "ownerReferences", .list_key = "uid", \
	  .help = "It is garbage-collected with these.")
FL_STRUCT(fl_node_feature_meta, FL_NODE_FEATURE_META);

#define FL_NFD_FLAGS(X) X(MAP_OF(RAW), elements, "elements", .help = "Names that are set.")
FL_STRUCT(fl_nfd_flags, FL_NFD_FLAGS);
#define FL_NFD_ATTRIBUTES(X) X(MAP, elements, "elements", .help = "Values by name.")
FL_STRUCT(fl_nfd_attributes, FL_NFD_ATTRIBUTES);
#define FL_NFD_INSTANCE(X) X(MAP, attributes, "attributes", .help = "Values by name.")
FL_STRUCT(fl_nfd_instance, FL_NFD_INSTANCE);
#define FL_NFD_INSTANCES(X) X(LIST(fl_nfd_instance), elements, "elements", .help = "One for each device.")
FL_STRUCT(fl_nfd_instances, FL_NFD_INSTANCES);

/* NFD's schema wants all three, empty ones too. */
#define FL_NFD_FEATURES(X) \
	X(MAP_OF(OBJ(fl_nfd_flags)), flags, "flags", .required = true, .help = "Names that are set, by feature.") \
	X(MAP_OF(OBJ(fl_nfd_attributes)), attributes, "attributes", .required = true, .help = "Values, by feature.") \
	X(MAP_OF(OBJ(fl_nfd_instances)), instances, "instances", .required = true, .help = "Devices, by feature.")
FL_STRUCT(fl_nfd_features, FL_NFD_FEATURES);

#define FL_NODE_FEATURE_SPEC(X) \
	X(OBJ(fl_nfd_features), features, "features", .required = true, .help = "For NodeFeatureRules.") \
	X(MAP, labels, "labels", .help = "NFD puts these on the Node.")
FL_STRUCT(fl_node_feature_spec, FL_NODE_FEATURE_SPEC);

#define FL_NODE_FEATURE(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_node_feature_meta), meta, "metadata", .help = "Standard object metadata.") \
	X(OBJ(fl_node_feature_spec), spec, "spec", .required = true, .help = "What the Node has.")
FL_STRUCT(fl_node_feature, FL_NODE_FEATURE);
extern const struct fl_kind fl_node_feature_kind;
