/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes that cuBLASLt and cuDNN keep in descriptors. They are read with the library's own getters, which touch host memory
 * alone, from the object that the hooked function itself lies in. Rule: what cannot be read is 0.
 */
#include "preload/cuda_hooks.h"

#include "writer/sys.h"

#include "writer/poison.h"

/* Attributes: cublasLtMatrixLayoutAttribute_t, cublasLtMatmulDescAttributes_t. */
enum { LAYOUT_TYPE = 0, LAYOUT_ROWS = 2, LAYOUT_COLUMNS = 3, LAYOUT_BATCH = 5 };
enum { MATMUL_COMPUTE = 0, MATMUL_TRANSPOSES_A = 3, MATMUL_TRANSPOSES_B = 4 };

typedef int get_attribute(void *descriptor, int attribute, void *value, size_t bytes, size_t *written);
/* cudnnGetTensorNdDescriptor; the filter's has a format between type and count, and no strides. */
typedef int get_tensor(void *descriptor, int wanted, int *type, int *count, int *sides, int *strides);
typedef int get_filter(void *descriptor, int wanted, int *type, int *format, int *count, int *sides);

/* A getter and the library that it was looked up for: the newest library called wins. Two words, read as they were written. */
struct getter {
	const char *name;
	const void *_Atomic of;
	void *_Atomic function;
};

static struct getter layout_getter = {.name = "cublasLtMatrixLayoutGetAttribute"};
static struct getter matmul_getter = {.name = "cublasLtMatmulDescGetAttribute"};
static struct getter tensor_getter = {.name = "cudnnGetTensorNdDescriptor"};
static struct getter filter_getter = {.name = "cudnnGetFilterNdDescriptor"};

/* `real` differs by function, so a library is looked into once a function; each answer is right for its library. */
static void *getter_for(struct getter *getter, const void *real)
{
	void *function = getter->function;

	if (getter->of == real)
		return function;
	function = tfp_cuda_sibling(real, getter->name);
	getter->of = NULL; /* between the two nobody is answered with the other library's */
	getter->function = function;
	getter->of = real;
	return function;
}

static uint64_t attribute(get_attribute *get, void *descriptor, int which, size_t bytes)
{
	uint64_t value = 0;
	size_t written = 0;

	return get && descriptor && get(descriptor, which, &value, bytes, &written) == 0 ? value : 0;
}

void tfp_cuda_layout(struct tfp_gpu_call *call, const void *real, void *layout)
{
	get_attribute *get = (get_attribute *)getter_for(&layout_getter, real);

	tfp_fill(call->values, 0, sizeof call->values);
	call->argument = TFP_GPU_LIBRARY;
	call->values[0] = attribute(get, layout, LAYOUT_ROWS, 8);
	call->values[1] = attribute(get, layout, LAYOUT_COLUMNS, 8);
	call->values[2] = attribute(get, layout, LAYOUT_TYPE, 4);
	call->values[3] = attribute(get, layout, LAYOUT_BATCH, 4);
}

/* m, n, k, transa, transb, atype, btype, dtype, compute_type, batch_count */
void tfp_cuda_matmul(struct tfp_gpu_call *call, const void *real, void *operation, void *a, void *b, void *d)
{
	get_attribute *of_layout = (get_attribute *)getter_for(&layout_getter, real);
	get_attribute *of_matmul = (get_attribute *)getter_for(&matmul_getter, real);
	uint64_t *values = call->values;

	call->argument = TFP_GPU_LIBRARY;
	values[3] = attribute(of_matmul, operation, MATMUL_TRANSPOSES_A, 4);
	values[4] = attribute(of_matmul, operation, MATMUL_TRANSPOSES_B, 4);
	values[0] = attribute(of_layout, d, LAYOUT_ROWS, 8);
	values[1] = attribute(of_layout, d, LAYOUT_COLUMNS, 8);
	values[2] = attribute(of_layout, a, values[3] ? LAYOUT_ROWS : LAYOUT_COLUMNS, 8);
	values[5] = attribute(of_layout, a, LAYOUT_TYPE, 4);
	values[6] = attribute(of_layout, b, LAYOUT_TYPE, 4);
	values[7] = attribute(of_layout, d, LAYOUT_TYPE, 4);
	values[8] = attribute(of_matmul, operation, MATMUL_COMPUTE, 4);
	values[9] = attribute(of_layout, d, LAYOUT_BATCH, 4);
}

#define SIDES 5 /* n, c and three of space: what the record has room for */

/* The sides and the type of a tensor. */
static void read_tensor(const void *real, void *tensor, uint64_t *sides, uint64_t *type)
{
	get_tensor *get = (get_tensor *)getter_for(&tensor_getter, real);
	int its_type = 0, count = 0, its_sides[SIDES] = {0}, strides[SIDES];

	if (!get || !tensor || get(tensor, SIDES, &its_type, &count, its_sides, strides))
		return;
	for (int i = 0; i < SIDES && i < count; i++)
		sides[i] = (uint64_t)its_sides[i];
	*type = (uint64_t)its_type;
}

void tfp_cuda_tensor(struct tfp_gpu_call *call, const void *real, void *tensor)
{
	tfp_fill(call->values, 0, sizeof call->values);
	call->argument = TFP_GPU_LIBRARY;
	read_tensor(real, tensor, call->values, &call->values[5]);
}

/* n, c, d1, d2, d3 of the input, k and r1, r2, r3 of the filter, type */
void tfp_cuda_convolution(struct tfp_gpu_call *call, const void *real, void *input, void *filter)
{
	get_filter *get = (get_filter *)getter_for(&filter_getter, real);
	int type = 0, format = 0, count = 0, sides[SIDES] = {0};

	tfp_fill(call->values, 0, sizeof call->values);
	call->argument = TFP_GPU_LIBRARY;
	read_tensor(real, input, call->values, &call->values[9]);
	if (!get || !filter || get(filter, SIDES, &type, &format, &count, sides))
		return;
	call->values[5] = (uint64_t)sides[0];
	for (int i = 2; i < SIDES && i < count; i++)
		call->values[4 + i] = (uint64_t)sides[i];
}
