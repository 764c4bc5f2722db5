#include "http/query.h"
#include "test.h"

static const struct {
	const char *says, *query, *name;
	int found;
	const char *value;
} rows[] = {
	{ "a value", "kind=Pod&name=a", "name", 1, "a" },
	{ "the first one", "kind=Pod&name=a", "kind", 1, "Pod" },
	{ "of two the first", "a=1&a=2", "a", 1, "1" },
	{ "one that is not there", "kind=Pod", "name", 0, "" },
	{ "no query at all", "", "name", 0, "" },
	{ "a name without a value is an empty one", "json&a=1", "json", 1, "" },
	{ "so is one that ends there", "json=", "json", 1, "" },
	{ "a name that begins the same is another", "names=a", "name", 0, "" },
	{ "a value with an equals sign", "a=b=c", "a", 1, "b=c" },
	{ "what is encoded", "a=x%2Fy%20z%C3%a4", "a", 1, "x/y z\xc3\xa4" },
	{ "a plus is a blank", "a=x+y%2B", "a", 1, "x y+" },
	{ "a percent sign alone", "a=%", "a", -FL_E_INVALID, "" },
	{ "one with a single digit", "a=%4", "a", -FL_E_INVALID, "" },
	{ "one with no hex digits", "a=%zz", "a", -FL_E_INVALID, "" },
	{ "bytes that are no text", "a=%ff", "a", -FL_E_INVALID, "" },
	{ "a NUL", "a=x%00y", "a", -FL_E_INVALID, "" },
	{ "longer than the buffer", "a=0123456789abcdef0123456789abcdef", "a", -FL_E_TOOBIG, "" },
};

TEST(queries_are_read)
{
	EACH_ROW (row, rows) {
		char room[32];
		struct fl_buf out = FL_BUF_IN(room);
		struct fl_err err = { 0 };
		int r = fl_query_get(fl_str(row->query), row->name, &out, &err);

		CHECK_INT(r, row->found);
		if (r == 1)
			CHECK_STR(fl_buf_view(&out), row->value);
		CHECK(r >= 0 || err.text[0]);
	}
}

TEST(what_is_put_comes_back)
{
	static const char *const values[] = { "Pod", "", "a b", "x/y?z=1&2%", "\xc3\xa4+" };

	for (size_t i = 0; i < FL_LEN(values); i++) {
		FL_AUTO(fl_buf) struct fl_buf url = FL_BUF(1024), back = FL_BUF(1024);
		int64_t at;

		fl_buf_str(&url, FL_S("/explain"));
		fl_query_put(&url, "first", FL_S("1"));
		fl_query_put(&url, "v", fl_str(values[i]));
		OK(fl_buf_check(&url, "url", NULL));
		CHECK(fl_str_starts(fl_buf_view(&url), FL_S("/explain?first=1&v=")));
		at = fl_str_find(fl_buf_view(&url), '?');
		OK(fl_query_get(fl_str_sub(fl_buf_view(&url), (uint32_t)at + 1, UINT32_MAX), "v", &back, NULL));
		CHECK_STR(fl_buf_view(&back), values[i]);
	}
}
