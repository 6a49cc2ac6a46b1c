/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file that the reducer opens, for libFuzzer targets.
 *
 * Rule: magic, page size and all checksums are put right first, so that what is changed is what the decoders see; sizes,
 * counts, offsets and contents are left as they are. Every fourth input goes in as it is.
 */
#ifndef TFP_TEST_FUZZ_INPUT_H
#define TFP_TEST_FUZZ_INPUT_H

#include "reducer/read/crc32c.h"
#include "writer/format.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 512 /* of the corpus (test/logmaker.c, maker_seed) */

static void repair_header(uint8_t *bytes, size_t size)
{
	struct tfp_file_header *header = (struct tfp_file_header *)(void *)bytes;

	if (size < sizeof *header)
		return;
	memcpy(header->magic, TFP_FILE_MAGIC, 8);
	header->major = TFP_FORMAT_MAJOR;
	header->header_bytes = sizeof *header;
	header->byte_order = TFP_BYTE_ORDER;
	header->page_bytes = PAGE;
	header->features_incompat = 0;
	header->header_crc = crc32c(header, offsetof(struct tfp_file_header, header_crc));
}

static void repair_block(uint8_t *bytes, size_t left)
{
	struct tfp_block_header header;
	uint64_t payload;

	memcpy(&header, bytes, sizeof header);
	payload = left - sizeof header;
	header.header_bytes = sizeof header;
	if (header.encoded_bytes < payload)
		payload = header.encoded_bytes;
	header.payload_crc = crc32c(bytes + sizeof header, payload);
	header.header_crc = crc32c(&header, offsetof(struct tfp_block_header, header_crc));
	memcpy(bytes, &header, sizeof header);
}

static void repair(uint8_t *bytes, size_t size)
{
	const uint64_t sync = TFP_BLOCK_SYNC;

	repair_header(bytes, size);
	for (size_t at = PAGE; at + sizeof(struct tfp_block_header) <= size; at += 8)
		if (memcmp(bytes + at, &sync, sizeof sync) == 0)
			repair_block(bytes + at, size - at);
}

/* Files of other profilers are left as they are: a message with its first field, an object. */
static int is_foreign(const uint8_t *bytes, size_t size)
{
	return size > 0 && (bytes[0] == 0x0a || bytes[0] == '{');
}

/* The path of the one file that holds each input in turn. */
static const char *input_file(const uint8_t *data, size_t size)
{
	static int file = -1;
	static char path[64];
	uint8_t *bytes = malloc(size + 1);

	if (file < 0)
		file = memfd_create("log", MFD_CLOEXEC);
	if (bytes == NULL || file < 0)
		abort();
	memcpy(bytes, data, size);
	if (size % 4 != 3 && !is_foreign(bytes, size))
		repair(bytes, size);
	if (ftruncate(file, 0) != 0 || pwrite(file, bytes, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	free(bytes);
	return path;
}

#endif
