#include "base/crc32c.h"
#include "test.h"

static const struct {
	const char *says;
	struct fl_str bytes;
	uint32_t want;
} rows[] = {
	{ "nothing", { NULL, 0 }, 0 },
	{ "the check value of the standard", FL_S_INIT("123456789"), 0xe3069283 },
	{ "a single byte", FL_S_INIT("a"), 0xc1d04330 },
	{ "32 zeros, as RFC 3720 has it",
	  FL_S_INIT("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), 0x8a9136aa },
	{ "32 ones, as RFC 3720 has it",
	  FL_S_INIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 0x62a8ab43 },
};

TEST(known_sums)
{
	EACH_ROW (row, rows) {
		CHECK_INT(fl_crc32c(0, row->bytes.p, row->bytes.len), row->want);
		CHECK_INT(fl_crc32c_tables(0, row->bytes.p, row->bytes.len), row->want);
	}
}

/* Bit by bit, from the definition. */
static uint32_t naive(const unsigned char *p, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

TEST(instruction_tables_and_definition_agree_at_every_length_and_place)
{
	unsigned char bytes[96];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)test_random();
	for (size_t from = 0; from < 9; from++)
		for (size_t len = 0; from + len <= sizeof bytes; len++) {
			uint32_t want = naive(bytes + from, len);

			CHECK_INT(fl_crc32c(0, bytes + from, len), want);
			CHECK_INT(fl_crc32c_tables(0, bytes + from, len), want);
		}
}

TEST(a_sum_goes_on_where_the_last_piece_ended)
{
	static const char text[] = "start, request with deadline, abandon, replace";
	uint32_t whole = fl_crc32c(0, text, sizeof text);

	for (size_t cut = 0; cut <= sizeof text; cut++) {
		CHECK_INT(fl_crc32c(fl_crc32c(0, text, cut), text + cut, sizeof text - cut), whole);
		CHECK_INT(fl_crc32c_tables(fl_crc32c_tables(0, text, cut), text + cut, sizeof text - cut), whole);
	}
}
