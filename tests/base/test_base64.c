#include "base/base64.h"
#include "test.h"

static const struct {
	const char *says;
	struct fl_str bytes;
	const char *std, *std_raw, *url, *url_raw;
} rows[] = {
	{ "nothing", { NULL, 0 }, "", "", "", "" },
	{ "one byte", FL_S_INIT("f"), "Zg==", "Zg", "Zg==", "Zg" },
	{ "two bytes", FL_S_INIT("fo"), "Zm8=", "Zm8", "Zm8=", "Zm8" },
	{ "three bytes", FL_S_INIT("foo"), "Zm9v", "Zm9v", "Zm9v", "Zm9v" },
	{ "four bytes", FL_S_INIT("foob"), "Zm9vYg==", "Zm9vYg", "Zm9vYg==", "Zm9vYg" },
	{ "the two last letters of each alphabet", FL_S_INIT("\xfb\xff\xbf"), "+/+/", "+/+/", "-_-_", "-_-_" },
	{ "NUL bytes", FL_S_INIT("\0\0"), "AAA=", "AAA", "AAA=", "AAA" },
};

static bool both_ways(enum fl_base64 form, struct fl_str bytes, const char *text)
{
	char there[64], back[64];
	struct fl_buf a = FL_BUF_IN(there), b = FL_BUF_IN(back);

	fl_base64_put(&a, form, bytes.p, bytes.len);
	return fl_str_eq(fl_buf_view(&a), fl_str(text)) && fl_base64_get(&b, form, fl_str(text), NULL) == 0 &&
	       fl_str_eq(fl_buf_view(&b), bytes);
}

TEST(each_form_there_and_back)
{
	EACH_ROW (row, rows) {
		CHECK(both_ways(FL_BASE64_STD, row->bytes, row->std));
		CHECK(both_ways(FL_BASE64_STD_RAW, row->bytes, row->std_raw));
		CHECK(both_ways(FL_BASE64_URL, row->bytes, row->url));
		CHECK(both_ways(FL_BASE64_URL_RAW, row->bytes, row->url_raw));
	}
}

TEST(any_bytes_there_and_back)
{
	for (uint32_t len = 0; len < 100; len++) {
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(400), back = FL_BUF(400);
		unsigned char bytes[100];

		for (uint32_t i = 0; i < len; i++)
			bytes[i] = (unsigned char)test_random();
		fl_base64_put(&text, FL_BASE64_URL, bytes, len);
		OK(fl_buf_check(&text, "test", NULL));
		CHECK_INT(text.len, (len + 2) / 3 * 4);
		OK(fl_base64_get(&back, FL_BASE64_URL, fl_buf_view(&text), NULL));
		CHECK(fl_str_eq(fl_buf_view(&back), (struct fl_str){ (char *)bytes, len }));
	}
}

static const struct {
	const char *says;
	enum fl_base64 form;
	struct fl_str text;
	const char *words;
} refusals[] = {
	{ "padding that is missing", FL_BASE64_STD, FL_S_INIT("Zg"), "base64: 2 characters cannot be a padded text" },
	{ "padding that is short", FL_BASE64_STD, FL_S_INIT("Zg="), "base64: 3 characters cannot be a padded text" },
	{ "padding where there is none", FL_BASE64_STD_RAW, FL_S_INIT("Zm8="),
	  "base64: character 4 is none of its alphabet" },
	{ "padding within", FL_BASE64_STD, FL_S_INIT("Zg==Zg=="), "base64: character 3 is none of its alphabet" },
	{ "three of padding", FL_BASE64_STD, FL_S_INIT("Z==="), "base64: character 2 is none of its alphabet" },
	{ "nothing but padding", FL_BASE64_STD, FL_S_INIT("===="), "base64: character 1 is none of its alphabet" },
	{ "one character left", FL_BASE64_URL_RAW, FL_S_INIT("Zm9vY"),
	  "base64: 5 characters cannot be an unpadded text" },
	{ "the other alphabet", FL_BASE64_URL, FL_S_INIT("+/+/"), "base64: character 1 is none of its alphabet" },
	{ "the other alphabet again", FL_BASE64_STD, FL_S_INIT("-_-_"), "base64: character 1 is none of its alphabet" },
	{ "a line end", FL_BASE64_STD_RAW, FL_S_INIT("Zm9v\n"), "base64: 5 characters cannot be an unpadded text" },
	{ "a line end within", FL_BASE64_STD, FL_S_INIT("Zm9\n"), "base64: character 4 is none of its alphabet" },
	{ "a NUL byte", FL_BASE64_STD, FL_S_INIT("Zm\0v"), "base64: character 3 is none of its alphabet" },
	{ "a byte beyond ASCII", FL_BASE64_STD, FL_S_INIT("Zm\xc3v"), "base64: character 3 is none of its alphabet" },
	{ "stray bits after one byte", FL_BASE64_STD, FL_S_INIT("Zh=="), "base64: stray bits in the last character" },
	{ "stray bits after two bytes", FL_BASE64_URL_RAW, FL_S_INIT("Zm9"),
	  "base64: stray bits in the last character" },
};

TEST(what_is_not_exactly_base64_is_refused)
{
	EACH_ROW (row, refusals) {
		char text[32];
		struct fl_buf buf = FL_BUF_IN(text);
		struct fl_err err;

		fl_buf_char(&buf, '!');
		CHECK_INT(fl_base64_get(&buf, row->form, row->text, &err), -FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->words);
		CHECK_STR(fl_buf_view(&buf), "!");
		CHECK(!buf.failed);
	}
}

TEST(a_text_too_long_is_too_big)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(5);

	REFUSED(fl_base64_get(&buf, FL_BASE64_STD, FL_S("Zm9vZm9vZm9v"), NULL), FL_E_TOOBIG);
	fl_buf_clear(&buf);
	fl_base64_put(&buf, FL_BASE64_STD, "123456", 6);
	REFUSED(fl_buf_check(&buf, "test", NULL), FL_E_TOOBIG);
}
