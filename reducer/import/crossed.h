/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of a thread that overlap without one lying in the other, among the records of a log as they are written.
 *
 * Rule: only counts. A reader takes the end of a range for that of the one of its source that began last, so that of two such each is told
 * with the end of the other.
 */
#ifndef REDUCER_IMPORT_CROSSED_H
#define REDUCER_IMPORT_CROSSED_H

#include <stddef.h>
#include <stdint.h>

/* Start from {0}. */
struct crossed {
	struct crossed_open {
		uint64_t begin; /* CROSSED_HALF = its other half, which knows no begin, ends what is innermost */
		uint8_t source;
	} *open; /* of the thread at hand */
	size_t count, room;
	size_t deeper; /* open, and not kept */
	uint32_t thread;
	uint64_t found, ends; /* ends: of what did not begin in the file */
};
#define CROSSED_HALF UINT64_MAX

/* A range of the thread begins, ends; `begin` is how it is known. Threads come one after the other. */
void crossed_push(struct crossed *crossed, uint32_t thread, uint8_t source, uint64_t begin);
void crossed_pop(struct crossed *crossed, uint32_t thread, uint8_t source, uint64_t begin);
void crossed_free(struct crossed *crossed);

#endif
