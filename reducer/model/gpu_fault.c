/* SPDX-License-Identifier: Apache-2.0 */
/* Work on a device that failed; see reducer/model/gpu_fault.h. */
#include "reducer/model/gpu_fault.h"

#include "reducer/model/gpu_scan.h"

#include <stdlib.h>

#define ENDLESS_MOST 65536 /* kept; a device takes about a thousand launches, and what is left out is later than what is kept */
#define WAITS_MOST 65536   /* streams and contexts */

enum { WAIT_STREAM = 3, WAIT_CONTEXT = 4 }; /* CUpti_ActivitySynchronizationType */
enum { OF_STREAM = 1, OF_CONTEXT = 2 };	    /* of `waited` */

enum remedy {
#define GPU_REMEDY(name, sentence) name,
#include "reducer/model/gpu_faults.def"
#undef GPU_REMEDY
	REMEDIES
};
static const char *const remedies[REMEDIES] = {
#define GPU_REMEDY(name, sentence) [name] = (sentence),
#include "reducer/model/gpu_faults.def"
#undef GPU_REMEDY
};

static const struct gpu_result faults[] = {
#define GPU_FAULT(code, name, text, remedy) {code, name, text, remedy},
#include "reducer/model/gpu_faults.def"
#undef GPU_FAULT
};

static const struct gpu_result bad_launches[] = {
#define GPU_BAD_LAUNCH(code, name, text, remedy) {code, name, text, remedy},
#include "reducer/model/gpu_faults.def"
#undef GPU_BAD_LAUNCH
};

static const struct gpu_result *find(const struct gpu_result *rows, size_t count, uint32_t code)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].code == code)
			return &rows[i];
	return NULL;
}

const struct gpu_result *gpu_fault_of(uint32_t result)
{
	return find(faults, sizeof faults / sizeof *faults, result);
}

const struct gpu_result *gpu_bad_launch_of(uint32_t result)
{
	return find(bad_launches, sizeof bad_launches / sizeof *bad_launches, result);
}

const char *gpu_result_remedy(const struct gpu_result *result)
{
	return remedies[result->remedy];
}

void gpu_fault_times(struct gpu_fault *fault, const struct process *process)
{
	fault->called_ns = process_ns(process, (uint64_t)fault->called_ns);
	fault->returned_ns = process_ns(process, (uint64_t)fault->returned_ns);
	fault->last_called_ns = fault->last_called_ns ? process_ns(process, (uint64_t)fault->last_called_ns) : 0;
	fault->bad.called_ns = process_ns(process, (uint64_t)fault->bad.called_ns);
	fault->bad.returned_ns = process_ns(process, (uint64_t)fault->bad.returned_ns);
	for (size_t i = 0; i <= GPU_SUSPECTS; i++) {
		struct gpu_suspect *suspect = i < GPU_SUSPECTS ? &fault->suspects[i] : &fault->latest;
		suspect->host_ns = process_ns(process, (uint64_t)suspect->host_ns);
		suspect->returned_ns = process_ns(process, (uint64_t)suspect->returned_ns);
	}
}

uint64_t gpu_endless_records(const struct gpu *gpu)
{
	uint64_t timeless = gpu->counts.impossible[0]; /* by bit: GPU_NO_TIME */

	if (gpu->fault.result == 0)
		return gpu->fault.aborted < timeless ? gpu->fault.aborted : timeless;
	return gpu->fault.elsewhere > timeless ? 0 : timeless - gpu->fault.elsewhere;
}

/* A launch, copy, set or graph that the call did not start. Want of memory is told elsewhere (refused_rows.h). */
static void note_bad_launch(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments)
{
	struct gpu_bad_launch *bad = &scan->gpu->fault.bad;
	int is_told = call->kind == GPU_LAUNCH && arguments->kind == GPU_LAUNCH && !arguments->is_object && !arguments->is_library;

	if (call->kind < GPU_LAUNCH || call->kind > GPU_GRAPH || gpu_bad_launch_of(call->result) == NULL ||
	    (bad->result != 0 && (uint64_t)bad->returned_ns <= call->end))
		return;
	*bad = (struct gpu_bad_launch){.result = call->result, .called_ns = (int64_t)(call->begin & INT64_MAX),
				       .returned_ns = (int64_t)(call->end & INT64_MAX), .function = call->function,
				       .thread = call->thread, .op = call->op, .stack = call->stack,
				       .kernel = is_told ? gpu_kernel_by_hash(scan, arguments->values[0]) : GPU_NONE};
}

void gpu_fault_call(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments)
{
	struct gpu_fault *fault = &scan->gpu->fault;

	if (gpu_fault_of(call->result) == NULL) {
		note_bad_launch(scan, call, arguments);
		return;
	}
	fault->calls++;
	if (fault->result != 0 && (uint64_t)fault->returned_ns <= call->end)
		return;
	fault->result = call->result;
	fault->called_ns = (int64_t)(call->begin & INT64_MAX);
	fault->returned_ns = (int64_t)(call->end & INT64_MAX);
	fault->function = call->function;
	fault->thread = call->thread;
	fault->stack = call->stack;
	fault->context = call->context;
}

void gpu_fault_endless(struct gpu_scan *scan, const struct gpu_flight *flight)
{
	struct gpu_fault_scan *fault = &scan->fault;
	const struct gpu *gpu = scan->gpu;
	const struct gpu_queue *queue = flight->queue < gpu->queue_count ? &gpu->queues[flight->queue] : NULL;
	struct gpu_endless *wider = fault->count >= ENDLESS_MOST ? NULL : model_room(fault->endless, fault->count, sizeof *wider);

	if (wider == NULL) {
		fault->left_out++;
		return;
	}
	fault->endless = wider;
	fault->endless[fault->count++] = (struct gpu_endless){
		.work = {.host_ns = (int64_t)(flight->begin & INT64_MAX), .returned_ns = (int64_t)(flight->end & INT64_MAX),
			 .function = flight->function,
			 .kernel = flight->shape < gpu->shape_count ? gpu->shapes[flight->shape].kernel : flight->kernel,
			 .queue = flight->queue, .thread = flight->thread, .op = flight->op, .stack = flight->stack},
		.context = queue == NULL ? GPU_NONE : queue->context, .stream = queue == NULL ? GPU_NONE : queue->stream};
}

static void note_wait(struct gpu_fault_scan *fault, uint64_t kind, uint64_t of, uint64_t begin)
{
	uint32_t place = number_map_find(&fault->waited, kind, of);
	uint64_t *wider;

	if (place == NUMBER_MAP_NONE) {
		wider = fault->wait_count >= WAITS_MOST ? NULL : model_room(fault->waits, fault->wait_count, sizeof *wider);
		if (wider == NULL)
			return;
		fault->waits = wider;
		place = (uint32_t)fault->wait_count;
		if (number_map_set(&fault->waited, kind, of, place) != 0)
			return;
		fault->waits[fault->wait_count++] = 0;
	}
	if (begin > fault->waits[place])
		fault->waits[place] = begin;
}

void gpu_fault_waited(struct gpu_scan *scan, const struct gpu_flight *flight, const struct gpu_record *record)
{
	if (record->copy_kind == WAIT_STREAM)
		note_wait(&scan->fault, OF_STREAM, (uint64_t)record->source << 32 | record->destination, flight->begin);
	else if (record->copy_kind == WAIT_CONTEXT)
		note_wait(&scan->fault, OF_CONTEXT, record->source, flight->begin);
}

static uint64_t wait_of(const struct gpu_fault_scan *fault, uint64_t kind, uint64_t of)
{
	uint32_t place = number_map_find(&fault->waited, kind, of);

	return place == NUMBER_MAP_NONE ? 0 : fault->waits[place];
}

/* A wait came back well after it: it had ended. */
static int has_ended(const struct gpu_fault_scan *fault, const struct gpu_endless *endless)
{
	uint64_t begin = (uint64_t)endless->work.host_ns;

	return wait_of(fault, OF_CONTEXT, endless->context) > begin ||
	       wait_of(fault, OF_STREAM, (uint64_t)endless->context << 32 | endless->stream) > begin;
}

/* A stream has a queue for each engine. */
static int is_alike(const struct gpu_endless *one, const struct gpu_endless *other)
{
	return one->context == other->context && one->stream == other->stream;
}

/* In one stream what is called first runs first; between kernels and copies, kernels are what fails. */
static int is_before(const struct gpu_endless *one, const struct gpu_endless *other)
{
	int is_kernel = one->work.kernel != GPU_NONE, is_other = other->work.kernel != GPU_NONE;

	return is_kernel != is_other ? is_kernel : one->work.host_ns < other->work.host_ns;
}

static int by_stream(const void *a, const void *b)
{
	const struct gpu_endless *one = a, *other = b;

	if (one->context != other->context)
		return one->context < other->context ? -1 : 1;
	if (one->stream != other->stream)
		return one->stream < other->stream ? -1 : 1;
	return is_before(one, other) ? -1 : is_before(other, one);
}

/* Keeps those that were called first. */
static void add_suspect(struct gpu_fault *fault, const struct gpu_suspect *suspect)
{
	size_t at = fault->suspect_count < GPU_SUSPECTS ? (size_t)fault->suspect_count : GPU_SUSPECTS;

	fault->suspect_count++;
	for (; at > 0 && fault->suspects[at - 1].host_ns > suspect->host_ns; at--)
		if (at < GPU_SUSPECTS)
			fault->suspects[at] = fault->suspects[at - 1];
	if (at < GPU_SUSPECTS)
		fault->suspects[at] = *suspect;
}

/* In a context that is not that of the call which told of the fault, as far as both are known. */
static int is_elsewhere(const struct gpu_fault *fault, const struct gpu_endless *endless)
{
	return fault->context != 0 && fault->context != GPU_NONE && endless->context != GPU_NONE && endless->context != fault->context;
}

void gpu_fault_end(struct gpu_scan *scan)
{
	struct gpu_fault *fault = &scan->gpu->fault;
	struct gpu_fault_scan *all = &scan->fault;
	const struct gpu_endless *last = NULL;

	fault->last_called_ns = (int64_t)(all->last_begin & INT64_MAX);
	for (size_t i = 0; i < all->count && fault->result == 0 && scan->scan->process->end == END_ABORT; i++)
		fault->aborted += (uint64_t)all->endless[i].work.host_ns >= all->last_begin;
	if (fault->result == 0 || all->count == 0 || all->left_out != 0)
		return;
	qsort(all->endless, all->count, sizeof *all->endless, by_stream);
	for (size_t i = 0; i < all->count; i++) {
		const struct gpu_endless *endless = &all->endless[i];
		fault->elsewhere += (uint64_t)is_elsewhere(fault, endless);
		if (endless->work.host_ns > fault->returned_ns || has_ended(all, endless) || is_elsewhere(fault, endless))
			continue;
		fault->latest = fault->endless++ && endless->work.host_ns < fault->latest.host_ns ? fault->latest : endless->work;
		if (last == NULL || !is_alike(last, endless))
			add_suspect(fault, &endless->work);
		last = endless;
	}
}

void gpu_fault_free(struct gpu_fault_scan *fault)
{
	number_map_free(&fault->waited);
	free(fault->endless);
	free(fault->waits);
}
