/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets: rows and planes between memory and arrays, what kind of copy it is, how long it takes.
 *
 * Rule: the bytes move when the piece retires, so a program sees what a real device would have done by then. A copy out of
 * pageable memory takes its bytes at the call, because the program may change them once the call has returned.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

/* Where one side's first byte lies, and its row and plane strides. */
struct resolved {
	struct sim_place place;
	char *host;
	size_t pitch, slice;
	uint8_t kind;		/* memory kind; 4 = array */
	uint64_t address;
};

static void resolve(const struct sim_side *side, struct resolved *to)
{
	size_t offset;

	to->pitch = side->pitch;
	to->slice = side->pitch * side->height;
	to->address = side->address;
	if (side->array) {
		to->address = side->array->block->address;
		to->pitch = side->array->pitch;
		to->slice = side->array->pitch * (side->array->height ? side->array->height : 1);
	}
	offset = side->x + side->y * to->pitch + side->z * to->slice;
	to->address += offset;
	sim_place_of(to->address, &to->place);
	to->host = to->place.host;
	to->kind = side->array ? 4 : to->place.kind;
}

/* CUpti_ActivityMemcpyKind from the two memory kinds. Managed memory counts as device memory. */
static uint8_t copy_kind(const struct resolved *to, const struct resolved *from, bool is_peer)
{
	bool to_host = to->kind <= 2, from_host = from->kind <= 2;

	if (is_peer)
		return 10;
	if (from->kind == 4)
		return to->kind == 4 ? 5 : to_host ? 4 : 6;
	if (to->kind == 4)
		return from_host ? 3 : 7;
	if (from_host)
		return to_host ? 9 : 1;
	return to_host ? 2 : 8;
}

static int engine_of(uint8_t kind)
{
	return kind == 1 || kind == 3 ? SIM_TO_DEVICE : kind == 2 || kind == 4 ? SIM_TO_HOST : SIM_INSIDE;
}

static uint64_t duration_of(uint8_t kind, uint64_t bytes)
{
	uint64_t inside = SIM_NUMBER("copy_inside_bytes_per_us", 1500000), across = SIM_NUMBER("copy_bytes_per_us", 25000);
	uint64_t rate = engine_of(kind) == SIM_INSIDE && kind != 10 && kind != 9 ? inside : across;

	return SIM_NUMBER("copy_ns", 1200) + bytes * 1000 / (rate ? rate : 1);
}

static void move_rows(char *to, size_t to_pitch, size_t to_slice, const char *from, size_t from_pitch, size_t from_slice,
		      const struct sim_piece *piece)
{
	for (size_t plane = 0; plane < piece->planes; plane++)
		for (size_t row = 0; row < piece->rows; row++)
			memmove(to + plane * to_slice + row * to_pitch, from + plane * from_slice + row * from_pitch, piece->width);
}

static void copy_now(struct sim_piece *piece)
{
	if (piece->staged)
		move_rows(piece->target, piece->pitch[0], piece->slice[0], piece->staged, piece->width,
			piece->width * piece->rows, piece);
	else
		move_rows(piece->target, piece->pitch[0], piece->slice[0], piece->source, piece->pitch[1], piece->slice[1], piece);
}

static void stage(struct sim_piece *piece)
{
	char *room = malloc(piece->width * piece->rows * piece->planes + 1);

	if (!room)
		return;
	move_rows(room, piece->width, piece->width * piece->rows, piece->source, piece->pitch[1], piece->slice[1], piece);
	piece->staged = room;
}

int sim_copy_piece(const struct sim_context *context, const struct sim_copy *copy, struct sim_piece **made, int *engine,
		uint64_t *duration)
{
	struct resolved to, from;
	struct sim_piece *piece;
	struct sim_copy_work *work;
	bool is_peer = copy->is_peer;

	resolve(&copy->to, &to);
	resolve(&copy->from, &from);
	if (to.place.device >= 0 && from.place.device >= 0 && to.place.device != from.place.device)
		is_peer = true;
	piece = sim_piece_new(SIM_COPY);
	work = &piece->work.copy;
	*work = (struct sim_copy_work){.bytes = copy->width * copy->height * copy->depth, .is_async = copy->is_async,
				       .source_kind = from.kind, .destination_kind = to.kind,
				       .source_device = from.place.device, .destination_device = to.place.device,
				       .source = from.address, .destination = to.address};
	work->kind = copy_kind(&to, &from, is_peer && from.kind > 2 && to.kind > 2);
	work->source_context = copy->from_context ? copy->from_context->id : from.kind > 2 ? context->id : 0;
	work->destination_context = copy->to_context ? copy->to_context->id : to.kind > 2 ? context->id : 0;
	piece->act = copy_now;
	piece->target = to.host;
	piece->source = from.host;
	piece->pitch[0] = to.pitch;
	piece->pitch[1] = from.pitch;
	piece->slice[0] = to.slice;
	piece->slice[1] = from.slice;
	piece->width = copy->width;
	piece->rows = copy->height;
	piece->planes = copy->depth;
	*engine = engine_of(work->kind);
	*duration = duration_of(work->kind, work->bytes);
	*made = piece;
	return SIM_OK;
}

/* Whether all bytes of one side lie within one allocation; pageable memory is taken at its word. */
static bool fits(const struct sim_side *side, const struct sim_copy *copy)
{
	struct resolved where;
	uint64_t last;

	resolve(side, &where);
	if (where.place.kind == 1)
		return where.address > 4096;
	last = where.address + (copy->depth - 1) * where.slice + (copy->height - 1) * where.pitch + copy->width;
	return side->array || last <= where.place.base + where.place.bytes;
}

int sim_copy(struct sim_stream *stream, const struct sim_copy *copy)
{
	struct sim_piece *piece;
	struct sim_node *node;
	uint64_t duration, end;
	int engine, result;
	bool must_wait;

	if (!copy->width || !copy->height || !copy->depth)
		return SIM_OK;
	if (!fits(&copy->to, copy) || !fits(&copy->from, copy))
		return SIM_INVALID_VALUE;
	if ((result = sim_capture_implicit(stream)))
		return result;
	if (sim_capture_status(stream)) {
		if (!copy->is_async)
			return sim_capture_forbids(stream);
		result = sim_capture_add(stream, 1, &node);
		if (!result)
			node->copy = *copy;
		return result;
	}
	result = sim_copy_piece(stream->context, copy, &piece, &engine, &duration);
	if (result)
		return result;
	if (piece->work.copy.source_kind == 1)
		stage(piece);
	must_wait = piece->work.copy.destination_kind == 1 || (!copy->is_async && piece->work.copy.kind != 8);
	end = sim_submit(stream, piece, engine, duration);
	if (must_wait)
		sim_wait_until(end);
	return stream->context->error;
}

static void set_now(struct sim_piece *piece)
{
	char *row = piece->target;

	for (size_t y = 0; y < piece->rows; y++, row += piece->pitch[0])
		for (size_t x = 0; x < piece->width; x++)
			memcpy(row + x * piece->pitch[1], &piece->work.set.value, piece->pitch[1]);
}

static void set_bytes_now(struct sim_piece *piece)
{
	char *row = piece->target;

	for (size_t y = 0; y < piece->rows; y++, row += piece->pitch[0])
		memset(row, (int)(piece->work.set.value & 255), piece->width);
}

int sim_set_piece(const struct sim_context *context, const struct sim_set *set, struct sim_piece **made, uint64_t *duration)
{
	uint64_t rate = SIM_NUMBER("set_bytes_per_us", 2500000);
	struct sim_piece *piece = sim_piece_new(SIM_SET);
	struct sim_place place;

	(void)context;
	sim_place_of(set->address, &place);
	piece->work.set = (struct sim_set_work){.bytes = set->width * set->element * set->height, .destination = set->address,
						.value = set->value, .memory_kind = place.kind, .is_async = set->is_async};
	piece->act = set->element == 1 ? set_bytes_now : set_now;
	piece->target = place.host;
	piece->pitch[0] = set->pitch;
	piece->pitch[1] = set->element;
	piece->width = set->width;
	piece->rows = set->height;
	*duration = SIM_NUMBER("copy_ns", 1200) + piece->work.set.bytes * 1000 / (rate ? rate : 1);
	*made = piece;
	return SIM_OK;
}

int sim_set(struct sim_stream *stream, const struct sim_set *set)
{
	struct sim_place place;
	struct sim_piece *piece;
	struct sim_node *node;
	uint64_t duration, end;
	int result;

	if (!set->width || !set->height)
		return SIM_OK;
	sim_place_of(set->address, &place);
	if (place.kind == 1 || set->address + (set->height - 1) * set->pitch + set->width * set->element > place.base + place.bytes)
		return SIM_INVALID_VALUE;
	if ((result = sim_capture_implicit(stream)))
		return result;
	if (sim_capture_status(stream)) {
		if (!set->is_async)
			return sim_capture_forbids(stream);
		result = sim_capture_add(stream, 2, &node);
		if (!result)
			node->set = *set;
		return result;
	}
	sim_set_piece(stream->context, set, &piece, &duration);
	end = sim_submit(stream, piece, SIM_COMPUTE, duration);
	/* A set is asynchronous for the host unless it writes the host's own memory. */
	if (!set->is_async && place.kind != 3)
		sim_wait_until(end);
	return stream->context->error;
}

int sim_array_new(struct sim_context *context, const struct sim_array *shape, struct sim_array **made)
{
	static const uint8_t sizes[64] = {[1] = 1, [2] = 2, [3] = 4, [8] = 1, [9] = 2, [10] = 4, [16] = 2, [32] = 4};
	unsigned element = shape->format < 64 ? sizes[shape->format] * shape->channels : 0;
	struct sim_array *array;
	uint64_t address;
	int result;

	if (!element || !shape->width || !made)
		return SIM_INVALID_VALUE;
	array = sim_object_new(sizeof *array);
	*array = *shape;
	array->magic = SIM_MAGIC_ARRAY;
	array->context = context;
	array->element_bytes = element;
	array->pitch = (shape->width * element + 127) / 128 * 128;
	result = sim_memory_alloc(context,
		array->pitch * (shape->height ? shape->height : 1) * (shape->depth ? shape->depth : 1), &address);
	if (result)
		return result;
	sim_lock();
	array->block = sim_arena_find(context->machine->arena, address);
	array->block->origin = SIM_FROM_ALLOC;
	sim_unlock();
	*made = array;
	return SIM_OK;
}

int sim_array_free(struct sim_array *array)
{
	if (!sim_is_object(array, SIM_MAGIC_ARRAY))
		return SIM_INVALID_HANDLE;
	array->magic = SIM_MAGIC_DEAD;
	return sim_memory_free(array->context, array->block->address);
}
