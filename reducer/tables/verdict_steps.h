/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verdict says of the steps besides where their time goes: what is in none of its shares.
 *
 * Rule: each appends a sentence, or nothing where it is not worth one.
 */
#ifndef REDUCER_TABLES_VERDICT_STEPS_H
#define REDUCER_TABLES_VERDICT_STEPS_H

#include "reducer/tables/busy.h"
#include "reducer/tables/step_values.h"

#define VERDICT_FIRST_FROM 0.2 /* share of a first step that is worth a sentence */
#define VERDICT_WAITED_FROM 0.2 /* of the steps' time ready to run and not running: more than a machine that is only used does */

/* ns of the judged steps of processes in none of whose steps a device worked. */
uint64_t verdict_time_without_devices(const struct step_rows *rows);

/* Whether several processes take steps: where they exchange data one may come last. */
bool verdict_has_ranks(const struct request *request);

/* That the run failed, where it did: what its time went into is not what to mend first. */
void verdict_say_failed(struct text *sentence, const struct request *request);

/* That no processor was free for that share of the time, where it is much. `begin`: "From". */
void verdict_say_waited(struct text *sentence, const char *begin, const struct step_rows *rows, const struct request *request,
			const struct busy *busy);

/* What the machine kept from the steps otherwise: devices' clocks, a device that others used, processors given to other machines. */
void verdict_say_machine(struct text *sentence, const struct step_rows *rows, const struct request *request);

/* A first step that took much of the time, and is in none of the shares. `judged`: ns of those that are. */
void verdict_say_first(struct text *sentence, const struct step_rows *rows, const struct request *request, uint64_t judged);

/*
 * One judged step that is so long that shares speak of it, where most of it is recorded: what it did then was not usual. (One in which
 * next to nothing was recorded is a pause: step_unusual.h.)
 */
void verdict_say_longest(struct text *sentence, const struct step_rows *rows, const struct request *request);

/* What goes on between the steps may be more than they are: acting, evaluation. Of the process that has the most of it. */
void verdict_say_between(struct text *sentence, const struct step_rows *rows, const struct request *request);

/* Steps that did not wait for what they dispatched say little. */
void verdict_say_awaited(struct text *sentence, const struct step_rows *rows, const struct request *request);

/* What feeds devices that rest because of the host, without what the run is seen to do already. */
void verdict_say_feeding(struct text *sentence, const struct step_rows *rows, const struct request *request);

#endif
