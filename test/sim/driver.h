/* SPDX-License-Identifier: Apache-2.0 */
/* The driver front, libcuda.so.1: prototypes of all bodies, from driver_api.def. Its files include this and nothing else of it. */
#ifndef TFPROF_TEST_SIM_DRIVER_H
#define TFPROF_TEST_SIM_DRIVER_H

#include "wrap.h"

#define SIM_API(name, cbid, need, count, ...) SIM_BODY(name, count, __VA_ARGS__)
#define SIM_TWIN(...)
#include "driver_api.def"
#undef SIM_API
#undef SIM_TWIN

/* need of a row: 0 may come before cuInit, 1 not, 2 and 3 a launch whose function is the first or second argument. */
int sim_driver_begin(struct sim_call *call, int need);
int sim_driver_end(struct sim_call *call, int result, int *place);
/* The function that a CUfunction or CUkernel means, NULL = none. */
struct sim_function *sim_driver_function(void *handle);

#endif
