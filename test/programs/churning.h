/* SPDX-License-Identifier: Apache-2.0 */
/* What programs at the edges of a recorder share: they allocate, and end with a word where something is not as it should be. */
#ifndef TEST_PROGRAMS_CHURNING_H
#define TEST_PROGRAMS_CHURNING_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void must(int is_true, const char *what)
{
	if (is_true)
		return;
	dprintf(2, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	_exit(1);
}

static inline void churn(int count)
{
	void *volatile kept[64] = {NULL};

	for (int i = 0; i < count; i++) {
		free(kept[i % 64]);
		kept[i % 64] = malloc((size_t)(i % 500) + 1);
	}
	for (int i = 0; i < 64; i++)
		free(kept[i]);
}

#endif
