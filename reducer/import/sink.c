/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of ours, written by an importer. See sink.h.
 *
 * The records go into chunk blocks, raw: a reader takes those as they are, and nothing has to be encoded for a file that lives as
 * long as one report. What is promised in order goes there at once, all else through a sorter.
 */
#include "reducer/import/sink.h"

#include "reducer/base/base.h"
#include "reducer/base/index.h"
#include "reducer/base/sorter.h"
#include "reducer/base/spool.h"
#include "reducer/import/crossed.h"
#include "reducer/import/order.h"
#include "reducer/read/crc32c.h"
#include "reducer/read/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u
#define SORT_BYTES (8u << 20)
#define CHUNK_BYTES (256u << 10) /* records of one block */
#define FACTS_BYTES (1u << 20)	 /* of one block */
#define SLOT_BYTES offsetof(struct tfp_thread_slot, losses)
#define SLOTS_BYTES (256u << 10) /* of one block */
#define NAMES_MOST 65535u	 /* ids that the model takes (ops_scan.c) */
#define END_BIT (UINT64_C(1) << 63)
#define TIME_PARTS 256u	    /* of the times that importers take, below 1 << 62 */
#define TIME_PART_BITS 54u  /* ns of each: 208 days */
#define TIME_PARTS_KEPT 3u  /* and what begins in the last one may take as long again: 56 bits in all */

struct sink {
	struct sorter *sorter;
	struct order *order; /* of the stream at hand, where all come in order; NULL = they go to the sorter */
	int may_order, is_disordered;
	uint64_t origin_ns; /* promised: where the first begins */
	uint32_t thread;    /* whose chunk is being filled */
	uint64_t sequence;  /* its number */
	struct text facts, fact, chunk, names;
	struct base_index name_of, hash_of;
	size_t *name_at; /* in `names`, by id - 1 */
	size_t name_count, name_room, hash_count, hash_room;
	uint64_t *hashes;
	uint64_t lost, put;
	int has_device;
	struct named {
		uint32_t tid;
		char name[sizeof(((struct tfp_thread_slot *)NULL)->name)];
	} *threads; /* by serial - 1 */
	size_t thread_count, thread_room;
	uint64_t first_ns, last_ns;
	uint64_t from_ns, to_ns;	 /* what begins elsewhere has no place; to_ns 0 = all has */
	uint64_t begun[TIME_PARTS]; /* how many were put that began in each part */
	struct crossed crossed;
	int spool;
	uint64_t end;
};

struct sink *sink_make(int may_order)
{
	struct sink *sink = base_alloc(1, sizeof(*sink));

	sink->sorter = sorter_make(SORT_BYTES, 1);
	sink->may_order = may_order;
	sink->spool = spool_open();
	sink->end = PAGE;
	return sink;
}

void sink_free(struct sink *sink)
{
	if (!sink)
		return;
	sorter_free(sink->sorter);
	if (sink->order)
		order_free(sink->order);
	free(sink->order);
	crossed_free(&sink->crossed);
	if (sink->spool >= 0)
		close(sink->spool);
	text_free(&sink->facts);
	text_free(&sink->fact);
	text_free(&sink->chunk);
	text_free(&sink->names);
	base_index_free(&sink->name_of);
	base_index_free(&sink->hash_of);
	free(sink->name_at);
	free(sink->hashes);
	free(sink->threads);
	free(sink);
}

/* Blocks. */

static void put_bytes(struct sink *sink, const void *bytes, size_t length)
{
	spool_write(sink->spool, sink->end, bytes, length);
	sink->end += length;
}

/* A live block at the next page; its payload is as long as needed to end at one. */
static void put_block(struct sink *sink, unsigned type, uint32_t thread, const void *first, size_t first_bytes,
		      const void *payload, size_t bytes)
{
	struct tfp_block_header header = {
		.sync = TFP_BLOCK_SYNC, .header_bytes = sizeof(header), .type = (uint16_t)type, .is_live = 1, .thread = thread};
	uint64_t whole = (sizeof(header) + first_bytes + bytes + PAGE - 1) / PAGE * PAGE;

	header.encoded_bytes = header.raw_bytes = whole - sizeof(header);
	header.header_crc = crc32c(&header, offsetof(struct tfp_block_header, header_crc));
	uint64_t at = sink->end;
	put_bytes(sink, &header, sizeof(header));
	put_bytes(sink, first, first_bytes);
	put_bytes(sink, payload, bytes);
	sink->end = at + whole;
}

/* What the records are, so that any reader knows. */
static void put_schema(struct sink *sink)
{
	struct tfp_block_header header = {.sync = TFP_BLOCK_SYNC, .header_bytes = sizeof(header), .type = TFP_BLOCK_SCHEMA};
	size_t bytes = 0;
	char *text = schema_text(&bytes);

	if (!text)
		base_die("out of memory");
	header.encoded_bytes = header.raw_bytes = bytes;
	header.payload_crc = crc32c(text, bytes);
	header.header_crc = crc32c(&header, offsetof(struct tfp_block_header, header_crc));
	put_bytes(sink, &header, sizeof(header));
	put_bytes(sink, text, bytes);
	sink->end = (sink->end + PAGE - 1) / PAGE * PAGE;
	free(text);
}

static void flush_facts(struct sink *sink)
{
	if (sink->facts.length)
		put_block(sink, TFP_BLOCK_FACTS, 0, NULL, 0, sink->facts.bytes, sink->facts.length);
	text_clear(&sink->facts);
}

/* Facts. */

void sink_fact(struct sink *sink, unsigned tag)
{
	const struct tfp_fact head = {.tag = (uint16_t)tag, .state = 1};

	sink->has_device |= tag == TFP_TAG_queue;
	text_clear(&sink->fact);
	text_put(&sink->fact, &head, sizeof(head));
}

void sink_number(struct sink *sink, uint64_t number)
{
	text_put(&sink->fact, &number, sizeof(number));
}

void sink_text(struct sink *sink, const char *text, size_t length)
{
	uint32_t bytes = (uint32_t)length;

	text_put(&sink->fact, &bytes, sizeof(bytes));
	text_put(&sink->fact, text, bytes);
}

void sink_fact_end(struct sink *sink)
{
	uint32_t bytes = (uint32_t)((sink->fact.length + 7) / 8 * 8);

	text_fill(&sink->fact, 0, bytes - sink->fact.length);
	memcpy(sink->fact.bytes + offsetof(struct tfp_fact, bytes), &bytes, sizeof(bytes));
	text_put(&sink->facts, sink->fact.bytes, sink->fact.length);
	if (sink->facts.length > FACTS_BYTES)
		flush_facts(sink);
}

void sink_pair(struct sink *sink, unsigned tag, const char *name, const char *value)
{
	sink_fact(sink, tag);
	sink_text(sink, name, strlen(name));
	sink_text(sink, value, strlen(value));
	if (tag == TFP_TAG_setting)
		sink_number(sink, 1);
	sink_fact_end(sink);
}

/* Names. */

struct key {
	const char *text;
	size_t length;
};

static bool is_name(const void *context, const void *key, uint32_t number)
{
	const struct sink *sink = context;
	const struct key *wanted = key;
	const char *text = sink->names.bytes + sink->name_at[number];

	return strncmp(text, wanted->text, wanted->length) == 0 && text[wanted->length] == 0;
}

uint32_t sink_name(struct sink *sink, const char *text, size_t length)
{
	struct key key = {text, strnlen(text, length < 4096 ? length : 4096)}; /* as long as the library keeps them */
	uint64_t hash = base_hash(BASE_HASH, text, key.length);
	uint32_t known = key.length ? base_index_find(&sink->name_of, hash, is_name, sink, &key) : 0;

	if (!key.length)
		return 0;
	if (known != UINT32_MAX)
		return known + 1;
	if (sink->name_count == NAMES_MOST) {
		sink->lost++;
		return 0;
	}
	sink->name_at = base_grow(sink->name_at, &sink->name_room, sink->name_count + 1, sizeof(*sink->name_at));
	sink->name_at[sink->name_count] = sink->names.length;
	text_put(&sink->names, key.text, key.length);
	text_char(&sink->names, 0);
	base_index_add(&sink->name_of, hash, (uint32_t)sink->name_count++);
	sink_fact(sink, TFP_TAG_op_name);
	sink_number(sink, sink->name_count);
	sink_text(sink, key.text, key.length);
	sink_fact_end(sink);
	return (uint32_t)sink->name_count;
}

uint64_t sink_names_lost(const struct sink *sink)
{
	return sink->lost;
}

static bool is_hash(const void *context, const void *key, uint32_t number)
{
	return ((const struct sink *)context)->hashes[number] == *(const uint64_t *)key;
}

uint64_t sink_string(struct sink *sink, const char *text, size_t length)
{
	uint64_t hash = base_hash(BASE_HASH, text, length);

	if (base_index_find(&sink->hash_of, hash, is_hash, sink, &hash) != UINT32_MAX)
		return hash;
	sink->hashes = base_grow(sink->hashes, &sink->hash_room, sink->hash_count + 1, sizeof(*sink->hashes));
	sink->hashes[sink->hash_count] = hash;
	base_index_add(&sink->hash_of, hash, (uint32_t)sink->hash_count++);
	sink_fact(sink, TFP_TAG_string);
	sink_number(sink, hash);
	sink_text(sink, text, length);
	sink_fact_end(sink);
	return hash;
}

/* Threads and records. */

uint32_t sink_thread(struct sink *sink, uint32_t tid)
{
	sink->threads = base_grow(sink->threads, &sink->thread_room, sink->thread_count + 1, sizeof(*sink->threads));
	sink->threads[sink->thread_count++] = (struct named){.tid = tid};
	return (uint32_t)sink->thread_count;
}

void sink_thread_name(struct sink *sink, uint32_t serial, const char *name, size_t length)
{
	struct named *thread = &sink->threads[serial - 1];

	memset(thread->name, 0, sizeof(thread->name));
	memcpy(thread->name, name, length < sizeof(thread->name) ? length : sizeof(thread->name));
}

/* A thread's slot: up to what nobody counted of threads in a foreign file. */
static void put_threads(struct sink *sink)
{
	struct text slots = {0};

	for (size_t i = 0; i < sink->thread_count; i++) {
		struct tfp_thread_slot slot = {.state = 1, .serial = (uint32_t)(i + 1), .tid = sink->threads[i].tid};
		memcpy(slot.name, sink->threads[i].name, sizeof(slot.name));
		text_put(&slots, &slot, SLOT_BYTES);
		if (slots.length < SLOTS_BYTES && i + 1 < sink->thread_count)
			continue;
		put_block(sink, TFP_BLOCK_THREADS, 0, NULL, 0, slots.bytes, slots.length);
		text_clear(&slots);
	}
	text_free(&slots);
}

void sink_add(struct sink_group *group, const void *record, size_t bytes)
{
	if (group->used + bytes > sizeof(group->bytes))
		return;
	memcpy(group->bytes + group->used, record, bytes);
	group->used += bytes;
}

static void put_chunk(struct sink *sink, struct tfp_chunk chunk, const void *records, size_t bytes)
{
	chunk.used = chunk.size_bytes = bytes;
	put_block(sink, TFP_BLOCK_CHUNK, chunk.thread, &chunk, sizeof(chunk), records, bytes);
}

static void flush_chunk(struct sink *sink)
{
	if (!sink->chunk.length)
		return;
	put_chunk(sink, (struct tfp_chunk){.sequence = sink->sequence, .thread = sink->thread}, sink->chunk.bytes, sink->chunk.length);
	text_clear(&sink->chunk);
	sink->sequence++;
}

/* The device's clock is the file's own. In a lane of its own, so that no order is disturbed. */
static void put_clock(struct sink *sink, uint64_t origin_ns)
{
	const struct tfp_record_gpu_clock clock = {.word = TFP_TAG_gpu_clock, .timestamp = origin_ns};

	put_chunk(sink, (struct tfp_chunk){.sequence = 1, .thread = 1, .lane = 1}, &clock, sizeof(clock));
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

int sink_has_place(const struct sink *sink, uint64_t begin_ns, uint64_t duration_ns)
{
	return duration_ns >> TIME_PART_BITS == 0 && (!sink->to_ns || (begin_ns >= sink->from_ns && begin_ns < sink->to_ns));
}

int sink_is_too_wide(const struct sink *sink, uint64_t *from_ns, uint64_t *to_ns)
{
	uint64_t most = 0;

	if ((sink->last_ns - sink->first_ns) >> (64 - TFP_TAG_BITS) == 0)
		return 0;
	for (unsigned first = 0; first + TIME_PARTS_KEPT <= TIME_PARTS; first++) {
		uint64_t sum = 0;
		for (unsigned i = 0; i < TIME_PARTS_KEPT; i++)
			sum += sink->begun[first + i];
		if (sum > most) {
			most = sum;
			*from_ns = (uint64_t)first << TIME_PART_BITS;
			*to_ns = (uint64_t)(first + TIME_PARTS_KEPT) << TIME_PART_BITS;
		}
	}
	return 1;
}

void sink_narrow(struct sink *sink, uint64_t from_ns, uint64_t to_ns)
{
	sink->from_ns = from_ns;
	sink->to_ns = to_ns;
}

/* A word holds 56 bits of time: two years of nanoseconds. What lies beyond stands at its end. */
static uint64_t ticks_of(uint64_t time_ns, uint64_t origin_ns)
{
	uint64_t most = (UINT64_C(1) << (64 - TFP_TAG_BITS)) - 1, ticks = time_ns > origin_ns ? time_ns - origin_ns : 0;

	return ticks < most ? ticks : most;
}

/* Records that stand in their place: behind all that was put into chunks before. */
static void put_into_chunk(struct sink *sink, uint32_t thread, uint64_t ticks, const void *records, size_t bytes)
{
	if (thread != sink->thread || sink->chunk.length + bytes > CHUNK_BYTES)
		flush_chunk(sink);
	if (thread != sink->thread)
		sink->sequence = 1;
	sink->thread = thread;
	text_put(&sink->chunk, records, bytes);
	set_times((uint8_t *)sink->chunk.bytes + sink->chunk.length - bytes, bytes, ticks);
}

void sink_expect_order(struct sink *sink, uint64_t first_ns)
{
	if (!sink->may_order)
		return;
	sink->order = base_alloc(1, sizeof(*sink->order));
	sink->origin_ns = first_ns;
}

int sink_is_disordered(const struct sink *sink)
{
	return sink->is_disordered || (sink->order && sink->put && sink->first_ns != sink->origin_ns);
}

/* Hands the first that are held on. */
static void settle(struct sink *sink, size_t count)
{
	const struct order *order = sink->order;

	for (size_t i = 0; i < count; i++) {
		const struct order_entry *entry = &order->entries[i];
		put_into_chunk(sink, sink->thread, ticks_of(entry->key[0], sink->origin_ns), order->bytes.bytes + entry->at, entry->length);
	}
	order_drop(sink->order, count);
}

/* The next stream, or none: what is held of the last one has its place. */
static void turn_to(struct sink *sink, uint32_t thread)
{
	settle(sink, sink->order->count);
	flush_chunk(sink);
	order_clear(sink->order);
	sink->is_disordered |= thread < sink->thread; /* one that was left */
	sink->thread = thread;
	sink->sequence = 1;
}

static void put_in_order(struct sink *sink, const uint64_t key[SORTER_WORDS], const void *records, size_t bytes)
{
	if (sink->is_disordered) /* all will be read again */
		return;
	if (key[0] != sink->thread)
		turn_to(sink, (uint32_t)key[0]);
	if (sink->order->count == ORDER_HELD)
		settle(sink, ORDER_HELD / 2);
	sink->is_disordered |= order_put(sink->order, key + 1, records, bytes) != 0;
}

void sink_put(struct sink *sink, uint32_t thread, const struct sink_time *when, const void *records, size_t bytes)
{
	uint64_t length = when->end_ns - when->begin_ns;
	/* At one time: ends first, the one that began last foremost; then halves; then begins, the longest foremost. */
	uint64_t rank = when->is_end ? ~when->begin_ns & ~END_BIT : when->is_half ? END_BIT : END_BIT | ~length;
	uint64_t key[SORTER_WORDS] = {thread, when->time_ns, rank, when->is_end ? ~sink->put : sink->put};

	sink->begun[when->begin_ns >> TIME_PART_BITS < TIME_PARTS ? when->begin_ns >> TIME_PART_BITS : TIME_PARTS - 1]++;
	if (sink->put++ == 0 || when->begin_ns < sink->first_ns)
		sink->first_ns = when->begin_ns;
	sink->last_ns = when->end_ns > sink->last_ns ? when->end_ns : sink->last_ns;
	if (sink->order)
		put_in_order(sink, key, records, bytes);
	else
		sorter_put(sink->sorter, key, records, bytes);
}

uint64_t sink_first_ns(const struct sink *sink)
{
	return sink->first_ns;
}

/* A range begins or ends by itself: its begin is in the key, see sink_put. */
static void look_for_crossed(struct sink *sink, const uint64_t *key, const uint8_t *records, size_t bytes)
{
	int is_half = key[2] == END_BIT;
	struct tfp_record_range_push push;
	struct tfp_record_range_pop pop;

	if (records[0] == TFP_TAG_range_push && bytes == sizeof(push)) {
		memcpy(&push, records, sizeof(push));
		crossed_push(&sink->crossed, (uint32_t)key[0], push.source, key[1]);
	} else if (records[0] == TFP_TAG_range_pop && bytes == sizeof(pop)) {
		memcpy(&pop, records, sizeof(pop));
		crossed_pop(&sink->crossed, (uint32_t)key[0], pop.source, is_half ? CROSSED_HALF : ~key[2] & ~END_BIT);
	}
}

static void say_crossed(struct sink *sink)
{
	char text[256];

	if (sink->crossed.ends) {
		snprintf(text, sizeof(text), "Ends of ranges that did not begin in the file were left out: %" PRIu64 ".",
			 sink->crossed.ends);
		sink_pair(sink, TFP_TAG_note, "import", text);
	}
	if (!sink->crossed.found)
		return;
	snprintf(text, sizeof(text),
		 "Ranges of a thread overlapped %" PRIu64 " time%s without one lying in the other: of such two each is told with the "
		 "end of the other, one too long and one too short by as much.",
		 sink->crossed.found, sink->crossed.found == 1 ? "" : "s");
	sink_pair(sink, TFP_TAG_note, "import", text);
}

/* What was not put at once. */
static void put_records(struct sink *sink, uint64_t origin_ns)
{
	const uint64_t *key;
	const void *records;
	size_t bytes;

	if (sink->order)
		turn_to(sink, UINT32_MAX);
	while ((records = sorter_next(sink->sorter, &key, &bytes)) != NULL) {
		look_for_crossed(sink, key, records, bytes);
		put_into_chunk(sink, (uint32_t)key[0], ticks_of(key[1], origin_ns), records, bytes);
	}
	flush_chunk(sink);
}

static void put_header(struct sink *sink, const struct sink_header *from)
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
					 .thread_slot_bytes = SLOT_BYTES};
	struct tfp_file_live live = {.file_end = sink->end,
				     .threads_count = sink->thread_count,
				     .end_kind = TFP_END_IMPORTED,
				     .end_time = sink->last_ns > from->origin_ns ? sink->last_ns - from->origin_ns : 0,
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
	spool_write(sink->spool, 0, page, sizeof(page));
}

int sink_finish(struct sink *sink, const struct sink_header *header)
{
	int spool = sink->spool;

	put_schema(sink);
	if (sink->has_device)
		put_clock(sink, header->origin_ns);
	put_threads(sink);
	put_records(sink, header->origin_ns);
	say_crossed(sink);
	flush_facts(sink);
	/* The last block's padding is a hole: the file must reach to its end. */
	spool_write(sink->spool, sink->end - 1, "", 1);
	put_header(sink, header);
	sink->spool = -1;
	return spool;
}
