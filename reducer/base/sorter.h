/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts more than fits in memory: entries of any length by a key of four words.
 *
 * Rule: memory is what sorter_make was given and SORTER_FAN buffers, whatever is put; the rest lies in a spool. Entries
 * of equal keys come out in the order in which they were put.
 */
#ifndef REDUCER_BASE_SORTER_H
#define REDUCER_BASE_SORTER_H

#include <stddef.h>
#include <stdint.h>

#define SORTER_WORDS 4
#define SORTER_LONGEST 32768u /* bytes of one entry */
#define SORTER_FAN 64u	      /* runs merged at once, with a buffer of 64 KiB each */

struct sorter;

/*
 * `bytes`: of entries kept in memory, at least 1 MiB. `lane_words`: so many words of the key name a lane; entries of one lane are
 * put nearly in order, however the lanes alternate. 0 = all are one lane. It decides how long sorting takes, nothing else. Never NULL.
 */
struct sorter *sorter_make(size_t bytes, unsigned lane_words);
void sorter_free(struct sorter *sorter);

/* Only before the first sorter_next. `length` is at most SORTER_LONGEST. */
void sorter_put(struct sorter *sorter, const uint64_t key[SORTER_WORDS], const void *bytes, size_t length);

/*
 * Nothing more is put, and it may be long until it is read: more than SORTER_REST bytes go to the spool, so that many sorters
 * that wait take no more memory than one.
 */
#define SORTER_REST (256u << 10)
void sorter_rest(struct sorter *sorter);

/* The next entry by its key; it lives until the next call. Returns NULL at the end. */
const void *sorter_next(struct sorter *sorter, const uint64_t **key, size_t *length);

#endif
