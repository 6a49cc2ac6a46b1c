/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a column: 8 bytes and a bit each. See table_cells.h. */
#include "reducer/tables/table_cells.h"

#include <stdlib.h>
#include <string.h>

/* A place for each of `count` rows; new ones are empty. */
static void spread(struct table_cells *cells, size_t count)
{
	size_t flags = (cells->room + 7) / 8, before = flags, room = cells->room;
	bool was_same = !cells->values;

	cells->values = base_grow(cells->values, &room, count, sizeof(*cells->values));
	cells->is_known = base_grow(cells->is_known, &flags, (room + 7) / 8, 1);
	if (flags > before)
		memset(cells->is_known + before, 0, flags - before);
	cells->room = room < flags * 8 ? room : flags * 8;
	for (size_t i = 0; was_same && i < cells->same; i++)
		cells_set(cells, i, cells->same_value);
}

void cells_set_more(struct table_cells *cells, size_t place, union table_value value)
{
	bool is_first = place == 0 && cells->same <= 1;

	if (!cells->values && place <= cells->same &&
	    (is_first || memcmp(&cells->same_value, &value, sizeof(value)) == 0)) {
		cells->same_value = value;
		cells->same = place == cells->same ? place + 1 : cells->same;
		return;
	}
	if (!cells->values || place >= cells->room)
		spread(cells, place + 1 > cells->same ? place + 1 : cells->same);
	cells_set(cells, place, value);
}

void cells_clear(struct table_cells *cells)
{
	free(cells->values);
	free(cells->is_known);
	*cells = (struct table_cells){0};
}

/* In front of a packed column: whether values follow, else what is the same. */
struct head {
	uint64_t has_values, same;
	union table_value same_value;
};

void cells_pack(const struct table_cells *cells, size_t count, struct text *out)
{
	static const union table_value none;
	struct head head = {.has_values = cells->values != NULL, .same = cells->same, .same_value = cells->same_value};

	text_put(out, &head, sizeof(head));
	for (size_t i = 0; cells->values && i < count;) {
		size_t run = i;
		while (run < count && cells_is_known(cells, run))
			run++;
		text_put(out, run > i ? &cells->values[i] : &none, run > i ? (run - i) * sizeof(none) : sizeof(none));
		i = run > i ? run : i + 1;
	}
	for (size_t i = 0; cells->values && i < (count + 7) / 8; i++)
		text_put(out, i * 8 < cells->room ? &cells->is_known[i] : (const uint8_t *)&none, 1);
}

const char *cells_unpack(struct table_cells *cells, size_t count, const char *from)
{
	struct head head;

	memcpy(&head, from, sizeof(head));
	from += sizeof(head);
	*cells = (struct table_cells){.same = head.same, .same_value = head.same_value};
	if (!head.has_values)
		return from;
	cells->room = count;
	cells->values = base_alloc(count, sizeof(*cells->values));
	cells->is_known = base_alloc((count + 7) / 8, 1);
	memcpy(cells->values, from, count * sizeof(*cells->values));
	from += count * sizeof(*cells->values);
	memcpy(cells->is_known, from, (count + 7) / 8);
	return from + (count + 7) / 8;
}
