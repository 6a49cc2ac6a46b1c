/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks: what is captured is what was called, cuts are marked, tables grow and fill, children start over.
 * Rule: the log is a double of writer/store.h in this file, so that each node can be looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/native_walk.h"
#include "collectors/stacks.h"
#include "collectors/stacks_index.h"
#include "collectors/stacks_memory.h"
#include "collectors/stacks_state.h"
#include "test/stacks/flat.h"
#include "test/stacks/noinline.h"
#include "writer/format.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROOM (1u << 20)

static struct tfp_pc pcs[ROOM];
static uint64_t nodes[ROOM];
static _Atomic uint32_t pc_count, node_count, fact_count;
static uint32_t pc_room = ROOM, node_room = ROOM;

uint32_t tfp_store_pc(uint64_t pc, uint32_t module, uint32_t flags)
{
	uint32_t index = pc_count + 1 < pc_room ? ++pc_count : 0;

	if (index)
		pcs[index] = (struct tfp_pc){ pc, module, flags };
	return index;
}

struct tfp_segments *tfp_store_nodes(void)
{
	static struct tfp_segments segments;

	flat_segments(&segments, nodes, ROOM);
	return &segments;
}

uint32_t tfp_store_node(uint32_t parent, uint32_t pc_index)
{
	uint32_t index = node_count + 1 < node_room ? ++node_count : 0;

	if (index)
		__atomic_store_n(&nodes[index], (uint64_t)parent << 32 | pc_index, __ATOMIC_RELEASE); /* others may look there */
	return index;
}

int tfp_store_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count)
{
	(void)tag;
	(void)fields;
	(void)count;
	fact_count++;
	return 0;
}

static struct tfp_stacks *stacks;
static struct tfp_stack_cache *cache;
static uint32_t cut;
static volatile int sink;

static int begin_with(uint32_t frames)
{
	stacks = tfp_stacks_make(frames);
	cache = stacks ? tfp_stack_cache_make(stacks) : NULL;
	return cache ? 0 : -1;
}

static int begin(void **state)
{
	(void)state;
	pc_room = node_room = ROOM;
	return begin_with(64);
}

static int end(void **state)
{
	(void)state;
	tfp_stack_cache_drop(cache);
	return 0;
}

static NOINLINE uint32_t capture(void)
{
	uintptr_t *frame = __builtin_frame_address(0);

	return tfp_stack_capture(stacks, cache, (uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),
				 frame[0], &cut);
}

static NOINLINE uint32_t capture_below(int depth)
{
	uint32_t node = depth ? capture_below(depth - 1) : capture();

	sink = depth;
	return node;
}

static NOINLINE uint32_t other_capture_below(int depth)
{
	uint32_t node = capture_below(depth);

	sink = -depth;
	return node;
}

static uint32_t length_of(uint32_t node)
{
	uint32_t length = 0;

	for (; node; node = (uint32_t)(nodes[node] >> 32))
		length++;
	return length;
}

static const struct tfp_pc *pc_of(uint32_t node)
{
	return &pcs[(uint32_t)nodes[node]];
}

static const struct tfp_pc *root_of(uint32_t node)
{
	while (nodes[node] >> 32)
		node = (uint32_t)(nodes[node] >> 32);
	return pc_of(node);
}

static void test_a_stack_is_what_was_called(void **state)
{
	uint32_t stack[2], parent;

	(void)state;
	/* One call site: volatile keeps the loop from being unrolled. */
	for (volatile int i = 0; i < 2; i++)
		stack[i] = capture_below(0);
	assert_int_equal(cut, 0);
	assert_int_not_equal(stack[0], 0);
	assert_int_equal(stack[0], stack[1]);
	/* The caller of the hook first, then this function, which is in the executable. */
	assert_in_range(pc_of(stack[0])->pc, (uintptr_t)capture_below, (uintptr_t)capture_below + 200);
	parent = (uint32_t)(nodes[stack[0]] >> 32);
	assert_in_range(pc_of(parent)->pc, (uintptr_t)test_a_stack_is_what_was_called, (uintptr_t)test_a_stack_is_what_was_called + 400);
	assert_int_not_equal(pc_of(parent)->module, 0);
	assert_int_equal(pc_of(parent)->module, pc_of(stack[0])->module);
	assert_int_not_equal(fact_count, 0);
}

static void test_stacks_share_their_callers(void **state)
{
	uint32_t five = 0, six = 0, again = 0, other = 0;

	(void)state;
	for (volatile int i = 0; i < 3; i++) {
		five = capture_below(i == 1 ? 6 : 5);
		six = i == 1 ? five : six;
		other = other_capture_below(5);
		again = i == 0 ? five : again;
	}
	assert_int_equal(five, again);
	assert_int_not_equal(five, six);
	assert_int_not_equal(five, other);
	assert_int_equal(length_of(six), length_of(five) + 1);
	assert_int_equal(length_of(other), length_of(five) + 1);
}

static void test_depth_is_cut_and_marked(void **state)
{
	uint32_t stack;

	(void)state;
	tfp_stack_cache_drop(cache);
	assert_int_equal(begin_with(5), 0);
	stack = capture_below(50);
	assert_int_equal(cut, TFP_PC_CUT_DEPTH);
	assert_int_equal(length_of(stack), 6);
	assert_int_equal(root_of(stack)->flags, TFP_PC_CUT_DEPTH);
	assert_int_equal(root_of(stack)->pc, 0);
	/* Towards the outside all frames are new again, and then the end is in reach. */
	stack = capture_below(0);
	assert_int_equal(length_of(stack), 6);
}

static void test_deep_recursion_grows_by_a_node_a_frame(void **state)
{
	uint32_t before, stack = 0;

	(void)state;
	capture_below(10);
	before = node_count;
	for (int depth = 11; depth < 200; depth++)
		stack = capture_below(depth);
	assert_int_equal(cut, 0);
	assert_in_range(length_of(stack), 200, 256);
	/* The leaf, and the frame that was the leaf's caller and now calls on: two or three new ones for each stack. */
	assert_in_range(node_count - before, 189, 3 * 189);
	before = node_count;
	for (int depth = 200; depth < 1000; depth++)
		stack = capture_below(depth);
	assert_int_equal(cut, TFP_PC_CUT_DEPTH);
	assert_in_range(length_of(stack), 64, 257);
	assert_in_range(node_count - before, 1, 4 * 800);
}

static void test_full_tables_give_no_stack(void **state)
{
	(void)state;
	node_room = node_count + 1;
	assert_int_equal(other_capture_below(33), 0);
	assert_int_equal(cut, TFP_PC_CUT_FULL);
	node_room = ROOM;
	assert_int_not_equal(other_capture_below(33), 0);
	assert_int_equal(cut, 0);
}

static void test_a_child_starts_over(void **state)
{
	int status = 0;

	(void)state;
	capture_below(3);
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		struct tfp_stacks *again = tfp_stacks_make(64);
		uint32_t before = pc_count;
		uint32_t stack = again == stacks ? capture_below(3) : 0;

		_exit(stack && !cut && pc_count > before ? 7 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 7 << 8);
}

static void test_without_system_calls_the_main_stack_is_walked(void **state)
{
	int status = 0;

	(void)state;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		begin_with(64);
		tfp_sys_seal(1);
		uint32_t stack = capture_below(9);

		_exit(stack && !cut && length_of(stack) > 10 ? 7 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 7 << 8);
}

static _Atomic int hold_ms;

static void *hold_the_lock(void *unused)
{
	struct timespec rest = { 0, hold_ms * 1000000L };

	stacks->lock = (uint32_t)tfp_sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	nanosleep(&rest, NULL);
	if (hold_ms)
		stacks->lock = 0;
	return unused;
}

/* On a busy machine the thread that compiled a rule got no processor for 30 ms, and others lost their stacks. */
static void test_a_slow_holder_of_the_lock_is_waited_for(void **state)
{
	pthread_t holder;

	(void)state;
	hold_ms = 100;
	assert_int_equal(pthread_create(&holder, NULL, hold_the_lock, NULL), 0);
	while (!stacks->lock)
		sched_yield();
	assert_int_not_equal(capture_below(3), 0);
	assert_int_equal(cut, 0);
	pthread_join(holder, NULL);
}

static void test_a_holder_that_is_gone_is_not_waited_for(void **state)
{
	pthread_t holder;

	(void)state;
	hold_ms = 0;
	assert_int_equal(pthread_create(&holder, NULL, hold_the_lock, NULL), 0);
	pthread_join(holder, NULL);
	assert_int_not_equal(stacks->lock, 0);
	while (tfp_sys(SYS_tkill, stacks->lock, 0, 0, 0, 0, 0) == 0) /* joined before the kernel forgets it */
		sched_yield();
	assert_int_equal(capture_below(3), 0);
	assert_int_equal(stacks->is_stuck, 1);
	stacks->lock = 0;
	assert_int_not_equal(capture_below(3), 0);
	assert_int_equal(stacks->is_stuck, 0);
}

static void test_unloading_changes_no_stack(void **state)
{
	uint32_t stack[4];

	(void)state;
	for (volatile int i = 0; i < 4; i++) {
		if (i == 1)
			tfp_stacks_unload_begin(stacks);
		if (i == 3)
			tfp_stacks_unload_end(stacks);
		stack[i] = capture_below(4);
		assert_int_equal(cut, 0);
		assert_int_equal(stack[i], stack[0]);
	}
}

#if defined __x86_64__
static uint32_t captured;

static NOINLINE void capture_from_stub(void)
{
	captured = capture();
	sink = 9;
}

static void test_code_without_tables_ends_the_stack(void **state)
{
	/* sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
	static const unsigned char code[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	/* Too large for a gap between the segments of the loader (Ubuntu 22.04 has one): what lies there counts as the loader's. */
	void *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t before = 0, first = 0, parent;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, code, sizeof(code));
	for (int i = 0; i < 5; i++) {
		if (i == 2)
			tfp_stacks_unload_begin(stacks);
		((void (*)(void (*)(void)))page)(capture_from_stub);
		assert_int_equal(cut, TFP_PC_CUT_UNKNOWN);
		first = i ? first : captured;
		before = i ? before : pc_count;
	}
	tfp_stacks_unload_end(stacks);
	/* The same stack each time, of three entries: the function, the stub, the marker. */
	assert_int_equal(captured, first);
	assert_int_equal(pc_count, before);
	assert_int_equal(length_of(first), 3);
	parent = (uint32_t)(nodes[first] >> 32);
	assert_int_equal(pc_of(parent)->pc, (uintptr_t)page + 6);
	assert_int_equal(pc_of(parent)->module, 0);
	assert_int_equal(root_of(first)->flags, TFP_PC_CUT_UNKNOWN);
	assert_int_equal(munmap(page, 1 << 20), 0);
}
#endif

static void test_nodes_survive_growth(void **state)
{
	static struct tfp_nodes table;
	static uint32_t ids[100000];

	(void)state;
	assert_int_equal(tfp_nodes_make(&table), 1);
	for (uint32_t i = 0; i < 100000; i++)
		ids[i] = tfp_nodes_get(&table, i / 7, i % 7 + 1);
	for (uint32_t i = 0; i < 100000; i++) {
		assert_int_equal(tfp_nodes_get(&table, i / 7, i % 7 + 1), ids[i]);
		assert_int_equal(nodes[ids[i]], (uint64_t)(i / 7) << 32 | (i % 7 + 1));
	}
}

/* What follows its caller in the log is found there and takes no room in the index, however long the path. */
static void test_a_path_takes_no_room_in_the_index(void **state)
{
	static struct tfp_nodes table;
	uint32_t first = node_count, before;

	(void)state;
	assert_int_equal(tfp_nodes_make(&table), 1);
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(tfp_nodes_get(&table, first + i, 900000 + i), first + i + 1);
	assert_int_equal(table.count, 0);
	assert_int_equal(tfp_nodes_get(&table, first + 7, 7), first + 5001);
	assert_int_equal(table.count, 1);
	before = node_count;
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(tfp_nodes_get(&table, first + i, 900000 + i), first + i + 1);
	assert_int_equal(tfp_nodes_get(&table, first + 7, 7), first + 5001);
	assert_int_equal(node_count, before);
}

/* One function that is called from everywhere. */
static void test_a_caller_of_many_keeps_its_nodes(void **state)
{
	enum { CALLEES = 5000, NEIGHBOURS = 40 };
	static struct tfp_nodes table;
	static uint32_t ids[NEIGHBOURS][CALLEES];
	uint32_t before;

	(void)state;
	assert_int_equal(tfp_nodes_make(&table), 1);
	for (uint32_t pc = 1; pc < CALLEES; pc++)
		for (uint32_t parent = 0; parent < NEIGHBOURS; parent += pc % 8 ? NEIGHBOURS / 2 : 1)
			ids[parent][pc] = tfp_nodes_get(&table, 1000 + parent, pc);
	before = node_count;
	for (uint32_t parent = 0; parent < NEIGHBOURS; parent++)
		for (uint32_t pc = 1; pc < CALLEES; pc++)
			if (ids[parent][pc]) {
				assert_int_equal(tfp_nodes_get(&table, 1000 + parent, pc), ids[parent][pc]);
				assert_int_equal(nodes[ids[parent][pc]], (uint64_t)(1000 + parent) << 32 | pc);
			}
	assert_int_equal(node_count, before);
}

static struct tfp_nodes shared;

static void *add_nodes(void *argument)
{
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t parent = ROOM / 2 + i; /* no other test's, so that each is new */
		uint32_t id = tfp_nodes_get(&shared, parent, 1);

		if (!id || nodes[id] != ((uint64_t)parent << 32 | 1))
			return argument;
	}
	return NULL;
}

static void test_threads_add_the_same_nodes(void **state)
{
	pthread_t threads[4];
	uint32_t before = node_count;

	(void)state;
	assert_int_equal(tfp_nodes_make(&shared), 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_nodes, &shared), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong = &shared;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	/* A race may make a node twice, or leave it out of the table; when there is none, what was added is found. */
	assert_in_range(node_count - before, 20000, 80000);
	assert_null(add_nodes(&shared));
	before = node_count;
	assert_null(add_nodes(&shared));
	assert_int_equal(node_count, before);
}

static void test_sites_survive_growth_and_replacement(void **state)
{
	static struct tfp_sites table;
	struct tfp_site site = { .epoch = 1 }, found;

	(void)state;
	assert_int_equal(tfp_sites_make(&table), 1);
	for (uint32_t i = 1; i <= 5000; i++) {
		site.pc = i;
		site.module = i * 3;
		site.rule.cfa = (int32_t)i;
		tfp_sites_put(&table, (uint64_t)i << 4, &site);
	}
	site.pc = 77;
	tfp_sites_put(&table, 16, &site);
	for (uint32_t i = 1; i <= 5000; i++) {
		assert_int_equal(tfp_sites_get(&table, (uint64_t)i << 4, &found), 1);
		assert_int_equal(found.pc, i == 1 ? 77 : i);
		assert_int_equal(found.rule.cfa, i == 1 ? 5000 : i);
	}
	assert_int_equal(tfp_sites_get(&table, 17, &found), 0);
	assert_int_equal(tfp_sites_get(&table, 32, &found), 1);
	tfp_sites_renew(&table, 32, &found, 9);
	assert_int_equal(tfp_sites_get(&table, 32, &found), 1);
	assert_int_equal(found.epoch, 9);
}

static void test_only_readable_pages_are_stack(void **state)
{
	static struct tfp_stack_memory memory;
	char *pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int stretch;

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + 3 * 4096, 4096, PROT_NONE), 0);
	stretch = tfp_stack_memory_at(&memory, (uintptr_t)pages + 4096 + 64, 0);
	assert_true(stretch >= 0);
	assert_int_equal(tfp_stack_memory_extend(&memory, stretch, (uintptr_t)pages + 2 * 4096 + 8), 1);
	assert_int_equal(tfp_stack_memory_extend(&memory, stretch, (uintptr_t)pages + 3 * 4096), 0);
	/* The same stack, further down. */
	assert_int_equal(tfp_stack_memory_at(&memory, (uintptr_t)pages + 8, 1), stretch);
	assert_int_equal(tfp_stack_memory_at(&memory, (uintptr_t)pages + 3 * 4096 + 8, 0), -1);
	assert_int_equal(munmap(pages, 4 * 4096), 0);
	assert_int_equal(tfp_stack_memory_can_read((uintptr_t)pages), 0);
}

/* Stacks of coroutines lie side by side, a page between them that nobody may touch: of each it is asked where it ends, once. */
static void test_stacks_side_by_side_are_asked_for_apart(void **state)
{
	enum {STACK = 5, STACKS = TFP_STRETCHES};
	static struct tfp_stack_memory memory;
	char *pages = mmap(NULL, STACKS * STACK * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	for (int i = STACKS - 1; i >= 0; i--) {
		char *stack = pages + i * STACK * 4096;
		int stretch;

		assert_int_equal(mprotect(stack, 4096, PROT_NONE), 0);
		stretch = tfp_stack_memory_at(&memory, (uintptr_t)stack + 2 * 4096 + 64, 1);
		assert_int_equal(stretch, STACKS - 1 - i);
		assert_int_equal(memory.stretches[stretch].start, (uintptr_t)stack + 2 * 4096);
		if (i < STACKS - 1) /* what was found on the way to the next one need not be asked for again */
			assert_int_equal(memory.stretches[stretch].end, (uintptr_t)stack + STACK * 4096);
		/* The same stack, further down. */
		assert_int_equal(tfp_stack_memory_at(&memory, (uintptr_t)stack + 4096 + 8, 1), stretch);
		assert_int_equal(memory.stretches[stretch].start, (uintptr_t)stack + 4096);
	}
	assert_int_equal(munmap(pages, STACKS * STACK * 4096), 0);
}

/* The stack of this function's caller, walked as another thread's is, from `bytes` of a copy; 0: from where it lies. */
static NOINLINE uint32_t walk_copy(size_t bytes, int has_fp)
{
	static uint8_t data[1u << 16];
	static struct tfp_native_walk room;
	uintptr_t *frame = __builtin_frame_address(0), sp = (uintptr_t)__builtin_dwarf_cfa();
	struct tfp_native_registers registers = {(uintptr_t)__builtin_return_address(0), sp, frame[0], 0, has_fp, 0};
	struct tfp_native_copy copy = {sp, bytes < (uintptr_t)environ - sp ? bytes : (uintptr_t)environ - sp, data, 0, SIZE_MAX};
	long memory = tfp_sys(SYS_openat, -1, (long)"/proc/self/mem", 0, 0, 0, 0);
	assert_int_equal(pread((int)memory, data, copy.bytes, (off_t)sp), copy.bytes); /* no sanitizer's business */
	assert_int_not_equal(tfp_stacks_outside_begin(stacks, memory), 0);
	uint32_t node = tfp_native_walk(stacks, &room, &registers, bytes ? &copy : NULL);
	tfp_stacks_outside_end(stacks);
	return close((int)memory) ? 0 : node;
}

static void test_a_copied_stack_is_the_same_or_ends_early(void **state)
{
	(void)state;
	uint32_t whole = walk_copy(1u << 16, 1), in_place = walk_copy(0, 1), true_one = capture();
	assert_int_equal(nodes[whole] >> 32, nodes[true_one] >> 32); /* all but this place */
	assert_int_equal(nodes[in_place] >> 32, nodes[true_one] >> 32);
	assert_int_equal(root_of(walk_copy(64, 1))->flags, TFP_PC_CUT_MEMORY);
	assert_in_range(length_of(walk_copy(1u << 16, 0)), 2, length_of(true_one) + 1);
	tfp_stacks_unload_begin(stacks);
	assert_int_equal(tfp_stacks_outside_begin(stacks, -1), 0);
	tfp_stacks_unload_end(stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_stack_is_what_was_called, begin, end),
		cmocka_unit_test_setup_teardown(test_stacks_share_their_callers, begin, end),
		cmocka_unit_test_setup_teardown(test_depth_is_cut_and_marked, begin, end),
		cmocka_unit_test_setup_teardown(test_deep_recursion_grows_by_a_node_a_frame, begin, end),
		cmocka_unit_test_setup_teardown(test_full_tables_give_no_stack, begin, end),
		cmocka_unit_test_setup_teardown(test_a_child_starts_over, begin, end),
		cmocka_unit_test_setup_teardown(test_without_system_calls_the_main_stack_is_walked, begin, end),
		cmocka_unit_test_setup_teardown(test_a_slow_holder_of_the_lock_is_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(test_a_holder_that_is_gone_is_not_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(test_unloading_changes_no_stack, begin, end),
		cmocka_unit_test_setup_teardown(test_a_copied_stack_is_the_same_or_ends_early, begin, end),
#if defined __x86_64__
		cmocka_unit_test_setup_teardown(test_code_without_tables_ends_the_stack, begin, end),
#endif
		cmocka_unit_test(test_nodes_survive_growth),
		cmocka_unit_test(test_a_path_takes_no_room_in_the_index),
		cmocka_unit_test(test_a_caller_of_many_keeps_its_nodes),
		cmocka_unit_test(test_threads_add_the_same_nodes),
		cmocka_unit_test(test_sites_survive_growth_and_replacement),
		cmocka_unit_test(test_only_readable_pages_are_stack),
		cmocka_unit_test(test_stacks_side_by_side_are_asked_for_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
