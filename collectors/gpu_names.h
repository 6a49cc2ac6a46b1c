/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel a launch names: host stubs, kernel and function handles, each with its mangled name.
 *
 * Rule: bounded (ENTRIES names, ARENA bytes of copies in gpu_names.c), never freed, kept across fork, because a program
 * registers its kernels before main. A name becomes a fact of the log only once it is launched. What does not fit is
 * counted (gpu_names) and its launches have no name.
 */
#ifndef TFP_COLLECTORS_GPU_NAMES_H
#define TFP_COLLECTORS_GPU_NAMES_H

#include <stdint.h>

/*
 * `key` (a host stub or a handle) means the kernel of that name. The text stays where it is until its module goes; where
 * it is the host's to change, is_copied. A key seen before means the newer name. Any thread.
 */
void tfp_gpu_name_add(uint64_t key, const char *name, uint64_t module, int is_copied);

/* `key` means the kernel that `known` means. Nothing where that is unknown. */
void tfp_gpu_name_alias(uint64_t key, uint64_t known);

/* The module is being unregistered: its texts may be unmapped. */
void tfp_gpu_names_drop(uint64_t module);

/* The hash of the kernel's name, a string fact of this log; 0 = unknown. Own thread, any context. */
uint64_t tfp_gpu_name_id(uint64_t key);

#endif
