/* bytes.h - numbers as bytes, the lowest first: what our files and frames use. */
#pragma once
#include <stdint.h>

static inline void fl_bytes_put(uint8_t *p, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t fl_bytes_get(const uint8_t *p, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)p[i] << 8 * i;
	return value;
}
