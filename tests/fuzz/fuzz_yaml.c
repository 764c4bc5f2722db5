/* YAML that is read gives JSON that is read; JSON printed as YAML reads as the same. As in Go, a zero loses its sign
 * when it is printed and read, so what is compared has been through the writer of JSON once. */
#include "base/units.h"
#include "fuzz.h"
#include "json/write.h"
#include "json/yaml.h"
#include <stdlib.h>

static void must(bool so)
{
	if (!so)
		abort();
}

static void print_and_read_back(struct fl_str json)
{
	FL_AUTO(fl_json_doc) yyjson_doc *given = NULL, *doc = NULL, *back = NULL;
	FL_AUTO(fl_buf) struct fl_buf printed = FL_BUF(16 * FL_MIB);
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(16 * FL_MIB);
	FL_AUTO(fl_buf) struct fl_buf one = FL_BUF(16 * FL_MIB), other = FL_BUF(16 * FL_MIB);
	struct fl_jw w0 = FL_JW(&printed), w = FL_JW(&one), w2 = FL_JW(&other);
	struct fl_err err = { 0 };

	must(fl_json_read(NULL, json, FL_JSON_STRICT, &given, NULL) == 0);
	fl_jw_val(&w0, given->root);
	must(fl_json_read(NULL, fl_buf_view(&printed), FL_JSON_STRICT, &doc, NULL) == 0);
	must(fl_yaml_put(&text, doc->root, 0, NULL) == 0);
	if (fl_yaml_read(NULL, fl_buf_view(&text), &back, &err) < 0) {
		/* A long text, or one of odd characters, may say what no reader of YAML takes back: a name of over
		 * 1,024 characters, for one. It must be told, not taken for something else. */
		must(err.code == FL_E_INVALID);
		return;
	}
	fl_jw_val(&w, doc->root);
	fl_jw_val(&w2, back->root);
	must(fl_str_eq(fl_buf_view(&one), fl_buf_view(&other)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(16 * FL_MIB);
	FL_AUTO(fl_yaml) struct fl_yaml *yaml = NULL;
	struct fl_err err = { 0 };
	int r;

	must(fl_yaml_open((struct fl_str){ (const char *)data, (uint32_t)size }, &yaml, &err) == 0);
	while ((r = fl_yaml_next(yaml, &json, &err)) > 0) {
		print_and_read_back(fl_buf_view(&json));
		fl_buf_clear(&json);
	}
	must(r == 0 || err.code == FL_E_INVALID || err.code == FL_E_TOOBIG);
	must(json.len == 0);
	return 0;
}
