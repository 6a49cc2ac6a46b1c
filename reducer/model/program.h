/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a log says of its process without being scanned: how it is called, and for how long it lasted.
 *
 * Rule: runs of one script are alike, whatever its arguments and its folder are; those of two scripts of one interpreter are not.
 */
#ifndef REDUCER_MODEL_PROGRAM_H
#define REDUCER_MODEL_PROGRAM_H

#include "reducer/model/pool.h"
#include "reducer/read/log.h"

/* "python3 train.py", "python3 -m pkg", "sort": the command, and of an interpreter the name of its script. Lives in the pool. */
const char *program_name(struct pool *pool, const struct log *log);

/* From its first recorded moment to the last one or the end that it or who waited for it told, in ns by its own clock; 0 = not known. */
uint64_t program_lasted_ns(const struct log *log);

/* The last moment that block headers and live words tell, in ticks since its origin. */
uint64_t program_last_ticks(const struct log *log);

/*
 * ns between the origin and the end that whoever waited saw, of one that runs until now, by the clock that nobody sets; 0 = not told, or
 * the process said itself when it ended. `told` is what log_end gave, zeroed where it gave nothing.
 */
uint64_t program_waited_ns(const struct log *log, const struct tfp_end_payload *told);

#endif
