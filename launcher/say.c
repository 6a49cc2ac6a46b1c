/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tfprof says about itself. Rule: one message is one write, so that it is not torn by the program's own output.
 */
#include "launcher/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
