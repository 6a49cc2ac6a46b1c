/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real functions behind the GPU hooks, and behind those of PyTorch and TensorFlow.
 *
 * Two runtimes may share a process (two releases, each behind the libraries that were built for it), and either may come
 * after us or never. So the answer depends on who asks: what follows us in the global search order, then the object that the caller's
 * code lies in and those it needs, by the version that it was linked with: as the loader would have found it without us. Where
 * the call returns to somebody who does not call the function by name, the object and what it needs come first; and what neither has is
 * looked for in all that is loaded. There a release may be taken for another, where several are: then nothing says whose call it was.
 *
 * Where one object alone has the function, or one alone the version that the caller was linked with, that is it: a constructor may hold the
 * loader's lock and wait for this call, which without us would be bound without it. Where several could be meant, and before glibc 2.35,
 * the loader is asked, and the call waits.
 *
 * Rule: found once for each function and calling object, kept until a dlclose changes what is mapped; never RTLD_DEFAULT,
 * nothing is loaded, the host's dlerror says what it would (collectors/loader.h).
 */
#ifndef TFP_PRELOAD_CUDA_REAL_H
#define TFP_PRELOAD_CUDA_REAL_H

#include <stddef.h>
#include <stdint.h>

/* One a function: what was found first, and the code that may use it. Filled once; `size` last. */
struct tfp_cuda_known;
struct tfp_cuda_slot {
	uintptr_t from, size; /* the calling object's code; size 0 = not filled, or no longer true */
	void *real;
	struct tfp_cuda_known *_Atomic others; /* what further objects mean by it */
};

/* The general road: looks among the callers known, then asks the loader. NULL: there is no function `name`. Keeps errno. */
void *tfp_cuda_find(struct tfp_cuda_slot *slot, const char *name, uintptr_t caller);

/* The function `name`, which the slot is for, as code at `caller` means it. */
static inline void *tfp_cuda_real(struct tfp_cuda_slot *slot, const char *name, uintptr_t caller)
{
	uintptr_t size = __atomic_load_n(&slot->size, __ATOMIC_ACQUIRE); /* pairs with tfp_cuda_find */

	if (__builtin_expect(caller - slot->from < size, 1))
		return slot->real;
	return tfp_cuda_find(slot, name, caller);
}

/* A further function of the object that `real` lies in, or of those it needs; NULL = none. Slow; the caller keeps it. */
void *tfp_cuda_sibling(const void *real, const char *name);

/* A function of the driver, if the process has one mapped, however it came. Found once, asked again after a dlclose took it. */
void *tfp_cuda_driver(struct tfp_cuda_slot *slot, const char *name);

/* Around a question of our own to CUDA: CUPTI's callbacks tell of that, too, and the host has not called it. Keeps errno. */
int tfp_cuda_asking(void);
void tfp_cuda_asked(int error);

/* After a dlclose: what was found in objects that are gone is forgotten. */
void tfp_cuda_unloaded(void);

/* Within the hook of that name alone, whose slot_... and real_... (its type) are there: the function that its caller means; NULL = none. */
#define TFP_CUDA_REAL(name) tfp_cuda_real(&slot_##name, #name, (uintptr_t)__builtin_return_address(0))
#define TFP_REAL(name) ((real_##name *)TFP_CUDA_REAL(name))

#endif
