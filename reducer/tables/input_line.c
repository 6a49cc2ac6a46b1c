/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which line of the script takes the time in which a DataLoader's samples are made; see reducer/tables/input_line.h.
 */
#include "reducer/tables/input_line.h"

#include "reducer/tables/python_looks.h"

#include <stdlib.h>
#include <string.h>

#define FETCH "/torch/utils/data/_utils/fetch.py" /* through it PyTorch's loaders ask datasets, in workers and in the loop's own process */

struct fetching {
	struct python_looks *looks;
	struct frames *frames;
	uint64_t all_ns, count;
	/* Of the stack being walked. */
	const struct look_sums *amounts;
	size_t own; /* number of the innermost line of the script; SIZE_MAX = not met yet */
	bool is_fetched;
};

static void take_frame(void *context, const struct symbol_frame *frame)
{
	struct fetching *fetching = context;
	size_t length = frame->module == FRAMES_PYTHON ? strlen(frame->file) : 0;

	if (frame->module != FRAMES_PYTHON || fetching->is_fetched)
		return;
	if (fetching->own == SIZE_MAX && !frames_is_library(frame->file))
		fetching->own = python_lines_number(&fetching->looks->lines, frame);
	fetching->is_fetched = length >= strlen(FETCH) && strcmp(frame->file + length - strlen(FETCH), FETCH) == 0;
}

static void take_stack(void *context, size_t process, uint32_t stack, const struct look_sums *sums)
{
	struct fetching *fetching = context;
	struct python_looks *looks = fetching->looks;
	size_t before = looks->lines.count;

	fetching->own = SIZE_MAX;
	fetching->is_fetched = false;
	frames_walk(fetching->frames, process, stack, take_frame, fetching);
	looks->list = base_grow(looks->list, &looks->room, looks->lines.count + 1, sizeof(*looks->list));
	for (size_t i = before; i < looks->lines.count; i++)
		looks->list[i] = (struct look_line){0};
	if (!fetching->is_fetched)
		return;
	fetching->all_ns += sums->time_ns;
	fetching->count += sums->looks;
	if (fetching->own != SIZE_MAX)
		python_looks_add(&looks->list[fetching->own].own, sums);
}

void input_line_say(struct text *text, const struct request *request, const size_t *processes, size_t count)
{
	struct python_looks looks = {.lines = python_lines_make()};
	struct fetching fetching = {.looks = &looks, .frames = request->frames};
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < count; i++)
		python_looks_of_process(&looks, request, processes[i], take_stack, &fetching);
	for (size_t i = 0; i < looks.lines.count; i++)
		if (looks.list[i].own.time_ns && (first == SIZE_MAX || looks.list[i].own.time_ns > looks.list[first].own.time_ns))
			first = i;
	if (first != SIZE_MAX && fetching.count >= PYTHON_LOOKS_ENOUGH) {
		text_format(text, " %.0f %% of the time in which samples are made is in ",
			    100.0 * (double)looks.list[first].own.time_ns / (double)fetching.all_ns);
		python_looks_place(text, &looks, first);
		text_format(text, " (%s), by looks at Python code.", looks.lines.list[first].function);
	}
	python_looks_free(&looks);
}
