/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges, marks and steps, from the records of the log; and, where nobody marked a step, steps by period. See scan.h.
 *
 * Rule: this file unpacks and names; ranges.c knows how ranges nest, step_guesses.c what repeats. Stands before every subject that
 * asks what a thread is in.
 */
#include "reducer/model/call_places.h"
#include "reducer/model/last_ends.h"
#include "reducer/model/periods.h"
#include "reducer/model/range_domains.h"
#include "reducer/model/ranges.h"
#include "reducer/model/requests.h"
#include "reducer/model/round.h"
#include "reducer/model/scan.h"
#include "reducer/model/step_choice.h"
#include "reducer/model/step_guesses.h"
#include "reducer/model/steps_beside.h"
#include "reducer/model/texts.h"
#include "reducer/model/word_kinds.h"

#include <stdlib.h>
#include <string.h>

#define SCOPE_FUNCTION 7 /* of an eager op */
#define XLA_RUN_LEAST_NS 1000.0 /* no call that runs a function of JAX is shorter: 2,700 were the least; one that frees takes 40 to 860 */
#define NAMES_MOST 65536u /* ids of op names that are looked at for a compiler's */

/* What came before a range or a step in its stream and belongs to it. */
struct waiting {
	uint32_t step;   /* index + 1 into process->steps of a step whose range comes next, 0 = none */
	uint64_t words[2]; /* the first of a structured payload: communicator, bytes */
	int has_words;
	uint32_t ops; /* of PyTorch and eager ones that are open */
	uint64_t ops_since; /* the outermost of them */
	int is_traced; /* a compiler traces in the outermost of them */
	uint32_t xla_call; /* of a stream of JAX: the last call's name, */
	uint64_t xla_since; /* and its begin; 0 = it is over */
};

struct taken {
	struct scan *scan;
	struct ranges ranges;
	struct periods periods;
	struct call_places places; /* needed until an op of a framework or a step came */
	struct requests requests;
	struct last_ends ends; /* of outermost ops */
	struct xla_runs *xla_runs; /* NULL = JAX was not met */
	struct op_names op_names;
	struct texts texts;
	struct range_domains domains;
	size_t *stack_of;         /* by stream */
	struct waiting *waiting;  /* by stream */
	int is_helper;            /* its ops make no steps */
	uint8_t traces[NAMES_MOST]; /* by op name: 0 = not looked at, 1 = no sign of a compiler, 2 = one */
	struct op_numbers numbers; /* by sum */
};

static void take_string(void *state, const struct fact *fact, const int *fields)
{
	struct taken *taken = state;
	const struct fact_value *text = fact_text(fact, fields[1]);

	struct text_of *place = text == NULL ? NULL : texts_place(&taken->texts, fact_number(fact, fields[0]));

	if (place != NULL && place->text == NULL) {
		*place = (struct text_of){fact_number(fact, fields[0]), run_text(taken->scan->run, text->text, text->length)};
		taken->texts.count++;
	}
}

static void take_domain(void *state, const struct fact *fact, const int *fields)
{
	struct taken *taken = state;
	const struct fact_value *text = fact_text(fact, fields[1]);

	if (text != NULL)
		range_domains_add(&taken->domains, (uint32_t)fact_number(fact, fields[0]),
				  run_text(taken->scan->run, text->text, text->length));
}

static const char *domain_of(const struct taken *taken, uint32_t id)
{
	return range_domains_name(&taken->domains, id);
}

static uint32_t same_domain(const struct taken *taken, uint64_t id)
{
	return range_domains_same(&taken->domains, id);
}

static const char *text_of(struct taken *taken, uint64_t hash)
{
	return texts_get(&taken->texts, hash);
}

static void add_words(struct taken *taken, size_t stream, uint32_t sum)
{
	struct waiting *waiting = &taken->waiting[stream];
	const char *name = text_of(taken, taken->ranges.sums[sum].name);

	if (!waiting->has_words)
		return;
	waiting->has_words = 0;
	if (strcmp(domain_of(taken, taken->ranges.sums[sum].domain), "NCCL") != 0)
		return; /* only NCCL's layout is known: communicator, bytes, ... */
	if (name == NULL || strncmp(name, "ncclComm", strlen("ncclComm")) == 0)
		return; /* these give ranks and devices instead; one whose name the log lacks may be such */
	taken->ranges.sums[sum].bytes += waiting->words[1];
	taken->ranges.sums[sum].with_bytes++;
}

static uint32_t thread_of(const struct taken *taken, size_t stream)
{
	return taken->scan->process->log->streams[stream].thread;
}

/* So many words come on the stream's thread. */
static void say_words_in(struct taken *taken, size_t stream, size_t count)
{
	const struct range_stack *stack = &taken->ranges.stacks[taken->stack_of[stream]];

	requests_say(&taken->requests, stack->count > 0 ? stack->open[0].sum : REQUESTS_NONE, count);
}

static void say_word_of(struct taken *taken, size_t stream, uint64_t key, uint64_t time)
{
	say_words_in(taken, stream, 1);
	taken->periods.is_within = taken->waiting[stream].xla_since != 0;
	periods_add(&taken->periods, key, time, thread_of(taken, stream));
}

static void say_word(void *state, uint64_t key, uint64_t time)
{
	struct taken *taken = state;

	taken->periods.is_within = 0;
	periods_add(&taken->periods, key, time, 0);
}

static void take_push(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	uint32_t sum = ranges_sum(&taken->ranges, batch_value(batch, i, fields[0]), same_domain(taken, batch_value(batch, i, fields[1])),
				  (uint8_t)batch_value(batch, i, fields[2]));

	if (taken->ranges.stacks[taken->stack_of[stream]].count == 0)
		requests_begin(&taken->requests, sum, thread_of(taken, stream));
	ranges_push(&taken->ranges, taken->stack_of[stream], sum, batch->times[i], taken->waiting[stream].step);
	taken->waiting[stream].step = 0;
	add_words(taken, stream, sum);
	say_word_of(taken, stream, batch_value(batch, i, fields[0]), batch->times[i]);
}

static void take_pop(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	uint32_t step = ranges_pop(&taken->ranges, taken->stack_of[stream], same_domain(taken, batch_value(batch, i, fields[0])),
				   (uint8_t)batch_value(batch, i, fields[1]), batch->times[i]);

	if (step != 0)
		taken->scan->process->steps[step - 1].end_ns = (int64_t)batch->times[i];
}

static void take_start(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	uint32_t sum = ranges_sum(&taken->ranges, batch_value(batch, i, fields[1]), same_domain(taken, batch_value(batch, i, fields[2])),
				  (uint8_t)batch_value(batch, i, fields[3]));

	ranges_start(&taken->ranges, batch_value(batch, i, fields[0]), sum, thread_of(taken, stream), batch->times[i]);
	taken->waiting[stream].step = 0;
	add_words(taken, stream, sum);
	say_word_of(taken, stream, batch_value(batch, i, fields[1]), batch->times[i]);
}

static void take_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;

	ranges_end(&taken->ranges, batch_value(batch, i, fields[0]), thread_of(taken, stream), batch->times[i]);
}

static void take_mark(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	uint32_t sum = ranges_sum(&taken->ranges, batch_value(batch, i, fields[0]), same_domain(taken, batch_value(batch, i, fields[1])),
				  (uint8_t)batch_value(batch, i, fields[2]));

	taken->ranges.sums[sum].marks++;
	taken->waiting[stream].step = 0;
	add_words(taken, stream, sum);
	say_word_of(taken, stream, batch_value(batch, i, fields[0]), batch->times[i]);
}

static void take_words(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct waiting *waiting = &((struct taken *)state)->waiting[stream];

	waiting->has_words = batch_value(batch, i, fields[0]) >= 16;
	waiting->words[0] = batch_value(batch, i, fields[1]);
	waiting->words[1] = batch_value(batch, i, fields[2]);
}

static void take_step(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	struct process *process = taken->scan->process;
	struct step *steps = model_room(process->steps, process->step_count, sizeof *steps);
	uint64_t name = batch_value(batch, i, fields[1]);

	if (steps == NULL) {
		process->steps_beyond++;
		return;
	}
	process->steps = steps;
	steps[process->step_count++] = (struct step){
		.time_ns = (int64_t)batch->times[i], .end_ns = TIME_UNKNOWN, .number = batch_value(batch, i, fields[0]),
		.thread = thread_of(taken, stream), .source = (unsigned)batch_value(batch, i, fields[2]),
		.name = name == 0 ? NULL : text_of(taken, name), .confidence = 1};
	taken->waiting[stream].step = name == 0 ? 0 : (uint32_t)process->step_count;
	taken->places.is_unneeded = 1;
}

static void take_step_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	struct step *step = step_choice_ended(taken->scan->process, batch_value(batch, i, fields[0]), thread_of(taken, stream));

	if (step == NULL)
		return;
	step->end_ns = (int64_t)batch->times[i];
	step->is_empty = batch_value(batch, i, fields[1]) != 0;
}

static void take_window(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)stream;
	if (batch_value(batch, i, fields[0]) == 0)
		ranges_cut(&((struct taken *)state)->ranges, batch->times[i]);
}

static void take_calls(void *state, size_t stream, const struct batch *batch, size_t from, size_t to, const int *fields)
{
	struct taken *taken = state;
	const struct batch_kind *kind = batch->kinds[batch->tags[from]];
	const uint64_t *functions = scan_values(kind, batch->rows[from], fields[0]);
	const struct call_list calls = {.functions = functions, .stacks = scan_values(kind, batch->rows[from], fields[1]),
					.contexts = scan_values(kind, batch->rows[from], fields[2]),
					.times = batch->times + from, .count = to - from};
	uint32_t thread = thread_of(taken, stream);

	say_words_in(taken, stream, to - from);
	taken->periods.is_within = taken->waiting[stream].xla_since != 0;
	call_places_add(&taken->places, &calls, thread);
	for (size_t i = 0, next = 0; i < to - from; i = next) {
		for (next = i + 1; next < to - from && functions[next] == functions[i];)
			next++;
		periods_add_times(&taken->periods, functions[i] | STEP_GUESS_CALL, batch->times + from + i, next - i, thread);
	}
}

static void take_call(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	take_calls(state, stream, batch, i, i + 1, fields);
}

static void take_launch(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	if (batch_value(batch, i, fields[0]) != 0)
		say_word_of(state, stream, batch_value(batch, i, fields[0]), batch->times[i]);
}

static bool is_call_of_host(uint64_t source)
{
	return source == SOURCE_eager || source == SOURCE_record_function || source == SOURCE_xla;
}

static const char *op_text(const struct taken *taken, uint64_t id)
{
	const struct scan_ops *ops = &taken->scan->ops;

	return ops->name == NULL ? "" : ops->name(ops->name_state, id);
}

/* Of a thread at most one is open. */
static void take_xla_call(struct taken *taken, size_t stream, uint64_t id, uint64_t time)
{
	if (taken->xla_runs == NULL)
		taken->xla_runs = xla_runs_make((uint64_t)(XLA_RUN_LEAST_NS / taken->scan->process->clock->ns_per_tick));
	if (taken->xla_runs == NULL)
		return;
	if (xla_runs_is_new(taken->xla_runs, id))
		xla_runs_name(taken->xla_runs, id, op_text(taken, id));
	xla_runs_begin(taken->xla_runs, id, time, taken->scan->process->log->streams[stream].thread);
	taken->waiting[stream].xla_call = (uint32_t)id;
	taken->waiting[stream].xla_since = time;
}

static int is_tracing(struct taken *taken, uint64_t id)
{
	if (id >= NAMES_MOST)
		return 0;
	if (taken->traces[id] == 0)
		taken->traces[id] = (uint8_t)(1 + word_is_tracing(op_text(taken, id)));
	return taken->traces[id] == 2;
}

/* An op inside the outermost one: what a compiler traces there makes a step longer than others. */
static void take_inner(struct taken *taken, size_t stream, const struct batch *batch, size_t i, uint64_t id)
{
	struct waiting *waiting = &taken->waiting[stream];

	if (waiting->is_traced || !is_tracing(taken, id) || taken->is_helper || !step_guess_is_due(taken->scan->process))
		return;
	waiting->is_traced = 1;
	say_word_of(taken, stream, id | STEP_GUESS_OP, batch->times[i]);
}

/* An outermost op of PyTorch, an eager one of TensorFlow, or a call of JAX into XLA. STEP_GUESS_OP keeps it apart. */
static void take_op(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	const struct process *process = taken->scan->process;
	struct waiting *waiting = &taken->waiting[stream];
	int is_function = batch_value(batch, i, fields[1]) == SOURCE_eager && batch_value(batch, i, fields[2]) == SCOPE_FUNCTION;
	uint64_t key = batch_value(batch, i, fields[0]) | STEP_GUESS_OP | (is_function ? STEP_GUESS_FUNCTION : 0);

	if (!is_call_of_host(batch_value(batch, i, fields[1])))
		return;
	taken->places.is_unneeded = 1;
	if (waiting->ops++ > 0) {
		take_inner(taken, stream, batch, i, batch_value(batch, i, fields[0]));
	} else {
		waiting->is_traced = 0;
		waiting->ops_since = batch->times[i];
		if (!taken->is_helper && step_guess_is_due(process))
			say_word_of(state, stream, key, batch->times[i]);
	}
	if (batch_value(batch, i, fields[1]) == SOURCE_xla)
		take_xla_call(taken, stream, batch_value(batch, i, fields[0]), batch->times[i]); /* what comes from now on is within it */
}

static void take_op_end(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct taken *taken = state;
	struct waiting *waiting = &taken->waiting[stream];

	if (batch_value(batch, i, fields[0]) == SOURCE_xla && waiting->xla_since != 0) {
		xla_runs_end(taken->xla_runs, waiting->xla_call, batch->times[i] - waiting->xla_since);
		xla_runs_lasted(taken->xla_runs, waiting->xla_call, waiting->xla_since, batch->times[i]);
		waiting->xla_since = 0;
	}
	if (waiting->ops == 0 || !is_call_of_host(batch_value(batch, i, fields[0])))
		return;
	if (--waiting->ops == 0)
		last_ends_say(&taken->ends, waiting->ops_since, batch->times[i]);
}

static void take_nothing(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	(void)state, (void)stream, (void)batch, (void)i, (void)fields;
}

static const struct scan_record records[] = {
	{"range_push", take_push, NULL, {"name", "domain", "source"}},
	{"range_pop", take_pop, NULL, {"domain", "source"}},
	{"range_start", take_start, NULL, {"id", "name", "domain", "source"}},
	{"range_end", take_end, NULL, {"id"}},
	{"range_detail", take_nothing, NULL, {NULL}},
	{"range_words", take_words, NULL, {"bytes", "a", "b"}},
	{"mark", take_mark, NULL, {"name", "domain", "source"}},
	{"step", take_step, NULL, {"number", "name", "source"}},
	{"step_end", take_step_end, NULL, {"number", "is_empty"}},
	{"window", take_window, NULL, {"is_open"}},
	{"gpu_launch", take_launch, NULL, {"kernel"}},
	{"gpu_call", take_call, NULL, {"function", "stack", "context"}, take_calls},
	{"op_begin", take_op, NULL, {"name", "source", "scope"}},
	{"op_end", take_op_end, NULL, {"source"}},
};

static const struct scan_fact facts[] = {
	{"string", take_string, {"hash", "text"}},
	{"range_domain", take_domain, {"id", "name"}},
};

/* The number of a sum's name in op_names. */
static uint32_t op_of(struct taken *taken, uint32_t sum)
{
	uint32_t *number = op_numbers_at(&taken->numbers, sum);

	if (number != NULL && *number == 0)
		*number = op_names_number(&taken->op_names, text_of(taken, taken->ranges.sums[sum].name)) + 1;
	return number != NULL ? *number - 1 : 0;
}

static uint32_t current(void *state, size_t stream, uint64_t *since)
{
	struct taken *taken = state;
	uint64_t begin;
	uint32_t sum = ranges_top(&taken->ranges, taken->stack_of[stream], &begin);

	if (since != NULL)
		*since = begin;
	return begin == 0 && sum == 0 ? 0 : op_of(taken, sum);
}

static void drop(void *state)
{
	struct taken *taken = state;

	if (taken == NULL)
		return;
	ranges_free(&taken->ranges);
	periods_free(&taken->periods);
	call_places_free(&taken->places);
	requests_free(&taken->requests);
	xla_runs_free(taken->xla_runs);
	op_names_free(&taken->op_names);
	texts_free(&taken->texts);
	range_domains_free(&taken->domains);
	free(taken->stack_of);
	free(taken->waiting);
	free(taken->numbers.items);
	free(taken);
}

/* The stack of each stream: both lanes of a thread share one. Returns how many there are. */
static size_t number_stacks(struct taken *taken)
{
	const struct log *log = taken->scan->process->log;
	size_t count = 0;

	for (size_t s = 0; s < log->stream_count; s++) { /* streams are sorted by thread */
		count += s == 0 || log->streams[s - 1].thread != log->streams[s].thread;
		taken->stack_of[s] = count - 1;
	}
	return count;
}

static void *begin(struct scan *scan)
{
	struct taken *taken = calloc(1, sizeof *taken);
	size_t streams = scan->process->log->stream_count + 1;

	if (taken == NULL)
		return NULL;
	taken->scan = scan;
	taken->is_helper = process_loads_data(scan->run, scan->process);
	taken->stack_of = calloc(streams, sizeof *taken->stack_of);
	taken->waiting = calloc(streams, sizeof *taken->waiting);
	if (texts_begin(&taken->texts) != 0 || taken->stack_of == NULL || taken->waiting == NULL ||
	    ranges_begin(&taken->ranges, number_stacks(taken)) != 0 || periods_begin(&taken->periods) != 0 ||
	    call_places_begin(&taken->places, &taken->periods) != 0 || op_names_begin(&taken->op_names) != 0) {
		drop(taken);
		return NULL;
	}
	scan->ops = (struct scan_ops){.state = taken, .current = current, .changes = {&taken->ranges.changes}, .word_state = taken,
				      .word = say_word};
	scan->op_names = &taken->op_names;
	return taken;
}

static void add_row(struct taken *taken, const struct range_sum *sum)
{
	struct range_rows *rows = &taken->scan->process->range_rows;
	int is_shared = sum == taken->ranges.sums;

	rows->is_shared |= is_shared;
	rows->items[rows->count++] = (struct range_row){
		.name = is_shared ? NULL : text_of(taken, sum->name), .domain = domain_of(taken, sum->domain), .source = sum->source,
		.occurrences = sum->occurrences, .nested = sum->nested, .marks = sum->marks, .cut = sum->cut,
		.process_wide = sum->process_wide, .elsewhere = sum->elsewhere, .total_ns = (int64_t)sum->total,
		.self_ns = (int64_t)sum->self, .min_ns = sum->min == UINT64_MAX ? 0 : (int64_t)sum->min, .max_ns = (int64_t)sum->max,
		.whole = sum->whole, .whole_ns = (int64_t)sum->whole_total,
		.bytes = sum->bytes, .with_bytes = sum->with_bytes};
}

static const char *text_for_steps(void *state, uint64_t hash)
{
	return text_of(state, hash);
}

static const char *op_text_for_steps(void *state, uint64_t id)
{
	return op_text(state, id);
}

static int finish(void *state)
{
	struct taken *taken = state;
	struct process *process = taken->scan->process;
	struct range_rows *rows = &process->range_rows;

	ranges_cut(&taken->ranges, process->end_ticks);
	rows->items = calloc(taken->ranges.sum_count, sizeof *rows->items);
	if (rows->items == NULL)
		return -1;
	for (size_t i = 0; i < taken->ranges.sum_count; i++)
		if (taken->ranges.sums[i].occurrences + taken->ranges.sums[i].marks > 0)
			add_row(taken, &taken->ranges.sums[i]);
	rows->unbegun = taken->ranges.unbegun;
	rows->crossed = taken->ranges.crossed;
	rows->unfollowed = taken->ranges.too_deep + taken->ranges.too_many;
	if (taken->ranges.is_short || taken->periods.is_short || taken->places.own.is_short)
		diag_no_room(process->log->diags, process->log->path, "ranges");
	process->op_names = taken->op_names.names;
	process->op_count = taken->op_names.count;
	taken->op_names.names = NULL; /* the process's now; close_process frees it */
	struct step_guess known = {.periods = &taken->periods, .xla_runs = taken->is_helper ? NULL : taken->xla_runs,
				   .ends = &taken->ends, .text = text_for_steps, .op_text = op_text_for_steps, .state = taken};
	if (step_guesses(process, known, &taken->places, &taken->requests) != 0)
		return -1;
	step_choice(process);
	return 0;
}

static void times(struct process *process)
{
	double rate = process_rate(process);

	if (process->awaited_from_ns != 0) {
		process->awaited_from_ns = process_ns(process, (uint64_t)process->awaited_from_ns);
		process->awaited_to_ns = process_ns(process, (uint64_t)process->awaited_to_ns);
	}

	for (size_t i = 0; i < process->range_rows.count; i++) {
		struct range_row *row = &process->range_rows.items[i];
		row->total_ns = round_i64((double)row->total_ns * rate);
		row->self_ns = round_i64((double)row->self_ns * rate);
		row->min_ns = round_i64((double)row->min_ns * rate);
		row->whole_ns = round_i64((double)row->whole_ns * rate);
		row->max_ns = round_i64((double)row->max_ns * rate);
	}
	for (size_t i = 0; i < process->step_count; i++) {
		process->steps[i].time_ns = process_ns(process, (uint64_t)process->steps[i].time_ns);
		if (process->steps[i].end_ns != TIME_UNKNOWN)
			process->steps[i].end_ns = process_ns(process, (uint64_t)process->steps[i].end_ns);
		if (process->steps[i].rest_ns)
			process->steps[i].rest_ns = process_ns(process, (uint64_t)process->steps[i].rest_ns);
	}
}

static void close_process(struct process *process)
{
	free(process->aside.line);
	free(process->range_rows.items);
	free((void *)(uintptr_t)process->op_names);
}

const struct scan_subject ranges_subject = {
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
