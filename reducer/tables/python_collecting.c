/* SPDX-License-Identifier: Apache-2.0 */
/* How long Python's garbage collector ran, by looks; see reducer/tables/python_looks.h. */
#include "reducer/tables/python_looks.h"

bool python_looks_know_collecting(const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (process->python.look_count && process->python.knows_collecting && request_wants_process(request, process))
			return true;
	}
	return false;
}

/* The line of the program's own in which it ran for more than half of `all` ns; SIZE_MAX = none: it runs wherever objects are made. */
static size_t most_collecting(const struct python_looks *looks, uint64_t all)
{
	size_t most = SIZE_MAX;
	uint64_t longest = 0;

	for (size_t i = 0; i < looks->lines.count; i++) {
		uint64_t ns = python_looks_judged_collecting(looks, &looks->list[i].own);
		if (ns > longest) {
			longest = ns;
			most = i;
		}
	}
	return longest > all / 2 ? most : SIZE_MAX;
}

double python_looks_collecting(const struct request *request, uint64_t *ns, struct text *place)
{
	struct python_looks looks;
	double percent = -1;

	*ns = 0;
	if (!python_looks_know_collecting(request))
		return -1;
	python_looks_gather_judged(&looks, request);
	if (looks.has_steps && python_looks_is_enough(&looks) && python_looks_whole(&looks)) {
		*ns = python_looks_judged_collecting(&looks, &looks.all);
		size_t most = most_collecting(&looks, *ns);
		percent = 100.0 * (double)*ns / (double)python_looks_whole(&looks);
		if (most != SIZE_MAX) {
			text_format(place, "%s (", looks.lines.list[most].function);
			python_looks_place(place, &looks, most);
			text_char(place, ')');
		}
	}
	python_looks_free(&looks);
	return percent;
}

void python_looks_say_collecting(struct text *sentence, const struct request *request, double least)
{
	struct text place = {0};
	uint64_t ns;
	double percent = python_looks_collecting(request, &ns, &place);

	if (percent >= least)
		text_format(sentence, " Python's garbage collector ran in %.0f %% of the time%s%s, by looks at Python code.", percent,
			    place.length ? ", most of it in " : "", place.length ? place.bytes : "");
	text_free(&place);
}
