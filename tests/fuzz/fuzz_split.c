/* A list or stream, cut at places that the input chooses: the objects are the same as in one piece, and when the whole
 * is JSON, they are those that yyjson finds in it. The first byte says how it is cut. */
#include "base/units.h"
#include "fuzz.h"
#include "json/split.h"
#include "json/write.h"
#include <stdlib.h>

static void must(bool so)
{
	if (!so)
		abort();
}

/* All objects, each with a line end behind it; the code of what ended it. */
static int split_all(enum fl_split_kind kind, struct fl_str text, uint32_t seed, struct fl_buf *all)
{
	FL_AUTO(fl_split) struct fl_split split = { 0 };
	struct fl_str item;
	int r = 0;

	fl_split_init(&split, kind, 0);
	for (uint32_t at = 0, step; at < text.len && r == 0; at += step) {
		step = seed ? 1 + (seed = seed * 1103515245 + 12345) / 65536 % 97 : text.len;
		fl_split_push(&split, fl_str_sub(text, at, step));
		while ((r = fl_split_next(&split, &item, NULL)) > 0) {
			must(item.len >= 2 && item.p[0] == '{');
			fl_buf_str(all, item);
			fl_buf_char(all, '\n');
		}
	}
	return r < 0 ? r : fl_split_end(&split, NULL);
}

/* What the splitter took: each object is JSON, and equal to its fellow in the whole. */
static void compare(yyjson_val *list, struct fl_str all)
{
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	yyjson_arr_iter iter = yyjson_arr_iter_with(list);
	yyjson_doc *doc = NULL;
	struct fl_str line;
	struct fl_buf one = FL_BUF(16 * FL_MIB), other = FL_BUF(16 * FL_MIB);

	FL_AUTO(fl_split) struct fl_split split = { 0 };
	fl_split_init(&split, FL_SPLIT_STREAM, 0);
	fl_split_push(&split, all);
	while (fl_split_next(&split, &line, NULL) > 0) {
		struct fl_jw w = FL_JW(&one), w2 = FL_JW(&other);

		fl_json_space_reset(&space);
		must(fl_json_read(&space, line, 0, &doc, NULL) == 0);
		fl_buf_clear(&one);
		fl_buf_clear(&other);
		fl_jw_val(&w, doc->root);
		fl_jw_val(&w2, yyjson_arr_iter_next(&iter));
		must(fl_str_eq(fl_buf_view(&one), fl_buf_view(&other)));
	}
	must(!yyjson_arr_iter_has_next(&iter));
	fl_buf_free(&one);
	fl_buf_free(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_buf) struct fl_buf whole = FL_BUF(16 * FL_MIB), cut = FL_BUF(16 * FL_MIB);
	struct fl_str text = { (const char *)data + 1, (uint32_t)size - 1 };
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	enum fl_split_kind kind;
	yyjson_val *items;
	int r;

	if (size < 1)
		return 0;
	kind = data[0] & 1 ? FL_SPLIT_STREAM : FL_SPLIT_LIST;
	r = split_all(kind, text, 0, &whole);
	must(split_all(kind, text, data[0] | 0x100u, &cut) == r);
	must(fl_str_eq(fl_buf_view(&whole), fl_buf_view(&cut)));
	if (kind == FL_SPLIT_STREAM || fl_json_read(NULL, text, FL_JSON_STRICT, &doc, NULL) < 0)
		return 0;
	items = fl_json_get(doc->root, FL_S("items"));
	if (r == 0 && yyjson_is_arr(items) && whole.len)
		compare(items, fl_buf_view(&whole));
	return 0;
}
