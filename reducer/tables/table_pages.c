/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of rows, compressed, in a spool. See table_pages.h. */
#include "reducer/tables/table_pages.h"

#include "reducer/base/spool.h"

#include <lz4.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE_ROWS 8192u

struct page {
	uint64_t offset;     /* in the spool */
	uint32_t bytes, raw; /* compressed and not */
};

struct table_pages {
	size_t columns;
	int spool;
	uint64_t spool_end;
	struct page *list; /* full ones */
	size_t count, room;
	struct table_cells *growing, *read; /* a column each */
	bool *has_cells; /* by column: a full page has one */
	size_t read_page;		    /* SIZE_MAX = none was read yet */
	struct text raw, packed;
};

struct table_pages *pages_make(size_t columns)
{
	struct table_pages *pages = base_alloc(1, sizeof(*pages));

	pages->columns = columns;
	pages->spool = spool_open();
	pages->growing = base_alloc(columns, sizeof(*pages->growing));
	pages->read = base_alloc(columns, sizeof(*pages->read));
	pages->has_cells = base_alloc(columns, sizeof(*pages->has_cells));
	pages->read_page = SIZE_MAX;
	return pages;
}

void pages_free(struct table_pages *pages)
{
	if (!pages)
		return;
	for (size_t i = 0; i < pages->columns; i++) {
		cells_clear(&pages->growing[i]);
		cells_clear(&pages->read[i]);
	}
	close(pages->spool);
	free(pages->growing);
	free(pages->read);
	free(pages->has_cells);
	free(pages->list);
	text_free(&pages->raw);
	text_free(&pages->packed);
	free(pages);
}

/* Room for `bytes` in a text that is filled by others. */
static char *room_of(struct text *text, size_t bytes)
{
	text->bytes = base_grow(text->bytes, &text->room, bytes, 1);
	return text->bytes;
}

/* The page that grew is full. */
static void seal(struct table_pages *pages)
{
	struct page page = {.offset = pages->spool_end};
	size_t most;

	text_clear(&pages->raw);
	for (size_t i = 0; i < pages->columns; i++) {
		pages->has_cells[i] |= cells_any(&pages->growing[i]);
		cells_pack(&pages->growing[i], PAGE_ROWS, &pages->raw);
		cells_clear(&pages->growing[i]);
	}
	most = (size_t)LZ4_compressBound((int)pages->raw.length);
	page.raw = (uint32_t)pages->raw.length;
	page.bytes = (uint32_t)LZ4_compress_default(pages->raw.bytes, room_of(&pages->packed, most), (int)page.raw, (int)most);
	spool_write(pages->spool, pages->spool_end, pages->packed.bytes, page.bytes);
	pages->spool_end += page.bytes;
	pages->list = base_grow(pages->list, &pages->room, pages->count + 1, sizeof(*pages->list));
	pages->list[pages->count++] = page;
}

struct table_cells *pages_add(struct table_pages *pages, size_t *place)
{
	while (*place >= (pages->count + 1) * PAGE_ROWS)
		seal(pages);
	*place -= pages->count * PAGE_ROWS;
	return pages->growing;
}

static void load(struct table_pages *pages, size_t number)
{
	const struct page *page = &pages->list[number];
	const char *at;

	room_of(&pages->packed, page->bytes);
	room_of(&pages->raw, page->raw);
	if (spool_read(pages->spool, page->offset, pages->packed.bytes, page->bytes) != page->bytes ||
	    LZ4_decompress_safe(pages->packed.bytes, pages->raw.bytes, (int)page->bytes, (int)page->raw) != (int)page->raw)
		base_die("a temporary file cannot be read back");
	at = pages->raw.bytes;
	for (size_t i = 0; i < pages->columns; i++) {
		cells_clear(&pages->read[i]);
		at = cells_unpack(&pages->read[i], PAGE_ROWS, at);
	}
	pages->read_page = number;
}

const struct table_cells *pages_read(struct table_pages *pages, size_t *place)
{
	size_t number = *place / PAGE_ROWS;

	if (number > pages->count)
		number = pages->count; /* rows without a single cell: behind all of the page that grows */
	*place -= number * PAGE_ROWS;
	if (number == pages->count)
		return pages->growing;
	if (number != pages->read_page)
		load(pages, number);
	return pages->read;
}

bool pages_have(const struct table_pages *pages, size_t column)
{
	return pages->has_cells[column] || cells_any(&pages->growing[column]);
}
