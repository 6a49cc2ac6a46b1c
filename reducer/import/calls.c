/* SPDX-License-Identifier: Apache-2.0 */
/* GPU functions that a foreign file names. See calls.h. */
#include "reducer/import/calls.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of functions that have no row in a hook table; the library gives none with this bit alone. */
#define NUMBER_BASE UINT32_C(0x40000000)

struct known {
	const char *name, *library, *kind;
};

static const struct known tables[] = {
#define TFP_GPU_HOOK(number, returns, name, parameters, arguments, kind, meaning) {#name, LIBRARY, #kind},
#define TFP_GPU_HOOK_BY_HAND(number, returns, name, parameters, arguments, kind, meaning) {#name, LIBRARY, #kind},
#define LIBRARY "cuda runtime"
#include "collectors/tables/cuda_runtime.def"
#undef LIBRARY
#define LIBRARY "cuda driver"
#include "collectors/tables/cuda_driver.def"
#undef LIBRARY
#undef TFP_GPU_HOOK
#undef TFP_GPU_HOOK_BY_HAND
};

/* Words in the name of a function that the tables lack, and what such a one does; the first that fits. */
static const struct {
	const char *word, *kind;
} words[] = {
	{"GraphLaunch", "graph"}, {"Graph", "other"},	 {"Launch", "launch"}, {"Memcpy", "copy"}, {"Memset", "set"},
	{"Synchronize", "sync"},  {"MemAlloc", "alloc"}, {"Malloc", "alloc"},  {"Free", "free"},
};

/* Of a function that no table has: cu and a capital letter is CUDA's driver; who else traces, says it in the name. */
static const char *library_of(const char *name)
{
	if (strncmp(name, "cuda", 4) == 0)
		return "cuda runtime";
	if (strncmp(name, "hip", 3) == 0)
		return "hip runtime";
	return strncmp(name, "cu", 2) == 0 && name[2] >= 'A' && name[2] <= 'Z' ? "cuda driver" : "other";
}

static struct known describe(const char *name)
{
	struct known found = {name, library_of(name), "other"};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (strcmp(tables[i].name, name) == 0)
			return tables[i];
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(name, words[i].word)) {
			found.kind = words[i].kind;
			break;
		}
	return found;
}

static bool is_function(const void *context, const void *key, uint32_t number)
{
	const struct calls *calls = context;

	return strcmp(calls->names.bytes + calls->at[number], key) == 0;
}

uint32_t calls_function(struct calls *calls, struct sink *sink, const char *name)
{
	uint64_t hash = base_hash(BASE_HASH, name, strlen(name));
	uint32_t number = base_index_find(&calls->index, hash, is_function, calls, name);

	if (number != UINT32_MAX)
		return NUMBER_BASE + number;
	calls->at = base_grow(calls->at, &calls->room, calls->count + 1, sizeof(*calls->at));
	calls->at[calls->count] = calls->names.length;
	text_put(&calls->names, name, strlen(name) + 1);
	base_index_add(&calls->index, hash, (uint32_t)calls->count);
	struct known known = describe(name);
	sink_fact(sink, TFP_TAG_function);
	sink_number(sink, NUMBER_BASE + calls->count);
	sink_text(sink, name, strlen(name));
	sink_text(sink, known.library, strlen(known.library));
	sink_text(sink, known.kind, strlen(known.kind));
	sink_text(sink, "", 0);
	sink_fact_end(sink);
	return NUMBER_BASE + (uint32_t)calls->count++;
}

void calls_free(struct calls *calls)
{
	text_free(&calls->names);
	free(calls->at);
	base_index_free(&calls->index);
}
