/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code as it is loaded: which functions use matrix instructions (tensor cores).
 *
 * Rule: the code itself is asked, not names; nothing in the image is believed that is not checked; and reading it stays
 * within a bound of time and size, what is left out being counted.
 */
#ifndef TFP_COLLECTORS_CUBIN_H
#define TFP_COLLECTORS_CUBIN_H

#include <stddef.h>
#include <stdint.h>

struct tfp_cubin_function {
	const char *name; /* mangled, not terminated */
	size_t length;
	uint64_t instructions, matrix;
	uint32_t architecture; /* compute capability times ten: 90 */
};

/* Called for each function; anything but 0 ends the scan. */
typedef int tfp_cubin_found(void *context, const struct tfp_cubin_function *function);

/*
 * Reads a cubin (ELF, machine 190, compute capability 7.0 and newer). 0; 1: `found` ended it; -1: no cubin that we can read.
 * Touches `bytes` from `image` alone.
 */
int tfp_cubin_scan(const void *image, size_t bytes, tfp_cubin_found *found, void *context);

struct tfp_cupti;
struct tfp_cupti_module_data;

/* Writes the code facts of a module that was just loaded. On the thread that loads it. */
void tfp_cubin_note(struct tfp_cupti *cupti, const struct tfp_cupti_module_data *module);

#endif
