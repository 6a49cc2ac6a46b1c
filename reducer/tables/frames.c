/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks of a run with their names.
 *
 * Rule: per process one number for each distinct code address and one hash for each stack node, made when first needed.
 */
#include "reducer/tables/frames.h"

#include "reducer/base/index.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_SHOWN 512 /* deepest stack printed; the setting STACKS ends at 256 */

struct process_frames {
	struct stacks *stacks;
	uint32_t *locations;  /* by pc index; 0 = not asked yet */
	uint64_t *identities; /* by stack id; 0 = not asked yet */
};

struct frames {
	const struct run *run;
	struct symbols *symbols;
	struct process_frames *processes;
	size_t process_count;
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
		free(frames->processes[i].identities);
	}
	free(frames->processes);
	symbols_free(frames->symbols);
	free(frames);
}

static struct process_frames *frames_of(struct frames *frames, size_t process)
{
	struct process_frames *of = &frames->processes[process];

	if (of->stacks)
		return of;
	of->stacks = stacks_load(frames->run->processes[process].log);
	if (!of->stacks)
		base_die("out of memory (stacks of %s)", frames->run->processes[process].path);
	of->locations = base_alloc(of->stacks->pc_count, sizeof(*of->locations));
	of->identities = base_alloc(of->stacks->node_count, sizeof(*of->identities));
	return of;
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
	if (!pc->pc) {
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

uint64_t frames_identity(struct frames *frames, size_t process, uint32_t stack)
{
	const struct tfp_pc *pcs[FRAMES_SHOWN];
	uint64_t identity = BASE_HASH;
	struct process_frames *of;
	size_t count;

	if (!stack)
		return 0;
	of = frames_of(frames, process);
	if (stack >= of->stacks->node_count)
		return 0;
	if (of->identities[stack])
		return of->identities[stack];
	count = stacks_frames(of->stacks, stack, pcs, FRAMES_SHOWN);
	for (size_t i = 0; i < count && i < FRAMES_SHOWN; i++)
		identity = base_mix(identity ^ base_mix(location_of(frames, process, pcs[i])));
	if (!count)
		return 0;
	of->identities[stack] = identity | 1;
	return of->identities[stack];
}

void frames_want(struct frames *frames, size_t process, uint32_t stack)
{
	struct process_frames *of = frames_of(frames, process);
	const struct tfp_pc *pcs[FRAMES_SHOWN];
	size_t count = stacks_frames(of->stacks, stack, pcs, FRAMES_SHOWN);

	for (size_t i = 0; i < count && i < FRAMES_SHOWN; i++)
		location_of(frames, process, pcs[i]);
}

void frames_resolve(struct frames *frames)
{
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

void frames_walk(struct frames *frames, size_t process, uint32_t stack, frames_visit *visit, void *context)
{
	struct process_frames *of = frames_of(frames, process);
	const struct tfp_pc *pcs[FRAMES_SHOWN];
	size_t count = stacks_frames(of->stacks, stack, pcs, FRAMES_SHOWN);

	for (size_t i = 0; i < count && i < FRAMES_SHOWN; i++) {
		uint32_t location = location_of(frames, process, pcs[i]);
		struct symbol_frame frame = {.function = marker_text(pcs[i]->flags), .module = ""};
		if (!pcs[i]->pc) {
			visit(context, &frame);
			continue;
		}
		for (size_t k = 0; k < symbols_frame_count(frames->symbols, location); k++) {
			frame = symbols_frame(frames->symbols, location, k);
			visit(context, &frame);
		}
	}
}

#define PASSES_ON(name) name,
static const char *const allocators[] = {
#include "reducer/tables/allocators.def"
};
#undef PASSES_ON

bool frames_is_allocator(const char *function)
{
	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++)
		if (allocators[i][0] == function[0] && fnmatch(allocators[i], function, FNM_NOESCAPE) == 0)
			return true;
	return false;
}

struct cause_search {
	struct frame_cause *cause;
	bool is_found, has_first;
};

static void cause_look(void *context, const struct symbol_frame *frame)
{
	struct cause_search *search = context;
	struct frame_cause *cause = search->cause;
	bool is_cause;

	if (search->is_found)
		return;
	is_cause = !frames_is_allocator(frame->function);
	if (search->has_first && !is_cause)
		return;
	text_clear(&cause->function);
	text_clear(&cause->file);
	text_clear(&cause->module);
	text_string(&cause->function, frame->function);
	text_string(&cause->file, frame->file ? frame->file : "");
	text_string(&cause->module, frame->module);
	cause->line = frame->line;
	search->has_first = true;
	search->is_found = is_cause;
}

void frames_cause(struct frames *frames, size_t process, uint32_t stack, struct frame_cause *cause)
{
	struct cause_search search = {.cause = cause};

	text_clear(&cause->function);
	text_clear(&cause->file);
	text_clear(&cause->module);
	cause->line = 0;
	frames_walk(frames, process, stack, cause_look, &search);
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
