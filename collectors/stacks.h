/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact native call stacks at the price of re-reading them: a cache of per-PC unwind rules, verified prefix first.
 *
 * Rule: a stack is either the true one, or ends early with a marker that says why. Nothing here takes a lock of the
 * host, calls dl_iterate_phdr, allocates from the host, or reads memory outside the current stack.
 * It is not a symboliser (that is the reducer) and knows nothing of what the stack is recorded for.
 */
#ifndef TFP_COLLECTORS_STACKS_H
#define TFP_COLLECTORS_STACKS_H

#include <stddef.h>
#include <stdint.h>

struct tfp_stacks;      /* process wide: rules, node index, module table; in memory that a fork child finds empty */
struct tfp_stack_cache; /* of one thread and one lane: the last verified stacks */

/*
 * Makes the process-wide part. `frames` is the setting STACKS. NULL when there is no memory. Once per process image; a
 * fork child, which finds it empty, makes it again (the same pages). glibc older than 2.35: every stack is one frame.
 */
struct tfp_stacks *tfp_stacks_make(uint32_t frames);

/*
 * Makes the cache of one thread and lane: 290 KiB, of which a thread with one stack of 30 frames touches 50. NULL when
 * there is no memory.
 */
struct tfp_stack_cache *tfp_stack_cache_make(struct tfp_stacks *stacks);
void tfp_stack_cache_drop(struct tfp_stack_cache *cache);

/*
 * The id (node) of the stack that begins with the frame whose code address is `pc` (a return address), whose stack
 * pointer is `sp` and frame pointer register `fp` at that address. 0 when none could be had (counted by the caller).
 * *cut receives the TFP_PC_CUT_* marker that ended it early, or 0 where it reached the outermost frame.
 * Any thread, any stack, inside signal handlers; a cache is used by one invocation at a time. At most 1 KiB of stack.
 */
uint32_t tfp_stack_capture(struct tfp_stacks *stacks, struct tfp_stack_cache *cache, uintptr_t pc, uintptr_t sp,
			   uintptr_t fp, uint32_t *cut);

/*
 * Stacks of other things than native code (collectors/python.c) share the tree: the node of code address `pc` (an index of
 * the log's pcs) called from `parent`; the root of stacks that are cut for the reason TFP_PC_CUT_*. 0 = no room. Any thread.
 */
uint32_t tfp_stack_node(struct tfp_stacks *stacks, uint32_t parent, uint32_t pc);
uint32_t tfp_stack_cut_node(struct tfp_stacks *stacks, uint32_t flag);

/*
 * Put these around the real dlclose. In between nothing is taken from the caches, and afterwards what was compiled before
 * is compared with what is mapped. Any thread; the calls nest.
 */
void tfp_stacks_unload_begin(struct tfp_stacks *stacks);
void tfp_stacks_unload_end(struct tfp_stacks *stacks);

/*
 * Around walks of other threads' stacks (collectors/native_walk.h), whose code nothing else holds: a dlclose waits meanwhile. libc closes
 * objects by itself, too (iconv_close), so that they are read through `memory`, a descriptor of /proc/self/mem, all the same (-1: there is
 * no walk). begin: a number that changes with the objects; 0: one is being unmapped, nothing may be walked. One thread at a time.
 */
uint32_t tfp_stacks_outside_begin(struct tfp_stacks *stacks, long memory);
void tfp_stacks_outside_end(struct tfp_stacks *stacks);

#endif
