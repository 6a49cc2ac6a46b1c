/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes that several analyses make: what the settings of a run left unrecorded.
 *
 * Rule: written from the log alone; one sentence each, with what to do.
 */
#ifndef REDUCER_TABLES_NOTES_H
#define REDUCER_TABLES_NOTES_H

#include "reducer/tables/request.h"

/* Says which process has taken the signal of TFPROF_SIGNAL for itself, as it was at its end. */
void notes_signal_taken(struct table *table, const struct request *request);

/* Did the malloc hooks count in this process? (MALLOC=off, WINDOW=off, allocators of the program's own and a log that is
 * cut off hide it.) */
bool process_has_heap(const struct process *process);

/* Was every wanted process to record in windows (setting WINDOW), none of which opened? */
bool notes_no_window(const struct request *request);

/* Says which wanted processes have no heap numbers and why, and whether the window left part of the run out. */
void notes_recording(struct table *table, const struct request *request);

/* Are all wanted processes made of files of other profilers? Then what we might have recorded says nothing. */
bool notes_is_foreign(const struct request *request);

/* Says of a table without rows, where that is so, that such a file does not tell of it; whether it is so. */
bool notes_not_in_file(struct table *table, const struct request *request);

/* Were events of a wanted process lost, or is a log damaged? Then what is not there may have been. */
bool notes_is_lossy(const struct request *request);

/* Says that blocks of which lost events told are in no row. */
void notes_lost_blocks(struct table *table, const struct request *request);

/* Says that of a heap whose releases were recorded in windows alone nobody knows what leaked. */
void notes_forgotten_blocks(struct table *table, const struct request *request);

/* Says which logs are not here, of those that the others tell of: ranks of the job, processes that started them. */
void notes_missing(struct table *table, const struct request *request);

/* Says why processes that were started apart are of one run, where that is so. */
void notes_started_apart(struct table *table, const struct request *request);

/* Says where several files of another profiler are of one process: what is called processes then are its recordings. */
void notes_recorded_again(struct table *table, const struct request *request);

/* Loops beside the steps that may be meant as well. */
void notes_aside(struct table *table, const struct request *request);

/* Says how the time of TensorFlow's collectives is known, where there are any. */
void notes_collectives(struct table *table, const struct request *request);

/* Of what kind the steps may be that were found where nothing was learnt. */
void notes_unit(struct table *table, const struct request *request);

/* Says whether live and peak of forked processes count what their parent held then: that depends on the mode. */
void notes_inherited(struct table *table, const struct request *request);

/* Does a framework's allocator tell of a clearly higher peak than that of the blocks in the log? */
bool notes_is_told_more(const struct account *account);

/* Says of which allocators blocks were live before the recording began: what they tell themselves is more than what was seen. */
void notes_told(struct table *table, const struct request *request);

/* Says how much address space was mapped without access, which is no memory. */
void notes_no_access(struct table *table, const struct request *request);
/* The same in one line, and only where it is most of what mmap allocated: without it that figure would be taken for memory. */
void notes_no_access_brief(struct table *table, const struct request *request);

/* Says that the heap's blocks lie in what a library that serves malloc in place of libc maps. */
void notes_below(struct table *table, const struct request *request);

/* Says of the process of which it is most that far more of its own was resident than was live, if that is so of any. */
void notes_apart(struct table *table, const struct request *request);

/* Says of which processes the heap's peak is smaller than what it is known to. */
void notes_small_peak(struct table *table, const struct request *request);

/* Says that sites or events were sampled, or not recorded at all, by the mode of the wanted processes. */
void notes_sampling(struct table *table, const struct request *request);

/* Whether a wanted process was to tell steps alone, no ops (OPS=steps). */
bool notes_is_steps_alone(const struct request *request);

/* Says of which wanted processes setting OPS left ops, or steps too, unrecorded. Whether that is so of any. */
bool notes_ops(struct table *table, const struct request *request);

/* Says why no allocator of a framework told its blocks one by one, and how each source is switched on. */
void notes_no_blocks(struct table *table, const struct request *request);

/* Says what of TensorFlow was not laid out as expected, and is not recorded for that. */
void notes_layouts(struct table *table, const struct request *request);

/* Says of which processes PyTorch told no op in their windows, though it was there. Whether that is so of any. */
bool notes_unheard(struct table *table, const struct request *request);

#endif
