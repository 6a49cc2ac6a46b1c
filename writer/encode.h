/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the raw records of a chunk to the payload of an events block: columns, then LZ4.
 *
 * Rule: works in the caller's memory alone and never fails on good records; the fields come from records.def.
 */
#ifndef TFP_WRITER_ENCODE_H
#define TFP_WRITER_ENCODE_H

#include "writer/format.h"

#include <stddef.h>
#include <stdint.h>

struct tfp_scratch;

#define TFP_ENCODE_MOST ((size_t)512 << 10) /* bytes of records that are encoded at once; a chunk has half of it at most */

/* Bytes of scratch memory for chunks of up to `chunk_bytes`. */
size_t tfp_scratch_bytes(size_t chunk_bytes);

/*
 * Encodes `bytes` of raw records, of more than TFP_ENCODE_MOST the first so many. Fills in the event fields of `header` (codec, sizes,
 * times, records, time_shift). Returns the space to hand to tfp_file_seal: room for a block header, the payload, 8 spare bytes. In
 * `scratch`.
 */
void *tfp_encode(struct tfp_scratch *scratch, size_t scratch_bytes, const uint8_t *records, size_t bytes,
		 uint32_t heap_time_shift, struct tfp_block_header *header);

#endif
