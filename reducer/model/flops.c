/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point operations by shapes; see reducer/model/flops.h. */
#include "reducer/model/flops.h"

#include <stdlib.h>
#include <string.h>

#define SIDES 8	  /* of a tensor or a list */
#define TENSORS 8 /* of an op that are looked at */
#define LISTS 8
#define META "meta:" /* before the type of a tensor of PyTorch's device of that name, which holds no data */

/* "float[8,16]", or a list "(2,2)". */
struct tensor {
	enum flops_type type;
	int is_complex;
	unsigned rank;
	uint64_t sides[SIDES];
};

/* What an op was given. A tensor that told no shape has its place, with rank NO_SHAPE. */
#define NO_SHAPE UINT32_MAX
struct inputs {
	struct tensor tensors[TENSORS], lists[LISTS];
	unsigned tensor_count, list_count;
};

static const struct flops unknown;

const char *flops_type_name(enum flops_type type)
{
	static const char *const names[FLOPS_TYPES] = {"unknown", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"};

	return names[type];
}

/* PyTorch's short names, and TensorFlow's. */
static void set_type(struct tensor *tensor, const char *name, size_t length)
{
	static const struct {
		const char *name;
		enum flops_type type;
		int is_complex;
	} types[] = {{"double", FLOPS_FP64, 0},	      {"float", FLOPS_FP32, 0},	     {"half", FLOPS_FP16, 0},
		     {"bfloat16", FLOPS_BF16, 0},     {"cdouble", FLOPS_FP64, 1},    {"cfloat", FLOPS_FP32, 1},
		     {"chalf", FLOPS_FP16, 1},	      {"float8_e5m2", FLOPS_FP8, 0}, {"float8_e4m3fn", FLOPS_FP8, 0},
		     {"float8_e5m2fnuz", FLOPS_FP8, 0}, {"float8_e4m3fnuz", FLOPS_FP8, 0}, {"int8", FLOPS_INT8, 0},
		     {"uint8", FLOPS_INT8, 0},	      {"complex64", FLOPS_FP32, 1},  {"complex128", FLOPS_FP64, 1}};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0) {
			tensor->type = types[i].type;
			tensor->is_complex = types[i].is_complex;
		}
}

/* Numbers up to `end`, which is behind them: returns what is behind that, NULL where the text is something else. */
static const char *read_sides(struct tensor *tensor, const char *at, char end)
{
	while (*at != end) {
		char *behind;
		if (*at < '0' || *at > '9' || tensor->rank == SIDES)
			return NULL;
		tensor->sides[tensor->rank++] = strtoull(at, &behind, 10);
		at = behind;
		if (*at == ',')
			at++;
		else if (*at != end)
			return NULL;
	}
	return at + 1;
}

/* Whether the text was understood as a whole, or as far as there is room. */
static int read_inputs(struct inputs *inputs, const char *at, char end)
{
	*inputs = (struct inputs){0};
	while (*at && *at != end && inputs->tensor_count < TENSORS && inputs->list_count < LISTS) {
		struct tensor one = {0};
		size_t name = strcspn(at, "[(;)");
		int is_list = *at == '(';

		if (is_list) {
			at = read_sides(&one, at + 1, ')');
		} else if (at[name] == '[') {
			int is_meta = strncmp(at, META, sizeof META - 1) == 0;
			set_type(&one, at, name);
			at = read_sides(&one, at + name + 1, ']');
			one.rank = is_meta ? NO_SHAPE : one.rank; /* nothing is computed with it */
		} else {
			one.rank = NO_SHAPE;
			at += name;
		}
		if (at == NULL)
			return 0;
		if (is_list)
			inputs->lists[inputs->list_count++] = one;
		else
			inputs->tensors[inputs->tensor_count++] = one;
		if (*at == ';')
			at++;
		else if (*at && *at != end)
			return 0;
	}
	return 1;
}

static const struct tensor *tensor_at(const struct inputs *inputs, unsigned at)
{
	return at < inputs->tensor_count && inputs->tensors[at].rank != NO_SHAPE ? &inputs->tensors[at] : NULL;
}

/* Products that overflow are of a damaged log: not known. */
struct product {
	uint64_t value;
	int is_over;
};

static struct product product_of(uint64_t value)
{
	return (struct product){.value = value};
}

static void times(struct product *product, uint64_t factor)
{
	product->is_over |= __builtin_mul_overflow(product->value, factor, &product->value);
}

/* A tensor's sides from `from` to below `to`. */
static void times_sides(struct product *product, const struct tensor *tensor, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		times(product, tensor->sides[i]);
}

/* Two operations a pair; of complex numbers four products and as many sums. */
static struct flops of_pairs(struct product pairs, const struct tensor *factor)
{
	times(&pairs, factor->is_complex ? 8 : 2);
	if (pairs.is_over)
		return unknown;
	return (struct flops){.count = pairs.value, .type = factor->type, .is_known = 1};
}

/* [..., m, k] by [..., k, n], a vector as torch.matmul takes it; the other sides are those of the larger one, side by side. */
static struct flops of_product(const struct inputs *inputs, unsigned first)
{
	const struct tensor *a = tensor_at(inputs, first), *b = tensor_at(inputs, first + 1);
	struct product pairs = product_of(1);

	if (a == NULL || b == NULL || a->rank == 0 || b->rank == 0)
		return unknown;
	uint64_t k = a->sides[a->rank - 1], its = b->rank == 1 ? b->sides[0] : b->sides[b->rank - 2];
	if (k != its)
		return unknown;
	times(&pairs, k);
	times(&pairs, a->rank == 1 ? 1 : a->sides[a->rank - 2]);
	times(&pairs, b->rank == 1 ? 1 : b->sides[b->rank - 1]);
	for (unsigned i = 2; i < a->rank || i < b->rank; i++) {
		uint64_t one = i < a->rank ? a->sides[a->rank - 1 - i] : 1, other = i < b->rank ? b->sides[b->rank - 1 - i] : 1;
		if (one != other && one != 1 && other != 1)
			return unknown;
		times(&pairs, one == 1 ? other : one);
	}
	return of_pairs(pairs, a);
}

/* [..., k] by [n, k] or [k] */
static struct flops of_linear(const struct inputs *inputs, unsigned first)
{
	const struct tensor *a = tensor_at(inputs, first), *weight = tensor_at(inputs, first + 1);
	struct product pairs = product_of(1);

	if (a == NULL || weight == NULL || a->rank == 0 || weight->rank == 0 || weight->rank > 2 ||
	    a->sides[a->rank - 1] != weight->sides[weight->rank - 1])
		return unknown;
	times_sides(&pairs, a, 0, a->rank);
	times(&pairs, weight->rank == 2 ? weight->sides[0] : 1);
	return of_pairs(pairs, a);
}

/*
 * One factor may be transposed, and nobody says which: known where all ways in which the sides fit are as much. The sides before the
 * last two are the larger one's.
 */
static struct flops of_either_way(const struct inputs *inputs, unsigned first)
{
	const struct tensor *a = tensor_at(inputs, first), *b = tensor_at(inputs, first + 1);
	struct product pairs = product_of(1);
	uint64_t width = 0;
	int found = 0;

	if (a == NULL || b == NULL || a->rank < 2 || b->rank < 2)
		return unknown;
	for (unsigned way = 0; way < 4; way++) {
		uint64_t inner = a->sides[a->rank - 1 - way % 2], its = b->sides[b->rank - 2 + way / 2];
		uint64_t other = b->sides[b->rank - 1 - way / 2];
		if (inner != its)
			continue;
		if (found && other != width)
			return unknown;
		found = 1;
		width = other;
	}
	if (!found)
		return unknown;
	times_sides(&pairs, a, a->rank - 2, a->rank);
	times(&pairs, width);
	for (unsigned i = 2; i < a->rank || i < b->rank; i++) {
		uint64_t one = i < a->rank ? a->sides[a->rank - 1 - i] : 1, more = i < b->rank ? b->sides[b->rank - 1 - i] : 1;
		if (one != more && one != 1 && more != 1)
			return unknown;
		times(&pairs, one == 1 ? more : one);
	}
	return of_pairs(pairs, a);
}

/* A leading side of what attention makes: the largest of the three; heads of keys and values are shared. UINT64_MAX = they do not fit. */
static uint64_t side_of_attention(const struct tensor *query, const struct tensor *key, const struct tensor *value, unsigned side)
{
	uint64_t its = query->sides[side], keys = key->sides[side], values = value->sides[side];
	uint64_t most = its > keys ? its : keys;

	most = values > most ? values : most;
	if (its == keys && its == values)
		return its;
	return (its == most || its == 1) && keys && values && most % keys == 0 && most % values == 0 ? most : UINT64_MAX;
}

/*
 * Query [..., s, d], key [..., t, d], value [..., t, v], of which `first` is the query: so many products s by t over d, and so
 * many over v. The sides before these are side by side, as of a product. A causal mask counts as none, as in torch.utils.flop_counter.
 */
static struct flops of_attention(const struct inputs *inputs, unsigned first, unsigned over_d, unsigned over_v)
{
	const struct tensor *query = tensor_at(inputs, first), *key = tensor_at(inputs, first + 1),
			    *value = tensor_at(inputs, first + 2);
	struct product pairs = product_of(1), depth, wide;

	if (query == NULL || key == NULL || value == NULL || query->rank < 2 || key->rank != query->rank ||
	    value->rank != query->rank)
		return unknown;
	unsigned s = query->rank - 2, d = query->rank - 1;
	if (query->sides[d] != key->sides[d] || key->sides[s] != value->sides[s])
		return unknown;
	depth = product_of(query->sides[d]);
	wide = product_of(value->sides[d]);
	times(&depth, over_d);
	times(&wide, over_v);
	for (unsigned i = 0; i < s; i++) {
		uint64_t side = side_of_attention(query, key, value, i);
		if (side == UINT64_MAX)
			return unknown;
		times(&pairs, side);
	}
	times(&pairs, query->sides[s]);
	times(&pairs, key->sides[s]);
	pairs.is_over |= depth.is_over | wide.is_over | __builtin_add_overflow(depth.value, wide.value, &depth.value);
	times(&pairs, depth.value);
	return of_pairs(pairs, query);
}

/* A list of one number holds for all sides. */
static uint64_t number_at(const struct tensor *list, unsigned side)
{
	return list->rank == 0 ? UINT64_MAX : list->sides[side < list->rank ? side : list->rank - 1];
}

/* Which lists of an op are its stride, padding and dilation; NULL: it has no dilation. */
struct window {
	const struct tensor *stride, *padding, *dilation;
};

/* A side of a convolution's result; 0 = cannot be. */
static uint64_t side_out(const struct window *window, unsigned side, uint64_t in, uint64_t filter)
{
	uint64_t stride = number_at(window->stride, side), padding = number_at(window->padding, side);
	uint64_t dilation = window->dilation ? number_at(window->dilation, side) : 1;
	uint64_t most = UINT64_C(1) << 31;

	if (stride == 0 || stride > most || padding > most || dilation > most || filter == 0 || filter > most || in > most ||
	    in + 2 * padding < dilation * (filter - 1) + 1)
		return 0;
	return (in + 2 * padding - dilation * (filter - 1) - 1) / stride + 1;
}

/* [n, c, ...] or [c, ...] and a filter [k, c by groups, ...]: the number of leading sides of the input; 0: no convolution. */
static unsigned leading(const struct tensor *input, const struct tensor *filter)
{
	if (input == NULL || filter == NULL || filter->rank < 3 || input->rank > filter->rank || input->rank + 1 < filter->rank)
		return 0;
	return input->rank - (filter->rank - 2);
}

/* Each element of the result [n, k, ...] takes as many pairs as the filter has elements of one k. */
static struct flops of_convolution(const struct inputs *inputs, const struct window *window)
{
	const struct tensor *input = tensor_at(inputs, 0), *filter = tensor_at(inputs, 1);
	struct product pairs = product_of(1);
	unsigned lead = leading(input, filter);

	if (lead == 0 || filter->sides[1] == 0 || input->sides[lead - 1] % filter->sides[1] != 0)
		return unknown;
	times_sides(&pairs, filter, 0, filter->rank);
	times(&pairs, lead == 2 ? input->sides[0] : 1);
	for (unsigned i = 0; i + 2 < filter->rank; i++) {
		uint64_t side = side_out(window, i, input->sides[lead + i], filter->sides[2 + i]);
		if (side == 0)
			return unknown;
		times(&pairs, side);
	}
	return of_pairs(pairs, input);
}

/* The filter is [c, k by groups, ...]: each element of the input meets all of it but its first side. */
static struct flops of_transposed(const struct inputs *inputs)
{
	const struct tensor *input = tensor_at(inputs, 0), *filter = tensor_at(inputs, 1);
	struct product pairs = product_of(1);
	unsigned lead = leading(input, filter);

	if (lead == 0 || input->sides[lead - 1] != filter->sides[0])
		return unknown;
	times_sides(&pairs, input, 0, input->rank);
	times_sides(&pairs, filter, 1, filter->rank);
	return of_pairs(pairs, input);
}

/* Either of the two: what the channels do not tell is not known; the op inside it has a name that does. */
static struct flops of_any_convolution(const struct inputs *inputs, const struct window *window)
{
	const struct tensor *input = tensor_at(inputs, 0), *filter = tensor_at(inputs, 1);
	unsigned lead = leading(input, filter);

	if (lead == 0 || filter->sides[1] == 0)
		return unknown;
	uint64_t channels = input->sides[lead - 1], groups = channels / filter->sides[1];
	int is_plain = channels % filter->sides[1] == 0 && groups && filter->sides[0] % groups == 0;
	int is_transposed = channels == filter->sides[0];
	if (is_plain == is_transposed)
		return unknown;
	return is_plain ? of_convolution(inputs, window) : of_transposed(inputs);
}

/*
 * Gradient, input, filter; the last list says for which of the input and the filter a gradient is made, each as much as the
 * convolution was. The sides tell which way round it went; where both ways fit they are equal.
 */
static struct flops of_convolution_backward(const struct inputs *inputs)
{
	const struct tensor *out = tensor_at(inputs, 0), *input = tensor_at(inputs, 1), *filter = tensor_at(inputs, 2);
	const struct tensor *mask = inputs->list_count < 5 ? NULL : &inputs->lists[inputs->list_count - 1];
	struct product pairs = product_of(1);
	unsigned lead = leading(input, filter);
	int is_plain = 1, is_transposed = 1;

	if (lead == 0 || out == NULL || out->rank != input->rank || mask == NULL || mask->rank != 3)
		return unknown;
	const struct window window = {.stride = mask - 4, .padding = mask - 3, .dilation = mask - 2};
	for (unsigned i = 0; i + 2 < filter->rank; i++) {
		uint64_t in = input->sides[lead + i], its = out->sides[lead + i];
		is_plain &= side_out(&window, i, in, filter->sides[2 + i]) == its;
		is_transposed &= side_out(&window, i, its, filter->sides[2 + i]) == in;
	}
	is_plain &= out->sides[lead - 1] == filter->sides[0];
	is_transposed &= input->sides[lead - 1] == filter->sides[0];
	if (!is_plain && !is_transposed)
		return unknown;
	times_sides(&pairs, is_plain ? out : input, 0, out->rank);
	times_sides(&pairs, filter, 1, filter->rank);
	times(&pairs, (mask->sides[0] != 0) + (mask->sides[1] != 0));
	return of_pairs(pairs, input);
}

/* TensorFlow's gradient of a convolution's input: the filter [..., in, out] and the gradient, whatever the order of its sides. */
static struct flops of_backprop_input(const struct inputs *inputs, unsigned first)
{
	const struct tensor *filter = tensor_at(inputs, first), *out = tensor_at(inputs, first + 1);
	struct product pairs = product_of(1);

	if (filter == NULL || out == NULL || filter->rank < 3 || out->rank != filter->rank)
		return unknown;
	times_sides(&pairs, out, 0, out->rank);
	times_sides(&pairs, filter, 0, filter->rank - 1);
	return of_pairs(pairs, out);
}

enum formula {
	PRODUCT,
	LINEAR,
	EITHER_WAY,
	ATTENTION,
	ATTENTION_BACKWARD,
	CONVOLUTION_SPD,
	CONVOLUTION_PSD,
	CONVOLUTION_SP,
	CONVOLUTION_ANY,
	CONVOLUTION_TRANSPOSED,
	CONVOLUTION_BACKWARD,
	BACKPROP_INPUT
};

static const struct op {
	const char *name;
	enum formula formula;
	unsigned first, stride;
} ops[] = {
#define FLOPS_OP(name, formula, first, stride) {name, formula, first, stride},
#include "reducer/model/flops_ops.def"
#undef FLOPS_OP
};

static const struct op *op_of(const char *name)
{
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (strcmp(ops[i].name, name) == 0)
			return &ops[i];
	return NULL;
}

int flops_is_op(const char *name)
{
	return op_of(name) != NULL;
}

static struct flops of_op(const struct op *op, const struct inputs *inputs)
{
	/* Of lists that are not there the rank is 0: no window. */
	struct window window = {.stride = &inputs->lists[op->stride], .padding = &inputs->lists[op->stride + 1]};

	if (op->formula == CONVOLUTION_PSD)
		window.padding = &inputs->lists[op->stride - 1];
	if (op->formula == CONVOLUTION_PSD)
		window.dilation = &inputs->lists[op->stride + 1];
	else if (op->formula != CONVOLUTION_SP)
		window.dilation = &inputs->lists[op->stride + 2];
	switch (op->formula) {
	case PRODUCT:
		return of_product(inputs, op->first);
	case LINEAR:
		return of_linear(inputs, op->first);
	case EITHER_WAY:
		return of_either_way(inputs, op->first);
	case ATTENTION:
		return of_attention(inputs, op->first, 1, 1);
	case ATTENTION_BACKWARD: /* the weights again; gradients of query and key over d, of weights and value over v */
		return of_attention(inputs, op->first + 1, 3, 2);
	case CONVOLUTION_ANY:
		return of_any_convolution(inputs, &window);
	case CONVOLUTION_TRANSPOSED:
		return of_transposed(inputs);
	case CONVOLUTION_BACKWARD:
		return of_convolution_backward(inputs);
	case BACKPROP_INPUT:
		return of_backprop_input(inputs, op->first);
	default:
		return of_convolution(inputs, &window);
	}
}

struct flops flops_of_op(const char *name, const char *text)
{
	const struct op *op = op_of(name);
	struct inputs inputs;

	return op != NULL && read_inputs(&inputs, text, 0) ? of_op(op, &inputs) : unknown;
}

struct flops flops_of_trace(const char *name, const char *arguments)
{
	const char *colon = strrchr(name, ':'), *shape = arguments == NULL ? NULL : strstr(arguments, "shape=(");
	const struct op *op = op_of(colon == NULL ? name : colon + 1);
	struct inputs inputs;

	if (op == NULL || shape == NULL || !read_inputs(&inputs, shape + strlen("shape=("), ')'))
		return unknown;
	return of_op(op, &inputs);
}

struct arguments {
	const char *names;
	const uint64_t *values;
	size_t count;
};

/* The value of that name; UINT64_MAX: there is none. */
static uint64_t value_of(const struct arguments *arguments, const char *name)
{
	const char *names = arguments->names;
	size_t length = strlen(name);

	for (size_t i = 0; *names && i < arguments->count; i++) {
		size_t its = strcspn(names, ",");
		if (its == length && memcmp(names, name, length) == 0)
			return arguments->values[i];
		names += its;
		names += strspn(names, ", ");
	}
	return UINT64_MAX;
}

/* cudaDataType_t; cublasComputeType_t where it says that the factors are rounded first. */
static void set_cuda_type(struct tensor *factor, uint64_t type, uint64_t compute)
{
	static const struct {
		uint8_t number, type, is_complex;
	} types[] = {{0, FLOPS_FP32, 0},  {1, FLOPS_FP64, 0}, {2, FLOPS_FP16, 0},  {3, FLOPS_INT8, 0}, {4, FLOPS_FP32, 1},
		     {5, FLOPS_FP64, 1},  {6, FLOPS_FP16, 1}, {7, FLOPS_INT8, 1},  {8, FLOPS_INT8, 0}, {9, FLOPS_INT8, 1},
		     {14, FLOPS_BF16, 0}, {15, FLOPS_BF16, 1}, {28, FLOPS_FP8, 0}, {29, FLOPS_FP8, 0}};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].number == type) {
			factor->type = (enum flops_type)types[i].type;
			factor->is_complex = types[i].is_complex;
		}
	if (factor->type == FLOPS_FP32)
		factor->type = compute == 74 ? FLOPS_FP16 : compute == 75 ? FLOPS_BF16 : compute == 77 ? FLOPS_TF32 : FLOPS_FP32;
}

/* By the letters behind "cublas"; what has types among its arguments has none there. */
static const char *set_letters(struct tensor *factor, const char *at)
{
	static const struct {
		const char *letters;
		enum flops_type type;
		int is_complex;
	} all[] = {{"HSH", FLOPS_FP16, 0}, {"HSS", FLOPS_FP16, 0}, {"TST", FLOPS_BF16, 0}, {"TSS", FLOPS_BF16, 0}, {"S", FLOPS_FP32, 0},
		   {"D", FLOPS_FP64, 0},   {"C", FLOPS_FP32, 1},   {"Z", FLOPS_FP64, 1},   {"H", FLOPS_FP16, 0}};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		size_t length = strlen(all[i].letters);
		if (strncmp(at, all[i].letters, length) == 0 && at[length] >= 'a' && at[length] <= 'z') {
			factor->type = all[i].type;
			factor->is_complex = all[i].is_complex;
			return at + length;
		}
	}
	return at;
}

/* Sides of the product by what the function is called. `side` 0: the square matrix stands on the left. */
static int pairs_of(struct product *pairs, const char *kind, const struct arguments *arguments)
{
	uint64_t m = value_of(arguments, "m"), n = value_of(arguments, "n"), k = value_of(arguments, "k");
	uint64_t square = value_of(arguments, "side") == 0 ? m : n;

	if (strstr(kind, "Grouped"))
		return 0; /* each group has sides of its own */
	if (strncmp(kind, "gemv", 4) == 0 || strncmp(kind, "ger", 3) == 0)
		k = 1;
	else if (strncmp(kind, "symm", 4) == 0)
		k = square;
	else if (strncmp(kind, "gemm", 4) != 0 && strncmp(kind, "Gemm", 4) != 0 && strncmp(kind, "LtMatmul", 8) != 0)
		return 0;
	if (m == 0 || n == 0 || k == 0 || m == UINT64_MAX || n == UINT64_MAX || k == UINT64_MAX)
		return 0; /* of cuBLASLt: descriptors that could not be read */
	*pairs = product_of(m);
	times(pairs, n);
	times(pairs, k);
	return 1;
}

struct flops flops_of_call(const char *function, const char *names, const uint64_t *values, size_t count)
{
	const struct arguments arguments = {names, values, count};
	struct tensor factor = {0};
	struct product pairs;
	uint64_t batch = value_of(&arguments, "batch_count"), type = value_of(&arguments, "atype");

	if (strncmp(function, "cublas", 6) != 0 || !pairs_of(&pairs, set_letters(&factor, function + 6), &arguments))
		return unknown;
	if (type != UINT64_MAX)
		set_cuda_type(&factor, type, value_of(&arguments, "compute_type"));
	times(&pairs, batch == 0 || batch == UINT64_MAX ? 1 : batch);
	return of_pairs(pairs, &factor);
}
