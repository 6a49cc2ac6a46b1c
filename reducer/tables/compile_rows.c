/* SPDX-License-Identifier: Apache-2.0 */
/* Compilation by frameworks; see compile_rows.h. */
#include "reducer/tables/compile_rows.h"

#include "reducer/base/base.h"
#include "reducer/base/index.h"
#include "reducer/model/op_typed.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COMPILED_PART 10 /* what takes less than so much of the time that tracing takes a cache does not save much of */
#define TRACED "tf.function traced"
#define TRACING "tf.function traced in Python"
#define COMPILED "torch.compile region compiled"

struct key {
	const char *what, *function;
	size_t length; /* of the function */
};

static bool is_row(const void *context, const void *key, uint32_t number)
{
	const struct compile_row *row = &((const struct compile_rows *)context)->list[number];
	const struct key *wanted = key;

	return strcmp(row->what, wanted->what) == 0 && strlen(row->function) == wanted->length &&
	       memcmp(row->function, wanted->function, wanted->length) == 0;
}

static struct compile_row *row_of(struct compile_rows *rows, const char *what, const char *function, size_t length)
{
	const struct key key = {what, function, length};
	uint64_t hash = base_hash(base_hash(BASE_HASH, what, strlen(what)), function, length);
	uint32_t number = base_index_find(&rows->index, hash, is_row, rows, &key);

	if (number != UINT32_MAX)
		return &rows->list[number];
	base_index_add(&rows->index, hash, (uint32_t)rows->count);
	rows->list = base_grow(rows->list, &rows->room, rows->count + 1, sizeof(*rows->list));
	rows->list[rows->count] = (struct compile_row){.what = what, .function = base_copy(function, length)};
	return &rows->list[rows->count++];
}

void compile_rows_add(struct compile_rows *rows, const char *what, const char *function, size_t length, uint64_t bytes)
{
	struct compile_row *row = row_of(rows, what, function, length);

	row->versions++;
	row->bytes += bytes;
}

/* Versions already counted: the same name may come from several sources. */
struct seen {
	const char **names;
	size_t *lengths;
	size_t count, name_room, length_room;
	struct base_index index;
};

struct word {
	const char *bytes;
	size_t length;
};

static bool is_word(const void *context, const void *key, uint32_t number)
{
	const struct seen *seen = context;
	const struct word *word = key;

	return seen->lengths[number] == word->length && memcmp(seen->names[number], word->bytes, word->length) == 0;
}

static bool is_new(struct seen *seen, const char *name, size_t length)
{
	struct word word = {name, length};
	uint64_t hash = base_hash(BASE_HASH, name, length);

	if (base_index_find(&seen->index, hash, is_word, seen, &word) != UINT32_MAX)
		return false;
	seen->names = base_grow(seen->names, &seen->name_room, seen->count + 1, sizeof(*seen->names));
	seen->lengths = base_grow(seen->lengths, &seen->length_room, seen->count + 1, sizeof(*seen->lengths));
	seen->names[seen->count] = name;
	seen->lengths[seen->count] = length;
	base_index_add(&seen->index, hash, (uint32_t)seen->count++);
	return true;
}

/* "__inference_NAME_12", perhaps with ":" and its type behind: version 12 of NAME. */
static void take_traced(struct compile_rows *rows, struct seen *seen, const char *name)
{
	static const char begin[] = "__inference_";
	size_t skip = sizeof(begin) - 1, length = strcspn(name, ":"), end = length;

	if (strncmp(name, begin, skip) != 0)
		return;
	while (end > skip && isdigit((unsigned char)name[end - 1]))
		end--;
	if (end == length || end <= skip + 1 || name[end - 1] != '_' || !is_new(seen, name, length))
		return;
	compile_rows_add(rows, TRACED, name + skip, end - 1 - skip, 0);
}

/* "Torch-Compiled Region: 3/1": version 1 of region 3. */
static void take_region(struct compile_rows *rows, struct seen *seen, const char *name)
{
	static const char begin[] = "Torch-Compiled Region: ";
	size_t skip = sizeof(begin) - 1, length = strlen(name);
	const char *slash;

	if (strncmp(name, begin, skip) != 0 || (slash = strchr(name + skip, '/')) == NULL || !is_new(seen, name, length))
		return;
	compile_rows_add(rows, COMPILED, name, (size_t)(slash - name), 0);
}

static void add_timed(struct compile_row *row, const struct op *op)
{
	row->is_timed = true;
	row->versions += op->occurrences;
	row->total_ns += op->total_ns;
}

static bool is_of_xla(const char *name)
{
	return strncmp(name, "XlaCompile", 10) == 0 || strstr(name, "Compiler::") || strstr(name, "::Compile");
}

/* XLA's own announcements, those of PyTorch's compiler: "... (dynamo_timed)", and how long a tf.function was traced. */
static void take_timed(struct compile_rows *rows, const struct op *op)
{
	static const char timed[] = " (dynamo_timed)";
	size_t length = strlen(op->name), tail = sizeof(timed) - 1;
	bool is_torch = length > tail && strcmp(op->name + length - tail, timed) == 0;
	bool is_xla = is_of_xla(op->name);
	const char *function = op->name + sizeof(OP_TRACED) - 1;

	if (strncmp(op->name, OP_TRACED, sizeof(OP_TRACED) - 1) == 0)
		add_timed(row_of(rows, TRACING, function, strlen(function)), op);
	else if (is_torch)
		add_timed(row_of(rows, "torch.compile", op->name, length - tail), op);
	else if (is_xla)
		add_timed(row_of(rows, "XLA", op->name, strcspn(op->name, "#")), op);
}

void compile_rows_take(struct compile_rows *rows, const struct process *process)
{
	struct seen seen = {0};

	for (size_t i = 0; i < process->ops.count; i++) {
		const struct op *op = &process->ops.items[i];
		take_traced(rows, &seen, op->name);
		take_region(rows, &seen, op->name);
		take_timed(rows, op);
	}
	base_index_free(&seen.index);
	free(seen.names);
	free(seen.lengths);
}

void compile_rows_take_tracings(struct compile_rows *rows, const struct process *process)
{
	static const char *const names[TRACERS] = {[TRACER_NONE] = "",
						   [TRACER_TORCH] = "torch.compile in Python",
						   [TRACER_TORCH_SCRIPT] = "TorchScript in Python",
						   [TRACER_JAX] = "JAX traced, lowered or compiled",
						   [TRACER_TENSORFLOW] = TRACING};

	for (size_t i = 0; i < process->python.tracing_count; i++) {
		const struct python_tracing *tracing = &process->python.tracings[i];
		struct compile_row *row = row_of(rows, names[tracing->tracer], "", 0);
		row->is_timed = true;
		row->versions++;
		row->total_ns += tracing->to_ns - tracing->from_ns;
	}
}

bool compile_only_traces(const struct process *process)
{
	int64_t traced = 0, compiled = 0;
	bool traces = false;

	if (process->gpu || process->python.has_inductor)
		return false;
	for (size_t i = 0; i < process->ops.count; i++) {
		const struct op *op = &process->ops.items[i];
		bool is_tracing = strncmp(op->name, OP_TRACED, sizeof(OP_TRACED) - 1) == 0;
		if (is_of_xla(op->name) || strncmp(op->name, "XLA call: ", 10) == 0)
			return false;
		traces |= is_tracing;
		traced += is_tracing ? op->total_ns : 0;
	}
	for (size_t i = 0; i < process->python.tracing_count; i++) {
		const struct python_tracing *tracing = &process->python.tracings[i];
		bool is_jax = tracing->tracer == TRACER_JAX; /* Keras asks it for little things, whatever it trains by */
		compiled += is_jax ? tracing->to_ns - tracing->from_ns : 0;
		traced += is_jax ? 0 : tracing->to_ns - tracing->from_ns;
		traces |= !is_jax;
	}
	return traces && compiled * COMPILED_PART <= traced;
}

void compile_rows_free(struct compile_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->list[i].function);
	free(rows->list);
	base_index_free(&rows->index);
}
