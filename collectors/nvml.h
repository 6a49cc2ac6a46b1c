/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver says of the devices through NVML: clocks, power, temperature, why clocks are low, use, memory, processes.
 *
 * Rule: libnvidia-ml is opened on our thread, and only once the process's own cuInit has succeeded; its first refusal is final.
 * Of the devices those are read that CUDA shows to the process. What NVML does not answer is not written, and said once.
 */
#ifndef TFP_COLLECTORS_NVML_H
#define TFP_COLLECTORS_NVML_H

#include "writer/stream.h"

#include <stddef.h>
#include <stdint.h>

/* nvmlReturn_t */
enum tfp_nvml_result {
	TFP_NVML_SUCCESS = 0,
	TFP_NVML_NOT_SUPPORTED = 3,
	TFP_NVML_NO_PERMISSION = 4,
	TFP_NVML_INSUFFICIENT_SIZE = 7,
	TFP_NVML_FUNCTION_NOT_FOUND = 13,
	TFP_NVML_GPU_IS_LOST = 15,
};

/* nvmlMemory_v2_t, 40 bytes; its version word names size and version. */
struct tfp_nvml_memory {
	uint32_t version;
	uint64_t total, reserved, available, used;
};

/* nvmlProcessInfo_t of versions 2 and 3: 24 bytes. Version 1 ends behind `used`. */
struct tfp_nvml_process {
	uint32_t pid;
	uint64_t used;
	uint32_t instance, compute_instance;
};

/* TFP_NVML_FUNCTION(is_needed, field, name, older name or "", parameters): int (*field)(parameters). */
#define TFP_NVML_FUNCTIONS(X)                                                                                                    \
	X(1, init, "nvmlInit_v2", "nvmlInit", (void))                                                                            \
	X(1, count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", (uint32_t *))                                                 \
	X(1, handle, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", (uint32_t, void **))                         \
	X(0, uuid, "nvmlDeviceGetUUID", "", (void *, char *, uint32_t))                                                          \
	X(0, name, "nvmlDeviceGetName", "", (void *, char *, uint32_t))                                                          \
	X(0, clock, "nvmlDeviceGetClockInfo", "", (void *, int, uint32_t *))                                                     \
	X(0, clock_max, "nvmlDeviceGetMaxClockInfo", "", (void *, int, uint32_t *))                                              \
	X(0, power, "nvmlDeviceGetPowerUsage", "", (void *, uint32_t *))                                                         \
	X(0, power_limit, "nvmlDeviceGetEnforcedPowerLimit", "", (void *, uint32_t *))                                           \
	X(0, temperature, "nvmlDeviceGetTemperature", "", (void *, int, uint32_t *))                                             \
	X(0, reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",                     \
	  (void *, uint64_t *))                                                                                                  \
	X(0, rates, "nvmlDeviceGetUtilizationRates", "", (void *, uint32_t *))                                                   \
	X(0, memory_v2, "nvmlDeviceGetMemoryInfo_v2", "", (void *, struct tfp_nvml_memory *))                                    \
	X(0, memory, "nvmlDeviceGetMemoryInfo", "", (void *, uint64_t *))                                                        \
	X(0, energy, "nvmlDeviceGetTotalEnergyConsumption", "", (void *, uint64_t *))                                            \
	X(0, state, "nvmlDeviceGetPerformanceState", "", (void *, uint32_t *))                                                   \
	X(0, pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", "", (void *, uint32_t *))                                   \
	X(0, pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", "", (void *, uint32_t *))                                             \
	X(0, ecc, "nvmlDeviceGetTotalEccErrors", "", (void *, int, int, uint64_t *))                                             \
	X(0, processes, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",                    \
	  (void *, uint32_t *, void *))                                                                                          \
	X(0, processes_v1, "nvmlDeviceGetComputeRunningProcesses", "", (void *, uint32_t *, void *))

struct tfp_nvml_api {
#define TFP_NVML_FUNCTION(is_needed, field, name, older, parameters) int(*field) parameters;
	TFP_NVML_FUNCTIONS(TFP_NVML_FUNCTION)
#undef TFP_NVML_FUNCTION
};

/* nvml_api.c: opens the library and looks up what it has. 0; -1: no library; -2: it lacks what cannot be done without. */
int tfp_nvml_open(struct tfp_nvml_api *api);

/* UUIDs of CUDA's devices in CUDA's order, as NVML writes them, 48 bytes each, "" = unknown; how many, of `most`. Not inside cuInit. */
uint32_t tfp_nvml_cuda_uuids(char (*uuids)[48], uint32_t most);

/* Milliseconds between two readings; 0 = none. Start-up only; kept across fork. */
void tfp_nvml_begin(uint32_t milliseconds);

/* On our thread, now and then, while CUDA runs: reads what is due. Milliseconds until it is due again. */
uint32_t tfp_nvml_task(struct tfp_thread *self, struct tfp_lane *lane);

#endif
