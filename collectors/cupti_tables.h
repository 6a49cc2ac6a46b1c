/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What device records repeat, written once as facts: kernels with their launch configuration, and queues.
 *
 * Rule: equal content is one id, whatever pointer it came by; the tables lie in pages of their own, are bounded, and are
 * used by one thread at a time. A pointer is trusted only until code is unloaded (tfp_cupti_tables.epoch), and what it
 * points to is read through the kernel, which answers EFAULT where there is nothing any more.
 */
#ifndef TFP_COLLECTORS_CUPTI_TABLES_H
#define TFP_COLLECTORS_CUPTI_TABLES_H

#include "writer/store.h"

#include <stddef.h>
#include <stdint.h>

/* A kernel with one launch configuration, as its record has it. No padding: compared and hashed as words. */
struct tfp_shape_key {
	const char *name; /* mangled */
	uint32_t grid[3], block[3];
	uint32_t registers, static_shared, dynamic_shared, executed_shared, local_bytes;
	uint32_t cluster[3], max_clusters, kind;
	uint64_t local_total;
};

struct tfp_queue_key {
	uint32_t device, context, stream, channel, channel_kind;
};

#define TFP_NAME_MOST 65000u /* bytes of a kernel's name kept; a fact holds 64 KiB */

struct tfp_cupti_tables;

/* Stores a fact: tfp_store_fact, or a test's own. */
typedef int tfp_cupti_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count);

/* In own pages, empty in a fork child. NULL: no memory. */
struct tfp_cupti_tables *tfp_cupti_tables_make(tfp_cupti_fact *fact);
void tfp_cupti_tables_drop(struct tfp_cupti_tables *tables);

/*
 * The id of a shape or a queue; its fact is written when it is new. 0: the table is full. A shape that finds no room
 * falls back to its name alone, so that no kernel loses its name before 200,000 of them are known.
 */
uint32_t tfp_cupti_shape(struct tfp_cupti_tables *tables, const struct tfp_shape_key *key);
uint32_t tfp_cupti_queue(struct tfp_cupti_tables *tables, const struct tfp_queue_key *key);

/* Records so far whose shape or queue found no room, or whose name was longer than is kept or not readable. */
uint64_t tfp_cupti_tables_lost(const struct tfp_cupti_tables *tables);

/* Code was unloaded: names may move. Any thread. */
void tfp_cupti_tables_forget(struct tfp_cupti_tables *tables);

/* Copies a text of at most `room` bytes that may not be there: its length, or -1. */
long tfp_cupti_read_text(const char *text, char *to, size_t room);

#endif
