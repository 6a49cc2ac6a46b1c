/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many floating-point operations an op or a library call is, by the shapes that were recorded with it.
 *
 * Rule: products of matrices, convolutions and attention count, two for each pair that is multiplied and summed (four times as
 * many where the numbers are complex), as torch.utils.flop_counter, fvcore and NVIDIA's figures of devices do; what else is
 * computed is little beside them and counts nothing. What the shapes do not tell is not known, never 0.
 */
#ifndef REDUCER_MODEL_FLOPS_H
#define REDUCER_MODEL_FLOPS_H

#include <stddef.h>
#include <stdint.h>

/* What the factors are. */
enum flops_type {
	FLOPS_NO_TYPE,
	FLOPS_FP64,
	FLOPS_FP32,
	FLOPS_TF32,
	FLOPS_FP16,
	FLOPS_BF16,
	FLOPS_FP8,
	FLOPS_INT8,
	FLOPS_TYPES
};
const char *flops_type_name(enum flops_type type);

struct flops {
	uint64_t count;
	enum flops_type type;
	int is_known;
};

/* Who said it. Figures of one job come from ops and from library calls outside of these; else from one of the others. */
enum flops_origin {
	FLOPS_BY_OP,	/* inputs of a framework's op */
	FLOPS_BY_CALL,	/* arguments of a library call */
	FLOPS_BY_TRACE, /* inputs that a TraceMe event names; the library calls in it are told before it */
	FLOPS_ORIGINS
};

/* Sums of damaged logs do not wrap: what is beyond the type is its greatest. */
static inline uint64_t flops_plus(uint64_t one, uint64_t other)
{
	return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

/* Has an op of this name work that is counted? */
int flops_is_op(const char *name);

/* Of PyTorch's op: inputs as op_inputs has them, "float[8,16];float[16,4]". */
struct flops flops_of_op(const char *name, const char *inputs);

/* Of an op of TensorFlow, "name:Type", with the arguments of its TraceMe event, "shape=(float[8,16];float[16,4])". */
struct flops flops_of_trace(const char *name, const char *arguments);

/* Of a call of cuBLAS or cuBLASLt; names: of its values, separated by commas. A log may name more than there are. */
struct flops flops_of_call(const char *function, const char *names, const uint64_t *values, size_t count);

#endif
