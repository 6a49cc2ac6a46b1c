/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of other threads, from copies; see collectors/native_walk.h. */
#include "collectors/native_walk.h"

#include "collectors/native_frame.h"
#include "collectors/stacks_state.h"
#include "writer/format.h"
#include "writer/sys.h"

#include <stdatomic.h>

#include "writer/poison.h"

/* The registers of the frame that the walk has come to. */
struct walker {
	struct tfp_stacks *stacks;
	struct tfp_native_walk *walk;
	const struct tfp_native_copy *copy; /* NULL: it is read where it lies, */
	struct tfp_far *far;
	struct tfp_native_registers at;
	uint64_t key;
	uint32_t cut;
};

static int read_word(const struct walker *walker, uintptr_t address, uintptr_t *word)
{
	const struct tfp_native_copy *copy = walker->copy;

	if (!copy)
		return !(address & 7) && tfp_far_read(walker->far, word, address, sizeof(*word));
	uintptr_t from = address - copy->start;
	if ((from & 7) || copy->bytes < 8 || from > copy->bytes - 8)
		return 0;
	*word = (uintptr_t)tfp_stack_word((uintptr_t)copy->data + ((copy->offset + from) & copy->mask));
	return 1;
}

/* The canonical frame address; 0: a register is not known, or the copy does not reach there. */
static uintptr_t frame_address(struct walker *walker, const struct tfp_rule *rule)
{
	uintptr_t cfa = (rule->is_cfa_fp ? walker->at.fp : walker->at.sp) + (uintptr_t)(intptr_t)rule->cfa;

	walker->cut = TFP_PC_CUT_UNKNOWN;
	if (rule->is_cfa_fp && !walker->at.has_fp)
		return 0;
	walker->cut = TFP_PC_CUT_MEMORY;
	if (rule->is_indirect && !read_word(walker, cfa, &cfa))
		return 0;
	return rule->is_indirect ? cfa + (uintptr_t)(intptr_t)rule->cfa_after : cfa;
}

/* Where a rule says that something lies; 0: it counts from a register that is not known. */
static uintptr_t place_of(const struct walker *walker, unsigned base, int words, uintptr_t cfa)
{
	if (base == TFP_BASE_FP && !walker->at.has_fp)
		return 0;
	uintptr_t from = base == TFP_BASE_CFA ? cfa : base == TFP_BASE_SP ? walker->at.sp : walker->at.fp;
	return from + 8 * (uintptr_t)(intptr_t)words;
}

static int find_return(struct walker *walker, const struct tfp_rule *rule, uintptr_t cfa, uintptr_t *address)
{
	walker->cut = TFP_PC_CUT_UNKNOWN;
	if (rule->ra_base == TFP_BASE_KEPT) {
		*address = walker->at.link;
		return walker->at.has_link;
	}
	uintptr_t place = place_of(walker, rule->ra_base, rule->ra_words, cfa);
	if (!place)
		return 0;
	walker->cut = TFP_PC_CUT_MEMORY;
	return read_word(walker, place, address);
}

/*
 * The frame pointer of a frame that counts from it and whose callees did not save it. Checked: what lies by it as the return address
 * follows a call.
 */
static void find_frame_pointer(struct walker *walker, const struct tfp_rule *rule)
{
	struct tfp_far *far = walker->far;
	uintptr_t end, function = tfp_stacks_function(walker->stacks, walker->key, &end), address;
	uintptr_t place = (uintptr_t)(walker->key & ~TFP_SITE_EXACT) - function;
	uint8_t *code = walker->walk->code;

	if (!function || rule->is_indirect || rule->ra_base != TFP_BASE_CFA || end - function > TFP_NATIVE_CODE ||
	    !tfp_far_read(far, code, function, end - function))
		return;
	int64_t bytes = tfp_native_frame_bytes(code, end - function, place);
	uintptr_t fp = walker->at.sp + (uintptr_t)bytes, cfa = fp + (uintptr_t)(intptr_t)rule->cfa;
	if (bytes < 0 || !read_word(walker, cfa + 8 * (uintptr_t)(intptr_t)rule->ra_words, &address))
		return;
	if (!tfp_modules_is_mapped(address - TFP_CALL_BYTES) || !tfp_modules_is_mapped(address) ||
	    !tfp_far_read(far, code, address - TFP_CALL_BYTES, TFP_CALL_BYTES) || !tfp_native_is_behind_call(code + TFP_CALL_BYTES))
		return;
	walker->at.fp = fp;
	walker->at.has_fp = 1;
}

/* Moves on to the caller. 0 at the end of the stack, with walker->cut set where that is not its true one. */
static int step(struct walker *walker, const struct tfp_rule *rule)
{
	struct tfp_native_registers *at = &walker->at;
	uintptr_t cfa, address, place;

	if (rule->is_cfa_fp && !at->has_fp)
		find_frame_pointer(walker, rule);
	cfa = frame_address(walker, rule);
	/* Only a signal's return leads to another stack, and only a leaf on aarch64 has no frame. */
	if (!cfa || (!rule->is_signal && (cfa < at->sp || (cfa == at->sp && rule->ra_base != TFP_BASE_KEPT))) ||
	    !find_return(walker, rule, cfa, &address))
		return 0;
	at->has_link = 0;
	if (rule->fp_base != TFP_BASE_KEPT) {
		place = place_of(walker, rule->fp_base, rule->fp_words, cfa);
		at->has_fp = place && read_word(walker, place, &at->fp);
		/* Of use on aarch64, where x30 follows x29 in the saved registers. */
		at->has_link = rule->is_signal && place && read_word(walker, place + 8, &at->link);
	}
	walker->cut = 0;
	walker->key = tfp_plain_address(address);
	at->sp = cfa;
	if (!walker->key) /* the first function of a thread or coroutine */
		return 0;
	if (rule->is_signal)
		walker->key |= TFP_SITE_EXACT;
	return 1;
}

/* Fills pcs, innermost first. How many. */
static uint32_t collect(struct tfp_stacks *stacks, struct walker *walker, uint32_t *pcs, uint32_t epoch)
{
	struct tfp_site site;

	for (uint32_t count = 0;; count++) {
		if (count == TFP_NATIVE_FRAMES) {
			walker->cut = TFP_PC_CUT_DEPTH;
			return count;
		}
		/* Code of no object may be unmapped at any time: it is not looked into for another thread's sake. */
		if (!tfp_modules_is_mapped((uintptr_t)(walker->key & ~TFP_SITE_EXACT))) {
			walker->cut = TFP_PC_CUT_UNKNOWN;
			return count;
		}
		if (!tfp_stacks_site_outside(stacks, walker->key, epoch, &site)) {
			walker->cut = stacks->far.is_failed ? TFP_PC_CUT_MEMORY : TFP_PC_CUT_FULL;
			return count;
		}
		pcs[count] = site.pc;
		if (site.rule.kind != TFP_RULE_STEP)
			walker->cut = site.rule.kind == TFP_RULE_END ? 0 : TFP_PC_CUT_UNKNOWN;
		if (site.rule.kind != TFP_RULE_STEP || !step(walker, &site.rule))
			return count + 1;
	}
}

uint32_t tfp_native_walk(struct tfp_stacks *stacks, struct tfp_native_walk *walk, const struct tfp_native_registers *registers,
			 const struct tfp_native_copy *copy)
{
	struct walker walker = {.stacks = stacks,
				.walk = walk,
				.copy = copy,
				.far = &stacks->far,
				.at = *registers,
				.key = registers->pc | TFP_SITE_EXACT};
	uint32_t count = collect(stacks, &walker, walk->pcs, atomic_load(&stacks->epoch)), node = 0;

	if (walker.cut) {
		node = tfp_stacks_marker(stacks, walker.cut);
		if (!node)
			return 0;
	}
	while (count) {
		node = tfp_nodes_get(&stacks->nodes, node, walk->pcs[--count]);
		if (!node)
			return 0;
	}
	return node;
}
