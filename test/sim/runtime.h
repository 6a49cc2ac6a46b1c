/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime front, libcudart.so.N: prototypes of all bodies from runtime_api.def, and the driver's functions, which it finds
 * with dlopen and dlsym as the real one does, so that no symbol of the program's gets between.
 *
 * Rule: what happens, happens in the driver: a body makes driver calls, which the subscriber sees nested in its own.
 */
#ifndef TFPROF_TEST_SIM_RUNTIME_H
#define TFPROF_TEST_SIM_RUNTIME_H

#include "wrap.h"

#define SIM_API(name, cbid, need, count, ...) SIM_BODY(name, count, __VA_ARGS__)
#define SIM_TWIN(...)
#include "runtime_api.def"
#undef SIM_API
#define SIM_API(name, cbid, need, count, ...) int (*name)(SIM_DECLARE_##count(__VA_ARGS__));
struct sim_driver {
#include "driver_api.def"
};
#undef SIM_API
#undef SIM_TWIN

extern struct sim_driver sim_cu;	/* filled once, by the first call that needs it */

/* need of a row: 0 nothing, 1 the driver, 2 a context, 3 and 4 a launch whose kernel is the first or second argument. */
int sim_runtime_begin(struct sim_call *call, int need);
int sim_runtime_end(struct sim_call *call, int result, int *place);
int sim_runtime_device(void);		/* the thread's current device */
int sim_runtime_use(int device);
int sim_runtime_last_error(bool is_reset);
/* A device's primary context, retained once a process. */
int sim_runtime_context(int device, struct sim_context **context);

/* The stream to give the driver: in a twin (_ptsz, _ptds) 0 means the thread's own. */
void *sim_runtime_stream(void *handle);

/* What a program means by a kernel: the address of its host stub, a handle of __cudaGetKernel, a cudaKernel_t or cudaFunction_t. */
int sim_runtime_kernel(const void *handle, void **function);
const char *sim_runtime_kernel_name(const void *handle);
/* Device address and size of a __device__ variable by the address of its host shadow. */
int sim_runtime_symbol(const void *shadow, uint64_t *address, size_t *bytes);

#endif
