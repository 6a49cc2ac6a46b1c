/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a log, as sentences: collected while reading, printed once at the edge.
 *
 * Rule: nothing below main prints. A function that cannot go on adds one entry and returns an error; a function that can
 * go on adds one entry and goes on. The list is bounded: what does not fit is counted.
 */
#ifndef REDUCER_READ_DIAG_H
#define REDUCER_READ_DIAG_H

#include <stddef.h>
#include <stdint.h>

enum diag_level {
	DIAG_NOTE = 0,   /* worth a line, nothing is missing from the answer (a newer record kind, a log still being written) */
	DIAG_DAMAGE = 1, /* something is missing from the answer: exit status 2 */
	DIAG_FATAL = 2,  /* this file cannot be read at all */
};

#define DIAG_NO_OFFSET UINT64_MAX /* the entry is about the file as a whole */

struct diag {
	enum diag_level level;
	const char *file;   /* path as given; owned by the list */
	uint64_t offset;    /* bytes from the start of the file, or DIAG_NO_OFFSET */
	const char *reason; /* part of a sentence, lower case, no full stop */
	const char *remedy; /* what a person can do; "" = nothing */
};

#define DIAG_KEPT 1000 /* entries; more are only counted */

struct diag_list {
	struct diag *items; /* in the order found */
	size_t count;
	uint64_t omitted;   /* found after DIAG_KEPT were kept */
	uint64_t damage;    /* entries of level DIAG_DAMAGE or worse, the omitted included */
};

/* Adds an entry; the strings are copied. When there is no memory the entry is counted as omitted. */
void diag_add(struct diag_list *list, enum diag_level level, const char *file, uint64_t offset, const char *remedy,
	      const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Adds that some of `what` (a plural) of a log are missing, because this machine has too little memory for them. */
void diag_no_room(struct diag_list *list, const char *file, const char *what);

/* Drops what was said of a file that is not used after all; what was omitted stays counted. */
void diag_forget(struct diag_list *list, const char *file);

/* Adds all entries of `from` behind those of `to`; `from` is empty then. */
void diag_move(struct diag_list *to, struct diag_list *from);

/* Whether something of this file is missing from the answer; so of all where entries were omitted. */
int diag_is_damaged(const struct diag_list *list, const char *file);

void diag_free(struct diag_list *list);

#endif
