#include "json/split.h"
#include "base/units.h"
#include "test.h"

static const struct {
	const char *says;
	enum fl_split_kind kind;
	const char *text;
	int items;
	const char *last;       /* the last item */
	enum fl_code code;      /* of next or, when that is content, of end */
} rows[] = {
	{ "a list yields its items", FL_SPLIT_LIST, "{\"items\":[{\"a\":1}, {\"a\":2}\n]}", 2, "{\"a\":2}", FL_OK },
	{ "an empty list has none", FL_SPLIT_LIST, "{\"items\":[ ]}", 0, NULL, FL_OK },
	{ "null items are none", FL_SPLIT_LIST, "{\"items\":null}", 0, NULL, FL_OK },
	{ "a reply that is no list has no items", FL_SPLIT_LIST, "{\"kind\":\"Status\",\"code\":404}", 0, NULL, FL_OK },
	{ "blanks may stand everywhere", FL_SPLIT_LIST, " { \"items\" : [ { } , { \"b\" : [ 1 ] } ] } \n", 2,
	  "{ \"b\" : [ 1 ] }", FL_OK },
	{ "metadata may come behind the items", FL_SPLIT_LIST, "{\"items\":[{}],\"metadata\":{\"x\":[{}]}}", 1, "{}",
	  FL_OK },
	{ "items deeper down are not the list's", FL_SPLIT_LIST, "{\"m\":{\"items\":[{},{}]},\"items\":[{\"z\":0}]}", 1,
	  "{\"z\":0}", FL_OK },
	{ "a text that ends in items is not the list's", FL_SPLIT_LIST, "{\"a\\\"items\":[{}]}", 0, NULL, FL_OK },
	{ "a longer name is not the list's", FL_SPLIT_LIST, "{\"myitems\":[{}]}", 0, NULL, FL_OK },
	{ "brackets and quotes in a text are text", FL_SPLIT_LIST, "{\"items\":[{\"a\":\"}]\\\"}{\\\\\"}]}", 1,
	  "{\"a\":\"}]\\\"}{\\\\\"}", FL_OK },
	{ "a stream is objects one after another", FL_SPLIT_STREAM, "{\"a\":1}{\"b\":2}\n\n{\"c\":3}\n", 3, "{\"c\":3}",
	  FL_OK },
	{ "an empty stream has ended well", FL_SPLIT_STREAM, " \n", 0, NULL, FL_OK },
	{ "a list that stops in an item is cut off", FL_SPLIT_LIST, "{\"items\":[{\"a\":1}, {\"a\"", 1, "{\"a\":1}",
	  FL_E_CLOSED },
	{ "a list that stops behind its items is cut off", FL_SPLIT_LIST, "{\"items\":[]", 0, NULL, FL_E_CLOSED },
	{ "a list that never began is cut off", FL_SPLIT_LIST, "", 0, NULL, FL_E_CLOSED },
	{ "a stream that stops in an object is cut off", FL_SPLIT_STREAM, "{\"a\":\"}", 0, NULL, FL_E_CLOSED },
	{ "an item that is no object is refused", FL_SPLIT_LIST, "{\"items\":[1]}", 0, NULL, FL_E_INVALID },
	{ "a comma too many is refused", FL_SPLIT_LIST, "{\"items\":[{},]}", 1, "{}", FL_E_INVALID },
	{ "a comma too early is refused", FL_SPLIT_LIST, "{\"items\":[,{}]}", 0, NULL, FL_E_INVALID },
	{ "a missing comma is refused", FL_SPLIT_LIST, "{\"items\":[{} {}]}", 1, "{}", FL_E_INVALID },
	{ "a closing brace for the items is refused", FL_SPLIT_LIST, "{\"items\":[{}}", 1, "{}", FL_E_INVALID },
	{ "items twice are refused", FL_SPLIT_LIST, "{\"items\":[{}],\"items\":[{}]}", 1, "{}", FL_E_INVALID },
	{ "more behind a list is refused", FL_SPLIT_LIST, "{\"items\":[]}{", 0, NULL, FL_E_INVALID },
	{ "what is no object is refused", FL_SPLIT_LIST, "[]", 0, NULL, FL_E_INVALID },
	{ "a stream of anything else is refused", FL_SPLIT_STREAM, "{} ,", 1, "{}", FL_E_INVALID },
};

/* Push the text in chunks of `step` bytes; 0 or the code of the first failure. */
static int split_all(struct fl_split *split, struct fl_str text, uint32_t step, int *items, struct fl_buf *last)
{
	struct fl_str item;
	int r;

	*items = 0;
	for (uint32_t at = 0; at < text.len; at += step) {
		fl_split_push(split, fl_str_sub(text, at, step));
		while ((r = fl_split_next(split, &item, NULL)) > 0) {
			(*items)++;
			fl_buf_clear(last);
			fl_buf_str(last, item);
		}
		if (r < 0)
			return r;
	}
	return fl_split_end(split, NULL);
}

TEST(objects_are_cut_in_chunks_of_any_size)
{
	EACH_ROW (row, rows) {
		struct fl_str text = fl_str(row->text);

		for (uint32_t step = 1; step <= text.len + 1; step++) {
			FL_AUTO(fl_split) struct fl_split split = { 0 };
			FL_AUTO(fl_buf) struct fl_buf last = FL_BUF(1 * FL_KIB);
			int items, r;

			fl_split_init(&split, row->kind, 0);
			r = split_all(&split, text, step, &items, &last);
			if (row->code)
				REFUSED(r, row->code);
			else
				OK(r);
			CHECK_INT(items, row->items);
			OK(fl_buf_check(&last, "test", NULL));
			CHECK_STR(fl_buf_view(&last), row->last ? row->last : "");
		}
	}
}

TEST(an_item_in_one_chunk_is_not_copied)
{
	FL_AUTO(fl_split) struct fl_split split = { 0 };
	struct fl_str text = FL_S("{\"items\":[{\"name\":\"x\"}]}"), item;

	fl_split_init(&split, FL_SPLIT_LIST, 0);
	fl_split_push(&split, text);
	OK(fl_split_next(&split, &item, NULL));
	CHECK(item.p == text.p + 10);
	CHECK(split.held.p == NULL);
}

TEST(an_item_over_its_limit_is_refused_and_stays_refused)
{
	static const char text[] = "{\"items\":[{\"name\":\"0123456789\"}]}";
	struct fl_err err;

	for (uint32_t step = 1; step < sizeof text; step++) {
		FL_AUTO(fl_split) struct fl_split split = { 0 };
		FL_AUTO(fl_buf) struct fl_buf last = FL_BUF(1 * FL_KIB);
		struct fl_str item;
		int items;

		fl_split_init(&split, FL_SPLIT_LIST, 20);
		REFUSED(split_all(&split, fl_str(text), step, &items, &last), FL_E_TOOBIG);
		REFUSED(fl_split_next(&split, &item, &err), FL_E_TOOBIG);
		REFUSED(fl_split_end(&split, &err), FL_E_TOOBIG);
	}
}

TEST(what_stands_around_the_items_is_bounded)
{
	FL_AUTO(fl_split) struct fl_split split = { 0 };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(1 * FL_MIB);
	struct fl_str item;
	struct fl_err err;

	fl_buf_str(&text, FL_S("{\"a\":\""));
	for (unsigned i = 0; i < FL_SPLIT_AROUND_MAX; i++)
		fl_buf_char(&text, 'x');
	OK(fl_buf_check(&text, "test", NULL));
	fl_split_init(&split, FL_SPLIT_LIST, 0);
	fl_split_push(&split, fl_buf_view(&text));
	REFUSED(fl_split_next(&split, &item, &err), FL_E_TOOBIG);
}

TEST(a_large_item_leaves_no_large_buffer)
{
	FL_AUTO(fl_split) struct fl_split split = { 0 };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(1 * FL_MIB);
	struct fl_str item;

	fl_buf_str(&text, FL_S("{\"a\":\""));
	for (unsigned i = 0; i < 2 * FL_SPLIT_KEEP; i++)
		fl_buf_char(&text, 'x');
	OK(fl_buf_check(&text, "test", NULL));
	fl_split_init(&split, FL_SPLIT_STREAM, 0);
	fl_split_push(&split, fl_buf_view(&text));
	OK(fl_split_next(&split, &item, NULL));
	fl_split_push(&split, FL_S("\"}"));
	OK(fl_split_next(&split, &item, NULL));
	CHECK_INT(item.len, (int64_t)text.len + 2);
	OK(fl_split_next(&split, &item, NULL));
	CHECK(split.held.cap == 0);
}

static const struct {
	const char *says, *text, *version, *resume, *kind;
	int64_t remaining;
} lists[] = {
	{ "the metadata before the items",
	  "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"abc\","
					   "\"remainingItemCount\":12},\"items\":[{}]}", "7", "abc", "PodList", 12 },
	{ "the metadata behind them",
	  "{\"items\":[{\"kind\":\"X\"}],\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":"
				      "\"8\"}}", "8", "", "PodList", -1 },
	{ "a list that says nothing", "{\"items\":[]}", "", "", "", -1 },
};

TEST(a_list_says_what_it_is)
{
	EACH_ROW (row, lists) {
		FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
		FL_AUTO(fl_split) struct fl_split split = { 0 };
		struct fl_str text = fl_str(row->text), item;
		struct fl_list list;
		struct fl_err err;
		int r;

		fl_split_init(&split, FL_SPLIT_LIST, 0);
		REFUSED(fl_split_list(&split, &space, &list, NULL, &err), FL_E_CLOSED);
		fl_split_push(&split, text);
		while ((r = fl_split_next(&split, &item, &err)) > 0)
			;
		OK_ERR(r, &err);
		OK_ERR(fl_split_list(&split, &space, &list, NULL, &err), &err);
		CHECK_STR(list.resource_version, row->version);
		CHECK_STR(list.resume, row->resume);
		CHECK_STR(list.kind, row->kind);
		CHECK_INT(list.remaining, row->remaining);
	}
}

/* ---- against yyjson, which reads the whole ---- */

static char random_byte(void)
{
	static const char likely[] = "\"\"\\\\{}[],:a \t\x7f\xe2";

	return likely[test_random() % (sizeof likely - 1)];
}

static void put_random(struct fl_buf *buf, int depth)
{
	uint64_t pick = test_random() % (depth > 4 ? 2 : 5), len = test_random() % 5;

	if (pick < 2) {
		char text[90];
		uint32_t n = (uint32_t)(test_random() % (pick ? sizeof text : 4));

		for (uint32_t i = 0; i < n; i++)
			text[i] = random_byte();
		fl_buf_json(buf, (struct fl_str){ text, n });
		return;
	}
	fl_buf_char(buf, pick == 2 ? '[' : '{');
	for (uint64_t i = 0; i < len; i++) {
		if (i)
			fl_buf_char(buf, ',');
		if (pick != 2) {
			put_random(buf, 9);
			fl_buf_char(buf, ':');
		}
		put_random(buf, depth + 1);
	}
	fl_buf_char(buf, pick == 2 ? ']' : '}');
}

/* Cut a list in random chunks and compare each item with what yyjson finds in the whole. */
static void compare(struct fl_str text, yyjson_val *items)
{
	FL_AUTO(fl_split) struct fl_split split = { 0 };
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	yyjson_arr_iter iter = yyjson_arr_iter_with(items);
	struct fl_str item;
	struct fl_err err;
	int r;

	fl_split_init(&split, FL_SPLIT_LIST, 0);
	for (uint32_t at = 0, step; at < text.len; at += step) {
		step = 1 + (uint32_t)(test_random() % 200);
		fl_split_push(&split, fl_str_sub(text, at, step));
		while ((r = fl_split_next(&split, &item, &err)) > 0) {
			yyjson_doc *doc = NULL;

			fl_json_space_reset(&space);
			OK_ERR(fl_json_read(&space, item, 0, &doc, &err), &err);
			CHECK(yyjson_equals(doc->root, yyjson_arr_iter_next(&iter)));
		}
		OK_ERR(r, &err);
	}
	OK_ERR(fl_split_end(&split, &err), &err);
	CHECK(!yyjson_arr_iter_has_next(&iter));
}

TEST(the_items_are_those_that_a_whole_read_finds)
{
	for (int round = 0; round < 60 && !test_failed() && !test_tortured(); round++) {
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(1 * FL_MIB);
		FL_AUTO(fl_json_doc) yyjson_doc *whole = NULL;
		struct fl_err err;

		fl_buf_str(&text, FL_S("{\"items\":["));
		for (int i = (int)(test_random() % 6); i >= 0; i--) {
			fl_buf_str(&text, FL_S("{\"v\":"));
			put_random(&text, 0);
			fl_buf_str(&text, i ? FL_S("},") : FL_S("}"));
		}
		fl_buf_str(&text, FL_S("],\"metadata\":"));
		put_random(&text, 3);
		fl_buf_char(&text, '}');
		OK(fl_buf_check(&text, "test", NULL));
		OK_ERR(fl_json_read(NULL, fl_buf_view(&text), 0, &whole, &err), &err);
		compare(fl_buf_view(&text), yyjson_obj_get(whole->root, "items"));
	}
}
