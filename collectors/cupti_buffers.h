/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that CUPTI fills with records: asked for on the host's threads, in the middle of its launches.
 *
 *   FREE --request--> HELD (CUPTI fills it) --complete--> FULL --our thread decodes, zeroes--> FREE
 *
 * Rule: request and complete never block, allocate, or do I/O; all else is done by our thread. When no buffer is free
 * CUPTI gets a small one whose records are counted and thrown away. The pages are empty in a fork child.
 */
#ifndef TFP_COLLECTORS_CUPTI_BUFFERS_H
#define TFP_COLLECTORS_CUPTI_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

/* A buffer that CUPTI gave back. */
struct tfp_cupti_full {
	uint32_t index;
	int is_discarded; /* its records are to be counted, not kept */
	const uint8_t *start;
	size_t valid_bytes;
};

/* Makes the pool, once a process: buffers of `bytes`. 0, or -1: no memory. */
int tfp_cupti_buffers_make(size_t bytes);

/* CUPTI's callbacks. Any thread, also in a fork child. */
void tfp_cupti_buffers_request(uint8_t **buffer, size_t *bytes, size_t *most_records);
void tfp_cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);

/* The oldest full buffer: 1, or 0 where there is none. By one thread at a time; it gives the buffer back, zeroed. */
int tfp_cupti_buffers_take(struct tfp_cupti_full *full);
void tfp_cupti_buffers_give(const struct tfp_cupti_full *full);

/* Adds a buffer where few are free. May fault in pages: our thread alone. Returns how many are free. */
uint32_t tfp_cupti_buffers_grow(void);

/* Bytes of records in the buffer of last resort, which nobody can read any more; each is asked about once. */
uint64_t tfp_cupti_buffers_wasted(void);

/* How many buffers there are now. */
uint32_t tfp_cupti_buffers_count(void);

#endif
