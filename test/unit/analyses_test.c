/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of the analyses in reducer/tables: a run made by hand goes in, cells come out.
 *
 * Rule: the model is not under test; every number that is expected stands in the test that expects it.
 */
#include "reducer/tables/losses.h"
#include "reducer/tables/python_looks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct setting sampled[] = {{"MALLOC", "sample:512k", 1}, {"WINDOW", "all", 1}};
static struct setting off[] = {{"MALLOC", "off", 0}, {"WINDOW", "all", 1}};
static struct setting_error refused[] = {{"MALOC", "full", "did you mean TFPROF_MALLOC?"}};
static struct thread threads[] = {
	{.serial = 1, .tid = 100, .name = "main", .allocations = 10, .frees = 4, .requested_bytes = 1000, .allocated_bytes = 1100,
	 .freed_bytes = 300, .maps = 1, .mapped_bytes = 4096},
	{.serial = 2, .tid = 101, .name = "worker", .allocations = 1, .frees = 2, .requested_bytes = 10, .allocated_bytes = 24,
	 .freed_bytes = 500},
};
static struct loss losses[] = {
	{.thread = 2, .kind = 1, .name = "output_write", .help = "help", .remedy = "remedy", .count = 7, .first_ns = 5, .last_ns = 9},
	{.thread = 1, .kind = 10, .name = "stack_cut", .help = "help", .remedy = "none", .count = 3, .first_ns = 1, .last_ns = 2},
};
static struct timeline_point points[] = {
	{.time_ns = 0, .max_time_ns = 10, .live = 50, .max = 100},
	{.time_ns = 20, .max_time_ns = 30, .live = 200, .max = 900},
};
static struct heap_site sites[] = {{.stack = 0, .allocations = 11, .requested_bytes = 1010, .bytes = 1124, .live_blocks = 5,
				    .live_bytes = 324, .peak_blocks = 6, .peak_bytes = 900, .temporary = 2}};
static struct heap_error errors[] = {{.allocations = 2, .bytes = 30, .live_bytes = 40, .peak_bytes = 50}};
static struct heap_histogram histogram;
static struct log log_of_all;

struct fixture {
	struct diag_list diags;
	struct process processes[2];
	struct run run;
	struct request request;
};

static struct process exact_process(uint32_t pid)
{
	return (struct process){
		.log = &log_of_all, .path = "a.tfp", .pid = pid, .called = "one", .parent_pid = 1, .command = "train", .end_ns = 40,
		.end = END_EXIT,
		.settings = sampled, .setting_count = 2, .threads = threads, .thread_count = 2,
		.heap = {.allocator = "heap", .kind = ACCOUNT_EVENTS, .allocations = 11, .frees = 6, .requested_bytes = 1010,
			 .allocated_bytes = 1124, .freed_bytes = 800, .live_bytes = 324, .peak_bytes = 900, .peak_time_ns = 30,
			 .requested_peak_bytes = 850, .requested_peak_time_ns = 29, .event_allocations = 11, .event_frees = 6,
			 .event_requested_bytes = 1010, .event_allocated_bytes = 1124, .timeline = {points, 2}, .sites = sites,
			 .site_count = 1, .histogram = &histogram},
		.mmap = {.allocator = "mmap", .kind = ACCOUNT_NONE, .allocations = 1, .allocated_bytes = 4096, .live_bytes = 4096},
	};
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->processes[0] = exact_process(100);
	fixture->processes[1] = exact_process(200);
	fixture->run = (struct run){.name = "0123456789abcdef", .processes = fixture->processes, .process_count = 2,
				    .diags = &fixture->diags, .is_scanned = 1};
	fixture->request = (struct request){.run = &fixture->run, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .top = SIZE_MAX,
					    .points = 1000};
	fixture->request.frames = frames_make(&fixture->run, &(struct symbols_options){0});
	fixture->run.process_count = 1; /* most tests want one */
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	frames_free(fixture->request.frames);
	diag_free(&fixture->diags);
	free(fixture);
	return 0;
}

/* The cell as text: "-" when unknown. */
static const char *cell(const struct table *table, size_t row, const char *id)
{
	static char shown[4][256];
	static unsigned next;
	size_t column = table_find_column(table->kind, id), length;
	char *out = shown[next++ % 4];

	assert_int_not_equal(column, SIZE_MAX);
	assert_true(row < table->shown_count);
	if (!table_is_known(table, row, column))
		return "-";
	if (table->kind->columns[column].type == TABLE_TEXT) {
		const char *bytes = table_get_text(table, row, column, &length);
		snprintf(out, sizeof(shown[0]), "%.*s", (int)length, bytes);
	} else {
		snprintf(out, sizeof(shown[0]), "%lld", (long long)table_get_integer(table, row, column));
	}
	return out;
}

static void assert_cells(const struct table *table, size_t row, const char *const *wanted)
{
	for (; wanted[0]; wanted += 2)
		assert_string_equal(cell(table, row, wanted[0]), wanted[1]);
}
#define CELLS(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool has_note(const struct table *table, enum note_kind kind, const char *part)
{
	for (size_t i = 0; i < table->note_count; i++)
		if (table->notes[i].kind == kind && strstr(table->notes[i].text, part))
			return true;
	return false;
}

static void test_summary_of_one_process(void **state)
{
	struct fixture *fixture = *state;
	struct table *table = tables_make(&table_memory_summary, &fixture->request);

	assert_int_equal(table->shown_count, 7);
	assert_cells(table, 0, CELLS("scope", "job", "id", "0123456789abcdef", "allocator", "heap", "allocations", "11", "frees", "6",
				     "requested_bytes", "1010", "allocated_bytes", "1124", "freed_bytes", "800", "live_bytes", "324",
				     "peak_bytes", "900", "peak_time_ns", "30", "requested_peak_bytes", "850", "peak_kind", "exact"));
	assert_cells(table, 1, CELLS("scope", "job", "allocator", "mmap", "allocations", "1", "peak_bytes", "-", "peak_time_ns", "-"));
	assert_cells(table, 2, CELLS("scope", "process", "id", "100", "name", "train", "process", "100"));
	assert_cells(table, 4, CELLS("scope", "thread", "id", "100", "allocator", "heap", "live_bytes", "800", "peak_bytes", "-"));
	assert_cells(table, 5, CELLS("scope", "thread", "id", "100", "allocator", "mmap", "allocated_bytes", "4096"));
	assert_cells(table, 6, CELLS("scope", "thread", "id", "101", "allocator", "heap", "live_bytes", "-476", "name", "worker"));
	table_free(table);
}

static void test_summary_filters(void **state)
{
	struct fixture *fixture = *state;
	struct table *table;

	fixture->request.thread = "worker";
	table = tables_make(&table_memory_summary, &fixture->request);
	assert_int_equal(table->shown_count, 1);
	assert_cells(table, 0, CELLS("id", "101"));
	table_free(table);
	fixture->request.thread = NULL;
	fixture->request.allocator = "mmap";
	table = tables_make(&table_memory_summary, &fixture->request);
	assert_int_equal(table->shown_count, 3);
	table_free(table);
	fixture->request.process = "999";
	fixture->request.allocator = NULL;
	table = tables_make(&table_memory_summary, &fixture->request);
	assert_cells(table, 0, CELLS("scope", "job", "allocations", "-", "live_bytes", "-"));
	table_free(table);
}

static void test_summary_adds_processes(void **state)
{
	struct fixture *fixture = *state;
	struct table *table;

	fixture->run.process_count = 2;
	table = tables_make(&table_memory_summary, &fixture->request);
	assert_cells(table, 0, CELLS("allocations", "22", "live_bytes", "648", "peak_bytes", "1800", "peak_time_ns", "30", "peak_kind",
				     "bound"));
	table_free(table);
}

/* What is switched off is unknown, not 0. */
static void test_off_is_empty(void **state)
{
	struct fixture *fixture = *state;
	struct table *table;

	fixture->processes[0].settings = off;
	table = tables_make(&table_memory_summary, &fixture->request);
	assert_cells(table, 0, CELLS("scope", "job", "allocations", "-", "live_bytes", "-", "peak_bytes", "-"));
	assert_true(has_note(table, NOTE_MISSING, "TFPROF_MALLOC=off"));
	table_free(table);
	fixture->processes[0].settings = sampled;
	fixture->processes[0].has_static_allocator = fixture->processes[0].is_heap_unseen = 1;
	table = tables_make(&table_memory_summary, &fixture->request);
	assert_cells(table, 0, CELLS("allocator", "heap", "allocations", "-"));
	assert_cells(table, 1, CELLS("allocator", "mmap", "allocations", "1"));
	assert_true(has_note(table, NOTE_MISSING, "brings its own allocator"));
	table_free(table);
}

static void test_summary_tells_a_difference(void **state)
{
	struct fixture *fixture = *state;
	struct window_range all = {INT64_MIN, INT64_MAX};
	struct table *table;

	fixture->processes[0].heap.event_allocations = 1; /* of 11: more than calls in flight explain */
	fixture->processes[0].ranges = &all;
	fixture->processes[0].range_count = 1;
	table = tables_make(&table_memory_summary, &fixture->request);
	assert_true(has_note(table, NOTE_INFERRED, "the events say 1 allocations"));
	table_free(table);
	fixture->processes[0].range_count = 0; /* no window was ever open */
	table = tables_make(&table_memory_summary, &fixture->request);
	assert_false(has_note(table, NOTE_INFERRED, "the events say 1 allocations"));
	table_free(table);
}

static void test_timeline_keeps_peak(void **state)
{
	struct fixture *fixture = *state;
	struct table *table = tables_make(&table_memory_timeline, &fixture->request);

	assert_int_equal(table->shown_count, 4);
	assert_cells(table, 0, CELLS("time_ns", "10", "allocator", "heap", "live_bytes", "100", "reserved_bytes", "-",
				     "fragmentation", "-"));
	assert_cells(table, 1, CELLS("time_ns", "19", "live_bytes", "50"));
	assert_cells(table, 2, CELLS("time_ns", "30", "live_bytes", "900"));
	assert_cells(table, 3, CELLS("time_ns", "40", "live_bytes", "200"));
	table_free(table);
	fixture->request.from_ns = 15;
	fixture->request.to_ns = 35;
	table = tables_make(&table_memory_timeline, &fixture->request);
	assert_int_equal(table->shown_count, 2);
	table_free(table);
}

static void test_sites_add_processes(void **state)
{
	struct fixture *fixture = *state;
	struct table *table;

	fixture->run.process_count = 2;
	table = tables_make(&table_memory_sites, &fixture->request);
	assert_int_equal(table->shown_count, 1);
	assert_cells(table, 0, CELLS("peak_bytes", "1800", "leaked_bytes", "648", "total_bytes", "2248", "allocations", "22", "temporary",
				     "4", "processes", "2", "process", "-", "kind", "exact", "peak_error_bytes", "-", "function",
				     "[no stack recorded]"));
	assert_true(has_note(table, NOTE_INFERRED, "The sum of 2 processes"));
	table_free(table);
}

static void test_sampled_sites_have_errors(void **state)
{
	struct fixture *fixture = *state;
	struct table *table;

	fixture->processes[0].heap.kind = ACCOUNT_SAMPLED;
	fixture->processes[0].heap.errors = errors;
	fixture->processes[0].heap.sample_interval = 524288;
	table = tables_make(&table_memory_sites, &fixture->request);
	assert_cells(table, 0, CELLS("kind", "estimated", "peak_error_bytes", "50", "leaked_error_bytes", "40", "total_error_bytes", "30",
				     "allocations_error", "2", "temporary", "-"));
	assert_true(has_note(table, NOTE_INFERRED, "each 512 KiB;"));
	table_free(table);
}

static void test_histogram(void **state)
{
	struct fixture *fixture = *state;
	struct table *table;

	memset(&histogram, 0, sizeof(histogram));
	histogram.blocks[5][2] = 7;
	histogram.bytes[5][2] = 200;
	histogram.blocks[0][HEAP_LIFE_CLASSES - 1] = 1;
	table = tables_make(&table_memory_histogram, &fixture->request);
	assert_int_equal(table->shown_count, 2);
	assert_cells(table, 0, CELLS("size_from_bytes", "0", "size_to_bytes", "1", "life_from_ns", "-", "life_to_ns", "-", "blocks", "1"));
	assert_cells(table, 1, CELLS("size_from_bytes", "17", "size_to_bytes", "32", "life_from_ns", "10000", "life_to_ns", "100000",
				     "blocks", "7", "requested_bytes", "200"));
	assert_false(has_note(table, NOTE_MISSING, "TFPROF_MALLOC=full"));
	table_free(table);
	enum account_kind before = fixture->processes[0].heap.kind;
	fixture->processes[0].heap.kind = ACCOUNT_SAMPLED;
	table = tables_make(&table_memory_histogram, &fixture->request);
	assert_true(has_note(table, NOTE_MISSING, "TFPROF_MALLOC=full"));
	table_free(table);
	fixture->processes[0].heap.kind = before;
}

static void test_losses(void **state)
{
	struct fixture *fixture = *state;
	struct table *table = tables_make(&table_losses, &fixture->request);

	assert_int_equal(table->shown_count, 0);
	assert_true(has_note(table, NOTE_INFO, "Nothing was lost"));
	assert_false(losses_any(&fixture->run));
	table_free(table);
	fixture->processes[0].losses = &losses[1];
	fixture->processes[0].loss_count = 1;
	assert_false(losses_any(&fixture->run)); /* a stack that ends early costs no record, */
	struct loss uncounted = {.kind = 27, .name = "code_skipped", .count = 1};
	fixture->processes[0].losses = &uncounted;
	assert_false(losses_any(&fixture->run)); /* nor does code whose instructions nobody counted: names of kernels stand in */
	fixture->processes[0].losses = losses;
	fixture->processes[0].loss_count = 2;
	assert_true(losses_any(&fixture->run));
	diag_add(&fixture->diags, DIAG_DAMAGE, "b.tfp", 4096, "copy it again", "a block is damaged");
	table = tables_make(&table_losses, &fixture->request);
	assert_int_equal(table->shown_count, 3);
	assert_cells(table, 0, CELLS("process", "-", "kind", "damaged_log", "severity", "lost", "meaning",
				     "b.tfp at 4096: a block is damaged", "remedy", "copy it again"));
	assert_cells(table, 1, CELLS("process", "100", "thread", "101", "kind", "output_write", "count", "7", "first_ns", "5",
				     "last_ns", "9",
				     "severity", "lost"));
	assert_cells(table, 2, CELLS("kind", "stack_cut", "severity", "degraded"));
	table_free(table);
}

static void test_windows(void **state)
{
	static struct window edges[] = {
		{.time_ns = 5, .is_open = 1, .cause = 1, .live_bytes = 100},
		{.time_ns = 8, .is_open = 0, .cause = 2, .live_bytes = 90},
		{.time_ns = 20, .is_open = 1, .cause = 3, .live_bytes = 80},
	};
	struct fixture *fixture = *state;
	struct table *table = tables_make(&table_windows, &fixture->request);

	assert_int_equal(table->shown_count, 0);
	table_free(table);
	fixture->processes[0].windows = edges;
	fixture->processes[0].window_count = 3;
	table = tables_make(&table_windows, &fixture->request);
	assert_int_equal(table->shown_count, 2);
	assert_cells(table, 0, CELLS("process", "100", "opened_ns", "5", "closed_ns", "8", "length_ns", "3", "opened_by", "time",
				     "closed_by", "signal", "live_opened_bytes", "100", "live_closed_bytes", "90"));
	assert_cells(table, 1, CELLS("opened_ns", "20", "closed_ns", "-", "length_ns", "-", "opened_by", "C API", "closed_by", "-"));
	table_free(table);
	fixture->request.to_ns = 10;
	table = tables_make(&table_windows, &fixture->request);
	assert_int_equal(table->shown_count, 1);
	table_free(table);
}

static void test_settings(void **state)
{
	struct fixture *fixture = *state;
	struct table *table;

	fixture->run.process_count = 2;
	fixture->processes[0].setting_errors = refused;
	fixture->processes[0].setting_error_count = 1;
	fixture->processes[1].settings = off;
	table = tables_make(&table_settings, &fixture->request);
	assert_cells(table, 0, CELLS("process", "100", "name", "MALOC", "source", "refused", "problem", "did you mean TFPROF_MALLOC?"));
	assert_cells(table, 1, CELLS("process", "100", "name", "MALLOC", "value", "sample:512k", "source", "default"));
	assert_cells(table, 2, CELLS("process", "-", "name", "WINDOW", "value", "all"));
	assert_cells(table, 3, CELLS("process", "200", "name", "MALLOC", "value", "off", "source", "environment"));
	assert_int_equal(table->shown_count, 4);
	table_free(table);
}

/* A filter that a table has no use for must not look as if it had worked. */
static void test_unused_filter_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct table *table;

	fixture->request.from_ns = 1;
	table = tables_make(&table_memory_sites, &fixture->request);
	assert_true(has_note(table, NOTE_INFO, "--window was given"));
	table_free(table);
}

static void test_names_select(void **state)
{
	const struct table_kind **kinds;

	(void)state;
	size_t count = tables_select("memory", &kinds);
	assert_in_range(count, 4, table_kind_count - 1);
	assert_string_equal(kinds[0]->id, "memory.summary");
	for (size_t i = 0; i < count; i++)
		assert_memory_equal(kinds[i]->id, "memory.", strlen("memory."));
	free(kinds);
	assert_int_equal(tables_select("losses,memory.sites,losses", &kinds), 2);
	assert_string_equal(kinds[0]->id, "losses");
	free(kinds);
	assert_int_equal(tables_select("all,comparison", &kinds), table_kind_count);
	free(kinds);
}

static void test_what_passes_memory_on(void **state)
{
	static const char *const yes[] = {"malloc", "operator new[]", "std::vector<int>::push_back", "PyMem_RawMalloc", "mmap",
					  "alloc::raw_vec::finish_grow", "g_malloc0", "cudaMalloc<float>"};
	static const char *const no[] = {"main", "malloc_my_pool", "mmap_reader_open", "PyMemory", "", "operator", "stdio_open"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(frames_is_allocator(&(const struct symbol_frame){.function = yes[i], .module = ""}));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(frames_is_allocator(&(const struct symbol_frame){.function = no[i], .module = "libcudarts.so"}));
	assert_true(frames_is_allocator(&(const struct symbol_frame){.function = "f", .module = "libcupti.so.13"}));
}

/* Whatever a log calls its threads: the last number, one that no thread of it has. */
static void test_looks_by_any_thread(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = &fixture->processes[0];
	struct thread odd[] = {{.serial = 1, .tid = 100}, {.serial = UINT32_MAX, .tid = 101}};
	struct python_look looks[] = {{.time_ns = 10, .wall_ns = 7, .cpu_ns = 5, .thread = 1, .count = 1},
				      {.time_ns = 11, .wall_ns = 8, .cpu_ns = 6, .thread = UINT32_MAX, .count = 1},
				      {.time_ns = 12, .wall_ns = 9, .cpu_ns = 4, .thread = 3, .count = 1}};
	struct python_looks found = {0};

	process->threads = odd;
	process->thread_count = 2;
	process->python.looks = looks;
	process->python.look_count = 3;
	python_looks_stacks(&found, &fixture->request, NULL, NULL);
	assert_int_equal(found.all.looks, 1);
	assert_int_equal(found.all.time_ns, 7);
	assert_int_equal(found.all.cpu_ns, 15);
	assert_int_equal(found.threads, 1);
}

/* A function that was looked at in each step, and twice between them, was seen there twice. */
static void test_looks_between_steps(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = &fixture->processes[0];
	struct thread thread[] = {{.serial = 1, .tid = 100}};
	struct step steps[] = {{.time_ns = 0, .rest_ns = 5, .end_ns = 5, .number = 1, .thread = 1, .is_chosen = 1, .confidence = 1},
			       {.time_ns = 20, .rest_ns = 25, .end_ns = 25, .number = 2, .thread = 1, .is_chosen = 1, .confidence = 1},
			       {.time_ns = 40, .end_ns = 60, .number = 3, .thread = 1, .is_chosen = 1, .confidence = 1}};
	struct python_look looks[] = {{.time_ns = 2, .wall_ns = 5, .thread = 1, .count = 1},
				      {.time_ns = 4, .wall_ns = 5, .thread = 1, .count = 1},
				      {.time_ns = 10, .wall_ns = 7, .thread = 1, .count = 1},
				      {.time_ns = 22, .wall_ns = 5, .thread = 1, .count = 1},
				      {.time_ns = 30, .wall_ns = 9, .thread = 1, .count = 1},
				      {.time_ns = 42, .wall_ns = 5, .thread = 1, .count = 1}};
	struct python_looks found = {0};

	process->threads = thread;
	process->thread_count = 1;
	process->steps = steps;
	process->step_count = 3;
	process->python.looks = looks;
	process->python.look_count = 6;
	python_looks_stacks(&found, &fixture->request, NULL, NULL);
	assert_int_equal(found.all.looks, 6);
	assert_int_equal(found.all.between_looks, 2);
	assert_int_equal(found.all.between_ns, 16);
}

/* Three looks, of which one stands for nearly all of the time, are worth little more than one: 0.3 / sqrt(1.23), not / sqrt(3). */
static void test_looks_that_stand_for_much(void **state)
{
	struct fixture *fixture = *state;
	struct python_look looks[] = {{.time_ns = 10, .wall_ns = 900, .thread = 1, .count = 18},
				      {.time_ns = 11, .wall_ns = 50, .thread = 1, .count = 1},
				      {.time_ns = 12, .wall_ns = 50, .thread = 1, .count = 1}};

	fixture->processes[0].python.looks = looks;
	fixture->processes[0].python.look_count = 3;
	struct table *table = tables_make(&table_python_time, &fixture->request);
	assert_true(has_note(table, NOTE_INFERRED, "Estimates, from 3 looks at 1 thread: a share of 10 % is known to about 27 points"));
	assert_true(has_note(table, NOTE_INFO, "Of many looks one in up to 18 was kept"));
	table_free(table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Twenty-two looks of a hundred may fall into a part of 19 %: no line has more of it than there is. */
static void looks_say_no_more_than_was_measured(void **state)
{
	(void)state;
	assert_true(fabs(python_looks_bounded(22, 22, 19) - 19) < 1e-9);
	assert_true(fabs(python_looks_bounded(11, 22, 19) - 9.5) < 1e-9);
	assert_true(fabs(python_looks_bounded(15, 18, 19) - 15) < 1e-9);
	assert_true(fabs(python_looks_bounded(0, 0, 0)) < 1e-9);
}

/* What torch.compile writes was taken for the program's own: each named by its hash, in a folder of two letters of that. */
static void files_that_nobody_wrote_are_libraries(void **state)
{
	(void)state;
	assert_true(frames_is_library("/tmp/torchinductor_me/a6/ca6fa3yh3idzkowdee4ixh357q7idgwkwshlljabcdefghijklmn.py"));
	assert_false(frames_is_library("/tmp/mine/a7/ca6fa3yh3idzkowdee4ixh357q7idgwkwshlljabcdefghijklmn.py"));
	assert_false(frames_is_library("/home/me/al/calls_made_while_the_training_goes_on_and_on_and_on_1.py"));
	assert_false(frames_is_library("ca6fa3yh3idzkowdee4ixh357q7idgwkwshlljabcdefghijklmn.py"));
	assert_true(frames_is_library("/usr/lib/python3.13/threading.py"));
	assert_false(frames_is_library("/home/me/train.py"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_nobody_wrote_are_libraries),
		cmocka_unit_test(looks_say_no_more_than_was_measured),
		TEST(test_summary_of_one_process),
		TEST(test_summary_filters),
		TEST(test_summary_adds_processes),
		TEST(test_off_is_empty),
		TEST(test_summary_tells_a_difference),
		TEST(test_timeline_keeps_peak),
		TEST(test_sites_add_processes),
		TEST(test_sampled_sites_have_errors),
		TEST(test_histogram),
		TEST(test_losses),
		TEST(test_settings),
		TEST(test_windows),
		TEST(test_unused_filter_is_told),
		TEST(test_names_select),
		TEST(test_what_passes_memory_on),
		TEST(test_looks_by_any_thread),
		TEST(test_looks_between_steps),
		TEST(test_looks_that_stand_for_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
