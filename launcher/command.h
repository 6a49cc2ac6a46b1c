/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands of tfprof: one file each, one row each in the table of main.c.
 */
#ifndef TFPROF_LAUNCHER_COMMAND_H
#define TFPROF_LAUNCHER_COMMAND_H

/* An option of a subcommand's own (settings are not listed here: settings.def is). letter 0: long form only. */
struct command_option {
	char letter;
	const char *name, *argument, *help;
};

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the subcommand; returns the exit status */
	const char *usage;                 /* what follows the name */
	const char *help;                  /* one line */
	const struct command_option *options; /* ends with a row without a name; NULL = none */
	int takes_settings;                /* every setting is an option too */
	const char *more;                  /* paragraphs for --help and the manual, separated by empty lines; NULL = none */
};

/* The row of that number, NULL beyond the last. */
const struct command *command_row(int number);

/* The row of that name, or NULL. */
const struct command *command_find(const char *name);

extern const struct command command_run, command_doctor, command_help;

#endif
