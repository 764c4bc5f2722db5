#include "base/sha256.h"
#include "test.h"

static const struct {
	const char *says, *text;
	uint32_t times;
	const char *want;
} rows[] = {
	{ "nothing", "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "one block, as the standard's example", "abc", 1,
	  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "two blocks, as the standard's example", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ "a length that ends a block", "a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
	{ "the last one whose length fits beside it", "a", 55,
	  "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
	{ "the first one whose length does not", "a", 56,
	  "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
	{ "many blocks", "a", 1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3" },
};

TEST(known_digests)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_KIB);
		char hex[2 * FL_SHA256 + 1] = "";
		struct fl_buf out = FL_BUF_IN(hex);
		unsigned char digest[FL_SHA256];

		for (uint32_t i = 0; i < row->times; i++)
			fl_buf_str(&text, fl_str(row->text));
		OK(fl_buf_check(&text, "the text", NULL));
		fl_sha256(fl_buf_view(&text), digest);
		for (unsigned i = 0; i < sizeof digest; i++)
			fl_buf_printf(&out, "%02x", digest[i]);
		CHECK_STR(fl_buf_view(&out), row->want);
	}
}
