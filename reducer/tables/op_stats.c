/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_stats: the ops of frameworks by the time they took themselves.
 *
 * Rule: host times are between an op's begin and end on its thread; ops inside an op count for its total, not for its self
 * time. Ranges that the user named are no ops (range_stats has them). The shares are of the sum of all ops' self times.
 */
#include "reducer/base/index.h"
#include "reducer/tables/notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	RANK, SIDE, TYPE, NAME, OCCURRENCES, TOTAL, AVG, SELF, AVG_SELF, DEVICE_SELF, DEVICE_CUMULATIVE, HOST_SELF,
	HOST_CUMULATIVE, SOURCE, ALLOCATIONS, ALLOCATED, FORWARD, COLUMNS
};

static const struct table_column columns[] = {
	[RANK] = {"rank", "#", TABLE_INTEGER, UNIT_NONE, 0, "place by self time"},
	[SIDE] = {"side", "side", TABLE_TEXT, UNIT_NONE, 0, "host, or device"},
	[TYPE] = {"type", "type", TABLE_TEXT, UNIT_NONE, 0,
		  "kind of op: TensorFlow's type; of PyTorch the last part of the name; Dataset: the input pipeline"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "as the framework calls it"},
	[OCCURRENCES] = {"occurrences", "times", TABLE_INTEGER, UNIT_COUNT, 0, "how often it ran, begin and end recorded"},
	[TOTAL] = {"total_ns", "total", TABLE_INTEGER, UNIT_NS, 0,
		   "with the ops inside it; one inside another of the same name counts once"},
	[AVG] = {"avg_ns", "average", TABLE_INTEGER, UNIT_NS, 1, "total by occurrences"},
	[SELF] = {"self_ns", "self", TABLE_INTEGER, UNIT_NS, 0, "without the ops inside it on its thread"},
	[AVG_SELF] = {"avg_self_ns", "self avg", TABLE_INTEGER, UNIT_NS, 1, "self by occurrences"},
	[DEVICE_SELF] = {"device_self_percent", "device %", TABLE_REAL, UNIT_NONE, 2, "of the self time of all device rows"},
	[DEVICE_CUMULATIVE] = {"device_cumulative_percent", "device sum %", TABLE_REAL, UNIT_NONE, 3,
			       "this row and those before it"},
	[HOST_SELF] = {"host_self_percent", "host %", TABLE_REAL, UNIT_NONE, 0, "of the self time of all host rows"},
	[HOST_CUMULATIVE] = {"host_cumulative_percent", "host sum %", TABLE_REAL, UNIT_NONE, 1, "this row and those before it"},
	[SOURCE] = {"source", "source", TABLE_TEXT, UNIT_NONE, 2,
		    "who said so: record_function (PyTorch), annotation, eager or traceme (TensorFlow)"},
	[ALLOCATIONS] = {"allocations", "allocs", TABLE_INTEGER, UNIT_COUNT, 2,
			 "blocks that the framework's allocators handed out for it: named so, or while it was the innermost op"},
	[ALLOCATED] = {"allocated_bytes", "allocated", TABLE_INTEGER, UNIT_BYTES, 2, "bytes of those"},
	[FORWARD] = {"forward_name", "forward of", TABLE_TEXT, UNIT_NONE, 3,
		     "PyTorch's backward functions: the op that they go with, where it is one; joined by sequence number"},
};

enum source {
#define TFP_RANGE_SOURCE(number, name, trust, help) SOURCE_##name = number,
#include "collectors/tables/range_sources.def"
#undef TFP_RANGE_SOURCE
};

/* range_sources.def, by number. */
static const char *source_name(unsigned source)
{
	static const char *const names[] = {
#define TFP_RANGE_SOURCE(number, name, trust, help) [number] = #name,
#include "collectors/tables/range_sources.def"
#undef TFP_RANGE_SOURCE
	};

	return source < sizeof(names) / sizeof(names[0]) && names[source] ? names[source] : "a later source";
}

/* One row to be: an op of all wanted processes together. */
struct row {
	const struct op *first;
	uint64_t occurrences, allocations, allocated;
	int64_t total, self;
	const char *forward;
	bool has_forwards; /* several */
};

struct rows {
	struct row *items;
	size_t count;
	struct base_index index;
	struct ops sum;
};

static bool is_same_op(const void *context, const void *key, uint32_t number)
{
	const struct rows *rows = context;
	const struct op *op = key, *other = rows->items[number].first;

	return op->source == other->source && strcmp(op->name, other->name) == 0;
}

static uint64_t hash_op(const struct op *op)
{
	return base_hash(BASE_HASH ^ op->source, op->name, strlen(op->name));
}

static struct row *row_of(struct rows *rows, const struct op *op)
{
	uint64_t hash = hash_op(op);
	uint32_t number = base_index_find(&rows->index, hash, is_same_op, rows, op);

	if (number == UINT32_MAX) {
		number = (uint32_t)rows->count++;
		rows->items[number] = (struct row){.first = op, .forward = op->forward};
		base_index_add(&rows->index, hash, number);
	}
	return &rows->items[number];
}

static void add_process(struct rows *rows, const struct ops *ops)
{
	for (size_t i = 0; i < ops->count; i++) {
		const struct op *op = &ops->items[i];
		struct row *row;
		if (op->is_range || (op->occurrences == 0 && op->allocations == 0))
			continue;
		row = row_of(rows, op);
		row->occurrences += op->occurrences;
		row->total += op->total_ns;
		row->self += op->self_ns;
		row->allocations += op->allocations;
		row->allocated += op->allocated_bytes;
		if (op->forward && (!row->forward || strcmp(row->forward, op->forward) != 0)) {
			row->has_forwards = row->forward != NULL;
			row->forward = op->forward;
		}
	}
	rows->sum.unfinished += ops->unfinished;
	rows->sum.unbegun += ops->unbegun;
	rows->sum.crossed += ops->crossed;
	rows->sum.overlapped += ops->overlapped;
	rows->sum.nameless += ops->nameless;
	rows->sum.unjoined += ops->unjoined;
}

static const struct row *find_row(const struct rows *rows, const char *name, unsigned source)
{
	struct op wanted = {.name = name, .source = source};
	uint32_t number = base_index_find(&rows->index, hash_op(&wanted), is_same_op, rows, &wanted);

	return number == UINT32_MAX ? NULL : &rows->items[number];
}

/* TensorFlow may tell an op twice: by its annotation, its eager call or its iterator, and by a TraceMe event. The first counts. */
static bool is_told_twice(const struct rows *rows, const struct row *row)
{
	const char *colon = strchr(row->first->name, ':');

	if (row->first->source != SOURCE_traceme)
		return false;
	const struct row *annotated = find_row(rows, row->first->name, SOURCE_annotation);
	if ((annotated && annotated->occurrences) || find_row(rows, row->first->name, SOURCE_iterator))
		return true;
	/* Run eagerly, a node is called as its type. */
	return colon && strncmp(row->first->name, colon + 1, (size_t)(colon - row->first->name)) == 0 &&
	       strlen(colon + 1) == (size_t)(colon - row->first->name) && find_row(rows, colon + 1, SOURCE_eager);
}

/* Blocks name their op by its node: where that is known by TraceMe alone, they belong to that row. */
static bool move_blocks(const struct rows *rows, const struct row *row)
{
	struct row *traced = (struct row *)find_row(rows, row->first->name, SOURCE_traceme);

	if (row->first->source != SOURCE_annotation || row->occurrences || !traced)
		return false;
	traced->allocations += row->allocations;
	traced->allocated += row->allocated;
	return true;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	if (one->self != other->self)
		return one->self < other->self ? 1 : -1;
	return strcmp(one->first->name, other->first->name);
}

/* TensorFlow writes name:Type, PyTorch space::op and "engine: function"; tf.data iterators are datasets. */
static void put_names(struct table *table, const char *text)
{
	const char *colon = strchr(text, ':');

	if (strncmp(text, "Iterator::", 10) == 0) {
		table_string(table, TYPE, "Dataset");
		table_string(table, NAME, text);
	} else if (colon && colon != text && colon[1] && colon[1] != ':' && colon[1] != ' ' && !strchr(colon + 1, ':')) {
		table_string(table, TYPE, colon + 1);
		table_text(table, NAME, text, (size_t)(colon - text));
	} else {
		const char *end = strstr(text, ": "), *begin = text;
		size_t length = end ? (size_t)(end - text) : strlen(text);
		for (size_t i = 0; i + 1 < length; i++)
			if (text[i] == ':' && text[i + 1] == ':')
				begin = text + i + 2;
		table_text(table, TYPE, begin, length - (size_t)(begin - text));
		table_string(table, NAME, text);
	}
}

static void put_row(struct table *table, const struct row *row, int64_t self_sum, int64_t self_so_far)
{
	table_row(table);
	table_integer(table, RANK, (int64_t)table->row_count);
	table_string(table, SIDE, "host");
	put_names(table, row->first->name);
	table_integer(table, OCCURRENCES, (int64_t)row->occurrences);
	table_integer(table, TOTAL, row->total);
	table_integer(table, SELF, row->self);
	if (row->occurrences) {
		table_integer(table, AVG, row->total / (int64_t)row->occurrences);
		table_integer(table, AVG_SELF, row->self / (int64_t)row->occurrences);
	}
	table_real(table, DEVICE_SELF, 0);
	table_real(table, DEVICE_CUMULATIVE, 0);
	if (self_sum > 0) {
		table_real(table, HOST_SELF, 100.0 * (double)row->self / (double)self_sum);
		table_real(table, HOST_CUMULATIVE, 100.0 * (double)self_so_far / (double)self_sum);
	}
	table_string(table, SOURCE, source_name(row->first->source));
	table_integer(table, ALLOCATIONS, (int64_t)row->allocations);
	table_integer(table, ALLOCATED, (int64_t)row->allocated);
	if (row->forward && !row->has_forwards)
		table_string(table, FORWARD, row->forward);
}

static void note_count(struct table *table, enum note_kind kind, uint64_t count, const char *what)
{
	if (count)
		table_note(table, kind, "%" PRIu64 " %s", count, what);
}

static void put_notes(struct table *table, const struct request *request, const struct ops *sum)
{
	note_count(table, NOTE_MISSING, sum->unfinished,
		   "ops had not ended when a window closed or their process ended; they are not counted.");
	note_count(table, NOTE_MISSING, sum->unbegun, "ops ended that had begun before recording did; they are not counted.");
	note_count(table, NOTE_INFO, sum->crossed, "ops ended on another thread than they began on (asynchronous ones).");
	note_count(table, NOTE_INFO, sum->overlapped, "ops ended while a later one of their thread was open; both have their whole time.");
	note_count(table, NOTE_LOSS, sum->nameless, "ops have no name: the table of names was full.");
	note_count(table, NOTE_INFO, sum->unjoined, "backward functions found no forward op in the log.");
	if (!table->row_count)
		table_note(table, NOTE_MISSING,
			   "No ops are in the logs: no framework was found (run_env says which were), or TFPROF_OPS is off.");
	notes_recording(table, request);
}

static void fill(struct table *table, const struct request *request)
{
	struct rows rows = {0};
	size_t room = 0;
	int64_t sum = 0, so_far = 0;

	for (size_t i = 0; i < request->run->process_count; i++)
		room += request->run->processes[i].ops.count;
	rows.items = base_alloc(room + 1, sizeof(*rows.items));
	bool *is_twice = base_alloc(room + 1, sizeof(*is_twice));
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			add_process(&rows, &request->run->processes[i].ops);
	size_t kept = 0;
	for (size_t i = 0; i < rows.count; i++)
		is_twice[i] = is_told_twice(&rows, &rows.items[i]) || move_blocks(&rows, &rows.items[i]);
	for (size_t i = 0; i < rows.count; i++)
		if (!is_twice[i])
			rows.items[kept++] = rows.items[i];
	rows.count = kept;
	free(is_twice);
	qsort(rows.items, rows.count, sizeof(*rows.items), compare_rows);
	for (size_t i = 0; i < rows.count; i++)
		sum += rows.items[i].self;
	for (size_t i = 0; i < rows.count; i++)
		put_row(table, &rows.items[i], sum, so_far += rows.items[i].self);
	put_notes(table, request, &rows.sum);
	base_index_free(&rows.index);
	free(rows.items);
}

const struct table_kind table_op_stats = {
	.id = "op_stats",
	.title = "Ops of frameworks",
	.help = "Which ops of TensorFlow and PyTorch ran, how often, how long with and without those inside them, and what was "
		"allocated for them.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS,
	.text_rows = 30,
	.needs_scan = true,
	.fill = fill,
};
