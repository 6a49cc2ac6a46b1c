/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why logs are of one run that were started apart, and which of it are not here, as those that are tell: a rank of the job, the
 * process that started them, the program that came next. See notes.h.
 *
 * Rule: what the logs say of others, nothing guessed; why they are not here nobody knows.
 */
#include "reducer/model/rank.h"
#include "reducer/tables/notes.h"

#include <inttypes.h>
#include <string.h>

#define STRETCHES_MOST 4 /* of missing ranks that are listed */

static void note_ranks(struct table *table, const struct run *run)
{
	bool is_there[RANKS_MOST];
	uint64_t ranks, missing = 0;
	size_t stretches = 0;
	struct text list = {0};
	const char *variable = run_ranks(run, &ranks, is_there);

	for (uint64_t from = 0, to; variable && from < ranks; from = to + 1) {
		for (to = from; to < ranks && !is_there[to]; to++)
			;
		missing += to - from;
		if (to == from || stretches++ >= STRETCHES_MOST)
			continue;
		text_format(&list, "%s%" PRIu64, list.length ? ", " : "", from);
		if (to - from > 1)
			text_format(&list, " to %" PRIu64, to - 1);
	}
	/* Slurm's own script, which it runs once, has the rank 0 as well. */
	bool is_script = missing && missing + 1 == ranks && is_there[0] && strcmp(variable, "SLURM_NTASKS") == 0;
	if (missing)
		table_note(table, NOTE_MISSING,
			   "Of the %" PRIu64 " ranks of the job (%s) %" PRIu64 " ha%s no log here (rank %s%s)%s: no figure counts them. "
			   "Logs of several machines belong in one directory.",
			   ranks, variable, missing, missing == 1 ? "s" : "ve", list.bytes, stretches > STRETCHES_MOST ? ", ..." : "",
			   is_script ? ", if srun started it" : "");
	text_free(&list);
}

void notes_started_apart(struct table *table, const struct request *request)
{
	bool is_there[RANKS_MOST];
	uint64_t ranks;
	const char *variable = run_ranks(request->run, &ranks, is_there);

	if (request->run->start_count > 1)
		table_note(table, NOTE_INFO,
			   "%zu programs that were started apart are one run here: their processes told different ranks of the same job "
			   "(%s, and where its ranks meet) and ran at the same time.",
			   request->run->start_count, variable ? variable : "how many ranks");
}

/* Are two files of another profiler of one process? Ranks in containers may have one number; nobody records one process twice at a time. */
static bool is_same_process(const struct process *one, const struct process *other)
{
	uint64_t rank, other_rank;

	if (!one->pid || one->pid != other->pid || !process_is_foreign(one) || !process_is_foreign(other))
		return false;
	if (process_rank(one, &rank) == 0 && process_rank(other, &other_rank) == 0 && rank != other_rank)
		return false;
	return strcmp(process_host(one), process_host(other)) == 0 && (one->end_ns <= other->start_ns || other->end_ns <= one->start_ns);
}

static bool is_told_before(const struct run *run, size_t place)
{
	size_t i = 0;

	while (i < place && !is_same_process(&run->processes[i], &run->processes[place]))
		i++;
	return i < place;
}

void notes_recorded_again(struct table *table, const struct request *request)
{
	const struct process *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || !is_told_before(request->run, i))
			continue;
		first = first ? first : process;
		count++;
	}
	if (first)
		table_note(table, NOTE_INFO,
			   "%zu file%s of a process that another file is of, too (first: %s, of process %" PRIu64
			   "): each recording of it stands as a process of its own.",
			   count, count == 1 ? " is" : "s are", first->path, (uint64_t)first->pid);
}

/* Was the process started by one that kept a log, which is not here? */
static bool is_orphan(const struct process *process)
{
	return process->parent == PROCESS_NONE && process->exec_before == PROCESS_NONE && process->log->header.parent_log_id;
}

/* Is there a log of that process all the same: of another program that it ran? */
static bool has_log(const struct run *run, const struct process *child, uint32_t pid)
{
	const struct tfp_file_header *header = &child->log->header;

	for (size_t i = 0; i < run->process_count; i++) {
		const struct tfp_file_header *other = &run->processes[i].log->header;
		if (other->pid == pid && other->pid_namespace == header->pid_namespace &&
		    memcmp(other->boot_id, header->boot_id, sizeof(header->boot_id)) == 0)
			return true;
	}
	return false;
}

/* The first parent is named, the others are counted. */
static void note_parents(struct table *table, const struct run *run)
{
	const struct process *first = NULL;
	size_t same = 0, others = 0;

	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];
		if (!is_orphan(process))
			continue;
		first = first ? first : process;
		if (process->log->header.parent_log_id == first->log->header.parent_log_id)
			same++;
		else
			others++;
	}
	if (first && has_log(run, first, first->parent_pid))
		table_note(table, NOTE_MISSING,
			   "The log of what started %zu of these is not here: an earlier program of process %" PRIu32
			   ", or what process %" PRIu32 " was before.",
			   same, first->parent_pid, first->pid);
	else if (first)
		table_note(table, NOTE_MISSING, "The log of process %" PRIu32 ", which started %zu of these, is not here.",
			   first->parent_pid, same);
	if (others)
		table_note(table, NOTE_MISSING, "Nor are the logs of those that started %zu more.", others);
}

static void note_next_programs(struct table *table, const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->process_count; i++)
		count += run->processes[i].end == END_EXEC && run->processes[i].end_doubt != NULL;
	if (count)
		table_note(table, NOTE_MISSING,
			   "%zu process%s went on as another program (exec) of which no log is here: passed over (TFPROF_SKIP, "
			   "TFPROF_ONLY), started without LD_PRELOAD in its environment (env -i) or where the library's file is not to "
			   "be found (another root, a sandbox), linked statically, set-user-ID, or not let write to TFPROF_OUT.",
			   count, count == 1 ? "" : "es");
}

/* Not those that replaced a process with a log: that is told above, whatever the reason was. */
static void note_unfollowed(struct table *table, const struct run *run)
{
	uint64_t count = 0;

	for (size_t i = 0; i < run->process_count; i++)
		count += run->processes[i].log->live.programs_unfollowed;
	if (count)
		table_note(table, NOTE_MISSING,
			   "%" PRIu64 " program%s started with an environment that lacks LD_PRELOAD (env -i, env= of subprocess, a daemon "
			   "that cleans it): neither recorded, nor what came of %s. Have LD_PRELOAD and TFPROF_* handed on.",
			   count, count == 1 ? " was" : "s were", count == 1 ? "it" : "them");
}

void notes_missing(struct table *table, const struct request *request)
{
	if (!request->run->whole_count) { /* else others were not asked for */
		note_ranks(table, request->run);
		note_parents(table, request->run);
	}
	note_next_programs(table, request->run);
	note_unfollowed(table, request->run);
}
