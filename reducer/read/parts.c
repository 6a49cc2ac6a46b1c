/* SPDX-License-Identifier: Apache-2.0 */
/* What is neither a record nor a stack: thread slots, facts, the end block. See log.h. */
#include "reducer/read/log.h"

#include "reducer/read/moment.h"
#include "reducer/read/schema.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 4
#define LIVE_BYTES_MAX (UINT64_C(1) << 30) /* of one block of facts, pcs or nodes that is believed */

/* The payload of a live block as it stands now. NULL when there is nothing to read. */
static uint8_t *read_live_block(const struct log *log, const struct log_block *block, size_t *bytes)
{
	uint8_t *payload;

	*bytes = 0;
	if (block->payload_bytes > LIVE_BYTES_MAX)
		diag_add(log->diags, DIAG_DAMAGE, log->path, block->offset, "", "the block claims an impossible size");
	if (block->payload_bytes == 0 || block->payload_bytes > LIVE_BYTES_MAX)
		return NULL;
	payload = malloc(block->payload_bytes);
	if (payload != NULL)
		*bytes = log_pread(log, block->payload, payload, block->payload_bytes);
	return payload;
}

/* The same of facts, which are seldom written: one that is written in between, its first word last seen, would look like damage. */
static uint8_t *read_facts(const struct log *log, const struct log_block *block, size_t *bytes)
{
	uint8_t *facts = read_live_block(log, block, bytes), *again = facts;

	for (int i = 0; log->is_running && again != NULL && i < TRIES; i++) {
		size_t before = *bytes;

		facts = again;
		again = read_live_block(log, block, bytes);
		int is_same = again != NULL && before == *bytes && memcmp(facts, again, before) == 0;
		free(facts);
		if (is_same)
			break;
	}
	return again;
}

/* A slot as this program knows it, from one of another version: fewer losses, or a shorter tail. */
static void copy_slot(const struct log *log, const uint8_t *from, size_t stride, struct tfp_thread_slot *slot)
{
	size_t losses = offsetof(struct tfp_thread_slot, losses), kept = log->header.loss_count;

	memset(slot, 0, sizeof *slot);
	memcpy(slot, from, stride < losses ? stride : losses);
	if (kept > TFP_LOSS_SLOTS)
		kept = TFP_LOSS_SLOTS;
	if (stride > losses && (stride - losses) / sizeof(struct tfp_loss_slot) < kept)
		kept = (stride - losses) / sizeof(struct tfp_loss_slot);
	if (stride > losses)
		memcpy(slot->losses, from + losses, kept * sizeof(struct tfp_loss_slot));
	size_t tail = losses + log->header.loss_count * sizeof(struct tfp_loss_slot);
	size_t known = sizeof *slot - offsetof(struct tfp_thread_slot, reserved);
	if (stride > tail)
		memcpy(slot->reserved, from + tail, stride - tail < known ? stride - tail : known);
}

int log_block_slots(const struct log *log, const struct log_block *block, log_slot_visit *visit, void *context)
{
	size_t stride = log->header.thread_slot_bytes, bytes;
	uint8_t *payload;
	int result = 0;

	if (stride < offsetof(struct tfp_thread_slot, losses) || stride % 8 != 0)
		return 0;
	payload = read_live_block(log, block, &bytes);
	for (size_t at = 0; payload != NULL && bytes - at >= stride && result == 0; at += stride) {
		struct tfp_thread_slot slot;

		copy_slot(log, payload + at, stride, &slot);
		if (slot.state != 0)
			result = visit(context, &slot);
	}
	free(payload);
	return result;
}

int log_slots(const struct log *log, log_slot_visit *visit, void *context)
{
	int result = 0;

	for (size_t i = 0; log->moment != NULL && i < log->moment->slot_count && result == 0; i++)
		result = visit(context, &log->moment->slots[i]);
	for (size_t i = 0; log->moment == NULL && i < log->block_count && result == 0; i++)
		if (log->blocks[i].header.type == TFP_BLOCK_THREADS)
			result = log_block_slots(log, &log->blocks[i], visit, context);
	return result;
}

/* Reads one value of a fact. Returns the bytes it takes, or 0 when it does not fit. */
static size_t take_value(const uint8_t *at, size_t left, enum schema_type type, struct fact_value *value)
{
	uint32_t length;

	*value = (struct fact_value){0};
	if (type != TYPE_STR) {
		if (left < 8)
			return 0;
		memcpy(&value->number, at, 8);
		return 8;
	}
	if (left < 4)
		return 0;
	memcpy(&length, at, 4);
	if (length > left - 4)
		return 0;
	value->text = (const char *)at + 4;
	value->length = length;
	return 4 + (size_t)length;
}

/* The fact at `at`, whose header was read and fits. */
static void take_fact(const struct log *log, const uint8_t *at, const struct tfp_fact *header, struct fact *fact)
{
	const struct schema_record *record = header->tag < 256 ? log->schema->records[header->tag] : NULL;
	size_t done = sizeof *header, taken = 1;

	fact->tag = header->tag;
	fact->time = header->time;
	fact->count = 0;
	while (record != NULL && record->is_fact && fact->count < record->field_count && fact->count < FACT_FIELDS_MAX) {
		taken = take_value(at + done, header->bytes - done, record->fields[fact->count].type, &fact->values[fact->count]);
		if (taken == 0)
			break;
		done += taken;
		fact->count++;
	}
}

int log_block_facts(const struct log *log, const struct log_block *block, log_fact_visit *visit, void *context, uint64_t *bad)
{
	size_t bytes;
	uint8_t *payload = read_facts(log, block, &bytes);
	int result = 0;

	*bad = 0;
	/* A word of zeros is room that was reserved and never filled: the next fact may follow. */
	for (size_t at = 0, step; payload != NULL && bytes - at >= sizeof(struct tfp_fact) && result == 0; at += step) {
		struct tfp_fact header;
		struct fact fact = {.offset = block->payload + at};

		memcpy(&header, payload + at, sizeof header);
		step = header.bytes == 0 ? 8 : header.bytes;
		if (header.bytes == 0)
			continue;
		if (header.bytes < sizeof header || header.bytes % 8 != 0 || header.bytes > bytes - at) {
			*bad = fact.offset;
			break;
		}
		take_fact(log, payload + at, &header, &fact);
		if (header.state == 1)
			result = visit(context, &fact);
	}
	free(payload);
	return result;
}

int log_facts(const struct log *log, log_fact_visit *visit, void *context)
{
	uint64_t bad;
	int result = 0;

	for (size_t i = 0; i < log->block_count && result == 0; i++) {
		if (log->blocks[i].header.type != TFP_BLOCK_FACTS)
			continue;
		result = log_block_facts(log, &log->blocks[i], visit, context, &bad);
		if (bad != 0)
			diag_add(log->diags, DIAG_DAMAGE, log->path, bad, "",
				 "a fact has an impossible size; those behind it are lost");
	}
	return result;
}

int log_end(const struct log *log, struct tfp_end_payload *end)
{
	for (size_t i = log->block_count; i-- > 0;) {
		uint8_t *payload;
		size_t bytes;

		if (log->blocks[i].header.type != TFP_BLOCK_END)
			continue;
		payload = log_sealed(log, &log->blocks[i], &bytes);
		if (payload != NULL && bytes >= offsetof(struct tfp_end_payload, memory_limit_bytes)) {
			memset(end, 0, sizeof *end);
			memcpy(end, payload, bytes < sizeof *end ? bytes : sizeof *end);
			free(payload);
			return 1;
		}
		free(payload);
	}
	return 0;
}
