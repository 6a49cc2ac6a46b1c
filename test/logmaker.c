/* SPDX-License-Identifier: Apache-2.0 */
/* Logs for tests. See logmaker.h. A test that runs out of memory aborts. */
#include "test/logmaker.h"

#include "writer/crc32c.h"
#include "writer/encode.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define SEED_PAGE 512u

static void *must(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static void append(struct maker *maker, const void *bytes, size_t count)
{
	while (maker->size + count > maker->capacity) {
		maker->capacity = maker->capacity == 0 ? 16 * PAGE : maker->capacity * 2;
		maker->bytes = must(realloc(maker->bytes, maker->capacity));
	}
	if (bytes != NULL)
		memcpy(maker->bytes + maker->size, bytes, count);
	else
		memset(maker->bytes + maker->size, 0, count);
	maker->size += count;
}

static void pad(struct maker *maker, size_t multiple)
{
	append(maker, NULL, (multiple - maker->size % multiple) % multiple);
}

void maker_begin(struct maker *maker)
{
	static const uint8_t job[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, boot[16] = {9, 8, 7};

	memset(maker, 0, sizeof *maker);
	memcpy(maker->header.magic, TFP_FILE_MAGIC, 8);
	memcpy(maker->header.job_id, job, sizeof job);
	memcpy(maker->header.boot_id, boot, sizeof boot);
	maker->header.major = TFP_FORMAT_MAJOR;
	maker->header.minor = TFP_FORMAT_MINOR;
	maker->header.header_bytes = sizeof maker->header;
	maker->header.byte_order = TFP_BYTE_ORDER;
	maker->header.page_bytes = PAGE;
	maker->header.log_id = 77;
	maker->header.pid_namespace = 5;
	maker->header.pid = 100;
	maker->header.parent_pid = 1;
	maker->header.process_start = 4000;
	maker->header.clock_kind = TFP_CLOCK_TSC;
	maker->header.architecture = 62;
	maker->header.clock_hz = 1000000000;
	maker->header.origin = (struct tfp_clock_set){1000, 5000, 6000, UINT64_C(1700000000000000000), 10};
	maker->header.live_offset = TFP_LIVE_OFFSET;
	maker->header.live_bytes = sizeof maker->live;
	maker->header.thread_slot_bytes = sizeof(struct tfp_thread_slot);
	maker->header.loss_count = TFP_LOSS_SLOTS;
	memcpy(maker->header.command, "made", 4);
	append(maker, NULL, PAGE);
}

void maker_free(struct maker *maker)
{
	free(maker->bytes);
}

static size_t put_block(struct maker *maker, struct tfp_block_header *header, const void *payload, size_t bytes)
{
	size_t offset = maker->size;

	header->sync = TFP_BLOCK_SYNC;
	header->header_bytes = sizeof *header;
	header->header_crc = tfp_crc32c(0, header, offsetof(struct tfp_block_header, header_crc));
	append(maker, header, sizeof *header);
	append(maker, payload, bytes);
	return offset;
}

size_t maker_sealed(struct maker *maker, uint16_t type, const struct tfp_block_header *fields, const void *payload,
		    size_t bytes)
{
	struct tfp_block_header header = {0};
	size_t offset;

	if (fields != NULL)
		header = *fields;
	header.type = type;
	header.encoded_bytes = bytes;
	if (header.codec == TFP_CODEC_NONE)
		header.raw_bytes = bytes;
	header.payload_crc = tfp_crc32c(0, payload, bytes);
	offset = put_block(maker, &header, payload, bytes);
	pad(maker, 8);
	return offset;
}

size_t maker_live(struct maker *maker, uint16_t type, const struct tfp_block_header *fields, const void *payload, size_t bytes)
{
	struct tfp_block_header header = {0};
	size_t page = maker->header.page_bytes, offset;
	size_t whole = (sizeof header + bytes + page - 1) / page * page - sizeof header;

	if (fields != NULL)
		header = *fields;
	header.type = type;
	header.is_live = 1;
	header.encoded_bytes = header.raw_bytes = whole;
	pad(maker, page);
	offset = put_block(maker, &header, payload, bytes);
	append(maker, NULL, whole - bytes);
	return offset;
}

/* The schema of records.def as text; the real writer's is compared with it by what both let a reader read. */
static void print_schema(FILE *out)
{
	fprintf(out, "format\t%d\t%d\n", TFP_FORMAT_MAJOR, TFP_FORMAT_MINOR);
#define TFP_EVENT(tag, name, help) \
	fprintf(out, "record\t%d\t%s\tevent\t%zu\t%s\n", tag, #name, sizeof(struct tfp_record_##name), help); \
	{ \
		typedef struct tfp_record_##name record; \
		const int of_tag = tag, is_event = 1; \
		int index = 0;
#define TFP_FACT(tag, name, help) \
	fprintf(out, "record\t%d\t%s\tfact\t0\t%s\n", tag, #name, help); \
	{ \
		typedef struct tfp_fact_##name record; \
		const int of_tag = tag, is_event = 0; \
		int index = 0;
#define TFP_FIELD(name, type, unit, transform, help) \
	fprintf(out, "field\t%d\t%d\t%s\t%s\t%s\t%s\t%zu\t%s\n", of_tag, index++, #name, #type, #unit, #transform, \
		is_event ? offsetof(record, name) : 0, help);
#define TFP_END() \
	(void)of_tag, (void)is_event, (void)index, (void)sizeof(record); \
	}
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END
#define TFP_LOSS(number, name, help, remedy) fputs("loss\t" #number "\t" #name "\t" help "\t" remedy "\n", out);
#include "writer/losses.def"
#undef TFP_LOSS
}

size_t maker_schema(struct maker *maker, const char *more)
{
	char *text = NULL;
	size_t bytes, offset;
	FILE *out = must(open_memstream(&text, &bytes));

	print_schema(out);
	fputs(more, out);
	fclose(out);
	offset = maker_sealed(maker, TFP_BLOCK_SCHEMA, NULL, must(text), bytes);
	free(text);
	return offset;
}

void maker_add(struct maker_records *records, const void *record, size_t bytes)
{
	if (records->size + bytes > sizeof records->bytes)
		abort();
	memcpy(records->bytes + records->size, record, bytes);
	records->size += bytes;
}

size_t maker_events(struct maker *maker, uint32_t thread, uint16_t lane, uint64_t sequence, unsigned time_shift,
		    const struct maker_records *records)
{
	struct tfp_block_header header = {.thread = thread, .lane = lane, .sequence = sequence};
	size_t scratch_bytes = tfp_scratch_bytes(records->size), offset;
	struct tfp_scratch *scratch = must(aligned_alloc(64, (scratch_bytes + 63) / 64 * 64));
	uint8_t *space;

	memset(scratch, 0, scratch_bytes);
	space = tfp_encode(scratch, scratch_bytes, records->bytes, records->size, time_shift, &header);
	if (maker->is_plain && header.codec == TFP_CODEC_LZ4) {
		char *raw = must(malloc(header.raw_bytes));

		LZ4_decompress_safe((char *)space + sizeof header, raw, (int)header.encoded_bytes, (int)header.raw_bytes);
		header.codec = TFP_CODEC_NONE;
		offset = maker_sealed(maker, TFP_BLOCK_EVENTS, &header, raw, header.raw_bytes);
		free(raw);
	} else {
		offset = maker_sealed(maker, TFP_BLOCK_EVENTS, &header, space + sizeof header, header.encoded_bytes);
	}
	free(scratch);
	return offset;
}

size_t maker_chunk(struct maker *maker, uint32_t thread, uint16_t lane, uint64_t sequence, const struct maker_records *records)
{
	struct tfp_block_header header = {.thread = thread, .lane = lane};
	struct tfp_chunk chunk = {.sequence = sequence, .used = records->size, .thread = thread, .lane = lane,
				  .state = TFP_CHUNK_FILLING | (uint64_t)thread << 8};
	uint8_t *payload = must(malloc(sizeof chunk + records->size));
	size_t offset, page = maker->header.page_bytes;

	chunk.size_bytes = (sizeof header + sizeof chunk + records->size + page - 1) / page * page - sizeof header - sizeof chunk;
	memcpy(payload, &chunk, sizeof chunk);
	memcpy(payload + sizeof chunk, records->bytes, records->size);
	offset = maker_live(maker, TFP_BLOCK_CHUNK, &header, payload, sizeof chunk + records->size);
	free(payload);
	return offset;
}

size_t maker_fact(struct maker *maker, uint16_t tag, const char *const *values)
{
	uint8_t payload[4096] = {0};
	struct tfp_fact *fact = (struct tfp_fact *)(void *)payload;
	size_t at = sizeof *fact;

	for (; *values != NULL; values++) {
		uint64_t number = **values == '#' ? strtoull(*values + 1, NULL, 10) : 0;
		uint32_t length = (uint32_t)strlen(*values);

		memcpy(payload + at, **values == '#' ? (void *)&number : (void *)&length, **values == '#' ? 8 : 4);
		at += **values == '#' ? 8 : 4;
		memcpy(payload + at, *values, **values == '#' ? 0 : length);
		at += **values == '#' ? 0 : length;
	}
	*fact = (struct tfp_fact){.bytes = (uint32_t)((at + 7) / 8 * 8), .tag = tag, .state = 1, .time = 50};
	return maker_live(maker, TFP_BLOCK_FACTS, NULL, payload, fact->bytes);
}

void maker_finish(struct maker *maker)
{
	maker->live.file_end = maker->size;
	maker->header.header_crc = tfp_crc32c(0, &maker->header, offsetof(struct tfp_file_header, header_crc));
	memcpy(maker->bytes, &maker->header, sizeof maker->header);
	memcpy(maker->bytes + maker->header.live_offset, &maker->live, sizeof maker->live);
}

void maker_repair(struct maker *maker, size_t offset)
{
	struct tfp_block_header *header = (struct tfp_block_header *)(void *)(maker->bytes + offset);

	header->header_crc = tfp_crc32c(0, header, offsetof(struct tfp_block_header, header_crc));
}

int maker_write(const struct maker *maker, const char *path, size_t bytes)
{
	FILE *file = fopen(path, "w");
	int is_good = file != NULL && fwrite(maker->bytes, 1, bytes, file) == bytes;

	if (file == NULL)
		return -1;
	return fclose(file) == 0 && is_good ? 0 : -1;
}

/* One record of every kind, in the order of time. */
static void add_every_kind(struct maker_records *records)
{
	MAKER_ADD(records, 10, window, .is_open = 1, .live = 0);
	MAKER_ADD(records, 100, alloc, .address = 0x1000, .requested = 100, .stack = 2, .slack = 4, .function = 1);
	MAKER_ADD(records, 110, alloc, .address = 0x2008, .requested = 1 << 20, .stack = 1, .slack = 65535, .function = 2);
	MAKER_ADD(records, 111, usable, .address = 0x2008, .usable = (1 << 20) + 100000);
	MAKER_ADD(records, 120, free, .address = 0x1000);
	MAKER_ADD(records, 121, free_undo, .address = 0x1000);
	MAKER_ADD(records, 130, sample, .address = 0x5000, .requested = 50, .usable = 56, .interval = 4096, .stack = 2);
	MAKER_ADD(records, 131, sample_free, .address = 0x5000);
	MAKER_ADD(records, 132, heap, .live = 1, .peak = 2);
	MAKER_ADD(records, 140, map, .address = 0x700000, .length = 8192, .stack = 1, .protection = 3, .flags = 34);
	MAKER_ADD(records, 150, unmap, .address = 0x700000, .length = 4096, .function = 16);
	MAKER_ADD(records, 160, clock, .ticks = 1160, .raw = 5160, .monotonic = 6160, .realtime = 7, .width = 3);
	MAKER_ADD(records, 170, step, .number = 5);
	MAKER_ADD(records, 171, range_push, .name = 17);
	MAKER_ADD(records, 172, range_pop);
	MAKER_ADD(records, 173, fork, .child = 200);
	MAKER_ADD(records, 174, exec, .path = 18);
	MAKER_ADD(records, 175, spawn, .child = 201, .path = 19);
	MAKER_ADD(records, 176, thread_end, .serial = 9, .tid = 109, .start = 1, .end = 5, .allocations = 1,
		  .requested = 24, .allocated = 24);
	MAKER_ADD(records, 177, loss, .serial = 9, .kind = 1, .count = 2, .first = 3, .last = 4);
}

static void add_stacks(struct maker *maker)
{
	const struct tfp_pc pcs[] = {{0, 0, 0}, {0x401000, 1, TFP_PC_WRITTEN}, {0x402000, 1, TFP_PC_WRITTEN | TFP_PC_EXACT}};
	const uint64_t nodes[] = {0, UINT64_C(0) << 32 | 1, UINT64_C(1) << 32 | 2};

	maker_live(maker, TFP_BLOCK_PCS, NULL, pcs, sizeof pcs);
	const uint8_t packed[] = {2, 0, 0, 0, 2, 0, 0, 0, 0, 1, 1, 2}; /* nodes 3 (of 2) and 4 (of 2) */

	maker_live(maker, TFP_BLOCK_NODES, NULL, nodes, sizeof nodes);
	maker_sealed(maker, TFP_BLOCK_PACKED_NODES, &(struct tfp_block_header){.first_index = 3, .records = 2}, packed,
		     sizeof packed);
}

static void add_facts(struct maker *maker)
{
	maker_fact(maker, TFP_TAG_setting, (const char *const[]){"MALLOC", "full", "#1", NULL});
	maker_fact(maker, TFP_TAG_setting_error, (const char *const[]){"MALOC", "x\t\\y", "MALLOC", NULL});
	maker_fact(maker, TFP_TAG_module,
		   (const char *const[]){"#1", "#4194304", "#4194304", "#8388608", "#7", "#8", "\x01\x02\x03", "/bin/made", NULL});
	maker_fact(maker, TFP_TAG_argument, (const char *const[]){"#0", "made", NULL});
	maker_fact(maker, TFP_TAG_host, (const char *const[]){"executable", "/bin/made", NULL});
	maker_fact(maker, 250, (const char *const[]){"#9", NULL});
}

/* All but header and schema. */
static void fill(struct maker *maker)
{
	struct maker_records *records = must(calloc(1, sizeof *records));
	struct tfp_thread_slot slots[2] = {{.state = 1, .serial = 1, .tid = 100, .name = "one"},
					   {.state = 2, .serial = 2, .tid = 101, .name = "two"}};
	struct tfp_end_payload end = {.realtime_ns = 1, .wait_status = 9, .pid = 100};
	const uint64_t future[3] = {UINT64_C(180) << 8 | 31, 0x1234, 77};

	slots[0].heap[0] = (struct tfp_heap_totals){.allocations = 3, .frees = 1, .requested_bytes = 1048700,
						    .allocated_bytes = 1148704, .freed_bytes = 104};
	slots[0].map[0] = (struct tfp_map_totals){1, 1, 8192, 4096};
	slots[1].losses[4] = (struct tfp_loss_slot){7, 100, 200};
	add_facts(maker);
	maker_live(maker, TFP_BLOCK_THREADS, NULL, slots, sizeof slots);
	add_stacks(maker);
	add_every_kind(records);
	maker_events(maker, 1, 0, 1, 6, records);
	records->size = 0;
	MAKER_ADD(records, 1000, alloc, .address = 0x3000, .requested = 24, .stack = 2, .function = 1);
	MAKER_ADD(records, 1100, free, .address = 0x1000);
	maker_events(maker, 1, 0, 2, 0, records);
	maker_sealed(maker, 9, NULL, "unknown kind of block", 21);
	append(maker, NULL, maker->header.page_bytes + 904); /* a hole */
	records->size = 0;
	MAKER_ADD(records, 1050, alloc, .address = 0x9000, .requested = 24, .function = 1);
	maker_add(records, future, sizeof future);
	maker_chunk(maker, 1, 1, 1, records);
	records->size = 0;
	MAKER_ADD(records, 1200, clock, .ticks = 2200, .raw = 6200, .monotonic = 7200, .realtime = 8, .width = 3);
	maker_chunk(maker, 2, 0, 1, records);
	maker_sealed(maker, TFP_BLOCK_END, NULL, &end, sizeof end);
	maker->live.threads_count = 2;
	maker->live.nodes_count = maker->live.pcs_count = 2;
	maker->live.heap_mode = TFP_MODE_FULL;
	maker_finish(maker);
	free(records);
}

static const char future_schema[] = "record\t31\tfuture\tevent\t24\tfrom tomorrow\n"
				    "field\t31\t0\twhere\tu64\taddress\tplain\t8\t\n"
				    "field\t31\t1\thow\ti64\tcount\tplain\t16\t\nnovelty\t1\thook\t1\n";

void maker_everything(struct maker *maker)
{
	maker_begin(maker);
	maker_schema(maker, future_schema);
	fill(maker);
}

void maker_begin_seed(struct maker *maker)
{
	maker_begin(maker);
	maker->is_plain = 1;
	maker->size = maker->header.page_bytes = SEED_PAGE;
	maker->header.live_offset = 256;
}

void maker_seed(struct maker *maker)
{
	maker_begin_seed(maker);
	fill(maker);
}

static uint64_t xorshift(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A thread's next pair: an allocation at a place of its own, and the release of what was there before. */
static void add_pair(struct maker_records *records, uint64_t time, struct tfp_thread_slot *slot, uint64_t *random,
		     uint64_t live, uint8_t *used)
{
	uint64_t place = xorshift(random) % live, address = (uint64_t)slot->serial << 36 | (place + 1) << 8;
	uint64_t requested = 16 + place % 200;

	if (used[place]) {
		MAKER_ADD(records, time, free, .address = address);
		slot->heap[0].frees++;
		slot->heap[0].freed_bytes += requested + 8;
	}
	MAKER_ADD(records, time + 40, alloc, .address = address, .requested = requested, .stack = 1 + place % 2, .slack = 8,
		  .function = 1);
	used[place] = 1;
	slot->heap[0].allocations++;
	slot->heap[0].requested_bytes += requested;
	slot->heap[0].allocated_bytes += requested + 8;
}

void maker_busy(struct maker *maker, unsigned threads, uint64_t count, uint64_t live)
{
	struct maker_records *records = must(calloc(threads, sizeof *records));
	uint8_t *used = must(calloc(threads, live));
	struct tfp_thread_slot *slots = must(calloc(threads, sizeof *slots));
	uint64_t *sequences = must(calloc(threads, sizeof *sequences)), random = 88172645463325252u;

	maker_begin(maker);
	maker_schema(maker, "");
	maker_fact(maker, TFP_TAG_setting, (const char *const[]){"MALLOC", "full", "#1", NULL});
	add_stacks(maker);
	for (uint64_t i = 0; i < count; i++) {
		unsigned thread = (unsigned)(i / 50 % threads);

		if (records[thread].size + 64 > sizeof records->bytes) {
			maker_events(maker, thread + 1, 0, ++sequences[thread], 6, &records[thread]);
			records[thread].size = 0;
		}
		slots[thread].state = 1;
		slots[thread].serial = thread + 1;
		add_pair(&records[thread], 100 * i, &slots[thread], &random, live, used + thread * live);
	}
	for (unsigned thread = 0; thread < threads; thread++)
		if (records[thread].size != 0)
			maker_chunk(maker, thread + 1, 0, ++sequences[thread], &records[thread]);
	maker_live(maker, TFP_BLOCK_THREADS, NULL, slots, threads * sizeof *slots);
	maker_finish(maker);
	free(records);
	free(slots);
	free(used);
	free(sequences);
}

static const char *const gpu_functions[][4] = {
	{"200", "cudaLaunchKernel", "launch", ""}, {"201", "cudaGraphLaunch", "graph", ""},  {"202", "cudaMemcpyAsync", "copy", ""},
	{"203", "cudaStreamSynchronize", "sync", ""}, {"204", "cudaMalloc", "alloc", ""},     {"205", "cudaFree", "free", ""},
	{"206", "cublasSgemm_v2", "library", "m,n,k"}, {"207", "cuModuleLoadData", "module", ""}};

static const char *number(char text[24], uint64_t value)
{
	snprintf(text, 24, "#%llu", (unsigned long long)value);
	return text;
}

void maker_gpu_facts(struct maker *maker, unsigned shapes, unsigned queues)
{
	char id[24], stream[24], name[24];

	for (size_t i = 0; i < sizeof gpu_functions / sizeof *gpu_functions; i++) {
		snprintf(id, sizeof id, "#%s", gpu_functions[i][0]);
		maker_fact(maker, TFP_TAG_function,
			   (const char *const[]){id, gpu_functions[i][1], i == 6 ? "cublas" : "cuda runtime", gpu_functions[i][2],
						 gpu_functions[i][3], NULL});
	}
	maker_fact(maker, TFP_TAG_device,
		   (const char *const[]){"#0", "Made GPU", "0123456789abcdef", "#9", "#0", "#132", "#85899345920", "#3352000000000",
					 "#1980000000", "#52428800", "#32", "#64", "#32", "#233472", "#65536", "#49152", "#0", NULL});
	maker_fact(maker, TFP_TAG_context, (const char *const[]){"#1", "#0", "#7", "#0", NULL});
	for (unsigned i = 0; i < shapes; i++) {
		snprintf(name, sizeof name, "k%u", i + 1);
		maker_fact(maker, TFP_TAG_shape,
			   (const char *const[]){number(id, i + 1), name, "#64", "#1", "#1", "#256", "#1", "#1", "#32", "#0", "#1024",
						 "#0", "#0", "#0", "#0", "#0", "#0", "#0", "#0", NULL});
	}
	for (unsigned i = 0; i < queues; i++)
		maker_fact(maker, TFP_TAG_queue,
			   (const char *const[]){number(id, i + 1), "#0", "#1", number(stream, 7 + i), "#0", "#1", NULL});
}

/* Room for a record of any kind, or the block is written. */
static void spill(struct maker *maker, uint32_t thread, uint64_t *sequence, struct maker_records *records)
{
	if (records->size + 256 <= sizeof records->bytes)
		return;
	maker_events(maker, thread, 0, ++*sequence, 0, records);
	records->size = 0;
}

static void add_launch(struct maker_records *calls, struct maker_records *device, uint64_t i, unsigned thread, uint64_t realtime)
{
	uint64_t time = 1000 + i * 1000, start = realtime + time + 300;

	if (i % 100 == 99) {
		MAKER_ADD(calls, time + 200, gpu_call, .duration = 200, .correlation = i + 1, .function = 202, .stack = 1, .flags = 3);
		MAKER_ADD(device, time + 20000, device_copy, .start = start, .duration = 400, .correlation = i + 1, .bytes = 4096,
			  .queue = thread + 1, .kind = 1, .source = 2, .destination = 3, .flags = 1);
		return;
	}
	MAKER_ADD(calls, time + 200, gpu_call, .duration = 200, .correlation = i + 1, .function = 200, .stack = 1, .flags = 3);
	MAKER_ADD(device, time + 20000, kernel, .start = start, .duration = 500 + i % 64, .correlation = i + 1,
		  .shape = 1 + (uint32_t)(i % 16), .queue = thread + 1);
}

static void fill_gpu(struct maker *maker, unsigned threads, uint64_t launches, uint64_t a_step)
{
	struct maker_records *calls = must(calloc(threads, sizeof *calls)), *device = must(calloc(1, sizeof *device));
	uint64_t *sequences = must(calloc(threads + 1, sizeof *sequences));
	struct tfp_thread_slot *slots = must(calloc(threads + 1, sizeof *slots));

	maker_fact(maker, TFP_TAG_setting, (const char *const[]){"CUDA", "cupti", "#0", NULL});
	for (unsigned i = 0; i <= threads; i++)
		slots[i] = (struct tfp_thread_slot){.state = 1, .serial = i + 1, .tid = 100 + i};
	maker_live(maker, TFP_BLOCK_THREADS, NULL, slots, (threads + 1) * sizeof *slots);
	maker->live.threads_count = threads + 1;
	free(slots);
	maker_gpu_facts(maker, 16, threads);
	add_stacks(maker);
	for (uint64_t i = 0; i < launches; i++) {
		unsigned thread = (unsigned)(i % threads);

		spill(maker, thread + 1, &sequences[thread], &calls[thread]);
		spill(maker, threads + 1, &sequences[threads], device);
		if (a_step != 0 && i % a_step == 0 && thread == 0)
			MAKER_ADD(&calls[thread], 1000 + i * 1000 - 1, step, .number = i / a_step + 1);
		if (i % 1000000 == 0)
			MAKER_ADD(device, 1000 + i * 1000 + 20000 - 1, gpu_clock, .ticks = maker->header.origin.ticks + i * 1000,
				  .width = 40, .timestamp = maker->header.origin.realtime_ns + i * 1000);
		add_launch(&calls[thread], device, i, thread, maker->header.origin.realtime_ns);
	}
	for (unsigned thread = 0; thread < threads; thread++)
		if (calls[thread].size != 0)
			maker_chunk(maker, thread + 1, 0, ++sequences[thread], &calls[thread]);
	if (device->size != 0)
		maker_chunk(maker, threads + 1, 0, ++sequences[threads], device);
	maker->live.end_kind = TFP_END_EXIT;
	maker->live.end_time = launches * 1000 + 100000;
	maker_finish(maker);
	free(calls);
	free(device);
	free(sequences);
}

void maker_gpu(struct maker *maker, unsigned threads, uint64_t launches, uint64_t a_step)
{
	maker_begin(maker);
	maker_schema(maker, "");
	fill_gpu(maker, threads, launches, a_step);
}

void maker_seed_gpu(struct maker *maker)
{
	maker_begin_seed(maker);
	fill_gpu(maker, 2, 12, 0);
}

/* An event of each kind whose fields are all `value`, at `time` and later; with value 0 a fact of each kind. */
static void add_kinds(struct maker *maker, struct maker_records *records, uint64_t time, uint8_t value)
{
	const char *values[40];
	size_t count = 0;

#define TFP_EVENT(tag, name, help) \
	{ \
		const uint16_t kind = 0; \
		struct tfp_record_##name record; \
		memset(&record, 0, sizeof record); \
		for (size_t at = 8; at < sizeof record; at += sizeof record - 8 > 8 ? 4 : 8) \
			((uint8_t *)&record)[at] = value; \
		record.word = (time += 10) << TFP_TAG_BITS | tag; \
		maker_add(records, &record, sizeof record);
#define TFP_FACT(tag, name, help) \
	{ \
		const uint16_t kind = tag; \
		count = 0;
#define TFP_FIELD(name, type, unit, transform, help) \
	if (count < 32) \
		values[count++] = #type[0] == 's' ? "aten::mm" : "#1";
#define TFP_END() \
		values[count] = NULL; \
		if (kind != 0 && value == 0) \
			maker_fact(maker, kind, values); \
	}
#include "writer/records.def"
#undef TFP_EVENT
#undef TFP_FACT
#undef TFP_FIELD
#undef TFP_END
}

void maker_seed_kinds(struct maker *maker)
{
	struct maker_records *records = must(calloc(1, sizeof *records));

	maker_begin_seed(maker);
	add_stacks(maker);
	for (uint8_t value = 0; value < 3; value++)
		add_kinds(maker, records, value * UINT64_C(1000), value);
	maker_chunk(maker, 1, 0, 1, records);
	maker_finish(maker);
	free(records);
}
