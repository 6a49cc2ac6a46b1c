/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading an HLO dump: xla.HloProto. See hlo.h. Field numbers are those of xla/service/hlo.proto and xla/xla_data.proto.
 *
 * Rule: the file is hostile: places and ids are compared before they are used, and the memory follows what the file holds.
 */
#include "reducer/import/hlo.h"

#include "reducer/base/base.h"
#include "reducer/import/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PROTO_MODULE = 1, PROTO_BUFFERS = 3 };
enum { BUFFERS_ALLOCATION = 3 };
enum { ALLOCATION_SIZE = 2, ALLOCATION_THREAD = 3, ALLOCATION_ARGUMENT = 5, ALLOCATION_OUTPUT = 7, ALLOCATION_CONSTANT = 12 };
enum { MODULE_NAME = 1, MODULE_COMPUTATION = 3, MODULE_ENTRY = 6, MODULE_FRAMES = 17 };
enum { COMPUTATION_NAME = 1, COMPUTATION_INSTRUCTION = 2, COMPUTATION_ID = 5 };
enum {
	INSTRUCTION_NAME = 1,
	INSTRUCTION_OPCODE = 2,
	INSTRUCTION_SHAPE = 3,
	INSTRUCTION_METADATA = 7,
	INSTRUCTION_WINDOW = 15,
	INSTRUCTION_CONVOLUTION = 16,
	INSTRUCTION_DOT = 30,
	INSTRUCTION_ID = 35,
	INSTRUCTION_OPERANDS = 36,
	INSTRUCTION_CALLED = 38
};
enum { SHAPE_TYPE = 2, SHAPE_DIMENSIONS = 3, SHAPE_PARTS = 4, SHAPE_LAYOUT = 5, LAYOUT_ORDER = 1 };
enum { METADATA_OP = 2, METADATA_FILE = 3, METADATA_LINE = 4, METADATA_FRAME = 15 };
enum { FRAMES_FILE = 1, FRAMES_FUNCTION = 2, FRAMES_LOCATION = 3, FRAMES_FRAME = 4 };
enum { LOCATION_FILE = 1, LOCATION_FUNCTION = 2, LOCATION_LINE = 3, FRAME_LOCATION = 1 };
enum { DOT_CONTRACTING = 1, WINDOW_DIMENSION = 1 };

#define TEXT_MOST 4096			/* bytes of a name kept */
#define NESTED_MOST 16			/* tuples in tuples */
#define MODULE_MOST (UINT64_C(1) << 31) /* bytes of a dump; XLA cannot write larger messages */

/* The tables that a stack frame's number leads through: numbers from 1. */
struct frames {
	uint32_t *files, *functions;
	struct location {
		uint32_t file, function, line;
	} * locations;
	uint32_t *frames;
	size_t file_count, file_room, function_count, function_room, location_count, location_room, frame_count, frame_room;
};

struct reading {
	struct source source;
	struct hlo_module *module;
	struct text texts;
	size_t instruction_room, computation_room, number_room;
	struct frames frames;
};

static uint32_t take_text(struct reading *reading, const struct stretch *bytes)
{
	size_t length, at = reading->texts.length;
	const char *text = wire_text(&reading->source, bytes, TEXT_MOST, &length);

	if (length == 0 || at + length >= UINT32_MAX)
		return 0;
	text_put(&reading->texts, text, length);
	text_char(&reading->texts, 0);
	return (uint32_t)at;
}

/* The numbers of a repeated field: one, or several in a row. Returns how many there are, at most `room` are stored. */
static size_t take_numbers(struct reading *reading, const struct wire_field *field, uint64_t *numbers, size_t room)
{
	size_t length, count = 0;
	const uint8_t *bytes;
	uint64_t value = 0;
	unsigned shift = 0;

	if (field->type == WIRE_VARINT) {
		if (room)
			numbers[0] = field->value;
		return 1;
	}
	if (field->type != WIRE_BYTES)
		return 0;
	bytes = (const uint8_t *)wire_text(&reading->source, &field->bytes, SOURCE_LONGEST, &length);
	for (size_t i = 0; i < length && shift < 64; i++) {
		value |= (uint64_t)(bytes[i] & 127) << shift;
		shift += 7;
		if (bytes[i] & 128)
			continue;
		if (count < room)
			numbers[count] = value;
		count++;
		value = shift = 0;
	}
	return count;
}

/* Appends the numbers of a field to the module's. */
static void add_numbers(struct reading *reading, const struct wire_field *field, uint32_t *first, uint32_t *count)
{
	struct hlo_module *module = reading->module;
	size_t more = take_numbers(reading, field, NULL, 0);

	if (*count == 0)
		*first = (uint32_t)module->number_count;
	if (*first + *count != module->number_count || module->number_count + more > UINT32_MAX)
		return; /* another field's stand between: not as XLA writes */
	module->numbers =
		base_grow(module->numbers, &reading->number_room, module->number_count + more, sizeof(*module->numbers));
	take_numbers(reading, field, module->numbers + module->number_count, more);
	module->number_count += more;
	*count += (uint32_t)more;
}

/* Bytes of xla.PrimitiveType, by number; 0: no array, or smaller than a byte. */
static unsigned type_bytes(uint64_t type)
{
	static const uint8_t bytes[] = {0, 1,  1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 0, 0, 8, 2,
					0, 16, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1};

	return type < sizeof(bytes) ? bytes[type] : 0;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static void take_layout(struct reading *reading, struct hlo_instruction *instruction, struct stretch message)
{
	struct wire_field field;
	size_t rank = 0;

	while (wire_next(&reading->source, &message, &field) > 0)
		if (field.number == LAYOUT_ORDER)
			rank += take_numbers(reading, &field, instruction->layout + (rank < HLO_RANK ? rank : 0),
					     rank < HLO_RANK ? HLO_RANK - rank : 0);
	instruction->layout_rank = rank <= HLO_RANK ? (uint32_t)rank : 0;
}

static void take_shape(struct reading *reading, struct hlo_instruction *instruction, struct stretch message, int depth)
{
	struct wire_field field;
	uint64_t elements = 1, type = 0, dims[HLO_RANK];
	size_t rank = 0;
	bool is_tuple = false;

	while (wire_next(&reading->source, &message, &field) > 0) {
		if (field.number == SHAPE_TYPE && field.type == WIRE_VARINT) {
			type = field.value;
		} else if (field.number == SHAPE_DIMENSIONS) {
			rank += take_numbers(reading, &field, dims + (rank < HLO_RANK ? rank : 0),
					     rank < HLO_RANK ? HLO_RANK - rank : 0);
		} else if (field.number == SHAPE_PARTS && field.type == WIRE_BYTES && depth < NESTED_MOST) {
			take_shape(reading, instruction, field.bytes, depth + 1);
			is_tuple = true;
		} else if (field.number == SHAPE_LAYOUT && field.type == WIRE_BYTES && depth == 0) {
			take_layout(reading, instruction, field.bytes);
		}
	}
	if (is_tuple || rank > HLO_RANK)
		return;
	for (size_t i = 0; i < rank; i++)
		elements = times(elements, dims[i]);
	if (depth == 0) {
		memcpy(instruction->dims, dims, rank * sizeof(*dims));
		instruction->rank = (uint32_t)rank;
		instruction->type = type <= UINT8_MAX ? (uint8_t)type : 0;
	}
	instruction->elements += elements;
	instruction->bytes += times(elements, type_bytes(type));
}

static void take_metadata(struct reading *reading, struct hlo_instruction *instruction, struct stretch message)
{
	struct wire_field field;

	while (wire_next(&reading->source, &message, &field) > 0) {
		if (field.number == METADATA_OP && field.type == WIRE_BYTES)
			instruction->op_name = take_text(reading, &field.bytes);
		else if (field.number == METADATA_FILE && field.type == WIRE_BYTES)
			instruction->file = take_text(reading, &field.bytes);
		else if (field.number == METADATA_LINE && field.type == WIRE_VARINT)
			instruction->line = (uint32_t)field.value;
		else if (field.number == METADATA_FRAME && field.type == WIRE_VARINT)
			instruction->frame = (uint32_t)field.value;
	}
}

static void take_dot(struct reading *reading, struct hlo_instruction *instruction, struct stretch message)
{
	struct wire_field field;
	uint64_t dims[HLO_RANK];

	while (wire_next(&reading->source, &message, &field) > 0)
		if (field.number == DOT_CONTRACTING)
			for (size_t i = take_numbers(reading, &field, dims, HLO_RANK); i > 0; i--)
				if (i <= HLO_RANK && dims[i - 1] < HLO_RANK)
					instruction->contracting |= 1u << dims[i - 1];
}

/* Which dimension is what: xla.ConvolutionDimensionNumbers. */
enum {
	CONVOLUTION_KERNEL_INPUT = 3,
	CONVOLUTION_OUTPUT_BATCH = 9,
	CONVOLUTION_OUTPUT_FEATURE = 10,
	CONVOLUTION_INPUT_SPATIAL = 11,
	CONVOLUTION_OUTPUT_SPATIAL = 12
};

static void take_spatial(struct reading *reading, const struct wire_field *field, uint8_t *dims)
{
	uint64_t numbers[HLO_RANK];
	size_t count = take_numbers(reading, field, numbers, HLO_RANK);

	for (size_t i = 0; i < count && i < HLO_RANK; i++)
		dims[i] = numbers[i] < HLO_RANK ? (uint8_t)numbers[i] : HLO_RANK;
}

static void take_convolution(struct reading *reading, struct hlo_instruction *instruction, struct stretch message)
{
	struct wire_field field;

	while (wire_next(&reading->source, &message, &field) > 0) {
		uint8_t dimension = field.type == WIRE_VARINT && field.value < HLO_RANK ? (uint8_t)field.value : HLO_RANK;
		if (field.number == CONVOLUTION_KERNEL_INPUT)
			instruction->kernel_input = dimension;
		else if (field.number == CONVOLUTION_OUTPUT_BATCH)
			instruction->output_batch = dimension;
		else if (field.number == CONVOLUTION_OUTPUT_FEATURE)
			instruction->output_feature = dimension;
		else if (field.number == CONVOLUTION_INPUT_SPATIAL)
			take_spatial(reading, &field, instruction->input_spatial);
		else if (field.number == CONVOLUTION_OUTPUT_SPATIAL)
			take_spatial(reading, &field, instruction->output_spatial);
	}
}

/* xla.WindowDimension: size, stride, padding_low, padding_high, window_dilation, base_dilation. */
static void take_window(struct reading *reading, struct hlo_instruction *instruction, struct stretch message)
{
	static const uint8_t places[] = {0, HLO_SIZE, HLO_STRIDE, HLO_PADDING, HLO_WINDOW, HLO_DILATION, HLO_BASE};
	struct hlo_module *module = reading->module;
	struct wire_field field, value;

	instruction->window = (uint32_t)module->number_count;
	while (wire_next(&reading->source, &message, &field) > 0) {
		if (field.number != WINDOW_DIMENSION || field.type != WIRE_BYTES || instruction->window_rank == HLO_RANK)
			continue;
		module->numbers = base_grow(module->numbers, &reading->number_room, module->number_count + HLO_WINDOW,
					    sizeof(*module->numbers));
		uint64_t *numbers = module->numbers + module->number_count;
		memset(numbers, 0, HLO_WINDOW * sizeof(*numbers));
		while (wire_next(&reading->source, &field.bytes, &value) > 0)
			if (value.type == WIRE_VARINT && value.number < sizeof(places) && places[value.number] != HLO_WINDOW)
				numbers[places[value.number]] = value.value;
		module->number_count += HLO_WINDOW;
		instruction->window_rank++;
	}
}

static void take_instruction(struct reading *reading, uint32_t computation, struct stretch message)
{
	struct hlo_module *module = reading->module;
	struct hlo_instruction instruction = {.computation = computation};
	struct wire_field field;

	while (wire_next(&reading->source, &message, &field) > 0) {
		if (field.number == INSTRUCTION_ID && field.type == WIRE_VARINT)
			instruction.id = field.value;
		else if (field.number == INSTRUCTION_OPERANDS)
			add_numbers(reading, &field, &instruction.operands, &instruction.operand_count);
		else if (field.number == INSTRUCTION_CALLED)
			add_numbers(reading, &field, &instruction.called, &instruction.called_count);
		else if (field.type != WIRE_BYTES)
			continue;
		else if (field.number == INSTRUCTION_NAME)
			instruction.name = take_text(reading, &field.bytes);
		else if (field.number == INSTRUCTION_OPCODE)
			instruction.opcode = take_text(reading, &field.bytes);
		else if (field.number == INSTRUCTION_SHAPE)
			take_shape(reading, &instruction, field.bytes, 0);
		else if (field.number == INSTRUCTION_METADATA)
			take_metadata(reading, &instruction, field.bytes);
		else if (field.number == INSTRUCTION_DOT)
			take_dot(reading, &instruction, field.bytes);
		else if (field.number == INSTRUCTION_WINDOW)
			take_window(reading, &instruction, field.bytes);
		else if (field.number == INSTRUCTION_CONVOLUTION)
			take_convolution(reading, &instruction, field.bytes);
	}
	module->instructions = base_grow(module->instructions, &reading->instruction_room, module->instruction_count + 1,
					 sizeof(*module->instructions));
	module->instructions[module->instruction_count++] = instruction;
}

static void take_computation(struct reading *reading, struct stretch message)
{
	struct hlo_module *module = reading->module;
	struct hlo_computation computation = {.first = (uint32_t)module->instruction_count};
	uint32_t place = (uint32_t)module->computation_count;
	struct wire_field field;

	while (wire_next(&reading->source, &message, &field) > 0) {
		if (field.number == COMPUTATION_ID && field.type == WIRE_VARINT)
			computation.id = field.value;
		else if (field.number == COMPUTATION_NAME && field.type == WIRE_BYTES)
			computation.name = take_text(reading, &field.bytes);
		else if (field.number == COMPUTATION_INSTRUCTION && field.type == WIRE_BYTES)
			take_instruction(reading, place, field.bytes);
	}
	computation.count = (uint32_t)module->instruction_count - computation.first;
	module->computations = base_grow(module->computations, &reading->computation_room, module->computation_count + 1,
					 sizeof(*module->computations));
	module->computations[module->computation_count] = computation;
	if (!hlo_computation(module, computation.id)) /* of ids that come twice the first counts */
		base_index_add(&module->computation_of, base_mix(computation.id), (uint32_t)module->computation_count);
	module->computation_count++;
}

static void take_location(struct reading *reading, struct stretch message)
{
	struct frames *frames = &reading->frames;
	struct location location = {0, 0, 0};
	struct wire_field field;

	while (wire_next(&reading->source, &message, &field) > 0)
		if (field.type == WIRE_VARINT && field.number == LOCATION_FILE)
			location.file = (uint32_t)field.value;
		else if (field.type == WIRE_VARINT && field.number == LOCATION_FUNCTION)
			location.function = (uint32_t)field.value;
		else if (field.type == WIRE_VARINT && field.number == LOCATION_LINE)
			location.line = (uint32_t)field.value;
	frames->locations = base_grow(frames->locations, &frames->location_room, frames->location_count + 1, sizeof(location));
	frames->locations[frames->location_count++] = location;
}

static void take_frame(struct reading *reading, struct stretch message)
{
	struct frames *frames = &reading->frames;
	struct wire_field field;
	uint32_t location = 0;

	while (wire_next(&reading->source, &message, &field) > 0)
		if (field.type == WIRE_VARINT && field.number == FRAME_LOCATION)
			location = (uint32_t)field.value;
	frames->frames = base_grow(frames->frames, &frames->frame_room, frames->frame_count + 1, sizeof(location));
	frames->frames[frames->frame_count++] = location;
}

static void add_place(uint32_t **list, size_t *room, size_t *count, uint32_t text)
{
	*list = base_grow(*list, room, *count + 1, sizeof(**list));
	(*list)[(*count)++] = text;
}

static void take_frames(struct reading *reading, struct stretch message)
{
	struct frames *frames = &reading->frames;
	struct wire_field field;

	while (wire_next(&reading->source, &message, &field) > 0) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == FRAMES_FILE)
			add_place(&frames->files, &frames->file_room, &frames->file_count, take_text(reading, &field.bytes));
		else if (field.number == FRAMES_FUNCTION)
			add_place(&frames->functions, &frames->function_room, &frames->function_count,
				  take_text(reading, &field.bytes));
		else if (field.number == FRAMES_LOCATION)
			take_location(reading, field.bytes);
		else if (field.number == FRAMES_FRAME)
			take_frame(reading, field.bytes);
	}
}

/* The source line of each instruction, through frame and location. */
static void settle_lines(struct reading *reading)
{
	const struct frames *frames = &reading->frames;
	struct hlo_module *module = reading->module;

	for (size_t i = 0; i < module->instruction_count; i++) {
		struct hlo_instruction *instruction = &module->instructions[i];
		uint32_t location = instruction->frame - 1 < frames->frame_count ? frames->frames[instruction->frame - 1] : 0;
		if (location - 1 >= frames->location_count)
			continue;
		const struct location *place = &frames->locations[location - 1];
		instruction->line = place->line;
		if (place->file - 1 < frames->file_count)
			instruction->file = frames->files[place->file - 1];
		if (place->function - 1 < frames->function_count)
			instruction->function = frames->functions[place->function - 1];
	}
}

static int by_id(const void *a, const void *b, void *context)
{
	const struct hlo_module *module = context;
	uint64_t x = module->instructions[*(const uint32_t *)a].id, y = module->instructions[*(const uint32_t *)b].id;

	return x < y ? -1 : x > y;
}

static void sort_ids(struct hlo_module *module)
{
	module->by_id = base_alloc(module->instruction_count + 1, sizeof(*module->by_id));
	for (size_t i = 0; i < module->instruction_count; i++)
		module->by_id[i] = (uint32_t)i;
	if (module->instruction_count)
		qsort_r(module->by_id, module->instruction_count, sizeof(*module->by_id), by_id, module);
}

static void take_module(struct reading *reading, struct stretch message)
{
	struct hlo_module *module = reading->module;
	struct wire_field field;

	while (wire_next(&reading->source, &message, &field) > 0) {
		if (field.number == MODULE_NAME && field.type == WIRE_BYTES)
			module->name = take_text(reading, &field.bytes);
		else if (field.number == MODULE_ENTRY && field.type == WIRE_VARINT)
			module->entry = field.value;
		else if (field.number == MODULE_COMPUTATION && field.type == WIRE_BYTES)
			take_computation(reading, field.bytes);
		else if (field.number == MODULE_FRAMES && field.type == WIRE_BYTES)
			take_frames(reading, field.bytes);
	}
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* An argument whose place a result takes is one and the other: it counts as an argument. */
static void take_allocation(struct reading *reading, struct stretch message)
{
	struct hlo_memory *memory = &reading->module->memory;
	uint64_t values[ALLOCATION_CONSTANT + 1] = {0}, *sum = &memory->temporaries;
	struct wire_field field;

	while (wire_next(&reading->source, &message, &field) > 0)
		if (field.type == WIRE_VARINT && field.number <= ALLOCATION_CONSTANT)
			values[field.number] = field.value;
	if (values[ALLOCATION_ARGUMENT])
		sum = &memory->arguments;
	else if (values[ALLOCATION_CONSTANT])
		sum = &memory->constants;
	else if (values[ALLOCATION_THREAD])
		sum = &memory->thread_local;
	else if (values[ALLOCATION_OUTPUT])
		sum = &memory->outputs;
	*sum = plus(*sum, values[ALLOCATION_SIZE]);
	if (values[ALLOCATION_ARGUMENT] && values[ALLOCATION_OUTPUT])
		memory->reused = plus(memory->reused, values[ALLOCATION_SIZE]);
	memory->allocations++;
}

static void take_buffers(struct reading *reading, struct stretch message)
{
	struct wire_field field;

	while (wire_next(&reading->source, &message, &field) > 0)
		if (field.number == BUFFERS_ALLOCATION && field.type == WIRE_BYTES)
			take_allocation(reading, field.bytes);
}

struct hlo_module *hlo_read(const char *path, struct diag_list *diags)
{
	struct reading reading = {.texts = {0}};
	struct stretch message, bytes = {0, 0};
	struct wire_field field;

	if (source_open(&reading.source, path, MODULE_MOST, diags) != 0)
		return NULL;
	reading.module = base_alloc(1, sizeof(*reading.module));
	text_char(&reading.texts, 0);
	message = (struct stretch){0, reading.source.bytes};
	while (wire_next(&reading.source, &message, &field) > 0)
		if (field.number == PROTO_MODULE && field.type == WIRE_BYTES)
			bytes = field.bytes;
		else if (field.number == PROTO_BUFFERS && field.type == WIRE_BYTES)
			take_buffers(&reading, field.bytes);
	take_module(&reading, bytes);
	settle_lines(&reading);
	sort_ids(reading.module);
	reading.module->called = base_alloc(reading.module->computation_count + 1, sizeof(*reading.module->called));
	reading.module->texts = reading.texts.bytes;
	free(reading.frames.files);
	free(reading.frames.functions);
	free(reading.frames.locations);
	free(reading.frames.frames);
	source_close(&reading.source);
	return reading.module;
}

void hlo_free(struct hlo_module *module)
{
	if (module == NULL)
		return;
	free(module->texts);
	free(module->instructions);
	free(module->by_id);
	free(module->computations);
	free(module->called);
	base_index_free(&module->computation_of);
	free(module->numbers);
	free(module);
}

const struct hlo_instruction *hlo_instruction(const struct hlo_module *module, uint64_t id)
{
	size_t low = 0, high = module->instruction_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct hlo_instruction *instruction = &module->instructions[module->by_id[middle]];
		if (instruction->id == id)
			return instruction;
		if (instruction->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool is_computation(const void *context, const void *key, uint32_t place)
{
	return ((const struct hlo_module *)context)->computations[place].id == *(const uint64_t *)key;
}

const struct hlo_computation *hlo_computation(const struct hlo_module *module, uint64_t id)
{
	uint32_t place = base_index_find(&module->computation_of, base_mix(id), is_computation, module, &id);

	return place == UINT32_MAX ? NULL : &module->computations[place];
}

static void put_numbers(struct text *text, const uint64_t *numbers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		text_format(text, "%s%" PRIu64, i ? "," : "", numbers[i]);
}

void hlo_put_shape(struct text *text, const struct hlo_instruction *instruction)
{
	/* By number, up to the 8-bit floats. */
	static const char *const names[] = {NULL,  "pred", "s8",  "s16", "s32", "s64", "u8",  "u16",  "u32",    "u64", "f16",
					    "f32", "f64",  NULL, NULL,  "c64", "bf16", NULL, "c128", "f8e5m2", "f8e4m3fn"};
	const char *name = instruction->type < sizeof(names) / sizeof(names[0]) ? names[instruction->type] : NULL;

	if (!name)
		return;
	text_format(text, "%s[", name);
	put_numbers(text, instruction->dims, instruction->rank);
	text_char(text, ']');
	if (!instruction->layout_rank)
		return;
	text_char(text, '{');
	put_numbers(text, instruction->layout, instruction->layout_rank);
	text_char(text, '}');
}
