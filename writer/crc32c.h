/* SPDX-License-Identifier: Apache-2.0 */
/* CRC32C (Castagnoli), the checksum of every header and payload in a log. Used on both sides. */
#ifndef TFP_WRITER_CRC32C_H
#define TFP_WRITER_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC32C of `bytes`, continued from `crc` (0 to begin). Reentrant, no tables. */
uint32_t tfp_crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
