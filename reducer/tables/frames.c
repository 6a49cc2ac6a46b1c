/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks of a run with their names.
 *
 * Rule: per process one number for each distinct code address and one hash for each stack node, made when first needed.
 */
#include "reducer/tables/frames.h"

#include "reducer/base/index.h"
#include "reducer/tables/frames_merge.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_SHOWN 512 /* deepest stack printed; the setting STACKS ends at 256 */
#define FRAMES_INNER 8	 /* enough for the cause of nearly every stack, and whom it was called by */

#define PYTHON_LOCATION (UINT32_C(1) << 31) /* and the place in `lines`; other locations are of struct symbols */

const char frames_python_module[] = "Python";

struct process_frames {
	struct stacks *stacks;
	uint32_t *locations;  /* by pc index; 0 = not asked yet */
	uint64_t *mixes;      /* likewise: base_mix of the location */
	uint64_t *identities; /* by stack id; 0 = not asked yet */
	size_t identity_count;
};

/* A line of a Python function; texts are the run's. */
struct python_line {
	const char *function, *file;
	uint32_t line;
};

struct frames {
	const struct run *run;
	struct symbols *symbols;
	struct process_frames *processes;
	size_t process_count;
	struct python_line *lines; /* each once in the run */
	size_t line_count, line_room;
	struct base_index line_index;
};

struct frames *frames_make(const struct run *run, const struct symbols_options *options)
{
	struct frames *frames = base_alloc(1, sizeof(*frames));

	frames->run = run;
	frames->symbols = symbols_make(options);
	frames->process_count = run->process_count;
	frames->processes = base_alloc(run->process_count, sizeof(*frames->processes));
	return frames;
}

void frames_free(struct frames *frames)
{
	if (!frames)
		return;
	for (size_t i = 0; i < frames->process_count; i++) {
		if (frames->processes[i].stacks)
			stacks_free(frames->processes[i].stacks);
		free(frames->processes[i].locations);
		free(frames->processes[i].mixes);
		free(frames->processes[i].identities);
	}
	free(frames->processes);
	symbols_free(frames->symbols);
	base_index_free(&frames->line_index);
	free(frames->lines);
	free(frames);
}

static struct process_frames *frames_of(struct frames *frames, size_t process)
{
	struct process_frames *of = &frames->processes[process];
	const struct python_rows *python = &frames->run->processes[process].python;

	if (of->stacks)
		return of;
	of->stacks = stacks_load(frames->run->processes[process].log);
	log_rest(frames->run->processes[process].log);
	if (!of->stacks)
		base_die("out of memory (stacks of %s)", frames->run->processes[process].path);
	of->locations = base_alloc(of->stacks->pc_count, sizeof(*of->locations));
	of->mixes = base_alloc(of->stacks->pc_count, sizeof(*of->mixes));
	of->identity_count = of->stacks->node_count;
	if (python->pair_count && python->pair_first + python->pair_count > of->identity_count)
		of->identity_count = python->pair_first + python->pair_count;
	of->identities = base_alloc(of->identity_count, sizeof(*of->identities));
	return of;
}

void frames_load(struct frames *frames, size_t process)
{
	frames_of(frames, process);
}

static bool line_equal(const void *context, const void *key, uint32_t number)
{
	const struct python_line *have = &((const struct frames *)context)->lines[number], *want = key;

	return have->line == want->line && strcmp(have->function, want->function) == 0 && strcmp(have->file, want->file) == 0;
}

/* The location of a Python line: the same in all processes. */
static uint32_t python_location(struct frames *frames, const struct process *process, const struct tfp_pc *pc)
{
	const struct python_rows *rows = &process->python;
	struct python_line line = {
		.function = "[a Python function that the log does not name]", .file = "", .line = (uint32_t)pc->pc};
	uint64_t code = pc->pc >> 32, hash = base_mix(pc->pc & UINT32_MAX);
	uint32_t number;

	if (code < rows->code_count && rows->codes[code].function) {
		line.function = rows->codes[code].function;
		line.file = rows->codes[code].file;
	}
	for (const char *at = line.function; *at; at++)
		hash = base_mix(hash ^ (unsigned char)*at);
	for (const char *at = line.file; *at; at++)
		hash = base_mix(hash ^ (unsigned char)*at);
	number = base_index_find(&frames->line_index, hash, line_equal, frames, &line);
	if (number == UINT32_MAX) {
		number = (uint32_t)frames->line_count++;
		frames->lines = base_grow(frames->lines, &frames->line_room, frames->line_count, sizeof(*frames->lines));
		frames->lines[number] = line;
		base_index_add(&frames->line_index, hash, number);
	}
	return PYTHON_LOCATION | number;
}

/* The location of a code address of this process; markers and unknown modules have locations of no module. */
static uint32_t location_of(struct frames *frames, size_t process, const struct tfp_pc *pc)
{
	struct process_frames *of = &frames->processes[process];
	const struct module *module;
	size_t index = (size_t)(pc - of->stacks->pcs);
	bool is_return = !(pc->flags & TFP_PC_EXACT);
	uint32_t number;

	if (of->locations[index])
		return of->locations[index];
	module = pc->module ? process_module(&frames->run->processes[process], pc->module) : NULL;
	if (pc->flags & TFP_PC_PYTHON) {
		number = python_location(frames, &frames->run->processes[process], pc);
	} else if (!pc->pc) {
		number = symbols_location(frames->symbols, 0, pc->flags, false);
	} else if (!module) {
		number = symbols_location(frames->symbols, 0, pc->pc, is_return);
	} else {
		struct symbols_module known = {
			.path = module->path,
			.path_length = strlen(module->path),
			.build_id = module->build_id,
			.build_id_length = module->build_id_bytes,
		};
		number = symbols_location(frames->symbols, symbols_module(frames->symbols, &known), pc->pc - module->bias,
					  is_return);
	}
	of->locations[index] = number;
	return number;
}

static uint64_t mix_of(struct frames *frames, size_t process, uint32_t pc)
{
	struct process_frames *of = &frames->processes[process];

	if (!of->mixes[pc])
		of->mixes[pc] = base_mix(location_of(frames, process, &of->stacks->pcs[pc]));
	return of->mixes[pc];
}

/*
 * Of one stack, not of a pair: of the stack around its innermost frame, and of that frame. So a node is mixed once, however many
 * stacks go through it. On the way out a node keeps the one inside it in the place of its identity: any depth can be walked.
 */
static uint64_t identity_of(struct frames *frames, size_t process, uint32_t stack)
{
	struct process_frames *of = frames_of(frames, process);
	uint32_t pc, around, at, inside = 0;
	uint64_t identity, next;

	if (stack >= of->stacks->node_count || !of->stacks->nodes[stack])
		return 0;
	for (around = at = stack; !of->identities[at] && stacks_step(of->stacks, &around, &pc); at = around) {
		of->identities[at] = inside;
		inside = at;
	}
	for (identity = of->identities[at] ? of->identities[at] : BASE_HASH; inside; inside = (uint32_t)next) {
		next = of->identities[inside];
		identity = base_mix(identity ^ mix_of(frames, process, (uint32_t)of->stacks->nodes[inside])) | 1;
		of->identities[inside] = identity;
	}
	return identity;
}

uint64_t frames_identity(struct frames *frames, size_t process, uint32_t stack)
{
	struct process_frames *of;
	uint32_t native, python;

	if (!stack)
		return 0;
	if (!python_pair(&frames->run->processes[process].python, stack, &native, &python))
		return identity_of(frames, process, stack);
	of = frames_of(frames, process);
	if (!of->identities[stack])
		of->identities[stack] =
			base_mix(identity_of(frames, process, native) ^ base_mix(identity_of(frames, process, python) + 1)) | 1;
	return of->identities[stack];
}

/* Hands out the locations of a stack, and wants the innermost `wanted` ones: all of a pair, whose order depends on names. */
static void want(struct frames *frames, size_t process, uint32_t stack, size_t wanted)
{
	struct process_frames *of = frames_of(frames, process);
	const struct tfp_pc *pcs[FRAMES_SHOWN];
	uint32_t both[2];
	bool is_pair = python_pair(&frames->run->processes[process].python, stack, &both[0], &both[1]);

	for (int k = 0; k < 2; k++) {
		size_t count = stacks_frames(of->stacks, both[k], pcs, FRAMES_SHOWN);
		for (size_t i = 0; i < count; i++) {
			uint32_t location = location_of(frames, process, pcs[i]);
			if (!(location & PYTHON_LOCATION) && (is_pair || i < wanted))
				symbols_want(frames->symbols, location);
		}
	}
}

void frames_want(struct frames *frames, size_t process, uint32_t stack)
{
	want(frames, process, stack, FRAMES_SHOWN);
}

void frames_want_inner(struct frames *frames, size_t process, uint32_t stack)
{
	want(frames, process, stack, FRAMES_INNER);
}

void frames_resolve(struct frames *frames)
{
	symbols_resolve(frames->symbols);
}

/* Looks the location up where nobody has: its module was none of those of innermost frames. */
static void know(struct frames *frames, uint32_t location)
{
	if (location & PYTHON_LOCATION || symbols_is_known(frames->symbols, location))
		return;
	symbols_want(frames->symbols, location);
	symbols_resolve(frames->symbols);
}

/* Why a stack ends early: the markers of format.h. */
static const char *marker_text(uint32_t flags)
{
	if (flags & TFP_PC_CUT_DEPTH)
		return "[outer frames cut by the setting STACKS]";
	if (flags & TFP_PC_CUT_UNKNOWN)
		return "[outer frames unknown: no unwind information]";
	if (flags & TFP_PC_CUT_MEMORY)
		return "[outer frames unknown: left the thread's stack]";
	if (flags & TFP_PC_CUT_FULL)
		return "[outer frames not recorded: tables full]";
	return "[unknown frame]";
}

static bool search_one(struct frames *frames, size_t process, const struct tfp_pc *pc, frames_searcher *search, void *context)
{
	uint32_t location = location_of(frames, process, pc);
	struct symbol_frame frame = {.function = marker_text(pc->flags), .module = ""};
	bool goes_on = true;

	know(frames, location);
	if (location & PYTHON_LOCATION) {
		const struct python_line *line = &frames->lines[location & ~PYTHON_LOCATION];
		frame = (struct symbol_frame){.function = line->function,
					      .file = line->file,
					      .line = line->line,
					      .module = FRAMES_PYTHON,
					      .is_named = true};
		return search(context, &frame);
	}
	if (!pc->pc)
		return search(context, &frame);
	for (size_t k = 0; k < symbols_frame_count(frames->symbols, location) && goes_on; k++) {
		frame = symbols_frame(frames->symbols, location, k);
		goes_on = search(context, &frame);
	}
	return goes_on;
}

/* The file that holds the interpreter's loop, if that is on the stack; is_loop is set on the way. */
static const char *find_loops(struct frames *frames, size_t process, const struct tfp_pc *const *pcs, size_t count,
			      struct merge_native *native)
{
	const char *interpreter = NULL;

	for (size_t i = 0; i < count; i++) {
		uint32_t location = location_of(frames, process, pcs[i]);
		know(frames, location);
		native[i] = (struct merge_native){.is_marker = !pcs[i]->pc};
		for (size_t k = 0; pcs[i]->pc && k < symbols_frame_count(frames->symbols, location); k++) {
			struct symbol_frame frame = symbols_frame(frames->symbols, location, k);
			native[i].is_loop |= frames_is_loop(frame.function);
			if (native[i].is_loop)
				interpreter = frame.module;
		}
	}
	return interpreter;
}

struct pair_walk {
	const struct tfp_pc *native[FRAMES_SHOWN], *python[FRAMES_SHOWN];
	struct merge_native known[FRAMES_SHOWN];
	bool is_entry[FRAMES_SHOWN];
	int order[2 * FRAMES_SHOWN];
};

static void search_pair(struct frames *frames, size_t process, uint32_t native, uint32_t python, frames_searcher *search,
			void *context)
{
	struct process_frames *of = frames_of(frames, process);
	struct pair_walk *walk = base_alloc(1, sizeof(*walk));
	size_t natives = stacks_frames(of->stacks, native, walk->native, FRAMES_SHOWN);
	size_t pythons = stacks_frames(of->stacks, python, walk->python, FRAMES_SHOWN), count;
	const char *interpreter;

	interpreter = find_loops(frames, process, walk->native, natives, walk->known);
	for (size_t i = 0; interpreter && i < natives; i++) {
		uint32_t location = location_of(frames, process, walk->native[i]);
		walk->known[i].is_interpreter =
			!walk->known[i].is_marker && strcmp(symbols_frame(frames->symbols, location, 0).module, interpreter) == 0;
	}
	for (size_t i = 0; i < pythons; i++)
		walk->is_entry[i] = (walk->python[i]->flags & TFP_PC_PYTHON_ENTRY) != 0;
	count = frames_merge(walk->known, natives, walk->is_entry, pythons, walk->order);
	for (size_t i = 0; i < count; i++)
		if (!search_one(frames, process,
				walk->order[i] < 0 ? walk->python[-1 - walk->order[i]] : walk->native[walk->order[i]], search,
				context))
			break;
	free(walk);
}

static void search_native(struct frames *frames, size_t process, uint32_t stack, frames_searcher *search, void *context)
{
	const struct tfp_pc *pcs[FRAMES_SHOWN];
	size_t count = stacks_frames(frames_of(frames, process)->stacks, stack, pcs, FRAMES_SHOWN);

	for (size_t i = 0; i < count; i++)
		if (!search_one(frames, process, pcs[i], search, context))
			break;
}

void frames_search(struct frames *frames, size_t process, uint32_t stack, frames_searcher *search, void *context)
{
	uint32_t native, python;

	if (python_pair(&frames->run->processes[process].python, stack, &native, &python))
		search_pair(frames, process, native, python, search, context);
	else
		search_native(frames, process, stack, search, context);
}

struct walk {
	frames_visit *visit;
	void *context;
};

static bool walk_on(void *context, const struct symbol_frame *frame)
{
	const struct walk *walk = context;

	walk->visit(walk->context, frame);
	return true;
}

void frames_walk(struct frames *frames, size_t process, uint32_t stack, frames_visit *visit, void *context)
{
	frames_search(frames, process, stack, walk_on, &(struct walk){visit, context});
}

bool frames_has_python(const struct frames *frames, size_t process, uint32_t stack)
{
	uint32_t native, python;

	return python_pair(&frames->run->processes[process].python, stack, &native, &python);
}

void frames_walk_python(struct frames *frames, size_t process, uint32_t stack, frames_visit *visit, void *context)
{
	uint32_t native, python;

	if (python_pair(&frames->run->processes[process].python, stack, &native, &python))
		search_native(frames, process, python, walk_on, &(struct walk){visit, context});
}

#define PASSES_ON(name) name,
static const char *const allocators[] = {
#include "reducer/tables/allocators.def"
};
#undef PASSES_ON

#define HASH_LETTERS 52u /* "c", and 51 letters of base 32 */

/* What TorchInductor wrote: named by its hash, in a folder of the second and third letter of that. */
static bool is_generated(const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

	return slash && slash - file >= 3 && name[0] == 'c' && strspn(name, "abcdefghijklmnopqrstuvwxyz234567") == HASH_LETTERS &&
	       strcmp(name + HASH_LETTERS, ".py") == 0 && slash[-3] == '/' && strncmp(slash - 2, name + 1, 2) == 0;
}

/* Thousands of its lines import and compile. */
bool frames_is_library(const char *file)
{
	return is_generated(file) || file[0] == '<' || strstr(file, "/lib/python") || strstr(file, "/lib64/python") ||
	       strstr(file, "/site-packages/") || strstr(file, "/dist-packages/");
}

bool frames_is_typed(const char *file)
{
	return strcmp(file, "<string>") == 0 || strcmp(file, "<stdin>") == 0 || strncmp(file, "<ipython-input-", 15) == 0;
}

/* What CUDA does inside of a call is nobody's who looks for the asker: CUPTI calls us back from there, and our hook stands before it. */
static bool is_cuda(const char *module)
{
	return strncmp(module, "libcuda.so", 10) == 0 || strncmp(module, "libcudart.so", 12) == 0 ||
	       strncmp(module, "libcupti.so", 11) == 0 || strcmp(module, "libtfprof.so") == 0;
}

/* What the compiler makes of kernel<<<...>>>: it hands the arguments on. */
static bool is_stub(const char *function)
{
	return strncmp(function, "__device_stub__", 15) == 0;
}

/*
 * fnmatch turns both into wide characters first: it is asked only where they begin alike. The first character of a pattern is
 * plain, and most differ in it.
 */
static bool is_like(const char *name, const char *pattern)
{
	size_t plain;

	if (name[0] != pattern[0])
		return false;
	plain = strcspn(pattern, "*?[");
	return strncmp(name, pattern, plain) == 0 &&
	       (strcmp(pattern + plain, "*") == 0 || fnmatch(pattern, name, FNM_NOESCAPE) == 0);
}

bool frames_is_allocator(const struct symbol_frame *frame)
{
	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++)
		if (is_like(frame->function, allocators[i]))
			return true;
	return is_cuda(frame->module) || is_stub(frame->function);
}

struct cause_search {
	struct frame_cause *cause;
	bool has_first;
	bool has_python; /* then the interpreter's own functions only pass memory on, too */
};

/* The first one is enough. */
static bool look_for_python(void *context, const struct symbol_frame *frame)
{
	*(bool *)context |= frame->module == FRAMES_PYTHON;
	return frame->module != FRAMES_PYTHON;
}

/* Innermost functions of the interpreter itself and of ctypes, which do what a Python line says. */
static bool is_interpreter(const char *module)
{
	return strncmp(module, "libpython", 9) == 0 || strncmp(module, "python", 6) == 0 ||
	       strncmp(module, "_ctypes.", 8) == 0 || strncmp(module, "libffi.so", 9) == 0;
}

static bool cause_look(void *context, const struct symbol_frame *frame)
{
	struct cause_search *search = context;
	struct frame_cause *cause = search->cause;
	bool is_cause;

	is_cause = (!search->has_python || frame->module == FRAMES_PYTHON || !is_interpreter(frame->module)) &&
		   !frames_is_allocator(frame); /* what takes longest comes last */
	if (search->has_first && !is_cause)
		return true;
	text_clear(&cause->function);
	text_clear(&cause->file);
	text_clear(&cause->module);
	text_string(&cause->function, frame->function);
	text_string(&cause->file, frame->file ? frame->file : "");
	text_string(&cause->module, frame->module);
	cause->line = frame->line;
	search->has_first = true;
	return !is_cause;
}

void frames_cause(struct frames *frames, size_t process, uint32_t stack, struct frame_cause *cause)
{
	struct cause_search search = {.cause = cause};
	uint32_t native, python;

	text_clear(&cause->function);
	text_clear(&cause->file);
	text_clear(&cause->module);
	cause->line = 0;
	if (python_pair(&frames->run->processes[process].python, stack, &native, &python))
		search_native(frames, process, python, look_for_python, &search.has_python);
	frames_search(frames, process, stack, cause_look, &search);
}

void frame_cause_free(struct frame_cause *cause)
{
	text_free(&cause->function);
	text_free(&cause->file);
	text_free(&cause->module);
}

void frames_problems(struct frames *frames, void (*visit)(void *context, const char *path, const char *reason), void *context)
{
	for (uint32_t i = 1; i <= symbols_module_count(frames->symbols); i++) {
		const char *problem = symbols_module_problem(frames->symbols, i);
		if (problem)
			visit(context, symbols_module_path(frames->symbols, i), problem);
	}
}
