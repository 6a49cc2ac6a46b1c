/* SPDX-License-Identifier: Apache-2.0 */
/* A run of one made log, for the unit tests of what a pass over it finds. Included by one file of a program. */
#ifndef TEST_UNIT_RUN_MADE_H
#define TEST_UNIT_RUN_MADE_H

#include "reducer/model/run.h"
#include "test/logmaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
	char path[64];
	struct diag_list diags;
	struct run *run;
} run_made;

/* The process of the log, scanned; takes over the maker. `test`: the program's name. */
static inline const struct process *run_made_of(struct maker *maker, const char *test)
{
	const char *paths[1] = {run_made.path};

	snprintf(run_made.path, sizeof run_made.path, "%s.%d.tfp", test, (int)getpid());
	assert_int_equal(maker_write(maker, run_made.path, maker->size), 0);
	maker_free(maker);
	run_made.run = run_open(paths, 1, &(struct run_options){0}, &run_made.diags);
	assert_non_null(run_made.run);
	assert_int_equal(run_scan(run_made.run, &(struct run_options){0}), 0);
	return &run_made.run->processes[0];
}

/* The teardown of a test that made one. */
static inline int run_made_forget(void **state)
{
	(void)state;
	unlink(run_made.path);
	run_close(run_made.run);
	diag_free(&run_made.diags);
	memset(&run_made, 0, sizeof run_made);
	return 0;
}

#endif
