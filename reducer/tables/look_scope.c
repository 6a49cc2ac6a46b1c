/* SPDX-License-Identifier: Apache-2.0 */
/* Whose time looks count; see reducer/tables/look_scope.h. */
#include "reducer/tables/look_scope.h"

#include "reducer/analysis/steps.h"

#include <stdlib.h>

/* The thread's place in the process; SIZE_MAX = the log does not say which thread that is. */
static size_t place_of(const struct look_scope *scope, uint32_t serial)
{
	const struct thread *thread = process_thread(scope->process, serial);

	return thread ? (size_t)(thread - scope->process->threads) : SIZE_MAX;
}

bool look_scope_has(const struct look_scope *scope, uint32_t serial)
{
	size_t place = place_of(scope, serial);

	return place != SIZE_MAX && scope->is_in[place];
}

void look_scope_see(const struct look_scope *scope, bool *is_seen, uint32_t serial)
{
	size_t place = place_of(scope, serial);

	if (place != SIZE_MAX)
		is_seen[place] = true;
}

void look_scope_choose(struct look_scope *scope, const bool *is_seen)
{
	const struct process *process = scope->process;
	bool *is_step = base_alloc(process->thread_count + 1, sizeof(*is_step)), has_any = false;

	for (size_t i = 0; i < scope->steps.count; i++)
		look_scope_see(scope, is_step, scope->steps.items[i].thread);
	for (size_t i = 0; i < process->thread_count; i++)
		has_any |= is_step[i] && is_seen[i];
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct thread *thread = &process->threads[i];
		bool is_wanted = has_any ? is_step[i] : thread->tid == process->pid;
		if (scope->request->thread)
			is_wanted = request_wants_thread(scope->request, thread);
		scope->is_in[i] = is_seen[i] && is_wanted;
	}
	scope->is_first = !has_any && !scope->request->thread;
	free(is_step);
}

bool look_scope_asked(const struct look_scope *scope, int64_t time_ns, const struct unit **step)
{
	const struct request *request = scope->request;

	*step = scope->steps.count ? units_at(&scope->steps, time_ns, 0, UINT64_MAX) : NULL;
	return time_ns >= request->from_ns && time_ns <= request->to_ns &&
	       (!request->has_steps || (*step && (*step)->number >= request->first_step && (*step)->number <= request->last_step));
}

/* By thread steps are in order. */
bool look_scope_is_between(const struct look_scope *scope, int64_t time_ns)
{
	const struct units *all = &scope->all;
	const struct unit *first = all->items, *last = all->count ? &all->items[all->count - 1] : NULL;

	return last && first->thread == last->thread && time_ns > first->start_ns && time_ns < last->start_ns &&
	       !units_at(all, time_ns, 0, UINT64_MAX);
}

uint64_t look_scope_within(const struct request *request, int64_t from_ns, int64_t to_ns)
{
	from_ns = from_ns > request->from_ns ? from_ns : request->from_ns;
	to_ns = to_ns < request->to_ns ? to_ns : request->to_ns;
	return to_ns > from_ns ? (uint64_t)(to_ns - from_ns) : 0;
}

void look_scope_add_whole(const struct look_scope *scope, uint64_t *steps_ns, uint64_t *lives_ns)
{
	const struct request *request = scope->request;
	const struct units *units = &scope->steps;

	if (request->thread)
		return;
	if (!units->count && !request->has_steps)
		*lives_ns += look_scope_within(request, scope->process->start_ns, scope->process->end_ns);
	for (size_t i = 0; i < units->count; i++) {
		const struct unit *step = &units->items[i];
		bool is_in = !request->has_steps || (step->number >= request->first_step && step->number <= request->last_step);
		if (is_in && look_scope_has(scope, step->thread))
			*steps_ns += look_scope_within(request, step->start_ns, step->end_ns);
	}
}

/* Whether any process has a step that ended: where none has, those without an end count, as in step_rows_find. */
static bool has_whole_steps(const struct request *request)
{
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct steps *steps = analyses_process(request->analyses, &analysis_steps, p);
		for (size_t i = 0; steps && i < steps->count; i++)
			if (steps->rows[i].kind == UNIT_STEP && !steps->rows[i].unit.is_cut && !steps->rows[i].is_unrecorded)
				return true;
	}
	return false;
}

/* By place in process->steps: those of the process that are judged. */
static bool *judged_of(const struct step_rows *rows, const struct process *process, size_t number)
{
	bool *is_judged = base_alloc(process->step_count + 1, sizeof(*is_judged));
	size_t end;

	for (size_t i = step_rows_of(rows, number, &end); i < end; i++)
		if (rows->items[i]->unit.step != SIZE_MAX)
			is_judged[rows->items[i]->unit.step] = step_rows_judges(rows, i);
	return is_judged;
}

/* The steps that count in sums. */
static void find_steps(struct look_scope *scope, size_t number, const struct step_rows *judged)
{
	struct units *steps = &scope->steps;
	size_t kept = 0;

	units_of_steps(steps, scope->process);
	units_of_steps(&scope->all, scope->process);
	if (!steps->count || (!judged && !has_whole_steps(scope->request)))
		return;
	bool *is_judged = judged ? judged_of(judged, scope->process, number) : NULL;
	for (size_t i = 0; i < steps->count; i++)
		if (is_judged ? is_judged[steps->items[i].step] : !steps->items[i].is_cut)
			steps->items[kept++] = steps->items[i];
	steps->count = kept;
	free(is_judged);
}

void look_scope_make(struct look_scope *scope, const struct request *request, size_t number, const struct step_rows *judged)
{
	const struct process *process = &request->run->processes[number];

	*scope = (struct look_scope){.request = request, .process = process};
	scope->is_in = base_alloc(process->thread_count + 1, sizeof(*scope->is_in));
	find_steps(scope, number, judged);
}

void look_scope_free(struct look_scope *scope)
{
	units_free(&scope->steps);
	units_free(&scope->all);
	free(scope->is_in);
}

size_t look_scope_wanted(const struct request *request, uint32_t looked)
{
	size_t wanted = 0;

	for (size_t i = 0; i < request->run->process_count; i++)
		wanted += request_wants_process(request, &request->run->processes[i]);
	return looked < wanted ? wanted : 0;
}
