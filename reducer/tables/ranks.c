/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks: the processes of a job that trains together, side by side: who waits for whom.
 *
 * Rule: a collective ends for all at the same time, so the rank that spends the least in collectives came last, and what another
 * one spends more, it waited. That holds without comparing clocks of machines. It is inferred, and a lower bound: waits that
 * computing hides, and ranks that are late in turn within one step, do not show. Where the logs are of more than one job nobody
 * waited for anybody.
 */
#include "reducer/tables/notes.h"
#include "reducer/tables/step_values.h"

#include "reducer/model/rank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS_LEAST 2
#define STEPS_LEAST 2 /* with fewer nothing is said of a rank */

enum { NAME, RANK, HOST, PROCESS, STEPS, STEP_TIME, OWN, COMMUNICATION, WAIT, TURNS, HELD, LAST, SLOWER_IN, SLOWER_BY, COLUMNS };

static const struct table_column columns[] = {
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 3, "rank and host, or the process, in words"},
	[RANK] = {"rank", "rank", TABLE_INTEGER, UNIT_NONE, 0,
		  "by RANK, or what MPI, Slurm, Horovod, JAX and TF_CONFIG call it; empty = none of them was set when the process started"},
	[HOST] = {"host", "host", TABLE_TEXT, UNIT_NONE, 1, "name of the machine or container"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 1, "pid as the process saw it"},
	[STEPS] = {"steps", "steps", TABLE_INTEGER, UNIT_COUNT, 1, "that are judged"},
	[STEP_TIME] = {"step_ns", "a step", TABLE_INTEGER, UNIT_NS, 0, "mean time of a step"},
	[OWN] = {"own_ns", "own work", TABLE_INTEGER, UNIT_NS, 0, "of a step on average, without communication that nothing hid"},
	[COMMUNICATION] = {"communication_ns", "communicating", TABLE_INTEGER, UNIT_NS, 0,
			   "of a step on average: collectives on devices and exchanges through the host that nothing hid"},
	[WAIT] = {"wait_ns", "waits", TABLE_INTEGER, UNIT_NS, 0,
		  "of communication: what it takes longer than in the rank where it takes the least; inferred"},
	[TURNS] = {"turns_ns", "and in turn", TABLE_INTEGER, UNIT_NS, 1,
		   "of communication: what it waits beyond that for whichever rank comes last just then; of the steps that all ranks have, "
		   "by number; inferred"},
	[HELD] = {"held_up_ns", "holds up", TABLE_INTEGER, UNIT_NS, 0,
		  "how much longer than this rank the others communicate on average: they wait for it; inferred"},
	[LAST] = {"last_steps", "last in", TABLE_INTEGER, UNIT_COUNT, 1,
		  "steps that all ranks have, by number, in which it communicated the least: it came last"},
	[SLOWER_IN] = {"slower_in", "slower in", TABLE_TEXT, UNIT_NONE, 0,
		       "the part of the step that takes longest beyond its mean in the other ranks"},
	[SLOWER_BY] = {"slower_by_ns", "by", TABLE_INTEGER, UNIT_NS, 0, "by so much, in a step on average"},
};

/* Parts of a rank's own work, by their names in slower_in. */
static const struct {
	enum step_value value;
	const char *name;
} parts[] = {
	{VALUE_COMPUTE, "device compute"}, {VALUE_DEVICE_TO_DEVICE, "copies on devices"}, {VALUE_INPUT, "input"},
	{VALUE_OUTPUT, "output"},	   {VALUE_COMPILATION, "compilation"},		  {VALUE_KERNEL_LAUNCH, "launches"},
	{VALUE_HOST_COMPUTE, "host compute"}, {VALUE_OTHER, "Python, or what was not recorded"},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

struct rank {
	const struct process *process;
	uint64_t number;
	bool is_numbered;
	size_t from, to; /* of step_rows */
	size_t at;	 /* where the walk over all ranks stands */
	size_t steps, last;
	double step_ns, communication_ns, part_ns[PARTS]; /* means of a step */
	double behind_ns; /* sum over compared steps: communication beyond the least of them */
	int64_t first_ns, end_ns; /* of its steps */
};

struct job {
	struct step_rows rows;
	struct rank *ranks;
	size_t count, room;
	double least_ns; /* communication of the rank that has the least */
	size_t compared; /* steps that all ranks have */
	const struct rank *apart[2]; /* two that cannot be of one job; NULL = there are none */
};

static double communication_of(const struct step_row *row)
{
	return (double)(step_value(row, VALUE_COLLECTIVES) + step_value(row, VALUE_HOST_COMMUNICATION));
}

/* Judged, and of the thread whose steps came first: a process that trains in several threads is one rank. */
static bool counts(const struct job *job, const struct rank *rank, size_t i)
{
	return step_rows_judges(&job->rows, i) && job->rows.items[i]->unit.thread == job->rows.items[rank->from]->unit.thread;
}

static void add_up(const struct job *job, struct rank *rank)
{
	for (size_t i = rank->from; i < rank->to; i++) {
		const struct step_row *row = job->rows.items[i];
		if (!counts(job, rank, i))
			continue;
		if (!rank->steps++)
			rank->first_ns = row->start_ns;
		rank->end_ns = row->start_ns + (int64_t)row->total_ns;
		rank->step_ns += (double)row->total_ns;
		rank->communication_ns += communication_of(row);
		for (size_t k = 0; k < PARTS; k++)
			rank->part_ns[k] += (double)step_value(row, parts[k].value);
	}
	for (size_t k = 0; k < PARTS && rank->steps; k++)
		rank->part_ns[k] /= (double)rank->steps;
	rank->step_ns /= rank->steps ? (double)rank->steps : 1;
	rank->communication_ns /= rank->steps ? (double)rank->steps : 1;
}

static int by_number(const void *a, const void *b)
{
	const struct rank *one = a, *other = b;

	if (one->is_numbered != other->is_numbered)
		return one->is_numbered ? -1 : 1;
	if (one->number != other->number)
		return one->number < other->number ? -1 : 1;
	return (one->from > other->from) - (one->from < other->from);
}

static void find_ranks(struct job *job, const struct request *request)
{
	const struct step_rows *rows = &job->rows;

	for (size_t i = 0, next; i < rows->count && rows->kind == UNIT_STEP; i = next) {
		struct rank rank = {.process = &request->run->processes[rows->items[i]->process], .from = i};
		for (next = i; next < rows->count && rows->items[next]->process == rows->items[i]->process; next++)
			;
		rank.to = next;
		rank.at = i;
		rank.is_numbered = process_rank(rank.process, &rank.number) == 0;
		add_up(job, &rank);
		if (rank.steps < STEPS_LEAST || rank.communication_ns <= 0)
			continue;
		job->ranks = base_grow(job->ranks, &job->room, job->count + 1, sizeof(*job->ranks));
		job->ranks[job->count++] = rank;
	}
	if (job->count)
		qsort(job->ranks, job->count, sizeof(*job->ranks), by_number);
	for (size_t r = 0; r < job->count; r++)
		if (r == 0 || job->ranks[r].communication_ns < job->least_ns)
			job->least_ns = job->ranks[r].communication_ns;
}

/*
 * Are two not of one job? On one clock their steps would overlap; on two (machines, other profilers' files) their ranks would differ:
 * processes of one machine may share a number, that of their launcher.
 */
static bool are_apart(const struct rank *one, const struct rank *other)
{
	if (one->process->clock != other->process->clock)
		return one->is_numbered && other->is_numbered && one->number == other->number;
	return one->end_ns <= other->first_ns || other->end_ns <= one->first_ns;
}

static void find_apart(struct job *job)
{
	for (size_t r = 1; r < job->count; r++)
		for (size_t k = 0; k < r; k++)
			if (are_apart(&job->ranks[k], &job->ranks[r])) {
				job->apart[0] = &job->ranks[k];
				job->apart[1] = &job->ranks[r];
				return;
			}
}

/* The next step that counts of a rank, or NULL. */
static const struct step_row *next_of(const struct job *job, struct rank *rank)
{
	while (rank->at < rank->to && !counts(job, rank, rank->at))
		rank->at++;
	return rank->at < rank->to ? job->rows.items[rank->at] : NULL;
}

/* Brings all ranks to the next step of the same number. False = there is none. */
static bool find_common(struct job *job)
{
	for (size_t alike = 0, r = 0; alike < job->count; r = (r + 1) % job->count) {
		const struct step_row *row = next_of(job, &job->ranks[r]);
		const struct step_row *before = next_of(job, &job->ranks[r ? r - 1 : job->count - 1]);
		if (!row || !before)
			return false;
		if (row->unit.number == before->unit.number) {
			alike++;
			continue;
		}
		alike = 0;
		job->ranks[row->unit.number < before->unit.number ? r : r ? r - 1 : job->count - 1].at++;
	}
	return true;
}

static void compare_steps(struct job *job)
{
	for (; find_common(job); job->compared++) {
		size_t last = 0;
		double least = 0;
		for (size_t r = 0; r < job->count; r++) {
			double ns = communication_of(job->rows.items[job->ranks[r].at]);
			if (r == 0 || ns < least) {
				least = ns;
				last = r;
			}
		}
		job->ranks[last].last++;
		for (size_t r = 0; r < job->count; r++)
			job->ranks[r].behind_ns += communication_of(job->rows.items[job->ranks[r].at++]) - least;
	}
}

/* Mean over the other ranks of what `rank` has of something. */
static double others(const struct job *job, size_t rank, size_t part)
{
	double sum = 0;

	for (size_t r = 0; r < job->count; r++)
		if (r != rank)
			sum += part < PARTS ? job->ranks[r].part_ns[part] : job->ranks[r].communication_ns;
	return sum / (double)(job->count - 1);
}

static void put_name(struct table *table, const struct rank *rank)
{
	const char *host = process_host(rank->process);
	char name[160];

	if (rank->is_numbered)
		snprintf(name, sizeof(name), "rank %" PRIu64 "%s%.100s", rank->number, host[0] ? " of " : "", host);
	else
		snprintf(name, sizeof(name), "process %" PRIu32 "%s%.100s", rank->process->pid, host[0] ? " of " : "", host);
	table_string(table, NAME, name);
}

static void put_slower(struct table *table, const struct job *job, size_t r)
{
	const char *name = NULL;
	double most = 0;

	for (size_t k = 0; k < PARTS; k++) {
		double more = job->ranks[r].part_ns[k] - others(job, r, k);
		if (more >= 1 && more > most) {
			most = more;
			name = parts[k].name;
		}
	}
	if (!name)
		return;
	table_string(table, SLOWER_IN, name);
	table_integer(table, SLOWER_BY, (int64_t)most);
}

/* What follows of the other ranks. */
static void put_waits(struct table *table, const struct job *job, size_t r)
{
	const struct rank *rank = &job->ranks[r];
	double wait = rank->communication_ns - job->least_ns, held = others(job, r, PARTS) - rank->communication_ns;

	table_integer(table, WAIT, (int64_t)wait);
	table_integer(table, HELD, held > 0 ? (int64_t)held : 0);
	if (job->compared) {
		double turns = rank->behind_ns / (double)job->compared - wait;
		table_integer(table, LAST, (int64_t)rank->last);
		table_integer(table, TURNS, turns > 0 ? (int64_t)turns : 0);
	}
	put_slower(table, job, r);
}

static void put_rank(struct table *table, const struct job *job, size_t r)
{
	const struct rank *rank = &job->ranks[r];

	table_row(table);
	put_name(table, rank);
	if (rank->is_numbered)
		table_integer(table, RANK, (int64_t)rank->number);
	table_string(table, HOST, process_host(rank->process));
	table_integer(table, PROCESS, rank->process->pid);
	table_integer(table, STEPS, (int64_t)rank->steps);
	table_integer(table, STEP_TIME, (int64_t)rank->step_ns);
	table_integer(table, OWN, (int64_t)rank->step_ns - (int64_t)rank->communication_ns);
	table_integer(table, COMMUNICATION, (int64_t)rank->communication_ns);
	if (!job->apart[0])
		put_waits(table, job, r);
}

static void put_notes(struct table *table, const struct request *request, const struct job *job)
{
	if (job->apart[0]) {
		table_note(table, NOTE_MISSING,
			   "The processes %s and %s are not of one job (%s): who waits for whom is not told. Choose the "
			   "logs of one job.",
			   job->apart[0]->process->called, job->apart[1]->process->called,
			   job->apart[0]->process->clock == job->apart[1]->process->clock ? "one trained after the other"
										       : "both have the same rank");
		return;
	}
	table_note(table, NOTE_INFERRED,
		   "Who waits is inferred: a collective ends for all at once, so the rank that spends the least in it came last. Waits "
		   "that computing hides do not show.");
	if (!job->compared)
		table_note(table, NOTE_INFO, "The ranks have no steps of the same numbers: in which steps a rank came last is not told.");
	if (run_clocks(request->run) > 1)
		table_note(table, NOTE_INFO,
			   "The ranks ran on %zu clocks; no figure here compares times of different clocks.", run_clocks(request->run));
}

static void fill(struct table *table, const struct request *request)
{
	struct job job = {0};

	step_rows_find(&job.rows, request);
	find_ranks(&job, request);
	if (job.count < RANKS_LEAST) {
		table_note(table, NOTE_INFO,
			   "Fewer than two processes of what was asked for have steps in which they exchange data. Logs of several "
			   "machines belong in one directory, and --run=all takes them together.");
	} else {
		find_apart(&job);
		if (!job.apart[0])
			compare_steps(&job);
		for (size_t r = 0; r < job.count; r++)
			put_rank(table, &job, r);
		put_notes(table, request, &job);
	}
	notes_started_apart(table, request);
	notes_missing(table, request);
	notes_recording(table, request);
	step_rows_free(&job.rows);
	free(job.ranks);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_ranks = {
	.id = "ranks",
	.title = "Ranks",
	.help = "The processes of a job that trains together, side by side: which of them the others wait for, and in what it is slower.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_DEVICE | FILTER_STREAM | FILTER_THREAD,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};
