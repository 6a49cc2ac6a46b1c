/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module that XLA compiled, from its own dump (*.hlo.pb): its instructions with the op, the source line and the work of each.
 *
 * Rule: everything comes from the file. Work is computed from shapes as XLA's cost analysis does: a multiplication and an
 * addition of a dot product are two operations; what depends on data (loops, custom calls) has no figure.
 */
#ifndef REDUCER_IMPORT_HLO_H
#define REDUCER_IMPORT_HLO_H

#include "reducer/base/base.h"
#include "reducer/base/index.h"
#include "reducer/read/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one dimension of a window; padding may be negative, in two's complement. */
enum { HLO_SIZE, HLO_STRIDE, HLO_PADDING, HLO_DILATION, HLO_BASE, HLO_WINDOW };

#define HLO_RANK 8 /* dimensions kept of a shape; arrays have rarely more than five */

/* Texts are offsets in hlo_module.texts; 0 = "". */
struct hlo_instruction {
	uint64_t id;
	uint32_t name, opcode, op_name, file, function;
	uint32_t line;		  /* 0 = not said */
	uint32_t frame;		  /* of the stack-frame index; private to hlo.c */
	uint32_t computation;	  /* place in computations */
	uint64_t elements, bytes; /* of the result; of a tuple the sum of its parts */
	uint64_t dims[HLO_RANK];
	uint32_t rank;
	uint64_t layout[HLO_RANK]; /* the dimension that changes fastest in memory first; layout_rank 0 = not said */
	uint32_t layout_rank;
	uint8_t type; /* xla.PrimitiveType of the result; 0 = a tuple, or not said */
	uint32_t operands, operand_count; /* in hlo_module.numbers: ids */
	uint32_t called, called_count;	  /* ids of computations */
	uint32_t contracting;		  /* dot: bits of the first operand's dimensions that are summed over */
	uint32_t window, window_rank;	  /* convolution: in hlo_module.numbers, HLO_WINDOW for each spatial dimension */
	uint8_t kernel_input;		  /* convolution: which dimension of the kernel, of the result, */
	uint8_t output_batch, output_feature;
	uint8_t input_spatial[HLO_RANK], output_spatial[HLO_RANK]; /* and which spatial ones of input and result */
};

struct hlo_computation {
	uint64_t id;
	uint32_t name, first, count; /* instructions */
};

/* Work of one execution. */
struct hlo_cost {
	uint64_t flops, transcendentals;
	bool is_known;
};

struct hlo_called {
	struct hlo_cost cost;
	bool is_asked; /* until its cost is there it has no figure: it calls itself */
};

/* What XLA lays out for one execution, in bytes: each of its allocations is of one kind. */
struct hlo_memory {
	uint64_t arguments, outputs, temporaries, constants, thread_local;
	uint64_t reused;      /* of the arguments: the results take their place (donated) */
	uint64_t allocations; /* 0 = the file does not tell */
};

struct hlo_module {
	struct hlo_memory memory;
	char *texts;
	uint32_t name;
	uint64_t entry; /* id of the computation that is the program */
	struct hlo_instruction *instructions;
	size_t instruction_count;
	uint32_t *by_id; /* places, sorted by id */
	struct hlo_computation *computations;
	size_t computation_count;
	struct base_index computation_of; /* places, by id */
	struct hlo_called *called;	  /* private to hlo_cost.c: of each computation, once it was asked for */
	uint64_t *numbers;
	size_t number_count;
};

/* Reads a dump. NULL where it is none; damage is said in `diags`. */
struct hlo_module *hlo_read(const char *path, struct diag_list *diags);
void hlo_free(struct hlo_module *module);

/* The instruction, the computation of that id; NULL = none. */
const struct hlo_instruction *hlo_instruction(const struct hlo_module *module, uint64_t id);
const struct hlo_computation *hlo_computation(const struct hlo_module *module, uint64_t id);

/* hlo_cost.c: the work of an instruction with all that it calls. */
struct hlo_cost hlo_cost(const struct hlo_module *module, const struct hlo_instruction *instruction);

/* Bytes of its operands and of its result: what it touches at least once, where nothing stays in a cache. */
uint64_t hlo_touched(const struct hlo_module *module, const struct hlo_instruction *instruction);

/* The result as XLA writes it, "f32[64,784]{1,0}": type, dimensions, layout. Appends nothing for a tuple or an unknown type. */
void hlo_put_shape(struct text *text, const struct hlo_instruction *instruction);

static inline const char *hlo_text(const struct hlo_module *module, uint32_t at)
{
	return module->texts + at;
}

#endif
