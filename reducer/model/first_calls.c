/* SPDX-License-Identifier: Apache-2.0 */
/* First calls of JAX's functions; see reducer/model/first_calls.h. */
#include "reducer/model/first_calls.h"

#include <string.h>

static uint64_t hash_text(const char *text, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash | 1;
}

/* "XLA call: f (a.py, line 2) in __call__ +0x1": the parts up to the bracket, and from the plus on. 0 = another kind of name. */
static int split(const char *name, uint64_t *line, uint64_t *place)
{
	const char *end = strstr(name, ", line "), *plus = strrchr(name, '+');

	end = end == NULL ? NULL : strchr(end, ')');
	if (strncmp(name, "XLA call: ", 10) != 0 || end == NULL || plus == NULL)
		return 0;
	*line = hash_text(name, (size_t)(end - name));
	*place = hash_text(plus, strlen(plus));
	return 1;
}

int first_calls_is_new(struct first_calls *calls, uint64_t id)
{
	uint8_t *seen = id < FIRST_CALLS_NAMES ? &calls->seen[id / 8] : NULL;

	if (seen == NULL || *seen >> id % 8 & 1)
		return 0;
	*seen |= (uint8_t)(1u << id % 8);
	return 1;
}

void first_calls_take(struct first_calls *calls, const char *name, uint64_t time)
{
	uint64_t line, place;
	uint32_t at = 0;

	if (!split(name, &line, &place))
		return;
	while (at < calls->count && calls->lines[at].line != line)
		at++;
	if (at == FIRST_CALLS_LINES)
		return;
	if (at == calls->count) {
		calls->lines[at].line = line;
		calls->lines[at].begin = time;
		calls->count++;
	}
	if (calls->lines[at].place == 0 && strstr(name, ") in __call__ +") != NULL) { /* of jax/_src/interpreters/pxla.py */
		calls->lines[at].place = place;
		calls->lines[at].ran = time;
	}
}

uint64_t first_calls_begin(const struct first_calls *calls, const char *name, uint64_t time)
{
	uint64_t line, place;

	if (name == NULL || !split(name, &line, &place))
		return 0;
	for (uint32_t i = 0; i < calls->count; i++)
		if (calls->lines[i].line == line)
			return calls->lines[i].place != 0 && calls->lines[i].place != place && calls->lines[i].ran < time
				       ? calls->lines[i].begin
				       : 0;
	return 0;
}
