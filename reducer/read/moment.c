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
	free(moment);
}

/* Room for one more of an array that doubles. NULL without memory: the array stays. */
static void *room_for(void *array, size_t count, size_t bytes)
{
	if (count != 0 && (count < 8 || (count & (count - 1)) != 0))
		return array;
	return realloc(array, (count == 0 ? 8 : count * 2) * bytes);
}

static int take_slot(void *context, const struct tfp_thread_slot *slot)
{
	struct log *log = context;
	struct moment *moment = log->moment;
	struct tfp_thread_slot *slots;

	if (slot->serial == 0) /* being cleared for its next thread */
		return 0;
	for (size_t i = 0; i < moment->slot_count; i++) {
		if (moment->slots[i].serial != slot->serial)
			continue;
		log->is_running |= memcmp(&moment->slots[i], slot, sizeof *slot) != 0;
		return 0;
	}
	slots = room_for(moment->slots, moment->slot_count, sizeof *slots);
	if (slots == NULL)
		return -1;
	moment->slots = slots;
	slots[moment->slot_count++] = *slot;
	return 0;
}

void moment_take_slots(struct log *log)
{
	for (size_t i = 0; i < log->block_count; i++)
		if (log->blocks[i].header.type == TFP_BLOCK_THREADS)
			log_block_slots(log, &log->blocks[i], take_slot, log);
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

const struct moment_chunk *moment_find(const struct moment *moment, uint64_t offset, uint64_t sequence)
{
	for (size_t i = 0; moment != NULL && i < moment->chunk_count; i++)
		if (moment->chunks[i].offset == offset && moment->chunks[i].sequence == sequence)
			return &moment->chunks[i];
	return NULL;
}
