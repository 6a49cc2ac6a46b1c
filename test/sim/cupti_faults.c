/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes wrong in the fake libcupti, on request of the scenario. README.md lists the settings.
 *
 * Rule: every fault is counted where it happens and told to the oracle as a line `fault NAME CORRELATION`, so that a test
 * can compare what the profiler says with what was done to it. (fault lines: NAME, correlation id or 0)
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cupti_state.h"

enum { NAMES = 4096 };

static uint64_t faults[SIM_FAULT_COUNT]; /* written once, by load */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	static const char *const keys[] = {
#define SIM_FAULT(name, what) "fault_" #name,
#include "cupti_faults.def"
#undef SIM_FAULT
	};

	for (unsigned i = 0; i < SIM_FAULT_COUNT; i++)
		faults[i] = sim_setting(keys[i], 0);
}

uint64_t sim_fault(enum sim_fault_name fault)
{
	pthread_once(&once, load);
	return faults[fault];
}

bool sim_fault_every(enum sim_fault_name fault, _Atomic uint64_t *counter)
{
	uint64_t every = sim_fault(fault);

	return every && (atomic_fetch_add(counter, 1) + 1) % every == 0;
}

static void tell(const char *name, uint32_t correlation)
{
	sim_oracle("fault\t%s\t%u", name, correlation);
}

/* ---- subscribing and enabling ---- */

static _Atomic uint64_t launches; /* made in this process while somebody listened */

int sim_fault_subscribe(void)
{
	uint64_t leaves = sim_fault(SIM_FAULT_subscriber_leaves); /* after that many attempts of ours; 0 = never */
	static _Atomic uint64_t attempts;

	if (sim_fault(SIM_FAULT_subscribe))
		return (int)sim_fault(SIM_FAULT_subscribe);
	if (!sim_fault(SIM_FAULT_subscriber_taken))
		return SIM_CUPTI_OK;
	return leaves && atomic_fetch_add(&attempts, 1) >= leaves ? SIM_CUPTI_OK : SIM_CUPTI_MULTIPLE_SUBSCRIBERS;
}

int sim_fault_enable(uint32_t kind)
{
	char key[32];

	if (sim_fault(SIM_FAULT_privileges))
		return 35;
	snprintf(key, sizeof(key), "fault_enable_%u", kind);
	return (int)sim_setting(key, 0);
}

/* The buffers of the client that took ours away. */
static void thief_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 1 << 20;
	*buffer = calloc(1, *size);
	*max_records = 0;
}

static void thief_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	/* Not freed: some are of the client that was robbed. */
	(void)context, (void)stream, (void)buffer, (void)size, (void)valid;
}

/* Another client registers its own callbacks, as older releases allow: the last one wins. */
static void steal(void)
{
	pthread_mutex_lock(&sim_cupti.lock);
	sim_cupti.request = thief_request;
	sim_cupti.complete = thief_complete;
	pthread_mutex_unlock(&sim_cupti.lock);
	tell("steals", 0);
}

static void fatal_state(void)
{
	struct {
		int result;
		const char *message;
	} data = {SIM_CUPTI_UNKNOWN, "simulated fatal error"};
	sim_callback_function callback = atomic_load(&sim_cupti.callback);

	tell("fatal_state", 0);
	if (callback && atomic_load(&sim_cupti.callbacks[6][1]))
		callback(atomic_load(&sim_cupti.user), 6, 1, &data);
	atomic_store(&sim_cupti.is_dead, true);
}

void sim_fault_launch(void)
{
	uint64_t now = atomic_fetch_add(&launches, 1) + 1;

	if (sim_fault(SIM_FAULT_subscriber_steals) == now)
		steal();
	if (sim_fault(SIM_FAULT_fatal_state) == now)
		fatal_state();
}

/* ---- buffers ---- */

enum sim_fate sim_fault_deliver(struct sim_buffer *buffer)
{
	static _Atomic uint64_t kept, emptied, cut, delivered;

	if (sim_fault(SIM_FAULT_kill_delivery) && buffer->has_kernel &&
	    atomic_fetch_add(&delivered, 1) + 1 == sim_fault(SIM_FAULT_kill_delivery))
		raise(SIGKILL);
	if (sim_fault_every(SIM_FAULT_keep_buffer, &kept)) {
		sim_oracle("fault\tkeep_buffer\t%zu", buffer->records);
		return SIM_KEEP;
	}
	if (sim_fault_every(SIM_FAULT_empty_buffer, &emptied)) {
		sim_oracle("fault\tempty_buffer\t%zu", buffer->records);
		buffer->used = 0;
	}
	if (buffer->used && sim_fault_every(SIM_FAULT_cut_buffer, &cut)) {
		tell("cut_buffer", 0);
		buffer->used -= 12; /* in the middle of the last record, and no multiple of 8 */
	}
	return SIM_DELIVER;
}

void sim_fault_flush(void)
{
	uint64_t slow = sim_fault(SIM_FAULT_slow_flush_ms);

	if (slow)
		nanosleep(&(struct timespec){(time_t)(slow / 1000), (long)(slow % 1000 * 1000000)}, NULL);
}

uint64_t sim_fault_worker_stall(void)
{
	static _Atomic bool has_stalled;
	uint64_t stall = sim_fault(SIM_FAULT_worker_stall_ms);

	return stall && !atomic_exchange(&has_stalled, true) ? stall * UINT64_C(1000000) : 0;
}

size_t sim_fault_longer(void)
{
	return sim_fault(SIM_FAULT_longer) / 8 * 8;
}

/* ---- records ---- */

static uint64_t word_at(const void *record, unsigned at)
{
	uint64_t word;

	memcpy(&word, (const char *)record + at, sizeof(word));
	return word;
}

static void set_word(void *record, unsigned at, uint64_t word)
{
	memcpy((char *)record + at, &word, sizeof(word));
}

/* Where device records keep start, end and correlation, by family; start 0 = not one of them. */
static const struct {
	uint8_t start, end, correlation;
} places[SIM_FAMILY_COUNT] = {
	[SIM_FAMILY_kernel] = {SIM_AT_kernel_start, SIM_AT_kernel_end, SIM_AT_kernel_correlation},
	[SIM_FAMILY_memcpy] = {SIM_AT_memcpy_start, SIM_AT_memcpy_end, SIM_AT_memcpy_correlation},
	[SIM_FAMILY_peer] = {SIM_AT_peer_start, SIM_AT_peer_end, SIM_AT_peer_correlation},
	[SIM_FAMILY_memset] = {SIM_AT_memset_start, SIM_AT_memset_end, SIM_AT_memset_correlation},
	[SIM_FAMILY_graph] = {SIM_AT_graph_start, SIM_AT_graph_end, SIM_AT_graph_correlation},
};

/* A record of a kind that nobody knows, or one of kind 0, which ends what can be read of its buffer: the one of that thread's work. */
static void add_strange(uint32_t thread)
{
	static _Atomic uint64_t unknown, invalid;
	uint64_t record[9] = {0};

	if (sim_fault_every(SIM_FAULT_unknown_kind, &unknown)) {
		record[0] = SIM_KIND_COUNT - 1;
		tell("unknown_kind", 0);
		sim_buffer_append(thread, record, sizeof(record));
	}
	if (sim_fault_every(SIM_FAULT_invalid_kind, &invalid)) {
		record[0] = 0;
		tell("invalid_kind", 0);
		sim_buffer_append(thread, record, sizeof(record));
	}
}

/* The device's buffers are exhausted for records FROM to UNTIL: their times are 0. */
static bool is_exhausted(void)
{
	static _Atomic uint64_t count;
	uint64_t from = sim_fault(SIM_FAULT_exhausted_from), now;

	if (!from)
		return false;
	now = atomic_fetch_add(&count, 1) + 1;
	return now >= from && now < from + sim_fault(SIM_FAULT_exhausted_for);
}

static void bend_times(void *record, enum sim_family family, uint32_t correlation)
{
	static _Atomic uint64_t zeroed, inverted, early;
	unsigned start = places[family].start, end = places[family].end;

	if (is_exhausted() || sim_fault_every(SIM_FAULT_zero_times, &zeroed)) {
		tell("zero_times", correlation);
		set_word(record, start, 0);
		set_word(record, end, 0);
	} else if (sim_fault_every(SIM_FAULT_inverted, &inverted)) {
		uint64_t was = word_at(record, start);

		tell("inverted", correlation);
		set_word(record, start, word_at(record, end) + 1);
		set_word(record, end, was);
	} else if (sim_fault_every(SIM_FAULT_early, &early)) {
		tell("early", correlation); /* an hour before it was launched */
		set_word(record, start, word_at(record, start) - UINT64_C(3600000000000));
		set_word(record, end, word_at(record, end) - UINT64_C(3600000000000));
	}
}

int sim_fault_record(uint32_t thread, void *record, enum sim_family family)
{
	static _Atomic uint64_t missing, dropped, doubled;
	uint32_t correlation;

	if (family >= SIM_FAMILY_COUNT || !places[family].end)
		return 1;
	correlation = (uint32_t)word_at(record, places[family].correlation);
	add_strange(thread);
	if (sim_fault_every(SIM_FAULT_missing, &missing)) {
		tell("missing", correlation);
		return 0;
	}
	if (sim_fault_every(SIM_FAULT_drop, &dropped)) {
		tell("drop", correlation);
		pthread_mutex_lock(&sim_cupti.lock);
		sim_cupti.dropped++;
		pthread_mutex_unlock(&sim_cupti.lock);
		return 0;
	}
	bend_times(record, family, correlation);
	if (sim_fault_every(SIM_FAULT_duplicate, &doubled)) {
		tell("duplicate", correlation);
		return 2;
	}
	return 1;
}

/* ---- names of kernels ---- */

static struct {
	const char *name;
	char *copy;
	uint32_t module;
} names[NAMES];
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER; /* guards names */

/* A copy that dies with the module. */
static const char *mortal_name(const struct sim_kernel_work *kernel)
{
	const char *found = kernel->name;

	pthread_mutex_lock(&names_lock);
	for (size_t i = 0; kernel->name && i < NAMES; i++) {
		if (names[i].copy && (names[i].name != kernel->name || names[i].module != kernel->module_id))
			continue;
		if (!names[i].copy) {
			names[i].name = kernel->name;
			names[i].module = kernel->module_id;
			names[i].copy = strdup(kernel->name);
		}
		found = names[i].copy;
		break;
	}
	pthread_mutex_unlock(&names_lock);
	return found;
}

const char *sim_fault_kernel_name(const struct sim_kernel_work *kernel)
{
	static _Atomic uint64_t nameless;

	if (sim_fault_every(SIM_FAULT_null_name, &nameless)) {
		tell("null_name", sim_correlation());
		return NULL;
	}
	return sim_fault(SIM_FAULT_names_freed) ? mortal_name(kernel) : kernel->name;
}

void sim_fault_module_unloaded(const struct sim_resource *resource)
{
	if (!sim_fault(SIM_FAULT_names_freed))
		return;
	pthread_mutex_lock(&names_lock);
	for (size_t i = 0; i < NAMES; i++) {
		if (!names[i].copy || names[i].module != resource->module_id)
			continue;
		/* The memory now holds something else; it is not given back, so that a reader sees it for sure. */
		memset(names[i].copy, '#', strlen(names[i].copy));
		names[i].module = SIM_NONE;
		tell("names_freed", 0);
	}
	pthread_mutex_unlock(&names_lock);
}
