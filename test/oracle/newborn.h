/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel cannot empty the oracle's state in a fork child: how the child knows itself.
 *
 * Rule: a page that a child does not have, or that holds something else there, tells it; one that shares our memory has it.
 */
#ifndef TEST_ORACLE_NEWBORN_H
#define TEST_ORACLE_NEWBORN_H

#include "test/oracle/blocks.h"

#include <string.h>

static void **mark; /* holds its own name; NULL where the kernel empties */

static void mark_process(void)
{
	mark = pages(4096);
	*mark = &mark;
	raw(SYS_madvise, (long)mark, 4096, MADV_DONTFORK, 0, 0);
}

/* Empties `state` at a child's first event. */
static void empty_in_child(void *state, size_t bytes)
{
	unsigned char there;
	if (!mark || (raw(SYS_mincore, (long)mark, 4096, (long)&there, 0, 0) >= 0 && *mark == &mark))
		return;
	memset(state, 0, bytes);
	mark_process();
}

#endif
