#include "api/module.h"
#include "api/selector.h"
#include "base/units.h"
#include "json/json.h"
#include "json/name.h"
#include <strings.h>

FL_BIND(fl_module_config_spec, FL_MODULE_CONFIG_SPEC)
FL_BIND(fl_module_config_status, FL_MODULE_CONFIG_STATUS)
FL_BIND(fl_module_config, FL_MODULE_CONFIG)
FL_BIND(fl_module_nodes, FL_MODULE_NODES)
FL_BIND(fl_module_term, FL_MODULE_TERM)
FL_BIND(fl_module_selector, FL_MODULE_SELECTOR)
FL_BIND(fl_module_approval, FL_MODULE_APPROVAL)
FL_BIND(fl_module_inventory, FL_MODULE_INVENTORY)
FL_BIND(fl_module_settings, FL_MODULE_SETTINGS)

FL_NAMES(fl_approval_names, FL_APPROVAL_COUNT_, [FL_APPROVAL_MANUAL] = "Manual",
	 [FL_APPROVAL_AUTOMATIC] = "Automatic", [FL_APPROVAL_SELECTOR] = "Selector");

const struct fl_kind fl_module_config_kind = {
	.group = "deckhouse.io", .version = "v1alpha1", .kind = "ModuleConfig", .plural = "moduleconfigs",
	.short_names = "mc", .cluster_scoped = true, .root = fl_module_config_bind, .status = true, .theirs = true,
	.columns = { { "Settings", .condition = "SettingsValid" }, { "Age" } },
	.help = "Whether a module is on, and its settings.",
};

#define AT "spec.settings."

/* The value with this name in any case, or -1. */
static int find_name(const struct fl_names *names, struct fl_str text)
{
	for (uint32_t i = 0; i < names->len; i++)
		if (strlen(names->at[i]) == text.len && strncasecmp(names->at[i], text.p, text.len) == 0)
			return (int)i;
	return -1;
}

/* ---- deviceApproval ---- */

static int read_term(const struct fl_module_term *from, uint32_t i, struct fl_selector_term *to, struct fl_err *err)
{
	int op = find_name(&fl_term_op_names, from->op);

	if (op < 0)
		return fl_fail(err, FL_E_INVALID,
			       AT "deviceApproval.selector.matchExpressions[%u].operator: '%.*s' is none of In, NotIn, "
				  "Exists, DoesNotExist",
			       i, FL_ARG(from->op));
	FL_SET(to, key, from->key);
	FL_SET(to, op, (enum fl_term_op)op);
	to->values = from->values;
	to->has.values = from->has.values;
	return 0;
}

static int read_selector(const struct fl_module_selector *from, struct fl_arena *arena, struct fl_label_selector *to,
			 struct fl_err *err)
{
	if (!from->match_labels.len && !from->match_expressions.len)
		return fl_fail(err, FL_E_INVALID,
			       AT "deviceApproval.selector: is empty: name labels of the GPUs, or use "
				  "mode Automatic");
	for (uint32_t i = 0; i < from->match_labels.len; i++)
		if (!from->match_labels.at[i].value.len)
			return fl_fail(err, FL_E_INVALID, AT "deviceApproval.selector.matchLabels[%.*s]: has no value",
				       FL_ARG(from->match_labels.at[i].key));
	to->match_labels = from->match_labels;
	to->has.match_labels = from->has.match_labels;
	if (from->match_expressions.len &&
	    !FL_ELEMENTS(to, arena, match_expressions, from->match_expressions.len))
		return fl_fail(err, FL_E_NOMEM, "no memory for the settings");
	for (uint32_t i = 0; i < from->match_expressions.len; i++)
		if (read_term(&from->match_expressions.at[i], i, &to->match_expressions.at[i], err) < 0)
			return -FL_E_INVALID;
	return fl_label_selector_check(to, err) < 0 ? fl_wrap(err, AT "deviceApproval.selector") : 0;
}

static int read_approval(const struct fl_module_approval *from, struct fl_arena *arena, struct fl_module *to,
			 struct fl_err *err)
{
	int mode = find_name(&fl_approval_names, from->mode);

	if (mode < 0)
		return fl_fail(err, FL_E_INVALID,
			       "unknown deviceApproval.mode \"%.*s\": use Manual, Automatic or Selector",
			       FL_ARG(from->mode));
	to->approval = (enum fl_approval)mode;
	if (mode != FL_APPROVAL_SELECTOR && from->has.selector)
		return fl_fail(err, FL_E_INVALID, AT "deviceApproval.selector: needs mode Selector, and it is %s",
			       fl_name(&fl_approval_names, mode));
	if (mode == FL_APPROVAL_SELECTOR && !from->has.selector)
		return fl_fail(err, FL_E_INVALID, AT "deviceApproval.selector: is missing: mode Selector needs it");
	return from->has.selector ? read_selector(&from->selector, arena, &to->selector, err) : 0;
}

/* ---- the others ---- */

static int read_nodes(const struct fl_module_nodes *from, struct fl_module *to, struct fl_err *err)
{
	struct fl_str key = fl_str_trim(from->label_key);

	to->by_default = from->by_default;
	if (!key.len)
		return 0;
	to->label_key = key;
	return fl_name_check(FL_NAME_QUALIFIED, AT "managedNodes.labelKey: label key", key, err);
}

static int read_resync(struct fl_str text, struct fl_module *to, struct fl_err *err)
{
	int64_t ns = 0;

	if (text.len && !fl_duration(text, &ns))
		return fl_fail(err, FL_E_INVALID, AT "inventory.resyncPeriod: '%.*s' is too long", FL_ARG(text));
	to->resync = (uint64_t)ns;
	return 0;
}

static int list_unused(const struct fl_module_settings *from, struct fl_arena *arena, struct fl_module *to,
		       struct fl_err *err)
{
	const struct { bool given; const char *name; } all[] = {
		{ from->has.scheduling, "scheduling" }, { from->has.available, "highAvailability" },
		{ from->has.bootstrap, "bootstrap" }, { from->has.monitoring, "monitoring" },
		{ from->has.log_level, "logLevel" }, { from->has.placement, "placement" },
		{ from->has.https, "https" },
	};

	for (unsigned i = 0; i < FL_LEN(all); i++) {
		if (!all[i].given)
			continue;
		to->unused = fl_arena_printf(arena, "%.*s%s%s", FL_ARG(to->unused), to->unused.len ? ", " : "",
				all[i].name);
		if (!to->unused.p)
			return fl_fail(err, FL_E_NOMEM, "no memory for the settings");
	}
	return 0;
}

/* ---- all ---- */

static int read_json(struct fl_str json, struct fl_arena *arena, struct fl_module_settings *ret, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_fault_list faults;
	int r = fl_json_read(NULL, json, 0, &doc, err);

	r = r < 0 ? r : fl_decode(fl_module_settings_bind(), yyjson_doc_get_root(doc), arena, FL_DECODE_STRICT, ret,
			err);
	r = r < 0 ? r : fl_check(fl_module_settings_bind(), NULL, ret, arena, &faults, err);
	if (r > 0)
		return fl_fail(err, FL_E_INVALID, AT "%.*s: %.*s, not %.*s", FL_ARG(faults.at[0].path),
			       FL_ARG(faults.at[0].want), FL_ARG(faults.at[0].found));
	return r < 0 && err && err->code != FL_E_NOMEM ? fl_wrap(err, "spec.settings") : r;
}

static int read_all(const struct fl_module_config *config, struct fl_arena *arena, struct fl_module *ret,
		    struct fl_err *err)
{
	struct fl_module_settings from = { 0 };
	int r;

	if (config->faults.len)
		return fl_fail(err, FL_E_INVALID, "%.*s: %.*s, not %.*s", FL_ARG(config->faults.at[0].path),
			       FL_ARG(config->faults.at[0].want), FL_ARG(config->faults.at[0].found));
	if (config->spec.has.version && config->spec.version != 1)
		return fl_fail(err, FL_E_INVALID, "spec.version: this version knows 1, not %d", config->spec.version);
	r = read_json(config->spec.settings.json.len ? config->spec.settings.json : FL_S("{}"), arena, &from, err);
	r = r < 0 ? r : read_nodes(&from.nodes, ret, err);
	r = r < 0 ? r : read_approval(&from.approval, arena, ret, err);
	r = r < 0 ? r : read_resync(from.inventory.resync, ret, err);
	return r < 0 ? r : list_unused(&from, arena, ret, err);
}

int fl_module_read(const struct fl_module_config *config, struct fl_arena *arena, struct fl_module *ret,
		   struct fl_err *err)
{
	static const struct fl_module_config none = { 0 };
	struct fl_err why = { .text = "" };
	int r;

	*ret = (struct fl_module){ .enabled = !config || config->spec.enabled, .label_key =
			FL_S("gpu.deckhouse.io/enabled") };
	r = read_all(config ? config : &none, arena, ret, &why);
	if (r >= 0)
		return 0;
	ret->why = why.code == FL_E_NOMEM ? (struct fl_str){ NULL, 0 } : fl_arena_str(arena, fl_str(why.text));
	return ret->why.p ? 0 : fl_fail(err, FL_E_NOMEM, "no memory for the settings");
}
