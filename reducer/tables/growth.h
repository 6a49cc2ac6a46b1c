/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live memory that grows without end while steps go on.
 *
 * Rule: growth is judged by the low points of a curve during the steps, so that what comes and goes within a step does not count, nor
 * what is made before them. The curve is cut by steps, not by time, where they are the process's own: some may be long. A process that
 * began among the steps is judged from the first block of a framework in it: until then it loads its code; one that was there for less than
 * half of them takes with it what it kept. What was kept in one part of that time alone, or in its first half, is no growth without end.
 */
#ifndef REDUCER_TABLES_GROWTH_H
#define REDUCER_TABLES_GROWTH_H

#include "reducer/tables/request.h"

/* From here on growth is worth a word: of the peak, and in bytes (rule memory_leak has the same). */
#define GROWTH_PERCENT 10.0
#define GROWTH_BYTES 16777216

/* The account of a wanted process that grew most, by its own peak. */
struct growth {
	const struct account *account; /* NULL = none grew steadily */
	size_t process;		       /* its place in the run */
	uint64_t bytes;		       /* between the first and the last low point */
	double percent;		       /* of the account's peak */
	int64_t ns;		       /* between those points */
	double steps;		       /* of the process, between them; 0 = it has none of its own, or few */
	uint64_t refused;    /* allocations that failed for want of such memory, from the first step on: it ran out */
	uint64_t room_bytes; /* what the process could still have had at its last reading: its group, or the machine; 0 = not known, of a
				device, or it ran out */
	bool is_judged;	     /* some curve was long enough */
};

/* `from_ns` to `to_ns`: of the steps that count. */
struct growth growth_find(const struct request *request, int64_t from_ns, int64_t to_ns);

/*
 * The same for each wanted process from its beginning to its end, or to its peak where that is near the end: behind it a program that
 * ends gives back. Of processes that lived for GROWTH_LIFE_NS: what grows in a shorter one is its data.
 */
struct growth growth_of_lives(const struct request *request);
#define GROWTH_LIFE_NS INT64_C(30000000000)

#endif
