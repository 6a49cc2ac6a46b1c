/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verdict says of the lives of processes rather than of steps: whether they computed, and memory that never stopped growing.
 *
 * Rule: each appends a sentence, or nothing where it is not worth one.
 */
#ifndef REDUCER_TABLES_VERDICT_LIVES_H
#define REDUCER_TABLES_VERDICT_LIVES_H

#include "reducer/tables/growth.h"

/* Where nothing says what the time went into, the readings still tell whether it was computing. */
void verdict_say_whole(struct text *sentence, const struct request *request);

/* " Live memory of heap grew all the while, by 100 MiB at least": the sentence is not ended. */
void verdict_say_grew(struct text *sentence, const struct request *request, const struct growth *growth);

/* Without steps nothing tells data from a leak; that it never stopped growing, and how fast, is worth knowing of what runs for long. */
void verdict_say_growth(struct text *sentence, const struct request *request);

#endif
