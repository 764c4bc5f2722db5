/* The JSON patch that makes a wanted object of one in JSON: applied, it gives what is wanted, and nothing is lost. */
#include "api/demo.h"
#include "api/walk.h"
#include "base/units.h"
#include "json/bind_owner.h"
#include "patch.h"
#include "test.h"

/* `json` after `patch`; operations without brackets. */
static int apply(struct fl_json_space *space, yyjson_val *json, struct fl_str patch, struct fl_buf *out)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	struct fl_jw w = FL_JW(out);
	yyjson_mut_doc *changed;
	yyjson_doc *doc;
	int r;

	fl_buf_char(&text, '[');
	fl_buf_str(&text, patch);
	fl_buf_char(&text, ']');
	r = fl_buf_check(&text, "the patch", NULL);
	r = r < 0 ? -FL_E_NOMEM : fl_json_read(space, fl_buf_view(&text), FL_JSON_STRICT, &doc, NULL);
	r = r < 0 ? r : fl_patch_json(space, json, yyjson_doc_get_root(doc), &changed, NULL);
	if (r < 0)
		return r;
	fl_jw_mut(&w, yyjson_mut_doc_get_root(changed));
	return out->failed ? -FL_E_NOMEM : 0;
}

#define SPEC(s) "{\"spec\":{" s "}}"

/* `u` is known to no table. */
static const struct {
	const char *says, *json, *want, *patch, *after;
} rows[] = {
	{ "what is so needs no patch", SPEC("\"color\":\"red\",\"u\":1"), SPEC("\"color\":\"red\""), "", NULL },
	{ "a value is replaced", SPEC("\"color\":\"red\",\"u\":1"), SPEC("\"color\":\"blue\""),
	  "{\"op\":\"replace\",\"path\":\"/spec/color\",\"value\":\"blue\"}", SPEC("\"color\":\"blue\",\"u\":1") },
	{ "a value is added", SPEC("\"u\":1"), SPEC("\"color\":\"blue\""),
	  "{\"op\":\"add\",\"path\":\"/spec/color\",\"value\":\"blue\"}", SPEC("\"u\":1,\"color\":\"blue\"") },
	{ "a value goes", SPEC("\"color\":\"red\",\"u\":1"), SPEC(""), "{\"op\":\"remove\",\"path\":\"/spec/color\"}",
	  SPEC("\"u\":1") },
	{ "a parent is made with what is in it", "{\"u\":1}", SPEC("\"service\":{\"zone\":\"a\"}"),
	  "{\"op\":\"add\",\"path\":\"/spec\",\"value\":{\"service\":{\"zone\":\"a\"}}}",
	  "{\"u\":1,\"spec\":{\"service\":{\"zone\":\"a\"}}}" },
	{ "null is a member that is there", SPEC("\"service\":null"), SPEC("\"service\":{\"zone\":\"a\"}"),
	  "{\"op\":\"replace\",\"path\":\"/spec/service\",\"value\":{\"zone\":\"a\"}}",
	  SPEC("\"service\":{\"zone\":\"a\"}") },
	{ "what could not be bound and is not wanted stays", SPEC("\"replicas\":\"x\",\"color\":\"red\""), SPEC(""),
	  "{\"op\":\"remove\",\"path\":\"/spec/color\"}", SPEC("\"replicas\":\"x\"") },
	{ "what could not be bound is mended", SPEC("\"replicas\":\"x\""), SPEC("\"replicas\":2"),
	  "{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":2}", SPEC("\"replicas\":2") },
	{ "a label's key is escaped", SPEC("\"matchLabels\":{\"a/b~c\":\"1\",\"x\":\"y\"}"),
	  SPEC("\"matchLabels\":{\"a/b~c\":\"2\",\"x\":\"y\"}"),
	  "{\"op\":\"replace\",\"path\":\"/spec/matchLabels/a~1b~0c\",\"value\":\"2\"}",
	  SPEC("\"matchLabels\":{\"a/b~c\":\"2\",\"x\":\"y\"}") },
	{ "an object goes whole if all of it is known", SPEC("\"service\":{\"zone\":\"a\"}"), SPEC(""),
	  "{\"op\":\"remove\",\"path\":\"/spec/service\"}", SPEC("") },
	{ "... else only what is known", SPEC("\"service\":{\"zone\":\"a\",\"u\":{}}"), SPEC(""),
	  "{\"op\":\"remove\",\"path\":\"/spec/service/zone\"}", SPEC("\"service\":{\"u\":{}}") },
	{ "values of a map of objects keep what is unknown",
	  SPEC("\"gauges\":{\"a\":{\"description\":\"d\",\"value\":1,\"u\":1},"
	       "\"b\":{\"description\":\"d\",\"value\":2}}"),
	  SPEC("\"gauges\":{\"a\":{\"description\":\"e\",\"value\":1},"
	       "\"c\":{\"description\":\"d\",\"value\":3}}"),
	  "{\"op\":\"remove\",\"path\":\"/spec/gauges/b\"},"
	  "{\"op\":\"replace\",\"path\":\"/spec/gauges/a/description\",\"value\":\"e\"},"
	  "{\"op\":\"add\",\"path\":\"/spec/gauges/c\",\"value\":{\"description\":\"d\",\"value\":3}}",
	  SPEC("\"gauges\":{\"a\":{\"description\":\"e\",\"value\":1,\"u\":1},"
	       "\"c\":{\"description\":\"d\",\"value\":3}}") },
	{ "items of a list-map are found by all their keys, wherever they stand",
	  SPEC("\"ports\":[{\"name\":\"a\",\"number\":1,\"u\":1},{\"name\":\"a\"},"
	       "{\"u\":2,\"number\":2,\"name\":\"b\"}]"),
	  SPEC("\"ports\":[{\"name\":\"c\",\"number\":3},{\"name\":\"b\",\"number\":2,\"target\":8}]"),
	  "{\"op\":\"add\",\"path\":\"/spec/ports/2/target\",\"value\":8},"
	  "{\"op\":\"remove\",\"path\":\"/spec/ports/1\"},"
	  "{\"op\":\"remove\",\"path\":\"/spec/ports/0\"},"
	  "{\"op\":\"add\",\"path\":\"/spec/ports/-\",\"value\":{\"name\":\"c\",\"number\":3}}",
	  SPEC("\"ports\":[{\"u\":2,\"number\":2,\"name\":\"b\",\"target\":8},{\"name\":\"c\",\"number\":3}]") },
	{ "a list without keys keeps what is the same at both ends",
	  SPEC("\"stages\":[{\"domain\":\"a\",\"u\":1},{\"domain\":\"b\",\"u\":2},{\"domain\":\"c\",\"u\":3}]"),
	  SPEC("\"stages\":[{\"domain\":\"a\"},{\"domain\":\"c\"}]"), "{\"op\":\"remove\",\"path\":\"/spec/stages/1\"}",
	  SPEC("\"stages\":[{\"domain\":\"a\",\"u\":1},{\"domain\":\"c\",\"u\":3}]") },
	{ "... changes in place, and puts in what is new",
	  SPEC("\"stages\":[{\"domain\":\"a\",\"u\":1},{\"domain\":\"c\",\"u\":3}]"),
	  SPEC("\"stages\":[{\"domain\":\"z\"},{\"domain\":\"b\"},{\"domain\":\"c\"}]"),
	  "{\"op\":\"replace\",\"path\":\"/spec/stages/0/domain\",\"value\":\"z\"},"
	  "{\"op\":\"add\",\"path\":\"/spec/stages/1\",\"value\":{\"domain\":\"b\"}}",
	  SPEC("\"stages\":[{\"domain\":\"z\",\"u\":1},{\"domain\":\"b\"},{\"domain\":\"c\",\"u\":3}]") },
	{ "a list of values is one", SPEC("\"lanes\":[1,2]"), SPEC("\"lanes\":[2,1]"),
	  "{\"op\":\"replace\",\"path\":\"/spec/lanes\",\"value\":[2,1]}", SPEC("\"lanes\":[2,1]") },
	{ "a list with an element that cannot be read is not changed", SPEC("\"stages\":[7,{\"domain\":\"c\"}]"),
	  SPEC("\"stages\":[{\"domain\":\"z\"}]"), NULL, NULL },
};

TEST(the_difference_is_a_patch)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
		FL_AUTO(fl_buf) struct fl_buf patch = FL_BUF(64 * FL_KIB), after = FL_BUF(64 * FL_KIB);
		struct fl_demo was, want;
		struct fl_err err;
		yyjson_doc *doc;
		yyjson_val *json;

		OK(fl_json_read(&space, fl_str(row->json), 0, &doc, NULL));
		json = yyjson_doc_get_root(doc);
		OK(fl_decode(fl_demo_bind(), json, &arena, 0, &was, NULL));
		OK(test_read(fl_demo_bind(), row->want, 0, &arena, &want, NULL));
		if (!row->patch) {
			REFUSED(fl_bind_patch(fl_demo_bind(), &was, &want, json, &patch, &err), FL_E_INVALID);
			CHECK_STR(fl_str(err.text),
				  "stages: not all elements of this list can be read, so it cannot be changed");
			continue;
		}
		OK(fl_bind_patch(fl_demo_bind(), &was, &want, json, &patch, NULL));
		CHECK_STR(fl_buf_view(&patch), row->patch);
		OK(apply(&space, json, fl_buf_view(&patch), &after));
		CHECK_STR(fl_buf_view(&after), row->after ? row->after : row->json);
	}
}

static const struct fl_owner wholes[] = {
	{ "m", &fl_demo_kind, (const char *const[]){ "metadata", "spec", NULL } },
	{ "m", &fl_demo_kind, (const char *const[]){ "status", NULL } },
};

/* Any object becomes any other, and a member that no table names is there before and after. */
TEST(any_object_becomes_any_other)
{
	for (int round = 0; round < 60; round++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB), patch = FL_BUF(FL_MIB), after = FL_BUF(FL_MIB);
		struct fl_demo was, want, got;
		struct fl_str_list differ;
		yyjson_doc *doc;

		OK(test_make(fl_demo_bind(), &arena, &was));
		OK(test_make(fl_demo_bind(), &arena, &want));
		fl_buf_str(&text, FL_S("{\"unknown\":[1],"));
		OK(test_write(fl_demo_bind(), &was, &after, NULL));
		fl_buf_str(&text, after.len > 2 ? fl_str_sub(fl_buf_view(&after), 1, UINT32_MAX) : FL_S("\"u\":1}"));
		OK(fl_buf_check(&text, "test", NULL));
		fl_buf_clear(&after);
		OK(fl_json_read(&space, fl_buf_view(&text), 0, &doc, NULL));
		OK(fl_decode(fl_demo_bind(), yyjson_doc_get_root(doc), &arena, 0, &was, NULL));
		OK(fl_bind_patch(fl_demo_bind(), &was, &want, yyjson_doc_get_root(doc), &patch, NULL));
		OK(apply(&space, yyjson_doc_get_root(doc), fl_buf_view(&patch), &after));
		OK(test_read(fl_demo_bind(), after.p, 0, &arena, &got, NULL));
		CHECK(strstr(after.p, "\"unknown\":[1]"));
		/* The order of a list-map does not count. */
		for (const struct fl_owner *owner = wholes; owner < wholes + FL_LEN(wholes); owner++) {
			OK(fl_owned_diff(owner, &want, &got, &arena, &differ, NULL));
			CHECK_INT(differ.len, 0);
		}
	}
}
