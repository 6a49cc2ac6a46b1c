/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's objects read from the side; see collectors/python_objects.h. */
#include "collectors/python_objects.h"

#include "collectors/stacks_memory.h"
#include "collectors/unwind.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define INSTRUCTIONS_MOST (1u << 28) /* bytes of one function's code */
#define TABLE_MOST (1u << 20)	     /* bytes of a line table that are read; a longer one's line is not known */
#define TEXT_MOST (1u << 20)	     /* characters of a name, of which TFP_PYTHON_TEXT bytes are kept */
#define KEY_MOST 4096u		     /* bytes of a line table, and of a name, that are compared */

#define MIX_PLACE UINT64_C(0xd6e8feb86659fd93) /* odd and without a pattern, as is */
#define MIX_ODD UINT64_C(0xa0761d6478bd642f)

typedef uint64_t __attribute__((may_alias, aligned(1))) loose_word;

int tfp_python_is_mapped(uintptr_t address)
{
	return tfp_stack_memory_can_read(address);
}

int tfp_python_learn_page(struct tfp_python_lane *lane, uintptr_t page)
{
	if (!page || page >> 36 || !tfp_python_is_mapped(page << 12)) /* beyond 48 bits is no address of a program */
		return 0;
	lane->pages[page % TFP_PYTHON_PAGES] = page;
	return 1;
}

/* Where `bytes` from `address` on can be read: there, or a copy. 0: nowhere. Longer than a page: all pages between. */
static inline __attribute__((always_inline)) uintptr_t reach(struct tfp_python_lane *lane, uintptr_t address, size_t bytes)
{
	if (lane->copies)
		return tfp_python_copy_object(lane->copies, address, bytes);
	for (uintptr_t at = address; at < address + bytes; at = (at | 4095) + 1)
		if (!tfp_python_can_read(lane, at, 1))
			return 0;
	return address;
}

/* Where the first bytes of an object of this type can be read. 0: it is none. */
static inline uintptr_t see(struct tfp_python_lane *lane, const struct tfp_python_layout *layout, uintptr_t object,
			    const void *type, size_t bytes)
{
	uintptr_t at = object & 7 ? 0 : object;

	if (at && lane->copies)
		at = tfp_python_copy_object(lane->copies, object, bytes);
	else if (at && !tfp_python_can_read(lane, object, bytes))
		at = 0;
	return at && tfp_python_word(at + layout->type) == (uintptr_t)type ? at : 0;
}

/*
 * A key of contents: products of pairs of words, as in UMAC's NH, with the place mixed in. Two cycles for 16 bytes; texts that
 * differ have the same key with a chance of 2^-64 or so.
 */
static uint64_t key_of(uintptr_t bytes, size_t count)
{
	const loose_word *word = (const loose_word *)bytes;
	uint64_t key = count * UINT64_C(0x9e3779b97f4a7c15), rest[2] = {0, 0};
	size_t pairs = count / 16;

	for (size_t i = 0; i < pairs; i++, word += 2)
		key += (word[0] + MIX_PLACE * (2 * i + 1)) * (word[1] ^ MIX_ODD);
	if (count >= 16) { /* the end once more, with what is already in */
		word = (const loose_word *)(bytes + count - 16);
		rest[0] = word[0];
		rest[1] = word[1];
	} else if (count >= 8) {
		rest[0] = *(const loose_word *)bytes;
		rest[1] = *(const loose_word *)(bytes + count - 8);
	} else {
		for (size_t i = 0; i < count; i++)
			rest[0] = rest[0] << 8 | tfp_python_byte(bytes + i);
	}
	key += (rest[0] + MIX_PLACE * (2 * pairs + 1)) * (rest[1] ^ MIX_ODD);
	return key ^ key >> 32;
}

/* A str's characters. */
struct text {
	uintptr_t data;
	size_t characters;
	unsigned bytes; /* of one */
};

/* The bit field of a str: interned (2 bits, wider in some builds), then kind:3, compact:1, ascii:1. `seen`: where it was seen. */
static inline __attribute__((always_inline)) int read_text(struct tfp_python_lane *lane, const struct tfp_python_layout *layout,
							   uintptr_t object, uintptr_t seen, struct text *text)
{
	static const uint8_t starts[] = {2, 8, 16};
	uint32_t state = tfp_python_half(seen + layout->text_state);

	for (size_t i = 0; i < sizeof starts; i++) {
		uint32_t kind = state >> starts[i] & 7, flags = state >> (starts[i] + 3);
		if ((state & ((1u << starts[i]) - 1)) > 3 || !(flags & 1) || (kind != 1 && kind != 2 && kind != 4) ||
		    ((flags & 2) && kind != 1))
			continue;
		text->bytes = kind;
		text->characters = tfp_python_word(seen + layout->text_length);
		if (text->characters > TEXT_MOST)
			return 0;
		if (text->characters > TFP_PYTHON_TEXT)
			text->characters = TFP_PYTHON_TEXT;
		text->data = reach(lane, object + (flags & 2 ? layout->text_ascii : layout->text_compact),
				   text->characters * text->bytes);
		return text->data != 0;
	}
	return 0;
}

/* The key of a str: its own hash and length; where it has no hash yet that of its text. 0: it is none. */
static inline uint64_t text_key(struct tfp_python_lane *lane, const struct tfp_python_layout *layout, uintptr_t object,
				uintptr_t seen)
{
	uint64_t hash = tfp_python_word(seen + layout->text_hash), length = tfp_python_word(seen + layout->text_length);
	struct text text;

	if (hash != UINT64_MAX)
		return hash + length * 2 + 1;
	if (!read_text(lane, layout, object, seen, &text))
		return 0;
	hash = key_of(text.data, text.characters * text.bytes);
	return hash ? hash : 1;
}

/* What must be the same for a place to be still true, in lane->look. Returns 0 where it is no code object. */
static inline int look(struct tfp_python_lane *lane, const struct tfp_python_layout *layout,
		       const struct tfp_python_symbols *symbols, uintptr_t code)
{
	struct tfp_python_look *place = &lane->look;
	struct tfp_python_seen *seen = &lane->seen;
	uintptr_t at = see(lane, layout, code, symbols->code, layout->code_bytes);

	if (!at)
		return 0;
	place->name = tfp_python_word(at + layout->code_name);
	place->file = tfp_python_word(at + layout->code_file);
	place->lines = tfp_python_word(at + layout->code_lines);
	place->first = tfp_python_half(at + layout->code_line);
	seen->name = see(lane, layout, place->name, symbols->text, layout->text_bytes);
	seen->file = see(lane, layout, place->file, symbols->text, layout->text_bytes);
	seen->lines = see(lane, layout, place->lines, symbols->bytes, layout->lines_bytes);
	if (!seen->name || !seen->file || !seen->lines)
		return 0;
	place->name_key = text_key(lane, layout, place->name, seen->name);
	place->file_key = text_key(lane, layout, place->file, seen->file);
	uint64_t bytes = tfp_python_word(seen->lines + layout->bytes_length);
	size_t compared = bytes < KEY_MOST ? bytes : KEY_MOST;
	uintptr_t table = bytes >> 40 ? 0 : reach(lane, place->lines + layout->bytes_data, compared);
	if (!place->name_key || !place->file_key || !table)
		return 0;
	place->lines_key = key_of(table, compared) ^ bytes;
	return 1;
}

/* Copies names, finds the line: place->pc, which stays 0 in doubt, or where the tables are full. */
static void learn(struct tfp_python_lane *lane, const struct tfp_python_layout *layout, struct tfp_python_place *place)
{
	const struct tfp_python_look *now = &lane->look;
	const struct tfp_python_seen *seen = &lane->seen;
	uint64_t bytes = tfp_python_word(seen->lines + layout->bytes_length);
	struct text function, file;
	uint32_t line = 0;

	if (!read_text(lane, layout, now->name, seen->name, &function) ||
	    !read_text(lane, layout, now->file, seen->file, &file) || place->at > INSTRUCTIONS_MOST || now->first > INT32_MAX)
		return;
	size_t function_bytes = tfp_python_utf8((const void *)function.data, function.characters, function.bytes, lane->function,
						TFP_PYTHON_TEXT);
	size_t file_bytes = tfp_python_utf8((const void *)file.data, file.characters, file.bytes, lane->file, TFP_PYTHON_TEXT);
	if (bytes <= TABLE_MOST) {
		uintptr_t table = reach(lane, now->lines + layout->bytes_data, bytes);
		if (!table)
			return;
		line = tfp_python_line(layout->lines, (const uint8_t *)table, bytes, now->first, (uint32_t)place->at);
	}
	uint32_t code = tfp_python_code(lane->function, function_bytes, lane->file, file_bytes, now->first);
	place->pc = code ? tfp_python_pc(code, line, place->flags) : 0;
	lane->is_full = !place->pc;
}

static void learn_looked(void *argument)
{
	struct tfp_python_lane *lane = argument;

	learn(lane, lane->layout, &lane->looked);
}

void tfp_python_aside(struct tfp_python_lane *lane, void (*function)(void *argument), void *argument)
{
	tfp_signals_block(&lane->signals);
	tfp_unwind_on_stack(lane->stack + TFP_PYTHON_STACK / 8, function, argument);
	tfp_signals_restore(&lane->signals);
}

static inline int is_same(const struct tfp_python_look *known, const struct tfp_python_look *now)
{
	return known->first == now->first && known->name == now->name && known->file == now->file && known->lines == now->lines &&
	       known->name_key == now->name_key && known->file_key == now->file_key && known->lines_key == now->lines_key;
}

/* A handler that leaves by longjmp leaves a place that is empty, never a torn one. */
static void keep(struct tfp_python_place *place, struct tfp_python_look *look, const struct tfp_python_place *from,
		 const struct tfp_python_look *from_look)
{
	place->pc = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*look = *from_look;
	place->code = from->code;
	place->at = from->at;
	place->flags = from->flags;
	place->proof = from->proof;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	place->pc = from->pc;
}

uint32_t tfp_python_place(struct tfp_python_lane *lane, const struct tfp_python_layout *layout,
			  const struct tfp_python_symbols *symbols, uintptr_t code, uint64_t at, uint32_t flags)
{
	struct tfp_python_place *set = tfp_python_set(lane, code, at), *now = &lane->looked;
	struct tfp_python_look *looks = lane->looks[(set - lane->places[0]) / 2];

	now->code = code;
	now->at = at;
	now->flags = flags;
	now->proof = tfp_python_proof(lane, code); /* the frame holds it: it cannot end meanwhile */
	if (lane->copies)
		tfp_python_copies_drop(lane->copies);
	if (!look(lane, layout, symbols, code))
		return 0;
	for (int i = 0; i < 2; i++) {
		if (!set[i].pc || set[i].code != code || set[i].at != at || set[i].flags != flags || !is_same(&looks[i], &lane->look))
			continue;
		set[i].proof = now->proof;
		return set[i].pc;
	}
	now->pc = 0;
	lane->layout = layout;
	tfp_python_aside(lane, learn_looked, lane);
	if (lane->copies && now->proof != tfp_python_proof(lane, code)) /* one of these addresses ended meanwhile, perhaps this one */
		return 0;
	keep(&set[1], &looks[1], &set[0], &looks[0]);
	keep(&set[0], &looks[0], now, &lane->look);
	return now->pc;
}
