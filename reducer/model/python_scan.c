/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's part of the pass: which Python stack stands beside a native one, and what functions are called. See scan.h.
 *
 * Rule: a Python stack belongs to the next record of its stream that has a stack and the same time, to no other.
 */
#include "reducer/model/number_map.h"
#include "reducer/model/scan.h"

#include <stdlib.h>
#include <string.h>

#define CODES_MAX 65536u /* as the library has places (collectors/python_names.c) */

struct python_scan {
	struct scan *scan;
	struct number_map pair_of;
};

static void take_code(void *state, const struct fact *fact, const int *fields)
{
	struct python_scan *taken = state;
	struct python_rows *rows = &taken->scan->process->python;
	const struct fact_value *function = fact_text(fact, fields[1]), *file = fact_text(fact, fields[2]);
	uint64_t id = fact_number(fact, fields[0]);

	if (id > CODES_MAX || function == NULL || file == NULL)
		return;
	if (rows->codes == NULL)
		rows->codes = calloc(CODES_MAX + 1, sizeof *rows->codes);
	if (rows->codes == NULL)
		return;
	rows->code_count = CODES_MAX + 1;
	rows->codes[id] = (struct python_code){.function = run_text(taken->scan->run, function->text, function->length),
					       .file = run_text(taken->scan->run, file->text, file->length),
					       .line = (uint32_t)fact_number(fact, fields[3])};
}

static void take_stack(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct scan_python *python = &((struct python_scan *)state)->scan->python;

	python->times[stream] = batch->times[i] + 1;
	python->stacks[stream] = (uint32_t)batch_value(batch, i, fields[0]);
}

static uint64_t runs_of(const struct python_collections *read)
{
	return read->young + read->middle + read->full;
}

static void take_collections(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct python_rows *rows = &((struct python_scan *)state)->scan->process->python;

	struct python_collections read = {batch_value(batch, i, fields[0]), batch_value(batch, i, fields[1]),
					  batch_value(batch, i, fields[2]), batch_value(batch, i, fields[3]),
					  batch_value(batch, i, fields[4])};

	(void)stream;
	/* Threads' records come in no order, but the counters only grow. */
	if (!rows->has_collections || runs_of(&read) < runs_of(&rows->first))
		rows->first = read;
	if (!rows->has_collections || runs_of(&read) >= runs_of(&rows->last))
		rows->last = read;
	rows->has_collections = 1;
}

uint32_t scan_pair(struct scan *scan, size_t stream, uint32_t native)
{
	struct python_scan *taken = scan->python.state;
	struct python_rows *rows = &scan->process->python;
	uint32_t python = scan->python.stacks[stream], place = number_map_find(&taken->pair_of, native, python);
	uint64_t *wider;

	scan->python.times[stream] = 0;
	if (python == 0 || place != NUMBER_MAP_NONE)
		return python == 0 ? native : rows->pair_first + place;
	if ((rows->pair_count & (rows->pair_count - 1)) == 0) {
		wider = realloc(rows->pairs, (rows->pair_count == 0 ? 1 : rows->pair_count * 2) * sizeof *wider);
		if (wider == NULL)
			return native;
		rows->pairs = wider;
	}
	place = (uint32_t)rows->pair_count;
	if (number_map_set(&taken->pair_of, native, python, place) != 0)
		return native;
	rows->pairs[rows->pair_count++] = (uint64_t)native << 32 | python;
	return rows->pair_first + place;
}

static const struct scan_record records[] = {
	{"python_stack", take_stack, NULL, {"stack"}},
	{"python_collections", take_collections, NULL, {"young", "middle", "full", "collected", "uncollectable"}},
};

static const struct scan_fact facts[] = {
	{"python_code", take_code, {"id", "function", "file", "line"}},
};

static void drop(void *state)
{
	struct python_scan *taken = state;

	free(taken->scan->python.times);
	free(taken->scan->python.stacks);
	taken->scan->python = (struct scan_python){0};
	number_map_free(&taken->pair_of);
	free(taken);
}

static void *begin(struct scan *scan)
{
	struct python_scan *taken = calloc(1, sizeof *taken);
	size_t streams = scan->process->log->stream_count + 1;
	uint64_t nodes = scan->process->log->live.nodes_count;

	if (taken == NULL)
		return NULL;
	taken->scan = scan;
	scan->python = (struct scan_python){.state = taken,
					    .times = calloc(streams, sizeof *scan->python.times),
					    .stacks = calloc(streams, sizeof *scan->python.stacks)};
	/* Behind the last native stack: whoever keeps arrays by stack id keeps them short. */
	scan->process->python.pair_first = nodes < STACKS_MOST ? (uint32_t)nodes + 1 : STACKS_MOST;
	if (scan->python.times != NULL && scan->python.stacks != NULL)
		return taken;
	drop(taken);
	return NULL;
}

static int finish(void *state)
{
	(void)state;
	return 0;
}

static void close_process(struct process *process)
{
	free(process->python.codes);
	free(process->python.pairs);
	free(process->python.tracings);
	free(process->python.measured);
	free(process->python.looks);
	free(process->python.held);
	process->python = (struct python_rows){0};
}

const struct scan_subject python_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.facts = facts,
	.fact_count = sizeof facts / sizeof *facts,
	.begin = begin,
	.finish = finish,
	.free = drop,
	.close = close_process,
};
