/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fake libcupti hands to a subscriber's callback.
 * Rule: C structs, tied to cupti_layout.def by the assertions below, and by it to the vendor's headers.
 */
#ifndef TEST_SIM_CUPTI_CALLBACK_H
#define TEST_SIM_CUPTI_CALLBACK_H

#include <stddef.h>
#include <stdint.h>

struct call_data {
	uint32_t site; /* 0 enter, 1 exit */
	const char *function;
	const void *params;
	const void *result; /* at exit */
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *scratch;
	uint32_t correlation;
};

struct resource_data {
	void *context;
	void *handle; /* stream */
	const void *descriptor; /* module_data, graph_data */
};

struct module_data {
	uint32_t id;
	size_t cubin_size;
	const char *cubin;
};

struct graph_data {
	void *graph, *original_graph, *node, *original_node;
	uint32_t node_type;
	void *dependency, *exec;
};

struct wait_data {
	void *context, *stream;
};

struct state_data {
	int result;
	const char *message;
};

struct nvtx_data {
	const char *function;
	const void *params;
	const void *result;
};

#define SIM_RECORD(family, record)
#define SIM_KIND(kind, family, release)
#define SIM_SIZE(family, release, bytes)
#define SIM_FIELD(family, field, designator, offset, bytes, release)
#define SIM_STRUCT(family, struct_name, bytes) _Static_assert(sizeof(struct family) == (bytes), #family);
#define SIM_MEMBER(family, field, designator, offset, bytes) \
	_Static_assert(offsetof(struct family, field) == (offset), #family "." #field); \
	_Static_assert(sizeof(((struct family *)0)->field) == (bytes), #family "." #field);
#include "cupti_layout.def"
#undef SIM_RECORD
#undef SIM_KIND
#undef SIM_SIZE
#undef SIM_FIELD

#endif
