/* SPDX-License-Identifier: Apache-2.0 */
/* Cells that name a cause; see cause_cells.h. */
#include "reducer/tables/cause_cells.h"

#include <string.h>

static const char no_stack[] = "[no stack recorded]";

void cause_cells_name(struct table *table, size_t row, const struct cause_cells *cells)
{
	struct frame_cause cause = {0};
	uint64_t stack;

	if (!table_is_known(table, row, cells->stack)) {
		table_set_text(table, row, cells->function, no_stack, strlen(no_stack));
		return;
	}
	stack = table_get_stack(table, row, cells->stack);
	frames_cause(table->frames, stack >> 32, (uint32_t)stack, &cause);
	table_set_text(table, row, cells->function, cause.function.bytes, cause.function.length);
	if (cause.file.length)
		table_set_text(table, row, cells->file, cause.file.bytes, cause.file.length);
	if (cause.line)
		table_set_integer(table, row, cells->line, cause.line);
	if (cause.module.length)
		table_set_text(table, row, cells->module, cause.module.bytes, cause.module.length);
	frame_cause_free(&cause);
}
