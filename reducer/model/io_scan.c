/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads by thread, file and function, from the records of the log. See scan.h.
 *
 * Rule: sums alone are kept; their number is bounded by what distinct files, functions and threads there are.
 */
#include "reducer/model/round.h"
#include "reducer/model/scan.h"

#include <stdlib.h>
#include <string.h>

struct taken {
	struct scan *scan;
	struct io_rows *rows;
	uint32_t *places; /* hash table of indexes + 1 */
	size_t place_count;
	struct file_name {
		uint64_t hash;
		const char *text;
	} *names;
	size_t name_count, name_room;
};

static uint64_t mix(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
	return value ^ value >> 29;
}

static uint64_t place_of(uint64_t file, uint32_t function, uint32_t thread)
{
	return mix(file ^ mix((uint64_t)function << 32 | thread));
}

static int grow(struct taken *taken)
{
	size_t count = taken->place_count == 0 ? 1024 : taken->place_count * 2;
	uint32_t *places = calloc(count, sizeof *places);
	struct io_rows *rows = taken->rows;
	struct io_row *items = places == NULL ? NULL : realloc(rows->items, count / 2 * sizeof *items);

	if (items == NULL) {
		free(places);
		return -1;
	}
	rows->items = items;
	rows->room = count / 2;
	for (uint32_t i = 0; i < rows->count; i++) {
		uint64_t at = place_of(items[i].file, items[i].function, items[i].thread);
		while (places[at % count] != 0)
			at++;
		places[at % count] = i + 1;
	}
	free(taken->places);
	taken->places = places;
	taken->place_count = count;
	return 0;
}

static struct io_row *row_of(struct taken *taken, uint64_t file, uint32_t function, uint32_t thread)
{
	struct io_rows *rows = taken->rows;

	if (rows->count == rows->room && grow(taken) != 0)
		return NULL;
	uint64_t at = place_of(file, function, thread);
	for (; taken->places[at % taken->place_count] != 0; at++) {
		struct io_row *row = &rows->items[taken->places[at % taken->place_count] - 1];
		if (row->file == file && row->function == function && row->thread == thread)
			return row;
	}
	taken->places[at % taken->place_count] = (uint32_t)rows->count + 1;
	rows->items[rows->count] = (struct io_row){.file = file, .function = function, .thread = thread, .first_ns = INT64_MAX};
	return &rows->items[rows->count++];
}

static void take_io(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	uint64_t span = batch_value(batch, i, fields[1]);
	struct io_row *row = row_of(taken, batch_value(batch, i, fields[2]), (uint32_t)batch_value(batch, i, fields[6]),
				    taken->scan->process->log->streams[stream].thread);

	if (row == NULL) {
		taken->rows->is_short = 1;
		return;
	}
	int64_t first = (int64_t)(span < batch->times[i] ? batch->times[i] - span : 0);
	row->time_ns += (int64_t)batch_value(batch, i, fields[0]);
	row->bytes += batch_value(batch, i, fields[3]);
	row->calls += batch_value(batch, i, fields[4]);
	row->failed += batch_value(batch, i, fields[5]);
	row->first_ns = first < row->first_ns ? first : row->first_ns;
	row->last_ns = (int64_t)batch->times[i] > row->last_ns ? (int64_t)batch->times[i] : row->last_ns;
}

static void take_string(void *state, const struct fact *fact, const int *fields)
{
	struct taken *taken = state;
	const struct fact_value *text = fact_text(fact, fields[1]);

	if (taken->name_count == taken->name_room) {
		size_t room = taken->name_room == 0 ? 256 : taken->name_room * 2;
		struct file_name *names = realloc(taken->names, room * sizeof *names);
		if (names == NULL)
			return;
		taken->names = names;
		taken->name_room = room;
	}
	if (text != NULL)
		taken->names[taken->name_count++] =
			(struct file_name){fact_number(fact, fields[0]), run_text(taken->scan->run, text->text, text->length)};
}

static const struct scan_record records[] = {
	{"io", take_io, NULL, {"duration", "span", "file", "bytes", "calls", "failed", "function"}},
};

static const struct scan_fact facts[] = {
	{"string", take_string, {"hash", "text"}},
};

static void drop(void *state)
{
	struct taken *taken = state;

	if (taken == NULL)
		return;
	free(taken->places);
	free(taken->names);
	free(taken);
}

static void *begin(struct scan *scan)
{
	struct taken *taken = calloc(1, sizeof *taken);

	if (taken != NULL) {
		taken->scan = scan;
		taken->rows = &scan->process->io_rows;
	}
	return taken;
}

static int by_hash(const void *a, const void *b)
{
	const struct file_name *one = a, *other = b;

	return one->hash < other->hash ? -1 : one->hash > other->hash;
}

static int finish(void *state)
{
	struct taken *taken = state;
	struct log *log = taken->scan->process->log;

	if (taken->name_count > 0)
		qsort(taken->names, taken->name_count, sizeof *taken->names, by_hash);
	for (size_t i = 0; i < taken->rows->count && taken->name_count > 0; i++) {
		struct file_name wanted = {taken->rows->items[i].file, NULL};
		const struct file_name *name = bsearch(&wanted, taken->names, taken->name_count, sizeof *taken->names, by_hash);
		taken->rows->items[i].path = name == NULL ? NULL : name->text;
	}
	if (taken->rows->is_short)
		diag_no_room(log->diags, log->path, "reads");
	return 0;
}

static void times(struct process *process)
{
	double rate = process_rate(process);

	for (size_t i = 0; i < process->io_rows.count; i++) {
		struct io_row *row = &process->io_rows.items[i];
		row->time_ns = round_i64((double)row->time_ns * rate);
		row->first_ns = process_ns(process, (uint64_t)row->first_ns);
		row->last_ns = process_ns(process, (uint64_t)row->last_ns);
	}
}

static void close_process(struct process *process)
{
	free(process->io_rows.items);
}

const struct scan_subject io_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.facts = facts,
	.fact_count = sizeof facts / sizeof *facts,
	.begin = begin,
	.finish = finish,
	.free = drop,
	.times = times,
	.close = close_process,
};
