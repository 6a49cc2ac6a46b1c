/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numeric cases of the TensorFlow Profiler's own tests and of experiments with it, on our analyses: the number in a test's
 * name is the case's. Times in a case are ns here, where the original has ps.
 *
 * Rule: spans go into an analysis by hand; every number that is expected stands in the test that expects it.
 */
#include "reducer/analysis/holdings.h"
#include "reducer/analysis/steps.h"
#include "reducer/analysis/work.h"
#include "reducer/tables/op_rows.h"
#include "reducer/tables/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct log no_log;
static struct gpu_queue queues[] = {{.id = 1, .stream = 1}, {.id = 2, .stream = 2}};
static struct gpu_device devices[] = {{.id = 0, .name = "GPU"}, {.id = 1, .name = "GPU"}};
static struct gpu gpu = {.queues = queues, .queue_count = 2, .devices = devices, .device_count = 2};

/* One process with those steps, given to the analysis together with what it was asked for. */
struct world {
	struct run run;
	struct process process;
	struct analysis_options options;
	struct analysis_input input;
	const struct analysis_kind *kind;
	void *result;
};

static int64_t end_ns = 1000000; /* of the process */

static void begin(struct world *world, const struct analysis_kind *kind, struct step *steps, size_t count)
{
	world->process = (struct process){.log = &no_log,
					  .log_id = 1,
					  .pid = 1,
					  .command = "python",
					  .end_ns = end_ns,
					  .gpu = &gpu,
					  .steps = steps,
					  .step_count = count};
	world->run = (struct run){.name = "0", .processes = &world->process, .process_count = 1};
	world->input = (struct analysis_input){.run = &world->run, .process = &world->process, .options = &world->options};
	world->kind = kind;
	world->result = kind->begin(&world->input);
}

static void *end(struct world *world)
{
	if (world->kind->end)
		world->kind->end(world->result);
	return world->result;
}

static void tell(struct world *world, struct span span)
{
	span.kind = span.block ? SPAN_INSTANT : SPAN_WHOLE;
	span.domain = span.domain ? span.domain : "";
	if (span.what >= SPAN_KERNEL && span.what <= SPAN_GRAPH) {
		span.on = SPAN_QUEUE;
		span.source = SPAN_NO_SOURCE;
	}
	assert_true(world->kind->wants & SPAN_BIT(span.what));
	world->kind->span(world->result, &span);
}

static void kernel(struct world *world, const char *name, const char *op, int64_t start, int64_t until)
{
	tell(world, (struct span){.what = SPAN_KERNEL,
				  .name = name,
				  .op = op,
				  .start_ns = start,
				  .duration_ns = (uint64_t)(until - start),
				  .called_ns = TIME_UNKNOWN});
}

static void copy(struct world *world, uint32_t kind, int64_t start, int64_t until)
{
	tell(world, (struct span){.what = SPAN_COPY,
				  .name = "copy",
				  .copy_kind = kind,
				  .start_ns = start,
				  .duration_ns = (uint64_t)(until - start),
				  .called_ns = TIME_UNKNOWN});
}

static void host_op(struct world *world, const char *name, uint32_t thread, int64_t start, int64_t until)
{
	tell(world, (struct span){.what = SPAN_OP,
				  .on = SPAN_THREAD,
				  .name = name,
				  .thread = thread,
				  .track = thread,
				  .start_ns = start,
				  .duration_ns = (uint64_t)(until - start),
				  .source = 4});
}

static uint64_t compute_of(const struct step_row *row)
{
	uint64_t sum = 0;

	for (enum step_part p = 0; p <= PART_COMPUTE_UNKNOWN; p++)
		sum += row->exposed_ns[p];
	return sum;
}

static void sums_to_the_whole(const struct step_row *row)
{
	uint64_t parts = 0, phases = 0;

	for (size_t p = 0; p < STEP_PARTS; p++)
		parts += row->exposed_ns[p];
	for (size_t p = 0; p < PHASES; p++)
		phases += row->phase_ns[p];
	assert_int_equal(parts, row->total_ns);
	assert_int_equal(phases, row->total_ns);
}

/* A table of kernels as the first pass leaves them; `times`: of each, ended by 0. */
static struct table *kernel_table(struct gpu *kernels, const uint64_t times[][3], const struct request *request)
{
	struct table *table;

	for (size_t i = 0; i < kernels->kernel_count; i++)
		for (size_t t = 0; t < 3 && times[i][t]; t++) {
			spread_add(&kernels->kernels[i].times, times[i][t]);
			kernels->kernels[i].occurrences++;
		}
	table = tables_make(&table_kernel_stats, request);
	for (size_t i = 0; i < kernels->kernel_count; i++)
		spread_free(&kernels->kernels[i].times);
	return table;
}

static int64_t cell(const struct table *table, size_t row, const char *column)
{
	return table_get_integer(table, row, table_find_column(table->kind, column));
}

static void text_is(const struct table *table, size_t row, const char *column, const char *wanted)
{
	size_t length;
	const char *text = table_get_text(table, row, table_find_column(table->kind, column), &length);

	assert_int_equal(length, strlen(wanted));
	assert_memory_equal(text, wanted, length);
}

/* Of three kernels the longest stands first; what could and does use tensor cores. */
static void case_1_kernel_stats(void **state)
{
	const char *names[] = {"kernel_name_shortest", "kernel_name_middle", "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn"};
	const char *const ops[] = {"", "mul_786", "Conv2D", "Einsum_80"};
	struct gpu_shape shapes[] = {
		{.id = 1, .kernel = 0, .registers = 16, .block = {1, 1, 1}, .grid = {1, 1, 1}},
		{.id = 2, .kernel = 1, .registers = 32, .dynamic_shared = 16384, .block = {32, 1, 1}, .grid = {2, 1, 1}},
		{.id = 3, .kernel = 2, .registers = 32, .block = {64, 1, 1}, .grid = {3, 1, 1}}};
	struct gpu_kernel rows[] = {{.shape = 0, .op = 1}, {.shape = 1, .op = 2}, {.shape = 2, .op = 3}};
	static const uint64_t times[][3] = {{1}, {2}, {3}};
	struct gpu all = {.names = names,
			  .name_count = 3,
			  .shapes = shapes,
			  .shape_count = 3,
			  .kernels = rows,
			  .kernel_count = 3,
			  .queues = queues,
			  .queue_count = 1,
			  .devices = devices,
			  .device_count = 1};
	struct process process = {.log = &no_log, .pid = 1, .command = "python", .gpu = &all, .op_names = ops, .op_count = 4};
	struct run run = {.name = "0", .processes = &process, .process_count = 1};
	struct request request = {.run = &run, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .top = SIZE_MAX};
	struct table *table = kernel_table(&all, times, &request);

	(void)state;
	assert_int_equal(table_count(table), 3);
	for (size_t i = 0; i < 3; i++) {
		static const int64_t could[] = {1, 1, 0}, used[] = {1, 0, 0};
		assert_int_equal(cell(table, i, "total_ns"), 3 - (int64_t)i);
		assert_int_equal(cell(table, i, "tensor_core_eligible"), could[i]);
		assert_int_equal(cell(table, i, "tensor_core_used"), used[i]);
	}
	text_is(table, 0, "op_name", "Einsum_80");
	text_is(table, 0, "grid", "3,1,1");
	assert_int_equal(cell(table, 1, "dynamic_shared_bytes"), 16384);
	assert_int_equal(cell(table, 1, "registers_per_thread"), 32);
	table_free(table);
}

/* The same kernel in two processes: sums, least, most, number. */
static void case_3_kernel_combine(void **state)
{
	const char *names[] = {"A"};
	const char *const ops[] = {""};
	struct gpu_shape shapes[] = {{.id = 1, .block = {1, 1, 1}, .grid = {1, 1, 1}}};
	struct gpu_kernel rows[] = {{.thread = 1}, {.thread = 2}};
	static const uint64_t times[][3] = {{500, 1200}, {900}};
	struct gpu all = {.names = names,
			  .name_count = 1,
			  .shapes = shapes,
			  .shape_count = 1,
			  .kernels = rows,
			  .kernel_count = 2,
			  .queues = queues,
			  .queue_count = 1,
			  .devices = devices,
			  .device_count = 1};
	struct process process = {.log = &no_log, .pid = 1, .command = "python", .gpu = &all, .op_names = ops, .op_count = 1};
	struct run run = {.name = "0", .processes = &process, .process_count = 1};
	struct request request = {.run = &run, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .top = SIZE_MAX};
	struct table *table = kernel_table(&all, times, &request);

	(void)state;
	assert_int_equal(table_count(table), 1);
	assert_int_equal(cell(table, 0, "total_ns"), 2600);
	assert_int_equal(cell(table, 0, "min_ns"), 500);
	assert_int_equal(cell(table, 0, "max_ns"), 1200);
	assert_int_equal(cell(table, 0, "occurrences"), 3);
	table_free(table);
}

/* op1 has kernels of 1000 ns with tensor cores and 1000 ns without, op2 one of 100 ns. */
static void case_2_kernel_stats_per_op(void **state)
{
	struct world world = {0};
	struct request request = {.run = &world.run};
	struct op_rows rows;

	(void)state;
	begin(&world, &analysis_work, NULL, 0);
	kernel(&world, "volta_fp16_s884gemm", "op1", 0, 1000);
	kernel(&world, "elementwise", "op1", 1000, 2000);
	kernel(&world, "elementwise", "op2", 2000, 2100);
	op_rows_make(&rows, &request, end(&world), false);
	assert_int_equal(rows.count, 2);
	assert_string_equal(rows.items[0].name, "op1");
	assert_int_equal(rows.items[0].total, 2000);
	assert_int_equal(rows.items[0].tensor, 1000);
	assert_string_equal(rows.items[1].name, "op2");
	assert_int_equal(rows.items[1].total, 100);
	assert_int_equal(rows.items[1].tensor, 0);
	op_rows_free(&rows);
	analysis_work.free(world.result);
}

/* Two streams run the two kernels of TfOp1; TfOp2 has one, Conv2D two, one of them with tensor cores. */
static void case_5_tf_stats(void **state)
{
	struct world world = {0};
	struct request request = {.run = &world.run};
	struct op_rows rows;

	(void)state;
	begin(&world, &analysis_work, NULL, 0);
	kernel(&world, "kernel1", "TfOp1:TfOp1", 100000, 108000);
	kernel(&world, "kernel2", "TfOp1:TfOp1", 110000, 120000);
	kernel(&world, "kernel1", "TfOp1:TfOp1", 110000, 118000);
	kernel(&world, "kernel2", "TfOp1:TfOp1", 120000, 130000);
	kernel(&world, "kernel3", "TfOp2:TfOp2", 130000, 140000);
	kernel(&world, "volta_fp16_s884gemm_fp16", "Conv2D:Conv2D", 150000, 160000);
	kernel(&world, "kernel5", "Conv2D:Conv2D", 170000, 180000);
	op_rows_make(&rows, &request, end(&world), true);
	assert_int_equal(rows.count, 4); /* IDLE is the fourth */
	assert_string_equal(rows.items[0].name, "TfOp1:TfOp1");
	assert_int_equal(rows.items[0].occurrences, 2);
	assert_int_equal(rows.items[0].self, 36000);
	assert_string_equal(rows.items[1].name, "Conv2D:Conv2D");
	assert_int_equal(rows.items[1].self, 20000);
	assert_int_equal(rows.items[1].tensor, 10000); /* utilisation 0.5 */
	assert_true(rows.items[2].is_idle);
	assert_int_equal(rows.items[2].self, 80000 - 66000);
	assert_string_equal(rows.items[3].name, "TfOp2:TfOp2");
	assert_int_equal(rows.items[3].self, 10000);
	op_rows_free(&rows);
	op_rows_make(&rows, &request, world.result, false);
	assert_int_equal(rows.count, 3);
	op_rows_free(&rows);
	analysis_work.free(world.result);
}

static void case_6_host_op_db(void **state)
{
	struct world world = {0};
	struct op ops[] = {{.name = "TfOp1:TfOp1", .source = 4, .occurrences = 2, .total_ns = 16000, .self_ns = 16000},
			   {.name = "TfOp2:TfOp2", .source = 4, .occurrences = 1, .total_ns = 10000, .self_ns = 10000}};
	struct request request = {.run = &world.run};
	struct op_rows rows;

	(void)state;
	begin(&world, &analysis_work, NULL, 0);
	world.process.ops = (struct ops){.items = ops, .count = 2};
	host_op(&world, "TfOp1:TfOp1", 1, 100000, 108000);
	host_op(&world, "TfOp1:TfOp1", 2, 100000, 108000);
	host_op(&world, "TfOp2:TfOp2", 2, 110000, 120000);
	op_rows_make(&rows, &request, end(&world), true);
	assert_int_equal(rows.count, 3);
	assert_int_equal(rows.items[0].self, 16000);
	assert_int_equal(rows.items[0].occurrences, 2);
	assert_int_equal(rows.items[1].self, 10000);
	assert_true(rows.items[2].is_idle);
	assert_int_equal(rows.items[2].self, 2000);
	assert_int_equal(rows.self[OP_HOST], 28000);
	op_rows_free(&rows);
	op_rows_make(&rows, &request, world.result, false);
	assert_int_equal(rows.self[OP_HOST], 26000);
	op_rows_free(&rows);
	analysis_work.free(world.result);
}

static void block(struct world *world, int64_t time_ns, bool is_release, uint64_t bytes, struct span_block said)
{
	said.is_release = is_release;
	said.has_room = 1;
	said.stack = 2000;
	tell(world, (struct span){.what = SPAN_BLOCK, .name = "GPU_0_bfc", .start_ns = time_ns, .bytes = bytes, .block = &said});
}

/* Times in ps there: 40,000, 50,000, 70,000. */
static void case_7_memory_profile(void **state)
{
	struct world world = {0};
	const struct allocator_list *all;
	const struct holder *holder;

	(void)state;
	begin(&world, &analysis_holdings, NULL, 0);
	block(&world, 40, false, 256,
	      (struct span_block){.address = 222333,
				  .requested = 200,
				  .total = 3000,
				  .free = 5000,
				  .peak = 8500,
				  .op = "foo/bar",
				  .region = "output",
				  .type = 1});
	block(&world, 50, true, 256, (struct span_block){.address = 222333, .total = 2744, .free = 5256, .peak = 8500});
	block(&world, 70, false, 300,
	      (struct span_block){.address = 345678,
				  .requested = 300,
				  .total = 5000,
				  .free = 3000,
				  .peak = 9500,
				  .op = "mul_grad/Sum",
				  .region = "temp",
				  .type = 9});
	all = end(&world);
	assert_int_equal(all->count, 1);
	holder = allocators_at(all, 0);
	assert_int_equal(holder->lifetime_peak, 9500);
	assert_int_equal(holder->peak_bytes, 7000);
	assert_int_equal(holder->peak_ns, 70);
	assert_int_equal(holder->stack, 2000);
	assert_int_equal(holder->stack + holder->heap + holder->free, 10000); /* the capacity */
	assert_int_equal(holder->holding_count, 1);
	assert_string_equal(all->words.items[holder->holdings[0].op], "mul_grad/Sum");
	assert_int_equal(holder->holdings[0].peak.bytes, 300);
	assert_int_equal(holder->holdings[0].region, REGION_TEMPORARY);
	assert_int_equal(holder->heap - holder->known, 4700); /* unused preallocated device memory */
	analysis_holdings.free(world.result);
}

/* A step of the host with one kernel; a second step without any: by launch, the kernel is of the first. */
static void case_11_and_12_steps(void **state)
{
	struct world world = {.options = {.split = SPLIT_TF, .step_time = STEP_TIME_SPAN}};
	struct step steps[] = {{.time_ns = 0, .end_ns = 100, .number = 123, .is_chosen = 1, .thread = 1},
			       {.time_ns = 200, .end_ns = 300, .number = 124, .is_chosen = 1, .thread = 1}};
	const struct steps *found;

	(void)state;
	begin(&world, &analysis_steps, steps, 2);
	host_op(&world, "matmul:MatMul", 1, 30, 40);
	tell(&world, (struct span){.what = SPAN_KERNEL, .name = "matmul", .start_ns = 50, .duration_ns = 40, .called_ns = 30});
	found = end(&world);
	assert_int_equal(found->count, 2);
	assert_true(found->rows[0].has_device);
	assert_false(found->rows[1].has_device);
	assert_int_equal(found->rows[0].unit.number, 123);
	assert_int_equal(found->rows[0].exposed_ns[PART_COMPUTE_32], 40);
	assert_int_equal(found->rows[0].exposed_ns[PART_COMPUTE_16], 0);
	assert_int_equal(found->rows[0].total_ns, 40);
	analysis_steps.free(world.result);
}

/* The experiment c04: what overlaps, in us. Real xprof says compute 200, collectives 70, input 20, output 100, other 80 of 470.
 */
static void fill_c04(struct world *world)
{
	kernel(world, "half_gemm_fp16", "a", 150, 250);
	kernel(world, "gemm_float", "a", 100, 200);
	kernel(world, "gemm_float", "a", 500, 550);
	copy(world, 1, 80, 300);
	kernel(world, "ncclAllReduce", "b", 240, 350);
	copy(world, 2, 320, 420);
}

static void case_c04_priorities_of_tf(void **state)
{
	struct world world = {.options = {.split = SPLIT_TF, .step_time = STEP_TIME_SPAN}};
	struct step steps[] = {{.time_ns = 0, .end_ns = 900, .number = 1, .is_chosen = 1}};
	const struct step_row *row;

	(void)state;
	begin(&world, &analysis_steps, steps, 1);
	fill_c04(&world);
	row = ((const struct steps *)end(&world))->rows;
	assert_int_equal(row->total_ns, 470);
	assert_int_equal(compute_of(row), 200);
	assert_int_equal(row->exposed_ns[PART_COLLECTIVES], 70);
	assert_int_equal(row->exposed_ns[PART_INPUT_COPY], 20);
	assert_int_equal(row->exposed_ns[PART_OUTPUT], 100);
	assert_int_equal(row->exposed_ns[PART_OTHER], 80);
	sums_to_the_whole(row);
	analysis_steps.free(world.result);
}

/* The same by ours: what computing hides stands apart, and the step lasts from marker to marker. */
static void case_c04_by_ours(void **state)
{
	struct world world = {0};
	struct step steps[] = {{.time_ns = 0, .end_ns = TIME_UNKNOWN, .number = 1, .is_chosen = 1},
			       {.time_ns = 1000, .end_ns = TIME_UNKNOWN, .number = 2, .is_chosen = 1}};
	const struct step_row *row;

	(void)state;
	begin(&world, &analysis_steps, steps, 2);
	fill_c04(&world);
	row = ((const struct steps *)end(&world))->rows;
	assert_int_equal(row->total_ns, 1000);
	assert_int_equal(row->exposed_ns[PART_COMPUTE_16], 100);
	assert_int_equal(row->exposed_ns[PART_COMPUTE_32], 100);
	assert_int_equal(row->exposed_ns[PART_COLLECTIVES], 100); /* 250 to 350 */
	assert_int_equal(row->overlapped_ns[PART_COLLECTIVES], 10);
	assert_int_equal(row->exposed_ns[PART_OUTPUT], 70); /* 350 to 420 */
	assert_int_equal(row->overlapped_ns[PART_OUTPUT], 30);
	assert_int_equal(row->exposed_ns[PART_INPUT_COPY], 20); /* 80 to 100 */
	assert_int_equal(row->overlapped_ns[PART_INPUT_COPY], 200);
	assert_int_equal(row->exposed_ns[PART_OTHER], 1000 - 390);
	sums_to_the_whole(row);
	analysis_steps.free(world.result);
}

static void case_c04_by_torch(void **state)
{
	struct world world = {.options = {.split = SPLIT_TORCH}};
	struct step steps[] = {{.time_ns = 0, .end_ns = 1000, .number = 1, .is_chosen = 1}};
	const struct step_row *row;

	(void)state;
	begin(&world, &analysis_steps, steps, 1);
	fill_c04(&world);
	row = ((const struct steps *)end(&world))->rows;
	assert_int_equal(compute_of(row), 200); /* kernels first, then copies, then communication */
	assert_int_equal(row->exposed_ns[PART_INPUT_COPY], 20 + 50);
	assert_int_equal(row->exposed_ns[PART_OUTPUT], 100);
	assert_int_equal(row->exposed_ns[PART_COLLECTIVES], 20); /* 300 to 320 */
	sums_to_the_whole(row);
	analysis_steps.free(world.result);
}

/* Work that crosses a marker is cut there; what has no duration, and steps of no length, do no harm. */
static void period_cuts_work_at_the_marker(void **state)
{
	struct world world = {0};
	struct step steps[] = {{.time_ns = 0, .end_ns = TIME_UNKNOWN, .number = 1, .is_chosen = 1},
			       {.time_ns = 100, .end_ns = TIME_UNKNOWN, .number = 2, .is_chosen = 1},
			       {.time_ns = 100, .end_ns = TIME_UNKNOWN, .number = 3, .is_chosen = 1},
			       {.time_ns = 50, .end_ns = TIME_UNKNOWN, .number = 4, .is_chosen = 0}};
	const struct steps *found;

	(void)state;
	begin(&world, &analysis_steps, steps, 4);
	kernel(&world, "gemm_float", "a", 90, 130);
	kernel(&world, "gemm_float", "a", 95, 95);
	found = end(&world);
	assert_int_equal(found->count, 3);
	assert_int_equal(found->rows[0].exposed_ns[PART_COMPUTE_32], 10);
	assert_int_equal(found->rows[1].total_ns, 0);
	assert_int_equal(found->rows[2].exposed_ns[PART_COMPUTE_32], 30);
	assert_true(found->rows[2].unit.is_cut);
	for (size_t i = 0; i < 3; i++)
		sums_to_the_whole(&found->rows[i]);
	analysis_steps.free(world.result);
}

/* More work than may wait, in one step that never ends: all is told, nothing is late. */
static void a_step_larger_than_memory_allows(void **state)
{
	struct world world = {0};
	struct step steps[] = {{.time_ns = 0, .end_ns = TIME_UNKNOWN, .number = 1, .is_chosen = 1}};
	const struct steps *found;
	int64_t count = STEPS_PENDING + STEPS_PENDING / 2;

	(void)state;
	end_ns = count * 10;
	begin(&world, &analysis_steps, steps, 1);
	end_ns = 1000000;
	for (int64_t i = 0; i < count; i++)
		kernel(&world, "gemm_float", "a", i * 10, i * 10 + 4);
	found = end(&world);
	assert_int_equal(found->late_ns, 0);
	assert_int_equal(found->rows[0].exposed_ns[PART_COMPUTE_32], count * 4);
	sums_to_the_whole(&found->rows[0]);
	analysis_steps.free(world.result);
}

/* The same by --step-time=span, where another device turns out to have taken longer when half of the first one's work was told. */
static void a_step_of_which_a_part_was_told(void **state)
{
	struct world world = {.options = {.step_time = STEP_TIME_SPAN}};
	struct step steps[] = {{.time_ns = 0, .end_ns = 100, .number = 1, .is_chosen = 1}};
	int64_t count = STEPS_PENDING + 1000;
	const struct step_row *row;

	(void)state;
	begin(&world, &analysis_steps, steps, 1);
	for (int64_t i = 0; i < count; i++)
		kernel(&world, "gemm_float", "a", 50 + i * 10, 50 + i * 10 + 4);
	tell(&world, (struct span){.what = SPAN_KERNEL,
				   .name = "gemm_float",
				   .device = 1,
				   .start_ns = count * 8,
				   .duration_ns = (uint64_t)count * 12,
				   .called_ns = 60});
	row = ((const struct steps *)end(&world))->rows;
	assert_int_equal(row->start_ns, 50);
	assert_int_equal(row->total_ns, count * 20 - 50);
	sums_to_the_whole(row);
	assert_in_range(row->exposed_ns[PART_OTHER], 0, row->total_ns);
	assert_in_range(row->exposed_ns[PART_COMPUTE_32], count * 12, row->total_ns);
	analysis_steps.free(world.result);
}

static void precision_follows_names(void **state)
{
	static const struct {
		const char *name, *precision;
	} kernels[] = {{"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn", "16"},
		       {"cutlass_80_tensorop_bf16_s16816gemm", "16"},
		       {"cutlass_80_tensorop_s1688gemm_128x128", "tf32"},
		       {"ampere_sgemm_128x64_nn", "32"},
		       {"turing_int8_i8816gemm", "8"},
		       {"_Z6matmulPfPKfi", "32"},
		       {"_Z6matmulPd", "64"},
		       {"_Z4halfPf", "16"},
		       /* As an H200 ran them: cuBLAS 13, PyTorch 2.11. */
		       {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "16"},
		       {"nvjet_hsh_128x192_64x5_1x2_h_bz_coopB_NNN", "16"},
		       {"nvjet_sm100_qqtst_128x256_128x4_1x2_2cta_h_bz_TNT", "8"},
		       {"nvjet_sss_tf32_128x256_TNT", "tf32"},
		       {"nvjet_sm100_ootst_128x192_TNT", "unknown"},
		       {"multi_tensor_apply_kernel<List<4>, FusedAdamMathFunctor<float, 4, false>, float const*, double, double>", "32"},
		       {"multi_tensor_apply_kernel<List<4>, FusedAdamMathFunctor<double, 4, false>, float const*, double, double>", "64"},
		       {"distribution_elementwise_grid_stride_kernel<float, 4, normal_kernel(TensorBase const&, double, double)>", "32"},
		       {"vectorized_elementwise_kernel<2, reciprocal_kernel_cuda(TensorIteratorBase&)::{lambda(double)#1}>", "64"},
		       {"vectorized_elementwise_kernel<8, float16_copy_kernel_cuda(TensorIteratorBase&)::{lambda(float)#1}>", "16"},
		       {"scan", "unknown"}};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		assert_string_equal(part_precision(part_of_kernel(kernels[i].name, false)), kernels[i].precision);
	assert_int_equal(part_of_kernel("scan", true), PART_COMPUTE_32);
	/* xprof sees names demangled: NCCL's, which C++ mangles, are collectives to it. */
	assert_int_equal(part_of_kernel("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", true),
			 PART_COLLECTIVES);
	assert_int_equal(part_of_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", true), PART_COLLECTIVES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_1_kernel_stats),
		cmocka_unit_test(case_3_kernel_combine),
		cmocka_unit_test(case_2_kernel_stats_per_op),
		cmocka_unit_test(case_5_tf_stats),
		cmocka_unit_test(case_6_host_op_db),
		cmocka_unit_test(case_7_memory_profile),
		cmocka_unit_test(case_11_and_12_steps),
		cmocka_unit_test(case_c04_priorities_of_tf),
		cmocka_unit_test(case_c04_by_ours),
		cmocka_unit_test(case_c04_by_torch),
		cmocka_unit_test(period_cuts_work_at_the_marker),
		cmocka_unit_test(a_step_larger_than_memory_allows),
		cmocka_unit_test(a_step_of_which_a_part_was_told),
		cmocka_unit_test(precision_follows_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
