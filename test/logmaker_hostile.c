/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs that no program of ours writes, and a reader must bear all the same: as many of one thing as a log may hold.
 *
 * Rule: one function a kind; the smallest log that has `count` of the thing, so that what a reader does for each shows.
 */
#include "test/logmaker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_LEFT 512u        /* bytes: the largest group of records that is added at once */
#define FACTS_BYTES (1u << 20) /* of a block of facts */
#define SLOTS 64u             /* of a block of threads */
#define CONTEXT_BLOCKS 16u    /* of a context */

enum reading {
#define TFP_READING(number, name, subject, kind, unit, help) READING_##name = number,
#include "collectors/tables/readings.def"
#undef TFP_READING
};

struct hostile {
	struct maker *maker;
	struct maker_records *records;
	uint64_t count, sequence, time;
	uint8_t *facts;
	size_t facts_bytes;
};

static void seal(struct hostile *hostile, uint32_t thread)
{
	if (hostile->records->size != 0)
		maker_events(hostile->maker, thread, 0, ++hostile->sequence, 0, hostile->records);
	hostile->records->size = 0;
}

/* The time of the next record, with room for it and its group. */
static uint64_t next(struct hostile *hostile)
{
	if (hostile->records->size + ROOM_LEFT > sizeof hostile->records->bytes)
		seal(hostile, 1);
	return ++hostile->time;
}

static void seal_facts(struct hostile *hostile)
{
	if (hostile->facts_bytes != 0)
		maker_live(hostile->maker, TFP_BLOCK_FACTS, NULL, hostile->facts, hostile->facts_bytes);
	hostile->facts_bytes = 0;
}

/* `form`: # = the next of `numbers`, $ = a text of its own, as "name7". */
static void put_fact(struct hostile *hostile, uint16_t tag, const char *form, const uint64_t *numbers)
{
	uint8_t payload[512] = {0};
	struct tfp_fact head = {.tag = tag, .state = 1, .time = 50};
	size_t at = sizeof head, length;
	char text[32];

	for (; *form != 0; form++) {
		if (*form == '#') {
			memcpy(payload + at, numbers++, 8);
			at += 8;
			continue;
		}
		length = (size_t)snprintf(text, sizeof text, "name%llu", (unsigned long long)*numbers++);
		memcpy(payload + at, &(uint32_t){(uint32_t)length}, 4);
		memcpy(payload + at + 4, text, length);
		at += 4 + length;
	}
	head.bytes = (uint32_t)((at + 7) / 8 * 8);
	memcpy(payload, &head, sizeof head);
	if (hostile->facts_bytes + sizeof payload > FACTS_BYTES)
		seal_facts(hostile);
	memcpy(hostile->facts + hostile->facts_bytes, payload, head.bytes);
	hostile->facts_bytes += head.bytes;
}

static void put_threads(struct hostile *hostile, uint64_t count)
{
	struct tfp_thread_slot slots[SLOTS];

	for (uint64_t i = 0; i < count; i += SLOTS) {
		memset(slots, 0, sizeof slots);
		for (uint32_t k = 0; k < SLOTS && i + k < count; k++)
			slots[k] = (struct tfp_thread_slot){.state = 1, .serial = (uint32_t)i + k + 1, .tid = (uint32_t)i + k + 100};
		maker_live(hostile->maker, TFP_BLOCK_THREADS, NULL, slots, sizeof slots);
	}
}

/* Ends of steps that never began. */
static void make_steps_ended(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 0; i < hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), step, .number = i + 10, .source = 7);
	for (uint64_t i = 0; i < hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), step_end, .number = 1);
}

/* None is a step: in each the data ran out; no two threads in turn are the same. */
static void make_steps_empty(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 0; i < hostile->count; i++) {
		MAKER_ADD(hostile->records, next(hostile), step, .number = i, .source = 7);
		MAKER_ADD(hostile->records, next(hostile), step_end, .number = i, .is_empty = 1);
	}
}

/* All but the last are of a source that is trusted less. */
static void make_steps_outdone(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 0; i < hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), step, .number = i, .source = 1);
	MAKER_ADD(hostile->records, next(hostile), step, .number = 1, .source = 7);
}

/* Each batch has one op, on a thread that marks no step. */
static void make_batches(struct hostile *hostile)
{
	put_threads(hostile, 1);
	maker_fact(hostile->maker, TFP_TAG_op_name, (const char *const[]){"#1", "IteratorGetNext", NULL});
	maker_fact(hostile->maker, TFP_TAG_op_name, (const char *const[]){"#2", "MatMul", NULL});
	for (uint64_t i = 0; i < 2 * hostile->count; i++) {
		MAKER_ADD(hostile->records, next(hostile), op_begin, .key = i + 1, .name = 1 + i % 2, .source = 7, .scope = 0);
		MAKER_ADD(hostile->records, next(hostile), op_end, .key = i + 1, .source = 7);
	}
}

/* The same, behind the end of the only window. */
static void make_batches_unseen(struct hostile *hostile)
{
	MAKER_ADD(hostile->records, next(hostile), window, .is_open = 1, .cause = 3);
	MAKER_ADD(hostile->records, next(hostile), window, .is_open = 0, .cause = 3);
	make_batches(hostile);
}

/* That could be learnt from, all in one step. */
static void make_layers(struct hostile *hostile)
{
	put_threads(hostile, 1);
	maker_fact(hostile->maker, TFP_TAG_op_name, (const char *const[]){"#1", "aten::mm", NULL});
	MAKER_ADD(hostile->records, next(hostile), step, .number = 1, .source = 5);
	for (uint64_t i = 0; i < hostile->count; i++) {
		MAKER_ADD(hostile->records, next(hostile), op_begin, .key = i + 1, .name = 1, .source = 5, .scope = 0);
		MAKER_ADD(hostile->records, next(hostile), op_link, .sequence = i + 1);
		MAKER_ADD(hostile->records, next(hostile), op_end, .key = i + 1, .source = 5);
	}
	MAKER_ADD(hostile->records, next(hostile), step, .number = 2, .source = 5);
}

/* Each function of TensorFlow is called twice. */
static void make_functions(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 0; i < hostile->count; i++) {
		char id[24], name[32];
		snprintf(id, sizeof id, "#%llu", (unsigned long long)i + 1);
		snprintf(name, sizeof name, "function%llu_of", (unsigned long long)i); /* a number at its end tells traces apart */
		maker_fact(hostile->maker, TFP_TAG_op_name, (const char *const[]){id, name, NULL});
	}
	for (uint64_t i = 0; i < 2 * hostile->count; i++) {
		MAKER_ADD(hostile->records, next(hostile), op_begin, .key = i + 1, .name = 1 + (uint32_t)i % hostile->count, .source = 7,
			  .scope = 7);
		MAKER_ADD(hostile->records, next(hostile), op_end, .key = i + 1, .source = 7);
	}
}

/* In a process that knows GPUs: whether a thread launches, steps or waits is asked of each. */
static void make_threads_ended(struct hostile *hostile)
{
	put_threads(hostile, SLOTS);
	maker_gpu_facts(hostile->maker, 1, 1);
	for (uint64_t i = 0; i < hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), thread_end, .serial = (uint32_t)i + 1, .tid = (uint32_t)i + 100);
}

/* Short ones, one after the other, each read once by the kernel's number. */
static void make_threads_read(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 0; i < hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), reading, .value = i, .subject = (uint32_t)i + 100, .kind = READING_thread_delay);
	for (uint64_t i = 0; i < hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), thread_end, .serial = (uint32_t)i + 2, .tid = (uint32_t)i + 100);
}

/* Threads that all had one number of the kernel's, and looks at it before any of them began. */
static void make_threads_alike(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 0; i < hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), native_time, .thread = 200, .cpu = 1, .before = 1000000000);
	for (uint64_t i = 0; i < hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), thread_end, .serial = (uint32_t)i + 2, .tid = 200, .start = 50);
}

/* Each marks something, in a stream of its own. */
static void make_threads_marking(struct hostile *hostile)
{
	put_threads(hostile, hostile->count);
	for (uint64_t i = 0; i < hostile->count; i++) {
		MAKER_ADD(hostile->records, next(hostile), mark, .name = 1, .source = 1);
		hostile->sequence = 0; /* of a stream that begins */
		seal(hostile, (uint32_t)i + 1);
	}
}

static void make_domains(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 1; i <= hostile->count; i++)
		put_fact(hostile, TFP_TAG_range_domain, "#$#", (const uint64_t[]){i, i, 1});
}

static void make_queues(struct hostile *hostile)
{
	put_threads(hostile, 1);
	maker_gpu_facts(hostile->maker, 1, 1);
	for (uint64_t i = 10; i < hostile->count; i++)
		put_fact(hostile, TFP_TAG_queue, "######", (const uint64_t[]){i, 0, 1, i, 0, 1});
}

static void make_settings(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 0; i < hostile->count; i++)
		put_fact(hostile, TFP_TAG_setting, "$$#", (const uint64_t[]){i, i, 1});
}

/* Of `devices` devices; each works once on each of its streams. */
static void put_streams(struct hostile *hostile, uint64_t devices)
{
	put_threads(hostile, 1);
	maker_gpu_facts(hostile->maker, 1, 1);
	for (uint64_t i = 2; i <= hostile->count; i++)
		put_fact(hostile, TFP_TAG_queue, "######", (const uint64_t[]){i, i % devices, 1, i + 10, 0, 1});
	for (uint64_t i = 1; i <= hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), kernel, .start = hostile->maker->header.origin.realtime_ns + 10 * i,
			  .duration = 500, .correlation = i, .shape = 1, .queue = (uint32_t)i);
}

static void make_streams(struct hostile *hostile)
{
	put_streams(hostile, 1);
}

static void make_devices(struct hostile *hostile)
{
	put_streams(hostile, hostile->count);
}

/* Each has more blocks than a few; all are there before the first ends. */
static void make_contexts_ended(struct hostile *hostile)
{
	const uint64_t contexts = hostile->count / CONTEXT_BLOCKS;

	put_threads(hostile, 1);
	maker_gpu_facts(hostile->maker, 1, 1);
	for (uint64_t i = 0; i < contexts * CONTEXT_BLOCKS; i++) {
		MAKER_ADD(hostile->records, next(hostile), gpu_alloc, .address = (i + 1) << 12, .bytes = 512, .device = 0, .flavour = 1,
			  .context = 1 + i / CONTEXT_BLOCKS);
		MAKER_ADD(hostile->records, next(hostile), gpu_call, .duration = 1, .function = 204, .correlation = i + 1, .flags = 1);
	}
	for (uint64_t i = 0; i < contexts; i++)
		MAKER_ADD(hostile->records, next(hostile), context_end, .context = 1 + i);
}

/* Loaded and unloaded, one after the other. */
static void make_modules(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 1; i <= hostile->count; i++) {
		put_fact(hostile, TFP_TAG_module, "######$$",
			 (const uint64_t[]){i, i << 12, i << 12, (i + 1) << 12, 1, i, i, i});
		put_fact(hostile, TFP_TAG_module_unload, "#", (const uint64_t[]){i});
	}
}

/* Each call of a function returns another error. */
static void make_results(struct hostile *hostile)
{
	put_threads(hostile, 1);
	maker_gpu_facts(hostile->maker, 1, 1);
	for (uint64_t i = 1; i <= hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), gpu_call, .duration = 1, .function = 200, .result = (uint32_t)i, .flags = 1);
}

/* One name is never popped, in front of another that is. */
static void make_ranges_left_open(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 0; i < hostile->count; i++) {
		MAKER_ADD(hostile->records, next(hostile), range_push, .name = 1, .source = 1);
		MAKER_ADD(hostile->records, next(hostile), range_push, .name = 2, .source = 1);
		MAKER_ADD(hostile->records, next(hostile), range_pop, .source = 1);
	}
}

/* What stands for steps where nobody marks any. */
static void make_requests(struct hostile *hostile)
{
	put_threads(hostile, 1);
	for (uint64_t i = 0; i < hostile->count; i++) {
		MAKER_ADD(hostile->records, next(hostile), range_push, .name = 1, .source = 1);
		MAKER_ADD(hostile->records, next(hostile), range_pop, .source = 1);
	}
}

/* Ends of ops that never began, and as many threads on which they may have. */
static void make_ops_unbegun(struct hostile *hostile)
{
	put_threads(hostile, hostile->count);
	for (uint64_t i = 0; i < hostile->count; i++) {
		MAKER_ADD(hostile->records, next(hostile), mark, .name = 1, .source = 1);
		hostile->sequence = 0;
		seal(hostile, (uint32_t)i + 2);
	}
	hostile->sequence = 0;
	for (uint64_t i = 0; i < hostile->count; i++)
		MAKER_ADD(hostile->records, next(hostile), op_end, .key = i + 1, .source = 5);
}

static const struct {
	const char *name;
	void (*make)(struct hostile *hostile);
} kinds[] = {
	{"steps-ended", make_steps_ended},
	{"steps-empty", make_steps_empty},
	{"steps-outdone", make_steps_outdone},
	{"batches", make_batches},
	{"batches-unseen", make_batches_unseen},
	{"layers", make_layers},
	{"functions", make_functions},
	{"threads-ended", make_threads_ended},
	{"threads-read", make_threads_read},
	{"threads-alike", make_threads_alike},
	{"threads-marking", make_threads_marking},
	{"domains", make_domains},
	{"queues", make_queues},
	{"streams", make_streams},
	{"devices", make_devices},
	{"contexts-ended", make_contexts_ended},
	{"settings", make_settings},
	{"modules", make_modules},
	{"results", make_results},
	{"ranges-left-open", make_ranges_left_open},
	{"requests", make_requests},
	{"ops-unbegun", make_ops_unbegun},
};

int maker_hostile(struct maker *maker, const char *kind, uint64_t count)
{
	struct hostile hostile = {.maker = maker, .count = count, .time = 100};
	size_t of = 0;

	while (of < sizeof kinds / sizeof *kinds && strcmp(kinds[of].name, kind) != 0)
		of++;
	if (of == sizeof kinds / sizeof *kinds)
		return -1;
	hostile.records = calloc(1, sizeof *hostile.records);
	hostile.facts = calloc(1, FACTS_BYTES);
	if (hostile.records == NULL || hostile.facts == NULL)
		abort();
	maker_begin(maker);
	maker_schema(maker, "");
	kinds[of].make(&hostile);
	seal_facts(&hostile);
	seal(&hostile, 1);
	maker_finish(maker);
	free(hostile.records);
	free(hostile.facts);
	return 0;
}
