/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting more than fits in memory: sorted runs in a spool, merged. See sorter.h. */
#include "reducer/base/sorter.h"

#include "reducer/base/base.h"
#include "reducer/base/spool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_BYTES (1u << 20)
#define LANES_MOST 64u /* with more of them all are one */
#define NEAR 32u /* places that an entry is moved back at most as it is put */
#define BUFFER_BYTES 65536u /* of one run while it is merged; holds the longest entry */
#define BLOCK 32u /* bytes are copied by so many: buffers have room for one more */

/*
 * In front of the bytes of an entry, which are padded to 8. In the spool an entry says only what of its key differs from the one before it
 * in its run, of the first one from 0:
 *
 *   word: the length << 8 | how many words of the key follow << 4 | a bit for each of them      those words      the bytes
 */
struct entry {
	uint64_t key[SORTER_WORDS];
	uint64_t length;
};
#define PACKED_MOST (sizeof(uint64_t) * (1 + SORTER_WORDS)) /* in front of the bytes, in the spool */

/* A sorted part of the spool, and where we are in it. */
struct run {
	uint64_t at, end; /* in the spool, not yet read */
	uint8_t *buffer;
	size_t used, filled;
	struct entry front; /* behind it; its bytes: */
	const uint8_t *bytes; /* in the buffer, up to `used`; NULL at the end of the run */
};

/* Entries in memory that share the first words of their key. */
struct lane {
	const struct entry **order;
	size_t count, room;
	int is_ordered; /* what was put since the last run came in order */
};

struct sorter {
	uint8_t *memory;
	size_t room, used;
	unsigned lane_words;
	struct lane lanes[LANES_MOST]; /* once ordered: by key */
	size_t lane_count, last_lane;
	int is_one; /* there were too many lanes: the first has all, in any order */
	size_t reading, next; /* in memory: lane, place in it */
	int is_reading;
	struct run *runs;
	size_t run_count, run_room;
	struct run *open; /* those being merged */
	struct run *heap[SORTER_FAN]; /* of these, by what is in front */
	size_t open_count;
	int is_taken; /* what is in front of the first was handed out */
	int spool;
	uint64_t spool_end;
	uint8_t *out; /* of a run being written */
	size_t out_used;
	uint64_t out_key[SORTER_WORDS]; /* of the entry written last */
};

struct sorter *sorter_make(size_t bytes, unsigned lane_words)
{
	struct sorter *sorter = base_alloc(1, sizeof(*sorter));

	sorter->room = bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
	sorter->memory = base_alloc(sorter->room + BLOCK, 1);
	sorter->lane_words = lane_words;
	sorter->spool = -1;
	return sorter;
}

void sorter_free(struct sorter *sorter)
{
	if (!sorter)
		return;
	for (size_t i = 0; i < sorter->open_count; i++)
		free(sorter->heap[i]->buffer);
	if (sorter->spool >= 0)
		close(sorter->spool);
	free(sorter->open);
	free(sorter->runs);
	free(sorter->out);
	for (size_t i = 0; i < LANES_MOST; i++)
		free(sorter->lanes[i].order);
	free(sorter->memory);
	free(sorter);
}

static int compare_keys(const struct entry *a, const struct entry *b)
{
	for (size_t i = 0; i < SORTER_WORDS; i++)
		if (a->key[i] != b->key[i])
			return a->key[i] < b->key[i] ? -1 : 1;
	return 0;
}

/* Of equal keys the one that was put first, which lies lower in memory. */
static int by_key(const void *a, const void *b)
{
	const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;
	int order = compare_keys(x, y);

	return order ? order : x < y ? -1 : x > y;
}

static size_t padded(uint64_t length)
{
	return ((size_t)length + 7) / 8 * 8;
}

/* Most entries are shorter than a call of memcpy is worth. Up to BLOCK bytes more are read and written. */
static inline void copy_blocks(uint8_t *to, const uint8_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += BLOCK)
		memcpy(to + i, from + i, BLOCK);
}

static void flush_out(struct sorter *sorter)
{
	spool_write(sorter->spool, sorter->spool_end, sorter->out, sorter->out_used);
	sorter->spool_end += sorter->out_used;
	sorter->out_used = 0;
}

static void write_entry(struct sorter *sorter, const struct entry *entry, const uint8_t *bytes)
{
	size_t length = padded(entry->length), words = 1;
	uint64_t head = entry->length << 8, *to;

	if (sorter->out_used + PACKED_MOST + length > BUFFER_BYTES)
		flush_out(sorter);
	to = (uint64_t *)(void *)(sorter->out + sorter->out_used);
	for (unsigned i = 0; i < SORTER_WORDS; i++) {
		if (entry->key[i] == sorter->out_key[i])
			continue;
		head |= 1u << i;
		to[words++] = sorter->out_key[i] = entry->key[i];
	}
	to[0] = head | (words - 1) << 4;
	copy_blocks((uint8_t *)(to + words), bytes, length);
	sorter->out_used += words * sizeof(*to) + length;
}

/* Begins a run at the end of the spool. Returns its place among the runs. */
static size_t begin_run(struct sorter *sorter)
{
	if (sorter->spool < 0)
		sorter->spool = spool_open();
	if (!sorter->out)
		sorter->out = base_alloc(1, BUFFER_BYTES + BLOCK);
	memset(sorter->out_key, 0, sizeof(sorter->out_key));
	sorter->runs = base_grow(sorter->runs, &sorter->run_room, sorter->run_count + 1, sizeof(*sorter->runs));
	sorter->runs[sorter->run_count] = (struct run){.at = sorter->spool_end};
	return sorter->run_count++;
}

static void end_run(struct sorter *sorter, size_t run)
{
	flush_out(sorter);
	sorter->runs[run].end = sorter->spool_end;
}

static int by_first_key(const void *a, const void *b)
{
	return compare_keys(((const struct lane *)a)->order[0], ((const struct lane *)b)->order[0]);
}

#define DIGIT_BITS 8
#define DIGITS (1u << DIGIT_BITS)

/* A digit of the keys that is not the same in all of them. */
struct digit {
	unsigned word, shift;
};

/* The digits that tell the keys of a lane apart, from the last on. Returns how many. */
static size_t find_digits(const struct lane *lane, struct digit digits[SORTER_WORDS * 64 / DIGIT_BITS])
{
	uint64_t differs[SORTER_WORDS] = {0};
	size_t count = 0;

	for (size_t i = 1; i < lane->count; i++)
		for (unsigned word = 0; word < SORTER_WORDS; word++)
			differs[word] |= lane->order[i]->key[word] ^ lane->order[0]->key[word];
	for (unsigned word = SORTER_WORDS; word-- > 0;)
		for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS)
			if (differs[word] >> shift & (DIGITS - 1))
				digits[count++] = (struct digit){word, shift};
	return count;
}

/* Moves the entries to `to` by one digit; those of the same digit keep their order. */
static void order_by(const struct lane *lane, const struct digit *digit, const struct entry **to)
{
	size_t places[DIGITS + 1] = {0};

	for (size_t i = 0; i < lane->count; i++)
		places[(lane->order[i]->key[digit->word] >> digit->shift & (DIGITS - 1)) + 1]++;
	for (size_t i = 1; i < DIGITS; i++)
		places[i] += places[i - 1];
	for (size_t i = 0; i < lane->count; i++)
		to[places[lane->order[i]->key[digit->word] >> digit->shift & (DIGITS - 1)]++] = lane->order[i];
}

/*
 * By digits, each of which costs two looks at every entry, where the keys differ in few of them (times of one log: half); a sort by
 * comparing looks at two entries as often as their number can be halved, and its branches cannot be foreseen.
 */
static void order_lane(struct lane *lane)
{
	struct digit digits[SORTER_WORDS * 64 / DIGIT_BITS];
	size_t count = lane->count > DIGITS ? find_digits(lane, digits) : 0;
	const struct entry **spare;

	if (lane->count <= DIGITS || lane->count >> count == 0) {
		qsort(lane->order, lane->count, sizeof(*lane->order), by_key);
		return;
	}
	spare = base_alloc(lane->room, sizeof(*spare));
	for (size_t i = 0; i < count; i++) {
		const struct entry **moved = spare;
		order_by(lane, &digits[i], moved);
		spare = lane->order;
		lane->order = moved;
	}
	free(spare);
}

static void order_memory(struct sorter *sorter)
{
	for (size_t i = 0; i < sorter->lane_count; i++) {
		struct lane *lane = &sorter->lanes[i];
		if (!lane->is_ordered)
			order_lane(lane);
		lane->is_ordered = 1;
	}
	qsort(sorter->lanes, sorter->lane_count, sizeof(*sorter->lanes), by_first_key);
}

/* Nothing is in memory any more. */
static void forget_lanes(struct sorter *sorter)
{
	for (size_t i = 0; i < sorter->lane_count; i++)
		sorter->lanes[i].count = 0;
	sorter->lane_count = sorter->last_lane = sorter->used = 0;
	sorter->is_one = 0;
}

static void spill(struct sorter *sorter)
{
	size_t run = begin_run(sorter);

	order_memory(sorter);
	for (size_t lane = 0; lane < sorter->lane_count; lane++)
		for (size_t i = 0; i < sorter->lanes[lane].count; i++)
			write_entry(sorter, sorter->lanes[lane].order[i], (const uint8_t *)(sorter->lanes[lane].order[i] + 1));
	end_run(sorter, run);
	forget_lanes(sorter);
}

/* Too many lanes: all entries go to the first, to be sorted as one. */
static void make_one(struct sorter *sorter)
{
	struct lane *first = &sorter->lanes[0];

	for (size_t i = 1; i < sorter->lane_count; i++) {
		struct lane *lane = &sorter->lanes[i];
		first->order = base_grow(first->order, &first->room, first->count + lane->count, sizeof(*first->order));
		memcpy(first->order + first->count, lane->order, lane->count * sizeof(*lane->order));
		first->count += lane->count;
		lane->count = 0;
	}
	first->is_ordered = 0;
	sorter->lane_count = sorter->is_one = 1;
}

/* All keys of a lane begin with the same words. */
static int is_of(const struct sorter *sorter, const struct lane *lane, const struct entry *entry)
{
	const uint64_t *key = lane->order[0]->key;

	for (unsigned i = 0; i < sorter->lane_words; i++)
		if (key[i] != entry->key[i])
			return sorter->is_one;
	return 1;
}

static struct lane *lane_of(struct sorter *sorter, const struct entry *entry)
{
	if (sorter->lane_count && is_of(sorter, &sorter->lanes[sorter->last_lane], entry))
		return &sorter->lanes[sorter->last_lane];
	for (size_t i = 0; i < sorter->lane_count; i++)
		if (is_of(sorter, &sorter->lanes[i], entry))
			return &sorter->lanes[sorter->last_lane = i];
	sorter->last_lane = 0;
	if (sorter->lane_count == LANES_MOST) {
		make_one(sorter);
		return &sorter->lanes[0];
	}
	sorter->last_lane = sorter->lane_count++;
	sorter->lanes[sorter->last_lane].is_ordered = 1;
	return &sorter->lanes[sorter->last_lane];
}

/* The place of a new entry. What is nearly in order (ends of what was sorted by begin) needs no sorting later. */
static size_t move_back(struct lane *lane, const struct entry *entry)
{
	size_t at = lane->count, least = at > NEAR ? at - NEAR : 0;

	for (; lane->is_ordered && at > least && compare_keys(lane->order[at - 1], entry) > 0; at--)
		lane->order[at] = lane->order[at - 1];
	if (at > 0 && at == least && compare_keys(lane->order[at - 1], entry) > 0)
		lane->is_ordered = 0;
	return at;
}

void sorter_put(struct sorter *sorter, const uint64_t key[SORTER_WORDS], const void *bytes, size_t length)
{
	size_t need = sizeof(struct entry) + (length + 7) / 8 * 8;
	struct entry *entry;
	struct lane *lane;

	if (length > SORTER_LONGEST || sorter->is_reading || !sorter->memory)
		abort(); /* a mistake of the caller */
	if (sorter->used + need > sorter->room)
		spill(sorter);
	entry = (struct entry *)(void *)(sorter->memory + sorter->used);
	memcpy(entry->key, key, sizeof(entry->key));
	entry->length = length;
	if (length)
		memset((uint8_t *)entry + need - 8, 0, 8);
	memcpy(entry + 1, bytes, length);
	sorter->used += need;
	lane = lane_of(sorter, entry);
	lane->order = base_grow(lane->order, &lane->room, lane->count + 1, sizeof(*lane->order));
	size_t at = move_back(lane, entry);
	lane->count++;
	lane->order[at] = entry;
}

/* Reads on from the spool. */
static void refill(const struct sorter *sorter, struct run *run)
{
	size_t left = run->filled - run->used, room = BUFFER_BYTES - left;
	size_t wanted = run->end - run->at < room ? (size_t)(run->end - run->at) : room;

	memmove(run->buffer, run->buffer + run->used, left);
	if (spool_read(sorter->spool, run->at, run->buffer + left, wanted) != wanted)
		base_die("a temporary file cannot be read back; set TMPDIR to a folder of another disk");
	run->at += wanted;
	run->used = 0;
	run->filled = left + wanted;
}

/* Does the whole of the next entry lie in the buffer? */
static int has_next(const struct run *run)
{
	size_t left = run->filled - run->used;
	uint64_t head;

	if (left < sizeof(head))
		return 0;
	memcpy(&head, run->buffer + run->used, sizeof(head));
	return left >= (1 + (head >> 4 & 15)) * sizeof(head) + padded(head >> 8);
}

/* Goes on to the next entry of a run. Returns 0 at its end. */
static int next_front(const struct sorter *sorter, struct run *run)
{
	const uint64_t *from;
	uint64_t head;

	if (!has_next(run) && run->at < run->end)
		refill(sorter, run);
	run->bytes = NULL;
	if (run->used == run->filled)
		return 0;
	from = (const uint64_t *)(const void *)(run->buffer + run->used);
	head = *from++;
	for (unsigned i = 0; i < SORTER_WORDS; i++)
		if (head >> i & 1)
			run->front.key[i] = *from++;
	run->front.length = head >> 8;
	run->bytes = (const uint8_t *)from;
	run->used = (size_t)(run->bytes - run->buffer) + padded(run->front.length);
	return 1;
}

static int is_before(const struct run *a, const struct run *b)
{
	int order = compare_keys(&a->front, &b->front);

	return order ? order < 0 : a->end < b->end; /* of equal keys those of the earlier run */
}

/* Of the two below a place the one that comes first, if it comes before `run`; 0 = none does. */
static size_t find_earlier(const struct sorter *sorter, size_t at, const struct run *run)
{
	size_t child = 2 * at + 1;

	if (child + 1 < sorter->open_count && is_before(sorter->heap[child + 1], sorter->heap[child]))
		child++;
	return child < sorter->open_count && is_before(sorter->heap[child], run) ? child : 0;
}

static void sift_down(struct sorter *sorter, size_t at)
{
	struct run *moved = sorter->heap[at];

	for (size_t child; (child = find_earlier(sorter, at, moved)) != 0; at = child)
		sorter->heap[at] = sorter->heap[child];
	sorter->heap[at] = moved;
}

/* Opens `count` runs for merging, all of which hold entries. */
static void open_runs(struct sorter *sorter, const struct run *runs, size_t count)
{
	free(sorter->open);
	sorter->open = base_alloc(count, sizeof(*sorter->open));
	sorter->open_count = 0;
	sorter->is_taken = 0;
	for (size_t i = 0; i < count; i++) {
		struct run *run = &sorter->open[i];
		*run = runs[i];
		run->buffer = base_alloc(1, BUFFER_BYTES + BLOCK);
		if (next_front(sorter, run))
			sorter->heap[sorter->open_count++] = run;
		else
			free(run->buffer);
	}
	for (size_t at = sorter->open_count / 2; at-- > 0;)
		sift_down(sorter, at);
}

/* The run of the entry handed out last goes on behind it. */
static void pass_taken(struct sorter *sorter)
{
	struct run *run = sorter->heap[0];

	sorter->is_taken = 0;
	if (!next_front(sorter, run)) {
		free(run->buffer);
		sorter->heap[0] = sorter->heap[--sorter->open_count];
	}
	if (sorter->open_count > 1)
		sift_down(sorter, 0);
}

/* The run with the least entry of the open ones in front, until the next call. NULL at the end. */
static const struct run *take_least(struct sorter *sorter)
{
	if (sorter->is_taken)
		pass_taken(sorter);
	if (!sorter->open_count)
		return NULL;
	sorter->is_taken = 1;
	return sorter->heap[0];
}

/* Until there are no more runs than can be merged at once. The first ones are merged, so that order is kept. */
static void reduce_runs(struct sorter *sorter)
{
	while (sorter->run_count > SORTER_FAN) {
		size_t kept = 0, count = sorter->run_count;
		struct run *runs = sorter->runs;
		sorter->runs = NULL;
		sorter->run_room = sorter->run_count = 0;
		for (size_t from = 0; from < count; from += kept) {
			kept = count - from < SORTER_FAN ? count - from : SORTER_FAN;
			open_runs(sorter, runs + from, kept);
			size_t run = begin_run(sorter);
			for (const struct run *least; (least = take_least(sorter)) != NULL;)
				write_entry(sorter, &least->front, least->bytes);
			end_run(sorter, run);
		}
		free(runs);
	}
}

/* What is in memory, and the memory. */
static void spill_all(struct sorter *sorter)
{
	if (sorter->lane_count)
		spill(sorter);
	free(sorter->memory);
	sorter->memory = NULL;
	for (size_t i = 0; i < LANES_MOST; i++)
		free(sorter->lanes[i].order);
	memset(sorter->lanes, 0, sizeof(sorter->lanes));
}

void sorter_rest(struct sorter *sorter)
{
	if (!sorter->is_reading && sorter->used > SORTER_REST)
		spill_all(sorter);
}

static void begin_reading(struct sorter *sorter)
{
	sorter->is_reading = 1;
	if (!sorter->run_count) {
		order_memory(sorter);
		return;
	}
	spill_all(sorter);
	reduce_runs(sorter);
	open_runs(sorter, sorter->runs, sorter->run_count);
}

/* The next entry where all are in memory. */
static const struct entry *next_here(struct sorter *sorter)
{
	while (sorter->reading < sorter->lane_count && sorter->next == sorter->lanes[sorter->reading].count) {
		sorter->reading++;
		sorter->next = 0;
	}
	return sorter->reading == sorter->lane_count ? NULL : sorter->lanes[sorter->reading].order[sorter->next++];
}

const void *sorter_next(struct sorter *sorter, const uint64_t **key, size_t *length)
{
	const struct entry *entry;
	const struct run *run = NULL;

	if (!sorter->is_reading)
		begin_reading(sorter);
	if (sorter->run_count)
		run = take_least(sorter);
	entry = !sorter->run_count ? next_here(sorter) : run ? &run->front : NULL;
	if (!entry)
		return NULL;
	*key = entry->key;
	*length = (size_t)entry->length;
	return run ? (const void *)run->bytes : entry + 1;
}
