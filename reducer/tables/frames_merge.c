/* SPDX-License-Identifier: Apache-2.0 */
/* Native and Python frames in one order; see frames_merge.h. */
#include "reducer/tables/frames_merge.h"

#include <string.h>

bool frames_is_loop(const char *function)
{
	static const char loop[] = "_PyEval_EvalFrameDefault";
	size_t length = sizeof(loop) - 1;

	return function[0] == '_' && strncmp(function, loop, length) == 0 && (function[length] == 0 || function[length] == '.');
}

size_t frames_merge(const struct merge_native *native, size_t native_count, const bool *is_entry, size_t python_count, int *order)
{
	size_t count = 0, next = 0;
	bool has_loop = false;

	for (size_t i = 0; i < native_count; i++) {
		if (native[i].is_loop) {
			has_loop = true;
			while (next < python_count) {
				order[count++] = -1 - (int)next;
				if (is_entry[next++])
					break;
			}
		} else if (native[i].is_marker ? next == python_count && !has_loop : !has_loop || !native[i].is_interpreter) {
			order[count++] = (int)i;
		}
	}
	while (next < python_count)
		order[count++] = -1 - (int)next++;
	return count;
}
