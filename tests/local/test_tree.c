/* Objects while a request changes them, and the causes that refuse it. */
#include "base/units.h"
#include "json/write.h"
#include "local/tree.h"
#include "test.h"

static const struct {
	const char *says, *in, *tree, *repeats;
} reads[] = {
	{ "a value is read as it is", "{\"a\":[1,-2,3.5,\"x\",null,true,{}]}", "{\"a\":[1,-2,3.5,\"x\",null,true,{}]}",
	  "" },
	{ "of a repeated name the last value counts, in the first one's place", "{\"a\":1,\"b\":2,\"a\":3}",
	  "{\"a\":3,\"b\":2}", "duplicate field \"a\"" },
	{ "a repeat is reported with its path", "{\"l\":[0,{\"a\":1,\"a\":{}}]}", "{\"l\":[0,{\"a\":{}}]}",
	  "duplicate field \"l[1].a\"" },
	{ "each further repeat is reported", "{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}",
	  "[duplicate field \"a\", duplicate field \"a\"]" },
	{ "an empty name is a name", "{\"\":1,\"\":2}", "{\"\":2}", "duplicate field \"\"" },
	{ "repeats are found among many names",
	  "{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,\"k\":0,\"l\":0,"
	  "\"m\":0,\"n\":0,\"o\":0,\"p\":0,\"q\":0,\"r\":0,\"s\":0,\"t\":0,\"u\":0,\"v\":0,\"w\":0,"
	  "\"x\":0,\"c\":[1],\"c\":[2]}",
	  "{\"a\":0,\"b\":0,\"c\":[2],\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,\"k\":0,\"l\":0,"
	  "\"m\":0,\"n\":0,\"o\":0,\"p\":0,\"q\":0,\"r\":0,\"s\":0,\"t\":0,\"u\":0,\"v\":0,\"w\":0,\"x\":0}",
	  "[duplicate field \"c\", duplicate field \"c\"]" },
};

TEST(trees_are_read)
{
	EACH_ROW (row, reads) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_KIB), said = FL_BUF(FL_KIB);
		FL_AUTO(fl_json_doc) yyjson_doc *in = NULL;
		FL_AUTO(fl_json_mut) yyjson_mut_doc *doc = NULL;
		struct fl_causes repeats = FL_CAUSES(&arena);
		yyjson_alc alc = fl_json_alc(NULL);
		struct fl_jw w = FL_JW(&text);
		yyjson_mut_val *tree, *copy;

		OK(fl_json_read(NULL, fl_str(row->in), 0, &in, NULL));
		GOT(doc = yyjson_mut_doc_new(&alc));
		GOT(tree = fl_tree_of(doc, in->root, &repeats));
		OK(repeats.failed ? -FL_E_NOMEM : 0);
		fl_jw_mut(&w, tree);
		fl_causes_text(&repeats, &said);
		OK(fl_buf_check(&text, "tree", NULL));
		OK(fl_buf_check(&said, "repeats", NULL));
		CHECK_STR(fl_buf_view(&text), row->tree);
		CHECK_STR(fl_buf_view(&said), row->repeats);
		GOT(copy = fl_tree_copy(doc, tree));
		CHECK(fl_tree_equal(tree, copy) && fl_tree_equal(copy, tree));
	}
}

static const struct {
	const char *says, *a, *b;
	bool same;
} pairs[] = {
	{ "the order of members does not count", "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true },
	{ "the order of items does", "[1,2]", "[2,1]", false },
	{ "1 and 1.0 differ", "1", "1.0", false },
	{ "-1 is no large number", "-1", "18446744073709551615", false },
	{ "a longer list differs", "[1]", "[1,1]", false },
	{ "another name differs", "{\"a\":1}", "{\"b\":1}", false },
	{ "true is not false", "true", "false", false },
	{ "null is null", "null", "null", true },
	{ "texts of one length may differ", "\"ab\"", "\"ac\"", false },
};

TEST(trees_are_compared)
{
	EACH_ROW (row, pairs) {
		FL_AUTO(fl_json_doc) yyjson_doc *a = NULL;
		FL_AUTO(fl_json_doc) yyjson_doc *b = NULL;
		FL_AUTO(fl_json_mut) yyjson_mut_doc *doc = NULL;
		yyjson_alc alc = fl_json_alc(NULL);
		yyjson_mut_val *x, *y;

		OK(fl_json_read(NULL, fl_str(row->a), 0, &a, NULL));
		OK(fl_json_read(NULL, fl_str(row->b), 0, &b, NULL));
		GOT(doc = yyjson_mut_doc_new(&alc));
		GOT(x = fl_tree_of(doc, a->root, NULL));
		GOT(y = fl_tree_of(doc, b->root, NULL));
		CHECK(fl_tree_equal(x, y) == row->same && fl_tree_equal(y, x) == row->same);
	}
}

TEST(a_number_made_in_code_equals_one_that_was_read)
{
	FL_AUTO(fl_json_doc) yyjson_doc *in = NULL;
	FL_AUTO(fl_json_mut) yyjson_mut_doc *doc = NULL;
	yyjson_alc alc = fl_json_alc(NULL);
	yyjson_mut_val *read, *made;

	OK(fl_json_read(NULL, FL_S("7"), 0, &in, NULL));
	GOT(doc = yyjson_mut_doc_new(&alc));
	GOT(read = fl_tree_of(doc, in->root, NULL));
	GOT(made = yyjson_mut_sint(doc, 7));
	CHECK(fl_tree_equal(read, made));
}

TEST(members_are_put_found_and_removed)
{
	FL_AUTO(fl_json_mut) yyjson_mut_doc *doc = NULL;
	yyjson_alc alc = fl_json_alc(NULL);
	char name[200][8];
	yyjson_mut_val *object;

	GOT(doc = yyjson_mut_doc_new(&alc));
	GOT(object = yyjson_mut_obj(doc));
	for (uint32_t i = 0; i < FL_LEN(name); i++) {
		FL_AUTO(fl_tree_names) struct fl_tree_names names = { 0 };
		struct fl_buf text = FL_BUF_IN(name[i]);
		yyjson_mut_val *val;

		fl_buf_uint(&text, i * 7919 % 200);
		GOT(val = yyjson_mut_uint(doc, i));
		GOT(fl_tree_put(doc, object, fl_buf_view(&text), val) ? doc : NULL);
		fl_tree_names_init(&names, object);
		for (uint32_t k = 0; k <= i; k++)
			CHECK(yyjson_mut_get_uint(fl_tree_names_get(&names, fl_str(name[k]))) == k);
		CHECK(!fl_tree_names_get(&names, FL_S("none")));
	}
	CHECK_INT(yyjson_mut_obj_size(object), 200);
	CHECK(fl_tree_put(doc, object, FL_S("5"), yyjson_mut_true(doc)) || test_tortured());
	CHECK_INT(yyjson_mut_obj_size(object), 200);
	fl_tree_remove(object, FL_S("5"));
	CHECK(!fl_tree_get(object, FL_S("5")) && !fl_tree_get(NULL, FL_S("5")));
	CHECK_STR(fl_tree_str(object), "");
}
