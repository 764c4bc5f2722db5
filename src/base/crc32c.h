/* crc32c.h - the checksum of our files: CRC-32C (Castagnoli), as in iSCSI and ext4.
 *
 * Start with 0; the result of one piece is the start of the next: crc(ab) = crc(crc(0, a), b). By the processor's own
 * instruction where it has one (SSE4.2, asked at run time), else by tables; both give the same.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint32_t fl_crc32c(uint32_t crc, const void *bytes, size_t len);

/* The same by tables, so that the tests cover both ways on every machine. */
uint32_t fl_crc32c_tables(uint32_t crc, const void *bytes, size_t len);
