/* SPDX-License-Identifier: Apache-2.0 */
/* CRC32C. See crc32c.h. The table is made at the first call; the offline side reads logs from one thread. */
#include "reducer/read/crc32c.h"

#include <string.h>

#define CRC32C_POLYNOMIAL UINT32_C(0x82f63b78)

/* Written once, by table_make. */
static uint32_t table[8][256];

static void table_make(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
		table[0][i] = crc;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int slice = 1; slice < 8; slice++)
			table[slice][i] = (table[slice - 1][i] >> 8) ^ table[0][table[slice - 1][i] & 255];
}

uint32_t crc32c_portable(const void *bytes, size_t count)
{
	const uint8_t *at = bytes;
	uint32_t crc = UINT32_MAX;

	if (table[0][1] == 0)
		table_make();
	for (; count >= 8; at += 8, count -= 8) {
		uint64_t word;

		memcpy(&word, at, 8);
		word ^= crc;
		crc = table[7][word & 255] ^ table[6][word >> 8 & 255] ^ table[5][word >> 16 & 255] ^
		      table[4][word >> 24 & 255] ^ table[3][word >> 32 & 255] ^ table[2][word >> 40 & 255] ^
		      table[1][word >> 48 & 255] ^ table[0][word >> 56];
	}
	for (; count > 0; at++, count--)
		crc = (crc >> 8) ^ table[0][(crc ^ *at) & 255];
	return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(const void *bytes, size_t count)
{
	const uint8_t *at = bytes;
	uint64_t crc = UINT32_MAX;

	for (; count >= 8; at += 8, count -= 8) {
		uint64_t word;

		memcpy(&word, at, 8);
		crc = __builtin_ia32_crc32di(crc, word);
	}
	for (; count > 0; at++, count--)
		crc = __builtin_ia32_crc32qi((uint32_t)crc, *at);
	return ~(uint32_t)crc;
}

uint32_t crc32c(const void *bytes, size_t count)
{
	return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(bytes, count) : crc32c_portable(bytes, count);
}
#else
uint32_t crc32c(const void *bytes, size_t count)
{
	return crc32c_portable(bytes, count);
}
#endif
