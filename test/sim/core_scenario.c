/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the scenario file (scenario.h says what may stand in it) and hands out its values; random numbers by the seed.
 *
 * Rule: read once; afterwards nothing here changes but the states of the random streams.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inner.h"
#include "scenario.h"

struct line {
	char *key, *value;
};

static struct line lines[1024];	/* written by sim_scenario_load alone */
static int line_count;
static uint64_t seed;
static _Atomic uint64_t random_states[64];

/* Takes one line apart; text must stay. */
static void add_line(char *text)
{
	char *value;

	text += strspn(text, " \t");
	text[strcspn(text, "\r\n")] = 0;
	if (!*text || *text == '#' || line_count == (int)(sizeof lines / sizeof *lines))
		return;
	value = text + strcspn(text, " \t");
	if (*value)
		*value++ = 0;
	value += strspn(value, " \t");
	lines[line_count++] = (struct line){text, value};
}

static void load_file(const char *path)
{
	char text[4096];
	FILE *file = fopen(path, "r");

	if (!file) {
		fprintf(stderr, "simgpu: cannot read the scenario %s\n", path);
		exit(70);
	}
	while (fgets(text, sizeof text, file))
		add_line(strdup(text));
	fclose(file);
}

static void load(void)
{
	const char *path = getenv("SIMGPU_SCENARIO");
	const char *more = getenv("SIMGPU_LINES");
	const char *number = getenv("SIMGPU_SEED");
	char *copy, *rest, *one;

	seed = number ? strtoull(number, NULL, 0) : 1;
	if (path && *path)
		load_file(path);
	copy = more ? strdup(more) : NULL;
	for (one = copy ? strtok_r(copy, ";", &rest) : NULL; one; one = strtok_r(NULL, ";", &rest))
		add_line(one);
}

void sim_scenario_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
}

const char *sim_setting_text(const char *key, const char *fallback)
{
	sim_scenario_load();
	for (int i = line_count; i--;)
		if (!strcmp(lines[i].key, key))
			return lines[i].value;
	return fallback;
}

uint64_t sim_setting(const char *key, uint64_t fallback)
{
	const char *text = sim_setting_text(key, NULL);

	return text ? (uint64_t)strtoll(text, NULL, 0) : fallback;
}

double sim_setting_real(const char *key, double fallback)
{
	const char *text = sim_setting_text(key, NULL);

	return text ? strtod(text, NULL) : fallback;
}

void sim_scenario_each(const char *key, void (*each)(const char *value, void *user), void *user)
{
	sim_scenario_load();
	for (int i = 0; i < line_count; i++)
		if (!strcmp(lines[i].key, key))
			each(lines[i].value, user);
}

/* splitmix64: a counter hashed, so that threads may share a stream. */
uint64_t sim_random(uint32_t stream)
{
	uint64_t step = atomic_fetch_add(&random_states[stream & 63], 1) + 1;
	uint64_t word = (seed + 1) * 0x9e3779b97f4a7c15u + step * 0xbf58476d1ce4e5b9u + stream * 0x94d049bb133111ebu;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
	word = (word ^ word >> 27) * 0x94d049bb133111ebu;
	return word ^ word >> 31;
}
