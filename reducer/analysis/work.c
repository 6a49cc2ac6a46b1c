/* SPDX-License-Identifier: Apache-2.0 */
/* What devices did by op and kernel; see reducer/analysis/work.h. */
#include "reducer/analysis/work.h"

#include "reducer/analysis/tensor_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COVERED_MOST                                                                                                             \
	4096u /* pieces of a thread's time that a longer op may still prove to hold; then the older half is settled */

struct covered {
	int64_t start_ns;
	uint64_t ns;
};

static void *begin(const struct analysis_input *input)
{
	struct work *work = base_alloc(1, sizeof(*work));

	work->input = input;
	work->recent = input ? base_alloc(WORK_RECENT, sizeof(*work->recent)) : NULL;
	work->alikes = input ? base_alloc(WORK_ALIKE, sizeof(*work->alikes)) : NULL;
	if (input)
		work->parts = (struct parts){.split = SPLIT_OURS, .loops = input_loops_of(input->process)};
	return work;
}

static bool is_same(const void *context, const void *key, uint32_t number)
{
	const struct work_row *have = &((const struct work *)context)->rows[number], *want = key;

	return have->op == want->op && have->name == want->name && have->what == want->what &&
	       have->op_source == want->op_source && have->part == want->part && have->uses_tensor == want->uses_tensor;
}

static struct work_row *row_of(struct work *work, const struct work_row *key)
{
	uint64_t hash = base_mix((uint64_t)key->op << 32 | key->name) ^ base_mix(key->what | (uint64_t)key->op_source << 8);
	uint32_t number = base_index_find(&work->index, hash, is_same, work, key);

	if (number == UINT32_MAX) {
		number = (uint32_t)work->count++;
		work->rows = base_grow(work->rows, &work->room, work->count, sizeof(*work->rows));
		work->rows[number] = *key;
		base_index_add(&work->index, hash, number);
	}
	return &work->rows[number];
}

/* By the kernel's name, looked at once for each name. */
static bool is_tensor_name(struct work *work, uint32_t name)
{
	work->tensor_names = base_reach(work->tensor_names, &work->tensor_room, name, 1);
	if (!work->tensor_names[name])
		work->tensor_names[name] = tensor_name_uses(work->words.items[name]) ? 2 : 1;
	return work->tensor_names[name] == 2;
}

static bool uses_tensor(struct work *work, const struct span *span, uint32_t name)
{
	const struct gpu *gpu = work->input->process->gpu;
	int64_t matrix = -1;

	for (size_t i = 0; span->what == SPAN_KERNEL && span->shape && i < gpu->device_count; i++)
		if (gpu->devices[i].id == span->device)
			matrix = gpu_matrix_instructions(gpu, span->shape->kernel,
							 (uint32_t)(gpu->devices[i].major * 10 + gpu->devices[i].minor));
	return matrix >= 0 ? matrix > 0 : span->what == SPAN_KERNEL && is_tensor_name(work, name);
}

/* A device or a thread of a process. */
struct whose {
	uint64_t log_id;
	uint32_t number;
};

static uint64_t hash_whose(const struct whose *whose)
{
	return base_mix(whose->log_id) ^ base_mix(whose->number + UINT64_C(1));
}

static bool is_device(const void *context, const void *key, uint32_t number)
{
	const struct work_device *have = &((const struct work *)context)->devices[number];
	const struct whose *want = key;

	return have->log_id == want->log_id && have->device == want->number;
}

static bool is_thread(const void *context, const void *key, uint32_t number)
{
	const struct work_thread *have = &((const struct work *)context)->threads[number];
	const struct whose *want = key;

	return have->log_id == want->log_id && have->serial == want->number;
}

static struct work_device *device_of(struct work *work, uint64_t log_id, uint32_t device)
{
	const struct whose whose = {log_id, device};
	uint64_t hash = hash_whose(&whose);
	uint32_t number = base_index_find(&work->device_index, hash, is_device, work, &whose);

	if (number != UINT32_MAX)
		return &work->devices[number];
	base_index_add(&work->device_index, hash, (uint32_t)work->device_count);
	work->devices = base_grow(work->devices, &work->device_room, work->device_count + 1, sizeof(*work->devices));
	work->devices[work->device_count] =
		(struct work_device){.log_id = log_id, .device = device, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
	return &work->devices[work->device_count++];
}

static struct work_thread *thread_of(struct work *work, uint64_t log_id, uint32_t serial)
{
	const struct whose whose = {log_id, serial};
	struct work_thread *last = work->thread_count ? &work->threads[work->last_thread] : NULL;
	uint64_t hash;
	uint32_t number;

	if (last && last->log_id == log_id && last->serial == serial)
		return last;
	hash = hash_whose(&whose);
	number = base_index_find(&work->thread_index, hash, is_thread, work, &whose);
	if (number != UINT32_MAX)
		return &work->threads[work->last_thread = number];
	base_index_add(&work->thread_index, hash, (uint32_t)work->thread_count);
	work->threads = base_grow(work->threads, &work->thread_room, work->thread_count + 1, sizeof(*work->threads));
	work->threads[work->thread_count] =
		(struct work_thread){.log_id = log_id, .serial = serial, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
	return &work->threads[work->thread_count++];
}

static void widen(int64_t *first, int64_t *last, int64_t start_ns, int64_t end_ns)
{
	*first = start_ns < *first ? start_ns : *first;
	*last = end_ns > *last ? end_ns : *last;
}

/* Row and device of work that was not seen of late. */
static struct work_recent find_places(struct work *work, const struct span *span, uint32_t mask)
{
	uint32_t name = words_lasting(&work->words, span->name);
	struct work_row key = {.op = words_lasting(&work->words, span->op),
			       .name = name,
			       .what = (uint8_t)span->what,
			       .op_source = span->op_source,
			       .part = (uint8_t)part_of(mask, SPLIT_OURS),
			       .uses_tensor = uses_tensor(work, span, name)};
	struct work_row *row = row_of(work, &key);
	struct work_device *device = device_of(work, work->input->process->log_id, span->device);

	return (struct work_recent){.name = span->name,
				    .op = span->op,
				    .shape = span->shape,
				    .mask = mask,
				    .device = span->device,
				    .row = (uint32_t)(row - work->rows) + 1,
				    .device_at = (uint32_t)(device - work->devices),
				    .what = (uint8_t)span->what,
				    .op_source = span->op_source};
}

static bool is_recent(const struct work_recent *recent, const struct span *span, uint32_t mask)
{
	return recent->row && recent->name == span->name && recent->op == span->op && recent->shape == span->shape &&
	       recent->mask == mask && recent->device == span->device && recent->what == span->what &&
	       recent->op_source == span->op_source;
}

/* Row and device of device work. */
static struct work_alike find_alike(struct work *work, const struct span *span)
{
	uintptr_t texts = (uintptr_t)span->name ^ (uintptr_t)span->op >> 3 ^ (uintptr_t)span->shape >> 5;
	struct work_recent *recent = &work->recent[(texts ^ texts >> 8) & (WORK_RECENT - 1)];
	uint32_t mask = part_classes(&work->parts, span);

	if (!is_recent(recent, span, mask))
		*recent = find_places(work, span, mask);
	return (struct work_alike){span->alike, recent->row - 1, recent->device_at};
}

static inline struct work_alike places_of(struct work *work, const struct span *span)
{
	struct work_alike *alike = &work->alikes[span->alike % WORK_ALIKE];

	if (!span->alike || alike->alike != span->alike)
		*alike = find_alike(work, span);
	return *alike;
}

static inline void count(struct work_row *row, uint64_t duration_ns)
{
	row->least_ns = row->occurrences && row->least_ns < duration_ns ? row->least_ns : duration_ns;
	row->most_ns = row->most_ns > duration_ns ? row->most_ns : duration_ns;
	row->occurrences++;
	row->ns += duration_ns;
	row->squares += (spread_squares)duration_ns * duration_ns;
}

/* Device work at these times that says what `span` does. */
static inline __attribute__((always_inline)) void add_device(struct work *work, const struct span *span,
								int64_t start_ns, uint64_t duration_ns)
{
	const struct work_alike places = places_of(work, span);
	struct work_row *row = &work->rows[places.row];
	struct work_device *device = &work->devices[places.device_at];

	count(row, duration_ns);
	row->bytes += span->bytes;
	widen(&device->first_ns, &device->last_ns, start_ns, start_ns + (int64_t)duration_ns);
	device->ns += span->op ? duration_ns : 0;
}

/* Ops come by their ends: one that holds others comes after them. */
static void take_op(struct work *work, const struct span *span)
{
	struct work_thread *thread = thread_of(work, work->input->process->log_id, span->thread);
	uint64_t inside = 0;

	widen(&thread->first_ns, &thread->last_ns, span->start_ns, span->start_ns + (int64_t)span->duration_ns);
	while (thread->open_count && thread->open[thread->open_count - 1].start_ns >= span->start_ns)
		inside += thread->open[--thread->open_count].ns;
	thread->covered_ns += span->duration_ns > inside ? span->duration_ns - inside : 0;
	if (thread->open_count == COVERED_MOST) {
		thread->open_count /= 2;
		memmove(thread->open, thread->open + thread->open_count, thread->open_count * sizeof(*thread->open));
	}
	thread->open = base_grow(thread->open, &thread->open_room, thread->open_count + 1, sizeof(*thread->open));
	thread->open[thread->open_count++] =
		(struct covered){span->start_ns, span->duration_ns > inside ? span->duration_ns : inside};
}

/* Its own sums, for those who ask for a part of the time or of the threads. */
static void take_host(struct work *work, const struct span *span)
{
	uint32_t name = words_lasting(&work->words, span->name);
	struct work_host *host;
	struct work_row *row;

	work->hosts = base_reach(work->hosts, &work->host_room, name, sizeof(*work->hosts));
	host = &work->hosts[name];
	if (!host->row || host->what != span->what || host->source != span->source) {
		row = row_of(work, &(struct work_row){.op = name, .name = name, .what = (uint8_t)span->what, .op_source = span->source,
						      .part = PART_HOST_COMPUTE});
		*host = (struct work_host){(uint32_t)(row - work->rows) + 1, (uint8_t)span->what, span->source};
	}
	row = &work->rows[host->row - 1];
	count(row, span->duration_ns);
	row->self_ns += span->self_ns;
}

static void take(void *result, const struct span *span)
{
	struct work *work = result;

	if (span->on == SPAN_QUEUE) {
		add_device(work, span, span->start_ns, span->duration_ns);
	} else if (part_is_op(span) && !span->is_open) {
		take_op(work, span);
		take_host(work, span);
	}
}

static void again(void *result, const struct span_again *spans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (spans[i].like->on == SPAN_QUEUE)
			add_device(result, spans[i].like, spans[i].start_ns, spans[i].duration_ns);
}

static int compare_threads(const void *a, const void *b)
{
	const struct work_thread *one = a, *other = b;

	if (one->log_id != other->log_id)
		return one->log_id < other->log_id ? -1 : 1;
	return one->serial < other->serial ? -1 : one->serial > other->serial;
}

static void end(void *result)
{
	struct work *work = result;

	for (size_t i = 0; i < work->thread_count; i++) {
		free(work->threads[i].open);
		work->threads[i].open = NULL;
		work->threads[i].open_count = work->threads[i].open_room = 0;
	}
	parts_free(&work->parts);
	free(work->recent);
	free(work->alikes);
	free(work->hosts);
	work->hosts = NULL;
	work->recent = NULL;
	work->alikes = NULL;
	work->input = NULL;
}

static void merge(void *into, const void *from)
{
	struct work *work = into;
	const struct work *more = from;

	for (size_t i = 0; i < more->count; i++) {
		const struct work_row *add = &more->rows[i];
		struct work_row key = {.op = words_number(&work->words, more->words.items[add->op]),
				       .name = words_number(&work->words, more->words.items[add->name]),
				       .what = add->what,
				       .op_source = add->op_source,
				       .part = add->part,
				       .uses_tensor = add->uses_tensor},
				*row = row_of(work, &key);
		row->least_ns = row->occurrences && row->least_ns < add->least_ns ? row->least_ns : add->least_ns;
		row->most_ns = row->most_ns > add->most_ns ? row->most_ns : add->most_ns;
		row->occurrences += add->occurrences;
		row->ns += add->ns;
		row->squares += add->squares;
		row->bytes += add->bytes;
		row->self_ns += add->self_ns;
	}
	for (size_t i = 0; i < more->device_count; i++) {
		struct work_device *device = device_of(work, more->devices[i].log_id, more->devices[i].device);
		widen(&device->first_ns, &device->last_ns, more->devices[i].first_ns, more->devices[i].last_ns);
		device->ns += more->devices[i].ns;
	}
	for (size_t i = 0; i < more->thread_count; i++) {
		struct work_thread *thread = thread_of(work, more->threads[i].log_id, more->threads[i].serial);
		widen(&thread->first_ns, &thread->last_ns, more->threads[i].first_ns, more->threads[i].last_ns);
		thread->covered_ns += more->threads[i].covered_ns;
	}
}

static uint64_t rest(int64_t first_ns, int64_t last_ns, uint64_t ns)
{
	uint64_t all = last_ns > first_ns ? (uint64_t)last_ns - (uint64_t)first_ns : 0;

	return all > ns ? all - ns : 0;
}

uint64_t work_device_idle(const struct work *work)
{
	uint64_t idle = 0;

	for (size_t i = 0; i < work->device_count; i++)
		idle += rest(work->devices[i].first_ns, work->devices[i].last_ns, work->devices[i].ns);
	return idle;
}

uint64_t work_host_idle(const struct work *work)
{
	uint64_t idle = 0;

	for (size_t i = 0; i < work->thread_count; i++)
		idle += rest(work->threads[i].first_ns, work->threads[i].last_ns, work->threads[i].covered_ns);
	return idle;
}

/* Rows stand in the order in which they came: lines are sorted. */
static void print_rows(const struct work *work, struct text *text)
{
	char **lines = base_alloc(work->count + 1, sizeof(*lines));

	for (size_t i = 0; i < work->count; i++) {
		const struct work_row *row = &work->rows[i];
		struct text line = {0};
		text_format(&line,
			    "%s/%s %u %u %u %u: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "..%" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			    work->words.items[row->op], work->words.items[row->name], row->what, row->op_source, row->part,
			    row->uses_tensor, row->occurrences, row->ns, row->bytes, row->least_ns, row->most_ns, row->self_ns,
			    (uint64_t)row->squares);
		lines[i] = line.bytes;
	}
	text_sorted_lines(text, lines, work->count);
}

static void print(const void *result, struct text *text)
{
	const struct work *work = result;
	struct work_thread *threads = base_alloc(work->thread_count + 1, sizeof(*threads));

	print_rows(work, text);
	if (work->thread_count)
		memcpy(threads, work->threads, work->thread_count * sizeof(*threads));
	qsort(threads, work->thread_count, sizeof(*threads), compare_threads);
	for (size_t i = 0; i < work->thread_count; i++)
		text_format(text, "thread %" PRIx64 " %u: %" PRId64 "..%" PRId64 " %" PRIu64 "\n", threads[i].log_id,
			    threads[i].serial, threads[i].first_ns, threads[i].last_ns, threads[i].covered_ns);
	text_format(text, "idle %" PRIu64 " %" PRIu64 "\n", work_device_idle(work), work_host_idle(work));
	free(threads);
}

static void drop(void *result)
{
	struct work *work = result;

	for (size_t i = 0; i < work->thread_count; i++)
		free(work->threads[i].open);
	words_free(&work->words);
	free(work->tensor_names);
	base_index_free(&work->index);
	parts_free(&work->parts);
	free(work->recent);
	free(work->alikes);
	free(work->hosts);
	free(work->rows);
	free(work->devices);
	free(work->threads);
	base_index_free(&work->device_index);
	base_index_free(&work->thread_index);
	free(work);
}

const struct analysis_kind analysis_work = {
	.name = "work",
	.wants = SPAN_BIT(SPAN_KERNEL) | SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_SET) | SPAN_BIT(SPAN_GRAPH) | SPAN_BIT(SPAN_OP) |
		 SPAN_BIT(SPAN_TRACE),
	.begin = begin,
	.span = take,
	.again = again,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};
