/* SPDX-License-Identifier: Apache-2.0 */
/* What the process, its threads, its machine and its devices used, from the log. See scan.h. Rule: kept as it came; see use_thin.h. */
#include "reducer/model/scan.h"
#include "reducer/model/use_thin.h"

#include <stdlib.h>
#include <string.h>

static struct use_sample *room_for(struct process *process, struct use_sample sample)
{
	struct use_rows *use = &process->use;
	struct use_sample *samples;

	use_thin(use);
	samples = model_room(use->samples, use->count, sizeof *samples);
	if (samples == NULL) {
		use->left_out++;
		return NULL;
	}
	use->samples = samples;
	sample.stands = 1;
	use->samples[use->count] = sample;
	return &use->samples[use->count++];
}

static struct use_sample common(const struct batch *batch, size_t i, const int *fields, enum use_of of, uint32_t subject)
{
	return (struct use_sample){.time_ns = (int64_t)batch->times[i],
				   .of = of,
				   .subject = subject,
				   .has_use = true,
				   .user_ns = batch_value(batch, i, fields[0]),
				   .system_ns = batch_value(batch, i, fields[1]),
				   .minor_faults = batch_value(batch, i, fields[2]),
				   .major_faults = batch_value(batch, i, fields[3]),
				   .waits = batch_value(batch, i, fields[4]),
				   .preemptions = batch_value(batch, i, fields[5])};
}

static void take_thread(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct scan *scan = state;

	room_for(scan->process, common(batch, i, fields, USE_OF_THREAD, scan->process->log->streams[stream].thread));
}

static void take_process(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct scan *scan = state;
	struct use_sample sample = common(batch, i, fields, USE_OF_PROCESS, 0);

	(void)stream;
	sample.peak_resident_bytes = batch_value(batch, i, fields[6]);
	sample.blocks_read = batch_value(batch, i, fields[7]);
	sample.blocks_written = batch_value(batch, i, fields[8]);
	sample.load = (double)batch_value(batch, i, fields[9]) / 65536;
	sample.memory_bytes = batch_value(batch, i, fields[10]);
	sample.memory_free_bytes = batch_value(batch, i, fields[11]);
	room_for(scan->process, sample);
}

static const uint8_t subjects[USE_READINGS] = {
#define OF_PROCESS USE_OF_PROCESS
#define OF_GROUP USE_OF_PROCESS
#define OF_HOST USE_OF_PROCESS
#define OF_THREAD USE_OF_TASK
#define OF_DEVICE USE_OF_DEVICE
#define TFP_READING(number, name, subject, kind, unit, help) [number] = OF_##subject,
#include "collectors/tables/readings.def"
#undef TFP_READING
};

/* The sample that a reading is of: of the same moment and subject, or a new one. */
static struct use_sample *sample_of(struct process *process, int64_t time, enum use_of of, uint32_t subject)
{
	struct use_rows *use = &process->use;

	use_thin(use); /* moves samples: before one is looked for */
	for (size_t i = use->count; i > 0 && use->samples[i - 1].time_ns == time; i--)
		if (use->samples[i - 1].of == of && use->samples[i - 1].subject == subject)
			return &use->samples[i - 1];
	return room_for(process, (struct use_sample){.time_ns = time, .of = of, .subject = subject});
}

static void take_reading(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct scan *scan = state;
	struct use_rows *use = &scan->process->use;
	uint64_t kind = batch_value(batch, i, fields[2]);

	(void)stream;
	if (kind >= USE_READINGS) /* of a later version */
		return;
	struct use_sample *sample =
		sample_of(scan->process, (int64_t)batch->times[i], subjects[kind], (uint32_t)batch_value(batch, i, fields[1]));
	if (sample == NULL)
		return;
	struct use_reading *readings = model_room(use->readings, use->reading_count, sizeof *readings);
	if (readings == NULL) {
		use->left_out++;
		return;
	}
	use->readings = readings;
	readings[use->reading_count++] = (struct use_reading){batch_value(batch, i, fields[0]), sample->readings, (uint16_t)kind};
	sample->readings = (uint32_t)use->reading_count;
}

static void take_user(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct scan *scan = state;
	struct use_rows *use = &scan->process->use;
	struct device_user *users;

	(void)stream;
	use_thin(use);
	users = model_room(use->users, use->user_count, sizeof *users);
	if (users == NULL) {
		use->left_out++;
		return;
	}
	use->users = users;
	users[use->user_count++] = (struct device_user){.time_ns = (int64_t)batch->times[i],
							.used_bytes = batch_value(batch, i, fields[0]),
							.device = (uint32_t)batch_value(batch, i, fields[1]),
							.process = (uint32_t)batch_value(batch, i, fields[2])};
}

static char *copy_of(const struct fact *fact, int field)
{
	const struct fact_value *value = fact_text(fact, field);

	return value == NULL ? strdup("") : strndup(value->text, value->length);
}

static void take_device(void *state, const struct fact *fact, const int *fields)
{
	struct use_rows *use = &((struct scan *)state)->process->use;
	struct nvml_device *devices = model_room(use->devices, use->device_count, sizeof *devices);

	if (devices == NULL)
		return;
	use->devices = devices;
	devices[use->device_count++] =
		(struct nvml_device){(uint32_t)fact_number(fact, fields[0]), copy_of(fact, fields[1]), copy_of(fact, fields[2])};
}

static void take_file(void *state, const struct fact *fact, const int *fields)
{
	struct use_rows *use = &((struct scan *)state)->process->use;
	struct system_file *files = model_room(use->files, use->file_count, sizeof *files);

	if (files == NULL)
		return;
	use->files = files;
	files[use->file_count++] = (struct system_file){copy_of(fact, fields[0]), (int)fact_number(fact, fields[1])};
}

static const struct scan_record records[] = {
	{"thread_use", take_thread, NULL, {"user", "system", "minor_faults", "major_faults", "waits", "preemptions"}},
	{"process_use",
	 take_process,
	 0,
	 {"user", "system", "minor_faults", "major_faults", "waits", "preemptions", "peak_resident", "blocks_read",
	  "blocks_written", "load", "memory", "memory_free"}},
	{"reading", take_reading, NULL, {"value", "subject", "kind"}},
	{"device_process", take_user, NULL, {"used", "device", "process"}},
};

static const struct scan_fact facts[] = {
	{"nvml_device", take_device, {"number", "uuid", "name"}},
	{"system_file", take_file, {"path", "error"}},
};

static void times(struct process *process)
{
	for (size_t i = 0; i < process->use.count; i++)
		process->use.samples[i].time_ns = process_ns(process, (uint64_t)process->use.samples[i].time_ns);
	for (size_t i = 0; i < process->use.user_count; i++)
		process->use.users[i].time_ns = process_ns(process, (uint64_t)process->use.users[i].time_ns);
}

static void close_process(struct process *process)
{
	struct use_rows *use = &process->use;

	for (size_t i = 0; i < use->device_count; i++) {
		free(use->devices[i].uuid);
		free(use->devices[i].name);
	}
	for (size_t i = 0; i < use->file_count; i++)
		free(use->files[i].path);
	free(use->devices);
	free(use->files);
	free(use->users);
	free(use->readings);
	free(use->samples);
}

const struct scan_subject use_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.facts = facts,
	.fact_count = sizeof facts / sizeof *facts,
	.times = times,
	.close = close_process,
};
