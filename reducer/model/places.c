/* SPDX-License-Identifier: Apache-2.0 */
/* Names from Python lines; see reducer/model/places.h. */
#include "reducer/model/places.h"

#include "reducer/model/scan.h"

#include <stdio.h>
#include <string.h>

#define FRAMES_MOST 256 /* as the setting STACKS */

void places_free(struct places *places)
{
	if (places->stacks != NULL)
		stacks_free(places->stacks);
	*places = (struct places){.stacks = NULL};
}

static const struct python_code *code_of(const struct process *process, const struct tfp_pc *pc)
{
	uint64_t code = pc->pc >> 32;

	if (!(pc->flags & TFP_PC_PYTHON) || code >= process->python.code_count || process->python.codes[code].function == NULL)
		return NULL;
	return &process->python.codes[code];
}

/* Is the file part of Python or of a package that was installed, rather than of what the user wrote? */
static int is_installed(const char *file)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/", "/lib/python3"};

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (strstr(file, folders[i]) != NULL)
			return 1;
	return file[0] == '<';
}

static const char *last_of(const char *text, char mark)
{
	const char *last = strrchr(text, mark);

	return last != NULL && last[1] != 0 ? last + 1 : text;
}

/* Keras runs a batch by one function, whoever asks for it: fit, evaluate, predict. */
static int runs_batches(const struct python_code *code)
{
	return strcmp(last_of(code->function, '.'), "iterator_step") == 0;
}

void places_name(struct places *places, const struct scan *scan, uint32_t stack, const char *text, char *room, size_t bytes)
{
	const struct tfp_pc *frames[FRAMES_MOST];
	const struct python_code *inner = NULL, *user = NULL, *before = NULL, *asks = NULL; /* asks: for a batch of Keras' */
	char within[128] = "";
	uint32_t line = 0;
	size_t count;

	if (!places->is_loaded) {
		places->stacks = stacks_load(scan->log);
		places->is_loaded = 1;
	}
	count = places->stacks == NULL ? 0 : stacks_frames(places->stacks, stack, frames, FRAMES_MOST);
	for (size_t i = 0; i < count && user == NULL; i++) {
		const struct python_code *code = code_of(scan->process, frames[i]);
		if (code == NULL)
			continue;
		line = inner == NULL || !is_installed(code->file) ? (uint32_t)frames[i]->pc : line;
		inner = inner == NULL ? code : inner;
		user = is_installed(code->file) ? NULL : code;
		asks = before != NULL && asks == NULL && runs_batches(before) ? code : asks;
		before = code;
	}
	const char *place = strchr(text, '+');
	int length = place == NULL ? 0 : (int)strcspn(place, " ");
	const struct python_code *named = user != NULL ? user : inner;
	if (asks != NULL && named != inner)
		snprintf(within, sizeof within, "%s.%s", last_of(asks->function, '.'), runs_batches(inner) ? "" : "iterator_step.");
	if (named == NULL)
		snprintf(room, bytes, "%.*s", (int)strcspn(text, " "), text);
	else
		snprintf(room, bytes, "XLA call: %s (%s, line %u)%s%s%s %.*s", named->function, last_of(named->file, '/'), line,
			 named == inner ? "" : " in ", within, named == inner ? "" : last_of(inner->function, '.'), length,
			 place ? place : "");
}
