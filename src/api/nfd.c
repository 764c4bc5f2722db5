#include "api/nfd.h"

FL_BIND(fl_node_feature_meta, FL_NODE_FEATURE_META)
FL_BIND(fl_nfd_flags, FL_NFD_FLAGS)
FL_BIND(fl_nfd_attributes, FL_NFD_ATTRIBUTES)
FL_BIND(fl_nfd_instance, FL_NFD_INSTANCE)
FL_BIND(fl_nfd_instances, FL_NFD_INSTANCES)
FL_BIND(fl_nfd_features, FL_NFD_FEATURES)
FL_BIND(fl_node_feature_spec, FL_NODE_FEATURE_SPEC)
FL_BIND(fl_node_feature, FL_NODE_FEATURE)

const struct fl_kind fl_node_feature_kind = {
	.group = "nfd.k8s-sigs.io", .version = "v1alpha1", .kind = "NodeFeature", .plural = "nodefeatures",
	.root = fl_node_feature_bind, .help = "What one source has found out about a Node.",
};
