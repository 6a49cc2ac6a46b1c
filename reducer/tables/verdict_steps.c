/* SPDX-License-Identifier: Apache-2.0 */
/* What a verdict says of steps besides; see reducer/tables/verdict_steps.h. */
#include "reducer/tables/verdict_steps.h"

#include "reducer/tables/compile_rows.h"
#include "reducer/tables/gpu_fault_say.h"
#include "reducer/tables/memory_out.h"
#include "reducer/tables/python_looks.h"
#include "reducer/tables/rare_rows.h"
#include "reducer/tables/rule_limits.h"
#include "reducer/tables/step_cover.h"
#include "reducer/tables/steps_ahead.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONG_LEAST 20	 /* judged steps of the process: of fewer a median says little */
#define LONG_TIMES 10	 /* as long as their median */
#define LONG_SHARE 0.1	 /* of their time */
#define LONG_PART 0.5	 /* of its time one thing */
#define COPY_TO_HOST 2	 /* device_copy.kind */
#define OUTSIDE_MOST 0.25 /* of the time of the steps: what their readings may hold beside it unsaid */
#define BETWEEN_FROM 0.3 /* of the time from the first step to the last that is in none */

uint64_t verdict_time_without_devices(const struct step_rows *rows)
{
	uint64_t all = 0;

	for (size_t i = 0, to; i < rows->count; i = to) {
		uint64_t own = 0;
		bool has_device = false;
		step_rows_of(rows, rows->items[i]->process, &to);
		for (size_t k = i; k < to; k++) {
			own += step_rows_judges(rows, k) ? rows->items[k]->total_ns : 0;
			has_device |= rows->items[k]->has_device;
		}
		all += has_device ? 0 : own;
	}
	return all;
}

void verdict_say_waited(struct text *sentence, const char *begin, const struct step_rows *rows, const struct request *request,
			const struct busy *busy)
{
	bool is_whole = rows->kind == UNIT_WHOLE;

	if (busy->share < VERDICT_WAITED_FROM)
		return;
	text_format(sentence, "%s the first %s to the last %s", begin, is_whole ? "op" : unit_kind_name(rows->kind),
		    is_whole ? "the first thread" : "their thread");
	if (rows->processes > 1)
		text_format(sentence, " in process %s, which waited most,", request->run->processes[busy->process].called);
	text_format(sentence, " waited for a processor %.0f %% of the time", 100 * busy->share);
	if (busy->between_ns > (1 + OUTSIDE_MOST) * busy->stretch_ns)
		text_format(sentence, " (by the readings around these %.2f s, %.2f s apart)", busy->stretch_ns / 1e9,
			    busy->between_ns / 1e9);
	if (busy->kept.processors > 0 && busy->kept.limited >= BUSY_LIMITED * busy->share) {
		text_string(sentence, ": the control group had used up its limit, ");
		machine_put_processors(sentence, busy->kept.processors);
		text_format(sentence, ", in %.0f %% of the periods.", 100 * busy->kept.limited);
		return;
	}
	text_format(sentence, ": %s had them.",
		    busy->own >= BUSY_MOSTLY				? "other threads and processes of this run"
		    : busy->own >= 0 && busy->own <= 1 - BUSY_MOSTLY ? "other work"
								     : "other work, or other threads of this run,");
}

/* who: " of process 12" where several processes take steps, each of which may have a device 0; else "". */
static void say_device(struct text *sentence, const struct machine_device *device, const struct request *request, const char *who)
{
	if (100 * device->lost >= rule_limits_of(request, LIMIT_clocks_lowered)) {
		text_format(sentence, " Device %" PRIu32 "%s ran at %.0f of at most %.0f MHz in %.0f %% of the time: ", device->device,
			    who, device->clock, device->clock_most, 100 * device->lowered);
		machine_put_reasons(sentence, device->reasons);
		text_string(sentence, " (-t device_usage).");
	}
	if (100 * device->shared >= rule_limits_of(request, LIMIT_device_shared))
		text_format(sentence,
			    " For %.0f %% of the time device %" PRIu32 "%s was used by more processes than this run is known to have there "
			    "(-t device_usage).",
			    100 * device->shared, device->device, who);
}

void verdict_say_machine(struct text *sentence, const struct step_rows *rows, const struct request *request)
{
	struct machine_device devices[MACHINE_DEVICES], lost = {0}, shared = {0};
	size_t loser = 0, sharer = 0;
	struct text who = {0};
	double stolen = 0;
	int64_t from, to;

	for (size_t i = 0, end; i < rows->count; i = end) {
		size_t process = rows->items[i]->process;
		if (!step_rows_ran(rows, process, &end, &from, &to))
			continue;
		stolen = fmax(stolen, machine_kept_from(&request->run->processes[process], from, to).stolen);
		for (size_t d = machine_devices(devices, request->run, process, from, to); d-- > 0;) {
			loser = devices[d].lost > lost.lost ? process : loser;
			lost = devices[d].lost > lost.lost ? devices[d] : lost;
			sharer = devices[d].shared > shared.shared ? process : sharer;
			shared = devices[d].shared > shared.shared ? devices[d] : shared;
		}
	}
	lost.shared = shared.lost = 0;
	if (rows->processes > 1)
		text_format(&who, " of process %s", request->run->processes[loser].called);
	say_device(sentence, &lost, request, who.length ? who.bytes : "");
	text_clear(&who);
	if (rows->processes > 1)
		text_format(&who, " of process %s", request->run->processes[sharer].called);
	say_device(sentence, &shared, request, who.length ? who.bytes : "");
	text_free(&who);
	if (100 * stolen >= rule_limits_of(request, LIMIT_stolen_processors))
		text_format(sentence, " Of the time that this virtual machine wanted processors it did not get them for %.0f %% (steal).",
			    100 * stolen);
}

/* The process that the report is headed by. */
static bool has_crashed(const struct request *request)
{
	const struct process *first = request->run->process_count ? run_main(request->run) : NULL;

	return first && request_wants_process(request, first) && process_has_crashed(first);
}

void verdict_say_failed(struct text *sentence, const struct request *request)
{
	bool is_out = memory_out_find(request).is_end, has_fault;
	struct text fault = {0};

	gpu_fault_say(&fault, request);
	has_fault = fault.length > 0;
	if (has_fault || is_out)
		text_format(sentence, "What failed goes before this: %s%s%s. ", has_fault ? "work on the GPU" : "",
			    has_fault && is_out ? ", and " : "", is_out ? "memory ran out" : "");
	else if (has_crashed(request))
		text_string(sentence, "What failed goes before this: the program crashed (-t threads_at_end). ");
	text_free(&fault);
}

static bool only_traces(const struct step_rows *rows, const struct request *request)
{
	bool traces = false;

	for (size_t i = 0, to; i < rows->count; i = to) {
		step_rows_of(rows, rows->items[i]->process, &to);
		if (!compile_only_traces(&request->run->processes[rows->items[i]->process]))
			return false;
		traces = true;
	}
	return traces;
}

void verdict_say_first(struct text *sentence, const struct step_rows *rows, const struct request *request, uint64_t judged)
{
	struct step_first first = step_rows_first(rows);
	uint64_t all = judged + first.ns;

	if (!first.ns || (double)first.ns < VERDICT_FIRST_FROM * (double)all)
		return;
	text_format(sentence, " The first %s%s not in this: %.1f ms, %.1f %% of all", unit_kind_name(rows->kind),
		    first.count == 1 ? " is" : "s are", (double)first.ns / 1e6, 100.0 * (double)first.ns / (double)all);
	if (first.compilation_ns * 2 >= first.ns)
		text_format(sentence, "; %.1f ms of it compile (-t compile_stats): %s", (double)first.compilation_ns / 1e6,
			    only_traces(rows, request) ? "Python traces functions there, which no cache of compiled code saves"
						       : "a cache of compiled code that is kept saves that");
	else if (first.input_ns * 2 >= first.ns)
		text_format(sentence, "; %.1f ms of it wait for input", (double)first.input_ns / 1e6);
	text_string(sentence, ".");
}

bool verdict_has_ranks(const struct request *request)
{
	size_t count = 0;

	for (size_t i = 0; i < request->run->process_count; i++)
		count += request_wants_process(request, &request->run->processes[i]) && request->run->processes[i].step_count > 0;
	return count > 1;
}

void verdict_say_between(struct text *sentence, const struct step_rows *rows, const struct request *request)
{
	struct step_outside outside, most = {0};

	for (size_t i = 0, next; i < rows->count; i = next)
		if (step_rows_outside(rows, request, i, &next, &outside) && outside.between > most.between)
			most = outside;
	double part = (double)most.between / fmax((double)(most.life - most.before - most.after), 1);
	if (part < BETWEEN_FROM)
		return;
	text_format(sentence,
		    " %.0f %% of the time from the first %s to the last, %.2f s, lies between them and is in none of this (%s).",
		    100 * part, unit_kind_name(rows->kind), (double)most.between / 1e9,
		    rows->kind == UNIT_REQUEST ? "waiting for the next one, or work outside of its range" :
						 "evaluation, acting, checkpoints, tracing");
	if (rows->kind == UNIT_STEP)
		python_looks_say_between(sentence, request);
}

void verdict_say_awaited(struct text *sentence, const struct step_rows *rows, const struct request *request)
{
	const struct process *process = &request->run->processes[rows->items[0]->process];
	double took = (double)(process->awaited_to_ns - process->awaited_from_ns) / 1e9;
	uint64_t ahead = rows->kind == UNIT_STEP ? steps_ahead_much_ns(rows, rows->items[0]->process) : 0;

	if (rows->kind == UNIT_STEP && took > 0)
		text_format(sentence,
			    " But steps took longer than that: work that they only dispatched was waited for behind the last one, "
			    "%.3f s.",
			    took);
	else if (ahead)
		text_format(sentence,
			    " But steps took longer than that: they only launched what devices were at for %.3f s more behind the last "
			    "one.",
			    (double)ahead / 1e9);
}

struct longest {
	const struct step_row *row; /* NULL = it is as others are */
	double times;               /* so many usual ones */
	double share;               /* of the time of the judged steps, with those that are like it */
	double mean_ms;             /* of the judged steps */
	size_t alike;               /* steps at least half as long, it included */
};

/* Of the judged steps from that row to that of a process. */
static struct longest longest_of(const struct step_rows *rows, size_t from, size_t to)
{
	uint64_t *lengths = base_alloc(to - from + 1, sizeof(*lengths)), sum = 0, median, alike_ns = 0;
	const struct step_row *longest = NULL;
	struct longest found = {0};
	size_t count = 0;

	for (size_t i = from; i < to; i++) {
		if (!step_rows_judges(rows, i))
			continue;
		lengths[count++] = rows->items[i]->total_ns;
		sum += rows->items[i]->total_ns;
		longest = longest && longest->total_ns >= rows->items[i]->total_ns ? longest : rows->items[i];
	}
	base_sort_naturals(lengths, count);
	median = count ? lengths[(count - 1) / 2] : 0;
	for (size_t i = count; longest && i && lengths[i - 1] >= longest->total_ns / 2; i--, found.alike++)
		alike_ns += lengths[i - 1];
	free(lengths);
	if (count < LONG_LEAST || !median || !longest)
		return found;
	found.times = (double)longest->total_ns / (double)median;
	found.share = (double)alike_ns / (double)sum;
	found.mean_ms = (double)sum / (double)count / 1e6;
	if (found.times >= LONG_TIMES && (double)longest->total_ns >= LONG_SHARE * (double)sum)
		found.row = longest;
	return found;
}

/* What most of a step went into; NULL = no one thing, or nothing that was recorded. */
static const char *most_of(const struct step_row *row)
{
	static const struct {
		enum step_value value;
		const char *what;
	} parts[] = {{VALUE_KERNEL_LAUNCH, "in calls that launch work"}, {VALUE_HOST_COMPUTE, "in ops and calls of the host"},
		     {VALUE_INPUT, "input"}, {VALUE_OUTPUT, "copies to the host"}, {VALUE_COMPILATION, "compiling or loading code"},
		     {VALUE_COMPUTE, "computing on devices"}, {VALUE_COLLECTIVES, "collectives"},
		     {VALUE_HOST_COMMUNICATION, "exchanging data between processes"}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if ((double)step_value(row, parts[i].value) >= LONG_PART * (double)row->total_ns)
			return parts[i].what;
	return NULL;
}

void verdict_say_longest(struct text *sentence, const struct step_rows *rows, const struct request *request)
{
	const char *kind = unit_kind_name(rows->kind), *what;

	for (size_t i = 0, to; i < rows->count; i = to) {
		step_rows_of(rows, rows->items[i]->process, &to);
		struct longest longest = longest_of(rows, i, to);
		what = longest.row ? most_of(longest.row) : NULL;
		if (!what)
			continue;
		text_format(sentence, " %.1f %% of the time", 100 * longest.share);
		if (rows->items[0]->process != rows->items[rows->count - 1]->process)
			text_format(sentence, " of process %s", request->run->processes[longest.row->process].called);
		if (longest.alike == 1)
			text_format(sentence, " is %s %" PRIu64 " alone, as long as %.0f usual ones (%.1f ms)", kind,
				    longest.row->unit.number, longest.times, (double)longest.row->total_ns / 1e6);
		else
			text_format(sentence, " is in %zu %ss as long as %.0f usual ones or more, the longest %s %" PRIu64 " (%.1f ms)",
				    longest.alike, kind, longest.times / 2, kind, longest.row->unit.number,
				    (double)longest.row->total_ns / 1e6);
		if (rare_is_own(request, rows, longest.row))
			text_format(sentence, ": there a value is waited for, and so for what the %ss before it only dispatched; it is the "
					      "mean that says how long a %s takes, %.1f ms", kind, kind, longest.mean_ms);
		else
			text_format(sentence, ", most of it %s", what);
		text_format(sentence, " (-t step_stats).");
		return;
	}
}

/* What is done already of what is usually advised, by what devices did: names of kernels, graphs, copies. */
struct done {
	bool has_graphs, is_fused, is_compiled;
	uint64_t read_back; /* copies to the host */
};

static void look_at_names(struct done *done, const struct gpu *gpu)
{
	for (size_t i = 0; i < gpu->name_count; i++) {
		const char *name = gpu->names[i];
		done->is_fused |= strstr(name, "FusedOptimizer") != NULL; /* PyTorch's */
		done->is_compiled |= strncmp(name, "triton_", 7) == 0 || strstr(name, "_fusion") != NULL; /* TorchInductor's, XLA's */
	}
}

static struct done done_by(const struct request *request)
{
	struct done done = {0};

	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		const struct gpu *gpu = request_wants_process(request, process) ? process->gpu : NULL;
		if (!gpu)
			continue;
		look_at_names(&done, gpu);
		for (size_t i = 0; i < gpu->graph_count; i++)
			done.has_graphs |= gpu->graphs[i].launches > gpu->graphs[i].failed;
		for (size_t i = 0; i < gpu->copy_count; i++)
			done.read_back += gpu->copies[i].kind == COPY_TO_HOST ? gpu->copies[i].occurrences : 0;
	}
	return done;
}

void verdict_say_feeding(struct text *sentence, const struct step_rows *rows, const struct request *request)
{
	struct done done = done_by(request);
	const struct {
		bool is_done;
		const char *what;
	} means[] = {{done.is_compiled, "compiled steps"}, {done.has_graphs, "CUDA graphs"}, {done.is_fused, "fused optimizers"}};
	const char *between = " (", *end = "";

	text_string(sentence, " What feeds them: a larger batch; fewer and larger kernels");
	for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++)
		if (!means[i].is_done) {
			text_format(sentence, "%s%s", between, means[i].what);
			between = ", ";
			end = ")";
		}
	text_format(sentence, "%s%s.", end, done.read_back >= rows->count ? "; no .item() in each step" : "");
}
