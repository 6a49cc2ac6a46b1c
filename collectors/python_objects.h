/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading CPython's objects from the side: pages proved readable, or copied (lane->copies); objects proved by their type, lines
 * kept by their code. Shared by collectors/python.c, python_time.c and python_objects.c alone.
 *
 * Rule: what was kept of a code object counts only while its name, file, first line and line table are the same by their
 * contents: another one may lie at the same address by now.
 */
#ifndef TFP_COLLECTORS_PYTHON_OBJECTS_H
#define TFP_COLLECTORS_PYTHON_OBJECTS_H

#include "collectors/python.h"
#include "collectors/python_copies.h"
#include "collectors/python_graves.h"
#include "collectors/python_layout.h"
#include "collectors/python_names.h"
#include "writer/signals.h"

#define TFP_PYTHON_FRAMES 256	   /* of one stack: the largest setting STACKS */
#define TFP_PYTHON_PAGES 4096	   /* pages known to be readable; 32 KiB, touched as used */
#define TFP_PYTHON_SETS 2048	   /* of two instructions each whose line is known; 368 KiB, touched as used */

#define TFP_PYTHON_STACK 8192 /* bytes; 1 KiB is used */

/* An instruction of a code object, and its code address of the log. */
struct tfp_python_place {
	uintptr_t code;
	uint64_t at, proof; /* what tfp_python_proof said when it was proved last */
	uint32_t flags, pc; /* pc 0: empty */
};

/* What it was when its line was looked up. */
struct tfp_python_look {
	uint64_t name_key, file_key, lines_key;
	uintptr_t name, file, lines;
	uint32_t first;
};

/* Where the first bytes of its objects can be read. */
struct tfp_python_seen {
	uintptr_t name, file, lines;
};

/* Of one lane; a fork child finds it empty. */
struct tfp_python_lane {
	uint64_t pages[TFP_PYTHON_PAGES]; /* page number, 0 = none */
	uint64_t turn;			  /* the number of the stack being read */
	struct tfp_python_copies *copies; /* NULL: frames are the own thread's, and read where they lie */
	uint32_t sees_ends;		  /* the ends of code objects are counted */
	uint32_t is_full;		  /* the last place found no room in the tables */
	uint32_t last_count, last_root;
	uint32_t found[TFP_PYTHON_FRAMES];	/* the stack being read, innermost first */
	uint32_t last[TFP_PYTHON_FRAMES];	/* the one before, outermost first, */
	uint32_t nodes[TFP_PYTHON_FRAMES];	/* and the nodes that end there */
	struct tfp_python_place looked;		/* the one being looked at, */
	struct tfp_python_look look;
	struct tfp_python_seen seen;
	const struct tfp_python_layout *layout; /* and how */
	struct tfp_signals signals;		/* while our own stack is used */
	_Alignas(64) struct tfp_python_place places[TFP_PYTHON_SETS][2]; /* the newer one first: one line of the cache */
	struct tfp_python_look looks[TFP_PYTHON_SETS][2];
	char function[TFP_PYTHON_TEXT], file[TFP_PYTHON_TEXT];
	_Alignas(16) uint64_t stack[TFP_PYTHON_STACK / 8]; /* for what a new place needs: the host's may be too small */
};

static inline uint64_t tfp_python_word(uintptr_t address)
{
	return *(const volatile uint64_t *)address;
}

static inline uint32_t tfp_python_half(uintptr_t address)
{
	return *(const volatile uint32_t *)address;
}

static inline uint8_t tfp_python_byte(uintptr_t address)
{
	return *(const volatile uint8_t *)address;
}

/* Whether the kernel can read there. A system call; changes nothing. */
int tfp_python_is_mapped(uintptr_t address);

/* Asks for a page that the lane does not know yet. */
int tfp_python_learn_page(struct tfp_python_lane *lane, uintptr_t page);

/* Whether `bytes` (at most a page) from there can be read. */
static inline int tfp_python_can_read(struct tfp_python_lane *lane, uintptr_t address, size_t bytes)
{
	uintptr_t first = address >> 12, last = (address + bytes - 1) >> 12; /* the smallest page of any machine */

	if (__builtin_expect(lane->pages[first % TFP_PYTHON_PAGES] != first, 0) && !tfp_python_learn_page(lane, first))
		return 0;
	return first == last || lane->pages[last % TFP_PYTHON_PAGES] == last || tfp_python_learn_page(lane, last);
}

/* Calls the function on the lane's own stack, with signals blocked: the host's may be too small, and so is ours for handlers. */
void tfp_python_aside(struct tfp_python_lane *lane, void (*function)(void *argument), void *argument);

/* Where an instruction's line is kept: one of two. */
static inline struct tfp_python_place *tfp_python_set(struct tfp_python_lane *lane, uintptr_t code, uint64_t at)
{
	uint64_t mixed = (code >> 4 ^ at << 20 ^ at >> 1) * UINT64_C(0x9e3779b97f4a7c15);

	return lane->places[(mixed >> 32) % TFP_PYTHON_SETS];
}

/*
 * While this is the same a code object is the one that it was: nothing died at its address. Where ends are not counted, while
 * the same stack is read.
 */
static inline uint64_t tfp_python_proof(const struct tfp_python_lane *lane, uintptr_t code)
{
	return lane->sees_ends ? tfp_python_grave(code) : lane->turn;
}

/* tfp_python_place, where the same instruction of the same object was proved before. 0: it was not. */
static inline uint32_t tfp_python_again(struct tfp_python_lane *lane, uintptr_t code, uint64_t at, uint32_t flags)
{
	const struct tfp_python_place *known = tfp_python_set(lane, code, at);
	uint64_t proof = tfp_python_proof(lane, code);

	for (int i = 0; i < 2; i++, known++)
		if (known->code == code && known->at == at && known->flags == flags && known->proof == proof)
			return known->pc;
	return 0;
}

/* The frames of nobody that stand between entries of the interpreter; 3.12 on. `frame`: where it, or its copy, is read. */
static inline int tfp_python_is_shim(const struct tfp_python_layout *layout, uintptr_t frame)
{
	return layout->frame_owner != TFP_PYTHON_NONE && tfp_python_byte(frame + layout->frame_owner) >= layout->shim_owner;
}

/*
 * A generator's frame, whose way to its caller is cut while it does not run: from 3.11 on by its owner, FRAME_OWNED_BY_GENERATOR, before by
 * the word f_gen, which stands in front of f_lasti.
 */
static inline int tfp_python_is_generator(const struct tfp_python_layout *layout, uintptr_t frame)
{
	return layout->frame_owner == TFP_PYTHON_NONE ? tfp_python_word(frame + layout->frame_instruction - 8) != 0
						      : tfp_python_byte(frame + layout->frame_owner) == 1;
}

/* The frame's code object. */
static inline uintptr_t tfp_python_code_of(const struct tfp_python_layout *layout, uintptr_t frame)
{
	return tfp_python_word(frame + layout->frame_code) & ~(uintptr_t)7; /* 3.14: tagged in the low bits */
}

/* The byte offset of the frame's instruction in its code; where it has not begun that of the first one. */
static inline uint64_t tfp_python_instruction(const struct tfp_python_layout *layout, uintptr_t frame, uintptr_t code)
{
	if (layout->instruction_bytes) {
		int32_t number = (int32_t)tfp_python_half(frame + layout->frame_instruction);
		return number > 0 ? (uint64_t)number * layout->instruction_bytes : 0;
	}
	uint64_t bytes = tfp_python_word(frame + layout->frame_instruction) - (code + layout->code_instructions);
	return bytes == (uint64_t)-2 ? 0 : bytes; /* one before the first; a wrong one is too large to be believed */
}

/* What tfp_python_begin found out. */
struct tfp_python_known {
	struct tfp_python_symbols symbols;
	struct tfp_python_layout layout;
	uint32_t frames_most, sees_ends;
};
extern struct tfp_python_known tfp_python_known TFP_HIDDEN;

#define TFP_PYTHON_SHIMS 4096 /* frames of nobody met on the way at most: each entry of the interpreter has one */

/* The node of `count` frames in lane->found; is_cut: there are more. 0: the tables are full. */
uint32_t tfp_python_enter(struct tfp_python_lane *lane, uint32_t count, int is_cut);

/* The log's code address of an instruction, `at` bytes into what should be a code object. 0: in doubt, or lane->is_full. */
uint32_t tfp_python_place(struct tfp_python_lane *lane, const struct tfp_python_layout *layout,
			  const struct tfp_python_symbols *symbols, uintptr_t code, uint64_t at, uint32_t flags);

#endif
