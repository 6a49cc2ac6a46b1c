/* SPDX-License-Identifier: Apache-2.0 */
/* CRC32C (Castagnoli), as in iSCSI and ext4: reflected polynomial 0x82f63b78, start and end inverted. */
#ifndef REDUCER_READ_CRC32C_H
#define REDUCER_READ_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Checksum of the bytes; the processor's instruction where it has one, else tables. */
uint32_t crc32c(const void *bytes, size_t count);

/* The same by tables alone; for tests. */
uint32_t crc32c_portable(const void *bytes, size_t count);

#endif
