/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making room for another profiler of the host that wants CUPTI; see collectors/tables/cupti.def.
 *
 * Rule: its calls give what they would give without us. Who looks CUPTI up by dlsym (TensorFlow, JAX, Triton) comes by the signposts
 * that are set when it does; who did that before we were there passes us by: then the first one stays.
 */
#include "preload/cupti.h"

#include "collectors/cupti.h"
#include "preload/cuda_real.h"
#include "preload/objects.h"
#include "preload/real.h"
#include "preload/signposts.h"

#include <errno.h>

#include "writer/poison.h"

#define NO_CUPTI 15 /* CUPTI_ERROR_NOT_INITIALIZED: there is none behind us */
#define COPIES 3 /* of libcupti in one process: CUDA's, the program's own, and one more */

/* By which set of ours the thread has come; 0 = by name. Set and taken within one call. */
static __thread unsigned came_by;

/* One function's: what each set of ours leads to in its copy. Written before the signpost is set, which leads here. */
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) \
	static struct tfp_cuda_slot slot_##name; \
	static void *behind_##name[COPIES]; \
	typedef type real_##name parameters; \
	TFP_EXPORT type name parameters;
#include "collectors/tables/cupti.def"
#undef TFP_HOOK

#define SET(copy, type, name, parameters, arguments) \
	static type name##_##copy parameters \
	{ \
		came_by = (copy) + 1; \
		return name arguments; \
	}
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) \
	SET(0, type, name, parameters, arguments) \
	SET(1, type, name, parameters, arguments) \
	SET(2, type, name, parameters, arguments) \
	static void *const ours_##name[COPIES] = {(void *)&name##_0, (void *)&name##_1, (void *)&name##_2};
#include "collectors/tables/cupti.def"
#undef TFP_HOOK

static void *pass(void *found, void *const *ours, void *const *behind)
{
	for (size_t i = 0; i < COPIES; i++)
		if (found == ours[i])
			return behind[i];
	return found;
}

/* As the caller would find it. Who comes by a set has found it; what one who comes by name finds may be a set of ours. */
static void *find(struct tfp_cuda_slot *slot, const char *name, uintptr_t caller, void *const *ours, void *const *behind)
{
	unsigned set = came_by;

	came_by = 0;
	return set ? behind[set - 1] : pass(tfp_cuda_real(slot, name, caller), ours, behind);
}

#define REAL(name) \
	((real_##name *)find(&slot_##name, #name, (uintptr_t)__builtin_return_address(0), ours_##name, behind_##name))

void *tfp_cupti_unsigned(void *function)
{
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) function = pass(function, ours_##name, behind_##name);
#include "collectors/tables/cupti.def"
#undef TFP_HOOK
	return function;
}

/* Kept across fork. Written by who holds `is_signing`. */
static _Atomic int is_watching, is_signing;
static uintptr_t biases[COPIES]; /* of the copies that are signed; 0 = free */
static unsigned long long changes; /* of the list of objects, when it was looked through, */
static struct tfp_object copies[COPIES]; /* and what was found in it */
static int copy_count;

static int is_there(uintptr_t bias)
{
	for (int i = 0; i < copy_count; i++)
		if (copies[i].bias == bias)
			return 1;
	return 0;
}

/* The set of ours for a copy that is there: the one it has, or one whose copy is gone; there are as many sets as copies. */
static size_t set_of(uintptr_t bias)
{
	size_t set = 0;

	while (set < COPIES && biases[set] != bias)
		set++;
	if (set < COPIES)
		return set;
	for (set = 0; is_there(biases[set]);)
		set++;
	return set;
}

/* Leads the functions of subscribing of a copy through us. */
static void sign(const struct tfp_object *copy, size_t set)
{
	biases[set] = copy->bias;
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) \
	tfp_signpost_turn(copy->section, #name, ours_##name[set], &behind_##name[set]);
#include "collectors/tables/cupti.def"
#undef TFP_HOOK
}

/* Loaded objects do not overlap: an address lies in the last one that begins before it. NULL: in none of these. */
static const struct tfp_object *copy_with(uintptr_t address)
{
	const struct tfp_object *found = NULL;

	for (int i = 0; i < copy_count; i++)
		if (copies[i].bias <= address && (!found || copies[i].bias > found->bias))
			found = &copies[i];
	return found;
}

/* Who was made for an older release reads what a newer one writes: records grow at their ends. */
static int is_served_by(const struct tfp_object *copy, uint32_t version)
{
	uint32_t theirs = UINT32_MAX;
	int (*get_version)(uint32_t *);

	*(void **)(void *)&get_version = tfp_object_exports(copy, "cuptiGetVersion");
	return get_version && tfp_object_is_relocated((const void *)(uintptr_t)get_version) && get_version(&theirs) == 0 &&
	       theirs <= version;
}

/*
 * One copy serves a process, for good: who subscribes to another one after it is refused, also when nobody uses it any more and it was
 * taken down (seen of 12.8 and 13.0). So where ours was first, what is looked up in another copy leads to ours.
 */
static void forward(const struct tfp_object *copy, size_t set, const struct tfp_object *used, size_t from, const char *sought)
{
	void *function = sought ? tfp_object_exports(used, sought) : NULL, *before;

#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) behind_##name[set] = behind_##name[from];
#include "collectors/tables/cupti.def"
#undef TFP_HOOK
	if (function && tfp_cupti_unsigned(function) == function)
		tfp_signpost_turn(copy->section, sought, function, &before);
}

static void sign_all(const char *sought)
{
	uint32_t version = 0;
	int count = tfp_object_exporting("cuptiSubscribe", copies, COPIES, &changes);

	copy_count = count < 0 ? copy_count : count;
	for (int i = 0; i < count; i++)
		sign(&copies[i], set_of(copies[i].bias));
	uintptr_t function = (uintptr_t)tfp_cupti_used(&version);
	const struct tfp_object *used = function ? copy_with(function) : NULL;
	for (int i = 0; used && i < copy_count; i++)
		if (&copies[i] != used && is_served_by(&copies[i], version))
			forward(&copies[i], set_of(copies[i].bias), used, set_of(used->bias), sought);
}

void tfp_cupti_watch(void)
{
	is_watching = 1;
}

void tfp_cupti_sign(const char *sought)
{
	int error = errno;

	if (!is_watching || __atomic_exchange_n((int *)&is_signing, 1, __ATOMIC_ACQUIRE))
		return;
	sign_all(sought);
	__atomic_store_n((int *)&is_signing, 0, __ATOMIC_RELEASE);
	errno = error;
}

void tfp_cupti_opened(void)
{
	tfp_cupti_sign(NULL);
}

#define SUBSCRIBE(name, ...) \
	do { \
		real_##name *real = REAL(name); \
		if (!real) \
			return NO_CUPTI; \
		int error = errno; \
		tfp_cupti_yield(); \
		errno = error; \
		int result = real(__VA_ARGS__); \
		error = errno; \
		tfp_cupti_yielded(result == 0); \
		errno = error; \
		return result; \
	} while (0)

int cuptiSubscribe(void **subscriber, void *callback, void *user)
{
	SUBSCRIBE(cuptiSubscribe, subscriber, callback, user);
}

int cuptiSubscribe_v2(void **subscriber, void *callback, void *user, void *parameters)
{
	SUBSCRIBE(cuptiSubscribe_v2, subscriber, callback, user, parameters);
}

/* `before` and `after` (where it succeeded, with `result`) are of collectors/cupti.h; the caller's errno is what the real one left. */
#define BESIDE(name, before, after, ...) \
	do { \
		real_##name *real = REAL(name); \
		if (!real) \
			return NO_CUPTI; \
		int error = errno; \
		before; \
		errno = error; \
		int result = real(__VA_ARGS__); \
		error = errno; \
		if (result == 0) \
			after; \
		errno = error; \
		return result; \
	} while (0)

int cuptiUnsubscribe(void *subscriber)
{
	BESIDE(cuptiUnsubscribe, (void)0, tfp_cupti_unsubscribed(), subscriber);
}

/* What we had there meanwhile would be gone without our knowing. Where it fails, as before CUDA begins, all is as it was. */
int cuptiFinalize(void)
{
	real_cuptiFinalize *real = REAL(cuptiFinalize);

	if (!real)
		return NO_CUPTI;
	int error = errno;
	int is_subscribed = tfp_cupti_is_subscribed();
	tfp_cupti_yield();
	if (!is_subscribed) /* we may have been back already: from here on it holds CUPTI again */
		tfp_cupti_yielded(1);
	errno = error;
	int result = real();
	error = errno;
	if (result == 0)
		tfp_cupti_returned();
	else
		tfp_cupti_yielded(0);
	errno = error;
	return result;
}

int cuptiActivityRegisterCallbacks(void *request, void *complete)
{
	BESIDE(cuptiActivityRegisterCallbacks, tfp_cupti_yield_buffers(), (void)0, request, complete);
}

int cuptiActivityRegisterTimestampCallback(void *clock)
{
	BESIDE(cuptiActivityRegisterTimestampCallback, tfp_cupti_yield_buffers(), tfp_cupti_clocked(clock), clock);
}

int cuptiActivityEnable(uint32_t kind)
{
	BESIDE(cuptiActivityEnable, tfp_cupti_yield_buffers(), tfp_cupti_asked(kind, 1), kind);
}

int cuptiActivityDisable(uint32_t kind)
{
	BESIDE(cuptiActivityDisable, (void)0, tfp_cupti_asked(kind, 0), kind);
}

int cuptiActivityFlushAll(uint32_t flag)
{
	BESIDE(cuptiActivityFlushAll, (void)0, tfp_cupti_flushed(), flag);
}
