/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the log that is mapped shared and written in place: facts, code addresses, stack nodes, thread slots.
 *
 * Rule: an entry is whole or absent, whatever instant the process dies at; nothing is ever moved or taken back.
 * Everything here may be called from any thread, inside a signal handler, and inside malloc. It may make system calls
 * (when a block is full) but never blocks on another thread.
 */
#ifndef TFP_WRITER_STORE_H
#define TFP_WRITER_STORE_H

#include "writer/format.h"

#include <stddef.h>
#include <stdint.h>

/* Adds a code address. Returns its index, or 0 when there is no room. The caller keeps them distinct. */
uint32_t tfp_store_pc(uint64_t pc, uint32_t module, uint32_t flags);

/* Adds the node (parent, pc). Returns its index, or 0 when there is no room. The caller keeps them distinct. */
uint32_t tfp_store_node(uint32_t parent, uint32_t pc_index);

/* A str field of a fact: not terminated, may hold any byte. */
struct tfp_text {
	const void *bytes;
	size_t length;
};

/* One field of a fact, in the order of records.def: is_text selects the member. */
struct tfp_fact_field {
	int is_text;
	uint64_t number;
	struct tfp_text text;
};

/* Appends a fact. Returns 0, or -1 after counting TFP_LOSS_fact. */
int tfp_store_fact(uint8_t tag, const struct tfp_fact_field *fields, size_t count);

#endif
