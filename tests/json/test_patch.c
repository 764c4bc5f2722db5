#include "patch.h"
#include "base/units.h"
#include "vectors.h"

struct docs {
	struct fl_json_space space;
	yyjson_doc *doc, *patch, *want;
	yyjson_mut_doc *result;
};

static void docs_auto_(struct docs *d)
{
	fl_json_space_free(&d->space);
}

static int read_two(struct docs *d, struct fl_str doc, struct fl_str patch, struct fl_err *err)
{
	int r = fl_json_read(&d->space, doc, FL_JSON_STRICT, &d->doc, err);

	return r < 0 ? r : fl_json_read(&d->space, patch, FL_JSON_STRICT, &d->patch, err);
}

static int apply(struct docs *d, struct fl_str kind, struct fl_buf *out, struct fl_err *err)
{
	struct fl_jw w = FL_JW(out);
	int r;

	if (fl_str_eq(kind, FL_S("diff"))) {
		(void)fl_patch_diff(&w, d->doc->root, d->patch->root);
		return fl_buf_check(out, "diff", err);
	}
	r = fl_str_eq(kind, FL_S("merge")) ? fl_patch_merge(&d->space, d->doc->root, d->patch->root, &d->result, err) :
					     fl_patch_json(&d->space, d->doc->root, d->patch->root, &d->result, err);
	if (r < 0)
		return r;
	fl_jw_mut(&w, d->result->root);
	return fl_buf_check(out, "result", err);
}

TEST_ONCE(patches_do_what_those_of_the_api_server_do)
{
	EACH_VECTOR(row, "patch")
	{
		FL_AUTO(docs) struct docs d = { 0 };
		FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(4 * FL_KIB);
		FL_AUTO(fl_json_doc) yyjson_doc *got = NULL;
		struct fl_err err = { 0 };

		OK_ERR(read_two(&d, row->field[1], row->field[2], &err), &err);
		if (!vector_ok(row, 3)) {
			CHECK(apply(&d, row->field[0], &out, &err) < 0);
			CHECK(err.code == FL_E_INVALID || err.code == FL_E_CONFLICT);
			continue;
		}
		OK_ERR(apply(&d, row->field[0], &out, &err), &err);
		OK_ERR(fl_json_read(NULL, fl_buf_view(&out), 0, &got, &err), &err);
		OK_ERR(fl_json_read(&d.space, row->field[4], 0, &d.want, &err), &err);
		if (!yyjson_equals(got->root, d.want->root))
			CHECK_FIELD(fl_buf_view(&out), row, 4);
	}
}

static const struct {
	const char *says, *kind, *doc, *patch, *want;
	enum fl_code code;      /* then `want` is the refusal's text */
} rows[] = {
	{ "a member is set, changed and removed", "merge", "{\"a\":1,\"b\":{\"c\":2}}",
	  "{\"a\":null,\"b\":{\"c\":3,\"d\":4}}",
	  "{\"b\":{\"c\":3,\"d\":4}}", FL_OK },
	{ "what is no object replaces the whole", "merge", "{\"a\":1}", "[1]", "[1]", FL_OK },
	{ "a test that holds lets the rest go on", "json", "{\"a\":1}",
	  "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1},{\"op\":\"add\",\"path\":\"/b\",\"value\":2}]",
	  "{\"a\":1,\"b\":2}", FL_OK },
	{ "a test that does not is a conflict", "json", "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]",
	  "patch operation 0 (test /a): the value there is another one", FL_E_CONFLICT },
	{ "a place that is not there is named", "json", "{\"a\":1}",
	  "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1},{\"op\":\"remove\",\"path\":\"/b\"}]",
	  "patch operation 1 (remove /b): there is no such place in the document", FL_E_INVALID },
	{ "a member that is there is set, not doubled", "json", "{\"a\":1}",
	  "[{\"op\":\"add\",\"path\":\"/a\",\"value\":2}]",
	  "{\"a\":2}", FL_OK },
	{ "the whole document may be replaced", "json", "{\"a\":1}",
	  "[{\"op\":\"replace\",\"path\":\"\",\"value\":[2]}]", "[2]",
	  FL_OK },
	{ "but not removed", "json", "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"\"}]",
	  "patch operation 0 (remove ): the whole document cannot be removed", FL_E_INVALID },
	{ "what is to be replaced must be there", "json", "{\"a\":1}",
	  "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":2}]",
	  "patch operation 0 (replace /b): there is no such place in the document", FL_E_INVALID },
	{ "and what is to be copied", "json", "{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/x\",\"path\":\"/b\"}]",
	  "patch operation 0 (copy /b): there is nothing to copy", FL_E_INVALID },
	{ "nothing moves into itself", "json", "{\"a\":{\"b\":1}}",
	  "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/c\"}]",
	  "patch operation 0 (move /a/c): a value cannot move into itself", FL_E_INVALID },
	{ "but may stay where it is", "json", "{\"a\":{\"b\":1}}",
	  "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]",
	  "{\"a\":{\"b\":1}}", FL_OK },
	{ "a value that is missing", "json", "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\"}]",
	  "patch operation 0 (add /b): a value is missing", FL_E_INVALID },
	{ "an operation that is none", "json", "{\"a\":1}", "[{\"op\":\"sort\",\"path\":\"/b\"}]",
	  "patch operation 0 (sort /b): no such operation; there are add, remove, replace, move, copy and test",
	  FL_E_INVALID },
	{ "an object is no patch", "json", "{}", "{}", "a JSON patch is a list of operations, this is an object",
	  FL_E_INVALID },
	{ "no difference", "diff", "{\"a\":{\"b\":[1,2]},\"c\":null}", "{\"a\":{\"b\":[1,2]}}", "{}", FL_OK },
	{ "differences deep down", "diff", "{\"a\":{\"b\":1,\"x\":2},\"c\":3,\"k\":{\"l\":{\"m\":1}}}",
	  "{\"a\":{\"b\":2,\"x\":2},\"d\":{\"e\":null,\"f\":1},\"k\":{\"l\":{\"m\":1}}}",
	  "{\"a\":{\"b\":2},\"d\":{\"e\":null,\"f\":1},\"c\":null}", FL_OK },
	{ "a list is replaced whole", "diff", "{\"a\":[1,2]}", "{\"a\":[1,3]}", "{\"a\":[1,3]}", FL_OK },
	{ "an object in the place of a number", "diff", "{\"a\":1}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}", FL_OK },
};

TEST(patches)
{
	EACH_ROW (row, rows) {
		FL_AUTO(docs) struct docs d = { 0 };
		FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(4 * FL_KIB);
		struct fl_err err;

		OK_ERR(read_two(&d, fl_str(row->doc), fl_str(row->patch), &err), &err);
		if (row->code) {
			REFUSED(apply(&d, fl_str(row->kind), &out, &err), row->code);
			if (!test_tortured())
				CHECK_STR(fl_str(err.text), row->want);
			continue;
		}
		OK_ERR(apply(&d, fl_str(row->kind), &out, &err), &err);
		CHECK_STR(fl_buf_view(&out), row->want);
	}
}

/* Each copy doubles the document: a bomb of thirty lines. */
TEST(a_patch_that_doubles_the_document_again_and_again_is_refused)
{
	FL_AUTO(docs) struct docs d = { 0 };
	FL_AUTO(fl_buf) struct fl_buf patch = FL_BUF(16 * FL_KIB), out = FL_BUF(16 * FL_KIB);
	struct fl_err err;

	fl_buf_char(&patch, '[');
	for (int i = 0; i < 40; i++)
		fl_buf_printf(&patch, "%s{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}", i ? "," : "");
	fl_buf_char(&patch, ']');
	OK(fl_buf_check(&patch, "test", NULL));
	OK_ERR(read_two(&d, FL_S("{\"a\":[1]}"), fl_buf_view(&patch), &err), &err);
	REFUSED(apply(&d, FL_S("json"), &out, &err), FL_E_TOOBIG);
}

TEST(operations_have_a_limit)
{
	FL_AUTO(docs) struct docs d = { 0 };
	FL_AUTO(fl_buf) struct fl_buf patch = FL_BUF(1 * FL_MIB), out = FL_BUF(1 * FL_KIB);
	struct fl_err err;

	fl_buf_char(&patch, '[');
	for (int i = 0; i <= FL_PATCH_OPS; i++)
		fl_buf_str(&patch, i ? FL_S(",{}") : FL_S("{}"));
	fl_buf_char(&patch, ']');
	OK(fl_buf_check(&patch, "test", NULL));
	OK_ERR(read_two(&d, FL_S("{}"), fl_buf_view(&patch), &err), &err);
	REFUSED(apply(&d, FL_S("json"), &out, &err), FL_E_TOOBIG);
}

TEST(the_difference_applied_gives_the_second_document)
{
	EACH_VECTOR(row, "patch")
	{
		FL_AUTO(docs) struct docs d = { 0 };
		FL_AUTO(fl_buf) struct fl_buf diff = FL_BUF(4 * FL_KIB), result = FL_BUF(4 * FL_KIB);
		struct fl_jw w = FL_JW(&result);
		struct fl_err err;

		/* Thirty of them are enough, and quick under torture. */
		if (!fl_str_eq(row->field[0], FL_S("diff")) || test_random() % 10)
			continue;
		OK_ERR(read_two(&d, row->field[1], row->field[2], &err), &err);
		OK_ERR(apply(&d, FL_S("diff"), &diff, &err), &err);
		OK_ERR(fl_json_read(&d.space, fl_buf_view(&diff), FL_JSON_STRICT, &d.want, &err), &err);
		OK_ERR(fl_patch_merge(&d.space, d.doc->root, d.want->root, &d.result, &err), &err);
		fl_jw_mut(&w, d.result->root);
		OK(fl_buf_check(&result, "test", NULL));
		fl_buf_clear(&diff);
		OK_ERR(fl_json_read(&d.space, fl_buf_view(&result), 0, &d.want, &err), &err);
		d.doc = d.patch;
		w = FL_JW(&diff);
		CHECK(!fl_patch_diff(&w, d.want->root, d.doc->root));
	}
}
