/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of all wanted processes; see reducer/tables/op_rows.h. */
#include "reducer/tables/op_rows.h"

#include "reducer/tables/notes.h"
#include "reducer/analysis/flops.h"
#include "reducer/tables/flops_cells.h"
#include "reducer/analysis/tensor_names.h"
#include "reducer/base/index.h"
#include "reducer/model/op_typed.h"

#include <stdlib.h>
#include <string.h>

/* One row to be: an op of all wanted processes together. */
struct host_row {
	const struct op *first;
	uint64_t occurrences, allocations, allocated;
	int64_t total, self;
	uint64_t least, most;
	const char *forward;
	bool has_forwards; /* several */
};

struct host_rows {
	struct host_row *items;
	size_t count;
	struct base_index index;
	struct ops sum;
};

static bool is_same_op(const void *context, const void *key, uint32_t number)
{
	const struct host_rows *rows = context;
	const struct op *op = key, *other = rows->items[number].first;

	return op->source == other->source && strcmp(op->name, other->name) == 0;
}

static uint64_t hash_op(const struct op *op)
{
	return base_hash(BASE_HASH ^ op->source, op->name, strlen(op->name));
}

static struct host_row *row_of(struct host_rows *rows, const struct op *op)
{
	uint64_t hash = hash_op(op);
	uint32_t number = base_index_find(&rows->index, hash, is_same_op, rows, op);

	if (number == UINT32_MAX) {
		number = (uint32_t)rows->count++;
		rows->items[number] = (struct host_row){.first = op, .forward = op->forward};
		base_index_add(&rows->index, hash, number);
	}
	return &rows->items[number];
}

/* Into those of `count` others, 0 = none. */
static void widen(uint64_t count, uint64_t *least, uint64_t *most, uint64_t other_least, uint64_t other_most)
{
	*least = count && *least < other_least ? *least : other_least;
	*most = count && *most > other_most ? *most : other_most;
}

static void add_process(struct host_rows *rows, const struct ops *ops)
{
	for (size_t i = 0; i < ops->count; i++) {
		const struct op *op = &ops->items[i];
		struct host_row *row;
		if (op->is_range || (op->occurrences == 0 && op->allocations == 0))
			continue;
		row = row_of(rows, op);
		if (op->occurrences)
			widen(row->occurrences, &row->least, &row->most, (uint64_t)op->least_ns, (uint64_t)op->most_ns);
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

static const struct host_row *find_row(const struct host_rows *rows, const char *name, unsigned source)
{
	struct op wanted = {.name = name, .source = source};
	uint32_t number = base_index_find(&rows->index, hash_op(&wanted), is_same_op, rows, &wanted);

	return number == UINT32_MAX ? NULL : &rows->items[number];
}

/* TensorFlow may tell an op twice: by its annotation, its eager call or its iterator, and by a TraceMe event. The first counts.
 */
static bool is_told_twice(const struct host_rows *rows, const struct host_row *row)
{
	const char *colon = strchr(row->first->name, ':');

	if (row->first->source != SOURCE_traceme)
		return false;
	const struct host_row *annotated = find_row(rows, row->first->name, SOURCE_annotation);
	if ((annotated && annotated->occurrences) || find_row(rows, row->first->name, SOURCE_iterator))
		return true;
	/* Run eagerly, a node is called as its type. */
	return colon && strncmp(row->first->name, colon + 1, (size_t)(colon - row->first->name)) == 0 &&
	       strlen(colon + 1) == (size_t)(colon - row->first->name) && find_row(rows, colon + 1, SOURCE_eager);
}

/* Blocks name their op by its node: where that is known by TraceMe alone, they belong to that row. */
static bool move_blocks(const struct host_rows *rows, const struct host_row *row)
{
	struct host_row *traced = (struct host_row *)find_row(rows, row->first->name, SOURCE_traceme);

	if (row->first->source != SOURCE_annotation || row->occurrences || !traced)
		return false;
	traced->allocations += row->allocations;
	traced->allocated += row->allocated;
	return true;
}

struct op_text op_text_of(const char *text)
{
	const char *colon = strchr(text, ':');
	struct op_text found = {.type = "", .name = text, .name_length = strlen(text)};

	/* TensorFlow writes name:Type, PyTorch space::op and "engine: function"; tf.data iterators are datasets. */
	if (op_iterator_rest(text)) {
		found.type = "Dataset";
		found.type_length = strlen(found.type);
	} else if (colon && colon != text && colon[1] && colon[1] != ':' && colon[1] != ' ' && !strchr(colon + 1, ':')) {
		found.type = colon + 1;
		found.type_length = strlen(found.type);
		found.name_length = (size_t)(colon - text);
	} else {
		const char *end = strstr(text, ": "), *begin = text;
		size_t length = end ? (size_t)(end - text) : strlen(text);
		for (size_t i = 0; i + 1 < length; i++)
			if (text[i] == ':' && text[i + 1] == ':')
				begin = text + i + 2;
		found.type = begin;
		found.type_length = length - (size_t)(begin - text);
	}
	return found;
}

/* TensorFlow's eager calls and PyTorch's ops run one by one; what annotations and TraceMe tell of runs inside a function. */
static int eager_of(unsigned source, const char *name)
{
	if (source == SOURCE_record_function)
		return strncmp(name, "Torch-Compiled Region", 21) != 0 && strncmp(name, "## Call CompiledFxGraph", 23) != 0;
	if (source == SOURCE_eager)
		return strncmp(name, "__", 2) != 0;
	return source == SOURCE_annotation || source == SOURCE_traceme || source == SOURCE_xla ? 0 : -1;
}

static struct op_row *add_row(struct op_rows *rows, size_t *room, const struct op_row *row)
{
	rows->items = base_grow(rows->items, room, rows->count + 1, sizeof(*rows->items));
	rows->items[rows->count] = *row;
	return &rows->items[rows->count++];
}

/* Do --window, --step, --thread ask for a part only? The first pass has no such sums; `work` does. */
static bool is_part(const struct request *request)
{
	return request->analysis.wants_time || request->thread;
}

/* What the second pass was shown of the host's ops. Freed with free(items). */
static struct ops seen_ops(const struct work *work)
{
	struct ops ops = {.items = base_alloc(work->count + 1, sizeof(*ops.items))};

	for (size_t i = 0; i < work->count; i++) {
		const struct work_row *row = &work->rows[i];
		if (row->what == SPAN_OP || row->what == SPAN_TRACE)
			ops.items[ops.count++] = (struct op){.name = work->words.items[row->op],
							     .source = row->op_source,
							     .occurrences = row->occurrences,
							     .total_ns = (int64_t)row->ns,
							     .least_ns = (int64_t)row->least_ns,
							     .most_ns = (int64_t)row->most_ns,
							     .self_ns = (int64_t)row->self_ns};
	}
	return ops;
}

static void add_host(struct op_rows *rows, size_t *room, const struct request *request, const struct work *work)
{
	struct host_rows host = {0};
	struct ops seen = is_part(request) && work ? seen_ops(work) : (struct ops){0};
	size_t most = seen.count;

	for (size_t i = 0; i < request->run->process_count; i++)
		most += request->run->processes[i].ops.count;
	host.items = base_alloc(most + 1, sizeof(*host.items));
	bool *is_twice = base_alloc(most + 1, sizeof(*is_twice));
	if (is_part(request))
		add_process(&host, &seen);
	for (size_t i = 0; i < request->run->process_count && !is_part(request); i++)
		if (request_wants_process(request, &request->run->processes[i]))
			add_process(&host, &request->run->processes[i].ops);
	for (size_t i = 0; i < host.count; i++)
		is_twice[i] = is_told_twice(&host, &host.items[i]) || move_blocks(&host, &host.items[i]);
	for (size_t i = 0; i < host.count; i++) {
		const struct host_row *one = &host.items[i];
		if (!is_twice[i])
			add_row(rows, room,
				&(struct op_row){.side = OP_HOST,
						 .name = one->first->name,
						 .source = one->first->source,
						 .occurrences = one->occurrences,
						 .has_allocations = !is_part(request),
						 .allocations = one->allocations,
						 .allocated = one->allocated,
						 .total = one->total,
						 .self = one->self,
						 .least = one->least,
						 .most = one->most,
						 .forward = one->has_forwards ? NULL : one->forward,
						 .eager = eager_of(one->first->source, one->first->name)});
	}
	rows->notes = host.sum;
	free(is_twice);
	free(seen.items);
	free(host.items);
	base_index_free(&host.index);
}

static void add_runs(struct op_row *row, const struct work_row *work)
{
	row->runs += work->occurrences;
	row->runs_ns += work->ns;
	row->squares += work->squares;
}

static bool is_same_row(const void *context, const void *key, uint32_t number)
{
	const struct op_row *have = &((const struct op_rows *)context)->items[number], *want = key;

	return have->source == want->source && strcmp(have->name, want->name) == 0;
}

static uint64_t hash_row(const struct op_row *row)
{
	return base_hash(BASE_HASH ^ row->source, row->name, strlen(row->name));
}

/* How long each run of the host's ops took: the second pass alone has seen them one by one. */
static void find_runs(struct op_rows *rows, const struct work *work)
{
	struct base_index index = {0};

	for (size_t i = 0; i < rows->count; i++)
		base_index_add(&index, hash_row(&rows->items[i]), (uint32_t)i);
	for (size_t i = 0; i < work->count; i++) {
		const struct work_row *one = &work->rows[i];
		struct op_row key = {.name = work->words.items[one->op], .source = one->op_source};
		uint32_t at = one->what == SPAN_OP || one->what == SPAN_TRACE
				      ? base_index_find(&index, hash_row(&key), is_same_row, rows, &key)
				      : UINT32_MAX;
		if (at != UINT32_MAX)
			add_runs(&rows->items[at], one);
	}
	base_index_free(&index);
}

/* Device rows by op: those of its kernels come one after the other once sorted by op. */
static int by_op(const void *a, const void *b)
{
	const struct work_row *one = *(const struct work_row *const *)a, *other = *(const struct work_row *const *)b;

	if (one->op != other->op)
		return one->op < other->op ? -1 : 1;
	return one->op_source < other->op_source ? -1 : one->op_source > other->op_source;
}

static void add_device(struct op_rows *rows, size_t *room, const struct work *work)
{
	const struct work_row **order = base_alloc(work->count + 1, sizeof(*order));
	struct op_row *row = NULL;
	size_t count = 0;

	for (size_t i = 0; i < work->count; i++)
		if (work->rows[i].what != SPAN_OP && work->rows[i].what != SPAN_TRACE)
			order[count++] = &work->rows[i];
	if (count)
		qsort(order, count, sizeof(*order), by_op);
	for (size_t i = 0; i < count; i++) {
		const struct work_row *one = order[i];
		const char *name = work->words.items[one->op];
		if (!row || by_op(&order[i - 1], &order[i]) != 0)
			row = add_row(rows, room,
				      &(struct op_row){.side = OP_DEVICE,
						       .name = name,
						       .eager = -1,
						       .source = name[0] ? one->op_source : SPAN_NO_SOURCE});
		if (name[0])
			row->eager = eager_of(one->op_source, name);
		widen(row->occurrences, &row->least, &row->most, one->least_ns, one->most_ns);
		row->occurrences = one->occurrences > row->occurrences ? one->occurrences : row->occurrences;
		row->total += (int64_t)one->ns;
		row->self += (int64_t)one->ns;
		add_runs(row, one);
		row->tensor += one->uses_tensor ? (int64_t)one->ns : 0;
		row->is_eligible |= one->uses_tensor || tensor_name_could(work->words.items[one->name], name);
	}
	free(order);
}

/*
 * Arithmetic of the host's ops is that of all they held; of devices' what they were given for the innermost op, by the time of its
 * kernels. Kernels that ran more often than something with a figure was launched, and those of CUDA graphs, which count when they
 * are captured, tell no rate: it would be too low.
 */
static void add_flops(struct op_rows *rows, const struct request *request, const struct flops_found *found)
{
	bool has_replays = flops_has_replays(request), is_part = request->device || request->stream;

	for (size_t i = 0; found && i < rows->count; i++) {
		struct op_row *row = &rows->items[i];
		const struct flops_op *op = flops_find_op(found, row->name, row->source);
		if (!op || !row->name[0] || (row->side == OP_DEVICE && is_part)) /* nobody told on which device it was done */
			continue;
		row->has_flops = row->side == OP_HOST ? op->occurrences : op->launched_times;
		row->flops = row->side == OP_HOST ? op->flops : op->launched;
		if (row->side == OP_HOST)
			row->flops_ns = op->ns;
		else if (row->has_flops && !has_replays && op->launched_times >= row->occurrences)
			row->flops_ns = (uint64_t)row->total;
	}
}

static int by_self(const void *a, const void *b)
{
	const struct op_row *one = a, *other = b;

	if (one->side != other->side)
		return one->side == OP_DEVICE ? -1 : 1;
	if (one->self != other->self)
		return one->self < other->self ? 1 : -1;
	if (one->is_idle != other->is_idle)
		return one->is_idle ? 1 : -1;
	return strcmp(one->name, other->name);
}

/* The length of what --group-by makes of an op's name; *from: where it begins. */
static size_t group_text(enum op_group group, const struct op_row *row, const char **from)
{
	struct op_text text = op_text_of(row->name);
	size_t length = text.name_length;

	*from = text.name;
	switch (group) {
	case GROUP_TYPE:
		*from = text.type;
		return text.type_length;
	case GROUP_SCOPE:
		while (length && text.name[length - 1] != '/')
			length--;
		return length ? length - 1 : 0;
	case GROUP_MODULE:
		return strcspn(text.name, "/") < length ? strcspn(text.name, "/") : 0;
	default:
		return strlen(row->name);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct op_row *one = a, *other = b;

	return one->side != other->side ? (int)other->side - (int)one->side : strcmp(one->name, other->name);
}

/* Joins rows whose names became equal. */
static void group_rows(struct op_rows *rows, enum op_group group)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const char *from;
		size_t length = group_text(group, &rows->items[i], &from);
		char *text = base_copy(length ? from : "(none)", length ? length : 6);
		uint32_t word = words_number(&rows->words, text);
		rows->items[i].name = rows->words.items[word];
		free(text);
	}
	if (rows->count)
		qsort(rows->items, rows->count, sizeof(*rows->items), by_name);
	for (size_t i = 0; i < rows->count; i++) {
		struct op_row *row = kept ? &rows->items[kept - 1] : NULL, *add = &rows->items[i];
		if (!row || by_name(row, add) != 0) {
			rows->items[kept++] = *add;
			continue;
		}
		row->source = row->source == add->source ? row->source : SPAN_NO_SOURCE;
		row->eager = row->eager == add->eager ? row->eager : -1;
		if (add->occurrences)
			widen(row->occurrences, &row->least, &row->most, add->least, add->most);
		row->occurrences += add->occurrences;
		row->runs += add->runs;
		row->runs_ns += add->runs_ns;
		row->squares += add->squares;
		row->allocations += add->allocations;
		row->allocated += add->allocated;
		row->total += add->total;
		row->self += add->self;
		row->tensor += add->tensor;
		row->is_eligible |= add->is_eligible;
		row->flops_ns = (row->has_flops && !row->flops_ns) || (add->has_flops && !add->flops_ns)
					? 0
					: row->flops_ns + add->flops_ns;
		row->has_flops |= add->has_flops;
		row->flops = flops_plus(row->flops, add->flops);
		row->forward = NULL;
	}
	rows->count = kept;
}

static void add_idle(struct op_rows *rows, size_t *room, const struct work *work)
{
	const struct {
		enum op_side side;
		uint64_t ns;
	} idles[] = {{OP_DEVICE, work_device_idle(work)}, {OP_HOST, work_host_idle(work)}};

	for (size_t i = 0; i < 2; i++)
		if (idles[i].ns)
			add_row(rows, room,
				&(struct op_row){.side = idles[i].side,
						 .name = "IDLE",
						 .source = SPAN_NO_SOURCE,
						 .is_idle = true,
						 .total = (int64_t)idles[i].ns,
						 .eager = -1,
						 .self = (int64_t)idles[i].ns});
}

void op_rows_find(struct op_rows *rows, const struct request *request, bool is_with_idle)
{
	op_rows_make(rows, request, analyses_whole(request->analyses, &analysis_work), is_with_idle);
}

void op_rows_make(struct op_rows *rows, const struct request *request, const struct work *work, bool is_with_idle)
{
	size_t room = 0;

	*rows = (struct op_rows){0};
	add_host(rows, &room, request, work);
	rows->is_part = is_part(request);
	if (work)
		find_runs(rows, work);
	if (work)
		add_device(rows, &room, work);
	add_flops(rows, request, analyses_whole(request->analyses, &analysis_flops));
	if (request->group != GROUP_OP && request->group != GROUP_KERNEL)
		group_rows(rows, request->group);
	if (work && is_with_idle)
		add_idle(rows, &room, work);
	if (rows->count)
		qsort(rows->items, rows->count, sizeof(*rows->items), by_self);
	for (size_t i = 0; i < rows->count; i++) {
		rows->device_count += rows->items[i].side == OP_DEVICE;
		rows->self[rows->items[i].side] += rows->items[i].self;
	}
}

void op_rows_note_none(struct table *table, const struct request *request)
{
	struct process *process = request->run->processes;
	bool is_recorded = false;

	for (size_t i = 0; i < request->run->process_count; i++, process++)
		for (size_t op = 0; op < process->ops.count && strcmp(process_setting(process, "OPS"), "steps") != 0; op++)
			is_recorded |= !process->ops.items[op].is_range && process->ops.items[op].occurrences;
	if (is_recorded)
		table_note(table, NOTE_INFO, "No op began in what was asked for; the run as a whole has ops.");
	else if (!notes_ops(table, request) && !notes_unheard(table, request) && !notes_not_in_file(table, request))
		table_note(table, NOTE_MISSING,
			   "No ops are in the logs: no framework was found (run_env says which were), or no capture window was open.");
}

void op_rows_free(struct op_rows *rows)
{
	free(rows->items);
	words_free(&rows->words);
	*rows = (struct op_rows){0};
}
