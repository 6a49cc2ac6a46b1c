/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of what the reducer makes of GPU records: pairing and its reasons, impossible times, clocks, memory, sums.
 *
 * Rule: each expectation stands in the test; every log is made here. Device time is CLOCK_REALTIME: the origin's plus ticks.
 */
#include "test/unit/gpu_made.h"

static void test_call_and_record_meet_in_either_order(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	call(made, 100, 200, LAUNCH, 1, 3, 0);
	kernel(made, 900, AT(250), 50, 1);
	kernel(made, 950, AT(320), 60, 2); /* decoded while its call still ran */
	call(made, 300, 1000, LAUNCH, 2, 3, 0);
	gpu = scan(made);
	assert_int_equal(gpu->counts.launches[GPU_PAIRED], 2);
	assert_int_equal(gpu->counts.launches[GPU_DEVICE_ONLY] + gpu->counts.launches[GPU_HOST_ONLY], 0);
	assert_int_equal(gpu->counts.impossible_records, 0);
	assert_int_equal(gpu->kernel_count, 1);
	assert_int_equal(gpu->kernels[0].occurrences, 2);
	assert_int_equal(gpu->kernels[0].times.sum, 110);
	assert_int_equal(gpu->kernels[0].times.least, 50);
	assert_int_equal(gpu->kernels[0].times.most, 60);
	assert_int_equal(gpu->kernels[0].thread, 1);
	assert_int_equal(launches[0].host_ns, 100);
	assert_int_equal(launches[0].device_ns, 250);
	assert_int_equal(launches[1].host_ns, 300);
	assert_int_equal(launches[1].host_duration_ns, 700);
	assert_int_equal(launches[1].device_span_ns, 60);
	end_made(made);
}

static void test_each_launch_has_one_class_and_a_reason(void **state)
{
	struct made *made = begin_made();
	const struct gpu_counts *counts;

	(void)state;
	call(made, 100, 110, LAUNCH, 1, 3 | 4, 0);  /* captured */
	call(made, 120, 130, LAUNCH, 2, 3, 700);    /* failed */
	MAKER_ADD(made->calls, 150, gpu_copy, .bytes = 0, .kind = 1);
	call(made, 140, 150, COPY, 3, 3, 0);        /* nothing to copy */
	call(made, 160, 170, LAUNCH, 4, 3, 0);      /* its record never came */
	call(made, 180, 190, LAUNCH, 0, 1, 0);      /* no identity */
	call(made, 200, 210, SYNC, 5, 3, 0);        /* no launch */
	kernel(made, 900, AT(300), 10, 77);         /* no call */
	kernel(made, 901, AT(320), 10, 0);          /* started by the device */
	counts = &scan(made)->counts;
	assert_int_equal(counts->launches[GPU_PAIRED], 0);
	assert_int_equal(counts->launches[GPU_NOT_LAUNCHED], 3);
	assert_int_equal(counts->reasons[GPU_NOT_LAUNCHED][GPU_REASON_CAPTURED], 1);
	assert_int_equal(counts->reasons[GPU_NOT_LAUNCHED][GPU_REASON_FAILED], 1);
	assert_int_equal(counts->reasons[GPU_NOT_LAUNCHED][GPU_REASON_EMPTY], 1);
	assert_int_equal(counts->launches[GPU_HOST_ONLY], 2);
	assert_int_equal(counts->reasons[GPU_HOST_ONLY][GPU_REASON_UNKNOWN], 1);
	assert_int_equal(counts->reasons[GPU_HOST_ONLY][GPU_REASON_NO_IDENTITY], 1);
	assert_int_equal(counts->launches[GPU_DEVICE_ONLY], 2);
	assert_int_equal(counts->reasons[GPU_DEVICE_ONLY][GPU_REASON_NO_CALL], 1);
	assert_int_equal(counts->reasons[GPU_DEVICE_ONLY][GPU_REASON_DEVICE_LAUNCH], 1);
	end_made(made);
}

/* What recorded the device at the time of the call, and what was lost, is the reason. */
static void test_reasons_come_from_what_the_log_says(void **state)
{
	static const struct {
		unsigned recorder, loss;
		int is_killed;
		enum gpu_reason reason;
	} cases[] = {{2, 0, 0, GPU_REASON_REFUSED},    {3, 0, 0, GPU_REASON_TAKEN},   {4, 0, 0, GPU_REASON_WINDOW},
		     {5, 0, 0, GPU_REASON_CUPTI_FAILED}, {1, 19, 0, GPU_REASON_DROPPED}, {1, 24, 0, GPU_REASON_DIED},
		     {1, 0, 1, GPU_REASON_DIED},       {0, 0, 0, GPU_REASON_NOT_STARTED}, {1, 5, 0, GPU_REASON_RECORD_LOST},
		     {6, 0, 0, GPU_REASON_DIED}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct made *made = begin_made();
		const struct gpu_counts *counts;

		MAKER_ADD(made->calls, 50, gpu_state, .state = (uint8_t)cases[i].recorder);
		call(made, 160, 170, LAUNCH, 4, 3, 0);
		if (cases[i].loss != 0)
			MAKER_ADD(made->calls, 180, loss, .serial = 1, .kind = (uint8_t)cases[i].loss, .count = 1);
		if (cases[i].is_killed)
			made->maker.live.end_kind = TFP_END_NONE;
		counts = &scan(made)->counts;
		assert_int_equal(counts->launches[GPU_HOST_ONLY], 1);
		assert_int_equal(counts->reasons[GPU_HOST_ONLY][cases[i].reason], 1);
		end_made(made);
	}
}

/*
 * A window opens: while one thread makes CUPTI begin the others go on. Their calls have no identity, and come before the log says that it
 * began; the library counted them.
 */
static void test_calls_before_cupti_began_say_so(void **state)
{
	(void)state;
	for (unsigned is_counted = 0; is_counted < 2; is_counted++) {
		struct made *made = begin_made();
		struct tfp_thread_slot slots[1] = {{.state = 1, .serial = 1, .tid = 100}};
		const struct gpu_counts *counts;

		slots[0].losses[22].count = is_counted; /* cupti_none */
		maker_live(&made->maker, TFP_BLOCK_THREADS, NULL, slots, sizeof slots);
		made->maker.live.threads_count = 1;
		call(made, 160, 170, LAUNCH, 0, 1, 0);
		counts = &scan(made)->counts;
		assert_int_equal(counts->reasons[GPU_HOST_ONLY][is_counted ? GPU_REASON_NOT_STARTED : GPU_REASON_NO_IDENTITY], 1);
		end_made(made);
	}
}

static void test_a_graph_is_one_launch_with_many_records(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	MAKER_ADD(made->calls, 50, graph_node, .graph = 9, .node = 101, .original = 1);
	MAKER_ADD(made->calls, 51, graph_node, .graph = 9, .node = 102, .original = 2);
	call(made, 100, 200, GRAPH, 1, 3, 0);
	for (unsigned i = 0; i < 3; i++)
		MAKER_ADD(made->device, 900 + i, kernel, .start = AT(250 + 100 * i), .duration = 50, .correlation = 1, .shape = 1 + i % 2,
			  .queue = 1, .graph = 9, .node = 101 + i);
	MAKER_ADD(made->device, 910, device_set, .start = AT(600), .duration = 25, .correlation = 1, .bytes = 64, .queue = 1, .graph = 9,
		  .node = 104);
	gpu = scan(made);
	assert_int_equal(gpu->counts.launches[GPU_PAIRED], 1);
	assert_int_equal(gpu->counts.kinds[GPU_PAIRED][GPU_GRAPH], 1);
	assert_int_equal(gpu->counts.duplicates, 0);
	assert_int_equal(gpu->graphs[0].id, 9);
	assert_int_equal(gpu->graphs[0].launches, 1);
	assert_int_equal(gpu->graphs[0].kernels, 3);
	assert_int_equal(gpu->graphs[0].sets, 1);
	assert_int_equal(gpu->graphs[0].nodes, 2);
	assert_int_equal(gpu->graphs[0].device_ns, 175);
	assert_int_equal(gpu->graphs[0].span_ns, 375); /* 250 to 625 */
	assert_int_equal(launches[0].records, 4);
	end_made(made);
}

/* device_timeline calls what kernels and graphs ran together kernel_ns, whatever the graph held. */
static void test_a_graph_as_a_whole_is_no_copy(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	call(made, 100, 200, GRAPH, 1, 3, 0);
	MAKER_ADD(made->device, 900, graph_run, .start = AT(250), .duration = 70, .correlation = 1, .graph = 9, .queue = 1);
	call(made, 210, 220, COPY, 2, 3, 0);
	MAKER_ADD(made->device, 901, device_copy, .start = AT(400), .duration = 30, .correlation = 2, .bytes = 64, .queue = 1, .kind = 1);
	gpu = scan(made);
	assert_int_equal(gpu->sweep_count, 1);
	assert_int_equal(gpu->sweeps[0].busy.busy_ns, 100);
	assert_int_equal(gpu->sweeps[0].kernels.busy_ns, 70);
	assert_int_equal(gpu->sweeps[0].copies.busy_ns, 30);
	end_made(made);
}

static void test_impossible_times_count_and_stay_out_of_sums(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	for (unsigned i = 1; i <= 5; i++)
		call(made, 1000000 + 100 * i, 1000000 + 100 * i + 10, LAUNCH, i, 3, 0);
	kernel(made, 2000000, 0, 0, 1);                         /* no time */
	kernel(made, 2000001, AT(1000500), UINT64_MAX - 9, 2);  /* ends before it starts */
	kernel(made, 2000002, AT(900000), 50, 3);               /* 100 us before its call */
	kernel(made, 2000003, AT(3000000), 50, 4);              /* ends 1 ms after it was read */
	kernel(made, 2000004, AT(1000490), 50, 5);              /* 10 ns before its call: within the clocks' error */
	gpu = scan(made);
	assert_int_equal(gpu->counts.launches[GPU_PAIRED], 5);
	assert_int_equal(gpu->counts.impossible_records, 4);
	for (unsigned i = 0; i < GPU_IMPOSSIBLE_KINDS; i++)
		assert_int_equal(gpu->counts.impossible[i], 1);
	assert_int_equal(gpu->kernels[0].occurrences, 5);
	assert_int_equal(gpu->kernels[0].untimed, 4);
	assert_int_equal(gpu->kernels[0].times.sum, 50);
	assert_int_equal(launches[0].device_ns, TIME_UNKNOWN);
	assert_int_equal(launches[0].impossible, GPU_NO_TIME);
	end_made(made);
}

static void test_a_double_counts_once(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	call(made, 100, 110, LAUNCH, 1, 3, 0);
	call(made, 120, 130, LAUNCH, 1, 3, 0); /* the same id again */
	kernel(made, 900, AT(200), 50, 1);
	kernel(made, 901, AT(200), 50, 1);
	gpu = scan(made);
	assert_int_equal(gpu->counts.duplicates, 1);
	assert_int_equal(gpu->counts.repeated_calls, 1);
	assert_int_equal(gpu->kernels[0].occurrences, 1);
	assert_int_equal(gpu->counts.launches[GPU_PAIRED], 1);
	assert_int_equal(gpu->counts.launches[GPU_HOST_ONLY], 1);
	end_made(made);
}

/* CLOCK_REALTIME was set forward by an hour between two readings; each side is converted by its own. */
static void test_a_step_of_the_clock_moves_no_launch(void **state)
{
	const uint64_t second = 1000000000, hour = 3600 * second;
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	for (uint64_t i = 1; i <= 4; i++)
		MAKER_ADD(made->device, i * second, gpu_clock, .ticks = ORIGIN + i * second, .width = 20,
			  .timestamp = AT(i * second) + (i > 2 ? hour : 0));
	call(made, second + 1000, second + 2000, LAUNCH, 1, 3, 0);
	call(made, 3 * second + 1000, 3 * second + 2000, LAUNCH, 2, 3, 0);
	kernel(made, 4 * second + 1, AT(second + 1500), 50, 1);
	kernel(made, 4 * second + 2, AT(3 * second + 1500) + hour, 50, 2);
	made->maker.live.end_time = 5 * second;
	gpu = scan(made);
	assert_int_equal(gpu->counts.impossible_records, 0);
	assert_true(gpu->has_clock);
	assert_in_range(launches[0].device_ns, second + 1480, second + 1520);
	assert_in_range(launches[1].device_ns, 3 * second + 1480, 3 * second + 1520);
	end_made(made);
}

/* CUPTI's clock need not be CLOCK_REALTIME: what was read of it counts. */
static void test_a_clock_of_its_own_is_followed(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	MAKER_ADD(made->device, 10, gpu_clock, .ticks = ORIGIN + 10, .width = 20, .timestamp = 5000010);
	call(made, 1000, 2000, LAUNCH, 1, 3, 0);
	kernel(made, 9000, 5001500, 50, 1);
	gpu = scan(made);
	assert_int_equal(gpu->counts.impossible_records, 0);
	assert_int_equal(launches[0].device_ns, 1500);
	end_made(made);
}

static void test_a_library_call_owns_what_it_launched(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	for (unsigned i = 0; i < 2; i++) { /* the same shapes twice */
		uint64_t at = 1000 * i;

		MAKER_ADD(made->calls, at + 100, call_begin, .function = GEMM);
		call(made, at + 110, at + 120, LAUNCH, 1 + 2 * i, 3 | 8, 0);
		call(made, at + 130, at + 140, LAUNCH, 2 + 2 * i, 3 | 8, 0);
		MAKER_ADD(made->calls, at + 150, library_call, .a = 64, .b = 32, .c = 16);
		call(made, at + 100, at + 150, GEMM, 0, 1, 0);
		kernel(made, 9000 + at, AT(at + 200), 40, 1 + 2 * i);
		MAKER_ADD(made->device, at + 9001, kernel, .start = AT(at + 300), .duration = 2, .correlation = 2 + 2 * i, .shape = 2,
			  .queue = 1);
	}
	call(made, 5000, 5010, LAUNCH, 9, 3, 0); /* outside of any */
	kernel(made, 19000, AT(5020), 1000, 9);
	gpu = scan(made);
	assert_int_equal(gpu->library_call_count, 1);
	assert_int_equal(gpu->library_calls[0].calls, 2);
	assert_int_equal(gpu->library_calls[0].arguments[1], 32);
	assert_int_equal(gpu->library_calls[0].launches, 4);
	assert_int_equal(gpu->library_calls[0].kernel_count, 4);
	assert_int_equal(gpu->library_calls[0].device_ns, 84);
	assert_int_equal(gpu->library_calls[0].times.sum, 100);
	assert_string_equal(gpu->names[gpu->library_calls[0].kernels[0]], "k1");
	assert_string_equal(gpu->names[gpu->library_calls[0].kernels[1]], "k2");
	assert_int_equal(gpu->library_calls[0].kernels[2], GPU_NONE);
	assert_int_equal(gpu->counts.launches[GPU_PAIRED], 5);
	end_made(made);
}

/* The range that the calling thread is in names the operation, also of what the device runs later. */
static void test_work_belongs_to_the_operation_of_its_call(void **state)
{
	struct made *made = begin_made();
	const struct process *process;
	struct gpu *gpu;

	(void)state;
	maker_fact(&made->maker, TFP_TAG_string, (const char *const[]){"#77", "forward", NULL});
	MAKER_ADD(made->calls, 50, range_push, .name = 77);
	call(made, 100, 110, LAUNCH, 1, 3, 0);
	MAKER_ADD(made->calls, 150, range_pop);
	call(made, 200, 210, LAUNCH, 2, 3, 0);
	kernel(made, 900, AT(300), 50, 1);
	kernel(made, 901, AT(400), 60, 2);
	gpu = scan(made);
	process = &made->run->processes[0];
	assert_int_equal(gpu->kernel_count, 2);
	assert_string_equal(process->op_names[gpu->kernels[0].op], "forward");
	assert_int_equal(gpu->kernels[0].times.sum, 50);
	assert_int_equal(gpu->kernels[1].op, 0);
	end_made(made);
}

/* Half of a log: what is there is paired, what lost its other side says so. */
static void test_half_a_log_is_answered(void **state)
{
	struct made *made = calloc(1, sizeof *made);
	const char *paths[1] = {made->path};
	const struct gpu_counts *counts;

	(void)state;
	snprintf(made->path, sizeof made->path, "gpu_test.%d.tfp", (int)getpid());
	maker_gpu(&made->maker, 2, 60000, 0);
	assert_int_equal(maker_write(&made->maker, made->path, made->maker.size / 2), 0);
	made->run = run_open(paths, 1, NULL, &made->diags);
	assert_non_null(made->run);
	assert_int_equal(run_scan(made->run, NULL), 0);
	counts = &made->run->processes[0].gpu->counts;
	assert_in_range(counts->launches[GPU_PAIRED], 1, 59999);
	for (unsigned reason = 0; reason < GPU_REASONS; reason++)
		if (reason != GPU_REASON_LOG_CUT)
			assert_int_equal(counts->reasons[GPU_HOST_ONLY][reason] + counts->reasons[GPU_DEVICE_ONLY][reason], 0);
	assert_true(counts->launches[GPU_HOST_ONLY] + counts->launches[GPU_DEVICE_ONLY] > 0);
	assert_true(made->diags.damage > 0);
	end_made(made);
}

static void test_waits_know_their_call(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	call(made, 100, 500, SYNC, 1, 3, 0);
	MAKER_ADD(made->device, 900, device_wait, .start = AT(110), .duration = 380, .correlation = 1, .kind = 3, .context = 1,
		  .stream = 7, .event = 0xffffffff);
	call(made, 600, 700, SYNC, 2, 3, 0); /* CUPTI said nothing: there was nothing to wait for */
	gpu = scan(made);
	assert_int_equal(gpu->wait_count, 2);
	assert_int_equal(gpu->waits[0].kind, 3);
	assert_int_equal(gpu->waits[0].stream, 7);
	assert_int_equal(gpu->waits[0].times.sum, 380);
	assert_int_equal(gpu->waits[0].host_ns, 400);
	assert_string_equal(gpu->functions[gpu->waits[0].function].name, "cudaStreamSynchronize");
	assert_int_equal(gpu->waits[1].kind, 0);
	assert_int_equal(gpu->waits[1].times.sum, 100);
	end_made(made);
}

static void test_busy_is_the_union_and_overlap_what_runs_at_once(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	kernel(made, 9000, AT(1000), 100, 1);
	MAKER_ADD(made->device, 9001, kernel, .start = AT(1050), .duration = 100, .correlation = 2, .shape = 1, .queue = 2);
	MAKER_ADD(made->device, 9002, device_copy, .start = AT(1060), .duration = 10, .correlation = 3, .bytes = 9, .queue = 2, .kind = 1);
	kernel(made, 9003, AT(2000), 30, 4);
	/* The processor makes a copy from host to host: it waits for the kernel of 2000. */
	MAKER_ADD(made->device, 9004, device_copy, .start = AT(1990), .duration = 50, .correlation = 5, .bytes = 8, .queue = 2, .kind = 9);
	gpu = scan(made);
	assert_int_equal(gpu->copy_count, 2);
	assert_int_equal(gpu->sweeps[0].busy.busy_ns, 180);    /* 1000..1150, 2000..2030 */
	assert_int_equal(gpu->sweeps[0].overlap.busy_ns, 50);  /* 1050..1100; the copy lies inside */
	assert_int_equal(gpu->sweeps[0].kernels.busy_ns, 180);
	assert_int_equal(gpu->sweeps[0].copies.busy_ns, 10);
	assert_int_equal(gpu->queues[0].lane.busy_ns, 130);
	assert_int_equal(gpu->queues[1].lane.busy_ns, 100); /* the copy lies inside of the kernel, as nodes of a graph may */
	end_made(made);
}

static void test_a_window_leaves_the_rest_out(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	for (unsigned i = 1; i <= 9; i++) {
		call(made, 1000 * i, 1000 * i + 10, LAUNCH, i, 3, 0);
		kernel(made, 100000 + i, AT(1000 * i + 100), 50, i);
	}
	gpu = scan_with(made, &(struct run_options){.has_window = 1, .from_ns = 3000, .to_ns = 5999});
	assert_int_equal(gpu->counts.launches[GPU_PAIRED], 3);
	assert_int_equal(gpu->kernels[0].occurrences, 3);
	assert_int_equal(gpu->apis[0].times.count, 3);
	end_made(made);
}

/* A loop that copies up, launches twice and copies down calls no function once a step: its places tell one call from the other. */
static void test_steps_of_a_loop_that_calls_all_twice(void **state)
{
	static const struct {
		uint32_t function, stack;
	} loop[] = {{COPY, 11}, {LAUNCH, 12}, {LAUNCH, 12}, {COPY, 13}};
	struct made *made = begin_made();
	uint64_t time = 1000;

	(void)state;
	for (unsigned i = 0; i < 40 * 4; i++, time += 100 + i % 7)
		MAKER_ADD(made->calls, time, gpu_call, .duration = 50, .correlation = i + 1, .function = loop[i % 4].function,
			  .stack = loop[i % 4].stack, .flags = 1);
	scan(made);
	assert_int_equal(made->run->processes[0].step_count, 40);
	assert_int_equal(made->run->processes[0].steps[0].source, STEP_BY_PERIOD);
	end_made(made);
}

/* Records whose shape and queue are not in the log, ids that make no sense, half a log: counted, answered. */
static void test_hostile_logs_are_answered(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	MAKER_ADD(made->calls, 60, gpu_call, .duration = UINT64_MAX, .correlation = 5, .function = 4000000000u, .stack = 4000000000u,
		  .context = 4000000000u, .result = 4000000000u, .flags = 255);
	MAKER_ADD(made->calls, 70, gpu_free, .address = 77, .flavour = 200);
	call(made, 65, 70, FREE, 6, 3, 0);
	MAKER_ADD(made->calls, 80, gpu_alloc, .address = 77, .bytes = UINT64_MAX, .device = 12345, .flavour = 200);
	call(made, 75, 80, ALLOC, 7, 3, 0);
	call(made, 85, 90, GEMM, 8, 3, 0); /* a library call that never began */
	MAKER_ADD(made->device, 900, kernel, .start = UINT64_MAX, .duration = UINT64_MAX, .correlation = UINT64_MAX, .shape = 4000000000u,
		  .queue = 4000000000u, .graph = 4000000000u, .node = UINT64_MAX);
	MAKER_ADD(made->device, 901, device_copy, .start = 1, .duration = 1, .correlation = 5, .bytes = UINT64_MAX, .queue = 9,
		  .kind = 255, .source = 255, .destination = 255, .flags = 255);
	MAKER_ADD(made->device, 902, gpu_clock, .ticks = UINT64_MAX, .width = UINT64_MAX, .timestamp = UINT64_MAX);
	MAKER_ADD(made->device, 903, device_memory, .timestamp = UINT64_MAX, .address = UINT64_MAX, .bytes = UINT64_MAX, .operation = 9,
		  .kind = 99, .device = 99, .pool = 1, .flags = 255);
	MAKER_ADD(made->device, 904, jit, .entry = 255, .operation = 255);
	MAKER_ADD(made->device, 905, gpu_overhead, .kind = 4000000000u, .duration = UINT64_MAX);
	MAKER_ADD(made->device, 906, gpu_state, .state = 255, .code = 1);
	gpu = scan(made);
	assert_int_equal(gpu->counts.unknown_shapes, 1);
	assert_int_equal(gpu->counts.unknown_queues, 2);
	assert_int_equal(gpu->counts.launches[GPU_PAIRED], 1);
	assert_int_equal(gpu->counts.launches[GPU_DEVICE_ONLY], 1);
	assert_int_equal(gpu->kernels[0].shape, GPU_NONE);
	end_made(made);
}

/* Ten times as many as are kept in flight, and none of them ever answered: all counted, memory bounded. */
static void test_more_in_flight_than_are_kept(void **state)
{
	struct made *made = begin_made();
	uint64_t sequence = 0;
	struct gpu *gpu;

	(void)state;
	for (uint64_t i = 1; i <= 400000; i++) {
		call(made, 100 * i, 100 * i + 10, LAUNCH, i, 3, 0);
		if (made->calls->size + 256 > sizeof made->calls->bytes) {
			maker_events(&made->maker, 1, 0, ++sequence, 0, made->calls);
			made->calls->size = 0;
		}
	}
	maker_events(&made->maker, 1, 0, ++sequence, 0, made->calls);
	made->calls->size = 0;
	gpu = scan_with(made, NULL);
	assert_int_equal(gpu->counts.launches[GPU_HOST_ONLY], 400000);
	assert_int_equal(gpu->counts.reasons[GPU_HOST_ONLY][GPU_REASON_CROWDED], 400000 - 327680);
	end_made(made);
}

/* Calls whose ends are not in the log: what they launched is not that of a later one. */
static void test_library_calls_that_lost_their_ends(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;

	(void)state;
	maker_fact(&made->maker, TFP_TAG_function, (const char *const[]){"#208", "cublasDgemm_v2", "cublas", "library", "m,n,k", NULL});
	for (unsigned i = 0; i < 10; i++) {
		MAKER_ADD(made->calls, 100 * i + 10, call_begin, .function = GEMM);
		call(made, 100 * i + 20, 100 * i + 30, LAUNCH, 1 + i, 3 | 8, 0);
	}
	MAKER_ADD(made->calls, 1060, library_call, .a = 64, .b = 32, .c = 16);
	call(made, 910, 1060, GEMM, 0, 1, 0); /* of the last one */
	call(made, 1100, 1110, LAUNCH, 11, 3, 0);
	MAKER_ADD(made->calls, 1160, library_call, .a = 1, .b = 2, .c = 3);
	call(made, 1150, 1160, 208, 0, 1, 0); /* of a function that did not begin */
	gpu = scan(made);
	assert_int_equal(gpu->library_call_count, 2);
	assert_int_equal(gpu->library_calls[0].calls, 1);
	assert_int_equal(gpu->library_calls[0].launches, 1);
	assert_int_equal(gpu->library_calls[1].calls, 1);
	assert_int_equal(gpu->library_calls[1].launches, 0);
	end_made(made);
}

#define MANY_QUEUES 4400u

/* A program that makes a stream for each request: how long each was busy is known, and all of it is the device's. */
static void test_more_queues_than_have_curves(void **state)
{
	struct made *made = begin_made();
	struct gpu *gpu;
	uint64_t sum = 0;
	char id[24], stream[24];

	(void)state;
	for (unsigned i = 3; i <= MANY_QUEUES; i++) {
		snprintf(id, sizeof id, "#%u", i);
		snprintf(stream, sizeof stream, "#%u", 6 + i);
		maker_fact(&made->maker, TFP_TAG_queue, (const char *const[]){id, "#0", "#1", stream, "#0", "#1", NULL});
	}
	for (unsigned i = 1; i <= MANY_QUEUES; i++)
		MAKER_ADD(made->device, 1000000, kernel, .start = AT(1000 + i * 100), .duration = 10, .shape = 1, .queue = i);
	gpu = scan(made);
	assert_int_equal(gpu->queue_count, MANY_QUEUES);
	for (unsigned i = 0; i < MANY_QUEUES; i++)
		sum += gpu->queues[i].lane.busy_ns;
	assert_int_equal(sum, MANY_QUEUES * 10);
	assert_null(gpu->queues[MANY_QUEUES - 1].lane.cells);
	assert_int_equal(gpu->sweep_count, 1);
	assert_int_equal(gpu->sweeps[0].busy.busy_ns, MANY_QUEUES * 10);
	assert_int_equal(gpu->sweeps[0].all_gaps, MANY_QUEUES - 1);
	end_made(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_queues_than_have_curves),
		cmocka_unit_test(test_library_calls_that_lost_their_ends),
		cmocka_unit_test(test_call_and_record_meet_in_either_order),
		cmocka_unit_test(test_each_launch_has_one_class_and_a_reason),
		cmocka_unit_test(test_reasons_come_from_what_the_log_says),
		cmocka_unit_test(test_calls_before_cupti_began_say_so),
		cmocka_unit_test(test_a_graph_is_one_launch_with_many_records),
		cmocka_unit_test(test_a_graph_as_a_whole_is_no_copy),
		cmocka_unit_test(test_impossible_times_count_and_stay_out_of_sums),
		cmocka_unit_test(test_a_double_counts_once), cmocka_unit_test(test_a_step_of_the_clock_moves_no_launch),
		cmocka_unit_test(test_a_clock_of_its_own_is_followed),
		cmocka_unit_test(test_a_library_call_owns_what_it_launched),
		cmocka_unit_test(test_work_belongs_to_the_operation_of_its_call),
		cmocka_unit_test(test_half_a_log_is_answered), cmocka_unit_test(test_waits_know_their_call),
		cmocka_unit_test(test_busy_is_the_union_and_overlap_what_runs_at_once),
		cmocka_unit_test(test_a_window_leaves_the_rest_out), cmocka_unit_test(test_hostile_logs_are_answered),
		cmocka_unit_test(test_more_in_flight_than_are_kept), cmocka_unit_test(test_steps_of_a_loop_that_calls_all_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
