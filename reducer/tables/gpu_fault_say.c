/* SPDX-License-Identifier: Apache-2.0 */
/* Work on a device that failed; see reducer/tables/gpu_fault_say.h. */
#include "reducer/tables/gpu_fault_say.h"

#include "reducer/tables/asker.h"
#include "reducer/tables/gpu_rows.h"

#include <inttypes.h>
#include <string.h>

#define SUSPECTS_TOLD 2
#define NAME_LONG 60u /* bytes; of longer names template arguments and parameters are left out */

/* Functions of templates have names of hundreds of bytes: "at::native::reduce_kernel<..>". */
static void put_name(struct text *text, const char *name)
{
	size_t depth = 0;
	bool is_long = strlen(name) > NAME_LONG;

	for (const char *at = name; *at; at++) {
		/* The < or ( of an operator, or << as a whole, is its name. */
		bool is_operator = (at - name >= 8 && strncmp(at - 8, "operator", 8) == 0) ||
				   (at - name >= 9 && at[-1] == *at && strncmp(at - 9, "operator", 8) == 0);
		if (is_operator && depth == 0)
			text_char(text, *at);
		else if (is_long && depth == 0 && *at == '(' && strncmp(at, "(anonymous", 10) != 0)
			break;
		if (is_long && *at == '<' && depth++ == 0)
			text_string(text, "<..>");
		else if (is_long && *at == '>' && depth > 0)
			depth--;
		else if (depth == 0)
			text_char(text, *at);
	}
}

static void put_kernel(struct text *text, const struct gpu *gpu, uint32_t kernel)
{
	struct text name = {0};

	gpu_kernel_text(&name, gpu, kernel);
	text_string(text, "kernel ");
	put_name(text, name.bytes);
	text_free(&name);
}

static void put_time(struct text *text, int64_t ns)
{
	text_format(text, " at %.3f s", (double)ns / 1e9);
}

/* A call, and where it was made. */
struct place {
	size_t process;
	int64_t from_ns, to_ns;
	uint32_t thread, stack;
};

/* The function that called, where it has a name, not only an address in its module. */
static void put_function(struct text *text, const struct request *request, const struct place *place)
{
	struct frame_cause cause = {0};
	const char *slash;

	frames_cause(request->frames, place->process, place->stack, &cause);
	slash = cause.file.length ? strrchr(cause.file.bytes, '/') : NULL;
	if (cause.function.length && !strstr(cause.function.bytes, "+0x")) {
		text_string(text, " in ");
		put_name(text, cause.function.bytes);
		if (cause.line && cause.file.length)
			text_format(text, " (%s:%" PRIu32 ")", slash ? slash + 1 : cause.file.bytes, cause.line);
	}
	frame_cause_free(&cause);
}

/* The looks at the thread before, in and after the call that are nearest to it; NULL = none. */
struct near_looks {
	const struct python_look *before, *in, *after;
};

static struct near_looks looks_near(const struct python_rows *python, const struct place *place)
{
	struct near_looks near = {0};

	for (size_t i = 0; i < python->look_count; i++) {
		const struct python_look *look = &python->looks[i];
		if (look->thread != place->thread)
			continue;
		if (look->time_ns < place->from_ns)
			near.before = !near.before || look->time_ns > near.before->time_ns ? look : near.before;
		else if (look->time_ns > place->to_ns)
			near.after = !near.after || look->time_ns < near.after->time_ns ? look : near.after;
		else if (look->stack && look->stack != PYTHON_LOOK_IN_DOUBT)
			near.in = look;
	}
	return near;
}

static void put_looked(struct text *text, const struct request *request, size_t process, const struct python_look *look)
{
	if (look && look->stack && look->stack != PYTHON_LOOK_IN_DOUBT)
		asker_put_python(text, request->frames, process, look->stack);
}

/* The line at which a look in the call found its thread, or those right before and after it alike. */
static bool put_line(struct text *text, const struct request *request, const struct place *place)
{
	const struct near_looks near = looks_near(&request->run->processes[place->process].python, place);
	struct text line = {0}, after = {0};
	bool is_any;

	put_looked(&line, request, place->process, near.in ? near.in : near.before);
	put_looked(&after, request, place->process, near.in ? near.in : near.after);
	if (line.length && after.length && strcmp(line.bytes, after.bytes) == 0)
		text_format(text, " in %s by looks", line.bytes);
	else
		text_clear(&line);
	is_any = line.length > 0;
	text_free(&line);
	text_free(&after);
	return is_any;
}

/* By its stack, where Python's lines are in it; else by the looks at Python code of that time; else the function that called. */
static void put_place(struct text *text, const struct request *request, const struct place *place)
{
	struct text name = {0};

	if (place->stack && asker_put_python(&name, request->frames, place->process, place->stack))
		text_format(text, " in %s", name.bytes);
	else if (!put_line(text, request, place) && place->stack)
		put_function(text, request, place);
	text_free(&name);
}

/* "kernel bad, called at 1.226 s in main (train.py:20), stream 7" */
static void put_suspect(struct text *text, const struct request *request, size_t number, const struct gpu_suspect *suspect)
{
	const struct process *process = &request->run->processes[number];
	const struct gpu *gpu = process->gpu;

	if (suspect->kernel < gpu->name_count)
		put_kernel(text, gpu, suspect->kernel);
	else
		text_string(text, suspect->function < gpu->function_count ? gpu->functions[suspect->function].name : "a call");
	text_string(text, ", called");
	put_time(text, suspect->host_ns);
	put_place(text, request, &(struct place){number, suspect->host_ns, suspect->returned_ns, suspect->thread, suspect->stack});
	if (suspect->op && suspect->op < process->op_count)
		text_format(text, ", op %s", process->op_names[suspect->op]);
	if (suspect->queue < gpu->queue_count)
		text_format(text, ", stream %" PRIu32, gpu->queues[suspect->queue].stream);
}

static void put_suspects(struct text *text, const struct request *request, size_t number)
{
	const struct gpu_fault *fault = &request->run->processes[number].gpu->fault;

	if (!fault->suspect_count)
		return;
	text_string(text, fault->suspect_count == 1 ? " Suspected, as the first work without an end (inferred): "
						    : " Suspected, as the first work without an end in their streams (inferred): ");
	for (size_t i = 0; i < fault->suspect_count && i < SUSPECTS_TOLD; i++) {
		text_string(text, i ? "; " : "");
		put_suspect(text, request, number, &fault->suspects[i]);
	}
	if (fault->suspect_count > SUSPECTS_TOLD)
		text_format(text, "; and %" PRIu64 " more streams", fault->suspect_count - SUSPECTS_TOLD);
	/* CUPTI may not have handed over ends that came before: nothing tells these apart. */
	if (fault->endless > fault->suspect_count) {
		text_format(text, "; or one of %" PRIu64 " behind, the last: ", fault->endless - fault->suspect_count);
		put_suspect(text, request, number, &fault->latest);
	}
	text_char(text, '.');
}

/* It went on with steps: with its device, or without. */
static void put_after(struct text *text, const struct process *process)
{
	const struct gpu_fault *fault = &process->gpu->fault;
	size_t steps = 0;

	for (size_t i = 0; i < process->step_count; i++)
		steps += process->steps[i].is_chosen && process->steps[i].time_ns >= fault->returned_ns;
	if (!steps)
		return;
	text_format(text, " The process went on for %zu more step%s: ", steps, steps == 1 ? "" : "s");
	if (fault->last_called_ns > fault->returned_ns)
		text_string(text, "the device worked again.");
	else
		text_format(text, "none had the device, %" PRIu64 " call%s in all came back with such an error.", fault->calls,
			    fault->calls == 1 ? "" : "s");
}

static const struct process *first_of(const struct request *request, size_t *number)
{
	const struct process *first = NULL;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!process->gpu || !process->gpu->fault.result || !request_wants_process(request, process) ||
		    (first && first->gpu->fault.returned_ns <= process->gpu->fault.returned_ns))
			continue;
		first = process;
		*number = i;
	}
	return first;
}

bool gpu_fault_any(const struct request *request)
{
	size_t number;

	return first_of(request, &number) != NULL;
}

uint32_t gpu_bad_launch_say(struct text *text, const struct request *request, bool of_failed)
{
	const struct gpu_bad_launch *bad = NULL;
	const struct process *process = NULL;
	size_t number = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *one = &request->run->processes[i];
		if (!one->gpu || !one->gpu->fault.bad.result || !request_wants_process(request, one) ||
		    (of_failed && !process_has_failed(one)) || (bad && bad->returned_ns <= one->gpu->fault.bad.returned_ns))
			continue;
		bad = &one->gpu->fault.bad;
		process = one;
		number = i;
	}
	if (!bad)
		return 0;
	text_format(text, "%s returned %" PRIu32 " (%s: %s)",
		    bad->function < process->gpu->function_count ? process->gpu->functions[bad->function].name : "a call", bad->result,
		    gpu_bad_launch_of(bad->result)->name, gpu_bad_launch_of(bad->result)->text);
	put_time(text, bad->returned_ns);
	put_place(text, request, &(struct place){number, bad->called_ns, bad->returned_ns, bad->thread, bad->stack});
	if (bad->op && bad->op < process->op_count)
		text_format(text, ", op %s", process->op_names[bad->op]);
	if (bad->kernel < process->gpu->name_count) {
		text_string(text, ", ");
		put_kernel(text, process->gpu, bad->kernel);
	}
	if (request->run->process_count > 1)
		text_format(text, ", of process %s", process->called);
	return bad->result;
}

static void say_bad_launch(struct text *text, const struct request *request)
{
	struct text bad = {0};

	if (gpu_bad_launch_say(&bad, request, true))
		text_format(text, "A call did not start its work on the GPU, and its process ended badly: %s (-t launches).", bad.bytes);
	text_free(&bad);
}

void gpu_fault_say(struct text *text, const struct request *request)
{
	size_t number = 0;
	const struct process *process = first_of(request, &number);
	const struct gpu_fault *fault = process ? &process->gpu->fault : NULL;

	if (!fault) {
		say_bad_launch(text, request);
		return;
	}
	text_string(text, "Work on the GPU failed: ");
	text_string(text, fault->function < process->gpu->function_count ? process->gpu->functions[fault->function].name : "a call");
	text_format(text, " returned %" PRIu32 " (%s: %s)", fault->result, gpu_fault_of(fault->result)->name,
		    gpu_fault_of(fault->result)->text);
	put_time(text, fault->returned_ns);
	put_place(text, request, &(struct place){number, fault->called_ns, fault->returned_ns, fault->thread, fault->stack});
	if (request->run->process_count > 1)
		text_format(text, " of process %s", process->called);
	text_char(text, '.');
	put_suspects(text, request, number);
	put_after(text, process);
	text_format(text, " %s", gpu_result_remedy(gpu_fault_of(fault->result)));
}
