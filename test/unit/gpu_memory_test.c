/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the accounts of GPU memory: from the hooks' calls, from CUPTI's records, from both.
 *
 * Rule: each expectation stands in the test; every log is made here.
 */
#include "reducer/read/log.h"
#include "reducer/tables/gpu_brief.h"
#include "test/unit/gpu_made.h"

static void test_device_memory_from_calls_and_from_cupti(void **state)
{
	struct made *made = begin_made();
	const struct account *device, *pinned;
	struct gpu *gpu;

	(void)state;
	MAKER_ADD(made->calls, 110, gpu_alloc, .address = 0x1000, .bytes = 4096, .device = 0, .flavour = 1);
	call(made, 100, 110, ALLOC, 1, 3, 0);
	MAKER_ADD(made->calls, 130, gpu_alloc, .address = 0x9000, .bytes = 100, .device = 0xffffffff, .flavour = 5);
	call(made, 120, 130, ALLOC, 2, 3, 0); /* its device by its context */
	MAKER_ADD(made->calls, 150, gpu_alloc, .address = 0x500, .bytes = 64, .device = 0xffffffff, .flavour = 3);
	call(made, 140, 150, ALLOC, 3, 3, 0);
	MAKER_ADD(made->calls, 170, gpu_alloc, .address = 0, .bytes = 1u << 30, .device = 0, .flavour = 1);
	call(made, 160, 170, ALLOC, 4, 3, 2); /* failed */
	MAKER_ADD(made->calls, 300, gpu_free, .address = 0x1000, .flavour = 1);
	call(made, 200, 300, FREE, 5, 3, 0);
	MAKER_ADD(made->device, 900, device_memory, .timestamp = AT(110), .correlation = 1, .address = 0x1000, .bytes = 4096,
		  .operation = 1, .kind = 3, .device = 0);
	MAKER_ADD(made->device, 901, device_memory, .timestamp = AT(205), .correlation = 5, .address = 0x1000, .bytes = 4096,
		  .operation = 2, .kind = 3, .device = 0);
	MAKER_ADD(made->device, 902, device_room, .device = 0xffffffff, .free = 1000, .total = 5000); /* no device set: the only one's */
	gpu = scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	pinned = process_account(&made->run->processes[0], "pinned");
	assert_int_equal(device->allocations, 2);
	assert_int_equal(device->frees, 1);
	assert_int_equal(device->allocated_bytes, 4196);
	assert_int_equal(device->live_bytes, 100);
	assert_int_equal(device->peak_bytes, 4196);
	assert_int_equal(device->peak_time_ns, 130);
	assert_int_equal(pinned->live_bytes, 64);
	assert_int_equal(gpu->memory_checks[0].call_allocations, 2);
	assert_int_equal(gpu->memory_checks[0].cupti_allocations, 1);
	assert_int_equal(gpu->memory_checks[0].cupti_frees, 1);
	assert_int_equal(gpu->devices[0].least_free, 1000);
	end_made(made);
}

/* No hook was on the path (static runtime): CUPTI's records make the account, the callback gives the stack. */
static void test_memory_that_only_cupti_saw(void **state)
{
	struct made *made = begin_made();
	const struct account *device;
	struct gpu *gpu;

	(void)state;
	call(made, 100, 110, ALLOC, 1, 2, 0);
	MAKER_ADD(made->device, 900, device_memory, .timestamp = AT(108), .correlation = 1, .address = 0x1000, .bytes = 512,
		  .operation = 1, .kind = 3, .device = 0);
	gpu = scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(device->live_bytes, 512);
	assert_int_equal(device->site_count, 1);
	assert_int_equal(device->sites[0].stack, 1);
	assert_true(gpu->memory_checks[0].is_from_cupti);
	end_made(made);
}

/* Memory that calls map, of which CUPTI has no record, beside blocks of calls that no hook saw: one account, in the order of time. */
static void test_mapped_memory_beside_what_only_cupti_saw(void **state)
{
	struct made *made = begin_made();
	const struct account *device;
	struct gpu *gpu;

	(void)state;
	MAKER_ADD(made->calls, 130, gpu_alloc, .address = 0x9000, .bytes = 100, .device = 0, .flavour = 6);
	call(made, 120, 130, ALLOC, 2, 3, 0);
	MAKER_ADD(made->calls, 300, gpu_free, .address = 0x9000, .flavour = 6);
	call(made, 290, 300, FREE, 5, 3, 0);
	MAKER_ADD(made->device, 900, device_memory, .timestamp = AT(110), .correlation = 1, .address = 0x1000, .bytes = 512,
		  .operation = 1, .kind = 3, .device = 0);
	MAKER_ADD(made->device, 901, device_memory, .timestamp = AT(200), .correlation = 3, .address = 0x1000, .bytes = 512,
		  .operation = 2, .kind = 3, .device = 0);
	gpu = scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(device->allocations, 2);
	assert_int_equal(device->frees, 2);
	assert_int_equal(device->live_bytes, 0);
	assert_int_equal(device->peak_bytes, 612);
	assert_int_equal(device->peak_time_ns, 130);
	assert_true(gpu->memory_checks[0].is_from_cupti);
	assert_int_equal(gpu->memory_checks[0].mappings, 1);
	end_made(made);
}

/* A block of the program's, which the hooks saw, and one of a library with a runtime of its own. */
static void test_memory_of_which_hooks_saw_a_part(void **state)
{
	struct made *made = begin_made();
	const struct account *device;

	(void)state;
	MAKER_ADD(made->calls, 110, gpu_alloc, .address = 0x1000, .bytes = 512, .device = 0, .flavour = 1);
	call(made, 100, 110, ALLOC, 1, 3, 0);
	for (unsigned i = 0; i < 2; i++)
		MAKER_ADD(made->device, 900 + i, device_memory, .timestamp = AT(110 + 40 * i), .correlation = 1 + i,
			  .address = 0x1000 + 0x8000 * i, .bytes = 512 + 4096 * i, .operation = 1, .kind = 3, .device = 0);
	scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(device->allocations, 2);
	assert_int_equal(device->live_bytes, 5120);
	end_made(made);
}

/* cudaFree does not say that a block was managed memory. */
static void test_a_managed_block_is_freed_like_any(void **state)
{
	struct made *made = begin_made();
	const struct account *managed;

	(void)state;
	MAKER_ADD(made->calls, 110, gpu_alloc, .address = 0x1000, .bytes = 4096, .device = 0, .flavour = 2);
	call(made, 100, 110, ALLOC, 1, 3, 0);
	MAKER_ADD(made->calls, 300, gpu_free, .address = 0x1000, .flavour = 1);
	call(made, 200, 300, FREE, 2, 3, 0);
	scan(made);
	managed = process_account(&made->run->processes[0], "managed");
	assert_int_equal(managed->frees, 1);
	assert_int_equal(managed->live_bytes, 0);
	assert_int_equal(managed->unknown_frees, 0);
	end_made(made);
}

/*
 * A thread that got no processor between the end of its cudaFree and the note of it: meanwhile another one was handed the address, and
 * gave it back. The release belongs to the device of the block that was replaced, not to the first one that the program used.
 */
static void test_a_release_that_is_told_late(void **state)
{
	struct made *made = begin_made();
	const struct account *first, *second;

	(void)state;
	MAKER_ADD(made->calls, 50, gpu_alloc, .address = 0x8000, .bytes = 64, .device = 1, .flavour = 1);
	call(made, 40, 50, ALLOC, 1, 3, 0);
	MAKER_ADD(made->calls, 110, gpu_alloc, .address = 0x1000, .bytes = 4096, .device = 0, .flavour = 1);
	call(made, 100, 110, ALLOC, 2, 3, 0);
	MAKER_ADD(made->calls, 300, gpu_alloc, .address = 0x1000, .bytes = 512, .device = 0, .flavour = 1);
	call(made, 250, 300, ALLOC, 3, 3, 0);
	MAKER_ADD(made->calls, 410, gpu_free, .address = 0x1000, .flavour = 1);
	call(made, 400, 410, FREE, 4, 3, 0);
	MAKER_ADD(made->device, 900, gpu_free, .address = 0x1000, .flavour = 1);
	MAKER_ADD(made->device, 900, gpu_call, .duration = 700, .correlation = 5, .function = FREE, .flags = 3);
	scan(made);
	first = process_account(&made->run->processes[0], "device:1");
	second = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(first->frees, 0);
	assert_int_equal(first->unknown_frees, 0);
	assert_int_equal(second->allocations, 2);
	assert_int_equal(second->frees, 2);
	assert_int_equal(second->live_bytes, 0);
	end_made(made);
}

/* Memory of a device that nobody told, as of a window that opened late: the device's own peak is not 0, it is not known. */
static void test_memory_of_no_device_is_no_peak_of_one(void **state)
{
	struct gpu_sweep sweep = {.device = 0};
	struct gpu gpu = {.sweeps = &sweep, .sweep_count = 1};
	struct account account = {.allocator = GPU_PLACELESS, .peak_bytes = 1440743424};
	struct process process = {.gpu = &gpu, .accounts = &account};
	struct run run = {.processes = &process, .process_count = 1};

	(void)state;
	for (size_t count = 0; count < 2; count++) {
		struct gpu_brief brief;

		process.account_count = count;
		gpu_brief(&brief, &(struct request){.run = &run});
		assert_int_equal(brief.device_count, 1);
		assert_int_equal(brief.devices[0].has_peak, count == 0);
		gpu_brief_free(&brief);
	}
}

/* Of a hundred the 64th had what the last 37 did, and was shown as the busiest of all. */
static void test_each_device_of_a_large_job_is_one(void **state)
{
	enum { RANKS = 100 };
	static struct gpu_queue queue;
	static struct gpu_device devices[RANKS];
	static struct gpu_sweep sweeps[RANKS];
	static struct gpu_kernel kernels[RANKS];
	static struct gpu gpus[RANKS];
	static struct process processes[RANKS];
	static struct log log;
	struct run run = {.processes = processes, .process_count = RANKS};
	struct gpu_brief brief;

	(void)state;
	for (unsigned i = 0; i < RANKS; i++) {
		devices[i] = (struct gpu_device){.name = "GPU", .has_uuid = 1, .uuid = {(uint8_t)i}};
		sweeps[i].busy.busy_ns = 10 + i;
		kernels[i].occurrences = 1 + i;
		gpus[i] = (struct gpu){.devices = &devices[i], .device_count = 1, .sweeps = &sweeps[i], .sweep_count = 1,
				       .queues = &queue, .queue_count = 1, .kernels = &kernels[i], .kernel_count = 1};
		processes[i] = (struct process){.gpu = &gpus[i], .log = &log};
	}
	gpu_brief(&brief, &(struct request){.run = &run});
	assert_int_equal(brief.device_count, RANKS);
	for (unsigned i = 0; i < RANKS; i++) {
		assert_int_equal(brief.devices[i].busy_ns, 10 + i);
		assert_int_equal(brief.devices[i].kernels, 1 + i);
	}
	gpu_brief_free(&brief);
}

static void window(struct made *made, uint64_t time, unsigned is_open)
{
	MAKER_ADD(made->calls, time, window, .is_open = (uint8_t)is_open, .cause = 3);
}

/* As CUPTI tells it, of device 0: 1 = allocated, 2 = given back. */
static void memory(struct made *made, uint64_t decoded, uint64_t time, unsigned operation, uint64_t address, uint64_t bytes)
{
	MAKER_ADD(made->device, decoded, device_memory, .timestamp = AT(time), .address = address, .bytes = bytes,
		  .operation = (uint8_t)operation, .kind = 3, .device = 0);
}

/* Between two windows a large block went, and a small one took its address: what goes then is the small one. */
static void test_an_address_that_was_used_again_between_windows(void **state)
{
	const uint64_t large = UINT64_C(1) << 30, small = UINT64_C(1) << 20;
	struct made *made = begin_made();
	const struct account *device;

	(void)state;
	MAKER_ADD(made->calls, 110, gpu_alloc, .address = 0x1000, .bytes = large, .device = 0, .flavour = 1);
	call(made, 100, 110, ALLOC, 1, 3, 0);
	window(made, 200, 0);
	window(made, 300, 1);
	MAKER_ADD(made->calls, 301, gpu_live, .blocks = 1, .bytes = small, .flavour = 1, .device = 0);
	MAKER_ADD(made->calls, 410, gpu_free, .address = 0x1000, .flavour = 1, .bytes = small);
	call(made, 400, 410, FREE, 2, 3, 0);
	scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(device->peak_bytes, large);
	assert_int_equal(device->timeline.points[device->timeline.count - 1].live, 0);
	for (size_t i = 0; i < device->timeline.count; i++)
		assert_true(device->timeline.points[i].max <= large);
	end_made(made);
}

/* What lay outside of pools when a window closed may be gone when the next one opens: it is not held twice. */
static void test_what_is_held_in_a_later_window(void **state)
{
	struct made *made = begin_made();
	const struct account *device;

	(void)state;
	call(made, 50, 60, LAUNCH, 1, 3, 0);
	memory(made, 150, 110, 1, 0x1000, 1000);
	window(made, 200, 0);
	window(made, 300, 1);
	memory(made, 450, 410, 1, 0x8000, 600);
	scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(device->reserved.points[device->reserved.count - 1].live, 600);
	assert_int_equal(device->live_bytes, 600);
	end_made(made);
}

/* A pool that is trimmed to nothing holds nothing; one whose size is not told holds what it did. */
static void test_a_pool_that_is_trimmed(void **state)
{
	struct made *made = begin_made();
	const struct account *device;
	struct gpu *gpu;

	(void)state;
	MAKER_ADD(made->device, 120, device_memory, .timestamp = AT(100), .address = 0x1000, .bytes = 512, .operation = 1, .kind = 3,
		  .device = 0, .flags = 3, .pool = 0x77, .pool_bytes = 4096, .pool_used = 512);
	MAKER_ADD(made->device, 220, device_memory, .timestamp = AT(200), .address = 0x1000, .bytes = 512, .operation = 2, .kind = 3,
		  .device = 0, .flags = 3, .pool = 0x77, .pool_bytes = 4096, .pool_used = 0);
	MAKER_ADD(made->device, 260, device_pool, .timestamp = AT(250), .address = 0x77, .operation = 1, .kind = 2, .device = 0);
	MAKER_ADD(made->device, 320, device_pool, .timestamp = AT(300), .address = 0x77, .operation = 3, .kind = 1, .device = 0);
	gpu = scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(gpu->pool_count, 1);
	assert_int_equal(gpu->pools[0].trims, 1);
	assert_int_equal(gpu->pools[0].most_bytes, 4096);
	assert_int_equal(gpu->pools[0].bytes, 0);
	assert_int_equal(device->reserved.points[device->reserved.count - 2].live, 4096);
	assert_int_equal(device->reserved.points[device->reserved.count - 1].live, 0);
	end_made(made);
}

/* CUPTI tells of the release of a block from before; what is allocated there a little later is another one, and stays. */
static void test_a_release_of_a_block_from_before(void **state)
{
	struct made *made = begin_made();
	const struct account *device;

	(void)state;
	call(made, 50, 60, LAUNCH, 1, 3, 0);
	memory(made, 1000, 100, 2, 0x1000, 700);
	memory(made, 2000000, 1000000, 1, 0x1000, 700);
	scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(device->live_bytes, 700);
	assert_int_equal(device->unknown_frees, 1);
	assert_int_equal(device->event_reordered, 0);
	end_made(made);
}

/* A block goes while nothing is recorded; the next one at its address, which soon goes as well, is not taken for it. */
static void test_a_short_life_where_a_block_of_another_window_lay(void **state)
{
	struct made *made = begin_made();
	const struct account *device;

	(void)state;
	call(made, 50, 60, LAUNCH, 1, 3, 0);
	memory(made, 150, 110, 1, 0x1000, 1000);
	window(made, 200, 0);
	window(made, 300, 1);
	memory(made, 450, 400, 1, 0x1000, 600);
	memory(made, 3000000, 2000000, 2, 0x1000, 600);
	scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(device->live_bytes, 0);
	assert_int_equal(device->live_blocks, 0);
	end_made(made);
}

/* In a run of weeks a block's time is kept in part: it is none from before a window that closed long ago. */
static void test_a_block_of_a_run_of_weeks(void **state)
{
	const uint64_t weeks = (UINT64_C(1) << 52) + 1000;
	struct made *made = begin_made();
	const struct account *device;

	(void)state;
	call(made, 50, 60, LAUNCH, 1, 3, 0);
	memory(made, 150, 110, 1, 0x3000, 100);
	memory(made, 170, 160, 2, 0x3000, 100);
	window(made, 1000000, 0);
	window(made, 1000100, 1);
	memory(made, weeks + 100, weeks, 1, 0x1000, 1000);
	memory(made, weeks + 200, weeks + 100, 1, 0x2000, 500);
	memory(made, weeks + 500000, weeks + 400000, 2, 0x1000, 1000);
	scan(made);
	device = process_account(&made->run->processes[0], "device:0");
	assert_int_equal(device->live_bytes, 500);
	assert_int_equal(device->live_blocks, 1);
	end_made(made);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_address_that_was_used_again_between_windows),
		cmocka_unit_test(test_what_is_held_in_a_later_window),
		cmocka_unit_test(test_a_pool_that_is_trimmed),
		cmocka_unit_test(test_a_block_of_a_run_of_weeks),
		cmocka_unit_test(test_a_release_of_a_block_from_before),
		cmocka_unit_test(test_a_short_life_where_a_block_of_another_window_lay),
		cmocka_unit_test(test_memory_of_no_device_is_no_peak_of_one),
		cmocka_unit_test(test_each_device_of_a_large_job_is_one),
		cmocka_unit_test(test_a_release_that_is_told_late),
		cmocka_unit_test(test_device_memory_from_calls_and_from_cupti),
		cmocka_unit_test(test_memory_that_only_cupti_saw),
		cmocka_unit_test(test_mapped_memory_beside_what_only_cupti_saw),
		cmocka_unit_test(test_memory_of_which_hooks_saw_a_part),
		cmocka_unit_test(test_a_managed_block_is_freed_like_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
