#include "json/selector.h"
#include "base/limits.h"
#include "json/name.h"
#include "vectors.h"

/* The label sets that the rows of a vector file are tried on: its first rows. */
struct sets {
	struct fl_pair pair[16][6];
	struct fl_map map[16];
	uint32_t len;
};

static bool is_set(const struct vector_row *row, struct sets *sets)
{
	struct fl_map *map = &sets->map[sets->len];

	if (!fl_str_eq(row->field[0], FL_S("set")))
		return false;
	*map = (struct fl_map){ sets->pair[sets->len], 0 };
	for (uint32_t i = 1; i + 1 < row->len; i += 2)
		map->at[map->len++] = (struct fl_pair){ row->field[i], row->field[i + 1] };
	sets->len++;
	return true;
}

static int read_selector(struct fl_arena *arena, const struct vector_row *row, struct fl_json_space *space,
			 struct fl_selector *ret, struct fl_err *err)
{
	yyjson_doc *doc = NULL;
	int r;

	if (fl_str_eq(row->field[0], FL_S("text")))
		return fl_selector_parse(arena, row->field[1], ret, err);
	r = fl_json_read(space, row->field[1], 0, &doc, err);
	return r < 0 ? r : fl_selector_of_json(arena, doc->root, ret, err);
}

TEST(label_selectors_are_those_of_kubernetes)
{
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
	struct sets sets = { 0 };
	struct fl_err err;

	EACH_VECTOR(row, "labels")
	{
		struct fl_selector selector;
		char matches[16];

		if (is_set(row, &sets))
			continue;
		fl_json_space_reset(&space);
		fl_arena_reset(&arena);
		fl_buf_clear(&buf);
		if (!vector_ok(row, 2)) {
			REFUSED(read_selector(&arena, row, &space, &selector, &err), FL_E_INVALID);
			continue;
		}
		OK_ERR(read_selector(&arena, row, &space, &selector, &err), &err);
		fl_selector_print(&buf, &selector);
		OK(fl_buf_check(&buf, "test", NULL));
		CHECK_FIELD(fl_buf_view(&buf), row, 3);
		for (uint32_t i = 0; i < sets.len; i++)
			matches[i] = fl_selector_match(&selector, sets.map[i]) ? '1' : '0';
		CHECK_FIELD(((struct fl_str){ matches, sets.len }), row, 4);
	}
}

TEST(field_selectors_are_those_of_kubernetes)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
	struct sets sets = { 0 };
	struct fl_err err;

	EACH_VECTOR(row, "fields")
	{
		struct fl_field_selector selector;
		char matches[16];

		if (is_set(row, &sets))
			continue;
		fl_arena_reset(&arena);
		fl_buf_clear(&buf);
		if (!vector_ok(row, 2)) {
			REFUSED(fl_field_selector_parse(&arena, row->field[1], &selector, &err), FL_E_INVALID);
			continue;
		}
		OK_ERR(fl_field_selector_parse(&arena, row->field[1], &selector, &err), &err);
		fl_field_selector_print(&buf, &selector);
		OK(fl_buf_check(&buf, "test", NULL));
		CHECK_FIELD(fl_buf_view(&buf), row, 3);
		for (uint32_t i = 0; i < sets.len; i++)
			matches[i] = fl_field_selector_match(&selector, sets.map[i]) ? '1' : '0';
		CHECK_FIELD(((struct fl_str){ matches, sets.len }), row, 4);
	}
}

TEST(names_are_those_of_kubernetes)
{
	EACH_VECTOR(row, "names")
	{
		char verdicts[FL_NAME_RULE_COUNT_];

		for (int rule = 0; rule < FL_NAME_RULE_COUNT_; rule++)
			verdicts[rule] = fl_name_ok((enum fl_name_rule)rule, row->field[0]) ? '1' : '0';
		CHECK_FIELD(((struct fl_str){ verdicts, FL_NAME_RULE_COUNT_ }), row, 1);
	}
}

static const struct {
	const char *says, *in, *text;
} texts[] = {
	{ "an operator that is missing", "a b", "selector 'a b': 'b' stands where one of = == != > < in notin should" },
	{ "a list that does not begin", "a in b", "selector 'a in b': 'b' stands where '(' should" },
	{ "a list that does not end", "a in (b", "selector 'a in (b': it ends where ',' or ')' should stand" },
	{ "a key that is none", "a b=c,", "selector 'a b=c,': 'b' stands where one of = == != > < in notin should" },
	{ "a number that is none", "a>x", "selector for 'a': > needs an integer, not 'x'" },
	{ "a trailing comma", "a,", "selector 'a,': it ends where another requirement should stand" },
};

TEST(a_refused_selector_says_why)
{
	EACH_ROW (row, texts) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_selector selector;
		struct fl_err err;

		REFUSED(fl_selector_parse(&arena, fl_str(row->in), &selector, &err), FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->text);
	}
}

TEST(a_refused_name_says_what_is_allowed)
{
	struct fl_err err;

	OK(fl_name_check(FL_NAME_LABEL, "name", FL_S("a"), &err));
	REFUSED(fl_name_check(FL_NAME_LABEL, "name", FL_S("A"), &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text),
		  "name 'A': write up to 63 of a-z 0-9 and -, with a letter or digit at both ends, for example "
		  "my-name");
}

TEST(a_selector_over_its_limit_is_refused)
{
	static char text[FL_SELECTOR_MAX + 1];
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_field_selector fields;
	struct fl_selector selector;
	struct fl_err err;

	memset(text, ' ', sizeof text);
	REFUSED(fl_selector_parse(&arena, (struct fl_str){ text, sizeof text }, &selector, &err), FL_E_TOOBIG);
	REFUSED(fl_field_selector_parse(&arena, (struct fl_str){ text, sizeof text }, &fields, &err), FL_E_TOOBIG);
	memset(text, 0, sizeof text);
	REFUSED(fl_selector_parse(&arena, (struct fl_str){ text, 1 }, &selector, &err), FL_E_INVALID);
}

static const struct {
	const char *says, *json;
} shapes[] = {
	{ "a selector is an object", "[]" },
	{ "labels are an object", "{\"matchLabels\":[]}" },
	{ "expressions are a list", "{\"matchExpressions\":{}}" },
	{ "a label's value is a text", "{\"matchLabels\":{\"a\":1}}" },
	{ "an expression's values are a list",
	  "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":\"b\"}]}" },
	{ "of texts", "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[1]}]}" },
	{ "an expression is an object", "{\"matchExpressions\":[1]}" },
};

TEST(a_label_selector_of_the_wrong_shape_is_refused)
{
	EACH_ROW (row, shapes) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		struct fl_selector selector;
		struct fl_err err;

		OK(fl_json_read(NULL, fl_str(row->json), 0, &doc, NULL));
		REFUSED(fl_selector_of_json(&arena, doc->root, &selector, &err), FL_E_INVALID);
	}
}
