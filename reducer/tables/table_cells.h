/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of one column of some rows. Private to table*.c.
 *
 * Rule: a column takes memory only for what differs: as long as its first `same` rows have one value and the others none, that
 * value is all that is kept.
 */
#ifndef REDUCER_TABLES_TABLE_CELLS_H
#define REDUCER_TABLES_TABLE_CELLS_H

#include "reducer/tables/table.h"

/* Start from {0}. */
struct table_cells {
	union table_value *values; /* by row; NULL = all are as said above */
	uint8_t *is_known;	   /* a bit a row */
	size_t room;		   /* of both; a row behind it is empty */
	size_t same;
	union table_value same_value;
};

static inline bool cells_is_known(const struct table_cells *cells, size_t place)
{
	return cells->values ? place < cells->room && cells->is_known[place / 8] >> place % 8 & 1 : place < cells->same;
}

static inline const union table_value *cells_value(const struct table_cells *cells, size_t place)
{
	return cells->values && place < cells->room ? &cells->values[place] : &cells->same_value;
}

/* Whether there is a cell at all. */
static inline bool cells_any(const struct table_cells *cells)
{
	return cells->values || cells->same;
}

/* Where the column's memory does not do yet. */
void cells_set_more(struct table_cells *cells, size_t place, union table_value value);

static inline void cells_set(struct table_cells *cells, size_t place, union table_value value)
{
	if (cells->values && place < cells->room) {
		cells->values[place] = value;
		cells->is_known[place / 8] |= (uint8_t)(1u << place % 8);
	} else if (!cells->values && place && place == cells->same && cells->same_value.integer == value.integer) {
		cells->same++;
	} else {
		cells_set_more(cells, place, value);
	}
}

/* Empty again. */
void cells_clear(struct table_cells *cells);

/* Appends the cells of `count` rows to `out`; reads them again into cells that are empty. Returns the byte behind them. */
void cells_pack(const struct table_cells *cells, size_t count, struct text *out);
const char *cells_unpack(struct table_cells *cells, size_t count, const char *from);

/* The columns that hold row `place` of a table, as it was added, and in *place its place there, until the next call. */
const struct table_cells *table_cells_at(const struct table *table, size_t *place);

/* Fills a cell of the last row. */
void table_set_last(struct table *table, size_t column, union table_value value);

#endif
