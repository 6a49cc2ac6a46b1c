/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel's or an operation's name lets one expect of tensor cores.
 *
 * Rule: a name is a guess: whoever shows it says so, and what the code itself says goes before.
 */
#ifndef REDUCER_ANALYSIS_TENSOR_NAMES_H
#define REDUCER_ANALYSIS_TENSOR_NAMES_H

#include <stdbool.h>

/* Kernels of libraries that are known to use matrix instructions, by how they are called. */
bool tensor_name_uses(const char *kernel);

/* A matrix product or convolution, by the name of its kernel or of its operation (either may be NULL). */
bool tensor_name_could(const char *kernel, const char *op);

#endif
