/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays buffers that a CUPTI filled (test/gpu/raw_buffers.c says how they were kept and what a file holds): every record of a
 * kind that we read becomes one of ours, none is unreadable, and times, names and sizes are those that a sane device gives.
 *
 * cupti_raw_test [FILE...]; without arguments those of test/fixtures/cupti.
 * Rule: what is expected is said by the file's head, which CUPTI's own steps wrote, or holds of any machine.
 */
#include "collectors/cupti_decode.h"
#include "writer/format.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int no_start(void)
{
	return -1;
}
int (*const tfp_start_process)(void) = no_start;

#define LANE_BYTES (16u << 20)
#define KINDS 64
#define DAY UINT64_C(86400000000000) /* ns */

static const char **paths;
static size_t path_count;
static size_t strides[KINDS], counts[KINDS];
static size_t names, odd_names;

static int note_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count)
{
	if (tag != TFP_TAG_shape || count < 2 || !fields[1].is_text)
		return 0;
	names++;
	odd_names += fields[1].text.length == 0 || fields[1].text.length > 4096;
	return 0;
}

/* As the library would step: by the file's own strides. */
static int next_record(uint8_t *buffer, size_t bytes, const void **record)
{
	const uint8_t *at = *record;
	uint32_t kind;

	if (at) {
		memcpy(&kind, at, 4);
		if (kind >= KINDS || !strides[kind])
			return TFP_CUPTI_INVALID_KIND;
		at += strides[kind];
	} else {
		at = buffer;
	}
	if (at + 8 > buffer + bytes)
		return TFP_CUPTI_MAX_LIMIT_REACHED;
	*record = at;
	return TFP_CUPTI_SUCCESS;
}

struct replay {
	struct tfp_thread thread;
	struct tfp_thread_slot slot;
	struct tfp_lane lane;
	struct tfp_cupti_decoder decoder;
	_Atomic uint64_t newest;
};

static struct replay *begin(void)
{
	struct replay *replay = calloc(1, sizeof *replay);

	replay->thread.is_ready = 1;
	replay->thread.slot = &replay->slot;
	replay->lane.chunk = calloc(1, sizeof(struct tfp_chunk) + LANE_BYTES);
	replay->lane.cursor = (uint8_t *)(replay->lane.chunk + 1);
	replay->lane.end = replay->lane.cursor + LANE_BYTES;
	replay->decoder.tables = tfp_cupti_tables_make(note_fact);
	replay->decoder.fact = note_fact;
	replay->decoder.newest = &replay->newest;
	replay->decoder.next_record = next_record;
	replay->decoder.wanted.items[0].to = UINT64_MAX;
	replay->decoder.wanted.count = 1;
	return replay;
}

static void end(struct replay *replay)
{
	tfp_cupti_tables_drop(replay->decoder.tables);
	free(replay->lane.chunk);
	free(replay);
}

static void read_head(FILE *file)
{
	char line[1024];
	size_t kind, stride, count;
	long at;

	memset(strides, 0, sizeof strides);
	memset(counts, 0, sizeof counts);
	assert_non_null(fgets(line, sizeof line, file));
	assert_string_equal(line, "tfprof raw CUPTI buffers 1\n");
	for (at = ftell(file); fgets(line, sizeof line, file); at = ftell(file)) {
		if (strncmp(line, "about ", 6) == 0)
			printf("           %s", line + 6);
		else if (sscanf(line, "stride %zu %zu %zu", &kind, &stride, &count) == 3 && kind < KINDS)
			strides[kind] = stride, counts[kind] = count;
		else
			break;
	}
	fseek(file, at, SEEK_SET);
}

/* The tables keep what they read, so the texts live until the file is done. */
static char **kept;
static size_t kept_count;

static char *keep(size_t bytes)
{
	kept = realloc(kept, (kept_count + 1) * sizeof *kept);
	assert_non_null(kept);
	kept[kept_count] = calloc(1, bytes);
	assert_non_null(kept[kept_count]);
	return kept[kept_count++];
}

static void forget(void)
{
	while (kept_count)
		free(kept[--kept_count]);
	free(kept);
	kept = NULL;
}

/* One buffer of the file, its texts in place; NULL at the end. */
static uint8_t *read_buffer(FILE *file, size_t *bytes)
{
	size_t texts, *offsets;
	char **text;

	if (fscanf(file, "buffer %zu %zu\n", bytes, &texts) != 2)
		return NULL;
	offsets = calloc(texts + 1, sizeof *offsets);
	text = calloc(texts + 1, sizeof *text);
	for (size_t i = 0; i < texts; i++) {
		size_t length;
		assert_int_equal(fscanf(file, "text %zu %zu", &offsets[i], &length), 2);
		assert_int_equal(fgetc(file), '\n');
		text[i] = keep(length + 1);
		assert_int_equal(fread(text[i], 1, length, file), length);
		assert_int_equal(fgetc(file), '\n');
		assert_true(offsets[i] + 8 <= *bytes);
	}
	uint8_t *buffer = aligned_alloc(8, (*bytes + 7) & ~(size_t)7);
	assert_int_equal(fread(buffer, 1, *bytes, file), *bytes);
	assert_int_equal(fgetc(file), '\n');
	for (size_t i = 0; i < texts; i++)
		memcpy(buffer + offsets[i], &text[i], sizeof text[i]);
	free(offsets);
	free(text);
	return buffer;
}

static size_t made[1 << TFP_TAG_BITS];
static uint64_t first_ns, last_ns;

static void check_time(uint64_t start, uint64_t duration)
{
	assert_true(start > UINT64_C(1500000000000000000)); /* 2017: the system's clock */
	assert_true(duration < DAY);
	first_ns = !first_ns || start < first_ns ? start : first_ns;
	last_ns = start + duration > last_ns ? start + duration : last_ns;
}

#define TAKE(name) \
	case TFP_TAG_##name: { \
		const struct tfp_record_##name *name = (const void *)at; \
		made[TFP_TAG_##name]++;

#define TAKEN(name) \
	at += sizeof(struct tfp_record_##name); \
	break; \
	}

#define PASS(name) \
	TAKE(name) \
	(void)name; \
	TAKEN(name)

/* Every record written; one that is not known here is a failure. */
static void walk_records(const struct replay *replay)
{
	const uint8_t *at = (const uint8_t *)(replay->lane.chunk + 1);

	while (at < replay->lane.cursor) {
		uint64_t word;
		memcpy(&word, at, sizeof word);
		switch (word & ((1u << TFP_TAG_BITS) - 1)) {
		TAKE(kernel)
			check_time(kernel->start, kernel->duration);
			assert_true(kernel->shape != 0 && kernel->queue != 0);
		TAKEN(kernel)
		TAKE(device_copy)
			check_time(device_copy->start, device_copy->duration);
			assert_true(device_copy->bytes > 0 && device_copy->kind >= 1 && device_copy->kind <= 10);
		TAKEN(device_copy)
		TAKE(device_set)
			check_time(device_set->start, device_set->duration);
			assert_true(device_set->bytes > 0);
		TAKEN(device_set)
		TAKE(device_memory)
			assert_true(device_memory->operation == 1 || device_memory->operation == 2);
		TAKEN(device_memory)
		PASS(device_wait)
		PASS(device_pool)
		PASS(gpu_overhead)
		PASS(jit)
		default:
			fail_msg("a record of tag %u was not expected", (unsigned)(word & ((1u << TFP_TAG_BITS) - 1)));
		}
	}
}

static void replay_file(const char *path)
{
	FILE *file = fopen(path, "r");
	struct replay *replay = begin();
	size_t bytes;
	uint8_t *buffer;

	assert_non_null(file);
	printf("           %s\n", path);
	memset(made, 0, sizeof made);
	first_ns = last_ns = names = odd_names = 0;
	read_head(file);
	while ((buffer = read_buffer(file, &bytes)) != NULL) {
		tfp_cupti_decode(&replay->decoder, &replay->thread, &replay->lane, buffer, bytes);
		free(buffer);
	}
	walk_records(replay);
	assert_int_equal(replay->decoder.unreadable, 0);
	assert_int_equal(replay->decoder.timeless, 0);
	assert_int_equal(made[TFP_TAG_kernel], counts[3] + counts[10]);
	assert_int_equal(made[TFP_TAG_device_copy], counts[1] + counts[22]);
	assert_int_equal(made[TFP_TAG_device_set], counts[2]);
	assert_int_equal(made[TFP_TAG_device_memory], counts[49]);
	assert_int_equal(made[TFP_TAG_device_pool], counts[50]);
	assert_int_equal(made[TFP_TAG_device_wait], counts[38]);
	assert_int_equal(made[TFP_TAG_gpu_overhead], counts[17]);
	assert_true(made[TFP_TAG_kernel] > 0 && names > 0);
	assert_int_equal(odd_names, 0);
	assert_true(last_ns - first_ns < DAY);
	for (size_t kind = 0; kind < KINDS; kind++)
		assert_true(!counts[kind] || !replay->decoder.strides.of[kind] || replay->decoder.strides.of[kind] == strides[kind]);
	end(replay);
	forget();
	fclose(file);
}

static void every_file(void **unused)
{
	(void)unused;
	assert_true(path_count > 0);
	for (size_t i = 0; i < path_count; i++)
		replay_file(paths[i]);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_file)};
	glob_t found = {0};

	paths = (const char **)arguments + 1;
	path_count = (size_t)count - 1;
	if (count < 2 && glob("test/fixtures/cupti/*.raw", 0, NULL, &found) == 0) {
		paths = (const char **)found.gl_pathv;
		path_count = found.gl_pathc;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
