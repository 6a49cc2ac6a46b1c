/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A typed table: what every analysis yields and every format prints.
 *
 * Rule: a cell that is not known is empty, never 0; a column says its unit and what it means; what was not recorded, and
 * what was inferred, stands in the table's notes. Knows nothing of logs or formats.
 */
#ifndef REDUCER_TABLES_TABLE_H
#define REDUCER_TABLES_TABLE_H

#include "reducer/base/base.h"
#include "reducer/base/index.h"

enum table_type {
	TABLE_INTEGER,
	TABLE_REAL,
	TABLE_TEXT,  /* any bytes: formats must escape them */
	TABLE_STACK, /* a call stack, printed through frames.h */
};

enum table_unit {
	UNIT_NONE,
	UNIT_COUNT,
	UNIT_BYTES,
	UNIT_NS,
	UNIT_RATIO,
	UNIT_BYTES_PER_S,
	UNIT_FLOPS,
	UNIT_FLOPS_PER_S,
	UNIT_MILLIWATTS,
	UNIT_MILLIJOULES,
	UNIT_MEGAHERTZ,
	UNIT_CELSIUS
};

struct table_column {
	const char *id;     /* csv header, json key; [a-z_0-9] */
	const char *header; /* short, for text */
	enum table_type type;
	enum table_unit unit;
	unsigned detail;    /* 0 = always shown as text; higher ones are left out first where the width is too small */
	const char *help;
	const char *sample; /* what pprof calls this number of a call stack; NULL = it does not add up, or is no such number */
	bool is_seldom;     /* of few runs: shown where it has a cell, and where it has none nobody is told so; detail is 0 */
};

/* Options that an analysis honours; others are answered with a note. sort, top and name work on every table. */
enum table_filter {
	FILTER_WINDOW = 1,
	FILTER_PROCESS = 2,
	FILTER_THREAD = 4,
	FILTER_ALLOCATOR = 8,
	FILTER_POINTS = 16,
	FILTER_DEVICE = 32,
	FILTER_STREAM = 64,
	FILTER_STEP = 128,
	FILTER_GROUP = 256,	   /* --group-by, but for kernel */
	FILTER_GROUP_KERNEL = 512, /* --group-by=kernel */
};

struct table;
struct request; /* reducer/tables/request.h */
struct analysis_kind; /* reducer/analysis/analysis.h */

/* An analysis: one file of this folder and one row in tables.def. */
struct table_kind {
	const char *id, *title, *help;
	const struct table_column *columns;
	size_t column_count;
	unsigned filters;   /* enum table_filter */
	unsigned text_rows; /* rows that text shows unless --top is given; 0 = all */
	bool is_prose;      /* few rows of sentences: as text each is a paragraph, its columns of detail 0 to 2 one below the other */
	bool needs_scan;    /* reads what run_scan fills */
	unsigned sums;	     /* of enum run_sum what it reads beside RUN_SUM_WORK */
	bool needs_launches; /* reads single launches, which run_scan keeps only when it is told to */
	bool is_long;        /* has a row for each event: rows behind the first TABLE_HEAD lie in a spool; has no name_row */
	bool is_of_moments;  /* rows by time, of which fewer say as much: those that have no room in a page are left out all along */
	bool needs_base;     /* compares figures with those of --against: not among "all" tables */
	bool needs_limits;   /* tells of --limit: not among "all" tables */
	/* What it reads of request->analyses, ended by NULL: so all tables share one more pass. NULL = nothing. */
	const struct analysis_kind *const *analyses;
	void (*fill)(struct table *table, const struct request *request);
	const char *nothing; /* a sentence: why there is no row, where nothing was filtered away. NULL = `fill` says it itself */
	/* Fills the cells of a printed row that need the names of its stack. NULL = none do. */
	void (*name_row)(struct table *table, size_t row);
};

enum note_kind {
	NOTE_INFO,     /* how to read the table */
	NOTE_INFERRED, /* some numbers were not recorded but follow from others, or are estimates or bounds */
	NOTE_MISSING,  /* not recorded, by mode or window */
	NOTE_LOSS,     /* lost or damaged: exit status 2 */
};
struct table_note {
	enum note_kind kind;
	char *text; /* one sentence */
};

union table_value {
	int64_t integer;
	double real;
	uint64_t text;  /* number of a text in `texts` */
	uint64_t stack; /* process index << 32 | stack id */
};

#define TABLE_RECENT 64u
#define TABLE_HEAD 32768u /* rows of a long table that stay in memory: where few are shown, nothing is spilled */

struct table_cells; /* reducer/tables/table_cells.h */
struct frames; /* reducer/tables/frames.h */
struct table_pages; /* reducer/tables/table_pages.h */

/* Distinct texts; their numbers are cells. Private to table.c. */
struct table_texts {
	struct text bytes;
	struct table_text {
		uint64_t offset, length;
	} *list;
	size_t count, room;
	struct base_index index;
	struct table_recent {
		const char *bytes;
		size_t number;
	} recent[TABLE_RECENT]; /* by the address at which a text was seen: most come again from there */
};

struct table {
	const struct table_kind *kind;
	size_t row_count;
	uint32_t *order;      /* rows as they are to be printed; NULL = as added */
	size_t shown_count;   /* rows left by --top; row_count when all */
	size_t omitted_count; /* rows that the analysis knew would not be shown, and did not add */
	struct table_cells *cells; /* one a column; of a long table those of its first rows */
	struct table_pages *pages; /* of a long table: the further rows; NULL = there are none */
	struct table_cells *last;  /* where the last row is, and its place there */
	size_t last_place;
	struct table_texts texts;
	struct frames *frames; /* for TABLE_STACK cells; not owned */
	struct table_note *notes;
	size_t note_count, note_room;
};

struct table *table_make(const struct table_kind *kind);
void table_free(struct table *table);

/* Begins a row, all cells empty. The functions below fill cells of the last row, each of its column's type. */
void table_row(struct table *table);
void table_integer(struct table *table, size_t column, int64_t value);
void table_real(struct table *table, size_t column, double value);
void table_text(struct table *table, size_t column, const char *bytes, size_t length);
void table_string(struct table *table, size_t column, const char *string); /* NULL = leave empty */
void table_stack(struct table *table, size_t column, uint32_t process, uint32_t stack);
/* The same for a printed row; not of a long table. */
void table_set_integer(struct table *table, size_t row, size_t column, int64_t value);
void table_set_text(struct table *table, size_t row, size_t column, const char *bytes, size_t length);

void table_note(struct table *table, enum note_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *note_kind_name(enum note_kind kind);

/* Rows there are in all, shown or not. */
size_t table_count(const struct table *table);

/* Reading. `row` counts as printed. */
bool table_is_known(const struct table *table, size_t row, size_t column);
/* Whether any row has a cell there, shown or not. */
bool table_has_cells(const struct table *table, size_t column);
int64_t table_get_integer(const struct table *table, size_t row, size_t column);
double table_get_number(const struct table *table, size_t row, size_t column); /* integer or real */
const char *table_get_text(const struct table *table, size_t row, size_t column, size_t *length);
uint64_t table_get_stack(const struct table *table, size_t row, size_t column);
/* All cells of a row at once: to[column_count]. A text is its number, see below. */
struct table_cell {
	union table_value value; /* anything where it is not known */
	bool is_known;
};
void table_read_row(const struct table *table, size_t row, struct table_cell *to);
/* Equal for equal texts of a table, below texts.count: for formats that keep what they made of a text. */
size_t table_text_number(const struct table *table, size_t row, size_t column);

/* Is one of its columns call stacks? */
bool table_has_stacks(const struct table_kind *kind);
/* SIZE_MAX when there is no such column. */
size_t table_find_column(const struct table_kind *kind, const char *id);
/* The same for what a person typed: the column of that id, else the first whose id begins so. */
size_t table_begins_column(const struct table_kind *kind, const char *word);

/* Orders rows by a column: numbers descending, texts ascending, the other way round if `is_reversed`; empty cells last. */
void table_sort(struct table *table, size_t column, bool is_reversed);
/* Keeps the rows for which `keep` is true (in printed order) / the first `count`. */
void table_keep(struct table *table, bool (*keep)(const struct table *table, size_t row, void *context), void *context);
void table_top(struct table *table, size_t count);

const char *table_unit_name(enum table_unit unit);
const char *table_type_name(enum table_type type);

#endif
