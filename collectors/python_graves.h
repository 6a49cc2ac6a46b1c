/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of CPython's code objects have died.
 *
 * Where a code object lies another one may lie later, so what is known of an address must be read anew each time; unless it
 * is known that nothing died there meanwhile. The type's own slot for the end of its objects leads through us, and counts.
 * Rule: an end is counted before the object's memory is given back. Whoever has a frame of a code object was handed it under
 * Python's lock, behind the end of what lay there before, and so sees that count; without that lock, behind what handed that memory
 * from the one thread to the other.
 */
#ifndef TFP_COLLECTORS_PYTHON_GRAVES_H
#define TFP_COLLECTORS_PYTHON_GRAVES_H

#include <stddef.h>
#include <stdint.h>

#define TFP_PYTHON_GRAVES 512u /* counters: two addresses that share one cost a look each time the other's object dies */
#define TFP_PYTHON_TYPE_SLOT 40u /* bytes from where a type names its own type to its tp_dealloc: 3.8 to 3.15 */
#define TFP_PYTHON_HEAD_MOST 24u /* from an object's start to its type: 8, without the global lock 24 */

/* Ends so far, by address. */
extern _Atomic uint64_t tfp_python_graves[TFP_PYTHON_GRAVES] __attribute__((visibility("hidden")));

static inline uint32_t tfp_python_grave_of(uintptr_t code)
{
	return (uint32_t)((code >> 4 ^ code >> 13) % TFP_PYTHON_GRAVES);
}

static inline uint64_t tfp_python_grave(uintptr_t code)
{
	const _Atomic uint64_t *grave = &tfp_python_graves[tfp_python_grave_of(code)];

	return __atomic_load_n((const uint64_t *)grave, __ATOMIC_RELAXED);
}

/*
 * Counts from now on; once per program, from the library's constructor. `type` is PyCode_Type, whose slot may be written, which
 * the caller knows; `head`: the bytes from an object's start to its type. 0: it is no such type, nothing was changed and nothing is
 * counted.
 */
int tfp_python_graves_begin(void *type, uint32_t head);

#endif
