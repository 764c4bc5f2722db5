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

/* ---- the same object, as far as the inventory reads it: NFD's own ones have 60 KB, of which this is what is kept
 * ---- */

/* Of the agent (plan/labels): an instance for each GPU, with its PCI address. */
#define FL_NFD_GPU "nvidia.com/gpu"
extern const struct fl_names fl_gpu_feature_meta_labels, fl_gpu_feature_labels, fl_gpu_feature_instances;

#define FL_GPU_FEATURE_META(X) \
	FL_META_NAMES(X) \
	X(MAP, labels, "labels", .keep = &fl_gpu_feature_meta_labels, .interned = true, .help = "Names the Node.")
FL_STRUCT(fl_gpu_feature_meta, FL_GPU_FEATURE_META);

#define FL_GPU_FEATURES(X) \
	X(MAP_OF(OBJ(fl_nfd_instances)), instances, "instances", .keep = &fl_gpu_feature_instances, \
	  .help = "GPUs, by feature.")
FL_STRUCT(fl_gpu_features, FL_GPU_FEATURES);

#define FL_GPU_FEATURE_SPEC(X) \
	X(OBJ(fl_gpu_features), features, "features", .help = "What the Node's GPUs are.") \
	X(MAP, labels, "labels", .keep = &fl_gpu_feature_labels, .help = "Labels of the Node about its GPUs.")
FL_STRUCT(fl_gpu_feature_spec, FL_GPU_FEATURE_SPEC);

#define FL_GPU_FEATURE(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_gpu_feature_meta), meta, "metadata", .help = "Standard object metadata.") \
	X(OBJ(fl_gpu_feature_spec), spec, "spec", .help = "What the Node has.")
FL_STRUCT(fl_gpu_feature, FL_GPU_FEATURE);
extern const struct fl_kind fl_gpu_feature_kind;

/* The Node that it is about: by its label, else by its name, without what GPU feature discovery puts in front. */
struct fl_str fl_gpu_feature_node(const struct fl_gpu_feature *feature);
