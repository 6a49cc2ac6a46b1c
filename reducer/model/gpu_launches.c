/* SPDX-License-Identifier: Apache-2.0 */
/* Launches by time. See gpu_launches.h. */
#include "reducer/model/gpu_launches.h"

#include "reducer/base/base.h"
#include "reducer/base/sorter.h"
#include "reducer/model/clock.h"
#include "reducer/model/gpu_clock.h"
#include "reducer/model/round.h"
#include "reducer/model/run.h"
#include "reducer/read/varint.h"

#include <stdlib.h>

#define CALLED_BYTES (16u << 20) /* of launches with a call in memory: 100 M of them then are merged in two rounds */
#define ALONE_BYTES (4u << 20)	 /* of those without: few, unless the calls were not recorded */
#define ENCODED_MOST 256u	 /* 13 numbers of at most 10 bytes, 5 bytes */

/* A launch that waits to be handed out. */
struct waiting {
	struct sorter *sorter;
	struct gpu_launch launch;
	bool is_read, is_at_end;
	struct clock_near host, device; /* launches come by time */
	struct gpu_clock_near device_clock;
};

struct gpu_launches {
	struct waiting called, alone; /* by ticks; those without a call by device time: each clock has its own order */
};

struct gpu_launches *gpu_launches_make(void)
{
	struct gpu_launches *launches = base_alloc(1, sizeof(*launches));

	launches->called.sorter = sorter_make(CALLED_BYTES, 0);
	launches->alone.sorter = sorter_make(ALONE_BYTES, 0);
	return launches;
}

void gpu_launches_free(struct gpu_launches *launches)
{
	if (!launches)
		return;
	sorter_free(launches->called.sorter);
	sorter_free(launches->alone.sorter);
	free(launches);
}

void gpu_launches_rest(struct gpu_launches *launches)
{
	sorter_rest(launches->called.sorter);
	sorter_rest(launches->alone.sorter);
}

static uint8_t *put_number(uint8_t *at, uint64_t number)
{
	for (; number >= 128; number >>= 7)
		*at++ = (uint8_t)(number | 128);
	*at++ = (uint8_t)number;
	return at;
}

/* The key holds the correlation id, and the call's begin or the device's start. GPU_NONE is written as 0. */
static size_t encode(uint8_t *bytes, const struct gpu_launch *launch)
{
	const uint32_t places[] = {launch->function, launch->shape, launch->queue, launch->kernel};
	uint8_t *at = bytes;

	at = put_number(at, launch->device_ns == TIME_UNKNOWN ? 0 : (uint64_t)launch->device_ns + 1);
	at = put_number(at, launch->host_duration_ns);
	at = put_number(at, launch->device_span_ns);
	at = put_number(at, launch->bytes);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		at = put_number(at, (uint32_t)(places[i] + 1));
	at = put_number(at, launch->thread);
	at = put_number(at, launch->op);
	at = put_number(at, launch->stack);
	at = put_number(at, launch->records);
	at = put_number(at, launch->graph);
	*at++ = launch->kind;
	*at++ = launch->pairing;
	*at++ = launch->reason;
	*at++ = launch->impossible;
	*at++ = launch->copy_kind;
	return (size_t)(at - bytes);
}

static void decode(struct gpu_launch *launch, const uint64_t *key, const uint8_t *at, bool is_called)
{
	uint64_t device = varint_take(&at);

	*launch = (struct gpu_launch){.host_ns = is_called ? (int64_t)key[0] : TIME_UNKNOWN, .correlation = key[1]};
	launch->device_ns = device ? (int64_t)(device - 1) : TIME_UNKNOWN;
	launch->host_duration_ns = varint_take(&at);
	launch->device_span_ns = varint_take(&at);
	launch->bytes = varint_take(&at);
	launch->function = (uint32_t)varint_take(&at) - 1;
	launch->shape = (uint32_t)varint_take(&at) - 1;
	launch->queue = (uint32_t)varint_take(&at) - 1;
	launch->kernel = (uint32_t)varint_take(&at) - 1;
	launch->thread = (uint32_t)varint_take(&at);
	launch->op = (uint32_t)varint_take(&at);
	launch->stack = (uint32_t)varint_take(&at);
	launch->records = (uint32_t)varint_take(&at);
	launch->graph = (uint32_t)varint_take(&at);
	launch->kind = *at++;
	launch->pairing = *at++;
	launch->reason = *at++;
	launch->impossible = *at++;
	launch->copy_kind = *at++;
}

void gpu_launches_put(struct gpu_launches *launches, const struct gpu_launch *launch)
{
	bool is_called = launch->host_ns != TIME_UNKNOWN;
	uint64_t key[SORTER_WORDS] = {is_called				    ? (uint64_t)launch->host_ns
				      : launch->device_ns == TIME_UNKNOWN ? 0
									    : (uint64_t)launch->device_ns,
				      launch->correlation};
	uint8_t bytes[ENCODED_MOST];

	sorter_put(is_called ? launches->called.sorter : launches->alone.sorter, key, bytes, encode(bytes, launch));
}

static void convert(const struct gpu *gpu, struct waiting *waiting)
{
	const struct process *process = gpu->clock->process;
	struct gpu_launch *launch = &waiting->launch;
	uint64_t origin = process->log->header.origin.ticks;

	if (launch->host_ns != TIME_UNKNOWN)
		launch->host_ns = clock_ns_near(process->clock, &waiting->host, origin + (uint64_t)launch->host_ns);
	launch->host_duration_ns = round_u64((double)launch->host_duration_ns * process->clock->ns_per_tick);
	if (launch->device_ns != TIME_UNKNOWN) {
		uint64_t ticks = gpu_clock_ticks_near(gpu->clock, &waiting->device_clock, (uint64_t)launch->device_ns);

		launch->device_ns = clock_ns_near(process->clock, &waiting->device, origin + ticks);
	}
}

static void read_on(const struct gpu *gpu, struct waiting *waiting, bool is_called)
{
	const uint64_t *key;
	const uint8_t *bytes;
	size_t length;

	if (waiting->is_read || waiting->is_at_end)
		return;
	bytes = sorter_next(waiting->sorter, &key, &length);
	waiting->is_at_end = !bytes;
	waiting->is_read = bytes != NULL;
	if (!bytes)
		return;
	decode(&waiting->launch, key, bytes, is_called);
	convert(gpu, waiting);
}

static bool is_before(const struct gpu_launch *a, const struct gpu_launch *b)
{
	int64_t from = a->host_ns == TIME_UNKNOWN ? a->device_ns : a->host_ns;
	int64_t to = b->host_ns == TIME_UNKNOWN ? b->device_ns : b->host_ns;

	return from != to ? from < to : a->correlation < b->correlation;
}

bool gpu_launches_next(const struct gpu *gpu, struct gpu_launch *launch)
{
	struct gpu_launches *launches = gpu->launches;
	struct waiting *first;

	if (!launches)
		return false;
	read_on(gpu, &launches->called, true);
	read_on(gpu, &launches->alone, false);
	first = launches->alone.is_read && (!launches->called.is_read || is_before(&launches->alone.launch, &launches->called.launch))
			? &launches->alone
			: &launches->called;
	if (!first->is_read)
		return false;
	*launch = first->launch;
	first->is_read = false;
	return true;
}
