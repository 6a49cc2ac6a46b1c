/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of tfprof doctor, and how a check says what it found.
 */
#ifndef TFPROF_LAUNCHER_DOCTOR_H
#define TFPROF_LAUNCHER_DOCTOR_H

#include "preload/settings_parse.h"

/* In rising order of harm. */
enum doctor_level {
	DOCTOR_FINE,    /* works */
	DOCTOR_NOTE,    /* works, and there is something to know */
	DOCTOR_LOSS,    /* works, but something will be lost or inexact */
	DOCTOR_BLOCKED, /* nothing can be recorded */
};

struct doctor {
	struct tfp_settings settings; /* as the environment has them */
	const char *program;          /* to be examined; NULL = none */
	const char *python;           /* interpreter whose frameworks are tried; NULL = python3 as PATH has it */
	enum doctor_level worst;
};

/* Prints one finding: the fact, then, unless empty, what it means and what helps. */
void doctor_say(struct doctor *doctor, enum doctor_level level, const char *subject, const char *fact, const char *remedy);

/* One check: says one or more findings. */
typedef void doctor_check(struct doctor *doctor);

/* The checks of the machine (doctor_machine.c) and of the recording itself (doctor_trial.c), in the order printed. */
doctor_check doctor_settings, doctor_output, doctor_clock, doctor_libc, doctor_memory, doctor_limits, doctor_container,
	doctor_native;
doctor_check doctor_library, doctor_trial, doctor_program;

/* Of GPUs; doctor_cuda.c. */
doctor_check doctor_gpu;

/* Of Python and its frameworks; doctor_frameworks.c. */
doctor_check doctor_frameworks;

#endif
