/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the blocks of a log: hop from header to header; where one is missing, look for the next at multiples of 8.
 *
 * Rule: only block headers are read, and the chunks' first words; payloads only where a chunk and an events block claim
 * the same records and it must be known whether the events block is whole.
 */
#include "reducer/read/scan.h"

#include "reducer/read/crc32c.h"
#include "reducer/read/moment.h"
#include "reducer/read/schema.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX (1u << 18)  /* blocks that are not events: 32 MiB of index */
#define STREAMS_MAX (1u << 20) /* threads and lanes: 40 MiB */
#define PARTS_MAX (1u << 24)   /* events blocks of one stream: 384 MiB, 100 GB and more of log */
#define BLOCK_HEADER_LEAST (offsetof(struct tfp_block_header, header_crc) + 4) /* of format 1.0 */
#define BLOCK_HEADER_MOST 4096
#define WINDOW 65536u          /* bytes looked through at a time */

int log_block_at(const struct log *log, uint64_t offset, struct log_block *block)
{
	struct tfp_block_header *header = &block->header;
	uint64_t left;

	*block = (struct log_block){.offset = offset};
	if (log_pread(log, offset, header, sizeof *header) < BLOCK_HEADER_LEAST || header->sync != TFP_BLOCK_SYNC)
		return -1;
	if (crc32c(header, offsetof(struct tfp_block_header, header_crc)) != header->header_crc)
		return -1;
	if (header->header_bytes < BLOCK_HEADER_LEAST || header->header_bytes > BLOCK_HEADER_MOST ||
	    header->header_bytes % 8 != 0)
		return -1;
	block->payload = offset + header->header_bytes;
	left = block->payload < log->bytes ? log->bytes - block->payload : 0;
	block->payload_bytes = header->encoded_bytes < left ? header->encoded_bytes : left;
	return 0;
}

uint64_t log_part_time(const struct log *log, const struct log_part *part)
{
	struct log_block block;
	uint64_t word = 0;

	if (log_block_at(log, LOG_PART_OFFSET(part), &block) != 0)
		return 0;
	if (!LOG_PART_IS_CHUNK(part))
		return block.header.time_shift > 32
			       ? 0
			       : block.header.first_time >> block.header.time_shift << block.header.time_shift;
	log_pread(log, block.payload + sizeof(struct tfp_chunk), &word, sizeof word);
	return word >> TFP_TAG_BITS;
}

/* Where to go on: behind the block, or behind its header when it claims more than the file has. */
static uint64_t behind(const struct log_block *block)
{
	if (block->payload_bytes == block->header.encoded_bytes)
		return (block->payload + block->payload_bytes + 7) & ~UINT64_C(7);
	return block->payload;
}

/* Index of the word of the window at which a valid header begins, or `count`; clears *is_zero at other bytes. */
static size_t look(const struct log *log, uint64_t offset, const uint64_t *words, size_t count, struct log_block *block,
		   int *is_zero)
{
	for (size_t i = 0; i < count; i++) {
		if (words[i] == 0)
			continue;
		if (words[i] == TFP_BLOCK_SYNC && log_block_at(log, offset + i * 8, block) == 0)
			return i;
		*is_zero = 0;
	}
	return count;
}

/* Looks from `offset` on for a valid header. Returns its offset, or the end of the log. */
static uint64_t resync(const struct log *log, uint64_t offset, struct log_block *block, int *is_zero)
{
	uint64_t *words = malloc(WINDOW);
	uint64_t found = log->bytes;

	while (words != NULL && offset < log->bytes) {
		size_t count = log_pread(log, offset, words, WINDOW) / 8;
		size_t at = look(log, offset, words, count, block, is_zero);

		if (at < count)
			found = offset + at * 8;
		if (at < count || count == 0)
			break;
		offset = log_skip_hole(log, offset + count * 8);
	}
	free(words);
	return found;
}

int log_block_next(const struct log *log, uint64_t *offset, struct log_block *block, uint64_t *gap, int *is_zero)
{
	uint64_t from = *offset, page = log->header.page_bytes, found;

	*gap = 0;
	*is_zero = 1;
	if (from >= log->bytes)
		return 0;
	if (log_block_at(log, from, block) == 0) {
		*offset = behind(block);
		return 1;
	}
	found = resync(log, from, block, is_zero);
	*offset = found;
	/* Zeros up to the next page are padding before a page-aligned block; zeros at the end were never handed out. */
	if (!*is_zero || (found < log->bytes && found != (from + page - 1) / page * page))
		*gap = found - from;
	if (found >= log->bytes)
		return 0;
	*offset = behind(block);
	return 1;
}

/* Where the index names the stream of a thread and lane, or where it would. */
static size_t stream_place(const struct log *log, uint32_t thread, uint16_t lane)
{
	size_t mask = log->stream_index_size - 1;
	size_t at = ((uint64_t)thread << 16 | lane) * UINT64_C(0x9e3779b97f4a7c15) >> 40 & mask;

	for (; log->stream_index[at] != 0; at = (at + 1) & mask) {
		const struct log_stream *stream = &log->streams[log->stream_index[at] - 1];

		if (stream->thread == thread && stream->lane == lane)
			break;
	}
	return at;
}

struct log_stream *scan_stream(const struct log *log, uint32_t thread, uint16_t lane)
{
	size_t at = log->stream_count == 0 ? 0 : stream_place(log, thread, lane);

	return log->stream_count == 0 || log->stream_index[at] == 0 ? NULL : &log->streams[log->stream_index[at] - 1];
}

/* The stream of a thread and lane, made when it is new. NULL when there is no room. */
static struct log_stream *find_stream(struct log *log, uint32_t thread, uint16_t lane)
{
	size_t at = stream_place(log, thread, lane);
	struct log_stream *stream;

	if (log->stream_index[at] != 0)
		return &log->streams[log->stream_index[at] - 1];
	if (log->stream_count == log->stream_capacity)
		return NULL;
	stream = &log->streams[log->stream_count++];
	*stream = (struct log_stream){.thread = thread, .lane = lane, .is_sorted = 1};
	log->stream_index[at] = (uint32_t)log->stream_count;
	return stream;
}

/* Doubles the room for streams; the index is kept at most half full. */
static int grow_streams(struct log *log)
{
	size_t capacity = log->stream_capacity == 0 ? 64 : log->stream_capacity * 2;
	struct log_stream *streams;
	uint32_t *fresh;
	size_t count = log->stream_count;

	if (log->stream_count < log->stream_capacity)
		return 0;
	if (capacity > STREAMS_MAX)
		return -1;
	streams = realloc(log->streams, capacity * sizeof *streams);
	if (streams == NULL)
		return -1;
	log->streams = streams;
	fresh = calloc(capacity * 2, sizeof *fresh);
	if (fresh == NULL)
		return -1;
	free(log->stream_index);
	log->stream_index = fresh;
	log->stream_index_size = capacity * 2;
	log->stream_capacity = capacity;
	for (log->stream_count = 0; log->stream_count < count;) {
		struct log_stream kept = streams[log->stream_count];

		*find_stream(log, kept.thread, kept.lane) = kept;
	}
	return 0;
}

static int add_part(struct log_stream *stream, uint64_t place, uint64_t sequence)
{
	if (stream->count == stream->capacity) {
		size_t capacity = stream->capacity == 0 ? 4 : stream->capacity * 2;
		struct log_part *parts = capacity > PARTS_MAX ? NULL : realloc(stream->parts, capacity * sizeof *parts);

		if (parts == NULL)
			return -1;
		stream->parts = parts;
		stream->capacity = capacity;
	}
	if (stream->count > 0 && stream->parts[stream->count - 1].sequence >= sequence)
		stream->is_sorted = 0;
	stream->parts[stream->count++] = (struct log_part){.place = place, .sequence = sequence};
	return 0;
}

int scan_part(struct log *log, uint32_t thread, uint16_t lane, uint64_t place, uint64_t sequence)
{
	struct log_stream *stream = grow_streams(log) == 0 ? find_stream(log, thread, lane) : NULL;

	if (stream != NULL && add_part(stream, place, sequence) == 0)
		return 0;
	diag_add(log->diags, DIAG_DAMAGE, log->path, place & ~UINT64_C(7), "", "too many blocks or threads; this one is skipped");
	return -1;
}

/* Bytes that the writer took back: a write failed half way (disk full) and nothing was written there since. */
static int is_taken_back(const struct log *log, uint64_t offset)
{
	return log->live.file_end >= log->header.page_bytes && offset >= log->live.file_end;
}

static void index_events(struct log *log, const struct log_block *block)
{
	if (block->offset < log->live.dropped_from)
		log->wrapped_blocks++;
	else if (block->payload_bytes < block->header.encoded_bytes && is_taken_back(log, block->offset))
		return;
	else if (block->payload_bytes < block->header.encoded_bytes)
		log->torn = *block;
	else if (scan_part(log, block->header.thread, block->header.lane, block->offset, block->header.sequence) == 0)
		log->events_blocks++;
}

/* A chunk counts from the moment it is found: what is drained later stands behind it in the file. */
static void index_chunk(struct log *log, const struct log_block *block)
{
	struct tfp_chunk chunk = {0};

	if (log_pread(log, block->payload, &chunk, sizeof chunk) < sizeof chunk || block->payload_bytes < sizeof chunk)
		return;
	if (chunk.used != 0 && chunk.sequence != 0)
		scan_part(log, chunk.thread, chunk.lane, block->offset | 1, chunk.sequence);
}

/* What the writer counts as drained once it is written. */
static void count_sealed(struct log *log, const struct log_block *block)
{
	unsigned type = block->header.type;

	if ((type == TFP_BLOCK_SCHEMA || type == TFP_BLOCK_EVENTS || type == TFP_BLOCK_PACKED_NODES) &&
	    block->payload_bytes >= block->header.encoded_bytes)
		log->sealed_bytes += (block->payload - block->offset + block->header.encoded_bytes + 7) & ~UINT64_C(7);
}

void scan_block(struct log *log, const struct log_block *block)
{
	unsigned type = block->header.type;
	struct log_block *blocks;

	count_sealed(log, block);
	if (type == TFP_BLOCK_EVENTS) {
		index_events(log, block);
		return;
	}
	if (type != TFP_BLOCK_SCHEMA && type != TFP_BLOCK_END && type != TFP_BLOCK_PACKED_NODES &&
	    (type < TFP_BLOCK_CHUNK || type > TFP_BLOCK_NODES)) {
		log->unknown_blocks++;
		return;
	}
	/* Whether nodes that were being packed are missed is seen where they are read (stacks.c). */
	if (block->payload_bytes < block->header.encoded_bytes && type != TFP_BLOCK_PACKED_NODES)
		diag_add(log->diags, DIAG_DAMAGE, log->path, block->offset, "", "the file ends inside this block");
	if (type == TFP_BLOCK_CHUNK && log->moment == NULL)
		index_chunk(log, block);
	if (log->block_count == log->block_capacity) {
		size_t capacity = log->block_capacity == 0 ? 16 : log->block_capacity * 2;

		blocks = capacity > BLOCKS_MAX ? NULL : realloc(log->blocks, capacity * sizeof *blocks);
		if (blocks == NULL) {
			diag_add(log->diags, DIAG_DAMAGE, log->path, block->offset, "", "too many blocks; this one is skipped");
			return;
		}
		log->blocks = blocks;
		log->block_capacity = capacity;
	}
	log->blocks[log->block_count++] = *block;
}

void scan_gap(struct log *log, uint64_t from, uint64_t gap, int is_zero)
{
	if ((is_zero && from < log->live.dropped_from) || is_taken_back(log, from))
		return;
	if (is_zero) {
		log->hole_bytes += gap;
		diag_add(log->diags, DIAG_NOTE, log->path, from, "",
			 "%" PRIu64 " bytes are zeros: never written (killed at that moment, or the write failed), or lost since", gap);
		return;
	}
	log->damaged_bytes += gap;
	diag_add(log->diags, DIAG_DAMAGE, log->path, from, "use another copy of the file",
		 "%" PRIu64 " bytes are not a block; what they held is lost", gap);
}

static int by_sequence(const void *a, const void *b)
{
	const struct log_part *left = a, *right = b;

	if (left->sequence != right->sequence)
		return left->sequence < right->sequence ? -1 : 1;
	/* Events blocks before chunks, then file order. */
	if (LOG_PART_IS_CHUNK(left) != LOG_PART_IS_CHUNK(right))
		return LOG_PART_IS_CHUNK(left) ? 1 : -1;
	return left->place < right->place ? -1 : left->place > right->place;
}

/* Whether an events block can be read to its end. */
static int is_whole(const struct log *log, const struct log_part *part)
{
	struct log_block block;
	size_t bytes;
	uint8_t *raw = NULL;

	if (log_block_at(log, LOG_PART_OFFSET(part), &block) == 0)
		raw = log_sealed_quietly(log, &block, &bytes);
	free(raw);
	return raw != NULL;
}

/* Of the parts with one sequence, the one to read: the first whole events block, else the chunk, else the first. */
static size_t choose_part(const struct log *log, const struct log_part *parts, size_t count)
{
	if (count == 1)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (LOG_PART_IS_CHUNK(&parts[i]) || is_whole(log, &parts[i]))
			return i;
	return 0;
}

/* All sealed blocks that were ever written are there, or were given up. */
static int has_all_sealed(const struct log *log)
{
	return log->live.drained_bytes != 0 && log->sealed_bytes + log->live.given_up_bytes >= log->live.drained_bytes;
}

/*
 * The counter of a stream runs from 1 without holes; what is missing was in a block that cannot be found. Or it was given up: the
 * blocks of a thread need not stand in their order, as one may wait for our thread while the next is drained by its own. Then no block
 * lacks, or (older logs) there is no place in the file where one could have been.
 */
static void report_missing(struct log *log, const struct log_stream *stream)
{
	uint64_t expected = log->live.dropped_from != 0 && stream->count > 0 ? stream->parts[0].sequence : 1;

	int has_no_place = log->hole_bytes == 0 && log->damaged_bytes == 0 && log->live.file_end <= log->bytes;

	if (log->live.dropped_from != 0 && (has_all_sealed(log) || has_no_place))
		return;
	for (size_t i = 0; i < stream->count; expected = stream->parts[i].sequence + 1, i++)
		if (stream->parts[i].sequence > expected)
			diag_add(log->diags, DIAG_DAMAGE, log->path, LOG_PART_OFFSET(&stream->parts[i]), "",
				 "before this block, %" PRIu64 " blocks of thread %" PRIu32 " are missing",
				 stream->parts[i].sequence - expected, stream->thread);
}

void scan_sort(struct log_stream *stream)
{
	if (!stream->is_sorted)
		qsort(stream->parts, stream->count, sizeof *stream->parts, by_sequence);
	stream->is_sorted = 1;
}

/* What was given up while the file was gone through. */
static void forget_dropped(struct log *log, struct log_stream *stream)
{
	size_t kept = 0;

	for (size_t i = 0; i < stream->count; i++) {
		int is_dropped = !LOG_PART_IS_CHUNK(&stream->parts[i]) && LOG_PART_OFFSET(&stream->parts[i]) < log->live.dropped_from;

		log->wrapped_blocks += is_dropped != 0;
		log->events_blocks -= is_dropped != 0;
		if (!is_dropped)
			stream->parts[kept++] = stream->parts[i];
	}
	stream->count = kept;
}

static void finish_stream(struct log *log, struct log_stream *stream)
{
	size_t kept = 0;

	scan_sort(stream);
	if (log->moment != NULL)
		forget_dropped(log, stream);
	for (size_t i = 0, same; i < stream->count; i += same) {
		for (same = 1; i + same < stream->count; same++)
			if (stream->parts[i + same].sequence != stream->parts[i].sequence)
				break;
		for (size_t k = i + 1; k < i + same; k++)
			log->duplicate_blocks += !LOG_PART_IS_CHUNK(&stream->parts[k]);
		stream->parts[kept++] = stream->parts[i + choose_part(log, stream->parts + i, same)];
	}
	stream->count = kept;
	report_missing(log, stream);
}

static int by_thread(const void *a, const void *b)
{
	const struct log_stream *left = a, *right = b;

	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	return left->lane < right->lane ? -1 : left->lane > right->lane;
}

/* Whether nothing came after this block in a process that never said that it ended: it may have died while writing it. */
static int is_last_word(const struct log *log, const struct log_block *block)
{
	return log->live.end_kind == TFP_END_NONE && block->payload + block->header.encoded_bytes + 8 > log->live.file_end;
}

/* The schema of the log; the one this program was built with where the log has none that is whole. */
static int load_schema(struct log *log)
{
	for (size_t i = 0; i < log->block_count && log->schema == NULL; i++) {
		size_t bytes;
		uint8_t *text;

		if (log->blocks[i].header.type != TFP_BLOCK_SCHEMA)
			continue;
		text = is_last_word(log, &log->blocks[i]) ? log_sealed_quietly(log, &log->blocks[i], &bytes)
							  : log_sealed(log, &log->blocks[i], &bytes);
		if (text != NULL)
			log->schema = schema_parse((const char *)text, bytes);
		free(text);
	}
	if (log->schema != NULL)
		return 0;
	diag_add(log->diags, DIAG_NOTE, log->path, DIAG_NO_OFFSET, "",
		 "the log holds no schema; its records are read as this program would have written them");
	log->schema = schema_built_in();
	return log->schema == NULL ? -1 : 0;
}

/* The events block inside which the file ends. Its records are not lost where their chunk still holds them. */
static void report_torn(struct log *log)
{
	const struct tfp_block_header *header = &log->torn.header;
	int is_kept = 0;

	if (log->torn.offset == 0)
		return;
	for (size_t i = 0; i < log->stream_count; i++)
		for (size_t k = 0; k < log->streams[i].count && log->streams[i].thread == header->thread; k++)
			is_kept |= log->streams[i].lane == header->lane && log->streams[i].parts[k].sequence == header->sequence;
	diag_add(log->diags, is_kept ? DIAG_NOTE : DIAG_DAMAGE, log->path, log->torn.offset, "",
		 "the file ends inside an events block (killed while writing it, or cut off)%s",
		 is_kept ? "; its records are still in their chunk" : "");
}

/* A process that was killed may have been about to write what is not there; but the slots of its threads were. */
static int is_cut_off(const struct log *log)
{
	size_t threads = 0;

	for (size_t i = 0; i < log->block_count; i++)
		threads += log->blocks[i].header.type == TFP_BLOCK_THREADS;
	return log->live.end_kind != TFP_END_NONE || (log->live.threads_count > 0 && threads == 0);
}

/*
 * A process may end while another thread of it, or ours, writes a sealed block: what that was to hold is still in a live one. So it
 * was if all that was ever written is there, and all live blocks, too: by where the last one ends or, in older logs, because none fits
 * into what is not there.
 */
static int is_unfinished_alone(const struct log *log, uint64_t file_end)
{
	uint64_t page = log->header.page_bytes, next_page = (log->bytes + page - 1) / page * page;

	int has_live = log->live.mapped_end != 0 ? log->bytes >= log->live.mapped_end : file_end < next_page + page;

	return has_all_sealed(log) && has_live;
}

/* `file_end`: as it was before the file was gone through, which may have grown since. */
static void report_cut(struct log *log, uint64_t file_end)
{
	if (file_end <= log->bytes)
		return;
	diag_add(log->diags, is_cut_off(log) && !is_unfinished_alone(log, file_end) ? DIAG_DAMAGE : DIAG_NOTE, log->path, log->bytes, "",
		 "%" PRIu64 " bytes that were reserved are not in the file (killed while writing, a write that failed, or cut off)",
		 file_end - log->bytes);
}

static void sweep(struct log *log)
{
	uint64_t offset = log->header.page_bytes, from = offset, gap;
	struct log_block block;
	int is_zero;

	while (log_block_next(log, &offset, &block, &gap, &is_zero)) {
		if (gap != 0)
			scan_gap(log, from, gap, is_zero);
		scan_block(log, &block);
		from = offset;
	}
	if (gap != 0 && from != log->torn.payload)
		scan_gap(log, from, gap, is_zero);
	else if (gap == 0 && is_zero && log->live.file_end <= log->bytes && log->live.file_end > from + log->header.page_bytes)
		scan_gap(log, from, log->live.file_end - from, 1); /* handed out, unlike what lies behind */
}

/* Where the magic of a log's header and a header that it begins stand in `bytes`; NULL = nowhere. */
static const uint8_t *find_header(const uint8_t *bytes, size_t count)
{
	const size_t whole = offsetof(struct tfp_file_header, header_crc);
	const uint8_t *end = bytes + count, *at = bytes;
	uint32_t sum;

	while ((at = memmem(at, (size_t)(end - at), TFP_FILE_MAGIC, 8)) != NULL && (size_t)(end - at) >= whole + sizeof sum) {
		memcpy(&sum, at + whole, sizeof sum);
		if (crc32c(at, whole) == sum)
			return at;
		at++;
	}
	return NULL;
}

/* Logs of which somebody made one file (cat): the blocks of the second would count as the first's. */
static void end_before_another(struct log *log)
{
	uint64_t from = log->live.file_end;
	uint8_t *bytes;
	const uint8_t *found;

	if (from < log->header.page_bytes || from >= log->bytes || (bytes = malloc(WINDOW)) == NULL)
		return;
	found = find_header(bytes, log_pread(log, from, bytes, WINDOW));
	if (found != NULL) {
		log->bytes = from + (uint64_t)(found - bytes);
		log->is_joined = 1;
		diag_add(log->diags, DIAG_DAMAGE, log->path, log->bytes, "keep each log in a file of its own",
			 "another log begins here: what stands behind it was not read");
	}
	free(bytes);
}

static void report_no_table(struct log *log, unsigned type, uint64_t entries, const char *what)
{
	for (size_t i = 0; i < log->block_count; i++)
		entries = log->blocks[i].header.type == type ? 0 : entries;
	if (entries != 0)
		diag_add(log->diags, DIAG_DAMAGE, log->path, DIAG_NO_OFFSET, "use another copy of the file",
			 "%" PRIu64 " %s were made, and zeros stand where they were", entries, what);
}

/*
 * Zeros can be what a process that died left, and no loss. They can as well be pages that a machine lost which went down, or a copy that
 * was never finished: so they are where what was counted as written is not there.
 */
static void report_zeros(struct log *log)
{
	if (log->damaged_bytes != 0 || log->unknown_blocks != 0 || log->live.file_end > log->bytes || log->is_running ||
	    log->live.dropped_from != 0)
		return;
	if (log->live.drained_bytes != 0 && !has_all_sealed(log))
		diag_add(log->diags, DIAG_DAMAGE, log->path, DIAG_NO_OFFSET, "use another copy of the file",
			 "%" PRIu64 " bytes of records or call stacks had been written, and are zeros",
			 log->live.drained_bytes - log->sealed_bytes - log->live.given_up_bytes);
	if (log->live.end_kind == TFP_END_NONE) /* it may have been about to write its first */
		return;
	report_no_table(log, TFP_BLOCK_THREADS, log->live.threads_count, "threads");
	report_no_table(log, TFP_BLOCK_PCS, log->live.pcs_count, "code addresses");
	report_no_table(log, TFP_BLOCK_NODES, log->live.nodes_count, "stack nodes");
}

int scan_blocks(struct log *log)
{
	uint64_t file_end = log->live.file_end;

	end_before_another(log);
	if (log->moment != NULL)
		scan_moment(log);
	else
		sweep(log);
	report_cut(log, file_end);
	for (size_t i = 0; i < log->stream_count; i++)
		finish_stream(log, &log->streams[i]);
	report_torn(log);
	report_zeros(log);
	if (log->stream_count > 0)
		qsort(log->streams, log->stream_count, sizeof *log->streams, by_thread);
	return load_schema(log);
}
