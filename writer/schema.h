/* SPDX-License-Identifier: Apache-2.0 */
/* The schema text that makes a log self-describing: records, fields, losses, as docs/format.md tells. */
#ifndef TFP_WRITER_SCHEMA_H
#define TFP_WRITER_SCHEMA_H

#include "writer/loss.h"

#include <stddef.h>

/* Appends `text` to what is being written at `at`, not beyond `end`; returns the new end. */
char *tfp_schema_add(char *at, const char *end, const char *text);
char *tfp_schema_add_number(char *at, const char *end, unsigned number);

/* Writes the schema block of a new log; `more` are lines of tables that lie above this folder. 0 or a loss kind. Start-up only. */
enum tfp_loss tfp_schema_store(const char *more);

/* Writes the text of the writer's tables to [at, end); returns its end. About 12 KiB. Start-up only. */
char *tfp_schema_write(char *at, const char *end);

#endif
