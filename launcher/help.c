/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfprof help: pages for people, and the same pages as man and Markdown for `make docs`.
 */
#include "launcher/command.h"
#include "launcher/manual.h"
#include "launcher/options.h"
#include "launcher/say.h"

#include <string.h>

enum { OPTION_FORMAT, OPTION_HELP };

static const struct command_option help_options[] = {
	[OPTION_FORMAT] = {0, "format", "FORMAT", "text (default), man, markdown; words: commands and options for a script"},
	[OPTION_HELP] = {'h', "help", NULL, "this page"},
	{0, NULL, NULL, NULL},
};

struct help {
	const struct manual_style *style;
	int wants_help, wants_words;
};

static void take(int option, const char *argument, void *context)
{
	struct help *help = context;

	if (option == OPTION_HELP)
		help->wants_help = 1;
	if (option != OPTION_FORMAT)
		return;
	help->wants_words = !strcmp(argument, "words");
	help->style = manual_style(help->wants_words ? "text" : argument);
	if (!help->style)
		say_die("there is no format %s; good: %s", argument, help_options[OPTION_FORMAT].help);
}

static int help_main(int argc, char **argv)
{
	struct help help = {manual_style("text"), 0, 0};
	int first = options_parse(&command_help, argc, argv, NULL, take, &help);
	const struct command *command;

	if (help.wants_help) {
		manual_command(help.style, &command_help);
		return 0;
	}
	if (help.wants_words) {
		manual_words();
		return 0;
	}
	if (first >= argc) {
		manual_overview(help.style);
		return 0;
	}
	if (first + 1 < argc)
		say_die("one page at a time, and options before it: tfprof help %s", command_help.usage);
	command = command_find(argv[first]);
	if (!strcmp(argv[first], "settings"))
		manual_settings(help.style);
	else if (command)
		manual_command(help.style, command);
	else
		say_die("there is no page %s; good: settings, or a command that `tfprof help` lists", argv[first]);
	return 0;
}

const struct command command_help = {
	.name = "help",
	.run = help_main,
	.usage = "[--format=FORMAT] [COMMAND | settings]",
	.help = "print a page of this manual",
	.options = help_options,
};
