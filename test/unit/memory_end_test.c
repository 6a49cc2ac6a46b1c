/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what is said of memory that ran out: runs made by hand go in, one sentence or none comes out.
 *
 * Rule: what the kernel counted is told as it is; what only looks like it is marked inferred.
 */
#include "reducer/read/log.h"
#include "reducer/tables/memory_end.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB UINT64_C(1048576)
#define SECOND INT64_C(1000000000)

static struct process process;
static struct run run = {.processes = &process, .process_count = 1};
static const struct request request = {.run = &run};
static struct table *table;

static void is_said(enum note_kind kind, const char *text)
{
	table = table_make(&table_processes);
	memory_end_note(table, &request);
	assert_int_equal(table->note_count, 1);
	assert_string_equal(table->notes[0].text, text);
	assert_int_equal(table->notes[0].kind, kind);
	table_free(table);
}

static void is_silent(void)
{
	table = table_make(&table_processes);
	memory_end_note(table, &request);
	assert_int_equal(table->note_count, 0);
	table_free(table);
}

static void is_said_of_others(enum note_kind kind, const char *text)
{
	table = table_make(&table_processes);
	memory_end_note_other(table, &request);
	assert_int_equal(table->note_count, 1);
	assert_string_equal(table->notes[0].text, text);
	assert_int_equal(table->notes[0].kind, kind);
	table_free(table);
}

static void is_silent_of_others(void)
{
	table = table_make(&table_processes);
	memory_end_note_other(table, &request);
	assert_int_equal(table->note_count, 0);
	table_free(table);
}

static void kills_in_the_group_are_told_where_something_ended_badly(void **state)
{
	(void)state;
	process = (struct process){.pid = 10,
				   .called = "10",
				   .end = END_EXIT,
				   .end_status = 1,
				   .told = {.memory_kills = 1, .memory_limit_bytes = 400 * MIB}};
	is_said(NOTE_INFO, "Out of memory: meanwhile the kernel killed 1 process of the control group, whose limit is 400 MiB.");
	process.told = (struct tfp_end_payload){.memory_kills = 2, .machine_memory_kills = 2};
	is_said(NOTE_INFO,
		"Out of memory: meanwhile the kernel killed 2 processes of the control group for want of memory; the group "
		"itself has no limit.");
}

/* A run that had ended well was headed "Out of memory": another program of its container had been killed. */
static void kills_of_strangers_are_no_end_of_this_run(void **state)
{
	struct child_end child = {.pid = 11, .status = 9};

	(void)state;
	process = (struct process){
		.pid = 10, .called = "10", .end = END_EXIT, .told = {.memory_kills = 1, .memory_limit_bytes = 400 * MIB}};
	is_silent();
	is_said_of_others(NOTE_INFO,
			  "Meanwhile the kernel killed 1 process of the control group for want of memory, none of those shown here: "
			  "these ended otherwise.");
	process.child_ends = &child; /* one that left no log may have been the one */
	process.child_end_count = 1;
	is_said(NOTE_INFO, "Out of memory: meanwhile the kernel killed 1 process of the control group, whose limit is 400 MiB.");
	is_silent_of_others();
}

/*
 * Somebody sent SIGKILL on a machine with three quarters of its memory free, while another container ran out of its own: the report said
 * "Out of memory, it seems".
 */
static void a_kill_on_a_machine_with_room_is_somebody_elses(void **state)
{
	struct use_reading reading = {8000 * MIB, 0, USE_host_available};
	struct use_sample sample = {.time_ns = SECOND, .of = USE_OF_PROCESS, .readings = 1, .memory_bytes = 24576 * MIB};
	struct system_file file = {"/sys/fs/cgroup/memory.events", 0};

	(void)state;
	sample.memory_free_bytes = 2048 * MIB;
	process = (struct process){.pid = 10, .called = "10", .end = END_SIGNAL, .end_status = 9, .gone_ns = SECOND + SECOND / 4};
	process.told = (struct tfp_end_payload){.realtime_ns = 1, .wait_status = 9, .machine_memory_kills = 2};
	process.use = (struct use_rows){.samples = &sample, .count = 1, .readings = &reading, .reading_count = 1};
	is_silent();
	is_said_of_others(NOTE_INFERRED,
			  "Process 10 was killed by SIGKILL, hardly by the kernel, which killed 2 of the machine's processes for want "
			  "of memory meanwhile: 250 ms before the end 7.81 of 24 GiB could still be had. It came from kill -9, it seems, "
			  "from a limit of processor time (ulimit -t), or from what watches over jobs.");
	reading.value = 6000 * MIB; /* below a quarter */
	is_said(NOTE_INFERRED, "Out of memory, it seems: process 10 was killed, and meanwhile the kernel killed 2 of the machine's "
			       "processes for want of memory.");
	is_silent_of_others();
	sample.memory_free_bytes = 8000 * MIB; /* what is free could be had */
	is_silent();
	process.gone_ns = 3 * SECOND; /* read too long before */
	is_said(NOTE_INFERRED, "Out of memory, it seems: process 10 was killed, and meanwhile the kernel killed 2 of the machine's "
			       "processes for want of memory.");
	reading.kind = USE_group_oom_kills; /* of the second version it counts for all groups below */
	process.use.files = &file;
	process.use.file_count = 1;
	is_silent();
	file.path = "/sys/fs/cgroup/memory/memory.oom_control";
	is_said(NOTE_INFERRED, "Out of memory, it seems: process 10 was killed, and meanwhile the kernel killed 2 of the machine's "
			       "processes for want of memory.");
}

/* `tfprof run` counted kills on its machine; what was killed ran on another one. */
static void kills_on_another_machine_explain_nothing(void **state)
{
	static struct log logs[2];
	struct process processes[2] = {
		{.pid = 9, .called = "9 of a", .end = END_EXIT, .told = {.machine_memory_kills = 3}, .log = &logs[0]},
		{.pid = 10, .called = "10 of b", .end = END_SIGNAL, .end_status = 9, .log = &logs[1]}};

	(void)state;
	run = (struct run){.processes = processes, .process_count = 2};
	is_said(NOTE_INFERRED, "Out of memory, it seems: process 10 of b was killed, and meanwhile the kernel killed 3 of the machine's "
			       "processes for want of memory.");
	logs[1].header.boot_id[0] = 1;
	is_silent();
	run = (struct run){.processes = &process, .process_count = 1};
}

static void kills_elsewhere_explain_only_a_kill(void **state)
{
	(void)state;
	process = (struct process){.pid = 10, .called = "10", .end = END_EXIT, .told = {.machine_memory_kills = 3}};
	is_silent();
	process.end = END_SIGNAL;
	process.end_status = 11;
	is_silent();
	process.end_status = 9;
	is_said(NOTE_INFERRED,
		"Out of memory, it seems: process 10 was killed, and meanwhile the kernel killed 3 of the machine's "
		"processes for want of memory.");
}

/* A server ended its workers by SIGKILL all the time, and the report blamed one of them on kills of other programs of the machine. */
static void more_killed_than_the_kernel_killed_is_no_want_of_memory(void **state)
{
	static const char *const called[] = {"10", "11", "12", "13"};
	static struct log log;
	struct process several[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		several[i] = (struct process){.pid = 10 + (uint32_t)i, .called = called[i], .end = END_SIGNAL, .end_status = 9};
	several[3] = (struct process){.pid = 9, .called = "9", .end = END_EXIT, .told = {.machine_memory_kills = 2}};
	for (size_t i = 0; i < 4; i++)
		several[i].log = &log;
	run = (struct run){.processes = several, .process_count = 4};
	is_silent();
	several[3].told.machine_memory_kills = 3;
	is_said(NOTE_INFERRED,
		"Out of memory, it seems: process 10 was killed, and meanwhile the kernel killed 3 of the machine's "
		"processes for want of memory.");
	run = (struct run){.processes = &process, .process_count = 1};
}

/* Two readings of the control group; the kills are since it was made. */
static void read_group(struct use_reading readings[6], struct use_sample samples[2], uint64_t held, uint64_t kills)
{
	readings[0] = (struct use_reading){400 * MIB, 2, USE_group_memory_limit};
	readings[1] = (struct use_reading){100 * MIB, 3, USE_group_memory};
	readings[2] = (struct use_reading){5, 0, USE_group_oom_kills};
	readings[3] = (struct use_reading){held, 5, USE_group_memory};
	readings[4] = (struct use_reading){5 + kills, 0, USE_group_oom_kills};
	samples[0] = (struct use_sample){.time_ns = SECOND, .of = USE_OF_PROCESS, .readings = 1};
	samples[1] = (struct use_sample){.time_ns = 2 * SECOND, .of = USE_OF_PROCESS, .readings = 4};
	process.use = (struct use_rows){.samples = samples, .count = 2, .readings = readings, .reading_count = 5};
}

static void a_killed_process_in_a_full_group_probably_ran_out(void **state)
{
	struct use_reading readings[6];
	struct use_sample samples[2];

	(void)state;
	process = (struct process){.pid = 10, .called = "10", .end = END_UNKNOWN, .end_ns = 2 * SECOND + SECOND / 20};
	read_group(readings, samples, 390 * MIB, 0);
	is_said(NOTE_INFERRED,
		"Out of memory, it seems: process 10 ended without a word when its control group held 390 of 400 MiB "
		"(read 50 ms before its last record).");
	process.end = END_EXIT;
	is_silent();
	process.end = END_UNKNOWN;
	read_group(readings, samples, 359 * MIB, 0);
	is_silent();
	read_group(readings, samples, 100 * MIB, 1);
	is_said(NOTE_INFO, "Out of memory: meanwhile the kernel killed 1 process of the control group, whose limit is 400 MiB.");
}

/* Of a job that a scheduler ended at its limit of time nobody knew whether memory was the reason. */
static void a_kill_by_somebody_is_told_as_such(void **state)
{
	struct use_reading readings[6];
	struct use_sample samples[2];

	(void)state;
	process = (struct process){.pid = 10, .called = "10", .end = END_SIGNAL, .end_status = 9, .end_ns = 2 * SECOND};
	process.told = (struct tfp_end_payload){.realtime_ns = 1, .wait_status = 9};
	read_group(readings, samples, 399 * MIB, 0);
	is_silent();
	table = table_make(&table_processes);
	memory_end_note_other(table, &request);
	assert_int_equal(table->note_count, 1);
	assert_int_equal(table->notes[0].kind, NOTE_INFERRED);
	assert_non_null(strstr(table->notes[0].text, "Process 10 was killed by SIGKILL, and not by the kernel for want of memory"));
	assert_non_null(strstr(table->notes[0].text, "a limit of processor time (ulimit -t)")); /* the kernel's own SIGKILL, too */
	table_free(table);
	for (int i = 0; i < 4; i++) {
		process.told = (struct tfp_end_payload){.realtime_ns = 1, .wait_status = 9};
		if (i == 0)
			process.told.memory_kills = 1;
		else if (i == 1)
			process.told.wait_status = 15;
		else if (i == 2)
			process.told.realtime_ns = 0; /* nobody waited for it */
		else
			process.use.count = 0; /* the counter may not be readable */
		table = table_make(&table_processes);
		memory_end_note_other(table, &request);
		assert_int_equal(table->note_count, 0);
		table_free(table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kills_in_the_group_are_told_where_something_ended_badly),
		cmocka_unit_test(kills_of_strangers_are_no_end_of_this_run),
		cmocka_unit_test(a_kill_on_a_machine_with_room_is_somebody_elses),
		cmocka_unit_test(kills_on_another_machine_explain_nothing),
		cmocka_unit_test(kills_elsewhere_explain_only_a_kill),
		cmocka_unit_test(more_killed_than_the_kernel_killed_is_no_want_of_memory),
		cmocka_unit_test(a_killed_process_in_a_full_group_probably_ran_out),
		cmocka_unit_test(a_kill_by_somebody_is_told_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
