/* The one that plans for the whole cluster. */
#include "api/core.h"
#include "cmd/program.h"
#include "cmd/role.h"

static const struct fl_role_kind kinds[] = { { 0 } };
const struct fl_capability *const fl_controller_capabilities[] = { NULL };

static const struct fl_role role = {
	.name = "controller", .program = &fl_program,
	.reports = "gpu.deckhouse.io/fairlead", .kinds = kinds, .capabilities = fl_controller_capabilities,
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
	.hidden = true,   /* until there is a capability: it would watch nothing and want nothing */
	.check = check,
	.run = controller,
};
