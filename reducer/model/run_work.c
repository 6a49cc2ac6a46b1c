/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on a run by several threads (-j): on its processes one by one, or beside all else. See run.h.
 *
 * Rule: who did it, and when, never shows in the answer.
 */
#include "reducer/model/internal.h"

#include <stdlib.h>

struct crew *run_crew(struct run *run)
{
	struct run_storage *storage = run->private;

	if (storage->crew == NULL && storage->jobs > 1)
		storage->crew = crew_make(storage->jobs - 1);
	return storage->crew;
}

/* A process that somebody works on. */
struct each {
	struct crew_task task; /* first: tasks are these */
	void (*work)(void *context, size_t process);
	void *context;
	size_t process;
};

static void work_on(struct crew_task *task)
{
	struct each *each = (struct each *)task;

	each->work(each->context, each->process);
}

void run_each_of(struct run *run, const size_t *processes, size_t count, void (*work)(void *context, size_t process), void *context)
{
	struct crew *crew = count > 1 ? run_crew(run) : NULL;
	struct each *all = calloc(count, sizeof *all);

	for (size_t i = 0; i < count; i++) {
		size_t process = processes == NULL ? i : processes[i];

		if (all == NULL) {
			work(context, process);
			continue;
		}
		all[i] = (struct each){.task = {.run = work_on}, .work = work, .context = context, .process = process};
		crew_put(crew, &all[i].task);
	}
	for (size_t i = 0; all != NULL && i < count; i++)
		crew_await(crew, &all[i].task);
	free(all);
}

void run_each(struct run *run, void (*work)(void *context, size_t process), void *context)
{
	run_each_of(run, NULL, run->process_count, work, context);
}

struct run_errand {
	struct crew_task task; /* first: tasks are these */
	struct crew *crew;
	void (*work)(void *context);
	void *context;
};

static void go(struct crew_task *task)
{
	struct run_errand *errand = (struct run_errand *)task;

	errand->work(errand->context);
}

struct run_errand *run_send(struct run *run, void (*work)(void *context), void *context)
{
	struct run_errand *errand = calloc(1, sizeof *errand);

	if (errand == NULL) {
		work(context);
		return NULL;
	}
	*errand = (struct run_errand){.task = {.run = go}, .crew = run_crew(run), .work = work, .context = context};
	crew_put(errand->crew, &errand->task);
	return errand;
}

void run_await(struct run_errand *errand)
{
	if (errand != NULL)
		crew_await(errand->crew, &errand->task);
	free(errand);
}
