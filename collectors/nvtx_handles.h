/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVTX calls domains and registered strings: handles that we give out and get back.
 *
 * Rule: they live in pages that a fork keeps, because the host goes on using them in the child; a handle says which log
 * knows it, and is made known to another at its first use there. Never given back, bounded (ARENA_BYTES).
 */
#ifndef TFP_COLLECTORS_NVTX_HANDLES_H
#define TFP_COLLECTORS_NVTX_HANDLES_H

#include <stddef.h>
#include <stdint.h>

struct tfp_nvtx_handle {
	_Atomic uint64_t log_id; /* of the log that has its fact */
	uint64_t hash;           /* of the text: what records name it by */
	uint32_t id;             /* a domain's number from 1; 0 = a registered string */
	uint32_t is_step;        /* STEP_RANGE matches it */
	uint32_t length;
	char text[];
};

/* A handle for the text; a string has one handle a text, each domain has its own. NULL: the arena is full (counted). */
struct tfp_nvtx_handle *tfp_nvtx_string_handle(const char *text, size_t length);
struct tfp_nvtx_handle *tfp_nvtx_domain_handle(const char *text, size_t length);

/* The handle behind what the host passes, its fact in this log; NULL where it is none of ours. */
const struct tfp_nvtx_handle *tfp_nvtx_known(const void *handle);

#endif
