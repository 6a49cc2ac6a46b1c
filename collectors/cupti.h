/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI, the record of what devices did: when it is entered, what it is asked for, when it is left alone.
 *
 *   COLD --driver is up--> KNOWN --window opens--> ON (subscribed) --window closes, device done--> ON, kinds off
 *                            |                      |--another profiler asks--> YIELDED --it leaves--> KNOWN
 *                            `--> TAKEN (39)        |--CUPTI gives up--> FAILED
 *                            `--> REFUSED           `--process ends--> ENDED
 *
 * Rule: CUPTI is touched only after the driver was seen to work, and never again once it failed (on some hosts each call
 * of it recurses to death). No kind is enabled before the first window opens. A fork child is inert. Nothing here changes
 * what the host sees; what is not recorded is in the log with its reason: gpu_state records, notes, losses.
 */
#ifndef TFP_COLLECTORS_CUPTI_H
#define TFP_COLLECTORS_CUPTI_H

#include "collectors/cupti_api.h"
#include "writer/drain.h"

#include <stddef.h>
#include <stdint.h>

/* Of the settings, and what only preload/ may know. */
struct tfp_cupti_options {
	size_t buffer_bytes;
	uint32_t flush_ms;
	int is_graph_level;              /* a record for each graph that ran, not for each of its nodes */
	int is_all_api;                  /* callbacks for every function */
	int is_without_devices;          /* the user hides all of them: there is nothing to miss where CUPTI refuses */
	struct tfp_cupti_places places;  /* where CUPTI may lie */
	tfp_pthread_create *create;      /* the real one */
	void (*release)(void *);         /* the real free */
	void (*at_exit)(void);           /* has tfp_cupti_end called before CUDA's own exit handlers */
	void (*opened)(void);            /* the library is open, and nothing was asked of it yet */
	void *(*behind)(void *);         /* what is behind a function that was found in it */
	void (*describe)(void);          /* writes facts of the devices, as the driver has them */
};

/* Once per program, at start-up. Registers with collectors/gpu_calls.h. */
void tfp_cupti_begin(const struct tfp_cupti_options *options);

/* The driver works: we stand inside its cuInit (InitializeInjection), or a cuInit of ours succeeded. 0, or -1. */
int tfp_cupti_enter(void);

/*
 * A window opened or closed; whether one is open now is asked here, for edges are told in any order. may_call: the caller stands where
 * CUPTI may be entered, else our thread does it soon.
 */
void tfp_cupti_window(int may_call);

/* 32 bits of CUPTI's into 64. Any thread. */
uint64_t tfp_cupti_widen(uint32_t correlation);

/* 1 = device records come, 0 = none, -1 = another profiler holds CUPTI, -2 = the last came, the process ends. */
int tfp_cupti_is_recording(void);

/* The process is about to become one that we cannot work in (exec, a seccomp filter): what is complete is fetched, 0.5 s at most.
 * is_last: it dies (abort), so that buffers in which something is not complete are fetched, too. */
void tfp_cupti_fetch(int is_last);

/*
 * The process ends: what devices did is fetched, for 2 s at most in which it could run. May be called again; then only what came since
 * is read.
 */
void tfp_cupti_end(void);

/*
 * Another profiler of the host is about to subscribe, or to take CUPTI down: CUPTI is handed over. It has, or has not; it
 * subscribes no more, and has left where it asks for no kind of record either; it left, and all of it.
 */
int tfp_cupti_is_subscribed(void); /* by another one */
const void *tfp_cupti_used(uint32_t *version); /* a function of the copy that we were subscribed to, so the process's one; NULL = none */
void tfp_cupti_yield(void);
void tfp_cupti_yielded(int has_subscribed);
void tfp_cupti_unsubscribed(void);
void tfp_cupti_returned(void);

/*
 * One that needs no subscription: it is about to take CUPTI's buffers, or its clock, or to ask for records. Then what it did:
 * gave CUPTI a clock, asked for a kind or gave it up, had what is recorded handed over. It has left when it asks for no kind
 * any more and had the rest handed over.
 */
void tfp_cupti_yield_buffers(void);
void tfp_cupti_clocked(void *clock);
void tfp_cupti_asked(uint32_t kind, int is_wanted);
void tfp_cupti_flushed(void);

#endif
