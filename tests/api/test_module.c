/* Settings of the module: what is read, and what is refused by name. */
#include "api/module.h"
#include "test.h"
#include "walk.h"

static const struct {
	const char *says, *spec, *want;
} rows[] = {
	{ "nothing is off, with the defaults", "{}", "off gpu.deckhouse.io/enabled true Manual 0 0 []" },
	{ "empty settings mean the defaults", "{\"enabled\":true,\"version\":1,\"settings\":{}}",
	  "on gpu.deckhouse.io/enabled true Manual 0 0 []" },
	{ "the policy of Nodes", "{\"enabled\":true,\"settings\":{\"managedNodes\":{\"labelKey\":\"a/b\","
				 "\"enabledByDefault\":false}}}", "on a/b false Manual 0 0 []" },
	{ "a blank label key is the default", "{\"settings\":{\"managedNodes\":{\"labelKey\":\" \"}}}",
	  "off gpu.deckhouse.io/enabled true Manual 0 0 []" },
	{ "a label key is one", "{\"settings\":{\"managedNodes\":{\"labelKey\":\"a b\"}}}",
	  "spec.settings.managedNodes.labelKey: label key 'a b'" },
	{ "a mode in any case", "{\"settings\":{\"deviceApproval\":{\"mode\":\"aUTOMATIC\"}}}",
	  "off gpu.deckhouse.io/enabled true Automatic 0 0 []" },
	{ "an unknown mode", "{\"settings\":{\"deviceApproval\":{\"mode\":\"x\"}}}",
	  "unknown deviceApproval.mode \"x\"" },
	{ "a selector, its operators in any case",
	  "{\"settings\":{\"deviceApproval\":{\"mode\":\"Selector\",\"selector\":{\"matchLabels\":{\"a\":\"b\"},"
	  "\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"notin\",\"values\":[\"d\"]}]}}}}",
	  "off gpu.deckhouse.io/enabled true Selector 2 0 []" },
	{ "mode Selector without one", "{\"settings\":{\"deviceApproval\":{\"mode\":\"Selector\"}}}",
	  "spec.settings.deviceApproval.selector: is missing" },
	{ "an empty selector", "{\"settings\":{\"deviceApproval\":{\"mode\":\"Selector\",\"selector\":{}}}}",
	  "spec.settings.deviceApproval.selector: is empty" },
	{ "a selector in another mode",
	  "{\"settings\":{\"deviceApproval\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}}",
	  "spec.settings.deviceApproval.selector: needs mode Selector" },
	{ "a label without a value",
	  "{\"settings\":{\"deviceApproval\":{\"mode\":\"Selector\",\"selector\":{\"matchLabels\":{\"a\":\"\"}}}}}",
	  "spec.settings.deviceApproval.selector.matchLabels[a]: has no value" },
	{ "an unknown operator",
	  "{\"settings\":{\"deviceApproval\":{\"mode\":\"Selector\",\"selector\":{\"matchExpressions\":[{\"key\":\"c\","
	  "\"operator\":\"Gt\",\"values\":[\"1\"]}]}}}}",
	  "spec.settings.deviceApproval.selector.matchExpressions[0].operator: 'Gt'" },
	{ "In without values",
	  "{\"settings\":{\"deviceApproval\":{\"mode\":\"Selector\",\"selector\":{\"matchExpressions\":[{\"key\":\"c\","
	  "\"operator\":\"In\"}]}}}}",
	  "spec.settings.deviceApproval.selector: selector for 'c': In needs at least one value" },
	{ "Exists with values",
	  "{\"settings\":{\"deviceApproval\":{\"mode\":\"Selector\",\"selector\":{\"matchExpressions\":[{\"key\":\"c\","
	  "\"operator\":\"Exists\",\"values\":[\"1\"]}]}}}}",
	  "spec.settings.deviceApproval.selector: selector for 'c': Exists takes no values" },
	{ "a period", "{\"settings\":{\"inventory\":{\"resyncPeriod\":\"5m\"}}}",
	  "off gpu.deckhouse.io/enabled true Manual 0 300 []" },
	{ "a period that is off", "{\"settings\":{\"inventory\":{\"resyncPeriod\":\"0s\"}}}",
	  "off gpu.deckhouse.io/enabled true Manual 0 0 []" },
	{ "a period of another form", "{\"settings\":{\"inventory\":{\"resyncPeriod\":\"5m1s\"}}}",
	  "spec.settings.inventory.resyncPeriod: " },
	{ "a period beyond all times", "{\"settings\":{\"inventory\":{\"resyncPeriod\":\"9999999999h\"}}}",
	  "spec.settings.inventory.resyncPeriod: '9999999999h' is too long" },
	{ "an unknown field", "{\"settings\":{\"managedNode\":{}}}",
	  "spec.settings: managedNode: no such field; did you mean 'managedNodes'?" },
	{ "an unknown field inside", "{\"settings\":{\"managedNodes\":{\"label\":\"a\"}}}",
	  "spec.settings: managedNodes.label: no such field" },
	{ "a value of another type", "{\"settings\":{\"managedNodes\":{\"enabledByDefault\":\"yes\"}}}",
	  "spec.settings: managedNodes.enabledByDefault" },
	{ "settings that are no object", "{\"settings\":[]}", "spec.settings: " },
	{ "another version", "{\"version\":2}", "spec.version: this version knows 1, not 2" },
	{ "sections that are not used yet", "{\"settings\":{\"https\":{\"mode\":\"CertManager\"},\"scheduling\":{}}}",
	  "off gpu.deckhouse.io/enabled true Manual 0 0 [scheduling, https]" },
};

static void print(const struct fl_module *m, struct fl_buf *out)
{
	if (m->why.len) {
		fl_buf_str(out, m->why);
		return;
	}
	fl_buf_printf(out, "%s %.*s %s %s %u %llu [%.*s]", m->enabled ? "on" : "off", FL_ARG(m->label_key),
		      m->by_default ? "true" : "false", fl_name(&fl_approval_names, (int)m->approval),
		      m->selector.match_labels.len + m->selector.match_expressions.len,
		      (unsigned long long)(m->resync / 1000000000), FL_ARG(m->unused));
}

TEST(settings)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		char text[FL_KIB];
		struct fl_buf json = FL_BUF_IN(text);
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(FL_KIB);
		struct fl_module_config config = { 0 };
		struct fl_module module;
		struct fl_err err = { 0 };

		fl_buf_printf(&json, "{\"spec\":%s}", row->spec);
		OK_ERR(test_read(fl_module_config_bind(), text, 0, &arena, &config, &err), &err);
		OK_ERR(fl_module_read(&config, &arena, &module, &err), &err);
		print(&module, &got);
		OK(fl_buf_check(&got, "what is read", NULL));
		CHECK_STR(fl_str_sub(fl_buf_view(&got), 0, (uint32_t)strlen(row->want)), row->want);
	}
}

TEST(without_an_object_it_is_on)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_module module;

	OK(fl_module_read(NULL, &arena, &module, NULL));
	CHECK(module.enabled && module.by_default && !module.why.len);
}
