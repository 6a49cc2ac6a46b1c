/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfprof doctor: what works here, what will be lost, what helps.
 *
 * Rule: a finding is something that was tried or read just now, never a guess from a version number; each check is one
 * function and one row here.
 */
#include "launcher/doctor.h"

#include "launcher/command.h"
#include "launcher/doctor_cuda.h"
#include "launcher/manual.h"
#include "launcher/options.h"
#include "launcher/program.h"
#include "launcher/say.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static doctor_check *const checks[] = {
	doctor_library, doctor_settings, doctor_output,	   doctor_trial, doctor_clock,	    doctor_libc,
	doctor_memory,	doctor_limits,	 doctor_container, doctor_native, doctor_gpu,	 doctor_frameworks, doctor_program,
};

enum { OPTION_KERNEL = 0, OPTION_PYTHON = 1, OPTION_HELP = 2, OPTION_NONE = 3 };

static const struct command_option doctor_options[] = {
	{'k', "kernel", NULL, "run one kernel on the first GPU and nothing else: what the trial of the GPU does"},
	{'p', "python", "PATH", "the Python whose frameworks are tried (default: that of PROGRAM, else python3 as PATH has it)"},
	{'h', "help", NULL, "this page"},
	{0, NULL, NULL, NULL},
};

void doctor_say(struct doctor *doctor, enum doctor_level level, const char *subject, const char *fact, const char *remedy)
{
	static const char *const words[] = {"ok", "note", "LOSS", "BLOCKED"};

	printf("%-8s %-10s %s\n", words[level], subject, fact);
	if (remedy && *remedy)
		printf("%-19s %s\n", "", remedy);
	if (level > doctor->worst)
		doctor->worst = level;
}

struct wanted {
	int option;
	const char *python;
};

static void take(int option, const char *argument, void *context)
{
	struct wanted *wanted = context;

	if (option == OPTION_PYTHON)
		wanted->python = argument;
	else
		wanted->option = option;
}

/* The exit status: 0 all works, 2 something will be lost, 1 nothing can be recorded. */
static int status_of(enum doctor_level worst)
{
	if (worst == DOCTOR_BLOCKED)
		return 1;
	return worst == DOCTOR_LOSS ? 2 : 0;
}

/* Who writes the whole command line, or two programs, must not think that all of it is looked at. */
static void say_ignored(struct doctor *doctor, const char *word)
{
	char fact[300];

	snprintf(fact, sizeof fact, "%.100s alone is looked at: %.100s and what follows are taken for its arguments", doctor->program,
		 word);
	doctor_say(doctor, DOCTOR_NOTE, "program", fact, "");
}

/* python3, python3.13t, also a shim of that name: it is run. Not python-config, nor what somebody called pythonic_training. */
static bool is_python(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *rest = base + 6;

	if (strncmp(base, "python", 6) != 0)
		return false;
	rest += strspn(rest, "0123456789.");
	return !*rest || strcmp(rest, "t") == 0 || strcmp(rest, "d") == 0;
}

/* The program's own Python (which may be a script itself), or that of a script's first line (torchrun); NULL = it has none. */
static const char *python_of(const struct doctor *doctor, struct program *program)
{
	program_examine(doctor->program, &doctor->settings, program);
	if (program->obstacle == PROGRAM_MISSING)
		return NULL;
	if (is_python(program->path))
		return program->path;
	return is_python(program->interpreter) ? program->interpreter : NULL;
}

static int doctor_main(int argc, char **argv)
{
	struct doctor *doctor = calloc(1, sizeof *doctor);
	struct wanted wanted = {OPTION_NONE, NULL};
	struct program program;
	int first;
	size_t i;

	if (!doctor)
		say_die("out of memory");
	tfp_settings_default(&doctor->settings);
	first = options_parse(&command_doctor, argc, argv, &doctor->settings, take, &wanted);
	if (wanted.option == OPTION_KERNEL)
		return doctor_kernel() ? SAY_FAILED : 0;
	if (wanted.option == OPTION_HELP) {
		manual_command(manual_style("text"), &command_doctor);
		return 0;
	}
	doctor->program = argv[first];
	doctor->python = wanted.python || !doctor->program ? wanted.python : python_of(doctor, &program);
	if (doctor->program && argv[first + 1])
		say_ignored(doctor, argv[first + 1]);
	for (i = 0; i < sizeof checks / sizeof checks[0]; i++) {
		checks[i](doctor);
		fflush(stdout);
	}
	return status_of(doctor->worst);
}

const struct command command_doctor = {
	.name = "doctor",
	.run = doctor_main,
	.usage = "[PROGRAM]",
	.help = "check this machine, the settings and a program; say what will be lost and what helps",
	.options = doctor_options,
	.more = "Each line is something tried or read now: ok works, note is worth knowing, LOSS means that a recording works "
		"but "
		"misses or blurs something, BLOCKED that nothing can be recorded. A second line says what helps.\n\n"
		"Of the frameworks that Python finds, each is imported under the library and does one small thing: its line says "
		"what of it was "
		"recorded.\n\n"
		"The trial records a short program of its own into the output directory and removes what it made.\n\n"
		"Exit status: 0 all works, 2 something will be lost, 1 nothing can be recorded.",
};
