/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks and slots of a log that is being written. See moment.h. */
#include "reducer/read/moment.h"

#include <stdlib.h>
#include <string.h>

#define COPIES_MOST (UINT64_C(256) << 20) /* bytes of one log: a thousand busy threads; what is more is read where it stands */
#define TRIES 4 /* a thread that fills its chunk while 64 KiB of it are copied, four times over, does nothing else */

struct moment *moment_make(void)
{
	return calloc(1, sizeof(struct moment));
}

void moment_free(struct moment *moment)
{
	if (moment == NULL)
		return;
	for (size_t i = 0; i < moment->chunk_count; i++)
		free(moment->chunks[i].raw);
	free(moment->chunks);
	free(moment->slots);
	free(moment->slot_index);
	free(moment);
}

/* Room for one more of an array that doubles. NULL without memory: the array stays. */
static void *room_for(void *array, size_t count, size_t bytes)
{
	if (count != 0 && (count < 8 || (count & (count - 1)) != 0))
		return array;
	return realloc(array, (count == 0 ? 8 : count * 2) * bytes);
}

/* Where the index names the first slot of that serial, or where it would. */
static uint32_t *slot_place(const struct moment *moment, uint32_t serial)
{
	size_t mask = moment->slot_index_size - 1, at = serial * UINT64_C(0x9e3779b97f4a7c15) >> 40 & mask;

	while (moment->slot_index[at] != 0 && moment->slots[moment->slot_index[at] - 1].serial != serial)
		at = (at + 1) & mask;
	return &moment->slot_index[at];
}

/* Room in the index for one more. Returns -1 without memory. */
static int grow_index(struct moment *moment)
{
	size_t size = moment->slot_index_size == 0 ? 64 : moment->slot_index_size * 2;
	uint32_t *index;

	if ((moment->slot_count + 1) * 2 <= moment->slot_index_size)
		return 0;
	index = calloc(size, sizeof *index);
	if (index == NULL)
		return -1;
	free(moment->slot_index);
	moment->slot_index = index;
	moment->slot_index_size = size;
	for (size_t i = 0; i < moment->slot_count; i++) {
		uint32_t *place = slot_place(moment, moment->slots[i].serial);

		if (*place == 0)
			*place = (uint32_t)i + 1;
	}
	return 0;
}

static int take_slot(void *context, const struct tfp_thread_slot *slot)
{
	struct log *log = context;
	struct moment *moment = log->moment;
	struct tfp_thread_slot *slots;
	uint32_t *place;

	if (slot->serial == 0 && moment->is_later) /* being cleared for its next thread */
		return 0;
	slots = grow_index(moment) != 0 ? NULL : room_for(moment->slots, moment->slot_count, sizeof *slots);
	if (slots == NULL)
		return -1;
	moment->slots = slots;
	if (slot->serial == 0) { /* the same, and has what its threads before counted */
		slots[moment->slot_count++] = *slot;
		return 0;
	}
	place = slot_place(moment, slot->serial);
	if (*place != 0 && moment->is_later) {
		log->is_running |= !moment->has_twins && memcmp(&slots[*place - 1], slot, sizeof *slot) != 0;
		return 0;
	}
	moment->has_twins |= *place != 0;
	if (*place == 0)
		*place = (uint32_t)moment->slot_count + 1;
	slots[moment->slot_count] = *slot;
	if (moment->is_later) /* its threads before were counted when the slots were first taken, or came later */
		slots[moment->slot_count].ended_through = 0;
	moment->slot_count++;
	return 0;
}

void moment_take_slots(struct log *log)
{
	for (size_t i = 0; i < log->block_count; i++)
		if (log->blocks[i].header.type == TFP_BLOCK_THREADS)
			log_block_slots(log, &log->blocks[i], take_slot, log);
	log->moment->is_later = 1;
}

static int is_same(const struct tfp_chunk *before, const struct tfp_chunk *after)
{
	return before->sequence == after->sequence && before->thread == after->thread && before->lane == after->lane &&
	       after->used >= before->used;
}

/* Head and records as they stood together, or NULL. */
static uint8_t *copy_records(const struct log *log, const struct log_block *block, struct tfp_chunk *head)
{
	struct tfp_chunk after = {0};

	*head = (struct tfp_chunk){0};
	for (int i = 0; i < TRIES; i++) {
		if (block->payload_bytes < sizeof *head || log_pread(log, block->payload, head, sizeof *head) < sizeof *head ||
		    head->used == 0 || head->sequence == 0 || head->used > block->payload_bytes - sizeof *head ||
		    head->used > TFP_RAW_MAX || log->moment->bytes + head->used > COPIES_MOST)
			return NULL;
		uint8_t *raw = malloc(head->used);
		if (raw == NULL)
			return NULL;
		if (log_pread(log, block->payload + sizeof *head, raw, head->used) == head->used &&
		    log_pread(log, block->payload, &after, sizeof after) == sizeof after && is_same(head, &after))
			return raw;
		free(raw);
	}
	return NULL;
}

const struct moment_chunk *moment_take_chunk(struct log *log, const struct log_block *block, struct tfp_chunk *head)
{
	struct moment *moment = log->moment;
	uint8_t *raw = copy_records(log, block, head);
	struct moment_chunk *chunks = raw == NULL ? NULL : room_for(moment->chunks, moment->chunk_count, sizeof *chunks);

	if (chunks == NULL) {
		free(raw);
		return NULL;
	}
	moment->chunks = chunks;
	moment->bytes += head->used;
	chunks[moment->chunk_count] =
		(struct moment_chunk){.offset = block->offset, .sequence = head->sequence, .raw = raw, .bytes = head->used};
	return &chunks[moment->chunk_count++];
}

static int by_place(const void *left, const void *right)
{
	const struct moment_chunk *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static int by_offset(const void *left, const void *right)
{
	const struct log_block *a = left, *b = right;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

void moment_sort(struct log *log)
{
	if (log->moment->chunk_count != 0)
		qsort(log->moment->chunks, log->moment->chunk_count, sizeof *log->moment->chunks, by_place);
	if (log->block_count != 0)
		qsort(log->blocks, log->block_count, sizeof *log->blocks, by_offset);
}

const struct moment_chunk *moment_find(const struct moment *moment, uint64_t offset, uint64_t sequence)
{
	struct moment_chunk wanted = {.offset = offset, .sequence = sequence};

	return moment == NULL || moment->chunk_count == 0
		       ? NULL
		       : bsearch(&wanted, moment->chunks, moment->chunk_count, sizeof wanted, by_place);
}
