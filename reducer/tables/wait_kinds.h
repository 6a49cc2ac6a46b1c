/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread waits for, by the number of the system call that it waits in.
 *
 * Rule: numbers are those of the machine that the log is of, not of this one.
 */
#ifndef REDUCER_TABLES_WAIT_KINDS_H
#define REDUCER_TABLES_WAIT_KINDS_H

#include <stdint.h>

enum wait_kind {
#define WAIT_KIND(symbol, name) WAIT_##symbol,
#define WAIT_CALL(symbol, x86_64, aarch64)
#include "reducer/tables/wait_kinds.def"
#undef WAIT_KIND
#undef WAIT_CALL
	WAIT_KINDS
};

/* `machine`: ELF e_machine, as the log's header has it. */
enum wait_kind wait_kind_of(uint32_t machine, uint16_t call);

const char *wait_kind_name(enum wait_kind kind);

#endif
