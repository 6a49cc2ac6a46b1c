/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What looks at Python code say of a DataLoader; see reducer/tables/input_line.h.
 */
#include "reducer/tables/input_line.h"

#include "reducer/tables/python_looks.h"

#include <stdlib.h>
#include <string.h>

#define FETCH "/torch/utils/data/_utils/fetch.py" /* through it PyTorch's loaders ask datasets, in workers and in the loop's own process */
#define COLLATE "/torch/utils/data/_utils/collate.py"
#define LOADER "/torch/utils/data/dataloader.py"
#define LINES_MOST 16 /* of the fetching, that call something: it has three or four, in two functions */

/* A line of the loader's fetching. */
struct fetch_line {
	size_t number; /* of looks->lines */
	uint64_t ns, collate_ns; /* collate: by the name of what it called */
	bool is_dataset; /* that name says so */
};

struct seeking {
	struct python_looks *looks;
	struct frames *frames;
	uint64_t all_ns, sampler_ns, count;
	struct fetch_line lines[LINES_MOST];
	size_t line_count;
	bool is_of_sampler; /* what is looked for */
	bool is_iterable;   /* the fetching asked an IterableDataset */
	/* Of the stack being walked. */
	size_t own;   /* number of the innermost line of the script; SIZE_MAX = not met yet */
	size_t fetch; /* of the line of the fetching; SIZE_MAX = not met yet */
	bool is_found, is_sampler, is_dataset, is_iterated, is_collate;
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);

	return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

static void take_callee(struct seeking *seeking, const struct symbol_frame *frame)
{
	const char *function = frame->function;

	seeking->is_dataset = ends_with(function, "__getitem__") || ends_with(function, "__getitems__");
	seeking->is_iterated = ends_with(function, "__iter__");
	seeking->is_collate = strstr(function, "collate") || ends_with(frame->file, COLLATE);
}

/* Innermost first: what the fetching called comes just before it. */
static void take_fetch(struct seeking *seeking, const struct symbol_frame *frame)
{
	if (!ends_with(frame->file, FETCH)) {
		if (!seeking->is_found)
			take_callee(seeking, frame);
		return;
	}
	/* Python before 3.11 names no classes. */
	seeking->is_iterable |= seeking->is_iterated || strstr(frame->function, "Iterable") != NULL;
	seeking->is_found = true;
	if (ends_with(frame->function, "<listcomp>")) {
		seeking->is_dataset = true;
		seeking->is_collate = false;
	} else if (seeking->fetch == SIZE_MAX) {
		seeking->fetch = python_lines_number(&seeking->looks->lines, frame);
	}
}

static void take_loader(struct seeking *seeking, const struct symbol_frame *frame)
{
	if (!ends_with(frame->file, LOADER))
		return;
	seeking->is_sampler |= ends_with(frame->function, "_next_index");
	seeking->is_found |= ends_with(frame->function, "__next__");
}

static void take_frame(void *context, const struct symbol_frame *frame)
{
	struct seeking *seeking = context;

	if (frame->module != FRAMES_PYTHON)
		return;
	if (seeking->own == SIZE_MAX && !seeking->is_found && !frames_is_library(frame->file))
		seeking->own = python_lines_number(&seeking->looks->lines, frame);
	(seeking->is_of_sampler ? take_loader : take_fetch)(seeking, frame);
}

static void add_fetch(struct seeking *seeking, uint64_t ns)
{
	size_t at = 0;

	while (at < seeking->line_count && seeking->lines[at].number != seeking->fetch)
		at++;
	if (at == LINES_MOST)
		return;
	if (at == seeking->line_count)
		seeking->lines[seeking->line_count++] = (struct fetch_line){.number = seeking->fetch};
	seeking->lines[at].ns += ns;
	seeking->lines[at].collate_ns += seeking->is_collate ? ns : 0;
	seeking->lines[at].is_dataset |= seeking->is_dataset;
}

static void take_stack(void *context, size_t process, uint32_t stack, const struct look_sums *sums)
{
	struct seeking *seeking = context;
	struct python_looks *looks = seeking->looks;
	size_t before = looks->lines.count;

	seeking->own = seeking->fetch = SIZE_MAX;
	seeking->is_found = seeking->is_sampler = seeking->is_dataset = seeking->is_iterated = seeking->is_collate = false;
	frames_walk(seeking->frames, process, stack, take_frame, seeking);
	looks->list = base_grow(looks->list, &looks->room, looks->lines.count + 1, sizeof(*looks->list));
	for (size_t i = before; i < looks->lines.count; i++)
		looks->list[i] = (struct look_line){0};
	if (!seeking->is_found)
		return;
	seeking->all_ns += sums->time_ns;
	seeking->count += sums->looks;
	seeking->sampler_ns += seeking->is_sampler ? sums->time_ns : 0;
	if (seeking->fetch != SIZE_MAX)
		add_fetch(seeking, sums->time_ns);
	if (seeking->own != SIZE_MAX && (!seeking->is_of_sampler || seeking->is_sampler))
		python_looks_add(&looks->list[seeking->own].own, sums);
}

/* Whether it is the last of two lines or more that looks met in its function, and no dataset's name says otherwise. */
static bool is_last(const struct seeking *seeking, const struct fetch_line *line)
{
	const struct python_line_name *names = seeking->looks->lines.list, *name = &names[line->number];
	size_t before = 0;

	for (size_t i = 0; i < seeking->line_count; i++) {
		const struct python_line_name *other = &names[seeking->lines[i].number];
		if (strcmp(other->function, name->function) != 0)
			continue;
		if (other->line > name->line)
			return false;
		before += other->line < name->line;
	}
	return before > 0 && !line->is_dataset;
}

static double share(const struct seeking *seeking, uint64_t ns)
{
	return seeking->count < PYTHON_LOOKS_ENOUGH || !seeking->all_ns ? INPUT_LINE_UNKNOWN : (double)ns / (double)seeking->all_ns;
}

/* How much of it puts samples together; less than 0 where looks met one line alone, and no name tells of what it called. */
static double collate_share(const struct seeking *seeking)
{
	const struct fetch_line *lines = seeking->lines;
	uint64_t sum = 0;

	if (seeking->line_count == 0 || (seeking->line_count == 1 && !lines[0].is_dataset && !lines[0].collate_ns))
		return INPUT_LINE_UNKNOWN;
	for (size_t i = 0; i < seeking->line_count; i++)
		sum += is_last(seeking, &lines[i]) ? lines[i].ns : lines[i].collate_ns;
	return share(seeking, sum);
}

/* The line that most of it is in; `what` says of which time. Nothing where too few looks say it. */
static void say(struct text *text, const struct seeking *seeking, const char *what)
{
	const struct python_looks *looks = seeking->looks;
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < looks->lines.count; i++)
		if (looks->list[i].own.time_ns && (first == SIZE_MAX || looks->list[i].own.time_ns > looks->list[first].own.time_ns))
			first = i;
	if (first == SIZE_MAX || seeking->count < PYTHON_LOOKS_ENOUGH)
		return;
	text_format(text, " %.0f %% of the time in which %s is in ",
		    100.0 * (double)looks->list[first].own.time_ns / (double)seeking->all_ns, what);
	python_looks_place(text, looks, first);
	text_format(text, " (%s), by looks at Python code.", looks->lines.list[first].function);
}

double input_line_say(struct text *text, bool *is_iterable, const struct request *request, const size_t *processes, size_t count)
{
	struct python_looks looks = {.lines = python_lines_make()};
	struct seeking seeking = {.looks = &looks, .frames = request->frames};
	double collate;

	for (size_t i = 0; i < count; i++)
		python_looks_of_process(&looks, request, processes[i], take_stack, &seeking);
	say(text, &seeking, "samples are made");
	collate = collate_share(&seeking);
	*is_iterable = seeking.is_iterable;
	python_looks_free(&looks);
	return collate;
}

double input_line_say_sampler(struct text *text, const struct request *request, size_t process)
{
	struct python_looks looks = {.lines = python_lines_make()};
	struct seeking seeking = {.looks = &looks, .frames = request->frames, .is_of_sampler = true};
	double sampler;

	python_looks_of_process(&looks, request, process, take_stack, &seeking);
	say(text, &seeking, "the loop waits for batches");
	sampler = share(&seeking, seeking.sampler_ns);
	python_looks_free(&looks);
	return sampler;
}
