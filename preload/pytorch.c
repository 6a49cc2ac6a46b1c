/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's functions as its libraries call them; see collectors/tables/pytorch.def.
 *
 * Rule: each calls the real one, with what it was given, and returns what that returned; the real one is found through the
 * object that called us, because Python loads PyTorch outside of the global scope. Nothing of ours is held over a call that
 * may throw.
 */
#include "collectors/pytorch.h"

#include "collectors/heap.h"
#include "preload/caller.h"
#include "preload/cuda_real.h"
#include "preload/objects.h"
#include "preload/real.h"
#include "preload/settings.h"
#include "preload/slots.h"
#include "writer/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#pragma weak on_exit /* guard.h says why */

#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) \
	static struct tfp_cuda_slot slot_##name; \
	typedef type real_##name parameters; \
	TFP_EXPORT type name parameters;
#include "collectors/tables/pytorch.def"
#undef TFP_HOOK

#define WAIT_NS 100000		     /* while another thread attaches; */
#define WAIT_MOST UINT64_C(50000000) /* ns from the first wait on: later ones do not wait */
#define TRIES 64u /* calls of memoryProfilingEnabled at which libtorch_cpu is looked for; libc10 comes just before it */

/* As the caller means it; it lies in a library that is loaded for itself alone. */
#define REAL(name) TFP_REAL(name) /* a name may be a macro: here it is read */

/* Not only steps and ranges of the host's own. */
static inline int wants_ops(void)
{
	return tfp_settings.ops > TFP_OPS_STEPS;
}

static void *symbol(void *object, const char *name)
{
	return tfp_object_symbol(object, name);
}

/* "libtorch_cpu.so" with what stands behind ".so" in the name of a library of the same build: pip has nothing, Debian .1.13 */
static void *find_torch(const char *sibling)
{
	char name[64] = "libtorch_cpu.so";
	size_t length = sizeof "libtorch_cpu.so" - 1, at = 0, from = 0;

	for (; sibling && sibling[at]; at++)
		if (tfp_same(sibling + at, ".so", 3))
			from = at + 3;
	for (; from && sibling[from] && length + 1 < sizeof name; from++)
		name[length++] = sibling[from];
	return tfp_object_find(name);
}

/* Which mutexes libtorch_cpu takes while one call lasts. Used by the one thread that attaches. */
static struct {
	int (*lock)(void *mutex); /* the real one, also for whoever is still on the way through us */
	const void *in;           /* a function of libtorch_cpu */
	_Atomic uintptr_t thread; /* whose; 0 = nobody's */
	void *mutex;
	int has_others;
} watched;

static int watching_lock(void *mutex)
{
	if (watched.thread == (uintptr_t)pthread_self()) {
		watched.has_others |= watched.mutex && watched.mutex != mutex;
		watched.mutex = mutex;
	}
	return watched.lock(mutex);
}

static void *mutex_of(void (*call)(void))
{
	const char *path = tfp_object_of(watched.in), *base = tfp_base_name(path ? path : "");
	struct tfp_slots_object object;

	int is_turned = watched.lock && tfp_slots_find(&object, (const char *const[]){base, NULL}) &&
			tfp_slots_turn(&object, "pthread_mutex_lock", (const void *)watching_lock);
	watched.mutex = NULL;
	watched.has_others = 0;
	watched.thread = (uintptr_t)pthread_self();
	call();
	watched.thread = 0;
	if (is_turned)
		tfp_slots_turn(&object, "pthread_mutex_lock", *(void **)(void *)&watched.lock);
	return watched.has_others ? NULL : watched.mutex;
}

/* on_exit: PyTorch's destructors, registered before this one, have not run. */
static void before_pytorch_ends(int status, void *unused)
{
	(void)status;
	(void)unused;
	tfp_pytorch_ending();
}

/* What the loader binds an object's call to: the program's or a preloaded library's function, where they have one of that name. */
static void *bound(void *object, const char *name)
{
	void *first = symbol(RTLD_DEFAULT, name);

	return first ? first : symbol(object, name);
}

static void attach(void *torch)
{
	struct tfp_pytorch_api api = {0};

	*(void **)(void *)&api.add_callback = symbol(torch, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
	*(void **)(void *)&api.disable = symbol(torch, "_ZN2at15disableCallbackEm");
	*(void **)(void *)&api.enable = symbol(torch, "_ZN2at16reenableCallbackEm");
	*(void **)(void *)&api.name = symbol(torch, "_ZNK2at14RecordFunction4nameEv");
	*(void **)(void *)&api.input_count = symbol(torch, "_ZNK2at14RecordFunction10num_inputsEv");
	*(void **)(void *)&api.thread_id = symbol(torch, "_ZN2at14RecordFunction15currentThreadIdEv");
	*(void **)(void *)&api.construct = symbol(torch, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE");
	*(void **)(void *)&api.destroy = symbol(torch, "_ZN2at14RecordFunctionD1Ev");
	*(void **)(void *)&api.set_async = symbol(torch, "_ZN2at14RecordFunction9_setAsyncEv");
	*(void **)(void *)&api.is_defined = symbol(torch, "aoti_torch_is_defined");
	*(void **)(void *)&api.dimensions = symbol(torch, "aoti_torch_get_dim");
	*(void **)(void *)&api.sizes = symbol(torch, "aoti_torch_get_sizes");
	*(void **)(void *)&api.type = symbol(torch, "aoti_torch_get_dtype");
	*(void **)(void *)&api.layout = symbol(torch, "aoti_torch_get_layout");
	*(void **)(void *)&api.device = symbol(torch, "aoti_torch_get_device_type");
	*(void **)(void *)&api.meta = symbol(torch, "aoti_torch_device_type_meta");
	*(void **)(void *)&api.is_int_list = symbol(torch, "_ZNK3c106IValue9isIntListEv");
	*(void **)(void *)&api.is_bool_list = symbol(torch, "_ZNK3c106IValue10isBoolListEv");
	*(void **)(void *)&api.make_list =
		symbol(torch, "_ZN3c106detail8ListImplC1ESt6vectorINS_6IValueESaIS3_EENS_4Type24SingletonOrSharedTypePtrIS6_EE");
	const char *plain = symbol(torch, "_ZTVN3c1010TensorImplE");
	api.plain = plain ? plain + 2 * sizeof(void *) : NULL; /* behind the offset and the type of a virtual table */
	*(void **)(void *)&api.modes = symbol(torch, "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv");
	*(void **)(void *)&api.try_mutex = bound(torch, "pthread_mutex_trylock");
	*(void **)(void *)&api.leave_mutex = bound(torch, "pthread_mutex_unlock");
	*(void **)(void *)&watched.lock = bound(torch, "pthread_mutex_lock");
	*(void **)(void *)&watched.in = *(void **)(void *)&api.add_callback;
	api.mutex_of = mutex_of;
	if (!api.add_callback || !api.name) {
		tfp_pytorch_absent("PyTorch was loaded, but exports no at::addGlobalCallback: its ops are not recorded.");
		return;
	}
	tfp_pytorch_attach(&api, wants_ops(), tfp_settings.ops == TFP_OPS_SHAPES);
	if (&on_exit)
		on_exit(before_pytorch_ends, NULL); /* behind the making of its list, whose destructor comes later then */
}

static _Atomic uintptr_t meeting; /* the thread that attaches, or looks whether it can: what that allocates comes here again; 0 = none */

/*
 * Another thread attaches, which takes some milliseconds: what this one computes meanwhile nobody would see. It is not waited for for ever:
 * its processor may be another's.
 */
static void await_meeting(uintptr_t self)
{
	static _Atomic uint64_t until;
	static const struct timespec pause = {0, WAIT_NS};
	uintptr_t who = meeting;
	uint64_t now, none = 0;

	if (!who || who == self || tfp_sys_is_sealed())
		return;
	now = tfp_clock_monotonic_ns();
	__atomic_compare_exchange_n((uint64_t *)&until, &none, now + WAIT_MOST, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	while (meeting && now < until) {
		tfp_sys(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
		now = tfp_clock_monotonic_ns();
	}
}

/* PyTorch has called: on the first occasions libtorch_cpu, which holds the ops, may not be there yet. */
static __attribute__((noinline)) void meet(const void *caller)
{
	static _Atomic uint32_t tries;
	int error = errno;
	struct tfp_thread *thread = tfp_thread_have();
	uintptr_t self = (uintptr_t)pthread_self(), nobody = 0;

	if (thread && __atomic_compare_exchange_n((uintptr_t *)&meeting, &nobody, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		void *torch = find_torch(tfp_object_of(caller));
		if (!torch)
			torch = tfp_object_search("libtorch_cpu.so");
		if (torch)
			attach(torch);
		else if (__atomic_add_fetch((uint32_t *)&tries, 1, __ATOMIC_RELAXED) == TRIES)
			tfp_pytorch_absent("libc10 was loaded, but no libtorch_cpu beside it: PyTorch's ops are not recorded.");
		__atomic_store_n((uintptr_t *)&meeting, 0, __ATOMIC_RELEASE);
	} else if (thread) {
		await_meeting(self);
	}
	errno = error;
}

static inline int is_wanted(void)
{
	return tfp_settings.ops != TFP_OPS_OFF;
}

#define MEET() \
	do { \
		if (TFP_UNLIKELY(!tfp_pytorch_is_settled() && is_wanted())) \
			meet(__builtin_return_address(0)); \
	} while (0)

char _ZN3c1022memoryProfilingEnabledEv(void)
{
	char (*next)(void) = REAL(_ZN3c1022memoryProfilingEnabledEv);

	MEET();
	return next ? next() : 0;
}

void *_ZN3c109alloc_cpuEm(size_t bytes)
{
	void *(*next)(size_t) = REAL(_ZN3c109alloc_cpuEm);
	void *block = next ? next(bytes) : NULL;

	MEET();
	if (block && wants_ops())
		tfp_pytorch_allocated(block, bytes);
	return block;
}

void _ZN3c108free_cpuEPv(void *block)
{
	void (*next)(void *) = REAL(_ZN3c108free_cpuEPv);

	if (block && wants_ops())
		tfp_pytorch_freed(block);
	if (next)
		next(block);
}

#define REPORT(name, total_type) \
	void name(void *block, int64_t bytes, total_type total, total_type reserved, uint16_t device) \
	{ \
		void (*next)(void *, int64_t, total_type, total_type, uint16_t) = REAL(name); \
\
		MEET(); \
		if (wants_ops()) \
			tfp_pytorch_report(block, bytes, (uint64_t)total, (uint64_t)reserved, device, TFP_CALLER); \
		if (next) \
			next(block, bytes, total, reserved, device); \
	}
REPORT(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE, uint64_t)
REPORT(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE, int64_t)

#define REFUSE(name, total_type) \
	void name(int64_t bytes, total_type total, total_type reserved, uint16_t device) \
	{ \
		void (*next)(int64_t, total_type, total_type, uint16_t) = REAL(name); \
\
		if (is_wanted()) \
			tfp_pytorch_refused(bytes, (uint64_t)total, (uint64_t)reserved, device); \
		if (next) \
			next(bytes, total, reserved, device); \
	}
REFUSE(_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE, uint64_t)
REFUSE(_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE, int64_t)
