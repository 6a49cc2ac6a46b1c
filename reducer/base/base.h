/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every offline layer needs: the one way to give up, memory that does not fail, and text that grows.
 *
 * Rule: knows nothing of logs or tables; may be included by every folder of the reducer.
 */
#ifndef REDUCER_BASE_BASE_H
#define REDUCER_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Prints a text that may hold bytes of a log: those that a terminal takes for commands as \x1b, newlines and tabs as they are. */
void base_print(FILE *file, const char *text);

/* Prints "tfprof-reduce: " and one sentence to stderr and leaves with status 1. For the edge of the program only. */
_Noreturn void base_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "tfprof-reduce: " and one sentence to stderr. For the edge of the program only. */
void base_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* count * bytes of zeroed memory; dies when there is none. Free it with free(). */
void *base_alloc(size_t count, size_t bytes);

/* Makes room for `need` elements of `bytes` in `array` (at least doubling *room). Returns the array, moved perhaps. */
void *base_grow_more(void *array, size_t *room, size_t need, size_t bytes);
static inline void *base_grow(void *array, size_t *room, size_t need, size_t bytes)
{
	return need <= *room ? array : base_grow_more(array, room, need, bytes);
}
/* The same up to the element at `place`; what is new is zeroed. */
void *base_reach_more(void *array, size_t *room, size_t place, size_t bytes);
static inline void *base_reach(void *array, size_t *room, size_t place, size_t bytes)
{
	return place < *room ? array : base_reach_more(array, room, place, bytes);
}

/*
 * An array that was just made, or has grown, will be filled to its end: the system may give it large pages, where it has them. Of
 * the usual ones each costs some 2 us when it is first touched, as much as ten records. Small arrays stay as they are.
 */
void base_large_pages(void *array, size_t bytes);

/* A copy of `length` bytes with a zero byte behind. Free it with free(). */
char *base_copy(const void *bytes, size_t length);

/* "batch 17" and "batch 18" are "batch #". Free it with free(). */
char *base_without_numbers(const char *name);

/* "XLA call: f (a.py, line 2) +0x390b13e": the length without the address, which tells calls of one line apart, and a person nothing. */
size_t base_without_address(const char *name, size_t length);

/* A number's decimal digits at `to`, which has room for BASE_DIGITS bytes. Returns where they end. */
#define BASE_DIGITS 20
char *base_put_natural(char *to, uint64_t number);

/* Bytes that grow; always followed by a zero byte once something was put. Start from {0}. */
struct text {
	char *bytes;
	size_t length, room;
};

/* Each appends; dies without memory. */
void text_put(struct text *text, const void *bytes, size_t length);
void text_string(struct text *text, const char *string);
void text_char(struct text *text, char c);
void text_integer(struct text *text, int64_t number); /* as "%lld" prints it, many times faster */
void text_natural(struct text *text, uint64_t number);
void text_real(struct text *text, double value); /* as "%.9g" prints it, many times faster where it is a whole number */
void text_fill(struct text *text, char c, size_t count);
void text_digits(struct text *text, double value, const char *unit); /* three significant digits: 1.50 ms, 12.3 s */
void text_size(struct text *text, int64_t bytes);		     /* 512 B, 1.50 KiB, 12.3 GiB */
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * In a sentence: the first form behind a number of 1, else the second, once text_by_count went over it, as it does over every note of a
 * table: "%zu " BY_COUNT("copy is", "copies are") " missing". The number is the nearest one before it.
 */
#define BY_COUNT(one, many) "\1" one "\2" many "\3"
void text_by_count(char *sentence);
/* Appends `first` and a sentence, broken at spaces to lines of at most `width` bytes; later lines are indented as far. */
void text_wrap(struct text *text, const char *first, const char *sentence, size_t width);
/* Appends the lines sorted, whose memory (and the array's) is given back. */
void text_sorted_lines(struct text *text, char **lines, size_t count);
void text_clear(struct text *text);
void text_free(struct text *text);

/* The candidate nearest to `word` by edit distance, or NULL when none is near enough to be worth naming. */
struct base_nearest {
	const char *word, *best;
	size_t best_distance;
};
struct base_nearest base_nearest_start(const char *word);
void base_nearest_offer(struct base_nearest *nearest, const char *candidate);

/* The value that `rank` (below count) of the others come before when they are sorted. */
uint32_t base_at_rank(const uint32_t *values, size_t count, size_t rank);

/* The least first; dies without memory. */
void base_sort_naturals(uint64_t *numbers, size_t count);

/* The middle one, of an even number the mean of both; sorts the values. 0 of none. */
double base_median(double *values, size_t count);

/* How many of so many things in order come before `key`, of each as `is_before` says: by halving. */
typedef bool base_before(const void *things, size_t i, uint64_t key);
size_t base_count_before(const void *things, size_t count, uint64_t key, base_before *is_before);

#endif
