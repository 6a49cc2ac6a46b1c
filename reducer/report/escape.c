/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile bytes made harmless.
 *
 * Rule: decoding is strict (shortest form, no surrogates): what a lenient reader might see differently is escaped.
 */
#include "reducer/report/escape.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

/* Decodes one character. Returns its bytes, or 0 when *bytes is not valid UTF-8. */
static size_t decode(const unsigned char *bytes, size_t length, uint32_t *character)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t count = bytes[0] < 0x80 ? 1 : bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : bytes[0] >= 0xc0 ? 2 : 0;

	if (!count || count > length || bytes[0] >= 0xf8)
		return 0;
	*character = count == 1 ? bytes[0] : bytes[0] & (0x7fu >> count);
	for (size_t i = 1; i < count; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | (bytes[i] & 0x3f);
	}
	if (*character < smallest[count] || *character > 0x10ffff || (*character >= 0xd800 && *character < 0xe000))
		return 0;
	return count;
}

/*
 * Control characters, line separators, and what changes the direction or hides: C0, C1, zero width, bidi, tags. What XML refuses: U+FFFE
 * and U+FFFF.
 */
static bool is_dangerous(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0x61c || (c >= 0xfff9 && c <= 0xfffb) || c == 0xfffe || c == 0xffff ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

static void put_visible(struct text *out, uint32_t c)
{
	if (c == '\n')
		text_string(out, "\\n");
	else if (c == '\t')
		text_string(out, "\\t");
	else if (c == '\r')
		text_string(out, "\\r");
	else
		text_format(out, c < 0x80 ? "\\x%02x" : "\\u%04x", c);
}

/* Printable ASCII at the start of `bytes`, which is nearly everything. */
static size_t plain_run(const char *bytes, size_t length)
{
	size_t i = 0;

	while (i < length && bytes[i] >= 0x20 && bytes[i] < 0x7f)
		i++;
	return i;
}

void escape_visible(struct text *out, const char *bytes, size_t length)
{
	size_t i = plain_run(bytes, length);

	text_put(out, bytes, i);
	while (i < length) {
		uint32_t c;
		size_t count = decode((const unsigned char *)bytes + i, length - i, &c);
		if (!count)
			text_format(out, "\\x%02x", (unsigned char)bytes[i]);
		else if (is_dangerous(c))
			put_visible(out, c);
		else
			text_put(out, bytes + i, count);
		i += count ? count : 1;
	}
}

/* What of it stands in a json string as it is. */
static size_t json_run(const char *bytes, size_t length)
{
	size_t i = 0;

	while (i < length && bytes[i] >= 0x20 && bytes[i] < 0x7f && bytes[i] != '"' && bytes[i] != '\\')
		i++;
	return i;
}

void escape_json(struct text *out, const char *bytes, size_t length)
{
	size_t i = 0;

	text_char(out, '"');
	while (i < length) {
		uint32_t c;
		size_t run = json_run(bytes + i, length - i), count;
		text_put(out, bytes + i, run);
		i += run;
		if (i == length)
			break;
		count = decode((const unsigned char *)bytes + i, length - i, &c);
		if (!count)
			text_string(out, "\\ufffd");
		else if (c == '"' || c == '\\')
			text_format(out, "\\%c", (char)c);
		else if (c == '\n')
			text_string(out, "\\n");
		else if (is_dangerous(c) && c < 0x10000)
			text_format(out, "\\u%04x", c);
		else
			text_put(out, bytes + i, count);
		i += count ? count : 1;
	}
	text_char(out, '"');
}

/* A locale that knows the widths of characters, whatever the user's is; made once, kept. */
static locale_t width_locale(void)
{
	static locale_t locale;
	static bool is_tried;

	if (!is_tried)
		locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	is_tried = true;
	return locale;
}

static size_t character_width(uint32_t c)
{
	int width;
	locale_t before;

	if (c < 0x80 || !width_locale())
		return 1;
	before = uselocale(width_locale());
	width = wcwidth((wchar_t)c);
	uselocale(before);
	return width < 0 ? 1 : (size_t)width;
}

void escape_script(struct text *out, const char *bytes, size_t length, size_t most)
{
	struct text visible = {0}, quoted = {0};

	if (length <= most && json_run(bytes, length) == length && !memchr(bytes, '<', length)) { /* nearly all are */
		text_char(out, '"');
		text_put(out, bytes, length);
		text_char(out, '"');
		return;
	}
	escape_visible(&visible, bytes, length < most ? length : most);
	if (length > most)
		text_format(&visible, "... (%zu bytes)", length);
	escape_json(&quoted, visible.length ? visible.bytes : "", visible.length);
	for (size_t i = 0; i < quoted.length; i++) {
		if (quoted.bytes[i] == '<')
			text_string(out, "\\u003c");
		else
			text_char(out, quoted.bytes[i]);
	}
	text_free(&visible);
	text_free(&quoted);
}

size_t escape_width(const char *text, size_t length)
{
	size_t width = 0, i = 0;

	while (i < length) {
		uint32_t c = '?';
		size_t count = decode((const unsigned char *)text + i, length - i, &c);
		width += character_width(c);
		i += count ? count : 1;
	}
	return width;
}

void escape_cut(struct text *text, size_t width)
{
	size_t used = 0, keep = 0, i = 0;

	while (i < text->length) {
		uint32_t c = '?';
		size_t count = decode((const unsigned char *)text->bytes + i, text->length - i, &c);
		used += character_width(c);
		i += count ? count : 1;
		if (used + 2 <= width)
			keep = i;
		if (used > width)
			break;
	}
	if (used <= width)
		return;
	text->length = keep;
	text_fill(text, '.', width < 2 ? width : 2);
}

void escape_cut_path(struct text *text, size_t width)
{
	size_t used = escape_width(text->bytes, text->length), i = 0;

	if (used <= width || width <= 2 || text->bytes[0] != '/' || memchr(text->bytes, ' ', text->length)) {
		escape_cut(text, width);
		return;
	}
	while (used + 2 > width) {
		uint32_t c = '?';
		size_t count = decode((const unsigned char *)text->bytes + i, text->length - i, &c);
		used -= character_width(c);
		i += count ? count : 1;
	}
	memmove(text->bytes + 2, text->bytes + i, text->length - i); /* at least two columns, so two bytes, are gone */
	memcpy(text->bytes, "..", 2);
	text->length -= i - 2;
	text->bytes[text->length] = 0;
}
