/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes that several analyses make.
 *
 * Rule: written from the log alone.
 */
#include "reducer/tables/notes.h"

#include "reducer/model/losses.h"
#include "reducer/model/windows.h"
#include "reducer/tables/losses.h"

#include <ctype.h>
#include <string.h>

#define GIB 1073741824.0
#define TOLD_PARTS 100 /* below one in so many, a peak that the allocator tells and ours differ by threads that raced */

static bool setting_is(const struct process *process, const char *name, const char *value)
{
	return strcmp(process_setting(process, name), value) == 0;
}

bool process_has_heap(const struct process *process)
{
	/* Counters of no thread: the part of the log that has them is missing. */
	return process->thread_count && !process->is_heap_unseen && !setting_is(process, "MALLOC", "off") &&
	       (!setting_is(process, "WINDOW", "off") || process->heap.allocations || process->heap.frees);
}

bool notes_is_foreign(const struct request *request)
{
	bool is_any = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		if (!request_wants_process(request, &request->run->processes[i]))
			continue;
		if (!process_is_foreign(&request->run->processes[i]))
			return false;
		is_any = true;
	}
	return is_any;
}

bool notes_not_in_file(struct table *table, const struct request *request)
{
	if (!notes_is_foreign(request))
		return false;
	table_note(table, NOTE_MISSING,
		   "Made of a file of another profiler: it does not tell of this, or it is not read from there (docs/foreign.md).");
	return true;
}

bool notes_is_lossy(const struct request *request)
{
	bool is_any = request->run->diags->damage > 0;

	for (size_t i = 0; i < request->run->process_count; i++)
		is_any |= request_wants_process(request, &request->run->processes[i]) && losses_of_events(&request->run->processes[i]);
	return is_any;
}

void notes_lost_blocks(struct table *table, const struct request *request)
{
	if (notes_is_lossy(request))
		table_note(table, NOTE_MISSING,
			   "Events were lost (-t losses), and with them blocks that they told of: no row counts these, neither as live at "
			   "the peak nor as still there. memory.summary has the totals.");
}

static bool has_forgotten(const struct request *request, const struct process *process)
{
	for (size_t i = 0; i < process->account_count; i++)
		if (process->accounts[i].is_leak_unknown && request_wants_allocator(request, process->accounts[i].allocator))
			return true;
	return false;
}

void notes_forgotten_blocks(struct table *table, const struct request *request)
{
	bool is_unknown = false, is_of_others = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		is_unknown |= process->heap.is_leak_unknown && request_wants_allocator(request, "heap");
		is_of_others |= has_forgotten(request, process);
	}
	if (is_of_others)
		table_note(table, NOTE_MISSING,
			   "Blocks of devices and frameworks are recorded in windows alone: of those that were live when a window "
			   "closed it is not known which are still there, and none is counted as leaked, or as live in a later "
			   "window.");
	if (is_unknown)
		table_note(table, NOTE_MISSING,
			   "TFPROF_MALLOC=full records releases in windows alone: of the heap's blocks that were live when a window closed "
			   "it is not known which are still there, and none is counted as leaked, or as live in a later window. "
			   "TFPROF_MALLOC=sample sees its blocks released outside of windows, too.");
}

/* How many wanted processes is something true of, and what the first is called. */
struct count {
	size_t processes;
	const char *called;
};

static void count_add(struct count *count, const struct process *process)
{
	if (!count->processes++)
		count->called = process->called;
}

/*
 * An address that lives is handed out again although every call that reached us is in the log: its release was not seen, since
 * something in the process called the allocator past us. (What it allocated there and released again leaves no trace.) Where
 * threads raced and the stamps did not settle it, the release comes later as one of an unknown block: those prove nothing; nor does
 * one call of each thread, which a kill may have stopped between the allocator and its record.
 */
static bool is_called_past_us(const struct process *process)
{
	const struct account *heap = &process->heap;

	for (size_t i = 0; i < process->loss_count; i++)
		if (!loss_is_degraded(process->losses[i].kind))
			return false;
	return heap->kind == ACCOUNT_EVENTS && !process->window_count &&
	       heap->event_replaced > heap->event_unknown_frees + process->thread_count &&
	       process->log->live.dropped_from == 0 && process_counters_agree(process, heap);
}

static void note_count(struct table *table, const struct request *request, enum note_kind kind, const struct count *count,
		       const char *sentence)
{
	if (count->processes && request->run->process_count == 1)
		table_note(table, kind, "%c%s", toupper((unsigned char)sentence[0]), sentence + 1);
	else if (count->processes == 1)
		table_note(table, kind, "Process %s: %s", count->called, sentence);
	else if (count->processes)
		table_note(table, kind, "%zu processes (first: %s): %s", count->processes, count->called, sentence);
}

bool notes_no_window(const struct request *request)
{
	bool is_set = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		if (process->window_count || windows_hold_all(process) || losses_gave_up(process) || setting_is(process, "WINDOW", "all") ||
		    setting_is(process, "WINDOW", ""))
			return false;
		is_set = true;
	}
	return is_set;
}

/* What is missing where TFPROF_WINDOW was set. */
static const char *window_sentence(const struct request *request)
{
	bool is_of_steps = false, is_of_slow = false;

	if (!notes_no_window(request))
		return "TFPROF_WINDOW was set, events outside of it were not recorded (totals were).";
	for (size_t i = 0; i < request->run->process_count; i++) {
		const char *window = process_setting(&request->run->processes[i], "WINDOW");
		bool is_wanted = request_wants_process(request, &request->run->processes[i]);
		is_of_steps |= is_wanted && strstr(window, "step:") != NULL;
		is_of_slow |= is_wanted && strstr(window, "slow:") != NULL;
	}
	if (is_of_slow && !is_of_steps)
		return "TFPROF_WINDOW was set and no window opened, no event was recorded (totals were): slow:PERCENT% opens behind "
		       "a step that took so much longer than all but one of the 15 before it, of steps that are marked while the "
		       "program runs or seen to repeat, and none did.";
	return is_of_steps ? "TFPROF_WINDOW was set and no window opened, no event was recorded (totals were): step:N-M counts steps that "
			     "are marked while the program runs or seen to repeat in its GPU calls and JAX's calls (those from the "
			     "fourth round on), and none had such a number. tfprof.step() of preload/tfprof.py marks them, and "
			     "time:FROM-TO needs none."
			   : "TFPROF_WINDOW was set and no window opened, no event was recorded (totals were).";
}

/* Windows that slow steps opened: how many, and behind which the step was slowest. */
static void note_slow(struct table *table, const struct request *request)
{
	const struct process *where = NULL;
	struct window slowest = {.index = 0};
	size_t count = 0;

	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		for (size_t i = 0; i < process->window_count && request_wants_process(request, process); i++) {
			const struct window *edge = &process->windows[i];
			if (!edge->is_open || edge->cause != WINDOW_BY_SLOW)
				continue;
			count++;
			where = edge->index >= slowest.index ? process : where;
			slowest = edge->index >= slowest.index ? *edge : slowest;
		}
	}
	if (!where)
		return;
	table_note(table, NOTE_INFO,
		   "Windows opened behind slow steps: %zu; the slowest step ended at %.2f s in process %s and took %u %% longer than all "
		   "but one of the 15 before it (-t windows).",
		   count, (double)slowest.time_ns / 1e9, where->called, slowest.index);
}

void notes_recording(struct table *table, const struct request *request)
{
	struct count built_in = {0}, before = {0}, part = {0}, foreign = {0}, off = {0}, closed = {0}, window = {0}, unsafe = {0};
	struct count by_hand = {0};
	struct count past = {0}, no_gpu = {0};

	notes_signal_taken(table, request);
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		if (process->has_static_allocator)
			count_add(&built_in, process);
		else if (process->allocator_before != NULL)
			count_add(process->is_heap_unseen ? &before : &part, process);
		else if (process_is_foreign(process))
			count_add(&foreign, process);
		else if (setting_is(process, "MALLOC", "off"))
			count_add(&off, process);
		else if (setting_is(process, "WINDOW", "off"))
			count_add(&closed, process);
		else if (process->settings && !setting_is(process, "WINDOW", "all") && !setting_is(process, "WINDOW", "") &&
			 !windows_hold_all(process))
			count_add(&window, process);
		else if (process->window_count || (process->is_fork && !process->range_count))
			count_add(&by_hand, process);
		if (is_called_past_us(process))
			count_add(&past, process);
		if (setting_is(process, "CUDA", "off"))
			count_add(&no_gpu, process);
		if (process->log->header.flags & TFP_FILE_NOT_KILL_SAFE)
			count_add(&unsafe, process);
	}
	note_count(table, request, NOTE_MISSING, &built_in,
		   "the executable brings its own allocator, whose calls cannot be seen; heap numbers are unknown.");
	note_count(table, request, NOTE_MISSING, &before,
		   "another library's malloc (preloaded or linked before libtfprof.so) took every call; heap numbers are unknown. Put "
		   "libtfprof.so first in LD_PRELOAD, as tfprof run does.");
	note_count(table, request, NOTE_MISSING, &part,
		   "another library's malloc (preloaded or linked before libtfprof.so) stands in front; only calls that it passes on "
		   "were recorded. Put libtfprof.so first in LD_PRELOAD, as tfprof run does.");
	note_count(table, request, NOTE_MISSING, &foreign,
		   "files of other profilers tell nothing of the heap and its call stacks.");
	note_count(table, request, NOTE_MISSING, &no_gpu, "TFPROF_CUDA=off, nothing about GPUs was recorded.");
	note_count(table, request, NOTE_MISSING, &off, "TFPROF_MALLOC=off, heap calls were not recorded.");
	note_count(table, request, NOTE_MISSING, &closed,
		   "TFPROF_WINDOW=off, only calls while the C API or the signal held a window open were counted; blocks from "
		   "before are unknown.");
	note_count(table, request, NOTE_MISSING, &window,
		   window_sentence(request));
	note_slow(table, request);
	note_count(table, request, NOTE_MISSING, &by_hand,
		   "recording was closed for a time or to the end (table windows says when, and by what): events were not recorded then "
		   "(totals were).");
	note_count(table, request, NOTE_INFERRED, &past,
		   "addresses were handed out again whose release was not seen: something in the process calls the allocator past "
		   "libtfprof.so (a plug-in loaded with RTLD_DEEPBIND, a function looked up by its version), and is in no heap number.");
	note_count(table, request, NOTE_MISSING, &unsafe,
		   "the output directory is no local file system; what was not yet written when the process died is missing.");
}

static bool has_pytorch(const struct process *process)
{
	for (size_t i = 0; i < process->framework_count; i++)
		if (strcmp(process->frameworks[i].name, "pytorch") == 0 && strncmp(process->frameworks[i].value, "absent", 6) != 0)
			return true;
	return false;
}

static struct count with_ops(const struct request *request, const char *value)
{
	struct count count = {0};

	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]) && setting_is(&request->run->processes[i], "OPS", value))
			count_add(&count, &request->run->processes[i]);
	return count;
}

bool notes_is_steps_alone(const struct request *request)
{
	return with_ops(request, "steps").processes > 0;
}

bool notes_ops(struct table *table, const struct request *request)
{
	struct count off = with_ops(request, "off"), steps = with_ops(request, "steps");

	note_count(table, request, NOTE_MISSING, &off,
		   "TFPROF_OPS=off, steps, ops and allocators of frameworks were not recorded.");
	note_count(table, request, NOTE_MISSING, &steps,
		   "TFPROF_OPS=steps, of frameworks steps and ranges alone were recorded, no ops and no allocations.");
	notes_layouts(table, request);
	return off.processes + steps.processes > 0;
}

/* The first is told, the others are counted: a server's workers do as it does. */
void notes_signal_taken(struct table *table, const struct request *request)
{
	const struct process *first = NULL;
	size_t others = 0;

	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		for (size_t i = 0; i < process->note_count && request_wants_process(request, process); i++) {
			if (strcmp(process->notes[i].name, "signal_taken") != 0)
				continue;
			others += first != NULL;
			first = first ? first : process;
		}
	}
	if (!first)
		return;
	table_note(table, NOTE_MISSING,
		   "Process %s%s took the signal that opens windows (TFPROF_SIGNAL=%s) for itself: since then it opened and closed none. "
		   "Choose one that the program leaves alone (PROF, 40).",
		   first->called, others ? " and others" : "", process_setting(first, "SIGNAL"));
}

void notes_layouts(struct table *table, const struct request *request)
{
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		for (size_t i = 0; i < process->note_count && request_wants_process(request, process); i++)
			if (strcmp(process->notes[i].name, "tensorflow_layout") == 0)
				table_note(table, NOTE_MISSING, "Process %s: %s", process->called, process->notes[i].value);
	}
}

bool notes_unheard(struct table *table, const struct request *request)
{
	struct count unheard = {0};

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		bool is_part = process->window_count && process->range_count;
		bool is_asked = !setting_is(process, "OPS", "steps");
		if (request_wants_process(request, process) && is_asked && has_pytorch(process) && is_part && !process->ops.count)
			count_add(&unheard, process);
	}
	note_count(table, request, NOTE_MISSING, &unheard,
		   "PyTorch was there, but while a capture window was open it had no occasion to tell of ops: a window's begin is told to "
		   "it where it next takes or gives back memory, so of work in place alone (a.add_(b)) nothing is recorded.");
	return unheard.processes > 0;
}

#define BATCH_BYTES 65536u /* that a thread moves before the process's live bytes know of it, with TOTALS=batched */

void notes_small_peak(struct table *table, const struct request *request)
{
	struct count small = {0};

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		const struct account *heap = &process->heap;
		if (request_wants_process(request, process) && request_wants_allocator(request, "heap") && heap->kind != ACCOUNT_NONE &&
		    heap->is_peak_batched && !heap->is_live_unknown && heap->peak_bytes < BATCH_BYTES &&
		    heap->allocated_bytes > heap->peak_bytes)
			count_add(&small, process);
	}
	note_count(table, request, NOTE_INFO, &small,
		   "the heap's peak is known to 64 KiB a thread and is smaller than that: what came and went in between is not in it; "
		   "TFPROF_TOTALS=exact tells it to the byte.");
}

/* Of forked processes: what their parent held when it forked. */
struct heritage {
	size_t processes;
	uint64_t bytes;
};

static void heritage_add(struct heritage *heritage, uint64_t bytes)
{
	heritage->processes += bytes != 0;
	heritage->bytes += bytes;
}

void notes_inherited(struct table *table, const struct request *request)
{
	struct heritage counted = {0}, left_out = {0};
	struct text kept = {0}, given = {0};

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || !request_wants_allocator(request, "heap") ||
		    !process_has_heap(process) || process->heap.is_live_unknown)
			continue;
		heritage_add(&counted, process->heap.inherited_bytes);
		heritage_add(&left_out, process->log->live.inherited_bytes - process->heap.inherited_bytes);
	}
	text_size(&kept, (int64_t)counted.bytes);
	text_size(&given, (int64_t)left_out.bytes);
	if (counted.processes)
		table_note(table, NOTE_INFO,
			   "Processes made by fork: %zu. Live and peak of their heaps begin with what the parent held live then "
			   "(%s in all), shared with it until one of them writes, and the job's sum has it once for each; call "
			   "stacks know own blocks alone.",
			   counted.processes, kept.bytes);
	if (left_out.processes)
		table_note(table, NOTE_INFO,
			   "Processes made by fork: %zu. What the parent held live then (%s in all) is in no live or peak "
			   "figure of theirs, what they gave back of it in their frees alone.",
			   left_out.processes, given.bytes);
	text_free(&kept);
	text_free(&given);
}

bool notes_is_told_more(const struct account *account)
{
	uint64_t told = account->told_peak_bytes;

	return account->told_before_bytes && told > account->peak_bytes && told - account->peak_bytes > told / TOLD_PARTS;
}

void notes_told(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		for (size_t k = 0; k < process->account_count && request_wants_process(request, process); k++) {
			const struct account *account = &process->accounts[k];
			if (!request_wants_allocator(request, account->allocator) || !notes_is_told_more(account))
				continue;
			table_note(table, NOTE_MISSING,
				   "%s, process %s: %.2f GiB were handed out before the recording began and are in no figure of "
				   "live "
				   "memory and its peak; the allocator itself tells a peak of %.2f GiB (-t memory.allocators).",
				   account->allocator, process->called, (double)account->told_before_bytes / GIB,
				   (double)account->told_peak_bytes / GIB);
		}
	}
}

/* Did it run Python whose frames can be read, where that was not asked for at each allocation? */
static bool has_unread_python(const struct process *process)
{
	for (size_t i = 0; i < process->framework_count; i++)
		if (strcmp(process->frameworks[i].name, "python") == 0)
			return strncmp(process->frameworks[i].value, "on", 2) == 0 && setting_is(process, "PYTHON", "sample");
	return false;
}

void notes_sampling(struct table *table, const struct request *request)
{
	struct count totals = {0}, sampled = {0}, unread = {0};
	double interval = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || !process_has_heap(process))
			continue;
		if (process->heap.kind == ACCOUNT_SAMPLED) {
			count_add(&sampled, process);
			interval = process->heap.sample_interval > interval ? process->heap.sample_interval : interval;
		} else if (process->heap.kind != ACCOUNT_EVENTS) {
			count_add(&totals, process);
		} else if (process->is_full && has_unread_python(process)) {
			count_add(&unread, process);
		}
	}
	note_count(table, request, NOTE_MISSING, &unread,
		   "with TFPROF_MALLOC=full call stacks of allocations have no lines of Python unless TFPROF_PYTHON=launch asks for them.");
	note_count(table, request, NOTE_MISSING, &totals,
		   "only totals were recorded, no call stacks or sizes; run with TFPROF_MALLOC=sample or full for them.");
	if (sampled.processes && interval <= 0 && notes_no_window(request))
		table_note(table, NOTE_MISSING, "no allocation was sampled for its call stack: no window opened (TFPROF_WINDOW).");
	else if (sampled.processes && interval <= 0 && notes_is_lossy(request))
		table_note(table, NOTE_MISSING, "no allocation with its call stack is in what was not lost of the events (-t losses).");
	else if (sampled.processes && interval <= 0)
		table_note(table, NOTE_MISSING,
			   "no allocation was chosen by the sampler: too little was allocated; run with TFPROF_MALLOC=full, or a "
			   "smaller sample:BYTES, for call stacks.");
	else if (sampled.processes)
		table_note(
			table, NOTE_INFERRED,
			"Call stacks and sizes are estimated from a sample of about one allocation each %.0f KiB; memory.sites "
			"tells the standard errors. TFPROF_MALLOC=full records every call.",
			interval / 1024);
}

void notes_no_blocks(struct table *table, const struct request *request)
{
	size_t own = 0, foreign = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		if (process_is_foreign(process))
			foreign++;
		else
			own++;
	}
	if (foreign)
		table_note(table, NOTE_MISSING,
			   "The file has no allocations one by one: PyTorch's profiler writes them with profile_memory=True; of an "
			   "XPlane those of device allocators are there.");
	if (own && !notes_ops(table, request))
		table_note(table, NOTE_MISSING,
			   "No framework told its allocations one by one: TFPROF_OPS=on (the default) asks TensorFlow and PyTorch, of "
			   "which TensorFlow tells those on the CPU only with oneDNN on (TF_ENABLE_ONEDNN_OPTS=1 where the processor "
			   "does not turn it on); memory.sites and memory.peak have what malloc and the GPU calls say.");
}
