/* SPDX-License-Identifier: Apache-2.0 */
/* See reducer/tables/flops_cells.h. */
#include "reducer/tables/flops_cells.h"

#include <inttypes.h>
#include <string.h>

void flops_put_rate(struct table *table, size_t column, double rate)
{
	if (rate < 9.2e18) /* of int64_t */
		table_integer(table, column, (int64_t)(rate + 0.5));
}

void flops_put(struct table *table, size_t column, size_t rate_column, bool is_known, uint64_t flops, uint64_t ns)
{
	if (!is_known || flops > INT64_MAX)
		return;
	table_integer(table, column, (int64_t)flops);
	if (ns)
		flops_put_rate(table, rate_column, (double)flops * 1e9 / (double)ns);
}

static uint64_t replays_of(const struct gpu *gpu)
{
	uint64_t launches = 0;

	for (size_t p = 0; gpu && p < GPU_PAIRINGS; p++)
		launches += gpu->counts.kinds[p][GPU_GRAPH];
	return launches;
}

static uint64_t count_replays(const struct request *request)
{
	uint64_t launches = 0;

	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			launches += replays_of(request->run->processes[i].gpu);
	return launches;
}

bool flops_has_replays(const struct request *request)
{
	return count_replays(request) > 0;
}

void flops_note_replays(struct table *table, const struct request *request)
{
	uint64_t launches = count_replays(request);

	if (launches)
		table_note(table, NOTE_MISSING,
			   "%" PRIu64 " %s of CUDA graphs: the arithmetic in a graph counts once, when it was captured, and not each time "
			   "that the graph ran; figures of what was captured are too small (-t graph_stats).",
			   launches, launches == 1 ? "launch" : "launches");
}

/* Of which frameworks the process was to tell ops without their inputs. */
static bool lacks_inputs(const struct process *process, const char *framework)
{
	if (process_is_foreign(process) || strcmp(process_setting(process, "OPS"), "on") != 0)
		return false;
	for (size_t i = 0; i < process->framework_count; i++)
		if (strcmp(process->frameworks[i].name, framework) == 0 && strncmp(process->frameworks[i].value, "absent", 6) != 0)
			return true;
	return false;
}

void flops_note(struct table *table, const struct request *request)
{
	size_t pytorch = 0, tensorflow = 0;

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process) || !process->ops.count)
			continue;
		pytorch += lacks_inputs(process, "pytorch");
		tensorflow += lacks_inputs(process, "tensorflow");
	}
	if (pytorch)
		table_note(table, NOTE_MISSING,
			   "Arithmetic of PyTorch's ops is known with the shapes of their inputs: TFPROF_OPS=shapes records them. Without "
			   "them only what cuBLAS was asked for counts.");
	if (tensorflow)
		table_note(table, NOTE_MISSING,
			   "Arithmetic of TensorFlow's matrix products is known with the shapes of their inputs (TFPROF_OPS=shapes), "
			   "and from what cuBLAS was asked for.");
}

void flops_note_ops(struct table *table, const struct request *request, size_t column)
{
	bool has_any = false;

	for (size_t r = 0; r < table->row_count; r++)
		has_any |= table_is_known(table, r, column);
	flops_note(table, request);
	if (!has_any)
		return;
	table_note(table, NOTE_INFO,
		   "Arithmetic of an op whose own inputs tell none is that of the ops and cuBLAS calls in it that tell it, and its rate "
		   "that by all of its time: lower bounds where others are in it.");
	flops_note_replays(table, request);
}
