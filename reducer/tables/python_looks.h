/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of Python code went, by line: the looks of the wanted processes, put together.
 *
 * Rule: wall time is that of the threads that mark the steps, without steps of a process's first thread, or of those that were asked for;
 * processor time is that of all. A look lies in the step in which it was taken, one without an end counts in none. All are estimates: a
 * look stands for the time since the one before of its thread.
 */
#ifndef REDUCER_TABLES_PYTHON_LOOKS_H
#define REDUCER_TABLES_PYTHON_LOOKS_H

#include "reducer/tables/python_lines.h"
#include "reducer/tables/request.h"
#include "reducer/tables/step_values.h"

#include <math.h>

struct look_sums {
	uint64_t looks;                              /* of threads whose wall time counts */
	double time_square, step_square; /* sums of squares of what each look stands for: the variances of the two times below */
	uint64_t time_ns, step_ns, other_ns, cpu_ns; /* other: within steps, in none of their parts but 'other' */
	uint64_t between_ns, between_looks; /* from the first step to the last, in none, judged or not */
	uint64_t collecting_ns, collecting_step_ns; /* of time_ns and step_ns, while the garbage collector ran */
	uint64_t ran_ns, aside_ns; /* processor time within steps: of the threads whose wall time counts, of other ones beside them */
};

struct look_line {
	struct look_sums self;  /* it was the innermost line */
	struct look_sums own;   /* it was the innermost line of the program's own: neither Python's nor installed */
	struct look_sums total; /* it was on the stack */
	uint32_t processes;
	size_t process; /* the last one + 1, */
	uint64_t stack; /* and the last stack that it was counted for */
};

struct python_looks {
	const struct step_rows *judged; /* while looks are gathered: the steps that count are those of them that are judged; NULL = all */
	struct python_lines lines;
	struct look_line *list; /* by number of `lines` */
	size_t room;
	struct look_sums all, nowhere, doubtful; /* nowhere: no Python code; doubtful: nothing certain was found */
	uint64_t step_looks;                     /* of all.looks */
	uint64_t asked_steps_ns, asked_lives_ns; /* how long steps, and processes without any, took, looked at or not; 0 = not known */
	bool has_steps;
	uint32_t threads, processes; /* whose wall time counts */
	uint32_t each_most;          /* looks that one stands for, where there were too many */
};

/* Whether a wanted process has any. */
bool python_looks_any(const struct request *request);

void python_looks_gather(struct python_looks *looks, const struct request *request);
/* The same of the steps that are judged alone, as the verdict and the summary count. */
void python_looks_gather_judged(struct python_looks *looks, const struct request *request);

/*
 * Each stack of Python code that was seen, once a process, with its sums; `looks` (zeroed before) gets the sums of all and no lines. In
 * these `process` is the index in run->processes.
 */
typedef void python_looks_visit(void *context, size_t process, uint32_t stack, const struct look_sums *sums);
void python_looks_stacks(struct python_looks *looks, const struct request *request, python_looks_visit *visit, void *context);

/* The same of one process. */
void python_looks_of_process(struct python_looks *looks, const struct request *request, size_t process, python_looks_visit *visit,
			     void *context);

void python_looks_add(struct look_sums *to, const struct look_sums *more);
void python_looks_free(struct python_looks *looks);

/* How sure that is, whose time it is, and which processes were not looked at and why. */
void python_looks_notes(struct table *table, const struct request *request, const struct python_looks *looks);
/* Of this the last part alone. */
void python_looks_note_absent(struct table *table, const struct request *request);
/*
 * For the first screen, which has no such table: why the program's first process has no lines, or none any more; its frames
 * cannot be read, its threads not be looked at, or it had no second thread, and what would change that.
 */
void python_looks_note_alone(struct table *table, const struct request *request);

/* What shares are of: the time in steps, without steps all. */
static inline uint64_t python_looks_judged(const struct python_looks *looks, const struct look_sums *of)
{
	return looks->has_steps ? of->step_ns : of->time_ns;
}

/* Of that, while the garbage collector ran. */
static inline uint64_t python_looks_judged_collecting(const struct python_looks *looks, const struct look_sums *of)
{
	return looks->has_steps ? of->collecting_step_ns : of->collecting_ns;
}

/* What shares are of, with what was not looked at. */
static inline uint64_t python_looks_whole(const struct python_looks *looks)
{
	uint64_t looked = python_looks_judged(looks, &looks->all);
	uint64_t asked = looks->has_steps ? looks->asked_steps_ns : looks->asked_lives_ns;

	return looked > asked ? looked : asked;
}

/* Whether so many looks were taken that a share of a tenth is one. */
#define PYTHON_LOOKS_ENOUGH 50
static inline bool python_looks_is_enough(const struct python_looks *looks)
{
	return (looks->has_steps ? looks->step_looks : looks->all.looks) >= PYTHON_LOOKS_ENOUGH;
}

/* "train.py:41" */
void python_looks_place(struct text *text, const struct python_looks *looks, size_t number);

/* A part of what looks found, `looked` in all, of a whole that was measured: looks are few, and say more or less than there was. */
double python_looks_bounded(double part, double looked, double measured);

/*
 * A sentence, begun with a blank, about the line that most of the steps' time in no op went into, which took so many percent of the steps
 * (`other`), or, where that is below 0, most of all time; nothing where none has `least` percent, or too few looks say it.
 */
void python_looks_say(struct text *sentence, const struct request *request, double other, double least);

/*
 * Without steps, behind that sentence: that the first thread only waits there, a server's say, and the line that most of the processor
 * time of all threads went into, where it has `least` percent of it. Nothing where it computes itself, or nobody does.
 */
void python_looks_say_computing(struct text *sentence, const struct request *request, double least);

/* The same on the function that most of the time between steps went into, if a half of it did, and its line that had most. */
void python_looks_say_between(struct text *sentence, const struct request *request);

/*
 * A sentence, begun with a blank, on the line in which threads beside those of the steps computed most, where that is much beside what
 * the latter did: of Python code one thread runs at a time.
 */
void python_looks_say_aside(struct text *sentence, const struct request *request);

/* Appends that line, "f (train.py:41)"; nothing where they did not. */
void python_looks_aside(const struct request *request, struct text *place);

/* Whether looks of a wanted process say when the garbage collector ran. */
bool python_looks_know_collecting(const struct request *request);

/*
 * How much of the judged time (python_looks_judged) the garbage collector ran, in percent; -1 where too few looks say so. Appends the line
 * of the program's own that most of it was in, "f (train.py:41)". What a step thread waits for another one's collection counts.
 */
double python_looks_collecting(const struct request *request, uint64_t *ns, struct text *place);

/* A sentence, begun with a blank, on that, where it is `least` percent. */
void python_looks_say_collecting(struct text *sentence, const struct request *request, double least);

/* The standard error of that: of a sum of looks each of which might as well have found another line. */
static inline double python_looks_error(const struct python_looks *looks, const struct look_sums *of)
{
	return sqrt(looks->has_steps ? of->step_square : of->time_square);
}

/* The line of the program's own that most of one kind of time went into, with the libraries that it called. SIZE_MAX = none. */
size_t python_looks_first(const struct python_looks *looks, bool is_other);

#endif
