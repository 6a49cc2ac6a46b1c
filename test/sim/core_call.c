/* SPDX-License-Identifier: Apache-2.0 */
/*
 * API calls in progress, their correlation ids, and telling the subscriber.
 *
 * Rule: nothing here is called with the core's lock held; a call nested in another has the outer one's correlation id.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "inner.h"

static const struct sim_subscriber *_Atomic current_subscriber;
static const struct sim_subscriber *_Atomic claimed; /* the copy of libcupti that somebody is subscribed to */
static __thread struct sim_call *innermost;
static _Atomic uint32_t next_correlation;
static _Atomic bool is_correlation_set;

const struct sim_subscriber *sim_subscriber(void)
{
	return atomic_load_explicit(&current_subscriber, memory_order_acquire);
}

bool sim_subscribe(const struct sim_subscriber *subscriber)
{
	const struct sim_subscriber *owner = atomic_load(&claimed);

	if (subscriber && owner && owner != subscriber)
		return false;
	atomic_store(&current_subscriber, subscriber);
	return true;
}

bool sim_claim(const struct sim_subscriber *subscriber)
{
	const struct sim_subscriber *none = NULL;

	if (!atomic_compare_exchange_strong(&claimed, &none, subscriber) && none != subscriber)
		return false;
	atomic_store(&current_subscriber, subscriber);
	return true;
}

struct sim_call *sim_call_current(void)
{
	return innermost;
}

uint32_t sim_correlation(void)
{
	return innermost ? innermost->correlation : 0;
}

/* Correlation ids are never 0. */
static uint32_t new_correlation(void)
{
	uint32_t id;

	if (!atomic_load_explicit(&is_correlation_set, memory_order_relaxed)) {
		uint32_t zero = 0;

		atomic_compare_exchange_strong(&next_correlation, &zero, (uint32_t)sim_setting("correlation_first", 1));
		is_correlation_set = true;
	}
	do
		id = atomic_fetch_add_explicit(&next_correlation, 1, memory_order_relaxed);
	while (!id);
	return id;
}

void sim_call_enter(struct sim_call *call)
{
	const struct sim_subscriber *subscriber = sim_subscriber();
	struct sim_context *context = sim_context_current();

	call->outer = innermost;
	call->correlation = innermost ? innermost->correlation : new_correlation();
	if (innermost && innermost->is_per_thread)
		call->is_per_thread = true;
	call->context = context;
	call->context_id = context ? context->id : 0;
	call->thread = sim_thread_id();
	/* Who asks for times pays for them. */
	call->start = subscriber || sim_has_oracle() ? sim_clock_now() : 1;
	innermost = call;
	if (!call->outer)
		sim_clock_pass(SIM_NUMBER("host_ns", 1000));
	if (subscriber && subscriber->call)
		subscriber->call(call, false);
}

void sim_call_exit(struct sim_call *call)
{
	const struct sim_subscriber *subscriber = sim_subscriber();

	call->end = call->start > 1 ? sim_clock_now() : 1;
	if (!call->context && (call->context = sim_context_current()))
		call->context_id = call->context->id;
	if (subscriber && subscriber->call)
		subscriber->call(call, true);
	innermost = call->outer;
	if (sim_has_oracle())
		sim_oracle("call\t%u\t%u\t%u\t%u\t%s\t%llu\t%llu\t%d\t%d", call->thread, call->correlation, call->domain,
			call->cbid,
			   call->name, (unsigned long long)call->start, (unsigned long long)call->end, *call->result,
			   call->outer != NULL);
}

void sim_tell_memory(struct sim_memory *event)
{
	const struct sim_subscriber *subscriber = sim_subscriber();

	event->correlation = sim_correlation();
	event->timestamp = sim_clock_now();
	if (sim_has_oracle())
		sim_oracle("memory\t%u\t%u\t%u\t%u\t%d\t%u\t%u\t%llu\t%llu\t%llu\t%llu", sim_thread_id(), event->correlation,
			   event->operation, event->kind, event->device, event->context_id, event->stream_id,
			   (unsigned long long)event->address, (unsigned long long)event->bytes,
			   (unsigned long long)event->timestamp, (unsigned long long)(uintptr_t)event->pool);
	if (subscriber && subscriber->memory)
		subscriber->memory(event);
}

void sim_tell_resource(const struct sim_resource *resource)
{
	const struct sim_subscriber *subscriber = sim_subscriber();

	if (subscriber && subscriber->resource)
		subscriber->resource(resource);
}

void sim_tell_wait(struct sim_wait *wait)
{
	const struct sim_subscriber *subscriber = sim_subscriber();

	wait->correlation = sim_correlation();
	if (sim_has_oracle())
		sim_oracle("wait\t%u\t%u\t%u\t%u\t%u\t%u\t%llu\t%llu", sim_thread_id(), wait->correlation, wait->kind,
			wait->context_id,
			   wait->stream_id, wait->event_id, (unsigned long long)wait->start, (unsigned long long)wait->end);
	if (subscriber && subscriber->wait)
		subscriber->wait(wait);
}

void sim_tell_overhead(uint32_t kind, uint64_t start, uint64_t end)
{
	const struct sim_subscriber *subscriber = sim_subscriber();
	struct sim_overhead overhead = {.kind = kind, .correlation = sim_correlation(), .thread = sim_thread_id(),
		.start = start, .end = end};

	if (subscriber && subscriber->overhead)
		subscriber->overhead(&overhead);
}

void sim_tell_error(int result, const char *message)
{
	const struct sim_subscriber *subscriber = sim_subscriber();

	if (subscriber && subscriber->error)
		subscriber->error(result, message);
}

struct planted {
	const char *name;
	uint64_t *counts, number;
	int row, result;
};

static void look_for_fault(const char *value, void *user)
{
	struct planted *planted = user;
	char name[128];
	unsigned long long number;
	int code;

	if (sscanf(value, "%127s %llu %d", name, &number, &code) == 3 && !strcmp(name, planted->name)) {
		uint64_t count = __atomic_add_fetch(&planted->counts[planted->row], 1, __ATOMIC_RELAXED);

		if (count == number)
			planted->result = code;
	}
	planted->row++;
}

static void look_for_delay(const char *value, void *user)
{
	const struct planted *planted = user;
	struct timespec length;
	char name[128];
	long long ns;

	if (sscanf(value, "%127s %lld", name, &ns) != 2 || strcmp(name, planted->name))
		return;
	length = (struct timespec){ns / 1000000000, ns % 1000000000};
	nanosleep(&length, NULL);
}

int sim_call_planted(const struct sim_call *call)
{
	static uint64_t counts[1024];	/* one a line; the scenario has no more */
	struct planted planted = {.name = call->name, .counts = counts};

	sim_scenario_each("slow_call", look_for_delay, &planted);
	sim_scenario_each("fault_call", look_for_fault, &planted);
	return planted.result;
}
