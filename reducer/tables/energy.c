/* SPDX-License-Identifier: Apache-2.0 */
/*
 * energy: what each device spent while a process ran, and for a step of it; how long its clocks were lowered.
 *
 * Rule: from NVML's counter of energy, by the readings as they are; of a step what was spent between the first and the last reading
 * within the judged steps, by how many these are. A device spends for whoever uses it, and while it rests.
 */
#include "reducer/tables/machine.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/step_values.h"

#include "reducer/model/gpu.h"

#include <string.h>

enum { PROCESS, DEVICE, NAME, LENGTH, ENERGY, WATTS, POWER, LIMIT, STEPS, STEP_ENERGY, LOWERED, REASONS, UUID, MACHINE, MEMBER, COLUMNS };
static const struct table_column columns[] = {
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid of the process that read it, and whose steps these are"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 0, "CUDA's number of the device; NVML's where CUDA has no such UUID"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 2, "of the device"},
	[LENGTH] = {"length_ns", "over", TABLE_INTEGER, UNIT_NS, 0, "from the first reading of its energy to the last"},
	[ENERGY] = {"energy", "energy", TABLE_INTEGER, UNIT_MILLIJOULES, 0, "spent meanwhile, whoever used the device"},
	[WATTS] = {"mean_power", "mean", TABLE_INTEGER, UNIT_MILLIWATTS, 0, "energy by that time"},
	[POWER] = {"peak_power", "peak", TABLE_INTEGER, UNIT_MILLIWATTS, 0, "the most that a reading of its power told"},
	[LIMIT] = {"power_limit", "limit", TABLE_INTEGER, UNIT_MILLIWATTS, 1, "that may be drawn, as last read"},
	[STEPS] = {"steps", "steps", TABLE_REAL, UNIT_NONE, 1,
		   "between the first and the last reading within the judged ones, those outside of windows, too; cut ones by their part"},
	[STEP_ENERGY] = {"step_energy", "a step", TABLE_INTEGER, UNIT_MILLIJOULES, 0, "spent between these two readings, by steps"},
	[LOWERED] = {"lowered", "lowered", TABLE_REAL, UNIT_RATIO, 0,
		     "of the time of the steps, its clocks were lowered by a limit of power or heat, or by its hardware"},
	[REASONS] = {"lowered_by", "by", TABLE_TEXT, UNIT_NONE, 0, "why"},
	[UUID] = {"uuid", "uuid", TABLE_TEXT, UNIT_NONE, 3, "of the device"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

/* The counter between two readings, and power meanwhile. */
struct spent {
	int64_t from_ns, to_ns;
	uint64_t from, to, peak, limit;
	size_t readings;
};

/* Of a device within a time. A counter that falls was begun anew, with the driver: what came before does not count. */
static struct spent spent_in(const struct use_rows *use, uint32_t device, int64_t from_ns, int64_t to_ns)
{
	struct spent spent = {0};
	uint64_t now, power;

	for (size_t i = 0; i < use->count; i++) {
		const struct use_sample *sample = &use->samples[i];
		if (sample->of != USE_OF_DEVICE || sample->subject != device || sample->time_ns < from_ns || sample->time_ns > to_ns)
			continue;
		if (use_value(use, sample, USE_power, &power) && power > spent.peak)
			spent.peak = power;
		use_value(use, sample, USE_power_limit, &spent.limit);
		if (!use_value(use, sample, USE_energy, &now))
			continue;
		if (!spent.readings || now < spent.to) {
			spent.from = now;
			spent.from_ns = sample->time_ns;
			spent.readings = 0;
		}
		spent.to = now;
		spent.to_ns = sample->time_ns;
		spent.readings++;
	}
	return spent;
}

/* Rounded; of counters that no device has what an integer holds. */
static int64_t whole(double value)
{
	return value < 9e18 ? (int64_t)(value + 0.5) : INT64_MAX;
}

static bool is_used(const struct process *process, uint32_t device)
{
	for (size_t q = 0; process->gpu && q < process->gpu->queue_count; q++)
		if (process->gpu->queues[q].device == device)
			return true;
	return false;
}

/* A process, and what of its devices was kept back while its judged steps ran. */
struct reader {
	const struct process *process;
	size_t index;
	bool has_steps;
	int64_t from_ns, to_ns; /* of these */
	struct machine_device kept[MACHINE_DEVICES];
	size_t kept_count;
};

static struct reader reader_of(const struct request *request, const struct step_rows *rows, size_t index)
{
	struct reader reader = {.process = &request->run->processes[index], .index = index};
	size_t end;

	reader.has_steps = rows->kind != UNIT_WHOLE && step_rows_ran(rows, index, &end, &reader.from_ns, &reader.to_ns);
	if (reader.has_steps)
		reader.kept_count = machine_devices(reader.kept, request->run, index, reader.from_ns, reader.to_ns);
	return reader;
}

static void put_kept(struct table *table, const struct machine_device *kept)
{
	struct text words = {0};

	table_real(table, LOWERED, kept->lowered);
	machine_put_reasons(&words, kept->reasons);
	if (words.length)
		table_text(table, REASONS, words.bytes, words.length);
	text_free(&words);
}

static void put_steps(struct table *table, const struct step_rows *rows, const struct reader *reader, uint32_t device)
{
	struct spent spent = spent_in(&reader->process->use, device, reader->from_ns, reader->to_ns);
	bool is_known = spent.readings > 1 && !reader->process->unseen_count; /* else nobody knows how many steps there were */
	double steps = is_known ? step_rows_between(rows, reader->index, spent.from_ns, spent.to_ns) : 0;

	if (steps > 0) {
		table_real(table, STEPS, steps);
		table_integer(table, STEP_ENERGY, whole((double)(spent.to - spent.from) / steps));
	} else if (is_used(reader->process, device)) {
		table_note(table, NOTE_MISSING,
			   "Process %s: too few readings of device %u lie within its steps to say what one of them costs.",
			   reader->process->called, device);
	}
	for (size_t i = 0; i < reader->kept_count; i++)
		if (reader->kept[i].device == device)
			put_kept(table, &reader->kept[i]);
}

static void put_device(struct table *table, const struct request *request, const struct step_rows *rows, const struct reader *reader,
		       const struct nvml_device *device)
{
	const struct process *process = reader->process;
	struct spent spent = spent_in(&process->use, device->number, request->from_ns, request->to_ns);

	if (spent.readings < 2 && !spent.peak)
		return;
	table_row(table);
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, DEVICE, device->number);
	table_string(table, NAME, device->name);
	table_string(table, UUID, device->uuid);
	if (spent.readings > 1 && spent.to_ns > spent.from_ns) {
		table_integer(table, LENGTH, spent.to_ns - spent.from_ns);
		table_integer(table, ENERGY, (int64_t)(spent.to - spent.from));
		table_integer(table, WATTS, whole((double)(spent.to - spent.from) * 1e9 / (double)(spent.to_ns - spent.from_ns)));
	} else {
		table_note(table, NOTE_MISSING, "Process %s: device %u has no counter of energy, or it was read once.", process->called,
			   device->number);
	}
	if (spent.peak)
		table_integer(table, POWER, (int64_t)spent.peak);
	if (spent.limit)
		table_integer(table, LIMIT, (int64_t)spent.limit);
	if (reader->has_steps)
		put_steps(table, rows, reader, device->number);
}

static void fill(struct table *table, const struct request *request)
{
	struct step_rows rows;

	step_rows_find(&rows, request);
	for (size_t p = 0; p < request->run->process_count; p++) {
		const struct process *process = &request->run->processes[p];
		if (!process->use.device_count || !request_wants_process(request, process))
			continue;
		struct reader reader = reader_of(request, &rows, p);
		for (size_t d = 0; d < process->use.device_count; d++)
			put_device(table, request, &rows, &reader, &process->use.devices[d]);
	}
	if (table->row_count)
		table_note(table, NOTE_INFO,
			   "As NVML counts it, for the whole device: also what it spent for other processes, and at rest. The host's part "
			   "(its processors, its memory) is in no record. Processes that use one device each have a row of it: do not add "
			   "those.");
	else if (!notes_not_in_file(table, request))
		table_note(table, NOTE_INFO,
			   "No device's power was read: that is done through NVML every TFPROF_SYS milliseconds by processes whose GPU "
			   "work is recorded with TFPROF_CUDA=cupti.");
	step_rows_free(&rows);
	notes_recording(table, request);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, NULL};
const struct table_kind table_energy = {
	.id = "energy",
	.title = "Energy",
	.help = "What each device spent while a process ran and for each of its steps, the power it drew, and how long its clocks were "
		"lowered.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};
