/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings as options (--max-bytes=2G) and as variables (TFPROF_MAX_BYTES=2G), checked aloud.
 */
#ifndef TFPROF_LAUNCHER_OPTIONS_H
#define TFPROF_LAUNCHER_OPTIONS_H

#include "launcher/command.h"
#include "preload/settings_parse.h"

/* The option of a row without its dashes, "max-bytes"; static memory, overwritten by the next call. */
const char *options_name(const struct tfp_setting_row *row);

/* Checks every TFPROF_ variable of the environment into *settings. A bad one is said aloud; returns how many were. */
int options_environment(struct tfp_settings *settings);

/*
 * Takes the options of `command` from argv[1..]: settings go into *settings and into the environment, own options to
 * `take` (letter 0 rows by index in `command->options`; argument NULL where the option has none). Returns the index of
 * the first word that is no option, `--` passed over. Dies on a misspelt name or bad value, naming the nearest or range.
 */
int options_parse(const struct command *command, int argc, char **argv, struct tfp_settings *settings,
		  void (*take)(int option, const char *argument, void *context), void *context);

#endif
