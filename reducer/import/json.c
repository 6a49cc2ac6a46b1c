/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, one word after the other. See json.h. */
#include "reducer/import/json.h"

#include <stdlib.h>
#include <string.h>

#define RESUME_LOOKED 256u /* bytes from a bracket on in which the first key of its object has to stand */

/* Editors of Windows put a byte order mark before UTF-8. */
size_t json_start(struct source *source)
{
	size_t got;
	const uint8_t *head = source_at(source, 0, 3, &got);

	return got == 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

void json_begin(struct json *json, struct source *source)
{
	*json = (struct json){.source = source, .from = json_start(source), .word = "", .wants_value = 1};
}

void json_free(struct json *json)
{
	text_free(&json->text);
}

/* Brings what follows into the window. Returns the next byte, or -1 at the end. */
static __attribute__((noinline)) int fill(struct json *json)
{
	json->from += json->used;
	json->bytes = source_at(json->source, json->from, SOURCE_LONGEST, &json->filled);
	json->used = 0;
	return json->filled ? json->bytes[0] : -1;
}

/* The next byte, or -1 at the end. */
static inline int peek(struct json *json)
{
	return json->used < json->filled ? json->bytes[json->used] : fill(json);
}

static inline void step(struct json *json)
{
	json->used++;
}

static int take(struct json *json)
{
	int byte = peek(json);

	if (byte >= 0)
		step(json);
	return byte;
}

static void tell_bad(const struct json *json)
{
	source_damage(json->source, json->bad_at, "use another copy of the file; what stands before that was read", json->bad_reason);
}

static enum json_word bad(struct json *json, const char *reason)
{
	int is_end = peek(json) < 0;

	json->bad_at = json->from + json->used;
	json->bad_reason = is_end ? "the file ends inside its JSON" : reason;
	if (!json->is_patient)
		tell_bad(json);
	json->is_bad = 1;
	json->depth = 0;
	return JSON_BAD;
}

/* The byte behind white space. */
static inline int skip_space(struct json *json)
{
	int byte = peek(json);

	while (byte <= ' ' && (byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r')) {
		step(json);
		byte = peek(json);
	}
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

/* Behind \u. A lone surrogate becomes U+FFFD, and so does a zero byte, behind which no name of ours goes on. */
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
	put_utf8(json, code == 0 || (code >= 0xd800 && code < 0xe000) ? 0xfffd : (uint32_t)code);
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

/* Words of 8 bytes: how many of them, from the lowest address on, are neither quote nor backslash. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
static inline unsigned plain_bytes(uint64_t word)
{
	uint64_t quote = word ^ EACH('"'), slash = word ^ EACH('\\');
	/* The high bit of a byte that is 0; above the first such byte it may also be another's. */
	uint64_t found = (((quote - EACH(1)) & ~quote) | ((slash - EACH(1)) & ~slash)) & EACH(0x80);

	return found ? (unsigned)__builtin_ctzll(found) / 8 : 8;
}

/* Where the first quote or backslash stands, or the end of the window. */
static inline size_t plain_end(const struct json *json)
{
	size_t at = json->used;
	unsigned plain = 8;

	for (uint64_t word; plain == 8 && at + 8 <= json->filled; at += plain) {
		memcpy(&word, json->bytes + at, sizeof(word));
		plain = plain_bytes(word);
	}
	while (plain == 8 && at < json->filled && json->bytes[at] != '"' && json->bytes[at] != '\\')
		at++;
	return at;
}

static void put_stretch(struct json *json, size_t end)
{
	size_t length = end - json->used, room = json->text.length < JSON_TEXT ? JSON_TEXT - json->text.length : 0;

	text_put(&json->text, json->bytes + json->used, length < room ? length : room);
	json->used = end;
}

/* What was put together is the word. */
static void set_word(struct json *json)
{
	json->word = json->text.length ? json->text.bytes : "";
	json->length = json->text.length;
}

/* A string that is not whole in the window, or has something to unescape. Returns 0, -1 where it makes no sense. */
static __attribute__((noinline)) int put_string(struct json *json)
{
	text_clear(&json->text);
	for (int byte = peek(json); byte != '"'; byte = peek(json)) {
		if (byte < 0)
			return -1;
		if (byte != '\\') {
			put_stretch(json, plain_end(json));
			continue;
		}
		step(json);
		if (take_escape(json) != 0)
			return -1;
	}
	step(json);
	set_word(json);
	return 0;
}

/* Behind the quote. Returns 0, -1 where it makes no sense. */
static inline int take_string(struct json *json)
{
	size_t end = plain_end(json);

	if (end == json->filled || json->bytes[end] != '"' || end - json->used > JSON_TEXT)
		return put_string(json);
	json->word = (const char *)json->bytes + json->used;
	json->length = end - json->used;
	json->used = end + 1;
	return 0;
}

/* What numbers and words are made of. */
enum { NUMBER = 1, LETTER = 2 };
#define N NUMBER
#define L LETTER
#define NL (NUMBER | LETTER)
static const uint8_t kinds[256] = {
	['0'] = N, N, N, N, N, N, N, N, N, N, ['+'] = N, ['-'] = N, ['.'] = N, ['A'] = L, L,	L, L, NL, L, L, L, L, L,
	L,	   L, L, L, L, L, L, L, L, L, L,	 L,	    L,	       L,	   ['a'] = L, L, L, L, NL, L, L, L, L,
	L,	   L, L, L, L, L, L, L, L, L, L,	 L,	    L,	       L,	   L,	   L,
};
#undef N
#undef L
#undef NL

static __attribute__((noinline)) void put_all(struct json *json, int kind)
{
	text_clear(&json->text);
	for (int byte = peek(json); byte >= 0 && kinds[byte] & kind; byte = peek(json)) {
		put_byte(json, byte);
		step(json);
	}
	set_word(json);
}

/* All bytes of a kind from here on. */
static inline void take_all(struct json *json, int kind)
{
	size_t end = json->used;

	while (end < json->filled && kinds[json->bytes[end]] & kind)
		end++;
	if (end == json->filled || end - json->used > JSON_TEXT) {
		put_all(json, kind);
		return;
	}
	json->word = (const char *)json->bytes + json->used;
	json->length = end - json->used;
	json->used = end;
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
		if (json_is(json, words[i].text, strlen(words[i].text)))
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
	if (byte == '}' && json->wants_value)
		return bad(json, "no value follows the key");
	step(json);
	json->depth--;
	json->is_after = 1;
	json->wants_value = 0;
	return byte == '}' ? JSON_OBJECT_END : JSON_ARRAY_END;
}

/* The word must outlive a change of the window. */
static __attribute__((noinline)) void keep_word(struct json *json)
{
	if (json->word == json->text.bytes)
		return;
	text_clear(&json->text);
	text_put(&json->text, json->word, json->length);
	set_word(json);
}

static inline enum json_word take_key(struct json *json)
{
	if (take(json) != '"' || take_string(json) != 0)
		return bad(json, "this is no key of an object");
	if (json->used == json->filled || json->bytes[json->used] != ':') {
		keep_word(json);
		if (skip_space(json) != ':')
			return bad(json, "no colon follows the key");
	}
	step(json);
	json->wants_value = 1;
	return JSON_KEY;
}

static inline enum json_word take_value(struct json *json, int byte)
{
	if (byte == '{' || byte == '[')
		return open_level(json, byte);
	json->is_after = 1;
	json->wants_value = 0;
	if (byte == '"') {
		step(json);
		return take_string(json) == 0 ? JSON_STRING : bad(json, "this string makes no sense");
	}
	if (byte != '-' && !(byte >= '0' && byte <= '9'))
		return take_word(json);
	take_all(json, NUMBER);
	if (json_is(json, "-", 1)) /* -Infinity */
		return take_word(json);
	return JSON_NUMBER;
}

/* A list that is the whole file may stay open: of Chrome's format, so that who dies while writing it leaves a trace. */
static enum json_word end_file(struct json *json)
{
	if (json->depth != 1 || json->stack[0] != '[')
		return bad(json, "");
	json->is_open = 1;
	json->depth = 0;
	json->is_after = 1;
	return JSON_ARRAY_END;
}

enum json_word json_next(struct json *json)
{
	int byte, is_object;

	if (json->is_bad || (!json->depth && json->is_after))
		return JSON_END;
	byte = skip_space(json);
	is_object = json->depth && json->stack[json->depth - 1] == '{';
	if (json->is_after && byte == ',') {
		step(json);
		byte = skip_space(json);
		json->is_after = 0;
		json->wants_value = !is_object;
	} else if (json->is_after && byte >= 0 && byte != '}' && byte != ']') {
		return bad(json, "no comma follows the value");
	}
	if (byte < 0)
		return end_file(json);
	if (byte == '}' || byte == ']') /* also behind a comma: some writers end a list with one */
		return close_level(json, byte);
	if (is_object && !json->wants_value)
		return take_key(json);
	return take_value(json, byte);
}

/* Does an object begin at the bracket at that offset whose first key is one of these? Moves the window. */
static int begins_with(struct json *json, uint64_t at, const char *const *keys, size_t count)
{
	size_t got, used = 1;
	const char *head = (const char *)source_at(json->source, at, RESUME_LOOKED, &got);

	while (used < got && strchr(" \t\r\n", head[used]) && head[used])
		used++;
	for (size_t i = 0; i < count; i++)
		if (got - used >= strlen(keys[i]) && memcmp(head + used, keys[i], strlen(keys[i])) == 0)
			return 1;
	return 0;
}

/* To the next byte behind a line's end and white space, or the end of the file. */
static int next_line(struct json *json)
{
	const uint8_t *found = NULL;

	while (!found && peek(json) >= 0) {
		found = memchr(json->bytes + json->used, '\n', json->filled - json->used);
		json->used = found ? (size_t)(found - json->bytes) : json->filled;
	}
	return skip_space(json);
}

int json_resume(struct json *json, unsigned depth, const char *const *keys, size_t count)
{
	for (int byte = next_line(json); byte >= 0; byte = next_line(json)) {
		uint64_t at = json->from + json->used;
		int is_found = byte == '{' && begins_with(json, at, keys, count);
		json->from = at; /* the window was moved */
		json->used = json->filled = 0;
		if (!is_found)
			continue;
		json->depth = depth;
		json->is_bad = json->is_after = 0;
		json->wants_value = 1;
		return 0;
	}
	tell_bad(json);
	return -1;
}

void json_end(struct json *json)
{
	if (json->is_bad || skip_space(json) < 0)
		return;
	source_damage(json->source, json->from + json->used, "if it was put together of several, name each of those",
		      "the JSON ends here, the file does not; the rest was not read");
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
	size_t at = json->length && (json->word[0] == '-' || json->word[0] == '+');

	at += at < json->length && json->word[at] == '.';
	return at < json->length && json->word[at] >= '0' && json->word[at] <= '9';
}

/* What stands behind the digits. */
static long exponent_of(const char *at, const char *end)
{
	char text[32];
	size_t length = (size_t)(end - at);

	if (!length || (*at | 32) != 'e')
		return 0;
	length = length - 1 < sizeof(text) - 1 ? length - 1 : sizeof(text) - 1;
	memcpy(text, at + 1, length);
	text[length] = 0;
	long exponent = strtol(text, NULL, 10);
	return exponent > EXPONENT_MOST ? EXPONENT_MOST : exponent < -EXPONENT_MOST ? -EXPONENT_MOST : exponent;
}

/* value * 10^scale; saturates. */
static int64_t scaled(int64_t value, long scale)
{
	for (; scale > 0 && value != 0; scale--)
		if (__builtin_mul_overflow(value, 10, &value))
			return INT64_MAX;
	for (; scale < 0 && value != 0; scale++)
		value /= 10;
	return value;
}

/* Where the exponent begins, or the end. */
static const char *digits_end(const char *at, const char *end)
{
	while (at < end && (*at == '.' || (*at >= '0' && *at <= '9')))
		at++;
	return at;
}

int64_t json_integer(const struct json *json, unsigned digits)
{
	const char *at = json->word, *all = at + json->length;
	int is_negative = at < all && *at == '-', is_behind = 0;
	int64_t value = 0;

	at += at < all && (is_negative || *at == '+');
	const char *end = digits_end(at, all);
	long scale = (long)digits + exponent_of(end, all), left = scale > 0 ? scale : 0; /* decimals that count */
	for (; at < end; at++) {
		if (*at == '.') {
			if (is_behind)
				break;
			is_behind = 1;
			continue;
		}
		if (is_behind && left == 0)
			continue;
		left -= is_behind;
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *at - '0', &value))
			return is_negative ? INT64_MIN : INT64_MAX;
	}
	value = scaled(value, scale > 0 ? left : scale);
	if (is_negative)
		return value == INT64_MAX ? INT64_MIN : -value;
	return value;
}

int64_t json_rest(const struct json *json, unsigned digits)
{
	const char *dot = memchr(json->word, '.', json->length);
	size_t length = dot ? (size_t)(json->word + json->length - dot) : 0;
	int64_t unit = 1000000, value;

	if (!dot || (length <= digits + 1 && !memchr(dot, 'e', length) && !memchr(dot, 'E', length)))
		return 0;
	for (unsigned more = 6; more; more -= 3, unit /= 1000) {
		value = json_integer(json, digits + more);
		if (value != INT64_MAX && value != INT64_MIN)
			return value % unit * (1000000 / unit);
	}
	return 0;
}
