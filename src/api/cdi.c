#include "api/cdi.h"

FL_BIND(fl_cdi_node, FL_CDI_NODE)
FL_BIND(fl_cdi_mount, FL_CDI_MOUNT)
FL_BIND(fl_cdi_hook, FL_CDI_HOOK)
FL_BIND(fl_cdi_edits, FL_CDI_EDITS)
FL_BIND(fl_cdi_device, FL_CDI_DEVICE)
FL_BIND(fl_cdi_spec, FL_CDI_SPEC)

const struct fl_kind fl_cdi_spec_kind = {
	.group = "node.fairlead", .version = "v1", .cluster_scoped = true, .built_in = true, .kind = "CdiSpec",
	.plural = "cdispecs", .root = fl_cdi_spec_bind, .help = "A file that tells container runtimes about devices.",
};
