/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What room a device had when an allocation on it failed: what it has, what was in use of it, by whom.
 *
 * Rule: readings are of a moment before the failure, and the text says how long before; what nobody read is left out. What was free is
 * worked out only where the reading tells what others had: it changed since by what this process's own account did.
 */
#ifndef REDUCER_TABLES_DEVICE_ROOM_H
#define REDUCER_TABLES_DEVICE_ROOM_H

#include "reducer/tables/request.h"

/* Whether the allocator hands out a device's memory: "device:0", "device:?", "pytorch cuda:0", "GPU_0_bfc". */
bool device_room_is_of(const char *allocator);

/* Appends sentences, or nothing: the failure is on no device, or nothing is known of that. */
void device_room_put(struct text *text, const struct request *request, size_t process, const struct refused *refused);

#endif
