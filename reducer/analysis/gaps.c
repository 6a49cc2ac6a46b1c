/* SPDX-License-Identifier: Apache-2.0 */
/* When devices rested; see reducer/analysis/gaps.h. */
#include "reducer/analysis/gaps.h"

#include "reducer/analysis/parts.h"
#include "reducer/analysis/sweep.h"
#include "reducer/analysis/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PART_BIT(part) (1u << (part))
#define DURING_LEAST_NS 2000u	  /* what the host did for less explains no gap */
#define NAMES_MOST (1u << 16)	  /* distinct ones of what the host did; further ones are not named */
#define CLOCK_NS 2		  /* by which two ways to work out one time may differ */

/* A gap while the spans are told. */
struct open_gap {
	struct gap *gap;
	int64_t end_ns;
	int64_t before_ns; /* end of the work that ended last before it, as far as any was told */
	double fits;	   /* how well `during` does; 0 = there is none */
	struct sweep sweep; /* what the host did in it */
};

/* Gaps of one device, one behind the other. */
struct gap_device {
	uint32_t id;
	struct open_gap *gaps;
	size_t count;
	size_t host_hint, work_hint;
};

struct gaps_pass {
	struct parts parts;
	struct gap_device *devices;
	size_t device_count, device_room;
	size_t pending; /* intervals in all sweeps */
};

const char *gap_part_name(enum gap_part part)
{
	static const char *const names[GAP_PARTS] = {"compilation",   "input", "launch or copy", "host compute",
						     "communication", "wait",  "other"};

	return names[part];
}

static int compare_gaps(const void *a, const void *b)
{
	const struct gap *one = a, *other = b;

	if (one->ns != other->ns)
		return one->ns > other->ns ? -1 : 1;
	if (one->log_id != other->log_id)
		return one->log_id < other->log_id ? -1 : 1;
	if (one->device != other->device)
		return one->device < other->device ? -1 : 1;
	return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

static void keep_longest(struct gaps *gaps)
{
	if (gaps->count)
		qsort(gaps->rows, gaps->count, sizeof(*gaps->rows), compare_gaps);
	gaps->count = gaps->count < GAPS_MOST ? gaps->count : GAPS_MOST;
}

static int compare_sums(const void *a, const void *b)
{
	const struct gap_sum *one = a, *other = b;

	if (one->log_id != other->log_id)
		return one->log_id < other->log_id ? -1 : 1;
	return one->device < other->device ? -1 : one->device > other->device;
}

/* The place of a device's sums, new or known; a run has few. */
static size_t sum_of(struct gaps *gaps, uint64_t log_id, uint32_t device)
{
	struct gap_sum key = {.log_id = log_id, .device = device};
	size_t i = 0;

	while (i < gaps->sum_count && compare_sums(&gaps->sums[i], &key) != 0)
		i++;
	if (i == gaps->sum_count) {
		gaps->sums = base_grow(gaps->sums, &gaps->sum_room, i + 1, sizeof(*gaps->sums));
		gaps->sums[gaps->sum_count++] = key;
	}
	return i;
}

static bool is_wanted(const struct analysis_input *input, const struct gap *gap)
{
	const struct analysis_options *options = input->options;
	struct span span = {.kind = SPAN_WHOLE,
			    .what = SPAN_KERNEL,
			    .on = SPAN_QUEUE,
			    .process = input->index,
			    .start_ns = gap->start_ns,
			    .duration_ns = gap->ns,
			    .device = gap->device};

	return !options->wants_time || options->wants_time(options->context, &span);
}

/* Whether one window holds all of the gap; `window`: the first that may, as gaps follow each other. */
static bool is_recorded(const struct process *process, const struct gap *gap, size_t *window)
{
	while (*window < process->range_count && process->ranges[*window].to_ns <= gap->start_ns)
		++*window;
	return *window < process->range_count && process->ranges[*window].from_ns <= gap->start_ns &&
	       gap->start_ns + (int64_t)gap->ns <= process->ranges[*window].to_ns;
}

/* Those of a device that are wanted, all of them. */
static void find_gaps(struct gaps *gaps, const struct analysis_input *input, const struct gpu_sweep *sweep)
{
	const struct gpu *gpu = input->process->gpu;
	size_t place = sum_of(gaps, input->process->log_id, sweep->device), window = 0;
	struct gap_sum *sum = &gaps->sums[place];

	sum->all = sweep->all_gaps;
	sum->kept = sweep->gap_count;
	sum->late = sweep->late;
	for (size_t i = 0; i < sweep->gap_count; i++) {
		int64_t start = gpu_run_ns(gpu, sweep->gaps[i].start), end = gpu_run_ns(gpu, sweep->gaps[i].end);
		struct gap gap = {.log_id = input->process->log_id,
				  .device = sweep->device,
				  .start_ns = start,
				  .ns = (uint64_t)(end - start),
				  .called_ns = TIME_UNKNOWN};
		if (end <= start || !is_wanted(input, &gap))
			continue;
		if (!is_recorded(input->process, &gap, &window)) {
			sum->unrecorded++;
			sum->unrecorded_ns += gap.ns;
			continue;
		}
		gaps->rows = base_grow(gaps->rows, &gaps->room, gaps->count + 1, sizeof(*gaps->rows));
		gaps->rows[gaps->count++] = gap;
	}
}

static int compare_open(const void *a, const void *b)
{
	const struct open_gap *one = a, *other = b;

	return one->gap->start_ns < other->gap->start_ns ? -1 : one->gap->start_ns > other->gap->start_ns;
}

static void open_device(struct gaps *gaps, uint32_t id)
{
	struct gaps_pass *pass = gaps->pass;
	struct gap_device *device;

	pass->devices = base_grow(pass->devices, &pass->device_room, pass->device_count + 1, sizeof(*pass->devices));
	device = &pass->devices[pass->device_count++];
	*device = (struct gap_device){.id = id, .gaps = base_alloc(gaps->count + 1, sizeof(*device->gaps))};
	for (size_t i = 0; i < gaps->count; i++)
		if (gaps->rows[i].device == id)
			device->gaps[device->count++] =
				(struct open_gap){.gap = &gaps->rows[i],
						  .end_ns = gaps->rows[i].start_ns + (int64_t)gaps->rows[i].ns,
						  .before_ns = INT64_MIN,
						  .sweep.told_ns = INT64_MIN};
	if (device->count)
		qsort(device->gaps, device->count, sizeof(*device->gaps), compare_open);
}

static void *begin(const struct analysis_input *input)
{
	struct gaps *gaps = base_alloc(1, sizeof(*gaps));
	const struct gpu *gpu = input ? input->process->gpu : NULL;
	struct units units = {0};

	words_number(&gaps->words, ""); /* 0: nothing is known */
	if (!input)
		return gaps;
	gaps->pass = base_alloc(1, sizeof(*gaps->pass));
	units_of_steps(&units, input->process);
	gaps->pass->parts = (struct parts){.split = SPLIT_OURS,
					   .loops = input_loops_of(input->process),
					   .step_thread = units.count ? units.items[0].thread : 0};
	units_free(&units);
	for (size_t i = 0; gpu && i < gpu->sweep_count; i++)
		find_gaps(gaps, input, &gpu->sweeps[i]);
	keep_longest(gaps);
	for (size_t i = 0; i < gaps->sum_count; i++)
		open_device(gaps, gaps->sums[i].device);
	return gaps;
}

/* The first gap that ends behind a time; device->count where none does. `last`: what was the answer before. */
static size_t gap_behind(const struct gap_device *device, int64_t time_ns, size_t *last)
{
	size_t low = 0, high = device->count, hint = *last;

	/* Most spans follow the one before. */
	if ((hint == 0 || device->gaps[hint - 1].end_ns <= time_ns) && (hint == high || device->gaps[hint].end_ns > time_ns))
		return hint;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (device->gaps[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return *last = low;
}

static void add_part(void *context, uint64_t ns, uint32_t mask)
{
	struct gap *gap = context;

	gap->part_ns[__builtin_ctz(mask)] += ns;
}

static void tell_gap(struct gaps_pass *pass, struct open_gap *open, int64_t until_ns)
{
	pass->pending -= open->sweep.count;
	sweep_sum(&open->sweep, until_ns, INT64_MIN, INT64_MAX, add_part, open->gap);
	pass->pending += open->sweep.count;
}

/* Too much waits: all gaps are told of as far as half of what does. */
static void make_room(struct gaps_pass *pass)
{
	for (size_t d = 0; d < pass->device_count; d++)
		for (size_t i = 0; i < pass->devices[d].count; i++)
			if (pass->devices[d].gaps[i].sweep.count)
				tell_gap(pass, &pass->devices[d].gaps[i], sweep_middle(&pass->devices[d].gaps[i].sweep));
}

static uint32_t host_bits(struct parts *parts, const struct span *span)
{
	static const struct {
		enum step_part from;
		enum gap_part to;
	} same[] = {{PART_COMPILATION, GAP_COMPILATION},
		    {PART_INPUT_WAIT, GAP_INPUT},
		    {PART_KERNEL_LAUNCH, GAP_LAUNCH},
		    {PART_HOST_COMPUTE, GAP_COMPUTE},
		    {PART_COMMUNICATION, GAP_COMMUNICATION}};
	uint32_t classes, bits = 0;

	if (span->what == SPAN_CALL && span->call == GPU_SYNC)
		return PART_BIT(GAP_WAIT);
	classes = part_classes(parts, span);
	for (size_t i = 0; classes && i < sizeof(same) / sizeof(same[0]); i++)
		bits |= classes & CLASS_BIT(same[i].from) ? PART_BIT(same[i].to) : 0;
	return bits;
}

/* What covers most of a gap, and least beside it, tells most of it. */
static void try_during(struct gaps *gaps, struct open_gap *open, const struct span_again *told, int64_t from_ns, int64_t to_ns)
{
	const struct span *span = told->like;
	double both = (double)(to_ns - from_ns), either = (double)open->gap->ns + (double)told->duration_ns - both;

	if (both / either <= open->fits || told->duration_ns < DURING_LEAST_NS || span->is_open || gaps->words.count >= NAMES_MOST)
		return;
	open->fits = both / either;
	open->gap->during = words_lasting(&gaps->words, span->name);
	open->gap->during_ns = (uint64_t)(to_ns - from_ns);
}

static void take_host(struct gaps *gaps, const struct span_again *told)
{
	struct gaps_pass *pass = gaps->pass;
	int64_t start = told->start_ns, end = start + (int64_t)told->duration_ns;

	for (size_t d = 0; d < pass->device_count; d++) {
		struct gap_device *device = &pass->devices[d];
		size_t first = gap_behind(device, start, &device->host_hint);
		for (size_t i = first; i < device->count && device->gaps[i].gap->start_ns < end; i++) {
			struct open_gap *open = &device->gaps[i];
			int64_t from = start > open->gap->start_ns ? start : open->gap->start_ns;
			int64_t to = end < open->end_ns ? end : open->end_ns;
			size_t before = open->sweep.count;
			uint32_t bits = host_bits(&pass->parts, told->like);
			if (bits)
				sweep_add(&open->sweep, from, to, bits);
			pass->pending += open->sweep.count - before;
			try_during(gaps, open, told, from, to);
		}
	}
	if (pass->pending > GAPS_PENDING)
		make_room(pass);
}

/* Of each gap the work that ended last before it, and the first behind it. */
static void take_work(struct gaps *gaps, const struct span_again *told)
{
	struct gaps_pass *pass = gaps->pass;
	const struct span *span = told->like;
	int64_t end = told->start_ns + (int64_t)told->duration_ns;
	size_t d = 0;

	while (d < pass->device_count && pass->devices[d].id != span->device)
		d++;
	if (d == pass->device_count)
		return;
	struct gap_device *device = &pass->devices[d];
	size_t at = gap_behind(device, told->start_ns + CLOCK_NS, &device->work_hint);
	if (at < device->count && end > device->gaps[at].before_ns) {
		device->gaps[at].before_ns = end;
		device->gaps[at].gap->before = words_lasting(&gaps->words, span->name);
	}
	if (at == 0 || device->gaps[at - 1].end_ns < told->start_ns - CLOCK_NS || device->gaps[at - 1].gap->after)
		return;
	struct gap *gap = device->gaps[at - 1].gap;
	gap->called_ns = told->called_ns;
	gap->thread = span->thread;
	gap->after = words_lasting(&gaps->words, span->name);
	gap->op = words_lasting(&gaps->words, span->op);
	gap->range = words_lasting(&gaps->words, span->range);
}

static void again(void *result, const struct span_again *spans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (spans[i].like->on == SPAN_QUEUE)
			take_work(result, &spans[i]);
		else
			take_host(result, &spans[i]);
}

static void take(void *result, const struct span *span)
{
	/* What had not ended says nothing of where it did. */
	if (span->kind == SPAN_WHOLE && (!span->is_open || span->what == SPAN_RANGE))
		again(result,
		      &(struct span_again){
			      .like = span, .start_ns = span->start_ns, .duration_ns = span->duration_ns, .called_ns = span->called_ns},
		      1);
}

static void drop_pass(struct gaps *gaps)
{
	struct gaps_pass *pass = gaps->pass;

	for (size_t d = 0; d < pass->device_count; d++) {
		for (size_t i = 0; i < pass->devices[d].count; i++)
			sweep_free(&pass->devices[d].gaps[i].sweep);
		free(pass->devices[d].gaps);
	}
	free(pass->devices);
	parts_free(&pass->parts);
	free(pass);
	gaps->pass = NULL;
}

static void sort_sums(struct gaps *gaps)
{
	if (gaps->sum_count)
		qsort(gaps->sums, gaps->sum_count, sizeof(*gaps->sums), compare_sums);
}

static void end(void *result)
{
	struct gaps *gaps = result;
	struct gaps_pass *pass = gaps->pass;

	for (size_t d = 0; d < pass->device_count; d++)
		for (size_t i = 0; i < pass->devices[d].count; i++)
			tell_gap(pass, &pass->devices[d].gaps[i], INT64_MAX);
	drop_pass(gaps);
	for (size_t i = 0; i < gaps->count; i++) {
		struct gap *gap = &gaps->rows[i];
		gap->part_ns[GAP_OTHER] = gap->ns;
		for (enum gap_part part = 0; part < GAP_OTHER; part++)
			gap->part_ns[GAP_OTHER] -= gap->part_ns[part];
	}
	sort_sums(gaps);
}

static void merge(void *into, const void *from)
{
	struct gaps *gaps = into;
	const struct gaps *more = from;

	gaps->rows = base_grow(gaps->rows, &gaps->room, gaps->count + more->count, sizeof(*gaps->rows));
	for (size_t i = 0; i < more->count; i++) {
		struct gap *gap = &gaps->rows[gaps->count++];
		*gap = more->rows[i];
		gap->before = words_number(&gaps->words, more->words.items[gap->before]);
		gap->after = words_number(&gaps->words, more->words.items[gap->after]);
		gap->op = words_number(&gaps->words, more->words.items[gap->op]);
		gap->range = words_number(&gaps->words, more->words.items[gap->range]);
		gap->during = words_number(&gaps->words, more->words.items[gap->during]);
	}
	keep_longest(gaps);
	for (size_t i = 0; i < more->sum_count; i++) {
		const struct gap_sum *add = &more->sums[i];
		size_t place = sum_of(gaps, add->log_id, add->device);
		struct gap_sum *sum = &gaps->sums[place];
		sum->all += add->all;
		sum->kept += add->kept;
		sum->unrecorded += add->unrecorded;
		sum->unrecorded_ns += add->unrecorded_ns;
		sum->late += add->late;
	}
	sort_sums(gaps);
}

static void print(const void *result, struct text *text)
{
	const struct gaps *gaps = result;

	for (size_t i = 0; i < gaps->sum_count; i++) {
		const struct gap_sum *sum = &gaps->sums[i];
		text_format(text, "%" PRIx64 " device %u: %" PRIu64 " of %" PRIu64, sum->log_id, sum->device, sum->kept, sum->all);
		text_format(text, ", %" PRIu64 " in %" PRIu64 " ns unrecorded, late %" PRIu64 "\n", sum->unrecorded,
			    sum->unrecorded_ns, sum->late);
	}
	for (size_t i = 0; i < gaps->count; i++) {
		const struct gap *gap = &gaps->rows[i];
		text_format(text, "%" PRIx64 " %u %" PRId64 "+%" PRIu64 " called %" PRId64 " by %u:", gap->log_id, gap->device,
			    gap->start_ns, gap->ns, gap->called_ns, gap->thread);
		for (enum gap_part part = 0; part < GAP_PARTS; part++)
			text_format(text, " %" PRIu64, gap->part_ns[part]);
		text_format(text, " %s | %s | %s | %s | %s %" PRIu64 "\n", gaps->words.items[gap->before], gaps->words.items[gap->after],
			    gaps->words.items[gap->op], gaps->words.items[gap->range], gaps->words.items[gap->during], gap->during_ns);
	}
}

static void drop(void *result)
{
	struct gaps *gaps = result;

	if (gaps->pass)
		drop_pass(gaps);
	words_free(&gaps->words);
	free(gaps->rows);
	free(gaps->sums);
	free(gaps);
}

const struct analysis_kind analysis_gaps = {
	.name = "gaps",
	.wants = SPAN_BIT(SPAN_RANGE) | SPAN_BIT(SPAN_OP) | SPAN_BIT(SPAN_TRACE) | SPAN_BIT(SPAN_CALL) | SPAN_BIT(SPAN_KERNEL) |
		 SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_SET) | SPAN_BIT(SPAN_GRAPH) | SPAN_BIT(SPAN_COMPILE) | SPAN_BIT(SPAN_READ),
	.is_of_all_times = true,
	.is_of_all_places = true,
	.begin = begin,
	.span = take,
	.again = again,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};
