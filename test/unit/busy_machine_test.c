/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of who had the processors of a machine: readings made by hand go in, two sums come out.
 *
 * Rule: nothing is said of time that was not read.
 */
#include "reducer/read/log.h"
#include "reducer/tables/verdict_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define READINGS 11
#define MS INT64_C(1000000)

/* A reading each 100 ms from 1 s on: what the process used of a processor, and what the machine spent, half of it in the kernel. */
struct readings {
	struct use_sample samples[READINGS];
	struct use_reading values[2 * READINGS];
};

static void read(struct readings *readings, struct process *process, uint64_t own_ms, uint64_t machine_ms)
{
	for (uint32_t i = 0; i < READINGS; i++) {
		readings->values[2 * i] = (struct use_reading){(500 + i * machine_ms / 2) * (uint64_t)MS, 2 * i + 2, USE_host_user};
		readings->values[2 * i + 1] = (struct use_reading){i * machine_ms / 2 * (uint64_t)MS, 0, USE_host_system};
		readings->samples[i] = (struct use_sample){.time_ns = 1000 * MS + i * 100 * MS,
							   .of = USE_OF_PROCESS,
							   .has_use = true,
							   .user_ns = i * own_ms * (uint64_t)MS,
							   .readings = machine_ms ? 2 * i + 1 : 0};
	}
	static struct log log;

	process->log = &log;
	process->use = (struct use_rows){
		.samples = readings->samples, .count = READINGS, .readings = readings->values, .reading_count = 2 * READINGS};
}

static void a_run_had_what_its_processes_used(void **state)
{
	static struct process processes[2];
	struct run run = {.processes = processes, .process_count = 2};
	struct busy_machine machine;
	struct readings one, other;

	(void)state;
	read(&one, &processes[0], 30, 200);
	read(&other, &processes[1], 20, 0);
	assert_true(busy_machine_find(&machine, &run, 0, 1150 * MS, 1950 * MS)); /* 7 stretches between the readings inside */
	assert_int_equal(machine.all_ns, 7 * 200 * MS);
	assert_int_equal(machine.own_ns, 7 * 50 * MS);
	for (size_t i = 0; i < READINGS; i++)
		other.samples[i].time_ns -= 500 * MS; /* it ended in between: 1.2 to 1.5 s */
	assert_true(busy_machine_find(&machine, &run, 0, 1150 * MS, 1950 * MS));
	assert_int_equal(machine.own_ns, 7 * 30 * MS + 3 * 20 * MS);
	run.process_count = 1;
	assert_true(busy_machine_find(&machine, &run, 0, 1150 * MS, 1950 * MS));
	assert_int_equal(machine.own_ns, 7 * 30 * MS);
}

/* Two machines, told apart by their starts, and where nobody told these by their names. */
static void what_ran_on_another_machine_counts_for_it_alone(void **state)
{
	static struct pair hosts[] = {{"hostname", "a"}, {"hostname", "b"}};
	static struct process processes[2];
	struct run run = {.processes = processes, .process_count = 2};
	struct busy_machine machine;
	struct readings one, other;
	struct log log = {0};

	(void)state;
	read(&one, &processes[0], 30, 200);
	read(&other, &processes[1], 20, 200);
	processes[1].log = &log;
	assert_true(busy_machine_find(&machine, &run, 0, 1150 * MS, 1950 * MS));
	assert_int_equal(machine.own_ns, 7 * 50 * MS);
	for (size_t i = 0; i < 2; i++) {
		processes[i].hosts = &hosts[i];
		processes[i].host_count = 1;
	}
	assert_true(busy_machine_find(&machine, &run, 0, 1150 * MS, 1950 * MS));
	assert_int_equal(machine.own_ns, 7 * 30 * MS);
	log.header.boot_id[3] = 1;
	hosts[1].value = "a";
	assert_true(busy_machine_find(&machine, &run, 1, 1150 * MS, 1950 * MS));
	assert_int_equal(machine.own_ns, 7 * 20 * MS);
	processes[0].log = &log;
	hosts[1].value = "b"; /* a container on the same machine */
	assert_true(busy_machine_find(&machine, &run, 1, 1150 * MS, 1950 * MS));
	assert_int_equal(machine.own_ns, 7 * 50 * MS);
}

static void of_too_little_that_was_read_nothing_is_said(void **state)
{
	static struct process processes[1];
	struct run run = {.processes = processes, .process_count = 1};
	struct busy_machine machine;
	struct readings one;

	(void)state;
	read(&one, &processes[0], 30, 200);
	assert_false(busy_machine_find(&machine, &run, 0, 3000 * MS, 4000 * MS));
	assert_false(busy_machine_find(&machine, &run, 0, 1700 * MS, 2500 * MS)); /* 300 of 800 ms */
	assert_true(busy_machine_find(&machine, &run, 0, 1600 * MS, 2500 * MS));  /* 400 of 900 ms */
	read(&one, &processes[0], 30, 0);
	assert_false(busy_machine_find(&machine, &run, 0, 1150 * MS, 1950 * MS));
}

/* Four processors, of 400 ms each 100 ms 200 busy. What runs on those that others have is not who was in the way. */
static void of_processors_that_others_have_nothing_is_said(void **state)
{
	static struct process processes[1];
	static struct pair hosts[] = {{"cpus", "4"}};
	struct run run = {.processes = processes, .process_count = 1};
	struct busy_machine machine;
	struct use_reading values[3 * READINGS];
	struct readings one;

	(void)state;
	read(&one, &processes[0], 30, 200);
	for (uint32_t i = 0; i < READINGS; i++) {
		values[3 * i] = (struct use_reading){i * 100 * (uint64_t)MS, 3 * i + 2, USE_host_user};
		values[3 * i + 1] = (struct use_reading){i * 100 * (uint64_t)MS, 3 * i + 3, USE_host_system};
		values[3 * i + 2] = (struct use_reading){i * 200 * (uint64_t)MS, 0, USE_host_idle};
		one.samples[i].readings = 3 * i + 1;
	}
	processes[0].use.readings = values;
	processes[0].use.reading_count = 3 * READINGS;
	processes[0].hosts = hosts;
	processes[0].host_count = 1;
	assert_true(busy_machine_find(&machine, &run, 0, 1150 * MS, 1950 * MS));
	assert_int_equal(machine.all_ns, 7 * 200 * MS);
	hosts[0].value = "1"; /* taskset */
	assert_false(busy_machine_find(&machine, &run, 0, 1150 * MS, 1950 * MS));
}

/* The share is of the one that waited most: not every rank's. */
static void of_several_processes_it_is_said_whose_wait_it_was(void **state)
{
	struct process processes[] = {{.called = "7, rank 0"}, {.called = "8, rank 1"}};
	struct run run = {.processes = processes, .process_count = 2};
	struct request request = {.run = &run};
	struct step_rows rows = {.kind = UNIT_STEP, .processes = 2};
	struct busy busy = {.share = 0.404, .process = 1};
	struct text text = {0};

	(void)state;
	verdict_say_waited(&text, "From", &rows, &request, &busy);
	assert_string_equal(text.bytes, "From the first step to the last their thread in process 8, rank 1, which waited most, waited for "
					"a processor 40 % of the time: other work had them.");
	text_clear(&text);
	rows.processes = 1;
	verdict_say_waited(&text, "From", &rows, &request, &busy);
	assert_string_equal(text.bytes, "From the first step to the last their thread waited for a processor 40 % of the time: other work "
					"had them.");
	text_clear(&text);
	busy.stretch_ns = 3e8;
	busy.between_ns = 1.2e9;
	busy.own = 0.8;
	verdict_say_waited(&text, "From", &rows, &request, &busy);
	assert_string_equal(text.bytes, "From the first step to the last their thread waited for a processor 40 % of the time (by the "
					"readings around these 0.30 s, 1.20 s apart): other threads and processes of this run had them.");
	text_clear(&text);
	busy.share = 0.01;
	verdict_say_waited(&text, "From", &rows, &request, &busy);
	assert_int_equal(text.length, 0);
	text_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_had_what_its_processes_used),
		cmocka_unit_test(what_ran_on_another_machine_counts_for_it_alone),
		cmocka_unit_test(of_several_processes_it_is_said_whose_wait_it_was),
		cmocka_unit_test(of_too_little_that_was_read_nothing_is_said),
		cmocka_unit_test(of_processors_that_others_have_nothing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
