/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a process that only predicts, beside one that trains: a server of an RPC, a teacher, an actor that no training started.
 *
 * Rule: what nobody marked, and no backward pass ran in, is no step of a job in which PyTorch marked steps meanwhile. Jobs that
 * only predict keep theirs, and so does what runs before or after a training.
 */
#ifndef REDUCER_MODEL_STEPS_BESIDE_H
#define REDUCER_MODEL_STEPS_BESIDE_H

#include "reducer/model/run.h"

/* Whether ops of PyTorch ran in the process, and none of a backward pass or an optimizer. */
bool process_only_predicts(const struct process *process);

/*
 * Whether the process was started by one with steps, or by one whose loader makes processes: its ops repeat, and make no steps. Processes
 * above it are scanned by then.
 */
bool process_loads_data(const struct run *run, const struct process *process);

/* Takes back is_chosen where the rule says so, and sets beside_count. Of scanned processes, times in ns of the run. */
void steps_beside(struct run *run);

#endif
