/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_env: where and when the run took place.
 *
 * Rule: facts as logged; one that holds for every process stands once.
 */
#include "reducer/tables/process_cells.h"
#include "reducer/tables/request.h"
#include "reducer/tables/run_env.h"

#include "reducer/model/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROCESS, KIND, NAME, VALUE, MACHINE, MEMBER, COLUMNS };

static const struct table_column columns[] = {
	[PROCESS] = {"process", "process", TABLE_INTEGER, UNIT_NONE, 0, "pid; empty = holds for the whole run"},
	[KIND] = {"kind", "kind", TABLE_TEXT, UNIT_NONE, 0,
		  "run (found by the reducer; of the main process, after which reports are named, the log), host (machine and process), "
		  "environment (variables of ranks, devices, frameworks), framework (what of it can be recorded), note, gpu (devices), "
		  "gpu, measured (counts, sizes and times of this run)"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 0, "which fact"},
	[VALUE] = {"value", "value", TABLE_TEXT, UNIT_NONE, 0, "as text"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static void add(struct table *table, const struct process *process, const char *kind, const char *name, const char *value)
{
	table_row(table);
	if (process)
		table_process(table, PROCESS, MACHINE, process);
	table_string(table, KIND, kind);
	table_string(table, NAME, name);
	table_string(table, VALUE, value);
}

static void add_run(struct table *table, const struct run *run)
{
	time_t start = (time_t)(run->realtime_ns / 1000000000) + run->utc_offset_s;
	int minutes = run->utc_offset_s / 60;
	char text[64];
	struct tm at;

	add(table, NULL, "run", "name", run->name);
	if (run_is_date(run->realtime_ns) && gmtime_r(&start, &at)) {
		size_t length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &at);
		snprintf(text + length, sizeof(text) - length, "%c%02d:%02d", minutes < 0 ? '-' : '+',
			 (minutes < 0 ? -minutes : minutes) / 60, (minutes < 0 ? -minutes : minutes) % 60);
		add(table, NULL, "run", "started", text);
	}
	snprintf(text, sizeof(text), "%.3f", (double)run->gone_ns / 1e9); /* as the first screen has it */
	add(table, NULL, "run", "seconds", text);
	snprintf(text, sizeof(text), "%zu", run->process_count);
	add(table, NULL, "run", "processes", text);
	if (run->process_count)
		add(table, NULL, "run", "main process", run_main(run)->path);
}

typedef const struct pair *pairs_of(const struct process *process, size_t *count);

static const struct pair *hosts(const struct process *process, size_t *count)
{
	*count = process->host_count;
	return process->hosts;
}

static const struct pair *environment(const struct process *process, size_t *count)
{
	*count = process->environment_count;
	return process->environment;
}

static const struct pair *notes(const struct process *process, size_t *count)
{
	*count = process->note_count;
	return process->notes;
}

static const struct pair *frameworks(const struct process *process, size_t *count)
{
	*count = process->framework_count;
	return process->frameworks;
}

static const struct pair *find_pair(const struct pair *pairs, size_t count, const struct pair *pair)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(pairs[i].name, pair->name) == 0 && strcmp(pairs[i].value, pair->value) == 0)
			return &pairs[i];
	return NULL;
}

static bool is_common(const struct run *run, pairs_of *of, const struct pair *pair)
{
	for (size_t i = 0; i < run->process_count; i++) {
		size_t count;
		const struct pair *pairs = of(&run->processes[i], &count);
		if (!find_pair(pairs, count, pair))
			return false;
	}
	return true;
}

/* What is the same in every process stands in the first, so only what that one has is looked for in all. */
static void add_pairs(struct table *table, const struct request *request, pairs_of *of, const char *kind)
{
	const struct run *run = request->run;
	size_t first_count, count;
	const struct pair *first = of(&run->processes[0], &first_count);
	bool *common = base_alloc(first_count + 1, sizeof(*common));

	for (size_t k = 0; k < first_count; k++)
		common[k] = is_common(run, of, &first[k]);
	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];
		const struct pair *pairs = of(process, &count);
		for (size_t k = 0; k < count; k++) {
			const struct pair *same = find_pair(first, first_count, &pairs[k]);
			bool in_all = same && common[same - first];
			if (in_all ? i == 0 : request_wants_process(request, process))
				add(table, in_all ? NULL : process, kind, pairs[k].name, pairs[k].value);
		}
	}
	free(common);
}

static void add_number(struct table *table, const struct process *process, const char *kind, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (value)
		add(table, process, kind, name, text);
}

/* A device as CUPTI describes it, and what the driver answered about its memory. */
static void add_device(struct table *table, const struct process *process, const struct gpu_device *device)
{
	char name[64], text[96];

	snprintf(name, sizeof(name), "device %u", device->id);
	add(table, process, "gpu", name, device->name);
	snprintf(name, sizeof(name), "device %u compute capability", device->id);
	snprintf(text, sizeof(text), "%u.%u", (unsigned)device->major, (unsigned)device->minor);
	if (device->major)
		add(table, process, "gpu", name, text);
	snprintf(name, sizeof(name), "device %u multiprocessors", device->id);
	add_number(table, process, "gpu", name, device->multiprocessors);
	snprintf(name, sizeof(name), "device %u memory bytes", device->id);
	add_number(table, process, "gpu", name, device->memory_bytes);
	snprintf(name, sizeof(name), "device %u memory bytes a second", device->id);
	add_number(table, process, "gpu", name, device->bandwidth);
	snprintf(name, sizeof(name), "device %u Hz", device->id);
	add_number(table, process, "gpu", name, device->clock);
	snprintf(name, sizeof(name), "device %u least free bytes (driver)", device->id);
	if (device->answers)
		add_number(table, process, RUN_ENV_MEASURED, name, device->least_free);
	snprintf(name, sizeof(name), "device %u total bytes (driver)", device->id);
	if (device->answers)
		add_number(table, process, "gpu", name, device->total);
}

static void add_gpu(struct table *table, const struct process *process)
{
	static const char *const states[] = {"off",
					     "CUPTI",
					     "hooks alone: CUPTI refused",
					     "hooks alone: another profiler held CUPTI",
					     "hooks alone: window closed",
					     "hooks alone: CUPTI failed for good"};
	const struct gpu *gpu = process->gpu;

	for (size_t i = 0; i < gpu->device_count; i++)
		add_device(table, process, &gpu->devices[i]);
	if (gpu->state >= 0 && gpu->state < 6)
		add(table, process, "gpu", "recorded by, at the end", states[gpu->state]);
	add_number(table, process, RUN_ENV_MEASURED, "device records", gpu->counts.device_records);
	add_number(table, process, RUN_ENV_MEASURED, "calls", gpu->counts.calls);
	add_number(table, process, RUN_ENV_MEASURED, "most clock error ns", gpu->clock_error_ns);
	add_number(table, process, RUN_ENV_MEASURED, "ns from launch to start, half at most", spread_percentile(&gpu->queue_delays, 50));
	add_number(table, process, RUN_ENV_MEASURED, "ns from launch to start, 99 of 100 at most",
		   spread_percentile(&gpu->queue_delays, 99));
	add_number(table, process, RUN_ENV_MEASURED, "managed bytes to device", gpu->counts.managed_bytes[0]);
	add_number(table, process, RUN_ENV_MEASURED, "managed bytes to host", gpu->counts.managed_bytes[1]);
	add_number(table, process, RUN_ENV_MEASURED, "managed faults of the CPU", gpu->counts.managed_faults[0]);
	add_number(table, process, RUN_ENV_MEASURED, "managed faults of the GPU", gpu->counts.managed_faults[1]);
	add_number(table, process, RUN_ENV_MEASURED, "ns that CUPTI and the driver took for themselves", gpu->counts.overhead_ns);
}

static void fill(struct table *table, const struct request *request)
{
	add_run(table, request->run);
	add_pairs(table, request, hosts, "host");
	add_pairs(table, request, environment, "environment");
	add_pairs(table, request, frameworks, "framework");
	add_pairs(table, request, notes, "note");
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request->run->processes[i].gpu && request_wants_process(request, &request->run->processes[i]))
			add_gpu(table, &request->run->processes[i]);
}

const struct table_kind table_run_env = {
	.id = "run_env",
	.title = "Run and machine",
	.help = "When and where the run took place, with what the library noticed about each process.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS,
	.needs_scan = true,
	.sums = RUN_SUM_DELAYS,
	.fill = fill,
};
