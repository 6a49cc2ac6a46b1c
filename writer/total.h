/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFPROF_MAX_TOTAL_BYTES: the limit of all logs of a directory together, kept by those who write there in a file of which
 * each maps two pages (struct tfp_total, and that of its log's entry), so that nobody ever has to look through the directory.
 *
 * Rule: an entry's bytes are exchanged and the difference added to the sum, so that whoever is killed or late between the two leaves
 * an error of one block that is not repeated. What belongs to a log that is gone, removed by a person too, is given back by whoever wants
 * room, a page of entries at a time. Nothing here waits; where the file cannot be had or trusted there is no limit, and the log says so.
 */
#ifndef TFP_WRITER_TOTAL_H
#define TFP_WRITER_TOTAL_H

#include "writer/format.h"
#include "writer/loss.h"

#include <stdint.h>

struct tfp_log;

/* Of one process: where it counts. In pages that a fork child finds empty. Written by start-up alone. */
struct tfp_total_share {
	uint64_t limit; /* 0 = none */
	uint32_t space; /* our pid namespace, as in struct tfp_total_entry */
	int is_wrapping; /* FULL=wrap: logs of processes that ended may be removed */
	struct tfp_total *sum;         /* NULL: no limit, or it cannot be kept */
	struct tfp_total_entry *entry; /* of this log; NULL with sum */
	char directory[4096 + 8];
};

/*
 * Finds the sum of log->total.directory and room for a new log, making some where it may. 0, or a loss kind: there is none, and
 * that is counted there. Start-up only, before the log is made.
 */
enum tfp_loss tfp_total_join(struct tfp_log *log);

/* The log has its name. Or none could be made: what tfp_total_join took goes back. Start-up only. */
void tfp_total_enter(struct tfp_log *log);
void tfp_total_leave(struct tfp_log *log);

/* Whether the log may not end at `end` with `spare` bytes beside it for others of its blocks. Any context. */
int tfp_total_forbids(const struct tfp_log *log, uint64_t end, uint64_t spare);

/* The log's size has changed. Any context. */
void tfp_total_follow(struct tfp_log *log);

/* Gives back what belongs to logs that are gone or may go, until there is room for `bytes`; looks at some of them. Any context. */
void tfp_total_reclaim(struct tfp_log *log, uint64_t bytes);

#endif
