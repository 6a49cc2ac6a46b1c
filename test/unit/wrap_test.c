/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of writer/wrap.c, with a ring that is full: what a log of some GiB comes to. */
#include "writer/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "writer/file.h"
#include "writer/stream.h"

#define GIB (UINT64_C(1) << 30)

static int is_ready(void)
{
	return tfp_state && tfp_state->phase == TFP_STATE_READY ? 0 : -1;
}
int (*const tfp_start_process)(void) = is_ready;

static char folder[] = "/tmp/wrap_test.XXXXXX";

static struct tfp_log *begin(void)
{
	struct tfp_file_header header = {.log_id = 0x1234, .pid = (uint32_t)getpid()};
	struct tfp_file_options options = {.directory = folder, .host = "host", .max_bytes = GIB, .is_wrapping = 1};

	tfp_clock_choose();
	header.clock_kind = tfp_clock_kind;
	tfp_clock_read(&header.origin);
	tfp_origin.ticks = header.origin.ticks;
	tfp_state = tfp_pages_get(sizeof *tfp_state, 1);
	assert_non_null(tfp_state);
	tfp_state->pid = (uint32_t)getpid();
	assert_int_equal(tfp_file_make(&options, &header), 0);
	return tfp_state->log;
}

/* As if a block of a page each had been written, one behind the other. */
static void remember(struct tfp_log *log, uint32_t count)
{
	while (count--) {
		uint64_t offset = log->live->file_end;
		log->live->file_end += log->page_bytes;
		tfp_wrap_remember(log, offset, log->page_bytes, 1);
	}
}

/* Both of two threads saw the ring's last place: the block whose place the second takes is given up, and the next in their turn. */
static void test_two_threads_at_the_last_place(void **state)
{
	struct tfp_log *log = begin();
	uint64_t page = log->page_bytes;

	(void)state;
	log->live->file_end = (log->live->file_end + page - 1) & ~(page - 1);
	remember(log, TFP_EVENT_BLOCKS);
	assert_int_equal(log->dropped_bytes, 0);
	remember(log, 1);
	assert_int_equal(log->dropped_bytes, page);
	assert_true(tfp_wrap_make_room(log, page));
	assert_int_equal(log->dropped_bytes, 2 * page);
	assert_int_equal(log->oldest, 2);
	remember(log, 1);
	assert_true(tfp_wrap_make_room(log, page));
	assert_int_equal(log->dropped_bytes, 3 * page);
	unlink(log->path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_threads_at_the_last_place),
	};

	if (!mkdtemp(folder))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
