/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for modules and locations, and the answers to them.
 *
 * Rule: everything here is small and lives to the end: 24 bytes a location, 24 a frame, each text once. The work on
 * files is the worker's.
 */
#include "reducer/symbols/internal.h"

#include "reducer/base/index.h"

#include <stdlib.h>
#include <string.h>

struct frame {
	uint32_t function, file; /* in the string pool; 0 = unknown */
	uint32_t line, flags;
};

struct symbols {
	struct symbols_options options;
	struct lookup_module *modules; /* number - 1 */
	size_t module_count, module_room;
	struct lookup *lookups; /* number - 1 */
	size_t lookup_count, lookup_room;
	struct frame *frames;
	size_t frame_count, frame_room;
	char **strings; /* number; 0 is unused */
	size_t string_count, string_room;
	struct base_index module_index, lookup_index, string_index;
	struct text scratch;
	struct lookup_batch *batches; /* while resolving */
};

struct symbols *symbols_make(const struct symbols_options *options)
{
	struct symbols *symbols = base_alloc(1, sizeof(*symbols));

	symbols->options = *options;
	symbols->string_count = 1;
	symbols->strings = base_grow(NULL, &symbols->string_room, 1, sizeof(char *));
	symbols->strings[0] = NULL;
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->module_count; i++) {
		free(symbols->modules[i].path);
		free(symbols->modules[i].build_id);
		free(symbols->modules[i].problem);
	}
	for (size_t i = 1; i < symbols->string_count; i++)
		free(symbols->strings[i]);
	base_index_free(&symbols->module_index);
	base_index_free(&symbols->lookup_index);
	base_index_free(&symbols->string_index);
	text_free(&symbols->scratch);
	free(symbols->modules);
	free(symbols->lookups);
	free(symbols->frames);
	free(symbols->strings);
	free(symbols);
}

static bool string_equal(const void *context, const void *key, uint32_t number)
{
	const struct symbols *symbols = context;

	return strcmp(symbols->strings[number], key) == 0;
}

static uint32_t string_number(struct symbols *symbols, const char *string)
{
	uint64_t hash;
	uint32_t number;

	if (!string || !string[0])
		return 0;
	hash = base_mix(base_hash(BASE_HASH, string, strlen(string)));
	number = base_index_find(&symbols->string_index, hash, string_equal, symbols, string);
	if (number != UINT32_MAX)
		return number;
	number = (uint32_t)symbols->string_count;
	symbols->strings = base_grow(symbols->strings, &symbols->string_room, symbols->string_count + 1, sizeof(char *));
	symbols->strings[symbols->string_count++] = base_copy(string, strlen(string));
	base_index_add(&symbols->string_index, hash, number);
	return number;
}

static bool module_equal(const void *context, const void *key, uint32_t number)
{
	const struct lookup_module *have = &((const struct symbols *)context)->modules[number];
	const struct symbols_module *want = key;

	return strlen(have->path) == strnlen(want->path, want->path_length) &&
	       memcmp(have->path, want->path, strlen(have->path)) == 0 && have->build_id_length == want->build_id_length &&
	       (!want->build_id_length || memcmp(have->build_id, want->build_id, want->build_id_length) == 0);
}

uint32_t symbols_module(struct symbols *symbols, const struct symbols_module *module)
{
	size_t path_length = module->path_length ? strnlen(module->path, module->path_length) : 0;
	uint64_t hash = base_hash(BASE_HASH, module->path, path_length);
	uint32_t number;
	struct lookup_module *new;
	const char *base;

	hash = base_mix(base_hash(hash, module->build_id, module->build_id_length));
	number = base_index_find(&symbols->module_index, hash, module_equal, symbols, module);
	if (number != UINT32_MAX)
		return number + 1;
	number = (uint32_t)symbols->module_count++;
	symbols->modules = base_grow(symbols->modules, &symbols->module_room, symbols->module_count, sizeof(*new));
	new = &symbols->modules[number];
	*new = (struct lookup_module){
		.path = base_copy(module->path, path_length),
		.build_id = base_copy(module->build_id, module->build_id_length),
		.build_id_length = module->build_id_length,
	};
	base = strrchr(new->path, '/');
	new->name = string_number(symbols, base ? base + 1 : new->path);
	base_index_add(&symbols->module_index, hash, number);
	return number + 1;
}

static bool lookup_equal(const void *context, const void *key, uint32_t number)
{
	const struct lookup *have = &((const struct symbols *)context)->lookups[number];
	const struct lookup *want = key;

	return have->address == want->address && have->module == want->module && have->is_return == want->is_return;
}

uint32_t symbols_location(struct symbols *symbols, uint32_t module, uint64_t address, bool is_return)
{
	struct lookup lookup = {.address = address - is_return, .module = module, .is_return = is_return};
	uint64_t hash = base_mix(lookup.address ^ base_mix(((uint64_t)module << 1) + is_return));
	uint32_t number = base_index_find(&symbols->lookup_index, hash, lookup_equal, symbols, &lookup);

	if (number != UINT32_MAX)
		return number + 1;
	number = (uint32_t)symbols->lookup_count++;
	symbols->lookups = base_grow(symbols->lookups, &symbols->lookup_room, symbols->lookup_count, sizeof(lookup));
	symbols->lookups[number] = lookup;
	base_index_add(&symbols->lookup_index, hash, number);
	return number + 1;
}

/* What the worker sends for one location; a later answer (with lines) replaces an earlier one (names alone). */
static void take_frames(void *context, uint32_t index, const struct lookup_frame *frames, size_t count)
{
	struct symbols *symbols = context;
	struct lookup *lookup;

	if (index >= symbols->lookup_count)
		return;
	lookup = &symbols->lookups[index];
	if (lookup->frame_count < count || !lookup->frame_count) {
		lookup->frames = (uint32_t)symbols->frame_count;
		symbols->frame_count += count;
		symbols->frames =
			base_grow(symbols->frames, &symbols->frame_room, symbols->frame_count, sizeof(*symbols->frames));
	}
	lookup->frame_count = (uint16_t)count;
	for (size_t i = 0; i < count; i++)
		symbols->frames[lookup->frames + i] = (struct frame){
			.function = string_number(symbols, frames[i].function),
			.file = string_number(symbols, frames[i].file),
			.line = frames[i].line,
			.flags = frames[i].flags,
		};
}

static void take_problem(void *context, size_t batch, const char *sentence)
{
	struct symbols *symbols = context;
	struct lookup_module *module = &symbols->modules[symbols->batches[batch].module - symbols->modules];

	free(module->problem);
	module->problem = base_copy(sentence, strlen(sentence));
}

/* Sorted by module, then address. */
struct order {
	uint64_t address;
	uint32_t module, index;
};

static int by_module(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* The locations of wanted modules that wait for an answer, in order. Those of no module are answered by their number alone. */
static struct order *order_make(struct symbols *symbols, size_t *count)
{
	struct order *order = base_alloc(symbols->lookup_count, sizeof(*order));

	*count = 0;
	for (size_t i = 0; i < symbols->lookup_count; i++) {
		struct lookup *lookup = &symbols->lookups[i];
		if (!lookup->module || lookup->is_resolved || !symbols->modules[lookup->module - 1].is_wanted)
			continue;
		lookup->is_resolved = true;
		order[(*count)++] =
			(struct order){.address = lookup->address, .module = lookup->module, .index = (uint32_t)i};
	}
	if (*count)
		qsort(order, *count, sizeof(*order), by_module);
	return order;
}

void symbols_want(struct symbols *symbols, uint32_t location)
{
	const struct lookup *lookup = location && location <= symbols->lookup_count ? &symbols->lookups[location - 1] : NULL;

	if (lookup && lookup->module && !lookup->is_resolved)
		symbols->modules[lookup->module - 1].is_wanted = true;
}

void symbols_resolve(struct symbols *symbols)
{
	struct lookup_sink sink = {.frames = take_frames, .problem = take_problem, .context = symbols};
	size_t count, batch_count = 0, batch_room = 0;
	struct order *order = order_make(symbols, &count);
	uint64_t *addresses = base_alloc(count, sizeof(*addresses));
	uint32_t *index = base_alloc(count, sizeof(*index));

	for (size_t i = 0; i < count; i++) {
		addresses[i] = order[i].address;
		index[i] = order[i].index;
		if (i == 0 || order[i].module != order[i - 1].module) {
			symbols->batches =
				base_grow(symbols->batches, &batch_room, batch_count + 1, sizeof(*symbols->batches));
			symbols->batches[batch_count++] = (struct lookup_batch){
				.module = &symbols->modules[order[i].module - 1],
				.addresses = &addresses[i],
				.index = &index[i],
			};
		}
		symbols->batches[batch_count - 1].count++;
	}
	worker_run(&symbols->options, symbols->batches, batch_count, &sink);
	for (size_t i = 0; i < symbols->module_count; i++)
		symbols->modules[i].is_wanted = false;
	free(symbols->batches);
	symbols->batches = NULL;
	free(order);
	free(addresses);
	free(index);
}

bool symbols_is_known(const struct symbols *symbols, uint32_t location)
{
	const struct lookup *lookup = location && location <= symbols->lookup_count ? &symbols->lookups[location - 1] : NULL;

	return !lookup || !lookup->module || lookup->is_resolved;
}

size_t symbols_frame_count(const struct symbols *symbols, uint32_t location)
{
	uint16_t count = location && location <= symbols->lookup_count ? symbols->lookups[location - 1].frame_count : 0;

	return count ? count : 1;
}

/* module+0x1234, or the bare address; made once, for who goes through stacks asks for it again and again. */
static const char *unnamed(struct symbols *symbols, struct lookup *lookup, const char *module, uint64_t offset)
{
	if (!lookup->unnamed) {
		text_clear(&symbols->scratch);
		text_format(&symbols->scratch, module[0] ? "%s+0x%llx" : "%s0x%llx", module, (unsigned long long)offset);
		lookup->unnamed = string_number(symbols, symbols->scratch.bytes);
	}
	return symbols->strings[lookup->unnamed];
}

struct symbol_frame symbols_frame(struct symbols *symbols, uint32_t location, size_t index)
{
	struct symbol_frame shown = {.module = "", .function = "?"};
	struct lookup *lookup;
	const struct frame *frame;

	if (!location || location > symbols->lookup_count)
		return shown;
	lookup = &symbols->lookups[location - 1];
	shown.offset = lookup->address + lookup->is_return;
	if (lookup->module && symbols->modules[lookup->module - 1].name)
		shown.module = symbols->strings[symbols->modules[lookup->module - 1].name];
	if (index < lookup->frame_count) {
		frame = &symbols->frames[lookup->frames + index];
		shown.file = symbols->strings[frame->file];
		shown.line = frame->line;
		shown.is_inlined = frame->flags & LOOKUP_INLINED;
		shown.is_near = frame->flags & LOOKUP_NEAR;
		shown.is_named = frame->function && (frame->flags & LOOKUP_NAMED);
		if (frame->function)
			shown.function = symbols->strings[frame->function];
	}
	if (!shown.is_named)
		shown.function = unnamed(symbols, lookup, shown.module, shown.offset);
	return shown;
}

uint32_t symbols_module_count(const struct symbols *symbols)
{
	return (uint32_t)symbols->module_count;
}

const char *symbols_module_path(const struct symbols *symbols, uint32_t module)
{
	return symbols->modules[module - 1].path;
}

const char *symbols_module_problem(const struct symbols *symbols, uint32_t module)
{
	return module && module <= symbols->module_count ? symbols->modules[module - 1].problem : NULL;
}
