/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX version 3: ranges, marks, domains and names that a program or its libraries announce.
 *
 * Each library that uses NVTX carries a copy of its own; at its first call that copy loads the library which
 * NVTX_INJECTION64_PATH names and lets it fill in a table of functions. Layouts are written here by hand from the public
 * interface; no header of NVTX is needed to build.
 * Rule: what a program gets back is what it gets without a tool, but for the handles and range ids that the interface
 * defines to be the tool's.
 */
#ifndef TFP_COLLECTORS_NVTX_H
#define TFP_COLLECTORS_NVTX_H

#include <stddef.h>
#include <stdint.h>

typedef void tfp_nvtx_function(void);
typedef tfp_nvtx_function **tfp_nvtx_slot; /* where NVTX keeps the pointer of one function */

/* Export table 1. */
struct tfp_nvtx_callbacks {
	uint64_t bytes;
	/* 1 where the module is known; (*table)[i] is the slot of function i, 0 < i < *size; NULL = none. */
	int (*get_module)(int module, tfp_nvtx_slot **table, unsigned *size);
};

typedef const void *tfp_nvtx_export(uint32_t table);

/*
 * Puts our functions into the copy of NVTX that asks. object_of: path of the object a code address lies in, or NULL; it
 * serves to leave the domain "TSL" of TensorFlow alone, whose annotations would fall silent if it were taken. Returns
 * whether any function is in place. Any thread; once a copy.
 */
int tfp_nvtx_attach(tfp_nvtx_export *get_export, const char *(*object_of)(void *address));

/* nvtxExtModuleInfo_t and nvtxExtModuleSegment_t, of an extension's copy that asks for its functions. */
struct tfp_nvtx_segment {
	size_t id, slot_count;
	intptr_t *slots; /* by the functions' numbers; 0 = none yet */
};

struct tfp_nvtx_extension {
	uint16_t version, bytes, module, compatibility;
	size_t segment_count;
	struct tfp_nvtx_segment *segments;
	intptr_t (*get_export)(uint32_t function);
	const void *more;
};

/*
 * Puts our functions into an extension of NVTX: that of payloads, by which NCCL (2.25 and newer) ends what it began with the core's. Other
 * extensions are refused. Returns whether they are in place. Any thread; once an extension of a copy.
 */
int tfp_nvtx_attach_extension(struct tfp_nvtx_extension *extension);

#endif
