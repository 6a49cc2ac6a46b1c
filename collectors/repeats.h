/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that nobody marks, found while the program runs, so that step windows (TFPROF_WINDOW=step:N-M) open for them as well: what
 * repeats among a thread's calls.
 *
 * A call is a word: its function, the place that it was made from, the Python stack. Three equal rounds of words make a step; it begins
 * with the word that came first of all those that stand in a round once, and its number is how often that word has come. Where they take
 * less than a millisecond, a longer round that holds several of them takes their place (layers, then a whole step, which an epoch would
 * look like) until a window has been open. Once they have not come for two rounds (where a window was open: for longer than they came for,
 * since evaluation may lie between), what repeats now takes their place, with numbers of its own, and windows open for it as well: layers
 * that are initialized one after the other come before most loops.
 * Rule: only where a window of steps is awaited, nobody who is trusted more has marked a step, and for one thread: the one that makes
 * most calls. The reader finds steps by itself, with the whole log before it (reducer/model/periods.h); these count where they are.
 *
 *   collectors/jax.c, gpu_state.c  calls  ->  here: steps  ->  collectors/ranges.c: marks  ->  window.c
 */
#ifndef TFP_COLLECTORS_REPEATS_H
#define TFP_COLLECTORS_REPEATS_H

#include "writer/stream.h"

/* Whether calls are to be told. Cleared for good when a loop went on long behind the last window, or another source marks a step. */
extern _Atomic uint32_t tfp_repeats_is_wanted TFP_HIDDEN;

/* Start-up only, after tfp_window_begin. A fork child goes on where its parent was. */
void tfp_repeats_begin(void);

/* The thread is about to make this call: opens or closes windows of steps. Outside of any record of the thread's. */
void tfp_repeats_call(struct tfp_thread *thread, uint64_t call);

/*
 * The thread's next word, at a time in units of which `second` are a second; returns the number of the step that begins with it, from 1,
 * or 0. Any thread; `thread` is only compared.
 */
uint64_t tfp_repeats_step(const void *thread, uint64_t word, uint64_t now, uint64_t second);

/* In a fork child, before its first call: a thread that was in here does not exist in it. */
void tfp_repeats_forked(void);

/* A window of steps was open: which calls make a step stays as it is, until they have not come for long. */
void tfp_repeats_settle(void);

#endif
