/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of Python by the steps that they were seen in; see reducer/tables/rare_lines.h. */
#include "reducer/tables/rare_lines.h"

#include "reducer/analysis/units.h"

#include <stdlib.h>

#define PERIOD_NS 10000000 /* of looks, where no setting tells: the default of PYTHON_TIME */

struct walking {
	struct python_lines *lines;
	struct python_own own;
};

static void take_frame(void *context, const struct symbol_frame *frame)
{
	struct walking *walking = context;

	if (frame->module == FRAMES_PYTHON && !walking->own.is_certain)
		python_own_take(&walking->own, frame, python_lines_number(walking->lines, frame));
}

static int by_stack(const void *a, const void *b, void *context)
{
	const struct python_look *looks = context;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	if (looks[one].stack != looks[other].stack)
		return looks[one].stack < looks[other].stack ? -1 : 1;
	return one < other ? -1 : one > other;
}

static int by_line(const void *a, const void *b)
{
	const struct rare_line_step *one = a, *other = b;

	if (one->line != other->line)
		return one->line < other->line ? -1 : 1;
	return one->step < other->step ? -1 : one->step > other->step;
}

/* What of a look lies in the step of its thread. */
static void take_look(struct rare_lines *lines, const struct units *units, const struct python_look *look, size_t line)
{
	const struct unit *unit = units_at(units, look->time_ns, 0, UINT64_MAX);
	uint64_t since;

	if (!unit || unit->thread != look->thread || unit->step == SIZE_MAX)
		return;
	since = (uint64_t)(look->time_ns - unit->start_ns);
	lines->list = base_grow(lines->list, &lines->room, lines->count + 1, sizeof(*lines->list));
	lines->list[lines->count++] = (struct rare_line_step){line, unit->step, look->wall_ns < since ? look->wall_ns : since};
}

static void join(struct rare_lines *lines)
{
	size_t kept = 0;

	if (!lines->count)
		return;
	qsort(lines->list, lines->count, sizeof(*lines->list), by_line);
	for (size_t i = 1; i < lines->count; i++)
		if (by_line(&lines->list[kept], &lines->list[i]) == 0)
			lines->list[kept].ns += lines->list[i].ns;
		else
			lines->list[++kept] = lines->list[i];
	lines->count = kept + 1;
}

void rare_lines_gather(struct rare_lines *lines, const struct request *request, size_t number)
{
	const struct process *process = &request->run->processes[number];
	const struct python_rows *rows = &process->python;
	const char *period = process_setting(process, "PYTHON_TIME");
	uint64_t period_ms = period ? strtoull(period, NULL, 10) : 0;
	struct walking walking = {.lines = &lines->lines};
	struct units units;
	uint32_t *order;

	*lines = (struct rare_lines){.lines = python_lines_make(), .period_ns = period_ms ? period_ms * 1000000 : PERIOD_NS};
	if (!rows->look_count || !request->frames)
		return;
	units_of_steps(&units, process);
	order = base_alloc(rows->look_count, sizeof(*order));
	for (size_t i = 0; i < rows->look_count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, rows->look_count, sizeof(*order), by_stack, rows->looks);
	for (size_t i = 0; i < rows->look_count && units.count; i++) {
		const struct python_look *look = &rows->looks[order[i]];
		if (!look->stack || look->stack == PYTHON_LOOK_IN_DOUBT)
			continue;
		if (!i || rows->looks[order[i - 1]].stack != look->stack) {
			walking.own = PYTHON_OWN_NONE;
			frames_walk(request->frames, number, look->stack, take_frame, &walking);
		}
		if (walking.own.line != SIZE_MAX)
			take_look(lines, &units, look, walking.own.line);
	}
	join(lines);
	free(order);
	units_free(&units);
}

void rare_lines_free(struct rare_lines *lines)
{
	python_lines_free(&lines->lines);
	free(lines->list);
	*lines = (struct rare_lines){0};
}
