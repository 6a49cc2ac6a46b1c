/* SPDX-License-Identifier: Apache-2.0 */
/* Steps by what repeats; see reducer/model/step_guess.h. */
#include "reducer/model/step_guess.h"

#include "reducer/model/internal.h"
#include "reducer/model/periods_behind.h"
#include "reducer/model/word_kinds.h"
#include "reducer/model/xla_beside.h"
#include "reducer/model/xla_evaluation.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_OFF 8u /* of so many calls of a function one may be missing */
#define RIVAL_LEAST 5u /* as periods.c has it of steps */
#define TURNS_MOST 4u	/* calls of a line in a step, where nothing else of the loop is seen */
#define TURNS_SURE 0.9	/* confidence: rounds of more words are alike more easily */
#define TURN_KEY (STEP_GUESS_FUNCTION | STEP_GUESS_OP | UINT32_MAX) /* of no word: there are fewer names */

int step_guess_is_due(const struct process *process)
{
	const struct step *first = process->steps;

	return process->step_count == 0 ||
	       (process->step_count == 1 && first->source == SOURCE_record_function && first->end_ns == TIME_UNKNOWN);
}

static void add_found(struct process *process, struct step step, const struct period_step *found, double confidence)
{
	struct step *steps = model_room(process->steps, process->step_count, sizeof *steps);

	if (steps == NULL) {
		process->steps_beyond++;
		return;
	}
	process->steps = steps;
	step.time_ns = (int64_t)found->begin;
	step.end_ns = (int64_t)found->end;
	step.rest_ns = (int64_t)found->rest;
	step.confidence = confidence * found->likeness;
	step.number = process->step_count + 1;
	steps[process->step_count++] = step;
}

/* The symbol of that key, or one more behind all others where there is none; symbol_count without memory. */
static uint32_t symbol_of(struct periods *periods, uint64_t key)
{
	struct period_symbol *symbols;
	uint32_t i = 0;

	while (i < periods->symbol_count && periods->symbols[i].key != key)
		i++;
	if (i < periods->symbol_count)
		return i;
	symbols = realloc(periods->symbols, (periods->symbol_count + 1) * sizeof *symbols);
	if (symbols == NULL)
		return i;
	periods->symbols = symbols;
	periods->symbol_room = ++periods->symbol_count;
	symbols[i] = (struct period_symbol){.key = key};
	return i;
}

/* Of so many words in a row that are the key or `other` the first is the key, and the next are `other`. */
static void set_turns(struct periods *periods, uint32_t key, uint32_t other, size_t turns)
{
	size_t turn = 0;

	periods->symbols[key].count = periods->symbols[other].count = 0;
	for (size_t i = 0; i < periods->count; i++) {
		struct period_word *word = &periods->words[i];
		if (word->symbol != key && word->symbol != other)
			continue;
		word->symbol = turn++ % turns == 0 ? key : other;
		periods->symbols[word->symbol].count++;
	}
}

/*
 * A line that calls several functions, or one of another's result (f(f(x))), has the same name for each call: one alone is no round
 * where what the line gives back comes behind all of them. Two to TURNS_MOST of them are, where rounds of so many are all alike.
 */
static int count_turns(struct periods *periods, uint64_t key, struct period_found *counted)
{
	size_t known = periods->symbol_count;
	uint32_t first = symbol_of(periods, key), other = symbol_of(periods, TURN_KEY);

	if (first >= known || other >= periods->symbol_count)
		return 0;
	for (size_t turns = 2; turns <= TURNS_MOST; turns++) {
		set_turns(periods, first, other, turns);
		if (periods_find_at(periods, key, 0, counted) != 0)
			return -1;
		if (counted->count > 0 && counted->confidence >= TURNS_SURE)
			return 0;
		free(counted->steps);
		*counted = (struct period_found){.steps = NULL};
	}
	set_turns(periods, first, other, 1);
	return 0;
}

/* Compiles a call of that word for the loop, in steps that most others lack it in, where Keras does not say what it trains by? */
static int is_of_compiling(const struct step_guess *known, const struct xla_loop *loop, uint64_t id, int is_rare)
{
	return loop->is_trained ? is_rare && xla_runs_is_training(known->xla_runs, id) : xla_runs_compiles(known->xla_runs, loop, id);
}

/*
 * What a step compiles comes before the call that its anchor is: from the first word of training that most steps lack, or where the line
 * compiles; Python traces before that.
 */
static void begin_with_compiling(const struct step_guess *known, const struct xla_loop *loop, const uint32_t *counts, size_t anchor,
				 struct period_found *found, size_t step)
{
	const struct periods *periods = known->periods;
	struct period_step *one = &found->steps[step], *before = &found->steps[step - 1];

	for (size_t i = anchor; i > 0 && periods->words[i - 1].time > before->begin; i--) {
		const struct period_word *word = &periods->words[i - 1];
		uint64_t id = periods->symbols[word->symbol].key & (STEP_GUESS_FUNCTION - 1);
		if (is_of_compiling(known, loop, id, counts[word->symbol] * 2 < found->count))
			one->begin = word->time;
	}
	before->end = one->begin;
	if (before->rest >= one->begin)
		before->rest = 0;
}

static void begin_all_with_compiling(const struct step_guess *known, const struct xla_loop *loop, const uint8_t *is_first,
				     struct period_found *found)
{
	const struct periods *periods = known->periods;
	uint32_t *counts = xla_evaluation_count(periods, found);
	size_t step = 1;

	for (size_t i = 0; counts != NULL && i < periods->count; i++) {
		while (step < found->count && found->steps[step].begin < periods->words[i].time)
			step++;
		if (is_first[i] && step < found->count && found->steps[step].begin == periods->words[i].time)
			begin_with_compiling(known, loop, counts, i, found, step);
	}
	free(counts);
}

/*
 * Where the last step compiled nothing it lasts no longer than the others of its kind: it lacks words that most have, and would end
 * somewhere behind the loop.
 */
static void end_without_compiling(const struct periods *periods, const uint8_t *is_first, struct period_found *found)
{
	struct period_step *last = &found->steps[found->count - 1];
	uint64_t longest = 0, end = last->begin;
	int is_compiled = 1;

	for (size_t i = 0, step = 0; i < periods->count && step < found->count; i++) {
		const struct period_step *one = &found->steps[step];
		if (periods->symbols[periods->words[i].symbol].key != found->anchor)
			continue;
		is_compiled = is_first[i];
		if (!is_compiled && one != last && one->end - one->begin > longest)
			longest = one->end - one->begin;
		step++;
	}
	if (is_compiled || longest == 0 || last->end - last->begin <= longest)
		return;
	for (size_t i = 0; i < periods->count; i++)
		if (periods->words[i].time > end && periods->words[i].time - last->begin <= longest)
			end = periods->words[i].time;
	last->end = end;
}

/* Which words are calls of the loop that compiled. NULL = no memory; else to be freed. */
static uint8_t *find_firsts(const struct periods *periods, const struct xla_loop *loop)
{
	uint8_t *is_first = calloc(periods->count + 1, 1);

	for (size_t i = 0; is_first != NULL && i < periods->count; i++)
		for (size_t k = 0; k < loop->count; k++)
			if ((loop->firsts >> k & 1) && periods->symbols[periods->words[i].symbol].key == (loop->ids[k] | STEP_GUESS_OP))
				is_first[i] = 1;
	return is_first;
}

/* The steps that Keras says it trains, or that compile again and again: each call is one, be they alike or not. */
static int count_calls(const struct step_guess *known, const struct xla_loop *loop, const uint64_t *keys, struct period_found *counted)
{
	int is_known = loop->is_trained || loop->compiles_again, result;
	uint8_t *is_first = find_firsts(known->periods, loop);

	periods_join(known->periods, keys, loop->count);
	result = periods_find_at(known->periods, keys[0], is_known, counted);
	for (size_t i = 0; is_known && i < counted->count; i++)
		counted->steps[i].likeness = 1;
	if (is_known)
		counted->confidence = 1;
	if (result == 0 && is_first != NULL && counted->count > 0)
		begin_all_with_compiling(known, loop, is_first, counted);
	if (result == 0 && is_first != NULL && counted->count > 0 && loop->compiles_again)
		end_without_compiling(known->periods, is_first, counted);
	free(is_first);
	return result;
}

/*
 * Does another function run once after several of the calls that are counted, again and again? Then nothing tells which of the two
 * is the step: what a script does sixteen times for each time that it learns, or what it learns by.
 */
static int has_rival(const struct step_guess *known, const struct xla_loop *loop, uint64_t key)
{
	const struct periods *periods = known->periods;
	uint8_t *may_end = calloc(periods->symbol_count + 1, 1);
	size_t since = 0, behind_several = 0, others = 0;

	for (size_t i = 0; may_end != NULL && i < periods->symbol_count; i++) {
		uint64_t id = periods->symbols[i].key & (STEP_GUESS_FUNCTION - 1);
		may_end[i] = periods->symbols[i].key >> 62 == 1 && xla_runs_may_end_step(known->xla_runs, loop, id);
	}
	for (size_t i = 0; may_end != NULL && i < periods->count; i++) {
		since += periods->symbols[periods->words[i].symbol].key == key;
		if (!may_end[periods->words[i].symbol])
			continue;
		behind_several += since > 1;
		others += since <= 1;
		since = 0;
	}
	free(may_end);
	return behind_several >= RIVAL_LEAST && others * STEPS_OFF <= behind_several;
}

static uint64_t call_id(uint64_t key)
{
	return key >> 62 == 1 && !(key & STEP_GUESS_FUNCTION) ? key & (STEP_GUESS_FUNCTION - 1) : UINT64_MAX;
}

/*
 * A loop of JAX by the calls of its line: they are counted, where a period is an estimate, and a step may be one call, which no
 * period is found from. `found` is that loop then.
 */
static int count_xla_calls(const struct step_guess *known, struct period_found *found, struct xla_loop *loop)
{
	struct period_found counted = {.steps = NULL};
	uint64_t keys[XLA_RUNS_JOINED];

	xla_runs_find(known->xla_runs, found->count, loop);
	for (size_t i = 0; i < loop->count; i++)
		keys[i] = loop->ids[i] | STEP_GUESS_OP;
	if (loop->count == 0)
		return 0;
	if (count_calls(known, loop, keys, &counted) != 0)
		return -1;
	if (counted.count == 0 && found->count == 0 && count_turns(known->periods, keys[0], &counted) != 0)
		return -1;
	if (counted.count == 0) {
		loop->count = 0;
		return 0;
	}
	if (!loop->is_trained && (found->count == 0 || has_rival(known, loop, keys[0])))
		counted.confidence /= 2; /* one line is all there is to it; or two may be it */
	free(found->steps);
	*found = counted;
	if (!loop->is_trained)
		xla_evaluation_leave(known->periods, known->xla_runs, loop, call_id, found);
	return 0;
}

/* Does nearly each of the steps call it? */
static int is_called_by(const struct period_symbol *symbol, size_t steps)
{
	return (symbol->key & STEP_GUESS_FUNCTION) != 0 && symbol->count <= steps && symbol->count + symbol->count / STEPS_OFF >= steps;
}

/* When the function of TensorFlow's that nearly all steps call was called first; 0 = there is none. */
static uint64_t first_call(const struct periods *periods, size_t steps)
{
	size_t symbol = SIZE_MAX, word = 0;

	for (size_t i = 0; i < periods->symbol_count; i++)
		if (is_called_by(&periods->symbols[i], steps) &&
		    (symbol == SIZE_MAX || periods->symbols[i].count > periods->symbols[symbol].count))
			symbol = i;
	while (symbol != SIZE_MAX && periods->words[word].symbol != symbol)
		word++;
	return symbol == SIZE_MAX ? 0 : periods->words[word].time;
}

/* How far is_only_traced has come: steps are asked for in their order. */
struct traced_place {
	size_t word, tracing;
};

/* Whether a compiler ran in the step, and none of its words came behind that: what was traced did not run. */
static int is_only_traced(const struct process *process, const struct periods *periods, const struct period_step *step,
			  struct traced_place *at)
{
	const struct python_rows *python = &process->python;
	uint64_t last = step->begin;

	for (; at->word < periods->count && periods->words[at->word].time < step->end; at->word++)
		last = periods->words[at->word].time > last ? periods->words[at->word].time : last;
	while (at->tracing < python->tracing_count && python->tracings[at->tracing].to_ns < (int64_t)last)
		at->tracing++;
	for (size_t t = at->tracing; t < python->tracing_count; t++)
		if (python->tracings[t].from_ns < (int64_t)step->end && python->tracings[t].to_ns >= (int64_t)last)
			return 1;
	return 0;
}

/*
 * What comes before the loop and begins like a step: a model was made, traced or loaded with some of the same ops. It lacks most of a
 * step, or the function that nearly all steps call was not called yet, or it was traced alone (torch.export). In a loop of JAX the first
 * step has words of its own. How many.
 */
static size_t count_before_loop(const struct process *process, const struct step_guess *known, const struct period_found *found)
{
	uint64_t begin = known->xla_runs == NULL ? first_call(known->periods, found->count) : 0;
	struct traced_place at = {0, 0};
	size_t before = 0;

	while (known->xla_runs == NULL && before < found->count &&
	       (found->steps[before].is_part || found->steps[before].end <= begin ||
		is_only_traced(process, known->periods, &found->steps[before], &at)))
		before++;
	return before;
}

static int is_backward(const struct step_guess *known, const struct period_symbol *symbol)
{
	static const char begin[] = "autograd::engine::evaluate_function: ";

	return symbol->key >> 62 == 1 &&
	       strncmp(known->op_text(known->state, symbol->key & (STEP_GUESS_FUNCTION - 1)), begin, sizeof begin - 1) == 0;
}

#define TRAINED_RUN 4u /* such steps behind each other, in the mean: who acts often and learns once has one */

/*
 * Which of the steps hold a backward pass of PyTorch: the others are batches that a loop evaluates, where most hold one, or where those
 * that do follow each other (an epoch, then its validation, be that the longer one). NULL = that is not so; else to be freed.
 */
static char *find_trained(const struct step_guess *known, const struct period_found *found)
{
	const struct periods *periods = known->periods;
	size_t trained = 0, runs = 0, step = 0;
	char *is_trained = calloc(found->count + 1, 1), *is_backward_symbol = calloc(periods->symbol_count + 1, 1);

	for (size_t i = 0; is_backward_symbol != NULL && i < periods->symbol_count; i++)
		is_backward_symbol[i] = (char)is_backward(known, &periods->symbols[i]);
	for (size_t i = 0; is_trained != NULL && is_backward_symbol != NULL && i < periods->count; i++) {
		const struct period_word *word = &periods->words[i];
		if (!is_backward_symbol[word->symbol])
			continue;
		while (step < found->count && word->time >= found->steps[step].end)
			step++;
		if (step == found->count || word->time < found->steps[step].begin)
			continue;
		trained += !is_trained[step];
		runs += !is_trained[step] && (step == 0 || !is_trained[step - 1]);
		is_trained[step] = 1;
	}
	free(is_backward_symbol);
	if (is_trained != NULL && (trained * 2 > found->count || (trained != 0 && trained >= TRAINED_RUN * runs)))
		return is_trained;
	free(is_trained);
	return NULL;
}

/* A batch that is evaluated: the step before it is over. */
static void leave_out(struct process *process, uint64_t begin)
{
	struct step *before = process->step_count > 0 ? &process->steps[process->step_count - 1] : NULL;

	if (before == NULL || before->is_evaluated)
		return;
	if (before->rest_ns == 0)
		before->rest_ns = (int64_t)begin;
	before->is_evaluated = 1;
}

/* Between two requests of a model that generates token by token, say, the word that begins a step comes once or twice more. */
static int is_between(const struct period_found *found, size_t i)
{
	return found->steps[i].is_stub && i > 0 && i + 1 < found->count;
}

static void end_before(struct process *process, uint64_t begin)
{
	struct step *before = process->step_count > 0 ? &process->steps[process->step_count - 1] : NULL;

	if (before != NULL && before->rest_ns == 0)
		before->rest_ns = (int64_t)begin;
}

static void add_steps(struct process *process, const struct step_guess *known, const struct period_found *found, struct step step,
		      int is_counted)
{
	char *is_trained = find_trained(known, found);

	if (is_trained != NULL)
		step.trained = TRAINED_BACKWARD;
	for (size_t i = count_before_loop(process, known, found); i < found->count; i++)
		if (is_trained != NULL && !is_trained[i])
			leave_out(process, found->steps[i].begin);
		else if (!is_counted && is_between(found, i))
			end_before(process, found->steps[i].begin);
		else if (is_counted || found->steps[i].words > 1) /* else a loader was asked once more and had nothing */
			add_found(process, step, &found->steps[i], found->confidence);
	free(is_trained);
}

static void tell_kinds(const struct step_guess *known)
{
	for (size_t i = 0; i < known->periods->symbol_count; i++) {
		struct period_symbol *symbol = &known->periods->symbols[i];
		if (symbol->key >> 62 == 1 && !(symbol->key & STEP_GUESS_FUNCTION))
			symbol->kind = word_kind(known->op_text(known->state, symbol->key & (STEP_GUESS_FUNCTION - 1)));
	}
}

/* What runs behind a step may be traced first, in Python, before the first call of it: that is no part of the step either. */
static void leave_tracing(struct process *process)
{
	const struct python_rows *python = &process->python;
	size_t from = 0;

	for (size_t i = 0; i < process->step_count; i++) {
		struct step *step = &process->steps[i];
		while (from < python->tracing_count && python->tracings[from].to_ns < step->time_ns)
			from++;
		for (size_t t = from; t < python->tracing_count && python->tracings[t].from_ns < step->rest_ns; t++)
			if (python->tracings[t].thread == step->thread && python->tracings[t].from_ns > step->time_ns &&
			    python->tracings[t].to_ns >= step->rest_ns)
				step->rest_ns = python->tracings[t].from_ns;
	}
}

/* What a step compiles was traced before, in Python: that is part of this step, and not of the one before it. */
static void begin_with_tracing(struct process *process)
{
	const struct python_rows *python = &process->python;
	size_t from = 0;

	for (size_t i = 1; i < process->step_count; i++) {
		struct step *step = &process->steps[i], *before = step - 1;
		while (from < python->tracing_count && python->tracings[from].to_ns < step->time_ns)
			from++;
		for (size_t t = from; t < python->tracing_count && python->tracings[t].from_ns < step->time_ns; t++)
			if (python->tracings[t].thread == step->thread && python->tracings[t].from_ns > before->time_ns)
				step->time_ns = python->tracings[t].from_ns;
		if (before->end_ns != TIME_UNKNOWN && before->end_ns > step->time_ns)
			before->end_ns = step->time_ns;
		if (before->rest_ns >= step->time_ns)
			before->rest_ns = 0;
	}
}

/*
 * Calls of JAX return before their work is done: on the CPU up to 32 of them. Where a call behind the last step took more than half
 * as long as all steps but the first, such work was waited for there, and the steps do not have it.
 */
static void find_awaited(struct process *process, const struct xla_runs *runs)
{
	const struct step *steps = process->steps;
	uint64_t sum = 0, begin = 0, took;

	if (process->step_count < 2 || steps[process->step_count - 1].end_ns == TIME_UNKNOWN)
		return;
	for (size_t i = 1; i < process->step_count; i++)
		sum += (uint64_t)((steps[i].rest_ns != 0 ? steps[i].rest_ns : steps[i].end_ns) - steps[i].time_ns);
	took = xla_runs_awaited(runs, (uint64_t)steps[process->step_count - 1].end_ns, &begin);
	if (took <= sum / 2)
		return;
	process->awaited_from_ns = (int64_t)begin;
	process->awaited_to_ns = (int64_t)(begin + took);
}

/* "Torch-Compiled Region: 3/1" is version 1 of region 3, made for other shapes: the part before the version. 0 = it is none. */
static size_t region_of(const struct step_guess *known, const struct period_symbol *symbol, const char **name)
{
	static const char begin[] = "Torch-Compiled Region: ";

	*name = symbol->key >> 62 == 1 && !(symbol->key & STEP_GUESS_FUNCTION)
			? known->op_text(known->state, symbol->key & (STEP_GUESS_FUNCTION - 1))
			: "";
	return strncmp(*name, begin, sizeof begin - 1) == 0 ? strcspn(*name, "/") : 0;
}

/* All versions of a region are one word. */
static void join_versions(const struct step_guess *known)
{
	struct periods *periods = known->periods;
	const char *name, *other;

	for (size_t i = 0; i < periods->symbol_count; i++) {
		size_t length = periods->symbols[i].count == 0 ? 0 : region_of(known, &periods->symbols[i], &name);
		for (size_t k = i + 1; length > 0 && k < periods->symbol_count; k++) {
			uint64_t keys[2] = {periods->symbols[i].key, periods->symbols[k].key};
			if (periods->symbols[k].count > 0 && region_of(known, &periods->symbols[k], &other) == length &&
			    strncmp(name, other, length) == 0)
				periods_join(periods, keys, 2);
		}
	}
}

/* The last step has the op that it ends with. */
static void end_with_op(const struct step_guess *known, struct period_found *found)
{
	struct period_step *last = found->count == 0 ? NULL : &found->steps[found->count - 1];

	if (last != NULL && last->ends_with_word)
		last->end = last_ends_find(known->ends, last->end);
}

/* Another loop before the steps or behind them. */
static int find_other(struct process *process, const struct step_guess *known, const struct period_found *found)
{
	struct period_other other = {.rounds = 0};
	int result = known->xla_runs == NULL && found->count > 0 ? periods_find_other(known->periods, found, &other) : 0;

	if (known->xla_runs == NULL) {
		process->aside.calls = other.rounds;
		process->aside.where = other.is_before ? LOOP_BEFORE : LOOP_BEHIND;
	}
	return result;
}

int step_guess(struct process *process, const struct step_guess *known)
{
	struct period_step first = {.begin = 0};
	struct xla_loop loop = {.count = 0};
	struct period_found found = {.steps = NULL};

	if (!step_guess_is_due(process))
		return 0;
	tell_kinds(known);
	join_versions(known);
	if ((known->xla_runs == NULL ? periods_find_loop : periods_find)(known->periods, &found) != 0 ||
	    (known->xla_runs != NULL && count_xla_calls(known, &found, &loop) != 0))
		return -1;
	if (found.count > 0)
		process->step_count = 0;
	int is_op = found.anchor >> 62 == 1;
	struct step step = {.source = STEP_BY_PERIOD,
			    .thread = found.thread,
			    .is_chosen = 1,
			    .trained = loop.count == 0 ? TRAINED_UNKNOWN : loop.is_trained ? TRAINED_ON_JAX : COUNTED_ON_JAX,
			    .name = found.count == 0 || is_op ? NULL : known->text(known->state, found.anchor)};
	if (loop.count > 0 && loop.begin != 0 && loop.begin < found.steps[0].begin)
		found.steps[0].begin = loop.begin; /* it compiled */
	else if (loop.count == 0 && found.count > 0 && is_op && known->xla_runs != NULL)
		first = (struct period_step){
			.begin = xla_runs_before(known->xla_runs, (uint32_t)found.anchor, found.count, found.steps[0].begin),
			.end = found.steps[0].begin,
			.likeness = 1};
	if (first.begin != 0)
		add_found(process, step, &first, found.confidence);
	end_with_op(known, &found);
	if (find_other(process, known, &found) != 0)
		return -1;
	if (found.count > 0 && known->xla_runs == NULL && found.steps[found.count - 1].is_part)
		found.steps[found.count - 1].end = (uint64_t)TIME_UNKNOWN; /* nothing says that it is one that ended */
	add_steps(process, known, &found, step, loop.count > 0);
	if (known->xla_runs != NULL) {
		if (loop.count > 0 && !loop.is_trained && loop.firsts != 0)
			begin_with_tracing(process);
		leave_tracing(process);
		find_awaited(process, known->xla_runs);
		xla_beside_find(process, known, &loop);
	}
	free(found.steps);
	return 0;
}
