#include "json/json.h"
#include "base/units.h"
#include "json/write.h"
#include "vectors.h"

/* ---- reading ---- */

static const struct {
	const char *says, *in;
	enum fl_code code;
	const char *text;
} refused[] = {
	{ "nothing", "", FL_E_INVALID, "line 1, column 1: empty text where JSON should be" },
	{ "blanks only", " \n", FL_E_INVALID, NULL },
	{ "a comma too many", "{\n  \"a\": 1,\n}", FL_E_INVALID, "line 2, column 9: trailing comma" },
	{ "the column counts characters, not bytes", "[\"\xc3\xa9\xc3\xa9\" x]", FL_E_INVALID, "line 1, column 7: " },
	{ "single quotes", "{'a': 1}", FL_E_INVALID, "line 1, column 2: " },
	{ "a bare name", "{a: 1}", FL_E_INVALID, NULL },
	{ "a comment", "[1 # one\n]", FL_E_INVALID, NULL },
	{ "a text that is cut off", "{\"a\": \"b", FL_E_INVALID, NULL },
	{ "two documents", "{} {}", FL_E_INVALID, NULL },
	{ "a leading zero", "[01]", FL_E_INVALID, NULL },
	{ "a number that is none", "[NaN]", FL_E_INVALID, NULL },
	{ "a number beyond a double", "[1e999]", FL_E_INVALID, NULL },
	{ "a control byte in a text", "[\"a\nb\"]", FL_E_INVALID, NULL },
	{ "bytes that are not UTF-8", "[\"\xff\"]", FL_E_INVALID, NULL },
	{ "half a surrogate pair", "[\"\\ud83d\"]", FL_E_INVALID, NULL },
	{ "a byte order mark", "\xef\xbb\xbf{}", FL_E_INVALID, NULL },
};

TEST(what_is_not_json_is_refused_with_its_place)
{
	EACH_ROW (row, refused) {
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		struct fl_err err;

		REFUSED(fl_json_read(NULL, fl_str(row->in), 0, &doc, &err), row->code);
		CHECK(doc == NULL);
		if (row->text && !test_tortured())
			CHECK(fl_str_starts(fl_str(err.text), fl_str(row->text)));
	}
}

static int nested(uint32_t depth, unsigned flags, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_MIB);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	int r;

	for (uint32_t i = 0; i < depth; i++)
		fl_buf_str(&buf, i & 1 ? FL_S("{\"a\":0,\"b\":") : FL_S("[0,"));
	fl_buf_char(&buf, '1');
	for (uint32_t i = depth; i > 0; i--)
		fl_buf_char(&buf, i & 1 ? ']' : '}');
	r = fl_buf_check(&buf, "test", err);
	return r < 0 ? r : fl_json_read(NULL, fl_buf_view(&buf), flags, &doc, err);
}

TEST(depth_has_a_limit)
{
	struct fl_err err;

	OK_ERR(nested(FL_JSON_DEPTH, FL_JSON_STRICT, &err), &err);
	REFUSED(nested(FL_JSON_DEPTH + 1, 0, &err), FL_E_TOOBIG);
	REFUSED(nested(20000, 0, &err), FL_E_TOOBIG);
}

TEST(a_wide_document_is_not_deep)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_MIB);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;

	fl_buf_char(&buf, '[');
	for (int i = 0; i < 3 * FL_JSON_DEPTH; i++)
		fl_buf_str(&buf, i ? FL_S(",[]") : FL_S("[]"));
	fl_buf_char(&buf, ']');
	OK(fl_buf_check(&buf, "test", NULL));
	OK(fl_json_read(NULL, fl_buf_view(&buf), 0, &doc, NULL));
}

TEST(size_has_a_limit)
{
	struct fl_str huge = { "", FL_JSON_MAX + 1 };
	yyjson_doc *doc = NULL;
	struct fl_err err;

	REFUSED(fl_json_read(NULL, huge, 0, &doc, &err), FL_E_TOOBIG);
}

static const struct {
	const char *says, *in, *path;
} repeats[] = {
	{ "at the top", "{\"a\":1,\"a\":2}", "a" },
	{ "deeper down", "{\"x\":[0,{\"y\":{\"b\":1,\"a\":1,\"b\":2}}]}", "x[1].y.b" },
	{ "in a list in a list", "[[],[{\"k\":1,\"k\":1}]]", "[1][0].k" },
	{ "written with an escape", "{\"a\":1,\"\\u0061\":2}", "a" },
	{ "no name twice", "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}", NULL },
};

TEST(a_repeated_name_is_refused_where_strict)
{
	EACH_ROW (row, repeats) {
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		char want[200];
		struct fl_err err;

		OK(fl_json_read(NULL, fl_str(row->in), 0, &doc, NULL));
		yyjson_doc_free(fl_steal(&doc));
		if (!row->path) {
			OK(fl_json_read(NULL, fl_str(row->in), FL_JSON_STRICT, &doc, NULL));
			continue;
		}
		REFUSED(fl_json_read(NULL, fl_str(row->in), FL_JSON_STRICT, &doc, &err), FL_E_INVALID);
		(void)snprintf(want, sizeof want, "%s: this name stands here twice; remove one", row->path);
		CHECK_STR(fl_str(err.text), want);
	}
}

TEST(a_repeated_name_is_found_among_thousands)
{
	for (int twice = 0; twice < 2; twice++) {
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_MIB);
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		struct fl_err err;

		fl_buf_char(&buf, '{');
		for (int i = 0; i < 3000; i++)
			fl_buf_printf(&buf, "\"k%d\":0,", i);
		fl_buf_str(&buf, twice ? FL_S("\"k1234\":1}") : FL_S("\"x\":1}"));
		OK(fl_buf_check(&buf, "test", NULL));
		if (twice)
			REFUSED(fl_json_read(NULL, fl_buf_view(&buf), FL_JSON_STRICT, &doc, &err), FL_E_INVALID);
		else
			OK(fl_json_read(NULL, fl_buf_view(&buf), FL_JSON_STRICT, &doc, &err));
	}
}

TEST(the_last_of_a_repeated_name_counts)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	int64_t value;

	OK(fl_json_read(NULL, FL_S("{\"a\":1,\"b\":5,\"a\":2}"), 0, &doc, NULL));
	CHECK(fl_json_i64(fl_json_get(doc->root, FL_S("a")), &value));
	CHECK_INT(value, 2);
	CHECK(fl_json_get(doc->root, FL_S("c")) == NULL);
	CHECK(fl_json_get(NULL, FL_S("a")) == NULL);
	CHECK(fl_json_get(fl_json_get(doc->root, FL_S("a")), FL_S("a")) == NULL);
}

static const struct {
	const char *says, *in;
	bool fits;
	int64_t want;
	const char *printed, *kind;
} numbers[] = {
	{ "2^53+1 is exact", "9007199254740993", true, 9007199254740993, "9007199254740993", "an integer" },
	{ "the largest", "9223372036854775807", true, INT64_MAX, "9223372036854775807", "an integer" },
	{ "the smallest", "-9223372036854775808", true, INT64_MIN, "-9223372036854775808", "an integer" },
	{ "one more is exact, but no int64", "9223372036854775808", false, 0, "9223372036854775808", "an integer" },
	{ "the largest of 64 bits", "18446744073709551615", false, 0, "18446744073709551615", "an integer" },
	{ "beyond it is a double", "18446744073709551616", false, 0, "18446744073709552000",
	  "a number with a fraction or exponent" },
	{ "a fraction is no integer", "1.0", false, 0, "1", "a number with a fraction or exponent" },
	{ "nor is an exponent", "1e3", false, 0, "1000", "a number with a fraction or exponent" },
	{ "a text is no integer", "\"1\"", false, 0, "\"1\"", "a text" },
	{ "true is none", "true", false, 0, "true", "true" },
	{ "false is none", "false", false, 0, "false", "false" },
	{ "null is none", "null", false, 0, "null", "null" },
	{ "a list is none", "[1,2]", false, 0, "[1,2]", "a list" },
	{ "an object is none", "{\"a\":{},\"b\":[]}", false, 0, "{\"a\":{},\"b\":[]}", "an object" },
};

TEST(values_are_what_they_are)
{
	EACH_ROW (row, numbers) {
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		FL_AUTO(fl_json_mut) yyjson_mut_doc *mut = NULL;
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(100), again = FL_BUF(100);
		yyjson_alc alc = fl_json_alc(NULL);
		struct fl_jw w = FL_JW(&buf), w2 = FL_JW(&again);
		int64_t value = 0;

		OK(fl_json_read(NULL, fl_str(row->in), 0, &doc, NULL));
		CHECK(fl_json_i64(doc->root, &value) == row->fits);
		CHECK_INT(value, row->want);
		CHECK_STR(fl_str(fl_json_kind(doc->root)), row->kind);
		fl_jw_val(&w, doc->root);
		OK(fl_buf_check(&buf, "test", NULL));
		CHECK_STR(fl_buf_view(&buf), row->printed);
		mut = yyjson_doc_mut_copy(doc, &alc);
		GOT(mut);
		fl_jw_mut(&w2, mut->root);
		OK(fl_buf_check(&again, "test", NULL));
		CHECK_STR(fl_buf_view(&again), row->printed);
	}
	CHECK_STR(fl_str(fl_json_kind(NULL)), "nothing");
}

TEST(a_path_is_cut_where_it_is_too_long)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	yyjson_val *names;
	char path[8];

	OK(fl_json_read(NULL, FL_S("{\"a\":{\"long-name\":[1,2]},\"z\":0}"), 0, &doc, NULL));
	fl_json_path(doc, doc->root, path, sizeof path);
	CHECK_STR(fl_str(path), "");
	fl_json_path(doc, yyjson_obj_get(doc->root, "z"), path, sizeof path);
	CHECK_STR(fl_str(path), "z");
	names = yyjson_obj_get(yyjson_obj_get(doc->root, "a"), "long-name");
	fl_json_path(doc, yyjson_arr_get(names, 1), path, sizeof path);
	CHECK_STR(fl_str(path), "a.long-");
}

/* ---- memory ---- */

TEST(a_space_stops_allocating)
{
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	struct fl_str text = FL_S("{\"a\":[1,2,3,{\"b\":\"text\"}],\"c\":null}");
	long live = 0;

	for (int round = 0; round < 5; round++) {
		yyjson_doc *one = NULL, *two = NULL;

		OK(fl_json_read(&space, text, 0, &one, NULL));
		OK(fl_json_read(&space, text, FL_JSON_STRICT, &two, NULL));
		CHECK(yyjson_equals(one->root, two->root));
		yyjson_doc_free(two);
		if (round > 1 && !test_tortured())
			CHECK(fl_mem_live() >= live && (space.spills == NULL || space.block == NULL));
		live = fl_mem_live();
		fl_json_space_reset(&space);
	}
}

TEST(a_large_document_in_a_space_goes_with_the_reset)
{
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_MIB);
	yyjson_doc *doc = NULL;

	fl_buf_char(&buf, '[');
	for (int i = 0; i < 40000; i++)
		fl_buf_str(&buf, i ? FL_S(",[\"x\"]") : FL_S("[1]"));
	fl_buf_char(&buf, ']');
	OK(fl_buf_check(&buf, "test", NULL));
	for (int round = 0; round < 3; round++) {
		OK(fl_json_read(&space, fl_buf_view(&buf), 0, &doc, NULL));
		CHECK_INT((int64_t)yyjson_arr_size(doc->root), 40000);
		fl_json_space_reset(&space);
		CHECK(space.spills == NULL);
		CHECK(space.size <= FL_JSON_SPACE_KEEP);
	}
}

/* ---- writing ---- */

TEST(texts_and_numbers_are_written_as_go_writes_them)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);

	EACH_VECTOR(row, "encoding")
	{
		struct fl_jw w = FL_JW(&buf);
		double number;
		uint64_t bits;

		fl_buf_clear(&buf);
		if (fl_str_eq(row->field[0], FL_S("text"))) {
			fl_jw_str(&w, row->field[1]);
		} else {
			bits = strtoull(row->says + 7, NULL, 16);
			memcpy(&number, &bits, sizeof number);
			fl_jw_double(&w, number);
		}
		OK(fl_buf_check(&buf, "test", NULL));
		CHECK_FIELD(fl_buf_view(&buf), row, 2);
	}
}

TEST(a_document_written_piece_by_piece)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_KIB);
	struct fl_jw w = FL_JW(&buf);

	fl_jw_obj(&w);
	fl_jw_key(&w, FL_S("a"));
	fl_jw_arr(&w);
	fl_jw_end_arr(&w);
	fl_jw_key(&w, FL_S("b\n"));
	fl_jw_arr(&w);
	fl_jw_i64(&w, INT64_MIN);
	fl_jw_u64(&w, UINT64_MAX);
	fl_jw_double(&w, 0.5);
	fl_jw_double(&w, __builtin_nan(""));
	fl_jw_bool(&w, true);
	fl_jw_bool(&w, false);
	fl_jw_null(&w);
	fl_jw_obj(&w);
	fl_jw_end_obj(&w);
	fl_jw_raw(&w, FL_S("{\"x\":1}"));
	fl_jw_end_arr(&w);
	fl_jw_key(&w, FL_S(""));
	fl_jw_str(&w, FL_S("c"));
	fl_jw_end_obj(&w);
	OK(fl_buf_check(&buf, "test", NULL));
	CHECK_STR(fl_buf_view(&buf), "{\"a\":[],\"b\\n\":[-9223372036854775808,18446744073709551615,0.5,null,true,"
				     "false,null,{},{\"x\":1}],\"\":\"c\"}");
}

TEST(a_writer_stops_at_the_buffers_ceiling)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(10);
	struct fl_jw w = FL_JW(&buf);
	struct fl_err err;

	OK(fl_json_read(NULL, FL_S("{\"a\":[1,2,3,4],\"b\":\"\\n\"}"), 0, &doc, NULL));
	fl_jw_val(&w, doc->root);
	REFUSED(fl_buf_check(&buf, "document", &err), FL_E_TOOBIG);
}

TEST(a_document_of_ones_own_that_is_too_deep_is_not_written)
{
	FL_AUTO(fl_json_mut) yyjson_mut_doc *doc = NULL;
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_MIB);
	yyjson_alc alc = fl_json_alc(NULL);
	struct fl_jw w = FL_JW(&buf);
	struct fl_err err;

	doc = yyjson_mut_doc_new(&alc);
	GOT(doc);
	for (int i = 0; i <= FL_JSON_DEPTH; i++) {
		yyjson_mut_val *arr = yyjson_mut_arr(doc);

		GOT(arr);
		if (doc->root)
			(void)yyjson_mut_arr_append(arr, doc->root);
		doc->root = arr;
	}
	fl_jw_mut(&w, doc->root);
	REFUSED(fl_buf_check(&buf, "document", &err), FL_E_TOOBIG);
}
