/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_usage: how the devices did, over time, as NVML says: clocks, power, temperature, use, memory, processes.
 *
 * Rule: a device's figures are of the device as a whole, whoever used it; a figure that NVML does not give is empty.
 */
#include "reducer/tables/machine.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/process_cells.h"
#include "reducer/tables/readings.h"

#include <inttypes.h>
#include <string.h>

#define SHOWS_PROCESS(...)
#define SHOWS_GROUP(...)
#define SHOWS_HOST(...)
#define SHOWS_THREAD(...)
#define SHOWS_DEVICE(...) __VA_ARGS__

enum {
	TIME,
	PROCESS,
	DEVICE,
	NAME,
	UUID,
	LENGTH,
#define TFP_READING(number, name, subject, kind, unit, help) SHOWS_##subject(COLUMN_##name, )
#include "collectors/tables/readings.def"
#undef TFP_READING
	WATTS,
	REASONS,
	USERS,
	MACHINE, MEMBER, COLUMNS
};

static const struct table_column columns[] = {
	[TIME] = {"time_ns", "time", TABLE_INTEGER, UNIT_NS, 0, "of the reading, from the start of the run"},
	[PROCESS] = {"process", "pid", TABLE_INTEGER, UNIT_NONE, 0, "pid of the process that read it"},
	[DEVICE] = {"device", "device", TABLE_INTEGER, UNIT_NONE, 0, "CUDA's number of the device; NVML's where CUDA has no such UUID"},
	[NAME] = {"name", "name", TABLE_TEXT, UNIT_NONE, 2, "of the device"},
	[UUID] = {"uuid", "uuid", TABLE_TEXT, UNIT_NONE, 3, "of the device"},
	[LENGTH] = {"length_ns", "over", TABLE_INTEGER, UNIT_NS, 1, "since the reading before"},
#define TFP_READING(number, name, subject, kind, unit, help)                                                                     \
	SHOWS_##subject([COLUMN_##name] = READINGS_COLUMN(name, kind, unit, 1, help), )
#include "collectors/tables/readings.def"
#undef TFP_READING
	[WATTS] = {"watts_by_energy", "watts", TABLE_REAL, UNIT_NONE, 2,
		   "energy by time: the mean power since the reading before"},
	[REASONS] = {"throttled_by", "throttled by", TABLE_TEXT, UNIT_NONE, 0,
		     "throttle_reasons in words; empty = by nothing, or not known"},
	[USERS] = {"users", "users", TABLE_TEXT, UNIT_NONE, 2,
		   "processes that compute on it, PID or PID:BYTES where NVML says how much memory they have; pids outside of "
		   "containers"},
	[MACHINE] = TABLE_HOST,
	[MEMBER] = TABLE_MEMBER,
};

static const uint16_t places[USE_READINGS] = {
#define TFP_READING(number, name, subject, kind, unit, help) SHOWS_##subject([number] = COLUMN_##name + 1, )
#include "collectors/tables/readings.def"
#undef TFP_READING
};

static void add_reasons(struct table *table, uint64_t bits)
{
	struct text words = {0};

	machine_put_reasons(&words, bits);
	if (words.length)
		table_text(table, REASONS, words.bytes, words.length);
	text_free(&words);
}

static void add_users(struct table *table, const struct use_rows *use, const struct use_sample *sample, size_t *first)
{
	struct text words = {0};

	while (*first < use->user_count && use->users[*first].time_ns < sample->time_ns)
		++*first;
	for (size_t i = *first; i < use->user_count && use->users[i].time_ns == sample->time_ns; i++) {
		const struct device_user *user = &use->users[i];
		if (user->device != sample->subject)
			continue;
		text_format(&words, "%s%" PRIu32, words.length ? " " : "", user->process);
		if (user->used_bytes != UINT64_MAX)
			text_format(&words, ":%" PRIu64, user->used_bytes);
	}
	if (words.length)
		table_text(table, USERS, words.bytes, words.length);
	text_free(&words);
}

static void add_power(struct table *table, const struct use_rows *use, const struct use_sample *sample,
		      const struct use_sample *last)
{
	uint64_t now, before;

	if (sample->time_ns > last->time_ns && use_value(use, sample, USE_energy, &now) &&
	    use_value(use, last, USE_energy, &before) && now >= before)
		table_real(table, WATTS, (double)(now - before) * 1e6 / (double)(sample->time_ns - last->time_ns));
}

static void add_row(struct table *table, const struct process *process, const struct use_sample *sample,
		    struct readings *readings)
{
	const struct use_sample *last = readings_before(readings, sample);
	const struct use_rows *use = &process->use;
	uint64_t bits;

	table_row(table);
	table_integer(table, TIME, sample->time_ns);
	table_process(table, PROCESS, MACHINE, process);
	table_integer(table, DEVICE, sample->subject);
	for (size_t i = 0; i < use->device_count; i++) {
		if (use->devices[i].number != sample->subject)
			continue;
		table_string(table, NAME, use->devices[i].name);
		table_string(table, UUID, use->devices[i].uuid);
		break;
	}
	if (last != NULL) {
		table_integer(table, LENGTH, sample->time_ns - last->time_ns);
		add_power(table, use, sample, last);
	}
	if (use_value(use, sample, USE_throttle_reasons, &bits))
		add_reasons(table, bits);
	readings_cells(readings, table, sample);
}

static void note_errors(struct table *table, const struct process *process)
{
	uint64_t error;

	for (size_t i = 0; i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of == USE_OF_DEVICE && use_value(&process->use, sample, USE_nvml_error, &error))
			table_note(table, NOTE_MISSING,
				   "Process %s: NVML refused figures of device %" PRIu32 " (nvmlReturn_t %" PRIu64
				   "%s).",
				   process->called, sample->subject, error,
				   error == 15	? ": the device is lost"
				   : error == 4 ? ": no permission"
						: "");
	}
}

static void add_process(struct table *table, const struct request *request, const struct process *process)
{
	struct readings *readings = readings_make(&process->use, places);
	size_t first_user = 0;

	for (size_t i = 0; readings != NULL && i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of != USE_OF_DEVICE)
			continue;
		if (sample->time_ns < request->from_ns || sample->time_ns > request->to_ns) {
			readings_cells(readings, NULL, sample);
			continue;
		}
		add_row(table, process, sample, readings);
		add_users(table, &process->use, sample, &first_user);
	}
	readings_free(readings);
	note_errors(table, process);
	if (process->use.device_count)
		readings_note(table, process);
}

static void fill(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			add_process(table, request, &request->run->processes[i]);
	if (!notes_not_in_file(table, request))
		table_note(table, NOTE_INFO,
			   "Read through NVML every TFPROF_SYS milliseconds, 500 at least, by processes whose GPU work is recorded with "
			   "TFPROF_CUDA=cupti; of the devices that CUDA shows them. Figures are of the whole device, not of the process "
			   "alone.");
	notes_recording(table, request);
}

const struct table_kind table_device_usage = {
	.id = "device_usage",
	.title = "Use of the devices",
	.help = "Clocks, power, temperature, use and memory of each GPU over time, why its clocks were low, and who computed on "
		"it.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW,
	.text_rows = 30,
	.needs_scan = true,
	.fill = fill,
};
