/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI is asked for: attributes, kinds of records, callbacks. See collectors/cupti.h.
 *
 * Rule: each refusal is noted once and harms nothing else; kernels are what the rest hangs on.
 */
#include "collectors/cupti_buffers.h"
#include "collectors/cupti_state.h"
#include "collectors/process.h"

#include "writer/records.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define DEVICE_BUFFER_BYTES (8u << 20) /* 3.2 MB is the default; fewer allocations in the launch path */
#define DEVICE_BUFFERS 32u             /* 256 MB of a device at most: better lose records than the job */

#define CLOCK_OFF_NS 1000000000 /* a clock that is further off is another one */

/* What we change of CUPTI as a whole, how long its value is, what it is usually; `least`: cuptiGetVersion that knows it. */
static const struct {
	uint32_t number, least;
	size_t bytes;
	uint64_t usual;
} attributes[TFP_CUPTI_SET] = {
	{TFP_CUPTI_DEVICE_BUFFER_SIZE, 0, sizeof(size_t), 3200000},
	{TFP_CUPTI_DEVICE_BUFFER_POOL_LIMIT, 0, sizeof(size_t), 250},
	{TFP_CUPTI_ZEROED_BUFFERS, 0, 1, 0},      /* promised by us alone: another one's buffers may not be */
	{TFP_CUPTI_PER_THREAD_BUFFERS, 21, 1, 0}, /* from 12.3 on; ours: 200 threads would hold 800 MB */
};

#define LAUNCH_KERNEL 211 /* of the runtime; every version knows it */

/* 51 stands in for the nodes of graphs. */
static const uint8_t kinds[] = {
#define TFP_CUPTI_KIND(number, words) (number),
#include "collectors/tables/cupti_kinds.def"
#undef TFP_CUPTI_KIND
};

static const char *const refusals[] = {
#define TFP_CUPTI_KIND(number, words) "CUPTI does not record " words ": result ",
#include "collectors/tables/cupti_kinds.def"
#undef TFP_CUPTI_KIND
};

static const uint8_t resources[] = {
	TFP_CUPTI_CONTEXT_CREATED, TFP_CUPTI_CONTEXT_DESTROYED, TFP_CUPTI_STREAM_CREATED, TFP_CUPTI_MODULE_LOADED,
	TFP_CUPTI_MODULE_UNLOADED, TFP_CUPTI_NODE_CREATED,      TFP_CUPTI_NODE_CLONED,
};

void tfp_cupti_pair(uint8_t tag, const char *name, const char *text, uint64_t number)
{
	char line[256];
	size_t length = tfp_length(text);

	if (length > sizeof line - TFP_NUMBER_ROOM - 1)
		length = sizeof line - TFP_NUMBER_ROOM - 1;
	tfp_copy(line, text, length);
	*tfp_write_number(line + length, number, 10) = 0;
	tfp_fact_pair(tag, name, line);
}

void tfp_cupti_note(const char *name, const char *text, uint64_t number)
{
	tfp_cupti_pair(TFP_TAG_note, name, text, number);
}

/* Asks first what it was: other profilers of the process, who come later, find that again. */
static void set_attribute(struct tfp_cupti *cupti, size_t index, const void *value)
{
	uint32_t attribute = attributes[index].number;
	size_t bytes = attributes[index].bytes, said = bytes;

	if (!cupti->api.set_attribute || cupti->api.version < attributes[index].least)
		return;
	if (!cupti->found.bytes[index]) {
		cupti->found.bytes[index] = bytes;
		if (!cupti->api.get_attribute || cupti->api.get_attribute(attribute, &said, &cupti->found.attributes[index]))
			cupti->found.attributes[index] = attributes[index].usual;
	}
	if (cupti->api.set_attribute(attribute, &bytes, (void *)(uintptr_t)value))
		tfp_cupti_note("cupti_attribute", "CUPTI refused attribute ", attribute);
}

static void set_attributes(struct tfp_cupti *cupti)
{
	static const uint64_t wanted[TFP_CUPTI_SET] = {DEVICE_BUFFER_BYTES, DEVICE_BUFFERS, 1, 0};

	for (size_t i = 0; i < TFP_CUPTI_SET; i++)
		set_attribute(cupti, i, &wanted[i]);
}

/* Device times in REALTIME again, as the log has them, where another profiler gave CUPTI a clock. 0, or a result. */
static uint32_t set_clock(struct tfp_cupti *cupti)
{
	uint64_t said = 0;

	if (!tfp_cupti_their_clock())
		return TFP_CUPTI_SUCCESS;
	uint32_t result = cupti->api.set_clock ? (uint32_t)cupti->api.set_clock(tfp_clock_realtime_ns) : TFP_CUPTI_UNKNOWN;
	if (!result)
		result = (uint32_t)cupti->api.timestamp(&said);
	int64_t off = (int64_t)(tfp_clock_realtime_ns() - said);
	if (!result && (off > CLOCK_OFF_NS || off < -CLOCK_OFF_NS))
		result = TFP_CUPTI_UNKNOWN;
	if (result)
		tfp_cupti_note("cupti_clock", "CUPTI keeps the clock of another profiler: its times mean nothing here. Result ", result);
	return result;
}

uint32_t tfp_cupti_prepare(struct tfp_cupti *cupti)
{
	if (tfp_cupti_buffers_make(tfp_cupti_options.buffer_bytes))
		return TFP_CUPTI_UNKNOWN;
	uint32_t result = set_clock(cupti);
	if (result)
		return result;
	if (cupti->api.get_thread_id_type)
		cupti->api.get_thread_id_type(&cupti->found.thread_id_type);
	if (cupti->api.thread_id_type)
		cupti->api.thread_id_type(1); /* gettid */
	tfp_cupti_measure(&cupti->api, &cupti->decoder.strides);
	set_attributes(cupti);
	return (uint32_t)cupti->api.register_callbacks(tfp_cupti_buffers_request, tfp_cupti_buffers_complete);
}

void tfp_cupti_restore(struct tfp_cupti *cupti)
{
	tfp_cupti_clock *clock = tfp_cupti_their_clock();

	for (size_t i = 0; i < TFP_CUPTI_SET; i++) {
		size_t bytes = cupti->found.bytes[i];
		if (bytes)
			cupti->api.set_attribute(attributes[i].number, &bytes, &cupti->found.attributes[i]);
		cupti->found.bytes[i] = 0;
	}
	if (cupti->api.thread_id_type)
		cupti->api.thread_id_type(cupti->found.thread_id_type);
	if (clock && cupti->api.set_clock)
		cupti->api.set_clock(clock);
}

static int is_asked(uint32_t kind)
{
	return kind != TFP_CUPTI_GRAPH_TRACE || tfp_cupti_options.is_graph_level;
}

uint32_t tfp_cupti_enable(struct tfp_cupti *cupti)
{
	static uint64_t noted; /* kinds whose refusal is in a log of this program; changed under is_busy */

	for (size_t i = 0; i < sizeof kinds; i++) {
		uint32_t kind = kinds[i];
		uint32_t result = is_asked(kind) ? (uint32_t)cupti->api.enable(kind) : TFP_CUPTI_SUCCESS;
		if (!result)
			continue;
		if (!(noted >> kind & 1)) {
			noted |= UINT64_C(1) << kind;
			tfp_cupti_note("cupti_kind", refusals[i], result);
		}
		if (kind == TFP_CUPTI_CONCURRENT_KERNEL)
			return result;
	}
	return TFP_CUPTI_SUCCESS;
}

void tfp_cupti_disable(struct tfp_cupti *cupti)
{
	for (size_t i = 0; i < sizeof kinds; i++)
		if (is_asked(kinds[i]))
			cupti->api.disable(kinds[i]);
}

/* 0 none, 1 launches alone (they are counted for windows to come), 2 all that we record. */
void tfp_cupti_ask_callbacks(struct tfp_cupti *cupti, int wanted)
{
	struct tfp_cupti_api *api = &cupti->api;
	uint32_t refused = TFP_CUPTI_SUCCESS;
	uint32_t before = __atomic_exchange_n((uint32_t *)&cupti->has_callbacks, (uint32_t)wanted, __ATOMIC_ACQ_REL);

	if (before == (uint32_t)wanted)
		return;
	for (const struct tfp_cupti_row *row = tfp_cupti_rows; row < tfp_cupti_rows + tfp_cupti_row_count; row++) {
		int is_wanted = wanted == 2 || (wanted && row->is_launch);
		uint32_t result = (uint32_t)api->enable_callback((uint32_t)is_wanted, cupti->subscriber, row->domain, row->cbid);
		if (result && !refused && row->domain == TFP_CUPTI_DOMAIN_RUNTIME && row->cbid == LAUNCH_KERNEL)
			refused = result;
	}
	cupti->is_deaf |= refused != TFP_CUPTI_SUCCESS;
	if (refused)
		tfp_cupti_note("cupti_callbacks", "CUPTI refuses callbacks: device work cannot be tied to the host's calls. Result ",
			       refused);
	for (size_t i = 0; i < sizeof resources; i++)
		api->enable_callback(wanted == 2, cupti->subscriber, TFP_CUPTI_DOMAIN_RESOURCE, resources[i]);
	api->enable_callback(wanted != 0, cupti->subscriber, TFP_CUPTI_DOMAIN_STATE, TFP_CUPTI_STATE_FATAL);
	if (tfp_cupti_options.is_all_api && api->enable_domain) {
		api->enable_domain(wanted == 2, cupti->subscriber, TFP_CUPTI_DOMAIN_RUNTIME);
		api->enable_domain(wanted == 2, cupti->subscriber, TFP_CUPTI_DOMAIN_DRIVER);
	}
}

/* Migrations and faults of managed memory: from the program's first such allocation on, since watching them costs a thread. */
void tfp_cupti_enable_managed(struct tfp_cupti *cupti)
{
	static const uint8_t counters[] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct tfp_cupti_managed_config configs[sizeof counters];
	int devices = tfp_cupti_devices();

	if (!cupti->api.managed_counters)
		return;
	uint32_t result = TFP_CUPTI_UNKNOWN;
	for (int device = 0; device < devices; device++) {
		for (size_t i = 0; i < sizeof counters; i++)
			configs[i] = (struct tfp_cupti_managed_config){1 /* this process, one device */, counters[i], (uint32_t)device, 1};
		result = (uint32_t)cupti->api.managed_counters(configs, 4); /* all devices have the first four */
		cupti->api.managed_counters(configs + 4, sizeof counters - 4);
	}
	if (!result)
		result = (uint32_t)cupti->api.enable(TFP_CUPTI_UNIFIED_MEMORY);
	tfp_cupti_note("cupti_managed", "Managed memory was used; recording its migrations and faults answered ", result);
}
