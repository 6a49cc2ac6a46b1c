/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One .tfp file, opened: header, live words, an index of its blocks, and ways to read each kind of block.
 *
 * Rule: the file is hostile. No size or count is believed before it was compared with what is there; memory never
 * depends on a number that was not. Bytes are taken with pread, each once (a log may still be growing or be cut while
 * we read; a mapping would die of SIGBUS, a second look could see another value).
 * Damage is added to the diag list and skipped; everything else is still answered.
 */
#ifndef REDUCER_READ_LOG_H
#define REDUCER_READ_LOG_H

#include "reducer/read/alive.h"
#include "reducer/read/diag.h"
#include "writer/format.h"

#include <stddef.h>
#include <stdint.h>

struct schema; /* reducer/read/schema.h */
struct moment; /* reducer/read/moment.h */
struct log_file;

/* A block that is not an events block: schema, end, chunk, threads, facts, pcs, nodes, or of a type we do not know. */
struct log_block {
	uint64_t offset;         /* of its header */
	uint64_t payload;        /* offset of its payload */
	uint64_t payload_bytes;  /* that the file really has; less than encoded_bytes where the file is cut */
	struct tfp_block_header header;
};

/* A part of a stream: an events block, or a chunk that was not drained. 16 bytes, because there can be a million. */
struct log_part {
	uint64_t place; /* offset of the block header; bit 0 set: it is a chunk (blocks begin at multiples of 8) */
	uint64_t sequence;
	_Atomic uint64_t kinds; /* of an events block: which it holds, as feed.c folds them, whoever reads it first; 0 = nobody did */
};

#define LOG_PART_OFFSET(part) ((part)->place & ~UINT64_C(7))
#define LOG_PART_IS_CHUNK(part) ((part)->place & 1)

/* All events of one thread and lane, in time order. */
struct log_stream {
	uint32_t thread;
	uint16_t lane;
	uint16_t is_sorted;
	struct log_part *parts; /* ascending sequence; no sequence twice */
	size_t count, capacity;
};

struct log {
	char *path;
	struct log_file *file; /* private: the descriptor, opened again when it is needed */
	uint64_t bytes; /* size of the file when opened; of two logs in one file, of the first */
	int is_joined;  /* another log begins there: what stands behind is not of this process */
	struct tfp_file_header header; /* fields the file's header is too short for are 0 */
	struct tfp_file_live live;     /* taken at open; all 0 when the file ends before them */
	enum alive alive;              /* asked before anything else was, */
	uint64_t opened_raw_ns;        /* and this just before: CLOCK_MONOTONIC_RAW of this machine */
	int is_running;                /* the process ran on while the log was opened: what is here is of one moment */
	struct moment *moment;         /* of a log that may be being written; NULL = it is not */
	struct schema *schema;         /* from the file; built in where the file has none */
	struct log_block *blocks;      /* all but events blocks, in file order */
	size_t block_count;
	struct log_stream *streams;    /* by thread, then lane */
	size_t stream_count;
	uint64_t events_blocks;        /* indexed, dropped by FULL=wrap not included */
	uint64_t wrapped_blocks;       /* below live.dropped_from: skipped */
	uint64_t duplicate_blocks;     /* a second events block of the same thread, lane and sequence: skipped */
	uint64_t hole_bytes;           /* zeros where a block was reserved and never written */
	uint64_t damaged_bytes;        /* where no block can be found */
	uint64_t sealed_bytes;         /* of whole sealed blocks, as the writer counts drained_bytes */
	struct log_block torn;         /* the events block inside which the file ends; offset 0 = none */
	uint64_t unknown_blocks;       /* of a type this reader does not know: skipped, kept in `blocks` for --dump */
	struct diag_list *diags;       /* the caller's */
	uint32_t *stream_index;        /* private to scan.c: hash of thread and lane -> stream + 1 */
	size_t stream_index_size, stream_capacity, block_capacity;
};

/*
 * Opens and indexes a log; reads headers only (and the payloads that decide which chunks are still needed). NULL when
 * the file cannot be read as a log (missing, empty, foreign, newer major, unknown incompatible features): one DIAG_FATAL
 * says why. `diags` must outlive the log.
 */
struct log *log_open(const char *path, struct diag_list *diags);

/* The same of a file that is open already and may have no name: `descriptor` belongs to the log from here on. */
struct log *log_open_descriptor(int descriptor, const char *path, struct diag_list *diags);
void log_close(struct log *log);

/* Closes the descriptor until the next read, so that a run of thousands of processes needs few. */
void log_rest(const struct log *log);

/*
 * The same log for a pass that goes on beside others: with a descriptor of its own, and damage goes to `diags`. Until log_view_end, which
 * closes that. Returns -1 without memory.
 */
int log_view(const struct log *log, struct diag_list *diags, struct log *view);
void log_view_end(struct log *view);

/* Reads up to `bytes` at `offset` into `to`. Returns how many were there (0 at the end or on an error). */
size_t log_pread(const struct log *log, uint64_t offset, void *to, size_t bytes);

/* The next offset at or behind `offset` that may hold data (files can have holes); the end of the log when none does. */
uint64_t log_skip_hole(const struct log *log, uint64_t offset);

/* Takes the live words anew. */
void log_read_live(struct log *log);

/* Whether the block at `offset`, which cannot be read, was given up since the log was opened (FULL=wrap in a process that runs). */
int log_is_given_up(const struct log *log, uint64_t offset);

/* The size of the file now. */
uint64_t log_size_now(const struct log *log);

/* Reads the block header at `offset`. Returns 0, or -1 when there is no valid one. Adds no diag. */
int log_block_at(const struct log *log, uint64_t offset, struct log_block *block);

/* When the records of a part begin, ticks, as far as is known without decoding it; 0 = not. */
uint64_t log_part_time(const struct log *log, const struct log_part *part);

/*
 * The next block whose header is valid at or behind `*offset` (a multiple of 8). Returns 1, or 0 at the end of the log.
 * *gap receives the bytes passed over that were not zero-filled padding (see docs/format.md, "finding blocks"): 0 in a
 * whole file; *is_zero whether they were all zero. *offset becomes the place to go on from.
 */
int log_block_next(const struct log *log, uint64_t *offset, struct log_block *block, uint64_t *gap, int *is_zero);

/*
 * Payload of a sealed block, checksum compared and decompressed. Returns a buffer of *bytes bytes (freed by the caller
 * with free), or NULL after adding a diag. At most TFP_RAW_MAX bytes are allocated.
 */
uint8_t *log_sealed(const struct log *log, const struct log_block *block, size_t *bytes);

/* The same without a diag: where it is not yet known whether the block is needed. */
uint8_t *log_sealed_quietly(const struct log *log, const struct log_block *block, size_t *bytes);

/* Exact counters of one thread, from its slot in the file. Copied field by field, missing ones are 0. */
typedef int log_slot_visit(void *context, const struct tfp_thread_slot *slot);
/* Calls `visit` for each slot whose state is not 0, in file order, until it returns non-zero; returns that, or 0. */
int log_slots(const struct log *log, log_slot_visit *visit, void *context);
/* Of one threads block. */
int log_block_slots(const struct log *log, const struct log_block *block, log_slot_visit *visit, void *context);

/* One fact, decoded by the schema. Values stay valid during the visit only. */
#define FACT_FIELDS_MAX 32
struct fact_value {
	uint64_t number;
	const char *text; /* str fields: `length` bytes, not terminated; else NULL */
	size_t length;
};
struct fact {
	uint64_t offset; /* in the file */
	uint64_t time;   /* ticks since origin */
	uint16_t tag;
	size_t count;    /* fields present, at most FACT_FIELDS_MAX, by schema index; 0 for a kind the schema does not name */
	struct fact_value values[FACT_FIELDS_MAX];
};
typedef int log_fact_visit(void *context, const struct fact *fact);
/* Calls `visit` for each whole fact in file order, until it returns non-zero; returns that, or 0. */
int log_facts(const struct log *log, log_fact_visit *visit, void *context);
/* Of one facts block. *bad receives the offset of a fact that claims an impossible size (it ends the block), or 0. */
int log_block_facts(const struct log *log, const struct log_block *block, log_fact_visit *visit, void *context, uint64_t *bad);

/* What `tfprof run` appended after waitpid. Returns 1 when there is such a block, else 0. */
int log_end(const struct log *log, struct tfp_end_payload *end);

#endif
