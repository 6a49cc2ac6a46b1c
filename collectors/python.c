/* SPDX-License-Identifier: Apache-2.0 */
/* Walking CPython's frames; see collectors/python.h. */
#include "collectors/python.h"

#include "collectors/process.h"
#include "collectors/python_graves.h"
#include "collectors/python_layout.h"
#include "collectors/python_objects.h"
#include "collectors/stacks.h"
#include "writer/format.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <pthread.h>

#include "writer/poison.h"

#define NONE TFP_PYTHON_NONE
#define TRIES 64u	/* doubtful stacks in a row, before the first good one, that prove the layout wrong */
#define DOUBTS 4096u	/* doubtful stacks, more than good ones, that do so later */

_Atomic uint32_t tfp_python_when;

/* Written by tfp_python_begin; kept across fork, as the interpreter is. The counts are of all threads. */
struct tfp_python_known tfp_python_known;
static struct tfp_python_known *const known = &tfp_python_known;
static _Atomic uint32_t good, doubtful;
static _Atomic uint64_t collections_next; /* when the collector's counters are due again, */
static uint64_t collections_last;	  /* their sum when last told, */
static uint32_t collections_pid;	  /* and by which process: a fork child tells them anew */

static void say(const char *state, const char *detail)
{
	tfp_fact_framework("python", state, detail);
}

void tfp_python_begin(const struct tfp_python_symbols *symbols, uint32_t when, uint32_t frames)
{
	const char *why = NULL;
	size_t readable = 0;

	if (when == TFP_PYTHON_NEVER || !symbols->runtime)
		return;
	while (readable < 1024 && tfp_python_is_mapped((uintptr_t)symbols->runtime + readable)) /* a page, then the next */
		readable = (((uintptr_t)symbols->runtime + readable) | 4095) + 1 - (uintptr_t)symbols->runtime;
	readable = readable < 1024 ? readable : 1024;
	if (!symbols->this_thread || !symbols->first_interpreter || !symbols->next_interpreter || !symbols->is_ending ||
	    !symbols->code || !symbols->text || !symbols->bytes || !symbols->frame)
		why = "The interpreter lacks a function that reading its frames needs.";
	else if (!frames || !tfp_state->stacks)
		why = "STACKS=0: no stacks are kept, so no frames are read.";
	else
		why = tfp_python_layout(&known->layout, symbols->version, symbols->runtime, readable);
	if (why) {
		say("absent", why);
		return;
	}
	known->symbols = *symbols;
	known->frames_most = frames < TFP_PYTHON_FRAMES ? frames : TFP_PYTHON_FRAMES;
	known->sees_ends = (uint32_t)tfp_python_graves_begin(symbols->code_slots, known->layout.type);
	tfp_python_when = when;
	say("on", known->layout.version >= 0x030d ? "frames, by the interpreter's own table of offsets"
					   : "frames, by the offsets of this version's headers, proved at each frame");
}

/* Whether the interpreter was entered from C for this frame; `previous` may be 0. -1: in doubt. */
static inline int is_entry(struct tfp_python_lane *lane, uintptr_t frame, uintptr_t previous)
{
	if (known->layout.frame_owner == NONE || !previous)
		return 1;
	if (known->layout.frame_entry != NONE)
		return tfp_python_byte(frame + known->layout.frame_entry);
	return tfp_python_can_read(lane, previous, known->layout.frame_bytes) ? tfp_python_is_shim(&known->layout, previous) : -1;
}

/* The frame as a code address of the log; 0: in doubt. *previous receives its caller. */
static inline uint32_t take_frame(struct tfp_python_lane *lane, uintptr_t frame, uintptr_t *previous)
{
	uintptr_t code = tfp_python_code_of(&known->layout, frame);

	*previous = tfp_python_word(frame + known->layout.frame_previous);
	if (known->layout.frame_owner == NONE && tfp_python_word(frame + known->layout.type) != (uintptr_t)known->symbols.frame)
		return 0;
	int entry = is_entry(lane, frame, *previous);
	if (entry < 0 || entry > 1)
		return 0;
	uint32_t flags = entry ? TFP_PC_PYTHON | TFP_PC_PYTHON_ENTRY : TFP_PC_PYTHON;
	uint64_t at = tfp_python_instruction(&known->layout, frame, code);
	uint32_t again = tfp_python_again(lane, code, at, flags);
	return again ? again : tfp_python_place(lane, &known->layout, &known->symbols, code, at, flags);
}

/* The innermost frame of the thread, 0 = none. *is_good: whether that is certain. */
static uintptr_t innermost(struct tfp_python_lane *lane, int *is_good)
{
	uintptr_t thread = (uintptr_t)known->symbols.this_thread();

	*is_good = 1;
	if (!thread)
		return 0;
	*is_good = 0;
	if ((thread & 7) || !tfp_python_can_read(lane, thread, known->layout.thread_bytes) ||
	    tfp_python_word(thread + known->layout.thread_id) != (uintptr_t)pthread_self())
		return 0;
	uintptr_t frame = tfp_python_word(thread + known->layout.thread_frame);
	if (frame && known->layout.cframe_frame != NONE) {
		if ((frame & 7) || !tfp_python_can_read(lane, frame, 16))
			return 0;
		frame = tfp_python_word(frame + known->layout.cframe_frame);
	}
	*is_good = 1;
	return frame;
}

/* Fills lane->found, innermost first. Returns how many; *is_cut: there are more. -1: in doubt, -2: the tables are full. */
static int collect(struct tfp_python_lane *lane, int *is_cut)
{
	int is_good, count = 0, shims = 0;
	uintptr_t previous, frame = innermost(lane, &is_good);

	*is_cut = 0;
	lane->is_full = 0;
	lane->turn++;
	for (; frame && is_good; frame = previous) {
		is_good = !(frame & 7) && tfp_python_can_read(lane, frame, known->layout.frame_bytes);
		if (!is_good)
			break;
		if (tfp_python_is_shim(&known->layout, frame)) {
			previous = tfp_python_word(frame + known->layout.frame_previous);
			is_good = ++shims < TFP_PYTHON_SHIMS;
			continue;
		}
		if ((uint32_t)count == known->frames_most) {
			*is_cut = 1;
			break;
		}
		lane->found[count] = take_frame(lane, frame, &previous);
		is_good = lane->found[count++] != 0;
	}
	return is_good ? count : lane->is_full ? -2 : -1;
}

/* The node of lane->found; frames that the last stack had too, from the outermost on, are not looked up again. */
uint32_t tfp_python_enter(struct tfp_python_lane *lane, uint32_t count, int is_cut)
{
	uint32_t node = is_cut ? tfp_stack_cut_node(tfp_state->stacks, TFP_PC_CUT_DEPTH) : 0, same = 0;

	if (is_cut && !node)
		return 0;
	if (node == lane->last_root)
		while (same < count && same < lane->last_count && lane->last[same] == lane->found[count - 1 - same])
			same++;
	lane->last_count = 0; /* what lies behind is being changed */
	if (same)
		node = lane->nodes[same - 1];
	for (uint32_t i = same; i < count; i++) {
		lane->last[i] = lane->found[count - 1 - i];
		node = tfp_stack_node(tfp_state->stacks, node, lane->last[i]);
		if (!node)
			return 0;
		lane->nodes[i] = node;
	}
	lane->last_root = is_cut ? tfp_stack_cut_node(tfp_state->stacks, TFP_PC_CUT_DEPTH) : 0;
	lane->last_count = count;
	return node;
}

static void tell_end(void *why)
{
	say("absent", why);
}

/* A stack was in doubt. Where that is the rule the layout is another one than we think. */
static __attribute__((noinline, cold)) void doubt(struct tfp_thread *thread, struct tfp_python_lane *lane)
{
	static char wrong[] = "The interpreter's structures are not laid out as this version's are, so no frames are read.";
	static char often[] = "Too many stacks were in doubt, so no more frames are read.";
	uint32_t doubts = ++doubtful, goods = good;

	tfp_loss_add(thread, TFP_LOSS_python_frames, 1, tfp_now());
	if ((goods || doubts < TRIES) && (doubts < DOUBTS || doubts < goods))
		return;
	if (__atomic_exchange_n((uint32_t *)&tfp_python_when, TFP_PYTHON_NEVER, __ATOMIC_RELAXED) != TFP_PYTHON_NEVER)
		tfp_python_aside(lane, tell_end, goods ? often : wrong);
}

/* A struct gc_stats: three rings of items, each with the index of its newest one behind, which has that generation's counters. */
#define APART_ITEM 64u /* bytes */
#define APART_COUNTERS 16u /* bytes of an item before {collections, collected, uncollectable} */

static int read_apart(struct tfp_python_lane *lane, uintptr_t stats, uint64_t words[9])
{
	static const uint32_t items[3] = {11, 3, 3};

	if ((stats & 7) || !tfp_python_can_read(lane, stats, TFP_PYTHON_APART))
		return 0;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t newest = tfp_python_byte(stats + items[i] * APART_ITEM);
		if (newest >= items[i])
			return 0;
		for (uint32_t k = 0; k < 3; k++)
			words[3 * i + k] = tfp_python_word(stats + newest * APART_ITEM + APART_COUNTERS + 8 * k);
		stats += items[i] * APART_ITEM + 8;
	}
	return 1;
}

/* Three times {collections, collected, uncollectable}; behind them, or what points to them, the flag `collecting`. 0: in doubt. */
static int read_collections(struct tfp_python_lane *lane, uintptr_t at, uint64_t words[9])
{
	uint32_t bytes = known->layout.are_collections_apart ? 8 : TFP_PYTHON_COLLECTIONS;

	if (!tfp_python_can_read(lane, at, bytes + 8) || tfp_python_half(at + bytes) > 1)
		return 0;
	if (known->layout.are_collections_apart)
		return read_apart(lane, tfp_python_word(at), words);
	for (uint32_t i = 0; i < 9; i++)
		words[i] = tfp_python_word(at + 8 * i);
	return 1;
}

/* At most each 100 ms: what the garbage collector has done. */
static __attribute__((noinline)) void tell_collections(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now)
{
	uintptr_t base = known->layout.are_collections_global ? (uintptr_t)known->symbols.runtime
							       : (uintptr_t)known->symbols.first_interpreter();
	uint64_t words[9], sum = 0;

	collections_next = now + tfp_state->second_ticks / 10;
	if (known->layout.collections == NONE || !base || !read_collections(lane->python, base + known->layout.collections, words))
		return;
	for (uint32_t i = 0; i < 9; i++) {
		sum += words[i];
		if (words[i] >> 48)
			return;
	}
	if (collections_pid == tfp_state->pid && sum <= collections_last) /* what only grows has not shrunk */
		return;
	collections_pid = tfp_state->pid;
	collections_last = sum;
	TFP_PUT(thread, lane, now, python_collections, .young = words[0], .middle = words[3], .full = words[6],
		.collected = words[1] + words[4] + words[7], .uncollectable = words[2] + words[5] + words[8]);
}

uint32_t tfp_python_read(struct tfp_thread *thread, struct tfp_lane *lane)
{
	void *interpreter = known->symbols.first_interpreter();
	uint64_t now = tfp_now();
	int is_cut;

	/* Of several interpreters it is not known which one this thread runs. */
	if (!interpreter || known->symbols.next_interpreter(interpreter) || known->symbols.is_ending() || !tfp_state->stacks)
		return 0;
	if (__builtin_expect(!lane->python, 0)) {
		lane->python = tfp_pages_get(sizeof *lane->python, 1);
		if (!lane->python) {
			tfp_loss_add(thread, TFP_LOSS_memory, 1, now);
			return 0;
		}
		lane->python->sees_ends = known->sees_ends;
	}
	int count = collect(lane->python, &is_cut);
	uint32_t stack = count > 0 ? tfp_python_enter(lane->python, (uint32_t)count, is_cut) : 0;
	if (__builtin_expect(count == -1, 0))
		doubt(thread, lane->python);
	else if (count == -2 || (count > 0 && !stack))
		tfp_loss_add(thread, TFP_LOSS_python_table, 1, now);
	if (!stack)
		return 0;
	if (__builtin_expect(!good, 0) || good < TRIES)
		good++;
	if (__builtin_expect(now >= collections_next || collections_pid != tfp_state->pid, 0))
		tell_collections(thread, lane, now);
	return stack;
}
