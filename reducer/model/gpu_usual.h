/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual launch: a call that came before its one device record, both sane, nobody asking for a window or for Python's stacks. Private
 * to the model.
 *
 * Rule: a shorter road to what gpu_pair.c does, never another answer. What turns out to be unusual goes on as a flight
 * (gpu_usual_yield), as if it had been one from the start.
 */
#ifndef REDUCER_MODEL_GPU_USUAL_H
#define REDUCER_MODEL_GPU_USUAL_H

#include <stddef.h>
#include <stdint.h>

#define GPU_USUAL_FIRST 1024u /* slots of 96 bytes at first; a power of two */
#define GPU_USUAL_MOST 131072u /* 12 MiB: launches that wait for their device record; more of them become flights, which are larger */

struct gpu_scan;
struct gpu_call;
struct gpu_record;
struct gpu_kernels;
struct gpu_arguments;

/* A launch; the device's part is set once it is paired. */
struct gpu_usual_slot {
	uint64_t correlation;
	uint64_t begin, end;		 /* of the call, ticks */
	uint64_t key;			 /* of the device record */
	uint64_t start, duration, bytes; /* of the device record; bytes of the call's until then */
	uint32_t function, thread, op, stack, kernel, shape, queue;
	uint32_t born;			/* launches before it, modulo 2^32 */
	uint8_t kind, state, copy_kind; /* state: gpu_flight.state */
	uint8_t step;			/* 0 = free; private */
};

struct gpu_usual {
	struct gpu_usual_slot *slots; /* by correlation id modulo the room */
	uint32_t room;		      /* 0 = the road is closed */
	uint32_t launches;	      /* modulo 2^32 */
	uint64_t last;		      /* correlation id of the last call */
};

/* Opens the road where the options let it be; without memory it stays closed. */
void gpu_usual_begin(struct gpu_scan *scan);

/* A launch, copy or set was called, or a device record of these kinds came. Returns 1 when that is all there is to do. */
int gpu_usual_call(struct gpu_scan *scan, const struct gpu_call *call, const struct gpu_arguments *arguments);
int gpu_usual_record(struct gpu_scan *scan, const struct gpu_record *record);
/* The same of kernels from `from` on, of which nothing else is said. Returns the first for which there is more to do. */
size_t gpu_usual_kernels(struct gpu_scan *scan, const struct gpu_kernels *kernels, size_t from);

/* A launch of that id on this road, if there is one, becomes a flight. Before anybody looks for one. */
void gpu_usual_yield(struct gpu_scan *scan, uint64_t correlation);

/* What still waits becomes flights; what was paired leaves. */
void gpu_usual_end(struct gpu_scan *scan);
void gpu_usual_free(struct gpu_scan *scan);

#endif
