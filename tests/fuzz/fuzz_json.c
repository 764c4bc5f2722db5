/* JSON that is read can be written, what is written reads the same, strict refuses no more than repeated names, and the
 * path of each value can be told. */
#include "base/units.h"
#include "fuzz.h"
#include "json/write.h"
#include <stdlib.h>

static void must(bool so)
{
	if (!so)
		abort();
}

static void write_and_read_back(yyjson_doc *doc, struct fl_json_space *space)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(16 * FL_MIB);
	struct fl_jw w = FL_JW(&buf);
	yyjson_doc *back = NULL;
	char path[64];

	fl_jw_val(&w, doc->root);
	must(!buf.failed);
	must(fl_json_read(space, fl_buf_view(&buf), 0, &back, NULL) == 0);
	must(back->val_read == doc->val_read);
	for (size_t i = 0; i < doc->val_read; i += 1 + doc->val_read / 8)
		fl_json_path(doc, doc->root + i, path, sizeof path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	struct fl_str text = { (const char *)data, (uint32_t)size };
	yyjson_doc *doc = NULL, *strict = NULL;
	struct fl_err err = { 0 };
	int r;

	if (fl_json_read(&space, text, 0, &doc, &err) < 0) {
		must(err.code == FL_E_INVALID || err.code == FL_E_TOOBIG);
		return 0;
	}
	write_and_read_back(doc, &space);
	r = fl_json_read(&space, text, FL_JSON_STRICT, &strict, &err);
	must(r == 0 || err.code == FL_E_INVALID);
	must((r == 0) == (fl_json_no_repeats(doc, NULL) == 0));
	return 0;
}
