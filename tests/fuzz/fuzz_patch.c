/* A document and a patch, with a NUL byte between them: either kind of patch is applied or refused, and the difference
 * between the two, applied, leaves none. */
#include "base/units.h"
#include "fuzz.h"
#include "patch.h"
#include <stdlib.h>

static void must(bool so)
{
	if (!so)
		abort();
}

static void difference(struct fl_json_space *space, yyjson_val *before, yyjson_val *after)
{
	FL_AUTO(fl_buf) struct fl_buf patch = FL_BUF(4 * FL_MIB), text = FL_BUF(4 * FL_MIB), rest = FL_BUF(4 * FL_MIB);
	struct fl_jw w = FL_JW(&patch), w2 = FL_JW(&text), w3 = FL_JW(&rest);
	yyjson_doc *doc = NULL, *result = NULL;
	yyjson_mut_doc *patched = NULL;

	(void)fl_patch_diff(&w, before, after);
	must(fl_json_read(space, fl_buf_view(&patch), FL_JSON_STRICT, &doc, NULL) == 0);
	must(fl_patch_merge(space, before, doc->root, &patched, NULL) == 0);
	fl_jw_mut(&w2, patched->root);
	must(fl_json_read(space, fl_buf_view(&text), FL_JSON_STRICT, &result, NULL) == 0);
	must(!fl_patch_diff(&w3, result->root, after));
	must(fl_str_eq(fl_buf_view(&rest), FL_S("{}")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	FL_AUTO(fl_buf) struct fl_buf once = FL_BUF(4 * FL_MIB);
	struct fl_jw w = FL_JW(&once);
	struct fl_str first, rest = { (const char *)data, (uint32_t)size };
	yyjson_doc *doc = NULL, *patch = NULL;
	yyjson_mut_doc *result = NULL;
	struct fl_err err = { 0 };

	if (!size || !fl_str_split(&rest, 0, &first) || fl_json_read(&space, first, FL_JSON_STRICT, &doc, NULL) < 0 ||
	    fl_json_read(&space, rest, FL_JSON_STRICT, &patch, NULL) < 0)
		return 0;
	/* Printed once, 1.0 is the integer 1; so is what is compared with it. */
	fl_jw_val(&w, patch->root);
	must(fl_json_read(&space, fl_buf_view(&once), FL_JSON_STRICT, &patch, NULL) == 0);
	if (fl_patch_json(&space, doc->root, patch->root, &result, &err) < 0)
		must(err.code == FL_E_INVALID || err.code == FL_E_TOOBIG || err.code == FL_E_CONFLICT);
	must(fl_patch_merge(&space, doc->root, patch->root, &result, NULL) == 0);
	if (yyjson_is_obj(doc->root) && yyjson_is_obj(patch->root))
		difference(&space, doc->root, patch->root);
	return 0;
}
