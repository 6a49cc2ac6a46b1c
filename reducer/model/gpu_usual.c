/* SPDX-License-Identifier: Apache-2.0 */
/* The usual launch. See gpu_usual.h. */
#include "reducer/model/gpu_scan.h"

#include "reducer/base/base.h"

#include <stdlib.h>

enum { SLOT_FREE, SLOT_CALLED, SLOT_PAIRED }; /* gpu_usual_slot.step */

#define AHEAD 8 /* launches whose slots are fetched from memory meanwhile */
#define CAPTURED 4u /* gpu_call.flags */

void gpu_usual_begin(struct gpu_scan *scan)
{
	if (scan->has_window)
		return;
	scan->usual.slots = calloc(GPU_USUAL_FIRST, sizeof *scan->usual.slots);
	scan->usual.room = scan->usual.slots == NULL ? 0 : GPU_USUAL_FIRST;
}

void gpu_usual_free(struct gpu_scan *scan)
{
	free(scan->usual.slots);
}

/* Is it young enough that a flight would not have been settled yet? */
static int is_fresh(const struct gpu_usual *usual, const struct gpu_usual_slot *slot)
{
	return usual->launches - slot->born <= FLIGHTS_KEEP;
}

static void fill_flight(struct gpu_flight *flight, const struct gpu_usual_slot *slot)
{
	flight->has = FLIGHT_CALL;
	flight->begin = slot->begin;
	flight->end = slot->end;
	flight->function = slot->function;
	flight->thread = slot->thread;
	flight->op = slot->op;
	flight->stack = slot->stack;
	flight->kernel = slot->kernel;
	flight->kind = slot->kind;
	flight->state = slot->state;
	flight->bytes = slot->bytes;
	flight->shape = slot->shape;
	flight->queue = slot->queue;
	if (slot->step != SLOT_PAIRED)
		return;
	flight->has |= FLIGHT_DEVICE;
	flight->records = 1;
	flight->copy_kind = slot->copy_kind;
	flight->first = slot->start;
	flight->last = slot->start + slot->duration;
	flight->doubles[0] = slot->key;
}

/* A launch is counted when it is paired, and taken back when it turns out that there is more to it. */
static void count_paired(struct gpu_scan *scan, unsigned kind, uint64_t one)
{
	struct gpu_counts *counts = &scan->gpu->counts;

	counts->launches[GPU_PAIRED] += one;
	counts->reasons[GPU_PAIRED][GPU_REASON_NONE] += one;
	counts->kinds[GPU_PAIRED][kind] += one;
}

/* Nothing more is expected of a paired launch. */
static inline void leave(struct gpu_scan *scan, const struct gpu_usual_slot *slot)
{
	if (!scan->keeps_launches)
		return;
	gpu_pair_keep(scan, &(struct gpu_launch){
		.host_ns = (int64_t)(slot->begin & INT64_MAX), .host_duration_ns = slot->end - slot->begin,
		.device_ns = (int64_t)(slot->start & INT64_MAX), .device_span_ns = slot->duration, .correlation = slot->correlation,
		.bytes = slot->bytes, .function = slot->function, .shape = slot->shape, .queue = slot->queue, .thread = slot->thread,
		.op = slot->op, .stack = slot->stack, .records = 1, .kernel = slot->kernel, .kind = slot->kind,
		.pairing = GPU_PAIRED, .reason = GPU_REASON_NONE, .copy_kind = slot->copy_kind});
}

static void yield(struct gpu_scan *scan, struct gpu_usual_slot *slot)
{
	struct gpu_flight alone = {.correlation = slot->correlation};
	struct gpu_flight *flight = flights_add(&scan->flights, slot->correlation, slot->end);

	if (slot->step == SLOT_PAIRED)
		count_paired(scan, slot->kind, (uint64_t)-1);
	fill_flight(flight != NULL ? flight : &alone, slot);
	slot->step = SLOT_FREE;
	if (flight == NULL)
		gpu_pair_settle(scan, &alone, 0);
}

/* The slot of that id, NULL where it holds another. */
static inline struct gpu_usual_slot *slot_of(const struct gpu_usual *usual, uint64_t correlation)
{
	struct gpu_usual_slot *slot = usual->room == 0 ? NULL : &usual->slots[correlation & (usual->room - 1)];

	return slot == NULL || slot->step == SLOT_FREE || slot->correlation != correlation ? NULL : slot;
}

void gpu_usual_yield(struct gpu_scan *scan, uint64_t correlation)
{
	struct gpu_usual_slot *slot = slot_of(&scan->usual, correlation);

	if (slot != NULL && (slot->step == SLOT_CALLED || is_fresh(&scan->usual, slot)))
		yield(scan, slot);
}

void gpu_usual_end(struct gpu_scan *scan)
{
	for (uint32_t i = 0; i < scan->usual.room; i++) { /* the eldest first: nearly the order of launches */
		struct gpu_usual_slot *slot = &scan->usual.slots[(scan->usual.last + 1 + i) & (scan->usual.room - 1)];

		if (slot->step == SLOT_CALLED)
			yield(scan, slot);
		else if (slot->step == SLOT_PAIRED)
			leave(scan, slot);
	}
}

/* Twice the slots: what lies in different ones still does. */
static void widen(struct gpu_usual *usual)
{
	uint32_t room = usual->room * 2;
	struct gpu_usual_slot *slots = room > GPU_USUAL_MOST ? NULL : calloc(room, sizeof *slots);

	if (slots == NULL)
		return;
	base_large_pages(slots, room * sizeof *slots);
	for (uint32_t i = 0; i < usual->room; i++)
		if (usual->slots[i].step != SLOT_FREE)
			slots[usual->slots[i].correlation & (room - 1)] = usual->slots[i];
	free(usual->slots);
	usual->slots = slots;
	usual->room = room;
}

/* A slot for a new launch: free, or of one that was paired. */
static struct gpu_usual_slot *take_slot(struct gpu_scan *scan, uint64_t correlation)
{
	struct gpu_usual *usual = &scan->usual;
	struct gpu_usual_slot *slot = &usual->slots[correlation & (usual->room - 1)];

	while (slot->step == SLOT_CALLED) {
		uint32_t room = usual->room;

		widen(usual);
		slot = &usual->slots[correlation & (usual->room - 1)];
		if (usual->room == room)
			yield(scan, slot);
	}
	if (slot->step == SLOT_PAIRED) {
		scan->flights.recent[slot->correlation % FLIGHTS_RECENT] = slot->key;
		leave(scan, slot);
	}
	return slot;
}

/* Nothing but a launch that the device will answer; `arguments` may be of a kind of its own. */
static int is_usual_call(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments)
{
	if (scan->usual.room == 0 || call->correlation == 0 || call->result != 0 || (call->flags & CAPTURED) != 0 ||
	    arguments->open_count != 0 || call->kind > GPU_SET)
		return 0;
	if (scan->scan->process->python.pair_count != 0)
		return 0; /* sums by stack want more */
	if (scan->flights.count != 0 && flights_find(&scan->flights, call->correlation) != NULL)
		return 0;
	return call->kind == GPU_LAUNCH || arguments->kind != call->kind || arguments->values[0] != 0;
}

int gpu_usual_call(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments)
{
	struct gpu_usual_slot *slot;
	int has_arguments = arguments->kind == call->kind && !arguments->is_object && !arguments->is_library;

	if (!is_usual_call(scan, call, arguments))
		return 0;
	slot = &scan->usual.slots[call->correlation & (scan->usual.room - 1)];
	if (slot->step != SLOT_FREE && slot->correlation == call->correlation &&
	    (slot->step == SLOT_CALLED || is_fresh(&scan->usual, slot)))
		return 0;
	if (slot->step != SLOT_FREE)
		slot = take_slot(scan, call->correlation);
	slot->correlation = call->correlation;
	slot->begin = call->begin;
	slot->end = call->end;
	slot->function = call->function;
	slot->thread = call->thread;
	slot->op = call->op;
	slot->stack = call->stack;
	slot->kernel = has_arguments && call->kind == GPU_LAUNCH ? gpu_kernel_by_hash(scan, arguments->values[0]) : GPU_NONE;
	slot->bytes = has_arguments && call->kind != GPU_LAUNCH ? arguments->values[0] : 0;
	slot->shape = slot->queue = GPU_NONE;
	slot->born = ++scan->usual.launches;
	scan->usual.last = call->correlation;
	slot->kind = (uint8_t)call->kind;
	slot->state = (uint8_t)(scan->state + 1);
	slot->step = SLOT_CALLED;
	return 1;
}

/* Twice the same device record, or a further one of the same launch. */
static int again(struct gpu_scan *scan, struct gpu_usual_slot *slot, const struct gpu_record *record)
{
	if (slot->key != gpu_double_key(record))
		return 0;
	scan->gpu->counts.device_records++;
	scan->gpu->counts.duplicates++;
	scan->last_decoded = record->time;
	return 1;
}

/* The device's record of a launch whose times are sane; `begin`: of its call, device time. */
static inline __attribute__((always_inline)) void pair(struct gpu_scan *scan, struct gpu_usual_slot *slot,
							  const struct gpu_record *record, uint64_t begin)
{
	scan->gpu->counts.device_records++;
	scan->last_decoded = record->time;
	if (record->kind == GPU_LAUNCH && !(scan->without & RUN_SUM_DELAYS))
		spread_add(&scan->gpu->queue_delays, record->start > begin ? record->start - begin : 0);
	gpu_sum_usual(scan, record, record->given_op != 0 ? record->given_op : slot->op, slot->thread);
	if (scan->usual.launches - slot->born >= FLIGHTS_KEEP / 2)
		slot->born = scan->usual.launches;
	slot->key = gpu_double_key(record);
	slot->start = record->start;
	slot->duration = record->duration;
	slot->bytes = record->bytes;
	slot->shape = record->shape;
	slot->queue = record->queue;
	slot->copy_kind = (uint8_t)record->copy_kind;
	slot->step = SLOT_PAIRED;
	gpu_fault_worked(&scan->fault, slot->begin);
	count_paired(scan, slot->kind, 1);
}

int gpu_usual_record(struct gpu_scan *scan, const struct gpu_record *record)
{
	struct gpu_usual_slot *slot = slot_of(&scan->usual, record->correlation);
	uint64_t begin;

	if (slot == NULL || record->start == 0 || record->graph != 0 || record->node != 0)
		return 0;
	if (slot->step == SLOT_PAIRED)
		return again(scan, slot, record);
	if (!gpu_is_sane(scan, record, slot->begin, &begin))
		return 0;
	pair(scan, slot, record, begin);
	return 1;
}

size_t gpu_usual_kernels(struct gpu_scan *scan, const struct gpu_kernels *kernels, size_t from)
{
	struct gpu_record record = {.kind = GPU_LAUNCH, .source_device = GPU_NONE, .destination_device = GPU_NONE};
	uint64_t shape = 0, queue = 0, begin;
	size_t i = from;

	for (; i < kernels->count; i++) {
		if (i + AHEAD < kernels->count && scan->usual.room != 0)
			__builtin_prefetch(&scan->usual.slots[kernels->correlation[i + AHEAD] & (scan->usual.room - 1)]);
		struct gpu_usual_slot *slot = slot_of(&scan->usual, kernels->correlation[i]);

		if (slot == NULL || slot->step != SLOT_CALLED || kernels->start[i] == 0 || (kernels->graph[i] | kernels->node[i]) != 0)
			break;
		if (i == from || kernels->shape[i] != shape || kernels->queue[i] != queue) {
			shape = kernels->shape[i];
			queue = kernels->queue[i];
			record.shape = number_map_find(&scan->shape_of, 0, shape);
			record.queue = number_map_find(&scan->queue_of, 0, queue);
			if (record.shape == NUMBER_MAP_NONE || record.queue == NUMBER_MAP_NONE)
				break;
		}
		record.time = kernels->time[i];
		record.start = kernels->start[i];
		record.duration = kernels->duration[i];
		record.correlation = kernels->correlation[i];
		if (!gpu_is_sane(scan, &record, slot->begin, &begin))
			break;
		pair(scan, slot, &record, begin);
	}
	return i;
}
