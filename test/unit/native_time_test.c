/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of native code: from looks in a made log, whose addresses are functions of this program and of the C library, to functions; and runs
 * of days, where one look stands for several.
 */
#include "reducer/model/scan.h"
#include "reducer/tables/native_looks.h"
#include "reducer/tables/tasks.h"
#include "test/unit/run_made.h"

#include <dlfcn.h>
#include <elf.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Functions that the log names. */
int outer(int number);
int hot(int number);
__attribute__((noinline)) int hot(int number)
{
	return (int)((unsigned)number * 2654435761u >> 7);
}

__attribute__((noinline)) int outer(int number)
{
	return hot(number) + 1;
}

enum { NONE, OUTER, HOT_IN_OUTER, LIBC_IN_HOT, OUTER_IN_OUTER, HOT_IN_BOTH, CUT, HOT_CUT };
enum { MAIN = 100, WORKER = 101, UNLISTED = 555, FUTEX = 202, NANOSLEEP = 35 };
#define BEYOND 4000000000u /* no such stack */

static struct fixture {
	struct request request;
	struct native_looks looks;
} made;

static void add_module(struct maker *maker, const char *number, const void *inside)
{
	char bias[32], end[32], path[4096];
	Dl_info found;

	assert_int_not_equal(dladdr(inside, &found), 0);
	snprintf(bias, sizeof bias, "#%llu", (unsigned long long)(uintptr_t)found.dli_fbase);
	snprintf(end, sizeof end, "#%llu", (unsigned long long)(uintptr_t)found.dli_fbase + (UINT64_C(1) << 30));
	assert_non_null(realpath(found.dli_fname, path));
	maker_fact(maker, TFP_TAG_module, (const char *const[]){number, bias, bias, end, "#7", "#8", "", path, NULL});
}

static struct tfp_pc pc_in(const void *function, uint32_t module)
{
	return (struct tfp_pc){(uintptr_t)function + 4, module, TFP_PC_WRITTEN};
}

static void begin(struct maker *maker)
{
	struct tfp_thread_slot slots[2] = {{.state = 1, .serial = 1, .tid = MAIN, .name = "main"},
					   {.state = 1, .serial = 2, .tid = WORKER, .name = "worker"}};
	const struct tfp_pc pcs[] = {{0, 0, 0},
				     pc_in((const void *)(uintptr_t)outer, 1),
				     pc_in((const void *)(uintptr_t)hot, 1),
				     pc_in((const void *)(uintptr_t)sched_yield, 2),
				     {0, 0, TFP_PC_WRITTEN | TFP_PC_CUT_UNKNOWN}};
	const uint64_t nodes[] = {[OUTER] = 1,
				  [HOT_IN_OUTER] = (uint64_t)OUTER << 32 | 2,
				  [LIBC_IN_HOT] = (uint64_t)HOT_IN_OUTER << 32 | 3,
				  [OUTER_IN_OUTER] = (uint64_t)OUTER << 32 | 1,
				  [HOT_IN_BOTH] = (uint64_t)OUTER_IN_OUTER << 32 | 2,
				  [CUT] = 4,
				  [HOT_CUT] = (uint64_t)CUT << 32 | 2};

	maker_begin(maker);
	maker_schema(maker, "");
	add_module(maker, "#1", (const void *)(uintptr_t)outer);
	add_module(maker, "#2", (const void *)(uintptr_t)sched_yield);
	maker_live(maker, TFP_BLOCK_THREADS, NULL, slots, sizeof slots);
	maker->live.threads_count = 2;
	maker_live(maker, TFP_BLOCK_PCS, NULL, pcs, sizeof pcs);
	maker_live(maker, TFP_BLOCK_NODES, NULL, nodes, sizeof nodes);
}

/* What is known of a log with these records, of a thread or all. */
static void gather(void (*fill)(struct maker_records *records), const char *thread)
{
	struct maker_records *records = calloc(1, sizeof *records);
	struct maker maker;

	begin(&maker);
	fill(records);
	maker_events(&maker, 1, 0, 1, 0, records);
	maker.live.end_kind = TFP_END_EXIT;
	maker.live.end_time = 100000;
	maker_finish(&maker);
	free(records);
	run_made_of(&maker, "native_time_test");
	made.request = (struct request){
		.run = run_made.run, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .top = SIZE_MAX, .points = 1000, .thread = thread};
	made.request.frames = frames_make(run_made.run, &(struct symbols_options){0});
	request_open_analyses(&made.request);
	native_looks_gather(&made.looks, &made.request, false);
}

static int forget(void **state)
{
	native_looks_free(&made.looks);
	request_close_analyses(&made.request);
	frames_free(made.request.frames);
	return run_made_forget(state);
}

/* Of that name, or of the C library. NULL = none. */
static const struct native_function *function_of(const char *name)
{
	for (size_t i = 0; i < made.looks.names.count; i++)
		if (name ? strcmp(made.looks.names.list[i].function, name) == 0
			 : strncmp(made.looks.names.list[i].file, "libc.so", 7) == 0)
			return &made.looks.list[i];
	return NULL;
}

static void some_looks(struct maker_records *records)
{
	MAKER_ADD(records, 5000, native_time, .thread = MAIN, .stack = HOT_IN_OUTER, .cpu = 1000, .call = NATIVE_NO_CALL);
	MAKER_ADD(records, 6000, native_time, .thread = WORKER, .stack = LIBC_IN_HOT, .cpu = 2000, .call = NATIVE_NO_CALL);
	MAKER_ADD(records, 7000, native_time, .thread = UNLISTED, .stack = HOT_IN_BOTH, .cpu = 500, .call = NATIVE_NO_CALL);
	MAKER_ADD(records, 8000, native_time, .thread = MAIN, .stack = LIBC_IN_HOT, .wall = 3000, .call = FUTEX);
	MAKER_ADD(records, 9000, native_time, .thread = WORKER, .stack = LIBC_IN_HOT, .wall = 4000, .call = NANOSLEEP);
	MAKER_ADD(records, 9500, native_time, .thread = MAIN, .stack = NONE, .cpu = 100, .call = NATIVE_NO_CALL);
	MAKER_ADD(records, 9600, native_time, .thread = MAIN, .stack = HOT_CUT, .cpu = 200, .call = NATIVE_NO_CALL);
	MAKER_ADD(records, 9700, native_time, .thread = MAIN, .stack = OUTER, .wall = 10, .call = NATIVE_NO_CALL);
}

static void test_functions(void **unused)
{
	const struct native_function *function;

	(void)unused;
	gather(some_looks, NULL);
	function = function_of("hot");
	assert_non_null(function);
	assert_int_equal(function->self.cpu_ns, 1000 + 500 + 200);
	assert_int_equal(function->own.cpu_ns, 1000 + 2000 + 500 + 200);
	assert_int_equal(function->total.cpu_ns, function->own.cpu_ns);
	assert_int_equal(function->own.wait_ns, 3000);
	assert_int_equal(function->self.wait_ns, 0);
	assert_int_equal(function->total.looks, 5);
	assert_int_equal(function->threads, 3);
	assert_int_equal(function->processes, 1);
	assert_string_equal(native_looks_waits_in(function->waits), "lock");
	function = function_of("outer");
	assert_non_null(function);
	assert_int_equal(function->total.cpu_ns, 1000 + 2000 + 500); /* twice on one of the stacks */
	assert_int_equal(function->self.cpu_ns + function->own.cpu_ns, 0);
	assert_int_equal(function->total.wait_ns, 3000 + 10);
	assert_int_equal(function->waits[WAIT_PAGE], 10);
	function = function_of(NULL);
	assert_non_null(function);
	assert_int_equal(function->self.cpu_ns, 2000);
	assert_int_equal(function->own.cpu_ns, 0);
	assert_int_equal(function->threads, 2);
	assert_int_equal(made.looks.all.cpu_ns, 3800);
	assert_int_equal(made.looks.all.wait_ns, 3010);
	assert_int_equal(made.looks.nowhere.cpu_ns, 100);
	assert_int_equal(made.looks.cut.cpu_ns, 200);
	assert_int_equal(made.looks.threads, 3);
	assert_true(fabs(native_looks_error(&made.looks, &function_of("hot")->self) - sqrt(1e6 + 25e4 + 4e4)) < 1e-6);
}

static void test_a_thread(void **unused)
{
	(void)unused;
	gather(some_looks, "worker");
	assert_int_equal(made.looks.all.cpu_ns, 2000);
	assert_int_equal(made.looks.all.wait_ns, 4000);
	assert_string_equal(native_looks_waits_in(function_of("hot")->waits), "sleep");
}

static void test_a_thread_that_is_not_listed(void **unused)
{
	(void)unused;
	gather(some_looks, "555");
	assert_null(request_names_nobody(&made.request)); /* there is such a one, though the log lists it not */
	assert_int_equal(made.looks.all.cpu_ns, 500);
	assert_int_equal(made.looks.all.wait_ns, 0);
}

static void steps(struct maker_records *records)
{
	for (uint64_t number = 1; number <= 3; number++)
		MAKER_ADD(records, 10000 * number, step, .number = number);
	/* Told late: it is of the first step. */
	MAKER_ADD(records, 35000, native_time, .thread = WORKER, .stack = HOT_IN_OUTER, .cpu = 700, .before = 17000);
	/* Before the first, and in the last, whose end nothing tells. */
	MAKER_ADD(records, 35001, native_time, .thread = MAIN, .stack = HOT_IN_OUTER, .cpu = 30, .before = 30000, .call = NATIVE_NO_CALL);
	MAKER_ADD(records, 35002, native_time, .thread = MAIN, .stack = HOT_IN_OUTER, .cpu = 4, .call = NATIVE_NO_CALL);
	MAKER_ADD(records, 35003, native_time, .thread = MAIN, .stack = LIBC_IN_HOT, .wall = 5000, .before = 10000, .call = FUTEX);
	MAKER_ADD(records, 35004, native_time, .thread = WORKER, .stack = LIBC_IN_HOT, .wall = 6000, .before = 10000, .call = FUTEX);
}

static void test_steps(void **unused)
{
	const struct native_function *function;

	(void)unused;
	gather(steps, NULL);
	function = function_of("hot");
	assert_true(made.looks.has_steps);
	assert_int_equal(function->own.cpu_ns, 734);
	assert_int_equal(function->own.step_cpu_ns, 700);
	assert_int_equal(native_looks_judged(&made.looks, &made.looks.all), 700);
	assert_int_equal(function->own.step_wait_ns, 5000); /* of the thread that marks them alone */
}

/* What no guest writes: the tables are made all the same, and no time is longer than the process. */
static void bad_looks(struct maker_records *records)
{
	MAKER_ADD(records, 5000, native_time, .thread = MAIN, .stack = BEYOND, .cpu = UINT64_MAX, .wall = UINT64_MAX, .call = 9999);
	MAKER_ADD(records, 5001, native_time, .thread = 0, .stack = HOT_IN_OUTER, .cpu = 10, .before = UINT64_MAX, .call = FUTEX);
	MAKER_ADD(records, 5002, native_time, .thread = MAIN, .stack = HOT_IN_OUTER, .wall = UINT64_MAX, .before = 2, .call = 9999);
	MAKER_ADD(records, 5003, native_time, .thread = UINT32_MAX, .stack = CUT, .wall = 1, .before = 6000, .call = UINT16_MAX);
	MAKER_ADD(records, 5004, native_time, .thread = MAIN);
}

static void test_bad_looks(void **unused)
{
	static const struct table_kind *const kinds[] = {&table_native_time, &table_native_stacks};

	(void)unused;
	gather(bad_looks, NULL);
	assert_int_equal(made.looks.all.cpu_ns, 5000);
	assert_int_equal(made.looks.all.wait_ns, 5000 + 5000);
	assert_string_equal(native_looks_waits_in(function_of("hot")->waits), "other");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct table *table = tables_make(kinds[i], &made.request);
		assert_true(table->row_count > 0);
		table_free(table);
	}
}

static void test_numbers_of_both_machines(void **unused)
{
	(void)unused;
	assert_int_equal(wait_kind_of(EM_X86_64, 202), WAIT_LOCK);
	assert_int_equal(wait_kind_of(EM_AARCH64, 98), WAIT_LOCK);
	assert_int_equal(wait_kind_of(EM_AARCH64, 202), WAIT_ACCEPT);
	assert_int_equal(wait_kind_of(EM_X86_64, 247), WAIT_CHILD);
	assert_int_equal(wait_kind_of(EM_AARCH64, 22), WAIT_POLL);
	assert_int_equal(wait_kind_of(EM_RISCV, 98), WAIT_OTHER);
	assert_int_equal(wait_kind_of(EM_RISCV, NATIVE_NO_CALL), WAIT_PAGE);
}

/* The kernel gives numbers again. */
static void test_a_number_of_two_threads(void **unused)
{
	struct thread threads[] = {{.serial = 1, .tid = 7, .start_ns = 50},
				   {.serial = 2, .tid = 8, .start_ns = 10},
				   {.serial = 3, .tid = 7, .start_ns = 20}};
	struct process process = {.threads = threads, .thread_count = 3};
	struct tasks tasks = tasks_make(&process);

	(void)unused;
	assert_null(tasks_at(&tasks, 7, 19));
	assert_ptr_equal(tasks_near(&tasks, 7, 19), &threads[2]);
	assert_ptr_equal(tasks_at(&tasks, 7, 20), &threads[2]);
	assert_ptr_equal(tasks_at(&tasks, 7, 49), &threads[2]);
	assert_ptr_equal(tasks_at(&tasks, 7, 50), &threads[0]);
	assert_ptr_equal(tasks_near(&tasks, 7, 60), &threads[0]);
	assert_ptr_equal(tasks_at(&tasks, 8, 60), &threads[1]);
	assert_null(tasks_near(&tasks, 6, 60));
	assert_null(tasks_near(&tasks, 9, 60));
	tasks_free(&tasks);
}

#define TAG 7
#define LOOKS (8ull * NATIVE_LOOKS_MOST + 1)
#define WAIT_TICKS 90u
#define RUN_NS 10u

static void take(void *state, struct batch *batch, uint64_t number)
{
	static const int fields[] = {0, 1, 2, 3, 4, 5};
	const uint64_t runs = number % 2;
	const uint64_t stack = runs ? HOT_IN_OUTER : LIBC_IN_HOT;
	const uint64_t values[] = {1 + number / 2 % 3, stack, runs ? RUN_NS : 0, runs ? 0 : WAIT_TICKS, 0, FUTEX};

	assert_int_equal(batch_begin(batch, 1), 0);
	struct batch_kind *kind = batch_add(batch, TAG, 1000 + number);
	for (uint32_t field = 0; field < sizeof(fields) / sizeof(fields[0]); field++)
		batch_field(batch, kind, field)[0] = values[field];
	native_time_subject.records[0].take(state, 0, batch, 0, fields);
}

static void test_a_long_run(void **unused)
{
	struct process process = {.log_id = 5};
	struct scan scan = {.process = &process};
	struct batch batch = {0};
	void *state = native_time_subject.begin(&scan);
	uint64_t amounts[2] = {0, 0}, counts[2] = {0, 0};

	(void)unused;
	for (uint64_t i = 0; i < LOOKS; i++)
		take(state, &batch, i);
	assert_true(process.native.look_count <= NATIVE_LOOKS_MOST && process.native.look_count > NATIVE_LOOKS_MOST / 4);
	for (size_t i = 0; i < process.native.look_count; i++) {
		const struct native_look *look = &process.native.looks[i];
		amounts[look->is_wait] += look->amount_ns;
		counts[look->is_wait] += look->count;
		assert_int_equal(look->stack, look->is_wait ? LIBC_IN_HOT : HOT_IN_OUTER);
		assert_int_equal(look->call, look->is_wait ? FUTEX : NATIVE_NO_CALL);
	}
	assert_int_equal(amounts[0], LOOKS / 2 * RUN_NS);
	assert_int_equal(amounts[1], (LOOKS / 2 + 1) * WAIT_TICKS);
	assert_int_equal(counts[0], LOOKS / 2);
	assert_int_equal(counts[1], LOOKS / 2 + 1);
	free(process.native.looks);
	native_time_subject.free(state);
	batch_free(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_functions, forget),
		cmocka_unit_test_teardown(test_a_thread, forget),
		cmocka_unit_test_teardown(test_a_thread_that_is_not_listed, forget),
		cmocka_unit_test_teardown(test_steps, forget),
		cmocka_unit_test_teardown(test_bad_looks, forget),
		cmocka_unit_test(test_numbers_of_both_machines),
		cmocka_unit_test(test_a_number_of_two_threads),
		cmocka_unit_test(test_a_long_run),
	};

	assert_int_not_equal(outer(3), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
