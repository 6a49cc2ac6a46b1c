/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfprof run: the same as LD_PRELOAD by hand, with the settings checked and the end noted.
 *
 * Rule: the program must not be able to tell that we are there, except by its parent's pid. Whatever goes wrong with the
 * recording after the start is a line on stderr, never a change of the program's exit status.
 */
#include "launcher/child.h"
#include "launcher/command.h"
#include "launcher/environment.h"
#include "launcher/helper.h"
#include "launcher/logs.h"
#include "launcher/manual.h"
#include "launcher/options.h"
#include "launcher/program.h"
#include "launcher/say.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OPTION_OUT, OPTION_QUIET, OPTION_HELP };

static const struct command_option run_options[] = {
	[OPTION_OUT] = {'o', "output", "DIR", "the same as --out=DIR"},
	[OPTION_QUIET] = {'q', "quiet", NULL, "no closing line"},
	[OPTION_HELP] = {'h', "help", NULL, "this page"},
	{0, NULL, NULL, NULL},
};

struct run {
	struct tfp_settings settings;
	uint8_t job_id[16];
	int is_quiet, wants_help;
	char **program;
	struct child_end end;
	struct memory_watch memory;
};

static void take(int option, const char *argument, void *context)
{
	struct run *run = context;
	struct tfp_setting_problem problem;

	if (option == OPTION_QUIET)
		run->is_quiet = 1;
	if (option == OPTION_HELP)
		run->wants_help = 1;
	if (option == OPTION_OUT && !strcmp(argument, "--"))
		say_die("-o needs a directory before --: -o DIR -- PROGRAM");
	if (option == OPTION_OUT &&
	    tfp_settings_apply(&run->settings, tfp_setting_row(TFP_SETTING_OUT)->name, argument, &problem))
		say_die("-o %s: %s", argument, problem.remedy);
}

/* "in DIR", shorter where DIR is below the current directory. */
static const char *shown(const char *directory)
{
	char here[PATH_MAX];
	size_t length;

	if (!getcwd(here, sizeof here))
		return directory;
	length = strlen(here);
	return !strncmp(directory, here, length) && directory[length] == '/' ? directory + length + 1 : directory;
}

/* Whether a process kept no log since then, for the limit of all logs of the directory. */
static int was_refused(const char *directory, int64_t since_s)
{
	struct tfp_total total = {.refused = 0};
	char *path = say_text("%s/%s", directory, TFP_TOTAL_NAME);
	FILE *file = fopen(path, "re");
	int is_refused = file && fread(&total, sizeof total, 1, file) == 1 && total.refused_ns / 1000000000 >= (uint64_t)since_s;

	if (file)
		fclose(file);
	free(path);
	return is_refused;
}

static void explain_no_log(const struct run *run, unsigned others, int64_t started_s)
{
	struct program program;
	const char *reason;

	program_examine(run->program[0], &run->settings, &program);
	reason = program_reason(program.obstacle);
	if (program.obstacle == PROGRAM_PASSED_OVER && others)
		return; /* a shell or the like around what was meant */
	if (program.interpreter[0] && *reason)
		say_line("no log of %s, a script for %s: %s", run->program[0], program.interpreter, reason);
	else if (*reason)
		say_line("no log of %s: %s", run->program[0], reason);
	else if (run->settings.heap.mode == TFP_MODE_PASS)
		say_line("no log of %s: --malloc=off and nothing else to record", run->program[0]);
	else if (was_refused(run->settings.out, started_s))
		say_line("no log of %s: the logs in %s have reached --max-total-bytes; remove some, raise it, or --full=wrap",
			 run->program[0], shown(run->settings.out));
	else if (!others)
		say_line("no log of %s: it called no recorded function, or could not write to %s as its user; "
			 "`tfprof doctor %s` looks closer", run->program[0], shown(run->settings.out), run->program[0]);
}

static void print_closing(const struct run *run, const struct logs *logs)
{
	char *reducer = environment_find("tfprof-reduce", "bin");
	char *command = say_word(reducer ? shown(reducer) : "tfprof-reduce"), *folder = say_word(shown(run->settings.out));

	say_line("%u log%s (%.1f MB) in %s; next: %s %s", logs->count, logs->count == 1 ? "" : "s",
		 (double)logs->disk_bytes / 1e6, folder, command, folder);
	free(folder);
	free(command);
	free(reducer);
}

/* After the program's end: note how it ended, tell what there is. */
static void close_run(const struct run *run, int64_t started_s)
{
	struct logs logs = logs_find(run->settings.out, run->job_id, started_s, run->end.pid, run->end.start);
	const char *path = logs.program ? logs.program : logs.first;
	struct logs_end end = {run->end.pid, run->end.wait_status, memory_since(&run->memory)};

	if (path && logs_append_end(path, &end, logs.program != NULL))
		say_line("the exit status could not be noted in %s: %s", shown(path), strerror(errno));
	if (!run->is_quiet && !logs.program)
		explain_no_log(run, logs.count, started_s);
	if (!run->is_quiet && logs.count)
		print_closing(run, &logs);
	logs_free(&logs);
}

/* Settings that are good and yet record nothing together. */
static void warn_window(const struct tfp_settings *settings)
{
	uint32_t i;

	for (i = 0; i < settings->window.count; i++)
		if (settings->window.entries[i].unit == TFP_WINDOW_LAUNCH && settings->cuda == TFP_CUDA_OFF)
			say_line("with CUDA=off no launch is seen, so a window launch:FROM-TO never opens");
}

static void warn_full(const struct tfp_settings *settings)
{
	if (settings->full == TFP_FULL_WRAP && !settings->max_bytes && !settings->max_total_bytes)
		say_line("--full=wrap without --max-bytes or --max-total-bytes: there is no limit, so no old events are given up and "
			 "the log grows");
}

static void prepare(struct run *run, int argc, char **argv)
{
	int complaints, first;

	tfp_settings_default(&run->settings);
	complaints = options_environment(&run->settings);
	first = options_parse(&command_run, argc, argv, &run->settings, take, run);
	if (run->wants_help)
		return;
	if (complaints)
		say_die("nothing was started; mend or unset the variables above");
	if (first >= argc)
		say_die("no program to run; usage: tfprof run %s", command_run.usage);
	run->program = argv + first;
	warn_window(&run->settings);
	warn_full(&run->settings);
	environment_prepare(&run->settings, run->job_id);
}

/* Why a program that lies there does not start, where it is a newcomer's mistake; "" = the system's word says it all. */
static const char *start_hint(const char *name, int reason)
{
	struct stat facts;

	if (stat(name, &facts))
		return "";
	if (S_ISDIR(facts.st_mode))
		return "; it is a directory";
	if (reason == ENOENT)
		return strchr(name, '/') ? "; what reads it (the first line of a script, the loader of a program) is missing"
					 : "; a name without a slash is looked up in PATH; write ./ before it";
	return reason == EACCES ? "; it is not executable; name first what reads it, as in: tfprof run -- python3 train.py" : "";
}

static int run_main(int argc, char **argv)
{
	struct run *run = calloc(1, sizeof *run);
	struct timespec started;
	struct helper helper;

	if (!run)
		say_die("out of memory");
	child_ignore_writes();
	prepare(run, argc, argv);
	if (run->wants_help) {
		manual_command(manual_style("text"), &command_run);
		return 0;
	}
	clock_gettime(CLOCK_REALTIME_COARSE, &started); /* the clock of file times */
	run->memory = memory_begin();
	helper = helper_start(&run->settings, run->job_id);
	run->end = child_run(run->program);
	helper_finish(&helper);
	if (run->end.exec_errno) {
		say_line("cannot run %s: %s%s", run->program[0], strerror(run->end.exec_errno),
			 start_hint(run->program[0], run->end.exec_errno));
		return WEXITSTATUS(run->end.wait_status);
	}
	close_run(run, started.tv_sec);
	child_exit_like(run->end.wait_status);
}

const struct command command_run = {
	.name = "run",
	.run = run_main,
	.usage = "[--SETTING=VALUE ...] [-o DIR] [-q] [--] PROGRAM [ARGUMENT ...]",
	.help = "run a program with the library preloaded",
	.options = run_options,
	.takes_settings = 1,
	.more = "The program runs as it would without tfprof: same process group, same output, same exit status; where a signal "
		"ended it, tfprof ends by that signal too. 125 is a failure of tfprof itself (nothing was started), 126 a "
		"program that cannot be executed, 127 one that is not found.\n\n"
		"Settings may also stand in the environment as TFPROF_NAME=VALUE; an option wins. Unknown names and bad values "
		"are refused before anything starts. Children of the program are recorded too, each in a log of its own.\n\n"
		"When the program has ended, its raw wait status is added to its log (to the first log of its children where it "
		"has none), with the processes that the kernel killed for want of memory meanwhile, and one line on stderr says "
		"where the logs are and how to read them, or why there are none.",
};
