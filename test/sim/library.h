/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fake math libraries share: a launch by a runtime of their own, and grids.
 * Rule: they compute nothing; they take the arguments of the real functions, refuse what those refuse, and launch kernels
 * with the names and grids that the real ones would choose.
 */
#ifndef TEST_SIM_LIBRARY_H
#define TEST_SIM_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "core.h"

#define SIM_LIBRARY_API __attribute__((visibility("default")))

static inline uint32_t sim_tiles(uint64_t size, uint64_t tile)
{
	return (uint32_t)((size + tile - 1) / tile);
}

static inline int sim_library_launch(const char *name, uint32_t x, uint32_t y, uint32_t z, uint32_t threads, uint64_t shared,
	void *stream)
{
	const uint32_t grid[3] = {x ? x : 1, y ? y : 1, z ? z : 1}, block[3] = {threads, 1, 1};

	return sim_private_launch(name, grid, block, shared, stream);
}

#endif
