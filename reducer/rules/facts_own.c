/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about devices, libraries and the environment that no single column tells. See facts.h.
 *
 * Rule: made of the model (struct gpu, struct process), with the same filters as the tables that prove them.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/analysis/parts.h"
#include "reducer/model/gpu.h"
#include "reducer/tables/gpu_rows.h"
#include "reducer/tables/kernel_class.h"

#include <stdio.h>
#include <string.h>

#define TENSOR_CORES_FROM 7 /* major compute capability: Volta */
#define DEVICES 64	    /* of all processes together */

struct device_sum {
	const struct process *process;
	uint32_t device; /* as that process calls it */
	double kernel_ns;
};

/* Kernel time of each device that ran kernels. */
struct device_sums {
	struct device_sum list[DEVICES];
	size_t count;
};

static struct device_sum *sum_of(struct device_sums *sums, const struct process *process, uint32_t device)
{
	for (size_t i = 0; i < sums->count; i++)
		if (gpu_is_one_device(sums->list[i].process, sums->list[i].device, process, device))
			return &sums->list[i];
	if (sums->count == DEVICES)
		return NULL;
	sums->list[sums->count] = (struct device_sum){.process = process, .device = device};
	return &sums->list[sums->count++];
}

/* What the sentence calls a device: by its number and, where another one has that number too, whose it is. */
static void name_device(struct rule_facts *facts, const struct device_sums *sums, const struct device_sum *device)
{
	char *label = facts->facts[FACT_busiest_ns].label;
	size_t same = 0;

	for (size_t i = 0; i < sums->count; i++)
		same += sums->list[i].device == device->device;
	if (same > 1)
		snprintf(label, FACT_LABEL, "%u of process %s", device->device, device->process->called);
	else
		snprintf(label, FACT_LABEL, "%u", device->device);
	facts_own(facts, FACT_busiest_ns, device->kernel_ns, "kernel_stats", "total_ns", same > 1 ? "device=%u, process=%s" : "device=%u",
		  device->device, device->process->called);
}

static void gather_devices(struct rule_facts *facts, const struct request *request)
{
	struct device_sums sums = {0};
	const struct device_sum *busiest = NULL;
	double all = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = facts_gpu(request, i);
		for (size_t k = 0; gpu && k < gpu->kernel_count; k++) {
			struct device_sum *sum = sum_of(&sums, &request->run->processes[i], gpu_queue_device(gpu, gpu->kernels[k].queue));
			if (sum)
				sum->kernel_ns += (double)gpu->kernels[k].times.sum;
		}
	}
	for (size_t i = 0; i < sums.count; i++) {
		all += sums.list[i].kernel_ns;
		if (!busiest || sums.list[i].kernel_ns > busiest->kernel_ns)
			busiest = &sums.list[i];
	}
	if (!busiest)
		return;
	facts_own(facts, FACT_devices, (double)sums.count, "kernel_stats", "device", "%s", "");
	facts_own(facts, FACT_mean_busy_ns, all / (double)sums.count, "kernel_stats", "total_ns", "%s", "");
	name_device(facts, &sums, busiest);
}

static void gather_unseen(struct rule_facts *facts, const struct request *request)
{
	uint64_t unseen = 0, all = 0, of_process;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = facts_gpu(request, i);
		if (!gpu)
			continue;
		unseen += gpu_unseen_launches(&gpu->counts, &of_process);
		all += of_process;
	}
	if (all)
		facts_own(facts, FACT_unseen_launches_percent, 100.0 * (double)unseen / (double)all, "launches", "pairing",
			  "pairing=host-only");
}

/* Kernels whose mean time is below that of a launch call. */
static void gather_small_kernels(struct rule_facts *facts, const struct request *request)
{
	double calls = facts_value(facts, FACT_launches), launch_ns, count = 0, ns = 0;

	if (calls <= 0)
		return;
	launch_ns = facts_value(facts, FACT_launch_ns) / calls;
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = facts_gpu(request, i);
		for (size_t k = 0; gpu && k < gpu->kernel_count; k++) {
			const struct spread *times = &gpu->kernels[k].times;
			if (!times->count || (double)times->sum >= launch_ns * (double)times->count)
				continue;
			count += (double)times->count;
			ns += (double)times->sum;
		}
	}
	facts_own(facts, FACT_small_kernels, count, "kernel_stats", "occurrences", "avg_ns<%.0f", launch_ns);
	facts_own(facts, FACT_small_kernel_ns, ns, "kernel_stats", "total_ns", "avg_ns<%.0f", launch_ns);
}

static void gather_products(struct rule_facts *facts, const struct request *request)
{
	double wide = 0, narrow = 0;
	bool any = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = facts_gpu(request, i);
		gpu = gpu && gpu_is_of_hip(gpu) ? NULL : gpu;
		for (size_t k = 0; gpu && k < gpu->kernel_count; k++) {
			const struct gpu_kernel *kernel = &gpu->kernels[k];
			const struct gpu_device *device = gpu_find_device(gpu, gpu_queue_device(gpu, kernel->queue));
			const char *name;
			enum step_part part;
			if (!device || device->major < TENSOR_CORES_FROM || kernel->shape >= gpu->shape_count ||
			    gpu->shapes[kernel->shape].kernel >= gpu->name_count)
				continue;
			any = true;
			name = gpu->names[gpu->shapes[kernel->shape].kernel];
			if (kernel_class_of(name, kernel->op < request->run->processes[i].op_count
							  ? request->run->processes[i].op_names[kernel->op]
							  : "") != KERNEL_PRODUCT ||
			    gpu_uses_tensor_cores(gpu, gpu->shapes[kernel->shape].kernel, device, NULL))
				continue;
			part = part_of_kernel(name, false);
			wide += part == PART_COMPUTE_32 ? (double)kernel->times.sum : 0;
			narrow += part == PART_COMPUTE_16 || part == PART_COMPUTE_8 ? (double)kernel->times.sum : 0;
		}
	}
	if (!any)
		return;
	facts_own(facts, FACT_wide_product_ns, wide, "kernel_stats", "total_ns", "class=product,tensor_core_used=0");
	facts_own(facts, FACT_narrow_missed_ns, narrow, "kernel_stats", "total_ns", "class=product,tensor_core_used=0");
}

/* Threads that launched kernels on two devices or more. */
static void gather_threads(struct rule_facts *facts, const struct request *request)
{
	struct {
		size_t process;
		uint32_t thread, device;
		bool is_shared;
	} seen[256];
	size_t seen_count = 0, shared = 0;
	bool any = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = facts_gpu(request, i);
		for (size_t k = 0; gpu && k < gpu->kernel_count; k++) {
			uint32_t device = gpu_queue_device(gpu, gpu->kernels[k].queue), thread = gpu->kernels[k].thread;
			size_t at = 0;
			if (!thread || device == GPU_NONE)
				continue;
			any = true;
			while (at < seen_count && (seen[at].process != i || seen[at].thread != thread))
				at++;
			if (at == seen_count && seen_count < 256) {
				seen[seen_count].process = i;
				seen[seen_count].thread = thread;
				seen[seen_count].device = device;
				seen[seen_count++].is_shared = false;
			} else if (at < seen_count && seen[at].device != device && !seen[at].is_shared) {
				seen[at].is_shared = true;
				shared++;
			}
		}
	}
	if (any)
		facts_own(facts, FACT_shared_launch_threads, (double)shared, "launches", "thread", "%s", "");
}

static const char *variable_of(const struct process *process, const char *name)
{
	for (size_t i = 0; i < process->environment_count; i++)
		if (strcmp(process->environment[i].name, name) == 0)
			return process->environment[i].value;
	return NULL;
}

/* Did TensorFlow tell of ops? */
static bool has_tensorflow(const struct process *process)
{
	for (size_t i = 0; i < process->ops.count; i++)
		if (process->ops.items[i].source == SOURCE_annotation || process->ops.items[i].source == SOURCE_eager)
			return true;
	return false;
}

/* A number among the host facts; 0 = not there. */
static double host_number(const struct process *process, const char *name)
{
	double number = 0;

	for (size_t i = 0; i < process->host_count; i++)
		if (strcmp(process->hosts[i].name, name) == 0)
			sscanf(process->hosts[i].value, "%lf", &number);
	return number;
}

/* CUDA's release of a CUPTI, as the driver numbers its own: 130001 (13.0.1) is 13000. Releases before 13.0 were counted. */
static double cuda_of_cupti(double version)
{
	/* From 17 on; 18 stands for 11.8 to 12.1, the oldest counts. 19 and 25 were never seen; 0 = unknown. */
	static const double counted[] = {11060, 11080, 0, 12020, 12030, 12040, 12050, 12060, 0, 12080, 12090, 12090};
	double major, minor;

	if (version < 120000)
		return version >= 17 && version < 17 + sizeof(counted) / sizeof(counted[0]) ? counted[(size_t)version - 17] : 0;
	major = (double)((long)version / 10000);
	minor = (double)((long)version % 10000 / 100);
	return major * 1000 + minor * 10;
}

/* cuDNN before release 8: 7.6.3 is the first that pads convolutions for tensor cores by itself. */
static bool has_old_cudnn(const struct process *process)
{
	for (size_t i = 0; i < process->module_count; i++) {
		const char *name = strstr(process->modules[i].path, "libcudnn.so.");
		if (name && strlen(name) > 12 && name[12] >= '1' && name[12] <= '7' && (name[13] == 0 || name[13] == '.'))
			return true;
	}
	return false;
}

static void gather_gpu_environment(struct rule_facts *facts, const struct request *request)
{
	double old = 0, is_private = -1, is_aggressive = 0;
	bool any = false;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		const char *mode = variable_of(process, "TF_GPU_THREAD_MODE"), *flags = variable_of(process, "TF_XLA_FLAGS");
		double driver = host_number(process, "CUDA of the driver"), cupti = host_number(process, "cupti version");
		if (!facts_gpu(request, i))
			continue;
		any = true;
		old += (driver > 0 && cuda_of_cupti(cupti) > driver) || has_old_cudnn(process);
		if (has_tensorflow(process))
			is_private = mode && strcmp(mode, "gpu_private") == 0;
		if (flags && strstr(flags, "tf_xla_auto_jit=2"))
			is_aggressive = 1;
	}
	if (!any)
		return;
	facts_own(facts, FACT_old_libraries, old, "run_env", NULL, "kind=host,name=CUDA of the driver");
	if (is_private >= 0)
		facts_own(facts, FACT_private_threads, is_private, "run_env", NULL, "name=TF_GPU_THREAD_MODE");
	facts_own(facts, FACT_aggressive_xla, is_aggressive, "run_env", NULL, "name=TF_XLA_FLAGS");
}

static void gather_environment(struct rule_facts *facts, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]) && has_tensorflow(&request->run->processes[i]))
			facts_own(facts, FACT_tensorflow, 1, "run_env", NULL, "%s", "kind=host");
	gather_gpu_environment(facts, request);
}

const struct gpu *facts_gpu(const struct request *request, size_t process)
{
	const struct process *of = &request->run->processes[process];

	return request_wants_process(request, of) ? of->gpu : NULL;
}

/* A share or a rate is called so; else a value has the unit of the cells that it is made of. */
static enum table_unit unit_of(enum fact_id id, const char *column)
{
	static const char *const names[] = {
#define FACT_SUM(name, table, column, rows) #name,
#define FACT_COUNT(name, table, rows) #name,
#define FACT_DISTINCT(name, table, column, rows) #name,
#define FACT_MOST(name, table, column, label, rows) #name,
#define FACT_OWN(name, help) #name,
#include "reducer/rules/facts.def"
#undef FACT_SUM
#undef FACT_COUNT
#undef FACT_DISTINCT
#undef FACT_MOST
#undef FACT_OWN
	};

	if (strstr(names[id], "_percent"))
		return UNIT_RATIO;
	if (strstr(names[id], "_rate"))
		return UNIT_BYTES_PER_S;
	return column && strstr(column, "_ns") ? UNIT_NS : column && strstr(column, "bytes") ? UNIT_BYTES : UNIT_COUNT;
}

void facts_own(struct rule_facts *facts, enum fact_id id, double value, const char *table, const char *column, const char *rows,
	       ...)
{
	struct rule_fact *fact = &facts->facts[id];
	va_list words;

	fact->is_known = true;
	fact->value = fact->proof.value = value;
	fact->proof.how = PROOF_FOLLOWS;
	fact->proof.table = table;
	fact->proof.column = column;
	fact->proof.unit = unit_of(id, column);
	if (fact->proof.unit == UNIT_RATIO)
		fact->proof.value /= 100;
	va_start(words, rows);
	vsnprintf(fact->proof.rows, PROOF_ROWS, rows, words);
	va_end(words);
}

void facts_gather_own(struct rule_facts *facts, const struct request *request)
{
	facts_gather_steps(facts, request);
	gather_devices(facts, request);
	gather_unseen(facts, request);
	gather_small_kernels(facts, request);
	gather_products(facts, request);
	gather_threads(facts, request);
	gather_environment(facts, request);
	facts_gather_libraries(facts, request);
	facts_gather_failure(facts, request);
	facts_gather_memory(facts, request);
	facts_gather_python(facts, request);
	facts_gather_tables(facts, request);
	facts_gather_flops(facts, request);
}
