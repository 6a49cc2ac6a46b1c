/* SPDX-License-Identifier: Apache-2.0 */
/* A log as text. See dump.h. */
#include "reducer/dump.h"

#include "reducer/read/events.h"
#include "reducer/read/schema.h"
#include "reducer/read/stacks.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LIVE_BYTES_MAX (UINT64_C(1) << 30) /* of one block that is looked through: a hostile file can have holes of any size */

/* Counts for the last line. */
struct dump {
	FILE *out;
	const struct log *log;
	uint64_t blocks, records, bad;
};

enum member_form { FORM_NUMBER, FORM_HEX_BYTES, FORM_TEXT };

/* A member of a struct of format.h that is printed by name. */
struct member {
	const char *name;
	size_t offset, bytes;
	enum member_form form;
};

#define MEMBER(type, name, form) {#name, offsetof(struct type, name), sizeof(((struct type *)0)->name), form}
#define HEADER(name) MEMBER(tfp_file_header, name, FORM_NUMBER)
static const struct member header_members[] = {
	HEADER(header_bytes), HEADER(byte_order), HEADER(page_bytes), HEADER(features_compat), HEADER(features_warn),
	HEADER(features_incompat), HEADER(log_id), HEADER(parent_log_id), MEMBER(tfp_file_header, job_id, FORM_HEX_BYTES),
	MEMBER(tfp_file_header, boot_id, FORM_HEX_BYTES), HEADER(pid_namespace), HEADER(pid), HEADER(parent_pid),
	HEADER(process_start), HEADER(parent_start), HEADER(exec_count), HEADER(utc_offset_s), HEADER(clock_kind),
	HEADER(architecture), HEADER(clock_hz), HEADER(origin.ticks), HEADER(origin.raw_ns), HEADER(origin.monotonic_ns),
	HEADER(origin.realtime_ns), HEADER(origin.width_ticks), HEADER(live_offset), HEADER(live_bytes),
	HEADER(thread_slot_bytes), HEADER(loss_count), HEADER(flags), MEMBER(tfp_file_header, command, FORM_TEXT),
};

#define LIVE(name) MEMBER(tfp_file_live, name, FORM_NUMBER)
static const struct member live_members[] = {
	LIVE(file_end), LIVE(pcs_count), LIVE(nodes_count), LIVE(threads_count), LIVE(live_bytes), LIVE(peak_bytes),
	LIVE(peak_time), LIVE(end_kind), LIVE(end_status), LIVE(end_time), LIVE(heap_mode), LIVE(drained_bytes),
	LIVE(drain_ticks), LIVE(dropped_from), LIVE(helper_beat), LIVE(own_bytes), LIVE(inherited_bytes), LIVE(early_calls),
	LIVE(clock_hz), LIVE(children_refused), LIVE(children_unmade), LIVE(mapped_end), LIVE(given_up_bytes),
	LIVE(programs_unfollowed),
};

#define SLOT(name) MEMBER(tfp_thread_slot, name, FORM_NUMBER)
#define SLOT_HEAP(lane) \
	SLOT(heap[lane].allocations), SLOT(heap[lane].frees), SLOT(heap[lane].requested_bytes), \
	SLOT(heap[lane].allocated_bytes), SLOT(heap[lane].freed_bytes), SLOT(heap[lane].unknown_frees), \
	SLOT(heap[lane].unknown_freed_bytes)
#define SLOT_MAP(lane) SLOT(map[lane].maps), SLOT(map[lane].unmaps), SLOT(map[lane].mapped_bytes), SLOT(map[lane].unmapped_bytes)
static const struct member slot_members[] = {
	SLOT(state), SLOT(serial), SLOT(tid), SLOT(start_time), SLOT(end_time), MEMBER(tfp_thread_slot, name, FORM_TEXT),
	SLOT_HEAP(0), SLOT_HEAP(1), SLOT_MAP(0), SLOT_MAP(1), SLOT(own_allocations), SLOT(own_bytes),
};

/* Bytes outside printable ASCII, and the backslash, as \xHH. */
static void put_text(FILE *out, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte < 0x20 || byte > 0x7e || byte == '\\')
			fprintf(out, "\\x%02x", byte);
		else
			putc(byte, out);
	}
}

static void put_member(FILE *out, const void *base, const struct member *member)
{
	const uint8_t *at = (const uint8_t *)base + member->offset;
	uint64_t number = 0;

	if (member->form == FORM_TEXT) {
		put_text(out, (const char *)at, strnlen((const char *)at, member->bytes));
		return;
	}
	for (size_t i = 0; member->form == FORM_HEX_BYTES && i < member->bytes; i++)
		fprintf(out, "%02x", at[i]);
	if (member->form == FORM_HEX_BYTES)
		return;
	memcpy(&number, at, member->bytes);
	fprintf(out, "%" PRIu64, number);
}

static void put_members(FILE *out, const char *line, const void *base, const struct member *members, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s\t%s\t", line, members[i].name);
		put_member(out, base, &members[i]);
		putc('\n', out);
	}
}

static void put_value(FILE *out, const struct schema_field *field, uint64_t value)
{
	if (strcmp(field->unit, "address") == 0)
		fprintf(out, "0x%" PRIx64, value);
	else if (field->type == TYPE_I64)
		fprintf(out, "%" PRId64, (int64_t)value);
	else
		fprintf(out, "%" PRIu64, value);
}

static void put_bad(struct dump *dump, uint64_t offset)
{
	fprintf(dump->out, "bad\t%" PRIu64 "\n", offset);
	dump->bad++;
}

static void put_record(struct dump *dump, const struct batch *batch, size_t i)
{
	uint8_t tag = batch->tags[i];
	const struct schema_record *record = dump->log->schema->records[tag];
	const struct batch_kind *kind = batch->kinds[tag];
	static const struct schema_field unnamed = {.unit = "", .type = TYPE_U64};

	if (record != NULL && record->is_fact)
		record = NULL;
	fprintf(dump->out, "record\t%" PRIu64 "\t", batch->times[i]);
	if (record != NULL)
		fputs(record->name, dump->out);
	else
		fprintf(dump->out, "%u", tag);
	for (uint32_t f = 0; f < SCHEMA_FIELDS; f++) {
		int is_named = record != NULL && f < record->field_count;

		if (!(kind->present >> f & 1))
			continue;
		if (is_named)
			fprintf(dump->out, "\t%s=", record->fields[f].name);
		else
			fprintf(dump->out, "\t%u=", f);
		put_value(dump->out, is_named ? &record->fields[f] : &unnamed, kind->values[f][batch->rows[i]]);
	}
	putc('\n', dump->out);
	dump->records++;
}

/* The records of an events block or a chunk. What cannot be read is a diag of the log, and a "bad" line here. */
static void put_events(struct dump *dump, const struct log_block *block, uint64_t sequence, int is_chunk)
{
	struct log_part part = {.place = block->offset | (uint64_t)is_chunk, .sequence = sequence};
	struct batch batch = {0};
	uint64_t damage = dump->log->diags->damage;
	struct events *events = events_open(dump->log, &part);

	if (events == NULL) {
		put_bad(dump, block->offset);
		return;
	}
	while (events_next(events, &batch) > 0)
		for (size_t i = 0; i < batch.count; i++)
			put_record(dump, &batch, i);
	if (events_skipped(events)->columns != 0)
		fprintf(dump->out, "skipped\t%" PRIu64 "\n", events_skipped(events)->columns);
	if (dump->log->diags->damage != damage)
		put_bad(dump, block->offset);
	events_close(events);
	batch_free(&batch);
}

static void put_events_block(struct dump *dump, const struct log_block *block)
{
	if (block->offset >= dump->log->live.dropped_from)
		put_events(dump, block, block->header.sequence, 0);
}

static void put_chunk(struct dump *dump, const struct log_block *block)
{
	struct tfp_chunk chunk = {0};

	if (block->payload_bytes < sizeof chunk || log_pread(dump->log, block->payload, &chunk, sizeof chunk) < sizeof chunk) {
		put_bad(dump, block->offset);
		return;
	}
	fprintf(dump->out, "chunk\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\t%u\t%" PRIu64 "\t%" PRIu64 "\n", chunk.sequence,
		chunk.used, chunk.thread, chunk.lane, chunk.state, chunk.size_bytes);
	if (chunk.used != 0)
		put_events(dump, block, chunk.sequence, 1);
}

static void put_schema(struct dump *dump, const struct log_block *block)
{
	size_t bytes;
	char *text = (char *)log_sealed(dump->log, block, &bytes), *line = text;

	if (text == NULL) {
		put_bad(dump, block->offset);
		return;
	}
	while (line < text + bytes) {
		char *end = memchr(line, '\n', (size_t)(text + bytes - line));

		if (end == NULL)
			end = text + bytes;
		fputs("schema", dump->out);
		for (char *word = line, *stop; word <= end; word = stop + 1) {
			stop = memchr(word, '\t', (size_t)(end - word));
			stop = stop == NULL ? end : stop;
			putc('\t', dump->out);
			put_text(dump->out, word, (size_t)(stop - word));
		}
		putc('\n', dump->out);
		line = end + 1;
	}
	free(text);
}

static void put_end(struct dump *dump, const struct log_block *block)
{
	struct tfp_end_payload end;
	size_t bytes;
	uint8_t *payload = log_sealed(dump->log, block, &bytes);

	if (payload == NULL || bytes < offsetof(struct tfp_end_payload, memory_limit_bytes)) {
		put_bad(dump, block->offset);
	} else {
		memset(&end, 0, sizeof end);
		memcpy(&end, payload, bytes < sizeof end ? bytes : sizeof end);
		fprintf(dump->out, "end\t%" PRIu64 "\t%" PRId32 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
			end.realtime_ns, end.wait_status, end.pid, end.memory_limit_bytes, end.memory_kills, end.machine_memory_kills,
			end.raw_ns);
	}
	free(payload);
}

static int put_slot(void *context, const struct tfp_thread_slot *slot)
{
	struct dump *dump = context;

	fputs("slot", dump->out);
	for (size_t i = 0; i < sizeof slot_members / sizeof *slot_members; i++) {
		fprintf(dump->out, "\t%s=", slot_members[i].name);
		put_member(dump->out, slot, &slot_members[i]);
	}
	for (size_t i = 0; i < TFP_LOSS_SLOTS; i++) {
		const struct tfp_loss_slot *loss = &slot->losses[i];

		if (loss->count != 0)
			fprintf(dump->out, "\tloss[%zu]=%" PRIu64 ",%" PRIu64 ",%" PRIu64, i, loss->count, loss->first_time,
				loss->last_time);
	}
	if (slot->ended_through != 0) {
		const struct tfp_ended_totals *ended = &slot->ended[slot->ended_through & 1];
		const struct tfp_heap_totals *heap = &ended->heap;
		const struct tfp_map_totals *map = &ended->map;

		fprintf(dump->out, "\tended[%" PRIu64 "]=%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
			slot->ended_through >> 1, heap->allocations, heap->frees, heap->requested_bytes, heap->allocated_bytes,
			heap->freed_bytes, heap->unknown_frees, heap->unknown_freed_bytes);
		fprintf(dump->out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, map->maps, map->unmaps, map->mapped_bytes,
			map->unmapped_bytes);
	}
	putc('\n', dump->out);
	return 0;
}

static void put_slots(struct dump *dump, const struct log_block *block)
{
	log_block_slots(dump->log, block, put_slot, dump);
}

static int put_fact(void *context, const struct fact *fact)
{
	struct dump *dump = context;
	const struct schema_record *record = fact->tag < 256 ? dump->log->schema->records[fact->tag] : NULL;

	fprintf(dump->out, "fact\t%" PRIu64 "\t", fact->time);
	if (record != NULL && record->is_fact)
		fputs(record->name, dump->out);
	else
		fprintf(dump->out, "%u", fact->tag);
	for (size_t i = 0; i < fact->count; i++) {
		fprintf(dump->out, "\t%s=", record->fields[i].name);
		if (fact->values[i].text != NULL)
			put_text(dump->out, fact->values[i].text, fact->values[i].length);
		else
			put_value(dump->out, &record->fields[i], fact->values[i].number);
	}
	putc('\n', dump->out);
	return 0;
}

static void put_facts(struct dump *dump, const struct log_block *block)
{
	uint64_t bad;

	log_block_facts(dump->log, block, put_fact, dump, &bad);
	if (bad != 0)
		put_bad(dump, bad);
}

/* Calls `put` for each entry of `bytes` bytes that is not all zero. */
static void put_entries(struct dump *dump, const struct log_block *block, size_t bytes,
			void (*put)(FILE *out, uint64_t index, const uint64_t *words))
{
	uint64_t index = block->header.first_index, words[2] = {0, 0};

	for (uint64_t done = 0; done + bytes <= block->payload_bytes && done < LIVE_BYTES_MAX; done += bytes, index++) {
		if (log_pread(dump->log, block->payload + done, words, bytes) < bytes)
			break;
		if (words[0] != 0 || words[1] != 0)
			put(dump->out, index, words);
	}
}

static void put_pc(FILE *out, uint64_t index, const uint64_t *words)
{
	fprintf(out, "pc\t%" PRIu64 "\t0x%" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\n", index, words[0], words[1] & UINT32_MAX,
		words[1] >> 32);
}

static void put_node(FILE *out, uint64_t index, const uint64_t *words)
{
	fprintf(out, "node\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", index, words[0] >> 32, words[0] & UINT32_MAX);
}

static void put_pcs(struct dump *dump, const struct log_block *block)
{
	put_entries(dump, block, sizeof(struct tfp_pc), put_pc);
}

static void put_nodes(struct dump *dump, const struct log_block *block)
{
	put_entries(dump, block, sizeof(uint64_t), put_node);
}

static void put_packed_nodes(struct dump *dump, const struct log_block *block)
{
	size_t bytes, count = 0;
	uint8_t *payload = log_sealed(dump->log, block, &bytes);
	uint64_t *words = payload != NULL ? packed_nodes(payload, bytes, block->header.first_index, &count) : NULL;

	if (words == NULL)
		put_bad(dump, block->offset);
	for (size_t i = 0; i < count && words != NULL; i++)
		put_node(dump->out, block->header.first_index + i, &words[i]);
	free(words);
	free(payload);
}

static const struct {
	uint16_t type;
	const char *name;
	void (*put)(struct dump *dump, const struct log_block *block);
} block_kinds[] = {
	{TFP_BLOCK_SCHEMA, "schema", put_schema},  {TFP_BLOCK_EVENTS, "events", put_events_block},
	{TFP_BLOCK_END, "end", put_end},           {TFP_BLOCK_CHUNK, "chunk", put_chunk},
	{TFP_BLOCK_THREADS, "threads", put_slots}, {TFP_BLOCK_FACTS, "facts", put_facts},
	{TFP_BLOCK_PCS, "pcs", put_pcs},           {TFP_BLOCK_NODES, "nodes", put_nodes},
	{TFP_BLOCK_PACKED_NODES, "packed_nodes", put_packed_nodes},
};

static void put_block(struct dump *dump, const struct log_block *block)
{
	const struct tfp_block_header *header = &block->header;
	size_t kind = 0, kinds = sizeof block_kinds / sizeof *block_kinds;
	char number[8];

	while (kind < kinds && block_kinds[kind].type != header->type)
		kind++;
	snprintf(number, sizeof number, "%u", header->type);
	fprintf(dump->out,
		"block\t%" PRIu64 "\t%s\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\t%u\t%u\t%" PRIu64
		"\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\n",
		block->offset, kind < kinds ? block_kinds[kind].name : number, header->codec, header->is_live,
		header->encoded_bytes, header->raw_bytes, header->first_index, header->thread, header->lane, header->time_shift,
		header->sequence, header->first_time, header->last_time, header->records);
	dump->blocks++;
	if (block->payload_bytes < header->encoded_bytes)
		put_bad(dump, block->offset);
	/* What is there of a live block can be read; a sealed one is whole or nothing. */
	if (kind < kinds && (block->payload_bytes == header->encoded_bytes || header->type >= TFP_BLOCK_CHUNK))
		block_kinds[kind].put(dump, block);
}

static void dump_log(FILE *out, const struct log *log)
{
	struct dump dump = {.out = out, .log = log};
	uint64_t offset = log->header.page_bytes, from = offset, gap;
	struct log_block block;
	int is_zero;

	fprintf(out, "log\t%u\t%u\t%" PRIu64 "\n", log->header.major, log->header.minor, log->bytes);
	put_members(out, "header", &log->header, header_members, sizeof header_members / sizeof *header_members);
	put_members(out, "live", &log->live, live_members, sizeof live_members / sizeof *live_members);
	while (log_block_next(log, &offset, &block, &gap, &is_zero)) {
		if (gap != 0)
			fprintf(out, "gap\t%" PRIu64 "\t%" PRIu64 "\t%s\n", from, gap, is_zero ? "zero" : "other");
		put_block(&dump, &block);
		from = offset;
	}
	if (gap != 0)
		fprintf(out, "gap\t%" PRIu64 "\t%" PRIu64 "\t%s\n", from, gap, is_zero ? "zero" : "other");
	fprintf(out, "total\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", dump.blocks, dump.records, dump.bad);
}

void dump_run(FILE *out, const struct run *run)
{
	for (size_t i = 0; i < run->process_count; i++) {
		dump_log(out, run->processes[i].log);
		log_rest(run->processes[i].log);
	}
}
