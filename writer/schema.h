/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema text that makes a log self-describing: records, fields, losses and hooks, as docs/format.md tells. It is the same in
 * every log, so it is put together and compressed when the library is built (scripts/schema_block.c).
 */
#ifndef TFP_WRITER_SCHEMA_H
#define TFP_WRITER_SCHEMA_H

#include "writer/loss.h"

#include <stdint.h>

extern const uint32_t tfp_schema_raw_bytes __attribute__((visibility("hidden"))); /* of the text */
extern const uint32_t tfp_schema_bytes __attribute__((visibility("hidden")));     /* of the LZ4 block */
extern const uint8_t tfp_schema_packed[] __attribute__((visibility("hidden")));

/* Writes the schema block of a new log. 0 or a loss kind. Start-up only. */
enum tfp_loss tfp_schema_store(void);

#endif
