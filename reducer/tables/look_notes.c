/* SPDX-License-Identifier: Apache-2.0 */
/* Notes on looks at threads; see reducer/tables/look_notes.h. */
#include "reducer/tables/look_notes.h"

#include <math.h>
#include <string.h>

/* Before the reason why there are none. */
#define ABSENT "absent: "

const char *look_fact(const struct process *process, const char *name)
{
	const char *said = NULL;

	for (size_t i = 0; i < process->framework_count; i++)
		if (strcmp(process->frameworks[i].name, name) == 0)
			said = process->frameworks[i].value;
	return said;
}

const char *look_absent(const char *fact)
{
	return fact && strncmp(fact, ABSENT, sizeof ABSENT - 1) == 0 ? fact + sizeof ABSENT - 1 : NULL;
}

void look_error_points(struct text *text, double all, double error)
{
	/* As how many looks of a like time they are worth: of some that stand for much, or were drawn of many, fewer than there are. */
	double worth = error > 0 ? all / error * (all / error) : 1, points = 100 * sqrt(0.1 * 0.9 / worth);

	text_format(text, points < 9.5 ? "%.1g" : "%.0f", points);
}
