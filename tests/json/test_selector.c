/* Label selectors, as texts and in objects, and node affinity: what the Go of Kubernetes says of the same ones. */
#include "api/selector.h"
#include "json/bind_walk.h"
#include "json/json.h"
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

/* Bind JSON; null: no object, *ret NULL. */
static int read_bound(const struct fl_bind *bind, struct fl_arena *arena, struct fl_str json, void *object,
		      const void **ret)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	int r = fl_json_read(NULL, json, 0, &doc, NULL);

	*ret = r == 0 && !yyjson_is_null(doc->root) ? object : NULL;
	return *ret ? fl_decode(bind, doc->root, arena, 0, object, NULL) : r;
}

TEST(label_selectors_are_those_of_kubernetes)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_label_selector room;
	const void *bound = NULL;
	struct sets sets = { 0 };

	EACH_VECTOR(row, "labels")
	{
		bool is_text = fl_str_eq(row->field[0], FL_S("text"));
		struct fl_selector selector = { 0 };
		char matches[16];
		int r;

		if (is_set(row, &sets))
			continue;
		fl_arena_reset(&arena);
		if (is_text) {
			r = fl_selector_parse(&arena, row->field[1], &selector, NULL);
		} else {
			OK(read_bound(fl_label_selector_bind(), &arena, row->field[1], &room, &bound));
			r = fl_label_selector_check(bound, NULL);
		}
		if (!vector_ok(row, 2))
			REFUSED(r, FL_E_INVALID);
		else
			OK(r);
		for (uint32_t i = 0; i < sets.len; i++)
			matches[i] = (is_text ? fl_selector_match(&selector, sets.map[i]) :
						fl_label_selector_match(bound, sets.map[i])) ? '1' : '0';
		if (vector_ok(row, 2))
			CHECK_FIELD(((struct fl_str){ matches, sets.len }), row, 3);
		else
			CHECK(is_text || !memchr(matches, '1', sets.len));
	}
}

TEST(node_affinity_is_that_of_the_scheduler)
{
	static const char *const names[] = { "n1", "n2" };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_node_selector room;
	const void *bound = NULL;
	struct sets sets = { 0 };

	EACH_VECTOR(row, "nodes")
	{
		char matches[32];
		uint32_t len = 0;

		if (is_set(row, &sets))
			continue;
		fl_arena_reset(&arena);
		OK(read_bound(fl_node_selector_bind(), &arena, row->field[1], &room, &bound));
		CHECK_INT(fl_node_selector_check(bound, NULL), vector_ok(row, 2) ? 0 : -FL_E_INVALID);
		for (uint32_t n = 0; n < FL_LEN(names); n++)
			for (uint32_t i = 0; i < sets.len; i++)
				matches[len++] =
					fl_node_selector_match(bound, fl_str(names[n]), sets.map[i]) ? '1' : '0';
		CHECK_FIELD(((struct fl_str){ matches, len }), row, 3);
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
	{ "a number that is none", "a>x", "selector for 'a': Gt needs an integer, not 'x'" },
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
	struct fl_selector selector;
	struct fl_err err;

	memset(text, ' ', sizeof text);
	REFUSED(fl_selector_parse(&arena, (struct fl_str){ text, sizeof text }, &selector, &err), FL_E_TOOBIG);
	memset(text, 0, sizeof text);
	REFUSED(fl_selector_parse(&arena, (struct fl_str){ text, 1 }, &selector, &err), FL_E_INVALID);
}

static const struct {
	const char *says, *json, *text;
} bounds[] = {
	{ "an operator that is none never stands for the first one",
	  "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Is\",\"values\":[\"b\"]}]}",
	  "selector for 'a': its operator is missing or unknown" },
	{ "values that could not be bound are none",
	  "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[1]}]}",
	  "selector for 'a': NotIn needs at least one value" },
	{ "a value has its bounds", "{\"matchLabels\":{\"a\":\"/\"}}",
	  "selector for 'a': label value '/': write empty, or up to 63 of A-Z a-z 0-9 - _ and ., with a letter or "
	  "digit at both ends, for example my_value" },
};

TEST(a_refused_label_selector_says_why_and_matches_nothing)
{
	static struct fl_pair label = { FL_S_INIT("a"), FL_S_INIT("b") };

	EACH_ROW (row, bounds) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_label_selector room;
		const void *selector;
		struct fl_err err;

		OK(read_bound(fl_label_selector_bind(), &arena, fl_str(row->json), &room, &selector));
		REFUSED(fl_label_selector_check(selector, &err), FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->text);
		CHECK(!fl_label_selector_match(selector, (struct fl_map){ &label, 1 }));
		CHECK(!fl_label_selector_match(selector, (struct fl_map){ 0 }));
	}
}

TEST(a_refused_field_says_why)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_node_selector room;
	const void *selector;
	struct fl_err err;

	OK(read_bound(fl_node_selector_bind(), &arena,
		      FL_S("{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","
			   "\"operator\":\"Gt\"}]}]}"),
		      &room, &selector));
	REFUSED(fl_node_selector_check(selector, &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "selector for field 'metadata.name': write In or NotIn with one value");
}
