/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nvcc's start-up code and launch stubs call: fat binaries, functions and variables registered by host address, the
 * configuration of a launch.
 *
 * Rule: registration initialises nothing; a fat binary becomes a library of the driver when its first kernel is needed.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

#define TABLE 65536	/* host addresses, open addressing; no program registers a tenth of that many kernels */

struct binary {
	void *image;
	void *library;		/* CUlibrary, made at first need; under the lock */
	int error;
	struct variable *managed;
};
struct kernel {
	const void *host;
	const char *name;
	struct binary *binary;
	_Atomic(void *) function;
};
struct variable {
	const void *shadow;
	const char *name;
	size_t bytes;
	struct binary *binary;
	uint64_t address;
	void **pointer;		/* managed variables: where the program looks for the address */
	struct variable *next;
};

static _Atomic(struct kernel *) kernels[TABLE];
static struct variable *variables;	/* under the lock */
static __thread struct {
	struct sim_dim3 grid, block;
	size_t shared;
	void *stream;
} configurations[16];
static __thread int configuration_count;

static size_t slot_of(const void *host)
{
	return (size_t)((uintptr_t)host * 0x9e3779b97f4a7c15u >> 48) % TABLE;
}

static struct kernel *find(const void *host)
{
	struct kernel *kernel;

	for (size_t at = slot_of(host); (kernel = atomic_load_explicit(&kernels[at], memory_order_acquire)); at = (at + 1) % TABLE)
		if (kernel->host == host)
			return kernel;
	return NULL;
}

static void *library_of(struct binary *binary)
{
	void *library = NULL;
	int error;

	if (binary->library || binary->error)
		return binary->library;
	error = sim_cu.cuLibraryLoadData(&library, binary->image, NULL, NULL, 0, NULL, NULL, 0);
	sim_lock();
	if (!binary->library)
		binary->library = library;
	binary->error = error;
	sim_unlock();
	return binary->library;
}

int sim_runtime_kernel(const void *handle, void **function)
{
	struct kernel *kernel = find(handle);
	void *library, *found = NULL;

	if (!handle)
		return SIM_INVALID_FUNCTION;
	if (!kernel) {
		*function = (void *)(uintptr_t)handle;
		return sim_function_is_live(handle) ? SIM_OK : SIM_INVALID_FUNCTION;
	}
	*function = atomic_load(&kernel->function);
	if (*function)
		return SIM_OK;
	library = library_of(kernel->binary);
	if (!library)
		return kernel->binary->error;
	if (sim_cu.cuLibraryGetKernel(&found, library, kernel->name))
		return SIM_INVALID_FUNCTION;
	atomic_store(&kernel->function, found);
	*function = found;
	return SIM_OK;
}

const char *sim_runtime_kernel_name(const void *handle)
{
	struct kernel *kernel = find(handle);

	if (kernel)
		return kernel->name;
	return handle && sim_function_is_live(handle) ? ((const struct sim_function *)handle)->name : NULL;
}

int sim_runtime_symbol(const void *shadow, uint64_t *address, size_t *bytes)
{
	struct variable *variable;
	void *library;
	size_t size;

	sim_lock();
	for (variable = variables; variable && variable->shadow != shadow; variable = variable->next)
		;
	sim_unlock();
	if (!variable)
		return 13; /* cudaErrorInvalidSymbol */
	if (!variable->address) {
		library = library_of(variable->binary);
		if (!library || sim_cu.cuLibraryGetGlobal(&variable->address, &size, library, variable->name))
			sim_cu.cuMemAlloc_v2(&variable->address, variable->bytes);
	}
	*address = variable->address;
	*bytes = variable->bytes;
	return variable->address ? SIM_OK : SIM_OUT_OF_MEMORY;
}

SIM_EXPORT void **__cudaRegisterFatBinary(void *image);
void **__cudaRegisterFatBinary(void *image)
{
	struct binary *binary = sim_allocate(sizeof *binary);

	binary->image = image;
	return (void **)binary;
}

SIM_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

SIM_EXPORT void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle)
{
	struct binary *binary = (struct binary *)handle;

	if (binary && binary->library && sim_is_initialized() && !sim_is_finished())
		sim_cu.cuLibraryUnload(binary->library);
}

SIM_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid,
		void *bid,
				       void *block, void *grid, int *size);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid,
		void *block,
			    void *grid, int *size)
{
	struct kernel *kernel = sim_allocate(sizeof *kernel);
	struct kernel *none = NULL;
	size_t at = slot_of(host);

	(void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)size;
	kernel->host = host;
	kernel->name = name;
	kernel->binary = (struct binary *)handle;
	while (!atomic_compare_exchange_strong(&kernels[at], &none, kernel)) {
		none = NULL;
		at = (at + 1) % TABLE;
	}
}

static struct variable *add_variable(void **handle, const void *shadow, const char *name, size_t bytes)
{
	struct variable *variable = sim_allocate(sizeof *variable);

	*variable = (struct variable){.shadow = shadow, .name = name, .bytes = bytes, .binary = (struct binary *)handle};
	sim_lock();
	variable->next = variables;
	variables = variable;
	sim_unlock();
	return variable;
}

SIM_EXPORT void __cudaRegisterVar(void **handle, char *shadow, char *device, const char *name, int ext, size_t bytes,
		int constant, int global);
void __cudaRegisterVar(void **handle, char *shadow, char *device, const char *name, int ext, size_t bytes, int constant, int global)
{
	(void)device, (void)ext, (void)constant, (void)global;
	add_variable(handle, shadow, name, bytes);
}

SIM_EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *address, size_t bytes);
void __cudaRegisterHostVar(void **handle, const char *name, char *address, size_t bytes)
{
	(void)handle, (void)name, (void)address, (void)bytes;
}

SIM_EXPORT void __cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name, int ext,
		size_t bytes, int constant,
					 int global);
void __cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name, int ext, size_t bytes, int constant,
			      int global)
{
	(void)device, (void)ext, (void)constant, (void)global;
	add_variable(handle, pointer, name, bytes)->pointer = pointer;
}

/* Managed variables get their memory; needs a context, so it comes by a call that makes one. */
SIM_EXPORT char __cudaInitModule(void **handle);
char __cudaInitModule(void **handle)
{
	struct sim_context *context;
	uint64_t address;

	for (struct variable *variable = variables; variable; variable = variable->next) {
		if (!variable->pointer || variable->address || (void **)variable->binary != handle)
			continue;
		if (do_cudaDriverGetVersion(&(int){0}) || !sim_is_initialized() || sim_runtime_context(sim_runtime_device(),
			&context))
			return 0;
		sim_cu.cuCtxSetCurrent(context);
		if (sim_cu.cuMemAllocManaged(&address, variable->bytes, 1))
			return 0;
		variable->address = address;
		*variable->pointer = (void *)(uintptr_t)address;
	}
	return 1;
}

SIM_EXPORT int __cudaGetKernel(void **kernel, const void *host);
int __cudaGetKernel(void **kernel, const void *host)
{
	if (!find(host))
		return SIM_INVALID_FUNCTION;
	*kernel = (void *)(uintptr_t)host;
	return SIM_OK;
}

SIM_EXPORT unsigned __cudaPushCallConfiguration(struct sim_dim3 grid, struct sim_dim3 block, size_t shared, void *stream);
unsigned __cudaPushCallConfiguration(struct sim_dim3 grid, struct sim_dim3 block, size_t shared, void *stream)
{
	int at = configuration_count++ & 15;

	configurations[at].grid = grid;
	configurations[at].block = block;
	configurations[at].shared = shared;
	configurations[at].stream = stream;
	return 0;
}

SIM_EXPORT int __cudaPopCallConfiguration(struct sim_dim3 *grid, struct sim_dim3 *block, size_t *shared, void *stream);
int __cudaPopCallConfiguration(struct sim_dim3 *grid, struct sim_dim3 *block, size_t *shared, void *stream)
{
	int at;

	if (!configuration_count)
		return SIM_UNKNOWN;
	at = --configuration_count & 15;
	*grid = configurations[at].grid;
	*block = configurations[at].block;
	*shared = configurations[at].shared;
	*(void **)stream = configurations[at].stream;
	return SIM_OK;
}
