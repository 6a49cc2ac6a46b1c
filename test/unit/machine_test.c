/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what a machine kept from a process: readings made by hand go in, shares come out.
 *
 * Rule: nothing is said of time that was not read.
 */
#include "reducer/model/gpu.h"
#include "reducer/tables/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define READINGS 11
#define KINDS 8
#define MS INT64_C(1000000)
#define FROM (1000 * MS)

/* A reading each 100 ms from 1 s on; totals grow by as much in each, levels stay. */
struct readings {
	struct use_sample samples[READINGS];
	struct use_reading values[READINGS * KINDS];
	size_t kinds;
	struct process process;
};

static void begin(struct readings *readings, enum use_of of)
{
	*readings = (struct readings){0};
	for (uint32_t i = 0; i < READINGS; i++)
		readings->samples[i] = (struct use_sample){.time_ns = FROM + i * 100 * MS, .of = of};
	readings->process.use = (struct use_rows){.samples = readings->samples,
						  .count = READINGS,
						  .readings = readings->values,
						  .reading_count = READINGS * KINDS};
	readings->process.gone_ns = INT64_MAX;
}

static void add(struct readings *readings, uint16_t kind, uint64_t first, uint64_t more)
{
	for (uint32_t i = 0; i < READINGS; i++) {
		uint32_t at = (uint32_t)(readings->kinds * READINGS) + i;
		readings->values[at] = (struct use_reading){first + i * more, readings->samples[i].readings, kind};
		readings->samples[i].readings = at + 1;
	}
	readings->kinds++;
}

static void near(double value, double wanted)
{
	assert_true(value > wanted - 1e-9 && value < wanted + 1e-9);
}

static void a_limit_is_told_by_its_periods(void **state)
{
	struct readings readings;
	struct machine_kept kept;

	(void)state;
	begin(&readings, USE_OF_PROCESS);
	add(&readings, USE_group_cpu_quota, 75 * MS, 0);
	add(&readings, USE_group_cpu_period, 50 * MS, 0);
	add(&readings, USE_group_throttles, 40, 1); /* one of two periods */
	kept = machine_kept_from(&readings.process, FROM, FROM + 1000 * MS);
	near(kept.processors, 1.5);
	near(kept.limited, 0.5);
	near(kept.stolen, -1);
	near(kept.memory_stall, -1);
	kept = machine_kept_from(&readings.process, FROM + 250 * MS, FROM + 650 * MS); /* by those at 0.2 and 0.7 s */
	near(kept.limited, 0.5);
	kept = machine_kept_from(&readings.process, FROM + 250 * MS, FROM + 260 * MS); /* the readings lie ten times as far apart */
	near(kept.limited, -1);
	kept = machine_kept_from(&readings.process, FROM + 1000 * MS, FROM + 2000 * MS); /* nothing was read any more */
	near(kept.limited, -1);
	begin(&readings, USE_OF_PROCESS);
	add(&readings, USE_group_throttles, 40, 1); /* no limit: nothing that could be used up */
	near(machine_kept_from(&readings.process, FROM, FROM + 1000 * MS).processors, 0);
	near(machine_kept_from(&readings.process, FROM, FROM + 1000 * MS).limited, 0);
}

static void memory_and_other_machines(void **state)
{
	struct readings readings;
	struct machine_kept kept;

	(void)state;
	begin(&readings, USE_OF_PROCESS);
	add(&readings, USE_host_user, 7, 60 * MS);
	add(&readings, USE_host_system, 7, 20 * MS);
	add(&readings, USE_host_stolen, 7, 20 * MS);
	add(&readings, USE_host_memory_stall, 7, 30 * MS);
	kept = machine_kept_from(&readings.process, FROM, FROM + 1000 * MS);
	near(kept.stolen, 0.2); /* of the time that was wanted: what was idle is not in it */
	near(kept.memory_stall, 0.3);
	assert_false(kept.is_groups_stall);
	add(&readings, USE_group_memory_stall, 7, 10 * MS);
	kept = machine_kept_from(&readings.process, FROM, FROM + 1000 * MS);
	near(kept.memory_stall, 0.1);
	assert_true(kept.is_groups_stall);
	readings.values[READINGS - 1].value = 0; /* a total that fell: the file was of another machine, say */
	near(machine_kept_from(&readings.process, FROM, FROM + 1000 * MS).stolen, -1);
}

static struct machine_device device_of(struct readings *readings, int64_t from, int64_t to)
{
	struct gpu_queue queues[] = {{.device = GPU_NONE}, {.device = 0}, {.device = 3}, {.device = 0}};
	struct gpu gpu = {.queues = queues, .queue_count = 4};
	struct run run = {.processes = &readings->process, .process_count = 1};
	struct machine_device devices[MACHINE_DEVICES];
	size_t count;

	readings->process.gpu = &gpu;
	count = machine_devices(devices, &run, 0, from, to);
	readings->process.gpu = NULL;
	return count ? devices[0] : (struct machine_device){.device = GPU_NONE};
}

static void clocks_that_were_lowered(void **state)
{
	struct readings readings;
	struct machine_device device;
	struct text words = {0};

	(void)state;
	begin(&readings, USE_OF_DEVICE);
	add(&readings, USE_sm_clock, 1200, 0);
	add(&readings, USE_sm_clock_max, 1600, 0);
	add(&readings, USE_throttle_reasons, 0x25, 0);
	add(&readings, USE_processes, 1, 0);
	for (uint32_t i = 0; i < 6; i++) /* until 1.5 s it ran as it could, but for resting */
		readings.values[2 * READINGS + i].value = 0x1;
	device = device_of(&readings, FROM, FROM + 1000 * MS);
	assert_int_equal(device.device, 0);
	near(device.lowered, 0.5);
	near(device.clock, 1200);
	near(device.lost, 0.125);
	near(device.shared, 0);
	machine_put_reasons(&words, device.reasons);
	assert_string_equal(words.bytes, "power cap, temperature");
	text_free(&words);
	device = device_of(&readings, FROM + 550 * MS, FROM + 1000 * MS);
	near(device.lowered, 1);
	near(device.lost, 0.25);
	assert_int_equal(device_of(&readings, FROM, FROM + 250 * MS).device, GPU_NONE); /* two readings in it */
	for (uint32_t i = 0; i < READINGS; i++)
		readings.values[i].value = 1590; /* as high as the clock gets */
	near(device_of(&readings, FROM, FROM + 1000 * MS).lowered, 0);
}

/* A device, and what its process read of the group: until 1.5 s at 1,600 MHz and unlimited, then slower. */
static void what_came_with_slower_steps(void **state)
{
	struct machine_stretch before = {FROM, FROM + 500 * MS}, now = {FROM + 500 * MS, FROM + 1000 * MS};
	struct gpu_queue queue = {.device = 2};
	struct gpu gpu = {.queues = &queue, .queue_count = 1};
	struct readings readings;
	struct run run = {.processes = &readings.process, .process_count = 1};
	struct text text = {0};

	(void)state;
	begin(&readings, USE_OF_DEVICE);
	for (uint32_t i = 0; i < READINGS; i++)
		readings.samples[i].subject = 2;
	add(&readings, USE_sm_clock, 1600, 0);
	add(&readings, USE_sm_clock_max, 1600, 0);
	add(&readings, USE_throttle_reasons, 0x1, 0);
	readings.process.gpu = &gpu;
	machine_say_since(&text, &run, 0, before, now);
	assert_int_equal(text.length, 0);
	for (uint32_t i = 6; i < READINGS; i++) {
		readings.values[i].value = 1200;
		readings.values[2 * READINGS + i].value = 0x40;
	}
	machine_say_since(&text, &run, 0, before, now);
	assert_string_equal(text.bytes, " Meanwhile device 2 ran at 1200 MHz, before at 1600 (hardware temperature).");
	text_free(&text);
	machine_say_since(&text, &run, 0, now, before); /* it grew cooler again */
	assert_int_equal(text.length, 0);

	readings.process.gpu = NULL;
	begin(&readings, USE_OF_PROCESS);
	add(&readings, USE_group_cpu_quota, 100 * MS, 0);
	add(&readings, USE_group_cpu_period, 100 * MS, 0);
	add(&readings, USE_group_throttles, 7, 0);
	for (uint32_t i = 6; i < READINGS; i++)
		readings.values[2 * READINGS + i].value = 7 + i - 5;
	machine_say_since(&text, &run, 0, before, now);
	assert_string_equal(text.bytes,
			    " Meanwhile the control group had used up its limit, 1 processor, in 100 % of the periods, before in 0 %.");
	text_free(&text);
	text = (struct text){0};
	machine_say_since(&text, &run, 0, before, before);
	assert_int_equal(text.length, 0);
}

static void who_else_computes_there(void **state)
{
	struct readings readings;

	(void)state;
	begin(&readings, USE_OF_DEVICE);
	add(&readings, USE_processes, 1, 0);
	for (uint32_t i = 8; i < READINGS; i++)
		readings.values[i].value = 2;
	near(device_of(&readings, FROM, FROM + 1000 * MS).shared, 0.3);
	readings.process.start_ns = FROM + 2000 * MS; /* whose log begins behind it: it is none of the two */
	near(device_of(&readings, FROM, FROM + 1000 * MS).shared, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_is_told_by_its_periods),
		cmocka_unit_test(memory_and_other_machines),
		cmocka_unit_test(clocks_that_were_lowered),
		cmocka_unit_test(what_came_with_slower_steps),
		cmocka_unit_test(who_else_computes_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
