/* SPDX-License-Identifier: Apache-2.0 */
/* CRC32C by the processor's instruction where it has one, else by nibble. Rule: the answer never depends on which. */
#include "writer/crc32c.h"

#include "writer/poison.h"

/* One nibble at a time: CRC32C of 0..15, polynomial 0x82f63b78 (reflected). */
static const uint32_t nibble_table[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

static uint32_t crc_by_nibble(uint32_t crc, const unsigned char *data, size_t bytes)
{
	while (bytes--) {
		crc ^= *data++;
		crc = crc >> 4 ^ nibble_table[crc & 15];
		crc = crc >> 4 ^ nibble_table[crc & 15];
	}
	return crc;
}

#if defined __x86_64__
/* cpuid traps in a virtual machine (1 us and more), so the answer is kept: 0 = not asked, 1 = no, 2 = yes. A race asks twice. */
static _Atomic int instruction_known;

static int has_instruction(void)
{
	if (instruction_known)
		return instruction_known == 2;

	uint32_t a = 1, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	instruction_known = c >> 20 & 1 ? 2 : 1; /* SSE4.2 */
	return instruction_known == 2;
}

__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc, const unsigned char *data, size_t bytes)
{
	uint64_t wide = crc;

	for (; bytes >= 8; bytes -= 8, data += 8) {
		uint64_t word;

		__builtin_memcpy(&word, data, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	while (bytes--)
		crc = __builtin_ia32_crc32qi(crc, *data++);
	return crc;
}
#endif

uint32_t tfp_crc32c(uint32_t crc, const void *data, size_t bytes)
{
#if defined __x86_64__
	if (has_instruction())
		return ~crc_by_instruction(~crc, data, bytes);
#endif
	return ~crc_by_nibble(~crc, data, bytes);
}
