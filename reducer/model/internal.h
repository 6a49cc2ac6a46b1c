/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of reducer/model share beyond run.h. Private to the model. */
#ifndef REDUCER_MODEL_INTERNAL_H
#define REDUCER_MODEL_INTERNAL_H

#include "reducer/model/clock.h"
#include "reducer/model/pool.h"
#include "reducer/model/run.h"

#include <pthread.h>

/* Behind run->private. */
struct run_storage {
	struct pool pool;	   /* taken from under the lock while processes are scanned */
	pthread_mutex_t lock;
	struct clock_map *clocks; /* one for each boot and kind of clock; processes point into it */
	size_t clock_count;
	uint64_t all_bytes;	   /* of the logs, for progress */
	_Atomic uint64_t done_bytes;
	void (*progress)(void *context, uint64_t done, uint64_t all); /* of later passes; NULL = nobody asks */
	void *progress_context;
	unsigned jobs;			/* see struct run_options */
	struct crew *crew;		/* decodes ahead; made at the first need */
};

/* Who decodes ahead; NULL = nobody. run_work.c */
struct crew *run_crew(struct run *run);

/* pool_text of the run's pool, from any thread. run.c */
const char *run_text(struct run *run, const char *text, size_t bytes);

/* run_each for these processes only; NULL = the first `count`. run_work.c */
void run_each_of(struct run *run, const size_t *processes, size_t count, void (*work)(void *context, size_t process), void *context);

/* Times that depend on the clock, and the run's length. run.c */
void run_set_times(struct run *run);
/* The run's length alone, of the processes that it has. run.c */
void run_set_length(struct run *run);

/*
 * The array, with room for one more zeroed entry of `bytes` behind its `count` (it began as NULL). NULL without memory or
 * at MODEL_ENTRIES_MAX: the array is as it was and the caller leaves the entry out. Grows at powers of two.
 */
#define MODEL_ENTRIES_MAX (1u << 20)

#define MODEL_FUNCTIONS_MAX 4096u /* of TensorFlow in a process; more are not told apart. 96 KiB of a stack hold three numbers of each */
void *model_room(void *array, size_t count, size_t bytes);

/* Reads settings, arguments, modules and the like of a process. facts.c */
void facts_read(struct pool *pool, struct process *process);

/*
 * Logs that are not in the directories of the run's logs, for the limit of all of them together (struct tfp_total), where one was
 * refused or removed since the run began. Before threads_build. total.c
 */
void total_ask(struct run *run);

/* A thread that gave its slot back, and losses that stood in records. Times in ticks. */
struct thread_list {
	struct thread *threads;
	size_t thread_count;
	struct loss *losses;
	size_t loss_count;
};

/*
 * Replaces process->threads and losses by those of the slots and of `more` (NULL = none; its arrays are only read), and
 * the totals of the accounts by their sums. Times are ticks afterwards. threads.c
 */
void threads_build(struct process *process, const struct thread_list *more);

/* Streams the events of one process; times are ticks afterwards. Returns -1 without memory. events_scan.c */
int process_scan(struct run *run, struct process *process, const struct run_options *options);

/* Turns ticks into ns: of threads and losses; of all that a scan filled in. times.c */
void times_threads(struct process *process);
void times_scanned(struct process *process);
void times_modules(struct process *process);

/* Closes all but one of the files that hold the same log, the longest stays, and says so; sorts. Returns how many are left. tree.c */
size_t tree_drop_copies(struct log **logs, size_t count, struct diag_list *diags);

/* Parents, and which logs form a run; sorts. tree.c */
struct tree_choice {
	struct log **logs; /* those of the run, parents first; the others are closed */
	size_t *parents, *exec_before; /* indexes, or PROCESS_NONE */
	size_t count;
};
int tree_choose(struct log **logs, size_t count, const char *name, struct run *run, struct tree_choice *choice);

#endif
