/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an op was given, from three lists of Kineto's (record_shapes=True): Input Dims, Input type, Concrete Inputs.
 *
 * Rule: it becomes what our own collector writes (collectors/pytorch_layout.c): tensors alone, of convolutions lists of numbers, too,
 * as far as there is room.
 */
#include "reducer/import/kineto.h"

#include "reducer/base/kineto_words.h"

#include <stdlib.h>
#include <string.h>

#define INPUTS_MOST 16	/* of one op */
#define TEXT_MOST 480	/* bytes of what it was given */
#define LISTED_MOST 256 /* bytes of an input in a list */

/* The sizes of one tensor: "2,3"; of what is a list of tensors "?". Behind '['. */
static void take_sizes(struct json *json, struct text *to)
{
	enum json_word word;
	size_t from = to->length;

	while ((word = json_next(json)) != JSON_ARRAY_END && word > JSON_BAD) {
		int64_t size = word == JSON_NUMBER ? json_integer(json, 0) : -1;
		json_skip(json, word);
		if (size < 0 || to->length - from > LISTED_MOST) {
			to->length = from;
			text_string(to, "?");
		} else if (to->length == from || to->bytes[to->length - 1] != '?') {
			text_format(to, "%s%lld", to->length > from ? "," : "", (long long)size);
		}
	}
}

void kineto_take_inputs(struct kineto *kineto, unsigned key)
{
	struct text *to = &kineto->inputs[key - KINETO_DIMENSIONS];
	struct json *json = &kineto->json;
	enum json_word word;

	text_clear(to);
	for (size_t i = 0; (word = json_next(json)) != JSON_ARRAY_END && word > JSON_BAD; i++) {
		if (i >= INPUTS_MOST) {
			json_skip(json, word);
			continue;
		}
		if (word == JSON_ARRAY && key == KINETO_DIMENSIONS)
			take_sizes(json, to);
		else if (word == JSON_STRING && !memchr(json->word, KINETO_PIECE, json->length))
			text_put(to, json->word, json->length < LISTED_MOST ? json->length : LISTED_MOST);
		else
			json_skip(json, word);
		text_char(to, KINETO_PIECE);
	}
}

/* Steps to the piece behind; its length. */
static size_t next_piece(const char **at, const char *end, const char **piece)
{
	const char *mark = *at < end ? memchr(*at, KINETO_PIECE, (size_t)(end - *at)) : NULL;

	*piece = *at;
	if (!mark) {
		*at = end;
		return 0;
	}
	*at = mark + 1;
	return (size_t)(mark - *piece);
}

static bool is_text(const char *piece, size_t length, const char *text)
{
	return length == strlen(text) && memcmp(piece, text, length) == 0;
}

/* A type as our logs call it. */
static void put_type(struct text *to, const char *type, size_t length)
{
	static const struct {
		const char *ours, *theirs;
	} names[] = KINETO_TYPES;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_text(type, length, names[i].theirs)) {
			text_string(to, names[i].ours);
			return;
		}
	text_put(to, type, length);
}

static bool begins(const char *text, size_t length, const char *with)
{
	return length >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* "[2, 2]" as "(2,2)", "[False, True]" as "(0,1)"; one with a number that is no count as "()". */
static void put_list(struct text *to, const char *value, size_t length)
{
	size_t from = to->length;

	text_char(to, '(');
	for (size_t i = 0; i < length; i++) {
		bool is_true = begins(value + i, length - i, "True");
		if (is_true || begins(value + i, length - i, "False")) {
			text_char(to, is_true ? '1' : '0');
			i += is_true ? 3 : 4;
		} else if ((value[i] >= '0' && value[i] <= '9') || value[i] == ',')
			text_char(to, value[i]);
		else if (!strchr("[] ", value[i])) {
			to->length = from + 1;
			break;
		}
	}
	text_char(to, ')');
}

/* Types of what is no tensor. */
static bool is_no_tensor(const char *type, size_t length, const char *sizes, size_t sizes_length)
{
	static const char *const words[] = {"", "Scalar", "ScalarList", "TensorList", "GenericList", "Int", "Double", "Bool", "Device",
					    NULL};

	for (const char *const *word = words; *word; word++)
		if (is_text(type, length, *word))
			return true;
	return is_text(sizes, sizes_length, "?") || memchr(type, '[', length) || memchr(type, ';', length);
}

uint32_t kineto_inputs(struct kineto *kineto, const struct kineto_event *event)
{
	const char *at[3], *end[3];
	bool has_lists = strstr(kineto_text(kineto, event, KINETO_NAME), "conv") != NULL;
	struct text text = {0};
	uint32_t name = 0;

	for (size_t i = 0; i < 3; i++) {
		at[i] = kineto->inputs[i].bytes;
		end[i] = at[i] ? at[i] + kineto->inputs[i].length : at[i];
	}
	while (at[0] < end[0] && at[1] < end[1]) {
		const char *sizes, *type, *value;
		size_t sizes_length = next_piece(&at[0], end[0], &sizes), type_length = next_piece(&at[1], end[1], &type);
		size_t value_length = next_piece(&at[2], end[2], &value), before = text.length;
		bool is_list = has_lists && value_length && value[0] == '[' && is_text(type, type_length, "ScalarList");

		if (!is_list && is_no_tensor(type, type_length, sizes, sizes_length))
			continue;
		if (before)
			text_char(&text, ';');
		if (is_list) {
			put_list(&text, value, value_length);
		} else {
			put_type(&text, type, type_length);
			text_format(&text, "[%.*s]", (int)sizes_length, sizes);
		}
		if (text.length > TEXT_MOST) {
			text.length = before;
			break;
		}
	}
	if (text.length)
		name = sink_name(kineto->sink, text.bytes, text.length);
	text_free(&text);
	return name;
}
