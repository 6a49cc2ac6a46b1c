/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that began in a capture window and ended outside of it, where nobody marks them.
 *
 * Rule: what repeats is seen inside of windows alone, and nobody knows how many rounds went by until the next window: a step from the
 * last round of one window to the first of the next was never made. Marked steps are recorded outside as well, and stay.
 */
#ifndef REDUCER_MODEL_STEPS_UNSEEN_H
#define REDUCER_MODEL_STEPS_UNSEEN_H

#include "reducer/model/run.h"

/*
 * Ends each step of a process that was found in its records where it was seen to end, and takes back is_chosen, counted in
 * unseen_count, where it was not; the one before it ends there. Its windows are known, times are ns of the run.
 */
void steps_unseen(struct process *process);

#endif
