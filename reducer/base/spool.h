/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file without a name, for what does not fit in memory.
 *
 * Rule: it lies in TMPDIR (default /tmp) and is gone with the program, however that ends; a full disk ends the program with
 * a sentence that names the folder.
 */
#ifndef REDUCER_BASE_SPOOL_H
#define REDUCER_BASE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

/* A new one; the caller closes the descriptor. Dies where none can be made. */
int spool_open(void);

/* Writes all bytes at `offset`. Dies where there is no room. */
void spool_write(int descriptor, uint64_t offset, const void *bytes, size_t length);

/* Reads up to `length` bytes; returns how many were there. */
size_t spool_read(int descriptor, uint64_t offset, void *bytes, size_t length);

#endif
