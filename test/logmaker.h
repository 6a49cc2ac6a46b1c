/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes logs in memory, block by block, whole or broken on purpose: for unit tests, the fuzzer's corpus, measurements.
 *
 * Rule: headers and checksums are right unless a test spoils them afterwards; the writer's own encoder makes the columns,
 * so what reads back right was written right.
 */
#ifndef TEST_LOGMAKER_H
#define TEST_LOGMAKER_H

#include "writer/format.h"
#include "writer/records.h"

#include <stddef.h>
#include <stdint.h>

struct maker {
	uint8_t *bytes; /* the log so far */
	size_t size, capacity;
	struct tfp_file_header header; /* change it, then maker_finish */
	struct tfp_file_live live;
	int is_plain; /* events blocks are not compressed: what the fuzzer changes is then what a decoder sees */
};

/* Raw records, one after the other, as in a chunk. */
struct maker_records {
	uint8_t bytes[1 << 18];
	size_t size;
};

/* An empty log: header of process 100 whose clock runs at 1 tick = 1 ns from tick 1000, one page of live words. */
void maker_begin(struct maker *maker);
void maker_free(struct maker *maker);

/* Appends a sealed block. `fields` may be NULL; type, codec and sizes are set. Returns the offset of its header. */
size_t maker_sealed(struct maker *maker, uint16_t type, const struct tfp_block_header *fields, const void *payload,
		    size_t bytes);

/* Appends a live block at the next page, its payload padded to whole pages. Returns the offset of its header. */
size_t maker_live(struct maker *maker, uint16_t type, const struct tfp_block_header *fields, const void *payload, size_t bytes);

/* Appends the schema that the writer would write, with `more` lines behind it (may be ""). */
size_t maker_schema(struct maker *maker, const char *more);

/* Adds a record: MAKER_ADD(records, time, alloc, .address = 16, .requested = 8). */
#define MAKER_ADD(records, time, name, ...) \
	do { \
		struct tfp_record_##name maker_record = {.word = (uint64_t)(time) << TFP_TAG_BITS | TFP_TAG_##name, __VA_ARGS__}; \
		maker_add(records, &maker_record, sizeof maker_record); \
	} while (0)
void maker_add(struct maker_records *records, const void *record, size_t bytes);

/* The records as an events block, or as a chunk. Returns the offset of the header. */
size_t maker_events(struct maker *maker, uint32_t thread, uint16_t lane, uint64_t sequence, unsigned time_shift,
		    const struct maker_records *records);
size_t maker_chunk(struct maker *maker, uint32_t thread, uint16_t lane, uint64_t sequence, const struct maker_records *records);

/* A facts block with one fact of that tag; `values` ends with NULL, "#N" is the number N. Returns the offset of the header. */
size_t maker_fact(struct maker *maker, uint16_t tag, const char *const *values);

/* Writes the header (completed) and the live words over the start of the log. Call last. */
void maker_finish(struct maker *maker);

/* Computes the checksum of the block header at `offset` anew, after a test changed it. */
void maker_repair(struct maker *maker, size_t offset);

/* Writes the first `bytes` of the log to a file. Returns 0 or -1. */
int maker_write(const struct maker *maker, const char *path, size_t bytes);

struct log;
struct diag_list;

/* Opens the first `bytes` bytes of the log, which lie in memory: there are thousands. NULL as log_open. */
struct log *maker_open(const struct maker *maker, size_t bytes, struct diag_list *diags);

/* Where that looks for them. */
const char *maker_path(void);

/* Records of all streams that can be read. */
uint64_t maker_count_records(const struct log *log);

/* A log with every kind of record, fact and block, two threads and a signal lane, unknown records, holes. */
void maker_everything(struct maker *maker);

/* The same without a schema, with pages of 512 bytes and plain columns: small, for the fuzzer to begin with. */
void maker_seed(struct maker *maker);
void maker_seed_gpu(struct maker *maker);   /* what maker_gpu makes, small */
void maker_seed_kinds(struct maker *maker); /* each kind of event and fact, three values */
void maker_seed_train(struct maker *maker); /* a training loop: test/logmaker_train.c */
void maker_seed_loop(struct maker *maker);  /* one whose steps nobody marks */
void maker_seed_eager(struct maker *maker); /* test/logmaker_loops.c: TensorFlow op by op, */
void maker_seed_functions(struct maker *maker); /* by functions and sessions, */
void maker_seed_compiled(struct maker *maker);  /* JAX, */
void maker_seed_turns(struct maker *maker);     /* optimizers that take turns, then another training */
void maker_seed_later(struct maker *maker);     /* readings, every other one of a later version's kind */
void maker_begin_seed(struct maker *maker); /* what all of them begin with */

/* `count` allocations and as many releases of `threads` threads, `live` blocks live at most; drained, a chunk at the end. */
void maker_busy(struct maker *maker, unsigned threads, uint64_t count, uint64_t live);

/* What a log says of one device 0, its context 1 and a function: launch (number 200), graph launch (201), copy (202), sync
 * (203), alloc (204), free (205), library call (206, arguments m, n, k), module (207). `shapes` shapes, ids from 1, named k1,
 * k2, ... and `queues` queues, ids from 1, on streams 7, 8, ... Bracketed clock readings are the caller's. */
void maker_gpu_facts(struct maker *maker, unsigned shapes, unsigned queues);

/* `launches` kernel launches of `threads` threads on as many streams, with their device records in a lane of their own, a
 * flush of 20000 ticks behind; every hundredth is a copy. The origin's CLOCK_REALTIME is device time. */
void maker_gpu(struct maker *maker, unsigned threads, uint64_t launches, uint64_t a_step);

/* Steps of aten::mm on 16-bit squares of that side and of aten::relu, one kernel each, that keep the device computing.
 * Blocks: weights of five results that stay, each product's to the end of its step, each other's to the end of its op. Each step
 * waits for the device, or none does. */
void maker_products(struct maker *maker, unsigned side, uint64_t product_ns, uint64_t other_ns, int waits);

/*
 * A log with `count` of one thing: kinds are listed in logmaker_hostile.c. Returns -1 where there is no such kind.
 */
int maker_hostile(struct maker *maker, const char *kind, uint64_t count);

#endif
