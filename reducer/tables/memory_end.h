/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a run ended because memory ran out.
 *
 * Rule: what the kernel counted is said as it is; that a process was among those killed is inferred and marked so.
 */
#ifndef REDUCER_TABLES_MEMORY_END_H
#define REDUCER_TABLES_MEMORY_END_H

#include "reducer/tables/request.h"

/* At most one note, of the wanted processes: who was killed for want of memory, and the limit; none where all of the run ended well. */
void memory_end_note(struct table *table, const struct request *request);

/* Processes of the control group that the kernel killed for memory, where something of the run ended badly; *limit_bytes: 0 = none. */
uint64_t memory_end_kills(const struct request *request, uint64_t *limit_bytes);

/*
 * At most two notes: that the kernel killed others of the control group; that a process was killed, and not for want of memory, as the
 * kernel's counters or the room that the machine had say.
 */
void memory_end_note_other(struct table *table, const struct request *request);

#endif
