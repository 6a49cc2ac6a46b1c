/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the fake libcupti: what its files share.
 *
 * Rule: sim_cupti.lock guards all of struct sim_cupti but the words marked otherwise. Order of locks: delivery, then
 * lock. The request callback of the client runs under lock and its complete callback under delivery, as the vendor's
 * library does it: a client that holds a lock of its own around a flush and takes it in a callback hangs here too.
 */
#ifndef TEST_SIM_CUPTI_STATE_H
#define TEST_SIM_CUPTI_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"
#include "cupti_layout.h"

#define SIM_API __attribute__((visibility("default")))

/* CUptiResult */
enum sim_cupti_result {
	SIM_CUPTI_OK = 0,
	SIM_CUPTI_INVALID_PARAMETER = 1,
	SIM_CUPTI_INVALID_DEVICE = 2,
	SIM_CUPTI_INVALID_CONTEXT = 3,
	SIM_CUPTI_INVALID_OPERATION = 7,
	SIM_CUPTI_SIZE_TOO_SMALL = 8,
	SIM_CUPTI_LIMIT_REACHED = 12,
	SIM_CUPTI_NOT_READY = 13,
	SIM_CUPTI_NOT_COMPATIBLE = 14,
	SIM_CUPTI_NOT_INITIALIZED = 15,
	SIM_CUPTI_QUEUE_EMPTY = 17,
	SIM_CUPTI_INVALID_KIND = 21,
	SIM_CUPTI_NOT_SUPPORTED = 27,
	SIM_CUPTI_LEGACY = 38,
	SIM_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	SIM_CUPTI_UNKNOWN = 999,
};

enum {
	SIM_DOMAINS = 7, /* DRIVER 1, RUNTIME 2, RESOURCE 3, SYNCHRONIZE 4, NVTX 5, STATE 6 */
	SIM_CALLBACKS = 1024, /* more than any domain has */
	SIM_ATTRIBUTES = 32,
	SIM_EXTERNAL_KINDS = 8,
	SIM_EXTERNAL_DEPTH = 64,
};

enum sim_attribute {
	SIM_DEVICE_BUFFER_SIZE = 0,
	SIM_DEVICE_BUFFER_SIZE_CDP = 1,
	SIM_DEVICE_BUFFER_POOL_LIMIT = 2,
	SIM_ZEROED_OUT_ACTIVITY_BUFFER = 5,
	SIM_DEVICE_BUFFER_PRE_ALLOCATE = 6,
	SIM_MEM_ALLOCATION_TYPE_HOST_PINNED = 8,
	SIM_PER_THREAD_ACTIVITY_BUFFER = 9,
	SIM_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS = 10,
};

typedef void (*sim_request_function)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*sim_complete_function)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef void (*sim_callback_function)(void *user, int domain, uint32_t callback_id, const void *data);

/* A buffer of the client while it is ours. */
struct sim_buffer {
	struct sim_buffer *next;
	uint8_t *memory;
	size_t size, used, max_records, records;
	bool has_kernel;
};

/* Where records of one thread go; one lane for all when the attribute for buffers of each thread is off. */
struct sim_lane {
	struct sim_lane *next;
	uint32_t thread;
	struct sim_buffer *current;
};

struct sim_cupti {
	pthread_mutex_t delivery, lock;
	sim_request_function request;
	sim_complete_function complete;
	struct sim_lane *lanes;
	struct sim_buffer *full; /* complete buffers, first in first out */
	struct sim_buffer **full_end;
	size_t dropped;
	uint32_t flush_period_ms;
	pthread_cond_t wake; /* of the worker */
	bool has_worker;
	_Atomic bool is_stopping;
	size_t attributes[SIM_ATTRIBUTES];
	/* Read without the lock: set by one call of the client, atomically. */
	_Atomic uint8_t kinds[SIM_KIND_COUNT];
	_Atomic uint8_t callbacks[SIM_DOMAINS][SIM_CALLBACKS];
	_Atomic uint8_t api_filter[3][SIM_CALLBACKS]; /* of the kinds DRIVER and RUNTIME: 1 on, 2 off, 0 by the kind */
	_Atomic(sim_callback_function) callback;
	void *_Atomic user;
	uint64_t (*_Atomic timestamp)(void);
	_Atomic uint32_t thread_id_type; /* 1 system */
	_Atomic bool has_latency, has_all_waits, has_event_times, is_dead;
};

extern struct sim_cupti sim_cupti;

/* Stack of external ids of a thread, by CUpti_ExternalCorrelationKind. */
struct sim_external {
	int depth[SIM_EXTERNAL_KINDS];
	uint64_t ids[SIM_EXTERNAL_KINDS][SIM_EXTERNAL_DEPTH];
};
extern __thread struct sim_external sim_external;

/* ---- cupti_api.c ---- */
/* What every function returns where CUPTI cannot work: SIM_CUPTI_OK when it can. Settles the release; ends the process as 13.2 does. */
int sim_cupti_ready(void);
/* Listens to the core; once. */
void sim_cupti_listen(void);
static inline bool sim_kind_is_on(uint32_t kind)
{
	return atomic_load_explicit(&sim_cupti.kinds[kind], memory_order_relaxed);
}

/* ---- cupti_buffer.c ---- */
/* A buffer must be there before the work is (launching thread). thread: kernel id. */
void sim_buffer_prepare(uint32_t thread);
/* Appends a record; drops and counts it when the client has no buffer. */
void sim_buffer_append(uint32_t thread, const void *record, size_t bytes);
/* Gives all buffers with records to the client, on this thread. */
void sim_buffer_flush(void);
void sim_buffer_stop(void);
size_t sim_buffer_take_dropped(void);

/* ---- cupti_records.c ---- */
void sim_record_work(const struct sim_work *work, bool is_forced);
void sim_record_call(const struct sim_call *call);
void sim_record_wait(const struct sim_wait *wait);
void sim_record_memory(const struct sim_memory *memory);
void sim_record_pool(const struct sim_pool_event *event);
void sim_record_jit(const struct sim_jit *jit);
void sim_record_overhead(const struct sim_overhead *overhead);
void sim_record_managed(const struct sim_unified *unified);
void sim_record_module(const struct sim_resource *resource);
void sim_record_device(int ordinal);
void sim_record_context(const struct sim_context_info *info, void *user);
void sim_record_stream(const struct sim_stream_info *info, void *user);
/* A time as the client wants it: its timestamp callback applied. */
uint64_t sim_record_time(uint64_t ns);

/* ---- cupti_flight.c: work that has not ended, and records held back ---- */
void sim_flight_begin(const struct sim_work *work);
void sim_flight_end(const struct sim_work *work);
/* Writes what has not ended yet with end 0; it is not delivered again. */
void sim_flight_force(void);
/* A finished record on its way to a buffer, after the faults have had it. */
void sim_flight_record(uint32_t thread, void *record, size_t bytes);
/* Releases what a fault holds back; is_all: also what is not due. */
void sim_flight_release(bool is_all);
/* Time until something held back is due, ns; UINT64_MAX = nothing. */
uint64_t sim_flight_due(void);

/* ---- cupti_faults.c ---- */
enum sim_fault_name {
#define SIM_FAULT(name, what) SIM_FAULT_##name,
#include "cupti_faults.def"
#undef SIM_FAULT
	SIM_FAULT_COUNT
};
uint64_t sim_fault(enum sim_fault_name fault); /* its setting, 0 without one */
/* True at every Nth call, N = the setting. counter: one a place. */
bool sim_fault_every(enum sim_fault_name fault, _Atomic uint64_t *counter);
void sim_fault_launch(void); /* a launch was made: faults that wait for the Nth */
int sim_fault_subscribe(void); /* code for cuptiSubscribe, 0 = go on */
int sim_fault_enable(uint32_t kind); /* setting fault_enable_<kind>: the code */
/* Delivery: what happens to a complete buffer. */
enum sim_fate { SIM_DELIVER, SIM_KEEP };
enum sim_fate sim_fault_deliver(struct sim_buffer *buffer);
void sim_fault_flush(void);
uint64_t sim_fault_worker_stall(void); /* ns the worker is to sleep from now */
/* Changes a device record's times; returns how often it is to be delivered (0 lost, 2 twice). */
int sim_fault_record(uint32_t thread, void *record, enum sim_family family);
const char *sim_fault_kernel_name(const struct sim_kernel_work *kernel);
void sim_fault_module_unloaded(const struct sim_resource *resource);
size_t sim_fault_longer(void); /* bytes that records are longer than the release says */

#endif
