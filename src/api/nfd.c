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

/* ---- as the inventory reads it ---- */

#define OF_GFD "nvidia-features-for-"

FL_NAMES(fl_gpu_feature_meta_labels, 1, FL_NFD_NODE_NAME);
FL_NAMES(fl_gpu_feature_labels, 2, "gpu.deckhouse.io/", "nvidia.com/");
FL_NAMES(fl_gpu_feature_instances, 1, FL_NFD_GPU);

FL_BIND(fl_gpu_feature_meta, FL_GPU_FEATURE_META)
FL_BIND(fl_gpu_features, FL_GPU_FEATURES)
FL_BIND(fl_gpu_feature_spec, FL_GPU_FEATURE_SPEC)
FL_BIND(fl_gpu_feature, FL_GPU_FEATURE)

const struct fl_kind fl_gpu_feature_kind = {
	.group = "nfd.k8s-sigs.io", .version = "v1alpha1", .kind = "NodeFeature", .plural = "nodefeatures",
	.root = fl_gpu_feature_bind, .help = "What one source has found out about the GPUs of a Node.",
};

struct fl_str fl_gpu_feature_node(const struct fl_gpu_feature *feature)
{
	for (uint32_t i = 0; i < feature->meta.labels.len; i++)
		if (fl_str_eq(feature->meta.labels.at[i].key, FL_S(FL_NFD_NODE_NAME)))
			return feature->meta.labels.at[i].value;
	if (fl_str_starts(feature->meta.name, FL_S(OF_GFD)))
		return fl_str_sub(feature->meta.name, sizeof OF_GFD - 1, feature->meta.name.len);
	return feature->meta.name;
}
