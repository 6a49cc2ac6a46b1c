/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, one word after the other. See json.h. */
#include "reducer/import/json.h"

#include <stdlib.h>
#include <string.h>

void json_begin(struct json *json, struct source *source)
{
	*json = (struct json){.source = source, .wants_value = 1};
}

void json_free(struct json *json)
{
	text_free(&json->text);
}

/* The next byte, or -1 at the end. */
static int peek(struct json *json)
{
	if (json->used == json->filled) {
		json->bytes = source_at(json->source, json->at, SOURCE_LONGEST, &json->filled);
		json->used = 0;
	}
	return json->filled ? json->bytes[json->used] : -1;
}

static void step(struct json *json)
{
	json->used++;
	json->at++;
}

static int take(struct json *json)
{
	int byte = peek(json);

	if (byte >= 0)
		step(json);
	return byte;
}

static enum json_word bad(struct json *json, const char *reason)
{
	int is_end = peek(json) < 0;

	if (!json->is_bad)
		source_damage(json->source, json->at, "use another copy of the file; what stands before that was read",
			      is_end ? "the file ends inside its JSON" : reason);
	json->is_bad = 1;
	json->depth = 0;
	return JSON_BAD;
}

static int skip_space(struct json *json)
{
	int byte;

	while ((byte = peek(json)) == ' ' || byte == '\n' || byte == '\t' || byte == '\r')
		step(json);
	return byte;
}

static void put_byte(struct json *json, int byte)
{
	if (json->text.length < JSON_TEXT)
		text_char(&json->text, (char)byte);
}

static void put_utf8(struct json *json, uint32_t code)
{
	if (code < 0x80) {
		put_byte(json, (int)code);
		return;
	}
	if (code >= 0x10000) {
		put_byte(json, (int)(0xf0 | code >> 18));
		put_byte(json, (int)(0x80 | (code >> 12 & 63)));
	} else if (code >= 0x800) {
		put_byte(json, (int)(0xe0 | code >> 12));
	} else {
		put_byte(json, (int)(0xc0 | code >> 6));
	}
	if (code >= 0x800)
		put_byte(json, (int)(0x80 | (code >> 6 & 63)));
	put_byte(json, (int)(0x80 | (code & 63)));
}

/* Four hexadecimal digits, or -1. */
static int32_t take_hex(struct json *json)
{
	int32_t code = 0;

	for (int i = 0; i < 4; i++) {
		int digit = take(json), lower = digit | 32;
		if (digit >= '0' && digit <= '9')
			code = code * 16 + digit - '0';
		else if (lower >= 'a' && lower <= 'f')
			code = code * 16 + lower - 'a' + 10;
		else
			return -1;
	}
	return code;
}

/* Behind \u. A lone surrogate becomes U+FFFD. */
static int take_code(struct json *json)
{
	int32_t code = take_hex(json), low;

	if (code >= 0xd800 && code < 0xdc00 && peek(json) == '\\') {
		step(json);
		if (take(json) != 'u')
			return -1;
		low = take_hex(json);
		code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : low < 0 ? -1 : 0xfffd;
	}
	if (code < 0)
		return -1;
	put_utf8(json, code >= 0xd800 && code < 0xe000 ? 0xfffd : (uint32_t)code);
	return 0;
}

static int take_escape(struct json *json)
{
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	int letter = take(json);
	const char *found = letter > 0 ? strchr(letters, letter) : NULL;

	if (letter == 'u')
		return take_code(json);
	if (!found)
		return -1;
	put_byte(json, bytes[found - letters]);
	return 0;
}

/* What stretches of bytes are made of. */
enum { PLAIN = 1, NUMBER = 2, LETTER = 4 };

/* Always inline: asked for each byte, about a kind that is known where it is asked. */
static inline __attribute__((always_inline)) unsigned kinds_of(int byte)
{
	unsigned kinds = byte != '"' && byte != '\\' ? PLAIN : 0;

	if ((byte >= '0' && byte <= '9') || byte == '+' || byte == '-' || byte == '.' || byte == 'e' || byte == 'E')
		kinds |= NUMBER;
	if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))
		kinds |= LETTER;
	return kinds;
}

/* A whole stretch of bytes of a kind at once, as far as they are in memory. */
static inline __attribute__((always_inline)) void take_stretch(struct json *json, unsigned kind)
{
	size_t from = json->used;

	while (json->used < json->filled && kinds_of(json->bytes[json->used]) & kind)
		json->used++;
	size_t length = json->used - from, room = json->text.length < JSON_TEXT ? JSON_TEXT - json->text.length : 0;
	text_put(&json->text, json->bytes + from, length < room ? length : room);
	json->at += length;
}

/* All bytes of a kind from here on; the text is new. */
static void take_all(struct json *json, unsigned kind)
{
	text_clear(&json->text);
	for (int byte = peek(json); byte >= 0 && kinds_of(byte) & kind; byte = peek(json))
		take_stretch(json, kind);
}

/* Behind the quote. Returns 0, -1 where it makes no sense. */
static int take_string(struct json *json)
{
	text_clear(&json->text);
	for (int byte = peek(json); byte != '"'; byte = peek(json)) {
		if (byte < 0)
			return -1;
		if (byte != '\\') {
			take_stretch(json, PLAIN);
			continue;
		}
		step(json);
		if (take_escape(json) != 0)
			return -1;
	}
	step(json);
	text_string(&json->text, "");
	return 0;
}

static enum json_word take_number(struct json *json)
{
	take_all(json, NUMBER);
	return JSON_NUMBER;
}

/* true, false, null; Python also writes NaN and Infinity, which become null. */
static enum json_word take_word(struct json *json)
{
	static const struct {
		const char *text;
		enum json_word word;
	} words[] = {
		{"true", JSON_TRUE}, {"false", JSON_FALSE}, {"null", JSON_NULL}, {"NaN", JSON_NULL}, {"Infinity", JSON_NULL}};

	take_all(json, LETTER);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (json->text.length && strcmp(json->text.bytes, words[i].text) == 0)
			return words[i].word;
	return bad(json, "this is no word of JSON");
}

static enum json_word open_level(struct json *json, int byte)
{
	if (json->depth == JSON_DEPTH)
		return bad(json, "the JSON is nested more than 512 deep");
	step(json);
	json->stack[json->depth++] = (uint8_t)byte;
	json->wants_value = byte == '[';
	json->is_after = 0;
	return byte == '{' ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_word close_level(struct json *json, int byte)
{
	if (!json->depth || json->stack[json->depth - 1] != (byte == '}' ? '{' : '['))
		return bad(json, "a bracket closes what was not open");
	step(json);
	json->depth--;
	json->is_after = 1;
	json->wants_value = 0;
	return byte == '}' ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static enum json_word take_key(struct json *json)
{
	if (take(json) != '"' || take_string(json) != 0)
		return bad(json, "this is no key of an object");
	if (skip_space(json) != ':')
		return bad(json, "no colon follows the key");
	step(json);
	json->wants_value = 1;
	return JSON_KEY;
}

static enum json_word take_value(struct json *json, int byte)
{
	enum json_word word;

	if (byte == '{' || byte == '[')
		return open_level(json, byte);
	json->is_after = 1;
	json->wants_value = 0;
	if (byte == '"') {
		step(json);
		return take_string(json) == 0 ? JSON_STRING : bad(json, "this string makes no sense");
	}
	word = byte == '-' || (byte >= '0' && byte <= '9') ? take_number(json) : JSON_BAD;
	if (word == JSON_BAD)
		word = (byte == '-' || (byte >= '0' && byte <= '9')) ? word : take_word(json);
	return word;
}

enum json_word json_next(struct json *json)
{
	int byte, is_object;

	if (json->is_bad || (!json->depth && json->is_after))
		return JSON_END;
	byte = skip_space(json);
	if (byte < 0)
		return bad(json, "");
	is_object = json->depth && json->stack[json->depth - 1] == '{';
	if (json->is_after && byte == ',') {
		step(json);
		byte = skip_space(json);
		json->is_after = 0;
		json->wants_value = !is_object;
	} else if (json->is_after && byte != '}' && byte != ']') {
		return bad(json, "no comma follows the value");
	}
	if (byte == '}' || byte == ']') /* also behind a comma: some writers end a list with one */
		return close_level(json, byte);
	if (is_object && !json->wants_value)
		return take_key(json);
	return take_value(json, byte);
}

void json_skip(struct json *json, enum json_word word)
{
	unsigned depth = json->depth;

	if (word != JSON_OBJECT && word != JSON_ARRAY)
		return;
	while (json->depth >= depth && !json->is_bad)
		if (json_next(json) == JSON_END)
			return;
}

#define EXPONENT_MOST 400 /* beyond it every number but 0 saturates, or is less than 1 */

int json_is_number(const struct json *json)
{
	const char *at = json->text.length ? json->text.bytes : "";

	at += *at == '-' || *at == '+';
	at += *at == '.';
	return *at >= '0' && *at <= '9';
}

int64_t json_integer(const struct json *json, unsigned digits)
{
	const char *at = json->text.length ? json->text.bytes : "";
	int is_negative = *at == '-', is_behind = 0;
	unsigned left = digits;
	int64_t value = 0;

	for (at += is_negative || *at == '+'; (*at >= '0' && *at <= '9') || (*at == '.' && !is_behind); at++) {
		if (*at == '.') {
			is_behind = 1;
			continue;
		}
		if (is_behind && left == 0)
			continue;
		left -= is_behind != 0;
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *at - '0', &value))
			return is_negative ? INT64_MIN : INT64_MAX;
	}
	long exponent = *at == 'e' || *at == 'E' ? strtol(at + 1, NULL, 10) : 0;
	exponent = exponent > EXPONENT_MOST ? EXPONENT_MOST : exponent < -EXPONENT_MOST ? -EXPONENT_MOST : exponent;
	for (long scale = (long)left + exponent; scale > 0 && value != 0; scale--)
		if (__builtin_mul_overflow(value, 10, &value))
			return is_negative ? INT64_MIN : INT64_MAX;
	for (long scale = (long)left + exponent; scale < 0 && value != 0; scale++)
		value /= 10;
	return is_negative ? -value : value;
}
