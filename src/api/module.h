/* module.h - the settings of the control plane: deckhouse.io/v1alpha1, ModuleConfig "gpu-control-plane".
 *
 * Deckhouse has this kind. Without Deckhouse, `fairlead crd ModuleConfig` prints a CRD that is enough. Without such an
 * object all settings are at their defaults, and the module is on.
 *
 * The settings are read strictly: an unknown field or a value that does not fit makes all of them invalid, with a text
 * that names the field. Sections that are known and not used yet are listed.
 */
#pragma once
#include "api/meta.h"

#define FL_MODULE_NAME "gpu-control-plane"

#define FL_MODULE_CONFIG_SPEC(X) \
	X(BOOL, enabled, "enabled", .help = "Whether the module is on; absent: off.") \
	X(I32, version, "version", .help = "Version of the settings: 1.") \
	X(RAW, settings, "settings", .help = "The settings of the module.")
FL_STRUCT(fl_module_config_spec, FL_MODULE_CONFIG_SPEC);

#define FL_MODULE_CONFIG_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_module_config_status, FL_MODULE_CONFIG_STATUS);

#define FL_MODULE_CONFIG(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_module_config_spec), spec, "spec", .help = "Is it on, and its settings.") \
	X(OBJ(fl_module_config_status), status, "status", .help = "Observed state.")
FL_STRUCT(fl_module_config, FL_MODULE_CONFIG);
extern const struct fl_kind fl_module_config_kind;

/* ---- spec.settings ---- */

#define FL_MODULE_NODES(X) \
	X(STR, label_key, "labelKey", DEFAULT_TEXT("gpu.deckhouse.io/enabled"), LENGTH(0, 317), \
	  .help = "Label of Nodes that says whether a Node is managed; blank: the default.") \
	X(BOOL, by_default, "enabledByDefault", DEFAULT(true), .help = "Whether Nodes without the label are managed.")
FL_STRUCT(fl_module_nodes, FL_MODULE_NODES);

#define FL_MODULE_TERM(X) \
	X(STR, key, "key", .required = true, LENGTH(1, 317), .example = "a", .help = "Label key.") \
	X(STR, op, "operator", .required = true, .help = "In, NotIn, Exists or DoesNotExist, in any case.") \
	X(STRS, values, "values", .help = "For In and NotIn: the values.")
FL_STRUCT(fl_module_term, FL_MODULE_TERM);

#define FL_MODULE_SELECTOR(X) \
	X(MAP, match_labels, "matchLabels", .help = "Labels that must have exactly these values.") \
	X(LIST(fl_module_term), match_expressions, "matchExpressions", \
	  .help = "Further terms, all of which must hold.")
FL_STRUCT(fl_module_selector, FL_MODULE_SELECTOR);

#define FL_MODULE_APPROVAL(X) \
	X(STR, mode, "mode", DEFAULT_TEXT("Manual"), \
	  .help = "Which GPUs pools may take by themselves: none (Manual), all (Automatic), some (Selector).") \
	X(OBJ(fl_module_selector), selector, "selector", .help = "With mode Selector: on the labels of a GPU.")
FL_STRUCT(fl_module_approval, FL_MODULE_APPROVAL);

#define FL_MODULE_INVENTORY(X) \
	X(STR, resync, "resyncPeriod", .pattern = "^[0-9]+(s|m|h)$", .example = "30s", \
	  .help = "How often every Node is looked at again without a change; absent or 0s: never, changes are told.")
FL_STRUCT(fl_module_inventory, FL_MODULE_INVENTORY);

/* Those of type RAW are known, and not used yet. */
#define FL_MODULE_SETTINGS(X) \
	X(OBJ(fl_module_nodes), nodes, "managedNodes", .help = "Which Nodes are managed.") \
	X(OBJ(fl_module_approval), approval, "deviceApproval", .help = "Which GPUs pools may take by themselves.") \
	X(OBJ(fl_module_inventory), inventory, "inventory", .help = "How GPUs are found.") \
	X(RAW, scheduling, "scheduling", .help = "Defaults of pools.") \
	X(BOOL, available, "highAvailability", .help = "Number of replicas.") \
	X(RAW, bootstrap, "bootstrap", .help = "Components on nodes.") \
	X(RAW, monitoring, "monitoring", .help = "Objects for Prometheus.") \
	X(STR, log_level, "logLevel", .help = "Lowest level to log.") \
	X(RAW, placement, "placement", .help = "Tolerations.") \
	X(RAW, https, "https", .help = "Certificates.")
FL_STRUCT(fl_module_settings, FL_MODULE_SETTINGS);

enum fl_approval { FL_APPROVAL_MANUAL, FL_APPROVAL_AUTOMATIC, FL_APPROVAL_SELECTOR, FL_APPROVAL_COUNT_ };
extern const struct fl_names fl_approval_names;

/* What they mean. */
struct fl_module {
	bool enabled;
	struct fl_str why;             /* not empty: they are invalid, and none of the rest counts */
	struct fl_str unused;          /* sections that are given and not used yet: "scheduling, https" */
	struct fl_str label_key;
	bool by_default;
	enum fl_approval approval;
	struct fl_label_selector selector;
	uint64_t resync;               /* ns; 0: never */
};

/* Of an object, or NULL: there is none. Borrows its texts. Fails with FL_E_NOMEM only. */
int fl_module_read(const struct fl_module_config *config, struct fl_arena *arena, struct fl_module *ret,
		   struct fl_err *err) FL_MUSTUSE;
