/* Schemas: what they prune, fill in and refuse, in the words of the API server. */
#include "api/demo.h"
#include "base/units.h"
#include "json/write.h"
#include "json/yaml.h"
#include "local/schema_in.h"
#include "test.h"

/* A spec in YAML, and what becomes of it: the spec, or the causes of its refusal. */
struct value {
	const char *says, *spec, *want;
	bool taken;
};

#include "schema_cases.h"

static const char value_schema[] =
	"{type: object, properties: {spec: {type: object, properties: {"
	"i: {type: integer}, i32: {type: integer, format: int32}, i64: {type: integer, format: int64}, "
	"'n': {type: number}, f: {type: number, format: float}, b: {type: boolean}, s: {type: string}, "
	"min: {type: integer, minimum: 1}, xmin: {type: integer, minimum: 1, exclusiveMinimum: true}, "
	"max: {type: integer, maximum: 5}, xmax: {type: integer, maximum: 5, exclusiveMaximum: true}, "
	"mul: {type: integer, multipleOf: 3}, fmin: {type: number, minimum: 1.5}, "
	"fmul: {type: number, multipleOf: 0.5}, maxl: {type: string, maxLength: 3}, "
	"minl: {type: string, minLength: 3}, pat: {type: string, pattern: '^a+$'}, "
	"en: {type: string, enum: [x, 'y']}, eni: {type: integer, enum: [1, 2]}, "
	"dt: {type: string, format: date-time}, date: {type: string, format: date}, "
	"dur: {type: string, format: duration}, byte: {type: string, format: byte}, "
	"ipv4: {type: string, format: ipv4}, ipv6: {type: string, format: ipv6}, "
	"cidr: {type: string, format: cidr}, uuid: {type: string, format: uuid}, "
	"mac: {type: string, format: mac}, email: {type: string, format: email}, "
	"host: {type: string, format: hostname}, uri: {type: string, format: uri}, "
	"short: {type: string, format: k8s-short-name}, long: {type: string, format: k8s-long-name}, "
	"arr: {type: array, items: {type: integer}, maxItems: 2}, "
	"arr2: {type: array, items: {type: integer}, minItems: 2}, "
	"arrs: {type: array, items: {type: string, maxLength: 2}}, "
	"set: {type: array, items: {type: string}, x-kubernetes-list-type: set}, "
	"map: {type: array, items: {type: object, properties: {k: {type: string}, p: {type: integer, "
	"default: 80}, v: {type: string}}, required: [k]}, x-kubernetes-list-type: map, "
	"x-kubernetes-list-map-keys: [k, p]}, "
	"o: {type: object, properties: {a: {type: integer}, b: {type: integer}}, required: [a, b]}, "
	"omax: {type: object, additionalProperties: {type: integer}, maxProperties: 1}, "
	"omin: {type: object, additionalProperties: {type: integer}, minProperties: 2}, "
	"ap: {type: object, additionalProperties: {type: object, properties: {x: {type: integer, "
	"minimum: 1}}}}, ios: {x-kubernetes-int-or-string: true}, "
	"ios2: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: "
	"'^a$'}, nul: {type: string, nullable: true}, "
	"emb: {type: object, x-kubernetes-embedded-resource: true, "
	"x-kubernetes-preserve-unknown-fields: true}, "
	"pres: {type: object, x-kubernetes-preserve-unknown-fields: true}, "
	"any: {x-kubernetes-preserve-unknown-fields: true}, "
	"all: {type: string, allOf: [{minLength: 2}, {pattern: '^b'}]}, "
	"anyof: {type: string, anyOf: [{minLength: 5}, {pattern: '^b'}]}, "
	"one: {type: string, oneOf: [{minLength: 2}, {pattern: '^b'}]}, "
	"not: {type: string, not: {pattern: '^b'}}, "
	"oreq: {type: object, properties: {x: {type: integer}, 'y': {type: integer}}, oneOf: "
	"[{required: [x]}, {required: ['y']}]}, "
	"anyreq: {type: object, properties: {x: {type: integer}, 'y': {type: integer}}, anyOf: "
	"[{required: [x]}, {required: ['y']}]}, "
	"allp: {type: object, properties: {x: {type: integer}, 'y': {type: integer}}, allOf: "
	"[{properties: {x: {minimum: 4}}}]}, "
	"anyp: {type: object, properties: {x: {type: integer}, 'y': {type: integer}}, anyOf: "
	"[{properties: {x: {minimum: 4}}}, {properties: {'y': {minimum: 4}}}]}}}, status: {type: "
	"object, properties: {a: {type: integer}}}}}";

/* What begins with a brace would be taken for JSON. */
static int read(struct fl_json_space *space, const char *yaml, yyjson_doc **ret)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);

	fl_buf_printf(&text, "--- %s", yaml);
	return text.failed ? -FL_E_NOMEM : fl_yaml_read(space, fl_buf_view(&text), ret, NULL);
}

static int compile(const char *yaml, unsigned flags, struct fl_schema **ret, struct fl_err *err)
{
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	yyjson_doc *doc = NULL;
	int r = read(&space, yaml, &doc);

	return r < 0 ? r : fl_schema_compile(doc->root, flags, ret, err);
}

struct rig {
	struct fl_json_space space;
	struct fl_arena arena;
	yyjson_mut_doc *doc;
	yyjson_mut_val *object;
};

static void rig_auto_(struct rig *rig)
{
	fl_json_space_free(&rig->space);
	fl_arena_free(&rig->arena);
}

static int rig_read(struct rig *rig, const char *yaml)
{
	yyjson_alc alc = fl_json_alc(&rig->space);
	yyjson_doc *in = NULL;
	int r;

	fl_json_space_reset(&rig->space);
	rig->doc = yyjson_mut_doc_new(&alc);
	r = rig->doc ? read(&rig->space, yaml, &in) : -FL_E_NOMEM;
	if (r < 0)
		return r;
	rig->object = fl_tree_of(rig->doc, in->root, NULL);
	return rig->object ? 0 : -FL_E_NOMEM;
}

static int print(struct fl_buf *buf, yyjson_mut_val *val)
{
	struct fl_jw w = FL_JW(buf);

	fl_jw_mut(&w, val);
	return buf->failed ? -FL_E_NOMEM : 0;
}

/* ---- values ---- */

static void check_value(const struct fl_schema *schema, const struct value *row)
{
	FL_AUTO(rig) struct rig rig = { 0 }, want = { 0 };
	FL_AUTO(fl_buf) struct fl_buf spec = FL_BUF(FL_MIB), said = FL_BUF(FL_MIB), text = FL_BUF(FL_MIB);
	struct fl_causes causes = FL_CAUSES(&rig.arena);
	yyjson_mut_val *got;

	fl_buf_printf(&spec, "{spec: %s}", row->spec);
	OK(fl_buf_check(&spec, "spec", NULL));
	OK(rig_read(&rig, spec.p));
	fl_schema_prune(schema, rig.object, NULL);
	OK(fl_schema_default(schema, rig.doc, rig.object));
	fl_schema_check(schema, rig.object, &causes);
	OK(causes.failed ? -FL_E_NOMEM : 0);
	fl_causes_text(&causes, &said);
	OK(fl_buf_check(&said, "causes", NULL));
	CHECK_STR(fl_buf_view(&said), row->taken ? "" : row->want);
	if (!row->taken)
		return;
	OK(rig_read(&want, row->want));
	got = fl_tree_get(rig.object, FL_S("spec"));
	OK(print(&text, got));
	if (!fl_tree_equal(got, want.object) && !strstr(row->says, "1.0"))
		CHECK_STR(fl_buf_view(&text), row->want);
}

TEST(values_are_checked)
{
	FL_AUTO(fl_schema) struct fl_schema *schema = NULL;

	OK(compile(value_schema, 0, &schema, NULL));
	EACH_ROW_ALONE (row, value_cases)
		check_value(schema, row);
}

/* ---- pruning ---- */

static const struct {
	const char *says, *schema, *object, *want, *unknown;
} prunings[] = {
	{ "what no property names goes, and is reported", "{type: object, properties: {spec: {type: object}}}",
	  "{apiVersion: v1, kind: X, metadata: {name: x}, spec: {a: 1}, b: [1]}",
	  "{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{\"name\":\"x\"},\"spec\":{}}",
	  "[unknown field \"b\", unknown field \"spec.a\"]" },
	{ "below a property that keeps all, all stays",
	  "{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}",
	  "{spec: {a: {b: [{c: 1}]}}}", "{\"spec\":{\"a\":{\"b\":[{\"c\":1}]}}}", "" },
	{ "a property within one that keeps all prunes again",
	  "{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true, "
	  "properties: {a: {type: object, properties: {x: {type: integer}}}}}}}",
	  "{spec: {a: {b: 1, x: 2}, c: 1}}", "{\"spec\":{\"a\":{\"x\":2},\"c\":1}}", "unknown field \"spec.a.b\"" },
	{ "items and values of maps are pruned",
	  "{type: object, properties: {l: {type: array, items: {type: object, properties: {x: {type: integer}}}}, "
	  "m: {type: object, additionalProperties: {type: object, properties: {x: {type: integer}}}}}}",
	  "{l: [{x: 1, b: 2}], m: {k: {b: 1}}}", "{\"l\":[{\"x\":1}],\"m\":{\"k\":{}}}",
	  "[unknown field \"l[0].b\", unknown field \"m.k.b\"]" },
	{ "all that metadata may have stays", "{type: object}",
	  "{metadata: {annotations: {}, creationTimestamp: 'x', deletionGracePeriodSeconds: 1, deletionTimestamp: x, "
	  "finalizers: [], generateName: x, generation: 1, labels: {}, managedFields: [{apiVersion: x, "
	  "fieldsType: x, "
	  "fieldsV1: {f:a: {}}, manager: x, operation: x, subresource: x, time: x}], name: x, namespace: x, "
	  "ownerReferences: [{apiVersion: x, blockOwnerDeletion: true, controller: true, kind: x, name: x, uid: x}], "
	  "resourceVersion: x, selfLink: x, uid: x}}",
	  "{\"metadata\":{\"annotations\":{},\"creationTimestamp\":\"x\",\"deletionGracePeriodSeconds\":1,"
	  "\"deletionTimestamp\":\"x\",\"finalizers\":[],\"generateName\":\"x\",\"generation\":1,\"labels\":{},"
	  "\"managedFields\":[{\"apiVersion\":\"x\",\"fieldsType\":\"x\",\"fieldsV1\":{\"f:a\":{}},\"manager\":\"x\","
	  "\"operation\":\"x\",\"subresource\":\"x\",\"time\":\"x\"}],\"name\":\"x\",\"namespace\":\"x\","
	  "\"ownerReferences\":[{\"apiVersion\":\"x\",\"blockOwnerDeletion\":true,\"controller\":true,\"kind\":\"x\","
	  "\"name\":\"x\",\"uid\":\"x\"}],\"resourceVersion\":\"x\",\"selfLink\":\"x\",\"uid\":\"x\"}}",
	  "" },
	{ "an object within keeps its own members", "{type: object, properties: {e: {type: object, "
	  "x-kubernetes-embedded-resource: true}}}",
	  "{e: {apiVersion: v1, kind: X, metadata: {labels: {a: b}, foo: 1}, spec: {}}}",
	  "{\"e\":{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{\"labels\":{\"a\":\"b\"}}}}",
	  "[unknown field \"e.metadata.foo\", unknown field \"e.spec\"]" },
};

TEST(objects_are_pruned)
{
	EACH_ROW (row, prunings) {
		FL_AUTO(fl_schema) struct fl_schema *schema = NULL;
		FL_AUTO(rig) struct rig rig = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB), said = FL_BUF(FL_MIB), again = FL_BUF(FL_MIB);
		struct fl_causes unknown = FL_CAUSES(&rig.arena);

		OK(compile(row->schema, 0, &schema, NULL));
		OK(rig_read(&rig, row->object));
		fl_schema_prune(schema, rig.object, &unknown);
		OK(unknown.failed ? -FL_E_NOMEM : 0);
		fl_causes_text(&unknown, &said);
		OK(fl_buf_check(&said, "unknown fields", NULL));
		OK(print(&text, rig.object));
		CHECK_STR(fl_buf_view(&text), row->want);
		CHECK_STR(fl_buf_view(&said), row->unknown);
		fl_schema_prune(schema, rig.object, NULL);
		OK(print(&again, rig.object));
		CHECK_STR(fl_buf_view(&again), row->want);
	}
}

TEST(an_open_schema_keeps_all)
{
	FL_AUTO(fl_schema) struct fl_schema *schema = NULL;
	FL_AUTO(rig) struct rig rig = { 0 };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);

	OK(compile("{type: object, properties: {spec: {type: object, properties: {a: {type: "
		   "integer}}}}}",
		   FL_SCHEMA_OPEN,
		   &schema, NULL));
	OK(rig_read(&rig, "{spec: {a: 1, b: null}, c: {d: 1}}"));
	fl_schema_prune(schema, rig.object, NULL);
	OK(fl_schema_default(schema, rig.doc, rig.object));
	OK(print(&text, rig.object));
	CHECK_STR(fl_buf_view(&text), "{\"spec\":{\"a\":1,\"b\":null},\"c\":{\"d\":1}}");
}

/* ---- defaults ---- */

static const struct {
	const char *says, *schema, *object, *want, *applied;
} defaults[] = {
	{ "an absent member gets its default, but only where its parent is",
	  "{type: object, properties: {spec: {type: object, properties: {a: {type: integer, default: 3}}}}}",
	  "{spec: {}}", "{\"spec\":{\"a\":3}}", NULL },
	{ "without its parent there is no default",
	  "{type: object, properties: {spec: {type: object, properties: {a: {type: integer, default: "
	  "3}}}}}", "{}", "{}",
	  NULL },
	{ "a default gets the defaults below it", "{type: object, properties: {spec: {type: object, default: {}, "
	  "properties: {a: {type: object, default: {b: 1}, "
	  "properties: {b: {type: integer}, c: {type: integer, default: 2}}}}}}}",
	  "{}", "{\"spec\":{\"a\":{\"b\":1,\"c\":2}}}", NULL },
	{ "a null is replaced by the default", "{type: object, properties: {a: {type: integer, default: "
	  "3}}}", "{a: null}",
	  "{\"a\":3}", NULL },
	{ "a null without a default goes, but not after an apply", "{type: object, properties: {a: {type: integer}}}",
	  "{a: null}", "{}", "{\"a\":null}" },
	{ "a null that is allowed stays", "{type: object, properties: {a: {type: integer, default: 3, "
	  "nullable: true}}}",
	  "{a: null}", "{\"a\":null}", NULL },
	{ "items and values of maps get their defaults",
	  "{type: object, properties: {l: {type: array, items: {type: object, properties: {x: {type: "
	  "integer, default: 1}}}}, "
	  "m: {type: object, additionalProperties: {type: object, properties: {x: {type: integer, default: 1}}}}}}",
	  "{l: [{}, {x: 2}], m: {k: {}}}", "{\"l\":[{\"x\":1},{\"x\":2}],\"m\":{\"k\":{\"x\":1}}}", NULL },
};

TEST(defaults_are_filled_in)
{
	EACH_ROW (row, defaults) {
		FL_AUTO(fl_schema) struct fl_schema *schema = NULL;
		FL_AUTO(rig) struct rig rig = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB), again = FL_BUF(FL_MIB), applied = FL_BUF(FL_MIB);

		OK(compile(row->schema, 0, &schema, NULL));
		OK(rig_read(&rig, row->object));
		OK(fl_schema_default(schema, rig.doc, rig.object));
		OK(print(&text, rig.object));
		CHECK_STR(fl_buf_view(&text), row->want);
		OK(fl_schema_default(schema, rig.doc, rig.object));
		OK(print(&again, rig.object));
		CHECK_STR(fl_buf_view(&again), row->want);
		OK(rig_read(&rig, row->object));
		OK(fl_schema_fill(schema, rig.doc, rig.object));
		OK(print(&applied, rig.object));
		CHECK_STR(fl_buf_view(&applied), row->applied ? row->applied : row->want);
	}
}

/* ---- schemas ---- */

static const struct {
	const char *says, *schema, *why;
} refusals[] = {
	{ "a property needs a type", "{type: object, properties: {spec: {properties: {a: {}}}}}",
	  "properties[spec].type: Required value: must not be empty for specified object fields" },
	{ "a type is one of six", "{type: object, properties: {a: {type: text}}}",
	  "properties[a].type: array, boolean, integer, number, object or string is wanted" },
	{ "the root is an object", "{type: string}", "type: must be object at the root" },
	{ "a list of type map names its keys", "{type: object, properties: {a: {type: array, "
	  "x-kubernetes-list-type: map, "
	  "items: {type: object}}}}",
	  "properties[a].x-kubernetes-list-map-keys: a list of type map has objects as items, and names their keys" },
	{ "a list of type map has each key once", "{type: object, properties: {a: {type: array, "
	  "x-kubernetes-list-type: "
	  "map, x-kubernetes-list-map-keys: [k, k], items: {type: object}}}}",
	  "properties[a].x-kubernetes-list-map-keys: a name stands there twice" },
	{ "a default fits its own schema", "{type: object, properties: {a: {type: integer, maximum: 3, default: 4}}}",
	  "properties[a].default: <nil>: Invalid value: 4: <nil> in body should be less than or equal to 3" },
	{ "a default has no members that the schema does not name",
	  "{type: object, properties: {a: {type: object, default: {b: 1}}}}",
	  "properties[a].default: unknown field \"b\"" },
	{ "a set has items", "{type: object, properties: {a: {type: array, x-kubernetes-list-type: set}}}",
	  "properties[a].items: Required value: must be specified" },
	{ "bounds are numbers", "{type: object, properties: {a: {type: array, items: {type: integer, minimum: x}}}}",
	  "properties[a].items.minimum: a number is wanted" },
	{ "lengths are counts", "{type: object, properties: {a: {type: string, maxLength: -1}}}",
	  "properties[a].maxLength: a count is wanted" },
	{ "a multiple is of more than 0", "{type: object, properties: {a: {type: integer, multipleOf: 0}}}",
	  "properties[a].multipleOf: a number above 0 is wanted" },
	{ "an enum is a list", "{type: object, properties: {a: {type: string, anyOf: [{enum: 1}]}}}",
	  "properties[a].anyOf.enum: a list of values is wanted" },
	{ "a schema is an object", "{type: object, properties: {a: 1}}", "properties[a]: a schema is an object" },
	{ "required is a list of names", "{type: object, required: [1]}", "required: a list of names is wanted" },
};

TEST(no_structural_schemas_are_refused)
{
	EACH_ROW (row, refusals) {
		FL_AUTO(fl_schema) struct fl_schema *schema = NULL;
		struct fl_err err = { 0 };

		REFUSED(compile(row->schema, 0, &schema, &err), FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->why);
		CHECK(!schema);
	}
}

TEST(what_is_not_checked_is_listed)
{
	static const struct {
		const char *path, *rule;
	} want[] = {
		{ "a", "pattern \\bx" }, { "a", "self != 'x'" }, { "b[*]", "format email" }, { "m.*", "self > 1" },
		{ "", "self.a == 'b'" },
	};
	FL_AUTO(fl_schema) struct fl_schema *schema = NULL;
	const struct fl_schema_rule *rules;
	uint32_t len;

	OK(compile("{type: object, x-kubernetes-validations: [{rule: self.a == 'b'}], properties: {"
		   "a: {type: string, pattern: '\\bx', x-kubernetes-validations: [{rule: \"self != 'x'\"}]}, "
		   "b: {type: array, items: {type: string, format: email}}, "
		   "m: {type: object, additionalProperties: {type: integer, x-kubernetes-validations: "
		   "[{rule: self > 1}]}}}}",
		   0, &schema, NULL));
	rules = fl_schema_rules(schema, &len);
	CHECK_INT(len, FL_LEN(want));
	for (uint32_t i = 0; i < len; i++) {
		CHECK_STR(rules[i].path, want[i].path);
		CHECK_STR(rules[i].rule, want[i].rule);
	}
}

static const struct {
	const char *says, *go, *posix;
} patterns[] = {
	{ "classes become brackets", "^\\d+\\s\\w$", "^[0123456789]+[\t\n\f\r "
	  "][0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefgh"
	  "ijklmnopqrstuvwxyz]$" },
	{ "a dot matches no line end", "a.b", "a[^\n]b" },
	{ "groups need no numbers", "(?:a|b)(?P<x>c)(d)", "(a|b)(c)(d)" },
	{ "lazy repeats match the same texts", "a+?b*?c??d{2}?", "a+b*c?d{2}" },
	{ "escapes within brackets are resolved", "[\\]\\-a\\\\^[]", "[]\\a[[.^.]-]" },
	{ "a brace that counts nothing stands for itself", "a{b}{1,2}", "a\\{b}{1,2}" },
	{ "ends of the text", "\\Aa\\z", "^a$" },
	{ "word boundaries have no equal", "\\ba", NULL },
	{ "flags have no equal", "(?i)a", NULL },
	{ "Unicode classes have no equal", "\\p{L}", NULL },
	{ "a bracket without an end is refused", "[a", NULL },
	{ "a backslash at the end is refused", "a\\", NULL },
};

TEST(patterns_are_translated)
{
	EACH_ROW (row, patterns) {
		FL_AUTO(fl_buf) struct fl_buf posix = FL_BUF(FL_KIB);
		bool ok = fl_pattern_translate(fl_str(row->go), &posix);

		OK(fl_buf_check(&posix, "pattern", NULL));
		CHECK(ok == (row->posix != NULL));
		if (ok)
			CHECK_STR(fl_buf_view(&posix), row->posix);
	}
}

TEST(a_schema_may_not_be_too_deep)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	FL_AUTO(fl_schema) struct fl_schema *schema = NULL;

	for (int i = 0; i < FL_SCHEMA_DEPTH + 1; i++)
		fl_buf_str(&text, FL_S("{\"type\":\"object\",\"additionalProperties\":"));
	fl_buf_str(&text, FL_S("{\"type\":\"object\"}"));
	for (int i = 0; i < FL_SCHEMA_DEPTH + 1; i++)
		fl_buf_char(&text, '}');
	OK(fl_buf_check(&text, "schema", NULL));
	OK(fl_json_read(NULL, fl_buf_view(&text), 0, &doc, NULL));
	REFUSED(fl_schema_compile(doc->root, 0, &schema, NULL), FL_E_INVALID);
}

TEST(a_kind_of_ours_has_a_schema)
{
	FL_AUTO(fl_schema) struct fl_schema *schema = NULL;
	FL_AUTO(rig) struct rig rig = { 0 };
	FL_AUTO(fl_buf) struct fl_buf said = FL_BUF(FL_MIB);
	struct fl_causes causes = FL_CAUSES(&rig.arena), unknown = FL_CAUSES(&rig.arena);

	OK(fl_schema_of_kind(&fl_demo_kind, 0, &schema, NULL));
	OK(rig_read(&rig, "{apiVersion: gpu.deckhouse.io/v1alpha1, kind: GPUPool, metadata: {name: x}, "
			  "spec: {nonsense: 1}}"));
	fl_schema_prune(schema, rig.object, &unknown);
	OK(fl_schema_default(schema, rig.doc, rig.object));
	fl_schema_check(schema, rig.object, &causes);
	OK(causes.failed || unknown.failed ? -FL_E_NOMEM : 0);
	fl_causes_text(&unknown, &said);
	OK(fl_buf_check(&said, "unknown fields", NULL));
	CHECK_STR(fl_buf_view(&said), "unknown field \"spec.nonsense\"");
	CHECK(causes.len > 0);
}
