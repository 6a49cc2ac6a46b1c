/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process stands in a job of several: its machine and its rank.
 *
 * Rule: what was told, never guessed: the host by its own name, the rank by the variables that launchers set.
 */
#ifndef REDUCER_MODEL_RANK_H
#define REDUCER_MODEL_RANK_H

#include "reducer/model/run.h"

#include <stdbool.h>

/* Name of the machine or container that the process ran on; "" = not told. */
const char *process_host(const struct process *process);

/* Whether both ran on one machine, be it in containers with names of their own: told by its start, else by its name. */
bool process_shares_machine(const struct process *one, const struct process *other);

/* How many processors its machine has, as it told; 0 = it did not. */
uint64_t process_cpus(const struct process *process);

/* Its number in its job, by RANK or what MPI, Slurm, Horovod, JAX and TF_CONFIG call it. Returns -1 where none says it. */
int process_rank(const struct process *process, uint64_t *rank);

/* What tells it apart from others of its pid, to be put behind its name: " of node-a, rank 3"; "" = nothing has to. */
const char *process_member(const struct process *process);

/* What a file of the process alone is called: "node-a.12", of a further process of that machine and pid "node-a.12-2". Freed
 * with free(). */
char *process_file_name(const struct run *run, size_t index);

/*
 * Variables by which a launcher tells a process its rank, how many there are (NULL: it does not), and where the ranks meet or which job
 * they are of. The one nearest to the framework first: torchrun under srun sets RANK for each of several processes of a task.
 */
#define RANK_MEETINGS 2
#define RANK_VARIABLES 8
struct rank_variables {
	const char *rank, *ranks, *meeting[RANK_MEETINGS];
	bool is_tf_config; /* one variable says all of it; tf_config.h */
};
extern const struct rank_variables rank_variables[RANK_VARIABLES];

/* What the value of a launcher's variable `rank` or `ranks` says. Returns -1 where it is no number. */
enum rank_variable { RANK_OF, RANK_COUNT };
int rank_read(const struct rank_variables *variables, enum rank_variable which, const char *value, uint64_t *number);

#define RANKS_MOST 4096 /* of a job; of a larger one it is not told which are there */

/*
 * How many ranks the run's job has and which of them have a log, by the first variable that any process has: launchers, which
 * have another one's, are no ranks. Returns the name of the variable that says how many; NULL where none does, or not all alike.
 */
const char *run_ranks(const struct run *run, uint64_t *ranks, bool is_there[RANKS_MOST]);

/* Sets of_host, of_rank and called of all processes: a machine or rank is named only where the run is of several. */
void run_name_processes(struct run *run);

/* How many different hosts are named, and how many clocks there are: one for all processes of a machine since its start. */
size_t run_hosts(const struct run *run);
size_t run_clocks(const struct run *run);

#endif
