/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that wait for nothing: they launch faster than devices work, and are over before what they launched is.
 *
 * Rule: by the kernels of the passes alone (analysis/steps.h): what devices took is that at least.
 */
#ifndef REDUCER_TABLES_STEPS_AHEAD_H
#define REDUCER_TABLES_STEPS_AHEAD_H

#include "reducer/tables/step_values.h"

#define STEPS_AHEAD_FROM 0.1 /* of the time of the judged steps: from there on these took longer than they say */

/*
 * How much later devices were done with what the judged steps of a process launched than the last of these ended, beyond how late they
 * began with it; 0 = they were not.
 */
uint64_t steps_ahead_ns(const struct step_rows *rows, size_t process);
/* The same where it is much beside the time of these steps; else 0. */
uint64_t steps_ahead_much_ns(const struct step_rows *rows, size_t process);

#endif
