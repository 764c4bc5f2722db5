#include "json/yaml.h"
#include "base/units.h"
#include "json/write.h"
#include "vectors.h"

/* Compact JSON of a document, for comparison. */
static int print(yyjson_doc *doc, struct fl_buf *buf)
{
	struct fl_jw w = FL_JW(buf);

	fl_jw_val(&w, doc->root);
	return fl_buf_check(buf, "test", NULL);
}

/* Too many allocations in a row for torture; the tables below are tortured. */
TEST_ONCE(documents_are_read_as_kubernetes_reads_them)
{
	struct fl_err err;

	EACH_VECTOR(row, "yaml")
	{
		FL_AUTO(fl_json_doc) yyjson_doc *got = NULL, *want = NULL;

		if (!vector_ok(row, 1)) {
			REFUSED(fl_yaml_read(NULL, row->field[0], &got, &err), FL_E_INVALID);
			continue;
		}
		if (fl_str_eq(row->field[2], FL_S("null"))) {
			if (fl_yaml_read(NULL, row->field[0], &got, &err) < 0)
				CHECK_STR(fl_str(err.text), "line 1: nothing stands in this YAML");
			continue;
		}
		OK_ERR(fl_yaml_read(NULL, row->field[0], &got, &err), &err);
		OK_ERR(fl_json_read(NULL, row->field[2], 0, &want, &err), &err);
		if (!yyjson_equals(got->root, want->root)) {
			FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(64 * FL_KIB);

			OK(print(got, &buf));
			CHECK_FIELD(fl_buf_view(&buf), row, 2);
		}
	}
}

TEST_ONCE(documents_are_printed_as_kubectl_prints_them)
{
	struct fl_err err;

	EACH_VECTOR(row, "yaml_print")
	{
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL, *back = NULL;
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(64 * FL_KIB);

		OK_ERR(fl_json_read(NULL, row->field[0], 0, &doc, &err), &err);
		OK_ERR(fl_yaml_put(&buf, doc->root, FL_YAML_SORT, &err), &err);
		CHECK_FIELD(fl_buf_view(&buf), row, 1);
		OK_ERR(fl_yaml_read(NULL, fl_buf_view(&buf), &back, &err), &err);
	}
}

static const struct {
	const char *says, *in;
	enum fl_code code;
	const char *text;
} refused[] = {
	{ "a name twice", "a: 1\nb: 2\na: 3\n", FL_E_INVALID,
	  "line 3: \"a\" stands here again, after line 1; remove one" },
	{ "a name twice in a flow", "x: {a: 1,\n a: 2}\n", FL_E_INVALID,
	  "line 2: \"a\" stands here again, after line 1; remove one" },
	{ "a number and a text that become one name", "1: a\n\"1\": b\n", FL_E_INVALID,
	  "line 2: \"1\" stands here again, after line 1; remove one" },
	{ "a merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", FL_E_INVALID,
	  "line 3: merge keys (<<) are not supported; write the fields out" },
	{ "an alias to nothing", "a:\n  b: *x\n", FL_E_INVALID, "line 2: nothing before this is named &x" },
	{ "an alias to what contains it", "a: &x\n  b: *x\n", FL_E_INVALID, "line 2: *x would contain itself" },
	{ "an alias as a name", "a: &x b\n*x : c\n", FL_E_INVALID,
	  "line 2: an alias as a name is not supported; write the name" },
	{ "an anchor on a name", "&x a: b\n", FL_E_INVALID,
	  "line 1: an anchor on a name is not supported; put it on the value" },
	{ "a list as a name", "? [a]\n: b\n", FL_E_INVALID, "line 1: a list or mapping cannot be a name" },
	{ "no name", "a: 1\n~: b\n", FL_E_INVALID,
	  "line 2: a name is missing here; an empty or null name goes into double quotes" },
	{ "infinity", "a: 1\nb: .inf\n", FL_E_INVALID,
	  "line 2: '.inf' has no place in JSON; quote it if it is a text" },
	{ "a tag that does not fit", "a: !!int b\n", FL_E_INVALID, "line 1: 'b' is no int" },
	{ "bytes", "a: !!binary /w==\n", FL_E_INVALID,
	  "line 1: a value tagged !!binary is no text; JSON has no bytes, write base64 without the tag" },
	{ "a tab", "a:\n\t- b\n", FL_E_INVALID,
	  "line 2: while scanning for the next token, found character that cannot start any token; indent with blanks, "
	  "not tabs, and quote a text that begins with @ ` or %" },
	{ "two documents where one should be", "a: 1\n---\nb: 2\n", FL_E_INVALID,
	  "line 2: a second document begins; there should be one" },
	{ "nothing at all", "# to do\n", FL_E_INVALID, "line 1: nothing stands in this YAML" },
	{ "JSON with a mistake", "\n{\"a\": 1,}\n", FL_E_INVALID, NULL },
	{ "JSON that is cut off", "{\"a\": [1,", FL_E_INVALID, NULL },
	{ "JSON with a name twice", "{\"a\":1,\"a\":2}", FL_E_INVALID, "a: this name stands here twice; remove one" },
};

TEST(what_is_refused_names_the_line)
{
	EACH_ROW (row, refused) {
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		struct fl_err err;

		REFUSED(fl_yaml_read(NULL, fl_str(row->in), &doc, &err), row->code);
		if (row->text && !test_tortured())
			CHECK_STR(fl_str(err.text), row->text);
	}
}

static const struct {
	const char *says, *in, *want;   /* each document in brackets */
	uint32_t line;                  /* of the last */
} streams[] = {
	{ "one document", "a: 1\n", "[{\"a\":1}]", 1 },
	{ "two documents", "a: 1\n---\nb: 2\n", "[{\"a\":1}][{\"b\":2}]", 2 },
	{ "nothing between them", "---\n---\na: 1\n---\n# only this\n---\nb: 2\n", "[{\"a\":1}][{\"b\":2}]", 6 },
	{ "a document of one word", "--- yes\n--- \"\"\n", "[true][\"\"]", 2 },
	{ "an end mark", "a: 1\n...\n---\nb: 2\n...\n", "[{\"a\":1}][{\"b\":2}]", 3 },
	{ "anchors do not reach over", "a: &x 1\n---\nb: &x 2\nc: *x\n", "[{\"a\":1}][{\"b\":2,\"c\":2}]", 2 },
	{ "JSON objects", " {\"a\":1}\n{\"b\":2} ", "[{\"a\":1}][{\"b\":2}]", 2 },
	{ "JSON takes surrogate pairs", "{\"a\":\"\\ud83d\\ude00\"}", "[{\"a\":\"\\ud83d\\ude00\"}]", 1 },
	{ "nothing", "", "", 1 },
	{ "aliases of lists and mappings", "a: &x [1, {b: &y two}]\nc: *x\nd: [*y, *x]\n",
	  "[{\"a\":[1,{\"b\":\"two\"}],\"c\":[1,{\"b\":\"two\"}],\"d\":[\"two\",[1,{\"b\":\"two\"}]]}]", 1 },
};

TEST(streams_are_read_document_by_document)
{
	EACH_ROW (row, streams) {
		FL_AUTO(fl_buf) struct fl_buf all = FL_BUF(1 * FL_KIB);
		FL_AUTO(fl_yaml) struct fl_yaml *yaml = NULL;
		uint32_t line = 1;
		struct fl_err err;
		int r;

		OK_ERR(fl_yaml_open(fl_str(row->in), &yaml, &err), &err);
		for (;;) {
			fl_buf_char(&all, '[');
			r = fl_yaml_next(yaml, &all, &err);
			if (r <= 0)
				break;
			fl_buf_char(&all, ']');
			line = fl_yaml_line(yaml);
		}
		OK_ERR(r, &err);
		OK(fl_buf_check(&all, "test", NULL));
		CHECK_STR(fl_str_sub(fl_buf_view(&all), 0, (uint32_t)all.len - 1), row->want);
		CHECK_INT(line, row->line);
	}
}

static void repeat(struct fl_buf *buf, const char *text, uint32_t times)
{
	while (times--)
		fl_buf_str(buf, fl_str(text));
}

TEST(depth_has_a_limit)
{
	for (uint32_t depth = FL_YAML_DEPTH; depth <= FL_YAML_DEPTH + 1; depth++) {
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		struct fl_err err;

		repeat(&buf, "[", depth);
		repeat(&buf, "]", depth);
		OK(fl_buf_check(&buf, "test", NULL));
		if (depth <= FL_YAML_DEPTH) {
			OK_ERR(fl_yaml_read(NULL, fl_buf_view(&buf), &doc, &err), &err);
			continue;
		}
		REFUSED(fl_yaml_read(NULL, fl_buf_view(&buf), &doc, &err), FL_E_INVALID);
		if (!test_tortured())
			CHECK_STR(fl_str(err.text), "line 1: values are nested deeper than 100 levels");
	}
}

TEST(depth_by_aliases_has_the_same_limit)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_err err;

	fl_buf_str(&buf, FL_S("- &a0 [x]\n"));
	for (int i = 1; i < 102; i++)
		fl_buf_printf(&buf, "- &a%d [*a%d]\n", i, i - 1);
	OK(fl_buf_check(&buf, "test", NULL));
	REFUSED(fl_yaml_read(NULL, fl_buf_view(&buf), &doc, &err), FL_E_INVALID);
	if (!test_tortured())
		CHECK_STR(fl_str(err.text), "line 100: values are nested deeper than 100 levels");
}

TEST(a_hundred_laughs_are_enough)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_err err;

	fl_buf_str(&buf, FL_S("- &a0 [laugh]\n"));
	for (int i = 1; i < 10; i++)
		fl_buf_printf(&buf, "- &a%d [*a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i - 1, i - 1, i - 1, i - 1, i - 1);
	OK(fl_buf_check(&buf, "test", NULL));
	REFUSED(fl_yaml_read(NULL, fl_buf_view(&buf), &doc, &err), FL_E_INVALID);
	if (!test_tortured())
		CHECK(fl_str_ends(fl_str(err.text), FL_S("write the values out")));
}

TEST(size_has_a_limit)
{
	struct fl_str huge = { "", FL_YAML_MAX + 1 };
	struct fl_yaml *yaml = NULL;
	struct fl_err err;

	REFUSED(fl_yaml_open(huge, &yaml, &err), FL_E_TOOBIG);
}

TEST(a_failure_leaves_the_buffer_as_it_was)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(64);
	FL_AUTO(fl_yaml) struct fl_yaml *yaml = NULL;
	struct fl_err err;

	fl_buf_str(&buf, FL_S("x"));
	OK(fl_buf_check(&buf, "test", NULL));
	OK_ERR(fl_yaml_open(FL_S("a: 1\nb: [1, 2"), &yaml, &err), &err);
	REFUSED(fl_yaml_next(yaml, &buf, &err), FL_E_INVALID);
	CHECK_STR(fl_buf_view(&buf), "x");
}

TEST(a_full_buffer_is_told)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(8), text = FL_BUF(8);
	FL_AUTO(fl_yaml) struct fl_yaml *yaml = NULL;
	struct fl_err err;

	OK_ERR(fl_yaml_open(FL_S("a: &x long text\nb: *x\n"), &yaml, &err), &err);
	REFUSED(fl_yaml_next(yaml, &json, &err), FL_E_TOOBIG);
	OK_ERR(fl_json_read(NULL, FL_S("{\"a\":[\"long text\"]}"), 0, &doc, &err), &err);
	REFUSED(fl_yaml_put(&text, doc->root, 0, &err), FL_E_TOOBIG);
}

static const struct {
	const char *says, *json, *yaml;
	unsigned flags;
} prints[] = {
	{ "names stand as they stand", "{\"b\":1,\"a\":[true,null,{\"x\":\"y\"}]}",
	  "b: 1\na:\n- true\n- null\n- x: \"y\"\n", 0 },
	{ "or in kubectl's order", "{\"b10\":1,\"b9\":2,\"a\":3,\"_\":4}", "_: 4\na: 3\nb9: 2\nb10: 1\n",
	  FL_YAML_SORT },
	{ "nothing in it", "{\"a\":{},\"b\":[]}", "a: {}\nb: []\n", 0 },
	{ "a text of several lines", "{\"a\":\"one\\ntwo\\n\"}", "a: |\n  one\n  two\n", 0 },
	{ "a merge mark is a text", "{\"a\":\"<<\"}", "a: \"<<\"\n", 0 },
	{ "a number of 64 bits", "[18446744073709551615,-9223372036854775808]",
	  "- 18446744073709551615\n- -9223372036854775808\n", 0 },
};

TEST(documents_are_printed)
{
	EACH_ROW (row, prints) {
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_KIB);
		struct fl_err err;

		OK_ERR(fl_json_read(NULL, fl_str(row->json), 0, &doc, &err), &err);
		OK_ERR(fl_yaml_put(&buf, doc->root, row->flags, &err), &err);
		CHECK_STR(fl_buf_view(&buf), row->yaml);
	}
}
