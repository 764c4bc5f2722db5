#include "base/crc32c.h"
#include <string.h>

/* What a byte does to the checksum is what its two halves do, each looked up: 128 bytes of tables instead of 1,024. */
static const uint32_t low[16] = {
	0x00000000, 0xf26b8303, 0xe13b70f7, 0x1350f3f4, 0xc79a971f, 0x35f1141c, 0x26a1e7e8, 0xd4ca64eb,
	0x8ad958cf, 0x78b2dbcc, 0x6be22838, 0x9989ab3b, 0x4d43cfd0, 0xbf284cd3, 0xac78bf27, 0x5e133c24,
};
static const uint32_t high[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t fl_crc32c_tables(uint32_t crc, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		uint32_t x = crc ^ p[i];

		crc = crc >> 8 ^ low[x & 15] ^ high[x >> 4 & 15];
	}
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t len)
{
	uint64_t sum = ~crc, word;

	for (; len >= sizeof word; p += sizeof word, len -= sizeof word) {
		memcpy(&word, p, sizeof word);
		sum = __builtin_ia32_crc32di(sum, word);
	}
	for (; len; p++, len--)
		sum = __builtin_ia32_crc32qi((uint32_t)sum, *p);
	return ~(uint32_t)sum;
}

uint32_t fl_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	return __builtin_cpu_supports("sse4.2") ? by_instruction(crc, bytes, len) : fl_crc32c_tables(crc, bytes, len);
}
#else
uint32_t fl_crc32c(uint32_t crc, const void *bytes, size_t len)
{
	return fl_crc32c_tables(crc, bytes, len);
}
#endif
