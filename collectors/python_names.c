/* SPDX-License-Identifier: Apache-2.0 */
/* Python functions and lines as numbers; see collectors/python_names.h. */
#include "collectors/python_names.h"

#include "writer/format.h"
#include "writer/records.h"
#include "writer/store.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define CODES 65536u  /* places of functions; a large training program runs some thousand */
#define LINES 262144u /* places of lines: 2 MiB of keys and 1 MiB of numbers, of which the touched pages exist */
#define FEW 4096u     /* the first of them: small programs touch no others */
#define PROBES 64u    /* places looked at for one: half of them among the first */

/* In pages that a fork child finds empty: it tells its functions anew in its own log. Places are never given back. */
struct tfp_python_names {
	_Atomic uint64_t codes[CODES]; /* hash of function, file and line; 0 = free. A function's number is its place + 1 */
	_Atomic uint64_t lines[LINES]; /* code << 34 | entry << 33 | 1 << 32 | line; 0 = free */
	_Atomic uint32_t pcs[LINES];   /* 0: being entered */
};

static struct tfp_python_names *table(void)
{
	struct tfp_python_names *tables = __atomic_load_n(&tfp_state->python, __ATOMIC_ACQUIRE), *none = NULL;

	if (tables)
		return tables;
	tables = tfp_pages_get(sizeof *tables, 1);
	if (tables && !__atomic_compare_exchange_n(&tfp_state->python, &none, tables, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put(tables, sizeof *tables);
		tables = none;
	}
	return tables;
}

/* Where to look at the probe-th time. */
static uint32_t place_of(uint32_t hash, uint32_t probe, uint32_t places)
{
	return probe < PROBES / 2 ? (hash + probe) % FEW : FEW + (hash + probe) % (places - FEW);
}

/* Each text is met once, then its number is kept. */
static uint64_t hash_text(uint64_t hash, const char *text, size_t bytes)
{
	return tfp_hash(hash, text, bytes) ^ bytes * UINT64_C(0x9e3779b97f4a7c15);
}

uint32_t tfp_python_code(const char *function, size_t function_bytes, const char *file, size_t file_bytes, uint32_t line)
{
	struct tfp_python_names *tables = table();
	uint64_t hash = hash_text(hash_text(TFP_HASH, function, function_bytes), file, file_bytes);

	hash = (hash ^ line) * UINT64_C(0x100000001b3) | 1;
	for (uint32_t probe = 0; tables && probe < PROBES; probe++) {
		uint32_t place = place_of((uint32_t)(hash >> 32), probe, CODES);
		uint64_t *slot = (uint64_t *)&tables->codes[place], there = __atomic_load_n(slot, __ATOMIC_RELAXED);
		if (there == hash)
			return place + 1;
		if (there)
			continue;
		if (!__atomic_compare_exchange_n(slot, &there, hash, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			if (there == hash) /* another thread was quicker; it tells the fact */
				return place + 1;
			continue;
		}
		struct tfp_fact_field fields[4] = {
			{.number = place + 1},
			{.is_text = 1, .text = {function, function_bytes}},
			{.is_text = 1, .text = {file, file_bytes}},
			{.number = line},
		};
		tfp_store_fact(TFP_TAG_python_code, fields, 4);
		return place + 1;
	}
	return 0;
}

uint32_t tfp_python_pc(uint32_t code, uint32_t line, uint32_t flags)
{
	struct tfp_python_names *tables = table();
	uint64_t key = (uint64_t)code << 34 | (uint64_t)(flags & TFP_PC_PYTHON_ENTRY ? 3 : 1) << 32 | line;
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t probe = 0; tables && probe < PROBES; probe++) {
		uint32_t place = place_of((uint32_t)(hash >> 32), probe, LINES);
		uint64_t *slot = (uint64_t *)&tables->lines[place], there = __atomic_load_n(slot, __ATOMIC_RELAXED);
		if (!there && __atomic_compare_exchange_n(slot, &there, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			there = key;
		if (there != key)
			continue;
		uint32_t pc = __atomic_load_n((uint32_t *)&tables->pcs[place], __ATOMIC_ACQUIRE);
		if (pc)
			return pc;
		/* New; or another thread is at it, or died at it: a second entry for the same line is harmless. */
		pc = tfp_store_pc((uint64_t)code << 32 | line, 0, flags);
		__atomic_store_n((uint32_t *)&tables->pcs[place], pc, __ATOMIC_RELEASE);
		return pc;
	}
	return 0;
}

static uint32_t character(const void *text, size_t i, unsigned bytes)
{
	uint32_t value = 0;

	__builtin_memcpy(&value, (const char *)text + i * bytes, bytes <= 4 ? bytes : 4); /* little-endian */
	return value;
}

size_t tfp_python_utf8(const void *text, size_t characters, unsigned character_bytes, char *to, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < characters; i++) {
		uint32_t c = character(text, i, character_bytes);
		size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		if (used + bytes > room)
			break;
		if (bytes == 1) {
			to[used++] = (char)c;
			continue;
		}
		to[used++] = (char)((0xf00 >> bytes & 0xff) | c >> 6 * (bytes - 1)); /* 110xxxxx, 1110xxxx, 11110xxx */
		for (size_t left = bytes - 1; left > 0; left--)
			to[used++] = (char)(0x80 | (c >> 6 * (left - 1) & 63));
	}
	return used;
}
