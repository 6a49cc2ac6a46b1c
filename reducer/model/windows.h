/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stretches of a process's life in which events were recorded: capture windows, or all of it. Private to the model but for
 * windows_recorded_ns and windows_hold_all.
 */
#ifndef REDUCER_MODEL_WINDOWS_H
#define REDUCER_MODEL_WINDOWS_H

#include "reducer/model/run.h"

/* Puts a process's edges in order and sets process->ranges from them; its parent's must be set. Times are ns of the run. */
void windows_make_ranges(const struct run *run, struct process *process);

/* How much of [from_ns, to_ns) was recorded, ns. */
int64_t windows_recorded_ns(const struct process *process, int64_t from_ns, int64_t to_ns);

/* Whether recording was open from the process's start to its end: a window that never opened leaves no edge. */
bool windows_hold_all(const struct process *process);

/* The first edge at that time or behind it, window_count = none; ticks while the process is scanned. */
size_t windows_edge_at(const struct process *process, int64_t time);

#endif
