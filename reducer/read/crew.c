/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and their list of pieces of work. See crew.h. */
#include "reducer/read/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { TASK_IDLE, TASK_QUEUED, TASK_RUNNING, TASK_DONE }; /* IDLE: 0, so that a new task needs no beginning */

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct crew_task *first, *last; /* queued, oldest first */
	int is_over;
	unsigned count;
	pthread_t threads[];
};

static void unlink_task(struct crew *crew, struct crew_task *task)
{
	*(task->before != NULL ? &task->before->next : &crew->first) = task->next;
	*(task->next != NULL ? &task->next->before : &crew->last) = task->before;
}

static void *work(void *context)
{
	struct crew *crew = context;

	pthread_mutex_lock(&crew->lock);
	while (!crew->is_over) {
		struct crew_task *task = crew->first;

		if (task == NULL) {
			pthread_cond_wait(&crew->work, &crew->lock);
			continue;
		}
		unlink_task(crew, task);
		task->state = TASK_RUNNING;
		pthread_mutex_unlock(&crew->lock);
		task->run(task);
		pthread_mutex_lock(&crew->lock);
		task->state = TASK_DONE;
		pthread_cond_broadcast(&crew->done);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

struct crew *crew_make(unsigned threads)
{
	struct crew *crew = threads > 0 ? calloc(1, sizeof *crew + threads * sizeof *crew->threads) : NULL;
	sigset_t all, before;

	if (crew == NULL)
		return NULL;
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->work, NULL);
	pthread_cond_init(&crew->done, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (crew->count < threads && pthread_create(&crew->threads[crew->count], NULL, work, crew) == 0)
		crew->count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (crew->count > 0)
		return crew;
	crew_free(crew);
	return NULL;
}

void crew_free(struct crew *crew)
{
	if (crew == NULL)
		return;
	pthread_mutex_lock(&crew->lock);
	crew->is_over = 1;
	pthread_cond_broadcast(&crew->work);
	pthread_mutex_unlock(&crew->lock);
	for (unsigned i = 0; i < crew->count; i++)
		pthread_join(crew->threads[i], NULL);
	pthread_mutex_destroy(&crew->lock);
	pthread_cond_destroy(&crew->work);
	pthread_cond_destroy(&crew->done);
	free(crew);
}

void crew_put(struct crew *crew, struct crew_task *task)
{
	task->state = TASK_IDLE;
	if (crew == NULL)
		return;
	pthread_mutex_lock(&crew->lock);
	task->state = TASK_QUEUED;
	task->next = NULL;
	task->before = crew->last;
	*(crew->last != NULL ? &crew->last->next : &crew->first) = task;
	crew->last = task;
	pthread_cond_signal(&crew->work);
	pthread_mutex_unlock(&crew->lock);
}

/* Takes the task out of the list, or waits until it is done. Returns whether it was done. */
static int take_back(struct crew *crew, struct crew_task *task)
{
	int is_done;

	if (crew == NULL)
		return task->state == TASK_DONE;
	pthread_mutex_lock(&crew->lock);
	if (task->state == TASK_QUEUED) {
		unlink_task(crew, task);
		task->state = TASK_IDLE;
	}
	while (task->state == TASK_RUNNING)
		pthread_cond_wait(&crew->done, &crew->lock);
	is_done = task->state == TASK_DONE;
	pthread_mutex_unlock(&crew->lock);
	return is_done;
}

void crew_await(struct crew *crew, struct crew_task *task)
{
	if (take_back(crew, task))
		return;
	task->run(task);
	task->state = TASK_DONE;
}

void crew_forget(struct crew *crew, struct crew_task *task)
{
	take_back(crew, task);
	task->state = TASK_IDLE;
}
