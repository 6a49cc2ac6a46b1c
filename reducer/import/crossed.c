/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that overlap without nesting. See crossed.h. */
#include "reducer/import/crossed.h"

#include "reducer/base/base.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST (1u << 14) /* open at once: as many as a reader keeps */
#define LOOKS_MOST 256u /* of open ranges below the innermost: a file can make them many, and each end look at all */

static void turn_to(struct crossed *crossed, uint32_t thread)
{
	if (crossed->thread != thread)
		crossed->count = crossed->deeper = 0;
	crossed->thread = thread;
}

void crossed_push(struct crossed *crossed, uint32_t thread, uint8_t source, uint64_t begin)
{
	turn_to(crossed, thread);
	if (crossed->count == DEPTH_MOST || crossed->deeper) {
		crossed->deeper++;
		return;
	}
	crossed->open = base_grow(crossed->open, &crossed->room, crossed->count + 1, sizeof(*crossed->open));
	crossed->open[crossed->count++] = (struct crossed_open){begin, source};
}

void crossed_pop(struct crossed *crossed, uint32_t thread, uint8_t source, uint64_t begin)
{
	size_t innermost = SIZE_MAX, found = SIZE_MAX, looks = 0;

	turn_to(crossed, thread);
	if (crossed->deeper) { /* the ends of those come first */
		crossed->deeper--;
		return;
	}
	for (size_t at = crossed->count; at > 0 && found == SIZE_MAX && looks < LOOKS_MOST; looks++) {
		const struct crossed_open *open = &crossed->open[--at];
		if (open->source != source)
			continue;
		innermost = innermost == SIZE_MAX ? at : innermost;
		found = begin == CROSSED_HALF || open->begin == begin ? at : SIZE_MAX;
	}
	if (innermost == SIZE_MAX) {
		crossed->ends += looks < LOOKS_MOST;
		return;
	}
	crossed->found += found != innermost;
	found = found == SIZE_MAX ? innermost : found;
	memmove(crossed->open + found, crossed->open + found + 1, (crossed->count - found - 1) * sizeof(*crossed->open));
	crossed->count--;
}

void crossed_free(struct crossed *crossed)
{
	free(crossed->open);
}
