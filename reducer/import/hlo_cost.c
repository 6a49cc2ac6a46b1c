/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of HLO instructions, from their shapes. See hlo.h.
 *
 * Rule: as XLA's own analysis counts (xla/service/hlo_cost_analysis.cc): an element-wise operation is one a result element, the
 * transcendental ones counted apart; a dot product two for each pair; moving data none.
 */
#include "reducer/import/hlo.h"

#include "reducer/base/base.h"

#include <string.h>

#define CALLS_MOST 24 /* computations inside one another; XLA nests four or five */

enum work { WORK_NONE, WORK_PLAIN, WORK_TRANSCENDENTAL, WORK_DOT, WORK_CONVOLUTION, WORK_REDUCE, WORK_CALL, WORK_UNKNOWN };

static const struct {
	const char *opcode;
	enum work work;
} works[] = {
	{"add", WORK_PLAIN},
	{"subtract", WORK_PLAIN},
	{"multiply", WORK_PLAIN},
	{"divide", WORK_PLAIN},
	{"remainder", WORK_PLAIN},
	{"maximum", WORK_PLAIN},
	{"minimum", WORK_PLAIN},
	{"negate", WORK_PLAIN},
	{"abs", WORK_PLAIN},
	{"sign", WORK_PLAIN},
	{"floor", WORK_PLAIN},
	{"ceil", WORK_PLAIN},
	{"round-nearest-afz", WORK_PLAIN},
	{"round-nearest-even", WORK_PLAIN},
	{"compare", WORK_PLAIN},
	{"select", WORK_PLAIN},
	{"clamp", WORK_PLAIN},
	{"convert", WORK_PLAIN},
	{"and", WORK_PLAIN},
	{"or", WORK_PLAIN},
	{"xor", WORK_PLAIN},
	{"not", WORK_PLAIN},
	{"is-finite", WORK_PLAIN},
	{"shift-left", WORK_PLAIN},
	{"shift-right-logical", WORK_PLAIN},
	{"shift-right-arithmetic", WORK_PLAIN},
	{"popcnt", WORK_PLAIN},
	{"count-leading-zeros", WORK_PLAIN},
	{"real", WORK_PLAIN},
	{"imag", WORK_PLAIN},
	{"complex", WORK_PLAIN},
	{"reduce-precision", WORK_PLAIN},
	{"stochastic-convert", WORK_PLAIN},
	{"exponential", WORK_TRANSCENDENTAL},
	{"exponential-minus-one", WORK_TRANSCENDENTAL},
	{"log", WORK_TRANSCENDENTAL},
	{"log-plus-one", WORK_TRANSCENDENTAL},
	{"logistic", WORK_TRANSCENDENTAL},
	{"power", WORK_TRANSCENDENTAL},
	{"sqrt", WORK_TRANSCENDENTAL},
	{"rsqrt", WORK_TRANSCENDENTAL},
	{"cbrt", WORK_TRANSCENDENTAL},
	{"tanh", WORK_TRANSCENDENTAL},
	{"tan", WORK_TRANSCENDENTAL},
	{"sine", WORK_TRANSCENDENTAL},
	{"cosine", WORK_TRANSCENDENTAL},
	{"atan2", WORK_TRANSCENDENTAL},
	{"erf", WORK_TRANSCENDENTAL},
	{"dot", WORK_DOT},
	{"convolution", WORK_CONVOLUTION},
	{"reduce", WORK_REDUCE},
	{"reduce-window", WORK_UNKNOWN},
	{"fusion", WORK_CALL},
	{"call", WORK_CALL},
	{"map", WORK_UNKNOWN},
	{"while", WORK_UNKNOWN},
	{"conditional", WORK_UNKNOWN},
	{"custom-call", WORK_UNKNOWN},
	{"scatter", WORK_UNKNOWN},
	{"select-and-scatter", WORK_UNKNOWN},
	{"sort", WORK_UNKNOWN},
	{"cholesky", WORK_UNKNOWN},
	{"triangular-solve", WORK_UNKNOWN},
	{"fft", WORK_UNKNOWN},
	{"batch-norm-training", WORK_UNKNOWN},
	{"batch-norm-inference", WORK_UNKNOWN},
	{"batch-norm-grad", WORK_UNKNOWN},
	{"ragged-dot", WORK_UNKNOWN},
	{"async-start", WORK_CALL},
	{"topk", WORK_UNKNOWN},
};

static enum work work_of(const char *opcode)
{
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (strcmp(works[i].opcode, opcode) == 0)
			return works[i].work;
	return WORK_NONE; /* moves, makes or names data */
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static const struct hlo_instruction *operand(const struct hlo_module *module, const struct hlo_instruction *of, uint32_t number)
{
	if (number >= of->operand_count || (size_t)of->operands + number >= module->number_count)
		return NULL;
	return hlo_instruction(module, module->numbers[of->operands + number]);
}

static struct hlo_cost known(uint64_t flops)
{
	return (struct hlo_cost){.flops = flops, .is_known = true};
}

/* Two operations for each pair of elements that is multiplied and summed. */
static struct hlo_cost of_dot(const struct hlo_module *module, const struct hlo_instruction *dot)
{
	const struct hlo_instruction *left = operand(module, dot, 0);
	uint64_t pairs = dot->elements;

	if (left == NULL)
		return (struct hlo_cost){.is_known = false};
	for (uint32_t i = 0; i < left->rank; i++)
		if (dot->contracting >> i & 1)
			pairs = times(pairs, left->dims[i]);
	return known(times(2, pairs));
}

#define POSITIONS_MOST (UINT64_C(1) << 26) /* of a window in a dimension that are gone through, 0.1 s */

/* How often an element of the kernel meets one of the input in a spatial dimension, padding and holes left out; 0: not known. */
static uint64_t meetings(const uint64_t *window, uint64_t inputs, uint64_t outputs)
{
	uint64_t count = 0, base = window[HLO_BASE] ? window[HLO_BASE] : 1,
		 dilation = window[HLO_DILATION] ? window[HLO_DILATION] : 1;
	uint64_t stride = window[HLO_STRIDE] ? window[HLO_STRIDE] : 1;

	if (times(window[HLO_SIZE], outputs) > POSITIONS_MOST)
		return 0;
	for (uint64_t kernel = 0; kernel < window[HLO_SIZE]; kernel++)
		for (uint64_t output = 0; output < outputs; output++) {
			uint64_t at =
				output * stride - window[HLO_PADDING] + kernel * dilation; /* modulo 2^64: negative is huge */
			count += at % base == 0 && at / base < inputs && at < UINT64_MAX / 2;
		}
	return count;
}

static uint64_t dimension(const struct hlo_instruction *of, uint8_t number)
{
	return number < of->rank ? of->dims[number] : 0;
}

/* Two operations for each pair of elements of kernel and input that meet. */
static struct hlo_cost of_convolution(const struct hlo_module *module, const struct hlo_instruction *convolution)
{
	const struct hlo_instruction *input = operand(module, convolution, 0), *kernel = operand(module, convolution, 1);
	uint64_t pairs;

	if (input == NULL || kernel == NULL ||
	    (size_t)convolution->window + (size_t)convolution->window_rank * HLO_WINDOW > module->number_count)
		return (struct hlo_cost){.is_known = false};
	pairs = times(dimension(kernel, convolution->kernel_input), times(dimension(convolution, convolution->output_batch),
									  dimension(convolution, convolution->output_feature)));
	for (uint32_t i = 0; i < convolution->window_rank; i++)
		pairs = times(pairs, meetings(module->numbers + convolution->window + (size_t)i * HLO_WINDOW,
					      dimension(input, convolution->input_spatial[i]),
					      dimension(convolution, convolution->output_spatial[i])));
	return (struct hlo_cost){.flops = times(2, pairs), .is_known = pairs != 0};
}

static struct hlo_cost cost_at(const struct hlo_module *module, const struct hlo_instruction *instruction, int depth);

/* All instructions of a computation; summed up once, however many call it. One without a figure makes the sum one. */
static struct hlo_cost of_computation(const struct hlo_module *module, const struct hlo_computation *computation, int depth)
{
	struct hlo_called *called = &module->called[computation - module->computations];
	struct hlo_cost sum = known(0);

	if (called->is_asked || depth >= CALLS_MOST)
		return called->cost;
	called->is_asked = true;
	for (uint32_t i = 0; i < computation->count; i++) {
		struct hlo_cost one = cost_at(module, &module->instructions[computation->first + i], depth + 1);
		sum.flops = plus(sum.flops, one.flops);
		sum.transcendentals = plus(sum.transcendentals, one.transcendentals);
		sum.is_known &= one.is_known;
	}
	return called->cost = sum;
}

/* What is called; a computation without a figure makes the sum one. */
static struct hlo_cost of_called(const struct hlo_module *module, const struct hlo_instruction *caller, int depth)
{
	struct hlo_cost sum = known(0);

	for (uint32_t c = 0; c < caller->called_count && (size_t)caller->called + c < module->number_count; c++) {
		const struct hlo_computation *called = hlo_computation(module, module->numbers[caller->called + c]);
		if (called == NULL)
			return (struct hlo_cost){.is_known = false};
		struct hlo_cost one = of_computation(module, called, depth);
		sum.flops = plus(sum.flops, one.flops);
		sum.transcendentals = plus(sum.transcendentals, one.transcendentals);
		sum.is_known &= one.is_known;
	}
	return sum;
}

/* Every element but one of each result is combined with another. */
static struct hlo_cost of_reduce(const struct hlo_module *module, const struct hlo_instruction *reduce, int depth)
{
	const struct hlo_instruction *input = operand(module, reduce, 0);
	struct hlo_cost once = of_called(module, reduce, depth);
	uint32_t inputs = reduce->operand_count / 2;
	uint64_t results = inputs ? reduce->elements / inputs : 0;

	if (input == NULL || input->elements < results)
		return (struct hlo_cost){.is_known = false};
	once.flops = times(once.flops, input->elements - results);
	once.transcendentals = times(once.transcendentals, input->elements - results);
	return once;
}

static struct hlo_cost cost_at(const struct hlo_module *module, const struct hlo_instruction *instruction, int depth)
{
	switch (work_of(hlo_text(module, instruction->opcode))) {
	case WORK_NONE:
		return known(0);
	case WORK_PLAIN:
		return known(instruction->elements);
	case WORK_TRANSCENDENTAL:
		return (struct hlo_cost){.transcendentals = instruction->elements, .is_known = true};
	case WORK_DOT:
		return of_dot(module, instruction);
	case WORK_CONVOLUTION:
		return of_convolution(module, instruction);
	case WORK_REDUCE:
		return of_reduce(module, instruction, depth);
	case WORK_CALL:
		return of_called(module, instruction, depth);
	case WORK_UNKNOWN:
		break;
	}
	return (struct hlo_cost){.is_known = false};
}

struct hlo_cost hlo_cost(const struct hlo_module *module, const struct hlo_instruction *instruction)
{
	return cost_at(module, instruction, 0);
}

uint64_t hlo_touched(const struct hlo_module *module, const struct hlo_instruction *instruction)
{
	uint64_t bytes = instruction->bytes;

	for (uint32_t i = 0; i < instruction->operand_count; i++) {
		const struct hlo_instruction *one = operand(module, instruction, i);
		bytes = plus(bytes, one == NULL ? 0 : one->bytes);
	}
	return bytes;
}
