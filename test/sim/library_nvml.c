/* SPDX-License-Identifier: Apache-2.0 */
/* soname: libnvidia-ml.so.1 */
/*
 * A fake NVML: what a sampler asks of it about the simulated devices. Settings of the scenario: nvml_busy (percent, 50),
 * nvml_milliwatt (200000), nvml_celsius (45), nvml_mhz (clock of the multiprocessors; else the device's), nvml_reasons (0),
 * nvml_used (bytes, 0), nvml_processes (1: this one; more are made up), nvml_init (what nvmlInit returns), nvml_error (every call
 * but nvmlInit returns this), nvml_lost_after (calls about a device, after which it is lost: 15; 0 = never), nvml_release (of the
 * library, 13; what came later says 13, not found).
 * Rule: no driver, no NVML: nvmlInit says 9 (driver not loaded). Results: 0 success, 1 uninitialized, 2 invalid argument,
 * 6 not found, 7 insufficient size.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

static _Atomic int users; /* of nvmlInit */

static _Atomic uint64_t calls; /* about a device */
static _Atomic unsigned asked;

/* How many questions were asked, init's among them: a program may wait until its sampler has been here. */
SIM_LIBRARY_API unsigned nvmlSimulatedAsked(void)
{
	return asked;
}

static int check(const void *answer)
{
	asked++;
	if (!users)
		return 1;
	if (!answer)
		return 2;
	return (int)sim_setting("nvml_error", 0);
}

SIM_LIBRARY_API int nvmlInit_v2(void)
{
	asked++;
	if (sim_setting("no_driver", 0))
		return 9;
	if (sim_setting("nvml_init", 0))
		return (int)sim_setting("nvml_init", 0);
	users++;
	return 0;
}

SIM_LIBRARY_API int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return nvmlInit_v2();
}

SIM_LIBRARY_API int nvmlShutdown(void)
{
	if (!users)
		return 1;
	users--;
	return 0;
}

SIM_LIBRARY_API const char *nvmlErrorString(int result)
{
	return result ? "simulated error" : "Success";
}

SIM_LIBRARY_API int nvmlSystemGetDriverVersion(char *text, unsigned length)
{
	int result = check(text);

	if (!result && snprintf(text, length, "580.00.00") >= (int)length)
		return 7;
	return result;
}

SIM_LIBRARY_API int nvmlDeviceGetCount_v2(unsigned *count)
{
	int result = check(count);

	if (!result)
		*count = (unsigned)sim_setting("devices", 1);
	return result;
}

/* The handle of a device is its number plus one. */
static unsigned number_of(const void *device)
{
	return (unsigned)(uintptr_t)device - 1;
}

static int check_device(const void *device, const void *answer)
{
	int result = check(answer);
	uint64_t lost_after = sim_setting("nvml_lost_after", 0);

	if (!result && lost_after && calls++ >= lost_after)
		return 15;
	return result ? result : device && number_of(device) < sim_setting("devices", 1) ? 0 : 2;
}

SIM_LIBRARY_API int nvmlDeviceGetHandleByIndex_v2(unsigned number, void **device)
{
	int result = check(device);

	if (!result && number >= sim_setting("devices", 1))
		return 2;
	if (!result)
		*device = (void *)(uintptr_t)(number + 1);
	return result;
}

SIM_LIBRARY_API int nvmlDeviceGetIndex(void *device, unsigned *number)
{
	int result = check_device(device, number);

	if (!result)
		*number = number_of(device);
	return result;
}

/* NVML knows all devices of the machine, whatever CUDA_VISIBLE_DEVICES hides. */
static struct sim_device facts_of(const void *device)
{
	struct sim_device facts;

	sim_describe_device((int)number_of(device), &facts);
	return facts;
}

SIM_LIBRARY_API int nvmlDeviceGetName(void *device, char *text, unsigned length)
{
	int result = check_device(device, text);

	if (!result && snprintf(text, length, "%s", facts_of(device).name) >= (int)length)
		return 7;
	return result;
}

/* "GPU-" and the 16 bytes in the usual grouping: 8, 4, 4, 4, 12 digits. */
SIM_LIBRARY_API int nvmlDeviceGetUUID(void *device, char *text, unsigned length)
{
	int result = check_device(device, text);
	char all[48] = "GPU-";
	size_t at = 4;

	if (result)
		return result;
	for (int i = 0; i < 16; i++) {
		at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			facts_of(device).uuid[i]);
	}
	if (at >= length)
		return 7;
	memcpy(text, all, at + 1);
	return 0;
}

SIM_LIBRARY_API int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	char text[48];
	int result = check(device);

	for (unsigned i = 0; !result && i < sim_setting("devices", 1); i++) {
		void *one = (void *)(uintptr_t)(i + 1);

		result = nvmlDeviceGetUUID(one, text, sizeof(text));
		if (!result && !strcmp(text, uuid)) {
			*device = one;
			return 0;
		}
	}
	return result ? result : 6;
}

/* "00000000:1A:00.0": the bus is what the simulated devices differ in. */
SIM_LIBRARY_API int nvmlDeviceGetHandleByPciBusId_v2(const char *text, void **device)
{
	unsigned domain, bus;
	int result = check(device);

	if (!result && (!text || sscanf(text, "%x:%x:", &domain, &bus) != 2))
		return 2;
	for (unsigned i = 0; !result && i < sim_setting("devices", 1); i++) {
		*device = (void *)(uintptr_t)(i + 1);
		if (facts_of(*device).pci_bus == (int)bus)
			return 0;
	}
	return result ? result : 6;
}

SIM_LIBRARY_API int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	int result = check(version);

	if (!result)
		*version = (int)sim_setting("driver_version", 13000);
	return result;
}

/* No links between devices, and no fabric: 3, not supported. */
SIM_LIBRARY_API int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *type)
{
	int result = check_device(device, type);

	(void)link;
	return result ? result : 3;
}

SIM_LIBRARY_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, void *info)
{
	int result = check_device(device, info);

	(void)link;
	return result ? result : 3;
}

SIM_LIBRARY_API int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *is_active)
{
	int result = check_device(device, is_active);

	(void)link;
	return result ? result : 3;
}

SIM_LIBRARY_API int nvmlDeviceGetNvLinkCapability(void *device, unsigned link, int capability, unsigned *result_flag)
{
	int result = check_device(device, result_flag);

	(void)link, (void)capability;
	return result ? result : 3;
}

struct field {
	unsigned id, scope;
	long long time_us, latency_us;
	int type, result;
	long long value;
};

/* Each field is answered for itself: none is known here. */
SIM_LIBRARY_API int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields)
{
	int result = check_device(device, fields);

	if (!result && count < 1)
		return 2;
	for (int i = 0; !result && i < count; i++)
		fields[i].result = 3;
	return result;
}

SIM_LIBRARY_API int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending)
{
	int result = check_device(device, now);

	return result ? result : pending ? 3 : 2;
}

/* Environment, feature, tools' mode: confidential computing is off. */
SIM_LIBRARY_API int nvmlSystemGetConfComputeState(unsigned state[3])
{
	int result = check(state);

	if (!result)
		memset(state, 0, 3 * sizeof *state);
	return result;
}

SIM_LIBRARY_API int nvmlDeviceGetGpuFabricInfoV(void *device, void *info)
{
	int result = check_device(device, info);

	return result ? result : 3;
}

SIM_LIBRARY_API int nvmlDeviceGetUtilizationRates(void *device, unsigned rates[2])
{
	int result = check_device(device, rates);

	if (!result) {
		rates[0] = (unsigned)sim_setting("nvml_busy", 50);
		rates[1] = rates[0] / 2;
	}
	return result;
}

/* nvmlMemory_t: total, free, used. */
SIM_LIBRARY_API int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3])
{
	int result = check_device(device, memory);

	if (!result) {
		memory[0] = facts_of(device).capacity;
		memory[2] = facts_of(device).reserved_by_system + sim_setting("nvml_used", 0);
		memory[1] = memory[0] - memory[2];
	}
	return result;
}

/* nvmlMemory_v2_t: its version word is its size and a 2. */
struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

SIM_LIBRARY_API int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *memory)
{
	int result = check_device(device, memory);
	struct sim_device facts;

	if (result)
		return result;
	facts = facts_of(device);
	if (sim_setting("nvml_release", 13) < 12)
		return 13;
	if (memory->version != (sizeof(*memory) | 2u << 24))
		return 25; /* argument version mismatch */
	memory->total = facts.capacity;
	memory->reserved = facts.reserved_by_system;
	memory->used = sim_setting("nvml_used", 0);
	memory->free = memory->total - memory->reserved - memory->used;
	return 0;
}

static int give(void *device, unsigned *to, uint64_t value)
{
	int result = check_device(device, to);

	if (!result)
		*to = (unsigned)value;
	return result;
}

SIM_LIBRARY_API int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
	(void)sensor;
	return give(device, celsius, sim_setting("nvml_celsius", 45));
}

SIM_LIBRARY_API int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatt)
{
	return give(device, milliwatt, sim_setting("nvml_milliwatt", 200000));
}

SIM_LIBRARY_API int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatt)
{
	return give(device, milliwatt, 700000);
}

/* Clocks: 0 graphics, 1 SM, 2 memory; MHz. */
SIM_LIBRARY_API int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz)
{
	struct sim_device facts = facts_of(device);

	if (clock == 1 && sim_setting("nvml_mhz", 0))
		return give(device, mhz, (unsigned)sim_setting("nvml_mhz", 0));
	return give(device, mhz, (unsigned)(clock == 2 ? facts.memory_clock_khz : facts.clock_khz) / 1000);
}

SIM_LIBRARY_API int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *kilobytes)
{
	(void)counter;
	return give(device, kilobytes, 1000);
}

SIM_LIBRARY_API int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoule)
{
	int result = check_device(device, millijoule);

	if (!result)
		*millijoule = sim_clock_now() / 1000000u * sim_setting("nvml_milliwatt", 200000) / 1000;
	return result;
}

SIM_LIBRARY_API int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	int result = check_device(device, reasons);

	if (!result)
		*reasons = sim_setting("nvml_reasons", 0);
	return result;
}

SIM_LIBRARY_API int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
	return nvmlDeviceGetCurrentClocksThrottleReasons(device, reasons);
}

SIM_LIBRARY_API int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz)
{
	struct sim_device facts = facts_of(device);

	return give(device, mhz, (unsigned)(clock == 2 ? facts.memory_clock_khz : facts.clock_khz) / 1000 + 15);
}

SIM_LIBRARY_API int nvmlDeviceGetPerformanceState(void *device, unsigned *state)
{
	return give(device, state, 2);
}

SIM_LIBRARY_API int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation)
{
	return give(device, generation, 5);
}

SIM_LIBRARY_API int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *width)
{
	return give(device, width, 16);
}

SIM_LIBRARY_API int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *errors)
{
	int result = check_device(device, errors);

	(void)type;
	(void)counter;
	return result ? result : 3; /* a device without such memory */
}

/* nvmlProcessInfo_t of versions 2 and 3; version 1 ends behind `used`. */
struct process_v3 {
	unsigned pid;
	unsigned long long used;
	unsigned instance, compute_instance;
};
struct process_v1 {
	unsigned pid;
	unsigned long long used;
};

/* Process i of the device: this one, then made up ones; the last one does not say what it has. */
static struct process_v3 process_at(unsigned i, unsigned count)
{
	return (struct process_v3){i ? 100000 + i : (unsigned)getpid(), i + 1 == count ? ~0ull : (1ull + i) << 20, ~0u, ~0u};
}

static int tell_processes(void *device, unsigned *count, void *processes, int version)
{
	int result = check_device(device, count);
	unsigned there = (unsigned)sim_setting("nvml_processes", 1), room = result ? 0 : *count;

	if (result)
		return result;
	*count = there;
	if (there > room)
		return 7;
	for (unsigned i = 0; i < there; i++) {
		struct process_v3 one = process_at(i, there);
		if (version == 1)
			((struct process_v1 *)processes)[i] = (struct process_v1){one.pid, one.used};
		else
			((struct process_v3 *)processes)[i] = one;
	}
	return 0;
}

SIM_LIBRARY_API int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *processes)
{
	return tell_processes(device, count, processes, 1);
}

SIM_LIBRARY_API int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, void *processes)
{
	return tell_processes(device, count, processes, 2);
}

SIM_LIBRARY_API int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *processes)
{
	return tell_processes(device, count, processes, 3);
}
