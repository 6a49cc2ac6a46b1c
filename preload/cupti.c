/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making room for another profiler of the host that wants CUPTI; see collectors/tables/cupti.def.
 *
 * Rule: its calls give what they would give without us. Who looks CUPTI up by dlsym (TensorFlow, JAX) comes by the signposts
 * that are set once CUPTI is open; who did that before passes us by: then the first one stays.
 */
#include "preload/cupti.h"

#include "collectors/cupti.h"
#include "preload/cuda_real.h"
#include "preload/real.h"
#include "preload/signposts.h"

#include <errno.h>

#include "writer/poison.h"

#define NO_CUPTI 15 /* CUPTI_ERROR_NOT_INITIALIZED: there is none behind us */

#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) \
	static struct tfp_cuda_slot slot_##name; \
	static void *signed_##name; /* what the signpost hides; written once, before anybody can come by it */ \
	typedef type real_##name parameters; \
	TFP_EXPORT type name parameters;
#include "collectors/tables/cupti.def"
#undef TFP_HOOK

/* As the caller would find it; what it finds may be our own signpost. */
static void *behind(struct tfp_cuda_slot *slot, const char *name, uintptr_t caller, const void *ours, void *hidden)
{
	void *found = tfp_cuda_real(slot, name, caller);

	return !found || found == ours ? hidden : found;
}

#define REAL(name) \
	((real_##name *)behind(&slot_##name, #name, (uintptr_t)__builtin_return_address(0), (const void *)&name, signed_##name))

void tfp_cupti_sign(const void *inside)
{
#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) \
	if (!signed_##name) \
		signed_##name = tfp_signpost_turn(inside, #name, (const void *)&name);
#include "collectors/tables/cupti.def"
#undef TFP_HOOK
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
