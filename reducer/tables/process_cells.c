/* SPDX-License-Identifier: Apache-2.0 */
/* Cells that tell a process; see process_cells.h. */
#include "reducer/tables/process_cells.h"

void table_process(struct table *table, size_t pid, size_t host, const struct process *process)
{
	table_integer(table, pid, process->pid);
	table_string(table, host, process->of_host);
	if (process->is_of_rank)
		table_integer(table, host + 1, (int64_t)process->of_rank);
}
