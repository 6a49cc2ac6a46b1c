/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's buffers into records of ours.
 *
 * Rule: a function of the buffer's bytes, the strides and the tables alone; nothing in a buffer is believed that is not
 * checked, but for the pointers to names, which are read through the kernel. What cannot be read is counted, never guessed;
 * times are handed on as they came.
 */
#ifndef TFP_COLLECTORS_CUPTI_DECODE_H
#define TFP_COLLECTORS_CUPTI_DECODE_H

#include "collectors/cupti_api.h"
#include "collectors/cupti_ranges.h"
#include "collectors/cupti_tables.h"
#include "writer/stream.h"

/* Written by whoever owns it; the counters by tfp_cupti_decode. */
struct tfp_cupti_decoder {
	struct tfp_cupti_strides strides;
	struct tfp_cupti_tables *tables;
	tfp_cupti_fact *fact;
	int (*next_record)(uint8_t *, size_t, const void **); /* of the library: where it goes on; NULL = by the strides alone */
	void (*release)(void *);     /* the host's free, for what CUPTI says its reader frees; NULL = left alone */
	_Atomic uint64_t *newest;    /* the newest correlation id known, 64 bits */
	struct tfp_cupti_ranges wanted;
	uint64_t records;            /* read, of every kind */
	uint64_t last_kernel;        /* largest correlation id of a kernel, copy or set read */
	uint64_t outside;            /* not wanted: their calls were made outside the window */
	uint64_t forgotten;          /* of calls so long ago that nobody knows whether a window held them */
	uint64_t unreadable;         /* of a kind or size not known, or no kind at all */
	uint64_t timeless;           /* with start or end 0 */
	uint64_t managed;            /* allocations of managed memory */
	uint64_t devices;            /* records of devices: what they are called, how large they are */
};

/* Reads a buffer into the thread's lane. Own thread of the lane only. */
void tfp_cupti_decode(struct tfp_cupti_decoder *decoder, struct tfp_thread *thread, struct tfp_lane *lane,
		      const uint8_t *buffer, size_t bytes);

/* Counts what a buffer holds, and writes nothing. */
uint64_t tfp_cupti_count(const struct tfp_cupti_decoder *decoder, const uint8_t *buffer, size_t bytes);

/* CUPTI's 32 bits into 64, near the newest id known. 0 stays 0. */
uint64_t tfp_cupti_widen_near(uint64_t newest, uint32_t correlation);

/* What the readers of single kinds get; cupti_decode.c and cupti_decode_facts.c. */
struct tfp_cupti_reading {
	struct tfp_cupti_decoder *decoder;
	struct tfp_thread *thread;
	struct tfp_lane *lane;
	uint64_t now;
	uint64_t newest;
	uint32_t stride; /* of this record */
};

/* CUPTI's records of what does not happen at a moment, each written as a fact. Only for the table of tfp_cupti_decode. */
void tfp_cupti_read_device(struct tfp_cupti_reading *reading, const void *record);
void tfp_cupti_read_context(struct tfp_cupti_reading *reading, const void *record);
void tfp_cupti_read_stream(struct tfp_cupti_reading *reading, const void *record);
void tfp_cupti_read_name(struct tfp_cupti_reading *reading, const void *record);

#endif
