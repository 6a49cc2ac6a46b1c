/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the blocks of a log while its process goes on.
 *
 * Rule: the blocks that stand are gone through; then slots and chunks are taken (moment.h): that is the moment. Of what came since,
 * only what was missing there is taken in: records that moved from a chunk into a block in between, and the tables that they name.
 * A place where nothing stood is looked at again before anything is said of it; so a log of which nothing changes any more gives
 * the same answer here as in scan.c.
 */
#include "reducer/read/moment.h"
#include "reducer/read/scan.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PASSED_KEPT 256    /* more blocks are not being written at once */
#define ROUNDS 4           /* the second finds what moved in the first; the others are for blocks that are half there */
#define WRITING_NS 2000000 /* a block is written by one call, some 0.1 ms */

/* A place where no block stood. */
struct passed {
	uint64_t from, to;
	int is_zero;
};

struct sweep {
	uint64_t offset;     /* to go on from */
	uint64_t moment_end; /* events behind it are newer than the moment; UINT64_MAX before that */
	int is_last;         /* what is not there now never will be */
	size_t passed_count;
	struct passed passed[PASSED_KEPT];
};

static int by_number(const void *sequence, const void *part)
{
	uint64_t left = *(const uint64_t *)sequence, right = ((const struct log_part *)part)->sequence;

	return left < right ? -1 : left > right;
}

/* Whether the records of that number are not here though later ones of the thread are. */
static int is_missing(const struct log *log, uint32_t thread, uint16_t lane, uint64_t sequence)
{
	const struct log_stream *stream = scan_stream(log, thread, lane);
	uint64_t last = 0;

	if (stream != NULL && stream->is_sorted && stream->count > 0)
		return sequence < stream->parts[stream->count - 1].sequence &&
		       bsearch(&sequence, stream->parts, stream->count, sizeof *stream->parts, by_number) == NULL;
	for (size_t i = stream == NULL ? 0 : stream->count; i-- > 0;) {
		if (stream->parts[i].sequence == sequence)
			return 0;
		if (stream->parts[i].sequence > last)
			last = stream->parts[i].sequence;
	}
	return sequence < last;
}

static void take_block(struct log *log, const struct sweep *sweep, const struct log_block *block)
{
	const struct tfp_block_header *header = &block->header;

	if (block->offset < sweep->moment_end || header->type != TFP_BLOCK_EVENTS ||
	    is_missing(log, header->thread, header->lane, header->sequence))
		scan_block(log, block);
}

/* Zeros up to the next page are padding, unless something is being written there. */
static void tell_passed(struct log *log, const struct passed *passed)
{
	uint64_t page = log->header.page_bytes;

	if (!passed->is_zero || passed->to != (passed->from + page - 1) / page * page)
		scan_gap(log, passed->from, passed->to - passed->from, passed->is_zero);
}

static void keep_passed(struct log *log, struct sweep *sweep, struct passed passed)
{
	if (passed.from == passed.to)
		return;
	if (sweep->passed_count == PASSED_KEPT) {
		tell_passed(log, &sweep->passed[0]);
		memmove(sweep->passed, sweep->passed + 1, --sweep->passed_count * sizeof passed);
	}
	sweep->passed[sweep->passed_count++] = passed;
}

/* `is_later`: of a chunk only what is missing. */
static void take_chunk(struct log *log, const struct log_block *block, int is_later)
{
	struct tfp_chunk head = {0};

	if (block->header.type != TFP_BLOCK_CHUNK || block->payload_bytes < sizeof head ||
	    log_pread(log, block->payload, &head, sizeof head) < sizeof head || head.used == 0 || head.sequence == 0 ||
	    (is_later && !is_missing(log, head.thread, head.lane, head.sequence)))
		return;
	moment_take_chunk(log, block, &head);
	if (head.used != 0 && head.sequence != 0 && (!is_later || is_missing(log, head.thread, head.lane, head.sequence)))
		scan_part(log, head.thread, head.lane, block->offset | 1, head.sequence);
}

/* To the end of the file as it is now. Where a block is cut off there, the way ends before it until the last time. */
static void go_on(struct log *log, struct sweep *sweep)
{
	uint64_t from = sweep->offset, gap;
	struct log_block block;
	int is_zero;

	if (!log->is_joined && log_size_now(log) > log->bytes)
		log->bytes = log_size_now(log);
	while (log_block_next(log, &sweep->offset, &block, &gap, &is_zero)) {
		int is_cut = block.payload_bytes < block.header.encoded_bytes;

		if (is_cut && !sweep->is_last)
			break;
		keep_passed(log, sweep, (struct passed){from, block.offset, is_zero});
		take_block(log, sweep, &block);
		if (is_cut) /* damage: what stands behind it is no newer */
			sweep->moment_end = UINT64_MAX;
		if (sweep->is_last && sweep->moment_end == UINT64_MAX)
			take_chunk(log, &block, 0);
		from = sweep->offset;
	}
	if (sweep->is_last && gap != 0 && from != log->torn.payload)
		scan_gap(log, from, gap, is_zero);
	sweep->offset = from;
}

/* Blocks that stand now where none did. */
static void look_again(struct log *log, struct sweep *sweep, const struct passed *passed)
{
	uint64_t offset = passed->from, from = offset, gap;
	struct log_block block;
	int is_zero = 1;

	while (from < passed->to && log_block_next(log, &offset, &block, &gap, &is_zero) && block.offset < passed->to) {
		keep_passed(log, sweep, (struct passed){from, block.offset, is_zero});
		take_block(log, sweep, &block);
		from = offset;
	}
	if (from < passed->to)
		keep_passed(log, sweep, (struct passed){from, passed->to, is_zero});
}

static void go_again(struct log *log, struct sweep *sweep)
{
	struct passed *before = malloc(sizeof sweep->passed);
	size_t count = sweep->passed_count;

	if (before != NULL) {
		memcpy(before, sweep->passed, count * sizeof *before);
		sweep->passed_count = 0;
		for (size_t i = 0; i < count; i++)
			look_again(log, sweep, &before[i]);
		free(before);
	}
	go_on(log, sweep);
}

static void take_chunks(struct log *log, int is_later)
{
	for (size_t i = 0; i < log->block_count; i++)
		take_chunk(log, &log->blocks[i], is_later);
}

/* Whether there is something that another look could find. */
static int is_open(struct log *log, const struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->passed_count; i++)
		if (!sweep->passed[i].is_zero)
			return 1;
	for (size_t i = 0; i < log->stream_count; i++) {
		struct log_stream *stream = &log->streams[i];

		scan_sort(stream);
		for (size_t k = 0; k < stream->count; k++)
			if (stream->parts[k].sequence > (k > 0 ? stream->parts[k - 1].sequence : stream->parts[0].sequence - 1) + 1)
				return 1;
		if (stream->count > 0 && stream->parts[0].sequence > 1 && log->live.dropped_from == 0)
			return 1;
	}
	return 0;
}

/* What may be newer than the chunks that were taken, or was given up meanwhile. An emptied chunk's block lies before the end. */
static void take_bounds(struct log *log, struct sweep *sweep)
{
	struct tfp_file_live before = log->live;

	log_read_live(log);
	log->moment->nodes_count = log->live.nodes_count;
	if (sweep->moment_end == UINT64_MAX)
		sweep->moment_end = log->live.file_end;
	before.dropped_from = log->live.dropped_from;
	log->live = before;
}

void scan_moment(struct log *log)
{
	struct sweep *sweep = calloc(1, sizeof *sweep);

	if (sweep == NULL)
		return;
	sweep->offset = log->header.page_bytes;
	sweep->moment_end = UINT64_MAX;
	go_on(log, sweep);
	log_read_live(log);
	moment_take_slots(log);
	for (int round = 0; round < ROUNDS && (round == 0 || is_open(log, sweep)); round++) {
		if (round > 1)
			nanosleep(&(struct timespec){.tv_nsec = WRITING_NS}, NULL);
		take_chunks(log, round > 0);
		take_bounds(log, sweep);
		go_again(log, sweep);
	}
	log->moment->later_from = sweep->passed_count > 0 ? sweep->passed[0].from : sweep->offset;
	sweep->is_last = 1;
	go_on(log, sweep);
	moment_take_slots(log);
	moment_sort(log);
	for (size_t i = 0; i < sweep->passed_count; i++)
		tell_passed(log, &sweep->passed[i]);
	free(sweep);
}
