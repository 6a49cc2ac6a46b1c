/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that may go; see collectors/far_memory.h. */
#include "collectors/far_memory.h"

#include "writer/sys.h"

#include <sys/syscall.h>

#include "writer/poison.h"

void tfp_far_begin(struct tfp_far *far, long file)
{
	far->file = file;
	far->is_failed = 0;
	tfp_fill(far->starts, 0, sizeof far->starts);
}

/* The copy of the page that begins at `start`. NULL: it cannot be read. */
static const uint8_t *page_at(struct tfp_far *far, uintptr_t start)
{
	for (uint32_t i = 0; i < TFP_FAR_PAGES; i++)
		if (far->starts[i] == start)
			return far->pages[i];
	uint32_t i = far->next++ % TFP_FAR_PAGES;
	far->starts[i] = 0;
	if (!start || far->file < 0 ||
	    tfp_sys(SYS_pread64, far->file, (long)far->pages[i], TFP_FAR_PAGE, (long)start, 0, 0) != TFP_FAR_PAGE) {
		far->is_failed = 1;
		return NULL;
	}
	far->starts[i] = start;
	return far->pages[i];
}

int tfp_far_read(struct tfp_far *far, void *to, uintptr_t from, size_t bytes)
{
	uint8_t *at = to;

	if (!far) {
		tfp_copy(to, (const void *)from, bytes);
		return 1;
	}
	while (bytes) {
		size_t skipped = from % TFP_FAR_PAGE, part = TFP_FAR_PAGE - skipped < bytes ? TFP_FAR_PAGE - skipped : bytes;
		const uint8_t *page = page_at(far, from - skipped);
		if (!page)
			return 0;
		tfp_copy(at, page + skipped, part);
		at += part;
		from += part;
		bytes -= part;
	}
	return 1;
}

const void *tfp_far_see(struct tfp_far *far, const void *at, size_t bytes, void *room)
{
	if (!far)
		return at;
	return tfp_far_read(far, room, (uintptr_t)at, bytes) ? room : NULL;
}

const char *tfp_far_text(struct tfp_far *far, const char *at, size_t bytes, char *room)
{
	if (!far)
		return at;
	for (size_t i = 0; i < bytes; i++) {
		if (!tfp_far_read(far, &room[i], (uintptr_t)at + i, 1))
			return NULL;
		if (!room[i])
			return room;
	}
	far->is_failed = 1;
	return NULL;
}
