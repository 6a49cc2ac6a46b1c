/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doctor's checks of Python and of the frameworks that it finds: each is imported under the library, does one small thing, and
 * what the log then says of it is the finding.
 *
 * Rule: a framework that is not installed is no finding; one that cannot be imported is tried again without us, so that the
 * blame is put where it belongs.
 */
#include "launcher/doctor_child.h"
#include "launcher/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK "tfprof-doctor:" /* begins the lines that are meant for us: frameworks print much */
#define SAID (64u << 10)      /* bytes kept of what a trial prints */
#define DUMP (32u << 20)      /* of a log's dump: without memory and reads it has a few MiB */

static char look[] = "import sys, importlib.util as u\n"
		     "print('" MARK "', sys.version.split()[0], sys.implementation.name, sys.executable)\n"
		     "for name in ('tensorflow', 'torch', 'jax'):\n"
		     "    if u.find_spec(name): print('" MARK "found', name)\n";

static const struct framework {
	const char *module, *name; /* as Python and as our facts call it */
	const char *script;
} frameworks[] = {
	{"tensorflow", "tensorflow", "import tensorflow as m\nf = m.function(lambda x: x + 1)\nf(m.ones([2])), f(m.ones([2]))\n"},
	{"torch", "pytorch", "import torch as m\nm.ones(2) + 1\n"},
	{"jax", "jax", "import jax as m\nm.numpy.ones(2) + 1\n"},
};

/* The rest of the line that begins with `start`, copied; NULL where there is none. */
static char *line_after(const char *text, const char *start)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, start, strlen(start)) != 0)
			continue;
		line += strlen(start);
		line += strspn(line, " ");
		return strndup(line, strcspn(line, "\n"));
	}
	return NULL;
}

static char *last_line(const char *text)
{
	size_t end = strlen(text), start;

	while (end && text[end - 1] == '\n')
		end--;
	for (start = end; start && text[start - 1] != '\n'; start--)
		;
	return strndup(text + start, end - start < 160 ? end - start : 160);
}

/* A field of the framework's fact in the dump, whose fields are separated by tabs. */
static char *fact_field(const char *dump, const char *name, const char *field)
{
	char *wanted = say_text("\tframework\tname=%s\t", name), *start = say_text("%s=", field), *found = NULL;
	const char *line = strstr(dump, wanted), *end = line ? line + strcspn(line, "\n") : NULL;
	const char *at = line ? strstr(line, start) : NULL;

	if (at && at < end)
		found = strndup(at + strlen(start), strcspn(at + strlen(start), "\t\n"));
	free(wanted);
	free(start);
	return found;
}

static void judge(struct doctor *doctor, const struct framework *framework, const char *version, const char *dump)
{
	char *state = fact_field(dump, framework->name, "state"), *detail = fact_field(dump, framework->name, "detail");
	char *fact = say_text("%s: %s", version, detail ? detail : state ? state : "not noticed by the library");

	if (!strcmp(framework->name, "jax")) {
		free(fact);
		fact = say_text("%s: memory, reads and threads; %s; on GPUs its ranges, by NVTX", version,
				detail ? detail : "of what it runs on the CPU nothing was seen");
		doctor_say(doctor, DOCTOR_NOTE, framework->name, fact,
			   "TFPROF_XLA_DUMP=1 keeps the modules that XLA compiles beside the logs");
	} else if (state && !strcmp(state, "on")) {
		doctor_say(doctor, DOCTOR_FINE, framework->name, fact, "");
	} else if (state && !strcmp(state, "partly")) {
		doctor_say(doctor, DOCTOR_LOSS, framework->name, fact,
			   "what is not named here is not recorded; docs/frameworks.md lists versions");
	} else {
		doctor_say(doctor, DOCTOR_LOSS, framework->name, fact,
			   "its ops are not recorded; memory, GPU work, reads and NVTX ranges are. docs/frameworks.md lists "
			   "versions");
	}
	free(state);
	free(detail);
	free(fact);
}

/* Under the library it did not come to its end: does it without? */
static void blame(struct doctor *doctor, const struct framework *framework, char *const *arguments, const char *said, char *room)
{
	char *last = last_line(said);
	int works_alone = doctor_run(arguments, room, SAID, DOCTOR_RUN_PATIENCE) == 0;
	char *fact = say_text("cannot be imported%s: %s", works_alone ? " under the library" : "",
			      *last ? last : "it ended with no message");

	if (works_alone)
		doctor_say(doctor, DOCTOR_BLOCKED, framework->name, fact,
			   "without the library it works: this is a fault of tfprof, report it");
	else
		doctor_say(doctor, DOCTOR_NOTE, framework->name, fact, "it fails without the library too");
	free(fact);
	free(last);
}

static void try_framework(struct doctor *doctor, const struct framework *framework, char *python)
{
	char *folder = doctor_folder(), option[] = "-c";
	char *script = say_text("%sprint('" MARK "version', m.__version__)\n", framework->script);
	char *arguments[] = {python, option, script, NULL}, *said = malloc(SAID), *dump = malloc(DUMP), *version = NULL;

	if (!said || !dump)
		say_die("out of memory");
	if (!folder) {
		doctor_say(doctor, DOCTOR_NOTE, framework->name, "not tried: no folder can be made in TMPDIR or /tmp", "");
	} else {
		int status = doctor_record(doctor, folder, arguments, said, SAID);
		version = line_after(said, MARK "version");
		if (status || !version)
			blame(doctor, framework, arguments, said, dump);
		else if (doctor_table(folder, "dump", dump, DUMP) >= 0)
			judge(doctor, framework, version, dump);
		doctor_remove(folder);
	}
	free(folder);
	free(version);
	free(script);
	free(said);
	free(dump);
}

void doctor_frameworks(struct doctor *doctor)
{
	char option[] = "-c", *said = malloc(SAID);
	char *python = strdup(doctor->python ? doctor->python : "python3");
	char *arguments[] = {python, option, look, NULL};

	if (!said || !python)
		say_die("out of memory");
	int status = doctor_run(arguments, said, SAID, DOCTOR_RUN_PATIENCE);
	char *version = line_after(said, MARK);
	if (status || !version) {
		char *last = last_line(said), *fact = say_text("%s does not run%s%s", python, *last ? ": " : "", last);
		if (doctor->python)
			doctor_say(doctor, DOCTOR_LOSS, "python", fact, "name another one: tfprof doctor --python=PATH");
		free(last);
		free(fact);
	} else {
		doctor_say(doctor, DOCTOR_FINE, "python", version, "");
		for (size_t i = 0; i < sizeof frameworks / sizeof frameworks[0]; i++) {
			char *line = say_text("\n" MARK "found %s\n", frameworks[i].module);
			if (strstr(said, line))
				try_framework(doctor, &frameworks[i], python);
			free(line);
		}
	}
	free(version);
	free(python);
	free(said);
}
