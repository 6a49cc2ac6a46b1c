/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a digest; see digest_write.h.
 *
 * Items stand as columns of numbers of variable length (7 bits a byte, low ones first, the highest bit says that more
 * follow), one column after the other, deflated together, in base64:
 *
 *   start      from the item before on its row, else zigzag from 0
 *   duration, name, detail
 *   flow       zigzag, from the item before on its row
 *   count * 2 + is_open
 *   busy, longest       of items with a count above 1 alone
 *   value      of counters alone: 8 bytes, a double
 *
 * Rule: a column's bytes follow from the items alone, so that one log makes the same report every time.
 */
#include "reducer/trace/digest_write.h"

#include "reducer/model/gpu.h"
#include "reducer/report/escape.h"
#include "reducer/symbols/demangle.h"
#include "reducer/trace/digest.h"
#include "reducer/trace/moments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define ITEMS_MOST (1u << 18) /* 64 bytes each */
#define TEXTS_MOST (8u << 20) /* bytes of different names and arguments */
#define TEXT_SHOWN 1024u      /* bytes of one of them in the file */
#define RAW_DEFLATE (-15)     /* zlib: window of 32 KiB, no header */

enum { START, DURATION, NAME, DETAIL, FLOW, COUNT, BUSY, LONGEST, VALUE, COLUMNS };

#define NUMBER_MOST 10 /* bytes of a number: 64 bits by sevens */

/* No zero byte follows, unlike behind texts. */
static void put_number(struct text *out, uint64_t number)
{
	out->bytes = base_grow(out->bytes, &out->room, out->length + NUMBER_MOST, 1);
	for (; number >= 128; number >>= 7)
		out->bytes[out->length++] = (char)(number | 128);
	out->bytes[out->length++] = (char)number;
}

static uint64_t zigzag(int64_t number)
{
	return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static void put_item(struct text columns[COLUMNS], const struct digest_row *row, const struct digest_item *item,
		     const struct digest_item *before)
{
	if (before != NULL)
		put_number(&columns[START], (uint64_t)(item->start_ns - before->start_ns));
	else
		put_number(&columns[START], zigzag(item->start_ns));
	put_number(&columns[DURATION], item->duration_ns);
	put_number(&columns[NAME], item->name);
	put_number(&columns[DETAIL], item->detail);
	put_number(&columns[FLOW], zigzag((int64_t)(item->flow - (before != NULL ? before->flow : 0))));
	put_number(&columns[COUNT], (uint64_t)item->count * 2 + item->is_open);
	if (item->count > 1) {
		put_number(&columns[BUSY], item->busy_ns);
		put_number(&columns[LONGEST], item->longest_ns);
	}
	if (row->kind == SPAN_COUNTER)
		text_put(&columns[VALUE], &item->value, sizeof item->value);
}

static void put_base64(struct text *out, const unsigned char *bytes, size_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *to;

	text_fill(out, '=', (length + 2) / 3 * 4); /* what is not overwritten is padding */
	to = out->bytes + out->length - (length + 2) / 3 * 4;
	for (size_t i = 0; i < length; i += 3, to += 4) {
		uint32_t three = (uint32_t)bytes[i] << 16 | (i + 1 < length ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (i + 2 < length ? bytes[i + 2] : 0);
		to[0] = digits[three >> 18];
		to[1] = digits[three >> 12 & 63];
		if (i + 1 < length)
			to[2] = digits[three >> 6 & 63];
		if (i + 2 < length)
			to[3] = digits[three & 63];
	}
}

#define LEVEL 3 /* of deflate: half the time of the usual 6, and 1 % more bytes */

static void put_deflated(struct text *out, const struct text *plain)
{
	z_stream stream = {.next_in = (Bytef *)plain->bytes, .avail_in = (uInt)plain->length};
	struct text packed = {0};

	if (deflateInit2(&stream, LEVEL, Z_DEFLATED, RAW_DEFLATE, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		base_die("out of memory for the time line");
	text_fill(&packed, 0, deflateBound(&stream, (uLong)plain->length));
	stream.next_out = (Bytef *)packed.bytes;
	stream.avail_out = (uInt)packed.length;
	if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
		base_die("the time line could not be compressed: zlib says %s", stream.msg ? stream.msg : "nothing");
	put_base64(out, (unsigned char *)packed.bytes, stream.total_out);
	deflateEnd(&stream);
	text_free(&packed);
}

static void put_items(struct text *out, const struct digest *digest)
{
	struct text columns[COLUMNS] = {{0}}, all = {0};

	for (size_t r = 0; r < digest->row_count; r++) {
		const struct digest_row *row = &digest->rows[r];
		for (size_t i = row->first; i < row->first + row->count; i++)
			put_item(columns, row, &digest->items[i], i > row->first ? &digest->items[i - 1] : NULL);
	}
	text_string(out, ",\"columns\":[");
	for (size_t i = 0; i < COLUMNS; i++) {
		text_format(out, "%s%zu", i ? "," : "", columns[i].length);
		text_put(&all, columns[i].bytes, columns[i].length);
		text_free(&columns[i]);
	}
	text_string(out, "],\"data\":\"");
	if (all.length)
		put_deflated(out, &all);
	text_string(out, "\"");
	text_free(&all);
}

static void put_shown(struct text *out, const char *text, size_t length)
{
	escape_script(out, text, length, TEXT_SHOWN);
}

/* The parts of a text as a JSON list of strings. */
static void put_parts(struct text *out, const struct digest_name *name)
{
	const char *at = name->text, *end = name->text + name->length;
	int is_kernel = name->length > 7 && memcmp(name->text, "kernel\x1f", 7) == 0;

	text_char(out, '[');
	for (size_t part = 0; at <= end && name->length; part++) {
		const char *stop = memchr(at, 0x1f, (size_t)(end - at));
		struct text plain = {0};

		if (stop == NULL)
			stop = end;
		text_string(out, part ? "," : "");
		if (is_kernel && part == 1)
			demangle(at, &plain);
		put_shown(out, plain.length ? plain.bytes : at, plain.length ? plain.length : (size_t)(stop - at));
		text_free(&plain);
		at = stop + 1;
	}
	text_char(out, ']');
}

static void put_names(struct text *out, const char *key, const struct digest_names *names)
{
	text_format(out, ",\"%s\":[", key);
	for (size_t i = 0; i < names->count; i++) {
		text_string(out, i ? "," : "");
		put_parts(out, &names->items[i]);
	}
	text_char(out, ']');
}

static const char *device_name(const struct gpu *gpu, uint32_t id)
{
	for (size_t i = 0; i < gpu->device_count; i++)
		if (gpu->devices[i].id == id)
			return gpu->devices[i].name;
	return "";
}

static void put_row(struct text *out, const struct run *run, const struct digest_row *row)
{
	static const char *const places[] = {[SPAN_THREAD] = "thread", [SPAN_QUEUE] = "queue", [SPAN_PROCESS] = "process"};
	const struct process *process = &run->processes[row->process];
	const struct thread *thread = row->on == SPAN_THREAD ? process_thread(process, row->track) : NULL;

	text_format(out,
		    "{\"process\":%" PRIu32 ",\"on\":\"%s\",\"track\":%" PRIu32 ",\"lane\":%" PRIu32 ",\"depth\":%" PRIu32
		    ",\"name\":%" PRIu32 ",\"kind\":\"%s\",\"count\":%zu",
		    row->process, places[row->on], row->track, row->lane, row->depth, row->name,
		    row->kind == SPAN_COUNTER ? "counter" : "spans", row->count);
	if (thread != NULL) {
		text_format(out, ",\"tid\":%" PRIu64 ",\"label\":", (uint64_t)thread->tid);
		put_shown(out, thread->name, strlen(thread->name));
	} else if (row->on == SPAN_QUEUE && process->gpu != NULL && row->track < process->gpu->queue_count) {
		const struct gpu_queue *queue = &process->gpu->queues[row->track];
		const char *name = device_name(process->gpu, queue->device);
		text_format(out,
			    ",\"device\":%" PRIu32 ",\"context\":%" PRIu32 ",\"stream\":%" PRIu32 ",\"label\":", queue->device,
			    queue->context, queue->stream);
		put_shown(out, name, strlen(name));
	}
	text_char(out, '}');
}

/* As the columns of tables have it: by these a table's row finds its process. */
static void put_identity(struct text *out, const struct process *process)
{
	text_format(out, ",\"pid\":%" PRIu32, process->pid);
	if (process->of_host) {
		text_string(out, ",\"host\":");
		put_shown(out, process->of_host, strlen(process->of_host));
	}
	if (process->is_of_rank)
		text_format(out, ",\"rank\":%" PRIu64, (uint64_t)process->of_rank);
}

static void put_rows(struct text *out, const struct run *run, const struct digest *digest)
{
	text_string(out, ",\"rows\":[");
	for (size_t i = 0; i < digest->row_count; i++) {
		text_string(out, i ? "," : "");
		put_row(out, run, &digest->rows[i]);
	}
	text_string(out, "],\"processes\":[");
	for (size_t i = 0; i < run->process_count; i++) {
		text_format(out, "%s{\"called\":", i ? "," : "");
		put_shown(out, run->processes[i].called, strlen(run->processes[i].called));
		put_identity(out, &run->processes[i]);
		text_string(out, ",\"command\":");
		put_shown(out, run->processes[i].command, strlen(run->processes[i].command));
		if (run->processes[i].gone_ns != TIME_UNKNOWN)
			text_format(out, ",\"end\":%" PRId64, run->processes[i].gone_ns);
		text_char(out, '}');
	}
	text_char(out, ']');
}

static void put_digest(struct text *out, const struct run *run, const struct digest *digest)
{
	text_format(out,
		    "{\"told\":%" PRIu64 ",\"items\":%zu,\"grain_ns\":%" PRIu64 ",\"rows_shared\":%" PRIu64
		    ",\"from_ns\":%" PRId64 ",\"to_ns\":%" PRId64 ",\"windows\":[",
		    digest->told, digest->count, digest->grain_ns, digest->rows_shared, digest->first_ns, digest->last_ns);
	for (size_t i = 0; i < digest->window_count; i++) {
		const struct digest_window *window = &digest->windows[i];
		text_format(out, "%s{\"from_ns\":%" PRId64 ",\"to_ns\":%" PRId64 ",\"why\":\"%s\"}", i ? "," : "",
			    window->from_ns, window->to_ns, window->why);
	}
	text_char(out, ']');
	put_rows(out, run, digest);
	put_names(out, "names", &digest->names);
	put_names(out, "details", &digest->details);
	put_items(out, digest);
	text_char(out, '}');
}

struct taker {
	struct digest *digest;
	const struct request *request;
};

static int take(void *context, const struct span *span)
{
	const struct taker *taker = context;

	if (request_draws_span(taker->request, span))
		digest_add(taker->digest, span);
	return 0;
}

void digest_write(struct text *out, const struct request *request, size_t most)
{
	struct digest digest;
	struct taker taker = {.digest = &digest, .request = request};
	struct span_options options = {.wants = SPAN_ALL & ~SPAN_BIT(SPAN_USE), .visit = take, .context = &taker};
	size_t before = out->length;
	int is_fitting = 0;

	digest_start(&digest, ITEMS_MOST, TEXTS_MOST);
	moments_choose(&digest, request);
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]) &&
		    spans_stream(request->run, i, &options) != 0)
			base_die("out of memory while reading the logs");
	digest_finish(&digest);
	while (digest.told > 0 && !is_fitting) {
		put_digest(out, request->run, &digest);
		is_fitting = out->length - before <= most;
		if (!is_fitting)
			out->length = before;
		if (!is_fitting && !digest_coarsen(&digest))
			break;
	}
	if (!is_fitting)
		text_string(out, "null");
	digest_free(&digest);
}
