/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite's file format, written from left to right. See sqlite_file.h.
 *
 *   page 1              header of the file (100 bytes), then the root of the tree that names all tables: written last
 *   pages 2 ...         leaves, pages over them and what overflows, of all tables, as they become full
 *
 * A tree grows at its right edge alone: of each level the last page is in memory. A leaf that is full goes to the file, and its
 * number with its last row's to the page over it.
 */
#include "reducer/report/sqlite_file.h"

#include "reducer/base/base.h"
#include "reducer/base/spool.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define OUT_BYTES (64u * PAGE_BYTES)
#define FILE_HEADER 100u
#define LOCK_PAGE (0x40000000u / PAGE_BYTES + 1) /* SQLite locks bytes there and never uses the page */
#define LEVELS_MOST 8u				  /* of pages with at least 200 children: more than there are page numbers */
#define LEAF 13u
#define INTERIOR 5u
#define LEAF_HEADER 8u
#define INTERIOR_HEADER 12u
#define LOCAL_MOST (PAGE_BYTES - 35)			      /* of a row's bytes that lie in its leaf ... */
#define LOCAL_LEAST ((PAGE_BYTES - 12) * 32 / 255 - 23) /* ... or, of those that overflow, at least */
#define VARINT_MOST 9u

/* The last page of a level: header and places of cells from the front, cells from the back. */
struct page {
	uint8_t bytes[PAGE_BYTES];
	unsigned count, begin; /* cells, and where the lowest lies */
	uint32_t last_child;   /* of a page over others: its right-most child; 0 = none yet */
	uint64_t last_key;     /* the greatest row number under it */
};

struct tree {
	struct page *levels[LEVELS_MOST]; /* leaf first; NULL = none yet */
	uint64_t row;			   /* number of the last one */
	unsigned reserved;		   /* bytes at the end of a page's header that stay free, so that it can become page 1 */
};

struct sqlite_file {
	FILE *to;
	int spool; /* where `to` cannot be written twice at one place; else -1 */
	uint32_t page_count;
	uint8_t *out; /* pages at the end that are not written yet */
	size_t out_used;
	uint64_t out_at;
	struct sqlite_table *tables; /* that were opened, the newest first */
};

struct sqlite_table {
	struct sqlite_file *file;
	struct sqlite_table *before;
	struct tree tree;
	char *name, *create;
	uint32_t root;
	struct text types, body, row; /* of the row that grows: its two parts, then both */
};

static void put_big(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

/* Seven bits a byte, the highest first; of a ninth byte all eight. Returns the byte behind it. */
static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	unsigned bytes = 1;

	if (value < 128) {
		*at = (uint8_t)value;
		return at + 1;
	}
	while (bytes < VARINT_MOST && value >> 7 * bytes)
		bytes++;
	if (bytes == VARINT_MOST) {
		at[8] = (uint8_t)value;
		value >>= 8;
	}
	for (unsigned i = 0, last = bytes < VARINT_MOST ? bytes : 8; i < last; i++)
		at[i] = (uint8_t)(value >> 7 * (last - 1 - i)) | 128;
	if (bytes < VARINT_MOST)
		at[bytes - 1] &= 127;
	return at + bytes;
}

static void flush(struct sqlite_file *file)
{
	if (file->spool < 0)
		fwrite(file->out, 1, file->out_used, file->to); /* who closes it asks for errors */
	else
		spool_write(file->spool, file->out_at, file->out, file->out_used);
	file->out_at += file->out_used;
	file->out_used = 0;
}

static void append(struct sqlite_file *file, const uint8_t *page)
{
	if (file->out_used == OUT_BYTES)
		flush(file);
	if (page)
		memcpy(file->out + file->out_used, page, PAGE_BYTES);
	else
		memset(file->out + file->out_used, 0, PAGE_BYTES);
	file->out_used += PAGE_BYTES;
	file->page_count++;
}

/* The number that put_page gives next. */
static uint32_t next_page(const struct sqlite_file *file)
{
	return file->page_count + 1 == LOCK_PAGE ? LOCK_PAGE + 1 : file->page_count + 1;
}

static uint32_t put_page(struct sqlite_file *file, const uint8_t *page)
{
	if (file->page_count + 1 == LOCK_PAGE)
		append(file, NULL);
	if (file->page_count >= UINT32_MAX - 2)
		base_die("-f sqlite: a database of SQLite has 16 TiB at most; show fewer rows with --top or --window");
	append(file, page);
	return file->page_count;
}

/* Page 1 is known last. A pipe, or a file to whose end others write as well, cannot be gone back in. */
static bool can_go_back(FILE *file)
{
	struct stat facts;
	int flags = fcntl(fileno(file), F_GETFL);

	return fstat(fileno(file), &facts) == 0 && S_ISREG(facts.st_mode) && flags >= 0 && !(flags & O_APPEND) && ftello(file) == 0;
}

struct sqlite_file *sqlite_file_make(FILE *to)
{
	struct sqlite_file *file = base_alloc(1, sizeof(*file));

	file->to = to;
	file->spool = can_go_back(to) ? -1 : spool_open();
	file->out = base_alloc(1, OUT_BYTES);
	append(file, NULL); /* page 1 */
	return file;
}

static struct page *page_of(struct tree *tree, unsigned level)
{
	if (level == LEVELS_MOST)
		abort(); /* the numbers of pages end before */
	if (!tree->levels[level]) {
		tree->levels[level] = base_alloc(1, sizeof(struct page));
		tree->levels[level]->begin = PAGE_BYTES;
	}
	return tree->levels[level];
}

static unsigned header_bytes(unsigned level)
{
	return level ? INTERIOR_HEADER : LEAF_HEADER;
}

static bool has_room(const struct tree *tree, const struct page *page, unsigned level, size_t bytes)
{
	return header_bytes(level) + tree->reserved + 2 * (page->count + 1) + bytes <= page->begin;
}

/* A place of `bytes` for one more cell, which fits. */
static uint8_t *add_cell(struct page *page, unsigned level, size_t bytes)
{
	page->begin -= (unsigned)bytes;
	put_big(page->bytes + header_bytes(level) + 2 * page->count++, page->begin, 2);
	return page->bytes + page->begin;
}

static void put_header(struct page *page, unsigned level)
{
	page->bytes[0] = level ? INTERIOR : LEAF;
	put_big(page->bytes + 3, page->count, 2);
	put_big(page->bytes + 5, page->begin, 2);
	if (level)
		put_big(page->bytes + 8, page->last_child, 4);
}

static void clear_page(struct page *page)
{
	memset(page->bytes, 0, header_bytes(1)); /* what is behind does not count */
	page->count = 0;
	page->begin = PAGE_BYTES;
	page->last_child = 0;
}

static void add_child(struct sqlite_file *file, struct tree *tree, unsigned level, uint32_t child, uint64_t key);

/* The page is full: to the file with it, and its number to the page over it. */
static void push_up(struct sqlite_file *file, struct tree *tree, unsigned level)
{
	struct page *page = tree->levels[level];

	put_header(page, level);
	uint32_t number = put_page(file, page->bytes);
	uint64_t key = page->last_key;
	clear_page(page);
	add_child(file, tree, level + 1, number, key);
}

/* The last child of a page becomes a cell. A page must not be left with a last child alone, so a full one gives a cell away. */
static void child_to_cell(struct sqlite_file *file, struct tree *tree, unsigned level)
{
	struct page *page = tree->levels[level];
	uint32_t child = page->last_child;
	uint64_t key = page->last_key;
	uint8_t cell[4 + VARINT_MOST];

	put_big(cell, child, 4);
	size_t bytes = (size_t)(put_varint(cell + 4, key) - cell);
	if (!has_room(tree, page, level, bytes)) {
		const uint8_t *given = page->bytes + page->begin;
		unsigned length = 4;
		page->last_child = (uint32_t)given[0] << 24 | (uint32_t)given[1] << 16 | (uint32_t)given[2] << 8 | given[3];
		page->last_key = 0;
		for (bool is_more = true; is_more && length < 4 + 8; length++) {
			page->last_key = page->last_key << 7 | (given[length] & 127);
			is_more = given[length] & 128;
		}
		page->begin += length;
		page->count--;
		push_up(file, tree, level);
	}
	memcpy(add_cell(page, level, bytes), cell, bytes);
}

static void add_child(struct sqlite_file *file, struct tree *tree, unsigned level, uint32_t child, uint64_t key)
{
	struct page *page = page_of(tree, level);

	if (page->last_child)
		child_to_cell(file, tree, level);
	page->last_child = child;
	page->last_key = key;
}

/* What of a row's bytes does not lie in its leaf: a list of pages. Returns the first. */
static uint32_t put_overflow(struct sqlite_file *file, const uint8_t *bytes, size_t length)
{
	uint32_t first = next_page(file);
	uint8_t page[PAGE_BYTES];

	for (size_t part; length; bytes += part, length -= part) {
		part = length < PAGE_BYTES - 4 ? length : PAGE_BYTES - 4;
		memset(page, 0, PAGE_BYTES);
		memcpy(page + 4, bytes, part);
		uint32_t behind = next_page(file) + 1;
		put_big(page, part == length ? 0 : behind == LOCK_PAGE ? LOCK_PAGE + 1 : behind, 4);
		put_page(file, page);
	}
	return first;
}

static size_t local_bytes(size_t payload)
{
	size_t local = LOCAL_LEAST + (payload - LOCAL_LEAST) % (PAGE_BYTES - 4);

	return payload <= LOCAL_MOST ? payload : local <= LOCAL_MOST ? local : LOCAL_LEAST;
}

/* A row of `length` bytes: the next of its tree. */
static void put_row(struct sqlite_file *file, struct tree *tree, const uint8_t *bytes, size_t length)
{
	struct page *leaf = page_of(tree, 0);
	size_t local = local_bytes(length);
	uint8_t head[2 * VARINT_MOST], *at = put_varint(put_varint(head, length), ++tree->row);
	size_t head_bytes = (size_t)(at - head), cell = head_bytes + local + (local < length ? 4 : 0);

	if (leaf->count && !has_room(tree, leaf, 0, cell))
		push_up(file, tree, 0);
	at = add_cell(leaf, 0, cell);
	memcpy(at, head, head_bytes);
	memcpy(at + head_bytes, bytes, local);
	if (local < length)
		put_big(at + head_bytes + local, put_overflow(file, bytes + local, length - local), 4);
	leaf->last_key = tree->row;
}

/* The level over which there is none; what is below it is in the file. */
static unsigned end_tree(struct sqlite_file *file, struct tree *tree)
{
	unsigned level = 0;

	page_of(tree, 0); /* a table without rows has one empty leaf */
	for (; level + 1 < LEVELS_MOST && tree->levels[level + 1]; level++)
		push_up(file, tree, level);
	put_header(tree->levels[level], level);
	return level;
}

static void free_tree(struct tree *tree)
{
	for (unsigned i = 0; i < LEVELS_MOST; i++)
		free(tree->levels[i]);
	*tree = (struct tree){0};
}

struct sqlite_table *sqlite_table_open(struct sqlite_file *file, const char *name, const char *create)
{
	struct sqlite_table *table = base_alloc(1, sizeof(*table));

	table->file = file;
	table->name = base_copy(name, strlen(name));
	table->create = base_copy(create, strlen(create));
	table->before = file->tables;
	file->tables = table;
	return table;
}

void sqlite_table_close(struct sqlite_table *table)
{
	unsigned level = end_tree(table->file, &table->tree);

	table->root = put_page(table->file, table->tree.levels[level]->bytes);
	free_tree(&table->tree);
	text_free(&table->types);
	text_free(&table->body);
	text_free(&table->row);
}

static uint8_t *room_behind(struct text *text, size_t bytes)
{
	text->bytes = base_grow(text->bytes, &text->room, text->length + bytes, 1);
	return (uint8_t *)text->bytes + text->length;
}

static void put_type(struct sqlite_table *table, uint64_t type)
{
	uint8_t *at = room_behind(&table->types, VARINT_MOST);

	table->types.length += (size_t)(put_varint(at, type) - at);
}

static void put_fixed(struct sqlite_table *table, uint64_t value, unsigned bytes)
{
	uint64_t big = htobe64(value << (64 - 8 * bytes));

	memcpy(room_behind(&table->body, sizeof(big)), &big, sizeof(big));
	table->body.length += bytes;
}

void sqlite_null(struct sqlite_table *table)
{
	put_type(table, 0);
}

void sqlite_integer(struct sqlite_table *table, int64_t value)
{
	static const uint8_t types[] = {0, 1, 2, 3, 4, 5, 5, 6, 6}, sizes[] = {0, 1, 2, 3, 4, 6, 6, 8, 8};
	uint64_t magnitude = value < 0 ? ~(uint64_t)value : (uint64_t)value;
	unsigned bytes = (64 - (unsigned)__builtin_clzll(magnitude | 1) + 8) / 8; /* with the sign's bit */

	if (value == 0 || value == 1) {
		put_type(table, 8 + (uint64_t)value);
		return;
	}
	put_type(table, types[bytes]);
	put_fixed(table, (uint64_t)value, sizes[bytes]);
}

void sqlite_real(struct sqlite_table *table, double value)
{
	uint64_t bits;

	/* Columns of reals keep small whole numbers as integers; SQLite makes reals of them again. */
	if (value > -140737488355328.0 && value < 140737488355328.0 && (double)(int64_t)value == value) {
		sqlite_integer(table, (int64_t)value);
		return;
	}
	if (isnan(value)) {
		sqlite_null(table);
		return;
	}
	memcpy(&bits, &value, sizeof(bits));
	put_type(table, 7);
	put_fixed(table, bits, 8);
}

void sqlite_text(struct sqlite_table *table, const char *bytes, size_t length)
{
	put_type(table, 2 * (uint64_t)length + 13);
	if (length)
		memcpy(room_behind(&table->body, length), bytes, length);
	table->body.length += length;
}

void sqlite_row_end(struct sqlite_table *table)
{
	size_t types = table->types.length, head = types + 1 < 1u << 7 ? 1 : types + 2 < 1u << 14 ? 2 : 3;
	uint8_t *at;

	table->row.length = 0;
	at = room_behind(&table->row, head + types + table->body.length);
	put_varint(at, head + types);
	memcpy(at + head, table->types.bytes, types);
	if (table->body.length)
		memcpy(at + head + types, table->body.bytes, table->body.length);
	put_row(table->file, &table->tree, at, head + types + table->body.length);
	table->types.length = table->body.length = 0;
}

/* The tree of all tables, in the order in which they were opened. Its root becomes page 1. */
static void put_schema(struct sqlite_file *file, uint8_t *first)
{
	struct sqlite_table schema = {.file = file, .tree.reserved = FILE_HEADER};
	struct sqlite_table *table = NULL;

	while (file->tables) { /* turned round */
		struct sqlite_table *next = file->tables->before;
		file->tables->before = table;
		table = file->tables;
		file->tables = next;
	}
	for (struct sqlite_table *next; table; table = next) {
		next = table->before;
		sqlite_text(&schema, "table", 5);
		sqlite_text(&schema, table->name, strlen(table->name));
		sqlite_text(&schema, table->name, strlen(table->name));
		sqlite_integer(&schema, table->root);
		sqlite_text(&schema, table->create, strlen(table->create));
		sqlite_row_end(&schema);
		free(table->name);
		free(table->create);
		free(table);
	}
	unsigned level = end_tree(file, &schema.tree);
	const struct page *root = schema.tree.levels[level];
	size_t places = header_bytes(level) + 2 * root->count;
	if (FILE_HEADER + places > root->begin)
		abort(); /* a mistake of the caller: one table only, with a statement as long as a page */
	memcpy(first, root->bytes, PAGE_BYTES);
	memmove(first + FILE_HEADER, root->bytes, places);
	free_tree(&schema.tree);
	text_free(&schema.types);
	text_free(&schema.body);
	text_free(&schema.row);
}

static void put_file_header(const struct sqlite_file *file, uint8_t *first)
{
	/* offset, bytes, value; all others are 0 */
	const uint32_t fields[][3] = {
		{16, 2, PAGE_BYTES}, {18, 1, 1}, {19, 1, 1}, /* no write-ahead log */
		{21, 1, 64}, {22, 1, 32}, {23, 1, 32},	     /* always so */
		{24, 4, 1}, {28, 4, file->page_count},	     /* changes of the file; the next is of the schema */
		{40, 4, 1}, {44, 4, 4},			     /* the newest form of a schema */
		{56, 4, 1},				     /* UTF-8 */
		{92, 4, 1}, {96, 4, 3008000},		     /* the change at which the page count was right; SQLite 3.8.0 can read it */
	};

	memset(first, 0, FILE_HEADER);
	memcpy(first, "SQLite format 3", 16);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		put_big(first + fields[i][0], fields[i][2], fields[i][1]);
}

static void copy_spool(struct sqlite_file *file)
{
	for (uint64_t at = 0, length; at < file->out_at; at += length) {
		length = spool_read(file->spool, at, file->out, OUT_BYTES);
		if (!length)
			base_die("-f sqlite: cannot read the temporary file back: %s", strerror(errno));
		fwrite(file->out, 1, length, file->to);
	}
	close(file->spool);
}

void sqlite_file_close(struct sqlite_file *file)
{
	uint8_t first[PAGE_BYTES];

	put_schema(file, first);
	flush(file);
	put_file_header(file, first);
	if (file->spool >= 0) {
		spool_write(file->spool, 0, first, sizeof(first));
		copy_spool(file);
	} else {
		if (fflush(file->to) == 0 && fseeko(file->to, 0, SEEK_SET) < 0)
			base_die("-f sqlite: cannot go back in the output: %s", strerror(errno));
		fwrite(first, 1, sizeof(first), file->to);
		fseeko(file->to, 0, SEEK_END);
	}
	free(file->out);
	free(file);
}
