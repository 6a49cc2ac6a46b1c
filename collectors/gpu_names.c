/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel names; see collectors/gpu_names.h. */
#include "collectors/gpu_names.h"

#include "collectors/names.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define ENTRIES 131072u      /* names; PyTorch registers some 50,000. 4 MiB of which only touched pages exist */
#define PLACES 524288u       /* of keys: each name has its stub and its handle; 4 MiB likewise */
#define PROBES 128u          /* places looked at before the table counts as full */
#define MODULES 8192u        /* fat binaries registered; each .cu file is one */
#define ARENA (16u << 20)    /* bytes of copied names */
#define NAME_MOST 65536u     /* bytes of a name that are read and kept */

struct entry {
	const char *name;
	uint64_t hash; /* 0 = not asked for yet */
	uint32_t module; /* index, 0 = none: the text stays */
};

struct place {
	_Atomic uint64_t key;
	_Atomic uint32_t entry; /* index, 0 = none yet */
};

/* Kept across fork. Entries are written once, then published by the place that names them. */
static struct tables {
	_Atomic uint32_t entry_count, module_count;
	_Atomic uint64_t arena_used;
	_Atomic uint64_t modules[MODULES]; /* handle; 0 = gone */
	struct entry entries[ENTRIES];
	struct place places[PLACES];
	char arena[ARENA];
} *_Atomic tables_now;

static struct tables *tables(void)
{
	struct tables *none = NULL, *now = __atomic_load_n((struct tables **)&tables_now, __ATOMIC_ACQUIRE);

	if (now)
		return now;
	now = tfp_pages_get(sizeof *now, 0);
	if (now && !__atomic_compare_exchange_n((struct tables **)&tables_now, &none, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put(now, sizeof *now);
		now = none;
	}
	return now;
}

/* The place of a key; NULL: none. is_wanted: take a free one. */
static struct place *place_of(struct tables *all, uint64_t key, int is_wanted)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	for (uint32_t i = 0; key && i < PROBES; i++) {
		struct place *place = &all->places[(hash + i) % PLACES];
		uint64_t there = place->key;
		if (there == key)
			return place;
		if (there)
			continue;
		if (!is_wanted)
			return NULL;
		if (__atomic_compare_exchange_n((uint64_t *)&place->key, &there, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
		    there == key)
			return place;
	}
	return NULL;
}

/* The index of a module, made where it is new; registrations of one module come one after another. 0: no room. */
static uint32_t module_index(struct tables *all, uint64_t module)
{
	uint32_t count = all->module_count;

	for (uint32_t i = count; i > 0 && i + 8 > count; i--)
		if (i < MODULES && all->modules[i] == module)
			return i;
	uint32_t index = ++all->module_count;
	if (index >= MODULES) {
		all->module_count = MODULES;
		return 0;
	}
	all->modules[index] = module;
	return index;
}

static const char *copy_of(struct tables *all, const char *name)
{
	size_t length = 0;

	while (length < NAME_MOST && name[length])
		length++;
	uint64_t at = __atomic_fetch_add((uint64_t *)&all->arena_used, length + 1, __ATOMIC_RELAXED);
	if (at + length + 1 > ARENA)
		return NULL;
	tfp_copy(all->arena + at, name, length); /* the page is zero behind it */
	return all->arena + at;
}

static uint32_t make_entry(struct tables *all, const char *name, uint64_t module, int is_copied)
{
	const char *text = is_copied ? copy_of(all, name) : name;
	uint32_t of_module = module ? module_index(all, module) : 0;

	if (!text || (module && !of_module))
		return 0;
	uint32_t index = ++all->entry_count;
	if (index >= ENTRIES) {
		all->entry_count = ENTRIES;
		return 0;
	}
	all->entries[index] = (struct entry){.name = text, .module = of_module};
	return index;
}

/* A handle that is used again for the same kernel (a module loaded once more) makes no new entry. */
static int is_same(struct tables *all, const struct place *place, const char *name)
{
	const struct entry *entry = &all->entries[place->entry];
	size_t i = 0;

	if (!place->entry || entry->module)
		return 0;
	while (i < NAME_MOST && name[i] && name[i] == entry->name[i])
		i++;
	return i == NAME_MOST || name[i] == entry->name[i];
}

void tfp_gpu_name_add(uint64_t key, const char *name, uint64_t module, int is_copied)
{
	struct tables *all = tables();
	struct place *place = all && name ? place_of(all, key, 1) : NULL;

	if (place && is_copied && is_same(all, place, name))
		return;
	uint32_t index = place ? make_entry(all, name, module, is_copied) : 0;
	if (index)
		__atomic_store_n((uint32_t *)&place->entry, index, __ATOMIC_RELEASE);
	else
		tfp_loss_note(TFP_LOSS_gpu_names);
}

void tfp_gpu_name_alias(uint64_t key, uint64_t known)
{
	struct tables *all = tables_now;
	struct place *from = all ? place_of(all, known, 0) : NULL;
	uint32_t entry = from ? __atomic_load_n((uint32_t *)&from->entry, __ATOMIC_ACQUIRE) : 0;
	struct place *place = entry ? place_of(all, key, 1) : NULL;

	if (place)
		__atomic_store_n((uint32_t *)&place->entry, entry, __ATOMIC_RELEASE);
	else if (entry)
		tfp_loss_note(TFP_LOSS_gpu_names);
}

void tfp_gpu_names_drop(uint64_t module)
{
	struct tables *all = tables_now;

	for (uint32_t i = all ? all->module_count : 0; i > 0; i--)
		if (i < MODULES && all->modules[i] == module) {
			all->modules[i] = 0;
			return;
		}
}

/* Which names this log has. NULL: no memory, the fact is then written again. */
static _Atomic uint64_t *noted_bits(void)
{
	_Atomic uint64_t *none = NULL, *bits = __atomic_load_n(&tfp_state->gpu_names, __ATOMIC_ACQUIRE);

	if (bits)
		return bits;
	bits = tfp_pages_get(ENTRIES / 8, 1);
	if (bits && !__atomic_compare_exchange_n(&tfp_state->gpu_names, &none, bits, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put((void *)bits, ENTRIES / 8);
		bits = none;
	}
	return bits;
}

uint64_t tfp_gpu_name_id(uint64_t key)
{
	struct tables *all = tables_now;
	struct place *place = all ? place_of(all, key, 0) : NULL;
	uint32_t index = place ? __atomic_load_n((uint32_t *)&place->entry, __ATOMIC_ACQUIRE) : 0;

	if (!index)
		return 0;
	struct entry *entry = &all->entries[index];
	_Atomic uint64_t *bits = noted_bits();
	uint64_t bit = UINT64_C(1) << index % 64;
	if (bits && (bits[index / 64] & bit))
		return entry->hash;
	if (entry->module && !all->modules[entry->module])
		return 0; /* its text went with its module */
	size_t length = 0;
	while (length < NAME_MOST && entry->name[length])
		length++;
	entry->hash = tfp_name_id(entry->name, length);
	if (bits)
		__atomic_fetch_or((uint64_t *)&bits[index / 64], bit, __ATOMIC_RELEASE);
	return entry->hash;
}
