/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of RecordFunction, and shapes of inputs; see collectors/pytorch_layout.h.
 *
 *   RecordFunction:  vptr | callbacks .. thread id, scope .. | name .. | sequence = -1 | inputs {0, 0} | .. outputs {0, 0, 0} |
 *                    forward thread = 0 | handle = 0 | is_async | ..
 *   ListImpl:        vptr | counts .. | begin, end, end of room of its values | type ..
 */
#include "collectors/pytorch_layout.h"

#include "collectors/opnames.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define OBJECT_WORDS 256  /* 2 KiB; sizeof(RecordFunction) is 344 in 2.15 */
#define SCOPE_SEEN 7      /* RecordScope::USER: no byte of a thread id or a flag */
#define FILL UINT64_C(0xa5a5a5a5a5a5a5a5)
#define IVALUE_BYTES 16   /* payload, tag; since 1.0 */
#define IVALUE_TENSOR 1   /* the tag */
#define INPUTS_MOST 16    /* tensors of one op whose shapes are kept */
#define LIST_MOST 8       /* numbers of one list that are kept */
#define SHAPE_TEXT 480    /* bytes of the text of all shapes; a hook has 1 KiB of stack */

/* The object; used once, by the thread that attaches. */
static _Alignas(16) uint64_t object[OBJECT_WORDS];

static int find_scope(struct tfp_pytorch_layout *layout, uint64_t thread)
{
	for (unsigned i = 1; i + 1 < OBJECT_WORDS; i++) {
		const uint8_t *after = (const uint8_t *)&object[i + 1];
		if (object[i] == thread && after[0] == SCOPE_SEEN && after[1] <= 1 && after[2] <= 1) {
			layout->scope = (uint16_t)((i + 1) * 8);
			return 0;
		}
	}
	return -1;
}

/* The first -1 behind the scope, with the two zeros of an empty list behind it. */
static int find_sequence(struct tfp_pytorch_layout *layout)
{
	for (unsigned i = layout->scope / 8 + 1; i + 2 < OBJECT_WORDS; i++) {
		if (object[i] != ~UINT64_C(0))
			continue;
		layout->sequence = (uint16_t)(i * 8);
		layout->inputs = (uint16_t)(i * 8 + 8);
		return object[i + 1] == 0 && object[i + 2] == 0 ? 0 : -1;
	}
	return -1;
}

/* What set_async changed, one byte from 0 to 1; the thread and the handle lie before it, both still 0. */
static int find_async(struct tfp_pytorch_layout *layout, const struct tfp_pytorch_api *api)
{
	const uint8_t *bytes = (const uint8_t *)object;
	uint8_t before[OBJECT_WORDS]; /* of each word the lowest byte */
	unsigned found = 0;

	for (unsigned i = 0; i < OBJECT_WORDS; i++)
		before[i] = bytes[i * 8];
	api->set_async(object);
	for (unsigned i = layout->inputs / 8 + 4; i < OBJECT_WORDS; i++) {
		if (bytes[i * 8] == before[i])
			continue;
		if (found || before[i] != 0 || bytes[i * 8] != 1)
			return -1;
		found = i;
	}
	if (!found || object[found - 1] || object[found - 2])
		return -1;
	layout->is_async = (uint16_t)(found * 8);
	layout->forward_thread = (uint16_t)(found * 8 - 16);
	return 0;
}

/* A list of nothing: where it keeps the vector's three words. It is never destroyed: it owns nothing. */
static void find_list(struct tfp_pytorch_layout *layout, const struct tfp_pytorch_api *api)
{
	uint64_t mark = (uint64_t)(uintptr_t)object, vector[3] = {mark, mark, mark}, type[4] = {0, 0, 0, 0};

	layout->list_items = 0;
	if (!api->make_list || !api->is_int_list || !api->is_bool_list)
		return;
	for (unsigned i = 0; i < OBJECT_WORDS; i++)
		object[i] = FILL;
	api->make_list(object, vector, type);
	for (unsigned i = 1; i < 8 && !layout->list_items && object[OBJECT_WORDS / 2] == FILL; i++)
		if (object[i] == mark && object[i + 1] == mark && object[i + 2] == mark)
			layout->list_items = (uint16_t)(i * 8);
	layout->list_class = object[0];
}

void tfp_pytorch_find_layout(struct tfp_pytorch_layout *layout, const struct tfp_pytorch_api *api)
{
	layout->is_known = 0;
	if (!api->construct || !api->destroy || !api->set_async || !api->thread_id)
		return;
	for (unsigned i = 0; i < OBJECT_WORDS; i++)
		object[i] = FILL;
	api->construct(object, SCOPE_SEEN);
	if (object[OBJECT_WORDS - 1] != FILL || object[OBJECT_WORDS / 2] != FILL) /* far larger than any known: leave it */
		return;
	layout->is_known = find_scope(layout, api->thread_id()) == 0 && find_sequence(layout) == 0 && find_async(layout, api) == 0;
	api->destroy(object);
	find_list(layout, api);
}

/* torch's ScalarType as its own short names; the numbers never change. */
static const char *type_name(int32_t type)
{
	static const char *const names[] = {"uint8", "int8", "int16", "int32", "int64", "half", "float", "double", "chalf",
					    "cfloat", "cdouble", "bool", "qint8", "quint8", "qint32", "bfloat16", "other", "other",
					    "other", "other", "other", "other", "other", "float8_e5m2", "float8_e4m3fn",
					    "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64"};

	return type >= 0 && type < (int32_t)(sizeof names / sizeof *names) ? names[type] : "other";
}

/* Is it defined, and strided? Asking others for their sizes would print an error. `tensor` is at::Tensor, a pointer to the object. */
static int has_sizes(const void *tensor, const struct tfp_pytorch_api *api)
{
	const void *const *impl = *(const void *const *const *)tensor;
	uint8_t is_defined = 0;
	int32_t layout = -1;

	if (api->is_defined && api->layout)
		return !api->is_defined(tensor, &is_defined) && is_defined && !api->layout(tensor, &layout) && layout == 0;
	return impl && *impl == api->plain;
}

/* On PyTorch's device "meta" tensors have shapes alone: what is done with them computes nothing. */
static int is_meta(const void *tensor, const struct tfp_pytorch_api *api)
{
	int32_t device = -1;

	return api->device && api->meta && !api->device(tensor, &device) && device == api->meta();
}

static char *put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

/*
 * "float[32,64]", "meta:float[32,64]"; returns `at` where the tensor cannot say it, or there is no room (32 bytes a dimension would be
 * too many).
 */
static char *put_tensor(char *at, const char *end, const void *tensor, const struct tfp_pytorch_api *api)
{
	int64_t dimensions = 0, *sizes = NULL;
	int32_t type = -1;

	if (!has_sizes(tensor, api) || api->dimensions(tensor, &dimensions) || dimensions < 0 || end - at < 24 + 21 * dimensions ||
	    api->sizes(tensor, &sizes) || api->type(tensor, &type))
		return at;
	at = put_text(at, is_meta(tensor, api) ? "meta:" : "");
	at = put_text(at, type_name(type));
	*at++ = '[';
	for (int64_t i = 0; i < dimensions; i++) {
		if (i)
			*at++ = ',';
		at = tfp_write_number(at, (uint64_t)sizes[i], 10);
	}
	*at++ = ']';
	return at;
}

static int is_convolution(const char *name)
{
	for (; *name; name++)
		if (tfp_same(name, "conv", 4))
			return 1;
	return 0;
}

/* "(2,2)"; returns `at` where the value is no such list. One with a number that is no count is "()". */
static char *put_list(char *at, const char *end, const uint8_t *value, const struct tfp_pytorch_api *api,
		      const struct tfp_pytorch_layout *layout)
{
	int is_bool = api->is_bool_list(value);
	const uint8_t *list = *(const uint8_t *const *)(const void *)value;

	if ((!is_bool && !api->is_int_list(value)) || *(const uint64_t *)(const void *)list != layout->list_class ||
	    end - at < 2 + 11 * LIST_MOST)
		return at;
	const uint8_t *item = *(const uint8_t *const *)(const void *)(list + layout->list_items);
	const uint8_t *last = *(const uint8_t *const *)(const void *)(list + layout->list_items + 8);
	char *from = at;

	*at++ = '(';
	for (int i = 0; item < last; i++, item += IVALUE_BYTES) {
		uint64_t number = is_bool ? *item : *(const uint64_t *)(const void *)item;
		if (number > UINT32_MAX || i == LIST_MOST) {
			at = from + 1;
			break;
		}
		if (i)
			*at++ = ',';
		at = tfp_write_number(at, number, 10);
	}
	*at++ = ')';
	return at;
}

void tfp_pytorch_put_inputs(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, const uint8_t *function,
			    const char *name, const struct tfp_pytorch_api *api, const struct tfp_pytorch_layout *layout)
{
	const uint8_t *values = *(const uint8_t *const *)(const void *)(function + layout->inputs);
	uint64_t count = *(const uint64_t *)(const void *)(function + layout->inputs + 8);
	char text[SHAPE_TEXT], *at = text, *const end = text + sizeof text;
	int has_lists = layout->list_items && is_convolution(name), is_told = 0;

	/* Under a dispatch mode of Python's tensors may be without data or shape: asking those would print an error. */
	if (!values || !count || count != api->input_count(function) || api->modes() > 0)
		return;
	for (uint64_t i = 0, put = 0; i < count && i < INPUTS_MOST && at < end; i++, values += IVALUE_BYTES) {
		int is_tensor = *(const uint32_t *)(const void *)(values + 8) == IVALUE_TENSOR;
		char *from = at + (put > 0), *behind = from;
		if (is_tensor)
			behind = put_tensor(from, end, values, api);
		else if (has_lists)
			behind = put_list(from, end, values, api, layout);
		if (!is_tensor && behind == from)
			continue;
		if (put++)
			*at = ';';
		at = behind; /* a tensor that cannot tell has its place, so that those behind it have theirs */
		is_told |= behind != from;
	}
	if (is_told)
		TFP_PUT(thread, lane, now, op_inputs, .shapes = tfp_op_name(thread, text, (size_t)(at - text)));
}
