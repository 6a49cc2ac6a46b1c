/* SPDX-License-Identifier: Apache-2.0 */
/* Time of native code by function; see reducer/tables/native_looks.h. */
#include "reducer/tables/native_looks.h"

#include "reducer/tables/look_scope.h"
#include "reducer/tables/tasks.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS WAIT_KINDS

struct gathering {
	struct native_looks *looks;
	const struct request *request;
	const struct process *process;
	uint64_t period_ns; /* of looks, 0 = not told */
	struct look_scope scope;
	struct tasks tasks;
	struct native_seen *seen;
	size_t count, room;
	struct base_index index;
};

/* What walks stacks for their functions. */
struct walking {
	struct native_looks *looks;
	struct frames *frames;
	size_t process;
	uint32_t thread;
	uint64_t walked, threads; /* stacks and threads so far */
	/* Of the stack being walked. */
	const struct native_seen *seen;
	bool is_innermost, is_cut;
	size_t innermost, own; /* SIZE_MAX = none so far */
};

bool native_looks_any(const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->run->processes[i].native.look_count && request_wants_process(request, &request->run->processes[i]))
			return true;
	return false;
}

void native_looks_add(struct native_sums *to, const struct native_sums *more)
{
	to->looks += more->looks;
	to->cpu_ns += more->cpu_ns;
	to->step_cpu_ns += more->step_cpu_ns;
	to->wait_ns += more->wait_ns;
	to->step_scope_ns += more->step_scope_ns;
	to->step_wait_ns += more->step_wait_ns;
	to->cpu_square += more->cpu_square;
	to->step_cpu_square += more->step_cpu_square;
	to->cpu_looks += more->cpu_looks;
	to->step_cpu_looks += more->step_cpu_looks;
}

double native_looks_error(const struct native_looks *looks, const struct native_sums *of)
{
	return sqrt(looks->has_steps ? of->step_cpu_square : of->cpu_square);
}

const char *native_looks_waits_in(const uint64_t waits[WAIT_KINDS])
{
	size_t most = 0;

	for (size_t kind = 1; kind < WAIT_KINDS; kind++)
		most = waits[kind] > waits[most] ? kind : most;
	return waits[most] ? wait_kind_name((enum wait_kind)most) : NULL;
}

static bool seen_equal(const void *context, const void *key, uint32_t number)
{
	const struct native_seen *have = &((const struct gathering *)context)->seen[number], *want = key;

	return have->thread == want->thread && have->stack == want->stack && have->kind == want->kind;
}

static struct native_sums *sums_of(struct gathering *gathering, const struct native_seen *key)
{
	uint64_t hash = base_mix(base_mix(((uint64_t)key->thread << 32 | key->stack) + 1) + key->kind);
	uint32_t number = base_index_find(&gathering->index, hash, seen_equal, gathering, key);

	if (number == UINT32_MAX) {
		gathering->seen = base_grow(gathering->seen, &gathering->room, gathering->count + 1, sizeof(*gathering->seen));
		number = (uint32_t)gathering->count++;
		gathering->seen[number] = *key;
		base_index_add(&gathering->index, hash, number);
	}
	return &gathering->seen[number].sums;
}

/* Whether its waiting counts. The log need not list the thread: OpenMP's workers call nothing that is hooked. */
static bool is_in_scope(const struct gathering *gathering, const struct native_look *look)
{
	const struct thread *thread = tasks_near(&gathering->tasks, look->thread, look->time_ns);

	if (thread)
		return gathering->scope.is_in[thread - gathering->process->threads];
	if (gathering->request->thread)
		return request_wants_thread(gathering->request, &(struct thread){.tid = look->thread});
	return gathering->scope.is_first && look->thread == gathering->process->pid;
}

/* Of a wait that is told as one: how often the thread was looked at for it. Of several looks one was drawn. */
static uint64_t looks_in(const struct gathering *gathering, const struct native_look *look)
{
	uint64_t count = look->is_wait && look->count == 1 && gathering->period_ns ? look->amount_ns / gathering->period_ns : look->count;

	return count ? count : 1;
}

static void take_look(struct gathering *gathering, const struct native_look *look)
{
	bool is_scope = is_in_scope(gathering, look);
	uint64_t count = looks_in(gathering, look), amount = look->amount_ns;
	double square = (double)amount * (double)amount / (double)count;
	const struct unit *step;

	if ((gathering->request->thread || look->is_wait) && !is_scope)
		return;
	if (look->count > gathering->looks->each_most)
		gathering->looks->each_most = look->count;
	if (!look_scope_asked(&gathering->scope, look->time_ns, &step))
		return;
	struct native_sums more = {.looks = count, .step_scope_ns = step && is_scope ? amount : 0};
	if (look->is_wait) {
		more.wait_ns = amount;
		more.step_wait_ns = step ? amount : 0;
	} else {
		more.cpu_ns = amount;
		more.cpu_square = square;
		more.cpu_looks = count;
		more.step_cpu_ns = step ? amount : 0;
		more.step_cpu_square = step ? square : 0;
		more.step_cpu_looks = step ? count : 0;
	}
	native_looks_add(&gathering->looks->all, &more);
	if (!look->stack)
		native_looks_add(&gathering->looks->nowhere, &more);
	native_looks_add(
		sums_of(gathering, &(struct native_seen){
					   look->thread, look->stack,
					   look->is_wait ? wait_kind_of(gathering->process->log->header.architecture, look->call) : RUNS,
					   {0}}),
		&more);
}

static int by_thread(const void *a, const void *b)
{
	const struct native_seen *one = a, *other = b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	if (one->stack != other->stack)
		return one->stack < other->stack ? -1 : 1;
	return one->kind < other->kind ? -1 : one->kind > other->kind;
}

static void find_scope(struct gathering *gathering)
{
	const struct process *process = gathering->process;
	bool *is_seen = base_alloc(process->thread_count + 1, sizeof(*is_seen));

	for (size_t i = 0; i < process->native.look_count; i++) {
		const struct native_look *look = &process->native.looks[i];
		const struct thread *thread = tasks_near(&gathering->tasks, look->thread, look->time_ns);
		if (thread)
			is_seen[thread - process->threads] = true;
		gathering->looks->has_waits |= look->is_wait;
		gathering->looks->has_cpu |= !look->is_wait;
	}
	look_scope_choose(&gathering->scope, is_seen);
	free(is_seen);
}

/* Threads that were met running: `seen` is in order. */
static void count_threads(struct gathering *gathering)
{
	for (size_t i = 0; i < gathering->count; i++)
		if (gathering->seen[i].kind == RUNS) {
			gathering->looks->threads++;
			while (i + 1 < gathering->count && gathering->seen[i + 1].thread == gathering->seen[i].thread)
				i++;
		}
}

static void take_process(struct gathering *gathering, size_t number, native_looks_visit *visit, void *context)
{
	const struct process *process = gathering->process;
	const char *period = process_setting(process, "NATIVE_TIME");

	gathering->period_ns = strtoull(period, NULL, 10) * 1000000;
	gathering->tasks = tasks_make(process);
	look_scope_make(&gathering->scope, gathering->request, number, gathering->looks->judged);
	find_scope(gathering);
	gathering->looks->has_steps |= gathering->scope.steps.count != 0;
	look_scope_add_whole(&gathering->scope, &gathering->looks->asked_steps_ns, &gathering->looks->asked_lives_ns);
	for (size_t i = 0; i < process->native.look_count; i++)
		take_look(gathering, &process->native.looks[i]);
	if (gathering->count)
		qsort(gathering->seen, gathering->count, sizeof(*gathering->seen), by_thread);
	count_threads(gathering);
	for (size_t i = 0; i < gathering->count; i++)
		visit(context, number, &gathering->seen[i]);
	gathering->looks->processes += gathering->count != 0;
	look_scope_free(&gathering->scope);
	tasks_free(&gathering->tasks);
	base_index_free(&gathering->index);
	free(gathering->seen);
}

void native_looks_stacks(struct native_looks *looks, const struct request *request, native_looks_visit *visit, void *context)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		struct gathering gathering = {.looks = looks, .request = request, .process = process};
		if (process->native.look_count && request_wants_process(request, process))
			take_process(&gathering, i, visit, context);
	}
}

/* What a program is not told of: who called it is. Modules, and headers and sources of which code is compiled into the program's own. */
bool native_is_runtime(const struct symbol_frame *frame)
{
	static const char *const modules[] = {
		"libc.so*",	   "libc-*.so",	    "libm.so*",	   "libpthread.so*", "libpthread-*.so", "libstdc++.so*", "libc++.so*",
		"libgcc_s.so*",	   "librt.so*",	    "ld-linux*.so*", "ld-musl*",     "libtfprof.so*",	"linux-vdso*",	 "\\[vdso\\]",
	};
	static const char *const files[] = {"*/include/c++/*", "*/include/*/c++/*", "/rustc/*/library/*"};

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (fnmatch(modules[i], frame->module, 0) == 0)
			return true;
	for (size_t i = 0; frame->file && i < sizeof(files) / sizeof(files[0]); i++)
		if (fnmatch(files[i], frame->file, 0) == 0)
			return true;
	return frames_is_allocator(frame);
}

static void take_line(struct native_looks *looks, const struct symbol_frame *frame, size_t function, const struct native_sums *sums)
{
	struct symbol_frame key = *frame;
	size_t before = looks->lines.count, number;

	if (!frame->line || !frame->file)
		return;
	number = python_lines_number(&looks->lines, &key);
	looks->line_list = base_grow(looks->line_list, &looks->line_room, number + 1, sizeof(*looks->line_list));
	if (number == before)
		looks->line_list[number] = (struct native_line){.function = function};
	looks->line_list[number].cpu_ns += sums->cpu_ns;
	looks->line_list[number].wait_ns += sums->wait_ns;
}

static bool near_equal(const void *context, const void *key, uint32_t number)
{
	return ((const struct native_looks *)context)->nears[number].symbol == key;
}

/* All that are nearest to one symbol are one function: "~symbol" of "symbol+0x32". */
static const char *near_text(struct native_looks *looks, const char *symbol)
{
	uint64_t hash = base_mix((uintptr_t)symbol);
	uint32_t number = base_index_find(&looks->near_index, hash, near_equal, looks, symbol);
	const char *plus = strrchr(symbol, '+');
	struct text text = {0};

	if (number != UINT32_MAX)
		return looks->nears[number].text;
	text_string(&text, "~");
	text_put(&text, symbol, plus ? (size_t)(plus - symbol) : strlen(symbol));
	looks->nears = base_grow(looks->nears, &looks->near_room, looks->near_count + 1, sizeof(*looks->nears));
	looks->nears[looks->near_count] = (struct native_near){symbol, text.bytes};
	base_index_add(&looks->near_index, hash, (uint32_t)looks->near_count);
	return looks->nears[looks->near_count++].text;
}

/* Code without a name is one function a module; of code in no object (made at run time) all is. */
static size_t number_of(struct native_looks *looks, const struct symbol_frame *frame)
{
	struct symbol_frame key = {.function = frame->function, .file = frame->module};
	size_t before = looks->names.count, number;

	if (frame->is_near)
		key.function = near_text(looks, frame->function);
	else if (!frame->is_named)
		key.function = frame->module[0] ? "[functions without a name]" : "[code in no object]";
	number = python_lines_number(&looks->names, &key);
	looks->list = base_grow(looks->list, &looks->room, number + 1, sizeof(*looks->list));
	if (number == before)
		looks->list[number] = (struct native_function){.line = SIZE_MAX, .is_runtime = native_is_runtime(frame)};
	return number;
}

static void take_frame(void *context, const struct symbol_frame *frame)
{
	struct walking *walking = context;
	struct native_looks *looks = walking->looks;
	const struct native_sums *sums = &walking->seen->sums;
	size_t number;

	if (frames_is_marker(frame)) {
		walking->is_cut = true;
		return;
	}
	number = number_of(looks, frame);
	if (walking->innermost == SIZE_MAX)
		walking->innermost = number;
	struct native_function *function = &looks->list[number];
	if (walking->own == SIZE_MAX && !function->is_runtime)
		walking->own = number;
	if (function->stack == walking->walked)
		return;
	function->stack = walking->walked;
	native_looks_add(&function->total, sums);
	take_line(looks, frame, number, sums);
	if (walking->seen->kind != RUNS) {
		function->waits[walking->seen->kind] += sums->wait_ns;
		function->step_waits[walking->seen->kind] += sums->step_wait_ns;
	}
	function->processes += function->process != walking->process + 1;
	function->process = walking->process + 1;
	function->threads += function->thread != walking->threads;
	function->thread = walking->threads;
}

static void walk_stack(struct walking *walking, size_t process, const struct native_seen *seen)
{
	struct native_looks *looks = walking->looks;

	if (!walking->threads || process != walking->process || seen->thread != walking->thread)
		walking->threads++;
	walking->process = process;
	walking->thread = seen->thread;
	walking->seen = seen;
	walking->is_cut = false;
	walking->innermost = walking->own = SIZE_MAX;
	walking->walked++;
	frames_walk(walking->frames, process, seen->stack, take_frame, walking);
	if (walking->is_cut)
		native_looks_add(&looks->cut, &seen->sums);
	if (walking->innermost == SIZE_MAX)
		return;
	native_looks_add(&looks->list[walking->innermost].self, &seen->sums);
	native_looks_add(&looks->list[walking->own != SIZE_MAX ? walking->own : walking->innermost].own, &seen->sums);
}

/* All stacks before the first is walked: names are looked up at once. */
struct collected {
	const struct request *request;
	struct {
		size_t process;
		struct native_seen seen;
	} *list;
	size_t count, room;
};

static void collect(void *context, size_t process, const struct native_seen *seen)
{
	struct collected *collected = context;

	if (!seen->stack)
		return;
	frames_want(collected->request->frames, process, seen->stack);
	collected->list = base_grow(collected->list, &collected->room, collected->count + 1, sizeof(*collected->list));
	collected->list[collected->count].process = process;
	collected->list[collected->count++].seen = *seen;
}

static void find_lines(struct native_looks *looks)
{
	for (size_t i = 0; i < looks->lines.count; i++) {
		const struct native_line *line = &looks->line_list[i];
		size_t *best = &looks->list[line->function].line;
		const struct native_line *before = *best == SIZE_MAX ? NULL : &looks->line_list[*best];
		if (!before || line->cpu_ns > before->cpu_ns || (line->cpu_ns == before->cpu_ns && line->wait_ns > before->wait_ns))
			*best = i;
	}
}

void native_looks_gather(struct native_looks *looks, const struct request *request, bool is_judged)
{
	struct collected collected = {.request = request};
	struct walking walking = {.looks = looks, .frames = request->frames};
	struct step_rows rows;

	*looks = (struct native_looks){.names = python_lines_make(), .lines = python_lines_make()};
	if (is_judged)
		step_rows_find(&rows, request);
	looks->judged = is_judged ? &rows : NULL;
	native_looks_stacks(looks, request, collect, &collected);
	if (is_judged)
		step_rows_free(&rows);
	looks->judged = NULL;
	frames_resolve(request->frames);
	for (size_t i = 0; i < collected.count; i++)
		walk_stack(&walking, collected.list[i].process, &collected.list[i].seen);
	free(collected.list);
	find_lines(looks);
}

void native_looks_free(struct native_looks *looks)
{
	python_lines_free(&looks->names);
	python_lines_free(&looks->lines);
	for (size_t i = 0; i < looks->near_count; i++)
		free(looks->nears[i].text);
	free(looks->nears);
	base_index_free(&looks->near_index);
	free(looks->list);
	free(looks->line_list);
	*looks = (struct native_looks){0};
}
