/* SPDX-License-Identifier: Apache-2.0 */
/* Iterators of tf.data; see collectors/iterators.h. */
#include "collectors/iterators.h"

#include "collectors/heap.h"
#include "collectors/opnames.h"
#include "collectors/ranges.h"
#include "collectors/tensorflow_prove.h"
#include "collectors/tensorflow_trace.h"
#include "writer/store.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define SETS 4096u /* of live iterators; a pipeline has some ten, and one more for each file that is open */
#define WAYS 4u
#define NODES 16384u		  /* places in pipelines: each epoch of Keras makes a pipeline of some ten */
#define PROBES 32u		  /* places looked at for one node */
#define ROOTS 1024u		  /* pipelines told apart; those after them share their nodes */
#define DEEP 32u		  /* iterators above one another */
#define BEGUN (UINT64_C(1) << 32) /* of what `begun` returns: a record was written */

/* An iterator that lives. The address is written last, and 0 first when the place changes hands. */
struct live {
	_Atomic uintptr_t address; /* 0 = free, 1 = being written */
	_Atomic uintptr_t parent;
	_Atomic uint32_t node;	/* 0 = not asked yet */
	_Atomic uint32_t calls; /* about: two threads may count one call */
};

/* In pages that a fork child finds empty. */
struct tfp_iterators {
	struct live live[SETS][WAYS];
	_Atomic uint64_t keys[NODES]; /* of nodes: hash of the parent node and the name; 0 = free. Node n is place n - 1. */
	uint32_t names[NODES];	      /* op name of each; written before its fact, read after */
	_Atomic uint32_t roots;
};

/* Written by the one thread that attaches; kept across fork. */
static struct tfp_iterator_api api;
static _Atomic int is_attached;
static struct tfp_proof prefixes;

static struct tfp_iterators *table(void)
{
	struct tfp_iterators *found = __atomic_load_n(&tfp_state->iterators, __ATOMIC_ACQUIRE), *none = NULL;

	if (found)
		return found;
	found = tfp_pages_get(sizeof *found, 1);
	if (found && !__atomic_compare_exchange_n(&tfp_state->iterators, &none, found, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put(found, sizeof *found);
		found = none;
	}
	return found;
}

void tfp_iterators_attach(const struct tfp_iterator_api *found)
{
	if (is_attached || !found->prefix || !found->describe)
		return;
	api = *found;
	is_attached = 1;
}

static inline uint64_t mix(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
	return value ^ value >> 32;
}

static struct live *set_of(struct tfp_iterators *iterators, uintptr_t address)
{
	return iterators->live[mix(address >> 4) % SETS];
}

static struct live *find(struct tfp_iterators *iterators, uintptr_t address)
{
	struct live *set = set_of(iterators, address);

	for (uint32_t way = 0; way < WAYS; way++)
		if (__atomic_load_n((uintptr_t *)&set[way].address, __ATOMIC_ACQUIRE) == address)
			return &set[way];
	return NULL;
}

static int take(struct live *place, uintptr_t expected)
{
	return __atomic_compare_exchange_n((uintptr_t *)&place->address, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* The place of an address: its own of before, a free one, or one whose iterator we forget. NULL: others were quicker. */
static struct live *place_for(struct tfp_iterators *iterators, uintptr_t address)
{
	struct live *set = set_of(iterators, address);

	for (uint32_t way = 0; way < WAYS; way++)
		if (take(&set[way], address))
			return &set[way];
	for (uint32_t way = 0; way < WAYS; way++)
		if (take(&set[way], 0))
			return &set[way];
	struct live *victim = &set[mix(address) >> 40 & (WAYS - 1)];
	uintptr_t old = __atomic_load_n((uintptr_t *)&victim->address, __ATOMIC_RELAXED);
	return old != 1 && take(victim, old) ? victim : NULL;
}

static struct live *keep(struct tfp_iterators *iterators, const void *iterator, const void *parent)
{
	struct live *place = place_for(iterators, (uintptr_t)iterator);

	if (!place)
		return NULL;
	__atomic_store_n((uintptr_t *)&place->parent, (uintptr_t)parent, __ATOMIC_RELAXED);
	__atomic_store_n((uint32_t *)&place->node, 0, __ATOMIC_RELAXED);
	__atomic_store_n((uint32_t *)&place->calls, 0, __ATOMIC_RELAXED);
	__atomic_store_n((uintptr_t *)&place->address, (uintptr_t)iterator, __ATOMIC_RELEASE);
	return place;
}

void tfp_iterator_made(const void *iterator, const void *parent)
{
	struct tfp_iterators *iterators = is_attached && tfp_state && tfp_state->phase == TFP_STATE_READY ? table() : NULL;

	if (iterators && iterator)
		keep(iterators, iterator, parent);
}

void tfp_iterator_gone(const void *iterator)
{
	struct tfp_iterators *iterators =
		is_attached && tfp_state ? __atomic_load_n(&tfp_state->iterators, __ATOMIC_ACQUIRE) : NULL;
	struct live *place = iterators ? find(iterators, (uintptr_t)iterator) : NULL;

	if (place && take(place, (uintptr_t)iterator))
		__atomic_store_n((uintptr_t *)&place->address, 0, __ATOMIC_RELEASE);
}

static int begins(const char *text, size_t length, const char *with)
{
	size_t wanted = tfp_length(with);

	return length >= wanted && tfp_same(text, with, wanted);
}

/* "Iterator::Root::...", "ReduceIterator::...": the first part says what asks a pipeline. */
static int names_iterator(const char *text, size_t length)
{
	static const char iterator[] = "Iterator";
	size_t part = 0, wanted = sizeof iterator - 1;

	while (part < length && text[part] != ':')
		part++;
	return part >= wanted && tfp_same(text + part - wanted, iterator, wanted);
}

static int is_expected(const struct tfp_cxx_string *prefix)
{
	struct tfp_cxx_string copy = {NULL, 0, {0}};

	return tfp_prove_read(&copy, prefix, sizeof copy) == 0 && tfp_prove_text(copy.text, copy.length) &&
	       names_iterator(copy.text, copy.length);
}

static const struct tfp_cxx_string *prefix_of(const void *iterator)
{
	const struct tfp_cxx_string *prefix = api.prefix(iterator);
	int was_refuted = prefixes.is_refuted != 0;

	if (TFP_PROVE(&prefixes, is_expected(prefix)))
		return prefix;
	if (!was_refuted)
		tfp_tensorflow_refuted("Iterators of tf.data are not called as expected: their calls are not recorded.");
	return NULL;
}

/* The length of a number in brackets at `at`; 0 = there is none. */
static size_t number_at(const char *at, const char *end)
{
	const char *from = at++;

	if (*from != '[')
		return 0;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at < end && *at == ']' && at > from + 1 ? (size_t)(at + 1 - from) : 0;
}

/*
 * The long name without the numbers of elements and epochs ("FlatMap[17]"), which never end; those of inputs, where an
 * iterator has several, stay. Returns its length; at most TFP_TENSORFLOW_PAGE bytes.
 */
static size_t fold(char *to, const char *text, size_t length)
{
	const char *end = text + length, *part = text;
	size_t used = 0;

	while (text < end && used < TFP_TENSORFLOW_PAGE) {
		size_t number = number_at(text, end);
		size_t left = (size_t)(end - part);
		if (number && !begins(part, left, "Zip") && !begins(part, left, "Concatenate")) {
			text += number;
			continue;
		}
		if (*text == ':')
			part = text + 1;
		to[used++] = *text++;
	}
	return used;
}

static uint64_t hash_of(const char *text, size_t length, uint64_t hash)
{
	hash = mix(tfp_hash(hash, text, length));
	return hash ? hash : 1;
}

/* Two functions for the stack's sake: a new node's name may be a new fact, and the node is one itself. */
static __attribute__((noinline)) void name_node(struct tfp_thread *thread, struct tfp_iterators *iterators, uint32_t node,
						const char *text, size_t length)
{
	iterators->names[node - 1] = tfp_op_name(thread, text, length);
}

static __attribute__((noinline)) void tell_node(uint32_t node, uint32_t parent, const char *text, size_t length)
{
	struct tfp_fact_field fields[3] = {{.number = node}, {.number = parent}, {.is_text = 1, .text = {text, length}}};

	tfp_store_fact(TFP_TAG_iterator, fields, 3);
}

/* The node under `parent` of that name, told when it is new; 0 = no room. */
static uint32_t node_of(struct tfp_thread *thread, struct tfp_iterators *iterators, uint32_t parent, uint64_t key,
			const struct tfp_cxx_string *prefix)
{
	char *text = tfp_tensorflow_page(thread);
	size_t length = text ? fold(text, prefix->text, prefix->length) : 0;
	uint64_t hash = hash_of(text, length, key);

	for (uint32_t probe = 0; text && probe < PROBES; probe++) {
		uint32_t place = (uint32_t)(hash + probe) % NODES;
		uint64_t there = __atomic_load_n((uint64_t *)&iterators->keys[place], __ATOMIC_ACQUIRE);
		if (there == hash)
			return place + 1;
		if (there)
			continue;
		if (__atomic_compare_exchange_n((uint64_t *)&iterators->keys[place], &there, hash, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			name_node(thread, iterators, place + 1, text, length);
			tell_node(place + 1, parent, text, length);
			return place + 1;
		}
		if (there == hash)
			return place + 1;
	}
	tfp_loss_add(thread, TFP_LOSS_iterators, 1, tfp_now());
	return 0;
}

/* The iterator next above one without a node that has one itself, or is a root: *top is the one below it, or that root. */
static uint32_t climb(struct tfp_iterators *iterators, struct live *place, struct live **top)
{
	uint32_t node = 0;

	for (uint32_t depth = 0; place && !node && depth < DEEP; depth++) {
		*top = place;
		place = place->parent ? find(iterators, place->parent) : NULL;
		node = place ? place->node : 0;
	}
	return node;
}

/* Each root is a pipeline; past the last that are told apart one key for all. */
static uint64_t root_key(struct tfp_iterators *iterators)
{
	uint32_t root = __atomic_add_fetch((uint32_t *)&iterators->roots, 1, __ATOMIC_RELAXED);

	return (UINT64_C(1) << 32) + (root < ROOTS ? root : ROOTS);
}

/* The node of an iterator; those above it get theirs first. They live, because an iterator is part of the one above. */
static __attribute__((noinline)) uint32_t resolve(struct tfp_thread *thread, struct tfp_iterators *iterators, struct live *place)
{
	for (uint32_t depth = 0; !place->node && depth < DEEP; depth++) {
		struct live *top = place;
		uint32_t parent = climb(iterators, place, &top);
		uintptr_t address = __atomic_load_n((uintptr_t *)&top->address, __ATOMIC_ACQUIRE);
		const struct tfp_cxx_string *prefix = address > 1 ? prefix_of((const void *)address) : NULL;
		uint32_t node = prefix ? node_of(thread, iterators, parent, parent ? parent : root_key(iterators), prefix) : 0;
		if (!node)
			return 0;
		__atomic_store_n((uint32_t *)&top->node, node, __ATOMIC_RELAXED);
	}
	return place->node;
}

/* Drops id=... and parent_id=..., which are of the object, and moves the rest together. */
static size_t without_ids(char *text, size_t length)
{
	const char *at = text, *end = text + length;
	size_t used = 0;

	while (at < end) {
		const char *stop = tfp_tensorflow_piece_end(at, end);
		size_t piece = (size_t)(stop - at);
		if (!begins(at, piece, "id=") && !begins(at, piece, "parent_id=") && piece) {
			if (used)
				text[used++] = ',';
			for (size_t i = 0; i < piece; i++)
				text[used++] = at[i];
		}
		at = stop + 1;
	}
	return used;
}

/* What the iterator says of itself, as its own TraceMe would be told: its arguments. Allocates, so outside of every lane. */
static __attribute__((noinline)) void tell_parameters(struct tfp_thread *thread, void *iterator, uint32_t node, uint32_t calls)
{
	char *text = tfp_tensorflow_page(thread);

	if (!text)
		return;
	thread->is_own++; /* what it allocates meanwhile is not the host's */
	size_t length = api.describe(iterator, text, TFP_TENSORFLOW_PAGE), plain = tfp_tensorflow_plain(text, length);
	thread->is_own--;
	if (plain >= length)
		return;
	length -= plain + 1;
	if (length && text[plain + length] == '#')
		length--;
	length = without_ids(text + plain + 1, length);
	struct tfp_fact_field fields[3] = {
		{.number = node}, {.number = calls}, {.is_text = 1, .text = {text + plain + 1, length}}};
	tfp_store_fact(TFP_TAG_iterator_parameters, fields, 3);
}

static struct live *place_of(struct tfp_iterators *iterators, void *iterator)
{
	struct live *place = find(iterators, (uintptr_t)iterator);

	return place ? place : keep(iterators, iterator, NULL); /* made before we looked: a root as far as we know */
}

/* How many calls an iterator has had when it is asked what it says of itself: tuning changes that. */
static int is_time_to_ask(uint32_t calls)
{
	return calls == 1 || calls == 64 || calls == 4096;
}

uint64_t tfp_iterator_begun(void *iterator)
{
	struct tfp_lane *lane;
	uint32_t node, calls;

	if (!is_attached || prefixes.is_refuted)
		return 0;
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);
	struct tfp_iterators *iterators = thread ? table() : NULL;
	struct live *place = iterators ? place_of(iterators, iterator) : NULL;
	if (!thread)
		return 0;
	if (!place) {
		tfp_thread_leave(thread);
		return 0;
	}
	node = place->node;
	if (TFP_UNLIKELY(!node))
		node = resolve(thread, iterators, place);
	calls = __atomic_load_n((uint32_t *)&place->calls, __ATOMIC_RELAXED) + 1;
	__atomic_store_n((uint32_t *)&place->calls, calls, __ATOMIC_RELAXED);
	if (TFP_UNLIKELY(node && is_time_to_ask(calls))) {
		tfp_thread_leave(thread);
		tell_parameters(thread, iterator, node, calls);
		thread = tfp_tensorflow_enter(&lane);
	}
	if (!thread || !node) {
		if (thread)
			tfp_thread_leave(thread);
		return 0;
	}
	TFP_PUT(thread, lane, tfp_now(), op_begin, .name = iterators->names[node - 1], .key = node, .source = TFP_FROM_iterator);
	tfp_thread_leave(thread);
	return BEGUN | node;
}

void tfp_iterator_ended(uint64_t call)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = call ? tfp_tensorflow_enter(&lane) : NULL;

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), op_end, .key = (uint32_t)call, .source = TFP_FROM_iterator);
	tfp_thread_leave(thread);
}
