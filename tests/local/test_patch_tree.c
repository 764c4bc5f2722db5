/* Patches on the tree of an object; the rows are what the API server makes of them. */
#include "base/units.h"
#include "json/write.h"
#include "local/patch.h"
#include "test.h"

static const char before[] =
	"{\"i\":1,\"arrs\":[\"a\",\"b\"],\"pres\":{\"a/b\":1,\"c~d\":2,\"e\":{},\"n\":null}}";

struct row {
	const char *says, *patch, *want;
	enum fl_code code;
};

static const struct row operations[] = {
	{ "a member is replaced", "[{\"op\":\"replace\",\"path\":\"/i\",\"value\":5}]", "{\"i\":5", FL_OK },
	{ "a member that is not there is replaced "
	  "too", "[{\"op\":\"replace\",\"path\":\"/z\",\"value\":5}]", "\"z\":5", FL_OK },
	{ "an item that is not there is "
	  "not", "[{\"op\":\"replace\",\"path\":\"/arrs/2\",\"value\":5}]", NULL, FL_E_INVALID },
	{ "what is no list or map has no "
	  "members", "[{\"op\":\"add\",\"path\":\"/i/x\",\"value\":1}]", NULL, FL_E_INVALID },
	{ "nothing is added below what is not "
	  "there", "[{\"op\":\"add\",\"path\":\"/z/y\",\"value\":1}]", NULL, FL_E_INVALID },
	{ "an item is added behind the "
	  "last", "[{\"op\":\"add\",\"path\":\"/arrs/-\",\"value\":\"c\"}]", "[\"a\",\"b\",\"c\"]",
	  FL_OK },
	{ "an item is added at the number of items", "[{\"op\":\"add\",\"path\":\"/arrs/2\",\"value\":\"c\"}]",
	  "[\"a\",\"b\",\"c\"]", FL_OK },
	{ "an item is added in "
	  "front", "[{\"op\":\"add\",\"path\":\"/arrs/0\",\"value\":\"c\"}]", "[\"c\",\"a\",\"b\"]", FL_OK },
	{ "zeros in front of an index do not count", "[{\"op\":\"add\",\"path\":\"/arrs/01\",\"value\":\"c\"}]",
	  "[\"a\",\"c\",\"b\"]", FL_OK },
	{ "-1 is behind the last item when one is added", "[{\"op\":\"add\",\"path\":\"/arrs/-1\",\"value\":\"c\"}]",
	  "[\"a\",\"b\",\"c\"]", FL_OK },
	{ "-1 is the last item when it is "
	  "removed", "[{\"op\":\"remove\",\"path\":\"/arrs/-1\"}]", "\"arrs\":[\"a\"]", FL_OK },
	{ "an index beyond the end is "
	  "refused", "[{\"op\":\"add\",\"path\":\"/arrs/5\",\"value\":1}]", NULL, FL_E_INVALID },
	{ "an index that is no number is "
	  "refused", "[{\"op\":\"add\",\"path\":\"/arrs/x\",\"value\":1}]", NULL, FL_E_INVALID },
	{ "an item is removed", "[{\"op\":\"remove\",\"path\":\"/arrs/0\"}]", "\"arrs\":[\"b\"]", FL_OK },
	{ "an item that is not there is not "
	  "removed", "[{\"op\":\"remove\",\"path\":\"/arrs/2\"}]", NULL, FL_E_INVALID },
	{ "a member that is not there is not removed", "[{\"op\":\"remove\",\"path\":\"/z\"}]", NULL, FL_E_INVALID },
	{ "a null is removed", "[{\"op\":\"remove\",\"path\":\"/pres/n\"}]", "\"e\":{}}", FL_OK },
	{ "the whole object is not removed", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL, FL_E_INVALID },
	{ "nor replaced", "[{\"op\":\"add\",\"path\":\"\",\"value\":{}}]", NULL, FL_E_INVALID },
	{ "a path begins with a slash", "[{\"op\":\"remove\",\"path\":\"i\"}]", NULL, FL_E_INVALID },
	{ "~1 is a slash", "[{\"op\":\"replace\",\"path\":\"/pres/a~1b\",\"value\":7}]", "\"a/b\":7", FL_OK },
	{ "~0 is a tilde", "[{\"op\":\"replace\",\"path\":\"/pres/c~0d\",\"value\":7}]", "\"c~d\":7", FL_OK },
	{ "another tilde is one", "[{\"op\":\"add\",\"path\":\"/pres/q~x\",\"value\":7}]", "\"q~x\":7", FL_OK },
	{ "a name may be empty", "[{\"op\":\"add\",\"path\":\"/pres/\",\"value\":7}]", "\"\":7", FL_OK },
	{ "a value that lacks is null", "[{\"op\":\"add\",\"path\":\"/z\"}]", "\"z\":null", FL_OK },
	{ "a member is moved", "[{\"op\":\"move\",\"path\":\"/z\",\"from\":\"/i\"}]", "\"z\":1", FL_OK },
	{ "an item is "
	  "moved", "[{\"op\":\"move\",\"path\":\"/arrs/0\",\"from\":\"/arrs/1\"}]", "[\"b\",\"a\"]", FL_OK },
	{ "what is not there is not "
	  "moved", "[{\"op\":\"move\",\"path\":\"/z\",\"from\":\"/y\"}]", NULL, FL_E_INVALID },
	{ "nothing moves into "
	  "itself", "[{\"op\":\"move\",\"path\":\"/pres/e/f\",\"from\":\"/pres/e\"}]", NULL, FL_E_INVALID },
	{ "a move says from where", "[{\"op\":\"move\",\"path\":\"/z\"}]", NULL, FL_E_INVALID },
	{ "a member is "
	  "copied", "[{\"op\":\"copy\",\"path\":\"/z\",\"from\":\"/arrs\"}]", "\"z\":[\"a\",\"b\"]", FL_OK },
	{ "a value is copied into "
	  "itself", "[{\"op\":\"copy\",\"path\":\"/pres/e/f\",\"from\":\"/pres\"}]", "\"e\":{\"f\":{", FL_OK },
	{ "an item is "
	  "copied", "[{\"op\":\"copy\",\"path\":\"/arrs/-\",\"from\":\"/arrs/0\"}]", "[\"a\",\"b\",\"a\"]", FL_OK },
	{ "of what is not there a null is "
	  "copied", "[{\"op\":\"copy\",\"path\":\"/z\",\"from\":\"/y\"}]", "\"z\":null", FL_OK },
	{ "a test that holds changes "
	  "nothing", "[{\"op\":\"test\",\"path\":\"/arrs\",\"value\":[\"a\",\"b\"]}]", "{\"i\":1", FL_OK },
	{ "another value fails a test", "[{\"op\":\"test\",\"path\":\"/i\",\"value\":2}]", NULL, FL_E_CONFLICT },
	{ "1.0 is not 1", "[{\"op\":\"test\",\"path\":\"/i\",\"value\":1.0}]", NULL, FL_E_CONFLICT },
	{ "what is not there is null to a "
	  "test", "[{\"op\":\"test\",\"path\":\"/z\",\"value\":null}]", "{\"i\":1", FL_OK },
	{ "and nothing else", "[{\"op\":\"test\",\"path\":\"/z\",\"value\":1}]", NULL, FL_E_CONFLICT },
	{ "a test without a value is for null", "[{\"op\":\"test\",\"path\":\"/pres/n\"}]", "{\"i\":1", FL_OK },
	{ "an unknown operation is refused", "[{\"op\":\"frob\",\"path\":\"/i\"}]", NULL, FL_E_INVALID },
	{ "an operation needs a name", "[{\"path\":\"/i\"}]", NULL, FL_E_INVALID },
	{ "an operation needs a path", "[{\"op\":\"add\",\"value\":1}]", NULL, FL_E_INVALID },
	{ "an operation is an object", "[1]", NULL, FL_E_INVALID },
	{ "a patch is a list", "{\"a\":1}", NULL, FL_E_INVALID },
	{ "a patch may be empty", "[]", "{\"i\":1", FL_OK },
	{ "each operation sees what the one before it did",
	  "[{\"op\":\"add\",\"path\":\"/z\",\"value\":{}},{\"op\":\"add\",\"path\":\"/z/y\",\"value\":[]},"
	  "{\"op\":\"add\",\"path\":\"/z/y/0\",\"value\":1}]",
	  "\"z\":{\"y\":[1]}", FL_OK },
};

static const struct row merges[] = {
	{ "a null removes", "{\"i\":null}", "{\"arrs\"", FL_OK },
	{ "a list is replaced whole, its nulls stay", "{\"arrs\":[\"q\",null]}", "[\"q\",null]", FL_OK },
	{ "maps are merged", "{\"pres\":{\"e\":{\"x\":null,\"y\":1}}}", "\"e\":{\"y\":1}", FL_OK },
	{ "members of new maps that are null go, also in lists", "{\"z\":{\"x\":null,\"w\":[{\"r\":null}]}}",
	  "\"z\":{\"w\":[{}]}", FL_OK },
	{ "a map takes the place of a text", "{\"i\":{\"a\":1}}", "\"i\":{\"a\":1}", FL_OK },
	{ "a text takes the place of a map", "{\"pres\":\"x\"}", "\"pres\":\"x\"", FL_OK },
	{ "what is no map takes the place of all", "[1]", "[1]", FL_OK },
};

static void patch(const struct row *row, int (*apply)(yyjson_mut_doc *doc, yyjson_mut_val **object, yyjson_val *patch,
						      struct fl_err *err))
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	FL_AUTO(fl_json_doc) yyjson_doc *in = NULL;
	FL_AUTO(fl_json_doc) yyjson_doc *change = NULL;
	FL_AUTO(fl_json_mut) yyjson_mut_doc *doc = NULL;
	struct fl_jw w = FL_JW(&text);
	yyjson_alc alc = fl_json_alc(NULL);
	struct fl_err err = { 0 };
	yyjson_mut_val *object;

	OK(fl_json_read(NULL, fl_str(before), 0, &in, NULL));
	OK(fl_json_read(NULL, fl_str(row->patch), 0, &change, NULL));
	GOT(doc = yyjson_mut_doc_new(&alc));
	GOT(object = fl_tree_of(doc, in->root, NULL));
	if (row->code) {
		REFUSED(apply(doc, &object, change->root, &err), row->code);
		CHECK(err.text[0]);
		return;
	}
	OK_ERR(apply(doc, &object, change->root, &err), &err);
	fl_jw_mut(&w, object);
	OK(fl_buf_check(&text, "object", NULL));
	if (!strstr(text.p, row->want))
		CHECK_STR(fl_buf_view(&text), row->want);
}

TEST(operations_are_applied)
{
	EACH_ROW_ALONE (row, operations)
		patch(row, fl_tree_patch);
}

TEST(patches_are_merged)
{
	EACH_ROW_ALONE (row, merges)
		patch(row, fl_tree_merge);
}

TEST(copies_of_copies_are_refused)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	struct row row = { "doubling thirty times is refused", NULL, NULL, FL_E_TOOBIG };

	fl_buf_char(&text, '[');
	for (int i = 0; i < 30; i++)
		fl_buf_printf(&text, "%s{\"op\":\"copy\",\"from\":\"/pres\",\"path\":\"/pres/x%d\"}", i ? "," : "", i);
	fl_buf_char(&text, ']');
	OK(fl_buf_check(&text, "patch", NULL));
	row.patch = text.p;
	patch(&row, fl_tree_patch);
}

TEST(too_many_operations_are_refused)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	struct row row = { "10,001 operations are refused", NULL, NULL, FL_E_TOOBIG };

	fl_buf_char(&text, '[');
	for (int i = 0; i < 10001; i++)
		fl_buf_str(&text, i ? FL_S(",{}") : FL_S("{}"));
	fl_buf_char(&text, ']');
	OK(fl_buf_check(&text, "patch", NULL));
	row.patch = text.p;
	patch(&row, fl_tree_patch);
}
