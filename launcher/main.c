/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfprof: the program around the library. This file is the table of subcommands and nothing else.
 */
#include "launcher/command.h"
#include "launcher/say.h"
#include "preload/settings_parse.h"
#include "writer/format.h"
#include "writer/version.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {&command_run, &command_doctor, &command_help};

#define COMMANDS ((int)(sizeof commands / sizeof commands[0]))

const struct command *command_row(int number)
{
	return number >= 0 && number < COMMANDS ? commands[number] : NULL;
}

const struct command *command_find(const char *name)
{
	int i;

	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	return NULL;
}

static _Noreturn void die_unknown(const char *name)
{
	const char *names[COMMANDS];
	int i, nearest;

	for (i = 0; i < COMMANDS; i++)
		names[i] = commands[i]->name;
	nearest = tfp_nearest_word(name, names, COMMANDS);
	if (nearest >= 0)
		say_die("there is no command %s; did you mean `tfprof %s`?", name, names[nearest]);
	say_die("there is no command %s; `tfprof help` lists them; a program is recorded by `tfprof run -- PROGRAM`", name);
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return command_help.run(1, (char *[]){(char *)command_help.name, NULL});
	if (!strcmp(argv[1], "--version")) {
		printf("tfprof %s, log format %d.%d\n", TFP_VERSION, TFP_FORMAT_MAJOR, TFP_FORMAT_MINOR);
		return 0;
	}
	command = command_find(argv[1]);
	if (!command)
		die_unknown(argv[1]);
	return command->run(argc - 1, argv + 1);
}
