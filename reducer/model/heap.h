/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the memory events of one process add up to: per allocator ("heap", "mmap") totals, live curve, peak, sites.
 *
 * Rule: exact where every event was recorded, an unbiased estimate with its error where a sample was; each struct says
 * which. What cannot be known stands as unknown, not as 0. Times are ns since the start of the run.
 */
#ifndef REDUCER_MODEL_HEAP_H
#define REDUCER_MODEL_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define TIME_UNKNOWN INT64_MIN

/* How the numbers of an account came about. */
enum account_kind {
	ACCOUNT_NONE = 0,    /* nothing was recorded: only the totals of the threads are known */
	ACCOUNT_POINTS = 1,  /* timeline and peak from batched points (modes totals and sample); no sites */
	ACCOUNT_SAMPLED = 2, /* timeline and peak from points, sites are estimates */
	ACCOUNT_EVENTS = 3,  /* every event: all exact, but for what `losses` and `unknown_frees` say */
};

/* One stretch of a live curve. A peak is never lost: it is the `max` of some stretch. */
struct timeline_point {
	int64_t time_ns;     /* start of the stretch */
	int64_t max_time_ns; /* when `max` was reached first inside it */
	uint64_t live;       /* bytes live at the end of the stretch */
	uint64_t max;        /* most bytes live inside it */
};

#define TIMELINE_POINTS 4096 /* most stretches kept; neighbours are merged beyond that */

struct timeline {
	struct timeline_point *points; /* by time */
	size_t count;
};

/* All allocations with one call stack. In sampled accounts the numbers are estimates. */
struct heap_site {
	uint32_t stack;       /* stack id in this process's log (see reducer/read/stacks.h); 0 = no stack recorded */
	uint32_t reserved;
	uint64_t allocations; /* calls */
	uint64_t requested_bytes;
	uint64_t bytes;       /* usable bytes allocated in all */
	uint64_t temporary;   /* blocks freed by their thread before it allocated anything else; 0 in sampled accounts */
	uint64_t live_blocks, live_bytes; /* still there at the end: leaked */
	uint64_t peak_blocks, peak_bytes; /* there at the account's peak; sampled: when the sampled live sum was highest */
	uint64_t peak_mark;   /* private to the scan */
};

/* Standard errors of a site's estimates, in the unit of the number. */
struct heap_error {
	double allocations, bytes, live_bytes, peak_bytes;
};

#define HEAP_SIZE_CLASSES 49 /* class k holds requested sizes in (2^(k-1), 2^k]; class 0: 0 and 1 byte */
#define HEAP_LIFE_CLASSES 11 /* class 0: below 1 us, 1: below 10 us, ... 9: 100 s and longer, 10: never freed */

/* Blocks by requested size and lifetime. Only in accounts of kind EVENTS (sampled: estimates of the same). */
struct heap_histogram {
	uint64_t blocks[HEAP_SIZE_CLASSES][HEAP_LIFE_CLASSES];
	uint64_t bytes[HEAP_SIZE_CLASSES][HEAP_LIFE_CLASSES]; /* requested */
};

struct account {
	const char *allocator; /* "heap", "mmap", "device:0", "pinned", a framework's name, ... */
	enum account_kind kind;

	/* Summed over the counters of all threads: exact in every mode. */
	uint64_t allocations, frees;
	uint64_t requested_bytes, allocated_bytes, freed_bytes; /* allocated, freed: usable sizes; mmap: whole pages */
	uint64_t unknown_frees, unknown_freed_bytes; /* releases of blocks from before the recorder ran, where known */

	/* The same from the events; equal to the above unless something was lost. Only in kind EVENTS. */
	uint64_t event_allocations, event_frees;
	uint64_t event_requested_bytes, event_allocated_bytes, event_freed_bytes;
	uint64_t event_unknown_frees; /* releases of blocks whose allocation is not in the log */
	uint64_t event_reordered;     /* pairs of two threads that were settled by alternation, not by time */
	uint64_t event_replaced;      /* allocations at an address that was still live: its release is not in the log */

	/* Where a framework's allocator tells its own sum; 0 = it does not. Neither is in the figures below. */
	uint64_t told_before_bytes; /* handed out before the first event */
	uint64_t told_peak_bytes;   /* most, at an event */

	/* Live in the parent when it forked; in live_bytes and the peak. 0 where every event is known: those count own blocks alone. */
	uint64_t inherited_bytes;

	/* mmap: large pieces of address space without access (maps.h), at the end and most: in allocated_bytes, in nothing that is live. */
	uint64_t no_access_bytes, no_access_peak_bytes;

	uint64_t live_bytes, live_blocks; /* at the end; blocks only in kind EVENTS */
	uint64_t peak_bytes;
	int64_t peak_time_ns;             /* TIME_UNKNOWN = unknown */
	uint64_t requested_peak_bytes;    /* peak of the requested sizes; kind EVENTS only */
	int64_t requested_peak_time_ns;
	int is_peak_batched;              /* the peak is exact only to 64 KiB a thread */
	/* Nothing is known of live, peak, or the curve: counted in windows alone (WINDOW=off), or releases without sizes. */
	int is_live_unknown;
	/* Not all events are in the log: what follows from them alone is too little (the heap's counters tell live and peak). */
	int has_gaps;
	/*
	 * Releases were not recorded for a while: of the blocks from before that it is not known which are still live. The sites' live and
	 * peak numbers are of blocks from the same window alone.
	 */
	int is_leak_unknown;
	int has_chosen_stacks;     /* a framework's: of some blocks, as the sampler chose; sizes are exact, the others stand by stack 0 */

	struct timeline timeline;
	struct timeline reserved;  /* what the allocator holds from below; no points = unknown */
	struct heap_site *sites;   /* one for each stack id that allocated, by stack id */
	struct heap_error *errors; /* parallel to sites; NULL unless kind SAMPLED */
	size_t site_count;
	struct heap_histogram *histogram; /* NULL where there is none */
	uint64_t samples;          /* kind SAMPLED: allocations chosen */
	double sample_interval;    /* bytes, the last one in force */
};

/*
 * Merges stretches until at most `points` are left; the account's peak and the last value stay. `points` at least 2.
 * The result is a new timeline (timeline_free); returns -1 without memory.
 */
int timeline_reduce(const struct timeline *from, size_t points, struct timeline *to);

/* Sum of several curves; one that ends counts 0 from `ends_ns[i]` on. `max` of a stretch is at most the sum of the maxima
 * and exact where only one curve changes in it. Returns -1 without memory. */
int timeline_sum(const struct timeline *const *from, const int64_t *ends_ns, size_t count, struct timeline *to);
void timeline_free(struct timeline *timeline);

/* Largest requested size of a size class, in bytes. */
uint64_t heap_size_limit(unsigned size_class);
/* Upper bound of a life class in ns (exclusive); UINT64_MAX for the last two. */
uint64_t heap_life_limit(unsigned life_class);

#endif
