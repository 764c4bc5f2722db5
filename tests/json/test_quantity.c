#include "json/quantity.h"
#include "vectors.h"

static struct fl_str text_of(struct fl_quantity q, char *text)
{
	return (struct fl_str){ text, fl_quantity_print(q, text) };
}

TEST(quantities_are_read_and_printed_as_kubernetes_does)
{
	char text[FL_QUANTITY_TEXT];
	struct fl_quantity q, back;
	struct fl_err err;
	int64_t number;

	EACH_VECTOR(row, "quantity")
	{
		if (!vector_ok(row, 1)) {
			REFUSED(fl_quantity_parse(row->field[0], &q, &err), FL_E_INVALID);
			continue;
		}
		OK_ERR(fl_quantity_parse(row->field[0], &q, &err), &err);
		if (!fl_str_eq(row->field[2], FL_S("?")))
			CHECK_FIELD(text_of(q, text), row, 2);
		CHECK_FIELD(fl_str(fl_name(&fl_quantity_format_names, q.format)), row, 3);
		if (fl_str_i64(row->field[4], &number))
			CHECK_INT(fl_quantity_value(q), number);
		OK_ERR(fl_quantity_parse(text_of(q, text), &back, &err), &err);
		CHECK_INT(fl_quantity_cmp(q, back), 0);
	}
}

TEST(quantities_are_compared_as_kubernetes_does)
{
	struct fl_quantity a, b;
	int64_t order;

	EACH_VECTOR(row, "quantity_order")
	{
		OK(fl_quantity_parse(row->field[0], &a, NULL));
		OK(fl_quantity_parse(row->field[1], &b, NULL));
		CHECK(fl_str_i64(row->field[2], &order));
		CHECK_INT(fl_quantity_cmp(a, b), order);
		CHECK_INT(fl_quantity_cmp(b, a), -order);
	}
}

static const struct {
	const char *says, *in;
	enum fl_code code;
} refused[] = {
	{ "an empty text is no quantity", "", FL_E_INVALID },
	{ "a suffix that nobody knows is refused", "1x", FL_E_INVALID },
	{ "28 digits are enough for anyone", "12345678901234567890123456789012", FL_E_TOOBIG },
	{ "so are a hundred zeros", "1e120", FL_E_TOOBIG },
	{ "digits that only a binary suffix makes too many", "0.12345678901234567890123456789012345678Ei",
	  FL_E_TOOBIG },
	{ "more digits than 128 bits have", "1234567890123456789012345678901234567890123456789", FL_E_TOOBIG },
	{ "an exponent that is no number", "1e99999999999999999999", FL_E_INVALID },
};

TEST(what_is_no_quantity_is_refused)
{
	struct fl_quantity q = { .low = 7 };
	struct fl_err err;

	EACH_ROW (row, refused) {
		REFUSED(fl_quantity_parse(fl_str(row->in), &q, &err), row->code);
		CHECK_INT((int64_t)q.low, 7);
	}
}

static const struct {
	const char *says, *in, *want;
} unlike_go[] = {
	{ "beyond E the zeros are written out", "1000000E", "1000000E" },
	{ "a written form that is not canonical becomes so", "1.500", "1500m" },
	{ "a sign that says nothing goes", "+5", "5" },
	{ "large exponents stay exponents", "1e99", "1e99" },
};

TEST(where_ours_differs_on_purpose)
{
	char text[FL_QUANTITY_TEXT];
	struct fl_quantity q;

	EACH_ROW (row, unlike_go) {
		OK(fl_quantity_parse(fl_str(row->in), &q, NULL));
		CHECK_STR(text_of(q, text), row->want);
	}
}

TEST(values_that_do_not_fit_stop_at_the_ends)
{
	struct fl_quantity q;

	OK(fl_quantity_parse(FL_S("99E"), &q, NULL));
	CHECK(fl_quantity_value(q) == INT64_MAX);
	OK(fl_quantity_parse(FL_S("-99E"), &q, NULL));
	CHECK(fl_quantity_value(q) == INT64_MIN);
	OK(fl_quantity_parse(FL_S("9223372036854775807"), &q, NULL));
	CHECK(fl_quantity_value(q) == INT64_MAX);
	OK(fl_quantity_parse(FL_S("-1001m"), &q, NULL));
	CHECK_INT(fl_quantity_value(q), -2);
}

TEST(what_does_not_fit_at_the_others_scale_is_larger)
{
	struct fl_quantity huge, tiny;

	OK(fl_quantity_parse(FL_S("1e99"), &huge, NULL));
	OK(fl_quantity_parse(FL_S("1n"), &tiny, NULL));
	CHECK_INT(fl_quantity_cmp(huge, tiny), 1);
	CHECK_INT(fl_quantity_cmp(tiny, huge), -1);
}

static const struct {
	const char *says, *json, *want;
} jsons[] = {
	{ "a text", "\"128Mi\"", "128Mi" },
	{ "a text with blanks around it", "\" 1 \\n\"", "1" },
	{ "an integer", "3", "3" },
	{ "a negative integer", "-3", "-3" },
	{ "the largest integer", "18446744073709551615", "18446744073709551615" },
	{ "a fraction", "0.5", "500m" },
	{ "an exponent", "1e30", "1e30" },
	{ "a list is none", "[1]", NULL },
	{ "null is none", "null", NULL },
};

TEST(quantities_out_of_json)
{
	EACH_ROW (row, jsons) {
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		char text[FL_QUANTITY_TEXT];
		struct fl_quantity q;
		struct fl_err err;

		OK(fl_json_read(NULL, fl_str(row->json), 0, &doc, NULL));
		if (!row->want) {
			REFUSED(fl_quantity_of_json(doc->root, &q, &err), FL_E_INVALID);
			continue;
		}
		OK_ERR(fl_quantity_of_json(doc->root, &q, &err), &err);
		CHECK_STR(text_of(q, text), row->want);
	}
}
