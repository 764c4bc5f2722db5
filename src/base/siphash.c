#include "base/hmap.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read in the machine's order");

static inline uint64_t rotl(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
}

uint64_t fl_siphash13(const uint64_t seed[2], const void *bytes, size_t len)
{
	uint64_t v[4] = { seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du, seed[0] ^ 0x6c7967656e657261u,
			  seed[1] ^ 0x7465646279746573u };
	const unsigned char *p = bytes;
	uint64_t word;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, p + i, 8);
		sip_word(v, word);
	}
	word = 0;
	if (i == len || len < 8) {
		for (size_t k = 0; i + k < len; k++)
			word |= (uint64_t)p[i + k] << (8 * k);
	} else {   /* the last bytes, with some before them that are pushed out again */
		memcpy(&word, p + len - 8, 8);
		word >>= 8 * (i + 8 - len);
	}
	word |= (uint64_t)len << 56;
	sip_word(v, word);
	v[2] ^= 0xff;
	for (int k = 0; k < 3; k++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
