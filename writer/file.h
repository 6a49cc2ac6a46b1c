/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log file: made once, appended to at offsets handed out atomically, its live blocks mapped.
 *
 * Rule: no descriptor number is trusted. Before a write the file behind it is compared with the one we made, and every
 * write goes to an offset of our own. Nothing here waits for another thread. State: tfp_state->log.
 */
#ifndef TFP_WRITER_FILE_H
#define TFP_WRITER_FILE_H

#include "writer/format.h"
#include "writer/loss.h"

#include <stddef.h>
#include <stdint.h>

struct tfp_file_options {
	const char *directory;
	const char *host; /* first part of the file's name */
	uint64_t max_bytes; /* 0 = none */
	uint64_t max_total_bytes; /* of all logs in the directory, see writer/total.h; 0 = none */
	uint64_t keep_free; /* disk space left to others, see writer/spare.h; 0 = none */
	int is_wrapping;    /* at a limit give up the oldest events instead of the newest */
};

/*
 * Makes the log of this process, maps its first part and stores `header`, which it completes (magic, sizes, checksum).
 * tfp_state must exist; sets its log and live. Returns 0 or a loss kind. Start-up only.
 */
enum tfp_loss tfp_file_make(const struct tfp_file_options *options, struct tfp_file_header *header);

/*
 * The live words of the log that a fork child has inherited the descriptor of, mapped: for a child that makes no log. NULL: they
 * cannot be had. tfp_file_inherited_done gives them back. Start-up, or before an exec.
 */
struct tfp_file_live *tfp_file_inherited(void);
void tfp_file_inherited_done(struct tfp_file_live *live);

/* Where a live block lies. */
struct tfp_live_place {
	size_t room;     /* bytes of payload: up to the end of its last page */
	uint64_t offset; /* of its header in the log */
};

/* Whether a live block of `bytes` that could be smaller, or need not be, leaves room below the limit for what is recorded. */
int tfp_file_may_grow(uint64_t bytes);

/*
 * A new live block with room for at least `payload_bytes`: its payload, mapped and zero, its header written. NULL with
 * *why set when there is none. Any thread, any context.
 */
void *tfp_file_live_block(const struct tfp_block_header *header, size_t payload_bytes, struct tfp_live_place *place,
			  enum tfp_loss *why);

/*
 * Appends a sealed block: completes `header` (sync, sizes, checksums) and writes it with header->encoded_bytes of
 * payload. `space` has sizeof(struct tfp_block_header) bytes, then the payload, then 8 bytes that may be overwritten.
 * Returns 0 or a loss kind. Any thread, any context.
 */
enum tfp_loss tfp_file_seal(struct tfp_block_header *header, void *space);

/*
 * The same where header and payload lie apart and the payload is constant. Written, not stored through the mapping, of which each
 * page touched costs a fault. Any thread, any context.
 */
enum tfp_loss tfp_file_seal_apart(struct tfp_block_header *header, const void *payload);

/* Whether tfp_file_detach can be asked for the live block whose header lies at `offset` of the log. */
int tfp_file_can_detach(uint64_t offset);

/*
 * What the live block's payload holds stands elsewhere in the log by now: gives the disk space of its pages back, but the
 * first, which has the header. The memory stays, with its content, and is private; nobody may write to it meanwhile.
 * 0; -1: it cannot be done here, and the block is as it was, or has private memory while its copy in the log stays.
 */
int tfp_file_detach(void *payload, size_t bytes, uint64_t offset);

/* Whether the log counts in the limit of its directory (max_total_bytes). */
int tfp_file_is_counted(void);

/* Whether the log lies where a write may wait for a network, or for good. */
int tfp_file_is_remote(void);

/* The number of our descriptor, or -1. The host does not own it: hooks hide it and step around it. */
int tfp_file_descriptor(void);

/* Whether our file is (still) at that number. Cheap where the number is not ours. */
int tfp_file_is_at(int descriptor);

/* In a fork child that must not touch its parent's log: no write can reach it any more. */
void tfp_file_abandon(void);

/* The host is about to put a file of its own at our number: ours moves elsewhere. */
void tfp_file_move(void);

/* Where private memory stands in for the mapping (no local file system), writes it to the log. Cheap otherwise. */
void tfp_file_sync(void);

/* The same for some of them, in turns: what is done each second must not wait for hundreds of MB. */
void tfp_file_sync_some(void);

/* The same for the last time: what comes after is recorded only as far as it reaches the log by itself. */
void tfp_file_end(void);

#endif
