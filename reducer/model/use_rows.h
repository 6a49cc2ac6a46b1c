/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was used of the machine at one moment after the other, as the kernel and NVML told it.
 *
 * Rule: kept as it came: totals are since some beginning, and what was not read is absent. Of a long run some samples are left out.
 */
#ifndef REDUCER_MODEL_USE_ROWS_H
#define REDUCER_MODEL_USE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of collectors/tables/readings.def by their numbers. */
enum use_reading_kind {
#define TFP_READING(number, name, subject, kind, unit, help) USE_##name = (number),
#include "collectors/tables/readings.def"
#undef TFP_READING
	USE_READINGS = 192 /* their numbers stay below */
};

struct use_reading {
	uint64_t value;
	uint32_t next; /* of the same sample: place in the process's list + 1, 0 = none */
	uint16_t kind; /* enum use_reading_kind */
};

enum use_of {
	USE_OF_PROCESS,
	USE_OF_THREAD, /* read by the thread itself; `subject` is its serial */
	USE_OF_TASK,   /* read from outside; `subject` is its kernel id */
	USE_OF_DEVICE, /* `subject` is NVML's number */
};

struct use_sample {
	int64_t time_ns;
	enum use_of of;
	uint32_t subject;
	uint32_t readings; /* as use_reading.next */
	uint32_t stands;   /* samples of its subject with the same kinds of readings that it stands for, itself and those before it */
	bool has_use;	   /* the fields below are known */
	uint64_t user_ns, system_ns, minor_faults, major_faults, waits, preemptions;
	/* Of the process alone. */
	uint64_t peak_resident_bytes, blocks_read, blocks_written, memory_bytes, memory_free_bytes;
	double load;
};

/* A process that computes on a device, at the time of a sample of that device. */
struct device_user {
	int64_t time_ns;
	uint32_t device, process;
	uint64_t used_bytes; /* UINT64_MAX: not said */
};

struct nvml_device {
	uint32_t number;
	char *uuid, *name;
};

/* A file that figures were to be read from. */
struct system_file {
	char *path;
	int error; /* errno of opening it; 0 = it was read */
};

struct use_rows {
	struct use_sample *samples; /* by time */
	uint64_t each;		    /* of so many that follow each other one is kept, use_thin.h; 0 = all are */
	size_t most;		    /* private to use_thin.c */
	uint64_t left_out;	    /* samples and readings that found no room all the same */
	size_t count;
	struct use_reading *readings;
	size_t reading_count;
	struct device_user *users; /* by time */
	size_t user_count;
	struct nvml_device *devices;
	size_t device_count;
	struct system_file *files;
	size_t file_count;
};

/* Whether the sample has that reading; then *value. */
static inline bool use_value(const struct use_rows *rows, const struct use_sample *sample, uint16_t kind, uint64_t *value)
{
	for (uint32_t at = sample->readings; at != 0; at = rows->readings[at - 1].next) {
		if (rows->readings[at - 1].kind != kind)
			continue;
		*value = rows->readings[at - 1].value;
		return true;
	}
	return false;
}

#endif
