#include "base/sha256.h"

#define BLOCK 64

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned bits)
{
	return x >> bits | x << (32 - bits);
}

static uint32_t word_at(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_word(unsigned char *p, uint32_t word)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (unsigned char)(word >> (24 - 8 * i));
}

static void add_block(uint32_t sum[8], const unsigned char block[BLOCK])
{
	uint32_t w[64], v[8];

	for (unsigned i = 0; i < 16; i++)
		w[i] = word_at(block + 4 * (size_t)i);
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7];
		w[i] += (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
	}
	memcpy(v, sum, sizeof v);
	for (unsigned i = 0; i < 64; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t mixed = (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & v[5]) ^ (~e & v[6]));
		uint32_t one = v[7] + mixed + k[i] + w[i];
		uint32_t two = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof v[0]);
		v[4] += one;
		v[0] = one + two;
	}
	for (unsigned i = 0; i < 8; i++)
		sum[i] += v[i];
}

void fl_sha256(struct fl_str text, unsigned char ret[FL_SHA256])
{
	uint32_t sum[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
			0x5be0cd19 };
	unsigned char end[2 * BLOCK] = { 0 };
	uint32_t whole = text.len / BLOCK * BLOCK, rest = text.len - whole;
	uint32_t room = rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK;

	for (uint32_t i = 0; i < whole; i += BLOCK)
		add_block(sum, (const unsigned char *)text.p + i);
	if (rest)
		memcpy(end, text.p + whole, rest);
	end[rest] = 0x80;
	put_word(end + room - 8, text.len >> 29);
	put_word(end + room - 4, text.len << 3);
	for (uint32_t i = 0; i < room; i += BLOCK)
		add_block(sum, end + i);
	for (unsigned i = 0; i < 8; i++)
		put_word(ret + 4 * (size_t)i, sum[i]);
}
