/* SPDX-License-Identifier: Apache-2.0 */
/* The table of op names; see collectors/opnames.h. */
#include "collectors/opnames.h"

#include "writer/store.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define NAMES 32768u     /* places; a large model has some thousand ops */
#define PROBES 32u       /* places looked at for one name */
#define TEXT_MOST 4096u  /* bytes of a text kept */

/* In pages that a fork child finds empty: it tells its names anew in its own log. */
struct tfp_op_names {
	_Atomic uint64_t hashes[NAMES]; /* 0 = free; taken by compare-and-swap, never given back */
	uint8_t kinds[NAMES];           /* written by the collector of the name; any thread writes the same */
};

#define SEEN 2048u /* places of a thread's own table: 32 KiB of which only the touched pages exist */
#define WAYS 4u    /* places that a name can have: a cache line */

/*
 * The names that a thread met last, by hash, and the place of the one that came after each: the step of a model names its ops
 * in the same order again and again, and what the model works on drives all tables out of the first caches between two ops.
 * So the name that is to be expected is looked at first, and was asked for while the op before it still ran.
 */
struct tfp_op_seen {
	struct seen {
		uint64_t hash; /* 0 = empty */
		uint32_t name;
		uint32_t next;
	} places[SEEN];
	uint32_t last;    /* place of the last name */
	uint32_t victims; /* places given to other names so far */
};
_Static_assert(sizeof(struct seen) * WAYS == 64, "a cache line");

static struct tfp_op_names *table(void)
{
	struct tfp_op_names *names = __atomic_load_n(&tfp_state->op_names, __ATOMIC_ACQUIRE), *none = NULL;

	if (names)
		return names;
	names = tfp_pages_get(sizeof *names, 1);
	if (names && !__atomic_compare_exchange_n(&tfp_state->op_names, &none, names, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put(names, sizeof *names);
		names = none;
	}
	return names;
}

static inline uint64_t word_at(const char *text)
{
	uint64_t word;

	__builtin_memcpy(&word, text, sizeof word);
	return word;
}

/* A multiplication folded to 64 bits for each 16 bytes; the constants are the golden ratio's and odd random ones. */
static inline uint64_t fold(uint64_t hash, uint64_t first, uint64_t second)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ first) * (second ^ UINT64_C(0x9e3779b97f4a7c15));

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_text(const char *text, size_t length)
{
	uint64_t hash = length * UINT64_C(0xd6e8feb86659fd93) + 1, first = 0, last = 0;
	const char *end = text + length;

	for (; end - text > 16; text += 16)
		hash = fold(hash, word_at(text), word_at(text + 8));
	if (end - text >= 8) {
		first = word_at(text);
		last = word_at(end - 8);
	} else if (length >= 16) {
		first = word_at(end - 16);
		last = word_at(end - 8);
	} else {
		for (; text < end; text++)
			last = last << 8 | (unsigned char)*text;
	}
	hash = fold(fold(hash, first, last), hash, UINT64_C(0xa0761d6478bd642f));
	return hash ? hash : 1;
}

static uint32_t tell(struct tfp_thread *thread, uint32_t name, const char *text, size_t length)
{
	struct tfp_fact_field fields[2] = {
		{.number = name},
		{.is_text = 1, .text = {text, length < TEXT_MOST ? length : TEXT_MOST}},
	};

	(void)thread; /* a fact that finds no room is counted where it is stored */
	tfp_store_fact(TFP_TAG_op_name, fields, 2);
	return name;
}

/* In the table of the process. */
static uint32_t find(struct tfp_thread *thread, uint64_t hash, const char *text, size_t length)
{
	struct tfp_op_names *names = table();

	for (uint32_t probe = 0; names && probe < PROBES; probe++) {
		uint32_t place = (uint32_t)(hash + probe) % NAMES;
		uint64_t there = __atomic_load_n((uint64_t *)&names->hashes[place], __ATOMIC_RELAXED);
		if (there == hash)
			return place + 1;
		if (there)
			continue;
		if (__atomic_compare_exchange_n((uint64_t *)&names->hashes[place], &there, hash, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return tell(thread, place + 1, text, length);
		if (there == hash) /* another thread was quicker; it tells the text */
			return place + 1;
	}
	tfp_loss_add(thread, TFP_LOSS_op_names, 1, tfp_now());
	return 0;
}

/* NULL: no memory, or a handler has interrupted the thread's own look-up. */
static inline struct tfp_op_seen *seen_by(struct tfp_thread *thread)
{
	if (__builtin_expect(thread->depth != 1, 0))
		return NULL;
	if (__builtin_expect(!thread->op_seen, 0))
		thread->op_seen = tfp_pages_get(sizeof *thread->op_seen, 1);
	return thread->op_seen;
}

/* The name at `place` is the one that came now. */
static inline uint32_t follow(struct tfp_op_seen *seen, uint32_t place)
{
	__builtin_prefetch(&seen->places[seen->places[place].next % SEEN]);
	seen->last = place;
	return seen->places[place].name;
}

uint64_t tfp_op_hash(const char *text, size_t length)
{
	return hash_text(text, length);
}

uint32_t tfp_op_expected(struct tfp_thread *thread, uint64_t hash)
{
	struct tfp_op_seen *seen = thread->op_seen;

	if (__builtin_expect(!seen || thread->depth != 1, 0))
		return 0;
	uint32_t place = seen->places[seen->last % SEEN].next % SEEN;
	return __builtin_expect(seen->places[place].hash == hash, 1) ? follow(seen, place) : 0;
}

/* Of WAYS places one, where it may take that of another name. */
uint32_t tfp_op_find(struct tfp_thread *thread, uint64_t hash, const char *text, size_t length)
{
	struct tfp_op_seen *seen = seen_by(thread);
	uint32_t place = (uint32_t)(hash % (SEEN / WAYS)) * WAYS, end = place + WAYS;

	while (seen && place < end && seen->places[place].hash != hash)
		place++;
	if (!seen || place == end) {
		uint32_t name = find(thread, hash, text, length);
		if (!seen || !name) /* without a number it is counted each time that it is met */
			return name;
		place = end - WAYS + seen->victims++ % WAYS;
		seen->places[place] = (struct seen){.hash = hash, .name = name};
	}
	seen->places[seen->last % SEEN].next = place;
	return follow(seen, place);
}

size_t tfp_op_length(const char *text, size_t most)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	const char *aligned = (const char *)((uintptr_t)text & ~(uintptr_t)7);
	unsigned skipped = (unsigned)(text - aligned) * 8;
	uint64_t word = word_at(aligned) | (skipped ? ~UINT64_C(0) >> (64 - skipped) : 0);

	for (;;) {
		uint64_t zeros = (word - ones) & ~word & ones << 7;
		if (zeros) {
			size_t length = (size_t)(aligned - text) + (size_t)(__builtin_ctzll(zeros) / 8);
			return length < most ? length : most;
		}
		aligned += 8;
		if ((size_t)(aligned - text) >= most)
			return most;
		word = word_at(aligned);
	}
}

uint8_t *tfp_op_kind(uint32_t name)
{
	return name ? &tfp_state->op_names->kinds[name - 1] : NULL;
}
