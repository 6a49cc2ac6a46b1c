/* SPDX-License-Identifier: Apache-2.0 */
/* Unit test of what runs are called before they are scanned: after their main process, and of an interpreter after its script. */
#include "reducer/model/program.h"
#include "reducer/model/run.h"
#include "test/logmaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define LOGS 6

static char folder[64];
static char paths[LOGS][96];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "program_test.%d", (int)getpid());
	return mkdir(folder, 0700);
}

static int remove_folder(void **state)
{
	(void)state;
	for (size_t i = 0; i < LOGS; i++)
		unlink(paths[i]);
	return rmdir(folder);
}

/* A process that lasted `seconds`, of job `job`, with that command and those words behind it. */
static void write_log(size_t number, uint8_t job, uint64_t second, uint64_t seconds, const char *const *words)
{
	struct maker maker;

	maker_begin(&maker);
	maker.header.pid = (uint32_t)number + 10;
	maker.header.process_start = number + 10;
	maker.header.log_id = number + 1;
	memset(maker.header.job_id, job, sizeof maker.header.job_id);
	maker.header.origin.realtime_ns += second * SECOND;
	memset(maker.header.command, 0, sizeof maker.header.command);
	memcpy(maker.header.command, words[0], strlen(words[0]));
	maker.live.end_kind = TFP_END_EXIT;
	maker.live.end_time = seconds * SECOND;
	maker_schema(&maker, "");
	for (size_t i = 0; words[i] != NULL; i++)
		maker_fact(&maker, TFP_TAG_argument, (const char *const[]){"#0", words[i], NULL});
	maker_finish(&maker);
	snprintf(paths[number], sizeof paths[number], "%s/%zu.tfp", folder, number);
	assert_int_equal(maker_write(&maker, paths[number], maker.size), 0);
	maker_free(&maker);
}

/* What a directory listed was the first process of each run, a helper that lasted for a moment. */
static void runs_are_called_after_their_main_process(void **state)
{
	const char *const path = folder;
	struct diag_list diags = {0};
	struct run *run;

	(void)state;
	write_log(0, 1, 0, 1, (const char *const[]){"prepare", NULL});
	write_log(1, 1, 2, 9, (const char *const[]){"python3.11", "-u", "/a/train.py", "7", NULL});
	write_log(2, 2, 20, 6, (const char *const[]){"serve", "x.py", NULL});
	write_log(3, 2, 21, 9, (const char *const[]){"python3.11", "b.py", NULL}); /* the one before lasted half as long */
	write_log(4, 3, 40, 1, (const char *const[]){"prepare", NULL});
	write_log(5, 3, 42, 9, (const char *const[]){"perl", "-e", "print 1", NULL});
	run = run_open(&path, 1, NULL, &diags);
	assert_non_null(run);
	assert_string_equal(run->program, "perl -e");
	assert_int_equal(run->other_count, 2);
	assert_string_equal(run->others[0].program, "serve");
	assert_string_equal(run->others[1].program, "python3.11 train.py");
	run_close(run);
	diag_free(&diags);
}

static void check_name(const char *name, const char *const *words)
{
	struct diag_list diags = {0};
	struct pool pool = {0};
	struct log *log;

	write_log(0, 1, 0, 1, words);
	log = log_open(paths[0], &diags);
	assert_non_null(log);
	assert_string_equal(program_name(&pool, log), name);
	log_close(log);
	pool_free(&pool);
	diag_free(&diags);
}

static void scripts_are_told_apart_and_their_arguments_are_not(void **state)
{
	(void)state;
	check_name("python3 train.py", (const char *const[]){"python3", "old/train.py", "--lr", "1", NULL});
	check_name("python3 train.py", (const char *const[]){"python3", "-X", "utf8", "-W", "error", "-OO", "train.py", NULL});
	check_name("python3 -m pkg.main", (const char *const[]){"python3", "-u", "-m", "pkg.main", "train.py", NULL});
	check_name("python3 -c", (const char *const[]){"python3", "-c", "import this", NULL});
	check_name("python3", (const char *const[]){"python3", NULL});
	check_name("python3", (const char *const[]){"python3", "-i", NULL});
	check_name("python3 a/dir/", (const char *const[]){"python3", "a/dir/", NULL});
	check_name("bench", (const char *const[]){"bench", "100", NULL});
	check_name("pytest", (const char *const[]){"pytest", "-k", "one", NULL});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_called_after_their_main_process),
		cmocka_unit_test(scripts_are_told_apart_and_their_arguments_are_not),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
