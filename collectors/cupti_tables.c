/* SPDX-License-Identifier: Apache-2.0 */
/* Interning of shapes and queues; see collectors/cupti_tables.h. */
#include "collectors/cupti_tables.h"

#include "writer/records.h"
#include "writer/sys.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "writer/poison.h"

#define RECENT_SETS 2048u     /* of RECENT_WAYS shapes found by pointer; a training step has hundreds */
#define RECENT_WAYS 4u        /* with one way, each pair of kernels that share a place would be looked up by content for ever */
#define SHAPE_SLOTS (1u << 18)
#define SHAPES_MOST 180000u   /* whole shapes; 60 MB of facts */
#define NAMES_MOST 200000u    /* with those that kept their name alone */
#define QUEUE_SLOTS 8192u
#define QUEUES_MOST 6000u
#define PAGE 4096u            /* no machine has smaller ones: a read up to such a border faults in whole */

struct recent {
	struct tfp_shape_key keys[RECENT_WAYS];
	uint32_t ids[RECENT_WAYS]; /* 0 = empty */
	uint32_t epoch, next;	   /* the way to be used for a new one */
};

struct shape {
	uint64_t hash[2];
	uint32_t id; /* 0 = empty */
};

struct queue {
	struct tfp_queue_key key;
	uint32_t id; /* 0 = empty */
};

struct tfp_cupti_tables {
	tfp_cupti_fact *fact;
	_Atomic uint32_t epoch;
	uint32_t shape_count, queue_count;
	uint64_t lost;
	struct queue *last_queue;
	struct recent recent[RECENT_SETS];
	struct shape shapes[SHAPE_SLOTS];
	struct queue queues[QUEUE_SLOTS];
	char name[TFP_NAME_MOST + PAGE];
};

_Static_assert(sizeof(struct tfp_shape_key) == 80, "compared as words");

struct tfp_cupti_tables *tfp_cupti_tables_make(tfp_cupti_fact *fact)
{
	struct tfp_cupti_tables *tables = tfp_pages_get(sizeof *tables, 1);

	if (tables)
		tables->fact = fact;
	return tables;
}

void tfp_cupti_tables_drop(struct tfp_cupti_tables *tables)
{
	tfp_pages_put(tables, sizeof *tables);
}

void tfp_cupti_tables_forget(struct tfp_cupti_tables *tables)
{
	tables->epoch++;
}

uint64_t tfp_cupti_tables_lost(const struct tfp_cupti_tables *tables)
{
	return tables->lost;
}

/* Copies up to the end of a page, through the kernel where it lets us. Bytes, or -1: nothing is there. */
static long read_page(const char *from, char *to, size_t room)
{
	size_t bytes = PAGE - ((uintptr_t)from & (PAGE - 1));
	struct iovec local = {to, bytes < room ? bytes : room}, remote = {(void *)(uintptr_t)from, local.iov_len};
	long pid = tfp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	long got = tfp_sys(SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0);

	if (got == -EFAULT)
		return -1;
	if (got <= 0) /* a filter or an old kernel forbids it: CUPTI's word must do */
		tfp_copy(to, from, local.iov_len);
	return (long)local.iov_len;
}

long tfp_cupti_read_text(const char *text, char *to, size_t room)
{
	size_t length = 0;

	while (length < room) {
		long got = read_page(text + length, to + length, room - length);
		if (got < 0)
			return -1;
		for (long i = 0; i < got; i++)
			if (!to[length + (size_t)i])
				return (long)length + i;
		length += (size_t)got;
	}
	return (long)length;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Two hashes of 64 bits: among 200,000 names a clash of both has a chance of 1 in 10^28. */
static void hash_content(const struct tfp_shape_key *key, const char *name, size_t length, uint64_t hash[2])
{
	uint64_t words[sizeof *key / 8];

	tfp_copy(words, key, sizeof words);
	hash[0] = mix(length, 1);
	hash[1] = mix(length, 2);
	for (size_t i = 1; i < sizeof words / 8; i++) { /* without the pointer */
		hash[0] = mix(hash[0], words[i]);
		hash[1] = mix(hash[1] + i, words[i]);
	}
	for (size_t i = 0; i < length; i++) {
		hash[0] = mix(hash[0], (unsigned char)name[i]);
		hash[1] = mix(hash[1] + i, (unsigned char)name[i]);
	}
}

#define NUMBER(value) {.number = (uint64_t)(value)}

static void write_shape(struct tfp_cupti_tables *tables, const struct tfp_shape_key *key, uint32_t id, size_t length)
{
	const struct tfp_fact_field fields[] = {
		NUMBER(id),
		{.is_text = 1, .text = {tables->name, length}},
		NUMBER(key->grid[0]),
		NUMBER(key->grid[1]),
		NUMBER(key->grid[2]),
		NUMBER(key->block[0]),
		NUMBER(key->block[1]),
		NUMBER(key->block[2]),
		NUMBER(key->registers),
		NUMBER(key->static_shared),
		NUMBER(key->dynamic_shared),
		NUMBER(key->executed_shared),
		NUMBER(key->local_bytes),
		NUMBER(key->local_total),
		NUMBER(key->cluster[0]),
		NUMBER(key->cluster[1]),
		NUMBER(key->cluster[2]),
		NUMBER(key->max_clusters),
		NUMBER(key->kind),
	};

	tables->fact(TFP_TAG_shape, fields, sizeof fields / sizeof fields[0]);
}

/* The shape's place by content: found, or made while there are fewer than `most`. */
static uint32_t find_shape(struct tfp_cupti_tables *tables, const struct tfp_shape_key *key, size_t length, uint32_t most)
{
	uint64_t hash[2];

	hash_content(key, tables->name, length, hash);
	for (uint64_t at = hash[0];; at++) { /* at most NAMES_MOST of SHAPE_SLOTS are taken: it ends */
		struct shape *shape = &tables->shapes[at % SHAPE_SLOTS];
		if (shape->id && shape->hash[0] == hash[0] && shape->hash[1] == hash[1])
			return shape->id;
		if (shape->id)
			continue;
		if (tables->shape_count >= most)
			return 0;
		shape->hash[0] = hash[0];
		shape->hash[1] = hash[1];
		shape->id = ++tables->shape_count;
		write_shape(tables, key, shape->id, length);
		return shape->id;
	}
}

static uint32_t find_by_content(struct tfp_cupti_tables *tables, const struct tfp_shape_key *key)
{
	long length = key->name ? tfp_cupti_read_text(key->name, tables->name, TFP_NAME_MOST) : 0;
	struct tfp_shape_key name_alone = {.name = key->name};

	if (length < 0 || length == (long)TFP_NAME_MOST)
		tables->lost++;
	size_t kept = length > 0 ? (size_t)length : 0;
	uint32_t id = find_shape(tables, key, kept, SHAPES_MOST);
	if (id)
		return id;
	tables->lost++;
	return find_shape(tables, &name_alone, kept, NAMES_MOST);
}

static int is_same_key(const struct tfp_shape_key *a, const struct tfp_shape_key *b)
{
	const uint64_t *x = (const uint64_t *)(const void *)a, *y = (const uint64_t *)(const void *)b;
	uint64_t differs = 0;

	if (a->name != b->name)
		return 0;
	for (size_t i = 1; i < sizeof *a / 8; i++)
		differs |= x[i] ^ y[i];
	return !differs;
}

static uint32_t find_recent(const struct recent *set, const struct tfp_shape_key *key)
{
	for (uint32_t way = 0; way < RECENT_WAYS; way++)
		if (set->ids[way] && is_same_key(&set->keys[way], key))
			return set->ids[way];
	return 0;
}

uint32_t tfp_cupti_shape(struct tfp_cupti_tables *tables, const struct tfp_shape_key *key)
{
	uint32_t epoch = tables->epoch;
	uint64_t hash = mix((uintptr_t)key->name ^ (uint64_t)key->grid[0] << 44 ^ (uint64_t)key->grid[1] << 28 ^ key->grid[2],
			    (uint64_t)key->block[0] << 32 ^ key->dynamic_shared);
	struct recent *set = &tables->recent[hash >> 32 & (RECENT_SETS - 1)];
	uint32_t id = set->epoch == epoch ? find_recent(set, key) : 0;

	if (id)
		return id;
	id = find_by_content(tables, key);
	if (!id || tables->shape_count >= SHAPES_MOST) /* once full, each is counted as lost */
		return id;
	if (set->epoch != epoch)
		for (uint32_t way = 0; way < RECENT_WAYS; way++)
			set->ids[way] = 0;
	set->epoch = epoch;
	set->keys[set->next % RECENT_WAYS] = *key;
	set->ids[set->next++ % RECENT_WAYS] = id;
	return id;
}

static int is_same_queue(const struct tfp_queue_key *a, const struct tfp_queue_key *b)
{
	return a->device == b->device && a->context == b->context && a->stream == b->stream && a->channel == b->channel &&
	       a->channel_kind == b->channel_kind;
}

static void write_queue(const struct tfp_cupti_tables *tables, const struct tfp_queue_key *key, uint32_t id)
{
	const struct tfp_fact_field fields[] = {
		NUMBER(id), NUMBER(key->device), NUMBER(key->context),
		NUMBER(key->stream), NUMBER(key->channel), NUMBER(key->channel_kind),
	};

	tables->fact(TFP_TAG_queue, fields, sizeof fields / sizeof fields[0]);
}

uint32_t tfp_cupti_queue(struct tfp_cupti_tables *tables, const struct tfp_queue_key *key)
{
	uint64_t hash = mix(mix((uint64_t)key->context << 32 | key->stream, (uint64_t)key->device << 32 | key->channel),
			    key->channel_kind);

	if (tables->last_queue && is_same_queue(&tables->last_queue->key, key))
		return tables->last_queue->id;
	for (uint64_t at = hash >> 32;; at++) { /* at most QUEUES_MOST of QUEUE_SLOTS are taken: it ends */
		struct queue *queue = &tables->queues[at % QUEUE_SLOTS];
		if (!queue->id && tables->queue_count >= QUEUES_MOST) {
			tables->lost++;
			return 0;
		}
		if (!queue->id) {
			queue->key = *key;
			queue->id = ++tables->queue_count;
			write_queue(tables, key, queue->id);
		} else if (!is_same_queue(&queue->key, key)) {
			continue;
		}
		tables->last_queue = queue;
		return queue->id;
	}
}
