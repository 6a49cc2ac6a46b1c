/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared-memory file beside a log whose file system could not be mapped (TFP_FILE_SHADOWED, writer/shadow.c).
 *
 * Rule: it holds live blocks only, at the log's own offsets; a page of it that is not all zero is newer than the log's.
 */
#ifndef REDUCER_READ_OVERLAY_H
#define REDUCER_READ_OVERLAY_H

#include "writer/format.h"

#include <stddef.h>
#include <stdint.h>

/* Opens the file that belongs to this header. Its descriptor, or -1 where there is none (the process ended in order). */
int overlay_open(const struct tfp_file_header *header);

/*
 * Puts the newer pages over `to`, which holds `done` of the wanted `bytes` at `offset` of the log. Returns how many there
 * are now; bytes between that neither file has read as zeros.
 */
size_t overlay_apply(int descriptor, uint32_t page_bytes, uint64_t offset, void *to, size_t bytes, size_t done);

/* The end of the file: the log reaches at least as far. 0 when it cannot be told. */
uint64_t overlay_end(int descriptor);

#endif
