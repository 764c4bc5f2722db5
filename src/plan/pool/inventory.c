#include "plan/pool/inventory.h"
#include "api/selector.h"
#include "plan/pool/match.h"
#include "plan/pool/names.h"
#include "plan/pool/snapshot.h"
#include <strings.h>

static const char *const device_paths[] = { "metadata.labels[" FL_LABEL_NODE "]", "metadata.labels[" FL_LABEL_INDEX "]",
					    "metadata.ownerReferences", NULL };
const struct fl_owner fl_inventory_device_owner = { "fairlead-inventory", &fl_gpu_device_kind, device_paths };
static const char *const device_status_paths[] = {
	"status.nodeName", "status.inventoryID", "status.managed", "status.autoAttach", "status.hardware",
	"status.conditions[type=" FL_MANAGED_DISABLED "]", "status.conditions[type=" FL_IGNORED "]", NULL,
};
const struct fl_owner fl_inventory_device_status_owner = { "fairlead-inventory-status", &fl_gpu_device_kind,
							    device_status_paths };
static const char *const state_paths[] = { "spec.nodeName", "metadata.ownerReferences", NULL };
const struct fl_owner fl_inventory_state_owner = { "fairlead-inventory", &fl_gpu_node_state_kind, state_paths };
static const char *const state_status_paths[] = { "status.conditions[type=" FL_MANAGED_DISABLED "]",
						  "status.conditions[type=" FL_INVENTORY_COMPLETE "]", NULL };
const struct fl_owner fl_inventory_state_status_owner = { "fairlead-inventory-status", &fl_gpu_node_state_kind,
							   state_status_paths };

struct inventory {
	const struct fl_inventory_facts *f;
	struct fl_plan *plan;
	struct fl_snapshot snapshot;
	struct matches matches;
	bool managed;
	struct fl_str incomplete;              /* GPUs that lack a UUID or an address */
	uint32_t incomplete_len;
};

const struct fl_owner_ref *fl_device_owner_node(const struct fl_meta *meta)
{
	for (uint32_t i = 0; i < meta->owner_references.len; i++)
		if (fl_owner_ref_is(&meta->owner_references.at[i], &fl_node_kind))
			return &meta->owner_references.at[i];
	return NULL;
}

struct fl_str fl_device_node(const struct fl_gpu_device *device)
{
	const struct fl_owner_ref *node = fl_device_owner_node(&device->meta);

	return device->status.node_name.len ? device->status.node_name : node ? node->name : FL_S("");
}

static bool is_word(struct fl_str text, const char *word)
{
	return text.len == strlen(word) && strncasecmp(text.p, word, text.len) == 0;
}

bool fl_device_is_ignored(const struct fl_gpu_device *device)
{
	struct fl_str value = fl_map_value(device->meta.labels, FL_S(FL_LABEL_IGNORE));

	return value.len && is_word(value, "true");
}

static bool is_managed(const struct fl_node *node, const struct fl_module *module)
{
	struct fl_str value = fl_map_value(node->meta.labels, module->label_key);

	return value.p ? !value.len || !is_word(value, "false") : module->by_default;
}

/* ---- metadata ---- */

static struct fl_owner_ref_list owned_by(const struct fl_node *node, struct fl_plan *plan)
{
	struct fl_owner_ref *ref = fl_plan_get(plan, 1, sizeof *ref);

	if (!ref)
		return (struct fl_owner_ref_list){ NULL, 0 };
	FL_SET(ref, api_version, FL_S("v1"));
	FL_SET(ref, kind, FL_S("Node"));
	FL_SET(ref, name, node->meta.name);
	FL_SET(ref, uid, node->meta.uid);
	return (struct fl_owner_ref_list){ ref, 1 };
}

static bool is_owned_by(const struct fl_meta *meta, const struct fl_node *node)
{
	const struct fl_owner_ref *ref = fl_device_owner_node(meta);

	return ref && fl_str_eq(ref->uid, node->meta.uid);
}

static struct fl_ref ref_of(const struct match *match)
{
	struct fl_ref ref = { .kind = &fl_gpu_device_kind, .space = FL_S(""), .name = match->name, .uid = FL_S("") };

	return match->device ? FL_REF(&fl_gpu_device_kind, match->device) : ref;
}

/* One that is as it should be is not asked for: a further owner reference, of somebody else, stays then. */
static void want_meta(struct inventory *v, const struct match *match)
{
	char text[FL_DEVICE_TEXT];
	struct fl_buf out = FL_BUF_IN(text);
	struct fl_pair *labels = fl_plan_get(v->plan, 2, sizeof *labels);
	struct fl_gpu_device device = { 0 };

	fl_device_node_label(v->f->node->meta.name, &out);
	if (!labels)
		return;
	labels[0] = (struct fl_pair){ FL_S(FL_LABEL_INDEX), match->index };
	labels[1] = (struct fl_pair){ FL_S(FL_LABEL_NODE), fl_plan_printf(v->plan, "%s", text) };
	if (match->device && is_owned_by(&match->device->meta, v->f->node) &&
	    fl_str_eq(fl_map_value(match->device->meta.labels, labels[0].key), labels[0].value) &&
	    fl_str_eq(fl_map_value(match->device->meta.labels, labels[1].key), labels[1].value))
		return;
	FL_SET(FL_IN(&device, meta), labels, ((struct fl_map){ labels, 2 }));
	FL_SET(&device.meta, owner_references, owned_by(v->f->node, v->plan));
	fl_want(v->plan, &fl_inventory_device_owner, ref_of(match), &device);
}

/* ---- hardware ---- */

static void keep_text(struct fl_str *text, struct fl_str was)
{
	if (!text->len)
		*text = was;
}

/* What is known now, and else what was. */
static void merge(const struct fl_snapshot_card *card, const struct fl_device_hardware *was,
		  struct fl_device_hardware *ret)
{
	*ret = card ? card->hardware : (struct fl_device_hardware){ 0 };
	keep_text(&ret->uuid, was->uuid);
	keep_text(&ret->product, was->product);
	keep_text(&ret->pci.vendor, was->pci.vendor);
	keep_text(&ret->pci.device, was->pci.device);
	keep_text(&ret->pci.class, was->pci.class);
	keep_text(&ret->pci.address, was->pci.address);
	if (!card)
		ret->mig = was->mig;
	if (card && !card->mig_known)
		ret->mig.types = was->mig.types;
	if (!ret->mig.profiles.len)
		ret->mig.profiles = was->mig.profiles;
	FL_SET_TEXT(ret, uuid, ret->uuid);
	FL_SET_TEXT(ret, product, ret->product);
	FL_SET_TEXT(&ret->pci, vendor, ret->pci.vendor);
	FL_SET_TEXT(&ret->pci, device, ret->pci.device);
	FL_SET_TEXT(&ret->pci, class, ret->pci.class);
	FL_SET_TEXT(&ret->pci, address, ret->pci.address);
	ret->mig.has.types = ret->mig.types.len > 0;
	ret->mig.has.profiles = ret->mig.profiles.len > 0;
	ret->has.pci = ret->pci.has.bits != 0;
	ret->has.mig = ret->mig.has.bits != 0;
}

/* ---- approval ---- */

static void put(struct fl_map *map, struct fl_str key, struct fl_str value)
{
	if (value.len)
		map->at[map->len++] = (struct fl_pair){ key, value };
}

#define SLOT "gpu.deckhouse.io/device."
#define SLOT_LABELS 5
#define DEVICE_LABELS (9 + 2 * SLOT_LABELS)

/* The labels of its slot, by the number as it is and with two digits, as NFD's rule has it. */
static void put_slots(struct inventory *v, const struct match *match, const struct fl_device_hardware *is,
		      struct fl_str memory, struct fl_map *map)
{
	const struct { const char *name; struct fl_str value; } of[SLOT_LABELS] = {
		{ "vendor", is->pci.vendor }, { "device", is->pci.device }, { "class", is->pci.class },
		{ "product", is->product }, { "memoryMiB", memory },
	};

	for (unsigned i = 0; i < FL_LEN(of); i++) {
		put(map, fl_plan_printf(v->plan, SLOT "%.*s.%s", FL_ARG(match->index), of[i].name), of[i].value);
		if (match->index.len == 1)
			put(map, fl_plan_printf(v->plan, SLOT "0%.*s.%s", FL_ARG(match->index), of[i].name),
			    of[i].value);
	}
}

static bool is_selected(struct inventory *v, const struct match *match, const struct fl_device_hardware *is)
{
	struct fl_map labels = { fl_plan_get(v->plan, DEVICE_LABELS, sizeof *labels.at), 0 };
	struct fl_str memory = match->card ? match->card->memory : FL_S("");

	if (!labels.at)
		return false;
	put(&labels, FL_S(SLOT "index"), match->index);
	put(&labels, FL_S(SLOT "vendor"), is->pci.vendor);
	put(&labels, FL_S(SLOT "device"), is->pci.device);
	put(&labels, FL_S(SLOT "class"), is->pci.class);
	put(&labels, FL_S(SLOT "product"), is->product);
	put(&labels, FL_S(SLOT "uuid"), is->uuid);
	put(&labels, FL_S(SLOT "memoryMiB"), memory);
	put(&labels, FL_S(SLOT "mig.capable"), is->mig.capable ? FL_S("true") : FL_S("false"));
	put(&labels, FL_S(SLOT "mig.strategy"), fl_str(fl_name(&fl_device_mig_strategy_names, (int)is->mig.strategy)));
	put_slots(v, match, is, memory, &labels);
	return fl_label_selector_match(&v->f->module->selector, labels);
}

static bool is_approved(struct inventory *v, const struct match *match, const struct fl_device_hardware *is)
{
	switch (v->f->module->approval) {
	case FL_APPROVAL_MANUAL:
		return false;
	case FL_APPROVAL_AUTOMATIC:
		return v->managed;
	case FL_APPROVAL_SELECTOR:
		return v->managed && is_selected(v, match, is);
	case FL_APPROVAL_COUNT_:
		break;
	}
	return false;
}

/* ---- status ---- */

static void note_incomplete(struct inventory *v, const struct match *match, const struct fl_device_hardware *is)
{
	if (!match->card || (is->uuid.len && is->pci.address.len))
		return;
	v->incomplete_len++;
	v->incomplete = fl_plan_printf(v->plan, "%.*s%s%.*s", FL_ARG(v->incomplete), v->incomplete.len ? ", " : "",
				       FL_ARG(match->name));
}

/* Two GPUs that changed places: the second one's place is the first one's for good. */
static bool is_anothers(const struct inventory *v, const struct match *match, struct fl_str id)
{
	for (uint32_t i = 0; i < v->matches.len; i++) {
		const struct fl_gpu_device *device = v->matches.at[i].device;

		if (device && device != match->device && fl_str_eq(device->status.inventory_id, id))
			return true;
	}
	return false;
}

static struct fl_str inventory_id(struct inventory *v, const struct match *match, const struct fl_device_hardware *is)
{
	struct fl_str id;

	if (match->device && match->device->status.inventory_id.len)
		return match->device->status.inventory_id;
	if (!is->pci.address.len)
		return FL_S("");
	id = fl_plan_printf(v->plan, "%.*s/%.*s", FL_ARG(v->f->node->meta.name), FL_ARG(is->pci.address));
	return is_anothers(v, match, id) ? FL_S("") : id;
}

static void tell_disabled(struct inventory *v, const struct fl_owner *owner, struct fl_ref ref, enum fl_emit tell)
{
	if (v->managed)
		fl_want_condition(v->plan, owner, ref, tell, FL_MANAGED_DISABLED, FL_CONDITION_FALSE, "NodeManaged",
				  "the Node is managed");
	else
		fl_want_condition(v->plan, owner, ref, tell, FL_MANAGED_DISABLED, FL_CONDITION_TRUE,
				  "NodeMarkedDisabled",
				  "the Node is not managed: label %.*s, or managedNodes.enabledByDefault",
				  FL_ARG(v->f->module->label_key));
}

static void want_status(struct inventory *v, const struct match *match)
{
	const struct fl_device_hardware none = { 0 };
	struct fl_ref ref = ref_of(match);
	struct fl_gpu_device device = { 0 };
	struct fl_gpu_device_status *status = FL_IN(&device, status);
	struct fl_device_hardware *is = FL_IN(status, hardware);

	merge(match->card, match->device ? &match->device->status.hardware : &none, is);
	FL_SET(status, node_name, v->f->node->meta.name);
	FL_SET_TEXT(status, inventory_id, inventory_id(v, match, is));
	FL_SET(status, managed, v->managed);
	FL_SET(status, auto_attach, is_approved(v, match, is));
	note_incomplete(v, match, is);
	fl_want(v->plan, &fl_inventory_device_status_owner, ref, &device);
	tell_disabled(v, &fl_inventory_device_status_owner, ref, FL_EMIT_NOBODY);
	if (match->device && fl_device_is_ignored(match->device))
		fl_want_condition(v->plan, &fl_inventory_device_status_owner, ref, FL_EMIT_NOBODY, FL_IGNORED,
				  FL_CONDITION_TRUE, "IgnoreLabel",
				  "label " FL_LABEL_IGNORE " takes the GPU out of use");
	if (!match->device || !match->device->status.has.node_name)
		fl_want_event(v->plan, &fl_inventory_device_status_owner, ref, ref, FL_EMIT_NORMAL, "GPUDeviceDetected",
			      "Discovered GPU device index=%.*s vendor=%.*s device=%.*s on node %.*s",
			      FL_ARG(match->index), FL_ARG(is->pci.vendor), FL_ARG(is->pci.device),
			      FL_ARG(v->f->node->meta.name));
}

/* ---- GPUNodeState ---- */

static void tell_complete(struct inventory *v, struct fl_ref ref)
{
	const struct fl_owner *owner = &fl_inventory_state_status_owner;

	if (!v->snapshot.len)
		fl_want_condition(v->plan, owner, ref, FL_EMIT_WARNING, FL_INVENTORY_COMPLETE, FL_CONDITION_FALSE,
				  "NoDevicesDiscovered", "no source tells of GPUs of this Node: %u GPUDevices are kept",
				  v->matches.len);
	else if (!v->snapshot.has_feature)
		fl_want_condition(v->plan, owner, ref, FL_EMIT_WARNING, FL_INVENTORY_COMPLETE, FL_CONDITION_FALSE,
				  "NodeFeatureMissing",
				  "the Node has labels of GPUs, and no NodeFeature: is node feature "
				  "discovery at work, and the agent?");
	else if (v->incomplete_len)
		fl_want_condition(v->plan, owner, ref, FL_EMIT_WARNING, FL_INVENTORY_COMPLETE, FL_CONDITION_FALSE,
				  "DeviceDataIncomplete", "%u of %u GPUs lack a UUID or a PCI address, which the agent "
							  "tells: %.*s",
				  v->incomplete_len, v->snapshot.len,
				  FL_ARG(v->incomplete));
	else
		fl_want_condition(v->plan, owner, ref, FL_EMIT_NORMAL, FL_INVENTORY_COMPLETE, FL_CONDITION_TRUE,
				  "InventorySynced", "all of %u GPUs are known", v->snapshot.len);
}

static void want_state(struct inventory *v)
{
	const struct fl_gpu_node_state *is = v->f->state;
	struct fl_str name = v->f->node->meta.name;
	struct fl_ref ref = { .kind = &fl_gpu_node_state_kind, .space = FL_S(""), .name = name, .uid = FL_S("") };
	const struct fl_owner_ref *owner = is ? fl_device_owner_node(&is->meta) : NULL;
	struct fl_gpu_node_state state = { 0 };

	if (is && (is->meta.has.deletion_timestamp || (owner && !is_owned_by(&is->meta, v->f->node))))
		return;   /* of a former Node of this name: it goes */
	if (is)
		ref = FL_REF(&fl_gpu_node_state_kind, is);
	if (!owner || !fl_str_eq(is->spec.node_name, name)) {
		FL_SET(FL_IN(&state, spec), node_name, name);
		FL_SET(FL_IN(&state, meta), owner_references, owned_by(v->f->node, v->plan));
		fl_want(v->plan, &fl_inventory_state_owner, ref, &state);
	}
	tell_disabled(v, &fl_inventory_state_status_owner, ref, FL_EMIT_NORMAL);
	tell_complete(v, ref);
}

/* ---- the plan ---- */

static void remove_all(const struct fl_inventory_facts *f, struct fl_plan *plan)
{
	for (uint32_t i = 0; i < f->device_len; i++) {
		struct fl_ref ref = FL_REF(&fl_gpu_device_kind, &f->devices[i]);

		if (!match_is_own(f, &f->devices[i]))
			continue;
		fl_want_gone(plan, ref);
		fl_want_event(plan, NULL, ref, FL_REF(&fl_node_kind, f->node), FL_EMIT_NORMAL, "GPUDeviceRemoved",
			      "GPU device %.*s removed from inventory", FL_ARG(ref.name));
	}
}

static void say(struct inventory *v)
{
	struct fl_ref node = FL_REF(&fl_node_kind, v->f->node);

	fl_say(v->plan, node, "Inventory", "%u GPUs are told of, %u GPUDevices", v->snapshot.len, v->matches.len);
	if (v->snapshot.odd.len)
		fl_say(v->plan, node, "NotUsed", "%.*s", FL_ARG(v->snapshot.odd));
	if (v->matches.waits.len)
		fl_say(v->plan, node, "Waits", "%.*s", FL_ARG(v->matches.waits));
}

void fl_inventory_plan(const void *facts, struct fl_plan *plan)
{
	const struct fl_inventory_facts *f = facts;
	struct inventory v = { .f = f, .plan = plan, .incomplete = FL_S("") };
	struct fl_snapshot_in in = { f->node, f->features, f->feature_len };
	struct fl_ref node = FL_REF(&fl_node_kind, f->node);

	if (f->module->why.len || !f->module->enabled) {
		fl_say(plan, node, f->module->why.len ? "SettingsInvalid" : "ModuleOff", "%.*s",
		       FL_ARG(f->module->why.len ? f->module->why : FL_S("spec.enabled of ModuleConfig " FL_MODULE_NAME
									 " is not true")));
		return;
	}
	if (f->node->meta.has.deletion_timestamp) {
		remove_all(f, plan);
		return;
	}
	if (f->module->resync)
		fl_want_at(plan, f->now + f->module->resync);
	fl_snapshot_make(&in, plan, &v.snapshot);
	match_all(f, &v.snapshot, plan, &v.matches);
	if (plan->failed || (!v.matches.len && !v.snapshot.odd.len))
		return;
	v.managed = is_managed(f->node, f->module);
	say(&v);
	for (uint32_t i = 0; i < v.matches.len; i++)
		if (v.matches.at[i].name.len) {
			want_meta(&v, &v.matches.at[i]);
			want_status(&v, &v.matches.at[i]);
		}
	if (v.matches.len)
		want_state(&v);
}
