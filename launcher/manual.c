/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of help, manual pages and docs/settings.md.
 *
 * Rule: names, defaults and ranges come from the tables (settings.def, the commands' rows); only connecting words are
 * written here.
 */
#include "launcher/manual.h"

#include "launcher/options.h"
#include "launcher/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Paragraphs separated by empty lines. */
static void paragraphs(const struct manual_style *style, const char *text)
{
	while (text && *text) {
		const char *end = strstr(text, "\n\n");
		char *paragraph = say_text("%.*s", (int)(end ? end - text : (long)strlen(text)), text);

		style->paragraph(paragraph);
		free(paragraph);
		text = end ? end + 2 : NULL;
	}
}

static void own_options(const struct manual_style *style, const struct command_option *option)
{
	for (; option && option->name; option++) {
		char *argument = say_text(option->argument ? "=%s" : "%s", option->argument ? option->argument : "");
		char *term = option->letter ? say_text("-%c, --%s%s", option->letter, option->name, argument)
					    : say_text("--%s%s", option->name, argument);

		style->item(term, option->help);
		free(term);
		free(argument);
	}
	style->list_end();
}

static char *default_of(const struct tfp_setting_row *row)
{
	return row->initial[0] ? say_text("default: %s", row->initial) : say_text("default: empty");
}

static void setting_options(const struct manual_style *style)
{
	const struct tfp_setting_row *row;
	int number;

	for (number = 0; (row = tfp_setting_row(number)); number++) {
		char *initial = default_of(row);
		char *term = say_text("--%s=VALUE", options_name(row));
		char *text = say_text("%s. Good: %s; %s.", row->help, row->range, initial);

		style->item(term, text);
		free(text);
		free(term);
		free(initial);
	}
	style->list_end();
}

void manual_overview(const struct manual_style *style)
{
	const struct command *command;
	int number;

	style->title("tfprof", 1, "record where a program's time and memory go, on the host and on its GPUs, at little cost");
	style->heading("Usage");
	style->code("tfprof COMMAND [...]");
	style->code("tfprof --version");
	style->heading("Commands");
	for (number = 0; (command = command_row(number)); number++) {
		char *term = say_text("tfprof %s %s", command->name, command->usage);

		style->item(term, command->help);
		free(term);
	}
	style->list_end();
	style->heading("Example");
	style->code("tfprof run -- python3 train.py");
	style->code("tfprof-reduce tfprof-out");
	style->heading("See also");
	style->paragraph("`tfprof COMMAND --help`, `tfprof help settings`, `tfprof-reduce --help`.");
}

void manual_command(const struct manual_style *style, const struct command *command)
{
	char *name = say_text("tfprof-%s", command->name);
	char *usage = say_text("tfprof %s %s", command->name, command->usage);

	style->title(name, 1, command->help);
	style->heading("Usage");
	style->code(usage);
	if (command->more)
		style->heading("Description");
	paragraphs(style, command->more);
	if (command->options) {
		style->heading("Options");
		own_options(style, command->options);
	}
	if (command->takes_settings) {
		style->heading("Settings");
		setting_options(style);
	}
	free(usage);
	free(name);
}

void manual_words(void)
{
	const struct command_option *option;
	const struct tfp_setting_row *row;
	const struct command *command;
	int number, setting;

	for (number = 0; (command = command_row(number)); number++) {
		printf("command\t%s\t%s\t%s\n", command->name, command->usage, command->help);
		for (option = command->options; option && option->name; option++)
			printf("option\t%s\t%.*s\t%s\t%s\t%s\n", command->name, option->letter != 0, &option->letter,
			       option->name, option->argument ? option->argument : "", option->help);
		for (setting = 0; command->takes_settings && (row = tfp_setting_row(setting)); setting++)
			printf("setting\t%s\t\t%s\t%s\t%s\n", command->name, options_name(row), row->range, row->help);
	}
}

/* The programs that `SKIP=default` names, on one line. */
static char *default_skip(void)
{
	char *text = say_text("%s", "");
	const char *pattern;
	int i;

	for (i = 0; (pattern = tfp_settings_default_skip(i)); i++) {
		char *longer = say_text(i ? "%s %s" : "%s%s", text, pattern);

		free(text);
		text = longer;
	}
	return text;
}

void manual_settings(const struct manual_style *style)
{
	const struct tfp_setting_row *row;
	char *skipped = default_skip();
	int number;

	style->title("tfprof-settings", 7, "every setting of the recording library");
	style->heading("Description");
	style->paragraph("A setting is a variable of the environment that the library reads once, at the first intercepted "
			 "call, or an option of `tfprof run`, which checks it aloud. The library itself never prints: a "
			 "misspelt name or a bad value is noted in the log, and the report shows it first.");
	style->paragraph("Sizes take k, M, G, T (powers of 1024). Times take ns, us, ms, s, m, h. Both are whole numbers.");
	for (number = 0; (row = tfp_setting_row(number)); number++) {
		char *heading = say_text(TFP_SETTING_PREFIX "%s", row->name);
		char *option = say_text("--%s=VALUE", options_name(row));

		style->heading(heading);
		style->paragraph(row->help);
		style->item("option", option);
		style->item("default", row->initial[0] ? row->initial : "empty");
		style->item("good", row->range);
		style->list_end();
		free(option);
		free(heading);
	}
	style->heading("Programs passed over by default");
	style->paragraph("These are what `default` in a list means. They start and glue together the programs that people "
			 "profile; their children are recorded. `*` stands for any letters, `[0-9]` for one digit.");
	style->code(skipped);
	free(skipped);
}
