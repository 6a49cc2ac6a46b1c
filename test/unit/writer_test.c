/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the writer: what goes in comes out again through the reducer's reader, whatever the values, limits and sizes.
 *
 * Rule: each test makes a log of its own, in a process of its own, because the writer's state is the process's.
 */
#include "reducer/read/events.h"
#include "reducer/read/stacks.h"
#include "writer/file.h"
#include "writer/pack.h"
#include "writer/schema.h"
#include "writer/store.h"
#include "writer/stream.h"
#include "writer/sys.h"
#include "writer/varint.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int is_ready(void)
{
	return tfp_state && tfp_state->phase == TFP_STATE_READY ? 0 : -1;
}
int (*const tfp_start_process)(void) = is_ready;

static char folder[] = "/tmp/writer_test.XXXXXX", path[256];

static void begin(uint64_t max_bytes, int is_wrapping)
{
	struct tfp_file_header header = {.log_id = 0x1234, .pid = (uint32_t)getpid()};
	struct tfp_file_options options = {.directory = folder, .host = "host", .max_bytes = max_bytes, .is_wrapping = is_wrapping};

	tfp_clock_choose();
	header.clock_kind = tfp_clock_kind;
	tfp_clock_read(&header.origin);
	tfp_origin.ticks = header.origin.ticks;
	tfp_state = tfp_pages_get(sizeof *tfp_state, 1);
	assert_non_null(tfp_state);
	tfp_state->pid = header.pid;
	tfp_state->clock_hz = tfp_state->second_ticks = 1000000000;
	assert_int_equal(tfp_file_make(&options, &header), 0);
	assert_int_equal(tfp_schema_store(), 0);
	tfp_state->phase = TFP_STATE_READY;
	snprintf(path, sizeof path, "%s/host.%u.%016x.tfp", folder, header.pid, 0x1234);
}

/* Runs `body` in a child, so that each begins without a state. */
static void alone(void (*body)(void))
{
	int status;
	pid_t child = fork();

	if (!child) {
		body();
		unlink(path);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* As assert, in a child in which cmocka's jump to the next test would go on with the parent's. */
static void must(int is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "writer_test: %s\n", what);
	_exit(1);
}

static struct log *reopen(struct diag_list *diags)
{
	*diags = (struct diag_list){0};
	struct log *log = log_open(path, diags);

	must(log != NULL, "the log can be opened");
	return log;
}

/* Where lone_field is not negative, all records have the values of one seed but for this field of record lone_seed. */
static int lone_field = -1;
static uint64_t lone_seed;

/* A value for field `field` of record `seed`: small, at the edges of a varint, or of all 64 bits. */
static uint64_t value_of(uint64_t seed, unsigned field)
{
	static const uint64_t edges[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, 65535};

	if (lone_field >= 0)
		seed = seed == lone_seed && field == (unsigned)lone_field ? 1 : 2;
	uint64_t mixed = (seed * 31 + field) * UINT64_C(0x9e3779b97f4a7c15);

	return mixed >> 62 ? mixed >> (mixed >> 58 & 63) : edges[(mixed >> 32) % (sizeof edges / sizeof *edges)];
}

#define TFP_FACT(tag, name, help) \
	static inline void put_fact_##name(uint64_t seed) \
	{ \
		struct tfp_fact_##name record = {0}; \
		unsigned field = 0;
#define TFP_EVENT(tag, name, help) \
	static inline void put_##name(uint64_t seed) \
	{ \
		struct tfp_record_##name record = {0}; \
		unsigned field = 0;
#define TFP_FIELD(name, type, unit, transform, help) record.name = (tfp_type_##type)value_of(seed, field++);
#define TFP_END() \
		(void)field, (void)seed; \
		put(&record, sizeof record); \
	}
static uint8_t tag_now;

static void put(void *bytes, size_t size)
{
	struct tfp_lane *lane = tfp_self->lanes;
	void *room = tfp_record_begin(tfp_self, lane, size, tfp_now());

	must(room != NULL, "room for a record");
	memcpy(room, bytes, size);
	*(uint64_t *)room = tfp_now() << TFP_TAG_BITS | tag_now;
	tfp_record_commit(lane, room, size);
}
#include "writer/records.def"
#undef TFP_FACT
#undef TFP_EVENT
#undef TFP_FIELD
#undef TFP_END

#define TFP_FACT(tag, name, help) \
	static inline void check_fact_##name(const struct batch *batch, size_t i, uint64_t seed) \
	{ \
		unsigned field = 0;
#define TFP_EVENT(tag, name, help) \
	static inline void check_##name(const struct batch *batch, size_t i, uint64_t seed) \
	{ \
		unsigned field = 0;
#define TFP_FIELD(name, type, unit, transform, help) \
		must(batch_value(batch, i, (int)field) == (uint64_t)(tfp_type_##type)value_of(seed, field), "field " #name); \
		field++;
#define TFP_END() \
		(void)field, (void)batch, (void)i, (void)seed; \
	}
#include "writer/records.def"
#undef TFP_FACT
#undef TFP_EVENT
#undef TFP_FIELD
#undef TFP_END

static const struct {
	uint8_t tag;
	void (*put)(uint64_t seed);
	void (*check)(const struct batch *batch, size_t i, uint64_t seed);
} kinds[] = {
#define TFP_FACT(tag, name, help)
#define TFP_EVENT(tag, name, help) {tag, put_##name, check_##name},
#define TFP_FIELD(name, type, unit, transform, help)
#define TFP_END()
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END
};

static const uint8_t fields_of[] = { /* by tag */
#define TFP_FACT(tag, name, help) [tag] = 0
#define TFP_EVENT(tag, name, help) [tag] = 0
#define TFP_FIELD(name, type, unit, transform, help) +1
#define TFP_END() ,
#include "writer/records.def"
};

#define KINDS (sizeof kinds / sizeof *kinds)
#define RECORDS 60000

static void check_records(uint64_t first, uint64_t wanted, uint64_t step)
{
	struct diag_list diags;
	struct log *log = reopen(&diags);
	uint64_t seed = first;

	must(diags.damage == 0 && log->stream_count == 1, "one whole stream");
	for (size_t k = 0; k < log->streams[0].count; k++) {
		struct events *events = events_open(log, &log->streams[0].parts[k]);
		struct batch batch = {0};

		must(events != NULL, "a part can be opened");
		while (events_next(events, &batch) > 0) {
			for (size_t i = 0; i < batch.count; i++, seed += step) {
				must(batch.tags[i] == kinds[seed % KINDS].tag, "kinds in order");
				kinds[seed % KINDS].check(&batch, i, seed);
			}
		}
		events_close(events);
		batch_free(&batch);
	}
	must(seed == wanted, "all records");
	log_close(log);
	diag_free(&diags);
}

static void put_records(uint64_t from, uint64_t to, uint64_t step)
{
	for (uint64_t seed = from; seed < to; seed += step) {
		tag_now = kinds[seed % KINDS].tag;
		kinds[seed % KINDS].put(seed);
	}
}

static void body_every_kind(void)
{
	begin(0, 0);
	must(tfp_thread_start() != NULL, "a thread's state");
	put_records(0, 10, 1);
	check_records(0, 10, 1); /* all still in the chunk */
	put_records(10, RECORDS, 1);
	check_records(0, RECORDS, 1);
	must(tfp_state->live->drained_bytes > 0, "some were drained");
}

static void test_every_kind_of_record_comes_back(void **state)
{
	(void)state;
	alone(body_every_kind);
}

#define SAME 1100 /* records of one kind: more than the first chunk holds of any */

/* One column of many holds one value that differs: it must not be taken for a constant one. */
static void body_one_field_changes_once(void)
{
	uint64_t kind = lone_seed % KINDS, end = kind + SAME * KINDS;

	begin(0, 0);
	must(tfp_thread_start() != NULL, "a thread's state");
	put_records(kind, end, KINDS);
	check_records(kind, end, KINDS);
	must(tfp_state->live->drained_bytes > 0, "some were drained");
}

static void test_a_field_that_changes_once_comes_back(void **state)
{
	(void)state;
	for (uint64_t kind = 0; kind < KINDS; kind++) {
		lone_seed = kind + KINDS * (kind % 2 ? 1 : 150);
		for (lone_field = 0; lone_field < fields_of[kinds[kind].tag]; lone_field++)
			alone(body_one_field_changes_once);
	}
	lone_field = -1;
}

/* LEB128 by its definition, and that nothing is written from the 8th byte behind the value's end on. */
static void test_varints_of_every_length(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 64 * 3 + 100000; seed++) {
		uint64_t value = seed < 192 ? (UINT64_C(1) << seed / 3) + seed % 3 - 1 : value_of(seed, 0), rest = value;
		uint8_t got[24], wanted[16];
		unsigned count = 0;

		memset(got, 0xa5, sizeof got);
		for (; rest >= 128; rest >>= 7)
			wanted[count++] = (uint8_t)(rest | 128);
		wanted[count++] = (uint8_t)rest;
		must(tfp_put_varint(got, value) == got + count && !memcmp(got, wanted, count), "a varint");
		for (unsigned i = count > 8 ? 10 : 8; i < sizeof got; i++)
			must(got[i] == 0xa5, "nothing far behind it");
	}
}

/* Thirds: the facts of this test, and those of other threads. */
static void *put_facts(void *word)
{
	char text[64];

	for (int i = 0; i < 2000; i++) {
		int length = snprintf(text, sizeof text, "%s %d", (const char *)word, i);
		struct tfp_fact_field fields[2] = {{.number = (uint64_t)i}, {.is_text = 1, .text = {text, (size_t)length}}};
		must(tfp_store_fact(TFP_TAG_string, fields, 2) == 0, "room for a fact");
	}
	return NULL;
}

static int count_fact(void *context, const struct fact *fact)
{
	char text[64];
	uint64_t *counts = context;

	if (fact->tag != TFP_TAG_string)
		return 0;
	must(fact->count == 2 && fact->values[1].length < sizeof text, "a fact's fields");
	memcpy(text, fact->values[1].text, fact->values[1].length);
	text[fact->values[1].length] = 0;
	must((uint64_t)atoi(text + 2) == fact->values[0].number, "a fact's text");
	counts[text[0] - 'a']++;
	return 0;
}

static void body_facts(void)
{
	pthread_t threads[2];
	uint64_t counts[3] = {0, 0, 0};
	struct diag_list diags;

	begin(0, 0);
	struct tfp_fact_field first = {.number = 7};
	must(tfp_store_fact(TFP_TAG_module_unload, &first, 1) == 0, "a first fact");
	/* One whose writer died: room taken, never filled. */
	uint64_t *end = (uint64_t *)(tfp_state->facts.base + tfp_state->facts.room) - 1;
	*(uint64_t *)(tfp_state->facts.base + *end) = 48 | (uint64_t)TFP_TAG_string << 32;
	pthread_create(&threads[0], NULL, put_facts, (void *)"b");
	pthread_create(&threads[1], NULL, put_facts, (void *)"c");
	put_facts((void *)"a");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	struct log *log = reopen(&diags);
	log_facts(log, count_fact, counts);
	must(counts[0] == 2000 && counts[1] == 2000 && counts[2] == 2000 && diags.damage == 0, "all facts of three threads");
	log_close(log);
}

static void test_facts_of_three_threads_and_one_that_was_never_finished(void **state)
{
	(void)state;
	alone(body_facts);
}

static void body_stacks(void)
{
	const struct tfp_pc *frames[4];
	struct diag_list diags;
	uint32_t nodes[30000];

	begin(0, 0);
	for (uint32_t i = 0; i < 30000; i++) {
		uint32_t pc = tfp_store_pc(0x1000 + i, i % 7, TFP_PC_EXACT);
		nodes[i] = tfp_store_node(i ? nodes[i - 1] : 0, pc);
		must(pc == i + 1 && nodes[i] == i + 1, "numbers from 1");
	}
	struct log *log = reopen(&diags);
	struct stacks *stacks = stacks_load(log);
	must(stacks_frames(stacks, nodes[29999], frames, 4) >= 4, "frames of the deepest");
	for (uint64_t i = 0; i < 4; i++)
		must(frames[i]->pc == 0x1000 + 29999 - i && frames[i]->module == (29999 - i) % 7, "innermost first");
	stacks_free(stacks);
	log_close(log);
}

static void test_code_addresses_and_nodes_come_back(void **state)
{
	(void)state;
	alone(body_stacks);
}

static uint64_t disk_bytes(void)
{
	struct stat status;

	must(stat(path, &status) == 0, "the log is there");
	return (uint64_t)status.st_blocks * 512;
}

#define PACKED 120000u
#define UNFINISHED 40000u /* a thread took this number and has not written its node yet */

/* A node of some depth: a chain, and a branch every third; no parent is the unfinished one. */
static uint64_t node_at(uint32_t index)
{
	uint64_t parent = index % 3 ? index - 1 : index / 2;

	parent -= parent == UNFINISHED;
	return parent << 32 | (index % 100 + 1);
}

static void add_nodes(void)
{
	for (uint32_t i = 0; i < 200; i++)
		tfp_store_pc(0x1000 + i, 0, 0);
	for (uint32_t i = 1; i <= PACKED; i++) {
		if (i == UNFINISHED) {
			__atomic_add_fetch(&tfp_state->live->nodes_count, 1, __ATOMIC_RELAXED);
			continue;
		}
		uint64_t word = node_at(i);
		must(tfp_store_node((uint32_t)(word >> 32), (uint32_t)word) == i, "numbers from 1");
	}
}

/* All nodes but the unfinished one, in memory and in the log. */
static void check_nodes(uint32_t missing)
{
	struct diag_list diags;
	struct log *log = reopen(&diags);
	struct stacks *stacks = stacks_load(log);

	must(stacks->node_count == PACKED + 1, "every node");
	for (uint32_t i = 1; i <= PACKED; i++) {
		uint64_t wanted = i == missing ? 0 : node_at(i);
		must(tfp_store_node_word(tfp_store_nodes(), i) == wanted, "nodes in memory");
		must(stacks->nodes[i] == wanted, "nodes in the log");
	}
	stacks_free(stacks);
	log_close(log);
}

static void body_packed(void)
{
	size_t bytes = 1 << 20;
	void *scratch = tfp_pages_get(bytes, 1);

	begin(0, 0);
	add_nodes();
	tfp_pack_nodes(scratch, 1000); /* too small: does nothing */
	must(tfp_state->packer.segment == 0, "no room, nothing packed");
	uint64_t before = disk_bytes();
	for (int i = 0; i < 50; i++)
		tfp_pack_nodes(scratch, bytes);
	uint64_t start;
	must(tfp_state->packer.segment == tfp_segment_of(TFP_NODES_FIRST, UNFINISHED, &start), "waits for the unfinished one");
	check_nodes(UNFINISHED);
	must(tfp_store_node_word(tfp_store_nodes(), UNFINISHED) == 0, "not there yet");
	unsigned segment = tfp_state->packer.segment;
	((uint64_t *)(void *)tfp_state->nodes.base[segment])[UNFINISHED - start] = node_at(UNFINISHED);
	for (int i = 0; i < 50; i++)
		tfp_pack_nodes(scratch, bytes);
	must(tfp_state->packer.segment == tfp_segment_of(TFP_NODES_FIRST, PACKED, &start), "all but the one that is being filled");
	check_nodes(0);
	must(disk_bytes() + 400000 < before, "disk space is given back");
}

static void test_packed_nodes_come_back(void **state)
{
	(void)state;
	alone(body_packed);
}

/* Heap records until the limit is well passed. Returns how many found room. */
static uint64_t fill(uint64_t count)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < count; i++)
		kept += (uint64_t)TFP_PUT(tfp_self, tfp_self->lanes, tfp_now(), map, .address = i << 12, .length = i * 4096 % 1000003,
					  .stack = (uint32_t)i);
	return kept;
}

static void body_stop(void)
{
	begin(1 << 20, 0);
	must(tfp_thread_start() != NULL, "a thread's state");
	uint64_t kept = fill(400000);
	const struct tfp_loss_slot *lost = &tfp_self->slot->losses[TFP_LOSS_output_limit];
	must(kept > 1000 && kept + lost->count == 400000, "kept and lost make all");
	must(disk_bytes() <= 1 << 20, "the limit holds");
}

static void body_wrap(void)
{
	begin(1 << 20, 1);
	must(tfp_thread_start() != NULL, "a thread's state");
	must(fill(400000) == 400000, "room for all while they are new");
	must(tfp_self->slot->losses[TFP_LOSS_wrapped].count > 1000, "the oldest are counted");
	must(tfp_self->slot->losses[TFP_LOSS_output_limit].count == 0, "none of the newest is lost");
	must(disk_bytes() <= 1 << 20, "the limit holds");
}

static void test_limits_of_size(void **state)
{
	(void)state;
	alone(body_stop);
	alone(body_wrap);
}

static void *leave_counts(void *nothing)
{
	must(tfp_thread_start() != NULL, "a thread's state");
	tfp_self->slot->heap[0].allocations += 3;
	return nothing;
}

/* Of all threads that had the slot. */
static int sum_slot(void *context, const struct tfp_thread_slot *slot)
{
	*(uint64_t *)context += slot->ended[slot->ended_through & 1].heap.allocations;
	if (slot->serial > slot->ended_through >> 1)
		*(uint64_t *)context += slot->heap[0].allocations;
	return 0;
}

/* 40 threads after the log is full: what becomes of their records is one thing, their counts must be there, each once. */
static void late_threads(int is_wrapping)
{
	struct diag_list diags;
	uint64_t sum = 0;

	begin(1 << 20, is_wrapping);
	must(tfp_thread_start() != NULL, "a thread's state");
	fill(400000);
	for (int i = 0; i < 40; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, leave_counts, NULL);
		pthread_join(thread, NULL);
	}
	struct log *log = reopen(&diags);
	log_slots(log, sum_slot, &sum);

	must(sum == 120, "counts of threads that found no room for their record");
	log_close(log);
}

static void body_late_threads(void)
{
	late_threads(0);
}

static void body_late_threads_wrapping(void)
{
	late_threads(1);
}

static void test_threads_that_begin_when_the_log_is_full(void **state)
{
	(void)state;
	alone(body_late_threads);
	alone(body_late_threads_wrapping);
}

/* Pages: a fork child finds private ones empty, unless asked to keep them. */
static void test_pages_in_a_fork_child(void **state)
{
	int status;
	char *page = tfp_pages_get(4096, 1);

	(void)state;
	assert_non_null(page);
	for (int is_kept = 0; is_kept < 2; is_kept++) {
		*page = 'x';
		tfp_pages_keep(is_kept);
		pid_t child = fork();
		if (!child)
			_exit(*page == (is_kept ? 'x' : 0) ? 0 : 1);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	tfp_pages_keep(0);
	tfp_pages_put(page, 4096);
}

static void test_system_calls_after_the_seal(void **state)
{
	(void)state;
	tfp_sys_seal(1);
	assert_null(tfp_pages_get(4096, 0));
	assert_true(tfp_sys_is_sealed());
	tfp_sys_seal(0);
	void *page = tfp_pages_get(4096, 0);
	assert_non_null(page);
	tfp_pages_put(page, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_of_record_comes_back),
		cmocka_unit_test(test_a_field_that_changes_once_comes_back),
		cmocka_unit_test(test_varints_of_every_length),
		cmocka_unit_test(test_facts_of_three_threads_and_one_that_was_never_finished),
		cmocka_unit_test(test_code_addresses_and_nodes_come_back),
		cmocka_unit_test(test_packed_nodes_come_back),
		cmocka_unit_test(test_limits_of_size),
		cmocka_unit_test(test_threads_that_begin_when_the_log_is_full),
		cmocka_unit_test(test_pages_in_a_fork_child),
		cmocka_unit_test(test_system_calls_after_the_seal),
	};

	if (!mkdtemp(folder))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
