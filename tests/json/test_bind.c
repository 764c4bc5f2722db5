/* What a table says is what its decoder, encoder, comparison, copy and check do. */
#include "api/demo.h"
#include "api/walk.h"
#include "base/units.h"
#include "test.h"

#define MIN_SPEC "\"displayName\":\"r\""

/* ---- decode and encode: what comes in, what goes out again, and the first fault ---- */

static const struct {
	const char *says, *in;   /* what stands in a spec */
	const char *out;         /* what is written of it; NULL: the same */
	const char *fault;       /* "path: found / want"; NULL: none */
} spec_rows[] = {
	{ "nothing is nothing", "" },
	{ "null is nothing", "\"displayName\":null,\"armed\":null,\"replicas\":null,\"ports\":null", "" },
	{ "what no row names is not kept", "\"color\":\"red\",\"colour\":\"red\"", "\"color\":\"red\"" },
	{ "the last of two of one name counts", "\"replicas\":1,\"replicas\":2", "\"replicas\":2" },
	{ "and counts whole", "\"backup\":{\"zone\":\"a\"},\"backup\":{\"publishNotReadyAddresses\":true}",
	  "\"backup\":{\"publishNotReadyAddresses\":true}" },
	{ "the last of two is null: nothing", "\"replicas\":1,\"replicas\":null", "" },
	{ "members are written in the order of the table", "\"color\":\"red\",\"displayName\":\"r\"",
	  "\"displayName\":\"r\",\"color\":\"red\"" },

	{ "STR: a text", "\"displayName\":\"a\\u0000b\xc3\xa9\"" },
	{ "STR: no number", "\"displayName\":7", "", "displayName: 7 / a text" },
	{ "STR: no list", "\"displayName\":[]", "", "displayName: a list / a text" },
	{ "BOOL: false is not absent", "\"armed\":false" },
	{ "BOOL: no text", "\"armed\":\"true\"", "", "armed: \"true\" / true or false" },
	{ "I32: the least", "\"minAvailable\":-2147483648" },
	{ "I32: the greatest", "\"minAvailable\":2147483647" },
	{ "I32: one more", "\"minAvailable\":2147483648", "", "minAvailable: 2147483648 / an integer of 32 bits" },
	{ "I32: bounds are no matter of binding", "\"replicas\":65" },
	{ "I32: no fraction", "\"replicas\":1.5", "", "replicas: 1.5 / an integer of 32 bits" },
	{ "I32: no text", "\"replicas\":\"1\"", "", "replicas: \"1\" / an integer of 32 bits" },
	{ "I64: beyond a double", "\"serial\":9007199254740993" },
	{ "I64: the least", "\"serial\":-9223372036854775808" },
	{ "I64: one more than the greatest", "\"serial\":9223372036854775808", "",
	  "serial: 9223372036854775808 / an integer of 64 bits" },
	{ "F64: a fraction", "\"weight\":0.1" },
	{ "F64: an integer", "\"weight\":7" },
	{ "F64: no text", "\"weight\":\"7\"", "", "weight: \"7\" / a number" },
	{ "TIME", "\"launchTime\":\"2026-01-31T12:00:00Z\"" },
	{ "TIME: another zone is the same moment", "\"launchTime\":\"2026-01-31T13:00:00+01:00\"",
	  "\"launchTime\":\"2026-01-31T12:00:00Z\"" },
	{ "TIME: decimals go, as they would at the API server", "\"launchTime\":\"2026-01-31T12:00:00.999Z\"",
	  "\"launchTime\":\"2026-01-31T12:00:00Z\"" },
	{ "TIME: before 1970 too", "\"launchTime\":\"1969-12-31T23:59:58.25Z\"",
	  "\"launchTime\":\"1969-12-31T23:59:58Z\"" },
	{ "TIME: Go's zero is nothing", "\"launchTime\":\"0001-01-01T00:00:00Z\"", "" },
	{ "TIME: no number", "\"launchTime\":1", "", "launchTime: 1 / a time such as 2026-01-31T12:00:00Z" },
	{ "TIME: no other text", "\"launchTime\":\"soon\"", "",
	  "launchTime: \"soon\" / a time such as 2026-01-31T12:00:00Z" },
	{ "MICROTIME", "\"lastTick\":\"2026-01-31T12:00:00.000001Z\"" },
	{ "MICROTIME: six decimals, no more and no fewer", "\"lastTick\":\"2026-01-31T12:00:00Z\"", "",
	  "lastTick: \"2026-01-31T12:00:00Z\" / a time such as 2026-01-31T12:00:00.000000Z" },
	{ "DURATION: as Go prints it", "\"terminationDelay\":\"90m\"", "\"terminationDelay\":\"1h30m0s\"" },
	{ "DURATION: no other text", "\"terminationDelay\":\"4 hours\"", "",
	  "terminationDelay: \"4 hours\" / a duration such as 1h30m" },
	{ "QUANTITY: canonical", "\"memory\":\"1024Mi\"", "\"memory\":\"1Gi\"" },
	{ "QUANTITY: a number", "\"memory\":0.5", "\"memory\":\"500m\"" },
	{ "QUANTITY: no other text", "\"memory\":\"much\"", "", "memory: \"much\" / a quantity such as 128Mi" },
	{ "QUANTITY: no list", "\"memory\":[1]", "", "memory: a list / a quantity such as 128Mi" },
	{ "INTSTR: an integer", "\"maxSurge\":3" },
	{ "INTSTR: a text", "\"maxSurge\":\"30%\"" },
	{ "INTSTR: no fraction", "\"maxSurge\":0.5", "", "maxSurge: 0.5 / an integer of 32 bits or a text" },
	{ "RAW: compact, keys sorted, the last of two",
	  "\"template\":{\"b\":{\"d\":1.0,\"c\":[ {\"z\":1,\"y\":null} ]},\"a\":0,\"a\":1}",
	  "\"template\":{\"a\":1,\"b\":{\"c\":[{\"y\":null,\"z\":1}],\"d\":1}}" },
	{ "RAW: an empty object", "\"template\":{}" },
	{ "RAW: no text", "\"template\":\"{}\"", "", "template: \"{}\" / an object" },
	{ "ENUM", "\"fuel\":\"Hybrid\"" },
	{ "ENUM: no other name", "\"fuel\":\"hybrid\"", "", "fuel: \"hybrid\" / one of Solid, Liquid, Hybrid" },
	{ "ENUM: no number", "\"fuel\":1", "", "fuel: 1 / one of Solid, Liquid, Hybrid" },

	{ "MAP: sorted by bytes", "\"matchLabels\":{\"b\":\"1\",\"a\":\"2\",\"B\":\"3\",\"\":\"4\"}",
	  "\"matchLabels\":{\"\":\"4\",\"B\":\"3\",\"a\":\"2\",\"b\":\"1\"}" },
	{ "MAP: the last of two, wherever they stand",
	  "\"matchLabels\":{\"c\":\"1\",\"a\":\"2\",\"c\":\"3\",\"b\":\"4\",\"a\":\"5\",\"c\":\"6\"}",
	  "\"matchLabels\":{\"a\":\"5\",\"b\":\"4\",\"c\":\"6\"}" },
	{ "MAP: null is no text", "\"matchLabels\":{\"a\":null,\"b\":\"1\"}", "\"matchLabels\":{\"b\":\"1\"}" },
	{ "MAP: what is no text is left out", "\"matchLabels\":{\"a\":1,\"b\":\"1\"}", "\"matchLabels\":{\"b\":\"1\"}",
	  "matchLabels[a]: 1 / a text" },
	{ "MAP: no list", "\"matchLabels\":[]", "", "matchLabels: a list / an object" },
	{ "MAP: an empty one is there", "\"matchLabels\":{}" },
	{ "MAP_OF: quantities", "\"limits\":{\"nvidia.com/gpu\":\"2\",\"cpu\":1}",
	  "\"limits\":{\"cpu\":\"1\",\"nvidia.com/gpu\":\"2\"}" },
	{ "MAP_OF: objects", "\"gauges\":{\"b\":{\"value\":1},\"a\":{\"value\":2,\"x\":1}}",
	  "\"gauges\":{\"a\":{\"value\":2},\"b\":{\"value\":1}}" },
	{ "MAP_OF: a fault deep inside", "\"gauges\":{\"b\":{\"value\":\"x\"}}", "\"gauges\":{\"b\":{}}",
	  "gauges[b].value: \"x\" / a number" },
	{ "STRS", "\"pciVendors\":[\"b\",\"a\",\"a\"]" },
	{ "STRS: an empty list is there", "\"pciVendors\":[]" },
	{ "STRS: what is no text is left out, the place is that in the document", "\"pciVendors\":[\"a\",null,3,\"b\"]",
	  "\"pciVendors\":[\"a\",\"b\"]", "pciVendors[1]: null / a text" },
	{ "STRS: no text", "\"pciVendors\":\"a\"", "", "pciVendors: \"a\" / a list" },
	{ "LIST_OF: integers", "\"lanes\":[3,1,2]" },
	{ "LIST_OF: enums", "\"otherFuels\":[\"Solid\",\"Coal\"]", "\"otherFuels\":[\"Solid\"]",
	  "otherFuels[1]: \"Coal\" / one of Solid, Liquid, Hybrid" },
	{ "LIST_OF: raw", "\"volumes\":[{\"b\":1,\"a\":2}]", "\"volumes\":[{\"a\":2,\"b\":1}]" },
	{ "LIST: objects stay in their order", "\"ports\":[{\"name\":\"b\"},{\"name\":\"a\",\"target\":\"web\"}]" },
	{ "LIST: what is no object is left out", "\"stages\":[7,{\"domain\":\"a\"}]", "\"stages\":[{\"domain\":\"a\"}]",
	  "stages[0]: 7 / an object" },
	{ "OBJ: an empty one is there", "\"backup\":{}" },
	{ "OBJ: no text", "\"backup\":\"x\"", "", "backup: \"x\" / an object" },
	{ "a long text is cut in the fault, between characters",
	  "\"armed\":\"0123456789012345678901234567890123456789012345678901234567\xc3\xa9\xc3\xa9\"", "",
	  "armed: \"0123456789012345678901234567890123456789012345678901234567\xc3\xa9\" / true or false" },
};

static int fault_text(const struct fl_fault *fault, struct fl_buf *buf)
{
	fl_buf_printf(buf, "%.*s: %.*s / %.*s", FL_ARG(fault->path), FL_ARG(fault->found), FL_ARG(fault->want));
	return fl_buf_check(buf, "a fault", NULL);
}

TEST(a_spec_is_read_and_written)
{
	EACH_ROW (row, spec_rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf in = FL_BUF(4 * FL_KIB), out = FL_BUF(4 * FL_KIB),
					      want = FL_BUF(4 * FL_KIB), fault = FL_BUF(4 * FL_KIB);
		struct fl_demo demo;
		struct fl_err err;

		fl_buf_printf(&in, "{\"spec\":{%s}}", row->in);
		fl_buf_printf(&want, "{\"spec\":{%s}}", row->out ? row->out : row->in);
		OK(fl_buf_check(&in, "test", NULL));
		OK(fl_buf_check(&want, "test", NULL));
		OK_ERR(test_read(fl_demo_bind(), in.p, 0, &arena, &demo, &err), &err);
		OK(test_write(fl_demo_bind(), &demo, &out, NULL));
		CHECK_STR(fl_buf_view(&out), want.p);
		CHECK_INT(demo.has.faults, row->fault != NULL);
		if (!row->fault)
			continue;
		fl_buf_str(&fault, FL_S("spec."));
		OK(fault_text(&demo.faults.at[0], &fault));
		CHECK_STR(fl_str_sub(fl_buf_view(&fault), 5, 5), "spec.");
		CHECK_STR(fl_str_sub(fl_buf_view(&fault), 10, UINT32_MAX), row->fault);
	}
}

TEST(defaults_fill_members_and_leave_the_bit_clear)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_demo demo;

	OK(test_read(fl_demo_bind(), "{\"spec\":{\"fuel\":\"Steam\",\"replicas\":null}}", 0, &arena, &demo, NULL));
	CHECK(!demo.spec.has.fuel && demo.spec.fuel == FL_DEMO_LIQUID);
	CHECK(!demo.spec.has.replicas && demo.spec.replicas == 1);
	CHECK(!demo.spec.has.taints && demo.spec.taints);
	CHECK(!demo.spec.has.delay && demo.spec.delay == 4 * 3600 * (int64_t)FL_NS_PER_S);
	CHECK(!demo.spec.has.memory && fl_quantity_value(demo.spec.memory) == (int64_t)(64 * FL_MIB));
	CHECK(!demo.spec.has.surge && !demo.spec.surge.is_str && demo.spec.surge.i == 1);
	CHECK(!demo.spec.has.max_unavailable && demo.spec.max_unavailable.is_str);
	CHECK_STR(demo.spec.max_unavailable.s, "25%");
	CHECK_STR(demo.spec.topology_key, "topology.kubernetes.io/zone");
	/* Inside an object that is not there, too: a plan does not ask. */
	CHECK(!demo.spec.has.service && demo.spec.service.publish);
	CHECK_STR(demo.spec.backup.zone, "north");
	CHECK(!demo.has.status && demo.status.phase == FL_DEMO_PENDING);
	CHECK(demo.spec.at_least == 0);
}

/* ---- what a person wrote ---- */

static const struct {
	const char *says, *in, *want;   /* want NULL: accepted */
} strict_rows[] = {
	{ "a whole object is accepted", "{\"apiVersion\":\"x\",\"kind\":\"y\",\"spec\":{" MIN_SPEC "}}", NULL },
	{ "apiVersion is at the root only", "{\"spec\":{\"apiVersion\":\"x\"}}", "spec.apiVersion: no such field" },
	{ "a slip of one letter is told", "{\"spec\":{\"replcas\":1}}",
	  "spec.replcas: no such field; did you mean 'replicas'?" },
	{ "so is a slip of case", "{\"spec\":{\"minavailable\":1}}",
	  "spec.minavailable: no such field; did you mean 'minAvailable'?" },
	{ "what is like nothing is only refused", "{\"spec\":{\"wings\":2}}", "spec.wings: no such field" },
	{ "a name of ours is no name in JSON", "{\"faults\":[]}", "faults: no such field" },
	{ "in a list it is told where", "{\"spec\":{\"ports\":[{},{\"nam\":1}]}}",
	  "spec.ports[1].nam: no such field; did you mean 'name'?" },
	{ "a value of the wrong type is refused", "{\"spec\":{\"replicas\":\"two\"}}",
	  "spec.replicas is \"two\" where an integer of 32 bits belongs" },
	{ "the root must be an object", "[]", "a list where an object belongs" },
};

TEST(strict_refuses_what_no_table_names)
{
	EACH_ROW (row, strict_rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_demo demo;
		struct fl_err err = { 0 };

		if (!row->want) {
			OK_ERR(test_read(fl_demo_bind(), row->in, FL_DECODE_STRICT, &arena, &demo, &err), &err);
			continue;
		}
		REFUSED(test_read(fl_demo_bind(), row->in, FL_DECODE_STRICT, &arena, &demo, &err), FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->want);
	}
}

TEST(faults_are_counted_up_to_a_limit)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_demo demo;

	OK(test_read(fl_demo_bind(), "{\"spec\":{\"lanes\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",1]}}",
		     0,
		     &arena, &demo, NULL));
	CHECK_INT(demo.faults.len, FL_FAULTS_MAX);
	CHECK_INT(demo.spec.lanes.len, 1);
	CHECK_STR(demo.faults.at[7].path, "spec.lanes[7]");
}

TEST(borrowed_texts_stay_in_the_document)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_demo demo;
	struct fl_str text;

	OK(fl_json_read(NULL, FL_S("{\"spec\":{\"displayName\":\"r\",\"crew\":[\"ann\"]}}"), 0, &doc, NULL));
	OK(fl_decode(fl_demo_bind(), yyjson_doc_get_root(doc), &arena, FL_DECODE_BORROW, &demo, NULL));
	CHECK(fl_json_str(fl_json_get(fl_json_get(yyjson_doc_get_root(doc), FL_S("spec")), FL_S("displayName")),
			  &text));
	CHECK(demo.spec.name.p == text.p);
	CHECK_STR(demo.spec.crew.at[0], "ann");
}

/* ---- compare ---- */

static const struct {
	const char *says, *a, *b, *paths;   /* of spec; paths separated by a blank */
} diff_rows[] = {
	{ "the same is no difference", "\"replicas\":1", "\"replicas\":1", "" },
	{ "a value", "\"replicas\":1", "\"replicas\":2", "spec.replicas" },
	{ "there and absent, although the default is the same", "\"replicas\":1", "", "spec.replicas" },
	{ "two at once, in the order of the table", "\"color\":\"a\",\"armed\":true", "", "spec.armed spec.color" },
	{ "inside an object", "\"backup\":{\"zone\":\"a\"}", "\"backup\":{\"zone\":\"b\"}", "spec.backup.zone" },
	{ "a whole object", "\"backup\":{\"zone\":\"a\"}", "", "spec.backup" },
	{ "a quantity is its number", "\"memory\":\"0.5\"", "\"memory\":\"500m\"", "" },
	{ "members of a map", "\"matchLabels\":{\"a\":\"1\",\"b\":\"1\",\"d\":\"1\"}",
	  "\"matchLabels\":{\"b\":\"2\",\"c\":\"1\",\"d\":\"1\"}",
	  "spec.matchLabels[a] spec.matchLabels[b] spec.matchLabels[c]" },
	{ "inside the objects of a map", "\"gauges\":{\"a\":{\"value\":1}}", "\"gauges\":{\"a\":{\"value\":2}}",
	  "spec.gauges[a].value" },
	{ "an atomic list is one value", "\"pciVendors\":[\"a\",\"b\"]", "\"pciVendors\":[\"a\",\"c\"]",
	  "spec.pciVendors" },
	{ "elements of a list-map by their keys",
	  "\"ports\":[{\"name\":\"a\",\"number\":1,\"target\":1},{\"name\":\"a\",\"number\":2}]",
	  "\"ports\":[{\"name\":\"a\",\"number\":3},{\"name\":\"a\",\"number\":1,\"target\":2}]",
	  "spec.ports[name=a,number=1].target spec.ports[name=a,number=2] spec.ports[name=a,number=3]" },
	{ "a key's default is a key", "\"ports\":[{\"name\":\"a\"}]", "\"ports\":[{\"name\":\"a\",\"number\":80}]",
	  "spec.ports[name=a,number=80].number" },
	{ "another order of a list-map is a difference of the list",
	  "\"ports\":[{\"name\":\"a\"},{\"name\":\"b\"}]", "\"ports\":[{\"name\":\"b\"},{\"name\":\"a\"}]",
	  "spec.ports" },
	{ "another order of a set too", "\"crew\":[\"a\",\"b\"]", "\"crew\":[\"b\",\"a\"]", "spec.crew" },
	{ "an atomic object is one value", "\"nodeSelector\":{\"matchLabels\":{\"a\":\"1\"}}",
	  "\"nodeSelector\":{\"matchLabels\":{\"a\":\"2\"}}", "spec.nodeSelector" },
	{ "an integer is no text", "\"maxSurge\":1", "\"maxSurge\":\"1\"", "spec.maxSurge" },
};

static int read_spec(const char *inside, struct fl_arena *arena, struct fl_demo *ret)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);

	fl_buf_printf(&text, "{\"spec\":{%s}}", inside);
	return text.failed ? -FL_E_NOMEM : test_read(fl_demo_bind(), text.p, 0, arena, ret, NULL);
}

static int join(const struct fl_str_list *paths, struct fl_buf *buf)
{
	for (uint32_t i = 0; i < paths->len; i++)
		fl_buf_printf(buf, "%s%.*s", i ? " " : "", FL_ARG(paths->at[i]));
	return fl_buf_check(buf, "paths", NULL);
}

TEST(differences_have_paths)
{
	EACH_ROW (row, diff_rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		struct fl_demo a, b;
		struct fl_str_list paths;

		OK(read_spec(row->a, &arena, &a));
		OK(read_spec(row->b, &arena, &b));
		OK(fl_diff(fl_demo_bind(), &a, &b, &arena, &paths, NULL));
		OK(join(&paths, &text));
		CHECK_STR(fl_buf_view(&text), row->paths);
		CHECK_INT(fl_equal(fl_demo_bind(), &a, &b), row->paths[0] == '\0');
		CHECK_INT(fl_equal(fl_demo_bind(), &b, &a), row->paths[0] == '\0');
	}
}

/* ---- check ---- */

static const struct {
	const char *says, *old, *now, *fault;   /* of spec; old NULL: new; fault NULL: fine */
} check_rows[] = {
	{ "the least there may be", NULL, MIN_SPEC, NULL },
	{ "a required field is missing", NULL, "", "spec.displayName: nothing / a value: it is required" },
	{ "too short", NULL, "\"displayName\":\"\"", "spec.displayName:  / required, 1 to 10 characters" },
	{ "as long as may be, in characters",
	  NULL, "\"displayName\":\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"",
	  NULL },
	{ "too long", NULL, "\"displayName\":\"12345678901\"",
	  "spec.displayName: 12345678901 / required, 1 to 10 characters" },
	{ "a pattern", NULL, MIN_SPEC ",\"migProfile\":\"1g.10gb\"", NULL },
	{ "not the pattern", NULL, MIN_SPEC ",\"migProfile\":\"1g.10gb+me\"",
	  "spec.migProfile: 1g.10gb+me / matches `^[0-9]+g\\.[0-9]+gb$`" },
	{ "a NUL does not end a text", NULL, MIN_SPEC ",\"migProfile\":\"1g.10gb\\u0000\"", "spec.migProfile" },
	{ "the pattern is that of each element", NULL, MIN_SPEC ",\"pciVendors\":[\"10de\",\"10DE\"]",
	  "spec.pciVendors[1]: 10DE / at most 3 elements, matches `^[0-9a-f]{4}$`" },
	{ "the floor", NULL, MIN_SPEC ",\"replicas\":0", NULL },
	{ "below it", NULL, MIN_SPEC ",\"replicas\":-1", "spec.replicas: -1 / 0 to 64, default 1" },
	{ "above", NULL, MIN_SPEC ",\"replicas\":65", "spec.replicas: 65 / 0 to 64, default 1" },
	{ "a floor alone", NULL, MIN_SPEC ",\"minAvailable\":0", "spec.minAvailable: 0 / at least 1" },
	{ "a number that is not whole", NULL, MIN_SPEC ",\"weight\":1000.5", "spec.weight: 1000.5 / 0 to 1000" },
	{ "each element has the bounds", NULL, MIN_SPEC ",\"lanes\":[15,16]", "spec.lanes[1]: 16 / 0 to 15" },
	{ "too many elements", NULL, MIN_SPEC ",\"stages\":[{},{},{},{},{}]", "spec.stages: 5 / at most 4 elements" },
	{ "too few", NULL, MIN_SPEC ",\"crew\":[]", "spec.crew: 0 / 1 to 4 elements, a set" },
	{ "too many members", NULL, MIN_SPEC ",\"matchLabels\":{\"a\":\"\",\"b\":\"\",\"c\":\"\",\"d\":\"\",\"e\":"
					     "\"\"}",
	  "spec.matchLabels: 5 / at most 4 keys" },
	{ "twice in a set", NULL, MIN_SPEC ",\"crew\":[\"a\",\"b\",\"a\"]", "spec.crew[" },
	{ "twice in a list-map, the default counts", NULL,
	  MIN_SPEC ",\"ports\":[{\"name\":\"a\",\"number\":80},{\"name\":\"b\"},{\"name\":\"a\"}]", "spec.ports[" },
	{ "one key the same is not the same", NULL,
	  MIN_SPEC ",\"ports\":[{\"name\":\"a\",\"number\":80},{\"name\":\"a\",\"number\":81}]", NULL },
	{ "deep inside", NULL, MIN_SPEC ",\"ports\":[{\"name\":\"a\",\"number\":0}]",
	  "spec.ports[0].number: 0 / 1 to 65535, default 80" },
	{ "in the objects of a map", NULL, MIN_SPEC ",\"gauges\":{\"x\":{\"value\":1}}",
	  "spec.gauges[x].description: nothing / a value: it is required" },
	{ "required with a default may be absent", NULL, MIN_SPEC, NULL },
	{ "unchanged", MIN_SPEC ",\"provider\":\"a\"", MIN_SPEC ",\"provider\":\"a\"", NULL },
	{ "changed", MIN_SPEC ",\"provider\":\"a\"", MIN_SPEC ",\"provider\":\"b\"", "spec.provider: a change" },
	{ "added", MIN_SPEC, MIN_SPEC ",\"provider\":\"b\"", "spec.provider: a change" },
	{ "taken away", MIN_SPEC ",\"provider\":\"b\"", MIN_SPEC, "spec.provider: a change" },
	{ "absent is its default", MIN_SPEC, MIN_SPEC ",\"fuel\":\"Liquid\"", NULL },
	{ "and nothing else", MIN_SPEC, MIN_SPEC ",\"fuel\":\"Solid\"", "spec.fuel: a change" },
	{ "a whole object", MIN_SPEC ",\"backup\":{}", MIN_SPEC ",\"backup\":{\"zone\":\"x\"}",
	  "spec.backup: a change" },
};

TEST(bounds_are_those_of_the_table)
{
	EACH_ROW (row, check_rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		struct fl_demo old, now;
		struct fl_fault_list faults;

		OK(read_spec(row->now, &arena, &now));
		if (row->old)
			OK(read_spec(row->old, &arena, &old));
		OK(fl_check(fl_demo_bind(), row->old ? &old : NULL, &now, &arena, &faults, NULL));
		CHECK_INT(faults.len, row->fault != NULL);
		if (!row->fault)
			continue;
		OK(fault_text(&faults.at[0], &text));
		CHECK_STR(fl_str_sub(fl_buf_view(&text), 0, (uint32_t)strlen(row->fault)), row->fault);
	}
}

TEST(a_value_outside_its_enum_is_a_fault)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_fault_list faults;
	struct fl_demo demo = { 0 };

	FL_SET(FL_IN(&demo, spec), name, FL_S("r"));
	FL_SET(&demo.spec, fuel, (enum fl_demo_fuel)7);
	OK(fl_check(fl_demo_bind(), NULL, &demo, &arena, &faults, NULL));
	CHECK_INT(faults.len, 1);
	CHECK_STR(faults.at[0].path, "spec.fuel");
	CHECK_STR(faults.at[0].found, "?");
}

TEST(repeats_in_a_long_list_are_found_at_once)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_fault_list faults;
	struct fl_demo demo = { 0 };
	char *letters;

	FL_SET(FL_IN(&demo, spec), name, FL_S("r"));
	GOT(FL_ELEMENTS(&demo.spec, &arena, crew, 60000));
	GOT(letters = fl_arena_get(&arena, 60000 * 3));
	for (uint32_t i = 0; i < 60000; i++) {
		memcpy(letters + i * 3, &i, 3);
		demo.spec.crew.at[i] = (struct fl_str){ letters + i * 3, 3 };
	}
	OK(fl_check(fl_demo_bind(), NULL, &demo, &arena, &faults, NULL));
	CHECK_INT(faults.len, 1);   /* too many, none twice */
	CHECK_STR(faults.at[0].path, "spec.crew");
}

/* ---- objects by chance ---- */

TEST(what_is_written_is_read_back)
{
	for (int round = 0; round < 40; round++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB), again = FL_BUF(64 * FL_KIB);
		struct fl_demo made, read, copied;
		struct fl_str_list paths;

		OK(test_make(fl_demo_bind(), &arena, &made));
		OK(test_write(fl_demo_bind(), &made, &text, NULL));
		OK(test_read(fl_demo_bind(), text.p, FL_DECODE_STRICT, &arena, &read, NULL));
		OK(fl_diff(fl_demo_bind(), &made, &read, &arena, &paths, NULL));
		CHECK_INT(paths.len, 0);
		CHECK(fl_equal(fl_demo_bind(), &made, &read));
		OK(fl_copy(fl_demo_bind(), &made, &arena, &copied, NULL));
		CHECK(fl_equal(fl_demo_bind(), &made, &copied));
		OK(test_write(fl_demo_bind(), &copied, &again, NULL));
		CHECK_STR(fl_buf_view(&again), text.p);
	}
}

TEST(a_difference_is_found_exactly_when_there_is_one)
{
	for (int round = 0; round < 40; round++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_demo_port a, b;
		struct fl_str_list paths;

		OK(test_make(fl_demo_port_bind(), &arena, &a));
		OK(test_make(fl_demo_port_bind(), &arena, &b));
		OK(fl_diff(fl_demo_port_bind(), &a, &b, &arena, &paths, NULL));
		CHECK_INT(paths.len == 0, fl_equal(fl_demo_port_bind(), &a, &b));
	}
}

TEST(a_copy_needs_nothing_of_the_original)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf before = FL_BUF(64 * FL_KIB), after = FL_BUF(64 * FL_KIB);
	struct fl_demo copied;

	{
		FL_AUTO(fl_arena) struct fl_arena other = { 0 };
		struct fl_demo made;

		OK(test_make(fl_demo_bind(), &other, &made));
		OK(test_write(fl_demo_bind(), &made, &before, NULL));
		OK(fl_copy(fl_demo_bind(), &made, &arena, &copied, NULL));
	}
	OK(test_write(fl_demo_bind(), &copied, &after, NULL));
	CHECK_STR(fl_buf_view(&after), before.p);
}
