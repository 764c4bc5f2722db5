#include "api/kinds.h"
#include "api/coordination.h"
#include "api/core.h"
#include "api/module.h"
#include "api/pools.h"

const struct fl_kind *const fl_kinds[] = {
	&fl_config_map_kind, &fl_event_kind, &fl_lease_kind, &fl_namespace_kind, &fl_node_kind, &fl_pod_kind,
	&fl_gpu_device_kind, &fl_gpu_node_state_kind, &fl_gpu_pool_kind, &fl_cluster_gpu_pool_kind,
	&fl_module_config_kind, NULL,
};

const struct fl_kind *fl_kind_find(struct fl_str text)
{
	const struct fl_kind *found = NULL;

	for (const struct fl_kind *const *kind = fl_kinds; *kind; kind++)
		if ((!found || found->built_in) && fl_kind_named(*kind, text))
			found = *kind;
	return found;
}
