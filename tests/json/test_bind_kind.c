/* What is printed from a table: names, paths, CRD, page, explanation; and the tables that do not hold together. */
#include "api/core.h"
#include "api/demo.h"
#include "base/units.h"
#include "json/bind_kind.h"
#include "kind_lint.h"
#include "test.h"

static const struct {
	const char *says, *space, *name, *sub, *want;
	const struct fl_kind *kind;
} path_rows[] = {
	{ "an object", "ns", "a", NULL, "/apis/demo.fairlead.test/v1alpha1/namespaces/ns/rockets/a", &fl_demo_kind },
	{ "its status", "ns", "a", "status", "/apis/demo.fairlead.test/v1alpha1/namespaces/ns/rockets/a/status",
	  &fl_demo_kind },
	{ "all of a namespace", "ns", "", NULL, "/apis/demo.fairlead.test/v1alpha1/namespaces/ns/rockets",
	  &fl_demo_kind },
	{ "all", "", "", NULL, "/apis/demo.fairlead.test/v1alpha1/rockets", &fl_demo_kind },
	{ "the core group has its own root", "ns", "a", NULL, "/api/v1/namespaces/ns/pods/a", &fl_pod_kind },
	{ "a cluster-scoped kind has no namespace", "ns", "n", NULL, "/api/v1/nodes/n", &fl_node_kind },
	{ "a name cannot leave its place", "n/s", "../x?y%", NULL, "/api/v1/namespaces/n%2Fs/pods/..%2Fx%3Fy%25",
	  &fl_pod_kind },
};

TEST(paths)
{
	EACH_ROW (row, path_rows) {
		FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(FL_KIB);

		fl_kind_path(row->kind, fl_str(row->space), fl_str(row->name), row->sub, &path);
		OK(fl_buf_check(&path, "a path", NULL));
		CHECK_STR(fl_buf_view(&path), row->want);
	}
}

static const struct {
	const char *says, *text;
	bool means;
} name_rows[] = {
	{ "the kind", "Rocket", true },
	{ "the plural", "rockets", true },
	{ "in any case", "ROCKET", true },
	{ "a short name", "rkt", true },
	{ "with its group", "rockets.demo.fairlead.test", true },
	{ "another group", "rockets.example.com", false },
	{ "the beginning of a name", "rock", false },
	{ "nothing", "", false },
};

TEST(names)
{
	EACH_ROW (row, name_rows)
		CHECK_INT(fl_kind_named(&fl_demo_kind, fl_str(row->text)), row->means);
}

/* That the CRD does what it says is tests/cluster/crd's business; here is what must stand in it. */
static const struct {
	const char *says, *has;
} crd_rows[] = {
	{ "names", "\"names\":{\"kind\":\"Rocket\",\"listKind\":\"RocketList\",\"plural\":\"rockets\",\"singular\":"
		   "\"rocket\","
		   "\"shortNames\":[\"rk\",\"rkt\"],\"categories\":[\"demo\",\"toys\"]}" },
	{ "labels", "\"labels\":{\"module\":\"fairlead-tests\",\"tier\":\"demo\"}" },
	{ "a column by its path", "{\"name\":\"Total\",\"type\":\"integer\",\"jsonPath\":\".status.capacity.total\"" },
	{ "a condition's column", "{\"name\":\"Ready\",\"type\":\"string\","
				  "\"jsonPath\":\".status.conditions[?(@.type==\\\"Ready\\\")].status\"}" },
	{ "the age", "{\"name\":\"Age\",\"type\":\"date\",\"jsonPath\":\".metadata.creationTimestamp\"}" },
	{ "selectable fields", "\"selectableFields\":[{\"jsonPath\":\".spec.displayName\"}" },
	{ "scale", "\"scale\":{\"specReplicasPath\":\".spec.replicas\",\"statusReplicasPath\":\".status.replicas\","
		   "\"labelSelectorPath\":\".status.selector\"}" },
	{ "bounds that are the type's own are not written",
	  "\"minAvailable\":{\"description\":\"An integer with a floor.\","
							    "\"type\":\"integer\",\"format\":\"int32\",\"minimum\":1}"
							    "" },
	{ "keys", "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"name\",\"number\"]" },
	{ "an atomic object", "\"nodeSelector\":{\"description\":\"A selector.\",\"type\":\"object\","
			      "\"x-kubernetes-map-type\":\"atomic\"" },
	{ "what stays", "{\"rule\":\"self == oldSelf\",\"message\":\"provider is immutable\"}" },
	{ "and is neither added nor taken away, by a name that CEL allows",
	  "{\"rule\":\"has(self.__namespace__) == has(oldSelf.__namespace__)\",\"message\":\"namespace is immutable\"}"
	  "" },
	{ "a default object", "\"default\":{},\"type\":\"object\"" },
	{ "deprecation", "\"description\":\"Once more important. Deprecated: use stages.\",\"nullable\":true" },
	{ "the root", "\"metadata\":{\"type\":\"object\"}" },
};

TEST(a_crd_says_what_the_table_says)
{
	FL_AUTO(fl_buf) struct fl_buf crd = FL_BUF(FL_MIB);
	const struct fl_kind *kind = &fl_demo_kind;
	struct fl_jw w = FL_JW(&crd);

	fl_kind_crd(&kind, 1, &w);
	OK(fl_buf_check(&crd, "a CRD", NULL));
	EACH_ROW (row, crd_rows)
		CHECK(strstr(crd.p, row->has) != NULL);
	CHECK(!strstr(crd.p, "faults"));   /* ours alone */
}

TEST(two_versions_are_one_crd)
{
	FL_AUTO(fl_buf) struct fl_buf crd = FL_BUF(FL_MIB);
	struct fl_kind old = fl_demo_kind;
	const struct fl_kind *versions[] = { &fl_demo_kind, &old };
	struct fl_jw w = FL_JW(&crd);

	old.version = "v1alpha0";
	old.not_stored = true;
	old.deprecated = "use v1alpha1";
	fl_kind_crd(versions, 2, &w);
	OK(fl_buf_check(&crd, "a CRD", NULL));
	CHECK(strstr(crd.p, "{\"name\":\"v1alpha1\",\"served\":true,\"storage\":true,\"subresources\"") != NULL);
	CHECK(strstr(crd.p, "{\"name\":\"v1alpha0\",\"served\":true,\"storage\":false,\"deprecated\":true,"
			    "\"deprecationWarning\":\"use v1alpha1\"") != NULL);
}

TEST(a_page_has_every_field)
{
	FL_AUTO(fl_buf) struct fl_buf page = FL_BUF(FL_MIB);

	fl_kind_page(&fl_demo_kind, &page);
	OK(fl_buf_check(&page, "a page", NULL));
	CHECK(strstr(page.p, "# Rocket\n\nA rocket: a kind for tests only.\n\n`demo.fairlead.test/v1alpha1`, "
			     "`rockets`, "
			     "namespaced, for short `rk,rkt`, also by `demo,toys`.\n") == page.p);
	CHECK(strstr(page.p, "\n## spec.ports[]\n\nA map by two keys.\n\n| Field |") != NULL);
	CHECK(strstr(page.p, "| `replicas` | integer | 0 to 64, default 1 | An integer with bounds and a default. "
			     "|\n") != NULL);
	CHECK(strstr(page.p, "Launch (with `-o wide`), Age.\n") != NULL);
	CHECK(strstr(page.p, "Rule: a stage burns or coasts.\n") != NULL);
	CHECK(strstr(page.p, "matches `^[0-9]+g\\.[0-9]+gb$`") != NULL);
	CHECK(page.p[page.len - 1] == '\n' && page.p[page.len - 2] != '\n');
}

/* ---- tables that do not hold together ---- */

#define BAD(name, ...) \
	static const struct fl_bind *name##_bind(void) \
	{ \
		static const struct fl_field fields[] = { { .json = FL_S_INIT("a"), .size = 16, __VA_ARGS__ } }; \
		static const uint8_t tags[] = { FL_TAG(1, 'a') }; \
		static const struct fl_bind bind = { #name, 64, FL_LEN(fields), fields, tags }; \
		return &bind; \
	} \
	_Static_assert(1, "")
#define SAYS .help = "Something."

BAD(no_help, .type = FL_T_STR);
BAD(no_example, .type = FL_T_STR, SAYS, .pattern = "^a$");
BAD(wrong_example, .type = FL_T_STR, SAYS, .pattern = "^a$", .example = "b");
BAD(no_pattern, .type = FL_T_STR, SAYS, .pattern = "(", .example = "b");
BAD(wrong_duration, .type = FL_T_DURATION, SAYS, DEFAULT_TEXT("soon"));
BAD(wrong_enum, .type = FL_T_ENUM, .names = &fl_demo_fuel_names, SAYS, DEFAULT(3));
BAD(wrong_bounds, .type = FL_T_I32, SAYS, BETWEEN(1, 2), DEFAULT(0));
BAD(list_default, .type = FL_T_I32, .shape = FL_LIST, SAYS, DEFAULT(0));
BAD(no_key, .type = FL_T_OBJ, .of = fl_demo_port_bind, .shape = FL_LIST, SAYS, .list_key = "nam");
BAD(optional_key, .type = FL_T_OBJ, .of = fl_demo_gauge_bind, .shape = FL_LIST, SAYS, .list_key = "unit");
BAD(keep_text, .type = FL_T_STR, SAYS, .keep = &fl_demo_fuel_names);
BAD(interned_number, .type = FL_T_I32, SAYS, .interned = true);
BAD(set_of_objects, .type = FL_T_OBJ, .of = fl_demo_port_bind, .shape = FL_LIST, SAYS, .list_set = true);
BAD(between_texts, .type = FL_T_STR, SAYS, BETWEEN(1, 2));
BAD(selectable_list, .type = FL_T_STR, .shape = FL_LIST, SAYS, .selectable = true);
BAD(immutable_element, .type = FL_T_STR, SAYS, .immutable = true);
BAD(atomic_list, .type = FL_T_OBJ, .of = immutable_element_bind, .shape = FL_LIST, SAYS);
BAD(hidden_column, .type = FL_T_STR, SAYS, .column = "A");
BAD(itself, .type = FL_T_OBJ, .of = itself_bind, .shape = FL_LIST, SAYS);
BAD(good, .type = FL_T_STR, SAYS);

static const struct {
	const char *says;
	const struct fl_bind *(*root)(void);
	const char *want;
	struct fl_column column;
	const char *scale;
} lint_rows[] = {
	{ "a field without help", no_help_bind, "Bad.a: no .help: one sentence for the person who meets this field" },
	{ "a pattern without an example", no_example_bind, "Bad.a: a pattern wants an .example" },
	{ "one that does not match", wrong_example_bind,
	  "Bad.a: the example does not match the pattern, or that is none" },
	{ "a pattern that is none", no_pattern_bind, "Bad.a: the example does not match the pattern, or that is none" },
	{ "a default that is no value", wrong_duration_bind, "Bad.a: the default is no value of the type" },
	{ "a default that is not in the enum", wrong_enum_bind, "Bad.a: the default is not in the enum" },
	{ "a default out of bounds", wrong_bounds_bind, "Bad.a: the default is out of bounds" },
	{ "a default of a list", list_default_bind, "Bad.a: a list or map has no default" },
	{ "a key that is no field", no_key_bind, "Bad.a: a key is not a scalar field of the elements" },
	{ "a key that may be absent", optional_key_bind, "Bad.a: a key must be required or have a default" },
	{ "keys to keep of a text", keep_text_bind, "Bad.a: .keep is for maps and list-maps" },
	{ "an interned number", interned_number_bind, "Bad.a: .interned is for texts and the keys of maps" },
	{ "a set of objects", set_of_objects_bind, "Bad.a: .list_set is for lists of scalars" },
	{ "bounds of a text", between_texts_bind, "Bad.a: BETWEEN is for numbers" },
	{ "a list to select by", selectable_list_bind, "Bad.a: .selectable is for texts, integers and booleans" },
	{ "what stays, in an atomic list", atomic_list_bind,
	  "Bad.a.a: in an atomic list nothing says what an element was before" },
	{ "a column that the kind does not show", hidden_column_bind,
	  "Bad.a: its column is not among those of the kind" },
	{ "a column that no row has", good_bind, "Bad: no row has the column 'B'", { "B" } },
	{ "a scale by no field", good_bind, "Bad: no field 'spec.x' to scale by", { NULL }, "spec.x" },
	{ "a table that contains itself", itself_bind, NULL },
	{ "nothing is wrong", good_bind, NULL, { "Age" } },
};

TEST(a_table_that_does_not_hold_together_is_told)
{
	EACH_ROW (row, lint_rows) {
		struct fl_kind kind = { .group = "g", .version = "v1", .kind = "Bad", .plural = "bads",
			.root = row->root,
					.help = "Bad.", .columns = { row->column },
						.scale = { .replicas = row->scale } };
		struct fl_err err = { 0 };
		int r = kind_lint(&kind, &err);

		if (row->root == good_bind && !row->want)
			OK_ERR(r, &err);
		else
			REFUSED(r, FL_E_INVALID);
		if (r == -FL_E_INVALID && row->want)
			CHECK_STR(fl_str(err.text), row->want);
	}
}

TEST(the_kinds_of_tests_and_of_kubernetes_hold_together)
{
	static const struct fl_kind *const kinds[] = {
		&fl_demo_kind, &fl_pod_kind, &fl_node_kind, &fl_namespace_kind, &fl_config_map_kind, &fl_event_kind,
	};
	struct fl_err err;

	for (uint32_t i = 0; i < FL_LEN(kinds); i++)
		OK_ERR(kind_lint(kinds[i], &err), &err);
}
