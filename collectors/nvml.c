/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of devices; see collectors/nvml.h. */
#include "collectors/nvml.h"

#include "collectors/process.h"
#include "collectors/window.h"
#include "writer/drain.h"
#include "writer/store.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define DEVICES 16u    /* of one machine; a process that sees more has the first ones */
#define PROCESSES 512u /* on one device; of more only the number is told */
#define MEMORY_VERSION ((uint32_t)sizeof(struct tfp_nvml_memory) | 2u << 24)
#define UNKNOWN_STATE 32u /* NVML_PSTATE_UNKNOWN */

enum reading {
#define TFP_READING(number, name, subject, kind, unit, help) READ_##name = (number),
#include "collectors/tables/readings.def"
#undef TFP_READING
};

enum { CLOCK_GRAPHICS = 0, CLOCK_SM = 1, CLOCK_MEMORY = 2 }; /* nvmlClockType_t */
enum { UNCORRECTED = 1, SINCE_DRIVER = 0 };		     /* nvmlMemoryErrorType_t, nvmlEccCounterType_t */

struct device {
	void *handle;
	uint32_t number;
	uint32_t is_lost;
	uint32_t given_up; /* bit set: that question is not asked again */
};

enum phase { COLD = 0, READING = 1, NONE = 2 };

/* In pages that a fork child finds empty. Our thread alone. */
struct tfp_nvml {
	uint32_t phase;
	uint32_t device_count;
	uint64_t next; /* ticks since origin */
	struct tfp_nvml_api api;
	struct device devices[DEVICES];
	char uuids[DEVICES][48], text[96];
	struct tfp_nvml_process processes[PROCESSES];
};

/* What one device is being asked. */
struct asking {
	struct tfp_nvml *nvml;
	struct device *device;
	struct tfp_thread *thread;
	struct tfp_lane *lane;
	uint64_t now;
	uint32_t field; /* number of the question, in the order in which they are asked */
};

static uint32_t period_ms;	  /* written at start-up, kept across fork */
static struct tfp_nvml *nvml_now; /* written by our thread; kept across fork, what it points to is not */

void tfp_nvml_begin(uint32_t milliseconds)
{
	period_ms = milliseconds;
}

static void put(const struct asking *asking, enum reading kind, uint64_t value)
{
	TFP_PUT(asking->thread, asking->lane, asking->now, reading, .value = value, .subject = asking->device->number,
		.kind = (uint16_t)kind);
}

/* Whether the next question can be asked: the library has it, and it was not given up. */
static int asks(struct asking *asking, int is_there)
{
	asking->field++;
	return is_there && !asking->device->is_lost && !(asking->device->given_up >> asking->field & 1);
}

/* What NVML said to the question. 1: it answered. What cannot be had is not asked again, and said unless it is no feature. */
static int answers(struct asking *asking, int result)
{
	if (result == TFP_NVML_SUCCESS)
		return 1;
	if (result == TFP_NVML_GPU_IS_LOST)
		asking->device->is_lost = 1;
	asking->device->given_up |= UINT32_C(1) << asking->field;
	if (result != TFP_NVML_NOT_SUPPORTED && result != TFP_NVML_FUNCTION_NOT_FOUND)
		put(asking, READ_nvml_error, (uint64_t)result);
	return 0;
}

/* One question of one number, by its row. CALL uses `value` as the place of the answer. */
#define ASK(type, function, kind, call)                                                                                          \
	do {                                                                                                                     \
		type value = 0;                                                                                                  \
		if (asks(asking, asking->nvml->api.function != NULL) && answers(asking, asking->nvml->api.function call))        \
			put(asking, kind, value);                                                                                \
	} while (0)

static void ask_numbers(struct asking *asking)
{
	void *handle = asking->device->handle;

	ASK(uint32_t, clock, READ_sm_clock, (handle, CLOCK_SM, &value));
	ASK(uint32_t, clock, READ_memory_clock, (handle, CLOCK_MEMORY, &value));
	ASK(uint32_t, clock, READ_graphics_clock, (handle, CLOCK_GRAPHICS, &value));
	ASK(uint32_t, clock_max, READ_sm_clock_max, (handle, CLOCK_SM, &value));
	ASK(uint32_t, power, READ_power, (handle, &value));
	ASK(uint32_t, power_limit, READ_power_limit, (handle, &value));
	ASK(uint32_t, temperature, READ_temperature, (handle, 0, &value));
	ASK(uint64_t, reasons, READ_throttle_reasons, (handle, &value));
	ASK(uint64_t, energy, READ_energy, (handle, &value));
	ASK(uint32_t, pcie_generation, READ_pcie_generation, (handle, &value));
	ASK(uint32_t, pcie_width, READ_pcie_width, (handle, &value));
	ASK(uint64_t, ecc, READ_ecc_errors, (handle, UNCORRECTED, SINCE_DRIVER, &value));
}

static void ask_use(struct asking *asking)
{
	const struct tfp_nvml_api *api = &asking->nvml->api;
	uint32_t rates[2] = {0, 0}, state = 0;

	if (asks(asking, api->rates != NULL) && answers(asking, api->rates(asking->device->handle, rates))) {
		put(asking, READ_busy_percent, rates[0]);
		put(asking, READ_memory_busy_percent, rates[1]);
	}
	if (asks(asking, api->state != NULL) && answers(asking, api->state(asking->device->handle, &state)) &&
	    state != UNKNOWN_STATE)
		put(asking, READ_performance_state, state);
}

static void ask_memory(struct asking *asking)
{
	const struct tfp_nvml_api *api = &asking->nvml->api;
	struct tfp_nvml_memory memory = {.version = MEMORY_VERSION};
	uint64_t old[3] = {0, 0, 0}; /* nvmlMemory_t: total, free, used; the driver's reserve counts as used */

	if (asks(asking, api->memory_v2 != NULL) && answers(asking, api->memory_v2(asking->device->handle, &memory))) {
		put(asking, READ_memory_reserved, memory.reserved);
		old[0] = memory.total;
		old[1] = memory.available;
		old[2] = memory.used + memory.reserved;
		asking->field++;
	} else if (!asks(asking, api->memory != NULL) || !answers(asking, api->memory(asking->device->handle, old))) {
		return;
	}
	put(asking, READ_memory_total, old[0]);
	put(asking, READ_memory_free, old[1]);
	put(asking, READ_memory_used, old[2]);
}

static void put_processes(struct asking *asking, uint32_t count, size_t bytes)
{
	const char *at = (const char *)asking->nvml->processes;

	put(asking, READ_processes, count);
	for (uint32_t i = 0; i < count && i < PROCESSES; i++, at += bytes) {
		const struct tfp_nvml_process *process = (const void *)at;
		TFP_PUT(asking->thread, asking->lane, asking->now, device_process, .used = process->used,
			.device = asking->device->number, .process = process->pid);
	}
}

/* Versions 2 and 3 answer alike; where there is neither, version 1 does. More than there is room for are counted only. */
static void ask_processes(struct asking *asking)
{
	const struct tfp_nvml_api *api = &asking->nvml->api;
	int is_old = api->processes == NULL;
	uint32_t count = PROCESSES;

	if (!asks(asking, !is_old || api->processes_v1 != NULL))
		return;
	int result = (is_old ? api->processes_v1 : api->processes)(asking->device->handle, &count, asking->nvml->processes);
	if (result == TFP_NVML_INSUFFICIENT_SIZE)
		put(asking, READ_processes, count);
	else if (answers(asking, result))
		put_processes(asking, count, is_old ? 16 : sizeof(struct tfp_nvml_process));
}

static void ask_device(struct tfp_nvml *nvml, struct device *device, struct tfp_thread *thread, struct tfp_lane *lane,
		       uint64_t now)
{
	struct asking asking = {.nvml = nvml, .device = device, .thread = thread, .lane = lane, .now = now};
	uint64_t from = tfp_ticks();

	if (device->is_lost)
		return;
	ask_numbers(&asking);
	ask_use(&asking);
	ask_memory(&asking);
	ask_processes(&asking);
	put(&asking, READ_nvml_reading,
	    (uint64_t)((unsigned __int128)(tfp_ticks() - from) * 1000000000u / tfp_state->second_ticks));
}

static void say(struct tfp_nvml *nvml, const char *text, int result)
{
	size_t at = tfp_length(text), digits = result > 99 ? 3 : result > 9 ? 2 : 1;

	tfp_copy(nvml->text, text, at);
	for (size_t i = digits; i-- > 0; result /= 10)
		nvml->text[at + i] = (char)('0' + result % 10);
	nvml->text[at + digits] = 0;
	tfp_fact_pair(TFP_TAG_note, "nvml", nvml->text);
}

static void note_device(struct tfp_nvml *nvml, const struct device *device, const char *uuid)
{
	if (!nvml->api.name || nvml->api.name(device->handle, nvml->text, sizeof nvml->text))
		nvml->text[0] = 0;
	struct tfp_fact_field fields[3] = {
		{.number = device->number},
		{.is_text = 1, .text = {uuid, tfp_length(uuid)}},
		{.is_text = 1, .text = {nvml->text, tfp_length(nvml->text)}},
	};
	tfp_store_fact(TFP_TAG_nvml_device, fields, 3);
}

/* CUDA's number of a device, which is what every other record says of it; `shown` where it is none of CUDA's. */
static uint32_t cuda_number(const struct tfp_nvml *nvml, const char *uuid, uint32_t shown)
{
	for (uint32_t i = 0; i < shown; i++)
		if (*uuid && tfp_same_text(uuid, nvml->uuids[i]))
			return i;
	return shown;
}

/* Where CUDA's UUIDs are those of NVML (not so for parts of a device), only its devices are read, under CUDA's numbers. */
static void find_devices(struct tfp_nvml *nvml, uint32_t count, uint32_t shown)
{
	char uuid[96];

	for (uint32_t i = 0; i < count && nvml->device_count < DEVICES; i++) {
		struct device *device = &nvml->devices[nvml->device_count];
		*device = (struct device){.number = i};
		if (nvml->api.handle(i, &device->handle))
			continue;
		uuid[0] = 0;
		if (nvml->api.uuid && nvml->api.uuid(device->handle, uuid, sizeof uuid))
			uuid[0] = 0;
		if (shown && (device->number = cuda_number(nvml, uuid, shown)) == shown)
			continue;
		nvml->device_count++;
		note_device(nvml, device, uuid);
	}
}

/* COLD as long as CUDA shows no device: the host's cuInit may not be over yet. */
static enum phase start(struct tfp_nvml *nvml)
{
	uint32_t count = 0, shown = tfp_nvml_cuda_uuids(nvml->uuids, DEVICES);
	int result = shown ? tfp_nvml_open(&nvml->api) : 0;

	if (!shown)
		return COLD;
	if (result) {
		tfp_fact_pair(TFP_TAG_note, "nvml",
			      result == -1 ? "libnvidia-ml.so.1 was not found: clocks, power and temperature are unknown"
					   : "libnvidia-ml.so.1 lacks functions: clocks, power and temperature are unknown");
		return NONE;
	}
	result = nvml->api.init();
	if (!result)
		result = nvml->api.count(&count);
	if (result) {
		say(nvml, "NVML cannot be used; nvmlReturn_t ", result);
		return NONE;
	}
	find_devices(nvml, count, shown);
	if (!nvml->device_count)
		find_devices(nvml, count, 0);
	return nvml->device_count ? READING : NONE;
}

uint32_t tfp_nvml_task(struct tfp_thread *self, struct tfp_lane *lane)
{
	uint64_t now = tfp_now();

	if (!period_ms || (nvml_now && nvml_now->phase == NONE) || !tfp_is_open || tfp_sys_is_sealed())
		return TFP_DRAIN_NEVER;
	if (!nvml_now && !(nvml_now = tfp_pages_get(sizeof *nvml_now, 1)))
		return TFP_DRAIN_NEVER;
	if (nvml_now->phase == COLD)
		nvml_now->phase = start(nvml_now);
	if (nvml_now->phase != READING)
		return period_ms;
	if (now < nvml_now->next) /* woken for something else */
		return (uint32_t)((nvml_now->next - now) / (tfp_state->second_ticks / 1000) + 1);
	nvml_now->next = now + tfp_state->second_ticks / 1000 * period_ms;
	for (uint32_t i = 0; i < nvml_now->device_count; i++)
		ask_device(nvml_now, &nvml_now->devices[i], self, lane, now);
	return period_ms;
}
