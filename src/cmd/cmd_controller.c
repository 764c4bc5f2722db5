/* The one that plans for the whole cluster. */
#include "api/core.h"
#include "api/nfd.h"
#include "api/pools.h"
#include "cmd/controller/inventory.h"
#include "cmd/program.h"
#include "cmd/role.h"

static const struct fl_role_kind kinds[] = {
	{ .kind = &fl_node_kind, .by = fl_inventory_nodes_by },
	{ .kind = &fl_gpu_feature_kind, .by = fl_inventory_features_by },
	{ .kind = &fl_gpu_device_kind, .by = fl_inventory_devices_by },
	{ .kind = &fl_gpu_node_state_kind },
	{ .kind = &fl_module_config_kind, .fields = "metadata.name=" FL_MODULE_NAME, .unpacked = &fl_module_made },
	{ 0 },
};
const struct fl_capability *const fl_controller_capabilities[] = { &fl_inventory, &fl_device_states,
								   &fl_module_settings_check, NULL };

static const struct fl_role role = {
	.name = "controller", .program = &fl_program,
	.reports = "gpu.deckhouse.io/fairlead", .kinds = kinds, .capabilities = fl_controller_capabilities,
	.event = fl_inventory_event,
};

static const struct fl_option options[] = {
	FL_ROLE_OPTIONS(struct fl_role_flags_of, flags, "[::]:8080"),
	FL_ROLE_LEASE_OPTIONS(struct fl_role_flags_of, flags, "fairlead-controller"),
	FL_ROLE_WEBHOOK_OPTIONS(struct fl_role_flags_of, flags),
};

static int controller(const struct fl_call *call, struct fl_err *err)
{
	return fl_role_main(&role, &((const struct fl_role_flags_of *)call->config)->flags, err);
}

static int check(const struct fl_call *call, struct fl_err *err)
{
	return fl_role_check(&((const struct fl_role_flags_of *)call->config)->flags, err);
}

const struct fl_command fl_cmd_controller = {
	"controller", "Plan for the whole cluster: one replica leads, the others stand by.", NULL,
	FL_COMMAND_OPTIONS(options, struct fl_role_flags_of),
	.check = check,
	.run = controller,
};
