#include "cmd/controller/inventory.h"
#include "api/core.h"
#include "api/nfd.h"
#include "plan/pool/device_state.h"
#include "plan/pool/inventory.h"
#include "plan/pool/module.h"
#include "plan/pool/names.h"
#include "run/facts.h"
#include "run/kube.h"

/* ---- indexes ---- */

/* Nodes by the two beginnings that names of their GPUDevices may have: who waits for a name is found by it. */
static void node_prefixes(const void *object, struct fl_under *under)
{
	const struct fl_node *node = object;

	for (int hashed = 0; hashed < 2; hashed++) {
		char text[FL_DEVICE_TEXT];
		struct fl_buf out = FL_BUF_IN(text);

		fl_device_prefix(node->meta.name, hashed, &out);
		if (!out.failed)
			FL_UNDER(under, fl_buf_view(&out));
	}
}
const struct fl_index fl_inventory_nodes_by[] = { { "prefix", node_prefixes }, { 0 } };

static void feature_node(const void *object, struct fl_under *under)
{
	FL_UNDER(under, fl_gpu_feature_node(object));
}
const struct fl_index fl_inventory_features_by[] = { { "node", feature_node }, { 0 } };

static void device_node(const void *object, struct fl_under *under)
{
	struct fl_str node = fl_device_node(object);

	if (node.len)
		FL_UNDER(under, node);
}

static void device_prefix(const void *object, struct fl_under *under)
{
	struct fl_str prefix = fl_device_prefix_of(((const struct fl_gpu_device *)object)->meta.name);

	if (prefix.len)
		FL_UNDER(under, prefix);
}
const struct fl_index fl_inventory_devices_by[] = { { "node", device_node }, { "prefix", device_prefix }, { 0 } };

/* ---- settings: one object, read once ---- */

static int make_module(const void *object, struct fl_arena *arena, void *made, struct fl_err *err)
{
	return fl_module_read(object, arena, made, err);
}
const struct fl_make fl_module_made = { sizeof(struct fl_module), make_module };

static const struct fl_module *module_of(struct fl_view *view, const struct fl_module_config **ret_config)
{
	struct fl_unpacked config = fl_view_unpacked(view, &fl_module_config_kind, FL_S(""), FL_S(FL_MODULE_NAME));
	struct fl_module *none;

	*ret_config = config.object;
	if (config.object)
		return config.made;
	none = fl_view_alloc(view, 1, sizeof *none);
	if (none && fl_module_read(NULL, view->arena, none, NULL) < 0)
		view->failed = true;
	return none;
}

/* ---- inventory: what is gathered ---- */

/* GPUDevices whose names begin as those of this Node may: its own ones, and those of Nodes that are called alike. */
static void gather_others(struct fl_view *view, struct fl_inventory_facts *f, struct fl_str node)
{
	struct fl_gpu_device *all;
	uint32_t room = 0, len = 0;
	struct fl_str prefix[2];

	for (int hashed = 0; hashed < 2; hashed++) {
		char text[FL_DEVICE_TEXT];
		struct fl_buf out = FL_BUF_IN(text);

		fl_device_prefix(node, hashed, &out);
		prefix[hashed] = out.failed ? FL_S("") : FL_VALUE(view, fl_buf_view(&out));
		room += fl_view_count(view, &fl_gpu_device_kind, "prefix", prefix[hashed]);
	}
	if (room == f->device_len && room == 0)
		return;
	all = fl_view_alloc(view, (size_t)room + 1, sizeof *all);
	for (int hashed = 0; all && hashed < 2; hashed++) {
		struct fl_each each = fl_view_by(view, &fl_gpu_device_kind, "prefix", prefix[hashed]);
		const struct fl_gpu_device *device;

		while (len < room && (device = fl_each_next(&each)))
			if (!fl_str_eq(fl_device_node(device), node))
				all[len++] = *device;
	}
	f->others = all;
	f->other_len = len;
}

static bool gather_inventory(struct fl_view *view, struct fl_ref key, void *facts)
{
	struct fl_inventory_facts *f = facts;
	const struct fl_module_config *config;
	struct fl_each each;
	void *all;

	f->node = fl_view_get(view, &fl_node_kind, FL_S(""), key.name);
	if (!f->node)
		return false;
	f->module = module_of(view, &config);
	f->now = view->now;
	each = fl_view_by(view, &fl_gpu_feature_kind, "node", key.name);
	f->feature_len = fl_each_array(&each, &all);
	f->features = all;
	each = fl_view_by(view, &fl_gpu_device_kind, "node", key.name);
	f->device_len = fl_each_array(&each, &all);
	f->devices = all;
	f->state = fl_view_get(view, &fl_gpu_node_state_kind, FL_S(""), key.name);
	gather_others(view, f, key.name);
	return f->module;
}

/* ---- inventory: which changes matter ---- */

/* Of a Node, only what a plan reads: a kubelet reports every few seconds. */
static void node_keys(const void *before_, const void *after_, struct fl_dirty *dirty)
{
	const struct fl_node *before = before_, *after = after_;

	if (before && after && before != after && fl_map_equal(before->meta.labels, after->meta.labels) &&
	    fl_str_eq(before->meta.uid, after->meta.uid) &&
	    before->meta.has.deletion_timestamp == after->meta.has.deletion_timestamp)
		return;
	if (before)
		fl_dirty_key(dirty, FL_S(""), before->meta.name);
	else if (after)
		fl_dirty_key(dirty, FL_S(""), after->meta.name);
}

static void feature_keys(const void *before_, const void *after_, struct fl_dirty *dirty)
{
	const struct fl_gpu_feature *before = before_, *after = after_;

	if (before && after && before != after && fl_map_equal(before->meta.labels, after->meta.labels) &&
	    fl_equal(fl_gpu_feature_spec_bind(), &before->spec, &after->spec))
		return;
	if (before)
		fl_dirty_key(dirty, FL_S(""), fl_gpu_feature_node(before));
	if (after)
		fl_dirty_key(dirty, FL_S(""), fl_gpu_feature_node(after));
}

/* Those that may want the name of this device. */
static void name_keys(const struct fl_gpu_device *device, struct fl_dirty *dirty)
{
	struct fl_str prefix = fl_device_prefix_of(device->meta.name);
	const struct fl_node *node;
	struct fl_each each;

	if (!prefix.len)
		return;
	each = fl_view_by(dirty->view, &fl_node_kind, "prefix", FL_VALUE(dirty->view, prefix));
	while ((node = fl_each_next(&each)))
		fl_dirty_key(dirty, FL_S(""), node->meta.name);
}

static void device_keys(const void *before_, const void *after_, struct fl_dirty *dirty)
{
	const struct fl_gpu_device *before = before_, *after = after_;
	struct fl_str was = before ? fl_device_node(before) : FL_S(""), is = after ? fl_device_node(after) : FL_S("");

	if (was.len)
		fl_dirty_key(dirty, FL_S(""), was);
	if (is.len && !fl_str_eq(was, is))
		fl_dirty_key(dirty, FL_S(""), is);
	if (before && after && before != after && fl_str_eq(was, is) && fl_str_eq(before->meta.name, after->meta.name))
		return;
	if (before)
		name_keys(before, dirty);
	if (after && after != before)
		name_keys(after, dirty);
}

static void state_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_gpu_node_state *state = after ? after : before;

	fl_dirty_key(dirty, FL_S(""), state->meta.name);
}

/* Our own condition in its status changes no setting. */
static void module_keys(const void *before_, const void *after_, struct fl_dirty *dirty)
{
	const struct fl_module_config *before = before_, *after = after_, *config = after ? after : before;

	if (!fl_str_eq(config->meta.name, FL_S(FL_MODULE_NAME)))
		return;
	if (!before || !after || !fl_equal(fl_module_config_spec_bind(), &before->spec, &after->spec) ||
	    before->faults.len || after->faults.len)
		fl_dirty_each(dirty, &fl_node_kind);
}

static const struct fl_watched inventory_watches[] = {
	{ &fl_node_kind, node_keys, false }, { &fl_gpu_feature_kind, feature_keys, true },
	{ &fl_gpu_device_kind, device_keys, false }, { &fl_gpu_node_state_kind, state_keys, false },
	{ &fl_module_config_kind, module_keys, true }, { 0 },
};
const struct fl_capability fl_inventory = {
	.name = "inventory", .watches = inventory_watches, .key = &fl_node_kind,
	.owners = FL_OWNERS(&fl_inventory_device_owner, &fl_inventory_device_status_owner, &fl_inventory_state_owner,
			    &fl_inventory_state_status_owner),
	.facts_size = sizeof(struct fl_inventory_facts), .gather = gather_inventory, .plan = fl_inventory_plan,
};

/* ---- device-state ---- */

FL_FACTS_KEYED(device_states, fl_device_state_facts, FL_DEVICE_STATE_FACTS)

const struct fl_capability fl_device_states = {
	.name = "device-state", .watches = device_states_watches, .key = &fl_gpu_device_kind,
	.owners = FL_OWNERS(&fl_device_state_owner), .facts_size = sizeof(struct fl_device_state_facts),
	.gather = device_states_gather, .plan = fl_device_state_plan,
};

/* ---- what ModuleConfig says of its settings ---- */

static bool gather_module(struct fl_view *view, struct fl_ref key, void *facts)
{
	struct fl_module_facts *f = facts;

	if (!fl_str_eq(key.name, FL_S(FL_MODULE_NAME)))
		return false;   /* another module's */
	f->module = module_of(view, &f->config);
	return f->config;
}

static void config_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_module_config *config = after ? after : before;

	fl_dirty_key(dirty, FL_S(""), config->meta.name);
}

static const struct fl_watched module_watches[] = { { &fl_module_config_kind, config_keys, true }, { 0 } };
const struct fl_capability fl_module_settings_check = {
	.name = "module-settings", .watches = module_watches, .key = &fl_module_config_kind,
	.owners = FL_OWNERS(&fl_module_owner), .facts_size = sizeof(struct fl_module_facts), .gather = gather_module,
	.plan = fl_module_plan,
};

/* ---- Events ---- */

void fl_inventory_event(struct fl_running *run, const struct fl_told_event *told)
{
	FL_VIEW(view, run->loop);
	struct fl_told_event event = *told;
	const struct fl_node *node;

	if (told->ref.kind != &fl_gpu_node_state_kind) {
		fl_kube_event(run->events, told);
		return;
	}
	node = fl_view_get(&view, &fl_node_kind, FL_S(""), told->ref.name);
	event.ref = node ? FL_REF(&fl_node_kind, node) : told->ref;
	event.reason = FL_S("GPUInventoryConditionChanged");
	event.message = fl_arena_printf(view.arena, "Condition %.*s changed to %s (%.*s): %.*s", FL_ARG(told->type),
					told->is == FL_CONDITION_TRUE ? "true" : "false", FL_ARG(told->reason),
					FL_ARG(told->message));
	if (event.message.p)
		fl_kube_event(run->events, &event);
}
