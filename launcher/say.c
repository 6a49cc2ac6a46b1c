/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tfprof says about itself. Rule: one message is one write, so that it is not torn by the program's own output.
 */
#include "launcher/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		return; /* no memory even for a sentence, and no way to say so */
	fprintf(stderr, "tfprof: %s\n", text);
	fflush(stderr);
	free(text);
}

void say_line(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

void say_die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	exit(SAY_FAILED);
}

char *say_text(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		say_die("out of memory");
	return text;
}

static int is_control(char byte)
{
	return (unsigned char)byte < ' ' || byte == 127;
}

char *say_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:@%+,-";
	size_t length = strlen(word), controls = 0;
	char *text, *to;

	if (length && strspn(word, plain) == length)
		return say_text("%s", word);
	text = to = calloc(4 * length + sizeof "$''", 1); /* the longest byte is four: an octal number, or a quote outside of quotes */
	if (!text)
		say_die("out of memory");
	for (size_t i = 0; i < length; i++)
		controls += is_control(word[i]);
	to += sprintf(to, controls ? "$'" : "'");
	for (; *word; word++)
		if (is_control(*word))
			to += sprintf(to, "\\%03o", (unsigned)*word);
		else if (controls)
			to += sprintf(to, *word == '\'' || *word == '\\' ? "\\%c" : "%c", *word);
		else
			to += sprintf(to, *word == '\'' ? "'\\''" : "%c", *word);
	strcpy(to, "'");
	return text;
}
