/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings as options and as variables.
 *
 * Rule: no name of a setting is written here; what is allowed, and the remedy, come from preload/settings_parse.c.
 */
#include "launcher/options.h"

#include "launcher/say.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

#define NAME_ROOM 64 /* bytes of a variable's or option's name we can mean; longer ones are unknown anyway */

const char *options_name(const struct tfp_setting_row *row)
{
	static char name[NAME_ROOM];
	size_t i;

	for (i = 0; row->name[i] && i + 1 < sizeof name; i++)
		name[i] = (char)(row->name[i] == '_' ? '-' : tolower((unsigned char)row->name[i]));
	name[i] = 0;
	return name;
}

static void copy_name(char *to, const char *from, size_t length)
{
	if (length >= NAME_ROOM)
		length = NAME_ROOM - 1;
	memcpy(to, from, length);
	to[length] = 0;
}

/* Says what is wrong with one variable. */
static void complain_variable(const char *name, const char *value, const struct tfp_setting_problem *problem)
{
	if (problem->fault == TFP_SETTING_BAD)
		say_line(TFP_SETTING_PREFIX "%s=%s: %s", name, value, problem->remedy);
	else if (problem->row >= 0)
		say_line(TFP_SETTING_PREFIX "%s is no setting; did you mean " TFP_SETTING_PREFIX "%s?", name,
			 tfp_setting_row(problem->row)->name);
	else
		say_line(TFP_SETTING_PREFIX "%s is no setting; `tfprof run --help` lists them", name);
}

static int begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

int options_environment(struct tfp_settings *settings)
{
	const size_t prefix = strlen(TFP_SETTING_PREFIX);
	struct tfp_setting_problem problem;
	char name[NAME_ROOM];
	int complaints = 0;
	char **entry;

	for (entry = environ; *entry; entry++) {
		const char *equals = strchr(*entry, '=');

		if (!equals || !begins(*entry, TFP_SETTING_PREFIX))
			continue;
		if (begins(*entry, TFP_JOB_VARIABLE "=") || begins(*entry, TFP_PARENT_VARIABLE "=") ||
		    begins(*entry, TFP_TOOL_VARIABLE "="))
			continue;
		copy_name(name, *entry + prefix, (size_t)(equals - *entry) - prefix);
		if (!tfp_settings_apply(settings, name, equals + 1, &problem))
			continue;
		complain_variable(name, equals + 1, &problem);
		complaints++;
	}
	return complaints;
}

/* All names an option of the command can have, settings included. Returns how many. */
static int option_names(const struct command *command, const char **names, char (*copies)[NAME_ROOM])
{
	const struct command_option *own;
	int count = 0, row;

	for (own = command->options; own && own->name; own++)
		names[count++] = own->name;
	for (row = 0; command->takes_settings && tfp_setting_row(row); row++) {
		strcpy(copies[row], options_name(tfp_setting_row(row)));
		names[count++] = copies[row];
	}
	return count;
}

#define OWN_OPTIONS 16 /* room for the longest table of own options */

static _Noreturn void die_unknown(const struct command *command, const char *name)
{
	const char *names[OWN_OPTIONS + TFP_SETTING_COUNT];
	char copies[TFP_SETTING_COUNT][NAME_ROOM];
	int nearest = tfp_nearest_word(name, names, option_names(command, names, copies));

	if (nearest >= 0)
		say_die("unknown option --%s; did you mean --%s?", name, names[nearest]);
	say_die("unknown option --%s; `tfprof %s --help` lists them", name, command->name);
}

/* A setting as an option: the value is checked, then handed to the program through the environment. */
static void apply_setting(const struct tfp_setting_row *row, const char *value, struct tfp_settings *settings)
{
	struct tfp_setting_problem problem;
	char *variable;

	if (!value)
		say_die("--%s needs a value: --%s=VALUE; good: %s", options_name(row), options_name(row), row->range);
	if (tfp_settings_apply(settings, row->name, value, &problem))
		say_die("--%s=%s: %s", options_name(row), value, problem.remedy);
	variable = say_text(TFP_SETTING_PREFIX "%s", row->name);
	if (setenv(variable, value, 1))
		say_die("out of memory");
	free(variable);
}

static const struct tfp_setting_row *find_setting(const char *name)
{
	const struct tfp_setting_row *row = NULL;
	int number;

	for (number = 0; (row = tfp_setting_row(number)); number++)
		if (!strcmp(name, options_name(row)))
			break;
	return row;
}

/* By name, or by letter where name is empty; -1 when there is none. */
static int find_own(const struct command *command, const char *name, char letter)
{
	const struct command_option *own;

	for (own = command->options; own && own->name; own++)
		if (*name ? !strcmp(own->name, name) : own->letter == letter)
			return (int)(own - command->options);
	return -1;
}

struct reading {
	const struct command *command;
	int argc, at;
	char **argv;
	void (*take)(int option, const char *argument, void *context);
	void *context;
};

/* An own option was met; `argument` is what followed = or the letter, NULL = nothing. */
static void take_own(struct reading *reading, int option, const char *argument)
{
	const struct command_option *own = &reading->command->options[option];

	if (own->argument && !argument) {
		if (++reading->at >= reading->argc)
			say_die("%s needs a value (%s)", reading->argv[reading->at - 1], own->argument);
		argument = reading->argv[reading->at];
	}
	if (!own->argument && argument)
		say_die("--%s takes no value", own->name);
	reading->take(option, argument, reading->context);
}

static void take_long(struct reading *reading, const char *word, struct tfp_settings *settings)
{
	const struct tfp_setting_row *row;
	const char *value = strchr(word, '=');
	char name[NAME_ROOM];
	int own;

	copy_name(name, word, value ? (size_t)(value - word) : strlen(word));
	value = value ? value + 1 : NULL;
	own = find_own(reading->command, name, 0);
	row = reading->command->takes_settings ? find_setting(name) : NULL;
	if (own >= 0)
		take_own(reading, own, value);
	else if (row)
		apply_setting(row, value, settings);
	else
		die_unknown(reading->command, name);
}

static void take_letter(struct reading *reading, const char *word)
{
	int own = find_own(reading->command, "", word[0]);

	if (own < 0)
		say_die("unknown option -%c; `tfprof %s --help` lists them", word[0], reading->command->name);
	take_own(reading, own, word[1] ? word + 1 : NULL);
}

int options_parse(const struct command *command, int argc, char **argv, struct tfp_settings *settings,
		  void (*take)(int option, const char *argument, void *context), void *context)
{
	struct reading reading = {command, argc, 1, argv, take, context};

	for (; reading.at < argc; reading.at++) {
		const char *word = argv[reading.at];

		if (!strcmp(word, "--"))
			return reading.at + 1;
		if (word[0] != '-' || !word[1])
			return reading.at;
		if (word[1] == '-')
			take_long(&reading, word + 2, settings);
		else
			take_letter(&reading, word + 1);
	}
	return argc;
}
