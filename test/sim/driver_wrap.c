/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported driver functions: made from the rows of driver_api.def and driver_not.def.
 *
 * Rule: no body stands here.
 */
#include <stddef.h>

#include "driver.h"

#define SIM_BEGIN sim_driver_begin
#define SIM_END sim_driver_end

#define SIM_API(name, cbid, need, count, ...) \
	SIM_FUNCTION(SIM_DRIVER, name, do_##name(SIM_PASS_##count), cbid, false, need, count, __VA_ARGS__)
#define SIM_TWIN(twin, name, cbid, need, count, ...) \
	SIM_FUNCTION(SIM_DRIVER, twin, do_##name(SIM_PASS_##count), cbid, true, need, count, __VA_ARGS__)
#define SIM_NOT(name, cbid, need, count, ...) \
	SIM_FUNCTION(SIM_DRIVER, name, SIM_NOT_SUPPORTED, cbid, false, need, count, __VA_ARGS__)
#include "driver_api.def"
#include "driver_not.def"
