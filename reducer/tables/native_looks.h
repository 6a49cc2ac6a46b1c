/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of native code went, by function: the looks of the wanted processes, put together.
 *
 * Rule: processor time is that of all threads, waiting time that of those whose wall time counts (look_scope.h); with --thread both are
 * of the threads asked for. `own` is of the innermost function outside of the C library and the language's runtime, with what it called
 * there. All are estimates: a sample stands for the time since the one before.
 */
#ifndef REDUCER_TABLES_NATIVE_LOOKS_H
#define REDUCER_TABLES_NATIVE_LOOKS_H

#include "reducer/tables/python_lines.h"
#include "reducer/tables/request.h"
#include "reducer/tables/step_values.h"
#include "reducer/tables/wait_kinds.h"

struct native_sums {
	uint64_t looks;
	uint64_t cpu_ns, step_cpu_ns, wait_ns, step_wait_ns;
	uint64_t step_scope_ns; /* in steps, of the threads whose waiting counts: running or waiting */
	double cpu_square, step_cpu_square; /* sums of squares of what each look stands for: the variances of the two times */
	uint64_t cpu_looks, step_cpu_looks;
};

/* What looks found at one stack of one thread, in one kind of state. */
struct native_seen {
	uint32_t thread; /* the kernel's id */
	uint32_t stack;	 /* 0 = none could be had */
	uint32_t kind;	 /* enum wait_kind; WAIT_KINDS = it ran */
	struct native_sums sums;
};

struct native_function {
	struct native_sums self, own, total; /* total: once a stack */
	uint64_t waits[WAIT_KINDS], step_waits[WAIT_KINDS]; /* of total.wait_ns and step_wait_ns */
	uint32_t threads, processes;
	bool is_runtime; /* of the C library or a language's runtime: `own` is its caller's */
	size_t line; /* number of `lines`: that most of its time was at; SIZE_MAX = not known */
	/* The last ones that it was counted for, + 1. */
	size_t process;
	uint64_t thread, stack;
};

/* The text that stands for functions whose nearest symbol is that. */
struct native_near {
	const char *symbol; /* with its distance: one address */
	char *text;
};

struct native_line {
	uint64_t cpu_ns, wait_ns;
	size_t function;
};

struct native_looks {
	const struct step_rows *judged; /* as struct python_looks has it */
	struct python_lines names;	/* functions: the module stands in `file` */
	struct native_function *list;	/* by number of `names` */
	struct python_lines lines;	/* of functions, with their source files */
	struct native_line *line_list;
	struct native_near *nears;
	size_t near_count, near_room;
	struct base_index near_index;
	size_t room, line_room;
	struct native_sums all, nowhere, cut; /* nowhere: no stack could be had; cut: stacks that end early, of whole gatherings alone */
	uint64_t asked_steps_ns, asked_lives_ns; /* how long steps, and processes without any, took, looked at or not; 0 = not known */
	bool has_steps;
	uint32_t threads, processes; /* threads: that were met running */
	uint32_t each_most;			   /* looks that one stands for, where there were too many */
	bool has_waits, has_cpu; /* looks of the kind are in the logs, whosever they are */
};

/* Whether a wanted process has any. */
bool native_looks_any(const struct request *request);

/* Functions of all that the request wants; `is_judged`: of the steps that are judged alone, as the verdict counts. */
void native_looks_gather(struct native_looks *looks, const struct request *request, bool is_judged);
void native_looks_free(struct native_looks *looks);

/*
 * Each stack that was seen, once a process, thread and kind, in order of processes, then threads; `looks` (zeroed before) gets sums and
 * no functions. `process` is the index in run->processes.
 */
typedef void native_looks_visit(void *context, size_t process, const struct native_seen *seen);
void native_looks_stacks(struct native_looks *looks, const struct request *request, native_looks_visit *visit, void *context);

void native_looks_add(struct native_sums *to, const struct native_sums *more);

/* How sure that is, whose time it is, how much of it was seen, and which processes were not looked at and why. */
void native_looks_notes(struct table *table, const struct request *request, const struct native_looks *looks);

/* What shares are of: processor time in steps, without steps all. */
static inline uint64_t native_looks_judged(const struct native_looks *looks, const struct native_sums *of)
{
	return looks->has_steps ? of->step_cpu_ns : of->cpu_ns;
}

/* The same of waiting, and what that is of; 0 = it is not known. */
static inline uint64_t native_looks_waited(const struct native_looks *looks, const struct native_sums *of)
{
	return looks->has_steps ? of->step_wait_ns : of->wait_ns;
}
static inline uint64_t native_looks_whole(const struct native_looks *looks)
{
	return looks->has_steps ? looks->asked_steps_ns : looks->asked_lives_ns;
}

/* The standard error of the processor time. */
double native_looks_error(const struct native_looks *looks, const struct native_sums *of);

/* Whether so many samples were taken that a share of a tenth is one. */
#define NATIVE_LOOKS_ENOUGH 50
static inline bool native_looks_is_enough(const struct native_looks *looks)
{
	return (looks->has_steps ? looks->all.step_cpu_looks : looks->all.cpu_looks) >= NATIVE_LOOKS_ENOUGH;
}

/* What it waits in most, by one of the two. NULL = it did not wait. */
const char *native_looks_waits_in(const uint64_t waits[WAIT_KINDS]);

/*
 * How much of the steps' time their threads waited for Python's lock, in percent; -1 where too few looks say so, or there are no steps.
 * Appends which row of native_time says so to `where`.
 */
double native_looks_lock(const struct request *request, uint64_t *ns, struct text *where);

/* A sentence on that, begun with a blank, where it is `least` percent. */
void native_looks_say_lock(struct text *sentence, const struct request *request, double least);

/* The same on the function, of the program's own if there is one, in which the steps' threads were longest. */
void native_looks_say(struct text *sentence, const struct request *request, double least);

/* Whether a frame is of the C library, a language's runtime or of ours: a program is told of its caller. */
bool native_is_runtime(const struct symbol_frame *frame);

/*
 * Where each thread was at its process's last looks: of all threads of process `number` of the run (names are looked up at once), then of
 * the thread with the kernel's id `tid` the function, "f [libx.so]", and the kind of wait, NULL = it ran. false: it was not looked at
 * within five seconds before `end_ns`.
 */
struct native_last;
struct native_last *native_last_make(const struct request *request, size_t number, int64_t end_ns);
bool native_last_of(const struct native_last *last, uint32_t tid, struct text *function, const char **waits_in);
void native_last_free(struct native_last *last);

#endif
