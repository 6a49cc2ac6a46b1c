/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process does that its log must tell: it forks, starts programs, ends. Rule: appends only; closes nothing.
 */
#ifndef TFP_COLLECTORS_PROCESS_H
#define TFP_COLLECTORS_PROCESS_H

#include "writer/format.h"

#include <stddef.h>
#include <stdint.h>

/* Before and after a fork in the parent; child is what fork returned (negative: it failed). */
void tfp_process_forking(void);
void tfp_process_forked(int child);

/*
 * The same where a signal handler that interrupted a hook of this thread forks: the child lives on, without a recorder.
 * Returns whether it is so, and then forked_inside comes after the fork, in both processes, with what fork returned.
 */
int tfp_process_forks_inside(void);

/*
 * A handler may also fork in the middle of a call that only counts (collectors/heap_usual.h), and its child records as any
 * other: in every child, with what tfp_process_counters returned in the parent.
 */
uintptr_t tfp_process_counters(void);
void tfp_process_in_child(uintptr_t counters);
void tfp_process_forked_inside(int child);

/* This process is about to run `path` in its place. Returns whether the log says so (undo with tfp_process_exec_failed). */
int tfp_process_execing(const char *path);
void tfp_process_exec_failed(void);

/* posix_spawn returned; child is 0 when it failed. */
void tfp_process_spawned(int child, const char *path);

/*
 * A program is started (1; -1: it was not after all) with an environment that does not name us. A fork child without a log has it
 * counted in its parent's, whose it still is. Returns whether it is counted.
 */
int tfp_process_unfollowed(int count);

/* A wait said that a signal killed this child; status is waitpid's. */
void tfp_process_child_killed(int child, int status);

/* The process ends of its own will. Any thread, any context. */
void tfp_process_ending(enum tfp_end_kind kind, int status);

/*
 * This process is about to forbid itself system calls (seccomp), is_strict: in strict mode; the time of the log goes on as far
 * as it can. allowed: it did not come to that.
 */
void tfp_process_forbidding(int is_strict);
void tfp_process_allowed(void);

/* This process is about to forbid itself the counter that ticks are read from (PR_SET_TSC). */
void tfp_process_leaves_counter(void);

/* Writes a string fact unless this process wrote it before; its hash, for records. Any thread, any context. */
uint64_t tfp_string_id(const char *text);

/* Facts by one and by two texts: TFP_TAG_host, TFP_TAG_note, TFP_TAG_environment, ... */
void tfp_fact_pair(uint8_t tag, const char *name, const char *value);

/* What is recorded of a framework: `how` is on, partly or absent; `detail` says what, or why not. Nothing before there is a log. */
void tfp_fact_framework(const char *name, const char *how, const char *detail);

#endif
