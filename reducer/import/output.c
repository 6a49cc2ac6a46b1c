/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of ours, written by an importer. See output.h.
 *
 * The records go through a sorter and then into chunk blocks, raw: a reader takes those as they are, and nothing has to be
 * encoded for a file that lives as long as one report.
 */
#include "reducer/import/output.h"

#include "reducer/base/base.h"
#include "reducer/base/index.h"
#include "reducer/base/sorter.h"
#include "reducer/base/spool.h"
#include "reducer/read/crc32c.h"
#include "reducer/read/schema.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define SORT_BYTES (8u << 20)
#define CHUNK_BYTES (256u << 10) /* records of one block */
#define FACTS_BYTES (1u << 20)	 /* of one block */
#define NAMES_MOST 65535u	 /* ids that the model takes (ops_scan.c) */
#define END_BIT (UINT64_C(1) << 63)

struct output {
	struct sorter *sorter;
	struct text facts, fact, chunk, names;
	struct base_index name_of, hash_of;
	size_t *name_at; /* in `names`, by id - 1 */
	size_t name_count, name_room, hash_count, hash_room;
	uint64_t *hashes;
	uint64_t lost, put;
	int has_device;
	struct tfp_thread_slot *threads;
	size_t thread_count, thread_room;
	uint64_t first_ns, last_ns;
	int spool;
	uint64_t end;
};

struct output *output_make(void)
{
	struct output *output = base_alloc(1, sizeof(*output));

	output->sorter = sorter_make(SORT_BYTES);
	output->spool = spool_open();
	output->end = PAGE;
	return output;
}

void output_free(struct output *output)
{
	if (!output)
		return;
	sorter_free(output->sorter);
	text_free(&output->facts);
	text_free(&output->fact);
	text_free(&output->chunk);
	text_free(&output->names);
	base_index_free(&output->name_of);
	base_index_free(&output->hash_of);
	free(output->name_at);
	free(output->hashes);
	free(output->threads);
	free(output);
}

/* Blocks. */

static void put_bytes(struct output *output, const void *bytes, size_t length)
{
	spool_write(output->spool, output->end, bytes, length);
	output->end += length;
}

/* A live block at the next page; its payload is as long as needed to end at one. */
static void put_block(struct output *output, unsigned type, uint32_t thread, const void *first, size_t first_bytes,
		      const void *payload, size_t bytes)
{
	struct tfp_block_header header = {
		.sync = TFP_BLOCK_SYNC, .header_bytes = sizeof(header), .type = (uint16_t)type, .is_live = 1, .thread = thread};
	uint64_t whole = (sizeof(header) + first_bytes + bytes + PAGE - 1) / PAGE * PAGE;

	header.encoded_bytes = header.raw_bytes = whole - sizeof(header);
	header.header_crc = crc32c(&header, offsetof(struct tfp_block_header, header_crc));
	uint64_t at = output->end;
	put_bytes(output, &header, sizeof(header));
	put_bytes(output, first, first_bytes);
	put_bytes(output, payload, bytes);
	output->end = at + whole;
}

/* What the records are, so that any reader knows. */
static void put_schema(struct output *output)
{
	struct tfp_block_header header = {.sync = TFP_BLOCK_SYNC, .header_bytes = sizeof(header), .type = TFP_BLOCK_SCHEMA};
	size_t bytes = 0;
	char *text = schema_text(&bytes);

	if (!text)
		base_die("out of memory");
	header.encoded_bytes = header.raw_bytes = bytes;
	header.payload_crc = crc32c(text, bytes);
	header.header_crc = crc32c(&header, offsetof(struct tfp_block_header, header_crc));
	put_bytes(output, &header, sizeof(header));
	put_bytes(output, text, bytes);
	output->end = (output->end + PAGE - 1) / PAGE * PAGE;
	free(text);
}

static void flush_facts(struct output *output)
{
	if (output->facts.length)
		put_block(output, TFP_BLOCK_FACTS, 0, NULL, 0, output->facts.bytes, output->facts.length);
	text_clear(&output->facts);
}

/* Facts. */

void output_fact(struct output *output, unsigned tag)
{
	const struct tfp_fact head = {.tag = (uint16_t)tag, .state = 1};

	output->has_device |= tag == TFP_TAG_queue;
	text_clear(&output->fact);
	text_put(&output->fact, &head, sizeof(head));
}

void output_number(struct output *output, uint64_t number)
{
	text_put(&output->fact, &number, sizeof(number));
}

void output_text(struct output *output, const char *text, size_t length)
{
	uint32_t bytes = (uint32_t)length;

	text_put(&output->fact, &bytes, sizeof(bytes));
	text_put(&output->fact, text, bytes);
}

void output_fact_end(struct output *output)
{
	uint32_t bytes = (uint32_t)((output->fact.length + 7) / 8 * 8);

	text_fill(&output->fact, 0, bytes - output->fact.length);
	memcpy(output->fact.bytes + offsetof(struct tfp_fact, bytes), &bytes, sizeof(bytes));
	text_put(&output->facts, output->fact.bytes, output->fact.length);
	if (output->facts.length > FACTS_BYTES)
		flush_facts(output);
}

void output_pair(struct output *output, unsigned tag, const char *name, const char *value)
{
	output_fact(output, tag);
	output_text(output, name, strlen(name));
	output_text(output, value, strlen(value));
	if (tag == TFP_TAG_setting)
		output_number(output, 1);
	output_fact_end(output);
}

/* Names. */

struct key {
	const char *text;
	size_t length;
};

static bool is_name(const void *context, const void *key, uint32_t number)
{
	const struct output *output = context;
	const struct key *wanted = key;
	const char *text = output->names.bytes + output->name_at[number];

	return strncmp(text, wanted->text, wanted->length) == 0 && text[wanted->length] == 0;
}

uint32_t output_name(struct output *output, const char *text, size_t length)
{
	struct key key = {text, strnlen(text, length < 4096 ? length : 4096)}; /* as long as the library keeps them */
	uint64_t hash = base_hash(BASE_HASH, text, key.length);
	uint32_t known = key.length ? base_index_find(&output->name_of, hash, is_name, output, &key) : 0;

	if (!key.length)
		return 0;
	if (known != UINT32_MAX)
		return known + 1;
	if (output->name_count == NAMES_MOST) {
		output->lost++;
		return 0;
	}
	output->name_at = base_grow(output->name_at, &output->name_room, output->name_count + 1, sizeof(*output->name_at));
	output->name_at[output->name_count] = output->names.length;
	text_put(&output->names, key.text, key.length);
	text_char(&output->names, 0);
	base_index_add(&output->name_of, hash, (uint32_t)output->name_count++);
	output_fact(output, TFP_TAG_op_name);
	output_number(output, output->name_count);
	output_text(output, key.text, key.length);
	output_fact_end(output);
	return (uint32_t)output->name_count;
}

uint64_t output_names_lost(const struct output *output)
{
	return output->lost;
}

static bool is_hash(const void *context, const void *key, uint32_t number)
{
	return ((const struct output *)context)->hashes[number] == *(const uint64_t *)key;
}

uint64_t output_string(struct output *output, const char *text, size_t length)
{
	uint64_t hash = base_hash(BASE_HASH, text, length);

	if (base_index_find(&output->hash_of, hash, is_hash, output, &hash) != UINT32_MAX)
		return hash;
	output->hashes = base_grow(output->hashes, &output->hash_room, output->hash_count + 1, sizeof(*output->hashes));
	output->hashes[output->hash_count] = hash;
	base_index_add(&output->hash_of, hash, (uint32_t)output->hash_count++);
	output_fact(output, TFP_TAG_string);
	output_number(output, hash);
	output_text(output, text, length);
	output_fact_end(output);
	return hash;
}

/* Threads and records. */

uint32_t output_thread(struct output *output, uint32_t tid, const char *name)
{
	struct tfp_thread_slot *slot;

	output->threads = base_grow(output->threads, &output->thread_room, output->thread_count + 1, sizeof(*output->threads));
	slot = &output->threads[output->thread_count++];
	*slot = (struct tfp_thread_slot){.state = 1, .serial = (uint32_t)output->thread_count, .tid = tid};
	memcpy(slot->name, name, strnlen(name, sizeof(slot->name)));
	return slot->serial;
}

void output_add(struct output_group *group, const void *record, size_t bytes)
{
	if (group->used + bytes > sizeof(group->bytes))
		return;
	memcpy(group->bytes + group->used, record, bytes);
	group->used += bytes;
}

void output_put(struct output *output, uint32_t thread, const struct output_time *when, const void *records, size_t bytes)
{
	uint64_t length = when->end_ns - when->begin_ns;
	/* At one time: ends first, the one that began last foremost; then begins, the longest foremost. */
	uint64_t key[SORTER_WORDS] = {thread, when->time_ns, when->is_end ? ~when->begin_ns >> 1 : END_BIT | ~length >> 1,
				      output->put};

	if (when->is_end)
		key[3] = ~key[3];
	if (output->put++ == 0 || when->begin_ns < output->first_ns)
		output->first_ns = when->begin_ns;
	output->last_ns = when->end_ns > output->last_ns ? when->end_ns : output->last_ns;
	sorter_put(output->sorter, key, records, bytes);
}

uint64_t output_first_ns(const struct output *output)
{
	return output->first_ns;
}

static void put_chunk(struct output *output, struct tfp_chunk chunk, const void *records, size_t bytes)
{
	chunk.used = chunk.size_bytes = bytes;
	put_block(output, TFP_BLOCK_CHUNK, chunk.thread, &chunk, sizeof(chunk), records, bytes);
}

static void flush_chunk(struct output *output, uint32_t thread, uint64_t *sequence)
{
	if (!output->chunk.length)
		return;
	put_chunk(output, (struct tfp_chunk){.sequence = *sequence, .thread = thread}, output->chunk.bytes, output->chunk.length);
	text_clear(&output->chunk);
	++*sequence;
}

/* The device's clock is the file's own. In a lane of its own, so that no order is disturbed. */
static void put_clock(struct output *output, uint64_t origin_ns)
{
	const struct tfp_record_gpu_clock clock = {.word = TFP_TAG_gpu_clock, .timestamp = origin_ns};

	put_chunk(output, (struct tfp_chunk){.sequence = 1, .thread = 1, .lane = 1}, &clock, sizeof(clock));
}

/* Puts the time into the first word of each record; their lengths follow from their tags. */
static void set_times(uint8_t *records, size_t bytes, uint64_t ticks)
{
	static const uint16_t lengths[256] = {
#define TFP_EVENT(tag, name, help) [tag] = sizeof(struct tfp_record_##name),
#define TFP_FACT(tag, name, help)
#define TFP_FIELD(name, type, unit, transform, help)
#define TFP_END()
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END
	};

	for (size_t at = 0; at < bytes; at += lengths[records[at]]) {
		uint64_t word = ticks << TFP_TAG_BITS | records[at];
		memcpy(records + at, &word, sizeof(word));
	}
}

/* A word holds 56 bits of time: two years of nanoseconds. What lies beyond stands at its end. */
static uint64_t ticks_of(uint64_t time_ns, uint64_t origin_ns)
{
	uint64_t most = (UINT64_C(1) << (64 - TFP_TAG_BITS)) - 1, ticks = time_ns > origin_ns ? time_ns - origin_ns : 0;

	return ticks < most ? ticks : most;
}

static void put_records(struct output *output, uint64_t origin_ns)
{
	const uint64_t *key;
	uint64_t sequence = 1;
	uint32_t thread = 0;
	const void *records;
	size_t bytes;

	while ((records = sorter_next(output->sorter, &key, &bytes)) != NULL) {
		if ((uint32_t)key[0] != thread || output->chunk.length + bytes > CHUNK_BYTES)
			flush_chunk(output, thread, &sequence);
		if ((uint32_t)key[0] != thread)
			sequence = 1;
		thread = (uint32_t)key[0];
		text_put(&output->chunk, records, bytes);
		set_times((uint8_t *)output->chunk.bytes + output->chunk.length - bytes, bytes, ticks_of(key[1], origin_ns));
	}
	flush_chunk(output, thread, &sequence);
}

static void put_header(struct output *output, const struct output_header *from)
{
	struct tfp_file_header header = {.major = TFP_FORMAT_MAJOR,
					 .minor = TFP_FORMAT_MINOR,
					 .header_bytes = sizeof(header),
					 .byte_order = TFP_BYTE_ORDER,
					 .page_bytes = PAGE,
					 .log_id = from->log_id,
					 .pid = from->pid,
					 .clock_kind = TFP_CLOCK_MONOTONIC,
					 .clock_hz = 1000000000,
					 .live_offset = TFP_LIVE_OFFSET,
					 .live_bytes = sizeof(struct tfp_file_live),
					 .thread_slot_bytes = sizeof(struct tfp_thread_slot),
					 .loss_count = TFP_LOSS_SLOTS};
	struct tfp_file_live live = {.file_end = output->end,
				     .threads_count = output->thread_count,
				     .end_kind = TFP_END_IMPORTED,
				     .end_time = output->last_ns > from->origin_ns ? output->last_ns - from->origin_ns : 0,
				     .heap_mode = TFP_MODE_PASS};
	uint8_t page[PAGE] = {0};

	memcpy(header.magic, TFP_FILE_MAGIC, sizeof(header.magic));
	memcpy(header.job_id, from->job, sizeof(header.job_id));
	memcpy(header.boot_id, &from->log_id, sizeof(from->log_id)); /* a clock of its own */
	memcpy(header.command, from->command, strnlen(from->command, sizeof(header.command)));
	header.origin = (struct tfp_clock_set){.realtime_ns = from->origin_ns};
	header.header_crc = crc32c(&header, offsetof(struct tfp_file_header, header_crc));
	memcpy(page, &header, sizeof(header));
	memcpy(page + TFP_LIVE_OFFSET, &live, sizeof(live));
	spool_write(output->spool, 0, page, sizeof(page));
}

int output_finish(struct output *output, const struct output_header *header)
{
	put_schema(output);
	if (output->has_device)
		put_clock(output, header->origin_ns);
	if (output->thread_count)
		put_block(output, TFP_BLOCK_THREADS, 0, NULL, 0, output->threads,
			  output->thread_count * sizeof(*output->threads));
	put_records(output, header->origin_ns);
	flush_facts(output);
	/* The last block's padding is a hole: the file must reach to its end. */
	spool_write(output->spool, output->end - 1, "", 1);
	put_header(output, header);
	return output->spool;
}
