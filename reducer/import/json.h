/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON, one word after the other (RFC 8259).
 *
 * Rule: memory is a window and one text, whatever the file holds. Why not a library: the well-kept ones (json-c, jansson,
 * cJSON) make a tree of the whole file, which for a trace of 1 GB is some 10 GB; yajl, the one that streams, has not been
 * released since 2011. Depth is bounded; texts are cut at JSON_TEXT. A text that lies whole in the window, with nothing to
 * unescape, is not copied.
 */
#ifndef REDUCER_IMPORT_JSON_H
#define REDUCER_IMPORT_JSON_H

#include "reducer/base/base.h"
#include "reducer/import/source.h"

#include <string.h>

#define JSON_DEPTH 512
#define JSON_TEXT 65536u

enum json_word {
	JSON_END,
	JSON_BAD,
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_ARRAY,
	JSON_ARRAY_END,
	JSON_KEY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL
};

struct json {
	struct source *source;
	const uint8_t *bytes; /* the window */
	uint64_t from;	      /* offset in the file of the window */
	size_t used, filled;  /* in the window */
	const char *word;     /* the text of a key, string or number, no zero byte behind; until the next word */
	size_t length;
	struct text text; /* what had to be put together */
	unsigned depth;
	uint8_t stack[JSON_DEPTH];     /* '{' or '[' */
	uint8_t wants_value, is_after; /* behind a key or at a start; behind a value */
	uint8_t is_bad, is_open; /* is_open: the list that is the file was not closed */
	uint8_t is_patient;	 /* what is bad is not told: the caller tries json_resume */
	uint64_t bad_at;	 /* offset in the file of what was bad, */
	const char *bad_reason;	 /* and what of it */
};

void json_begin(struct json *json, struct source *source);
void json_free(struct json *json);

/* The next word. JSON_BAD once, with a sentence; then JSON_END. */
enum json_word json_next(struct json *json);

/*
 * Behind JSON_BAD of one that is patient: goes on at the next object that begins a line with one of these keys (as they stand in the file,
 * with their quotes), as one of the list that is `depth` deep. Each byte is passed once, whatever the file holds. Returns 0; -1 where
 * there is none, with the sentence.
 */
int json_resume(struct json *json, unsigned depth, const char *const *keys, size_t count);

/* Behind the one value of the file: a sentence if more than white space follows. */
void json_end(struct json *json);

/* Where the JSON of a file begins. */
size_t json_start(struct source *source);

/* Steps over the value whose first word was `word`. */
void json_skip(struct json *json, enum json_word word);

/* Whether the text is these bytes. */
static inline int json_is(const struct json *json, const char *text, size_t length)
{
	return json->length == length && memcmp(json->word, text, length) == 0;
}

/* Whether the text begins like a number: of a string it may not. */
int json_is_number(const struct json *json);

/* A number as an integer, times 10^`digits` (decimals beyond are cut); saturates. Also of a string that holds one. */
int64_t json_integer(const struct json *json, unsigned digits);

/* What json_integer cuts off behind those digits, in millionths of the last one, of the number's sign; less exact of large numbers. */
int64_t json_rest(const struct json *json, unsigned digits);

#endif
