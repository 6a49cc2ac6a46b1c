/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a .tfp log, as shared by the library that writes them and the reducer that reads them.
 *
 * Rule: fields are only appended, tags are never reused, units never change; a reader skips what it does not know by
 * its length. Everything is little-endian. This header includes nothing of the guest and compiles alone.
 * docs/format.md is the page to read; this file is what the compiler reads.
 *
 *   0        file header (struct tfp_file_header), then at TFP_LIVE_OFFSET the words that change while the program runs
 *   page     blocks, one after the other: struct tfp_block_header, then `encoded_bytes` of payload, padded to 8
 *              sealed blocks   schema, events, end: written once by pwrite, payload checksummed
 *              live blocks     chunk, threads, facts, pcs, nodes: mapped shared, written in place, page aligned
 *   gaps (zeros between blocks, or a block that a dying process never wrote) are skipped by scanning for the sync word.
 */
#ifndef TFP_WRITER_FORMAT_H
#define TFP_WRITER_FORMAT_H

#include <stdint.h>

#define TFP_FILE_MAGIC "\x89TFP\r\n\x1a\n"          /* 8 bytes, without the terminating zero */
#define TFP_BLOCK_SYNC UINT64_C(0xb10cf97e5a5e1dd3) /* chosen at random; found at multiples of 8 */
#define TFP_FORMAT_MAJOR 1
#define TFP_FORMAT_MINOR 0
#define TFP_BYTE_ORDER UINT32_C(0x01020304)

/* Where the ticks of every time in the log come from. */
enum tfp_clock_kind {
	TFP_CLOCK_TSC = 1,       /* x86-64 time stamp counter */
	TFP_CLOCK_CNTVCT = 2,    /* aarch64 virtual counter */
	TFP_CLOCK_MONOTONIC = 3, /* clock_gettime, 1 tick = 1 ns */
};

/* One bracketed reading of all clocks; `width_ticks` bounds how far apart the readings can be. */
struct tfp_clock_set {
	uint64_t ticks; /* absolute counter value */
	uint64_t raw_ns;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
	uint64_t width_ticks;
};

/* At offset 0; written once, before the first record; `header_crc` is CRC32C of the bytes before it. */
struct tfp_file_header {
	uint8_t magic[8];
	uint16_t major, minor;
	uint32_t header_bytes; /* sizeof this struct when written */
	uint32_t byte_order;
	uint32_t page_bytes;        /* live blocks are aligned to this; blocks begin at it */
	uint64_t features_compat;   /* unknown bits: ignore */
	uint64_t features_warn;     /* unknown bits: read, and say so */
	uint64_t features_incompat; /* unknown bits: refuse */
	uint64_t log_id, parent_log_id;
	uint8_t job_id[16];
	uint8_t boot_id[16];
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid, 0 = unknown */
	uint32_t pid, parent_pid;
	uint64_t process_start, parent_start; /* /proc/PID/stat field 22, clock ticks since boot; 0 = unknown */
	uint32_t exec_count;                  /* images this pid ran before this one, as far as known */
	int32_t utc_offset_s;
	uint32_t clock_kind;         /* enum tfp_clock_kind */
	uint32_t architecture;       /* ELF e_machine */
	uint64_t clock_hz;           /* first estimate; 0 = unknown, use the clock records */
	struct tfp_clock_set origin; /* `origin.ticks` is time 0 of every record */
	uint32_t live_offset;        /* TFP_LIVE_OFFSET */
	uint32_t live_bytes;         /* sizeof struct tfp_file_live when written */
	uint32_t thread_slot_bytes;  /* stride of a threads block */
	uint32_t loss_count;         /* entries of tfp_thread_slot.losses */
	uint32_t flags;              /* TFP_FILE_* */
	uint32_t reserved;
	char command[16]; /* /proc/self/comm */
	uint32_t header_crc;
	uint32_t pad;
};

#define TFP_FILE_STATIC_ALLOCATOR 1u /* the executable defines malloc itself: its calls cannot be seen */
#define TFP_FILE_FORKED 2u           /* made by a fork child, not by an exec */
/*
 * Of a fork child: whether a capture window was open when its log began. It is as its parent was when it forked, which may be long ago.
 * Of others OPEN says that a window of WINDOW's list opened with the process.
 */
#define TFP_FILE_WINDOW_OPEN 16u
#define TFP_FILE_WINDOW_CLOSED 32u
/*
 * The output directory is no local file system, so live blocks cannot be mapped in this file. They are copied here every
 * second (of more than 8 MiB a part each time) and at the end. Until the end the file
 * TFP_SHADOW_DIRECTORY/tfprof.<log id, 16 hex digits>, if it exists and begins with the same header, holds them at the
 * same offsets: its pages that are not all zero are the newer ones.
 * TFP_FILE_NOT_KILL_SAFE: there is not even that, or only for a part.
 */
#define TFP_FILE_SHADOWED 8u
#define TFP_FILE_NOT_KILL_SAFE 4u
#define TFP_SHADOW_DIRECTORY "/dev/shm"

#define TFP_LIVE_OFFSET 1024

/* How the process ended, as far as the process itself could say. */
enum tfp_end_kind {
	TFP_END_NONE = 0,   /* no word: still running, or killed */
	TFP_END_EXIT = 1,   /* exit() or return from main, handlers ran; end_status is valid */
	TFP_END__EXIT = 2,  /* _exit() or quick_exit(); end_status is valid */
	TFP_END_EXEC = 3,   /* replaced by another program; cleared when the exec failed */
	TFP_END_ABORT = 4,  /* abort() was entered */
	TFP_END_WAITED = 5, /* written by `tfprof run` after waitpid; end_status is the raw wait status */
	TFP_END_IMPORTED = 6, /* made from a file of another profiler, which says nothing of the process's end */
};

/* At TFP_LIVE_OFFSET, mapped shared. Every word is a plain 64-bit little-endian store. */
struct tfp_file_live {
	uint64_t file_end;      /* next free offset; blocks beyond it do not exist */
	uint64_t pcs_count;     /* entries handed out in pcs blocks, all blocks together */
	uint64_t nodes_count;   /* entries handed out in nodes blocks */
	uint64_t threads_count; /* thread serials handed out; the first is 1 */
	uint64_t live_bytes;    /* heap, usable bytes, batched (see setting TOTALS) */
	uint64_t peak_bytes;
	uint64_t peak_time;     /* ticks since origin */
	uint64_t end_kind;      /* enum tfp_end_kind */
	uint64_t end_status;
	uint64_t end_time;      /* ticks since origin */
	uint64_t heap_mode;     /* enum tfp_mode now in force */
	uint64_t drained_bytes; /* bytes of sealed blocks written */
	uint64_t drain_ticks;   /* time spent draining, all threads */
	uint64_t dropped_from;  /* FULL=wrap: event blocks below this offset were given up; 0 = none */
	uint64_t helper_beat;   /* ticks of the outside drainer's last look; 0 = no helper */
	uint64_t own_bytes;     /* private memory mapped by the library itself; 0 = not told (this version never does) */
	uint64_t inherited_bytes; /* heap that was live in the parent when it forked us, batched; 0 = none or unknown */
	uint64_t early_calls;   /* hooked calls that found no state: forwarded, not counted elsewhere */
	uint64_t clock_hz;      /* ticks a second of CLOCK_MONOTONIC_RAW, from time 0 to the newest clock record; 0 = none yet */
	/* Fork children that wanted to record and could make no log of their own, told by themselves (atomic). Not in older logs. */
	uint64_t children_refused; /* the output directory was not there for them, or not theirs to write to */
	uint64_t children_unmade;  /* for any other reason */
	uint64_t mapped_end; /* end of the last live block that was made in the file; 0 = not told. Not in older logs */
	uint64_t given_up_bytes; /* FULL=wrap: of drained_bytes, what was given up again. Not in older logs */
	/* Programs that this process and fork children without a log started without LD_PRELOAD (atomic). Not in older logs. */
	uint64_t programs_unfollowed;
};

enum tfp_block_type {
	TFP_BLOCK_SCHEMA = 1,  /* sealed: text, see tfp_schema_text */
	TFP_BLOCK_EVENTS = 2,  /* sealed: columns of one chunk */
	TFP_BLOCK_END = 3,     /* sealed: struct tfp_end_payload, by tfprof run */
	TFP_BLOCK_PACKED_NODES = 4, /* sealed: what stood in a full block of nodes */
	TFP_BLOCK_CHUNK = 16,  /* live: struct tfp_chunk, then raw records */
	TFP_BLOCK_THREADS = 17, /* live: array of struct tfp_thread_slot */
	TFP_BLOCK_FACTS = 18,  /* live: facts, row by row */
	TFP_BLOCK_PCS = 19,    /* live: array of struct tfp_pc */
	TFP_BLOCK_NODES = 20,  /* live: array of uint64_t, see below */
};

enum tfp_codec { TFP_CODEC_NONE = 0, TFP_CODEC_LZ4 = 1 };

/* Blocks begin at multiples of 8 (live blocks: of page_bytes). `header_crc` is CRC32C of the bytes before it. */
struct tfp_block_header {
	uint64_t sync;         /* TFP_BLOCK_SYNC */
	uint32_t header_bytes; /* sizeof this struct when written */
	uint16_t type;         /* enum tfp_block_type */
	uint8_t codec;         /* enum tfp_codec */
	uint8_t is_live;       /* 1: payload changes in place and carries no checksum */
	uint64_t encoded_bytes; /* payload bytes in the file, without the padding to 8 */
	uint64_t raw_bytes;    /* payload bytes after decompression; at most TFP_RAW_MAX */
	uint64_t first_index;  /* pcs, nodes, threads: index of the first entry; events: unused */
	uint32_t thread;       /* serial of the thread the records belong to; 0 = none */
	uint16_t lane;         /* 0 = normal, 1 = recorded inside a signal handler that interrupted lane 0 */
	uint16_t time_shift;   /* events: times in the columns are ticks >> time_shift */
	uint64_t sequence;     /* events: of the chunk, per thread and lane, from 1 */
	uint64_t first_time, last_time; /* events: ticks since origin */
	uint32_t records;
	uint32_t payload_crc;  /* CRC32C of the encoded payload; 0 in live blocks */
	uint32_t reserved[3];
	uint32_t header_crc;
};

#define TFP_RAW_MAX (UINT64_C(1) << 26) /* a larger raw_bytes is damage */

/* At the start of a chunk block's payload; raw records follow, 8-byte aligned. Freed and reused: used=0, then sequence. */
struct tfp_chunk {
	uint64_t sequence;   /* of the records inside; matches an events block once that is whole */
	uint64_t used;       /* bytes of committed records after this struct, stored after each record */
	uint32_t thread;
	uint16_t lane;
	uint16_t reserved;
	uint64_t state;      /* enum tfp_chunk_state | owner thread serial << 8; compare-and-swap */
	uint64_t size_bytes; /* room after this struct */
	uint64_t padding[3];
};

enum tfp_chunk_state { TFP_CHUNK_FREE = 0, TFP_CHUNK_FILLING = 1, TFP_CHUNK_FULL = 2, TFP_CHUNK_DRAINING = 3 };

/*
 * A raw record: word 0 is (ticks since origin) << 8 | tag, then the fields of records.def at their natural alignment,
 * padded to 8. Tag 0 never occurs.
 */
#define TFP_TAG_BITS 8

/*
 * An events payload after decompression:
 *   u32 record_count, u32 column_count, then each column:
 *   u16 tag, u16 field, u8 encoding, u8[3] zero, u32 value_count, u32 bytes, bytes of data (no padding)
 * Tag 0 columns span all records: field 0 the tags, field 1 the times (>> time_shift; first value absolute).
 * Other columns hold the values of one field of one record kind, in record order; field is the schema's index.
 */
enum tfp_encoding {
	TFP_ENCODE_CONST = 0,  /* one LEB128 varint, the value of every row */
	TFP_ENCODE_VARINT = 1, /* a LEB128 varint a row */
	TFP_ENCODE_DELTA = 2,  /* zig-zag varint of the difference (mod 2^64) to the row before; before the first row: 0 */
	TFP_ENCODE_BYTES = 3,  /* one byte a row */
	TFP_ENCODE_HEAP = 4,   /* addresses of alloc and free together, no longer written: docs/format.md, "older heap addresses" */
	TFP_ENCODE_SLACK = 5,  /* alloc's slack: zig-zag varint a row of what it is beyond tfp_usual_slack; no bytes = 0 each */
	TFP_ENCODE_STEPS = 6,  /* times alone: where they change and by how much; docs/format.md, "steps" */
	TFP_ENCODE_SPARSE = 7, /* the usual value, then each row that differs: docs/format.md, "sparse" */
	TFP_ENCODE_SPARSE_SLACK = 8, /* alloc's slack: as SPARSE, of what encoding 5 would write; the usual value is 0 */
	TFP_ENCODE_LISTS = 9,  /* addresses of alloc and free together: docs/format.md, "heap addresses" */
};

/* What rounding glibc's malloc adds to a request on 64-bit machines; other allocators come near. */
static inline uint64_t tfp_usual_slack(uint64_t requested)
{
	return requested <= 24 ? 24 - requested : (((requested + 23) & ~UINT64_C(15)) - 8) - requested;
}

struct tfp_column_header {
	uint16_t tag, field;
	uint8_t encoding, zero[3];
	uint32_t value_count, bytes;
};

/* A fact: header, then the fields of records.def in order: every integer as u64, every str as u32 length and its bytes
 * (not terminated); the whole padded to 8. `state` is stored last. */
struct tfp_fact {
	uint32_t bytes; /* of the whole fact, header and padding included */
	uint16_t tag;
	uint16_t state; /* 0 = reserved, not written yet: skip by `bytes`; 1 = whole. bytes == 0 ends the block */
	uint64_t time;  /* ticks since origin */
};

/* One distinct code address of one mapped module. Entry 0 is never used. */
struct tfp_pc {
	uint64_t pc;     /* return address; 0 for a marker (see flags) */
	uint32_t module; /* id of a module fact; 0 = none known */
	uint32_t flags;  /* enum tfp_pc_flag */
};
enum tfp_pc_flag {
	TFP_PC_WRITTEN = 1u,       /* set last; an entry without it was never filled */
	TFP_PC_EXACT = 2u,         /* the address itself, not a return address (interrupted instruction) */
	TFP_PC_CUT_DEPTH = 0x100u, /* marker: the outer frames were cut by the setting STACKS */
	TFP_PC_CUT_UNKNOWN = 0x200u, /* marker: no unwind information for the next frame */
	TFP_PC_CUT_MEMORY = 0x400u, /* marker: the stack left the memory known to be this thread's stack */
	TFP_PC_CUT_FULL = 0x800u,  /* marker: tables were full */
	TFP_PC_PYTHON = 0x10u,     /* no code address: python_code fact << 32 | line, 0 = line not known */
	TFP_PC_PYTHON_ENTRY = 0x20u, /* with it: the interpreter was entered from C for this frame, those called by it came after */
};

/*
 * A stack node: parent node << 32 | pc index; node 0 is the root, stack id 0 means "no stack recorded". A stack id is the
 * node of its innermost frame. A node is whole when its word is not 0.
 */

/* Exact counters of one thread, on their own line of the log so that they survive it. lane: see tfp_block_header. */
struct tfp_heap_totals {
	uint64_t allocations, frees;
	uint64_t requested_bytes, allocated_bytes, freed_bytes; /* allocated, freed: usable sizes */
	uint64_t unknown_frees, unknown_freed_bytes; /* of blocks from before the recorder ran, where that is known */
	uint64_t reserved;
};
struct tfp_map_totals {
	uint64_t maps, unmaps, mapped_bytes, unmapped_bytes;
};
struct tfp_loss_slot {
	uint64_t count, first_time, last_time;
};
#define TFP_LOSS_SLOTS 48 /* room in a slot; losses.def has fewer rows */
struct tfp_ended_totals {
	struct tfp_heap_totals heap; /* both lanes */
	struct tfp_map_totals map;
	uint64_t own_allocations, own_bytes;
};

struct tfp_thread_slot {
	uint64_t state;     /* 0 free, 1 in use, 2 its thread ended */
	uint32_t serial;    /* ours, from 1 */
	uint32_t tid;       /* kernel thread id in the process's pid namespace */
	uint64_t start_time, end_time; /* ticks since origin; 0 = not yet */
	char name[16];      /* /proc/self/task/TID/comm when last looked */
	struct tfp_heap_totals heap[2];
	struct tfp_map_totals map[2];
	uint64_t own_allocations, own_bytes; /* calls made by the library itself, kept out of the totals */
	struct tfp_loss_slot losses[TFP_LOSS_SLOTS]; /* also those of the slot's threads before */
	uint64_t reserved[2];
	/*
	 * What the slot's threads before counted, for their thread_end records may be given up with others. ended_through: serial of
	 * the last of them << 1 | which of the two holds it. Once that is `serial`, heap and map above are in there. Not in older logs.
	 */
	struct tfp_ended_totals ended[2];
	uint64_t ended_through;
};

struct tfp_end_payload {
	uint64_t realtime_ns;
	int32_t wait_status;
	uint32_t pid; /* whose status that is; not the log's own: that process has no log, and the status is not this one's */
	/* Of the control group that the program began in, and of the machine; 0 = none, or not known. Not in older logs. */
	uint64_t memory_limit_bytes;
	uint64_t memory_kills;	       /* processes of the group killed for want of memory meanwhile */
	uint64_t machine_memory_kills; /* processes of the machine, those included */
	uint64_t raw_ns;	       /* the moment of realtime_ns, by the clock of origin.raw_ns, which nobody sets */
};

/*
 * What processes that write to one directory under TFPROF_MAX_TOTAL_BYTES know together: the file TFP_TOTAL_NAME there. All words
 * are atomic; mapped shared by each process. Behind it, from TFP_TOTAL_LIST on, TFP_TOTAL_LOGS entries, each page of them
 * allocated when the first of them is taken.
 */
#define TFP_TOTAL_NAME "tfprof.total"
#define TFP_TOTAL_MAGIC "TFPTOTAL"
#define TFP_TOTAL_LIST 4096u
#define TFP_TOTAL_LOGS 16384u /* at once: 2 MiB of list, once there were so many */

struct tfp_total {
	char magic[8];
	uint64_t bytes; /* of all entries together; two's complement, for an instant it may be below zero */
	uint64_t next;  /* entries are taken in this order, modulo TFP_TOTAL_LOGS, so that neighbours are of one age */
	uint64_t hand;  /* the entry that is looked at next by who wants room */
	uint64_t refused, refused_ns; /* processes that kept no log; the last one's CLOCK_REALTIME */
	uint64_t removed, removed_ns; /* logs removed with FULL=wrap; when the last one was */
};

struct tfp_total_entry {
	uint32_t pid; /* whose log; 0 = free */
	uint32_t space; /* pid namespace that `pid` is of: inode, its low 32 bits; 0 = not known */
	uint64_t log_id; /* 0: not written yet, or its writer was killed */
	uint64_t bytes; /* that the log is counted with */
	char name[104]; /* of the log in the directory; while it is being made it ends in .new */
};

/* What the malloc hooks record now; TFP_MODE_COLD means that the library has not started. */
enum tfp_mode { TFP_MODE_COLD = 0, TFP_MODE_PASS = 1, TFP_MODE_TOTALS = 2, TFP_MODE_SAMPLE = 3, TFP_MODE_FULL = 4 };

#endif
