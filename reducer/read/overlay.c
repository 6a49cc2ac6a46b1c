/* SPDX-License-Identifier: Apache-2.0 */
/* Live blocks from shared memory; see reducer/read/overlay.h. */
#include "reducer/read/overlay.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int overlay_open(const struct tfp_file_header *header)
{
	char path[64];
	struct tfp_file_header other;

	if (!(header->flags & TFP_FILE_SHADOWED))
		return -1;
	snprintf(path, sizeof path, "%s/tfprof.%016" PRIx64, TFP_SHADOW_DIRECTORY, header->log_id);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (descriptor < 0)
		return -1;
	if (pread(descriptor, &other, sizeof other, 0) == (ssize_t)sizeof other && other.log_id == header->log_id &&
	    memcmp(other.boot_id, header->boot_id, sizeof other.boot_id) == 0)
		return descriptor;
	close(descriptor);
	return -1;
}

static int is_zero(const uint8_t *bytes, size_t count)
{
	return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

size_t overlay_apply(int descriptor, uint32_t page_bytes, uint64_t offset, void *to, size_t bytes, size_t done)
{
	uint8_t *page = malloc(page_bytes);
	uint64_t start = offset - offset % page_bytes;

	for (; page != NULL && start < offset + bytes; start += page_bytes) {
		ssize_t got = pread(descriptor, page, page_bytes, (off_t)start);
		size_t skip = start < offset ? (size_t)(offset - start) : 0;
		size_t at = start < offset ? 0 : (size_t)(start - offset);

		if (got <= (ssize_t)skip || is_zero(page, (size_t)got))
			continue;
		size_t count = (size_t)got - skip < bytes - at ? (size_t)got - skip : bytes - at;
		if (done < at)
			memset((uint8_t *)to + done, 0, at - done);
		memcpy((uint8_t *)to + at, page + skip, count);
		if (done < at + count)
			done = at + count;
	}
	free(page);
	return done;
}

uint64_t overlay_end(int descriptor)
{
	struct stat status;

	return fstat(descriptor, &status) == 0 ? (uint64_t)status.st_size : 0;
}
