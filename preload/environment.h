/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment: read at start-up, and handed on with one more variable to programs that the host starts.
 *
 * TFPROF_PARENT=<job id, 32 hex digits>:<log id, 16>:<programs run so far, 8>:<handed on by pid, 8>:<pid, 8>:<start, 16>
 * The last two name the nearest ancestor that keeps a log where it could not be told the log's id (it started a shell by
 * system() or popen(), whose exec libc makes past our hooks; a passed-over shell hands this on). It is believed only
 * by whom it was meant for, because libc's own spawns hand on stale ones: an exec means the process itself, a spawn (top
 * bit of the pid set) a child of that pid.
 * Rule: the host's own environment keeps its strings and their order; at most variables that it lacks are put behind them
 * (tfp_environment_offer, before main), or such of ours taken out again where they are in a program's way, or another word put for one of
 * ours (tfp_environment_settle). Memory comes from the kernel, not from malloc.
 */
#ifndef TFP_PRELOAD_ENVIRONMENT_H
#define TFP_PRELOAD_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

/* The variables of this process, also before libc has set environ. NULL-terminated; never NULL. */
char *const *tfp_environment(void);

/* The value of NAME in tfp_environment(), or NULL. */
const char *tfp_environment_get(const char *name);

/*
 * What /proc/self/cmdline tells, where the kernel has put it (less the loader's own words, where that was run by hand): the program's
 * words, each with its zero, *bytes in all. NULL: unknown, or no longer as they were. Before main only.
 */
const char *tfp_environment_words(size_t *bytes);

/*
 * Gives this program, and so its children, each variable of `names` (NULL-terminated) that it has not, with that value.
 * Nothing where setting ENV forbids it. Constructor only, while there is one thread.
 */
void tfp_environment_offer(const char *const *names, const char *value);

/*
 * As tfp_environment_offer of one variable; where this program has it with the value `was`, the other one stands in its place. Constructor
 * only.
 */
void tfp_environment_settle(const char *name, const char *was, const char *value);

/* Takes each variable of `names` that has that value, ours, out of what this program sees and hands on. Constructor only. */
void tfp_environment_withdraw(const char *const *names, const char *value);

/* A changed copy of an environment, while it is needed. */
struct tfp_environment {
	void *pages;
	size_t bytes;
	int is_without; /* no LD_PRELOAD, by which this program was given us: what is started with it is not recorded */
};

/*
 * `environment` with TFPROF_PARENT, or itself where that is forbidden, pointless (no LD_PRELOAD) or impossible. What a
 * vfork child makes stays in its parent's memory when it execs: its thread keeps it and uses it for the next one.
 */
char *const *tfp_environment_make(struct tfp_environment *changed, char *const *environment, int is_spawn);
void tfp_environment_drop(struct tfp_environment *changed);

/*
 * Whether the calling thread is a vfork child's: libc keeps a thread's number with its stack; neither vfork nor clone change it, fork does.
 */
int tfp_thread_is_lent(void);

/* Setting ENV; takes note of whether LD_PRELOAD is what brought us here. Start-up only. */
void tfp_environment_allow(int is_allowed);

/* What TFPROF_PARENT, TFPROF_JOB say of us: zeros where they say nothing. Start-up only. */
struct tfp_descent {
	uint8_t job_id[16];
	uint64_t parent_log_id;
	uint32_t exec_count;
	uint32_t parent_pid; /* where parent_log_id is 0 and somebody between us keeps no log; 0 = the kernel's word stands */
	uint64_t parent_start;
};
void tfp_environment_descent(struct tfp_descent *descent);

/* This program is passed over: what it hands on to the programs that it starts. Once, before any of them. */
void tfp_environment_pass_on(const struct tfp_descent *descent);

#endif
