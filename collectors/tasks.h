/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of the process as the kernel lists them, whoever started them. Rule: the list is a kept file (collectors/system_files.h). */
#ifndef TFP_COLLECTORS_TASKS_H
#define TFP_COLLECTORS_TASKS_H

#include "collectors/system_files.h"

/* 0, or -errno. */
long tfp_tasks_open(struct tfp_kept *list);

/*
 * Calls `visit` for each thread, its id as a number and as the list has it, until that returns other than 0. `room` is for the list.
 * -1: the list is gone; else whether all were visited.
 */
typedef int tfp_tasks_visit(void *context, uint32_t tid, const char *name);
int tfp_tasks_each(struct tfp_kept *list, char *room, size_t bytes, tfp_tasks_visit *visit, void *context);

#endif
