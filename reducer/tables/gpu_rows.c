/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables about GPUs share. See gpu_rows.h. */
#include "reducer/tables/gpu_rows.h"

#include "reducer/symbols/demangle.h"
#include "reducer/analysis/tensor_names.h"
#include "reducer/tables/notes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(const char *text, uint64_t number)
{
	char *end;

	return strtoull(text, &end, 10) == number && end != text && !*end;
}

bool gpu_wants_device_number(const struct request *request, const struct gpu *gpu, uint32_t device)
{
	const struct gpu_device *known = gpu_find_device(gpu, device);

	return !request->device || (device != GPU_NONE && is_number(request->device, device)) ||
	       (known && strcmp(request->device, known->name) == 0);
}

static bool wants_stream(const struct request *request, const struct gpu *gpu, const struct gpu_queue *queue)
{
	if (!request->stream || is_number(request->stream, queue->stream))
		return true;
	for (size_t i = 0; i < gpu->stream_count; i++)
		if (gpu->streams[i].context == queue->context && gpu->streams[i].id == queue->stream)
			return strcmp(request->stream, gpu->streams[i].name) == 0;
	return false;
}

bool gpu_wants_queue(const struct request *request, const struct gpu *gpu, uint32_t queue)
{
	if (!request->device && !request->stream)
		return true;
	if (queue >= gpu->queue_count)
		return false;
	return gpu_wants_device_number(request, gpu, gpu->queues[queue].device) && wants_stream(request, gpu, &gpu->queues[queue]);
}

bool gpu_wants_thread(const struct request *request, const struct process *process, uint32_t thread)
{
	const struct thread *known = request->thread ? process_thread(process, thread) : NULL;

	return !request->thread || (known && request_wants_thread(request, known));
}

void gpu_put_device(struct table *table, size_t column, uint32_t device)
{
	if (device != GPU_NONE)
		table_integer(table, column, device);
}

void gpu_put_thread(struct table *table, size_t column, const struct process *process, uint32_t thread)
{
	const struct thread *known = process_thread(process, thread);

	if (known)
		table_integer(table, column, known->tid);
}

void gpu_put_op(struct table *table, size_t column, const struct process *process, uint32_t op)
{
	if (op != 0 && op < process->op_count)
		table_string(table, column, process->op_names[op]);
}

void gpu_put_function(struct table *table, size_t column, const struct gpu *gpu, uint32_t function)
{
	if (function < gpu->function_count)
		table_string(table, column, gpu->functions[function].name);
}

void gpu_kernel_text(struct text *out, const struct gpu *gpu, uint32_t name)
{
	struct text readable = {0};

	if (name >= gpu->name_count)
		return;
	demangle(gpu->names[name][0] ? gpu->names[name] : "[no name was given]", &readable);
	text_put(out, readable.bytes, readable.length);
	text_free(&readable);
}

void gpu_put_linker_name(struct table *table, size_t column, const char *name)
{
	struct text text = {0};

	if (!name[0])
		return;
	demangle(name, &text);
	table_text(table, column, text.bytes, text.length);
	text_free(&text);
}

void gpu_put_kernel(struct table *table, size_t column, const struct gpu *gpu, uint32_t name)
{
	struct text text = {0};

	if (name >= gpu->name_count)
		return;
	gpu_kernel_text(&text, gpu, name);
	table_text(table, column, text.length ? text.bytes : "", text.length);
	text_free(&text);
}

/* 90 of 9.0; 0 = not known. */
static uint32_t device_architecture(const struct gpu_device *device)
{
	return device ? (uint32_t)(device->major * 10 + device->minor) : 0;
}

bool gpu_uses_tensor_cores(const struct gpu *gpu, uint32_t name, const struct gpu_device *device, bool *is_from_code)
{
	int64_t matrix = gpu_matrix_instructions(gpu, name, device_architecture(device));

	if (is_from_code)
		*is_from_code = matrix >= 0;
	return matrix >= 0 ? matrix > 0 : tensor_name_uses(gpu->names[name]);
}

bool gpu_is_of_hip(const struct gpu *gpu)
{
	for (size_t i = 0; i < gpu->function_count; i++)
		if (strcmp(gpu->functions[i].library, "hip runtime") == 0)
			return true;
	return false;
}

const char *gpu_copy_name(uint32_t kind)
{
	static const char *const names[] = {"set",  "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "other";
}

const char *gpu_memory_name(uint32_t kind)
{
	static const char *const names[] = {NULL,    "pageable", "pinned", "device", "array", "managed", "device static",
					    "managed static"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

void gpu_put_spread(struct table *table, size_t first, const struct spread *spread)
{
	if (!spread->count)
		return;
	table_integer(table, first + SPREAD_TOTAL, (int64_t)spread->sum);
	table_integer(table, first + SPREAD_AVERAGE, (int64_t)(spread->sum / spread->count));
	table_integer(table, first + SPREAD_LEAST, (int64_t)spread->least);
	table_integer(table, first + SPREAD_MOST, (int64_t)spread->most);
	if (spread->is_cut)
		return;
	table_integer(table, first + SPREAD_MEDIAN, (int64_t)spread_percentile(spread, 50));
	table_integer(table, first + SPREAD_P99, (int64_t)spread_percentile(spread, 99));
}

void gpu_put_deviation(struct table *table, size_t column, const struct spread *spread)
{
	double deviation = spread_deviation(spread);

	if (!isnan(deviation))
		table_real(table, column, deviation);
}

void gpu_note_percentiles(struct table *table, bool any_classed)
{
	if (any_classed)
		table_note(table, NOTE_INFERRED,
			   "p50_ns and p99_ns are exact for rows of up to %d values; where percentiles says classed, they are at most "
			   "1/128 off.",
			   SPREAD_EXACT);
}

void gpu_note_placeless(struct table *table, size_t count, const char *what)
{
	if (count)
		table_note(table, NOTE_INFO, "%zu %s name no device or stream: --device and --stream leave them out.", count, what);
}

void gpu_note_whole_graphs(struct table *table, const struct request *request)
{
	uint64_t launches = 0, device_ns = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = request->run->processes[i].gpu;
		for (size_t k = 0; gpu && request_wants_process(request, &request->run->processes[i]) && k < gpu->graph_count; k++)
			if (gpu->graphs[k].is_whole) {
				launches += gpu->graphs[k].launches;
				device_ns += gpu->graphs[k].device_ns;
			}
	}
	if (launches)
		table_note(table, NOTE_MISSING,
			   "%" PRIu64 " %s (%.3f ms on the device) %s recorded as a whole (TFPROF_CUDA_GRAPH=graph): which kernels, "
			   "copies and sets ran then is not known (-t graph_stats).",
			   launches, launches == 1 ? "launch of a CUDA graph" : "launches of CUDA graphs", (double)device_ns / 1e6,
			   launches == 1 ? "was" : "were");
}

/* By the device's own runtime, as nvcc links it: of CUDA 12 and later, and before. */
static bool starts_kernels(const struct gpu_code *code)
{
	static const char now[] = "__cudaCDP2LaunchDevice", once[] = "cudaLaunchDevice";

	return strncmp(code->name, now, sizeof(now) - 1) == 0 || strncmp(code->name, once, sizeof(once) - 1) == 0;
}

/* Modules with such code; the caller frees them. */
static uint32_t *starting_modules(const struct gpu *gpu, size_t *count)
{
	uint32_t *modules = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < gpu->code_count; i++) {
		if (!starts_kernels(&gpu->codes[i]))
			continue;
		modules = base_grow(modules, &room, *count + 1, sizeof(*modules));
		modules[(*count)++] = gpu->codes[i].module;
	}
	return modules;
}

static bool is_among(const uint32_t *modules, size_t count, uint32_t module)
{
	for (size_t i = 0; i < count; i++)
		if (modules[i] == module)
			return true;
	return false;
}

/* Kernels of the process that ran and lie in one module with what starts others; `example`: the one that ran most often. */
static uint64_t may_start_kernels(const struct gpu *gpu, uint32_t *example)
{
	uint64_t times = 0, most = 0;
	size_t count;
	uint32_t *modules = starting_modules(gpu, &count);

	for (size_t i = 0; count && i < gpu->kernel_count; i++) {
		const struct gpu_kernel *kernel = &gpu->kernels[i];
		uint32_t name = kernel->shape < gpu->shape_count ? gpu->shapes[kernel->shape].kernel : GPU_NONE;
		const struct gpu_device *device = gpu_find_device(gpu, gpu_queue_device(gpu, kernel->queue));
		const struct gpu_code *code = name == GPU_NONE ? NULL : gpu_code_of(gpu, name, device_architecture(device));
		if (!code || !is_among(modules, count, code->module))
			continue;
		times += kernel->occurrences;
		*example = kernel->occurrences > most ? name : *example;
		most = kernel->occurrences > most ? kernel->occurrences : most;
	}
	free(modules);
	return times;
}

void gpu_note_nested(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		uint32_t example = GPU_NONE;
		if (!process->gpu || !request_wants_process(request, process))
			continue;
		uint64_t times = may_start_kernels(process->gpu, &example);
		struct text name = {0};
		if (!times)
			continue;
		gpu_kernel_text(&name, process->gpu, example);
		table_note(table, NOTE_MISSING,
			   "Process %d: kernels that kernels started (dynamic parallelism) are in no figure: CUPTI has no records of them. "
			   "%" PRIu64 " that the host started, most of them %s, lie in a module that can.",
			   process->pid, times, name.bytes);
		text_free(&name);
	}
}

/* Another device than the process's own that a wanted process calls by the same number. */
static bool is_other_device(const struct request *request, const struct process *first, uint32_t id)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (process->gpu && gpu_find_device(process->gpu, id) && gpu_has_to_do(process, id) &&
		    request_wants_process(request, process) && !gpu_is_one_device(first, id, process, id))
			return true;
	}
	return false;
}

void gpu_note_numbers(struct table *table, const struct request *request)
{
	const struct process *first = NULL;

	for (size_t i = 0; i < request->run->process_count && !first; i++) {
		const struct process *process = &request->run->processes[i];
		if (request_wants_process(request, process) && process->gpu && process->gpu->device_count)
			first = process;
	}
	for (size_t i = 0; first && i < first->gpu->device_count; i++)
		if (gpu_has_to_do(first, first->gpu->devices[i].id) && is_other_device(request, first, first->gpu->devices[i].id)) {
			table_note(table, NOTE_INFO,
				   "Devices have the numbers that each process gives them: under number %" PRIu32 " there are several "
				   "(CUDA_VISIBLE_DEVICES, or several machines), which figures of a number hold together; --process, "
				   "--host or --rank tells them apart.",
				   first->gpu->devices[i].id);
			return;
		}
}

/* Why nothing of a GPU is there: what kept every wanted process from telling, else that none had anything to tell. */
static const char *nothing_because(const struct request *request)
{
	size_t off = 0, wanted = 0;

	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i])) {
			wanted++;
			off += strcmp(process_setting(&request->run->processes[i], "CUDA"), "off") == 0;
		}
	if (off && off == wanted)
		return "TFPROF_CUDA=off";
	if (notes_is_foreign(request))
		return "the file of another profiler has no call and no work of one";
	return notes_no_window(request) ? "no window opened (TFPROF_WINDOW)" : "the program made no CUDA call that tfprof saw";
}

bool gpu_any(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->run->processes[i].gpu && request_wants_process(request, &request->run->processes[i]))
			return true;
	table_note(table, NOTE_MISSING, "Nothing about GPUs was recorded: %s.", nothing_because(request));
	return false;
}

static void note_reasons(struct table *table, const struct process *process, enum gpu_pairing pairing)
{
	static const char *const many[GPU_PAIRINGS] = {[GPU_NOT_LAUNCHED] = "calls started nothing",
						       [GPU_HOST_ONLY] = "launches are host-only",
						       [GPU_DEVICE_ONLY] = "launches are device-only"};
	static const char *const one[GPU_PAIRINGS] = {[GPU_NOT_LAUNCHED] = "call started nothing",
						      [GPU_HOST_ONLY] = "launch is host-only",
						      [GPU_DEVICE_ONLY] = "launch is device-only"};
	const struct gpu_counts *counts = &process->gpu->counts;

	for (unsigned reason = 1; reason < GPU_REASONS; reason++)
		if (counts->reasons[pairing][reason])
			table_note(table, pairing == GPU_NOT_LAUNCHED ? NOTE_INFO : NOTE_MISSING,
				   "Process %s: %" PRIu64 " %s: %s.", process->called, counts->reasons[pairing][reason],
				   (counts->reasons[pairing][reason] == 1 ? one : many)[pairing], gpu_reason_text(reason));
}

static void note_impossible(struct table *table, const struct process *process)
{
	static const char *const texts[GPU_IMPOSSIBLE_KINDS] = {
		"have no times (start or end 0, as of work that still ran when the process ended)", "end before they start",
		"start before their call began", "end after they were read"};
	const struct gpu_counts *counts = &process->gpu->counts;
	uint64_t endless = gpu_endless_records(process->gpu);

	if (endless)
		table_note(table, NOTE_INFO,
			   "Process %s: %" PRIu64 " device " BY_COUNT("record has", "records have") " no end, since the device's work "
			   "failed, or the process was aborted, before it was known: counted, but in no sum of time.", process->called,
			   endless);
	for (unsigned i = 0; i < GPU_IMPOSSIBLE_KINDS; i++) {
		uint64_t count = counts->impossible[i] - (i == 0 ? endless : 0);
		if (count)
			table_note(table, NOTE_LOSS,
				   "Process %s: %" PRIu64 " device records %s: counted, but in no sum of time.", process->called,
				   count, texts[i]);
	}
}

static void note_oddities(struct table *table, const struct process *process)
{
	const struct gpu_counts *counts = &process->gpu->counts;

	if (counts->duplicates)
		table_note(table, NOTE_INFO,
			   "Process %s: %" PRIu64 " device " BY_COUNT("record", "records") " came twice; each counts once.",
			   process->called, counts->duplicates);
	if (counts->repeated_calls)
		table_note(table, NOTE_LOSS,
			   "Process %s: %" PRIu64 " " BY_COUNT("call carries", "calls carry") " the correlation id of an earlier one.",
			   process->called, counts->repeated_calls);
	if (counts->unknown_shapes || counts->unknown_queues)
		table_note(table, NOTE_LOSS,
			   "Process %s: %" PRIu64 " " BY_COUNT("kernel", "kernels") " without name and shape, %" PRIu64
			   " " BY_COUNT("record", "records") " without device and stream: those facts are not in the log.",
			   process->called, counts->unknown_shapes, counts->unknown_queues);
	if (counts->left_out)
		table_note(table, NOTE_LOSS,
			   "Process %s: %" PRIu64 " " BY_COUNT("thing found no room and is", "things found no room and are")
			   " missing.", process->called,
			   counts->left_out);
}

static void note_clock(struct table *table, const struct process *process)
{
	const struct gpu *gpu = process->gpu;

	if (gpu->counts.device_records && !gpu->has_clock)
		table_note(table, NOTE_INFERRED,
			   "Process %s: CUPTI's clock was not read; device times are taken for CLOCK_REALTIME.", process->called);
	else if (gpu->clock_error_ns > GPU_SKEW_NS)
		table_note(table, NOTE_INFERRED, "Process %s: device times may be up to %.1f us off against the host's.",
			   process->called, (double)gpu->clock_error_ns / 1e3);
}

/* A device of one of the processes. */
struct used_device {
	const struct process *process;
	uint32_t id;
};

size_t gpu_devices_used(const struct request *request)
{
	struct used_device *used = NULL;
	size_t count = 0, room = 0;

	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		if (!process->gpu || !request_wants_process(request, process))
			continue;
		for (size_t k = 0; k < process->gpu->kernel_count; k++) {
			uint32_t id = gpu_queue_device(process->gpu, process->gpu->kernels[k].queue);
			size_t i = 0;
			while (i < count && !gpu_is_one_device(used[i].process, used[i].id, process, id))
				i++;
			if (i < count || !gpu_wants_queue(request, process->gpu, process->gpu->kernels[k].queue))
				continue;
			used = base_grow(used, &room, count + 1, sizeof(*used));
			used[count++] = (struct used_device){process, id};
		}
	}
	free(used);
	return count;
}

void gpu_notes(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu || !request_wants_process(request, process))
			continue;
		note_reasons(table, process, GPU_HOST_ONLY);
		note_reasons(table, process, GPU_DEVICE_ONLY);
		note_reasons(table, process, GPU_NOT_LAUNCHED);
		note_impossible(table, process);
		note_oddities(table, process);
		note_clock(table, process);
	}
	gpu_note_nested(table, request);
	gpu_note_numbers(table, request);
}
