/* SPDX-License-Identifier: Apache-2.0 */
/* The places of tf.data pipelines, from the facts of the log. See scan.h. Rule: facts alone, in the order of the log. */
#include "reducer/model/number_map.h"
#include "reducer/model/scan.h"

#include <stdlib.h>

struct taken {
	struct scan *scan;
	struct number_map places; /* node -> place in process->iterators */
};

static const char *keep(const struct taken *taken, const struct fact_value *text)
{
	return text == NULL ? "" : run_text(taken->scan->run, text->text, text->length);
}

static void take_iterator(void *state, const struct fact *fact, const int *fields)
{
	struct taken *taken = state;
	struct process *process = taken->scan->process;
	struct iterator *items = model_room(process->iterators, process->iterator_count, sizeof *items);
	uint64_t node = fact_number(fact, fields[0]);

	if (items == NULL)
		return;
	process->iterators = items;
	items[process->iterator_count] = (struct iterator){.node = node,
							   .parent = fact_number(fact, fields[1]),
							   .name = keep(taken, fact_text(fact, fields[2])),
							   .parameters = ""};
	if (number_map_set(&taken->places, 0, node, (uint32_t)process->iterator_count) == 0)
		process->iterator_count++;
}

/* The last one holds. */
static void take_parameters(void *state, const struct fact *fact, const int *fields)
{
	struct taken *taken = state;
	uint32_t place = number_map_find(&taken->places, 0, fact_number(fact, fields[0]));

	if (place != NUMBER_MAP_NONE)
		taken->scan->process->iterators[place].parameters = keep(taken, fact_text(fact, fields[1]));
}

static const struct scan_fact facts[] = {
	{"iterator", take_iterator, {"node", "parent", "name"}},
	{"iterator_parameters", take_parameters, {"node", "text"}},
};

static void *begin(struct scan *scan)
{
	struct taken *taken = calloc(1, sizeof *taken);

	if (taken != NULL)
		taken->scan = scan;
	return taken;
}

static int finish(void *state)
{
	(void)state;
	return 0;
}

static void drop(void *state)
{
	struct taken *taken = state;

	if (taken == NULL)
		return;
	number_map_free(&taken->places);
	free(taken);
}

static void close_process(struct process *process)
{
	free(process->iterators);
}

const struct scan_subject iterators_subject = {
	.facts = facts,
	.fact_count = sizeof facts / sizeof *facts,
	.begin = begin,
	.finish = finish,
	.free = drop,
	.close = close_process,
};
