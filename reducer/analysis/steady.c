/* SPDX-License-Identifier: Apache-2.0 */
/* What happened during the steps; see reducer/analysis/steady.h. */
#include "reducer/analysis/steady.h"

#include "reducer/analysis/input_kinds.h"
#include "reducer/analysis/sweep.h"
#include "reducer/model/gpu.h"
#include "reducer/model/windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct steady_pass {
	int64_t from_ns, to_ns;
	const struct step **chosen; /* by time: of all that were found they may be few */
	size_t chosen_count;
	struct sweep sweep; /* a class a device; further ones share the last */
	uint32_t seen;	    /* classes of devices that ran kernels */
	bool has_several;   /* devices whose queues are known: nothing to compare otherwise */
};

/* The time of the steps, and how many there are in it. */
static uint64_t steps_of(const struct process *process, int64_t *from_ns, int64_t *to_ns)
{
	int64_t starts[2] = {INT64_MIN, INT64_MIN}, end = INT64_MAX;
	uint64_t count = 0;

	for (size_t i = 0; i < process->step_count; i++) {
		const struct step *step = &process->steps[i];
		if (!step->is_chosen || !windows_recorded_ns(process, step->time_ns, step->time_ns + 1))
			continue;
		if (count < 2)
			starts[count] = step->time_ns;
		end = step->end_ns != TIME_UNKNOWN ? step->end_ns : INT64_MAX;
		count++;
	}
	*from_ns = starts[count > 5];
	*to_ns = count ? end : INT64_MAX;
	return count > 5 ? count - 1 : count;
}

static bool has_several_devices(const struct gpu *gpu)
{
	for (size_t i = 1; gpu && i < gpu->queue_count; i++)
		if (gpu->queues[i].device != gpu->queues[0].device)
			return true;
	return false;
}

static void find_chosen(struct steady_pass *pass, const struct process *process)
{
	size_t room = 0;

	for (size_t i = 0; i < process->step_count; i++) {
		if (!process->steps[i].is_chosen)
			continue;
		pass->chosen = base_grow(pass->chosen, &room, pass->chosen_count + 1, sizeof(*pass->chosen));
		pass->chosen[pass->chosen_count++] = &process->steps[i];
	}
}

static void free_pass(struct steady_pass *pass)
{
	if (!pass)
		return;
	sweep_free(&pass->sweep);
	free(pass->chosen);
	free(pass);
}

static void *begin(const struct analysis_input *input)
{
	struct steady *steady = base_alloc(1, sizeof(*steady));

	if (!input)
		return steady;
	steady->processes = 1;
	steady->pass = base_alloc(1, sizeof(*steady->pass));
	find_chosen(steady->pass, input->process);
	steady->steps = steps_of(input->process, &steady->pass->from_ns, &steady->pass->to_ns);
	steady->pass->sweep.told_ns = INT64_MIN;
	steady->pass->has_several = has_several_devices(input->process->gpu);
	return steady;
}

static void add_copy(struct steady_copies *copies, const struct span *span)
{
	copies->count++;
	copies->ns += span->duration_ns;
	copies->bytes += span->bytes;
}

static void take_copy(struct steady *steady, const struct span *span)
{
	bool is_in = span->copy_kind == 1 || span->copy_kind == 3, is_out = span->copy_kind == 2 || span->copy_kind == 4;
	enum steady_way way = is_in ? STEADY_IN : STEADY_OUT;
	uint8_t memory = is_in ? span->from_memory : span->to_memory;

	if (!is_in && !is_out)
		return;
	add_copy(&steady->copies[way], span);
	steady->small_reads += is_out && span->bytes <= STEADY_SMALL;
	if (span->bytes < STEADY_LARGE)
		return;
	if (memory == 1)
		add_copy(&steady->pageable[way], span);
	else if (memory == 2)
		add_copy(&steady->pinned[way], span);
}

static void add_time(void *context, uint64_t ns, uint32_t mask)
{
	struct steady *steady = context;

	steady->any_ns += ns;
	if ((mask & (mask - 1)) == 0)
		steady->alone_ns += ns;
}

static void add_kernel(struct steady *steady, uint32_t device, int64_t start_ns, uint64_t duration_ns)
{
	struct steady_pass *pass = steady->pass;
	uint32_t class = device < SWEEP_CLASSES ? device : SWEEP_CLASSES - 1;

	steady->kernels++;
	steady->kernel_ns += duration_ns;
	if (device == GPU_NONE || !pass->has_several)
		return;
	pass->seen |= UINT32_C(1) << class;
	sweep_add(&pass->sweep, start_ns, start_ns + (int64_t)duration_ns, UINT32_C(1) << class);
	if (pass->sweep.count >= STEADY_PENDING)
		sweep_sum(&pass->sweep, sweep_middle(&pass->sweep), INT64_MIN, INT64_MAX, add_time, steady);
}

static bool begins_before(const void *chosen, size_t i, uint64_t time_ns)
{
	return ((const struct step *const *)chosen)[i]->time_ns <= (int64_t)time_ns;
}

/* Whether that lies behind a step, where there is none. */
static bool is_paused(const struct steady_pass *pass, int64_t time_ns)
{
	size_t begun = base_count_before(pass->chosen, pass->chosen_count, (uint64_t)time_ns, begins_before);
	const struct step *last = begun ? pass->chosen[begun - 1] : NULL;

	return last && last->rest_ns && time_ns >= last->rest_ns;
}

/* An op that makes an input pipeline or its iterator, or takes a batch for several replicas apart: no function can hold it. */
static bool makes_pipeline(const char *name)
{
	const char *dataset = strstr(name, "Dataset");

	return strcmp(name, "MakeIterator") == 0 || strncmp(name, "AnonymousIterator", 17) == 0 ||
	       strncmp(name, "MultiDeviceIterator", 19) == 0 || strncmp(name, "Optional", 8) == 0 ||
	       (dataset && strlen(dataset) <= 9);
}

/* A call of a function has a name that begins with "__"; its time is that of the ops inside it. */
static void take_op(struct steady *steady, const struct span *span)
{
	bool is_eager = span->source == SOURCE_eager && strncmp(span->name, "__", 2) != 0;

	if ((span->source != SOURCE_annotation && !is_eager) || makes_pipeline(span->name) ||
	    input_kind_of(span, LOOPS_UNKNOWN) != INPUT_NOT || is_paused(steady->pass, span->start_ns))
		return;
	steady->op_ns += span->self_ns;
	steady->eager_ns += is_eager ? span->self_ns : 0;
}

static void add_call(struct steady *steady, enum gpu_kind call, uint64_t duration_ns)
{
	bool is_launch = call == GPU_LAUNCH || call == GPU_GRAPH, is_wait = call == GPU_SYNC;

	steady->launches += is_launch;
	steady->launch_ns += is_launch ? duration_ns : 0;
	steady->waits += is_wait;
	steady->wait_ns += is_wait ? duration_ns : 0;
}

static void take(void *result, const struct span *span)
{
	struct steady *steady = result;

	if (span->start_ns < steady->pass->from_ns || span->start_ns >= steady->pass->to_ns)
		return;
	if (span->what == SPAN_OP) {
		take_op(steady, span);
	} else if (span->what == SPAN_COPY) {
		take_copy(steady, span);
	} else if (span->what != SPAN_CALL) {
		add_kernel(steady, span->device, span->start_ns, span->duration_ns);
	} else {
		add_call(steady, span->call, span->duration_ns);
	}
}

static void again(void *result, const struct span_again *spans, size_t count)
{
	struct steady *steady = result;
	const struct steady_pass *pass = steady->pass;

	for (size_t i = 0; i < count; i++) {
		const struct span *like = spans[i].like;
		if (spans[i].start_ns < pass->from_ns || spans[i].start_ns >= pass->to_ns)
			continue;
		if (like->what == SPAN_CALL)
			add_call(steady, like->call, spans[i].duration_ns);
		else
			add_kernel(steady, like->device, spans[i].start_ns, spans[i].duration_ns);
	}
}

static void end(void *result)
{
	struct steady *steady = result;
	struct steady_pass *pass = steady->pass;

	sweep_sum(&pass->sweep, INT64_MAX, INT64_MIN, INT64_MAX, add_time, steady);
	steady->late_ns = pass->sweep.late_ns;
	if ((pass->seen & (pass->seen - 1)) == 0)
		steady->alone_ns = steady->any_ns = 0; /* one device: nothing to compare */
	free_pass(pass);
	steady->pass = NULL;
}

static void add_copies(struct steady_copies *into, const struct steady_copies *from)
{
	for (size_t i = 0; i < STEADY_WAYS; i++) {
		into[i].count += from[i].count;
		into[i].ns += from[i].ns;
		into[i].bytes += from[i].bytes;
	}
}

static void merge(void *result, const void *more)
{
	struct steady *into = result;
	const struct steady *from = more;

	into->processes += from->processes;
	into->steps += from->steps;
	add_copies(into->copies, from->copies);
	add_copies(into->pageable, from->pageable);
	add_copies(into->pinned, from->pinned);
	into->small_reads += from->small_reads;
	into->kernels += from->kernels;
	into->kernel_ns += from->kernel_ns;
	into->launches += from->launches;
	into->launch_ns += from->launch_ns;
	into->waits += from->waits;
	into->wait_ns += from->wait_ns;
	into->alone_ns += from->alone_ns;
	into->any_ns += from->any_ns;
	into->op_ns += from->op_ns;
	into->eager_ns += from->eager_ns;
	into->late_ns += from->late_ns;
}

static void print_copies(struct text *text, const char *what, const struct steady_copies *copies)
{
	for (size_t i = 0; i < STEADY_WAYS; i++)
		text_format(text, "%s %zu: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", what, i, copies[i].count, copies[i].ns,
			    copies[i].bytes);
}

static void print(const void *result, struct text *text)
{
	const struct steady *steady = result;

	print_copies(text, "copies", steady->copies);
	print_copies(text, "pageable", steady->pageable);
	print_copies(text, "pinned", steady->pinned);
	text_format(text, "processes %" PRIu64 " steps %" PRIu64 " small reads %" PRIu64 "\n", steady->processes, steady->steps,
		    steady->small_reads);
	text_format(text, "kernels %" PRIu64 " %" PRIu64 " launches %" PRIu64 " %" PRIu64 "\n", steady->kernels,
		    steady->kernel_ns, steady->launches, steady->launch_ns);
	text_format(text, "waits %" PRIu64 " %" PRIu64 "\n", steady->waits, steady->wait_ns);
	text_format(text, "ops %" PRIu64 " eager %" PRIu64 "\n", steady->op_ns, steady->eager_ns);
	text_format(text, "alone %" PRIu64 " any %" PRIu64 " late %" PRIu64 "\n", steady->alone_ns, steady->any_ns,
		    steady->late_ns);
}

static void drop(void *result)
{
	struct steady *steady = result;

	free_pass(steady->pass);
	free(steady);
}

const struct analysis_kind analysis_steady = {
	.name = "steady",
	.wants = SPAN_BIT(SPAN_KERNEL) | SPAN_BIT(SPAN_GRAPH) | SPAN_BIT(SPAN_COPY) | SPAN_BIT(SPAN_CALL) | SPAN_BIT(SPAN_OP),
	.begin = begin,
	.span = take,
	.again = again,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};
