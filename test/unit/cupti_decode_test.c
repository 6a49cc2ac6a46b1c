/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests of CUPTI's buffers: records laid out by hand, byte offset by byte offset, at the sizes of every version from
 * 11.7 to 13.5, become the same records of ours; what is cut, unknown or nonsense is counted and harms nobody.
 *
 * Rule: offsets here are numbers, not the library's structs, so that a wrong struct is seen.
 */
#include "collectors/cupti_decode.h"
#include "writer/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static int no_start(void)
{
	return -1;
}
int (*const tfp_start_process)(void) = no_start;

#define LANE_BYTES (8u << 20)

/* Bytes of each record, by version of CUPTI. */
static const struct version {
	const char *name;
	uint16_t kernel, memcpy, memcpy2, memset, memory, pool, overhead, wait, device, context, graph, jit, managed;
} versions[] = {
	{"11.7", 176, 88, 96, 88, 120, 72, 40, 40, 176, 16, 48, 0, 64},
	{"11.8", 200, 88, 96, 88, 120, 72, 40, 40, 176, 16, 48, 64, 64},
	{"12.0", 208, 88, 96, 88, 120, 72, 40, 40, 176, 16, 48, 64, 64},
	{"12.2", 208, 88, 96, 88, 120, 72, 40, 40, 184, 16, 48, 64, 64},
	{"12.3", 208, 88, 96, 88, 120, 72, 48, 40, 184, 16, 56, 64, 64},
	{"12.4", 208, 88, 96, 88, 120, 72, 56, 40, 184, 24, 56, 72, 64},
	{"12.5", 208, 88, 96, 88, 120, 72, 56, 40, 184, 32, 56, 72, 64},
	{"12.6", 208, 88, 96, 88, 128, 72, 56, 40, 184, 32, 56, 72, 64},
	{"12.8", 208, 96, 96, 88, 128, 72, 56, 56, 184, 32, 56, 72, 104},
	{"13.0", 216, 96, 96, 88, 128, 80, 56, 56, 184, 32, 56, 72, 104},
	{"13.1", 224, 96, 96, 88, 128, 80, 56, 56, 184, 40, 56, 72, 104},
	{"13.2", 224, 96, 96, 88, 128, 80, 56, 56, 192, 40, 56, 72, 104},
	{"13.3", 232, 96, 96, 88, 128, 80, 56, 56, 192, 40, 56, 72, 104},
	{"13.4", 248, 112, 96, 104, 128, 80, 56, 56, 192, 40, 56, 72, 104},
	{"13.5", 248, 112, 96, 104, 128, 80, 56, 56, 192, 40, 56, 72, 104},
};
#define VERSIONS (sizeof versions / sizeof versions[0])

struct fixture {
	struct tfp_thread thread;
	struct tfp_thread_slot slot;
	struct tfp_lane lane;
	struct tfp_cupti_decoder decoder;
	_Atomic uint64_t newest;
	uint8_t *buffer;
	size_t bytes;
};

/* Facts as the decoder wrote them: tag and fields, texts copied. */
static struct seen_fact {
	uint8_t tag;
	size_t count;
	uint64_t numbers[24];
	char texts[24][256];
	size_t lengths[24];
} facts[4096];
static size_t fact_count;

static int note_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count)
{
	struct seen_fact *fact = &facts[fact_count++ % 4096];

	fact->tag = tag;
	fact->count = count;
	for (size_t i = 0; i < count; i++) {
		fact->numbers[i] = fields[i].number;
		fact->lengths[i] = fields[i].text.length;
		if (fields[i].is_text) {
			size_t kept = fields[i].text.length < 255 ? fields[i].text.length : 255;
			memcpy(fact->texts[i], fields[i].text.bytes, kept);
			fact->texts[i][kept] = 0;
		}
	}
	return 0;
}

static void set_strides(struct tfp_cupti_strides *strides, const struct version *version)
{
	memset(strides, 0, sizeof *strides);
	strides->of[3] = strides->of[10] = version->kernel;
	strides->of[1] = version->memcpy;
	strides->of[22] = version->memcpy2;
	strides->of[2] = version->memset;
	strides->of[49] = version->memory;
	strides->of[50] = version->pool;
	strides->of[17] = version->overhead;
	strides->of[38] = version->wait;
	strides->of[8] = version->device;
	strides->of[9] = version->context;
	strides->of[51] = version->graph;
	strides->of[52] = version->jit;
	strides->of[25] = version->managed;
	strides->of[37] = 24;
	strides->of[11] = 32;
}

static struct fixture *begin(const struct version *version)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);

	fixture->thread.is_ready = 1;
	fixture->thread.slot = &fixture->slot;
	fixture->lane.chunk = calloc(1, sizeof(struct tfp_chunk) + LANE_BYTES);
	fixture->lane.cursor = (uint8_t *)(fixture->lane.chunk + 1);
	fixture->lane.end = fixture->lane.cursor + LANE_BYTES;
	fixture->buffer = calloc(1, 1 << 20);
	fact_count = 0;
	set_strides(&fixture->decoder.strides, version);
	fixture->decoder.tables = tfp_cupti_tables_make(note_fact);
	fixture->decoder.fact = note_fact;
	fixture->decoder.newest = &fixture->newest;
	fixture->decoder.wanted.items[0].to = UINT64_MAX;
	fixture->decoder.wanted.count = 1;
	fixture->newest = 1000;
	return fixture;
}

static void end(struct fixture *fixture)
{
	tfp_cupti_tables_drop(fixture->decoder.tables);
	free(fixture->lane.chunk);
	free(fixture->buffer);
	free(fixture);
}

/* A record of `bytes`, its kind first; what comes back is filled by the caller. */
static uint8_t *add(struct fixture *fixture, uint32_t kind, size_t bytes)
{
	uint8_t *at = fixture->buffer + fixture->bytes;

	memset(at, 0xee, bytes); /* what a version appends, and padding, must not matter */
	memcpy(at, &kind, 4);
	fixture->bytes += bytes;
	return at;
}

static void put4(uint8_t *at, size_t offset, uint64_t value)
{
	uint32_t small = (uint32_t)value;

	memcpy(at + offset, &small, 4);
}

static void put8(uint8_t *at, size_t offset, uint64_t value)
{
	memcpy(at + offset, &value, 8);
}

static void decode(struct fixture *fixture)
{
	tfp_cupti_decode(&fixture->decoder, &fixture->thread, &fixture->lane, fixture->buffer, fixture->bytes);
}

/* The records written, one after the other. */
static const uint8_t *at_record;

static void rewind_records(struct fixture *fixture)
{
	at_record = (uint8_t *)(fixture->lane.chunk + 1);
}

#define EXPECT(fixture, name) \
	const struct tfp_record_##name *name = (const void *)at_record; \
	assert_true(at_record < (fixture)->lane.cursor); \
	assert_int_equal(name->word & ((1u << TFP_TAG_BITS) - 1), TFP_TAG_##name); \
	at_record += sizeof *name

static const char kernel_name[] = "_Z4vaddPKfS0_Pfi";

static void add_kernel(struct fixture *fixture, size_t bytes, const char *name, uint32_t grid_x, uint32_t correlation)
{
	uint8_t *at = add(fixture, 10, bytes);

	at[6] = 37, at[7] = 0;
	put8(at, 16, UINT64_C(1700000000000001000)), put8(at, 24, UINT64_C(1700000000000003500));
	put4(at, 40, 1), put4(at, 44, 2), put4(at, 48, 7);
	put4(at, 52, grid_x), put4(at, 56, 12), put4(at, 60, 13);
	put4(at, 64, 256), put4(at, 68, 2), put4(at, 72, 1);
	put4(at, 76, 1024), put4(at, 80, 2048), put4(at, 84, 16), put4(at, 88, 4096), put4(at, 92, correlation);
	put8(at, 104, (uintptr_t)name);
	at[136] = 1;
	put4(at, 140, 65536);
	put8(at, 144, UINT64_C(0x100000005)), put4(at, 156, 3), put4(at, 168, 9), put4(at, 172, 1);
	if (bytes >= 200)
		put4(at, 176, 2), put4(at, 180, 3), put4(at, 184, 4), put8(at, 192, UINT64_C(1) << 33);
	if (bytes >= 208)
		put4(at, 204, 6);
}

static void check_shape(const struct seen_fact *fact, size_t bytes)
{
	const uint64_t wanted[] = {1, 0, 11, 12, 13, 256, 2, 1, 37, 1024, 2048, 65536, 16, bytes >= 200 ? UINT64_C(1) << 33 : 4096,
		bytes >= 200 ? 2 : 0, bytes >= 200 ? 3 : 0, bytes >= 200 ? 4 : 0, bytes >= 208 ? 6 : 0, 1};

	assert_int_equal(fact->tag, TFP_TAG_shape);
	assert_int_equal(fact->count, 19);
	assert_string_equal(fact->texts[1], kernel_name);
	for (size_t i = 0; i < 19; i++)
		if (i != 1)
			assert_int_equal(fact->numbers[i], wanted[i]);
}

static void kernels_of_every_version(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < VERSIONS; i++) {
		struct fixture *fixture = begin(&versions[i]);
		add_kernel(fixture, versions[i].kernel, kernel_name, 11, 1001);
		add_kernel(fixture, versions[i].kernel, kernel_name, 11, 1002);
		decode(fixture);
		rewind_records(fixture);
		for (uint64_t correlation = 1001; correlation <= 1002; correlation++) {
			EXPECT(fixture, kernel);
			assert_int_equal(kernel->start, UINT64_C(1700000000000001000));
			assert_int_equal(kernel->duration, 2500);
			assert_int_equal(kernel->correlation, correlation);
			assert_int_equal(kernel->shape, 1);
			assert_int_equal(kernel->queue, 1);
			assert_int_equal(kernel->graph, 3);
			assert_int_equal(kernel->node, UINT64_C(0x100000005));
		}
		assert_ptr_equal(at_record, fixture->lane.cursor);
		assert_int_equal(fact_count, 2);
		check_shape(&facts[0], versions[i].kernel);
		const uint64_t queue[] = {1, 1, 2, 7, 9, 1};
		for (size_t k = 0; k < 6; k++)
			assert_int_equal(facts[1].numbers[k], queue[k]);
		assert_int_equal(fixture->decoder.unreadable, 0);
		end(fixture);
	}
}

static void add_copies(struct fixture *fixture, const struct version *version)
{
	uint8_t *at = add(fixture, 1, version->memcpy);

	at[4] = 1, at[5] = 2, at[6] = 3, at[7] = 1;
	put8(at, 8, UINT64_C(5) << 32), put8(at, 16, 100), put8(at, 24, 90); /* ends before it began: kept as it came */
	put4(at, 32, 0), put4(at, 36, 1), put4(at, 40, 8), put4(at, 44, 900), put8(at, 64, 0), put4(at, 72, 0), put4(at, 76, 4);
	put4(at, 80, 2);
	if (version->memcpy >= 96)
		put8(at, 88, 3);
	at = add(fixture, 22, version->memcpy2);
	at[4] = 10, at[5] = 3, at[6] = 3, at[7] = 0;
	put8(at, 8, 4096), put8(at, 16, 200), put8(at, 24, 260), put4(at, 32, 0), put4(at, 36, 1), put4(at, 40, 8);
	put4(at, 44, 0), put4(at, 48, 1), put4(at, 52, 1), put4(at, 56, 2), put4(at, 60, 901), put8(at, 72, 77), put4(at, 80, 5);
	put4(at, 84, 0), put4(at, 88, 0);
	at = add(fixture, 2, version->memset);
	put4(at, 4, 0xab), put8(at, 8, 512), put8(at, 16, 0), put8(at, 24, 0), put4(at, 32, 0), put4(at, 36, 1), put4(at, 40, 8);
	put4(at, 44, 902), at[48] = 1, at[49] = 0, at[50] = 3, at[51] = 0, put8(at, 64, 0), put4(at, 72, 0), put4(at, 80, 0);
}

static void copies_of_every_version(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < VERSIONS; i++) {
		struct fixture *fixture = begin(&versions[i]);
		add_copies(fixture, &versions[i]);
		decode(fixture);
		rewind_records(fixture);
		{
			EXPECT(fixture, device_copy);
			assert_int_equal(device_copy->duration, (uint64_t)-10);
			assert_int_equal(device_copy->bytes, UINT64_C(5) << 32);
			assert_int_equal(device_copy->correlation, 900);
			assert_int_equal(device_copy->kind << 16 | device_copy->source << 8 | device_copy->destination, 0x10203);
			assert_int_equal(device_copy->flags, 1);
			assert_int_equal(device_copy->count, versions[i].memcpy >= 96 ? 3 : 0);
			assert_int_equal(device_copy->source_device, UINT32_MAX);
		}
		{
			EXPECT(fixture, device_copy);
			assert_int_equal(device_copy->kind, 10);
			assert_int_equal(device_copy->source_device, 0);
			assert_int_equal(device_copy->destination_device, 1);
			assert_int_equal(device_copy->node, 77);
			assert_int_equal(device_copy->graph, 5);
		}
		EXPECT(fixture, device_set);
		assert_int_equal(device_set->value, 0xab);
		assert_int_equal(device_set->memory, 3);
		assert_int_equal(device_set->flags, 1);
		assert_int_equal(device_set->bytes, 512);
		assert_int_equal(fixture->decoder.timeless, 1);
		assert_ptr_equal(at_record, fixture->lane.cursor);
		end(fixture);
	}
}

static void add_memory(struct fixture *fixture, const struct version *version)
{
	uint8_t *at = add(fixture, 49, version->memory);

	put4(at, 4, 1), put4(at, 8, 3), put4(at, 12, 950), put8(at, 16, UINT64_C(0x7f0000000000)), put8(at, 24, 1 << 20);
	put8(at, 32, 555), put8(at, 40, 0x401234), put4(at, 52, 1), put4(at, 56, 2), put4(at, 60, 13), put4(at, 72, 1);
	put4(at, 80, 1), put8(at, 88, UINT64_C(0xabc0)), put8(at, 96, 0), put8(at, 104, 1 << 25), put8(at, 112, 1 << 21);
	at = add(fixture, 50, version->pool);
	put4(at, 4, 3), put4(at, 8, 1), put4(at, 12, 951), put4(at, 20, 1), put8(at, 24, 4096), put8(at, 32, UINT64_C(0xabc0));
	put8(at, 40, 1 << 25), put8(at, 48, 777), put8(at, 56, 556), put8(at, 64, 1 << 21);
	at = add(fixture, 38, version->wait);
	put4(at, 4, 3), put8(at, 8, 1000), put8(at, 16, 1500), put4(at, 24, 952), put4(at, 28, 2), put4(at, 32, 13);
	put4(at, 36, UINT32_MAX);
	at = add(fixture, 17, version->overhead);
	put4(at, 4, 1 << 16), put4(at, 8, 2), put4(at, 12, 4711), put4(at, 16, 4712), put8(at, 24, 10), put8(at, 32, 30);
	if (version->overhead >= 48)
		put4(at, 40, 953);
	if (version->overhead >= 56)
		put8(at, 48, 0);
	at = add(fixture, 51, version->graph);
	put4(at, 4, 954), put8(at, 8, 5), put8(at, 16, 9), put4(at, 24, 1), put4(at, 28, 44), put4(at, 32, 2), put4(at, 36, 13);
}

static void memory_and_waits_of_every_version(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < VERSIONS; i++) {
		struct fixture *fixture = begin(&versions[i]);
		add_memory(fixture, &versions[i]);
		decode(fixture);
		rewind_records(fixture);
		EXPECT(fixture, device_memory);
		assert_int_equal(device_memory->address, UINT64_C(0x7f0000000000));
		assert_int_equal(device_memory->bytes, 1 << 20);
		assert_int_equal(device_memory->flags, 3);
		assert_int_equal(device_memory->pool_used, 1 << 21);
		assert_int_equal(device_memory->pool_bytes, 1 << 25);
		assert_int_equal(device_memory->pc, 0x401234);
		EXPECT(fixture, device_pool);
		assert_int_equal(device_pool->operation, 3);
		assert_int_equal(device_pool->threshold, 777);
		assert_int_equal(device_pool->timestamp, 556);
		EXPECT(fixture, device_wait);
		assert_int_equal(device_wait->duration, 500);
		assert_int_equal(device_wait->stream, 13);
		assert_int_equal(device_wait->event, UINT32_MAX);
		EXPECT(fixture, gpu_overhead);
		assert_int_equal(gpu_overhead->kind, 65536);
		assert_int_equal(gpu_overhead->thread, 4712);
		assert_int_equal(gpu_overhead->correlation, versions[i].overhead >= 48 ? 953 : 0);
		EXPECT(fixture, graph_run);
		assert_int_equal(graph_run->graph, 44);
		assert_int_equal(graph_run->duration, 4);
		assert_ptr_equal(at_record, fixture->lane.cursor);
		end(fixture);
	}
}

static void add_facts(struct fixture *fixture, const struct version *version)
{
	uint8_t *at = add(fixture, 8, version->device);

	put8(at, 8, 3352320000), put8(at, 16, UINT64_C(80) << 30), put4(at, 28, 50 << 20), put4(at, 32, 32), put4(at, 36, 1980000);
	put4(at, 44, 132), put4(at, 52, 64), put4(at, 56, 32), put4(at, 60, 233472), put4(at, 64, 65536), put4(at, 72, 49152);
	put4(at, 104, 9), put4(at, 108, 0), put4(at, 112, 1), memcpy(at + 120, "0123456789abcdef", 16);
	put8(at, 136, (uintptr_t) "NVIDIA H100"), at[145] = 0;
	at = add(fixture, 9, version->context);
	put4(at, 4, 2), put4(at, 8, 1), at[14] = 7, at[15] = 0;
	if (version->context >= 24)
		put4(at, 16, 1);
	at = add(fixture, 37, 24);
	put4(at, 4, 2), put4(at, 8, 13), put4(at, 12, (uint32_t)-5), put4(at, 16, 2), put4(at, 20, 955);
	at = add(fixture, 11, 32);
	put4(at, 4, 5), put4(at, 8, 1), put4(at, 12, 2), put4(at, 16, 13), put8(at, 24, (uintptr_t) "copies");
}

static void devices_of_every_version(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < VERSIONS; i++) {
		struct fixture *fixture = begin(&versions[i]);
		add_facts(fixture, &versions[i]);
		decode(fixture);
		assert_int_equal(fact_count, 4);
		const uint64_t device[] = {1, 0, 0, 9, 0, 132, UINT64_C(80) << 30, UINT64_C(3352320000000), UINT64_C(1980000000),
			50 << 20, 32, 64, 32, 233472, 65536, 49152, 0};
		for (size_t k = 0; k < 17; k++)
			if (k != 1 && k != 2)
				assert_int_equal(facts[0].numbers[k], device[k]);
		assert_string_equal(facts[0].texts[1], "NVIDIA H100");
		assert_string_equal(facts[0].texts[2], "0123456789abcdef");
		assert_int_equal(facts[1].numbers[2], 7);
		assert_int_equal(facts[1].numbers[3], versions[i].context >= 24 ? 1 : 0);
		assert_int_equal(facts[2].numbers[2], (uint64_t)-5);
		assert_int_equal(facts[3].numbers[1], 13);
		assert_int_equal(facts[3].numbers[2], 2);
		assert_string_equal(facts[3].texts[3], "copies");
		end(fixture);
	}
}

static void unknown_kinds_are_passed_over(void **unused)
{
	struct fixture *fixture = begin(&versions[VERSIONS - 1]);

	(void)unused;
	fixture->decoder.strides.of[41] = 72; /* a kind that the library knows and we do not read */
	add(fixture, 41, 72);
	add_kernel(fixture, 248, kernel_name, 11, 1001);
	add(fixture, 0, 248); /* CUPTI_ACTIVITY_KIND_INVALID: a record that never became complete */
	add_kernel(fixture, 248, kernel_name, 11, 1002);
	decode(fixture);
	rewind_records(fixture);
	EXPECT(fixture, kernel);
	assert_int_equal(kernel->correlation, 1001);
	assert_ptr_equal(at_record, fixture->lane.cursor); /* behind an invalid record nothing can be told apart */
	assert_int_equal(fixture->decoder.unreadable, 2);
	assert_int_equal(fixture->decoder.records, 3);
	end(fixture);
}

/* What a library says of the unknown kind 99: 40 bytes; and of kernels: 256, whatever was measured. */
static int next_of_library(uint8_t *buffer, size_t bytes, const void **record)
{
	const uint8_t *at = *record;
	uint32_t kind;

	memcpy(&kind, at, 4);
	at += kind == 99 ? 40 : kind == 10 ? 256 : 0;
	if (at == *record || at >= buffer + bytes)
		return 12;
	*record = at;
	return 0;
}

static void the_library_knows_the_way(void **unused)
{
	struct fixture *fixture = begin(&versions[VERSIONS - 1]);

	(void)unused;
	fixture->decoder.next_record = next_of_library;
	add(fixture, 99, 40);
	add_kernel(fixture, 256, kernel_name, 11, 1001);
	add_kernel(fixture, 256, kernel_name, 11, 1002);
	decode(fixture);
	rewind_records(fixture);
	for (uint64_t correlation = 1001; correlation <= 1002; correlation++) {
		EXPECT(fixture, kernel);
		assert_int_equal(kernel->correlation, correlation);
	}
	assert_int_equal(fixture->decoder.unreadable, 1);
	end(fixture);
}

static void older_structs_are_refused(void **unused)
{
	struct fixture *fixture = begin(&versions[0]);

	(void)unused;
	fixture->decoder.strides.of[10] = 168; /* 11.6 */
	add_kernel(fixture, 176, kernel_name, 11, 1001);
	fixture->bytes = 168;
	decode(fixture);
	assert_int_equal(fixture->decoder.unreadable, 1);
	assert_int_equal(fixture->lane.cursor - (uint8_t *)(fixture->lane.chunk + 1), 0);
	end(fixture);
}

static void shapes_are_interned_by_content(void **unused)
{
	struct fixture *fixture = begin(&versions[9]);
	char *copy = strdup(kernel_name);

	(void)unused;
	add_kernel(fixture, 216, kernel_name, 11, 1);
	add_kernel(fixture, 216, copy, 11, 2);	    /* another pointer, the same name */
	add_kernel(fixture, 216, kernel_name, 12, 3); /* another grid */
	decode(fixture);
	fixture->bytes = 0;
	strcpy(copy, "_Z3new");
	tfp_cupti_tables_forget(fixture->decoder.tables); /* a module was unloaded */
	add_kernel(fixture, 216, copy, 11, 4);		  /* the same pointer, another name */
	decode(fixture);
	rewind_records(fixture);
	for (uint32_t i = 0; i < 4; i++) {
		static const uint32_t wanted[] = {1, 1, 2, 3};
		EXPECT(fixture, kernel);
		assert_int_equal(kernel->shape, wanted[i]);
	}
	assert_string_equal(facts[3].texts[1], "_Z3new");
	free(copy);
	end(fixture);
}

static void names_that_are_gone_or_endless(void **unused)
{
	struct fixture *fixture = begin(&versions[9]);
	char *huge = malloc(70001);
	char *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	munmap(gone, 4096);
	memset(huge, 'n', 70000);
	huge[70000] = 0;
	add_kernel(fixture, 216, gone, 11, 1);
	add_kernel(fixture, 216, NULL, 11, 2);
	add_kernel(fixture, 216, huge, 11, 3);
	add_kernel(fixture, 216, "a,\"b\"\n\xff\xfe", 11, 4);
	decode(fixture);
	assert_int_equal(tfp_cupti_tables_lost(fixture->decoder.tables), 2);
	assert_int_equal(facts[0].lengths[1], 0);
	assert_int_equal(facts[2].lengths[1], TFP_NAME_MOST);
	assert_string_equal(facts[3].texts[1], "a,\"b\"\n\xff\xfe");
	free(huge);
	end(fixture);
}

static void outside_the_window(void **unused)
{
	struct fixture *fixture = begin(&versions[9]);

	(void)unused;
	fixture->decoder.wanted.items[0] = (struct tfp_cupti_range){990, 992};
	fixture->decoder.wanted.items[1] = (struct tfp_cupti_range){995, 1000};
	fixture->decoder.wanted.count = 2;
	for (uint32_t correlation = 988; correlation <= 1002; correlation++)
		add_kernel(fixture, 216, kernel_name, 11, correlation);
	decode(fixture);
	assert_int_equal(fixture->decoder.outside, 6);
	assert_int_equal(fixture->decoder.records, 15);
	assert_int_equal((size_t)(fixture->lane.cursor - (uint8_t *)(fixture->lane.chunk + 1)) / sizeof(struct tfp_record_kernel), 9);
	end(fixture);
}

static void correlation_ids_wrap(void **unused)
{
	(void)unused;
	assert_int_equal(tfp_cupti_widen_near(0, 5), 5);
	assert_int_equal(tfp_cupti_widen_near(UINT64_C(0xfffffff0), 3), UINT64_C(0x100000003));
	assert_int_equal(tfp_cupti_widen_near(UINT64_C(0x100000003), 0xfffffff0), UINT64_C(0xfffffff0));
	assert_int_equal(tfp_cupti_widen_near(UINT64_C(0x700000003), 0xfffffff0), UINT64_C(0x6fffffff0));
	assert_int_equal(tfp_cupti_widen_near(3, 0xfffffff0), 0xfffffff0); /* there is nothing before 0 */
	assert_int_equal(tfp_cupti_widen_near(UINT64_C(0x700000003), 0), 0);
}

static void nonsense_harms_nobody(void **unused)
{
	(void)unused;
	srand(4711);
	for (int round = 0; round < 3000; round++) {
		struct fixture *fixture = begin(&versions[round % VERSIONS]);
		size_t bytes = (size_t)rand() % 4096;
		uint8_t *exact = malloc(bytes); /* so that reading past the end is seen under a sanitizer */
		for (size_t i = 0; i < bytes; i++)
			exact[i] = (uint8_t)(rand() % 3 ? rand() : 0);
		for (size_t at = 0; at + 248 < bytes; at += 248)
			put4(exact, at, (uint32_t[]){1, 2, 3, 8, 9, 10, 11, 22, 25, 37, 38, 49, 50, 51, 52}[rand() % 15]);
		tfp_cupti_decode(&fixture->decoder, &fixture->thread, &fixture->lane, exact, bytes);
		assert_true(fixture->decoder.records <= bytes / 8 + 1);
		assert_true(tfp_cupti_count(&fixture->decoder, exact, bytes) <= bytes / 8 + 1);
		free(exact);
		end(fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_every_version),
		cmocka_unit_test(copies_of_every_version),
		cmocka_unit_test(memory_and_waits_of_every_version),
		cmocka_unit_test(devices_of_every_version),
		cmocka_unit_test(unknown_kinds_are_passed_over),
		cmocka_unit_test(the_library_knows_the_way),
		cmocka_unit_test(older_structs_are_refused),
		cmocka_unit_test(shapes_are_interned_by_content),
		cmocka_unit_test(names_that_are_gone_or_endless),
		cmocka_unit_test(outside_the_window),
		cmocka_unit_test(correlation_ids_wrap),
		cmocka_unit_test(nonsense_harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
